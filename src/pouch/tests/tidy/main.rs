//! Keeps the house in order: who may name what, how long a file may be, what the core depends on.
//!
//! The rules stand in [`table`]; here they are applied to every file, and each is also shown a bad
//! sample, so that none can fall silent. Tests may do what they need and are exempt from the table.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test reads the environment, starts cargo and fails by panicking"
)]

mod lex;
mod table;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use table::{NEVER, NOT_IN_CORE, ONLY};

/// Longer files are refused; from [`LONG`] on the test says so.
const TOO_LONG: usize = 700;
const LONG: usize = 600;

/// Traces of the machine on which something was written; joined so that this file carries none.
const MACHINE_PATHS: &[&str] = &[concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/")];

/// Package registries: the ordinary clients know where to ask.
const REGISTRY_HOSTS: &[&str] = &[
    concat!("crates", ".io"),
    concat!("pypi", ".org"),
    concat!("pythonhosted", ".org"),
    concat!("proxy.golang", ".org"),
    concat!("sum.golang", ".org"),
    concat!("registry.npmjs", ".org"),
    concat!("maven", ".org"),
    concat!("maven.apache", ".org"),
    concat!("deb.debian", ".org"),
];

/// Written by cargo, which names its registry there.
const WRITTEN_BY_CARGO: &[&str] = &["Cargo.lock", "fuzz/Cargo.lock"];

/// How a path into our own modules starts.
const OWN_PATHS: &[&str] = &["crate::", "super::", "self::", "pouch::"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace has a root")
}

/// Every text file of the checkout but what git and cargo keep, as path from the root and text.
fn texts() -> Vec<(String, String)> {
    let root = root();
    let ours = |entry: &walkdir::DirEntry| !matches!(entry.file_name().to_str(), Some(".git" | "target"));
    let mut texts = Vec::new();
    for entry in walkdir::WalkDir::new(&root).sort_by_file_name().into_iter().filter_entry(ours) {
        let entry = entry.expect("the checkout can be read");
        if let (true, Ok(text)) = (entry.file_type().is_file(), std::fs::read_to_string(entry.path())) {
            let path = entry.path().strip_prefix(&root).expect("below the root");
            texts.push((path.to_str().expect("our paths are UTF-8").replace('\\', "/"), text));
        }
    }
    assert!(texts.len() > 20, "only {} files found under {}", texts.len(), root.display());
    texts
}

/// Whether `path` is the file of `place` or lies under its folder.
fn stands_in(path: &str, place: &str) -> bool {
    path.strip_prefix(place).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

fn is_rust(path: &str) -> bool {
    path.starts_with("src/") && path.ends_with(".rs")
}

/// The files that are test code as a whole: integration tests, and modules declared for tests only.
fn test_files(sources: &[(String, String)]) -> BTreeSet<String> {
    let mut files = BTreeSet::new();
    for (path, text) in sources {
        if path.starts_with("src/pouch/tests/") {
            files.insert(path.clone());
        }
        let stem = path.trim_end_matches(".rs");
        let folder = stem.strip_suffix("/lib").or(stem.strip_suffix("/main")).unwrap_or(stem);
        for module in lex::test_modules(&lex::code(text)) {
            files.insert(format!("{folder}/{module}.rs"));
            // What such a module is made of is compiled with it.
            let below = format!("{folder}/{module}/");
            files.extend(sources.iter().map(|(path, _)| path).filter(|path| path.starts_with(&below)).cloned());
        }
    }
    files
}

/// Whether a `use` of this file takes `name` from our own modules, so that `name::` is no crate.
fn imports_own(code: &str, name: &str) -> bool {
    code.split("use ").skip(1).filter_map(|rest| rest.split_once(';')).any(|(path, _)| {
        OWN_PATHS.iter().any(|start| path.starts_with(start)) && !lex::lines_with(path, name).is_empty()
    })
}

/// What is wrong with the form of any Rust file.
fn faults_of_form(path: &str, text: &str) -> Vec<String> {
    let length = text.lines().count();
    if length > TOO_LONG {
        return vec![format!("{path}: {length} lines, {TOO_LONG} at most; split it along a noun")];
    }
    Vec::new()
}

/// What is wrong with a Rust file that is no test, by the table and the rules of form.
fn faults_of_source(path: &str, text: &str) -> Vec<String> {
    let mut faults = faults_of_form(path, text);
    if !text.starts_with("//!") {
        faults.push(format!("{path}:1: does not say in its first line what it is (//!)"));
    }
    let code = lex::without_tests(&lex::code(text));
    for rule in ONLY {
        if stands_in(path, rule.within) && !rule.homes.iter().any(|home| stands_in(path, home)) {
            for word in rule.words {
                for line in lex::lines_with(&code, word) {
                    faults.push(format!("{path}:{line}: names `{word}`: {}", rule.why));
                }
            }
        }
    }
    for rule in NEVER {
        if rule.places.iter().any(|place| stands_in(path, place)) {
            for word in rule.words {
                for line in lex::lines_with(&code, word) {
                    faults.push(format!("{path}:{line}: names `{word}`: {}", rule.why));
                }
            }
            for module in rule.modules {
                for line in lex::lines_naming(&code, module) {
                    faults.push(format!("{path}:{line}: names `{module}`: {}", rule.why));
                }
            }
        }
    }
    // Our own module has the crate's name, so only a path that does not come from it counts.
    if !stands_in(path, "src/pouch/age") && !imports_own(&code, "age") {
        let own = |code: String, start: &&str| code.replace(&format!("{start}age::"), "our_age::");
        let foreign = OWN_PATHS.iter().fold(code, own).replace("use age;", "use age::");
        for line in lex::lines_with(&foreign, "age::") {
            faults.push(format!("{path}:{line}: names the crate `age`: only age does"));
        }
    }
    faults
}

/// What is wrong with any file, whatever language it is in.
fn faults_of_text(path: &str, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for (number, line) in text.lines().enumerate() {
        for word in MACHINE_PATHS {
            if line.contains(word) {
                faults.push(format!("{path}:{}: has the path {word} of one machine", number + 1));
            }
        }
        if WRITTEN_BY_CARGO.contains(&path) {
            continue;
        }
        for word in REGISTRY_HOSTS {
            if line.contains(word) {
                faults.push(format!("{path}:{}: names the registry host {word}", number + 1));
            }
        }
    }
    faults
}

#[test]
fn every_module_names_only_what_it_may() {
    let sources: Vec<_> = texts().into_iter().filter(|(path, _)| is_rust(path)).collect();
    assert!(sources.iter().any(|(path, _)| path == "src/core/lib.rs"), "the sources were not found");
    for (path, text) in &sources {
        let length = text.lines().count();
        if (LONG + 1..=TOO_LONG).contains(&length) {
            eprintln!("NOTE {path} has {length} lines and wants splitting along a noun");
        }
    }
    let tests = test_files(&sources);
    let faults_of = |(path, text): &(String, String)| {
        if tests.contains(path) { faults_of_form(path, text) } else { faults_of_source(path, text) }
    };
    let faults: Vec<_> = sources.iter().flat_map(faults_of).collect();
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn no_file_carries_traces_of_a_machine() {
    let faults: Vec<_> = texts().iter().flat_map(|(path, text)| faults_of_text(path, text)).collect();
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

/// `cargo tree`'s packages under pouch-core as sorted `name version` lines.
fn core_dependencies() -> Vec<String> {
    // One platform by name, so that the list is the same wherever the test runs.
    let arguments = ["tree", "--package=pouch-core", "--edges=normal", "--prefix=none", "--no-dedupe", "--format={p}"];
    let out = Command::new(env!("CARGO"))
        .args(arguments)
        .args(["--target=x86_64-unknown-linux-gnu", "--locked", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo starts");
    assert!(out.status.success(), "cargo tree failed:\n{}", String::from_utf8_lossy(&out.stderr));
    packages(&String::from_utf8(out.stdout).expect("cargo prints UTF-8"))
}

fn packages(tree: &str) -> Vec<String> {
    let package = |line: &str| {
        let mut words = line.split_whitespace();
        Some(format!("{} {}", words.next()?, words.next()?.trim_start_matches('v')))
    };
    let all: BTreeSet<String> = tree.lines().filter_map(package).collect();
    all.into_iter().filter(|line| !line.starts_with("pouch-core ")).collect()
}

fn not_in_core(packages: &[String]) -> Vec<&str> {
    let name = |line: &'_ String| line.split(' ').next().map(String::from);
    let names: BTreeSet<String> = packages.iter().filter_map(name).collect();
    NOT_IN_CORE.iter().copied().filter(|banned| names.contains(*banned)).collect()
}

#[test]
fn the_core_depends_on_what_is_committed() {
    let path = root().join("src/core/dependencies.txt");
    let found = core_dependencies();
    assert!(found.len() > 10, "cargo tree printed {} packages", found.len());
    assert_eq!(not_in_core(&found), [""; 0], "the core must not depend on these, directly or not");
    let text = format!(
        "# All that pouch-core is built from, its derives included; a test keeps this list fresh\n\
         # (POUCH_REWRITE=1 cargo test --test tidy writes it). A new line here is code to trust.\n{}\n",
        found.join("\n")
    );
    if std::env::var_os("POUCH_REWRITE").is_some_and(|value| value == "1") {
        std::fs::write(&path, &text).expect("the list can be written");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(committed, text, "src/core/dependencies.txt is not fresh: POUCH_REWRITE=1 writes it");
}

/// Asserts that the file is refused with a fault that says `expect`, and that nothing else is.
#[track_caller]
fn refuses(path: &str, text: &str, expect: &str) {
    let faults = faults_of_source(path, &format!("//! A sample.\n{text}\n"));
    assert!(faults.iter().any(|fault| fault.contains(expect)), "{path} passed with: {text}\n{faults:?}");
}

#[track_caller]
fn accepts(path: &str, text: &str) {
    let faults = faults_of_source(path, &format!("//! A sample.\n{text}\n"));
    assert!(faults.is_empty(), "{faults:?}");
}

#[test]
fn every_rule_of_the_table_can_fail() {
    for rule in ONLY {
        for word in rule.words {
            refuses("src/pouch/elsewhere.rs", &format!("use x;\nlet y = {word}(z);"), &format!(":3: names `{word}`"));
            for home in rule.homes {
                accepts(&format!("{home}.rs"), &format!("let y = {word}(z);"));
            }
        }
    }
    for rule in NEVER {
        let words = || rule.words.iter().chain(rule.modules);
        for (place, word) in rule.places.iter().flat_map(|place| words().map(move |word| (place, word))) {
            refuses(&format!("{place}/x.rs"), &format!("use crate::{word};"), &format!(":2: names `{word}`"));
        }
    }
}

#[test]
fn what_only_looks_like_a_fault_passes() {
    accepts("src/core/closure.rs", "/// Knows nothing of yaml or std.\nfn f() -> &'static str { \"sops\" }");
    accepts("src/core/closure.rs", "#[cfg(test)]\nmod tests {\n    extern crate std;\n    use crate::yaml;\n}");
    accepts("src/core/closure_of_yaml.rs", "use crate::yaml;");
    accepts("src/core/reuse.rs", "fn judge() {}\nfn f() { judge() }");
    refuses("src/core/closure.rs", "#[cfg(test)]\nmod tests {}\nuse crate::yaml;", ":4: names `yaml`");
    refuses("src/core/name.rs", "extern crate std;", "names `std`");
    refuses("src/core/name.rs", "use std::fs;", "names `std`");
    refuses("src/core/name.rs", "unsafe { x() }", "names `unsafe`");
}

#[test]
fn the_crate_age_is_told_from_our_module() {
    accepts("src/pouch/age.rs", "use age::Encryptor;");
    accepts("src/pouch/pipeline.rs", "use crate::age;\nfn f() { age::wrap() }");
    accepts("src/pouch/pipeline.rs", "use crate::{age, git};\nfn f() { age::wrap() }");
    accepts("src/pouch/pipeline.rs", "fn f() { crate::age::wrap() }");
    refuses("src/pouch/pipeline.rs", "use age::x25519;", "names the crate `age`");
    refuses("src/pouch/pipeline.rs", "fn f() { ::age::x25519() }", "names the crate `age`");
    refuses("src/pouch/pipeline.rs", "use crate::package;\nfn f() { age::x25519() }", "names the crate `age`");
    refuses("src/core/recipient.rs", "use age;", "names the crate `age`");
}

#[test]
fn form_is_checked() {
    assert_eq!(faults_of_source("src/core/x.rs", "use x;").len(), 1);
    assert_eq!(faults_of_source("src/core/x.rs", &format!("//! X.{}", "\n".repeat(TOO_LONG))).len(), 0);
    assert_eq!(faults_of_source("src/core/x.rs", &format!("//! X.{}", "\n".repeat(TOO_LONG + 1))).len(), 1);
    assert_eq!(faults_of_form("src/pouch/tests/x.rs", &"\n".repeat(TOO_LONG + 1)).len(), 1);
}

#[test]
fn test_files_are_told_from_the_rest() {
    let file = |path: &str, text: &str| (String::from(path), String::from(text));
    let sources = [
        file("src/core/lib.rs", "pub mod name;\n#[cfg(test)]\nmod testing;"),
        file("src/core/name.rs", "mod tests;"),
        file("src/core/node.rs", "#[cfg(test)]\nmod tests;"),
        file("src/pouch/tests/interop.rs", ""),
    ];
    let expect = ["src/core/node/tests.rs", "src/core/testing.rs", "src/pouch/tests/interop.rs"];
    assert_eq!(test_files(&sources), BTreeSet::from(expect.map(String::from)));
}

#[test]
fn traces_are_found() {
    for path in MACHINE_PATHS {
        assert_eq!(faults_of_text("docs/x.md", &format!("\nsee {path}x")).len(), 1, "{path}");
    }
    for host in REGISTRY_HOSTS {
        assert_eq!(faults_of_text("scripts/x", &format!("curl {host}/x")).len(), 1, "{host}");
        assert_eq!(faults_of_text("Cargo.lock", &format!("source = {host}")).len(), 0, "{host}");
    }
    assert_eq!(faults_of_text("docs/x.md", "work/ and root/ and \"$HOME\""), [""; 0]);
}

#[test]
fn a_forbidden_dependency_is_found() {
    let found =
        packages("pouch-core v0.1.0 (somewhere)\nserde v1.0.0\ntokio v1.2.3\nserde v1.0.0\nx v1.0.0 (proc-macro)\n");
    assert_eq!(found, ["serde 1.0.0", "tokio 1.2.3", "x 1.0.0"]);
    assert_eq!(not_in_core(&found), ["tokio"]);
}
