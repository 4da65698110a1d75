//! Sealing in the shell: fresh randomness, the clock and age, around the pure codec.

use pouch_core::bundle::Style;
use pouch_core::bundle::draft::Order;
use pouch_core::bundle::sanitise::sanitise;
use pouch_core::config::RegionConfig;
use pouch_core::recipient::Recipient;
use pouch_core::reuse::{self, Context};
use pouch_core::snapshot::Snapshot;
use pouch_core::sops::{self, Ingredients};
use pouch_core::yaml::emit::emit;
use zeroize::Zeroizing;

use super::{Failure, Run};
use crate::age::{self, Prepared};
use crate::ambient::{Ambient, NoEntropy};

/// Seals Secrets for one region.
pub struct Sealer {
    prepared: Vec<Prepared>,
    recipients: Vec<Recipient>,
    time: String,
}

impl Sealer {
    /// Prepares a region's recipients.
    ///
    /// # Errors
    /// Where a recipient cannot be used after all.
    pub fn new(ambient: &Ambient, recipients: &[Recipient]) -> Result<Self, Failure> {
        let prepared = age::prepare(recipients).map_err(|error| Failure::failed(error.to_string(), ""))?;
        Ok(Self { prepared, recipients: recipients.to_vec(), time: ambient.now().to_string() })
    }

    /// Seals one Secret: a data key, IVs and stanzas that nothing else ever uses.
    ///
    /// # Errors
    /// Where there is no entropy, or the result does not pass its own check.
    pub fn seal(
        &self,
        run: &Run<'_>,
        snapshot: &Snapshot,
        region: &RegionConfig,
        order: &Order,
    ) -> Result<Vec<u8>, Failure> {
        let bug = |what: &str| Failure::bug(format!("{what} while sealing {}", order.lands));
        let object = snapshot.get(&order.read).ok_or_else(|| bug("the Secret vanished"))?;
        let payload = object.payload.as_ref().ok_or_else(|| bug("the Secret has no values"))?;
        let tree = || sanitise(object, &order.lands, &order.edits, Style::of(&region.delivery));
        let plain = emit(&tree());

        let mut data_key = Zeroizing::new([0_u8; 32]);
        run.ambient.fill(data_key.as_mut_slice()).map_err(no_entropy)?;
        let mut ivs = vec![[0_u8; 32]; payload.entries().len().saturating_add(1)];
        for iv in &mut ivs {
            run.ambient.fill(iv).map_err(no_entropy)?;
        }
        let stanzas =
            age::stanzas(&data_key, &self.prepared).map_err(|error| Failure::failed(error.to_string(), ""))?;
        let sealed = sops::seal(
            tree(),
            Ingredients {
                data_key: &data_key,
                ivs: &mut ivs.into_iter(),
                last_modified: &self.time,
                recipients: &self.recipients,
                stanzas: &stanzas,
            },
        )
        .map_err(|error| bug(&error.to_string()))?;

        let context = Context {
            fleet: &run.fleet.name,
            directory: &region.directory,
            landing: &order.lands,
            recipients: &region.recipients,
        };
        let leaves = reuse::pair(&sealed.leaves, payload).ok_or_else(|| bug("values went missing"))?;
        let body = sealed.text.as_bytes();
        let mut file = reuse::header(&run.keys.current, &context, plain.as_bytes(), body, &leaves).into_bytes();
        file.extend_from_slice(body);
        Ok(file)
    }
}

fn no_entropy(error: NoEntropy) -> Failure {
    Failure::failed(error.to_string(), "Nothing is published; see why the machine has no entropy.")
}
