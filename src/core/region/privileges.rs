//! Privileges: which namespaces may use an identity from now on, and which may no longer. A line in a list decides who holds
//! a key, so it is told as what it means, and apart from other fields.
//!
//! Names in such a list are anybody's text. So namespaces that exist are named first, what cannot name one is only
//! counted, and the list is short enough for the object to stand behind it in any view.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::cell::OnceCell;
use core::fmt;

use super::input::Input;
use super::pack::{Pack, Packed};
use super::published::document;
use crate::admission::tenancy_of;
use crate::capi::tenancy::{Admits, Tenancy};
use crate::capi::{admits, admits_the_rest, listed};
use crate::layout::manifest::NeededBy;
use crate::listing::{counted, cut, few_that_fit};
use crate::name::{Claimant, Name, Namespace, ObjectKey, is_dns_label};
use crate::node::Node;
use crate::selector::Selector;

/// The most namespaces that are named of one object.
const MOST: usize = 5;

/// The most characters of a selector.
const MOST_CHARS: usize = 100;

/// A change of who may use an object.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Privilege {
    /// True if more may use it.
    pub opens: bool,
    /// Who may use it now, or may no longer, as a clause.
    pub words: String,
}

impl fmt::Display for Privilege {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", if self.opens { "opened" } else { "closed" }, self.words)
    }
}

/// The objects from which the changes of one region are told.
pub(super) struct Privileges<'i, 'a> {
    input: &'i Input<'a>,
    pack: &'i Pack,
    /// The names of the Secrets and identities that are published and stay, by those that claim them before or after.
    standing: OnceCell<BTreeMap<Claimant, BTreeSet<Name>>>,
    /// The namespaces that are known to exist.
    existing: OnceCell<BTreeSet<Namespace>>,
}

/// An identity's `spec`, which may lack; none where there is no identity, which admits no namespace.
type Spec<'n> = Option<Option<&'n Node>>;

impl<'i, 'a> Privileges<'i, 'a> {
    pub(super) fn new(input: &'i Input<'a>, pack: &'i Pack) -> Self {
        Self { input, pack, standing: OnceCell::new(), existing: OnceCell::new() }
    }

    /// The changes between what is published of an identity and what is to be.
    pub(super) fn changed(&self, key: &ObjectKey, before: &Node, after: &Node) -> Vec<Privilege> {
        self.tenancy(key).map(|tenancy| self.between(tenancy, key, [Some(before), Some(after)])).unwrap_or_default()
    }

    /// The changes by a new identity that leads to what is published already: then another name opens what is there.
    pub(super) fn added(&self, key: &ObjectKey, text: &[u8], claimants: &[Claimant]) -> Vec<Privilege> {
        let after = || document(text);
        self.where_it_leads_to_what_stays(key, claimants, after, |after| [None, Some(after)])
    }

    /// The changes by an identity that is withdrawn, where what it led to stays.
    pub(super) fn withdrawn(&self, key: &ObjectKey, claimants: &[Claimant]) -> Vec<Privilege> {
        let before = || self.input.published.document(key);
        self.where_it_leads_to_what_stays(key, claimants, before, |before| [Some(before), None])
    }

    /// The form in which objects of a kind say which namespaces may use them, if they do.
    fn tenancy(&self, key: &ObjectKey) -> Option<Tenancy> {
        tenancy_of(self.input.terms.world.fleet, &key.kind).filter(|tenancy| tenancy.form().is_some())
    }

    /// The changes to or from no identity, if the one that there is names a Secret or an identity that stays for one of its
    /// claimants.
    fn where_it_leads_to_what_stays(
        &self,
        key: &ObjectKey,
        claimants: &[Claimant],
        identity: impl FnOnce() -> Option<Node>,
        both: impl FnOnce(&Node) -> [Option<&Node>; 2],
    ) -> Vec<Privilege> {
        let Some(tenancy) = self.tenancy(key) else { return Vec::new() };
        let standing = self.standing.get_or_init(|| self.standing());
        let stays: Vec<&BTreeSet<Name>> = claimants.iter().filter_map(|claimant| standing.get(claimant)).collect();
        if stays.is_empty() {
            return Vec::new();
        }
        let Some(identity) = identity() else { return Vec::new() };
        let texts = identity.at(&["spec"]).map(Node::texts).unwrap_or_default();
        let leads = texts.into_iter().map(Name::from).any(|name| stays.iter().any(|names| names.contains(&name)));
        if leads { self.between(tenancy, key, both(&identity)) } else { Vec::new() }
    }

    fn standing(&self) -> BTreeMap<Claimant, BTreeSet<Name>> {
        let mut standing: BTreeMap<Claimant, BTreeSet<Name>> = BTreeMap::new();
        let is_meant = |key: &ObjectKey| key.kind.is_secret() || self.tenancy(key).is_some();
        for (key, packed) in self.pack.objects.iter().filter(|(key, _)| is_meant(key)) {
            let Some(object) = self.input.published.object(key) else { continue };
            let mut add = |needed_by: &NeededBy| {
                _ = standing.entry(needed_by.by.clone()).or_default().insert(key.name.clone());
            };
            object.needed_by.iter().for_each(&mut add);
            if let Packed::Fresh { needed_by, .. } | Packed::Carried { needed_by, .. } = packed {
                needed_by.iter().for_each(add);
            }
        }
        standing
    }

    fn between(&self, tenancy: Tenancy, key: &ObjectKey, both: [Option<&Node>; 2]) -> Vec<Privilege> {
        let both: [Spec<'_>; 2] = both.map(|node| node.map(|node| node.at(&["spec"])));
        let everybody = both.map(|spec| spec.is_some_and(|spec| admits_the_rest(tenancy, spec)));
        match (everybody, both) {
            ([false, true], _) => return [opened(key, "every namespace")].into(),
            ([true, false], [_, None]) => return [closed(key, "no namespace may use", "any more")].into(),
            ([true, false], _) => return [closed(key, "not every namespace may use", "any more")].into(),
            ([true, true], _) => return Vec::new(),
            ([false, false], _) => {}
        }
        let labels = &self.input.terms.to.region.namespaces.labels;
        let may = |spec: Spec<'_>, namespace: &Namespace| {
            spec.is_some_and(|spec| matches!(admits(tenancy, spec, namespace, labels.get(namespace)), Admits::Yes))
        };
        let names = both.into_iter().flatten().flat_map(listed).filter_map(Node::as_str);
        let known: BTreeSet<Namespace> = names.map(Namespace::from).chain(self.existing().iter().cloned()).collect();
        let [before, after] = both;
        let of =
            |was: bool, is: bool| known.iter().filter(|it| may(before, it) == was && may(after, it) == is).collect();
        let (gain, lose): (Vec<&Namespace>, Vec<&Namespace>) = (of(false, true), of(true, false));
        let mut changed = Vec::new();
        if let Some(who) = self.called(&gain) {
            changed.push(opened(key, &who));
        }
        let [was, is] = both.map(|spec| spec.flatten().and_then(selector));
        if was != is
            && let Some(labels) = is.and_then(labels_of)
        {
            changed.push(opened(key, &format!("also every namespace whose labels are {labels}")));
        }
        if let Some(who) = self.called(&lose) {
            changed.push(closed(key, &format!("{who} may no longer use"), ""));
        }
        if was != is
            && let Some(labels) = was.and_then(labels_of)
        {
            changed.push(closed(key, &format!("the labels {labels} alone no longer let a namespace use"), ""));
        }
        changed
    }

    /// The namespaces of the region that are known to exist.
    fn existing(&self) -> &BTreeSet<Namespace> {
        self.existing.get_or_init(|| {
            let terms = &self.input.terms;
            let asking = terms.world.facts.asked_for(&terms.to).map(|asked| asked.by.namespace().clone());
            asking.chain(terms.to.region.namespaces.labels.keys().cloned()).collect()
        })
    }

    /// `namespace a`, `namespaces a, b and 3 more`, or with a number of names that no namespace can have; none where there are
    /// none.
    fn called(&self, namespaces: &[&Namespace]) -> Option<String> {
        let (mut named, unnamed): (Vec<&Namespace>, Vec<&Namespace>) =
            namespaces.iter().copied().partition(|namespace| is_dns_label(namespace.as_str()));
        let exists = |namespace: &Namespace| {
            let snapshot = self.input.terms.world.snapshot;
            self.existing().contains(namespace) || snapshot.get(&ObjectKey::namespace(namespace)).is_some()
        };
        named.sort_by_key(|namespace| !exists(namespace));
        let few = few_that_fit(&named, named.len(), MOST);
        let unnamed = unnamed.len();
        let no_names = format!("{} that cannot name a namespace", counted(unnamed, "text", "texts"));
        match (named.len(), unnamed) {
            (0, 0) => None,
            (0, _) => Some(no_names),
            (1, 0) => Some(format!("namespace {few}")),
            (_, 0) => Some(format!("namespaces {few}")),
            (_, _) => Some(format!("namespaces {few}, and {no_names}")),
        }
    }
}

/// The selector of an identity's `spec`.
fn selector(spec: &Node) -> Option<&Node> {
    let fields: [&[&str]; 2] = [&["allowedNamespaces", "selector"], &["namespaceSelector"]];
    fields.into_iter().find_map(|field| spec.at(field)).filter(|node| !matches!(node, Node::Null))
}

/// The labels that a selector asks for; none where it asks for nothing, which opens to all or to none.
fn labels_of(node: &Node) -> Option<String> {
    match Selector::read(node) {
        Ok(selector) if selector.is_empty() => None,
        Ok(selector) => Some(cut(&selector.to_string(), MOST_CHARS)),
        Err(_) => Some("that cannot be read".into()),
    }
}

fn opened(key: &ObjectKey, who: &str) -> Privilege {
    Privilege { opens: true, words: format!("{who} may now use {key}") }
}

fn closed(key: &ObjectKey, who: &str, end: &str) -> Privilege {
    Privilege { opens: false, words: String::from(format!("{who} {key} {end}").trim_end()) }
}
