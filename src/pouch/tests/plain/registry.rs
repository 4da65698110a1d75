//! Bundles in a registry: what is sent there, and what is said where that fails.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::fleet::{Fleet, Ran};
use crate::support::origin::Origin;
use crate::support::registry::{Fault, Registry};

mod trouble;

/// A fleet whose bundles go to a registry, by the branch of a repository or from a folder.
fn fleet(registry: &Registry) -> Fleet {
    let fleet = Fleet::with_credentials(2);
    registered(&fleet, registry, "");
    fleet
}

/// Has a fleet copy its bundles to a registry. `more` are further keys of `output.oci`.
fn registered(fleet: &Fleet, registry: &Registry, more: &str) {
    let oci = format!("path: bundles, oci: {{repository: '{}/fleet/{{region}}'{more}}}", registry.host());
    fleet.configure("path: bundles", &oci);
}

/// The same by a branch.
fn published(registry: &Registry) -> Fleet {
    let fleet = Fleet::with_credentials(2);
    Origin::new(&fleet, "");
    registered(&fleet, registry, "");
    fleet
}

#[track_caller]
fn publish(fleet: &Fleet, more: &[&str]) -> Ran {
    fleet.run(&[&["publish", "--request-timeout", "1s", "--summary", "summary.json"], more].concat())
}

fn artifact(fleet: &Fleet, region: &str) -> Value {
    let summary: Value = serde_json::from_str(&fleet.read("summary.json")).unwrap();
    let all = summary["artifacts"].as_array().unwrap();
    all.iter().find(|artifact| artifact["region"] == region).unwrap().clone()
}

/// What a layer holds, as tar itself unpacks it.
fn unpacked(fleet: &Fleet, layer: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let folder = fleet.path("unpacked");
    _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir(&folder).unwrap();
    let mut command = Command::new("tar");
    let mut tar = command.args(["-xzf", "-", "-C"]).arg(&folder).stdin(Stdio::piped()).spawn().unwrap();
    tar.stdin.take().unwrap().write_all(layer).unwrap();
    assert!(tar.wait().unwrap().success());
    let tree = fleet.tree("unpacked").into_iter();
    tree.filter(|(path, _)| !fleet.path("unpacked").join(path).is_dir()).collect()
}

#[test]
fn a_region_s_bundle_is_copied_and_nothing_is_sent_twice() {
    let registry = Registry::new();
    let fleet = published(&registry);
    let ran = publish(&fleet, &["--first"]).ends(0);
    let place = format!("{}/fleet/eu:latest", registry.host());
    let digest = artifact(&fleet, "eu")["digest"].as_str().unwrap().to_owned();
    assert_eq!(
        artifact(&fleet, "eu"),
        json!({"region": "eu", "reference": place, "state": "pushed", "digest": digest})
    );
    ran.says(&format!("eu: {place} is at {digest}"));
    // By digest first, and the tag when all is there.
    let sent: Vec<String> = registry.sent().into_iter().filter(|line| line.contains("/fleet/eu/")).collect();
    let last: Vec<&str> = sent.iter().rev().take(2).map(|line| line.rsplit('/').next().unwrap()).collect();
    assert_eq!(last, ["latest", &*digest]);

    // The very files of the branch, of this region alone.
    let files = unpacked(&fleet, &registry.layer("fleet/eu", "latest"));
    let origin = Origin::known(&fleet);
    let of_eu = |path: &str| path.starts_with("bundles/regions/eu/") || path.starts_with("bundles/flux/eu/");
    let paths: Vec<String> =
        origin.files().into_iter().filter(|path| of_eu(path) || path.ends_with(".gitattributes")).collect();
    assert!(paths.len() > 6);
    assert_eq!(files.keys().map(|path| format!("bundles/{path}")).collect::<Vec<_>>(), paths);
    for (path, bytes) in &files {
        let text = origin.git(&["show", &format!("main:bundles/{path}")]);
        assert_eq!(String::from_utf8_lossy(bytes).trim(), text, "{path}");
    }
    fleet.run(&["verify", "unpacked", "--region", "eu"]).ends(0);

    // Whether a run reads its sources or not, it asks twice a region and sends nothing.
    for _ in 0..3 {
        publish(&fleet, &[]).ends(0);
        let lines: Vec<String> = registry.asked().into_iter().map(|asked| asked.line).collect();
        assert!(lines.len() == 4 && lines.iter().all(|line| line.starts_with(['G', 'H'])), "{lines:?}");
        assert_eq!(
            artifact(&fleet, "eu"),
            json!({"region": "eu", "reference": place, "state": "unchanged", "digest": digest})
        );
    }

    // One region changed: the other one's copy stays.
    fleet.secret("us", "c0", "value: changed");
    publish(&fleet, &[]).ends(0);
    let sent = registry.sent();
    assert!(!sent.is_empty() && sent.iter().all(|line| line.contains("/fleet/us/")), "{sent:?}");
    assert_eq!(artifact(&fleet, "eu")["digest"], *digest);
    // So do commands that only look.
    fleet.secret("us", "c0", "value: changed again");
    for looks in [&["plan"][..], &["publish", "--dry-run"], &["render"], &["check"]] {
        fleet.run(looks).ends(0);
    }
    assert!(registry.asked().is_empty());
    // Sealed anew is published anew.
    fleet.run(&["rekey", "--region", "eu"]).ends(0);
    assert!(registry.sent().iter().any(|line| line.ends_with("/fleet/eu/manifests/latest")));
}

#[test]
fn a_folder_is_copied_where_it_is_the_record() {
    let registry = Registry::new();
    let fleet = fleet(&registry);
    fleet.render(&["--output-dir", "elsewhere"]).ends(0);
    fleet.render(&["--dry-run"]).ends(0);
    assert!(registry.asked().is_empty());
    fleet.render(&[]).ends(0).says("fleet/eu:latest is at sha256:");
    let first = registry.layer("fleet/eu", "latest");
    // The same bundle has the same layer, whoever packs it.
    let other = Registry::new();
    fleet.configure(&registry.host(), &other.host());
    fleet.render(&[]).ends(0);
    assert_eq!(other.layer("fleet/eu", "latest"), first);
    assert_eq!(other.manifest("fleet/eu", "latest"), registry.manifest("fleet/eu", "latest"));
}

#[test]
fn what_fails_is_said_and_the_next_run_goes_on() {
    let registry = Registry::new();
    let fleet = published(&registry);
    publish(&fleet, &["--first"]).ends(0);
    let elsewhere = Registry::new();
    let location = |to: &str| format!("Location: http://{to}/login?token=hunter2\r\n");
    let status = |status| Fault::Status(status, String::new());
    let elsewhere_answers =
        format!("{}, where {} sends uploads, answers 404 to uploading a blob", elsewhere.host(), registry.host());
    let tag = "/fleet/eu/manifests/latest";
    for (turn, (part, fault, words)) in [
        (tag, status(401), "wants to know who asks in a way that pouch does not know"),
        (tag, status(403), "answers 403 to reading the tag"),
        ("POST /v2/fleet/eu/", status(403), "answers 403 to beginning an upload"),
        ("POST /v2/fleet/eu/", status(404), "answers 404 to beginning an upload"),
        (tag, Fault::Status(429, "Retry-After: 0\r\n".into()), "answers 429 to reading the tag"),
        ("PUT /v2/fleet/eu/blobs", status(500), "answers 500 to uploading a blob"),
        ("PUT /v2/fleet/eu/blobs", status(413), "answers 413 to uploading a blob"),
        ("PUT /v2/fleet/eu/manifests/latest", status(400), "answers 400 to pushing the manifest"),
        ("/fleet/eu/", Fault::Hang(Duration::from_secs(3)), "it did not answer in time"),
        ("/fleet/eu/", Fault::Close, "cannot be used"),
        (tag, Fault::Page, "does not answer as a registry does"),
        (
            "/fleet/eu/",
            Fault::Status(302, location("login.example.com")),
            "refers to login.example.com; nobody follows",
        ),
        (tag, Fault::Digest, "another digest than it says"),
        ("PUT /v2/fleet/eu/", Fault::Yes, "the tag is at another one"),
        // An upload goes where the registry says, but not to a page. Whoever answers there is the one to look at.
        ("POST /v2/fleet/eu/", Fault::Status(202, location(&elsewhere.host())), &elsewhere_answers),
        (
            "POST /v2/fleet/eu/",
            Fault::Status(202, "Location: ftp://x/y\r\n".into()),
            "does not answer as a registry does",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("{part} {fault:?}");
        for region in ["eu", "us"] {
            fleet.secret(region, "c0", &format!("value: turn-{turn}"));
        }
        registry.spoil(part, fault);
        let before = Origin::known(&fleet).tip();
        let ran = publish(&fleet, &[]).ends(1).outcome("eu", "published").outcome("us", "published");
        assert_ne!(Origin::known(&fleet).tip(), before, "{name}");
        assert!(ran.stderr.contains(words), "{name}: no {words:?} in\n{}", ran.stderr);
        assert!(!ran.stderr.contains("hunter2") && !ran.stderr.contains("Log in<"), "{}", ran.stderr);
        let ran = ran.says("What is published stands; run pouch again, which goes on from there.");
        ran.says("the artifact of region eu at ").says("fleet/us:latest is at sha256:");
        assert_eq!(
            (&artifact(&fleet, "eu")["state"], &artifact(&fleet, "us")["state"]),
            (&json!("failed"), &json!("pushed"))
        );
        // Nothing changed for the next run, which pushes all the same.
        registry.heal();
        registry.asked();
        publish(&fleet, &[]).ends(0).outcome("eu", "unchanged").says("fleet/eu:latest is at sha256:");
        assert!(registry.sent().iter().all(|line| line.contains("/fleet/eu/")), "{name}");
    }
    // A hiccup is nobody's business.
    assert!(elsewhere.asked().iter().all(|asked| asked.authorization.is_none()));
}

#[test]
fn credentials_go_to_the_registry_and_to_what_gives_tokens_for_it() {
    const PASSWORD: &str = "hunter2-of-the-registry";
    let (registry, elsewhere) = (Registry::new(), Registry::new());
    let fleet = fleet(&registry);
    // docker's own way to write a user and a password.
    let auth = "bWU6aHVudGVyMi1vZi10aGUtcmVnaXN0cnk=";
    let config = format!("{{\"auths\": {{\"{}\": {{\"auth\": \"{auth}\"}}}}}}", registry.host());
    fleet.private("home/.docker/config.json", &config);
    let quiet = |ran: Ran| {
        assert!(!ran.stderr.contains(PASSWORD) && !ran.stderr.contains(auth), "{}", ran.stderr);
        ran
    };
    registry.demand(&format!("Basic {auth}"), "Basic realm=\"x\"");
    quiet(fleet.render(&["-v", "--log-level", "debug"]).ends(0));
    // Nobody is told before somebody asks.
    assert_eq!(registry.asked()[0].authorization, None);

    let challenge = format!("Bearer realm=\"http://{}/token?x=1\",service=\"s&t\",scope=\"ignored\"", registry.host());
    registry.demand("Bearer given", &challenge);
    fleet.secret("eu", "c0", "value: by-token");
    quiet(fleet.render(&["-v", "--log-level", "debug"]).ends(0));
    let asked = registry.asked();
    let tokens: Vec<_> = asked.iter().filter(|asked| asked.line.contains("/token")).collect();
    // One for each repository.
    assert_eq!(tokens.len(), 2, "{asked:?}");
    assert!(
        tokens
            .iter()
            .any(|asked| { asked.line == "GET /token?x=1&service=s%26t&scope=repository%3Afleet%2Feu%3Apull%2Cpush" })
    );
    assert!(tokens.iter().all(|asked| asked.authorization.as_deref() == Some(&*format!("Basic {auth}"))));

    // Where an upload goes to another server, nothing goes along.
    let location = format!("Location: http://{}/v2/fleet/eu/blobs/uploads/1\r\n", elsewhere.host());
    registry.spoil("POST /v2/fleet/eu/", Fault::Status(202, location));
    fleet.secret("eu", "c0", "value: elsewhere");
    quiet(fleet.render(&[]).ends(1).says("answers 400 to pushing the manifest"));
    let there = elsewhere.asked();
    assert!(!there.is_empty() && there.iter().all(|asked| asked.authorization.is_none()), "{there:?}");
    registry.heal();

    // Whoever is not let in.
    registry.demand("Bearer another", &challenge);
    quiet(fleet.render(&[]).ends(1).says("does not accept the credentials (401)"));
    fleet.remove("home/.docker/config.json");
    registry.demand(&format!("Basic {auth}"), "Basic realm=\"x\"");
    fleet.render(&[]).ends(1).says("does not let this user do it (401)").says("Log in with `docker login");
    // The variable that CI systems set, and which no child sees.
    let mut command = fleet.command(&["render"]);
    let ran = Ran::from(command.env("DOCKER_AUTH_CONFIG", &config).output().unwrap());
    quiet(ran.ends(0));
}

#[test]
fn what_others_do_to_the_registry_is_told_and_put_right() {
    let registry = Registry::new();
    let fleet = published(&registry);
    publish(&fleet, &["--first"]).ends(0);
    let ours = registry.manifest("fleet/eu", "latest").unwrap();
    let other = registry.manifest("fleet/us", "latest").unwrap();
    let mut forged = other.clone();
    forged["annotations"] = ours["annotations"].clone();
    for strange in [json!({"layers": []}), other, forged] {
        registry.put("fleet/eu", "latest", &strange);
        let ran = publish(&fleet, &[]).ends(0);
        ran.says("which pouch did not push, and is as published again");
        assert_eq!(registry.manifest("fleet/eu", "latest").unwrap(), ours);
    }
    // An older one of pouch's own is no stranger's, and is not what is published.
    fleet.secret("eu", "c0", "value: newer");
    publish(&fleet, &[]).ends(0);
    let newer = registry.manifest("fleet/eu", "latest").unwrap();
    registry.put("fleet/eu", "latest", &ours);
    let ran = publish(&fleet, &[]).ends(0).says("eu:latest is at ");
    assert!(!ran.stderr.contains("did not push"), "{}", ran.stderr);
    assert_eq!(registry.manifest("fleet/eu", "latest").unwrap(), newer);
    // A layer that is gone is sent again.
    registry.forget(newer["layers"][0]["digest"].as_str().unwrap());
    publish(&fleet, &[]).ends(0).says("eu:latest is at ");
    registry.layer("fleet/eu", "latest");
}

#[test]
fn only_what_the_reuse_key_vouches_for_is_copied() {
    let registry = Registry::new();
    let fleet = fleet(&registry);
    fleet.render(&[]).ends(0);
    let before = registry.manifest("fleet/eu", "latest");
    registry.asked();
    // A foreign file holds the region, and is no part of its bundle.
    fleet.write("bundles/regions/eu/core/foreign.yaml", "kind: Secret\n");
    fleet.render(&[]).ends(4);
    assert!(registry.sent().is_empty());
    fleet.remove("bundles/regions/eu/core/foreign.yaml");
    // Nor is what stands in a paused region's folder and is not as listed.
    fleet.configure("  eu: {", "  eu: {state: paused, ");
    let manifest = fleet.read("bundles/regions/eu/bundle.yaml");
    fleet.write("bundles/regions/eu/bundle.yaml", manifest.replacen("fleet: acme", "fleet:  acme", 1));
    fleet.render(&["--tolerate", "partial,brake"]);
    assert!(registry.sent().is_empty());
    fleet.write("bundles/regions/eu/bundle.yaml", manifest);
    fleet.render(&[]).ends(0);
    assert_eq!(registry.manifest("fleet/eu", "latest"), before);
}

/// An older bundle proves itself; a run that did not compare it with the last one has no say in what consumers get.
#[test]
fn what_a_writer_of_the_branch_puts_back_goes_to_no_registry() {
    let registry = Registry::new();
    let fleet = published(&registry);
    publish(&fleet, &["--first"]).ends(0);
    let origin = Origin::known(&fleet);
    let first = origin.tip().unwrap();
    fleet.secret("eu", "c0", "value: rotated");
    fleet.secret("us", "c0", "value: rotated");
    publish(&fleet, &[]).ends(0);
    let now = registry.manifest("fleet/eu", "latest").unwrap();
    registry.asked();
    let put_back = format!("git checkout -q {first} -- bundles/regions/eu bundles/flux/eu");

    // Not looked at.
    origin.commit_beside(&put_back);
    publish(&fleet, &["--region", "us"]).ends(0);
    assert!(registry.sent().is_empty());
    // Held.
    origin.commit_beside("echo 'kind: Secret' > bundles/regions/eu/foreign.yaml");
    publish(&fleet, &[]).ends(4);
    assert!(registry.sent().is_empty());
    // Left alone.
    origin.commit_beside("git rm -q bundles/regions/eu/foreign.yaml");
    fleet.configure("  eu: {", "  eu: {state: paused, ");
    publish(&fleet, &[]).ends(0);
    assert!(registry.sent().is_empty());
    assert_eq!(registry.manifest("fleet/eu", "latest").unwrap(), now);
    // A run that looks at it puts it right.
    fleet.configure("  eu: {state: paused, ", "  eu: {");
    publish(&fleet, &[]).ends(0);
    let bundle = |manifest: &Value| manifest["annotations"]["pouch.bundle"].clone();
    assert_eq!(bundle(&registry.manifest("fleet/eu", "latest").unwrap()), bundle(&now));
}

#[test]
fn a_retired_region_s_tag_stays_and_is_told() {
    let registry = Registry::new();
    let fleet = fleet(&registry);
    fleet.render(&[]).ends(0);
    fleet.configure("  us: {", "  us: {state: retired, ");
    let accept = fleet.render(&[]).ends(4).acceptance("--accept-deletions", "us");
    registry.asked();
    let ran = fleet.render(&["--accept-deletions", &accept]).ends(0);
    ran.says("fleet/us:latest stays, though the region is retired");
    assert!(registry.sent().is_empty() && registry.manifest("fleet/us", "latest").is_some());
}

#[test]
fn a_registry_has_what_is_merged_and_no_proposal() {
    let registry = Registry::new();
    let fleet = published(&registry);
    publish(&fleet, &["--first"]).ends(0);
    let before = registry.manifest("fleet/eu", "latest").unwrap();
    fleet.configure("branch: main", "base: main, branch: proposals");
    fleet.secret("eu", "c0", "value: proposed");
    publish(&fleet, &[]).ends(0).says("proposes");
    assert_eq!(registry.manifest("fleet/eu", "latest").unwrap(), before);
    Origin::known(&fleet).git(&["update-ref", "refs/heads/main", "refs/heads/proposals"]);
    publish(&fleet, &[]).ends(0).says("eu:latest is at ");
    assert_ne!(registry.manifest("fleet/eu", "latest").unwrap(), before);
}
