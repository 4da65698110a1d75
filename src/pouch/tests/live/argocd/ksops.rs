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
use crate::support::{PyYaml, find, skipped_anywhere, tool};

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

    // sops checks the MAC.
    let path = "bundles/regions/eu/core/secrets/kcm-system/aws-secret.sops.yaml";
    region.origin().commit_beside(&format!("sed -i '/^  AccessKeyID:/d' {path}"));
    let said = sync(&region, &argo);
    assert!(said.conditions.iter().any(|condition| condition.starts_with("ComparisonError")), "{said:#?}");
    region.is_exact();
    region.origin().publish(&[]).says("[tampered-file]");
    synced(&region, &argo);

    region.server.kubectl_prints(["-n", "argocd", "delete", "applicationset", "--all", "--timeout=60s"], "");
    region.is_exact();
    no_value_in_sight(&argo);
}
