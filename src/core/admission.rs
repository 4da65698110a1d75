//! Admission: may this claim use that object, and by which rule (DESIGN §2.4).
//!
//! Two boundaries count. A [`Rule`] admits the claimant's namespace to an object. [`reach`] bounds what an object may name
//! by the source that it stands in, whatever the rule. Both hold even for asking: a reference to somebody else's Secret
//! neither has the Secret fetched from a live cluster, nor tells whether it exists. Labels on a Credential prove nothing.
//! What is not admitted here is refused by [`judge`](crate::judge).

mod admits;
mod asker;
pub mod reach;
mod sought;

use alloc::vec::Vec;

use crate::capi::Admits;
use crate::finding::{Code, Finding};
use crate::name::{ObjectKey, SourceName, spelt};
use crate::object::{Object, finding_of};
use crate::snapshot::{Lookup, Unread};
use crate::world::{Granting, World};
pub use admits::{admits, is_unseen, slip, tenancy_of};
pub use asker::{Asker, Taking};
use reach::Reach;
use sought::claimant_of;
pub use sought::{Namer, Sought, hangs_on};

/// The rule by which a claim may use an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// The object stands in the claimant's own namespace.
    OwnNamespace,
    /// The claimant stands in the system namespace: whoever writes there may write the identity too.
    SystemClaimant,
    /// A cluster-scoped identity admits the claimant's namespace, by its provider's own meaning.
    Identity,
    /// A cluster-scoped identity names the object, which stands in the system namespace.
    ThroughIdentity,
    /// An AccessManagement rule hands out the claim's source Credential, which may use the system namespace.
    Managed,
    /// A grant of the configuration names the object, or a group of guest clusters that delivers it does.
    Grant,
}

spelt!(Rule {
    OwnNamespace "ownNamespace",
    SystemClaimant "systemClaimant",
    Identity "identity",
    ThroughIdentity "throughIdentity",
    Managed "managed",
    Grant "grant"
});

/// The rule that lets a claim look at a namespaced object, if one does.
///
/// All claims may look at a cluster-scoped object; [`of_identity`] says whether they may use it.
pub fn of_namespaced<'c>(world: &World<'_>, asker: impl Into<Asker<'c>>, sought: &Sought<'_>) -> Option<Rule> {
    let asker = asker.into();
    let is_in_reach = || sought.read.namespace.is_none() || reach::of(world, asker, sought).is_within();
    by_namespace(world, asker, sought).filter(|_| is_in_reach())
}

/// Returns true if a rule opens an object to a claim, and what names it is not known to reach so far.
pub fn is_beyond<'c>(world: &World<'_>, asker: impl Into<Asker<'c>>, sought: &Sought<'_>) -> bool {
    let asker = asker.into();
    rule(world, asker, sought).is_some() && !reach::of(world, asker, sought).is_within()
}

/// Returns true if a rule opens an object to a claim, and what names it is known not to reach so far.
pub fn is_known_beyond<'c>(world: &World<'_>, asker: impl Into<Asker<'c>>, sought: &Sought<'_>) -> bool {
    let asker = asker.into();
    rule(world, asker, sought).is_some() && matches!(reach::of(world, asker, sought), Reach::Beyond(_))
}

/// The rule that opens an object to the claimant's namespace, whatever names it.
pub fn rule<'c>(world: &World<'_>, asker: impl Into<Asker<'c>>, sought: &Sought<'_>) -> Option<Rule> {
    let asker = asker.into();
    match &sought.read.namespace {
        Some(_) => by_namespace(world, asker, sought),
        None => by_identity(world, asker, world.snapshot.get(sought.read)?).ok(),
    }
}

fn by_namespace(world: &World<'_>, asker: Asker<'_>, sought: &Sought<'_>) -> Option<Rule> {
    let fleet = world.fleet;
    if asker.delivers(sought.read) {
        return Some(Rule::Grant);
    }
    let Some(namespace) = &sought.read.namespace else { return Some(Rule::Identity) };
    if !is_of_own_source(world, asker, sought.read) {
        return is_granted(world, asker, sought).then_some(Rule::Grant);
    }
    if *namespace == *asker.by.namespace() {
        return Some(Rule::OwnNamespace);
    }
    let is_identity = |referrer: &ObjectKey| referrer.namespace.is_none() && fleet.publishes(&referrer.kind);
    if *namespace == fleet.system_namespace {
        let kind_may = sought.read.kind.is_secret() || matches!(sought.namer, Namer::Convention(_));
        match sought.namer.referrer() {
            _ if asker.is_handed_out => return Some(Rule::Managed),
            // A failure domain admits no namespace: no field of it says who may use what it names.
            Some(referrer) if kind_may && is_identity(referrer) => return Some(Rule::ThroughIdentity),
            _ => {}
        }
    } else if let Some(referrer) = sought.namer.referrer().filter(|referrer| is_identity(referrer))
        && is_of_controller(world, sought.read, referrer)
    {
        return Some(if asker.is_handed_out { Rule::Managed } else { Rule::ThroughIdentity });
    }
    is_granted(world, asker, sought).then_some(Rule::Grant)
}

/// Returns true if an identity names a Secret without its namespace: then the configuration alone chooses that, now or
/// when what is published was read.
fn is_of_controller(world: &World<'_>, read: &ObjectKey, identity: &ObjectKey) -> bool {
    read.kind.is_secret() && !world.facts.definitions.say_namespaces(&identity.kind)
}

/// Whether a grant opens an object. One to a whole closure does not open what is named where one region's Clusters are
/// described: whoever writes there would choose.
fn is_granted(world: &World<'_>, asker: Asker<'_>, sought: &Sought<'_>) -> bool {
    let describes = |source: &SourceName| world.fleet.described_by(source).is_some();
    let referrer = sought.namer.referrer().and_then(|referrer| world.snapshot.get(referrer));
    let is_chosen = referrer.is_some_and(|it| describes(&it.origin.source)) || is_offered(world, asker, sought.read);
    match is_chosen {
        true => world.grants_by_name(asker.by, asker.region, sought.read),
        false => world.grants(asker.by, asker.region, sought.read),
    }
}

/// Whether a ResourceSyncRule takes an object where one region's Clusters are described: who writes there chooses what the
/// rule matches.
fn is_offered(world: &World<'_>, asker: Asker<'_>, read: &ObjectKey) -> bool {
    let is_described = |source: &SourceName| world.fleet.described_by(source).is_some();
    let Taking::Copy(source) = asker.taking else { return false };
    source.is_some_and(is_described) || world.snapshot.get(read).is_some_and(|copy| is_described(&copy.origin.source))
}

/// Whether an object stands where a claim may use it without a grant, as far as sources go.
enum Standing<'a> {
    /// It does.
    Own,
    /// It stands in another source alone.
    Elsewhere,
    /// The claim's own source says something else than what counts.
    Differs { counts: &'a Object, own: &'a Object },
    /// It stands in another source, and what was not read may say that it is the claim's own all the same.
    Unread(Unread<'a>),
}

/// The sources that a claim is held to; none if it may use what any source provides to its namespace.
///
/// A Credential may use what any source provides. A Cluster may use what its own source provides: whoever describes a
/// region's Clusters is trusted with that region, and not with what others keep under the same names. So it is with a
/// Credential that stands only where one region's Clusters are described. Of a claimant that is not there, nobody knows
/// the source. An equal copy in a later source is as good as the first.
fn held_to<'a>(world: &World<'a>, asker: Asker<'_>) -> Option<(ObjectKey, Vec<&'a SourceName>)> {
    let is_cluster = !asker.by.is_credential();
    if asker.source.is_none() || !(is_cluster || world.fleet.describes_regions()) {
        return None;
    }
    let key = claimant_of(world, asker)?;
    // A source of another region alone is not trusted with what is made here, whatever it copies.
    let counts =
        |source: &&SourceName| asker.by.template().is_none() || world.fleet.trusts_with_templates(source, asker.region);
    let sources = world.snapshot.agreeing(&key).map(|copy| &copy.origin.source);
    let sources: Vec<&SourceName> = sources.filter(counts).collect();
    // Of a Credential, one copy in a source that describes no region is enough.
    let is_free = !is_cluster && !sources.is_empty() && world.snapshot.described(world.fleet, &key).is_none();
    if is_free { None } else { Some((key, sources)) }
}

fn standing<'a>(world: &World<'a>, asker: Asker<'_>, read: &ObjectKey) -> Standing<'a> {
    let Some((by, sources)) = held_to(world, asker) else { return Standing::Own };
    // What was not read may have the claimant too, or the object.
    let elsewhere = || {
        let unread = match world.snapshot.look_up(&by) {
            Lookup::Unread(unread) => Some(unread),
            _ => sources.iter().find_map(|source| world.snapshot.unread_of(source, read)),
        };
        unread.map_or(Standing::Elsewhere, Standing::Unread)
    };
    let is_own = |object: &Object| sources.contains(&&object.origin.source);
    // Who writes another source's copy chooses what a rule makes of it, however equal the rule's own source has it.
    if let Taking::Copy(Some(chosen_in)) = asker.taking
        && !sources.contains(&chosen_in)
    {
        return elsewhere();
    }
    let Lookup::Found(counts) = world.snapshot.stands(read) else {
        let may_provide = sources.iter().any(|source| world.fleet.may_provide(source, read));
        return if may_provide { Standing::Own } else { elsewhere() };
    };
    let mut copies = world.snapshot.copies(read).filter(|copy| is_own(copy));
    match copies.next() {
        _ if is_own(counts) => Standing::Own,
        None => elsewhere(),
        Some(own) if own.same_content(counts) || copies.any(|own| own.same_content(counts)) => Standing::Own,
        Some(own) => Standing::Differs { counts, own },
    }
}

/// Whether a ResourceSyncRule may not have an object whatever else the sources hold: its own have none, as each of them
/// says, and no grant opens what another may have. So it is gone, or shut.
pub fn is_out_of_reach<'c>(world: &World<'_>, asker: impl Into<Asker<'c>>, read: &ObjectKey) -> bool {
    let asker = asker.into();
    let Some((by, sources)) = held_to(world, asker).filter(|_| matches!(asker.taking, Taking::Copy(_))) else {
        return false;
    };
    let snapshot = world.snapshot;
    matches!(snapshot.look_up(&by), Lookup::Found(_))
        && matches!(snapshot.look_up(read), Lookup::Unread(_))
        && !snapshot.copies(read).any(|copy| sources.contains(&&copy.origin.source))
        && sources.iter().all(|source| snapshot.unread_of(source, read).is_none())
        && matches!(world.granting(asker.by, asker.region, read), Granting::No)
}

/// Whether a claim may be admitted to an object without a grant, as far as the object's source goes.
pub fn is_of_own_source<'c>(world: &World<'_>, asker: impl Into<Asker<'c>>, read: &ObjectKey) -> bool {
    let asker = asker.into();
    matches!(standing(world, asker, read), Standing::Own)
}

/// The rule that lets a claim use a cluster-scoped identity which `namer` names, or why none does.
pub fn of_identity<'c>(
    world: &World<'_>,
    asker: impl Into<Asker<'c>>,
    identity: &Object,
    namer: Namer<'_>,
) -> Result<Rule, &'static str> {
    let asker = asker.into();
    let rule = by_identity(world, asker, identity)?;
    let sought = Sought { read: &identity.key, namer };
    if reach::of(world, asker, &sought).is_within() { Ok(rule) } else { Err(OUT_OF_REACH) }
}

fn by_identity(world: &World<'_>, asker: Asker<'_>, identity: &Object) -> Result<Rule, &'static str> {
    if asker.delivers(&identity.key) {
        return Ok(Rule::Grant);
    }
    if !is_of_own_source(world, asker, &identity.key) {
        let granted = match is_offered(world, asker, &identity.key) {
            true => world.grants_by_name(asker.by, asker.region, &identity.key),
            false => world.grants(asker.by, asker.region, &identity.key),
        };
        return granted.then_some(Rule::Grant).ok_or(OF_ANOTHER_SOURCE);
    }
    if *asker.by.namespace() == world.fleet.system_namespace {
        return Ok(Rule::SystemClaimant);
    }
    let why = match admits(world, asker, identity) {
        Admits::Yes => return Ok(Rule::Identity),
        Admits::No => "its allowedNamespaces does not admit it",
        Admits::Unknown(why) => why,
    };
    world.grants(asker.by, asker.region, &identity.key).then_some(Rule::Grant).ok_or(why)
}

/// Why a claim that is held to its own source may not use an object, whomever that admits.
pub const OF_ANOTHER_SOURCE: &str = "it stands in another source than its claimant";

/// The reason if the bound alone stands in the way.
pub const OUT_OF_REACH: &str = "a source that may not reach it names it";

/// What is said where a grant would let a claim use an object if a placement listed the region, and nobody knows whether it
/// does; or where the claim's own source has an object that differs from the one that counts, so that nobody knows which is
/// meant; or where nobody knows the reach of what names it. That opens nothing, and takes nothing away. Nobody looks at the
/// object meanwhile, so what it holds does not count either.
pub fn undecided<'c>(world: &World<'_>, asker: impl Into<Asker<'c>>, sought: &Sought<'_>) -> Option<Finding> {
    let asker = asker.into();
    let read = sought.read;
    if asker.delivers(read) {
        return None;
    }
    match standing(world, asker, read) {
        Standing::Differs { counts, own } => return Some(differs(asker, counts, own)),
        Standing::Unread(unread) => return Some(unread.leaves_open(read, &format!("{} may use {read}", asker.by))),
        Standing::Own | Standing::Elsewhere => {}
    }
    if let Granting::Unknown(placement, why) = world.granting(asker.by, asker.region, read) {
        return Some(hangs_on(asker, read, placement, why));
    }
    rule(world, asker, sought)?;
    match reach::of(world, asker, sought) {
        Reach::Unknown(finding) => Some(*finding),
        Reach::Within | Reach::Beyond(_) => None,
    }
}

fn differs(asker: Asker<'_>, counts: &Object, own: &Object) -> Finding {
    if let Some(fault) = counts.faults.iter().find(|fault| fault.code == Code::Shadowed) {
        return finding_of(fault, counts);
    }
    let message = format!(
        "{} at {}, in the source of {}, differs from the one that counts, which stands in source {}",
        own.key, own.origin, asker.by, counts.origin.source
    );
    let help = "Make the two equal, remove one, or grant the claimant the one that counts. What is published stays.";
    Finding::new(Code::Shadowed, message).about(&own.key).at(&counts.origin).help(help)
}

/// Whether an identity is shut to a claim: the objects that it names are then not asked for either.
pub fn is_shut<'c>(world: &World<'_>, asker: impl Into<Asker<'c>>, identity: &Object) -> bool {
    let asker = asker.into();
    identity.key.namespace.is_none() && by_identity(world, asker, identity).is_err()
}
