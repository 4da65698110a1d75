//! Namings: in which fields the objects behind a Cluster name an identity or a Secret.
//!
//! Each provider's file fills in rows of these; [`cluster`](super::cluster) reads by them.

use alloc::vec::Vec;

use super::rules::{GROUP, Path};
use crate::name::GroupKind;

/// The API group of control planes.
pub const CONTROL_PLANES: &str = "controlplane.cluster.x-k8s.io";

/// What is known of a kind that Clusters refer to.
#[derive(Debug)]
pub struct ClusterKind {
    /// The API group.
    pub group: &'static str,
    /// The kind.
    pub kind: &'static str,
    /// The resource, as API paths and RBAC rules name it.
    pub plural: &'static str,
    /// Where its objects name identities and Secrets; nowhere if the provider has its credentials from elsewhere.
    pub names: &'static [Naming],
    /// The kind of control plane that names the identity instead, where such an object cannot do without.
    pub leaves_to: Option<&'static str>,
    /// The kinds of its machines that name an identity of their own; each has templates, too.
    pub machines: &'static [ClusterKind],
    /// The cluster-scoped kind of its failure domains, if these name one.
    pub domains: Option<&'static ClusterKind>,
}

/// A field in which an object names an identity or a Secret.
#[derive(Debug)]
pub struct Naming {
    /// The field; `[]` on the way stands for every item of a list.
    pub field: Path,
    /// What it holds.
    pub form: Form,
    /// What it can name.
    pub choices: Choices,
    /// In which namespace a namespaced object is then looked for.
    pub namespace: Within,
    /// What an absent field means.
    pub without: Without,
}

/// What a field holds that names an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// A map with a `name`.
    Map,
    /// A map whose `name` is this if it says none.
    MapNamed(&'static str),
    /// The name itself.
    Text,
}

/// What a field can name.
#[derive(Debug)]
pub enum Choices {
    /// Objects of one kind.
    One(Choice),
    /// Objects of the kind that a key beside the name says; if it says none, of the first where that is the default.
    By {
        /// The key.
        key: &'static str,
        /// Whether the first counts where the key is absent.
        first_by_default: bool,
        /// The choices.
        of: &'static [Choice],
    },
}

/// One kind of object that a field can name.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// The word that chooses it.
    pub word: &'static str,
    /// Its API group.
    pub group: &'static str,
    /// Its kind; empty if the word stands for no object at all.
    pub kind: &'static str,
    /// The entries that the provider reads of it, where it is a Secret.
    pub entries: &'static [EntryName],
}

/// The name of an entry of a Secret.
#[derive(Clone, Copy, Debug)]
pub struct EntryName {
    /// The name, unless the field says another.
    pub name: &'static str,
    /// The keys below the field that lead to the other name; none if the name is fixed.
    pub by: Path,
}

/// In which namespace what a field names is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Within {
    /// In the Cluster's own, whatever the field says.
    Own,
    /// In the one that the field says, else in the Cluster's own.
    SaidOrOwn,
    /// In the one that the field says; the provider takes no other.
    Said,
}

/// What it means that a field is absent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Without {
    /// The provider has its credentials from elsewhere.
    Nothing,
    /// The provider takes the object of this name, of the first kind.
    Name(&'static str),
    /// The provider refuses the object.
    Refused,
    /// The provider refuses the object if it has the map that the field would stand in, and else has its credentials from
    /// elsewhere.
    RefusedBeside,
}

/// An identity.
pub(super) const fn identity(kind: &'static str) -> Choice {
    Choice { word: kind, group: GROUP, kind, entries: &[] }
}

/// A Secret with these entries.
pub(super) const fn secret(entries: &'static [EntryName]) -> Choice {
    Choice { word: "Secret", group: "", kind: "Secret", entries }
}

/// An entry with a fixed name.
pub(super) const fn entry(name: &'static str) -> EntryName {
    EntryName { name, by: &[] }
}

impl ClusterKind {
    /// An infrastructure kind.
    pub(super) const fn infrastructure(kind: &'static str, plural: &'static str, names: &'static [Naming]) -> Self {
        Self { group: GROUP, kind, plural, names, leaves_to: None, machines: &[], domains: None }
    }

    /// An infrastructure kind whose control plane names the identity.
    pub(super) const fn left_to(kind: &'static str, plural: &'static str, control_plane: &'static str) -> Self {
        Self { leaves_to: Some(control_plane), ..Self::infrastructure(kind, plural, &[]) }
    }

    /// The kind, with kinds of machines.
    pub(super) const fn with_machines(self, machines: &'static [ClusterKind]) -> Self {
        Self { machines, ..self }
    }

    /// The kind, with a kind of failure domains.
    pub(super) const fn with_domains(self, domains: &'static ClusterKind) -> Self {
        Self { domains: Some(domains), ..self }
    }

    /// A control plane kind.
    pub(super) const fn control_plane(kind: &'static str, plural: &'static str, names: &'static [Naming]) -> Self {
        Self { group: CONTROL_PLANES, ..Self::infrastructure(kind, plural, names) }
    }

    /// The kinds of identities that its objects may name.
    pub fn identities(&self) -> Vec<GroupKind> {
        let choices = self.names.iter().flat_map(|naming| match &naming.choices {
            Choices::One(choice) => core::slice::from_ref(choice),
            Choices::By { of, .. } => of,
        });
        choices.filter(|choice| choice.group == GROUP).map(|choice| GroupKind::new(choice.group, choice.kind)).collect()
    }

    /// The group and the kind.
    pub fn group_kind(&self) -> GroupKind {
        GroupKind::new(self.group, self.kind)
    }

    /// Whether this is a kind.
    pub(super) fn is(&self, kind: &GroupKind) -> bool {
        kind.kind == self.kind && kind.group == self.group
    }
}
