//! The tables against the providers' CRDs, tenancy against its case files, and hostile objects.

extern crate std;

use super::*;
use crate::name::Scope;
use crate::object::Object;
use crate::testing::{node, object, shared, yaml};
use crate::validity::identity::check;
use alloc::collections::BTreeSet;
use alloc::string::ToString as _;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

fn identity(rules: &KindRules, name: &str, spec: &str) -> Object {
    let version = rules.versions[0].version;
    object(&format!(
        "apiVersion: {}/{version}\nkind: {}\nmetadata: {{name: '{name}', namespace: ns}}\nspec: {spec}\n",
        rules.group, rules.kind
    ))
}

#[track_caller]
fn check_spec(rules: &KindRules, spec: &str, expect: &[(&str, &str)]) {
    let faults = check(rules, &identity(rules, rules.singleton.unwrap_or("x"), spec));
    let said: Vec<(&str, &str)> = faults.iter().map(|fault| (&*fault.message, &*fault.help)).collect();
    assert_eq!(said, expect, "{spec}");
    assert!(faults.iter().all(|fault| fault.code == Code::InvalidObject));
}

/// A shape as a CRD's schema would say it.
fn as_schema(shape: &Shape) -> Value {
    match shape {
        Shape::Any => serde_json::json!({"x-kubernetes-preserve-unknown-fields": true}),
        Shape::Text { least, most } => {
            let mut schema = serde_json::json!({"type": "string"});
            if *least > 0 {
                schema["minLength"] = (*least).into();
            }
            if let Some(most) = most {
                schema["maxLength"] = (*most).into();
            }
            schema
        }
        Shape::OneOf(words) => serde_json::json!({"type": "string", "enum": words}),
        Shape::Int { least, most } => serde_json::json!({"type": "integer", "minimum": least, "maximum": most}),
        Shape::TextMap => serde_json::json!({"type": "object", "additionalProperties": {"type": "string"}}),
        Shape::List(inner) => serde_json::json!({"type": "array", "items": as_schema(inner)}),
        Shape::Map(fields) => {
            let properties: serde_json::Map<String, Value> =
                fields.iter().map(|field| (field.name.to_string(), as_schema(&field.shape))).collect();
            let mut schema = serde_json::json!({"type": "object", "properties": properties});
            let required: Vec<&str> = fields.iter().filter(|field| field.required).map(|field| field.name).collect();
            if !required.is_empty() {
                schema["required"] = serde_json::json!(required);
            }
            schema
        }
    }
}

/// A CRD's schema without what does not decide whether an object is taken.
fn bare(schema: &Value) -> Value {
    let Value::Object(map) = schema else { return schema.clone() };
    let noise = ["description", "nullable", "format", "x-kubernetes-list-type", "x-kubernetes-map-type"];
    let kept = map.iter().filter(|(key, _)| !noise.contains(&key.as_str()));
    let inner = |key: &str, value: &Value| match (key, value) {
        ("properties", Value::Object(fields)) => {
            Value::Object(fields.iter().map(|(name, field)| (name.clone(), bare(field))).collect())
        }
        ("items" | "additionalProperties", value) => bare(value),
        (_, value) => value.clone(),
    };
    Value::Object(kept.map(|(key, value)| (key.clone(), inner(key, value))).collect())
}

#[test]
fn the_tables_are_what_the_crds_say() {
    let Some(folder) = shared("data/crds/identities") else { return };
    let mut seen = BTreeSet::new();
    for file in fs::read_dir(folder).unwrap() {
        let crd = yaml(&fs::read_to_string(file.unwrap().path()).unwrap());
        let spec = &crd["spec"];
        let text = |value: &Value| value.as_str().unwrap().to_string();
        let kind = text(&spec["names"]["kind"]);
        let rules = rules(&GroupKind::new(&text(&spec["group"]), &kind)).unwrap();
        let scope = if rules.scope == Scope::Cluster { "Cluster" } else { "Namespaced" };
        assert_eq!(spec["scope"], scope, "{kind}");

        let served: Vec<&Value> = spec["versions"].as_array().unwrap().iter().filter(|v| v["served"] == true).collect();
        let mut theirs: Vec<Version> = served.iter().map(|version| text(&version["name"]).as_str().into()).collect();
        theirs.sort_by(|a, b| crate::k0rdent::provider_interface::version_priority(b, a));
        let ours: Vec<Version> = rules.versions.iter().map(|served| served.version.into()).collect();
        assert_eq!(ours, theirs, "{kind}: served versions, newest first");

        for version in served {
            let schema = &version["schema"]["openAPIV3Schema"]["properties"]["spec"];
            let (mut theirs, ours) = (bare(schema), as_schema(&Shape::Map(rules.spec)));
            if kind == "VSphereClusterIdentity" && version["name"] == "v1beta1" {
                // The older version is laxer in these two, and in nothing else.
                assert!(theirs.get("required").is_none());
                theirs["required"] = serde_json::json!(["secretName"]);
                theirs["properties"]["secretName"]["maxLength"] = 253.into();
            }
            assert_eq!(ours, theirs, "{kind} {}", version["name"]);
        }
        seen.insert(kind);
    }
    assert_eq!(seen, all().map(|rules| rules.kind.to_string()).collect());
}

#[test]
fn kinds_are_found_by_group_and_kind() {
    assert_eq!(all().count(), 7);
    for known in all() {
        let found = rules(&GroupKind::new(known.group, known.kind)).unwrap();
        assert_eq!(found.kind, known.kind);
    }
    assert!(rules(&GroupKind::new("", "AWSClusterStaticIdentity")).is_none());
    assert!(rules(&GroupKind::new(GROUP, "awsclusterstaticidentity")).is_none());
    assert!(rules(&GroupKind::new(GROUP, "AWSCluster")).is_none());
}

#[test]
fn versions_are_served_by_release() {
    for (rules, version, minor, expect) in [
        (&aws::STATIC, "v1beta2", Some(5), true),
        (&aws::STATIC, "v1beta1", Some(5), false),
        (&aws::ROLE, "v1beta1", None, false),
        (&azure::IDENTITY, "v1beta1", Some(12), true),
        (&vsphere::IDENTITY, "v1beta1", Some(5), true),
        (&vsphere::IDENTITY, "v1beta2", Some(9), false),
        (&vsphere::IDENTITY, "v1beta2", Some(10), true),
        (&vsphere::IDENTITY, "v1beta2", None, true),
        (&openstack::IDENTITY, "v1beta1", None, false),
        (&oci::IDENTITY, "v1beta2", None, true),
    ] {
        let release = minor.map(|minor| Release { minor });
        assert_eq!(served(rules, &version.into(), release), expect, "{} {version} {minor:?}", rules.kind);
    }
}

#[test]
fn good_identities_have_no_faults() {
    for (rules, spec) in [
        (&aws::STATIC, "{secretRef: s, allowedNamespaces: {}}"),
        (&aws::STATIC, "{secretRef: s, allowedNamespaces: {list: null, selector: {matchLabels: {a: b}}}}"),
        (
            &aws::ROLE,
            "{roleARN: a, durationSeconds: 900, policyARNs: [a], \
             sourceIdentityRef: {kind: AWSClusterStaticIdentity, name: s}}",
        ),
        (&aws::CONTROLLER, "{}"),
        (&aws::CONTROLLER, "null"),
        (&azure::IDENTITY, "{type: WorkloadIdentity, clientID: c, tenantID: t}"),
        (
            &azure::IDENTITY,
            "{type: ServicePrincipal, clientID: c, tenantID: t, clientSecret: {name: s, namespace: ns}}",
        ),
        (&openstack::IDENTITY, "{secretRef: {name: s, namespace: ns}, namespaceSelector: {}}"),
        (&oci::IDENTITY, "{type: Workload}"),
        (
            &vsphere::IDENTITY,
            "{secretName: s, allowedNamespaces: {selector: {matchExpressions: [{key: a, operator: Exists}]}}}",
        ),
    ] {
        check_spec(rules, spec, &[]);
    }
}

const FILL: &str = "Fill it in.";
const MAP: &str = "Write it as a map; after a colon YAML wants a space.";
const QUOTE: &str = "Quote the value, so that YAML reads it as text.";

#[test]
fn unknown_fields_come_with_the_nearest_name() {
    // As a published example of such an identity has it.
    check_spec(
        &aws::ROLE,
        "{roleARN: a, sourceidentityRef: {kind: AWSClusterStaticIdentity, name: s}}",
        &[
            ("spec has no field \"sourceidentityRef\" in AWSClusterRoleIdentity", "Did you mean sourceIdentityRef?"),
            ("spec.sourceIdentityRef is missing", FILL),
        ],
    );
    check_spec(
        &vsphere::IDENTITY,
        "{secretName: s, allowedNamespaces: {list: [a]}}",
        &[(
            "spec.allowedNamespaces has no field \"list\" in VSphereClusterIdentity",
            "Remove it; spec.allowedNamespaces has selector.",
        )],
    );
    check_spec(
        &azure::IDENTITY,
        "{type: WorkloadIdentity, clientId: c, clientID: c, tenantID: t, clientSecret: {nmae: s}}",
        &[
            ("spec has no field \"clientId\" in AzureClusterIdentity", "Did you mean clientID?"),
            ("spec.clientSecret has no field \"nmae\" in AzureClusterIdentity", "Did you mean name?"),
        ],
    );
    check_spec(
        &aws::STATIC,
        "{secretRef: s, \"a\\nb\\e[31m\": 1}",
        &[(
            "spec has no field \"a\\nb\\u{1b}[31m\" in AWSClusterStaticIdentity",
            "Remove it; spec has allowedNamespaces, secretRef.",
        )],
    );
}

#[test]
fn wrong_types_are_said_without_the_value() {
    let scalar = "{secretRef: s, allowedNamespaces: '{}'}";
    check_spec(&aws::STATIC, scalar, &[("spec.allowedNamespaces is text, not a map", MAP)]);
    check_spec(&aws::STATIC, "'allowedNamespaces:{}'", &[("spec is text, not a map", MAP)]);
    check_spec(&aws::STATIC, "{secretRef: {name: s}}", &[("spec.secretRef is a map, not text", QUOTE)]);
    check_spec(&aws::STATIC, "{secretRef: 1234}", &[("spec.secretRef is an integer, not text", QUOTE)]);
    check_spec(
        &aws::STATIC,
        "{secretRef: s, allowedNamespaces: {list: [a, 7, null]}}",
        &[
            ("spec.allowedNamespaces.list[1] is an integer, not text", QUOTE),
            ("spec.allowedNamespaces.list[2] is null, not text", QUOTE),
        ],
    );
    check_spec(
        &vsphere::IDENTITY,
        "{secretName: s, allowedNamespaces: {selector: {matchLabels: {a: true}}}}",
        &[("key \"a\" of spec.allowedNamespaces.selector.matchLabels is a boolean, not text", QUOTE)],
    );
    for (text, expect) in [
        ("899", "spec.durationSeconds is not between 900 and 43200"),
        ("18446744073709551615", "spec.durationSeconds is not between 900 and 43200"),
        ("900.5", "spec.durationSeconds is a number, not an integer"),
        ("'900'", "spec.durationSeconds is text, not an integer"),
    ] {
        let source = "sourceIdentityRef: {kind: AWSClusterRoleIdentity, name: s}";
        let spec = format!("{{roleARN: a, durationSeconds: {text}, {source}}}");
        let faults = check(&aws::ROLE, &identity(&aws::ROLE, "x", &spec));
        assert_eq!(faults.iter().map(|fault| &*fault.message).collect::<Vec<_>>(), [expect]);
    }
}

#[test]
fn missing_fields_and_foreign_words_are_said() {
    for nothing in ["{}", "null", "{secretRef: null}"] {
        check_spec(&aws::STATIC, nothing, &[("spec.secretRef is missing", FILL)]);
    }
    check_spec(&vsphere::IDENTITY, "{secretName: ''}", &[("spec.secretName is empty", FILL)]);
    check_spec(
        &azure::IDENTITY,
        "{type: hunter2, clientID: c, tenantID: t}",
        &[(
            "spec.type is not one of ServicePrincipal, UserAssignedMSI, ManualServicePrincipal, \
             ServicePrincipalCertificate, WorkloadIdentity, UserAssignedIdentityCredential",
            "Write one of them.",
        )],
    );
    check_spec(
        &aws::ROLE,
        "{roleARN: a, sourceIdentityRef: {kind: AwsClusterStaticIdentity, name: ''}}",
        &[
            (
                "spec.sourceIdentityRef.kind is not one of AWSClusterControllerIdentity, AWSClusterRoleIdentity, \
                 AWSClusterStaticIdentity",
                "Did you mean AWSClusterStaticIdentity?",
            ),
            ("spec.sourceIdentityRef.name is empty", FILL),
        ],
    );
    check_spec(
        &aws::STATIC,
        "{secretRef: s, allowedNamespaces: {selector: {matchExpressions: [{key: a, operator: Is, values: [b]}]}}}",
        &[(
            "spec.allowedNamespaces.selector is none that Kubernetes takes: \
             the operator is none of In, NotIn, Exists and DoesNotExist",
            "Write it as a label selector.",
        )],
    );
}

#[test]
fn names_and_singletons_are_held_to() {
    let messages = |rules: &KindRules, name: &str, spec: &str| {
        check(rules, &identity(rules, name, spec)).into_iter().map(|fault| fault.message).collect::<Vec<_>>()
    };
    assert_eq!(
        messages(&aws::CONTROLLER, "other", "{}"),
        ["the only AWSClusterControllerIdentity that can exist is called \"default\""]
    );
    assert_eq!(messages(&aws::STATIC, "../x", "{secretRef: s}"), ["metadata.name is not a DNS-1123 subdomain"]);
}

#[test]
fn a_hostile_object_is_reported_a_bounded_number_of_times() {
    let mut object = identity(&aws::STATIC, "x", "{}");
    let mut fields: Vec<(crate::node::Key, Node)> =
        (0..5_000).map(|i| (format!("x{i}").as_str().into(), Node::Null)).collect();
    fields.push(("a".repeat(100_000).as_str().into(), Node::Null));
    object.body = Node::map(vec![("spec".into(), Node::map(fields))]);
    let faults = check(&aws::STATIC, &object);
    assert_eq!(faults.len(), 16);
    assert!(faults.iter().all(|fault| fault.message.len() < 200));
}

#[test]
fn references_are_needed_where_the_provider_looks_at_them() {
    use Need::{Needed, Optional, Unused};
    let azure_name: &[&str] = &["spec", "clientSecret", "name"];
    let cases: [(&KindRules, &str, &[&str], Need); 16] = [
        (&azure::IDENTITY, "{type: ServicePrincipal}", azure_name, Needed),
        (&azure::IDENTITY, "{type: ManualServicePrincipal}", &["spec", "clientSecret", "namespace"], Needed),
        (&azure::IDENTITY, "{type: ServicePrincipalCertificate}", azure_name, Needed),
        (&azure::IDENTITY, "{type: ServicePrincipalCertificate, certPath: /c}", azure_name, Optional),
        (&azure::IDENTITY, "{type: WorkloadIdentity, clientSecret: {name: s}}", azure_name, Unused),
        (&azure::IDENTITY, "{type: UserAssignedMSI}", azure_name, Unused),
        (&azure::IDENTITY, "{}", azure_name, Unused),
        (&oci::IDENTITY, "{type: UserPrincipal}", &["spec", "principalSecret", "name"], Needed),
        (&oci::IDENTITY, "{type: Workload}", &["spec", "principalSecret", "name"], Unused),
        (&aws::STATIC, "{}", &["spec", "secretRef"], Needed),
        (&aws::ROLE, "{}", &["spec", "sourceIdentityRef", "name"], Needed),
        (&aws::ROLE, "{}", &["spec", "sessionName"], Optional),
        (&aws::ROLE, "{}", &["status", "x"], Optional),
        (&vsphere::IDENTITY, "{}", &["spec", "secretName"], Needed),
        (&vsphere::IDENTITY, "{}", &["spec", "secretName", "deeper"], Optional),
        (&openstack::IDENTITY, "{}", &["spec", "secretRef", "namespace"], Needed),
    ];
    for (rules, spec, path, expect) in cases {
        assert_eq!(need(rules, &identity(rules, "x", spec).body, path), expect, "{} {spec} {path:?}", rules.kind);
    }
}

#[test]
fn immutable_fields_are_compared_with_the_published_ones() {
    for (rules, old, new, expect) in [
        (&aws::STATIC, "{secretRef: a}", "{secretRef: a, allowedNamespaces: {}}", None),
        (&aws::STATIC, "{secretRef: a}", "{secretRef: b}", Some("spec.secretRef")),
        (&aws::CONTROLLER, "{allowedNamespaces: {}}", "{allowedNamespaces: {list: null}}", None),
        (&aws::CONTROLLER, "{allowedNamespaces: {}}", "{}", Some("spec")),
        (&aws::CONTROLLER, "{allowedNamespaces: {}}", "{allowedNamespaces: {list: []}}", Some("spec")),
        (&azure::IDENTITY, "{type: ServicePrincipal}", "{type: WorkloadIdentity}", Some("spec.type")),
        (&azure::IDENTITY, "{type: ServicePrincipal, clientID: a}", "{type: ServicePrincipal, clientID: b}", None),
        (&vsphere::IDENTITY, "{secretName: a}", "{secretName: b}", None),
    ] {
        let faults = immutable_changes(rules, &identity(rules, "x", old).body, &identity(rules, "x", new).body);
        let expect = expect.map(|path| format!("{path} of {} cannot change once the object exists", rules.kind));
        let said: Vec<String> = faults.iter().map(|fault| fault.message.clone()).collect();
        assert_eq!(said, Vec::from_iter(expect), "{old} → {new}");
        assert!(faults.iter().all(|fault| fault.code == Code::ImmutableField));
    }
}

/// Rows of the truth table for providers with `allowedNamespaces`; each must have a case for every row.
const ROWS: [&str; 12] = [
    "absent",
    "null",
    "empty",
    "both-null",
    "selector-empty",
    "list-null-selector-empty",
    "match-labels-empty",
    "list-empty",
    "list-hit",
    "list-miss",
    "list-or-selector",
    "list-and-selector-miss",
];

/// OpenStack has a selector alone.
const OPENSTACK_ROWS: [&str; 5] = ["absent", "null", "empty", "both-null", "match-labels-empty"];

#[test]
fn every_case_of_tenancy_is_decided_as_the_provider_would() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/cases/tenancy");
    let mut names = BTreeSet::new();
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_string();
        let case = yaml(&fs::read_to_string(&path).unwrap());
        let provider = case["provider"].as_str().unwrap();
        let tenancy = match provider {
            "aws" => Tenancy::Aws,
            "azure" => Tenancy::Azure,
            "openstack" => Tenancy::Openstack,
            "vsphere" => Tenancy::Vsphere,
            other => panic!("{name}: {other}"),
        };
        assert!(name.starts_with(provider), "{name}");
        let spec = case.get("spec").map(node);
        let labels: Option<BTreeMap<String, String>> = case.get("labels").map(|labels| {
            let text = |value: &Value| value.as_str().unwrap().to_string();
            labels.as_object().unwrap().iter().map(|(key, value)| (key.clone(), text(value))).collect()
        });
        let said = admits(tenancy, spec.as_ref(), &case["namespace"].as_str().unwrap().into(), labels.as_ref());
        let word = match said {
            Admits::Yes => "yes",
            Admits::No => "no",
            Admits::Unknown(why) => {
                assert!(!why.is_empty() && !why.ends_with('.'));
                "unknown"
            }
        };
        assert_eq!(case["expect"], word, "{name}: {said:?}");
        names.insert(name);
    }
    let cells = [("aws", &ROWS[..]), ("azure", &ROWS), ("vsphere", &ROWS), ("openstack", &OPENSTACK_ROWS)];
    for (provider, row) in cells.iter().flat_map(|(provider, rows)| rows.iter().map(move |row| (provider, row))) {
        assert!(names.contains(&format!("{provider}-{row}")), "{provider}-{row} has no case");
    }
    assert_eq!(names.len(), COUNT);
}

/// How many case files there are, so that none gets lost.
const COUNT: usize = 74;

#[test]
fn kinds_without_a_meaning_of_their_own_admit_nobody_or_everybody() {
    let spec = node(&yaml("{allowedNamespaces: {}}"));
    assert_eq!(admits(Tenancy::None, Some(&spec), &"a".into(), None), Admits::No);
    assert_eq!(admits(Tenancy::All, None, &"a".into(), None), Admits::Yes);
}

#[test]
fn everybody_is_admitted_only_where_nothing_leaves_anybody_out() {
    use Tenancy::{All, Aws, Azure, None as Nobody, Openstack, Vsphere};
    for (tenancy, spec, expect) in [
        (Aws, "{}", false),
        (Aws, "{allowedNamespaces: {}}", true),
        (Aws, "{allowedNamespaces: {selector: {}}}", true),
        (Aws, "{allowedNamespaces: {selector: {matchLabels: {}}}}", false),
        (Aws, "{allowedNamespaces: {list: ['*']}}", false),
        (Azure, "{allowedNamespaces: {}}", true),
        (Azure, "{allowedNamespaces: {selector: {}}}", false),
        (Azure, "{allowedNamespaces: {list: []}}", false),
        (Vsphere, "{allowedNamespaces: {selector: {matchLabels: {}}}}", true),
        (Vsphere, "{allowedNamespaces: {list: [a]}}", false),
        (Openstack, "{secretRef: {name: a, namespace: b}}", true),
        (Openstack, "{namespaceSelector: {}}", true),
        (Openstack, "{namespaceSelector: {matchExpressions: [{key: a, operator: DoesNotExist}]}}", false),
        (Openstack, "{namespaceSelektor: {matchLabels: {a: b}}}", false),
        (Aws, "{allowedNamespaces: {selector: {matchExpressions: [{key: a, operator: DoesNotExist}]}}}", false),
        (Nobody, "{allowedNamespaces: {}}", false),
        (All, "{}", true),
        // As pouch publishes what is open to all; another requirement beside it leaves somebody out.
        (
            Aws,
            "{allowedNamespaces: {selector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: Exists}]}}}",
            true,
        ),
        (
            Aws,
            "{allowedNamespaces: {selector: {matchLabels: {a: b}, matchExpressions: [{key: kubernetes.io/metadata.name, \
             operator: Exists}]}}}",
            false,
        ),
        (Aws, "{allowedNamespaces: {selector: {matchExpressions: [{key: a, operator: Exists}]}}}", false),
    ] {
        assert_eq!(admits_everybody(tenancy, Some(&node(&yaml(spec)))), expect, "{tenancy:?} {spec}");
    }
    assert!(!admits_everybody(Aws, Option::None));
}

#[test]
fn what_is_no_secret_is_told_by_the_entries_beside_it() {
    for (names, open) in [
        (&["username", "password"][..], &["username"][..]),
        (&["username"], &[]),
        (&["username", "token"], &[]),
        (&["AccessKeyID", "SecretAccessKey", "SessionToken"], &["AccessKeyID"]),
        (&["clouds.yaml", "cacert"], &["cacert"]),
        (&["cacert"], &[]),
        (&["clientSecret", "username"], &[]),
        (
            &["tenancy", "user", "fingerprint", "key", "region", "passphrase"],
            &["tenancy", "user", "fingerprint", "region"],
        ),
        (&["tenancy", "user", "key", "region"], &[]),
    ] {
        let all: BTreeSet<&str> = names.iter().copied().collect();
        let found: Vec<&str> = names.iter().copied().filter(|name| is_open_entry(name, &all)).collect();
        assert_eq!(found, open, "{names:?}");
    }
    // Something secret is always left.
    for row in all().flat_map(|rules| rules.entries) {
        assert!(row.names.iter().any(|name| !row.open.contains(name)), "{row:?}");
    }
}
