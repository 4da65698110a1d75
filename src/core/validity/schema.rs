//! Structural schemas: what a CustomResourceDefinition says of the objects of a kind.
//!
//! What is read of one is what an API server holds objects to, but for `format`s of text, rules in CEL, and `allOf`,
//! `anyOf`, `oneOf` and `not`. What is not read refuses nothing. A field that a schema does not have is refused, though a
//! server may drop it: server-side apply knows no such field, and what somebody wrote there would be missing.
//! <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema>

mod check;
#[cfg(test)]
mod tests;

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::node::{Key, Node};
use crate::template::Pattern;

/// What a value must be like.
pub struct Schema {
    of: Type,
    /// Whether an item of a list may be null; a null field is not published.
    nullable: bool,
    /// Whether an API server fills it in where it is absent.
    has_default: bool,
    /// Whether a map may have fields that are not named here.
    open: bool,
    fields: Box<[(Key, Schema)]>,
    required: Box<[Key]>,
    /// The values of a map whose keys anybody chooses.
    others: Option<Box<Schema>>,
    items: Option<Box<Schema>>,
    /// The values that there may be; any, if there are none.
    words: Box<[Node]>,
    pattern: Option<Pattern>,
    /// How many characters, items or fields there may be.
    count: Bounds,
    /// The number itself.
    least: Option<Bound>,
    most: Option<Bound>,
    /// Fields that tell the items of a list apart; none where the items themselves do.
    distinct: Option<Box<[Key]>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Type {
    Any,
    Map,
    List,
    Text,
    Int { is_short: bool },
    Number,
    Bool,
    IntOrText,
}

#[derive(Clone, Copy, Default)]
struct Bounds {
    least: Option<usize>,
    most: Option<usize>,
}

struct Bound {
    number: Node,
    is_excluded: bool,
}

impl Schema {
    /// Reads the schema of a version of a CustomResourceDefinition, as it stands in `spec.versions`.
    pub fn read(version: &Node) -> Option<Self> {
        version.at(&["schema", "openAPIV3Schema"]).filter(|root| root.is_map()).map(Self::of)
    }

    fn of(node: &Node) -> Self {
        let says = |key: &str| node.get(key).and_then(Node::as_bool) == Some(true);
        let of = match (says("x-kubernetes-int-or-string"), node.str_at(&["type"])) {
            (true, _) => Type::IntOrText,
            (false, Some("object")) => Type::Map,
            (false, Some("array")) => Type::List,
            (false, Some("string")) => Type::Text,
            (false, Some("integer")) => Type::Int { is_short: node.str_at(&["format"]) == Some("int32") },
            (false, Some("number")) => Type::Number,
            (false, Some("boolean")) => Type::Bool,
            (false, _) => Type::Any,
        };
        let fields: Box<[(Key, Self)]> =
            map_of(node, "properties").map(|(key, node)| (key.clone(), Self::of(node))).collect();
        let others = node.at(&["additionalProperties"]);
        // Of a map of which nothing is said, nobody knows what an API server would drop.
        let is_unsaid = fields.is_empty() && others.is_none();
        let keeps = says("x-kubernetes-preserve-unknown-fields") || says("x-kubernetes-embedded-resource");
        let bound = |key: &str, excluded: &str| {
            let number =
                node.at(&[key]).filter(|number| matches!(number, Node::Int(_) | Node::Uint(_) | Node::Float(_)));
            number.map(|number| Bound { number: number.clone(), is_excluded: says(excluded) })
        };
        let (least, most) = match of {
            Type::Text => ("minLength", "maxLength"),
            Type::List => ("minItems", "maxItems"),
            _ => ("minProperties", "maxProperties"),
        };
        let distinct = match node.str_at(&["x-kubernetes-list-type"]) {
            Some("set") => Some(Box::default()),
            Some("map") => Some(texts(node, "x-kubernetes-list-map-keys")),
            _ => None,
        };
        Self {
            of,
            nullable: says("nullable"),
            has_default: node.at(&["default"]).is_some(),
            open: keeps || is_unsaid || others.and_then(Node::as_bool) == Some(true),
            fields,
            required: texts(node, "required"),
            others: others.filter(|others| others.is_map()).map(|others| Box::new(Self::of(others))),
            items: node.at(&["items"]).filter(|items| items.is_map()).map(|items| Box::new(Self::of(items))),
            words: node.at(&["enum"]).map(Node::items).unwrap_or_default().into(),
            pattern: node.str_at(&["pattern"]).and_then(|text| Pattern::new(text).ok()),
            count: Bounds { least: number(node, least), most: number(node, most) },
            least: bound("minimum", "exclusiveMinimum"),
            most: bound("maximum", "exclusiveMaximum"),
            distinct,
        }
    }

    fn field(&self, name: &str) -> Option<&Self> {
        let at = self.fields.binary_search_by(|(key, _)| (**key).cmp(name)).ok()?;
        self.fields.get(at).map(|(_, schema)| schema)
    }
}

fn map_of<'n>(node: &'n Node, key: &str) -> impl Iterator<Item = &'n (Key, Node)> {
    node.at(&[key]).map(Node::entries).unwrap_or_default().iter()
}

fn texts(node: &Node, key: &str) -> Box<[Key]> {
    let items = node.at(&[key]).map(Node::items).unwrap_or_default();
    items.iter().filter_map(Node::as_str).map(Key::from).collect::<Vec<_>>().into()
}

fn number(node: &Node, key: &str) -> Option<usize> {
    match node.at(&[key]) {
        Some(Node::Int(number)) => usize::try_from(*number).ok(),
        _ => None,
    }
}
