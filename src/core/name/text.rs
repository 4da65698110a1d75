//! Text: what names are made of.

use alloc::sync::Arc;
use core::cmp::Ordering;
use core::hash;

/// A text that costs nothing to copy.
#[derive(Clone)]
pub(super) enum Text {
    /// One of [`known`].
    Known(&'static str),
    Shared(Arc<str>),
}

impl Text {
    pub(super) fn as_str(&self) -> &str {
        match self {
            Text::Known(text) => text,
            Text::Shared(text) => text,
        }
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        known(text).map_or_else(|| Text::Shared(Arc::from(text)), Text::Known)
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (self.as_str(), other.as_str());
        core::ptr::eq(a, b) || a == b
    }
}

impl Eq for Text {}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text {
    /// Compares as the texts do. Most texts that meet are one and the same, which their pointers tell: where
    /// keys are many, the texts themselves are in no cache.
    fn cmp(&self, other: &Self) -> Ordering {
        let (a, b) = (self.as_str(), other.as_str());
        if core::ptr::eq(a, b) { Ordering::Equal } else { a.cmp(b) }
    }
}

impl hash::Hash for Text {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

/// The static form of a word that most objects' keys are made of: it takes no memory, and comparing it with
/// itself does not read it.
fn known(text: &str) -> Option<&'static str> {
    const KNOWN: [&str; 22] = [
        "",
        "v1",
        "v1beta1",
        "v1beta2",
        "v1alpha1",
        "Secret",
        "Region",
        "ConfigMap",
        "Namespace",
        "Credential",
        "kcm-system",
        "k0rdent.mirantis.com",
        "ProviderInterface",
        "AWSClusterStaticIdentity",
        "AWSClusterRoleIdentity",
        "AzureClusterIdentity",
        "VSphereClusterIdentity",
        "OpenStackClusterIdentity",
        "ClusterDeployment",
        "ManagedResource",
        "infrastructure.cluster.x-k8s.io",
        "automation.kubensync.com",
    ];
    KNOWN.into_iter().find(|known| *known == text)
}
