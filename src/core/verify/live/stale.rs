//! Entries of a Secret or ConfigMap that a region has and its bundle lacks, and who keeps them there.
//!
//! Findings name entries and their field managers, and how to be rid of them. The region tells all of that, and may
//! lie: so only a bounded part is read, and a name gets into a line that people paste only if a shell does nothing with
//! it. What an entry holds is not known here.

use alloc::borrow::ToOwned as _;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::{Bundle, entry_path};
use crate::config::Delivery;
use crate::finding::{Code, Finding};
use crate::listing::{counted, few};
use crate::name::ObjectKey;
use crate::node::Node;

/// How many entries of one object are named; the rest are counted.
const MOST_ENTRIES: usize = 20;

/// How many entries of `managedFields` are read.
///
/// An API server merges those of managers that update into about ten, but not those of managers that apply, which have
/// a name per tool.
const MOST_MANAGERS: usize = 1_000;

/// How many owners of one entry are named.
const MOST_OWNERS: usize = 8;

/// The longest name of an entry, in characters:
/// <https://kubernetes.io/docs/concepts/configuration/secret/#restriction-names-data>
const LONGEST_NAME: usize = 253;

/// The longest name of a field manager, in bytes, that an API server takes:
/// <https://kubernetes.io/docs/reference/kubernetes-api/common-parameters/common-parameters/#fieldManager>
const LONGEST_MANAGER: usize = 128;

/// Findings about entries, given as field and name, that the bundle does not have.
pub(super) fn stale(bundle: &Bundle<'_>, key: &ObjectKey, live: &Node, extra: &[(&str, String)]) -> Vec<Finding> {
    let named = extra.get(..MOST_ENTRIES).unwrap_or(extra);
    let owners = Owners::read(live, named);
    let mut findings: Vec<Finding> =
        named.iter().map(|(field, name)| entry(bundle, key, &owners, (field, name))).collect();
    let more = extra.len().saturating_sub(named.len());
    if more > 0 {
        let more = counted(more, "more entry", "more entries");
        let message = format!("{key} has {more} on the region that the bundle does not have");
        findings.push(
            Finding::new(Code::StaleEntry, message)
                .about(key)
                .help("Look at the object there, and at who writes it: only this many entries are named."),
        );
    }
    findings
}

/// The finding for one entry.
fn entry(bundle: &Bundle<'_>, key: &ObjectKey, known: &Owners<'_>, (field, name): (&str, &str)) -> Finding {
    let owners = known.of(field, name);
    // An API server notes who sent `stringData`, which is nowhere in the object; no apply undoes that.
    let senders = if key.kind.is_secret() { known.of("stringData", name) } else { BTreeSet::new() };
    let agent = match bundle.region.delivery {
        Delivery::Flux(_) => Some("kustomize-controller"),
        Delivery::ArgoCd(_) => Some("argocd-controller"),
        Delivery::None => None,
    };
    let owned = match (owners.len(), senders.len()) {
        (0, 0) if known.whole => "no field manager owns it".to_owned(),
        (0, 0) => format!("none of the first {MOST_MANAGERS} field managers owns it"),
        (0, _) => format!("field manager {} set it by stringData", told(&senders)),
        (1, _) => format!("field manager {} owns it", told(&owners)),
        _ => format!("field managers {} own it", told(&owners)),
    };
    let is_agents_alone = known.whole && !owners.is_empty() && owners.iter().all(|owner| Some(*owner) == agent);
    // To have the agent take the other manager's entries over (Flux: --override-manager) would take away at every
    // reconcile what providers' controllers, whose programs are called `manager` as k0rdent's is, set on the object:
    // finalizers, owner references, labels.
    let help = match is_agents_alone {
        true => "Find out why the current bundle was not applied: whoever applied the entry would remove it then.",
        false => "Remove the entry by hand: applying the bundle does not remove it.",
    };
    let path = match name.char_indices().nth(LONGEST_NAME).and_then(|(end, _)| name.get(..end)) {
        Some(start) => entry_path(field, &format!("{start}…")),
        None => entry_path(field, name),
    };
    let message = format!("{key} has {path} on the region, which the bundle does not have; {owned}");
    Finding::new(Code::StaleEntry, message).about(key).help(help)
}

/// Field managers for people.
pub(crate) fn told(owners: &BTreeSet<&str>) -> String {
    few(owners.iter().map(|owner| named(owner)), owners.len(), MOST_OWNERS)
}

/// A field manager's name, quoted if it is one that nobody would choose.
fn named(owner: &str) -> String {
    if is_plain(owner) {
        return owner.to_owned();
    }
    let start: String = owner.chars().take(LONGEST_MANAGER).collect();
    format!("{start:?}")
}

/// Whether a shell takes a name for nothing else.
///
/// A manager's name can have any characters that print, and whoever may write an object chooses it.
fn is_plain(owner: &str) -> bool {
    let is_harmless = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'/' | b':' | b'-');
    (1..=LONGEST_MANAGER).contains(&owner.len()) && owner.bytes().all(is_harmless)
}

/// The field managers of some entries.
///
/// <https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management>
struct Owners<'n> {
    /// By the path in `fieldsV1`.
    entries: BTreeMap<(String, String), BTreeSet<&'n str>>,
    /// Whether all of `managedFields` was read.
    whole: bool,
}

impl<'n> Owners<'n> {
    /// Reads who owns these entries, and who sent them as `stringData`, in one pass.
    fn read(live: &'n Node, wanted: &[(&str, String)]) -> Self {
        let mut entries: BTreeMap<(String, String), BTreeSet<&'n str>> = BTreeMap::new();
        for (field, name) in wanted {
            entries.insert(place(field, name), BTreeSet::new());
            entries.insert(place("stringData", name), BTreeSet::new());
        }
        let managers = live.at(&["metadata", "managedFields"]).map(Node::items).unwrap_or_default();
        for manager in managers.iter().take(if wanted.is_empty() { 0 } else { MOST_MANAGERS }) {
            let Some((name, fields)) = manager.str_at(&["manager"]).zip(manager.at(&["fieldsV1"])) else { continue };
            for ((field, entry), owners) in &mut entries {
                if fields.at(&[field, entry]).is_some() {
                    owners.insert(name);
                }
            }
        }
        Self { entries, whole: managers.len() <= MOST_MANAGERS }
    }

    fn of(&self, field: &str, name: &str) -> BTreeSet<&'n str> {
        self.entries.get(&place(field, name)).cloned().unwrap_or_default()
    }
}

/// An entry's path in `fieldsV1`.
fn place(field: &str, name: &str) -> (String, String) {
    (format!("f:{field}"), format!("f:{name}"))
}
