//! The content of a source's path: files, or objects that are built of them.

use alloc::string::String;

use schemars::JsonSchema;
use serde::Deserialize;

use super::error::{Faults, FieldPath};
use super::globs::Globs;
use super::setting::Show;
use crate::yaml::emit::Tree;

/// The content of a path.
#[derive(Clone, Debug)]
pub enum Content {
    /// The manifests in files.
    Files(FileGlobs),
    /// The objects that kustomize builds of the kustomization in the folder.
    Kustomization,
}

impl Content {
    /// Returns true if it is built.
    pub fn is_built(&self) -> bool {
        matches!(self, Self::Kustomization)
    }

    /// Returns true if the file at a path is read whatever others say; a build reads those that are named to it.
    pub fn reads(&self, path: &str) -> bool {
        match self {
            Self::Files(FileGlobs { include, exclude }) => include.matches(path) && !exclude.matches(path),
            Self::Kustomization => false,
        }
    }

    /// The fields that say it.
    pub(super) fn fields(&self) -> [(&'static str, Option<Tree<'_>>); 3] {
        match self {
            Self::Files(FileGlobs { include, exclude }) => {
                [("include", include.show()), ("exclude", exclude.show()), ("build", None)]
            }
            Self::Kustomization => [("include", None), ("exclude", None), ("build", Some(Tree::text("kustomize")))],
        }
    }

    /// Resolves what the configuration says.
    pub(super) fn resolve(
        build: Option<Builder>,
        (include, exclude): (&Globs, &Globs),
        path: &FieldPath,
        faults: &mut Faults,
    ) -> Self {
        if include.is_empty() {
            faults.add(&path.key("include"), "no file would be read", "Leave it out to read YAML and JSON files.");
        }
        if build.is_none() {
            return Self::Files(FileGlobs { include: include.clone(), exclude: exclude.clone() });
        }
        let is_usual = include.patterns() == self::include().patterns();
        for (field, is_given) in [("include", !is_usual), ("exclude", !exclude.is_empty())] {
            if is_given {
                let message = "the kustomization says which files are built";
                faults.add_at_key(&path.key(field), message, "Remove the field, or `build`.");
            }
        }
        Self::Kustomization
    }
}

/// The files of a source that count: those that `include` matches and `exclude` does not.
#[derive(Clone, Debug)]
pub struct FileGlobs {
    /// Matched against the path relative to the source's; by default YAML and JSON files.
    pub include: Globs,
    /// Matched likewise; by default none.
    pub exclude: Globs,
}

/// A program that makes objects of a tree.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) enum Builder {
    /// The program of that name.
    Kustomize,
}

/// The globs of YAML and JSON files.
pub(super) fn include() -> Globs {
    Globs::new(&["**/*.yaml", "**/*.yml", "**/*.json"].map(String::from)).unwrap_or_default()
}
