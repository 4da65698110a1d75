//! What the neighbours' kinds look like in a history: ResourceSyncRules, ManagedResources, ClusterResourceSets and groups of
//! guests, as a platform has them for everybody.

extern crate std;

use alloc::string::{String, ToString as _};

use serde_json::{Value, json};

/// The namespaces that groups deliver for, and that templates may be rendered for.
pub(super) const NAMESPACES: [&str; 4] = ["team-a", "team-b", "team-c", "hostile"];

/// What marks objects for a rule.
pub(super) const MARKS: [&str; 3] = ["take", "rename", "deliver"];

/// The configuration's part: rules, templates, sets and a group for all tenants. `selected` are the namespaces with the
/// label that templates ask for; with `lent`, what tenants mark for the group goes to the guests of all.
pub(super) fn lay(config: &mut Value, selected: &[&str], lent: bool) {
    let label = |name: &&str| {
        let is_selected = if selected.contains(name) { "yes" } else { "no" };
        ((*name).to_string(), json!({"made": is_selected}))
    };
    let labels: serde_json::Map<String, Value> = NAMESPACES.iter().map(label).collect();
    // What tenants mark for these two goes to their own namespaces.
    let rules = MARKS.iter().filter(|mark| lent || **mark != "deliver");
    config["grants"] = rules.map(|rule| json!({"from": {"syncRule": rule}, "regions": ["eu"]})).collect();
    let region = &mut config["regions"]["eu"];
    region["syncRules"] = json!(["take", "rename"]);
    region["templates"] = json!(["*"]);
    region["resourceSets"] = json!(["*/*"]);
    region["namespaces"] = json!({"allowed": ["*"], "labels": labels});
    let objects = json!([
        {"kind": "Secret", "namespace": "kcm-system", "name": "lent", "to": {"namespace": "default"}},
        {"syncRule": "deliver"},
        {"template": "made"},
    ]);
    let selector = json!({"matchLabels": {"guest": "yes"}});
    config["guests"] = json!({
        "g": {"region": "eu", "namespaces": NAMESPACES, "clusterSelector": selector, "objects": objects},
    });
}

/// A rule that takes the Secrets with a mark; `broken` has it ask for nothing.
pub(super) fn rule(mark: &str, broken: bool, added: usize) -> Value {
    let entry = if broken { json!({}) } else { json!({"labels": [{"matchLabels": {mark: "yes"}}]}) };
    let name =
        json!({"type": "replace", "path": "/metadata/name", "value": "{{ printf \"copy-%s\" .Object.GetName }}"});
    let mut mutations = json!({"labels": {"add": {"added": format!("n{added}")}}});
    if mark == "rename" {
        mutations["overrides"] = json!([name]);
    }
    json!({"apiVersion": "clusterregistry.k8s.cisco.com/v1alpha1", "kind": "ResourceSyncRule", "metadata": {"name": mark},
           "spec": {"groupVersionKind": {"version": "v1", "kind": "Secret"},
                    "rules": [{"match": [entry], "mutations": mutations}]}})
}

/// A template that makes a Secret, and a ConfigMap that says `word`, for every namespace that is selected; a mistyped
/// function breaks it.
pub(super) fn template(name: &str, word: usize, broken: bool) -> Value {
    let function = if broken { "base46Encode" } else { "base64Encode" };
    let literal = format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}}}\n\
         data: {{key: '{{{{ index .Data.s \"key\" | {function} }}}}'}}\n---\n\
         apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}-words}}\ndata: {{word: 'n{word}'}}\n"
    );
    let data = json!([{"name": "s", "type": "Secret", "ref": {"name": "shared", "namespace": "kcm-system"}}]);
    json!({"apiVersion": "automation.kubensync.com/v1alpha1", "kind": "ManagedResource", "metadata": {"name": name},
           "spec": {"namespaceSelector": {"labelSelector": {"matchLabels": {"made": "yes"}}},
                    "template": {"data": data, "literal": literal}}})
}

/// A set, and the Secret that is its payload.
pub(super) fn resource_set(namespace: &str, name: &str, payload: &str, value: usize) -> [Value; 2] {
    let manifest = format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: {payload}, namespace: default}}\nstringData: {{key: value {value}}}\n"
    );
    [
        json!({"apiVersion": "addons.cluster.x-k8s.io/v1beta2", "kind": "ClusterResourceSet",
               "metadata": {"name": name, "namespace": namespace},
               "spec": {"clusterSelector": {"matchLabels": {"guest": "yes"}}, "strategy": "Reconcile",
                        "resources": [{"kind": "Secret", "name": payload}]}}),
        json!({"apiVersion": "v1", "kind": "Secret", "type": "addons.cluster.x-k8s.io/resource-set",
               "metadata": {"name": payload, "namespace": namespace}, "stringData": {"payload.yaml": manifest}}),
    ]
}

/// A Namespace with the label by which templates select.
pub(super) fn namespace(name: &str, made: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"made": made}}})
}
