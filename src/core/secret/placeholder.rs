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

/// The brackets that nobody writes around a value.
const ANGLES: [char; 7] = ['<', '＜', '﹤', '〈', '《', '⟨', '⟪'];

/// Words that say what should stand there.
const WORDS: [&str; 62] = [
    "account",
    "api",
    "base64",
    "cert",
    "certificate",
    "change",
    "changeme",
    "client",
    "cloud",
    "config",
    "credential",
    "credentials",
    "data",
    "encoded",
    "example",
    "here",
    "id",
    "insert",
    "key",
    "kubeconfig",
    "login",
    "my",
    "name",
    "of",
    "pass",
    "passphrase",
    "password",
    "pem",
    "placeholder",
    "private",
    "project",
    "redacted",
    "replace",
    "secret",
    "some",
    "string",
    "tenant",
    "the",
    "todo",
    "token",
    "user",
    "username",
    "value",
    "your",
    "clave",
    "contraseña",
    "clé",
    "geheimnis",
    "jeton",
    "passwort",
    "schlüssel",
    "senha",
    "ваш",
    "ключ",
    "пароль",
    "секрет",
    "токен",
    "密钥",
    "密码",
    "令牌",
    "トークン",
    "パスワード",
];

/// Returns true if a text is a placeholder, and nothing beside it: `<your-key>`, `„<token>“`, `«token»`. What is in the
/// marks must read as words, and not as something random.
pub fn is_placeholder(text: &str) -> bool {
    inner(text).is_some_and(|(_, words)| reads_as_words(words))
}

/// Returns true for a placeholder that says by its words what should stand there, so that it is no value: of a password in
/// quotation marks this is not known. In angle brackets one such word is enough.
pub fn is_evident(text: &str) -> bool {
    let Some((is_angled, text)) = inner(text).filter(|(_, words)| reads_as_words(words)) else { return false };
    let lower = text.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).peekable();
    let is_known = |word: &str| WORDS.contains(&word);
    let has_digit = || text.contains(|c: char| c.is_numeric()) && !lower.contains("base64");
    match is_angled {
        // Dots alone.
        _ if words.peek().is_none() => true,
        _ if has_digit() => false,
        true => words.any(is_known),
        false => words.all(is_known),
    }
}

/// The text in the marks around it, if there are some; true if they are angle brackets.
fn inner(text: &str) -> Option<(bool, &str)> {
    let text = text.trim();
    let behind = text.trim_start_matches(|c| OPEN.contains(c) || QUOTES.contains(&c));
    let words = behind.trim_end_matches(|c| CLOSE.contains(c) || QUOTES.contains(&c));
    let opened = text.strip_suffix(behind).filter(|marks| marks.contains(|c| OPEN.contains(c)))?;
    let is_closed = behind.strip_prefix(words).is_some_and(|marks| marks.contains(|c| CLOSE.contains(c)));
    is_closed.then_some((opened.contains(ANGLES), words))
}

/// Returns true if a text begins with an evident placeholder that is all of a value.
pub fn begins_with_evident(text: &str) -> bool {
    let behind = text.trim_start_matches(|c| OPEN.contains(c));
    let Some((_, end)) = behind.find(|c| CLOSE.contains(c)).and_then(|at| behind.split_at_checked(at)) else {
        return false;
    };
    let rest = end.trim_start_matches(|c| CLOSE.contains(c));
    text.strip_suffix(rest).is_some_and(is_evident) && (rest.is_empty() || rest.starts_with(ENDS))
}

fn reads_as_words(text: &str) -> bool {
    let is_of_words = |c: char| c.is_alphanumeric() || c.is_whitespace() || "-_.…,:()'’".contains(c);
    let is_random = |word: &str| word.chars().count() >= 20 || alternates(word);
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
            assert!(begins_with_evident(text.trim()) || text.starts_with('"'), "{text}");
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

    /// A password may be in typographic quotation marks, or anyone's idea of brackets.
    #[test]
    fn what_could_be_a_value_is_no_evident_placeholder() {
        for text in [
            "“Sommer2024”",
            "‘correct-horse-battery’",
            "«hunter2»",
            "<Winter2025>",
            "“mZqLkdPwXrTbNcVfHgJ”",
            "“é9f86d081884c7d659a2f”",
            "“my-secret-pony”",
            "<hunter>",
            "「さくら」",
        ] {
            assert!(!is_evident(text) && !begins_with_evident(text), "{text}");
        }
        for text in
            ["<API key>", "<your OpenAI key>", "“your-password”", "«ваш токен»", "<base64 encoded value>", "<…>"]
        {
            assert!(is_evident(text) && begins_with_evident(text), "{text}");
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
            assert_eq!(begins_with_evident(text), expect, "{text}");
        }
        // Every mark opens and closes something.
        for (open, close) in OPEN.chars().zip(CLOSE.chars()) {
            assert!(is_placeholder(&format!("{open}token{close}")), "{open}{close}");
        }
        assert_eq!(OPEN.chars().count(), CLOSE.chars().count());
    }
}
