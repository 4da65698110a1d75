//! What commands are asked about: a Credential, or a kind and a name, in the words of the command line.

use clap::ValueEnum;
use pouch_core::config::Fleet;
use pouch_core::listing::{all, counted};
use pouch_core::name::{Claimant, Name, Namespace, ObjectKey, is_dns_label, is_dns_subdomain};
use pouch_core::recipient::Recipient;

use crate::error::Failure;
use crate::settings::{recipients_called, region_called};
use crate::ui::Ui;

/// What can be asked about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Kind {
    Credential,
    /// A Cluster of Cluster API that has no Credential.
    Cluster,
    /// A ResourceSyncRule, or one object that it takes.
    #[value(name = "resourcesyncrule")]
    ResourceSyncRule,
    /// A ManagedResource of KubeNSync, or what it makes for one namespace.
    #[value(name = "managedresource")]
    ManagedResource,
    Secret,
    Region,
    Recipient,
    /// A ClusterResourceSet of Cluster API.
    #[value(name = "clusterresourceset")]
    ClusterResourceSet,
    /// A group of guest clusters in a namespace.
    Guest,
    #[value(name = "configmap")]
    ConfigMap,
}

/// What is asked about.
pub enum Subject {
    /// Who claims something.
    Claimant(Claimant),
    /// A ResourceSyncRule, whatever it takes.
    Rule(Name),
    /// A ManagedResource, for whatever namespace.
    Template(Name),
    /// A Secret or ConfigMap.
    Object(ObjectKey),
    /// A region, as it was typed.
    Region(String),
    /// A recipient.
    Recipient(Recipient),
}

/// How the words of a command line are taken.
pub struct Words<'a> {
    /// The command.
    pub command: &'static str,
    /// What it can be asked about.
    pub kinds: &'a [Kind],
    /// The configuration, if there is one.
    pub fleet: Option<&'a Fleet>,
    /// Where hints go.
    pub ui: &'a Ui,
}

impl Words<'_> {
    /// What one or two words mean; `namespace` is that of a name without one.
    pub fn subject(&self, words: &[String], namespace: Option<&str>) -> Result<Subject, Failure> {
        let (kind, name) = match words {
            [kind, name] => (self.kind(kind)?, name),
            [kind] if self.kind(kind).is_ok() => {
                return Err(Failure::usage(
                    format!("a name is missing after `{kind}`"),
                    format!("Write it behind: `pouch {} --help` shows how.", self.command),
                ));
            }
            [path]
                if path.split('/').count() >= 3
                    && Claimant::of_path(path).is_some()
                    && self.kinds.contains(&Kind::Cluster) =>
            {
                let (kind, place) = path.split_once('/').unwrap_or_default();
                return self.subject(&[kind.to_lowercase(), place.into()], namespace);
            }
            [name] if name.starts_with("age1") && self.kinds.contains(&Kind::Recipient) => (Kind::Recipient, name),
            [name] => (Kind::Credential, name),
            _ => {
                return Err(Failure::usage(
                    format!("{} is more than a kind and a name", words.join(" ")),
                    "Write a namespace before the name, with a slash between them, or with -n.",
                ));
            }
        };
        let has_namespace = name.contains('/') || matches!(kind, Kind::Region | Kind::Recipient);
        if let Some(namespace) = namespace.filter(|_| has_namespace) {
            return Err(Failure::usage(
                format!("-n {namespace} has no meaning for {name}"),
                "It is the namespace of a claimant or Secret whose name is given without one. Leave it out.",
            ));
        }
        match kind {
            Kind::Region => Ok(Subject::Region(name.clone())),
            Kind::Recipient => match &*recipients_called(self.fleet, name)? {
                [recipient] => Ok(Subject::Recipient(recipient.clone())),
                several => Err(Failure::usage(
                    format!("{name} is the name of {}", counted(several.len(), "key", "keys")),
                    format!("Write one of them: {}.", all(several)),
                )),
            },
            Kind::ResourceSyncRule if namespace.is_none() && is_dns_subdomain(name) => {
                Ok(Subject::Rule(name.as_str().into()))
            }
            Kind::ManagedResource if namespace.is_none() && is_dns_subdomain(name) => {
                Ok(Subject::Template(name.as_str().into()))
            }
            Kind::Credential
            | Kind::Cluster
            | Kind::ClusterResourceSet
            | Kind::Guest
            | Kind::ResourceSyncRule
            | Kind::ManagedResource
            | Kind::ConfigMap
            | Kind::Secret => self.namespaced(kind, name, namespace),
        }
    }

    fn namespaced(&self, kind: Kind, name: &str, namespace: Option<&str>) -> Result<Subject, Failure> {
        if let Some((word, rest)) = name.split_once('/')
            && kind == Kind::Credential
            && self.kind(word).is_ok()
        {
            self.ui.note(&format!("{word} is taken for a namespace; for a kind, write `{word} {rest}`"));
        }
        let (namespace, name) = match (name.split_once('/'), namespace) {
            (Some((namespace, name)), _) => (namespace, name),
            (None, Some(namespace)) => (namespace, name),
            (None, None) => return Err(self.without_namespace(kind, name)),
        };
        if kind == Kind::Guest
            && let Some(entry) = Claimant::of_path(&format!("guest/{namespace}/{name}"))
            && entry.entry().is_some()
        {
            return Ok(Subject::Claimant(entry));
        }
        let is_rule = kind == Kind::ResourceSyncRule;
        let (rule, object) = if is_rule { name.split_once(':').unwrap_or((name, "")) } else { (name, name) };
        if is_rule && (!is_dns_label(namespace) || !is_dns_subdomain(rule) || object.is_empty() || object.contains('/'))
        {
            return Err(Failure::usage(
                format!("{namespace}/{name} is not NAMESPACE/RULE:OBJECT"),
                "Write the namespace of the object that the rule takes, and behind the name of the rule that of the object, \
                 such as team-a/pull-secrets:registry.",
            ));
        }
        if !is_dns_label(namespace) || !is_dns_subdomain(rule) {
            return Err(Failure::usage(
                format!("{namespace}/{name} is not NAMESPACE/NAME"),
                "Write both as they stand in the manifest, such as team-a/aws.",
            ));
        }
        let (rule, object) = (rule.to_owned(), object.to_owned());
        let (namespace, name) = (Namespace::from(namespace), Name::from(name));
        Ok(match kind {
            Kind::Secret => Subject::Object(ObjectKey::secret(namespace, name)),
            Kind::ConfigMap => Subject::Object(ObjectKey::config_map(namespace, name)),
            Kind::Cluster => Subject::Claimant(Claimant::Cluster { namespace, name }),
            Kind::ResourceSyncRule => Subject::Claimant(Claimant::SyncRule {
                namespace,
                rule: rule.as_str().into(),
                object: Some(object.as_str().into()),
            }),
            Kind::ClusterResourceSet => Subject::Claimant(Claimant::ResourceSet { namespace, name }),
            Kind::ManagedResource => Subject::Claimant(Claimant::Template { namespace, template: name }),
            Kind::Guest => Subject::Claimant(Claimant::Guests { namespace, group: name, entry: None }),
            _ => Subject::Claimant(Claimant::credential(namespace, name)),
        })
    }

    fn kind(&self, word: &str) -> Result<Kind, Failure> {
        // As kubectl takes them.
        let one = word.strip_suffix('s').unwrap_or(word);
        let known = Kind::from_str(one, true).ok().filter(|kind| self.kinds.contains(kind));
        known.ok_or_else(|| {
            let words: Vec<String> = self.kinds.iter().map(|kind| format!("{kind:?}").to_lowercase()).collect();
            Failure::usage(
                format!("{word:?} is nothing that can be asked about"),
                format!("Name one of: {}. Without one of these words, the name is a Credential's.", words.join(", ")),
            )
        })
    }

    fn without_namespace(&self, kind: Kind, name: &str) -> Failure {
        let help = match self.fleet.map(|fleet| region_called(fleet, name)) {
            Some(Ok(region)) => format!("Write NAMESPACE/NAME, or `pouch {} region {}`.", self.command, region.name),
            _ => String::from("Write NAMESPACE/NAME, or the namespace with -n."),
        };
        let kind = format!("{kind:?}");
        Failure::usage(format!("{name:?} names no {kind}: it has no namespace"), help)
    }
}
