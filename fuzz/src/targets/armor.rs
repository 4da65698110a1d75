//! Identity files and armored stanzas: what the age crate reads for us.

use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pouch_core::recipient::Recipient;

use super::input::{first_line, holds_no_text};
use crate::age::{AgeError, Identities, unwrap};

/// An identity made for this target; the stanzas of its corpus are for its recipient.
const IDENTITY: &str = "AGE-SECRET-KEY-1PRKM3XJARJQ5LWJYZP672PDUF370A9CEJ6XACKCX82FQYSVHZ2GS3CMTS3";

/// The data key that those stanzas hold.
const DATA_KEY: [u8; 32] = [9; 32];

fn ours() -> &'static (Identities, Recipient) {
    static OURS: OnceLock<(Identities, Recipient)> = OnceLock::new();
    OURS.get_or_init(|| {
        let identities = Identities::parse(IDENTITY).expect("an identity");
        let recipient = identities.recipients().next().expect("it has a recipient").clone();
        (identities, recipient)
    })
}

/// Any text as an identity file, and as a stanza. Behind a first line `bare` stands an age file without
/// armor, which is put around it here: an engine changes base64 only into something that is none.
pub fn run(data: &[u8]) {
    let armored = match first_line(data) {
        (b"bare", bare) => Some(armor(bare)),
        _ => std::str::from_utf8(data).ok().map(str::to_owned),
    };
    let Some(text) = armored else { return };
    let (identities, recipient) = ours();
    match Identities::parse(&text) {
        Ok(read) => {
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
            assert_eq!(lines.count(), read.recipients().count(), "a line was passed over");
        }
        Err((line, error)) => {
            holds_no_text(&error);
            assert!(line <= text.lines().count());
        }
    }
    let opened = unwrap(&text, IDENTITY);
    match &opened {
        // Whoever has the recipient can make a stanza with another key, but not by changing one of these.
        Ok(data_key) => assert!(**data_key == DATA_KEY, "a changed stanza opens"),
        Err(error) => assert!(matches!(error, AgeError::Unwrap | AgeError::Length)),
    }
    for label in [recipient.to_string(), String::from("somebody else")] {
        let stanzas = [(label, text.clone())];
        let found = identities.unwrap(&stanzas);
        assert_eq!(found.as_deref().ok(), opened.as_deref().ok(), "a label decides what opens");
    }
}

fn armor(bare: &[u8]) -> String {
    let mut text = String::from("-----BEGIN AGE ENCRYPTED FILE-----\n");
    for line in STANDARD.encode(bare).as_bytes().chunks(64) {
        text.push_str(std::str::from_utf8(line).expect("base64 is ASCII"));
        text.push('\n');
    }
    text.push_str("-----END AGE ENCRYPTED FILE-----\n");
    text
}
