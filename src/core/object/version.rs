//! The version of an object, which says how it is to be read.

use alloc::format;
use alloc::string::String;

use crate::finding::{Code, Fault};
use crate::kinds::{K0RDENT, Scopes};
use crate::name::{GroupKind, is_template, is_version};

/// The versions that known releases serve of the core group's kinds.
const OF_CORE: &[&str] = &["v1"];

/// The same of k0rdent's kinds, the newest first.
const OF_K0RDENT: &[&str] = &["v1beta1", "v1alpha1"];

/// Finds what is wrong with the version that a document is written in: no API server would take the document.
pub(super) fn fault(version: &str, kind: &GroupKind, scopes: &Scopes) -> Option<Fault> {
    if is_template(version) {
        return Some(unrendered("apiVersion"));
    }
    let known = known(kind);
    let is_served = known.is_empty() || known.contains(&version) || scopes.has_version(kind, version);
    let message = match (version, is_version(version)) {
        ("", _) => String::from("apiVersion names no version"),
        (_, false) => String::from("what apiVersion names is no version that an API can have"),
        (_, true) if is_served => return None,
        (_, true) => format!("apiVersion names version {version}, in which no known release has a {}", kind.kind),
    };
    let help = match known.first() {
        Some(newest) => format!("Begin the document with `apiVersion: {}`.", kind.api_version(&(*newest).into())),
        None => String::from("Write the version in which the provider's CustomResourceDefinition has the kind."),
    };
    Some(Fault::new(Code::Mistyped, message, help))
}

fn known(kind: &GroupKind) -> &'static [&'static str] {
    match kind.group.as_str() {
        "" => OF_CORE,
        K0RDENT => OF_K0RDENT,
        _ => &[],
    }
}

/// The version that a document of another kind, or of none, could be meant to be written in.
pub fn meant<'v>(version: &'v str, kind: &GroupKind) -> &'v str {
    let newest = known(kind).first().copied().unwrap_or("v1");
    if fault(version, kind, &Scopes::new()).is_none() { version } else { newest }
}

/// The fault of a field that is an unrendered template.
pub fn unrendered(field: &str) -> Fault {
    let message = format!("{field} is an unrendered template");
    let help = "Render the template, with helm template for example, and give pouch what comes out.";
    Fault::new(Code::UnrenderedTemplate, message, help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_one_that_some_server_serves() {
        let of = |group: &str, version: &str| {
            let fault = fault(version, &GroupKind::new(group, "Credential"), &Scopes::new());
            fault.map(|fault| (fault.code, fault.message))
        };
        for (group, version) in
            [("", "v1"), (K0RDENT, "v1beta1"), (K0RDENT, "v1alpha1"), ("a.example", "v1beta9"), ("a.example", "x")]
        {
            assert_eq!(of(group, version), None, "{group}/{version}");
        }
        let wrong = [
            ("", "v2", "in which no known release has a Credential"),
            ("", "v1 ", "is no version that an API can have"),
            (K0RDENT, "v1beta9", "apiVersion names version v1beta9, in which"),
            (K0RDENT, "", "apiVersion names no version"),
            ("a.example", "", "apiVersion names no version"),
            ("a.example", "v1/x", "is no version that an API can have"),
            ("a.example", "1", "is no version that an API can have"),
        ];
        for (group, version, message) in wrong {
            let (code, said) = of(group, version).unwrap();
            assert!(code == Code::Mistyped && said.contains(message), "{group}/{version}: {said}");
        }
        for version in ["{{ .Values.version }}", "${V}", "v${V}"] {
            assert_eq!(of(K0RDENT, version).unwrap().0, Code::UnrenderedTemplate, "{version}");
        }
    }

    #[test]
    fn a_definition_in_the_sources_brings_its_versions() {
        let kind = GroupKind::new(K0RDENT, "Credential");
        let mut scopes = Scopes::new();
        scopes.learn_version(&kind, "v2");
        assert!(fault("v2", &kind, &scopes).is_none() && fault("v3", &kind, &scopes).is_some());
        assert!(fault("v2", &GroupKind::new(K0RDENT, "Region"), &scopes).is_some());
    }
}
