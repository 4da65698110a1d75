//! A child that renders a fleet and then stands still, and its memory as another process sees it.
//!
//! The child is this very test binary, so what wipes memory or does not is the binary's own allocator: the
//! shipped program needs no hook for it.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests start programs and fail by panicking"
)]

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use pouch::ambient::Ambient;

use crate::choir::{Choir, Ear};
use crate::fleet::{Fleet, KEY, base64};

/// Says to the child where its fleet is.
const FOLDER: &str = "POUCH_TEST_FOLDER";

/// The child's part; nothing where this is no child.
pub fn child() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let ambient = Ambient::fixed(Path::new(&folder), "2026-03-01T12:00:00Z".parse().unwrap(), &[]);
    let code = pouch::cli::run(&ambient.called(&["pouch", "render", "-f", &format!("{folder}/pouch.yaml"), "-v"]));
    println!("\nrendered with {code}");
    let _ = std::io::stdin().read(&mut [0]);
}

/// A fleet with a hundred values, each of them listened for, and the reuse key.
fn fleet() -> (Fleet, Ear) {
    let (fleet, mut choir) = (Fleet::new(), Choir::default());
    choir.add("the reuse key", KEY.trim_start_matches("POUCH-REUSE-KEY-1"));
    for number in 0..25 {
        let name = format!("s{number}");
        let encoded = base64(choir.voice(&format!("{name}: base64")).as_bytes());
        let long = "x".repeat(3000);
        let secret = choir.fill(&format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}, namespace: team-b, annotations: {{note: '«{name}: annotation»'}}}}\n\
             data: {{a: {encoded}}}\nstringData:\n  b: «{name}: plain»\n  c: '{{\"x\": \"«{name}: JSON»\"}}'\n  d: |\n    {long}\n    «{name}: long»\n"
        ));
        let credential = crate::fleet::credential("team-b", &name, "v1", "Secret");
        match number % 2 {
            0 => fleet.write(&format!("manifests/{name}.yaml"), format!("{credential}---\n{secret}")),
            _ => {
                // The other door.
                fleet.write(&format!("manifests/{name}.yaml"), credential);
                let value = |part: &str| format!("«{name}: {part}»");
                let json = serde_json::json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "team-b"},
                    "data": {"a": encoded}, "stringData": {"b": value("plain"), "c": value("JSON"), "d": format!("{long}{}", value("long"))}});
                fleet.write(&format!("manifests/{name}.json"), choir.fill(&json.to_string()));
            }
        }
    }
    let ear = choir.ear();
    (fleet, ear)
}

/// Lets a child render, and gives the places whose canaries are still in its memory.
///
/// None where memory cannot be looked at.
pub fn left_behind() -> Option<BTreeSet<String>> {
    if !Path::new("/proc/self/mem").exists() {
        crate::support::skipped("this system shows no process's memory");
        return None;
    }
    let (fleet, ear) = fleet();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--ignored", "--nocapture"])
        .env_clear()
        .env(FOLDER, fleet.path(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut said = Vec::new();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let ready = lines.by_ref().inspect(|line| said.push(line.clone())).any(|line| line.starts_with("rendered with "));
    assert!(ready && said.last().is_some_and(|line| line == "rendered with 0"), "{said:?}");
    assert!(fleet.published().contains_key("regions/eu-west/core/secrets/team-b/s24.sops.yaml"));
    let found = search(&child, &ear);
    drop(child.stdin.take());
    child.kill().unwrap();
    child.wait().unwrap();
    found
}

/// Searches everything that a process may write to: heap, stacks, and what its libraries map.
fn search(child: &Child, ear: &Ear) -> Option<BTreeSet<String>> {
    let process = Path::new("/proc").join(child.id().to_string());
    let maps = fs::read_to_string(process.join("maps")).unwrap();
    let Ok(memory) = File::open(process.join("mem")) else {
        crate::support::skipped("no right to look at a child's memory");
        return None;
    };
    let (mut found, mut searched) = (BTreeSet::new(), 0);
    for line in maps.lines().filter(|line| line.split(' ').nth(1).is_some_and(|rights| rights.starts_with("rw"))) {
        let (from, to) = line.split(' ').next().and_then(|range| range.split_once('-')).unwrap();
        let number = |hex: &str| u64::from_str_radix(hex, 16).unwrap();
        let (mut at, end) = (number(from), number(to));
        // In parts that overlap by more than a canary.
        while at < end {
            let mut part = vec![0; usize::try_from((end - at).min(1 << 20)).unwrap()];
            let Ok(read) = memory.read_at(&mut part, at) else { break };
            if part.iter().any(|byte| *byte != 0) {
                for (place, forms) in ear.hears(&part[..read]) {
                    found.insert(format!("{place}, {forms:?}, in {line}"));
                }
            }
            searched += read;
            at += u64::try_from(read.max(1)).unwrap().saturating_sub(if at + (1 << 20) < end { 512 } else { 0 }).max(1);
        }
    }
    assert!(searched > 100_000, "only {searched} bytes of memory were found");
    Some(found)
}
