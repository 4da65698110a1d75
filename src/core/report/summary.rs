//! The summary of a run: what `--summary FILE` writes, with a JSON Schema of its own.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use super::applied::AppliedRegion;
use super::authors::SourceAuthors;
use super::compared::ComparedRegion;
use super::document::Tone;
pub use super::record::{FieldRecord, FindingRecord, ObjectRecord, PrivilegeRecord, SilencedRecord, SinceRecord};
pub use super::split::SplitRecord;
pub use super::target::{Artifact, ArtifactState, FailureRecord, Proposal, Target, TargetState};
use crate::config::Readers;
use crate::finding::{Code, Counts, Finding};
use crate::judge::case::Verdict;
use crate::layout::manifest::{Manifest, ManifestObject, ObjectState};
use crate::name::{Claimant, Directory};
use crate::recipient::{Recipient, shown};
use crate::region::change::{Action, Change, Hold, Loss, Reason, Sharing, Values};
use crate::region::ledger::Gone;
use crate::region::privileges::Privilege;
use crate::secret::EntryChange;

/// The JSON Schema of a summary.
pub fn schema() -> Schema {
    // As it is written: what is left out when empty is not required.
    SchemaSettings::default().for_serialize().into_generator().into_root_schema_for::<Summary>()
}

/// What one run did and found. Values of Secrets never stand in it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Always `pouch/v1alpha2`.
    pub api_version: &'static str,
    /// Always `Summary`.
    pub kind: &'static str,
    /// The fleet's name; absent where the configuration could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fleet: Option<String>,
    /// The command that ran, such as `render`.
    pub command: &'static str,
    /// The exit code of the run.
    pub exit_code: u8,
    /// Why the run failed; absent after one that did its work. Of a run that failed nothing else is told, but for `deliver`: the
    /// bundle's commit and findings, and what it did until then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureRecord>,
    /// The commit that was published or proposed, that `verify` looked at or held the work tree against, or of which `deliver`
    /// read the bundle, if there is one; absent where commits were made at several places.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// What became of each place that was published to, sorted by repository and branch; absent after other commands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub targets: Option<Vec<Target>>,
    /// What became of each region's artifact in the registry, sorted by region; absent where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Vec<Artifact>>,
    /// The authors of the commits of git sources since the last publication, by source; absent unless `output.git.authors` wants
    /// them, and of a run that publishes nothing new.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub authors: Vec<SourceAuthors>,
    /// Whether no Secret was looked into (`--no-values`); absent otherwise.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub no_values: bool,
    /// The release of kustomize that built sources, such as `v5.8.1`; absent where none was built.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kustomize: Option<String>,
    /// How the Credentials fared, and Clusters without one; absent after `verify` and `deliver`, which look at none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<Credentials>,
    /// What became of the regions, sorted by name; absent after `verify` and `deliver`, which publish nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regions: Option<Vec<Region>>,
    /// The region that `verify` compared with its bundle; absent after other commands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified: Option<Verified>,
    /// The regions whose bundles `verify` looked at without a cluster; absent after other commands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proved: Option<Vec<Proved>>,
    /// The regions that `verify --live --all` compared with their bundles, sorted by name; absent after other commands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compared: Option<Vec<ComparedRegion>>,
    /// The region that `deliver` brought its bundle; absent after other commands, and where it did not get that far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied: Option<AppliedRegion>,
    /// The command line that lets through all that the brake held in this run, but for regions that another hold keeps held
    /// whatever is accepted; absent if it lets nothing through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accept_command: Option<String>,
    /// What was found, most severe first.
    pub findings: Vec<FindingRecord>,
    /// What the findings are held against (`--base`, `--baseline`); absent where they are held against nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<SinceRecord>,
    /// What annotations of objects silence, most severe first; absent if they silence nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub silenced: Vec<SilencedRecord>,
    /// What the run was about, which metrics have as a label.
    #[serde(skip)]
    pub about: About,
    /// How many more findings there are, which metrics count; none where a summary is written.
    #[serde(skip)]
    pub counted: Counts,
}

/// What a run is about.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum About {
    /// The whole fleet.
    #[default]
    Fleet,
    /// One region, and it is not known yet which.
    OneRegion,
    /// A region.
    Region(String),
}

/// How many Credentials, and Clusters without one, fared how.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Credentials {
    /// Their closures are published.
    pub admitted: usize,
    /// They are not allowed; what they had published is withdrawn.
    pub refused: usize,
    /// They cannot be resolved now; what they had published stays.
    pub broken: usize,
    /// How many of the broken ones have something published.
    #[serde(default)]
    pub kept: usize,
    /// They name no region, or a retired one.
    pub unpublished: usize,
    /// How many are for paused regions; they were not looked at.
    pub paused: usize,
}

impl Credentials {
    /// Adds others.
    pub fn add(&mut self, more: &Self) {
        let Self { admitted, refused, broken, kept, unpublished, paused } = self;
        for (count, more) in [
            (admitted, more.admitted),
            (refused, more.refused),
            (broken, more.broken),
            (kept, more.kept),
            (unpublished, more.unpublished),
            (paused, more.paused),
        ] {
            *count = count.saturating_add(more);
        }
    }
}

/// How many of a region's Credentials, and Clusters without one, fared how.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegionCredentials {
    /// Their closures are published.
    pub admitted: usize,
    /// They are not allowed; what they had published is withdrawn.
    pub refused: usize,
    /// They cannot be resolved now; what they had published stays.
    pub broken: usize,
    /// They were not looked at, because the region is paused.
    pub paused: usize,
}

/// What became of one region.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// Nothing changed, and nothing was written.
    Unchanged,
    /// A new state is published.
    Published,
    /// It stays as published until somebody accepts what would change.
    Held,
    /// The configuration says to leave it alone.
    Paused,
    /// Its bundle is withdrawn.
    Withdrawn,
}

impl Outcome {
    /// The tone of its word.
    pub fn tone(self) -> Tone {
        match self {
            Outcome::Unchanged | Outcome::Paused => Tone::Dim,
            Outcome::Published => Tone::Good,
            Outcome::Held => Tone::Held,
            Outcome::Withdrawn => Tone::Withdrawn,
        }
    }

    /// Every outcome.
    pub const ALL: [Self; 5] = [Self::Unchanged, Self::Published, Self::Held, Self::Paused, Self::Withdrawn];

    /// The word for people.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Unchanged => "unchanged",
            Outcome::Published => "published",
            Outcome::Held => "held",
            Outcome::Paused => "paused",
            Outcome::Withdrawn => "withdrawn",
        }
    }
}

/// One region's part of the summary.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Region {
    /// The region.
    pub name: String,
    /// Its folder.
    pub directory: String,
    /// What became of it.
    pub outcome: Outcome,
    /// Objects in the bundle, Namespaces not counted.
    pub objects: usize,
    /// Secrets that were sealed in this run.
    pub sealed: usize,
    /// Secrets that kept their bytes.
    pub kept: usize,
    /// Secrets that were not looked into, with `--no-values`: they keep their bytes or are sealed anew.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unseen: usize,
    /// Objects that were carried over for broken Credentials, or because their withdrawal is held.
    pub carried: usize,
    /// Objects that stay for a hand-over: nobody needs them, but consumers may not have followed yet.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub handover: usize,
    /// How the region's Credentials fared; absent where no source was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<RegionCredentials>,
    /// Recipients that can read the region now, or could if it were not held, and could not before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recipients_added: Vec<String>,
    /// Recipients that could read the region before; what they could read stands in the history.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recipients_removed: Vec<String>,
    /// The names that the configuration gives these recipients, by key. Of one that left the configuration none is known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub recipient_names: BTreeMap<String, String>,
    /// Files that are put back as pouch published them, because somebody changed or removed them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub restored: usize,
    /// The Secrets that recipients which were added can read now, or could if the region were not held.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub readable_by_added: Vec<ObjectRecord>,
    /// What changed, or would have changed in a held region.
    pub changes: Vec<ChangeRecord>,
    /// Objects that stay, and that other Credentials need than before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sharings: Vec<SharingRecord>,
    /// What is split, or in more parts than before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub splits: Vec<SplitRecord>,
    /// The objects that were carried over, or stay for a hand-over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carried_objects: Vec<CarriedRecord>,
    /// The Credentials that are refused or broken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stopped: Vec<StoppedRecord>,
    /// What is held, and what lets it through.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holds: Vec<HoldRecord>,
}

/// Returns true if a count is left out.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
pub(crate) fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Region {
    /// The record of a region of which nothing is known yet.
    pub fn new(name: &crate::name::Region, directory: &Directory, outcome: Outcome) -> Self {
        Self {
            name: name.to_string(),
            directory: directory.to_string(),
            outcome,
            objects: 0,
            sealed: 0,
            kept: 0,
            unseen: 0,
            carried: 0,
            handover: 0,
            credentials: None,
            recipients_added: Vec::new(),
            recipients_removed: Vec::new(),
            recipient_names: BTreeMap::new(),
            readable_by_added: Vec::new(),
            restored: 0,
            changes: Vec::new(),
            sharings: Vec::new(),
            splits: Vec::new(),
            carried_objects: Vec::new(),
            stopped: Vec::new(),
            holds: Vec::new(),
        }
    }

    /// Returns true if something in it is held, and not the region as a whole.
    pub fn is_partly_held(&self) -> bool {
        self.outcome != Outcome::Held && !self.holds.is_empty()
    }

    /// Names what became of it by these words.
    pub fn named(&self, word: fn(Outcome) -> &'static str) -> String {
        let held = if self.is_partly_held() { " (partly held)" } else { "" };
        format!("{}{held}", word(self.outcome))
    }

    /// Whether nothing happens to it, and nobody in it is stopped.
    pub fn is_quiet(&self) -> bool {
        matches!(self.outcome, Outcome::Unchanged | Outcome::Paused) && self.stopped.is_empty() && self.holds.is_empty()
    }

    /// How many objects are `added`, `changed`, `resealed` or `withdrawn`, Namespaces counted.
    pub fn count(&self, action: Action) -> usize {
        self.changes.iter().filter(|change| change.action == action).count()
    }

    /// Counts its objects by what happens to them, Namespaces too.
    pub fn counts(&self) -> impl Iterator<Item = (Action, usize)> {
        Action::ALL.iter().map(|action| (*action, self.count(*action))).filter(|(_, count)| *count > 0)
    }

    /// Counts the Credentials that a verdict stops.
    pub fn stopped(&self, verdict: Verdict) -> usize {
        self.stopped.iter().filter(|stopped| stopped.verdict == verdict).count()
    }

    /// What is said of recipients that it gains.
    pub fn gains(&self) -> &'static str {
        match self.outcome {
            Outcome::Held => "could read it, if what is held were let through",
            _ => "can read it from now on",
        }
    }

    /// A recipient that it gains or loses, as people read it.
    pub fn recipient(&self, key: &str) -> String {
        shown(self.recipient_names.get(key).map(String::as_str), key)
    }

    /// What is said of recipients that it loses.
    pub fn loses(&self) -> &'static str {
        match self.outcome {
            Outcome::Held => "could not read what is new, if what is held were let through",
            _ => "cannot read what is new",
        }
    }

    /// What is said of an acceptance of what it holds.
    pub fn lets_through(&self) -> &'static str {
        if self.stays_held() { "lets it through, and the rest still holds the region" } else { "lets it through" }
    }

    /// Whether it stays held whatever is accepted.
    pub fn stays_held(&self) -> bool {
        self.outcome == Outcome::Held && self.holds.iter().any(|hold| hold.flag.is_none())
    }

    /// Records which recipients the region gains and loses, and what those that it gains can read in the bundle to be; a
    /// region that nobody could read gains none.
    pub fn compare_recipients(&mut self, before: &[Recipient], bundle: &Manifest, readers: &Readers) {
        let now = &*bundle.recipients;
        let only = |these: &[Recipient], those: &[Recipient]| {
            these.iter().filter(|recipient| !those.contains(recipient)).map(ToString::to_string).collect()
        };
        if !before.is_empty() {
            self.recipients_added = only(now, before);
            self.recipients_removed = only(before, now);
            self.recipient_names = readers.named(self.recipients_added.iter().chain(&self.recipients_removed));
            let is_new = |recipient: &Recipient| now.contains(recipient) && !before.contains(recipient);
            let opens =
                |object: &&ManifestObject| object.key.kind.is_secret() && object.readers(bundle).iter().any(is_new);
            if !self.recipients_added.is_empty() {
                let readable = bundle.objects.iter().filter(opens);
                self.readable_by_added = readable.map(|object| ObjectRecord::from(&object.key)).collect();
            }
        }
    }
}

/// A region that was compared with its bundle.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Verified {
    /// The region.
    pub region: String,
    /// Its folder.
    pub directory: String,
    /// Objects in the bundle, Namespaces not counted.
    pub objects: usize,
    /// Whether values of Secrets were compared: not with `--no-values`.
    pub values: bool,
    /// How many findings say that the region is not what its bundle says.
    pub faults: usize,
}

/// A region whose bundle was looked at without a cluster.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Proved {
    /// The region; its folder where there is no configuration.
    pub region: String,
    /// Its folder.
    pub directory: String,
    /// Objects in the bundle, Namespaces not counted.
    pub objects: usize,
    /// Secrets among them that are sealed files.
    pub secrets: usize,
    /// Whether a reuse key authenticates the manifest, and by it every file.
    pub tags: bool,
    /// Whether recipients were compared with a configuration, and not only with the manifest.
    pub recipients: bool,
    /// How many Secrets an identity opened.
    pub opened: usize,
    /// How many findings say that the bundle is not as it should be.
    pub faults: usize,
}

/// One object that changed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangeRecord {
    /// `added`, `changed`, `resealed` or `withdrawn`.
    pub action: Action,
    /// The object on the region.
    pub object: ObjectRecord,
    /// The Credentials that need it, as `namespace/name`; if it is withdrawn, those that needed it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub credentials: Vec<String>,
    /// The reason for which it is withdrawn: `unneeded` (the claims are resolved and have no use for it), `gone` (those who
    /// needed it are gone), `refused`, `revoked` (it is no longer open to them), `asked` (`--withdraw`), `retired` (the region
    /// is). Absent where they lose it for several of these reasons, for a Namespace or a set, and where no manifest says who needed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Gone>,
    /// What is known of it beside: most changes of a large run are of whole objects.
    #[serde(flatten)]
    pub within: Option<Box<Within>>,
}

/// What changed within an object.
#[derive(Clone, Default, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Within {
    /// Entries of a changed Secret that do not stay as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<EntryRecord>,
    /// Entries of a Secret that left it or became empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost_entries: Vec<String>,
    /// Fields that changed and stand open in the bundle; of a Secret, its type, labels and annotations. At most 100.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FieldRecord>,
    /// Who may use an identity from now on, and who may no longer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub privileges: Vec<PrivilegeRecord>,
    /// The object of guest clusters that a payload holds. Where the payload is withdrawn, the object stays in each guest that
    /// has it, because Cluster API deletes nothing there; absent then where another payload delivers it to all of the same Clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<ObjectRecord>,
    /// Whether another payload delivers what is withdrawn to some of the Clusters, so that it stays in the others alone.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub to_some: bool,
    /// What becomes of the values of a published Secret that is sealed anew: `same`, `changed`, or `unknown` if that
    /// cannot be told; absent for anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Values>,
    /// Why such a Secret is sealed anew beside its values: `delivery` (the labels or annotations that steer its consumer
    /// changed), `metadata` (other labels or annotations did), `type`, `recipients`, `asked` (`rekey` or `--reseal`),
    /// `unvouched` (no reuse key vouches for the bundle that it stands in).
    /// Why its values cannot be compared: `file` (its file is missing, or not the one that pouch published), `noTags`,
    /// `reuseKey` (its tags are of a key that is not at hand), `noValues` (no value was read).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Reason>,
}

impl ChangeRecord {
    /// The [entries](Within::entries) that do not stay as they are.
    pub fn entries(&self) -> &[EntryRecord] {
        self.within.as_ref().map(|within| &*within.entries).unwrap_or_default()
    }

    /// The [fields](Within::fields) that changed.
    pub fn fields(&self) -> &[FieldRecord] {
        self.within.as_ref().map(|within| &*within.fields).unwrap_or_default()
    }

    /// The [privileges](Within::privileges) that it changes.
    pub fn privileges(&self) -> &[PrivilegeRecord] {
        self.within.as_ref().map(|within| &*within.privileges).unwrap_or_default()
    }

    /// What it is [in guest clusters](Within::guest).
    pub fn guest(&self) -> Option<&ObjectRecord> {
        self.within.as_ref().and_then(|within| within.guest.as_ref())
    }

    /// [Why](Within::reasons) it is sealed anew.
    pub fn reasons(&self) -> &[Reason] {
        self.within.as_ref().map(|within| &*within.reasons).unwrap_or_default()
    }

    /// What becomes of its [values](Within::values).
    pub fn values(&self) -> Option<Values> {
        self.within.as_ref()?.values
    }
}

/// One entry of a Secret that changed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EntryRecord {
    /// The entry's name.
    pub name: String,
    /// `added`, `changed` or `withdrawn`; `perhapsChanged` if it is one of several short values, or of values without
    /// tags, of which some changed.
    pub change: EntryChange,
}

/// An object that stays, and that other Credentials need than before.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SharingRecord {
    /// The object on the region.
    pub object: ObjectRecord,
    /// Credentials that need it now and did not before, as `namespace/name`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joined: Vec<String>,
    /// Credentials that needed it and no longer do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
}

/// An object that was carried over.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CarriedRecord {
    /// The object on the region.
    pub object: ObjectRecord,
    /// The object of guest clusters that a payload holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<ObjectRecord>,
    /// The code of the finding that says why.
    pub reason: Code,
    /// The Credentials for which it stays, as `namespace/name`.
    pub credentials: Vec<String>,
}

/// A Credential that is refused or broken.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoppedRecord {
    /// The Credential, as `namespace/name`.
    pub credential: String,
    /// `refused` or `broken`.
    pub verdict: Verdict,
    /// The codes of the findings that say why.
    pub codes: Vec<Code>,
}

/// What holds a region, or withdrawals of it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HoldRecord {
    /// The code of the finding that says why.
    pub code: Code,
    /// The flag of the acceptance that lets it through, such as `--accept-deletions`; absent if none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flag: Option<String>,
    /// The flag's value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The Credentials that would lose something, as `namespace/name`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub credentials: Vec<String>,
    /// What they would lose.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub losses: Vec<LossRecord>,
}

/// An object, or an entry of a Secret, that somebody would lose.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LossRecord {
    /// The object on the region.
    pub object: ObjectRecord,
    /// The entry of a Secret that stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
}

impl From<&Change> for ChangeRecord {
    fn from(change: &Change) -> Self {
        let within = Within {
            entries: change
                .entries
                .iter()
                .map(|(name, change)| EntryRecord { name: name.clone(), change: *change })
                .collect(),
            lost_entries: change.lost_entries.clone(),
            fields: change.fields.iter().map(FieldRecord::from).collect(),
            privileges: change.privileges.iter().map(PrivilegeRecord::from).collect(),
            guest: change.guest.as_ref().map(ObjectRecord::from),
            to_some: change.elsewhere,
            values: change.sealing.as_ref().map(|sealing| sealing.values),
            reasons: change.sealing.iter().flat_map(|it| &it.reasons).copied().collect(),
        };
        Self {
            action: change.action,
            object: ObjectRecord::from(&change.key),
            credentials: paths(&change.claimants),
            why: change.why,
            within: (within != Within::default()).then(|| Box::new(within)),
        }
    }
}

impl From<&Privilege> for PrivilegeRecord {
    fn from(Privilege { opens, words }: &Privilege) -> Self {
        Self { opens: *opens, words: words.clone() }
    }
}

impl From<&Sharing> for SharingRecord {
    fn from(sharing: &Sharing) -> Self {
        Self { object: ObjectRecord::from(&sharing.key), joined: paths(&sharing.joined), left: paths(&sharing.left) }
    }
}

impl CarriedRecord {
    /// The record of an object of a manifest; none if it is not carried over.
    pub fn of(object: &ManifestObject) -> Option<Self> {
        let ObjectState::Carried(reason) = object.state else { return None };
        let mut credentials: Vec<String> = object.needed_by.iter().map(|needed_by| needed_by.by.path()).collect();
        credentials.dedup();
        let guest = object.guest.as_ref().map(|guest| ObjectRecord::from(&guest.key));
        Some(Self { object: ObjectRecord::from(&object.key), guest, reason: reason.code(), credentials })
    }

    /// Whether the object stays only until consumers have followed.
    pub fn is_handover(&self) -> bool {
        self.reason == Code::Handover
    }
}

impl StoppedRecord {
    /// The record of a claimant that is refused or broken; `findings` are all about it.
    pub fn of<'f>(by: &Claimant, verdict: Verdict, findings: impl Iterator<Item = &'f Finding>) -> Option<Self> {
        let class = verdict.class()?;
        let stops = |finding: &&Finding| finding.stops_claim() && finding.code.class() == class;
        let codes = findings.filter(stops).map(|finding| (finding.code.text(), finding.code));
        let codes: BTreeMap<&str, Code> = codes.collect();
        Some(Self { credential: by.path(), verdict, codes: codes.into_values().collect() })
    }
}

impl From<&Hold> for HoldRecord {
    fn from(hold: &Hold) -> Self {
        let loss = |loss: &Loss| LossRecord { object: ObjectRecord::from(&loss.key), entry: loss.entry.clone() };
        Self {
            code: hold.finding.code,
            flag: hold.lifted_by.as_ref().map(|acceptance| acceptance.what.flag().into()),
            value: hold.lifted_by.as_ref().map(ToString::to_string),
            credentials: paths(&hold.claimants),
            losses: hold.losses.iter().map(loss).collect(),
        }
    }
}

fn paths(claimants: &[Claimant]) -> Vec<String> {
    claimants.iter().map(Claimant::path).collect()
}
