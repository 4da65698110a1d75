//! Sealed values that stand in more than one file.
//!
//! Each value is sealed with randomness of its own, so the same text in two files was copied: with its data key
//! it opens there as well, and SOPS binds it neither to a name nor to a namespace. Within one file a repetition
//! may be honest, as `sops edit` keeps the randomness of equal values, and the file's MAC covers all of them.
//!
//! The MAC tells the copy: a file whose MAC does not verify is no origin, and its author must not be able to
//! stop the file that he copied from. If the MAC verifies in both under one data key, somebody relabelled a
//! whole file and nobody can tell which. Under two data keys each file sealed its own value: a tag of AES-GCM
//! can be made to fit a second key, which opens nothing of the first one's and would otherwise be a way to stop
//! others. How a file is opened is not known here.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use crate::name::ObjectKey;
use crate::sops::read::{Fingerprint, KeyFingerprint};

/// A sealed file: the number of its source, and its own number there.
pub type File = (usize, usize);

/// The fingerprint of a file's data key if the file was opened and its MAC verified, else none.
pub type Proof = Option<KeyFingerprint>;

/// The sealed values that stand in several files, under several object keys.
#[derive(Default)]
pub(super) struct Copies {
    groups: Vec<BTreeSet<(ObjectKey, File)>>,
    of: BTreeMap<(ObjectKey, usize), Vec<usize>>,
    told: BTreeSet<(ObjectKey, usize)>,
}

/// An object that must not be used, because one of its values stands elsewhere too.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Copy {
    pub(super) key: ObjectKey,
    /// The number of its source.
    pub(super) source: usize,
    /// Another object with the value.
    pub(super) other: ObjectKey,
    /// Whether either object may be the origin.
    pub(super) either: bool,
}

impl Copies {
    /// Takes the sealed values of all objects, each with its file, and keeps those that stand in several
    /// places.
    pub(super) fn among(values: Vec<(ObjectKey, File, Vec<Fingerprint>)>) -> Self {
        let mut first = BTreeMap::new();
        let mut shared: BTreeMap<Fingerprint, BTreeSet<(ObjectKey, File)>> = BTreeMap::new();
        for (_, file, leaves) in &values {
            for leaf in leaves {
                if *first.entry(*leaf).or_insert(*file) != *file {
                    shared.entry(*leaf).or_default();
                }
            }
        }
        if shared.is_empty() {
            return Self::default();
        }
        for (key, file, leaves) in values {
            for leaf in leaves {
                if let Some(group) = shared.get_mut(&leaf) {
                    group.insert((key.clone(), file));
                }
            }
        }
        let mut copies = Self::default();
        // An object that two sources have is compared as an object; its values belong to nobody else.
        let of_several = |group: &BTreeSet<(ObjectKey, File)>| {
            group.first().zip(group.last()).is_some_and(|((first, _), (last, _))| first != last)
        };
        for group in shared.into_values().filter(of_several) {
            let number = copies.groups.len();
            for (key, (source, _)) in &group {
                copies.of.entry((key.clone(), *source)).or_default().push(number);
            }
            copies.groups.push(group);
        }
        copies
    }

    /// The files with a value that stands in another one, too.
    pub(super) fn files(&self) -> BTreeSet<File> {
        self.groups.iter().flatten().map(|(_, file)| *file).collect()
    }

    /// The files to look at before objects of a source are used.
    pub(super) fn in_doubt<'a>(&'a self, source: usize, keys: impl Iterator<Item = &'a ObjectKey>) -> BTreeSet<File> {
        let groups = keys.filter_map(|key| self.of.get(&(key.clone(), source))).flatten();
        let numbers: BTreeSet<usize> = groups.copied().collect();
        let groups = numbers.into_iter().filter_map(|number| self.groups.get(number)).flatten();
        groups.map(|(_, file)| *file).collect()
    }

    /// Judges the values whose files were all looked at, and names each copied object once.
    pub(super) fn judge(&mut self, proofs: &BTreeMap<File, Proof>) -> Vec<Copy> {
        let mut found = Vec::new();
        for group in &self.groups {
            if !group.iter().all(|(_, file)| proofs.contains_key(file)) {
                continue;
            }
            let proof = |file: &File| proofs.get(file).copied().flatten();
            let mut proved: BTreeMap<KeyFingerprint, Vec<&(ObjectKey, File)>> = BTreeMap::new();
            for member in group {
                if let Some(data_key) = proof(&member.1) {
                    proved.entry(data_key).or_default().push(member);
                }
            }
            let all: Vec<&(ObjectKey, File)> = group.iter().collect();
            let all = witnesses(&all);
            let proved: BTreeMap<_, _> = proved.into_iter().map(|(key, members)| (key, witnesses(&members))).collect();
            for (key, file) in group {
                let mine = proof(file);
                let others = match mine {
                    None => Some(&all),
                    Some(data_key) => proved.get(&data_key),
                };
                let other = others.into_iter().flatten().find(|(other, theirs)| other != key && theirs != file);
                let Some((other, _)) = other else { continue };
                if self.told.insert((key.clone(), file.0)) {
                    let (key, other) = (key.clone(), other.clone());
                    found.push(Copy { key, source: file.0, other, either: mine.is_some() });
                }
            }
        }
        found
    }
}

/// A few members that stand for all: whichever member differs from some other in key and in file, one of the
/// few differs from it in both. So ten thousand copies do not cost a hundred million comparisons.
fn witnesses<'a>(members: &[&'a (ObjectKey, File)]) -> Vec<&'a (ObjectKey, File)> {
    let find = |wanted: &dyn Fn(&(ObjectKey, File)) -> bool| members.iter().copied().find(|member| wanted(member));
    let Some((key, file)) = members.first() else { return Vec::new() };
    let other_key = find(&|member| member.0 != *key);
    let other_keys = other_key.and_then(|(_, known)| find(&|member| member.0 != *key && member.1 != *known));
    let other_file = find(&|member| member.1 != *file);
    let other_files = other_file.and_then(|(known, _)| find(&|member| member.1 != *file && member.0 != *known));
    members
        .first()
        .copied()
        .into_iter()
        .chain([other_key, other_keys, other_file, other_files].into_iter().flatten())
        .collect()
}

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use super::*;

    fn secret(name: &str) -> ObjectKey {
        ObjectKey::secret("n".into(), name.into())
    }

    /// Objects as `name file value…`, proofs as `file key` (`-` for none), and who must not be used.
    #[track_caller]
    fn check(objects: &[(&str, usize, &[u8])], proofs: &[(usize, Option<u8>)], expect: &[&str]) {
        let leaves = |values: &[u8]| values.iter().map(|value| [*value; 16]).collect();
        let values = objects.iter().map(|(name, file, values)| (secret(name), (0, *file), leaves(values))).collect();
        let mut copies = Copies::among(values);
        let proofs = proofs.iter().map(|(file, key)| ((0, *file), key.map(|key| [key; 32]))).collect();
        let found: Vec<String> = copies
            .judge(&proofs)
            .iter()
            .map(|copy| format!("{} {} {}", copy.key.name, copy.other.name, copy.either))
            .collect();
        assert_eq!(found, expect);
        assert!(copies.judge(&proofs).is_empty(), "each is named once");
    }

    const TWO: [(&str, usize, &[u8]); 2] = [("a", 0, &[1, 2]), ("b", 1, &[2, 3])];

    #[test]
    fn the_file_that_does_not_verify_holds_the_copy() {
        check(&TWO, &[(0, Some(7)), (1, None)], &["b a false"]);
        check(&TWO, &[(0, None), (1, Some(7))], &["a b false"]);
        check(&TWO, &[(0, None), (1, None)], &["a b false", "b a false"]);
        let many = [("a", 0, &[1][..]), ("b", 1, &[1]), ("c", 2, &[1])];
        check(&many, &[(0, None), (1, Some(7)), (2, None)], &["a b false", "c a false"]);
    }

    #[test]
    fn of_two_that_verify_nobody_knows_unless_their_data_keys_differ() {
        check(&TWO, &[(0, Some(7)), (1, Some(7))], &["a b true", "b a true"]);
        check(&TWO, &[(0, Some(7)), (1, Some(8))], &[]);
    }

    #[test]
    fn nothing_is_said_of_one_file_of_one_object_or_before_all_was_looked_at() {
        check(&[("a", 0, &[1]), ("b", 0, &[1])], &[(0, None)], &[]);
        check(&[("a", 0, &[1]), ("a", 1, &[1])], &[(0, None), (1, None)], &[]);
        check(&TWO, &[(0, None)], &[]);
        // The second object of a file is in doubt as well as the first.
        let beside = [("a", 0, &[1][..]), ("b", 0, &[1]), ("c", 1, &[1])];
        check(&beside, &[(0, Some(7)), (1, Some(7))], &["a c true", "b c true", "c a true"]);
    }

    /// Whatever keys and files the members have, the few find the same as all would.
    #[test]
    fn a_few_members_speak_for_all() {
        let places: Vec<(ObjectKey, File)> =
            (0..9_usize).map(|n| (secret(["a", "b", "c"][n % 3]), (0, n / 3))).collect();
        for chosen in 1..1_usize << places.len() {
            let members: Vec<_> =
                places.iter().enumerate().filter(|(n, _)| chosen >> n & 1 == 1).map(|(_, m)| m).collect();
            let few = witnesses(&members);
            for member in &members {
                let is_other = |other: &&&(ObjectKey, File)| other.0 != member.0 && other.1 != member.1;
                assert_eq!(few.iter().any(|m| is_other(&m)), members.iter().any(|m| is_other(&m)), "{chosen:b}");
            }
        }
    }

    #[test]
    fn only_what_shares_a_value_is_looked_at() {
        let leaf = |value| Vec::from([[value; 16]]);
        let values = Vec::from([
            (secret("a"), (0, 0), leaf(1)),
            (secret("b"), (1, 5), leaf(1)),
            (secret("c"), (0, 1), leaf(2)),
            (secret("d"), (0, 2), leaf(3)),
            (secret("e"), (0, 3), leaf(3)),
        ]);
        let copies = Copies::among(values);
        let files = |source, names: &[&str]| {
            let keys: Vec<ObjectKey> = names.iter().map(|name| secret(name)).collect();
            copies.in_doubt(source, keys.iter()).into_iter().collect::<Vec<_>>()
        };
        assert_eq!(files(0, &["a", "c"]), [(0, 0), (1, 5)]);
        assert_eq!(files(1, &["b"]), [(0, 0), (1, 5)]);
        assert!(files(0, &["c"]).is_empty() && files(1, &["a"]).is_empty());
    }
}
