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
use crate::config::{Accept, Acceptance, Deletions, Limits, Readers};
use crate::finding::{Code, Finding};
use crate::hash::sha256_hex;
use crate::listing::{counted, few_that_fit};
use crate::name::{Claimant, Directory, FleetName, Kind, Name, Namespace, ObjectKey, Region, SourceName};
use crate::recipient::{Recipient, shown};

/// A bundle, as digests name it.
#[derive(Clone, Copy)]
pub struct BundleName<'a> {
    /// The fleet.
    pub fleet: &'a FleetName,
    /// The folder of the region.
    pub directory: &'a Directory,
}

/// The facts of one region that the brake goes by.
pub struct Load<'a> {
    /// Its bundle.
    pub bundle: BundleName<'a>,
    /// The region.
    pub region: &'a Region,
    /// All accounts of the region; empty where nobody loses anything.
    pub accounts: &'a [Account],
    /// Recipients that were not there before; empty for a region that was not published.
    pub added_recipients: &'a [Recipient],
    /// The names of recipients, for people.
    pub readers: Option<&'a Readers>,
    /// Unchanged Secrets that are sealed anew without anybody having asked, as `line` writes them.
    pub unasked_reseals: &'a [String],
    /// The values, if every one of the region is replaced, or of a part that is weighed by itself.
    pub replaced: &'a [Replaced],
    /// Secrets that are left afterwards.
    pub secrets: usize,
    /// Returns true where what goes, goes as a whole: of a region that is retired, or sealed anew.
    pub is_whole: bool,
    /// Acceptances that let something through before.
    pub spent: &'a BTreeSet<Acceptance>,
}

impl<'a> Load<'a> {
    /// A region of which nothing changes.
    pub fn of(bundle: BundleName<'a>, region: &'a Region, spent: &'a BTreeSet<Acceptance>) -> Self {
        Self {
            bundle,
            region,
            accounts: &[],
            added_recipients: &[],
            readers: None,
            unasked_reseals: &[],
            replaced: &[],
            secrets: 0,
            is_whole: false,
            spent,
        }
    }
}

/// The part of a region that has all its values replaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// All of it.
    Region,
    /// All that belongs to no tenant with a source of his own.
    Common,
}

/// All Secrets of a region, or of a part, whose values could be told, where every one of them is replaced.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Replaced {
    /// The part that they are of.
    pub part: Part,
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
    let mut text = accepted_text(what, load.bundle, namespace, lines.iter().cloned());
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
    of: BundleName<'_>,
    namespace: Option<&Namespace>,
    lines: impl Iterator<Item = String>,
) -> String {
    digest(&accepted_text(what, of, namespace, lines))
}

/// What digests are made of.
fn accepted_text(
    what: Accept,
    BundleName { fleet, directory }: BundleName<'_>,
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
    /// The claimants whose withdrawals are held.
    pub held: BTreeSet<Claimant>,
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
        let called = |key: &String| shown(load.readers.and_then(|readers| readers.name(key)), key);
        let readers: Vec<String> = lines.iter().map(called).collect();
        let message = format!("region {} would become readable for {}", load.region, readers.join(", "));
        let help = format!("If the key belongs there, pass --accept-recipients {wanted}.");
        ask(wanted, Finding::new(Code::RecipientAdded, message).in_region(load.region).help(help));
    }
    let reseals = load.unasked_reseals.len();
    if exceeds(reseals, limits.reseal.percent.0, load.secrets) {
        let wanted = acceptance(Accept::Reseal, load, None, load.unasked_reseals);
        let message = format!(
            "{reseals} of {} Secrets of region {} would be sealed anew because their files do not match the manifest",
            load.secrets, load.region
        );
        let help = format!("Find out who changed the files. To write them anew, pass --accept-reseal {wanted}.");
        ask(wanted, Finding::new(Code::ResealHeld, message).in_region(load.region).help(help));
    }
    // Who lets all be sealed anew unasked wants no brake on values either.
    if limits.reseal.percent.0 < 100 {
        load.replaced.iter().for_each(|replaced| values(load, replaced, &mut braked, &is_given));
    }
    braked
}

/// Weighs the values that are replaced: all of a region's at once look like another place's.
fn values(load: &Load<'_>, replaced: &Replaced, braked: &mut Braked, is_given: &Given<'_>) {
    const SHOWN: usize = 5;
    let Replaced { part, secrets, claimants } = replaced;
    let lines: Vec<String> = secrets.iter().map(|(key, sha256)| line(key, sha256)).collect();
    let acceptance = acceptance(Accept::Reseal, load, None, &lines);
    if is_given(&acceptance) {
        braked.accepted.push(acceptance);
        return;
    }
    let named = few_that_fit(secrets.iter().map(|(key, _)| key), secrets.len(), SHOWN);
    let but = match part {
        Part::Region => "",
        Part::Common => " but those of tenants with sources of their own",
    };
    let message = format!(
        "every value of region {}{but} would be replaced at once, in {}: {named}",
        load.region,
        counted(secrets.len(), "Secret", "Secrets")
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
    /// Some of it was held by an earlier run, and nobody has accepted it since.
    Held,
    /// Of namespaces: so many of so many lose something at once.
    Namespaces { losing: usize, of: usize },
    /// Of the region as a whole: so many of so many claimants would be left.
    Whole { left: usize, of: usize },
    /// The same by what the account loses alone.
    Alone { left: usize, of: usize },
}

/// What is held of an account, and why.
struct Beyond<'a> {
    account: &'a Account,
    bound: Bound,
    losing: BTreeSet<&'a Claimant>,
    losses: BTreeSet<&'a Loss>,
}

impl<'a> Beyond<'a> {
    /// What an account loses that is beyond a bound. What is refused waits for its own alone.
    fn of(account: &'a Account, bound: Bound) -> Self {
        let is_own = match bound {
            Bound::Own | Bound::Alone { .. } => true,
            Bound::Held | Bound::Namespaces { .. } | Bound::Whole { .. } => false,
        };
        let waits = |by: &Claimant| is_own || !account.refused.contains(by);
        let (mut losing, mut losses) = (BTreeSet::new(), BTreeSet::from_iter(&account.unclaimed));
        for (by, lost) in account.losses.iter().filter(|(by, _)| waits(by)) {
            losing.insert(by);
            losses.extend(lost);
        }
        Self { account, bound, losing, losses }
    }

    fn lines(&self) -> Vec<String> {
        self.losses.iter().map(|loss| loss.line()).collect()
    }
}

/// Weighs the withdrawals, and holds those of the accounts that are beyond a bound, each by itself: what is accepted of one
/// decides about no other. Of more than a few, one acceptance lets all of them through.
fn deletions(load: &Load<'_>, budget: &Deletions, is_given: &Given<'_>) -> Braked {
    const FEW: usize = 3;
    let mut braked = Braked::default();
    let of_account =
        |beyond: &Beyond<'_>| acceptance(Accept::Deletions, load, beyond.account.whose.namespace(), &beyond.lines());
    let mut held = beyond(load.accounts, budget, load.is_whole);
    held.retain(|beyond| {
        let acceptance = of_account(beyond);
        let is_given = is_given(&acceptance);
        if is_given && !braked.accepted.contains(&acceptance) {
            braked.accepted.push(acceptance);
        }
        !is_given
    });
    if held.len() > FEW {
        let all: BTreeSet<&Loss> = held.iter().flat_map(|beyond| &beyond.losses).copied().collect();
        let lines: Vec<String> = all.iter().map(|loss| loss.line()).collect();
        let acceptance = acceptance(Accept::Deletions, load, None, &lines);
        if is_given(&acceptance) {
            braked.accepted.push(acceptance);
            return braked;
        }
        braked.deletions.push(held_together(load, &held, &all, acceptance));
    } else {
        braked.deletions.extend(held.iter().map(|beyond| hold_of(load, budget, beyond, of_account(beyond))));
    }
    braked.held.extend(held.iter().flat_map(|beyond| &beyond.losing).map(|by| (*by).clone()));
    braked
}

/// Those whose withdrawals are beyond a bound.
pub fn those_beyond(accounts: &[Account], budget: &Deletions) -> BTreeSet<Whose> {
    beyond(accounts, budget, false).into_iter().map(|beyond| beyond.account.whose.clone()).collect()
}

/// The accounts that lose something now and are beyond a bound.
///
/// What a narrower bound holds counts for no wider one: so none of it depends on what is accepted. What `is_whole` goes as a
/// whole or not at all.
fn beyond<'a>(accounts: &'a [Account], budget: &Deletions, is_whole: bool) -> Vec<Beyond<'a>> {
    let mut claimants: BTreeMap<Place<'_>, usize> = BTreeMap::new();
    for account in accounts {
        *claimants.entry(account.whose.place()).or_default() += account.claimants;
    }
    let mut bounds: BTreeMap<&Whose, Bound> = BTreeMap::new();
    let mut within: Vec<&Account> = Vec::new();
    for account in accounts.iter().filter(|account| account.lost > 0) {
        let of = claimants.get(&account.whose.place()).copied().unwrap_or_default();
        match own_bound(account, of, budget) {
            Some(bound) => _ = bounds.insert(&account.whose, bound),
            // A refusal waits for nobody else, and neither does anybody for a refusal.
            None if account.losses.keys().any(|by| !account.refused.contains(by)) || account.before > 0 => {
                within.push(account);
            }
            None => {}
        }
    }
    let mut together: BTreeMap<Share<'_>, Vec<&Account>> = BTreeMap::new();
    for account in &within {
        together.entry(Share::of(account)).or_default().push(account);
    }
    for (share, losing) in together {
        let of = accounts.iter().filter(|account| account.claimants > 0 && Share::of(account) == share).count();
        // One namespace is weighed by itself already.
        let count = distinct(&losing);
        if share.among.is_some() && count.saturating_sub(1) > budget.allowed(of) {
            bounds.extend(losing.iter().map(|account| (&account.whose, Bound::Namespaces { losing: count, of })));
        }
    }
    within.retain(|account| !bounds.contains_key(&account.whose));
    for (place, of) in claimants {
        let here = |account: &&Account| account.whose.place() == place;
        bounds.extend(emptying(accounts.iter().filter(here), within.iter().copied().filter(here), of, budget));
    }
    if is_whole && let Some(bound) = bounds.values().next().copied() {
        accounts.iter().for_each(|account| _ = bounds.entry(&account.whose).or_insert(bound));
    }
    let losing = accounts.iter().filter(|account| account.is_losing());
    let mut held: Vec<Beyond<'_>> =
        losing.filter_map(|account| Some(Beyond::of(account, *bounds.get(&account.whose)?))).collect();
    drop_entries_of_others(accounts, &mut held);
    held
}

/// The accounts of one source at a place, and what they lose there within narrower bounds.
#[derive(Default)]
struct OfSource<'a> {
    claimants: usize,
    gone: usize,
    losing: Vec<&'a Account>,
}

/// Bounds those that together would leave too few claimants at a place, which has `of`.
///
/// A source that leaves enough of its own waits for no other. Of the rest those go first that lose less, as long as enough
/// is left of the whole: one who takes much away holds himself, and none of those who take little.
fn emptying<'a>(
    all: impl Iterator<Item = &'a Account>,
    within: impl Iterator<Item = &'a Account>,
    of: usize,
    budget: &Deletions,
) -> Vec<(&'a Whose, Bound)> {
    let mut sources: BTreeMap<Option<&SourceName>, OfSource<'_>> = BTreeMap::new();
    for account in all {
        sources.entry(account.source.as_ref()).or_default().claimants += account.claimants;
    }
    for account in within {
        let source = sources.entry(account.source.as_ref()).or_default();
        source.gone += account.gone.saturating_sub(account.gone_refused);
        source.losing.push(account);
    }
    let all = sources.values().map(|source| source.gone).sum();
    let Some((left, _)) = too_few(all, of, budget) else { return Vec::new() };
    let is_enough = |source: &OfSource<'_>| too_few(source.gone, source.claimants, budget).is_none();
    let holds_itself = |source: &&OfSource<'_>| {
        let before = sources.values().filter(|other| is_enough(other) || other.gone <= source.gone);
        !is_enough(source) && too_few(before.map(|other| other.gone).sum(), of, budget).is_some()
    };
    let held = sources.values().filter(holds_itself).flat_map(|source| &source.losing);
    held.map(|account| (&account.whose, Bound::Whole { left, of })).collect()
}

/// Leaves out entries of Secrets that somebody else has who is not held: nobody keeps from him what he may have.
fn drop_entries_of_others(accounts: &[Account], held: &mut Vec<Beyond<'_>>) {
    let mut having: BTreeMap<&Loss, Vec<&Claimant>> = BTreeMap::new();
    for (by, losses) in accounts.iter().flat_map(|account| &account.losses) {
        losses.iter().filter(|loss| loss.entry.is_some()).for_each(|loss| having.entry(loss).or_default().push(by));
    }
    if having.is_empty() {
        return;
    }
    loop {
        let losing: BTreeSet<&Claimant> = held.iter().flat_map(|beyond| &beyond.losing).copied().collect();
        let goes = |loss: &Loss| having.get(loss).is_some_and(|having| having.iter().any(|by| !losing.contains(by)));
        let before = held.iter().map(|beyond| beyond.losses.len()).sum::<usize>();
        for beyond in held.iter_mut() {
            beyond.losses.retain(|loss| !goes(loss));
            let keeps =
                |by: &Claimant| beyond.account.losses.get(by).is_some_and(|all| all.iter().any(|loss| !goes(loss)));
            beyond.losing.retain(|by| keeps(by));
        }
        held.retain(|beyond| !beyond.losses.is_empty());
        if held.iter().map(|beyond| beyond.losses.len()).sum::<usize>() == before {
            return;
        }
    }
}

/// How many of these lose something that no other one loses as well: an entry of a Secret that they share is one.
fn distinct<'a>(losing: &[&'a Account]) -> usize {
    let mut seen: BTreeSet<&Loss> = BTreeSet::new();
    let mut loses_more = |account: &'a Account| {
        let losses: Vec<&Loss> = account.losses.values().flatten().collect();
        let is_new = losses.iter().any(|loss| loss.entry.is_none() || !seen.contains(*loss));
        seen.extend(losses);
        is_new || account.before > 0
    };
    losing.iter().filter(|account| loses_more(account)).count()
}

/// Namespaces that are weighed together: of claimants of one kind, or of one group of guests, which the same source alone
/// provides or no such one.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Share<'a> {
    /// None of what is no namespace's.
    among: Option<Among<'a>>,
    /// A tenant with a source of his own could use up everybody's bound.
    source: Option<&'a SourceName>,
}

/// Those among whom namespaces are weighed together.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Among<'a> {
    /// The claimants of a kind.
    Kind(&'a Kind),
    /// Objects of tenants in a group of guests.
    Group(&'a Name),
}

impl<'a> Share<'a> {
    fn of(account: &'a Account) -> Self {
        let among = match &account.whose {
            Whose::Kind { kind, .. } => Some(Among::Kind(kind)),
            Whose::Written { of, .. } => match &**of {
                Whose::Kind { kind, .. } => Some(Among::Kind(kind)),
                Whose::Group(group) => Some(Among::Group(group)),
                Whose::Written { .. } | Whose::Anybody => None,
            },
            Whose::Group(_) | Whose::Anybody => None,
        };
        Self { among, source: account.source.as_ref() }
    }
}

/// A place of which enough has to stay.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place<'a> {
    /// The region.
    Region,
    /// The clusters of a group of guests.
    Group(&'a Name),
    /// The region, where it is unknown who claims.
    Unknown,
}

impl Whose {
    fn place(&self) -> Place<'_> {
        match self {
            Whose::Kind { .. } => Place::Region,
            Whose::Group(group) => Place::Group(group),
            Whose::Written { of, .. } => of.place(),
            Whose::Anybody => Place::Unknown,
        }
    }
}

/// The bound that an account is beyond by itself, at a place with so many claimants.
fn own_bound(account: &Account, of: usize, budget: &Deletions) -> Option<Bound> {
    if account.lost > budget.allowed(account.claimants) {
        return Some(Bound::Own);
    }
    let alone = too_few(account.gone, of, budget).map(|(left, of)| Bound::Alone { left, of });
    alone.or_else(|| account.is_held.then_some(Bound::Held))
}

/// How many of how many are left where these go, if that is not enough.
fn too_few(gone: usize, of: usize, budget: &Deletions) -> Option<(usize, usize)> {
    let left = of.saturating_sub(gone);
    (gone > 0 && !budget.leaves_enough(left, of)).then_some((left, of))
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

/// The losses, counted for people: `5 objects and 1 entry of a Secret that stays`.
fn count_losses(losses: &BTreeSet<&Loss>) -> String {
    let objects = losses.iter().filter(|loss| loss.entry.is_none()).count();
    let entries = losses.iter().filter(|loss| loss.entry.is_some()).count();
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
fn hold_of(load: &Load<'_>, budget: &Deletions, beyond: &Beyond<'_>, accept: Acceptance) -> Hold {
    let Beyond { account, bound, losing, losses } = beyond;
    let Account { whose, claimants, before, lost, .. } = account;
    let region = load.region;
    let most = if let Whose::Written { .. } = whose { 1 } else { OBJECTS };
    let named = few_that_fit(losses.iter().map(|loss| loss.shown()), losses.len(), most);
    let counts = count_losses(losses);
    let message = match whose {
        Whose::Anybody => format!("region {region} would lose {} of its {claimants} objects: {named}", losses.len()),
        Whose::Kind { .. } | Whose::Group(_) | Whose::Written { .. } => {
            let after = match before {
                0 => String::new(),
                before => format!(", after {before} that lost something before,"),
            };
            let paths = few_that_fit(losing.iter().map(|by| by.path()), losing.len(), CLAIMANTS);
            format!(
                "{} of {claimants} {whose}{after} would lose {counts} in region {region}: {named}; claimants: {paths}",
                losing.len()
            )
        }
    };
    let allowed = budget.allowed(*claimants);
    let why = match bound {
        Bound::Own if *lost > losing.len() + *before => format!(
            "Of one that loses more than {} objects and entries each counts, which makes {lost}, and {allowed} may go \
             without a person.",
            budget.most
        ),
        Bound::Own => format!("Without a person {allowed} may go."),
        Bound::Held => String::from("It was held before, and goes once somebody accepts it."),
        Bound::Namespaces { losing, of } => format!(
            "{losing} of {of} namespaces lose something at once, and without a person one and {} more may.",
            budget.allowed(*of)
        ),
        Bound::Whole { left, of } | Bound::Alone { left, of } => format!(
            "Of {of} claimants in all, {left} would keep something, and without a person {} percent must.",
            budget.keep.0
        ),
    };
    let help = format!("{why} If all of them should go, pass --accept-deletions {accept}.");
    finished(load, message, help, losing, losses, accept)
}

/// What holds the withdrawals of many accounts.
fn held_together(load: &Load<'_>, held: &[Beyond<'_>], losses: &BTreeSet<&Loss>, accept: Acceptance) -> Hold {
    let losing: BTreeSet<&Claimant> = held.iter().flat_map(|beyond| &beyond.losing).copied().collect();
    let message = format!(
        "{} would lose {} in region {}: {}; claimants: {}",
        counted(losing.len(), "claimant", "claimants"),
        count_losses(losses),
        load.region,
        few_that_fit(losses.iter().map(|loss| loss.shown()), losses.len(), OBJECTS),
        few_that_fit(losing.iter().map(|by| by.path()), losing.len(), CLAIMANTS),
    );
    let help = format!(
        "That is more than limits.deletions lets go without a person. If all of them should go, pass \
         --accept-deletions {accept}."
    );
    finished(load, message, help, &losing, losses, accept)
}

fn finished(
    load: &Load<'_>,
    message: String,
    help: String,
    losing: &BTreeSet<&Claimant>,
    losses: &BTreeSet<&Loss>,
    accept: Acceptance,
) -> Hold {
    let finding = Finding::new(Code::DeletionsHeld, message).in_region(load.region).help(help);
    Hold {
        claimants: losing.iter().map(|by| (*by).clone()).collect(),
        losses: losses.iter().map(|loss| (*loss).clone()).collect(),
        ..Hold::lifted_by(finding, accept)
    }
}

#[cfg(test)]
mod tests;
