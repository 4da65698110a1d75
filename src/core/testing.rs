//! What tests share: YAML and JSON as nodes, objects and trees, and the data beside the project.

mod asked;
mod away;
mod brake_model;
pub(crate) mod case;
mod consumers;
mod cures;
mod former;
pub(crate) mod indexed;
mod laws;
mod limited;
mod neighbours;
mod proved;
mod reach_model;
mod read_back;
mod shares;
#[path = "../pouch/tests/support/skips.rs"]
#[expect(dead_code, reason = "another program tells")]
mod skips;
pub(crate) mod stages;
pub(crate) mod standing;
mod tenants;
mod twins;
mod values;

extern crate std;

use alloc::string::{String, ToString as _};
use std::path::PathBuf;

use serde_json::Value;

use crate::finding::{Origin, Place};
use crate::json;
use crate::kinds::Scopes;
use crate::node::{Interner, Node};
use crate::object::{KeepNothing, Object, admit};
use crate::yaml::emit::{Tree, emit};

/// Reads one YAML document without the doors, which have tests of their own.
#[track_caller]
pub(crate) fn yaml(text: &str) -> Value {
    serde_yaml::from_str(text).unwrap_or_else(|error| panic!("{error}"))
}

/// JSON as a node, read by the door.
#[track_caller]
pub(crate) fn node(value: &Value) -> Node {
    json::read(&value.to_string(), &mut Interner::new()).unwrap_or_else(|flaw| panic!("{flaw}"))
}

/// A tree as JSON, its secrets too, so that tests compare what is said and not how the emitter quotes it.
#[track_caller]
pub(crate) fn json_of(tree: &Tree<'_>) -> Value {
    yaml(&emit(tree))
}

/// Admits the object that one YAML document holds.
#[track_caller]
pub(crate) fn object(text: &str) -> Object {
    let origin = Origin { source: "test".into(), place: Place::Whole };
    let admitted = admit(node(&yaml(text)), origin, &Scopes::new(), None, &KeepNothing);
    admitted.unwrap_or_else(|unusable| panic!("{:?}", unusable.why))
}

/// A path beside the project; `None`, said aloud, where this machine has not got it.
#[track_caller]
#[expect(clippy::disallowed_methods, reason = "where the data must be present, its absence is a failure")]
pub(crate) fn shared(path: &str) -> Option<PathBuf> {
    let found = PathBuf::from(env!("CARGO_MANIFEST_DIR").to_string()).join("../../../shared").join(path);
    if found.exists() {
        return Some(found);
    }
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{path} is absent");
    let thread = std::thread::current();
    let line =
        std::format!("{}: no {path} in the folder `shared` beside the checkout", thread.name().unwrap_or("a test"));
    std::eprintln!("SKIPPED {line}");
    // Cargo names this folder to other tests than these, which lie in `debug/deps` beside it.
    let target = std::env::current_exe().ok().and_then(|program| Some(program.ancestors().nth(3)?.to_path_buf()));
    target.into_iter().for_each(|target| skips::note(&target.join("tmp/skipped"), &line));
    None
}

/// The text of a file beside the project, as [`shared`] finds it.
#[track_caller]
pub(crate) fn shared_text(path: &str) -> Option<String> {
    shared(path).map(|file| std::fs::read_to_string(file).unwrap())
}
