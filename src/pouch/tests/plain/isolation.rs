//! Regions are apart: ten regions, ten keys, and only the diagonal opens, whoever tries.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::support::fleet::{self, Fleet};
use crate::support::proof::{Plain, Programs, Region};
use crate::support::{Age, pouch, tree};

const REGIONS: [&str; 10] = ["r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9"];

/// How many entries with one and the same value a Secret has.
const EQUAL: usize = 20;

/// Renders one Secret of equal values for every region; gives the fleet and what the Secret says. `keygen` writes
/// each region's identity file.
fn rendered(keygen: impl Fn(&Path) -> String) -> (Fleet, Plain) {
    let fleet = Fleet::empty();
    let names: Vec<String> = (0..EQUAL).map(|n| format!("e{n:02}")).collect();
    let entries: Vec<String> = names.iter().map(|name| format!("{name}: the same in all of them")).collect();
    fleet.write("manifests/secret.yaml", fleet::secret("team-a", "shared", &entries.join(", ")));
    let mut regions = String::new();
    for region in REGIONS {
        let credential = fleet::credential(region, "team-a", region, ["v1", "Secret", "shared"]);
        fleet.write(&format!("manifests/{region}.yaml"), credential);
        let recipient = keygen(&fleet.path(region).with_extension("txt"));
        regions.push_str(&format!(
            "  {region}: {{recipients: [{recipient}], namespaces: {{allowed: ['*']}}, k0rdentPushDisabled: true}}\n"
        ));
    }
    fleet.configured(&format!(
        "apiVersion: pouch/v1alpha1\nkind: Fleet\nmetadata: {{name: ten}}\n\
         sources: [{{name: all, directory: {{path: manifests}}}}]\nregions:\n{regions}reuseKey: {{file: reuse.key}}\n"
    ));
    pouch::render(&fleet.path("pouch.yaml"), &fleet.path("bundles"), &[]).exits(0);
    let value = pouch_core::secret::SecretBytes::new(b"the same in all of them".to_vec()).to_base64().to_string();
    let entries: BTreeMap<String, String> = names.into_iter().map(|name| (name, value.clone())).collect();
    (fleet, Plain::from([("team-a/shared".to_owned(), entries)]))
}

/// The proof opens every file by sops, by age with our own AES, and by our own code alone; with its own key each
/// must, and with any other none may.
#[test]
fn s04_ten_keys_open_ten_regions_on_the_diagonal_alone() {
    let (Some(programs), Some(age)) = (Programs::find(), Age::find()) else { return };
    let (fleet, plain) = rendered(|path| age.keygen(path));
    let identity = |region: &str| fleet.path(region).with_extension("txt");
    let region = |directory: &'static str, identity| Region { directory, identity, plain: plain.clone() };
    let bundles = fleet.path("bundles");
    for name in REGIONS {
        let others: Vec<_> = REGIONS.iter().filter(|other| **other != name).map(|other| identity(other)).collect();
        let others: Vec<&Path> = others.iter().map(|path| &**path).collect();
        programs.prove_sealed(&bundles, &region(name, identity(name)), &others);
    }
    // The control: a file that stands in another region's place, and a key that is said to be another's.
    let fails = |check: &dyn Fn()| std::panic::catch_unwind(std::panic::AssertUnwindSafe(check)).is_err();
    let own = identity("r1");
    assert!(fails(&|| programs.prove_sealed(&bundles, &region("r1", identity("r1")), &[own.as_path()])));
    let file = "core/secrets/team-a/shared.sops.yaml";
    fs::copy(bundles.join("regions/r0").join(file), bundles.join("regions/r1").join(file)).unwrap();
    assert!(fails(&|| programs.prove_sealed(&bundles, &region("r1", identity("r1")), &[])));
}

/// Every piece of ciphertext, IV, tag and stanza in a tree, and how many there are.
fn pieces(bundles: &Path) -> (Vec<String>, Vec<String>) {
    let (mut ivs, mut all) = (Vec::new(), Vec::new());
    for (path, bytes) in tree::read(bundles) {
        if !path.ends_with(".sops.yaml") {
            continue;
        }
        let text = String::from_utf8(bytes).unwrap();
        for leaf in text.split("ENC[AES256_GCM,").skip(1) {
            let leaf = leaf.split(']').next().unwrap();
            for part in leaf.split(',').filter(|part| !part.starts_with("type:")) {
                let (what, value) = part.split_once(':').unwrap();
                all.push(value.to_owned());
                ivs.extend((what == "iv").then(|| value.to_owned()));
            }
        }
        let stanza = text.split("-----BEGIN AGE ENCRYPTED FILE-----").nth(1).unwrap().split("-----END").next().unwrap();
        // The first line says what it is, in every file the same; the key's share begins in it.
        all.extend(stanza.lines().skip(2).map(|line| line.trim().to_owned()).filter(|line| line.len() > 20));
        all.extend(
            text.lines()
                .filter(|line| line.starts_with("# pouch/v1"))
                .map(|line| line.rsplit(' ').next().unwrap().to_owned()),
        );
    }
    (ivs, all)
}

#[test]
fn s20_equal_values_leave_no_equal_string_in_any_two_files() {
    let (fleet, _) = rendered(|path| {
        let (identity, recipient) = ::pouch::age::generate_identity().unwrap();
        fs::write(path, &*identity).unwrap();
        recipient.to_string()
    });
    let bundles = fleet.path("bundles");
    let (ivs, all) = pieces(&bundles);
    // One for each entry, and one for the MAC.
    assert_eq!(ivs.len(), REGIONS.len() * (EQUAL + 1));
    assert!(all.len() > REGIONS.len() * EQUAL * 4, "{}", all.len());
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "a string stands in two places");
    // Whatever makes a file be sealed anew leaves nothing of the old one: here other recipients.
    let config = fleet.path("pouch.yaml");
    let (_, recipient) = ::pouch::age::generate_identity().unwrap();
    let text = fs::read_to_string(&config)
        .unwrap()
        .replace("regions:\n", &format!("escrowRecipients: [{recipient}]\nregions:\n"));
    fs::write(&config, text).unwrap();
    let held = pouch::render(&config, &bundles, &[]).exits(4);
    let mut flags = Vec::new();
    for region in REGIONS {
        let start = format!("--accept-recipients {region}=");
        let digest = held.stderr.split(&start).nth(1).unwrap().get(..16).unwrap();
        flags.extend(["--accept-recipients".to_owned(), format!("{region}={digest}")]);
    }
    pouch::render(&config, &bundles, &flags.iter().map(String::as_str).collect::<Vec<_>>()).exits(0);
    let (_, anew) = pieces(&bundles);
    let before: BTreeSet<&String> = all.iter().collect();
    let kept: Vec<&String> = anew.iter().filter(|piece| before.contains(piece)).collect();
    assert!(kept.is_empty(), "{kept:?}");
    // The control: a copied file is seen.
    let file = "core/secrets/team-a/shared.sops.yaml";
    fs::copy(bundles.join("regions/r0").join(file), bundles.join("regions/r1").join(file)).unwrap();
    let (_, copied) = pieces(&bundles);
    assert_ne!(copied.iter().collect::<BTreeSet<_>>().len(), copied.len());
}
