//! Openers: who opens the encrypted files of each source.
//!
//! Identities belong to one source. What they open is not known here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use pouch_core::config::{Fleet, Source};
use pouch_core::finding::{Code, Finding, Origin, Place};
use pouch_core::recipient::Recipient;

use crate::error::Failure;
use crate::session::Session;
use crate::settings;
use crate::survey::source::decrypt::Opener;
use crate::survey::source::live::Values;

/// Who opens the encrypted files of each source that says so, by the source's number.
pub(super) fn openers(
    session: &Session,
    fleet: &Fleet,
    base: &Path,
    values: &Values,
) -> Result<BTreeMap<usize, Arc<Opener>>, Failure> {
    let Session { ambient, ui, .. } = session;
    let mut openers = BTreeMap::new();
    for (index, source) in fleet.sources.iter().enumerate() {
        let opener = match &source.decryption {
            None => continue,
            Some(_) if *values == Values::Unseen => Opener::Names,
            Some(_) if *values != Values::Read => Opener::Nobody,
            Some(decryption) => {
                let base = ambient.cwd().join(base);
                let (identities, warnings) = settings::source_identities(decryption, &base, ambient)?;
                warnings.iter().for_each(|warning| ui.warn(warning));
                Opener::Identities(identities)
            }
        };
        openers.insert(index, Arc::new(opener));
    }
    Ok(openers)
}

/// Who opens the encrypted files of each source, by its name and each recipient.
pub(super) fn opened_by(session: &Session, fleet: &Fleet, base: &Path) -> Result<Vec<String>, Failure> {
    let mut opened = BTreeSet::new();
    for source in &fleet.sources {
        if let Some(decryption) = &source.decryption {
            let base = session.ambient.cwd().join(base);
            let (identities, _) = settings::source_identities(decryption, &base, &session.ambient)?;
            opened.extend(identities.recipients().map(|recipient| format!("{} {recipient}", source.name)));
        }
    }
    Ok(opened.into_iter().collect())
}

/// Finds sources that share an identity and may provide different objects: who writes one of them can put into it what
/// was sealed for the other, and have it opened. Gives their numbers too, and those of sources that share an identity and
/// have another default namespace.
pub(super) fn shared(fleet: &Fleet, openers: &BTreeMap<usize, Arc<Opener>>) -> (Vec<Finding>, BTreeSet<usize>) {
    let mut opened: BTreeMap<&Recipient, BTreeSet<usize>> = BTreeMap::new();
    for (index, opener) in openers {
        let Opener::Identities(identities) = &**opener else { continue };
        for recipient in identities.recipients() {
            opened.entry(recipient).or_default().insert(*index);
        }
    }
    let (mut told, mut shared) = (BTreeSet::new(), BTreeSet::new());
    let mut findings = Vec::new();
    for (identity, indices) in opened {
        let sources: Vec<&Source> = indices.iter().filter_map(|index| fleet.sources.get(*index)).collect();
        let (Some(first), Some(last)) = (sources.first(), sources.last()) else { continue };
        let is_same = sources.iter().all(|source| same_bounds(first, source));
        // What names no namespace would be in another one.
        if !is_same || sources.iter().any(|source| source.default_namespace != first.default_namespace) {
            shared.extend(&indices);
        }
        if is_same || !told.insert(indices) {
            continue;
        }
        let names: Vec<&str> = sources.iter().map(|source| source.name.as_str()).collect();
        let message = format!(
            "sources {} open files with one identity, {identity}, and may provide different objects",
            names.join(", ")
        );
        let help = "Give each source an identity of its own: until then, whoever writes one of them can put a file \
                    into it that was sealed for another, and have it opened.";
        let origin = Origin { source: last.name.clone(), place: Place::Whole };
        findings.push(Finding::new(Code::SharedSourceIdentity, message).at(&origin).help(help));
    }
    (findings, shared)
}

fn same_bounds(one: &Source, other: &Source) -> bool {
    let patterns =
        |source: &Source| -> BTreeSet<String> { source.provides.namespaces.patterns().iter().cloned().collect() };
    let objects = |source: &Source| -> BTreeSet<_> {
        let objects = source.provides.objects.iter();
        objects.map(|of| (of.kind.clone(), of.namespace.clone(), of.glob().to_owned())).collect()
    };
    patterns(one) == patterns(other)
        && one.provides.cluster_scoped == other.provides.cluster_scoped
        && objects(one) == objects(other)
}
