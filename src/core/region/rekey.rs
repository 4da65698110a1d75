//! Rekey: a published bundle's Secrets opened again, and the proof that nothing of the old sealing is left.
//!
//! A region is sealed anew as a whole or left alone. From the sources that is what a plan does; here
//! stand the reasons against it that only such a run has, and the other way, for which the sources need
//! not be there: [`reopen`] says what of a published bundle can be sealed anew, [`open`] opens one file,
//! and [`prove`] looks at the result as a stranger would. Nothing here knows how a data key is unwrapped
//! or what sealing draws by lot.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use zeroize::Zeroizing;

use super::allowances::Allowances;
use super::brake::{self, BundleName, Load, added_recipients};
use super::change::{Action, Change, Hold, Reason, Sealing, Values};
use super::history::History;
use super::input::empty_manifest;
use super::labels::{SEALED, labels};
use super::published::{Files, Published, document};
use super::resealing::impossible;
use crate::config::Acceptance;
use crate::destination::Destination;
use crate::finding::{Class, Code, Finding};
use crate::layout::BundlePath;
use crate::layout::manifest::{Manifest, ManifestObject};
use crate::listing::{all, beside_first};
use crate::name::{ObjectKey, Region};
use crate::node::{Key, Node};
use crate::recipient::Recipient;
use crate::reuse::{self, Context, KeyRing};
use crate::secret::Payload;
use crate::sops::{self, OpenError};
use crate::yaml::emit::{Tree, emit};

/// What to do about an unsigned bundle that is to be opened with identities.
const UNSIGNED_TO_OPEN: &str = "If the reuse key changed, add the old one to `reuseKey.previous`; if the old one is \
                                lost, use `pouch rekey --new-reuse-key`, without --identity where `bundle.yaml` is \
                                damaged.";

/// The finding for a region of which nothing is published in `place`, so that there is nothing to seal anew.
pub fn unpublished(region: &Region, place: &str) -> Finding {
    impossible(region, format!("nothing is published for region {region} in {place}")).help(
        "Check the name of the folder or branch and `output.path`, or publish the region first with `pouch render` or \
         `pouch publish`.",
    )
}

/// A published bundle whose Secrets are to be opened and sealed anew, everything else untouched.
pub struct Reopened {
    /// The manifest as it will be; the hashes of Secrets are the published ones.
    pub manifest: Manifest,
    /// Who could read the bundle so far.
    pub before: Vec<Recipient>,
    /// What changes.
    pub changes: Vec<Change>,
    /// What holds the region; empty where its files may be opened.
    pub holds: Vec<Hold>,
    /// The acceptances that let something through.
    pub accepted: Vec<Acceptance>,
    /// What else is worth knowing.
    pub findings: Vec<Finding>,
}

/// Decides whether a published bundle may be sealed anew for a destination's recipients; none if nothing is published.
///
/// What pouch itself published last is sealed anew, whatever stands there now, and recipients are compared with that. If
/// nobody vouches for the bundle ([`Published::unproved`]), its own word is taken.
pub fn reopen(
    to: &Destination<'_>,
    standing: &Published,
    history: &History,
    allowances: &Allowances,
) -> Option<Reopened> {
    let Destination { fleet, region } = *to;
    let published = history.last(standing);
    let is_there = core::ptr::eq(published, standing);
    let (mut holds, mut findings) = (Vec::new(), Vec::new());
    for finding in standing.findings_beside(published, to.directory()) {
        match finding.code {
            // There are no sources to write it anew from.
            Code::NotAsPublished if is_there => {
                let help = "Restore the file, or leave out --identity and use the sources.";
                holds.push(Hold::fast(impossible(&region.name, finding.message).help(help)));
            }
            Code::ForeignFile if allowances.removes_foreign(to) => {}
            Code::UnsignedBundle => holds.push(Hold::fast(finding.help(UNSIGNED_TO_OPEN).in_region(&region.name))),
            code if code.class() == Class::Held => holds.push(Hold::fast(finding.in_region(&region.name))),
            _ => findings.push(finding.in_region(&region.name)),
        }
    }
    let Some(manifest) = published.manifest() else {
        let manifest = empty_manifest(to);
        let held =
            Reopened { manifest, before: Vec::new(), changes: Vec::new(), holds, accepted: Vec::new(), findings };
        return (!held.holds.is_empty()).then_some(held);
    };
    let secrets = || manifest.objects.iter().filter(|object| object.key.kind.is_secret());
    let resealed = |object: &ManifestObject| {
        let claimants = object.needed_by.iter().map(|needed_by| needed_by.by.clone()).collect();
        let is_other = *object.readers(manifest) != *region.recipients;
        let reasons = is_other.then_some(Reason::Recipients).into_iter().chain([Reason::Asked]).collect();
        let sealing = Some(Sealing { values: Values::Same, reasons });
        Change { sealing, ..Change::of(&object.key, Action::Resealed, claimants) }
    };
    let changes: Vec<Change> = secrets().map(resealed).collect();
    let bundle = BundleName { fleet: &fleet.name, directory: to.directory() };
    let load = Load {
        added_recipients: &added_recipients(&manifest.recipients, &region.recipients),
        secrets: changes.len(),
        ..Load::of(bundle, &region.name, &history.spent)
    };
    let braked = brake::hold(&load, &fleet.limits, &allowances.accepted);
    holds.extend(braked.holds);
    let before = manifest.recipients.clone();
    let mut manifest = Manifest { recipients: region.recipients.clone(), ..manifest.clone() };
    manifest.objects.iter_mut().for_each(|object| object.recipients.clear());
    Some(Reopened { manifest, before, changes, holds, accepted: braked.accepted, findings })
}

/// What a sealed file holds.
pub struct Opened {
    /// The document without its `sops` block, its values readable.
    pub document: Node,
    /// The same as the emitter writes it.
    pub plain: Zeroizing<String>,
    /// The Secret's entries.
    pub payload: Payload,
}

/// Why a published file is not sealed anew. Nothing of its content is repeated.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unopened {
    /// It is not a sealed document with pouch's header.
    #[error("it is no sealed file as pouch writes it")]
    Form,
    /// Its stanzas are for other recipients than its manifest says.
    #[error("it is sealed for other recipients than its bundle")]
    Recipients,
    /// No identity opens one of its stanzas.
    #[error("no identity that was given opens it")]
    Identity,
    /// Its values or its MAC do not open.
    #[error("{0}")]
    Open(#[from] OpenError),
    /// It says that it is another object.
    #[error("it holds another object, so it was moved here")]
    Elsewhere,
    /// Its tag does not fit.
    #[error("its tag does not fit: it was made for another place, or from another document")]
    Tag,
}

/// Gives the data key of stanzas (pairs of recipient and armored age file), if one of them can be unwrapped.
pub type Unwrap<'a> = dyn Fn(&[(String, String)]) -> Option<Zeroizing<[u8; 32]>> + 'a;

/// Opens one sealed file of a bundle and verifies everything that can be verified: stanzas, MAC, the object's own name,
/// and the tag, if its key is at hand.
///
/// The key may be gone for a file that was carried over since the reuse key changed; then the manifest's hash vouches
/// for the file.
///
/// The context's recipients are those of the published manifest.
///
/// # Errors
/// Where anything does not fit.
pub fn open(keys: &KeyRing, context: &Context<'_>, file: &[u8], unwrap: &Unwrap<'_>) -> Result<Opened, Unopened> {
    reuse::split(file).ok_or(Unopened::Form)?;
    let sealed = document(file).ok_or(Unopened::Form)?;
    let stanzas = sops::stanzas(&sealed);
    if !stanzas.iter().map(|(recipient, _)| recipient.as_str()).eq(context.recipients.iter().map(Recipient::as_str)) {
        return Err(Unopened::Recipients);
    }
    let data_key = unwrap(&stanzas).ok_or(Unopened::Identity)?;
    let document = sops::decrypt(&sealed, &data_key)?;
    let landing = context.landing;
    let same = document.str_at(&["kind"]) == Some(landing.kind.kind.as_str())
        && document.str_at(&["metadata", "name"]) == Some(landing.name.as_str())
        && document.str_at(&["metadata", "namespace"]).unwrap_or_default() == landing.namespace_text();
    if !same {
        return Err(Unopened::Elsewhere);
    }
    let plain = emit(&Tree::of(&document));
    if reuse::contradicts(keys, context, plain.as_bytes(), file) {
        return Err(Unopened::Tag);
    }
    let entries = sops::entries(&document)?;
    let payload = Payload::new(entries.into_iter().map(|(name, value)| (Key::from(&*name), value)).collect());
    Ok(Opened { document, plain, payload })
}

/// Why a newly sealed file does not pass the proof.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Flaw {
    /// A file would keep its old sealing.
    #[error("{0} was not sealed anew")]
    Kept(BundlePath),
    /// A file is sealed for others than it should be.
    #[error("{0} is not sealed for exactly the region's recipients")]
    Recipients(BundlePath),
    /// A file shares an IV or a piece of a stanza with one that was published.
    #[error("{0} shares sealed text with what was published")]
    Shared(BundlePath),
}

/// Proves that sealing anew was worth it: every Secret of `manifest` is among `new`, sealed for exactly its recipients,
/// and shares no IV and no line of a stanza with any published file or any other new one.
///
/// # Errors
/// Names the first file that does not pass.
pub fn prove<'a>(
    published: &'a Files,
    manifest: &Manifest,
    new: impl Fn(&BundlePath) -> Option<&'a [u8]>,
) -> Result<(), Flaw> {
    let sealed = published.iter().filter(|(path, _)| path.ends_with(SEALED));
    let old: BTreeSet<&[u8]> = sealed.flat_map(|(_, bytes)| lots(bytes)).collect();
    let wanted: Vec<&str> = manifest.recipients.iter().map(Recipient::as_str).collect();
    let mut drawn = BTreeSet::new();
    for object in manifest.objects.iter().filter(|object| object.key.kind.is_secret()) {
        let path = || object.path.clone();
        let bytes = new(&object.path).ok_or_else(|| Flaw::Kept(path()))?;
        if labels(bytes) != wanted {
            return Err(Flaw::Recipients(path()));
        }
        for lot in lots(bytes) {
            if old.contains(lot) || !drawn.insert(lot) {
                return Err(Flaw::Shared(path()));
            }
        }
    }
    Ok(())
}

/// The random parts of a sealed file, as they stand there: the IV of every value, and every long line of a stanza.
fn lots(file: &[u8]) -> impl Iterator<Item = &[u8]> {
    const LONG: usize = 32;
    let mut armored = false;
    file.split(|b| *b == b'\n').filter_map(move |line| {
        let line = line.trim_ascii();
        if line.ends_with(b"-----") {
            armored = line.starts_with(b"-----BEGIN ");
            return None;
        }
        if armored {
            return (line.len() >= LONG).then_some(line);
        }
        let after = |text: &'static [u8]| {
            let at = line.windows(text.len()).position(|window| window == text)?;
            line.get(at.checked_add(text.len())?..)
        };
        after(b",iv:")?.split(|b| *b == b',').next()
    })
}

/// Why no file of a bundle can be opened with these identities, told before any is tried; none if one of them is a
/// recipient.
pub fn strangers(region: &Region, before: &[Recipient], given: &[&Recipient]) -> Option<Finding> {
    if before.iter().any(|recipient| given.contains(&recipient)) {
        return None;
    }
    let message = format!(
        "no identity that was given opens region {region}: its bundle is sealed for {}, and they are those of {}",
        all(before),
        all(given)
    );
    Some(impossible(region, message).help("Give an identity of the region, or leave the region out with --region."))
}

/// The finding for files that cannot be opened; `count` counts them and `first` is one of them.
pub fn unopened(region: &Region, first: &ObjectKey, count: usize, why: &Unopened) -> Finding {
    let more = beside_first(count);
    let message = format!("{first}{more} of region {region} cannot be sealed anew: {why}");
    impossible(region, message).help("Restore the file from git history, or leave out --identity and use the sources.")
}

/// The finding for a bundle that nobody vouches for and that does not pass `verify`, with the first of `count` faults.
pub fn unproved(region: &Region, first: &Finding, count: usize) -> Finding {
    let message = format!(
        "what is published of region {region} cannot be vouched for: {} ({}){}",
        first.message,
        first.code.text(),
        beside_first(count)
    );
    impossible(region, message).help(
        "Find out who wrote it. Restore the bundle from git history, or leave out --identity and use the sources.",
    )
}

#[cfg(test)]
mod tests;
