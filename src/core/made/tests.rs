//! What is kept from one claim to the next changes nothing of what is made.

use alloc::string::String;
use alloc::vec::Vec;

use super::*;
use crate::secret::SecretBytes;
use crate::template::Value;
use crate::testing::case::{Document, Scene};
use crate::testing::stages::Desk;
use crate::testing::{node as document, yaml};

/// Templates that are alike, for three namespaces in two regions: of one Secret or another, one of which is another
/// source's and open in one region alone; of values that YAML takes for what they are, and of some that it does not.
fn desk() -> Desk {
    let mut documents = Vec::new();
    let mut add = |source: &str, text: String| {
        documents.push(Document { source: source.into(), node: document(&yaml(&text)), line: 1 });
    };
    for (name, data, field) in [
        ("a", "one", "data: {k: '{{ .Data.s.v | base64Encode }}', ns: '{{ .Namespace.Name | base64Encode }}'}"),
        ("b", "two", "data: {k: '{{ .Data.s.v | base64Encode }}', ns: '{{ .Namespace.Name | base64Encode }}'}"),
        ("c", "one", "stringData: {k: '{{ .Data.s.v }}', team: '{{ .Namespace.Labels.team }}'}"),
        ("d", "two", "stringData: {k: {{ .Data.s.v }}}"),
        ("e", "number", "stringData: {k: {{ .Data.s.v }}}"),
        ("f", "number", "stringData: {k: '{{ .Data.s.v }}'}"),
        ("g", "far", "data: {k: '{{ .Data.s.v | base64Encode }}', ns: '{{ .Namespace.Name | base64Encode }}'}"),
        ("h", "two", "stringData: {k: '{{ .Data.s.w }}'}"),
    ] {
        let literal = format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}, namespace: {{{{ .Namespace.Name }}}}}}\n{field}\n"
        );
        let literal = literal.replace('\n', "\n      ");
        add(
            "here",
            format!(
                "apiVersion: automation.kubensync.com/v1alpha1\nkind: ManagedResource\nmetadata: {{name: {name}}}\nspec:\n  \
                 namespaceSelector: {{regex: .}}\n  template:\n    data: [{{name: s, type: Secret, ref: {{name: {data}, \
                 namespace: vault}}}}]\n    literal: |\n      {literal}\n"
            ),
        );
    }
    for (source, name, value) in
        [("here", "one", "first"), ("here", "two", "second"), ("here", "number", "\"123\""), ("there", "far", "third")]
    {
        let meta = format!("metadata: {{name: {name}, namespace: vault}}");
        add(source, format!("apiVersion: v1\nkind: Secret\n{meta}\nstringData: {{v: {value}}}\n"));
    }
    let region = "{templates: ['*'], namespaces: {allowed: ['*'], labels: {n1: {team: x}, n2: {team: z}, n3: {}}}}";
    Desk::new(&Scene {
        config: yaml(&format!(
            "{{sources: [{{name: here, provides: {{namespaces: ['*'], clusterScoped: true}}}}, {{name: there, provides: \
             {{namespaces: ['*'], clusterScoped: true}}}}], regions: {{eu: {region}, us: {region}}}, grants: [{{from: \
             {{template: g}}, to: {{kind: Secret, namespace: vault, name: far}}, regions: [eu]}}]}}"
        )),
        documents,
        incomplete: Vec::new(),
        run: yaml("{}"),
    })
}

/// What was made of a claim, in words, with values.
fn told(claim: &Claim, made: &One) -> String {
    let objects = match made {
        Ok(objects) => objects,
        Err(findings) => return format!("{} {}: {findings:?}", claim.region(), claim.by.path()),
    };
    let entry = |(name, value): &(Key, SecretBytes)| format!("{name}={}", String::from_utf8_lossy(value.expose()));
    let one = |object: &Object| {
        let entries = object.payload.as_ref().unwrap().entries().iter().map(entry);
        format!("{} {}", object.key, entries.collect::<Vec<_>>().join(" "))
    };
    let objects: Vec<String> = objects.iter().map(one).collect();
    format!("{} {}: {}", claim.region(), claim.by.path(), objects.join(", "))
}

#[test]
fn whatever_came_before_the_same_is_made() {
    let desk = desk();
    let templates = Templates::of(&desk.world());
    let anew = |claim: &&Claim| told(claim, &templates.make(&mut Kept::default(), claim));
    let kept = |claims: &[&Claim]| {
        let mut kept = Kept::default();
        claims.iter().map(|claim| told(claim, &templates.make(&mut kept, claim))).collect::<Vec<_>>()
    };
    let mut orders = vec![templates.claims.clone(); 3];
    orders[1].reverse();
    orders[2].sort_by(|a, b| a.by.cmp(&b.by));
    for claims in &orders {
        assert_eq!(kept(claims), claims.iter().map(anew).collect::<Vec<_>>());
    }
    let all: Vec<String> = templates.claims.iter().map(anew).collect();
    let has = |line: &str| all.iter().any(|it| it == line);
    assert!(has("eu managedresource/n2/a: Secret n2/a k=first ns=n2"), "{all:#?}");
    assert!(has("us managedresource/n1/c: Secret n1/c k=first team=x"), "{all:#?}");
    assert!(has("us managedresource/n3/d: Secret n3/d k=second"), "{all:#?}");
    assert!(has("eu managedresource/n1/f: Secret n1/f k=123"), "{all:#?}");
    assert!(has("eu managedresource/n1/g: Secret n1/g k=third ns=n1"), "{all:#?}");
    let fails = |names: &str| all.iter().filter(|it| it.starts_with(names) && it.contains(": [")).count();
    // A label that a namespace lacks, a value that is read as a number, data that is shut, an entry that is not there.
    for (names, count) in [
        ("eu managedresource/n3/c", 1),
        ("us managedresource/n1/c", 0),
        ("us managedresource/n1/e", 1),
        ("us managedresource/n1/g", 1),
        ("eu managedresource/n1/h", 1),
    ] {
        assert_eq!(fails(names), count, "{names}: {all:#?}");
    }
}

#[test]
fn data_is_built_once_for_the_namespaces_of_a_template() {
    let desk = desk();
    let templates = Templates::of(&desk.world());
    let mut names: Vec<&str> = templates.claims.iter().map(|claim| claim.by.template().unwrap().as_str()).collect();
    names.dedup();
    assert_eq!(names, ["a", "b", "c", "d", "e", "f", "g", "h"]);
    let mut kept = Kept::default();
    let mut built = Vec::new();
    for claim in templates.claims.iter().filter(|claim| claim.by.name() != "g") {
        _ = templates.make(&mut kept, claim);
        let Some((_, Ok(given))) = &kept.given else { panic!("nothing is kept") };
        let Value::Map(map) = &given.stand_ins else { panic!("no map") };
        built.push((claim.by.name().clone(), alloc::sync::Arc::clone(map)));
    }
    for (one, other) in built.iter().zip(built.iter().skip(1)) {
        assert_eq!(alloc::sync::Arc::ptr_eq(&one.1, &other.1), one.0 == other.0);
    }
}
