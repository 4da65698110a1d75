//! Argo CD: the real repo-server, application controller and, for plugins, cmp-server, with a real redis.
//!
//! It runs on the API server that is the region, which it knows as the cluster `eu`.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::apiserver::{ApiServer, free_ports};
use super::guarded::{Guarded, crds_beside};
use super::http::{Endpoint, Request};
use super::token;
use crate::support::tool;

/// Where it lives, and what it is told.
pub const NAMESPACE: &str = "argocd";

/// The program of the newest release that is tried, beside `argocd`, which most tests run.
pub const NEXT: &str = "argocd-next";

/// How long a sync may take; one takes some seconds on a quiet machine.
const SYNC: Duration = Duration::from_secs(300);

const APPLICATIONS: &str = "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications";

/// How the repo-server makes manifests of a folder.
pub struct Builds {
    /// A `ConfigManagementPlugin`, and the environment that its commands have.
    pub plugin: Option<(String, Vec<(&'static str, OsString)>)>,
    /// Folders with programs that the repo-server finds first.
    pub programs: Vec<PathBuf>,
    /// Further environment of the repo-server.
    pub environment: Vec<(&'static str, OsString)>,
}

/// All processes of it.
pub struct ArgoCd {
    admin: Endpoint,
    /// Collections in which objects are deleted: nobody else collects garbage.
    collections: Vec<String>,
    processes: Vec<Guarded>,
    redis: u16,
    repo: u16,
}

/// What an Application says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// `Synced`, `OutOfSync` or `Unknown`.
    pub sync: String,
    /// How its last sync ended, or that it is being tried again.
    pub phase: String,
    /// What was said of that.
    pub message: String,
    /// The revision that the last sync applied or tried.
    pub revision: String,
    /// What it complains of.
    pub conditions: Vec<String>,
}

impl ArgoCd {
    /// Installs its CRDs and settings and starts it; None, after saying so, where a program is absent.
    ///
    /// # Panics
    /// If it does not get ready, and where a program is absent and `CI` is `true`.
    pub fn start(server: &ApiServer, collections: Vec<String>, builds: &Builds) -> Option<Self> {
        Self::install(server)?;
        server.apply(&settings(server).to_string());
        Some(Self::begin(server, collections, builds))
    }

    /// The same of the program with this name, on an API server that is no region, and without any cluster that it knows.
    ///
    /// # Panics
    /// If it does not get ready, and where a program is absent and `CI` is `true`.
    pub fn start_apart(name: &str, server: &ApiServer, builds: &Builds) -> Option<Self> {
        let argocd = Self::install_of(name, server)?;
        server.apply(&settings_without_cluster().to_string());
        Some(Self::begin_of(&argocd, server, &[], builds))
    }

    /// Installs its CRDs, and what its own installation has of settings; None, after saying so, where a program is absent.
    ///
    /// # Panics
    /// If the server refuses, and where a program is absent and `CI` is `true`.
    pub fn install(server: &ApiServer) -> Option<()> {
        Self::install_of("argocd", server).map(|_| ())
    }

    fn install_of(name: &str, server: &ApiServer) -> Option<PathBuf> {
        let (argocd, _) = (tool(name)?, tool("redis-server")?);
        server.install_folder(&crds_beside(&argocd));
        server.apply(&installation().to_string());
        Some(argocd)
    }

    /// Starts it where it is installed.
    ///
    /// # Panics
    /// If it does not get ready.
    pub fn begin(server: &ApiServer, collections: Vec<String>, builds: &Builds) -> Self {
        Self::begin_of(&tool("argocd").expect("it is installed"), server, &collections, builds)
    }

    fn begin_of(argocd: &Path, server: &ApiServer, collections: &[String], builds: &Builds) -> Self {
        let redis = tool("redis-server").expect("it is installed");
        let mut last = String::new();
        for _ in 0..3 {
            match Self::launch(server, (argocd, &redis), collections.to_vec(), builds) {
                Ok(started) => return started,
                Err(why) if why.contains("ddress already in use") => last = why,
                Err(why) => panic!("no Argo CD: {why}"),
            }
        }
        panic!("no Argo CD: {last}");
    }

    fn launch(
        server: &ApiServer,
        (argocd, redis): (&Path, &Path),
        collections: Vec<String>,
        builds: &Builds,
    ) -> Result<Self, String> {
        let [redis_port, repo_port, repo_metrics, controller_metrics] = free_ports();
        let mut processes = Vec::new();
        let cache = Guarded::start("redis-server", redis, |_| {
            let port = redis_port.to_string();
            let flags = ["--bind", "127.0.0.1", "--port", &port, "--save", "", "--appendonly", "no"];
            (flags.map(String::from).to_vec(), Vec::new())
        });
        cache.wait_until(|| TcpStream::connect((Ipv4Addr::LOCALHOST, redis_port)).is_ok())?;
        processes.push(cache);
        let mut sockets = PathBuf::from("/nonexistent");
        if let Some((plugin, environment)) = &builds.plugin {
            let server = Guarded::start("argocd-cmp-server", argocd, |folder| {
                sockets = folder.join("plugins");
                std::fs::create_dir(&sockets).expect("the scratch folder can be written");
                std::fs::write(folder.join("plugin.yaml"), plugin).expect("the scratch folder can be written");
                let mut all = vec![role("argocd-cmp-server"), ("TMPDIR", folder.into())];
                all.push(("ARGOCD_PLUGINSOCKFILEPATH", sockets.clone().into()));
                all.extend(environment.iter().cloned());
                (vec![format!("--config-dir-path={}", folder.display())], all)
            });
            let has_socket = || std::fs::read_dir(&sockets).is_ok_and(|mut entries| entries.next().is_some());
            server.wait_until(has_socket)?;
            processes.push(server);
        }
        let repo = Guarded::start("argocd-repo-server", argocd, |folder| {
            let mut all =
                vec![role("argocd-repo-server"), ("TMPDIR", folder.into()), ("ARGOCD_GPG_ENABLED", "false".into())];
            for (variable, name) in
                [("ARGOCD_GNUPGHOME", "gpg"), ("ARGOCD_TLS_DATA_PATH", "tls"), ("ARGOCD_SSH_DATA_PATH", "ssh")]
            {
                std::fs::create_dir(folder.join(name)).expect("the scratch folder can be written");
                all.push((variable, folder.join(name).into()));
            }
            all.push(("ARGOCD_PLUGINSOCKFILEPATH", sockets.clone().into()));
            let path = std::env::var_os("PATH").unwrap_or_default();
            // It asks itself for passwords, by the name of the program, and a socket that must be its own.
            all.push(("ARGOCD_ASK_PASS_SOCK", folder.join("ask-pass").into()));
            let own = argocd.parent().map(Path::to_owned);
            let path = builds.programs.iter().cloned().chain(own).chain(std::env::split_paths(&path));
            all.push(("PATH", std::env::join_paths(path).expect("a PATH")));
            all.extend(builds.environment.iter().cloned());
            let mut flags = vec![
                String::from("--disable-tls"),
                String::from("--address=127.0.0.1"),
                String::from("--metrics-address=127.0.0.1"),
                format!("--port={repo_port}"),
                format!("--metrics-port={repo_metrics}"),
                format!("--redis=127.0.0.1:{redis_port}"),
            ];
            if argocd.ends_with(NEXT) {
                // It looks for certificates of clients, and refuses to do so without TLS.
                flags.push(String::from("--client-ca-path="));
            }
            (flags, all)
        });
        repo.wait_until_ready(repo_metrics, "/metrics")?;
        processes.push(repo);
        let controller = Guarded::start("argocd-application-controller", argocd, |folder| {
            let kubeconfig = folder.join("kubeconfig");
            server.kubeconfig(&kubeconfig, "admin");
            let flags = vec![
                String::from("--repo-server-plaintext"),
                format!("--repo-server=127.0.0.1:{repo_port}"),
                format!("--redis=127.0.0.1:{redis_port}"),
                format!("--kubeconfig={}", kubeconfig.display()),
                format!("--namespace={NAMESPACE}"),
                format!("--metrics-port={controller_metrics}"),
            ];
            // Two seconds between waves are for controllers that are not here.
            let wave = ("ARGOCD_SYNC_WAVE_DELAY", "0".into());
            (flags, vec![role("argocd-application-controller"), ("TMPDIR", folder.into()), wave])
        });
        controller.wait_until_ready(controller_metrics, "/healthz")?;
        processes.push(controller);
        Ok(Self { admin: server.endpoint("admin"), collections, processes, redis: redis_port, repo: repo_port })
    }

    /// Starts the controller that makes Applications of ApplicationSets, too.
    ///
    /// # Panics
    /// If it does not get ready.
    pub fn serve_sets(&mut self, server: &ApiServer) {
        let argocd = tool("argocd").expect("the others were started");
        let [metrics, probe, webhook] = free_ports();
        let process = Guarded::start("argocd-applicationset-controller", &argocd, |folder| {
            let kubeconfig = folder.join("kubeconfig");
            server.kubeconfig(&kubeconfig, "admin");
            let mut flags: Vec<String> = [("metrics-addr", metrics), ("probe-addr", probe), ("webhook-addr", webhook)]
                .map(|(flag, port)| format!("--{flag}=127.0.0.1:{port}"))
                .to_vec();
            flags.push(String::from("--repo-server-plaintext"));
            flags.push(format!("--argocd-repo-server=127.0.0.1:{}", self.repo));
            flags.push(format!("--namespace={NAMESPACE}"));
            let mut environment = vec![role("argocd-applicationset-controller"), ("TMPDIR", folder.into())];
            environment.push(("KUBECONFIG", kubeconfig.clone().into()));
            for (variable, name) in [("ARGOCD_TLS_DATA_PATH", "tls"), ("ARGOCD_SSH_DATA_PATH", "ssh")] {
                std::fs::create_dir(folder.join(name)).expect("the scratch folder can be written");
                environment.push((variable, folder.join(name).into()));
            }
            (flags, environment)
        });
        process.wait_until_ready(metrics, "/metrics").unwrap_or_else(|why| panic!("no ApplicationSets: {why}"));
        self.processes.push(process);
    }

    /// Waits until there is an Application of this name.
    ///
    /// # Panics
    /// If that takes too long.
    #[track_caller]
    pub fn wait_for(&self, name: &str) {
        self.wait(name, |application, _| application["metadata"]["name"] == name);
    }

    /// Waits until the region is what an Application says.
    ///
    /// # Panics
    /// If that takes too long.
    #[track_caller]
    pub fn wait_until_synced(&self, name: &str) {
        self.wait(name, |_, said| said.sync == "Synced");
    }

    /// Waits until an Application says something.
    ///
    /// # Panics
    /// If that takes too long.
    #[track_caller]
    pub fn wait_until(&self, name: &str, is_said: impl Fn(&Said) -> bool) {
        self.wait(name, |_, said| is_said(said));
    }

    /// What an Application says now.
    pub fn said(&self, name: &str) -> Said {
        collect_garbage(&self.admin, &self.collections);
        said(&self.get(&format!("{APPLICATIONS}/{name}")))
    }

    /// Has an Application look at the branch, as `argocd app get --refresh` does.
    ///
    /// # Panics
    /// If the API server refuses that.
    pub fn refresh(&self, name: &str) {
        let asked = json!({"metadata": {"annotations": {"argocd.argoproj.io/refresh": "normal"}}});
        self.merge(&format!("{APPLICATIONS}/{name}"), &asked);
    }

    /// Has an Application look at the branch, waits until it is through with this
    /// revision, and gives what it says.
    ///
    /// # Panics
    /// If that takes too long.
    #[track_caller]
    pub fn sync(&self, name: &str, revision: &str) -> Said {
        self.refresh(name);
        self.settled(name, revision)
    }

    /// Syncs an Application by hand, as `argocd app sync` does, waits until that is over, and gives what it says.
    ///
    /// # Panics
    /// If that takes too long.
    #[track_caller]
    pub fn sync_by_hand(&self, name: &str, operation: &Value) -> Said {
        let asked = json!([{"name": "asked", "value": format!("{:?}", Instant::now())}]);
        self.merge(&format!("{APPLICATIONS}/{name}"), &json!({"operation": {"sync": operation, "info": asked}}));
        self.wait(name, |application, said| {
            application["status"]["operationState"]["operation"]["info"] == asked && said.phase != "Running"
        })
    }

    /// What an Application says once it is through with a revision: applied it, gave up, or waits to try again.
    #[track_caller]
    fn settled(&self, name: &str, revision: &str) -> Said {
        self.wait(name, |application, said| {
            let is_asked = application["metadata"]["annotations"]["argocd.argoproj.io/refresh"].is_string();
            // Neither what cannot be built nor what would empty the region is tried.
            let is_error =
                |condition: &String| ["ComparisonError", "SyncError"].iter().any(|kind| condition.starts_with(kind));
            let is_over = match said.phase.as_str() {
                "Running" => said.message.contains("Retrying attempt"),
                "Failed" | "Error" => said.revision == revision,
                // Compared again after it was applied; or there was nothing to do.
                _ => said.sync == "Synced",
            };
            let is_through = application["status"]["sync"]["revision"] == revision && is_over;
            !is_asked && application["operation"].is_null() && (is_through || said.conditions.iter().any(is_error))
        })
    }

    #[track_caller]
    fn wait(&self, name: &str, is_over: impl Fn(&Value, &Said) -> bool) -> Said {
        let (began, target) = (Instant::now(), format!("{APPLICATIONS}/{name}"));
        loop {
            collect_garbage(&self.admin, &self.collections);
            let application = self.get(&target);
            let said = said(&application);
            if is_over(&application, &said) {
                return said;
            }
            assert!(began.elapsed() < SYNC, "{name} is not done: {said:#?}\n{}", self.last_words());
            thread::sleep(Duration::from_millis(100));
        }
    }

    fn merge(&self, target: &str, patch: &Value) {
        merge(&self.admin, target, patch);
    }

    fn get(&self, target: &str) -> Value {
        self.admin.get(target).expect("the API server answers").value()
    }

    /// Everything that all of them said.
    pub fn log(&self) -> String {
        self.processes.iter().map(Guarded::log).collect()
    }

    /// What they complained of, and the last lines of it.
    pub fn last_words(&self) -> String {
        let log = self.log();
        let is_complaint = |line: &&str| line.contains(r#""level":"error""#) || line.contains(r#""level":"warning""#);
        let complaints = log.lines().filter(is_complaint).take(30).map(|line| line.chars().take(600).collect());
        let words = self.processes.iter().map(Guarded::last_words);
        words.chain(complaints).collect::<Vec<String>>().join("\n")
    }

    /// Everything that redis has: keys, and values as they were before they were compressed.
    pub fn cached(&self) -> Vec<(String, Vec<u8>)> {
        let mut redis = Redis(BufReader::new(TcpStream::connect((Ipv4Addr::LOCALHOST, self.redis)).expect("redis")));
        let keys = redis.ask(&["KEYS", "*"]);
        let keys = keys.into_iter().map(|key| String::from_utf8(key).expect("keys are text"));
        keys.filter_map(|key| {
            let value = redis.ask(&["GET", &key]).pop()?;
            let value = if value.starts_with(&[0x1f, 0x8b]) { unzipped(&value) } else { value };
            Some((key, value))
        })
        .collect()
    }
}

/// What the garbage collector does with an object that nothing hangs on: no controller manager runs here.
pub fn collect_garbage(admin: &Endpoint, collections: &[String]) {
    for collection in collections {
        let list = admin.get(collection).expect("the API server answers").value();
        let items = list["items"].as_array().into_iter().flatten();
        for meta in items.map(|item| &item["metadata"]).filter(|meta| meta["deletionTimestamp"].is_string()) {
            let finalizers = meta["finalizers"].as_array().into_iter().flatten();
            if finalizers.clone().any(|finalizer| finalizer == "foregroundDeletion") {
                let left: Vec<&Value> = finalizers.filter(|finalizer| *finalizer != "foregroundDeletion").collect();
                let name = meta["name"].as_str().expect("a name");
                let target = match (meta["namespace"].as_str(), collection.rsplit_once('/')) {
                    (Some(namespace), Some((group, plural))) => {
                        format!("{group}/namespaces/{namespace}/{plural}/{name}")
                    }
                    _ => format!("{collection}/{name}"),
                };
                merge(admin, &target, &json!({"metadata": {"finalizers": left}}));
            }
        }
    }
}

fn merge(admin: &Endpoint, target: &str, patch: &Value) {
    let request = Request::with_json("PATCH", target, "application/merge-patch+json", patch);
    let response = admin.ask(&request).expect("the API server answers");
    assert_eq!(response.status, 200, "{}", String::from_utf8_lossy(&response.body));
}

/// Chooses what the one program is, in place of its file's name.
fn role(name: &str) -> (&'static str, OsString) {
    ("ARGOCD_BINARY_NAME", OsString::from(name))
}

fn said(application: &Value) -> Said {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (status, state) = (&application["status"], &application["status"]["operationState"]);
    let conditions = status["conditions"].as_array().into_iter().flatten();
    Said {
        sync: text(&status["sync"]["status"]),
        phase: text(&state["phase"]),
        message: text(&state["message"]),
        revision: text(&state["syncResult"]["revision"]),
        conditions: conditions
            .map(|condition| format!("{}: {}", text(&condition["type"]), text(&condition["message"])))
            .collect(),
    }
}

/// What the installation of Argo CD makes, as far as it matters here: the Deployment is for patches of it.
fn installation() -> Value {
    let part =
        |name: &str| json!({"name": name, "namespace": NAMESPACE, "labels": {"app.kubernetes.io/part-of": "argocd"}});
    let label = json!({"app.kubernetes.io/name": "argocd-repo-server"});
    let mounts = json!([{"name": "plugins", "mountPath": "/home/argocd/cmp-server/plugins"}, {"name": "tmp", "mountPath": "/tmp"}]);
    let copy = json!([{"name": "var-files", "mountPath": "/var/run/argocd"}]);
    let pod = json!({
        "initContainers": [{"name": "copyutil", "image": "argocd", "volumeMounts": copy}],
        "containers": [{"name": "argocd-repo-server", "image": "argocd", "volumeMounts": mounts}],
        "volumes": [{"name": "var-files", "emptyDir": {}}, {"name": "plugins", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}],
    });
    json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": part("argocd-cm")},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": part("argocd-rbac-cm")},
        {"apiVersion": "v1", "kind": "Secret", "metadata": part("argocd-secret"), "stringData": {"server.secretkey": "x"}},
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": part("argocd-repo-server"),
            "spec": {"selector": {"matchLabels": label}, "template": {"metadata": {"labels": label}, "spec": pod}}},
    ]})
}

/// What its user makes; the cluster `eu` is the API server itself.
fn settings(server: &ApiServer) -> Value {
    let labels = json!({"argocd.argoproj.io/secret-type": "cluster"});
    let login = json!({"bearerToken": token("admin"), "tlsClientConfig": {"insecure": true}});
    let cluster = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "eu", "namespace": NAMESPACE, "labels": labels},
        "stringData": {"name": "eu", "server": server.url(), "config": login.to_string()},
    });
    let mut all = settings_without_cluster();
    all["items"].as_array_mut().expect("a list").push(cluster);
    all
}

fn settings_without_cluster() -> Value {
    let meta = |name: &str, labels: Value| json!({"name": name, "namespace": NAMESPACE, "labels": labels});
    let any = json!([{"group": "*", "kind": "*"}]);
    json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta("argocd-cm", json!({"app.kubernetes.io/part-of": "argocd"})),
            "data": {"kustomize.buildOptions": "--enable-alpha-plugins --enable-exec"}},
        {"apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject", "metadata": {"name": "default", "namespace": NAMESPACE},
            "spec": {"sourceRepos": ["*"], "destinations": [{"namespace": "*", "server": "*"}],
                "clusterResourceWhitelist": any}},
    ]})
}

/// A connection that asks one thing after the other, <https://redis.io/docs/latest/develop/reference/protocol-spec/>.
struct Redis(BufReader<TcpStream>);

impl Redis {
    fn ask(&mut self, words: &[&str]) -> Vec<Vec<u8>> {
        let mut message = format!("*{}\r\n", words.len());
        for word in words {
            message.push_str(&format!("${}\r\n{word}\r\n", word.len()));
        }
        self.0.get_mut().write_all(message.as_bytes()).expect("redis listens");
        self.answer()
    }

    fn answer(&mut self) -> Vec<Vec<u8>> {
        let mut line = String::new();
        self.0.read_line(&mut line).expect("redis answers");
        let (kind, rest) = line.trim().split_at(1);
        let number = || rest.parse::<i64>().expect("a number");
        match kind {
            "*" => (0..number()).flat_map(|_| self.answer()).collect(),
            "$" => match usize::try_from(number()) {
                Ok(length) => {
                    let mut value = vec![0; length + 2];
                    self.0.read_exact(&mut value).expect("redis answers");
                    value.truncate(length);
                    vec![value]
                }
                // It is gone by now.
                Err(_) => Vec::new(),
            },
            _ => panic!("redis says {line}"),
        }
    }
}

fn unzipped(bytes: &[u8]) -> Vec<u8> {
    let mut child = Command::new("gzip").arg("-dc").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("gzip");
    let mut input = child.stdin.take().expect("it is piped");
    thread::scope(|scope| {
        scope.spawn(move || input.write_all(bytes).expect("gzip reads"));
        child.wait_with_output().expect("gzip ends").stdout
    })
}
