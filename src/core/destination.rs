//! Destinations: the clusters that bundles are for, and what must not land there.
//!
//! What a claim may not ask for and what a bundle may not hold is the same.

use alloc::vec::Vec;

use crate::config::{Delivery, Fleet, Flux, RegionConfig};
use crate::name::{Namespace, ObjectKey};

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

/// A cluster that a bundle is for, as far as it is known.
#[derive(Clone, Copy, Default, Debug)]
pub struct Destination<'a> {
    /// How it is delivered to.
    pub delivery: Option<&'a Delivery>,
    /// The namespace of k0rdent's system there.
    pub system: Option<&'a Namespace>,
}

impl<'a> Destination<'a> {
    /// A region's own cluster.
    pub fn of(fleet: &'a Fleet, region: &'a RegionConfig) -> Self {
        Self { delivery: Some(&region.delivery), system: Some(&fleet.system_namespace) }
    }

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
        });
        let check = |kind: &str, namespace: &str, name: &str, delivery: Option<&Delivery>, expect: &[Forbidden]| {
            let lands = ObjectKey::new(GroupKind::new("", kind), Some(namespace.into()), Name::from(name));
            let system = Namespace::from("kcm-system");
            let there = Destination { delivery, system: Some(&system) };
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
        let there = Destination { delivery: Some(&flux), system: None };
        assert_eq!(there.forbids(&ObjectKey::namespace(&"delivery".into())), [Theirs]);
    }
}
