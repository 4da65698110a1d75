//! The files of each Secret that commits replaced one by the other, and what is proved of their values.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::manifest::Home;
use crate::name::ObjectKey;

/// The entries of which it is known whether one file has another value than the other.
pub type Known = BTreeMap<String, bool>;

/// A Secret, and the hash of a file of it.
type At = (Home, ObjectKey, String);

/// What replaced which file.
#[derive(Default, Debug)]
pub struct Steps {
    next: BTreeMap<At, Vec<(String, Known)>>,
}

impl Steps {
    /// Notes that a file of a Secret was replaced by another one.
    pub fn add(&mut self, (home, key): (&Home, &ObjectKey), (old, new): (&str, &str), known: Known) {
        let at = (home.clone(), key.clone(), String::from(old));
        self.next.entry(at).or_default().push((String::from(new), known));
    }

    /// Whether an entry has another value in a later file of a Secret than in an earlier one, as far as that is proved.
    ///
    /// One change on the way proves another value. After two it may be the first value again.
    pub fn is_changed(&self, (home, key): (&Home, &ObjectKey), (old, new): (&str, &str), entry: &str) -> Option<bool> {
        let mut seen: BTreeSet<(String, bool)> = BTreeSet::new();
        let mut open = Vec::from([(String::from(old), false)]);
        while let Some(at) = open.pop() {
            if !seen.insert(at.clone()) {
                continue;
            }
            let (file, is_changed) = at;
            for (next, known) in self.next.get(&(home.clone(), key.clone(), file)).into_iter().flatten() {
                match known.get(entry) {
                    Some(true) if !is_changed => open.push((next.clone(), true)),
                    Some(false) => open.push((next.clone(), is_changed)),
                    Some(true) | None => {}
                }
            }
        }
        let reaches = |is_changed| seen.contains(&(String::from(new), is_changed));
        match (reaches(false), reaches(true)) {
            (true, _) => Some(false),
            (false, true) => Some(true),
            (false, false) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::GroupKind;

    #[test]
    fn one_change_proves_another_value_and_two_prove_nothing() {
        let home = Home { fleet: "acme".into(), directory: "eu".into() };
        let key = ObjectKey::new(GroupKind::new("", "Secret"), Some("t".into()), "s".into());
        let place = (&home, &key);
        let mut steps = Steps::default();
        for (old, new, known) in [
            ("a", "b", Some(false)),
            ("b", "c", Some(true)),
            ("c", "d", Some(false)),
            ("d", "e", Some(true)),
            ("e", "f", None),
        ] {
            steps.add(place, (old, new), known.map(|known| (String::from("k"), known)).into_iter().collect());
        }
        for (old, new, expected) in [
            ("a", "b", Some(false)),
            ("a", "c", Some(true)),
            ("a", "d", Some(true)),
            ("c", "d", Some(false)),
            ("d", "e", Some(true)),
            ("a", "e", None),
            ("e", "f", None),
            ("b", "a", None),
        ] {
            assert_eq!(steps.is_changed(place, (old, new), "k"), expected, "{old} {new}");
        }
        assert_eq!(steps.is_changed(place, ("a", "b"), "other"), None);
        // A file that came back leads nowhere else.
        steps.add(place, ("c", "b"), Known::from([(String::from("k"), true)]));
        assert_eq!(steps.is_changed(place, ("a", "b"), "k"), Some(false));
        let other = Home { directory: "us".into(), ..home.clone() };
        assert_eq!(steps.is_changed((&other, &key), ("a", "b"), "k"), None);
    }
}
