//! k0rdent's own objects, read leniently: releases differ, and unknown fields mean nothing here.

pub mod builtin;
pub mod credential;
pub mod provider_interface;
pub mod region;

/// The API group of k0rdent's kinds.
pub const GROUP: &str = "k0rdent.mirantis.com";

/// The label that k0rdent puts on what it distributes: `"true"` means "mine to overwrite or delete".
pub const MANAGED_LABEL: &str = "k0rdent.mirantis.com/managed";
