//! Allowances and selection: what the user lets through, and which regions a run is about.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use crate::config::{Acceptance, RegionState};
use crate::destination::Destination;
use crate::finding::{Class, Code};
use crate::name::{Claimant, Namespace, Region};
use crate::selector::{Selector, Truth};
use crate::world::World;

/// What the user lets through, by region folder or name.
#[derive(Clone, Debug, Default)]
pub struct Allowances {
    /// Acceptances of the brake, from flags and configuration.
    pub accepted: Vec<Acceptance>,
    /// Regions whose unauthenticated files are replaced.
    pub replace_unsigned: BTreeSet<String>,
    /// Regions whose foreign files are removed.
    pub remove_foreign: BTreeSet<String>,
    /// Regions whose Secrets are all sealed anew, as far as they can be; `all` names every region.
    pub reseal: BTreeSet<String>,
    /// The claimants whose published objects are withdrawn although their claims are broken.
    pub withdraw: BTreeSet<Claimant>,
    /// Whether that is done for all whose claims are broken.
    pub withdraw_broken: bool,
    /// Sources that may now be another cluster or repository: pairs of a region and the accepted identity.
    pub accept_source: BTreeSet<(String, String)>,
    /// Sources that may show these states, although they are not later than those before.
    pub accept_older: BTreeSet<(String, String)>,
}

impl Allowances {
    /// Whether a region's unauthenticated files are replaced.
    pub fn replaces_unsigned(&self, to: &Destination<'_>) -> bool {
        named(&self.replace_unsigned, to)
    }

    /// Whether foreign files in a region's folders are removed.
    pub fn removes_foreign(&self, to: &Destination<'_>) -> bool {
        named(&self.remove_foreign, to)
    }

    /// Whether what is carried over for a claimant because of a finding is withdrawn.
    pub fn withdraws(&self, by: &Claimant, code: Code) -> bool {
        self.asks_to_withdraw(by) || (self.withdraw_broken && code.class() == Class::Broken)
    }

    /// Returns true if a claimant, or what it belongs to, is named to have withdrawn what it has.
    pub fn asks_to_withdraw(&self, by: &Claimant) -> bool {
        by.is_among(&self.withdraw)
    }

    /// Whether a region's Secrets are all to be sealed anew.
    pub fn reseals(&self, to: &Destination<'_>) -> bool {
        self.reseal.contains("all") || named(&self.reseal, to)
    }
}

/// What a limited run refreshes: everything else stays as published, and it removes nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Refresh {
    /// The regions; all if there are none.
    pub regions: BTreeSet<Region>,
    /// The namespaces of the claimants.
    pub namespaces: BTreeSet<Namespace>,
    /// Single claimants. With neither, it is about all of them.
    pub claimants: BTreeSet<Claimant>,
    /// What the labels of a claimant's object have to be besides.
    pub labels: Option<Selector>,
    /// The claimants for which they are, as far as they were read.
    pub labelled: BTreeSet<Claimant>,
}

impl Refresh {
    /// What is retired is removed, which a limited run does not do.
    fn takes_up(&self, to: &Destination<'_>) -> bool {
        let is_named = self.regions.is_empty() || self.regions.contains(&to.region.name);
        is_named && to.region.state != RegionState::Retired
    }

    fn is_open(&self) -> bool {
        self.namespaces.is_empty() && self.claimants.is_empty()
    }

    fn is_about(&self, by: &Claimant) -> bool {
        let is_named = self.is_open() || self.namespaces.contains(by.namespace()) || by.is_among(&self.claimants);
        is_named && (self.labels.is_none() || self.labelled.contains(by))
    }
}

/// Whether a flag named a region, by its name or its folder.
fn named(regions: &BTreeSet<String>, to: &Destination<'_>) -> bool {
    regions.contains(to.region.name.as_str()) || regions.contains(to.directory().as_str())
}

/// Which regions and claims a run is about.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// What is refreshed; none where everything is.
    pub refresh: Option<Refresh>,
    /// The only regions that are looked at, each of them sealed anew as a whole or left alone; none unless the run is a
    /// `rekey`.
    pub rekey: Option<BTreeSet<Region>>,
}

impl Selection {
    /// Whether a region is part of the run at all.
    pub fn takes_up(&self, to: &Destination<'_>) -> bool {
        let is_refreshed = self.refresh.as_ref().is_none_or(|refresh| refresh.takes_up(to));
        is_refreshed && (self.rekey.is_none() || self.rekeys(to))
    }

    /// Whether a claimant's objects are made anew. What is not stays as published, and so does what nobody needs any more.
    pub fn refreshes(&self, by: &Claimant) -> bool {
        self.refresh.as_ref().is_none_or(|refresh| refresh.is_about(by))
    }

    /// Whether a region's claimants are made anew for a part only.
    pub fn is_partial(&self) -> bool {
        self.refresh.as_ref().is_some_and(|refresh| !refresh.is_open() || refresh.labels.is_some())
    }

    /// The same, once what is asked for was read: by then it is known which claimants have the labels.
    #[must_use]
    pub fn read(&self, world: &World<'_>) -> Self {
        let mut read = self.clone();
        if let Some(Refresh { labels: Some(labels), labelled, .. }) = &mut read.refresh {
            let (access, all) = (world.access(), world.facts.asked().iter().map(|asked| &asked.by));
            labelled.extend(all.filter(|by| access.selects(by, labels) == Truth::Yes).cloned());
        }
        read
    }

    /// Whether the run seals a region anew as a whole or leaves it alone.
    pub fn rekeys(&self, to: &Destination<'_>) -> bool {
        self.rekey.as_ref().is_some_and(|regions| regions.contains(&to.region.name))
    }
}
