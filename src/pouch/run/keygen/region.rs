//! The Secret that holds an identity, and the region's cluster, on which it can be made.

use std::path::Path;

use pouch_core::name::{ObjectKey, Scope};
use pouch_core::report::shell;
use pouch_core::yaml::emit::{Tree, emit};
use zeroize::Zeroizing;

use crate::cluster::request::{Resource, Trial};
use crate::cluster::{Cluster, Created};
use crate::error::Failure;
use crate::run::keyfiles::KeyPair;
use crate::session::Session;
use crate::survey::Reach;
use crate::ui::Ui;

/// The Secret that holds the identity on the region.
pub(super) struct Wanted {
    pub(super) key: ObjectKey,
    pub(super) entry: String,
}

impl Wanted {
    pub(super) fn manifest(&self, key: &KeyPair) -> Zeroizing<String> {
        self.with(Tree::Secret(key.text.clone()))
    }

    fn with(&self, identity: Tree<'_>) -> Zeroizing<String> {
        emit(&Tree::map([
            ("apiVersion", Tree::text("v1")),
            ("kind", Tree::text("Secret")),
            (
                "metadata",
                Tree::map([
                    ("name", Tree::text(self.key.name.as_str())),
                    ("namespace", Tree::text(self.key.namespace_text())),
                ]),
            ),
            ("stringData", Tree::map([(self.entry.as_str(), identity)])),
            ("type", Tree::text("Opaque")),
        ]))
    }
}

/// The region's cluster, on which the Secret can be made.
pub(super) struct Region(Cluster);

impl Region {
    /// Connects, and has the server check everything but the key.
    pub(super) fn connect(session: &Session, reach: &Reach, wanted: &Wanted) -> Result<Self, Failure> {
        let Session { ambient, ui, stop, .. } = session;
        let cluster = Cluster::connect(&reach.wanted, reach.patience, ambient, &stop.flag())?;
        if let Some(warning) = cluster.warning() {
            ui.warn(&warning);
        }
        let region = Self(cluster);
        region.create(wanted, &wanted.with(Tree::text("to be made")), Trial::Dry).map(|()| region)
    }

    /// Makes the Secret.
    pub(super) fn make(&self, wanted: &Wanted, text: &str, file: &Path, ui: &Ui) -> Result<(), Failure> {
        self.create(wanted, text, Trial::Real).map_err(|failure| Failure {
            help: format!(
                "The identity is in {}. Once it is cured: kubectl -n {} create secret generic {} --from-file={}={}",
                file.display(),
                wanted.key.namespace_text(),
                wanted.key.name,
                wanted.entry,
                shell::word(&file.display().to_string())
            ),
            ..failure
        })?;
        let Self(cluster) = self;
        ui.note(&format!("made {} on cluster {} at {}", wanted.key, cluster.context, cluster.server));
        Ok(())
    }

    fn create(&self, wanted: &Wanted, text: &str, trial: Trial) -> Result<(), Failure> {
        let Self(cluster) = self;
        let key = &wanted.key;
        let secrets = Resource::core("Secret", "secrets", Scope::Namespaced);
        let created = cluster.create(&secrets, key, text, trial).map_err(|broken| {
            let message = match trial {
                Trial::Dry => cluster.unwritten(&key.to_string(), &broken),
                Trial::Real if broken.is_refusal() => cluster.unwritten(&key.to_string(), &broken),
                Trial::Real => {
                    format!("cluster {} did not say whether it made {key}: {}", cluster.context, broken.what())
                }
            };
            Failure::unavailable(message, broken.help())
        })?;
        match created {
            Created::Made => Ok(()),
            Created::There => Err(Failure::usage(
                format!("cluster {} has {key} already, and nothing is overwritten", cluster.context),
                "To add an identity beside the old one, use --manifest FILE without a context, and then kubectl patch \
                 --patch-file FILE: the entry is called as the identity's file, so give that another name.",
            )),
            Created::Forbidden => Err(Failure::unavailable(
                cluster.refusal("create", &secrets, key.namespace.as_ref(), None),
                "Grant it there, or use a context or --as of somebody who may.",
            )),
            Created::NoNamespace => Err(Failure::usage(
                format!("cluster {} has no namespace {}", cluster.context, key.namespace_text()),
                "Install Flux or Argo CD there first, or choose the context of the region's cluster.",
            )),
        }
    }
}
