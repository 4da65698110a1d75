//! Groups of guest clusters, and how the configuration says them.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::mem;

use schemars::JsonSchema;
use serde::Deserialize;

use super::error::{Faults, FieldPath, quoted};
use super::forms::{label, object_name};
use super::globs::Globs;
use super::kind::ExtraKind;
use super::named::{KnownKinds, placed};
use super::region::{RegionConfig, check_known};
use super::setting::{Show, given, items, read_as, record, tree as shown};
use crate::finding::Origin;
use crate::hash::sha256_hex;
use crate::kinds::{managed_resource, sync_rule};
use crate::name::{Group, GroupKind, Kind, Name, Namespace, ObjectKey, Region};
use crate::node::{Key, Node};
use crate::selector::{Selector, UnusableSelector};
use crate::yaml::emit::{Tree, emit};

/// The most objects of one group.
const MOST_OBJECTS: usize = 500;

/// How many digits of a selector's hash stand in names.
const DIGITS: usize = 8;

/// Objects that ClusterResourceSets of a management cluster deliver into guest clusters.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "GuestsFile")]
pub struct GuestGroup {
    /// Its name, which names of objects begin with.
    #[serde(skip, default = "unnamed")]
    pub name: Name,
    /// The region on which the guests' Cluster objects stand; its bundle carries what is delivered.
    pub region: Region,
    /// Namespaces of that region: a name counts as it is, a glob over those that a source says have Clusters.
    #[schemars(extend("items" = items("namespace-glob")))]
    pub namespaces: Globs,
    /// Which Clusters of these namespaces are meant. It must not be empty: Cluster API takes an empty one for none.
    #[serde(rename = "clusterSelector")]
    pub clusters: ClusterSelector,
    /// What is delivered.
    #[serde(rename = "objects")]
    entries: Vec<GuestObjectFile>,
    /// The objects that are delivered, sorted by where they land.
    #[serde(skip)]
    pub objects: Vec<GuestEntry>,
    /// The places of the entries in the configuration, by the objects that they name.
    #[serde(skip)]
    pub places: BTreeMap<ObjectKey, EntryPlace>,
    /// Whether sources that describe no region tell of its Clusters: no other region can be meant.
    #[serde(skip)]
    pub told_by_all: bool,
    /// The ResourceSyncRules whose copies are delivered.
    #[serde(skip)]
    pub rules: BTreeSet<Name>,
    /// The ManagedResources that are rendered for its namespaces, and whose objects are delivered.
    #[serde(skip)]
    pub templates: BTreeSet<Name>,
}

fn unnamed() -> Name {
    "".into()
}

/// Where an entry stands.
#[derive(Clone, Debug)]
pub struct EntryPlace {
    /// Its field.
    pub field: FieldPath,
    /// Its line, as far as that is known.
    pub origin: Origin,
}

/// Which Clusters a group is for.
#[derive(Clone, PartialEq, Debug)]
pub struct ClusterSelector {
    /// The labels.
    pub labels: BTreeMap<String, String>,
    /// The conditions, sorted: in another order they mean the same, and a set never changes its selector.
    pub expressions: Vec<Expression>,
    /// The same, ready to be asked.
    pub selector: Selector,
}

/// A label selector over Clusters.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ClusterSelectorFile {
    /// Labels that a Cluster has.
    #[serde(default)]
    match_labels: BTreeMap<String, String>,
    /// Conditions on labels, which all hold.
    #[serde(default)]
    match_expressions: Vec<Expression>,
}

/// A condition on one label.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "ClusterExpressionFile")]
pub struct Expression {
    /// The key of the label.
    pub key: String,
    /// What is asked of it.
    pub operator: OperatorWord,
    /// The values of `In` and `NotIn`.
    #[serde(default)]
    pub values: Vec<String>,
}

/// What a condition asks of a label.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Deserialize, JsonSchema)]
pub enum OperatorWord {
    /// It has one of the values.
    In,
    /// It has none of the values, or is not there.
    NotIn,
    /// It is there.
    Exists,
    /// It is not there.
    DoesNotExist,
}

impl OperatorWord {
    /// All words.
    pub const ALL: [Self; 4] = [Self::In, Self::NotIn, Self::Exists, Self::DoesNotExist];

    /// The word, as Kubernetes writes it.
    pub fn word(self) -> &'static str {
        match self {
            OperatorWord::In => "In",
            OperatorWord::NotIn => "NotIn",
            OperatorWord::Exists => "Exists",
            OperatorWord::DoesNotExist => "DoesNotExist",
        }
    }
}

read_as!(ClusterSelector as ClusterSelectorFile);

impl From<ClusterSelectorFile> for ClusterSelector {
    fn from(file: ClusterSelectorFile) -> Self {
        let sorted = |it: Expression| {
            let values: BTreeSet<String> = it.values.into_iter().collect();
            Expression { values: values.into_iter().collect(), ..it }
        };
        let expressions: BTreeSet<Expression> = file.match_expressions.into_iter().map(sorted).collect();
        let mut selector = Self {
            labels: file.match_labels,
            expressions: expressions.into_iter().collect(),
            selector: Selector::everything(),
        };
        if let Ok(ready) = Selector::read(&selector.node()) {
            selector.selector = ready;
        }
        selector
    }
}

/// One object of the sources, and where it lands in a guest.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct GuestEntry {
    /// Where it lands.
    pub lands: ObjectKey,
    /// What is read.
    pub read: ObjectKey,
}

impl ClusterSelector {
    /// Reads one as Kubernetes writes it; none if it is not just so.
    pub fn read(node: &Node) -> Option<Self> {
        let text = |node: &Node| node.as_str().map(String::from);
        let label = |(key, value): &(Key, Node)| Some((String::from(&**key), text(value)?));
        let labels = node.at(&["matchLabels"]).map(Node::entries).unwrap_or_default();
        let expression = |node: &Node| {
            let word = node.str_at(&["operator"])?;
            let values = node.at(&["values"]).map(Node::items).unwrap_or_default();
            Some(Expression {
                key: node.str_at(&["key"]).map(String::from)?,
                operator: OperatorWord::ALL.into_iter().find(|operator| operator.word() == word)?,
                values: values.iter().map(text).collect::<Option<_>>()?,
            })
        };
        let expressions = node.at(&["matchExpressions"]).map(Node::items).unwrap_or_default();
        Some(Self {
            labels: labels.iter().map(label).collect::<Option<_>>()?,
            expressions: expressions.iter().map(expression).collect::<Option<_>>()?,
            selector: Selector::read(node).ok()?,
        })
    }

    /// As Kubernetes writes it.
    pub fn tree(&self) -> Tree<'_> {
        let labels = self.labels.iter().map(|(key, value)| (key.as_str(), Tree::text(value.as_str())));
        let labels = (!self.labels.is_empty()).then(|| ("matchLabels", Tree::map(labels)));
        let expression = |it: &'_ Expression| {
            let values = it.values.iter().map(|value| Tree::text(value.clone())).collect();
            let values = (!it.values.is_empty()).then_some(("values", Tree::List(values)));
            let fields = [("key", Tree::text(it.key.clone())), ("operator", Tree::text(it.operator.word()))];
            Tree::map(fields.into_iter().chain(values))
        };
        let expressions = self.expressions.iter().map(expression).collect();
        let expressions = (!self.expressions.is_empty()).then_some(("matchExpressions", Tree::List(expressions)));
        Tree::map(labels.into_iter().chain(expressions))
    }

    /// Eight hexadecimal digits that are other ones for another selector.
    pub fn digits(&self) -> String {
        sha256_hex(emit(&self.tree()).as_bytes()).chars().take(DIGITS).collect()
    }

    fn node(&self) -> Node {
        let labels = self.labels.iter().map(|(key, value)| (Key::from(key.as_str()), Node::text(value))).collect();
        let expression = |it: &Expression| {
            let values = Node::List(it.values.iter().map(|value| Node::text(value)).collect());
            let fields =
                [("key", Node::text(&it.key)), ("operator", Node::text(it.operator.word())), ("values", values)];
            Node::map(fields.into_iter().map(|(key, node)| (Key::from(key), node)).collect())
        };
        let expressions = Node::List(self.expressions.iter().map(expression).collect());
        Node::map(vec![(Key::from("matchLabels"), Node::map(labels)), (Key::from("matchExpressions"), expressions)])
    }

    fn check(&self, path: &FieldPath, faults: &mut Faults) {
        if let Err(UnusableSelector::Refused(why) | UnusableSelector::NotUnderstood(why)) = Selector::read(&self.node())
        {
            faults.add(path, why, "Write it as a label selector of Kubernetes.");
        }
        if self.labels.is_empty() && self.expressions.is_empty() {
            let message = "the selector is empty, and Cluster API takes that for no Cluster at all";
            faults.add(path, message, "Write labels of the Clusters under `matchLabels`.");
        }
    }
}

/// One object of the sources, or all that a ResourceSyncRule takes or a ManagedResource makes. That an object stands here is
/// the permission to use it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct GuestObjectFile {
    /// Its API group, by default the core group's.
    #[serde(default)]
    #[schemars(with = "String")]
    group: Group,
    /// Its kind.
    kind: Option<Kind>,
    /// Its namespace; none for a cluster-scoped kind.
    #[schemars(extend("x-check" = "namespace"))]
    namespace: Option<Namespace>,
    /// Its name.
    name: Option<String>,
    /// Where it lands in a guest, if that is not where it is read.
    to: Option<GuestPlaceFile>,
    /// Instead of an object, the name of a ResourceSyncRule of the cluster registry: what it takes, as it makes it. It may use
    /// what its own source provides, and the rest needs a grant.
    #[schemars(extend("x-check" = "object-name"))]
    sync_rule: Option<Name>,
    /// Instead of an object, the name of a ManagedResource of KubeNSync: what it makes for the namespace of the Clusters, where it
    /// selects that namespace. It is given what its own source provides, and the rest needs a grant.
    #[schemars(extend("x-check" = "object-name"))]
    template: Option<Name>,
}

/// Where an object lands in a guest.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct GuestPlaceFile {
    /// The namespace, by default that of the object.
    #[schemars(extend("x-check" = "namespace"))]
    namespace: Option<Namespace>,
    /// The name, by default that of the object.
    #[schemars(extend("x-check" = "object-name"))]
    name: Option<Name>,
}

impl GuestObjectFile {
    /// The object that the entry names, if it names one whole.
    fn object(&self) -> Option<ObjectKey> {
        let kind = GroupKind { group: self.group.clone(), kind: self.kind.clone()? };
        Some(ObjectKey::new(kind, self.namespace.clone(), self.name.as_deref()?.into()))
    }

    /// Everything that the entry names.
    fn named(&self) -> impl Iterator<Item = ObjectKey> {
        let rule = self.sync_rule.as_ref().map(|name| ObjectKey::new(sync_rule(), None, name.clone()));
        let template = self.template.as_ref().map(|name| ObjectKey::new(managed_resource(), None, name.clone()));
        [rule, template, self.object()].into_iter().flatten()
    }

    /// Checks that an entry with a ResourceSyncRule or a ManagedResource names nothing else.
    fn check_alone(&self, path: &FieldPath, faults: &mut Faults) {
        let Self { group, kind, namespace, name, to, sync_rule, template } = self;
        let is_object = *group != "" || kind.is_some() || namespace.is_some() || name.is_some() || to.is_some();
        if sync_rule.is_some() && is_object {
            let help = "Leave the rest out: the rule says which objects it takes, and where they land.";
            faults.add(path, "the entry names a ResourceSyncRule and an object", help);
        }
        if template.is_some() && is_object {
            let help = "Leave the rest out: the template says which objects it makes, and where they land.";
            faults.add(path, "the entry names a ManagedResource and an object", help);
        }
        if sync_rule.is_some() && template.is_some() {
            faults.add(path, "the entry names a ResourceSyncRule and a ManagedResource", "Write two entries.");
        }
    }

    /// The one object that the entry names, and where it lands.
    fn entry(
        &self,
        kinds: &BTreeMap<GroupKind, ExtraKind>,
        path: &FieldPath,
        faults: &mut Faults,
    ) -> Option<GuestEntry> {
        let Some(read) = self.object() else {
            let help = "Write `kind` and `name` of an object, or `syncRule` or `template` alone.";
            faults.add(path, "the entry names neither an object nor a ResourceSyncRule or ManagedResource", help);
            return None;
        };
        let known = KnownKinds { kinds, also: |_| false };
        placed(&read.kind, read.namespace.as_ref(), &known, path, faults);
        let name = read.name.as_str();
        if name.contains(['*', '?']) {
            let help = "Name each object: that it stands here is the permission to use it.";
            faults.add(&path.key("name"), format!("{} is a glob", quoted(name)), help);
            return None;
        }
        record(object_name(name), &path.key("name"), faults);
        let mut lands = read.clone();
        if let Some(GuestPlaceFile { namespace, name }) = &self.to {
            lands.name = name.clone().unwrap_or(lands.name);
            match (namespace, &read.namespace) {
                (Some(_), None) => {
                    let message = format!("objects of kind {} have no namespace", read.kind.kind);
                    faults.add(&path.key("to").key("namespace"), message, "Remove the field.");
                }
                (Some(_), Some(_)) => lands.namespace.clone_from(namespace),
                (None, _) => {}
            }
        }
        Some(GuestEntry { lands, read })
    }
}

impl GuestGroup {
    /// Fills in what the group is called and delivers.
    pub(super) fn resolve(
        &mut self,
        name: &Name,
        kinds: &BTreeMap<GroupKind, ExtraKind>,
        regions: &BTreeMap<Region, RegionConfig>,
        faults: &mut Faults,
    ) {
        let path = FieldPath::root().key("guests").key(name.as_str());
        record(label(name.as_str(), "group of guests"), &path, faults);
        self.name = name.clone();
        let region = regions.get(&self.region);
        check_known(&self.region, regions, &path.key("region"), faults);
        self.told_by_all = regions.len() == 1 || region.is_some_and(|region| region.management);
        if self.namespaces.is_empty() {
            let help =
                "Name the namespaces of the Clusters, or remove the group; `[\"*\"]` stands for all that have some.";
            faults.add(&path.key("namespaces"), "the group is for no namespace", help);
        }
        self.clusters.check(&path.key("clusterSelector"), faults);
        self.resolve_entries(kinds, &path.key("objects"), faults);
    }

    fn resolve_entries(&mut self, kinds: &BTreeMap<GroupKind, ExtraKind>, path: &FieldPath, faults: &mut Faults) {
        if self.entries.is_empty() {
            faults.add(path, "the group delivers nothing", "Name the objects, or remove the group.");
        }
        let mut objects: BTreeMap<ObjectKey, GuestEntry> = BTreeMap::new();
        for (at, typed) in mem::take(&mut self.entries).iter().enumerate() {
            let path = path.index(at);
            for key in typed.named() {
                let place = EntryPlace { field: path.clone(), origin: Origin::configuration() };
                self.places.entry(key).or_insert(place);
            }
            typed.check_alone(&path, faults);
            self.rules.extend(typed.sync_rule.clone());
            self.templates.extend(typed.template.clone());
            if typed.sync_rule.is_some() || typed.template.is_some() {
                continue;
            }
            let Some(entry) = typed.entry(kinds, &path, faults) else { continue };
            let lands = entry.lands.clone();
            if let Some(other) = objects.insert(lands.clone(), entry) {
                let message = format!("two entries would both be {}: {} is the other", lands, other.read);
                faults.add(&path, message, "Remove one of them, or let it land elsewhere with `to`.");
            }
            if objects.len() > MOST_OBJECTS {
                faults.add(&path, format!("a group delivers at most {MOST_OBJECTS} objects"), "Divide the group.");
                break;
            }
        }
        self.objects = objects.into_values().collect();
    }
}

impl GuestGroup {
    /// Where the configuration names something for it.
    pub fn origin_of(&self, named: &ObjectKey) -> Origin {
        self.places.get(named).map_or_else(Origin::configuration, |place| place.origin.clone())
    }

    /// What the names of its sets and payloads begin with.
    pub fn base(&self) -> String {
        format!("pouch-{}-{}", self.name, self.clusters.digits())
    }

    /// Whether an object has a name that the group may give to a set or a payload, with this selector or another one.
    pub fn may_name(&self, name: &Name) -> bool {
        self.after_base(name).is_some()
    }

    /// What such a name goes on with after what it begins with.
    pub fn after_base<'n>(&self, name: &'n Name) -> Option<&'n str> {
        let rest = name.as_str().strip_prefix("pouch-")?.strip_prefix(self.name.as_str())?;
        let (digits, rest) = rest.strip_prefix('-')?.split_at_checked(DIGITS)?;
        (is_hex(digits) && (rest.is_empty() || rest.starts_with('-'))).then_some(rest)
    }

    /// The namespaces that are named as they are.
    pub fn named(&self) -> impl Iterator<Item = Namespace> {
        let patterns = self.namespaces.patterns().iter();
        patterns.filter(|pattern| !is_glob(pattern)).map(|pattern| Namespace::from(pattern.as_str()))
    }

    /// The globs over namespaces.
    pub fn globs(&self) -> impl Iterator<Item = &String> {
        self.namespaces.patterns().iter().filter(|pattern| is_glob(pattern))
    }

    /// Whether some namespaces are those that a glob fits.
    pub fn has_globs(&self) -> bool {
        self.globs().next().is_some()
    }
}

impl GuestGroup {
    /// The text that the configuration has of it, as [`show`](super::show) has it.
    pub fn text(&self) -> String {
        String::from(&**emit(&shown(self)))
    }
}

impl Show for GuestEntry {
    fn show(&self) -> Option<Tree<'_>> {
        let GuestEntry { lands, read } = self;
        let to = || given([("namespace", lands.namespace.show()), ("name", lands.name.show())]);
        Some(given([
            ("group", read.kind.group.show()),
            ("kind", read.kind.kind.show()),
            ("name", read.name.show()),
            ("namespace", read.namespace.show()),
            ("to", (lands != read).then(to)),
        ]))
    }
}

impl Show for GuestGroup {
    fn show(&self) -> Option<Tree<'_>> {
        let rules = self.rules.iter().map(|rule| given([("syncRule", rule.show())]));
        let templates = self.templates.iter().map(|template| given([("template", template.show())]));
        let objects = self.objects.iter().filter_map(Show::show).chain(rules).chain(templates).collect();
        Some(given([
            ("region", self.region.show()),
            ("namespaces", self.namespaces.show()),
            ("clusterSelector", Some(self.clusters.tree())),
            ("objects", Some(Tree::List(objects))),
        ]))
    }
}

/// Whether some group may give this name to a set or a payload, one that the configuration has no more among them.
pub fn is_name_of_guests(name: &Name) -> bool {
    let parts = name.as_str().strip_prefix("pouch-").map(|rest| rest.split('-').skip(1));
    parts.is_some_and(|mut parts| parts.any(|part| part.len() == DIGITS && is_hex(part)))
}

fn is_hex(digits: &str) -> bool {
    digits.bytes().all(|it| it.is_ascii_digit() || matches!(it, b'a'..=b'f'))
}

/// Whether a pattern over namespaces is more than a name.
fn is_glob(pattern: &str) -> bool {
    pattern.contains(['*', '?', '[', '{'])
}
