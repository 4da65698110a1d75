//! What the versions of a manifest list, and what one version lists otherwise than the version before.
//!
//! Of two versions in pouch's own layout only the objects that differ are parsed; see [`cut`](crate::exposure::cut).

use alloc::borrow::ToOwned as _;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::exposure::cut::{Cut, new_items};
use crate::exposure::listed_by::{Home, MISSHAPEN, home, parsed};
use crate::layout::manifest::claimant_in;
use crate::name::{Claimant, Directory, GroupKind, Name, Namespace, ObjectKey};
use crate::node::{Interner, Node};
use crate::yaml::read::text_of;

/// What a manifest says of an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listed {
    /// Its file, relative to the output's folder.
    pub path: String,
    /// SHA-256 of the file in lower-case hex.
    pub sha256: String,
    /// Why it was carried over, if it was.
    pub carried: Option<String>,
    /// Who needs it.
    pub claimants: BTreeSet<Claimant>,
    /// Namespace and name of the object that it was read from, where the manifest says so.
    pub from: Option<(Option<Namespace>, Name)>,
}

/// What a version of a manifest says of an object, and the version before does not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// The region's folder in its fleet.
    pub home: Home,
    /// The object.
    pub key: ObjectKey,
    /// What is said of it now; nothing if it is no longer listed.
    pub listed: Option<Arc<Listed>>,
}

/// A version of a manifest.
pub struct Version {
    text: String,
    cut: Option<Cut>,
    home: Home,
}

impl Version {
    /// Takes the text of the manifest of a folder. `before` is the version before it, if that can be used.
    ///
    /// Its objects are not looked at before [`changes`].
    pub fn read(
        bytes: &[u8],
        directory: &Directory,
        before: Option<&Self>,
        interner: &mut Interner,
    ) -> Result<Self, &'static str> {
        let text = text_of(bytes).map_err(|_| "it is not UTF-8")?.to_owned();
        let alike = before.and_then(|before| Some((before, before.cut.as_ref()?.alike(&before.text, &text)?)));
        if let Some((before, cut)) = alike {
            return Ok(Self { text, cut: Some(cut), home: before.home.clone() });
        }
        let cut = Cut::of(&text);
        let home = home(&parsed(cut.as_ref().map_or(&text, |cut| &cut.head), interner)?)?;
        match home.directory == *directory {
            true => Ok(Self { text, cut, home }),
            false => Err("it is the manifest of another folder"),
        }
    }

    fn objects(&self) -> Option<&str> {
        self.cut.as_ref().map(|cut| cut.objects_of(&self.text))
    }

    /// What it says of the objects that `other` does not list alike, or of all.
    fn unlike(&self, other: Option<&Self>, interner: &mut Interner) -> Result<Objects, &'static str> {
        let mut found = Objects::new();
        let Some(objects) = self.objects() else {
            let node = parsed(&self.text, interner)?;
            let items = node.at(&["objects"]).map(Node::items).unwrap_or_default();
            for item in items {
                let (key, listed) = object(item, &self.home.directory)?;
                found.insert(key, listed);
            }
            return Ok(found);
        };
        let other = other.filter(|other| other.home == self.home).and_then(Self::objects);
        for item in new_items(objects, other) {
            // Each item is parsed as a list of one.
            let item = parsed(item, interner)?;
            let (key, listed) = object(item.items().first().ok_or(MISSHAPEN)?, &self.home.directory)?;
            found.insert(key, listed);
        }
        Ok(found)
    }
}

type Objects = BTreeMap<ObjectKey, Listed>;

/// What `new` lists otherwise than `old`.
///
/// # Errors
/// Where an object of `new` is not as manifests have them; those of `old` were looked at before.
pub fn changes(
    old: Option<&Version>,
    new: Option<&Version>,
    interner: &mut Interner,
) -> Result<Vec<Change>, &'static str> {
    // What is laid out otherwise is compared as a whole.
    let both = old.zip(new).filter(|(old, new)| old.cut.is_some() && new.cut.is_some());
    let before = old.map(|old| old.unlike(both.map(|(_, new)| new), interner)).transpose()?.unwrap_or_default();
    let after = new.map(|new| new.unlike(both.map(|(old, _)| old), interner)).transpose()?.unwrap_or_default();
    let is_same_home = old.zip(new).is_some_and(|(old, new)| old.home == new.home);
    let mut found = Vec::new();
    if let Some(old) = old {
        for key in before.keys().filter(|key| !is_same_home || !after.contains_key(*key)) {
            found.push(Change { home: old.home.clone(), key: key.clone(), listed: None });
        }
    }
    if let Some(new) = new {
        for (key, listed) in after {
            if !is_same_home || before.get(&key) != Some(&listed) {
                found.push(Change { home: new.home.clone(), key, listed: Some(Arc::new(listed)) });
            }
        }
    }
    Ok(found)
}

fn object(node: &Node, directory: &Directory) -> Result<(ObjectKey, Listed), &'static str> {
    let text = |path: &[&str]| node.str_at(path).ok_or(MISSHAPEN);
    let namespace = node.str_at(&["key", "namespace"]).filter(|namespace| !namespace.is_empty()).map(Namespace::from);
    let kind = GroupKind::new(node.str_at(&["key", "group"]).unwrap_or_default(), text(&["key", "kind"])?);
    let key = ObjectKey::new(kind, namespace, text(&["key", "name"])?.into());
    let path = text(&["path"])?;
    let is_inside = path.strip_prefix("regions/").and_then(|rest| rest.strip_prefix(directory.as_str()));
    if !is_inside.is_some_and(|rest| rest.starts_with('/')) {
        return Err("it lists an object in another folder");
    }
    let mut claimants = BTreeSet::new();
    for by in node.at(&["neededBy"]).map(Node::items).unwrap_or_default() {
        claimants.insert(claimant_in(by).ok_or(MISSHAPEN)?);
    }
    let is_carried = node.str_at(&["state"]) == Some("carried");
    let reason = || node.str_at(&["reason"]).unwrap_or_default().to_owned();
    let from = node.str_at(&["from", "name"]);
    let from = from.map(|name| (node.str_at(&["from", "namespace"]).map(Namespace::from), Name::from(name)));
    let listed = Listed {
        path: path.to_owned(),
        sha256: text(&["sha256"])?.to_owned(),
        carried: is_carried.then(reason),
        claimants,
        from,
    };
    Ok((key, listed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn manifest(fleet: &str, items: &[(u8, u8, u8)]) -> String {
        let mut text =
            format!("apiVersion: pouch/v1alpha1\nfiles: []\nfleet: {fleet}\nkind: Bundle\nmetadata:\n  name: eu\n");
        text.push_str(if items.is_empty() { "objects: []\n" } else { "objects:\n" });
        for (name, sha256, state) in items {
            let state = ["current", "carried\n  reason: changing"][usize::from(*state)];
            text.push_str(&format!(
                "- key:\n    group: \"\"\n    kind: Secret\n    name: s{name}\n    namespace: team\n  neededBy:\n  \
                 - kind: Credential\n    name: c\n    namespace: team\n    via: []\n  path: regions/eu/s{name}.yaml\n  \
                 sha256: \"{sha256}\"\n  state: {state}\n"
            ));
        }
        text + "recipients: []\nsources: []\n"
    }

    fn version(text: &str, before: Option<&Version>) -> Result<Version, &'static str> {
        Version::read(text.as_bytes(), &"eu".into(), before, &mut Interner::new())
    }

    proptest! {
        /// What differs between two versions is what differs between all that each lists.
        #[test]
        fn only_what_differs_is_told_and_all_of_it(
            versions in prop::collection::vec(prop::collection::btree_map(0..40_u8, (0..3_u8, 0..2_u8), 0..40), 1..5),
            other in any::<bool>(),
        ) {
            let mut known: BTreeMap<(Home, ObjectKey), Arc<Listed>> = BTreeMap::new();
            let mut before: Option<Version> = None;
            for (at, items) in versions.iter().enumerate() {
                let items: Vec<_> = items.iter().map(|(name, (sha256, state))| (*name, *sha256, *state)).collect();
                let text = manifest(if other && at % 2 == 1 { "other" } else { "acme" }, &items);
                let new = version(&text, before.as_ref()).unwrap();
                for Change { home, key, listed } in changes(before.as_ref(), Some(&new), &mut Interner::new()).unwrap() {
                    let old = match &listed {
                        Some(listed) => known.insert((home, key), listed.clone()),
                        None => Some(known.remove(&(home, key)).unwrap()),
                    };
                    prop_assert!(old != listed, "nothing changed");
                }
                let alone = version(&text, None).unwrap();
                let all = changes(None, Some(&alone), &mut Interner::new()).unwrap();
                let all: BTreeMap<_, _> = all.into_iter().map(|one| ((one.home, one.key), one.listed.unwrap())).collect();
                prop_assert_eq!(&known, &all);
                before = Some(new);
            }
            let gone = changes(before.as_ref(), None, &mut Interner::new()).unwrap();
            prop_assert_eq!(gone.len(), known.len());
        }
    }

    #[test]
    fn what_is_no_manifest_of_the_folder_is_not_used() {
        let good = manifest("acme", &[(0, 0, 1)]);
        let all = |text: &str| version(text, None).and_then(|new| changes(None, Some(&new), &mut Interner::new()));
        let told = all(&good).unwrap();
        assert_eq!(told[0].listed.as_ref().unwrap().carried.as_deref(), Some("changing"));
        for (from, to) in [
            ("name: eu", "name: us"),
            ("kind: Bundle", "kind: Other"),
            ("path: regions/eu/", "path: regions/us/"),
            ("path: regions/eu/", "path: regions/eu"),
            ("  sha256: \"0\"\n", ""),
            ("    name: s0\n", ""),
            ("objects:\n", "objects: [\n"),
        ] {
            assert!(good.contains(from), "{from}");
            assert!(all(&good.replacen(from, to, 1)).is_err(), "{to}");
        }
    }
}
