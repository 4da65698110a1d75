//! Attacks: what a tenant, a writer of the bundles or a slip of the pen tries, end to end.

use std::fs;
use std::ops::Deref;

use crate::support::fleet::{self, EU};
use crate::support::{pouch, tree};

/// A fleet of one region with two sources: a trusted one, and one that a tenant writes.
struct Fleet(fleet::Fleet);

impl Deref for Fleet {
    type Target = fleet::Fleet;

    fn deref(&self) -> &fleet::Fleet {
        &self.0
    }
}

impl Fleet {
    fn new() -> Self {
        Self::with("")
    }

    /// With more lines at the end of the configuration.
    fn with(more: &str) -> Self {
        let fleet = Self(fleet::Fleet::of(&format!(
            "apiVersion: pouch/v1alpha1\nkind: Fleet\nmetadata: {{name: acme}}\nsources:\n  \
             - {{name: platform, directory: {{path: platform}}, provides: {{namespaces: [\"*\"], clusterScoped: true}}}}\n  \
             - {{name: tenant, directory: {{path: tenant}}, provides: {{namespaces: [team-a]}}}}\n\
             regions:\n  eu: {{recipients: [{EU}], namespaces: {{allowed: [\"*\"]}}, k0rdentPushDisabled: true}}\n\
             reuseKey: {{file: reuse.key}}\n{more}"
        )));
        fleet.write("platform/keep.yaml", "# Nothing yet.\n");
        fleet.write("tenant/keep.yaml", "# Nothing yet.\n");
        fleet
    }

    #[track_caller]
    fn render(&self, flags: &[&str]) -> pouch::Answer {
        pouch::render(&self.path("pouch.yaml"), &self.path("bundles"), flags)
    }

    /// Whether something is published for the region.
    fn has(&self, path: &str) -> bool {
        self.path("bundles/regions/eu").join(path).exists()
    }
}

/// A Credential, and the Secret that is its identity, in one namespace.
fn plain(namespace: &str, name: &str, value: &str) -> String {
    format!("{}---\n{}", credential(namespace, name, "v1", "Secret", name), secret(namespace, name, value))
}

fn credential(namespace: &str, name: &str, version: &str, kind: &str, identity: &str) -> String {
    fleet::credential("eu", namespace, name, [version, kind, identity])
}

fn secret(namespace: &str, name: &str, value: &str) -> String {
    fleet::secret(namespace, name, &format!("password: {value}"))
}

/// A region that the configuration does not know is a slip of the pen, and nothing to delete for.
#[test]
fn a_misspelt_region_withdraws_nothing() {
    let fleet = Fleet::new();
    fleet.write("platform/a.yaml", plain("team-b", "one", "v"));
    fleet.write("platform/b.yaml", plain("team-b", "two", "v"));
    fleet.render(&[]).exits(0);
    fleet.edit("platform/a.yaml", "region: eu", "region: eu-wst");
    let answer = fleet.render(&[]).exits(3);
    assert!(fleet.has("core/secrets/team-b/one.sops.yaml"), "{}{}", answer.stdout, answer.stderr);
}

const STATIC: &str = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSClusterStaticIdentity\n\
    metadata: {name: shared}\nspec: {secretRef: shared, allowedNamespaces: {list: [team-a]}}\n";

/// A tenant must not keep what was taken from it by breaking its own source.
#[test]
fn a_broken_source_does_not_keep_what_is_revoked() {
    let fleet = Fleet::new();
    let aws = "infrastructure.cluster.x-k8s.io/v1beta2";
    fleet.write("platform/shared.yaml", format!("{STATIC}---\n{}", secret("kcm-system", "shared", "v")));
    fleet.write("platform/credential.yaml", credential("team-a", "aws", aws, "AWSClusterStaticIdentity", "shared"));
    fleet.write("platform/other.yaml", plain("team-b", "one", "v"));
    fleet.render(&[]).exits(0);
    assert!(fleet.has("core/secrets/kcm-system/shared.sops.yaml"));
    fleet.edit("platform/shared.yaml", "list: [team-a]", "list: [team-b]");
    fleet.write("tenant/keep.yaml", "{");
    let answer = fleet.render(&[]).exits(3);
    let gone = !fleet.has("core/secrets/kcm-system/shared.sops.yaml");
    assert!(gone, "{}{}", answer.stdout, answer.stderr);
}

/// One namespace's flood of Credentials must not keep another's newcomer out.
#[test]
fn a_flood_from_one_namespace_leaves_room_for_others() {
    let fleet = Fleet::with("limits: {objectsPerRegion: 10, objectsPerNamespace: 5}\n");
    let flood: Vec<String> = (0..12).map(|n| plain("team-a", &format!("s{n}"), "v")).collect();
    fleet.write("tenant/flood.yaml", flood.join("---\n"));
    fleet.write("platform/b.yaml", plain("team-b", "one", "v"));
    let answer = fleet.render(&[]).exits(3);
    assert!(fleet.has("core/secrets/team-b/one.sops.yaml"), "{}{}", answer.stdout, answer.stderr);
    // Where a namespace may have more than the region, what fails of it takes no room either.
    fleet.edit("pouch.yaml", "objectsPerNamespace: 5", "objectsPerNamespace: 12");
    fs::remove_dir_all(fleet.path("bundles")).unwrap();
    let answer = fleet.render(&[]).exits(3);
    assert!(fleet.has("core/secrets/team-b/one.sops.yaml"), "{}{}", answer.stdout, answer.stderr);
    assert!(!fleet.has("core/secrets/team-a/s0.sops.yaml"), "{}{}", answer.stdout, answer.stderr);
}

/// H1: thousands of Credentials on one identity made a manifest that no later run could read.
#[test]
fn a_flood_of_credentials_on_one_identity_freezes_nobody() {
    let fleet = Fleet::new();
    let flood: Vec<String> = (0..600).map(|n| credential("team-a", &format!("c{n}"), "v1", "Secret", "one")).collect();
    fleet.write("tenant/flood.yaml", format!("{}---\n{}", flood.join("---\n"), secret("team-a", "one", "v")));
    fleet.write("platform/b.yaml", plain("team-b", "one", "v"));
    let answer = fleet.render(&[]).exits(3);
    assert!(fleet.has("core/secrets/team-b/one.sops.yaml"), "{}{}", answer.stdout, answer.stderr);
    assert!(!fleet.has("core/secrets/team-a/one.sops.yaml"), "{}{}", answer.stdout, answer.stderr);
    assert!(answer.stderr.contains("limits.credentialsPerNamespace is 500"), "{}", answer.stderr);
    // The control: without the limit all of them are in the manifest.
    let fleet = Fleet::with("limits: {credentialsPerNamespace: 600}\n");
    fleet.write("tenant/flood.yaml", format!("{}---\n{}", flood.join("---\n"), secret("team-a", "one", "v")));
    fleet.render(&[]).exits(0);
    let manifest = fs::read_to_string(fleet.path("bundles/regions/eu/bundle.yaml")).unwrap();
    assert_eq!(manifest.matches("      kind: Credential\n").count(), 600);
}

/// Published Credentials stay resolved if a namespace has too many, and new ones are neither built nor published.
#[test]
fn who_is_over_a_quota_keeps_and_renews_what_he_has() {
    let limited = |limit: usize| format!("limits: {{credentialsPerNamespace: {limit}}}\n");
    let fleet = Fleet::with(&limited(20));
    let plain = |n: usize, value: &str| plain("team-a", &format!("c{n:02}"), value);
    (0..20).for_each(|n| fleet.write(&format!("tenant/{n}.yaml"), plain(n, "v")));
    fleet.render(&[]).exits(0);
    fleet.edit("pouch.yaml", "credentialsPerNamespace: 20", "credentialsPerNamespace: 5");
    let before = fleet.read("bundles/regions/eu/core/secrets/team-a/c03.sops.yaml");
    fleet.write("tenant/3.yaml", plain(3, "another"));
    // One that is not even allowed to use what it names counts, and is told nothing about it.
    fleet.write("tenant/20.yaml", credential("team-a", "c20", "v1", "Secret", "nothing"));
    let answer = fleet.render(&[]).exits(3);
    assert_ne!(fleet.read("bundles/regions/eu/core/secrets/team-a/c03.sops.yaml"), before);
    assert!(!answer.stderr.contains("missing-reference"), "{}", answer.stderr);
    let said = "namespace team-a has 21 Credentials for region eu; limits.credentialsPerNamespace is 5";
    assert!(answer.stderr.contains(said), "{}", answer.stderr);
    assert!(answer.stderr.contains("20 Credentials resolved, 0 refused, 1 broken (nothing is published for them)"));
    // Below the quota everything is looked at.
    fleet.edit("pouch.yaml", "credentialsPerNamespace: 5", "credentialsPerNamespace: 21");
    let answer = fleet.render(&[]).exits(3);
    assert!(answer.stderr.contains("missing-reference"), "{}", answer.stderr);
}

/// Also who raises the limits publishes nothing that could never be changed again.
#[test]
fn what_could_not_be_read_back_is_not_staged() {
    use ::pouch::shelf::{NewFile, NewFiles, too_large};
    use pouch_core::layout::path::BundlePath;
    use pouch_core::region::published::Published;
    let path = |n: usize| BundlePath::parse(&format!("regions/eu/core/{n}.yaml")).unwrap();
    let standing = Published::unexamined([(path(0).to_string(), vec![b'x'; 61 << 20])].into());
    let kept = |count: usize| (1..=count).map(|n| (path(n), NewFile::Kept(path(0)))).collect::<NewFiles>();
    assert_eq!(too_large(&kept(16), &standing), None);
    assert!(too_large(&kept(17), &standing).is_some_and(|why| why.contains("bytes together")));
    let mut new = kept(1);
    new.insert(path(2), NewFile::Bytes(vec![b'x'; (64 << 20) + 1]));
    assert!(too_large(&new, &standing).is_some_and(|why| why.contains("core/2.yaml would have")));
}

/// What is written into an identity is published in the open, so a password there stops the claim.
#[test]
fn s02_a_password_in_an_identity_is_not_published() {
    let azure = "infrastructure.cluster.x-k8s.io/v1beta1";
    let key = ("certPath", "AGE-SECRET-KEY-1CANARY", 3);
    // The control: what does not look like a secret is published from the same place, and the same search finds it.
    for (field, value, expect) in [("password", "CANARY", 3), key, ("certPath", "CANARY", 0)] {
        let fleet = Fleet::new();
        let identity = format!(
            "{}---\napiVersion: {azure}\nkind: AzureClusterIdentity\nmetadata: {{name: az, namespace: team-a}}\n\
             spec: {{type: WorkloadIdentity, tenantID: t, clientID: c, allowedNamespaces: {{}}, {field}: {value}}}\n",
            credential("team-a", "az", azure, "AzureClusterIdentity", "az")
        );
        fleet.write("tenant/a.yaml", &identity);
        let answer = fleet.render(&[]).exits(expect);
        let found = answer.findings(&[]).contains(&"inline-secret team-a/az".to_owned());
        assert_eq!(found, expect == 3, "{}", answer.stderr);
        let published = tree::read(&fleet.path("bundles"));
        let found = published.values().any(|bytes| String::from_utf8_lossy(bytes).contains("CANARY"));
        assert_eq!(found, expect == 0, "{field}, {value}: {:?}", published.keys());
        assert!(!format!("{}{}{}", answer.stdout, answer.stderr, answer.summary).contains("CANARY"));
    }
}

/// What the region's API refuses stops everybody's reconcile, so it must stop at its own claim.
#[test]
fn a_config_map_that_the_api_refuses_stays_behind() {
    let many = format!("{{a: {}}}", "x".repeat(1_100_000));
    let annotation = format!("{{projectsveltos.io/template: {}}}", "x".repeat(300_000));
    for (annotations, data) in [
        ("{}", "{a: 5}"),
        ("{}", "{a/b: x}"),
        ("{}", "[x]"),
        ("{}", "text"),
        ("{}", "{a: x}\nbinaryData: {a: eA==}"),
        ("{}", "{}\nbinaryData: {a: '!'}"),
        ("{}", &many),
        (&annotation, "{a: x}"),
    ] {
        let fleet = Fleet::new();
        let map = format!(
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: one-resource-template, namespace: team-a, annotations: {annotations}}}\n\
             data: {data}\n"
        );
        fleet.write("tenant/a.yaml", &(plain("team-a", "one", "v") + &map));
        let shown: String = map.chars().take(200).collect();
        let answer = fleet.render(&[]);
        assert!(answer.code == 3 && !fleet.has("core/configmaps/team-a"), "{shown}\n{}{}", answer.code, answer.stderr);
    }
}

/// kustomize-controller reads no encrypted file of more than 5 MiB, and then applies none at all.
#[test]
fn a_secret_that_is_too_large_once_sealed_stays_behind() {
    let fleet = Fleet::new();
    let entries: String = (0..50_000).map(|n| format!("  k{n}: v\n")).collect();
    let text =
        format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: one, namespace: team-a}}\nstringData:\n{entries}");
    fleet.write("tenant/a.yaml", format!("{}---\n{text}", credential("team-a", "one", "v1", "Secret", "one")));
    let answer = fleet.render(&[]);
    let file = fleet.path("bundles/regions/eu/core/secrets/team-a/one.sops.yaml");
    let size = fs::metadata(file).map(|meta| meta.len()).unwrap_or_default();
    assert!(size <= 5 << 20, "{size} {}", answer.stderr);
    assert_eq!(answer.code, 3);
}

/// An identity that sops encrypted as a whole is ciphertext, and works nowhere.
#[test]
fn an_encrypted_identity_is_not_published_as_it_is() {
    let fleet = Fleet::new();
    let azure = "infrastructure.cluster.x-k8s.io/v1beta1";
    fleet.write(
        "tenant/a.yaml",
        format!(
            "{}---\napiVersion: {azure}\nkind: AzureClusterIdentity\nmetadata: {{name: az, namespace: team-a}}\n\
             spec: {{type: WorkloadIdentity, tenantID: 'ENC[AES256_GCM,data:x,iv:y,tag:z,type:str]', clientID: c, \
             allowedNamespaces: {{}}}}\nsops: {{mac: m}}\n",
            credential("team-a", "az", azure, "AzureClusterIdentity", "az")
        ),
    );
    let answer = fleet.render(&[]);
    assert!(answer.findings(&[]).contains(&"undecryptable-source team-a/az".to_owned()), "{}", answer.stderr);
    assert!(!fleet.has("identities/azureclusteridentity.infrastructure.cluster.x-k8s.io"));
}

/// What somebody pasted as an entry's name may be the secret itself.
#[test]
fn a_secret_pasted_as_a_name_is_not_repeated() {
    let fleet = Fleet::new();
    let text = secret("team-a", "one", "v").replace("{password: v}", "{\"password=CANARY hunter2\": ''}");
    fleet.write("tenant/a.yaml", format!("{}---\n{text}", credential("team-a", "one", "v1", "Secret", "one")));
    let answer = fleet.render(&["--verbose"]).exits(3);
    assert!(!format!("{}{}{}", answer.stdout, answer.stderr, answer.summary).contains("CANARY"), "{}", answer.stderr);
}

/// A Region with a mistake elsewhere still says which Secret is its kubeconfig.
#[test]
fn a_regions_kubeconfig_stays_even_if_the_region_has_a_mistake() {
    let fleet = Fleet::new();
    let region = "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Region\nmetadata: {name: eu}\n\
                  spec: {kubeConfig: {name: eu-kube, key: value}, providers: [{}]}\n";
    fleet.write("platform/a.yaml", format!("{region}---\n{}", plain("kcm-system", "eu-kube", "v")));
    let answer = fleet.render(&[]);
    assert!(!fleet.has("core/secrets/kcm-system/eu-kube.sops.yaml"), "{}{}", answer.stdout, answer.stderr);
    assert_eq!(answer.code, 3);
}

/// A definition that could not be read is no licence to go back to the built-in one.
#[test]
fn an_unreadable_definition_withdraws_nothing() {
    let fleet = Fleet::with("companions: none\n");
    let interface = "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: ProviderInterface\nmetadata: {name: own}\n\
        spec:\n  clusterIdentities:\n  - {group: infrastructure.cluster.x-k8s.io, version: v1beta1, kind: AzureClusterIdentity, \
        references: [{version: v1, kind: Secret, nameFieldPath: spec.resourceID}]}\n";
    let azure = "infrastructure.cluster.x-k8s.io/v1beta1";
    let interface = interface.replace(
        "nameFieldPath: spec.resourceID}",
        "nameFieldPath: spec.clientSecret.name, namespaceFieldPath: spec.clientSecret.namespace}, \
         {version: v1, kind: ConfigMap, nameFieldPath: spec.resourceID, namespaceFieldPath: spec.clientSecret.namespace}",
    );
    fleet.write("platform/interface.yaml", &interface);
    fleet.write("platform/other.yaml", plain("team-b", "one", "v"));
    fleet.write(
        "tenant/a.yaml",
        format!(
            "{}---\napiVersion: {azure}\nkind: AzureClusterIdentity\nmetadata: {{name: az, namespace: team-a}}\n\
             spec: {{type: ServicePrincipal, tenantID: t, clientID: c, resourceID: extra, \
             clientSecret: {{name: az, namespace: team-a}}, allowedNamespaces: {{}}}}\n---\n{}---\n\
             apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: extra, namespace: team-a}}\ndata: {{a: b}}\n",
            credential("team-a", "az", azure, "AzureClusterIdentity", "az"),
            secret("team-a", "az", "v")
        ),
    );
    let answer = fleet.render(&[]);
    assert!(fleet.has("core/configmaps/team-a/extra.yaml"), "{}", answer.stderr);
    fleet.write("platform/interface.yaml", format!("{interface}  - {{\n"));
    let answer = fleet.render(&[]).exits(3);
    assert!(fleet.has("core/configmaps/team-a/extra.yaml"), "{}{}", answer.stdout, answer.stderr);
}

/// A link in the place of the staging folder must not lead the clean-up elsewhere.
#[test]
fn a_link_in_the_output_is_not_followed() {
    let fleet = Fleet::new();
    fleet.write("platform/a.yaml", plain("team-b", "one", "v"));
    fleet.write("precious/new/file", "");
    fs::create_dir(fleet.path("bundles")).unwrap();
    std::os::unix::fs::symlink("../precious", fleet.path("bundles/.pouch-staging")).unwrap();
    let answer = fleet.render(&[]);
    assert!(fleet.path("precious/new/file").exists(), "{}{}", answer.stdout, answer.stderr);
    let fleet = Fleet::new();
    fleet.write("platform/a.yaml", plain("team-b", "one", "v"));
    fs::create_dir_all(fleet.path("elsewhere")).unwrap();
    fs::create_dir(fleet.path("bundles")).unwrap();
    std::os::unix::fs::symlink("../elsewhere", fleet.path("bundles/regions")).unwrap();
    let answer = fleet.render(&[]);
    let written = fs::read_dir(fleet.path("elsewhere")).unwrap().count();
    assert_eq!(written, 0, "{}{}", answer.stdout, answer.stderr);
}

/// GitHub and others take a line that starts with two colons for a command.
#[test]
fn a_file_name_starts_no_line_of_its_own() {
    let fleet = Fleet::new();
    fleet.write("platform/a.yaml", plain("team-b", "one", "v"));
    fleet.render(&[]).exits(0);
    let link = fleet.path("bundles/regions/eu/x\n::add-mask::y");
    std::os::unix::fs::symlink("/etc/passwd", link).unwrap();
    let answer = fleet.render(&[]).exits(4);
    assert!(!answer.stderr.lines().any(|line| line.starts_with("::")), "{}", answer.stderr);
}

/// A log that machines read is read by people too.
#[test]
fn a_log_in_json_steers_no_terminal() {
    let fleet = Fleet::new();
    let text = plain("team-a", "one", "v").replace("name: one", "name: \"one\u{202e}\\x9b31m\"");
    fleet.write("tenant/a.yaml", &text);
    let answer = fleet.render(&["--log-format", "json"]).exits(3);
    let raw = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
    assert!(!answer.stderr.contains(raw), "{:?}", answer.stderr);
    assert!(answer.stderr.contains("\\u009b"), "{}", answer.stderr);
}

/// A namespace that a region no longer takes keeps nothing there by breaking its source.
#[test]
fn a_broken_source_does_not_keep_a_namespace_that_is_shut_out() {
    let fleet = Fleet::new();
    fleet.write("platform/b.yaml", plain("team-b", "one", "v"));
    fleet.write("tenant/a.yaml", plain("team-a", "s", "v"));
    fleet.render(&[]).exits(0);
    fleet.edit("pouch.yaml", "allowed: [\"*\"]", "allowed: [team-b]");
    fleet.write("tenant/a.yaml", "{");
    let answer = fleet.render(&[]).exits(3);
    assert!(!fleet.has("core/secrets/team-a/s.sops.yaml"), "{}{}", answer.stdout, answer.stderr);
    assert!(answer.findings(&[]).contains(&"namespace-not-allowed team-a/s".to_owned()), "{}", answer.stderr);
}

/// A List that was cut short does not say what was in the rest of it.
#[test]
fn a_list_in_json_that_is_cut_short_withdraws_nothing() {
    let fleet = Fleet::new();
    fleet.write("platform/b.yaml", plain("team-b", "one", "v"));
    fleet.write("tenant/a.yaml", plain("team-a", "s", "v"));
    fleet.render(&[]).exits(0);
    fs::remove_file(fleet.path("tenant/a.yaml")).unwrap();
    fleet.write("tenant/a.json", "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[{\"apiVersion\":\"v1\",\"ki");
    let answer = fleet.render(&[]).exits(3);
    assert!(fleet.has("core/secrets/team-a/s.sops.yaml"), "{}{}", answer.stdout, answer.stderr);
}

/// Of a Secret only its values are sealed. A label or an annotation into which a tool, a rule or a person copied one is left
/// out; the same text beside another value is published.
#[test]
fn what_a_rule_or_keep_copies_holds_no_value_of_the_secret() {
    const PASSWORD: &str = "not-a-real-passw0rd-1";
    const OTHER: &str = "quite-another-passw0rd";
    let base64 = "bm90LWEtcmVhbC1wYXNzdzByZC0x";
    let metadata = format!(
        "labels: {{keep: {PASSWORD}, pull: 'yes'}}, annotations: {{keep-text: 'it is {PASSWORD}.', keep-base64: '{base64}', \
         keep-json: '{{\"data\":{{\"password\":\"{base64}\"}}}}', keep-region: eu-west-1, hint: '{PASSWORD}'}}"
    );
    let secret = |name: &str, value: &str| {
        format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}, namespace: team-a, {metadata}}}\n\
             stringData: {{password: {value}, region: eu-west-1, enabled: 'true'}}\n"
        )
    };
    let rule = "apiVersion: clusterregistry.k8s.cisco.com/v1alpha1\nkind: ResourceSyncRule\nmetadata: {name: pull}\nspec:\n  \
                groupVersionKind: {version: v1, kind: Secret}\n  rules:\n  - match: [{labels: [{matchLabels: {pull: 'yes'}}]}]\n    \
                mutations: {overrides: [{type: replace, path: /metadata/annotations/made?, value: '{{ .Object.GetAnnotations.hint }}'}]}\n";
    let published = |value: &str, by_rule: bool| {
        let fleet = Fleet::with("keepMetadata: {labels: [keep], annotations: ['keep-*']}\n");
        fleet.configure("k0rdentPushDisabled: true}", "k0rdentPushDisabled: true, syncRules: [pull]}");
        fleet.write("platform/rule.yaml", if by_rule { rule } else { "# No rule.\n" });
        fleet.write("platform/a.yaml", secret("web", value));
        if !by_rule {
            fleet.write("platform/b.yaml", credential("team-a", "web", "v1", "Secret", "web"));
        }
        // The neighbour has nothing to do with it.
        fleet.write("platform/c.yaml", plain("team-b", "one", "v"));
        let answer = fleet.render(&[]).exits(0);
        assert!(fleet.has("core/secrets/team-b/one.sops.yaml") && fleet.has("core/secrets/team-a/web.sops.yaml"));
        let said = format!("{}{}{}", answer.stdout, answer.stderr, answer.summary);
        let tree = tree::read(&fleet.path("bundles"));
        let tree: String = tree.values().map(|bytes| String::from_utf8_lossy(bytes)).collect();
        assert!(tree.contains("keep-region: eu-west-1"), "{tree}");
        // Nothing changes in the next run.
        let before = tree::read(&fleet.path("bundles"));
        fleet.render(&[]).exits(0);
        assert_eq!(tree::read(&fleet.path("bundles")), before);
        (tree, said)
    };
    for by_rule in [false, true] {
        let (tree, said) = published(PASSWORD, by_rule);
        assert!(!tree.contains(PASSWORD) && !tree.contains(base64), "{tree}");
        assert!(!said.contains(PASSWORD) && !said.contains(base64), "{said}");
        let mut told = vec!["metadata.labels, keep", "keep-text", "keep-base64", "keep-json"];
        told.extend(by_rule.then_some("metadata.annotations, made"));
        for key in told {
            assert!(said.contains(key), "{key}: {said}");
        }
        assert!(!said.contains("keep-region"), "{said}");
        // The control: the same texts beside another value are no copy of it, and the same search finds them.
        let (tree, said) = published(OTHER, by_rule);
        assert!(tree.contains(&format!("it is {PASSWORD}.")) && tree.contains(base64), "{tree}");
        assert_eq!(tree.contains("made: "), by_rule, "{tree}");
        assert!(!said.contains("inline-secret"), "{said}");
    }
}
