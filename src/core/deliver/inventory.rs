//! What was brought to a region, in a ConfigMap there: names and kinds, never a value.
//!
//! It is written before anything new is sent, so that a killed run leaves nothing that nobody knows, and again when all
//! is done. What is not in it is never taken away. Beside each name stands what tells the published file from another,
//! and the resourceVersion that the object had once it was sent.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt::Write as _;

use crate::name::{
    Claimant, Directory, FleetName, GroupKind, Name, Namespace, ObjectKey, is_commit_id, is_dns_label, is_dns_subdomain,
};
use crate::node::Node;
use crate::region::accounts::Whose;
use crate::yaml::emit::{Tree, emit};

/// The most bytes that a ConfigMap may hold:
/// <https://kubernetes.io/docs/concepts/configuration/configmap/#motivation>
pub const MOST_BYTES: usize = 1 << 20;

/// What stands before a kind in the ConfigMap's keys.
const OBJECTS: &str = "objects.";

/// The same, where the numbers of those stand who need its objects, in the order of these: their lines under `claimants`.
const NEEDED_BY: &str = "neededBy.";

/// The same, where what the kind is called in paths stands.
const CALLED: &str = "plural.";

/// What the names of all inventories, and the field managers of all bundles, begin with.
pub(super) const PREFIX: &str = "pouch.";

/// What stands where nothing is known.
const NOTHING: &str = "-";

/// What stands where who needed an object has another.
const EXCHANGED: &str = "=";

/// Where those stand whose withdrawals are held.
const HELD: &str = "heldFor";

/// What was brought to a region of one bundle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inventory {
    /// The fleet that the bundle belongs to.
    pub fleet: FleetName,
    /// The region's folder.
    pub directory: Directory,
    /// SHA-256 of the `bundle.yaml` that was applied last, whole or in part; empty before the first.
    pub bundle: String,
    /// The last commit that a bundle was read from; none before the first, and where the inventory does not name one.
    pub revision: Option<String>,
    /// Those of whom more was to be taken away than may go at once, as long as some of it is still there: whatever is brought
    /// meanwhile, it stays until somebody accepts that it goes.
    pub held: BTreeSet<Whose>,
    /// The kinds that it ever had objects of. What others than pouch may have written of one cannot be taken out again, so
    /// it is written empty.
    pub kinds: BTreeMap<GroupKind, Called>,
    /// The objects.
    pub objects: BTreeMap<ObjectKey, Brought>,
}

/// What a kind is called in paths; none where pouch knows that by itself.
pub type Called = Option<String>;

/// What is known of an object that was brought.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Brought {
    /// The mark of the file that was sent; none where that is not known to have succeeded.
    pub mark: Option<String>,
    /// The resourceVersion that the object had then.
    pub version: Option<String>,
    /// Who needed it then.
    pub needed: Needed,
}

/// Who needed an object when it was brought.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Needed {
    /// Nobody knows, since an older pouch brought it.
    #[default]
    Unknown,
    /// Nobody any more: who did has another in its place.
    Exchanged,
    /// These claimants.
    By(BTreeSet<Claimant>),
}

/// Why an inventory cannot be used; never quotes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unusable {
    /// It is not written as inventories are.
    #[error("is not written as pouch writes it")]
    Malformed,
    /// The API server lets nobody change it.
    #[error("is immutable")]
    Immutable,
    /// It is another bundle's.
    #[error("belongs to another fleet or region")]
    Foreign,
}

/// What tells a published file from another: the start of its SHA-256.
pub fn mark(sha256: &str) -> String {
    String::from(sha256.get(..16).unwrap_or(sha256))
}

/// The name of a bundle's inventory, and of the field manager that it is applied as. Neither part can have a dot, so no two
/// bundles share one.
pub fn name(fleet: &FleetName, directory: &Directory) -> Name {
    format!("{PREFIX}{fleet}.{directory}").as_str().into()
}

impl Inventory {
    /// One of a region that was brought nothing yet.
    pub fn empty(fleet: &FleetName, directory: &Directory) -> Self {
        Self {
            fleet: fleet.clone(),
            directory: directory.clone(),
            bundle: String::new(),
            revision: None,
            held: BTreeSet::new(),
            kinds: BTreeMap::new(),
            objects: BTreeMap::new(),
        }
    }

    /// Notes an object that is going to be sent, and what its kind is called in paths.
    pub fn note(&mut self, key: &ObjectKey, called: Called) {
        let known = self.kinds.entry(key.kind.clone()).or_default();
        *known = called.or_else(|| known.take());
        self.objects.entry(key.clone()).or_default();
    }

    /// Reads the ConfigMap of a bundle.
    ///
    /// # Errors
    /// Where it cannot be used; nothing is guessed.
    pub fn read(node: &Node, fleet: &FleetName, directory: &Directory) -> Result<Self, Unusable> {
        let data = node.at(&["data"]).ok_or(Unusable::Malformed)?;
        let field = |name: &str| data.get(name).and_then(Node::as_str);
        if field("fleet") != Some(fleet.as_str()) || field("directory") != Some(directory.as_str()) {
            return Err(Unusable::Foreign);
        }
        if node.get("immutable").and_then(Node::as_bool) == Some(true) {
            return Err(Unusable::Immutable);
        }
        let mut inventory = Self::empty(fleet, directory);
        inventory.bundle = field("bundle").filter(|text| is_word(text)).map(String::from).unwrap_or_default();
        inventory.revision = field("revision").filter(|text| is_commit_id(text)).map(String::from);
        for line in field(HELD).unwrap_or_default().lines() {
            inventory.held.insert(held(line).ok_or(Unusable::Malformed)?);
        }
        // An older pouch only noted how many objects there were.
        inventory.held.extend(field("held").map(|_| Whose::Anybody));
        let claimants = field("claimants").unwrap_or_default().lines().map(claimant);
        let claimants: Vec<Claimant> = claimants.collect::<Option<_>>().ok_or(Unusable::Malformed)?;
        for (name, node) in data.entries() {
            let text = node.as_str().ok_or(Unusable::Malformed)?;
            let kind = |name: &str| {
                let (kind, group) = name.split_once('.').unwrap_or((name, ""));
                GroupKind::new(group, kind)
            };
            if let Some(name) = name.strip_prefix(CALLED) {
                let called = Some(String::from(text)).filter(|text| is_dns_label(text));
                inventory.kinds.insert(kind(name), Some(called.ok_or(Unusable::Malformed)?));
            }
            let Some(kind) = name.strip_prefix(OBJECTS).map(kind) else { continue };
            inventory.kinds.entry(kind.clone()).or_default();
            let mut needed = field(&format!("{NEEDED_BY}{}", kind.qualified())).map(str::lines);
            for line in text.lines() {
                let (key, mut brought) = object(&kind, line).ok_or(Unusable::Malformed)?;
                // Of a line that somebody added nobody knows who needs it.
                if let Some(line) = needed.as_mut().and_then(Iterator::next) {
                    brought.needed = needed_by(line, &claimants).ok_or(Unusable::Malformed)?;
                }
                inventory.objects.insert(key, brought);
            }
        }
        Ok(inventory)
    }

    /// The ConfigMap, to be applied in `namespace`; `over` is the resourceVersion of the one that it replaces.
    ///
    /// Where it would be too large with them, it does not say who needed what: then each object counts by itself.
    pub fn emit(&self, namespace: &Namespace, over: Option<&str>) -> String {
        let text = self.emit_with(namespace, over, true);
        if text.len() > MOST_BYTES { self.emit_with(namespace, over, false) } else { text }
    }

    fn emit_with(&self, namespace: &Namespace, over: Option<&str>, counts: bool) -> String {
        let empty =
            |kind: &GroupKind| [OBJECTS, NEEDED_BY].map(|of| (of.to_string() + &kind.qualified(), String::new()));
        let kinds = self.kinds.keys().flat_map(empty);
        let mut kinds: BTreeMap<String, String> = kinds.collect();
        let called = self
            .kinds
            .iter()
            .filter_map(|(kind, called)| Some((CALLED.to_string() + &kind.qualified(), called.clone()?)));
        kinds.extend(called);
        let all: BTreeSet<&Claimant> = match counts {
            true => self.objects.values().flat_map(|brought| brought.needed.claimants()).collect(),
            false => BTreeSet::new(),
        };
        let all: Vec<(&Claimant, String)> = all.into_iter().filter_map(|by| Some((by, written(by)?))).collect();
        let numbers: BTreeMap<&Claimant, usize> = all.iter().enumerate().map(|(at, (by, _))| (*by, at)).collect();
        for (key, brought) in &self.objects {
            let lines = kinds.entry(format!("{OBJECTS}{}", key.kind.qualified())).or_default();
            let or_nothing = |text: &Option<String>| text.clone().unwrap_or_else(|| String::from(NOTHING));
            let (mark, version) = (or_nothing(&brought.mark), or_nothing(&brought.version));
            let _ = writeln!(lines, "{}/{} {mark} {version}", key.namespace_text(), key.name);
            if counts {
                let needed = brought.needed.claimants().filter_map(|by| numbers.get(by));
                let needed: Vec<String> = needed.map(usize::to_string).collect();
                let lines = kinds.entry(format!("{NEEDED_BY}{}", key.kind.qualified())).or_default();
                let _ = match &brought.needed {
                    Needed::Exchanged => writeln!(lines, "{EXCHANGED}"),
                    Needed::Unknown | Needed::By(_) if needed.is_empty() => writeln!(lines, "{NOTHING}"),
                    Needed::Unknown | Needed::By(_) => writeln!(lines, "{}", needed.join(",")),
                };
            }
        }
        let lines = |lines: Vec<String>| Some(lines.join("\n")).filter(|lines| !lines.is_empty());
        let held = lines(self.held.iter().map(whose_text).collect());
        let claimants = lines(all.into_iter().map(|(_, text)| text).collect());
        let own = [
            ("fleet", Some(self.fleet.as_str())),
            ("directory", Some(self.directory.as_str())),
            ("bundle", Some(self.bundle.as_str())),
            ("revision", self.revision.as_deref()),
            (HELD, held.as_deref()),
            ("claimants", claimants.as_deref()),
        ];
        let own = own.into_iter().filter_map(|(key, text)| Some((String::from(key), Tree::text(text?))));
        let data = own.chain(kinds.into_iter().map(|(key, lines)| (key, Tree::text(lines))));
        let name = name(&self.fleet, &self.directory);
        let labels = labels("inventory");
        let over = over.map(|version| ("resourceVersion", Tree::text(version)));
        let metadata =
            [("labels", labels), ("name", Tree::text(name.as_str())), ("namespace", Tree::text(namespace.as_str()))];
        let document = Tree::map([
            ("apiVersion", Tree::text("v1")),
            ("data", Tree::map(data.collect::<Vec<_>>())),
            ("kind", Tree::text("ConfigMap")),
            ("metadata", Tree::map(metadata.into_iter().chain(over))),
        ]);
        String::from(&*emit(&document))
    }
}

/// The labels of what apply keeps for itself. Not the one of what is brought: whoever looks for what was left behind would
/// take it for that.
pub(super) fn labels(component: &str) -> Tree<'_> {
    let labels = [("app.kubernetes.io/component", component), ("app.kubernetes.io/name", "pouch")];
    Tree::map(labels.map(|(key, value)| (key, Tree::text(value))))
}

/// A claimant as a line: `Credential team-a web`; none of one that no line can hold.
fn written(by: &Claimant) -> Option<String> {
    let text = format!("{} {} {}", by.kind(), by.namespace(), by.name());
    (claimant(&text)? == *by).then_some(text)
}

fn claimant(line: &str) -> Option<Claimant> {
    let mut words = line.split(' ');
    let (kind, namespace, name) = (words.next()?, words.next()?, words.next()?);
    // The entry of a group of guests has a path for a name.
    let is_path = kind.eq_ignore_ascii_case("Guest");
    let is_name = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\') && (byte != b'/' || is_path);
    let is_right = words.next().is_none()
        && is_word(kind)
        && is_dns_label(namespace)
        && (1..=600).contains(&name.len())
        && name.bytes().all(is_name);
    is_right.then(|| Claimant::new(kind, namespace.into(), name))
}

/// Who needs an object, by a line of numbers.
fn needed_by(line: &str, claimants: &[Claimant]) -> Option<Needed> {
    match line {
        NOTHING => Some(Needed::Unknown),
        EXCHANGED => Some(Needed::Exchanged),
        numbers => {
            let numbers = numbers.split(',').map(|number| claimants.get(number.parse::<usize>().ok()?).cloned());
            numbers.collect::<Option<_>>().map(Needed::By)
        }
    }
}

impl Needed {
    /// The claimants that are known.
    pub fn claimants(&self) -> impl Iterator<Item = &Claimant> {
        let claimants = match self {
            Self::By(claimants) => Some(claimants),
            Self::Unknown | Self::Exchanged => None,
        };
        claimants.into_iter().flatten()
    }
}

/// Those whose withdrawals are held, as one line.
fn whose_text(whose: &Whose) -> String {
    match whose {
        Whose::Kind { namespace, kind } => format!("{kind} {namespace}"),
        Whose::Group(group) => String::from(group.as_str()),
        // What is brought to a cluster says nothing of sources.
        Whose::Written { of, .. } => whose_text(of),
        Whose::Anybody => String::from(NOTHING),
    }
}

fn held(line: &str) -> Option<Whose> {
    let mut words = line.split(' ');
    match (words.next()?, words.next(), words.next()) {
        (NOTHING, None, _) => Some(Whose::Anybody),
        (group, None, _) if is_dns_label(group) => Some(Whose::Group(group.into())),
        (kind, Some(namespace), None) if is_word(kind) && is_dns_label(namespace) => {
            Some(Whose::Kind { namespace: namespace.into(), kind: kind.into() })
        }
        _ => None,
    }
}

/// One line.
fn object(kind: &GroupKind, line: &str) -> Option<(ObjectKey, Brought)> {
    let mut words = line.split(' ');
    let (place, mark, version) = (words.next()?, words.next()?, words.next()?);
    let (namespace, name) = place.split_once('/')?;
    let known = |text: &str| (text != NOTHING).then(|| String::from(text));
    let is_right = words.next().is_none()
        && is_dns_subdomain(name)
        && [mark, version].into_iter().all(is_word)
        && (namespace.is_empty() || is_dns_label(namespace));
    let namespace = (!namespace.is_empty()).then(|| namespace.into());
    let key = ObjectKey::new(kind.clone(), namespace, name.into());
    is_right.then(|| (key, Brought { mark: known(mark), version: known(version), needed: Needed::Unknown }))
}

/// Whether a text can be a digest or a version: it goes into messages.
fn is_word(text: &str) -> bool {
    (1..=253).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.'))
}
