//! Reach: the bound on what an object may name, by the source that it stands in.
//!
//! The writers of a source choose what its objects name. So an object leads no further than its source may reach by itself,
//! whichever [`Rule`](super::Rule) admits the claimant: to what the source may provide, to what grants to its namespaces
//! name, and to cluster-scoped identities that admit one of its namespaces. Equal copies in several sources reach what any of
//! these reaches.
//!
//! A grant that names the object for the claimant opens it, whatever leads there. One to the claimant's whole closure trusts
//! the writers of the claimant: it counts for objects of the sources that have the claimant, and for no others.
//!
//! ResourceSyncRules and templates stand only in sources with `clusterScoped`, and groups of guests in the configuration, so
//! no bound applies to what they take.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use super::Asker;
use super::admits::{UNSEEN, admits_in, slip};
use super::sought::{Namer, Sought, claimant_of, hangs_on};
use crate::capi::Admits;
use crate::config::Source;
use crate::finding::{Code, Finding};
use crate::name::{Namespace, ObjectKey};
use crate::object::{Object, finding_of};
use crate::world::{Granting, World};

/// The answer for one object and what names it.
pub enum Reach<'a> {
    /// The object is within reach, or nothing that was read names it.
    Within,
    /// The object is beyond the reach of every source that has what names it.
    Beyond(Beyond<'a>),
    /// The answer depends on something that was not read, or is faulty.
    Unknown(Box<Finding>),
}

impl Reach<'_> {
    /// Returns true if the object is known to be within reach.
    pub fn is_within(&self) -> bool {
        matches!(self, Reach::Within)
    }
}

/// An object that names another beyond the reach of its source.
pub struct Beyond<'a> {
    /// The object that names the other.
    pub namer: ObjectKey,
    /// The source.
    pub source: &'a Source,
}

/// Returns the reach of what names an object.
pub fn of<'a, 'c>(world: &World<'a>, asker: impl Into<Asker<'c>>, sought: &Sought<'_>) -> Reach<'a> {
    let asker = asker.into();
    if asker.by.is_maker() || asker.by.group().is_some() || asker.delivers(sought.read) {
        return Reach::Within;
    }
    // A Credential that a rule makes stands beside what it names there, and its source need not reach that namespace.
    let is_beside = sought.read.namespace.as_ref() == Some(asker.by.namespace());
    if asker.is_handed_out && is_beside && matches!(sought.namer, Namer::Claimant) {
        return Reach::Within;
    }
    // In most fleets every source may provide everything, and then it does not matter which of them names the object.
    let may_provide = |source: &Source| source.provides.admits(sought.read, &world.fleet.guarded);
    if world.fleet.sources.iter().all(may_provide) {
        return Reach::Within;
    }
    let claimant = || claimant_of(world, asker);
    let namers = match sought.namer {
        Namer::Claimant => [claimant(), None],
        Namer::Object(key) => [Some(key.clone()), None],
        Namer::Convention(key) => [Some(key.clone()), claimant()],
        Namer::Unknown => [None, None],
    };
    let mut reach = Reach::Within;
    for (at, namer) in namers.into_iter().flatten().enumerate() {
        match of_namer(world, asker, sought.read, namer) {
            Reach::Within => return Reach::Within,
            unknown @ Reach::Unknown(_) => reach = unknown,
            beyond if at == 0 => reach = beyond,
            Reach::Beyond(_) => {}
        }
    }
    reach
}

fn of_namer<'a>(world: &World<'a>, asker: Asker<'_>, read: &ObjectKey, namer: ObjectKey) -> Reach<'a> {
    let snapshot = world.snapshot;
    let Some(counts) = snapshot.get(&namer) else { return Reach::Within };
    let source_of = |copy: &Object| world.fleet.source(&copy.origin.source);
    let equal = snapshot.copies(&namer).filter(|copy| copy.same_content(counts));
    // An object of no source stands in the configuration, or pouch made it.
    let Some(sources) = equal.map(source_of).collect::<Option<Vec<&Source>>>() else { return Reach::Within };
    let Some(first) = sources.first() else { return Reach::Within };
    let mut unknown = None;
    for source in &sources {
        match of_source(world, asker, read, source) {
            Reached::Yes => return Reach::Within,
            Reached::Unknown(finding) => unknown = Some(finding),
            Reached::No => {}
        }
    }
    // Another source would have to have the object, and to reach further: one that was not read, or that differs.
    let may_reach = |source: &Source| {
        !sources.iter().any(|known| known.name == source.name)
            && !matches!(of_source(world, asker, read, source), Reached::No)
    };
    let others = || world.fleet.sources.iter().filter(|source| may_reach(source));
    if let Some(unread) = others().find_map(|source| snapshot.unread_of(&source.name, &namer)) {
        let what = format!("{} may use {read}, which {namer} names,", asker.by);
        unknown = Some(Box::new(unread.leaves_open(read, &what)));
    } else if let Some(fault) = counts.faults.iter().find(|fault| fault.code.is_of_copies())
        && snapshot.copies(&namer).filter_map(source_of).any(may_reach)
    {
        unknown = Some(Box::new(finding_of(fault, counts)));
    }
    unknown.map_or(Reach::Beyond(Beyond { namer, source: first }), Reach::Unknown)
}

/// The answer for one source.
enum Reached {
    Yes,
    Unknown(Box<Finding>),
    No,
}

impl Reached {
    /// This, unless it says nothing.
    fn or(self, other: impl FnOnce() -> Self) -> Self {
        match self {
            Reached::Yes => Reached::Yes,
            Reached::No => other(),
            unknown @ Reached::Unknown(_) => match other() {
                Reached::Yes => Reached::Yes,
                Reached::Unknown(_) | Reached::No => unknown,
            },
        }
    }

    /// This, if the other says the same.
    fn and(self, other: impl FnOnce() -> Self) -> Self {
        match self {
            Reached::Yes => other(),
            Reached::No => Reached::No,
            unknown @ Reached::Unknown(_) => match other() {
                Reached::No => Reached::No,
                Reached::Unknown(_) | Reached::Yes => unknown,
            },
        }
    }
}

fn of_source(world: &World<'_>, asker: Asker<'_>, read: &ObjectKey, source: &Source) -> Reached {
    if source.provides.admits(read, &world.fleet.guarded) {
        return Reached::Yes;
    }
    let by_grant = |granting| match granting {
        Granting::Yes(_) => Reached::Yes,
        Granting::Unknown(placement, why) => Reached::Unknown(Box::new(hangs_on(asker, read, placement, why))),
        Granting::No => Reached::No,
    };
    let identity = world.snapshot.get(read).filter(|_| read.namespace.is_none());
    let by_identity = identity.map_or(Reached::No, |identity| admitted(world, asker, identity, source));
    by_identity
        .or(|| by_grant(world.granting_by_name(asker.by, asker.region, read)))
        .or(|| by_grant(world.granting_to(source, asker.region, read)))
        .or(|| match world.granting(asker.by, asker.region, read) {
            Granting::No => Reached::No,
            granting => has_claimant(world, asker, read, source).and(|| by_grant(granting)),
        })
}

/// Decides if a source has the object that asks for a claim's root, as it counts.
fn has_claimant(world: &World<'_>, asker: Asker<'_>, read: &ObjectKey, source: &Source) -> Reached {
    let Some(key) = claimant_of(world, asker) else { return Reached::No };
    // The claim is of an earlier run: where its claimant stood is not known.
    let Some(counts) = world.snapshot.get(&key) else { return Reached::Yes };
    let mut equal = world.snapshot.copies(&key).filter(|copy| copy.same_content(counts));
    if equal.any(|copy| copy.origin.source == source.name) {
        return Reached::Yes;
    }
    let unread = world.snapshot.unread_of(&source.name, &key);
    unread.map_or(Reached::No, |unread| {
        Reached::Unknown(Box::new(unread.leaves_open(read, &format!("{} may use {read}", asker.by))))
    })
}

/// Decides if a cluster-scoped identity admits some namespace of a source.
fn admitted(world: &World<'_>, asker: Asker<'_>, identity: &Object, source: &Source) -> Reached {
    let region = asker.region;
    let admits = |namespace: &Namespace| admits_in(world, region, namespace, identity);
    let is_own = |namespace: &Namespace| source.provides.has_namespace(namespace, &world.fleet.guarded);
    let mut is_unseen = false;
    // The claimant's own comes first: most identities admit it, and some list very many.
    let first = core::iter::once(asker.by.namespace().clone());
    let all = first.chain(core::iter::once_with(|| candidates(world, asker, identity, source)).flatten());
    for namespace in all.filter(is_own) {
        match admits(&namespace) {
            Admits::Yes => return Reached::Yes,
            Admits::Unknown(UNSEEN) => is_unseen = true,
            Admits::Unknown(_) | Admits::No => {}
        }
    }
    let (code, why) = match slip(world.fleet, identity) {
        Some(slip) => (Code::Mistyped, format!("{} is mistyped", slip.at)),
        None if identity.is_mistyped() => (Code::Mistyped, String::from("it is mistyped")),
        None if is_unseen => (Code::Unread, String::from(UNSEEN)),
        None => return Reached::No,
    };
    let message =
        format!("whether {} is open to a namespace of source {} is unknown: {why}", identity.key, source.name);
    let help = "Correct that, or grant the use of the identity by its name. What is published stays.";
    Reached::Unknown(Box::new(Finding::new(code, message).about(&identity.key).at(&identity.origin).help(help)))
}

/// The namespaces of which one is admitted if any of a source is: those that the identity names, those whose labels are known,
/// and one for each glob of the source, of which nothing is known.
fn candidates(world: &World<'_>, asker: Asker<'_>, identity: &Object, source: &Source) -> BTreeSet<Namespace> {
    let names = identity.at(&["spec"]).map(|spec| spec.texts()).unwrap_or_default();
    let labelled = world.labelled(asker.region);
    let globs = source.provides.namespaces.patterns().iter();
    let samples = globs.map(|glob| Namespace::new(glob.replace(['*', '?'], "x")));
    names.into_iter().map(Namespace::from).chain(labelled).chain(samples).collect()
}
