//! The objects that the versions of a manifest list, and what one version lists otherwise than the version before.

use alloc::borrow::ToOwned as _;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::manifest::{Brought, Home, MISSHAPEN, Reads, Version, needed_by, root_of};
use crate::name::{Claimant, Directory, GroupKind, Name, Namespace, ObjectKey};
use crate::node::{Interner, Node};

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

/// A change of a manifest from the commit before.
#[derive(Debug)]
pub struct Relisted {
    /// The manifest's path.
    pub manifest: Arc<str>,
    /// The change.
    pub change: Change,
    /// Set if a reuse key proves the manifest.
    pub is_proved: bool,
}

impl Relisted {
    /// The path in the repository of the file that is listed now.
    pub fn path(&self) -> Option<String> {
        let root = root_of(&self.manifest, &self.change.home.directory).unwrap_or_default();
        Some(format!("{root}{}", self.change.listed.as_ref()?.path))
    }
}

/// The changes from version to version of a manifest.
#[derive(Default)]
pub struct Relistings {
    /// Each with the number of its commit.
    pub found: Vec<(usize, Relisted)>,
    before: Option<Version>,
}

impl Reads for Relistings {
    fn read(&mut self, version: &Brought<'_>, interner: &mut Interner) -> Result<(), &'static str> {
        let Brought { manifest, directory, commit, bytes, is_proved } = *version;
        let before = self.before.take();
        let mut read = |bytes| {
            let new = Version::read(bytes, before.as_ref(), interner)?.of(directory)?;
            let found = changes(before.as_ref(), Some(&new), interner)?;
            Ok((new, found))
        };
        let (new, outcome) = match bytes.map(&mut read).transpose() {
            Ok(new) => (new, Ok(())),
            Err(why) => (None, Err(why)),
        };
        // What cannot be read lists nothing.
        let (new, found) = match new {
            Some((new, found)) => (Some(new), found),
            None => (None, changes(before.as_ref(), None, interner).unwrap_or_default()),
        };
        self.before = new;
        let relisted = |change| (commit, Relisted { manifest: manifest.clone(), change, is_proved });
        self.found.extend(found.into_iter().map(relisted));
        outcome
    }

    fn after(self) -> Self {
        Self { before: self.before, ..Self::default() }
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
    let before = old.map(|old| unlike(old, new, interner)).transpose()?.unwrap_or_default();
    let after = new.map(|new| unlike(new, old, interner)).transpose()?.unwrap_or_default();
    let is_same_home = old.zip(new).is_some_and(|(old, new)| old.home() == new.home());
    let mut found = Vec::new();
    if let Some(old) = old {
        for key in before.keys().filter(|key| !is_same_home || !after.contains_key(*key)) {
            found.push(Change { home: old.home().clone(), key: key.clone(), listed: None });
        }
    }
    if let Some(new) = new {
        for (key, listed) in after {
            if !is_same_home || before.get(&key) != Some(&listed) {
                found.push(Change { home: new.home().clone(), key, listed: Some(Arc::new(listed)) });
            }
        }
    }
    Ok(found)
}

/// Returns the objects of a version that `other` does not list alike.
fn unlike(version: &Version, other: Option<&Version>, interner: &mut Interner) -> Result<Objects, &'static str> {
    let mut found = Objects::new();
    version.objects(other, interner, &mut |item| {
        let (key, listed) = object(item, &version.home().directory)?;
        found.insert(key, listed);
        Ok(())
    })?;
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
    let claimants = needed_by(node).collect::<Result<BTreeSet<Claimant>, _>>()?;
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
        Version::read(text.as_bytes(), before, &mut Interner::new())?.of(&"eu".into())
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
