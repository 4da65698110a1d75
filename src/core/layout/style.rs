//! How an object is marked: who writes it, and for which consumer it is annotated.

use crate::config::Delivery;
use crate::destination::Destination;

pub use crate::kinds::{MANAGED_BY, MANAGED_BY_LABEL};

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

/// How a destination's objects are marked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Marks {
    /// For which consumer they are annotated.
    pub style: Style,
    /// Whether they keep the label by which backups of the management cluster choose objects.
    pub backup: bool,
}

impl Marks {
    /// The marks of a destination's objects.
    pub fn of(to: &Destination<'_>) -> Self {
        Self { style: Style::of(to.delivery()), backup: to.region.management }
    }

    /// Those of a region that is not the management cluster.
    pub fn by(style: Style) -> Self {
        Self { style, backup: false }
    }
}
