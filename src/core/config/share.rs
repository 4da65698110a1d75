//! Shares: the tenant whose share of a region a claimant uses up.
//!
//! Namespaces and sources are what tenants have. What a rule of the platform takes, and a template of it makes, is as much as
//! tenants write: so that is theirs, wherever the claimant stands. The same shares what is listed of all that is found.

use alloc::collections::BTreeMap;

use super::{Fleet, ProvidedObjects};
use crate::finding::Finding;
use crate::finding::crowd::Account;
use crate::name::holder::{Holder, Part, Writer};
use crate::name::{Claimant, Entry, GroupKind, Name, Namespace, SourceName, TakenObject};

impl Fleet {
    /// The tenant that writes what a rule takes; none of what the platform writes. An object without a namespace, or in that of the
    /// system, is of the first source that may provide it by its name, and nothing that belongs to all.
    pub fn taken_from(&self, namespace: Option<&Namespace>, kind: &GroupKind, name: &Name) -> Option<Writer> {
        if let Some(namespace) = namespace.filter(|namespace| **namespace != self.system_namespace) {
            return Some(Writer::Namespace(namespace.clone()));
        }
        let at = |objects: &ProvidedObjects| objects.namespace.is_none() || objects.namespace.as_ref() == namespace;
        let is_named =
            |objects: &ProvidedObjects| objects.kind == *kind && at(objects) && objects.names.matches(name.as_str());
        let mut tenants = self.sources.iter().filter(|source| !source.provides.cluster_scoped);
        let source = tenants.find(|source| source.provides.objects.iter().any(is_named))?;
        Some(Writer::Source(source.name.clone()))
    }

    /// The tenant that writes what a claimant has, where that says more than the claimant's namespace: of what a rule takes for
    /// want of a namespace, and in groups of guests of all that the configuration does not name. `kind` is what is taken.
    pub fn writer(&self, by: &Claimant, kind: &GroupKind) -> Option<Writer> {
        match by {
            Claimant::SyncRule { namespace, object: Some(name), .. } if *namespace == self.system_namespace => {
                // It may stand there, or have no namespace.
                self.taken_from(Some(namespace), kind, name)
            }
            Claimant::Guests { namespace, entry, .. } => match &**entry.as_ref()? {
                Entry::Rule { object: Some(TakenObject { namespace, name }), .. } => {
                    self.taken_from(namespace.as_ref(), kind, name)
                }
                Entry::Template(_) => Some(Writer::Namespace(namespace.clone())),
                Entry::Rule { object: None, .. } | Entry::Object(_) => None,
            },
            Claimant::SyncRule { .. }
            | Claimant::Template { .. }
            | Claimant::Cluster { .. }
            | Claimant::ResourceSet { .. }
            | Claimant::Credential { .. }
            | Claimant::Other { .. } => None,
        }
    }

    /// The source whose share of a region a claimant uses up: the own one of who writes what it has. None of what belongs to all.
    pub fn share_of(&self, by: &Claimant, kind: &GroupKind) -> Option<&SourceName> {
        match self.writer(by, kind) {
            Some(writer) => self.source_of(&writer),
            None if by.group().is_some() => None,
            None => self.own_source(by.namespace()),
        }
    }

    /// The same of a holder of quotas.
    pub fn share_of_holder(&self, whose: &Holder) -> Option<&SourceName> {
        match &whose.part {
            Part::Guests(_, Some(writer)) | Part::Rules(Some(writer)) => self.source_of(writer),
            Part::Guests(_, None) | Part::Rules(None) => None,
            Part::Own | Part::Templates => self.own_source(&whose.namespace),
        }
    }

    /// The source that is a writer's own, if one is.
    pub fn source_of(&self, writer: &Writer) -> Option<&SourceName> {
        match writer {
            Writer::Namespace(namespace) => self.own_source(namespace),
            Writer::Source(name) => self.sources.iter().map(|source| &source.name).find(|source| *source == name),
        }
    }

    /// Finds the account of a finding: the tenant's source that it stands in, else the tenant whom it concerns; in a source of the
    /// platform a namespace is a tenant.
    pub(super) fn accounts(&self) -> impl FnMut(&Finding) -> Account {
        let tenants: BTreeMap<&SourceName, bool> =
            self.sources.iter().map(|source| (&source.name, !source.provides.cluster_scoped)).collect();
        let mut of_namespaces: BTreeMap<Namespace, Account> = BTreeMap::new();
        move |finding| {
            let source = finding.origin.as_ref().map(|origin| &origin.source);
            let is_of_tenant = source.and_then(|source| tenants.get(source));
            let whose = finding.namespace().filter(|_| is_of_tenant.is_some() || finding.claimant.is_some());
            match (source, is_of_tenant, whose) {
                (Some(source), Some(true), _) | (Some(source), Some(false), None) => Account::Source(source.clone()),
                (_, _, Some(namespace)) => of_namespaces
                    .entry(namespace.clone())
                    .or_insert_with(|| match self.own_source(namespace) {
                        Some(own) => Account::Source(own.clone()),
                        None => Account::Namespace(namespace.clone()),
                    })
                    .clone(),
                _ => Account::without_source(finding),
            }
        }
    }

    /// The holder of the quotas that a claimant uses up, of which `kind` is what it takes.
    pub fn holder(&self, by: &Claimant, kind: &GroupKind) -> Holder {
        Holder::of(by, &self.system_namespace, self.writer(by, kind))
    }
}
