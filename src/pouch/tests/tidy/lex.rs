//! Rust text reduced to its code: comments and the insides of literals become blanks.
//!
//! So that a rule about words meets only what the compiler would act on, and a doc comment may say
//! "knows nothing of YAML" without breaking the very rule that it states. Knows tokens just well
//! enough for that; knows no rule.

const MARK: &str = "#[cfg(test)]";

/// Blanks comments and the insides of string and character literals; lines stay where they are.
pub fn code(source: &str) -> String {
    let text: Vec<char> = source.chars().collect();
    let mut out = String::with_capacity(source.len());
    let mut at = 0;
    while at < text.len() {
        let end = match text[at] {
            '/' if text.get(at + 1) == Some(&'/') => line_end(&text, at),
            '/' if text.get(at + 1) == Some(&'*') => comment_end(&text, at),
            '"' => string_end(&text, at),
            'r' if !follows_word(&text, at) => raw_end(&text, at).unwrap_or(at),
            'b' | 'c' if !follows_word(&text, at) && text.get(at + 1) == Some(&'r') => {
                raw_end(&text, at + 1).unwrap_or(at)
            }
            '\'' => char_end(&text, at).unwrap_or(at),
            _ => at,
        };
        if end == at {
            out.push(text[at]);
            at += 1;
        } else {
            out.extend(text[at..end].iter().map(|c| if *c == '\n' { '\n' } else { ' ' }));
            at = end;
        }
    }
    out
}

/// Blanks, in the result of [`code`], every item under `#[cfg(test)]`.
pub fn without_tests(code: &str) -> String {
    let mut out = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(start) = rest.find(MARK) {
        let (before, item) = rest.split_at(start);
        out.push_str(before);
        let (item, after) = item.split_at(item_end(item));
        out.extend(item.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        rest = after;
    }
    out + rest
}

/// The 1-based lines in which `word` stands as a word of its own, not as part of a longer name.
pub fn lines_with(code: &str, word: &str) -> Vec<usize> {
    let name = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let (opens, closes) = (name(word.chars().next()), name(word.chars().next_back()));
    let mut lines = Vec::new();
    for (number, line) in code.lines().enumerate() {
        let part_of_longer = |(at, _): &(usize, &str)| {
            (opens && name(line[..*at].chars().next_back())) || (closes && name(line[at + word.len()..].chars().next()))
        };
        if !line.match_indices(word).all(|hit| part_of_longer(&hit)) {
            lines.push(number + 1);
        }
    }
    lines
}

/// The 1-based lines in which `module` stands in a path into our own modules: `module::x`,
/// `crate::module`, or anywhere in a `use`.
pub fn lines_naming(code: &str, module: &str) -> Vec<usize> {
    let mut lines = Vec::new();
    for start in ["crate", "super"] {
        lines.extend(lines_with(code, &format!("{start}::{module}")));
    }
    lines.extend(lines_with(code, &format!("{module}::")));
    let (mut importing, mut imports) = (false, String::new());
    for line in code.lines() {
        let words = line.trim_start();
        importing |= words.starts_with("use ") || (words.starts_with("pub") && words.contains(" use "));
        imports.push_str(if importing { line } else { "" });
        imports.push('\n');
        importing &= !line.contains(';');
    }
    lines.extend(lines_with(&imports, module));
    lines.sort_unstable();
    lines.dedup();
    lines
}

/// The modules that are declared, in the result of [`code`], under `#[cfg(test)]` and lie in files of their own.
pub fn test_modules(code: &str) -> Vec<&str> {
    let declared = |rest: &'_ str| -> Option<(usize, usize)> {
        let item = &rest[..item_end(rest)];
        let name = item.find("mod ")? + 4;
        item.ends_with(';').then_some((name, item.len() - 1))
    };
    code.split(MARK).skip(1).filter_map(|rest| declared(rest).map(|(from, to)| rest[from..to].trim())).collect()
}

fn follows_word(text: &[char], at: usize) -> bool {
    at.checked_sub(1).is_some_and(|before| text[before].is_alphanumeric() || text[before] == '_')
}

fn line_end(text: &[char], at: usize) -> usize {
    text[at..].iter().position(|c| *c == '\n').map_or(text.len(), |length| at + length)
}

fn comment_end(text: &[char], at: usize) -> usize {
    let (mut depth, mut at) = (0_usize, at);
    while at < text.len() {
        match (text[at], text.get(at + 1)) {
            ('/', Some('*')) => (depth, at) = (depth + 1, at + 2),
            ('*', Some('/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    at
}

fn string_end(text: &[char], at: usize) -> usize {
    let mut at = at + 1;
    while at < text.len() {
        match text[at] {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

/// The end of the raw string whose `r` stands at `at`, if one does.
fn raw_end(text: &[char], at: usize) -> Option<usize> {
    let hashes = text[at + 1..].iter().take_while(|c| **c == '#').count();
    let open = at + 1 + hashes;
    if text.get(open) != Some(&'"') {
        return None;
    }
    let closes =
        |end: &usize| text[*end] == '"' && text[end + 1..].iter().take(hashes).filter(|c| **c == '#').count() == hashes;
    Some((open + 1..text.len()).find(closes).map_or(text.len(), |end| end + 1 + hashes))
}

/// The end of the character literal that opens at `at`; none if that quote opens a lifetime.
fn char_end(text: &[char], at: usize) -> Option<usize> {
    if text.get(at + 1) == Some(&'\\') {
        let close = text.get(at + 3..)?.iter().position(|c| *c == '\'')?;
        return Some(at + 3 + close + 1);
    }
    (text.get(at + 2) == Some(&'\'')).then_some(at + 3)
}

/// The length of the item at the start of `code`: up to its `;`, or through its braces.
fn item_end(code: &str) -> usize {
    let mut depth = 0_usize;
    for (at, c) in code.char_indices() {
        match c {
            ';' if depth == 0 => return at + 1,
            '{' => depth += 1,
            '}' if depth <= 1 => return at + 1,
            '}' => depth -= 1,
            _ => {}
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::{code, lines_naming, lines_with, test_modules, without_tests};

    #[track_caller]
    fn check(source: &str, expect: &str) {
        assert_eq!(code(source).split_whitespace().collect::<Vec<_>>().join(" "), expect);
    }

    #[test]
    fn comments_and_literals_are_no_code() {
        check("a // yaml\nb", "a b");
        check("a /* yaml /* sops */ still */ b", "a b");
        check("a(\"yaml \\\" // sops\") b", "a( ) b");
        check("a(r#\"yaml \" sops\"#, br\"x\") b", "a( , ) b");
        check("f::<'a>('\\'', '\"', '\\u{22}', b'y') g", "f::<'a>( , , , b ) g");
        check("for r in r\"x\" {}", "for r in {}");
        check("r#type + 1", "r#type + 1");
        check("a \"never closed", "a");
    }

    #[test]
    fn lines_stay_where_they_are() {
        assert_eq!(code("a\n/* x\n */ b\n\"y\nz\" c").lines().count(), 5);
        assert_eq!(lines_with(&code("a\n/* b\n */ b\n"), "b"), [3]);
    }

    #[test]
    fn test_items_are_cut() {
        let cut = |text| without_tests(text).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(cut("a #[cfg(test)] extern crate std; b"), "a b");
        assert_eq!(cut("a #[cfg(test)]\nmod tests { fn f() { { } } }\nb"), "a b");
        assert_eq!(cut("a #[cfg(test)] mod tests; b #[cfg(test)] fn f() {} c"), "a b c");
        assert_eq!(cut("a #[cfg(not(test))] fn f() {}"), "a #[cfg(not(test))] fn f() {}");
    }

    #[test]
    fn words_stand_alone() {
        assert_eq!(lines_with("use git2::X;\nlet digit2 = 1;\ngit2_x\n(git2)", "git2"), [1, 4]);
        assert_eq!(lines_with("println!()\neprintln!()", "println!"), [1]);
        assert_eq!(lines_with("age::X\npackage::X\nage :: X", "age::"), [1]);
    }

    #[test]
    fn modules_stand_in_paths() {
        assert_eq!(lines_naming("use crate::judge;\nlet judge = judge(x);\njudge::f()\n", "judge"), [1, 3]);
        assert_eq!(lines_naming("pub(crate) use crate::{\n  judge,\n};\nSelf::judge()", "judge"), [2]);
        assert_eq!(lines_naming("crate::judge::f(super::judge)\nx.judge", "judge"), [1]);
    }

    #[test]
    fn test_modules_are_listed() {
        let text =
            "mod a;\n#[cfg(test)]\nmod tests;\n#[cfg(test)] pub(crate) mod testing;\n#[cfg(test)] mod b { mod c; }";
        assert_eq!(test_modules(text), ["tests", "testing"]);
    }
}
