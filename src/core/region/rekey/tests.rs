//! Tests of `rekey`: each flaw that the proof looks for is found.

use alloc::string::ToString as _;

use super::*;
use crate::layout::manifest::ObjectState;
use alloc::collections::BTreeMap;

const ONE: &str = "age16mz6gm4kw7dzhhzv62rhzxl473pg77aqzs09a49zkzjv0f09ystqg4r53f";
const TWO: &str = "age1t7rxyev2z3rw82stdlrrepyc39nvn86l5078zqkf5uasdy86jp6svpy7pa";

/// A sealed file as the emitter writes it, with `lot` in everything that is drawn by lot.
fn file(lot: &str, recipients: &[&str]) -> String {
    let mut text = format!(
        "# pouch/v1 01234567 tag\napiVersion: v1\ndata:\n  a: ENC[AES256_GCM,data:AAAA,iv:{lot}iv=,tag:AAAA,type:str]\n\
         sops:\n  age:\n"
    );
    for (n, recipient) in recipients.iter().enumerate() {
        text.push_str(&format!(
            "  - enc: |\n      -----BEGIN AGE ENCRYPTED FILE-----\n      {lot}{n}{}\n      {lot}{n}{}\n      c2hvcnQ=\n      \
             -----END AGE ENCRYPTED FILE-----\n    recipient: {recipient}\n",
            "x".repeat(60),
            "y".repeat(60),
        ));
    }
    text.push_str(&format!("  mac: ENC[AES256_GCM,data:BBBB,iv:{lot}mac=,tag:AAAA,type:str]\n  version: 3.9.0\n"));
    text
}

fn path(name: &str) -> BundlePath {
    crate::layout::path::of_object(&"eu".into(), &ObjectKey::secret("team".into(), name.into()))
}

fn manifest(names: &[&str], recipients: &[&str]) -> Manifest {
    let object = |name: &&str| ManifestObject {
        read_at: None,
        key: ObjectKey::secret("team".into(), (*name).into()),
        from: None,
        guest: None,
        path: path(name),
        sha256: String::new(),
        state: ObjectState::Current,
        recipients: vec![],
        needed_by: vec![],
    };
    Manifest {
        rests_on: Default::default(),
        texts: Default::default(),
        cluster: None,
        splits: crate::layout::Splits::default(),
        directory: "eu".into(),
        fleet: "acme".into(),
        recipients: recipients.iter().map(|text| Recipient::parse(text).unwrap()).collect(),
        sources: vec![],
        objects: names.iter().map(object).collect(),
        files: vec![],
    }
}

#[track_caller]
fn check(old: &[(&str, String)], new: &[(&str, String)], recipients: &[&str], expect: Result<(), Flaw>) {
    let published: Files =
        old.iter().map(|(name, text)| (path(name).as_str().to_string(), text.clone().into_bytes())).collect();
    let fresh: BTreeMap<BundlePath, String> = new.iter().map(|(name, text)| (path(name), text.clone())).collect();
    let names: Vec<&str> = old.iter().map(|(name, _)| *name).collect();
    let proved = prove(&published, &manifest(&names, recipients), |path| fresh.get(path).map(String::as_bytes));
    assert_eq!(proved, expect);
}

#[test]
fn what_is_new_throughout_passes() {
    let old = [("a", file("old-a", &[ONE])), ("b", file("old-b", &[ONE]))];
    check(&old, &[("a", file("new-a", &[ONE, TWO])), ("b", file("new-b", &[ONE, TWO]))], &[ONE, TWO], Ok(()));
}

#[test]
fn what_is_not_new_is_found() {
    let old = [("a", file("old-a", &[ONE, TWO])), ("b", file("old-b", &[ONE, TWO]))];
    let new = |text: String| [("a", file("new-a", &[ONE])), ("b", text)];
    let good = file("new-b", &[ONE]);
    check(&old, &new(good.clone()), &[ONE], Ok(()));
    // One that stays.
    check(&old, &[("a", file("new-a", &[ONE]))], &[ONE], Err(Flaw::Kept(path("b"))));
    // Readers: one too many, one too few, another.
    for recipients in [&[ONE, TWO][..], &[], &[TWO]] {
        check(&old, &new(file("new-b", recipients)), &[ONE], Err(Flaw::Recipients(path("b"))));
    }
    // An IV, the MAC's IV, and each line of a stanza, taken from any file of before, or from its neighbour.
    for from in ["old-a", "old-b", "new-a"] {
        let theirs = file(from, &[ONE]);
        for (line, (ours, theirs)) in good.lines().zip(theirs.lines()).enumerate().filter(|(_, (a, b))| a != b) {
            let spliced = good.replace(ours, theirs);
            assert_ne!(spliced, good);
            check(&old, &new(spliced), &[ONE], Err(Flaw::Shared(path("b"))));
            assert!(line > 0);
        }
        assert_eq!(good.lines().zip(theirs.lines()).filter(|(a, b)| a != b).count(), 4);
    }
    // What is short, or the same in all files, is no sign of anything.
    assert_eq!(lots(good.as_bytes()).count(), 4);
}

#[test]
fn who_joins_a_bundle_that_nobody_reads_gains_nothing() {
    let recipients = [Recipient::parse(ONE).unwrap(), Recipient::parse(TWO).unwrap()];
    let [_, two] = &recipients;
    assert_eq!(added_recipients(&[], &recipients), []);
    assert_eq!(added_recipients(&recipients, &recipients), []);
    assert_eq!(added_recipients(&recipients[..1], &recipients), core::slice::from_ref(two));
}
