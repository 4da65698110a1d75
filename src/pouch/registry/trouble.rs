//! Why something at a registry could not be done.

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
