//! The world: what all stages of a run share, put together once and borrowed by everything after.
//!
//! [`Facts`] are what the listed objects say together; objects that closures ask for by name add nothing to
//! them. A [`World`] is the configuration, the snapshot and the facts. It knows nothing of closures.

pub mod definition;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use crate::claim::access::{Access, Rules};
use crate::claim::collect::{claims, kept_by};
use crate::claim::deployments::Deployments;
use crate::claim::{Asked, Claim};
use crate::config::Fleet;
use crate::destination::{Address, Destination};
use crate::finding::{Code, Finding};
use crate::k0rdent;
use crate::k0rdent::region::RegionFacts;
use crate::name::{Claimant, GroupKind, Name, Region, Scope};
use crate::object::finding_of;
use crate::snapshot::Snapshot;
use definition::Definitions;

/// What the listed objects of a snapshot say together.
pub struct Facts {
    /// What refers to what.
    pub definitions: Definitions,
    /// Which ClusterDeployments use which Credential.
    pub deployments: Deployments,
    /// What Region objects say, by region.
    pub regions: BTreeMap<Region, RegionFacts>,
    /// Names of Secrets that hold a Region's kubeconfig, in whatever namespace.
    pub kubeconfigs: BTreeSet<Name>,
    rules: Rules,
    /// What every claimant asks for, sorted by claimant.
    asked: Vec<Asked>,
    /// The places in `asked` of a destination's claims.
    by_address: BTreeMap<Address, Vec<usize>>,
}

impl Facts {
    /// Puts together what the snapshot says; the findings say what is wrong with it.
    pub fn gather(fleet: &Fleet, snapshot: &Snapshot) -> (Self, Vec<Finding>) {
        let (definitions, mut findings) = Definitions::collect(fleet, snapshot);
        let (rules, found) = Rules::read(snapshot);
        findings.extend(found);
        let (mut regions, mut kubeconfigs) = (BTreeMap::new(), BTreeSet::new());
        for object in snapshot.all(&GroupKind::new(k0rdent::GROUP, "Region")) {
            // Whatever else is wrong with the object, the names of its Secrets are believed.
            kubeconfigs.extend(k0rdent::region::kubeconfig_secrets(object));
            findings.extend(k0rdent::region::too_long(object).map(|fault| finding_of(&fault, object)));
            match k0rdent::region::read(object) {
                Ok(facts) => _ = regions.insert(Region::new(object.key.name.shared()), facts),
                Err(faults) => findings.extend(faults.iter().map(|fault| finding_of(fault, object))),
            }
        }
        let asked = claims(fleet, snapshot, &rules);
        let mut by_address: BTreeMap<Address, Vec<usize>> = BTreeMap::new();
        for (index, asked) in asked.iter().enumerate() {
            if let Some(claim) = &asked.claim {
                by_address.entry(claim.to.clone()).or_default().push(index);
            }
        }
        let (deployments, found) = Deployments::collect(snapshot);
        findings.extend(found);
        (Self { definitions, deployments, regions, kubeconfigs, rules, asked, by_address }, findings)
    }

    /// What every claimant asks for, sorted by claimant.
    pub fn asked(&self) -> &[Asked] {
        &self.asked
    }

    /// What one claimant asks for, if it is there.
    pub fn asked_by(&self, by: &Claimant) -> Option<&Asked> {
        let index = self.asked.binary_search_by(|asked| asked.by.cmp(by)).ok()?;
        self.asked.get(index)
    }

    /// What is asked for at one destination, sorted by claimant.
    pub fn asked_for(&self, to: &Destination<'_>) -> impl Iterator<Item = &Asked> {
        self.by_address.get(&to.address()).into_iter().flatten().filter_map(|index| self.asked.get(*index))
    }

    /// The claims for regions that are rendered; for a paused region nothing is looked at.
    pub fn rendered(&self, fleet: &Fleet) -> impl Iterator<Item = &Claim> {
        let is_rendered = |claim: &&Claim| Destination::of(fleet, &claim.to).is_some_and(|to| to.region.is_rendered());
        self.asked.iter().filter_map(|asked| asked.claim.as_ref()).filter(is_rendered)
    }
}

/// What all stages after the survey share.
#[derive(Clone, Copy)]
pub struct World<'a> {
    /// The configuration.
    pub fleet: &'a Fleet,
    /// What was read.
    pub snapshot: &'a Snapshot,
    /// What the listed objects of the snapshot say together.
    pub facts: &'a Facts,
    /// When the run is, in seconds since 1970: what has expired by then is told, and nothing published depends on it.
    pub now: i64,
}

impl<'a> World<'a> {
    /// The scope of a kind; none where nobody knows, and the kind is taken as it is written.
    pub fn scope_of(&self, kind: &GroupKind) -> Option<Scope> {
        self.snapshot.scopes.of(kind)
    }

    /// The code that says why what a claimant has published stays although it claims nothing for the region, if it does.
    pub fn kept_by(&self, by: &Claimant) -> Option<Code> {
        kept_by(by, self.facts.asked_by(by), &self.access(), &self.facts.deployments, self.snapshot)
    }

    /// What AccessManagement hands out.
    pub fn access(&self) -> Access<'a> {
        self.facts.rules.in_force(self.fleet, self.snapshot)
    }
}
