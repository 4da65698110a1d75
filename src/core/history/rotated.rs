//! The values of Secrets that a commit replaced, as the commit itself says it in lines below its message.
//!
//! A run that publishes has the values and the reuse key, so it knows of each Secret that it seals again which entries
//! have another value. Later, files alone do not tell that. The lines hold no value; they prove something only in a commit
//! whose last line proves that pouch made it, and only of files that proved manifests list.
//!
//! ```text
//! Pouch-Changed: DIRECTORY NAMESPACE/NAME ENTRY ENTRY?
//! Pouch-Compared: DIRECTORY DIRECTORY
//! ```
//!
//! An entry with `?` is one of several of which at least one changed; `?` alone stands for every entry of the Secret, and
//! `NAMESPACE/* ?` for those of every Secret of a namespace that is not named. In a folder that `Pouch-Compared` names, all other
//! entries of what the commit sealed again have the value of before.
//!
//! The room is shared: a Secret with many entries is named without them, and namespaces take turns. So a tenant with many Secrets
//! does not make unknown what became of others'.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::name::Directory;
use crate::secret::EntryChange;

/// The trailer that names a Secret and its entries that changed.
pub const CHANGED: &str = "Pouch-Changed";

/// The trailer that names folders in which everything else that was sealed again has the values of before.
pub const COMPARED: &str = "Pouch-Compared";

/// The most Secrets that one commit names, and the most namespaces of which it says that not all are named. The folder of one
/// beyond these is not compared.
const MOST_SECRETS: usize = 500;

/// The most bytes of the lines that name either.
const MOST_BYTES: usize = 64 << 10;

/// The most bytes of a line with entries.
const LONGEST: usize = 2 << 10;

/// The name that stands for every Secret of a namespace.
const REST: &str = "*";

/// The most folders in one line.
const MOST_DIRECTORIES: usize = 20;

/// The entry that stands for every entry.
const EVERY: &str = "";

/// The values that a commit replaced.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rotated {
    /// By folder and `namespace/name`: the entries, and whether each is certain to have changed.
    secrets: BTreeMap<(Directory, String), BTreeMap<String, bool>>,
    /// The folders in which all was compared.
    compared: BTreeSet<Directory>,
}

impl Rotated {
    /// Notes that the published Secrets of a folder were compared with those that are sealed again.
    pub fn compare(&mut self, directory: &Directory) {
        self.compared.insert(directory.clone());
    }

    /// Notes that an entry of a Secret changed, or perhaps did.
    pub fn entry(&mut self, directory: &Directory, secret: &str, entry: &str, is_certain: bool) {
        let secret = self.secrets.entry((directory.clone(), secret.to_string())).or_default();
        secret.insert(entry.to_string(), is_certain);
    }

    /// Notes that it is not known of a Secret which entries changed.
    pub fn unknown(&mut self, directory: &Directory, secret: &str) {
        self.entry(directory, secret, EVERY, false);
    }

    /// What became of an entry; none where that is not said.
    pub fn of(&self, directory: &Directory, secret: &str, entry: &str) -> Option<EntryChange> {
        let get = |secret: &str| self.secrets.get(&(directory.clone(), secret.to_string()));
        let named = get(secret).or_else(|| get(&rest_of(namespace_of(secret))));
        let is_certain = named.and_then(|entries| entries.get(entry).or_else(|| entries.get(EVERY)));
        match is_certain {
            Some(true) => Some(EntryChange::Changed),
            Some(false) => None,
            None => self.compared.contains(directory).then_some(EntryChange::Same),
        }
    }

    /// The lines that say it, each with the name of its trailer. Of more than are written, nothing is claimed.
    pub fn trailers(&self) -> Vec<(&'static str, String)> {
        let mut of_namespaces: BTreeMap<&str, Vec<(&Directory, String)>> = BTreeMap::new();
        for ((directory, secret), entries) in &self.secrets {
            let line = line(directory, secret, entries);
            of_namespaces.entry(namespace_of(secret)).or_default().push((directory, line));
        }
        let mut turns: Vec<_> = of_namespaces.into_iter().map(|(name, lines)| (name, lines.into_iter())).collect();
        let (mut named, mut rest) = (Room::default(), BTreeSet::new());
        while !turns.is_empty() {
            turns.retain_mut(|(namespace, lines)| match lines.next() {
                Some((_, line)) if named.fits(&line) => {
                    named.take(line);
                    true
                }
                Some((directory, _)) => {
                    rest.insert((directory, *namespace));
                    rest.extend(lines.map(|(directory, _)| (directory, *namespace)));
                    false
                }
                None => false,
            });
        }
        let (mut compared, mut of_rest) = (self.compared.clone(), Room::default());
        for (directory, namespace) in rest {
            let line = line(directory, &rest_of(namespace), &BTreeMap::from([(EVERY.to_string(), false)]));
            match of_rest.fits(&line) {
                true => of_rest.take(line),
                false => _ = compared.remove(directory),
            }
        }
        named.lines.sort();
        let mut lines: Vec<_> = named.lines.into_iter().chain(of_rest.lines).map(|line| (CHANGED, line)).collect();
        let compared: Vec<&str> = compared.iter().map(Directory::as_str).collect();
        lines.extend(compared.chunks(MOST_DIRECTORIES).map(|names| (COMPARED, names.join(" "))));
        lines
    }

    /// Reads what follows the names of the trailers.
    pub fn read<'t>(changed: impl IntoIterator<Item = &'t str>, compared: impl IntoIterator<Item = &'t str>) -> Self {
        let mut read = Self::default();
        for directory in compared.into_iter().flat_map(|line| line.split(' ')) {
            read.compare(&directory.into());
        }
        for line in changed {
            let mut words = line.split(' ');
            let (Some(directory), Some(secret)) = (words.next(), words.next()) else { continue };
            for word in words {
                match word.strip_suffix('?') {
                    Some(entry) => read.entry(&directory.into(), secret, entry, false),
                    None => read.entry(&directory.into(), secret, word, true),
                }
            }
        }
        read
    }
}

/// Lines, as many as fit.
#[derive(Default)]
struct Room {
    lines: Vec<String>,
    bytes: usize,
}

impl Room {
    fn fits(&self, line: &str) -> bool {
        self.lines.len() < MOST_SECRETS && self.bytes.saturating_add(line.len()) <= MOST_BYTES
    }

    /// Takes a line that fits.
    fn take(&mut self, line: String) {
        self.bytes = self.bytes.saturating_add(line.len());
        self.lines.push(line);
    }
}

/// The line of a Secret; of one that would be too long, every entry may have changed.
fn line(directory: &Directory, secret: &str, entries: &BTreeMap<String, bool>) -> String {
    let entry = |(name, is_certain): (&String, &bool)| format!(" {name}{}", if *is_certain { "" } else { "?" });
    let whole = format!("{directory} {secret}{}", entries.iter().map(entry).collect::<String>());
    if whole.len() > LONGEST { format!("{directory} {secret} ?") } else { whole }
}

fn namespace_of(secret: &str) -> &str {
    secret.split_once('/').map_or(secret, |(namespace, _)| namespace)
}

/// The text that stands for the Secrets of a namespace that are not named.
fn rest_of(namespace: &str) -> String {
    format!("{namespace}/{REST}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_back(rotated: &Rotated) -> Rotated {
        let lines = rotated.trailers();
        let of = |trailer| lines.iter().filter(move |(name, _)| *name == trailer).map(|(_, line)| line.as_str());
        Rotated::read(of(CHANGED), of(COMPARED))
    }

    #[test]
    fn lines_say_what_was_noted_and_nothing_else() {
        let (eu, us) = (Directory::from("eu"), Directory::from("us"));
        let mut rotated = Rotated::default();
        rotated.compare(&eu);
        rotated.entry(&eu, "team/a", "key", true);
        rotated.entry(&eu, "team/a", "user", false);
        rotated.unknown(&eu, "team/b");
        rotated.entry(&us, "team/a", "key", true);
        let read = read_back(&rotated);
        assert_eq!(read, rotated);
        for (directory, secret, entry, expected) in [
            (&eu, "team/a", "key", Some(EntryChange::Changed)),
            (&eu, "team/a", "user", None),
            (&eu, "team/a", "other", Some(EntryChange::Same)),
            (&eu, "team/b", "key", None),
            (&eu, "team/c", "key", Some(EntryChange::Same)),
            (&us, "team/a", "key", Some(EntryChange::Changed)),
            (&us, "team/a", "other", None),
        ] {
            assert_eq!(read.of(directory, secret, entry), expected, "{directory} {secret} {entry}");
        }
        assert_eq!(Rotated::default().of(&eu, "team/a", "key"), None);
    }

    #[test]
    fn of_a_namespace_that_is_not_told_whole_nothing_is_the_same() {
        let (eu, us) = (Directory::from("eu"), Directory::from("us"));
        for (count, expected) in [(MOST_SECRETS - 1, Some(EntryChange::Same)), (MOST_SECRETS, None)] {
            let mut rotated = Rotated::default();
            (0..count).for_each(|number| rotated.entry(&us, &format!("team/{number:05}"), "key", true));
            rotated.entry(&us, "zoo/last", "key", true);
            rotated.compare(&eu);
            rotated.compare(&us);
            let read = read_back(&rotated);
            assert_eq!(read.of(&us, "team/other", "key"), expected);
            assert_eq!(read.of(&us, "team/00000", "key"), Some(EntryChange::Changed));
            assert_eq!(read.of(&us, "team/00000", "other"), Some(EntryChange::Same));
            // Others lose neither what changed nor what did not.
            assert_eq!(read.of(&us, "zoo/last", "key"), Some(EntryChange::Changed));
            assert_eq!(read.of(&us, "zoo/other", "key"), Some(EntryChange::Same));
            assert_eq!(read.of(&eu, "team/other", "key"), Some(EntryChange::Same));
        }
    }

    #[test]
    fn a_secret_with_long_entries_is_named_without_them() {
        let eu = Directory::from("eu");
        for (count, expected) in [(7, Some(EntryChange::Same)), (300, None)] {
            let mut rotated = Rotated::default();
            (0..count).for_each(|number| rotated.entry(&eu, "aaa/aws", &format!("{number:0244}"), true));
            rotated.entry(&eu, "team/aws", "key", true);
            rotated.compare(&eu);
            let read = read_back(&rotated);
            assert_eq!(read.of(&eu, "aaa/aws", "other"), expected);
            assert_eq!(read.of(&eu, "team/aws", "key"), Some(EntryChange::Changed));
            assert_eq!(read.of(&eu, "team/aws", "other"), Some(EntryChange::Same));
        }
    }

    #[test]
    fn of_more_namespaces_than_fit_the_folder_is_not_compared() {
        let (eu, us) = (Directory::from("eu"), Directory::from("us"));
        for (namespaces, expected) in [(MOST_SECRETS, Some(EntryChange::Same)), (MOST_SECRETS * 2 + 1, None)] {
            let mut rotated = Rotated::default();
            (0..namespaces).for_each(|number| rotated.entry(&us, &format!("n{number:04}/aws"), "key", true));
            rotated.compare(&eu);
            rotated.compare(&us);
            let read = read_back(&rotated);
            assert_eq!(read.of(&us, "other/aws", "key"), expected);
            assert_eq!(read.of(&us, "n0000/aws", "key"), Some(EntryChange::Changed));
            assert_eq!(read.of(&eu, "other/aws", "key"), Some(EntryChange::Same));
        }
    }
}
