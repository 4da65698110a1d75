//! What the configuration says of git repositories: URLs, refs and paths inside a tree.
//!
//! These texts end up as arguments of the git program, so this module refuses what git would take
//! for something else: options, remote helpers that run commands, credentials.

use alloc::string::String;
use alloc::vec::Vec;

/// What is wrong with a repository's URL or path; no message quotes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UrlFault {
    /// It is empty.
    Empty,
    /// It holds a password or token.
    Password,
    /// It starts with a dash, so git would take it for an option.
    Option,
    /// It names a remote helper (`ext::`), which may run commands.
    Helper,
    /// It has a control character or white space, which credential helpers may take for another line.
    Control,
    /// It has a placeholder in braces.
    Placeholder,
}

impl UrlFault {
    /// What is wrong.
    pub fn message(self) -> &'static str {
        match self {
            UrlFault::Empty => "the repository is empty",
            UrlFault::Password => "the URL has a password or token in it",
            UrlFault::Option => "the repository starts with a dash, which git would take for an option",
            UrlFault::Helper => "the repository names a remote helper, and those may run any command",
            UrlFault::Control => "the repository has white space or a control character in it",
            UrlFault::Placeholder => "the repository has braces in it, and nothing is filled in there",
        }
    }

    /// What to do about it.
    pub fn help(self) -> &'static str {
        match self {
            UrlFault::Empty => "Write a URL, `user@host:path`, or a path relative to the configuration.",
            UrlFault::Password => {
                "Remove it, treat it as leaked, and let git's credential helper or ssh supply the secret."
            }
            UrlFault::Option => "Write a path as `./-name`.",
            UrlFault::Helper => "Use an https, ssh or file URL.",
            UrlFault::Control => "Write the URL without it, percent-encoded forms of line breaks included.",
            UrlFault::Placeholder => "Write it without; only the output has a placeholder, which is `{region}`.",
        }
    }
}

/// What stands for the region's folder where the output differs from region to region.
pub const REGION: &str = "{region}";

/// The folder that a placeholder is filled with where only the form of a text counts.
pub(super) const ANY: &str = "region";

/// A text with a region's folder in place of [`REGION`].
pub fn filled(text: &str, directory: &str) -> String {
    text.replace(REGION, directory)
}

/// Finds what is wrong with a repository's URL or path.
///
/// # Errors
/// The first fault.
pub fn check_url(url: &str) -> Result<(), UrlFault> {
    let lower = url.to_ascii_lowercase();
    // An encoded line break splits one answer of a credential helper in two (CVE-2020-5260).
    let encoded_break = ["%0a", "%0d", "%00"].iter().any(|code| lower.contains(code));
    if url.is_empty() {
        Err(UrlFault::Empty)
    } else if holds_password(url) {
        Err(UrlFault::Password)
    } else if url.starts_with('-') {
        Err(UrlFault::Option)
    } else if is_remote_helper(url) {
        Err(UrlFault::Helper)
    } else if encoded_break || url.chars().any(|c| c.is_control() || c.is_whitespace()) {
        Err(UrlFault::Control)
    } else if url.contains(['{', '}']) {
        Err(UrlFault::Placeholder)
    } else {
        Ok(())
    }
}

/// Whether a URL, or a path in ssh's short form, has a password or an access token in it.
pub fn holds_password(url: &str) -> bool {
    const TOKENS: [&str; 7] = ["ghp_", "gho_", "ghs_", "ghu_", "github_pat_", "glpat-", "x-access-token"];
    let (has_scheme, rest) = match url.split_once("://") {
        Some((_, rest)) => (true, rest),
        None => (false, url),
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if let Some((user, _)) = authority.rsplit_once('@') {
        let token = TOKENS.iter().any(|mark| user.starts_with(mark));
        let password = user.split_once(':').is_some_and(|(_, password)| !password.is_empty());
        if password || (has_scheme && token) {
            return true;
        }
    }
    // A password with a slash in it pushes its `@` behind what looks like the authority.
    let slashed = has_scheme && authority.contains(':') && !authority.contains(['@', '[']) && rest.contains('@') && {
        let port = authority.rsplit_once(':').map_or("", |(_, port)| port);
        !port.bytes().all(|b| b.is_ascii_digit())
    };
    slashed || has_scheme && url.split_once('?').is_some_and(|(_, query)| names_a_secret(query))
}

fn names_a_secret(query: &str) -> bool {
    query.split('&').filter_map(|pair| pair.split_once('=')).any(|(key, value)| {
        let key = key.to_ascii_lowercase();
        let ends =
            |word: &str| key.strip_suffix(word).is_some_and(|start| start.is_empty() || start.ends_with(['_', '-']));
        !value.is_empty() && ["token", "password", "passwd", "secret"].into_iter().any(ends)
    })
}

/// `<transport>::<address>`: <https://git-scm.com/docs/gitremote-helpers>.
fn is_remote_helper(url: &str) -> bool {
    url.split_once("::").is_some_and(|(transport, _)| {
        !transport.is_empty() && transport.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
    })
}

/// What is wrong with the short name of a branch or tag, if anything.
///
/// <https://git-scm.com/docs/git-check-ref-format>
pub fn ref_fault(name: &str) -> Option<&'static str> {
    let forbidden = |c: char| c.is_control() || matches!(c, ' ' | '~' | '^' | ':' | '?' | '*' | '[' | '\\');
    if name.is_empty() {
        Some("it is empty")
    } else if name.starts_with('-') {
        Some("it starts with a dash, which git would take for an option")
    } else if name.starts_with("refs/") {
        Some("it is a full ref name; write the short name")
    } else if name.contains(['{', '}']) {
        Some("it has braces in it, and nothing is filled in there")
    } else if name.chars().any(forbidden) {
        Some("it has a character that git forbids in ref names")
    } else if name.contains("..") || name == "@" {
        Some("git reads it as a revision, not as a name")
    } else if name.split('/').any(|part| part.is_empty() || part.starts_with('.') || part.ends_with(".lock")) {
        Some("a part between slashes is empty, starts with a dot or ends in .lock")
    } else if name.ends_with('.') {
        Some("it ends in a dot")
    } else {
        None
    }
}

/// Why a text cannot be used as a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathFault {
    /// It is empty or names its starting point.
    Empty,
    /// It is absolute.
    Absolute,
    /// It leads out of its starting point.
    Outside,
    /// It goes through `.git`.
    DotGit,
    /// It has a backslash or a control character.
    Character,
}

impl PathFault {
    /// What is wrong.
    pub fn message(self) -> &'static str {
        match self {
            PathFault::Empty => "the path is empty or names no folder of its own",
            PathFault::Absolute => "the path is absolute",
            PathFault::Outside => "the path leads out of the repository",
            PathFault::DotGit => "the path goes through .git",
            PathFault::Character => "the path has a backslash or a control character in it",
        }
    }
}

/// A relative path without `.` and without `..` except at its start.
///
/// # Errors
/// Where the path is absolute, empty, goes through `.git`, or has a backslash or control character.
pub fn tidy(path: &str) -> Result<String, PathFault> {
    if path.chars().any(|c| c.is_control() || c == '\\') {
        return Err(PathFault::Character);
    }
    if path.starts_with('/') {
        return Err(PathFault::Absolute);
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part if part.eq_ignore_ascii_case(".git") => return Err(PathFault::DotGit),
            part => parts.push(part),
        }
    }
    if parts.is_empty() { Err(PathFault::Empty) } else { Ok(parts.join("/")) }
}

/// As [`tidy`], and inside its starting point.
///
/// # Errors
/// As [`tidy`], and where the path leads out.
pub fn tidy_inside(path: &str) -> Result<String, PathFault> {
    let path = tidy(path)?;
    if path == ".." || path.starts_with("../") { Err(PathFault::Outside) } else { Ok(path) }
}

/// Whether the tidy path `inner` is `outer` or below it.
pub fn is_within(inner: &str, outer: &str) -> bool {
    inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_with_secrets_or_commands_are_refused() {
        for (url, expect) in [
            ("https://git.example.com/a.git", Ok(())),
            ("https://org@dev.azure.com/org/p/_git/r", Ok(())),
            ("ssh://git@host:2222/a.git", Ok(())),
            ("git@host:a.git", Ok(())),
            ("git@github.com:org/re@po.git", Ok(())),
            ("https://[::1]:8443/a.git", Ok(())),
            ("https://host:8443/a@b.git", Ok(())),
            ("../fleet", Ok(())),
            ("file:///srv/git/a.git", Ok(())),
            ("https://me:@host/a.git", Ok(())),
            ("", Err(UrlFault::Empty)),
            ("https://me:pw@host/a.git", Err(UrlFault::Password)),
            ("https://me:p/w@host/a.git", Err(UrlFault::Password)),
            ("https://:pw@host/a.git", Err(UrlFault::Password)),
            ("https://me:p@w@host/a.git", Err(UrlFault::Password)),
            ("ssh://me:pw@host/a.git", Err(UrlFault::Password)),
            ("me:pw@host/a.git", Err(UrlFault::Password)),
            ("https://ghp_abc@github.com/a.git", Err(UrlFault::Password)),
            ("https://host/a.git?private_token=x", Err(UrlFault::Password)),
            ("--upload-pack=touch /tmp/x", Err(UrlFault::Option)),
            ("ext::sh -c id", Err(UrlFault::Helper)),
            ("fd::17", Err(UrlFault::Helper)),
            ("https://host/a\nb", Err(UrlFault::Control)),
            ("https://host%0ahost=evil/a", Err(UrlFault::Control)),
            ("https://host/{region}.git", Err(UrlFault::Placeholder)),
        ] {
            assert_eq!(check_url(url), expect, "{url}");
        }
    }

    #[test]
    fn ref_names_follow_git() {
        for good in ["main", "pouch/eu-west", "v1.2", "HEAD", "a@b"] {
            assert_eq!(ref_fault(good), None, "{good}");
        }
        for bad in [
            "",
            "-x",
            "refs/heads/main",
            "a..b",
            "a b",
            "a~1",
            "a^",
            "a:b",
            "a?",
            "a*",
            "a[",
            "a\\b",
            "@",
            "a@{1}",
            "/a",
            "a/",
            "a//b",
            ".a",
            "a/.b",
            "a.lock",
            "a.lock/b",
            "a.",
            "a\u{7f}",
            "{region}",
        ] {
            assert!(ref_fault(bad).is_some(), "{bad:?}");
        }
    }

    #[test]
    fn paths_are_tidied_and_kept_inside() {
        for (path, expect) in [
            ("bundles", Ok("bundles")),
            ("./a//b/", Ok("a/b")),
            ("a/../b", Ok("b")),
            ("a/../../b", Err(PathFault::Outside)),
            ("..", Err(PathFault::Outside)),
            (".", Err(PathFault::Empty)),
            ("a/..", Err(PathFault::Empty)),
            ("/a", Err(PathFault::Absolute)),
            (".git/hooks", Err(PathFault::DotGit)),
            ("a/.GIT/x", Err(PathFault::DotGit)),
            ("a\\b", Err(PathFault::Character)),
            ("a\nb", Err(PathFault::Character)),
        ] {
            assert_eq!(tidy_inside(path).as_deref(), expect.as_deref(), "{path:?}");
        }
        assert_eq!(tidy("../../x").as_deref(), Ok("../../x"));
        assert!(is_within("a/b", "a") && is_within("a", "a") && !is_within("ab", "a"));
    }
}
