//! Groups of guest clusters, and how the configuration says them.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::Globs;
use super::error::FieldPath;
use super::file::OperatorWord;
use crate::finding::Origin;
use crate::hash::sha256_hex;
use crate::name::{Name, Namespace, ObjectKey, Region};
use crate::node::{Key, Node};
use crate::selector::Selector;
use crate::yaml::emit::{Tree, emit};

/// The most objects of one group.
pub(super) const MOST_OBJECTS: usize = 500;

/// How many digits of a selector's hash stand in names.
const DIGITS: usize = 8;

/// Objects that ClusterResourceSets of a region deliver into guest clusters.
#[derive(Clone, Debug)]
pub struct GuestGroup {
    /// Its name, which names of objects begin with.
    pub name: Name,
    /// The region on which the Clusters stand.
    pub region: Region,
    /// The namespaces of the Clusters.
    pub namespaces: Globs,
    /// Which Clusters of them.
    pub clusters: ClusterSelector,
    /// What is delivered, sorted by where it lands.
    pub objects: Vec<GuestEntry>,
    /// Where the configuration says so, by what is named there.
    pub places: BTreeMap<ObjectKey, EntryPlace>,
    /// Whether sources that describe no region tell of its Clusters: no other region can be meant.
    pub told_by_all: bool,
    /// The ResourceSyncRules whose copies are delivered.
    pub rules: BTreeSet<Name>,
    /// The ManagedResources that are rendered for its namespaces, and whose objects are delivered.
    pub templates: BTreeSet<Name>,
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

/// A condition on one label.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Expression {
    /// The key of the label.
    pub key: String,
    /// What is asked of it.
    pub operator: OperatorWord,
    /// The values, sorted.
    pub values: Vec<String>,
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

    /// As the configuration has it.
    pub(super) fn tree(&self) -> Tree<'_> {
        let object = |entry: &'_ GuestEntry| {
            let GuestEntry { lands, read } = entry;
            let text = |text: &str| Tree::text(String::from(text));
            let mut fields = vec![
                ("group", text(read.kind.group.as_str())),
                ("kind", text(read.kind.kind.as_str())),
                ("name", text(read.name.as_str())),
            ];
            fields.extend(read.namespace.as_ref().map(|namespace| ("namespace", text(namespace.as_str()))));
            if lands != read {
                let namespace = lands.namespace.as_ref().map(|namespace| ("namespace", text(namespace.as_str())));
                fields.push(("to", Tree::map(namespace.into_iter().chain([("name", text(lands.name.as_str()))]))));
            }
            Tree::map(fields)
        };
        let named = |field: &'static str, name: &'_ Name| Tree::map([(field, Tree::text(String::from(name.as_str())))]);
        let rules = self.rules.iter().map(|rule| named("syncRule", rule));
        let templates = self.templates.iter().map(|template| named("template", template));
        Tree::map([
            ("region", Tree::text(self.region.as_str())),
            ("namespaces", self.namespaces.tree()),
            ("clusterSelector", self.clusters.tree()),
            ("objects", Tree::List(self.objects.iter().map(object).chain(rules).chain(templates).collect())),
        ])
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
pub(super) fn is_glob(pattern: &str) -> bool {
    pattern.contains(['*', '?', '[', '{'])
}
