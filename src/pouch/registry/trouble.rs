//! Why something at a registry could not be done, and what that says of the registry.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many requests in a row may come to nothing at a server before a run asks it nothing any more: the first may be
/// one repository's own trouble.
const ENOUGH: usize = 2;

/// Why something at a registry could not be done. No value of a credential and nothing that a registry says is part of it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct RegistryError {
    /// What is the matter.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl RegistryError {
    pub(super) fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: help.into() }
    }
}

/// How the servers behave that a run asks, whichever region it asks for.
#[derive(Default)]
pub struct Health(Mutex<BTreeMap<String, Server>>);

/// One server.
#[derive(Clone, Copy, Default)]
struct Server {
    /// How many answers were of use.
    answered: usize,
    /// How many requests came to nothing since the last such answer.
    failed: usize,
    /// How many requests are under way.
    under_way: usize,
}

/// A request that is under way, by the answers that the server had given when it began.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Begun(usize);

/// Whether a server is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    /// It is.
    Asked(Begun),
    /// What is under way there will tell.
    Later,
    /// It is given up.
    Never,
}

impl Health {
    /// Begins a request, if the server is asked. What begins must end.
    pub(super) fn begin(&self, server: &str) -> Turn {
        let mut servers = self.servers();
        let known = servers.entry(server.to_owned()).or_default();
        if known.failed < ENOUGH {
            known.under_way += 1;
            return Turn::Asked(Begun(known.answered));
        }
        if known.under_way > 0 { Turn::Later } else { Turn::Never }
    }

    /// Ends a request: with an answer that was of use, or with none. A server that answered others meanwhile is not the
    /// one in trouble.
    pub(super) fn end(&self, server: &str, begun: Begun, is_of_use: bool) {
        let mut servers = self.servers();
        let known = servers.entry(server.to_owned()).or_default();
        known.under_way = known.under_way.saturating_sub(1);
        if is_of_use {
            (known.answered, known.failed) = (known.answered + 1, 0);
        } else if known.answered == begun.0 {
            known.failed += 1;
        }
    }

    fn servers(&self) -> MutexGuard<'_, BTreeMap<String, Server>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_given_up_where_two_in_a_row_come_to_nothing() {
        let health = Health::default();
        let begin = || match health.begin("a") {
            Turn::Asked(begun) => begun,
            turn => panic!("{turn:?}"),
        };
        health.end("a", begin(), false);
        health.end("a", begin(), true);
        health.end("a", begin(), false);
        // Two repositories with trouble of their own, while a third one's answer comes.
        let (one, two, three) = (begin(), begin(), begin());
        health.end("a", three, true);
        health.end("a", one, false);
        health.end("a", two, false);
        // Nobody knows while something is under way.
        let (one, two, three) = (begin(), begin(), begin());
        health.end("a", one, false);
        health.end("a", two, false);
        assert_eq!(health.begin("a"), Turn::Later);
        health.end("a", three, true);
        health.end("a", begin(), false);
        health.end("a", begin(), false);
        assert_eq!(health.begin("a"), Turn::Never);
        assert!(matches!(health.begin("b"), Turn::Asked(_)));
    }
}
