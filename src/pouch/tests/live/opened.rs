//! Identities that are opened to everybody, and shut again, whoever applies them.

use serde_json::{Value, json};

use crate::delivered::{Delivered, aws, azure, oci, role, vsphere};
use crate::objects::{SYSTEM, TENANT, path};

/// One identity of each kind that has `allowedNamespaces`, with what it needs.
fn all(allowed: impl Fn(&Value) -> Value) -> Vec<Value> {
    let all =
        [aws("aws", 1), role("role", "aws"), azure("azure", "azure-secret", 1), oci("oci", 1), vsphere("vsphere", 1)];
    let mut objects = all.concat();
    for object in objects.iter_mut().filter(|object| !object["spec"]["allowedNamespaces"].is_null()) {
        object["spec"]["allowedNamespaces"] = allowed(object);
    }
    objects
}

/// What stands in `allowedNamespaces` of an identity.
type Allows<'a> = &'a dyn Fn(&Value) -> Value;

/// After one sync the live object admits whom the source admits: server-side apply makes `null` of an empty map over a
/// list or a selector, and that is nobody, or refused for ever.
pub fn opened_and_shut(region: &mut Delivered, sync: &dyn Fn(&Delivered)) {
    let some = |object: &Value| match object["kind"].as_str() {
        Some("VSphereClusterIdentity") => json!({"selector": {"matchLabels": {"kubernetes.io/metadata.name": TENANT}}}),
        _ => json!({"list": [TENANT, SYSTEM]}),
    };
    let selected = |_: &Value| json!({"selector": {"matchLabels": {"kubernetes.io/metadata.name": TENANT}}});
    // As every provider's documentation writes it; CAPV wants the selector.
    let everybody = |object: &Value| match object["kind"].as_str() {
        Some("VSphereClusterIdentity") => json!({"selector": {"matchLabels": {}}}),
        _ => json!({}),
    };
    let every =
        json!({"selector": {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "Exists"}]}});
    let mut seen = 0;
    let (some, everybody): (Allows<'_>, Allows<'_>) = (&some, &everybody);
    let states = [(some, false), (everybody, true), (some, false), (everybody, true), (&selected, false)];
    for (allowed, is_open) in states {
        let objects = all(allowed);
        region.put(&objects);
        let ran = region.origin().publish(&[]);
        assert!(matches!(ran.code, 0 | 3), "{}", ran.stderr);
        sync(region);
        for object in objects.iter().filter(|object| !object["spec"]["allowedNamespaces"].is_null()) {
            let expect = if is_open { every.clone() } else { allowed(object) };
            let live = region.get(&path(object));
            assert_eq!(live["spec"]["allowedNamespaces"], expect, "{}", object["kind"]);
            seen += 1;
        }
        region.verify_live(&[]).ends(0);
    }
    assert_eq!(seen, 25);
}
