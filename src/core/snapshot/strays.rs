//! Strays: objects that their source may not provide. They count as nothing; but where the namespace of one is nearly called
//! like one of its source's, and no one else speaks of it, a slip is likelier, and what was meant is not gone.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::ignored::not_provided;
use super::mistyped::{Meant, words_of};
use super::objects::{Held, MOST_COMPARED, Objects};
use super::reason::Reason;
use super::state::State;
use crate::config::{Fleet, ProvidedObjects, Provides};
use crate::finding::{Code, Finding, Origin};
use crate::name::{Namespace, ObjectKey};
use crate::nearest::{MOST_EDITS, edits};
use crate::object::Object;

/// The most namespaces of one source that are held against those it may provide. What it has in more of them is taken at its word:
/// a slip is rare, and who writes into hundreds of others' namespaces means them.
const MOST_SOUGHT: usize = 100;

/// The most letters of a word that tells siblings apart, such as `a`, `eu` or `pay`.
const MOST_SHORT: usize = 3;

/// An object that its source may not provide.
pub(super) struct Stray {
    key: ObjectKey,
    origin: Origin,
    /// The words by which it is looked for, if its name is not that by which it is.
    words: BTreeSet<Box<str>>,
}

impl Stray {
    /// One that is looked for by its key.
    pub(super) fn named(key: ObjectKey, origin: Origin) -> Self {
        Self { key, origin, words: BTreeSet::new() }
    }

    /// Any object.
    pub(super) fn of(object: Object) -> Self {
        let words = words_of(&object);
        Self { key: object.key, origin: object.origin, words }
    }

    /// Its key, in another namespace.
    fn key_in(&self, namespace: &Namespace) -> ObjectKey {
        ObjectKey { namespace: Some(namespace.clone()), ..self.key.clone() }
    }

    /// What is said where the namespace is probably mistyped.
    fn mistyped(&self, meant: &str) -> Finding {
        let Self { key, origin, .. } = self;
        let message = format!(
            "source {} provides no objects of namespace {}; {key} is ignored",
            origin.source,
            key.namespace_text()
        );
        Finding::new(Code::Mistyped, message).about(key).at(origin).help(format!(
            "Did you mean namespace {meant}? Until this is corrected, what is published by this name in {meant} stays. If \
             the namespace is right, add it to `provides` of the source."
        ))
    }
}

/// Tells of the strays of each source, given by its number, and returns where they stand. The states of the sources learn what
/// each could be meant to be.
pub(super) fn ignore(
    fleet: &Fleet,
    objects: &Objects,
    (strays, states): (Vec<(usize, Stray)>, &mut [State]),
    findings: &mut Vec<Finding>,
) -> BTreeMap<ObjectKey, Origin> {
    let mut ignored = BTreeMap::new();
    let slips = slips(fleet, objects, &strays);
    for (index, stray) in strays {
        let (Some(source), Some(state)) = (fleet.sources.get(index), states.get_mut(index)) else { continue };
        let meant = slips.get(&index).and_then(|slips| slips.get(stray.key.namespace.as_ref()?)?.as_ref());
        // What is there, in whichever source, is not gone: nothing is in doubt.
        let is_gone = |key: &ObjectKey| source.provides.admits(key, &fleet.guarded) && objects.get(key).is_none();
        match meant.map(|namespace| stray.key_in(namespace)).filter(is_gone) {
            Some(meant) => {
                findings.push(stray.mistyped(meant.namespace_text()));
                state.strayed.add(Meant::keyed(&meant, stray.words, Reason::of_document(&stray.origin)));
            }
            None => findings.push(not_provided(source, &stray.key, &stray.origin)),
        }
        ignored.entry(stray.key).or_insert(stray.origin);
    }
    ignored
}

/// The namespaces that one source types and does not provide, each with the one that was probably meant.
type Slips = BTreeMap<Namespace, Option<Namespace>>;

/// The slips of each source, by its number.
///
/// If the source has an object of a namespace in the meant one too, the namespace is a copy for another place, with all that it
/// has, and not a slip.
fn slips(fleet: &Fleet, objects: &Objects, strays: &[(usize, Stray)]) -> BTreeMap<usize, Slips> {
    let mut known = None;
    let mut of_sources: BTreeMap<usize, (Own, Slips)> = BTreeMap::new();
    for (index, stray) in strays {
        let (Some(source), Some(typed)) = (fleet.sources.get(*index), &stray.key.namespace) else { continue };
        let known: &BTreeSet<Namespace> = known.get_or_insert_with(|| known_namespaces(fleet, objects));
        let own = || (Own::of(fleet, &source.provides, known), Slips::new());
        let (own, slips) = of_sources.entry(*index).or_insert_with(own);
        if !slips.contains_key(typed) {
            if slips.len() >= MOST_SOUGHT {
                continue;
            }
            let meant = (!known.contains(typed)).then(|| own.meant(typed)).flatten();
            slips.insert(typed.clone(), meant);
        }
        let Some(meant) = slips.get_mut(typed) else { continue };
        let is_of_source = |held: &Held| held.copies().any(|copy| copy.origin.source == source.name);
        let has_both = |namespace: &Namespace| objects.get(&stray.key_in(namespace)).is_some_and(is_of_source);
        meant.take_if(|namespace| has_both(namespace));
    }
    of_sources.into_iter().map(|(index, (_, slips))| (index, slips)).collect()
}

/// The namespaces that the configuration names, and those in which a source has what it may provide.
fn known_namespaces(fleet: &Fleet, objects: &Objects) -> BTreeSet<Namespace> {
    let mut known = fleet.named_namespaces();
    for held in objects.all() {
        let key = &held.object.key;
        match &key.namespace {
            Some(namespace) if !known.contains(namespace) => _ = known.insert(namespace.clone()),
            None if key.kind.is_namespace() => _ = known.insert(Namespace::from(key.name.as_str())),
            _ => {}
        }
    }
    known
}

/// The known namespaces of which a source may provide something, by their length.
struct Own(BTreeMap<usize, Vec<Name>>);

/// A namespace, taken apart once.
struct Name {
    namespace: Namespace,
    parts: Parts,
}

impl Own {
    fn of(fleet: &Fleet, provides: &Provides, known: &BTreeSet<Namespace>) -> Self {
        let is_own = |namespace: &&Namespace| {
            let has = |objects: &ProvidedObjects| objects.namespace.as_ref() == Some(namespace);
            provides.has_namespace(namespace, &fleet.guarded) || provides.objects.iter().any(has)
        };
        let mut own = Self(BTreeMap::new());
        for namespace in known.iter().filter(is_own).take(MOST_COMPARED) {
            let name = Name { namespace: namespace.clone(), parts: Parts::of(namespace.as_str()) };
            own.0.entry(length(namespace)).or_default().push(name);
        }
        own
    }

    /// The namespace that was probably meant by one that the source does not provide; of two that are as near, the first in the
    /// alphabet.
    fn meant(&self, typed: &Namespace) -> Option<Namespace> {
        let parts = Parts::of(typed.as_str());
        let length = length(typed);
        let lengths = length.saturating_sub(MOST_EDITS)..=length.saturating_add(MOST_EDITS);
        let fitting = self.0.range(lengths).flat_map(|(_, names)| names);
        let near = fitting.filter_map(|own| {
            let whole = || edits(typed.as_str(), own.namespace.as_str());
            Some((parts.edits(&own.parts, whole)?, &own.namespace))
        });
        near.min().map(|(_, namespace)| namespace.clone())
    }
}

fn length(namespace: &Namespace) -> usize {
    namespace.as_str().chars().count()
}

/// The parts of a namespace that tell it from its siblings, and those that a hand may misspell.
///
/// Namespaces come in families: `team-a` and `team-c`, `prod-1` and `prod-2`, `web-eu` and `web-us`. That two of them have objects of
/// the same names is the normal case, and the removal of one beside the other is proof enough that it is gone. Siblings differ in a
/// number or in a short word, and where a word is long, in most of it. A slip of the hand spoils one letter or two of a long word, or
/// changes the order of letters, and leaves the rest as it was. So only that is one, whatever stands in the two namespaces: a rule
/// that asked for what was there before would have another answer in the next run. The price is that `team-s`, typed for `team-a`,
/// is taken at its word; then the budget of deletions and a warning remain.
#[derive(PartialEq, Eq)]
struct Parts {
    /// All digits, in their order.
    digits: String,
    /// The short words, each with its letters in the order of the alphabet.
    short: Vec<Vec<char>>,
    /// The long words.
    long: Vec<String>,
}

impl Parts {
    fn of(name: &str) -> Self {
        let digits = name.chars().filter(char::is_ascii_digit).collect();
        let (mut short, mut long) = (Vec::new(), Vec::new());
        for word in name.split(['-', '.']) {
            let mut letters: Vec<char> = word.chars().filter(|char| !char.is_ascii_digit()).collect();
            if letters.len() > MOST_SHORT {
                long.push(word.into());
            } else if !letters.is_empty() {
                letters.sort_unstable();
                short.push(letters);
            }
        }
        Self { digits, short, long }
    }

    /// The slips that make one of the other; none where they are siblings, or not alike. Where a hyphen is too many or too few,
    /// the whole decides.
    fn edits(&self, own: &Self, whole: impl FnOnce() -> Option<usize>) -> Option<usize> {
        if self.digits != own.digits || self.short != own.short {
            return None;
        }
        if self.long.len() != own.long.len() {
            return whole();
        }
        let each = self.long.iter().zip(&own.long).map(|(typed, own)| edits(typed, own));
        each.sum::<Option<usize>>().filter(|edits| *edits <= MOST_EDITS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Place;
    use crate::testing::case::{fleet, key};
    use crate::testing::yaml;

    #[test]
    fn siblings_are_no_slips() {
        for (typed, own, expected) in [
            ("team-dtaa", "team-data", true),
            ("tema-data", "team-data", true),
            ("teamdata", "team-data", true),
            ("tema-a", "team-a", true),
            ("team-dataa", "team-data", true),
            ("prdo-1", "prod-1", true),
            ("web-ue", "web-eu", true),
            ("team-c", "team-a", false),
            ("team-pay", "team-day", false),
            ("prod-2", "prod-1", false),
            ("prod2", "prod1", false),
            ("prod", "prod-1", false),
            ("team", "team-b", false),
            ("web-us", "web-eu", false),
            ("team-west", "team-east", false),
            ("team-south", "team-north", false),
        ] {
            let own = Name { namespace: Namespace::from(own), parts: Parts::of(own) };
            let own = Own([(length(&own.namespace), Vec::from([own]))].into());
            assert_eq!(own.meant(&Namespace::from(typed)).is_some(), expected, "{typed}");
        }
    }

    #[test]
    fn a_slip_is_sought_in_so_many_namespaces_of_a_source_and_no_more() {
        let fleet = fleet(&yaml("{sources: [{name: t, provides: {namespaces: [team-data]}}]}"));
        for (others, expected) in [(MOST_SOUGHT - 1, true), (MOST_SOUGHT, false)] {
            let namespaces = (0..others).map(|number| format!("other{number}")).chain(["team-dtaa".into()]);
            let stray = |namespace: String| {
                let origin = Origin { source: "t".into(), place: Place::Whole };
                (0, Stray::named(key(&format!("Secret {namespace}/aws")), origin))
            };
            let strays: Vec<(usize, Stray)> = namespaces.map(stray).collect();
            let slips = slips(&fleet, &Objects::default(), &strays);
            let found = slips.values().flat_map(Slips::values).flatten().count() == 1;
            assert_eq!(found, expected, "{others}");
        }
    }
}
