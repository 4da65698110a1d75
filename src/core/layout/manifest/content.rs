//! What a manifest says, as data.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::taker::Taker;
use crate::finding::Code;
use crate::layout::path::BundlePath;
use crate::layout::split::Splits;
use crate::name::step::{Step, behind_claimant};
use crate::name::{Claimant, Directory, FleetName, GroupKind, ObjectKey, ReadAt, ReadFrom, SourceName};
use crate::recipient::Recipient;

/// The format that is written.
pub const API_VERSION: &str = "pouch/v1alpha2";

/// The format before, which is read: its claimants are, and its chains are words.
pub const FORMER: &str = "pouch/v1alpha1";

/// The kind of the document.
pub const KIND: &str = "Bundle";

/// The content of a region's `bundle.yaml`, without the line that authenticates it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Manifest {
    /// The region's folder.
    pub directory: Directory,
    /// The fleet that the bundle belongs to.
    pub fleet: FleetName,
    /// Everybody who can read the bundle's Secrets.
    pub recipients: Vec<Recipient>,
    /// The sources that can tell which cluster or repository they are.
    pub sources: Vec<SourceIdentity>,
    /// The UID of the `kube-system` of the cluster that the bundle was made for; none where nobody looked.
    pub cluster: Option<String>,
    /// Which leaves are split.
    pub splits: Splits,
    /// Every object of the bundle.
    pub objects: Vec<ManifestObject>,
    /// Every other file that was written for the region, except the manifest.
    pub files: Vec<ManifestFile>,
    /// The texts of what takes many of its objects; none of an older bundle.
    pub texts: Texts,
    /// The files in which claimants of its objects were read, and what else decides of them; none where it is not known of all
    /// its objects in which files they were, because an older bundle did not say it.
    pub rests_on: Option<BTreeMap<ObjectKey, ReadAt>>,
}

/// Digests of the texts by which objects are taken. Only who has the reuse key can make them.
pub type Texts = BTreeMap<Taker, String>;

/// A source and what it stands for.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SourceIdentity {
    /// The source's name in the configuration.
    pub name: SourceName,
    /// The UID of a cluster's `kube-system`, or a repository's URL without user, query and fragment.
    pub identity: String,
}

/// One object of the bundle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ManifestObject {
    /// What it is on the region.
    pub key: ObjectKey,
    /// What it was read from; none for what pouch makes itself.
    pub from: Option<ReadFrom>,
    /// Where that was read; none of what stands in no file, or was made by a template.
    pub read_at: Option<ReadAt>,
    /// What a payload holds for guest clusters; none of any other object.
    pub guest: Option<Guest>,
    /// Its file; always what [`Splits::of_object`] says.
    pub path: BundlePath,
    /// SHA-256 of the file in lower-case hex.
    pub sha256: String,
    /// Whether it is fresh.
    pub state: ObjectState,
    /// Who can read the file, if that is not who can read the bundle: it was carried over since they changed.
    pub recipients: Vec<Recipient>,
    /// Who needs it.
    pub needed_by: Vec<NeededBy>,
}

impl Manifest {
    /// The objects that stay only until consumers have followed.
    pub fn handed_over(&self) -> impl Iterator<Item = &ObjectKey> {
        self.objects.iter().filter(|object| object.state.is_handover()).map(|object| &object.key)
    }

    /// The claimants that need an object of it.
    pub fn claimants(&self) -> BTreeSet<&Claimant> {
        self.objects.iter().flat_map(|object| &object.needed_by).map(|needed_by| &needed_by.by).collect()
    }
}

impl ManifestObject {
    /// The object that it was read from; none for what pouch makes itself.
    pub fn read_key(&self) -> Option<ObjectKey> {
        let from = self.from.as_ref()?;
        let (namespace, name) = (from.namespace.clone(), from.name.clone());
        Some(ObjectKey { kind: self.key.kind.clone(), namespace, name, made: from.made.clone() })
    }

    /// The kind of the object: of a payload, in guests.
    pub fn kind(&self) -> &GroupKind {
        self.guest.as_ref().map_or(&self.key.kind, |guest| &guest.key.kind)
    }

    /// Returns true for a set, or the payload of a Namespace, that pouch makes to deliver what groups of guests have.
    pub fn is_delivery(&self) -> bool {
        self.from.is_none() && self.needed_by.iter().any(|needed_by| needed_by.by.group().is_some())
    }

    /// Who can read the file, if it is a Secret's.
    pub fn readers<'a>(&'a self, bundle: &'a Manifest) -> &'a [Recipient] {
        if self.recipients.is_empty() { &bundle.recipients } else { &self.recipients }
    }
}

/// The object of guest clusters that a payload of a ClusterResourceSet holds.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Guest {
    /// What it is in a guest.
    pub key: ObjectKey,
    /// The type of a Secret, which never changes there.
    pub secret_type: Option<String>,
    /// SHA-256 of the payload in lower-case hex, as Cluster API tells it; none where nobody looked. A payload with a Secret
    /// begins with a line that nobody can guess.
    pub sha256: Option<String>,
}

/// Whether an object says what the sources say now.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ObjectState {
    /// It does.
    Current,
    /// It stays as published, for this reason.
    Carried(Reason),
    /// It stays as published, for a reason that another release has.
    Other(Box<str>),
}

impl ObjectState {
    /// Why it stays as published, if it does.
    pub fn reason(&self) -> Option<Reason> {
        match self {
            ObjectState::Current | ObjectState::Other(_) => None,
            ObjectState::Carried(reason) => Some(*reason),
        }
    }

    /// Whether it stays only until consumers have followed: whoever needed it has another now.
    pub fn is_handover(&self) -> bool {
        *self == ObjectState::Carried(Reason::HandedOver)
    }
}

/// The reason for which an object stays as it was published. A bundle names each by the code of a finding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reason {
    /// A claim that needs it is broken, by a finding of this code.
    Broken(Code),
    /// Something that a claim needs, or that would tell whether its claimant is there, was not read.
    Unread,
    /// Something was not read that would prove that it may go.
    Unproved,
    /// Nobody knows to which of several regions it belongs.
    SeveralRegions,
    /// ClusterDeployments name the Credential that needed it.
    InUse,
    /// The brake holds its withdrawal.
    HeldDeletion,
    /// The brake holds its values.
    HeldValue,
    /// The claimant has another now, and consumers have yet to follow.
    HandedOver,
    /// A claim reads it on the management cluster, where pouch itself has put it.
    OwnOutput,
    /// A limited run leaves it alone, and it is sealed for a recipient that the region no longer has.
    RecipientRemoved,
    /// A limited run leaves it alone, and it is not sealed for a recipient that the region has now.
    RecipientAdded,
}

impl Reason {
    /// The reason that a code stands for.
    pub fn of(code: Code) -> Self {
        match code {
            Code::Unread => Reason::Unread,
            Code::DeletionUnproved => Reason::Unproved,
            Code::SeveralRegions => Reason::SeveralRegions,
            Code::CredentialInUse => Reason::InUse,
            Code::DeletionsHeld => Reason::HeldDeletion,
            Code::ResealHeld => Reason::HeldValue,
            Code::Handover => Reason::HandedOver,
            Code::OwnOutput => Reason::OwnOutput,
            Code::RevocationIncomplete => Reason::RecipientRemoved,
            Code::RecipientAdded => Reason::RecipientAdded,
            broken => Reason::Broken(broken),
        }
    }

    /// The code that stands for it.
    pub fn code(self) -> Code {
        match self {
            Reason::Broken(code) => code,
            Reason::Unread => Code::Unread,
            Reason::Unproved => Code::DeletionUnproved,
            Reason::SeveralRegions => Code::SeveralRegions,
            Reason::InUse => Code::CredentialInUse,
            Reason::HeldDeletion => Code::DeletionsHeld,
            Reason::HeldValue => Code::ResealHeld,
            Reason::HandedOver => Code::Handover,
            Reason::OwnOutput => Code::OwnOutput,
            Reason::RecipientRemoved => Code::RevocationIncomplete,
            Reason::RecipientAdded => Code::RecipientAdded,
        }
    }

    /// The word for it in bundles and records.
    pub fn word(self) -> &'static str {
        self.code().text()
    }
}

/// Someone who needs an object.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct NeededBy {
    /// The claimant.
    pub by: Claimant,
    /// The steps that lead from it to the object, in order.
    pub through: Vec<Step>,
}

impl NeededBy {
    /// A claimant that is led to an object by these steps.
    pub fn of(by: &Claimant, through: &[Step]) -> Self {
        Self { by: by.clone(), through: through.to_vec() }
    }

    /// The claimant that takes the object by a text of its own.
    pub fn takers(&self) -> impl Iterator<Item = Taker> + '_ {
        Taker::of(&self.by, &self.through)
    }

    /// The steps behind the claimant, whoever makes that. The format before did not write the rule that is one itself.
    pub fn steps(&self) -> &[Step] {
        match (&self.by, &*self.through) {
            (Claimant::SyncRule { .. }, [Step::Rule(_), rest @ ..]) => rest,
            (_, chain) => behind_claimant(chain),
        }
    }
}

/// A file that is no object.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ManifestFile {
    /// Where it stands.
    pub path: BundlePath,
    /// SHA-256 of the file in lower-case hex.
    pub sha256: String,
}
