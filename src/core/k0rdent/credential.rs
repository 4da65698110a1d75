//! Credentials: the identity that each asks for, its region, and the objects from which k0rdent projects it.

use alloc::string::ToString as _;
use alloc::vec::Vec;

use super::{API_GROUP, KIND, LABEL, MANAGED_LABEL, SUBDOMAIN, VERSION, is_kind};
use crate::finding::{Code, Fault};
use crate::k0rdent::root::Root;
use crate::lenient::Faults;
use crate::name::{
    GroupKind, Name, Namespace, ObjectKey, Region, is_dns_label, is_dns_subdomain, is_version, split_api_version,
};
use crate::node::Node;
use crate::object::Object;

/// What a Credential says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CredentialSpec {
    /// `spec.identityRef`.
    pub identity: Root,
    /// `spec.region`; without one the Credential is for the management cluster.
    pub region: Option<Region>,
    /// `spec.projectionConfig`; where it is set, k0rdent projects the credential itself and reads no companions.
    pub projection: Option<Projection>,
    /// Whether k0rdent's managed label is `"true"`: an AccessManagement made it, or somebody says so.
    pub managed: bool,
    /// Whether it has a `deletionTimestamp`; such a Credential still counts as present.
    pub deleting: bool,
}

/// The objects that `spec.projectionConfig` refers to, in the Credential's own namespace.
///
/// A template that is written inline is a part of the Credential and refers to nothing.
/// <https://github.com/k0rdent/kcm/pull/2634>
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Projection {
    /// The ConfigMap that `resourceTemplateRef` names.
    pub template: Option<Name>,
    /// The Secret that `secretDataRef` names.
    pub secret: Option<Name>,
}

impl Projection {
    /// The field that names the template.
    pub const TEMPLATE: &str = "spec.projectionConfig.resourceTemplateRef";

    /// The field that names the Secret.
    pub const SECRET: &str = "spec.projectionConfig.secretDataRef";

    /// The first minor release whose API is known to have the field.
    pub const SINCE: u8 = 13;

    /// The objects in a namespace, each with the field that names it.
    pub fn objects(&self, namespace: &Namespace) -> impl Iterator<Item = (ObjectKey, &'static str)> {
        let template =
            self.template.clone().map(|name| (ObjectKey::config_map(namespace.clone(), name), Self::TEMPLATE));
        let secret = self.secret.clone().map(|name| (ObjectKey::secret(namespace.clone(), name), Self::SECRET));
        template.into_iter().chain(secret)
    }
}

/// Reads a Credential; fields that are not needed are ignored.
///
/// # Errors
/// Where a field is missing, has a wrong type, or is not a name that the API server accepts. Names end up in
/// paths, lookups and labels, so only such names pass.
pub fn read(object: &Object) -> Result<CredentialSpec, Vec<Fault>> {
    let mut faults = Faults::new(Code::InvalidObject);
    let namespace = object.key.namespace.as_ref().map(Namespace::as_str);
    if namespace.is_none() {
        faults.add("metadata.namespace is missing".to_string(), "Credentials are namespaced: write the namespace.");
    }
    faults.shaped(namespace, "metadata.namespace", is_dns_label, LABEL);
    faults.shaped(Some(object.key.name.as_str()), "metadata.name", is_dns_subdomain, SUBDOMAIN);

    let body = &object.body;
    let region = faults.text(body, "", &["spec", "region"]);
    let region = faults.shaped(region, "spec.region", is_dns_subdomain, SUBDOMAIN).map(Region::from);
    let projection = faults.at(body, "", &["spec", "projectionConfig"]);
    let projection = projection.map(|config| self::projection(&mut faults, config));
    let identity = identity(&mut faults, object);
    let spec = identity.map(|identity| CredentialSpec {
        identity,
        region,
        projection,
        managed: object.label(MANAGED_LABEL) == Some("true"),
        deleting: object.deleting,
    });
    faults.settle(spec)
}

fn projection(faults: &mut Faults, config: &Node) -> Projection {
    const AT: &str = "spec.projectionConfig";
    const INLINE: &str = "resourceTemplate";
    const BY_NAME: &str = "resourceTemplateRef";
    // As the CRD's own rules: one of the two, and not both.
    let inline = faults.walk_to_text(config, AT, &[INLINE]);
    let is_by_name = config.at(&[BY_NAME]).is_some();
    if config.at(&[INLINE]).is_some() && is_by_name {
        let message = format!("{AT} has both {INLINE} and {BY_NAME}, and k0rdent takes one of them");
        faults.add(message, "Remove one of the two.");
    } else if matches!(inline, Ok(None)) && !is_by_name {
        let message = format!("{AT} has no template, and k0rdent takes no other");
        faults.add(message, "Write resourceTemplate or resourceTemplateRef.");
    }
    Projection {
        template: reference(faults, config, BY_NAME, Projection::TEMPLATE),
        secret: reference(faults, config, "secretDataRef", Projection::SECRET),
    }
}

fn reference(faults: &mut Faults, config: &Node, field: &str, at: &str) -> Option<Name> {
    let reference = faults.at(config, "spec.projectionConfig", &[field])?;
    let name = faults.needed(reference, at, &["name"]);
    faults.shaped(name, &format!("{at}.name"), is_dns_subdomain, SUBDOMAIN).map(Name::from)
}

fn identity(faults: &mut Faults, object: &Object) -> Option<Root> {
    const AT: &str = "spec.identityRef";
    const HELP: &str = "Name the identity that the Credential stands for.";
    let reference = faults.needed_at(&object.body, "", &["spec", "identityRef"], HELP)?;
    let api_version = faults.needed(reference, AT, &["apiVersion"]);
    let kind = faults.needed(reference, AT, &["kind"]);
    let name = faults.needed(reference, AT, &["name"]);
    let namespace = faults.text(reference, AT, &["namespace"]);

    let (group, version) = api_version.map(split_api_version).unzip();
    faults.shaped(
        group,
        "the group of spec.identityRef.apiVersion",
        |g| g.is_empty() || is_dns_subdomain(g),
        API_GROUP,
    );
    let version = faults.shaped(version, "the version of spec.identityRef.apiVersion", is_version, VERSION);
    let kind = faults.shaped(kind, "spec.identityRef.kind", is_kind, KIND);
    let name = faults.shaped(name, "spec.identityRef.name", is_dns_subdomain, SUBDOMAIN);
    let namespace = faults.shaped(namespace, "spec.identityRef.namespace", is_dns_label, LABEL);
    Some(Root {
        kind: GroupKind::new(group?, kind?),
        version: version?.into(),
        name: name?.into(),
        namespace: namespace.map(Namespace::from),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::object;
    use alloc::string::String;

    const HEAD: &str =
        "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Credential\nmetadata: {name: aws, namespace: team-a}\n";

    #[track_caller]
    fn check(spec: &str, expect: &str) {
        let said = match read(&object(&format!("{HEAD}spec: {spec}\n"))) {
            Ok(spec) => {
                let root = spec.identity;
                let namespace = root.namespace.as_ref().map_or("-", Namespace::as_str);
                let region = spec.region.as_ref().map_or("-", Region::as_str);
                format!("{} {} {namespace} {} {region}", root.kind, root.version, root.name)
            }
            Err(faults) => {
                assert!(faults.iter().all(|fault| fault.code == Code::InvalidObject && !fault.help.is_empty()));
                faults.into_iter().map(|fault| fault.message).collect::<Vec<String>>().join("; ")
            }
        };
        assert_eq!(said, expect, "{spec}");
    }

    #[test]
    fn what_is_asked_for_is_read() {
        check("{identityRef: {apiVersion: v1, kind: Secret, name: s}}", "Secret v1 - s -");
        check(
            "{region: eu, identityRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AzureClusterIdentity, \
             name: az.x, namespace: team-a, uid: 7}, projectionConfig: {resourceTemplate: a}}",
            "AzureClusterIdentity v1beta1 team-a az.x eu",
        );
        check("{region: '', identityRef: {apiVersion: v1, kind: Secret, name: s, namespace: ''}}", "Secret v1 - s -");
        check("{region: null, identityRef: {apiVersion: v1, kind: Secret, name: s}}", "Secret v1 - s -");
    }

    #[test]
    fn a_projection_names_objects_of_the_credentials_own_namespace() {
        let of = |config: &str| {
            let text = format!(
                "{HEAD}spec: {{identityRef: {{apiVersion: v1, kind: Secret, name: s}}, projectionConfig: {config}}}\n\
                 status: {{}}\n"
            );
            match read(&object(&text)) {
                Ok(spec) => spec.projection.map_or("none".to_string(), |projection| {
                    let own = Namespace::from("team-a");
                    let objects = projection.objects(&own);
                    objects.map(|(key, field)| format!("{key} by {field}")).collect::<Vec<_>>().join("; ")
                }),
                Err(faults) => faults.into_iter().map(|fault| fault.message).collect::<Vec<_>>().join("; "),
            }
        };
        let (at, both) = ("spec.projectionConfig", "{resourceTemplate: '', resourceTemplateRef: {name: t}}");
        let none = format!("{at} has no template, and k0rdent takes no other");
        for (config, expect) in [
            ("null", "none".to_string()),
            ("{resourceTemplate: 'a: b'}", String::new()),
            ("{resourceTemplate: 'a: b', resourceTemplateRef: null}", String::new()),
            ("{resourceTemplate: a, secretDataRef: {name: d}}", format!("Secret team-a/d by {at}.secretDataRef")),
            (
                "{secretDataRef: {name: d}, resourceTemplateRef: {name: t}}",
                format!("ConfigMap team-a/t by {at}.resourceTemplateRef; Secret team-a/d by {at}.secretDataRef"),
            ),
            (both, format!("{at} has both resourceTemplate and resourceTemplateRef, and k0rdent takes one of them")),
            ("{}", none.clone()),
            ("{resourceTemplate: ''}", none.clone()),
            ("{secretDataRef: {name: d}}", none),
            ("{resourceTemplate: {a: b}}", format!("{at}.resourceTemplate is a map, not text")),
            ("[]", format!("{at} is a list, not a map")),
            ("{resourceTemplate: a, secretDataRef: d}", format!("{at}.secretDataRef is text, not a map")),
            ("{resourceTemplate: a, secretDataRef: {}}", format!("{at}.secretDataRef.name is missing or empty")),
            (
                "{resourceTemplate: a, secretDataRef: {name: a/b}}",
                format!("{at}.secretDataRef.name is not {SUBDOMAIN}"),
            ),
        ] {
            assert_eq!(of(config), expect, "{config}");
        }
    }

    #[test]
    fn what_is_missing_or_of_a_wrong_type_is_said() {
        check("{}", "spec.identityRef is missing");
        check("null", "spec.identityRef is missing");
        check("[]", "spec is a list, not a map");
        check("{identityRef: aws}", "spec.identityRef is text, not a map");
        check(
            "{identityRef: {}}",
            "spec.identityRef.apiVersion is missing or empty; spec.identityRef.kind is missing or empty; \
             spec.identityRef.name is missing or empty",
        );
        check(
            "{identityRef: {apiVersion: v1, kind: Secret, name: 7}}",
            "spec.identityRef.name is an integer, not text",
        );
        check(
            "{region: [eu], identityRef: {apiVersion: v1, kind: Secret, name: s}}",
            "spec.region is a list, not text",
        );
    }

    #[test]
    fn names_that_the_api_would_refuse_go_no_further() {
        let long = "a".repeat(300);
        for bad in ["a/b", "..", "../../x", "A", "a b", "a\\nb", "\\e[31m", "a\\0", "é", "-a", "a_b", &long] {
            let reference = format!("{{identityRef: {{apiVersion: v1, kind: Secret, name: \"{bad}\"}}}}");
            check(&reference, &format!("spec.identityRef.name is not {SUBDOMAIN}"));
            let region = format!("{{region: \"{bad}\", identityRef: {{apiVersion: v1, kind: Secret, name: s}}}}");
            check(&region, &format!("spec.region is not {SUBDOMAIN}"));
        }
        for bad in ["a.b", "a/b", "..", &long] {
            let text = format!("{{identityRef: {{apiVersion: v1, kind: Secret, name: s, namespace: \"{bad}\"}}}}");
            check(&text, &format!("spec.identityRef.namespace is not {LABEL}"));
        }
        check(
            "{identityRef: {apiVersion: a/b/c, kind: Secret, name: s}}",
            &format!("the version of spec.identityRef.apiVersion is not {VERSION}"),
        );
        check(
            "{identityRef: {apiVersion: '../v1', kind: 'Sec ret', name: s}}",
            &format!(
                "the group of spec.identityRef.apiVersion is not {API_GROUP}; spec.identityRef.kind is not {KIND}"
            ),
        );
    }

    #[test]
    fn the_credentials_own_name_is_held_to_the_same() {
        let bad = "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Credential\nmetadata: {name: ../x, namespace: a.b}\n\
                   spec: {identityRef: {apiVersion: v1, kind: Secret, name: s}}\n";
        assert_eq!(read(&object(bad)).map_err(|faults| faults.len()), Err(2));
    }

    #[test]
    fn only_the_word_true_makes_it_managed() {
        for (label, expect) in [("\"true\"", true), ("\"false\"", false), ("\"True\"", false), ("\"\"", false)] {
            let text = format!(
                "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Credential\n\
                 metadata: {{name: a, namespace: b, deletionTimestamp: x, labels: {{k0rdent.mirantis.com/managed: {label}}}}}\n\
                 spec: {{identityRef: {{apiVersion: v1, kind: Secret, name: s}}}}\n"
            );
            let spec = read(&object(&text)).unwrap();
            assert_eq!(spec.managed, expect, "{label}");
            assert!(spec.deleting);
        }
    }
}
