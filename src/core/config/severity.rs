//! Severities: how much findings matter where the configuration says so.

use alloc::vec::Vec;

use super::Fleet;
use crate::finding::{Finding, settle};

impl Fleet {
    /// Applies the configuration's severities to findings, and settles what is left.
    pub fn govern(&self, findings: Vec<Finding>) -> Vec<Finding> {
        let governed = findings.into_iter().filter_map(|mut finding| {
            match self.severities.get(&finding.code) {
                None => {}
                Some(None) => return None,
                Some(Some(severity)) => finding.severity = *severity,
            }
            Some(finding)
        });
        settle(governed.collect())
    }
}
