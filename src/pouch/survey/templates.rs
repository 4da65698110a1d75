//! Templates: what ManagedResources make is made on all threads.

use pouch_core::claim::Claim;
use pouch_core::config::Fleet;
use pouch_core::made::{self, Templates, Weighed};
use pouch_core::snapshot::Snapshot;
use pouch_core::world::{Facts, World};
use rayon::prelude::*;

use crate::error::Failure;
use crate::harden::wiped;
use crate::session::Session;

/// How many claims a thread renders before it wipes its stack.
const CLAIMS_PER_TASK: usize = 64;

/// Makes what templates make, anew.
///
/// # Errors
/// Where the run should end.
pub fn make((session, fleet): (&Session, &Fleet), snapshot: &mut Snapshot, facts: &Facts) -> Result<(), Failure> {
    if !fleet.names_templates() {
        return Ok(());
    }
    let made = {
        let templates = Templates::of(&World { fleet, snapshot, facts, now: 0 });
        templates.all(made::MOST, |make| {
            let some = |claims: &[&Claim]| -> Result<Vec<Weighed>, Failure> {
                session.stop.check()?;
                Ok(wiped(|| make(claims)))
            };
            let made: Result<Vec<Vec<Weighed>>, Failure> =
                templates.claims.par_chunks(CLAIMS_PER_TASK).map(some).collect();
            Ok::<Vec<Weighed>, Failure>(made?.into_iter().flatten().collect())
        })?
    };
    snapshot.set_made(made);
    Ok(())
}
