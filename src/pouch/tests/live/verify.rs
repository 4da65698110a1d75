//! `pouch verify --live` against a real API server: a bundle is applied as a region's agent does it, and
//! then one thing after the other is broken there.
//!
//! The texts in `docs/findings.md` that are marked `live` must have been printed on the way.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::rig::apiserver::ApiServer;
use crate::rig::fault::Fault;
use crate::rig::proxy::{Proxy, When};
use crate::support::fleet::{self, Fleet, Ran, copy};
use crate::support::{block, printed, root, tool};

/// A value of the region that is in no bundle, and must not be shown either.
const FOREIGN: &str = fleet::CANARY;

/// The quickstart's region `eu-west` on an API server of its own.
struct Stage {
    fleet: Fleet,
    server: ApiServer,
    /// What was printed so far, finding by finding.
    said: BTreeSet<String>,
}

impl Stage {
    /// None, after saying so, where a program or the CRDs are absent.
    fn set() -> Option<Self> {
        tool("sops")?;
        let server = ApiServer::start()?;
        let fleet = Fleet::new();
        copy(&root().join("testdata/quickstart"), &fleet.path("quickstart"));
        let config = fleet.read("quickstart/pouch.yaml");
        let labels = "namespaces: {allowed: [\"*\"], labels: {team-a: {environment: production}}}";
        fleet.write("quickstart/pouch.yaml", config.replacen("namespaces: {allowed: [\"*\"]}", labels, 1));
        fleet.run(&["render", "-q", "-f", "quickstart/pouch.yaml"]).ends(0);
        server.kubeconfig(&fleet.path("kubeconfig"), "admin");
        Some(Self { fleet, server, said: BTreeSet::new() })
    }

    /// Runs `pouch verify` with further arguments, and files what it says.
    fn verify(&mut self, context: &str, arguments: &[&str]) -> Ran {
        let fixed =
            ["verify", "-f", "quickstart/pouch.yaml", "--kubeconfig", "kubeconfig", "--live", "--context", context];
        let region: &[&str] = if arguments.contains(&"--region") { &[] } else { &["--region", "eu-west"] };
        let ran = self.fleet.run(&[&fixed, region, arguments].concat());
        self.said.extend(ran.stderr.split("\n\n").map(|finding| format!("{}\n", finding.trim())));
        ran
    }

    /// Fails unless exactly these findings of error and warning come out, as `code: message`.
    #[track_caller]
    fn finds(&mut self, expect: &[&str]) {
        let ran = self.verify("admin", &[]);
        let heads = ran.stderr.lines().filter_map(|line| {
            let (severity, rest) = line.split_once('[')?;
            let (code, message) = rest.split_once("]: ")?;
            matches!(severity, "error" | "warning").then(|| format!("{code}: {message}"))
        });
        assert_eq!(heads.collect::<Vec<_>>(), expect, "{}", ran.stderr);
        let is_fault =
            |finding: &&&str| !["k0rdent-leftover", "cleartext-copy"].iter().any(|it| finding.starts_with(it));
        let fault = expect.iter().any(|finding| is_fault(&finding));
        assert_eq!(ran.code, if fault { 8 } else { 0 }, "{}{}", ran.stdout, ran.stderr);
    }

    /// The bundle's objects as one stream, opened with the region's key.
    fn opened(&self) -> String {
        let sops = tool("sops").unwrap();
        let bundles = self.fleet.path("quickstart/bundles");
        let manifest = self.fleet.read("quickstart/bundles/regions/eu-west/bundle.yaml");
        let paths = manifest.lines().filter_map(|line| line.strip_prefix("  path: "));
        let objects = paths.filter(|path| path.contains("/core/") || path.contains("/identities/"));
        let mut stream = String::new();
        for path in objects.filter(|path| !path.ends_with("kustomization.yaml")) {
            let file = bundles.join(path);
            let text = if path.ends_with(".sops.yaml") {
                let mut command = Command::new(&sops);
                command.args(["decrypt", "--output-type", "yaml"]).arg(&file);
                command.env("SOPS_AGE_KEY_FILE", self.fleet.path("quickstart/keys/eu-west.txt"));
                let output = command.output().unwrap();
                String::from_utf8(printed(&sops, &output)).unwrap()
            } else {
                fs::read_to_string(&file).unwrap()
            };
            let _ = write!(stream, "---\n{text}");
        }
        stream
    }

    /// Applies manifests on the server's side as this field manager.
    #[track_caller]
    fn apply(&self, manager: &str, manifests: &str) {
        let manager = format!("--field-manager={manager}");
        let flags = ["apply", "--server-side", "--force-conflicts", &manager, "-f", "-"];
        self.server.kubectl_prints(flags, manifests);
    }

    #[track_caller]
    fn kubectl(&self, words: &str) {
        self.server.kubectl_prints(words.split(' '), "");
    }
}

#[test]
fn a_region_is_compared_with_its_bundle() {
    let Some(mut stage) = Stage::set() else { return };
    let bundle = stage.opened();

    // An empty cluster.
    stage.finds(&[
        "missing-on-region: Namespace kcm-system is not on the region, and the bundle's 3 objects in it are \
         missing too",
        "missing-on-region: Namespace team-a is not on the region, and the bundle's 3 objects in it are missing too",
        "kind-not-on-region: the region serves no AWSClusterStaticIdentity, of which \
         its bundle has one object",
        "kind-not-on-region: the region serves no AzureClusterIdentity, of which its \
         bundle has one object",
        "kind-not-on-region: the region serves no OpenStackClusterIdentity, of which \
         its bundle has one object",
    ]);
    if !stage.server.install_crds() {
        return;
    }
    stage.kubectl("create namespace kcm-system");
    stage.apply("flux", &bundle);
    let ran = stage.verify("admin", &["-v"]).ends(0);
    assert_eq!(ran.stdout, "eu-west  as published  8 objects\n");
    assert!(!ran.stderr.contains("leftovers-unchecked"), "{}", ran.stderr);

    differences(&mut stage, &bundle);
    entries(&mut stage, &bundle);
    takeover(&mut stage, &bundle);
    rights(&mut stage);
    trouble(&mut stage, &bundle);
    bundles(&mut stage);
    the_shown_texts_were_printed(&stage);
}

/// One thing is changed on the region, found, and put right by applying the bundle again.
fn differences(stage: &mut Stage, bundle: &str) {
    let identity = "AWSClusterStaticIdentity aws-main";
    let secret = "-n team-a patch secret azure-main-secret --type=merge -p";
    let differs = |key: &str, paths: &str| format!("differs-on-region: {key} is not as the bundle says: {paths}");
    for (change, expect) in [
        (
            "-n team-a delete secret azure-main-secret".to_owned(),
            "missing-on-region: Secret team-a/azure-main-secret is not on the region".to_owned(),
        ),
        (
            format!("{secret} {{\"stringData\":{{\"clientSecret\":\"{FOREIGN}\"}}}}"),
            differs("Secret team-a/azure-main-secret", "data.clientSecret"),
        ),
        (
            format!("{secret} {{\"data\":{{\"clientSecret\":null}}}}"),
            differs("Secret team-a/azure-main-secret", "data.clientSecret is missing"),
        ),
        (
            format!("{secret} {{\"metadata\":{{\"labels\":{{\"app.kubernetes.io/managed-by\":\"me\"}}}}}}"),
            differs("Secret team-a/azure-main-secret", "metadata.labels[\"app.kubernetes.io/managed-by\"]"),
        ),
        (
            "label namespace team-a --overwrite environment=test".to_owned(),
            "namespace-labels-differ: Namespace team-a does not have the labels that the configuration gives it: \
             environment"
                .to_owned(),
        ),
        (
            "label namespace team-a environment-".to_owned(),
            "namespace-labels-differ: Namespace team-a does not have the labels that the configuration gives it: \
             environment"
                .to_owned(),
        ),
        (
            "patch awsclusterstaticidentity aws-main --type=merge -p {\"spec\":{\"secretRef\":\"other\"}}".to_owned(),
            differs(identity, "spec.secretRef"),
        ),
        (
            "patch azureclusteridentity azure-main -n team-a --type=merge -p \
             {\"spec\":{\"allowedNamespaces\":{\"list\":[\"team-a\",\"team-b\"]}}}"
                .to_owned(),
            differs("AzureClusterIdentity team-a/azure-main", "spec.allowedNamespaces"),
        ),
        (
            "-n kcm-system annotate configmap aws-main-resource-template projectsveltos.io/template-".to_owned(),
            differs("ConfigMap kcm-system/aws-main-resource-template", "metadata.annotations is missing"),
        ),
        // The bundle itself is as good as nothing to a region that has the Namespace and no label of it.
        (
            "-n kcm-system delete configmap aws-main-resource-template".to_owned(),
            "missing-on-region: ConfigMap kcm-system/aws-main-resource-template is not on the region".to_owned(),
        ),
    ] {
        stage.kubectl(&change);
        stage.finds(&[&expect]);
        stage.apply("flux", bundle);
        stage.finds(&[]);
    }
    // Deleted, and kept by a finalizer.
    let finalizers = |list: &str| format!("{secret} {{\"metadata\":{{\"finalizers\":{list}}}}}");
    stage.kubectl(&finalizers("[\"example.org/wait\"]"));
    stage.kubectl("-n team-a delete secret azure-main-secret --wait=false");
    stage.finds(&["missing-on-region: Secret team-a/azure-main-secret is being deleted on the region"]);
    stage.kubectl(&finalizers("null"));
    stage.apply("flux", bundle);
    stage.finds(&[]);
    // An immutable field, so it is made anew.
    stage.kubectl("-n team-a delete secret azure-main-secret");
    let typed =
        "apiVersion: v1\nkind: Secret\nmetadata: {name: azure-main-secret, namespace: team-a}\ntype: mine/own\n";
    stage.apply("somebody", typed);
    let paths = "metadata.labels is missing, metadata.annotations is missing, type, data.clientSecret is missing";
    stage.finds(&[&differs("Secret team-a/azure-main-secret", paths)]);
    stage.kubectl("-n team-a delete secret azure-main-secret");
    stage.apply("flux", bundle);
    // What a CRD's defaults and other writers add is no difference.
    stage.kubectl(
        "patch awsclusterstaticidentity aws-main --type=merge -p {\"metadata\":{\"labels\":{\"more\":\"x\"}}}",
    );
    stage.kubectl("label namespace team-a more=x");
    stage.finds(&[]);
}

/// Entries of others, which no apply removes.
fn entries(stage: &mut Stage, bundle: &str) {
    let old =
        |kind: &str, place: &str, data: &str| format!("apiVersion: v1\nkind: {kind}\nmetadata: {{{place}}}\n{data}\n");
    let secret = |data: &str| old("Secret", "name: azure-main-secret, namespace: team-a", data);
    let template = "name: aws-main-resource-template, namespace: kcm-system";
    stage.apply("manager", &secret("data: {old: b2xk}"));
    stage.apply("manager", &old("ConfigMap", template, "data: {old: old}"));
    stage.apply("flux", bundle);
    let stale = |key: &str| {
        format!(
            "stale-entry: {key} has data.old on the region, which the bundle does not have; field manager manager owns it"
        )
    };
    stage
        .finds(&[&stale("ConfigMap kcm-system/aws-main-resource-template"), &stale("Secret team-a/azure-main-secret")]);
    let remove = "--type=json -p [{\"op\":\"remove\",\"path\":\"/data/old\"}]";
    stage.kubectl(&format!("-n kcm-system patch configmap aws-main-resource-template {remove}"));
    // The entry's owner gives it up.
    stage.apply("manager", &secret(""));
    stage.finds(&[]);

    // Who writes stringData is noted as the owner of that, and not of the entry; giving it up changes nothing.
    let by_kubectl = |rest: &str| {
        format!(
            "stale-entry: Secret team-a/azure-main-secret has data.old on the region, which the bundle does not have; {rest}"
        )
    };
    stage.apply("kubectl", &secret("stringData: {old: old}"));
    stage.finds(&[&by_kubectl("field manager kubectl set it by stringData")]);
    stage.apply("kubectl", &secret(""));
    stage.finds(&[&by_kubectl("no field manager owns it")]);
    stage.kubectl(&format!("-n team-a patch secret azure-main-secret {remove}"));
    stage.finds(&[]);
}

/// k0rdent's copies: those that the bundle takes over, and those that nobody does.
fn takeover(stage: &mut Stage, bundle: &str) {
    let managed = "k0rdent.mirantis.com/managed=true";
    stage.kubectl(&format!("-n team-a label --overwrite secret azure-main-secret {managed}"));
    stage.kubectl(&format!("label --overwrite awsclusterstaticidentity aws-main {managed}"));
    stage.finds(&[
        "not-taken-over: Secret team-a/azure-main-secret is still labelled as k0rdent's",
        "not-taken-over: AWSClusterStaticIdentity aws-main is still labelled as \
         k0rdent's",
    ]);
    stage.apply("flux", bundle);
    stage.finds(&[]);

    let copy = |kind: &str, place: &str, rest: &str| {
        format!(
            "---\napiVersion: {kind}\nmetadata: {{{place}, labels: {{k0rdent.mirantis.com/managed: \"true\"}}}}\n{rest}\n"
        )
    };
    let secret = |place: &str| copy("v1\nkind: Secret", place, &format!("stringData: {{key: {FOREIGN}}}"));
    let identity = copy(
        "infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSClusterStaticIdentity",
        "name: long-gone",
        "spec: {secretRef: long-gone}",
    );
    let copies = [
        secret("name: long-gone, namespace: team-a"),
        secret("name: cluster-api-provider-aws-variables, namespace: kcm-system"),
        identity,
    ];
    stage.apply("manager", &copies.concat());
    stage.finds(&[
        "k0rdent-leftover: Secret team-a/long-gone is a copy of k0rdent's that the bundle does not have",
        "k0rdent-leftover: AWSClusterStaticIdentity long-gone is a copy of k0rdent's \
         that the bundle does not have",
    ]);
    stage.kubectl("-n team-a delete secret long-gone");
    stage.kubectl("delete awsclusterstaticidentity long-gone");
    stage.finds(&[]);

    // What client-side apply wrote, or k0rdent took along.
    let copy = "kubectl.kubernetes.io/last-applied-configuration";
    stage.kubectl(&format!("-n team-a annotate secret azure-main-secret {copy}={FOREIGN}"));
    stage.finds(&[&format!(
        "cleartext-copy: Secret team-a/azure-main-secret has a copy of itself in clear on the region, in the annotation {copy}"
    )]);
    stage.kubectl(&format!("-n team-a annotate secret azure-main-secret {copy}-"));
    stage.finds(&[]);

    // What an earlier bundle brought and nobody removed.
    let ours = "labels: {app.kubernetes.io/managed-by: pouch}";
    let secret = |name: &str, more: &str| {
        format!("---\napiVersion: v1\nkind: Secret\nmetadata: {{name: {name}, namespace: team-a, {ours}{more}}}\n")
    };
    let held = secret("going", ", finalizers: [example.com/held]");
    let identity = format!(
        "---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSClusterStaticIdentity\n\
         metadata: {{name: withdrawn, {ours}}}\nspec: {{secretRef: withdrawn}}\n"
    );
    let config_map = secret("withdrawn", "").replace("kind: Secret", "kind: ConfigMap");
    stage.apply("flux", &(secret("withdrawn", "") + &held + &identity + &config_map));
    stage.kubectl("-n team-a delete secret going --wait=false");
    stage.finds(&[
        "left-behind: ConfigMap team-a/withdrawn is on the region with pouch's label, and not in the bundle",
        "left-behind: Secret team-a/going left the bundle, and is still being deleted on the region",
        "left-behind: Secret team-a/withdrawn is on the region with pouch's label, and not in the bundle",
        "left-behind: AWSClusterStaticIdentity withdrawn is on the region with pouch's \
         label, and not in the bundle",
    ]);
    stage
        .kubectl("-n team-a patch secret going --type=json -p [{\"op\":\"remove\",\"path\":\"/metadata/finalizers\"}]");
    stage.kubectl("-n team-a delete secret,configmap withdrawn");
    stage.kubectl("delete awsclusterstaticidentity withdrawn");
    stage.finds(&[]);
}

/// What it takes to look, and what is said where that is refused.
fn rights(stage: &mut Stage) {
    let refused = stage.verify("nobody", &[]).ends(5);
    assert!(
        refused.stderr.contains("cluster nobody does not allow \"get\" on namespaces, name kcm-system"),
        "{}",
        refused.stderr
    );
    // The role that the documentation gives, which reads by name and nothing else.
    let page = fs::read_to_string(root().join("docs/operations.md")).unwrap();
    let role = block::blocks(&page).into_iter().find(|block| block.text.contains("name: pouch-verify")).unwrap().text;
    stage.server.apply(&format!(
        "{role}---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {{name: pouch-verify}}\n\
         roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: pouch-verify}}\n\
         subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: reader}}]\n"
    ));
    let ran = stage.verify("reader", &["-v"]).ends(0);
    let unlooked = "; not looked for what was left behind of ";
    let said = ran.stdout.strip_prefix("eu-west  as published  8 objects").unwrap();
    assert!(said.starts_with(unlooked) && said.contains("secrets") && said.contains("configmaps"), "{said}");
    assert!(ran.stderr.contains("info[leftovers-unchecked]"), "{}", ran.stderr);

    assert!(role.contains("secrets, "), "the role allows to read Secrets");
    stage.server.apply(&role.replace("secrets, ", ""));
    let refused = stage.verify("reader", &[]).ends(5);
    let message = "cluster reader does not allow \"get\" on secrets in namespace kcm-system, name aws-main-secret";
    assert!(refused.stderr.contains(message), "{}", refused.stderr);
    let as_reader = stage.verify("admin", &["--as", "reader"]).ends(5);
    assert!(as_reader.stderr.contains("on secrets in namespace kcm-system"), "{}", as_reader.stderr);
}

/// Whatever goes wrong on the way: a region that is right is never called wrong, and the reverse.
fn trouble(stage: &mut Stage, bundle: &str) {
    let proxy = Proxy::to(stage.server.endpoint("admin"));
    proxy.kubeconfig(&stage.fleet.path("proxied"), "admin");
    let look = |stage: &Stage| {
        stage.fleet.run(&[
            "verify",
            "-f",
            "quickstart/pouch.yaml",
            "--kubeconfig",
            "proxied",
            "--live",
            "--context",
            "admin",
            "--region",
            "eu-west",
            "--request-timeout",
            "300ms",
            "-q",
        ])
    };
    proxy.calm();
    look(stage).ends(0);
    let requests = proxy.lines();
    assert!(requests.iter().all(|line| line.starts_with("GET ")), "{requests:?}");
    let mut injected = 0;
    for (at, fault) in Fault::ALL.iter().enumerate() {
        proxy.arm(*fault, When::Once(at * 7 % requests.len()));
        let ran = look(stage);
        assert!([0, 5].contains(&ran.code), "{fault:?}: exit code {}\n{}{}", ran.code, ran.stdout, ran.stderr);
        injected += proxy.injected();
    }
    assert!(injected > Fault::ALL.len() / 2, "only {injected} faults were injected");

    let secret = "azure-main-secret";
    stage.kubectl(&format!("-n team-a patch secret {secret} --type=merge -p {{\"data\":{{\"clientSecret\":null}}}}"));
    // What could be taken for an answer, as often as it is asked.
    use Fault::{Empty, Forbidden, NotFoundBare, NotFoundNamed, NotFoundText, OtherObject, StatusAsSuccess};
    for fault in [Empty, Forbidden, NotFoundBare, NotFoundNamed, NotFoundText, OtherObject, StatusAsSuccess] {
        proxy.arm(fault, When::Path(secret.into()));
        let ran = look(stage);
        assert!([5, 8].contains(&ran.code), "{fault:?}: exit code {}\n{}{}", ran.code, ran.stdout, ran.stderr);
    }
    stage.apply("flux", bundle);
    stage.finds(&[]);
}

/// What is published, and how it is believed.
fn bundles(stage: &mut Stage) {
    // Another region's bundle, on this cluster.
    let ran = stage.verify("admin", &["--region", "us-east", "-q"]);
    assert_eq!(ran.code, 8, "{}", ran.stderr);

    let ran = stage.verify("admin", &["--summary", "summary.json", "--metrics", "pouch.prom"]).ends(0);
    assert!(ran.stdout.starts_with("eu-west  as published"), "{}", ran.stdout);
    let summary: serde_json::Value = serde_json::from_str(&stage.fleet.read("summary.json")).unwrap();
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../../../schemas/summary.schema.json")).unwrap();
    assert!(jsonschema::validator_for(&schema).unwrap().is_valid(&summary), "{summary}");
    let verified = serde_json::json!({
        "region": "eu-west", "directory": "eu-west", "objects": 8, "values": true, "faults": 0,
    });
    assert_eq!((&summary["command"], &summary["verified"]), (&"verify".into(), &verified));
    assert!(summary.get("regions").is_none() && summary.get("credentials").is_none(), "{summary}");
    let code = "pouch_last_run_exit_code{fleet=\"quickstart\",command=\"verify\",region=\"eu-west\"}";
    let metrics = stage.fleet.read("pouch.prom");
    assert!(metrics.contains(&format!("{code} 0\n")) && !metrics.contains("pouch_credentials{"), "{metrics}");
    // A run that could not look leaves no green light of an earlier one.
    stage.verify("nobody", &["--metrics", "pouch.prom"]).ends(5);
    assert!(stage.fleet.read("pouch.prom").contains(&format!("{code} 5\n")));

    let secret = "quickstart/bundles/regions/eu-west/core/secrets/team-a/azure-main-secret.sops.yaml";
    let sealed = stage.fleet.read(secret);
    stage.fleet.write(secret, format!("{sealed}\n"));
    let path = "regions/eu-west/core/secrets/team-a/azure-main-secret.sops.yaml";
    stage.finds(&[&format!("untrusted-bundle: {path} is missing or does not match the manifest")]);
    stage.fleet.write(secret, &sealed);

    // With --no-values the manifest is taken at its word, and another value is no difference.
    stage.fleet.run(&["render", "-q", "-f", "quickstart/pouch.yaml"]).ends(0);
    let key = stage.fleet.read("quickstart/reuse.key");
    stage.fleet.remove("quickstart/reuse.key");
    let patch = format!("{{\"stringData\":{{\"clientSecret\":\"{FOREIGN}\"}}}}");
    stage.kubectl(&format!("-n team-a patch secret azure-main-secret --type=merge -p {patch}"));
    let missing = stage.verify("admin", &[]).ends(64);
    assert!(missing.stderr.contains("reuse.key"), "{}", missing.stderr);
    let ran = stage.verify("admin", &["--no-values"]).ends(0);
    assert!(ran.stdout.starts_with("eu-west  as published  8 objects, 1 warning"), "{}", ran.stdout);
    assert!(ran.stderr.contains("warning[not-proved]: --no-values: "), "{}", ran.stderr);
    let other = "POUCH-REUSE-KEY-1";
    stage.fleet.write("quickstart/reuse.key", format!("{other}\n"));
    assert!(stage.verify("admin", &[]).ends(64).stderr.contains("reuse key"));
    stage.verify("admin", &["--no-values"]).ends(0);
    stage.fleet.write("quickstart/reuse.key", &key);
    stage.finds(&["differs-on-region: Secret team-a/azure-main-secret is not as the bundle says: data.clientSecret"]);

    let before = stage.fleet.stamps("quickstart/bundles");
    // The harness looks for the region's value in what is printed; here as the API writes it.
    let traced = stage.verify("admin", &["--log-level", "trace"]).ends(8);
    assert!(traced.stderr.len() > 2000, "nothing is traced: {}", traced.stderr);
    assert!(!traced.stderr.contains(&STANDARD.encode(FOREIGN)), "a value is shown");
    assert_eq!(stage.fleet.stamps("quickstart/bundles"), before);
    fs::create_dir(stage.fleet.path("empty")).unwrap();
    let nothing = stage.verify("admin", &["empty"]).ends(8);
    assert!(nothing.stderr.contains("nothing is published in regions/eu-west"), "{}", nothing.stderr);
    assert!(stage.fleet.tree("empty").is_empty());
    let away = stage.verify("admin", &["not-there"]).ends(64);
    assert!(away.stderr.contains("there is no folder"), "{}", away.stderr);

    for (arguments, code, message) in [
        (&["--region", "eu"][..], 64, "the configuration has no region eu"),
        (&["--live", "--context", "no-such"][..], 64, ""),
    ] {
        let mut all = vec!["verify", "-f", "quickstart/pouch.yaml", "--kubeconfig", "kubeconfig"];
        all.extend(if arguments.contains(&"--live") {
            &["--region", "eu-west"][..]
        } else {
            &["--live", "--context", "admin"]
        });
        all.extend(arguments);
        let ran = stage.fleet.run(&all).ends(code);
        assert!(ran.stderr.contains(message), "{}", ran.stderr);
    }
    let bare = stage.fleet.run(&["verify", "-f", "quickstart/pouch.yaml", "--live", "admin"]).ends(64);
    assert!(bare.stderr.contains("Write --live --context admin."), "{}", bare.stderr);
    let several = stage.fleet.run(&["verify", "-f", "quickstart/pouch.yaml", "--live", "--context", "admin"]).ends(64);
    assert!(several.stderr.contains("eu-west, us-east"), "{}", several.stderr);
}

/// A misspelt variable must not make a weaker check of it, and a green one.
#[test]
fn a_key_that_is_not_there_ends_the_run() {
    let fleet = Fleet::new();
    copy(&root().join("testdata/quickstart"), &fleet.path("quickstart"));
    let config = fleet.read("quickstart/pouch.yaml");
    let verify = |flags: &[&str], code: i32| {
        let fixed =
            ["verify", "-f", "quickstart/pouch.yaml", "--live", "--context", "x", "--region", "eu-west", "quickstart"];
        fleet.run(&[&fixed, flags].concat()).ends(code)
    };
    fleet.write("quickstart/pouch.yaml", config.replacen("{file: reuse.key}", "{env: POUCH_KEY}", 1));
    let missing = verify(&[], 64);
    assert!(missing.stderr.contains("environment variable POUCH_KEY"), "{}", missing.stderr);
    let rendered = fleet.run(&["render", "-f", "quickstart/pouch.yaml"]).ends(64);
    assert_eq!(missing.stderr, rendered.stderr);
    let asked = verify(&["--no-values"], 8);
    assert!(asked.stderr.contains("nothing is published in regions/eu-west"), "{}", asked.stderr);
}

/// The texts on the pages of findings that only a live region makes.
fn the_shown_texts_were_printed(stage: &Stage) {
    let printed_so = |text: &str, printed: &String| {
        let lines = printed.lines().count().saturating_sub(text.lines().count());
        let tail: Vec<&str> = printed.lines().skip(lines).collect();
        block::fits(text, &tail.join("\n"))
    };
    let mut shown = 0;
    for entry in fs::read_dir(root().join("docs/findings")).unwrap() {
        let path = entry.unwrap().path();
        let page = fs::read_to_string(&path).unwrap();
        // What a cluster says that changes while it is read is for the tests of `writer`.
        let live = |block: &block::Block<'_>| {
            block.language == "text" && block.rest == "live" && !block.text.contains("error[changing]")
        };
        for block in block::blocks(&page).into_iter().filter(live) {
            shown += 1;
            assert!(
                stage.said.iter().any(|printed| printed_so(block.text, printed)),
                "{}:{}: never printed:\n{}",
                path.display(),
                block.line,
                block.text
            );
        }
    }
    assert!(shown >= 11, "only {shown} texts are marked");
}
