//! A child that runs a command on a fleet and then stands still, and its memory as another process sees it.
//!
//! The child is this very test binary, so what wipes memory or does not is the binary's own allocator: the
//! shipped program needs no hook for it.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use pouch::ambient::Ambient;

use crate::rig::apiserver::ApiServer;
use crate::support::choir::{Choir, Ear};
use crate::support::spoilt::{Fleet, KEY, RECIPIENT, Tree, base64, credential};
use crate::support::{printed, root, run};

/// Says to the child where its fleet is.
const FOLDER: &str = "POUCH_TEST_FOLDER";

/// Says to the child what it does, as the arguments of pouch.
const ARGUMENTS: &str = "POUCH_TEST_ARGUMENTS";

/// Where the fleet keeps the identity of its region.
const IDENTITY: &str = "keys/own.txt";

/// The repository of bundles.
const ORIGIN: &str = "origin.git";

/// How many Credentials the fleet has, each with a Secret.
const COUNT: usize = 25;

/// What a child does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// Renders plain sources.
    Render,
    /// Renders sources that SOPS sealed.
    RenderSealed,
    /// Opens what is published, and seals it anew.
    Rekey,
    /// Opens what is published.
    Verify,
    /// Opens what is published, and prints it.
    Unpack,
    /// Opens what is published, and applies it to a region.
    Apply,
    /// Renders plain sources and commits and pushes what comes of it.
    Publish,
    /// Compares today's values with a history.
    Exposure,
}

impl Work {
    /// Each of them.
    pub const ALL: [Self; 8] = [
        Self::Render,
        Self::RenderSealed,
        Self::Rekey,
        Self::Verify,
        Self::Unpack,
        Self::Apply,
        Self::Publish,
        Self::Exposure,
    ];

    fn arguments(self) -> String {
        match self {
            Self::Render | Self::RenderSealed => "render -v".to_owned(),
            Self::Rekey => format!("rekey -v --identity {IDENTITY}"),
            Self::Verify => format!("verify bundles -v --identity {IDENTITY}"),
            Self::Unpack => format!("unpack bundles -v --region eu-west --identity {IDENTITY}"),
            Self::Apply => format!(
                "deliver bundles -v --region eu-west --identity {IDENTITY} --kubeconfig kubeconfig --context admin \
                 --inventory-namespace default"
            ),
            Self::Publish => "publish -v --first".to_owned(),
            Self::Exposure => format!("exposure {ORIGIN} -v --values"),
        }
    }
}

/// The child's part; nothing where this is no child.
pub fn child() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let path = std::env::var("PATH").unwrap();
    let ambient =
        Ambient::fixed(Path::new(&folder), "2026-03-01T12:00:00Z".parse().unwrap(), &[("PATH", path.as_str())]);
    let arguments = std::env::var(ARGUMENTS).unwrap();
    let file = format!("{folder}/pouch.yaml");
    let arguments: Vec<&str> = ["pouch", "-f", &file].into_iter().chain(arguments.split(' ')).collect();
    let code = pouch::cli::run(ambient.called(&arguments));
    println!("\ndone with {code}");
    let _ = std::io::stdin().read(&mut [0]);
}

/// A fleet with a hundred values, each of them listened for, the reuse key, and the region's identity.
fn fleet() -> (Fleet, Ear) {
    let (fleet, mut choir) = (Fleet::new(), Choir::default());
    // What others apply is not applied here.
    fleet.configure("    delivery: flux\n", "    delivery: none\n");
    choir.add("the reuse key", KEY.trim_start_matches("POUCH-REUSE-KEY-1"));
    let quickstart = root().join("testdata/quickstart/keys/eu-west.txt");
    let identity = fs::read_to_string(quickstart).unwrap();
    let key = identity.lines().find_map(|line| line.strip_prefix("AGE-SECRET-KEY-1")).unwrap();
    choir.add("the identity", key);
    fleet.private(IDENTITY, &identity);
    for number in 0..COUNT {
        let name = format!("s{number}");
        let encoded = base64(choir.voice(&format!("{name}: base64")).as_bytes());
        let long = "x".repeat(3000);
        let secret = choir.fill(&format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}, namespace: team-b, annotations: {{note: '«{name}: annotation»'}}}}\n\
             data: {{a: {encoded}}}\nstringData:\n  b: «{name}: plain»\n  c: '{{\"x\": \"«{name}: JSON»\"}}'\n  d: |\n    {long}\n    «{name}: long»\n"
        ));
        let text = credential("team-b", &name, "v1", "Secret");
        match number % 2 {
            0 => fleet.write(&format!("manifests/{name}.yaml"), format!("{text}---\n{secret}")),
            _ => {
                // The other door.
                fleet.write(&format!("manifests/{name}.yaml"), text);
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

/// Seals the Secrets of a fleet in place, and lets pouch open them; none where sops is absent.
fn seal_sources(fleet: &Fleet) -> Option<()> {
    let sops = crate::support::Sops::find()?;
    fleet.configure(
        "directory: {path: manifests}",
        &format!("directory: {{path: manifests}}\n    decryption: {{ageIdentityFile: {IDENTITY}}}"),
    );
    for number in 0..COUNT {
        let (manifest, json) = (format!("manifests/s{number}.yaml"), format!("manifests/s{number}.json"));
        let path = if number % 2 == 0 {
            let text = fs::read_to_string(fleet.path(&manifest)).unwrap();
            let (credential, secret) = text.split_once("---\n").unwrap();
            fleet.write(&manifest, credential);
            let path = format!("manifests/s{number}-secret.yaml");
            fleet.write(&path, secret);
            path
        } else {
            json
        };
        let file = fleet.path(&path);
        let arguments =
            ["encrypt", "--age", RECIPIENT, "--encrypted-regex", "^(data|stringData|annotations)$"].map(OsStr::new);
        let sealed = run(sops.path(), arguments.into_iter().chain([file.as_os_str()]), &[]);
        fleet.write(&path, printed(sops.path(), &sealed));
    }
    Some(())
}

/// Makes the fleet publish to a repository of its own.
fn add_origin(fleet: &Fleet) {
    git2::Repository::init_bare(fleet.path(ORIGIN)).unwrap();
    fleet.configure(
        "output: {path: bundles}",
        &format!("output: {{path: bundles, git: {{repository: {ORIGIN}, branch: main}}}}"),
    );
}

/// The region that is applied to, which has what bundles need there; None, after saying so, where a program is absent.
fn region(fleet: &Fleet) -> Option<ApiServer> {
    let server = ApiServer::start()?;
    if !server.install_crds() {
        return None;
    }
    server.kubectl_prints(["create", "namespace", "kcm-system"], "");
    server.kubeconfig(&fleet.path("kubeconfig"), "admin");
    Some(server)
}

/// Whether what a child was to do is done, given what was published before.
fn is_done(work: Work, fleet: &Fleet, before: &Tree, region: Option<&ApiServer>) -> bool {
    let last = format!("regions/eu-west/core/secrets/team-b/s{}.sops.yaml", COUNT - 1);
    let published = fleet.published();
    match work {
        Work::Render | Work::RenderSealed | Work::Rekey => published.contains_key(&last) && published != *before,
        Work::Verify | Work::Unpack => published.contains_key(&last) && published == *before,
        Work::Apply => {
            let last = format!("/api/v1/namespaces/team-b/secrets/s{}", COUNT - 1);
            region.unwrap().endpoint("admin").get(&last).unwrap().status == 200
        }
        Work::Publish | Work::Exposure => {
            let origin = git2::Repository::open_bare(fleet.path(ORIGIN)).unwrap();
            let tree = origin.find_reference("refs/heads/main").unwrap().peel_to_tree().unwrap();
            tree.get_path(&Path::new("bundles").join(&last)).is_ok()
        }
    }
}

/// Lets a child work, and gives the places whose canaries are still in its memory.
///
/// None where memory cannot be looked at, or a program is absent.
pub fn left_behind(work: Work) -> Option<BTreeSet<String>> {
    if !Path::new("/proc/self/mem").exists() {
        crate::support::skipped("this system shows no process's memory");
        return None;
    }
    let (fleet, ear) = fleet();
    let server = match work {
        Work::Apply => Some(region(&fleet)?),
        _ => None,
    };
    match work {
        Work::Render => {}
        Work::RenderSealed => seal_sources(&fleet)?,
        Work::Rekey | Work::Verify | Work::Unpack | Work::Apply => _ = fleet.render().ended(0),
        Work::Publish => add_origin(&fleet),
        Work::Exposure => {
            add_origin(&fleet);
            fleet.run(&["publish", "--first"]).ended(0);
        }
    }
    let before = fleet.published();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--ignored", "--nocapture"])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env(FOLDER, fleet.path(""))
        .env(ARGUMENTS, work.arguments())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut said = Vec::new();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let ready = lines.by_ref().inspect(|line| said.push(line.clone())).any(|line| line.starts_with("done with "));
    assert!(ready && said.last().is_some_and(|line| line == "done with 0"), "{said:?}");
    assert!(is_done(work, &fleet, &before, server.as_ref()), "{work:?}: {said:?}");
    let printed = said.iter().filter(|line| *line == "kind: Secret").count();
    assert!(if work == Work::Unpack { printed >= COUNT } else { printed == 0 }, "{work:?}: {said:?}");
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
