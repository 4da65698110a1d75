//! Misplaced fields: what stands where no object of its kind has such a field.
//!
//! A line that is indented wrongly makes a field of something else, and then the object says less than was meant: a
//! Credential without its `region`, a Namespace without its labels. An API server refuses or drops such a field, and what
//! it was meant to say is unknown.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::matched::FIELDS as OF_METADATA;
use crate::blank;
use crate::capi::shape::{Field, Shape};
use crate::capi::{self, cluster};
use crate::finding::{Code, Fault};
use crate::kinds::{self, K0RDENT, Scopes, shape};
use crate::lenient::quoted;
use crate::name::GroupKind;
use crate::nearest::nearest;
use crate::node::{Key, Node};

/// A field that no object of its kind has where it stands.
pub struct Misplaced<'d> {
    /// The keys that lead to it; items of lists add none.
    pub path: Vec<&'d str>,
    meant: Meant,
}

/// What was probably meant.
enum Meant {
    /// A field of this name in the same place.
    Near(String),
    /// The field at another place.
    Place(String),
    /// The field, which has another type: what is found, and what is wanted.
    Type(&'static str, &'static str),
    Unknown,
}

/// The fields that every object has at its top, beside those of its kind; `sops` is what seals it.
const TOP: [&str; 4] = ["apiVersion", "kind", "metadata", "sops"];

const NAMESPACE: &str = "namespace";

/// The fields of `metadata` that people write.
const WRITTEN: [&str; 4] = ["annotations", "labels", "name", NAMESPACE];

/// Finds the first misplaced field of a document.
///
/// `scopes` knows the fields that definitions in the sources add.
pub fn misplaced<'d>(document: &'d Node, kind: &'d GroupKind, scopes: &'d Scopes) -> Option<Misplaced<'d>> {
    let top = shape::top(kind);
    let fields = top.unwrap_or(&["spec", "status"]);
    let (spec, status) = (shape::spec_of(kind).unwrap_or_default(), shape::status_of(kind).unwrap_or_default());
    let known = Known { document, kind, scopes, top: fields, spec, status };
    // Providers' identities are rebuilt, and what stands beside `spec` never leaves; others pouch may not know.
    let is_open = top.is_none() || capi::rules(kind).is_some();
    let is_stray = |key: &str| {
        let is_known = TOP.contains(&key) || fields.contains(&key) || (key == NAMESPACE && known.is_astray());
        !is_known && (!is_open || known.is_meant(key))
    };
    let at_top = document.entries().iter().find(|(key, _)| is_stray(key));
    let stray = at_top.map(|(key, _)| known.stray(&[], key, known.top));
    let within = || known.of_spec().or_else(|| known.of_status()).or_else(|| known.of_naming());
    stray.or_else(|| known.of_metadata()).or_else(within)
}

impl Misplaced<'_> {
    /// The fault of an object that has it.
    pub fn fault(&self, kind: &GroupKind) -> Fault {
        let kind = kind.kind.as_str();
        let Some((last, parents)) = self.path.split_last() else { return Fault::new(Code::Mistyped, "", "") };
        let parents = parents.join(".");
        let message = match (&self.meant, &*parents) {
            // An unknown name in a Secret may be a value that lost its name.
            (Meant::Unknown, "") if kind == "Secret" => "the Secret has a field that no Secret has".to_owned(),
            (_, "") => format!("the {kind} has no field {}", quoted(last)),
            (_, parents) => format!("{parents} has no field {}", quoted(last)),
        };
        if let Meant::Type(found, wanted) = &self.meant {
            let message = format!("{parents}.{last} is {found}, not {wanted}");
            let help =
                "Indent it below the field that it belongs to. Until this is corrected, what is published by it stays.";
            return Fault::new(Code::Mistyped, message, help);
        }
        let cure = match &self.meant {
            Meant::Type(..) => String::new(),
            Meant::Near(name) => format!("Did you mean {name}?"),
            Meant::Place(place) => format!("Indent it as {place}."),
            Meant::Unknown => "Indent it below the field that it belongs to, or remove it.".to_owned(),
        };
        let (message, blanks) = match blank::told(last) {
            Some(said) => (format!("{message}: {said}"), " Write a space: YAML takes other blanks as letters."),
            None => (message, ""),
        };
        let help = format!("{cure}{blanks} Until this is corrected, what is published by it stays.");
        Fault::new(Code::Mistyped, message, help)
    }
}

/// Returns true if a key begins with blanks that YAML does not take for blanks.
fn is_indented_otherwise(key: &str) -> bool {
    key.trim() != key.trim_matches(' ')
}

/// The fields that objects of a kind have.
struct Known<'d> {
    document: &'d Node,
    kind: &'d GroupKind,
    scopes: &'d Scopes,
    top: &'static [&'static str],
    spec: &'static [Field],
    status: &'static [Field],
}

impl<'d> Known<'d> {
    /// Returns true if a key is a field of the kind that stands elsewhere, or one behind other blanks than spaces.
    fn is_meant(&self, key: &str) -> bool {
        self.belongs(key.trim()).is_some() || (is_indented_otherwise(key) && TOP.contains(&key.trim()))
    }

    fn stray(&self, parents: &[&'d str], key: &'d Key, here: &[&'static str]) -> Misplaced<'d> {
        let typed = key.trim();
        let is_here = here.contains(&typed);
        let near = || nearest(typed, here.iter().copied()).map(|name| Meant::Near(name.to_owned()));
        let place = || self.belongs(typed).map(Meant::Place);
        let meant = if is_here { near() } else { place().or_else(near) };
        let path = parents.iter().copied().chain([&**key]).collect();
        Misplaced { path, meant: meant.unwrap_or(Meant::Unknown) }
    }

    /// Returns true if the namespace is missing: a slip in it is judged with the namespace that the source gives.
    fn is_astray(&self) -> bool {
        self.document.at(&["metadata", NAMESPACE]).is_none()
    }

    /// A field of `metadata` that no object has, where something is decided by labels, or that belongs elsewhere.
    fn of_metadata(&self) -> Option<Misplaced<'d>> {
        let metadata = self.document.get("metadata")?;
        // Objects that are asked for by name are used whatever labels they have.
        let is_by_name = || !kinds::is_listed(self.kind) && !kinds::is_by_configuration(self.kind);
        let is_stray = |key: &str| {
            let is_astray = || self.is_astray() && nearest(key, WRITTEN) == Some(NAMESPACE);
            !OF_METADATA.contains(&key) && !is_astray() && (!is_by_name() || self.is_meant(key))
        };
        let (key, _) = metadata.entries().iter().find(|(key, _)| is_stray(key))?;
        Some(self.stray(&["metadata"], key, &WRITTEN))
    }

    /// The place of a field of this name; of several, the first that is empty.
    fn belongs(&self, name: &str) -> Option<String> {
        let mut places: Vec<Vec<&'static str>> = Vec::new();
        let at_top = self.top.iter().chain(&["metadata"]).find(|known| **known == name);
        places.extend(at_top.map(|known| vec![*known]));
        places.extend(WRITTEN.iter().find(|known| **known == name).map(|known| vec!["metadata", *known]));
        gather(self.spec, &mut vec!["spec"], name, &mut places);
        gather(self.status, &mut vec!["status"], name, &mut places);
        let place = places.iter().find(|place| self.document.at(place).is_none()).or(places.first())?;
        Some(place.join("."))
    }

    fn of_spec(&self) -> Option<Misplaced<'d>> {
        if self.spec.is_empty() {
            return None;
        }
        self.within(self.spec, self.document.get("spec")?, &mut vec!["spec"])
    }

    fn within(&self, fields: &'static [Field], node: &'d Node, path: &mut Vec<&'d str>) -> Option<Misplaced<'d>> {
        for (key, value) in node.entries() {
            let Some(field) = fields.iter().find(|field| *field.name == **key) else {
                if *path == ["spec"] && self.scopes.has_field(self.kind, key) {
                    continue;
                }
                let here: Vec<&'static str> = fields.iter().map(|field| field.name).collect();
                let is_misplaced = self.kind.group == K0RDENT || is_tenancy(path) || self.is_meant(key);
                if is_misplaced {
                    return Some(self.stray(path, key, &here));
                }
                continue;
            };
            path.push(key);
            let found = self.below(&field.shape, value, path);
            path.pop();
            if found.is_some() {
                return found;
            }
        }
        None
    }

    fn below(&self, shape: &'static Shape, value: &'d Node, path: &mut Vec<&'d str>) -> Option<Misplaced<'d>> {
        match shape {
            // An item that slipped out of its list stands where maps do.
            Shape::Map(_) if !value.is_map() && *value != Node::Null && is_tenancy(path) => {
                let meant = Meant::Type(value.type_name(), "a map");
                Some(Misplaced { path: path.clone(), meant })
            }
            Shape::Map(inner) => self.within(inner, value, path),
            Shape::List(item) => value.items().iter().find_map(|node| self.below(item, node, path)),
            // Any key may stand there; but a field that the object needs, or that is no text, slipped into it.
            Shape::TextMap => {
                let is_stray = |key: &str, value: &Node| {
                    let field = self.spec.iter().find(|field| field.name == key);
                    let is_gone = self.document.at(&["spec", key]).is_none();
                    field.is_some_and(|field| is_gone && (field.required || value.as_str().is_none()))
                };
                let (key, _) = value.entries().iter().find(|(key, value)| is_stray(key, value))?;
                Some(self.stray(path, key, &[]))
            }
            _ => None,
        }
    }

    /// A field that stands in `status`, and not where it belongs.
    fn of_status(&self) -> Option<Misplaced<'d>> {
        if !self.status.is_empty() {
            return self.within(self.status, self.document.get("status")?, &mut vec!["status"]);
        }
        let is_gone = |path: &[&str]| self.document.at(path).is_none();
        let is_of_spec = |key: &str| self.spec.iter().any(|field| field.name == key) && is_gone(&["spec", key]);
        let is_of_top = |key: &str| self.top.contains(&key) && is_gone(&[key]);
        let entries = self.document.get("status").map(Node::entries).unwrap_or_default();
        let (key, _) = entries.iter().find(|(key, _)| is_of_spec(key.trim()) || is_of_top(key.trim()))?;
        Some(self.stray(&["status"], key, &[]))
    }

    /// The field by which an object behind a Cluster names an identity, where it stands elsewhere in `spec`.
    fn of_naming(&self) -> Option<Misplaced<'d>> {
        // Neither Kubernetes' own kinds nor k0rdent's are behind a Cluster.
        if self.kind.group == "" || self.kind.group == K0RDENT {
            return None;
        }
        let template = ["spec", "template"];
        let of_template = || cluster::of_template(self.kind).map(|known| (known, true));
        let of_clusters = cluster::known(self.kind).map(|known| (known, false)).or_else(of_template);
        let (known, is_template) = of_clusters.or_else(|| cluster::of_machines(self.kind))?;
        let whole: &[&'static str] = if is_template { &template } else { &[] };
        let selector = known.domains.map(|_| cluster::DOMAIN_SELECTOR);
        for field in known.names.iter().map(|naming| naming.field).chain(selector) {
            let path: Vec<&'static str> = whole.iter().chain(field).copied().collect();
            let name = path
                .iter()
                .enumerate()
                .find(|(depth, _)| self.document.at(path.get(..=*depth).unwrap_or(&path)).is_none());
            let Some((depth, name)) = name.filter(|(_, name)| **name != "[]" && !TOP.contains(name)) else { continue };
            let place = path.get(..=depth).unwrap_or(&path).join(".");
            let mut found = vec!["spec"];
            if self.document.get("spec").is_some_and(|spec| search(spec, name, &mut found)) {
                return Some(Misplaced { path: found, meant: Meant::Place(place) });
            }
        }
        None
    }
}

/// Returns true if a path leads into what says who may use an object.
fn is_tenancy(path: &[&str]) -> bool {
    path.get(1) == Some(&"allowedNamespaces")
}

/// Searches a key below a node, and adds the way to it.
fn search<'d>(node: &'d Node, name: &str, path: &mut Vec<&'d str>) -> bool {
    for (key, value) in node.entries() {
        path.push(key);
        if **key == *name || search(value, name, path) {
            return true;
        }
        path.pop();
    }
    node.items().iter().any(|item| search(item, name, path))
}

/// Adds the places of all fields of a name.
fn gather(fields: &'static [Field], path: &mut Vec<&'static str>, name: &str, places: &mut Vec<Vec<&'static str>>) {
    for field in fields {
        path.push(field.name);
        if field.name == name {
            places.push(path.clone());
        }
        let mut shape = &field.shape;
        while let Shape::List(item) = shape {
            shape = item;
        }
        if let Shape::Map(inner) = shape {
            gather(inner, path, name, places);
        }
        path.pop();
    }
}
