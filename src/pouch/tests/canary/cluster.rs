//! The good fleet out of a cluster: an API server's answers are full of canaries, and each request leaves a line in
//! the trace, which no other source does.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use pouch_core::json;
use pouch_core::node::Interner;
use pouch_core::yaml::emit::Tree;
use pouch_core::yaml::read::{documents, read};
use serde_json::{Value, json};

use crate::good;
use crate::rig::http::{Request, Response};
use crate::rig::proxy::Proxy;
use crate::rig::token;
use crate::stage::Stage;
use crate::support::spoilt::{Ran, base64};

/// What the server has: `apiVersion`, kind, name in paths, and whether its objects have a namespace.
const SERVED: [(&str, &str, &str, bool); 10] = [
    ("v1", "Namespace", "namespaces", false),
    ("v1", "Secret", "secrets", true),
    ("v1", "ConfigMap", "configmaps", true),
    ("k0rdent.mirantis.com/v1beta1", "Credential", "credentials", true),
    ("k0rdent.mirantis.com/v1beta1", "ClusterDeployment", "clusterdeployments", true),
    ("k0rdent.mirantis.com/v1beta1", "Region", "regions", false),
    ("k0rdent.mirantis.com/v1beta1", "AccessManagement", "accessmanagements", false),
    ("k0rdent.mirantis.com/v1beta1", "ProviderInterface", "providerinterfaces", false),
    ("infrastructure.cluster.x-k8s.io/v1beta1", "AzureClusterIdentity", "azureclusteridentities", true),
    ("infrastructure.cluster.x-k8s.io/v1beta2", "AWSClusterStaticIdentity", "awsclusterstaticidentities", false),
];

/// The module that asks, as the trace names it.
const TARGET: &str = "pouch::cluster::link";

/// An API server, as far as pouch asks.
struct Api {
    /// By path.
    objects: BTreeMap<String, Value>,
    /// What it says of its trouble, in every place where it can.
    words: String,
    is_up: AtomicBool,
}

fn root(version: &str) -> String {
    if version == "v1" { "/api/v1".to_owned() } else { format!("/apis/{version}") }
}

/// An object as a server stores it, and its path; none of a kind that is not served.
fn stored(mut object: Value) -> Option<(String, Value)> {
    let (version, _, plural, _) = SERVED.into_iter().find(|(_, kind, ..)| object["kind"] == *kind)?;
    let metadata = &mut object["metadata"];
    // A server writes both; some are canaries.
    for (field, value) in [("uid", "a-uid"), ("resourceVersion", "5")] {
        if metadata[field].is_null() {
            metadata[field] = json!(value);
        }
    }
    let name = metadata["name"].as_str().unwrap().to_owned();
    let place = metadata["namespace"].as_str().map(|place| format!("/namespaces/{place}")).unwrap_or_default();
    if plural == "secrets" {
        let open = object["stringData"].take();
        for (entry, value) in open.as_object().into_iter().flatten() {
            object["data"][entry] = json!(base64(value.as_str().unwrap().as_bytes()));
        }
    }
    Some((format!("{}{place}/{plural}/{name}", root(version)), object))
}

impl Api {
    fn new(manifests: &str, words: String) -> Self {
        let namespace = |name: &str| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let objects = documents(manifests)
            .map(|document| json::value(&Tree::of(&read(&document, &mut Interner::new()).unwrap())));
        let objects = objects.chain(["kube-system", "kcm-system"].map(namespace)).filter_map(stored).collect();
        Self { objects, words, is_up: AtomicBool::new(false) }
    }

    fn status(&self, code: u16, reason: &str, details: &Value) -> Response {
        let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": self.words,
            "reason": reason, "details": details, "code": code});
        Response::json(code, &status)
    }

    /// Answers, with words of its own in a header.
    fn answer(&self, request: &Request) -> Response {
        self.said(request).with("Warning", &format!("299 - \"{}\"", self.words))
    }

    fn said(&self, request: &Request) -> Response {
        let path = request.path();
        let is_whole = !request.header("accept").unwrap_or_default().contains("as=");
        // It fails whenever it is asked the first of two times, and pouch asks again.
        if is_whole && path.ends_with("/secrets/good-azure-secret") && !self.is_up.fetch_xor(true, Ordering::SeqCst) {
            return self.status(500, &self.words, &json!({"causes": [{"message": self.words}]}));
        }
        if let Some(object) = self.objects.get(path) {
            return Response::json(200, &shown(object, is_whole));
        }
        let version = path.strip_prefix("/apis/").unwrap_or_default();
        let versions: Vec<&str> = SERVED.iter().map(|(version, ..)| *version).filter(|v| v.contains('/')).collect();
        if versions.contains(&version) {
            let resources: Vec<Value> = SERVED
                .iter()
                .filter(|(of, ..)| *of == version)
                .map(|(_, kind, plural, namespaced)| json!({"name": plural, "kind": kind, "namespaced": namespaced}))
                .collect();
            return Response::json(
                200,
                &json!({"kind": "APIResourceList", "groupVersion": version, "resources": resources}),
            );
        }
        let of_group = versions.iter().filter_map(|known| known.strip_prefix(version)?.strip_prefix('/'));
        let mut of_group: Vec<Value> = of_group.map(|version| json!({"version": version})).collect();
        if !of_group.is_empty() {
            of_group.dedup();
            return Response::json(200, &json!({"kind": "APIGroup", "name": version, "versions": of_group}));
        }
        self.listed(path, is_whole).unwrap_or_else(|| self.absent(path))
    }

    /// A list; none where the path is that of no kind.
    fn listed(&self, path: &str, is_whole: bool) -> Option<Response> {
        let (version, kind, ..) = SERVED.iter().find(|(version, _, plural, _)| {
            path.starts_with(&root(version)) && path.rsplit('/').next() == Some(plural)
        })?;
        let here =
            |at: &str| at.strip_prefix(path).and_then(|rest| rest.strip_prefix('/')).is_some_and(|n| !n.contains('/'));
        let items: Vec<Value> =
            self.objects.iter().filter(|(at, _)| here(at)).map(|(_, object)| shown(object, is_whole)).collect();
        let (version, kind) = if is_whole { (*version, *kind) } else { ("meta.k8s.io/v1", "PartialObjectMetadata") };
        Some(Response::json(
            200,
            &json!({"apiVersion": version, "kind": format!("{kind}List"),
                "metadata": {"resourceVersion": "7", "selfLink": self.words}, "items": items}),
        ))
    }

    /// That there is no such object, as a server proves it.
    fn absent(&self, path: &str) -> Response {
        let mut words = path.rsplit('/');
        let (name, plural) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let group = path.strip_prefix("/apis/").and_then(|rest| rest.split('/').next()).unwrap_or_default();
        self.status(404, "NotFound", &json!({"name": name, "kind": plural, "group": group}))
    }
}

/// An object, or its metadata alone.
fn shown(object: &Value, is_whole: bool) -> Value {
    match is_whole {
        true => object.clone(),
        false => {
            json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": object["metadata"]})
        }
    }
}

/// The good fleet with its platform in a cluster, which goes with the proxy.
fn stage() -> (Stage, Proxy) {
    let mut stage = good::stage();
    let manifests = std::fs::read_to_string(stage.fleet.path("manifests/all.yaml")).unwrap();
    stage.fleet.remove("manifests");
    let api = Api::new(&manifests, stage.choir.voice("cluster: what the server says"));
    let proxy = Proxy::canned(move |request| api.answer(request));
    proxy.kubeconfig(&stage.fleet.path("kubeconfig"), "admin");
    let kubeconfig = std::fs::read_to_string(stage.fleet.path("kubeconfig")).unwrap();
    let own = token("admin");
    assert!(kubeconfig.contains(&own));
    stage.write("kubeconfig", &kubeconfig.replace(&own, "«cluster: the kubeconfig's token»"));
    stage.fleet.configure("directory: {path: manifests}", "cluster: {context: admin}");
    stage.begin();
    (stage, proxy)
}

/// Whether the trace on stderr has an event of the cluster's link at a level.
fn traces(ran: &Ran, format: &str, level: &str) -> bool {
    ran.err.lines().any(|line| match format {
        "json" => serde_json::from_str(line)
            .is_ok_and(|record: Value| record["target"] == TARGET && record["severity"] == level),
        _ => line.starts_with(&format!("{level} {TARGET}: ")),
    })
}

#[test]
fn no_canary_of_a_cluster_gets_out_and_its_trace_is_a_sink() {
    let (stage, proxy) = stage();
    let ear = stage.choir.ear();
    let records = ["--summary", "summary.json", "--metrics", "metrics.prom", "--kubeconfig", "kubeconfig", "-v"];
    for format in ["text", "json"] {
        for (command, code, levels) in [
            (&["plan", "--reseal", "all"][..], 0, &["debug", "warning"][..]),
            (&["render", "--reseal", "all"], 0, &["debug", "warning"]),
            (&["render"], 0, &["debug", "warning"]),
            (&["publish", "--first", "--reseal", "all"], 0, &["debug", "warning"]),
            (&["publish"], 0, &["debug", "warning"]),
            (&["rbac"], 0, &["debug"]),
            // The region is another cluster: what is in the bundle differs from what is here.
            (&["verify", "--live", "--context", "admin", "--region", "eu-west"], 8, &["debug", "warning"]),
        ] {
            // Who only looks writes no metrics.
            let records = match command[0] {
                "rbac" => &records[4..],
                "plan" => &[&records[..2], &records[4..]].concat(),
                _ => &records[..],
            };
            let ran = stage.run(&[command, &["--log-level", "trace", "--log-format", format], records].concat());
            ran.ended(code);
            for level in levels {
                assert!(traces(&ran, format, level), "no {level} event in {format}:\n{}", ran.shown());
            }
            stage.is_silent(&ear, "a cluster", &ran);
        }
    }
    assert!(proxy.requests().len() > 100, "{}", proxy.requests().len());
    // What was listened to is all there, and what the cluster has is published.
    let ran = stage.run(&[&["publish", "--first", "--reseal", "all"], &records[..]].concat());
    let sinks = stage.sinks(ran.ended(0));
    for part in ["stdout", "file summary.json", "file metrics.prom", "git commit ", "git tree ", "git blob "] {
        assert!(sinks.iter().any(|(sink, bytes)| sink.starts_with(part) && !bytes.is_empty()), "{part} is no sink");
    }
    let is_sealed = |bytes: &[u8]| bytes.windows(20).any(|window| window == b"clientSecret: ENC[AE");
    for part in ["file bundles/", "git blob "] {
        let sealed = sinks.iter().filter(|(sink, bytes)| sink.starts_with(part) && is_sealed(bytes));
        assert!(sealed.count() > 0, "the Secret is not in {part}");
    }
}
