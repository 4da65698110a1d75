//! What git says on standard error, made fit for a message.
//!
//! Much of it comes from servers. It is shortened, freed of control characters, of users and passwords in URLs, of keys,
//! and of what the environment gave git as a secret. Nothing is decided by what a server says in free words.

use std::ffi::OsString;

use pouch_core::secret::holds_key;

/// The most characters of git's own words that stand in a message.
const MOST_QUOTED: usize = 400;

/// The most lines, and the most characters of them, that a server may say in a message.
const MOST_LINES: usize = 12;
const MOST_FROM_SERVER: usize = 1200;

/// How lines begin in which git, here or on the server, says how far it is.
const PROGRESS: [&str; 14] = [
    "Enumerating objects: ",
    "Counting objects: ",
    "Compressing objects: ",
    "Receiving objects: ",
    "Resolving deltas: ",
    "Writing objects: ",
    "Unpacking objects: ",
    "Updating files: ",
    "Finding sources: ",
    "Getting sizes: ",
    "Checking connectivity: ",
    "Delta compression using ",
    "Total ",
    "Cloning into ",
];

/// What stands before a line that a server said.
const SERVER: &str = "remote: ";

/// What stands where a secret stood.
const HIDDEN: &str = "***";

/// What git said.
pub struct Words<'a> {
    lines: Vec<&'a str>,
    secrets: &'a [String],
}

/// Reads what git said; in no message stands one of `secrets`.
pub fn words<'a>(text: &'a str, secrets: &'a [String]) -> Words<'a> {
    let lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty() && line.trim() != SERVER.trim());
    Words { lines: lines.collect(), secrets }
}

impl Words<'_> {
    /// The end of it, on one line.
    pub fn end(&self) -> String {
        let lines: Vec<&str> = self.lines.iter().map(|line| line.trim()).filter(|line| !is_progress(line)).collect();
        let line = self.safe(&lines.join("; "));
        let beyond = line.chars().count().saturating_sub(MOST_QUOTED);
        let end: String = line.chars().skip(beyond).collect();
        match (end.is_empty(), beyond) {
            (true, _) => "it said nothing".to_owned(),
            (false, 0) => end,
            (false, _) => format!("…{end}"),
        }
    }

    /// The first lines that the server said, whole, on one line; empty if it said nothing.
    pub fn of_server(&self) -> String {
        let lines = self.lines.iter().filter_map(|line| line.strip_prefix(SERVER)).map(str::trim);
        let lines: Vec<String> =
            lines.filter(|line| !line.is_empty() && !is_progress(line)).map(|line| self.safe(line)).collect();
        let (mut text, mut said) = (String::new(), 0_usize);
        for line in lines.iter().take(MOST_LINES) {
            if text.chars().count() + line.chars().count() > MOST_FROM_SERVER {
                break;
            }
            text.push_str(if text.is_empty() { "" } else { "; " });
            text.push_str(line);
            said += 1;
        }
        match (lines.len().saturating_sub(said), lines.first()) {
            (0, _) => text,
            (_, Some(first)) if said == 0 => format!("{}…", first.chars().take(MOST_FROM_SERVER).collect::<String>()),
            (more, _) => format!("{text}; … and {more} more lines"),
        }
    }

    /// What git itself said, and not a server.
    pub fn own(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().filter(|line| !line.starts_with(SERVER)).copied()
    }

    fn safe(&self, line: &str) -> String {
        if holds_key(line.as_bytes()) {
            return "(words that hold a key)".to_owned();
        }
        let mut line: String = line.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
        for secret in self.secrets {
            line = line.replace(secret.as_str(), HIDDEN);
        }
        without_users(&line)
    }
}

fn is_progress(line: &str) -> bool {
    let line = line.strip_prefix(SERVER).unwrap_or(line).trim_start();
    PROGRESS.iter().any(|start| line.starts_with(start))
}

/// What an environment gives programs as secrets, the longest first: values of variables that are called so, and of git
/// settings that hold a header.
pub fn secrets(environment: &[(OsString, OsString)]) -> Vec<String> {
    const NAMES: [&str; 5] = ["TOKEN", "PASSWORD", "PASSWD", "SECRET", "API_KEY"];
    // What is shorter stands in many words by chance.
    const LEAST: usize = 8;
    let is_secret = |name: &str, value: &str| {
        NAMES.iter().any(|word| name.contains(word))
            || name.starts_with("GIT_CONFIG_VALUE_") && value.to_ascii_lowercase().contains("authorization:")
    };
    let mut found: Vec<String> = Vec::new();
    for (name, value) in environment {
        let (name, value) = (name.to_string_lossy().to_ascii_uppercase(), value.to_string_lossy());
        if is_secret(&name, &value) {
            found.extend(value.split_whitespace().filter(|part| part.len() >= LEAST).map(str::to_owned));
        }
    }
    found.retain(|part| !part.eq_ignore_ascii_case("authorization:"));
    found.sort_by_key(|part| std::cmp::Reverse(part.len()));
    found
}

/// Drops what stands between `://` and `@`.
fn without_users(text: &str) -> String {
    let mut parts = text.split("://");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let host_ends = part.find(|c: char| c.is_whitespace() || "/'\"".contains(c)).unwrap_or(part.len());
        let (host, rest) = part.split_at_checked(host_ends).unwrap_or((part, ""));
        out.push_str("://");
        out.push_str(host.rsplit_once('@').map_or(host, |(_, host)| host));
        out.push_str(rest);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_short_plain_and_without_passwords() {
        let table = [
            ("fatal: x\n", "fatal: x"),
            ("", "it said nothing"),
            ("a\x1b[31mb\rc\n\nd", "a?[31mb?c; d"),
            ("fatal: unable to access 'https://u:CANARY@h/r/': no", "fatal: unable to access 'https://h/r/': no"),
            ("https://CANARY@h https://x@y@h/z", "https://h https://h/z"),
            ("remote: Counting objects: 100% (1/1), done.\nWriting objects: 100% (1/1), done.\nfatal: y", "fatal: y"),
            ("remote: token is CANARY-TOKEN!", "remote: token is ***!"),
            ("remote: AGE-SECRET-KEY-1QQQ", "(words that hold a key)"),
        ];
        let hidden = ["CANARY-TOKEN".to_owned()];
        for (said, expect) in table {
            assert_eq!(words(said, &hidden).end(), expect);
        }
        assert_eq!(words(&"é".repeat(9999), &[]).end().chars().count(), MOST_QUOTED + 1);
    }

    #[test]
    fn a_servers_first_lines_stand_whole() {
        let said = |text: &str| words(text, &[]).of_server();
        let text = "Enumerating objects: 1, done.\nremote: Counting objects: 1, done.        \nremote: not on Fridays   \n\
                    remote: \nremote:   ask \x1b[1mBob\nerror: failed to push some refs to 'x'\n";
        assert_eq!(said(text), "not on Fridays; ask ?[1mBob");
        assert_eq!(said("fatal: no\n"), "");
        let lines: String = (0..100).map(|n| format!("remote: line {n}\n")).collect();
        assert!(said(&lines).starts_with("line 0; line 1;") && said(&lines).ends_with("line 11; … and 88 more lines"));
        let long = said(&format!("remote: {}\n", "x".repeat(99_999)));
        assert_eq!(long.chars().count(), MOST_FROM_SERVER + 1);
    }

    #[test]
    fn secrets_are_what_the_environment_calls_so() {
        let environment = |pairs: &[(&str, &str)]| -> Vec<(OsString, OsString)> {
            pairs.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect()
        };
        let pairs = [
            ("CI_JOB_TOKEN", "glcbt-0123456789"),
            ("GIT_CONFIG_VALUE_0", "Authorization: Basic dTpDQU5BUlk="),
            ("GIT_CONFIG_VALUE_1", "https://git.example.com/"),
            ("MY_TOKEN", "short"),
            ("HOME", "/nonexistent/home"),
        ];
        assert_eq!(secrets(&environment(&pairs)), ["glcbt-0123456789", "dTpDQU5BUlk="]);
    }
}
