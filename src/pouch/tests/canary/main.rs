//! Secrets stay where they are: a canary in every place where one can enter, and every sink listened to.
//!
//! Each place has a canary of its own, so that a hit names the place. The tables are in `good` (places
//! that do no harm, all planted at once) and `broken` (those that stop something, one by one).
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test reads the environment, starts programs, looks at the clock and fails by panicking"
)]

#[path = "../support/rig/mod.rs"]
mod rig;
#[path = "../support/mod.rs"]
mod support;

mod broken;
mod cluster;
mod good;
mod panics;
mod sealed;
mod stage;

use support::choir::{Choir, forms, random};
use support::spoilt::base64;

#[test]
fn every_form_of_a_canary_is_heard_and_noise_is_not() {
    let mut choir = Choir::default();
    let canary = choir.voice("here");
    choir.voice("there");
    let ear = choir.ear();
    for (form, text, length) in forms(&canary) {
        let heard = ear.hears(&[b"some noise ".as_slice(), &text, b" and more"].concat());
        assert!(heard.get("here").is_some_and(|forms| forms.contains(form)), "{form}");
        assert!(!heard.contains_key("there"));
        // A piece suffices, wherever it is cut out, and one byte less does not.
        for start in 0..=text.len() - length {
            assert!(!ear.hears(&text[start..start + length]).is_empty(), "{form} at {start}");
        }
    }
    for start in 0..canary.len() - 7 {
        assert!(ear.hears(&canary.as_bytes()[start..start + 7]).is_empty());
    }
    let noise: String = (0..4000).map(|_| random()).collect();
    assert!(ear.hears(noise.as_bytes()).is_empty() && ear.hears(b"").is_empty());
    // Base64 as a whole, in whatever it stands.
    for before in ["", "a", "ab", "abc"] {
        let text = base64(format!("{before}{canary}, and so on").as_bytes());
        assert!(ear.hears(text.as_bytes()).contains_key("here"), "{text}");
    }
}
