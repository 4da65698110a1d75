//! Attributes: whether git leaves the bytes below a `.gitattributes` alone.
//!
//! Hashes, tags and MACs hold for the very bytes. In a folder of its own the file is pouch's, which writes it
//! to the byte. Where bundles are rendered into a repository's root it is the repository's too, and may say
//! more, as long as that is no matter for a bundle's files, all of which end in `.yaml`.
//!
//! <https://git-scm.com/docs/gitattributes>: per attribute the last line that matches decides.

use alloc::vec::Vec;

/// What pouch writes.
pub const TEXT: &str = "* -text\n";

/// What git takes for blanks in a line.
const BLANK: [char; 3] = [' ', '\t', '\r'];

/// The longest line that git reads is a little longer, in bytes.
const LONGEST: usize = 2000;

/// Whether the line `* -text` stands there, and no other makes git convert a file that ends in `.yaml`.
/// What is not understood counts as one that does.
pub fn keeps_bytes(found: &[u8]) -> bool {
    let Ok(text) = core::str::from_utf8(found) else { return false };
    // Git overlooks longer lines, so ours must not be one, and of other lines nothing may hang on it.
    if text.lines().any(|line| line.len() > LONGEST) {
        return false;
    }
    let lines: Vec<&str> =
        text.lines().map(|line| line.trim_matches(BLANK)).filter(|line| !line.starts_with('#')).collect();
    let Some(ours) = lines.iter().rposition(|line| *line == TEXT.trim()) else { return false };
    let macros: Vec<&str> = lines
        .iter()
        .filter_map(|line| line.strip_prefix("[attr]")?.split(BLANK).find(|word| !word.is_empty()))
        .collect();
    lines.iter().enumerate().all(|(at, line)| {
        let mut words = line.split(BLANK).filter(|word| !word.is_empty());
        let Some(pattern) = words.next() else { return true };
        if pattern.starts_with("[attr]") || !may_match(pattern) {
            return true;
        }
        words.all(|word| {
            let name = word.trim_start_matches(['-', '!']).split('=').next().unwrap_or_default();
            match name {
                // These hold whatever `text` says.
                "filter" | "ident" | "working-tree-encoding" => word.starts_with(['-', '!']),
                "text" | "crlf" | "eol" => at <= ours || matches!(word, "-text" | "-crlf"),
                name => !macros.contains(&name),
            }
        })
    })
}

/// Whether a pattern may match a file that ends in `.yaml`: unless it ends in other letters.
fn may_match(pattern: &str) -> bool {
    const ENDING: &str = ".yaml";
    let tail = pattern.rsplit(['*', '?', '[', ']', '\\', '/', '"']).next().unwrap_or_default().to_ascii_lowercase();
    pattern.starts_with('"') || tail.is_empty() || tail.ends_with(ENDING) || ENDING.ends_with(&tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: bool) {
        assert_eq!(keeps_bytes(text.as_bytes()), expect, "{text:?}");
    }

    #[test]
    fn what_a_repository_may_say_beside_ours() {
        check(TEXT, true);
        check("* -text", true);
        check("# ours\n*.md text\n* -text\n*.png binary\n*.md text eol=crlf\n", true);
        check("*.yaml text\n* text=auto\n* -text\n", true);
        check("* -text\n*.yaml linguist-generated -text\n", true);
        check("* -text\n*.png filter=lfs diff=lfs merge=lfs -text\n", true);
    }

    #[test]
    fn what_changes_bytes() {
        check("", false);
        check("*.md text\n", false);
        check("# * -text\n", false);
        check("* -text\n*.yaml text eol=crlf working-tree-encoding=UTF-16\n", false);
        check("* -text\n*.YAML text\n", false);
        check("* -text\n* text=auto\n", false);
        check("* -text\nregions/** !text\n", false);
        check("* -text\nbundle.yaml text\n", false);
        check("* -text\n*.sops.y?ml crlf\n", false);
        check("* -text\n\"regions/eu/bundle.yaml\" text\n", false);
        // The encoding, filters and idents know nothing of `text`, so they may not even stand before it.
        check("* working-tree-encoding=UTF-16\n* -text\n", false);
        check("* ident\n* -text\n", false);
        check("*.yaml filter=lfs\n* -text\n", false);
        check("* -text\n\"a b.yaml\" text\n", false);
        check("\u{a0}* -text\n", false);
        check("[attr]mine text eol=crlf\n* -text\n*.yaml mine\n", false);
        check(&alloc::format!("{}* -text\n", " ".repeat(4000)), false);
        assert!(!keeps_bytes(b"* -text\n\xff\n"));
    }
}
