use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use proptest::prelude::*;

use super::super::{Layout, kustomization};
use super::*;
use crate::config::{Delivery, Flux};
use crate::name::GroupKind;
use crate::testing::yaml;

fn secret(number: usize) -> ObjectKey {
    ObjectKey::secret(format!("team-{}", number % 7).as_str().into(), format!("aws-{number}").as_str().into())
}

fn role(number: usize) -> ObjectKey {
    ObjectKey::new(GroupKind::new("infra.x", "Role"), None, format!("role-{number}").as_str().into())
}

fn keys(count: usize) -> Vec<ObjectKey> {
    let namespaces = (0..count.min(7)).map(|number| ObjectKey::namespace(&format!("team-{number}").as_str().into()));
    (0..count).map(secret).chain(namespaces).collect()
}

fn grown(splits: &Splits, keys: &[ObjectKey], most: usize) -> Splits {
    splits.grown(keys.iter(), Some(most))
}

fn splits(listed: &[&str]) -> Splits {
    once(listed, &[])
}

/// Splits that were others before.
fn once(listed: &[&str], former: &[&str]) -> Splits {
    let leaves = |listed: &[&str]| listed.iter().map(|text| Splits::parse(text).unwrap()).collect();
    Splits::from_leaves(leaves(listed), leaves(former)).unwrap()
}

fn flux() -> Flux {
    Flux {
        namespace: "flux-system".into(),
        source_kind: "GitRepository".into(),
        source_name: "fleet".into(),
        decryption_secret: "sops-age".into(),
        interval: "10m".into(),
        retry_interval: "1m".into(),
        timeout: None,
        wait: false,
        health_checks: Vec::new(),
        service_account: None,
        kube_config: None,
    }
}

#[test]
fn a_leaf_is_split_where_it_passes_the_limit_only() {
    let all = keys(93);
    assert_eq!(grown(Splits::none(), &all, 100), Splits::default());
    assert_eq!(Splits::none().grown(keys(5000).iter(), None), Splits::default());
    let split = grown(Splits::none(), &keys(95), 100);
    // The Namespaces are no part of it any more, so one part is enough.
    assert_eq!(split.listed(), ["core/of-1", "namespaces/of-1"]);
    assert_eq!(grown(Splits::none(), &keys(350), 100).listed(), ["core/of-8", "namespaces/of-1"]);
    let roles: Vec<ObjectKey> = (0..20).map(role).collect();
    assert_eq!(grown(Splits::none(), &roles, 15).listed(), ["role.infra.x/of-2"]);
    // However small the limit.
    assert_eq!(grown(Splits::none(), &keys(300), 1).of(&Leaf::core()), Some(MOST_PARTS));
}

/// Whoever chooses names for it fills one part, and makes none.
#[test]
fn names_make_no_parts() {
    let is_ground = |key: &ObjectKey| number(key, 128) == 0;
    let ground: Vec<ObjectKey> = (0..).map(secret).filter(is_ground).take(21).collect();
    assert_eq!(grown(Splits::none(), &ground, 20).listed(), ["core/of-2", "namespaces/of-1"]);
    let all: Vec<ObjectKey> = keys(60).into_iter().chain(ground).collect();
    assert_eq!(grown(Splits::none(), &all, 20).of(&Leaf::core()), Some(8));
}

#[test]
fn what_is_split_stays_so() {
    let split = grown(Splits::none(), &keys(350), 100);
    assert_eq!(grown(&split, &keys(3), 100), split);
    assert_eq!(split.grown(keys(3000).iter(), None), split);
    assert_eq!(grown(&split, &keys(3), 10_000), split);
}

#[test]
fn known_objects_stand_in_known_parts() {
    let split = splits(&["core/of-8", "namespaces/of-1", "role.infra.x/of-2"]);
    for (key, expect) in [
        (secret(1), "regions/eu/parts/core/of-8/7/secrets/team-1/aws-1.sops.yaml"),
        (ObjectKey::config_map("a".into(), "b".into()), "regions/eu/parts/core/of-8/3/configmaps/a/b.yaml"),
        (ObjectKey::namespace(&"a".into()), "regions/eu/parts/namespaces/of-1/0/a.yaml"),
        (role(1), "regions/eu/parts/role.infra.x/of-2/1/role-1.yaml"),
        (ObjectKey::new(GroupKind::new("y", "Other"), None, "a".into()), "regions/eu/identities/other.y/a.yaml"),
    ] {
        assert_eq!(split.of_object(&"eu".into(), &key).to_string(), expect);
    }
}

proptest! {
    /// What is added moves nothing while the number of parts stays; where it doubles, an object's part is the same or
    /// the one half of all parts further up.
    #[test]
    fn additions_move_nothing_and_doubling_halves(before in 1_usize..400, more in 0_usize..400, most in 20_usize..200) {
        let (small, all) = (keys(before), keys(before + more));
        let old = grown(Splits::none(), &small, most);
        let new = grown(&old, &all, most);
        let (was, is) = (old.of(&Leaf::core()), new.of(&Leaf::core()));
        prop_assert!(was.unwrap_or(1) <= is.unwrap_or(1));
        for key in &small {
            match (old.part(key), new.part(key)) {
                (Some(was), Some(is)) if was.of == is.of => prop_assert_eq!(was, is),
                (Some(was), Some(is)) => prop_assert_eq!(is.number % was.of, was.number),
                (was, is) => prop_assert!(was.is_none() || is.is_some()),
            }
        }
        // There are no more parts than their number needs, and each object has a file of its own.
        let mut parts: BTreeMap<Option<Part>, usize> = BTreeMap::new();
        let mut paths = BTreeSet::new();
        for key in &all {
            *parts.entry(new.part(key)).or_default() += 1;
            let path = new.of_object(&"eu".into(), key);
            prop_assert_eq!(Part::of_path(&"eu".into(), path.as_str()), new.part(key));
            prop_assert!(paths.insert(path));
        }
        let (secrets, full) = (before + more, is.map(|is| usize::try_from(is).unwrap() * most));
        prop_assert!(is == Some(1) || full.is_none_or(|full| full * 3 < secrets * 8));
        prop_assert!(is == Some(MOST_PARTS) || full.is_none_or(|full| full >= secrets));
        // By chance a part is a little above the limit, and never far.
        prop_assert!(parts.values().all(|count| *count <= 2 * most));
        // Neither the order nor what was published before matters to it.
        let mut reversed = all.clone();
        reversed.reverse();
        prop_assert_eq!(grown(&old, &reversed, most), new);
    }
}

#[test]
fn only_our_own_spelling_is_a_part() {
    for good in ["core/of-1", "namespaces/of-256", "role.x/of-2", "secret_2e/of-2"] {
        assert!(Splits::parse(good).is_some(), "{good}");
    }
    for bad in ["core", "core/of-3", "core/of-0", "core/of-512", "core/of-02", "core/of-+2", "emptied/of-2", "../of-2"]
    {
        assert!(Splits::parse(bad).is_none(), "{bad}");
    }
    for bad in ["core/of-4/4/x", "core/of-4/x", "core/of-4/03/x", "a.b/c/of-4/0/x", "of-4/0/x"] {
        assert!(Part::parse(bad).is_none(), "{bad}");
    }
    let both = [(Leaf::core(), 2), (Leaf::namespaces(), 1)];
    assert!(Splits::from_leaves([(Leaf::core(), 2)].into(), Vec::new()).is_none());
    assert!(Splits::from_leaves([(Leaf::namespaces(), 2)].into(), Vec::new()).is_none());
    assert!(Splits::from_leaves(both.clone().into(), [(Leaf::core(), 1)].into()).is_some());
    assert!(Splits::from_leaves(both.clone().into(), [(Leaf::core(), 2)].into()).is_none());
    assert!(Splits::from_leaves(both.into(), [(Leaf::parse("role.x").unwrap(), 1)].into()).is_none());
}

/// What was outgrown is remembered, and what stands there tells of it where no manifest does.
#[test]
fn former_parts_are_remembered() {
    let small = grown(Splits::none(), &keys(95), 100);
    let larger = grown(&small, &keys(350), 100);
    let splits = grown(&larger, &keys(1000), 100);
    assert_eq!(splits.listed(), ["core/of-16", "namespaces/of-1"]);
    assert_eq!(splits.listed_former(), ["core/of-1", "core/of-8"]);
    assert_eq!(grown(&splits, &keys(3), 100), splits);
    let (fleet, directory, delivery) = ("acme".into(), "eu".into(), Delivery::Flux(flux()));
    let layout = Layout {
        fleet: &fleet,
        directory: &directory,
        delivery: &delivery,
        output: "b",
        splits: &splits,
        registered: None,
    };
    let files = layout.files(&BTreeSet::new(), &BTreeSet::new());
    assert_eq!(Splits::supposed(&directory, files.keys().map(BundlePath::as_str)), splits);
    let text = |field: &str, listed: Vec<String>| format!("{field}:\n- {}\n", listed.join("\n- "));
    let text = format!(
        "fleet: acme\n{}kind: Bundle\n{}recipients: []\n",
        text("formerParts", splits.listed_former()),
        text("parts", splits.listed())
    );
    assert_eq!(Splits::told(&text), Some(splits));
    assert_eq!(Splits::told("fleet: acme\nkind: Bundle\n"), Some(Splits::default()));
}

/// Who applies a leaf as it was published before finds nothing at its old path.
#[test]
fn no_folder_of_a_leaf_outlives_its_splits() {
    let (fleet, directory, delivery) = ("acme".into(), "eu".into(), Delivery::Flux(flux()));
    let all: Vec<ObjectKey> = keys(40).into_iter().chain((0..40).map(role)).collect();
    let mut kept = BTreeSet::new();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for splits in [
        Splits::default(),
        splits(&["role.infra.x/of-2"]),
        splits(&["core/of-2", "namespaces/of-1", "role.infra.x/of-2"]),
        once(
            &["core/of-8", "namespaces/of-2", "role.infra.x/of-4"],
            &["core/of-2", "namespaces/of-1", "role.infra.x/of-2"],
        ),
    ] {
        let layout = Layout {
            fleet: &fleet,
            directory: &directory,
            delivery: &delivery,
            output: "b",
            splits: &splits,
            registered: None,
        };
        let paths = all.iter().map(|key| layout.of_object(key)).collect();
        let files = layout.files(&paths, &kept);
        let applied = |text: &String| {
            let spec = yaml(text)["spec"].take();
            spec["path"].as_str().map(|path| String::from(path.trim_start_matches("./b/")))
        };
        let all_applied: Vec<String> = files
            .iter()
            .filter(|(path, _)| path.as_str().starts_with("flux/"))
            .filter_map(|(_, text)| applied(text))
            .collect();
        let folders: BTreeSet<String> = all_applied.iter().cloned().collect();
        // Each applied folder can be built, and no object is in two of them.
        for folder in &folders {
            assert!(files.keys().any(|path| path.as_str() == format!("{folder}/{}", kustomization::FILE)), "{folder}");
        }
        for path in &paths {
            let homes = folders.iter().filter(|folder| path.as_str().starts_with(&format!("{folder}/")));
            assert_eq!(homes.count(), 1, "{path}");
        }
        // What was applied before is applied still, with the same objects, or is gone and nothing stands there.
        for before in seen.difference(&folders) {
            let inside = |path: &BundlePath| path.as_str().starts_with(&format!("{before}/"));
            assert!(!files.keys().chain(&paths).any(inside), "{before}");
        }
        seen.extend(folders.into_iter().filter(|folder| !folder.ends_with("/emptied")));
        kept = layout.kept(files.keys().map(BundlePath::as_str));
    }
    assert!(seen.contains("regions/eu/core") && seen.contains("regions/eu/parts/core/of-2/0"));
}

/// Whatever held an object before waits until all who hold it now have applied it.
#[test]
fn what_is_emptied_waits_for_what_is_filled() {
    let (fleet, directory, delivery) = ("acme".into(), "eu".into(), Delivery::Flux(flux()));
    let splits = once(&["core/of-2", "namespaces/of-2", "role.infra.x/of-2"], &["core/of-1", "role.infra.x/of-1"]);
    let layout = Layout {
        fleet: &fleet,
        directory: &directory,
        delivery: &delivery,
        output: "b",
        splits: &splits,
        registered: None,
    };
    let files = layout.files(&BTreeSet::new(), &BTreeSet::new());
    let waits = |file: &str| -> Vec<String> {
        let spec = yaml(&files[&BundlePath::parse(&format!("flux/eu/{file}.yaml")).unwrap()])["spec"].take();
        let waits = spec["dependsOn"].as_array().into_iter().flatten();
        let told = spec["path"].as_str().unwrap_or_default().trim_start_matches("./b/regions/eu/");
        let names = waits.map(|wait| wait["name"].as_str().unwrap_or_default().to_string());
        [told.to_string()].into_iter().chain(names).collect()
    };
    let core = ["eu-core-0-of-2", "eu-core-1-of-2"];
    let roles = ["eu-role.infra.x-0-of-2", "eu-role.infra.x-1-of-2"];
    let namespaces = ["eu-namespaces-0-of-2", "eu-namespaces-1-of-2"];
    assert_eq!(waits("parts/namespaces/of-2/1"), ["parts/namespaces/of-2/1"]);
    assert_eq!(waits("parts/core/of-2/1"), [["parts/core/of-2/1"].as_slice(), &namespaces].concat());
    assert_eq!(waits("core"), [["parts/emptied"].as_slice(), &core].concat());
    assert_eq!(waits("parts/core/of-1/0"), [["parts/emptied"].as_slice(), &core].concat());
    assert_eq!(waits("parts/role.infra.x/of-2/0"), [["parts/role.infra.x/of-2/0"].as_slice(), &core].concat());
    assert_eq!(waits("role.infra.x"), [["parts/emptied"].as_slice(), &roles].concat());
    assert_eq!(waits("parts/role.infra.x/of-1/0"), [["parts/emptied"].as_slice(), &roles].concat());
}
