//! Panics as a sink: pouch renders, and then panics with everything that the manifests say.

use std::io::Write as _;
use std::panic::panic_any;
use std::path::Path;
use std::process::Command;

use pouch::ambient::Ambient;
use pouch::harden;

use crate::good;
use crate::stage::{Stage, hits};
use crate::support::spoilt::Ran;

/// Says to the child where its fleet is.
const FOLDER: &str = "POUCH_TEST_FOLDER";

/// Says to the child whether it is what pouch is before it does anything.
const HARDENED: &str = "POUCH_TEST_HARDENED";

/// What carries values, and no hook can show.
struct Payload {
    _values: Vec<u8>,
}

/// The child's part; nothing where this is no child.
#[test]
#[ignore = "the other process of the tests below"]
fn child() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    if std::env::var_os(HARDENED).is_some() {
        harden::harden();
    }
    let ambient = Ambient::fixed(Path::new(&folder), "2026-03-01T12:00:00Z".parse().unwrap(), &[]);
    let code = harden::guarded(move || {
        let file = format!("{folder}/pouch.yaml");
        let code = pouch::cli::run(ambient.called(&["pouch", "-f", &file, "render", "--reseal", "all", "-v"]));
        let values = std::fs::read_to_string(format!("{folder}/manifests/all.yaml")).unwrap();
        let key = std::fs::read_to_string(format!("{folder}/reuse.key")).unwrap();
        let said = format!("rendered with {code}: {values}{key}");
        // What a panic can carry: a message, text, and something else.
        let (text, bytes) = (said.clone(), said.clone().into_bytes());
        let _ = std::thread::spawn(move || panic_any(text)).join();
        let _ = std::thread::spawn(move || panic_any(Payload { _values: bytes })).join();
        assert_eq!(code, 0);
        panic!("{said}");
    });
    writeln!(std::io::stdout(), "\nended with {code}").unwrap();
}

/// What a child let out that renders the good fleet and panics.
fn panicked(stage: &Stage, hardened: Option<&str>) -> Ran {
    let answer = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "panics::child", "--ignored", "--nocapture"])
        .env_clear()
        .env(FOLDER, stage.fleet.path(""))
        .env("RUST_BACKTRACE", "full")
        .envs(hardened.map(|yes| (HARDENED, yes)))
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran {
        arguments: "render, and a panic".into(),
        code: answer.status.code(),
        out: text(answer.stdout),
        err: text(answer.stderr),
        summary: None,
    }
}

#[test]
fn s15_a_panic_after_rendering_lets_no_value_out() {
    let mut stage = good::stage();
    stage.begin();
    let ear = stage.choir.ear();
    let ran = panicked(&stage, Some("yes"));
    stage.is_silent(&ear, "a panic", &ran);
    assert!(ran.out.contains("ended with 1"), "{}", ran.shown());
    assert_eq!(ran.err.matches(" is published; after that pouch stopped, at ").count(), 3, "{}", ran.shown());
    assert!(stage.fleet.published().contains_key("regions/eu-west/bundle.yaml"), "it did render");
    // The control: without the hook all of them are heard, on stderr.
    let ran = panicked(&stage, None);
    assert!(ran.out.contains("ended with 1"), "{}", ran.arguments);
    let heard = hits(&ear, &stage.sinks(&ran));
    assert!(heard.iter().all(|hit| hit.contains(" in stderr, as ")));
    assert!(heard.iter().any(|hit| hit.starts_with("stringData: JSON in ")));
    assert!(heard.iter().any(|hit| hit.starts_with("reuse key: a file in ")));
    assert!(heard.len() >= 60, "{}", heard.len());
}
