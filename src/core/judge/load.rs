//! Loads: how much of a region something takes.

use super::case::Ruling;
use crate::claim::parcel;
use crate::closure::Member;
use crate::name::ObjectKey;
use crate::name::step::Step;
use crate::object::Object;
use crate::world::World;

/// The bytes around the names in an object's entry of `bundle.yaml`, in the entry of one who needs it, and around the entry of a
/// group of guests there.
const AROUND_OBJECT: usize = 300;
const AROUND_NEED: usize = 96;
const AROUND_ENTRY: usize = 160;
const AROUND_STEP: usize = 48;
const AROUND_DATA: usize = 80;

/// A measure of what something takes, or there is room for.
#[derive(Clone, Copy, Default)]
pub(super) struct Load {
    /// Objects.
    pub(super) objects: usize,
    /// Bytes of sealed Secrets.
    pub(super) sealed: usize,
    /// Bytes of `bundle.yaml`.
    pub(super) listed: usize,
}

impl Load {
    /// The load of an object by itself, with the bytes of its file if it is a sealed Secret.
    pub(super) fn of(key: &ObjectKey, sealed: usize) -> Self {
        let names = key.name.as_str().len() + key.namespace_text().len();
        Self { objects: 1, sealed, listed: names * 3 + AROUND_OBJECT }
    }

    /// The load of a member, as if it were needed for nothing else.
    pub(super) fn of_member(world: &World<'_>, ruling: &Ruling<'_>, member: &Member) -> Self {
        Self { objects: 1, sealed: sealed(world, member), listed: listed(ruling, member) + AROUND_OBJECT }
    }

    /// Both by each measure.
    fn by(self, other: Self, each: impl Fn(usize, usize) -> usize) -> Self {
        Self {
            objects: each(self.objects, other.objects),
            sealed: each(self.sealed, other.sealed),
            listed: each(self.listed, other.listed),
        }
    }

    /// The sum.
    pub(super) fn plus(self, other: Self) -> Self {
        self.by(other, |one, other| one + other)
    }

    /// The larger of both.
    pub(super) fn or(self, other: Self) -> Self {
        self.by(other, usize::max)
    }

    /// The surplus over another.
    pub(super) fn beyond(self, other: Self) -> Self {
        self.by(other, usize::saturating_sub)
    }

    /// One of so many equal parts.
    pub(super) fn divided(self, parts: usize) -> Self {
        self.by(Self::default(), |one, _| one.checked_div(parts).unwrap_or_default())
    }

    /// Returns true if it is within a limit by every measure.
    pub(super) fn fits(self, limit: Self) -> bool {
        self.objects <= limit.objects && self.sealed <= limit.sealed && self.listed <= limit.listed
    }

    /// The part of a limit that it is, in millionths, by the measure by which that is most.
    pub(super) fn part_of(self, limit: Self) -> usize {
        const WHOLE: usize = 1_000_000;
        let Self { objects, sealed, listed } =
            self.by(limit, |one, limit| one.saturating_mul(WHOLE).checked_div(limit).unwrap_or(WHOLE));
        objects.max(sealed).max(listed)
    }
}

/// About how many bytes a member's Secret takes once it is sealed.
pub(super) fn sealed(world: &World<'_>, member: &Member) -> usize {
    if !member.lands.kind.is_secret() {
        return 0;
    }
    let sealed = world.snapshot.get(&member.read).map(Object::sealed_bytes).unwrap_or_default();
    // In a payload, base64 stands in base64.
    if parcel(&member.edits).is_some() { sealed / 3 * 4 } else { sealed }
}

/// About how many bytes `bundle.yaml` takes to say that a claim needs a member.
pub(super) fn listed(ruling: &Ruling<'_>, member: &Member) -> usize {
    let by = &ruling.case.claim.by;
    let names = by.name().len() + by.namespace().as_str().len();
    let step = |step: &Step| {
        let said = match step {
            Step::Field { interface, field } => {
                interface.as_ref().map_or(0, |interface| interface.as_str().len()) + field.len()
            }
            Step::AccessRule(name) | Step::Rule(name) | Step::Template(name) => name.as_str().len(),
            Step::Data(key) => {
                let kind = key.kind.group.as_str().len() + key.kind.kind.as_str().len();
                kind + key.path().len() + AROUND_DATA
            }
            Step::Opaque(words) => words.len(),
        };
        said + AROUND_STEP
    };
    let steps = member.through.iter().map(step).sum::<usize>();
    let entry = if by.entry().is_some() { AROUND_ENTRY } else { 0 };
    names + steps + AROUND_NEED + entry
}
