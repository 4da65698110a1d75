//! Whom a key pair is for: what its file and its Secret are called, and what to do with its recipient.

use clap::ValueEnum;
use pouch_core::config::{Delivery, Fleet, Flux, RegionConfig};
use pouch_core::listing::all;
use pouch_core::name::{Name, Namespace, ObjectKey, is_directory};
use pouch_core::recipient::Recipient;
use pouch_core::report::{escape, shell};

use crate::error::Failure;
use crate::run::keyfiles::{ARGOCD_NAMESPACE, FLUX_SECRET, KeyPair, MakeError, argocd_secret};

/// Who decrypts on the region.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Consumer {
    /// Flux's kustomize-controller
    Flux,
    /// Argo CD's repo-server
    Argocd,
}

/// Whom the pair is for.
pub(super) struct Subject<'f> {
    /// The region's name; none for escrow.
    region: Option<&'f str>,
    config: Option<&'f RegionConfig>,
    /// What the identity's file is called.
    pub(super) file: String,
}

impl<'f> Subject<'f> {
    /// The pair that opens every region's bundle.
    pub(super) fn escrow() -> Self {
        Self { region: None, config: None, file: "escrow".to_owned() }
    }

    /// The region of this name, which the configuration need not have.
    pub(super) fn region(name: &'f str, fleet: Option<&'f Fleet>) -> Result<Self, Failure> {
        let config = fleet.and_then(|fleet| fleet.regions.values().find(|region| region.name == *name));
        let file = config.map_or_else(|| name.to_owned(), |config| config.directory.to_string());
        if !is_directory(&file) {
            return Err(Failure::usage(
                MakeError::Name(name.to_owned(), "region").to_string(),
                "A region with another name needs a `directory`: add it to the configuration first.",
            ));
        }
        Ok(Self { region: Some(name), config, file })
    }

    pub(super) fn what(&self) -> &'static str {
        match self.region {
            Some(_) => "opens the region's bundle; the region needs it, and you need a copy elsewhere",
            None => "opens every region's bundle; keep it offline, and nowhere else",
        }
    }

    /// The Secret that the region needs, by the region's own delivery, else as other regions have it.
    pub(super) fn secret(&self, wanted: Option<Consumer>, fleet: Option<&Fleet>) -> ObjectKey {
        let own = self.config.map(|config| &config.delivery);
        let others = || fleet.into_iter().flat_map(|fleet| fleet.regions.values()).map(|region| &region.delivery);
        let of_argocd = |delivery: &&Delivery| matches!(delivery, Delivery::ArgoCd(_));
        // A region that is new will be delivered to as the others, if all of them are by Argo CD.
        let is_like_others = own.is_none() && others().next().is_some() && others().all(|other| of_argocd(&other));
        let consumer = match is_like_others || own.as_ref().is_some_and(of_argocd) {
            true => Consumer::Argocd,
            false => Consumer::Flux,
        };
        let consumer = wanted.unwrap_or(consumer);
        let (namespace, name) = match consumer {
            Consumer::Flux => {
                let own =
                    own.into_iter().find_map(flux).map(|flux| (flux.namespace.clone(), flux.decryption_secret.clone()));
                let (namespace, name) = FLUX_SECRET;
                own.or_else(|| self.as_others(fleet?)).unwrap_or_else(|| (namespace.into(), name.into()))
            }
            Consumer::Argocd => {
                let namespace = own.into_iter().chain(others()).find_map(|delivery| match delivery {
                    Delivery::ArgoCd(argo) => Some(argo.namespace.clone()),
                    _ => None,
                });
                (namespace.unwrap_or_else(|| ARGOCD_NAMESPACE.into()), Name::from(argocd_secret(&self.file).as_str()))
            }
        };
        ObjectKey::secret(namespace, name)
    }

    /// The Secret that a region would have whose Flux is set up as that of the others. Where each has one of its own, it
    /// is named by the region's folder.
    fn as_others(&self, fleet: &Fleet) -> Option<(Namespace, Name)> {
        let mut others =
            fleet.regions.values().filter_map(|region| Some((region.directory.as_str(), flux(&region.delivery)?)));
        let (directory, first) = others.next()?;
        let name = first.decryption_secret.as_str();
        let rest: Vec<bool> = others.map(|(_, flux)| flux.decryption_secret == first.decryption_secret).collect();
        let is_shared = match rest.is_empty() {
            true => !name.contains(directory),
            false => rest.iter().all(|is_same| *is_same),
        };
        let name = if is_shared { name.to_owned() } else { name.replace(directory, &self.file) };
        Some((first.namespace.clone(), Name::from(name.as_str())))
    }

    /// What to do with the recipient: what to write, as it stands there then, and what to run.
    pub(super) fn next(&self, key: &KeyPair, fleet: Option<&Fleet>) -> String {
        let recipient = &key.recipient;
        let joined = |others: Vec<&Recipient>| all(others.into_iter().chain([recipient]));
        match (self.region, self.config) {
            (None, _) => {
                let others = fleet.map(|fleet| fleet.escrow.iter().collect()).unwrap_or_default();
                format!(
                    "write into pouch.yaml:\n  escrowRecipients: [{}]\nthen run `pouch rekey`, which each region holds \
                     until --accept-recipients",
                    joined(others)
                )
            }
            (Some(region), Some(config)) => {
                let is_own = |other: &&Recipient| fleet.is_none_or(|fleet| !fleet.escrow.contains(*other));
                let add = match &config.recipients_file {
                    Some(file) => {
                        format!("add a line to {}, the recipients of region {region}:\n  {recipient}", escape(file))
                    }
                    None => format!(
                        "write into pouch.yaml, for the recipients of region {region}:\n  recipients: [{}]",
                        joined(config.recipients.iter().filter(is_own).collect())
                    ),
                };
                // For the first key of a region nothing is sealed yet.
                if !config.recipients.iter().any(|other| is_own(&other)) {
                    return add;
                }
                let rekey = format!("pouch rekey --region {}", shell::word(region));
                format!("{add}\nthen run `{rekey}`, which is held until --accept-recipients")
            }
            (Some(region), None) => {
                let add =
                    if fleet.is_some() { "add the region to pouch.yaml" } else { "when pouch.yaml is there, add" };
                let system = fleet.map_or("kcm-system", |fleet| fleet.system_namespace.as_str());
                // Where regions have one of two consumers, each says which.
                let has = |is_it: fn(&Delivery) -> bool| {
                    fleet.is_some_and(|fleet| fleet.regions.values().any(|region| is_it(&region.delivery)))
                };
                let is_open = has(|it| matches!(it, Delivery::Flux(_))) && has(|it| matches!(it, Delivery::ArgoCd(_)));
                let delivery = if is_open { "\n      delivery: flux" } else { "" };
                format!(
                    "{add}, with the namespaces whose Credentials may go there:\n  regions:\n    {region}:\n      \
                     recipients: [{recipient}]\n      namespaces: {{allowed: [{system}]}}{delivery}"
                )
            }
        }
    }
}

fn flux(delivery: &Delivery) -> Option<&Flux> {
    match delivery {
        Delivery::Flux(flux) => Some(flux),
        _ => None,
    }
}
