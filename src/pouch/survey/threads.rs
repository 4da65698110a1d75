//! Threads: all of them make objects of documents.

use pouch_core::snapshot::{Admitted, Hands, Looked, Standing};
use rayon::prelude::*;

use crate::harden::wiped;

/// How many documents a thread makes objects of before it wipes its stack.
const DOCUMENTS_PER_TASK: usize = 1024;

/// All threads, which make objects of documents.
pub(super) struct Threads;

impl Hands for Threads {
    fn look<'d>(
        &self,
        documents: &'d [Standing],
        look: &(dyn Fn(&'d [Standing]) -> Looked<'d> + Sync),
    ) -> Vec<Looked<'d>> {
        documents.par_chunks(DOCUMENTS_PER_TASK).map(look).collect()
    }

    fn weigh(&self, documents: Vec<Standing>, weigh: &(dyn Fn(Standing) -> Admitted + Sync)) -> Vec<Vec<Admitted>> {
        let parts = documents.into_par_iter().chunks(DOCUMENTS_PER_TASK);
        parts.map(|part| wiped(|| part.into_iter().map(weigh).collect())).collect()
    }
}
