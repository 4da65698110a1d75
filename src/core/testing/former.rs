//! Laws of the format before: what is published in it is upgraded by the next run, and nothing is lost by that.

extern crate std;

use alloc::collections::BTreeSet;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde_json::{Value, json};

use super::case::{Scene, of_stage};
use super::stages::{Desk, Wishes, keys, publish};
use super::{node, yaml};
use crate::config::RegionConfig;
use crate::layout::manifest::ManifestObject;
use crate::layout::path;
use crate::name::{Claimant, ObjectKey};
use crate::region::allowances::{Refresh, Selection};
use crate::region::history::{History, Past};
use crate::region::plan::RegionPlan;
use crate::region::published::{Files, Published};
use crate::reuse;
use crate::yaml::emit::{Tree, emit};

/// The files of a region, with the manifest as the format before would write it.
pub(crate) fn as_former(desk: &Desk, region: &RegionConfig, files: &Files) -> Files {
    let at = path::manifest(&region.directory);
    let mut former = files.clone();
    let Some(bytes) = files.get(at.as_str()) else { return former };
    let mut manifest = yaml(core::str::from_utf8(bytes).unwrap());
    manifest["apiVersion"] = json!("pouch/v1alpha1");
    let plain = |recipients: &mut Value| {
        for recipient in recipients.as_array_mut().into_iter().flatten() {
            *recipient = recipient["key"].clone();
        }
    };
    plain(&mut manifest["recipients"]);
    manifest.as_object_mut().unwrap().remove("restsOn");
    for object in manifest["objects"].as_array_mut().unwrap() {
        // It did not say in which file something was.
        if let Some(from) = object.get_mut("from").and_then(Value::as_object_mut) {
            from.retain(|field, _| field != "path" && field != "source");
        }
        if let Some(recipients) = object.get_mut("recipients") {
            plain(recipients);
        }
        for needed in object["neededBy"].as_array_mut().unwrap() {
            *needed = words(needed);
        }
    }
    let rest = emit(&Tree::of(&node(&manifest))).to_string();
    let tag = reuse::manifest_line(keys().current().unwrap(), &desk.fleet.name, &region.directory, rest.as_bytes());
    former.insert(at.as_str().to_string(), (tag + &rest).into_bytes());
    former
}

/// What the format before wrote of who needs an object: one name, and words for whatever is no field.
fn words(needed: &Value) -> Value {
    let by = &needed["by"];
    let text = |field: &str| by[field].as_str().map(String::from);
    let name = match text("rule") {
        Some(rule) => by["object"]["name"].as_str().map_or(rule.clone(), |object| format!("{rule}:{object}")),
        None => ["name", "template", "group"].iter().find_map(|field| text(field)).unwrap(),
    };
    let said = |step: &Value| match step.get("field") {
        Some(_) => step.clone(),
        None => json!({"field": format!("words of {step}")}),
    };
    // It did not say what hands out a Credential, or takes an object to a region.
    let is_said = |step: &&Value| by["kind"] != "ResourceSyncRule" && step.get("accessRule").is_none();
    let steps = needed["through"].as_array().unwrap().iter().filter(is_said);
    json!({"kind": by["kind"], "namespace": by["namespace"], "name": name, "via": steps.map(said).collect::<Vec<_>>()})
}

fn examine(desk: &Desk, region: &RegionConfig, files: &Files) -> Published {
    Published::examine(&desk.fleet.name, &region.directory, files.clone(), &keys())
}

fn objects(desk: &Desk, region: &RegionConfig, files: &Files) -> Vec<ManifestObject> {
    examine(desk, region, files).manifest().map(|manifest| manifest.objects.clone()).unwrap_or_default()
}

fn first(desk: &Desk, region: &RegionConfig) -> Files {
    let nothing = Published::nothing();
    let (plan, _) = desk.plan(region, &nothing, &Wishes::default());
    publish(desk, region, plan, &nothing)
}

/// Acts on each region of some scenes in which something is published.
fn each(scenes: impl Iterator<Item = Scene>, mut act: impl FnMut(&Desk, &RegionConfig, &Files)) {
    for scene in scenes {
        let desk = Desk::new(&scene);
        for region in desk.fleet.regions.values() {
            let files = first(&desk, region);
            if files.contains_key(path::manifest(&region.directory).as_str()) {
                act(&desk, region, &files);
            }
        }
    }
}

/// The first states of all cases.
fn scenes() -> impl Iterator<Item = Scene> {
    of_stage("region").into_iter().filter_map(|case| case.worlds.into_iter().next())
}

fn is_quiet(plan: &RegionPlan) -> bool {
    plan.holds.is_empty() && plan.withheld.is_empty() && plan.changes.is_empty()
}

/// The next run of the same sources changes the manifest alone, and counts no loss; each kind of claimant is among them.
#[test]
fn the_next_run_writes_the_format_of_now_and_nothing_else() {
    let (mut kinds, mut count) = (BTreeSet::new(), 0);
    each(scenes(), |desk, region, files| {
        let former = as_former(desk, region, files);
        let standing = examine(desk, region, &former);
        assert!(standing.manifest().is_some(), "{}", region.directory);
        let mut history = History::default();
        let now = standing.manifest().unwrap();
        let file = |path: &crate::layout::BundlePath| Ok::<_, ()>(former.get(path.as_str()).cloned());
        history.past = Vec::from([Past::of(now.clone(), Vec::new(), now, file).unwrap()]).into();
        let (plan, _) = desk.plan_after(region, &standing, &history, &Wishes::default());
        let again = {
            let standing = examine(desk, region, files);
            let (plan, _) = desk.plan(region, &standing, &Wishes::default());
            (is_quiet(&plan), publish(desk, region, plan, &standing))
        };
        // What an unchanged run of the format of now says, is said here too.
        assert_eq!((is_quiet(&plan), publish(desk, region, plan, &standing)), again, "{:?}", region.directory);
        let all = objects(desk, region, files).into_iter().flat_map(|object| object.needed_by);
        kinds.extend(all.map(|needed| needed.by.kind().to_string()));
        count += 1;
    });
    let expect = ["Cluster", "ClusterResourceSet", "Credential", "Guest", "ManagedResource", "ResourceSyncRule"];
    assert_eq!(kinds.iter().map(String::as_str).collect::<Vec<_>>(), expect);
    assert!(count > 300, "{count}");
}

/// Whatever happens meanwhile: what goes after an upgrade would have gone without one.
#[test]
fn nothing_goes_for_an_upgrade() {
    let (mut count, mut went) = (0, 0);
    for case in of_stage("region") {
        let [before, after, ..] = &*case.worlds else { continue };
        let (before, after) = (Desk::new(before), Desk::new(after));
        for region in after.fleet.regions.values() {
            let Some(old) = before.fleet.regions.get(&region.name) else { continue };
            let files = first(&before, old);
            if old.directory != region.directory || !files.contains_key(path::manifest(&region.directory).as_str()) {
                continue;
            }
            let gone = |files: &Files| -> BTreeSet<ObjectKey> {
                let standing = examine(&after, region, files);
                let (plan, _) = after.plan(region, &standing, &Wishes::default());
                let is_held = !plan.holds.is_empty();
                let stays: BTreeSet<ObjectKey> = plan.manifest.objects.into_iter().map(|object| object.key).collect();
                let all = objects(&after, region, files).into_iter().map(|object| object.key);
                all.filter(|key| !is_held && !stays.contains(key)).collect()
            };
            let (plain, upgraded) = (gone(&files), gone(&as_former(&before, old, &files)));
            assert!(upgraded.is_subset(&plain), "{}: {upgraded:?}, {plain:?}", case.path.display());
            (count, went) = (count + 1, went + usize::from(!upgraded.is_empty()));
        }
    }
    assert!(count > 300 && went > 30, "{count} {went}");
}

/// A run that is limited to nobody writes the format of now and keeps words as words; the next whole run reads them from nobody.
#[test]
fn a_limited_run_keeps_what_it_cannot_read() {
    let (mut count, mut opaque) = (0, 0);
    each(scenes(), |desk, region, files| {
        let former = as_former(desk, region, files);
        let standing = examine(desk, region, &former);
        let nobody = Refresh {
            claimants: BTreeSet::from([Claimant::credential("nobody".into(), "nobody".into())]),
            ..Refresh::default()
        };
        let (allowances, _) = Wishes::default();
        let wishes = (allowances, Selection { refresh: Some(nobody), ..Selection::default() });
        let (plan, _) = desk.plan(region, &standing, &wishes);
        if !plan.holds.is_empty() {
            return;
        }
        let limited = publish(desk, region, plan, &standing);
        let (was, is) = (objects(desk, region, &former), objects(desk, region, &limited));
        assert_eq!(was, is, "{:?}", region.directory);
        let text = String::from_utf8(limited[path::manifest(&region.directory).as_str()].clone()).unwrap();
        opaque += usize::from(text.contains("- opaque: "));
        let standing = examine(desk, region, &limited);
        let (plan, _) = desk.plan(region, &standing, &Wishes::default());
        let whole = publish(desk, region, plan, &standing);
        let again = {
            let standing = examine(desk, region, files);
            let (plan, _) = desk.plan(region, &standing, &Wishes::default());
            publish(desk, region, plan, &standing)
        };
        assert_eq!(whole, again, "{:?}", region.directory);
        count += 1;
    });
    assert!(count > 300 && opaque > 30, "{count} {opaque}");
}
