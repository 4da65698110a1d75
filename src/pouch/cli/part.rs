//! The flags by which a run refreshes a part of a fleet and leaves the rest as published.

use std::collections::BTreeSet;

use pouch_core::config::Fleet;
use pouch_core::name::{Claimant, Namespace, is_dns_label, is_dns_subdomain};
use pouch_core::region::allowances::{Refresh, Selection};
use pouch_core::selector::{Selector, UnusableSelector};

use crate::error::Failure;
use crate::settings::region_called;

/// What a run refreshes: everything else stays as published, and nothing is removed.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Limiting the run")]
pub struct Part {
    /// Only these Credentials, by NAMESPACE/NAME, or other objects that bring Secrets, by KIND/NAMESPACE/NAME, such as
    /// guest/team-a/pull; a limited run removes nothing
    #[arg(value_name = "CREDENTIAL", help_heading = None)]
    credentials: Vec<String>,
    /// Only Credentials of this namespace; may be given several times
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Vec<String>,
    /// Only Credentials with these labels, such as `team=a,env in (prod, test)`
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    selector: Option<String>,
    /// Only this region; may be given several times
    #[arg(long, value_name = "REGION")]
    region: Vec<String>,
}

impl Part {
    /// Has the labels of all Credentials read by which some are selected.
    ///
    /// # Errors
    /// Where the selector is none.
    pub fn reads_labels(&self, fleet: &mut Fleet) -> Result<(), Failure> {
        let selector = self.selector.as_deref().map(selector).transpose()?;
        fleet.selects_by = selector.iter().flat_map(Selector::keys).map(str::to_owned).collect();
        Ok(())
    }

    /// The part that is named; everything if nothing is.
    ///
    /// # Errors
    /// Where a region is not configured, a Credential is not `NAMESPACE/NAME`, or a selector is none.
    pub fn selection(&self, fleet: &Fleet) -> Result<Selection, Failure> {
        let mut refresh = Refresh {
            namespaces: self.namespace.iter().map(|name| Namespace::from(name.as_str())).collect(),
            ..Refresh::default()
        };
        for region in &self.region {
            refresh.regions.insert(region_called(fleet, region)?.name.clone());
        }
        refresh.claimants = self.credentials.iter().map(|text| claimant(text)).collect::<Result<BTreeSet<_>, _>>()?;
        refresh.labels = self.selector.as_deref().map(selector).transpose()?;
        let is_whole = refresh == Refresh::default();
        Ok(Selection { refresh: (!is_whole).then_some(refresh), ..Selection::default() })
    }
}

fn selector(text: &str) -> Result<Selector, Failure> {
    let why = match Selector::parse(text) {
        Ok(selector) if !selector.is_empty() => return Ok(selector),
        Ok(_) => "it is empty",
        Err(UnusableSelector::Refused(why) | UnusableSelector::NotUnderstood(why)) => why,
    };
    let help =
        "Write it as for kubectl, such as `team=a`, `env in (prod, test)` or `!old`, with commas between several.";
    Err(Failure::usage(format!("{text:?} is no label selector: {why}"), help))
}

fn claimant(text: &str) -> Result<Claimant, Failure> {
    let is_name =
        |by: &Claimant| !by.is_credential() || (is_dns_label(by.namespace().as_str()) && is_dns_subdomain(&by.name()));
    Claimant::of_path(text).filter(is_name).ok_or_else(|| {
        if !text.contains('/') || text.starts_with(['/', '.']) || text.ends_with('/') {
            let help = "Write NAMESPACE/NAME, such as team-a/aws. A directory to write to is named by `pouch render --output-dir DIR`.";
            return Failure::usage(format!("{text:?} names no Credential"), help);
        }
        let help = "Write NAMESPACE/NAME, such as team-a/aws; of a Cluster cluster/NAMESPACE/NAME, of a ClusterResourceSet clusterresourceset/NAMESPACE/NAME, of a ManagedResource managedresource/NAMESPACE/NAME, of a group of guest clusters guest/NAMESPACE/GROUP, and of one of its entries that with /KIND/NAMESPACE/NAME behind it.";
        Failure::usage(format!("{text:?} names no Credential"), help)
    })
}
