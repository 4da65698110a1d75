//! Closure: everything that a claim needs, and where each object is read and lands.
//!
//! Breadth first from the root, by the definitions of ProviderInterfaces, with cycles, bounds,
//! optional references and companions. Closure does not judge: whether the claim may have what it
//! reaches is [`judge`](crate::judge)'s business, and so is whether a kind may be published at all; what
//! may not is listed and not looked up. It knows nothing of files, clusters, YAML or sealing.

pub mod companion;
#[cfg(test)]
mod conformance;
pub mod definition;
pub mod landing;
pub mod open;
pub mod readiness;
pub mod reference;

use alloc::borrow::ToOwned as _;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::capi::{self, Need};
use crate::claim::{Claim, Edit};
use crate::config::{Fleet, Grant, Resolution};
use crate::finding::{Code, Finding};
use crate::name::{GroupKind, Name};
use crate::node::Key;
use crate::object::{Object, ObjectKey};
use crate::scope::Scope;
use crate::snapshot::{Elsewhere, Lookup, Snapshot};
use definition::{Defined, Definitions};
use landing::Places;
use open::{Sought, is_open, is_shut};
use reference::{Reference, dotted, follow};

/// The longest chain of references.
pub const MAX_HOPS: usize = 16;

/// The most objects of one claim.
pub const MAX_OBJECTS: usize = 1000;

/// One step of a chain: the ProviderInterface, and the field that names the next object.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Via {
    /// The ProviderInterface whose definition made the step; none for companions.
    pub interface: Option<Name>,
    /// The field, or what the companion is.
    pub field: String,
}

/// Why a member is part of a closure.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Role {
    /// It is what the claim asks for.
    Root,
    /// Another member names it.
    Reference,
    /// `<identity>-resource-template`, which Sveltos reads to propagate the credential.
    ResourceTemplate,
    /// `<identity>-secret`, whose name Sveltos hard-codes.
    PropagationSecret,
    /// It exists on every region by the provider's own doing; nothing is published.
    Assumed,
}

/// One object of a closure: what is read, where it lands, what is rewritten.
#[derive(Clone, Debug)]
pub struct Member {
    /// The object that is read.
    pub read: ObjectKey,
    /// The object that it becomes on the region.
    pub lands: ObjectKey,
    /// What is rewritten on the way.
    pub edits: Vec<Edit>,
    /// Why it is needed.
    pub role: Role,
    /// The steps from the root to here; the shortest chain.
    pub via: Vec<Via>,
    /// The member that names it, by index; none for the root.
    pub referrer: Option<usize>,
}

/// Everything that a claim needs.
#[derive(Debug, Default)]
pub struct Closure {
    /// The members; the root comes first.
    pub members: Vec<Member>,
    /// What is wrong or worth knowing.
    pub findings: Vec<Finding>,
    /// Whether it names something that the claim may not even ask for.
    pub closed: bool,
    /// What no source has been asked for yet. As long as there is something, the closure is not known.
    pub wanted: Vec<ObjectKey>,
    /// Where its objects are read: as the claim asks, or as k0rdent does for lack of the identity there.
    pub resolution: Resolution,
}

impl Closure {
    /// The findings' common part: whose claim, where it goes.
    fn find(&mut self, claim: &Claim, finding: Finding) {
        self.findings.push(finding.claimed_by(&claim.by).in_region(claim.region()));
    }

    /// Notes that a source is to be asked. Until it is, the claim is broken.
    fn want(&mut self, claim: &Claim, key: &ObjectKey) {
        let finding = Finding::new(Code::Unread, format!("whether {key} exists was not asked")).about(key);
        self.find(claim, finding.at(&claim.origin).help("This is a bug in pouch; please report it."));
        self.wanted.push(key.clone());
    }
}

/// What closing needs besides the claim.
pub struct View<'a> {
    /// The configuration.
    pub fleet: &'a Fleet,
    /// What was read.
    pub snapshot: &'a Snapshot,
    /// What refers to what.
    pub definitions: &'a Definitions,
    /// Which ClusterDeployments use which Credential.
    pub deployments: &'a companion::Deployments,
}

/// The kind and name of the identity that CAPA makes by itself on every cluster.
pub fn is_controller_identity(key: &ObjectKey) -> bool {
    key.kind.is("infrastructure.cluster.x-k8s.io", "AWSClusterControllerIdentity") && key.name == "default"
}

/// Whether objects of a kind may be published at all: a closed list (DESIGN §2.4).
pub fn is_publishable(fleet: &Fleet, kind: &GroupKind) -> bool {
    kind.is_secret() || kind.is_config_map() || crate::capi::rules(kind).is_some() || fleet.kinds.contains_key(kind)
}

/// Works out everything that a claim needs.
pub fn close(view: &View<'_>, claim: &Claim) -> Closure {
    let mut closure = Closure { resolution: claim.resolution, ..Closure::default() };
    if let Some(places) = root(view, claim, &mut closure) {
        walk(view, claim, places, &mut closure);
        // Whether companions may be asked for depends on the root.
        let root = closure.members.first().map(|root| view.snapshot.look_up(&root.read));
        if closure.closed || matches!(root, Some(Lookup::Unasked)) {
            return closure;
        }
        companion::add(view, claim, &mut closure);
        readiness::check(view, claim, &mut closure);
    }
    closure
}

/// Finds the root's definition and where it is read and lands.
fn root(view: &View<'_>, claim: &Claim, closure: &mut Closure) -> Option<Places> {
    let root = &claim.root;
    match view.definitions.find(&root.kind, &root.version) {
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
            let message = format!("no ProviderInterface defines {}", root.kind);
            closure.find(
                claim,
                Finding::new(Code::UnknownIdentityKind, message).at(&claim.origin).help(
                    "Correct identityRef.kind and apiVersion, or add the provider's ProviderInterface to a source.",
                ),
            );
            return None;
        }
        Defined::Faulty(faults) => {
            for fault in faults {
                let finding = Finding::new(fault.code, fault.message.clone()).at(&claim.origin);
                closure.find(claim, finding.help(fault.help.clone()));
            }
            return None;
        }
    }
    let written = landing::of_root(view, claim, claim.resolution);
    Some(as_kcm(view, claim, closure, &written).unwrap_or(written))
}

/// Where k0rdent would read the root, if it is absent where the claim says and a grant lets the claim
/// use the one in the system namespace. Only where one does is that looked up at all.
fn as_kcm(view: &View<'_>, claim: &Claim, closure: &mut Closure, written: &Places) -> Option<Places> {
    let places = landing::of_root(view, claim, Resolution::Kcm);
    let granted = || view.fleet.grants(&claim.by, claim.region(), &places.read);
    if claim.resolution == Resolution::Kcm || places.read == written.read || !granted() {
        return None;
    }
    if !is_publishable(view.fleet, &written.read.kind)
        || !matches!(view.snapshot.look_up(&written.read), Lookup::Absent)
    {
        return None;
    }
    match view.snapshot.look_up(&places.read) {
        Lookup::Absent => return None,
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
    Some(places)
}

/// Follows references breadth first.
fn walk(view: &View<'_>, claim: &Claim, root: Places, closure: &mut Closure) {
    let mut seen: BTreeMap<(ObjectKey, ObjectKey), usize> = BTreeMap::new();
    let mut queue = VecDeque::new();
    push(closure, &mut seen, &mut queue, Member::new(root, Role::Root, Vec::new(), None));
    while let Some(index) = queue.pop_front() {
        let Some(member) = closure.members.get(index).cloned() else { continue };
        if member.via.len() > MAX_HOPS {
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
        if !is_publishable(view.fleet, &member.read.kind) || assume(view, claim, closure, index, &member) {
            continue;
        }
        let Some(object) = look_up(view, claim, closure, &member) else { continue };
        expand(view, claim, closure, &mut seen, &mut queue, (index, &member, object));
    }
}

type Seen = BTreeMap<(ObjectKey, ObjectKey), usize>;

fn push(closure: &mut Closure, seen: &mut Seen, queue: &mut VecDeque<usize>, member: Member) {
    let places = (member.read.clone(), member.lands.clone());
    if seen.contains_key(&places) {
        return;
    }
    seen.insert(places, closure.members.len());
    queue.push_back(closure.members.len());
    closure.members.push(member);
}

impl Member {
    fn new(places: Places, role: Role, via: Vec<Via>, referrer: Option<usize>) -> Self {
        Self { read: places.read, lands: places.lands, edits: Vec::new(), role, via, referrer }
    }
}

/// Recognises what exists on every region by itself; true where nothing is to be read.
fn assume(view: &View<'_>, claim: &Claim, closure: &mut Closure, index: usize, member: &Member) -> bool {
    if !is_controller_identity(&member.read) {
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
    if view.fleet.emit_controller_identity {
        return false;
    }
    if let Some(member) = closure.members.get_mut(index) {
        member.role = Role::Assumed;
    }
    // Only to tell whether it is narrower here: without it the closure is complete.
    if matches!(view.snapshot.look_up(&member.read), Lookup::Unasked) {
        closure.wanted.push(member.read.clone());
    }
    let message = format!("{} exists on every region, because the provider itself makes it", member.read);
    closure.find(claim, Finding::new(Code::Assumed, message).about(&member.read));
    if let Some(object) = view.snapshot.get(&member.read)
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

/// Looks a member up, and says what is the matter where it is not there.
fn look_up<'a>(view: &View<'a>, claim: &Claim, closure: &mut Closure, member: &Member) -> Option<&'a Object> {
    match view.snapshot.look_up(&member.read) {
        Lookup::Found(object) => Some(object),
        Lookup::Unread(unread) => {
            closure.find(claim, unread.finding(&member.read).at(&claim.origin));
            None
        }
        Lookup::Unasked => {
            let sought = Sought { read: &member.read, role: member.role, referrer: member.referrer };
            let referrer = member.referrer.and_then(|index| closure.members.get(index));
            let shut = referrer.and_then(|referrer| view.snapshot.get(&referrer.read));
            let shut = shut.is_some_and(|identity| is_shut(view.fleet, claim, identity));
            // Where it is not open the claim is refused, and what is behind it is not to be looked at either.
            match is_open(view.fleet, claim, closure, &sought) && !shut {
                true => closure.want(claim, &member.read),
                false => closure.closed = true,
            }
            None
        }
        Lookup::Absent => {
            let by = match member.via.last() {
                None => format!("identityRef names {}, which is in no source", member.read),
                Some(via) => format!("{} names {}, which is in no source", via.field, member.read),
            };
            let mut help = "Add the object, or correct the reference.".to_owned();
            for (code, at) in hints(view, claim, &member.read) {
                help = format!("{} It stands at {}.", help, at.origin);
                let message = format!("{} is absent, and {} is there", member.read, at.key);
                let mut hint = Finding::new(code, message).about(&at.key).at(&at.origin);
                // An identity alone is looked for in the system namespace too, and only with a grant.
                if code == Code::FoundInSystemNamespace && member.role == Role::Root {
                    hint = hint.help(format!(
                        "To use that one, as k0rdent does, add to `grants`: `- {}`. The objects that it refers to \
                         there need grants of their own.",
                        Grant::least(&claim.by, claim.region(), &at.key)
                    ));
                }
                closure.find(claim, hint);
            }
            if let Some(elsewhere) = view.snapshot.elsewhere(&member.read) {
                let Elsewhere { maker, origin, named } = elsewhere;
                let would = if *named { "would make" } else { "may make (the names in it are sealed)" };
                let message =
                    format!("{} is absent; {maker} {would} it on a cluster, but is not the Secret itself", member.read);
                let finding = Finding::new(Code::SealedElsewhere, message).about(&member.read).at(origin);
                closure.find(
                    claim,
                    finding.help(
                        "Give pouch the Secret itself: read it from the cluster where it is made, or seal its manifest with \
                         SOPS and name an age identity under the source's `decryption`.",
                    ),
                );
            }
            let referrer = member.referrer.and_then(|index| closure.members.get(index)).map(|m| m.read.clone());
            let origin =
                referrer.and_then(|key| view.snapshot.get(&key)).map_or(&claim.origin, |object| &object.origin);
            let finding = Finding::new(Code::MissingReference, by).about(&member.read).at(origin).help(help);
            closure.find(claim, finding);
            None
        }
    }
}

/// Where else an absent object of this name stands.
fn hints<'a>(view: &View<'a>, claim: &Claim, key: &ObjectKey) -> Vec<(Code, &'a Object)> {
    let at = |code, namespace: &crate::name::Namespace| {
        let other = ObjectKey::new(key.kind.clone(), Some(namespace.clone()), key.name.clone());
        let found = (other != *key).then(|| view.snapshot.get(&other)).flatten();
        found.map(|object| (code, object))
    };
    if key.namespace.is_none() {
        return Vec::new();
    }
    let system = at(Code::FoundInSystemNamespace, &view.fleet.system_namespace);
    let own = at(Code::FoundInCredentialNamespace, &claim.by.namespace);
    match (system, own) {
        (Some(system), Some(own)) if system.1.key == own.1.key => [system].into(),
        (system, own) => system.into_iter().chain(own).collect(),
    }
}

/// Adds what an object refers to.
fn expand(
    view: &View<'_>,
    claim: &Claim,
    closure: &mut Closure,
    seen: &mut Seen,
    queue: &mut VecDeque<usize>,
    (index, member, object): (usize, &Member, &Object),
) {
    let definition = match view.definitions.find(&member.read.kind, &object.version) {
        Defined::Exactly(definition) | Defined::Nearest(definition) => definition,
        Defined::Unknown => {
            // A Secret has no references; an identity that nothing defines would go without its own.
            if capi::rules(&member.read.kind).is_some() {
                let message = format!("no ProviderInterface defines {}, which the claim needs", member.read.kind);
                let finding = Finding::new(Code::UnknownIdentityKind, message).about(&member.read).at(&object.origin);
                closure.find(claim, finding.help("Add the provider's ProviderInterface to a source."));
            }
            return;
        }
        Defined::Faulty(faults) => {
            for fault in faults {
                closure.find(claim, Finding::new(fault.code, fault.message.clone()).help(fault.help.clone()));
            }
            return;
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
                    Finding::new(Code::InvalidReference, message).about(&member.read).at(&object.origin).help(format!(
                        "Correct the object, or the path in ProviderInterface {}.",
                        definition.interface
                    )),
                );
                continue;
            }
        };
        let target = landing::Target { kind, name, namespace };
        match landing::of_reference(view, claim, closure.resolution, member, target, path.namespace.as_deref()) {
            Err(field) => {
                let message =
                    format!("{field} of {} is missing, although {} has a name", member.read, dotted(&path.name));
                closure.find(
                    claim,
                    Finding::new(Code::MissingReferenceNamespace, message)
                        .about(&member.read)
                        .at(&object.origin)
                        .help(format!("Write {field}.")),
                );
            }
            Ok((places, edit)) => {
                if let (Some(edit), Some(member)) = (edit, closure.members.get_mut(index))
                    && !member.edits.contains(&edit)
                {
                    member.edits.push(edit);
                }
                let mut via = member.via.clone();
                via.push(Via { interface: Some(Name::new(definition.interface.clone())), field });
                push(closure, seen, queue, Member::new(places, Role::Reference, via, Some(index)));
            }
        }
    }
}

/// Whether the provider does not look at a reference, whatever it says: a secret that a workload
/// identity still names, say.
fn is_unused(object: &Object, path: &[Key]) -> bool {
    let path: Vec<&str> = path.iter().map(|key| &**key).collect();
    capi::rules(&object.key.kind).is_some_and(|rules| capi::need(rules, &object.body, &path) == Need::Unused)
}

/// Whether an absent reference is a fault that no schema knows of: a service principal without a
/// secret, say. What a schema asks for, the judge asks for.
fn is_needed(object: &Object, path: &[Key]) -> bool {
    let path: Vec<&str> = path.iter().map(|key| &**key).collect();
    capi::rules(&object.key.kind).is_some_and(|rules| {
        let conditional = rules.conditional.iter().any(|condition| path.starts_with(condition.reference));
        conditional && capi::need(rules, &object.body, &path) == Need::Needed
    })
}

/// The scope of a kind; a kind that nobody knows is taken as it is written.
fn scope_of(view: &View<'_>, kind: &GroupKind) -> Option<Scope> {
    view.snapshot.scopes.of(kind)
}
