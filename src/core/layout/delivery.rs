//! Delivery: the objects that make a consumer apply a bundle, one file per consumer.

pub mod argocd;
pub mod cluster;
pub mod flux;
