//! A small model of the brake, gone through from end to end: what was published, what the sources say, what stood at
//! the beginning of the window, what the limits allow and what is accepted. An oracle in the words of DESIGN §2.8 says what
//! must come of each.

extern crate std;

use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use serde_json::{Value, json};

use super::case::{Document, RECIPIENTS, Scene};
use super::node;
use super::stages::{Desk, Wishes, keys, publish};
use crate::config::{Acceptance, Deletions, Percent};
use crate::destination::Destination;
use crate::judge::case::Case;
use crate::layout::BundlePath;
use crate::layout::manifest::ObjectState;
use crate::region::content::Content;
use crate::region::history::{History, Past};
use crate::region::input::Terms;
use crate::region::made_for::MadeFor;
use crate::region::plan::{RegionPlan, plan_against};
use crate::region::published::{Files, Published};

/// What there is of one Secret, which a Credential of its own needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Slot {
    Absent,
    Old,
    /// Both values are others.
    New,
    /// The second entry is gone.
    Less,
    /// There is a third entry.
    More,
}

use Slot::{Absent, Less, More, New, Old};

impl Slot {
    fn entries(self) -> &'static [&'static str] {
        match self {
            Absent => &[],
            Old | New => &["k", "m"],
            Less => &["k"],
            More => &["k", "m", "n"],
        }
    }

    fn is_there(self) -> bool {
        self != Absent
    }
}

/// Three Secrets of team-a, and one of team-b.
type State = [Slot; 4];

const NAMES: [(&str, &str); 4] = [("team-a", "s0"), ("team-a", "s1"), ("team-a", "s2"), ("team-b", "s3")];
const TEAMS: [(&str, core::ops::Range<usize>); 2] = [("team-a", 0..3), ("team-b", 3..4)];

/// `claimants`, `percent`, `most` and `keep` of withdrawals, and the percent of what may be sealed anew.
type Budget = [usize; 5];

const BUDGETS: [Budget; 5] =
    [[0, 0, 0, 0, 20], [0, 100, 1, 0, 20], [1, 50, 2, 50, 100], [1, 20, 10, 50, 20], [0, 50, 2, 50, 20]];

fn scene(state: &State) -> Scene {
    let mut values: Vec<Value> = Vec::new();
    for ((namespace, name), slot) in NAMES.iter().zip(state).filter(|(_, slot)| slot.is_there()) {
        let metadata = json!({"name": name, "namespace": namespace});
        let entry = |entry: &&str| {
            let value = if *slot == New { "another" } else { "the old" };
            ((*entry).to_string(), Value::from(format!("{value} value of entry {entry}")))
        };
        let data: serde_json::Map<String, Value> = slot.entries().iter().map(entry).collect();
        values.push(json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data}));
        let identity = json!({"apiVersion": "v1", "kind": "Secret", "name": name});
        values.push(json!({"apiVersion": "k0rdent.mirantis.com/v1beta1", "kind": "Credential", "metadata": metadata,
                           "spec": {"region": "eu", "identityRef": identity}}));
    }
    // A source without any document proves nothing.
    values.push(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "notes", "namespace": "team-a"}}));
    let document = |(value, line): (&Value, u32)| Document { source: "all".to_string(), node: node(value), line };
    let config = json!({"regions": {"eu": {"recipients": [RECIPIENTS[0]]}}});
    let documents = values.iter().zip(1..).map(document).collect();
    Scene { config, documents, incomplete: vec![], run: json!({}) }
}

fn examine(desk: &Desk, files: &Files) -> Published {
    Published::examine(&desk.fleet.name, &desk.fleet.regions["eu"].directory, files.clone(), &keys())
}

/// The files of a state that is published where nothing was.
fn published(state: &State) -> Files {
    let desk = Desk::new(&scene(state));
    let region = &desk.fleet.regions["eu"];
    let nothing = Published::nothing();
    let (plan, _) = desk.plan(region, &nothing, &Wishes::default());
    assert!(plan.holds.is_empty() && plan.withheld.is_empty());
    publish(&desk, region, plan, &nothing)
}

/// What becomes of each Secret, and whose withdrawals and values are held.
#[derive(PartialEq, Eq, Debug, Default)]
struct Outcome {
    secrets: [&'static str; 4],
    deletions: BTreeSet<String>,
    values: BTreeSet<String>,
}

/// What somebody loses: a Secret or an entry of one that stays.
type Lost = (usize, Option<&'static str>);

/// What `now` lacks of `then`, among the Secrets of a team.
fn lost(then: &State, now: &State, team: core::ops::Range<usize>) -> BTreeSet<Lost> {
    let mut lost = BTreeSet::new();
    for at in team.filter(|at| then[*at].is_there()) {
        match now[at].is_there() {
            false => _ = lost.insert((at, None)),
            true => {
                let gone = then[at].entries().iter().filter(|entry| !now[at].entries().contains(entry));
                lost.extend(gone.map(|entry| (at, Some(*entry))));
            }
        }
    }
    lost
}

/// The table of DESIGN §2.8. Accepted are deletions of these teams, and values.
fn oracle(
    [before, after, baseline]: [&State; 3],
    [claimants, percent, most, keep, reseal]: Budget,
    accepted: &BTreeSet<(&str, &str)>,
) -> Outcome {
    let count =
        |state: &State, team: &core::ops::Range<usize>| state[team.clone()].iter().filter(|s| s.is_there()).count();
    let may = |of: usize| most.min(claimants.max(of * percent / 100));
    let (mut held, mut within, mut namespaces, mut all) = (BTreeSet::new(), Vec::new(), 0, 0);
    let mut loses_now = BTreeSet::new();
    for (name, team) in &TEAMS {
        // What went since the baseline and does not come back counts with what goes now.
        let now = lost(before, after, team.clone());
        let mut since: BTreeSet<Lost> = lost(baseline, after, team.clone());
        // Only a Secret that stays loses entries: one that comes back is new.
        since.retain(|(at, entry)| entry.is_none() || before[*at].is_there());
        let lost: BTreeSet<Lost> = now.union(&since).copied().collect();
        // What came since the baseline lets nothing more go.
        let size = count(baseline, team);
        // Every Secret has a Credential of its own.
        let of = |at: usize| lost.iter().filter(|(lost, _)| *lost == at).count();
        let total: usize = team.clone().map(of).map(|count| if count > most { count } else { count.min(1) }).sum();
        let gone = lost.iter().filter(|(at, entry)| entry.is_none() && baseline[*at].is_there()).count();
        namespaces += usize::from(size > 0);
        all += size;
        if !now.is_empty() {
            loses_now.insert(*name);
        }
        match total <= may(size) {
            true if total > 0 => within.push((*name, gone)),
            true => {}
            false => _ = held.insert(*name),
        }
    }
    // What one leaves of the region by himself.
    let is_left = |gone: usize| gone == 0 || (all.max(gone) - gone) * 100 >= all * keep;
    let (left, emptied): (Vec<_>, Vec<_>) = within.into_iter().partition(|(_, gone)| is_left(*gone));
    held.extend(emptied.into_iter().map(|(name, _)| name));
    let mut within = left;
    if within.len() == 2 && may(namespaces) < 1 {
        held.extend(within.drain(..).map(|(name, _)| name));
    }
    let gone: usize = within.iter().map(|(_, gone)| *gone).sum();
    if !is_left(gone) {
        held.extend(within.into_iter().map(|(name, _)| name));
    }
    let is_held = |name: &&str| loses_now.contains(name) && !accepted.contains(&("deletions", *name));
    let held: BTreeSet<String> = held.into_iter().filter(is_held).map(String::from).collect();
    let mut outcome = Outcome { deletions: held, ..Outcome::default() };
    let stay = |team: &core::ops::Range<usize>| {
        team.clone().filter(|at| before[*at].is_there() && after[*at].is_there()).collect::<Vec<_>>()
    };
    // Every value that can be told is another, in two namespaces.
    let are_replaced = TEAMS.iter().all(|(_, team)| {
        let stay = stay(team);
        !stay.is_empty() && stay.iter().all(|at| after[*at] == New)
    });
    if are_replaced && reseal < 100 && !accepted.contains(&("values", "")) {
        outcome.values.insert(String::new());
    }
    for (name, team) in &TEAMS {
        let held = outcome.deletions.contains(*name);
        for at in team.clone() {
            outcome.secrets[at] = match (before[at], after[at]) {
                (Absent, Absent) => "",
                (_, Absent) if held => "deletions-held",
                (_, Absent) => "",
                (Old, Less) if held => "deletions-held",
                (Old, New) if !outcome.values.is_empty() => "reseal-held",
                (Old, Old) => "kept",
                _ => "sealed",
            };
        }
    }
    outcome
}

fn outcome(plan: &RegionPlan) -> Outcome {
    let mut outcome = Outcome::default();
    for object in plan.manifest.objects.iter().filter(|object| object.key.kind.is_secret()) {
        let is =
            |(namespace, name): &(&str, &str)| object.key.namespace_text() == *namespace && object.key.name == **name;
        let at = NAMES.iter().position(is).unwrap();
        outcome.secrets[at] = match (&object.state, &plan.files[&object.path]) {
            (ObjectState::Carried(reason), Content::Kept(_)) => reason.word(),
            (ObjectState::Current, Content::Kept(_)) => "kept",
            (ObjectState::Current, Content::Seal(_)) => "sealed",
            _ => "?",
        };
    }
    for hold in &plan.withheld {
        let by = hold.lifted_by.as_ref().unwrap();
        let whose = by.namespace.as_ref().map(ToString::to_string).unwrap_or_default();
        let held = if by.what.word() == "deletions" { &mut outcome.deletions } else { &mut outcome.values };
        held.insert(whose);
    }
    outcome
}

/// Plans one state after another.
struct Bench<'a> {
    desk: &'a Desk,
    heard: &'a [Case],
    standing: &'a Published,
    past: Option<&'a Past>,
}

impl Bench<'_> {
    fn plan(&self, given: &[Acceptance], spent: &[Acceptance]) -> RegionPlan {
        let keys = keys();
        let (mut allowances, selection) = Wishes::default();
        allowances.accepted = given.to_vec();
        let fleet = &self.desk.fleet;
        let terms = Terms {
            world: self.desk.world(),
            to: Destination { fleet, region: &fleet.regions["eu"] },
            cases: self.heard,
            keys: &keys,
            allowances: &allowances,
            selection: &selection,
            sources: &[],
            unidentified: &BTreeSet::new(),
            made_for: &MadeFor::default(),
        };
        let past = self.past.cloned().into_iter().collect::<Vec<_>>().into();
        let history = History { own: None, past, spent: spent.iter().cloned().collect(), ..History::default() };
        plan_against(&terms, self.standing, &history)
    }
}

/// How often each came up, so that a model that gets nowhere is seen.
#[derive(PartialEq, Eq, Debug, Default)]
struct Counts {
    plans: usize,
    deletions: usize,
    teams: usize,
    values: usize,
    both: usize,
    accepted: usize,
}

fn states(slots: [&[Slot]; 4]) -> Vec<State> {
    let mut states = vec![[Absent; 4]];
    for (at, slots) in slots.into_iter().enumerate() {
        let with = |state: &State| {
            slots
                .iter()
                .map(|slot| {
                    let mut state = *state;
                    state[at] = *slot;
                    state
                })
                .collect::<Vec<_>>()
        };
        states = states.iter().flat_map(with).collect();
    }
    states
}

/// One run of the model.
struct Turn<'a> {
    bench: Bench<'a>,
    /// Before, after, and at the beginning of the window.
    told: [&'a State; 3],
    budget: Budget,
}

/// Goes through every `stride`th of all runs.
fn model(stride: usize, mut look: impl FnMut(&Turn<'_>)) {
    let (two, three): (&[Slot], &[Slot]) = (&[Absent, Old], &[Absent, Old, New]);
    let befores = states([two, two, two, &[Old]]);
    let baselines = states([two, &[Old], &[Absent, Old, More], &[Old]]);
    let files: Vec<Files> = befores.iter().map(published).collect();
    let older: Vec<Files> = baselines.iter().map(published).collect();
    let mut turn = 0_usize;
    for after in states([three, three, &[Absent, Old, New, Less], three]) {
        let mut desk = Desk::new(&scene(&after));
        let heard = desk.heard(&"eu".into());
        for (before, files) in befores.iter().zip(&files) {
            let standing = examine(&desk, files);
            for then in [None].into_iter().chain(baselines.iter().zip(&older).map(Some)) {
                let past = then.map(|(_, older)| {
                    let file = |path: &BundlePath| Ok::<_, ()>(older.get(path.as_str()).cloned());
                    let manifest = examine(&desk, older).manifest().unwrap().clone();
                    Past::of(manifest, vec![], standing.manifest().unwrap(), file).unwrap()
                });
                let told = [before, &after, then.map_or(before, |(baseline, _)| baseline)];
                for budget in BUDGETS {
                    turn += 1;
                    if !turn.is_multiple_of(stride) {
                        continue;
                    }
                    let [claimants, percent, most, keep, reseal] = budget;
                    let limits = &mut desk.fleet.limits;
                    limits.deletions = Deletions {
                        claimants,
                        percent: Percent(percent),
                        most,
                        keep: Percent(keep),
                        ..limits.deletions
                    };
                    limits.reseal.percent = Percent(reseal);
                    let bench = Bench { desk: &desk, heard: &heard, standing: &standing, past: past.as_ref() };
                    look(&Turn { bench, told, budget });
                }
            }
        }
    }
}

#[test]
fn the_brake_does_what_the_design_says() {
    let mut counts = Counts::default();
    model(7, |turn| one(turn, &mut counts));
    let Counts { plans, deletions, teams, values, both, accepted } = counts;
    assert!(plans > 4_000 && [deletions, teams, values, both, accepted].iter().all(|count| *count > 0), "{counts:?}");
}

#[test]
#[ignore = "all of the model: scripts/soak/run --brake"]
fn the_brake_does_what_the_design_says_everywhere() {
    let mut counts = Counts::default();
    model(1, |turn| one(turn, &mut counts));
    let all = Counts { plans: 74_517, deletions: 11_616, teams: 1_966, values: 1_960, both: 383, accepted: 17_891 };
    assert_eq!(counts, all);
}

/// An oracle that lets one more withdrawal pass, or one that forgets what went before, disagrees.
#[test]
fn the_model_tells_one_brake_from_another() {
    let (mut looser, mut forgetful) = (0, 0);
    model(61, |Turn { bench, told, budget }| {
        let plan = outcome(&bench.plan(&[], &[]));
        let [before, after, _] = *told;
        let [claimants, percent, most, keep, reseal] = *budget;
        let nothing = BTreeSet::new();
        looser += usize::from(plan != oracle(*told, [claimants + 1, percent, most + 1, keep, reseal], &nothing));
        forgetful += usize::from(plan != oracle([before, after, before], *budget, &nothing));
    });
    assert!(looser > 0 && forgetful > 0, "{looser} {forgetful}");
}

fn one(Turn { bench, told, budget }: &Turn<'_>, counts: &mut Counts) {
    let (told, budget) = (*told, *budget);
    #[track_caller]
    fn same(plan: &RegionPlan, expected: &Outcome, at: &str) {
        assert!(plan.holds.is_empty(), "{at}: {:?}", plan.holds);
        assert_eq!(outcome(plan), *expected, "{at}");
    }
    let at = format!("{told:?} {budget:?}");
    let plan = bench.plan(&[], &[]);
    counts.plans += 1;
    let nothing = oracle(told, budget, &BTreeSet::new());
    same(&plan, &nothing, &at);
    assert_eq!(plan.accepted, []);
    let wanted: Vec<Acceptance> = plan.withheld.iter().filter_map(|hold| hold.lifted_by.clone()).collect();
    if wanted.is_empty() {
        return;
    }
    counts.teams += usize::from(nothing.deletions.len() > 1);
    counts.deletions += usize::from(!nothing.deletions.is_empty());
    counts.values += usize::from(!nothing.values.is_empty());
    counts.both += usize::from(!nothing.deletions.is_empty() && !nothing.values.is_empty());
    let word = |wanted: &Acceptance| if wanted.what.word() == "deletions" { "deletions" } else { "values" };
    let name = |wanted: &Acceptance| {
        wanted.namespace.as_ref().map_or("", |name| if *name == *"team-a" { "team-a" } else { "team-b" })
    };
    // Each alone, and all of them together.
    let alone = wanted.iter().map(core::slice::from_ref);
    for given in alone.chain((wanted.len() > 1).then_some(&*wanted)) {
        let accepted = given.iter().map(|given| (word(given), name(given))).collect();
        let plan = bench.plan(given, &[]);
        same(&plan, &oracle(told, budget, &accepted), &format!("{at} {given:?}"));
        counts.plans += 1;
        counts.accepted += 1;
    }
    // One line lets all of it through.
    assert_eq!(bench.plan(&wanted, &[]).withheld.len(), 0, "{at} {wanted:?}");
    // What the branch has used already lets nothing through; what is asked for instead does.
    let spent = bench.plan(&wanted, &wanted);
    same(&spent, &nothing, &at);
    let anew: Vec<Acceptance> = spent.withheld.iter().filter_map(|hold| hold.lifted_by.clone()).collect();
    assert!(anew.iter().all(|anew| !wanted.contains(anew)) && anew.len() == wanted.len(), "{at}");
    let accepted = anew.iter().map(|anew| (word(anew), name(anew))).collect();
    same(&bench.plan(&anew, &wanted), &oracle(told, budget, &accepted), &at);
    counts.plans += 2;
}
