//! What is held of what templates make, counted.

use alloc::string::String;
use core::convert::Infallible;
use core::fmt::Write as _;

use super::*;
use crate::finding::Fault;
use crate::made::Templates;
use crate::testing::case::{Document, Scene};
use crate::testing::stages::Desk;
use crate::testing::{node as document, yaml};

/// A fleet whose templates make a text of some length each, for some namespaces.
fn desk(lengths: &[usize], namespaces: usize) -> Desk {
    let labels = (0..namespaces).fold(String::new(), |mut text, at| {
        let _ = write!(text, "n{at}: {{}}, ");
        text
    });
    let template = |(at, length): (usize, &usize)| {
        let text = format!(
            "apiVersion: automation.kubensync.com/v1alpha1\nkind: ManagedResource\nmetadata: {{name: t{at}}}\n\
             spec: {{namespaceSelector: {{regex: .}}, template: {{literal: '{{apiVersion: v1, kind: ConfigMap, metadata: \
             {{name: t{at}}}, data: {{a: {{{{ repeat {length} \"x\" }}}}}}}}'}}}}\n"
        );
        Document { source: "all".into(), node: document(&yaml(&text)), line: 1 }
    };
    Desk::new(&Scene {
        config: yaml(&format!(
            "{{regions: {{eu: {{templates: ['*'], namespaces: {{allowed: ['*'], labels: {{{labels}}}}}}}}}}}"
        )),
        documents: lengths.iter().enumerate().map(template).collect(),
        incomplete: Vec::new(),
        run: yaml("{}"),
    })
}

/// The templates that were left out, and the most that was held at once.
fn made(desk: &Desk, most: usize) -> (BTreeSet<String>, usize) {
    let world = desk.world();
    let templates = Templates::of(&world);
    let at_once = AtomicUsize::new(0);
    let all = templates.all(most, |make| {
        let made = make(&templates.claims);
        let held = made.iter().filter_map(|it| it.made.as_ref()).filter(|made| made.is_ok()).map(weight).sum();
        at_once.fetch_max(held, Ordering::Relaxed);
        Ok::<_, Infallible>(made)
    });
    let Ok(all) = all;
    let lost = templates.claims.iter().filter(|claim| {
        let made = all.of(&claim.made_for()).unwrap();
        assert_eq!(made.is_known, made.findings.is_empty());
        !made.is_known
    });
    (lost.map(|claim| claim.by.name().into_owned()).collect(), at_once.into_inner())
}

#[test]
fn no_more_is_held_than_may_be_and_the_heaviest_templates_are_left_out() {
    let desk = desk(&[10, 4_000, 20, 9_000, 30], 10);
    let lost = |most| {
        let (lost, held) = made(&desk, most);
        assert!(held <= most, "{held} of {most}");
        lost.into_iter().collect::<Vec<_>>()
    };
    assert!(lost(1 << 20).is_empty());
    assert_eq!(lost(100_000), ["t3"]);
    assert_eq!(lost(40_000), ["t1", "t3"]);
    assert_eq!(lost(1_000).len(), 5);
}

#[test]
fn a_tie_is_one_for_good() {
    let names: Vec<Name> = ["a", "b", "c"].map(Name::from).into();
    let region = Region::from("eu");
    let weights = Weights::from([(&region, names.iter().map(|name| ((Some(name), false), 5)).collect())]);
    assert_eq!(too_heavy(&weights, 12), [(&region, (Some(&names[2]), false))].into());
    assert_eq!(too_heavy(&weights, 4).len(), 3);
    assert!(too_heavy(&weights, 15).is_empty());
}

/// What the clusters of some regions have for namespaces fills their own shares.
#[test]
fn a_region_that_wants_more_than_its_share_takes_nothing_from_others() {
    let names: Vec<Name> = ["a", "b"].map(Name::from).into();
    let regions: Vec<Region> = ["big", "eu", "huge"].map(Region::from).into();
    let of =
        |weights: [usize; 2]| names.iter().map(|name| (Some(name), false)).zip(weights).collect::<BTreeMap<_, _>>();
    let weights: Weights<'_> = regions.iter().zip([of([10, 90]), of([5, 15]), of([40, 900])]).collect();
    assert_eq!(
        too_heavy(&weights, 120),
        [(&regions[0], (Some(&names[1]), false)), (&regions[2], (Some(&names[1]), false))].into()
    );
    // What is left over is for those that want more.
    assert_eq!(too_heavy(&weights, 220), [(&regions[2], (Some(&names[1]), false))].into());
}

/// Who writes Clusters takes nothing from what the namespaces of a region get.
#[test]
fn what_is_for_guests_goes_first() {
    let (name, region) = (Name::from("a"), Region::from("eu"));
    let of: BTreeMap<Kind<'_>, usize> = [((Some(&name), false), 60), ((Some(&name), true), 50)].into();
    assert_eq!(too_heavy(&Weights::from([(&region, of)]), 100), [(&region, (Some(&name), true))].into());
}

/// Whatever is held of an object or told of a rendering counts.
#[test]
fn what_is_told_and_metadata_weigh_too() {
    let text = "x".repeat(10_000);
    let meta = format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: x, namespace: a, annotations: {{pouch/silence: {text}}}}}\n"
    );
    assert!(weight(&Ok(vec![crate::testing::object(&meta)])) > 10_000);
    assert!(weight(&Err(vec![Finding::new(crate::finding::Code::InvalidObject, text)])) > 10_000);
    let mut labelled = crate::testing::object("apiVersion: v1\nkind: Secret\nmetadata: {name: x, namespace: a}\n");
    let before =
        weight(&Ok(vec![crate::testing::object("apiVersion: v1\nkind: Secret\nmetadata: {name: x, namespace: a}\n")]));
    labelled.faults.push(Fault::new(crate::finding::Code::InvalidObject, "x".repeat(10_000), ""));
    assert!(weight(&Ok(vec![labelled])) > before.saturating_add(10_000));
}
