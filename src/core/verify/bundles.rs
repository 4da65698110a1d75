//! Bundles: whether they are whole, sealed, separated and readable by their consumers, as they stand in a folder or a
//! commit.
//!
//! [`open`] finds the regions of a tree and reads their manifests; then every file is looked at alone ([`Book::file`]),
//! every region as a whole ([`Book::region`]), and all files beside each other ([`Book::across`]). No private key is
//! needed; [`opened`] adds what a private key proves. Anybody may have written the tree: nothing in it is believed
//! because it says so. What a bundle must look like follows from the layout and, where there is one, from the
//! configuration; a manifest is only a list that the files must keep to, unless a reuse key authenticates it. Values
//! never stand in a finding.

mod delivery;
mod ignore;
mod object;
pub mod opened;
mod other;
mod plain;
mod sealed;
mod stanza;
mod tree;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::config::error::quoted;
use crate::config::{Fleet, RegionConfig, RegionState};
use crate::finding::{Code, Finding, Origin, Place};
use crate::hash::sha256_hex;
use crate::layout::manifest::{self, Manifest, ManifestObject, Unusable};
use crate::layout::path::{self, BundlePath, TOPS};
use crate::name::{Directory, FleetName, Region as RegionName, SourceName, is_directory};
use crate::recipient::Recipient;
use crate::region::published::fleet_of;
use crate::reuse::{self, KeyRing};
use crate::yaml::read;
use other::{Other, other, unproved};
pub use plain::{holds_key, secret_in_clear, secret_manifest};
pub use sealed::Sealed;
use sealed::first_difference;
pub use tree::{Above, Changes, Form, MOST_BYTES, STEERING, Scope, Standing, Tree, directory_of, is_regions};
use tree::{folders, form};

/// What a tree is judged by.
pub struct Measure<'a> {
    /// The configuration; without one, the tree is only compared with itself.
    pub fleet: Option<&'a Fleet>,
    /// The reuse keys; without them nobody vouches for a manifest.
    pub keys: Option<&'a KeyRing>,
    /// How much of the tree is to be verified.
    pub scope: Scope,
    /// The start of a path where it is shown: a folder, or a revision and a folder.
    pub shown: String,
    /// The files further up that tell git and Flux something about the tree's folder.
    pub above: Vec<Above>,
}

impl Measure<'_> {
    /// A finding with its place in the tree.
    fn find(&self, code: Code, path: &str, line: usize, message: impl Into<String>) -> Finding {
        at(Finding::new(code, message), format!("{}{path}", self.shown), line)
    }
}

/// Gives a finding its place.
fn at(finding: Finding, path: String, line: usize) -> Finding {
    let line = u32::try_from(line).unwrap_or(u32::MAX).max(1);
    let place = Place::File { path: Arc::from(path), line, column: 1 };
    finding.at(&Origin { source: SourceName::from("bundles"), place })
}

/// A region that is verified.
pub struct Region<'a> {
    /// Its name: the configuration's, else its folder's.
    pub name: RegionName,
    /// Its folder.
    pub directory: Directory,
    /// What its manifest says.
    pub manifest: Manifest,
    /// Whether a reuse key authenticates the manifest.
    pub authentic: bool,
    config: Option<&'a RegionConfig>,
    /// Everybody who should be able to open its files.
    recipients: BTreeSet<Recipient>,
    /// The index of the manifest's object that stands at a path.
    by_path: BTreeMap<String, usize>,
}

impl Region<'_> {
    /// How many objects it has, Namespaces not counted.
    pub fn objects(&self) -> usize {
        self.manifest.objects.iter().filter(|object| !object.key.kind.is_namespace()).count()
    }

    /// Everybody who should be able to open its files.
    pub fn recipients(&self) -> impl Iterator<Item = &Recipient> {
        self.recipients.iter()
    }

    /// Whether the region's files must follow the configuration: not if the region is paused and its manifest is
    /// believed.
    fn follows(&self) -> bool {
        self.config.is_some_and(|config| config.state != RegionState::Paused || !self.authentic)
    }

    /// A finding from the configuration, which may have moved on while the region was paused.
    fn or_paused(&self, finding: Finding) -> Finding {
        match self.config {
            Some(config) if config.state == RegionState::Paused && !self.authentic => finding.help(
                "No reuse key says that pouch wrote this. If the configuration changed while the region was paused, \
                 activate the region and render; if not, find out who changed the file.",
            ),
            _ => finding,
        }
    }
}

/// A tree's regions, and what belongs where.
pub struct Book<'a> {
    measure: &'a Measure<'a>,
    /// The regions that are verified, by folder.
    pub regions: BTreeMap<String, Region<'a>>,
    /// Which regions a recipient should be able to open, by folder. Escrow recipients have none.
    owners: BTreeMap<Recipient, BTreeSet<String>>,
    /// The folders that hold files of a region, verified or not: a fault of a whole folder is reported once.
    taken: BTreeSet<String>,
    /// Other fleets' folders.
    others: BTreeMap<String, Other>,
    /// The ApplicationSets of the fleets that have bundles here, and the fleet of each.
    sets: BTreeMap<BundlePath, FleetName>,
}

/// What a manifest says of one path.
struct Listed<'b> {
    sha256: &'b str,
    object: Option<&'b ManifestObject>,
}

/// The result of looking at one file.
pub struct Looked {
    /// What is wrong.
    pub findings: Vec<Finding>,
    /// The file, if it is a sealed Secret in a region's bundle.
    pub sealed: Option<Sealed>,
}

/// Opens a tree: finds its regions and reads their manifests.
pub fn open<'a>(measure: &'a Measure<'a>, tree: &Tree) -> (Book<'a>, Vec<Finding>) {
    let mut findings = Vec::new();
    let mut regions = BTreeMap::new();
    let known: BTreeMap<&str, &RegionConfig> = measure
        .fleet
        .into_iter()
        .flat_map(|fleet| fleet.regions.values())
        .map(|config| (config.directory.as_str(), config))
        .collect();
    let mut others: BTreeMap<String, Other> = BTreeMap::new();
    for folder in folders(tree) {
        let config = known.get(folder).copied();
        if let (Some(fleet), None) = (measure.fleet, config)
            && let Some(other) = other(fleet, tree, folder)
        {
            others.insert(String::from(folder), other);
        } else if measure.scope.has(folder) {
            let (region, found) = region(measure, tree, folder, config);
            regions.extend(region.map(|region| (String::from(folder), region)));
            findings.extend(found);
        }
    }
    let expected = |config: &&&RegionConfig| config.state != RegionState::Retired;
    for config in known.values().filter(expected) {
        let directory = config.directory.as_str();
        let missing = folders(tree).all(|folder| folder != directory);
        if missing && measure.scope.has(directory) {
            let message = format!("nothing is published in regions/{directory}");
            let (code, help) = match (&measure.scope, config.state) {
                (Scope::Changed(_), _) => {
                    (Code::UntrustedBundle, "Undo the removal. To withdraw a region, set `state: retired` and render.")
                }
                (_, RegionState::Paused) => (
                    Code::RegionNotPublished,
                    "A region that was paused before its first render has no bundle. If this one had a bundle, find \
                     out who removed it, and restore it from an older revision.",
                ),
                _ => (
                    Code::UntrustedBundle,
                    "Name the folder that holds the bundles, or a revision that has them; render the region if it is \
                     new.",
                ),
            };
            let finding = measure.find(code, &format!("regions/{directory}"), 1, message);
            findings.push(finding.in_region(&config.name).help(help));
        }
    }
    findings.extend(unproved(measure, tree, &others));
    if measure.fleet.is_none() && !regions.is_empty() {
        let message = "there is no configuration, so each file's recipients were compared with its own manifest's only";
        let help = "If there is a configuration, name it with -f. Without one it is unknown who put a recipient there, \
                    and which recipients are for escrow.";
        findings.push(Finding::new(Code::RecipientsNotCompared, message).help(help));
    }
    if measure.keys.is_none() && !regions.is_empty() {
        let message = "the reuse key is not at hand, so nobody vouches that pouch wrote these bundles";
        let help = "Where the reuse key is, --require-tags demands this proof. Elsewhere, let signed commits vouch for \
                    bundles: --allowed-signers.";
        findings.push(Finding::new(Code::TagsNotVerified, message).help(help));
    }
    let owners = owners(measure, tree, &regions);
    let taken = folders(tree).filter(|folder| !others.contains_key(*folder)).map(String::from).collect();
    let manifests = folders(tree).filter_map(|folder| tree.get(&format!("regions/{folder}/bundle.yaml")));
    let named = |standing: &Standing| Some(FleetName::from(&*fleet_of(&standing.bytes)?));
    let fleets: BTreeSet<FleetName> = match measure.fleet {
        Some(fleet) => others.values().map(|other| other.fleet.clone()).chain([fleet.name.clone()]).collect(),
        None => manifests.filter_map(named).collect(),
    };
    let sets = fleets.into_iter().map(|fleet| (path::application_set(&fleet), fleet)).collect();
    (Book { measure, regions, owners, taken, others, sets }, findings)
}

/// Judges one folder of `regions/`, and reads its manifest.
fn region<'a>(
    measure: &'a Measure<'a>,
    tree: &Tree,
    folder: &str,
    config: Option<&'a RegionConfig>,
) -> (Option<Region<'a>>, Vec<Finding>) {
    let own = format!("regions/{folder}/bundle.yaml");
    let name = config.map_or_else(|| RegionName::from(folder), |config| config.name.clone());
    let find_at = |code, line, message: String, help: &str| {
        measure.find(code, &own, line, message).in_region(&name).help(String::from(help))
    };
    let find = |code, message: String, help: &str| find_at(code, 1, message, help);
    let standing = tree.get(&own).filter(|standing| standing.form != Form::Link);
    let fleet = standing.and_then(|standing| fleet_of(&standing.bytes));
    if let (Some(configured), None) = (measure.fleet, config) {
        let why = standing.and_then(|standing| listed_by(folder, &standing.bytes).err());
        // Another fleet's bundles may stand beside ours, but nothing else.
        if let (Some(fleet), Some(why)) = (fleet.filter(|fleet| configured.name != **fleet), why) {
            let Wrong { why, line, .. } = why;
            let message = format!("regions/{folder} names another fleet, {}, and {why}", quoted(&fleet));
            let help = "Find out who put it there. If it is that fleet's, have it rendered anew, or upgrade pouch.";
            return (None, Vec::from([find_at(Code::RegionNotConfigured, line, message, help)]));
        }
        let message = format!("regions/{folder} holds files, and no region of the configuration has that folder");
        let help =
            "Withdraw the region with `state: retired` before it leaves the configuration, or remove the folder.";
        return (None, Vec::from([find(Code::RegionNotConfigured, message, help)]));
    }
    let mut findings = Vec::new();
    if config.is_some_and(|config| config.state == RegionState::Retired) {
        let message = format!("region {name} is retired, and regions/{folder} still holds its bundle");
        findings.push(find(Code::RegionNotConfigured, message, "Render or publish, which withdraws it."));
    }
    let (manifest, authentic) = match manifest_of(measure, folder, standing.map(|standing| &*standing.bytes)) {
        Ok(read) => read,
        Err(Wrong { why, line, help }) => {
            findings.push(find_at(Code::UntrustedBundle, line, format!("regions/{folder} {why}"), help));
            // The manifest may still be compared with the files, so that all faults are seen at once.
            match standing.and_then(|standing| manifest::parse(read::text_of(&standing.bytes).ok()?).ok()) {
                Some(manifest) if is_directory(folder) && manifest.directory == *folder => (manifest, false),
                _ => return (None, findings),
            }
        }
    };
    let recipients = match config {
        Some(config) => config.recipients.iter().cloned().collect(),
        None => manifest.recipients.iter().cloned().collect(),
    };
    let objects = manifest.objects.iter().enumerate();
    let by_path = objects.map(|(at, object)| (String::from(object.path.as_str()), at)).collect();
    (Some(Region { name, directory: folder.into(), manifest, authentic, config, recipients, by_path }), findings)
}

/// Why a folder's manifest is not believed.
struct Wrong {
    /// What is wrong with the folder.
    why: String,
    /// The line of the manifest.
    line: usize,
    /// What to do about it.
    help: &'static str,
}

impl<T: Into<String>> From<T> for Wrong {
    fn from(why: T) -> Self {
        Self { why: why.into(), line: 1, help: UNTRUSTED }
    }
}

impl Wrong {
    fn later() -> Self {
        Self { help: NEWER, ..Self::from("is written in a later format, which this pouch does not know") }
    }
}

/// Reads a manifest, or says why it cannot be believed.
fn manifest_of(measure: &Measure<'_>, folder: &str, bytes: Option<&[u8]>) -> Result<(Manifest, bool), Wrong> {
    let Some(bytes) = bytes else { return Err("has files and no bundle.yaml".into()) };
    let (tagged, manifest) = listed_by(folder, bytes)?;
    if let Some(fleet) = measure.fleet.filter(|fleet| fleet.name != manifest.fleet) {
        let (fleet, ours) = (&manifest.fleet, &fleet.name);
        return Err(format!("has a bundle of fleet {fleet}, but the configuration is that of {ours}").into());
    }
    let written = manifest::emit(&manifest);
    if written.as_bytes() != tagged.body {
        let line = first_difference(&written, read::text_of(tagged.body).unwrap_or_default()).unwrap_or(1);
        let why = String::from("has a bundle.yaml with more in it than pouch writes, such as comments");
        let line = line.saturating_add(header_lines(bytes, tagged.body));
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

/// Reads the manifest of a folder, of whatever fleet, or says why it is none.
fn listed_by<'b>(folder: &str, bytes: &'b [u8]) -> Result<(reuse::Tagged<'b>, Manifest), Wrong> {
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
                .map_or(1, |line| usize::try_from(line).unwrap_or(1).saturating_add(header_lines(bytes, tagged.body))),
        },
    })?;
    if manifest.directory != *folder {
        return Err(format!("has the bundle.yaml of {}", manifest.directory).into());
    }
    Ok((tagged, manifest))
}

/// How many lines stand before a file's body.
fn header_lines(file: &[u8], body: &[u8]) -> usize {
    let header = file.len().saturating_sub(body.len());
    file.iter().take(header).filter(|byte| **byte == b'\n').count()
}

/// Which regions each recipient should be able to open.
fn owners(
    measure: &Measure<'_>,
    tree: &Tree,
    regions: &BTreeMap<String, Region<'_>>,
) -> BTreeMap<Recipient, BTreeSet<String>> {
    let mut owners: BTreeMap<Recipient, BTreeSet<String>> = BTreeMap::new();
    let mut add = |recipient: &Recipient, directory: &str| {
        owners.entry(recipient.clone()).or_default().insert(String::from(directory));
    };
    if let Some(fleet) = measure.fleet {
        for config in fleet.regions.values() {
            for recipient in config.recipients.iter().filter(|recipient| !fleet.escrow.contains(*recipient)) {
                add(recipient, config.directory.as_str());
            }
        }
        return owners;
    }
    // Without a configuration, a recipient of every region counts as escrow.
    for region in regions.values() {
        region.recipients.iter().for_each(|recipient| add(recipient, region.directory.as_str()));
    }
    let count = folders(tree).count();
    owners.retain(|_, directories| directories.len() == 1 || directories.len() < count);
    owners
}

impl<'a> Book<'a> {
    /// The region whose folders a path lies in.
    fn region_of(&self, path: &str) -> Option<&Region<'a>> {
        let (top, rest) = path.split_once('/')?;
        let (folder, _) = rest.split_once('/')?;
        if TOPS.contains(&top) { self.regions.get(folder) } else { None }
    }

    /// Whether a path is to be verified: with one region in mind, nothing else is.
    fn concerns(&self, path: &str) -> bool {
        !matches!(self.measure.scope, Scope::Region(_)) || self.region_of(path).is_some()
    }

    /// Whether a path stands among the bundles but belongs to no region: beside the regions' folders, or in a folder
    /// whose name no region has.
    ///
    /// Nobody verifies what a consumer would apply from there.
    fn is_stray(&self, path: &str) -> bool {
        let Some((top, rest)) = path.split_once('/') else { return false };
        if !TOPS.contains(&top) {
            return false;
        }
        match rest.split_once('/') {
            Some((folder, _)) => {
                let listed = self.others.get(folder).is_some_and(|other| other.paths.contains(path));
                self.measure.scope.has(folder) && !self.taken.contains(folder) && !listed
            }
            None => self.measure.scope.has_shared(path) && self.sets.keys().all(|set| set.as_str() != path),
        }
    }

    /// Whether a path lies in a folder that differs from one of the layout's in case only.
    fn is_another_spelling(&self, path: &str) -> bool {
        let top = path.split('/').next().unwrap_or_default();
        let is_spelt = |known: &str| top != known && top.eq_ignore_ascii_case(known);
        TOPS.into_iter().any(is_spelt) && self.measure.scope.has_shared(path)
    }

    /// Looks at one file.
    pub fn file(&self, path: &str, standing: &Standing) -> Looked {
        let mut looked = Looked { findings: Vec::new(), sealed: None };
        if !self.concerns(path) {
            return looked;
        }
        let region = self.region_of(path);
        let find = |code, message: String, help: &str| {
            let finding = self.measure.find(code, path, 1, message).help(String::from(help));
            match region {
                Some(region) => finding.in_region(&region.name),
                None => finding,
            }
        };
        let Some(region) = region else {
            let is_stray = self.is_stray(path) || self.is_another_spelling(path);
            let ours = is_stray
                || path == path::gitattributes().as_str()
                || TOPS.contains(&path)
                || path.split_once('/').is_some_and(|(top, _)| top == "regions");
            let found = match standing.form {
                Form::Large => Some(plain::Found::large(path)),
                Form::Link | Form::Submodule if !ours => Some(plain::Found::elsewhere(standing.form)),
                _ => standing.found.or_else(|| plain::look(path, &standing.bytes)),
            };
            looked.findings.extend(found.map(|found| {
                self.measure.find(found.code, path, found.line, format!("{path} {}", found.what)).help(found.help())
            }));
            if ours && standing.form != Form::Plain {
                looked.findings.push(find(Code::NotPlainFile, format!("{path} {}", form(standing.form)), FORM_HELP));
            } else if is_stray {
                looked.findings.push(find(
                    Code::UnlistedFile,
                    format!("{path} is among the bundles but belongs to no region that has a bundle"),
                    "Find out who put it there and who applies it, and remove it.",
                ));
            }
            looked.findings.extend(self.sets.iter().filter(|(set, _)| set.as_str() == path).filter_map(
                |(_, fleet)| {
                    let is_ours = self.measure.fleet.is_some_and(|ours| ours.name == *fleet);
                    // The configuration says what our own should be.
                    if is_ours || !self.measure.scope.has_shared(path) {
                        return None;
                    }
                    let theirs = |directory: &Directory| match self.others.get(directory.as_str()) {
                        Some(other) => other.fleet == *fleet,
                        None => self.regions.get(directory.as_str()).is_some_and(|own| own.manifest.fleet == *fleet),
                    };
                    delivery::no_set(self.measure, path, standing, fleet, theirs)
                },
            ));
            return looked;
        };
        if standing.form != Form::Plain {
            looked.findings.push(find(Code::NotPlainFile, format!("{path} {}", form(standing.form)), FORM_HELP));
            if standing.form != Form::Executable {
                return looked;
            }
        }
        let own = path::manifest(&region.directory);
        let listed = region.listed(path);
        if let Some(listed) = &listed {
            if sha256_hex(&standing.bytes) != listed.sha256 {
                looked.findings.push(find(
                    Code::UntrustedBundle,
                    format!("{path} does not match the manifest"),
                    "Find out who changed it, and render or check out the bundle anew.",
                ));
            }
        } else if path != own.as_str() {
            looked.findings.push(find(
                Code::UnlistedFile,
                format!("{path} is in the region's folders, but the manifest does not list it"),
                "Find out who put it there. Remove it, or render with --remove-foreign.",
            ));
        }
        let object = listed.and_then(|listed| listed.object);
        match object {
            Some(object) if object.key.kind.is_secret() => sealed::look(self, region, object, standing, &mut looked),
            _ => {
                // A listed file is compared with what it should be; an unlisted file is a fault as such.
                let clear = plain::look(path, &standing.bytes).filter(plain::Found::is_clear);
                looked.findings.extend(clear.map(|found| {
                    let finding = self.measure.find(found.code, path, found.line, format!("{path} {}", found.what));
                    finding.in_region(&region.name).help(found.help())
                }));
                if let Some(object) = object {
                    looked.findings.extend(object::look(self.measure, region, object, &standing.bytes));
                }
            }
        }
        looked
    }

    /// Looks at one region as a whole: nothing is missing, and consumers can use it.
    pub fn region(&self, region: &Region<'_>, tree: &Tree) -> Vec<Finding> {
        let mut findings = Vec::new();
        let own = path::manifest(&region.directory);
        let objects = region.manifest.objects.iter().map(|object| &object.path);
        for path in objects.chain(region.manifest.files.iter().map(|file| &file.path)) {
            if !tree.contains_key(path.as_str()) {
                let message = format!("{path} is missing");
                let finding = self.measure.find(Code::UntrustedBundle, path.as_str(), 1, message);
                findings.push(finding.help("Find out who removed it, and render or check out the bundle anew."));
            }
        }
        let said: BTreeSet<&Recipient> = region.manifest.recipients.iter().collect();
        findings.extend(self.recipients(region, own.as_str(), 1, &said, "the manifest"));
        findings.extend(delivery::look(self.measure, region, tree));
        findings.into_iter().map(|finding| finding.in_region(&region.name)).collect()
    }

    /// Compares the recipients that something names with those that it should have.
    fn recipients(
        &self,
        region: &Region<'_>,
        path: &str,
        line: usize,
        said: &BTreeSet<&Recipient>,
        what: &str,
    ) -> Vec<Finding> {
        let mut findings = Vec::new();
        let by = if region.config.is_some() { "the configuration" } else { "the manifest" };
        let (mut wrong, mut foreign) = (Vec::new(), Vec::new());
        for recipient in said {
            let owners = self.owners.get(*recipient);
            let elsewhere = owners.and_then(|owners| owners.iter().find(|owner| **owner != *region.directory.as_str()));
            match elsewhere {
                Some(owner) => foreign.push(format!("{recipient} of {owner}")),
                None if !region.recipients.contains(*recipient) => wrong.push(format!("{recipient} too many")),
                None => {}
            }
        }
        wrong.extend(region.recipients.iter().filter(|r| !said.contains(r)).map(|r| format!("{r} missing")));
        if !foreign.is_empty() {
            let message = format!("{what} is for another region's recipient: {}", foreign.join(", "));
            findings.push(self.measure.find(Code::ForeignRecipient, path, line, message).help(
                "Treat what the file holds as known to that region: rotate it at its provider, and seal the file anew.",
            ));
        }
        if !wrong.is_empty() {
            let message = format!("{what} is not sealed to the recipients in {by}: {}", wrong.join(", "));
            findings.push(self.measure.find(Code::WrongRecipients, path, line, message).help(
                "Render, or with output.git run `pouch publish` or `pouch rekey`: they seal anew for the configured \
                 recipients. If there is a recipient too many, find out whose it is, and rotate what it could read.",
            ));
        }
        findings
    }

    /// Looks at all files beside each other: no ciphertext stands twice, and the fleet's own files are
    /// as the configuration makes them.
    pub fn across(&self, sealed: &[Sealed], tree: &Tree) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut first: BTreeMap<&[u8; 32], &Sealed> = BTreeMap::new();
        for file in sealed {
            let mut met: Option<&Sealed> = None;
            for mark in &file.marks {
                met = met.or(first.insert(mark, file));
            }
            let Some(other) = met else { continue };
            let message = match other.path == file.path {
                true => format!("{} holds the same ciphertext twice", file.path),
                false => format!("{} holds ciphertext that stands in {} too", file.path, other.path),
            };
            let finding = self.measure.find(Code::RepeatedCiphertext, &file.path, 1, message).in_region(&file.region);
            findings.push(finding.about(&file.key).help(
                "Sealing never gives the same ciphertext twice, so one was copied from the other: find out who did \
                 that, and render the bundle anew.",
            ));
        }
        findings.extend(delivery::fleet(self.measure, tree));
        findings
    }
}

impl Region<'_> {
    /// What the manifest says of a path.
    fn listed(&self, path: &str) -> Option<Listed<'_>> {
        let Manifest { objects, files, .. } = &self.manifest;
        if let Some(object) = self.by_path.get(path).and_then(|at| objects.get(*at)) {
            return Some(Listed { sha256: &object.sha256, object: Some(object) });
        }
        let at = files.binary_search_by(|file| file.path.as_str().cmp(path)).ok()?;
        files.get(at).map(|file| Listed { sha256: &file.sha256, object: None })
    }
}

const UNTRUSTED: &str = "Check that this is what pouch published there, for this fleet and folder. If it was made with \
                         an older reuse key, name that key under `reuseKey.previous`; if that key is lost, `pouch \
                         rekey --new-reuse-key` seals the bundle anew. Otherwise find out who changed it; as a last \
                         resort, `--adopt` renders the bundle anew, whatever is there.";

const NEWER: &str = "Verify it with the pouch that wrote it, or a newer one.";

const FORM_HELP: &str = "Pouch writes plain files only. Find out who put it there, and remove it.";

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(paths: &[&str]) -> Tree {
        let plain = |path: &&str| (String::from(*path), Standing::odd(Form::Plain));
        paths.iter().map(plain).collect()
    }

    fn measure(scope: Scope) -> Measure<'static> {
        Measure { fleet: None, keys: None, scope, shown: String::from("b/"), above: Vec::new() }
    }

    #[test]
    fn regions_are_the_folders_that_hold_files() {
        let tree = tree(&["argocd/x/y", "regions/a/b/c", "regions/a/d", "regions/b/e", "regions/f", "s/regions/g/h"]);
        assert_eq!(folders(&tree).collect::<Vec<_>>(), ["a", "b"]);
        let findings = |scope| open(&measure(scope), &tree).1.len();
        assert_eq!(findings(Scope::Whole), 2);
        assert_eq!(findings(Scope::Region("b".into())), 1);
        assert_eq!(findings(Scope::Changed(Changes::default())), 0);
    }

    #[test]
    fn a_place_is_where_the_user_finds_it() {
        let finding = measure(Scope::Whole).find(Code::UnlistedFile, "regions/a/x", 0, "x");
        assert_eq!(format!("{}", finding.origin.unwrap()), "b/regions/a/x:1:1");
    }
}
