//! What is said of a region that a bundle was applied to.

use std::collections::{BTreeMap, BTreeSet};

use pouch_core::deliver::inventory;
use pouch_core::deliver::plan::{Plan, Stays};
use pouch_core::deliver::whose::{Misplaced, called};
use pouch_core::finding::{Code, Finding};
use pouch_core::listing::{counted, few};
use pouch_core::name::{GroupKind, ObjectKey, Region, Version};
use pouch_core::region::change::Action;
use pouch_core::report::applied::{AppliedRecord, AppliedRegion, TroubleRecord};
use pouch_core::report::document::{Document, Text, Tone};
use pouch_core::report::names::column;
use pouch_core::report::summary::ObjectRecord;

use super::terms::{Applying, Outcome};
use crate::cluster::Cluster;
use crate::cluster::request::Trial;
use crate::cluster::write::Refusal;
use crate::error::Failure;

/// What to do about a right that is missing.
pub(super) const RIGHTS: &str = "Grant it there: `pouch rbac --deliver` prints the rights that applying takes.";

/// What to do about a right to the inventory that is missing: perhaps it is another one's.
pub(super) const RIGHTS_OF_INVENTORY: &str = "Grant it there: `pouch rbac --deliver` prints the rights that applying takes, \
                                              for the namespace of its own --inventory-namespace. Name the same one here.";

/// Why a bundle is not applied to a cluster for the first time.
pub(super) fn misplaced(why: &Misplaced, subject: &Applying<'_>, cluster: &Cluster) -> Failure {
    let own = inventory::name(&subject.unpacked.fleet, &subject.unpacked.directory);
    let own = called(own.as_str());
    let context = &cluster.context;
    let shares = "If the cluster is the right one and shared, --shared-cluster says so once.";
    match why {
        Misplaced::Elsewhere(key) => Failure::unavailable(
            format!(
                "{key} was applied of bundle {own} before, and its inventory is not in namespace {}",
                subject.kept_in
            ),
            "Name the inventory's namespace with --inventory-namespace. If the inventory is lost, --new-inventory begins \
             another one, and what left the bundle before stays.",
        ),
        Misplaced::Others(others) => Failure::unavailable(
            format!(
                "wrong cluster: {context} has bundle {}, and this is the first time that {own} is applied to it",
                few(others, others.len(), 5)
            ),
            format!("Check --context, and whether the bundle is the one that you mean. {shares}"),
        ),
        Misplaced::Object(key, other) => Failure::unavailable(
            format!("wrong cluster: {key} on {context} was applied of bundle {other}, and not of {own}"),
            format!("Check --context, and whether the bundle is the one that you mean. {shares}"),
        ),
    }
}

/// An object that was applied of another bundle.
pub(super) fn of_another(key: &ObjectKey, manager: &str) -> Failure {
    let message = format!("{key} was applied of another bundle, {}: it is left as it is", called(manager));
    Failure::failed(message, "Take it out of one of the two bundles, and apply that one first.")
}

/// Kinds that the region does not serve, each told once.
pub(super) fn lacking(
    plan: &Plan<'_>,
    served: &BTreeMap<GroupKind, BTreeSet<Version>>,
    region: &Region,
) -> Vec<Finding> {
    let mut kinds: BTreeMap<&GroupKind, usize> = BTreeMap::new();
    for key in &plan.lacking {
        *kinds.entry(&key.kind).or_default() += 1;
    }
    let finding = |(kind, count): (&GroupKind, usize)| {
        let objects = if count == 1 { "one object".to_owned() } else { format!("{count} objects") };
        let versions = served.get(kind).map(|versions| few(versions, versions.len(), 5));
        let message = match versions {
            None => format!("the region serves no {kind}, of which its bundle has {objects}"),
            Some(versions) => {
                format!("the region serves {kind} in {versions}, and its bundle has {objects} in another version")
            }
        };
        Finding::new(Code::KindNotOnRegion, message).in_region(region).help(
            "Enable the provider on the region, in a release that the configuration's providerInterfaces.builtin \
             names, and run this again.",
        )
    };
    kinds.into_iter().map(finding).collect()
}

/// An object that the region refuses.
pub(super) fn refused(key: &ObjectKey, refusal: &Refusal, fields: &BTreeSet<String>) -> Failure {
    let place = match fields.len() {
        0 => String::new(),
        count => format!(", at {}", few(fields, count, 5)),
    };
    let message = format!("{key}: the region refuses it: {}{place}", word(refusal));
    if refusal.is_terminating {
        let message = format!("{key}: its namespace is being deleted on the region");
        let help =
            "Find out who deletes it there. Once it is gone, run this again: what the bundle makes is made anew.";
        return Failure::failed(message, help);
    }
    match refusal.status {
        403 => Failure::failed(message, format!("If no quota or admission policy forbids it: {RIGHTS}")),
        404 if key.namespace.is_some() => {
            let namespace = key.namespace_text();
            Failure::failed(
                message,
                format!(
                    "Check that namespace {namespace} is on the region: a bundle does not make the system namespace."
                ),
            )
        }
        _ => Failure::failed(
            message,
            "The region's own message may quote values, and is not shown: `kubectl apply --server-side \
             --dry-run=server` of what `pouch unpack` prints shows it.",
        ),
    }
}

/// What left the bundle, and is not taken away.
pub(super) fn stays(key: &ObjectKey, why: Stays) -> String {
    let why = match why {
        Stays::Unlabelled => "does not carry pouch's label any more",
        Stays::NotBrought => "was not brought by pouch",
        Stays::OfAnother => "was brought of another bundle too",
    };
    format!("{key} left the bundle, and {why}: it stays")
}

/// What left the bundle, and cannot be seen for want of a version that is served, each kind told once.
pub(super) fn unseen(plan: &Plan<'_>, served: &BTreeMap<GroupKind, BTreeSet<Version>>) -> BTreeSet<String> {
    let unserved = plan.unseen.iter().filter(|key| key.kind.group != "" && !served.contains_key(&key.kind));
    let told = |key: &ObjectKey| {
        format!(
            "the region serves no {} just now, of which objects left the bundle: they stay, and every Secret and ConfigMap \
             that they may point to, until the kind is served or its definition is gone",
            key.kind
        )
    };
    unserved.map(told).collect()
}

/// An object that the region does not let go.
pub(super) fn not_taken(key: &ObjectKey, refusal: &Refusal) -> Failure {
    let message = format!("{key} left the bundle, and the region refuses to delete it: {}", word(refusal));
    match refusal.status {
        409 => Failure::failed(message, "Somebody wrote to it meanwhile. Run this again."),
        403 => Failure::failed(message, RIGHTS),
        _ => Failure::failed(message, "See the API server's own log."),
    }
}

/// What left the bundle, and stays because something that is still there may need it.
pub(super) fn kept(key: &ObjectKey) -> Finding {
    let message = format!("{key} left the bundle, and stays: an identity that is still there may point to it");
    Finding::new(Code::LeftBehind, message).about(key).help(
        "It goes with the run that brings that identity up to date, or takes it away. Where somebody else has taken the \
         identity over, take the label app.kubernetes.io/managed-by off this object as well.",
    )
}

fn word(refusal: &Refusal) -> String {
    match refusal.reason.as_str() {
        "" => format!("{}", refusal.status),
        reason => format!("{reason} ({})", refusal.status),
    }
}

/// What became of the region, for machines.
pub fn record(outcome: &Outcome, subject: &Applying<'_>) -> AppliedRegion {
    let change =
        |(action, key): &(Action, ObjectKey)| AppliedRecord { action: *action, object: ObjectRecord::from(key) };
    let trouble = |(key, failure): &(Option<ObjectKey>, Failure)| TroubleRecord {
        object: key.as_ref().map(ObjectRecord::from),
        message: failure.message.clone(),
        help: failure.help.clone(),
    };
    AppliedRegion {
        region: subject.region.to_string(),
        directory: subject.unpacked.directory.to_string(),
        objects: outcome.objects,
        unchanged: outcome.unchanged,
        failed: outcome.failed,
        held: outcome.is_held,
        changes: outcome.changes.iter().map(change).collect(),
        troubles: outcome.troubles.iter().map(trouble).collect(),
    }
}

/// What became of the region: one line for it, and one for each object that changed.
pub fn told(outcome: &Outcome, region: &Region, trial: Trial) -> Document {
    let is_namespace = |key: &ObjectKey| key.kind.is_namespace();
    let counted_of = |wanted: Action, namespaces: bool| {
        let those = outcome.changes.iter().filter(|(action, key)| *action == wanted && is_namespace(key) == namespaces);
        those.count()
    };
    let count = |wanted: Action| counted_of(wanted, false);
    // What the region has as the bundle says.
    let there = outcome.unchanged + count(Action::Added) + count(Action::Changed);
    let is_whole = outcome.ended_by.is_none() && outcome.failed == 0;
    let is_some = there > 0 || count(Action::Withdrawn) > 0;
    let word = match (trial, is_whole, is_some) {
        (Trial::Dry, true, _) => "would be applied",
        (Trial::Dry, false, true) => "would be applied in part",
        (Trial::Dry, false, false) => "would not be applied",
        (Trial::Real, true, _) => "applied",
        (Trial::Real, false, true) => "applied in part",
        (Trial::Real, false, false) => "not applied",
    };
    let (name, tone) = if word == "applied" { (Tone::Strong, Tone::Good) } else { (Tone::Plain, Tone::Plain) };
    let mut line = counted(outcome.objects, "object", "objects");
    if there < outcome.objects {
        line.insert_str(0, &format!("{there} of "));
    }
    for action in [Action::Added, Action::Changed, Action::Withdrawn] {
        match count(action) {
            0 => {}
            count => line.push_str(&format!(", {count} {}", action.word())),
        }
    }
    if outcome.unchanged > 0 {
        line.push_str(&format!(", {} unchanged", outcome.unchanged));
    }
    if outcome.failed > 0 {
        line.push_str(&format!(", {} failed", outcome.failed));
    }
    let (made, labelled) = (counted_of(Action::Added, true), counted_of(Action::Changed, true));
    for (count, word) in [(made, "made"), (labelled, "labelled")].into_iter().filter(|(count, _)| *count > 0) {
        line.push_str(&format!(", {} {word}", counted(count, "namespace", "namespaces")));
    }
    let mut out = Document::default();
    out.item(0, Text::of(name, region.as_str()).then("  ").and_column(tone, word, 0).then(line));
    for (action, key) in &outcome.changes {
        out.item(1, column(*action).then(key.to_string()));
    }
    out
}
