//! History: what commits held, as far as sealed files and manifests show it unopened.
//!
//! [`log`](crate::log) and [`exposure`](crate::exposure) are two questions on it: one goes along the first parents of a
//! branch, the other through a whole graph. Both read a file once for its content ([`File`]), a manifest version by
//! version ([`manifest::Version`]), and compare with the values of today in one way ([`today::Today`]).

pub mod cut;
pub mod listed_by;
pub mod listing;
pub mod manifest;
pub mod rotated;
pub mod sealed;
pub mod steps;
pub mod today;

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::Serialize;

use crate::hash::sha256_hex;
use crate::name::{Directory, is_directory};
use crate::node::Interner;
use sealed::SealedSecret;

/// The content of a file.
#[derive(Clone, Debug)]
pub struct File {
    /// SHA-256 in lower-case hex; empty if it cannot be read.
    pub sha256: String,
    /// The Secrets in it, or why they are passed over.
    pub secrets: Result<Vec<Arc<SealedSecret>>, &'static str>,
}

impl File {
    /// Reads the bytes of a file, or takes the reason why there are none.
    pub fn read(bytes: Result<Vec<u8>, &'static str>, interner: &mut Interner) -> Self {
        let sha256 = bytes.as_deref().map(sha256_hex).unwrap_or_default();
        let secrets = bytes.and_then(|bytes| SealedSecret::read(&bytes, interner));
        Self { sha256, secrets: secrets.map(|secrets| secrets.into_iter().map(Arc::new).collect()) }
    }
}

/// Files that could not be looked at.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Skipped {
    /// How many.
    pub count: usize,
    /// The first of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<SkippedFile>,
}

/// A file that could not be looked at.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkippedFile {
    /// Its path.
    pub path: String,
    /// Why.
    pub why: String,
}

/// The region's folder that holds a path: what follows the last `regions` that has a folder and a file behind it.
///
/// A namespace may be called `regions` too.
pub fn directory_of(path: &str) -> Option<Directory> {
    let parts: Vec<&str> = path.split('/').collect();
    let starts = 0..parts.len().saturating_sub(2);
    let mut found =
        starts.rev().filter(|at| parts.get(*at) == Some(&"regions")).filter_map(|at| parts.get(at.checked_add(1)?));
    found.find(|name| is_directory(name)).map(|name| Directory::from(*name))
}
