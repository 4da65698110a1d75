//! ResourceSyncRules of the cluster registry: how they are read, what they match, and what they make of it.
//!
//! The registry's controller copies every object that a rule matches from each cluster whose ClusterFeatures the rule asks
//! for, with the rule's mutations. [`spec`] reads a rule more strictly than an API server does: what is mistyped there
//! would match more than was meant. [`matching`] says whether it matches, [`mutation`] what becomes of the object. Whose
//! objects a rule may take is not known here.
//! <https://github.com/cisco-open/cluster-registry-controller/tree/main/api/v1alpha1>

pub mod content;
pub mod matching;
pub mod mutation;
pub mod pointer;
pub mod seen;
pub mod spec;
#[cfg(test)]
mod tests;
pub mod value;
pub mod words;

pub use mutation::{Made, Mutated};
pub use spec::{Read, Rule, read};
