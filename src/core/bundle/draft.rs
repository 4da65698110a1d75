//! Draft: what one region's bundle will be, and how it differs from the published one.
//!
//! Pack, compare and brake in one place, because they depend on each other in a circle: what differs
//! from the published copy can break a claim (an immutable field), a broken claim is carried over, and
//! what is carried does not differ. Nothing is sealed here: a [`Draft`] says which Secrets keep their
//! bytes and which ones the shell has to seal.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use zeroize::Zeroizing;

use super::carry::{self, Fate, Fates};
use super::manifest::{
    Manifest, ManifestFile, ManifestObject, NeededBy, Origin, SourceIdentity, State as ObjectState, Via,
};
use super::path::{self, BundlePath};
use super::published::{Published, State, credential};
use super::sanitise::sanitise;
use super::{Leaf, Style, namespace, region_files, sha256_hex};
use crate::change::brake::{self, Load};
use crate::change::{Action, Change};
use crate::claim::{Asked, Edit};
use crate::closure::companion::Deployments;
use crate::closure::definition::Definitions;
use crate::config::{Acceptance, Delivery, RegionConfig, RegionState};
use crate::finding::{Code, CredentialName, Finding};
use crate::judge::Court;
use crate::judge::Verdict;
use crate::judge::region::{Case, Forced, Incumbents, immutable_changes, settle};
use crate::k0rdent;
use crate::name::{GroupKind, Namespace};
use crate::object::ObjectKey;
use crate::reuse::{self, Context, KeyRing};
use crate::secret::Payload;
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
    /// Regions whose Secrets are all sealed anew.
    pub reseal: BTreeSet<String>,
    /// Sources that may stand for another cluster or repository, by region: the identity accepted.
    pub accept_source: BTreeSet<(String, String)>,
}

impl Wishes {
    /// Whether something is wished for a region beyond the usual, so that it must be drafted in full.
    fn concern(&self, region: &RegionConfig) -> bool {
        let named = |set: &BTreeSet<String>| {
            set.contains("all") || set.contains(region.name.as_str()) || set.contains(region.directory.as_str())
        };
        named(&self.adopt) || named(&self.remove_foreign) || named(&self.reseal)
    }
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
        let names =
            |set: &BTreeSet<String>| set.contains(region.name.as_str()) || set.contains(region.directory.as_str());
        let lifted = match finding.code {
            Code::UnsignedBundle => names(&input.wishes.adopt),
            Code::ForeignFile => names(&input.wishes.remove_foreign),
            _ => false,
        };
        match finding.code.class() {
            crate::finding::Class::Held if !lifted => holds.push(finding.in_region(&region.name)),
            crate::finding::Class::Held => {}
            _ => findings.push(finding.in_region(&region.name)),
        }
    }
    let sources_moved = source_changes(input);
    holds.extend(sources_moved);

    settle(input.court, input.definitions, region, &input.published.incumbents(), cases);
    break_shared_paths(region, cases);
    break_narrowed(input, cases);
    let mut packed = pack(input, cases);
    // Every round breaks at least one more claim, so this ends.
    while break_immutable(input, cases, &packed) {
        packed = pack(input, cases);
    }
    holds.append(&mut packed.holds);
    findings.append(&mut packed.findings);
    let changes = compare(input, &packed);
    holds.extend(hold(input, &packed, &changes));
    let (files, manifest) = write(input, packed);
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
            let message = format!("{lands} and {other} would have one file");
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
        case.find(finding.help("Cure what the source's own findings say."));
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
                "source {} is now {}, another one than region {region} was rendered from",
                source.name, source.identity
            );
            Finding::new(Code::SourceChanged, message)
                .in_region(region)
                .help(format!("If that is meant, pass --accept-source {region}={}.", source.identity))
        })
        .collect()
}

/// One object of a bundle, before it is written.
enum Packed {
    Fresh { order: Order, needed_by: BTreeSet<NeededBy>, text: Zeroizing<String>, keep: Keep },
    Carried { object: ManifestObject, needed_by: BTreeSet<NeededBy>, code: Code },
    Namespace { text: Zeroizing<String> },
}

/// What becomes of a Secret's published bytes.
#[derive(Clone, PartialEq, Eq)]
enum Keep {
    /// They stay.
    Kept,
    /// They stay under a new header: the tag was made with a previous reuse key.
    Retagged(Vec<u8>),
    /// The same Secret, for other recipients.
    Resealed,
    /// Anything else, and every object that is no Secret.
    Changed,
}

struct Pack {
    objects: BTreeMap<ObjectKey, Packed>,
    holds: Vec<Finding>,
    findings: Vec<Finding>,
    unasked: Vec<ObjectKey>,
}

/// What the admitted claims want published, and who wants it.
type Wanted = BTreeMap<ObjectKey, (Order, BTreeSet<NeededBy>)>;

fn wanted(cases: &[Case]) -> Wanted {
    let mut wanted = Wanted::new();
    for case in cases.iter().filter(|case| case.verdict == Verdict::Admitted) {
        for member in case.published_members() {
            let order =
                || Order { read: member.read.clone(), lands: member.lands.clone(), edits: member.edits.clone() };
            let entry = wanted.entry(member.lands.clone()).or_insert_with(|| (order(), BTreeSet::new()));
            entry.1.insert(needed_by(&case.claim.by, &member.via));
        }
    }
    wanted
}

/// The Namespaces that pouch makes for objects, as they are written.
fn namespaces<'k>(input: &Input<'_>, keys: impl Iterator<Item = &'k ObjectKey>) -> Vec<(ObjectKey, Zeroizing<String>)> {
    let names: BTreeSet<&Namespace> = keys.filter_map(|key| key.namespace.as_ref()).collect();
    let emitted = names.into_iter().filter(|name| namespace::is_emitted(name, &input.court.fleet.system_namespace));
    emitted
        .map(|name| {
            let labels = input.region.labels.get(name);
            let text = emit(&namespace::tree(name, labels, Style::of(&input.region.delivery)));
            (ObjectKey::namespace(name), text)
        })
        .collect()
}

fn pack(input: &Input<'_>, cases: &[Case]) -> Pack {
    let mut pack = Pack { objects: BTreeMap::new(), holds: Vec::new(), findings: Vec::new(), unasked: Vec::new() };
    if input.region.state == RegionState::Retired {
        return pack;
    }
    let mut wanted = wanted(cases);
    let fates = carry::fates(input, cases);
    pack.findings.extend(fates.findings(input, cases));
    carry_over(input, &fates, &mut wanted, &mut pack);
    for (lands, (order, needed_by)) in wanted {
        let Some(object) = input.court.snapshot.get(&order.read) else { continue };
        let text = emit(&sanitise(object, &lands, &order.edits, Style::of(&input.region.delivery)));
        let keep = if lands.kind.is_secret() {
            reuse_of(input, &lands, &text, object.payload.as_ref(), &mut pack.unasked)
        } else {
            Keep::Changed
        };
        pack.objects.insert(lands, Packed::Fresh { order, needed_by, text, keep });
    }
    for (key, text) in namespaces(input, pack.objects.keys()) {
        pack.objects.insert(key, Packed::Namespace { text });
    }
    pack
}

fn needed_by(by: &CredentialName, via: &[crate::closure::Via]) -> NeededBy {
    let step = |via: &crate::closure::Via| Via { provider_interface: via.interface.clone(), field: via.field.clone() };
    NeededBy {
        kind: "Credential".into(),
        namespace: by.namespace.clone(),
        name: by.name.clone(),
        via: via.iter().map(step).collect(),
    }
}

/// Carries over what broken claims have published, and adds their names to what is fresh anyway.
fn carry_over(input: &Input<'_>, fates: &Fates, wanted: &mut Wanted, pack: &mut Pack) {
    let Some(manifest) = input.published.manifest() else { return };
    let mut impossible: Vec<String> = Vec::new();
    for object in &manifest.objects {
        let carried: Vec<(&NeededBy, Code)> = object
            .needed_by
            .iter()
            .filter_map(|by| match fates.of(by) {
                Fate::Carried(code) => Some((by, code)),
                Fate::Fresh | Fate::Withdrawn => None,
            })
            .collect();
        let Some((_, code)) = carried.first().cloned() else { continue };
        let names = carried.into_iter().map(|(by, _)| by.clone());
        if let Some((_, needed_by)) = wanted.get_mut(&object.key) {
            needed_by.extend(names);
            continue;
        }
        let readable = manifest.recipients == input.region.recipients || !object.key.kind.is_secret();
        if input.published.bytes(&object.key).is_none() || !readable {
            impossible.push(format!("{}", object.key));
            continue;
        }
        let carried = Packed::Carried { object: object.clone(), needed_by: names.collect(), code };
        pack.objects.insert(object.key.clone(), carried);
    }
    if let Some(first) = impossible.first() {
        let region = &input.region.name;
        let others = match impossible.len().saturating_sub(1) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let message = format!(
            "{first}{others} must be carried over in region {region} and cannot be: recipients changed, or files do \
             not match the manifest"
        );
        pack.holds.push(
            Finding::new(Code::CarryImpossible, message)
                .in_region(region)
                .help("Cure the broken Credentials first, or restore the files."),
        );
    }
}

fn context<'a>(
    input: &'a Input<'_>,
    lands: &'a ObjectKey,
    recipients: &'a [crate::recipient::Recipient],
) -> Context<'a> {
    Context { fleet: &input.court.fleet.name, directory: &input.region.directory, landing: lands, recipients }
}

/// Whether a Secret's published bytes can stay (DESIGN §3).
fn reuse_of(
    input: &Input<'_>,
    lands: &ObjectKey,
    text: &str,
    payload: Option<&Payload>,
    unasked: &mut Vec<ObjectKey>,
) -> Keep {
    let region = input.region;
    let reseal = &input.wishes.reseal;
    if reseal.contains("all") || reseal.contains(region.name.as_str()) || reseal.contains(region.directory.as_str()) {
        return Keep::Changed;
    }
    let Some(object) = input.published.object(lands) else { return Keep::Changed };
    let Some(bytes) = input.published.files.get(object.path.as_str()) else {
        unasked.push(lands.clone());
        return Keep::Changed;
    };
    let now = context(input, lands, &region.recipients);
    if let Some(matched) = reuse::verify(input.keys, &now, text.as_bytes(), bytes) {
        return match matched {
            reuse::Under::Current => Keep::Kept,
            reuse::Under::Previous => retag(input, &now, text, bytes, payload).map_or(Keep::Changed, Keep::Retagged),
        };
    }
    if input.published.bytes(lands).is_none() {
        unasked.push(lands.clone());
        return Keep::Changed;
    }
    let Some(manifest) = input.published.manifest() else { return Keep::Changed };
    let before = context(input, lands, &manifest.recipients);
    match reuse::verify(input.keys, &before, text.as_bytes(), bytes) {
        Some(_) => Keep::Resealed,
        None => Keep::Changed,
    }
}

/// Gives a file whose tag was made with a previous reuse key a header under the current one.
fn retag(
    input: &Input<'_>,
    context: &Context<'_>,
    text: &str,
    bytes: &[u8],
    payload: Option<&Payload>,
) -> Option<Vec<u8>> {
    let document = super::published::document(bytes)?;
    let leaves = reuse::leaves(&document)?;
    reuse::retag(input.keys, context, text.as_bytes(), bytes, &reuse::pair(&leaves, payload?)?)
}

/// Marks claims as broken whose objects differ from the published ones where they must not.
fn break_immutable(input: &Input<'_>, cases: &mut [Case], pack: &Pack) -> bool {
    let forced = if matches!(input.region.delivery, Delivery::Flux(_)) { Forced::Yes } else { Forced::No };
    let mut broken: Vec<(ObjectKey, Finding)> = Vec::new();
    for (lands, packed) in &pack.objects {
        let Packed::Fresh { order, text, keep: Keep::Changed, .. } = packed else { continue };
        let (Some(bytes), Some(new)) = (input.published.bytes(lands), input.court.snapshot.get(&order.read)) else {
            continue;
        };
        if bytes == text.as_bytes() {
            continue;
        }
        let Some(document) = input.published.document(lands) else { continue };
        broken.extend(immutable_changes(lands, &document, new, forced).map(|finding| (lands.clone(), finding)));
    }
    let mut any = false;
    for case in cases.iter_mut().filter(|case| case.verdict == Verdict::Admitted) {
        for (lands, finding) in &broken {
            if case.closure.members.iter().any(|member| member.lands == *lands) {
                case.find(finding.clone());
                any = true;
            }
        }
    }
    any
}

/// What changes, by object and entry.
fn compare(input: &Input<'_>, pack: &Pack) -> Vec<Change> {
    let mut changes = Vec::new();
    for (lands, packed) in &pack.objects {
        let text = match packed {
            Packed::Carried { .. } | Packed::Fresh { keep: Keep::Kept | Keep::Retagged(_), .. } => continue,
            Packed::Fresh { text, .. } | Packed::Namespace { text } => text,
        };
        let action = match (input.published.object(lands), packed) {
            (None, _) => Action::Added,
            (Some(_), Packed::Fresh { keep: Keep::Resealed, .. }) => Action::Resealed,
            (Some(_), _) if input.published.bytes(lands) == Some(text.as_bytes()) => continue,
            (Some(_), _) => Action::Changed,
        };
        let lost_entries = match packed {
            Packed::Fresh { order, .. } if lands.kind.is_secret() && action == Action::Changed => {
                lost_entries(input, order)
            }
            _ => Vec::new(),
        };
        changes.push(Change { key: lands.clone(), action, lost_entries });
    }
    for object in input.published.manifest().map(|manifest| &*manifest.objects).unwrap_or_default() {
        if !pack.objects.contains_key(&object.key) {
            changes.push(Change { key: object.key.clone(), action: Action::Removed, lost_entries: Vec::new() });
        }
    }
    changes.sort();
    changes
}

/// Entries of a published Secret that the new one lacks or leaves empty.
fn lost_entries(input: &Input<'_>, order: &Order) -> Vec<String> {
    let Some(document) = input.published.document(&order.lands) else { return Vec::new() };
    let payload = input.court.snapshot.get(&order.read).and_then(|object| object.payload.as_ref());
    let kept = |name: &str| payload.and_then(|payload| payload.get(name)).is_some_and(|value| !value.is_empty());
    let data = document.at(&["data"]).map(crate::node::Node::entries).unwrap_or_default();
    data.iter()
        .filter(|(name, value)| value.as_str().is_some_and(|text| !text.is_empty()) && !kept(name))
        .map(|(name, _)| String::from(&**name))
        .collect()
}

fn hold(input: &Input<'_>, pack: &Pack, changes: &[Change]) -> Vec<Finding> {
    let region = input.region;
    let count = |keys: &mut dyn Iterator<Item = &ObjectKey>| keys.filter(|key| !key.kind.is_namespace()).count();
    let objects = input.published.manifest().map(|manifest| &*manifest.objects).unwrap_or_default();
    let before = input.published.manifest().map(|manifest| &*manifest.recipients).unwrap_or_default();
    let added: Vec<_> = match before {
        [] => Vec::new(),
        before => region.recipients.iter().filter(|recipient| !before.contains(recipient)).cloned().collect(),
    };
    let base = input.published.files.get(path::manifest(&region.directory).as_str());
    let retired = region.state == RegionState::Retired;
    let load = Load {
        fleet: &input.court.fleet.name,
        region: &region.name,
        directory: &region.directory,
        base: base.map(Vec::as_slice).unwrap_or_default(),
        published: count(&mut objects.iter().map(|object| &object.key)),
        left: pack.objects.keys().filter(|key| !key.kind.is_namespace() && !key.kind.is_config_map()).count(),
        changes,
        added_recipients: if retired { &[] } else { &added },
        unasked_reseals: &pack.unasked,
        secrets: pack.objects.keys().filter(|key| key.kind.is_secret()).count(),
    };
    brake::hold(&load, &input.court.fleet.limits, &input.wishes.accepted)
}

fn empty_manifest(input: &Input<'_>) -> Manifest {
    Manifest {
        directory: input.region.directory.clone(),
        fleet: input.court.fleet.name.clone(),
        recipients: input.region.recipients.clone(),
        sources: input.sources.to_vec(),
        objects: Vec::new(),
        files: Vec::new(),
    }
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
/// and [`draft`] finds out what differs. Marks cases as `draft` would for an unchanged region.
pub fn is_unchanged(input: &Input<'_>, cases: &mut [Case]) -> bool {
    let region = input.region;
    if region.state != RegionState::Active || input.wishes.concern(region) {
        return false;
    }
    settle(input.court, input.definitions, region, &Incumbents::suppose(cases), cases);
    break_shared_paths(region, cases);
    expect_files(input, cases).is_some_and(|expected| expected == input.published.files.len())
}

/// How many files the claims make, if each of them stands there to the byte.
fn expect_files(input: &Input<'_>, cases: &[Case]) -> Option<usize> {
    let (region, files) = (input.region, &input.published.files);
    let mut manifest = empty_manifest(input);
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
        let from = Some(Origin { namespace: order.read.namespace.clone(), name: order.read.name.clone() });
        add(&lands, from, needed_by, &text, &mut manifest)?;
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
    let mut manifest = empty_manifest(input);
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
                let from = Some(Origin { namespace: order.read.namespace.clone(), name: order.read.name.clone() });
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

/// What a draft's state says of a region that is not drafted: paused ones keep their files verbatim.
pub fn is_rendered(region: &RegionConfig) -> bool {
    region.state != RegionState::Paused
}

/// Whether nothing stands in the way of reading the published state at all.
pub fn is_known(published: &Published) -> bool {
    matches!(published.state, State::Nothing | State::Bundle(_))
}
