//! What documents could be meant to be, found by name: ten thousand such documents cost a lookup no more than those that
//! could be what it looks for.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::mistyped::{Meant, pattern};
use super::pattern::Pattern;
use super::reason::Reason;
use crate::name::{GroupKind, Namespace, ObjectKey};

/// How many documents of one kind that name no object are told apart. Where a source has more, they could be any object
/// of their kind: what each could be would have to be asked of each.
const MOST_LOOSE: usize = 256;

/// The documents of one source that could be meant to be objects, although it cannot be told which.
#[derive(Default)]
pub(super) struct Guesses {
    all: Vec<Meant>,
    /// Those with a name, by that.
    named: BTreeMap<Box<str>, Vec<usize>>,
    /// Those without, by the words in them.
    with: BTreeMap<Box<str>, Vec<usize>>,
    /// Those without a name, or with a template for one, by their kind.
    loose: BTreeMap<Option<GroupKind>, Loose>,
    /// Kinds and namespaces that are known; and, by kind, namespaces that are templates.
    places: BTreeSet<(Option<GroupKind>, Option<Box<str>>)>,
    kinds: BTreeSet<Option<GroupKind>>,
    templates: BTreeMap<Option<GroupKind>, BTreeSet<Pattern>>,
}

/// Documents of one kind.
#[derive(Default)]
struct Loose {
    /// Namespaces and names.
    told_apart: BTreeSet<[Option<Box<str>>; 2]>,
    numbers: Vec<usize>,
}

impl Guesses {
    /// Takes one more document.
    pub(super) fn add(&mut self, meant: Meant) {
        let number = self.all.len();
        let (kind, namespace, name) = (meant.kind(), meant.namespace(), meant.name());
        let key = kind.cloned();
        self.kinds.insert(key.clone());
        let is_open = |text: &str| pattern(kind, text).is_open();
        match namespace {
            Some(template) if is_open(template) => {
                let templates = self.templates.entry(key.clone()).or_default();
                // Beyond what is told apart it could be any namespace.
                match templates.len() < MOST_LOOSE {
                    true => _ = templates.insert(pattern(key.as_ref(), template)),
                    false => _ = self.places.insert((key.clone(), None)),
                }
            }
            known => _ = self.places.insert((key.clone(), known.map(Box::from))),
        }
        match name {
            Some(name) if !is_open(name) => self.named.entry(name.into()).or_default().push(number),
            name => {
                for word in meant.words() {
                    self.with.entry(word.clone()).or_default().push(number);
                }
                let loose = self.loose.entry(key.clone()).or_default();
                if loose.told_apart.len() <= MOST_LOOSE {
                    let is_last = loose.told_apart.len() == MOST_LOOSE;
                    let is_new = loose.told_apart.insert([namespace, name].map(|text| text.map(Box::from)));
                    match is_new && is_last {
                        true => {
                            self.places.insert((key, None));
                            loose.numbers.push(number);
                            self.all.push(meant.of_any_name());
                            return;
                        }
                        false if is_new => loose.numbers.push(number),
                        false => {}
                    }
                }
            }
        }
        self.all.push(meant);
    }

    /// Why an object is unknown: because of the first document that could be meant to be it.
    pub(super) fn may_be(&self, key: &ObjectKey) -> Option<&Reason> {
        if self.all.is_empty() {
            return None;
        }
        let name = key.name.as_str();
        let by_name = self.named.get(name).into_iter().chain(self.with.get(name)).flatten();
        let of_kind = self.loose.get(&None).into_iter().chain(self.loose.get(&Some(key.kind.clone())));
        let loose = of_kind.flat_map(|loose| &loose.numbers);
        let first = by_name.chain(loose).filter(|number| self.all.get(**number).is_some_and(|it| it.may_be(key))).min();
        first.and_then(|number| self.all.get(*number)).map(|meant| &meant.reason)
    }

    /// Whether some document could be meant to be an object of a kind in a namespace; none is any namespace.
    pub(super) fn may_be_in(&self, kind: &GroupKind, namespace: Option<&Namespace>) -> bool {
        let kinds = || [None, Some(kind.clone())].into_iter();
        let Some(namespace) = namespace else { return kinds().any(|kind| self.kinds.contains(&kind)) };
        let named = Some(Box::from(namespace.as_str()));
        let is_there = |kind: Option<GroupKind>| {
            let fits =
                |templates: &BTreeSet<Pattern>| templates.iter().any(|template| template.fits(namespace.as_str()));
            self.templates.get(&kind).is_some_and(fits)
                || self.places.contains(&(kind.clone(), None))
                || self.places.contains(&(kind, named.clone()))
        };
        kinds().any(is_there)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Origin, Place};
    use crate::node::Node;
    use crate::testing::{node, yaml};
    use alloc::format;
    use alloc::string::String;

    fn meant(document: &Node) -> Meant {
        let place = Place::File { path: String::new().into(), line: 1, column: 1 };
        Meant::of(document, None, &Origin { source: "s".into(), place })
    }

    fn document(text: &str) -> Node {
        node(&yaml(text))
    }

    fn keys() -> impl Iterator<Item = ObjectKey> {
        let kinds = [GroupKind::new("k0rdent.mirantis.com", "Credential"), GroupKind::new("", "Secret")];
        let all = kinds.into_iter().flat_map(|kind| {
            ["a", "b", "t-1"].into_iter().flat_map(move |namespace| {
                let kind = kind.clone();
                let key = move |name: &str| ObjectKey::new(kind.clone(), Some(namespace.into()), name.into());
                ["a", "c1", "x-y", "other"].map(key)
            })
        });
        all.collect::<Vec<_>>().into_iter()
    }

    /// What is found by name is what looking at every document would find.
    #[test]
    fn an_index_finds_what_a_search_finds() {
        let kinds = [
            "{}",
            "kind: Secret",
            "apiVersion: v1, kind: Secret",
            "apiVersion: k0rdent.mirantis.com/v1, kind: Credential",
        ];
        let names = ["", "name: a", "name: c1", "name: '{{ x }}'", "name: 'x-{{ y }}'", "labels: {a: other, b: a}"];
        let namespaces = ["", "namespace: a", "namespace: '{{ n }}'", "namespace: 't-{{ n }}'"];
        let mut texts = Vec::new();
        for kind in kinds {
            for name in names {
                for namespace in namespaces {
                    let kind = if kind == "{}" { String::new() } else { format!("{kind}, ") };
                    texts.push(format!(
                        "{{{kind}metadata: {{{}}}}}",
                        [name, namespace]
                            .iter()
                            .filter(|text| !text.is_empty())
                            .copied()
                            .collect::<Vec<_>>()
                            .join(", ")
                    ));
                }
            }
        }
        let documents: Vec<Node> = texts.iter().map(|text| document(text)).collect();
        let mut found = 0;
        let pairs = documents
            .iter()
            .enumerate()
            .flat_map(|(at, one)| documents.iter().cycle().skip(at).step_by(11).take(5).map(move |other| [one, other]));
        for pair in pairs {
            let mut guesses = Guesses::default();
            pair.into_iter().for_each(|document| guesses.add(meant(document)));
            for key in keys() {
                let searched = pair.into_iter().any(|document| meant(document).may_be(&key));
                let named = guesses.may_be(&key).is_some();
                assert_eq!(named, searched, "{key}");
                found += usize::from(searched);
                let place = |document: &&Node| {
                    let it = meant(document);
                    let fits = |own| pattern(it.kind(), own).fits(key.namespace_text());
                    it.kind().is_none_or(|kind| *kind == key.kind) && it.namespace().is_none_or(fits)
                };
                assert_eq!(guesses.may_be_in(&key.kind, key.namespace.as_ref()), pair.iter().any(place), "{key}");
            }
        }
        assert!(found > 1000, "{found}");
    }

    #[test]
    fn too_many_that_name_nothing_could_be_anything_of_their_kind() {
        let credential = |namespace: &str| {
            ObjectKey::new(GroupKind::new("k0rdent.mirantis.com", "Credential"), Some(namespace.into()), "c".into())
        };
        let mut guesses = Guesses::default();
        let mut add = |number: usize| {
            guesses.add(meant(&document(&format!(
                "{{apiVersion: k0rdent.mirantis.com/v1, kind: Credential, metadata: {{namespace: n{number}}}}}"
            ))));
            (guesses.may_be(&credential("n1")).is_some(), guesses.may_be(&credential("other")).is_some())
        };
        assert!((0..MOST_LOOSE).all(|number| add(number) == (number > 0, false)));
        assert!((MOST_LOOSE..2 * MOST_LOOSE).all(|number| add(number) == (true, true)));
        assert_eq!(guesses.loose.values().map(|loose| loose.numbers.len()).sum::<usize>(), MOST_LOOSE + 1);
        let secret = ObjectKey::secret("other".into(), "c".into());
        assert!(guesses.may_be(&secret).is_none());
    }
}
