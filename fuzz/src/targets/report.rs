//! What people and logs see of untrusted text: nothing steers a terminal or forges a line.

use pouch_core::finding::{Code, Finding, Origin, Place};
use pouch_core::layout::path;
use pouch_core::name::{Claimant, ObjectKey};
use pouch_core::report::terminal::{Paint, terminal};
use pouch_core::report::text::{Links, finding};
use pouch_core::report::{escape, escape_json};

/// Any text, everywhere in a finding, and as JSON.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let escaped = escape(text);
    assert!(escaped.chars().all(is_tame), "{escaped:?}");
    assert_eq!(escape(&escaped), escaped, "escaping twice says something else");
    assert!(text.chars().any(|char| !is_tame(char)) || escaped == text, "harmless text was changed");

    let shown = finding(
        &Finding::new(Code::ForeignFile, text)
            .about(&ObjectKey::secret(text.into(), text.into()))
            .at(&Origin { source: text.into(), place: Place::File { path: text.into(), line: 1, column: 1 } })
            .claimed_by(&Claimant::credential(text.into(), text.into()))
            .in_region(&text.into())
            .help(text.to_owned()),
        &Links::default(),
    );
    is_plain_lines(&terminal(&shown, Paint::Plain));

    let json = serde_json::to_string_pretty(&[text]).expect("text is JSON");
    let tame = escape_json(&json);
    assert!(tame.chars().all(|char| is_tame(char) || char == '\n'), "{tame:?}");
    let back: Vec<String> = serde_json::from_str(&tame).expect("it is still JSON");
    assert_eq!(back, [text], "it says something else");
    assert!(path::BundlePath::parse(text).is_none_or(|path| escape(path.as_str()) == text));
}

/// A finding: its head, and lines that are set in below it.
pub fn is_plain_lines(shown: &str) {
    let lines: Vec<&str> = shown.strip_suffix('\n').expect("it ends its last line").split('\n').collect();
    assert!(lines.len() <= 5, "a line was forged: {shown:?}");
    assert!(lines.iter().skip(1).all(|line| line.starts_with("  ")), "a line was forged: {shown:?}");
    assert!(lines.iter().all(|line| line.chars().all(is_tame)), "{shown:?}");
}

/// Unicode's own word for it: no control (Cc) and none of the format characters (Cf) that steer.
fn is_tame(char: char) -> bool {
    !char.is_control()
        && !matches!(char, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}
