//! The registry that bundles are copied to: one repository or tag for each region.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

use super::error::{Faults, FieldPath, quoted};
use super::repository::{ANY, REGION, filled};
use super::setting::{Fault, Show, given};
use crate::name::Directory;
use crate::yaml::emit::Tree;

/// The scheme of Argo CD's URLs of OCI artifacts.
pub const OCI_SCHEME: &str = "oci://";

/// The most characters of a registry and its repository together, as most registries have it.
const MOST: usize = 255;

/// The most characters of a tag.
const MOST_OF_TAG: usize = 128;

/// The registry that each region's bundle is copied to as an OCI artifact.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "OutputOciFile")]
pub struct OutputOci {
    /// Registry and repository, such as `registry.example.com/fleet/{region}`, with or without `oci://` before them.
    /// `{region}` stands for the region's folder; where there are several regions, it is needed here or in `tag`.
    #[serde(deserialize_with = "without_scheme")]
    #[schemars(with = "String", extend("x-check" = "artifact-repository"))]
    pub repository: String,
    /// The tag that consumers follow; may have `{region}` in it.
    #[serde(default = "latest")]
    #[schemars(extend("x-check" = "artifact-tag"))]
    pub tag: String,
    /// Whether the registry is asked by plain HTTP; by default only one on this machine is, such as `localhost:5000`.
    pub(super) insecure: Option<bool>,
}

fn latest() -> String {
    "latest".to_string()
}

fn without_scheme<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    String::deserialize(deserializer).map(|text| text.strip_prefix(OCI_SCHEME).unwrap_or(&text).into())
}

impl Show for OutputOci {
    fn show(&self) -> Option<Tree<'_>> {
        let insecure = Some(Tree::Bool(self.is_insecure()));
        Some(given([("repository", self.repository.show()), ("tag", self.tag.show()), ("insecure", insecure)]))
    }
}

/// Where a region's artifact stands.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ArtifactPlace {
    /// The registry: a host, and a port if need be.
    pub registry: String,
    /// The repository in it.
    pub repository: String,
    /// The tag.
    pub tag: String,
}

impl fmt::Display for ArtifactPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}:{}", self.registry, self.repository, self.tag)
    }
}

impl OutputOci {
    /// Where the artifact of the bundle with this folder stands.
    pub fn place(&self, directory: &Directory) -> ArtifactPlace {
        let repository = filled(&self.repository, directory.as_str());
        let (registry, repository) = repository.split_once('/').unwrap_or((&repository, ""));
        let tag = filled(&self.tag, directory.as_str());
        ArtifactPlace { registry: registry.into(), repository: repository.into(), tag }
    }

    /// Returns true if the registry is asked by plain HTTP.
    pub fn is_insecure(&self) -> bool {
        let host = self.repository.split('/').next().unwrap_or_default();
        self.insecure.unwrap_or_else(|| is_of_this_machine(host))
    }

    /// Checks that each region's artifact has a place of its own; the regions come with their folders.
    pub(super) fn check<'r>(
        &self,
        regions: impl Iterator<Item = (&'r str, &'r str)>,
        at: &FieldPath,
        faults: &mut Faults,
    ) {
        let mut places: BTreeMap<_, &str> = BTreeMap::new();
        for (name, directory) in regions {
            if let Some(other) = places.insert(self.place(&Directory::from(directory)), name) {
                let message =
                    format!("the artifacts of the regions {} and {} have one place", quoted(other), quoted(name));
                let help = format!("Write `{REGION}` into it, or into `tag`.");
                faults.add(&at.key("repository"), message, help);
                break;
            }
        }
    }
}

/// Finds out if a text names no repository of a registry.
pub(super) fn repository_fault(text: &str) -> Option<Fault> {
    let text = text.strip_prefix(OCI_SCHEME).unwrap_or(text);
    let help = "Write it as `registry.example.com/fleet/{region}`; user and password belong into docker's config.json.";
    let message = fault(&filled(text, ANY))?;
    Some(Fault { message: message.into(), help: help.into(), secret: text.contains('@') })
}

/// Finds out if a text is no tag of an artifact.
pub(super) fn tag_fault(text: &str) -> Option<Fault> {
    let help =
        "Write up to 128 letters, digits, `_`, `.` and `-`, such as `latest`; the only placeholder is `{region}`.";
    Fault::of(!is_tag(&filled(text, ANY)), || format!("{} is no tag", quoted(text)), help)
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
