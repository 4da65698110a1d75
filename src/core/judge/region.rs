//! One region's claims, judged against each other and against what is published.
//!
//! Who was there first stays: a newcomer never takes an object, a provider or a quota from a claim
//! that is published already.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::case::{Case, Ruling, Verdict};
use super::incumbents::Incumbents;
use super::quota;
use crate::capi;
use crate::claim::{made, parcel};
use crate::closure::{Member, Rank};
use crate::config::RegionConfig;
use crate::finding::{Code, Finding, Severity};
use crate::name::{Claimant, ObjectKey};
use crate::object::finding_of;
use crate::world::World;
use crate::world::definition::Defined;

/// Judges a region's claims against each other, but for quotas.
pub fn settle(world: &World<'_>, region: &RegionConfig, incumbents: &Incumbents, rulings: &mut [Ruling<'_>]) {
    for ruling in rulings.iter_mut() {
        provider(world, region, incumbents, ruling);
    }
    give_way(world, incumbents, rulings);
    conflicts(world, incumbents, rulings);
}

/// Something that an entry of a group puts somewhere in guests.
struct Put<'c> {
    rank: Rank,
    /// The ruling on the entry, by index.
    index: usize,
    /// None of what a template would make and cannot.
    member: Option<&'c Member>,
}

/// Lets what rules take and templates make for guests wait where something of another entry comes first: what the configuration
/// names, then what a template makes, whether or not that can be delivered now. Of equals the one that is published goes on.
fn give_way(world: &World<'_>, incumbents: &Incumbents, rulings: &mut [Ruling<'_>]) {
    let mut places: BTreeMap<(Claimant, &ObjectKey), Vec<Put<'_>>> = BTreeMap::new();
    for (index, ruling) in rulings.iter().enumerate() {
        let case: &Case = ruling.case;
        if case.claim.by.group().is_none() || ruling.verdict == Verdict::Refused {
            continue;
        }
        let mut put = |lands, put| places.entry((case.claim.by.whole().into_owned(), lands)).or_default().push(put);
        for member in case.published_members() {
            // What a rule cannot deliver keeps no place from another rule.
            if member.rank() == Rank::Rule && !ruling.is_admitted() {
                continue;
            }
            let parcel = parcel(&member.edits).into_iter();
            parcel.for_each(|parcel| put(&parcel.lands, Put { rank: member.rank(), index, member: Some(member) }));
        }
        for lands in case.closure.awaited.keys() {
            put(lands, Put { rank: Rank::Template, index, member: None });
        }
    }
    let mut waiting: Vec<(usize, &Member, bool, Option<Finding>)> = Vec::new();
    for ((group, in_guest), puts) in &places {
        let Some(first) = puts.iter().min_by_key(|put| put.rank).filter(|_| puts.len() > 1) else { continue };
        // Two equals that are alike now may differ tomorrow.
        let agree = |put: &&Put<'_>| match (first.member, put.member) {
            (Some(one), Some(member)) => {
                same(world, one, member) && (put.rank != first.rank || one.read == member.read)
            }
            _ => false,
        };
        let equals = || puts.iter().filter(|put| put.rank == first.rank);
        let before = incumbents.in_guests.get(&(group.clone(), (*in_guest).clone())).map(Vec::as_slice);
        let before = before.unwrap_or_default();
        // What was read says less than who has it: two may read one name.
        let is_own = |put: &Put<'_>| {
            let by = rulings.get(put.index).map(|ruling| &ruling.case.claim.by);
            let has = |member: &Member| {
                before.iter().any(|(claimant, source)| Some(claimant) == by && source.is_of(&member.read))
            };
            put.member.is_some_and(has)
        };
        let is_anyones = equals().any(is_own);
        let holds = |put: &Put<'_>, member: &Member| match is_anyones {
            true => is_own(put),
            false => before.iter().any(|(_, source)| source.is_of(&member.read)),
        };
        let is_decided = equals().all(|put| put.index == first.index || agree(&put));
        for put in puts.iter().filter(|put| put.rank != Rank::Entry && (put.index != first.index || !is_decided)) {
            let Some(member) = put.member.filter(|_| !agree(&put) || !is_decided) else { continue };
            let why = match first.member.filter(|_| is_decided) {
                Some(first) => format!("{} comes first as {in_guest} in guests", first.read),
                None if put.rank != first.rank || is_decided => {
                    format!("a template comes first with {in_guest} in guests, which cannot be delivered now")
                }
                None if holds(put, member) => continue,
                None => {
                    let other = equals().filter_map(|put| put.member).find(|other| other.read != member.read);
                    let other = other.map_or_else(|| String::from("something else"), |other| format!("{}", other.read));
                    format!("{other} would be {in_guest} in guests too; one that is published goes on")
                }
            };
            let finding = Finding::new(Code::ConflictingContent, why).about(&member.read);
            let finding = finding.help("Let one of them land elsewhere, or remove one.");
            let is_equal = put.rank == first.rank;
            // It is there by what comes first.
            let is_same = !is_equal && first.member.is_some_and(|first| first.read == member.read);
            waiting.push((put.index, member, is_equal, (!is_same).then_some(finding)));
        }
    }
    drop(places);
    for (index, member, is_equal, finding) in waiting {
        let Some(ruling) = rulings.get_mut(index) else { continue };
        let finding = finding.map(|finding| finding.at(&ruling.case.claim.origin));
        // An object that comes second is not at fault. Of equals it is unknown which is meant.
        match (member.rank(), finding) {
            (_, None) => _ = ruling.waiting.insert(member.read.clone(), Code::ConflictingContent),
            (Rank::Rule, Some(finding)) if is_equal => ruling.find(finding),
            (Rank::Rule | Rank::Template | Rank::Entry, Some(finding)) => _ = ruling.let_wait(&member.read, &finding),
        }
    }
}

/// Holds a region's claims to its quotas, once it is known which of them fail for another reason: those take no room.
/// Whether that broke any.
pub fn limit(world: &World<'_>, region: &RegionConfig, incumbents: &Incumbents, rulings: &mut [Ruling<'_>]) -> bool {
    let admitted = |rulings: &[Ruling<'_>]| rulings.iter().filter(|ruling| ruling.is_admitted()).count();
    let before = admitted(rulings);
    quota::apply(world, region, incumbents, rulings);
    admitted(rulings) < before
}

/// Whether a region's claims are within its quotas, whatever is published of them: then [`limit`] has nothing to say.
pub fn is_within(world: &World<'_>, region: &RegionConfig, rulings: &[Ruling<'_>]) -> bool {
    quota::is_within(world, region, rulings)
}

/// Checks that the Region object lists the identity's provider (DESIGN §2.2.7); plain Secrets are exempt.
fn provider(world: &World<'_>, region: &RegionConfig, incumbents: &Incumbents, ruling: &mut Ruling<'_>) {
    let Some((kind, version)) = ruling.case.claim.identity() else { return };
    let (Some(facts), false) = (world.region(&region.name), kind.is_secret()) else { return };
    let (Defined::Exactly(definition) | Defined::Nearest(definition)) = world.facts.definitions.find(kind, version)
    else {
        return;
    };
    if facts.enables(definition) {
        return;
    }
    let newcomer = !incumbents.claimants.contains(&ruling.case.claim.by);
    let severity = if newcomer { Severity::Error } else { Severity::Warning };
    let message = format!("Region {} does not enable provider {} for {}", region.name, definition.interface, kind);
    let finding = Finding::new(Code::ProviderNotEnabled, message).severity(severity).at(&ruling.case.claim.origin);
    ruling.find(finding.help("Add the provider to spec.providers of the Region."));
}

/// Finds claims that need one object with different content.
fn conflicts(world: &World<'_>, incumbents: &Incumbents, rulings: &mut [Ruling<'_>]) {
    let mut wanted: BTreeMap<&ObjectKey, Vec<(usize, &Member)>> = BTreeMap::new();
    for (index, ruling) in rulings.iter().enumerate().filter(|(_, ruling)| ruling.is_admitted()) {
        for member in ruling.case.published_members().filter(|member| !ruling.holds(member)) {
            wanted.entry(&member.lands).or_default().push((index, member));
        }
    }
    let mut losers: Vec<(usize, Finding)> = Vec::new();
    // A claim that contradicts itself needs nothing of others, and takes nothing from them.
    let mut in_itself: BTreeSet<usize> = BTreeSet::new();
    for (lands, wants) in &wanted {
        for (one, other) in wants.iter().zip(wants.iter().skip(1)).filter(|(one, other)| one.0 == other.0) {
            if !same(world, one.1, other.1) && in_itself.insert(one.0) {
                let message = format!(
                    "the claim itself needs {lands} with different content: read as {} and as {}",
                    one.1.read, other.1.read
                );
                let help = "Rename one of the objects, or let both references name the same one.";
                losers.push((one.0, Finding::new(Code::ConflictingContent, message).about(lands).help(help)));
            }
        }
    }
    for (lands, mut wants) in wanted {
        wants.retain(|(index, _)| !in_itself.contains(index));
        let Some(((_, first), rest)) = wants.split_first() else { continue };
        if rest.iter().all(|(_, member)| same(world, first, member)) {
            continue;
        }
        let claimant = |index: usize| rulings.get(index).map(|ruling| &ruling.case.claim.by);
        let losing = losing(world, incumbents, lands, &wants, &claimant);
        let claimants: BTreeSet<&Claimant> = wants.iter().filter_map(|(index, _)| claimant(*index)).collect();
        for index in losing {
            let message = format!("{} need {lands} with different content", together(&claimants));
            let help = "Rename one of the objects, or let both name the same one.";
            losers.push((index, Finding::new(Code::ConflictingContent, message).about(lands).help(help)));
        }
    }
    for (index, finding) in losers {
        if let Some(ruling) = rulings.get_mut(index) {
            ruling.find(finding.at(&ruling.case.claim.origin));
        }
    }
}

/// Of claims that need one object with different content, those that fail: who reads another object than the published one;
/// of others newcomers; and of what is left, what a rule makes of an object that somebody needs as it is. Where that leaves
/// nothing to prefer, all fail.
fn losing<'c>(
    world: &World<'_>,
    incumbents: &Incumbents,
    lands: &ObjectKey,
    wants: &[(usize, &Member)],
    claimant: &impl Fn(usize) -> Option<&'c Claimant>,
) -> Vec<usize> {
    let agree =
        |wants: &[&(usize, &Member)]| wants.iter().zip(wants.iter().skip(1)).all(|(a, b)| same(world, a.1, b.1));
    let is_made = |want: &&(usize, &Member)| made(&want.1.edits).is_some();
    let is_there = |want: &&(usize, &Member)| {
        let needers = incumbents.files.get(lands).map(|(_, needers)| needers.as_slice()).unwrap_or_default();
        claimant(want.0).is_some_and(|by| needers.contains(by))
    };
    let holder = incumbents.sources.get(lands);
    let holds = |want: &&(usize, &Member)| holder.is_some_and(|source| source.is_of(&want.1.read));
    if !wants.iter().any(|want| is_made(&want)) {
        return wants.iter().filter(|want| !holds(want)).map(|(index, _)| *index).collect();
    }
    let mut left: Vec<&(usize, &Member)> = wants.iter().collect();
    if holder.is_some() {
        left.retain(holds);
        if left.iter().any(is_there) && left.iter().any(is_made) && !agree(&left) {
            left.retain(is_there);
        }
    }
    if !agree(&left) && left.iter().any(|want| !is_made(want)) {
        left.retain(|want| !is_made(want));
    }
    if !agree(&left) {
        left.clear();
    }
    let stays = |want: &(usize, &Member)| left.iter().any(|left| left.0 == want.0 || same(world, left.1, want.1));
    wants.iter().filter(|want| !stays(want)).map(|(index, _)| *index).collect()
}

/// Claimants in a sentence: `Credentials team-a/x and team-b/y`.
fn together(claimants: &BTreeSet<&Claimant>) -> String {
    let kind = claimants.first().map(|first| first.kind());
    if claimants.iter().all(|claimant| Some(claimant.kind()) == kind) {
        let paths: Vec<String> = claimants.iter().map(|claimant| claimant.place()).collect();
        return format!("{}s {}", kind.unwrap_or("claimant"), paths.join(" and "));
    }
    let names: Vec<String> = claimants.iter().map(|claimant| format!("{claimant}")).collect();
    names.join(" and ")
}

fn same(world: &World<'_>, a: &Member, b: &Member) -> bool {
    if a.edits != b.edits {
        return false;
    }
    match (world.snapshot.get(&a.read), world.snapshot.get(&b.read)) {
        _ if a.read == b.read => true,
        (Some(x), Some(y)) => x.same_content(y),
        _ => false,
    }
}

/// Changes to the published copy of an object that a region's API does not allow.
///
/// `published` and `new` are whole documents; a Secret's values are not looked at.
pub fn immutable_changes(
    lands: &ObjectKey,
    published: &crate::node::Node,
    new: &crate::object::Object,
) -> Option<Finding> {
    if lands.kind.is_secret() {
        let before = published.str_at(&["type"]).unwrap_or("Opaque");
        let after = new.body.str_at(&["type"]).unwrap_or("Opaque");
        if before == after {
            return None;
        }
        let message = format!("the type of {lands} changes, and the region's API does not let it");
        let finding = Finding::new(Code::ImmutableField, message).about(lands).at(&new.origin);
        return Some(finding.help("Give the Secret a new name, or remove it from the region first."));
    }
    let fault = capi::immutable_changes(capi::rules(&lands.kind)?, published, &new.body).into_iter().next()?;
    Some(finding_of(&fault, new))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::closure::{NamedBy, Role};
    use crate::name::{Name, ReadFrom};
    use crate::testing::case::{Document, Scene};
    use crate::testing::stages::Desk;
    use crate::testing::{node, yaml};

    /// Where no rule makes anything, who reads another object than the published one fails, whatever it holds.
    #[test]
    fn without_rules_the_published_object_alone_decides() {
        let secret = |namespace: &str, value: &str| Document {
            source: "all".into(),
            node: node(&yaml(&format!(
                "apiVersion: v1\nkind: Secret\nmetadata: {{name: x, namespace: {namespace}}}\ndata: {{k: {value}}}\n"
            ))),
            line: 1,
        };
        let desk = Desk::new(&Scene {
            config: yaml("{}"),
            documents: vec![secret("a", "YQ=="), secret("b", "YQ=="), secret("c", "Yg==")],
            incomplete: Vec::new(),
            run: yaml("{}"),
        });
        let key = |namespace: &str| ObjectKey::secret(namespace.into(), Name::from("x"));
        let member = |namespace: &str| Member {
            read: key(namespace),
            lands: key("a"),
            edits: Vec::new(),
            role: Role::Root,
            through: Vec::new(),
            referrer: None,
            also: Vec::new(),
            named_by: NamedBy::Claimant,
            entries: Vec::new(),
            in_place: false,
            rule: None,
        };
        let members = ["a", "b", "c"].map(member);
        let wants: Vec<(usize, &Member)> = members.iter().enumerate().collect();
        let losing = |incumbents: &Incumbents| losing(&desk.world(), incumbents, &key("a"), &wants, &|_| None);
        let mut incumbents = Incumbents::default();
        assert_eq!(losing(&incumbents), [0, 1, 2]);
        incumbents.sources.insert(key("a"), ReadFrom::of(&key("a")));
        assert_eq!(losing(&incumbents), [1, 2]);
    }
}
