//! Keeps the house in order: who may name what, how long a file may be, what the core depends on.
//!
//! The rules stand in [`table`] and in `rooms.txt`; here they are applied to every file, and each is
//! also shown a bad sample, so that none can fall silent. Tests may do what they need and are exempt.
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

mod arms;
mod functions;
mod graph;
mod rooms;
mod source;
mod table;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use graph::{Foreign, Graph, Naming};
use source::Source;
use table::{APART, NEVER, NOT_IN_CORE, ONLY};

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

/// Every room and whom it may name.
const ROOMS: &str = "src/pouch/tests/tidy/rooms.txt";

/// What is read of the workspace's Rust files, once for all tests.
struct House {
    /// What the files name that are no tests.
    graph: Graph,
    /// What is wrong with each file by itself.
    faults: Vec<String>,
}

static HOUSE: LazyLock<House> = LazyLock::new(|| {
    let is_rust = |path: &str| path.starts_with("src/") && path.ends_with(".rs");
    let files: Vec<_> = texts().into_iter().filter(|(path, _)| is_rust(path)).collect();
    assert!(files.iter().any(|(path, _)| path == "src/core/lib.rs"), "the sources were not found");
    let mut faults: Vec<_> = files.iter().flat_map(|(path, text)| faults_of_form(path, text)).collect();
    let modules = files.iter().filter(|(path, _)| !path.starts_with("src/pouch/tests/"));
    let mut sources: Vec<_> =
        modules.map(|(path, text)| source::read(path, text).expect("our files are Rust")).collect();
    let tests = test_places(&sources);
    sources.retain(|source| !tests.iter().any(|place| stands_in(&source.path, place)));
    faults.extend(sources.iter().flat_map(faults_of_source));
    for source in &sources {
        let (path, file) = (&source.path, source::file(source).expect("our files are Rust"));
        faults.extend(arms::faults(path, &file).into_iter().chain(functions::faults(path, &file)));
    }
    House { graph: Graph::of(&sources).expect("our files are Rust"), faults }
});

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

/// Whether the user asks for the lists to be written.
fn rewrites() -> bool {
    std::env::var_os("POUCH_REWRITE").is_some_and(|value| value == "1")
}

/// The modules that are declared for tests only; so is all that lies below them.
fn test_places(sources: &[Source]) -> BTreeSet<String> {
    let places = sources.iter().flat_map(|source| {
        let stem = source.path.trim_end_matches(".rs");
        let folder = stem.strip_suffix("/lib").or(stem.strip_suffix("/main")).unwrap_or(stem);
        source.test_modules.iter().map(move |module| format!("{folder}/{module}"))
    });
    places.collect()
}

/// What is wrong with the form of any Rust file.
fn faults_of_form(path: &str, text: &str) -> Vec<String> {
    let length = text.lines().count();
    if length > TOO_LONG {
        return vec![format!("{path}: {length} lines, {TOO_LONG} at most; split it along a noun")];
    }
    if length > LONG {
        eprintln!("NOTE {path} has {length} lines and wants splitting along a noun");
    }
    Vec::new()
}

/// What is wrong with a Rust file that is no test, by its words and its first line.
fn faults_of_source(Source { path, text, tokens, .. }: &Source) -> Vec<String> {
    let mut faults = Vec::new();
    if !text.starts_with("//!") {
        faults.push(format!("{path}:1: does not say in its first line what it is (//!)"));
    }
    let paths = source::paths(tokens.clone());
    let only =
        ONLY.iter().filter(|rule| stands_in(path, rule.within) && !rule.homes.iter().any(|home| stands_in(path, home)));
    let never = NEVER.iter().filter(|rule| rule.places.iter().any(|place| stands_in(path, place)));
    for (words, why) in only.map(|rule| (rule.words, rule.why)).chain(never.map(|rule| (rule.words, rule.why))) {
        for word in words {
            for line in source::lines_with(&paths, word) {
                faults.push(format!("{path}:{line}: names `{word}`: {why}"));
            }
        }
    }
    faults
}

/// What is wrong with what files name.
fn faults_of_naming(graph: &Graph) -> Vec<String> {
    let mut faults = Vec::new();
    for Naming { from, to, name, line } in &graph.namings {
        let forbids = |rule: &&table::Apart| {
            rule.places.iter().any(|place| stands_in(from, place))
                && rule.rooms.iter().any(|room| stands_in(to, &format!("src/core/{room}")))
        };
        for rule in APART.iter().filter(forbids) {
            faults.push(format!("{from}:{line}: names `{name}` of {to}: {}", rule.why));
        }
    }
    for Foreign { from, name, line } in &graph.foreign {
        if name == "age" && !stands_in(from, "src/pouch/age") {
            faults.push(format!("{from}:{line}: names the crate `age`: only age does"));
        }
    }
    faults
}

/// What is wrong with any file, whatever language it is in.
fn faults_of_text(path: &str, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for (number, line) in text.lines().enumerate() {
        for word in MACHINE_PATHS {
            // Where Argo CD's image has its plugins.
            if line.replace("/home/argocd/cmp-server/", "").contains(word) {
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
    let faults: Vec<_> = HOUSE.faults.iter().cloned().chain(faults_of_naming(&HOUSE.graph)).collect();
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn no_files_name_each_other_in_a_circle() {
    let circles = HOUSE.graph.circles();
    assert!(circles.is_empty(), "\n{}\n", circles.join("\n"));
}

#[test]
fn every_room_names_only_rooms_that_it_may() {
    let path = root().join(ROOMS);
    let mut table = std::fs::read_to_string(&path).unwrap_or_default();
    if rewrites() {
        table = rooms::rewritten(&HOUSE.graph, &table);
        std::fs::write(&path, &table).expect("the table can be written");
    }
    let faults = rooms::faults(&HOUSE.graph, &table);
    let advice = "POUCH_REWRITE=1 writes whom rooms name; their order is written by hand";
    assert!(faults.is_empty(), "\n{}\n{advice}\n", faults.join("\n"));
}

#[test]
fn what_is_kept_apart_says_more_than_the_order_of_the_rooms() {
    let table = std::fs::read_to_string(root().join(ROOMS)).expect("the table can be read");
    for rule in APART {
        for (place, room) in rule.places.iter().flat_map(|place| rule.rooms.iter().map(move |room| (place, room))) {
            let says_more = rooms::is_above(&table, room, place);
            assert!(says_more, "`{room}` is no room above {place}, so no rule need keep them apart: {}", rule.why);
        }
    }
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
    if rewrites() {
        std::fs::write(&path, &text).expect("the list can be written");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(committed, text, "src/core/dependencies.txt is not fresh: POUCH_REWRITE=1 writes it");
}

/// What is wrong with a sample, which may be no Rust.
fn faults_of_sample(path: &str, text: &str) -> Vec<String> {
    match source::read(path, text) {
        Ok(source) => faults_of_source(&source),
        Err(fault) => vec![fault],
    }
}

/// Asserts that the file is refused with a fault that says `expect`.
#[track_caller]
fn refuses(path: &str, text: &str, expect: &str) {
    let faults = faults_of_sample(path, &format!("//! A sample.\n{text}\n"));
    assert!(faults.iter().any(|fault| fault.contains(expect)), "{path} passed with: {text}\n{faults:?}");
}

#[track_caller]
fn accepts(path: &str, text: &str) {
    let faults = faults_of_sample(path, &format!("//! A sample.\n{text}\n"));
    assert!(faults.is_empty(), "{faults:?}");
}

/// The graph of a file and of the files that it may name.
fn sample(path: &str, text: &str, others: &[&str]) -> Graph {
    let text = format!("//! A sample.\n{text}\n");
    let others = others.iter().map(|path| (*path, "//! A sample.\n"));
    Graph::of_samples(&others.chain([(path, text.as_str())]).collect::<Vec<_>>())
}

#[test]
fn every_rule_of_the_table_can_fail() {
    for rule in ONLY {
        for word in rule.words {
            let call = format!("use x;\nlet y = {word}{}(z);", if word.ends_with(':') { "x" } else { "" });
            refuses("src/pouch/elsewhere.rs", &call, &format!(":3: names `{word}`"));
            for home in rule.homes {
                accepts(&format!("{home}.rs"), &call);
            }
        }
    }
    for rule in NEVER {
        for (place, word) in rule.places.iter().flat_map(|place| rule.words.iter().map(move |word| (place, word))) {
            refuses(&format!("{place}/x.rs"), &format!("use crate::{word};"), &format!(":2: names `{word}`"));
        }
    }
    for rule in APART {
        for (place, room) in rule.places.iter().flat_map(|place| rule.rooms.iter().map(move |room| (place, room))) {
            let other = format!("src/core/{room}.rs");
            let code = format!("use crate::{room}::x;");
            let faults = faults_of_naming(&sample(&format!("{place}.rs"), &code, &["src/core/lib.rs", &other]));
            assert_eq!(faults, [format!("{place}.rs:2: names `x` of {other}: {}", rule.why)]);
        }
    }
}

#[test]
fn what_only_looks_like_a_fault_passes() {
    accepts("src/core/closure.rs", "/// Knows nothing of std.\nfn f() -> &'static str { \"std\" }");
    accepts("src/core/closure.rs", "#[cfg(test)]\nmod tests {\n    extern crate std;\n    use std::fs;\n}");
    accepts("src/pouch/git_like.rs", "fn git2_like() {}");
    refuses("src/pouch/git_like.rs", "#[cfg(test)]\nmod tests {}\nuse git2::Oid;", ":4: names `git2`");
    refuses("src/core/name.rs", "extern crate std;", "names `std`");
    refuses("src/core/name.rs", "use std::fs;", "names `std`");
    refuses("src/core/name.rs", "unsafe { x() }", "names `unsafe`");
    refuses("src/core/name.rs", "fn f() {", "is no Rust");
    refuses("src/pouch/cli.rs", "use std::{env::{self, var}};", "names `env::var`");
    refuses("src/pouch/cli.rs", "fn f() { outer!(inner!(x, std::env::var(y))) }", "names `env::var`");
}

#[test]
fn the_crate_age_is_told_from_our_module() {
    let faults = |path, text| {
        faults_of_naming(&sample(path, text, &["src/pouch/lib.rs", "src/pouch/age.rs", "src/pouch/age/x.rs"]))
    };
    let refuses = |path, text| assert_eq!(faults(path, text).len(), 1, "{path} passed with: {text}");
    let accepts = |path, text| assert_eq!(faults(path, text), [""; 0]);
    accepts("src/pouch/age/x.rs", "use age::Encryptor;");
    accepts("src/pouch/pipeline.rs", "use crate::age;\nfn f() { age::wrap() }");
    accepts("src/pouch/pipeline.rs", "use crate::{age, git};\nfn f() { m!(age::wrap()) }");
    accepts("src/pouch/pipeline.rs", "fn f(age: u8) { crate::age::wrap(age) }");
    refuses("src/pouch/pipeline.rs", "use age::x25519;");
    refuses("src/pouch/pipeline.rs", "fn f() { ::age::x25519() }");
    refuses("src/pouch/pipeline.rs", "fn f() { m!(age::x25519()) }");
    refuses("src/pouch/pipeline.rs", "use crate::package;\nfn f() { age::x25519() }");
    refuses("src/core/recipient.rs", "use age;");
}

#[test]
fn form_is_checked() {
    assert_eq!(faults_of_sample("src/core/x.rs", "use x;").len(), 1);
    assert_eq!(faults_of_sample("src/core/x.rs", "//! X.\nuse x;").len(), 0);
    assert_eq!(faults_of_form("src/core/x.rs", &"\n".repeat(TOO_LONG)).len(), 0);
    assert_eq!(faults_of_form("src/core/x.rs", &"\n".repeat(TOO_LONG + 1)).len(), 1);
}

#[test]
fn test_modules_are_told_from_the_rest() {
    let sources = [
        ("src/core/lib.rs", "pub mod name;\n#[cfg(test)]\nmod testing;"),
        ("src/core/name.rs", "mod tests;"),
        ("src/core/node.rs", "#[cfg(test)]\nmod tests;"),
    ];
    let places = test_places(&sources.map(|(path, text)| source::read(path, text).unwrap()));
    assert_eq!(places, BTreeSet::from(["src/core/node/tests", "src/core/testing"].map(String::from)));
    assert!(stands_in("src/core/testing/case.rs", "src/core/testing"));
    assert!(!stands_in("src/core/testing_too.rs", "src/core/testing"));
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
