//! `pouch init --context` against a real API server: what it writes loads, and renders as it said.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::rig::apiserver::ApiServer;
use crate::support::fleet::Fleet;
use crate::support::pouch::{Answer, render};
use crate::support::shared;

/// A folder with a kubeconfig for all users of the rig.
struct Desk(Fleet);

impl Desk {
    fn new(server: &ApiServer) -> Self {
        let fleet = Fleet::empty();
        server.kubeconfig(&fleet.path("kubeconfig"), "admin");
        Self(fleet)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path(name)
    }

    /// Runs `pouch` in the folder: exit code, what is on stdout, what is on stderr.
    fn pouch(&self, arguments: &[&str]) -> (i32, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pouch"));
        command.args(arguments).current_dir(self.0.path("")).stdin(Stdio::null()).env_clear();
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    /// Runs `pouch init` with the kubeconfig and more flags.
    fn init(&self, flags: &[&str]) -> (i32, String, String) {
        self.pouch(&[&["init", "--kubeconfig", "kubeconfig"], flags].concat())
    }

    /// Runs `pouch init`, which must refuse with this exit code, say all of these, and write nothing.
    #[track_caller]
    fn refused(&self, flags: &[&str], code: i32, says: &[&str]) {
        let (found, out, err) = self.init(flags);
        assert_eq!((found, out.as_str()), (code, ""), "{err}");
        assert!(says.iter().all(|text| err.contains(text)), "{err}");
        assert!(!self.path("keys").exists() && !self.path("pouch.yaml").exists());
    }

    fn config(&self) -> String {
        self.0.read("pouch.yaml")
    }

    #[track_caller]
    fn render(&self, config: &str, into: &str) -> Answer {
        render(&self.path(config), &self.path(into), &[])
    }
}

#[test]
fn what_is_no_management_cluster_is_refused_and_what_is_one_is_drafted() {
    let Some(server) = ApiServer::start() else { return };
    let desk = Desk::new(&server);
    desk.refused(
        &["--context", "admin"],
        64,
        &["cluster admin has no namespace kcm-system", "name it with --system-namespace NAME"],
    );
    desk.refused(&["--context", "admim"], 64, &["admim"]);
    desk.refused(&["--context", "admin", "--region", "eu"], 64, &["--region"]);
    desk.refused(&["--context", "admin", "--system-namespace", "A b"], 64, &["cannot name a namespace"]);
    let (code, _, err) = desk.pouch(&["init", "--as", "somebody"]);
    assert!(code == 64 && err.contains("Name one with --context"), "{err}");
    server.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: kcm-system}\n");
    desk.refused(&["--context", "admin"], 5, &["serves no Region"]);
    desk.refused(&["--context", "nobody"], 5, &["does not allow \"get\" on namespaces, name kcm-system", "--as"]);
    if !server.install_crds() {
        return;
    }
    desk.refused(&["--context", "admin"], 64, &["cluster admin has no Regions", "--region instead"]);
    server.apply(FLEET);
    // Of `reach` it is true as well: k0rdent reads an identity of that name in the system namespace.
    for (namespace, name) in [("team-a", "gcp-d"), ("team-a", "azure-d"), ("team-b", "closed"), ("team-b", "reach")] {
        let ready = r#"{"status": {"ready": true}}"#;
        let patch = ["-n", namespace, "patch", "credential", name, "--subresource=status", "--type=merge", "-p", ready];
        server.kubectl_prints(patch, "");
    }
    drafted(&server);
    without_a_right(&server);
    with_a_clash(&server);
    with_hostile_names(&server);
    with_a_companion(&server);
    with_little_known(&server);
    with_inventories(&server);
}

/// The Credentials that no configuration can help.
const STOPPED: [&str; 3] = ["team-a/broken", "team-a/hostile", "team-a/nowhere"];

/// Those, and the one whose grant is not in force.
const REFUSED: [&str; 4] = [STOPPED[0], STOPPED[1], STOPPED[2], "team-b/reach"];

fn drafted(server: &ApiServer) {
    let desk = Desk::new(server);
    let (code, out, err) = desk.init(&["--context", "admin", "--fleet", "acme"]);
    assert_eq!(code, 0, "{out}{err}");
    let text = desk.config();
    let (code, _, loaded) = desk.pouch(&["config"]);
    assert_eq!(code, 0, "{loaded}\n{text}");
    for line in [
        "      context: admin",
        "      kubeconfig: kubeconfig",
        "# The release that runs is 1.11.",
        "providerInterfaces: {builtin: v1.11}",
        "  us.east:",
        "    directory: us-east",
        "      allowed: []",
        "        # Credentials: azure-d, broken, gcp-d, hostile",
        "        team-l:",
        "          env: prod",
    ] {
        assert!(text.lines().any(|found| found == line), "no line {line:?} in\n{text}");
    }
    assert!(!text.contains("noise"), "only labels that are selected by\n{text}");
    let grants: Vec<&str> = text.lines().filter(|line| line.starts_with("  - {from: ")).collect();
    let azure = "group: infrastructure.cluster.x-k8s.io, kind: AzureClusterIdentity";
    let aws = "group: infrastructure.cluster.x-k8s.io, kind: AWSClusterStaticIdentity";
    let eu = "regions: [eu]}";
    let expect = [
        format!(
            "  - {{from: {{credential: team-a/azure-d}}, to: {{namespace: kcm-system, {azure}, name: azure-d}}, {eu}"
        ),
        format!(
            "  - {{from: {{credential: team-a/azure-d}}, to: {{namespace: kcm-system, kind: Secret, name: azure-d-client}}, {eu}"
        ),
        format!(
            "  - {{from: {{credential: team-a/gcp-d}}, to: {{namespace: kcm-system, kind: Secret, name: gcp-d}}, {eu}"
        ),
        format!("  - {{from: {{credential: team-b/closed}}, to: {{{aws}, name: aws-closed}}, {eu}"),
    ];
    let mut sorted = expect.to_vec();
    sorted.sort();
    let mut found = grants.clone();
    found.sort_unstable();
    assert_eq!(found, sorted, "{text}");
    for grant in &grants {
        let line = text.lines().position(|line| line == *grant).unwrap();
        let comment = text.lines().nth(line - 1).unwrap();
        let credential = grant.split_once("credential: ").unwrap().1.split_once('}').unwrap().0;
        assert!(comment.starts_with(&format!("  # Credential {credential}: ")), "{comment}");
    }
    let template = "  #@ - {from: {credential: team-a/gcp-d}, to: {namespace: kcm-system, kind: ConfigMap, name: \
                    gcp-d-resource-template}, regions: [eu]}";
    assert!(text.lines().any(|line| line == template), "{text}");
    let reach =
        "  #@ - {from: {credential: team-b/reach}, to: {namespace: shared, kind: Secret, name: dns}, regions: [eu]}";
    assert!(text.lines().any(|line| line == reach), "{text}");
    // All of them are on the terminal too, in force or not.
    for grant in grants.iter().chain([&template, &reach]) {
        let plain = grant.replacen("#@ ", "", 1);
        assert_eq!(out.lines().filter(|line| *line == plain).count(), 1, "{grant} in\n{out}");
    }
    assert!(out.contains("which only credential propagation needs:\n") && out.contains("does not read"), "{out}");
    for named in STOPPED {
        let says = |line: &str| line.strip_prefix("  ").and_then(|line| line.strip_prefix(named)).is_some();
        assert!(out.lines().any(says), "{named} in\n{out}");
    }
    assert_eq!(out.lines().filter(|line| line.starts_with("  team-")).count(), STOPPED.len(), "{out}");
    assert!(out.contains("Region us.east cannot name a folder; it gets us-east"), "{out}");
    assert!(out.contains("Region idle has no Credentials today"), "{out}");

    // What was promised is what a render finds.
    let answer = desk.render("pouch.yaml", "out").exits(3);
    assert_eq!(failing(&answer), REFUSED, "{}", answer.stderr);
    fs::write(desk.path("more.yaml"), text.replacen(reach, &reach.replacen("#@ ", "", 1), 1)).unwrap();
    assert_eq!(failing(&desk.render("more.yaml", "more").exits(3)), STOPPED);
    // Each grant is needed.
    for grant in &grants {
        let less = text.replacen(&format!("{grant}\n"), "", 1);
        fs::write(desk.path("less.yaml"), &less).unwrap();
        let answer = desk.render("less.yaml", "less").exits(3);
        let credential = grant.split_once("credential: ").unwrap().1.split_once('}').unwrap().0;
        let mut expect = [&REFUSED[..], &[credential]].concat();
        expect.sort_unstable();
        assert_eq!(failing(&answer), expect, "without {grant}: {}", answer.stderr);
        fs::remove_dir_all(desk.path("less")).unwrap();
    }
    // And so are the labels, and the namespaces.
    for (line, credential) in [("          env: prod\n", "team-l/label"), ("        - team-l\n", "team-l/label")] {
        assert!(text.contains(line));
        let less = text.replacen("      allowed: []\n", "      allowed: [none]\n", 1);
        let less = match line.contains("env") {
            true => less.replacen(line, "          env: other\n", 1),
            false => less.replacen(line, "        - team-other\n", 1),
        };
        fs::write(desk.path("less.yaml"), &less).unwrap();
        let answer = desk.render("less.yaml", "less").exits(3);
        assert!(failing(&answer).contains(&credential.to_owned()), "without {line}");
        fs::remove_dir_all(desk.path("less")).unwrap();
    }
    // Nothing is overwritten.
    let (code, _, err) = desk.init(&["--context", "admin"]);
    assert!(code == 64 && err.contains("nothing is overwritten") && desk.config() == text, "{err}");
}

/// The Credentials with errors, sorted and once each.
fn failing(answer: &Answer) -> Vec<String> {
    let findings = answer.summary["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
    let errors = findings.iter().filter(|finding| finding["severity"] == "error");
    let mut names: Vec<String> =
        errors.map(|finding| finding["credential"].as_str().unwrap_or("-").to_owned()).collect();
    names.sort();
    names.dedup();
    names
}

/// Without any right on Secrets it works the same; without one of its other rights it names that.
fn without_a_right(server: &ApiServer) {
    let desk = Desk::new(server);
    server.apply(READER);
    let role = |drop: &str| {
        let rules = RULES.join("\n").replacen(drop, "none", 1);
        server.apply(&format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {{name: init}}\nrules:\n{rules}\n"
        ));
    };
    role("nothing");
    let began = std::time::Instant::now();
    loop {
        let (code, out, err) = desk.init(&["--context", "reader"]);
        if code == 0 {
            assert!(out.contains("No Secret was read"), "{out}");
            break;
        }
        // The binding takes a moment to come into force.
        assert!(began.elapsed().as_secs() < 20, "{err}");
    }
    assert_eq!(desk.config().matches("\n  - {from: ").count(), 4);
    let desk = Desk::new(server);
    let (code, out, err) = desk.init(&["--context", "nobody"]);
    assert_eq!((code, out.as_str()), (5, ""), "{err}");
    for (drop, says) in [
        ("regions", "does not allow \"list\" on regions.k0rdent.mirantis.com"),
        (" managements", "does not allow \"get\" on managements.k0rdent.mirantis.com, name kcm"),
        ("releases", "does not allow \"get\" on releases.k0rdent.mirantis.com, name kcm-1-11-0"),
        ("accessmanagements", "does not allow \"list\" on accessmanagements.k0rdent.mirantis.com"),
        ("\"*\"", "infrastructure.cluster.x-k8s.io"),
        ("configmaps", "does not allow \"get\" on configmaps"),
    ] {
        role(drop);
        let began = std::time::Instant::now();
        loop {
            let desk = Desk::new(server);
            let (code, out, err) = desk.init(&["--context", "reader"]);
            if code == 5 && err.contains(says) {
                assert!(out.is_empty() && !desk.path("keys").exists() && !desk.path("pouch.yaml").exists(), "{out}");
                break;
            }
            assert!(began.elapsed().as_secs() < 20, "{drop}: {err}");
        }
    }
}

/// ClusterProfiles and Clusters of the registry are regions too, once each; what cannot be seen of them stops nothing.
fn with_inventories(server: &ApiServer) {
    let Some(crds) = shared("data/crds/neighbours") else { return };
    let files = ["multicluster.x-k8s.io_clusterprofiles", "clusterregistry.k8s.cisco.com_clusters"];
    server.install_files(&files.map(|name| crds.join(format!("{name}.yaml"))));
    server.apply(INVENTORIES);
    let at = |server: &str| {
        format!(
            "{{\"status\": {{\"accessProviders\": [{{\"name\": \"p\", \"cluster\": {{\"server\": \"{server}\"}}}}]}}}}"
        )
    };
    for (name, url) in [("ap-1", "https://ap.example.com:6443"), ("ap-again", "https://AP.example.com:6443/")] {
        let patch = ["patch", "clusterprofile", "-n", "fleet", name, "--subresource=status", "--type=merge", "-p"];
        server.kubectl_prints(patch.into_iter().chain([&*at(url)]), "");
    }
    let local = r#"{"status": {"type": "Local"}}"#;
    let hub =
        ["patch", "clusters.clusterregistry.k8s.cisco.com", "hub", "--subresource=status", "--type=merge", "-p", local];
    server.kubectl_prints(hub, "");
    let desk = Desk::new(server);
    let (code, out, err) = desk.init(&["--context", "admin"]);
    assert_eq!(code, 0, "{out}{err}");
    for said in [
        "Region ap-1: ClusterProfile fleet/ap-1 is a region of the draft, and no Region of k0rdent's has its name",
        "Region ap-1: registry Cluster asia is a region of the draft",
        "Region eu: ClusterProfile fleet/eu may describe its cluster, by the name alone",
        "registry Cluster hub is no region of the draft: it is the management cluster itself",
    ] {
        assert!(out.lines().any(|line| line.starts_with(said)), "{said}\n{out}");
    }
    let text = desk.config();
    for lines in [
        "    inventory:\n      clusterProfile: {namespace: fleet, name: ap-1}\n      registryCluster: asia\n",
        "#@     inventory:\n#@       clusterProfile: {namespace: fleet, name: eu}\n",
        "    # The same cluster by its server or its UID: ClusterProfile fleet/ap-again.\n",
    ] {
        assert!(text.contains(lines), "{lines}\n{text}");
    }
    let (code, shown, err) = desk.pouch(&["config", "-o", "json"]);
    assert_eq!(code, 0, "{err}{text}");
    let config: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let regions: Vec<&String> = config["regions"].as_object().unwrap().keys().collect();
    assert_eq!(regions, ["ap-1", "eu", "idle", "us.east"]);
    assert!(desk.path("keys/ap-1.txt").exists());
    // The draft is taken, and its ties lead somewhere.
    let answer = desk.render("pouch.yaml", "out").exits(0);
    assert!(!answer.stderr.contains("unmatched-entry"), "{}", answer.stderr);

    // Without the right to see them, there is one line more and nothing less.
    let began = std::time::Instant::now();
    let rules = RULES.join("\n");
    server.apply(&format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {{name: init}}\nrules:\n{rules}\n"
    ));
    let (desk, out) = loop {
        let desk = Desk::new(server);
        let (code, out, err) = desk.init(&["--context", "reader"]);
        if code == 0 {
            break (desk, out);
        }
        assert!(began.elapsed().as_secs() < 20, "{err}");
    };
    let unseen = "Other objects that describe clusters were not seen: cluster reader";
    assert_eq!(out.lines().filter(|line| line.starts_with(unseen)).count(), 2, "{out}");
    assert!(!desk.config().contains("inventory:"), "{}", desk.config());
}

const INVENTORIES: &str = "\
{apiVersion: v1, kind: Namespace, metadata: {name: fleet}}
---
apiVersion: multicluster.x-k8s.io/v1alpha1
kind: ClusterProfile
metadata: {name: eu, namespace: fleet}
spec: {clusterManager: {name: ocm}}
---
apiVersion: multicluster.x-k8s.io/v1alpha1
kind: ClusterProfile
metadata: {name: ap-1, namespace: fleet}
spec: {clusterManager: {name: ocm}}
---
apiVersion: multicluster.x-k8s.io/v1alpha1
kind: ClusterProfile
metadata: {name: ap-again, namespace: fleet}
spec: {clusterManager: {name: ocm}}
---
apiVersion: clusterregistry.k8s.cisco.com/v1alpha1
kind: Cluster
metadata: {name: asia}
spec:
  clusterID: 00000000-0000-4000-8000-000000000001
  authInfo: {secretRef: {name: asia, namespace: fleet}}
  kubernetesApiEndpoints: [{serverAddress: 'ap.example.com:6443'}]
---
apiVersion: clusterregistry.k8s.cisco.com/v1alpha1
kind: Cluster
metadata: {name: hub}
spec: {clusterID: 00000000-0000-4000-8000-000000000002, authInfo: {secretRef: {name: hub, namespace: fleet}}}
";

/// Names that would be YAML, a comment's end or a blank of the template.
fn with_hostile_names(server: &ApiServer) {
    let version = "9.9\\nregions: {evil: {}}\\n#";
    server.kubectl_prints(
        [
            "patch",
            "release",
            "kcm-1-11-0",
            "--type=merge",
            "-p",
            &format!("{{\"spec\": {{\"version\": \"{version}\"}}}}"),
        ],
        "",
    );
    let desk = Desk::new(server);
    let hostile = "a\": {regions}, #@ - {x: [\u{2028}";
    let text = fs::read_to_string(desk.path("kubeconfig")).unwrap();
    let quoted = serde_json::to_string(hostile).unwrap();
    fs::write(
        desk.path("kubeconfig"),
        text.replacen("- name: admin\n  context", &format!("- name: {quoted}\n  context"), 1),
    )
    .unwrap();
    let kubeconfig = fs::read_to_string(desk.path("kubeconfig")).unwrap();
    fs::write(desk.path("kubeconfig"), kubeconfig.replacen(&quoted, "\"a\\nregions: {}\"", 1)).unwrap();
    desk.refused(&["--context", "a\nregions: {}"], 64, &["control character"]);
    fs::write(desk.path("kubeconfig"), kubeconfig).unwrap();
    let (code, out, err) = desk.init(&["--context", hostile]);
    assert_eq!(code, 0, "{out}{err}");
    let (code, shown, err) = desk.pouch(&["config", "-o", "json"]);
    assert_eq!(code, 0, "{err}{}", desk.config());
    let config: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(config["sources"][0]["cluster"]["context"], hostile);
    let regions: Vec<&String> = config["regions"].as_object().unwrap().keys().collect();
    assert_eq!(regions, ["eu", "idle", "us.east"]);
    assert_eq!(config["grants"].as_array().unwrap().len(), 4);
    // The version says nothing, the name does.
    assert_eq!(config["providerInterfaces"]["builtin"], "v1.11", "{}", desk.config());
    assert_eq!(failing(&desk.render("pouch.yaml", "out").exits(3)), REFUSED);
}

/// Two Credentials that want one object with different content: granting what one of them needs would break
/// the other, so nothing is granted, and the other is published.
fn with_a_clash(server: &ApiServer) {
    server.apply(CLASH);
    let desk = Desk::new(server);
    let (code, out, err) = desk.init(&["--context", "admin"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("  team-b/clash-azure in eu: conflicting-content: "), "{out}");
    assert!(!out.contains("  team-b/clash-aws") && !desk.config().contains("{credential: team-b/clash"), "{out}");
    let answer = desk.render("pouch.yaml", "out").exits(3);
    assert_eq!(failing(&answer), [STOPPED[0], STOPPED[1], STOPPED[2], "team-b/clash-azure", "team-b/reach"]);
    server.kubectl_prints(["-n", "team-b", "delete", "credential", "clash-azure", "clash-aws"], "");
}

const CLASH: &str = "\
apiVersion: k0rdent.mirantis.com/v1beta1
kind: Credential
metadata: {name: clash-azure, namespace: team-b}
spec:
  region: eu
  identityRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AzureClusterIdentity, name: clash, namespace: team-b}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureClusterIdentity
metadata: {name: clash, namespace: kcm-system}
spec: {type: WorkloadIdentity, tenantID: t, clientID: c, allowedNamespaces: {}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: clash-resource-template, namespace: kcm-system}
data: {of: azure}
---
apiVersion: k0rdent.mirantis.com/v1beta1
kind: Credential
metadata: {name: clash-aws, namespace: team-b}
spec:
  region: eu
  identityRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSClusterStaticIdentity, name: clash}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSClusterStaticIdentity
metadata: {name: clash}
spec: {secretRef: clash, allowedNamespaces: {}}
---
apiVersion: v1
kind: Secret
metadata: {name: clash, namespace: kcm-system}
stringData: {AccessKeyID: not-a-real-one}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: clash-resource-template, namespace: team-b}
data: {of: aws}
";

/// What is there beside an identity, which init cannot know: the grant for it is written, and not in force.
fn with_a_companion(server: &ApiServer) {
    server.apply(
        "apiVersion: v1\nkind: Secret\nmetadata: {name: azure-d-secret, namespace: kcm-system}\nstringData: {a: b}\n",
    );
    let desk = Desk::new(server);
    let (code, out, err) = desk.init(&["--context", "admin"]);
    assert!(code == 0 && out.contains("needed if the Secret is there:\n"), "{out}{err}");
    let text = desk.config();
    let is_marked = |line: &&str| line.starts_with("  #@ - {from: {credential:") && line.contains("azure-d-secret");
    let marked = text.lines().find(is_marked).unwrap_or_else(|| panic!("{text}"));
    // Nothing is refused for want of it, and with the grant it is published.
    let published = |into: &str| {
        let secrets = desk.path(into);
        let listed = Command::new("grep").args(["-rlE", "^  name: azure-d-secret$"]).arg(secrets).output().unwrap();
        !listed.stdout.is_empty()
    };
    assert_eq!(failing(&desk.render("pouch.yaml", "out").exits(3)), REFUSED);
    fs::write(desk.path("more.yaml"), text.replacen(marked, &marked.replacen("#@ ", "", 1), 1)).unwrap();
    assert_eq!(failing(&desk.render("more.yaml", "more").exits(3)), REFUSED);
    assert_eq!((published("out"), published("more")), (false, true));
    server.kubectl_prints(["-n", "kcm-system", "delete", "secret", "azure-d-secret"], "");
}

/// Another system namespace, no Management, and ProviderInterfaces of the cluster's own.
fn with_little_known(server: &ApiServer) {
    server.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: k0rdent-system}\n");
    let desk = Desk::new(server);
    let (code, out, err) = desk.init(&["--context", "admin", "--system-namespace", "k0rdent-system"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(desk.config().contains("\nsystemNamespace: k0rdent-system\n"), "{}", desk.config());

    server.kubectl_prints(["delete", "management", "kcm"], "");
    let desk = Desk::new(server);
    fs::create_dir(desk.path("keys")).unwrap();
    fs::write(desk.path("keys/us-east.txt"), "mine\n").unwrap();
    let (code, out, err) = desk.init(&["--context", "admin"]);
    assert!(code == 64 && err.contains("are there already: keys/us-east.txt"), "{out}{err}");
    assert!(!desk.path("keys/eu.txt").exists() && !desk.path("keys/.gitignore").exists());
    fs::remove_file(desk.path("keys/us-east.txt")).unwrap();
    let (code, out, err) = desk.init(&["--context", "admin"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(desk.config().contains("\nproviderInterfaces: {builtin: v1.12}\n"), "{}", desk.config());

    server.apply(
        "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: ProviderInterface\nmetadata: {name: cluster-api-provider-aws}\n\
         spec:\n  clusterIdentities:\n  - {group: infrastructure.cluster.x-k8s.io, version: v1beta2, kind: \
         AWSClusterStaticIdentity, references: [{group: \"\", version: v1, kind: Secret, nameFieldPath: spec.secretRef}]}\n",
    );
    let desk = Desk::new(server);
    let (code, out, err) = desk.init(&["--context", "admin"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(desk.config().contains("\nproviderInterfaces: {builtin: none}\n"), "{}", desk.config());
    // Nothing defines the other kinds, and what is named is what a render finds.
    let named: Vec<String> = out
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split_once([' ', ':']))
        .map(|(name, _)| name.to_owned())
        .filter(|name| name.contains('/'))
        .collect();
    assert!(named.contains(&"team-a/azure-d".to_owned()) && named.len() > STOPPED.len(), "{out}");
    assert_eq!(failing(&desk.render("pouch.yaml", "out").exits(3)), named);
    // Once the broken ones are gone, all is well.
    let gone: Vec<&str> = named.iter().map(String::as_str).collect();
    for name in gone {
        let (namespace, name) = name.split_once('/').unwrap();
        server.kubectl_prints(["-n", namespace, "delete", "credential", name, "--ignore-not-found"], "");
    }
    server.kubectl_prints(["-n", "kcm-system", "delete", "credential", "azure-m", "--ignore-not-found"], "");
    desk.render("pouch.yaml", "well").exits(0);
}

/// What an init needs.
const RULES: [&str; 4] = [
    "- {apiGroups: [\"\"], resources: [namespaces, configmaps], verbs: [get, list]}",
    "- {apiGroups: [k0rdent.mirantis.com], resources: [regions], verbs: [list]}",
    "- {apiGroups: [k0rdent.mirantis.com], resources: [credentials, providerinterfaces, accessmanagements, \
     clusterdeployments, managements, releases], verbs: [get, list]}",
    "- {apiGroups: [infrastructure.cluster.x-k8s.io], resources: [\"*\"], verbs: [get]}",
];

const READER: &str = "\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: init}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: init}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: reader}
";

/// Layouts S, T, D and M, reaching beyond, what is closed, what is selected, what is broken.
const FLEET: &str = include_str!("init.yaml");

#[test]
fn the_help_names_what_it_reads() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pouch"));
    let output = command.args(["init", "--help"]).env_clear().output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    for flag in ["--context", "--kubeconfig", "--as", "--as-group", "--request-timeout", "--system-namespace"] {
        assert!(text.contains(flag), "{text}");
    }
    assert!(!Path::new("pouch.yaml").exists());
}
