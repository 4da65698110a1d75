//! A cluster and the files of the same objects say the same; and the corners of real clusters.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::bundle;
use crate::ground::{CLUSTER, Ground, program};
use crate::objects::*;
use crate::rig::fault::Fault;
use crate::rig::proxy::{Proxy, When, standing_in, uid_of};
use crate::rig::writer::{Write, write_all};
use crate::support::placeholders::filled;
use crate::support::{self, tree};

/// The same objects from files.
const FILES: &str = "[{name: mgmt, directory: {path: dump}, provides: {namespaces: ['*'], clusterScoped: true}}]";

/// Every kind that a run may read, and the CRDs, which files have in place of discovery.
const DUMPED: &str = "credentials.k0rdent.mirantis.com,providerinterfaces.k0rdent.mirantis.com,\
     regions.k0rdent.mirantis.com,accessmanagements.k0rdent.mirantis.com,clusterdeployments.k0rdent.mirantis.com,\
     awsclusterstaticidentities.infrastructure.cluster.x-k8s.io,azureclusteridentities.infrastructure.cluster.x-k8s.io,\
     vsphereclusteridentities.v1beta2.infrastructure.cluster.x-k8s.io,namespaces,secrets,configmaps,\
     customresourcedefinitions.apiextensions.k8s.io";

fn dump(ground: &Ground) {
    let text = ground.server.kubectl_prints(["get", DUMPED, "-A", "-o", "yaml"], "");
    ground.write("dump/all.yaml", &text);
}

/// Renders from the cluster and from files, and finds no difference beyond where it was read.
#[track_caller]
fn reads_the_same(ground: &Ground, more: &str, code: i32) -> bundle::Bundle {
    let live = ground.config("live.yaml", CLUSTER, more);
    let files = ground.config("files.yaml", FILES, more);
    dump(ground);
    let kubeconfig = ground.path("kubeconfig");
    for folder in ["from-cluster", "from-files"] {
        let _ = fs::remove_dir_all(ground.path(folder));
    }
    let from_cluster = ground.render(&live, &kubeconfig, "from-cluster", &[]).exits(code);
    let from_files = ground.render_files(&files, "from-files", &[]).exits(code);
    let told = |answer: &support::pouch::Answer| {
        let mut all = answer.findings(&["missing-companion", "resolved-as-kcm"]);
        // No Secret is read for the sake of this warning alone, and nothing beside what is refused: files know more.
        let refused: Vec<String> =
            all.iter().filter_map(|line| line.strip_prefix("not-admitted ")).map(String::from).collect();
        let is_beside = |line: &str| {
            let of = line.strip_prefix("missing-companion ");
            of.is_some_and(|of| refused.iter().any(|refused| refused == of))
        };
        all.retain(|line| !line.starts_with("credential-never-ready") && !is_beside(line));
        all
    };
    assert_eq!(told(&from_cluster), told(&from_files));
    let read = |folder: &str| {
        let all = bundle::readable(&ground.path(folder), &ground.identity()).into_iter();
        let placeless = |(path, text): (String, String)| match path.ends_with("bundle.yaml") {
            true => (path, tree::without_places(&text)),
            false => (path, text),
        };
        all.map(placeless).collect::<std::collections::BTreeMap<_, _>>()
    };
    let (one, other) = (read("from-cluster"), read("from-files"));
    assert!(one.len() > 5);
    for (path, text) in &one {
        let other = other.get(path).unwrap_or_else(|| panic!("{path} is missing from files"));
        for (line, other) in text.lines().zip(other.lines()).filter(|_| !path.ends_with(".sops.yaml")) {
            assert_eq!(line, other, "{path}");
        }
        assert!(text == other, "{path} differs");
    }
    assert_eq!(one.len(), other.len());

    // Over each other nothing changes but where it was read, and the seal of the manifest that says so.
    let before = tree::read(&ground.path("from-files"));
    ground.render(&live, &kubeconfig, "from-files", &[]).exits(code);
    let changed = tree::changes(&before, &tree::read(&ground.path("from-files")));
    assert_eq!(changed, ["~regions/eu/bundle.yaml"]);
    let again = ground.render(&live, &kubeconfig, "from-cluster", &[]).exits(code);
    assert_eq!(again.outcomes(), [("eu", "unchanged")]);
    bundle::of(&tree::read(&ground.path("from-cluster")), &ground.identity())
}

#[test]
fn every_sample_reads_as_from_files() {
    let Some(ground) = Ground::new() else { return };
    let Some(samples) = support::shared("data/samples") else { return };
    let mut count = 0;
    for path in tree::read(&samples).into_keys() {
        if !path.ends_with("-credentials.yaml") || path.contains('/') {
            continue;
        }
        let text = filled(&fs::read_to_string(samples.join(&path)).unwrap(), SYSTEM);
        ground.server.apply(&text.replace("\n  identityRef:", "\n  region: eu\n  identityRef:"));
        count += 1;
    }
    assert_eq!(count, 10);
    let bundle = reads_the_same(&ground, "", 0);
    let credentials: std::collections::BTreeSet<_> = bundle.values().flat_map(|object| &object.needed_by).collect();
    assert_eq!(credentials.len(), count, "{credentials:?}");
    for kind in
        ["awsclusterstaticidentity", "azureclusteridentity", "vsphereclusteridentity", "secrets/", "configmaps/"]
    {
        assert!(bundle.keys().any(|path| path.contains(kind)), "{kind}");
    }
}

/// A Credential of region `eu` with a Secret that stands somewhere.
fn pointing(namespace: &str, name: &str, to: &Value) -> Value {
    credential(namespace, name, "eu", &reference(to))
}

#[test]
fn grants_open_what_they_name() {
    let Some(ground) = Ground::new() else { return };
    ground.apply(&["shared", "team-b", "team-c"].map(namespace));
    let value = json!({"value": "not-a-real-kubeconfig"});
    let dns = secret("shared", "dns", &value);
    let web = secret(SYSTEM, "web", &value);
    let absent = |namespace: &str| secret(namespace, "web", &value);
    ground.apply(&[
        dns.clone(),
        secret("shared", "other", &value),
        web,
        pointing(TENANT, "dns", &dns),
        pointing("team-b", "dns", &dns),
        pointing(TENANT, "other", &secret("shared", "other", &value)),
        pointing("team-b", "web", &absent("team-b")),
        pointing("team-c", "web", &absent("team-c")),
    ]);
    let broken = |more: &str| {
        let config = ground.config("grants.yaml", CLUSTER, more);
        let _ = fs::remove_dir_all(ground.path("granted"));
        let answer = ground.render(&config, &ground.path("kubeconfig"), "granted", &[]).exits(3);
        let errors = answer.summary["findings"].as_array().unwrap().iter().filter(|found| found["severity"] == "error");
        let mut all: Vec<String> =
            errors.map(|found| format!("{} {}", found["code"], found["credential"]).replace('"', "")).collect();
        all.sort();
        let published = bundle::of(&tree::read(&ground.path("granted")), &ground.identity());
        let by: std::collections::BTreeSet<String> =
            published.into_values().flat_map(|object| object.needed_by).collect();
        (all, by)
    };
    let shut = [
        "missing-reference team-b/web",
        "missing-reference team-c/web",
        "not-admitted team-a/dns",
        "not-admitted team-a/other",
        "not-admitted team-b/dns",
    ];
    assert_eq!(broken(""), (shut.map(String::from).to_vec(), [].into()));
    let grants = "grants:\n\
         - {from: {credential: team-a/dns}, to: {namespace: shared, kind: Secret, name: dns}, regions: [eu]}\n\
         - {from: {namespace: team-b}, to: {namespace: kcm-system, kind: Secret, name: web}, regions: [eu]}\n";
    let still = ["missing-reference team-c/web", "not-admitted team-a/other", "not-admitted team-b/dns"];
    let opened = ["team-a/dns", "team-b/web"].map(String::from);
    assert_eq!(broken(grants), (still.map(String::from).to_vec(), opened.into()));
    // For another region it opens nothing here.
    let elsewhere = "grants:\n- {from: {credential: team-a/dns}, to: {namespace: shared, kind: Secret, name: dns}, regions: [us]}\n";
    let us = ground.config("us.yaml", CLUSTER, elsewhere);
    let answer = ground.render(&us, &ground.path("kubeconfig"), "us", &[]);
    assert!(answer.code == 64 || answer.code == 3, "{}", answer.stderr);
    reads_the_same(&ground, grants, 3);
}

#[test]
fn rules_hand_out_to_the_namespaces_that_they_select() {
    let Some(ground) = Ground::new() else { return };
    let mut unlabelled = namespace("team-c");
    unlabelled["metadata"]["labels"] = json!({"tenant": "no"});
    ground.apply(&[namespace("team-b"), unlabelled]);
    ground.apply(&fleet(1));
    let bundle = reads_the_same(&ground, "", 0);
    let by: std::collections::BTreeSet<&str> =
        bundle.values().flat_map(|object| &object.needed_by).map(String::as_str).collect();
    assert_eq!(
        by.into_iter().collect::<Vec<_>>(),
        ["kcm-system/aws", "team-a/aws", "team-a/azure", "team-a/store", "team-b/aws"]
    );
}

#[test]
fn corners_of_real_clusters() {
    let Some(ground) = Ground::new() else { return };
    let proxy = Proxy::to(ground.server.endpoint("admin"));
    let through = ground.path("through");
    proxy.kubeconfig(&through, "admin");
    let admin = ground.server.endpoint("admin");

    // A Credential that is being deleted is there until it is gone.
    let [template, mut credential, store] = store("leaving", 1);
    credential["metadata"]["finalizers"] = json!(["example.com/held"]);
    ground.apply(&[template, credential.clone(), store]);
    write_all(&admin, &[Write::Delete(path(&credential))]);
    let kept = admin.get(&path(&credential)).unwrap().value();
    assert!(kept["metadata"]["deletionTimestamp"].is_string(), "{kept}");
    // The newest version is the one that is read, whichever is referred to.
    let vsphere = |version: &str| {
        json!({"apiVersion": format!("{CAPI}/{version}"), "kind": "VSphereClusterIdentity",
            "metadata": {"name": "vs"}, "spec": {"secretName": "vs-secret", "allowedNamespaces": {"selector": {}}}})
    };
    ground.server.apply(&vsphere("v1beta1").to_string());
    ground.apply(&[
        secret(SYSTEM, "vs-secret", &json!({"username": "u", "password": "not-a-real-password"})),
        template_of("vs"),
        pointing(SYSTEM, "vs", &vsphere("v1beta1")),
    ]);
    proxy.calm();
    let config = ground.config("pouch.yaml", CLUSTER, "");
    ground.render(&config, &through, "corners", &[]).exits(0);
    let bundle = bundle::of(&tree::read(&ground.path("corners")), &ground.identity());
    let by: std::collections::BTreeSet<&str> =
        bundle.values().flat_map(|object| &object.needed_by).map(String::as_str).collect();
    assert_eq!(by.into_iter().collect::<Vec<_>>(), ["kcm-system/vs", "team-a/leaving"]);
    let asked: Vec<String> =
        proxy.lines().into_iter().filter(|line| line.contains("vsphereclusteridentities")).collect();
    assert!(!asked.is_empty() && asked.iter().all(|line| line.contains("/v1beta2/")), "{asked:?}");

    // Of an API that is down nothing is known: what needs it is broken, and the rest is not.
    let down = json!({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "v1.down.example.com"},
        "spec": {"group": "down.example.com", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 100,
            "insecureSkipTLSVerify": true, "service": {"namespace": SYSTEM, "name": "gone"}}});
    ground.apply(&[down]);
    let identity = json!({"apiVersion": "down.example.com/v1", "kind": "DownIdentity", "metadata": {"namespace": TENANT, "name": "x"}});
    let interface = json!({"apiVersion": format!("{K0RDENT}/v1beta1"), "kind": "ProviderInterface", "metadata": {"name": "down"},
        "spec": {"clusterIdentities": [{"group": "down.example.com", "version": "v1", "kind": "DownIdentity"}]}});
    ground.server.apply(&interface.to_string());
    ground.apply(&[pointing(TENANT, "down", &identity)]);
    let kinds = "kinds: [{group: down.example.com, kind: DownIdentity, scope: Namespaced}]\n";
    let config = ground.config("down.yaml", CLUSTER, kinds);
    std::thread::sleep(std::time::Duration::from_millis(500));
    let answer = ground.render(&config, &through, "corners", &[]).exits(3);
    let errors: Vec<&Value> =
        answer.summary["findings"].as_array().unwrap().iter().filter(|f| f["severity"] == "error").collect();
    assert!(!errors.is_empty() && errors.iter().all(|found| found["credential"] == "team-a/down"), "{errors:?}");
    assert!(errors[0]["message"].as_str().unwrap().contains("down.example.com"), "{errors:?}");
    assert!(
        answer.stderr.contains("down.example.com of cluster admin is in trouble: it answered 503"),
        "{}",
        answer.stderr
    );
    let now = bundle::of(&tree::read(&ground.path("corners")), &ground.identity());
    assert_eq!(now, bundle, "what does not need it changed");
}

/// A cluster is the one with this `kube-system`; another one in its place holds every region.
#[test]
fn another_cluster_in_its_place_is_noticed() {
    let Some(ground) = Ground::new() else { return };
    ground.apply(&store("store", 1));
    let config = ground.config("pouch.yaml", CLUSTER, "");
    ground.render(&config, &ground.path("kubeconfig"), "out", &[]).exits(0);
    let before = tree::read(&ground.path("out"));
    let uid = uid_of(&ground.server);
    let manifest = String::from_utf8(before["regions/eu/bundle.yaml"].clone()).unwrap();
    assert!(manifest.contains(&uid), "{manifest}");

    let other = "00000000-1111-4222-8333-444444444444";
    let proxy = standing_in(&ground.server, other);
    let elsewhere = ground.path("elsewhere");
    proxy.kubeconfig(&elsewhere, "admin");
    // It need not even change anything.
    let held = ground.render(&config, &elsewhere, "out", &[]).exits(4);
    assert_eq!(held.outcomes(), [("eu", "held")]);
    ground.apply(&store("store", 2));
    let held = ground.render(&config, &elsewhere, "out", &[]).exits(4);
    assert_eq!(tree::changes(&before, &tree::read(&ground.path("out"))), [""; 0]);
    let flag = held
        .stderr
        .split_whitespace()
        .find(|word| word.starts_with("eu="))
        .map(|word| word.trim_matches(['`', '.', ',']));
    let accepted = format!("eu={other}");
    assert_eq!(flag, Some(accepted.as_str()), "{}", held.stderr);
    ground.render(&config, &elsewhere, "out", &["--accept-source", &accepted]).exits(0);
    ground.render(&config, &elsewhere, "out", &[]).exits(0);
    ground.render(&config, &ground.path("kubeconfig"), "out", &[]).exits(4);
    // A text of another form is taken for none, and is not repeated.
    for odd in ["1;id", &"a".repeat(65)] {
        let proxy = standing_in(&ground.server, odd);
        proxy.kubeconfig(&elsewhere, "admin");
        let said = ground.render(&config, &elsewhere, "out", &[]).exits(5).stderr;
        assert!(said.contains("has no UID that one could be told by") && !said.contains("1;id"), "{said}");
    }
}

/// A cluster on which others do not depend holds no other by becoming another one.
#[test]
fn a_tenants_cluster_that_becomes_another_stops_itself_alone() {
    let Some(ground) = Ground::new() else { return };
    let of_tenant = secret("team-b", "theirs", &json!({"a": "b"}));
    ground.apply(&[namespace("team-b"), credential("team-b", "theirs", "eu", &reference(&of_tenant)), of_tenant]);
    let platform = |value: &str| {
        let own = secret("team-a", "own", &json!({"a": value}));
        let credential = credential("team-a", "own", "eu", &reference(&own));
        fs::create_dir_all(ground.path("files")).unwrap();
        ground.write("files/all.yaml", &format!("{own}\n---\n{credential}\n"));
    };
    let sources = "[{name: platform, directory: {path: files}, provides: {namespaces: [team-a], clusterScoped: true}}, \
                   {name: theirs, cluster: {context: admin}, provides: {namespaces: [team-b]}}]";
    ground.config(
        "pouch.yaml",
        sources,
        "output: {path: bundles, git: {repository: repo.git, branch: main, cache: false}}\n",
    );
    let folder = ground.path("");
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).current_dir(&folder).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["init", "-q", "--bare", "-b", "main", "repo.git"]);
    let publish = |kubeconfig: &str, more: &[&str]| {
        let arguments = [&["publish", "--kubeconfig", kubeconfig], more].concat();
        let path = std::env::var("PATH").unwrap();
        program(&folder, &arguments, &[("PATH", &path), ("HOME", folder.to_str().unwrap())])
    };
    let file =
        |of: &str| git(&["-C", "repo.git", "show", &format!("main:bundles/regions/eu/core/secrets/{of}.sops.yaml")]);
    platform("one");
    let (code, _, said) = publish("kubeconfig", &["--first"]);
    assert_eq!(code, 0, "{said}");
    let before = (file("team-a/own"), file("team-b/theirs"));
    let other = "00000000-1111-4222-8333-444444444444";
    let proxy = standing_in(&ground.server, other);
    proxy.kubeconfig(&ground.path("elsewhere"), "admin");
    platform("two");
    let (code, _, said) = publish("elsewhere", &[]);
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("an earlier run read another one") && !said.contains("source-changed"), "{said}");
    assert!(file("team-a/own") != before.0 && file("team-b/theirs") == before.1);
    // It is not forgotten, and the control: it is accepted by a flag.
    assert_eq!(publish("elsewhere", &[]).0, 3);
    let (code, _, said) = publish("elsewhere", &["--accept-source", &format!("eu={other}")]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(publish("elsewhere", &[]).0, 0);
}

/// Of what may not be read nobody knows whether k0rdent finds it, and nothing is said of that.
#[test]
fn trouble_is_no_absence_for_warnings_either() {
    let Some(ground) = Ground::new() else { return };
    ground.apply(&azure("azure", 1));
    let proxy = Proxy::to(ground.server.endpoint("admin"));
    let through = ground.path("through");
    proxy.kubeconfig(&through, "admin");
    let config = ground.config("pouch.yaml", CLUSTER, "");
    let never_ready = String::from("credential-never-ready team-a/azure");
    let answer = ground.render(&config, &through, "out", &[]).exits(0);
    assert!(answer.findings(&[]).contains(&never_ready), "{}", answer.stderr);
    proxy.arm(Fault::Forbidden, When::Path(String::from("/kcm-system/azureclusteridentities/")));
    let answer = ground.render(&config, &through, "out", &[]).exits(0);
    assert!(proxy.injected() > 0 && !answer.findings(&[]).contains(&never_ready), "{}", answer.stderr);
}

fn template_of(name: &str) -> Value {
    template(SYSTEM, name, 1)
}

#[test]
fn clusters_and_files_stand_beside_each_other() {
    let Some(ground) = Ground::new() else { return };
    ground.apply(&store("store", 1));
    ground.apply(&aws("aws", 1));
    let yaml = |objects: &[Value]| objects.iter().map(|object| format!("---\n{object}\n")).collect::<String>();
    // A tenant's own files, with one Credential more.
    ground.write("tenant/more.yaml", &yaml(&store("more", 1)));
    let sources = |overrides: &str| {
        format!(
            "[{{name: mgmt, cluster: {{context: admin}}, provides: {{namespaces: ['*'], clusterScoped: true}}}}, \
             {{name: tenant, directory: {{path: tenant}}, provides: {{namespaces: [team-a]}}{overrides}}}]"
        )
    };
    let config = ground.config("mixed.yaml", &sources(""), "");
    let kubeconfig = ground.path("kubeconfig");
    ground.render(&config, &kubeconfig, "mixed", &[]).exits(0);
    let bundle = bundle::of(&tree::read(&ground.path("mixed")), &ground.identity());
    assert!(
        ["secrets/team-a/store.", "secrets/team-a/more.", "awsclusterstaticidentity"]
            .iter()
            .all(|part| bundle.keys().any(|path| path.contains(part))),
        "{:?}",
        bundle.keys()
    );

    // The same object in both, saying something else.
    let [_, _, other] = store("store", 2);
    ground.write("tenant/other.yaml", &yaml(&[other]));
    let answer = ground.render(&config, &kubeconfig, "mixed", &[]).exits(3);
    assert!(
        answer.stderr.contains("error[shadowed]: Secret team-a/store differs in source tenant, at "),
        "{}",
        answer.stderr
    );
    assert!(answer.stderr.contains("tenant/other.yaml:2:1"), "{}", answer.stderr);
    assert!(answer.stderr.contains("cluster admin"), "{}", answer.stderr);
    assert_eq!(
        bundle::of(&tree::read(&ground.path("mixed")), &ground.identity()).len(),
        bundle.len(),
        "it is carried over"
    );
    let config = ground.config("overriding.yaml", &sources(", overrides: true"), "");
    ground.render(&config, &kubeconfig, "mixed", &[]).exits(0);
    let now = bundle::of(&tree::read(&ground.path("mixed")), &ground.identity());
    let secret = now.iter().find(|(path, _)| path.contains("secrets/team-a/store.")).unwrap();
    assert!(secret.1.content.ends_with("value=kubeconfig-2"), "the source that overrides wins");

    // What a tenant's source may not provide, it does not, whatever the cluster has.
    let own = "[{name: mgmt, cluster: {context: admin}, provides: {namespaces: [team-a]}}]";
    let config = ground.config("tenant-only.yaml", own, "");
    let answer = ground.render(&config, &kubeconfig, "tenant-only", &[]).exits(0);
    let now = bundle::of(&tree::read(&ground.path("tenant-only")), &ground.identity());
    assert!(
        now.keys().all(|path| !path.contains("kcm-system") && !path.contains("aws")),
        "{:?} {}",
        now.keys(),
        answer.stderr
    );
    assert!(now.keys().any(|path| path.contains("secrets/team-a/store.")));
}
