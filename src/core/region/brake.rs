//! The brake: nothing downstream protects anyone, so pouch does (DESIGN §2.8).
//!
//! Flux and Argo CD prune what disappears from a bundle. What is counted are claimants, because these are what people add
//! and remove: by kind in each namespace, so that one tenant's are never held for another's. What is beyond a budget stays
//! published until somebody accepts that very set of that very content; everything else of the region goes on.

use alloc::borrow::ToOwned as _;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::accounts::{Account, Whose};
use super::change::{Hold, Loss};
use crate::config::{Accept, Acceptance, Deletions, Limits};
use crate::finding::{Code, Finding};
use crate::hash::sha256_hex;
use crate::listing::{counted, few};
use crate::name::{Claimant, Directory, FleetName, Kind, Namespace, ObjectKey, Region, SourceName};
use crate::recipient::Recipient;

/// What the brake looks at, of one region.
pub struct Load<'a> {
    /// The fleet.
    pub fleet: &'a FleetName,
    /// The region.
    pub region: &'a Region,
    /// Its folder.
    pub directory: &'a Directory,
    /// All accounts of the region; empty where nobody loses anything.
    pub accounts: &'a [Account],
    /// Recipients that were not there before; empty for a region that was not published.
    pub added_recipients: &'a [Recipient],
    /// Unchanged Secrets that are sealed anew without anybody having asked, as `line` writes them.
    pub unasked_reseals: &'a [String],
    /// The values, if every one of the region is replaced.
    pub replaced: Option<&'a Replaced>,
    /// Secrets that are left afterwards.
    pub secrets: usize,
    /// Acceptances that let something through before.
    pub spent: &'a BTreeSet<Acceptance>,
}

impl<'a> Load<'a> {
    /// A region of which nothing changes.
    pub fn of(
        (fleet, region, directory): (&'a FleetName, &'a Region, &'a Directory),
        spent: &'a BTreeSet<Acceptance>,
    ) -> Self {
        Self {
            fleet,
            region,
            directory,
            accounts: &[],
            added_recipients: &[],
            unasked_reseals: &[],
            replaced: None,
            secrets: 0,
            spent,
        }
    }
}

/// All Secrets of a region whose values could be told, where every one of them is replaced.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Replaced {
    /// The Secrets, and the SHA-256 of their published files, sorted.
    pub secrets: Vec<(ObjectKey, String)>,
    /// The claimants that need them, sorted.
    pub claimants: Vec<Claimant>,
}

impl Loss {
    fn line(&self) -> String {
        let line = line(&self.key, &self.sha256);
        self.entry.as_ref().map_or(line.clone(), |entry| format!("{line} {entry}"))
    }

    fn shown(&self) -> String {
        let key = &self.key;
        self.entry.as_ref().map_or(key.to_string(), |entry| format!("entry {entry} of {key}"))
    }
}

/// An object as digests write it: `group/Kind/namespace/name`, and the SHA-256 of its published file.
pub fn line(key: &ObjectKey, sha256: &str) -> String {
    format!("{}/{}/{}/{} {sha256}", key.kind.group, key.kind.kind, key.namespace_text(), key.name)
}

/// The acceptance that lets lines through: its digest fits one set of one content, once.
///
/// One that the branch has used already is spent. The same set may come up again, as where a key was accepted, removed
/// and added once more: so what is asked for then is bound to those that were used before.
pub fn acceptance(what: Accept, load: &Load<'_>, namespace: Option<&Namespace>, lines: &[String]) -> Acceptance {
    let mut text = accepted_text(what, (load.fleet, load.directory), namespace, lines.iter().cloned());
    let named =
        |digest: String| Acceptance { region: load.region.clone(), namespace: namespace.cloned(), what, digest };
    let mut wanted = named(digest(&text));
    while load.spent.contains(&wanted) {
        text.push_str(&format!("after {}\n", wanted.digest));
        wanted = named(digest(&text));
    }
    wanted
}

/// The digest that fits one set of lines of a fleet's region.
pub fn digest_of(
    what: Accept,
    of: (&FleetName, &Directory),
    namespace: Option<&Namespace>,
    lines: impl Iterator<Item = String>,
) -> String {
    digest(&accepted_text(what, of, namespace, lines))
}

/// What digests are made of.
fn accepted_text(
    what: Accept,
    (fleet, directory): (&FleetName, &Directory),
    namespace: Option<&Namespace>,
    lines: impl Iterator<Item = String>,
) -> String {
    let head = match (what, namespace) {
        (Accept::Deletions, namespace) => format!("{}\n", namespace.map_or("", Namespace::as_str)),
        (Accept::Recipients | Accept::Reseal, _) => String::new(),
    };
    let mut text = format!("pouch/v1 {}\n{fleet}\n{directory}\n{head}", what.word());
    let lines: BTreeSet<String> = lines.collect();
    for line in lines {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

fn digest(text: &str) -> String {
    let full = sha256_hex(text.as_bytes());
    full.get(..16).unwrap_or(&full).to_owned()
}

/// What the brake says of a region.
#[derive(Default)]
pub struct Braked {
    /// What holds the region as a whole; empty where it may be published.
    pub holds: Vec<Hold>,
    /// Whose withdrawals are held.
    pub held: BTreeSet<Whose>,
    /// Why they are.
    pub deletions: Vec<Hold>,
    /// The claimants that keep what they have, with its values.
    pub keeping: BTreeSet<Claimant>,
    /// Why they do.
    pub values: Vec<Hold>,
    /// The acceptances that were needed: without them more would be held.
    pub accepted: Vec<Acceptance>,
}

/// What the brake says of a region, given its acceptances.
pub fn hold(load: &Load<'_>, limits: &Limits, given: &[Acceptance]) -> Braked {
    let is_given = |wanted: &Acceptance| given.contains(wanted);
    let mut braked = deletions(load, &limits.deletions, &is_given);
    let mut ask = |wanted: Acceptance, finding: Finding| {
        if is_given(&wanted) {
            braked.accepted.push(wanted);
        } else {
            braked.holds.push(Hold::lifted_by(finding, wanted));
        }
    };
    if !load.added_recipients.is_empty() {
        let lines: Vec<String> = load.added_recipients.iter().map(|r| r.as_str().to_owned()).collect();
        let wanted = acceptance(Accept::Recipients, load, None, &lines);
        let message = format!("region {} would become readable for {}", load.region, lines.join(", "));
        let help = format!("If the key belongs there, pass --accept-recipients {wanted}.");
        ask(wanted, Finding::new(Code::RecipientAdded, message).in_region(load.region).help(help));
    }
    let reseals = load.unasked_reseals.len();
    if exceeds(reseals, limits.reseal_percent, load.secrets) {
        let wanted = acceptance(Accept::Reseal, load, None, load.unasked_reseals);
        let message = format!(
            "{reseals} of {} Secrets of region {} would be sealed anew because their files do not match the manifest",
            load.secrets, load.region
        );
        let help = format!("Find out who changed the files. To write them anew, pass --accept-reseal {wanted}.");
        ask(wanted, Finding::new(Code::ResealHeld, message).in_region(load.region).help(help));
    }
    // Who lets all be sealed anew unasked wants no brake on values either.
    if let Some(replaced) = load.replaced.filter(|_| limits.reseal_percent < 100) {
        values(load, replaced, &mut braked, &is_given);
    }
    braked
}

/// Weighs the values that are replaced: all of a region's at once look like another place's.
fn values(load: &Load<'_>, replaced: &Replaced, braked: &mut Braked, is_given: &Given<'_>) {
    const SHOWN: usize = 5;
    let Replaced { secrets, claimants } = replaced;
    let lines: Vec<String> = secrets.iter().map(|(key, sha256)| line(key, sha256)).collect();
    let acceptance = acceptance(Accept::Reseal, load, None, &lines);
    if is_given(&acceptance) {
        braked.accepted.push(acceptance);
        return;
    }
    let named = few(secrets.iter().map(|(key, _)| key), secrets.len(), SHOWN);
    let message = format!(
        "every value of region {} would be replaced at once, in {} Secrets: {named}",
        load.region,
        secrets.len()
    );
    let help = format!("If all of them were rotated, pass --accept-reseal {acceptance}.");
    let finding = Finding::new(Code::ResealHeld, message).in_region(load.region).help(help);
    braked.values.push(Hold { claimants: claimants.clone(), ..Hold::lifted_by(finding, acceptance) });
    braked.keeping.extend(claimants.iter().cloned());
}

/// Returns true if an acceptance was given.
type Given<'a> = dyn Fn(&Acceptance) -> bool + 'a;

/// The bound that an account's withdrawals are beyond.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Bound {
    /// Its own.
    Own,
    /// Of namespaces: so many of so many lose something at once.
    Namespaces { losing: usize, of: usize },
    /// Of the region, or the group, as a whole: so many of so many claimants would be left.
    Whole { left: usize, of: usize },
}

/// Weighs the withdrawals, and holds those of the accounts that are beyond a bound, each by itself: what is accepted of one
/// decides about no other. Of more than a few, one acceptance lets all of them through.
fn deletions(load: &Load<'_>, budget: &Deletions, is_given: &Given<'_>) -> Braked {
    const FEW: usize = 3;
    let mut braked = Braked::default();
    let of_account =
        |account: &Account| acceptance(Accept::Deletions, load, account.whose.namespace(), &lines(&account.losses));
    let mut beyond = beyond(load.accounts, budget);
    beyond.retain(|(account, _)| {
        let acceptance = of_account(account);
        let is_given = is_given(&acceptance);
        if is_given && !braked.accepted.contains(&acceptance) {
            braked.accepted.push(acceptance);
        }
        !is_given
    });
    if beyond.len() > FEW {
        let all: BTreeSet<&Loss> = beyond.iter().flat_map(|(account, _)| &account.losses).collect();
        let all: Vec<Loss> = all.into_iter().cloned().collect();
        let acceptance = acceptance(Accept::Deletions, load, None, &lines(&all));
        if is_given(&acceptance) {
            braked.accepted.push(acceptance);
            return braked;
        }
        braked.deletions.push(held_together(load, budget, &beyond, all, acceptance));
    } else {
        let hold = |(account, bound): &(&Account, Bound)| held(load, budget, account, *bound, of_account(account));
        braked.deletions.extend(beyond.iter().map(hold));
    }
    braked.held.extend(beyond.into_iter().map(|(account, _)| account.whose.clone()));
    braked
}

/// Those whose withdrawals are beyond a bound.
pub fn those_beyond(accounts: &[Account], budget: &Deletions) -> BTreeSet<Whose> {
    beyond(accounts, budget).into_iter().map(|(account, _)| account.whose.clone()).collect()
}

/// The accounts that lose something now and are beyond a bound, with the bound.
///
/// What a narrower bound holds counts for no wider one: so none of it depends on what is accepted.
fn beyond<'a>(accounts: &'a [Account], budget: &Deletions) -> Vec<(&'a Account, Bound)> {
    let mut beyond: Vec<(&Account, Bound)> = Vec::new();
    let mut within: Vec<&Account> = Vec::new();
    for account in accounts.iter().filter(|account| account.lost > 0) {
        match own_bound(account, budget) {
            Some(bound) => beyond.push((account, bound)),
            None => within.push(account),
        }
    }
    // A refusal waits for nobody else, and neither does anybody for a refusal.
    within.retain(|account| !account.is_refused);
    let losing: BTreeSet<&Whose> = within.iter().map(|account| &account.whose).collect();
    let mut together: BTreeMap<Share<'_>, (usize, Vec<&Account>)> = BTreeMap::new();
    for account in accounts {
        let Some(share) = Share::of(account) else { continue };
        let (of, accounts) = together.entry(share).or_default();
        *of = of.saturating_add(1);
        accounts.extend(Some(account).filter(|account| losing.contains(&account.whose)));
    }
    let mut held: BTreeSet<&Whose> = BTreeSet::new();
    for (of, losing) in together.into_values() {
        // One namespace is weighed by itself already.
        if losing.len().saturating_sub(1) > budget.allowed(of) {
            let bound = Bound::Namespaces { losing: losing.len(), of };
            held.extend(losing.iter().map(|account| &account.whose));
            beyond.extend(losing.into_iter().map(|account| (account, bound)));
        }
    }
    within.retain(|account| Share::of(account).is_some() && !held.contains(&account.whose));
    let of = accounts.iter().filter(|account| Share::of(account).is_some()).map(|account| account.claimants).sum();
    let gone: usize = within.iter().map(|account| account.gone).sum();
    if let Some(bound) = whole_bound(gone, of, budget) {
        beyond.extend(within.into_iter().map(|account| (account, bound)));
    }
    beyond.retain(|(account, _)| !account.losses.is_empty());
    beyond.sort_by_key(|(account, _)| &account.whose);
    beyond
}

/// Namespaces that are weighed together: of claimants of one kind, which the same source alone provides or no such one.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Share<'a> {
    kind: &'a Kind,
    /// A tenant with a source of his own could use up everybody's bound.
    source: Option<&'a SourceName>,
}

impl<'a> Share<'a> {
    fn of(account: &'a Account) -> Option<Self> {
        match &account.whose {
            Whose::Kind { kind, .. } => Some(Self { kind, source: account.source.as_ref() }),
            Whose::Group(_) | Whose::Anybody => None,
        }
    }
}

/// The bound that an account is beyond by itself.
fn own_bound(account: &Account, budget: &Deletions) -> Option<Bound> {
    if account.lost > budget.allowed(account.claimants) {
        return Some(Bound::Own);
    }
    match account.whose {
        Whose::Kind { .. } => None,
        // It is a place of its own.
        Whose::Group(_) | Whose::Anybody => whole_bound(account.gone, account.claimants, budget),
    }
}

fn whole_bound(gone: usize, of: usize, budget: &Deletions) -> Option<Bound> {
    let left = of.saturating_sub(gone);
    (gone > 0 && !budget.leaves_enough(left, of)).then_some(Bound::Whole { left, of })
}

/// Recipients that can read the new bundle and not the published one.
pub(super) fn added_recipients(before: &[Recipient], now: &[Recipient]) -> Vec<Recipient> {
    // A manifest without recipients holds no Secrets, so nobody gains anything.
    now.iter().filter(|recipient| !before.is_empty() && !before.contains(recipient)).cloned().collect()
}

/// Returns true if `count` is more than `percent` of `whole`.
fn exceeds(count: usize, percent: usize, whole: usize) -> bool {
    count.saturating_mul(100) > percent.saturating_mul(whole)
}

fn lines(losses: &[Loss]) -> Vec<String> {
    losses.iter().map(Loss::line).collect()
}

/// The losses, counted for people: `5 objects and 1 entry of a Secret that stays`.
fn count_losses(losses: &[Loss]) -> String {
    let objects = losses.iter().filter(|loss| loss.entry.is_none()).count();
    let entries = losses.len().saturating_sub(objects);
    let whole = counted(objects, "object", "objects");
    let parts = counted(entries, "entry of a Secret that stays", "entries of Secrets that stay");
    match (objects, entries) {
        (_, 0) => whole,
        (0, _) => parts,
        _ => format!("{whole} and {parts}"),
    }
}

/// How many losses and claimants a finding names.
const OBJECTS: usize = 5;
const CLAIMANTS: usize = 20;

/// What holds the withdrawals of one account.
fn held(load: &Load<'_>, budget: &Deletions, account: &Account, bound: Bound, accept: Acceptance) -> Hold {
    let Account { whose, claimants, before, losses, losing, .. } = account;
    let region = load.region;
    let named = few(losses.iter().map(Loss::shown), losses.len(), OBJECTS);
    let counts = count_losses(losses);
    let message = match whose {
        Whose::Anybody => format!("region {region} would lose {} of its {claimants} objects: {named}", losses.len()),
        Whose::Kind { .. } | Whose::Group(_) => {
            let after = match before {
                0 => String::new(),
                before => format!(", after {before} that lost something before,"),
            };
            let paths = few(losing.iter().map(Claimant::path), losing.len(), CLAIMANTS);
            format!(
                "{} of {claimants} {whose}{after} would lose {counts} in region {region}: {named}; they are {paths}",
                losing.len()
            )
        }
    };
    let why = match bound {
        Bound::Own => {
            format!("That counts as {}, and {} may go without a person.", account.lost, budget.allowed(*claimants))
        }
        Bound::Namespaces { losing, of } => format!(
            "{losing} of {of} namespaces lose some at once, and beside one {} may without a person.",
            budget.allowed(of)
        ),
        Bound::Whole { left, of } => {
            format!("{left} of {of} would be left in all, and {} percent stay without a person.", budget.keep)
        }
    };
    let help = format!("{why} If all of them should go, pass --accept-deletions {accept}.");
    let finding = Finding::new(Code::DeletionsHeld, message).in_region(region).help(help);
    Hold { claimants: losing.clone(), losses: losses.clone(), ..Hold::lifted_by(finding, accept) }
}

/// What holds the withdrawals of many accounts.
fn held_together(
    load: &Load<'_>,
    budget: &Deletions,
    accounts: &[(&Account, Bound)],
    losses: Vec<Loss>,
    accept: Acceptance,
) -> Hold {
    let losing: BTreeSet<&Claimant> = accounts.iter().flat_map(|(account, _)| &account.losing).collect();
    let losing: Vec<Claimant> = losing.into_iter().cloned().collect();
    let all: BTreeSet<String> = accounts.iter().map(|(account, _)| account.whose.to_string()).collect();
    let message = format!(
        "{} would lose {} in region {}: {}; among {}; they are {}",
        counted(losing.len(), "claimant", "claimants"),
        count_losses(&losses),
        load.region,
        few(losses.iter().map(Loss::shown), losses.len(), OBJECTS),
        few(&all, all.len(), OBJECTS),
        few(losing.iter().map(Claimant::path), losing.len(), CLAIMANTS),
    );
    let help = format!(
        "Of each kind in a namespace {} or {} percent may go without a person, in that many namespaces. If all of them \
         should go, pass --accept-deletions {accept}.",
        budget.claimants, budget.percent
    );
    let finding = Finding::new(Code::DeletionsHeld, message).in_region(load.region).help(help);
    Hold { claimants: losing, losses, ..Hold::lifted_by(finding, accept) }
}

#[cfg(test)]
mod tests;
