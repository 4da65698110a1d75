use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use jiff::Timestamp;
use pouch_core::config::Fleet;
use pouch_core::finding::Place;
use pouch_core::name::ObjectKey;
use pouch_core::object::{Object, RunKey};
use pouch_core::snapshot::{self, Answer, Snapshot, assemble};
use proptest::prelude::*;

use super::*;
use crate::ambient::Ambient;
use crate::settings;
use crate::survey::source::decrypt::{Opener, Seen, Vault};
use crate::survey::source::reading::{Given, Reading};
use crate::survey::source::tests::given;
use crate::survey::source::{self, Indexer};

const CONFIG: &str = "apiVersion: pouch/v1alpha1\nkind: Fleet\nmetadata: {name: f}\n\
    sources: [{name: s, directory: {path: manifests}, defaultNamespace: team}]\noutput: {path: bundles}\nregions: {r: {recipients: [age1hwgm5s760fwcasprk22wc0a8a5lcwm22s32e2484ju7egnueyptsul368q], namespaces: {allowed: ['*']}}}\n";

/// A folder with a configuration and manifests.
struct Tree(tempfile::TempDir);

impl Tree {
    fn new() -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        fs::create_dir(tree.path().join("manifests")).unwrap();
        fs::write(tree.path().join("pouch.yaml"), CONFIG).unwrap();
        tree
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn fleet(&self) -> Fleet {
        let ambient = Ambient::fixed(self.path(), Timestamp::UNIX_EPOCH, &[]);
        settings::load(&self.path().join("pouch.yaml"), &ambient).unwrap().fleet
    }

    /// A reading of the source, as it is indexed or as a whole.
    fn reading(&self, fleet: &Fleet, is_indexed: bool) -> Reading {
        let source = &fleet.sources[0];
        let key = RunKey::new(&[1; 32]).unwrap();
        let indexer = Indexer::new(fleet, source, &key);
        let given = Given { indexer: is_indexed.then_some(&indexer), ..given(self.path()) };
        source::read(source, &given, None).unwrap()
    }

    /// The snapshot of the source, as it is indexed or as a whole.
    fn read(&self, fleet: &Fleet, is_indexed: bool) -> (Snapshot, Option<Library>) {
        let Reading { documents, weighed, complete, unread_words, library, lines, .. } =
            self.reading(fleet, is_indexed);
        let reading = snapshot::Reading { documents, weighed, complete, unread_words, lines, ..Default::default() };
        (assemble(fleet, vec![reading]).0, library)
    }
}

fn aside(snapshot: &Snapshot) -> BTreeSet<ObjectKey> {
    snapshot.objects().filter(|object| object.is_aside()).map(|object| object.key.clone()).collect()
}

fn all(snapshot: &Snapshot) -> Vec<(&ObjectKey, String)> {
    snapshot.objects().map(|object| (&object.key, object.origin.to_string())).collect()
}

fn of_file<'o>(object: &'o Object, name: &str) -> Option<&'o str> {
    let Place::File { path, .. } = &object.origin.place else { return None };
    path.ends_with(name).then_some(path)
}

fn secret(name: &str, value: &str) -> String {
    format!("apiVersion: v1\nkind: Secret\nmetadata:\n  name: {name}\n  namespace: team\nstringData:\n  key: {value}\n")
}

/// The vault of a reading, for names alone, and the snapshot of what is sealed.
fn vault(fleet: &Fleet, reading: Reading, time: &Arc<Time>) -> (Vault, Snapshot) {
    let texts = Texts::new(reading.library.as_ref(), &RunKey::new(&[1; 32]).unwrap(), time);
    let (vault, seen) = Vault::new(fleet, &"s".into(), (Arc::new(Opener::Names), false), (reading.sealed, texts));
    let known = seen.into_iter().filter_map(|seen| if let Seen::Sealed(it) = seen { Some(it) } else { None });
    let reading = snapshot::Reading { sealed: known.collect(), complete: true, ..Default::default() };
    (vault, assemble(fleet, vec![reading]).0)
}

/// Something that may happen to a file with a text.
type Change = fn(&Path, &str);

const CHANGES: [(&str, Change); 9] = [
    ("nothing", |_, _| {}),
    ("another value", |path, text| fs::write(path, text.replace("CANARY", "CANARX")).unwrap()),
    ("another name", |path, text| fs::write(path, text.replace("name", "nama")).unwrap()),
    ("a line before", |path, text| fs::write(path, format!("#\n{text}")).unwrap()),
    ("cut short", |path, text| fs::write(path, text.split_at(text.len() / 2).0).unwrap()),
    ("empty", |path, _| fs::write(path, "").unwrap()),
    ("gone", |path, _| fs::remove_file(path).unwrap()),
    ("a folder", |path, _| {
        fs::remove_file(path).unwrap();
        fs::create_dir(path).unwrap();
    }),
    ("a link", |path, text| {
        let other = path.with_extension("txt");
        fs::write(&other, text).unwrap();
        fs::remove_file(path).unwrap();
        symlink(other, path).unwrap();
    }),
];

fn write_all(folder: &Path, files: &[(&str, String)]) {
    for (name, text) in files {
        let path = folder.join(name);
        let _ = (fs::remove_file(&path), fs::remove_dir(&path));
        fs::write(path, text).unwrap();
    }
}

#[test]
fn contents_that_do_not_fit_are_left_to_those_who_want_most() {
    let tree = Tree::new();
    let files = [
        ("large.yaml", secret("large", &"x".repeat(10_000))),
        ("one.yaml", secret("one", "a")),
        ("two.yaml", secret("two", "b")),
    ];
    write_all(&tree.path().join("manifests"), &files);
    let fleet = tree.fleet();
    let (snapshot, library) = tree.read(&fleet, true);
    let (library, keys) = (library.unwrap(), aside(&snapshot));
    let read = |memory: usize| {
        let (again, taken) = library.read((&fleet, &snapshot, 0), &keys, memory);
        assert!(again.len() == 3 && taken <= memory);
        let name = |(key, read): &Again| read.is_ok().then(|| key.name.to_string());
        let why = again.iter().find_map(|(_, read)| read.as_ref().err().map(|reason| reason.why.clone()));
        (again.iter().filter_map(name).collect::<Vec<_>>().join(" "), why.unwrap_or_default())
    };
    let (small, why) = read(20_000);
    assert_eq!(small, "one two");
    assert!(why.contains("large.yaml takes more memory than there is for its source"), "{why}");
    assert_eq!(read(0).0, "");
    let (all, why) = read(40_000);
    assert_eq!((all.split(' ').count(), why), (3, String::new()), "the control has room for all");
}

/// A source that had its time when it was read first has no more of it for its contents, sealed or not.
#[test]
fn where_no_time_is_left_no_content_is_read() {
    let tree = Tree::new();
    let sealed = |name| secret(name, "CANARY") + "sops:\n  mac: m\n";
    let files = [("one.yaml", secret("one", "a")), ("two.yaml", sealed("two")), ("three.yaml", sealed("three"))];
    write_all(&tree.path().join("manifests"), &files);
    let fleet = tree.fleet();
    let late = "its source was read no further: reading it takes longer than limits.sources.time allows (0s)";
    let over = Time::of_seconds(0);
    over.spend(|| ());
    for (time, expect) in [(&over, [late; 3]), (&Time::of_seconds(600), [""; 3])] {
        let (snapshot, library) = tree.read(&fleet, true);
        let again = library.unwrap().within(time).read((&fleet, &snapshot, 0), &aside(&snapshot), usize::MAX).0;
        let mut whys: Vec<String> =
            again.into_iter().map(|(_, read)| read.map_or_else(|r| r.why, |_| String::new())).collect();
        let (vault, snapshot) = vault(&fleet, tree.reading(&fleet, true), time);
        let keys = ["two", "three"].map(|name| ObjectKey::secret("team".into(), name.into()));
        let why = |answer| if let Answer::Sealed(reason) = answer { reason.why } else { String::new() };
        whys.extend(vault.answer(&snapshot, 0, keys.into()).into_iter().map(|(_, answer)| why(answer)));
        assert_eq!(whys, expect);
    }
}

/// Whatever happens to a file between the two readings, what it held is not read, and everything else is.
#[test]
fn what_changed_since_it_was_indexed_is_not_read() {
    let tree = Tree::new();
    let folder = tree.path().join("manifests");
    let files = [
        ("one.yaml", secret("a", "CANARY1")),
        ("two.yaml", format!("# b\n---\n{}---\n{}", secret("b", "CANARY2"), secret("c", "CANARY3"))),
        (
            "three.json",
            r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"d"},"data":{"key":"CANARY4"}}"#.into(),
        ),
    ];
    write_all(&folder, &files);
    let fleet = tree.fleet();
    let (snapshot, library) = tree.read(&fleet, true);
    let library = library.unwrap();
    let keys = aside(&snapshot);
    assert_eq!(keys.len(), 4);
    for (name, text) in &files {
        for (what, change) in CHANGES {
            write_all(&folder, &files);
            change(&folder.join(name), text);
            for (key, read) in library.read((&fleet, &snapshot, 0), &keys, usize::MAX).0 {
                let held = snapshot.get(&key).unwrap();
                let is_changed = what != "nothing" && of_file(held, name).is_some();
                match read {
                    Ok(object) => {
                        // What stands in front of a document alone leaves it as it is.
                        assert!(!is_changed, "{what}: {key} of {name} was read");
                        assert!(held.same_content(&object) && !object.is_aside(), "{what}: {key}");
                    }
                    Err(reason) => {
                        assert!(is_changed, "{what}: {key} was not read: {reason:?}");
                        assert!(reason.why.contains(name) && !format!("{reason:?}").contains("CANAR"), "{reason:?}");
                    }
                }
            }
        }
    }
}

/// Nor is what SOPS sealed opened from another text than was looked at.
#[test]
fn what_changed_of_a_sealed_file_is_not_opened() {
    let tree = Tree::new();
    let folder = tree.path().join("manifests");
    let sealed = |name, value| secret(name, value) + "sops:\n  mac: CANARY\n";
    let files = [
        ("one.yaml", sealed("a", "CANARY1")),
        ("two.yaml", format!("# b\n---\n{}---\n{}", sealed("b", "CANARY2"), sealed("c", "CANARY3"))),
        (
            "three.json",
            r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"d"},"data":{"key":"CANARY"},"sops":{"mac":"m"}}"#
                .into(),
        ),
    ];
    write_all(&folder, &files);
    let fleet = tree.fleet();
    let reading = tree.reading(&fleet, true);
    assert_eq!((reading.sealed.len(), reading.documents.len()), (3, 0));
    let (mut vault, snapshot) = vault(&fleet, reading, &Arc::default());
    let keys: BTreeSet<ObjectKey> =
        ["a", "b", "c", "d"].map(|name| ObjectKey::secret("team".into(), name.into())).into();
    vault.put_aside(|_| false);
    for (name, text) in &files {
        for (what, change) in CHANGES {
            write_all(&folder, &files);
            change(&folder.join(name), text);
            for (key, answer) in vault.answer(&snapshot, 0, keys.clone()) {
                let is_changed = what != "nothing" && of_file(snapshot.get(&key).unwrap(), name).is_some();
                match answer {
                    Answer::Unseen(..) => assert!(!is_changed, "{what}: {key} of {name} was read"),
                    Answer::Sealed(reason) => {
                        assert!(is_changed, "{what}: {key} was not read: {reason:?}");
                        assert!(reason.why.contains(name) && !format!("{reason:?}").contains("CANAR"), "{reason:?}");
                    }
                    _ => panic!("{what}: {key} has another answer"),
                }
            }
        }
    }
}

/// Two files with one sealed value are looked at as they were read: changing the copy meanwhile stops neither.
#[test]
fn a_copy_is_looked_at_as_it_was_read() {
    let tree = Tree::new();
    let folder = tree.path().join("manifests");
    let value = "ENC[AES256_GCM,data:qqqq,iv:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=,tag:AAAAAAAAAAAAAAAAAAAAAA==,type:str]";
    let sealed = |name, value| secret(name, value) + "sops:\n  mac: m\n";
    let files = [("a.yaml", sealed("a", value)), ("b.yaml", sealed("b", value)), ("c.yaml", sealed("c", "CANARY"))];
    write_all(&folder, &files);
    let fleet = tree.fleet();
    let (mut vault, snapshot) = vault(&fleet, tree.reading(&fleet, true), &Arc::default());
    vault.put_aside(|file| snapshot.all_in_doubt().contains(&(0, file)));
    for name in ["a.yaml", "b.yaml", "c.yaml"] {
        fs::write(folder.join(name), sealed("x", "CANARX")).unwrap();
    }
    let keys = ["a", "b", "c"].map(|name| ObjectKey::secret("team".into(), name.into()));
    let answers = vault.answer(&snapshot, 0, keys.into());
    let found = answers.iter().map(|(key, answer)| (key.name.as_str(), matches!(answer, Answer::Unseen(..))));
    assert_eq!(found.collect::<Vec<_>>(), [("a", true), ("b", true), ("c", false)]);
    let Answer::Sealed(reason) = &answers[2].1 else { panic!("it was opened") };
    assert!(reason.why.ends_with("c.yaml changed after it was read"), "{reason:?}");
}

/// A manifest, written in many ways.
fn written() -> impl Strategy<Value = (String, bool)> {
    let name = prop_oneof![Just("a"), Just("b"), Just("c"), Just("\"d\""), Just("{{ .x }}"), Just("[]")];
    let kind = prop_oneof![
        6 => Just("Secret"), 3 => Just("ConfigMap"), 1 => Just("Deployment"), 1 => Just("Secert"), 1 => Just("Credential"),
        1 => Just("SealedSecret"),
    ];
    let value = prop_oneof![
        Just("x"),
        Just("|\n    a\n    ---b\n"),
        Just("\"é\\n\""),
        Just("&v y"),
        Just("!!binary eA=="),
        Just("1"),
        Just("~"),
        Just("ENC[AES256_GCM,data:qq==]"),
    ];
    let field = prop_oneof![8 => Just("data"), 2 => Just("stringData"), 1 => Just("dta"), 1 => Just("spec")];
    let yaml = (name, kind, value, field, 0..4_usize).prop_map(|(name, kind, value, field, shape)| {
        let (before, behind) = [("", ""), ("# x\n", ""), ("%YAML 1.2\n---\n", ""), ("", "...\n")][shape];
        format!("{before}apiVersion: v1\nkind: {kind}\nmetadata:\n  name: {name}\n{field}:\n  key: {value}\n{behind}")
    });
    let json =
        (prop_oneof![Just("a"), Just("e")], prop_oneof![Just("Secret"), Just("List")]).prop_map(|(name, kind)| {
            let item = format!(
                r#"{{"apiVersion":"v1","kind":"Secret","metadata":{{"name":"{name}"}},"data":{{"k":"eA=="}}}}"#
            );
            if kind == "List" { format!(r#"{{"apiVersion":"v1","kind":"List","items":[{item}]}}"#) } else { item }
        });
    prop_oneof![4 => yaml.prop_map(|text| (text, false)), 1 => json.prop_map(|text| (text, true))]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    /// A document is in the index if and only if it is among what is read, in the same place; and what is asked for again is
    /// what the whole reading has.
    #[test]
    fn the_index_and_the_reader_agree(
        files in proptest::collection::vec(proptest::collection::vec(written(), 1..5), 1..4),
        form in 0..3_usize,
    ) {
        let tree = Tree::new();
        for (number, documents) in files.iter().enumerate() {
            let (json, yaml): (Vec<_>, Vec<_>) = documents.iter().partition(|(_, is_json)| *is_json);
            let texts = |all: &[&(String, bool)]| all.iter().map(|(text, _)| text.clone()).collect::<Vec<_>>();
            let text = texts(&yaml).join("---\n");
            let text = [text.clone(), format!("\u{feff}{text}"), text.replace('\n', "\r\n")][form].clone();
            fs::write(tree.path().join(format!("manifests/{number}.yaml")), text).unwrap();
            fs::write(tree.path().join(format!("manifests/{number}.json")), texts(&json).join("\n")).unwrap();
        }
        let fleet = tree.fleet();
        let ((whole, _), (mut indexed, library)) = (tree.read(&fleet, false), tree.read(&fleet, true));
        prop_assert_eq!(all(&whole), all(&indexed));
        let keys = aside(&indexed);
        if let Some(library) = library {
            let (again, taken) = library.read((&fleet, &indexed, 0), &keys, usize::MAX);
            prop_assert!(taken > 0 || keys.is_empty());
            prop_assert_eq!(again.len(), keys.len());
            prop_assert!(again.iter().all(|(_, read)| read.is_ok()), "{:?}", again.iter().find_map(|(_, read)| read.as_ref().err()));
            indexed.take_again(again);
        }
        for (one, other) in whole.objects().zip(indexed.objects()) {
            prop_assert!(!other.is_aside() && one.same_content(other) && other.same_content(one), "{}", one.key);
            prop_assert_eq!(&one.faults, &other.faults);
        }
    }
}
