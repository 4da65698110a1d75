//! Destinations: the clusters that bundles are for, where their bundles stand, and what must not land there.
//!
//! A claim names its destination by [`Place`]; a [`Destination`] is the same with what the configuration says of it.
//! A run goes through [`all`] of them, and what differs from kind to kind is answered here.

use alloc::vec::Vec;

use crate::config::{Delivery, Fleet, Flux, RegionConfig};
use crate::name::{Directory, Namespace, ObjectKey, Region};

/// A destination by name: where a claim's objects go.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Place {
    /// A region's own cluster.
    Region(Region),
}

impl Place {
    /// The region whose configuration the destination goes by.
    pub fn region(&self) -> &Region {
        let Place::Region(region) = self;
        region
    }
}

/// A cluster that a bundle is for.
#[derive(Clone, Copy, Debug)]
pub struct Destination<'a> {
    /// The configuration that names it.
    pub fleet: &'a Fleet,
    /// The region that it goes by: who may ask, who can read, how much may change.
    pub region: &'a RegionConfig,
}

/// Every destination of a fleet, sorted by region.
pub fn all(fleet: &Fleet) -> impl Iterator<Item = Destination<'_>> {
    fleet.regions.values().map(move |region| Destination { fleet, region })
}

impl<'a> Destination<'a> {
    /// The destination of a place; none if the configuration does not have it.
    pub fn of(fleet: &'a Fleet, place: &Place) -> Option<Self> {
        fleet.regions.get(place.region()).map(|region| Self { fleet, region })
    }

    /// Its place.
    pub fn place(&self) -> Place {
        Place::Region(self.region.name.clone())
    }

    /// The folder of its bundle.
    pub fn directory(&self) -> &'a Directory {
        &self.region.directory
    }

    /// How its bundle gets there.
    pub fn delivery(&self) -> &'a Delivery {
        &self.region.delivery
    }

    /// What is known of the cluster.
    pub fn ground(&self) -> Ground<'a> {
        Ground { delivery: Some(self.delivery()), system: Some(&self.fleet.system_namespace) }
    }
}

/// Why an object must not land where it would.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Forbidden {
    /// The namespace belongs to the cluster or to its delivery.
    Namespace,
    /// It is the Secret that decrypts the region's bundle.
    Key,
    /// k0rdent itself writes a Secret of that name.
    Reserved,
}

impl Forbidden {
    /// Words that follow the object.
    pub fn words(self) -> &'static str {
        match self {
            Forbidden::Namespace => "would land in a namespace that belongs to the cluster or to its delivery",
            Forbidden::Key => "would overwrite the key that decrypts the region's bundle",
            Forbidden::Reserved => "is a name that k0rdent itself writes on the region",
        }
    }
}

/// A cluster as far as it is known: what must not land there. A claim may not ask for it, and a bundle may not hold it.
#[derive(Clone, Copy, Default, Debug)]
pub struct Ground<'a> {
    /// How it is delivered to.
    pub delivery: Option<&'a Delivery>,
    /// The namespace of k0rdent's system there.
    pub system: Option<&'a Namespace>,
}

impl Ground<'_> {
    /// Why an object, or a Namespace itself, may not land there.
    pub fn forbids(&self, lands: &ObjectKey) -> Vec<Forbidden> {
        let namespace = if lands.kind.is_namespace() { lands.name.as_str() } else { lands.namespace_text() };
        let (flux, configured) = match self.delivery {
            Some(Delivery::Flux(flux)) => (Some(flux), Some(flux.namespace.as_str())),
            Some(Delivery::ArgoCd(argo)) => (None, Some(argo.namespace.as_str())),
            Some(Delivery::None) | None => (None, None),
        };
        let mut why = Vec::new();
        if namespace.starts_with("kube-")
            || matches!(namespace, "flux-system" | "argocd")
            || configured.is_some_and(|configured| configured == namespace)
        {
            why.push(Forbidden::Namespace);
        }
        let is_key = |flux: &Flux| lands.name == flux.decryption_secret && flux.namespace == *namespace;
        if lands.kind.is_secret() && flux.is_some_and(is_key) {
            why.push(Forbidden::Key);
        }
        if self.reserves(lands) {
            why.push(Forbidden::Reserved);
        }
        why
    }

    /// Whether k0rdent itself writes a Secret of this name there, for each of its components.
    pub fn reserves(&self, lands: &ObjectKey) -> bool {
        let in_system = self.system.is_some() && lands.namespace.as_ref() == self.system;
        lands.kind.is_secret() && in_system && lands.name.as_str().ends_with("-variables")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::{GroupKind, Name};

    #[test]
    fn places_that_are_not_the_fleets_are_forbidden() {
        let flux = Delivery::Flux(Flux {
            namespace: "delivery".into(),
            source_kind: "GitRepository".into(),
            source_name: "fleet".into(),
            decryption_secret: "sops-age".into(),
            interval: "10m".into(),
            retry_interval: "1m".into(),
            timeout: None,
            wait: false,
            health_checks: Vec::new(),
            service_account: None,
            kube_config: None,
        });
        let check = |kind: &str, namespace: &str, name: &str, delivery: Option<&Delivery>, expect: &[Forbidden]| {
            let lands = ObjectKey::new(GroupKind::new("", kind), Some(namespace.into()), Name::from(name));
            let system = Namespace::from("kcm-system");
            let there = Ground { delivery, system: Some(&system) };
            assert_eq!(there.forbids(&lands), expect, "{lands}");
        };
        use Forbidden::{Key, Namespace as Theirs, Reserved};
        check("Secret", "team", "sops-age", Some(&flux), &[]);
        check("Secret", "delivery", "sops-age", Some(&flux), &[Theirs, Key]);
        check("ConfigMap", "delivery", "sops-age", Some(&flux), &[Theirs]);
        check("Secret", "delivery", "sops-age", None, &[]);
        for namespace in ["kube-system", "flux-system", "argocd"] {
            check("Secret", namespace, "x", None, &[Theirs]);
        }
        check("Secret", "kcm-system", "x-variables", None, &[Reserved]);
        check("ConfigMap", "kcm-system", "x-variables", None, &[]);
        let there = Ground { delivery: Some(&flux), system: None };
        assert_eq!(there.forbids(&ObjectKey::namespace(&"delivery".into())), [Theirs]);
    }
}
