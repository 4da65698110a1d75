//! Recipients and reuse keys.

use pouch_core::recipient::Recipient;
use pouch_core::reuse::{ReuseKey, ReuseKeyError};

use super::input::holds_no_text;
use crate::age;

/// Any text as a recipient.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Recipient::parse(text) {
        Ok(recipient) => canonical(&recipient, text),
        Err(error) => {
            holds_no_text(&error);
            assert!(!error.help().is_empty());
        }
    }
}

fn canonical(recipient: &Recipient, text: &str) {
    assert_eq!(recipient.as_str(), text, "only itself is taken");
    assert!(text.len() == 62 && text.starts_with("age1") && text.bytes().all(|b| b.is_ascii_alphanumeric()));
    assert!(!text.bytes().any(|b| b.is_ascii_uppercase()));
    assert!(age::prepare(std::slice::from_ref(recipient)).is_ok(), "age refuses it");
}

/// Any text as a reuse key.
pub fn run_reuse_key(data: &[u8]) {
    // 32 bytes are a key of their own, so that the engine need not find a checksum.
    if let Ok(bytes) = <&[u8; 32]>::try_from(data) {
        let text = ReuseKey::to_text(bytes);
        assert!(ReuseKey::parse(&text).is_ok(), "a key's own text is refused");
        let mut bent = text.as_bytes().to_vec();
        for at in 0..bent.len() {
            let kept = bent[at];
            bent[at] = if kept == b'Q' { b'P' } else { b'Q' };
            let bent_text = std::str::from_utf8(&bent).expect("still ASCII");
            assert!(ReuseKey::parse(bent_text).is_err(), "another text for a key, at {at}");
            bent[at] = kept;
        }
    }
    let Ok(text) = std::str::from_utf8(data) else { return };
    match ReuseKey::parse(text) {
        Ok(key) => {
            let line = text.strip_suffix('\n').map_or(text, |line| line.strip_suffix('\r').unwrap_or(line));
            assert!(line.len() == 75 && line.starts_with("POUCH-REUSE-KEY-1"));
            assert!(key.id().len() == 8 && key.id().bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')));
        }
        Err(error) => {
            holds_no_text(&error);
            assert_eq!(error == ReuseKeyError::Empty, matches!(text, "" | "\n" | "\r\n"));
        }
    }
}
