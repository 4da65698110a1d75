//! The rights that looking into a region's own cluster takes.
//!
//! Two rules suffice, and a third where templates may be for any namespace: the rest of what is read is discovery, and that is
//! everybody's who is authenticated.

use alloc::borrow::ToOwned as _;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::split;
use super::write::{self, PolicyRule, RbacManifest, Subject};
use crate::capi::cluster::CLUSTERS;
use crate::capi::resource_set::ADDONS;
use crate::config::RegionConfig;
use crate::inquiry::IDENTITY_NAMESPACE;
use crate::kinds::K0RDENT;
use crate::name::{FleetName, Namespace};

/// What decides which rights are needed.
#[derive(Clone, Copy)]
pub struct LookBasis<'a> {
    /// The fleet.
    pub fleet: &'a FleetName,
    /// The region.
    pub region: &'a RegionConfig,
    /// The namespaces of those who claim something there.
    pub namespaces: &'a BTreeSet<Namespace>,
    /// Those of them in which a group of guests delivers something.
    pub guests: &'a BTreeSet<Namespace>,
    /// Who is given the rights.
    pub subject: &'a Subject,
    /// Whether templates are rendered for its namespaces.
    pub lists: bool,
}

/// Makes the manifests: a cluster-wide role, and its binding.
pub fn manifests(terms: &LookBasis<'_>) -> Vec<RbacManifest> {
    let names = terms.namespaces.iter().map(|namespace| namespace.to_string());
    let names = names.chain([IDENTITY_NAMESPACE.to_owned()]);
    let mut rules = vec![
        PolicyRule {
            why: vec!["They say what k0rdent itself does with identities there.".to_owned()],
            group: K0RDENT.to_owned(),
            resource: "providerinterfaces".to_owned(),
            verbs: vec!["list"],
            names: None,
        },
        PolicyRule {
            why: vec![
                "The UID of kube-system tells this cluster from another; identities may select the others by their labels."
                    .to_owned(),
            ],
            group: String::new(),
            resource: "namespaces".to_owned(),
            verbs: vec!["get"],
            names: Some(names.map(|name| (name, String::new())).collect::<BTreeMap<_, _>>()),
        },
    ];
    if terms.lists {
        rules.push(PolicyRule {
            why: vec!["ManagedResources select namespaces by their names and labels.".to_owned()],
            group: String::new(),
            resource: "namespaces".to_owned(),
            verbs: vec!["list"],
            names: None,
        });
    }
    let name = format!("pouch-look-{}-{}", terms.fleet, terms.region.directory);
    let mut manifests = write::role(&name, None, &split(rules), terms.subject);
    for namespace in terms.guests {
        manifests.extend(write::role(&name, Some(namespace), &split(of_guests()), terms.subject));
    }
    if let Some(first) = manifests.first_mut() {
        first.text.insert_str(0, &write::comment("", &head(terms)));
    }
    manifests
}

/// What says in a namespace whether its guest clusters have got what is delivered to them.
fn of_guests() -> Vec<PolicyRule> {
    let rule = |(group, resource, verb): (&str, &str, &'static str), why: &str| PolicyRule {
        why: vec![why.to_owned()],
        group: group.to_owned(),
        resource: resource.to_owned(),
        verbs: vec![verb],
        names: None,
    };
    const WHY: &str = "`pouch verify --live` compares with them what has arrived in guest clusters.";
    vec![
        rule((CLUSTERS, "clusters", "list"), WHY),
        rule((ADDONS, "clusterresourcesetbindings", "list"), WHY),
        rule((ADDONS, "clusterresourcesets", "get"), "Those of the bundle, as they stand there."),
        rule(("", "configmaps", "get"), "The payloads that hold no Secret."),
        rule(("", "secrets", "get"), "The payloads; leave this out, and `verify --live` cannot look."),
    ]
}

fn head(terms: &LookBasis<'_>) -> Vec<String> {
    vec![
        format!("What pouch may read on the cluster of region {}, for fleet {}.", terms.region.name, terms.fleet),
        match terms.guests.is_empty() {
            true => "It writes nothing, watches nothing and reads no Secret. Discovery (GET /version, /apis/GROUP) has no rule here:",
            false => "It writes nothing, watches nothing and lists no Secret. Discovery (GET /version, /apis/GROUP) has no rule here:",
        }
        .to_owned(),
        "by default the ClusterRoles system:public-info-viewer and system:discovery give it to everybody who is".to_owned(),
        "authenticated. The namespaces are those of today's Credentials for the region; after one in another namespace is"
            .to_owned(),
        "added, print and apply this again: until then the region cannot be looked into.".to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::case::fleet;
    use crate::testing::yaml;

    #[test]
    fn what_guests_have_is_read_in_their_namespaces_alone() {
        let fleet = fleet(&yaml("{}"));
        let region = fleet.regions.values().next().unwrap();
        let subject = Subject::Group("g".into());
        let namespaces: BTreeSet<Namespace> = ["team-a".into(), "team-b".into()].into();
        let printed = |guests: BTreeSet<Namespace>| {
            let terms = LookBasis {
                fleet: &fleet.name,
                region,
                namespaces: &namespaces,
                guests: &guests,
                subject: &subject,
                lists: false,
            };
            manifests(&terms).into_iter().map(|it| it.text).collect::<String>()
        };
        assert!(!printed(BTreeSet::new()).contains("namespace:"), "{}", printed(BTreeSet::new()));
        let with = printed(["team-a".into()].into());
        for wanted in ["clusterresourcesetbindings", "clusterresourcesets", "clusters", "namespace: team-a"] {
            assert!(with.contains(wanted), "{wanted}: {with}");
        }
        assert!(!with.contains("namespace: team-b") && !with.contains("and reads no Secret"), "{with}");
    }
}
