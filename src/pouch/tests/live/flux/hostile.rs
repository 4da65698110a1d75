//! Who writes to the branch beside pouch, or gives Flux a wrong key: what Flux does then, what pouch says of it, and
//! that the next publish mends it.

use serde_json::Value;

use super::{all_ready, give_key, set_up};
use crate::delivered::{Delivered, azure, oci, odd, shows_nothing};
use crate::rig::flux::{Flux, Said};
use crate::support::root;

const AZURE: &str = "bundles/regions/eu/core/secrets/team-a/azure-secret.sops.yaml";
const OCI: &str = "bundles/regions/eu/core/secrets/team-a/oci-secret.sops.yaml";

#[test]
fn who_writes_to_the_branch_is_found_and_mended() {
    let Some(mut region) = Delivered::new("flux", "") else { return };
    let Some(flux) = set_up(&region, &[], &Value::Null) else { return };
    region.put(&[azure("azure", "azure-secret", 1), oci("oci", 1), odd("odd", 1)].concat());
    region.publish();
    all_ready(&flux.sync());
    region.is_exact();

    ciphertext_that_was_changed(&region, &flux);
    what_flux_does_not_notice(&region, &flux);
    a_key_of_another_region(&mut region, &flux);
    shows_nothing("Flux's log", &flux.log());
}

/// Replaces a file of the branch, as another writer.
fn replace(region: &Delivered, path: &str, text: &str) {
    region.fleet.write("edited", text);
    region.origin().commit_beside(&format!("cp '{}' {path}", region.fleet.path("edited").display()));
}

fn published(region: &Delivered, path: &str) -> String {
    region.origin().git(&["show", &format!("main:{path}")])
}

/// Fails unless pouch calls the branch damaged and mends it, and the region is right again afterwards.
#[track_caller]
fn mended(region: &Delivered, flux: &Flux, path: &str) {
    let ran = region.verify().ends(8);
    assert!(ran.stderr.contains(path), "{}", ran.stderr);
    // What nobody vouches for is no measure of the region: it is told, and the object compared with nothing.
    let ran = region.verify_live(&[]).ends(8);
    let untrusted = format!("error[untrusted-bundle]: {} is missing or does not match", &path["bundles/".len()..]);
    assert!(ran.stderr.contains(&untrusted), "{}", ran.stderr);
    assert!(!ran.stdout.contains("  as published"), "{}", ran.stdout);
    let ran = region.origin().publish(&[]);
    assert!(ran.stderr.contains("[not-as-published]"), "{}", ran.stderr);
    region.verify().ends(0);
    all_ready(&flux.sync());
    region.is_exact();
    region.verify_live(&[]).ends(0);
}

/// Fails unless the core says so why it failed. (Whether others noticed depends on who looked first.)
#[track_caller]
fn core_fails(said: &[Said], why: &str) {
    let core = said.iter().find(|said| said.name == "eu-core").expect("there is a core");
    assert!(!core.ready && core.message.contains(why), "{said:#?}");
}

/// AES-GCM notices a single character; nothing of the region changes then.
fn ciphertext_that_was_changed(region: &Delivered, flux: &Flux) {
    let text = published(region, AZURE);
    let at = text.find("clientSecret: ENC[AES256_GCM,data:").expect("it is sealed") + 40;
    let other = if text.as_bytes()[at] == b'A' { "B" } else { "A" };
    replace(region, AZURE, &format!("{}{other}{}\n", &text[..at], &text[at + 1..]));
    core_fails(&flux.sync(), "team-a/azure-secret' Secret data: error decrypting sops tree");
    region.is_exact();
    mended(region, flux, AZURE);
}

/// Flux checks no MAC: without signed commits (`super::signed`) whoever may write to the branch gets this applied.
fn what_flux_does_not_notice(region: &Delivered, flux: &Flux) {
    // An entry that goes.
    let text = published(region, OCI);
    let kept: Vec<&str> = text.lines().filter(|line| !line.starts_with("  passphrase:")).collect();
    replace(region, OCI, &(kept.join("\n") + "\n"));
    all_ready(&flux.sync());
    assert_eq!(region.differences(), ["Secret team-a/oci-secret data passphrase differs"]);
    mended(region, flux, OCI);

    // The entries of another Secret.
    let (azure, oci) = (published(region, AZURE), published(region, OCI));
    let part = |text: &str, start: &str| text.find(start).unwrap_or_else(|| panic!("no {start:?}"));
    let sops = &oci[part(&oci, "\nsops:")..];
    let data = &oci[part(&oci, "\ndata:")..part(&oci, "\nkind:")];
    let head = &azure[part(&azure, "apiVersion:")..part(&azure, "\ndata:")];
    let middle = &azure[part(&azure, "\nkind:")..part(&azure, "\nsops:")];
    replace(region, AZURE, &format!("{head}{data}{middle}{sops}\n"));
    all_ready(&flux.sync());
    let differences = region.differences();
    assert!(
        differences.contains(&String::from("Secret team-a/azure-secret data fingerprint differs")),
        "{differences:?}"
    );
    mended(region, flux, AZURE);

    // A Secret that is not sealed at all.
    let text = published(region, AZURE);
    let (start, end) = (part(&text, "apiVersion:"), part(&text, "\nsops:"));
    let plain =
        text[start..end].lines().map(|line| if line.contains("ENC[") { "  clientSecret: cGxhaW4=" } else { line });
    replace(region, AZURE, &(plain.collect::<Vec<_>>().join("\n") + "\n"));
    all_ready(&flux.sync());
    assert_eq!(region.differences(), ["Secret team-a/azure-secret data clientSecret differs"]);
    let ran = region.verify().ends(8);
    assert!(
        ran.stderr.contains("error[plaintext-secret]: regions/eu/core/secrets/team-a/azure-secret"),
        "{}",
        ran.stderr
    );
    mended(region, flux, AZURE);
}

/// What does not open changes nothing, and withdraws nothing.
fn a_key_of_another_region(region: &mut Delivered, flux: &Flux) {
    give_key(region, &std::fs::read_to_string(root().join("testdata/quickstart/keys/us-east.txt")).unwrap());
    core_fails(&flux.sync(), "identity did not match any of the recipients");
    region.is_exact();
    // Flux is stuck, and the region is right.
    region.verify_live(&[]).ends(0);
    region.take(&odd("odd", 1));
    region.put(&oci("oci", 2));
    region.publish();
    core_fails(&flux.sync(), "identity did not match any of the recipients");
    // The identity, which is not sealed, is as it was: it waits for the core.
    let stuck = region.differences();
    assert!(stuck.contains(&String::from("Secret team-a/odd is too much")), "{stuck:?}");
    assert!(stuck.iter().any(|line| line.starts_with("Secret team-a/oci-secret data ")), "{stuck:?}");
    let ran = region.verify_live(&[]).ends(8);
    for told in ["error[left-behind]", "team-a/odd", "error[differs-on-region]", "team-a/oci-secret"] {
        assert!(ran.stderr.contains(told), "no {told} in {}", ran.stderr);
    }
    assert!(ran.stdout.starts_with("eu  not as published  "), "{}", ran.stdout);

    give_key(region, &Delivered::identity());
    all_ready(&flux.sync());
    region.is_exact();
    region.verify_live(&[]).ends(0);
}
