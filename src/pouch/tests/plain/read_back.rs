//! What kustomize reads back of files that pouch would publish, and what the model says of them.
//!
//! `POUCH_READ_BACK` says how many files are made, and `POUCH_SEED` where they begin.

use std::fs;
use std::path::Path;

use pouch_core::node::{Interner, Node};
use pouch_core::yaml::consumers::{Trouble, trouble};
use pouch_core::yaml::emit::{Tree, emit};
use pouch_core::yaml::read;

use super::slips::Dice;
use crate::support::{Age, Kustomize, Sops};

/// How many files are made where nobody says otherwise: 2 % of what the soak makes.
const FILES: usize = 400;

/// Characters at which readers of YAML and JSON differ, beside others that trouble nobody.
const CHARACTERS: [char; 40] = [
    'a',
    'Z',
    '0',
    ' ',
    '-',
    ':',
    '#',
    '"',
    '\'',
    '\\',
    '{',
    '%',
    '@',
    '&',
    '\t',
    '\n',
    '\r',
    '\0',
    '\u{7}',
    '\u{1b}',
    '\u{7e}',
    '\u{7f}',
    '\u{80}',
    '\u{84}',
    '\u{85}',
    '\u{86}',
    '\u{9f}',
    '\u{a0}',
    '\u{ad}',
    'é',
    '\u{200b}',
    '\u{2028}',
    '\u{2029}',
    '\u{fdd0}',
    '\u{feff}',
    '\u{fffd}',
    '\u{fffe}',
    '\u{ffff}',
    '\u{1f600}',
    '\u{1fffe}',
];

fn words(dice: &mut Dice, is_odd: bool) -> String {
    let length = 1 + dice.roll(8);
    let among = if is_odd { CHARACTERS.len() } else { 14 };
    (0..length).map(|_| CHARACTERS[dice.roll(among)]).collect()
}

/// An object with texts where pouch publishes some in the open.
fn object(dice: &mut Dice, name: &str) -> String {
    let odd = dice.roll(4);
    let mut text = |place: usize| words(dice, odd == place);
    let annotations = Tree::map([("example.com/note", Tree::text(text(0)))]);
    let metadata = |annotations| {
        Tree::map([
            ("annotations", annotations),
            ("name", Tree::text(name.to_owned())),
            ("namespace", Tree::text("team-a")),
        ])
    };
    let head = |kind: &'static str| [("apiVersion", Tree::text("v1")), ("kind", Tree::text(kind))];
    let tree = if odd == 3 {
        let data = Tree::map([("key", Tree::text(text(3)))]);
        Tree::map(head("ConfigMap").into_iter().chain([("metadata", metadata(annotations)), ("data", data)]))
    } else {
        let fields = [("metadata", metadata(annotations)), ("type", Tree::text(text(1)))];
        Tree::map(head("Secret").into_iter().chain(fields))
    };
    emit(&tree).to_string()
}

/// All texts of a document, in order.
fn texts(node: &Node, found: &mut Vec<String>) {
    match node {
        Node::Text(text) => found.push(text.to_string()),
        Node::List(items) => items.iter().for_each(|item| texts(item, found)),
        Node::Map(entries) => entries.iter().for_each(|(key, node)| {
            found.push(key.to_string());
            texts(node, found);
        }),
        _ => {}
    }
}

fn read(text: &str) -> Vec<Vec<String>> {
    let mut names = Interner::new();
    let read = |document: read::Document<'_>| {
        let mut found = Vec::new();
        texts(&read::read(&document, &mut names).unwrap(), &mut found);
        found.sort();
        found
    };
    let mut documents: Vec<Vec<String>> = read::documents(text).map(read).collect();
    documents.sort();
    documents
}

fn build(kustomize: &Kustomize, folder: &Path, files: &[(String, String)]) -> Option<Vec<Vec<String>>> {
    let names: Vec<String> = files.iter().map(|(name, _)| format!("- {name}.yaml\n")).collect();
    fs::write(folder.join("kustomization.yaml"), format!("resources:\n{}", names.concat())).unwrap();
    for (name, text) in files {
        fs::write(folder.join(format!("{name}.yaml")), text).unwrap();
    }
    let built = kustomize.build(folder);
    // What cannot even be read by us was changed.
    let text = String::from_utf8(built.stdout).ok().filter(|_| built.status.success())?;
    std::panic::catch_unwind(|| read(&text)).ok()
}

/// One of so many is sealed and opened, too: sops takes longer than all the others.
const SEALED_OF: usize = 20;

pub(super) fn numbered(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

#[test]
fn kustomize_reads_back_what_the_model_says() {
    let Some(kustomize) = Kustomize::find() else { return };
    let mut dice = Dice(numbered("POUCH_SEED").unwrap_or(36));
    let count = numbered("POUCH_READ_BACK").map_or(FILES, |count| usize::try_from(count).unwrap());
    let files: Vec<(String, String)> =
        (0..count).map(|number| (format!("o-{number}"), object(&mut dice, &format!("o-{number}")))).collect();
    let (refused, taken): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|(_, text)| trouble(text.as_bytes()).is_some());
    assert!(refused.len() * 20 > count && taken.len() * 4 > count, "{} refused, {} taken", refused.len(), taken.len());
    let folder = tempfile::tempdir().unwrap();
    for some in taken.chunks(500) {
        let mut all: Vec<Vec<String>> = some.iter().flat_map(|(_, text)| read(text)).collect();
        all.sort();
        if build(&kustomize, folder.path(), some) != Some(all) {
            let alone = some
                .iter()
                .find(|one| build(&kustomize, folder.path(), std::slice::from_ref(*one)) != Some(read(&one.1)));
            panic!("kustomize does not read back what the model lets pass: {alone:?}");
        }
    }
    // Where another character of a text is escaped, kustomize escapes these too; else it writes them as they are. So it is
    // with what begins with a tab.
    let is_break_alone = |text: &str| match trouble(text.as_bytes()) {
        Some(Trouble::Character(c)) => matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}'),
        Some(Trouble::Tab) => true,
        Some(Trouble::Unparsable) | None => false,
    };
    let (breaks, others): (Vec<_>, Vec<_>) = refused.iter().partition(|(_, text)| is_break_alone(text));
    let is_read =
        |one: &&(String, String)| build(&kustomize, folder.path(), std::slice::from_ref(one)) == Some(read(&one.1));
    assert!(breaks.iter().filter(|one| is_read(one)).count() < breaks.len(), "kustomize reads back every break");
    for one in others {
        let built = build(&kustomize, folder.path(), std::slice::from_ref(one));
        assert_ne!(built, Some(read(&one.1)), "kustomize reads back {:?}", one.1);
    }
}

/// The control of the rule for tabs: the generated files have too few of them.
#[test]
fn several_lines_that_begin_with_a_tab_are_not_read_back() {
    let (Some(kustomize), Some(sops), Some(age)) = (Kustomize::find(), Sops::find(), Age::find()) else { return };
    let scratch = tempfile::tempdir().unwrap();
    let [folder, key, plain, sealed] =
        ["built", "key.txt", "plain.yaml", "sealed.sops.yaml"].map(|name| scratch.path().join(name));
    fs::create_dir(&folder).unwrap();
    let recipient = age.keygen(&key);
    for (text, is_read) in [("\"\\ta\\nb\"", false), ("\"\\ta\"", true), ("\"a\\n\\tb\"", true)] {
        let head = "apiVersion: v1\nkind: Secret\nmetadata:\n";
        let annotated = format!("{head}  annotations:\n    example.com/note: {text}\n  name: o\n  namespace: team-a\n");
        let file = ("o".to_owned(), annotated);
        assert_eq!(trouble(file.1.as_bytes()).is_none(), is_read, "{text}");
        assert_eq!(build(&kustomize, &folder, std::slice::from_ref(&file)) == Some(read(&file.1)), is_read, "{text}");
        let typed = format!("{head}  name: o\n  namespace: team-a\ntype: {text}\ndata:\n  key: dmFsdWU=\n");
        assert_eq!(trouble(typed.as_bytes()).is_none(), is_read, "{text}");
        fs::write(&plain, &typed).unwrap();
        fs::write(&sealed, sops.sealed(&plain, &recipient)).unwrap();
        let opened = sops.decrypt(&sealed, &key);
        let is_same = opened.status.success() && read(&String::from_utf8(opened.stdout).unwrap()) == read(&typed);
        assert_eq!(is_same, is_read, "{text}");
    }
}

/// The open part of a sealed file stands in what sops hands on as it was.
#[test]
fn sops_and_kustomize_read_back_sealed_files() {
    let (Some(kustomize), Some(sops), Some(age)) = (Kustomize::find(), Sops::find(), Age::find()) else { return };
    let mut dice = Dice(numbered("POUCH_SEED").unwrap_or(63));
    let count = numbered("POUCH_READ_BACK").map_or(FILES, |count| usize::try_from(count).unwrap()) / SEALED_OF;
    let scratch = tempfile::tempdir().unwrap();
    let (folder, key, plain) =
        (scratch.path().join("built"), scratch.path().join("key.txt"), scratch.path().join("plain.yaml"));
    fs::create_dir(&folder).unwrap();
    let recipient = age.keygen(&key);
    let made = (0..).map(|number| (format!("o-{number}"), object(&mut dice, &format!("o-{number}"))));
    let taken = made.filter(|(_, text)| text.contains("kind: Secret") && trouble(text.as_bytes()).is_none());
    let taken = taken.map(|(name, text)| (name, format!("{text}data:\n  key: dmFsdWU=\n")));
    let taken: Vec<(String, String)> = taken.take(count).collect();
    let opened = taken.iter().map(|(name, text)| {
        fs::write(&plain, text).unwrap();
        let sealed = scratch.path().join("sealed.sops.yaml");
        fs::write(&sealed, sops.sealed(&plain, &recipient)).unwrap();
        (name.clone(), String::from_utf8(sops.opened(&sealed, &key)).unwrap())
    });
    let opened: Vec<(String, String)> = opened.collect();
    let mut all: Vec<Vec<String>> = taken.iter().flat_map(|(_, text)| read(text)).collect();
    all.sort();
    assert_eq!(build(&kustomize, &folder, &opened), Some(all));
}
