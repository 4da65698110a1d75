//! Forms of texts: the faults of single values, in whatever field.

use alloc::format;
use alloc::string::ToString as _;
use alloc::vec::Vec;

use super::error::{holds_secret, quoted};
use super::globs::Globs;
use super::repository::{self, ANY, UrlFault, filled};
use super::setting::Fault;
use crate::name::{is_commit_id, is_directory, is_dns_label, is_dns_subdomain};
use crate::release::Release;

/// The help for a folder that no region can have.
pub(super) const FOLDER: &str = "Use 1 to 40 of a-z, 0-9 and dashes, with a letter or digit at both ends.";

/// The help where a reuse key stands instead of its place.
pub(super) const PASTED: &str =
    "Treat the key as leaked: make another with `pouch init`, and write here the variable or file that holds it.";

/// Returns true if a text can be the digest of an acceptance: 16 hex digits in lower case.
pub fn is_digest(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns true if a text can be the value of a label, and is not empty.
pub(super) fn is_label_word(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    let edge = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    text.len() <= 63 && text.bytes().all(inner) && edge(text.as_bytes().first()) && edge(text.as_bytes().last())
}

pub(super) fn digest(text: &str) -> Option<Fault> {
    let help = "Copy the 16 hex digits that the finding's help line prints for the region.";
    Fault::of(!is_digest(text), || format!("{} is not a digest", quoted(text)), help)
}

/// A DNS label.
pub(super) fn label(text: &str, what: &str) -> Option<Fault> {
    let help = "Use 1 to 63 of a-z, 0-9 and dashes, with a letter or digit at both ends.";
    Fault::of(!is_dns_label(text), || format!("{} cannot name a {what}", quoted(text)), help)
}

/// The name of an object.
pub(super) fn object_name(text: &str) -> Option<Fault> {
    let help = "Use labels of a-z, 0-9 and dashes, joined by dots, at most 253 characters in all.";
    Fault::of(!is_dns_subdomain(text), || format!("{} cannot name an object", quoted(text)), help)
}

pub(super) fn glob(text: &str) -> Option<Fault> {
    let help = "`*` stands for any characters, `?` for one, `[ab]` for one of some, `{a,b}` for one text of some.";
    Fault::of(text.is_empty() || !Globs::are_globs(&[text]), || format!("{} is not a glob", quoted(text)), help)
}

/// A glob over namespaces; one without a wildcard must be able to name one.
pub(super) fn namespace_glob(text: &str) -> Option<Fault> {
    let is_name = !text.is_empty() && !text.contains(['*', '?', '[', '{']);
    label(text, "namespace").filter(|_| is_name).or_else(|| glob(text))
}

/// A glob over names of ResourceSyncRules, which are cluster-scoped.
pub(super) fn rule_glob(text: &str) -> Option<Fault> {
    const HELP: &str = "Write the name of a ResourceSyncRule, in which `*` stands for any characters and `?` for one; `*` is every rule.";
    let may_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
    let may_glob = |c: char| may_name(c) || matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | ',' | '!');
    let is_wrong = text.is_empty() || !text.chars().all(may_glob);
    Fault::of(is_wrong, || format!("{} is not a glob over names of ResourceSyncRules", quoted(text)), HELP)
        .or_else(|| Fault::of(!Globs::are_globs(&[text]), || format!("{} is not a glob", quoted(text)), HELP))
}

/// A glob over names with a namespace before them. As both have exactly one slash, no wildcard can stand for one.
pub(super) fn object_glob(text: &str, kind: &str) -> Option<Fault> {
    let is_name = |part: &str| !part.is_empty() && !part.contains('/');
    let is_path = text.split_once('/').is_some_and(|(namespace, name)| is_name(namespace) && is_name(name));
    let help = format!(
        "Write `NAMESPACE/NAME`, in which `*` stands for any characters and `?` for one; `*/*` is every {kind}."
    );
    let is_wrong = !is_path || !Globs::are_globs(&[text]);
    Fault::of(is_wrong, || format!("{} is not a glob over {kind}s", quoted(text)), &help)
}

/// The type of a condition.
///
/// <https://pkg.go.dev/k8s.io/apimachinery/pkg/apis/meta/v1#Condition>
pub(super) fn condition(text: &str) -> Option<Fault> {
    let inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'/');
    let is_edge = text.starts_with(|c: char| c.is_ascii_alphanumeric());
    let is_condition = (1..=316).contains(&text.len()) && text.bytes().all(inner) && is_edge;
    let help = "Write it as the object's status does, such as ControlPlaneHealthy.";
    Fault::of(!is_condition, || format!("{} cannot be the type of a condition", quoted(text)), help)
}

pub(super) fn manager(text: &str) -> Option<Fault> {
    let help = "Fill it in, or remove the field.";
    Fault::of(text.is_empty(), || "the name of the cluster manager is empty".into(), help)
}

pub(super) fn directory(text: &str) -> Option<Fault> {
    let message = || format!("{} cannot name a region's folder", quoted(text));
    Fault::of(!is_directory(text), message, FOLDER)
}

pub(super) fn release(text: &str) -> Option<Fault> {
    let error = Release::parse(text).err().filter(|_| text != "none")?;
    Fault::of(true, || error.to_string(), "Write one of them, or `none` where the sources define all kinds.")
}

pub(super) fn plain(text: &str, help: &str) -> Option<Fault> {
    let is_wrong = text.is_empty() || text.chars().any(char::is_control);
    Fault::of(is_wrong, || "the path is empty or has a control character in it".into(), help)
}

pub(super) fn context(text: &str) -> Option<Fault> {
    let help = "Write a context's name, as `kubectl config get-contexts` lists them.";
    let is_wrong = text.is_empty() || text.chars().any(char::is_control);
    Fault::of(is_wrong, || format!("{} cannot name a context", quoted(text)), help)
}

/// A repository's URL or path.
pub(super) fn url(text: &str) -> Option<Fault> {
    let fault = repository::check_url(text).err()?;
    let secret = fault == UrlFault::Password;
    Some(Fault { message: fault.message().into(), help: fault.help().into(), secret })
}

/// The short name of a branch or tag, or a commit.
pub(super) fn ref_name(text: &str) -> Option<Fault> {
    let fault = repository::ref_fault(text)?;
    let help = "Write it as `git branch` or `git tag` shows it.";
    Fault::of(true, || format!("{} cannot be used: {fault}", quoted(text)), help)
}

/// A branch that bundles are published to, in which a placeholder stands for the region.
pub(super) fn branch(text: &str) -> Option<Fault> {
    let help = "Write it as `git branch` shows it; the only placeholder is `{region}`.";
    match repository::ref_fault(&filled(text, ANY)) {
        Some(fault) => Fault::of(true, || format!("{} cannot be used: {fault}", quoted(text)), help),
        None => Fault::of(text == "HEAD", || "HEAD is not a branch".into(), "Write the branch's name, such as `main`."),
    }
}

/// The most characters of a push option.
const MOST_OPTION: usize = 1024;

pub(super) fn push_option(text: &str) -> Option<Fault> {
    if holds_secret(text) {
        let help = "Treat it as leaked: push options stand in the list of processes and in logs of servers.";
        let message = "the push option has a key or a password in it";
        return Some(Fault { message: message.into(), help: help.into(), secret: true });
    }
    let is_wrong = text.trim().is_empty() || text.chars().any(is_unprintable) || text.chars().count() > MOST_OPTION;
    let message = || {
        format!(
            "this is no push option: it is empty, has more than {MOST_OPTION} characters, or one that cannot be printed"
        )
    };
    Fault::of(is_wrong, message, "Write one as `git push -o` takes it, such as `merge_request.create`.")
}

/// Returns true if a character ends a line, or moves the text around it.
fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

pub(super) fn template(text: &str) -> Option<Fault> {
    let is_wrong = text.trim().is_empty() || text.contains('\0');
    let help = "Write a template, or leave it out for the default.";
    Fault::of(is_wrong, || "the message is empty or holds a NUL".into(), help)
}

/// An environment variable that holds a key.
pub(super) fn variable(text: &str) -> Option<Fault> {
    if holds_secret(text) {
        let message = "this is a key; write where the key is instead";
        return Some(Fault { message: message.into(), help: PASTED.into(), secret: true });
    }
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let is_name = !text.is_empty() && !text.starts_with(|c: char| c.is_ascii_digit()) && text.bytes().all(word);
    let help = "Write a name such as `POUCH_REUSE_KEY`.";
    Fault::of(!is_name, || format!("{} cannot name an environment variable", quoted(text)), help)
}

/// The longest glob over names, in bytes: names of objects are no longer.
const MOST_GLOB_BYTES: usize = 253;

/// A glob over names of objects, which can be compared with others exactly.
pub(super) fn name_glob(text: &str) -> Option<Fault> {
    let is_of_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.' | '*' | '?');
    let is_glob = (1..=MOST_GLOB_BYTES).contains(&text.len()) && text.chars().all(is_of_name);
    let help = "Use a-z, 0-9, dashes and dots, `*` for any characters and `?` for one.";
    Fault::of(!is_glob, || format!("{} is not a glob over names of objects", quoted(text)), help)
}

pub(super) fn commit(text: &str) -> Option<Fault> {
    let help = "Write all of it, as `git rev-parse` prints it.";
    Fault::of(!is_commit_id(text), || format!("{} is no whole commit id", quoted(text)), help)
}

pub(super) fn decision_key(text: &str) -> Option<Fault> {
    let help = "Write it as the label `multicluster.x-k8s.io/decision-key` of the slices has it.";
    Fault::of(!is_label_word(text), || format!("{} cannot be a decision key", quoted(text)), help)
}

/// A claimant by its namespace and its name.
pub(super) fn claimant(text: &str, kind: &str) -> Vec<Fault> {
    let help = "Write its namespace and its name, as `NAMESPACE/NAME`.";
    let faults = match text.split_once('/') {
        None => [Fault::of(true, || format!("{} names no {kind}", quoted(text)), help), None],
        Some((namespace, name)) => [label(namespace, "namespace"), object_name(name)],
    };
    faults.into_iter().flatten().collect()
}

pub(super) fn go_duration(text: &str) -> Option<Fault> {
    let help = "Write a Go duration above zero in h, m, s or ms, such as `10m` or `1h30m`.";
    Fault::of(!is_duration(text), || format!("{} is not a duration", quoted(text)), help)
}

pub(super) fn secret_entry(text: &str) -> Option<Fault> {
    let help = "Write letters, digits, `-`, `_` and `.` only, such as `value.yaml`.";
    Fault::of(!is_entry(text), || format!("{} cannot name an entry of a Secret", quoted(text)), help)
}

/// Returns true if an entry of a Secret can have this name.
///
/// <https://kubernetes.io/docs/concepts/configuration/secret/#restriction-names-data>
fn is_entry(name: &str) -> bool {
    let is_fit = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    (1..=253).contains(&name.len()) && name.bytes().all(is_fit) && !name.starts_with("..") && name != "."
}

/// Returns true if Flux takes `text` as an interval: the pattern of its CRDs, above zero, and no longer than Go can tell
/// (292 years).
///
/// <https://fluxcd.io/flux/components/kustomize/api/v1/>
fn is_duration(text: &str) -> bool {
    let mut rest = text;
    let mut above_zero = false;
    let mut most = 0_u64;
    while !rest.is_empty() {
        let number_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let Some((number, unit)) = rest.split_at_checked(number_end) else { return false };
        let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
        if whole.is_empty() || part.is_empty() || part.contains('.') {
            return false;
        }
        above_zero |= number.bytes().any(|b| matches!(b, b'1'..=b'9'));
        let units = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000_u64)];
        let known = units.iter().find_map(|(name, size)| Some((unit.strip_prefix(name)?, size)));
        let Some((after, size)) = known else { return false };
        let whole = whole.parse::<u64>().unwrap_or(u64::MAX).saturating_add(1);
        most = most.saturating_add(whole.saturating_mul(*size));
        rest = after;
    }
    above_zero && most < i64::MAX.unsigned_abs() / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_go_durations_that_flux_takes() {
        for good in ["10m", "1h30m", "500ms", "1.5h", "1h0m0s", "2562046h"] {
            assert!(is_duration(good), "{good}");
        }
        for bad in [
            "",
            "10",
            "m",
            "0s",
            "10 m",
            "-1m",
            "1d",
            "1.m",
            ".5m",
            "1us",
            "10mm",
            "1.2.3s",
            "é",
            "2562048h",
            "99999999999999999999h",
        ] {
            assert!(!is_duration(bad), "{bad}");
        }
    }

    #[test]
    fn an_entry_has_a_name_that_secrets_take() {
        for good in ["value", "value.yaml", "a-b_c", ".x"] {
            assert!(is_entry(good), "{good}");
        }
        for bad in ["", ".", "..", "..data", "a/b", &"x".repeat(254)] {
            assert!(!is_entry(bad), "{bad}");
        }
    }
}
