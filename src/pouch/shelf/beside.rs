//! What stands in the output beside the folders of the configuration's regions: only looked at, nothing followed, and
//! what cannot be read is left out.

use std::collections::BTreeSet;

use pouch_core::layout::form::{Form, MOST_BYTES};
use pouch_core::layout::path::TOPS;
use pouch_core::name::Directory;
use pouch_core::verify::bundles::{Above, BundleTree, STEERING, Standing};

use crate::git::objects::MOST_DEPTH;
use crate::git::objects::standing::Mode;

/// The most paths of one walk: enough to name what stands there, and to match patterns.
const MOST: usize = 100_000;

/// What stands in the output beside the regions' folders.
#[derive(Default)]
pub struct Beside {
    /// By path; bytes of manifests, and of files that steer git or Flux.
    pub tree: BundleTree,
    /// What git and Flux are told of the output from further up.
    pub above: Vec<Above>,
    /// What stands before a path where it is shown.
    pub shown: String,
}

/// Folders that can be listed, in a file system or in a commit.
pub(super) trait Listed {
    /// A folder or a file.
    type Id;

    /// What a folder holds: names, what they are, none for a folder, and where that is.
    fn list(&self, folder: &Self::Id) -> Vec<(String, Option<Form>, Self::Id)>;

    /// A file's bytes, unless it cannot be read or is larger than `most`.
    fn bytes(&self, file: &Self::Id, most: u64) -> Option<Vec<u8>>;
}

/// Lists what stands below `root` beside the folders of `known`. Where Flux is told to leave files out, or may be from
/// `above`, those folders are listed too: what a pattern means depends on the names.
pub(super) fn beside<L: Listed>(
    listed: &L,
    root: &L::Id,
    known: &BTreeSet<&Directory>,
    above: Vec<Above>,
    shown: String,
) -> Beside {
    let entries = listed.list(root);
    let ignores = |name: &str| STEERING.last().is_some_and(|ignore| *ignore == name);
    let is_whole = above.iter().any(|above| ignores(above.name)) || entries.iter().any(|(name, ..)| ignores(name));
    let mut walk = Walk { listed, tree: BundleTree::new(), room: MOST };
    for (name, form, id) in entries {
        let is_top = TOPS.contains(&&*name);
        match form {
            None if is_top => {
                for (below, form, id) in listed.list(&id) {
                    let is_known = known.iter().any(|directory| **directory == *below);
                    if !is_known || (is_whole && form.is_none()) {
                        walk.add(&format!("{name}/{below}"), form, &id, 2);
                    }
                }
            }
            None if TOPS.iter().any(|top| name.eq_ignore_ascii_case(top)) => {
                walk.tree.insert(name, Standing::odd(Form::Plain));
            }
            None if STEERING.contains(&&*name) => _ = walk.tree.insert(name, Standing::odd(Form::Special)),
            Some(_) if is_top || STEERING.contains(&&*name) => walk.add(&name, form, &id, 1),
            _ => {}
        }
    }
    Beside { tree: walk.tree, above, shown }
}

/// What git says a path is.
pub(super) fn form_of(mode: Mode) -> Form {
    match mode {
        Mode::File => Form::Plain,
        Mode::Executable => Form::Executable,
        Mode::Link => Form::Link,
        Mode::Submodule => Form::Submodule,
        Mode::Nameless => Form::Special,
        Mode::Repeated => Form::Repeated,
    }
}

/// Where files that say something of those at `way` stand further up in their repository: the name, the path, and
/// the way on from there.
pub fn further_up(way: &str) -> Vec<(&'static str, String, String)> {
    let parts: Vec<&str> = way.split('/').filter(|part| !part.is_empty()).collect();
    let split = |(at, name): (usize, &'static str)| {
        let (before, after) = parts.split_at_checked(at)?;
        let path = before.iter().chain(&[name]).copied().collect::<Vec<_>>().join("/");
        Some((name, path, after.join("/")))
    };
    (0..parts.len()).flat_map(|at| STEERING.map(|name| (at, name))).filter_map(split).collect()
}

struct Walk<'a, L> {
    listed: &'a L,
    tree: BundleTree,
    /// How many more paths are looked at.
    room: usize,
}

impl<L: Listed> Walk<'_, L> {
    fn add(&mut self, path: &str, form: Option<Form>, id: &L::Id, depth: usize) {
        self.room = self.room.saturating_sub(1);
        if self.room == 0 || depth > MOST_DEPTH {
            return;
        }
        let Some(form) = form else {
            for (name, form, id) in self.listed.list(id) {
                self.add(&format!("{path}/{name}"), form, &id, depth + 1);
            }
            return;
        };
        let name = path.rsplit('/').next().unwrap_or(path);
        let is_read =
            matches!(form, Form::Plain | Form::Executable) && (name == "bundle.yaml" || STEERING.contains(&name));
        let standing = match is_read.then(|| self.listed.bytes(id, MOST_BYTES)) {
            Some(Some(bytes)) => Standing::file(path, form, bytes),
            Some(None) => Standing::odd(Form::Large),
            None => Standing::odd(form),
        };
        self.tree.insert(path.to_owned(), standing);
    }
}
