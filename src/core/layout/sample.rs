//! What the tests of this stage share.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use serde_json::Value;

use super::path::{self, BundlePath};
use crate::config::Globs;
use crate::finding::{Origin, Place};
use crate::kinds::Scopes;
use crate::name::{GroupKind, ObjectKey};
use crate::object::{Keep, Object, admit};
use crate::testing::node;

/// Which metadata a test's object keeps.
pub(super) struct Kept(pub(super) Globs);

impl Keep for Kept {
    fn label(&self, key: &str) -> bool {
        self.0.matches(key)
    }

    fn annotation(&self, key: &str) -> bool {
        self.0.matches(key)
    }
}

/// An object as admission makes it from a document.
pub(crate) fn object(document: &Value, keep: &[&str]) -> Object {
    let keep = Globs::new(&keep.iter().map(|glob| String::from(*glob)).collect::<Vec<_>>()).expect("globs");
    let origin = Origin { source: "test".into(), place: Place::Whole };
    admit(node(document), origin, &Scopes::new(), None, &Kept(keep)).ok().expect("an object")
}

/// The paths of a small bundle.
pub(super) fn object_paths(directory: &str) -> BTreeSet<BundlePath> {
    let keys = [
        ObjectKey::secret("kcm-system".into(), "aws".into()),
        ObjectKey::secret("team-a".into(), "aws".into()),
        ObjectKey::config_map("team-a".into(), "aws-resource-template".into()),
        ObjectKey::namespace(&"team-a".into()),
        ObjectKey::new(GroupKind::new("x.io", "Cluster"), None, "aws".into()),
        ObjectKey::new(GroupKind::new("x.io", "Spaced"), Some("team-a".into()), "aws".into()),
    ];
    keys.iter().map(|key| path::of_object(&directory.into(), key)).collect()
}
