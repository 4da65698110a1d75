//! The ProviderInterfaces that k0rdent ships, release by release.
//!
//! A user's repository seldom has them: Helm charts bring them to each cluster. So one table here says
//! what every known release defines; sources that define a kind override it.
//! Source: `templates/provider/*/templates/interface.yaml` of <https://github.com/k0rdent/kcm>.

use alloc::string::ToString as _;
use alloc::vec::Vec;

use super::provider_interface::{Definition, ReferencePath};
use crate::capi;
use crate::name::GroupKind;
use crate::node::Key;
use crate::release::Release;

/// The first release whose ProviderInterfaces carry the provider's label.
const LABELLED_SINCE: u8 = 11;

const AWS: &str = "cluster-api-provider-aws";
const AZURE: &str = "cluster-api-provider-azure";
const DOCKER: &str = "cluster-api-provider-docker";
const GCP: &str = "cluster-api-provider-gcp";
const K0SMOTRON: &str = "cluster-api-provider-k0sproject-k0smotron";
const KUBEVIRT: &str = "cluster-api-provider-kubevirt";
const OPENSTACK: &str = "cluster-api-provider-openstack";
const VSPHERE: &str = "cluster-api-provider-vsphere";

/// ProviderInterface (also the name in `Region.spec.providers`) and Cluster API provider.
const PROVIDERS: [(&str, &str); 8] = [
    (AWS, "infrastructure-aws"),
    (AZURE, "infrastructure-azure"),
    (DOCKER, "infrastructure-docker"),
    (GCP, "infrastructure-gcp"),
    (K0SMOTRON, "infrastructure-k0sproject-k0smotron"),
    (KUBEVIRT, "infrastructure-kubevirt"),
    (OPENSTACK, "infrastructure-openstack"),
    (VSPHERE, "infrastructure-vsphere"),
];

/// The Cluster API provider of a shipped ProviderInterface.
pub fn provider_of(interface: &str) -> Option<&'static str> {
    PROVIDERS.iter().find(|(name, _)| *name == interface).map(|(_, provider)| *provider)
}

/// The shipped ProviderInterface of a Cluster API provider.
pub fn interface_of(provider: &str) -> Option<&'static str> {
    PROVIDERS.iter().find(|(_, name)| *name == provider).map(|(interface, _)| *interface)
}

enum Target {
    None,
    Secret { name: &'static str, namespace: Option<&'static str> },
    Controller { name: &'static str },
}

struct Row {
    since: u8,
    interface: &'static str,
    version: &'static str,
    kind: &'static str,
    target: Target,
}

const fn identity(
    since: u8,
    interface: &'static str,
    version: &'static str,
    kind: &'static str,
    target: Target,
) -> Row {
    Row { since, interface, version, kind, target }
}

const fn plain(since: u8, interface: &'static str) -> Row {
    Row { since, interface, version: "v1", kind: "Secret", target: Target::None }
}

const fn system_secret(name: &'static str) -> Target {
    Target::Secret { name, namespace: None }
}

const fn secret(name: &'static str, namespace: &'static str) -> Target {
    Target::Secret { name, namespace: Some(namespace) }
}

/// No release took a row back, so the first release of each row is enough.
const ROWS: [Row; 14] = [
    identity(5, AWS, "v1beta2", "AWSClusterStaticIdentity", system_secret("spec.secretRef")),
    identity(5, AWS, "v1beta2", "AWSClusterRoleIdentity", Target::Controller { name: "spec.sourceIdentityRef.name" }),
    identity(5, AWS, "v1beta2", "AWSClusterControllerIdentity", Target::None),
    identity(
        5,
        AZURE,
        "v1beta1",
        "AzureClusterIdentity",
        secret("spec.clientSecret.name", "spec.clientSecret.namespace"),
    ),
    plain(5, AZURE),
    plain(5, DOCKER),
    plain(5, GCP),
    plain(5, K0SMOTRON),
    plain(8, KUBEVIRT),
    plain(5, OPENSTACK),
    identity(
        5,
        OPENSTACK,
        "v1alpha1",
        "OpenStackClusterIdentity",
        secret("spec.secretRef.name", "spec.secretRef.namespace"),
    ),
    identity(5, VSPHERE, "v1beta1", "VSphereClusterIdentity", system_secret("spec.secretName")),
    identity(10, VSPHERE, "v1beta2", "VSphereClusterIdentity", system_secret("spec.secretName")),
    plain(5, VSPHERE),
];

/// The definitions that a release ships, sorted by interface, then in the order written there.
pub fn definitions(release: Release) -> Vec<Definition> {
    let shipped = ROWS.iter().filter(|row| row.since <= release.minor);
    shipped
        .map(|row| {
            let group = if row.kind == "Secret" { "" } else { capi::GROUP };
            let label = provider_of(row.interface).filter(|_| release.minor >= LABELLED_SINCE);
            Definition {
                interface: row.interface.into(),
                kind: GroupKind::new(group, row.kind),
                version: row.version.into(),
                references: reference(&row.target).into_iter().collect(),
                provider: label.map(|label| label.to_string()),
            }
        })
        .collect()
}

fn reference(target: &Target) -> Option<ReferencePath> {
    let keys = |path: &str| path.split('.').map(Key::from).collect::<Vec<Key>>();
    match target {
        Target::None => None,
        Target::Secret { name, namespace } => Some(ReferencePath {
            kind: GroupKind::new("", "Secret"),
            version: "v1".into(),
            name: keys(name),
            namespace: namespace.map(keys),
        }),
        Target::Controller { name } => Some(ReferencePath {
            kind: GroupKind::new(capi::GROUP, "AWSClusterControllerIdentity"),
            version: "v1beta2".into(),
            name: keys(name),
            namespace: None,
        }),
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::k0rdent::provider_interface;
    use crate::testing::{object, shared};
    use alloc::string::String;
    use std::fs;

    #[test]
    fn releases_are_the_known_ones_only() {
        for release in Release::KNOWN {
            assert_eq!(Release::parse(&release.name()), Ok(release));
        }
        let no_data = Release::parse("v1.7").unwrap_err().to_string();
        assert!(no_data.contains("v1.6, v1.8") && !no_data.contains("v1.9"), "{no_data}");
        // Nothing was ever taken back, so the newest known data stand for newer releases.
        let newer = Release::parse("v1.13").unwrap();
        assert!(newer.is_newer() && !Release::KNOWN.iter().any(|known| known.is_newer()));
        assert_eq!(definitions(newer).len(), definitions(Release { minor: 12 }).len());
        assert!(newer.is_named_alone() && !Release { minor: 14 }.is_named_alone());
        assert!(!Release::KNOWN.iter().any(|known| known.is_named_alone()));
        for bad in ["", "v1.4", "v1.013", "v1.300", "1.11", "v1.11.4", "v1.011", "v2.5", "v1.5 "] {
            let error = Release::parse(bad).unwrap_err().to_string();
            assert!(
                error.contains("v1.5, v1.6, v1.8") && error.ends_with("v1.12 and, by its name alone, v1.13"),
                "{error}"
            );
        }
    }

    #[test]
    fn interfaces_and_providers_are_each_others() {
        for row in &ROWS {
            assert_eq!(provider_of(row.interface).and_then(interface_of), Some(row.interface));
        }
        for rules in capi::all().filter(|rules| rules.kind != "OCIClusterIdentity") {
            let row = ROWS.iter().find(|row| row.kind == rules.kind).unwrap();
            assert_eq!(provider_of(row.interface), Some(rules.provider));
        }
        assert_eq!(provider_of("cluster-api-provider-oci"), None);
    }

    /// The release whose facts a folder of the shipped data holds; its head is what became v1.12.
    fn release_of(folder: &str) -> Release {
        let minor = folder.strip_prefix("v1.").and_then(|rest| rest.split('.').next());
        Release { minor: if folder == "HEAD" { 12 } else { minor.unwrap().parse().unwrap() } }
    }

    fn line(d: &Definition) -> String {
        let mut parts: Vec<String> = Vec::new();
        parts.push(d.interface.to_string());
        parts.push(d.provider.clone().unwrap_or_default());
        parts.extend([d.kind.group.to_string(), d.version.to_string(), d.kind.kind.to_string()]);
        match d.references.first() {
            None => parts.extend([const { String::new() }; 5]),
            Some(r) => {
                parts.extend([r.kind.group.to_string(), r.version.to_string(), r.kind.kind.to_string()]);
                parts.extend([r.name.join("."), r.namespace.as_ref().map(|n| n.join(".")).unwrap_or_default()]);
            }
        }
        parts.join("\t")
    }

    #[test]
    fn the_table_is_what_every_release_shipped() {
        let Some(data) = shared("data/provider-interfaces") else { return };
        let table = fs::read_to_string(data.join("table.tsv")).unwrap();
        let mut folders = 0;
        for folder in fs::read_dir(&data).unwrap().map(Result::unwrap).filter(|f| f.path().is_dir()) {
            let name = folder.file_name().into_string().unwrap();
            let release = release_of(&name);
            assert_eq!(Release::parse(&release.name()), Ok(release));
            let ours = definitions(release);
            assert!(ours.iter().all(|definition| definition.references.len() <= 1));

            let lines: Vec<String> = ours.iter().map(line).collect();
            let theirs: Vec<&str> =
                table.lines().filter_map(|l| l.split_once('\t')).filter(|(v, _)| *v == name).map(|(_, l)| l).collect();
            assert_eq!(lines, theirs, "{name} in the table");

            let mut files: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()).collect();
            files.sort();
            let read = |path: &std::path::PathBuf| object(&fs::read_to_string(path).unwrap());
            let theirs: Vec<Definition> =
                files.iter().flat_map(|path| provider_interface::read(&read(path)).unwrap()).collect();
            assert_eq!(ours, theirs, "{name} in its files");
            folders += 1;
        }
        assert_eq!(folders, 8);
    }
}
