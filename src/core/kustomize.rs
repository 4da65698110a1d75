//! Kustomize: the files that a build may be given, and names that lead nowhere else (DESIGN §5).
//!
//! kustomize follows each path of a kustomization, wherever on the machine or the network it leads, and runs what some of
//! them name. So none of the publisher's folders is built. [`gather`] reads every kustomization that the first one reaches,
//! and every config of a generator, a transformer or a validator; it takes only fields that it knows (`fields`), and only
//! paths of regular files and folders of the same tree. [`Gathered`] is a folder of its own, in which each file has a name
//! that is made here, stands beside the kustomization that names it, and is what was judged. Nothing in it is opened that
//! SOPS sealed. How files are read, and kustomize run, is not known here.

mod fields;
pub mod paths;
mod plugin;
mod words;

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use zeroize::Zeroizing;

use crate::nearest::did_you_mean;
use crate::node::{Interner, Node};
use crate::secret::holds_key;
use crate::sops::cipher::MARK;
use crate::yaml::emit::{Tree, TreeMap, emit};
use crate::yaml::lines::line_of;
use crate::yaml::read::{self as yaml, documents};
pub use fields::needs_build;
use fields::{Field, KUSTOMIZATION, Shape, Use};
use paths::{WRITTEN, joined, name_of};

/// The names that a folder's kustomization may have.
///
/// <https://kubectl.docs.kubernetes.io/references/kustomize/glossary/#kustomization>
pub const NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// The folder that is built.
pub const TOP: &str = "pouch-d0";

/// The beginnings of the names of folders and files.
const FOLDER: &str = "pouch-d";
const FILE: &str = "pouch-f";

/// An entry of a tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Entry {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// Nothing.
    Nothing,
    /// Something that is not read, such as a symlink or a submodule; the text says what it is.
    Other(&'static str),
}

/// The tree that a source builds: paths are from its root, without `.` and `..`.
pub trait SourceTree {
    /// Looks at a path; a symlink on the way counts as one at its end.
    fn look(&mut self, path: &str) -> Entry;

    /// Says what to do about a path that leads out of the tree, or to nothing in it.
    fn help(&self) -> &'static str;

    /// The bytes of a regular file.
    ///
    /// # Errors
    /// Where it cannot be read.
    fn bytes(&mut self, path: &str) -> Result<Vec<u8>, Trouble>;

    /// The bytes that stand in the place of a file that SOPS sealed as a whole: an entry of a Secret that is generated.
    ///
    /// # Errors
    /// Where it cannot be opened later.
    fn nested(&mut self, path: &str, entry: &str, sealed: &[u8]) -> Result<Vec<u8>, Trouble>;

    /// The documents of a file of resources as kustomize is given them.
    ///
    /// # Errors
    /// Where one cannot be read.
    fn resources(&mut self, path: &str) -> Result<Zeroizing<String>, Trouble>;
}

/// A reason to refuse a build.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trouble {
    /// The file of the tree that it is about.
    pub path: String,
    /// The line, from one, if it is known.
    pub line: Option<u32>,
    /// The fault, without a full stop.
    pub message: String,
    /// The cure.
    pub help: String,
}

impl Trouble {
    /// Makes one about a file.
    pub fn new(path: &str, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { path: path.to_string(), line: None, message: message.into(), help: help.into() }
    }

    fn at(self, line: Option<u32>) -> Self {
        Self { line: line.or(self.line), ..self }
    }
}

/// The files that kustomize is given.
#[derive(Default)]
pub struct Gathered {
    /// Each by its path in the folder that is built.
    pub files: BTreeMap<String, Zeroizing<Vec<u8>>>,
    /// The path in the tree of each written folder and file.
    names: BTreeMap<String, String>,
}

impl Gathered {
    /// The path in the tree that an origin stands for, as kustomize writes it from the folder that it builds.
    pub fn path(&self, origin: &str) -> Option<&str> {
        let written = match origin.trim_start_matches("../") {
            written if written.contains('/') => String::from(written),
            name => format!("{TOP}/{name}"),
        };
        self.names.get(&written).map(String::as_str)
    }

    /// Gives what may be told of kustomize's words, with paths of the tree; none where nothing may.
    pub fn told(&self, words: &str) -> Option<String> {
        let files = self.names.iter().map(|(name, path)| (name_of(name), shown(path)));
        // All kustomizations have one name, so only their folders tell them apart.
        words::told(words, files.filter(|(name, _)| *name != WRITTEN))
    }
}

/// The most that kustomize is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// Files.
    pub files: usize,
    /// Bytes of them together.
    pub bytes: usize,
}

/// Gathers what the kustomization of a folder reaches.
///
/// # Errors
/// At the first thing that is refused or cannot be read, and where it is more than kustomize is given.
pub fn gather(tree: &mut dyn SourceTree, folder: &str, bounds: Bounds) -> Result<Gathered, Trouble> {
    let mut gathering = Gathering {
        tree,
        bounds,
        bytes: 0,
        folders: BTreeMap::new(),
        kept: BTreeMap::new(),
        resources: BTreeSet::new(),
        left: VecDeque::new(),
        files: 0,
        keeps_names: (false, false),
        more: Vec::new(),
        done: Gathered::default(),
    };
    gathering.folder(folder);
    while let Some(folder) = gathering.left.pop_front() {
        gathering.kustomization(&folder)?;
    }
    Ok(gathering.done)
}

struct Gathering<'t> {
    tree: &'t mut dyn SourceTree,
    bounds: Bounds,
    /// The name of each folder that was reached.
    folders: BTreeMap<String, String>,
    /// Folders whose kustomizations are still to be read.
    left: VecDeque<String>,
    files: usize,
    /// The bytes of all of them.
    bytes: usize,
    /// The name of each file that stands as it is beside the kustomization of a folder: by that folder, and its path.
    kept: BTreeMap<(String, String), String>,
    /// The files that are resources: by the folder of the kustomization that names each, and its path.
    resources: BTreeSet<(String, String)>,
    /// True if what the kustomization at hand generates keeps its name, whatever it holds; and the same of one object.
    keeps_names: (bool, bool),
    /// Files that the kustomization at hand takes as resources, by other words.
    more: Vec<String>,
    done: Gathered,
}

/// A kustomization, or a config that it names, and where it stands.
#[derive(Clone, Copy)]
struct Spot<'a> {
    /// The folder of the kustomization: paths are relative to it.
    folder: &'a str,
    /// The file that the words stand in.
    file: &'a str,
    /// Its text.
    text: &'a str,
    /// The field of the top level that is looked at.
    field: &'a str,
}

impl Spot<'_> {
    fn wrong(&self, message: impl Into<String>, help: impl Into<String>) -> Trouble {
        let line = Some(self.field).filter(|field| !field.is_empty()).and_then(|field| line_of(self.text, &[field]));
        Trouble::new(self.file, message, help).at(line)
    }
}

impl Gathering<'_> {
    /// The name of a folder whose kustomization is reached.
    fn folder(&mut self, path: &str) -> String {
        if let Some(name) = self.folders.get(path) {
            return name.clone();
        }
        let name = format!("{FOLDER}{}", self.folders.len());
        self.folders.insert(path.to_string(), name.clone());
        self.done.names.insert(name.clone(), path.to_string());
        self.left.push_back(path.to_string());
        name
    }

    /// Reads the kustomization of a folder, and writes its own form of it.
    fn kustomization(&mut self, folder: &str) -> Result<(), Trouble> {
        let mut there =
            NAMES.iter().map(|name| joined(folder, name)).filter(|path| self.tree.look(path) == Entry::File);
        let (file, second) = (there.next(), there.next());
        let Some(file) = file else {
            let help = "Name the folder of a kustomization, or remove `build` to read its manifests as they are.";
            return Err(Trouble::new(folder, "it has no kustomization.yaml", help));
        };
        if second.is_some() {
            let help = "Keep one of kustomization.yaml, kustomization.yml and Kustomization.";
            return Err(Trouble::new(folder, "it has more than one kustomization", help));
        }
        let text = self.text(&file)?;
        let mut interner = Interner::new();
        let nodes = parsed(&file, &text, &mut interner)?;
        let [node] = &*nodes else {
            return Err(Trouble::new(&file, "it holds not exactly one document", "Keep one kustomization in it."));
        };
        let spot = Spot { folder, file: &file, text: &text, field: "" };
        self.keeps_names = (keeps_name(node.at(&["generatorOptions"])), false);
        let mut fields = self.map(node, &[KUSTOMIZATION], spot)?;
        let more: Vec<Tree<'_>> = core::mem::take(&mut self.more).into_iter().map(Tree::text).collect();
        match fields.get_mut("resources") {
            Some(Tree::List(resources)) => resources.extend(more),
            _ if more.is_empty() => {}
            _ => fields.insert("resources", Tree::List(more)),
        }
        let name = self.folder(folder);
        if name == TOP {
            // For messages: where each object comes from.
            let asked = [Tree::text("originAnnotations")];
            match fields.get_mut("buildMetadata") {
                Some(Tree::List(wanted)) => wanted.extend(asked),
                _ => fields.insert("buildMetadata", Tree::List(asked.into())),
            }
        }
        let written = emit(&Tree::Map(fields));
        let written = Zeroizing::new(written.as_bytes().to_vec());
        self.done.names.insert(format!("{name}/{WRITTEN}"), file.clone());
        self.done.files.insert(format!("{name}/{WRITTEN}"), written);
        Ok(())
    }

    /// Judges a map: no other fields than these, each in its shape.
    fn map<'n>(&mut self, node: &'n Node, fields: &[&'static [Field]], spot: Spot<'_>) -> Result<TreeMap<'n>, Trouble> {
        if !node.is_map() {
            return Err(spot.wrong(format!("{} is no map", described(spot.field)), "Write a map."));
        }
        let known = || fields.iter().flat_map(|fields| fields.iter());
        let mut written = TreeMap::default();
        for (key, value) in node.entries() {
            let spot = if spot.field.is_empty() { Spot { field: key, ..spot } } else { spot };
            let Some((_, shape)) = known().find(|(name, _)| *name == &**key) else {
                let near = did_you_mean(key, known().map(|(name, _)| *name));
                let help = format!("{near}pouch gives kustomize only fields that it knows, spelled exactly so.");
                return Err(spot.wrong(format!("it has a field {key:?} that is not built"), help));
            };
            if *value != Node::Null {
                written.insert(&**key, self.shaped(value, shape, spot)?);
            }
        }
        Ok(written)
    }

    fn shaped<'n>(&mut self, node: &'n Node, shape: &'static Shape, spot: Spot<'_>) -> Result<Tree<'n>, Trouble> {
        let text = || node.as_str().ok_or_else(|| spot.wrong(format!("{} holds no path", spot.field), "Write a path."));
        match shape {
            Shape::Any => Ok(Tree::of(node)),
            Shape::Refused(help) => Err(spot.wrong(format!("{} is not built", spot.field), *help)),
            Shape::Map(fields) => self.map(node, &[fields], spot).map(Tree::Map),
            Shape::Generated(fields) => {
                self.keeps_names.1 = self.keeps_names.0 || keeps_name(node.at(&["options"]));
                self.map(node, &[fields], spot).map(Tree::Map)
            }
            Shape::List(shape) => {
                let Node::List(items) = node else {
                    return Err(spot.wrong(format!("{} is no list", described(spot.field)), "Write a list."));
                };
                let mut written = Vec::with_capacity(items.len());
                for item in items {
                    match shape {
                        Shape::Plugin(runs) => written.extend(self.plugin(item, *runs, spot)?.map(Tree::text)),
                        shape => written.push(self.shaped(item, shape, spot)?),
                    }
                }
                Ok(Tree::List(written))
            }
            Shape::Plugin(_) => Err(spot.wrong(format!("{} is no list", spot.field), "Write a list.")),
            Shape::File(of) => self.file(text()?, *of, spot).map(Tree::text),
            Shape::FileOrText(of) => match text()? {
                words if is_text(words) => {
                    self.judge(words.as_bytes(), *of, spot)?;
                    self.keep(spot, (spot.file, Zeroizing::new(words.as_bytes().to_vec()))).map(Tree::text)
                }
                path => self.file(path, *of, spot).map(Tree::text),
            },
            Shape::Keyed(of) => {
                let entry = text()?;
                let (key, path) = entry.split_once('=').unwrap_or_else(|| (name_of(entry), entry));
                if path.contains('=') {
                    let help = "Rename the file: kustomize takes one = there, before the path.";
                    return Err(spot.wrong(format!("{} has a path with =", spot.field), help));
                }
                let name = match of {
                    Use::Sealable => self.sealable(path, key, spot)?,
                    of => self.file(path, *of, spot)?,
                };
                Ok(Tree::text(format!("{key}={name}")))
            }
            Shape::Resource => self.resource(text()?, spot).map(Tree::text),
            Shape::Component => {
                let (path, entry) = self.found(text()?, spot)?;
                match entry {
                    Entry::Folder => Ok(Tree::text(format!("../{}", self.folder(&path)))),
                    _ => Err(spot.wrong(format!("{} is no folder", shown(&path)), "Name the folder of a component.")),
                }
            }
        }
    }

    /// Takes a file of resources, or a folder with a kustomization.
    fn resource(&mut self, typed: &str, spot: Spot<'_>) -> Result<String, Trouble> {
        let (path, entry) = self.found(typed, spot)?;
        match entry {
            Entry::Folder => Ok(format!("../{}", self.folder(&path))),
            _ if !self.resources.insert((spot.folder.to_string(), path.clone())) => {
                Err(spot.wrong(format!("it names {path:?} twice"), "Remove one of the two."))
            }
            _ => {
                let text = self.tree.resources(&path)?;
                // Where the same file is a patch or an entry too, its own bytes are meant.
                self.keep(Spot { file: &path, ..spot }, (&path, Zeroizing::new(text.as_bytes().to_vec())))
            }
        }
    }

    /// Takes a file as it is.
    fn file(&mut self, typed: &str, of: Use, spot: Spot<'_>) -> Result<String, Trouble> {
        let path = self.found_file(typed, spot)?;
        if let Some(name) = self.name_of_kept(&path, spot) {
            return Ok(name);
        }
        let bytes = Zeroizing::new(self.tree.bytes(&path)?);
        self.as_it_is((&path, bytes), of, spot)
    }

    /// Takes a file that SOPS may have sealed as a whole.
    fn sealable(&mut self, typed: &str, entry: &str, spot: Spot<'_>) -> Result<String, Trouble> {
        let path = self.found_file(typed, spot)?;
        if let Some(name) = self.name_of_kept(&path, spot) {
            return Ok(name);
        }
        let bytes = Zeroizing::new(self.tree.bytes(&path)?);
        if !contains(&bytes, MARK.as_bytes()) {
            return self.as_it_is((&path, bytes), Use::Sealable, spot);
        }
        if !self.keeps_names.1 {
            let help = "Set `disableNameSuffixHash: true` in its `options`, or in `generatorOptions`.";
            return Err(spot.wrong(format!("{path} is sealed by SOPS, and the name would hang on what is in it"), help));
        }
        let bytes = self.tree.nested(&path, entry, &bytes)?;
        // It is one for each entry, so that each is known again.
        self.keep(Spot { file: &path, ..spot }, (&path, Zeroizing::new(bytes)))
    }

    /// The name of a file that stands beside the kustomization already.
    fn name_of_kept(&self, path: &str, spot: Spot<'_>) -> Option<String> {
        self.kept.get(&(spot.folder.to_string(), path.to_string())).cloned()
    }

    /// Takes the bytes of a file, unless they are refused.
    fn as_it_is(&mut self, file: (&str, Zeroizing<Vec<u8>>), of: Use, spot: Spot<'_>) -> Result<String, Trouble> {
        let (path, bytes) = file;
        self.judge(&bytes, of, spot)
            .map_err(|trouble| Trouble { message: format!("{path} {}", trouble.message), ..trouble })?;
        self.keep(spot, (path, bytes))
    }

    /// Refuses content that kustomize would spread: what SOPS sealed, where no MAC could be proved afterwards, and keys.
    fn judge(&self, bytes: &[u8], of: Use, spot: Spot<'_>) -> Result<(), Trouble> {
        if holds_key(bytes) {
            let help = "Keep keys out of the tree, and name none of them in a kustomization.";
            return Err(spot.wrong("holds a secret key of age or pouch", help));
        }
        if contains(bytes, MARK.as_bytes()) {
            return Err(spot.wrong("is sealed by SOPS, and cannot be proved once it is built", of.help()));
        }
        Ok(())
    }

    /// Writes a file beside the kustomization that names it, and gives its name there.
    fn keep(&mut self, spot: Spot<'_>, (path, bytes): (&str, Zeroizing<Vec<u8>>)) -> Result<String, Trouble> {
        let name = format!("{FILE}{}.yaml", self.files);
        self.files = self.files.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes.len());
        let Bounds { files, bytes: most } = self.bounds;
        if self.files > files || self.bytes > most {
            let message = format!("it reaches more than {files} files, or more than {most} bytes");
            return Err(
                spot.wrong(message, "Build less of the tree, or raise limits.build.objects and limits.build.bytes.")
            );
        }
        let whole = format!("{}/{name}", self.folder(spot.folder));
        if path != spot.file {
            self.kept.insert((spot.folder.to_string(), path.to_string()), name.clone());
        }
        self.done.names.insert(whole.clone(), path.to_string());
        self.done.files.insert(whole, bytes);
        Ok(name)
    }

    /// The file of the tree at a path that a kustomization names.
    fn found_file(&mut self, typed: &str, spot: Spot<'_>) -> Result<String, Trouble> {
        match self.found(typed, spot)? {
            (path, Entry::File) => Ok(path),
            (path, _) => Err(spot.wrong(format!("{} is a folder", shown(&path)), "Name a file.")),
        }
    }

    /// The file or folder of the tree at a path that a kustomization names, and which of the two it is.
    fn found(&mut self, typed: &str, spot: Spot<'_>) -> Result<(String, Entry), Trouble> {
        let help = self.tree.help();
        let refused = |what: &str| spot.wrong(format!("{} names {typed:?}, which {what}", spot.field), help);
        if typed.starts_with('/') {
            return Err(refused("is an absolute path"));
        }
        let Some(path) = paths::normal(&joined(spot.folder, typed)).filter(|_| !typed.is_empty()) else {
            return Err(refused("leads out of the tree"));
        };
        if path.split('/').any(|name| name.eq_ignore_ascii_case(".git")) {
            return Err(refused("is git's own"));
        }
        match self.tree.look(&path) {
            entry @ (Entry::File | Entry::Folder) => Ok((path, entry)),
            Entry::Nothing if typed.contains("://") || typed.contains("?ref=") || typed.starts_with("git@") => {
                Err(refused("is somewhere else"))
            }
            Entry::Nothing => Err(refused("is no file or folder of the tree")),
            Entry::Other(what) => Err(refused(what)),
        }
    }

    fn text(&mut self, path: &str) -> Result<String, Trouble> {
        let bytes = self.tree.bytes(path)?;
        String::from_utf8(bytes).map_err(|_| Trouble::new(path, "it is no UTF-8", "Write it as UTF-8."))
    }
}

/// The documents of a kustomization or config; empty ones are left out.
fn parsed(file: &str, text: &str, interner: &mut Interner) -> Result<Vec<Node>, Trouble> {
    let mut nodes = Vec::new();
    for document in documents(text) {
        let node = yaml::read(&document, interner).map_err(|flaw| {
            let help = "Correct the file; kustomize would read it otherwise, or not at all.";
            Trouble::new(file, flaw.what.into_owned(), help).at(Some(flaw.line))
        })?;
        nodes.push(node);
    }
    nodes.retain(|node| *node != Node::Null);
    Ok(nodes)
}

/// Returns true for options with which a generated object keeps its name.
fn keeps_name(options: Option<&Node>) -> bool {
    options.and_then(|options| options.at(&["disableNameSuffixHash"])).and_then(Node::as_bool) == Some(true)
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// Returns true for a text that stands where a path could.
fn is_text(words: &str) -> bool {
    words.contains('\n') || words.trim_start().starts_with('{')
}

/// A field, or the whole.
fn described(field: &str) -> &str {
    if field.is_empty() { "it" } else { field }
}

/// A path as it is told; the root of a tree has none.
fn shown(path: &str) -> &str {
    if path.is_empty() { "." } else { path }
}

#[cfg(test)]
mod tests;
