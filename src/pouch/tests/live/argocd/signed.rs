//! Signed commits under Argo CD, which itself verifies those of GnuPG only: the plugin has pouch look who signed what it is
//! given.

use std::process::Command;

use super::plugin::builds;
use super::{follow, sync, synced};
use crate::delivered::{Delivered, azure};
use crate::rig::argocd::ArgoCd;
use crate::support::tool_on_path;

#[test]
fn only_signed_commits_are_applied() {
    let Some(keygen) = tool_on_path("ssh-keygen") else { return };
    let Some(mut region) = Delivered::new("argocd", ", sign: ssh, key: signer") else { return };
    let key = region.fleet.path("signer");
    let mut command = Command::new(keygen);
    command.args(["-q", "-t", "ed25519", "-N", "", "-C", "pouch", "-f"]).arg(&key);
    assert!(command.status().unwrap().success());
    region.fleet.write("signers", format!("pouch@localhost namespaces=\"git\" {}", region.fleet.read("signer.pub")));

    // As `docs/operations` has it.
    let mut builds = builds(&region);
    let plugin = &mut builds.plugin.as_mut().expect("there is one").0;
    let signers = region.fleet.path("signers");
    let command = format!("command: [pouch, unpack, ., --allowed-signers, {}]", signers.display());
    assert!(plugin.contains("command: [pouch, unpack, .]"), "{plugin}");
    *plugin = plugin.replace("command: [pouch, unpack, .]", &command);

    region.put(&azure("azure", "azure-secret", 1));
    region.publish();
    let Some(argo) = ArgoCd::start(&region.server, Delivered::collections(), &builds) else { return };
    follow(&region);
    synced(&region, &argo);
    region.is_exact();

    // Another writer, who has all hashes fit: nothing in the bundle tells, where there is no reuse key.
    let at = "bundles/regions/eu/identities/azureclusteridentity.infrastructure.cluster.x-k8s.io/team-a/azure.yaml";
    region.origin().commit_beside(&format!(
        "sum() {{ sha256sum {at} | cut -d' ' -f1; }}; old=$(sum); sed -i 's/client-1/client-evil/' {at}; new=$(sum); \
         case $new in [0-9]*) new='\"'$new'\"';; esac; grep -q \"$old\" bundles/regions/eu/bundle.yaml; \
         sed -i \"s/sha256: \\\"*$old\\\"*/sha256: $new/\" bundles/regions/eu/bundle.yaml"
    ));
    let repository = region.origin().path();
    let words = ["unpack", repository.to_str().unwrap(), "--rev=main", "--region=eu", "--identity=eu.agekey"];
    let unsigned = region.fleet.command(&words).output().unwrap();
    let (printed, said) = [&unsigned.stdout, &unsigned.stderr].map(|bytes| String::from_utf8_lossy(bytes)).into();
    assert!(
        unsigned.status.success() && printed.contains("client-evil") && said.contains("--allowed-signers"),
        "{said}"
    );
    let said = sync(&region, &argo);
    assert!(said.conditions.iter().any(|condition| condition.contains("is not signed")), "{said:#?}");
    region.is_exact();
    region.verify_live(&[]).ends(8);

    // pouch's next commit mends the branch, and is signed.
    region.put(&azure("azure", "azure-secret", 2));
    let ran = region.publish();
    assert!(ran.stderr.contains("[not-as-published]"), "{}", ran.stderr);
    synced(&region, &argo);
    region.is_exact();
}
