//! Region objects: facts about a region that the configuration names. A Region object never makes a region.

use alloc::collections::BTreeSet;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::builtin;
use super::provider_interface::Definition;
use crate::capi;
use crate::finding::{Code, Fault};
use crate::lenient::Faults;
use crate::name::Name;
use crate::node::Node;
use crate::object::Object;

/// What a Region object says.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RegionFacts {
    /// Names of `spec.providers`, such as `cluster-api-provider-aws`.
    pub providers: BTreeSet<String>,
    /// `exposedProviders` of all `status.components`, such as `infrastructure-aws`.
    pub exposed: BTreeSet<String>,
    /// Whether it has a `deletionTimestamp`.
    pub deleting: bool,
}

impl RegionFacts {
    /// Whether the provider of an identity kind is enabled, as far as the Region says.
    ///
    /// `status.availableProviders` is not asked: it flickers during upgrades. A plain Secret needs no
    /// provider, and a provider that nothing names cannot be found missing.
    pub fn enables(&self, definition: &Definition) -> bool {
        if definition.kind.is_secret() || self.providers.contains(&*definition.interface) {
            return true;
        }
        let by_kind = capi::rules(&definition.kind).map(|rules| rules.provider);
        let named = by_kind.or(definition.provider.as_deref()).or_else(|| builtin::provider_of(&definition.interface));
        let Some(provider) = named else { return true };
        let listed = builtin::interface_of(provider).is_some_and(|interface| self.providers.contains(interface));
        listed || self.exposed.contains(provider)
    }
}

/// The fields of `spec`, in any release.
const FIELDS: [&str; 5] = ["providers", "kubeConfig", "clusterDeployment", "core", "registryConfig"];

/// Reads a Region.
///
/// # Errors
/// Wrong types, and a Region without `spec`: then nothing is known of the region.
pub fn read(object: &Object) -> Result<RegionFacts, Vec<Fault>> {
    let mut faults = Faults::new(Code::UnreadableObject);
    let body = &object.body;
    let mut facts = RegionFacts { deleting: object.deleting, ..RegionFacts::default() };
    let spec = faults.needed_at(body, "", &["spec"], "Give pouch the whole Region, or leave it out.");
    let _ = spec.map(|spec| faults.mistyped(spec, "spec", &FIELDS));
    for (index, provider) in faults.items(body, "", &["spec", "providers"]).iter().enumerate() {
        let name = faults.needed(provider, &format!("spec.providers[{index}]"), &["name"]);
        facts.providers.extend(name.map(String::from));
    }
    if let Some(components) = faults.at(body, "", &["status", "components"]) {
        if !components.is_map() {
            let _ = faults.wrong_type("status.components", components, "a map");
        }
        for (name, component) in components.entries().iter().filter(|(_, node)| !matches!(node, Node::Null)) {
            let at = format!("status.components.{name}");
            for item in faults.items(component, &at, &["exposedProviders"]) {
                match item {
                    Node::Text(provider) => _ = facts.exposed.insert(provider.to_string()),
                    other => _ = faults.wrong_type(&format!("{at}.exposedProviders"), other, "text"),
                }
            }
        }
    }
    // Called for the faults of these fields; `kubeconfig_secrets` reads the names in them.
    let _ = kubeconfigs(object, &mut faults);
    faults.settle(Some(facts))
}

/// How many characters the name of a Region has at most, as k0rdent's documentation says: it makes labels of it.
///
/// <https://github.com/k0rdent/kcm/issues/2168>
const LONGEST_NAME: usize = 21;

/// The fault of a Region whose name k0rdent cannot make labels of.
pub fn too_long(object: &Object) -> Option<Fault> {
    let length = object.key.name.as_str().len();
    (length > LONGEST_NAME).then(|| {
        let message =
            format!("the name of the Region has {length} characters, and k0rdent's labels for it take {LONGEST_NAME}");
        Fault::new(Code::NameTooLong, message, "Give the Region a shorter name; k0rdent does not rename it later.")
    })
}

/// The names of the Secrets that hold a Region's kubeconfig, as far as they can be read.
///
/// Faults elsewhere in the Region do not matter: they free no kubeconfig.
pub fn kubeconfig_secrets(object: &Object) -> BTreeSet<Name> {
    kubeconfigs(object, &mut Faults::new(Code::UnreadableObject))
}

fn kubeconfigs(object: &Object, faults: &mut Faults) -> BTreeSet<Name> {
    let mut names = BTreeSet::new();
    let mut text = |path: &[&str]| faults.text(&object.body, "", path);
    names.extend(text(&["spec", "kubeConfig", "name"]).map(Name::from));
    if let Some(cluster) = text(&["spec", "clusterDeployment", "name"]) {
        names.insert(Name::new(format!("{cluster}-kubeconfig")));
        if let Some(namespace) = text(&["spec", "clusterDeployment", "namespace"]) {
            names.insert(Name::new(format!("{namespace}.{cluster}-kubeconfig")));
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::k0rdent::builtin::definitions;
    use crate::release::Release;
    use crate::testing::object;

    fn written(rest: &str) -> Object {
        let head = "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Region\nmetadata: {name: eu}\n";
        object(&format!("{head}{rest}\n"))
    }

    fn region(rest: &str) -> Result<RegionFacts, Vec<Fault>> {
        read(&written(rest))
    }

    fn kubeconfigs(rest: &str) -> Vec<String> {
        kubeconfig_secrets(&written(rest)).iter().map(|name| name.to_string()).collect()
    }

    #[test]
    fn kubeconfigs_have_the_names_that_k0rdent_derives() {
        assert_eq!(kubeconfigs("spec: {kubeConfig: {name: eu-kube, key: value}}"), ["eu-kube"]);
        let cluster = kubeconfigs("spec: {clusterDeployment: {namespace: ops, name: eu}}");
        assert_eq!(cluster, ["eu-kubeconfig", "ops.eu-kubeconfig"]);
        assert_eq!(kubeconfigs("spec: {clusterDeployment: {name: eu}}"), ["eu-kubeconfig"]);
        assert_eq!(kubeconfigs("spec: {kubeConfig: {name: eu-kube}, providers: [{}]}"), ["eu-kube"]);
    }

    #[test]
    fn a_provider_is_enabled_by_spec_or_by_what_components_expose() {
        let shipped = definitions(Release { minor: 12 });
        let enabled = |facts: &RegionFacts| {
            let custom = shipped.iter().filter(|d| !d.kind.is_secret() && facts.enables(d));
            custom.map(|d| d.kind.kind.to_string()).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(" ")
        };
        let aws = "AWSClusterControllerIdentity AWSClusterRoleIdentity AWSClusterStaticIdentity";
        assert_eq!(enabled(&region("spec: {}").unwrap()), "");
        assert_eq!(enabled(&region("spec: {providers: [{name: cluster-api-provider-aws, config: {}}]}").unwrap()), aws);
        let exposed = "spec: {}\nstatus: {availableProviders: [infrastructure-azure], components: {a: null, \
                       b: {success: false, exposedProviders: [infrastructure-vsphere, bootstrap-x]}}}";
        assert_eq!(enabled(&region(exposed).unwrap()), "VSphereClusterIdentity");
        let nothing = region("spec: {}").unwrap();
        assert!(shipped.iter().filter(|d| d.kind.is_secret()).all(|d| nothing.enables(d)), "Secrets need none");
    }

    #[test]
    fn interfaces_from_the_sources_are_matched_by_kind_label_or_name() {
        let aws = region("spec: {providers: [{name: cluster-api-provider-aws}]}").unwrap();
        let mut own = definitions(Release { minor: 12 }).remove(0);
        own.interface = "my-aws".into();
        own.provider = None;
        assert!(aws.enables(&own), "the kind is AWS's, whoever defines it");
        own.kind = crate::name::GroupKind::new("x.y", "Custom");
        assert!(aws.enables(&own), "nothing says which provider that is");
        own.provider = Some("infrastructure-x".to_string());
        assert!(!aws.enables(&own));
        own.interface = "cluster-api-provider-aws".into();
        assert!(aws.enables(&own));
    }

    #[test]
    fn the_registry_of_a_region_is_known_and_says_nothing() {
        assert_eq!(region("spec: {registryConfig: {url: x}}"), region("spec: {}"));
        let faults = region("spec: {registryConfg: {url: x}}").unwrap_err();
        assert_eq!(faults.iter().map(|fault| &*fault.help).collect::<Vec<_>>(), ["Did you mean registryConfig?"]);
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        for (rest, expect) in [
            ("status: {}", "spec is missing"),
            ("spec: {providers: {}}", "spec.providers is a map, not a list"),
            ("spec: {providers: [{}]}", "spec.providers[0].name is missing or empty"),
            ("spec: {providers: [aws]}", "spec.providers[0] is text, not a map"),
            ("spec: {kubeConfig: eu}", "spec.kubeConfig is text, not a map"),
            ("spec: {kubeConfig: {name: 7}}", "spec.kubeConfig.name is an integer, not text"),
            ("spec: {}\nstatus: {components: []}", "status.components is a list, not a map"),
            (
                "spec: {}\nstatus: {components: {a: {exposedProviders: [1]}}}",
                "status.components.a.exposedProviders is an integer, not text",
            ),
        ] {
            let faults = region(rest).unwrap_err();
            assert_eq!(faults.iter().map(|fault| &*fault.message).collect::<Vec<_>>(), [expect], "{rest}");
            assert!(faults.iter().all(|fault| fault.code == Code::UnreadableObject));
        }
    }
}
