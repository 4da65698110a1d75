//! `pouch unpack`, through the built program: all of a region in clear, or nothing.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pouch_core::node::{Interner, Node};
use pouch_core::yaml::read::{Document, read};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::support::fleet::{EU, Fleet, Ran, copy, credential};
use crate::support::origin::Origin;
use crate::support::peak::peak;
use crate::support::strace::{Strace, Watched, listing_files, writing};

/// Somebody who signed nothing.
const SIGNER: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl";

/// A fleet whose values may be shown: those of [`Fleet::with_credentials`] fail a test that sees them.
fn fleet() -> Fleet {
    let fleet = Fleet::rendered_quickstart();
    for region in ["eu-west", "us-east"] {
        fleet.private(&format!("keys/{region}.txt"), fleet.read(&format!("keys/{region}.txt")));
    }
    fleet
}

fn unpack(fleet: &Fleet, arguments: &[&str]) -> Ran {
    fleet.run(&[&["unpack"], arguments].concat())
}

/// Kind, place and content of what was printed.
fn documents(text: &str) -> Vec<(String, Node)> {
    let of = |text: &str| {
        let node = read(&Document::whole(text), &mut Interner::new()).unwrap();
        let at = |path: &[&str]| node.str_at(path).unwrap_or_default().to_owned();
        let name = format!("{} {}/{}", at(&["kind"]), at(&["metadata", "namespace"]), at(&["metadata", "name"]));
        (name, node)
    };
    text.split("---\n").filter(|text| !text.is_empty()).map(of).collect()
}

fn nothing(ran: Ran, code: i32, says: &str) {
    let ran = ran.ends(code).says(says);
    assert_eq!(ran.stdout, "");
    let shows =
        |(at, start): (usize, &str)| ran.stderr[at + start.len()..].starts_with(|c: char| c.is_ascii_alphanumeric());
    assert!(!ran.stderr.match_indices("AGE-SECRET-KEY-1").any(shows), "{}", ran.stderr);
}

/// Readers are upgraded before writers, and the message says so.
#[test]
fn what_a_later_pouch_wrote_wants_a_later_reader() {
    let fleet = fleet();
    let manifest = "bundles/regions/eu-west/bundle.yaml";
    let text = fleet.read(manifest);
    assert!(text.contains("pouch/v1alpha2"));
    fleet.write(manifest, text.replace("pouch/v1alpha2", "pouch/v2"));
    let ran = unpack(&fleet, &["bundles", "--region", "eu-west", "--identity", "keys/eu-west.txt"]);
    nothing(ran, 8, "help: Upgrade the reader first: use the pouch that wrote it, or a newer one.");
}

/// Whoever can write to the folder could otherwise have the sidecar that opens bundles run out of memory.
#[test]
fn what_no_manifest_lists_is_not_read() {
    let fleet = fleet();
    let whole = ["bundles", "--region", "eu-west", "--identity", "keys/eu-west.txt"];
    let printed = unpack(&fleet, &whole).ends(0).stdout;
    // Files with holes, of more than is ever read of a place.
    let strays = |folder: &str, does: &dyn Fn(&std::path::Path)| {
        fs::create_dir_all(fleet.path(folder)).unwrap();
        (0..18).for_each(|n| does(&fleet.path(&format!("{folder}/stray-{n}.yaml"))));
    };
    let make = |path: &std::path::Path| fs::File::create(path).unwrap().set_len(60 << 20).unwrap();
    for (folder, code) in [("bundles", 0), ("bundles/regions/us-east", 0), ("bundles/regions/eu-west/core", 8)] {
        strays(folder, &make);
        let ran = unpack(&fleet, &whole).ends(code);
        assert_eq!(ran.stdout, if code == 0 { &*printed } else { "" }, "{folder}");
        assert_eq!(ran.stderr.contains("core/stray-0.yaml is in the region's folders, but the manifest"), code == 8);
        strays(folder, &|path| fs::remove_file(path).unwrap());
    }
    // Nor is it of a commit.
    let origin = Origin::new(&fleet, "");
    fleet.run(&["publish", "--first"]).ends(0);
    origin.commit_beside("head -c 20000000 /dev/zero > bundles/regions/eu-west/stray.yaml");
    let ran = unpack(&fleet, &["repo.git", "--region", "eu-west", "--identity", "keys/eu-west.txt"]).ends(8);
    ran.says("stray.yaml is in the region's folders");
}

/// No value gets onto a disk, nor does anything else.
#[test]
fn nothing_is_written_anywhere() {
    let Some(strace) = Strace::find() else { return };
    let fleet = fleet();
    Origin::new(&fleet, "");
    fleet.run(&["publish", "--first"]).ends(0);
    let made = |arguments: &[&str]| {
        let list = fleet.path("calls");
        let command = fleet.command(arguments);
        let output = strace.around(Watched::All, &listing_files(&list), &command).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        writing(&list)
    };
    let key = ["--identity", "keys/eu-west.txt"];
    let of_folder = ["unpack", "bundles/regions/eu-west"];
    let of_commit = ["unpack", "repo.git", "--rev", "main", "--region", "eu-west"];
    for arguments in [&of_folder[..], &of_commit] {
        assert_eq!(made(&[arguments, &key].concat()), Vec::<String>::new(), "{arguments:?}");
    }
    // What writes is seen.
    assert!(made(&["render", "--summary", "summary.json"]).iter().any(|line| line.contains("summary.json")));
}

/// What is opened is held a few times over, whatever there is of it, and nothing is held for each object besides.
#[test]
fn memory_follows_from_what_is_printed() {
    let identity = fs::read_to_string(crate::support::root().join("testdata/quickstart/keys/eu-west.txt")).unwrap();
    let run = |count: usize| {
        let fleet = Fleet::new();
        for n in 0..count {
            fleet.credential("eu", &format!("c{n}"), &"v".repeat(20_000));
        }
        fleet.run(&["render"]).ends(0);
        fleet.private("eu.txt", &identity);
        let mut command = fleet.command(&["unpack", "bundles/regions/eu", "--identity", "eu.txt"]);
        let (output, most) = peak(command.env("RAYON_NUM_THREADS", "2"));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        (u64::try_from(output.stdout.len()).unwrap(), most)
    };
    let ((less, little), (more, much)) = (run(10), run(300));
    let times = much.saturating_sub(little) * 10 / (more - less);
    // Sealed, parsed, opened, written and put together: it was 5.6 times.
    assert!((20..75).contains(&times), "printed {less} and {more} bytes, held {little} and {much}");
}

#[test]
fn a_region_is_printed_as_it_is_to_be_applied() {
    let fleet = fleet();
    let ran = unpack(&fleet, &["bundles", "--region", "eu-west", "--identity", "keys/eu-west.txt"]).ends(0);
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    let documents = documents(&ran.stdout);
    let names: Vec<&str> = documents.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "Namespace /team-a",
            "ConfigMap kcm-system/aws-main-resource-template",
            "Secret kcm-system/aws-main-secret",
            "Secret kcm-system/openstack-main-clouds",
            "Secret team-a/azure-main-secret",
            "Secret team-a/store-17-kubeconf",
            "AWSClusterStaticIdentity /aws-main",
            "AzureClusterIdentity team-a/azure-main",
            "OpenStackClusterIdentity /openstack-main",
        ]
    );
    // The values are those of the manifests, read without pouch.
    let secret = &documents.iter().find(|(name, _)| name == "Secret kcm-system/aws-main-secret").unwrap().1;
    let value = |name: &str| String::from_utf8(STANDARD.decode(secret.str_at(&["data", name]).unwrap()).unwrap());
    let source: String = fs::read_dir(fleet.path("manifests"))
        .unwrap()
        .map(|file| fs::read_to_string(file.unwrap().path()).unwrap())
        .find(|text| text.contains("kind: Secret") && text.contains("name: aws-main-secret"))
        .unwrap();
    for name in ["AccessKeyID", "SecretAccessKey"] {
        let line = source.lines().find_map(|line| line.trim().strip_prefix(&format!("{name}: "))).unwrap();
        assert_eq!(value(name).unwrap(), line.trim_matches(['"', '\'']), "{name}");
    }
    assert!(secret.get("sops").is_none() && !ran.stdout.contains("ENC["));
}

#[test]
fn every_way_to_name_a_region_gives_the_same() {
    let fleet = fleet();
    let key = ["--identity", "keys/eu-west.txt"];
    let expect = unpack(&fleet, &[&["bundles", "--region", "eu-west"], &key[..]].concat()).ends(0).stdout;
    for arguments in [&["bundles/regions/eu-west"][..], &["--region", "eu-west"], &[".", "--region", "eu-west"]] {
        assert_eq!(unpack(&fleet, &[arguments, &key].concat()).ends(0).stdout, expect, "{arguments:?}");
    }
    // A plugin of Argo CD stands in the region's folder.
    let mut plugin = fleet.command(&["unpack", "."]);
    plugin.current_dir(fleet.path("bundles/regions/eu-west"));
    plugin.env("SOPS_AGE_KEY_FILE", fleet.path("keys/eu-west.txt"));
    assert_eq!(Ran::from(plugin.output().unwrap()).ends(0).stdout, expect);
    // Without what belongs to the delivery, and without the other regions.
    copy(&fleet.path("bundles/regions/eu-west"), &fleet.path("alone/regions/eu-west"));
    assert_eq!(unpack(&fleet, &[&["alone"], &key[..]].concat()).ends(0).stdout, expect);
    // By a program, and by the variables of sops.
    let by = ["bundles/regions/eu-west", "--identity-command", "sh -c 'cat \"$1\"' sh keys/eu-west.txt"];
    assert_eq!(unpack(&fleet, &by).ends(0).stdout, expect);
    for (name, value) in [
        ("SOPS_AGE_KEY", fleet.read("keys/eu-west.txt")),
        ("SOPS_AGE_KEY_FILE", "keys/eu-west.txt".to_owned()),
        ("SOPS_AGE_KEY_CMD", "cat keys/eu-west.txt".to_owned()),
    ] {
        let mut command = fleet.command(&["unpack", "bundles/regions/eu-west"]);
        assert_eq!(Ran::from(command.env(name, value).output().unwrap()).ends(0).stdout, expect, "{name}");
    }
}

#[test]
fn a_revision_is_unpacked_and_a_signature_can_be_demanded() {
    let fleet = &Fleet::new();
    let origin = Origin::new(fleet, "");
    fleet.credential("eu", "one", "shown");
    origin.publish(&[]).ends(0);
    let identity = crate::support::root().join("testdata/quickstart/keys/eu-west.txt");
    fleet.private("eu.txt", fs::read_to_string(identity).unwrap());
    let of = |rev: &str, more: &[&str]| {
        let arguments = ["repo.git", "--rev", rev, "--region", "eu", "--identity", "eu.txt"];
        unpack(fleet, &[&arguments, more].concat())
    };
    let first = of("main", &[]).ends(0).stdout;
    assert!(first.contains(&STANDARD.encode("shown")));
    fleet.credential("eu", "one", "another");
    origin.publish(&[]).ends(0);
    assert_eq!(of("main~1", &[]).ends(0).stdout, first);
    assert!(of("main", &[]).ends(0).stdout.contains(&STANDARD.encode("another")));
    fleet.write("signers", format!("me@example.com {SIGNER}\n"));
    nothing(of("main", &["--allowed-signers", "signers"]), 8, "is not signed");
}

#[test]
fn nothing_is_printed_where_something_is_wrong() {
    let fleet = fleet();
    let key = ["--identity", "keys/eu-west.txt"];
    let region = "bundles/regions/eu-west";
    let run = |more: &[&str]| unpack(&fleet, &[more, &key[..]].concat());
    nothing(unpack(&fleet, &[region, "--identity", "keys/us-east.txt"]), 64, "opens nothing in regions/eu-west");
    nothing(unpack(&fleet, &[region]), 64, "no age identity is given");
    nothing(unpack(&fleet, &[region, "--identity", "nowhere"]), 64, "nowhere");
    for (command, says) in [
        ("false", "ended with an error"),
        ("no-such-program", "is not installed"),
        ("echo AGE-SECRET-KEY-1NOSUCH", "cannot be used"),
        ("echo 'open", "a quote is open"),
        ("", "it is empty"),
    ] {
        nothing(unpack(&fleet, &[region, "--identity-command", command]), 64, says);
    }
    nothing(run(&["bundles"]), 64, "--region says which");
    nothing(run(&[region, "--region", "us-east"]), 64, "is the folder of region eu-west");
    nothing(run(&["bundles", "--region", "nowhere"]), 5, "no bundle of region nowhere");
    nothing(run(&["nowhere"]), 64, "is not there");
    copy(&fleet.path(region), &fleet.path("alone"));
    nothing(run(&["alone"]), 64, "is no region's folder");

    // What is damaged in any way, one at a time.
    let whole = fleet.tree("bundles");
    let mut faults = 0;
    for (path, bytes) in whole
        .iter()
        .filter(|(path, _)| path.starts_with("regions/eu-west/") && fleet.path("bundles").join(path).is_file())
    {
        let full = fleet.path("bundles").join(path);
        for how in ["gone", "longer", "changed", "link"] {
            match how {
                "gone" => fs::remove_file(&full).unwrap(),
                "longer" => fs::write(&full, [bytes, &b"# more\n"[..]].concat()).unwrap(),
                "changed" => {
                    fs::write(&full, bytes.iter().map(|b| if *b == b'e' { b'f' } else { *b }).collect::<Vec<_>>())
                        .unwrap()
                }
                _ => {
                    fs::remove_file(&full).unwrap();
                    fs::write(fleet.path("kept"), bytes).unwrap();
                    symlink(fleet.path("kept"), &full).unwrap();
                }
            }
            // Without a manifest, the region's own folder is none any more.
            let ran = run(&["bundles", "--region", "eu-west"]);
            assert!(matches!(ran.code, 8 | 5), "{how} {path}: {ran:?}");
            assert_eq!(ran.stdout, "", "{how} {path}");
            faults += 1;
            let _ = fs::remove_file(&full);
            fs::write(&full, bytes).unwrap();
        }
    }
    assert!(faults > 60, "{faults}");
    fleet.write("bundles/regions/eu-west/core/secrets/team-a/more.sops.yaml", "kind: Secret\n");
    nothing(run(&[region]), 8, "the manifest does not list it");
    fleet.remove("bundles/regions/eu-west/core/secrets/team-a/more.sops.yaml");
    run(&[region]).ends(0);
}

#[test]
fn what_stands_in_place_of_a_manifest_is_said() {
    let fleet = fleet();
    let (region, path) = ("bundles/regions/eu-west", fleet.path("bundles/regions/eu-west/bundle.yaml"));
    let key = ["--identity", "keys/eu-west.txt"];
    let run = |more: &[&str]| unpack(&fleet, &[more, &key[..]].concat());
    // The control: the manifest itself.
    run(&[region]).ends(0);
    let manifest = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let node = |kind| mknodat(CWD, &path, kind, Mode::RUSR, 0).unwrap();
    let check = |what: &str, form: &str| {
        let says = format!("{region}/bundle.yaml is {what}: the manifest of a region's bundle is a file");
        nothing(run(&[region]), 5, &says);
        nothing(run(&["bundles", "--region", "eu-west"]), 8, &format!("regions/eu-west has {form}"));
    };
    node(FileType::Fifo);
    check("a FIFO", "a bundle.yaml that is no plain file");
    fs::remove_file(&path).unwrap();
    node(FileType::Socket);
    check("a socket", "a bundle.yaml that is no plain file");
    fs::remove_file(&path).unwrap();
    symlink("nowhere", &path).unwrap();
    check("a symlink that leads to no file", "a bundle.yaml that is a symlink");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    check("a folder", "files and no bundle.yaml");
    fs::remove_dir(&path).unwrap();
    // Where there is nothing, nothing is said of it.
    nothing(run(&[region]), 5, "there are no bundles in");
    fs::write(&path, manifest).unwrap();
    run(&[region]).ends(0);
}

#[test]
fn a_forged_manifest_is_refused_where_the_reuse_key_is() {
    let fleet = fleet();
    let path = "bundles/regions/eu-west/bundle.yaml";
    let text = fleet.read(path);
    let (tag, rest) = text.split_once('\n').unwrap();
    let forged = format!("{}A\n{rest}", tag.get(..tag.len() - 1).unwrap());
    let forged = if forged == text { format!("{}B\n{rest}", tag.get(..tag.len() - 1).unwrap()) } else { forged };
    fleet.write(path, forged);
    let by_path = ["bundles/regions/eu-west", "--identity", "keys/eu-west.txt"];
    // Who has no reuse key goes by the hashes, and is told; a signature of the commit is what vouches there.
    let note = "nobody vouches for this bundle";
    unpack(&fleet, &by_path).ends(0).says(note);
    assert!(!unpack(&fleet, &[&by_path[..], &["-q"]].concat()).ends(0).stderr.contains(note));
    for named in ["pouch.yaml", "./pouch.yaml", fleet.path("pouch.yaml").to_str().unwrap()] {
        nothing(unpack(&fleet, &[&by_path[..], &["-f", named]].concat()), 8, "untrusted-bundle");
        nothing(fleet.run(&[&["-f", named, "unpack"], &by_path[..]].concat()), 8, "untrusted-bundle");
    }
    nothing(unpack(&fleet, &["--region", "eu-west", "--identity", "keys/eu-west.txt"]), 8, "untrusted-bundle");
}

#[test]
fn a_configuration_beside_the_bundles_is_not_obeyed() {
    let fleet = fleet();
    // Who writes to the branch would have more kinds published, or another fleet believed.
    fleet.write("bundles/regions/eu-west/pouch.yaml", "nonsense");
    let mut plugin = fleet.command(&["unpack", "."]);
    plugin.current_dir(fleet.path("bundles/regions/eu-west"));
    plugin.env("SOPS_AGE_KEY_FILE", fleet.path("keys/eu-west.txt"));
    let ran = Ran::from(plugin.output().unwrap());
    assert!(!ran.stderr.contains("nonsense"), "{}", ran.stderr);
    nothing(ran, 8, "the manifest does not list it");
}

#[test]
fn a_terminal_gets_no_secrets_unasked() {
    let fleet = fleet();
    let script = |force: &str| {
        let pouch = env!("CARGO_BIN_EXE_pouch");
        format!("{pouch} unpack bundles/regions/eu-west --identity keys/eu-west.txt {force}")
    };
    let run = |force: &str| {
        let mut command = std::process::Command::new("script");
        command.args(["-qec", &script(force), "/dev/null"]).current_dir(fleet.path("."));
        command.output().ok().map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (Some(refused), Some(forced)) = (run(""), run("--force")) else {
        return crate::support::skipped("script is not installed");
    };
    assert!(refused.contains("standard output is a terminal") && !refused.contains("kind: Secret"), "{refused}");
    assert!(forced.contains("kind: Secret"));
}

#[test]
fn what_is_carried_for_others_is_named() {
    let fleet = Fleet::new();
    fleet.credential("eu", "one", "shown");
    fleet.credential("eu", "two", "shown");
    fleet.run(&["render"]).ends(0);
    // The region gets a second key while one Credential is broken: what is carried stays sealed as it was.
    let (identity, recipient) = pouch::age::generate_identity().unwrap();
    fleet.private("new.txt", &*identity);
    fleet.configure(&format!("recipients: [{EU}]"), &format!("recipients: [{EU}, {recipient}]"));
    fleet.remove("manifests/eu-one-secret.yaml");
    let ran = fleet.run(&["render"]);
    let digest = ran.acceptance("--accept-recipients", "eu");
    fleet.run(&["render", "--accept-recipients", &digest]).ends(3);
    let ran = unpack(&fleet, &["bundles", "--region", "eu", "--identity", "new.txt"]);
    nothing(ran, 64, "does not open 1 of 2 Secrets: Secret eu-team/one");
    let old = crate::support::root().join("testdata/quickstart/keys/eu-west.txt");
    fleet.private("old.txt", fs::read_to_string(old).unwrap());
    let both = unpack(&fleet, &["bundles", "--region", "eu", "--identity", "new.txt", "--identity", "old.txt"]);
    let names: BTreeSet<String> = documents(&both.ends(0).stdout).into_iter().map(|(name, _)| name).collect();
    assert!(names.contains("Secret eu-team/one") && names.contains("Secret eu-team/two"), "{names:?}");
}

/// Who can write a manifest must not have kinds applied that run programs: only the configuration names more kinds.
#[test]
fn a_kind_that_is_not_pouch_s_own_needs_the_configuration() {
    let fleet = Fleet::new();
    fleet.configure(
        "output:",
        "kinds: [{group: example.com, kind: AcmeIdentity, scope: Namespaced, allowedNamespaces: all}]\noutput:",
    );
    let acme =
        "apiVersion: example.com/v1\nkind: AcmeIdentity\nmetadata: {name: acme, namespace: eu-team}\nspec: {a: b}\n";
    let interface = "---\napiVersion: k0rdent.mirantis.com/v1beta1\nkind: ProviderInterface\nmetadata: {name: acme}\nspec:\n  \
                     clusterIdentities: [{group: example.com, version: v1, kind: AcmeIdentity}]\n";
    fleet.write("manifests/acme.yaml", format!("{acme}{interface}"));
    let credential = credential("eu", "eu-team", "acme", ["example.com/v1", "AcmeIdentity", "acme"]);
    fleet.write("manifests/eu-acme.yaml", credential);
    fleet.run(&["render"]).ends(0);
    let key = crate::support::root().join("testdata/quickstart/keys/eu-west.txt");
    fleet.private("eu.txt", fs::read_to_string(key).unwrap());
    let by_path = ["bundles/regions/eu", "--identity", "eu.txt"];
    nothing(unpack(&fleet, &by_path), 64, "of a kind that pouch publishes only where its configuration names it");
    let ran = unpack(&fleet, &[&by_path[..], &["-f", "pouch.yaml"]].concat()).ends(0);
    assert!(ran.stdout.contains("kind: AcmeIdentity"), "{}", ran.stdout);
}

/// Neither the name of a folder nor how it is spelled hides a fault.
#[test]
fn a_fault_is_one_wherever_the_bundles_stand() {
    let fleet = fleet();
    copy(&fleet.path("bundles"), &fleet.path("flux/argocd"));
    let path = "flux/argocd/regions/eu-west/core/namespaces/team-a.yaml";
    let key = fleet.path("keys/eu-west.txt").to_str().unwrap().to_owned();
    let spellings = |fleet: &Fleet| {
        let whole = fleet.path("flux/argocd/regions/eu-west").to_str().unwrap().to_owned();
        ["flux/argocd/regions/eu-west".to_owned(), "./flux//argocd/regions/eu-west/".to_owned(), whole]
    };
    for spelling in spellings(&fleet) {
        unpack(&fleet, &[&spelling, "--identity", &key]).ends(0);
    }
    fleet.edit(path, "pouch", "pouhc");
    for spelling in spellings(&fleet) {
        nothing(unpack(&fleet, &[&spelling, "--identity", &key]), 8, "does not match the manifest");
    }
    for folder in ["flux/argocd", "./flux/argocd/"] {
        nothing(unpack(&fleet, &[folder, "--region", "eu-west", "--identity", &key]), 8, "does not match");
    }
}

/// Whoever waits for the manifests has them in part, or not at all.
#[test]
fn a_reader_that_goes_away_is_an_error() {
    let fleet = fleet();
    let mut command = fleet.command(&["unpack", "bundles", "--region", "eu-west", "--identity", "keys/eu-west.txt"]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let ended =
        command.stdout(writer).stderr(std::process::Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(1));
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(said.contains("could not be written to standard output: broken pipe"), "{said}");
}
