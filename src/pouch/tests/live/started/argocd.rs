//! With the real Argo CD, which runs as its Deployment says once that is patched: with the plugin, or with KSOPS.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine as _;
use serde_json::Value;

use super::{
    ADOPTION, OPERATIONS, Reader, collections, forge, k0rdent_is_back, k0rdent_lets_go, kept, named, path_with, pushed,
    put_back, watched,
};
use crate::argocd::ksops::ksops;
use crate::rig::apiserver::ApiServer;
use crate::rig::argocd::{ArgoCd, Builds, collect_garbage};
use crate::support::reader::follow_live;
use crate::support::{PyYaml, root, tool};

const PLUGIN: &str = "docs/getting-started/argocd-plugin.md";
const KSOPS: &str = "docs/getting-started/argocd-ksops.md";

const HEADS: [&str; 4] = [
    "## 1. The configuration, the keys, and what Argo CD needs",
    "## 2. The first publish",
    "## 3. Once on Argo CD's cluster",
    "## 4. The region",
];

/// Does what the cluster of Argo CD does with its Deployment: mounts Secrets and ConfigMaps, and starts the programs.
struct Kubelet<'a> {
    server: &'a ApiServer,
    folder: &'a Path,
    /// Programs beside the repo-server that its image has not.
    programs: Vec<PathBuf>,
    argo: Option<ArgoCd>,
}

impl Kubelet<'_> {
    fn get(&self, target: &str) -> Value {
        self.server.endpoint("admin").get(target).unwrap().value()
    }

    /// What follows of a command on the cluster.
    fn after(&mut self, command: &str) {
        if command.contains("patch deployment argocd-repo-server") {
            let mut argo = self.start();
            argo.serve_sets(self.server);
            self.argo = Some(argo);
        }
        self.mount();
    }

    /// Lays the Secret's entries where the container finds them, private to it.
    fn mount(&self) {
        let secret = self.get("/api/v1/namespaces/argocd/secrets/sops-age");
        for (name, value) in secret["data"].as_object().into_iter().flatten() {
            let value = base64::engine::general_purpose::STANDARD.decode(value.as_str().unwrap()).unwrap();
            let path = self.folder.join("keys").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            if fs::read(&path).ok().as_ref() != Some(&value) {
                let new = path.with_extension("new");
                fs::write(&new, value).unwrap();
                use std::os::unix::fs::PermissionsExt as _;
                fs::set_permissions(&new, fs::Permissions::from_mode(0o600)).unwrap();
                fs::rename(&new, &path).unwrap();
            }
        }
    }

    /// The variable with the identities as a container has it, with the path where it is mounted here.
    fn identities(&self, container: &Value, volumes: &Value) -> OsString {
        let named = |list: &Value, field: &str, value: &str| {
            let all = list.as_array().unwrap();
            all.iter().find(|item| item[field] == value).unwrap_or_else(|| panic!("no {value} in {list}")).clone()
        };
        let variable = named(&container["env"], "name", "SOPS_AGE_KEY_FILE");
        let (folder, file) = variable["value"].as_str().unwrap().rsplit_once('/').unwrap();
        let mount = named(&container["volumeMounts"], "mountPath", folder);
        let volume = named(volumes, "name", mount["name"].as_str().unwrap());
        assert_eq!(volume["secret"]["secretName"], "sops-age");
        self.folder.join("keys").join(file).into()
    }

    /// The plugin with the path where the sidecar's file of allowed signers is mounted here.
    fn plugin(&self, sidecar: &Value, volumes: &Value) -> String {
        let plugin = self.get("/api/v1/namespaces/argocd/configmaps/pouch-plugin");
        let plugin = plugin["data"]["plugin.yaml"].as_str().unwrap();
        let of = |list: &Value, field: &str, value: &Value| {
            list.as_array().unwrap().iter().find(|item| item[field] == *value).cloned()
        };
        let Some(mount) = of(&sidecar["volumeMounts"], "mountPath", &"/signers".into()) else {
            assert!(!plugin.contains("--allowed-signers, "), "it reads what is not mounted");
            return plugin.to_owned();
        };
        let volume = of(volumes, "name", &mount["name"]).expect("what is mounted is there");
        let name = volume["configMap"]["name"].as_str().unwrap();
        let mounted = self.folder.join("signers");
        fs::create_dir_all(&mounted).unwrap();
        for (entry, text) in
            self.get(&format!("/api/v1/namespaces/argocd/configmaps/{name}"))["data"].as_object().unwrap()
        {
            fs::write(mounted.join(entry), text.as_str().unwrap()).unwrap();
        }
        assert!(plugin.contains(" /signers/"), "{plugin}");
        plugin.replace(" /signers/", &format!(" {}/", mounted.display()))
    }

    fn start(&self) -> ArgoCd {
        self.mount();
        let deployment = self.get("/apis/apps/v1/namespaces/argocd/deployments/argocd-repo-server");
        let pod = &deployment["spec"]["template"]["spec"];
        // Without it user 999, whose group is not root's, cannot read a mounted Secret.
        assert_eq!(pod["securityContext"]["fsGroup"], 999);
        let containers = pod["containers"].as_array().unwrap();
        let builds = match containers.iter().find(|container| container["name"] == "pouch") {
            Some(sidecar) => {
                let plugin = self.plugin(sidecar, &pod["volumes"]);
                let identities = ("SOPS_AGE_KEY_FILE", self.identities(sidecar, &pod["volumes"]));
                let environment = vec![("PATH", path_with(&[])), identities];
                Builds { plugin: Some((plugin, environment)), programs: Vec::new(), environment: Vec::new() }
            }
            None => {
                let server = containers.iter().find(|it| it["name"] == "argocd-repo-server").unwrap();
                let sops = tool("sops").expect("it was found before");
                let identities = ("SOPS_AGE_KEY_FILE", self.identities(server, &pod["volumes"]));
                let environment = vec![("SOPS", sops.into()), identities];
                Builds { plugin: None, programs: self.programs.clone(), environment }
            }
        };
        ArgoCd::begin(self.server, collections(), &builds)
    }
}

/// Has a reader do something beside Argo CD and its cluster.
fn with_cluster(
    reader: &mut Reader,
    programs: Vec<PathBuf>,
    act: impl FnOnce(&mut dyn FnMut(&str, &str), &ApiServer, &Path),
) {
    let Reader { server, session, folder, .. } = reader;
    let (server, over) = (&*server, AtomicBool::new(false));
    thread::scope(|scope| {
        let collector = scope.spawn(|| {
            while !over.load(Ordering::SeqCst) {
                collect_garbage(&server.endpoint("admin"), &collections());
                thread::sleep(Duration::from_millis(200));
            }
        });
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut kubelet = Kubelet { server, folder: folder.path(), programs, argo: None };
            let mut follow = |page: &str, from: &str| {
                let text = fs::read_to_string(root().join(page)).unwrap();
                let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    follow_live(session, (page, &text), from, &mut |command| kubelet.after(command));
                }));
                if let (Err(_), Some(argo)) = (&done, &kubelet.argo) {
                    let target = "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/acme-eu-west";
                    let status = server.endpoint("admin").get(target).unwrap().value()["status"].clone();
                    eprintln!("{status:#}\n{}", argo.last_words());
                }
                done.unwrap_or_else(|why| std::panic::resume_unwind(why));
            };
            act(&mut follow, server, folder.path());
        }));
        over.store(true, Ordering::SeqCst);
        collector.join().unwrap();
        done.unwrap_or_else(|why| std::panic::resume_unwind(why));
    });
}

/// What the Application complains of.
fn complaint(server: &ApiServer) -> Option<String> {
    let target = "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/acme-eu-west";
    let application = server.endpoint("admin").get(target).unwrap().value();
    let conditions = application["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.first().map(Value::to_string)
}

/// Has Argo CD build everything anew, and waits until what it complains of then is as wanted.
fn rebuild(server: &ApiServer, is_wanted: impl Fn(Option<&str>) -> bool) {
    let application = ["-n", "argocd", "annotate", "--overwrite", "application/acme-eu-west"];
    server.kubectl_prints([&application[..], &["argocd.argoproj.io/refresh=hard"]].concat(), "");
    let began = Instant::now();
    let asked = ["-n", "argocd", "get", "application/acme-eu-west", "-o", "jsonpath={.metadata.annotations}"];
    while server.kubectl_prints(asked, "").contains("refresh") || !is_wanted(complaint(server).as_deref()) {
        assert!(began.elapsed() < Duration::from_secs(180), "{:?}", complaint(server));
        thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn from_nothing_to_the_last_object_with_the_plugin() {
    let Some(mut reader) = Reader::new("022") else { return };
    if ArgoCd::install(&reader.server).is_none() {
        return;
    }
    with_cluster(&mut reader, Vec::new(), |follow, server, folder| {
        follow(PLUGIN, "");
        // What nobody signed is not given to Argo CD, although all hashes fit.
        let signed = forge(folder);
        rebuild(server, |said| said.is_some_and(|said| said.contains("is not signed")));
        assert_eq!(named(server), "aws-main-secret");
        put_back(folder, &signed);
        rebuild(server, |said| said.is_none());
        let looked = watched(|| complaint(server), || follow(OPERATIONS, "#### Exchanging with Argo CD"));
        assert!(looked > 20, "{looked}");
        // What is in the repo-server's cache proves nothing.
        rebuild(server, |said| said.is_none());
        // The watcher would have seen it: without its key nothing can be built.
        let keys = folder.join("keys/regions.agekey");
        let own = fs::read(&keys).unwrap();
        fs::write(&keys, fs::read(root().join("testdata/quickstart/keys/us-east.txt")).unwrap()).unwrap();
        rebuild(server, |said| said.is_some_and(|said| said.contains("opens nothing")));
        fs::write(&keys, own).unwrap();
        rebuild(server, |said| said.is_none());
        follow(OPERATIONS, "### Retiring with Argo CD");
    });
    reader.is_empty();
}

/// One region of an ApplicationSet goes, to the last object; the set stays, with the Application of the other.
#[test]
fn a_region_of_an_application_set_is_retired() {
    let Some(mut reader) = Reader::new("022") else { return };
    if ArgoCd::install(&reader.server).is_none() {
        return;
    }
    let (said, code) = reader.session.run(
        "mkdir fleet && cd fleet && pouch init --with argocd --fleet acme --region eu-west --region us-east \
         --repository \"$REPOSITORY\" && sed -i 's/^      mode: plugin$/&\\n      kind: ApplicationSet/' pouch.yaml",
    );
    assert_eq!(code, 0, "{said}");
    with_cluster(&mut reader, Vec::new(), |follow, server, folder| {
        HEADS[1..3].iter().for_each(|part| follow(PLUGIN, part));
        let mut git = Command::new("git");
        git.arg("-C").arg(folder.join("fleet.git")).args(["show", "main:bundles/argocd/acme-applicationset.yaml"]);
        server.apply(&String::from_utf8(git.output().unwrap().stdout).unwrap());
        let began = Instant::now();
        while named(server) != "aws-main-secret" {
            assert!(began.elapsed() < Duration::from_secs(120), "{:?}", complaint(server));
            thread::sleep(Duration::from_millis(200));
        }
        follow(OPERATIONS, "### Retiring a region of an ApplicationSet");
        // It is not made again, while the set is at work.
        thread::sleep(Duration::from_secs(3));
        let applications = ["-n", "argocd", "get", "applications", "-o", "name"];
        assert_eq!(server.kubectl_prints(applications, "").trim(), "application.argoproj.io/acme-us-east");
        let kinds = "secrets,configmaps,awsclusterstaticidentities";
        let ours = ["get", kinds, "--all-namespaces", "-o", "name", "-l", "app.kubernetes.io/managed-by=pouch"];
        assert_eq!(server.kubectl_prints(ours, ""), "");
    });
}

#[test]
fn from_k0rdent_and_back_again_with_the_plugin() {
    let Some(mut reader) = Reader::new("077") else { return };
    if ArgoCd::install(&reader.server).is_none() {
        return;
    }
    with_cluster(&mut reader, Vec::new(), |follow, server, _| {
        let before = pushed(server);
        follow(ADOPTION, "## What k0rdent pushed");
        HEADS.iter().for_each(|part| follow(PLUGIN, part));
        follow(ADOPTION, "## What stays behind");
        assert_eq!(kept(server), before);
        k0rdent_lets_go(server);
        follow(ADOPTION, "### Back again with Argo CD");
        assert_eq!(kept(server), before);
        k0rdent_is_back(server);
    });
}

#[test]
fn with_ksops_from_nothing_and_from_k0rdent() {
    let (Some(_), Some(kustomize), Some(python)) = (tool("sops"), tool("kustomize"), PyYaml::find()) else { return };
    let programs = |reader: &Reader| {
        vec![ksops(&python, &reader.folder.path().join("programs")), kustomize.parent().unwrap().to_owned()]
    };
    let Some(mut reader) = Reader::new("022") else { return };
    if ArgoCd::install(&reader.server).is_none() {
        return;
    }
    let found = programs(&reader);
    with_cluster(&mut reader, found, |follow, server, _| {
        follow(KSOPS, "");
        let looked = watched(|| complaint(server), || follow(OPERATIONS, "#### Exchanging with Argo CD"));
        assert!(looked > 20, "{looked}");
        rebuild(server, |said| said.is_none());
        follow(OPERATIONS, "### Retiring with Argo CD");
    });
    reader.is_empty();

    let Some(mut reader) = Reader::new("077") else { return };
    ArgoCd::install(&reader.server).expect("it was there before");
    let found = programs(&reader);
    with_cluster(&mut reader, found, |follow, server, _| {
        let before = pushed(server);
        // With kubectl's notes, which this takes away, Argo CD would take the finalizers away.
        follow(ADOPTION, "## What k0rdent pushed");
        HEADS.iter().for_each(|part| follow(KSOPS, part));
        follow(ADOPTION, "## What stays behind");
        assert_eq!(kept(server), before);
        k0rdent_lets_go(server);
    });
}
