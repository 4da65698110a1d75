//! Draft: what one region's bundle will be, and how it differs from the published one.
//!
//! Packing, comparing and braking meet here, because they depend on each other in a circle: what differs
//! from the published copy can break a claim (an immutable field), a broken claim is carried over, and
//! what is carried does not differ. Nothing is sealed here: a [`Draft`] says which Secrets keep their
//! bytes and which ones the shell has to seal.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::compare::{break_immutable, compare, hold};
use super::manifest::{Manifest, ManifestFile, ManifestObject, NeededBy, Origin, SourceIdentity, State as ObjectState};
use super::pack::{Keep, Pack, Packed, context, namespaces, pack, wanted};
use super::path::{self, BundlePath};
use super::published::{Published, credential};
use super::sanitise::sanitise;
use super::{Leaf, Style, region_files, rekey, sha256_hex};
use crate::change::Change;
use crate::claim::{Asked, Edit};
use crate::closure::companion::Deployments;
use crate::closure::definition::Definitions;
use crate::config::{Acceptance, Fleet, RegionConfig, RegionState};
use crate::finding::{Code, CredentialName, Finding};
use crate::judge::Court;
use crate::judge::Verdict;
use crate::judge::region::{Case, Incumbents, settle};
use crate::k0rdent;
use crate::name::{GroupKind, Region};
use crate::object::ObjectKey;
use crate::reuse::{self, KeyRing};
use crate::yaml::emit::emit;

/// What drafting one region needs.
pub struct Input<'a> {
    /// Configuration, snapshot and Region facts.
    pub court: &'a Court<'a>,
    /// What refers to what.
    pub definitions: &'a Definitions,
    /// Which ClusterDeployments use which Credential.
    pub deployments: &'a Deployments,
    /// Every Credential of the snapshot.
    pub asked: &'a BTreeMap<CredentialName, Asked>,
    /// The region.
    pub region: &'a RegionConfig,
    /// What is published of it.
    pub published: &'a Published,
    /// The reuse keys.
    pub keys: &'a KeyRing,
    /// What the user lets through.
    pub wishes: &'a Wishes,
    /// What is known of the sources, for the manifest.
    pub sources: &'a [SourceIdentity],
}

/// What the user lets through, by region folder or name.
#[derive(Clone, Debug, Default)]
pub struct Wishes {
    /// Acceptances of the brake, from flags and configuration.
    pub accepted: Vec<Acceptance>,
    /// Regions whose unauthenticated files are replaced.
    pub adopt: BTreeSet<String>,
    /// Regions whose foreign files are removed.
    pub remove_foreign: BTreeSet<String>,
    /// Regions whose Secrets are all sealed anew, as far as they can be.
    pub reseal: BTreeSet<String>,
    /// The only regions that are looked at, each of which is sealed anew as a whole or left alone; none
    /// in a run that is no `rekey`.
    pub rekey: Option<BTreeSet<Region>>,
    /// Sources that may stand for another cluster or repository, by region: the identity accepted.
    pub accept_source: BTreeSet<(String, String)>,
}

impl Wishes {
    /// Whether something is wished for a region beyond the usual, so that it must be drafted in full.
    fn concern(&self, region: &RegionConfig) -> bool {
        named(&self.adopt, region) || self.removes_foreign(region) || self.reseals(region)
    }

    /// Whether foreign files in a region's folders go.
    pub(super) fn removes_foreign(&self, region: &RegionConfig) -> bool {
        named(&self.remove_foreign, region)
    }

    /// Whether a region is part of the run at all.
    pub fn take_up(&self, region: &RegionConfig) -> bool {
        self.rekey.is_none() || self.rekeys(region)
    }

    /// Whether a region is sealed anew as a whole or left alone.
    pub fn rekeys(&self, region: &RegionConfig) -> bool {
        self.rekey.as_ref().is_some_and(|regions| regions.contains(&region.name))
    }

    /// Whether a region's Secrets are all to be sealed anew.
    pub(super) fn reseals(&self, region: &RegionConfig) -> bool {
        self.rekeys(region) || self.reseal.contains("all") || named(&self.reseal, region)
    }
}

/// Whether a flag named a region, by its name or its folder.
fn named(regions: &BTreeSet<String>, region: &RegionConfig) -> bool {
    regions.contains(region.name.as_str()) || regions.contains(region.directory.as_str())
}

/// The content of one file of a draft.
pub enum Content {
    /// These bytes.
    Bytes(Vec<u8>),
    /// The bytes that are published under this path.
    Kept(BundlePath),
    /// A Secret that the shell has to seal.
    Seal(Order),
}

/// A Secret to be sealed.
#[derive(Clone, Debug)]
pub struct Order {
    /// The Secret in the snapshot.
    pub read: ObjectKey,
    /// The Secret on the region.
    pub lands: ObjectKey,
    /// What is rewritten.
    pub edits: Vec<Edit>,
}

impl Order {
    /// Where it was read, as the manifest says it.
    fn origin(&self) -> Origin {
        Origin { namespace: self.read.namespace.clone(), name: self.read.name.clone() }
    }
}

/// One region's bundle as it will be.
pub struct Draft {
    /// Every file but `bundle.yaml`, by path.
    pub files: BTreeMap<BundlePath, Content>,
    /// The manifest; hashes of what is yet to be sealed are empty.
    pub manifest: Manifest,
    /// What changes.
    pub changes: Vec<Change>,
    /// What holds the region; empty where it may be published.
    pub holds: Vec<Finding>,
    /// What else is worth knowing about the region.
    pub findings: Vec<Finding>,
}

impl Draft {
    /// Whether publishing it would change no byte.
    pub fn is_published(&self, published: &Published, keys: &KeyRing) -> bool {
        if self.manifest.objects.is_empty() && self.files.is_empty() {
            return published.files.is_empty();
        }
        let path = path::manifest(&self.manifest.directory);
        let same = |(path, content): (&BundlePath, &Content)| match content {
            Content::Seal(_) => false,
            Content::Kept(from) => from == path,
            Content::Bytes(bytes) => published.files.get(path.as_str()).is_some_and(|published| published == bytes),
        };
        published.files.len() == self.files.len().saturating_add(1)
            && self.files.iter().all(same)
            && published
                .files
                .get(path.as_str())
                .is_some_and(|bytes| *bytes == bundle_yaml(&self.manifest, keys).as_bytes())
    }
}

/// The text of `bundle.yaml`, tag line included.
pub fn bundle_yaml(manifest: &Manifest, keys: &KeyRing) -> String {
    let rest = super::manifest::emit(manifest);
    let mut text = reuse::manifest_line(&keys.current, &manifest.fleet, &manifest.directory, rest.as_bytes());
    text.push_str(&rest);
    text
}

/// Drafts one region's bundle. May mark further cases as broken.
pub fn draft(input: &Input<'_>, cases: &mut [Case]) -> Draft {
    let region = input.region;
    let mut findings: Vec<Finding> = Vec::new();
    let mut holds: Vec<Finding> = Vec::new();
    for finding in input.published.findings(&region.directory) {
        let lifted = match finding.code {
            Code::UnsignedBundle => named(&input.wishes.adopt, region),
            Code::ForeignFile => input.wishes.removes_foreign(region),
            _ => false,
        };
        match finding.code.class() {
            crate::finding::Class::Held if !lifted => {
                holds.push(rekey::advised(input, finding).in_region(&region.name))
            }
            crate::finding::Class::Held => {}
            _ => findings.push(finding.in_region(&region.name)),
        }
    }
    holds.extend(source_changes(input));

    settle(input.court, input.definitions, region, &input.published.incumbents(), cases);
    break_shared_paths(region, cases);
    break_narrowed(input, cases);
    let mut packed = pack(input, cases);
    // Every round breaks at least one more claim, so this ends.
    while break_immutable(input, cases, &packed) {
        packed = pack(input, cases);
    }
    holds.append(&mut packed.holds);
    holds.extend(rekey::unprovable(input, cases));
    findings.append(&mut packed.findings);
    let changes = compare(input, &packed);
    holds.extend(hold(input, &packed, &changes));
    let (files, manifest) = write(input, packed);
    holds.extend(rekey::strange(input, &manifest));
    Draft { files, manifest, changes, holds, findings }
}

/// Breaks claims whose objects' long names are cut to one path: the hashes that tell them apart have 64
/// bits, so this takes somebody who looks for it.
fn break_shared_paths(region: &RegionConfig, cases: &mut [Case]) {
    let mut first: BTreeMap<BundlePath, &ObjectKey> = BTreeMap::new();
    let mut shared: BTreeMap<ObjectKey, ObjectKey> = BTreeMap::new();
    for member in cases.iter().flat_map(Case::published_members) {
        let other = *first.entry(path::of_object(&region.directory, &member.lands)).or_insert(&member.lands);
        if *other != member.lands {
            shared.insert(member.lands.clone(), other.clone());
            shared.insert(other.clone(), member.lands.clone());
        }
    }
    for case in cases.iter_mut().filter(|case| case.verdict == Verdict::Admitted) {
        let met = case.published_members().find_map(|member| Some((member.lands.clone(), shared.get(&member.lands)?)));
        if let Some((lands, other)) = met {
            let message = format!("{lands} and {other} would be written to the same file");
            let finding = Finding::new(Code::ConflictingContent, message).about(&lands).at(&case.claim.origin);
            case.find(finding.help("Shorten the names, or change their first 160 bytes."));
        }
    }
}

/// Breaks claims that would lose something for want of a definition: while a ProviderInterface may stand
/// in what was not read, a closure that became narrower proves nothing.
fn break_narrowed(input: &Input<'_>, cases: &mut [Case]) {
    let interface = GroupKind::new(k0rdent::GROUP, "ProviderInterface");
    let Some(source) = input.court.snapshot.unread_in(&interface, None) else { return };
    let mut published: BTreeMap<CredentialName, Vec<&ObjectKey>> = BTreeMap::new();
    for object in input.published.manifest().map(|manifest| &*manifest.objects).unwrap_or_default() {
        for by in &object.needed_by {
            published.entry(credential(by)).or_default().push(&object.key);
        }
    }
    for case in cases.iter_mut().filter(|case| case.verdict == Verdict::Admitted) {
        let Some(before) = published.get(&case.claim.by) else { continue };
        let now: BTreeSet<&ObjectKey> = case.published_members().map(|member| &member.lands).collect();
        let Some(lost) = before.iter().find(|key| !now.contains(*key)) else { continue };
        let message = format!(
            "whether a ProviderInterface still asks for {lost} is unknown: source {source} was not read completely"
        );
        let finding = Finding::new(Code::Unread, message).about(lost).at(&case.claim.origin);
        case.find(finding.help("Correct the source: its own findings say what is wrong."));
    }
}

/// A source that stands for another cluster or repository than the published bundle says.
fn source_changes(input: &Input<'_>) -> Vec<Finding> {
    let Some(manifest) = input.published.manifest() else { return Vec::new() };
    let region = &input.region.name;
    let accepted = |identity: &str| input.wishes.accept_source.contains(&(region.to_string(), identity.into()));
    let changed = |source: &&SourceIdentity| {
        manifest.sources.iter().any(|before| before.name == source.name && before.identity != source.identity)
            && !accepted(&source.identity)
    };
    input
        .sources
        .iter()
        .filter(changed)
        .map(|source| {
            let message = format!(
                "source {} is now {}, but region {region} was rendered from another one",
                source.name, source.identity
            );
            Finding::new(Code::SourceChanged, message)
                .in_region(region)
                .help(format!("If this is intended, pass --accept-source {region}={}.", source.identity))
        })
        .collect()
}

/// A region's manifest as long as nothing is in the bundle.
pub(super) fn empty_manifest(fleet: &Fleet, region: &RegionConfig) -> Manifest {
    Manifest {
        directory: region.directory.clone(),
        fleet: fleet.name.clone(),
        recipients: region.recipients.clone(),
        sources: Vec::new(),
        objects: Vec::new(),
        files: Vec::new(),
    }
}

fn begun_manifest(input: &Input<'_>) -> Manifest {
    Manifest { sources: input.sources.to_vec(), ..empty_manifest(input.court.fleet, input.region) }
}

/// Adds to a manifest the files that are no objects, and returns them.
fn list_files(input: &Input<'_>, manifest: &mut Manifest, kept: &BTreeSet<Leaf>) -> BTreeMap<BundlePath, String> {
    let (fleet, region) = (input.court.fleet, input.region);
    let paths: BTreeSet<BundlePath> = manifest.objects.iter().map(|object| object.path.clone()).collect();
    let files = region_files(&fleet.name, &region.directory, &region.delivery, &fleet.output.path, &paths, kept);
    let listed =
        |(path, text): (&BundlePath, &String)| ManifestFile { path: path.clone(), sha256: sha256_hex(text.as_bytes()) };
    manifest.files.extend(files.iter().map(listed));
    files
}

/// Whether the claims make exactly what is published, to the byte: the common case, told without
/// reading the published manifest.
///
/// It supposes that every admitted claim is published already and makes the manifest that follows. If
/// that is the published one, the supposition was right; if not, nothing was lost but a little time,
/// and [`draft`] finds out what differs. The cases come back marked as `draft` would mark them for an unchanged
/// region.
pub fn unchanged(input: &Input<'_>, cases: impl FnOnce() -> Vec<Case>) -> Option<Vec<Case>> {
    let region = input.region;
    if region.state != RegionState::Active || input.wishes.concern(region) {
        return None;
    }
    let mut cases = cases();
    settle(input.court, input.definitions, region, &Incumbents::suppose(&cases), &mut cases);
    break_shared_paths(region, &mut cases);
    let same = expect_files(input, &cases).is_some_and(|expected| expected == input.published.files.len());
    same.then_some(cases)
}

/// How many files the claims make, if each of them stands there to the byte.
fn expect_files(input: &Input<'_>, cases: &[Case]) -> Option<usize> {
    let (region, files) = (input.region, &input.published.files);
    let mut manifest = begun_manifest(input);
    let add =
        |key: &ObjectKey, from: Option<Origin>, needed_by: BTreeSet<NeededBy>, text: &str, manifest: &mut Manifest| {
            let path = path::of_object(&region.directory, key);
            let bytes = files.get(path.as_str())?;
            let same = if key.kind.is_secret() {
                let context = context(input, key, &region.recipients);
                reuse::verify(input.keys, &context, text.as_bytes(), bytes) == Some(reuse::Under::Current)
            } else {
                bytes == text.as_bytes()
            };
            let sha256 = sha256_hex(bytes);
            let needed_by = needed_by.into_iter().collect();
            let object =
                ManifestObject { key: key.clone(), from, path, sha256, state: ObjectState::Current, needed_by };
            manifest.objects.push(object);
            same.then_some(())
        };
    let wanted = wanted(cases);
    for (key, text) in namespaces(input, wanted.keys()) {
        add(&key, None, BTreeSet::new(), &text, &mut manifest)?;
    }
    for (lands, (order, needed_by)) in wanted {
        let object = input.court.snapshot.get(&order.read)?;
        let text = emit(&sanitise(object, &lands, &order.edits, Style::of(&region.delivery)));
        add(&lands, Some(order.origin()), needed_by, &text, &mut manifest)?;
    }
    let others = list_files(input, &mut manifest, &BTreeSet::new());
    if !others.iter().all(|(path, text)| files.get(path.as_str()).is_some_and(|bytes| bytes == text.as_bytes())) {
        return None;
    }
    let own = files.get(path::manifest(&region.directory).as_str())?;
    let expected = manifest.objects.len().saturating_add(others.len()).saturating_add(1);
    (*own == bundle_yaml(&manifest, input.keys).as_bytes()).then_some(expected)
}

/// Turns a pack into files and a manifest.
fn write(input: &Input<'_>, pack: Pack) -> (BTreeMap<BundlePath, Content>, Manifest) {
    let region = input.region;
    let directory = &region.directory;
    let mut manifest = begun_manifest(input);
    let mut files = BTreeMap::new();
    if region.state == RegionState::Retired {
        return (files, manifest);
    }
    for (lands, packed) in pack.objects {
        let path = path::of_object(directory, &lands);
        let (content, from, state, needed_by) = match packed {
            Packed::Namespace { text } => {
                (Content::Bytes(text.as_bytes().to_vec()), None, ObjectState::Current, BTreeSet::new())
            }
            Packed::Carried { object, needed_by, code } => {
                (Content::Kept(object.path.clone()), object.from, ObjectState::Carried(code), needed_by)
            }
            Packed::Fresh { order, needed_by, text, keep } => {
                let from = Some(order.origin());
                let content = match (keep, input.published.object(&lands)) {
                    (Keep::Kept, Some(object)) => Content::Kept(object.path.clone()),
                    (Keep::Retagged(bytes), _) => Content::Bytes(bytes),
                    _ if lands.kind.is_secret() => Content::Seal(order),
                    _ => Content::Bytes(text.as_bytes().to_vec()),
                };
                (content, from, ObjectState::Current, needed_by)
            }
        };
        let sha256 = match &content {
            Content::Bytes(bytes) => sha256_hex(bytes),
            Content::Kept(path) => {
                input.published.files.get(path.as_str()).map(|bytes| sha256_hex(bytes)).unwrap_or_default()
            }
            Content::Seal(_) => String::new(),
        };
        manifest.objects.push(ManifestObject {
            key: lands,
            from,
            path: path.clone(),
            sha256,
            state,
            needed_by: needed_by.into_iter().collect(),
        });
        files.insert(path, content);
    }
    let before = input.published.manifest().into_iter().flat_map(|manifest| &manifest.files);
    let kept: BTreeSet<Leaf> = before.filter_map(|file| Leaf::of_path(directory, &file.path)).collect();
    for (path, text) in list_files(input, &mut manifest, &kept) {
        files.insert(path, Content::Bytes(text.into_bytes()));
    }
    (files, manifest)
}
