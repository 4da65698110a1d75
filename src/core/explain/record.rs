//! Records: what `pouch explain -o json` prints, with a JSON Schema of its own.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;

use crate::admission::Rule;
use crate::closure::Role;
use crate::finding::{Code, Origin};
use crate::judge::case::Verdict;
use crate::name::spelt;
use crate::region::change::Action;
use crate::region::ledger::Gone;
use crate::report::summary::{FindingRecord, ObjectRecord, Outcome, SilencedRecord};
use crate::selector::Truth;

/// The JSON Schema of an explanation.
pub fn schema() -> Schema {
    SchemaSettings::default().for_serialize().into_generator().into_root_schema_for::<Explanation>()
}

/// The answer to one question. Values of Secrets never stand in it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// Always `pouch/v1alpha1`.
    pub api_version: &'static str,
    /// Always `Explanation`.
    pub kind: &'static str,
    /// The fleet's name.
    pub fleet: String,
    /// What was asked, such as `Credential team-a/aws` or `region eu`.
    pub question: String,
    /// Whether only what the Credential itself needs was read, because a source is a live cluster. Then nothing is told
    /// of what others need, and so neither of what becomes of the region, nor of objects that the Credential had.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub closure_only: bool,
    /// The ResourceSyncRule that was asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleRecord>,
    /// The ManagedResource that was asked about by its name, or with a namespace for which only groups of guest clusters
    /// name it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<TemplateRecord>,
    /// The regions that the answer names, sorted by name.
    pub regions: Vec<RegionRecord>,
    /// The Credentials that it is about, sorted by name.
    pub claims: Vec<ClaimRecord>,
    /// The objects of bundles that it is about, sorted by region and file: those that a recipient can read, the copies
    /// of an object that was asked for, or what is still published for a Credential that is gone.
    pub objects: Vec<BundledRecord>,
    /// The names that the configuration gives the recipients above, by key.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub recipient_names: BTreeMap<String, String>,
}

/// A ResourceSyncRule as a whole. Each object that it takes is one of the claims.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleRecord {
    /// Its name.
    pub name: String,
    /// Where it stands, if it was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<PlaceRecord>,
    /// The kind that it takes; absent where it cannot be followed, or no region names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub takes: Option<String>,
    /// The entries of its `match`, each as JSON: one has to hold. None are told of a rule that cannot be followed, or that no
    /// region names.
    pub conditions: Vec<String>,
    /// The sources, and whether their ClusterFeatures are those that it asks for; empty where it asks for none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<RuleSourceRecord>,
    /// The regions that name it.
    pub regions: Vec<String>,
    /// The groups of guest clusters that name it, for each of their namespaces, such as `guest/team-a/pull`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// How many objects of the kind were read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<usize>,
    /// How many of them it takes, or may take.
    pub taken: usize,
}

/// A ManagedResource as a whole.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TemplateRecord {
    /// Its name.
    pub name: String,
    /// Where it stands, if it was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<PlaceRecord>,
    /// The regions that name it.
    pub regions: Vec<String>,
    /// For how many of their namespaces it is rendered.
    pub namespaces: usize,
    /// The groups of guest clusters for which it is rendered, for each of their namespaces, such as `guest/team-a/pull`.
    pub groups: Vec<String>,
    /// The groups that name it, for those of their namespaces that it does not select.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unselected: Vec<String>,
}

/// A source, and whether a rule takes objects of it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleSourceRecord {
    /// Its name.
    pub name: String,
    /// `yes`, `no`, or `unknown` where not all its ClusterFeatures were read.
    pub answer: Truth,
}

/// A region.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegionRecord {
    /// Its name.
    pub name: String,
    /// Its folder.
    pub directory: String,
    /// What a publish would make of it now; absent where only one Credential was looked at, unless the region is held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Who can read its Secrets.
    pub recipients: Vec<String>,
    /// Who could read them if the region were not held or paused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recipients_held: Vec<String>,
    /// Why it is held; only where the region itself is asked about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<FindingRecord>,
    /// What is known of its cluster; only where the region itself is asked about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<FactRecord>,
}

/// One thing that is known of a region's cluster.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FactRecord {
    /// The fact, for people.
    pub fact: String,
    /// What says so.
    pub from: String,
    /// Where that stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<PlaceRecord>,
    /// What it decides, if anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decides: Option<String>,
}

/// What becomes of one Credential.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClaimRecord {
    /// The Credential, as `namespace/name`; a Cluster without Credential, as `cluster/namespace/name`; a ClusterResourceSet, as
    /// `clusterresourceset/namespace/name`.
    pub credential: String,
    /// Where it stands, or what it is made from.
    pub place: PlaceRecord,
    /// `admitted`: its closure is published. `refused`: it is not allowed, and what it had is withdrawn. `broken`: it
    /// cannot be resolved now, and what it had stays. `unpublished`: it names no region, or a retired one. `paused`:
    /// nobody looks at its region.
    pub verdict: Fate,
    /// The region that it names, whether or not the configuration has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Who can read one of its Secrets then.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recipients: Vec<String>,
    /// Who could read them if the region were not held.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recipients_held: Vec<String>,
    /// What it needs. The first is its identity; each other one is named by an earlier one. Behind a step that nothing
    /// admits, nothing is told.
    pub steps: Vec<StepRecord>,
    /// Objects that stay published for it although it does not lead to them now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<ObjectRecord>,
    /// Objects that were published for it and go.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub withdrawn: Vec<ObjectRecord>,
    /// Objects that are published for it although it does not lead to them now, where only this Credential was looked at:
    /// whether they stay depends on others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<ObjectRecord>,
    /// What is wrong or worth knowing.
    pub findings: Vec<FindingRecord>,
    /// What is silenced by annotations of objects.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub silenced: Vec<SilencedRecord>,
}

/// The fate of a claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It was judged.
    Judged(Verdict),
    /// It names no region, or a retired one.
    Unpublished,
    /// Its region is left alone.
    Paused,
}

spelt!(Fate by word);

impl Fate {
    /// The word for people and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Fate::Judged(verdict) => verdict.word(),
            Fate::Unpublished => "unpublished",
            Fate::Paused => "paused",
        }
    }
}

/// One object that a Credential needs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepRecord {
    /// The object that is read.
    pub object: ObjectRecord,
    /// The object that it becomes on the region.
    pub lands: ObjectRecord,
    /// `root`, `reference`, `resourceTemplate`, `propagationSecret`, `assumed` for what every region has by itself, or `made`
    /// for what pouch makes of nothing that it reads.
    pub role: Role,
    /// The step that names it, counted from zero; absent for what the claimant names itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub named_by: Option<usize>,
    /// The field that names it, or what makes it a companion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The rule by which the Credential may use it: `ownNamespace`, `systemClaimant`, `identity`, `throughIdentity`,
    /// `managed` or `grant`; absent where none admits it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<Rule>,
    /// The placement by which a grant admits it, as `NAMESPACE, decision key KEY` or `NAMESPACE/NAME`; where nothing admits it,
    /// the placement of which nobody knows whether it lists the region.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<String>,
    /// `found`, `absent`, `unknown` where a source was not read completely or not asked, `notTold` where nothing
    /// admits it, `made` where pouch makes it.
    pub read: Read,
    /// Where it stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<PlaceRecord>,
    /// Who says what it refers to; absent for what refers to nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definition: Option<DefinitionRecord>,
    /// The fields that read otherwise on the region.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rewritten: Vec<String>,
    /// The object that it is in guest clusters; absent for what is no payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guest: Option<ObjectRecord>,
    /// Whether it was read where it would land, on the management cluster: it is there, and is not published.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub in_place: bool,
    /// What a publish would make of it: `added`, `changed`, `resealed`, `withdrawn`, `carried`, `unchanged` or, with
    /// `--no-values`, `unseen`; `published` where only this Credential was looked at, and others decide; absent where
    /// nothing of it is published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// The reason for which it is carried over: the code of the finding that says so. Of a withdrawal: `unneeded`, `gone`,
    /// `refused`, `revoked`, `asked` or `retired`, where all who needed it lose it for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub reason: Option<Why>,
    /// Its file, below the output's folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

impl StepRecord {
    /// Returns true if the claim may not have it, or it is not there.
    pub fn is_missing(&self) -> bool {
        self.role != Role::Assumed && (self.rule.is_none() || self.read != Read::Found)
    }
}

/// The answer of the sources to a look for an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Read {
    /// It was found.
    Found,
    /// It is in no source.
    Absent,
    /// A source was not read completely, or not asked.
    Unknown,
    /// Nothing admits the claim to it.
    NotTold,
}

spelt!(Read { Found "found", Absent "absent", Unknown "unknown", NotTold "notTold" });

/// The effect of a publish on an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// It changes.
    Changes(Action),
    /// It stays as it was published.
    Carried,
    /// It stays, and says what the sources say.
    Unchanged,
    /// The Secret was not looked into.
    Unseen,
    /// It is published, and others decide what becomes of it.
    Published,
}

spelt!(State by word);

impl State {
    /// The word for people and JSON.
    pub fn word(self) -> &'static str {
        match self {
            State::Changes(action) => action.word(),
            State::Carried => "carried",
            State::Unchanged => "unchanged",
            State::Unseen => "unseen",
            State::Published => "published",
        }
    }
}

/// The reason for which an object goes, or stays as it was published.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(untagged)]
pub enum Why {
    /// It goes.
    Goes(Gone),
    /// A finding of this code says why it stays.
    Stays(Code),
    /// Another release has this reason.
    Other(Box<str>),
}

impl Why {
    /// The reason for people, behind what becomes of the object.
    pub fn shown(&self) -> &str {
        match self {
            Why::Goes(gone) => gone.shown(),
            Why::Stays(code) => code.text(),
            Why::Other(reason) => reason,
        }
    }
}

/// Who says what a kind refers to.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DefinitionRecord {
    /// The ProviderInterface.
    pub provider_interface: String,
    /// Where it stands; absent for a built-in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<PlaceRecord>,
    /// The release of k0rdent that ships it; absent for one from the sources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
}

/// Where something stands.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlaceRecord {
    /// The source.
    pub source: String,
    /// The file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line, from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column, from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The place in words.
    pub text: String,
}

impl From<&Origin> for PlaceRecord {
    fn from(origin: &Origin) -> Self {
        let position = origin.position();
        Self {
            source: origin.source.to_string(),
            file: position.map(|(path, ..)| path.to_string()),
            line: position.map(|(_, line, _)| line),
            column: position.map(|(.., column)| column),
            text: origin.to_string(),
        }
    }
}

/// An object of a bundle.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BundledRecord {
    /// The region.
    pub region: String,
    /// The object on the region.
    pub object: ObjectRecord,
    /// Its file, below the output's folder.
    pub path: String,
    /// What a publish would make of it: `added`, `changed`, `resealed`, `withdrawn`, `carried`, `unchanged` or, with
    /// `--no-values`, `unseen`; `published` where only one Credential was looked at, and others decide.
    pub state: State,
    /// The reason for which it is carried over: the code of the finding that says so. Of a withdrawal: `unneeded`, `gone`,
    /// `refused`, `revoked`, `asked` or `retired`, where all who needed it lose it for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub reason: Option<Why>,
    /// Who can read it, if it is a Secret.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recipients: Vec<String>,
    /// The Credentials that need it, as `namespace/name`.
    pub credentials: Vec<String>,
}
