//! Argo CD with KSOPS, and with an ApplicationSet in place of an Application.
//!
//! A real `ksops` of `PATH` decrypts. Without one it is a stand-in that speaks KSOPS's protocol with kustomize and has
//! the real sops decrypt: KSOPS builds from a checkout only, so CI has none.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{APPLICATION, no_value_in_sight, sync, synced};
use crate::delivered::{Delivered, aws, azure, odd};
use crate::rig::argocd::{ArgoCd, Builds};
use crate::support::proof::KSOPS;
use crate::support::{PyYaml, find, root, skipped_anywhere, tool};

/// What the repo-server needs; None, after saying so, where a program is absent.
fn builds(region: &Delivered) -> Option<Builds> {
    let (sops, kustomize, python) = (tool("sops")?, tool("kustomize")?, PyYaml::find()?);
    region.fleet.private("eu.agekey", Delivered::identity());
    let folder = ksops(&python, &region.fleet.path("programs"));
    let programs = vec![folder, kustomize.parent().map(Path::to_owned).expect("a folder")];
    let key = OsString::from(region.fleet.path("eu.agekey"));
    Some(Builds { plugin: None, programs, environment: vec![("SOPS", sops.into()), ("SOPS_AGE_KEY_FILE", key)] })
}

/// The folder of a real ksops, or of a stand-in.
pub fn ksops(python: &PyYaml, programs: &Path) -> PathBuf {
    if let Some(real) = find("ksops", &std::env::var_os("PATH").unwrap_or_default()) {
        return real.parent().expect("a folder").to_owned();
    }
    skipped_anywhere(
        "the real ksops, of which there is none in PATH: a stand-in speaks its protocol, and sops decrypts",
    );
    std::fs::create_dir(programs).unwrap();
    python.program(&programs.join("ksops"), KSOPS);
    programs.to_owned()
}

#[test]
fn an_application_set_brings_what_ksops_decrypts() {
    let Some(mut region) = Delivered::new("{argocd: {mode: ksops, kind: ApplicationSet}}", "") else { return };
    let Some(builds) = builds(&region) else { return };
    region.put(&[aws("aws", 1), azure("azure", "azure-secret", 1), odd("odd", 1)].concat());
    region.publish();
    let Some(mut argo) = ArgoCd::start(&region.server, Delivered::collections(), &builds) else { return };
    argo.serve_sets(&region.server);
    region.server.apply(&region.origin().git(&["show", "main:bundles/argocd/acme-applicationset.yaml"]));
    argo.wait_for(APPLICATION);
    synced(&region, &argo);
    region.is_exact();

    region.put(&[aws("aws", 2), azure("azure", "azure-secret", 2)].concat());
    region.take(&odd("odd", 1));
    region.publish();
    synced(&region, &argo);
    region.is_exact();
    region.verify_live(&[]).ends(0);

    another_type(&mut region, &argo);
    what_is_not_as_sealed(&mut region, &argo);
    a_key_of_another_region(&mut region, &argo);

    region.server.kubectl_prints(["-n", "argocd", "delete", "applicationset", "--all", "--timeout=60s"], "");
    region.is_exact();
    no_value_in_sight(&argo);
}

/// No Secret's type changes, whatever holds it; all else goes on.
fn another_type(region: &mut Delivered, argo: &ArgoCd) {
    region.put(&odd("other", 1));
    region.publish();
    synced(region, argo);
    let mut other = odd("other", 1)[1].clone();
    other["type"] = serde_json::json!("example.com/other");
    region.put(&[vec![other], aws("aws", 3)].concat());
    region.origin().publish(&[]).ends(3).says("error[immutable-field]: the type of Secret team-a/other changes");
    synced(region, argo);
    assert_eq!(region.differences(), ["Secret team-a/other type differs"]);
    region.verify_live(&[]).ends(0);
    region.put(&odd("other", 1)[1..]);
    region.publish();
    synced(region, argo);
    region.is_exact();
}

/// sops checks the MAC, and opens nothing that is not sealed: the Application is not built, and nothing of it is applied.
fn what_is_not_as_sealed(region: &mut Delivered, argo: &ArgoCd) {
    let path = "bundles/regions/eu/core/secrets/kcm-system/aws-secret.sops.yaml";
    let text = region.origin().git(&["show", &format!("main:{path}")]);
    let cut: Vec<&str> = text.lines().filter(|line| !line.starts_with("  AccessKeyID:")).collect();
    let plain = "apiVersion: v1\nkind: Secret\nmetadata: {name: aws-secret, namespace: kcm-system}\ndata: {a: Yg==}";
    for edited in [&*cut.join("\n"), plain] {
        region.fleet.write("edited", format!("{edited}\n"));
        region.origin().commit_beside(&format!("cp '{}' {path}", region.fleet.path("edited").display()));
        not_built(region, argo);
        region.is_exact();
        region.verify().ends(8);
        region.verify_live(&[]).ends(8).says("error[untrusted-bundle]");
        region.origin().publish(&[]).says("[not-as-published]");
        synced(region, argo);
        region.is_exact();
    }
}

/// What does not open changes nothing, and withdraws nothing.
fn a_key_of_another_region(region: &mut Delivered, argo: &ArgoCd) {
    let other = std::fs::read_to_string(root().join("testdata/quickstart/keys/us-east.txt")).unwrap();
    region.fleet.private("eu.agekey", other);
    region.put(&azure("azure", "azure-secret", 3));
    region.take(&odd("other", 1));
    region.publish();
    not_built(region, argo);
    let stuck = region.differences();
    assert!(stuck.contains(&String::from("Secret team-a/other is too much")) && stuck.len() == 3, "{stuck:?}");
    let ran = region.verify_live(&[]).ends(8);
    assert!(
        ran.stderr.contains("error[differs-on-region]") && ran.stderr.contains("error[left-behind]"),
        "{}",
        ran.stderr
    );

    region.fleet.private("eu.agekey", Delivered::identity());
    // What failed is kept in the cache until there is something new.
    region.put(&azure("azure", "azure-secret", 4));
    region.publish();
    synced(region, argo);
    region.is_exact();
    region.verify_live(&[]).ends(0);
}

#[track_caller]
fn not_built(region: &Delivered, argo: &ArgoCd) {
    let said = sync(region, argo);
    assert!(said.conditions.iter().any(|condition| condition.starts_with("ComparisonError")), "{said:#?}");
}
