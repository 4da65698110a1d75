//! Tenancy: whose meaning of "which namespaces may use this identity" a kind follows.

/// Whose meaning of "which namespaces may use this" a kind follows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Tenancy {
    /// No namespace but its own may use it, or nobody if it is cluster-scoped.
    None,
    /// Every namespace may use it.
    All,
    /// As AWS identities mean `allowedNamespaces`.
    Aws,
    /// As Azure identities mean it; OCI's are the same.
    Azure,
    /// As vSphere identities mean it.
    Vsphere,
    /// As OpenStack identities mean `namespaceSelector`.
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
