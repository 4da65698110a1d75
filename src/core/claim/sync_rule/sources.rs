//! Sources: which source's object a rule takes, by what is known of the ClusterFeatures there.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec::Vec;
use core::cell::OnceCell;

use crate::config::{Fleet, RegionConfig};
use crate::finding::{Code, Fault, Finding};
use crate::kinds;
use crate::name::{ObjectKey, SourceName};
use crate::object::{Object, finding_of};
use crate::selector::Truth;
use crate::snapshot::Snapshot;
use crate::sync_rule::Rule;
use crate::sync_rule::mutation::is_copy;
use crate::sync_rule::seen::Seen;
use crate::sync_rule::spec::Step;

/// The ClusterFeatures of each source.
pub(super) struct Features<'a> {
    of: BTreeMap<&'a SourceName, Vec<&'a Object>>,
    /// Sources that may have more of them.
    unread: Vec<&'a SourceName>,
}

impl<'a> Features<'a> {
    pub(super) fn of(fleet: &'a Fleet, snapshot: &'a Snapshot) -> Self {
        let mut of: BTreeMap<&SourceName, Vec<&Object>> = BTreeMap::new();
        let kind = kinds::cluster_feature();
        for feature in snapshot.all(&kind) {
            // Each cluster has its own, whatever others call by the same name.
            for copy in snapshot.copies(&feature.key) {
                of.entry(&copy.origin.source).or_default().push(copy);
            }
        }
        let is_unread = |source: &&SourceName| snapshot.source_may_lack(source, &kind);
        let unread = fleet.sources.iter().map(|source| &source.name).filter(is_unread).collect();
        Self { of, unread }
    }

    /// Whether a source has all that a rule asks for; where nobody knows, the ClusterFeature that leaves it open, if it is
    /// there.
    fn satisfy(&self, rule: &Rule, source: &SourceName) -> (Truth, Option<&'a Object>) {
        let all = self.of.get(source).map(Vec::as_slice).unwrap_or_default();
        let else_ = if self.unread.contains(&source) { Truth::Unknown } else { Truth::No };
        let (mut truth, mut odd) = (Truth::Yes, None);
        for wanted in &rule.features {
            let answers = || all.iter().map(|it| (wanted.is(it), *it));
            let has = answers().map(|(answer, _)| answer).fold(else_, Truth::or);
            if has == Truth::Unknown {
                odd = odd.or_else(|| answers().find(|(answer, _)| *answer == Truth::Unknown).map(|(_, it)| it));
            }
            truth = truth.and(has);
        }
        (truth, odd)
    }
}

/// A rule that can be followed, for whoever asks about it.
pub struct Told<'a> {
    /// The rule.
    pub rule: &'a Rule,
    /// The sources, and whether they have the ClusterFeatures that it asks for. None where it asks for none.
    pub sources: Vec<(&'a SourceName, Truth)>,
}

impl<'a> Told<'a> {
    pub(super) fn of(fleet: &'a Fleet, snapshot: &'a Snapshot, rule: &'a Rule) -> Self {
        if rule.features.is_empty() {
            return Self { rule, sources: Vec::new() };
        }
        let features = Features::of(fleet, snapshot);
        let answer = |source: &SourceName| features.satisfy(rule, source).0;
        Self { rule, sources: fleet.sources.iter().map(|source| (&source.name, answer(&source.name))).collect() }
    }
}

/// A rule that can be followed, and the object that says it.
#[derive(Clone, Copy)]
pub(super) struct Followed<'r> {
    pub(super) object: &'r Object,
    pub(super) rule: &'r Rule,
}

/// What one rule says of the copies of objects.
pub(super) struct Sight<'a, 'r> {
    fleet: &'a Fleet,
    snapshot: &'a Snapshot,
    features: &'r OnceCell<Features<'a>>,
    rule: &'r Rule,
    /// The sources that the rule stands in.
    own: BTreeSet<&'a SourceName>,
    /// What was said of a source already.
    has: BTreeMap<&'a SourceName, (Truth, Option<&'a Object>)>,
}

/// A copy that a rule takes, or may take.
pub(super) struct Answer<'a, 'r> {
    /// The copy.
    pub(super) copy: &'a Object,
    /// Whether it stands in a source of the rule: of another one, somebody else chose what is matched.
    pub(super) is_own: bool,
    /// The steps that match it, or why nobody knows whether some do.
    pub(super) steps: Result<Vec<&'r Step>, Doubt<'a>>,
}

/// Why nobody knows whether a rule takes a copy.
pub(super) enum Doubt<'a> {
    /// Its metadata is not to be believed.
    Unclear(&'a Fault),
    /// What it is matched by is sealed, mistyped, or no text.
    Sealed,
    /// Its source may lack a ClusterFeature, or has this one that does not say which it is.
    Features(Option<&'a Object>),
    /// It is written in another version.
    Version,
}

impl<'a, 'r> Sight<'a, 'r> {
    pub(super) fn of(
        fleet: &'a Fleet,
        snapshot: &'a Snapshot,
        features: &'r OnceCell<Features<'a>>,
        Followed { object, rule }: Followed<'r>,
    ) -> Self {
        let own = snapshot.agreeing(&object.key).map(|copy| &copy.origin.source).collect();
        Self { fleet, snapshot, features, rule, own, has: BTreeMap::new() }
    }

    /// The copies of an object that the rule takes or may take, those of its own sources first.
    pub(super) fn answers(&mut self, key: &ObjectKey) -> Vec<Answer<'a, 'r>> {
        let Some(counts) = self.snapshot.get(key) else { return Vec::new() };
        // Where copies differ the object breaks its claim; what each says counts until then.
        let differs = counts.faults.iter().any(|fault| fault.code.is_of_copies());
        let copies: Vec<&Object> = match differs {
            true => self.snapshot.copies(key).collect(),
            false => self.snapshot.agreeing(key).collect(),
        };
        let mut answers: Vec<Answer<'_, '_>> = copies.into_iter().filter_map(|copy| self.answer(copy)).collect();
        answers.sort_by_key(|answer| !answer.is_own);
        answers
    }

    fn answer(&mut self, copy: &'a Object) -> Option<Answer<'a, 'r>> {
        let seen = Seen::of(copy);
        if is_copy(&seen) {
            return None;
        }
        let (matches, steps) = self.rule.steps_for(&seen);
        if matches == Truth::No {
            return None;
        }
        let source = &copy.origin.source;
        let (has, odd) = *self.has.entry(source).or_insert_with(|| {
            // Most rules ask for none, and a claimant by itself would have all of them collected for nothing.
            if self.rule.features.is_empty() {
                return (Truth::Yes, None);
            }
            let features = self.features.get_or_init(|| Features::of(self.fleet, self.snapshot));
            features.satisfy(self.rule, source)
        });
        let steps = match (has, seen.unclear) {
            (Truth::No, _) => return None,
            (_, Some(fault)) => Err(Doubt::Unclear(fault)),
            _ if matches == Truth::Unknown => Err(Doubt::Sealed),
            (Truth::Unknown, _) => Err(Doubt::Features(odd)),
            _ if copy.version != self.rule.version => Err(Doubt::Version),
            _ => Ok(steps),
        };
        Some(Answer { copy, is_own: self.own.contains(source), steps })
    }
}

/// What objects are taken for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Goal {
    /// The region itself.
    Region,
    /// Guest clusters, which have nothing yet of what stands on the region.
    Guests,
}

/// The copy that decides whether a rule takes an object to a region, of those that it takes or may take: one of its own
/// sources before one of others, and of those a certain one.
pub(super) fn deciding<'l, 'a, 'r>(
    fleet: &Fleet,
    snapshot: &Snapshot,
    region: &RegionConfig,
    goal: Goal,
    answers: &'l [Answer<'a, 'r>],
) -> Option<&'l Answer<'a, 'r>> {
    let key = &answers.first()?.copy.key;
    // What stands on the region itself is there already.
    if goal == Goal::Region && region.management && snapshot.is_only_at_home(key) {
        return None;
    }
    let is_of = |answer: &&Answer<'_, '_>| {
        let name = &answer.copy.origin.source;
        let source = fleet.source(name);
        let is_there = goal == Goal::Region && source.is_some_and(|source| fleet.is_cluster_of(source, &region.name));
        !is_there && fleet.may_take(name, &region.name)
    };
    answers.iter().filter(is_of).min_by_key(|answer| (!answer.is_own, answer.steps.is_err()))
}

impl Doubt<'_> {
    /// The finding about a copy of which nobody knows whether a rule takes it to a region.
    pub(super) fn finding(
        &self,
        copy: &Object,
        Followed { object, rule }: Followed<'_>,
        region: &RegionConfig,
    ) -> Box<Finding> {
        let (why, help) = match self {
            Self::Unclear(fault) => return Box::new(finding_of(fault, copy)),
            Self::Sealed => (
                "what it is matched by is sealed, mistyped, or no text".into(),
                "Give pouch the metadata and the type in clear, and correct what else is found of it.",
            ),
            Self::Features(None) => (
                format!("not all ClusterFeatures of source {} could be read", copy.origin.source),
                "Correct the source: its own findings say what is wrong.",
            ),
            Self::Features(Some(feature)) => (
                format!("{} at {} does not say which feature it is", feature.key, feature.origin),
                "Write spec.featureName and the labels as the registry takes them, and each ClusterFeature once.",
            ),
            Self::Version => {
                let wanted = rule.kind.api_version(&rule.version);
                (
                    format!(
                        "it is written in {}, and the rule asks for {wanted}",
                        copy.key.kind.api_version(&copy.version)
                    ),
                    "Write both in one version; pouch does not convert versions.",
                )
            }
        };
        let message = format!("whether {} takes {} to region {} is unknown: {why}", object.key, copy.key, region.name);
        Box::new(Finding::new(Code::Unread, message).about(&copy.key).at(&copy.origin).help(help))
    }
}
