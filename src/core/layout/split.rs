//! Split: leaves that hold more than their consumer takes at once, in parts.
//!
//! A leaf is what a consumer builds and applies at once, and `kustomize build` takes a time that grows with the square
//! of its objects. A leaf above `limits.objectsPerLeaf` is split by the hash of each object's key. In how many parts
//! follows from the number of its objects, stands in the manifest, is a power of two and only ever doubles, so that an
//! addition moves nothing and the order of the sources decides nothing.
//!
//! The folders of a leaf in eight parts are other folders than those of the same leaf in four: `of-8/3`, `of-4/3`.
//! Whoever still applies a leaf as it was finds its folder gone, and prunes nothing. If the folder were there with
//! fewer objects in it, an agent that reads the new revision by its old instructions would prune the others before
//! anybody else brings them.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::path::{self, BundlePath, Leaf};
use crate::hash::sha256_start;
use crate::name::{Directory, GroupKind, ObjectKey};

/// The most parts of a leaf: beyond, a part holds more than it should.
pub const MOST_PARTS: u32 = 256;

/// In how many parts each leaf is that is split; the others are whole.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Splits {
    now: BTreeMap<Leaf, u32>,
    /// In how many parts it was before. The consumer may still have somebody for each of them, who prunes what leaves.
    former: BTreeSet<(Leaf, u32)>,
}

/// One part of a leaf.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Part {
    /// The leaf.
    pub leaf: Leaf,
    /// In how many parts it is.
    pub of: u32,
    /// Which of them this is, from zero.
    pub number: u32,
}

static NONE: Splits = Splits { now: BTreeMap::new(), former: BTreeSet::new() };

impl Splits {
    /// Nothing is split.
    pub fn none() -> &'static Self {
        &NONE
    }

    /// Whether nothing is split.
    pub fn is_none(&self) -> bool {
        self.now.is_empty()
    }

    /// In how many parts a leaf is, if it is split.
    pub fn of(&self, leaf: &Leaf) -> Option<u32> {
        self.now.get(leaf).copied()
    }

    /// The leaves that are split, and in how many parts.
    pub fn leaves(&self) -> impl Iterator<Item = (&Leaf, u32)> {
        self.now.iter().map(|(leaf, of)| (leaf, *of))
    }

    /// The parts that leaves had before.
    pub fn former(&self) -> impl Iterator<Item = Part> {
        let parts = |(leaf, of): &(Leaf, u32)| {
            let (leaf, of) = (leaf.clone(), *of);
            (0..of).map(move |number| Part { leaf: leaf.clone(), of, number })
        };
        self.former.iter().flat_map(parts)
    }

    /// The parts of a leaf; none if it is whole.
    pub fn parts_of(&self, leaf: &Leaf) -> impl Iterator<Item = Part> + use<> {
        let (leaf, of) = (leaf.clone(), self.of(leaf).unwrap_or_default());
        (0..of).map(move |number| Part { leaf: leaf.clone(), of, number })
    }

    /// All parts, of all leaves.
    pub fn parts(&self) -> impl Iterator<Item = Part> {
        self.now.keys().flat_map(|leaf| self.parts_of(leaf))
    }

    /// The part that an object is in; none if its leaf is whole.
    pub fn part(&self, key: &ObjectKey) -> Option<Part> {
        if self.is_none() {
            return None;
        }
        let leaf = Leaf::home(&key.kind);
        let of = self.of(&leaf)?;
        Some(Part { leaf, of, number: number(key, of) })
    }

    /// The file of an object.
    pub fn of_object(&self, directory: &Directory, key: &ObjectKey) -> BundlePath {
        match self.part(key) {
            None => path::of_object(directory, key),
            Some(part) => path::of_object_below(directory, &format!("parts/{part}"), key),
        }
    }

    /// The splits that suit leaves of at most `most` objects where these are there to stay; what is split stays so.
    ///
    /// Only their number counts, so that nobody makes parts by choosing names.
    #[must_use]
    pub fn grown<'k>(&self, keys: impl Iterator<Item = &'k ObjectKey>, most: Option<usize>) -> Self {
        let Some(most) = most else { return self.clone() };
        let mut counts: BTreeMap<Leaf, usize> = BTreeMap::new();
        let mut homes: BTreeMap<&GroupKind, Leaf> = BTreeMap::new();
        for key in keys {
            let leaf = homes.entry(&key.kind).or_insert_with(|| Leaf::home(&key.kind));
            match counts.get_mut(leaf) {
                Some(count) => *count += 1,
                None => _ = counts.insert(leaf.clone(), 1),
            }
        }
        let count = |leaf: &Leaf| counts.get(leaf).copied().unwrap_or_default();
        let mut splits = self.clone();
        let (core, namespaces) = (Leaf::core(), Leaf::namespaces());
        // Namespaces stand in the core as long as it is whole.
        if splits.of(&core).is_none() && count(&core) + count(&namespaces) > most {
            splits.now.insert(core, 1);
            splits.now.insert(namespaces.clone(), 1);
        }
        for (leaf, count) in &counts {
            let before = splits.of(leaf);
            if *leaf == namespaces && before.is_none() {
                continue;
            }
            let parts = parts_for(*count, most).max(before.unwrap_or(1));
            if before.is_some() || parts > 1 {
                splits.now.insert(leaf.clone(), parts);
            }
        }
        let outgrown = self.now.iter().filter(|(leaf, of)| splits.of(leaf) != Some(**of));
        let outgrown: Vec<(Leaf, u32)> = outgrown.map(|(leaf, of)| (leaf.clone(), *of)).collect();
        splits.former.extend(outgrown);
        splits
    }

    /// What the files that stand in a region's folders look like: nothing that anybody may believe.
    pub fn supposed<'p>(directory: &Directory, standing: impl Iterator<Item = &'p str>) -> Self {
        let part = |path| Part::of_path(directory, path).or_else(|| Part::of_flux(directory, path));
        let all: BTreeSet<(Leaf, u32)> = standing.filter_map(part).map(|part| (part.leaf, part.of)).collect();
        // The last of a leaf is the one in most parts.
        let mut now: BTreeMap<Leaf, u32> = all.iter().cloned().collect();
        let (core, namespaces) = (Leaf::core(), Leaf::namespaces());
        if now.contains_key(&core) || now.contains_key(&namespaces) {
            now.entry(core).or_insert(1);
            now.entry(namespaces).or_insert(1);
        }
        let former = all.into_iter().filter(|(leaf, of)| now.get(leaf) != Some(of)).collect();
        Self { now, former }
    }

    /// What the text of a manifest, as pouch writes it, says of parts: nothing that anybody may believe.
    pub fn told(manifest: &str) -> Option<Self> {
        let list = |field: &str| {
            let found = manifest.split_once(field).map(|(_, rest)| rest).unwrap_or_default();
            let items = found.lines().map_while(|line| line.strip_prefix("- "));
            items.map(Self::parse).collect::<Option<Vec<_>>>()
        };
        Self::from_leaves(list("\nparts:\n")?, list("\nformerParts:\n")?)
    }

    /// The splits as the manifest lists them, `<leaf>/of-<parts>`, sorted.
    pub fn listed(&self) -> Vec<String> {
        self.now.iter().map(|(leaf, of)| line(leaf, *of)).collect()
    }

    /// The same of what was before.
    pub fn listed_former(&self) -> Vec<String> {
        self.former.iter().map(|(leaf, of)| line(leaf, *of)).collect()
    }

    /// Reads what [`listed`](Self::listed) says of one leaf.
    pub fn parse(text: &str) -> Option<(Leaf, u32)> {
        let (leaf, of) = text.split_once("/of-")?;
        let of = parsed(of).filter(|of| of.is_power_of_two() && *of <= MOST_PARTS)?;
        Some((Leaf::parse(leaf)?, of))
    }

    /// The splits of leaves, and what they were before; none if a core without Namespaces, or Namespaces without a core,
    /// would be split, or one was in as many parts or more.
    pub fn from_leaves(leaves: Vec<(Leaf, u32)>, former: Vec<(Leaf, u32)>) -> Option<Self> {
        let splits = Self { now: leaves.into_iter().collect(), former: former.into_iter().collect() };
        let is_less = |(leaf, of): &(Leaf, u32)| splits.of(leaf).is_some_and(|now| *of < now);
        let is_paired = splits.of(&Leaf::core()).is_some() == splits.of(&Leaf::namespaces()).is_some();
        (is_paired && splits.former.iter().all(is_less)).then_some(splits)
    }
}

/// The fewest parts in which so many objects make each part three quarters full on average: the fullest is then rarely
/// above `most`. One part may be full.
fn parts_for(count: usize, most: usize) -> u32 {
    let fits = |of: &u32| {
        let of = usize::try_from(*of).unwrap_or(usize::MAX);
        count.saturating_mul(4) <= of.saturating_mul(most).saturating_mul(if of == 1 { 4 } else { 3 })
    };
    (0..=MOST_PARTS.ilog2()).map(|power| 1 << power).find(fits).unwrap_or(MOST_PARTS)
}

/// The part of an object where there are so many.
///
/// No part of a key holds a NUL that reaches a region, and whoever found two keys with one hash would gain nothing.
fn number(key: &ObjectKey, of: u32) -> u32 {
    let texts = [key.kind.group.as_str(), key.kind.kind.as_str(), key.namespace_text(), key.name.as_str()];
    let hash = u32::from_be_bytes(sha256_start(texts.join("\0").as_bytes()));
    of.checked_sub(1).map_or(0, |mask| hash & mask)
}

fn line(leaf: &Leaf, of: u32) -> String {
    format!("{leaf}/of-{of}")
}

fn parsed(number: &str) -> Option<u32> {
    let number_of: u32 = number.parse().ok()?;
    // No other spelling of the same number is a folder of ours.
    (format!("{number_of}") == number).then_some(number_of)
}

impl Part {
    /// Its folder.
    pub fn folder(&self, directory: &Directory) -> BundlePath {
        path::region(directory).join(&format!("parts/{self}"))
    }

    /// The part that a file stands in, relative to the output.
    pub fn of_path(directory: &Directory, path: &str) -> Option<Self> {
        let below = path.strip_prefix(path::region(directory).as_str())?.strip_prefix("/parts/")?;
        Self::parse(below).map(|(part, _)| part)
    }

    /// The part that a Flux Kustomization's file is of.
    fn of_flux(directory: &Directory, path: &str) -> Option<Self> {
        let below = path.strip_prefix(path::flux(directory).as_str())?.strip_prefix("/parts/")?;
        let below = format!("{}/", below.strip_suffix(".yaml")?);
        Self::parse(&below).filter(|(_, rest)| rest.is_empty()).map(|(part, _)| part)
    }

    /// The part at the start of a path below `parts/`, and what remains.
    pub fn parse(text: &str) -> Option<(Self, &str)> {
        let (leaf, rest) = text.split_once('/')?;
        let (of, rest) = rest.split_once('/')?;
        let (number, rest) = rest.split_once('/')?;
        let of = parsed(of.strip_prefix("of-")?).filter(|of| of.is_power_of_two() && *of <= MOST_PARTS)?;
        let number = parsed(number).filter(|number| *number < of)?;
        Some((Self { leaf: Leaf::parse(leaf)?, of, number }, rest))
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/of-{}/{}", self.leaf, self.of, self.number)
    }
}

#[cfg(test)]
mod tests;
