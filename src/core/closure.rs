//! Closure: everything that a claim needs, and where each object is read and lands.
//!
//! Goes breadth first from the root, by the definitions of ProviderInterfaces, with cycles, bounds, optional references
//! and companions. Closure does not judge: [`judge`](crate::judge) decides whether the claim may have what it reaches,
//! and whether a kind may be published at all; an object of a kind that may not is listed and not looked up. Closure
//! knows nothing of files, clusters, YAML or sealing.

mod absent;
mod at_home;
mod built;
mod companion;
#[cfg(test)]
mod conformance;
mod guests;
mod landing;
pub mod member;
pub mod projection;
mod readiness;
mod reference;
mod template;
pub mod wanted;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use crate::admission::{self, Namer, Sought};
use crate::capi::{self, Need, aws};
use crate::claim::{Ask, Claim, Copied, Edit, Item, Start};
use crate::config::Resolution;
use crate::finding::telling::Telling;
use crate::finding::{Code, Finding};
use crate::k0rdent::root::Root;
use crate::listing::counted;
use crate::name::step::{Step, behind_claimant};
use crate::name::{Claimant, Name, ObjectKey};
use crate::node::Key;
use crate::object::Object;
use crate::snapshot::Lookup;
use crate::world::World;
use crate::world::definition::{Defined, by_provider};
pub use companion::{PROPAGATION_SECRET, TEMPLATE};
pub use guests::version as version_of_sets;
use landing::Places;
pub use landing::of_root;
pub use member::{Closure, Member, NamedBy, Rank, Role};
use reference::{Reference, dotted, follow, need_of};
pub use template::{Data, data as template_data, is_shut};

/// The longest chain of references.
pub const MAX_HOPS: usize = 16;

/// The most objects of one claim.
pub const MAX_OBJECTS: usize = 1000;

/// Works out everything that a claim needs.
pub fn close(world: &World<'_>, claim: &Claim) -> Closure {
    let mut closure = Closure { resolution: claim.resolution(), ..Closure::default() };
    match &claim.ask {
        Ask::Copy(copied) => copy(world, claim, copied, &mut closure),
        Ask::Render { .. } => template::close(world, claim, &mut closure),
        Ask::Entry(item) => entry(world, claim, item, &mut closure),
        Ask::Deliver { base, .. } => deliver(world, claim, base, &mut closure),
        Ask::Starts(starts) => {
            closure.open = starts.open;
            let starts = starts.named.iter().filter_map(|start| begin(world, claim, start, &mut closure)).collect();
            walk(world, claim, starts, &mut closure);
            at_home::mark(world, claim, &mut closure);
        }
        Ask::Root { root, .. } => follow_root(world, claim, root, &mut closure),
    }
    closure
}

/// The objects that an identity needs, and what its credential is propagated from: the objects that a projection names, its
/// companions, or both.
fn follow_root(world: &World<'_>, claim: &Claim, root: &Root, closure: &mut Closure) {
    let Some(places) = places_of(world, claim, root, closure) else { return };
    walk(world, claim, vec![Member::new(places, Role::Root, claim.through.clone(), None)], closure);
    // Whether companions may be asked for depends on the root.
    let found = closure.members.first().map(|root| world.snapshot.stands(&root.read));
    if closure.closed || matches!(found, Some(Lookup::Unasked)) {
        return;
    }
    if let Some(projection) = claim.projection() {
        let named = projection::members(world, claim, projection, closure);
        walk(world, claim, named, closure);
    }
    if projection::may_read_companions(world, claim) {
        companion::add(world, claim, root, closure);
    }
    at_home::mark(world, claim, closure);
    readiness::check(world, claim, root, closure);
}

/// The object that a group of guest clusters names, in each of its places, or that a rule of it takes. What every region has by
/// itself, a guest need not have.
fn entry(world: &World<'_>, claim: &Claim, items: &[Item], closure: &mut Closure) {
    closure.members.extend(items.iter().map(|item| guests::member(claim, item)));
    if let Some(member) = closure.members.first().filter(|member| world.fleet.publishes(&member.read.kind)).cloned() {
        look_up(world, claim, closure, &member);
    }
    at_home::mark_delivered(world, claim, closure);
}

/// The objects that a template of a group of guest clusters delivers. What never leaves, and what the template may not make, is
/// left out, so that it takes nothing from the others.
fn deliver(world: &World<'_>, claim: &Claim, base: &Name, closure: &mut Closure) {
    let (mut telling, mut left_out) = (Telling::default(), None);
    for member in guests::rendered(world, claim, base, closure) {
        if let Some(finding) = guests::left_out(world, claim, &member) {
            if telling.tells(&member.read) {
                closure.find(claim, finding);
            } else {
                left_out = Some(finding);
            }
            continue;
        }
        let read = &member.read;
        closure.members.push(member.clone());
        // What was not read lets that wait alone.
        if world.fleet.publishes(&read.kind) && !matches!(world.snapshot.look_up(read), Lookup::Unread(_)) {
            look_up(world, claim, closure, &member);
        }
    }
    if let (Some(others), Some(last)) = (telling.others(), left_out) {
        let message = format!("{} more are left out of {}", counted(others, "object", "objects"), claim.by);
        closure.find(claim, Finding { message, object: None, ..last });
    }
    at_home::mark_delivered(world, claim, closure);
    if closure.members.len() > MAX_OBJECTS {
        let message = format!("the template makes more than {MAX_OBJECTS} objects");
        let finding = Finding::new(Code::TooManyObjects, message).at(&claim.origin);
        closure.find(claim, finding.help("Let the template make fewer."));
    }
}

/// What a ResourceSyncRule takes: the object alone. What the object refers to is a matter of further rules.
fn copy(world: &World<'_>, claim: &Claim, copied: &Copied, closure: &mut Closure) {
    let places = Places { read: copied.read.clone(), lands: copied.lands.clone() };
    let through = claim.by.rule().cloned().map(Step::Rule).into_iter().collect();
    let member = Member { edits: copied.edits.clone(), ..Member::new(places, Role::Root, through, None) };
    closure.members.push(member.clone());
    if world.fleet.publishes(&member.read.kind) && !assume(world, claim, closure, 0, &member) {
        look_up(world, claim, closure, &member);
    }
    at_home::mark(world, claim, closure);
}

/// Where a Cluster's claim starts: a Secret, or an identity whose references can be told.
fn begin(world: &World<'_>, claim: &Claim, start: &Start, closure: &mut Closure) -> Option<Member> {
    let kind = &start.root.kind;
    if !kind.is_secret() && !kind.is_config_map() {
        match world.facts.definitions.find(kind, &start.root.version) {
            Defined::Faulty(faults) => {
                faulty(claim, closure, faults);
                return None;
            }
            Defined::Unknown if by_provider(kind).is_none() => {
                let message = format!("no ProviderInterface defines {}, which {} names", kind.qualified(), start.field);
                let finding = Finding::new(Code::UnknownIdentityKind, message).at(&claim.origin);
                closure.find(
                    claim,
                    finding.help("Correct the reference, or add the provider's ProviderInterface to a source."),
                );
                return None;
            }
            _ => {}
        }
    }
    let places = landing::of_root(world, claim, &start.root, claim.resolution());
    let member = Member::new(places, Role::Root, vec![Step::field(&*start.field)], None);
    Some(Member { entries: start.entries.clone(), named_by: start.named_by.clone(), ..member })
}

/// Finds the root's definition and where it is read and lands.
fn places_of(world: &World<'_>, claim: &Claim, root: &Root, closure: &mut Closure) -> Option<Places> {
    match world.facts.definitions.find(&root.kind, &root.version) {
        Defined::Exactly(_) => {}
        Defined::Nearest(definition) => {
            let message = format!(
                "identityRef names {} in {}; ProviderInterface {} defines it in {}",
                root.kind, root.version, definition.interface, definition.version
            );
            let help = format!("Write `apiVersion: {}`.", root.kind.api_version(&definition.version));
            closure.find(claim, Finding::new(Code::VersionMismatch, message).at(&claim.origin).help(help));
        }
        Defined::Unknown => {
            let message = format!("no ProviderInterface defines {}", root.kind.qualified());
            closure.find(
                claim,
                Finding::new(Code::UnknownIdentityKind, message).at(&claim.origin).help(
                    "Correct identityRef.kind and apiVersion, or add the provider's ProviderInterface to a source.",
                ),
            );
            return None;
        }
        Defined::Faulty(faults) => {
            faulty(claim, closure, faults);
            return None;
        }
    }
    let written = landing::of_root(world, claim, root, claim.resolution());
    match as_kcm(world, claim, closure, root, &written) {
        Ok(system) => Some(system.unwrap_or(written)),
        Err(undecided) => {
            closure.find(claim, undecided.at(&claim.origin));
            None
        }
    }
}

/// Tells what is wrong with the definitions of a kind, where they stand.
fn faulty(claim: &Claim, closure: &mut Closure, faults: &[Finding]) {
    for fault in faults {
        let origin = fault.origin.clone().unwrap_or_else(|| claim.origin.clone());
        closure.find(claim, fault.clone().at(&origin));
    }
}

/// Where k0rdent would read the root, if it is absent where the claim says and a grant lets the claim use the one in
/// the system namespace.
///
/// Without such a grant, the one in the system namespace is not looked up at all.
///
/// # Errors
/// Where nobody knows whether the grant holds: then nobody knows which object is meant either.
fn as_kcm(
    world: &World<'_>,
    claim: &Claim,
    closure: &mut Closure,
    root: &Root,
    written: &Places,
) -> Result<Option<Places>, Box<Finding>> {
    let places = landing::of_root(world, claim, root, Resolution::Kcm);
    let sought = Sought { read: &places.read, namer: Namer::Claimant };
    let undecided = admission::undecided(world, claim, &sought);
    let is_granted =
        || world.grants(&claim.by, claim.region(), &places.read) && !admission::is_beyond(world, claim, &sought);
    let may_be = || undecided.is_some() || is_granted();
    if claim.resolution() == Resolution::Kcm || places.read == written.read || !may_be() {
        return Ok(None);
    }
    if !world.fleet.publishes(&written.read.kind) || !matches!(world.snapshot.look_up(&written.read), Lookup::Absent) {
        return Ok(None);
    }
    if let Some(undecided) = undecided {
        return Err(Box::new(undecided));
    }
    match world.snapshot.stands(&places.read) {
        Lookup::Absent => return Ok(None),
        Lookup::Found(object) => {
            let message = format!("{} is absent; {} is used, as k0rdent does", written.read, places.read);
            closure.find(
                claim,
                Finding::new(Code::ResolvedAsKcm, message)
                    .about(&places.read)
                    .at(&object.origin)
                    .help("If this is unintended, put the identity where the Credential says, or remove the grant."),
            );
        }
        // The walk says why that breaks the claim.
        _ => {}
    }
    closure.resolution = Resolution::Kcm;
    Ok(Some(places))
}

/// Follows references breadth first; what the closure has is not followed again.
fn walk(world: &World<'_>, claim: &Claim, roots: Vec<Member>, closure: &mut Closure) {
    let known = closure.members.iter().enumerate();
    let mut seen: Seen = known.map(|(at, member)| ((member.read.clone(), member.lands.clone()), at)).collect();
    let mut queue = VecDeque::new();
    roots.into_iter().for_each(|root| push(closure, &mut seen, &mut queue, root));
    while let Some(index) = queue.pop_front() {
        let Some(member) = closure.members.get(index).cloned() else { continue };
        if behind_claimant(&member.through).len() > MAX_HOPS {
            let message = format!("the chain to {} is longer than {MAX_HOPS} references", member.read);
            closure.find(claim, Finding::new(Code::TooManyHops, message).at(&claim.origin).help("Shorten the chain."));
            return;
        }
        if closure.members.len() > MAX_OBJECTS {
            let message = format!("the claim needs more than {MAX_OBJECTS} objects");
            closure
                .find(claim, Finding::new(Code::TooManyObjects, message).at(&claim.origin).help("Split the identity."));
            return;
        }
        if !world.fleet.publishes(&member.read.kind) || assume(world, claim, closure, index, &member) {
            continue;
        }
        // An object beyond the reach of what names it is not looked at, nor what is behind it.
        if admission::is_beyond(world, claim, &sought(closure, &member)) {
            closure.closed = true;
            continue;
        }
        let Some(object) = look_up(world, claim, closure, &member) else { continue };
        expand(world, claim, closure, &mut seen, &mut queue, Reached { index, member: &member, object });
    }
}

type Seen = BTreeMap<(ObjectKey, ObjectKey), usize>;

fn push(closure: &mut Closure, seen: &mut Seen, queue: &mut VecDeque<usize>, member: Member) {
    let places = (member.read.clone(), member.lands.clone());
    if let Some(known) = seen.get(&places).and_then(|index| closure.members.get_mut(*index)) {
        let further = member.referrer.filter(|index| known.referrer != Some(*index) && !known.also.contains(index));
        known.also.extend(further);
        return;
    }
    seen.insert(places, closure.members.len());
    queue.push_back(closure.members.len());
    closure.members.push(member);
}

/// Recognises an object that every region has by itself; true if nothing is to be read.
fn assume(world: &World<'_>, claim: &Claim, closure: &mut Closure, index: usize, member: &Member) -> bool {
    if !aws::is_controller_identity(&member.read) {
        return false;
    }
    if member.role == Role::Reference {
        let message =
            format!("the chain of roles ends in {}, which is a different principal on every region", member.read);
        closure.find(
            claim,
            Finding::new(Code::ControllerPrincipal, message)
                .about(&member.read)
                .help("Let the target account trust the role of each region's controller."),
        );
    }
    if world.fleet.emit_controller_identity {
        return false;
    }
    if let Some(member) = closure.members.get_mut(index) {
        member.role = Role::Assumed;
    }
    // Read only to tell whether it is narrower here: the closure is complete without it.
    if matches!(world.snapshot.look_up(&member.read), Lookup::Unasked) {
        closure.wanted.push(member.read.clone());
    }
    let message = format!("{} exists on every region, because the provider itself makes it", member.read);
    closure.find(claim, Finding::new(Code::Assumed, message).about(&member.read));
    if let Some(object) = world.snapshot.get(&member.read)
        && object.at(&["spec", "allowedNamespaces"]).is_none_or(|allowed| !allowed.entries().is_empty())
    {
        let message = format!("{} admits fewer namespaces here than on a region, where it admits all", member.read);
        closure.find(
            claim,
            Finding::new(Code::AssumedWider, message)
                .about(&member.read)
                .at(&object.origin)
                .help("Restrict it on each region by other means; the provider makes it with `allowedNamespaces: {}`."),
        );
    }
    true
}

/// Looks a member up, and reports why it is not there, and whether pouch itself put one there.
fn look_up<'a>(world: &World<'a>, claim: &Claim, closure: &mut Closure, member: &Member) -> Option<&'a Object> {
    at_home::tell(world, claim, closure, &member.read);
    match world.snapshot.look_up(&member.read) {
        Lookup::Found(object) => Some(object),
        Lookup::Unread(unread) => {
            let mut finding = unread.finding(&member.read).at(&claim.origin);
            // Where a namespace is missing, a role with few rights may not know that nothing is in it.
            let referrer = member.referrer.and_then(|index| closure.members.get(index)).map(|namer| &namer.read.kind);
            if let Some(identity) = referrer.filter(|kind| capi::controller_namespace(kind).is_some()) {
                let said = absent::said_in_kinds(identity, "NAMESPACE").replace("runs there", "runs elsewhere");
                finding.help = format!("{} {said}", finding.help).into();
            }
            closure.find(claim, finding);
            None
        }
        Lookup::Unasked if let Lookup::Found(object) = world.snapshot.stands(&member.read) => {
            // A file does not show that it is read, and the faults of an object are told beside a refusal.
            if refers(world, object) {
                closure.want(claim, &member.read);
                return None;
            }
            Some(object)
        }
        Lookup::Unasked => {
            let sought = sought(closure, member);
            let referrer = member.referrer.and_then(|index| closure.members.get(index));
            let shut = referrer.and_then(|referrer| world.snapshot.get(&referrer.read));
            let shut = shut.is_some_and(|identity| admission::is_shut(world, claim, identity));
            // If the object is not open, the claim is refused, and what is behind the object is not to be looked at
            // either.
            match admission::of_namespaced(world, member.acting(claim), &sought).is_some() && !shut {
                true => closure.want(claim, &member.read),
                false => closure.closed = true,
            }
            None
        }
        Lookup::Absent => {
            absent::tell(world, claim, closure, member);
            None
        }
    }
}

/// Returns true if a definition says that objects of a kind refer to others: then the content says what else is needed.
fn refers(world: &World<'_>, object: &Object) -> bool {
    match world.facts.definitions.find(&object.key.kind, &object.version) {
        Defined::Exactly(definition) | Defined::Nearest(definition) => !definition.references.is_empty(),
        Defined::Unknown | Defined::Faulty(_) => false,
    }
}

/// A member that was reached, its place among all, and its object.
struct Reached<'r> {
    index: usize,
    member: &'r Member,
    object: &'r Object,
}

/// Adds what an object refers to.
fn expand(
    world: &World<'_>,
    claim: &Claim,
    closure: &mut Closure,
    seen: &mut Seen,
    queue: &mut VecDeque<usize>,
    Reached { index, member, object }: Reached<'_>,
) {
    let known;
    let definition = 'found: {
        match world.facts.definitions.find(&member.read.kind, &object.version) {
            Defined::Exactly(definition) | Defined::Nearest(definition) => definition,
            Defined::Unknown => {
                if !claim.by.is_credential()
                    && let Some(definition) = by_provider(&member.read.kind)
                {
                    known = definition;
                    break 'found &known;
                }
                // A Secret has no references; an identity that nothing defines would be published without its own.
                if capi::rules(&member.read.kind).is_some() {
                    let message =
                        format!("no ProviderInterface defines {}, which the claim needs", member.read.kind.qualified());
                    let finding =
                        Finding::new(Code::UnknownIdentityKind, message).about(&member.read).at(&object.origin);
                    closure.find(claim, finding.help("Add the provider's ProviderInterface to a source."));
                }
                return;
            }
            Defined::Faulty(faults) => {
                faulty(claim, closure, faults);
                return;
            }
        }
    };
    for path in &definition.references {
        let field = dotted(&path.name);
        if is_unused(object, &path.name) {
            continue;
        }
        let (kind, name, namespace) = match follow(object, path) {
            Reference::None => {
                if is_needed(object, &path.name) {
                    let message = format!("{field} of {} is missing, and its type needs it", member.read);
                    let finding = Finding::new(Code::MissingReference, message).about(&member.read).at(&object.origin);
                    closure.find(claim, finding.help(format!("Write {field}, or correct the type.")));
                }
                continue;
            }
            Reference::To { kind, name, namespace } => (kind, name, namespace),
            Reference::Invalid(field, what) => {
                let message = format!("{field} of {} holds {what}", member.read);
                closure.find(
                    claim,
                    Finding::new(Code::InvalidObject, message).about(&member.read).at(&object.origin).help(format!(
                        "Correct the object, or the path in ProviderInterface {}.",
                        definition.interface
                    )),
                );
                continue;
            }
        };
        let target = landing::Target { kind, name, namespace };
        match landing::of_reference(
            world,
            &claim.by,
            closure.resolution,
            &member.read,
            target,
            path.namespace.as_deref(),
        ) {
            Err(field) => {
                let message =
                    format!("{field} of {} is missing, although {} has a name", member.read, dotted(&path.name));
                closure.find(
                    claim,
                    Finding::new(Code::InvalidObject, message)
                        .about(&member.read)
                        .at(&object.origin)
                        .help(format!("Write {field}.")),
                );
            }
            Ok((places, edit)) => {
                passed_over(world, claim, closure, &member.read, &places.read);
                if let (Some(edit), Some(member)) = (edit, closure.members.get_mut(index))
                    && !member.edits.contains(&edit)
                {
                    member.edits.push(edit);
                }
                let mut through = member.through.clone();
                let interface = Some(&definition.interface).filter(|name| !name.is_empty());
                through.push(Step::Field { interface: interface.map(|name| Name::new(name.clone())), field });
                push(closure, seen, queue, Member::new(places, Role::Reference, through, Some(index)));
            }
        }
    }
}

/// Tells of a Secret that stands in the system namespace and in that of the identity's controller.
fn passed_over(world: &World<'_>, claim: &Claim, closure: &mut Closure, identity: &ObjectKey, read: &ObjectKey) {
    let Some(other) = world.snapshot.passed_over(world.fleet, &claim.by, &identity.kind, read) else { return };
    let message = format!("{read} is used, and {} is there, too", other.key);
    let hint = Finding::new(Code::FoundElsewhere, message).about(&other.key).at(&other.origin);
    closure.find(claim, hint.help(absent::said_in_kinds(&identity.kind, other.key.namespace_text())));
}

/// What an object names, by where it lands, and what is rewritten in the object; none if that cannot be told.
pub fn names(
    world: &World<'_>,
    by: &Claimant,
    resolution: Resolution,
    read: &ObjectKey,
    object: &Object,
) -> Option<(Vec<ObjectKey>, Vec<Edit>)> {
    let (mut names, mut edits) = (Vec::new(), Vec::new());
    let known;
    let definition = match world.facts.definitions.find(&read.kind, &object.version) {
        Defined::Exactly(definition) | Defined::Nearest(definition) => definition,
        Defined::Unknown if !by.is_credential() => {
            known = by_provider(&read.kind)?;
            &known
        }
        Defined::Unknown | Defined::Faulty(_) => return None,
    };
    for path in definition.references.iter().filter(|path| !is_unused(object, &path.name)) {
        match follow(object, path) {
            Reference::None if is_needed(object, &path.name) => return None,
            Reference::None => {}
            Reference::Invalid(..) => return None,
            Reference::To { kind, name, namespace } => {
                let target = landing::Target { kind, name, namespace };
                let to = landing::of_reference(world, by, resolution, read, target, path.namespace.as_deref());
                let (places, edit) = to.ok()?;
                names.push(places.lands);
                edits.extend(edit.filter(|edit| !edits.contains(edit)));
            }
        }
    }
    Some((names, edits))
}

/// Whether the provider ignores a reference, whatever it says: a secret that a workload identity still names, say.
fn is_unused(object: &Object, path: &[Key]) -> bool {
    need_of(object, path) == Some(Need::Unused)
}

/// Whether an absent reference is a fault that no schema knows of: a service principal without a secret, say.
///
/// The judge checks what a schema asks for.
fn is_needed(object: &Object, path: &[Key]) -> bool {
    let names: Vec<&str> = path.iter().map(|key| &**key).collect();
    let conditions = capi::rules(&object.key.kind).into_iter().flat_map(|rules| rules.conditional);
    conditions.into_iter().any(|condition| names.starts_with(condition.reference))
        && need_of(object, path) == Some(Need::Needed)
}

/// A member as admission sees it, by what named it first.
pub fn sought<'c>(closure: &'c Closure, member: &'c Member) -> Sought<'c> {
    let referrer = member.referrer.and_then(|index| closure.members.get(index)).map(|referrer| &referrer.read);
    let is_companion = matches!(member.role, Role::ResourceTemplate | Role::PropagationSecret);
    let namer = match (referrer, &member.named_by) {
        (Some(referrer), _) if is_companion => Namer::Convention(referrer),
        (Some(referrer), _) => Namer::Object(referrer),
        (None, NamedBy::Claimant) => Namer::Claimant,
        (None, NamedBy::Object(key)) => Namer::Object(key),
        (None, NamedBy::Configuration) => Namer::Unknown,
    };
    Sought { read: &member.read, namer }
}

/// A member as admission sees it, by each object that names it.
pub fn sought_by_all<'c>(closure: &'c Closure, member: &'c Member) -> impl Iterator<Item = Sought<'c>> {
    let further = member.also.iter().filter_map(|index| closure.members.get(*index));
    let further = further.map(|referrer| Sought { read: &member.read, namer: Namer::Object(&referrer.read) });
    core::iter::once(sought(closure, member)).chain(further)
}
