//! Pages: what each says of its making.

use pouch_core::page::Maker;

use crate::session::Session;

/// The time of a run, as pages tell it.
pub struct Now(String);

impl Now {
    /// That of this run.
    pub fn of(session: &Session) -> Self {
        Self(session.time_of_run().to_string())
    }

    /// This program, as it makes a page now.
    pub fn maker(&self) -> Maker<'_> {
        Maker { release: env!("CARGO_PKG_VERSION"), time: &self.0 }
    }
}
