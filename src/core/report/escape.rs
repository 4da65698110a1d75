//! The one escaper that every untrusted string passes before a person or a log sees it.
//!
//! Names and paths come from manifests that anybody may write. A terminal must not obey them, a log
//! line must not end in them, and a CI system must not take them for a command.

use alloc::string::String;
use core::fmt::Write as _;

/// Replaces everything that could steer a terminal or forge a line by `\u{…}`.
///
/// That is: C0 and C1 controls with line feed and tab, DEL, the bidirectional controls
/// (CVE-2021-42574), line and paragraph separators, zero-width characters and the byte order mark. And the begin of
/// what a runner of GitHub obeys, wherever it stands: `##[`.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        // A runner of GitHub takes `##[command]` for a command wherever it stands in a line.
        if char == '[' && out.ends_with("##") {
            let _ = out.pop();
            out.push_str("\\u{23}");
        }
        if is_dangerous(char) {
            // Writing to a String cannot fail.
            let _ = write!(out, "{}", char.escape_unicode());
        } else {
            out.push(char);
        }
    }
    out
}

/// The same as it stands in an element, or in a quoted attribute, of HTML and XML.
pub fn markup(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in escape(text).chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Noncharacters, which XML 1.0 leaves out: <https://www.w3.org/TR/xml/#charsets>.
            '\u{fffe}' | '\u{ffff}' => out.extend(char.escape_unicode()),
            char => out.push(char),
        }
    }
    out
}

/// The same for JSON that is already written, by `\u` and four digits, so that its meaning stays.
///
/// Nothing below U+0020 needs escaping: in strings JSON itself forbids it, and between them it is layout. A `[` after `##`
/// stands in strings alone.
/// <https://www.rfc-editor.org/rfc/rfc8259#section-7>
pub fn escape_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for char in json.chars() {
        let is_command = char == '[' && out.ends_with("##");
        if is_command || (char > '\u{1f}' && is_dangerous(char)) {
            for unit in char.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(char);
        }
    }
    out
}

fn is_dangerous(char: char) -> bool {
    char.is_control()
        || matches!(
            char,
            '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_steers_a_terminal() {
        let hostile = "a\u{1b}[31mb\nc\r\td\u{85}\u{9b}e\u{202e}f\u{2066}\u{feff}\u{200b}\u{7f}\0";
        let escaped = escape(hostile);
        assert!(escaped.chars().all(|c| c == ' ' || c.is_ascii_graphic()), "{escaped}");
        assert_eq!(escape("a\nb"), "a\\u{a}b");
        assert_eq!(escape("a ###[stop-commands]x #[y"), "a ##\\u{23}[stop-commands]x #[y");
        assert_eq!(escape("plain/naïve-名"), "plain/naïve-名");
    }

    #[test]
    fn json_says_the_same_and_steers_nothing() {
        let written = "{\n  \"é\\u001b\": \"a\u{202e}b\u{7f}\u{9b}\u{e0001}##[x\"\n}\n";
        let escaped = "{\n  \"é\\u001b\": \"a\\u202eb\\u007f\\u009b\\udb40\\udc01##\\u005bx\"\n}\n";
        assert_eq!(escape_json(written), escaped);
    }
}
