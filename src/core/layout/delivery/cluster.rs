//! The Secret by which Argo CD knows a region's cluster: `argocd/<directory>/cluster.yaml`.
//!
//! It is the one Secret that stands among bundles in clear, because it holds no credential. What it says of the cluster is
//! a [`Registration`]; its name in Argo CD, its namespace and the fleet's labels follow from the configuration. The fields
//! stand under `stringData`, and not as base64 under `data`: a change of them is read in a diff. The API server writes them
//! into `data`, also where they change under server-side apply; only an entry that leaves `stringData` would stay behind,
//! and the three entries never leave.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::super::file::text;
use super::super::path::{self, BundlePath, delivery_name};
use super::super::place::Layout;
use super::super::sanitise::steers;
use super::super::style::{MANAGED_BY, MANAGED_BY_LABEL};
use crate::config::ArgoCd;
use crate::inventory::argocd::{self as argo, Registration, unfit, unfit_labels};
use crate::json;
use crate::name::{Directory, FleetName, Namespace};
use crate::node::{Interner, Node};
use crate::yaml::emit::Tree;
use crate::yaml::read;

/// The label by which Argo CD finds its Secrets, and its value for clusters.
const TYPE_LABEL: &str = "argocd.argoproj.io/secret-type";
const TYPE: &str = "cluster";

/// The label that names the fleet, by which an ApplicationSet can select the clusters of its regions.
pub const FLEET_LABEL: &str = "pouch/fleet";

/// The label that names the region's folder, for what an ApplicationSet makes of it.
pub const DIRECTORY_LABEL: &str = "pouch/directory";

const FILE: &str = "cluster.yaml";

/// The file of a region's cluster Secret.
pub fn file(directory: &Directory) -> BundlePath {
    path::argocd(directory).join(FILE)
}

/// The region's folder, if a path of the tree is that of a cluster Secret.
pub fn directory_of(path: &str) -> Option<&str> {
    let directory = path.strip_prefix("argocd/")?.strip_suffix(FILE)?.strip_suffix('/')?;
    (!directory.contains('/')).then_some(directory)
}

/// A region's cluster Secret.
pub struct ClusterSecret {
    /// The fleet.
    pub fleet: FleetName,
    /// The region's folder.
    pub directory: Directory,
    /// Argo CD's namespace.
    pub namespace: Namespace,
    /// What Argo CD calls the cluster, which is where the region's Application goes.
    pub called: String,
    /// What Argo CD is told of the cluster.
    pub registration: Registration,
}

impl ClusterSecret {
    /// The cluster Secret of a region.
    pub fn of(layout: &Layout<'_>, argo: &ArgoCd, registration: Registration) -> Self {
        Self {
            fleet: layout.fleet.clone(),
            directory: layout.directory.clone(),
            namespace: argo.namespace.clone(),
            called: argo.destination.filled(layout.directory),
            registration,
        }
    }

    /// The text of its file.
    pub fn text(&self) -> String {
        let Registration { name, labels, way, .. } = &self.registration;
        let kept = labels.iter().filter(|(key, _)| !steers(key));
        let kept = kept.map(|(key, value)| (key.as_str(), Tree::text(value.as_str())));
        let own = [
            (MANAGED_BY_LABEL, MANAGED_BY),
            (TYPE_LABEL, TYPE),
            (FLEET_LABEL, self.fleet.as_str()),
            (DIRECTORY_LABEL, self.directory.as_str()),
        ];
        let labels = Tree::map(kept.chain(own.map(|(key, value)| (key, Tree::text(value)))));
        let metadata = Tree::map([
            ("labels", labels),
            ("name", Tree::text(delivery_name(name))),
            ("namespace", Tree::text(self.namespace.as_str())),
        ]);
        let entries = Tree::map([
            ("config", Tree::text(json::pretty(&argo::config(way)))),
            ("name", Tree::text(self.called.as_str())),
            ("server", Tree::text(way.cluster.server.as_str())),
        ]);
        text(&Tree::map([
            ("apiVersion", Tree::text("v1")),
            ("kind", Tree::text("Secret")),
            ("metadata", metadata),
            ("stringData", entries),
            ("type", Tree::text("Opaque")),
        ]))
    }

    /// The cluster Secret that stands in a file; none if the file is not, to the byte, one that pouch could have written, or
    /// if something in it looks like a credential.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let text = read::text_of(bytes).ok()?;
        let mut interner = Interner::new();
        let mut documents = read::documents(text);
        let document = read::read(&documents.next()?, &mut interner).ok()?;
        if documents.next().is_some() {
            return None;
        }
        let at = |path: &[&str]| document.str_at(path);
        let label = |key: &str| at(&["metadata", "labels", key]);
        let own = [MANAGED_BY_LABEL, TYPE_LABEL, FLEET_LABEL, DIRECTORY_LABEL];
        let labels = document.at(&["metadata", "labels"]).map(Node::entries).unwrap_or_default();
        let labels = labels.iter().filter(|(key, _)| !own.contains(&&**key));
        let labels = labels.map(|(key, value)| Some((key.to_string(), value.as_str()?.to_string())));
        let config = json::read(at(&["stringData", "config"])?, &mut interner).ok()?;
        let registration = Registration {
            name: at(&["metadata", "name"]).filter(|name| name.starts_with("cluster-"))?.to_string(),
            labels: labels.collect::<Option<_>>()?,
            way: argo::of_config(at(&["stringData", "server"])?, &config)?,
            extensions: Vec::new(),
        };
        let is_clean = unfit(&registration.way).is_empty() && unfit_labels(&registration.labels).is_empty();
        let secret = Self {
            fleet: label(FLEET_LABEL)?.into(),
            directory: label(DIRECTORY_LABEL)?.into(),
            namespace: at(&["metadata", "namespace"])?.into(),
            called: at(&["stringData", "name"])?.to_string(),
            registration,
        };
        // Whatever else stands in it is lost on the way, and then it is another text.
        (is_clean && secret.text() == text).then_some(secret)
    }
}

#[cfg(test)]
mod tests;
