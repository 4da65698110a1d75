//! The Secret by which Argo CD knows a region's cluster: made of the region's ClusterProfile, without a credential.

use std::fs;
use std::process::Command;

use pouch_core::node::Interner;
use pouch_core::yaml::emit::Tree;
use pouch_core::yaml::read;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::support::fleet::{EU, Fleet, US};
use crate::support::origin::Origin;
use crate::support::root;

const SECRET: &str = "bundles/argocd/eu/cluster.yaml";
const APPLICATION: &str = "bundles/argocd/eu/application.yaml";

const PROVIDERS: &str = r#"{"providers": [{"name": "reader", "execConfig": {
  "apiVersion": "client.authentication.k8s.io/v1", "command": "/plugins/reader",
  "args": ["--cluster={{ .ClusterProfileName }}"], "provideClusterInfo": true}}]}"#;

/// A region with Argo CD and one with Flux, each with two Credentials.
fn fleet() -> Fleet {
    let fleet = Fleet::with_credentials(2);
    fleet.configured(&format!(
        "apiVersion: pouch/v1alpha1\nkind: Fleet\nmetadata: {{name: acme}}\n\
         sources: [{{name: manifests, directory: {{path: manifests}}}}]\n\
         keepMetadata: {{labels: [env]}}\n\
         regions:\n\
         \x20 eu:\n    recipients: [{EU}]\n    namespaces: {{allowed: ['*']}}\n    k0rdentPushDisabled: true\n    delivery: argocd\n\
         \x20   inventory: {{clusterProfile: {{namespace: fleet, property: {{location: eu}}}}}}\n\
         \x20 us: {{recipients: [{US}], namespaces: {{allowed: ['*']}}, k0rdentPushDisabled: true, delivery: flux}}\n\
         output: {{path: bundles}}\n\
         regionDefaults:\n\
         \x20 delivery:\n\
         \x20   flux: {{sourceRef: {{kind: GitRepository, name: fleet}}}}\n\
         \x20   argocd: {{repoURL: 'https://git.example.com/fleet.git', cluster: {{providers: providers.json}}}}\n\
         reuseKey: {{file: reuse.key}}\n"
    ));
    fleet.write("providers.json", PROVIDERS);
    fleet.write("manifests/profile.yaml", profile("eu-1", "{server: 'https://eu-1.example.com:6443'}"));
    fleet
}

fn profile(name: &str, cluster: &str) -> String {
    let head = "apiVersion: multicluster.x-k8s.io/v1alpha1\nkind: ClusterProfile\n";
    format!(
        "{head}metadata: {{name: {name}, namespace: fleet, labels: {{env: prod, other: x}}}}\n\
         spec: {{clusterManager: {{name: ocm}}}}\n\
         status: {{properties: [{{name: location, value: eu}}], accessProviders: [{{name: reader, cluster: {cluster}}}]}}\n"
    )
}

/// A cluster with what its manager wants the plugin to know.
fn told(config: &str) -> String {
    format!(
        "{{server: 'https://eu-1.example.com:6443', \
         extensions: [{{name: client.authentication.k8s.io/exec, extension: {config}}}]}}"
    )
}

fn yaml(fleet: &Fleet, path: &str) -> Value {
    let text = fleet.read(path);
    let mut documents = read::documents(&text);
    let document = documents.next().expect("a document");
    pouch_core::json::value(&Tree::of(&read::read(&document, &mut Interner::new()).expect("it is YAML")))
}

/// What Argo CD is told in the field `config`.
fn config(fleet: &Fleet) -> Value {
    serde_json::from_str(yaml(fleet, SECRET)["stringData"]["config"].as_str().unwrap()).unwrap()
}

/// Whether the bundles verify, for their owner and for who has nothing but them.
#[track_caller]
fn verifies(fleet: &Fleet) {
    fleet.run(&["verify"]).ends(0);
    fs::create_dir_all(fleet.path("elsewhere")).unwrap();
    let bundles = fleet.path("bundles").display().to_string();
    let mut alone = fleet.command(&["verify", &bundles]);
    let output = alone.current_dir(fleet.path("elsewhere")).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_profile_becomes_a_secret_that_the_application_names() {
    let fleet = fleet();
    fleet.write("manifests/profile.yaml", profile("eu-1", &told("{clusterName: eu-1}")));
    fleet.render(&[]).ends(0);
    let secret = yaml(&fleet, SECRET);
    assert_eq!(
        secret["metadata"],
        json!({
            "labels": {
                "app.kubernetes.io/managed-by": "pouch",
                "argocd.argoproj.io/secret-type": "cluster",
                "env": "prod",
                "pouch/directory": "eu",
                "pouch/fleet": "acme",
            },
            "name": "cluster-eu-1",
            "namespace": "argocd",
        })
    );
    assert_eq!(secret["stringData"]["server"], "https://eu-1.example.com:6443");
    assert_eq!(secret["stringData"]["name"], yaml(&fleet, APPLICATION)["spec"]["destination"]["name"]);
    let plugin = &config(&fleet)["execProviderConfig"];
    assert_eq!(plugin["args"], json!(["--cluster=eu-1"]));
    assert_eq!(plugin["config"], json!({"clusterName": "eu-1"}));
    assert!(fleet.read("bundles/regions/eu/bundle.yaml").contains("path: argocd/eu/cluster.yaml\n"));
    verifies(&fleet);
    fleet.render(&[]).ends(0).outcome("eu", "unchanged");
    let explained = fleet.run(&["explain", "region", "eu"]).ends(0).stdout;
    assert!(
        explained.contains("access provider reader") && explained.contains("the cluster Secret of Argo CD"),
        "{explained}"
    );

    // From what is printed of the profile a run makes the same.
    let before = fleet.tree("bundles");
    let facts = fleet.run(&["facts"]).ends(0).stdout;
    fleet.write("manifests/profile.yaml", &facts);
    fleet.render(&[]).ends(0).outcome("eu", "unchanged");
    fs::remove_dir_all(fleet.path("bundles/argocd")).unwrap();
    fleet.render(&[]).ends(0);
    assert_eq!(fleet.tree("bundles"), before);
}

#[test]
fn an_application_set_goes_to_the_cluster_that_the_secret_names() {
    let fleet = fleet();
    fleet.configure(
        "cluster: {providers",
        "kind: ApplicationSet, destination: {name: 'c-{region}'}, cluster: {providers",
    );
    fleet.render(&[]).ends(0);
    let set = yaml(&fleet, "bundles/argocd/acme-applicationset.yaml");
    let elements = &set["spec"]["generators"][0]["list"]["elements"];
    assert_eq!(elements[0]["destination"], "c-eu");
    assert_eq!(yaml(&fleet, SECRET)["stringData"]["name"], "c-eu");
    assert!(!fleet.has(APPLICATION));
    verifies(&fleet);
}

/// Argo CD would lose sight of a region whose Secret goes, so doubt changes nothing, and nothing else waits for it.
#[test]
fn what_is_not_known_of_a_cluster_stays_as_it_is_published() {
    let fleet = fleet();
    fleet.configure("labels: [env]", "labels: ['*']");
    fleet.render(&[]).ends(0);
    let before = fleet.read(SECRET);
    let good = fleet.read("manifests/profile.yaml");
    let many: String = (0..10_000).map(|n| format!(", l{n}: x")).collect();
    let url = |url: &str| profile("eu-1", &format!("{{server: '{url}'}}"));
    let both = "{server: 'https://eu-2', insecure-skip-tls-verify: true, certificate-authority-data: LS0tLS0K}";
    for (round, (text, code)) in [
        (String::new(), "unmatched-entry"),
        (format!("{good}---\n{}", good.replace("eu-1", "eu-2")), "unmatched-entry"),
        (good.replace("value: eu", "value: us"), "unmatched-entry"),
        (url("https://me:hunter2@eu-2.example.com"), "unreadable-object"),
        (good.replace("other: x", &format!("other: x{many}")), "unreadable-object"),
        (good.replace("other: x", "token: hunter2"), "inline-secret"),
        (profile("eu-1", &told("{clusterName: eu-2, token: hunter2}")), "inline-secret"),
        (profile("eu-1", both), "unreadable-object"),
        (good.replace("name: reader", "name: another"), "unreadable-object"),
    ]
    .into_iter()
    .enumerate()
    {
        fleet.write("manifests/profile.yaml", text);
        // The region goes on, and the other one.
        for region in ["eu", "us"] {
            fleet.credential(region, &format!("n{round}"), "x");
        }
        let ran = fleet.render(&[]).outcome("eu", "published").outcome("us", "published").says(&format!("[{code}]"));
        assert!(!format!("{ran:?}").contains("hunter2"), "{code}: {ran:?}");
        assert_eq!(fleet.read(SECRET), before, "{code}");
        assert!(fleet.run(&["facts"]).stdout.lines().all(|line| !line.contains("hunter2")), "{code}");
        fleet.run(&["verify"]).ends(0);
        fleet.render(&[]).outcome("eu", "unchanged");
    }
    // Its name in Argo CD follows from the configuration, which the Application follows too.
    fleet.configure("{repoURL", "{destination: {name: other}, repoURL");
    fleet.render(&[]);
    assert_eq!(yaml(&fleet, SECRET)["stringData"]["name"], "other");
    verifies(&fleet);
}

#[test]
fn a_region_is_published_before_its_cluster_is_known() {
    let fleet = fleet();
    fleet.remove("manifests/profile.yaml");
    fleet.render(&[]).ends(0).says("[unmatched-entry]");
    assert!(fleet.has(APPLICATION) && !fleet.has(SECRET));
    verifies(&fleet);
    fleet.write("manifests/profile.yaml", profile("eu-1", "{server: 'https://eu-1.example.com:6443'}"));
    fleet.render(&[]).ends(0).outcome("eu", "published");
    assert!(fleet.has(SECRET));
    // An emptied region keeps it, as it keeps its Application; a retired one has neither.
    for name in ["c0", "c1"] {
        fleet.delete("eu", name);
    }
    fleet.render(&["--withdraw", "eu-team/c0", "--withdraw", "eu-team/c1"]);
    let ran = fleet.render(&[]);
    let accepted = (ran.code == 4).then(|| ran.acceptance("--accept-deletions", "eu"));
    if let Some(accepted) = accepted {
        fleet.render(&["--accept-deletions", &accepted]).ends(0);
    }
    assert!(!fleet.read("bundles/regions/eu/bundle.yaml").contains("eu-team"));
    assert!(fleet.has(APPLICATION) && fleet.has(SECRET));
    fleet.configure("    delivery: argocd\n", "    delivery: argocd\n    state: retired\n");
    fleet.render(&[]).ends(0).outcome("eu", "withdrawn");
    assert!(!fleet.has(APPLICATION) && !fleet.has(SECRET));
}

#[test]
fn an_argo_cd_that_would_overlook_something_is_told_nothing() {
    let fleet = fleet();
    fleet.configure("{repoURL", "{version: '3.4', repoURL");
    fleet.render(&[]).ends(0).says("warning[argocd-too-old]").says("Argo CD 3.5");
    assert!(!fleet.has(SECRET));
    fleet.edit("providers.json", ", \"provideClusterInfo\": true", "");
    fleet.render(&[]).ends(0);
    assert_eq!(config(&fleet)["execProviderConfig"]["args"], json!(["--cluster=eu-1"]));
    verifies(&fleet);
}

#[test]
fn somebody_else_who_writes_the_secret_is_named() {
    let fleet = fleet();
    fleet.write(
        "manifests/theirs.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: cluster-eu-1, namespace: argocd}\nstringData: {name: eu-1}\n",
    );
    for _ in 0..2 {
        let ran = fleet.render(&[]).ends(0).says("warning[two-writers]");
        assert!(ran.stderr.contains("manifests/theirs.yaml:1:1"), "{}", ran.stderr);
    }
    fleet.edit("manifests/theirs.yaml", "cluster-eu-1", "cluster-eu-2");
    assert!(!fleet.render(&[]).ends(0).stderr.contains("two-writers"));
}

/// What a change of the file is, however it was made to fit the manifest.
#[test]
fn verify_takes_no_other_secret_in_its_place() {
    let fleet = fleet();
    fleet.render(&[]).ends(0);
    let good = fleet.read(SECRET);
    let manifest = fleet.read("bundles/regions/eu/bundle.yaml");
    let hash = |text: &str| format!("{:x}", Sha256::digest(text));
    let insert = |line: &str| {
        good.replacen("      \"tlsClientConfig\"", &format!("      {line},\n      \"tlsClientConfig\""), 1)
    };
    for (what, text, codes) in [
        ("a token", insert("\"bearerToken\": \"hunter2\""), ["plaintext-secret", "unsafe-delivery"]),
        (
            "a password",
            insert("\"username\": \"a\",\n      \"password\": \"hunter2\""),
            ["plaintext-secret", "unsafe-delivery"],
        ),
        ("AWS", insert("\"awsAuthConfig\": {}"), ["plaintext-secret", "unsafe-delivery"]),
        (
            "a key",
            good.replace("\"insecure\": false", "\"insecure\": false,\n        \"keyData\": \"aHVudGVyMg==\""),
            ["plaintext-secret", "unsafe-delivery"],
        ),
        (
            "a further entry",
            good.replace("type: Opaque", "data: {a: eA==}\ntype: Opaque"),
            ["plaintext-secret", "unsafe-delivery"],
        ),
        ("an argument", good.replace("--cluster=eu-1", "--token=hunter2"), ["plaintext-secret", "unsafe-delivery"]),
        // The region's Application goes to another cluster than this.
        ("another name", good.replace("  name: eu\n", "  name: us\n"), ["unsafe-delivery", "unsafe-delivery"]),
        (
            "another namespace",
            good.replace("namespace: argocd", "namespace: other"),
            ["unsafe-delivery", "unsafe-delivery"],
        ),
    ] {
        assert_ne!(text, good, "{what}");
        fleet.write(SECRET, &text);
        let forged = manifest.replace(&hash(&good), &hash(&text));
        let quoted = |hash: &str| {
            if hash.starts_with(|c: char| c.is_ascii_digit()) { format!("\"{hash}\"") } else { hash.to_owned() }
        };
        let forged =
            forged.replace(&format!("sha256: \"{}\"", hash(&text)), &format!("sha256: {}", quoted(&hash(&text))));
        let forged =
            forged.replace(&format!("sha256: {}\n", hash(&text)), &format!("sha256: {}\n", quoted(&hash(&text))));
        fleet.write("bundles/regions/eu/bundle.yaml", forged);
        fleet.configure("{file: reuse.key}", "{env: NOT_THERE}");
        let ran = fleet.run(&["verify"]).ends(8);
        fleet.configure("{env: NOT_THERE}", "{file: reuse.key}");
        for code in codes {
            assert!(ran.stderr.contains(&format!("error[{code}]")), "{what}: {code}\n{}", ran.stderr);
        }
        assert!(!ran.stderr.contains("error[untrusted-bundle]"), "{what}: the hash fits\n{}", ran.stderr);
        assert!(!ran.stderr.contains("hunter2"), "{what}");
    }
    // The same Secret elsewhere is one in clear.
    fleet.write(SECRET, &good);
    fleet.write("bundles/regions/eu/bundle.yaml", &manifest);
    for path in ["bundles/cluster.yaml", "bundles/argocd/us/cluster.yaml", "bundles/regions/eu/argocd/eu/cluster.yaml"]
    {
        fleet.write(path, &good);
        let ran = fleet.run(&["verify"]).ends(8);
        assert!(ran.stderr.contains("error[plaintext-secret]"), "{path}\n{}", ran.stderr);
        fleet.remove(path);
    }
    verifies(&fleet);
}

fn git(fleet: &Fleet, folder: &str, arguments: &[&str]) {
    let folder = fleet.path(folder);
    let words = ["-C", folder.to_str().unwrap(), "-c", "user.name=a", "-c", "user.email=a@example.com"];
    let output = Command::new("git").args(words).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_provider_file_is_part_of_the_configuration() {
    let fleet = fleet();
    fleet.render(&[]).ends(0);
    for (text, says) in [
        ("{", "line 1, column"),
        (
            r#"{"providers": [{"name": "reader", "execConfig": {"apiVersion": "client.authentication.k8s.io/v1", "command": "./reader"}}]}"#,
            "relative path",
        ),
        (r#"{"providers": [], "x": "https://me:hunter2@example.com"}"#, "must not be in the configuration"),
    ] {
        fleet.write("providers.json", text);
        let ran = fleet.render(&[]).ends(64).says("providers.json").says(says);
        assert!(!ran.stderr.contains("hunter2"), "{}", ran.stderr);
    }
    fleet.remove("providers.json");
    fleet.render(&[]).ends(64).says("the provider file is not there");

    // A commit has its own.
    fleet.write("providers.json", PROVIDERS);
    git(&fleet, ".", &["init", "--quiet", "--initial-branch=main"]);
    git(&fleet, ".", &["add", "pouch.yaml", "providers.json"]);
    git(&fleet, ".", &["commit", "--quiet", "-m", "one"]);
    fleet.edit("providers.json", "/plugins/reader", "/plugins/theirs");
    let plan = |more: &[&str]| fleet.run(&[&["plan", "--detailed-exitcode"], more].concat());
    plan(&["--config-from", "main"]).ends(0).outcome("eu", "unchanged");
    plan(&[]).ends(2);
    git(&fleet, ".", &["rm", "--quiet", "--cached", "providers.json"]);
    git(&fleet, ".", &["commit", "--quiet", "-m", "two"]);
    plan(&["--config-from", "main"]).ends(64).says("the provider file is not there");
}

/// A run that would read the same is spared; one with another provider file reads something else.
#[test]
fn a_changed_provider_file_is_a_change() {
    let fleet = fleet();
    Origin::new(&fleet, "");
    git(&fleet, "manifests", &["init", "--quiet", "--initial-branch=main"]);
    git(&fleet, "manifests", &["add", "."]);
    git(&fleet, "manifests", &["commit", "--quiet", "-m", "one"]);
    fleet.configure("directory: {path: manifests}", "git: {repository: manifests, ref: main}");
    let origin = Origin::known(&fleet);
    origin.publish(&[]).ends(0);
    let command = || {
        let set = origin.git(&["show", "main:bundles/argocd/eu/cluster.yaml"]);
        set.lines().find(|line| line.contains("\"command\"")).unwrap().trim().to_owned()
    };
    assert!(command().contains("/plugins/reader"));
    let again = || origin.publish(&["-v"]).ends(0).stderr.contains("what it told is told again");
    again();
    again();
    assert!(again(), "nothing changed");
    fleet.edit("providers.json", "/plugins/reader", "/plugins/other");
    assert!(!again());
    assert!(command().contains("/plugins/other"));
    again();
    assert!(again(), "nothing changed");
    fleet.configure("{repoURL", "{version: '3.4', repoURL");
    assert!(!again());
    fleet.configure("{version: '3.4', repoURL", "{repoURL");

    // What stands on a branch is mostly not read, but what stays of it is.
    let before = origin.git(&["show", "main:bundles/argocd/eu/cluster.yaml"]);
    fleet.remove("manifests/profile.yaml");
    for name in ["d0", "d1"] {
        git(&fleet, "manifests", &["add", "--all"]);
        git(&fleet, "manifests", &["commit", "--quiet", "-m", name]);
        origin.publish(&[]).ends(0).says("[unmatched-entry]");
        assert_eq!(origin.git(&["show", "main:bundles/argocd/eu/cluster.yaml"]), before);
        fleet.credential("eu", name, "x");
    }
    origin.check();
}

/// Two inventories may have ClusterProfiles of one name.
#[test]
fn two_regions_never_have_one_secret() {
    let fleet = fleet();
    fleet.configure(
        "k0rdentPushDisabled: true, delivery: flux}",
        "k0rdentPushDisabled: true, delivery: argocd, inventory: {clusterProfile: {namespace: other, name: eu-1}}}",
    );
    let there =
        profile("eu-1", "{server: 'https://us-1.example.com:6443'}").replace("namespace: fleet", "namespace: other");
    fleet.write("manifests/other.yaml", &there);
    fleet.render(&[]).ends(4).says("the same Secret for Argo CD: argocd/cluster-eu-1").says("[contradictory-ties]");
    assert!(!fleet.has(SECRET));
    fleet.write("manifests/other.yaml", there.replace("name: eu-1", "name: us-1"));
    fleet.configure("name: eu-1}}}", "name: us-1}}}");
    fleet.render(&[]).ends(0);
    assert!(fleet.has(SECRET) && fleet.has("bundles/argocd/us/cluster.yaml"));
}

/// Without the sources and the old key, what stands there is taken at its word, what Argo CD is told as well.
#[test]
fn a_secret_outlives_a_lost_reuse_key() {
    let fleet = fleet();
    fleet.render(&[]).ends(0);
    let before = fleet.read(SECRET);
    fleet.private("reuse.key", pouch_core::reuse::ReuseKey::to_text(&[7; 32]));
    fs::rename(fleet.path("manifests"), fleet.path("manifests-gone")).unwrap();
    let identity = |region: &str| root().join(format!("testdata/quickstart/keys/{region}.txt")).display().to_string();
    let (eu, us) = (identity("eu-west"), identity("us-east"));
    fleet.run(&["rekey", "--new-reuse-key", "--identity", &eu, "--identity", &us]).ends(0);
    assert_eq!(fleet.read(SECRET), before);
    fs::rename(fleet.path("manifests-gone"), fleet.path("manifests")).unwrap();
    fleet.render(&[]).ends(0).outcome("eu", "unchanged");
}

/// Argo CD finds a cluster by its server, also where only one of two regions is known to it by a Secret of pouch.
#[test]
fn no_profile_takes_the_server_of_another_region() {
    let fleet = fleet();
    let us = |server: &str| {
        format!(
            "k0rdentPushDisabled: true, delivery: {{argocd: {{cluster: null, destination: {{server: 'https://{server}'}}}}}}}}"
        )
    };
    fleet.configure("k0rdentPushDisabled: true, delivery: flux}", &us("eu-1.example.com:6443"));
    fleet.render(&[]).ends(4).says("the same server for Argo CD: argocd, https://eu-1.example.com:6443");
    assert!(!fleet.has(SECRET));
    fleet.configure(&us("eu-1.example.com:6443"), &us("us-1.example.com:6443"));
    fleet.render(&[]).ends(0);
    assert!(fleet.has(SECRET));
}

#[test]
fn a_region_is_not_called_as_argo_cd_calls_its_own_cluster() {
    let fleet = fleet();
    fleet.configure("  eu:\n", "  in-cluster:\n");
    fleet.render(&[]).ends(64).says("`destination.name` is in-cluster here");
}

/// What nobody judged does not get into git by way of facts.
#[test]
fn facts_hold_of_what_a_plugin_is_told_only_what_it_is_told() {
    let fleet = fleet();
    let exec = PROVIDERS
        .replace("\"provideClusterInfo\": true}", "\"env\": [{\"name\": \"API_TOKEN\", \"value\": \"\"}]}, \"profileSourcedEnvVarsPolicy\": \"AppendIfNotExists\", \"profileSourcedEnvVars\": [\"API_TOKEN\", \"ZONE\"]");
    fleet.write("providers.json", &exec);
    let variables = "{server: 'https://eu-1.example.com:6443', extensions: [{name: \
        clusterprofiles.multicluster.x-k8s.io/exec/additional-envs, extension: {API_TOKEN: hunter2, ZONE: eu-1a}}]}";
    fleet.write("manifests/profile.yaml", profile("eu-1", variables));
    fleet.render(&[]).ends(0);
    assert_eq!(config(&fleet)["execProviderConfig"]["env"], json!({"API_TOKEN": "", "ZONE": "eu-1a"}));
    let ran = fleet.run(&["facts"]).ends(0);
    assert!(ran.stdout.contains("ZONE: eu-1a"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("hunter2") && !ran.stdout.contains("API_TOKEN"), "{}", ran.stdout);
    // They say the same.
    let before = fleet.read(SECRET);
    fleet.write("manifests/profile.yaml", ran.stdout.clone());
    fleet.render(&[]).ends(0);
    assert_eq!(fleet.read(SECRET), before);
}

/// Nothing is known of the cluster, and what is published of it is damaged.
#[test]
fn a_secret_that_can_neither_stay_nor_be_made_anew_holds_its_region() {
    let fleet = fleet();
    fleet.render(&[]).ends(0);
    let before = fleet.read(SECRET);
    fs::remove_file(fleet.path("manifests/profile.yaml")).unwrap();
    for damage in [Some(before.replace("eu-1.example.com", "evil.example.com")), None] {
        match &damage {
            Some(text) => fleet.write(SECRET, text),
            None => fs::remove_file(fleet.path(SECRET)).unwrap(),
        }
        fleet.render(&[]).ends(4).says("[carry-impossible]").outcome("eu", "held").outcome("us", "unchanged");
        assert_eq!(fleet.has(SECRET).then(|| fleet.read(SECRET)), damage);
    }
    fleet.write(SECRET, before);
    fleet.render(&[]).ends(0).outcome("eu", "unchanged");
}

/// A plan of nothing but another cluster is not one of nothing.
#[test]
fn another_cluster_is_told_before_it_is_published() {
    let fleet = fleet();
    fleet.render(&[]).ends(0);
    let told = "Argo CD is told another server and plugin for region eu than before: https://eu-2:6443 instead of \
                https://eu-1.example.com:6443";
    fleet.write("manifests/profile.yaml", profile("eu-1", "{server: 'https://eu-2:6443'}"));
    fleet.write("providers.json", PROVIDERS.replace("/plugins/reader", "/plugins/other"));
    fleet.run(&["plan"]).ends(0).says(told).says("[cluster-redirected]");
    fleet.render(&[]).ends(0).says(told);
    let ran = fleet.render(&[]).ends(0).outcome("eu", "unchanged");
    assert!(!ran.stderr.contains("cluster-redirected"), "{}", ran.stderr);
}
