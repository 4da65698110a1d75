//! Delivery: how a region's bundle reaches the region; a region's settings override the fleet's.

use alloc::boxed::Box;

use schemars::JsonSchema;
use serde::Deserialize;

use super::argocd::{ArgoCd, ArgoCdFile, ArgoMode, Whole};
use super::error::{Faults, FieldPath};
use super::flux::{Flux, FluxFile, OCI_REPOSITORY};
use super::output::Output;
use super::registry::OCI_SCHEME;
use super::setting::{DEFAULTS, Show, given};
use crate::name::{FleetName, Namespace};
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
    /// As `regionDefaults.delivery` says for this consumer.
    Word(DeliveryWord),
    /// With settings that count before those of `regionDefaults.delivery`; exactly one of `flux` and `argocd`.
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

/// The delivery that regions share, and what each is resolved with.
#[derive(Clone, Copy)]
pub(super) struct FleetDelivery<'a> {
    pub(super) fleet: &'a FleetName,
    pub(super) shared: &'a RegionDeliveryFile,
    pub(super) system_namespace: &'a Namespace,
    pub(super) whole: Whole<'a>,
}

impl FleetDelivery<'_> {
    /// Resolves the delivery of the region with a folder and a path.
    pub(super) fn resolve(
        &self,
        typed: &RegionDeliveryFile,
        directory: &str,
        region: &FieldPath,
        faults: &mut Faults,
    ) -> Delivery {
        let path = &region.key("delivery");
        match typed {
            RegionDeliveryFile::Word(DeliveryWord::None) => Delivery::None,
            RegionDeliveryFile::Word(DeliveryWord::Flux) => self.flux(FluxFile::default(), directory, path, faults),
            RegionDeliveryFile::Word(DeliveryWord::Argocd) => {
                self.argocd(ArgoCdFile::default(), directory, path, faults)
            }
            RegionDeliveryFile::Map(map) => match (&map.flux, &map.argocd) {
                (Some(flux), None) => self.flux(flux.clone(), directory, path, faults),
                (None, Some(argo)) => self.argocd(argo.clone(), directory, path, faults),
                (None, None) => {
                    let help = "Write `flux`, `argocd`, `none`, or a map with `flux` or `argocd` in it.";
                    faults.add(path, "a region has exactly one way of delivery", help);
                    Delivery::None
                }
                (Some(_), Some(_)) => {
                    let message = "the region has settings of Flux and of Argo CD, and takes one of them";
                    let help = "Write `delivery: flux`, `delivery: argocd` or `delivery: none` in the region.";
                    faults.add_at_key(region, message, help);
                    Delivery::None
                }
            },
        }
    }

    /// Checks the settings that regions share although no region uses them yet.
    pub(super) fn check_unused<'r>(&self, mut used: impl Iterator<Item = &'r Delivery> + Clone, faults: &mut Faults) {
        let RegionDeliveryFile::Map(shared) = self.shared else { return };
        let path = FieldPath::root().key(DEFAULTS).key("delivery");
        if let Some(flux) = &shared.flux
            && !used.clone().any(|delivery| matches!(delivery, Delivery::Flux(_)))
        {
            self.flux(flux.clone(), "region", &path, faults);
        }
        if let Some(argo) = &shared.argocd
            && !used.any(|delivery| matches!(delivery, Delivery::ArgoCd(_)))
        {
            // A region may say it.
            let repo_url = argo.repo_url.clone().or_else(|| Some("https://example.com/".into()));
            self.argocd(ArgoCdFile { repo_url, ..argo.clone() }, "region", &path, faults);
        }
    }

    fn flux(&self, typed: FluxFile, directory: &str, path: &FieldPath, faults: &mut Faults) -> Delivery {
        let path = path.key("flux");
        if let RegionDeliveryFile::Map(shared) = self.shared
            && let Some(shared) = &shared.flux
        {
            typed.check_kept(shared, &path, faults);
        }
        let flux = typed.resolve(self.fleet, directory, &path, faults);
        self.check_place(&flux.namespace, &path.key("namespace"), faults);
        Delivery::Flux(flux)
    }

    fn argocd(&self, typed: ArgoCdFile, directory: &str, path: &FieldPath, faults: &mut Faults) -> Delivery {
        let path = path.key("argocd");
        let argo = typed.resolve(directory, self.whole, &path, faults);
        self.check_place(&argo.namespace, &path.key("namespace"), faults);
        Delivery::ArgoCd(argo)
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
