//! Flux for a region: the real source-controller and kustomize-controller, connected to an API server.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::apiserver::{ApiServer, free_ports};
use super::guarded::{Guarded, crds_beside};
use super::http::{Endpoint, Request};
use super::writer::{Write, write_all};
use crate::support::tool;

/// Where both live, and what they are told.
pub const NAMESPACE: &str = "flux-system";

/// How long a sync may take; one takes two seconds on a quiet machine.
const SYNC: Duration = Duration::from_secs(120);

const KUSTOMIZATIONS: &str = "/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/flux-system/kustomizations";
const REPOSITORIES: &str = "/apis/source.toolkit.fluxcd.io/v1/namespaces/flux-system/gitrepositories";
const ARTIFACTS: &str = "/apis/source.toolkit.fluxcd.io/v1/namespaces/flux-system/ocirepositories";

/// The pair of controllers.
pub struct Flux {
    admin: Endpoint,
    source: Guarded,
    kustomize: Guarded,
}

/// What a Flux object says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Its name.
    pub name: String,
    /// Whether it is ready.
    pub ready: bool,
    /// The reason of its condition.
    pub reason: String,
    /// The message of its condition.
    pub message: String,
}

impl Flux {
    /// Installs Flux's own CRDs and starts both controllers; None, after saying so, where one is absent.
    ///
    /// # Panics
    /// If one does not get ready, and where one is absent and `CI` is `true`.
    pub fn start(server: &ApiServer, more: &[&str]) -> Option<Self> {
        let programs = (tool("source-controller")?, tool("kustomize-controller")?);
        for program in [&programs.0, &programs.1] {
            server.install_folder(&crds_beside(program));
        }
        server.apply(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}).to_string());
        let mut last = String::new();
        for _ in 0..3 {
            match Self::launch(server, &programs, more) {
                Ok(flux) => return Some(flux),
                Err(why) if why.contains("address already in use") => last = why,
                Err(why) => panic!("no Flux: {why}"),
            }
        }
        panic!("no Flux: {last}");
    }

    fn launch(server: &ApiServer, programs: &(PathBuf, PathBuf), more: &[&str]) -> Result<Self, String> {
        let [files, source_health, kustomize_health] = free_ports();
        let environment = |folder: &Path| {
            let kubeconfig = folder.join("kubeconfig");
            server.kubeconfig(&kubeconfig, "admin");
            // When it starts, the kustomize-controller removes what others of its kind left in the common folder, or work in.
            let temporary = folder.join("tmp");
            std::fs::create_dir(&temporary).expect("the scratch folder can be written");
            let own = [("KUBECONFIG", OsString::from(kubeconfig)), ("TMPDIR", OsString::from(temporary))];
            own.into_iter().chain([("RUNTIME_NAMESPACE", NAMESPACE.into())]).collect()
        };
        let common = |health: u16| {
            vec![
                String::from("--watch-all-namespaces"),
                String::from("--enable-leader-election=false"),
                String::from("--metrics-addr=0"),
                String::from("--log-encoding=console"),
                format!("--health-addr=127.0.0.1:{health}"),
            ]
        };
        let source = Guarded::start("source-controller", &programs.0, |folder| {
            let mut arguments = common(source_health);
            arguments.push(format!("--storage-path={}", folder.join("storage").display()));
            arguments.extend(["--storage-addr=", "--storage-adv-addr="].map(|flag| format!("{flag}127.0.0.1:{files}")));
            std::fs::create_dir(folder.join("storage")).expect("the scratch folder can be written");
            (arguments, environment(folder))
        });
        let kustomize = Guarded::start("kustomize-controller", &programs.1, |folder| {
            let mut arguments = common(kustomize_health);
            // Instead of half a minute, which nobody wants to wait for.
            arguments.push(String::from("--requeue-dependency=1s"));
            arguments.extend(more.iter().map(|flag| String::from(*flag)));
            (arguments, environment(folder))
        });
        source.wait_until_ready(source_health, "/readyz")?;
        kustomize.wait_until_ready(kustomize_health, "/readyz")?;
        Ok(Self { admin: server.endpoint("admin"), source, kustomize })
    }

    /// The GitRepository `fleet` on the branch `main`, and a Kustomization `bundle` that brings what stands at `path`
    /// in it, as `docs/operations` has both. `more` are further keys of the GitRepository's `spec`.
    ///
    /// # Panics
    /// If the API server refuses them.
    #[track_caller]
    pub fn follow(&self, url: &str, path: &str, more: &Value) {
        let mut repository = json!({"interval": "10m", "url": url, "ref": {"branch": "main"}});
        for (key, value) in more.as_object().into_iter().flatten() {
            repository[key] = value.clone();
        }
        let meta = |name: &str| json!({"name": name, "namespace": NAMESPACE});
        let kustomization = json!({"interval": "10m", "path": path, "prune": true,
            "sourceRef": {"kind": "GitRepository", "name": "fleet"}});
        for (version, kind, name, spec, collection) in [
            ("source.toolkit.fluxcd.io/v1", "GitRepository", "fleet", repository, REPOSITORIES),
            ("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "bundle", kustomization, KUSTOMIZATIONS),
        ] {
            let object = json!({"apiVersion": version, "kind": kind, "metadata": meta(name), "spec": spec});
            write_all(&self.admin, &[Write::Apply(format!("{collection}/{name}"), object)]);
        }
    }

    /// Has Flux fetch the branch and apply it, as `flux reconcile` does, waits until all that follows is over, and
    /// gives what the GitRepository and each Kustomization say, sorted by name.
    ///
    /// # Panics
    /// If that takes too long.
    #[track_caller]
    pub fn sync(&self) -> Vec<Said> {
        self.sync_from(REPOSITORIES)
    }

    /// The same where Flux follows a registry, by an OCIRepository `fleet`.
    ///
    /// # Panics
    /// If that takes too long.
    #[track_caller]
    pub fn sync_artifact(&self) -> Vec<Said> {
        self.sync_from(ARTIFACTS)
    }

    #[track_caller]
    fn sync_from(&self, sources: &str) -> Vec<Said> {
        let mut all = vec![self.asked(sources, "fleet")];
        if all[0].ready {
            all.push(self.asked(KUSTOMIZATIONS, "bundle"));
            all.extend(self.reconcile());
        }
        all
    }

    /// Has every Kustomization that pouch wrote apply again, and waits until all of that is over.
    ///
    /// # Panics
    /// If that takes too long.
    #[track_caller]
    pub fn reconcile(&self) -> Vec<Said> {
        let names: Vec<String> = self.kustomizations().iter().map(name).filter(|name| name != "bundle").collect();
        let token = token();
        for name in &names {
            self.poke(KUSTOMIZATIONS, name, &token);
        }
        let mut said: Vec<Said> = names.iter().map(|name| self.answer(KUSTOMIZATIONS, name, &token)).collect();
        // What waited for others says so until its next try.
        let began = Instant::now();
        while is_under_way(&said) {
            assert!(began.elapsed() < SYNC, "{said:?}\n{}", self.last_words());
            thread::sleep(Duration::from_millis(100));
            said = names.iter().map(|name| self.answer(KUSTOMIZATIONS, name, &token)).collect();
        }
        said
    }

    /// Has Flux fetch the branch, and nothing else.
    ///
    /// # Panics
    /// If that takes too long.
    #[track_caller]
    pub fn fetch(&self) -> Said {
        self.asked(REPOSITORIES, "fleet")
    }

    /// Changes the `spec` of a Kustomization.
    ///
    /// # Panics
    /// If the API server refuses it.
    #[track_caller]
    pub fn edit(&self, name: &str, spec: &Value) {
        let target = format!("{KUSTOMIZATIONS}/{name}");
        let media = "application/merge-patch+json";
        let request = Request::with_json("PATCH", &target, media, &json!({"spec": spec}));
        let response = self.admin.ask(&request).expect("the API server answers");
        assert_eq!(response.status, 200, "{}", String::from_utf8_lossy(&response.body));
    }

    fn asked(&self, collection: &str, name: &str) -> Said {
        let token = token();
        self.poke(collection, name, &token);
        self.answer(collection, name, &token)
    }

    fn poke(&self, collection: &str, name: &str, token: &str) {
        let patch = json!({"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": token}}});
        let target = format!("{collection}/{name}");
        let request = Request::with_json("PATCH", &target, "application/merge-patch+json", &patch);
        let response = self.admin.ask(&request).expect("the API server answers");
        assert_eq!(response.status, 200, "{}", String::from_utf8_lossy(&response.body));
    }

    /// What an object says once it has done what was asked for with `token`.
    #[track_caller]
    fn answer(&self, collection: &str, name: &str, token: &str) -> Said {
        let began = Instant::now();
        loop {
            let object = self.get(&format!("{collection}/{name}"));
            let status = &object["status"];
            let condition = |kind: &str| {
                let all = status["conditions"].as_array().into_iter().flatten();
                all.clone().find(|condition| condition["type"] == kind).cloned().unwrap_or_default()
            };
            let (ready, reconciling) = (condition("Ready"), condition("Reconciling"));
            let is_over = status["lastHandledReconcileAt"] == token
                && ready["observedGeneration"] == object["metadata"]["generation"]
                && ready["status"] != "Unknown"
                // It has not heard of the source yet, and looks again. A folder that is not there is an end.
                && !ready["message"].as_str().is_some_and(|message| message.starts_with("Source artifact not found"))
                // A failure that will be tried again says so.
                && (reconciling.is_null() || reconciling["reason"] == "ProgressingWithRetry");
            if is_over {
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                return Said {
                    name: name.to_owned(),
                    ready: ready["status"] == "True",
                    reason: text(&ready["reason"]),
                    message: text(&ready["message"]),
                };
            }
            assert!(began.elapsed() < SYNC, "{name} is not done: {status}\n{}", self.last_words());
            thread::sleep(Duration::from_millis(40));
        }
    }

    fn get(&self, target: &str) -> Value {
        let response = self.admin.get(target).expect("the API server answers");
        assert_eq!(response.status, 200, "{target}: {}", String::from_utf8_lossy(&response.body));
        response.value()
    }

    /// The Kustomizations that are there.
    pub fn kustomizations(&self) -> Vec<Value> {
        let list = self.get(KUSTOMIZATIONS);
        list["items"].as_array().cloned().unwrap_or_default()
    }

    /// Waits until Kustomizations whose names end so are ready by themselves; says how long that took.
    ///
    /// # Panics
    /// If that takes longer than two minutes.
    #[track_caller]
    pub fn wait_for(&self, end: &str) -> Duration {
        let began = Instant::now();
        let is_ready = |item: &Value| {
            let all = item["status"]["conditions"].as_array().into_iter().flatten();
            let ready = all.clone().find(|condition| condition["type"] == "Ready");
            ready.is_some_and(|ready| {
                ready["status"] == "True" && ready["observedGeneration"] == item["metadata"]["generation"]
            })
        };
        loop {
            let all: Vec<Value> = self.kustomizations().into_iter().filter(|item| name(item).ends_with(end)).collect();
            if !all.is_empty() && all.iter().all(is_ready) {
                return began.elapsed();
            }
            assert!(began.elapsed() < SYNC, "{all:#?}");
            thread::sleep(Duration::from_millis(40));
        }
    }

    /// Waits until each Kustomization whose name ends so says this of itself, ready or not.
    ///
    /// # Panics
    /// If that takes longer than two minutes.
    #[track_caller]
    pub fn wait_until_said(&self, end: &str, text: &str) {
        let began = Instant::now();
        let says = |item: &Value| {
            let all = item["status"]["conditions"].as_array().into_iter().flatten();
            all.clone().any(|condition| condition["message"].as_str().is_some_and(|message| message.contains(text)))
        };
        loop {
            let all: Vec<Value> = self.kustomizations().into_iter().filter(|item| name(item).ends_with(end)).collect();
            if !all.is_empty() && all.iter().all(says) {
                return;
            }
            assert!(began.elapsed() < SYNC, "{all:#?}");
            thread::sleep(Duration::from_millis(40));
        }
    }

    /// Everything that both controllers said.
    pub fn log(&self) -> String {
        self.source.log() + &self.kustomize.log()
    }

    /// The last lines of it.
    pub fn last_words(&self) -> String {
        self.source.last_words() + &self.kustomize.last_words()
    }
}

/// Whether something waits for what has not failed: for what is ready by now, or waits itself.
fn is_under_way(said: &[Said]) -> bool {
    let waits_for = |said: &Said| {
        let rest = said.message.split_once("'flux-system/").map(|(_, rest)| rest.to_owned())?;
        Some(rest.split_once('\'')?.0.to_owned())
    };
    let waiting = |said: &&Said| said.reason == "DependencyNotReady";
    let failed = |name: &str| said.iter().any(|said| said.name == name && !said.ready && !waiting(&said));
    let is_stuck = |mut one: Said| {
        for _ in said {
            let Some(next) = waits_for(&one) else { return false };
            if failed(&next) {
                return true;
            }
            match said.iter().filter(waiting).find(|said| said.name == next) {
                Some(said) => one = said.clone(),
                None => return false,
            }
        }
        false
    };
    said.iter().filter(waiting).any(|said| !is_stuck(said.clone()))
}

fn name(object: &Value) -> String {
    object["metadata"]["name"].as_str().expect("objects have names").to_owned()
}

/// Something that was not asked for before.
fn token() -> String {
    static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    format!("asked-{}", NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
}
