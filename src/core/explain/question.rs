//! Questions: what can be asked, and what each is about.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::record::{RuleRecord, TemplateRecord};
use super::{guests, rule, template};
use crate::claim::Asked;
use crate::config::{Fleet, Source, SourcePlace};
use crate::destination::Destination;
use crate::kinds;
use crate::name::{Claimant, Entry, Name, ObjectKey, Region};
use crate::nearest::suggested;
use crate::recipient::Recipient;
use crate::snapshot::Lookup;
use crate::world::World;

/// What is asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Question {
    /// What becomes of a claimant, and why.
    Claimant(Claimant),
    /// What a ResourceSyncRule takes, and where that goes.
    Rule(Name),
    /// For which namespaces and guest clusters a ManagedResource is rendered.
    Template(Name),
    /// Who needs an object, by where it is read or where it lands.
    Object(ObjectKey),
    /// Who has something in a region.
    Region(Region),
    /// What a recipient can read.
    Recipient(Recipient),
    /// Whatever a publish would change, and whatever is stopped.
    Changes,
}

impl Question {
    /// The claimant whose closure alone is read: of a source that is asked piece by piece, one question is to ask no more
    /// than it needs.
    pub fn narrow(&self, fleet: &Fleet) -> Option<&Claimant> {
        let is_asked = |source: &Source| matches!(source.place, SourcePlace::Cluster { .. });
        match self {
            Question::Claimant(by) if fleet.sources.iter().any(is_asked) && !guests::may_have(fleet, by) => Some(by),
            _ => None,
        }
    }

    /// Whether a region is looked at for it.
    pub fn takes_up(&self, world: &World<'_>, to: &Destination<'_>) -> bool {
        match self {
            Question::Claimant(by) => {
                let mut claims = world.facts.asked_of(by).filter_map(|asked| asked.claim.as_ref()).peekable();
                // What is published for somebody who claims nothing may be anywhere, and a template is for the namespaces of
                // that name in all regions.
                by.template().is_some() || claims.peek().is_none() || claims.any(|claim| claim.at == to.place())
            }
            Question::Region(region) => *region == to.region.name,
            Question::Rule(_) | Question::Template(_) => true,
            Question::Object(_) | Question::Recipient(_) | Question::Changes => true,
        }
    }

    /// Whether it is about a claimant that claims nothing.
    pub fn is_about(&self, asked: &Asked) -> bool {
        match self {
            Question::Region(region) => asked.region.as_ref() == Some(region),
            _ => self.names(&asked.by),
        }
    }

    /// Whether it is about a claimant by its name, or by that of its rule.
    pub(super) fn names(&self, by: &Claimant) -> bool {
        match self {
            Question::Claimant(named) => by.is_of(named),
            Question::Rule(rule) => by.rule() == Some(rule),
            Question::Template(template) => by.template() == Some(template),
            _ => false,
        }
    }

    /// The ClusterResourceSet that it is about, whoever makes that.
    pub(super) fn set(&self) -> Option<ObjectKey> {
        if let Question::Claimant(by) = self { guests::set(by) } else { None }
    }

    /// What a template is as a whole, if it is about one, or about one and a namespace for which only groups name it.
    pub fn template(&self, world: &World<'_>) -> Option<TemplateRecord> {
        match self {
            Question::Template(name) => template::of(world, name),
            Question::Claimant(by) => {
                let name = by.template().filter(|_| world.facts.asked_by(by).is_none())?;
                let mut named = guests::naming(world, Entry::Template(name.clone()));
                named.find(|(asked, _)| asked.by.namespace() == by.namespace())?;
                template::of(world, name)
            }
            _ => None,
        }
    }

    /// What a rule is as a whole, if it is about one.
    pub fn rule(&self, world: &World<'_>) -> Option<RuleRecord> {
        let Question::Rule(rule) = self else { return None };
        rule::of(world, rule)
    }
}

/// What is asked about was not read.
pub struct Missed {
    /// What was read, and was probably meant.
    pub near: Option<String>,
}

impl Question {
    /// Whether what it is about was not read; where nobody knows, it counts as read.
    pub fn missed(&self, world: &World<'_>) -> Option<Missed> {
        if self.template(world).is_some() {
            return None;
        }
        let (typed, paths): (String, Vec<String>) = match self {
            Question::Claimant(by) if world.facts.asked_by(by).is_none() => (
                by.path(),
                world.facts.asked().iter().flat_map(|asked| [asked.by.path(), asked.by.whole().path()]).collect(),
            ),
            Question::Rule(rule) if rule::of(world, rule).is_none() => {
                (rule.to_string(), world.snapshot.all(&kinds::sync_rule()).map(|it| it.key.name.to_string()).collect())
            }
            Question::Template(name) => (
                name.to_string(),
                world.snapshot.all(&kinds::managed_resource()).map(|it| it.key.name.to_string()).collect(),
            ),
            Question::Object(key) if matches!(world.snapshot.look_up(key), Lookup::Absent) => {
                (key.path(), world.snapshot.all(&key.kind).map(|object| object.key.path()).collect())
            }
            _ => return None,
        };
        Some(Missed { near: suggested(&typed, paths.iter().map(String::as_str)).map(ToString::to_string) })
    }
}

/// Whether a published manifest may name a claimant.
pub fn may_name(manifest: Option<Vec<u8>>, by: &Claimant) -> bool {
    let (field, name) = match by {
        Claimant::Guests { group, .. } => ("group", group),
        Claimant::Template { template, .. } => ("template", template),
        Claimant::SyncRule { rule, .. } => ("rule", rule),
        Claimant::Cluster { name, .. }
        | Claimant::ResourceSet { name, .. }
        | Claimant::Credential { name, .. }
        | Claimant::Other { name, .. } => ("name", name),
    };
    // A bundle of the format before calls each of them a name.
    let names =
        [field, "name"].into_iter().flat_map(|field| [format!("{field}: {name}"), format!("{field}: \"{name}\"")]);
    let names: Vec<String> = names.collect();
    let text = manifest.unwrap_or_default();
    let mut lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    lines.any(|line| names.iter().any(|name| line.ends_with(name.as_bytes())))
}

/// The question in the words of the command line.
impl core::fmt::Display for Question {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Question::Claimant(by) => write!(f, "{by}"),
            Question::Rule(rule) => write!(f, "ResourceSyncRule {rule}"),
            Question::Template(template) => write!(f, "ManagedResource {template}"),
            Question::Object(key) => write!(f, "{key}"),
            Question::Region(region) => write!(f, "region {region}"),
            Question::Recipient(recipient) => write!(f, "recipient {recipient}"),
            Question::Changes => write!(f, "what would change"),
        }
    }
}
