//! How an object is marked: who writes it, and for which consumer it is annotated.

use crate::config::Delivery;

/// The label that says who writes an object.
pub const MANAGED_BY_LABEL: &str = "app.kubernetes.io/managed-by";

/// The value of [`MANAGED_BY_LABEL`].
pub const MANAGED_BY: &str = "pouch";

/// For which consumer objects are annotated.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Style {
    /// For none in particular.
    Plain,
    /// For Flux's kustomize-controller.
    Flux,
    /// For Argo CD.
    ArgoCd,
}

impl Style {
    /// The style of a region's delivery.
    pub fn of(delivery: &Delivery) -> Self {
        match delivery {
            Delivery::None => Style::Plain,
            Delivery::Flux(_) => Style::Flux,
            Delivery::ArgoCd(_) => Style::ArgoCd,
        }
    }
}
