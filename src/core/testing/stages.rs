//! One loop per stage over `testdata/cases`: what each says, compared with what the files expect.
//!
//! `POUCH_REWRITE=1` writes what is said into the files; the diff is then read by a person.

extern crate std;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt::Write as _;

use serde_json::Value;

use super::case::{Case, Scene, asked_for, fleet, key, of_stage, show, show_findings, snapshot};
use super::indexed::indexed;
use super::standing::Stands;
use crate::admission::tenancy_of;
use crate::claim::{Asked, Edit, parcel};
use crate::closure::{Member, Role, version_of_sets};
use crate::config::{Accept, Acceptance, Fleet, RegionConfig};
use crate::destination::Destination;
use crate::finding::{Code, Finding};
use crate::hash::sha256_hex;
use crate::judge::case::{Case as Heard, Ruling, Verdict};
use crate::judge::cases;
use crate::judge::incumbents::Incumbents;
use crate::judge::region::{limit, settle};
use crate::layout::manifest::{Manifest, ObjectState};
use crate::layout::sanitise::sanitise;
use crate::layout::{BundlePath, Marks, path};
use crate::made;
use crate::name::{Claimant, Name, ObjectKey, Region, step};
use crate::region::allowances::{Allowances, Selection};
use crate::region::change::{Action, Change};
use crate::region::content::{Content, Order};
use crate::region::envelope::{Envelopes, delivering};
use crate::region::history::{History, Past};
use crate::region::input::Terms;
use crate::region::made_for::MadeFor;
use crate::region::plan::{RegionPlan, Ruled, bundle_yaml, plan, plan_against};
use crate::region::published::{Files, Published, State};
use crate::reuse::{self, KeyRing, ReuseKey};
use crate::snapshot::{Lookup, Snapshot};
use crate::sops::{self, Ingredients};
use crate::world::looks::Looks;
use crate::world::{Facts, World};
use crate::yaml::emit::emit;

/// When the cases are: the beginning of 2026.
const NOW: i64 = 1_767_225_600;

/// What a stage says of a case.
type Say = fn(&Case) -> String;

/// How many case files each stage has at least, so that none gets lost, and what says something of them.
const STAGES: [(&str, usize, Say); 6] = [
    ("claim", 55, claim),
    ("closure", 103, judged),
    ("judge", 160, judged),
    ("region", 336, region),
    ("sanitise", 9, sanitised),
    ("sources", 26, sources),
];

fn run(stage: &str) {
    let (_, fewest, say) = STAGES.iter().find(|(name, _, _)| *name == stage).unwrap();
    let cases = of_stage(stage);
    assert!(cases.len() >= *fewest, "{stage}: {} cases", cases.len());
    let mut wrong = Vec::new();
    for case in &cases {
        case.settle(&say(case), &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn claims_are_made_as_the_cases_say() {
    run("claim");
}

#[test]
fn closures_hold_what_the_cases_say() {
    run("closure");
}

#[test]
fn claims_are_judged_as_the_cases_say() {
    run("judge");
}

#[test]
fn regions_become_what_the_cases_say() {
    run("region");
}

#[test]
fn objects_are_sanitised_as_the_cases_say() {
    run("sanitise");
}

#[test]
fn sources_come_together_as_the_cases_say() {
    run("sources");
}

/// Everything of one world that the stages share.
pub(crate) struct Desk {
    pub(crate) fleet: Fleet,
    pub(crate) snapshot: Snapshot,
    pub(crate) findings: Vec<Finding>,
    pub(crate) facts: Facts,
    pub(crate) made_for: MadeFor,
}

impl Desk {
    /// A desk for which sources are indexed, and what is asked for is read again, as in a run.
    pub(crate) fn new(world: &Scene) -> Self {
        let fleet = fleet(&world.config);
        let (snapshot, found) = indexed(&fleet, world);
        Self::of(fleet, snapshot, found)
    }

    /// A desk for which sources are read as a whole.
    pub(crate) fn whole(world: &Scene) -> Self {
        let fleet = fleet(&world.config);
        let (snapshot, found) = snapshot(&fleet, world);
        Self::of(fleet, snapshot, found)
    }

    pub(crate) fn of(fleet: Fleet, snapshot: Snapshot, findings: Vec<Finding>) -> Self {
        Self::looked(fleet, snapshot, findings, &Looks::default())
    }

    pub(crate) fn looked(fleet: Fleet, mut snapshot: Snapshot, mut findings: Vec<Finding>, looks: &Looks) -> Self {
        let (facts, found) = Facts::gather(&fleet, &snapshot, looks);
        findings.extend(found);
        let made = made::all(&World { fleet: &fleet, snapshot: &snapshot, facts: &facts, now: NOW });
        snapshot.set_made(made);
        Self { fleet, snapshot, findings, facts, made_for: MadeFor::default() }
    }

    pub(crate) fn world(&self) -> World<'_> {
        World { fleet: &self.fleet, snapshot: &self.snapshot, facts: &self.facts, now: NOW }
    }

    pub(crate) fn heard(&self, region: &Region) -> Vec<Heard> {
        self.heard_beside(&self.fleet.regions[region], &Published::nothing())
    }

    fn heard_beside(&self, region: &RegionConfig, published: &Published) -> Vec<Heard> {
        cases(
            &self.world(),
            &Destination { fleet: &self.fleet, region },
            |_| true,
            || published.manifest().into_iter().flat_map(Manifest::claimants).cloned().collect(),
        )
    }

    /// Plans a region against what is published of it.
    pub(crate) fn plan(
        &self,
        region: &RegionConfig,
        published: &Published,
        asked: &Wishes,
    ) -> (RegionPlan, Vec<Heard>) {
        let heard = self.heard_beside(region, published);
        (self.plan_of(region, published, asked, &heard), heard)
    }

    /// Plans a region against what stands in its folders and the history of that.
    pub(crate) fn plan_after(
        &self,
        region: &RegionConfig,
        published: &Published,
        history: &History,
        (allowances, selection): &Wishes,
    ) -> (RegionPlan, Vec<Heard>) {
        let heard = self.heard_beside(region, history.last(published));
        let keys = keys();
        let to = Destination { fleet: &self.fleet, region };
        let terms = Terms {
            world: self.world(),
            to,
            cases: &heard,
            keys: &keys,
            allowances,
            selection,
            sources: &[],
            unidentified: &BTreeSet::new(),
            made_for: &self.made_for,
        };
        (plan_against(&terms, published, history), heard)
    }

    pub(crate) fn plan_of(
        &self,
        region: &RegionConfig,
        published: &Published,
        (allowances, selection): &Wishes,
        heard: &[Heard],
    ) -> RegionPlan {
        let keys = keys();
        let to = Destination { fleet: &self.fleet, region };
        let terms = Terms {
            world: self.world(),
            to,
            cases: heard,
            keys: &keys,
            allowances,
            selection,
            sources: &[],
            unidentified: &BTreeSet::new(),
            made_for: &self.made_for,
        };
        let direct = plan_against(&terms, published, &History::default());
        // What stands there as it should be is told without reading its manifest, and says the same.
        let stands = Stands::new(&published.files);
        let told = plan(&terms, &stands).unwrap().plan;
        assert_eq!(shown(&told), shown(&direct));
        // Where the history proves what stands there, that says the same without open files.
        if published.manifest().is_some() && published.findings(to.directory()).is_empty() {
            let planned = plan(&terms, &Stands::proved(&published.files)).unwrap();
            assert_eq!(shown(&planned.plan), shown(&direct));
            assert!(planned.standing.files == published.files);
        }
        // The past is only read where somebody loses something.
        let is_lost = |change: &Change| change.action == Action::Withdrawn || !change.lost_entries.is_empty();
        let is_new = |key: &ObjectKey| published.object(key).is_some_and(|object| !object.state.is_handover());
        if published.manifest().is_some()
            && (told.changes.iter().any(is_lost) || told.manifest.handed_over().any(is_new))
        {
            assert!(stands.is_past_asked.get());
        } else if told.withheld.is_empty() && told.sharings.iter().all(|sharing| sharing.left.is_empty()) {
            assert!(!stands.is_past_asked.get(), "{:?}", told.changes);
        }
        direct
    }
}

/// All that a plan says but for bytes.
fn shown(plan: &RegionPlan) -> String {
    let files = plan.files.iter().map(|(path, content)| match content {
        Content::Bytes(bytes) => format!("{path} {}", sha256_hex(bytes)),
        Content::Kept(from) => format!("{path} from {from}"),
        Content::Seal(order) => format!("{path} {order:?}"),
    });
    let files: Vec<String> = files.collect();
    let rulings: Vec<String> = plan.rulings.iter().map(|it| format!("{} {:?}", word(it.verdict), it.added)).collect();
    format!(
        "{files:#?} {:#?} {:#?} {:#?} {:?} {:?} {:?} {rulings:?} {:?} {}",
        plan.manifest,
        plan.changes,
        plan.sharings,
        plan.holds,
        plan.withheld,
        plan.accepted,
        plan.findings,
        plan.is_published
    )
}

/// What stands in a region's folders, and the history of that.
type Before<'a> = (&'a Published, &'a History);

/// What the user lets through, and what the run is about.
pub(crate) type Wishes = (Allowances, Selection);

pub(crate) fn keys() -> KeyRing {
    KeyRing::new(ReuseKey::parse(&ReuseKey::to_text(&[7; 32])).ok().unwrap(), vec![])
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Admitted => "admitted",
        Verdict::Refused => "refused",
        Verdict::Broken => "broken",
    }
}

fn member(member: &Member) -> String {
    let mut line = format!("  {}", show(&member.read));
    if let Some(by) = step::shown(&member.through) {
        _ = write!(line, "  <- {by}");
    }
    if member.lands != member.read {
        _ = write!(line, "  lands {}", show(&member.lands));
    }
    for edit in &member.edits {
        match edit {
            Edit::Text { path, text } => _ = write!(line, "  {} := {text}", path.join(".")),
            Edit::Parcel(parcel) => _ = write!(line, "  in guests {}", show(&parcel.lands)),
            Edit::Own(_) => {}
            Edit::Made(_) => _ = write!(line, "  makes {}", edit.paths().join(", ")),
        }
    }
    if member.role == Role::Assumed {
        line.push_str("  (assumed)");
    }
    line
}

/// `NAMESPACE/NAME -> REGION: …` of a Credential without a claim.
fn unpublished(asked: &Asked, out: &mut String) {
    let region = asked.region.as_ref().map_or("-", Region::as_str);
    _ = writeln!(out, "{} -> {region}: not published", asked.by.path());
    show_findings("  ", asked.findings.clone(), out);
}

fn only(case: &Case) -> &Scene {
    let [world] = &*case.worlds else { panic!("{}: one world", case.path.display()) };
    world
}

fn claim(case: &Case) -> String {
    let desk = Desk::new(only(case));
    let mut out = String::new();
    for asked in desk.facts.asked() {
        let Some(claim) = &asked.claim else {
            unpublished(asked, &mut out);
            continue;
        };
        _ = writeln!(out, "{} -> {}: claims {}", asked.by.path(), claim.region(), asked_for(claim));
        show_findings("  ", asked.findings.clone(), &mut out);
    }
    show_findings("", desk.findings.clone(), &mut out);
    out
}

/// Every Credential with verdict, members and findings, as if nothing were published.
fn judged(case: &Case) -> String {
    let desk = Desk::new(only(case));
    let mut out = String::new();
    let heard: Vec<Heard> = desk.fleet.regions.values().flat_map(|region| desk.heard(&region.name)).collect();
    let mut rulings: BTreeMap<(Claimant, Region), Ruling<'_>> = BTreeMap::new();
    for region in desk.fleet.regions.values() {
        let mut ruled = Ruling::of(&heard);
        ruled.retain(|ruling| *ruling.case.claim.region() == region.name);
        settle(&desk.world(), region, &Incumbents::default(), &mut ruled);
        limit(&desk.world(), region, &Incumbents::default(), &mut ruled);
        rulings.extend(ruled.into_iter().map(|ruling| {
            let claim = &ruling.case.claim;
            ((claim.by.clone(), claim.region().clone()), ruling)
        }));
    }
    for asked in desk.facts.asked() {
        let region = asked.claim.as_ref().map(|claim| claim.region().clone());
        let Some(ruling) = region.and_then(|region| rulings.remove(&(asked.by.clone(), region))) else {
            unpublished(asked, &mut out);
            continue;
        };
        let case = ruling.case;
        _ = writeln!(out, "{} -> {}: {}", asked.by.path(), case.claim.region(), word(ruling.verdict));
        for shown in &case.closure.members {
            _ = writeln!(out, "{}", member(shown));
        }
        show_findings("  ", ruling.findings().cloned().collect(), &mut out);
    }
    show_findings("", desk.findings.clone(), &mut out);
    out
}

/// The documents that would be published, in clear.
fn sanitised(case: &Case) -> String {
    let desk = Desk::new(only(case));
    let mut out = String::new();
    for region in desk.fleet.regions.values() {
        let mut payloads: BTreeMap<Claimant, BTreeMap<Name, ObjectKey>> = BTreeMap::new();
        let show = |order: &Order, out: &mut String| {
            let keys = keys();
            let made = envelopes(&desk, region, &keys);
            let Some(object) = order.source(&desk.snapshot, &made) else { return };
            out.push_str("---\n");
            let to = Destination { fleet: &desk.fleet, region };
            let (marks, tenancy) = (Marks::of(&to), tenancy_of(&desk.fleet, &order.lands.kind));
            out.push_str(&emit(&sanitise(&object, &order.lands, &order.edits, marks, tenancy)));
        };
        for case in desk.heard(&region.name) {
            _ = writeln!(out, "{} -> {}: {}", case.claim.by.path(), region.name, word(case.verdict));
            for member in case.published_members() {
                show(&Order::of(member), &mut out);
                let parcel = parcel(&member.edits).into_iter();
                let of_group = payloads.entry(case.claim.by.whole().into_owned()).or_default();
                of_group.extend(parcel.map(|parcel| (member.lands.name.clone(), parcel.lands.clone())));
            }
            let stops = case.findings.into_iter().filter(Finding::stops_claim);
            show_findings("", stops.collect(), &mut out);
        }
        let version = version_of_sets(&desk.world(), &region.name);
        for (by, payloads) in payloads {
            let Some(group) = desk.fleet.group_of(&by) else { continue };
            let orders = delivering(group, by.namespace(), &payloads, version.as_ref());
            orders.iter().for_each(|order| show(order, &mut out));
        }
    }
    out
}

fn sources(case: &Case) -> String {
    // Contents that no claim needs are looked up, too.
    let desk = Desk::whole(only(case));
    let mut out = String::new();
    for document in &only(case).documents {
        let kind = document.node.str_at(&["kind"]).unwrap_or_default();
        assert!(kind != "Secret" || document.node.get("sops").is_none());
    }
    for look in &case.looks {
        let key = key(look);
        let said = match desk.snapshot.look_up(&key) {
            Lookup::Found(object) => format!("found in {} at line {}", object.origin.source, line(object)),
            Lookup::Absent => "absent".to_string(),
            Lookup::Unread(unread) => format!("unread because of {}", unread.source),
            Lookup::Unasked => "unasked".to_string(),
        };
        _ = writeln!(out, "{}: {said}", show(&key));
        let Some(object) = desk.snapshot.get(&key) else { continue };
        let faults = object.faults.iter().map(|fault| Finding::new(fault.code, fault.message.clone()));
        show_findings("  ", faults.collect(), &mut out);
    }
    show_findings("", desk.findings.clone(), &mut out);
    out
}

fn line(object: &crate::object::Object) -> u32 {
    let crate::finding::Place::File { line, .. } = object.origin.place else { return 0 };
    line
}

/// What envelopes are made with.
fn envelopes<'a>(desk: &'a Desk, region: &'a RegionConfig, keys: &'a KeyRing) -> Envelopes<'a> {
    Envelopes { fleet: &desk.fleet, directory: &region.directory, key: keys.current() }
}

/// Seals as the shell does, with nothing left to chance.
fn seal(desk: &Desk, region: &RegionConfig, order: &Order) -> Vec<u8> {
    const ARMOR: &str = "-----BEGIN AGE ENCRYPTED FILE-----\nYWdlLWVuY3J5cHRpb24=\n-----END AGE ENCRYPTED FILE-----\n";
    let keys = keys();
    let made = envelopes(desk, region, &keys);
    let object = order.source(&desk.snapshot, &made).unwrap();
    let payload = object.payload.as_ref().unwrap();
    let tree =
        || sanitise(&object, &order.lands, &order.edits, Marks::of(&Destination { fleet: &desk.fleet, region }), None);
    let plain = emit(&tree());
    let ivs: Vec<[u8; 32]> = (0..=payload.entries().len()).map(|n| [u8::try_from(n).unwrap(); 32]).collect();
    let stanzas: Vec<_> = region.recipients.iter().map(|recipient| (recipient.clone(), ARMOR.to_string())).collect();
    let ingredients = Ingredients {
        data_key: &[1; 32],
        ivs: &mut ivs.into_iter(),
        last_modified: "2026-11-21T07:51:52Z",
        recipients: &region.recipients,
        stanzas: &stanzas,
    };
    let sealed = sops::seal(tree(), ingredients).unwrap();
    let context = reuse::Context {
        fleet: &desk.fleet.name,
        directory: &region.directory,
        landing: &order.lands,
        recipients: &region.recipients,
    };
    let leaves = reuse::pair(&sealed.leaves, payload).unwrap();
    let mut file = reuse::header(keys.current().unwrap(), &context, plain.as_bytes(), sealed.text.as_bytes(), &leaves)
        .into_bytes();
    file.extend_from_slice(sealed.text.as_bytes());
    file
}

/// What stands in a region's folders once a plan is published.
pub(crate) fn publish(desk: &Desk, region: &RegionConfig, plan: RegionPlan, before: &Published) -> Files {
    let RegionPlan { files, mut manifest, .. } = plan;
    let mut new = Files::new();
    let mut hashes = BTreeMap::new();
    for (path, content) in files {
        let bytes = match content {
            Content::Bytes(bytes) => bytes,
            Content::Kept(from) => before.files[from.as_str()].clone(),
            Content::Seal(order) => {
                let bytes = seal(desk, region, &order);
                hashes.insert(path.clone(), sha256_hex(&bytes));
                bytes
            }
        };
        new.insert(path.as_str().to_string(), bytes);
    }
    for object in &mut manifest.objects {
        if let Some(sha256) = hashes.remove(&object.path) {
            object.sha256 = sha256;
        }
    }
    if !new.is_empty() {
        let text = bundle_yaml(&manifest, keys().current().unwrap());
        new.insert(path::manifest(&region.directory).as_str().to_string(), text.into_bytes());
    }
    new
}

/// All worlds but the last are published; the last is compared with that, judged and braked.
fn region(case: &Case) -> String {
    let (second, before) = case.worlds.split_last().unwrap();
    let mut files: BTreeMap<String, Files> = BTreeMap::new();
    let mut states: BTreeMap<String, Vec<Files>> = BTreeMap::new();
    for (index, world) in before.iter().enumerate() {
        let desk = Desk::new(world);
        for region in desk.fleet.regions.values() {
            let old = files.remove(region.directory.as_str()).unwrap_or_default();
            let published = Published::examine(&desk.fleet.name, &region.directory, old, &keys());
            let (plan, heard) = desk.plan(region, &published, &Wishes::default());
            let held: Vec<_> = plan.holds.iter().chain(&plan.withheld).collect();
            assert!(held.is_empty(), "{}: {held:?}", case.path.display());
            let mut ruled = heard.iter().zip(&plan.rulings);
            // In guests, what comes second waits.
            let is_second = |heard: &Heard, ruled: &Ruled| {
                let mut stopping = ruled.added.iter().filter(|finding| finding.stops_claim());
                heard.claim.by.group().is_some() && stopping.all(|it| it.code == Code::ConflictingContent)
            };
            let broken = ruled
                .find(|(heard, ruled)| index == 0 && ruled.verdict != Verdict::Admitted && !is_second(heard, ruled));
            assert!(broken.is_none(), "{}: {:?}", case.path.display(), broken.map(|(case, _)| case));
            let new = publish(&desk, region, plan, &published);
            states.entry(region.directory.to_string()).or_default().push(new.clone());
            files.insert(region.directory.to_string(), new);
        }
    }
    let mut desk = Desk::new(second);
    let mut out = String::new();
    let mut standing = BTreeMap::new();
    for region in desk.fleet.regions.values() {
        let mut files = files.remove(region.directory.as_str()).unwrap_or_default();
        let states = states.remove(region.directory.as_str()).unwrap_or_default();
        let history = history(&desk, region, &states, &mut files, second);
        tamper(&mut files, second);
        standing.insert(region.name.clone(), (files, history));
    }
    let examine = |fleet: &Fleet, region: &RegionConfig| {
        Published::examine(&fleet.name, &region.directory, standing[&region.name].0.clone(), &keys())
    };
    desk.made_for = MadeFor::ask(&desk.world(), |region| Ok::<_, ()>(Some(examine(&desk.fleet, region)))).unwrap();
    for region in desk.fleet.regions.values() {
        one_region(&desk, region, (&examine(&desk.fleet, region), &standing[&region.name].1), second, &mut out);
    }
    assert!(files.is_empty(), "{}: a published region is not configured", case.path.display());
    for asked in desk.facts.asked().iter().filter(|asked| asked.claim.is_none()) {
        unpublished(asked, &mut out);
    }
    show_findings("", desk.findings.clone(), &mut out);
    out
}

/// What the history of a branch says: `branch` lists the states after which withdrawals are counted, newest first, and
/// whether each was accepted; `restored` is the state that somebody put back, or null if it is gone; `over` lists the
/// objects whose hand-over is over, which without it are all.
fn history(desk: &Desk, region: &RegionConfig, states: &[Files], files: &mut Files, world: &Scene) -> History {
    let examine = |files: &Files| Published::examine(&desk.fleet.name, &region.directory, files.clone(), &keys());
    let state = |value: &Value| value.as_u64().map(|at| states[usize::try_from(at).unwrap()].clone());
    let mut history = History::default();
    if let Some(restored) = world.run.get("restored") {
        history.own = Some(examine(files));
        *files = state(restored).unwrap_or_default();
    }
    if let Some(over) = world.run["over"].as_array() {
        let is_named = |key: &ObjectKey| over.iter().any(|name| *name == show(key));
        let handed = files_handed_over(&examine(files)).into_iter().filter(is_named);
        history.over = BTreeSet::from_iter(handed).into();
    }
    let mut past = Vec::new();
    for commit in world.run["branch"].as_array().into_iter().flatten() {
        let State::Bundle(manifest) = examine(&state(&commit["state"]).unwrap()).state else { panic!("no manifest") };
        let accepted = commit["accepted"].as_str().map(|namespace| Acceptance {
            region: region.name.clone(),
            namespace: (!namespace.is_empty()).then(|| namespace.into()),
            what: Accept::Deletions,
            digest: "0123456789abcdef".to_string(),
        });
        let then = state(&commit["state"]).unwrap();
        let now = examine(history.own.as_ref().map_or(&*files, |own| &own.files));
        let now = now.manifest().expect("a manifest");
        let file = |path: &BundlePath| Ok::<_, ()>(then.get(path.as_str()).cloned());
        past.push(Past::of(*manifest, accepted.into_iter().collect(), now, file).unwrap());
    }
    History { past: past.into(), ..history }
}

fn files_handed_over(published: &Published) -> Vec<ObjectKey> {
    published.manifest().into_iter().flat_map(Manifest::handed_over).cloned().collect()
}

/// Changes one byte of, or adds, the files that `tamper` names.
fn tamper(files: &mut Files, world: &Scene) {
    for end in world.run["tamper"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if let Some((_, bytes)) = files.iter_mut().find(|(path, _)| path.ends_with(end)) {
            bytes.push(b'\n');
        }
    }
    for path in world.run["foreign"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        files.insert(path.to_string(), b"x".to_vec());
    }
}

fn wishes(world: &Scene, desk: &Desk, region: &RegionConfig, (published, history): Before<'_>) -> Wishes {
    let (mut allowances, mut selection) = Wishes::default();
    let words: BTreeSet<&str> =
        world.run["accept"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if words.contains("reseal-all") {
        allowances.reseal.insert("all".to_string());
    }
    allowances.withdraw_broken = words.contains("withdraw-broken");
    let named = words.iter().filter_map(|word| word.strip_prefix("withdraw ")?.split_once('/'));
    allowances.withdraw = named.map(|(namespace, name)| Claimant::credential(namespace.into(), name.into())).collect();
    if words.contains("rekey") {
        selection.rekey = Some(desk.fleet.regions.keys().cloned().collect());
    }
    for (word, what) in
        [("deletions", Accept::Deletions), ("recipients", Accept::Recipients), ("reseal", Accept::Reseal)]
    {
        if words.contains(word) {
            let (plan, _) = desk.plan_after(region, published, history, &Wishes::default());
            let lifting = plan.holds.into_iter().chain(plan.withheld).filter_map(|hold| hold.lifted_by);
            allowances.accepted.extend(lifting.filter(|acceptance| acceptance.what == what));
        }
    }
    (allowances, selection)
}

fn one_region(desk: &Desk, region: &RegionConfig, standing: Before<'_>, world: &Scene, out: &mut String) {
    if !region.is_rendered() {
        _ = writeln!(out, "region {}: paused", region.name);
        return;
    }
    let wishes = wishes(world, desk, region, standing);
    let (published, history) = standing;
    let is_bare = history.own.is_none() && history.over.get().is_none();
    let (plan, heard) = match is_bare && history.past.get().is_none_or(Vec::is_empty) {
        true => desk.plan(region, published, &wishes),
        false => desk.plan_after(region, published, history, &wishes),
    };
    let outcome = if plan.is_published {
        "unchanged"
    } else if plan.holds.is_empty() {
        "published"
    } else {
        "held"
    };
    _ = writeln!(out, "region {}: {outcome}", region.name);
    for change in &plan.changes {
        _ = write!(out, "  {} {}", change.action.word(), show(&change.key));
        if let Some(guest) = &change.guest {
            _ = write!(out, " (in guests {}{})", show(guest), change.stays());
        }
        let why = change.why.map(|why| format!(", {}", why.word())).unwrap_or_default();
        let lost = if change.lost_entries.is_empty() { "" } else { ", loses " };
        _ = writeln!(out, "{why}{lost}{}", change.lost_entries.join(" "));
        change.privileges.iter().for_each(|privilege| _ = writeln!(out, "    {privilege}"));
    }
    for object in &plan.manifest.objects {
        if let ObjectState::Carried(reason) = object.state {
            _ = writeln!(out, "  carried {}, {}", show(&object.key), reason.word());
        }
    }
    let holds = plan.holds.iter().chain(&plan.withheld).map(|hold| &hold.finding);
    show_findings("  ", holds.chain(&plan.findings).cloned().collect(), out);
    for (case, ruled) in heard.iter().zip(&plan.rulings) {
        _ = writeln!(out, "{} -> {}: {}", case.claim.by.path(), region.name, word(ruled.verdict));
        show_findings("  ", case.findings.iter().chain(&ruled.added).cloned().collect(), out);
    }
    if plan.holds.is_empty() {
        settles(desk, region, standing, plan, &wishes);
    }
}

/// What was published once changes nothing when it is planned again. What is handed over waits on a branch, and goes from
/// a directory with the second run: this is the one exception.
fn settles(desk: &Desk, region: &RegionConfig, (before, history): Before<'_>, plan: RegionPlan, wishes: &Wishes) {
    if !wishes.0.reseal.is_empty() {
        return;
    }
    let examine = |files: Files| Published::examine(&desk.fleet.name, &region.directory, files, &keys());
    let is_first_look =
        before.manifest().is_some_and(|before| before.cluster.is_none()) && plan.manifest.cluster.is_some();
    let published = examine(publish(desk, region, plan, history.own.as_ref().unwrap_or(before)));
    let past = || history.past.clone();
    let branch = History { past: past(), over: BTreeSet::new().into(), ..History::default() };
    let (again, _) = desk.plan_after(region, &published, &branch, &Wishes::default());
    // What a first look does not see is withdrawn once the bundle knows the cluster.
    if is_first_look && !again.is_published && again.changes.iter().all(|change| change.action == Action::Withdrawn) {
        return;
    }
    assert!(again.is_published, "a second run changes something: {:?}", again.changes);
    let directory = History { past: past(), ..History::default() };
    let (then, _) = desk.plan_after(region, &published, &directory, &Wishes::default());
    let handed = files_handed_over(&published);
    assert_eq!(then.is_published, handed.is_empty(), "{:?}", then.changes);
    let is_over = |Change { action, key, .. }: &Change| match action {
        Action::Withdrawn => handed.contains(key) || key.kind.is_namespace(),
        // A set names what goes no more.
        action => *action == Action::Changed && crate::capi::resource_set::is_resource_set(&key.kind),
    };
    assert!(then.changes.iter().all(is_over), "a second run changes more than it hands over: {:?}", then.changes);
    assert!(then.withheld.is_empty() || !again.withheld.is_empty(), "what was counted once is counted twice");
    if !then.is_published {
        settles(desk, region, (&published, &directory), then, wishes);
    }
}
