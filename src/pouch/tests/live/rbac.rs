//! The rules that `pouch rbac` prints, put to a real API server: they suffice, and none can be spared.

use std::thread;
use std::time::{Duration, Instant};

use pouch_core::yaml::read;
use serde_json::{Value, json};

use crate::rig::apiserver::ApiServer;
use crate::support::fleet::{Fleet, Ran};
use crate::support::root;

/// How long the server may take to notice that a role changed.
const NOTICED: Duration = Duration::from_secs(60);

/// Every kind of identity, of both scopes, and one Credential that is a Secret itself.
const OBJECTS: &str = "\
{apiVersion: v1, kind: Namespace, metadata: {name: kcm-system}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: team-a}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSClusterStaticIdentity
metadata: {name: aws}
spec: {secretRef: aws-keys, allowedNamespaces: {}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSClusterRoleIdentity
metadata: {name: role}
spec:
  roleARN: arn:aws:iam::123456789012:role/example
  allowedNamespaces: {}
  sourceIdentityRef: {kind: AWSClusterStaticIdentity, name: aws}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureClusterIdentity
metadata: {name: azure, namespace: team-a}
spec:
  type: ServicePrincipal
  clientID: client
  tenantID: tenant
  clientSecret: {name: azure-keys, namespace: team-a}
  allowedNamespaces: {}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: VSphereClusterIdentity
metadata: {name: vsphere}
spec:
  secretName: vsphere-keys
  allowedNamespaces: {selector: {matchLabels: {}}}
---
{apiVersion: v1, kind: Secret, metadata: {name: aws-keys, namespace: kcm-system}, stringData: {AccessKeyID: a, SecretAccessKey: b}}
---
{apiVersion: v1, kind: Secret, metadata: {name: granted, namespace: kcm-system}, stringData: {value: b}}
---
{apiVersion: v1, kind: Secret, metadata: {name: vsphere-keys, namespace: kcm-system}, stringData: {username: a, password: b}}
---
{apiVersion: v1, kind: Secret, metadata: {name: azure-keys, namespace: team-a}, stringData: {clientSecret: b}}
---
{apiVersion: v1, kind: Secret, metadata: {name: other, namespace: team-a}, stringData: {value: b}}
";

/// What the Credential `granted` needs, whose Secret is where k0rdent would look for it.
const GRANTS: &str = "\
grants: [{from: {namespace: team-a}, to: {namespace: kcm-system, kind: Secret, name: granted}, regions: [eu]}]
";

/// A rule for whose namespaces the Namespaces are needed.
const ACCESS: &str = "\
---
apiVersion: k0rdent.mirantis.com/v1beta1
kind: AccessManagement
metadata: {name: kcm}
spec: {accessRules: [{targetNamespaces: {stringSelector: team=none}, credentials: [none]}]}
";

fn credential(name: &str, kind: &str) -> String {
    let (version, namespace) = match kind {
        "Secret" => ("v1", ", namespace: team-a"),
        "AzureClusterIdentity" => ("infrastructure.cluster.x-k8s.io/v1beta1", ", namespace: team-a"),
        "VSphereClusterIdentity" => ("infrastructure.cluster.x-k8s.io/v1beta1", ""),
        _ => ("infrastructure.cluster.x-k8s.io/v1beta2", ""),
    };
    format!(
        "---\napiVersion: k0rdent.mirantis.com/v1beta1\nkind: Credential\n\
         metadata: {{name: {name}, namespace: team-a}}\n\
         spec: {{region: eu, identityRef: {{apiVersion: {version}, kind: {kind}, name: {name}{namespace}}}}}\n"
    )
}

fn secret(name: &str) -> String {
    format!(
        "---\n{{apiVersion: v1, kind: Secret, metadata: {{name: {name}, namespace: team-a}}, stringData: {{value: b}}}}\n"
    )
}

/// A fleet that reads the server as one of its users.
struct Reader<'a> {
    server: &'a ApiServer,
    fleet: Fleet,
}

impl<'a> Reader<'a> {
    fn new(server: &'a ApiServer, provides: &str) -> Self {
        let fleet = Fleet::new();
        let source = format!("cluster: {{kubeconfig: kubeconfig}}{provides}");
        let text = fleet.read("pouch.yaml").replace("directory: {path: manifests}", &source);
        fleet.write("pouch.yaml", format!("{text}{GRANTS}"));
        server.kubeconfig(&fleet.path("kubeconfig"), "pouch");
        Self { server, fleet }
    }

    fn rules(&self, secrets: &str) -> Vec<Value> {
        let ran = self.fleet.run(&["rbac", "--context=admin", "--user=pouch", "--secrets", secrets]).ends(0);
        read::documents(&ran.stdout).map(|document| read::typed(document.text).unwrap()).collect()
    }

    fn apply(&self, manifests: &[Value]) {
        self.server.apply(&json!({"apiVersion": "v1", "kind": "List", "items": manifests}).to_string());
    }

    /// What pouch itself prints, with the rights that it has.
    fn prints(&self) -> Ran {
        self.fleet.run(&["rbac", "--context=pouch", "--user=pouch"])
    }

    /// Renders as pouch until that ends with `code`, as it must once the server has noticed.
    #[track_caller]
    fn renders(&self, code: i32) -> Ran {
        let began = Instant::now();
        loop {
            let ran = self.fleet.render(&["--context=pouch"]);
            if ran.code == code || began.elapsed() > NOTICED {
                return ran.ends(code);
            }
            thread::sleep(Duration::from_millis(50));
        }
    }
}

/// What a rule's absence does, and what is then said to be missing.
fn without(rule: &Value) -> (i32, String) {
    let (verb, resource) = (rule["verbs"][0].as_str().unwrap(), rule["resources"][0].as_str().unwrap());
    let by_name = verb == "get" && resource != "namespaces";
    (if by_name { 3 } else { 5 }, format!("does not allow \"{verb}\" on {resource}"))
}

fn proved(provides: &str) {
    let Some(server) = ApiServer::start() else { return };
    if !server.install_crds() {
        return;
    }
    server.apply(OBJECTS);
    let credentials = [
        ("aws", "AWSClusterStaticIdentity"),
        ("role", "AWSClusterRoleIdentity"),
        ("azure", "AzureClusterIdentity"),
        ("vsphere", "VSphereClusterIdentity"),
        ("adopted", "Secret"),
        ("granted", "Secret"),
    ];
    let credentials: String = credentials.iter().map(|(name, kind)| credential(name, kind)).collect();
    server.apply(&format!("{credentials}{}{ACCESS}", secret("adopted")));
    let reader = Reader::new(&server, provides);
    reader.fleet.render(&["--context=pouch"]).ends(5).says("`pouch rbac` prints the rules");

    // They suffice, and show the same as an administrator sees.
    let manifests = reader.rules("names");
    let is = |rule: &Value| rule["resources"] == json!(["namespaces"]) && rule["verbs"] == json!(["list"]);
    assert!(manifests[0]["rules"].as_array().unwrap().iter().any(is), "AccessManagement is not looked at");
    reader.apply(&manifests);
    let ran = reader.renders(0);
    assert!(ran.stderr.contains("6 Credentials resolved, 0 refused, 0 broken"), "{}", ran.stderr);
    reader.fleet.render(&["--context=admin"]).ends(0).outcome("eu", "unchanged");
    let whole = reader.prints().ends(0).stdout;
    let status = |target: &str| server.endpoint("pouch").get(target).unwrap().status;
    assert_eq!(status("/api/v1/namespaces/team-a/secrets/azure-keys"), 200);
    assert_eq!(status("/api/v1/namespaces/team-a/secrets/other"), 403);
    assert_eq!(status("/api/v1/namespaces/team-a/secrets"), 403);
    assert_eq!(status("/api/v1/secrets"), 403);

    // Without any rule, or any name in one, something is missing; and it is said what.
    let mut taken = 0;
    for (at, role) in manifests.iter().enumerate() {
        for (number, rule) in role["rules"].as_array().into_iter().flatten().enumerate() {
            let mut less = vec![Value::Null];
            let names = rule["resourceNames"].as_array().map_or(0, Vec::len);
            less.extend((0..names).filter(|_| names > 1).map(|name| json!(name)));
            for name in less {
                // Which of the two is needed depends on where the Secret is, and `rbac` reads no Secret.
                let spare = name.as_u64().map(|name| &rule["resourceNames"][usize::try_from(name).unwrap()]);
                let foreseen = spare == Some(&json!("granted-resource-template"));
                if foreseen && role["metadata"]["namespace"] == "team-a" {
                    continue;
                }
                let mut role = role.clone();
                match name.as_u64() {
                    Some(name) => {
                        let names = role["rules"][number]["resourceNames"].as_array_mut().unwrap();
                        names.remove(usize::try_from(name).unwrap());
                    }
                    None => _ = role["rules"].as_array_mut().unwrap().remove(number),
                }
                let (code, missing) = without(rule);
                reader.apply(&[role]);
                reader.renders(code).says(&missing);
                // No Secret is needed to tell where Secrets are; whatever else is missing is said.
                match (code, rule["resources"][0].as_str()) {
                    (3, _) if foreseen => _ = reader.prints().ends(0),
                    (3, Some("secrets")) => assert_eq!(reader.prints().ends(0).stdout, whole),
                    (3, _) => _ = reader.prints().ends(3).says(&missing).says("rights may be missing"),
                    _ => _ = reader.prints().ends(5).says(&missing),
                }
                taken += 1;
            }
        }
        reader.apply(&manifests[at..=at]);
        reader.renders(0);
    }
    assert!(taken >= 20, "{taken}");

    // A new Credential waits for new rules, or for wider ones.
    server.apply(&format!("{}{}", credential("later", "Secret"), secret("later")));
    reader.renders(3).says("secrets in namespace team-a, name later");
    reader.apply(&reader.rules("names"));
    reader.renders(0).outcome("eu", "published");
    reader.apply(&reader.rules("namespaces"));
    server.apply(&format!("{}{}", credential("latest", "Secret"), secret("latest")));
    reader.renders(0).outcome("eu", "published");
    assert_eq!(status("/api/v1/namespaces/team-a/secrets/other"), 200);
    assert_eq!(status("/api/v1/namespaces/team-a/secrets"), 403);
}

#[test]
fn the_rules_for_a_whole_cluster_suffice_and_none_can_be_spared() {
    proved("");
}

#[test]
fn the_rules_for_named_namespaces_suffice_and_none_can_be_spared() {
    proved(", provides: {namespaces: [team-a], clusterScoped: true}");
}

#[test]
fn the_api_server_takes_the_cronjobs_as_they_are() {
    let Some(server) = ApiServer::shared() else { return };
    for name in ["cronjob.yaml", "deliver-cronjob.yaml"] {
        taken_as_it_is(server, name);
    }
}

fn taken_as_it_is(server: &ApiServer, name: &str) {
    let path = root().join("examples").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    // What is tried only makes no namespace; and there the standard is to be heard of for templates, too.
    server.apply(
        "{apiVersion: v1, kind: Namespace, metadata: {name: pouch, labels: {pod-security.kubernetes.io/warn: restricted}}}",
    );
    let flags = ["apply", "--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict", "-f", "-"];
    let answer = server.kubectl(flags, &text);
    let said = String::from_utf8(answer.stderr.clone()).unwrap();
    assert!(answer.status.success() && said.is_empty(), "{said}");
    assert_eq!(String::from_utf8(answer.stdout).unwrap().lines().count(), 4);

    // The same Job with a root that can be written to is heard of, so silence means something.
    let worse = text.replace("allowPrivilegeEscalation: false", "allowPrivilegeEscalation: true");
    assert_ne!(text, worse);
    let said = String::from_utf8(server.kubectl(flags, &worse).stderr).unwrap();
    assert!(said.contains("would violate PodSecurity"), "{said}");
}
