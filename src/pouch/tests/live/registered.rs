//! The cluster registry: its real controller writes the status of a Cluster, and pouch reads what it says of a region.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::rig::apiserver::{ApiServer, free_ports};
use crate::rig::guarded::Guarded;
use crate::support::fleet::Fleet;
use crate::support::{shared, tool};

/// How long the controller may take to notice something.
const NOTICED: Duration = Duration::from_secs(60);

/// Nodes as a kubelet on EKS registers them, in two regions of the cloud.
fn nodes(server: &ApiServer) {
    for (name, region) in [("n1", "eu-west-1"), ("n2", "eu-central-1")] {
        let labels =
            json!({"topology.kubernetes.io/region": region, "topology.kubernetes.io/zone": format!("{region}a")});
        let node = json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
            "spec": {"providerID": format!("aws:///{region}a/i-0")},
        });
        server.apply(&node.to_string());
        let info = json!({"status": {"nodeInfo": {
            "kubeProxyVersion": "v1.33.2-eks-1", "kubeletVersion": "v1.33.2-eks-1", "machineID": "", "systemUUID": "", "bootID": "",
            "kernelVersion": "", "osImage": "", "containerRuntimeVersion": "", "operatingSystem": "linux", "architecture": "amd64",
        }}});
        server.kubectl_prints(
            ["patch", "node", name, "--subresource=status", "--type=merge", "-p", &info.to_string()],
            "",
        );
    }
}

/// The real controller beside the server, which makes the Cluster `eu` of the cluster that it runs on.
pub fn controller(server: &ApiServer, program: &Path) -> Guarded {
    let [port] = free_ports();
    let process = Guarded::start("cluster-registry-controller", program, |folder| {
        let kubeconfig = folder.join("kubeconfig");
        server.kubeconfig(&kubeconfig, "admin");
        let arguments = vec![
            String::from("--provision-local-cluster=eu"),
            String::from("--namespace=cluster-registry"),
            String::from("--cluster-validator-webhook-enabled=false"),
            String::from("--core-resources-source-enabled=false"),
            String::from("--manage-local-cluster-secret=false"),
            String::from("--metrics-addr=0"),
            format!("--health-addr=127.0.0.1:{port}"),
            format!("--apiserver-endpoint-address={}", server.url().trim_start_matches("https://")),
        ];
        (arguments, vec![("KUBECONFIG", kubeconfig.into())])
    });
    process.wait_until_ready(port, "/readyz").unwrap_or_else(|why| panic!("no controller: {why}"));
    process
}

/// Waits until the Cluster says something.
#[track_caller]
fn wait(server: &ApiServer, process: &Guarded, is_so: impl Fn(&Value) -> bool) -> Value {
    let began = Instant::now();
    loop {
        let text = server.kubectl_prints(["get", "clusters.clusterregistry.k8s.cisco.com", "eu", "-o", "json"], "");
        let cluster: Value = serde_json::from_str(&text).unwrap();
        if is_so(&cluster) {
            return cluster;
        }
        assert!(began.elapsed() < NOTICED, "{cluster:#}\n{}", process.last_words());
        thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn what_the_registrys_own_controller_says_of_a_cluster_is_known_of_its_region() {
    let Some(crds) = shared("data/crds/neighbours") else { return };
    let Some(program) = tool("cluster-registry-controller") else { return };
    let Some(server) = ApiServer::start() else { return };
    if !server.install_crds() {
        return;
    }
    let crd = |kind: &str| crds.join(format!("clusterregistry.k8s.cisco.com_{kind}.yaml"));
    server.install_files(&[crd("clusters"), crd("clusterfeatures"), crd("resourcesyncrules")]);
    for namespace in ["kcm-system", "cluster-registry"] {
        server.apply(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}).to_string());
    }
    nodes(&server);
    let process = controller(&server, &program);
    let cluster = wait(&server, &process, |cluster| cluster["status"]["distribution"].is_string());
    let id = server.kubectl_prints(["get", "ns", "kube-system", "-o", "jsonpath={.metadata.uid}"], "");
    assert_eq!(cluster["spec"]["clusterID"], json!(id));

    let fleet = Fleet::new();
    fleet.configure("  eu: {", "  eu: {inventory: {registryCluster: eu}, requireConditions: [ClusterMetadataSet], ");
    fleet.configure("directory: {path: manifests}", "cluster: {kubeconfig: kubeconfig}");
    server.kubeconfig(&fleet.path("kubeconfig"), "admin");
    let explained = |flags: &[&str]| fleet.run(&[&["explain", "region", "eu"], flags].concat()).ends(0).stdout;
    let said = explained(&["--context=admin"]);
    for fact in [
        &*format!("cluster {id} (by registry Cluster eu"),
        "Kubernetes v1.33.2-eks-1 (by registry Cluster eu",
        "distribution EKS (by registry Cluster eu",
        // The controller joins them in whatever order.
        "locality eu-central-1, eu-west-1 (by registry Cluster eu",
        "ClusterMetadataSet: True (by registry Cluster eu",
    ] {
        assert!(said.contains(fact), "{fact}\n{said}");
    }
    fleet.render(&["--context=admin"]).ends(0).outcome("eu", "published");

    // The same from a file.
    let facts = fleet.run(&["facts", "--context=admin"]).ends(0).stdout;
    assert!(!facts.contains("Time") && !facts.contains("authInfo"), "{facts}");
    fleet.configure("cluster: {kubeconfig: kubeconfig}", "directory: {path: manifests}");
    fleet.write("manifests/facts.yaml", &facts);
    assert_eq!(fleet.run(&["facts"]).ends(0).stdout, facts);
    let by = |said: &str| -> Vec<String> {
        let facts = said.lines().filter(|line| line.contains("by registry Cluster eu"));
        facts.map(|line| line.split(" (by").next().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(by(&explained(&[])), by(&said));

    // A cluster that is taken out of the registry's work holds its region.
    fleet.configure("directory: {path: manifests}", "cluster: {kubeconfig: kubeconfig}");
    let disable = "cluster-registry.k8s.cisco.com/cluster-disabled=true";
    server.kubectl_prints(["annotate", "clusters.clusterregistry.k8s.cisco.com", "eu", disable], "");
    wait(&server, &process, |cluster| cluster["status"]["state"] == "Disabled");
    fleet.render(&["--context=admin"]).ends(4).says("Cluster.clusterregistry.k8s.cisco.com eu is disabled");
}
