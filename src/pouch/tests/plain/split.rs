//! Leaves that are split: what stands where, that nothing is sealed anew for it, and that nobody else can say so.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::fleet::{CANARY, Fleet, Ran, credential, secret};
use crate::support::origin::Origin;

const MANIFEST: &str = "bundles/regions/eu/bundle.yaml";

/// Two regions of twelve Credentials each, published.
fn published() -> Fleet {
    let fleet = Fleet::with_credentials(12);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    fleet
}

/// Has leaves hold at most so many objects from now on.
fn limited(fleet: &Fleet, most: usize) {
    let text = fleet.read("pouch.yaml");
    let kept: String =
        text.lines().filter(|line| !line.starts_with("limits:")).map(|line| format!("{line}\n")).collect();
    fleet.write("pouch.yaml", format!("{kept}limits: {{objectsPerLeaf: {most}}}\n"));
}

/// The region's sealed files, by the name of the Secret: path, and blob.
fn sealed(origin: &Origin<'_>) -> BTreeMap<String, (String, String)> {
    let listed = origin.git(&["ls-tree", "-r", "main", "bundles/regions/eu"]);
    let file = |line: &str| {
        let (blob, path) = line.split_once('\t')?;
        let name = path.strip_suffix(".sops.yaml")?.rsplit('/').next()?;
        Some((name.to_owned(), (path.to_owned(), blob.to_owned())))
    };
    listed.lines().filter_map(file).collect()
}

/// The folders of parts in which Secrets stand.
fn parts(origin: &Origin<'_>) -> BTreeSet<String> {
    let folder = |(path, _): (String, String)| path.split("/secrets/").next().unwrap().to_owned();
    sealed(origin).into_values().map(folder).collect()
}

/// Fails unless the branch holds up, a further publish would change nothing, and every Secret still has its bytes.
#[track_caller]
fn whole(fleet: &Fleet, before: &BTreeMap<String, (String, String)>) {
    let origin = Origin::known(fleet);
    fleet.run(&["verify"]).ends(0);
    let commits = origin.commits();
    origin.publish(&[]).ends(0).outcome("eu", "unchanged");
    assert_eq!(origin.commits(), commits);
    let after = sealed(&origin);
    assert_eq!(after.len(), 12);
    for (name, (_, blob)) in before {
        assert_eq!(&after[name].1, blob, "{name}");
    }
}

#[test]
fn files_move_as_they_are() {
    let fleet = published();
    let origin = Origin::known(&fleet);
    let before = sealed(&origin);
    let us = origin.git(&["rev-parse", "main:bundles/regions/us"]);
    let log = fleet.run(&["log", "region", "eu", "-o", "json"]).ends(0).stdout;
    limited(&fleet, 5);
    let planned = fleet.run(&["plan", "--detailed-exitcode"]).ends(2);
    let line = "  split      core in 4 parts: 12 files move, nothing is sealed anew for it\n";
    assert_eq!(planned.stdout.lines().filter(|line| line.contains("split")).count(), 1, "{}", planned.stdout);
    assert!(planned.stdout.contains(line), "{}", planned.stdout);
    let ran = origin.publish(&["--summary", "summary.json"]).ends(0);
    assert!(ran.stdout.contains(line), "{}", ran.stdout);
    let summary: serde_json::Value = serde_json::from_str(&fleet.read("summary.json")).unwrap();
    let splits = serde_json::json!([{"leaf": "core", "parts": 4, "files": 12}]);
    assert_eq!((&summary["regions"][0]["splits"], &summary["regions"][0]["sealed"]), (&splits, &0.into()));
    assert!(origin.git(&["log", "-1", "--format=%B", "main"]).contains("split      core in 4 parts"));
    whole(&fleet, &before);
    assert!(parts(&origin).iter().all(|folder| folder.starts_with("bundles/regions/eu/parts/core/of-4/")));
    assert!(!origin.files().iter().any(|path| path.starts_with("bundles/regions/eu/core/")));
    // What Argo CD applies as a whole is left alone.
    assert_eq!(origin.git(&["rev-parse", "main:bundles/regions/us"]), us);
    // Nothing happened to any value or Credential.
    let objects = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap()["objects"].take();
    assert_eq!(objects(&fleet.run(&["log", "region", "eu", "-o", "json"]).ends(0).stdout), objects(&log));
    // Without the configuration it is as whole.
    std::fs::rename(fleet.path("pouch.yaml"), fleet.path("other.yaml")).unwrap();
    fleet.run(&["verify", "repo.git"]).ends(0);
}

#[test]
fn additions_move_nothing_until_it_doubles() {
    let fleet = published();
    let origin = Origin::known(&fleet);
    limited(&fleet, 9);
    origin.publish(&[]).ends(0);
    let split = sealed(&origin);
    let of = parts(&origin);
    fleet.credential("eu", "new", &format!("{CANARY}-new"));
    origin.publish(&[]).ends(0);
    let after = sealed(&origin);
    assert!(split.iter().all(|(name, file)| after[name] == *file));
    assert_eq!(after.len(), 13);
    fleet.delete("eu", "new");
    origin.publish(&[]).ends(0);
    assert_eq!(sealed(&origin), split);

    limited(&fleet, 2);
    origin.publish(&[]).ends(0);
    whole(&fleet, &split);
    let files = origin.files();
    for old in of {
        assert!(!files.iter().any(|path| path.starts_with(&format!("{old}/"))), "{old}");
        let flux = old.replace("/regions/eu/parts/", "/flux/eu/parts/") + ".yaml";
        let text = origin.git(&["show", &format!("main:{flux}")]);
        assert!(text.contains("path: ./bundles/regions/eu/parts/emptied"), "{text}");
    }
    // What is split stays so, whatever the configuration says then.
    let doubled = sealed(&origin);
    limited(&fleet, 5000);
    origin.publish(&[]).ends(0).outcome("eu", "unchanged");
    fleet.write("pouch.yaml", fleet.read("pouch.yaml").replace("limits: {objectsPerLeaf: 5000}\n", ""));
    origin.publish(&[]).ends(0).outcome("eu", "unchanged");
    assert_eq!(sealed(&origin), doubled);
}

/// What a run is not about stays where it is, and with the next whole run it moves.
#[test]
fn a_limited_run_moves_nothing() {
    let fleet = published();
    let origin = Origin::known(&fleet);
    limited(&fleet, 5);
    let tree = || origin.git(&["rev-parse", "main:bundles"]);
    let before = tree();
    let planned = fleet.run(&["plan", "-n", "eu-team"]).ends(0);
    assert!(!planned.stdout.contains("split"), "{}", planned.stdout);
    for limit in [["-n", "eu-team"].as_slice(), &["eu-team/c1"], &["-l", "a=b"]] {
        origin.publish(limit).ends(0);
        assert_eq!(tree(), before, "{limit:?}");
    }
    origin.publish(&["--region", "eu"]).ends(0);
    assert!(parts(&origin).iter().all(|folder| folder.contains("/eu/parts/core/of-4/")));
}

/// What is only there until consumers have followed, or until somebody accepts its withdrawal, splits nothing for good.
#[test]
fn what_is_carried_over_splits_nothing() {
    for (code, reason) in [(0, "handover"), (4, "deletions-held")] {
        let fleet = Fleet::with_credentials(6);
        // Six Secrets and their Namespace.
        limited(&fleet, 7);
        let origin = Origin::new(&fleet, "");
        origin.publish(&[]).ends(0);
        for n in 0..6 {
            let other = format!("d{n}");
            fleet.secret("eu", &other, &format!("value: {CANARY}-{n}"));
            // Another Secret of the same Credential, or another Credential.
            let name = if code == 0 { format!("c{n}") } else { other.clone() };
            fleet.remove(&format!("manifests/eu-c{n}.yaml"));
            let text = credential("eu", "eu-team", &name, ["v1", "Secret", &other]);
            fleet.write(&format!("manifests/eu-{name}.yaml"), text);
        }
        origin.publish(&[]).ends(code);
        let manifest = origin.git(&["show", &format!("main:{MANIFEST}")]);
        assert_eq!(manifest.matches(&format!("reason: {reason}\n")).count(), 6, "{manifest}");
        assert_eq!((sealed(&origin).len(), parts(&origin)), (12, ["bundles/regions/eu/core".to_owned()].into()));
        // The same that is there to stay is split.
        for n in 0..6 {
            fleet.credential("eu", &format!("c{n}"), &format!("{CANARY}-eu-{n}"));
            fleet.credential("eu", &format!("d{n}"), &format!("{CANARY}-{n}"));
        }
        origin.publish(&[]).ends(0);
        assert!(parts(&origin).iter().all(|folder| folder.contains("/parts/core/of-4/")), "{:?}", parts(&origin));
    }
}

#[test]
fn nobody_else_says_what_is_split() {
    let fleet = published();
    let origin = Origin::known(&fleet);
    limited(&fleet, 5);
    origin.publish(&[]).ends(0);
    let (before, tree) = (sealed(&origin), origin.git(&["rev-parse", "main:bundles"]));
    let healed = |what: &str, script: &str, flags: &[&str]| {
        origin.commit_beside(script);
        let mut found = fleet.run(&["verify"]).ends(8).stderr;
        if !flags.is_empty() {
            found = origin.publish(&[]).ends(4).stderr;
            assert!(found.contains("error[foreign-file]"), "{what}: {found}");
        }
        origin.publish(flags).ends(0);
        assert_eq!(origin.git(&["rev-parse", "main:bundles"]), tree, "{what}: {found}");
    };
    healed("a lost manifest", &format!("rm {MANIFEST}"), &[]);
    healed("other parts", &format!("sed -i s,core/of-4,core/of-2, {MANIFEST}"), &[]);
    healed("no parts", &format!("sed -i '/^parts:/,/namespaces.of/d' {MANIFEST}"), &[]);
    let folder = "bundles/regions/eu/parts/core";
    healed("a part of less", &format!("cp -r {folder}/of-4 {folder}/of-2"), &["--remove-foreign", "eu"]);
    healed(
        "a part for Flux",
        "mkdir -p bundles/flux/eu/parts/core/of-2; cp bundles/flux/eu/core.yaml bundles/flux/eu/parts/core/of-2/0.yaml",
        &["--remove-foreign", "eu"],
    );
    healed("a moved Secret", &format!("mv {folder}/of-4/0/secrets {folder}/of-4/0/x"), &["--remove-foreign", "eu"]);
    whole(&fleet, &before);
}

/// An older state that holds the same is none that may stay: its parts are others, or its data keys.
#[test]
fn an_older_state_of_the_same_content_is_put_right() {
    let fleet = published();
    let origin = Origin::known(&fleet);
    let tree = || origin.git(&["rev-parse", "main:bundles"]);
    let mut older = vec![origin.tip().unwrap()];
    for most in [5, 2] {
        limited(&fleet, most);
        origin.publish(&[]).ends(0);
        older.push(origin.tip().unwrap());
    }
    fleet.write("pouch.yaml", fleet.read("pouch.yaml").replace("limits: {objectsPerLeaf: 2}\n", ""));
    fleet.run(&["rekey", "--region", "eu"]).ends(0);
    let last = tree();
    for older in older {
        origin.commit_beside(&format!("rm -r bundles; git checkout -q {older} -- bundles"));
        assert_ne!(tree(), last);
        let planned = fleet.run(&["plan", "--detailed-exitcode"]).ends(2);
        assert!(planned.stderr.contains("not-as-published"), "{}", planned.stderr);
        origin.publish(&[]).ends(0).says("warning[not-as-published]").outcome("eu", "published");
        assert_eq!(tree(), last);
    }
    // What others do elsewhere is no reason to doubt.
    origin.commit_beside("echo theirs > README");
    let ran = origin.publish(&[]).ends(0).outcome("eu", "unchanged");
    assert!(!ran.stderr.contains("not-as-published"), "{}", ran.stderr);
    assert_eq!(tree(), last);
}

/// Whatever becomes of a region's consumer and its manifest, what leaves is pruned by whoever held it.
#[test]
fn former_parts_are_not_forgotten() {
    let fleet = Fleet::with_credentials(6);
    limited(&fleet, 4);
    fleet.render(&[]).ends(0);
    let flux = |of: u32, number: u32| fleet.path(&format!("bundles/flux/eu/parts/core/of-{of}/{number}.yaml"));
    assert!(flux(2, 1).exists());
    fleet.configure("delivery: flux}", "delivery: none}");
    fleet.render(&[]).ends(0);
    for n in 6..14 {
        fleet.credential("eu", &format!("c{n}"), &format!("{CANARY}-eu-{n}"));
    }
    fleet.delete("eu", "c0");
    fleet.render(&[]).ends(0);
    fleet.run(&["verify", "bundles"]).ends(0);
    fleet.configure("delivery: none}", "delivery: flux}");
    fleet.render(&[]).ends(0);
    let is_emptied = |of, number| {
        let text = std::fs::read_to_string(flux(of, number)).unwrap();
        text.contains("path: ./bundles/regions/eu/parts/emptied")
    };
    assert!(is_emptied(2, 0) && is_emptied(2, 1) && !is_emptied(8, 7));
    fleet.run(&["verify", "bundles"]).ends(0);
    // Nor where the manifest is lost, and another limit would split less.
    let (before, text) = (fleet.tree("bundles"), fleet.read("pouch.yaml"));
    for limit in ["limits: {objectsPerLeaf: 5000}", ""] {
        fleet.write("pouch.yaml", text.replace("limits: {objectsPerLeaf: 4}", limit));
        fleet.remove(MANIFEST);
        let ran = fleet.render(&["--replace-unsigned", "eu"]).ends(0);
        assert!(ran.stdout.contains("split      core in 8 parts"), "{}", ran.stdout);
        assert_eq!(fleet.tree("bundles").into_keys().collect::<Vec<_>>(), before.keys().cloned().collect::<Vec<_>>());
        assert!(is_emptied(2, 0) && is_emptied(2, 1) && !is_emptied(8, 7));
        fleet.render(&[]).ends(0).outcome("eu", "unchanged");
        fleet.run(&["verify", "bundles"]).ends(0);
    }
}

/// The same of a kind that has nothing left.
#[test]
fn an_adopted_region_keeps_the_leaves_that_stand_there() {
    let fleet = Fleet::with_credentials(2);
    let version = "infrastructure.cluster.x-k8s.io/v1beta1";
    let identity = format!(
        "apiVersion: {version}\nkind: AzureClusterIdentity\nmetadata: {{name: az, namespace: eu-team}}\n\
         spec: {{type: ServicePrincipal, tenantID: t, clientID: c, allowedNamespaces: {{}}, \
         clientSecret: {{name: one, namespace: eu-team}}}}\n"
    );
    let documents = [
        credential("eu", "eu-team", "az", [version, "AzureClusterIdentity", "az"]),
        identity,
        secret("eu-team", "one", &format!("clientSecret: {CANARY}")),
    ];
    fleet.write("manifests/az.yaml", documents.join("---\n"));
    fleet.render(&[]).ends(0);
    let leaf = "azureclusteridentity.infrastructure.cluster.x-k8s.io";
    let files =
        [format!("bundles/regions/eu/identities/{leaf}/kustomization.yaml"), format!("bundles/flux/eu/{leaf}.yaml")];
    assert!(files.iter().all(|file| fleet.has(file)), "{:?}", fleet.tree("bundles").keys());
    fleet.remove("manifests/az.yaml");
    fleet.remove(MANIFEST);
    fleet.render(&["--replace-unsigned", "eu"]).ends(0);
    assert!(files.iter().all(|file| fleet.has(file)));
    assert!(fleet.read(&files[0]).contains("resources: []"));
    fleet.run(&["verify", "bundles"]).ends(0);
}

#[test]
fn a_folder_without_history_is_split_alike() {
    let fleet = Fleet::with_credentials(12);
    limited(&fleet, 5);
    fleet.render(&[]).ends(0);
    let paths = || fleet.tree("bundles").into_keys().collect::<BTreeSet<String>>();
    let before = paths();
    fleet.remove(MANIFEST);
    fleet.render(&[]).ends(4);
    fleet.render(&["--replace-unsigned", "eu"]).ends(0);
    assert_eq!(paths(), before);
    fleet.run(&["verify", "bundles"]).ends(0);

    let text = fleet.read("pouch.yaml");
    fleet.write("pouch.yaml", text.replace("delivery: flux}", "delivery: none}"));
    fleet.render(&[]).ends(0);
    assert!(!paths().iter().any(|path| path.contains("flux/") || path.contains("/emptied")));
    assert!(paths().iter().any(|path| path.contains("regions/eu/parts/core/of-4/3/kustomization.yaml")));
    fleet.run(&["verify", "bundles"]).ends(0);
    // Who takes over a split region takes its parts.
    fleet.write("pouch.yaml", text.replace("delivery: flux}", "delivery: {argocd: {mode: ksops}}}"));
    fleet.render(&[]).ends(0);
    assert_eq!(fleet.read("bundles/regions/eu/argocd/ksops.yaml").matches("../parts/core/of-4/").count(), 12);
    fleet.run(&["verify", "bundles"]).ends(0);
}

#[test]
fn what_opens_and_seals_knows_the_parts() {
    let fleet = published();
    let origin = Origin::known(&fleet);
    fleet.private("eu.txt", include_str!("../../../../testdata/quickstart/keys/eu-west.txt"));
    let unpacked = || fleet.run(&["unpack", "repo.git", "--region", "eu", "--identity", "eu.txt"]).ends(0).stdout;
    let plain = unpacked();
    limited(&fleet, 5);
    origin.publish(&[]).ends(0);
    let before = sealed(&origin);
    whole(&fleet, &before);
    assert_eq!(unpacked(), plain);
    for flags in [[].as_slice(), &["--identity", "eu.txt"]] {
        let ran: Ran = fleet.run(&[&["rekey", "--region", "eu"], flags].concat());
        ran.ends(0);
        let after = sealed(&origin);
        for (name, (path, blob)) in &before {
            assert!(after[name].0 == *path && after[name].1 != *blob, "{name}");
        }
        fleet.run(&["verify"]).ends(0);
        assert_eq!(unpacked(), plain);
    }
    origin.publish(&[]).ends(0).outcome("eu", "unchanged");
}

/// No claim asks for more there, so none fails, and nothing goes. But somebody should know why nothing arrives.
#[test]
fn a_region_that_its_new_consumer_does_not_take_is_told() {
    const MANY: usize = 2_001;
    let fleet = Fleet::new();
    fleet.configure("output:", "limits: {objectsPerNamespace: 5000, credentialsPerNamespace: 5000}\noutput:");
    let one = |n: usize| {
        let name = format!("c{n}");
        let claim = credential("eu", "eu-team", &name, ["v1", "Secret", &name]);
        format!("{claim}---\n{}", secret("eu-team", &name, "value: not-a-real-value"))
    };
    fleet.write("manifests/many.yaml", (0..MANY).map(one).collect::<Vec<String>>().join("---\n"));
    let first = fleet.render(&[]).ends(0).outcome("eu", "published");
    assert!(!first.stderr.contains("crowded"), "{}", first.stderr);
    let text = fleet.read("pouch.yaml");
    fleet.write("pouch.yaml", text.replace("delivery: flux}", "delivery: {argocd: {mode: ksops}}}"));
    let says = "warning[crowded-region]: region eu holds 2001 objects, and Argo CD with KSOPS takes 2000 at most\n";
    let switched = fleet.render(&[]).ends(0).says(says);
    assert!(!switched.stdout.contains("withdrawn"), "{}", switched.stdout);
    // As long as it is so, also where nothing changes; and one more finds no room.
    fleet.render(&[]).ends(0).outcome("eu", "unchanged").says(says);
    fleet.credential("eu", "late", "one-too-many");
    fleet.render(&[]).ends(3).says("error[too-many-objects]").says(says);
    fleet.delete("eu", "late");
    let fits = fleet.read("manifests/many.yaml").split("---\n").skip(2).collect::<Vec<&str>>().join("---\n");
    fleet.write("manifests/many.yaml", fits);
    let fewer = fleet.render(&[]).ends(0);
    assert!(!fewer.stderr.contains("crowded"), "{}", fewer.stderr);
}
