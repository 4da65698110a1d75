//! The surveyor: everything that reading the sources works with.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pouch_core::config::{Fleet, Source, SourcePlace};
use pouch_core::name::Claimant;

use super::last::Last;
use super::look::Unreached;
use super::shares::Budget;
use super::source::{self, SourceError};
use super::torn::Bundles;
use crate::cluster::{Patience, Wanted};
use crate::error::Failure;
use crate::session::Session;

/// Everything that a survey works with.
#[derive(Clone)]
pub struct Surveyor<'a> {
    /// Environment, clock, entropy, where words go, and whether the run should end.
    pub session: &'a Session,
    /// The resolved configuration.
    pub fleet: &'a Fleet,
    /// The configuration's folder as the user typed it.
    pub base: &'a Path,
    /// Where bundles are written, which no source is read from.
    pub outputs: &'a [PathBuf],
    /// The ways to reach clusters, beside those of the configuration.
    pub reach: &'a Reach,
    /// The states that an earlier run read, of which nothing older is read; none where they are unknown.
    pub last: Option<&'a Last>,
    /// The published bundles, to be asked for what stood in files that cannot be read; none where that does not matter.
    pub bundles: Option<&'a Bundles<'a>>,
    /// The claimant whose closure alone is asked for, if it is about one.
    pub only: Option<&'a Claimant>,
    /// The time at which contents are read that sources put aside.
    pub contents: Contents,
    /// The places that are looked at beside the sources.
    pub looking: Looking,
    /// The regions that did not answer in this run.
    pub unreached: Arc<Unreached>,
    /// The memory and the space that the sources share.
    pub budget: Budget,
}

/// The time at which contents are read that sources put aside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contents {
    /// With the survey, for all claims.
    AtOnce,
    /// Later, for one region after the other.
    ByRegion,
}

/// A choice of what is looked at beside the sources.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Looking {
    /// Regions' own clusters, where the configuration says how they are reached.
    IntoRegions,
    /// Nothing.
    AtSources,
    /// Nothing, as what lies about may be somebody's proposal: no file of it says where anybody logs in, and no cluster is
    /// met that it describes.
    AtAProposal,
}

impl<'a> Surveyor<'a> {
    /// One that reads the sources for all claimants, whatever was read before, and looks into regions.
    pub fn new(
        session: &'a Session,
        fleet: &'a Fleet,
        base: &'a Path,
        (outputs, reach): (&'a [PathBuf], &'a Reach),
    ) -> Self {
        let (looking, contents) = (Looking::IntoRegions, Contents::AtOnce);
        Self {
            session,
            fleet,
            base,
            outputs,
            reach,
            last: None,
            bundles: None,
            only: None,
            contents,
            looking,
            unreached: Arc::default(),
            budget: Budget::of(session, fleet),
        }
    }

    /// Returns true if a source is standard input, which can be read once.
    pub fn reads_stdin(&self) -> bool {
        self.fleet.sources.iter().any(|source| matches!(source.place, SourcePlace::Stdin))
    }

    /// A reading in the place of a source that cannot be reached: nothing where all others depend on it.
    pub(super) fn unless_trusted(&self, source: &Source, error: SourceError) -> Result<source::Reading, Failure> {
        // A run that should end is no fault of the source.
        self.session.stop.check()?;
        if source.provides.cluster_scoped { Err(error.into()) } else { Ok(error.reading(source)) }
    }
}

/// The ways to reach clusters: flags, which win over the configuration.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    /// The values of the flags.
    pub wanted: Wanted,
    /// The time that anything may take, and the number of tries.
    pub patience: Patience,
}
