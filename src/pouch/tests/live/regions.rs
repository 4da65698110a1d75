//! Looking into regions: what is asked of their clusters, who may say how they are reached, and that one region costs
//! another nothing.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pouch::age::generate_identity;
use pouch::ambient::Ambient;
use pouch::cluster::Patience;
use pouch::session::{Global, Session};
use pouch::settings;
use pouch::stop::Stop;
use pouch::survey::source::live::Values;
use pouch::survey::{Reach, Surveyor, survey};
use pouch_core::inventory::document;
use pouch_core::inventory::looked::Looked;
use pouch_core::name::{GroupKind, Namespace, Region, Scope};
use pouch_core::snapshot::Reason;
use pouch_core::world::cluster::Sight;
use pouch_core::yaml::emit::{Tree, emit};
use pouch_core::yaml::read;
use serde_json::{Value, json};

use crate::requests::{are_harmless, lines};
use crate::rig::apiserver::ApiServer;
use crate::rig::proxy::{Proxy, standing_in, uid_of};
use crate::rig::tls::Authority;
use crate::rig::token;
use crate::support::fleet::{Fleet, Ran};
use crate::support::origin::Origin;
use crate::support::{root, tool};

/// How long a server may take to notice that a role changed.
const NOTICED: Duration = Duration::from_secs(60);

/// What stands on the region: a ProviderInterface with more than is read, and a namespace with labels.
const REGION: &str = "\
{apiVersion: v1, kind: Namespace, metadata: {name: eu-team, labels: {environment: production}}}
---
apiVersion: k0rdent.mirantis.com/v1beta1
kind: ProviderInterface
metadata: {name: aws, labels: {cluster.x-k8s.io/provider: infrastructure-aws, other: label}, annotations: {other: annotation}}
spec:
  description: not read
  clusterIdentities:
  - {group: infrastructure.cluster.x-k8s.io, version: v1beta2, kind: AWSClusterStaticIdentity, references: []}
";

/// What was found of each region that is looked into.
type Sights = BTreeMap<String, Result<Looked, Reason>>;

/// Reads the sources of a fleet in this process, and looks into its regions.
fn sights(fleet: &Fleet, patience: Patience) -> Sights {
    let base = fleet.path(".");
    let path = std::env::var("PATH").unwrap();
    let vars = [("PATH", &*path), ("POUCH_REUSE_KEY", "CANARY")];
    let ambient = Ambient::fixed(&base, jiff::Timestamp::UNIX_EPOCH, &vars);
    let session = Session::new(Global { quiet: true, ..Global::default() }, ambient, Stop::never());
    let settings = settings::load(&fleet.path("pouch.yaml"), &session.ambient).unwrap();
    let reach = Reach { patience, ..Reach::default() };
    let fleet = &settings.fleet;
    let surveyor = Surveyor::new(&session, fleet, &base, (&[], &reach));
    let survey = survey(&surveyor, Values::Leave).unwrap();
    let sight = |sight: Sight| match sight {
        Sight::None => None,
        Sight::Seen(looked, _) => Some(Ok(looked)),
        Sight::Unread(reason) => Some(Err(reason)),
    };
    survey
        .facts
        .clusters
        .into_iter()
        .filter_map(|(name, facts)| Some((name.to_string(), sight(facts.sight)?)))
        .collect()
}

fn sight(fleet: &Fleet) -> Result<Looked, Reason> {
    sights(fleet, Patience::default()).remove("eu").expect("eu is looked into")
}

/// Why nobody could look; a value never stands in it.
#[track_caller]
fn reason(found: Result<Looked, Reason>) -> String {
    let Err(reason) = found else { panic!("it was looked into") };
    assert!(!reason.why.contains("CANARY") && !reason.help.contains("CANARY"), "{reason:?}");
    assert!(reason.help.ends_with(['.', '?']), "{reason:?}");
    reason.why
}

/// A fleet with a Credential in region `eu`, whose cluster is reached so.
pub fn fleet(cluster: &str) -> Fleet {
    let fleet = Fleet::with_credentials(1);
    let inventory = "inventory: {clusterProfile: {namespace: fleet, name: eu}}, ";
    let inventory = if cluster.contains("providers") { inventory } else { "" };
    fleet.configure("  eu: {", &format!("  eu: {{{inventory}cluster: {{{cluster}}}, "));
    fleet
}

/// The ClusterProfile of a region: its cluster, and what it says to the plugin.
pub fn profile(fleet: &Fleet, name: &str, provider: &str, cluster: Value, config: Option<Value>) {
    let mut cluster = cluster;
    if let Some(config) = config {
        cluster["extensions"] = json!([{"name": "client.authentication.k8s.io/exec", "extension": config}]);
    }
    let profile = json!({
        "apiVersion": "multicluster.x-k8s.io/v1alpha1",
        "kind": "ClusterProfile",
        "metadata": {"name": name, "namespace": "fleet"},
        "spec": {"clusterManager": {"name": "test"}},
        "status": {"accessProviders": [{"name": provider, "cluster": cluster}]},
    });
    fleet.write(&format!("manifests/profile-{name}.yaml"), profile.to_string());
}

pub fn cluster_of(server: &ApiServer) -> Value {
    json!({"server": server.url(), "certificate-authority-data": STANDARD.encode(server.ca())})
}

/// A provider file with one plugin.
pub fn providers(fleet: &Fleet, name: &str, command: &str, env: &[(&str, &str)]) {
    let env: Vec<Value> = env.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
    let exec = json!({
        "apiVersion": "client.authentication.k8s.io/v1", "command": command, "env": env, "provideClusterInfo": true,
    });
    fleet.write("providers.json", json!({"providers": [{"name": name, "execConfig": exec}]}).to_string());
}

/// A script as a program of the fleet's folder.
pub fn script(fleet: &Fleet, name: &str, text: &str) -> String {
    fleet.write(name, format!("#!/bin/sh\n{text}\n"));
    let path = fleet.path(name);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

/// Prints an ExecCredential with the token that stands in a file of the fleet.
pub fn gives(fleet: &Fleet) -> String {
    let file = fleet.path("token").display().to_string();
    format!(
        "printf '{{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{{\"token\":\"%s\"}}}}' \"$(cat {file})\""
    )
}

/// The region's API server with what tests look for.
pub fn region() -> Option<ApiServer> {
    let server = ApiServer::start()?;
    if !server.install_crds() {
        return None;
    }
    server.apply(REGION);
    Some(server)
}

#[track_caller]
fn is_the_region(looked: &Looked, server: &ApiServer) {
    let uid = server.kubectl_prints(["get", "ns", "kube-system", "-o", "jsonpath={.metadata.uid}"], "");
    assert_eq!(looked.cluster.as_deref(), Some(&*uid));
    assert!(
        looked.kubernetes.as_deref().is_some_and(|version| version.starts_with("v1.36.")),
        "{:?}",
        looked.kubernetes
    );
    let labels = looked.namespaces[&Namespace::from("eu-team")].as_ref().unwrap();
    assert_eq!(labels["environment"], "production");
    let kind = |kind: &str| &looked.kinds[&GroupKind::new("infrastructure.cluster.x-k8s.io", kind)];
    assert_eq!(kind("AWSClusterStaticIdentity").scope, Scope::Cluster);
    assert_eq!(kind("AzureClusterIdentity").scope, Scope::Namespaced);
    assert!(kind("AWSClusterStaticIdentity").versions.iter().any(|version| version.as_str() == "v1beta2"));
    assert_eq!(looked.interfaces.as_ref().map(Vec::len), Some(1));
}

#[test]
fn a_look_reads_what_it_says_and_nothing_else_and_the_same_stands_in_a_file() {
    let Some(server) = region() else { return };
    let proxy = Proxy::to(server.endpoint("admin"));
    let fleet = fleet("kubeconfig: kubeconfig, context: admin");
    proxy.kubeconfig(&fleet.path("kubeconfig"), "admin");
    proxy.calm();
    let Ok(looked) = sight(&fleet) else { panic!("it can be looked into") };
    is_the_region(&looked, &server);
    let requests = proxy.requests();
    are_harmless(&requests);
    for line in lines(&requests).lines() {
        let is_meant = ["/version", "/apis/infrastructure.cluster.x-k8s.io", "/apis/k0rdent.mirantis.com"];
        let is_namespace =
            ["kube-system", "eu-team"].iter().any(|name| line.contains(&format!("/api/v1/namespaces/{name}")));
        assert!(is_namespace || is_meant.iter().any(|path| line.contains(path)), "{line}");
        assert!(!line.contains("secrets"), "{line}");
    }

    // The same without the cluster, from a file that says what was found.
    fleet.render(&[]).ends(0);
    let live = fleet.tree("bundles");
    let written = emit(&Tree::of(&document::write(&Region::from("eu"), &looked))).to_string();
    for read in ["resourceVersion", "other", "not read", "creationTimestamp", "managedFields"] {
        assert!(!written.contains(read), "{written}");
    }
    fleet.configure("cluster: {kubeconfig: kubeconfig, context: admin}, ", "");
    fleet.write("manifests/facts.yaml", &written);
    proxy.calm();
    let Ok(again) = sight(&fleet) else { panic!("it stands in the file") };
    assert!(again == looked);
    assert_eq!(proxy.requests().len(), 0);
    fleet.render(&[]).ends(0).outcome("eu", "unchanged");
    assert!(fleet.tree("bundles") == live);

    // A namespace that is absent is known to be.
    fleet.remove("manifests/facts.yaml");
    fleet.configure("  eu: {", "  eu: {cluster: {kubeconfig: kubeconfig, context: admin}, ");
    server.kubectl_prints(["delete", "ns", "eu-team", "--wait=false"], "");
    server.kubectl_prints(["replace", "--raw", "/api/v1/namespaces/eu-team/finalize", "-f", "-"],
        "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"eu-team\"},\"spec\":{\"finalizers\":[]}}");
    let Ok(looked) = sight(&fleet) else { panic!("it can be looked into") };
    assert_eq!(looked.namespaces[&Namespace::from("eu-team")], None);
}

#[test]
fn plugins_give_credentials_and_a_rotated_token_works_on_the_next_run() {
    let (Some(secretreader), Some(kubeconfig_secretreader)) = (tool("secretreader"), tool("kubeconfig-secretreader"))
    else {
        return;
    };
    let Some(server) = region() else { return };
    let fleet = fleet("providers: providers.json");

    // A script, which answers with what stands in a file.
    let plugin = script(&fleet, "plugin", &gives(&fleet));
    providers(&fleet, "script", &plugin, &[]);
    profile(&fleet, "eu", "script", cluster_of(&server), None);
    fleet.write("token", "CANARY-of-yesterday");
    assert!(reason(sight(&fleet)).contains("does not accept the credentials (401)"));
    fleet.write("token", token("admin"));
    is_the_region(&sight(&fleet).unwrap_or_else(|why| panic!("{why:?}")), &server);

    // The plugins of cluster-inventory-api, which read a Secret on the hub.
    let Some(hub) = ApiServer::start() else { return };
    hub.kubeconfig(&fleet.path("hub"), "admin");
    let hub_path = fleet.path("hub").display().to_string();
    let env = [("KUBECONFIG", &*hub_path)];
    let rotate = |name: &str, key: &str, value: &str| {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "default"},
                            "stringData": {key: value}});
        hub.apply(&secret.to_string());
    };
    providers(&fleet, "secretreader", &secretreader.display().to_string(), &env);
    profile(&fleet, "eu", "secretreader", cluster_of(&server), Some(json!({"clusterName": "eu-token"})));
    assert!(reason(sight(&fleet)).contains("the credential plugin of provider secretreader failed"), "no Secret yet");
    rotate("eu-token", "token", "CANARY-of-yesterday");
    assert!(reason(sight(&fleet)).contains("does not accept the credentials (401)"));
    rotate("eu-token", "token", &token("admin"));
    is_the_region(&sight(&fleet).unwrap_or_else(|why| panic!("{why:?}")), &server);

    providers(&fleet, "kubeconfig-secretreader", &kubeconfig_secretreader.display().to_string(), &env);
    let config = json!({"name": "eu-kubeconfig", "key": "value", "namespace": "default", "context": "admin"});
    profile(&fleet, "eu", "kubeconfig-secretreader", cluster_of(&server), Some(config));
    server.kubeconfig(&fleet.path("of-region"), "admin");
    let good = fleet.read("of-region");
    rotate("eu-kubeconfig", "value", &good.replace(&token("admin"), "CANARY-of-yesterday"));
    assert!(reason(sight(&fleet)).contains("does not accept the credentials (401)"));
    rotate("eu-kubeconfig", "value", &good);
    is_the_region(&sight(&fleet).unwrap_or_else(|why| panic!("{why:?}")), &server);
}

/// A fleet of regions that are all reached through one provider file, each with a provider of its own.
fn crowd(names: &[String]) -> Fleet {
    let mut config = String::from(
        "apiVersion: pouch/v1alpha1\nkind: Fleet\nmetadata: {name: acme}\nsources: [{name: manifests, directory: {path: manifests}}]\n\
         output: {path: bundles}\nregionDefaults: {delivery: {flux: {sourceRef: {kind: GitRepository, name: fleet}}}}\nreuseKey: {file: reuse.key}\nregions:\n",
    );
    for name in names {
        let (_, recipient) = generate_identity().unwrap();
        let recipient = recipient.as_str();
        config.push_str(&format!(
            "  {name}: {{recipients: [{recipient}], namespaces: {{allowed: ['*']}}, delivery: flux, cluster: {{providers: providers.json}}, \
             inventory: {{clusterProfile: {{namespace: fleet, name: {name}}}}}}}\n"
        ));
    }
    let fleet = Fleet::of(&config);
    std::fs::create_dir(fleet.path("manifests")).unwrap();
    fleet.write("token", token("admin"));
    fleet
}

#[test]
fn one_region_costs_another_nothing() {
    let Some(server) = region() else { return };
    let mut cases: Vec<(&str, String, Value, &str)> = Vec::new();
    let good = || cluster_of(&server);
    let with = |key: &str, value: Value| {
        let mut cluster = cluster_of(&server);
        cluster[key] = value;
        cluster
    };
    cases.push(("good", "give".into(), good(), ""));
    cases.push(("named", "give".into(), with("tls-server-name", json!("localhost")), ""));
    // Connections are taken by the system, and never answered.
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let stalls = json!({"server": format!("http://{}", silent.local_addr().unwrap())});
    cases.push(("stalls", "give".into(), stalls, "cannot be read, asked for"));
    cases.push(("hangs", "sleep 300".into(), good(), "took longer than 30 s and was ended"));
    cases.push((
        "floods",
        "while :; do echo CANARY-CANARY-CANARY-CANARY-CANARY-CANARY; done".into(),
        good(),
        "it is more than 1024 KiB",
    ));
    cases.push(("garbage", "echo CANARY".into(), good(), "printed something that is not JSON"));
    cases.push(("fails", "echo CANARY >&2; exit 3".into(), good(), "ended with an error"));
    cases.push(("missing", String::new(), good(), "is not installed"));
    cases.push((
        "other-host",
        "give".into(),
        with("tls-server-name", json!("other.example")),
        "made out to another name",
    ));
    cases.push(("nobody", "give".into(), json!({"server": "https://127.0.0.1:1"}), "nothing listens there"));
    cases.push(("both", "give".into(), with("insecure-skip-tls-verify", json!(true)), "exclude each other"));
    cases.push((
        "strange",
        "give".into(),
        json!({"server": server.url(), "certificate-authority-data": "CANARY"}),
        "certificate authority that cannot be read",
    ));
    // Client certificates: no certificate at all, one of another authority, and the server's own, which
    // is a user without rights.
    let prints = |certificate: &str, key: &str| {
        let status = json!({"clientCertificateData": certificate, "clientKeyData": key});
        let answer =
            json!({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status});
        format!("cat <<'END'\n{answer}\nEND")
    };
    let strange = Authority::new();
    let (certificate, key) = strange.client("admin", &["system:masters"]);
    let refused = "does not accept the credentials (401)";
    let unusable = "the certificates or keys of provider no-";
    cases.push(("no-certificate", prints("CANARY", "CANARY"), good(), unusable));
    cases.push(("no-key", prints(&certificate, "CANARY"), good(), unusable));
    cases.push(("stranger", prints(&certificate, &key), good(), refused));
    cases.push((
        "of-a-host",
        prints(&server.authority().certificate, &server.authority().key),
        good(),
        "does not allow \"get\"",
    ));
    let names: Vec<String> = cases.iter().map(|(name, ..)| (*name).to_owned()).chain(["untied".to_owned()]).collect();
    let fleet = crowd(&names);
    let mut plugins = Vec::new();
    for (name, text, cluster, _) in &cases {
        let command = match &**text {
            "" => fleet.path("no-such-plugin").display().to_string(),
            "give" => script(&fleet, &format!("plugin-{name}"), &gives(&fleet)),
            text => script(&fleet, &format!("plugin-{name}"), text),
        };
        let exec = json!({"apiVersion": "client.authentication.k8s.io/v1", "command": command});
        plugins.push(json!({"name": name, "execConfig": exec}));
        profile(&fleet, name, name, cluster.clone(), None);
    }
    fleet.write("providers.json", json!({"providers": plugins}).to_string());
    let began = Instant::now();
    let mut sights = sights(&fleet, Patience { tries: 2, ..Patience::default() });
    let took = began.elapsed();
    assert!((30..60).contains(&took.as_secs()), "{took:?}");
    for (name, _, _, expect) in cases {
        let found = sights.remove(name).unwrap_or_else(|| panic!("{name} was not looked into"));
        match expect {
            "" => assert!(found.is_ok(), "{name}: {:?}", found.err()),
            expect => {
                let why = reason(found);
                assert!(why.contains(expect), "{name}: {why}");
            }
        }
    }
    assert!(reason(sights.remove("untied").unwrap()).contains("there is no"), "its profile is not there");

    // A provider file that cannot be used is said with its place, for every region that needs it.
    fleet.edit("providers.json", "\"execConfig\"", "\"execConfg\"");
    let why = reason(self::sights(&fleet, Patience::default()).remove("good").unwrap());
    assert!(why.contains("providers.json: providers[0] has no field \"execConfg\""), "{why}");
}

#[test]
fn a_hundred_regions_are_looked_into_a_few_at_a_time() {
    const REGIONS: usize = 100;
    let Some(server) = region() else { return };
    let names: Vec<String> = (0..REGIONS).map(|number| format!("r{number}")).collect();
    let fleet = crowd(&names);
    let log = fleet.path("log").display().to_string();
    let text = format!("echo + >> {log}; sleep 0.2; echo - >> {log}; {}", gives(&fleet));
    providers(&fleet, "script", &script(&fleet, "plugin", &text), &[]);
    for name in &names {
        profile(&fleet, name, "script", cluster_of(&server), None);
    }
    let began = Instant::now();
    let sights = sights(&fleet, Patience::default());
    let took = began.elapsed();
    let failed: Vec<&Reason> = sights.values().filter_map(|found| found.as_ref().err()).collect();
    assert!(sights.len() == REGIONS && failed.is_empty(), "{failed:?}");
    let (mut now, mut most) = (0_usize, 0);
    for line in fleet.read("log").lines() {
        now = if line == "+" { now + 1 } else { now - 1 };
        most = most.max(now);
    }
    println!("{REGIONS} regions looked into in {took:?}, {most} plugins at once");
    assert!((2..=8).contains(&most), "{most} at once");
    // The goal is 10 s; a debug build on a busy machine gets more.
    assert!(took < Duration::from_secs(30), "{took:?}");
}

#[test]
fn the_rights_that_are_printed_suffice_and_none_can_be_spared() {
    let Some(server) = region() else { return };
    let fleet = fleet("kubeconfig: kubeconfig, context: pouch");
    server.kubeconfig(&fleet.path("kubeconfig"), "admin");
    let printed = fleet.run(&["rbac", "--region", "eu", "--user=pouch"]).ends(0).stdout;
    let manifests: Vec<Value> = read::documents(&printed).map(|document| read::typed(document.text).unwrap()).collect();
    assert_eq!(manifests.len(), 2, "{printed}");
    let apply = |manifests: &[Value]| {
        server.apply(&json!({"apiVersion": "v1", "kind": "List", "items": manifests}).to_string());
    };
    // Until it is as wanted, as the server notices changes of roles by and by.
    let sees = |expect: Option<&str>| {
        let began = Instant::now();
        loop {
            let found = sight(&fleet);
            let is_so = match (&found, expect) {
                (Ok(_), None) => true,
                (Err(reason), Some(expect)) => {
                    reason.why.contains(expect) && reason.help.contains("pouch rbac --region")
                }
                _ => false,
            };
            if is_so {
                return;
            }
            assert!(began.elapsed() < NOTICED, "{expect:?}: {:?}", found.err());
            thread::sleep(Duration::from_millis(100));
        }
    };
    sees(Some("does not allow \"get\" on namespaces, name kube-system"));
    // A namespace that may not be read is unknown alone.
    let lacks = |namespace: &str| {
        let began = Instant::now();
        while !sight(&fleet).is_ok_and(|looked| !looked.namespaces.contains_key(&Namespace::from(namespace))) {
            assert!(began.elapsed() < NOTICED, "{namespace} is seen");
            thread::sleep(Duration::from_millis(100));
        }
        let told =
            "region eu: cluster pouch does not allow \"get\" on namespaces, so that labels are unknown of eu-team. ";
        fleet.render(&[]).ends(0).says(told).says("`pouch rbac --region NAME`");
    };
    apply(&manifests);
    sees(None);
    let rules = manifests[0]["rules"].as_array().unwrap();
    let mut taken = 0;
    for (number, rule) in rules.iter().enumerate() {
        let names: Vec<&str> =
            rule["resourceNames"].as_array().into_iter().flatten().map(|name| name.as_str().unwrap()).collect();
        let mut less = vec![None];
        less.extend(names.iter().copied().map(Some));
        for name in less {
            let mut role = manifests[0].clone();
            let resource = rule["resources"][0].as_str().unwrap();
            let expect = match name {
                None => {
                    _ = role["rules"].as_array_mut().unwrap().remove(number);
                    format!("does not allow \"{}\" on {resource}", rule["verbs"][0].as_str().unwrap())
                }
                Some(name) => {
                    role["rules"][number]["resourceNames"].as_array_mut().unwrap().retain(|other| other != name);
                    format!("does not allow \"get\" on namespaces, name {name}")
                }
            };
            apply(&[role]);
            match name.filter(|name| *name != "kube-system") {
                Some(namespace) => lacks(namespace),
                None => sees(Some(&expect)),
            }
            taken += 1;
        }
    }
    assert_eq!(taken, 4, "{printed}");
    apply(&manifests);
    sees(None);
}

#[test]
fn every_region_is_compared_in_one_table() {
    let Some(server) = region() else { return };
    let fleet = Fleet::with_credentials(2);
    let inventory = "inventory: {clusterProfile: {namespace: fleet, name: eu}}";
    fleet.configure("  eu: {", &format!("  eu: {{{inventory}, cluster: {{providers: providers.json}}, "));
    fleet.configure("  us: {", "  us: {cluster: {kubeconfig: nowhere, context: admin}, ");
    fleet.configure("delivery: flux", "delivery: none");
    fleet.write("token", token("admin"));
    providers(&fleet, "script", &script(&fleet, "plugin", &gives(&fleet)), &[]);
    profile(&fleet, "eu", "script", cluster_of(&server), None);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    let first = origin.tip().unwrap();

    // An empty region, and one that is away.
    let table = |code: i32| fleet.run(&["verify", "--live", "--all"]).ends(code);
    let row = |ran: &Ran, region: &str| {
        let line = ran.stdout.lines().find(|line| line.starts_with(region)).unwrap_or_else(|| panic!("{ran:?}"));
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let ran = table(5).says("error: region us was not compared: the kubeconfig").says("missing-on-region");
    let short = |commit: &str| commit.chars().take(12).collect::<String>();
    assert_eq!(row(&ran, "eu"), format!("eu {} 0 of 2 2 0 0 0 of 2 Credentials", short(&first)));
    assert!(row(&ran, "us").contains("not compared: the kubeconfig"), "{}", ran.stdout);
    assert!(ran.stdout.contains("not in force in eu: Credential eu-team/c1\n"), "{}", ran.stdout);

    // What was published is applied, and a commit that changes another region is none that eu is since.
    server.kubeconfig(&fleet.path("kubeconfig"), "admin");
    let identity = std::fs::read_to_string(root().join("testdata/quickstart/keys/eu-west.txt")).unwrap();
    fleet.private("eu.agekey", identity);
    let origin_path = origin.path().display().to_string();
    let apply = [
        "deliver",
        &origin_path,
        "--rev=main",
        "--region=eu",
        "--identity=eu.agekey",
        "--kubeconfig=kubeconfig",
        "--context=admin",
        "--inventory-namespace=default",
    ];
    // Another cluster in the place of that for which it was made is given nothing.
    let other = "00000000-1111-4222-8333-444444444444";
    let proxy = standing_in(&server, other);
    proxy.kubeconfig(&fleet.path("elsewhere"), "admin");
    let elsewhere = apply.map(|word| if word == "--kubeconfig=kubeconfig" { "--kubeconfig=elsewhere" } else { word });
    let made_for = uid_of(&server);
    let said = format!("this is cluster {other}, and the bundle was made for cluster {made_for}: nothing was applied");
    fleet.run(&elsewhere).ends(5).says(&said);
    assert_eq!(server.kubectl_prints(["-n", "eu-team", "get", "secret", "-o", "name"], ""), "");
    fleet.run(&apply).ends(0);
    fleet.credential("us", "c9", "another");
    origin.publish(&[]).ends(0);
    assert_ne!(origin.tip().unwrap(), first);
    let ran = table(5);
    assert_eq!(row(&ran, "eu"), format!("eu {} 2 of 2 0 0 0 2 of 2 Credentials", short(&first)));

    // Somebody changes one of them there, and leaves another.
    let patch = r#"{"stringData": {"value": "changed"}}"#;
    server.kubectl_prints(["-n", "eu-team", "patch", "secret", "c0", "-p", patch], "");
    server.apply("{apiVersion: v1, kind: Secret, metadata: {name: old, namespace: eu-team, labels: {app.kubernetes.io/managed-by: pouch}}}");
    let ran = fleet.run(&["verify", "--live", "--all", "-o", "json"]).ends(5);
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    let schema = include_str!("../../../../schemas/standing.schema.json");
    let schema = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
    let faults: Vec<String> = schema.iter_errors(&answer).map(|error| error.to_string()).collect();
    assert!(faults.is_empty(), "{faults:?}\n{answer:#}");
    let eu = &answer["regions"][0];
    assert_eq!((&eu["name"], &eu["commit"]), (&json!("eu"), &json!(first)));
    let claimant = |name: &str, in_force: bool| json!({"kind": "Credential", "namespace": "eu-team", "name": name, "inForce": in_force});
    assert_eq!(
        eu["compared"],
        json!({"objects": 2, "asPublished": 1, "missing": 0, "differing": 1, "leftBehind": 1,
               "claimants": [claimant("c0", false), claimant("c1", true)]})
    );
    assert!(eu["findings"].as_array().unwrap().iter().any(|finding| finding["code"] == "differs-on-region"));
    assert!(answer["regions"][1]["unread"]["message"].as_str().unwrap().contains("kubeconfig"), "{answer:#}");

    // The same as a page, and as metrics, in which nothing is said of what was not reached.
    let ran = fleet
        .run(&["verify", "--live", "--all", "-o", "html", "--metrics", "pouch.prom", "--summary", "s.json"])
        .ends(5);
    assert!(ran.stdout.starts_with("<!doctype html>") && ran.stdout.ends_with("</html>\n"), "{}", ran.stdout);
    for part in ["<td class=\"n changed\">1 of 2", "not compared: the kubeconfig", "<code>Credential eu-team/c0</code>"]
    {
        assert!(ran.stdout.contains(part), "{part}\n{}", ran.stdout);
    }
    assert!(!ran.stdout.contains("changed\"}}") && !ran.stdout.contains("src="), "{}", ran.stdout);
    let metrics = fleet.read("pouch.prom");
    for line in [
        "pouch_region_reached{fleet=\"acme\",region=\"eu\"} 1",
        "pouch_region_reached{fleet=\"acme\",region=\"us\"} 0",
        "pouch_region_standing{fleet=\"acme\",region=\"eu\",state=\"differing\"} 1",
        "pouch_region_standing{fleet=\"acme\",region=\"eu\",state=\"left-behind\"} 1",
        "pouch_region_in_force{fleet=\"acme\",region=\"eu\",in_force=\"false\"} 1",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line}\n{metrics}");
    }
    let summary: Value = serde_json::from_str(&fleet.read("s.json")).unwrap();
    let schema = include_str!("../../../../schemas/summary.schema.json");
    let schema = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
    assert!(schema.is_valid(&summary), "{summary:#}");
    assert_eq!(summary["compared"][1], json!({"name": "us"}));

    // Without the region that is away, the code is that of what was found; and then all is well.
    fleet.configure("cluster: {kubeconfig: nowhere, context: admin}, ", "");
    table(8);
    server.kubectl_prints(["-n", "eu-team", "delete", "secret", "old"], "");
    fleet.run(&apply).ends(0);
    let ran = table(0);
    assert_eq!(row(&ran, "eu"), format!("eu {} 2 of 2 0 0 0 2 of 2 Credentials", short(&first)));
    assert!(fleet.run(&["verify", "--live", "--all", "-q"]).ends(0).is_silent());

    // One region alone, in the same way; its name is enough.
    let ran = fleet.run(&["verify", "--live", "--region", "eu"]).ends(0);
    assert_eq!(row(&ran, "eu"), format!("eu {} 2 of 2 0 0 0 2 of 2 Credentials", short(&first)));
    assert!(ran.stdout.lines().all(|line| !line.starts_with("us ")), "{}", ran.stdout);
    let answer = fleet.run(&["verify", "--live", "--region", "eu", "-o", "json"]).ends(0).stdout;
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["regions"].as_array().unwrap().len(), 1);
    fleet.run(&["verify", "--live", "--region", "us"]).ends(64).says("region us has no `cluster` in the configuration");
    fleet
        .run(&["verify", "--live", "--region", "eu", "--kubeconfig=kubeconfig"])
        .ends(64)
        .says("nothing says which cluster");
    let both = ["verify", "--live", "--context", "admin", "--region", "eu", "-o", "json"];
    fleet.run(&both).ends(64).says("--output is for --live without --context");

    // What contradicts itself is refused.
    fleet.run(&["verify", "--live", "--context", "admin", "--all"]).ends(64).says("cannot be used with");
    fleet.run(&["verify", "--live"]).ends(64).says("nothing says which cluster");
}
