//! Place: where a destination's bundle stands; every path of it is asked here.

use alloc::collections::BTreeSet;

use super::path::{self, BundlePath, Leaf};
use super::split::Splits;
use super::style::Style;
use crate::config::Delivery;
use crate::destination::Destination;
use crate::name::{Directory, FleetName, ObjectKey};

/// Where a destination's bundle stands, and how it is delivered from there: all that its paths and its open files
/// follow from, beside its objects.
#[derive(Clone, Copy, Debug)]
pub struct Layout<'a> {
    /// The fleet.
    pub fleet: &'a FleetName,
    /// The destination's folder.
    pub directory: &'a Directory,
    /// How it is delivered to.
    pub delivery: &'a Delivery,
    /// The folder of the bundles as the consumer sees it: `output.path` in a repository, nothing in an artifact.
    pub output: &'a str,
    /// Which of its leaves are split.
    pub splits: &'a Splits,
    /// The text of its cluster Secret, where Argo CD is to know the cluster by one that pouch writes.
    pub registered: Option<&'a str>,
}

impl<'a> Layout<'a> {
    /// The layout of a destination of the configuration, with every leaf whole.
    pub fn of(to: &Destination<'a>) -> Self {
        Self {
            fleet: &to.fleet.name,
            directory: to.directory(),
            delivery: to.delivery(),
            output: to.delivery().folder_in(&to.fleet.output),
            splits: Splits::none(),
            registered: None,
        }
    }

    /// The same with some leaves split.
    #[must_use]
    pub fn with<'s>(self, splits: &'s Splits) -> Layout<'s>
    where
        'a: 's,
    {
        Layout { splits, ..self }
    }

    /// The same with the text of its cluster Secret.
    #[must_use]
    pub fn registered<'s>(self, registered: Option<&'s str>) -> Layout<'s>
    where
        'a: 's,
    {
        Layout { registered, ..self }
    }

    /// The folder of the bundle.
    pub fn folder(&self) -> BundlePath {
        path::region(self.directory)
    }

    /// The file of the manifest.
    pub fn manifest(&self) -> BundlePath {
        path::manifest(self.directory)
    }

    /// The file of an object.
    pub fn of_object(&self, key: &ObjectKey) -> BundlePath {
        self.splits.of_object(self.directory, key)
    }

    /// The leaves of kinds that were published before, by the files of that. They stay for the consumer's sake.
    pub fn kept<'p>(&self, files: impl Iterator<Item = &'p str>) -> BTreeSet<Leaf> {
        files.filter_map(|file| Leaf::of_path(self.directory, file)).collect()
    }

    /// For which consumer objects are annotated.
    pub fn style(&self) -> Style {
        Style::of(self.delivery)
    }

    /// A path below that folder as the consumer sees it.
    pub(super) fn in_repository(&self, path: &BundlePath) -> alloc::string::String {
        path::in_repository(self.output, path)
    }
}
