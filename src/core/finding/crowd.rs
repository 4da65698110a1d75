//! Crowds: of what one account has wrong, the first findings are listed, and the others are counted.
//!
//! A writer of a source, of a namespace or of the output branch can write as much that is wrong as fits there. An account so has
//! a bounded number of findings in all that is told and kept, shared by kind, so that a flood leaves room for all that is
//! found of others, and for the rare finding of its own. Of what is left out one finding says how many there are: it has
//! their code and severity, so that whatever such findings decide stays decided.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;
use core::fmt;

use super::{Cause, Code, Fault, Finding, Origin, Place, Severity, settle};
use crate::name::{Namespace, ObjectKey, Region, SourceName};

/// The most findings of one account that are listed.
pub const MOST: usize = 2_000;

/// The most faults of one object and code that are listed.
pub const MOST_OF_OBJECT: usize = 16;

/// The party that a finding is about: all who write there count as one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Account {
    /// Those who write a source.
    Source(SourceName),
    /// Those who write in a namespace, wherever it stands.
    Namespace(Namespace),
    /// Those who write in a region's folders, or on its cluster.
    Region(Region),
    /// Those who write elsewhere in the output.
    Elsewhere,
}

impl Account {
    /// The account of what is found without a source: the region, or else the namespace.
    pub fn without_source(finding: &Finding) -> Self {
        match (&finding.region, finding.namespace()) {
            (Some(region), _) => Self::Region(region.clone()),
            (None, Some(namespace)) => Self::Namespace(namespace.clone()),
            (None, None) => Self::Elsewhere,
        }
    }
}

/// For people: `source team-a`.
impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(source) => write!(f, "source {source}"),
            Self::Namespace(namespace) => write!(f, "namespace {namespace}"),
            Self::Region(region) => write!(f, "region {region}"),
            Self::Elsewhere => f.write_str("the output"),
        }
    }
}

impl Finding {
    /// The number of findings that it stands for.
    pub fn count(&self) -> usize {
        self.others.max(1)
    }

    /// The namespace of whom it concerns, or of what it is about.
    pub fn namespace(&self) -> Option<&Namespace> {
        let of_object = || self.object.as_ref().and_then(|object| object.namespace.as_ref());
        self.claimant.as_ref().map(|by| by.namespace()).or_else(of_object)
    }

    /// Returns true if it says how many findings of an account are left out.
    pub fn is_rest(&self) -> bool {
        let is_at_object =
            || matches!(self.origin, Some(Origin { place: Place::File { .. } | Place::Cluster { .. }, .. }));
        self.others > 0 && self.claimant.is_none() && !is_at_object()
    }
}

/// The number of findings that these stand for.
pub fn count<'f>(findings: impl IntoIterator<Item = &'f Finding>) -> usize {
    findings.into_iter().map(Finding::count).fold(0, usize::saturating_add)
}

/// Findings of an account that share its room with others.
type Kind = (Severity, Code, Option<Region>, Option<Namespace>);

fn kind(finding: &Finding) -> Kind {
    (finding.severity, finding.code, finding.region.clone(), finding.namespace().cloned())
}

/// Everything that is found of an account.
#[derive(Default)]
struct Found {
    /// By kind: the number that is found, and the number that is listed.
    kinds: BTreeMap<Kind, (usize, usize)>,
    listed: usize,
    /// The number that is listed of each kind, unless all are.
    most: Option<usize>,
}

impl Found {
    /// Shares the room: each kind gets as much, and those that need less leave the rest to the others.
    fn share(&mut self) {
        let mut counts: Vec<usize> = self.kinds.values().map(|(found, _)| *found).collect();
        if counts.iter().sum::<usize>() <= MOST {
            return;
        }
        counts.sort_unstable();
        let (mut room, mut kinds, mut most) = (MOST, counts.len(), 0);
        for count in counts {
            most = room.checked_div(kinds).unwrap_or_default();
            if count > most {
                break;
            }
            (room, kinds) = (room.saturating_sub(count), kinds.saturating_sub(1));
        }
        self.most = Some(most.max(1));
    }

    /// Returns true if one more of a kind is listed.
    fn lists(&mut self, kind: &Kind) -> bool {
        let Some(most) = self.most else { return true };
        let Some((_, listed)) = self.kinds.get_mut(kind).filter(|(_, listed)| *listed < most) else { return false };
        if self.listed >= MOST {
            return false;
        }
        *listed = listed.saturating_add(1);
        self.listed = self.listed.saturating_add(1);
        true
    }
}

/// Lists at most [`MOST`] of the settled findings of each account, and says how many others there are.
pub fn bounded(settled: Vec<Finding>, mut account: impl FnMut(&Finding) -> Account) -> Vec<Finding> {
    if settled.len() <= MOST {
        return settled;
    }
    let mut accounts: BTreeMap<Account, Found> = BTreeMap::new();
    for finding in settled.iter().filter(|finding| !finding.is_rest()) {
        let found = accounts.entry(account(finding)).or_default();
        let (count, _) = found.kinds.entry(kind(finding)).or_default();
        *count = count.saturating_add(1);
    }
    accounts.values_mut().for_each(Found::share);
    if accounts.values().all(|found| found.most.is_none()) {
        return settled;
    }
    let mut rests: BTreeMap<(Account, Rest), Finding> = BTreeMap::new();
    let mut listed = Vec::new();
    for finding in settled {
        let whose = account(&finding);
        let mut is_listed = || accounts.get_mut(&whose).is_some_and(|found| found.lists(&kind(&finding)));
        if !finding.is_rest() && is_listed() {
            listed.push(finding);
            continue;
        }
        let count = finding.count();
        let of = (finding.severity, finding.code, finding.region.clone(), finding.because.clone());
        let rest = rests.entry((whose.clone(), of)).or_insert_with(|| rest(finding, &whose));
        rest.others = rest.others.saturating_add(count);
    }
    listed.extend(rests.into_iter().map(|((whose, _), rest)| said(rest, &whose)));
    listed.shrink_to_fit();
    settle(listed)
}

/// The common part of findings that are counted together.
type Rest = (Severity, Code, Option<Region>, Option<Cause>);

/// The finding that stands for others of an account, of which `first` is one.
fn rest(first: Finding, whose: &Account) -> Finding {
    let (object, origin) = match whose {
        Account::Source(source) => (None, Some(Origin { source: source.clone(), place: Place::Whole })),
        Account::Namespace(namespace) => (Some(ObjectKey::namespace(namespace)), None),
        Account::Region(_) | Account::Elsewhere => (None, None),
    };
    Finding { claimant: None, object, origin, others: 0, ..first }
}

fn said(rest: Finding, whose: &Account) -> Finding {
    let message = format!("{whose} has {} more of these, which are counted and not listed", rest.others);
    Finding {
        message,
        ..rest.help("Cure those that are listed: of one account so many are, and the rest counts as they do.")
    }
}

/// Lists the first faults of each code that an object has, and says how many others there are.
pub fn few(faults: &mut Vec<Fault>) {
    if faults.len() <= MOST_OF_OBJECT {
        return;
    }
    let mut met: BTreeMap<Code, usize> = BTreeMap::new();
    let mut rests: BTreeMap<Code, Fault> = BTreeMap::new();
    faults.retain(|fault| {
        let met = met.entry(fault.code).or_default();
        // One that stands for others was counted already.
        if fault.others == 0 && *met < MOST_OF_OBJECT {
            *met = met.saturating_add(1);
            return true;
        }
        let rest = rests.entry(fault.code).or_insert_with(|| Fault { others: 0, ..fault.clone() });
        rest.others = rest.others.saturating_add(fault.others.max(1));
        false
    });
    for (_, mut rest) in rests {
        rest.message = format!("{} more of these in the object are counted and not listed", rest.others);
        faults.push(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Claimant;
    use alloc::string::String;

    fn of(namespace: &str, code: Code, count: usize) -> impl Iterator<Item = Finding> + use<> {
        let namespace: Namespace = namespace.into();
        let by = move |at| Claimant::credential(namespace.clone(), format!("c{at}").as_str().into());
        (0..count).map(move |at| Finding::new(code, format!("it is so at {at}")).claimed_by(&by(at)))
    }

    fn account(finding: &Finding) -> Account {
        Account::without_source(finding)
    }

    fn said(findings: &[Finding]) -> Vec<(Code, String, usize)> {
        let rests = findings.iter().filter(|finding| finding.is_rest());
        rests.map(|rest| (rest.code, rest.message.clone(), rest.others)).collect()
    }

    #[test]
    fn a_flood_takes_the_room_of_nothing_but_itself() {
        let few =
            || of("b", Code::Unread, 7).chain(of("b", Code::NullEntry, 9)).chain(of("a", Code::MissingReference, 3));
        let alone = settle(few().collect());
        let flood = of("a", Code::Unread, 50_000).chain(of("a", Code::NullEntry, MOST));
        let all = settle(flood.chain(few()).collect());
        let bounded = bounded(all.clone(), account);
        // All of the neighbour, what is rare of the flooding one, and as much of the rest as there is room for.
        assert!(alone.iter().all(|finding| bounded.contains(finding)));
        let [unread, null] = [Code::Unread, Code::NullEntry]
            .map(|code| bounded.iter().filter(|finding| finding.code == code && !finding.is_rest()).count());
        assert_eq!((unread, null, bounded.len()), (998 + 7, 998 + 9, MOST - 1 + 7 + 9 + 2));
        let more = |count| format!("namespace a has {count} more of these, which are counted and not listed");
        let expected = [(Code::Unread, more(49_002), 49_002), (Code::NullEntry, more(1_002), 1_002)];
        assert_eq!(said(&bounded), expected);
        assert_eq!(count(&bounded), count(&all));
        // What decides by severity and code decides the same.
        let kinds =
            |all: &[Finding]| all.iter().map(|it| (it.severity, it.code)).collect::<alloc::collections::BTreeSet<_>>();
        assert_eq!(kinds(&bounded), kinds(&all));
        assert!(super::bounded(bounded.clone(), account) == bounded);
    }

    #[test]
    fn many_namespaces_of_one_source_are_one() {
        let all: Vec<Finding> = (0..3 * MOST).flat_map(|at| of(&format!("n{at}"), Code::Unread, 1)).collect();
        let all = settle(all.into_iter().chain(of("b", Code::Unread, 1)).collect());
        let of_source = |finding: &Finding| match finding.namespace() {
            Some(namespace) if *namespace == *"b" => account(finding),
            _ => Account::Source("s".into()),
        };
        let bounded = bounded(all, of_source);
        assert_eq!(bounded.len(), MOST + 2);
        assert!(bounded.iter().any(|finding| finding.claimant == Some(Claimant::credential("b".into(), "c0".into()))));
        assert_eq!(said(&bounded)[0].2, 2 * MOST);
    }

    #[test]
    fn what_is_left_out_twice_is_said_once_for_each_region() {
        let of_namespace = |_: &Finding| Account::Namespace("a".into());
        let [eu, us] = ["eu", "us"].map(|region| {
            let all = of("a", Code::Unread, MOST + 5).map(|it| it.in_region(&region.into()));
            bounded(settle(all.collect()), of_namespace)
        });
        assert_eq!((said(&eu)[0].2, eu.len()), (5, MOST + 1));
        let both = bounded(settle([eu, us].concat()), of_namespace);
        let rests: Vec<usize> = said(&both).into_iter().map(|(.., others)| others).collect();
        assert_eq!((rests, both.len()), (Vec::from([1_005, 1_005]), MOST + 2));
    }

    #[test]
    fn of_an_object_the_first_faults_of_each_code_are_listed() {
        let faults = |code, count: usize| (0..count).map(move |at| Fault::new(code, format!("{at}"), ""));
        let mut all: Vec<Fault> = faults(Code::NullEntry, 40).chain(faults(Code::InvalidObject, 1)).collect();
        few(&mut all);
        assert_eq!(all.len(), MOST_OF_OBJECT + 2);
        all.extend(faults(Code::NullEntry, 2));
        few(&mut all);
        let told: Vec<(&str, usize)> = all.iter().skip(MOST_OF_OBJECT).map(|it| (&*it.message, it.others)).collect();
        assert_eq!(told, [("0", 0), ("26 more of these in the object are counted and not listed", 26)]);
    }
}
