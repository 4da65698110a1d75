//! Delivery: how a region's bundle reaches the region; a region's settings override the fleet's.

use alloc::boxed::Box;

use schemars::JsonSchema;
use serde::Deserialize;

use super::argocd::{ArgoCd, ArgoCdFile, ArgoMode, Whole};
use super::error::{Faults, FieldPath};
use super::flux::{Flux, FluxFile, OCI_REPOSITORY};
use super::output::Output;
use super::registry::OCI_SCHEME;
use super::setting::{Show, given};
use crate::name::Namespace;
use crate::yaml::emit::Tree;

/// How a region's bundle reaches the region.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Delivery {
    #[default]
    /// None: pouch emits no delivery objects.
    None,
    /// By Flux's kustomize-controller.
    Flux(Flux),
    /// By Argo CD.
    ArgoCd(ArgoCd),
}

impl Delivery {
    /// Who applies the bundle, for people.
    pub fn consumer(&self) -> &'static str {
        match self {
            Delivery::None => "a consumer",
            Delivery::Flux(_) => "Flux",
            Delivery::ArgoCd(argo) if argo.mode == ArgoMode::Ksops => "Argo CD with KSOPS",
            Delivery::ArgoCd(_) => "Argo CD",
        }
    }

    /// Whether a bundle is applied leaf by leaf. Argo CD renders a region as a whole: several Applications would prune
    /// what they hand over to each other.
    pub fn is_by_leaf(&self) -> bool {
        !matches!(self, Delivery::ArgoCd(_))
    }

    /// Whether the consumer reads OCI artifacts from a registry, and not a repository of git.
    pub fn takes_artifacts(&self) -> bool {
        match self {
            Delivery::None => false,
            Delivery::Flux(flux) => flux.source_kind == OCI_REPOSITORY,
            Delivery::ArgoCd(argo) => argo.repo_url.starts_with(OCI_SCHEME),
        }
    }

    /// The folder of the bundles as the consumer sees it: an artifact begins below it.
    pub fn folder_in<'o>(&self, output: &'o Output) -> &'o str {
        if output.oci.is_some() && self.takes_artifacts() { "" } else { &output.path }
    }

    /// The most objects of a region that its consumer was seen to apply.
    ///
    /// Measured on two cores: Flux applies 6,000 objects in a minute and a half. Argo CD 3.2 needs two minutes for 2,000
    /// and more than seven for 6,000, if it comes to the end at all; KSOPS opens 1,000 Secrets in 6 s and 3,000 in 95 s,
    /// where Argo CD ends it after 90 s.
    pub fn most_objects(&self) -> usize {
        match self {
            Delivery::None | Delivery::Flux(_) => 5000,
            Delivery::ArgoCd(argo) => match argo.mode {
                ArgoMode::Plugin => 3000,
                ArgoMode::Ksops => 2000,
            },
        }
    }
}

impl Show for Delivery {
    fn show(&self) -> Option<Tree<'_>> {
        Some(match self {
            Delivery::None => Tree::text("none"),
            Delivery::Flux(fields) => given([("flux", fields.show())]),
            Delivery::ArgoCd(fields) => given([("argocd", fields.show())]),
        })
    }
}

/// How a region's bundle reaches the region.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum RegionDeliveryFile {
    /// As the fleet's `delivery` says.
    Word(DeliveryWord),
    /// With differences to the fleet's `delivery`; exactly one of `flux` and `argocd`.
    Map(Box<DeliveryFile>),
}

impl Default for RegionDeliveryFile {
    fn default() -> Self {
        Self::Word(DeliveryWord::None)
    }
}

/// Who applies a region's bundle.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum DeliveryWord {
    /// Nobody that pouch writes objects for.
    None,
    /// Flux's kustomize-controller.
    Flux,
    /// Argo CD.
    Argocd,
}

/// What the emitted delivery objects say.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct DeliveryFile {
    /// What the Flux Kustomizations say.
    pub(super) flux: Option<FluxFile>,
    /// What the Argo CD objects say.
    pub(super) argocd: Option<ArgoCdFile>,
}

/// The fleet's delivery, and what it is resolved with.
#[derive(Clone, Copy)]
pub(super) struct FleetDelivery<'a> {
    pub(super) typed: &'a DeliveryFile,
    pub(super) system_namespace: &'a Namespace,
    pub(super) whole: Whole<'a>,
}

impl FleetDelivery<'_> {
    /// Resolves one region's delivery; `directory` is the region's folder, `path` the path of the region's own `delivery`.
    pub(super) fn resolve(
        &self,
        typed: &RegionDeliveryFile,
        directory: &str,
        path: &FieldPath,
        faults: &mut Faults,
    ) -> Delivery {
        match typed {
            RegionDeliveryFile::Word(DeliveryWord::None) => Delivery::None,
            RegionDeliveryFile::Word(DeliveryWord::Flux) => self.flux(None, directory, path, faults),
            RegionDeliveryFile::Word(DeliveryWord::Argocd) => self.argocd(None, directory, path, faults),
            RegionDeliveryFile::Map(map) => match (&map.flux, &map.argocd) {
                (Some(over), None) => self.flux(Some(over), directory, path, faults),
                (None, Some(over)) => self.argocd(Some(over), directory, path, faults),
                _ => {
                    let help = "Write `flux`, `argocd`, `none`, or a map with `flux` or `argocd` in it.";
                    faults.add(path, "a region has exactly one way of delivery", help);
                    Delivery::None
                }
            },
        }
    }

    /// Checks what the fleet's `delivery` says although no region uses it yet.
    pub(super) fn check_unused<'r>(&self, mut used: impl Iterator<Item = &'r Delivery> + Clone, faults: &mut Faults) {
        let path = FieldPath::root().key("delivery");
        if self.typed.flux.is_some() && !used.clone().any(|delivery| matches!(delivery, Delivery::Flux(_))) {
            self.flux(None, "region", &path, faults);
        }
        if self.typed.argocd.is_some() && !used.any(|delivery| matches!(delivery, Delivery::ArgoCd(_))) {
            self.argocd(None, "region", &path, faults);
        }
    }

    fn flux(&self, over: Option<&FluxFile>, directory: &str, path: &FieldPath, faults: &mut Faults) -> Delivery {
        let fleet = self.typed.flux.as_ref();
        let own = path.key("flux");
        if let (Some(over), Some(fleet)) = (over, fleet) {
            over.check_kept(fleet, &own, faults);
        }
        let given = |key: &str| over.is_some_and(|over| over.gives(key));
        let at = |key: &str| self.place(fleet.is_some(), given(key), &own, "flux").key(key);
        let merged = over.unwrap_or(&FluxFile::default()).or(fleet);
        let flux = merged.resolve(directory, &at, faults);
        self.check_place(&flux.namespace, &at("namespace"), faults);
        Delivery::Flux(flux)
    }

    fn argocd(&self, over: Option<&ArgoCdFile>, directory: &str, path: &FieldPath, faults: &mut Faults) -> Delivery {
        let fleet = self.typed.argocd.as_ref();
        let own = path.key("argocd");
        let given = |key: &str| over.is_some_and(|over| over.gives(key));
        let at = |key: &str| self.place(fleet.is_some(), given(key), &own, "argocd").key(key);
        let merged = over.unwrap_or(&ArgoCdFile::default()).or(fleet);
        let argo = merged.resolve(directory, self.whole, &at, faults);
        self.check_place(&argo.namespace, &at("namespace"), faults);
        Delivery::ArgoCd(argo)
    }

    /// The map that a field stands in: one that is nowhere is reported at the fleet's map if there is one, else at the
    /// region's.
    fn place(&self, has_fleet: bool, is_given: bool, own: &FieldPath, consumer: &str) -> FieldPath {
        if is_given || !has_fleet { own.clone() } else { FieldPath::root().key("delivery").key(consumer) }
    }

    /// Checks the namespace of delivery objects: nothing that is published may land there.
    fn check_place(&self, namespace: &Namespace, path: &FieldPath, faults: &mut Faults) {
        if namespace == self.system_namespace {
            let message =
                "delivery objects would be in the system namespace, and then nothing could be published there";
            faults.add(path, message, "Use a namespace of its own, such as `flux-system` or `argocd`.");
        }
    }
}
