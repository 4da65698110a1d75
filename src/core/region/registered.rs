//! Registered: the cluster Secret by which Argo CD knows a region's cluster.
//!
//! What it says of the cluster is what the region's ClusterProfile says. Where that is not known, it is what is published:
//! without the Secret, Argo CD would lose sight of the region. Nothing else of the region waits for it.

use alloc::string::String;
use alloc::vec::Vec;

use super::input::Terms;
use super::published::Published;
use crate::config::Delivery;
use crate::finding::{Code, Finding};
use crate::layout::BundlePath;
use crate::layout::delivery::cluster::{self, ClusterSecret};
use crate::layout::manifest::Manifest;
use crate::layout::path::delivery_name;
use crate::name::ObjectKey;
use crate::world::cluster::ArgoRegistration;

/// The file of a region's cluster Secret, if the region's published one is what counts.
pub(super) fn kept(terms: &Terms<'_>) -> Option<BundlePath> {
    let argocd = &terms.world.cluster(&terms.to.region.name)?.argocd;
    matches!(argocd, ArgoRegistration::Unknown).then(|| cluster::file(terms.to.directory()))
}

/// The text of a region's cluster Secret; none where it has none, or nothing is known of the cluster and nothing is
/// published.
pub(super) fn text(terms: &Terms<'_>, published: Option<&[u8]>) -> Option<String> {
    let Delivery::ArgoCd(argo) = terms.to.delivery() else { return None };
    let registration = match &terms.world.cluster(&terms.to.region.name)?.argocd {
        ArgoRegistration::Foreign => return None,
        ArgoRegistration::Described(registration) => registration.as_ref().clone(),
        // What follows from the configuration follows it all the same.
        ArgoRegistration::Unknown => match ClusterSecret::read(published?) {
            Some(secret) => secret.registration,
            // Another pouch wrote it in another form.
            None => return str::from_utf8(published?).ok().map(String::from),
        },
    };
    Some(ClusterSecret::of(&terms.layout(), argo, registration).text())
}

/// Holds a region whose published cluster Secret is to stay, and cannot be used: without it, Argo CD would lose sight of the
/// region.
pub(super) fn lost(terms: &Terms<'_>, published: &Published) -> Option<Finding> {
    let path = kept(terms)?;
    let is_listed = |manifest: &Manifest| manifest.files.iter().any(|file| file.path == path);
    if !published.manifest().is_some_and(is_listed) || published.open_file(&path).is_some() {
        return None;
    }
    let region = &terms.to.region.name;
    let message = format!(
        "{path} of region {region} must stay, as what Argo CD is to be told of its cluster is not known; but it is lost, or not as \
         pouch wrote it"
    );
    let help = "Restore the file from the history; or mend what keeps the ClusterProfile from being used, and the file is written \
                anew. To do without it, remove `delivery.argocd.cluster`.";
    Some(Finding::new(Code::CarryImpossible, message).in_region(region).help(help))
}

/// Tells where Argo CD is told something else of a region's cluster than before: everything of the region goes there.
pub(super) fn redirected(terms: &Terms<'_>, published: &Published) -> Option<Finding> {
    let region = &terms.to.region.name;
    let ArgoRegistration::Described(registration) = &terms.world.cluster(region)?.argocd else { return None };
    let before = ClusterSecret::read(published.open_file(&cluster::file(terms.to.directory()))?)?.registration.way;
    let now = &registration.way;
    let is_checked_otherwise = before.cluster.insecure != now.cluster.insecure
        || before.cluster.ca_data != now.cluster.ca_data
        || before.cluster.tls_server_name != now.cluster.tls_server_name;
    let parts = [
        ("server", before.cluster.server != now.cluster.server),
        ("proxy", before.cluster.proxy_url != now.cluster.proxy_url),
        ("way to check its certificate", is_checked_otherwise),
        ("plugin", before.exec != now.exec || before.config != now.config),
    ];
    let parts: Vec<&str> = parts.into_iter().filter(|(_, differs)| *differs).map(|(part, _)| part).collect();
    let (last, first) = parts.split_last()?;
    let parts = if first.is_empty() { String::from(*last) } else { format!("{} and {last}", first.join(", ")) };
    let mut message = format!("Argo CD is told another {parts} for region {region} than before");
    if before.cluster.server != now.cluster.server {
        message.push_str(&format!(": {} instead of {}", now.cluster.server, before.cluster.server));
    }
    let help = "Check that the ClusterProfile and the provider file say what they should: what is published for the region goes \
                there.";
    Some(Finding::new(Code::ClusterRedirected, message).in_region(region).help(help))
}

/// Tells of a source that has the same Secret: whoever writes it there, and whoever applies the bundle, take it from each
/// other.
pub(super) fn two_writers(terms: &Terms<'_>) -> Option<Finding> {
    let Delivery::ArgoCd(argo) = terms.to.delivery() else { return None };
    let region = &terms.to.region.name;
    let ArgoRegistration::Described(registration) = &terms.world.cluster(region)?.argocd else { return None };
    let name = delivery_name(&registration.name);
    let key = ObjectKey::secret(argo.namespace.clone(), name.as_str().into());
    let object = terms.world.snapshot.get(&key)?;
    let message = format!("{key} is in a source, and pouch writes it for region {region} too");
    let help = "Let one of them write it. If it is there by a controller such as clusterprofile-integration-for-argocd, stop that \
                for this ClusterProfile, or leave `delivery.argocd.cluster` out; if by hand, take it out of the source and off \
                Argo CD's cluster, once Argo CD has the one of the bundle.";
    Some(Finding::new(Code::TwoWriters, message).about(&key).at(&object.origin).in_region(region).help(help))
}
