//! Members: what a closure holds, and by which steps it was reached.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::landing::Places;
pub use crate::claim::NamedBy;
use crate::claim::{Claim, Edit};
use crate::config::Resolution;
use crate::finding::{Code, Finding};
use crate::name::step::Step;
use crate::name::{ObjectKey, spelt};
use crate::snapshot::Snapshot;

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
    /// It exists on every region because the provider itself makes it; nothing is published.
    Assumed,
}

spelt!(Role {
    Root "root",
    Reference "reference",
    ResourceTemplate "resourceTemplate",
    PropagationSecret "propagationSecret",
    Assumed "assumed"
});

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
    /// The steps from the claimant to here; the shortest chain. That a Credential names its root is no step of it.
    pub through: Vec<Step>,
    /// The member that names it, by index; none for the root.
    pub referrer: Option<usize>,
    /// The further members that name it.
    pub also: Vec<usize>,
    /// The origin of the reference, if no member names it.
    pub named_by: NamedBy,
    /// The entries that a provider reads of it, where a Cluster names it as the Secret that it is.
    pub entries: Vec<Box<str>>,
    /// Whether it was read from the very place where it would land, so that it is there already and is not published.
    pub in_place: bool,
    /// The claim whose rules decide about it, if a ResourceSyncRule takes it, or a template makes it, for a group of guests.
    pub rule: Option<Arc<Claim>>,
}

/// What of a group of guests says that a member lands where it does, and what comes first there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Rank {
    /// An entry of the configuration.
    Entry,
    /// A template that the configuration names.
    Template,
    /// A ResourceSyncRule: whoever writes the object says so.
    Rule,
}

impl Member {
    /// What says that it lands where it does. The name of the object says nothing: whoever writes that may call it as he likes.
    pub fn rank(&self) -> Rank {
        match &self.rule {
            None => Rank::Entry,
            Some(acting) if acting.by.template().is_some() => Rank::Template,
            Some(_) => Rank::Rule,
        }
    }

    /// The claim whose rules decide about it, for a member of this one.
    pub fn acting<'c>(&'c self, claim: &'c Claim) -> &'c Claim {
        self.rule.as_deref().unwrap_or(claim)
    }

    /// Whether it is published for the claim.
    pub fn is_published(&self) -> bool {
        self.role != Role::Assumed && !self.in_place
    }
}

/// Everything that a claim needs.
#[derive(Debug, Default)]
pub struct Closure {
    /// The members; the root comes first.
    pub members: Vec<Member>,
    /// What is wrong or worth knowing.
    pub findings: Vec<Finding>,
    /// Whether the closure names something that the claim may not even ask for.
    pub closed: bool,
    /// Objects that no source has been asked for yet; as long as there are some, the closure is not known.
    pub wanted: Vec<ObjectKey>,
    /// Where its objects are read: as the claim asks, or as k0rdent does if the identity is absent there.
    pub resolution: Resolution,
    /// The objects that a template makes for a group of guests and that cannot be delivered as they are, with the reasons: the
    /// published ones stay.
    pub waiting: BTreeMap<ObjectKey, Code>,
    /// The places in guests where something of a template would land that cannot be delivered as it is, with the reasons: what is
    /// published there stays.
    pub awaited: BTreeMap<ObjectKey, Code>,
    /// The code for which the claim of a Cluster may need more than this, if it may: what is published of that stays.
    pub open: Option<Code>,
    /// The faults of the template that is rendered for a group of guests.
    pub rendered: Vec<Finding>,
}

impl Closure {
    /// The objects without whose contents nothing can be judged, where these were put aside: the closure is known without.
    pub fn unread<'c>(&'c self, snapshot: &Snapshot) -> impl Iterator<Item = &'c ObjectKey> {
        self.members.iter().map(|member| &member.read).filter(|read| snapshot.is_aside(read))
    }

    /// Adds a finding, with its claimant and its region.
    pub(super) fn find(&mut self, claim: &Claim, finding: Finding) {
        self.findings.push(finding.claimed_by(&claim.by).in_region(claim.region()));
    }

    /// Notes that a source is to be asked for an object; until then, the claim is broken.
    pub(super) fn want(&mut self, claim: &Claim, key: &ObjectKey) {
        let finding = Finding::new(Code::Unread, format!("whether {key} exists was not asked")).about(key);
        self.find(claim, finding.at(&claim.origin).help("This is a bug in pouch; please report it."));
        self.wanted.push(key.clone());
    }
}

impl Member {
    pub(super) fn new(places: Places, role: Role, through: Vec<Step>, referrer: Option<usize>) -> Self {
        Self {
            read: places.read,
            lands: places.lands,
            edits: Vec::new(),
            role,
            through,
            referrer,
            also: Vec::new(),
            named_by: NamedBy::Claimant,
            entries: Vec::new(),
            in_place: false,
            rule: None,
        }
    }
}
