//! What one version of a manifest lists otherwise than another, against what each lists by itself.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pouch_core::history::listing::{Change, Listed, changes};
use pouch_core::history::manifest::{Home, Version};
use pouch_core::name::ObjectKey;
use pouch_core::node::{Interner, Node};

use super::input::document;

/// What separates two versions.
const BETWEEN: &[u8] = b"\n====\n";

type All = BTreeMap<(Home, ObjectKey), Arc<Listed>>;

/// The older version, a line that separates, the newer version; without that line, the newer one alone.
pub fn run(data: &[u8]) {
    let between = data.windows(BETWEEN.len()).position(|window| window == BETWEEN);
    // The line feed before the line belongs to the older version.
    let (old, new) = between.map_or((&[][..], data), |at| (&data[..=at], &data[at + BETWEEN.len()..]));
    let directory = "eu-west".into();
    let read = |bytes: &[u8], before: Option<&Version>| {
        Version::read(bytes, before, &mut Interner::new()).and_then(|version| version.of(&directory))
    };
    let told = |old: Option<&Version>, new: &Version| changes(old, Some(new), &mut Interner::new());

    let before = read(old, None).ok().filter(|old| told(None, old).is_ok());
    let (alone, beside) = (read(new, None), read(new, before.as_ref()));
    assert_eq!(alone.as_ref().err(), beside.as_ref().err(), "the version before decides what a version is");
    let (Ok(alone), Ok(beside)) = (alone, beside) else { return };
    let (all, changed) = (told(None, &alone), told(before.as_ref(), &beside));
    assert_eq!(all.is_ok(), changed.is_ok(), "the version before decides whether a version can be used");
    let (Ok(all), Ok(changed)) = (all, changed) else { return };
    // Which of two entries for one object counts, nobody asks: pouch writes one.
    if repeats(new) || (before.is_some() && repeats(old)) {
        return;
    }
    let mut known: All = before.as_ref().map(|old| whole(told(None, old).expect("it was read"))).unwrap_or_default();
    for Change { home, key, listed } in changed {
        let is_news = match listed {
            Some(listed) => known.insert((home, key), Arc::clone(&listed)) != Some(listed),
            None => known.remove(&(home, key)).is_some(),
        };
        assert!(is_news, "a change is told that is none");
    }
    assert!(known == whole(all), "what is told makes something else of the older version than the newer one");
    let gone = changes(Some(&beside), None, &mut Interner::new()).expect("it was read");
    assert_eq!(gone.len(), known.len(), "all of a manifest goes with it");
}

fn whole(all: Vec<Change>) -> All {
    all.into_iter().filter_map(|Change { home, key, listed }| Some(((home, key), listed?))).collect()
}

/// Whether a manifest has two entries for one object, or cannot be read as one document.
fn repeats(manifest: &[u8]) -> bool {
    let Some(node) = document(manifest) else { return true };
    let items = node.at(&["objects"]).map(Node::items).unwrap_or_default();
    let text = |item: &Node, field| item.str_at(&["key", field]).unwrap_or_default().to_owned();
    let keys: BTreeSet<_> =
        items.iter().map(|item| ["group", "kind", "namespace", "name"].map(|f| text(item, f))).collect();
    keys.len() < items.len()
}
