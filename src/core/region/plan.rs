//! Plan: what becomes of one region, as one value.
//!
//! Packing, comparing and braking meet here, because they depend on each other in a circle: what differs from the
//! published copy can break a claim (an immutable field), a broken claim is carried over, and what is carried does not
//! differ. Nothing is sealed here: a [`RegionPlan`] says which Secrets keep their bytes and which ones the shell has to
//! seal. Summary, text, commit message and hints are views of it.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::convert::Infallible;

use super::accounts::is_anything_lost;
use super::breaks::{break_displaced, break_in_place, break_narrowed, break_shared_paths};
use super::change::{Change, Hold, Sharing, Split};
use super::compare::{break_immutable, compare, hold, sharings};
use super::content::Content;
use super::crowded::crowded;
use super::delivered;
use super::delivery;
use super::explain;
use super::guests;
use super::handover;
use super::history::{History, Past};
use super::holding::Held;
use super::home;
use super::input::{Input, Terms, empty_manifest};
use super::moved;
use super::narrowed;
use super::odd::Odd;
use super::pack::{Keep, Pack, Packed, Stood, decide_changed, pack_as_published, unreadable_carried};
use super::packing::pack;
use super::published::{Files, Proved, Published, Unread};
use super::registered;
use super::resealing;
use super::rests_on;
use super::sessions;
use super::sources;
use super::standing::Standing;
use super::texts;
use crate::config::{Acceptance, RegionState};
use crate::finding::{Class, Code, Finding};
use crate::hash::sha256_hex;
use crate::judge::case::{Ruling, Verdict};
use crate::judge::incumbents::Incumbents;
use crate::judge::region::{is_within, limit, settle};
use crate::layout::manifest::{self, Manifest, ManifestFile, ManifestObject, ObjectState, SourceIdentity};
use crate::layout::path::{self, BundlePath};
use crate::layout::{Layout, Leaf, Splits};
use crate::name::ObjectKey;
use crate::reuse::{self, KeyRing, ReuseKey};

/// What becomes of one region.
pub struct RegionPlan {
    /// Every file but `bundle.yaml`, by path.
    pub files: BTreeMap<BundlePath, Content>,
    /// The manifest; hashes of what is yet to be sealed are empty.
    pub manifest: Manifest,
    /// What changes.
    pub changes: Vec<Change>,
    /// Objects that stay, and that others need than before.
    pub sharings: Vec<Sharing>,
    /// Leaves that are split, or in more parts than before.
    pub splits: Vec<Split>,
    /// What holds the region; empty where it may be published.
    pub holds: Vec<Hold>,
    /// What holds withdrawals, which stay published while the rest of the region goes on.
    pub withheld: Vec<Hold>,
    /// The acceptances that let something through.
    pub accepted: Vec<Acceptance>,
    /// What the region rules on each of its cases, in their order.
    pub rulings: Vec<Ruled>,
    /// What else is worth knowing about the region.
    pub findings: Vec<Finding>,
    /// Whether publishing it would change no byte.
    pub is_published: bool,
}

/// What a region rules on one of its cases.
pub struct Ruled {
    /// What becomes of the claim.
    pub verdict: Verdict,
    /// What the region adds to the case's findings.
    pub added: Vec<Finding>,
}

fn ruled(rulings: Vec<Ruling<'_>>) -> Vec<Ruled> {
    rulings.into_iter().map(|ruling| Ruled { verdict: ruling.verdict, added: ruling.added }).collect()
}

/// The text of `bundle.yaml`, tag line included.
pub fn bundle_yaml(manifest: &Manifest, key: &ReuseKey) -> String {
    let rest = manifest::emit(manifest);
    tag_line(manifest, &rest, key) + &rest
}

/// The first line of `bundle.yaml`, which authenticates the rest.
fn tag_line(manifest: &Manifest, rest: &str, key: &ReuseKey) -> String {
    reuse::manifest_line(key, &manifest.fleet, &manifest.directory, rest.as_bytes())
}

/// Whether a file is the text of a manifest, tag line included. A blind ring takes the line at its word.
fn is_manifest(bytes: &[u8], manifest: &Manifest, keys: &KeyRing) -> bool {
    let rest = manifest::emit(manifest);
    let Some((line, told)) = str::from_utf8(bytes).ok().and_then(|text| text.split_once('\n')) else { return false };
    if !manifest::is_emitted(told, &rest) {
        return false;
    }
    match keys.current() {
        Some(key) => tag_line(manifest, told, key).strip_suffix('\n') == Some(line),
        None => reuse::manifest_verifies(keys, &manifest.fleet, &manifest.directory, bytes).is_some(),
    }
}

/// The result of planning one region.
pub struct Planned {
    /// The published state of its folders, examined.
    pub standing: Published,
    /// The history of its branch, as far as it was asked.
    pub history: History,
    /// The plan.
    pub plan: RegionPlan,
}

/// Plans one region.
///
/// # Errors
/// Those of what `stands`.
pub fn plan<S: Standing>(terms: &Terms<'_>, stands: &S) -> Result<Planned, S::Error> {
    let told = stands.proved().and_then(|Proved { mut files, unread, manifest }| {
        let supposed = suppose(terms, &mut files, Unseen { files: &unread, manifest: manifest.as_deref() })?;
        Some((files, supposed))
    });
    let is_proved = told.is_some();
    let (files, odd, supposed) = match told {
        Some((files, supposed)) => (files, Odd::default(), Some(supposed)),
        None => {
            let (mut files, odd) = stands.read()?;
            let is_plain = odd.is_nothing();
            let supposed = is_plain
                .then(|| suppose(terms, &mut files, Unseen { files: &BTreeSet::new(), manifest: None }))
                .flatten();
            (files, odd, supposed)
        }
    };
    let (standing, resolved) = match supposed {
        Some(Supposed::Unchanged(plan)) if is_proved || stands.is_last()? => {
            let standing = Published::unexamined(files).with(odd);
            return Ok(Planned { standing, history: History::default(), plan });
        }
        Some(Supposed::Changed(before, resolved)) => (Published::proved(files, before), Some(resolved)),
        Some(Supposed::Unchanged(_)) | None => {
            (Published::examine(&terms.world.fleet.name, terms.to.directory(), files, terms.keys), None)
        }
    };
    let standing = standing.with(odd);
    let history = stands.history()?;
    if let Some(last) = history.last(&standing).manifest()
        && last.handed_over().next().is_some()
    {
        // Nothing is set there yet.
        _ = history.over.set(stands.over(last)?);
    }
    // Where pouch published something else last, that is what counts.
    let resolved = resolved.filter(|_| history.own.is_none());
    let draft = resolved.and_then(|resolved| draft_changed(terms, &standing, resolved));
    let draft = draft.unwrap_or_else(|| draft_against(terms, &standing, &history));
    let plan = finish(terms, &standing, &history, draft, |last| stands.past(last))?;
    Ok(Planned { standing, history, plan })
}

/// What can be told of a region without reading the published manifest.
enum Supposed<'c> {
    /// Its claims make exactly what stands there, to the byte.
    Unchanged(RegionPlan),
    /// They make the objects that the published manifest lists, this one, but some with another content.
    Changed(Manifest, Resolved<'c>),
}

/// A region's claims, judged, and their objects.
struct Resolved<'c> {
    rulings: Vec<Ruling<'c>>,
    packed: Pack,
}

/// The part of what stands in a region's folders that was not read.
#[derive(Clone, Copy)]
struct Unseen<'u> {
    files: &'u BTreeSet<String>,
    manifest: Option<&'u dyn Unread>,
}

/// Tells the common cases: nothing changed, or only the content of some objects.
///
/// It supposes that every resolved claim is published already and packs accordingly. If the manifest that follows, with
/// the hashes of the files that stand there, is the published one, the supposition was right: all these files are
/// vouched for, and none else is there. If not, nothing was lost but a little time.
///
/// Of files that are `unread` it supposes that they hold what is made, and adds that to `files`: the manifest says whether
/// pouch published just that, and the history proves that it stands there. A `bundle.yaml` that was not read is compared
/// as it stands; it is read where it may say something that only it knows.
fn suppose<'c>(terms: &Terms<'c>, files: &mut Files, unseen: Unseen<'_>) -> Option<Supposed<'c>> {
    let Unseen { files: unread, manifest: standing } = unseen;
    let region = terms.to.region;
    if region.state != RegionState::Active || terms.are_special() || terms.are_held() || files.is_empty() {
        return None;
    }
    let (splits, told) = match (files.get(terms.layout().manifest().as_str()), standing) {
        (Some(bytes), _) => {
            let text = str::from_utf8(bytes).ok()?;
            (Splits::told(text)?, manifest::told_cluster(text).map(String::from))
        }
        (None, Some(_)) => {
            let all = files.keys().chain(unread).map(String::as_str);
            (Splits::supposed(terms.to.directory(), all), None)
        }
        (None, None) => return None,
    };
    let told = told.as_deref();
    let registered = match registered::kept(terms) {
        Some(path) if unread.contains(path.as_str()) => return None,
        Some(path) => registered::text(terms, files.get(path.as_str()).map(Vec::as_slice)),
        None => registered::text(terms, None),
    };
    let registered = registered.as_deref();
    let layout = terms.layout().with(&splits).registered(registered);
    let mut rulings = Ruling::of(terms.cases);
    settle(&terms.world, region, &Incumbents::suppose(terms.cases), &mut rulings);
    break_shared_paths(&layout, &mut rulings);
    let mut made = Files::new();
    let file = |lands: &ObjectKey, text: &str| {
        let path = layout.of_object(lands);
        match files.get(path.as_str()) {
            Some(bytes) => Some(Stood::Read(bytes)),
            // Nothing but its file tells whether a Secret stays, and its text goes nowhere.
            None if unread.contains(path.as_str()) && !lands.kind.is_secret() => {
                made.insert(path.as_str().into(), text.as_bytes().to_vec());
                Some(Stood::Supposed)
            }
            None => None,
        }
    };
    let packed = pack_as_published(terms, delivery::wanted(terms, &rulings), file)?;
    files.append(&mut made);
    // What the manifest says of payloads whose values nobody looked at, it alone knows.
    if packed.has_unseen_guests() || packed.has_open_versions() {
        return None;
    }
    if terms.splits(Some(&splits), packed.lasting()) != splits {
        return None;
    }
    let kept = BTreeSet::new();
    let (sources, cluster) = (terms.sources.to_vec(), terms.cluster(told));
    if !packed.is_kept() {
        // What a limited run leaves alone is told by what is published.
        if terms.selection.refresh.is_some() {
            return None;
        }
        let before = Manifest { sources, cluster, splits: splits.clone(), ..empty_manifest(&terms.to) };
        let before = suppose_listed(terms, &layout, &packed, before, files, unseen)?;
        return Some(Supposed::Changed(before, Resolved { rulings, packed }));
    }
    let stands = |_: &ObjectKey, path: &BundlePath| (path.clone(), hash(files, path));
    let head = Head { sources, cluster, registered, splits: Some(&splits), kept: &kept };
    let (made, mut manifest) = write(terms, head, packed, &stands);
    manifest.texts = texts::now(terms, &manifest.objects)?;
    manifest.rests_on = Some(rests_on::now(terms, &manifest.objects));
    for (path, content) in &made {
        if let Content::Bytes(bytes) = content
            && unread.contains(path.as_str())
        {
            files.insert(path.as_str().into(), bytes.clone());
        }
    }
    let is_published =
        is_whole(files, unread) && is_listed(files, standing, &mut manifest, terms.keys) && stand(&made, files);
    if !is_published {
        return None;
    }
    let findings = crowded(terms, &manifest).into_iter().chain(registered::two_writers(terms)).collect();
    Some(Supposed::Unchanged(RegionPlan {
        files: made,
        manifest,
        changes: Vec::new(),
        sharings: Vec::new(),
        splits: Vec::new(),
        holds: Vec::new(),
        withheld: Vec::new(),
        accepted: Vec::new(),
        rulings: ruled(rulings),
        findings,
        is_published: true,
    }))
}

/// The published manifest, if it lists what is packed, whatever that holds; `before` is that without objects and files.
fn suppose_listed(
    terms: &Terms<'_>,
    layout: &Layout<'_>,
    packed: &Pack,
    mut before: Manifest,
    files: &mut Files,
    Unseen { files: unread, manifest: standing }: Unseen<'_>,
) -> Option<Manifest> {
    before.objects = packed.listed(terms, layout, &|path| hash(files, path));
    before.texts = texts::now(terms, &before.objects)?;
    before.rests_on = Some(rests_on::now(terms, &before.objects));
    let others = list_files(layout, &mut before, &BTreeSet::new());
    let is_unread = |(path, _): &(&BundlePath, &String)| unread.contains(path.as_str());
    files.extend(others.iter().filter(is_unread).map(|(path, text)| (path.as_str().into(), text.as_bytes().to_vec())));
    let is_there =
        |(path, text): (&BundlePath, &String)| files.get(path.as_str()).is_some_and(|it| it == text.as_bytes());
    let is_published = is_whole(files, unread)
        && others.iter().all(is_there)
        && is_listed(files, standing, &mut before, terms.keys)
        && files.len() == before.objects.len() + others.len() + 1;
    is_published.then_some(before)
}

/// Whether the manifest is the one that stands there. One that was not read is added to the files then.
///
/// The cluster of a bundle is known to nobody but its manifest, where the cluster is not looked into.
fn is_listed(files: &mut Files, standing: Option<&dyn Unread>, manifest: &mut Manifest, keys: &KeyRing) -> bool {
    let path = path::manifest(&manifest.directory);
    if let Some(bytes) = files.get(path.as_str()) {
        return is_manifest(bytes, manifest, keys);
    }
    let (Some(standing), Some(key)) = (standing, keys.current()) else { return false };
    let mut text = bundle_yaml(manifest, key);
    if !standing.holds(text.as_bytes()) {
        let Some(bytes) = standing.read().filter(|_| manifest.cluster.is_none()) else { return false };
        manifest.cluster = str::from_utf8(&bytes).ok().and_then(manifest::told_cluster).map(String::from);
        if manifest.cluster.is_none() {
            return false;
        }
        text = bundle_yaml(manifest, key);
        if text.as_bytes() != bytes {
            return false;
        }
    }
    files.insert(path.as_str().into(), text.into_bytes());
    true
}

/// The hash of a file that stands there.
fn hash(files: &Files, path: &BundlePath) -> Option<String> {
    files.get(path.as_str()).map(|bytes| sha256_hex(bytes))
}

/// Whether something is supposed of every file that was not read: else one stands there that nobody makes.
fn is_whole(files: &Files, unread: &BTreeSet<String>) -> bool {
    unread.iter().all(|path| files.contains_key(path))
}

/// What becomes of a region, before it is compared with what is published.
struct Draft<'c> {
    resolved: Resolved<'c>,
    findings: Vec<Finding>,
    holds: Vec<Hold>,
}

/// The draft of a region of which nothing changes but the content of some objects; none where that breaks a claim.
///
/// The manifest lists what the resolved claims make, all of it fresh, and vouches for every file. So no claimant in it
/// is broken or gone, nothing is carried over, foreign or tampered with, and the sources are the same.
fn draft_changed<'c>(terms: &Terms<'_>, published: &Published, resolved: Resolved<'c>) -> Option<Draft<'c>> {
    let input = &Input { terms: *terms, published };
    let Resolved { mut rulings, mut packed } = resolved;
    decide_changed(input, &mut packed);
    let is_broken = break_immutable(input, &mut rulings, &packed);
    if is_broken || !is_within(&terms.world, terms.to.region, &rulings) {
        return None;
    }
    Some(Draft { resolved: Resolved { rulings, packed }, findings: Vec::new(), holds: Vec::new() })
}

/// Plans one region against what stands in its folders and the history of that, all of which is known.
pub fn plan_against(terms: &Terms<'_>, standing: &Published, history: &History) -> RegionPlan {
    let draft = draft_against(terms, standing, history);
    let known = |_: &Manifest| Ok::<_, Infallible>(Vec::new());
    match finish(terms, standing, history, draft, known) {
        Ok(plan) => plan,
        Err(never) => match never {},
    }
}

/// The draft of a region against what stands in its folders.
///
/// What pouch itself published last is compared with, carried over and counted; what stands there instead is put right.
fn draft_against<'c>(terms: &Terms<'c>, standing: &Published, history: &History) -> Draft<'c> {
    let published = history.last(standing);
    let input = &Input { terms: *terms, published };
    let region = terms.to.region;
    let mut findings: Vec<Finding> = Vec::new();
    let mut holds: Vec<Hold> = Vec::new();
    for finding in standing.findings_beside(published, terms.to.directory()) {
        let lifted = match finding.code {
            Code::UnsignedBundle => terms.allowances.replaces_unsigned(&terms.to),
            Code::ForeignFile => terms.allowances.removes_foreign(&terms.to),
            _ => false,
        };
        match finding.code.class() {
            Class::Held if !lifted => {
                holds.push(Hold::fast(resealing::advised(input, finding).in_region(&region.name)))
            }
            Class::Held => {}
            _ => findings.push(finding.in_region(&region.name)),
        }
    }
    holds.extend(sources::changes(input));
    holds.extend(cluster_changes(input));

    let incumbents = published.incumbents();
    let mut rulings = Ruling::of(terms.cases);
    // Who must wait for a place contends for nothing else.
    break_displaced(input, &mut rulings);
    settle(&terms.world, region, &incumbents, &mut rulings);
    break_shared_paths(&terms.layout(), &mut rulings);
    break_narrowed(input, &mut rulings);
    break_in_place(input, &mut rulings);
    // Every round breaks at least one more claim, so this ends.
    let packed = loop {
        if break_displaced(input, &mut rulings) {
            continue;
        }
        let packed = pack(input, history, &rulings, None);
        // Quotas come last: what fails for another reason takes no room from others, and fails for the same reason in each
        // run.
        if !break_immutable(input, &mut rulings, &packed) && !limit(&terms.world, region, &incumbents, &mut rulings) {
            break packed;
        }
    };
    Draft { resolved: Resolved { rulings, packed }, findings, holds }
}

/// Compares a draft with what is published, and asks the brake. `past` is asked if somebody loses something, and the
/// history does not say it yet.
fn finish<E>(
    terms: &Terms<'_>,
    standing: &Published,
    history: &History,
    draft: Draft<'_>,
    past: impl FnOnce(&Manifest) -> Result<Vec<Past>, E>,
) -> Result<RegionPlan, E> {
    let Draft { resolved: Resolved { rulings, mut packed }, mut findings, mut holds } = draft;
    let published = history.last(standing);
    let input = &Input { terms: *terms, published };
    let region = terms.to.region;
    let mut changes = compare(input, &packed);
    if let Some(manifest) = published.manifest()
        && history.past.get().is_none()
        && is_anything_lost(input, &packed, &changes)
    {
        // Nothing is set there yet.
        _ = history.past.set(past(manifest)?);
    }
    let braked = hold(input, &packed, &rulings, &changes, history);
    let mut withheld = Vec::new();
    // What is sealed anew as a whole, or withdrawn as a whole, cannot keep a part.
    if input.terms.rekeys() || region.state == RegionState::Retired {
        holds.extend(braked.deletions.into_iter().chain(braked.values));
    } else {
        if let Some(held) = Held::of(input, &packed, &changes, &braked) {
            packed = pack(input, history, &rulings, Some(&held));
            changes = compare(input, &packed);
        }
        withheld.extend(braked.deletions.into_iter().chain(braked.values));
    }
    holds.extend(braked.holds);
    holds.extend(unreadable_carried(input, &mut packed).map(Hold::fast));
    holds.extend(resealing::unprovable(input, &rulings).map(Hold::fast));
    findings.append(&mut packed.findings);
    findings.extend(sessions::hints(input, &rulings, &changes));
    let left_out = core::mem::take(&mut packed.left_out);
    findings.extend(explain::withdrawals(input, &rulings, &packed));
    findings.extend(narrowed::withdrawals(input, &rulings, &packed));
    findings.extend(delivered::two_writers(input, &packed));
    let (splits, kept) = before(terms, published);
    let stands = |key: &ObjectKey, path: &BundlePath| match published.object(key) {
        Some(object) => (object.path.clone(), Some(object.sha256.clone())),
        None => (path.clone(), None),
    };
    let standing_secret = registered::kept(terms).and_then(|path| published.open_file(&path));
    holds.extend(registered::lost(terms, published).map(Hold::fast));
    let registered = registered::text(terms, standing_secret);
    let told = published.manifest().and_then(|manifest| manifest.cluster.as_deref());
    let (sources, cluster, registered) = (sources::known(input), terms.cluster(told), registered.as_deref());
    let head = Head { sources, cluster, registered, splits: splits.as_deref(), kept: &kept };
    let (files, mut manifest) = write(terms, head, packed, &stands);
    guests::keep_hashes(&mut manifest, published);
    texts::add(input, &mut manifest);
    rests_on::add(input, &mut manifest);
    let splits = moved::splits(input, &manifest, &files);
    findings.extend(handover::findings(input, manifest.objects.iter()));
    findings.extend(handover::left_out(input, &left_out, manifest.objects.iter()));
    findings.extend(crowded(terms, &manifest));
    findings.extend(registered::two_writers(terms).into_iter().chain(registered::redirected(terms, published)));
    holds.extend(resealing::strange(input, &manifest).into_iter().map(Hold::fast));
    let listed = published.manifest().into_iter().flat_map(|manifest| &manifest.files).map(|file| &file.path);
    let in_the_way = standing.odd.in_the_way(listed.chain(files.keys()).map(BundlePath::as_str));
    holds.extend(in_the_way.into_iter().map(|finding| Hold::fast(finding.in_region(&region.name))));
    let is_last = core::ptr::eq(standing, published);
    let stands = |path: &BundlePath| standing.files.get(path.as_str()) == published.files.get(path.as_str());
    let is_published = standing.odd.is_nothing()
        && (is_last || files.keys().all(stands))
        && is_published(&manifest, &files, &standing.files, terms.keys);
    let sharings = sharings(input, &manifest, &changes);
    let (accepted, rulings) = (braked.accepted, ruled(rulings));
    Ok(RegionPlan {
        files,
        manifest,
        changes,
        sharings,
        splits,
        holds,
        withheld,
        accepted,
        rulings,
        findings,
        is_published,
    })
}

/// Whether publishing these files would change no byte of those that stand there.
fn is_published(manifest: &Manifest, files: &BTreeMap<BundlePath, Content>, standing: &Files, keys: &KeyRing) -> bool {
    if manifest.objects.is_empty() && files.is_empty() {
        return standing.is_empty();
    }
    let path = path::manifest(&manifest.directory);
    stand(files, standing) && standing.get(path.as_str()).is_some_and(|bytes| is_manifest(bytes, manifest, keys))
}

/// Whether these files, and but for `bundle.yaml` no others, stand there to the byte.
fn stand(files: &BTreeMap<BundlePath, Content>, standing: &Files) -> bool {
    let same = |(path, content): (&BundlePath, &Content)| match content {
        Content::Seal(_) => false,
        Content::Kept(from) => from == path,
        Content::Bytes(bytes) => standing.get(path.as_str()).is_some_and(|standing| standing == bytes),
    };
    standing.len() == files.len() + 1 && files.iter().all(same)
}

/// What is said of a region whose cluster is another one than the published bundle was made for.
fn other_cluster(input: &Input<'_>) -> Option<Finding> {
    let region = &input.terms.to.region.name;
    let before = input.published.manifest()?.cluster.as_deref()?;
    let now = input.terms.world.cluster(region)?.looked()?.cluster.as_deref()?;
    if before == now || input.terms.allowances.accept_source.contains(&(region.to_string(), now.into())) {
        return None;
    }
    let message = format!("region {region} is now cluster {now}, and its bundle was made for cluster {before}");
    let help = format!(
        "Correct `regions.{region}.cluster`; if the cluster was made anew, pass --accept-source {region}={now}."
    );
    Some(Finding::new(Code::WrongCluster, message).in_region(region).help(help))
}

/// Holds for what is known of the region's cluster.
fn cluster_changes(input: &Input<'_>) -> Vec<Hold> {
    let Some(cluster) = input.terms.world.cluster(&input.terms.to.region.name) else { return Vec::new() };
    // Who can read a bundle does not wait for its cluster, and neither does its end.
    if input.terms.rekeys() || input.terms.to.region.state != RegionState::Active {
        return Vec::new();
    }
    let twin = input.terms.made_for.hold(&input.terms.to.region.name, cluster);
    let told = cluster.holds.iter().cloned().chain(twin).chain(cluster.waits.clone());
    told.chain(other_cluster(input)).chain(home::is_a_region(input)).map(Hold::fast).collect()
}

/// What was published of splits and leaves of kinds, which a consumer may still know. Where no manifest vouches for it,
/// what stands there is taken at its word: at worst it makes empty folders, and otherwise what leaves is pruned by nobody.
fn before<'p>(terms: &Terms<'_>, published: &'p Published) -> (Option<Cow<'p, Splits>>, BTreeSet<Leaf>) {
    let layout = terms.layout();
    if let Some(manifest) = published.manifest() {
        let leaves = layout.kept(manifest.files.iter().map(|file| file.path.as_str()));
        return (Some(Cow::Borrowed(&manifest.splits)), leaves);
    }
    let standing = || published.files.keys().map(String::as_str).filter(|path| BundlePath::parse(path).is_some());
    let claimed = published.claimed().map(|manifest| Cow::Borrowed(&manifest.splits));
    let splits = claimed.unwrap_or_else(|| Cow::Owned(Splits::supposed(layout.directory, standing())));
    (Some(splits).filter(|splits| !splits.is_none()), layout.kept(standing()))
}

/// Adds to a manifest the files that are no objects, and returns them: the one list of a region's files.
pub fn list_files(layout: &Layout<'_>, manifest: &mut Manifest, kept: &BTreeSet<Leaf>) -> BTreeMap<BundlePath, String> {
    let paths: BTreeSet<BundlePath> = manifest.objects.iter().map(|object| object.path.clone()).collect();
    let files = layout.files(&paths, kept);
    let listed =
        |(path, text): (&BundlePath, &String)| ManifestFile { path: path.clone(), sha256: sha256_hex(text.as_bytes()) };
    manifest.files = files.iter().map(listed).collect();
    files
}

/// Where the file of an object that stays as it is stands so far, and its hash; by its key and where it will stand.
type Stands<'a> = dyn Fn(&ObjectKey, &BundlePath) -> (BundlePath, Option<String>) + 'a;

/// What a bundle says beside its objects.
struct Head<'a> {
    /// What is known of the sources.
    sources: Vec<SourceIdentity>,
    /// The cluster that it is made for.
    cluster: Option<String>,
    /// The text of its cluster Secret.
    registered: Option<&'a str>,
    /// The splits that were published.
    splits: Option<&'a Splits>,
    /// The leaves that were published.
    kept: &'a BTreeSet<Leaf>,
}

/// Turns a pack into files and a manifest.
///
/// `stands` gives where an object's file that stays as it is stands so far, and its hash.
fn write(
    terms: &Terms<'_>,
    Head { sources, cluster, registered, splits, kept }: Head<'_>,
    pack: Pack,
    stands: &Stands<'_>,
) -> (BTreeMap<BundlePath, Content>, Manifest) {
    let region = terms.to.region;
    let mut manifest = Manifest { sources, cluster, ..empty_manifest(&terms.to) };
    if region.state == RegionState::Retired {
        return (BTreeMap::new(), manifest);
    }
    let splits = terms.splits(splits, pack.lasting());
    let layout = terms.layout().with(&splits).registered(registered);
    // In the order of their keys, objects are nearly sorted by path too, so sorting them all at once compares few of
    // the long paths.
    let mut files = Vec::with_capacity(pack.objects.len());
    manifest.objects.reserve_exact(pack.objects.len());
    for (lands, packed) in pack.objects {
        let path = layout.of_object(&lands);
        let (content, (from, read_at), guest, state, needed_by, recipients) = match packed {
            Packed::Namespace { text, keep } => {
                let content = match keep {
                    Keep::Kept => Content::Kept(stands(&lands, &path).0),
                    _ => Content::Bytes(text.as_bytes().to_vec()),
                };
                (content, (None, None), None, ObjectState::Current, BTreeSet::new(), Vec::new())
            }
            Packed::Carried { object, needed_by, state } => {
                let content = Content::Kept(object.path.clone());
                (content, (object.from, object.read_at), object.guest, state, needed_by, object.recipients)
            }
            Packed::Fresh { order, needed_by, text, keep, guest } => {
                let from = (order.origin(), order.read_at(terms.world.snapshot));
                let content = match keep {
                    Keep::Kept => Content::Kept(stands(&lands, &path).0),
                    Keep::Retagged(bytes) => Content::Bytes(bytes),
                    _ if lands.kind.is_secret() => Content::Seal(Box::new(order)),
                    _ => Content::Bytes(text.as_bytes().to_vec()),
                };
                (content, from, guest, ObjectState::Current, needed_by, Vec::new())
            }
        };
        let sha256 = match &content {
            Content::Bytes(bytes) => sha256_hex(bytes),
            Content::Kept(path) => stands(&lands, path).1.unwrap_or_default(),
            Content::Seal(_) => String::new(),
        };
        manifest.objects.push(ManifestObject {
            key: lands,
            from,
            read_at,
            guest,
            path: path.clone(),
            sha256,
            state,
            recipients,
            needed_by: needed_by.into_iter().collect(),
        });
        files.push((path, content));
    }
    for (path, text) in list_files(&layout, &mut manifest, kept) {
        files.push((path, Content::Bytes(text.into_bytes())));
    }
    manifest.splits = splits;
    (files.into_iter().collect(), manifest)
}
