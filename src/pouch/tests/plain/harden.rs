//! What the process is before it does anything: no core dumps, no other process's prey, no words in a panic; and
//! what cannot be printed or copied by type.

use std::fmt::{Debug, Display};
use std::fs;
use std::marker::PhantomData;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use pouch::harden;

use crate::support::spoilt::Fleet;

const CHILD: &str = "POUCH_TEST_CHILD";
const WORDS: &str = "CaNaRy-in-a-panic";

/// What the children below do; nothing where this is none.
#[test]
#[ignore = "the other process of the tests below"]
fn child() {
    let Ok(how) = std::env::var(CHILD) else { return };
    if how == "hardened" {
        harden::harden();
    }
    let limit = rustix::process::getrlimit(rustix::process::Resource::Core);
    println!("\ncore {:?} {:?}", limit.current, rustix::process::dumpable_behavior().unwrap());
    let code = harden::guarded(|| {
        // A thread's panic passes the same hook.
        let _ = std::thread::spawn(|| panic!("{WORDS} in a thread")).join();
        panic!("{WORDS} {:?}", [WORDS])
    });
    println!("ended with {code}");
}

fn child_that(how: &str) -> Output {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "harden::child", "--ignored", "--nocapture"])
        .env_clear()
        .env(CHILD, how)
        .env("RUST_BACKTRACE", "full")
        .output()
        .unwrap()
}

#[test]
fn s15_a_panic_says_where_and_never_what() {
    let said = child_that("hardened");
    let (out, err) = (String::from_utf8(said.stdout).unwrap(), String::from_utf8(said.stderr).unwrap());
    assert!(!err.contains("CaNaRy") && !out.contains("CaNaRy"), "{err}");
    assert_eq!(err.matches("pouch stopped because of a bug in itself, at ").count(), 2, "{err}");
    assert!(err.contains("harden.rs:") && out.contains("ended with 70"), "{out}{err}");
    // The control: what the standard library would say.
    let said = child_that("as it is");
    assert!(String::from_utf8(said.stderr).unwrap().contains("CaNaRy"));
}

#[test]
fn s23_no_core_is_dumped_and_nobody_attaches() {
    let out = |how: &str| String::from_utf8(child_that(how).stdout).unwrap();
    assert!(out("hardened").contains("core Some(0) NotDumpable"), "{}", out("hardened"));
    assert!(!out("as it is").contains("NotDumpable"));
    if !cfg!(target_os = "linux") {
        return;
    }
    // And the program itself does that.
    let fleet = Fleet::new();
    fleet.configure("directory: {path: tenant}", "stdin: {}");
    let mut waiting = Command::new(env!("CARGO_BIN_EXE_pouch"))
        .arg("render")
        .current_dir(fleet.path(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let limits = format!("/proc/{}/limits", waiting.id());
    let is_off = || {
        fs::read_to_string(&limits)
            .unwrap()
            .lines()
            .any(|line| line.split_whitespace().take(6).eq(["Max", "core", "file", "size", "0", "0"]))
    };
    let in_time = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        is_off()
    });
    waiting.kill().unwrap();
    waiting.wait().unwrap();
    assert!(in_time, "the program leaves core dumps on");
}

/// Whether a type has a trait: an inherent constant, there for types that do, goes before that of a trait.
struct Probe<T>(PhantomData<T>);

trait Lacks {
    const HAS: bool = false;
}

impl<T> Lacks for Probe<T> {}

macro_rules! has {
    ($type:ty: $bound:path) => {{
        struct Own<T>(PhantomData<T>);
        impl<T> Lacks for Own<T> {}
        #[allow(dead_code, reason = "unused where the type lacks the trait")]
        impl<T: $bound> Own<T> {
            const HAS: bool = true;
        }
        let _ = Probe::<$type>(PhantomData);
        <Own<$type>>::HAS
    }};
}

#[test]
fn s15_what_is_secret_can_be_neither_printed_nor_copied() {
    macro_rules! lacks_all {
        ($($type:ty),*) => {$(
            let (debug, display) = (has!($type: Debug), has!($type: Display));
            let (clone, serialize) = (has!($type: Clone), has!($type: serde::Serialize));
            assert!(!debug && !display && !clone && !serialize, "{}", stringify!($type));
        )*};
    }
    lacks_all!(
        pouch_core::secret::SecretBytes,
        pouch_core::secret::Payload,
        pouch_core::reuse::ReuseKey,
        pouch_core::reuse::KeyRing,
        pouch::age::Identities
    );
    // The control: what has them.
    assert!(has!(String: Debug) && has!(String: Display) && has!(String: Clone) && has!(String: serde::Serialize));
}
