//! The versions of a manifest, of which only the objects are parsed that the version before does not have.
//!
//! A manifest lists every object of its region, and one version differs from the next by a few of them. So a text in
//! pouch's own layout is cut at its objects, as [`cut`](super::cut) says. Any other text is parsed as a whole.

use alloc::borrow::ToOwned as _;
use alloc::string::String;
use alloc::sync::Arc;

use super::cut::{Cut, new_items};
use super::directory_of;
use crate::config::{Fleet, RegionConfig};
use crate::destination;
use crate::layout::manifest::{API_VERSION, FORMER, KIND, claimant_in};
use crate::name::{Claimant, Directory, FleetName, is_directory};
use crate::node::{Interner, Node};
use crate::yaml::read::{Document, documents, read, text_of};

/// The reason why a manifest is passed over.
pub const MISSHAPEN: &str = "it is no manifest of a bundle";

/// The folder that holds `regions`, by the path of a folder's manifest; none for any other path.
pub(super) fn root_of<'p>(manifest: &'p str, directory: &Directory) -> Option<&'p str> {
    let root = manifest.strip_suffix(&*format!("regions/{directory}/bundle.yaml"))?;
    (root.is_empty() || root.ends_with('/')).then_some(root)
}

/// The region's folder whose manifest a path is.
pub fn manifest_of(path: &str) -> Option<Directory> {
    directory_of(path).filter(|directory| root_of(path, directory).is_some())
}

/// A region's folder in a fleet.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Home {
    /// The fleet.
    pub fleet: FleetName,
    /// The folder.
    pub directory: Directory,
}

impl Home {
    /// The region that a configuration has there, if it is the fleet's.
    pub fn region<'f>(&self, fleet: Option<&'f Fleet>) -> Option<&'f RegionConfig> {
        let fleet = fleet.filter(|fleet| fleet.name == self.fleet)?;
        destination::all(fleet).find(|to| *to.directory() == self.directory).map(|to| to.region)
    }
}

/// A version of a manifest, as a commit brought it.
pub struct Brought<'b> {
    /// The manifest's path.
    pub manifest: &'b Arc<str>,
    /// The region's folder that the path is in.
    pub directory: &'b Directory,
    /// The number of the commit.
    pub commit: usize,
    /// Its text; none if the manifest is gone, or cannot be read.
    pub bytes: Option<&'b [u8]>,
    /// Set if a reuse key proves it.
    pub is_proved: bool,
}

/// The findings from versions of one manifest, which are read in the order in which they came.
pub trait Reads: Default {
    /// Reads the next version.
    ///
    /// # Errors
    /// Where the version cannot be used.
    fn read(&mut self, version: &Brought<'_>, interner: &mut Interner) -> Result<(), &'static str>;

    /// Keeps the last version alone, for those that come after it.
    #[must_use]
    fn after(self) -> Self;
}

/// A version of a manifest.
pub struct Version {
    text: String,
    shape: Shape,
    home: Home,
}

/// The layout of a version.
enum Shape {
    /// Pouch's own.
    Cut(Cut),
    /// Any other, parsed.
    Whole(Node),
}

impl Version {
    /// Takes the text of a manifest. `before` is the version before it, if that can be used.
    ///
    /// Its objects are not looked at before [`Version::objects`].
    ///
    /// # Errors
    /// Where the text is no manifest.
    pub fn read(bytes: &[u8], before: Option<&Self>, interner: &mut Interner) -> Result<Self, &'static str> {
        let text = text_of(bytes).map_err(|_| "it is not UTF-8")?.to_owned();
        let alike = before.and_then(|before| Some((before, before.cut()?.alike(&before.text, &text)?)));
        if let Some((before, cut)) = alike {
            return Ok(Self { text, shape: Shape::Cut(cut), home: before.home.clone() });
        }
        let (home, shape) = match Cut::of(&text) {
            Some(cut) => (home(&parsed(&cut.head, interner)?)?, Shape::Cut(cut)),
            None => {
                let node = parsed(&text, interner)?;
                (home(&node)?, Shape::Whole(node))
            }
        };
        Ok(Self { text, shape, home })
    }

    /// Takes it for the manifest of a folder.
    ///
    /// # Errors
    /// Where it is that of another one.
    pub fn of(self, directory: &Directory) -> Result<Self, &'static str> {
        if self.home.directory == *directory { Ok(self) } else { Err("it is the manifest of another folder") }
    }

    /// The folder and the fleet that it is for.
    pub fn home(&self) -> &Home {
        &self.home
    }

    fn cut(&self) -> Option<&Cut> {
        if let Shape::Cut(cut) = &self.shape { Some(cut) } else { None }
    }

    fn section(&self) -> Option<&str> {
        self.cut().map(|cut| cut.objects_of(&self.text))
    }

    /// Hands on the objects that `other` does not list alike, or more of them. What is laid out otherwise, or for another
    /// home, is handed on as a whole.
    ///
    /// # Errors
    /// Where one cannot be parsed, or `each` fails.
    pub fn objects(
        &self,
        other: Option<&Self>,
        interner: &mut Interner,
        each: &mut dyn FnMut(&Node) -> Result<(), &'static str>,
    ) -> Result<(), &'static str> {
        let objects = match &self.shape {
            Shape::Cut(cut) => cut.objects_of(&self.text),
            Shape::Whole(node) => {
                return node.at(&["objects"]).map(Node::items).unwrap_or_default().iter().try_for_each(each);
            }
        };
        let other = other.filter(|other| other.home == self.home).and_then(Self::section);
        for item in new_items(objects, other) {
            // Each item is parsed as a list of one.
            each(parsed(item, interner)?.items().first().ok_or(MISSHAPEN)?)?;
        }
        Ok(())
    }
}

/// The claimants that need an object, by its entry in a manifest.
pub(super) fn needed_by(object: &Node) -> impl Iterator<Item = Result<Claimant, &'static str>> {
    let all = object.at(&["neededBy"]).map(Node::items).unwrap_or_default();
    all.iter().map(|by| claimant_in(by).ok_or(MISSHAPEN))
}

/// The one document of a text.
fn parsed(text: &str, interner: &mut Interner) -> Result<Node, &'static str> {
    let mut documents = documents(text);
    let (Some(document), None) = (documents.next(), documents.next()) else { return Err(MISSHAPEN) };
    let document: Document<'_> = document;
    read(&document, interner).map_err(|_| "it is not YAML that pouch can read")
}

fn home(node: &Node) -> Result<Home, &'static str> {
    let text = |path: &[&str]| node.str_at(path).ok_or(MISSHAPEN);
    let directory = text(&["metadata", "name"])?;
    let is_known = [API_VERSION, FORMER].contains(&text(&["apiVersion"])?);
    if !is_known || text(&["kind"])? != KIND || !is_directory(directory) {
        return Err(MISSHAPEN);
    }
    Ok(Home { fleet: text(&["fleet"])?.into(), directory: directory.into() })
}
