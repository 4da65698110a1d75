use alloc::string::ToString as _;

use super::*;
use crate::config::{resolve, shape};
use crate::history::directory_of;
use crate::node::Interner;
use crate::report::exposure::Whom;
use crate::report::terminal::{Paint, terminal};

const EU: &str = "age1hwgm5s760fwcasprk22wc0a8a5lcwm22s32e2484ju7egnueyptsul368q";
const US: &str = "age1xtgp6s7dvnkl6j78c5qhjpas67680rrfpads7wfqay29thqs7scsfjs9hg";
const OLD: &str = "age16mz6gm4kw7dzhhzv62rhzxl473pg77aqzs09a49zkzjv0f09ystqg4r53f";

fn fleet(more: &str) -> Fleet {
    let text = format!(
        "apiVersion: pouch/v1alpha1\nkind: Fleet\nmetadata: {{name: acme}}\nsources: [{{name: s, directory: {{path: m}}}}]\n\
         regions:\n  eu-west: {{recipients: [{EU}], namespaces: {{allowed: ['*']}}, directory: eu}}\n  us: {{recipients: \
         [{US}], namespaces: {{allowed: ['*']}}{more}}}\nreuseKey: {{env: KEY}}\n"
    );
    let typed = shape::read(&text).unwrap_or_else(|_| panic!("{text}"));
    resolve::resolve(&typed, &BTreeMap::new()).unwrap()
}

/// A file of one entry that is sealed to somebody, and stood from one commit to another of four.
fn stood(directory: &str, name: &str, recipients: &[&str], commits: core::ops::RangeInclusive<usize>) -> Stood {
    let stanzas: Vec<String> = recipients.iter().map(|one| format!("{{recipient: {one}, enc: x}}")).collect();
    let text = format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}}}\ndata: {{e: 'ENC[AES256_GCM,data:{}'}}\nsops: {{age: [{}]}}\n",
        commits.start(),
        stanzas.join(",")
    );
    let file = SealedSecret::read(text.as_bytes(), &mut Interner::new()).unwrap().remove(0);
    Stood {
        directory: directory.into(),
        file: Arc::new(file),
        first: *commits.start(),
        last: *commits.end(),
        now: *commits.end() == 3,
    }
}

fn facts(stood: Vec<Stood>) -> History {
    let commits = ["a", "b", "c", "d"].map(|id| Commit { id: id.into(), ..Commit::default() }).to_vec();
    let mut vouched = ListedBy::default();
    for stood in &stood {
        let text = format!(
            "{{apiVersion: pouch/v1alpha1, kind: Bundle, fleet: acme, metadata: {{name: {}}}, objects: [{{key: {{kind: \
             Secret}}, sha256: '{}', neededBy: [{{namespace: t, name: c}}]}}]}}",
            stood.directory, stood.file.sha256
        );
        vouched.read(text.as_bytes(), &mut None, &mut Interner::new()).unwrap();
    }
    History { commits, stood, vouched, proved: ListedBy::default(), steps: Steps::default() }
}

fn told(answer: &Exposure) -> Vec<String> {
    let mut lines = Vec::new();
    for reader in answer.readers.iter().flatten() {
        let who = reader.recipient.as_deref().map_or("everybody", |text| text.get(..7).unwrap());
        for secret in &reader.secrets {
            let Exposed { removed, secret, elsewhere, entries } = secret;
            let SecretRecord { directory, name, first, last, still, .. } = secret;
            let verdicts: Vec<_> = entries.iter().map(|entry| format!("{:?}", entry.verdict)).collect();
            let place = if elsewhere.is_empty() { String::new() } else { format!(" also {}", elsewhere.join(",")) };
            let (removed, still) = (if *removed { " removed" } else { "" }, if *still { " still" } else { "" });
            lines.push(format!(
                "{who}{removed} {directory}/{name} {}{}{still} {}{place}",
                first.id,
                last.id,
                verdicts.join(",")
            ));
        }
    }
    lines
}

fn asked(facts: &History, asked: &Query<'_>) -> Vec<String> {
    told(&expose(facts, asked, Looked::default()))
}

/// Another document for guests may hold the same credential, so another length there proves nothing.
#[test]
fn of_what_goes_into_guests_another_length_tells_no_other_value() {
    let file = |name: &str, entry: &str, data: &str, recipient: &str| {
        let text = format!(
            "# pouch/v1 01234567 {}\napiVersion: v1\nkind: Secret\nmetadata: {{name: {name}}}\ndata: {{{entry}: \
             'ENC[AES256_GCM,data:{data},iv:AAAA,tag:AAAA,type:str]'}}\nsops: {{age: [{{recipient: {recipient}, enc: x}}]}}\n",
            "A".repeat(43)
        );
        Arc::new(SealedSecret::read(text.as_bytes(), &mut Interner::new()).unwrap().remove(0))
    };
    let both = |name: &str, entry: &str| {
        let at = |data: &str, recipient: &str, first, last, now| Stood {
            directory: "eu".into(),
            file: file(name, entry, data, recipient),
            first,
            last,
            now,
        };
        asked(&facts(Vec::from([at("AAAA", OLD, 0, 1, false), at("AAAAAAAA", EU, 2, 3, true)])), &Query::default())
    };
    assert_eq!(both("plain", "k")[0], "age16mz removed eu/plain ab Changed");
    assert_eq!(both("pouch-pull-1", "objects.yaml")[0], "age16mz removed eu/pouch-pull-1 ab Unknown");
}

#[test]
fn the_configuration_says_who_is_a_recipient_else_the_published_files_do() {
    let facts = facts(Vec::from([
        stood("eu", "s", &[OLD], 0..=1),
        stood("eu", "s", &[OLD, EU], 2..=3),
        stood("us", "s", &[US], 1..=3),
        stood("gone", "s", &[OLD], 0..=0),
    ]));
    let fleet = fleet("");
    let with = Query { fleet: Some(&fleet), ..Query::default() };
    let all = [
        "age16mz removed eu/s ad still Readable",
        "age16mz removed gone/s aa Gone also eu,us",
        "age1hwg eu/s cd still Readable",
        "age1xtg us/s bd still Readable",
    ];
    assert_eq!(asked(&facts, &with), all);
    // Nobody took it out of the files yet, so without a configuration it is no removed one.
    assert_eq!(asked(&facts, &Query::default())[0], "age16mz eu/s ad still Readable");
    assert_eq!(asked(&facts, &Query { removed: true, ..Query::default() }), [all[1]]);
    assert_eq!(asked(&facts, &Query { removed: true, ..with }), &all[..2]);
    let one = Query { recipients: BTreeSet::from([Recipient::parse(US).unwrap()]), ..Query::default() };
    assert_eq!(asked(&facts, &one), [all[3]]);
}

#[test]
fn readers_whom_no_recipient_names_and_what_stands_beside_in_clear_are_told() {
    let sealed = |data: &str, metadata: &str, sops: &str, commits: core::ops::RangeInclusive<usize>| {
        let text = format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: s{metadata}}}\ndata: {{{data}}}\nsops: {{age: [{sops}]}}\n"
        );
        let file = SealedSecret::read(text.as_bytes(), &mut Interner::new()).unwrap().remove(0);
        Stood { file: Arc::new(file), ..stood("eu", "s", &[], commits) }
    };
    let (leaf, other) = ("'ENC[AES256_GCM,data:qqo=,0'", "'ENC[AES256_GCM,data:qqqqqqo=,1'");
    let nameless = format!("{{recipient: {EU}, enc: x}}, {{enc: x}}");
    let fleet = fleet("");
    let with = || Query { fleet: Some(&fleet), ..Query::default() };
    let known = facts(Vec::from([sealed(&format!("e: {leaf}"), "", &nameless, 0..=3)]));
    let all = ["reader  removed eu/s ad still Readable", "age1hwg eu/s ad still Readable"];
    assert_eq!(asked(&known, &with()), all);
    assert_eq!(asked(&known, &Query { removed: true, ..with() }), &all[..1]);
    // Whoever is asked for may be the one without a name.
    let one = Query { recipients: BTreeSet::from([Recipient::parse(OLD).unwrap()]), ..with() };
    let answer = expose(&known, &one, Looked::default());
    assert_eq!((told(&answer), answer.never), (Vec::from([all[0].into()]), Vec::from([OLD.into()])));
    let text = crate::report::exposure::exposure(
        &expose(&known, &with(), Looked { commits: 1, ..Looked::default() }),
        Whom::default(),
    );
    let text = terminal(&text, Paint::Plain);
    assert!(text.contains("\nreader unknown  (no recipient that pouch knows)\n  Published in a file"), "{text}");

    let applied = ", annotations: {kubectl.kubernetes.io/last-applied-configuration: '{\"data\":{\"e\":\"hunter2\"}}'}";
    let eu = format!("{{recipient: {EU}, enc: x}}");
    let mut both = Vec::from([sealed(&format!("e: {leaf}, f: {leaf}"), applied, &eu, 0..=1)]);
    both.push(sealed(&format!("e: {other}, f: {other}"), "", &eu, 2..=3));
    // The sealed value has another length by now, but what stood beside it may have been another one.
    let facts = facts(both);
    assert_eq!(asked(&facts, &with())[0], "everybody removed eu/s ab Unknown");
}

#[test]
fn a_retired_region_has_no_recipients_and_escrow_is_said() {
    let facts = facts(Vec::from([stood("us", "s", &[US, OLD], 0..=3)]));
    let retired = fleet(", state: retired");
    let answer = asked(&facts, &Query { fleet: Some(&retired), ..Query::default() });
    assert!(answer.iter().all(|line| line.contains(" removed ")), "{answer:?}");
    let mut with_escrow = fleet("");
    with_escrow.escrow.insert(Recipient::parse(OLD).unwrap());
    let answer = expose(&facts, &Query { fleet: Some(&with_escrow), ..Query::default() }, Looked::default());
    let escrow: Vec<bool> = answer.readers.unwrap().iter().map(|reader| reader.escrow).collect();
    assert_eq!(escrow, [true, false]);
}

#[test]
fn other_fleets_stay_apart() {
    let mut facts = facts(Vec::from([stood("eu", "s", &[EU], 0..=3)]));
    let hash = facts.stood[0].file.sha256.clone();
    let other = format!(
        "{{apiVersion: pouch/v1alpha1, kind: Bundle, fleet: other, metadata: {{name: eu}}, objects: [{{key: {{kind: Secret}}, \
         sha256: '{hash}'}}]}}"
    );
    facts.vouched.read(other.as_bytes(), &mut None, &mut Interner::new()).unwrap();
    let fleet = fleet("");
    let answer = expose(&facts, &Query { fleet: Some(&fleet), ..Query::default() }, Looked::default());
    let reader = &answer.readers.unwrap()[0];
    let told: Vec<_> = reader
        .secrets
        .iter()
        .map(|s| &s.secret)
        .map(|s| (s.fleet.as_deref(), s.region.as_deref(), s.credentials.len()))
        .collect();
    assert_eq!(told, [(Some("acme"), Some("eu-west"), 1), (Some("other"), None, 0)]);
}

#[test]
fn folders_are_found_where_regions_are() {
    for (path, expect) in [
        ("bundles/regions/eu/bundle.yaml", Some("eu")),
        ("regions/eu/core/secrets/a/b.sops.yaml", Some("eu")),
        ("regions/regions/us/x", Some("us")),
        ("regions/eu/core/secrets/regions/x.sops.yaml", Some("eu")),
        ("regions/eu", None),
        ("regions/Eu/x", None),
        ("region/eu/x", None),
        ("", None),
    ] {
        assert_eq!(directory_of(path).map(|directory| directory.to_string()).as_deref(), expect, "{path}");
    }
}

#[test]
fn words_escape_what_histories_hold() {
    let facts = facts(Vec::from([stood("eu", "\"a\\u001b[31m\\n\"", &["\"x\\u202e\""], 0..=3)]));
    let looked = Looked { commits: facts.commits.len(), ..Looked::default() };
    let text = crate::report::exposure::exposure(&expose(&facts, &Query::default(), looked), Whom::default());
    let text = terminal(&text, Paint::Plain);
    assert!(text.contains("a\\u{1b}[31m\\u{a}") && text.contains("x\\u{202e}") && !text.contains('\u{1b}'), "{text}");
}
