//! Places where nothing lands: namespaces and names on a region that a bundle must not touch.
//!
//! The same places are forbidden to claims and to bundles.

use alloc::vec::Vec;

use crate::config::{Delivery, Flux};
use crate::name::{Namespace, ObjectKey};

/// Why nothing lands at a place.
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
    /// The words that follow the object in a message.
    pub fn words(self) -> &'static str {
        match self {
            Forbidden::Namespace => "would land in a namespace that belongs to the cluster or to its delivery",
            Forbidden::Key => "would overwrite the key that decrypts the region's bundle",
            Forbidden::Reserved => "is a name that k0rdent itself writes on the region",
        }
    }
}

/// Why an object may not land where it would; a Namespace counts as a place itself. The region's `delivery` and
/// k0rdent's `system` namespace are given as far as they are known.
pub fn forbidden(delivery: Option<&Delivery>, system: Option<&Namespace>, lands: &ObjectKey) -> Vec<Forbidden> {
    let namespace = if lands.kind.is_namespace() { lands.name.as_str() } else { lands.namespace_text() };
    let (flux, configured) = match delivery {
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
    if system.is_some_and(|system| is_reserved(system, lands)) {
        why.push(Forbidden::Reserved);
    }
    why
}

/// Whether k0rdent itself writes a Secret of this name on regions, for each of its components.
pub fn is_reserved(system: &Namespace, lands: &ObjectKey) -> bool {
    lands.kind.is_secret() && lands.namespace.as_ref() == Some(system) && lands.name.as_str().ends_with("-variables")
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
            assert_eq!(forbidden(delivery, Some(&system), &lands), expect, "{lands}");
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
        assert_eq!(forbidden(Some(&flux), None, &ObjectKey::namespace(&"delivery".into())), [Theirs]);
    }
}
