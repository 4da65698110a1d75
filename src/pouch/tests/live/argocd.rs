//! Regions that Argo CD brings what pouch publishes: the real repo-server builds the emitted Application's folder, the
//! real application controller applies it.

mod cluster;
mod finalizer;
pub mod ksops;
mod plugin;
mod registry;
mod retry;
mod signed;

use crate::delivered::{Delivered, aws, odd, shows, shows_nothing};
use crate::exchange::exchange;
use crate::opened::opened_and_shut;
use crate::rig::argocd::{ArgoCd, Said};

/// The Application that pouch writes for the region.
const APPLICATION: &str = "acme-eu";

/// Applies the Application as pouch emitted it.
fn follow(region: &Delivered) {
    let text = region.origin().git(&["show", "main:bundles/argocd/eu/application.yaml"]);
    region.server.apply(&text);
}

/// Syncs to what stands in the branch, which must succeed.
#[track_caller]
fn synced(region: &Delivered, argo: &ArgoCd) {
    let said = sync(region, argo);
    assert!(said.sync == "Synced" && said.conditions.is_empty(), "{said:#?}");
}

#[track_caller]
fn sync(region: &Delivered, argo: &ArgoCd) -> Said {
    argo.sync(APPLICATION, &region.origin().tip().expect("a commit"))
}

/// Argo CD prunes in the course of the same sync: last, because the Application says so.
#[test]
fn an_identity_never_names_a_secret_that_is_gone() {
    let Some(mut region) = Delivered::new("argocd", "") else { return };
    // What stays, so that the region is never one Credential.
    region.put(&aws("aws", 1));
    region.put(&odd("odd", 1));
    region.publish();
    let Some(argo) = ArgoCd::start(&region.server, Delivered::collections(), &plugin::builds(&region)) else { return };
    follow(&region);
    exchange(&mut region, &|region| synced(region, &argo), true);
    opened_and_shut(&mut region, &|region| synced(region, &argo));
}

/// Nothing that was in a Secret stands in a log, or in redis but for the manifests themselves, which Argo CD keeps in clear
/// (`docs/operations`). That they are found shows that the search finds.
fn no_value_in_sight(argo: &ArgoCd) {
    shows_nothing("Argo CD's log", &argo.log());
    let (manifests, others): (Vec<_>, Vec<_>) =
        argo.cached().into_iter().partition(|(key, _)| key.starts_with("mfst|"));
    assert!(others.len() > 1, "{} keys", others.len());
    for (key, value) in &others {
        shows_nothing(key, &String::from_utf8_lossy(value));
    }
    let found = manifests.iter().filter(|(_, value)| shows(&String::from_utf8_lossy(value))).count();
    assert!(found > 0, "nothing is found in {} keys of manifests either", manifests.len());
}
