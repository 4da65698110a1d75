//! Sources: which source's object a rule takes, by what is known of the ClusterFeatures there.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use crate::config::{Fleet, RegionConfig};
use crate::finding::{Code, Finding};
use crate::kinds;
use crate::name::{ObjectKey, SourceName};
use crate::object::Object;
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

/// Whether a rule takes an object.
pub(super) enum Taken<'a, 'r> {
    /// It does not.
    No,
    /// Nobody knows, for this reason.
    Unknown(Box<Finding>),
    /// It does, as this copy says, by these steps.
    By {
        /// The copy.
        copy: &'a Object,
        /// The steps.
        steps: Vec<&'r Step>,
    },
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

    /// Whether a source has all that a rule asks for.
    fn satisfy(&self, rule: &Rule, source: &SourceName) -> Truth {
        let all = self.of.get(source).map(Vec::as_slice).unwrap_or_default();
        let else_ = if self.unread.contains(&source) { Truth::Unknown } else { Truth::No };
        let has = |wanted: &crate::sync_rule::spec::Feature| all.iter().map(|it| wanted.is(it)).fold(else_, Truth::or);
        rule.features.iter().map(has).fold(Truth::Yes, Truth::and)
    }
}

/// Whether a rule takes an object to a region.
pub(super) fn taken<'a, 'r>(
    fleet: &Fleet,
    snapshot: &'a Snapshot,
    features: &Features<'_>,
    (object, rule, region): (&Object, &'r Rule, &RegionConfig),
    key: &ObjectKey,
) -> Taken<'a, 'r> {
    let Some(counts) = snapshot.get(key) else { return Taken::No };
    // What stands on the region itself is there already.
    let is_there = region.management && snapshot.is_only_at_home(key);
    let is_of = |copy: &&'a Object| {
        let source = fleet.sources.iter().find(|source| source.name == copy.origin.source);
        let is_there = is_there || source.is_some_and(|source| fleet.is_cluster_of(source, &region.name));
        !is_there && fleet.may_take(&copy.origin.source, &region.name)
    };
    // Where copies differ the object breaks its claim; what each says counts until then.
    let differs = counts.faults.iter().any(|fault| matches!(fault.code, Code::Shadowed | Code::DuplicateObject));
    // Who has an equal copy does not choose by other metadata whether this one is taken.
    let is_alike = |copy: &&'a Object| {
        let pairs = |of: &'a Object| of.matched.as_ref().map(|matched| (&matched.labels, &matched.annotations));
        pairs(copy) == pairs(counts)
    };
    let mut copies: Vec<&Object> = match differs {
        true => snapshot.copies(key).filter(is_of).collect(),
        false => snapshot.agreeing(key).filter(is_of).filter(is_alike).collect(),
    };
    copies.retain(|copy| !is_copy(&Seen::of(copy)));
    let mut unknown = None;
    for copy in copies {
        let seen = Seen::of(copy);
        let (matches, steps) = rule.steps_for(&seen);
        let source = &copy.origin.source;
        let has = features.satisfy(rule, source);
        if matches.and(has) == Truth::No {
            continue;
        }
        let (why, help) = if matches == Truth::Unknown {
            (
                String::from("what it is matched by is sealed, or no text"),
                "Give pouch the metadata and the type in clear.",
            )
        } else if has == Truth::Unknown {
            (
                format!("not all ClusterFeatures of source {source} could be read"),
                "Correct the source: its own findings say what is wrong.",
            )
        } else if copy.version != rule.version {
            let (is, wanted) = (copy.key.kind.api_version(&copy.version), rule.kind.api_version(&rule.version));
            (
                format!("it is written in {is}, and the rule asks for {wanted}"),
                "Write both in one version; pouch does not convert versions.",
            )
        } else {
            return Taken::By { copy, steps };
        };
        unknown.get_or_insert_with(|| {
            let message = format!("whether {} takes {key} to region {} is unknown: {why}", object.key, region.name);
            Box::new(Finding::new(Code::Unread, message).about(key).at(&copy.origin).help(help))
        });
    }
    unknown.map_or(Taken::No, Taken::Unknown)
}
