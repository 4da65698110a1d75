//! Cluster API identity kinds: one file per provider.
use crate::name::GroupKind;
use crate::scope::Scope;

/// Facts about one kind.
pub struct KindRules {
    /// Its scope.
    pub scope: Scope,
}

/// The rules of a built-in identity kind.
pub fn rules(_kind: &GroupKind) -> Option<&'static KindRules> {
    None
}
