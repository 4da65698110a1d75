//! Artifacts: what is published of each region, copied to a registry.
//!
//! The branch, or the folder, is the record; a registry holds copies of it. So a copy is made of what stands there after
//! a run, whatever the run changed, and of a bundle that a reuse key vouches for, file by file. A region whose copy is
//! up to date costs two short requests and nothing is packed; one that fails stops no other, and the next run goes on
//! from there.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use pouch_core::config::{Fleet, OutputOci, RegionConfig, RegionState};
use pouch_core::hash::sha256_hex;
use pouch_core::layout::{attributes, path};
use pouch_core::listing::counted;
use pouch_core::region::published::{Files, Published};
use pouch_core::report::summary::{Artifact, ArtifactState, FailureRecord, Outcome};
use pouch_core::reuse::{KeyRing, Packed, manifest_verifies};

use super::Report;
use crate::error::{Failure, Kind};
use crate::registry::artifact::{Of, digest_of, layer};
use crate::registry::{Credentials, Health, Means, RegistryError, Repository};
use crate::session::Session;
use crate::shelf::branch::BranchShelf;
use crate::shelf::directory::LookedAt;
use crate::shelf::rounds::Done;
use crate::shelf::{Look, ShelfError};

/// How many regions are asked about at once.
const IN_FLIGHT: usize = 8;

/// What copies are made with.
#[derive(Clone, Copy)]
pub struct Copying<'a> {
    /// Environment, clock, entropy, where words go, and whether the run should end.
    pub session: &'a Session,
    /// The resolved configuration.
    pub fleet: &'a Fleet,
    /// The reuse keys.
    pub keys: &'a KeyRing,
    /// How long nothing may move during a request.
    pub request: Duration,
}

/// What stands at a place, to look at; or why it cannot be looked at.
type Looked<'a> = Result<&'a dyn Look, &'a Failure>;

/// What became of the regions' artifacts.
pub struct Artifacts(Vec<Told>);

/// What is told of one.
struct Told {
    record: Artifact,
    /// What somebody should know beside that.
    warning: Option<String>,
}

impl Artifacts {
    /// What failed at worst: something did not work, though what is published stands.
    pub fn failed(&self) -> Option<Kind> {
        self.0.iter().any(|told| told.record.failure.is_some()).then_some(Kind::Failed)
    }

    /// Says what became of each.
    pub fn tell(&self, session: &Session) {
        let mut unchanged = 0_usize;
        for Told { record, warning } in &self.0 {
            let Artifact { region, reference, digest, .. } = record;
            if let Some(warning) = warning {
                session.ui.warn(warning);
            }
            match (record.state, digest, &record.failure) {
                (_, _, Some(failure)) => session.ui.error(&failure.message, &failure.help),
                (ArtifactState::Pushed, Some(digest), _) => {
                    session.ui.note(&format!("{region}: {reference} is at {digest}"));
                }
                (ArtifactState::Unchanged, ..) => unchanged += 1,
                _ => {}
            }
        }
        if unchanged > 0 {
            let artifacts = counted(unchanged, "artifact is", "artifacts are");
            session.ui.detail(&format!("{artifacts} as published already; nothing was sent"));
        }
    }

    /// The records of all, by region.
    pub fn records(self) -> Vec<Artifact> {
        self.0.into_iter().map(|told| told.record).collect()
    }
}

impl Copying<'_> {
    /// Copies what stands at the places where nothing failed; none where no registry is configured.
    pub fn of_places(&self, done: &[Done<'_, Report>]) -> Option<Artifacts> {
        let oci = self.fleet.output.oci.as_ref()?;
        let looks: Vec<(_, &Report, Result<BranchShelf, Failure>)> = done
            .iter()
            .filter_map(|done| {
                let (report, ..) = done.result.as_ref().ok()?;
                Some((done.target, report, done.stands.as_ref()?.look()))
            })
            .collect();
        let regions = looks.iter().flat_map(|(target, report, look)| {
            let look = look.as_ref().map(|look| -> &dyn Look { look });
            let regions = target.regions.iter().filter_map(|name| self.fleet.regions.get(name));
            regions.filter(|region| is_answered_for(report, region)).map(move |region| (region, look))
        });
        Some(self.all(oci, regions.collect()))
    }

    /// Copies what stands in a folder; none where no registry is configured.
    pub fn of_folder(&self, report: &Report, root: &Path) -> Option<Artifacts> {
        let oci = self.fleet.output.oci.as_ref()?;
        let look = LookedAt::open(root).map_err(Failure::from);
        let look = look.as_ref().map(|look| -> &dyn Look { look });
        let regions = self.fleet.regions.values().filter(|region| is_answered_for(report, region));
        Some(self.all(oci, regions.map(|region| (region, look)).collect()))
    }

    fn all(&self, oci: &OutputOci, regions: Vec<(&RegionConfig, Looked<'_>)>) -> Artifacts {
        self.session.timed("registry", || {
            let credentials = Credentials::open(&self.session.ambient, &self.session.stop.flag());
            let (count, packing, health) = (regions.len().min(IN_FLIGHT), Mutex::new(()), Health::default());
            let (waiting, told) = (Mutex::new(regions.into_iter()), Mutex::new(BTreeMap::new()));
            let work = || {
                let next = || waiting.lock().ok().and_then(|mut waiting| waiting.next());
                while let Some((region, look)) = next() {
                    let one = self.one(oci, region, (look, credentials.as_ref(), (&packing, &health)));
                    if let Ok(mut told) = told.lock() {
                        told.insert(region.name.clone(), one);
                    }
                }
            };
            std::thread::scope(|scope| {
                // This thread works too: where the system gives no other, it does all of it.
                for _ in 1..count {
                    _ = std::thread::Builder::new().spawn_scoped(scope, work);
                }
                work();
            });
            Artifacts(told.into_inner().unwrap_or_default().into_values().collect())
        })
    }

    fn one(
        &self,
        oci: &OutputOci,
        region: &RegionConfig,
        (look, credentials, (packing, health)): (
            Looked<'_>,
            Result<&Credentials, &RegistryError>,
            (&Mutex<()>, &Health),
        ),
    ) -> Told {
        let place = oci.place(&region.directory);
        let record = |state, digest, failure| Artifact {
            region: region.name.to_string(),
            reference: place.to_string(),
            state,
            digest,
            failure,
        };
        let flag = self.session.stop.flag();
        let done = look.map_err(|failure| Why(failure.message.clone(), failure.help.clone())).and_then(|look| {
            let means = Means {
                ambient: &self.session.ambient,
                stop: &flag,
                credentials: credentials.map_err(|error| Why::from(error.clone()))?,
                health,
                request: self.request,
                insecure: oci.is_insecure(),
            };
            self.copied(region, look, (&Repository::new(means, &place), packing))
        });
        match done {
            Ok((state, digest, warning)) => {
                let warning = warning.map(|words| format!("region {}: {place} {words}", region.name));
                Told { record: record(state, digest, None), warning }
            }
            Err(Why(message, help)) => {
                let message =
                    format!("the artifact of region {} at {place} may be out of date: {message}", region.name);
                let help = format!("{help} What is published stands; run pouch again, which goes on from there.");
                let failure = FailureRecord { message, help: help.trim_start().to_owned() };
                Told { record: record(ArtifactState::Failed, None, Some(failure)), warning: None }
            }
        }
    }

    /// Copies one region, if its copy is another one.
    fn copied(
        &self,
        region: &RegionConfig,
        look: &dyn Look,
        (repository, packing): (&Repository<'_>, &Mutex<()>),
    ) -> Result<(ArtifactState, Option<String>, Option<String>), Why> {
        let (Self { fleet, keys, .. }, directory) = (self, &region.directory);
        let Some(manifest) = look.manifest(directory.as_str())? else {
            let standing = match region.state {
                RegionState::Retired => repository.standing()?,
                _ => None,
            };
            let words = "stays, though the region is retired: remove the tag in the registry when nothing follows it";
            let warning = standing.as_ref().map(|_| words.to_owned());
            return Ok((ArtifactState::Left, standing.map(|standing| standing.digest), warning));
        };
        let doubted = |words: &str| Ok((ArtifactState::Left, None, Some(words.to_owned())));
        if manifest_verifies(keys, &fleet.name, directory, &manifest).is_none() {
            return doubted("stays as it is: no reuse key vouches for the region's bundle.yaml");
        }
        let (bundle, of) = (sha256_hex(&manifest), Of { fleet: &fleet.name, directory, keys });
        let standing = repository.standing()?;
        let made = standing.as_ref().and_then(|standing| of.made(&standing.manifest));
        if let (Some(standing), Some(made)) = (&standing, &made)
            && made.is_exact
            && made.bundle == bundle
            && repository.has(&made.layer)?
        {
            return Ok((ArtifactState::Unchanged, Some(standing.digest.clone()), None));
        }
        // One region's files at a time: they are the most that a run holds.
        let packed = match packing.lock() {
            Ok(_one) => self.packed(region, look)?,
            Err(_) => return Err(Why("another part of the run failed".to_owned(), String::new())),
        };
        let Some(Layer { manifest, layer }) = packed else {
            return doubted("stays as it is: the region's files are not those that its bundle.yaml lists");
        };
        let digest = digest_of(&layer);
        let size = u64::try_from(layer.len()).unwrap_or(u64::MAX);
        let packed = Packed { bundle: &sha256_hex(&manifest), layer: &digest, size };
        let manifest = of.manifest(packed).ok_or_else(|| Why("there is no reuse key".to_owned(), String::new()))?;
        let digest = repository.push(&layer, &manifest)?;
        let was = standing.filter(|_| made.is_none()).map(|standing| standing.digest);
        let warning = was.map(|was| format!("was at {was}, which pouch did not push, and is as published again"));
        Ok((ArtifactState::Pushed, Some(digest), warning))
    }

    /// The bundle's own manifest, and the layer of what it lists; none if something else stands there.
    fn packed(&self, region: &RegionConfig, look: &dyn Look) -> Result<Option<Layer>, Why> {
        let directory = &region.directory;
        let (files, odd) = look.read(directory)?;
        if let Some(unread) = odd.unread {
            return Err(Why(format!("the bundle cannot be read: {unread}"), String::new()));
        }
        let published = Published::examine(&self.fleet.name, directory, files, self.keys);
        let Some(listed) = published.manifest().filter(|_| published.tampered().is_empty()) else { return Ok(None) };
        let own = path::manifest(directory);
        let paths = listed.objects.iter().map(|object| &object.path).chain(listed.files.iter().map(|file| &file.path));
        let of = |path: &str| Files::get(&published.files, path).map(Vec::as_slice);
        let found: Option<BTreeMap<&str, &[u8]>> =
            paths.chain([&own]).map(|path| Some((path.as_str(), of(path.as_str())?))).collect();
        let Some(mut found) = found else { return Ok(None) };
        // Beside them, so that what is unpacked can be proved as it is.
        let attributes = path::gitattributes();
        found.insert(attributes.as_str(), attributes::TEXT.as_bytes());
        let packed = layer(&found).map_err(|error| Why(format!("it cannot be packed: {error}"), String::new()))?;
        Ok(of(own.as_str()).map(|manifest| Layer { manifest: manifest.to_vec(), layer: packed }))
    }
}

/// Whether a run can answer for what stands of a region: a state that was published once and put back since proves itself,
/// and only whoever compared it with the last one knows. A run that an earlier one answers for looked at nothing.
fn is_answered_for(report: &Report, region: &RegionConfig) -> bool {
    let record = report.regions.iter().find(|record| *record.name == *region.name.as_str());
    let is_sure = |outcome| matches!(outcome, Outcome::Unchanged | Outcome::Published | Outcome::Withdrawn);
    report.regions.is_empty()
        || region.state == RegionState::Retired
        || record.is_some_and(|record| is_sure(record.outcome))
}

/// A bundle's own manifest, and the layer of what it lists.
struct Layer {
    manifest: Vec<u8>,
    layer: Vec<u8>,
}

/// Why there is no copy, and what to do about it.
struct Why(String, String);

impl From<RegistryError> for Why {
    fn from(RegistryError { message, help }: RegistryError) -> Self {
        Self(message, help)
    }
}

impl From<ShelfError> for Why {
    fn from(error: ShelfError) -> Self {
        let Failure { message, help, .. } = error.into();
        Self(message, help)
    }
}
