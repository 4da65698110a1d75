//! Tests of `reuse`.

use super::*;
use crate::name::{Directory, FleetName, ObjectKey};
use crate::recipient::Recipient;
use crate::reuse::header::LEADING;
use alloc::borrow::ToOwned as _;
use alloc::collections::BTreeSet;
use proptest::prelude::*;

use crate::name::{GroupKind, Name, Namespace};
use crate::node::{Key, Node};
use crate::secret::{Payload, SecretBytes};

const ONE: &str = "age16mz6gm4kw7dzhhzv62rhzxl473pg77aqzs09a49zkzjv0f09ystqg4r53f";
const TWO: &str = "age1t7rxyev2z3rw82stdlrrepyc39nvn86l5078zqkf5uasdy86jp6svpy7pa";
const PLAIN: &[u8] = b"apiVersion: v1\ndata:\n  password: aHVudGVyMg==\n";
const BODY: &[u8] = b"apiVersion: v1\ndata:\n  password: ENC[AES256_GCM,data:AAAA]\n";

fn key(byte: u8) -> ReuseKey {
    ReuseKey::parse(&ReuseKey::to_text(&[byte; 32])).ok().unwrap()
}

fn ring(current: u8, previous: &[u8]) -> KeyRing {
    KeyRing::new(key(current), previous.iter().map(|byte| key(*byte)).collect())
}

struct Owned {
    fleet: FleetName,
    directory: Directory,
    landing: ObjectKey,
    recipients: Vec<Recipient>,
}

impl Owned {
    fn context(&self) -> Context<'_> {
        let Owned { fleet, directory, landing, recipients } = self;
        Context { fleet, directory, landing, recipients }
    }
}

fn owned() -> Owned {
    Owned {
        fleet: "acme".into(),
        directory: "eu-west".into(),
        landing: ObjectKey::secret("kcm-system".into(), "aws".into()),
        recipients: vec![Recipient::parse(ONE).unwrap(), Recipient::parse(TWO).unwrap()],
    }
}

fn payload(entries: &[(&str, &str)]) -> Payload {
    Payload::new(entries.iter().map(|(k, v)| (Key::from(*k), SecretBytes::new(v.as_bytes().to_vec()))).collect())
}

fn sealed_leaves(payload: &Payload, seal: u8) -> Vec<(String, String)> {
    let leaf = |name: &str, value: &SecretBytes| {
        if value.is_empty() { String::new() } else { format!("ENC[{seal},{name},{}]", value.len()) }
    };
    payload.entries().iter().map(|(name, value)| ((**name).to_owned(), leaf(name, value))).collect()
}

fn file(key: &ReuseKey, context: &Context<'_>, plain: &[u8], body: &[u8], entries: &[EntryLeaf<'_>]) -> Vec<u8> {
    [header(key, context, plain, body, entries).as_bytes(), body].concat()
}

fn sample() -> Payload {
    payload(&[("long", "0123456789abcdef"), ("short", "hunter2"), ("empty", ""), ("also-short", "0123456789abcde")])
}

fn sample_file(key: &ReuseKey) -> Vec<u8> {
    let (owned, payload) = (owned(), sample());
    let leaves = sealed_leaves(&payload, 1);
    file(key, &owned.context(), PLAIN, BODY, &pair(&leaves, &payload).unwrap())
}

#[test]
fn the_header_is_the_documented_one() {
    let text = String::from_utf8(sample_file(&key(7))).unwrap();
    // Made by another implementation of HMAC from DESIGN §3.
    let expect = "\
# pouch/v1 6510f0cf AS-o1pOzcuMwXG2GsiZmNIK6ScoDYhU9lXlfzIv5HBc
# pouch/v1 entry long hj955LewN4E
# pouch/v1 entries Eh7JFVEBQwU
";
    assert_eq!(text.strip_suffix(str::from_utf8(BODY).unwrap()).unwrap(), expect);
    let bare = header(&key(7), &owned().context(), PLAIN, BODY, &[]);
    assert_eq!(bare.lines().count(), 1);
}

#[test]
fn a_file_is_taken_apart_and_verified() {
    let bytes = sample_file(&key(7));
    let tagged = split(&bytes).unwrap();
    assert_eq!((tagged.key_id, tagged.body), (key(7).id(), BODY));
    assert_eq!(tagged.entry_lines.lines().count(), 2);
    let verify = |keys: KeyRing| verify(&keys, &owned().context(), PLAIN, &bytes);
    assert_eq!(verify(ring(7, &[])), Some(Under::Current));
    assert_eq!(verify(ring(8, &[9, 7])), Some(Under::Previous));
    assert_eq!(verify(ring(7, &[7])), Some(Under::Current));
    assert_eq!(verify(ring(8, &[9])), None);
}

#[test]
fn the_order_of_recipients_and_entries_is_no_matter() {
    let bytes = sample_file(&key(7));
    let mut turned = owned();
    turned.recipients.reverse();
    assert_eq!(verify(&ring(7, &[]), &turned.context(), PLAIN, &bytes), Some(Under::Current));
    let (payload, owned) = (sample(), owned());
    let leaves = sealed_leaves(&payload, 1);
    let mut entries = pair(&leaves, &payload).unwrap();
    entries.reverse();
    assert_eq!(file(&key(7), &owned.context(), PLAIN, BODY, &entries), bytes);
}

#[test]
fn any_other_context_is_no_match() {
    let bytes = sample_file(&key(7));
    let mut cases: Vec<(&str, Owned)> = Vec::new();
    let mut case = |what, change: &dyn Fn(&mut Owned)| {
        let mut other = owned();
        change(&mut other);
        cases.push((what, other));
    };
    case("fleet", &|o| o.fleet = "acm".into());
    case("directory", &|o| o.directory = "eu-west-1".into());
    case("fleet and directory run together", &|o| (o.fleet, o.directory) = ("acmeeu".into(), "-west".into()));
    case("name", &|o| o.landing.name = Name::from("aws2"));
    case("namespace", &|o| o.landing.namespace = Some(Namespace::from("default")));
    case("no namespace", &|o| o.landing.namespace = None);
    case("name and namespace swapped", &|o| o.landing = ObjectKey::secret("aws".into(), "kcm-system".into()));
    case("kind", &|o| o.landing.kind = GroupKind::new("", "ConfigMap"));
    case("group", &|o| o.landing.kind = GroupKind::new("x", "Secret"));
    case("one recipient less", &|o| o.recipients.truncate(1));
    case("the other recipient", &|o| drop(o.recipients.remove(0)));
    case("no recipient", &|o| o.recipients.clear());
    case("a recipient twice", &|o| o.recipients.push(o.recipients[0].clone()));
    for (what, other) in cases {
        assert_eq!(verify(&ring(7, &[]), &other.context(), PLAIN, &bytes), None, "{what}");
    }
}

#[test]
fn a_previous_key_gives_way_and_the_ciphertext_stays() {
    let (owned, payload, keys) = (owned(), sample(), ring(8, &[7]));
    let leaves = sealed_leaves(&payload, 1);
    let entries = pair(&leaves, &payload).unwrap();
    let old = sample_file(&key(7));
    let new = retag(&keys, &owned.context(), PLAIN, &old, &entries).unwrap();
    assert_eq!(new, sample_file(&key(8)));
    assert_eq!(split(&new).unwrap().body, BODY);
    assert_eq!(verify(&ring(8, &[]), &owned.context(), PLAIN, &new), Some(Under::Current));
    assert_eq!(retag(&ring(8, &[9]), &owned.context(), PLAIN, &old, &entries), None);
    assert_eq!(retag(&keys, &owned.context(), b"other", &old, &entries), None);
}

#[test]
fn s19_no_tag_shows_equality() {
    let mut seen = BTreeSet::new();
    let mut unseen = |tag: &str| assert!(seen.insert(tag.to_owned()), "{tag} came twice");
    let (owned, key) = (owned(), key(7));
    let context = owned.context();
    // A value goes to another and returns, each time sealed anew.
    for (seal, value) in [(1, "aaaaaaaa"), (2, "bbbbbbbb"), (3, "aaaaaaaa")] {
        // The same long and the same short value stand in two entries each.
        let long = value.repeat(2);
        let payload = payload(&[("a", &long), ("b", &long), ("c", value), ("d", value)]);
        let leaves = sealed_leaves(&payload, seal);
        let body = format!("{leaves:?}");
        let header = header(&key, &context, value.as_bytes(), body.as_bytes(), &pair(&leaves, &payload).unwrap());
        assert_eq!(header.lines().count(), 4);
        header.lines().for_each(|line| unseen(line.rsplit(' ').next().unwrap()));
    }
}

#[test]
fn malformed_files_come_apart_as_nothing() {
    let good = String::from_utf8(sample_file(&key(7))).unwrap();
    let id = key(7).id().to_owned();
    for bad in [
        String::new(),
        "\n".into(),
        "# pouch/v1\n".into(),
        format!("{FIRST}{id}"),
        format!("{FIRST}{id}\n"),
        format!("{FIRST}{id} \n"),
        format!(" {good}"),
        format!("\n{good}"),
        format!("\u{feff}{good}"),
        good.replacen("v1", "v2", 1),
        good.replacen('\n', "\r\n", 1),
        good.replacen(&id, &id.to_uppercase(), 1),
        good.replacen(&id, "0123456", 1),
        good.replacen(&id, "0123456789", 1),
        good.replacen("# pouch", "#pouch", 1),
        // Base64 of the other alphabet, and what is none: the tag has 43 characters still.
        good.replacen("AS-o", "AS+o", 1),
        good.replacen("AS-o", "AS/o", 1),
        good.replacen("AS-o", "AS o", 1),
        good.replacen("AS-o", "AS=o", 1),
        good.lines().next().unwrap().to_owned(),
    ] {
        assert_eq!(split(bad.as_bytes()), None, "{bad}");
    }
    let cut = good.lines().next().unwrap().to_owned() + "\n";
    assert_eq!(split(cut.as_bytes()).unwrap().body, b"");
    assert_eq!(split(format!("{cut}# pouch").as_bytes()).unwrap().entry_lines, "# pouch");
    assert_eq!(split(&[cut.as_bytes(), b"# pouch \xff\n"].concat()), None);
    assert_eq!(split(&[cut.as_bytes(), b"\xff\n"].concat()).unwrap().body, b"\xff\n");
}

#[test]
fn later_formats_are_known_as_such() {
    for (text, newer) in [
        ("# pouch/v2 0 0\n", true),
        ("# pouch/v10 x", true),
        ("# pouch/v1 x", false),
        ("# pouch/v0 x", false),
        ("# pouch/vx", false),
        ("# pouch", false),
        ("", false),
    ] {
        assert_eq!(is_newer(text.as_bytes()), newer, "{text}");
    }
}

#[test]
fn leaves_are_the_texts_of_data() {
    let sealed = |data: Node| Node::map(vec![("data".into(), data), ("kind".into(), Node::text("Secret"))]);
    let data = Node::map(vec![("b".into(), Node::text("ENC[x]")), ("a".into(), Node::text(""))]);
    let expect = vec![(String::from("a"), String::new()), (String::from("b"), String::from("ENC[x]"))];
    assert_eq!(leaves(&sealed(data)), Some(expect));
    assert_eq!(leaves(&sealed(Node::map(vec![("a".into(), Node::Int(1))]))), None);
    assert_eq!(leaves(&sealed(Node::Null)), Some(Vec::new()));
    assert_eq!(leaves(&Node::empty_map()), Some(Vec::new()));
}

#[test]
fn leaves_and_values_pair_by_name() {
    let good = sample();
    let leaves = sealed_leaves(&good, 1);
    assert!(pair(&leaves, &good).is_some());
    assert!(pair(&leaves, &payload(&[])).is_none());
    assert!(pair(&leaves[1..], &good).is_none());
    let mut renamed = leaves.clone();
    renamed[0].0.push('x');
    assert!(pair(&renamed, &good).is_none());
    let mut emptied = leaves.clone();
    emptied[0].1.clear();
    assert!(pair(&emptied, &good).is_none());
}

#[test]
fn plans_say_which_entry_changes() {
    const A: &str = "aaaaaaaaaaaaaaaaaaaa";
    const B: &str = "bbbbbbbbbbbbbbbbbbbb";
    #[track_caller]
    fn check(old: &[(&str, &str)], new: &[(&str, &str)], expect: &[(&str, EntryChange)]) {
        let (owned, key, old, new) = (owned(), key(7), payload(old), payload(new));
        let context = owned.context();
        let leaves = sealed_leaves(&old, 1);
        let lines = entry::lines(&key, &context, &pair(&leaves, &old).unwrap());
        let changes = compare_entries(&key, &context, &lines, &leaves, &new);
        let changes: Vec<_> = changes.iter().map(|(name, change)| (name.as_str(), *change)).collect();
        assert_eq!(changes, expect);
    }
    use EntryChange::{Added, Changed, PerhapsChanged, Same, Withdrawn};
    check(
        &[("k", A), ("l", "x"), ("e", "")],
        &[("k", A), ("l", "x"), ("e", "")],
        &[("e", Same), ("k", Same), ("l", Same)],
    );
    check(&[("k", A)], &[("k", B)], &[("k", Changed)]);
    check(&[("k", A), ("l", B)], &[("k", B), ("l", B)], &[("k", Changed), ("l", Same)]);
    check(&[("k", A), ("l", B)], &[("k", B), ("l", A)], &[("k", Changed), ("l", Changed)]);
    check(&[("k", A)], &[("l", A)], &[("k", Withdrawn), ("l", Added)]);
    check(&[("k", "x")], &[("k", "y")], &[("k", Changed)]);
    check(&[("k", "x"), ("l", "y")], &[("k", "x"), ("l", "z")], &[("k", PerhapsChanged), ("l", PerhapsChanged)]);
    check(&[("k", "x"), ("l", "y")], &[("k", A), ("l", "y")], &[("k", Changed), ("l", PerhapsChanged)]);
    check(&[("k", "x"), ("l", "y")], &[("k", "x")], &[("k", PerhapsChanged), ("l", Withdrawn)]);
    check(&[("k", "x")], &[("k", "x"), ("l", "y")], &[("k", Same), ("l", Added)]);
    check(&[("k", "x"), ("l", A)], &[("k", A), ("l", "x")], &[("k", Changed), ("l", Changed)]);
    check(&[("k", "")], &[("k", "x")], &[("k", Changed)]);
    check(&[("k", "x")], &[("k", "")], &[("k", Changed)]);
    check(&[("k", A)], &[("k", "")], &[("k", Changed)]);
    check(&[], &[], &[]);
}

#[test]
fn a_value_of_then_is_found_among_others() {
    #[track_caller]
    fn check(old: &[(&str, &str)], name: &str, values: &[&str], expect: &[usize]) {
        let (owned, key, old) = (owned(), key(7), payload(old));
        let context = owned.context();
        let leaves = sealed_leaves(&old, 1);
        let lines = entry::lines(&key, &context, &pair(&leaves, &old).unwrap());
        let values: Vec<SecretBytes> = values.iter().map(|value| SecretBytes::new(value.as_bytes().to_vec())).collect();
        let found = |context: &Context<'_>| had(&key, context, &lines, &leaves, name, values.iter().enumerate());
        assert_eq!(found(&context), expect);
        let other = ObjectKey::secret("kcm-system".into(), "other".into());
        assert!(found(&Context { landing: &other, ..context }).is_empty(), "it was another Secret's");
    }
    const A: &str = "aaaaaaaaaaaaaaaaaaaa";
    const B: &str = "bbbbbbbbbbbbbbbbbbbb";
    check(&[("k", A), ("l", B)], "k", &[B, A, "", A], &[1, 3]);
    check(&[("k", A), ("s", "x"), ("e", "")], "s", &[A, "x", "y"], &[1]);
    check(&[("k", A), ("l", B), ("s", "x"), ("e", ""), ("f", "")], "s", &[A, "x", "y"], &[1]);
    // Short values that share a tag are none's own, and an empty one is everybody's.
    check(&[("s", "x"), ("t", "y")], "s", &["x", "y", "xy"], &[]);
    check(&[("k", A), ("e", "")], "e", &["", A], &[]);
    check(&[("k", A)], "none", &[A], &[]);
}

#[test]
fn a_manifest_verifies_for_its_own_fleet_and_folder() {
    let (fleet, directory) = (FleetName::from("acme"), Directory::from("eu-west"));
    let rest = b"apiVersion: pouch/v1alpha1\n";
    let bytes = [manifest_line(&key(7), &fleet, &directory, rest).as_bytes(), rest].concat();
    assert_eq!(manifest_verifies(&ring(7, &[]), &fleet, &directory, &bytes), Some(rest.as_slice()));
    assert_eq!(manifest_verifies(&ring(8, &[7]), &fleet, &directory, &bytes), Some(rest.as_slice()));
    assert_eq!(manifest_verifies(&ring(8, &[]), &fleet, &directory, &bytes), None);
    assert_eq!(manifest_verifies(&ring(7, &[]), &"acm".into(), &directory, &bytes), None);
    assert_eq!(manifest_verifies(&ring(7, &[]), &fleet, &"eu-east".into(), &bytes), None);
    assert_eq!(manifest_verifies(&ring(7, &[]), &"acmeeu".into(), &"-west".into(), &bytes), None);
    for at in 0..bytes.len() {
        let mut bent = bytes.clone();
        bent[at] ^= 1;
        assert_eq!(manifest_verifies(&ring(7, &[]), &fleet, &directory, &bent), None, "byte {at}");
        assert_eq!(manifest_verifies(&ring(7, &[]), &fleet, &directory, &bytes[..at]), None, "{at} bytes");
    }
    // A Secret's file tag proves nothing about a manifest.
    assert_eq!(manifest_verifies(&ring(7, &[]), &fleet, &directory, &sample_file(&key(7))), None);
}

#[test]
fn every_changed_missing_or_added_byte_of_a_file_is_seen() {
    let (owned, keys, bytes) = (owned(), ring(7, &[8]), sample_file(&key(7)));
    let verifies = |file: &[u8]| verify(&keys, &owned.context(), PLAIN, file).is_some();
    assert!(verifies(&bytes));
    for at in 0..bytes.len() {
        for flip in [1, 2, 0x20, 0x80] {
            let mut bent = bytes.clone();
            bent[at] ^= flip;
            assert!(!verifies(&bent), "byte {at}");
        }
        let mut shorter = bytes.clone();
        shorter.remove(at);
        assert!(!verifies(&shorter), "without byte {at}");
        let mut longer = bytes.clone();
        longer.insert(at, b'\n');
        assert!(!verifies(&longer), "line feed before {at}");
        assert!(!verifies(&bytes[..at]), "{at} bytes");
    }
}

proptest! {
    #[test]
    fn whatever_is_tagged_verifies_and_nothing_else(
        plain: Vec<u8>, other: Vec<u8>, body in "[a-z:\n]{0,80}", at: prop::sample::Index, to: u8,
    ) {
        let (owned, keys) = (owned(), ring(7, &[8]));
        let context = owned.context();
        let bytes = file(keys.current().unwrap(), &context, &plain, body.as_bytes(), &[]);
        prop_assert_eq!(verify(&keys, &context, &plain, &bytes), Some(Under::Current));
        prop_assert_eq!(verify(&keys, &context, &other, &bytes).is_some(), plain == other);
        let mut bent = bytes.clone();
        bent[at.index(bytes.len())] = to;
        prop_assert_eq!(verify(&keys, &context, &plain, &bent).is_some(), bent == bytes);
    }

    #[test]
    fn taking_apart_never_panics(bytes: Vec<u8>, text in "(# pouch/v1 [0-9a-f]{8} [a-zA-Z0-9_-]{43}\n)?(# pouch[ a-z]*\n?)*[a-z\n#]*") {
        let _ = split(&bytes);
        if let Some(tagged) = split(text.as_bytes()) {
            prop_assert!(!tagged.body.starts_with(LEADING));
            prop_assert!(text.as_bytes().ends_with(tagged.body));
        }
    }
}

#[test]
fn a_tag_speaks_against_a_file_only_where_its_key_is_at_hand() {
    let owned = owned();
    let context = owned.context();
    let sealed = file(&key(1), &context, PLAIN, BODY, &[]);
    let check = |keys: &KeyRing, plain: &[u8], file: &[u8]| contradicts(keys, &context, plain, file);
    assert!(!check(&ring(1, &[]), PLAIN, &sealed));
    assert!(!check(&ring(2, &[1]), PLAIN, &sealed));
    assert!(check(&ring(1, &[]), b"another: text\n", &sealed));
    assert!(check(&ring(2, &[1]), b"another: text\n", &sealed));
    // Of a key that is gone nothing is known.
    assert!(!check(&ring(2, &[3]), b"another: text\n", &sealed));
    assert!(check(&ring(1, &[]), PLAIN, BODY));
}
