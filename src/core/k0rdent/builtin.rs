//! Built-in ProviderInterfaces.

/// A k0rdent release whose built-in ProviderInterfaces are known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Release {
    /// The minor version: 11 for v1.11.
    pub minor: u8,
}
