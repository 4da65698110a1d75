//! ManagedResources on real API servers: templates and data read from one, namespaces and labels of another, which gets what
//! is published; each with the rights that are printed.

use pouch_core::yaml::read;
use serde_json::{Value, json};

use crate::delivered::Delivered;
use crate::rig::apiserver::ApiServer;
use crate::rights::{rules, says};
use crate::support::Sops;
use crate::support::fleet::Fleet;

const GROUP: &str = "automation.kubensync.com";

const HUB: &str = "\
{apiVersion: v1, kind: Namespace, metadata: {name: kcm-system}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: registry}}
---
apiVersion: automation.kubensync.com/v1alpha1
kind: ManagedResource
metadata: {name: pull}
spec:
  namespaceSelector: {labelSelector: {matchLabels: {pull: 'yes'}}}
  template:
    data: [{name: pull, type: Secret, ref: {name: pull, namespace: registry}}]
    literal: |
      apiVersion: v1
      kind: Secret
      metadata:
        name: pull
        namespace: {{ .Namespace.Name }}
      stringData:
        config: '{{ index .Data.pull \"config\" | base64Encode }}'
";

fn source(value: &str) -> String {
    let metadata = json!({"name": "pull", "namespace": "registry"});
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"config": value}}).to_string()
}

fn namespace(name: &str, pull: &str) -> String {
    let metadata = json!({"name": name, "labels": {"pull": pull}});
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}).to_string()
}

/// As KubeNSync's own has it: what is not in the schema is dropped.
fn install(server: &ApiServer, fleet: &Fleet) {
    let text = json!({"type": "string"});
    let labels = json!({"type": "object", "properties": {
        "matchLabels": {"type": "object", "additionalProperties": text}}});
    let fields = ["name", "namespace", "kind", "apiVersion", "group"].map(|field| (field.to_owned(), text.clone()));
    let reference = json!({"type": "object", "properties": Value::Object(fields.into_iter().collect())});
    let datum = json!({"type": "object", "properties": {"name": text, "type": text, "ref": reference}});
    let spec = json!({"type": "object", "properties": {
        "avoidResourceUpdate": {"type": "boolean"},
        "namespaceSelector": {"type": "object", "properties": {"regex": text, "labelSelector": labels}},
        "template": {"type": "object", "properties": {"literal": text, "data": {"type": "array", "items": datum}}},
    }});
    let status = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let schema = json!({"type": "object", "properties": {"spec": spec, "status": status}});
    let version = json!({"name": "v1alpha1", "served": true, "storage": true, "subresources": {"status": {}},
                         "schema": {"openAPIV3Schema": schema}});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("managedresources.{GROUP}")},
        "spec": {"group": GROUP, "scope": "Cluster", "versions": [version],
                 "names": {"kind": "ManagedResource", "plural": "managedresources", "singular": "managedresource",
                           "listKind": "ManagedResourceList"}},
    });
    fleet.write("crds/managedresources.yaml", definition.to_string());
    server.install_files(&[fleet.path("crds/managedresources.yaml")]);
}

/// A fleet beside the cluster that has the template and its data; none, after saying so, without the field's CRDs.
fn installed(hub: &ApiServer) -> Option<Fleet> {
    if !hub.install_crds() {
        return None;
    }
    let fleet = Fleet::new();
    install(hub, &fleet);
    hub.apply(HUB);
    hub.apply(&source("one"));
    Some(fleet)
}

fn path(namespace: &str) -> String {
    format!("bundles/regions/eu/core/secrets/{namespace}/pull.sops.yaml")
}

/// What pouch published for a namespace, opened and applied; gives the value that a server has of it then.
fn applied(fleet: &Fleet, sops: &Sops, to: &ApiServer, namespace: &str) -> String {
    fleet.private("eu.agekey", Delivered::identity());
    let opened = sops.opened(&fleet.path(&path(namespace)), &fleet.path("eu.agekey"));
    to.apply(&String::from_utf8(opened).unwrap());
    let words = ["get", "secret", "pull", "-n", namespace, "-o", "jsonpath={.data.config}"];
    let twice = to.kubectl_prints(words, "");
    let decode = |text: &str| {
        use base64::Engine as _;
        String::from_utf8(base64::engine::general_purpose::STANDARD.decode(text).unwrap()).unwrap()
    };
    decode(&decode(&twice))
}

/// The rights for looking into the region, without those for this verb on namespaces.
fn looking(fleet: &Fleet, without: &str) -> String {
    let printed = fleet.run(&["rbac", "--context=admin", "--region=eu", "--user=pouch"]).stdout;
    let mut items: Vec<Value> = read::documents(&printed).map(|document| read::typed(document.text).unwrap()).collect();
    for rules in items.iter_mut().filter_map(|item| item.get_mut("rules")?.as_array_mut()) {
        rules.retain(|rule| rule["resources"] != json!(["namespaces"]) || rule["verbs"] != json!([without]));
    }
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

#[test]
fn templates_of_a_live_cluster_are_for_the_namespaces_that_a_look_lists() {
    let (Some(hub), Some(region), Some(sops)) = (ApiServer::start(), ApiServer::start(), Sops::find()) else { return };
    let Some(fleet) = installed(&hub) else { return };
    for (name, pull) in [("dev-a", "yes"), ("dev-b", "no"), ("dev-c", "yes")] {
        region.apply(&namespace(name, pull));
    }
    fleet.configure("directory: {path: manifests}", "cluster: {kubeconfig: kubeconfig}");
    hub.kubeconfig(&fleet.path("kubeconfig"), "pouch");
    region.kubeconfig(&fleet.path("region"), "pouch");
    assert!(!fleet.run(&["rbac", "--context=admin", "--user=pouch"]).stdout.contains("managedresources"));
    // What a template takes from one Secret changes in all namespaces at once.
    fleet.configure("reuseKey", "limits: {reseal: {percent: 100}}\nreuseKey");
    fleet.configure("  eu: {", "  eu: {templates: [pull], cluster: {kubeconfig: region, context: pouch}, ");
    region.apply(&looking(&fleet, ""));
    let printed = fleet.run(&["rbac", "--context=admin", "--user=pouch"]).stdout;
    assert!(printed.contains("managedresources") && printed.contains("- pull"), "{printed}");

    hub.apply(&rules(&fleet, ""));
    says(&fleet, 0, "2 claimants resolved, 0 refused, 0 broken").outcome("eu", "published");
    for (name, is_there) in [("dev-a", true), ("dev-b", false), ("dev-c", true)] {
        assert_eq!(fleet.has(&path(name)), is_there, "{name}");
    }
    assert_eq!(applied(&fleet, &sops, &region, "dev-a"), "one");
    fleet.render(&["--context=pouch"]).ends(0).outcome("eu", "unchanged");

    // Only the list names the namespace.
    let told = fleet.run(&["explain", "managedresource", "dev-c/pull", "--context=pouch"]).ends(0).stdout;
    assert!(told.contains("admitted") && !told.contains("deletion-unproved"), "{told}");

    // A Secret that rotates arrives with the next run, and a namespace that is new with it.
    hub.apply(&source("two"));
    region.apply(&namespace("dev-d", "yes"));
    fleet.render(&["--context=pouch"]).ends(0);
    assert!(fleet.has(&path("dev-d")));
    assert_eq!(applied(&fleet, &sops, &region, "dev-a"), "two");
    let before = fleet.tree("bundles");

    // Without the right to list them, nobody knows which templates there are; without that on Secrets, not what is made.
    hub.apply(&rules(&fleet, "managedresources"));
    says(&fleet, 0, "does not allow \"list\" on managedresources");
    assert_eq!(fleet.tree("bundles").get(&path("dev-a")), before.get(&path("dev-a")));
    hub.apply(&rules(&fleet, "secrets"));
    says(&fleet, 3, "does not allow \"get\" on secrets");
    assert_eq!(fleet.tree("bundles").get(&path("dev-a")), before.get(&path("dev-a")));
    hub.apply(&rules(&fleet, ""));
    says(&fleet, 0, "3 claimants resolved, 0 refused, 0 broken");
    assert!(fleet.tree("bundles") == before);

    // A label that goes away takes along what hung on it, and nothing else.
    region.apply(&namespace("dev-a", "no"));
    fleet.render(&["--context=pouch"]).ends(0);
    assert!(!fleet.has(&path("dev-a")) && fleet.has(&path("dev-c")) && fleet.has(&path("dev-d")));

    // Where the region's namespaces may be listed no more, nothing follows from not seeing one.
    let after = fleet.tree("bundles");
    region.apply(&looking(&fleet, "list"));
    says(&fleet, 3, "templates are only for namespaces that somebody names");
    assert_eq!(fleet.tree("bundles").get(&path("dev-c")), after.get(&path("dev-c")));
}

/// What lands on the cluster that is read: it is known before anything is made that nobody else has it there.
#[test]
fn templates_are_for_the_management_cluster_too() {
    let (Some(hub), Some(sops)) = (ApiServer::start(), Sops::find()) else { return };
    let Some(fleet) = installed(&hub) else { return };
    for name in ["dev-a", "dev-b"] {
        hub.apply(&namespace(name, "yes"));
    }
    let other =
        "{apiVersion: v1, kind: Secret, metadata: {name: pull, namespace: dev-b}, stringData: {config: theirs}}";
    hub.apply(other);
    fleet.configure("directory: {path: manifests}", "cluster: {kubeconfig: kubeconfig}");
    hub.kubeconfig(&fleet.path("kubeconfig"), "pouch");
    // What a template takes from one Secret changes in all namespaces at once.
    fleet.configure("reuseKey", "limits: {reseal: {percent: 100}}\nreuseKey");
    fleet.configure("  eu: {", "  eu: {templates: [pull], management: true, ");
    let printed = fleet.run(&["rbac", "--context=admin", "--user=pouch"]).stdout;
    // To see what is in the way of what is made.
    assert!(printed.contains("# For ManagedResource dev-b/pull."), "{printed}");
    hub.apply(&rules(&fleet, ""));
    says(&fleet, 3, "1 claimant resolved, 0 refused, 1 broken").says("error[occupied]");
    assert!(fleet.has(&path("dev-a")) && !fleet.has(&path("dev-b")));
    assert_eq!(applied(&fleet, &sops, &hub, "dev-a"), "one");
    // What pouch put there itself is in nobody's way.
    hub.kubectl_prints(["delete", "secret", "pull", "-n", "dev-b"], "");
    fleet.render(&["--context=pouch"]).ends(0).says("2 claimants resolved, 0 refused, 0 broken");
    assert!(fleet.has(&path("dev-a")) && fleet.has(&path("dev-b")));
    let before = fleet.tree("bundles");
    hub.apply(&source("two"));
    fleet.render(&["--context=pouch"]).ends(0);
    assert_ne!(fleet.tree("bundles"), before);
    assert_eq!(applied(&fleet, &sops, &hub, "dev-a"), "two");
}
