//! What did not change keeps its bytes: between runs, orders, machines, recipients and reuse keys.
//!
//! sops says whether what was kept or re-sealed still opens.

use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use pouch_core::reuse::ReuseKey;

use crate::support::fleet::{self, US};
use crate::support::pouch::{Answer, render, render_in};
use crate::support::proof::{Programs, Region, identity};
use crate::support::tree::{self, Tree};

/// The quickstart and its bundles, copied to where they may change.
struct Fleet(fleet::Fleet);

impl Deref for Fleet {
    type Target = fleet::Fleet;

    fn deref(&self) -> &fleet::Fleet {
        &self.0
    }
}

impl Fleet {
    fn new() -> Self {
        Self(fleet::Fleet::quickstart())
    }

    fn bundles(&self) -> PathBuf {
        self.path("bundles")
    }

    fn tree(&self) -> Tree {
        tree::read(&self.bundles())
    }

    #[track_caller]
    fn render(&self, flags: &[&str]) -> Answer {
        render(&self.path("quickstart/pouch.yaml"), &self.bundles(), flags)
    }

    /// Replaces text in a file, where it stands once.
    #[track_caller]
    fn edit(&self, name: &str, from: &str, to: &str) {
        assert_eq!(self.read(name).matches(from).count(), 1, "{from:?} in {name}");
        self.0.edit(name, from, to);
    }

    /// Puts a recipient with a new identity beside a region's own; gives the identity's file.
    fn add_recipient(&self, region: &str, own: &str) -> PathBuf {
        let (secret, recipient) = pouch::age::generate_identity().unwrap();
        let file = self.path(&format!("quickstart/keys/{region}-second.txt"));
        fs::write(&file, format!("{}\n", &*secret)).unwrap();
        self.edit("quickstart/pouch.yaml", &format!("[{own}]"), &format!("[{own}, {recipient}]"));
        file
    }

    fn sealed(&self, region: &str) -> Vec<String> {
        let prefix = format!("regions/{region}/");
        self.tree().into_keys().filter(|path| path.starts_with(&prefix) && path.ends_with(".sops.yaml")).collect()
    }
}

#[test]
fn one_value_changes_one_file_and_the_manifest() {
    let fleet = Fleet::new();
    let before = fleet.tree();
    fleet.edit("quickstart/manifests/azure.yaml", "not-a-real-client-secret", "another-unreal-client-secret");
    fleet.render(&[]).exits(0);
    let after = fleet.tree();
    let sealed = "regions/eu-west/core/secrets/team-a/azure-main-secret.sops.yaml";
    assert_eq!(tree::changes(&before, &after), ["~regions/eu-west/bundle.yaml".to_owned(), format!("~{sealed}")]);
    let lines = |tree: &Tree| {
        let text = String::from_utf8(tree["regions/eu-west/bundle.yaml"].clone()).unwrap();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let (old, new) = (lines(&before), lines(&after));
    let changed: Vec<&String> = new.iter().filter(|line| !old.contains(line)).collect();
    assert_eq!((old.len(), changed.len()), (new.len(), 2), "the tag and one hash: {changed:#?}");
    assert!(changed[0].starts_with("# pouch/v1 ") && changed[1].trim_start().starts_with("sha256: "));
}

#[test]
fn a_second_credential_for_the_same_identity_changes_no_object() {
    let fleet = Fleet::new();
    let before = fleet.tree();
    let text = fs::read_to_string(fleet.path("quickstart/manifests/vsphere.yaml")).unwrap();
    let credential = text.split("---\n").find(|document| document.contains("kind: Credential")).unwrap();
    let second = credential.replacen("name: vsphere-dc1", "name: vsphere-second", 1);
    assert_ne!(second, credential);
    fs::write(fleet.path("quickstart/manifests/second.yaml"), second).unwrap();
    fleet.render(&[]).exits(0);
    assert_eq!(tree::changes(&before, &fleet.tree()), ["~regions/us-east/bundle.yaml"]);
}

#[test]
fn an_added_recipient_is_held_until_accepted_and_a_removed_one_passes() {
    let fleet = Fleet::new();
    let before = fleet.tree();
    let second = fleet.add_recipient("us-east", US);
    let first = fleet.path("quickstart/keys/us-east.txt");

    let answer = fleet.render(&[]).exits(4);
    assert_eq!(answer.outcomes(), [("eu-west", "unchanged"), ("us-east", "held")]);
    assert_eq!(tree::changes(&before, &fleet.tree()), [""; 0]);
    let help = answer.stderr.split_whitespace().find_map(|word| word.trim_matches('`').strip_prefix("us-east="));
    let digest: String = help.expect("the flag that accepts it").chars().take(16).collect();

    let flag = format!("us-east={digest}");
    fleet.render(&["--accept-recipients", "us-east=0123456789abcdef"]).exits(4);
    fleet.render(&["--accept-recipients", &flag]).exits(0);
    let both = fleet.tree();
    let sealed = fleet.sealed("us-east");
    let mut expected: Vec<String> = sealed.iter().map(|path| format!("~{path}")).collect();
    expected.insert(0, "~regions/us-east/bundle.yaml".into());
    assert_eq!(tree::changes(&before, &both), expected);

    fleet.edit("quickstart/pouch.yaml", &format!("[{US}, "), "[");
    fleet.render(&[]).exits(0);
    assert_eq!(tree::changes(&both, &fleet.tree()), expected, "{} is no longer a recipient", first.display());

    let Some(programs) = Programs::find() else { return };
    let old = fleet.path("old");
    tree::write(&both, &old);
    for path in sealed {
        assert!(programs.opens(&old.join(&path), &first) && programs.opens(&old.join(&path), &second), "{path}");
        let now = fleet.bundles().join(&path);
        assert!(!programs.opens(&now, &first) && programs.opens(&now, &second), "{path}");
    }
}

/// The first lines prove that nothing changed; the rest is what sops wrote.
fn body(file: &[u8]) -> (Vec<String>, String) {
    let text = String::from_utf8(file.to_vec()).unwrap();
    let (head, body): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with("# pouch/v1 "));
    (head.into_iter().map(str::to_owned).collect(), body.join("\n"))
}

#[test]
fn a_rotated_reuse_key_changes_headers_alone() {
    let fleet = Fleet::new();
    let before = fleet.tree();
    fs::rename(fleet.path("quickstart/reuse.key"), fleet.path("quickstart/old.key")).unwrap();
    fs::write(fleet.path("quickstart/reuse.key"), &*ReuseKey::to_text(&[7; 32])).unwrap();
    fleet.edit("quickstart/pouch.yaml", "{file: reuse.key}", "{file: reuse.key, previous: [{file: old.key}]}");
    fleet.render(&[]).exits(0);
    let after = fleet.tree();
    let touched: Vec<&String> =
        before.keys().filter(|path| path.ends_with(".sops.yaml") || path.ends_with("/bundle.yaml")).collect();
    assert_eq!(tree::changes(&before, &after), touched.iter().map(|path| format!("~{path}")).collect::<Vec<_>>());
    for path in touched.into_iter().filter(|path| path.ends_with(".sops.yaml")) {
        let ((old_head, old_body), (head, new_body)) = (body(&before[path]), body(&after[path]));
        assert_eq!(old_body, new_body, "{path}");
        assert!(old_head.len() == head.len() && old_head.iter().all(|line| !head.contains(line)), "{path}");
    }

    // The old key is needed no longer.
    fleet.edit("quickstart/pouch.yaml", ", previous: [{file: old.key}]", "");
    let answer = fleet.render(&[]).exits(0);
    assert_eq!(answer.outcomes(), [("eu-west", "unchanged"), ("us-east", "unchanged")]);
    assert_eq!(tree::changes(&after, &fleet.tree()), [""; 0]);

    let Some(programs) = Programs::find() else { return };
    let all = programs.secrets_of(&fleet.path("quickstart/manifests"));
    let region = |directory: &'static str| {
        let names = fleet.sealed(directory);
        let prefix = format!("regions/{directory}/core/secrets/");
        let name = |path: &String| path.trim_start_matches(&prefix).trim_end_matches(".sops.yaml").to_owned();
        let plain = names.iter().map(|path| (name(path), all[&name(path)].clone())).collect();
        Region { directory, identity: fleet.path(&format!("quickstart/keys/{directory}.txt")), plain }
    };
    programs.prove(&fleet.bundles(), &[region("eu-west"), region("us-east")]);
}

/// A shuffle without a library's: the same for the same seed, on every machine.
fn shuffled<T>(mut items: Vec<T>, seed: u64) -> Vec<T> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for last in (1..items.len()).rev() {
        // https://en.wikipedia.org/wiki/Xorshift
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        items.swap(last, usize::try_from(state % u64::try_from(last + 1).unwrap()).unwrap());
    }
    items
}

/// The same objects in other files and another order, from another folder, with other variables and
/// another number of threads, are the same fleet.
#[test]
fn order_names_and_surroundings_change_nothing() {
    let fleet = Fleet::new();
    let before = fleet.tree();
    let mut documents: Vec<String> = Vec::new();
    for text in tree::read(&fleet.path("quickstart/manifests")).into_values() {
        let text = String::from_utf8(text).unwrap();
        documents.extend(text.split("---\n").map(str::to_owned).filter(|document| document.contains("kind:")));
    }
    assert_eq!(documents.len(), 21, "no document was lost");
    let config = fs::read_to_string(fleet.path("quickstart/pouch.yaml")).unwrap();
    for seed in 0..20_u64 {
        let scratch = tempfile::tempdir().unwrap();
        let at = scratch.path().join(format!("fleet-{seed}"));
        fs::create_dir_all(at.join("manifests/deep/er")).unwrap();
        fs::write(at.join("pouch.yaml"), &config).unwrap();
        fs::copy(fleet.path("quickstart/reuse.key"), at.join("reuse.key")).unwrap();
        let files = usize::try_from(1 + seed % 7).unwrap();
        for (number, chunk) in shuffled(documents.clone(), seed).chunks(documents.len().div_ceil(files)).enumerate() {
            let folder = ["manifests", "manifests/deep", "manifests/deep/er"][number % 3];
            let extension = ["yaml", "yml"][number % 2];
            let name =
                format!("{folder}/{}.{extension}", u64::try_from(number).unwrap().wrapping_mul(seed + 7919) % 1009);
            assert!(!at.join(&name).exists());
            fs::write(at.join(name), format!("---\n{}", chunk.join("\n---\n"))).unwrap();
        }
        let threads = ["1", "2", "8"][usize::try_from(seed % 3).unwrap()];
        let zone = ["UTC", "Asia/Kathmandu", "America/St_Johns"][usize::try_from(seed % 3).unwrap()];
        let language = ["C", "tr_TR.UTF-8", "de_DE.UTF-8"][usize::try_from(seed / 3 % 3).unwrap()];
        let vars = [("RAYON_NUM_THREADS", threads), ("TZ", zone), ("LANG", language), ("LC_ALL", language)];
        let cwd = if seed % 2 == 0 { at.as_path() } else { Path::new("/") };
        let answer = render_in(cwd, &at.join("pouch.yaml"), &fleet.bundles(), &[], &vars).exits(0);
        // The bundle says in which files it all was, and nothing else is another.
        assert_eq!(answer.outcomes(), [("eu-west", "published"), ("us-east", "published")], "shuffle {seed}");
        let changes = tree::changes(&tree::placeless(&before), &tree::placeless(&fleet.tree()));
        assert_eq!(changes, [""; 0], "shuffle {seed}");
        let written = tree::written(&fleet.bundles());
        let again = render_in(cwd, &at.join("pouch.yaml"), &fleet.bundles(), &[], &vars).exits(0);
        assert_eq!(again.outcomes(), [("eu-west", "unchanged"), ("us-east", "unchanged")], "shuffle {seed}");
        assert_eq!(tree::written(&fleet.bundles()), written, "shuffle {seed}");
    }
}

/// Rendered from nothing, everything but what is drawn by lot is the same whatever the order.
#[test]
fn a_first_render_is_the_same_in_any_order_but_for_the_seals() {
    let fleet = Fleet::new();
    let fresh = |threads: &str| {
        let folder = fleet.path(&format!("fresh-{threads}"));
        let vars = [("RAYON_NUM_THREADS", threads)];
        render_in(Path::new("."), &fleet.path("quickstart/pouch.yaml"), &folder, &[], &vars).exits(0);
        let tree = tree::read(&folder);
        tree.into_iter().map(|(path, bytes)| (path, masked(&bytes))).collect::<Vec<_>>()
    };
    let one = fresh("1");
    assert_eq!(one, fresh("8"));
    assert!(one.iter().any(|(path, text)| path.ends_with(".sops.yaml") && text.contains("ENC[…]")));
}

/// A file's text without what is drawn by lot, or follows from it.
fn masked(bytes: &[u8]) -> String {
    let text = std::str::from_utf8(bytes).unwrap();
    let sealed = text.contains("\nsops:\n");
    let mut lines = Vec::new();
    for line in text.lines() {
        match line.split_once(": ENC[") {
            _ if line.starts_with("# pouch/v1 ") => lines.push("# pouch/v1"),
            Some((name, _)) => lines.extend([name, "ENC[…]"]),
            None if line.trim_start().starts_with("sha256: ") || line.trim_start().starts_with("lastmodified: ") => {}
            // The armored stanza's lines.
            None if sealed && line.starts_with("      ") => {}
            None => lines.push(line),
        }
    }
    lines.join("\n")
}

#[test]
fn the_identities_of_the_quickstart_are_its_recipients() {
    let fleet = Fleet::new();
    let config = fs::read_to_string(fleet.path("quickstart/pouch.yaml")).unwrap();
    for region in ["eu-west", "us-east"] {
        let recipient =
            pouch::age::recipient_of(&identity(&fleet.path(&format!("quickstart/keys/{region}.txt")))).unwrap();
        assert!(config.contains(&format!("recipients: [{recipient}]")), "{region}");
    }
}
