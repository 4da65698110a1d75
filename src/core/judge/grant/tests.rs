//! What a grant opens, and every near miss: one fleet, one grant at a time, and what becomes of the claim.

extern crate std;

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde_json::json;

use crate::finding::Finding;
use crate::testing::case::{Document, Scene, show};
use crate::testing::stages::Desk;
use crate::testing::{node, yaml};

/// What the claims of a world become: `namespace/name -> region: verdict`, then the codes that stop it.
fn judged(config: &str, grants: &str, documents: &str) -> BTreeMap<String, String> {
    let mut config = yaml(config);
    config["grants"] = yaml(grants);
    let documents = documents.split("\n---\n").enumerate().map(|(at, text)| Document {
        source: "all".into(),
        node: node(&yaml(text)),
        line: u32::try_from(at).unwrap() + 1,
    });
    let world = Scene { config, documents: documents.collect(), incomplete: Vec::new(), run: json!({}) };
    let desk = Desk::new(&world);
    let mut said = BTreeMap::new();
    for region in desk.fleet.regions.keys() {
        for case in desk.heard(region) {
            let stops = case.findings.iter().filter(|finding| finding.stops_claim());
            let about = |f: &Finding| f.object.as_ref().map_or(String::new(), |key| format!(" {}", show(key)));
            let mut stops: Vec<String> = stops.map(|f| format!("{}{}", f.code.text(), about(f))).collect();
            stops.sort();
            said.insert(format!("{} {region}", case.claim.by.path()), stops.join(", "));
        }
    }
    said
}

/// AWS: the identity admits team-b alone. Azure: the identity's Secret stands in namespace shared, and so
/// does another identity. All in two regions.
const FLEET: &str = "
apiVersion: k0rdent.mirantis.com/v1beta1
kind: Credential
metadata: {name: aws, namespace: team-a}
spec: {region: eu, identityRef: &aws {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSClusterStaticIdentity, name: aws}}
---
apiVersion: k0rdent.mirantis.com/v1beta1
kind: Credential
metadata: {name: aws-us, namespace: team-a}
spec: {region: us, identityRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSClusterStaticIdentity, name: aws}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSClusterStaticIdentity
metadata: {name: aws}
spec: {secretRef: aws-key, allowedNamespaces: {list: [team-b]}}
---
apiVersion: v1
kind: Secret
metadata: {name: aws-key, namespace: kcm-system}
data: {AccessKeyID: dmFsdWU=, SecretAccessKey: dmFsdWU=}
---
apiVersion: k0rdent.mirantis.com/v1beta1
kind: Credential
metadata: {name: az, namespace: team-a}
spec: {region: eu, identityRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AzureClusterIdentity, name: az}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureClusterIdentity
metadata: {name: az, namespace: team-a}
spec: {type: ServicePrincipal, clientID: c, tenantID: t, allowedNamespaces: {}, clientSecret: {name: az, namespace: shared}}
---
apiVersion: v1
kind: Secret
metadata: {name: az, namespace: shared}
data: {clientSecret: dmFsdWU=}
---
apiVersion: k0rdent.mirantis.com/v1beta1
kind: Credential
metadata: {name: far, namespace: team-a}
spec: {region: eu, identityRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AzureClusterIdentity, name: az, namespace: shared}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureClusterIdentity
metadata: {name: az, namespace: shared}
spec: {type: ServicePrincipal, clientID: c, tenantID: t, allowedNamespaces: {}, clientSecret: {name: az, namespace: shared}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: az-resource-template, namespace: shared}
data: {a: b}
---
apiVersion: v1
kind: Secret
metadata: {name: az-secret, namespace: shared}
data: {clientSecret: dmFsdWU=}";

/// What is refused without any grant; an empty text is an admitted claim.
const CLOSED: [(&str, &str); 4] = [
    ("team-a/aws eu", "not-admitted AWSClusterStaticIdentity aws"),
    ("team-a/aws-us us", "not-admitted AWSClusterStaticIdentity aws"),
    ("team-a/az eu", "not-admitted Secret shared/az"),
    (
        "team-a/far eu",
        "not-admitted AzureClusterIdentity shared/az, \
         not-admitted Secret shared/az",
    ),
];

/// Checks that a grant changes what is said here, and nothing else.
#[track_caller]
fn check(grant: &str, opened: &[(&str, &str)]) {
    let config = "{companions: follow, regions: {eu: {}, us: {}}}";
    let mut expect: BTreeMap<String, String> =
        CLOSED.iter().map(|(claim, said)| (claim.to_string(), said.to_string())).collect();
    for (claim, said) in opened {
        assert!(expect.insert(claim.to_string(), said.to_string()).is_some(), "{claim} is no claim");
    }
    assert_eq!(judged(config, &format!("[{grant}]"), FLEET), expect, "{grant}");
}

const GROUP: &str = "group: infrastructure.cluster.x-k8s.io";

#[test]
fn without_grants_all_are_refused() {
    assert_eq!(judged("{companions: follow, regions: {eu: {}, us: {}}}", "[]", FLEET).len(), CLOSED.len());
    check("", &[]);
}

#[test]
fn a_cluster_scoped_identity_is_opened_by_its_own_key_alone() {
    let grant = |from: &str, kind: &str, name: &str, regions: &str| {
        format!("{{from: {from}, to: {{{GROUP}, kind: {kind}, name: {name}}}, regions: {regions}}}")
    };
    let (kind, eu, us) = ("AWSClusterStaticIdentity", ("team-a/aws eu", ""), ("team-a/aws-us us", ""));
    check(&grant("{credential: team-a/aws}", kind, "aws", "[eu]"), &[eu]);
    check(&grant("{credential: team-a/aws}", kind, "aws", "[\"*\"]"), &[eu]);
    check(&grant("{namespace: team-a}", kind, "aws", "[eu]"), &[eu]);
    check(&grant("{namespace: team-a}", kind, "aws", "[us]"), &[us]);
    check(&grant("{namespace: team-a}", kind, "aws", "[eu, us]"), &[eu, us]);
    check(&grant("{namespace: team-a}", kind, "aws", "[\"*\"]"), &[eu, us]);
    // Near misses.
    check(&grant("{credential: team-a/aws}", kind, "aws", "[us]"), &[]);
    check(&grant("{credential: team-a/aws-us}", kind, "aws", "[eu]"), &[]);
    check(&grant("{credential: team-b/aws}", kind, "aws", "[eu]"), &[]);
    check(&grant("{namespace: team-b}", kind, "aws", "[\"*\"]"), &[]);
    check(&grant("{namespace: kcm-system}", kind, "aws", "[\"*\"]"), &[]);
    check(&grant("{namespace: team-a}", kind, "aws-us", "[\"*\"]"), &[]);
    check(&grant("{namespace: team-a}", "AWSClusterRoleIdentity", "aws", "[\"*\"]"), &[]);
    check(
        "{from: {namespace: team-a}, to: {namespace: kcm-system, kind: Secret, name: aws-key}, regions: [\"*\"]}",
        &[],
    );
}

#[test]
fn a_secret_of_a_third_namespace_is_opened_by_its_own_key_alone() {
    let grant = |from: &str, to: &str| format!("{{from: {from}, to: {{{to}}}, regions: [eu]}}");
    let opened = [("team-a/az eu", ""), ("team-a/far eu", "not-admitted AzureClusterIdentity shared/az")];
    check(&grant("{credential: team-a/az}", "namespace: shared, kind: Secret, name: az"), &opened[..1]);
    check(&grant("{namespace: team-a}", "namespace: shared, kind: Secret, name: az"), &opened);
    // Near misses.
    check(&grant("{namespace: team-a}", "namespace: shared, kind: Secret, name: az-secret"), &[]);
    check(&grant("{namespace: team-a}", "namespace: team-a, kind: Secret, name: az"), &[]);
    check(&grant("{namespace: team-a}", "namespace: kcm-system, kind: Secret, name: az"), &[]);
    check(&grant("{namespace: team-a}", "namespace: shared, kind: ConfigMap, name: az"), &[]);
    check(&grant("{namespace: shared}", "namespace: shared, kind: Secret, name: az"), &[]);
    check(&grant("{credential: shared/az}", "namespace: shared, kind: Secret, name: az"), &[]);
}

#[test]
fn an_identity_of_another_namespace_does_not_open_what_it_names() {
    let identity = format!("namespace: shared, {GROUP}, kind: AzureClusterIdentity, name: az");
    check(
        &format!("{{from: {{credential: team-a/far}}, to: {{{identity}}}, regions: [eu]}}"),
        &[("team-a/far eu", "not-admitted Secret shared/az")],
    );
}

#[test]
fn a_group_is_part_of_what_is_granted() {
    let config = "{kinds: [{group: a.example, kind: Thing, scope: Namespaced}, {group: b.example, kind: Thing, scope: Namespaced}]}";
    let fleet = "
apiVersion: k0rdent.mirantis.com/v1beta1
kind: ProviderInterface
metadata: {name: x}
spec: {clusterIdentities: [{group: a.example, version: v1, kind: Thing}]}
---
apiVersion: k0rdent.mirantis.com/v1beta1
kind: Credential
metadata: {name: a, namespace: team-a}
spec: {region: eu, identityRef: {apiVersion: a.example/v1, kind: Thing, name: x, namespace: team-b}}
---
apiVersion: a.example/v1
kind: Thing
metadata: {name: x, namespace: team-b}
spec: {}";
    for (group, expect) in [("a.example", ""), ("b.example", "not-admitted Thing team-b/x")] {
        let to = format!("{{namespace: team-b, group: {group}, kind: Thing, name: x}}");
        let said = judged(config, &format!("[{{from: {{namespace: team-a}}, to: {to}, regions: [eu]}}]"), fleet);
        assert_eq!(said, [("team-a/a eu".to_string(), expect.to_string())].into(), "{group}");
    }
}

#[test]
fn a_closure_is_opened_to_one_credential() {
    check("{from: {credential: team-a/aws}, regions: [eu]}", &[("team-a/aws eu", "")]);
    check("{from: {credential: team-a/aws}, regions: [us]}", &[]);
    check("{from: {credential: team-b/aws}, regions: [\"*\"]}", &[]);
    check("{from: {credential: team-a/az}, regions: [\"*\"]}", &[("team-a/az eu", "")]);
    check("{from: {credential: team-a/far}, regions: [eu]}", &[("team-a/far eu", "")]);
    check("{from: {credential: team-a/far-away}, regions: [eu]}", &[]);
}

/// Everything that a Credential of team-a needs is granted to it; what is refused all the same.
#[track_caller]
fn check_never(config: &str, objects: &str, expect: &str) {
    let credential = "
apiVersion: k0rdent.mirantis.com/v1beta1
kind: Credential
metadata: {name: a, namespace: team-a}
spec: {region: eu, identityRef: {apiVersion: v1, kind: Secret, name: s, namespace: other}}";
    let documents = if objects.contains("kind: Credential") {
        objects.to_string()
    } else {
        format!("{credential}\n---\n{objects}")
    };
    let said = judged(config, "[{from: {credential: team-a/a}, regions: [eu]}]", &documents);
    assert_eq!(said, [("team-a/a eu".to_string(), expect.to_string())].into());
}

#[test]
fn no_grant_opens_what_must_not_be_published() {
    let secret = |rest: &str| format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: s, namespace: other}}\n{rest}");
    check_never("{}", &secret("data: {a: dmFsdWU=}"), "");
    check_never("{}", &secret("type: kubernetes.io/service-account-token"), "forbidden-type Secret other/s");
    check_never("{}", &secret("type: helm.sh/release.v1"), "forbidden-type Secret other/s");
    check_never("{}", &secret("type: cluster.x-k8s.io/secret"), "forbidden-type Secret other/s");
    let region = "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Region\nmetadata: {name: eu}\nspec: {kubeConfig: {name: s, key: value}}";
    check_never("{}", &format!("{}\n---\n{region}", secret("data: {a: dmFsdWU=}")), "forbidden-type Secret other/s");
    check_never(
        "{regions: {eu: {namespaces: {allowed: [team-b]}}}}",
        &secret("data: {a: dmFsdWU=}"),
        "namespace-not-allowed",
    );
    for (namespace, name, expect) in [
        ("kube-system", "s", "forbidden-place Secret kube-system/s"),
        ("flux-system", "s", "forbidden-place Secret flux-system/s"),
        ("kcm-system", "aws-variables", "forbidden-place Secret kcm-system/aws-variables"),
    ] {
        let objects = format!(
            "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Credential\nmetadata: {{name: a, namespace: team-a}}\n\
             spec: {{region: eu, identityRef: {{apiVersion: v1, kind: Secret, name: {name}, namespace: {namespace}}}}}\n---\n\
             apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}, namespace: {namespace}}}\ndata: {{a: dmFsdWU=}}"
        );
        check_never("{}", &objects, expect);
    }
    let pod = "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: ProviderInterface\nmetadata: {name: x}\n\
               spec: {clusterIdentities: [{group: '', version: v1, kind: Pod}]}\n---\n\
               apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Credential\nmetadata: {name: a, namespace: team-a}\n\
               spec: {region: eu, identityRef: {apiVersion: v1, kind: Pod, name: p, namespace: team-a}}";
    check_never("{}", pod, "forbidden-kind Pod team-a/p");
}
