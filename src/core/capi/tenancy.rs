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
