//! The manifests read back, and asked as an API server would ask them.

use super::*;
use crate::capi::cluster::cluster_kind;
use crate::config::SourcePlace;
use crate::name::Variables;
use crate::testing::case::{fleet, key};
use crate::testing::yaml;
use serde_json::{Value, json};

const ASKED: &[(&str, &[&str])] = &[
    ("AWSClusterStaticIdentity aws-main", &["team-a/aws", "team-b/aws"]),
    ("AzureClusterIdentity team-a/azure-main", &["team-a/azure"]),
    ("ConfigMap kcm-system/aws-main-resource-template", &["team-a/aws"]),
    ("ConfigMap team-a/azure-main-resource-template", &["team-a/azure"]),
    ("Secret kcm-system/aws-main-secret", &["team-a/aws", "team-b/aws"]),
    ("Secret team-a/azure-main-secret", &["team-a/azure"]),
    ("Secret team-a/true", &["team-a/a", "team-a/b", "team-a/c", "team-a/d", "team-a/e"]),
];

fn asked(keys: &[(&str, &[&str])]) -> AskedByName {
    let name = |text: &&str| {
        let (namespace, name) = text.split_once('/').unwrap();
        Claimant::credential(namespace.into(), name.into())
    };
    keys.iter().map(|(text, by)| (key(text), by.iter().map(name).collect())).collect()
}

/// A fleet whose sources `clusters` are clusters.
fn clusters(config: &Value, clusters: &[&str]) -> Fleet {
    let mut fleet = fleet(config);
    for source in &mut fleet.sources {
        if clusters.contains(&source.name.as_str()) {
            source.place =
                SourcePlace::Cluster { context: None, kubeconfig: None, plugin_environment: Variables::default() };
        }
    }
    fleet
}

fn everything() -> Fleet {
    clusters(&json!({"companions": "follow"}), &["all"])
}

fn named() -> Fleet {
    let provides = json!({"namespaces": ["team-a", "team-b"], "clusterScoped": true});
    clusters(&json!({"sources": [{"name": "all", "provides": provides}], "companions": "follow"}), &["all"])
}

fn pouch() -> Subject {
    Subject::ServiceAccount { namespace: "pouch".into(), name: "pouch".into() }
}

fn made(fleet: &Fleet, secrets: Secrets, asked: &AskedByName) -> Vec<RbacManifest> {
    let (source, subject, plurals) = (&fleet.sources[0], pouch(), BTreeMap::new());
    let listed = inquiry::listed(fleet, source);
    manifests(&Basis { fleet, source, secrets, listed: &listed, asked, plurals: &plurals, subject: &subject }).unwrap()
}

/// A request, as the API server's authorizer sees it: verb, resource, namespace or none, name or none.
type Request<'a> = (&'a str, &'a str, Option<&'a str>, Option<&'a str>);

/// As RBAC decides: <https://kubernetes.io/docs/reference/access-authn-authz/rbac/>
fn allows(manifests: &[RbacManifest], (verb, resource, namespace, name): Request<'_>) -> bool {
    let has = |list: &Value, word: &str| list.as_array().is_some_and(|list| list.iter().any(|item| item == word));
    manifests.iter().map(|manifest| yaml(&manifest.text)).any(|role| {
        let here = match role["kind"].as_str() {
            Some("ClusterRole") => true,
            Some("Role") => role["metadata"]["namespace"].as_str() == namespace,
            _ => false,
        };
        let rules = role["rules"].as_array().into_iter().flatten();
        here && rules.into_iter().any(|rule| {
            let names = rule["resourceNames"].as_array().is_none_or(|names| {
                // An empty list restricts nothing.
                names.is_empty() || name.is_some_and(|name| has(&rule["resourceNames"], name))
            });
            has(&rule["verbs"], verb) && has(&rule["resources"], resource) && names
        })
    })
}

#[track_caller]
fn check(manifests: &[RbacManifest], allowed: &[Request<'_>], denied: &[Request<'_>]) {
    for request in allowed {
        assert!(allows(manifests, *request), "denied: {request:?}");
    }
    for request in denied {
        assert!(!allows(manifests, *request), "allowed: {request:?}");
    }
}

#[test]
fn names_open_what_is_asked_and_nothing_else() {
    let manifests = made(&everything(), Secrets::Names, &asked(ASKED));
    check(
        &manifests,
        &[
            ("list", "providerinterfaces", None, None),
            ("list", "regions", None, None),
            ("list", "clusterdeployments", None, None),
            ("list", "credentials", None, None),
            ("get", "namespaces", None, Some("kube-system")),
            ("get", "namespaces", None, Some("kcm-system")),
            ("get", "awsclusterstaticidentities", None, Some("aws-main")),
            ("get", "azureclusteridentities", Some("team-a"), Some("azure-main")),
            ("get", "secrets", Some("kcm-system"), Some("aws-main-secret")),
            ("get", "secrets", Some("team-a"), Some("true")),
            ("get", "configmaps", Some("kcm-system"), Some("aws-main-resource-template")),
        ],
        &[
            ("list", "secrets", Some("team-a"), None),
            ("watch", "secrets", Some("team-a"), None),
            ("list", "configmaps", Some("team-a"), None),
            ("list", "namespaces", None, None),
            ("get", "namespaces", None, Some("team-a")),
            ("get", "secrets", Some("team-a"), Some("other")),
            ("get", "secrets", Some("team-b"), Some("aws-main-secret")),
            ("get", "secrets", Some("team-a"), Some("aws-main-secret")),
            ("get", "azureclusteridentities", Some("team-b"), Some("x")),
            ("get", "awsclusterroleidentities", None, Some("x")),
            ("get", "credentials", Some("team-a"), Some("aws")),
            ("update", "credentials", Some("team-a"), Some("aws")),
        ],
    );
}

#[test]
fn named_namespaces_are_listed_one_by_one() {
    let manifests = made(&named(), Secrets::Names, &asked(ASKED));
    check(
        &manifests,
        &[
            ("list", "credentials", Some("team-a"), None),
            ("list", "credentials", Some("team-b"), None),
            ("list", "credentials", Some("kcm-system"), None),
            ("list", "clusterdeployments", Some("team-b"), None),
            ("list", "providerinterfaces", None, None),
        ],
        &[("list", "credentials", None, None), ("list", "credentials", Some("team-c"), None)],
    );
}

#[test]
fn namespaces_open_all_secrets_there_and_list_none() {
    let manifests = made(&named(), Secrets::Namespaces, &AskedByName::new());
    let allowed = ["kcm-system", "team-a", "team-b"].map(|namespace| ("get", "secrets", Some(namespace), Some("any")));
    check(&manifests, &allowed, &[("list", "secrets", Some("team-a"), None), ("get", "secrets", Some("x"), Some("y"))]);
    check(
        &manifests,
        &[
            ("get", "ociclusteridentities", Some("team-b"), Some("x")),
            ("get", "vsphereclusteridentities", None, Some("x")),
            ("get", "configmaps", Some("team-b"), Some("x")),
        ],
        &[("get", "ociclusteridentities", Some("default"), Some("x"))],
    );
}

#[test]
fn a_source_without_cluster_scoped_objects_gets_none() {
    let provides = json!({"namespaces": ["team-a", "kcm-system"]});
    let fleet = clusters(&json!({"sources": [{"name": "all", "provides": provides}]}), &["all"]);
    let manifests = made(&fleet, Secrets::Namespaces, &AskedByName::new());
    check(
        &manifests,
        &[("list", "credentials", Some("team-a"), None), ("get", "namespaces", None, Some("kube-system"))],
        &[
            ("list", "providerinterfaces", None, None),
            ("list", "credentials", Some("kcm-system"), None),
            ("get", "secrets", Some("kcm-system"), Some("x")),
            ("get", "namespaces", None, Some("kcm-system")),
            ("get", "awsclusterstaticidentities", None, Some("x")),
            // No companions, so no ConfigMap is looked at.
            ("get", "configmaps", Some("team-a"), Some("x")),
        ],
    );
}

/// Whatever goes in: the same order, one verb a rule, no wildcard, no empty list of names.
/// Clusters are read only where the configuration names some, and of what is behind them only what was asked for.
#[test]
fn clusters_open_the_kinds_behind_them() {
    let provides = json!({"namespaces": ["team-a"], "clusterScoped": true});
    let config =
        json!({"sources": [{"name": "all", "provides": provides}], "regions": {"eu": {"clusters": ["team-a/*"]}}});
    let fleet = clusters(&config, &["all"]);
    let (source, subject, plurals) = (&fleet.sources[0], pouch(), BTreeMap::new());
    let mut listed = inquiry::listed(&fleet, source);
    let kind = crate::name::GroupKind::new(crate::capi::GROUP, "AWSCluster");
    listed.extend(inquiry::listed_behind(&fleet, &source.provides, kind));
    let asked = asked(ASKED);
    let basis = |listed| Basis {
        fleet: &fleet,
        source,
        secrets: Secrets::Names,
        listed,
        asked: &asked,
        plurals: &plurals,
        subject: &subject,
    };
    let made_of = manifests(&basis(&listed)).unwrap();
    check(
        &made_of,
        &[("list", "clusters", Some("team-a"), None), ("list", "awsclusters", Some("team-a"), None)],
        &[
            ("list", "clusters", Some("team-b"), None),
            ("get", "awsclusters", Some("team-a"), Some("x")),
            ("list", "gcpclusters", Some("team-a"), None),
        ],
    );
    check(&made(&named(), Secrets::Names, &asked), &[], &[("list", "clusters", Some("team-a"), None)]);
    // Of a provider whose machines may name an identity, what makes them is listed, too; a failure domain has no
    // namespace.
    let behind = |infrastructure: &str, fleet: &Fleet| {
        let text = format!(
            "{{spec: {{infrastructureRef: {{apiVersion: infrastructure.cluster.x-k8s.io/v1, kind: {infrastructure}, name: p}}, \
             controlPlaneRef: {{apiVersion: controlplane.cluster.x-k8s.io/v1, kind: KubeadmControlPlane, name: p}}}}}}"
        );
        let name = (&"team-a".into(), &"p".into());
        let kinds = inquiry::behind(fleet, &"all".into(), name, &crate::testing::node(&crate::testing::yaml(&text)));
        let provides = &fleet.sources[0].provides;
        kinds.into_iter().filter_map(|kind| inquiry::listed_behind(fleet, provides, kind)).collect::<Vec<_>>()
    };
    let (of_vsphere, of_aws) = (behind("VSphereCluster", &fleet), behind("AWSCluster", &fleet));
    assert_eq!(of_aws.len(), 1);
    let of_machines =
        ["machinedeployments", "machinesets", "machinepools", "vspheremachinetemplates", "vsphereclusters"];
    let of_machines = of_machines.map(|plural| ("list", plural, Some("team-a"), None));
    check(
        &manifests(&basis(&of_vsphere)).unwrap(),
        &[of_machines.as_slice(), &[("list", "kubeadmcontrolplanes", Some("team-a"), None)]].concat(),
        &[("list", "machines", Some("team-a"), None), ("list", "vspheremachines", Some("team-a"), None)],
    );
    let has_domains = |listed: &[inquiry::ListedKind]| {
        listed.iter().any(|listed| listed.kind.kind == "VSphereDeploymentZone" && listed.namespaces.is_none())
    };
    let own = json!({"sources": [{"name": "all", "provides": {"namespaces": ["team-a"]}}], "regions": {"eu": {"clusters": ["team-a/*"]}}});
    let of_team = behind("VSphereCluster", &clusters(&own, &["all"]));
    assert!(has_domains(&of_vsphere) && !has_domains(&of_team) && of_team.len() + 1 == of_vsphere.len());
    assert!(inquiry::any_behind(&fleet).len() > 20 && inquiry::any_behind(&named()).is_empty());
}

/// Sets are listed only where the configuration names some. Their payloads may be ConfigMaps where nothing else needs one.
#[test]
fn resource_sets_open_themselves_and_their_payloads() {
    let provides = json!({"namespaces": ["team-a"]});
    let config = json!({"sources": [{"name": "all", "provides": provides}], "companions": "none", "regions": {"eu": {"resourceSets": ["team-a/*"]}}});
    let fleet = clusters(&config, &["all"]);
    check(
        &made(&fleet, Secrets::Namespaces, &AskedByName::new()),
        &[("list", "clusterresourcesets", Some("team-a"), None), ("get", "configmaps", Some("team-a"), Some("x"))],
        &[("list", "clusterresourcesets", Some("team-b"), None), ("list", "clusters", Some("team-a"), None)],
    );
    assert!(inquiry::groups(&fleet).contains("addons.cluster.x-k8s.io"));
    let without =
        clusters(&json!({"sources": [{"name": "all", "provides": provides}], "companions": "none"}), &["all"]);
    let made_without = made(&without, Secrets::Namespaces, &AskedByName::new());
    let both =
        [("list", "clusterresourcesets", Some("team-a"), None), ("get", "configmaps", Some("team-a"), Some("x"))];
    check(&made_without, &[], &both);
    assert!(!inquiry::groups(&without).contains("addons.cluster.x-k8s.io"));
}

/// A source that describes one region is asked for what that region takes; and providers of Clusters may read ConfigMaps.
#[test]
fn a_source_is_asked_for_what_its_region_takes() {
    let source = |name: &str| json!({"name": name, "provides": {"namespaces": ["team-a"]}, "region": name});
    let config = json!({"sources": [source("us"), source("eu")], "companions": "none",
        "regions": {"us": {"clusters": ["team-a/*"]}, "eu": {"resourceSets": ["team-a/*"]}}});
    let fleet = clusters(&config, &["us", "eu"]);
    let lists = |at: usize, kind: &str| {
        let listed = inquiry::listed(&fleet, &fleet.sources[at]);
        listed.iter().any(|listed| listed.kind.kind.as_str() == kind)
    };
    assert!(lists(0, "Cluster") && !lists(0, "ClusterResourceSet"));
    assert!(!lists(1, "Cluster") && lists(1, "ClusterResourceSet"));
    let only = json!({"sources": [source("us")], "companions": "none", "regions": {"us": {"clusters": ["team-a/*"]}}});
    let fleet = clusters(&only, &["us"]);
    let manifests = made(&fleet, Secrets::Namespaces, &AskedByName::new());
    check(&manifests, &[("get", "configmaps", Some("team-a"), Some("x"))], &[]);
}

/// The cluster of a region need not have k0rdent, nor its namespace.
#[test]
fn the_cluster_of_a_region_is_asked_for_less() {
    let provides = json!({"namespaces": ["team-a"], "objects": [{"group": "cluster.x-k8s.io", "kind": "Cluster",
        "namespace": "kcm-system", "name": "*"}]});
    let config = json!({"sources": [{"name": "eu", "provides": provides, "region": "eu"}], "regions": {"eu": {"clusters": ["*/*"]}}});
    let fleet = clusters(&config, &["eu"]);
    assert!(inquiry::listed(&fleet, &fleet.sources[0]).iter().all(|listed| !listed.needed));
    assert_eq!(inquiry::identity_namespaces(&fleet, &fleet.sources[0]).len(), 1);
    // What it may provide by name is listed where it stands.
    let listed = inquiry::listed(&fleet, &fleet.sources[0]);
    let listed = listed.iter().find(|listed| listed.kind == cluster_kind()).unwrap();
    assert_eq!(listed.namespaces, Some(vec!["kcm-system".into(), "team-a".into()]));
    assert!(inquiry::listed(&named(), &named().sources[0]).iter().any(|listed| listed.needed));
}

#[test]
fn every_rule_is_as_narrow_as_it_looks() {
    for fleet in [everything(), named()] {
        for secrets in [Secrets::Names, Secrets::Namespaces] {
            let manifests = made(&fleet, secrets, &asked(ASKED));
            assert_eq!(manifests, made(&fleet, secrets, &asked(ASKED)));
            for pair in manifests.chunks(2) {
                let (role, binding) = (yaml(&pair[0].text), yaml(&pair[1].text));
                assert_eq!(binding["roleRef"]["name"], role["metadata"]["name"]);
                assert_eq!(binding["roleRef"]["kind"], role["kind"]);
                assert_eq!(binding["metadata"], role["metadata"]);
                assert_eq!(
                    binding["subjects"],
                    json!([{"kind": "ServiceAccount", "name": "pouch", "namespace": "pouch"}])
                );
                for rule in role["rules"].as_array().unwrap() {
                    assert!(["get", "list"].contains(&rule["verbs"][0].as_str().unwrap()));
                    assert_eq!(rule["verbs"].as_array().unwrap().len(), 1);
                    assert!(!serde_json::to_string(rule).unwrap().contains('*'));
                    assert!(rule["resourceNames"].as_array().is_none_or(|names| !names.is_empty()), "{rule}");
                    assert!(rule["resources"] != json!(["secrets"]) || rule["verbs"] == json!(["get"]));
                }
                let lines: Vec<&str> = pair[0].text.lines().collect();
                for (at, line) in lines.iter().enumerate() {
                    assert!(!line.starts_with("- apiGroups") || lines[at - 1].starts_with("# "), "{line}");
                }
            }
        }
    }
}

#[test]
fn a_role_reads_as_it_should() {
    let manifests = made(&everything(), Secrets::Names, &asked(ASKED));
    let kinds: Vec<(&str, Option<&str>, &str)> = manifests
        .iter()
        .map(|manifest| (manifest.kind, manifest.namespace.as_ref().map(Namespace::as_str), &*manifest.name))
        .collect();
    assert_eq!(
        kinds,
        [
            ("ClusterRole", None, "pouch-acme"),
            ("ClusterRoleBinding", None, "pouch-acme"),
            ("Role", Some("kcm-system"), "pouch-acme"),
            ("RoleBinding", Some("kcm-system"), "pouch-acme"),
            ("Role", Some("team-a"), "pouch-acme"),
            ("RoleBinding", Some("team-a"), "pouch-acme"),
        ]
    );
    assert_eq!(
        manifests[4].text,
        "\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: pouch-acme
  namespace: team-a
rules:
# Identities, for Credential team-a/azure.
- apiGroups:
  - infrastructure.cluster.x-k8s.io
  resources:
  - azureclusteridentities
  verbs:
  - get
# The ConfigMaps that Credentials need. Companions that are not there stand here as well: that they are
# absent must be proved, and without a right to the name the answer would be 403.
- apiGroups:
  - \"\"
  resources:
  - configmaps
  verbs:
  - get
  resourceNames:
  # For Credential team-a/azure.
  - azure-main-resource-template
# The Secrets that Credentials need. Companions that are not there stand here as well: that they are
# absent must be proved, and without a right to the name the answer would be 403.
- apiGroups:
  - \"\"
  resources:
  - secrets
  verbs:
  - get
  resourceNames:
  # For Credential team-a/azure.
  - azure-main-secret
  # For Credentials team-a/a, team-a/b, team-a/c and 2 more.
  - \"true\"
"
    );
}

#[test]
fn many_names_are_divided_among_roles() {
    let owner = BTreeSet::from([Claimant::credential("team-a".into(), "c".into())]);
    let keys = (0..2_000).map(|n| ObjectKey::secret("team-a".into(), Name::new(format!("{}-{n}", "s".repeat(200)))));
    let asked: AskedByName = keys.map(|key| (key, owner.clone())).collect();
    let manifests = made(&everything(), Secrets::Names, &asked);
    let roles: Vec<&RbacManifest> = manifests.iter().filter(|manifest| manifest.kind == "Role").collect();
    let names: Vec<&str> = roles.iter().map(|role| &*role.name).collect();
    assert_eq!(names, ["pouch-acme", "pouch-acme.2", "pouch-acme.3", "pouch-acme.4"]);
    let mut all = BTreeSet::new();
    for role in roles {
        let role = yaml(&role.text);
        assert!(serde_json::to_string(&role).unwrap().len() < 140 << 10);
        let names = role["rules"][0]["resourceNames"].as_array().unwrap();
        all.extend(names.iter().map(|name| name.as_str().unwrap().to_owned()));
    }
    assert_eq!(all.len(), 2_000);
}

/// What nobody can name is no right, and cannot write YAML of its own.
#[test]
fn names_that_cannot_be_are_left_out() {
    let owner = BTreeSet::from([Claimant::credential("team-a".into(), "c\n- apiGroups: [\"*\"]".into())]);
    let secret = |namespace: &str, name: &str| ObjectKey::secret(namespace.into(), name.into());
    let keys = [secret("team-a", "a\n- b"), secret("Team_A", "a"), secret("team-a", ""), secret("team-a", "fine")];
    let asked: AskedByName = keys.into_iter().map(|key| (key, owner.clone())).collect();
    let manifests = made(&everything(), Secrets::Names, &asked);
    let role = manifests.iter().find(|manifest| manifest.kind == "Role").unwrap();
    assert_eq!(yaml(&role.text)["rules"][0]["resourceNames"], json!(["fine"]));
    assert_eq!(yaml(&role.text)["rules"].as_array().unwrap().len(), 1);
    assert_eq!(manifests.len(), 4);
    assert!(manifests[0].text.contains("# Names that no object can have are left out"));
}

#[test]
fn other_subjects_and_several_clusters() {
    let all = json!({"namespaces": ["*"]});
    let sources = json!([{"name": "one", "provides": all}, {"name": "two", "provides": all}]);
    let fleet = clusters(&json!({"sources": sources}), &["one", "two"]);
    for (subject, expect) in [
        (Subject::User("jane: x".into()), json!({"kind": "User", "name": "jane: x", "apiGroup": write::GROUP})),
        (Subject::Group("ops".into()), json!({"kind": "Group", "name": "ops", "apiGroup": write::GROUP})),
    ] {
        let (asked, plurals) = (AskedByName::new(), BTreeMap::new());
        let terms = Basis {
            fleet: &fleet,
            source: &fleet.sources[1],
            secrets: Secrets::Names,
            listed: &[],
            asked: &asked,
            plurals: &plurals,
            subject: &subject,
        };
        let manifests = manifests(&terms).unwrap();
        assert_eq!(manifests[1].name, "pouch-acme-two");
        assert_eq!(yaml(&manifests[1].text)["subjects"], json!([expect]));
    }
}

/// Without them nobody would know which namespaces a template is for; and a template that is not served is not gone.
#[test]
fn a_region_that_takes_templates_has_them_and_its_namespaces_listed() {
    let provides = json!({"namespaces": ["team-a"], "clusterScoped": true});
    let of = |region: serde_json::Value| {
        let config = json!({"sources": [{"name": "all", "provides": provides}], "regions": {"eu": region}});
        inquiry::listed(&clusters(&config, &["all"]), &clusters(&config, &["all"]).sources[0])
    };
    let lists = |listed: &[inquiry::ListedKind], kind: &str| listed.iter().filter(|it| it.kind.kind == kind).count();
    let listed = of(json!({"templates": ["*"], "management": true}));
    assert_eq!((lists(&listed, "Namespace"), lists(&listed, "ManagedResource")), (1, 1));
    assert!(listed.iter().filter(|it| it.kind.kind == "ManagedResource").all(|it| !it.may_be_absent));
    // Who may not list them yet waits with templates alone.
    assert!(listed.iter().filter(|it| it.kind.kind == "Namespace").all(|it| it.may_be_refused && !it.needed));
    let listed = of(json!({"templates": ["*"]}));
    assert_eq!((lists(&listed, "Namespace"), lists(&listed, "ManagedResource")), (0, 1));
    let listed = of(json!({"management": true}));
    assert_eq!((lists(&listed, "Namespace"), lists(&listed, "ManagedResource")), (0, 0));
}

#[test]
fn patterns_without_credentials_tell_no_namespace() {
    let fleet = everything();
    let (asked, plurals, subject) = (AskedByName::new(), BTreeMap::new(), pouch());
    let secrets = Secrets::Namespaces;
    let terms = Basis {
        fleet: &fleet,
        source: &fleet.sources[0],
        secrets,
        listed: &[inquiry::listed_namespaces()],
        asked: &asked,
        plurals: &plurals,
        subject: &subject,
    };
    assert_eq!(manifests(&terms), Err(Insufficient::NoNamespace("all".into())));
    assert!(manifests(&Basis { secrets: Secrets::Names, ..terms }).is_ok());
}

#[test]
fn plurals_come_from_discovery_or_are_guessed_aloud() {
    let kinds = json!([
        {"group": "x.io", "kind": "Policy", "scope": "Cluster"},
        {"group": "x.io", "kind": "Access", "scope": "Cluster"},
        {"group": "x.io", "kind": "Thing", "scope": "Cluster"},
    ]);
    let fleet = clusters(&json!({"kinds": kinds}), &["all"]);
    let asked = asked(ASKED);
    let plurals = BTreeMap::from([(GroupKind::new("x.io", "Thing"), "thingies".to_owned())]);
    let subject = pouch();
    let terms = Basis {
        fleet: &fleet,
        source: &fleet.sources[0],
        secrets: Secrets::Namespaces,
        listed: &[inquiry::listed_namespaces()],
        asked: &asked,
        plurals: &plurals,
        subject: &subject,
    };
    let manifests = manifests(&terms).unwrap();
    let allowed = ["policies", "accesses", "thingies"].map(|resource| ("get", resource, None, Some("x")));
    check(&manifests, &allowed, &[("get", "things", None, Some("x"))]);
    check(&manifests, &[("list", "namespaces", None, None)], &[]);
    let guesses = manifests[0].text.lines().filter(|line| line.contains("is a guess")).count();
    assert_eq!(guesses, 2);
}

/// As `kubectl apply` goes through a file: each object needs its namespace before it.
#[test]
fn namespaces_come_before_what_stands_in_them() {
    let first_lost = |manifests: &[RbacManifest]| {
        let mut there = BTreeSet::from(["default".to_owned(), "kube-system".to_owned()]);
        manifests.iter().map(|manifest| yaml(&manifest.text)).find_map(|object| {
            if object["kind"] == "Namespace" {
                there.insert(object["metadata"]["name"].as_str().unwrap().to_owned());
            }
            let namespace = object["metadata"]["namespace"].as_str()?;
            (!there.contains(namespace)).then(|| namespace.to_owned())
        })
    };
    let bare = made(&named(), Secrets::Namespaces, &AskedByName::new());
    assert_eq!(first_lost(&bare), Some("kcm-system".to_owned()));
    let all = namespaces::with_namespaces(bare.clone());
    assert_eq!(first_lost(&all), None);
    let (made, rest) = all.split_at(all.len() - bare.len());
    assert_eq!(rest, bare, "the rights are the same");
    let names: Vec<&str> = made.iter().map(|namespace| &*namespace.name).collect();
    assert_eq!(names, ["kcm-system", "team-a", "team-b"], "each once");
    // A label would take over what others say of the Namespace; without the annotations a consumer may delete it.
    let annotations = json!({
        "argocd.argoproj.io/sync-options": "Prune=false,Delete=false",
        "kustomize.toolkit.fluxcd.io/prune": "disabled",
    });
    assert_eq!(yaml(&made[1].text)["metadata"], json!({"annotations": annotations, "name": "team-a"}));
}

#[test]
fn namespaces_that_every_cluster_has_are_not_printed() {
    let role = |namespace: &str| write::role("pouch", Some(&namespace.into()), &[Vec::new()], &pouch());
    let kinds = |namespace: &str| -> Vec<&str> {
        namespaces::with_namespaces(role(namespace)).iter().map(|manifest| manifest.kind).collect()
    };
    for namespace in ["default", "kube-system", "kube-public"] {
        assert_eq!(kinds(namespace), ["Role", "RoleBinding"], "{namespace}");
    }
    for namespace in ["kcm-system", "kubes"] {
        assert_eq!(kinds(namespace), ["Namespace", "Role", "RoleBinding"], "{namespace}");
    }
    assert_eq!(namespaces::with_namespaces(write::role("pouch", None, &[Vec::new()], &pouch())).len(), 2);
}

/// Every kind that is read has the resource that its CRD says.
#[test]
fn resources_are_those_of_the_crds() {
    extern crate std;
    let Some(folder) = crate::testing::shared("data/crds") else { return };
    let mut known = 0;
    for part in ["identities", "k0rdent"] {
        for entry in std::fs::read_dir(folder.join(part)).unwrap() {
            let crd = yaml(std::fs::read_to_string(entry.unwrap().path()).unwrap().trim_start_matches("---\n"));
            let names = &crd["spec"]["names"];
            let kind = GroupKind::new(crd["spec"]["group"].as_str().unwrap(), names["kind"].as_str().unwrap());
            let ours = kinds::plural(&kind);
            if let Some(ours) = ours {
                assert_eq!(names["plural"], ours, "{kind}");
                known += 1;
            }
        }
    }
    // ProviderInterface stands there twice, in two releases.
    assert_eq!(known, capi::all().count() + 7);
}
