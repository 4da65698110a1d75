//! Whether a folder's manifest is believed.

use alloc::string::String;
use alloc::vec::Vec;

use super::document::{first_difference, header_lines};
use super::measure::Measure;
use crate::layout::manifest::{self, Manifest, Unusable};
use crate::layout::path;
use crate::name::{FleetName, is_directory};
use crate::reuse;
use crate::yaml::read;

/// Why a folder's manifest is not believed.
pub(super) struct Wrong {
    /// What is said of the folder.
    pub(super) why: String,
    /// The line of the manifest.
    pub(super) line: usize,
    /// What to do about it.
    pub(super) help: &'static str,
}

impl<T: Into<String>> From<T> for Wrong {
    fn from(why: T) -> Self {
        Self { why: why.into(), line: 1, help: UNTRUSTED }
    }
}

impl Wrong {
    pub(super) fn later() -> Self {
        Self { help: NEWER, ..Self::from("is written in a later format, which this pouch does not know") }
    }
}

/// Reads a manifest; what is said of it where it cannot be believed.
pub(super) fn manifest_of(
    measure: &Measure<'_>,
    folder: &str,
    bytes: Option<&[u8]>,
) -> Result<(Manifest, bool), Wrong> {
    let Some(bytes) = bytes else { return Err("has files and no bundle.yaml".into()) };
    let (tagged, manifest) = listed_by(folder, bytes)?;
    if let Some(fleet) = measure.fleet.filter(|fleet| fleet.name != manifest.fleet) {
        let (fleet, ours) = (&manifest.fleet, &fleet.name);
        return Err(format!("has a bundle of fleet {fleet}, but the configuration is that of {ours}").into());
    }
    let written = manifest::emit(&manifest);
    let told = read::text_of(tagged.body).unwrap_or_default();
    if !manifest::is_emitted(told, &written) {
        let line = first_difference(&written, told).unwrap_or(1);
        let why = String::from("has a bundle.yaml with more in it than pouch writes, such as comments");
        let line = line + header_lines(bytes, tagged.body);
        return Err(Wrong { why, line, help: UNTRUSTED });
    }
    let Some(keys) = measure.keys else { return Ok((manifest, false)) };
    let fleet: &FleetName = measure.fleet.map_or(&manifest.fleet, |fleet| &fleet.name);
    let verifies = reuse::manifest_verifies(keys, fleet, &manifest.directory, bytes).is_some();
    match verifies {
        true => Ok((manifest, true)),
        false => Err(format!("has a bundle.yaml that no reuse key authenticates{}", keys.unfit(bytes)).into()),
    }
}

/// The paths of all that a region's manifest lists, and its own: whosever it is, and whatever it proves. Nothing where it
/// is no manifest.
pub fn paths_listed(folder: &str, bytes: &[u8]) -> Vec<String> {
    let Ok((_, manifest)) = listed_by(folder, bytes) else { return Vec::new() };
    let own = path::manifest(&manifest.directory);
    let objects = manifest.objects.iter().map(|object| &object.path);
    let all = objects.chain(manifest.files.iter().map(|file| &file.path)).chain([&own]);
    all.map(|path| String::from(path.as_str())).collect()
}

/// Reads a manifest of a folder, whosever; what is said of it where it is none.
pub(super) fn listed_by<'b>(folder: &str, bytes: &'b [u8]) -> Result<(reuse::Tagged<'b>, Manifest), Wrong> {
    if !is_directory(folder) {
        return Err("is no folder of a region".into());
    }
    if reuse::is_newer(bytes) {
        return Err(Wrong::later());
    }
    let tagged = reuse::split(bytes).filter(|tagged| tagged.entry_lines.is_empty());
    let Some(tagged) = tagged else { return Err("has a bundle.yaml without the tag that pouch writes".into()) };
    let text = read::text_of(tagged.body).map_err(|_| "has a bundle.yaml that is not text")?;
    let manifest = manifest::parse(text).map_err(|flaw| match flaw {
        Unusable::Newer(_) => Wrong::later(),
        Unusable::Malformed(why, spot) => Wrong {
            why: format!("has a bundle.yaml that is not what pouch writes: {why}"),
            help: UNTRUSTED,
            line: spot
                .line(text)
                .map_or(1, |line| usize::try_from(line).unwrap_or(1) + header_lines(bytes, tagged.body)),
        },
    })?;
    if manifest.directory != *folder {
        return Err(format!("has the bundle.yaml of {}", manifest.directory).into());
    }
    Ok((tagged, manifest))
}

const UNTRUSTED: &str = "Check that this is what pouch published there, for this fleet and folder. If it was made with \
                         an older reuse key, name that key under `reuseKey.previous`; if that key is lost, `pouch \
                         rekey --new-reuse-key` seals the bundle anew. Otherwise find out who changed it; as a last \
                         resort, `--replace-unsigned` renders the bundle anew, whatever is there.";

const NEWER: &str = "Upgrade the reader first: use the pouch that wrote it, or a newer one.";
