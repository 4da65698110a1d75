//! `pouch init --with`: what is written for a consumer, in a fresh folder and by people who mistype.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::support::fleet::{EU, Fleet, Ran};
use crate::support::origin::Origin;
use crate::support::{self, printed, root, tool_on_path};

const URL: &str = "https://git.example.com/acme/fleet.git";

fn init<'a>(with: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["init", "--fleet", "acme", "--region", "eu-west", "--with", with], more].concat()
}

/// Every way, with its flags, and the files that it writes to `setup`.
const WAYS: [(&str, &[&str], &[&str]); 5] = [
    ("flux", &["--repository", URL], &["eu-west.yaml"]),
    ("flux", &["--repository", URL, "--hub", "hub"], &["hub.yaml"]),
    ("argocd", &["--repository", URL], &["argocd.yaml", "clusters.yaml", "plugin.yaml", "repo-server-patch.yaml"]),
    (
        "argocd",
        &["--repository", URL, "--mode", "ksops"],
        &["argocd-cm-patch.yaml", "argocd.yaml", "clusters.yaml", "repo-server-patch.yaml"],
    ),
    ("none", &[], &["eu-west.yaml"]),
];

#[test]
fn what_is_written_loads_and_renders_and_is_told_shortly() {
    for (with, flags, files) in WAYS {
        let fleet = Fleet::empty();
        let ran = fleet.run(&init(with, flags)).ends(0);
        let written: Vec<String> = fleet.tree("setup").into_keys().collect();
        assert_eq!(written, files, "{with} {flags:?}");
        let (_, next) = ran.stdout.split_once("\nNext:\n").expect("it says what is next");
        assert!(next.lines().count() <= 18, "{next}");
        // Whoever opens without a reuse key believes what fits together.
        assert_eq!(next.contains("\nCommits are not signed: "), with != "none", "{next}");
        // The configuration delivers by it, and nothing of the set-up is taken for a source.
        fleet.write("manifests/none.yaml", "# none\n");
        fleet.render(&[]).ends(0);
        let config = fleet.run(&["config"]).ends(0).stdout;
        assert!(with == "none" || config.contains(&format!("    delivery:\n      {with}:\n")), "{config}");
        assert_eq!(config.contains("repository: "), with != "none", "{config}");
        // No key is in what is to be committed.
        let recipient = fleet.read("keys/eu-west.txt");
        let key = recipient.lines().find(|line| line.starts_with("AGE-SECRET-KEY-1")).unwrap();
        for (name, bytes) in fleet.tree("setup") {
            let text = String::from_utf8(bytes).unwrap();
            assert!(!text.contains(key) && !text.contains("AGE-SECRET-KEY-1Q"), "{name}");
        }
    }
}

#[test]
fn keys_are_private_and_the_rest_is_as_the_umask_says() {
    for (umask, open) in [(0o022, 0o644), (0o077, 0o600), (0o002, 0o644), (0o000, 0o644)] {
        let fleet = Fleet::empty();
        let command = fleet.command(&init("flux", &["--repository", URL]));
        let program = command.get_program().to_owned();
        let arguments: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
        // The shell sets the mask, as a reader does.
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("umask {umask:03o}; exec \"$0\" \"$@\"")]).arg(program).args(arguments);
        shell.current_dir(fleet.path(".")).env_clear();
        shell.envs(command.get_envs().filter_map(|(name, value)| value.map(|value| (name, value))));
        Ran::from(shell.output().unwrap()).ends(0);
        let mode = |path: &str| std::fs::metadata(fleet.path(path)).unwrap().permissions().mode() & 0o777;
        for (path, wanted) in [("keys/eu-west.txt", 0o600), ("keys/reuse.key", 0o600), ("keys", 0o700)] {
            assert_eq!(mode(path), wanted, "{path} under {umask:03o}");
        }
        for path in ["setup/eu-west.yaml", "pouch.yaml"] {
            assert_eq!(mode(path), open, "{path} under {umask:03o}");
        }
        assert_eq!(mode("setup"), if open == 0o600 { 0o700 } else { 0o755 }, "setup under {umask:03o}");
    }
}

#[test]
fn nothing_is_overwritten_and_then_nothing_is_written() {
    for (with, flags, files) in WAYS {
        for file in files {
            let fleet = Fleet::empty();
            fleet.write(&format!("setup/{file}"), "mine\n");
            fleet.run(&init(with, flags)).ends(64).says(&format!("these are there already: setup/{file}"));
            assert_eq!(fleet.read(&format!("setup/{file}")), "mine\n");
            assert!(!fleet.has("pouch.yaml") && !fleet.has("keys"), "{file}");
        }
    }
    // Where a folder belongs nothing else may stand; a second try finds nothing of the first.
    for taken in ["setup", "keys"] {
        let fleet = Fleet::empty();
        fleet.write(taken, "mine\n");
        for _ in 0..2 {
            let ran = fleet.run(&init("flux", &["--repository", URL])).ends(64);
            ran.says(&format!("these are there already: {taken}\n"));
        }
        let other = if taken == "setup" { "keys" } else { "setup" };
        assert!(!fleet.has(other) && !fleet.has("pouch.yaml"));
    }
    // Somebody else's file beside it is nobody's business.
    let fleet = Fleet::empty();
    fleet.write("setup/README.md", "mine\n");
    fleet.run(&init("flux", &["--repository", URL])).ends(0);
    // What has no set-up of its own looks at none.
    let fleet = Fleet::empty();
    fleet.write("setup/eu-west.yaml", "mine\n");
    fleet.run(&["init", "--region", "eu-west"]).ends(0);
}

#[test]
fn what_is_mistyped_is_told_and_writes_nothing() {
    for (flags, said) in [
        (init("flux", &[]), "delivery by flux needs the repository"),
        (init("argocd", &[]), "--repository https://"),
        (init("fluxcd", &[]), "similar value exists: 'flux'"),
        (init("flux", &["--repository", "ftp://srv/fleet.git"]), "Flux does not read the scheme"),
        (
            init("flux", &["--repository", "https://me:hush-hush@git.example.com/a.git"]),
            "the command line holds a key or a password",
        ),
        (init("argocd", &["--repository", "ext::sh"]), "remote helper"),
        (init("flux", &["--repository", URL, "--mode", "ksops"]), "--mode is for Argo CD only"),
        (init("none", &["--repositori", URL]), "--repository"),
        (init("none", &["--hub", "hub"]), "--hub is for Flux only"),
        (init("flux", &["--repository", URL, "--hub", "a b"]), "that a shell would take for something else"),
        (init("none", &["--signing-key", "signer"]), "without a repository there are none"),
        (init("flux", &["--repository", URL, "--signing-key", "signer"]), "names signer, which is no file"),
        (
            init("argocd", &["--repository", URL, "--mode", "ksops", "--signing-key", "signer"]),
            "with --mode ksops nobody looks at signatures of SSH",
        ),
    ] {
        let fleet = Fleet::empty();
        let ran = fleet.run(&flags).ends(64).says(said);
        assert!(!ran.stderr.contains("hush-hush"), "a password is shown");
        assert!(["pouch.yaml", "keys", "setup"].iter().all(|path| !fleet.has(path)), "{flags:?}");
    }
}

/// What is printed holds where it is typed, and what stands in a file in the configuration's folder.
#[test]
fn a_configuration_elsewhere_is_named_in_every_command() {
    let fleet = Fleet::empty();
    fleet.write("a b/x", "");
    let named = [&["-f", "a b/p.yaml"], &*init("none", &[])].concat();
    let ran = fleet.run(&named).ends(0);
    for line in [
        "pouch rbac --deliver --region eu-west --service-account pouch/acme -f 'a b/p.yaml' \\",
        "--as system:serviceaccount:pouch:acme -f 'a b/p.yaml'",
        "apply --server-side -f 'a b/setup/eu-west.yaml'",
        "--identity 'a b/keys/eu-west.txt'",
    ] {
        assert!(ran.stdout.contains(line), "no {line} in\n{}", ran.stdout);
    }
    let head = fleet.read("a b/setup/eu-west.yaml");
    assert!(head.contains("pouch/acme -f p.yaml \\") && head.contains("pouch:acme -f p.yaml\n"), "{head}");
}

#[test]
fn a_fleet_may_be_called_like_a_number() {
    let fleet = Fleet::empty();
    fleet.run(&["init", "--fleet", "123", "--region", "456", "--with", "flux", "--repository", URL]).ends(0);
    let config = fleet.run(&["config"]).ends(0).stdout;
    assert!(config.contains("name: \"123\""), "{config}");
}

#[test]
fn the_repository_alone_is_published_to() {
    let fleet = Fleet::empty();
    fleet.run(&["init", "--region", "eu", "--repository", "../fleet.git"]).ends(0);
    assert!(!fleet.has("setup"));
    let config = fleet.run(&["config"]).ends(0).stdout;
    assert!(config.contains("repository: ../fleet.git") && config.contains("delivery: none"), "{config}");
}

/// The examples and what `init` writes are one.
#[test]
fn the_examples_of_argocd_are_what_init_writes() {
    let fleet = Fleet::empty();
    fleet.run(&init("argocd", &["--repository", URL])).ends(0);
    for name in ["plugin.yaml", "repo-server-patch.yaml"] {
        let example = std::fs::read_to_string(root().join("examples/argocd-plugin").join(name)).unwrap();
        assert!(fleet.read(&format!("setup/{name}")) == example, "{name}: copy it");
    }
}

/// Makes the key of a fleet that signs; false where there is no ssh-keygen.
fn signer(fleet: &Fleet, name: &str) -> bool {
    let Some(keygen) = tool_on_path("ssh-keygen") else { return false };
    let path = fleet.path(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let arguments = ["-q", "-t", "ed25519", "-N", "", "-C", "of a person", "-f", path.to_str().unwrap()];
    printed(&keygen, &support::run(&keygen, arguments, &[]));
    true
}

/// Every way in which somebody looks at signatures: what is written demands the key that is named, and no other
/// difference is made.
#[test]
fn where_a_key_is_named_what_is_written_demands_its_signature() {
    for (with, flags, files) in WAYS.iter().filter(|(_, flags, _)| !flags.contains(&"ksops")) {
        let fleet = Fleet::empty();
        if !signer(&fleet, "keys/signer") {
            return;
        }
        // With neither, what is published may stay on this machine.
        let repository: &[&str] = if *with == "none" { &["--repository", "../fleet.git"] } else { &[] };
        let flags = [flags, repository, &["--signing-key", "keys/signer"]].concat();
        let ran = fleet.run(&init(with, &flags)).ends(0);
        let mut written: Vec<String> = fleet.tree("setup").into_keys().collect();
        assert!(ran.stdout.contains("wrote setup/allowed_signers: "), "{}", ran.stdout);
        assert!(!ran.stdout.contains("not signed"), "{}", ran.stdout);
        written.retain(|name| name != "allowed_signers");
        assert_eq!(&written, files, "{with}");
        let config = fleet.run(&["config"]).ends(0).stdout;
        for line in ["    sign: ssh\n", "    key: keys/signer\n", "    allowedSigners: setup/allowed_signers\n"] {
            assert!(config.contains(line), "{line} is not in\n{config}");
        }
        let public = fleet.read("keys/signer.pub");
        let public = public.trim_end().strip_suffix(" of a person").unwrap();
        assert!(
            fleet.read("setup/allowed_signers").ends_with(&format!("pouch@localhost namespaces=\"git\" {public}\n"))
        );
        let all: String = written.iter().map(|name| fleet.read(&format!("setup/{name}"))).collect();
        assert!(*with == "none" || all.contains(public), "{with}: {all}");
        assert!(!all.contains("# verify") && !all.contains("of a person"), "{with}: {all}");
        // Nobody is warned of what is looked at.
        fleet.write("manifests/none.yaml", "# none\n");
        let ran = fleet.render(&[]).ends(0);
        assert!(!ran.stderr.contains("signature-not-verified"), "{}", ran.stderr);
    }
}

/// From nothing: the first commit is signed, nothing is built on somebody else's, and nothing of it is printed.
#[test]
fn what_is_set_up_signs_and_refuses_what_nobody_signed() {
    let fleet = Fleet::empty();
    if !signer(&fleet, "keys/signer") {
        return;
    }
    std::fs::create_dir(fleet.path("repo.git")).unwrap();
    let origin = Origin::known(&fleet);
    origin.git(&["init", "--quiet", "--bare", "--initial-branch=main"]);
    fleet.run(&init("none", &["--repository", "repo.git", "--signing-key", "keys/signer"])).ends(0);
    fleet.credential("eu-west", "one", "first");
    origin.publish(&[]).ends(0);
    let proof = ["verify", "--allowed-signers", "setup/allowed_signers", "--rev", "main", "repo.git"];
    fleet.run(&proof).ends(0);
    let signed = origin.tip().unwrap();

    origin.commit_beside("git commit --allow-empty -qm unsigned; echo x > README");
    fleet.credential("eu-west", "one", "second");
    origin.publish(&[]).ends(5).says("unsigned-tip");
    let unpack = ["unpack", "repo.git", "--rev", "main", "--identity", "keys/eu-west.txt", "--region", "eu-west"];
    let ran = fleet.run(&[&unpack[..], &["--allowed-signers", "setup/allowed_signers"]].concat()).ends(8);
    assert!(ran.stdout.is_empty() && ran.stderr.contains("is not signed"), "{}", ran.stderr);

    origin.git(&["update-ref", "refs/heads/main", &signed]);
    origin.publish(&[]).ends(0);
    fleet.run(&proof).ends(0);
    assert_ne!(origin.tip().unwrap(), signed);
}

/// A fleet whose regions have their bundles from Flux, from Argo CD and from neither begins in one run.
#[test]
fn regions_of_several_consumers_begin_in_one_run() {
    let fleet = Fleet::empty();
    let regions = ["--region=eu-west=flux", "--region=us-east=argocd", "--region=ap-south=none"];
    let begin = [&["init", "--fleet=acme", "--repository", URL][..], &regions].concat();
    let told = fleet.run(&begin).ends(0).stdout;
    for file in ["setup/eu-west.yaml", "setup/argocd.yaml", "setup/ap-south.yaml", "keys/ap-south.txt"] {
        assert!(fleet.has(file) && told.contains(&format!("wrote {file}: ")), "{file}: {told}");
    }
    assert!(!fleet.has("setup/us-east.yaml"));
    for page in ["flux.md", "argocd-plugin.md", "kubectl.md"] {
        assert!(told.contains(page), "{page}: {told}");
    }
    let config = fleet.run(&["config", "-o", "json"]).ends(0).stdout;
    let config: serde_json::Value = serde_json::from_str(&config).unwrap();
    let delivery = |region: &str| config["regions"][region]["delivery"].clone();
    assert!(delivery("eu-west")["flux"].is_object() && delivery("us-east")["argocd"]["repoURL"] == URL);
    assert_eq!(delivery("ap-south"), "none");
    // One that says nothing is told, unless --with says it of all others.
    let some = ["init", "--fleet=acme", "--repository", URL, "--region=eu-west=flux", "--region=us-east"];
    Fleet::empty().run(&some).ends(64).says("who applies the bundle of region us-east is not said");
    Fleet::empty().run(&[&some[..], &["--with=none"]].concat()).ends(0);
    let none = ["init", "--region=eu-west=flx"];
    Fleet::empty()
        .run(&none)
        .ends(64)
        .says("nothing that applies bundles is called \"flx\"")
        .says("Did you mean flux?");
    let clash = ["init", "--repository", URL, "--region=argocd=flux", "--region=us-east=argocd"];
    Fleet::empty().run(&clash).ends(64).says("setup/argocd.yaml would be written for a region and for Argo CD");
    // A quiet run writes the same and says nothing.
    let quiet = Fleet::empty();
    let ran = quiet.run(&[&begin[..], &["-q", "--k0rdent-push-disabled"]].concat()).ends(0);
    assert!(ran.stdout.is_empty() && ran.stderr.is_empty(), "{ran:?}");
    assert_eq!(quiet.read("pouch.yaml").matches("\n    k0rdentPushDisabled: true\n").count(), 3);
    assert_eq!(fleet.read("pouch.yaml").matches("k0rdentPushDisabled").count(), 0);
}

/// A path is a repository for a first try, and it is said that no cluster reads it.
#[test]
fn a_path_as_repository_is_taken_and_explained() {
    let fleet = Fleet::empty();
    let told = fleet.run(&init("flux", &["--repository", "../fleet.git"])).ends(0).stdout;
    assert!(told.contains("The repository ../fleet.git is a path on this machine"), "{told}");
    assert!(told.contains("in the place of https://repository.invalid/"), "{told}");
    assert!(fleet.read("pouch.yaml").contains("repository: ../fleet.git\n"));
    assert!(fleet.read("setup/eu-west.yaml").contains("url: https://repository.invalid/"));
    // From another folder the configuration names the same one.
    let fleet = Fleet::empty();
    fleet.run(&[&init("none", &["--repository", "fleet.git"])[..], &["-f", "deep/pouch.yaml"]].concat()).ends(0);
    let whole = fleet.path(".").canonicalize().unwrap().join("fleet.git").display().to_string();
    assert!(fleet.read("deep/pouch.yaml").contains(&whole), "{}", fleet.read("deep/pouch.yaml"));
}

/// A region comes to a configuration that is there, of which nothing else changes.
#[test]
fn a_region_is_added_to_a_configuration_that_is_there() {
    let fleet = Fleet::empty();
    fleet.run(&init("flux", &["--repository", URL])).ends(0);
    fleet.edit("pouch.yaml", "\nregions:\n", "\n# ours\nregions: # all of them\n");
    let before = fleet.read("pouch.yaml");
    let told = fleet.run(&["init", "--add-region=ap-south", "--add-region=us-west=none"]).ends(0).stdout;
    let after = fleet.read("pouch.yaml");
    let own: Vec<&str> = before.lines().collect();
    let new: Vec<&str> = after.lines().filter(|line| !own.contains(line)).collect();
    assert!(after.lines().filter(|line| own.contains(line)).count() >= own.len(), "{after}");
    assert!(new.contains(&"  \"ap-south\":") && new.contains(&"    delivery: none"), "{new:?}");
    for file in ["keys/ap-south.txt", "keys/us-west.txt", "setup/ap-south.yaml", "setup/us-west.yaml"] {
        assert!(fleet.has(file) && told.contains(&format!("wrote {file}: ")), "{file}: {told}");
    }
    assert!(told.contains("edited pouch.yaml: it has 2 regions more"), "{told}");
    assert!(told.contains("--context ap-south -n flux-system create secret generic"), "{told}");
    let regions = fleet.run(&["config", "-o", "json"]).ends(0).stdout;
    let regions: serde_json::Value = serde_json::from_str(&regions).unwrap();
    assert!(regions["regions"]["ap-south"]["delivery"]["flux"].is_object());
    // Twice, or where there is no place for it, nothing is written.
    let tree = fleet.tree(".");
    fleet.run(&["init", "--add-region=ap-south"]).ends(64).says("has region ap-south already");
    fleet.run(&["init", "--add-region=../x"]).ends(64).says("cannot name a region");
    fleet.run(&["init", "--add-region=a", "--region=b"]).ends(64);
    assert!(fleet.tree(".") == tree);
    let flow = "apiVersion: pouch/v1alpha1\nmetadata: {name: a}\nsources: [{name: m, directory: {path: m}}]\n\
                output: {path: bundles}\nreuseKey: {file: k}\nregions: {eu: {recipients: [";
    fleet.write("flow.yaml", format!("{flow}{EU}], namespaces: {{allowed: ['*']}}}}}}\n"));
    fleet.run(&["init", "--add-region=new", "-f", "flow.yaml"]).ends(64).says("do not stand on lines of their own");
    fleet.write("broken.yaml", "regions:\n  eu: {\n");
    fleet.run(&["init", "--add-region=new", "-f", "broken.yaml"]).ends(64).says("broken.yaml:");
    assert!(!fleet.has("keys/new.txt") && fleet.read("broken.yaml") == "regions:\n  eu: {\n");
}
