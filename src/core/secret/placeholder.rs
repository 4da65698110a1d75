//! Placeholders: words in angle brackets, or in quotation marks of any script, that stand where a value should.
//!
//! Quotation marks of ASCII alone say nothing: people write them around values.

/// Begins what is in angle brackets, or in quotation marks.
const OPEN: &str = "<＜﹤〈《⟨⟪〈❬❮❰«»‹›„“”‟‚‘’‛「『｢﹁﹃〝〞〟＂＇❝❞❛❜❟❠";

/// Ends it.
const CLOSE: &str = ">＞﹥〉》⟩⟫〉❭❯❱«»‹›„“”‟‚‘’‛」』｣﹂﹄〝〞〟＂＇❝❞❛❜❟❠";

/// The marks that a text is quoted with in code.
const QUOTES: [char; 3] = ['"', '\'', '`'];

/// The marks that end a value in a line.
const ENDS: [char; 8] = [' ', '"', '\'', '\\', ',', '}', ';', '\n'];

/// Returns true if a text is a placeholder, and nothing beside it: `<your-key>`, `„<token>“`, `«token»`. What is in the
/// marks must read as words, and not as something random.
pub fn is_placeholder(text: &str) -> bool {
    let text = text.trim();
    let behind = text.trim_start_matches(|c| OPEN.contains(c) || QUOTES.contains(&c));
    let words = behind.trim_end_matches(|c| CLOSE.contains(c) || QUOTES.contains(&c));
    let is_opened = text.strip_suffix(behind).is_some_and(|marks| marks.contains(|c| OPEN.contains(c)));
    let is_closed = behind.strip_prefix(words).is_some_and(|marks| marks.contains(|c| CLOSE.contains(c)));
    is_opened && is_closed && reads_as_words(words)
}

/// Returns true if a text begins with a placeholder that is all of a value.
pub fn begins_with_placeholder(text: &str) -> bool {
    let behind = text.trim_start_matches(|c| OPEN.contains(c));
    let Some((_, end)) = behind.find(|c| CLOSE.contains(c)).and_then(|at| behind.split_at_checked(at)) else {
        return false;
    };
    let rest = end.trim_start_matches(|c| CLOSE.contains(c));
    text.strip_suffix(rest).is_some_and(is_placeholder) && (rest.is_empty() || rest.starts_with(ENDS))
}

fn reads_as_words(text: &str) -> bool {
    let is_of_words = |c: char| c.is_alphanumeric() || c.is_whitespace() || "-_.…,:()'’".contains(c);
    let is_random = |word: &str| word.is_ascii() && (word.len() >= 20 || alternates(word));
    !text.is_empty() && text.chars().all(is_of_words) && !text.split(|c: char| !c.is_alphanumeric()).any(is_random)
}

/// Returns true if letters and digits come by turns, as in what is random.
pub fn alternates(word: &str) -> bool {
    let is_turn = |pair: &&[u8]| {
        let [a, b] = pair else { return false };
        a.is_ascii_alphanumeric() && b.is_ascii_alphanumeric() && a.is_ascii_digit() != b.is_ascii_digit()
    };
    word.as_bytes().windows(2).filter(is_turn).count() >= 3
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn words_in_brackets_and_quotation_marks_of_any_script_are_placeholders() {
        for text in [
            "<YOUR_KEY>",
            "<your-secret>",
            " <the token of GitHub>\n",
            "\"<token>\"",
            "„<your-secret>“",
            "«token»",
            "»token«",
            "‹ключ›",
            "«ваш токен»",
            "＜…＞",
            "〈密钥〉",
            "《トークン》",
            "「パスワード」",
            "“password”",
            "‘key’",
            "<<token>>",
            "<...>",
        ] {
            assert!(is_placeholder(text), "{text}");
            assert!(begins_with_placeholder(text.trim()) || text.starts_with('"'), "{text}");
        }
        for text in [
            "",
            "<>",
            "token",
            "\"token\"",
            "'token'",
            "<token",
            "token>",
            "<a>b",
            "<a/>",
            "<a>b</a>",
            "<?xml version?>",
            "<Tr0ub4dor&3>",
            "<9f86d081884c7d659a2f>",
            "<a1b2c3>",
            "«dGhpcyBpcyBhIHZlcnkgc2VjcmV0»",
        ] {
            assert!(!is_placeholder(text), "{text}");
        }
    }

    #[test]
    fn nothing_stands_beside_a_placeholder() {
        for (text, expect) in [
            ("<your-token>", true),
            ("<your token>, b", true),
            ("«token»\n", true),
            ("<your-token>hunter2", false),
            ("<your-token", false),
            ("hunter2 <your-token>", false),
        ] {
            assert_eq!(begins_with_placeholder(text), expect, "{text}");
        }
        // Every mark opens and closes something.
        for (open, close) in OPEN.chars().zip(CLOSE.chars()) {
            assert!(is_placeholder(&format!("{open}token{close}")), "{open}{close}");
        }
        assert_eq!(OPEN.chars().count(), CLOSE.chars().count());
    }
}
