//! The flags by which a user lets through what a run otherwise holds.

use std::collections::BTreeSet;

use clap::Args as _;
use pouch_core::config::{Accept, Acceptance, Fleet, is_digest};
use pouch_core::listing::few;
use pouch_core::name::{Claimant, Name, Namespace, Region};
use pouch_core::nearest::suggested;
use pouch_core::region::allowances::Allowances;
use pouch_core::stamp::SourceState;

use crate::error::Failure;
use crate::run::told::Given;
use crate::settings::region_called;

/// The advice for a value that is none.
const COPY: &str = "Copy the flag from the finding's help line.";

/// The heading of these flags in help.
const HEADING: &str = "Accepting what is held";

/// How many sources a message names.
const MOST_NAMED: usize = 8;

/// What a run lets through that is otherwise held.
#[derive(Clone, PartialEq, Eq, Debug, Default, clap::Args)]
#[command(next_help_heading = HEADING)]
pub struct Accepted {
    /// Let withdrawals through, of one namespace or of several of a region, with the digest that the finding printed
    #[arg(long, value_name = "REGION[/NAMESPACE]=DIGEST")]
    accept_deletions: Vec<String>,
    /// Let recipients be added to a published region
    #[arg(long, value_name = "REGION=DIGEST")]
    accept_recipients: Vec<String>,
    /// Let Secrets be sealed anew whose files do not match the manifest, or all values of a region be replaced
    #[arg(long, value_name = "REGION=DIGEST")]
    accept_reseal: Vec<String>,
    /// Let a region be fed by another repository or cluster than before, with the ID that the finding printed
    #[arg(long, value_name = "REGION=ID")]
    accept_source: Vec<String>,
    /// Let a source go back in time, such as after a restore, to the commit or resourceVersion that the message printed
    #[arg(long, value_name = "SOURCE=STATE")]
    accept_older: Vec<String>,
    /// Remove files in a region's folders that pouch did not write
    #[arg(long, value_name = "REGION")]
    remove_foreign: Vec<String>,
}

/// What a run lets through, and what it does anew.
#[derive(Clone, PartialEq, Eq, Debug, Default, clap::Args)]
#[command(next_help_heading = HEADING)]
pub struct Requested {
    /// What is let through.
    #[command(flatten)]
    pub accepted: Accepted,
    /// Write a region from scratch over files that no manifest authenticates, and carry nothing over; where the reuse key
    /// is lost, `pouch rekey --new-reuse-key` is the way
    #[arg(long, value_name = "REGION")]
    replace_unsigned: Vec<String>,
    /// Seal a region's Secrets anew, or those of all
    #[arg(long, value_name = "REGION|all")]
    reseal: Vec<String>,
    /// Withdraw what is carried over for a Credential, for another claimant (cluster/NAMESPACE/NAME, and so
    /// resourcesyncrule, managedresource, clusterresourceset and guest), or for all that are broken
    #[arg(long, value_name = "[KIND/]NAMESPACE/NAME|broken")]
    withdraw: Vec<String>,
}

/// Whether this is one of these flags, as it is typed.
pub fn is_flag(word: &str) -> bool {
    let all = Requested::augment_args(clap::Command::default());
    all.get_arguments().filter_map(clap::Arg::get_long).any(|long| word.strip_prefix("--") == Some(long))
}

impl Requested {
    /// Joins flags and `limits.accept`.
    ///
    /// # Errors
    /// Where a flag has no `=`, or names a region that the configuration does not know.
    pub fn allowances(&self, fleet: &Fleet) -> Result<Allowances, Failure> {
        for region in self.replace_unsigned.iter().chain(self.reseal.iter().filter(|region| *region != "all")) {
            region_called(fleet, region)?;
        }
        Ok(Allowances {
            withdraw: self.withdrawals()?,
            withdraw_broken: self.withdraw.iter().any(|value| value == "broken"),
            replace_unsigned: self.replace_unsigned.iter().cloned().collect(),
            reseal: self.reseal.iter().cloned().collect(),
            ..self.accepted.allowances(fleet)?
        })
    }

    /// What the flags ask for that a run may turn out not to need.
    pub fn given(&self, fleet: &Fleet) -> Result<Given, Failure> {
        let withdraw = self.withdrawals()?.into_iter().map(|by| (in_vain(fleet, &by), by));
        Ok(Given { accepted: self.accepted.of_flags(fleet)?, withdraw: withdraw.map(|(why, by)| (by, why)).collect() })
    }

    /// The Credentials that are named to be withdrawn.
    fn withdrawals(&self) -> Result<BTreeSet<Claimant>, Failure> {
        let named = self.withdraw.iter().filter(|value| *value != "broken");
        let claimant = |value: &String| {
            Claimant::of_path(value).ok_or_else(|| {
                let message = format!(
                    "--withdraw takes NAMESPACE/NAME of a Credential, KIND/NAMESPACE/NAME of another claimant, or `broken`, not {value:?}"
                );
                Failure::usage(message, COPY)
            })
        };
        named.map(claimant).collect()
    }
}

/// What is said where nothing is withdrawn for a claimant that is named for it.
fn in_vain(fleet: &Fleet, by: &Claimant) -> String {
    let path = by.path();
    if let Some(named) = by.group() {
        let Some(group) = fleet.guests.get(named) else {
            let names = fleet.guests.keys().map(Name::as_str);
            let meant = suggested(named.as_str(), names).map(|near| format!(", and one that is called {near}"));
            return format!(
                "the configuration has no group {}{}, and nothing of such a group is carried over",
                by.whole().name(),
                meant.unwrap_or_default()
            );
        };
        if group.namespaces.matches(by.namespace().as_str()) {
            return String::from(
                "nothing of it is carried over. To withdraw what it has, take the entry, the group or the namespace out of `guests` of the \
                 configuration, and publish",
            );
        }
    }
    // Such a word is more likely a kind than a namespace.
    if by.is_credential() && Claimant::of_path(&format!("{}/x/y", by.namespace())).is_some() {
        return format!(
            "it is taken for Credential {} in namespace {}, of which nothing is carried over. Of another claimant write \
             {}/NAMESPACE/{}",
            by.name(),
            by.namespace(),
            by.namespace(),
            by.name()
        );
    }
    format!("`pouch explain {path}` says why")
}

/// The region that a flag's value is for, and the value.
fn pair(flag: &str, value: &str, fleet: &Fleet) -> Result<(String, String), Failure> {
    match value.split_once('=') {
        Some((region, rest)) if !rest.is_empty() => {
            Ok((region_called(fleet, region)?.name.to_string(), rest.to_owned()))
        }
        _ => Err(Failure::usage(format!("{flag} takes REGION=VALUE, as the finding printed it"), COPY)),
    }
}

/// The name of a source that the configuration has.
fn source_called(fleet: &Fleet, name: &str) -> Result<String, Failure> {
    let names: Vec<&str> = fleet.sources.iter().map(|source| source.name.as_str()).collect();
    if names.contains(&name) {
        return Ok(name.to_owned());
    }
    Err(Failure::usage(
        format!("--accept-older names {name:?}, and the configuration has no such source"),
        format!("Correct the name; there are {}.", few(&names, names.len(), MOST_NAMED)),
    ))
}

impl Accepted {
    /// Joins flags and `limits.accept`.
    pub fn allowances(&self, fleet: &Fleet) -> Result<Allowances, Failure> {
        let mut accepted = fleet.limits.accept.clone();
        accepted.extend(self.of_flags(fleet)?);
        let mut accept_source = BTreeSet::new();
        for value in &self.accept_source {
            if value.split_once('=').is_some_and(|(_, state)| SourceState::parse(state).is_some()) {
                let help = format!("Write --accept-older {value}, if {value} is a source and its state.");
                return Err(Failure::usage("--accept-source takes REGION=ID", help));
            }
            accept_source.insert(pair("--accept-source", value, fleet)?);
        }
        let mut accept_older = BTreeSet::new();
        for value in &self.accept_older {
            let Some((source, state)) = value.split_once('=').filter(|(_, state)| SourceState::parse(state).is_some())
            else {
                return Err(Failure::usage("--accept-older takes SOURCE=STATE, as the finding printed it", COPY));
            };
            accept_older.insert((source_called(fleet, source)?, state.to_owned()));
        }
        for region in &self.remove_foreign {
            region_called(fleet, region)?;
        }
        let remove_foreign = self.remove_foreign.iter().cloned().collect();
        Ok(Allowances { accepted, remove_foreign, accept_source, accept_older, ..Allowances::default() })
    }

    /// What flags let through of the brake.
    pub fn of_flags(&self, fleet: &Fleet) -> Result<Vec<Acceptance>, Failure> {
        let mut accepted = Vec::new();
        for (what, values) in [
            (Accept::Deletions, &self.accept_deletions),
            (Accept::Recipients, &self.accept_recipients),
            (Accept::Reseal, &self.accept_reseal),
        ] {
            let flag = what.flag();
            for value in values {
                let (whose, digest) = value.split_once('=').unwrap_or((value, ""));
                let (region, namespace) = match whose.split_once('/').filter(|_| what.is_by_namespace()) {
                    Some((region, namespace)) => (region, Some(Namespace::from(namespace))),
                    None => (whose, None),
                };
                let (region, digest) = pair(flag, &format!("{region}={digest}"), fleet)?;
                if !is_digest(&digest) {
                    return Err(Failure::usage(
                        format!("{flag} takes the 16 hex digits that the finding printed"),
                        COPY,
                    ));
                }
                accepted.push(Acceptance { region: Region::from(region.as_str()), namespace, what, digest });
            }
        }
        Ok(accepted)
    }
}
