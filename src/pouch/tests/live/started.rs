//! The pages of `docs/getting-started`, and what operations and adoption have after them, followed as they stand by a
//! reader with a shell, an empty repository that asks for a password, and clusters.
//!
//! Each way is followed twice, with a wide and with a narrow umask: once on a new region, to the last object, and once
//! on a region that k0rdent pushed its copies to, and back again.

mod argocd;
mod flux;
mod kubectl;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use base64::Engine as _;
use serde_json::{Value, json};

use crate::delivered::Delivered;
use crate::kcm::{self, K0rdent};
use crate::objects::{CAPI, K0RDENT, SYSTEM, path};
use crate::rig::apiserver::ApiServer;
use crate::rig::token;
use crate::support::githttp::GitServer;
use crate::support::reader::{Session, follow_live};
use crate::support::{root, tool};

/// Whom the repository lets in.
const READER: (&str, &str) = ("fleet-reader", "let-me-read");

const OPERATIONS: &str = "docs/operations.md";
const ADOPTION: &str = "docs/adoption.md";

/// A reader of pages, and the world around.
struct Reader {
    server: ApiServer,
    session: Session,
    /// Where the world around has its files.
    folder: tempfile::TempDir,
    _http: GitServer,
}

impl Reader {
    /// A cluster with the field's CRDs and k0rdent's namespace, which the contexts `eu-west` and `argocd` lead to, and an
    /// empty repository. None, after saying so, where something is absent.
    fn new(umask: &'static str) -> Option<Self> {
        Self::beside(umask, &[])
    }

    /// The same with contexts that lead to further clusters.
    fn beside(umask: &'static str, more: &[(&str, &ApiServer)]) -> Option<Self> {
        let kubectl = tool("kubectl")?;
        let server = ApiServer::start()?;
        if !server.install_crds() {
            return None;
        }
        server.kubectl_prints(["create", "namespace", SYSTEM], "");
        let folder = tempfile::tempdir().unwrap();
        let http = GitServer::new(folder.path());
        http.demand(&format!("{}:{}", READER.0, READER.1));
        let mut git = Command::new("git");
        git.args(["init", "--quiet", "--bare", "--initial-branch=main"]).arg(folder.path().join("fleet.git"));
        assert!(git.env("GIT_CONFIG_GLOBAL", "/dev/null").status().unwrap().success());

        let kubeconfig = folder.path().join("kubeconfig");
        server.kubeconfig(&kubeconfig, "nobody");
        let admin = "- name: admin\n  context: {cluster: rig, user: admin}\n";
        let text = fs::read_to_string(&kubeconfig).unwrap();
        let contexts = ["eu-west", "argocd"].map(|name| admin.replace("- name: admin", &format!("- name: {name}")));
        assert!(text.contains(admin));
        fs::write(&kubeconfig, text.replace(admin, &contexts.concat())).unwrap();
        // Further clusters have files of their own.
        let mut all = vec![kubeconfig];
        for (name, server) in more {
            let file = folder.path().join(name);
            fs::write(&file, with_context(name, server)).unwrap();
            all.push(file);
        }
        let kubeconfigs = std::env::join_paths(all).unwrap();
        let environment: Vec<(&'static str, OsString)> = vec![
            ("PATH", path_with(&[kubectl.parent().unwrap().to_owned()])),
            ("KUBECONFIG", kubeconfigs),
            ("REPOSITORY", http.url("fleet.git").into()),
            ("READER", READER.0.into()),
            ("POUCH_IMAGE", "registry.example.com/acme/pouch:1".into()),
            ("READER_PASSWORD", READER.1.into()),
            ("EU_WEST_SERVER", server.url().into()),
            ("EU_WEST_TOKEN", token("admin").into()),
            ("EU_WEST_CA", base64::engine::general_purpose::STANDARD.encode(server.ca()).into()),
        ];
        let session = Session::with(umask, environment);
        // The reader's git can push.
        fs::create_dir(session.home()).unwrap();
        fs::write(session.home().join(".gitconfig"), "[credential]\n\thelper = store\n").unwrap();
        let login = http.url("").replace("http://", &format!("http://{}:{}@", READER.0, READER.1));
        fs::write(session.home().join(".git-credentials"), format!("{}\n", login.trim_end_matches('/'))).unwrap();
        Some(Self { server, session, folder, _http: http })
    }

    /// Follows a page, or the section of it with this heading.
    fn follow(&mut self, page: &str, from: &str) {
        self.follow_and(page, from, &mut |_| {});
    }

    fn follow_and(&mut self, page: &str, from: &str, after: &mut dyn FnMut(&str)) {
        let text = fs::read_to_string(root().join(page)).unwrap();
        follow_live(&mut self.session, (page, &text), from, after);
    }

    /// Fails unless nothing that pouch published is left, and none of the Secrets that consumers were given.
    #[track_caller]
    fn is_empty(&self) {
        let kinds = "secrets,configmaps,awsclusterstaticidentities,awsclusterroleidentities,azureclusteridentities";
        let ours = ["get", kinds, "--all-namespaces", "-o", "name", "-l", "app.kubernetes.io/managed-by=pouch"];
        assert_eq!(self.server.kubectl_prints(ours, ""), "");
        let secrets = self.server.kubectl_prints(["get", "secrets", "--all-namespaces", "-o", "name"], "");
        let left = secrets
            .lines()
            .find(|name| ["sops-age", "acme-", "cluster-eu-west"].iter().any(|part| name.contains(part)));
        assert_eq!(left, None);
    }
}

/// A kubeconfig with one context.
fn with_context(name: &str, server: &ApiServer) -> String {
    let ca = base64::engine::general_purpose::STANDARD.encode(server.ca());
    let cluster = json!({"server": server.url(), "certificate-authority-data": ca});
    json!({"apiVersion": "v1", "kind": "Config", "clusters": [{"name": name, "cluster": cluster}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "users": [{"name": name, "user": {"token": token("admin")}}]})
    .to_string()
}

/// PATH with pouch and these folders in front.
fn path_with(folders: &[PathBuf]) -> OsString {
    let pouch = Path::new(env!("CARGO_BIN_EXE_pouch")).parent().unwrap().to_owned();
    let rest = std::env::var_os("PATH").unwrap_or_default();
    let folders = [pouch].into_iter().chain(folders.iter().cloned()).chain(std::env::split_paths(&rest));
    std::env::join_paths(folders).unwrap()
}

/// What the pages' Credential needs, as k0rdent copied it once: an entry more, a note of kubectl with all of it, and the
/// copies for a Credential that is long gone.
fn copies() -> [Vec<Value>; 2] {
    let closure = |name: &str| {
        let secret = format!("{name}-secret");
        let meta = |name: &str, namespace: &str| json!({"name": name, "namespace": namespace});
        let mut noted = meta(&secret, SYSTEM);
        noted["annotations"] = json!({"kubectl.kubernetes.io/last-applied-configuration":
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": meta(&secret, SYSTEM), "type": "Opaque",
                "stringData": {"AccessKeyID": "OLD", "SecretAccessKey": "old", "SessionToken": "older"}}).to_string()});
        vec![
            json!({"apiVersion": format!("{K0RDENT}/v1beta1"), "kind": "Credential", "metadata": meta(name, "team-a")}),
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": noted, "type": "Opaque",
                "stringData": {"AccessKeyID": "OLD", "SecretAccessKey": "old", "SessionToken": "older"}}),
            json!({"apiVersion": format!("{CAPI}/v1beta2"), "kind": "AWSClusterStaticIdentity", "metadata": {"name": name},
                "spec": {"secretRef": secret, "allowedNamespaces": {}}}),
        ]
    };
    ["aws-main", "aws-gone"].map(closure)
}

/// Has k0rdent push its copies, and providers' controllers mark those that stay; gives who these are, with the marks.
fn pushed(server: &ApiServer) -> Vec<Value> {
    let k0rdent = K0rdent(server);
    copies().iter().for_each(|closure| k0rdent.push(closure));
    kcm::mark(server, &copies()[0]);
    kept(server)
}

#[track_caller]
fn kept(server: &ApiServer) -> Vec<Value> {
    kcm::kept(server, &copies()[0])
}

/// Fails unless k0rdent leaves everything alone: it neither changes its copies nor takes them back.
#[track_caller]
fn k0rdent_lets_go(server: &ApiServer) {
    let k0rdent = K0rdent(server);
    let [stays, _] = copies();
    let versions = || -> Vec<Value> {
        let get = |object: &Value| server.endpoint("admin").get(&path(object)).unwrap().value();
        stays[1..].iter().map(|object| get(object)["metadata"]["resourceVersion"].clone()).collect()
    };
    let before = versions();
    k0rdent.push(&stays);
    assert_eq!(k0rdent.release(&stays), Vec::<String>::new());
    assert_eq!(versions(), before);
}

/// Fails unless k0rdent owns its copies again: what it pushes arrives.
#[track_caller]
fn k0rdent_is_back(server: &ApiServer) {
    let [stays, _] = copies();
    K0rdent(server).push(&stays);
    let secret = server.endpoint("admin").get(&path(&stays[1])).unwrap().value();
    assert_eq!(secret["data"]["AccessKeyID"], base64::engine::general_purpose::STANDARD.encode("OLD"));
    assert!(secret["metadata"]["labels"]["app.kubernetes.io/managed-by"].is_null());
}

/// Fails unless what the reader found behind the take-over is this.
#[track_caller]
fn found_behind(session: &Session, codes: &[&str]) {
    let text = session.read("found.txt");
    let found: Vec<&str> = ["not-taken-over", "stale-entry", "cleartext-copy", "k0rdent-leftover"]
        .into_iter()
        .filter(|code| text.contains(&format!("[{code}]")))
        .collect();
    assert_eq!(found, codes, "{text}");
}

/// Looks again and again while something is done, and fails if `is_bad` ever finds something; says how often it looked.
fn watched(is_bad: impl Fn() -> Option<String> + Sync, act: impl FnOnce()) -> usize {
    let (over, seen) = (AtomicBool::new(false), Mutex::new((0, None)));
    thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            while !over.load(Ordering::SeqCst) {
                let found = is_bad();
                let mut seen = seen.lock().unwrap();
                seen.0 += 1;
                seen.1 = seen.1.take().or(found);
                drop(seen);
                thread::sleep(Duration::from_millis(20));
            }
        });
        // Whatever comes of it, the watcher ends.
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act));
        over.store(true, Ordering::SeqCst);
        watcher.join().unwrap();
        done.unwrap_or_else(|why| std::panic::resume_unwind(why));
    });
    let (count, bad) = seen.into_inner().unwrap();
    assert_eq!(bad, None);
    count
}

/// Somebody who may write to the branch, and has no key that counts, changes an identity so that all hashes fit. Gives the
/// commit that was there before.
fn forge(folder: &Path) -> String {
    let (repository, work) = (folder.join("fleet.git"), folder.join("forged"));
    let at =
        "bundles/regions/eu-west/identities/awsclusterstaticidentity.infrastructure.cluster.x-k8s.io/aws-main.yaml";
    let script = format!(
        "export GIT_CONFIG_GLOBAL=/dev/null; git clone -q '{repository}' '{work}' 2>/dev/null; cd '{work}'; \
         git rev-parse HEAD; sum() {{ sha256sum {at} | cut -d' ' -f1; }}; old=$(sum); \
         sed -i 's/secretRef: aws-main-secret/secretRef: of-somebody-else/' {at}; new=$(sum); test $old != $new; \
         case $new in [0-9]*) new='\"'$new'\"';; esac; grep -q \"$old\" bundles/regions/eu-west/bundle.yaml; \
         sed -i \"s/sha256: \\\"*$old\\\"*/sha256: $new/\" bundles/regions/eu-west/bundle.yaml; git add -A; \
         git -c user.name=O -c user.email=o@x -c commit.gpgSign=false commit -qm other; git push -q origin HEAD:main; \
         cd ..; rm -rf '{work}'",
        repository = repository.display(),
        work = work.display()
    );
    let output = Command::new("sh").args(["-euc", &script]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Puts the branch back to a commit.
fn put_back(folder: &Path, commit: &str) {
    let mut git = Command::new("git");
    git.arg("-C").arg(folder.join("fleet.git")).args(["update-ref", "refs/heads/main", commit]);
    assert!(git.status().unwrap().success());
}

/// Which Secret the identity on the region names.
fn named(server: &ApiServer) -> String {
    let path = "jsonpath={.spec.secretRef}";
    server.kubectl_prints(["get", "awsclusterstaticidentity", "aws-main", "--ignore-not-found", "-o", path], "")
}

/// Where the API has what bundles hold.
fn collections() -> Vec<String> {
    Delivered::collections()
}
