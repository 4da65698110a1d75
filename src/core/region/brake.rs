//! The brake: nothing downstream protects anyone, so pouch does (DESIGN §2.8).
//!
//! Flux and Argo CD prune what disappears from a bundle. Withdrawals are counted for each namespace that claims, so that
//! one tenant's are never held for another's. What is beyond a budget stays published until somebody accepts that very
//! set of that very content; everything else of the region goes on.

use alloc::borrow::ToOwned as _;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::change::{Hold, Loss};
use crate::config::{Accept, Acceptance, Limits};
use crate::finding::{Code, Finding};
use crate::hash::sha256_hex;
use crate::listing::{counted, few};
use crate::name::holder::Holder;
use crate::name::{Claimant, Directory, FleetName, Namespace, ObjectKey, Region, SourceName};
use crate::recipient::Recipient;

/// What the brake looks at, of one region.
pub struct Load<'a> {
    /// The fleet.
    pub fleet: &'a FleetName,
    /// The region.
    pub region: &'a Region,
    /// Its folder.
    pub directory: &'a Directory,
    /// What each holder loses; those that lose nothing may be left out.
    pub accounts: &'a [Account],
    /// Objects that are published, or were at the baseline, without Namespaces.
    pub objects: usize,
    /// Secrets and identities that are left if nothing is held.
    pub left: usize,
    /// The same for the namespaces of each source that is a tenant's own, and for all others; empty if no source is.
    pub shares: &'a [Share],
    /// Recipients that were not there before; empty for a region that was not published.
    pub added_recipients: &'a [Recipient],
    /// Unchanged Secrets that are sealed anew without anybody having asked, as `line` writes them.
    pub unasked_reseals: &'a [String],
    /// The namespaces of which every value is replaced.
    pub replaced: &'a [Replaced],
    /// Secrets that are left afterwards.
    pub secrets: usize,
    /// Acceptances that let something through before.
    pub spent: &'a BTreeSet<Acceptance>,
}

impl<'a> Load<'a> {
    /// A region of which nothing changes.
    pub fn of(
        (fleet, region, directory): (&'a FleetName, &'a Region, &'a Directory),
        objects: usize,
        spent: &'a BTreeSet<Acceptance>,
    ) -> Self {
        Self {
            fleet,
            region,
            directory,
            accounts: &[],
            objects,
            left: objects,
            shares: &[],
            added_recipients: &[],
            unasked_reseals: &[],
            replaced: &[],
            secrets: objects,
            spent,
        }
    }
}

/// What the namespaces of one source have.
///
/// What many namespaces lose at once has a bound too: it looks like a fault of what is read. What groups deliver to guests
/// has one apart, since rules take it wherever it stands. A tenant with a source of his own could use that up for all
/// others, so each such source has a bound of its own.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Share {
    /// The source; none for all namespaces that only sources which are trusted with more may provide.
    pub source: Option<SourceName>,
    /// Whether it is what groups deliver to guests.
    pub guests: bool,
    /// Objects that are published for them, or were at the baseline, without Namespaces.
    pub objects: usize,
    /// Their Secrets and identities that are left if nothing is held.
    pub left: usize,
}

/// What one holder loses.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// Whose it is; none where nobody knows who claims.
    pub whose: Option<Holder>,
    /// The source that is the namespace's own, if one is.
    pub source: Option<SourceName>,
    /// What it would lose now, sorted.
    pub losses: Vec<Loss>,
    /// Its claimants that would lose some of that, sorted.
    pub losing: Vec<Claimant>,
    /// How many objects, and entries of Secrets that stayed, it lost since the baseline.
    pub lost_before: usize,
    /// What it has published, or had at the baseline, without Namespaces.
    pub objects: usize,
    /// Whether none is left of two or more claimants.
    pub loses_all: bool,
}

/// A holder of whom every value that stays published is replaced.
#[derive(Clone, Debug)]
pub struct Replaced {
    /// Whose they are.
    pub whose: Holder,
    /// His Secrets, and the SHA-256 of their published files, sorted.
    pub secrets: Vec<(ObjectKey, String)>,
    /// The claimants that need them, sorted.
    pub claimants: Vec<Claimant>,
}

impl Share {
    /// Whether nothing is left of what only sources that are trusted with more may provide.
    fn is_emptied(&self) -> bool {
        self.source.is_none() && !self.guests && self.left == 0
    }
}

impl Account {
    /// Whether it is what a group delivers to guests.
    pub fn is_guests(&self) -> bool {
        self.whose.as_ref().is_some_and(Holder::is_guests)
    }

    fn is_of(&self, share: &Share) -> bool {
        self.source == share.source && self.is_guests() == share.guests
    }

    fn total(&self) -> usize {
        self.losses.len().saturating_add(self.lost_before)
    }

    fn is_within(&self, limits: &Limits) -> bool {
        let total = self.total();
        let few = total <= limits.free_deletions
            || (total <= limits.deletion_objects && !exceeds(total, limits.deletion_percent, self.objects));
        self.losses.is_empty() || (few && !self.loses_all)
    }
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
        (Accept::Reseal, Some(namespace)) => format!("{namespace}\n"),
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

/// Whose withdrawals are held.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Held {
    /// Nobody's.
    #[default]
    Nothing,
    /// Those of these.
    Of(BTreeSet<Option<Holder>>),
    /// All of the region's.
    All,
}

impl Held {
    /// Whether somebody's withdrawals are held.
    pub fn holds(&self, whose: &Holder) -> bool {
        match self {
            Held::Nothing => false,
            Held::Of(held) => held.iter().flatten().any(|held| held == whose),
            Held::All => true,
        }
    }
}

/// What the brake says of a region.
#[derive(Default)]
pub struct Braked {
    /// What holds the region as a whole; empty where it may be published.
    pub holds: Vec<Hold>,
    /// Whose withdrawals are held.
    pub held: Held,
    /// Why they are.
    pub deletions: Vec<Hold>,
    /// Whose Secrets keep their values.
    pub keeping: BTreeSet<Holder>,
    /// Why they do.
    pub values: Vec<Hold>,
    /// The acceptances that were needed: without them more would be held.
    pub accepted: Vec<Acceptance>,
}

/// What the brake says of a region, given its acceptances.
pub fn hold(load: &Load<'_>, limits: &Limits, given: &[Acceptance]) -> Braked {
    let wanted =
        |what: Accept, namespace: Option<&Namespace>, lines: &[String]| acceptance(what, load, namespace, lines);
    let is_given = |wanted: &Acceptance| given.contains(wanted);
    let mut braked = deletions(load, limits, &wanted, &is_given);
    let mut ask = |wanted: Acceptance, finding: Finding| {
        if is_given(&wanted) {
            braked.accepted.push(wanted);
        } else {
            braked.holds.push(Hold::lifted_by(finding, wanted));
        }
    };
    if !load.added_recipients.is_empty() {
        let lines: Vec<String> = load.added_recipients.iter().map(|r| r.as_str().to_owned()).collect();
        let wanted = wanted(Accept::Recipients, None, &lines);
        let message = format!("region {} would become readable for {}", load.region, lines.join(", "));
        let help = format!("If the key belongs there, pass --accept-recipients {wanted}.");
        ask(wanted, Finding::new(Code::RecipientAdded, message).in_region(load.region).help(help));
    }
    let reseals = load.unasked_reseals.len();
    if exceeds(reseals, limits.reseal_percent, load.secrets) {
        let wanted = wanted(Accept::Reseal, None, load.unasked_reseals);
        let message = format!(
            "{reseals} of {} Secrets of region {} would be sealed anew because their files do not match the manifest",
            load.secrets, load.region
        );
        let help = format!("Find out who changed the files. To write them anew, pass --accept-reseal {wanted}.");
        ask(wanted, Finding::new(Code::ResealHeld, message).in_region(load.region).help(help));
    }
    values(load, limits, &mut braked, &wanted, &is_given);
    braked
}

/// Weighs the values that are replaced: all of a namespace's at once look like another place's.
///
/// Namespaces are weighed one by one, so that nobody's rotation waits for what others do.
fn values(load: &Load<'_>, limits: &Limits, braked: &mut Braked, wanted: &Wanted<'_>, is_given: &Given<'_>) {
    const SHOWN: usize = 5;
    let Load { region, replaced, .. } = load;
    // Who lets all be sealed anew unasked wants no brake here either.
    let is_braked = limits.reseal_percent < 100;
    for Replaced { whose, secrets, claimants } in *replaced {
        if !is_braked || secrets.len() <= limits.free_deletions {
            continue;
        }
        let lines: Vec<String> = secrets.iter().map(|(key, sha256)| line(key, sha256)).collect();
        let acceptance = wanted(Accept::Reseal, Some(&whose.namespace), &lines);
        if is_given(&acceptance) {
            braked.accepted.push(acceptance);
            continue;
        }
        let named = few(secrets.iter().map(|(key, _)| key), secrets.len(), SHOWN);
        let message = format!(
            "every value of {whose} in region {region} would be replaced at once, in {} Secrets: {named}",
            secrets.len()
        );
        let help = format!("If all of them were rotated, pass --accept-reseal {acceptance}.");
        let finding = Finding::new(Code::ResealHeld, message).in_region(region).help(help);
        braked.values.push(Hold { claimants: claimants.clone(), ..Hold::lifted_by(finding, acceptance) });
        braked.keeping.insert(whose.clone());
    }
}

/// Makes the acceptance that lets lines through: of a namespace, or of the whole region.
type Wanted<'a> = dyn Fn(Accept, Option<&Namespace>, &[String]) -> Acceptance + 'a;

/// Whether an acceptance was given.
type Given<'a> = dyn Fn(&Acceptance) -> bool + 'a;

/// Weighs the withdrawals: first those of each namespace, then what passes of all together.
fn deletions(load: &Load<'_>, limits: &Limits, wanted: &Wanted<'_>, is_given: &Given<'_>) -> Braked {
    let mut braked = Braked::default();
    let losing = || load.accounts.iter().filter(|account| !account.losses.is_empty());
    let all: Vec<&Loss> = losing().flat_map(|account| &account.losses).collect::<BTreeSet<_>>().into_iter().collect();
    if all.is_empty() {
        return braked;
    }
    let lines = |losses: &[&Loss]| losses.iter().map(|loss| loss.line()).collect::<Vec<_>>();
    let whole = wanted(Accept::Deletions, None, &lines(&all));
    if is_given(&whole) {
        braked.accepted.push(whole);
        return braked;
    }
    let of_account = |account: &Account| {
        let losses: Vec<&Loss> = account.losses.iter().collect();
        wanted(Accept::Deletions, account.whose.as_ref().map(|whose| &whose.namespace), &lines(&losses))
    };
    let mut passing: Vec<&Account> = Vec::new();
    let mut held = BTreeSet::new();
    for account in losing() {
        if account.is_within(limits) {
            passing.push(account);
            continue;
        }
        let acceptance = of_account(account);
        if is_given(&acceptance) {
            braked.accepted.push(acceptance);
            continue;
        }
        let losses: Vec<&Loss> = account.losses.iter().collect();
        let whose = called(load, account);
        let counts = count_losses(&losses, account.objects);
        let why = match (account.lost_before, account.loses_all) {
            (_, true) if account.losing.iter().all(Claimant::is_credential) => {
                String::from(", all of several Credentials")
            }
            (_, true) => String::from(", all of several claimants"),
            (0, false) => String::new(),
            (before, false) => format!(", after {before} that went before"),
        };
        let claimants = account.losing.iter().collect();
        braked.deletions.push(held_deletions(
            load,
            &whose,
            &format!("{counts}{why}"),
            (&losses, claimants),
            acceptance,
        ));
        held.insert(account.whose.clone());
    }
    let everyone = [Share { objects: load.objects, left: load.left, ..Share::default() }];
    let shares = if load.shares.is_empty() { &everyone } else { load.shares };
    let nobody_held = held.is_empty();
    for share in shares {
        let is_of_share = |account: &&&Account| load.shares.is_empty() || account.is_of(share);
        let passing: Vec<&Account> = passing.iter().filter(is_of_share).copied().collect();
        let is_held = losing().filter(|account| is_of_share(&account)).any(|account| held.contains(&account.whose));
        // One namespace's losses have a bound of their own: what counts here is what the others lose beside it.
        let together: usize = passing.iter().map(|account| account.total()).sum();
        let most = passing.iter().map(|account| account.total()).max().unwrap_or_default();
        let beside = together.saturating_sub(most);
        let too_much = beside > limits.free_deletions && exceeds(beside, limits.deletion_percent, share.objects);
        // What a tenant's own source gave may go to the last, as long as the region keeps something.
        let is_emptied = (load.left == 0 && nobody_held) || (share.is_emptied() && !is_held);
        let empties = is_emptied && !passing.is_empty();
        if !too_much && !empties {
            continue;
        }
        let end = if empties { ", which empties it" } else { "" };
        // What was accepted goes all the same, and is not asked for again.
        if load.shares.is_empty() && braked.accepted.is_empty() {
            let counts = format!("{}{end}", count_losses(&all, load.objects));
            let whose = format!("region {}", load.region);
            let claimants = losing().flat_map(|account| &account.losing).collect();
            braked.deletions = [held_deletions(load, &whose, &counts, (&all, claimants), whole)].into();
            braked.held = Held::All;
            return braked;
        }
        for account in &passing {
            let acceptance = of_account(account);
            if is_given(&acceptance) {
                braked.accepted.push(acceptance);
                continue;
            }
            let losses: Vec<&Loss> = account.losses.iter().collect();
            let source = share.source.as_ref().map_or(String::new(), |source| format!(" of source {source}"));
            let namespaces = counted(passing.len(), "namespace", "namespaces");
            let counts = format!(
                "{}, and {namespaces}{source} {together} together{end}",
                count_losses(&losses, account.objects)
            );
            let claimants = account.losing.iter().collect();
            let whose = called(load, account);
            braked.deletions.push(held_deletions(load, &whose, &counts, (&losses, claimants), acceptance));
            held.insert(account.whose.clone());
        }
    }
    // Once what is held goes too, the rest may empty what is theirs, and be held in turn: so one line asks for all of it.
    if let Some(first) = braked.deletions.first_mut() {
        let is_emptied = |share: &&Share| load.left == 0 || share.is_emptied();
        let emptied: Vec<&Share> = shares.iter().filter(is_emptied).collect();
        let is_of = |account: &&&Account| emptied.iter().any(|share| load.shares.is_empty() || account.is_of(share));
        let rest = passing.iter().filter(|account| !held.contains(&account.whose)).filter(is_of);
        first.beside = rest.map(|account| of_account(account)).filter(|wanted| !is_given(wanted)).collect();
    }
    if !held.is_empty() {
        braked.held = Held::Of(held);
    }
    braked
}

/// Whose losses an account counts.
fn called(load: &Load<'_>, account: &Account) -> String {
    let region = load.region;
    account.whose.as_ref().map_or(format!("region {region}"), |whose| format!("{whose} in region {region}"))
}

/// Recipients that can read the new bundle and not the published one.
pub(super) fn added_recipients(before: &[Recipient], now: &[Recipient]) -> Vec<Recipient> {
    // A manifest without recipients holds no Secrets, so nobody gains anything.
    now.iter().filter(|recipient| !before.is_empty() && !before.contains(recipient)).cloned().collect()
}

/// Whether `count` is more than `percent` of `whole`.
fn exceeds(count: usize, percent: usize, whole: usize) -> bool {
    count.saturating_mul(100) > percent.saturating_mul(whole)
}

/// The losses, counted for people: `2 of its 5 objects and 1 entry of a Secret that stays`.
fn count_losses(losses: &[&Loss], of: usize) -> String {
    let objects = losses.iter().filter(|loss| loss.entry.is_none()).count();
    let entries = losses.len().saturating_sub(objects);
    let whole = format!("{objects} of its {of} objects");
    let parts = counted(entries, "entry of a Secret that stays", "entries of Secrets that stay");
    match (objects, entries) {
        (_, 0) => whole,
        (0, _) => parts,
        _ => format!("{whole} and {parts}"),
    }
}

fn held_deletions(
    load: &Load<'_>,
    whose: &str,
    counts: &str,
    (losses, claimants): (&[&Loss], BTreeSet<&Claimant>),
    accept: Acceptance,
) -> Hold {
    const OBJECTS: usize = 5;
    const CLAIMANTS: usize = 20;
    let named = few(losses.iter().map(|loss| loss.shown()), losses.len(), OBJECTS);
    let of = match claimants.len() {
        0 => String::new(),
        count => {
            let kind = match claimants.iter().all(|by| by.is_credential()) {
                true => "Credential",
                false => "claimant",
            };
            let who = if count == 1 { format!("{kind} that loses them") } else { format!("{kind}s that lose them") };
            format!("; {who}: {}", few(claimants.iter().map(|by| by.path()), count, CLAIMANTS))
        }
    };
    let message = format!("{whose} would lose {counts}: {named}{of}");
    let help = format!("If all of them should go, pass --accept-deletions {accept}.");
    let finding = Finding::new(Code::DeletionsHeld, message).in_region(load.region).help(help);
    Hold {
        claimants: claimants.into_iter().cloned().collect(),
        losses: losses.iter().map(|loss| (*loss).clone()).collect(),
        ..Hold::lifted_by(finding, accept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{GitLimits, SourceLimits};
    use alloc::vec;

    fn limits() -> Limits {
        Limits {
            free_deletions: 3,
            deletion_percent: 20,
            deletion_objects: 10,
            deletion_window: 24 * 3600,
            handover: 3600,
            reseal_percent: 20,
            accept: vec![],
            sources: SourceLimits::DEFAULT,
            git: GitLimits { idle: 120, total: 3600, settle: 30 },
            attempts: 5,
            objects_per_region: None,
            objects_per_leaf: None,
            objects_per_namespace: 500,
            credentials_per_namespace: 500,
            sealed_bytes_per_namespace: 16 << 20,
        }
    }

    fn account(namespace: &str, objects: usize, gone: usize, before: usize) -> Account {
        let loss = |n| Loss {
            key: ObjectKey::secret(namespace.into(), format!("s{n:03}").as_str().into()),
            entry: None,
            sha256: "aa".into(),
        };
        Account {
            whose: Some(Holder::own(namespace.into())),
            source: None,
            losses: (0..gone).map(loss).collect(),
            losing: vec![Claimant::credential(namespace.into(), "c".into())],
            lost_before: before,
            objects,
            loses_all: gone > 1 && gone == objects,
        }
    }

    fn held_by(accounts: &[Account], shares: &[Share], given: &[Acceptance], spent: &[Acceptance]) -> Braked {
        let objects = accounts.iter().map(|account| account.objects).sum();
        let gone: usize = accounts.iter().map(|account| account.losses.len()).sum();
        let (fleet, region, directory) = ("f".into(), "r".into(), "d".into());
        let spent = spent.iter().cloned().collect();
        let still = Load::of((&fleet, &region, &directory), objects, &spent);
        let load = Load { accounts, left: objects.saturating_sub(gone), shares, ..still };
        hold(&load, &limits(), given)
    }

    fn braked(accounts: &[Account], given: &[Acceptance], spent: &[Acceptance]) -> Braked {
        held_by(accounts, &[], given, spent)
    }

    /// Every number of published, withdrawn and formerly withdrawn objects, against the rule said another way.
    #[test]
    fn no_withdrawal_passes_beyond_its_budget() {
        let others = account("others", 1000, 0, 0);
        for published in 0..=60_usize {
            for gone in 0..=published {
                for before in [0, 1, 4] {
                    let mine = account("team", published, gone, before);
                    let all = gone > 1 && gone == published;
                    let (sum, fits) = (gone + before, (gone + before) * 5 <= published);
                    let passes = gone == 0 || (!all && (sum <= 3 || (sum <= 10 && fits)));
                    let held = braked(&[mine, others.clone()], &[], &[]).held;
                    assert_eq!(held == Held::Nothing, passes, "{gone} of {published} after {before}");
                }
            }
        }
    }

    #[test]
    fn an_acceptance_fits_one_set_of_one_namespace_once() {
        let both = |gone| [account("team", 10, gone, 0), account("other", 90, 0, 0)];
        let braked_by = |gone, given: &[Acceptance], spent: &[Acceptance]| braked(&both(gone), given, spent);
        let hold = braked_by(9, &[], &[]).deletions.remove(0);
        let accepted = hold.lifted_by.unwrap();
        assert!(hold.finding.help.ends_with(&format!(" --accept-deletions r/team={}.", accepted.digest)));
        assert_eq!(accepted.digest.len(), 16);
        let passes = |gone, given: Acceptance| braked_by(gone, &[given], &[]).held == Held::Nothing;
        assert!(passes(9, accepted.clone()));
        assert!(!passes(8, accepted.clone()));
        assert!(!passes(9, Acceptance { region: "q".into(), ..accepted.clone() }));
        assert!(!passes(9, Acceptance { namespace: Some("other".into()), ..accepted.clone() }));
        assert!(!passes(9, Acceptance { what: Accept::Reseal, ..accepted.clone() }));
        let given = core::slice::from_ref(&accepted);
        assert_ne!(braked_by(9, given, given).held, Held::Nothing);
    }

    #[test]
    fn a_digest_is_what_the_documentation_says() {
        let hold = braked(&[account("team", 2, 2, 0), account("other", 9, 0, 0)], &[], &[]).deletions.remove(0);
        let text = "pouch/v1 deletions\nf\nd\nteam\n/Secret/team/s000 aa\n/Secret/team/s001 aa\n";
        assert_eq!(hold.lifted_by.unwrap().digest, sha256_hex(text.as_bytes()).get(..16).unwrap());
    }

    #[test]
    fn one_namespace_holds_no_other() {
        let quiet = account("quiet", 40, 2, 0);
        for hostile in 0..=60 {
            let held = braked(&[quiet.clone(), account("hostile", 60, hostile, 0)], &[], &[]).held;
            assert!(!held.holds(&Holder::own("quiet".into())), "{hostile}");
            assert_eq!(held.holds(&Holder::own("hostile".into())), hostile > 10, "{hostile}");
        }
    }

    /// What many lose together is bounded by source, so that a tenant with a source of his own uses up nobody's bound.
    #[test]
    fn a_tenant_with_his_own_source_uses_up_nobodys_bound() {
        let mut accounts: Vec<Account> = (0..3).map(|n| account(&format!("n{n}"), 5, 2, 0)).collect();
        accounts.push(Account { source: Some("own".into()), ..account("own", 5, 3, 0) });
        let share =
            |source: Option<&str>, objects| Share { source: source.map(Into::into), guests: false, objects, left: 9 };
        let shares = [share(None, 15), share(Some("own"), 5)];
        // By themselves the three withdraw four objects beside two: more than `free`, and more than 20 % of 15.
        let held = |accounts: &[Account]| held_by(accounts, &shares, &[], &[]);
        let three = ["n0", "n1", "n2"].map(|name| Some(Holder::own(name.into()))).into_iter().collect();
        assert_eq!(held(&accounts).held, Held::Of(three));
        for one in 0..3 {
            let rest: Vec<Account> =
                accounts.iter().enumerate().filter(|(n, _)| *n != one).map(|(_, a)| a.clone()).collect();
            assert_eq!(held(&rest).held, Held::Nothing, "{one}");
        }
        // In one share with the others he would be counted too.
        accounts.remove(0);
        assert_eq!(braked(&accounts, &[], &[]).held, Held::All);
    }

    /// What nobody holds yet may empty a share once what is held goes, and one line lets both go.
    #[test]
    fn one_line_lets_through_what_would_be_held_next() {
        let all = [
            account("large", 60, 60, 0),
            account("small", 1, 1, 0),
            Account { source: Some("own".into()), ..account("own", 5, 0, 0) },
        ];
        let share = |source: Option<&str>, objects, left| Share {
            source: source.map(Into::into),
            guests: false,
            objects,
            left,
        };
        let two = [share(None, 61, 0), share(Some("own"), 5, 5)];
        for (accounts, shares) in [(&all[..2], &[][..]), (&all[..], &two)] {
            let held = |given: &[Acceptance]| held_by(accounts, shares, given, &[]);
            let first = held(&[]);
            let large: BTreeSet<Option<Holder>> = [Some(Holder::own("large".into()))].into();
            assert_eq!(first.held, Held::Of(large));
            let hold = &first.deletions[0];
            let line: Vec<Acceptance> = hold.lifted_by.iter().chain(&hold.beside).cloned().collect();
            assert_eq!(line.len(), 2);
            assert_eq!(held(&line).held, Held::Nothing);
            // With one alone, what was accepted goes and the other waits.
            let small: BTreeSet<Option<Holder>> = [Some(Holder::own("small".into()))].into();
            assert_eq!(held(&line[..1]).held, Held::Of(small));
        }
    }

    /// Each time the same set comes up again it is asked for anew, and can be accepted anew.
    #[test]
    fn what_was_used_is_asked_for_once_more() {
        let accounts = [account("team", 9, 9, 0)];
        let (mut used, mut digests) = (Vec::new(), BTreeSet::new());
        for _ in 0..4 {
            let asked = braked(&accounts, &used, &used).deletions.remove(0).lifted_by.unwrap();
            assert!(digests.insert(asked.digest.clone()));
            let let_through = braked(&accounts, core::slice::from_ref(&asked), &used);
            assert_eq!((let_through.held, &*let_through.accepted), (Held::Nothing, core::slice::from_ref(&asked)));
            used.push(asked);
        }
    }

    #[test]
    fn what_passes_of_many_namespaces_is_bounded_together() {
        let many = |count: usize| -> Vec<Account> {
            (0..20).map(|n| account(&format!("n{n:02}"), 5, if n < count { 3 } else { 0 }, 0)).collect()
        };
        assert_eq!(braked(&many(7), &[], &[]).held, Held::Nothing);
        let held = braked(&many(8), &[], &[]);
        assert_eq!((held.held, held.deletions.len()), (Held::All, 1));
    }
}
