//! A region whose Application follows a registry: the real repo-server takes the artifact, and the plugin gets it.

use serde_json::json;

use super::plugin::builds;
use super::{APPLICATION, follow};
use crate::delivered::{Delivered, aws, azure};
use crate::rig::argocd::{ArgoCd, NAMESPACE};
use crate::rig::registry::Registry;

#[test]
fn a_region_is_what_its_sources_say_by_its_artifact() {
    let Some(registry) = Registry::start() else { return };
    let Some(mut region) = Delivered::new("argocd", "") else { return };
    let host = registry.host();
    region.fleet.configure("path: bundles", &format!("path: bundles, oci: {{repository: '{host}/fleet/{{region}}'}}"));
    region.fleet.configure(&region.url(), &format!("oci://{host}/fleet/{{region}}"));
    // The cluster by its URL, in place of its name.
    let server = format!("argocd: {{destination: {{server: '{}'}}, repoURL:", region.server.url());
    region.fleet.configure("argocd: {repoURL:", &server);
    let all = |state: u64| [aws("aws", state), azure("azure", "azure-secret", state)].concat();
    region.put(&all(1));
    region.publish();

    let collections = Delivered::collections();
    let Some(argo) = ArgoCd::start(&region.server, collections, &builds(&region)) else { return };
    // Argo CD asks a registry by TLS unless it is told.
    let repository = json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "fleet", "namespace": NAMESPACE,
            "labels": {"argocd.argoproj.io/secret-type": "repository"}},
        "stringData": {"type": "oci", "url": format!("oci://{host}/fleet/eu"), "insecureOCIForceHttp": "true"}});
    region.server.apply(&repository.to_string());
    follow(&region);
    for state in [1, 2] {
        region.put(&all(state));
        region.publish();
        let (_, digest) = registry.manifest("fleet/eu", "latest");
        let said = argo.sync(APPLICATION, &digest);
        assert!(said.sync == "Synced" && said.conditions.is_empty(), "{said:#?}\n{}", argo.last_words());
        region.is_exact();
    }
    region.verify_live(&[]).ends(0);
}
