//! The brake over several runs: what it holds once stays held until somebody accepts it.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::{Scene, key};
use crate::deliver::inventory::{Brought, Needed};
use crate::deliver::release::after;
use crate::deliver::{Live, Meta};
use crate::region::accounts::Whose;

/// Names of objects.
fn names(of: &str, count: usize) -> Vec<String> {
    (0..count).map(|n| format!("Secret n/{of}{n:02}")).collect()
}

fn meta() -> Meta {
    let Live::Here(meta) = super::live("1 applied") else { panic!("it is there") };
    meta
}

/// Runs once over what is there, and returns whether something was held, and how many were taken away.
///
/// Objects that the region refuses are not made.
fn run(scene: &mut Scene, objects: &[String], refused: usize) -> (bool, usize) {
    let texts: Vec<&str> = objects.iter().map(String::as_str).collect();
    let mut next = Scene::new(&texts, &[], &[]);
    next.inventory = scene.inventory.clone();
    // What nobody asked for is absent.
    let asked = objects.iter().map(|object| key(object.split(" for ").next().unwrap()));
    let asked = asked.chain(scene.inventory.objects.keys().cloned());
    next.live = asked.map(|key| (key.clone(), scene.live.get(&key).cloned().unwrap_or(Live::Absent))).collect();
    next.accepted = scene.accepted.clone();
    let (kept, gone, held) = next.decide(|bundle, plan| {
        let gone: BTreeSet<_> = plan.going().map(|goner| goner.key.clone()).collect();
        let made = plan.send.iter().flatten().skip(refused).map(|sending| sending.key.clone());
        let sent: BTreeMap<_, String> = made.map(|key| (key, String::from("1"))).collect();
        let kept = after(bundle, plan, &sent, &gone, &BTreeSet::new());
        for key in sent.keys() {
            let uid = format!("u{}", scene.live.len());
            let meta = Meta { uid, ..meta() };
            scene.live.entry(key.clone()).or_insert(Live::Here(meta));
        }
        (kept, gone, plan.held.is_some())
    });
    scene.inventory = kept;
    gone.iter().for_each(|key| _ = scene.live.remove(key));
    (held, gone.len())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// What is added to the bundle or the inventory, refused or not, never lets a held set go.
    #[test]
    fn additions_let_nothing_go(
        kept in 0..12_usize,
        left in 1..12_usize,
        additions in proptest::collection::vec((0..40_usize, 0..40_usize, 0..5_usize, any::<bool>()), 1..5),
        together in any::<bool>(),
    ) {
        let (stay, leave) = (names("stay", kept), names("leave", left));
        let mut scene = Scene::new(&[], &[], &[]);
        let mut objects = [stay.clone(), leave].concat();
        prop_assert_eq!(run(&mut scene, &objects, 0), (false, 0));
        objects = stay;
        // Whether the brake alone would hold it, without anything that is added.
        let mut alone = Scene::new(&[], &[], &[]);
        (alone.inventory, alone.live) = (scene.inventory.clone(), scene.live.clone());
        let (is_held, _) = run(&mut alone, &objects, 0);
        if !together {
            run(&mut scene, &objects, 0);
        }
        for (round, (more, lines, refused, is_marked)) in additions.into_iter().enumerate() {
            objects.extend(names(&format!("more{round}-"), more));
            let mark = is_marked.then(|| String::from("0123456789abcdef"));
            for line in names(&format!("line{round}-"), lines) {
                scene.inventory.objects.insert(key(&line), Brought { mark: mark.clone(), ..Brought::default() });
            }
            let (held, gone) = run(&mut scene, &objects, refused);
            if is_held {
                prop_assert!(held && gone == 0, "{gone} went");
            }
        }
    }
}

#[test]
fn what_is_held_goes_when_it_is_accepted_and_only_then() {
    let (stay, leave) = (names("stay", 2), names("leave", 6));
    let mut scene = Scene::new(&[], &[], &[]);
    run(&mut scene, &[stay.clone(), leave.clone()].concat(), 0);
    assert_eq!(run(&mut scene, &stay, 0), (true, 0));
    let held = BTreeSet::from([Whose::Anybody]);
    assert_eq!(scene.inventory.held, held);
    let more = [stay.clone(), names("more", 40)].concat();
    assert_eq!(run(&mut scene, &more, 0), (true, 0));
    scene.accepted.insert(digest(&scene, &more));
    assert_eq!(run(&mut scene, &more, 0), (false, 6));
    assert!(scene.inventory.held.is_empty());
    // Made anew, the same objects of the same content are others, and the acceptance is spent.
    assert_eq!(run(&mut scene, &[more.clone(), leave].concat(), 0), (false, 0));
    scene.inventory.held = held;
    assert_eq!(run(&mut scene, &more, 0), (true, 0));
}

/// What would let it through.
fn digest(scene: &Scene, objects: &[String]) -> String {
    let texts: Vec<&str> = objects.iter().map(String::as_str).collect();
    let mut next = Scene::new(&texts, &[], &[]);
    (next.inventory, next.live) = (scene.inventory.clone(), scene.live.clone());
    next.decide(|_, plan| plan.held.clone()).unwrap().lifted_by.unwrap().digest
}

/// Of each claimant that the inventory knows, all objects count once; what he exchanges does not; and what of one kind in a
/// namespace is beyond its budget holds nothing of another.
#[test]
fn claimants_are_counted_as_the_inventory_notes_them() {
    let of = |name: &str, objects: &[&str]| -> Vec<String> {
        objects.iter().map(|object| format!("Secret n/{name}-{object} for {name}")).collect()
    };
    let all = |names: &[&str]| -> Vec<String> { names.iter().flat_map(|name| of(name, &["a", "b", "c"])).collect() };
    let mut scene = Scene::new(&[], &[], &[]);
    run(&mut scene, &all(&["x", "y", "z"]), 0);
    let noted = |scene: &Scene| {
        scene.inventory.objects.values().filter(|brought| brought.needed.claimants().count() == 1).count()
    };
    assert_eq!(noted(&scene), 9);
    // One of three goes with all that it has, and of another what it exchanges.
    let exchanged = [of("x", &["a", "b", "d"]), of("y", &["a", "b", "c"])].concat();
    assert_eq!(run(&mut scene, &exchanged, 0), (false, 4));
    // Of the two that are left one may go, and not both, whatever comes beside.
    let mut both = Scene::new(&[], &[], &[]);
    (both.inventory, both.live) = (scene.inventory.clone(), scene.live.clone());
    assert_eq!(run(&mut both, &all(&["k"]), 0), (true, 0));
    assert_eq!(run(&mut both, &all(&["k", "l", "m", "n", "o", "p", "q", "r", "s", "t"]), 0), (true, 0));
    assert_eq!(run(&mut scene, &of("y", &["a", "b", "c"]), 0), (false, 3));
}

/// What an older pouch brought is counted object by object until it is brought again.
#[test]
fn what_an_older_inventory_brought_counts_by_object() {
    let mut scene = Scene::new(&[], &[], &[]);
    let objects = ["Secret n/a for x", "Secret n/b for x", "Secret n/c for y"].map(String::from);
    run(&mut scene, &objects, 0);
    scene.inventory.objects.values_mut().for_each(|brought| brought.needed = Needed::Unknown);
    assert_eq!(run(&mut scene, &objects[2..], 0), (true, 0));
    // The same, once it is known whose they are.
    run(&mut scene, &objects, 0);
    assert_eq!(run(&mut scene, &objects[2..], 0), (false, 2));
}
