//! Regions that Flux brings what pouch publishes: the real source-controller reads the branch over HTTP, the real
//! kustomize-controller decrypts and applies it.

mod finalizer;
mod guests;
mod heeded;
mod hostile;
mod hub;
mod management;
mod open;
mod registry;
mod signed;
mod split;
mod table;
mod takeover;

use serde_json::{Value, json};

use crate::delivered::{Delivered, aws, odd};
use crate::exchange::exchange;
use crate::rig::flux::{Flux, NAMESPACE, Said};

/// Gives a region's Flux the identity that opens its bundle.
fn give_key(region: &Delivered, identity: &str) {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "sops-age", "namespace": NAMESPACE},
        "stringData": {"eu.agekey": identity}});
    region.server.apply(&secret.to_string());
}

/// Flux for a region as `docs/operations` sets it up.
fn set_up(region: &Delivered, flags: &[&str], repository: &Value) -> Option<Flux> {
    let flux = Flux::start(&region.server, flags)?;
    give_key(region, &Delivered::identity());
    flux.follow(&region.url(), "./bundles/flux/eu", repository);
    Some(flux)
}

/// Fails unless everything is applied.
#[track_caller]
fn all_ready(said: &[Said]) {
    assert!(said.len() > 2 && said.iter().all(|said| said.ready), "{said:#?}");
}

/// Secrets and identities are parts of their own, applied one after the other.
#[test]
fn an_identity_never_names_a_secret_that_is_gone() {
    let Some(mut region) = Delivered::new("flux", "") else { return };
    let Some(flux) = set_up(&region, &[], &Value::Null) else { return };
    // What stays, so that the region is never one Credential.
    region.put(&aws("aws", 1));
    region.put(&odd("odd", 1));
    exchange(&mut region, &|_| all_ready(&flux.sync()), false);
}

/// What one of them says, whose name ends so; fails unless it is not ready, and all others are.
#[track_caller]
fn only_fails<'a>(said: &'a [Said], end: &str) -> &'a str {
    let (failed, others): (Vec<&Said>, Vec<&Said>) = said.iter().partition(|said| said.name.contains(end));
    assert!(others.iter().all(|said| said.ready), "{said:#?}");
    assert!(failed.len() == 1 && !failed[0].ready, "{said:#?}");
    &failed[0].message
}
