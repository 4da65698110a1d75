//! k0rdent's own samples, through every release: each Credential gets what its provider reads on a region.
//!
//! The table says what that is, by what k0rdent and the Cluster API providers document: the identity at
//! `identityRef`; the Secret in the system namespace for AWS and vSphere, whose controllers read no
//! other, and where the identity says for Azure; and the template that Sveltos wants beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use crate::support::placeholders::filled;
use crate::support::proof::{self, Plain, Programs, Region};
use crate::support::{self, fleet, pouch, tree};

const SYSTEM: &str = "kcm-system";
const TENANT: &str = "team-a";

/// Release in the configuration, and its folder of ProviderInterfaces.
const RELEASES: [(&str, &str); 7] = [
    ("v1.5", "v1.5.0"),
    ("v1.6", "v1.6.0"),
    ("v1.8", "v1.8.0"),
    ("v1.9", "v1.9.0"),
    ("v1.10", "v1.10.0"),
    ("v1.11", "v1.11.4"),
    ("v1.12", "v1.12.0-rc2"),
];

/// What stands in a bundle for one Credential. `NS` is the namespace of the sample.
struct Sample {
    file: &'static str,
    credential: &'static str,
    objects: &'static [&'static str],
    /// The sample's template is not named after its identity, so that Sveltos would not find it.
    without_template: bool,
    /// The Secret is read from the system namespace, wherever the Credential is.
    secret_in_system: bool,
    /// In a tenant's namespace k0rdent itself looks for the identity in the system namespace.
    ready_for_tenant: bool,
}

const PLAIN: Sample = Sample {
    file: "",
    credential: "",
    objects: &[],
    without_template: false,
    secret_in_system: false,
    ready_for_tenant: false,
};

const SAMPLES: [Sample; 10] = [
    Sample {
        file: "adopted-credentials.yaml",
        credential: "adopted-cluster-cred",
        objects: &["Secret NS/adopted-cluster-kubeconf", "ConfigMap NS/adopted-cluster-kubeconf-resource-template"],
        ..PLAIN
    },
    Sample {
        file: "aks-credentials.yaml",
        credential: "azure-aks-credential",
        objects: &["Secret NS/azure-aks-credential", "ConfigMap NS/azure-aks-credential-resource-template"],
        ..PLAIN
    },
    Sample {
        file: "aws-credentials.yaml",
        credential: "aws-cluster-identity-cred",
        objects: &[
            "AWSClusterStaticIdentity aws-cluster-identity",
            "Secret kcm-system/aws-cluster-identity-secret",
            "ConfigMap NS/aws-cluster-identity-resource-template",
        ],
        secret_in_system: true,
        ready_for_tenant: true,
        ..PLAIN
    },
    Sample {
        file: "azure-credentials.yaml",
        credential: "azure-cluster-identity-cred",
        objects: &[
            "AzureClusterIdentity NS/azure-cluster-identity",
            "Secret NS/azure-cluster-identity-secret",
            "ConfigMap NS/azure-cluster-identity-resource-template",
        ],
        ..PLAIN
    },
    Sample {
        file: "docker-credentials.yaml",
        credential: "docker-stub-credential",
        objects: &["Secret NS/docker-cluster-secret"],
        without_template: true,
        ..PLAIN
    },
    Sample {
        file: "gcp-credentials.yaml",
        credential: "gcp-credential",
        objects: &["Secret NS/gcp-cloud-sa", "ConfigMap NS/gcp-cloud-sa-resource-template"],
        ..PLAIN
    },
    Sample {
        file: "kubevirt-credentials.yaml",
        credential: "kubevirt-cred",
        objects: &["Secret NS/kubevirt-infra-kubeconfig"],
        without_template: true,
        ..PLAIN
    },
    Sample {
        file: "openstack-credentials.yaml",
        credential: "openstack-cluster-identity-cred",
        objects: &["Secret NS/openstack-cloud-config", "ConfigMap NS/openstack-cloud-config-resource-template"],
        ..PLAIN
    },
    Sample {
        file: "remote-credentials.yaml",
        credential: "remote-cred",
        objects: &["Secret NS/remote-ssh-key", "ConfigMap NS/remote-ssh-key-resource-template"],
        ..PLAIN
    },
    Sample {
        file: "vsphere-credentials.yaml",
        credential: "vsphere-cluster-identity-cred",
        objects: &[
            "VSphereClusterIdentity vsphere-cluster-identity",
            "Secret kcm-system/vsphere-cluster-identity-secret",
            "ConfigMap NS/vsphere-cluster-identity-resource-template",
        ],
        secret_in_system: true,
        ready_for_tenant: true,
        ..PLAIN
    },
];

#[test]
fn placeholders_are_filled() {
    assert_eq!(filled("a: ${NAMESPACE}/$${x} $$b${AWS_SESSION_TOKEN}.", "n"), "a: n/${x} $b.");
}

/// A folder with the samples, the region's key and a configuration.
struct Fleet {
    fleet: fleet::Fleet,
    namespace: &'static str,
}

impl Deref for Fleet {
    type Target = fleet::Fleet;

    fn deref(&self) -> &fleet::Fleet {
        &self.fleet
    }
}

impl Fleet {
    /// None where the samples are not beside the checkout.
    fn new(namespace: &'static str) -> Option<Self> {
        let samples = support::shared("data/samples")?;
        let (identity, recipient) = ::pouch::age::generate_identity().unwrap();
        let config = format!(
            "apiVersion: pouch/v1alpha1\nkind: Fleet\nmetadata: {{name: samples}}\n\
             sources: [{{name: samples, directory: {{path: manifests}}}}]\n\
             providerInterfaces: {{builtin: none}}\n\
             regions:\n  eu:\n    recipients: [{recipient}]\n    namespaces: {{allowed: ['*']}}\n    delivery: flux\n\
             regionDefaults: {{delivery: {{flux: {{sourceRef: {{kind: GitRepository, name: fleet}}}}}}}}\n\
             reuseKey: {{file: reuse.key}}\n"
        );
        let fleet = Self { fleet: fleet::Fleet::of(&config), namespace };
        fleet.write("eu.txt", &*identity);
        let manifests = fleet.path("manifests/samples");
        fs::create_dir_all(&manifests).unwrap();
        let mut all: BTreeSet<String> = fs::read_dir(&samples)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with("-credentials.yaml"))
            .collect();
        for sample in &SAMPLES {
            assert!(all.remove(sample.file), "no sample {}", sample.file);
            let text = filled(&fs::read_to_string(samples.join(sample.file)).unwrap(), namespace);
            let mut text = text.replace("\n  identityRef:", "\n  region: eu\n  identityRef:");
            assert!(text.contains("\n  region: eu\n"), "{}", sample.file);
            if sample.secret_in_system && namespace != SYSTEM {
                text = in_system(&text, namespace);
            }
            fs::write(manifests.join(sample.file), text).unwrap();
        }
        assert!(all.is_empty(), "samples that the table lacks: {all:?}");
        Some(fleet)
    }

    /// The configuration with `builtin` as its release.
    fn config(&self, builtin: &str) -> PathBuf {
        let name = format!("pouch-{builtin}.yaml");
        self.write(&name, self.read("pouch.yaml").replace("builtin: none", &format!("builtin: {builtin}")));
        self.path(&name)
    }

    /// Puts files of the field's data beside the samples, in place of those that were there.
    fn beside(&self, what: &str, files: &[PathBuf]) {
        let folder = self.path("manifests").join(what);
        fs::create_dir_all(&folder).unwrap();
        for path in tree::read(&folder).into_keys() {
            fs::remove_file(folder.join(path)).unwrap();
        }
        for file in files {
            fs::copy(file, folder.join(file.file_name().unwrap())).unwrap();
        }
    }

    /// What the table says, by Credential.
    fn expected(&self) -> BTreeMap<String, BTreeSet<String>> {
        let of = |sample: &Sample| sample.objects.iter().map(|object| object.replace("NS", self.namespace)).collect();
        SAMPLES.iter().map(|sample| (format!("{}/{}", self.namespace, sample.credential), of(sample))).collect()
    }

    /// Which findings there must be, with the release's own name.
    fn findings(&self, defines_the_version: bool) -> Vec<String> {
        let mut all = Vec::new();
        for sample in &SAMPLES {
            let credential = format!("{}/{}", self.namespace, sample.credential);
            if sample.without_template {
                all.push(format!("missing-companion {credential}"));
            }
            // The Secret that Sveltos wants by its name is the system namespace's own.
            if sample.secret_in_system && self.namespace != SYSTEM {
                all.push(format!("missing-companion {credential}"));
            }
            if !sample.ready_for_tenant && self.namespace != SYSTEM {
                all.push(format!("credential-never-ready {credential}"));
            }
            // Its optional session token is a variable, which is empty here.
            if sample.credential == "aws-cluster-identity-cred" {
                all.push(format!("null-entry {credential}"));
            }
            // The key that stands in for one here has one line.
            if sample.credential == "remote-cred" {
                all.push(format!("trailing-line-feed {credential}"));
            }
            if sample.file.starts_with("vsphere") && !defines_the_version {
                all.push(format!("version-mismatch {credential}"));
            }
        }
        all.sort();
        all
    }
}

/// Moves the Secret of a sample into the system namespace, where AWS's and vSphere's controllers read.
fn in_system(text: &str, namespace: &str) -> String {
    let (head, tail) = text.split_once("kind: Secret\n").expect("a Secret");
    let moved = tail.replacen(&format!("namespace: {namespace}"), &format!("namespace: {SYSTEM}"), 1);
    assert_ne!(moved, tail);
    format!("{head}kind: Secret\n{moved}")
}

/// The CRDs of the providers and of k0rdent; of two editions of one, the one that fits the release.
fn crds(release: &str) -> Option<Vec<PathBuf>> {
    let older = ["v1.5", "v1.6", "v1.8", "v1.9", "v1.10"].contains(&release);
    let unfit = if older { "providerinterfaces.yaml" } else { "providerinterfaces-v1.10.0.yaml" };
    let folders = [support::shared("data/crds/identities")?, support::shared("data/crds/k0rdent")?];
    let all = folders.into_iter().flat_map(|folder| files(&folder));
    Some(all.filter(|file| !file.ends_with(unfit)).collect())
}

fn files(folder: &Path) -> Vec<PathBuf> {
    tree::read(folder).into_keys().map(|path| folder.join(path)).collect()
}

/// The objects of the bundle by the Credential that needs them, and the Namespaces.
fn by_credential(bundle: &Path) -> (BTreeMap<String, BTreeSet<String>>, Vec<String>) {
    let mut by: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut namespaces = Vec::new();
    for object in proof::objects(bundle) {
        if object.title.starts_with("Namespace ") {
            assert_eq!(object.needed_by, BTreeSet::new());
            namespaces.push(object.title);
            continue;
        }
        assert!(!object.needed_by.is_empty(), "nobody needs {}", object.title);
        for credential in object.needed_by {
            by.entry(credential).or_default().insert(object.title.clone());
        }
    }
    (by, namespaces)
}

fn every_release(namespace: &'static str) {
    let Some(fleet) = Fleet::new(namespace) else { return };
    let Some(interfaces) = support::shared("data/provider-interfaces") else { return };
    let namespaces: &[&str] = if namespace == SYSTEM { &[] } else { &["Namespace team-a"] };
    for (release, folder) in RELEASES {
        let Some(crds) = crds(release) else { return };
        fleet.beside("crds", &crds);
        fleet.beside("interfaces", &[]);
        let newer = !["v1.5", "v1.6", "v1.8", "v1.9"].contains(&release);
        let bundles = fleet.path(release);
        let answer = pouch::render(&fleet.config(release), &bundles, &[]).exits(0);
        assert_eq!(answer.findings(&["missing-companion", "overrides-builtin"]), fleet.findings(newer), "{release}");
        let (by, others) = by_credential(&bundles.join("regions/eu"));
        assert_eq!(by, fleet.expected(), "{release}");
        assert_eq!(others, namespaces, "{release}");
        pouch::proved(&fleet.config(release), &bundles);

        // The release's own files say the same: beside the built-in set, and instead of it.
        fleet.beside("interfaces", &files(&interfaces.join(folder)));
        for builtin in [release, "none"] {
            // But for the files in which they stand.
            let before = tree::placeless(&tree::read(&bundles));
            let answer = pouch::render(&fleet.config(builtin), &bundles, &[]).exits(0);
            assert!(tree::placeless(&tree::read(&bundles)) == before, "{release}, {builtin}: {}", answer.stderr);
            let found = answer.findings(&["missing-companion", "overrides-builtin"]);
            assert_eq!(found, fleet.findings(newer), "{release}, built-in {builtin}");
        }
    }
    let Some(crds) = crds("HEAD") else { return };
    fleet.beside("crds", &crds);
    fleet.beside("interfaces", &files(&interfaces.join("HEAD")));
    let before = tree::placeless(&tree::read(&fleet.path("v1.12")));
    let answer = pouch::render(&fleet.config("none"), &fleet.path("v1.12"), &[]).exits(0);
    assert!(tree::placeless(&tree::read(&fleet.path("v1.12"))) == before, "HEAD: {}", answer.stderr);

    let Some(programs) = Programs::find() else { return };
    let plain = programs.secrets_of(&fleet.path("manifests/samples"));
    check_values(&plain, namespace);
    let region = Region { directory: "eu", identity: fleet.path("eu.txt"), plain };
    programs.prove(&fleet.path("v1.12"), &[region]);
}

/// Where the samples' Secrets stand was moved by this test; it must not have lost one.
fn check_values(plain: &Plain, namespace: &str) {
    assert_eq!(plain.len(), SAMPLES.len());
    let system = plain.keys().filter(|name| name.starts_with(SYSTEM)).count();
    assert_eq!(system, if namespace == SYSTEM { SAMPLES.len() } else { 2 });
    let aws = &plain["kcm-system/aws-cluster-identity-secret"];
    assert_eq!(aws["AccessKeyID"], "RVhBTVBMRUFDQ0VTU0tFWUlEMDA=");
    assert_eq!(aws["SessionToken"], "");
    assert_eq!(plain[&format!("{namespace}/docker-cluster-secret")], BTreeMap::new());
}

#[test]
fn every_sample_in_the_system_namespace() {
    every_release(SYSTEM);
}

#[test]
fn every_sample_in_a_tenants_namespace() {
    every_release(TENANT);
}

/// k0rdent ships a vSphere provider with v1beta2 since v1.10; older regions refuse the sample.
#[test]
fn without_crds_the_release_says_which_versions_a_region_serves() {
    let Some(fleet) = Fleet::new(SYSTEM) else { return };
    for (release, served) in [("v1.9", false), ("v1.10", true)] {
        let bundles = fleet.path(release);
        let answer = pouch::render(&fleet.config(release), &bundles, &[]).exits(if served { 0 } else { 3 });
        let mut expected = fleet.expected();
        let vsphere = "kcm-system/vsphere-cluster-identity-cred";
        if !served {
            expected.remove(vsphere);
            let found = answer.findings(&[]);
            assert!(found.contains(&format!("version-not-served {vsphere}")), "{found:?}");
        }
        assert_eq!(by_credential(&bundles.join("regions/eu")).0, expected, "{release}");
        pouch::proved(&fleet.config(release), &bundles);
    }
}

/// Templates are Sveltos's to fill: pouch hands them on as they are.
#[test]
fn templates_arrive_as_they_are() {
    let (Some(fleet), Some(programs)) = (Fleet::new(TENANT), Programs::find()) else { return };
    let bundles = fleet.path("bundles");
    pouch::render(&fleet.config("v1.11"), &bundles, &[]).exits(0);
    let published = bundles.join("regions/eu/core/configmaps/team-a");
    let mut compared = 0;
    for sample in &SAMPLES {
        for source in programs.yaml(&fleet.path("manifests/samples").join(sample.file)) {
            if source["kind"] != "ConfigMap" || sample.without_template {
                continue;
            }
            let name = source["metadata"]["name"].as_str().unwrap();
            let ours = &programs.yaml(&published.join(name).with_extension("yaml"))[0];
            assert_eq!(
                ours["data"].as_object().map(|d| d.len()),
                source["data"].as_object().map(|d| d.len()),
                "{name}"
            );
            assert_eq!(ours["data"], source["data"], "{name}");
            assert_eq!(ours["metadata"]["annotations"]["projectsveltos.io/template"], "true", "{name}");
            assert!(!ours.to_string().contains("$$"), "{name}");
            compared += 1;
        }
    }
    assert_eq!(compared, 8);
}
