//! Shared settings, fields that may be left out, and fields that had another name.

use super::super::super::{Delivery, KeyPlace};
use super::*;
use crate::renamed::KEYS;

#[test]
fn regions_share_settings_and_their_own_win() {
    let shared = "regionDefaults: {namespaces: {allowed: [team-s], labels: {team-a: {env: prod, tier: x}, delivery: {a: b}}}, \
                  k0rdentPushDisabled: true, syncRules: [a], delivery: {flux: {interval: 1h}}}\n";
    let text = edited(
        ALLOWED,
        "    namespaces: {labels: {team-a: {env: test}, delivery: {c: d}}}\n    k0rdentPushDisabled: false\n    syncRules: [b]",
    );
    let fleet = load(&(text + shared)).unwrap();
    let eu = &fleet.regions["eu-west"];
    assert_eq!(eu.namespaces.allowed.patterns(), ["team-s"]);
    let labels = &eu.namespaces.labels["team-a"];
    assert_eq!((labels["env"].as_str(), labels["tier"].as_str()), ("test", "x"));
    assert_eq!(eu.namespaces.labels["delivery"].len(), 2, "only a region's own delivery is a choice");
    assert_eq!((eu.push_disabled, eu.sync_rules.patterns()), (false, &["b".into()][..]));
    let us = &fleet.regions["us-east"];
    assert_eq!(us.namespaces.allowed.patterns(), ["team-a"]);
    assert_eq!((us.push_disabled, us.sync_rules.patterns()), (true, &["a".into()][..]));
    let Delivery::Flux(flux) = &us.delivery else { panic!() };
    assert_eq!(flux.interval, "1h");
}

/// A fault of a shared setting is shown where it stands, once, however many regions have it.
#[test]
fn a_fault_of_a_shared_setting_is_one_fault() {
    let shared = |text: &str| load(&edited("", &format!("regionDefaults: {{{text}}}"))).unwrap_err();
    assert_eq!(
        shared("requireConditions: [Joined, Joined]"),
        "20:37 regionDefaults.requireConditions: region \"eu-west\" is tied to no object that has conditions\n\
         20:46 regionDefaults.requireConditions[1]: the condition is here twice"
    );
    assert_eq!(
        shared("namespaces: {labels: {A: {}}, zebra: 1}"),
        "20:48 regionDefaults.namespaces.zebra: unknown field \"zebra\""
    );
    assert_eq!(shared("zebra: 1"), "20:18 regionDefaults.zebra: unknown field \"zebra\"");
    for own in ["recipients: [a]", "state: bogus", "directory: x", "cluster: []", "inventory: 5", "management: maybe"] {
        let (field, _) = own.split_once(':').unwrap();
        let expect = format!("20:18 regionDefaults.{field}: `{field}` cannot be shared by regions");
        assert_eq!(shared(own), expect);
    }
    assert_eq!(
        shared("detached: true"),
        "20:18 regionDefaults.detached: the field is called `regionDefaults.k0rdentPushDisabled` now"
    );
    // The same name filled in for each region, and one cluster for all.
    assert_eq!(
        shared("delivery: {flux: {sourceRef: {name: \"X-{region}\"}}}"),
        "20:54 regionDefaults.delivery.flux.sourceRef.name: \"X-eu-west\" cannot name an object"
    );
    // Faults of values are shown beside those of fields.
    let both = shared("delivery: {flux: {interval: 1x, zebra: 1}}");
    assert!(both.contains("\"1x\" is not a duration") && both.contains("unknown field \"zebra\""), "{both}");
    // What no region uses lacks nothing.
    let unused = edited("", "regionDefaults: {delivery: {argocd: {project: x}, flux: {}}}");
    let unused = unused.replace("      allowed: [team-a]", "      allowed: [team-a]\n    delivery: none");
    assert!(load(&unused.replace(ALLOWED, &format!("{ALLOWED}\n    delivery: flux"))).is_ok());
}

/// A region may add what a shared map lacks, and choose a consumer by an empty key.
#[test]
fn a_region_completes_what_is_shared() {
    let with = |own: &str, shared: &str| {
        let text = edited(ALLOWED, &format!("{ALLOWED}\n    delivery: {own}"));
        let text = text.replace("      allowed: [team-a]", "      allowed: [team-a]\n    delivery: none");
        load(&(text + &format!("regionDefaults: {{delivery: {shared}}}\n")))
            .map(|fleet| fleet.regions["eu-west"].delivery.clone())
    };
    let own = "{flux: {kubeConfig: {secretRef: k1}}}";
    let Ok(Delivery::Flux(flux)) = with(own, "{flux: {interval: 1h, kubeConfig: {key: v}}}") else { panic!() };
    assert_eq!((flux.interval.as_str(), flux.kube_config), ("1h", Some(("k1".into(), Some("v".into())))));
    let error = with("{flux: {}}", "{flux: {kubeConfig: {key: v}}}").unwrap_err();
    assert!(error.contains("regions.eu-west.delivery.flux.kubeConfig.secretRef: the field is missing"), "{error}");
    let Ok(Delivery::Flux(flux)) = with("{flux: }", "{flux: {interval: 1h}, argocd: {}}") else { panic!() };
    assert_eq!(flux.interval, "1h");
    // Only a delivery is chosen by a word.
    let argo = "{argocd: {repoURL: \"https://x/y\", destination: {server: \"https://c\"}}}";
    let error = with("{argocd: {destination: server}}", argo).unwrap_err();
    assert!(error.contains("the value is text; it must be a map"), "{error}");
}

#[test]
fn what_no_region_says_is_missing_in_the_region() {
    let text = edited(ALLOWED, "    namespaces: {labels: {}}");
    assert_eq!(load(&text).unwrap_err(), "11:5 regions.eu-west.namespaces.allowed: the field is missing");
    assert!(load(&(text + "regionDefaults: {namespaces: {allowed: [a]}}\n")).is_ok());
}

#[test]
fn the_kind_and_the_place_of_the_reuse_key_may_be_left_out() {
    let text = edited(KEY, "").replace("kind: Fleet\n", "");
    let fleet = load(&text).unwrap();
    assert_eq!(fleet.reuse_key.current, KeyPlace::Env("POUCH_REUSE_KEY".into()));
    let with = |typed: &str| load(&edited(KEY, typed)).unwrap_err();
    assert_eq!(with("reuseKey: {}"), "19:1 reuseKey: nothing says where the key is");
}

/// All of them at once, and beside other faults.
#[test]
fn a_field_that_had_another_name_is_answered_with_the_new_one() {
    for renamed in KEYS {
        let typed = |name: &str| {
            let steps = name.replace('*', "x");
            let steps: Vec<&str> = steps.split('.').collect();
            let value = steps.iter().rev().fold(String::from("1"), |below, step| format!("{{{step}: {below}}}"));
            match shape::read(&value) {
                Err(shape::Unfit::Misshapen(_, errors)) => errors,
                other => panic!("{other:?}"),
            }
        };
        let found = typed(renamed.old);
        let old = renamed.old.replace('*', "x");
        let error = found.iter().find(|error| error.field.to_string() == old).unwrap_or_else(|| panic!("{old}"));
        let field = renamed.new.rsplit('.').next().unwrap();
        assert!(error.message.contains("the field is ") && error.message.contains(field), "{error}");
        // The new one is a field: whatever else is wrong, it is not unknown.
        let new = renamed.new.replace('*', "x");
        let known = typed(renamed.new)
            .iter()
            .all(|error| error.field.to_string() != new || !error.message.contains("unknown field"));
        assert!(known, "{new}");
    }
    let text = edited("", "keep: {}\nzebra: 1\nregions.eu: 1")
        .replace("    namespaces:", "    gate: [a]\n    detached: true\n    namespaces:");
    let errors = load(&text).unwrap_err();
    for expect in [
        "`regions.eu-west.requireConditions` now",
        "`regions.us-east.k0rdentPushDisabled` now",
        "`keepMetadata` now",
        "unknown field \"zebra\"",
    ] {
        assert!(errors.contains(expect), "{errors}");
    }
    assert_eq!(errors.matches("is called").count(), 5, "{errors}");
}
