//! Nested: files that SOPS sealed as a whole, as entries of a Secret that kustomize generates.
//!
//! kustomize is given a word in the place of each file, which says in what it builds where the content goes. A file is opened by
//! the form that the name of its entry tells, as Flux does: YAML and JSON, and else any bytes, which SOPS keeps in JSON. YAML
//! comes out with its keys in another order, and without comments.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pouch_core::json;
use pouch_core::node::{Interner, Key, Node};
use pouch_core::snapshot::{Proof, Reason};
use pouch_core::sops::cipher::MARK;
use pouch_core::sops::{OpenError, Sealed};
use pouch_core::yaml::emit::{Tree, emit};
use pouch_core::yaml::read::{self as yaml, Document};
use zeroize::Zeroizing;

use super::sealed::{Objects, SealedFile};
use super::shut::{locked, not_opened};
use crate::age::Identities;

/// How a file is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Yaml,
    Json,
    /// Bytes, in JSON.
    Bytes,
}

impl Form {
    fn of(entry: &str) -> Self {
        match entry.rsplit_once('.') {
            Some((_, "yaml" | "yml")) => Self::Yaml,
            Some((_, "json")) => Self::Json,
            _ => Self::Bytes,
        }
    }
}

/// The forms in which SOPS seals files that are not opened, by the ends of entries.
pub(super) const OTHERS: [&str; 2] = [".env", ".ini"];

/// The word that stands in the place of a file, as kustomize prints it.
pub(super) fn encoded(word: &str) -> String {
    STANDARD.encode(word)
}

/// The text that stands in the place of a value until the file with this number is opened.
fn placeholder(number: usize) -> String {
    format!("{MARK}nested:{number}]")
}

/// A generated Secret with placeholders for the files that it has, and which those are, in the order of the placeholders;
/// none if it has none. `file` tells the file that a value stands for.
pub(super) fn placed(secret: &Node, file: impl Fn(&str) -> Option<usize>) -> Option<(Node, Vec<usize>)> {
    let mut files = Vec::new();
    let mut entry = |(key, value): &(Key, Node)| match value.as_str().and_then(&file) {
        Some(found) => {
            files.push(found);
            (key.clone(), Node::text(&placeholder(files.len().saturating_sub(1))))
        }
        None => (key.clone(), value.clone()),
    };
    let data: Vec<(Key, Node)> = secret.get("data")?.entries().iter().map(&mut entry).collect();
    (!files.is_empty()).then(|| (with_data(secret, data), files))
}

fn with_data(secret: &Node, data: Vec<(Key, Node)>) -> Node {
    let rest = secret.entries().iter().filter(|(key, _)| **key != *"data").cloned();
    Node::map(rest.chain([(Key::from("data"), Node::map(data))]).collect())
}

/// The Secret of a file with the contents of all its files.
///
/// # Errors
/// Where one of them does not open.
pub(super) fn opened(
    file: &SealedFile,
    texts: &[Cow<'_, str>],
    identities: &Identities,
) -> Result<(Vec<Result<Objects, Reason>>, Proof), Reason> {
    let Some((secret, origin)) = file.parts.first().and_then(|part| part.documents.first()) else {
        return Ok((Vec::new(), None));
    };
    let mut data = Vec::new();
    for (key, value) in secret.get("data").map(Node::entries).unwrap_or_default() {
        let number = value.as_str().and_then(|text| (0..texts.len()).find(|number| *text == placeholder(*number)));
        let value = match number.and_then(|number| texts.get(number)) {
            Some(text) => Node::text(&Zeroizing::new(STANDARD.encode(content(file, (key, text), identities)?))),
            None => value.clone(),
        };
        data.push((key.clone(), value));
    }
    let objects = vec![Ok(vec![(with_data(secret, data), origin.clone())])];
    Ok((objects, None))
}

/// The content of a file, for an entry of this name.
fn content(
    file: &SealedFile,
    (entry, text): (&str, &str),
    identities: &Identities,
) -> Result<Zeroizing<String>, Reason> {
    let named = |reason: Reason| Reason { why: format!("the file of its entry {entry}: {}", reason.why), ..reason };
    let not_opened = |error: OpenError| named(not_opened(&error, None));
    let form = Form::of(entry);
    let mut interner = Interner::new();
    let read = match form {
        Form::Yaml => yaml::read_ordered(&Document::whole(text), &mut interner),
        Form::Json | Form::Bytes => json::read_ordered(text, &mut interner),
    };
    let help = "Seal it by sops with the name of the entry, which tells its form.";
    let document = read.map_err(|flaw| named(Reason::new(flaw.what.into_owned(), help)))?;
    let sealed = Sealed::new(vec![document]).map_err(not_opened)?;
    if sealed.mac_only_encrypted() {
        return Err(not_opened(OpenError::MacOnlyEncrypted));
    }
    let key = identities.unwrap(sealed.stanzas()).map_err(|error| named(locked(error, &sealed, identities, file)))?;
    let open = sealed.open(&key).map_err(not_opened)?;
    let open = open.into_iter().next().unwrap_or(Node::Null);
    Ok(match form {
        Form::Yaml => emit(&Tree::of(&open)),
        Form::Json => Zeroizing::new(json::pretty(&Tree::of(&open))),
        Form::Bytes => {
            let bytes = open.str_at(&["data"]).ok_or_else(|| named(Reason::new("it holds no `data`", help)))?;
            Zeroizing::new(bytes.to_owned())
        }
    })
}
