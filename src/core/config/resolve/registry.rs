//! The registry that bundles are copied to: one repository or tag for each region.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::super::error::{Faults, FieldPath, quoted};
use super::super::file::{FleetFile, OutputOciFile};
use super::super::repository::{REGION, filled};
use super::super::{OCI_SCHEME, OutputOci};
use crate::name::Directory;

/// What a placeholder is taken for where only the form of a text counts.
const ANY: &str = "region";

/// The most characters of a registry and its repository together, as most registries have it.
const MOST: usize = 255;

/// The most characters of a tag.
const MOST_OF_TAG: usize = 128;

/// Resolves `output.oci`.
pub(super) fn resolve(file: &FleetFile, typed: &OutputOciFile, at: &FieldPath, faults: &mut Faults) -> OutputOci {
    let text = typed.repository.strip_prefix(OCI_SCHEME).unwrap_or(&typed.repository);
    if let Some(fault) = fault(&filled(text, ANY)) {
        let path = at.key("repository");
        let help =
            "Write it as `registry.example.com/fleet/{region}`; user and password belong into docker's config.json.";
        match text.contains('@') {
            true => faults.add_secret(&path, fault, help),
            false => faults.add(&path, fault, help),
        }
    }
    if !is_tag(&filled(&typed.tag, ANY)) {
        let help =
            "Write up to 128 letters, digits, `_`, `.` and `-`, such as `latest`; the only placeholder is `{region}`.";
        faults.add(&at.key("tag"), format!("{} is no tag", quoted(&typed.tag)), help);
    }
    let host = text.split('/').next().unwrap_or_default();
    let oci = OutputOci {
        repository: text.into(),
        tag: typed.tag.clone(),
        insecure: typed.insecure.unwrap_or_else(|| is_of_this_machine(host)),
    };
    let directories = file.regions.iter().map(|(name, region)| (name, region.directory.as_ref().unwrap_or(name)));
    let mut places: BTreeMap<_, &String> = BTreeMap::new();
    for (name, directory) in directories {
        if let Some(other) = places.insert(oci.place(&Directory::from(directory.as_str())), name) {
            let message = format!("the artifacts of the regions {} and {} have one place", quoted(other), quoted(name));
            let help = format!("Write `{REGION}` into it, or into `tag`.");
            faults.add(&at.key("repository"), message, help);
            break;
        }
    }
    oci
}

/// What is wrong with a registry and its repository, if anything; never quotes them.
///
/// <https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#pulling-manifests>
fn fault(text: &str) -> Option<&'static str> {
    let (registry, repository) = text.split_once('/').unwrap_or((text, ""));
    if text.contains("://") {
        Some("only `oci://` may stand before the registry")
    } else if text.contains('@') {
        Some("there is an `@` in it: neither a password nor a digest belongs here")
    } else if !is_registry(registry) {
        Some("it does not begin with a registry's host, such as `registry.example.com` or `localhost:5000`")
    } else if repository.is_empty() {
        Some("it names no repository in the registry")
    } else if repository.contains(':') {
        Some("there is a `:` behind the registry; a tag belongs into `tag`")
    } else if text.len() > MOST || !repository.split('/').all(is_component) {
        Some("the repository has a character that registries do not take, such as a capital, or is too long")
    } else {
        None
    }
}

/// Whether a text is a host with a port if need be. As for docker, one without a dot or a port is no host.
fn is_registry(text: &str) -> bool {
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, port)) => (address, port.strip_prefix(':').or(port.is_empty().then_some("1"))),
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, (text.contains('.') || text == "localhost").then_some("1")),
        },
    };
    let is_host = match text.starts_with('[') {
        true => host.contains(':') && host.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b':'),
        false => host.split('.').all(is_label),
    };
    is_host && port.is_some_and(|port| port.parse::<u16>().is_ok_and(|port| port > 0))
}

fn is_label(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    !text.is_empty() && !text.starts_with('-') && !text.ends_with('-') && text.bytes().all(is_word)
}

/// Whether a text may stand between two slashes of a repository's name.
fn is_component(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let plain_ends = text.bytes().next().is_some_and(is_plain) && text.bytes().last().is_some_and(is_plain);
    let mut gaps = text.split(|c: char| c.is_ascii() && is_plain(u8::try_from(c).unwrap_or_default()));
    plain_ends && gaps.all(|gap| matches!(gap, "" | "." | "_" | "__") || gap.bytes().all(|byte| byte == b'-'))
}

fn is_tag(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.len() <= MOST_OF_TAG
        && text.bytes().next().is_some_and(is_word)
        && text.bytes().all(|byte| is_word(byte) || matches!(byte, b'.' | b'-'))
}

/// Whether a host is this machine itself.
fn is_of_this_machine(registry: &str) -> bool {
    let of_this = |rest: &str| rest.is_empty() || rest.starts_with(':');
    let host = registry.split(':').next().unwrap_or_default();
    let numbers: Vec<&str> = host.split('.').collect();
    let is_address = numbers.len() == 4 && numbers.iter().all(|number| number.parse::<u8>().is_ok());
    registry.strip_prefix("[::1]").is_some_and(of_this)
        || host == "localhost"
        || (is_address && numbers.first() == Some(&"127"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repositories_are_those_that_registries_take() {
        for good in [
            "registry.example.com/fleet/region",
            "localhost:5000/a",
            "localhost/a",
            "127.0.0.1:5000/a/b__c/d-e.f",
            "[::1]:5000/a",
            "host:1/a",
        ] {
            assert_eq!(fault(good), None, "{good}");
        }
        for bad in [
            "",
            "fleet",
            "fleet/region",
            "registry.example.com",
            "registry.example.com/",
            "https://registry.example.com/a",
            "registry.example.com/a:latest",
            "registry.example.com/a@sha256:00",
            "me:pw@registry.example.com/a",
            "registry.example.com/A",
            "registry.example.com/a//b",
            "registry.example.com/a_",
            "registry.example.com/a..b",
            "registry.example.com/a___b",
            "registry.example.com/a b",
            "registry.example.com/{x}",
            "host:0/a",
            "host:x/a",
            "-h.example.com/a",
            "[::1/a",
            "::1/a",
            "registry.example.com/é",
        ] {
            assert!(fault(bad).is_some(), "{bad}");
        }
        assert!(fault(&format!("localhost/{}", "a".repeat(250))).is_some());
    }

    #[test]
    fn tags_are_words() {
        for good in ["latest", "v1.2", "_x", "main-eu"] {
            assert!(is_tag(good), "{good}");
        }
        for bad in ["", ".x", "-x", "a/b", "a:b", "a b", "{region}", "é"] {
            assert!(!is_tag(bad), "{bad}");
        }
        assert!(!is_tag(&"a".repeat(129)));
    }

    #[test]
    fn only_this_machine_is_asked_without_tls() {
        for here in ["localhost", "localhost:5000", "127.0.0.1:5000", "127.9.9.9", "[::1]:5000"] {
            assert!(is_of_this_machine(here), "{here}");
        }
        for other in ["registry.example.com", "10.0.0.1:5000", "localhost.example.com", "[fe80::1]"] {
            assert!(!is_of_this_machine(other), "{other}");
        }
    }
}
