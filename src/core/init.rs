//! A configuration drafted from what a management cluster has: its data, and its text.
//!
//! [`Draft`] says what is to be configured and [`Draft::blocks`] writes that as parts of `pouch.yaml`,
//! each value through the YAML emitter and each comment through a function that lets no line end through: names come
//! from a cluster, and anybody may have chosen them. [`examine`] says what a draft still lacks. This module knows no
//! cluster, no file and no key.

pub mod examine;
pub mod insert;
pub mod inventory;
mod need;
pub mod release;
pub mod scalar;
pub mod setup;

#[cfg(test)]
mod tests;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt::Write as _;

use crate::config::{Grant, Granted, Grantee};
use crate::listing::{self, few};
use crate::name::{Directory, Name, Namespace, Region, Variables, is_directory};
use crate::recipient::Recipient;
use crate::yaml::emit::{Tree, emit};
use inventory::DraftTies;
pub use need::{Need, Sure};
use release::ChosenRelease;
use scalar::scalar;

/// The name of the source that the draft reads.
pub const SOURCE: &str = "management";

/// k0rdent's own namespace where nobody says otherwise.
pub const SYSTEM_NAMESPACE: &str = "kcm-system";

/// The most names that one comment lists.
const MOST_NAMES: usize = 8;

/// A configuration in the making.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The kubeconfig's context.
    pub context: String,
    /// The kubeconfig, if one was named.
    pub kubeconfig: Option<String>,
    /// The variables that its credential plugin was handed, if some were named.
    pub plugin_environment: Variables,
    /// k0rdent's own namespace.
    pub system_namespace: Namespace,
    /// The built-in ProviderInterfaces.
    pub builtin: ChosenRelease,
    /// The regions.
    pub regions: BTreeMap<Region, DraftRegion>,
    /// The grants, and why each is there.
    pub grants: BTreeMap<Grant, Need>,
}

/// A region in the making.
#[derive(Clone, Debug)]
pub struct DraftRegion {
    /// Its folder.
    pub directory: Directory,
    /// Who can open its bundle.
    pub recipient: Recipient,
    /// The file of the secret half.
    pub key_file: String,
    /// Its Credentials, by namespace.
    pub claimants: BTreeMap<Namespace, BTreeSet<Name>>,
    /// Labels of namespaces that identities select by.
    pub labels: BTreeMap<Namespace, BTreeMap<String, String>>,
    /// What describes its cluster.
    pub described: DraftTies,
    /// True if k0rdent itself distributes nothing there.
    pub push_disabled: bool,
}

/// The parts of `pouch.yaml` that a draft decides, each of whole lines without the last line feed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Blocks {
    /// The item of `sources`.
    pub source: String,
    /// `systemNamespace`.
    pub system_namespace: String,
    /// `providerInterfaces`.
    pub provider_interfaces: String,
    /// The settings that regions share, beside their delivery.
    pub shared: String,
    /// The entries of `regions`.
    pub regions: String,
    /// `grants`.
    pub grants: String,
}

impl Draft {
    /// Writes the parts.
    pub fn blocks(&self) -> Blocks {
        Blocks {
            source: self.source(),
            system_namespace: if self.system_namespace == SYSTEM_NAMESPACE {
                format!("#@ systemNamespace: {SYSTEM_NAMESPACE}")
            } else {
                format!("systemNamespace: {}", scalar(self.system_namespace.as_str()))
            },
            provider_interfaces: format!(
                "{}\nproviderInterfaces: {{builtin: {}}}",
                comment(0, &self.builtin.why),
                scalar(&self.builtin.builtin)
            ),
            shared: String::new(),
            regions: self
                .regions
                .iter()
                .map(|(name, region)| entry(name, region))
                .chain([String::from(MANAGEMENT)])
                .collect::<Vec<_>>()
                .join("\n"),
            grants: self.write_grants(),
        }
    }

    /// The draft with all grants in force that may be needed: only that shows what they open.
    pub fn in_force(&self) -> Self {
        let mut draft = self.clone();
        for need in draft.grants.values_mut() {
            need.sure = Sure::Certain;
        }
        draft
    }

    /// Removes grants that nobody uses, or that do not help the Credential that they are for.
    pub fn prune(&mut self, examined: &examine::Examined) {
        self.grants.retain(|grant, _| {
            let Grantee::Claimant(by) = &grant.from else { return true };
            examined.used.contains(grant) && !examined.stopped.contains_key(by)
        });
    }

    fn source(&self) -> String {
        let mut out = format!("  - name: {SOURCE}\n    cluster:\n      context: {}", scalar(&self.context));
        if let Some(path) = &self.kubeconfig {
            let _ = write!(out, "\n      kubeconfig: {}", scalar(path));
        }
        if !self.plugin_environment.is_empty() {
            let names = self.plugin_environment.names().iter().map(|name| scalar(name));
            let _ = write!(out, "\n      pluginEnvironment: [{}]", listing::all(names));
        }
        out
    }

    fn write_grants(&self) -> String {
        let mark = |sure: Sure| if sure == Sure::Certain { "" } else { "#@ " };
        let all =
            if self.grants.values().any(|need| need.sure == Sure::Certain) { Sure::Certain } else { Sure::IfThere };
        if self.grants.is_empty() {
            return NO_GRANTS.to_string();
        }
        let mut out = format!("{GRANTS}\n{}grants:", mark(all));
        for (grant, need) in &self.grants {
            let who = match &grant.from {
                Grantee::Claimant(by) => by.to_string(),
                Grantee::Template(name) => format!("ManagedResource {name}"),
                Grantee::Namespace(namespace) => format!("Credentials of namespace {namespace}"),
                Grantee::SyncRule(name) => format!("ResourceSyncRule {name}"),
            };
            let also = match (need.sure, &grant.to) {
                (Sure::IfThere, Granted::Object(key)) => format!(" Needed if {key} is there, which was not looked at."),
                (Sure::Propagation, _) => " Not needed to publish, only to propagate.".to_string(),
                (Sure::NotReady, _) => " Not in force: k0rdent does not say that the Credential is ready.".to_string(),
                (Sure::NotRead, _) => " Not in force: k0rdent does not read it for this Credential.".to_string(),
                (Sure::Certain | Sure::IfThere, _) => String::new(),
            };
            let _ = write!(out, "\n{}", comment(2, &format!("{who}: {}.{also}", need.why)));
            let _ = match all {
                Sure::Certain => write!(out, "\n  {}- {grant}", mark(need.sure)),
                _ => write!(out, "\n#@   - {grant}"),
            };
        }
        out
    }
}

const MANAGEMENT: &str = "\
  # Credentials without spec.region are for the management cluster, and are not published. To publish them too, add
  # the management cluster as a region, with `management: true`, a recipient of its own and its delivery.";

const NO_GRANTS: &str = "\
# What Credentials may use although nothing else admits it: one object, or without `to` all that one
# Credential needs. A refused use says which grant would admit it. Today's Credentials need none.
#@ grants: []";

const GRANTS: &str = "\
# What Credentials may use although nothing else admits it, each use as narrow as it can be. In force are
# those that k0rdent makes today; read them, and remove what is not meant to be. What stands behind #@
# is not in force.";

/// The line that says that k0rdent itself distributes nothing to a region.
pub const PUSH_DISABLED: &str = "    # k0rdent itself distributes nothing there.\n    k0rdentPushDisabled: true";

/// One entry of `regions`.
fn entry(name: &Region, region: &DraftRegion) -> String {
    let mut out = format!("  {}:\n", scalar(name.as_str()));
    ties(&region.described, &mut out);
    if region.directory != *name.as_str() {
        let _ = writeln!(out, "    # The region's name cannot name a folder; this one is as near as it gets.");
        let _ = writeln!(out, "    directory: {}", scalar(region.directory.as_str()));
    }
    let _ = writeln!(
        out,
        "{}",
        comment(4, &format!("Who can open the region's bundle. Its secret half is in {}.", region.key_file))
    );
    let _ = writeln!(out, "    recipients:\n      - {}", region.recipient);
    if region.push_disabled {
        let _ = writeln!(out, "{PUSH_DISABLED}");
    }
    let _ = writeln!(out, "    # Whose Credentials may go there: the namespaces that have some for it today.");
    let _ = writeln!(out, "    namespaces:");
    if region.claimants.is_empty() {
        let _ = writeln!(out, "      allowed: []");
    } else {
        let _ = writeln!(out, "      allowed:");
    }
    for (namespace, names) in &region.claimants {
        let _ = writeln!(out, "{}", comment(8, &listed(names)));
        let _ = writeln!(out, "        - {}", scalar(namespace.as_str()));
    }
    if !region.labels.is_empty() {
        let _ = writeln!(
            out,
            "      # What identities select namespaces by, as the management cluster has it; the region should."
        );
        let _ = writeln!(out, "      labels:");
    }
    for (namespace, labels) in &region.labels {
        let labels = Tree::map(labels.iter().map(|(key, value)| (key.as_str(), Tree::text(value.as_str()))));
        let text = emit(&Tree::map([(namespace.as_str(), labels)]));
        for line in text.lines() {
            let _ = writeln!(out, "        {line}");
        }
    }
    out.truncate(out.trim_end().len());
    out
}

/// What describes a region's cluster: the ties, and what is worth knowing of them.
fn ties(described: &DraftTies, out: &mut String) {
    if described.ties.is_empty() {
        return;
    }
    let mut say = |text: &str| _ = writeln!(out, "{}", comment(4, text));
    if !described.is_known {
        say("There is no Region of this cluster, as far as names tell, so no Credential names it today.");
    }
    say("What describes the region's cluster; docs/regions.md says what that decides.");
    if described.ties.iter().any(|tie| !tie.sure) {
        say("What stands behind #@ is a guess by the name alone: remove the mark if it is the same cluster.");
    }
    let others: Vec<String> = described.others.iter().map(|other| other.to_string()).collect();
    if !others.is_empty() {
        say(&format!("The same cluster by its server or its UID: {}.", few(&others, others.len(), MOST_NAMES)));
    }
    let mark = |sure: bool| if sure { "" } else { "#@ " };
    let _ = writeln!(out, "{}    inventory:", mark(described.ties.iter().any(|tie| tie.sure)));
    for tie in &described.ties {
        let _ = writeln!(out, "{}      {}", mark(tie.sure), tie.to.field());
    }
}

fn listed(names: &BTreeSet<Name>) -> String {
    let mut shown: Vec<String> = names.iter().take(MOST_NAMES).map(|name| name.to_string()).collect();
    match names.len().checked_sub(MOST_NAMES) {
        Some(more) if more > 0 => shown.push(format!("{more} more")),
        _ => {}
    }
    format!("{}: {}", if names.len() == 1 { "Credential" } else { "Credentials" }, shown.join(", "))
}

/// A comment line without its line feed. Only printable ASCII stands as it is: nothing else is sure to
/// stay on the line for every reader.
fn comment(column: usize, text: &str) -> String {
    let mut out = " ".repeat(column);
    out.push_str("# ");
    for c in text.chars() {
        if c == ' ' || c.is_ascii_graphic() {
            out.push(c);
        } else {
            out.extend(c.escape_unicode());
        }
    }
    out
}

/// A folder for each region: its name if that can name a folder, else the nearest name that is free.
pub fn directories<'a>(regions: impl Iterator<Item = &'a Region> + Clone) -> BTreeMap<Region, Directory> {
    let plain = |region: &&Region| is_directory(region.as_str());
    let mut taken: BTreeSet<String> = regions.clone().filter(plain).map(|region| region.to_string()).collect();
    let mut directories = BTreeMap::new();
    for region in regions {
        let mut directory = region.to_string();
        if !plain(&region) {
            let start = near(region.as_str());
            directory = start.clone();
            let mut count = 1_usize;
            while taken.contains(&directory) {
                count += 1;
                let end = format!("-{count}");
                let room = 40_usize.saturating_sub(end.len());
                let kept: String = start.chars().take(room).collect();
                directory = format!("{}{end}", kept.trim_end_matches('-'));
            }
            taken.insert(directory.clone());
        }
        directories.insert(region.clone(), Directory::from(directory.as_str()));
    }
    directories
}

fn near(name: &str) -> String {
    let word = |c: char| if c.is_ascii_lowercase() || c.is_ascii_digit() { c } else { '-' };
    let text: String = name.trim_start_matches(|c| word(c) == '-').chars().map(word).take(40).collect();
    match text.trim_matches('-') {
        "" => "region".to_string(),
        text => text.to_string(),
    }
}
