//! The claimants that needed each Secret: what the manifests of a history say, read once each.
//!
//! A manifest binds an entry to a file by the file's hash, so that nobody needs to know at which commit
//! both stood together.

use alloc::borrow::ToOwned as _;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::manifest::{Brought, Home, MISSHAPEN, Reads, Version, needed_by};
use crate::name::{Claimant, Directory, FleetName};
use crate::node::{Interner, Node};

/// What manifests say of Secrets.
#[derive(Default, Debug)]
pub struct ListedBy {
    /// By folder, hash of a file and fleet that lists it: the claimants that need it.
    files: BTreeMap<(Directory, String, FleetName), BTreeSet<Claimant>>,
    /// The fleets of each folder.
    fleets: BTreeMap<Directory, BTreeSet<FleetName>>,
}

/// The Secrets that manifests list, by all of them and by those that are proved.
#[derive(Default)]
pub struct Vouched {
    /// The lists of all.
    pub said: ListedBy,
    /// The lists of those that a reuse key proves.
    pub proved: ListedBy,
    before: Option<Version>,
    before_proved: Option<Version>,
}

impl Reads for Vouched {
    fn read(&mut self, version: &Brought<'_>, interner: &mut Interner) -> Result<(), &'static str> {
        let Some(bytes) = version.bytes else { return Ok(()) };
        self.said.read(bytes, &mut self.before, interner)?;
        if version.is_proved { self.proved.read(bytes, &mut self.before_proved, interner) } else { Ok(()) }
    }

    fn after(self) -> Self {
        self
    }
}

impl ListedBy {
    /// Reads one version of a manifest.
    ///
    /// `before` is the version that was read before it, if there was one: what both have is known already. Afterwards
    /// `before` holds this version, unless it cannot be read.
    pub fn read(
        &mut self,
        bytes: &[u8],
        before: &mut Option<Version>,
        interner: &mut Interner,
    ) -> Result<(), &'static str> {
        let version = Version::read(bytes, before.as_ref(), interner)?;
        let home = version.home();
        self.fleets.entry(home.directory.clone()).or_default().insert(home.fleet.clone());
        version.objects(before.as_ref(), interner, &mut |object| self.add(home, object))?;
        *before = Some(version);
        Ok(())
    }

    fn add(&mut self, home: &Home, object: &Node) -> Result<(), &'static str> {
        if object.str_at(&["key", "kind"]) != Some("Secret") {
            return Ok(());
        }
        let claimants = self.file(home, object.str_at(&["sha256"]).ok_or(MISSHAPEN)?);
        needed_by(object).try_for_each(|by| by.map(|by| _ = claimants.insert(by)))
    }

    /// Notes that a file is listed, and returns the claimants that are known to need it.
    pub fn file(&mut self, home: &Home, sha256: &str) -> &mut BTreeSet<Claimant> {
        self.files.entry((home.directory.clone(), sha256.to_owned(), home.fleet.clone())).or_default()
    }

    /// Adds what another collection says.
    pub fn absorb(&mut self, other: Self) {
        for (file, claimants) in other.files {
            self.files.entry(file).or_default().extend(claimants);
        }
        for (directory, fleets) in other.fleets {
            self.fleets.entry(directory).or_default().extend(fleets);
        }
    }

    /// Whether a file was published for a fleet.
    pub fn says(&self, fleet: &FleetName, directory: &Directory, sha256: &str) -> bool {
        self.files.contains_key(&(directory.clone(), sha256.to_owned(), fleet.clone()))
    }

    /// The fleets that a file was published for, each with the Credentials that needed it.
    pub fn of(&self, directory: &Directory, sha256: &str) -> Vec<(Option<&FleetName>, BTreeSet<&Claimant>)> {
        let first = (directory.clone(), sha256.to_owned(), FleetName::from(""));
        let listed = self.files.range(first..).take_while(|((of, hash, _), _)| of == directory && hash == sha256);
        let listed: Vec<_> = listed.map(|((.., fleet), by)| (Some(fleet), by.iter().collect())).collect();
        if !listed.is_empty() {
            return listed;
        }
        // Nobody vouches for the file; it belongs to the folder's fleet, if only one fleet ever had the folder.
        let mut fleets = self.fleets.get(directory).into_iter().flatten();
        let only = fleets.next().filter(|_| fleets.next().is_none());
        Vec::from([(only, BTreeSet::new())])
    }
}

#[cfg(test)]
mod tests {
    use super::super::cut::{Cut, OBJECTS};
    use super::*;
    use proptest::prelude::*;

    fn item(name: &str, sha256: &str, by: &[&str]) -> String {
        let by: String =
            by.iter().map(|by| format!("  - kind: Credential\n    name: {by}\n    namespace: t\n")).collect();
        let by = if by.is_empty() { String::from(" []\n") } else { format!("\n{by}") };
        format!("- key:\n    group: \"\"\n    kind: Secret\n    name: {name}\n  neededBy:{by}  sha256: \"{sha256}\"\n")
    }

    fn manifest(fleet: &str, items: &str) -> String {
        let objects = if items.is_empty() { String::from("objects: []\n") } else { format!("objects:\n{items}") };
        format!(
            "# pouch/v1 0123abcd x\napiVersion: pouch/v1alpha1\nfiles:\n- path: a\n  sha256: b\nfleet: {fleet}\nkind: Bundle\n\
             metadata:\n  name: eu\n{objects}recipients: []\nsources: []\n"
        )
    }

    fn read_all<'t>(texts: impl IntoIterator<Item = &'t String>, together: bool) -> ListedBy {
        let (mut said, mut before) = (ListedBy::default(), None);
        for text in texts {
            said.read(text.as_bytes(), &mut before, &mut Interner::new()).unwrap();
            before = before.filter(|_| together);
        }
        said
    }

    #[test]
    fn an_entry_is_bound_to_a_file_by_its_hash() {
        let said = read_all([&manifest("acme", &item("a", "1", &["x", "w"]))], true);
        let eu = Directory::from("eu");
        let told = |sha256: &str| {
            let told = said.of(&eu, sha256).into_iter();
            let line = |(fleet, by): (Option<&FleetName>, BTreeSet<&Claimant>)| format!("{fleet:?} {}", by.len());
            told.map(line).collect::<Vec<_>>()
        };
        assert_eq!(told("1"), ["Some(\"acme\") 2"]);
        assert_eq!(told("2"), ["Some(\"acme\") 0"], "the folder was that fleet's alone");
        assert!(said.says(&"acme".into(), &eu, "1") && !said.says(&"other".into(), &eu, "1"));
        let two = read_all([&manifest("acme", ""), &manifest("other", "")], true);
        assert!(two.of(&eu, "2").iter().all(|(fleet, _)| fleet.is_none()), "nobody knows whose it is");
    }

    #[test]
    fn other_layouts_are_read_as_a_whole() {
        let flow = "{apiVersion: pouch/v1alpha1, kind: Bundle, fleet: acme, metadata: {name: eu}, objects: \
                    [{key: {kind: Secret}, sha256: '1', neededBy: [{namespace: t, name: x}]}]}";
        assert!(Cut::of(flow).is_none());
        let mut said = ListedBy::default();
        said.read(flow.as_bytes(), &mut None, &mut Interner::new()).unwrap();
        assert!(said.says(&"acme".into(), &"eu".into(), "1"));
        for bad in
            ["", "kind: [", "kind: Bundle\n", "a: 1\n---\nb: 2\n", "Secret \u{0}", "objects:\n- x\nobjects:\n- y\n"]
        {
            assert!(ListedBy::default().read(bad.as_bytes(), &mut None, &mut Interner::new()).is_err(), "{bad:?}");
        }
        let odd = manifest("acme", "- 1\n- key: {kind: Secret}\n");
        assert!(ListedBy::default().read(odd.as_bytes(), &mut None, &mut Interner::new()).is_err());
    }

    proptest! {
        /// Passing over what the version before had loses nothing, wherever versions differ.
        #[test]
        fn what_both_versions_have_is_read_once(
            versions in prop::collection::vec(prop::collection::vec((0..6_u8, 0..4_u8, 0..3_usize), 0..40), 1..6),
            other in any::<bool>(),
        ) {
            let texts: Vec<String> = versions.iter().enumerate().map(|(at, items)| {
                let items: String = items.iter().map(|(name, sha256, by)| {
                    item(&format!("s{name}"), &format!("{sha256}"), &["x", "w", "z"][..*by])
                }).collect();
                manifest(if other && at % 2 == 1 { "other" } else { "acme" }, &items)
            }).collect();
            for (old, new) in texts.iter().zip(texts.iter().skip(1)) {
                let cut = Cut::of(old);
                let both_have = [old, new].iter().all(|text| text.contains(OBJECTS));
                let is_alike = cut.and_then(|cut| cut.alike(old, new)).is_some();
                prop_assert_eq!(is_alike, both_have && !(other && versions.len() > 1));
            }
            let (quick, slow) = (read_all(&texts, true), read_all(&texts, false));
            prop_assert_eq!(quick.files, slow.files);
            prop_assert_eq!(quick.fleets, slow.fleets);
        }

        /// A text that is like the one before is cut where it would be cut by itself, whatever was done to it.
        #[test]
        fn what_is_alike_is_cut_as_by_itself(
            names in prop::collection::vec(0..6_u8, 1..60),
            at in any::<prop::sample::Index>(),
            gone in 0..40_usize,
            put in prop::sample::select(Vec::from(["", "\n", "x", "\nx", "\n\n", "\n- x", " ", "-", "\nobjects:\n- a: 1\n", "\r\n"])),
        ) {
            let items: String = names.iter().map(|name| item(&format!("s{name}"), "1", &["x"])).collect();
            let old = manifest("acme", &items);
            let start = at.index(old.len());
            let end = start.saturating_add(gone).min(old.len());
            let new = format!("{}{put}{}", old.get(..start).unwrap(), old.get(end..).unwrap());
            let before = Cut::of(&old);
            prop_assert!(before.is_some());
            if let Some(cut) = before.and_then(|before| before.alike(&old, &new)) {
                prop_assert_eq!(Some(cut), Cut::of(&new));
            }
        }
    }
}
