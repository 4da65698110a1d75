//! Tests of `sanitise`.

use super::super::sample::object;
use super::*;
use crate::testing::json_of;
use alloc::string::{String, ToString as _};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

fn sanitised(document: &Value, keep: &[&str], style: Style) -> Value {
    let object = object(document, keep);
    json_of(&sanitise(&object, &object.key, &[], Marks::by(style), None))
}

#[test]
fn a_secret_is_rebuilt() {
    let document = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "aws", "namespace": "kcm-system", "labels": {"team": "a"}},
        "type": "Opaque",
        "immutable": true,
        "data": {"key": "YQ==", "empty": null},
        "stringData": {"key": "b", "other": "c"},
    });
    let expect = json!({
        "apiVersion": "v1",
        "data": {"empty": "", "key": "Yg==", "other": "Yw=="},
        "kind": "Secret",
        "metadata": {
            "annotations": {"kustomize.toolkit.fluxcd.io/force": "enabled"},
            "labels": {"app.kubernetes.io/managed-by": "pouch", "k0rdent.mirantis.com/managed": "false"},
            "name": "aws",
            "namespace": "kcm-system",
        },
        "type": "Opaque",
    });
    assert_eq!(sanitised(&document, &[], Style::Flux), expect);
    let mut plain = expect.clone();
    plain["metadata"].as_object_mut().expect("a map").remove("annotations");
    assert_eq!(sanitised(&document, &[], Style::Plain), plain);
    let argo = sanitised(&document, &["team"], Style::ArgoCd);
    assert_eq!(
        argo["metadata"]["annotations"],
        json!({"argocd.argoproj.io/sync-options": "ServerSideApply=true", "argocd.argoproj.io/sync-wave": "-2"})
    );
    assert_eq!(argo["metadata"]["labels"]["team"], "a");
}

#[test]
fn a_secret_without_entries_says_so() {
    let document = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "namespace": "b"}});
    let value = sanitised(&document, &[], Style::Plain);
    assert_eq!(value["data"], json!({}));
    assert_eq!(value["type"], "Opaque");
}

#[test]
fn config_maps_and_identities_are_rebuilt() {
    let document = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "aws-resource-template", "namespace": "team-a",
            "annotations": {"projectsveltos.io/template": "true", "x": "y"},
        },
        "data": {"t": "{{ .x }}"},
        "binaryData": {"b": "AA=="},
        "immutable": true,
    });
    assert_eq!(
        sanitised(&document, &[], Style::Flux),
        json!({
            "apiVersion": "v1",
            "binaryData": {"b": "AA=="},
            "data": {"t": "{{ .x }}"},
            "kind": "ConfigMap",
            "metadata": {
                "annotations": {"projectsveltos.io/template": "true"},
                "labels": {"app.kubernetes.io/managed-by": "pouch", "k0rdent.mirantis.com/managed": "false"},
                "name": "aws-resource-template",
                "namespace": "team-a",
            },
        })
    );
    let document = json!({
        "apiVersion": "x.io/v1beta2",
        "kind": "Thing",
        "metadata": {"name": "a"},
        "spec": {"n": 1, "b": true, "f": 1.5, "z": null, "list": [{"x": "y"}]},
        "status": {"ready": true},
        "other": 1,
    });
    assert_eq!(
        sanitised(&document, &[], Style::ArgoCd),
        json!({
            "apiVersion": "x.io/v1beta2",
            "kind": "Thing",
            "metadata": {
                "annotations": {"argocd.argoproj.io/sync-options": "SkipDryRunOnMissingResource=true"},
                "labels": {"app.kubernetes.io/managed-by": "pouch", "k0rdent.mirantis.com/managed": "false"},
                "name": "a",
            },
            "spec": {"n": 1, "b": true, "f": 1.5, "list": [{"x": "y"}]},
        })
    );
}

#[test]
fn an_object_lands_where_it_is_told_with_its_edits() {
    let document = json!({
        "apiVersion": "x.io/v1", "kind": "Thing", "metadata": {"name": "a", "namespace": "kcm-system"},
        "spec": {"secretRef": {"name": "s", "namespace": "kcm-system"}, "flat": "x"},
    });
    let object = object(&document, &[]);
    let lands = ObjectKey::new(object.key.kind.clone(), Some("team-a".into()), "b".into());
    let edit = |path: &[&str], text: &str| Edit::Text {
        path: path.iter().map(|key| String::from(*key)).collect(),
        text: text.into(),
    };
    let edits = [
        edit(&["spec", "secretRef", "namespace"], "team-a"),
        edit(&["spec", "absent", "namespace"], "no"),
        edit(&["spec", "flat", "deeper"], "no"),
        edit(&["metadata", "name"], "no"),
        edit(&["new"], "no"),
        edit(&[], "no"),
    ];
    let value = json_of(&sanitise(&object, &lands, &edits, Marks::by(Style::Plain), None));
    assert_eq!(value["spec"], json!({"secretRef": {"name": "s", "namespace": "team-a"}, "flat": "x"}));
    assert_eq!((&value["metadata"]["namespace"], &value["metadata"]["name"]), (&json!("team-a"), &json!("b")));
    assert!(!value.to_string().contains("no\""));
}

#[test]
fn variables_are_kept_from_substitution() {
    const KEY: &str = "kustomize.toolkit.fluxcd.io/substitute";
    let with = |spec: Value| json!({"apiVersion": "x.io/v1", "kind": "Thing", "metadata": {"name": "a", "annotations": {"note": "x"}}, "spec": spec});
    for (spec, disabled) in [
        (json!({"a": "${x}"}), true),
        (json!({"a": ["b", {"c": "d${"}]}), true),
        (json!({"${x}": 1}), true),
        (json!({"a": "$x", "b": "$(x)", "c": "{x}", "d": "$ {"}), false),
    ] {
        let annotation = |style| sanitised(&with(spec.clone()), &[], style)["metadata"]["annotations"][KEY].clone();
        assert_eq!(annotation(Style::Flux) == "disabled", disabled, "{spec}");
        assert_eq!(annotation(Style::ArgoCd), Value::Null);
        assert_eq!(annotation(Style::Plain), Value::Null);
    }
    let mut kept = with(json!({}));
    kept["metadata"]["annotations"]["note"] = json!("${x}");
    assert_eq!(sanitised(&kept, &["note"], Style::Flux)["metadata"]["annotations"][KEY], "disabled");
}

/// S01: only entries get out of a Secret, wherever else somebody put its values.
#[test]
fn a_maximal_secret_leaks_from_no_position() {
    let mut planted = 0;
    let mut canary = || {
        planted += 1;
        format!("CANARY-{planted:03}")
    };
    let mut annotations = serde_json::Map::new();
    let mut labels = serde_json::Map::new();
    for key in [
        "kubectl.kubernetes.io/last-applied-configuration",
        "kubecfg.ksonnet.io/last-applied-configuration",
        "note",
        "kapp.k14s.io/original",
        "objectset.rio.cattle.io/applied",
        "a.b/c",
        "data",
        "stringData",
        "sops",
        "meta.helm.sh/release-name",
        "cluster.x-k8s.io/x",
        "k0rdent.mirantis.com/credential.name",
        "description",
        "projectsveltos.io/template",
        "reloader.example.com/hash",
    ] {
        annotations.insert(key.into(), json!(canary()));
        labels.insert(format!("l.{key}"), json!(canary()));
    }
    annotations.insert(canary(), json!("x"));
    labels.insert(canary(), json!("x"));
    let document = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "aws", "namespace": "kcm-system", "uid": canary(), "resourceVersion": canary(),
            "generateName": canary(), "selfLink": canary(), "creationTimestamp": canary(), "generation": canary(),
            "deletionTimestamp": canary(), "deletionGracePeriodSeconds": canary(), "clusterName": canary(),
            "annotations": annotations, "labels": labels, "unknown": {"deep": [canary(), {"x": canary()}]},
            "finalizers": [canary(), canary()],
            "ownerReferences": [{"apiVersion": canary(), "kind": canary(), "name": canary(), "uid": canary(), "x": canary()}],
            "managedFields": [{
                "manager": canary(), "operation": canary(), "apiVersion": canary(), "time": canary(),
                "fieldsType": canary(), "subresource": canary(),
                "fieldsV1": {"f:data": {canary(): {}, "v:": canary(), "k:{\"x\":1}": canary()}},
            }],
        },
        "type": "Opaque",
        "immutable": canary(),
        "spec": {"x": canary()},
        "status": {"x": canary(), "conditions": [{"message": canary()}]},
        "binaryData": {"x": canary()},
        "items": [canary()],
        "raw": canary(),
        "Data": {"x": canary()},
        "string_data": {"x": canary()},
        "data ": {"x": canary()},
        canary(): "x",
        "webhooks": [canary()],
        "data": {"key": STANDARD.encode("KEPT-1")},
        "stringData": {"other": "KEPT-2"},
    });
    assert!(planted >= 60, "{planted}");
    assert!(document.to_string().contains("CANARY-060"));
    for style in [Style::Plain, Style::Flux, Style::ArgoCd] {
        let out = sanitised(&document, &[], style);
        let text = out.to_string();
        assert!(!text.contains("CANARY"), "{text}");
        assert_eq!(out["data"], json!({"key": STANDARD.encode("KEPT-1"), "other": STANDARD.encode("KEPT-2")}));
    }
    // With the allow-list wide open the same search finds something, or it would prove nothing.
    assert!(sanitised(&document, &["*"], Style::Plain).to_string().contains("CANARY"));
}

/// Labels and annotations that tell appliers, owners and operators what to do.
const CONTROL_KEYS: &[&str] = &[
    "kustomize.toolkit.fluxcd.io/decrypt",
    "kustomize.toolkit.fluxcd.io/prune",
    "kustomize.toolkit.fluxcd.io/reconcile",
    "kustomize.toolkit.fluxcd.io/ssa",
    "kustomize.toolkit.fluxcd.io/name",
    "kustomize.toolkit.fluxcd.io/namespace",
    "kustomize.toolkit.fluxcd.io/checksum",
    "helm.toolkit.fluxcd.io/name",
    "reconcile.fluxcd.io/requestedAt",
    "reconcile.fluxcd.io/watch",
    "argocd.argoproj.io/hook",
    "argocd.argoproj.io/hook-delete-policy",
    "argocd.argoproj.io/compare-options",
    "argocd.argoproj.io/tracking-id",
    "argocd.argoproj.io/installation-id",
    "argocd.argoproj.io/instance",
    "argocd.argoproj.io/managed-by",
    "argocd.argoproj.io/secret-type",
    "argocd.argoproj.io/ignore-resource-updates",
    "app.kubernetes.io/instance",
    "config.kubernetes.io/function",
    "config.kubernetes.io/local-config",
    "config.kubernetes.io/depends-on",
    "internal.config.kubernetes.io/path",
    "config.k8s.io/owning-inventory",
    "kustomize.config.k8s.io/needs-hash",
    "kustomize.config.k8s.io/behavior",
    "internal.config.kubernetes.io/generatorBehavior",
    "meta.helm.sh/release-name",
    "meta.helm.sh/release-namespace",
    "helm.sh/resource-policy",
    "helm.sh/hook",
    "kubectl.kubernetes.io/last-applied-configuration",
    "kubectl.kubernetes.io/restartedAt",
    "cluster.x-k8s.io/cluster-name",
    "cluster.x-k8s.io/paused",
    "cluster.x-k8s.io/managed-by",
    "cluster.x-k8s.io/watch-filter",
    "k0rdent.mirantis.com/credential.name",
    "k0rdent.mirantis.com/component",
    "kapp.k14s.io/app",
    "banzaicloud.com/last-applied",
    "kapp.k14s.io/original",
    "objectset.rio.cattle.io/applied",
    "objectset.rio.cattle.io/hash",
    "replicator.v1.mittwald.de/replicate-to",
    "reflector.v1.k8s.emberstack.com/reflection-allowed",
    "projectsveltos.io/reason",
    "data",
    "stringData",
];

/// S11: nothing in a source steers the consumer of a bundle, not even with `keep: ["*"]`.
#[test]
fn control_keys_never_get_out() {
    assert!(CONTROL_KEYS.len() >= 40);
    let planted: serde_json::Map<String, Value> =
        CONTROL_KEYS.iter().chain(&["kept.example.com/x"]).map(|key| (String::from(*key), json!("planted"))).collect();
    for kind in ["Secret", "ConfigMap"] {
        let document = json!({
            "apiVersion": "v1", "kind": kind,
            "metadata": {"name": "a", "namespace": "b", "annotations": planted, "labels": planted},
        });
        for style in [Style::Plain, Style::Flux, Style::ArgoCd] {
            assert!(!sanitised(&document, &[], style).to_string().contains("planted"));
            let value = sanitised(&document, &["*"], style);
            for field in ["annotations", "labels"] {
                assert_eq!(value["metadata"][field]["kept.example.com/x"], "planted");
                for key in CONTROL_KEYS {
                    assert_ne!(value["metadata"][field][*key], "planted", "{field} {key}");
                }
            }
        }
    }
}

#[test]
fn our_own_labels_win() {
    let document = json!({
        "apiVersion": "x.io/v1", "kind": "Thing",
        "metadata": {"name": "a", "labels": {
            "k0rdent.mirantis.com/managed": "true", "app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/name": "n",
        }},
    });
    assert_eq!(
        sanitised(&document, &["*"], Style::Flux)["metadata"]["labels"],
        json!({
            "k0rdent.mirantis.com/managed": "false", "app.kubernetes.io/managed-by": "pouch", "app.kubernetes.io/name": "n",
        })
    );
}

#[test]
fn what_steers_a_kind_is_known_without_an_object() {
    let secret = GroupKind::new("", "Secret");
    let keys = |style, open| steering(&secret, style, open).into_iter().map(|(key, _)| key).collect::<Vec<_>>();
    assert_eq!(keys(Style::Plain, true), [""; 0]);
    assert_eq!(keys(Style::Flux, false), ["kustomize.toolkit.fluxcd.io/force"]);
    assert_eq!(
        keys(Style::Flux, true),
        ["kustomize.toolkit.fluxcd.io/force", "kustomize.toolkit.fluxcd.io/substitute"]
    );
    assert_eq!(keys(Style::ArgoCd, false), ["argocd.argoproj.io/sync-options", "argocd.argoproj.io/sync-wave"]);
}

/// Of an identity that is open to all, by an empty map in whatever spelling, what is published has no empty map in it.
#[test]
fn who_admits_everybody_says_so_in_a_way_that_can_be_applied_over_anything() {
    let published = |kind: &str, tenancy: Tenancy, allowed: &str| {
        let text = format!(
            "{{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: {kind}, metadata: {{name: a, namespace: b}}, \
             spec: {{allowedNamespaces: {allowed}}}}}"
        );
        let object = crate::testing::object(&text);
        let tree = sanitise(&object, &object.key, &[], Marks::by(Style::Plain), Some(tenancy));
        json_of(&tree)["spec"]["allowedNamespaces"].take()
    };
    let every =
        json!({"selector": {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "Exists"}]}});
    let (aws, azure, vsphere) = ("AWSClusterStaticIdentity", "AzureClusterIdentity", "VSphereClusterIdentity");
    for (kind, tenancy, allowed) in [
        (aws, Tenancy::Aws, "{}"),
        (aws, Tenancy::Aws, "{selector: {}}"),
        (aws, Tenancy::Aws, "{list: null, selector: {}}"),
        ("AWSClusterRoleIdentity", Tenancy::Aws, "{}"),
        (azure, Tenancy::Azure, "{}"),
        ("OCIClusterIdentity", Tenancy::Azure, "{}"),
        (vsphere, Tenancy::Vsphere, "{selector: {}}"),
        (vsphere, Tenancy::Vsphere, "{selector: {matchLabels: {}}}"),
        ("AcmeIdentity", Tenancy::Azure, "{}"),
    ] {
        assert_eq!(published(kind, tenancy, allowed), every, "{kind} {allowed}");
    }
    for (kind, tenancy, allowed) in [
        (aws, Tenancy::Aws, json!({"list": ["a"]})),
        (aws, Tenancy::Aws, json!({"selector": {"matchLabels": {"a": "b"}}})),
        // These mean nobody.
        (azure, Tenancy::Azure, json!({"selector": {}})),
        (aws, Tenancy::Aws, json!({"list": []})),
        // Its spec cannot change, and the provider writes it so.
        ("AWSClusterControllerIdentity", Tenancy::Aws, json!({})),
        ("AcmeIdentity", Tenancy::All, json!({})),
    ] {
        assert_eq!(published(kind, tenancy, &allowed.to_string()), allowed, "{kind} {allowed}");
    }
}
