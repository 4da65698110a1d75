//! Tests of nulls: what is published without them means what admission judged.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::schema::Schema;
use super::*;
use crate::capi::{self, Tenancy};
use crate::layout::sanitise::sanitise;
use crate::layout::{Marks, Style};
use crate::name::Namespace;
use crate::testing::{json_of, node, object, yaml};

/// Each way of saying `allowedNamespaces` with a null somewhere in it.
fn with_nulls() -> Vec<String> {
    let mut all: Vec<String> =
        ["null", "{}", "{list: null}", "{selector: null}", "{list: null, selector: null}"].map(String::from).into();
    for labels in ["null", "{}", "{a: b}", "{a: null}", "{a: b, c: null}"] {
        for expressions in [
            "null",
            "[]",
            "[null]",
            "[{key: a, operator: Exists, values: null}]",
            "[{key: a, operator: In, values: [null]}]",
        ] {
            for list in ["null", "[]", "[ns]", "[null]", "[ns, null]"] {
                all.push(format!(
                    "{{list: {list}, selector: {{matchLabels: {labels}, matchExpressions: {expressions}}}}}"
                ));
            }
            all.push(format!("{{selector: {{matchLabels: {labels}, matchExpressions: {expressions}}}}}"));
        }
        all.push(format!("{{selector: {{matchLabels: {labels}}}}}"));
    }
    all
}

/// Whoever could not use an identity as it was written cannot use it as it is published, whether a kind is built in, has a
/// schema, or neither; and the other way round.
#[test]
fn no_null_that_is_left_out_changes_who_may_use_an_identity() {
    const LAX: &str = "{schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}";
    let schema = Schema::read(&node(&yaml(LAX))).unwrap();
    let (mut published, mut refused) = (0, 0);
    for (kind, tenancy) in [
        ("AWSClusterStaticIdentity", Tenancy::Aws),
        ("AzureClusterIdentity", Tenancy::Azure),
        ("VSphereClusterIdentity", Tenancy::Vsphere),
        ("AcmeIdentity", Tenancy::Aws),
        ("AcmeIdentity", Tenancy::Azure),
        ("AcmeIdentity", Tenancy::Vsphere),
        ("AcmeIdentity", Tenancy::Openstack),
    ] {
        for allowed in with_nulls() {
            let (field, allowed) = match tenancy {
                Tenancy::Openstack => ("namespaceSelector", yaml(&allowed)["selector"].to_string()),
                _ => ("allowedNamespaces", allowed),
            };
            let text = format!(
                "{{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: {kind}, metadata: {{name: a, namespace: b}}, \
                 spec: {{secretRef: s, clientID: c, tenantID: t, type: UserAssignedMSI, secretName: s, {field}: {allowed}}}}}"
            );
            let object = object(&text);
            let spec = object.at(&["spec"]);
            let rules = capi::rules(&object.key.kind);
            let tree = sanitise(&object, &object.key, &[], Marks::by(Style::Plain), None);
            let after = node(&json_of(&tree)["spec"]);
            assert!(allowed.contains("null]") || !json_of(&tree).to_string().contains("null"), "{allowed}");
            let admits = |spec| {
                let one = |name: &str| {
                    capi::admits(tenancy, spec, &Namespace::from(name), Some(&[("a".into(), "b".into())].into()))
                };
                (one("ns"), one("other"), capi::admits_everybody(tenancy, spec))
            };
            let same = admits(spec) == admits(Some(&after));
            for schema in [None, Some(&schema)] {
                let faults = faults_of_spec(&object, rules, schema);
                let is_refused = faults.iter().any(|fault| fault.message.contains("null"));
                assert!(same || is_refused, "{kind} {tenancy:?} {allowed}");
                if is_refused { refused += 1 } else { published += 1 }
            }
        }
    }
    assert!(published > 100 && refused > 100, "{published} published, {refused} refused");
}
