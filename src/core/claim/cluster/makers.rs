//! Makers: everything in the sources that makes machines of Clusters, and what machines name.
//!
//! Each copy counts by itself, in its own source: what another source says under the same name takes nothing away.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::capi::cluster::{self, Maker, Makes, Owner};
use crate::config::Fleet;
use crate::finding::{Code, Fault};
use crate::name::{GroupKind, Name, Namespace, ObjectKey, SourceName, is_template};
use crate::nearest::edits;
use crate::object::Object;
use crate::selector::{Label, Selector, Truth};
use crate::snapshot::{Lookup, Pattern, Snapshot};

/// A copy of an object that makes machines, and what it says.
pub(super) struct Making<'a> {
    /// The copy.
    pub(super) object: &'a Object,
    /// The kind of it.
    pub(super) maker: &'static Maker,
    /// The objects that it refers to.
    pub(super) makes: Makes,
}

/// The number of strays that are told apart in a namespace of a source.
const MOST_STRAYS: usize = 100;

/// The number of strays of a source for which the namespaces are sought that are called nearly like theirs: slips are few.
const MOST_SOUGHT: usize = 1_000;

/// Everything that makes machines and names its Cluster, and the failure domains.
#[derive(Default)]
pub(super) struct Makers<'a> {
    all: Vec<Making<'a>>,
    /// The numbers of those of a Cluster, by their source, its namespace and its name.
    of: BTreeMap<(SourceName, Namespace, Name), Vec<usize>>,
    /// Those whose Cluster is unknown, by their source and namespace.
    strays: BTreeMap<(SourceName, Namespace), Strays>,
    /// The namespaces of the Clusters, by their source and name, if a stray was seen.
    clusters: Option<BTreeMap<(SourceName, Name), Vec<Namespace>>>,
    /// The number of strays for which near namespaces were sought, by source.
    sought: BTreeMap<SourceName, usize>,
    zones: BTreeMap<SourceName, Zones<'a>>,
}

/// Those of one namespace in one source.
#[derive(Default)]
struct Strays {
    told_apart: Vec<(usize, Meant)>,
    /// The first beyond these: it may be any Cluster's.
    others: Option<usize>,
}

/// The Cluster for which a stray is meant.
#[derive(PartialEq, Eq)]
enum Meant {
    /// One of this name, which is in no source.
    Name(Name),
    /// One whose name this template becomes.
    Pattern(Pattern),
    /// Any.
    Any,
}

impl Meant {
    fn of(owner: &Owner) -> Self {
        match owner {
            Owner::Is(name) => Meant::Name(name.clone()),
            Owner::MayBe(text) => Meant::Pattern(Pattern::of(text, true)),
            Owner::Among(_) | Owner::Naming => Meant::Any,
        }
    }

    /// Returns true if the Cluster of a name is probably meant.
    fn is_probably(&self, name: &str) -> bool {
        match self {
            Meant::Name(other) => edits(other.as_str(), name).is_some(),
            Meant::Pattern(pattern) => pattern.fits(name),
            Meant::Any => true,
        }
    }
}

impl Strays {
    fn add(&mut self, number: usize, meant: Meant) {
        if self.told_apart.iter().any(|(_, other)| *other == meant) {
            return;
        }
        match self.told_apart.len() < MOST_STRAYS {
            true => self.told_apart.push((number, meant)),
            false => self.others = self.others.or(Some(number)),
        }
    }
}

/// The failure domains of one source that name something, or that may: what they say cannot be read.
#[derive(Default)]
pub(super) struct Zones<'a> {
    all: Vec<&'a Object>,
    named: BTreeMap<&'a ObjectKey, Vec<usize>>,
    labelled: BTreeMap<(&'a str, &'a str), Vec<usize>>,
    /// Those whose labels or content cannot be read.
    unclear: Vec<&'a Object>,
}

impl<'a> Makers<'a> {
    pub(super) fn among(fleet: &Fleet, snapshot: &'a Snapshot) -> Self {
        let mut found = Self::default();
        for maker in naming() {
            let kind = maker.group_kind();
            for object in snapshot.all(&kind).flat_map(|object| snapshot.copies(&object.key)) {
                found.add(snapshot, maker, object);
            }
        }
        for domain in cluster::kinds().filter_map(|known| known.domains) {
            let own = fleet.controller_of(domain);
            let names_none =
                |zone: &&Object| cluster::names(domain, &zone.body, own).is_ok_and(|named| named.is_empty());
            let kind = domain.group_kind();
            let copies = snapshot.all(&kind).flat_map(|zone| snapshot.copies(&zone.key));
            for zone in copies.filter(|zone| !names_none(zone) || zone.is_mistyped() || has_no_spec(zone)) {
                found.zones.entry(zone.origin.source.clone()).or_default().add(zone);
            }
        }
        found
    }

    fn add(&mut self, snapshot: &Snapshot, maker: &'static Maker, object: &'a Object) {
        let Some(namespace) = &object.key.namespace else { return };
        let makes = cluster::makes(maker, &object.body);
        let source = &object.origin.source;
        let is_there = |name: &&Name| {
            let of = ObjectKey::new(cluster::cluster_kind(), Some(namespace.clone()), (*name).clone());
            !matches!(snapshot.stands(&of), Lookup::Absent)
        };
        let named: Vec<&Name> = match &makes.owner {
            Owner::Is(name) => core::slice::from_ref(name).iter().filter(is_there).collect(),
            Owner::Among(names) => names.iter().filter(is_there).collect(),
            Owner::MayBe(_) => Vec::new(),
            Owner::Naming => return,
        };
        if named.is_empty() {
            let near = self.near(snapshot, source, namespace, &makes.owner);
            for namespace in core::iter::once(namespace).chain(&near) {
                let strays = self.strays.entry((source.clone(), namespace.clone())).or_default();
                strays.add(self.all.len(), Meant::of(&makes.owner));
            }
        }
        for name in named {
            let of = (source.clone(), namespace.clone(), name.clone());
            self.of.entry(of).or_default().push(self.all.len());
        }
        self.all.push(Making { object, maker, makes });
    }

    /// The namespaces called nearly like one in which a source has a Cluster of the name that an owner has.
    fn near(
        &mut self,
        snapshot: &Snapshot,
        source: &SourceName,
        namespace: &Namespace,
        owner: &Owner,
    ) -> Vec<Namespace> {
        let Owner::Is(name) = owner else { return Vec::new() };
        let sought = self.sought.entry(source.clone()).or_default();
        *sought = sought.saturating_add(1);
        if *sought > MOST_SOUGHT {
            return Vec::new();
        }
        let clusters = self.clusters.get_or_insert_with(|| clusters(snapshot));
        let there = clusters.get(&(source.clone(), name.clone())).into_iter().flatten();
        there.filter(|other| edits(other.as_str(), namespace.as_str()).is_some()).cloned().collect()
    }

    /// Those of a Cluster in a source.
    pub(super) fn of(
        &self,
        source: &SourceName,
        namespace: &Namespace,
        name: &Name,
    ) -> impl Iterator<Item = &Making<'a>> {
        let numbers = self.of.get(&(source.clone(), namespace.clone(), name.clone()));
        numbers.into_iter().flatten().filter_map(|number| self.all.get(*number))
    }

    /// One of a source that may be a Cluster's, although that cannot be told; true if it probably is.
    pub(super) fn stray(&self, source: &SourceName, namespace: &Namespace, name: &Name) -> Option<(&Making<'a>, bool)> {
        let strays = self.strays.get(&(source.clone(), namespace.clone()))?;
        let slip = strays.told_apart.iter().find(|(_, meant)| meant.is_probably(name.as_str()));
        let any = || strays.told_apart.iter().find(|(_, meant)| matches!(meant, Meant::Name(_)));
        let number = slip.or_else(any).map(|(number, _)| *number).or(strays.others)?;
        Some((self.all.get(number)?, slip.is_some()))
    }

    /// The failure domains of a source.
    pub(super) fn zones(&self, source: &SourceName) -> Option<&Zones<'a>> {
        self.zones.get(source)
    }

    /// Returns true if some failure domain of any source may name something.
    pub(super) fn has_zones(&self) -> bool {
        !self.zones.is_empty()
    }
}

impl<'a> Zones<'a> {
    fn add(&mut self, zone: &'a Object) {
        let number = self.all.len();
        self.named.entry(&zone.key).or_default().push(number);
        for (key, value) in &zone.labels {
            self.labelled.entry((key, value)).or_default().push(number);
        }
        let is_told = |fault: &Fault| fault.code != Code::Shadowed;
        let is_unclear = || {
            let is_left = zone.labels.iter().any(|(_, value)| is_template(value));
            is_left || has_no_spec(zone) || zone.faults.iter().any(is_told)
        };
        self.unclear.extend(is_unclear().then_some(zone));
        self.all.push(zone);
    }

    /// Those of a kind whose labels or content cannot be read, so that they may be selected although they are not.
    pub(super) fn unclear(&self, kind: &GroupKind) -> impl Iterator<Item = &'a Object> {
        self.unclear.iter().copied().filter(|zone| zone.key.kind == *kind)
    }

    /// Those of a name.
    pub(super) fn named(&self, key: &ObjectKey) -> impl Iterator<Item = &'a Object> {
        self.named.get(key).into_iter().flatten().filter_map(|number| self.all.get(*number).copied())
    }

    /// Those of a kind that a selector selects.
    pub(super) fn selected<'s>(
        &'s self,
        kind: &'s GroupKind,
        selector: &'s Selector,
    ) -> impl Iterator<Item = &'a Object> + use<'s, 'a> {
        // A selector that needs one of few values is compared with those zones alone that have it.
        let numbers: Box<dyn Iterator<Item = usize>> = match selector.needs() {
            Some((key, values)) => {
                let with = move |value: &'s str| self.labelled.get(&(key, value)).into_iter().flatten();
                Box::new(values.iter().flat_map(move |value| with(value)).copied())
            }
            None => Box::new(0..self.all.len()),
        };
        let zones = numbers.filter_map(|number| self.all.get(number).copied());
        zones.filter(move |zone| {
            let label = |key: &str| zone.label(key).map_or(Label::Absent, Label::Is);
            zone.key.kind == *kind && selector.matches(label) == Truth::Yes
        })
    }
}

/// The namespaces of the Clusters, by their source and name.
fn clusters(snapshot: &Snapshot) -> BTreeMap<(SourceName, Name), Vec<Namespace>> {
    let mut found: BTreeMap<_, Vec<Namespace>> = BTreeMap::new();
    let kind = cluster::cluster_kind();
    for Object { key, origin, .. } in snapshot.all(&kind).flat_map(|object| snapshot.copies(&object.key)) {
        found.entry((origin.source.clone(), key.name.clone())).or_default().extend(key.namespace.clone());
    }
    found
}

/// Returns true if nothing of a failure domain says what it names.
pub(super) fn has_no_spec(zone: &Object) -> bool {
    zone.body.get("spec").is_none()
}

/// The kinds that name their Cluster.
pub(super) fn naming() -> impl Iterator<Item = &'static Maker> {
    cluster::makers().iter().filter(|maker| maker.names_cluster())
}
