//! Attributes: whether git leaves the bytes below a `.gitattributes` alone.
//!
//! Hashes, tags and MACs hold for the very bytes. If the bundles have a folder of their own, the file is pouch's, which
//! writes it to the byte. If bundles are rendered into a repository's root, the file is the repository's too, and may
//! say more, as long as that does not affect a bundle's files, all of which end in `.yaml`.
//!
//! <https://git-scm.com/docs/gitattributes>: per attribute the last line that matches decides.

use alloc::vec::Vec;

use super::path::TOPS;

/// The text that pouch writes.
pub const TEXT: &str = "* -text\n";

/// The characters that git takes for blanks in a line.
const BLANK: [char; 3] = [' ', '\t', '\r'];

/// The longest line that is looked at, in bytes; git reads lines a little longer than this.
const LONGEST: usize = 2000;

/// Whether the file has the line `* -text`, and no other line makes git convert a bundle's file.
///
/// A line that is not understood counts as one that does. `above` are the files further up in the repository, whose
/// macros count here too.
pub fn keeps_bytes(found: &[u8], above: &[&[u8]]) -> bool {
    let Ok(text) = core::str::from_utf8(found) else { return false };
    // Git overlooks longer lines, so ours must not be one, and nothing may depend on another such line.
    if text.lines().any(|line| line.len() > LONGEST) || text.starts_with(MARK) {
        return false;
    }
    let lines = lines(text);
    if lines.iter().any(|line| is_disguised(line)) {
        return false;
    }
    let Some(ours) = lines.iter().rposition(|line| *line == TEXT.trim()) else { return false };
    let further = above.iter().filter_map(|found| core::str::from_utf8(found).ok()).flat_map(self::lines);
    let macros: Vec<&str> = lines.iter().copied().chain(further).filter_map(macro_name).collect();
    lines.iter().enumerate().all(|(at, line)| {
        let Some(words) = words(line, "") else { return true };
        words.into_iter().all(|word| match name(word) {
            "text" | "crlf" | "eol" => at <= ours || matches!(word, "-text" | "-crlf"),
            name => spares_bytes(word) && !macros.contains(&name),
        })
    })
}

/// The line, from one, by which a file further up makes git convert a bundle's file although the file beside the
/// bundles says `* -text`.
///
/// `way` leads from the upper file's folder to the bundles, without a slash at either end.
pub fn converts_below(found: &[u8], way: &str) -> Option<usize> {
    let Ok(text) = core::str::from_utf8(found) else { return Some(1) };
    let lines = lines(text);
    // Macros may use each other.
    let defined: Vec<&str> = lines.iter().copied().filter_map(macro_name).collect();
    let is_strange = |line: &&str| {
        let Some(rest) = line.strip_prefix(MACRO) else { return false };
        let words = rest.split(BLANK).filter(|word| !word.is_empty()).skip(1);
        words.into_iter().any(|word| !spares_bytes(word) || defined.contains(&name(word)))
    };
    let strange: Vec<&str> = lines.iter().copied().filter(is_strange).filter_map(macro_name).collect();
    let at = lines.iter().position(|line| {
        let words = words(line, way).unwrap_or_default();
        is_disguised(line) || words.into_iter().any(|word| !spares_bytes(word) || strange.contains(&name(word)))
    })?;
    Some(at + 1)
}

/// The start of a macro's definition.
const MACRO: &str = "[attr]";

/// The byte order mark, which git skips in the work tree but not elsewhere: what follows it counts.
const MARK: char = '\u{feff}';

/// Whether a line may define a macro in quotes, which git takes off before it looks for `[attr]`.
fn is_disguised(line: &str) -> bool {
    line.starts_with('"') && (line.contains(MACRO) || line.contains('\\'))
}

/// Lines without blanks at either end, and without a byte order mark; a comment becomes an empty line.
fn lines(text: &str) -> Vec<&str> {
    let lines = text.strip_prefix(MARK).unwrap_or(text).lines().map(|line| line.trim_matches(BLANK));
    lines.map(|line| if line.starts_with('#') { "" } else { line }).collect()
}

/// The macro that a line defines.
fn macro_name(line: &str) -> Option<&str> {
    line.strip_prefix(MACRO)?.split(BLANK).find(|word| !word.is_empty())
}

/// The attributes of a line whose pattern may match a bundle's file.
fn words<'a>(line: &'a str, way: &str) -> Option<Vec<&'a str>> {
    let mut words = line.split(BLANK).filter(|word| !word.is_empty());
    let pattern = words.next()?;
    (!pattern.starts_with(MACRO) && may_match(pattern, way)).then(|| words.collect())
}

/// The attribute that a word sets.
fn name(word: &str) -> &str {
    word.trim_start_matches(['-', '!']).split('=').next().unwrap_or_default()
}

/// Whether a word leaves bytes alone whatever `text` says.
fn spares_bytes(word: &str) -> bool {
    !matches!(name(word), "filter" | "ident" | "working-tree-encoding") || word.starts_with(['-', '!'])
}

/// Whether a pattern may match a bundle's file: not if it ends in other letters than `.yaml`, or begins with other
/// folders.
fn may_match(pattern: &str, way: &str) -> bool {
    const ENDING: &str = ".yaml";
    const WILD: [char; 4] = ['*', '?', '[', '\\'];
    let tail = pattern.rsplit(['*', '?', '[', ']', '\\', '/', '"']).next().unwrap_or_default().to_ascii_lowercase();
    if pattern.starts_with('"') {
        return true;
    }
    if !(tail.is_empty() || tail.ends_with(ENDING) || ENDING.ends_with(&tail)) {
        return false;
    }
    // Without a slash a pattern is for names, wherever they are.
    let Some((folders, _)) = pattern.rsplit_once('/') else { return true };
    let mut way = way.split('/').filter(|part| !part.is_empty());
    for folder in folders.split('/').filter(|part| !part.is_empty()) {
        let same = |known: &&str| known.eq_ignore_ascii_case(folder);
        match way.next() {
            _ if folder.contains(WILD) => return true,
            Some(part) if !same(&part) => return false,
            Some(_) => {}
            None => return TOPS.iter().any(same),
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: bool) {
        assert_eq!(keeps_bytes(text.as_bytes(), &[]), expect, "{text:?}");
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
        check(&format!("{}* -text\n", " ".repeat(4000)), false);
        assert!(!keeps_bytes(b"* -text\n\xff\n", &[]));
        assert!(keeps_bytes(b"* -text\n* mine\n", &[b"[attr]yours text\n"]));
        assert!(!keeps_bytes(b"* -text\n* mine\n", &[b"[attr] mine text eol=crlf\n"]));
        assert!(!keeps_bytes(b"* -text\n* mine\n", &["\u{feff}[attr]mine text eol=crlf\n".as_bytes()]));
        check("\"[attr]mine\" text eol=crlf\n* -text\n* mine\n", false);
        check("\"\\133attr]mine\" text eol=crlf\n* -text\n* mine\n", false);
        check("\"my notes.txt\" text\n* -text\n", true);
        check("\u{feff}# x\n* -text\n", false);
    }

    #[test]
    fn folders_that_hold_no_bundles_are_no_matter() {
        check("* -text\ndocs/** text\n/docs/*.yaml text\n", true);
        check("* -text\n/regions/** text\n", false);
        check("* -text\n**/docs/* text\n", false);
        check("* -text\nFlux/x.yaml text\n", false);
    }

    #[test]
    fn what_a_file_further_up_changes() {
        let check = |text: &str, expect: Option<usize>| {
            assert_eq!(converts_below(text.as_bytes(), "fleet/bundles"), expect, "{text:?}");
        };
        check("", None);
        // The nearer file decides on line ends.
        check("* text=auto eol=crlf\n*.yaml text\n", None);
        check("[attr]rust text eol=lf\n*.rs rust\n* rust\n", None);
        check("*.png filter=lfs\nassets/** filter=lfs\nfleet/charts/* ident\n/fleet/bundles/docs/* ident\n", None);
        check("# notes\n\n* filter=lfs\n", Some(3));
        check("*.yaml working-tree-encoding=UTF-16\n", Some(1));
        check("* -filter -ident\n*.y?ml ident\n", Some(2));
        check("fleet/** ident\n", Some(1));
        check("/Fleet/bundles/flux/** ident\n", Some(1));
        check("f*/x/* ident\n", Some(1));
        check("[attr]mine filter=x\n* mine\n", Some(2));
        check("[attr]inner ident\n[attr]outer inner\n*.yaml outer\n", Some(3));
        check(&format!("*{} filter=x\n", " ".repeat(4000)), Some(1));
        check("*.rs text\n\"[attr]mine\" text eol=crlf\n", Some(2));
        check("\"\\133attr]mine\" text eol=crlf\n", Some(1));
        check("\u{feff}*.yaml ident\n", Some(1));
        check("\u{feff}[attr]inner ident\n[attr]outer inner\n*.yaml outer\n", Some(3));
        assert_eq!(converts_below(b"\xff", ""), Some(1));
    }
}
