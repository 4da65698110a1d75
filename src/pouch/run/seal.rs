//! Sealing in the shell: fresh randomness, the clock and age, around the pure codec.

use pouch_core::destination::Destination;
use pouch_core::layout::Marks;
use pouch_core::layout::sanitise::sanitise;
use pouch_core::name::ObjectKey;
use pouch_core::recipient::Recipient;
use pouch_core::region::content::Order;
use pouch_core::region::envelope::Envelopes;
use pouch_core::region::rekey::Opened;
use pouch_core::reuse::{self, Context};
use pouch_core::secret::Payload;
use pouch_core::snapshot::Snapshot;
use pouch_core::sops::{self, Ingredients};
use pouch_core::yaml::emit::{Tree, emit};
use zeroize::Zeroizing;

use super::Run;
use crate::age::{self, Prepared};
use crate::ambient::{Ambient, NoEntropy};
use crate::error::Failure;

/// Files that a thread makes before it wipes its stack: few, so that a small region keeps all threads busy too.
pub const FILES_PER_TASK: usize = 16;

/// Seals Secrets for one region.
pub struct Sealer {
    prepared: Vec<Prepared>,
    recipients: Vec<Recipient>,
    time: String,
}

impl Sealer {
    /// Prepares a region's recipients.
    pub fn new(ambient: &Ambient, recipients: &[Recipient]) -> Result<Self, Failure> {
        let prepared = age::prepare(recipients).map_err(|error| Failure::failed(error.to_string(), ""))?;
        Ok(Self { prepared, recipients: recipients.to_vec(), time: ambient.now().to_string() })
    }

    /// Seals one Secret: a data key, IVs and stanzas that nothing else ever uses. Where what is `proposed` is that very
    /// Secret, sealed by pouch for the same recipients, it is given back.
    pub fn seal(
        &self,
        run: &Run<'_>,
        snapshot: &Snapshot,
        to: &Destination<'_>,
        (order, proposed): (&Order, Option<Vec<u8>>),
    ) -> Result<Vec<u8>, Failure> {
        let bug = |what: &str| Failure::bug(format!("{what} while sealing {}", order.lands));
        let with = Envelopes { fleet: run.fleet, directory: to.directory(), key: Some(run.key()?) };
        let object = order.source(snapshot, &with).ok_or_else(|| bug("the Secret vanished"))?;
        let payload = object.payload.as_ref().ok_or_else(|| bug("the Secret has no values"))?;
        let tree = sanitise(&object, &order.lands, &order.edits, Marks::of(to), None);
        let plain = emit(&tree);
        let context = Self::context(run, to, &order.lands);
        let is_same =
            |bytes: &Vec<u8>| reuse::verify(run.keys, &context, plain.as_bytes(), bytes) == Some(reuse::Under::Current);
        match proposed.filter(is_same) {
            Some(bytes) => Ok(bytes),
            None => self.seal_tree(run, to, &order.lands, tree, &plain, payload),
        }
    }

    /// What a file's tags are for, beside its content.
    fn context<'c>(run: &'c Run<'_>, to: &'c Destination<'_>, lands: &'c ObjectKey) -> Context<'c> {
        let (directory, recipients) = (to.directory(), &to.region.recipients);
        Context { fleet: &run.fleet.name, directory, landing: lands, recipients }
    }

    /// Seals a Secret that was published and opened, as it is.
    pub fn seal_again(
        &self,
        run: &Run<'_>,
        to: &Destination<'_>,
        lands: &ObjectKey,
        opened: &Opened,
    ) -> Result<Vec<u8>, Failure> {
        self.seal_tree(run, to, lands, Tree::of(&opened.document), &opened.plain, &opened.payload)
    }

    /// `plain` is the tree as emitted, `payload` its values.
    fn seal_tree(
        &self,
        run: &Run<'_>,
        to: &Destination<'_>,
        lands: &ObjectKey,
        tree: Tree<'_>,
        plain: &str,
        payload: &Payload,
    ) -> Result<Vec<u8>, Failure> {
        const LENGTH: usize = 32;
        let bug = |what: &str| Failure::bug(format!("{what} while sealing {lands}"));
        // The data key, an IV for each value and one for the MAC, asked for at once.
        let pieces = payload.entries().len() + 2;
        let mut random = Zeroizing::new(vec![0_u8; LENGTH * pieces]);
        run.session.ambient.fill(&mut random).map_err(no_entropy)?;
        let (pieces, _) = random.as_chunks::<LENGTH>();
        let (data_key, ivs) = pieces.split_first().ok_or_else(|| bug("randomness went missing"))?;
        let stanzas = age::stanzas(data_key, &self.prepared).map_err(|error| Failure::failed(error.to_string(), ""))?;
        let sealed = sops::seal(
            tree,
            Ingredients {
                data_key,
                ivs: &mut ivs.iter().copied(),
                last_modified: &self.time,
                recipients: &self.recipients,
                stanzas: &stanzas,
            },
        )
        .map_err(|error| bug(&error.to_string()))?;

        let context = Self::context(run, to, lands);
        let leaves = reuse::pair(&sealed.leaves, payload).ok_or_else(|| bug("values went missing"))?;
        let body = sealed.text.as_bytes();
        let mut file = reuse::header(run.key()?, &context, plain.as_bytes(), body, &leaves).into_bytes();
        file.extend_from_slice(body);
        Ok(file)
    }
}

fn no_entropy(error: NoEntropy) -> Failure {
    Failure::failed(error.to_string(), "Nothing is published; see why the machine has no entropy.")
}
