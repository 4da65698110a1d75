//! SOPS files: what is sealed opens, what was touched does not, and errors show no value.
//!
//! Everything is sealed with [`DATA_KEY`], which the corpus shares, so that opening succeeds too.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pouch_core::node::{Interner, Node};
use pouch_core::recipient::Recipient;
use pouch_core::sops::cipher::{self, Cipher, CipherError, Type};
use pouch_core::sops::read::MAX_STANZAS;
use pouch_core::sops::{self, Ingredients, OpenError, SealError, Sealed, SealedText, metadata};
use pouch_core::yaml::emit::{Tree, emit};
use pouch_core::yaml::read::{documents, read_ordered, text_of};

use super::input::{document, first_line, holds_no_text, leaves};
use super::yaml::comes_back;

/// The data key of every file of this target's corpus. It protects nothing.
const DATA_KEY: [u8; 32] = [b'f'; 32];

const RECIPIENT: &str = "age16mz6gm4kw7dzhhzv62rhzxl473pg77aqzs09a49zkzjv0f09ystqg4r53f";

/// Any text as a SOPS file.
pub fn run_open(data: &[u8]) {
    let Some(node) = document(data) else { return };
    let stanzas = sops::stanzas(&node);
    let listed = node.at(&[metadata::KEY, "age"]).map(Node::items).unwrap_or_default();
    assert!(stanzas.len() <= listed.len(), "a stanza came from nowhere");
    leaves(&node, &mut |_, _, leaf| {
        if let Node::Text(text) = leaf {
            value(text);
        }
    });
    // Every way to open a file belongs here, each with what it promises.
    match sops::decrypt(&node, &DATA_KEY) {
        Ok(opened) => {
            assert!(opened.get(metadata::KEY).is_none(), "the block is gone");
            comes_back(&opened);
        }
        Err(error) => shows_no_value(&error, &node),
    }
    match sops::open(&node, &DATA_KEY) {
        Ok(entries) => assert!(entries.windows(2).all(|pair| pair[0].0 < pair[1].0), "entries are sorted"),
        Err(error) => shows_no_value(&error, &node),
    }
    foreign(data, &node);
}

/// The whole stream as SOPS itself may have written it, under any rule.
fn foreign(data: &[u8], first: &Node) {
    let Ok(text) = text_of(data) else { return };
    let ordered: Result<Vec<_>, _> =
        documents(text).map(|document| read_ordered(&document, &mut Interner::new())).collect();
    let Ok(ordered) = ordered else { return };
    let count = ordered.len();
    let opened = Sealed::new(ordered).and_then(|file| {
        assert!((1..=MAX_STANZAS).contains(&file.stanzas().len()), "a file without age, or with too much of it");
        file.open(&DATA_KEY)
    });
    match opened {
        Ok(opened) => {
            assert_eq!(opened.len(), count, "a document is missing");
            for document in &opened {
                assert!(document.get(metadata::KEY).is_none(), "the block is gone");
                comes_back(document);
            }
        }
        // What stands in a later document may name its own keys, and only the first is at hand to compare.
        Err(error) if count == 1 => shows_no_value(&error, first),
        Err(_) => {}
    }
}

/// One text as a sealed value: what has the form has it in one spelling, and opens with its key alone.
fn value(text: &str) {
    let opened = Cipher::new(&DATA_KEY).open(text, "");
    assert_eq!(cipher::is_sealed(text), matches!(opened, Ok(_) | Err(CipherError::Mismatch)));
    let fields = || text.strip_prefix(cipher::MARK)?.strip_suffix(']')?.split(',').collect::<Vec<_>>().try_into().ok();
    if cipher::is_sealed(text) {
        let [data, iv, tag, _]: [&str; 4] = fields().expect("four fields");
        for (field, name, length) in [(data, "data:", None), (iv, "iv:", Some(32)), (tag, "tag:", Some(16))] {
            let field = field.strip_prefix(name).expect("fields stand in their order");
            let bytes = STANDARD.decode(field).expect("base64");
            assert_eq!(STANDARD.encode(&bytes), field, "a second spelling");
            assert!(length.is_none_or(|length| length == bytes.len()));
        }
    }
    if let Err(error) = opened {
        holds_no_text(&error);
    }
}

/// An error may name keys, and nothing else of a file.
fn shows_no_value(error: &OpenError, node: &Node) {
    let blank = match error {
        OpenError::Value(_, why) => OpenError::Value(String::new(), *why),
        OpenError::NotSealed(_) => OpenError::NotSealed(String::new()),
        OpenError::SealedInClear(_) => OpenError::SealedInClear(String::new()),
        OpenError::Type(_) => OpenError::Type(String::new()),
        OpenError::NotBase64(_) => OpenError::NotBase64(String::new()),
        other => other.clone(),
    };
    let (own, said) = (format!("{blank} {blank:?}"), format!("{error} {error:?}"));
    leaves(node, &mut |path, _, leaf| {
        if let Node::Text(text) = leaf {
            let keyed = said.contains(path) && (path.contains(&**text) || format!("{path:?}").contains(&**text));
            let quoted = text.len() >= 8 && said.contains(&**text) && !own.contains(&**text) && !keyed;
            assert!(!quoted || named_by_a_key(node, text), "an error repeats a value");
        }
    });
}

/// Whether a text also stands in the path of some leaf.
fn named_by_a_key(node: &Node, text: &str) -> bool {
    let mut named = false;
    leaves(node, &mut |path, _, _| named |= path.contains(text) || format!("{path:?}").contains(text));
    named
}

/// A document to seal, behind a line that says what is then done to it: where, and which byte goes there.
pub fn run_seal(data: &[u8]) {
    let (choices, text) = first_line(data);
    let Some(node) = document(text) else { return };
    let sealed = match seal(&node) {
        Ok(sealed) => sealed,
        Err(error) => return holds_no_text(&error),
    };
    let read = document(sealed.text.as_bytes()).expect("what is sealed is YAML");
    let opened = sops::decrypt(&read, &DATA_KEY).expect("what is sealed opens");
    assert!(opened == node, "what is opened is something else");
    assert!(sops::decrypt(&read, &[8; 32]).is_err(), "another key opens it");
    nothing_stays_readable(&sealed.text, &node);
    retype(choices, &sealed.text, &node);
    spoil(choices, &sealed.text, &node);
}

fn seal(node: &Node) -> Result<SealedText, SealError> {
    let recipients = [Recipient::parse(RECIPIENT).expect("a recipient")];
    let stanza = "-----BEGIN AGE ENCRYPTED FILE-----\nYWdl\n-----END AGE ENCRYPTED FILE-----\n";
    let stanzas = [(recipients[0].clone(), stanza.to_owned())];
    let mut ivs = (0_u64..).map(|count| {
        let mut iv = [0; 32];
        iv[..8].copy_from_slice(&count.to_le_bytes());
        iv
    });
    let ingredients = Ingredients {
        data_key: &DATA_KEY,
        ivs: &mut ivs,
        last_modified: "2026-11-21T07:51:52Z",
        recipients: &recipients,
        stanzas: &stanzas,
    };
    sops::seal(Tree::of(node), ingredients)
}

fn nothing_stays_readable(written: &str, node: &Node) {
    // A value may be a word of the block, such as its rule.
    let mut open = seal(&Node::empty_map()).expect("a map").text;
    // Or of what stands beside every value: the IVs here only count.
    written.split(',').filter(|field| field.starts_with("iv:") || field.starts_with("tag:")).for_each(|field| {
        open.push_str(field);
        open.push('\n');
    });
    leaves(node, &mut |path, sealed, leaf| {
        open.push_str(path);
        if let (false, Node::Text(text)) = (sealed, leaf) {
            open.push_str(text);
        }
        open.push('\n');
    });
    leaves(node, &mut |_, sealed, leaf| {
        if let (true, Node::Text(text)) = (sealed, leaf) {
            let shown = text.len() >= 12 && written.contains(&**text);
            assert!(!shown || open.contains(&**text), "a value stands in the sealed file");
        }
    });
}

/// What a value's type says is part of no MAC: a value with another type is that type or is refused.
fn retype(choices: &[u8], sealed: &str, node: &Node) {
    // Open text can hold the word too, and counts for the MAC.
    if emit(&Tree::of(node)).contains("type:str]") {
        return;
    }
    let kinds = ["int", "float", "bool", "time", "str", "bytes", "comment"];
    let kind = kinds[usize::from(choices.first().copied().unwrap_or_default()) % kinds.len()];
    let mut in_block = false;
    let retype = |line: &str| {
        in_block = line == "sops:\n" || in_block && line.starts_with(' ');
        if in_block { line.to_owned() } else { line.replace("type:str]", &format!("type:{kind}]")) }
    };
    let retyped: String = sealed.split_inclusive('\n').map(retype).collect();
    let Some(read) = document(retyped.as_bytes()) else { panic!("a type is only a word") };
    let was = concatenated(node, true);
    match sops::decrypt(&read, &DATA_KEY) {
        Ok(opened) => {
            let parsed = |leaf: &Node, text: &str| match leaf {
                Node::Int(value) => kind == "int" && text.parse() == Ok(*value),
                Node::Float(value) => kind == "float" && text.parse() == Ok(*value),
                // What Go's ParseBool takes; the MAC counts the value, so other spellings seldom come so far.
                Node::Bool(value) => {
                    kind == "bool"
                        && text.to_ascii_lowercase().starts_with(if *value { ['1', 't'] } else { ['0', 'f'] })
                }
                Node::Text(value) => matches!(kind, "str" | "time" | "bytes") && **value == *text,
                _ => false,
            };
            let mut values = Vec::new();
            leaves(&opened, &mut |_, sealed, leaf| {
                let is_value = !matches!(leaf, Node::Null) && !matches!(leaf, Node::Text(text) if text.is_empty());
                if sealed && is_value {
                    values.push(leaf.clone());
                }
            });
            assert!(values.len() == was.len(), "a value is missing");
            assert!(values.iter().zip(&was).all(|(leaf, (_, text))| parsed(leaf, text)), "not what its type says");
        }
        Err(error) => {
            assert!(matches!(error, OpenError::Type(_)), "a type hides what a value is: {error}");
            shows_no_value(&error, &read);
        }
    }
}

/// One byte changed: the file is refused, or every value still stands where it stood.
fn spoil(choices: &[u8], sealed: &str, node: &Node) {
    let &[high, low, byte, ..] = choices else { return };
    let mut bytes = sealed.as_bytes().to_vec();
    let at = usize::from(u16::from_be_bytes([high, low])) % bytes.len();
    bytes[at] = byte;
    let Some(read) = document(&bytes) else { return };
    match sops::decrypt(&read, &DATA_KEY) {
        Ok(opened) => {
            assert!(concatenated(&opened, true) == concatenated(node, true), "a sealed value was changed or moved");
            // In any order: a changed key may sort elsewhere here and stay where it is in the file.
            let open = |node: &Node| {
                let mut texts: Vec<String> = concatenated(node, false).into_iter().map(|(_, text)| text).collect();
                texts.sort();
                texts
            };
            assert!(open(&opened) == open(node), "an open value was changed");
        }
        Err(error) => shows_no_value(&error, &read),
    }
}

/// The sealed leaves, or the others, that count for the MAC, with their paths.
fn concatenated(node: &Node, wanted: bool) -> Vec<(String, String)> {
    let mut found = Vec::new();
    leaves(node, &mut |path, sealed, leaf| {
        let text = match leaf {
            Node::Text(text) => text.to_string(),
            Node::Bool(value) => if *value { "True" } else { "False" }.to_owned(),
            Node::Int(value) => value.to_string(),
            Node::Uint(value) => value.to_string(),
            Node::Float(value) => value.to_string(),
            Node::Time(value) => value.to_string(),
            Node::Null | Node::List(_) | Node::Map(_) | Node::InOrder(_) => return,
        };
        if sealed == wanted && !text.is_empty() {
            found.push((path.to_owned(), text));
        }
    });
    found
}

/// The types stand here so that a new one is thought of.
const _: fn(Type) -> &'static str = |kind| match kind {
    Type::Str => "str",
    Type::Int => "int",
    Type::Float => "float",
    Type::Bool => "bool",
    Type::Time => "time",
    Type::Bytes => "bytes",
    Type::Comment => "comment",
};
