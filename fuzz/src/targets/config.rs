//! `pouch.yaml`: what is refused is pointed at, and no key or password is repeated.

use std::collections::BTreeMap;

use pouch_core::config::error::{ConfigError, FieldPath, Spot, holds_secret};
use pouch_core::config::repository::{holds_password, tidy, tidy_inside};
use pouch_core::config::resolve::{files_needed, resolve};
use pouch_core::config::shape::{Unfit, read};
use pouch_core::config::show;
use pouch_core::config::written::Written;
use pouch_core::yaml::emit::emit;

use super::input::first_line;

/// What the first line says is the recipients file that the configuration below it names.
pub fn run(data: &[u8]) {
    let (recipients, text) = first_line(data);
    let (Ok(recipients), Ok(text)) = (std::str::from_utf8(recipients), std::str::from_utf8(text)) else { return };
    paths(recipients);
    let typed = match read(text) {
        Ok(read) => read,
        Err(Unfit::Flawed(flaw)) => return shows_no_secret(&flaw.to_string()),
        Err(Unfit::Misshapen(written, errors)) => {
            assert!(!errors.is_empty(), "refused without a reason");
            return errors.iter().for_each(|error| points(error, &written, text));
        }
    };
    let texts: BTreeMap<String, String> =
        files_needed(&typed.file).into_iter().map(|path| (path, recipients.to_owned())).collect();
    match resolve(&typed, &texts) {
        Ok(fleet) => {
            let shown = emit(&show::tree(&fleet));
            shows_no_secret(&shown);
            // What `pouch config` prints is a configuration again and means the same.
            let again = read(&shown).expect("a configuration");
            let texts = files_needed(&again.file).into_iter().map(|path| (path, recipients.to_owned())).collect();
            let again = resolve(&again, &texts).expect("what is meant can be meant");
            assert_eq!(*emit(&show::tree(&again)), *shown, "it means something else");
        }
        Err(errors) => {
            assert!(!errors.is_empty(), "refused without a reason");
            errors.iter().for_each(|error| points(error, &typed.written, text));
        }
    }
}

/// An error stands somewhere in the text, in one line, and shows nothing that must not be shown.
fn points(error: &ConfigError, written: &Written, text: &str) {
    let said = format!("{error}");
    shows_no_secret(&said);
    shows_no_secret(&error.help);
    let lines = text.split(['\n', '\r']).count() + 1;
    for spot in [Spot::Key, Spot::Value, error.spot] {
        if let Some(at) = written.position(&error.field, spot) {
            assert!((1..=lines).contains(&(at.line as usize)), "line {} of {lines}", at.line);
        }
    }
    assert!(written.position(&FieldPath::root(), Spot::Value).is_none_or(|at| at.line >= 1));
}

fn shows_no_secret(said: &str) {
    // Our own words may name the start of a key, which nothing may follow.
    let word = |word: &str| word.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '-').to_owned();
    let words = || said.split(|c: char| c.is_whitespace() || matches!(c, '"' | '`' | '\''));
    assert!(!words().any(|text| holds_secret(&word(text)) && word(text).len() > 20), "a key is repeated");
    assert!(!words().any(holds_password), "a password is repeated");
}

/// A path that is tidied stays where it was and is tidy.
fn paths(text: &str) {
    if let Ok(path) = tidy(text) {
        assert_eq!(tidy(&path).as_ref().ok(), Some(&path), "tidied twice it is another");
    }
    if let Ok(path) = tidy_inside(text) {
        assert!(!path.starts_with('/') && !path.split('/').any(|part| part == ".."), "{path:?} leaves its folder");
    }
}
