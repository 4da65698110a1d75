//! Which repositories and references are accepted at all, and what they are called.

use std::borrow::Cow;

/// Where a repository is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Address {
    /// On this machine, a path as typed.
    Local(String),
    /// Reached by the `git` program.
    Remote(String),
}

/// Sorts out what the configuration calls a repository.
///
/// `https://`, `ssh://`, `git+ssh://`, `file://` and `host:path` are remote, whatever else is a path.
/// `http://` is taken for this machine only: anybody on the way could put other credentials in.
///
/// # Errors
/// Says why it is not accepted; a user and password in it are not repeated. Such strings have made
/// git run programs: `--upload-pack=…` as an option, `ext::…` as a transport.
pub fn address(repository: &str) -> Result<Address, String> {
    if repository.is_empty() || repository.chars().any(char::is_control) {
        return Err("is empty or holds control characters".to_owned());
    }
    if repository.starts_with('-') {
        return Err("starts with a dash, so git would take it for an option".to_owned());
    }
    if let Some((scheme, rest)) = repository.split_once("://") {
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let (user, host) = host.rsplit_once('@').unwrap_or(("", host));
        if host.starts_with('-') || user.starts_with('-') {
            return Err("has a host that starts with a dash, so ssh would take it for an option".to_owned());
        }
        if user.contains(':') {
            return Err("has a password in it".to_owned());
        }
        return match scheme {
            "https" | "ssh" | "git+ssh" if !host.is_empty() => Ok(Address::Remote(repository.to_owned())),
            "file" => Ok(Address::Remote(repository.to_owned())),
            "http" if is_this_machine(host) => Ok(Address::Remote(repository.to_owned())),
            "http" => Err("is reached by http, where anybody on the way can change what is read".to_owned()),
            _ => Err("has a scheme other than https, ssh and file".to_owned()),
        };
    }
    let before_slash = repository.split('/').next().unwrap_or_default();
    if before_slash.contains("::") {
        return Err("names a git transport, which could run any program".to_owned());
    }
    match before_slash.split_once(':') {
        Some((host, _)) if host.contains("@-") => {
            Err("has a host that starts with a dash, so ssh would take it for an option".to_owned())
        }
        Some((host, _)) if !host.is_empty() => Ok(Address::Remote(repository.to_owned())),
        _ => Ok(Address::Local(repository.to_owned())),
    }
}

fn is_this_machine(host: &str) -> bool {
    let name = if host.starts_with('[') { host.split_inclusive(']').next() } else { host.split(':').next() };
    matches!(name, Some("localhost" | "127.0.0.1" | "[::1]"))
}

/// A repository as bundles and messages name it: a URL without user, query and fragment, or the path
/// as typed.
pub fn identity(repository: &str) -> String {
    let end = |text: &str| text.trim_end_matches('/').to_owned();
    if let Some((scheme, rest)) = repository.split_once("://") {
        let rest = rest.split(['?', '#']).next().unwrap_or_default();
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host).to_ascii_lowercase();
        return end(&format!("{scheme}://{host}/{path}"));
    }
    match (address(repository), repository.split_once(':')) {
        (Ok(Address::Remote(_)), Some((host, path))) => {
            let host = host.rsplit_once('@').map_or(host, |(_, host)| host).to_ascii_lowercase();
            end(&format!("ssh://{host}/{}", path.trim_start_matches('/')))
        }
        _ => end(repository.strip_prefix("./").filter(|rest| !rest.is_empty()).unwrap_or(repository)),
    }
}

/// The one reference or commit that a text names in another repository: `HEAD`, a full `refs/…` and a whole commit id
/// are themselves, and whatever else is a branch.
///
/// Git would go through `refs/tags` and more before it comes to branches, and so let a tag stand for a branch.
pub fn full(text: &str) -> Cow<'_, str> {
    match text == "HEAD" || text.starts_with("refs/") || is_commit_id(text) {
        true => Cow::Borrowed(text),
        false => Cow::Owned(format!("refs/heads/{text}")),
    }
}

/// A reference as people write it: a branch by its short name, others in full, so that [`full`] gives it back.
pub fn short(reference: &str) -> &str {
    reference.strip_prefix("refs/heads/").filter(|name| full(name) == reference).unwrap_or(reference)
}

/// Whether git fetched `reference` itself, by what it notes in `FETCH_HEAD`: where a repository lacks the reference, git
/// takes another one that ends in its name, such as `refs/tags/refs/heads/main`.
///
/// <https://git-scm.com/docs/git-fmt-merge-msg>
pub(super) fn is_fetched(reference: &str, fetch_head: &str) -> bool {
    let note = fetch_head.lines().next().and_then(|line| line.splitn(3, '\t').nth(2)).unwrap_or_default();
    let kinds = [("refs/heads/", "branch"), ("refs/tags/", "tag"), ("refs/remotes/", "remote-tracking branch")];
    let named = kinds.iter().find_map(|(start, kind)| Some(format!("{kind} '{}' of ", reference.strip_prefix(start)?)));
    match reference {
        "HEAD" => {
            let other = kinds.iter().any(|(_, kind)| note.starts_with(&format!("{kind} '"))) || note.starts_with('\'');
            !note.is_empty() && !other
        }
        _ => note.starts_with(&named.unwrap_or_else(|| format!("'{reference}' of "))),
    }
}

/// Whether `reference` can name a branch, tag or commit and nothing else: no revision arithmetic, no
/// option, no refspec.
///
/// <https://git-scm.com/docs/git-check-ref-format>
pub fn is_reference(reference: &str) -> bool {
    let forbidden = |c: char| c.is_control() || c.is_whitespace() || "~^:?*[\\".contains(c);
    !reference.is_empty()
        && reference.len() <= 1024
        && !reference.chars().any(forbidden)
        && !reference.starts_with(['-', '+', '/'])
        && !reference.ends_with(['/', '.'])
        && !["..", "@{", "//", "/."].iter().any(|part| reference.contains(part))
        && !reference.starts_with('.')
        && reference != "@"
}

/// Whether `text` is a reference, or the ancestor of one as `main~3` and `HEAD^` name it.
///
/// <https://git-scm.com/docs/gitrevisions>
pub fn is_revision(text: &str) -> bool {
    let (reference, ancestor) = text.split_at(text.find(['~', '^']).unwrap_or(text.len()));
    is_reference(reference) && ancestor.chars().all(|c| matches!(c, '~' | '^' | '0'..='9'))
}

/// Whether `text` is a whole commit id, SHA-1 or SHA-256.
pub fn is_commit_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repositories_are_local_remote_or_refused() {
        let remote = [
            "https://h/r.git",
            "ssh://git@h:22/r",
            "git@h:team/r.git",
            "file:///r",
            "http://127.0.0.1:80/r",
            "http://[::1]:80/r",
        ];
        for one in remote {
            assert_eq!(address(one), Ok(Address::Remote(one.to_owned())));
        }
        for one in [".", "../r", "/srv/r.git", "./a:b", "r"] {
            assert_eq!(address(one), Ok(Address::Local(one.to_owned())));
        }
        let refused = [
            "",
            "--upload-pack=touch x",
            "-r",
            "ext::sh -c x",
            "fd::17",
            "transport::x",
            "http://h/r",
            "git://h/r",
            "ftp://h/r",
            "https://u:p@h/r",
            "ssh://-oProxyCommand=x/r",
            "ssh://-u@h/r",
            "git@-oProxyCommand=x:r",
            "https:///r",
            "a\nb",
        ];
        for one in refused {
            assert!(address(one).is_err(), "{one}");
        }
        assert!(!address("https://u:CANARY@h/r").unwrap_err().contains("CANARY"));
    }

    #[test]
    fn identities_hold_no_user_query_or_fragment() {
        let table = [
            ("https://token@Host/Team/r.git?x=1#y", "https://host/Team/r.git"),
            ("ssh://git@h:22/r/", "ssh://h:22/r"),
            ("git@h:team/r.git", "ssh://h/team/r.git"),
            ("h:/team/r.git", "ssh://h/team/r.git"),
            ("file:///srv/r", "file:///srv/r"),
            ("../r", "../r"),
            ("./r", "r"),
            (".", "."),
        ];
        for (typed, expect) in table {
            assert_eq!(identity(typed), expect);
        }
    }

    #[test]
    fn a_short_name_is_a_branch_and_nothing_else() {
        let id = "0123456789abcdef0123456789abcdef01234567";
        for (text, expect) in [
            ("main", "refs/heads/main"),
            ("tags/v1", "refs/heads/tags/v1"),
            ("heads/main", "refs/heads/heads/main"),
            ("refs/heads/main", "refs/heads/main"),
            ("refs/tags/v1", "refs/tags/v1"),
            ("HEAD", "HEAD"),
            (id, id),
        ] {
            assert_eq!(full(text), expect);
            assert_eq!(full(short(expect)), expect);
        }
        assert_eq!((short("refs/heads/main"), short("refs/heads/HEAD")), ("main", "refs/heads/HEAD"));
    }

    #[test]
    fn git_notes_which_reference_it_fetched() {
        for (reference, note, expect) in [
            ("refs/heads/main", "branch 'main' of file:///r", true),
            ("refs/heads/main", "tag 'refs/heads/main' of file:///r", false),
            ("refs/heads/main", "branch 'refs/heads/main' of file:///r", false),
            ("refs/heads/main", "tag 'main' of file:///r", false),
            ("refs/heads/main", "", false),
            ("refs/tags/v1", "tag 'v1' of file:///r", true),
            ("refs/notes/main", "'refs/notes/main' of file:///r", true),
            ("refs/notes/main", "tag 'refs/notes/main' of file:///r", false),
            ("HEAD", "file:///r", true),
            ("HEAD", "tag 'HEAD' of file:///r", false),
            ("HEAD", "'refs/HEAD' of file:///r", false),
            ("HEAD", "", false),
        ] {
            assert_eq!(is_fetched(reference, &format!("0123\t\t{note}\n")), expect, "{reference} {note}");
        }
    }

    #[test]
    fn references_are_names_and_nothing_else() {
        for good in ["main", "refs/heads/main", "v1.2.3", "feature/x", "HEAD", "0123456789abcdef", "a@b"] {
            assert!(is_reference(good), "{good}");
        }
        let bad = [
            "", "-x", "+x", "a..b", "a:b", "HEAD~1", "HEAD^", "@{u}", "a*", "a b", "a\n", "/x", "x/", ".x", "a/.b",
            "@", ":/x",
        ];
        for bad in bad {
            assert!(!is_reference(bad), "{bad:?}");
        }
        for good in ["main", "HEAD~1", "main^^", "v1~2^2"] {
            assert!(is_revision(good), "{good}");
        }
        for bad in ["", "~1", "main^{tree}", "HEAD~1:x", "main~x", "-x~1", "a..b", "HEAD^@"] {
            assert!(!is_revision(bad), "{bad:?}");
        }
    }
}
