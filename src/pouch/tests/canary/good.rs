//! What a good fleet may hold without harm: a canary in every place of its manifests, and all commands run on it.

use std::fs::File;

use crate::stage::{Stage, hits};
use crate::support::spoilt::{Ran, base64};

/// What tools and people write into the metadata of any object.
const METADATA: &str = "labels: {note: «label», «label's key»: a}, annotations: {note: «annotation», «annotation's key»: a, \
    kubectl.kubernetes.io/last-applied-configuration: '{\"data\":{\"v\":\"«64:last-applied, data»\"},\"stringData\":{\"v\":\"«last-applied, stringData»\"}}', \
    kapp.k14s.io/original: '«kapp»', argocd.argoproj.io/tracking-id: '«tracking-id»'}, \
    managedFields: [{manager: «manager», fieldsV1: {'f:«field»': {}}}], ownerReferences: [{name: «owner», uid: «owner's uid»}], \
    finalizers: [«finalizer»], generateName: «generateName», uid: «uid», resourceVersion: '«resourceVersion»', \
    selfLink: «selfLink»";

/// The manifests; `METADATA(x)` stands for the above, of object x.
const MANIFESTS: &str = "\
# «a comment»
apiVersion: k0rdent.mirantis.com/v1beta1
kind: Credential # «a comment behind»
metadata: {name: good-azure, namespace: team-a, METADATA(Credential)}
spec:
  region: eu-west
  description: «Credential: description»
  projectionConfig: {resourceTemplate: «Credential: a field of a newer release»}
  identityRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AzureClusterIdentity, name: good-azure, namespace: team-a, uid: «Credential: identityRef»}
status: {conditions: [{type: Ready, status: 'True', message: «Credential: status»}]}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureClusterIdentity
metadata: {name: good-azure, namespace: team-a, METADATA(identity)}
data: {v: «identity: top level»}
spec:
  type: ServicePrincipal
  clientID: 11111111-2222-3333-4444-555555555555
  tenantID: 66666666-7777-8888-9999-000000000000
  clientSecret: {name: good-azure-secret, namespace: team-a}
  allowedNamespaces: {list: [team-a]}
status: {message: «identity: status»}
---
apiVersion: v1
kind: Secret
metadata: {name: good-azure-secret, namespace: team-a, METADATA(Secret)}
type: Opaque
immutable: false
data: {more: «64:data», binary: BINARY, spaced: \"SPACED\"}
stringData:
  clientSecret: «stringData»
  json: '{\"a\": {\"b\": \"«stringData: JSON»\"}}'
  yaml: |
    password: «stringData: YAML»
  lines: \"a\\n«stringData: lines»\\n\"
  url: https://user:«stringData: URL»@example.com
  pem: |
    -----BEGIN CERTIFICATE-----
    «stringData: PEM»
    -----END CERTIFICATE-----
  twice: «64:stringData: base64»
  x_unencrypted: «stringData: a name that sops leaves open»
  sops: «stringData: an entry called sops»
  data: «stringData: an entry called data»
  mac: «stringData: an entry called mac»
---
apiVersion: k0rdent.mirantis.com/v1beta1
kind: Credential
metadata: {name: good-aws, namespace: kcm-system, METADATA(Credential of the system)}
spec:
  region: eu-west
  identityRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSClusterStaticIdentity, name: good-aws, namespace: kcm-system}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSClusterStaticIdentity
metadata: {name: good-aws, METADATA(cluster-scoped identity)}
spec: {secretRef: good-aws-secret, allowedNamespaces: {}}
---
apiVersion: v1
kind: Secret
metadata: {name: good-aws-secret, namespace: kcm-system, METADATA(Secret of the system)}
data: {AccessKeyID: «64:data: AccessKeyID», SecretAccessKey: «64:data: SecretAccessKey»}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: good-aws-resource-template, namespace: kcm-system, METADATA(companion)}
data: {template: 'kind: {{ .x }}'}
---
apiVersion: v1
kind: Secret
metadata: {name: of-nobody, namespace: team-a}
stringData: {a: «a Secret that nobody wants»}
stringdata: {a: «a misspelt field of a Secret that nobody wants»}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: of-nobody, namespace: team-a}
data: {a: «a ConfigMap that nobody wants»}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: app, namespace: team-a}
spec: {template: {spec: {containers: [{env: [{name: PASSWORD, value: «another kind of object»}]}]}}}
---
apiVersion: v1
kind: Secret
metadata: {name: token, namespace: team-a}
type: kubernetes.io/service-account-token
data: {token: «64:a service account's token»}
---
apiVersion: k0rdent.mirantis.com/v1beta1
kind: Region
metadata: {name: eu-west}
spec: {kubeConfig: {name: eu-west-kubeconf, key: value}, providers: [{name: cluster-api-provider-aws}, {name: cluster-api-provider-azure, config: {password: «Region: a provider's config»}}]}
status: {message: «Region: status»}
---
apiVersion: v1
kind: Secret
metadata: {name: eu-west-kubeconf, namespace: kcm-system}
stringData: {value: 'users: [{name: a, user: {token: «Region: its kubeconfig»}}]'}
";

/// A stage with these manifests in the place of the good ones.
pub fn stage() -> Stage {
    let mut stage = Stage::new();
    let mut text = String::new();
    let mut parts = MANIFESTS.split("METADATA(");
    text.push_str(parts.next().unwrap());
    for part in parts {
        let (object, rest) = part.split_once(')').unwrap();
        text.push_str(
            &METADATA
                .replace('«', &format!("«{object}: "))
                .replace(&format!("«{object}: 64:"), &format!("«64:{object}: ")),
        );
        text.push_str(rest);
    }
    let binary = [b"\xff\x00".as_slice(), stage.choir.voice("data: binary").as_bytes()].concat();
    // As `base64` wraps it.
    let spaced = base64(stage.choir.voice("data: in lines").as_bytes());
    let (head, tail) = spaced.split_at(16);
    let text = text.replace("BINARY", &base64(&binary)).replace("SPACED", &format!("{head}\\n{tail}"));
    for old in ["manifests/good-azure.yaml", "manifests/good-aws.yaml"] {
        stage.fleet.remove(old);
    }
    stage.write("manifests/all.yaml", &text);
    stage
}

/// The commands, each as text and as JSON, with everything that there is to be said.
fn runs() -> Vec<(Vec<&'static str>, i32)> {
    let mut runs = Vec::new();
    for format in ["text", "json"] {
        let loud = ["--log-level", "trace", "--log-format", format, "-v"];
        let records = ["--summary", "summary.json", "--metrics", "metrics.prom"];
        for (command, code) in [
            (&["plan", "--reseal", "all"][..], 0),
            (&["render", "--dry-run"], 0),
            (&["render", "--reseal", "all"], 0),
            (&["render"], 0),
            (&["publish", "--first", "--reseal", "all"], 0),
            (&["publish"], 0),
            (&["verify", "--live", "--context", "nowhere", "--region", "eu-west"], 64),
        ] {
            // Who only looks writes no metrics.
            let only_looks = command[0] == "plan" || command.contains(&"--dry-run");
            let records = if only_looks { &records[..2] } else { &records[..] };
            runs.push(([command, &loud, records].concat(), code));
        }
        for (command, code) in [
            (&["config"][..], 0),
            (&["rbac"], 64),
            (&["check"], 0),
            (&["plan", "--no-values", "-o", "json"], 0),
            (&["plan", "--reseal", "all", "-o", "html"], 0),
            (&["explain", "region", "eu-west", "-o", "html"], 0),
            (&["check", "-o", "json"], 0),
            (&["check", "-o", "sarif"], 0),
            (&["explain", "region", "eu-west"], 0),
            (&["explain", "kcm-system/good-aws"], 0),
            (&["explain", "kcm-system/good-aws", "-o", "json"], 0),
            (&["explain", "secret", "kcm-system/good-aws-secret", "-o", "mermaid"], 0),
            (&["explain", "secret", "kcm-system/good-aws-secret", "-o", "dot"], 0),
            (&["schema"], 0),
            (&["init"], 64),
            (&["render", "--frobnicate"], 64),
        ] {
            runs.push(([command, &loud].concat(), code));
        }
    }
    runs
}

#[test]
fn no_canary_of_a_good_fleet_gets_out() {
    let mut stage = stage();
    stage.begin();
    let ear = stage.choir.ear();
    assert!(stage.choir.len() >= 60, "{} places", stage.choir.len());
    for (arguments, code) in runs() {
        let ran = stage.run(&arguments);
        assert_eq!(ran.code, Some(code), "{}", ran.shown());
        stage.is_silent(&ear, "a good fleet", &ran);
    }
    // What was listened to is all there.
    let ran =
        stage.run(&["publish", "--first", "--reseal", "all", "--metrics", "metrics.prom", "--summary", "summary.json"]);
    let sinks = stage.sinks(ran.ended(0));
    for part in [
        "stdout",
        "stderr",
        "file bundles/regions/eu-west/bundle.yaml",
        "file summary.json",
        "file metrics.prom",
        "file children.log",
        "git commit ",
        "git tree ",
        "git blob ",
    ] {
        assert!(sinks.iter().any(|(sink, bytes)| sink.starts_with(part) && !bytes.is_empty()), "{part} is no sink");
    }
    let sealed: Vec<&Vec<u8>> =
        sinks.values().filter(|bytes| bytes.windows(20).any(|window| window == b"clientSecret: ENC[AE")).collect();
    assert!(sealed.len() >= 2, "the Secret is published to both");
}

#[test]
fn sources_of_other_kinds_let_nothing_out_either() {
    let mut stage = stage();
    // Standard input, and a repository that somebody filled with plain Secrets.
    let text = std::fs::read_to_string(stage.fleet.path("manifests/all.yaml")).unwrap();
    let repository = git2::Repository::init_bare(stage.fleet.path("plain.git")).unwrap();
    let who = git2::Signature::new("a", "a@example.com", &git2::Time::new(0, 0)).unwrap();
    let mut index = git2::Index::new().unwrap();
    let secret = stage.choir.fill("apiVersion: v1\nkind: Secret\nmetadata: {name: x, namespace: team-x}\nstringData: {a: «a repository's Secret»}\n---\n\
        apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Credential\nmetadata: {name: x, namespace: team-x}\nspec: {region: eu-west, identityRef: {apiVersion: v1, kind: Secret, name: x, namespace: team-x}}\n");
    crate::support::spoilt::add(&mut index, &repository, "x.yaml", 0o100_644, secret.as_bytes());
    let tree = repository.find_tree(index.write_tree_to(&repository).unwrap()).unwrap();
    repository.commit(Some("refs/heads/main"), &who, &who, "x", &tree, &[]).unwrap();
    stage.fleet.configure("directory: {path: manifests}", "stdin: {}");
    let local = stage.fleet.path("plain.git").display().to_string();
    stage.fleet.configure("directory: {path: tenant}", &format!("git: {{repository: 'file://{local}', ref: main}}"));
    stage.write("all.yaml", &text);
    stage.begin();
    let ear = stage.choir.ear();
    for arguments in
        [&["render", "--log-level", "trace", "-v"][..], &["publish", "--first", "--log-level", "trace", "-v"]]
    {
        let ran = stage.run_with(arguments, File::open(stage.fleet.path("all.yaml")).unwrap().into());
        ran.ended(0);
        stage.is_silent(&ear, "standard input and a repository", &ran);
    }
    let published = stage.fleet.published();
    assert!(published.contains_key("regions/eu-west/core/secrets/team-x/x.sops.yaml"), "{:?}", published.keys());
}

/// Without this, silence would prove nothing: one leak in each sink, in every form, each is heard where it is.
#[test]
fn a_leak_in_any_sink_is_heard_there() {
    let mut stage = stage();
    let canary = stage.choir.voice("Secret: annotation");
    stage.begin();
    let ear = stage.choir.ear();
    let ran =
        stage.run(&["publish", "--first", "--reseal", "all", "--metrics", "metrics.prom", "--summary", "summary.json"]);
    assert_eq!(hits(&ear, &stage.sinks(ran.ended(0))), [""; 0]);
    let repository = git2::Repository::open_bare(stage.fleet.path("origin.git")).unwrap();
    let store = repository.odb().unwrap();
    for (form, text, _) in crate::support::choir::forms(&canary) {
        let leak = [b"x ".as_slice(), &text, b" y"].concat();
        let check = |sink: &str, ran: &Ran| {
            let heard = hits(&ear, &stage.sinks(ran));
            let there = format!("Secret: annotation in {sink}");
            assert!(!heard.is_empty() && heard.iter().all(|hit| hit.starts_with(&there)), "{form}, {sink}: {heard:?}");
            assert!(heard.iter().any(|hit| hit.contains(form)), "{form}, {sink}: {heard:?}");
        };
        let check_object = |kind: git2::ObjectType, bytes: &[u8]| {
            let id = store.write(kind, bytes).unwrap();
            check(&format!("git {} {id}", kind.str()), &ran);
            let id = id.to_string();
            stage.fleet.remove(&format!("origin.git/objects/{}/{}", &id[..2], &id[2..]));
        };
        // UTF-16 has bytes that no name and no text of ours can have.
        if let Some(text) = String::from_utf8(leak.clone()).ok().filter(|text| !text.contains('\0')) {
            let said = |out: &str, err: &str| Ran {
                out: out.into(),
                err: err.into(),
                summary: None,
                arguments: String::new(),
                code: None,
            };
            check("stdout", &said(&text, ""));
            check("stderr", &said("", &text));
            let name = format!("tmp/{}", text.replace('/', "_"));
            stage.fleet.write(&name, "");
            check("name of tmp/", &ran);
            stage.fleet.remove(&name);
            // A file's name in a folder of the repository.
            let entry = [b"100644 ".as_slice(), text.replace('/', "_").as_bytes(), b"\0", &[1; 20]].concat();
            check_object(git2::ObjectType::Tree, &entry);
        }
        for path in [
            "bundles/regions/eu-west/core/new.yaml",
            "bundles/.pouch-staging/x",
            "summary.json",
            "metrics.prom",
            "children.log",
            "tmp/left",
        ] {
            let before = std::fs::read(stage.fleet.path(path)).ok();
            stage.fleet.write(path, &leak);
            check(&format!("file {path}"), &ran);
            match before {
                Some(bytes) => stage.fleet.write(path, bytes),
                None => stage.fleet.remove(path),
            }
        }
        let empty = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
        for (kind, head) in [
            (git2::ObjectType::Blob, String::new()),
            (git2::ObjectType::Commit, format!("tree {empty}\n\n")),
            (git2::ObjectType::Tag, format!("object {empty}\ntype tree\ntag x\n\n")),
        ] {
            check_object(kind, &[head.as_bytes(), &leak].concat());
        }
    }
}
