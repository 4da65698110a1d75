//! The brake: nothing downstream protects anyone, so pouch does (DESIGN §2.8).
//!
//! Flux and Argo CD prune what disappears from a bundle. A region whose withdrawals exceed its budget
//! stays exactly as published until somebody accepts that very set on that very base.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::change::{Action, Change, Hold};
use crate::config::{Accept, Acceptance, Limits};
use crate::finding::{Code, Finding};
use crate::hash::sha256_hex;
use crate::listing::{counted, few};
use crate::name::{Directory, FleetName, ObjectKey, Region};
use crate::recipient::Recipient;

/// What the brake looks at, of one region.
pub struct Load<'a> {
    /// The fleet.
    pub fleet: &'a FleetName,
    /// The region.
    pub region: &'a Region,
    /// Its folder.
    pub directory: &'a Directory,
    /// The published `bundle.yaml`; empty where nothing is published.
    pub base: &'a [u8],
    /// Published objects without Namespaces.
    pub published: usize,
    /// Secrets and identities that are left afterwards.
    pub left: usize,
    /// What changes.
    pub changes: &'a [Change],
    /// Recipients that were not there before; empty for a region that was not published.
    pub added_recipients: &'a [Recipient],
    /// Unchanged Secrets that are sealed anew without anybody having asked.
    pub unasked_reseals: &'a [ObjectKey],
    /// Secrets that are left afterwards.
    pub secrets: usize,
}

/// The digest that an acceptance names: it fits one set on one base.
pub fn digest(what: Accept, load: &Load<'_>, lines: &[String]) -> String {
    let word = match what {
        Accept::Deletions => "deletions",
        Accept::Recipients => "recipients",
        Accept::Reseal => "reseal",
    };
    let base = sha256_hex(load.base);
    let mut text = format!("pouch/v1 {word}\n{}\n{}\n{base}\n", load.fleet, load.directory);
    let mut lines = lines.to_vec();
    lines.sort();
    for line in lines {
        text.push_str(&line);
        text.push('\n');
    }
    let full = sha256_hex(text.as_bytes());
    full.get(..16).unwrap_or(&full).to_owned()
}

/// `group/Kind/namespace/name`, as digests and flags write an object.
pub fn line(key: &ObjectKey) -> String {
    format!("{}/{}/{}/{}", key.kind.group, key.kind.kind, key.namespace_text(), key.name)
}

/// What the brake says of a region.
#[derive(Default)]
pub struct Braked {
    /// What holds the region; empty where it may be published.
    pub holds: Vec<Hold>,
    /// The acceptances that were needed: without them the region would be held, or held by more.
    pub accepted: Vec<Acceptance>,
}

impl Braked {
    /// Lets a change through if its acceptance is given, else holds the region.
    fn ask(&mut self, wanted: Acceptance, given: &[Acceptance], finding: impl FnOnce(&str) -> Finding) {
        if given.contains(&wanted) {
            self.accepted.push(wanted);
        } else {
            self.holds.push(Hold { finding: finding(&wanted.digest), lifted_by: Some(wanted) });
        }
    }
}

/// What the brake says of a region, given its acceptances.
pub fn hold(load: &Load<'_>, limits: &Limits, given: &[Acceptance]) -> Braked {
    let wanted = |what: Accept, lines: &[String]| {
        let digest = digest(what, load, lines);
        Acceptance { region: load.region.clone(), what, digest }
    };
    let mut braked = Braked::default();

    let lost = lost_lines(load.changes);
    if !within_budget(load, limits, lost.len()) {
        braked.ask(wanted(Accept::Deletions, &lost), given, |digest| deletions(load, lost.len(), digest));
    }
    if !load.added_recipients.is_empty() {
        let lines: Vec<String> = load.added_recipients.iter().map(|r| r.as_str().to_owned()).collect();
        braked.ask(wanted(Accept::Recipients, &lines), given, |digest| {
            let message = format!("region {} would become readable for {}", load.region, lines.join(", "));
            Finding::new(Code::RecipientAdded, message)
                .in_region(load.region)
                .help(format!("If the key belongs there, pass --accept-recipients {}={digest}.", load.region))
        });
    }
    let reseals = load.unasked_reseals.len();
    if exceeds(reseals, limits.reseal_percent, load.secrets) {
        let lines: Vec<String> = load.unasked_reseals.iter().map(line).collect();
        braked.ask(wanted(Accept::Reseal, &lines), given, |digest| {
            let message = format!(
                "{reseals} of {} Secrets of region {} would be sealed anew because their files do not match the manifest",
                load.secrets, load.region
            );
            Finding::new(Code::ResealHeld, message).in_region(load.region).help(format!(
                "Find out who changed the files. To write them anew, pass --accept-reseal {}={digest}.",
                load.region
            ))
        });
    }
    braked
}

/// Recipients that can read the new bundle and not the published one.
pub(super) fn added_recipients(before: &[Recipient], now: &[Recipient]) -> Vec<Recipient> {
    // A manifest without recipients holds no Secrets, so nobody gains anything.
    now.iter().filter(|recipient| !before.is_empty() && !before.contains(recipient)).cloned().collect()
}

/// Everything that is lost: objects, and entries of Secrets that stay.
fn lost_lines(changes: &[Change]) -> Vec<String> {
    let mut lines = Vec::new();
    for change in changes.iter().filter(|change| !change.key.kind.is_namespace()) {
        if change.action == Action::Removed {
            lines.push(line(&change.key));
        }
        lines.extend(change.lost_entries.iter().map(|entry| format!("{} {entry}", line(&change.key))));
    }
    lines.sort();
    lines
}

fn within_budget(load: &Load<'_>, limits: &Limits, lost: usize) -> bool {
    if lost == 0 {
        return true;
    }
    if load.left == 0 {
        return false;
    }
    lost <= limits.free_deletions
        || (lost <= limits.deletion_objects && !exceeds(lost, limits.deletion_percent, load.published))
}

/// Whether `count` is more than `percent` of `whole`.
fn exceeds(count: usize, percent: usize, whole: usize) -> bool {
    count.saturating_mul(100) > percent.saturating_mul(whole)
}

/// The losses, counted for people: `2 of its 5 objects and 1 entry of a Secret that stays`.
fn count_losses(load: &Load<'_>) -> String {
    let changes = || load.changes.iter().filter(|change| !change.key.kind.is_namespace());
    let objects = changes().filter(|change| change.action == Action::Removed).count();
    let entries: usize = changes().map(|change| change.lost_entries.len()).sum();
    let whole = format!("{objects} of its {} objects", load.published);
    let parts = counted(entries, "entry of a Secret that stays", "entries of Secrets that stay");
    match (objects, entries) {
        (_, 0) => whole,
        (0, _) => parts,
        _ => format!("{whole} and {parts}"),
    }
}

fn deletions(load: &Load<'_>, lost: usize, digest: &str) -> Finding {
    const SHOWN: usize = 5;
    let named = load.changes.iter().filter(|change| !change.key.kind.is_namespace()).flat_map(|change| {
        let whole = (change.action == Action::Removed).then(|| format!("{}", change.key));
        let entries = change.lost_entries.iter().map(|entry| format!("entry {entry} of {}", change.key));
        whole.into_iter().chain(entries)
    });
    let empties = if load.left == 0 { ", which empties it" } else { "" };
    let message =
        format!("region {} would lose {}{empties}: {}", load.region, count_losses(load), few(named, lost, SHOWN));
    Finding::new(Code::DeletionsHeld, message)
        .in_region(load.region)
        .help(format!("If all of them should go, pass --accept-deletions {}={digest}.", load.region))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SourceLimits;
    use crate::name::GroupKind;
    use alloc::vec;

    fn limits() -> Limits {
        Limits {
            free_deletions: 3,
            deletion_percent: 20,
            deletion_objects: 10,
            reseal_percent: 20,
            accept: vec![],
            sources: SourceLimits::DEFAULT,
            attempts: 5,
            objects_per_region: 5000,
            objects_per_namespace: 500,
            credentials_per_namespace: 500,
            sealed_bytes_per_namespace: 16 << 20,
        }
    }

    fn removed(count: usize) -> Vec<Change> {
        (0..count)
            .map(|n| Change {
                key: ObjectKey::secret("team".into(), format!("s{n}").as_str().into()),
                action: Action::Removed,
                lost_entries: vec![],
                claimants: vec![],
            })
            .collect()
    }

    fn held(published: usize, gone: usize, accepted: &[Acceptance]) -> Vec<Hold> {
        let (fleet, region, directory) = (FleetName::from("f"), Region::from("r"), Directory::from("r"));
        let changes = removed(gone);
        let load = Load {
            fleet: &fleet,
            region: &region,
            directory: &directory,
            base: b"base",
            published,
            left: published.saturating_sub(gone),
            changes: &changes,
            added_recipients: &[],
            unasked_reseals: &[],
            secrets: published,
        };
        hold(&load, &limits(), accepted).holds
    }

    /// Every number of published and withdrawn objects up to 60, against the rule said another way.
    #[test]
    fn no_withdrawal_passes_beyond_its_budget() {
        for published in 0..=60_usize {
            for gone in 0..=published {
                let fits_percent = gone * 5 <= published;
                let passes = gone == 0 || (gone != published && (gone <= 3 || (gone <= 10 && fits_percent)));
                assert_eq!(held(published, gone, &[]).is_empty(), passes, "{gone} of {published}");
            }
        }
    }

    #[test]
    fn an_acceptance_fits_one_set_on_one_region() {
        let hold = held(10, 9, &[]).remove(0);
        let digest = hold.lifted_by.unwrap().digest;
        assert!(hold.finding.help.ends_with(&format!("={digest}.")));
        assert_eq!(digest.len(), 16);
        let accept = |region: &str, what| Acceptance { region: region.into(), what, digest: digest.clone() };
        assert!(held(10, 9, &[accept("r", Accept::Deletions)]).is_empty());
        assert!(!held(10, 8, &[accept("r", Accept::Deletions)]).is_empty());
        assert!(!held(10, 9, &[accept("q", Accept::Deletions)]).is_empty());
        assert!(!held(10, 9, &[accept("r", Accept::Reseal)]).is_empty());
    }

    #[test]
    fn entries_count_and_namespaces_do_not() {
        let mut changes = removed(3);
        if let Some(change) = changes.first_mut() {
            change.action = Action::Changed;
            change.lost_entries = vec!["a".into(), "b".into()];
        }
        changes.push(Change {
            key: ObjectKey::new(GroupKind::new("", "Namespace"), None, "n".into()),
            action: Action::Removed,
            lost_entries: vec![],
            claimants: vec![],
        });
        assert_eq!(
            lost_lines(&changes),
            ["/Secret/team/s0 a", "/Secret/team/s0 b", "/Secret/team/s1", "/Secret/team/s2"]
        );
    }
}
