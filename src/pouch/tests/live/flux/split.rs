//! Leaves that are split, and split again, under a running Flux: every object stays the one that it is.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{all_ready, set_up};
use crate::delivered::{Delivered, aws, shows_nothing};
use crate::rig::flux::{Flux, Said};

/// As many Credentials, each with an identity, a Secret and a ConfigMap.
const CREDENTIALS: usize = 14;

#[test]
fn nothing_is_deleted_where_leaves_are_split() {
    let Some(mut region) = Delivered::new("flux", "") else { return };
    let Some(flux) = set_up(&region, &[], &Value::Null) else { return };
    for number in 0..CREDENTIALS {
        region.put(&aws(&format!("aws-{number}"), 1));
    }
    region.publish();
    all_ready(&flux.sync());
    region.is_exact();
    let before = region.uids();
    assert_eq!(before.len(), 3 * CREDENTIALS);

    split(&region, &flux, &before);
    doubled_behind_the_back(&region, &flux, &before);
    rotation_and_removal(&mut region, &flux);
    several_commits_at_once(&mut region, &flux);
    what_holds_it(&region, &flux);
    shows_nothing("Flux's log", &flux.log());
}

/// Has leaves hold at most so many objects from now on.
fn limited(region: &Delivered, most: usize) {
    let text = region.fleet.read("pouch.yaml");
    let (start, rest) = text.split_once("limits: {").unwrap();
    let rest = rest.split_once("deletions").unwrap().1;
    region.fleet.write("pouch.yaml", format!("{start}limits: {{objectsPerLeaf: {most}, deletions{rest}"));
}

/// The folders that the region's Kustomizations apply, by name.
fn applied(flux: &Flux) -> BTreeMap<String, String> {
    let all = flux.kustomizations();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    all.iter().map(|one| (text(&one["metadata"]["name"]), text(&one["spec"]["path"]))).collect()
}

/// Whose an object is, by Flux.
fn owner(region: &Delivered, secret: &str) -> String {
    let object = region.get(&format!("/api/v1/namespaces/kcm-system/secrets/{secret}"));
    object["metadata"]["labels"]["kustomize.toolkit.fluxcd.io/name"].as_str().unwrap_or_default().to_owned()
}

/// All in one commit.
fn split(region: &Delivered, flux: &Flux, before: &BTreeMap<String, String>) {
    limited(region, 13);
    region.publish();
    all_ready(&flux.sync());
    region.is_exact();
    assert_eq!(region.uids(), *before);
    let applied = applied(flux);
    assert_eq!(applied["eu-core"], "./bundles/regions/eu/parts/emptied");
    assert_eq!(applied["eu-core-3-of-4"], "./bundles/regions/eu/parts/core/of-4/3");
    assert_eq!(applied["eu-namespaces-0-of-1"], "./bundles/regions/eu/parts/namespaces/of-1/0");
    assert!(owner(region, "aws-1-secret").starts_with("eu-core-") && owner(region, "aws-1-secret").ends_with("-of-4"));
    region.verify_live(&[]).ends(0);
    region.verify().ends(0);
}

/// Flux sees the commit before it has new orders: its objects are where nobody looks for them, and it says so.
fn doubled_behind_the_back(region: &Delivered, flux: &Flux, before: &BTreeMap<String, String>) {
    flux.edit("bundle", &json!({"suspend": true}));
    limited(region, 8);
    region.publish();
    assert!(flux.fetch().ready);
    for _ in 0..2 {
        let said: Vec<Said> = flux.reconcile();
        let lost: Vec<&Said> = said.iter().filter(|said| said.message.contains("path not found")).collect();
        assert_eq!(lost.len(), 4, "{said:#?}");
        region.is_exact();
        assert_eq!(region.uids(), *before);
    }
    flux.edit("bundle", &json!({"suspend": false}));
    all_ready(&flux.sync());
    region.is_exact();
    assert_eq!(region.uids(), *before);
    assert!(owner(region, "aws-1-secret").ends_with("-of-8"), "{}", owner(region, "aws-1-secret"));
    assert_eq!(applied(flux)["eu-core-3-of-4"], "./bundles/regions/eu/parts/emptied");
    region.verify_live(&[]).ends(0);
}

/// What goes on afterwards is what goes on in any region.
fn rotation_and_removal(region: &mut Delivered, flux: &Flux) {
    region.put(&aws("aws-1", 2));
    region.publish();
    all_ready(&flux.sync());
    region.is_exact();
    region.take(&aws("aws-2", 1));
    region.put(&aws("aws-new", 1));
    region.publish();
    all_ready(&flux.sync());
    region.is_exact();
    region.verify_live(&[]).ends(0);
}

/// A Flux that was away sees only the last of several doublings, and a removal with it.
fn several_commits_at_once(region: &mut Delivered, flux: &Flux) {
    let mut before = region.uids();
    limited(region, 4);
    region.publish();
    limited(region, 2);
    region.take(&aws("aws-3", 1));
    region.publish();
    all_ready(&flux.sync());
    region.is_exact();
    before.retain(|key, _| !is_of(key, "aws-3"));
    assert_eq!(region.uids(), before);
}

fn is_of(key: &str, name: &str) -> bool {
    let own = key.rsplit('/').next().unwrap_or_default();
    [name.to_owned(), format!("{name}-secret"), format!("{name}-resource-template")].iter().any(|known| known == own)
}

/// Without waiting for those who hold the objects now, who held them before deletes them: this test would see it.
fn what_holds_it(region: &Delivered, flux: &Flux) {
    let before = region.uids();
    let held = owner(region, "aws-1-secret");
    flux.edit("bundle", &json!({"suspend": true}));
    flux.edit(&held, &json!({"dependsOn": null, "path": "./bundles/regions/eu/parts/emptied"}));
    flux.reconcile();
    assert!(!region.differences().is_empty());
    flux.edit("bundle", &json!({"suspend": false}));
    all_ready(&flux.sync());
    region.is_exact();
    assert_ne!(region.uids(), before);
}
