//! A region that follows a registry: pouch pushes the bundle to a real one, and the real source-controller takes it from
//! there.

use std::fs;

use serde_json::json;

use super::{all_ready, give_key};
use crate::delivered::{Delivered, aws, azure, openstack};
use crate::rig::flux::{Flux, NAMESPACE};
use crate::rig::registry::{LOGIN, Registry};
use crate::support::block::blocks;
use crate::support::root;

/// The objects as `docs/operations` has them, for a registry on this machine, which lets everybody read or asks who one is.
fn documented(host: &str, asks: bool) -> String {
    let page = fs::read_to_string(root().join("docs/operations.md")).unwrap();
    let all = blocks(&page);
    let block = all.iter().find(|block| block.language == "yaml" && block.text.contains("kind: OCIRepository\nmeta"));
    let mut text = block.expect("the page has it").text.to_owned();
    let login = text.lines().find(|line| line.starts_with("  secretRef:")).expect("a login").to_owned();
    let url = format!("oci://{host}/fleet/eu");
    for (from, to) in [
        (&*login, if asks { "  secretRef: {name: registry-read}\n  insecure: true" } else { "  insecure: true" }),
        ("oci://registry.example.com/fleet/eu-west", &url),
        ("./flux/eu-west", "./flux/eu"),
    ] {
        assert_eq!(text.matches(from).count(), 1, "{from}");
        text = text.replace(from, to);
    }
    text
}

#[test]
fn a_region_is_what_its_sources_say_by_its_artifact() {
    let Some(registry) = Registry::start() else { return };
    let Some(mut region) = Delivered::new("flux", "") else { return };
    let host = registry.host();
    region.fleet.configure("path: bundles", &format!("path: bundles, oci: {{repository: '{host}/fleet/{{region}}'}}"));
    region.fleet.configure("kind: GitRepository", "kind: OCIRepository");
    let all = |state: u64| [aws("aws", state), azure("azure", "azure-secret", state), openstack("openstack")].concat();
    region.put(&all(1));
    region.publish();

    let Some(flux) = Flux::start(&region.server, &[]) else { return };
    give_key(&region, &Delivered::identity());
    region.server.apply(&documented(&host, false));
    all_ready(&flux.sync_artifact());
    region.is_exact();
    region.verify_live(&[]).ends(0);

    // A rotation arrives.
    region.put(&all(2));
    region.publish();
    let said = flux.sync_artifact();
    all_ready(&said);
    let (_, digest) = registry.manifest("fleet/eu", "latest");
    assert!(said[0].message.contains(&digest), "{said:#?}");
    region.is_exact();

    // Where nothing changed nothing is sent, and nothing is applied.
    let (writes, versions) = (registry.writes(), region.versions());
    assert!(writes > 0);
    for _ in 0..2 {
        region.publish();
    }
    all_ready(&flux.sync_artifact());
    assert_eq!((registry.writes(), region.versions()), (writes, versions));

    // A layer that the registry lost the end of: Flux applies nothing of it. (Other bytes of it under the same digest are
    // stored and built: the source-controller ends with the tar, before the digest is compared. `docs/threat-model`, S31.)
    region.put(&all(3));
    region.publish();
    let (manifest, _) = registry.manifest("fleet/eu", "latest");
    let file = registry.blob(manifest["layers"][0]["digest"].as_str().unwrap());
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let versions = region.versions();
    let said = flux.sync_artifact();
    assert!(said.len() == 1 && !said[0].ready, "{said:#?}");
    assert_eq!(region.versions(), versions);
    fs::write(&file, whole).unwrap();
    all_ready(&flux.sync_artifact());
    region.is_exact();

    // What is withdrawn goes.
    region.take(&openstack("openstack"));
    region.publish();
    all_ready(&flux.sync_artifact());
    region.is_exact();
    region.verify_live(&[]).ends(0);
}

/// A registry that asks who one is: pouch logs in as docker does, Flux by a Secret, and without either nothing moves.
#[test]
fn a_registry_with_a_login_is_written_and_read() {
    let Some(registry) = Registry::start_asking() else { return };
    let Some(mut region) = Delivered::new("flux", "") else { return };
    let host = registry.host();
    region.fleet.configure("path: bundles", &format!("path: bundles, oci: {{repository: '{host}/fleet/{{region}}'}}"));
    region.fleet.configure("kind: GitRepository", "kind: OCIRepository");
    region.put(&azure("azure", "azure-secret", 1));
    // Without a login the branch is published, and the registry has nothing.
    let ran = region.origin().publish(&[]).ends(1);
    assert!(region.origin().tip().is_some() && ran.stderr.contains(&host), "{}", ran.stderr);
    region.fleet.private("home/.docker/config.json", registry.docker_config().replace(&login(), "cmVhZGVyOndyb25n"));
    let ran = region.origin().publish(&[]).ends(1);
    assert!(!ran.stderr.contains("cmVhZGVyOndyb25n") && !ran.stderr.contains("wrong"), "{}", ran.stderr);
    region.fleet.private("home/.docker/config.json", registry.docker_config());
    let ran = region.publish();
    assert!(!ran.stderr.contains(&login()), "{}", ran.stderr);
    registry.manifest("fleet/eu", "latest");

    let Some(flux) = Flux::start(&region.server, &[]) else { return };
    give_key(&region, &Delivered::identity());
    let secret = |config: &str| {
        let meta = json!({"name": "registry-read", "namespace": NAMESPACE});
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": meta, "type": "kubernetes.io/dockerconfigjson",
            "stringData": {".dockerconfigjson": config}})
    };
    region.server.apply(&secret("{\"auths\": {}}").to_string());
    region.server.apply(&documented(&host, true));
    let said = flux.sync_artifact();
    assert!(said.len() == 1 && !said[0].ready && said[0].message.contains("UNAUTHORIZED"), "{said:#?}");
    assert_eq!(region.items_there(), 0);
    region.server.apply(&secret(&registry.docker_config()).to_string());
    all_ready(&flux.sync_artifact());
    region.is_exact();
    region.put(&azure("azure", "azure-secret", 2));
    region.publish();
    all_ready(&flux.sync_artifact());
    region.is_exact();
    region.verify_live(&[]).ends(0);
}

/// The login as docker writes it.
fn login() -> String {
    base64::Engine::encode(&base64::engine::general_purpose::STANDARD, format!("{}:{}", LOGIN.0, LOGIN.1))
}
