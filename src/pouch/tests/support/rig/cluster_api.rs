//! Cluster API: its real core manager for one API server, with guest clusters that are API servers themselves.
//!
//! No provider runs: a Cluster without infrastructure counts as provisioned, and a Secret with a kubeconfig is all that the
//! manager needs to write into a guest. No webhook is called, because none is configured.

use std::ffi::OsString;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::apiserver::{ApiServer, free_ports};
use super::guarded::{Guarded, crds_beside};
use super::token;
use crate::support::tool;

/// How long the manager may take to notice something.
const NOTICED: Duration = Duration::from_secs(120);

/// The manager beside its API server.
pub struct ClusterApi {
    process: Guarded,
}

impl ClusterApi {
    /// Installs Cluster API's own CRDs and starts the manager; none, after saying so, where it is absent.
    ///
    /// # Panics
    /// If it does not get ready, and where it is absent and `CI` is `true`.
    pub fn start(server: &ApiServer) -> Option<Self> {
        let program = tool("cluster-api-manager")?;
        server.install_folder(&crds_beside(&program));
        let [health, webhook] = free_ports();
        let process = Guarded::start("cluster-api-manager", &program, |folder| {
            let kubeconfig = folder.join("kubeconfig");
            server.kubeconfig(&kubeconfig, "admin");
            // The manager serves webhooks that nobody calls.
            fs::write(folder.join("tls.crt"), &server.authority().certificate)
                .expect("the scratch folder can be written");
            fs::write(folder.join("tls.key"), &server.authority().key).expect("the scratch folder can be written");
            let arguments = vec![
                format!("--kubeconfig={}", kubeconfig.display()),
                format!("--health-addr=127.0.0.1:{health}"),
                String::from("--diagnostics-address=0"),
                String::from("--leader-elect=false"),
                format!("--webhook-port={webhook}"),
                format!("--webhook-cert-dir={}", folder.display()),
                String::from("--skip-crd-migration-phases=StorageVersionMigration,CleanupManagedFields"),
            ];
            let environment = [("POD_NAMESPACE", "default"), ("POD_NAME", "manager"), ("POD_UID", "x")];
            (arguments, environment.map(|(key, value)| (key, OsString::from(value))).into())
        });
        process.wait_until_ready(health, "/readyz").unwrap_or_else(|why| panic!("no manager: {why}"));
        Some(Self { process })
    }

    /// A Cluster with labels, whose guest is another API server.
    ///
    /// # Panics
    /// If the API server refuses it.
    #[track_caller]
    pub fn adopt(&self, server: &ApiServer, (namespace, name): (&str, &str), labels: &Value, guest: &ApiServer) {
        let user = json!({"name": "admin", "user": {"token": token("admin")}});
        let ca = base64(guest.ca());
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "admin",
            "clusters": [{"name": "rig", "cluster": {"server": guest.url(), "certificate-authority-data": ca}}],
            "contexts": [{"name": "admin", "context": {"cluster": "rig", "user": "admin"}}],
            "users": [user],
        });
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "cluster.x-k8s.io/secret",
            "metadata": {"name": format!("{name}-kubeconfig"), "namespace": namespace,
                         "labels": {"cluster.x-k8s.io/cluster-name": name}},
            "stringData": {"value": kubeconfig.to_string()},
        });
        server.apply(&secret.to_string());
        let (host, port) = (guest.address().ip().to_string(), guest.address().port());
        let cluster = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
            "metadata": {"name": name, "namespace": namespace, "labels": labels},
            "spec": {"controlPlaneEndpoint": {"host": host, "port": port}},
        });
        server.apply(&cluster.to_string());
        let status = json!({"status": {"initialization": {"infrastructureProvisioned": true}}});
        let words = ["patch", "cluster.v1beta2.cluster.x-k8s.io", name, "--subresource=status", "--type=merge"];
        let rest = ["-n", namespace, "-p", &status.to_string()];
        server.kubectl_prints(words.iter().chain(rest.iter()), "");
    }

    /// Waits until something is so, as it turns out when it is asked.
    ///
    /// # Panics
    /// If that takes too long, with what was seen last and what the manager said.
    #[track_caller]
    pub fn wait<T: std::fmt::Debug>(&self, what: &str, ask: impl Fn() -> T, is_so: impl Fn(&T) -> bool) -> T {
        let began = Instant::now();
        loop {
            let seen = ask();
            if is_so(&seen) {
                return seen;
            }
            assert!(began.elapsed() < NOTICED, "{what}: {seen:?}\n{}", self.process.last_words());
            thread::sleep(Duration::from_millis(300));
        }
    }
}

fn base64(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}
