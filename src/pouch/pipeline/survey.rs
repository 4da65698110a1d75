//! Survey: the sources, read and put together into one snapshot.

use std::path::{Path, PathBuf};

use pouch_core::bundle::manifest::SourceIdentity;
use pouch_core::config::Fleet;
use pouch_core::finding::Finding;
use pouch_core::snapshot::{Reading, Snapshot, assemble};

use super::Failure;
use crate::ambient::Ambient;
use crate::git::program::TIMEOUT;
use crate::source::{self, Given};
use crate::stop::Stop;
use crate::ui::Ui;

/// What the sources say.
pub struct Survey {
    /// Every object, by key.
    pub snapshot: Snapshot,
    /// What was wrong with the sources themselves.
    pub findings: Vec<Finding>,
    /// The sources that can tell which repository they are, for manifests.
    pub sources: Vec<SourceIdentity>,
    /// The commit of each git source, for the commit message.
    pub revisions: Vec<(String, String)>,
}

/// Reads all sources, in order. `base` is the configuration's folder; `outputs` are where bundles
/// are written, which no source is read from.
///
/// # Errors
/// Where a source cannot be reached at all, or the run should end.
pub fn survey(
    fleet: &Fleet,
    base: &Path,
    outputs: &[PathBuf],
    ambient: &Ambient,
    ui: &Ui,
    stop: &Stop,
) -> Result<Survey, Failure> {
    let skip_in_tree = [fleet.output.path.clone()];
    let environment = ambient.environment();
    let given = Given {
        base,
        skip: outputs,
        skip_in_tree: &skip_in_tree,
        environment: &environment,
        timeout: TIMEOUT,
        stop: stop.flag(),
    };
    let mut readings = Vec::new();
    let mut survey_findings = Vec::new();
    let mut sources = Vec::new();
    let mut revisions = Vec::new();
    for source in &fleet.sources {
        stop.check()?;
        let progress = ui.progress("reading", 0);
        let reading = source::read(source, &given)
            .map_err(|error| Failure::unavailable(error.to_string(), error.help.clone()))?;
        drop(progress);
        ui.detail(&format!(
            "source {}: {} documents, {} skipped{}",
            source.name,
            reading.documents.len(),
            reading.skipped,
            if reading.complete && reading.fragments.is_empty() { "" } else { ", incomplete" }
        ));
        survey_findings.extend(reading.findings);
        sources.extend(reading.identity.map(|identity| SourceIdentity { name: source.name.clone(), identity }));
        revisions.extend(reading.revision.map(|revision| (source.name.to_string(), revision)));
        readings.push(Reading {
            documents: reading.documents,
            complete: reading.complete,
            fragments: reading.fragments,
            inquiry: None,
        });
    }
    let (snapshot, findings) = assemble(fleet, readings);
    survey_findings.extend(findings);
    Ok(Survey { snapshot, findings: survey_findings, sources, revisions })
}
