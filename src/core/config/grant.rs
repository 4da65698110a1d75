//! Grants: permissions to use objects that nothing else admits (DESIGN §2.4).
//!
//! A grant opens exactly what it names, to exactly whom it names, in the regions that it names. It
//! answers one question, whether the use of an object is granted; it knows nothing of the other rules
//! that an object has to pass, and changes none of them.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use alloc::{format, vec};
use core::fmt;

use schemars::JsonSchema;
use serde::Deserialize;

use super::error::{Faults, FieldPath};
use super::kind::ExtraKind;
use super::named::{KnownKinds, placed};
use super::placement::{Placement, PlacementBy};
use super::region::{RegionConfig, check_known};
use super::setting::{Show, given, one_of, read_as};
use crate::capi::cluster;
use crate::name::{Claimant, Group, GroupKind, Kind, Name, Namespace, ObjectKey, Region};
use crate::yaml::emit::Tree;

/// One entry of `grants`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Grant {
    /// Who may use the object.
    pub from: Grantee,
    /// The object or closure that may be used.
    pub to: Granted,
    /// The regions where the grant holds.
    pub regions: GrantRegions,
}

/// Who may use what is granted.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Grantee {
    /// Every claimant of a namespace.
    Namespace(Namespace),
    /// One claimant.
    Claimant(Claimant),
    /// Whatever a ResourceSyncRule takes.
    SyncRule(Name),
    /// A ManagedResource, for whatever namespace it is rendered.
    Template(Name),
}

impl Grantee {
    /// The narrowest that a grant for a claimant can name: of an object that a rule takes, the rule; of a template for a
    /// namespace, the template.
    fn of(by: &Claimant) -> Self {
        match by {
            Claimant::Template { template, .. } => Self::Template(template.clone()),
            Claimant::SyncRule { rule, .. } => Self::SyncRule(rule.clone()),
            Claimant::Cluster { .. }
            | Claimant::ResourceSet { .. }
            | Claimant::Credential { .. }
            | Claimant::Guests { .. }
            | Claimant::Other { .. } => Self::Claimant(by.clone()),
        }
    }
}

/// What is granted.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Granted {
    /// One object, as it is read.
    Object(ObjectKey),
    /// One object, which a template may make, and not read.
    Made(ObjectKey),
    /// Whatever the claimant's closure holds, companions included.
    Closure,
}

/// Where a grant holds.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum GrantRegions {
    /// In every region.
    All,
    /// In these.
    These {
        /// The regions that are named.
        regions: BTreeSet<Region>,
        /// The placements that list further ones.
        placements: BTreeSet<Placement>,
    },
}

impl GrantRegions {
    /// The placements that list regions.
    pub fn placements(&self) -> impl Iterator<Item = &Placement> {
        let placements = match self {
            Self::All => None,
            Self::These { placements, .. } => Some(placements),
        };
        placements.into_iter().flatten()
    }
}

/// The placements that list regions in some of these grants.
pub fn placements_of(grants: &BTreeSet<Grant>) -> BTreeSet<&Placement> {
    grants.iter().flat_map(|grant| grant.regions.placements()).collect()
}

/// The grants for a claimant and an object, wherever they hold. There may be as many as there are claimants, and each asks.
pub fn grants_for<'g>(
    grants: &'g BTreeSet<Grant>,
    by: &Claimant,
    object: &ObjectKey,
) -> impl Iterator<Item = &'g Grant> {
    let from = [Grantee::Namespace(by.namespace().clone()), Grantee::of(by)];
    let to = [Granted::Object(object.clone()), Granted::Closure];
    let pairs = from.into_iter().flat_map(move |from| to.clone().map(|to| (from.clone(), to)));
    let found = pairs.flat_map(|(from, to)| grants_that_say(grants, from, to));
    let (by, object) = (by.clone(), object.clone());
    found.filter(move |grant| grant.is_for(&by, &object))
}

/// The grants that let a claimant make an object, by the key under which it is published, wherever they hold.
pub fn grants_to_make<'g>(
    grants: &'g BTreeSet<Grant>,
    by: &Claimant,
    object: &ObjectKey,
) -> impl Iterator<Item = &'g Grant> {
    grants_that_say(grants, Grantee::of(by), Granted::Made(object.clone()))
}

/// The grants that say the same but for the regions.
fn grants_that_say(grants: &BTreeSet<Grant>, from: Grantee, to: Granted) -> impl Iterator<Item = &Grant> {
    // The first of them all.
    let first = Grant { from, to, regions: GrantRegions::All };
    let all = grants.range(first.clone()..);
    all.take_while(move |grant| grant.from == first.from && grant.to == first.to)
}

impl Grant {
    /// The narrowest grant that lets one claimant use one object in one region.
    pub fn least(by: &Claimant, region: &Region, object: &ObjectKey) -> Self {
        Self {
            from: Grantee::of(by),
            to: Granted::Object(object.clone()),
            regions: GrantRegions::These { regions: [region.clone()].into(), placements: BTreeSet::new() },
        }
    }

    /// Whether the grant is for a claimant and an object, wherever it holds.
    ///
    /// `object` is the key that is read, wherever the object lands.
    pub fn is_for(&self, by: &Claimant, object: &ObjectKey) -> bool {
        let who = match &self.from {
            Grantee::Namespace(namespace) => *namespace == *by.namespace(),
            Grantee::Claimant(claimant) => claimant == by,
            Grantee::SyncRule(name) => by.rule() == Some(name),
            Grantee::Template(name) => by.template() == Some(name),
        };
        let what = match &self.to {
            Granted::Object(key) => key == object,
            Granted::Made(_) => false,
            // The configuration takes no such grant for a whole namespace.
            Granted::Closure => !matches!(self.from, Grantee::Namespace(_)),
        };
        who && what
    }

    /// The same object, to be made.
    pub fn to_make(self) -> Self {
        let to = match self.to {
            Granted::Object(key) => Granted::Made(key),
            other => other,
        };
        Self { to, ..self }
    }

    /// Whether the grant holds in a region by its name, whatever placements say.
    pub fn names(&self, region: &Region) -> bool {
        match &self.regions {
            GrantRegions::All => true,
            GrantRegions::These { regions, .. } => regions.contains(region),
        }
    }
}

/// What somebody may use although nothing else admits it: one object, or what one Credential or Cluster needs.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct GrantFile {
    /// Who may use it.
    from: Grantee,
    /// The one object that they may use. Without it, for one Credential or Cluster only: whatever that needs, the
    /// companions of a Credential among it.
    to: Option<GrantToFile>,
    /// The regions where that holds, by name or by a placement; `["*"]` stands for all.
    regions: Vec<GrantRegionFile>,
}

/// A region's name, or a placement that lists regions.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
enum GrantRegionFile {
    /// The name of a region, or `*`.
    Name(Region),
    /// The regions that a placement lists.
    Placed(PlacedFile),
}

/// The regions that a placement lists.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PlacedFile {
    /// The placement whose regions are meant.
    placement: Placement,
}

/// Whom a grant is for; exactly one of the fields.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-one" = one_of(
    &["namespace", "credential", "cluster", "syncRule", "clusterResourceSet", "template"],
    ONE_GRANTEE,
    ONE_GRANTEE,
)))]
struct GrantFromFile {
    /// All Credentials of this namespace, and all Clusters, ClusterResourceSets and ManagedResources that a region names.
    #[schemars(extend("x-check" = "namespace"))]
    namespace: Option<Namespace>,
    /// One Credential, as `NAMESPACE/NAME`.
    #[schemars(extend("x-check" = "credential-path"))]
    credential: Option<String>,
    /// One Cluster of Cluster API, as `NAMESPACE/NAME`.
    #[schemars(extend("x-check" = "cluster-path"))]
    cluster: Option<String>,
    /// One ResourceSyncRule of the cluster registry, by its name: whatever it takes.
    #[schemars(extend("x-check" = "object-name"))]
    sync_rule: Option<Name>,
    /// One ClusterResourceSet of Cluster API, as `NAMESPACE/NAME`.
    #[schemars(extend("x-check" = "resource-set-path"))]
    cluster_resource_set: Option<String>,
    /// One ManagedResource by its name, for whatever namespace it is rendered. It may use the object in `to` as data; or, with
    /// `to.make`, make it although it is in another namespace.
    #[schemars(extend("x-check" = "object-name"))]
    template: Option<Name>,
}

const ONE_GRANTEE: [&str; 2] = [
    "a grant is for exactly one namespace, Credential, Cluster, ClusterResourceSet, ResourceSyncRule or ManagedResource",
    "Write one of `namespace`, `credential`, `cluster`, `clusterResourceSet`, `syncRule` and `template`; add an entry for \
     each further one.",
];

read_as!(Grantee as GrantFromFile);

impl From<GrantFromFile> for Grantee {
    fn from(file: GrantFromFile) -> Self {
        let GrantFromFile { namespace, credential, cluster, sync_rule, cluster_resource_set, template } = file;
        let kinds = [("Credential", credential), ("Cluster", cluster), ("ClusterResourceSet", cluster_resource_set)];
        let claimant = kinds.into_iter().find_map(|(kind, path)| Some((kind, path?)));
        match (namespace, claimant, sync_rule, template) {
            (_, Some((kind, path)), _, _) => {
                let (namespace, name) = path.split_once('/').unwrap_or_default();
                Self::Claimant(Claimant::new(kind, namespace.into(), name))
            }
            (_, _, Some(rule), _) => Self::SyncRule(rule),
            (_, _, _, Some(name)) => Self::Template(name),
            (Some(namespace), None, None, None) => Self::Namespace(namespace),
            (None, None, None, None) => Self::SyncRule("".into()),
        }
    }
}

/// The one object that a grant is for.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct GrantToFile {
    /// Its namespace; without one it is cluster-scoped, and its own `allowedNamespaces` need not admit.
    #[schemars(extend("x-check" = "namespace"))]
    namespace: Option<Namespace>,
    /// Its API group, by default the core group's.
    #[serde(default)]
    #[schemars(with = "String")]
    group: Group,
    /// Its kind.
    kind: Kind,
    /// Its name.
    #[schemars(extend("x-check" = "object-name"))]
    name: Name,
    /// Whether a template may make it, and not read it.
    #[serde(default)]
    make: bool,
}

/// Resolves `grants`, sorted and each once.
pub(super) fn resolve(
    typed: &[GrantFile],
    kinds: &BTreeMap<GroupKind, ExtraKind>,
    regions: &BTreeMap<Region, RegionConfig>,
    faults: &mut Faults,
) -> BTreeSet<Grant> {
    let path = FieldPath::root().key("grants");
    let grants = typed.iter().enumerate().map(|(at, grant)| grant.resolve(kinds, regions, &path.index(at), faults));
    grants.collect()
}

impl GrantFile {
    fn resolve(
        &self,
        kinds: &BTreeMap<GroupKind, ExtraKind>,
        regions: &BTreeMap<Region, RegionConfig>,
        path: &FieldPath,
        faults: &mut Faults,
    ) -> Grant {
        let to = match (&self.to, &self.from) {
            (Some(GrantToFile { namespace, group, kind, name, make }), from) => {
                let path = path.key("to");
                let kind = GroupKind { group: group.clone(), kind: kind.clone() };
                let known = KnownKinds { kinds, also: |kind| *kind == cluster::class_kind() };
                placed(&kind, namespace.as_ref(), &known, &path, faults);
                if *make && !matches!(from, Grantee::Template(_)) {
                    faults.add(&path.key("make"), "only a template makes objects", "Remove the field.");
                }
                let key = ObjectKey::new(kind, namespace.clone(), name.clone());
                if *make { Granted::Made(key) } else { Granted::Object(key) }
            }
            (None, Grantee::Claimant(_) | Grantee::SyncRule(_)) => Granted::Closure,
            (None, Grantee::Namespace(_)) => {
                let help = "Name the object in `to`, or one Credential in `from.credential`.";
                faults.add(path, "a grant to a whole namespace names one object, and `to` is missing", help);
                Granted::Closure
            }
            (None, Grantee::Template(_)) => {
                let help = "Name the object in `to`.";
                faults.add(path, "a grant to a template names one object, and `to` is missing", help);
                Granted::Closure
            }
        };
        Grant { from: self.from.clone(), to, regions: self.regions(regions, &path.key("regions"), faults) }
    }

    fn regions(&self, known: &BTreeMap<Region, RegionConfig>, path: &FieldPath, faults: &mut Faults) -> GrantRegions {
        if let [GrantRegionFile::Name(name)] = &*self.regions
            && name.as_str() == "*"
        {
            return GrantRegions::All;
        }
        if self.regions.is_empty() {
            faults.add(path, "the grant holds in no region", "Name regions, or write `[\"*\"]` for all.");
        }
        let (mut regions, mut placements) = (BTreeSet::new(), BTreeSet::new());
        for (at, entry) in self.regions.iter().enumerate() {
            let path = path.index(at);
            match entry {
                GrantRegionFile::Placed(PlacedFile { placement }) => _ = placements.insert(placement.clone()),
                GrantRegionFile::Name(name) if known.contains_key(name) => _ = regions.insert(name.clone()),
                GrantRegionFile::Name(name) if name.as_str() == "*" => {
                    faults.add(&path, "`*` is listed beside other regions", "Write it alone: it stands for all.");
                }
                GrantRegionFile::Name(name) => check_known(name, known, &path, faults),
            }
        }
        GrantRegions::These { regions, placements }
    }
}

/// The grant as the configuration has it.
impl Show for Grant {
    fn show(&self) -> Option<Tree<'_>> {
        let from = match &self.from {
            Grantee::Namespace(namespace) => Tree::map([("namespace", Tree::text(namespace.as_str()))]),
            Grantee::Template(name) => Tree::map([("template", Tree::text(name.as_str()))]),
            Grantee::Claimant(by) => Tree::map([(key_of(by.kind()), Tree::text(by.place()))]),
            Grantee::SyncRule(name) => Tree::map([("syncRule", Tree::text(name.as_str()))]),
        };
        let to = match &self.to {
            Granted::Object(key) | Granted::Made(key) => Some(given([
                ("group", key.kind.group.show()),
                ("kind", key.kind.kind.show()),
                ("name", key.name.show()),
                ("namespace", key.namespace.show()),
                ("make", matches!(self.to, Granted::Made(_)).then_some(Tree::Bool(true))),
            ])),
            Granted::Closure => None,
        };
        let regions = match &self.regions {
            GrantRegions::All => vec![Tree::text("*")],
            GrantRegions::These { regions, placements } => {
                let names = regions.iter().map(|region| Tree::text(region.as_str()));
                names.chain(placements.iter().map(|it| given([("placement", it.show())]))).collect()
            }
        };
        Some(given([("from", Some(from)), ("to", to), ("regions", Some(Tree::List(regions)))]))
    }
}

/// One item of `grants`, on one line, as it may be pasted into `pouch.yaml`.
impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.from {
            Grantee::Namespace(namespace) => write!(f, "{{from: {{namespace: {}}}", word(namespace.as_str()))?,
            Grantee::Template(name) => write!(f, "{{from: {{template: {}}}", word(name.as_str()))?,
            // The path has a slash, so no reader takes it for a number or a truth value.
            Grantee::Claimant(by) => write!(f, "{{from: {{{}: {}}}", key_of(by.kind()), by.place())?,
            Grantee::SyncRule(name) => write!(f, "{{from: {{syncRule: {}}}", word(name.as_str()))?,
        }
        if let Granted::Object(key) | Granted::Made(key) = &self.to {
            f.write_str(", to: {")?;
            if let Some(namespace) = &key.namespace {
                write!(f, "namespace: {}, ", word(namespace.as_str()))?;
            }
            if key.kind.group != "" {
                write!(f, "group: {}, ", word(key.kind.group.as_str()))?;
            }
            let makes = if matches!(self.to, Granted::Made(_)) { ", make: true" } else { "" };
            write!(f, "kind: {}, name: {}{makes}}}", word(key.kind.kind.as_str()), word(key.name.as_str()))?;
        }
        f.write_str(", regions: [")?;
        match &self.regions {
            GrantRegions::All => f.write_str("\"*\"")?,
            GrantRegions::These { regions, placements } => {
                let names = regions.iter().map(|region| word(region.as_str()));
                for (at, entry) in names.chain(placements.iter().map(written)).enumerate() {
                    if at > 0 {
                        f.write_str(", ")?;
                    }
                    f.write_str(&entry)?;
                }
            }
        }
        f.write_str("]}")
    }
}

/// The key of `from` that names claimants of a kind: the kind in camel case.
pub fn key_of(kind: &str) -> String {
    let (first, rest) = kind.split_at_checked(1).unwrap_or_default();
    first.to_ascii_lowercase() + rest
}

/// A placement as an entry of `regions`.
fn written(placement: &Placement) -> String {
    let (field, by) = match &placement.by {
        PlacementBy::Key(key) => ("decisionKey", key.as_str()),
        PlacementBy::Name(name) => ("name", name.as_str()),
    };
    format!("{{placement: {{namespace: {}, {field}: {}}}}}", word(placement.namespace.as_str()), word(by))
}

/// A name as a YAML scalar.
///
/// Names consist of letters, digits, dashes and dots, so quotes are needed only where some reader takes the name for a
/// number, a truth value or nothing.
fn word(name: &str) -> String {
    const WORDS: [&str; 10] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan"];
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.'))
        && !WORDS.iter().any(|word| word.eq_ignore_ascii_case(name));
    if plain { String::from(name) } else { format!("{name:?}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::GroupKind;
    use alloc::string::ToString as _;

    fn by_key(key: &str) -> Placement {
        Placement { namespace: "fleet".into(), by: PlacementBy::Key(key.into()) }
    }

    fn credential(namespace: &str, name: &str) -> Claimant {
        Claimant::credential(namespace.into(), name.into())
    }

    #[test]
    fn a_grant_is_shown_as_it_is_written() {
        let secret = ObjectKey::secret("kcm-system".into(), Name::from("aws"));
        let least = |key: &ObjectKey| Grant::least(&credential("team-a", "aws"), &"eu".into(), key).to_string();
        assert_eq!(
            least(&secret),
            "{from: {credential: team-a/aws}, to: {namespace: kcm-system, kind: Secret, name: aws}, regions: [eu]}"
        );
        let identity = ObjectKey::new(GroupKind::new("a.io", "Thing"), None, "007".into());
        assert_eq!(
            least(&identity),
            "{from: {credential: team-a/aws}, to: {group: a.io, kind: Thing, name: \"007\"}, regions: [eu]}"
        );
        let closure = Grant {
            from: Grantee::Claimant(credential("team-a", "aws")),
            to: Granted::Closure,
            regions: GrantRegions::All,
        };
        assert_eq!(closure.to_string(), "{from: {credential: team-a/aws}, regions: [\"*\"]}");
        let words = Grant {
            from: Grantee::Namespace("on".into()),
            to: Granted::Closure,
            regions: GrantRegions::These {
                regions: ["1e3".into(), "no".into()].into(),
                placements: ["7", "a_b", "app"].map(by_key).into(),
            },
        };
        assert_eq!(
            words.to_string(),
            "{from: {namespace: \"on\"}, regions: [\"1e3\", \"no\", {placement: {namespace: fleet, decisionKey: \"7\"}}, \
             {placement: {namespace: fleet, decisionKey: \"a_b\"}}, {placement: {namespace: fleet, decisionKey: app}}]}"
        );
    }

    /// Whatever grants there are, those that are found are those that are for the claimant and the object.
    #[test]
    fn no_grant_is_overlooked() {
        let from = || {
            let claimants = ["x", "y"].map(|name| Grantee::Claimant(credential("a", name)));
            let rules = ["x", "y"].map(|rule| Grantee::SyncRule(rule.into()));
            let namespaces = [Grantee::Namespace("a".into()), Grantee::Namespace("b".into())];
            namespaces.into_iter().chain(claimants).chain(rules)
        };
        let object = |name: &str| ObjectKey::secret("c".into(), name.into());
        let to = || ["s", "t"].map(|name| Granted::Object(object(name))).into_iter().chain([Granted::Closure]);
        let these = GrantRegions::These { regions: ["eu".into()].into(), placements: BTreeSet::new() };
        let mut grants = BTreeSet::new();
        for from in from() {
            for to in to() {
                for regions in [GrantRegions::All, these.clone()] {
                    grants.insert(Grant { from: from.clone(), to: to.clone(), regions });
                }
            }
        }
        let synced = |rule: &str, namespace: &str| Claimant::SyncRule {
            namespace: namespace.into(),
            rule: rule.into(),
            object: Some("o".into()),
        };
        let credentials = [("a", "x"), ("a", "z"), ("b", "y"), ("d", "x")].map(|(space, name)| credential(space, name));
        let rules = [("x", "a"), ("y", "d"), ("z", "b")].map(|(rule, space)| synced(rule, space));
        for by in credentials.into_iter().chain(rules) {
            for object in ["s", "t", "u"].map(object) {
                let found: BTreeSet<&Grant> = grants_for(&grants, &by, &object).collect();
                let all: BTreeSet<&Grant> = grants.iter().filter(|grant| grant.is_for(&by, &object)).collect();
                assert_eq!(found, all, "{by} {object}");
            }
        }
    }

    #[test]
    fn a_namespace_is_never_granted_closures() {
        let grant = Grant { from: Grantee::Namespace("a".into()), to: Granted::Closure, regions: GrantRegions::All };
        assert!(!grant.is_for(&credential("a", "x"), &ObjectKey::secret("b".into(), "s".into())));
    }
}
