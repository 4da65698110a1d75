//! A real etcd and a real kube-apiserver on loopback, with users, kubeconfigs, namespaces and the field's CRDs.
//!
//! No controller runs: nobody removes what hangs on a deleted object, and a deleted Namespace stays
//! `Terminating`. Both processes are children of a small shell that ends them, and removes their
//! folder, as soon as the pipe to the test closes. So they end with the value, and also with the
//! test's process however that ends: statics are not dropped, and a killed process drops nothing.
//! (`PR_SET_PDEATHSIG` would be no help: it follows the thread that started a child, and test threads end early.)

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::http::{Connection, Endpoint, PATIENCE, Request};
use super::tls::{self, Authority};
use super::{USERS, token, write_kubeconfig};
use crate::support::{printed, shared, tool};

/// How long the server may take until it answers.
const START: Duration = Duration::from_secs(60);

/// Starts both, waits for the end of its input, ends both. Everything it needs is in its environment.
const WATCHER: &str = r#"
trap '' INT HUP TERM
"$ETCD" --name=rig --data-dir="$DIR/etcd" --unsafe-no-fsync --log-level=error \
    --listen-client-urls="$STORE" --advertise-client-urls="$STORE" \
    --listen-peer-urls="$PEER" --initial-advertise-peer-urls="$PEER" --initial-cluster="rig=$PEER" \
    </dev/null >"$DIR/etcd.log" 2>&1 &
etcd=$!
"$SERVER" --etcd-servers="$STORE" --bind-address=127.0.0.1 --secure-port="$PORT" --cert-dir="$DIR" \
    --tls-cert-file="$DIR/server.pem" --tls-private-key-file="$DIR/server.key" \
    --service-account-issuer=https://kubernetes.default.svc \
    --service-account-signing-key-file="$DIR/sa.key" --service-account-key-file="$DIR/sa.pub" \
    --token-auth-file="$DIR/tokens.csv" --client-ca-file="$DIR/ca.pem" --authorization-mode=RBAC --anonymous-auth=true \
    --service-cluster-ip-range=10.0.0.0/24 --disable-admission-plugins=ServiceAccount \
    </dev/null >"$DIR/server.log" 2>&1 &
server=$!
while read -r line; do :; done
kill -KILL $server $etcd
wait
rm -rf "$DIR"
"#;

/// The pair of processes.
pub struct ApiServer {
    folder: PathBuf,
    address: SocketAddr,
    authority: Authority,
    kubectl: PathBuf,
    watcher: Child,
    namespaces: AtomicUsize,
    crds: Mutex<bool>,
}

/// The files of a folder, sorted.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("the folder can be read").path()).collect();
    files.sort();
    files
}

/// Ports that were free a moment ago.
pub fn free_ports<const N: usize>() -> [u16; N] {
    let listeners = [(); N].map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has free ports"));
    listeners.map(|listener| listener.local_addr().expect("a bound socket has an address").port())
}

impl ApiServer {
    /// The server that all tests of this process share, started by the first that asks.
    ///
    /// None, after saying so, where a program is absent.
    ///
    /// # Panics
    /// If it does not get ready, and where a program is absent and `CI` is `true`.
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Result<ApiServer, String>> = OnceLock::new();
        let programs = Programs::find()?;
        let server = SHARED.get_or_init(|| Self::launch(&programs)).as_ref();
        Some(server.unwrap_or_else(|why| panic!("no API server: {why}")))
    }

    /// A server for the caller alone, which ends when it is dropped.
    ///
    /// # Panics
    /// As [`ApiServer::shared`].
    pub fn start() -> Option<Self> {
        let programs = Programs::find()?;
        Some(Self::launch(&programs).unwrap_or_else(|why| panic!("no API server: {why}")))
    }

    /// A port may be taken between looking for it and using it, so there is more than one try.
    fn launch(programs: &Programs) -> Result<Self, String> {
        let mut last = String::new();
        for _ in 0..3 {
            let server = Self::spawn(programs);
            match server.wait_until_ready() {
                Ok(()) => return Ok(server),
                Err(why) if why.contains("address already in use") => last = why,
                Err(why) => return Err(why),
            }
        }
        Err(last)
    }

    fn spawn(programs: &Programs) -> Self {
        let folder = tempfile::Builder::new().prefix("pouch-apiserver-").tempdir().expect("a scratch folder").keep();
        let authority = Authority::new();
        let (private, public) = tls::signing_key();
        let tokens: String = USERS
            .iter()
            .map(|(user, group)| {
                let group = if group.is_empty() { String::new() } else { format!(",\"{group}\"") };
                format!("{},{user},uid-of-{user}{group}\n", token(user))
            })
            .collect();
        let files = [
            ("server.pem", &authority.certificate),
            ("server.key", &authority.key),
            ("sa.key", &private),
            ("sa.pub", &public),
            ("tokens.csv", &tokens),
            ("ca.pem", &authority.ca),
        ];
        for (name, text) in files {
            fs::write(folder.join(name), text).expect("the scratch folder can be written");
        }
        let [store, peer, port] = free_ports();
        let watcher = Command::new("/bin/sh")
            .args(["-c", WATCHER])
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("HOME", &folder)
            .env("DIR", &folder)
            .env("ETCD", &programs.etcd)
            .env("SERVER", &programs.server)
            .env("STORE", format!("http://127.0.0.1:{store}"))
            .env("PEER", format!("http://127.0.0.1:{peer}"))
            .env("PORT", port.to_string())
            .current_dir(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell starts");
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let kubectl = programs.kubectl.clone();
        let server = Self {
            folder,
            address,
            authority,
            kubectl,
            watcher,
            namespaces: AtomicUsize::new(0),
            crds: Mutex::new(false),
        };
        server.kubeconfig(&server.folder.join("admin.kubeconfig"), "admin");
        server
    }

    /// Ready says the server first, and then the administrator must find the system's own namespaces.
    fn wait_until_ready(&self) -> Result<(), String> {
        let began = Instant::now();
        let admin = self.endpoint("admin");
        let works = |target: &str| admin.get(target).is_ok_and(|response| response.status == 200);
        loop {
            if works("/readyz")
                && works("/api/v1/namespaces/kube-system")
                && works("/api/v1/namespaces/default")
                && works("/apis/rbac.authorization.k8s.io/v1/clusterroles/cluster-admin")
            {
                return Ok(());
            }
            let told = self.log();
            if began.elapsed() > START || told.contains("address already in use") {
                return Err(format!("not ready after {} s:\n{told}", began.elapsed().as_secs()));
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// The last lines of what both processes said.
    pub fn log(&self) -> String {
        let tail = |name: &str| {
            let text = fs::read_to_string(self.folder.join(name)).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            lines[lines.len().saturating_sub(15)..].join("\n")
        };
        format!("etcd:\n{}\nkube-apiserver:\n{}\n", tail("etcd.log"), tail("server.log"))
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its scratch folder, which goes when it ends.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where it listens, as kubeconfigs have it.
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// Who signed the server's certificate, with that certificate.
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// The certificate (PEM) of the authority that signed the server's.
    pub fn ca(&self) -> &str {
        &self.authority.ca
    }

    /// A certificate and its key (PEM) by which the server knows a user of this name and group.
    pub fn client_certificate(&self, user: &str, group: &str) -> (String, String) {
        self.authority.client(user, &[group])
    }

    /// It for requests of our own, as this user.
    pub fn endpoint(&self, user: &str) -> Endpoint {
        Endpoint {
            address: self.address,
            tls: tls::client(&self.authority.ca),
            token: Some(token(user)),
            patience: PATIENCE,
        }
    }

    /// Writes a kubeconfig with a context per user, each called as its user; `user`'s is the current one.
    ///
    /// # Panics
    /// If it cannot be written.
    #[track_caller]
    pub fn kubeconfig(&self, path: &Path, user: &str) {
        write_kubeconfig(path, user, &self.url(), &self.authority.ca);
    }

    /// The words of a shell that run kubectl as whoever a kubeconfig says.
    pub fn kubectl_of(&self, kubeconfig: &Path, arguments: &str) -> String {
        format!("'{}' --kubeconfig='{}' {arguments}", self.kubectl.display(), kubeconfig.display())
    }

    /// Runs kubectl as the administrator, with `input` on its standard input.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn kubectl<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>, input: &str) -> Output {
        let mut child = Command::new(&self.kubectl)
            .arg("--request-timeout=60s")
            .args(arguments)
            .env_clear()
            // Its caches are kept there, so that another server's never mislead it.
            .env("HOME", &self.folder)
            .env("KUBECONFIG", self.folder.join("admin.kubeconfig"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("kubectl starts");
        let mut pipe = child.stdin.take().expect("it is piped");
        thread::scope(|scope| {
            // Not read to its end if kubectl refuses, which its answer tells better.
            scope.spawn(move || drop(pipe.write_all(input.as_bytes())));
            child.wait_with_output().expect("kubectl ends")
        })
    }

    /// [`ApiServer::kubectl`] where it must succeed: what it printed.
    ///
    /// # Panics
    /// If it fails, with what it said.
    #[track_caller]
    pub fn kubectl_prints<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>, input: &str) -> String {
        let output = self.kubectl(arguments, input);
        String::from_utf8(printed(&self.kubectl, &output)).expect("kubectl prints UTF-8")
    }

    /// Applies manifests (YAML documents or JSON) on the server's side.
    ///
    /// # Panics
    /// If the server refuses one.
    #[track_caller]
    pub fn apply(&self, manifests: &str) {
        self.kubectl_prints(["apply", "--server-side", "--force-conflicts", "-f", "-"], manifests);
    }

    /// Makes a namespace whose name starts so and is new to this server.
    ///
    /// # Panics
    /// If the server refuses.
    #[track_caller]
    pub fn namespace(&self, start: &str) -> String {
        let name = format!("{start}-{}", self.namespaces.fetch_add(1, Ordering::Relaxed));
        let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let request = Request::with_json("POST", "/api/v1/namespaces", "application/json", &body);
        let response = self.endpoint("admin").ask(&request).expect("the API server answers");
        assert_eq!(response.status, 201, "{}", String::from_utf8_lossy(&response.body));
        name
    }

    /// Installs the CRDs of k0rdent and of the identity kinds once, and waits until each version is served.
    ///
    /// False, after saying so, where the field's data is absent.
    ///
    /// # Panics
    /// If the server refuses one or does not serve it within a minute.
    #[track_caller]
    pub fn install_crds(&self) -> bool {
        let mut done = self.crds.lock().unwrap_or_else(PoisonError::into_inner);
        if *done {
            return true;
        }
        let (Some(k0rdent), Some(identities)) = (shared("data/crds/k0rdent"), shared("data/crds/identities")) else {
            return false;
        };
        // One is the same CRD as an older release had it.
        let is_wanted = |path: &PathBuf| !path.ends_with("providerinterfaces-v1.10.0.yaml");
        let files: Vec<PathBuf> =
            [k0rdent, identities].iter().flat_map(|folder| files(folder)).filter(is_wanted).collect();
        self.install_files(&files);
        *done = true;
        true
    }

    /// Installs the CRDs of a folder, and waits until each version is served.
    ///
    /// # Panics
    /// If the server refuses one or does not serve it within a minute.
    #[track_caller]
    pub fn install_folder(&self, folder: &Path) {
        let is_crd = |path: &PathBuf| !path.ends_with("kustomization.yaml");
        self.install_files(&files(folder).into_iter().filter(is_crd).collect::<Vec<_>>());
    }

    /// Installs the CRDs of files, and waits until each version is served.
    ///
    /// # Panics
    /// If the server refuses one or does not serve it within a minute.
    #[track_caller]
    pub fn install_files(&self, files: &[PathBuf]) {
        let crds: Vec<Value> = files.iter().map(|file| self.crd(file)).collect();
        self.apply(&json!({"apiVersion": "v1", "kind": "List", "items": crds}).to_string());
        for crd in &crds {
            self.wait_until_served(crd);
        }
    }

    /// A CRD as a file has it, but converting nothing: the service that would convert is not here.
    fn crd(&self, file: &Path) -> Value {
        let flags = ["create", "--dry-run=client", "--validate=false", "-o", "json", "-f"].map(OsStr::new);
        let text = self.kubectl_prints(flags.into_iter().chain([file.as_os_str()]), "");
        let mut crd: Value = serde_json::from_str(&text).expect("kubectl prints JSON");
        assert_eq!(crd["kind"], "CustomResourceDefinition", "{}", file.display());
        crd["spec"]["conversion"] = json!({"strategy": "None"});
        crd
    }

    #[track_caller]
    fn wait_until_served(&self, crd: &Value) {
        let mut connection = self.endpoint("admin").connect().expect("the API server answers");
        let spec = &crd["spec"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let served = spec["versions"].as_array().into_iter().flatten().filter(|version| version["served"] == true);
        for version in served {
            let (group, plural) = (text(&spec["group"]), text(&spec["names"]["plural"]));
            let target = format!("/apis/{group}/{}/{plural}?limit=1", text(&version["name"]));
            let began = Instant::now();
            while connection.send(&Request::get(&target)).expect("the API server answers").status != 200 {
                assert!(began.elapsed() < START, "{target} is not served");
                thread::sleep(Duration::from_millis(20));
            }
            while !is_discovered(&mut connection, (&group, &text(&version["name"]), &plural)) {
                assert!(began.elapsed() < START, "{target} is not discovered");
                thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

/// Whether kubectl would find a collection: what is served is discovered a moment later.
///
/// <https://kubernetes.io/docs/concepts/overview/kubernetes-api/#aggregated-discovery>
fn is_discovered(connection: &mut Connection, (group, version, plural): (&str, &str, &str)) -> bool {
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let headers = vec![(String::from("Accept"), String::from(accept))];
    let request = Request { headers, ..Request::get("/apis") };
    let found = connection.send(&request).expect("the API server answers").value();
    let groups = found["items"].as_array().into_iter().flatten().filter(|item| item["metadata"]["name"] == group);
    let versions = groups.flat_map(|item| item["versions"].as_array().into_iter().flatten());
    let resources = versions
        .filter(|item| item["version"] == version)
        .flat_map(|item| item["resources"].as_array().into_iter().flatten());
    resources.into_iter().any(|item| item["resource"] == plural)
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        // The watcher sees its input end and ends both.
        drop(self.watcher.stdin.take());
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(10) {
            if !matches!(self.watcher.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
        eprintln!("NOTE the API server under {} did not end", self.folder.display());
    }
}

struct Programs {
    etcd: PathBuf,
    server: PathBuf,
    kubectl: PathBuf,
}

impl Programs {
    fn find() -> Option<Self> {
        Some(Self { etcd: tool("etcd")?, server: tool("kube-apiserver")?, kubectl: tool("kubectl")? })
    }
}
