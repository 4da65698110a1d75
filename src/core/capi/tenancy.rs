//! Tenancy: which provider's rule decides the namespaces that may use an identity.

/// Which rule decides the namespaces that may use an identity of a kind.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Tenancy {
    /// Only its own namespace may use it; nobody if it is cluster-scoped.
    None,
    /// Every namespace may use it.
    All,
    /// As AWS reads `allowedNamespaces`.
    Aws,
    /// As Azure reads `allowedNamespaces`; OCI reads it the same way.
    Azure,
    /// As vSphere reads `allowedNamespaces`.
    Vsphere,
    /// As OpenStack reads `namespaceSelector`.
    Openstack,
}

/// Whether an identity may be used from a namespace.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Admits {
    /// It may.
    Yes,
    /// It may not.
    No,
    /// Nobody knows, so it may not; says why.
    Unknown(&'static str),
}
