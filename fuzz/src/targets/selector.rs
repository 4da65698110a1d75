//! Label selectors: what is not known of labels never changes an answer, and refusals repeat nothing.

use pouch_core::selector::{Label, Selector, Truth, is_label_key};

use super::input::{document, first_line, holds_no_text};

/// The labels as `key=value` between blanks, and below that line a selector: one line of text or YAML.
pub fn run(data: &[u8]) {
    let (labels, text) = first_line(data);
    let (Ok(labels), Ok(text)) = (std::str::from_utf8(labels), std::str::from_utf8(text)) else { return };
    let labels: Vec<(&str, &str)> = labels.split(' ').filter_map(|label| label.split_once('=')).collect();
    match Selector::parse(text) {
        Ok(selector) => answers(&selector, &labels),
        Err(error) => holds_no_text(&error),
    }
    if let Some(node) = document(text.as_bytes()) {
        match Selector::read(&node) {
            Ok(selector) => answers(&selector, &labels),
            Err(error) => holds_no_text(&error),
        }
    }
}

fn answers(selector: &Selector, labels: &[(&str, &str)]) {
    assert!(selector.keys().all(is_label_key), "a key is none that labels can have");
    let known = |key: &str| labels.iter().find(|(name, _)| *name == key).map(|(_, value)| *value);
    let told = selector.matches(|key| known(key).map_or(Label::Absent, Label::Is));
    assert_ne!(told, Truth::Unknown, "all is known");
    let keys: Vec<&str> = selector.keys().collect();
    for hidden in &keys {
        let half =
            |key: &str| if key == *hidden { Label::Unknown } else { known(key).map_or(Label::Absent, Label::Is) };
        let told_half = selector.matches(half);
        assert!(told_half == Truth::Unknown || told_half == told, "less knowledge gives another answer");
    }
    let blind = selector.matches(|_| Label::Unknown);
    assert_eq!(blind, if keys.is_empty() { Truth::Yes } else { Truth::Unknown });
    assert_eq!(selector.is_empty(), keys.is_empty());
    assert!(!selector.is_zero() || selector.is_empty(), "what states nothing asks for nothing");
}
