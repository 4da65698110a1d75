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
    if let Some(first) = manifests.first_mut() {
        first.text.insert_str(0, &write::comment("", &head(terms)));
    }
    manifests
}

fn head(terms: &LookBasis<'_>) -> Vec<String> {
    vec![
        format!("What pouch may read on the cluster of region {}, for fleet {}.", terms.region.name, terms.fleet),
        "It writes nothing, watches nothing and reads no Secret. Discovery (GET /version, /apis/GROUP) has no rule here:"
            .to_owned(),
        "by default the ClusterRoles system:public-info-viewer and system:discovery give it to everybody who is".to_owned(),
        "authenticated. The namespaces are those of today's Credentials for the region; after one in another namespace is"
            .to_owned(),
        "added, print and apply this again: until then the region cannot be looked into.".to_owned(),
    ]
}
