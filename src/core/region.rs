//! Region: what becomes of one region, from its claims and what is published of it.
//!
//! - [`published`]: what stands in a region's folders now, and how far it is to be believed; `unsigned`: what there is
//!   where nobody vouches for it.
//! - [`odd`]: what stands there and is no plain file, and what could not be read.
//! - `carry`: what becomes of claimants that have something published; `revoked`: what of it they may no longer have.
//! - [`history`]: what a branch's history says of it.
//! - `packing`: what is wanted against what is published, by the steps of [`ledger`]; `handover`, `home` and `holding` answer
//!   single steps, and `guest_stays` what is asked of groups of guests. `breaks`: claims that would displace something.
//! - `pack`: which objects, with what bytes. `compare`: against what is published. [`brake`]: may it be published?
//!   `sealing`: why a Secret is sealed anew, and which entries change; `values`: whether every value of a region
//!   would be another; `sessions`: who goes on with an old value; `moved`: which leaves are split.
//! - [`rests_on`]: the files in which all of it was read, and what decides of it. `texts`: digests of what takes many
//!   objects; `narrowed`: what goes since such a text changed.
//! - `registered`: the Secret by which Argo CD knows the region's cluster. [`made_for`]: whose a cluster is that several regions
//!   seem to be.
//! - [`plan`]: all of that as one value, the [`RegionPlan`](plan::RegionPlan), of which everything that is shown is a
//!   view.
//! - [`rekey`]: a published bundle's Secrets opened again, and the proof that nothing of the old sealing is left;
//!   `resealing`: the reasons against sealing anew from the sources.

pub mod accounts;
mod alike;
pub mod allowances;
pub mod brake;
mod breaks;
mod carry;
pub mod change;
mod compare;
pub mod content;
mod crowded;
mod delivered;
mod delivery;
pub mod envelope;
mod explain;
pub mod fields;
mod given;
mod guest_stays;
mod guests;
mod handover;
pub mod history;
mod holding;
mod home;
pub mod input;
mod labels;
pub mod ledger;
pub mod made_for;
mod moved;
mod narrowed;
pub mod odd;
mod pack;
mod packing;
pub mod plan;
pub mod privileges;
pub mod published;
mod registered;
pub mod rekey;
pub mod resealing;
pub mod rests_on;
mod revoked;
mod sealing;
mod sessions;
mod siblings;
mod sources;
pub mod standing;
mod texts;
mod unsigned;
mod values;
