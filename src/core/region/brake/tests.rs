use alloc::string::{String, ToString};
use alloc::vec;

use super::*;
use crate::config::{Percent, Reseal};

fn limits() -> Limits {
    Limits::default()
}

fn whose(namespace: &str, kind: &str) -> Whose {
    Whose::Kind { namespace: namespace.into(), kind: kind.into() }
}

/// An account of which so many claimants go now, and so many went before, each with one object.
fn account(whose: Whose, claimants: usize, gone: usize, before: usize) -> Account {
    let namespace = whose.namespace().cloned().unwrap_or_else(|| "guests".into());
    let name = |n: usize| format!("{}-{n:04}", if let Whose::Kind { kind, .. } = &whose { kind.as_str() } else { "g" });
    let loss = |n| Loss {
        key: ObjectKey::secret(namespace.clone(), name(n).as_str().into()),
        entry: None,
        sha256: "aa".into(),
    };
    let by = |n: usize| Claimant::credential(namespace.clone(), name(n).as_str().into());
    Account {
        lost: gone + before,
        gone: gone + before,
        before,
        losses: (0..gone).map(|n| (by(n), BTreeSet::from([loss(n)]))).collect(),
        ..Account::new(whose.clone(), claimants)
    }
}

fn team(namespace: &str, claimants: usize, gone: usize, before: usize) -> Account {
    account(whose(namespace, "Credential"), claimants, gone, before)
}

fn braked_under(limits: &Limits, accounts: &[Account], given: &[Acceptance], spent: &[Acceptance]) -> Braked {
    let (fleet, region, directory) = ("f".into(), "r".into(), "d".into());
    let spent = spent.iter().cloned().collect();
    let load = Load { accounts, ..Load::of(BundleName { fleet: &fleet, directory: &directory }, &region, &spent) };
    hold(&load, limits, given)
}

fn braked(accounts: &[Account], given: &[Acceptance], spent: &[Acceptance]) -> Braked {
    braked_under(&limits(), accounts, given, spent)
}

/// Those whose withdrawals are held, for people.
fn held(accounts: &[Account]) -> Vec<String> {
    those_beyond(accounts, &Deletions::DEFAULT).iter().map(ToString::to_string).collect()
}

/// Every number of claimants, and of those that go and went, against the rule said another way.
#[test]
fn no_withdrawal_passes_beyond_its_budget() {
    let others = team("others", 1000, 0, 0);
    for claimants in 0..=70_usize {
        for gone in 0..=claimants {
            for before in 0..=(claimants - gone).min(3) {
                let mine = team("team", claimants, gone, before);
                let sum = gone + before;
                let passes = gone == 0 || sum == 1 || (sum * 5 <= claimants && sum <= 10);
                let is_held = !held(&[mine, others.clone()]).is_empty();
                assert_eq!(is_held, !passes, "{gone} of {claimants} after {before}");
            }
        }
    }
}

#[test]
fn small_fleets_are_protected_like_large_ones() {
    for (fleet, pass) in [(1, 0), (2, 1), (3, 1), (10, 2), (49, 9), (50, 10), (100, 10), (1000, 10)] {
        for gone in 0..=fleet.min(20) {
            let is_held = !held(&[team("team", fleet, gone, 0)]).is_empty();
            assert_eq!(is_held, gone > pass, "{gone} of {fleet}");
            // The same one by one.
            let drip = gone > 0 && !held(&[team("team", fleet, 1, gone - 1)]).is_empty();
            assert_eq!(drip, gone > pass, "{gone} of {fleet}, one by one");
        }
    }
}

#[test]
fn what_a_day_of_work_brings_passes() {
    let region = || (0..9).map(|n| team(&format!("n{n}"), 9, 0, 0)).collect::<Vec<_>>();
    // The last Cluster of a development namespace.
    let last = [region(), vec![account(whose("dev", "Cluster"), 1, 1, 0)]].concat();
    // Two tenants of nine each remove one.
    let mut two = region();
    (two[2], two[5]) = (team("n2", 9, 1, 0), team("n5", 9, 1, 0));
    for accounts in [last, two] {
        assert_eq!(held(&accounts), Vec::<String>::new());
    }
}

#[test]
fn one_namespace_holds_no_other() {
    for hostile in 0..=60 {
        let accounts =
            [team("quiet", 40, 2, 0), account(whose("quiet", "Cluster"), 3, 1, 0), team("hostile", 60, hostile, 0)];
        let expected: &[&str] = if hostile > 10 { &["Credentials of namespace hostile"] } else { &[] };
        assert_eq!(held(&accounts), expected, "{hostile}");
    }
}

#[test]
fn many_namespaces_at_once_are_held_and_only_they() {
    let namespaces = |kind: &str, of: usize, losing: usize| -> Vec<Account> {
        (0..of).map(|n| account(whose(&format!("n{n:03}"), kind), 10, usize::from(n < losing), 0)).collect()
    };
    let losing = |of, losing| {
        let quiet = vec![account(whose("quiet", "Cluster"), 10, 1, 0)];
        held(&[namespaces("Credential", of, losing), quiet].concat()).len()
    };
    // Beside the one that loses most, one of nine, two of ten, ten of three hundred.
    for (of, passes) in [(1, 1), (2, 2), (9, 2), (10, 3), (50, 11), (300, 11)] {
        assert_eq!(
            (losing(of, passes), losing(of, (passes + 1).min(of))),
            (0, if passes < of { passes + 1 } else { 0 })
        );
    }
    // What a template drops everywhere is held, and nobody's own withdrawal with it.
    let mut all = [namespaces("ManagedResource", 100, 100), namespaces("Credential", 100, 1)].concat();
    assert_eq!(held(&all).len(), 100);
    assert!(held(&all).iter().all(|whose| whose.starts_with("ManagedResources of")));
    // What is refused waits for nobody, and nobody for it.
    for account in all.iter_mut().filter(|account| account.lost > 0).skip(1) {
        account.refused.extend(account.losses.keys().cloned());
    }
    assert_eq!(held(&all), Vec::<String>::new());
}

/// What namespaces lose together is bounded by source, so that a tenant with a source of his own uses up nobody's bound.
#[test]
fn a_tenant_with_his_own_source_uses_up_nobodys_bound() {
    let mut accounts: Vec<Account> = (0..4).map(|n| team(&format!("n{n}"), 5, usize::from(n < 3), 0)).collect();
    let own = |n: usize| Account { source: Some("own".into()), ..team(&format!("own{n}"), 5, 1, 0) };
    accounts.extend((0..2).map(own));
    assert_eq!(held(&accounts), ["n0", "n1", "n2"].map(|name| format!("Credentials of namespace {name}")));
    for one in 0..3 {
        let mut rest = accounts.clone();
        rest[one] = team(&format!("n{one}"), 5, 0, 0);
        assert_eq!(held(&rest), Vec::<String>::new(), "{one}");
    }
}

/// One source that takes much away is held, and those go that take little; where all take as much, none is preferred.
#[test]
fn one_who_empties_a_region_holds_no_other() {
    let own =
        |source: &str, claimants, gone| Account { source: Some(source.into()), ..team(source, claimants, gone, 0) };
    let budget = Deletions { percent: Percent(100), ..Deletions::DEFAULT };
    let held = |accounts: &[Account]| -> Vec<String> {
        those_beyond(accounts, &budget).iter().map(ToString::to_string).collect()
    };
    let whole = [own("a", 3, 3), own("b", 1, 1), team("all", 4, 1, 0)];
    assert_eq!(held(&whole), ["Credentials of namespace a"]);
    assert_eq!(held(&whole[1..]), Vec::<String>::new());
    // An error that takes a little from each is held as a whole, but for those who keep enough of their own.
    let each: Vec<Account> = ["a", "b", "c"].iter().map(|name| own(name, 1, 1)).collect();
    assert_eq!(held(&[&*each, &[team("all", 2, 1, 0)]].concat()).len(), 3);
}

#[test]
fn half_of_a_region_and_of_a_group_stays() {
    // Each loses within its own bound, and the last ones half of the region.
    let region = |gone: usize| -> Vec<Account> {
        let kinds = ["Cluster", "ClusterResourceSet", "Credential", "ManagedResource", "ResourceSyncRule", "Other"];
        (0..6).map(|n| account(whose("a", kinds[n]), 1, usize::from(n < gone), 0)).collect()
    };
    for gone in 0..=6 {
        assert_eq!(held(&region(gone)).len(), if gone > 3 { gone } else { 0 }, "{gone}");
    }
    // Who loses something and keeps something remains.
    let mut partial = region(6);
    partial.iter_mut().for_each(|account| account.gone = 0);
    assert_eq!(held(&partial), Vec::<String>::new());
    // A group is a place of its own, and counts for no region.
    let group = |claimants, gone| account(Whose::Group("pull".into()), claimants, gone, 0);
    for (claimants, gone, is_held) in
        [(1, 1, true), (2, 1, false), (2, 2, true), (9, 1, false), (9, 2, true), (50, 10, false)]
    {
        let accounts = [region(0), vec![group(claimants, gone)]].concat();
        assert_eq!(!held(&accounts).is_empty(), is_held, "{gone} of {claimants}");
    }
    assert_eq!(held(&[region(3), vec![group(4, 1)]].concat()), Vec::<String>::new());
}

#[test]
fn an_acceptance_fits_one_set_of_one_namespace_once() {
    let both = |gone| [team("team", 10, gone, 0), team("other", 90, 0, 0)];
    let braked_by = |gone, given: &[Acceptance], spent: &[Acceptance]| braked(&both(gone), given, spent);
    let hold = braked_by(9, &[], &[]).deletions.remove(0);
    let accepted = hold.lifted_by.unwrap();
    assert!(hold.finding.help.ends_with(&format!(" --accept-deletions r/team={}.", accepted.digest)));
    assert_eq!(accepted.digest.len(), 16);
    let passes = |gone, given: Acceptance| braked_by(gone, &[given], &[]).held.is_empty();
    assert!(passes(9, accepted.clone()));
    assert!(!passes(8, accepted.clone()));
    assert!(!passes(9, Acceptance { region: "q".into(), ..accepted.clone() }));
    assert!(!passes(9, Acceptance { namespace: Some("other".into()), ..accepted.clone() }));
    assert!(!passes(9, Acceptance { what: Accept::Reseal, ..accepted.clone() }));
    let given = core::slice::from_ref(&accepted);
    assert!(!braked_by(9, given, given).held.is_empty());
}

#[test]
fn a_digest_is_what_the_documentation_says() {
    let hold = braked(&[team("team", 2, 2, 0), team("other", 9, 0, 0)], &[], &[]).deletions.remove(0);
    let lines = "/Secret/team/Credential-0000 aa\n/Secret/team/Credential-0001 aa\n";
    let text = format!("pouch/v1 deletions\nf\nd\nteam\n{lines}");
    assert_eq!(hold.lifted_by.unwrap().digest, sha256_hex(text.as_bytes()).get(..16).unwrap());
}

/// Each time the same set comes up again it is asked for anew, and can be accepted anew.
#[test]
fn what_was_used_is_asked_for_once_more() {
    let accounts = [team("team", 9, 9, 0)];
    let (mut used, mut digests) = (Vec::new(), BTreeSet::new());
    for _ in 0..4 {
        let asked = braked(&accounts, &used, &used).deletions.remove(0).lifted_by.unwrap();
        assert!(digests.insert(asked.digest.clone()));
        let let_through = braked(&accounts, core::slice::from_ref(&asked), &used);
        assert_eq!((let_through.held.len(), &*let_through.accepted), (0, core::slice::from_ref(&asked)));
        used.push(asked);
    }
}

/// Every region of two kinds in two namespaces, one with a source of its own, and a group: against the table of DESIGN §2.8
/// said another way, with every set of what is asked for given.
#[test]
fn the_table_holds_and_acceptances_decide_about_nothing_else() {
    // Claimants, those that go now, and those that went before.
    let states = [(5, 0, 0), (1, 1, 0), (4, 1, 0), (4, 1, 1), (5, 0, 1), (12, 3, 0)];
    let budgets = [
        Deletions::DEFAULT,
        Deletions { claimants: 0, percent: Percent(0), most: 0, ..Deletions::DEFAULT },
        Deletions { claimants: 2, percent: Percent(50), most: 2, keep: Percent(80), ..Deletions::DEFAULT },
        Deletions { claimants: 1, percent: Percent(100), most: 100, keep: Percent(0), ..Deletions::DEFAULT },
    ];
    let mut counts = [0_usize; 4];
    let mut indices = [0_usize; 5];
    loop {
        let at = |n: usize| states[indices[n]];
        let kind = |n: usize, namespace: &str, kind: &str| account(whose(namespace, kind), at(n).0, at(n).1, at(n).2);
        let (group, gone, before) = at(4);
        let accounts = [
            kind(0, "a", "Cluster"),
            kind(1, "a", "Credential"),
            kind(2, "b", "Credential"),
            Account { source: Some("own".into()), ..kind(3, "c", "Credential") },
            account(Whose::Group("g".into()), group, gone, before),
        ];
        let of = |whose: &BTreeSet<Whose>| -> BTreeSet<Claimant> {
            let held = accounts.iter().filter(|account| whose.contains(&account.whose));
            held.flat_map(|account| account.losses.keys().cloned()).collect()
        };
        for budget in budgets {
            let expected = oracle(&accounts, &budget);
            let limits = Limits { deletions: budget, ..limits() };
            let all = braked_under(&limits, &accounts, &[], &[]);
            assert_eq!(those_beyond(&accounts, &budget), expected, "{indices:?} {budget:?}");
            assert_eq!(all.held, of(&expected), "{indices:?} {budget:?}");
            let line: Vec<Acceptance> = all.deletions.iter().filter_map(|hold| hold.lifted_by.clone()).collect();
            assert_eq!(line.len(), if expected.len() > 3 { 1 } else { expected.len() });
            for given in 0..1_usize << line.len() {
                let chosen = |(n, wanted): (usize, &Acceptance)| (given >> n & 1 == 1).then(|| wanted.clone());
                let given: Vec<Acceptance> = line.iter().enumerate().filter_map(chosen).collect();
                let left = braked_under(&limits, &accounts, &given, &[]);
                let whose =
                    expected.iter().zip(&line).filter(|(_, asked)| expected.len() <= 3 && !given.contains(asked));
                let rest: BTreeSet<Whose> = match expected.len() > 3 {
                    true if given.is_empty() => expected.clone(),
                    _ => whose.map(|(whose, _)| whose.clone()).collect(),
                };
                assert_eq!(left.held, of(&rest), "{indices:?} {given:?}");
                assert_eq!(left.accepted, given);
                counts[3] += 1;
            }
            counts[0] += 1;
            counts[1] += usize::from(!expected.is_empty());
            counts[2] += usize::from(expected.len() > 3);
        }
        let Some(next) = indices.iter().position(|index| index + 1 < states.len()) else { break };
        indices[next] += 1;
        indices[..next].fill(0);
    }
    assert_eq!(counts, [31_104, 22_191, 4_768, 102_897]);
}

/// The accounts that are held, by the table of DESIGN §2.8.
fn oracle(accounts: &[Account], budget: &Deletions) -> BTreeSet<Whose> {
    let may = |of: usize| budget.most.min(budget.claimants.max(of * budget.percent.0 / 100));
    let stays = |gone: usize, of: usize| gone == 0 || (of - gone) * 100 >= budget.keep.0 * of;
    let is_group = |account: &Account| matches!(account.whose, Whose::Group(_));
    let mut held = BTreeSet::new();
    for account in accounts {
        let is_within = account.lost <= may(account.claimants);
        let is_emptied = is_group(account) && !stays(account.gone, account.claimants);
        if !is_within || is_emptied {
            held.insert(account.whose.clone());
        }
    }
    let all: usize = accounts.iter().filter(|account| !is_group(account)).map(|account| account.claimants).sum();
    let emptying = accounts.iter().filter(|account| !is_group(account) && !stays(account.gone, all));
    held.extend(emptying.map(|account| account.whose.clone()));
    let free = |held: &BTreeSet<Whose>, account: &&Account| {
        account.lost > 0 && !is_group(account) && !held.contains(&account.whose)
    };
    // Credentials of a and b share a bound; the others are alone in theirs, which one namespace never exceeds.
    let shared: Vec<&Account> = accounts[1..3].iter().filter(|account| free(&held, account)).collect();
    if shared.len() == 2 && may(2) < 1 {
        held.extend(shared.iter().map(|account| account.whose.clone()));
    }
    let rest: Vec<&Account> = accounts.iter().filter(|account| free(&held, account)).collect();
    // By source: what is lost by itself, and of how many.
    let gone = |source: &Option<SourceName>| -> usize {
        rest.iter().filter(|account| account.source == *source).map(|account| account.gone).sum()
    };
    let of = |source: &Option<SourceName>| -> usize {
        let own = accounts.iter().filter(|account| !is_group(account) && account.source == *source);
        own.map(|account| account.claimants).sum()
    };
    let is_modest = |source: &Option<SourceName>| stays(gone(source), of(source));
    for account in rest.iter().filter(|account| !is_modest(&account.source)) {
        let most = gone(&account.source);
        let sources = [None, Some("own".into())];
        let with = sources.iter().filter(|source| is_modest(source) || gone(source) <= most);
        if !stays(with.map(gone).sum(), all) {
            held.insert(account.whose.clone());
        }
    }
    let loses = |whose: &Whose| accounts.iter().any(|account| account.whose == *whose && account.is_losing());
    held.into_iter().filter(loses).collect()
}

#[test]
fn values_are_held_unless_nothing_of_re_sealing_is() {
    let secrets = vec![(ObjectKey::secret("a".into(), "s".into()), String::from("aa"))];
    let replaced =
        Replaced { part: Part::Region, secrets, claimants: vec![Claimant::credential("a".into(), "c".into())] };
    let (fleet, region, directory, spent) = ("f".into(), "r".into(), "d".into(), BTreeSet::new());
    let load = Load {
        replaced: core::slice::from_ref(&replaced),
        ..Load::of(BundleName { fleet: &fleet, directory: &directory }, &region, &spent)
    };
    let braked = hold(&load, &limits(), &[]);
    let asked = braked.values[0].lifted_by.clone().unwrap();
    assert_eq!((braked.keeping.len(), asked.to_string()), (1, format!("r={}", asked.digest)));
    let accepted = hold(&load, &limits(), core::slice::from_ref(&asked));
    assert_eq!((accepted.keeping.len(), accepted.accepted), (0, vec![asked]));
    assert!(hold(&load, &Limits { reseal: Reseal { percent: Percent(100) }, ..limits() }, &[]).values.is_empty());
}

/// What was held once stays held until somebody accepts it, whatever comes and however little it is by now.
#[test]
fn what_is_held_goes_only_when_it_is_accepted() {
    let held_before = Account { is_held: true, ..team("team", 100, 1, 0) };
    let accounts = [held_before, team("other", 9, 1, 0)];
    let hold = braked(&accounts, &[], &[]).deletions.remove(0);
    assert!(hold.finding.help.starts_with("It was held before"), "{}", hold.finding.help);
    assert_eq!(held(&accounts), ["Credentials of namespace team"]);
    assert!(braked(&accounts, &[hold.lifted_by.unwrap()], &[]).held.is_empty());
}

/// One refusal beside what its tenant deletes waits for nobody else, and what he deletes does.
#[test]
fn what_is_refused_waits_for_its_own_bound_alone() {
    let mut accounts: Vec<Account> = (0..4).map(|n| team(&format!("n{n}"), 10, usize::from(n < 3), 0)).collect();
    accounts[0] = team("n0", 10, 2, 0);
    let refused = accounts[0].losses.keys().next().unwrap().clone();
    accounts[0].refused.insert(refused.clone());
    let braked = braked(&accounts, &[], &[]);
    assert_eq!((braked.held.len(), braked.held.contains(&refused)), (3, false));
    // Beyond its own bound it waits like all else.
    accounts[0] = Account { refused: BTreeSet::from([refused.clone()]), ..team("n0", 10, 3, 0) };
    assert!(
        super::hold(
            &Load {
                accounts: &accounts,
                ..Load::of(BundleName { fleet: &"f".into(), directory: &"d".into() }, &"r".into(), &BTreeSet::new())
            },
            &limits(),
            &[]
        )
        .held
        .contains(&refused)
    );
}

/// An entry of a Secret that thirty namespaces share is one, and is held only with all that have it.
#[test]
fn an_entry_that_many_share_is_one() {
    let entry = |of: &str| Loss {
        key: ObjectKey::secret("shared".into(), "s".into()),
        entry: Some(of.into()),
        sha256: "aa".into(),
    };
    let sharing = |n: usize, lost: usize, entries: &[&str]| {
        let by = Claimant::credential(format!("n{n:02}").as_str().into(), "c".into());
        let losses = BTreeMap::from([(by, entries.iter().map(|name| entry(name)).collect())]);
        Account { lost, losses, ..Account::new(whose(&format!("n{n:02}"), "Credential"), 5) }
    };
    let thirty: Vec<Account> = (0..30).map(|n| sharing(n, 1, &["a"])).collect();
    assert_eq!(held(&thirty), Vec::<String>::new());
    // Beyond the bound of all who share it, it is held.
    let all: Vec<Account> = (0..3).map(|n| sharing(n, 39, &["a", "b"])).collect();
    let hold = braked(&all, &[], &[]).deletions.remove(0);
    assert_eq!((held(&all).len(), hold.losses.len()), (3, 2));
    assert!(hold.finding.help.contains("which makes 39, and 1 may go without a person"), "{}", hold.finding.help);
    // Whoever is within keeps it from nobody, so that it is in nobody's digest.
    let one = [sharing(0, 39, &["a", "b"]), sharing(1, 1, &["a", "b"])];
    assert_eq!(held(&one), Vec::<String>::new());
}

/// A region that is retired goes as a whole, and one line names all of it.
#[test]
fn what_goes_as_a_whole_is_asked_for_as_a_whole() {
    let accounts = [team("large", 100, 100, 0), team("a", 9, 1, 0), team("b", 9, 0, 0)];
    let (fleet, region, directory, spent) = ("f".into(), "r".into(), "d".into(), BTreeSet::new());
    let load = Load {
        accounts: &accounts,
        is_whole: true,
        ..Load::of(BundleName { fleet: &fleet, directory: &directory }, &region, &spent)
    };
    assert_eq!(hold(&load, &limits(), &[]).held.len(), 101);
    assert_eq!(braked(&accounts, &[], &[]).held.len(), 100);
}
