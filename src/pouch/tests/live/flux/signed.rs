//! Signed commits: with `spec.verify` Flux applies what pouch signed, and nothing that another writer of the branch
//! puts there.

use std::process::Command;

use serde_json::json;

use super::{all_ready, set_up};
use crate::delivered::{Delivered, azure};
use crate::rig::flux::NAMESPACE;
use crate::support::tool_on_path;

#[test]
fn only_signed_commits_are_applied() {
    let Some(keygen) = tool_on_path("ssh-keygen") else { return };
    let Some(mut region) = Delivered::new("flux", ", sign: ssh, key: signer") else { return };
    let key = region.fleet.path("signer");
    let mut command = Command::new(keygen);
    command.args(["-q", "-t", "ed25519", "-N", "", "-C", "pouch", "-f"]).arg(&key);
    assert!(command.status().unwrap().success());
    let signers = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "signers", "namespace": NAMESPACE},
        "stringData": {"pouch.sshpub": region.fleet.read("signer.pub")}});
    let verify = json!({"verify": {"mode": "HEAD", "secretRef": {"name": "signers"}}});
    let Some(flux) = set_up(&region, &[], &verify) else { return };
    region.server.apply(&signers.to_string());

    region.put(&azure("azure", "azure-secret", 1));
    region.publish();
    all_ready(&flux.sync());
    region.is_exact();

    let signed = region.origin().tip().expect("a commit");

    // Another writer, whose commit nobody signed.
    let file = "bundles/regions/eu/identities/azureclusteridentity.infrastructure.cluster.x-k8s.io/team-a/azure.yaml";
    region.origin().commit_beside(&format!("sed -i 's/client-1/client-evil/' {file}"));
    let said = flux.sync();
    assert!(said.len() == 1 && !said[0].ready, "{said:#?}");
    assert!(said[0].message.contains("unsupported signature type: empty"), "{said:#?}");
    assert!(flux.reconcile().iter().all(|said| said.ready && said.message.ends_with(&signed)));
    region.is_exact();
    // The branch is not what pouch published, and so no measure; the region is what was published last.
    let ran = region.verify_live(&[]).ends(8);
    assert!(ran.stderr.contains("error[untrusted-bundle]") && ran.stderr.contains("azure.yaml"), "{}", ran.stderr);
    region.origin().run_beside(&format!("git checkout -q {signed}"));
    region.verify_live(&["work/bundles"]).ends(0);

    // pouch's next commit mends the branch, and is signed.
    region.put(&azure("azure", "azure-secret", 2));
    let ran = region.publish();
    assert!(ran.stderr.contains("[not-as-published]"), "{}", ran.stderr);
    all_ready(&flux.sync());
    region.is_exact();
    region.verify_live(&[]).ends(0);
}
