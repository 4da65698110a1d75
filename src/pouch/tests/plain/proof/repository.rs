//! Bundles in git: a revision, what is staged, who signed, and the hooks that run it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use super::stage::Stage;
use crate::support::{self, root};

/// A stage whose folder is a repository with everything committed.
pub struct Repository {
    pub stage: Stage,
    git: PathBuf,
}

impl Repository {
    /// None, after saying so, where git is absent.
    pub fn new() -> Option<Self> {
        let git = support::tool_on_path("git")?;
        let repository = Self { stage: Stage::new(), git };
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        // The keys of the quickstart are public; those of anybody else never stand in a repository.
        repository.stage.write(".gitignore", "quickstart/keys\nquickstart/reuse.key\nhome\n");
        repository.commit("all");
        Some(repository)
    }

    fn command(&self, arguments: &[&str]) -> Output {
        let mut command = std::process::Command::new(&self.git);
        let folder = &self.stage.path("");
        let program = Path::new(env!("CARGO_BIN_EXE_pouch")).parent().unwrap().to_path_buf();
        let mut folders = vec![program];
        folders.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        command.args(arguments).current_dir(folder).env_clear();
        command.env("PATH", std::env::join_paths(folders).unwrap()).env("HOME", folder);
        command.env("GIT_CONFIG_NOSYSTEM", "1");
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "me").env(format!("GIT_{who}_EMAIL"), "me@example.com");
        }
        command.output().unwrap()
    }

    #[track_caller]
    pub fn git(&self, arguments: &[&str]) -> String {
        String::from_utf8(support::printed(&self.git, &self.command(arguments))).unwrap()
    }

    #[track_caller]
    pub fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "-m", message]);
    }
}

#[test]
fn a_revision_is_read_from_objects() {
    let Some(repository) = Repository::new() else { return };
    let stage = &repository.stage;
    let verify = |arguments: &[&str]| stage.verify(&[&["-f", "quickstart/keyless.yaml"], arguments].concat());
    // The work tree is another matter, and so is what is beside it.
    stage.edit("bundles/flux/eu-west/core.yaml", "Orphan", "Delete");
    verify(&["bundles"]).finds("the work tree", &["untrusted-bundle", "unsafe-delivery"]);
    for arguments in [&[".", "--rev", "HEAD"][..], &["bundles", "--rev", "main"], &["--rev", "main", "bundles/"]] {
        verify(arguments).finds("the commit", &[]);
    }
    repository.commit("tampered");
    let tampered = verify(&[".", "--rev", "main"]);
    tampered.finds("the next commit", &["untrusted-bundle", "unsafe-delivery"]);
    assert!(tampered.stderr.contains("--> main:bundles/flux/eu-west/core.yaml:"), "{}", tampered.stderr);
    let first = repository.git(&["rev-parse", "HEAD~1"]).trim().to_owned();
    verify(&[".", "--rev", &first]).finds("the commit before", &[]);
    // A tag of the branch's name stands for nothing but itself.
    repository.git(&["update-ref", "refs/tags/main", &first]);
    verify(&[".", "--rev", "main"]).finds("the branch", &["untrusted-bundle", "unsafe-delivery"]);
    verify(&[".", "--rev", "refs/tags/main"]).finds("the tag", &[]);
    repository.git(&["update-ref", "-d", "refs/tags/main"]);

    repository.git(&["clone", "--quiet", "--bare", ".", "home/fleet.git"]);
    verify(&["home/fleet.git"]).finds("a bare repository", &["untrusted-bundle", "unsafe-delivery"]);
    verify(&["home/fleet.git", "--rev", &first]).finds("an older commit of it", &[]);
    for rev in ["nothing", "HEAD~9", "--all", "HEAD:bundles", "HEAD^{tree}"] {
        assert_eq!(verify(&[".", &format!("--rev={rev}")]).code, 64, "{rev}");
    }
    let before = verify(&[".", "--rev", "HEAD~1"]);
    before.finds("an ancestor", &[]);
    assert_eq!(before.summary["commit"], first, "{}", before.stderr);
    assert!(before.stderr.contains(&format!("looking at commit {first}")), "{}", before.stderr);
    // A bare repository may name a branch that was never made.
    repository.git(&["--git-dir=home/fleet.git", "symbolic-ref", "HEAD", "refs/heads/master"]);
    let unborn = verify(&["home/fleet.git"]);
    assert_eq!(unborn.code, 64, "{}", unborn.stderr);
    assert!(unborn.stderr.contains("HEAD names master") && unborn.stderr.contains("--rev main"), "{}", unborn.stderr);
    // Of a partial clone git's own library opens nothing.
    repository.git(&["clone", "--quiet", "--bare", "home/fleet.git", "home/partial.git"]);
    for setting in [["extensions.partialClone", "origin"], ["core.repositoryFormatVersion", "1"]] {
        repository.git(&[&["--git-dir=home/partial.git", "config"][..], &setting].concat());
    }
    let partial = verify(&["home/partial.git"]);
    assert_eq!(partial.code, 5, "{}", partial.stderr);
    assert!(partial.stderr.contains("is a partial clone"), "{}", partial.stderr);
    // What only git can tell.
    repository.git(&["checkout", "--quiet", &first]);
    repository.git(&["update-index", "--chmod=+x", "bundles/flux/eu-west/core.yaml"]);
    let link = "bundles/regions/eu-west/core/secrets/kcm-system/aws-main-secret.sops.yaml";
    fs::remove_file(stage.path(link)).unwrap();
    std::os::unix::fs::symlink("../x", stage.path(link)).unwrap();
    repository.git(&["add", link]);
    repository.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{first},bundles/regions/eu-west/sub")]);
    repository.git(&["commit", "--quiet", "-m", "odd"]);
    let odd = verify(&[".", "--rev", "HEAD"]);
    odd.finds("modes", &["not-plain-file"]);
    for what in ["is marked as executable", "is a symlink", "is a submodule"] {
        assert!(odd.stderr.contains(what), "{}", odd.stderr);
    }
}

#[test]
fn commits_are_signed_by_who_is_allowed() {
    let Some(keygen) = support::tool_on_path("ssh-keygen") else { return };
    let Some(repository) = Repository::new() else { return };
    let stage = &repository.stage;
    fs::create_dir_all(stage.path("home")).unwrap();
    for who in ["me", "other"] {
        let path = stage.path(&format!("home/{who}"));
        let arguments = ["-q", "-t", "ed25519", "-N", "", "-C", who, "-f", path.to_str().unwrap()];
        support::printed(&keygen, &support::run(&keygen, arguments, &[]));
    }
    stage.write("home/allowed", format!("me@example.com {}", stage.read("home/me.pub")));
    let verify = |more: &[&str]| {
        stage.verify(&[&["-f", "quickstart/keyless.yaml", ".", "--allowed-signers", "home/allowed"], more].concat())
    };
    let sign = |who: &str| {
        let key = format!("user.signingKey={}", stage.path(&format!("home/{who}.pub")).display());
        let commit = ["commit", "--quiet", "--allow-empty", "-S", "-m", who];
        repository.git(&[&["-c", "gpg.format=ssh", "-c", &key][..], &commit].concat());
    };
    let refused = |what: &str| {
        let answer = verify(&[]);
        assert_eq!(answer.code, 8, "{what}: {}", answer.stderr);
        assert!(answer.stderr.contains("error[untrusted-commit]"), "{what}: {}", answer.stderr);
    };
    refused("not signed at all");
    assert!(verify(&[]).stderr.contains(" at HEAD is not signed\n"), "{}", verify(&[]).stderr);
    sign("me");
    let good = verify(&[]);
    good.finds("signed by an allowed one", &[]);
    let head = repository.git(&["rev-parse", "HEAD"]).trim().to_owned();
    assert_eq!(good.summary["commit"], head, "{}", good.stderr);
    assert!(good.stderr.contains(&format!("holding the work tree against commit {head}")), "{}", good.stderr);
    // The work tree is what is proved, and the signature is not for what nobody committed.
    stage.write("bundles/flux/evil/core.yaml", "a: b\n");
    verify(&[]).finds("a file that was never added", &["unlisted-file", "untrusted-commit"]);
    verify(&["--rev", "HEAD"]).finds("the commit alone", &[]);
    fs::remove_dir_all(stage.path("bundles/flux/evil")).unwrap();
    let manifest = stage.read("bundles/regions/eu-west/bundle.yaml");
    fs::rename(stage.path("bundles/argocd/us-east"), stage.path("home/us-east")).unwrap();
    verify(&["--region", "eu-west"]).finds("a region that nobody touched", &[]);
    assert!(verify(&[]).faults().contains("untrusted-commit"));
    fs::rename(stage.path("home/us-east"), stage.path("bundles/argocd/us-east")).unwrap();
    stage.write("bundles/regions/eu-west/bundle.yaml", &manifest);
    verify(&[]).finds("as it was committed", &[]);
    sign("other");
    refused("signed by somebody else");
    // The user's own configuration lets nobody else in.
    repository.git(&["config", "gpg.ssh.allowedSignersFile", "/dev/null"]);
    repository.git(&["config", "gpg.minTrustLevel", "never"]);
    refused("a lower level of trust");
    let signed = repository.git(&["rev-parse", "HEAD~1"]).trim().to_owned();
    assert_eq!(verify(&["--rev", &signed]).code, 0);
    // A commit that stands in for another one vouches for nothing.
    let head = repository.git(&["rev-parse", "HEAD"]).trim().to_owned();
    repository.git(&["replace", &head, &signed]);
    refused("replaced");
    for file in ["nowhere", "home/me.pub", "home/me"] {
        let answer = stage.verify(&["-f", "quickstart/keyless.yaml", ".", "--allowed-signers", file]);
        assert_eq!(answer.code, 64, "{}", answer.stderr);
        assert!(answer.stderr.contains(file), "{}", answer.stderr);
    }
}

/// The hook of `docs/operations.md` for who has no pre-commit, with the configuration beside the bundles.
fn hook(repository: &Repository) {
    let stage = &repository.stage;
    let page = stage_page();
    let (_, script) = page.split_once("```sh pre-commit\n").expect("the page has the hook");
    let script = script.split_once("```").unwrap().0;
    stage.write("pouch.yaml", stage.read("quickstart/keyless.yaml"));
    stage.write(".git/hooks/pre-commit", script);
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(stage.path(".git/hooks/pre-commit"), fs::Permissions::from_mode(0o755)).unwrap();
}

fn stage_page() -> String {
    fs::read_to_string(root().join("docs/operations.md")).unwrap()
}

#[test]
fn a_hook_refuses_what_is_staged() {
    let Some(repository) = Repository::new() else { return };
    let stage = &repository.stage;
    hook(&repository);
    let commit = |arguments: &[&str]| repository.command(&[&["commit", "--quiet", "-m", "x"], arguments].concat());
    let taken = |what: &str, arguments: &[&str]| {
        let answer = commit(arguments);
        assert!(answer.status.success(), "{what}: {}", String::from_utf8_lossy(&answer.stderr));
    };
    let refused = |what: &str, code: &str, arguments: &[&str]| {
        let answer = commit(arguments);
        let said = String::from_utf8_lossy(&answer.stderr).into_owned();
        assert!(!answer.status.success() && said.contains(&format!("error[{code}]")), "{what}: {said}");
    };
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\nstringData: {a: hunter2}\n";

    repository.git(&["add", "pouch.yaml"]);
    taken("the configuration", &[]);
    stage.write("bundles/x.yaml", secret);
    stage.write("README.md", "x\n");
    repository.git(&["add", "README.md"]);
    taken("what is not staged counts for nothing", &[]);
    repository.git(&["add", "bundles"]);
    refused("a Secret in clear", "plaintext-secret", &[]);
    // Taken out of the work tree alone, it is still staged.
    fs::remove_file(stage.path("bundles/x.yaml")).unwrap();
    refused("a Secret that is staged", "plaintext-secret", &[]);
    repository.git(&["add", "--all"]);
    taken("nothing of it is left", &["--allow-empty"]);
    // Elsewhere a source's manifest may be one, and a private key never.
    stage.write("manifests/x.yaml", secret);
    stage.write("docs/x.md", format!("An example:\n\n{secret}"));
    repository.git(&["add", "manifests", "docs"]);
    taken("a Secret of a source, and prose", &[]);
    stage.write("apps/x.yaml", secret);
    repository.git(&["add", "apps"]);
    refused("a Secret that is no source's", "plaintext-secret", &[]);
    stage.verify(&["--staged", "--bundles-only"]).finds("bundles only", &[]);
    let of_git = "git: {repository: ., ref: main, path: apps}";
    stage.write("git.yaml", stage.read("pouch.yaml").replace("directory: {path: manifests}", of_git));
    stage.verify(&["--staged", "-f", "git.yaml"]).finds("a source in this very repository", &[]);
    repository.git(&["rm", "--quiet", "-r", "--force", "apps"]);
    stage.write("notes.txt", format!("key:\n{}", stage.read("quickstart/keys/eu-west.txt")));
    repository.git(&["add", "notes.txt"]);
    refused("an identity", "plaintext-secret", &[]);
    repository.git(&["rm", "--quiet", "--force", "notes.txt"]);

    // A region that is removed is no longer published, and that is said before the commit.
    repository.git(&["rm", "--quiet", "-r", "bundles/regions/eu-west", "bundles/flux"]);
    refused("a region removed", "untrusted-bundle", &[]);
    repository.git(&["checkout", "--quiet", "HEAD", "--", "bundles"]);
    // A key where bundles are is one fault: its file is there.
    let core = "bundles/flux/eu-west/core.yaml";
    let good = stage.read(core);
    stage.write(core, format!("{good}# {}", stage.read("quickstart/keys/eu-west.txt").lines().last().unwrap()));
    repository.git(&["add", core]);
    let answer = stage.verify(&["--staged"]);
    assert!(answer.faults().contains("plaintext-secret"), "{}", answer.stderr);
    assert_eq!(answer.stderr.matches("error[plaintext-secret]").count(), 1, "{}", answer.stderr);
    assert!(!answer.stderr.contains("is missing"), "{}", answer.stderr);
    repository.git(&["checkout", "--quiet", "HEAD", "--", "bundles"]);

    // `commit --all` and `commit PATH` bring an index of their own.
    stage.edit(core, "Orphan", "Delete");
    refused("all", "unsafe-delivery", &["--all"]);
    refused("a path", "untrusted-bundle", &["--", core]);
    stage.write(core, &good);
    stage.edit("bundles/regions/us-east/bundle.yaml", "kind: Bundle", "kind: bundle");
    refused("a manifest", "untrusted-bundle", &["--all"]);
    repository.git(&["checkout", "--quiet", "--", "bundles"]);
    // A region that nobody touches is no matter, even where the configuration has moved on.
    stage.edit("pouch.yaml", "age1hwgm5s760fwcasprk22wc0a8a5lcwm22s32e2484ju7egnueyptsul368q", {
        "age1e2tczyk2rw7u47kzxxee5g7ufkncdmlcz37yuu4espmcttlwfqaspg5uc4"
    });
    repository.git(&["add", "pouch.yaml"]);
    taken("a configuration that is yet to be rendered", &[]);
    fs::remove_file(stage.path("bundles/regions/eu-west/open/kustomization.yaml")).unwrap();
    refused("a region that somebody touches", "wrong-recipients", &["--all"]);
    // Where no bundle is yet, a Secret is looked for in the place where they will be.
    repository.git(&["rm", "--quiet", "-r", "bundles"]);
    refused("every bundle removed", "untrusted-bundle", &[]);
    for region in ["  eu-west:\n", "  us-east:\n"] {
        stage.edit("pouch.yaml", region, &format!("{region}    state: retired\n"));
    }
    taken("no bundles any more", &[]);
    stage.write("bundles/x.yaml", secret);
    repository.git(&["add", "bundles"]);
    refused("a Secret before the first bundle", "plaintext-secret", &[]);
    fs::rename(stage.path("pouch.yaml"), stage.path("home-pouch.yaml")).unwrap();
    refused("without a configuration", "plaintext-secret", &[]);
}

/// What is staged beside the regions' folders: what a consumer may apply, and what changes bundles' bytes.
#[test]
fn what_is_staged_beside_the_regions_is_looked_at() {
    let Some(repository) = Repository::new() else { return };
    let stage = &repository.stage;
    stage.write("pouch.yaml", stage.read("quickstart/keyless.yaml"));
    repository.commit("configuration");
    let rows = [
        ("bundles/.gitattributes", "* text eol=crlf\n", "unsafe-delivery"),
        ("bundles/.gitattributes", "* -text\n*.yaml filter=x\n", "unsafe-delivery"),
        ("bundles/regions/.gitattributes", "* text\n", "unlisted-file"),
        ("bundles/regions/eu-west/core/.gitattributes", "* text\n", "unlisted-file"),
        ("bundles/flux/zz/x.yaml", "a: b\n", "unlisted-file"),
        ("bundles/argocd/zz/x.yaml", "a: b\n", "unlisted-file"),
        ("bundles/flux/x.yaml", "a: b\n", "unlisted-file"),
        ("bundles/argocd/quickstart-applicationset.yaml", "a: b\n", "unlisted-file"),
        (".gitattributes", "* text=auto\n*.yaml ident\n", "unsafe-delivery"),
        (".gitattributes", "[attr]mine filter=x\n/bundles/** mine\n", "unsafe-delivery"),
        (".sourceignore", "# ours\n\n*.sops.yaml\n", "unsafe-delivery"),
        ("bundles/.sourceignore", "/regions/eu-west\n", "unsafe-delivery"),
        ("bundles/flux/.sourceignore", "core.yaml\n", "unsafe-delivery unlisted-file"),
    ];
    for (path, text, code) in rows {
        let before = stage.path(path).exists().then(|| stage.read(path));
        stage.write(path, text);
        repository.git(&["add", path]);
        let staged = stage.verify(&["--staged"]);
        let codes: Vec<&str> = code.split(' ').collect();
        staged.finds(path, &codes);
        assert!(staged.places().iter().any(|(place, _)| *place == path), "{path}: {:?}", staged.places());
        repository.git(&["commit", "--quiet", "-m", "x"]);
        stage.verify(&[".", "--rev", "HEAD"]).finds(path, &codes);
        stage.verify(&["."]).finds(path, &codes);
        if path.ends_with(".sourceignore") {
            stage.verify(&[".", "--region", "eu-west"]).finds(path, &["unsafe-delivery"]);
        }
        // Committed, it is no matter of the next commit.
        stage.write("notes.txt", path);
        repository.git(&["add", "notes.txt"]);
        stage.verify(&["--staged"]).finds(path, &[]);
        match before {
            Some(text) => stage.write(path, &text),
            None => fs::remove_file(stage.path(path)).unwrap(),
        }
        repository.commit("as before");
    }
    stage.verify(&["."]).finds("nothing is left", &[]);
    // A file that says nothing, and a link, which Flux follows.
    stage.write("quickstart/.sourceignore", "/regions\n");
    stage.write(".sourceignore", "# nothing\n\n");
    repository.git(&["add", ".sourceignore", "quickstart"]);
    stage.verify(&["--staged"]).finds("comments, and a file elsewhere", &[]);
    repository.commit("comments");
    stage.verify(&["."]).finds("comments, and a file elsewhere", &[]);
    fs::remove_file(stage.path(".sourceignore")).unwrap();
    std::os::unix::fs::symlink("notes.txt", stage.path(".sourceignore")).unwrap();
    repository.git(&["add", ".sourceignore"]);
    stage.verify(&["--staged"]).finds("a link", &["unsafe-delivery"]);
    repository.commit("a link");
    stage.verify(&["."]).finds("a link", &["unsafe-delivery"]);
    stage.verify(&[".", "--rev", "HEAD"]).finds("a link", &["unsafe-delivery"]);
    fs::remove_file(stage.path(".sourceignore")).unwrap();
    repository.commit("as before");
    // What a repository may say of its own files.
    stage.write(".gitattributes", "* text=auto eol=lf\n*.png filter=lfs -text\nassets/** filter=lfs\n");
    repository.git(&["add", ".gitattributes"]);
    stage.verify(&["--staged"]).finds("line ends and assets", &[]);
    repository.commit("attributes");
    stage.verify(&[".", "--rev", "HEAD"]).finds("committed", &[]);
    // Without a configuration it is the layout's own.
    fs::rename(stage.path("pouch.yaml"), stage.path("home-pouch.yaml")).unwrap();
    stage.write("bundles/.gitattributes", "* text\n");
    stage.verify(&["."]).finds("no configuration", &["unsafe-delivery"]);
    fs::remove_file(stage.path("bundles/.gitattributes")).unwrap();
    stage.verify(&["."]).finds("bundles out of their repository", &[]);
    repository.git(&["checkout", "--quiet", "HEAD", "--", "bundles"]);
    // Outside of the output keys are found in any size and spelling.
    let key = stage.read("quickstart/keys/eu-west.txt");
    stage.write("large.txt", format!("{}\n{key}", "x".repeat((1 << 20) + 1)));
    let spaced: String = key.chars().flat_map(|c| [c, '\0']).collect();
    stage.write("windows.txt", &spaced);
    repository.git(&["add", "large.txt", "windows.txt"]);
    let staged = stage.verify(&["--staged"]);
    assert_eq!(staged.stderr.matches("error[plaintext-secret]").count(), 2, "{}", staged.stderr);
}

/// Trees that git would not write: nothing of them is proved, and nothing panics.
#[test]
fn hostile_trees_are_refused() {
    let Some(repository) = Repository::new() else { return };
    let stage = &repository.stage;
    let id = |revision: &str| repository.git(&["rev-parse", revision]).trim().to_owned();
    let raw = |hex: &str| -> Vec<u8> {
        let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        (0..hex.len()).step_by(2).map(byte).collect()
    };
    let bytes = |tree: &str| {
        let answer = repository.command(&["cat-file", "tree", tree]);
        assert!(answer.status.success());
        answer.stdout
    };
    let write = |bytes: &[u8]| {
        fs::write(stage.path("home-tree"), bytes).unwrap();
        repository.git(&["hash-object", "-t", "tree", "--literally", "-w", "home-tree"]).trim().to_owned()
    };
    let entry = |mode: &str, name: &[u8], hex: &str| [mode.as_bytes(), b" ", name, b"\0", &raw(hex)].concat();
    let root = bytes("HEAD^{tree}");
    // A commit whose output is this tree, and which has more beside the output.
    let commit = |bundles: &[u8], more: &[u8]| {
        let (old, new) = (raw(&id("HEAD:bundles")), raw(&write(bundles)));
        let at = root.windows(20).position(|window| window == old).unwrap();
        let tree = write(&[&root[..at], &new, &root[at + 20..], more].concat());
        repository.git(&["commit-tree", &tree, "-m", "x"]).trim().to_owned()
    };
    let verify = |commit: &str| stage.verify(&["-f", "quickstart/keyless.yaml", ".", "--rev", commit]);
    let (bundles, blob) = (bytes("HEAD:bundles"), id("HEAD:quickstart/pouch.yaml"));
    let regions = id("HEAD:bundles/regions");
    verify(&commit(&bundles, b"")).finds("the tree as it was", &[]);
    let rows: [(&str, Vec<u8>); 12] = [
        ("a mode of nothing", entry("0", b"x.yaml", &blob)),
        ("an unknown mode", entry("100777", b"x.yaml", &blob)),
        ("another unknown mode", entry("60644", b"x.yaml", &blob)),
        ("a folder of an unknown mode", entry("40755", b"x", &regions)),
        ("the folder above", entry("40000", b"..", &regions)),
        ("the folder itself", entry("40000", b".", &regions)),
        ("git's folder", entry("40000", b".GIT", &regions)),
        ("git's folder on Windows", entry("40000", b"git~1", &regions)),
        ("a path as a name", entry("100644", b"flux/x.yaml", &blob)),
        ("a folder twice", entry("40000", b"regions", &regions)),
        ("a folder that is a file too", entry("100644", b"regions", &blob)),
        ("no name", entry("100644", b"", &blob)),
    ];
    for (what, more) in rows {
        let answer = verify(&commit(&[&bundles[..], &more].concat(), b""));
        assert_eq!((answer.code, &*answer.stdout), (5, ""), "{what}: {}", answer.stderr);
    }
    // Which of two folders is the output, every reader decides for itself.
    let twice = verify(&commit(&bundles, &entry("40000", b"bundles", &regions)));
    assert_eq!((twice.code, &*twice.stdout), (5, ""), "{}", twice.stderr);
    assert!(twice.stderr.contains("\"bundles\" that stands there twice"), "{}", twice.stderr);
    // A name that a terminal obeys is one that no manifest lists.
    let flux = [&bytes("HEAD:bundles/flux")[..], &entry("100644", b"\x1b[31m\n.yaml", &blob)].concat();
    let (old, new) = (raw(&id("HEAD:bundles/flux")), raw(&write(&flux)));
    let at = bundles.windows(20).position(|window| window == old).unwrap();
    let named = verify(&commit(&[&bundles[..at], &new, &bundles[at + 20..]].concat(), b""));
    named.finds("a name that a terminal obeys", &["unlisted-file"]);
    assert!(!named.stderr.contains('\x1b'), "{}", named.stderr);
}

/// The live comparison takes a region by either name too, and what is published from where it is published.
#[test]
fn the_live_comparison_finds_its_bundle_where_the_proof_does() {
    let Some(repository) = Repository::new() else { return };
    let stage = &repository.stage;
    repository.git(&["clone", "--quiet", "--bare", ".", "home/fleet.git"]);
    let config = stage.read("quickstart/pouch.yaml");
    let config = config.replace("{file: reuse.key}", "{file: quickstart/reuse.key}");
    let renamed = config.replace("  eu-west:\n", "  west:\n    directory: eu-west\n");
    let with_git = |path: &str| {
        let git = format!("output: {{path: {path}, git: {{repository: home/fleet.git, branch: main}}}}");
        stage.write("pouch.yaml", renamed.replace("output: {path: bundles}", &git));
    };
    fs::remove_dir_all(stage.path("bundles")).unwrap();
    with_git("bundles");
    for region in ["west", "eu-west"] {
        let answer = stage.verify(&["--live", "--context", "nowhere", "--region", region]);
        assert!(answer.stderr.contains("nowhere"), "{}", answer.stderr);
        assert!(!answer.stderr.contains("there is no folder"), "{}", answer.stderr);
    }
    assert_eq!(stage.verify(&["--live", "--context", "nowhere", "--region", "west", "bundles"]).code, 64);
    let unknown = stage.verify(&["--live", "--context", "nowhere", "--region", "x"]);
    assert_eq!(unknown.code, 64);
    assert!(unknown.stderr.contains("Its regions are us-east, west."), "{}", unknown.stderr);
    with_git("elsewhere");
    let nothing = stage.verify(&["--live", "--context", "nowhere", "--region", "west"]);
    assert!(nothing.stderr.contains("nothing is published in regions/eu-west"), "{}", nothing.stderr);
    fs::rename(stage.path("home/fleet.git"), stage.path("home/gone.git")).unwrap();
    assert_eq!(stage.verify(&["--live", "--context", "nowhere", "--region", "west"]).code, 5);
}

/// A region that is called otherwise than its folder is the same region under both names.
#[test]
fn one_region_of_what_is_staged() {
    let Some(repository) = Repository::new() else { return };
    let stage = &repository.stage;
    let config = stage.read("quickstart/keyless.yaml");
    stage.write("pouch.yaml", config.replace("  eu-west:\n", "  west:\n    directory: eu-west\n"));
    stage.edit("bundles/flux/eu-west/core.yaml", "Orphan", "Delete");
    repository.git(&["add", "bundles"]);
    for region in ["west", "eu-west"] {
        let answer = stage.verify(&["--staged", "--region", region]);
        assert!(answer.faults().contains("unsafe-delivery"), "{region}: {}", answer.stderr);
    }
    stage.verify(&["--staged", "--region", "us-east"]).finds("another region", &[]);
    assert_eq!(stage.verify(&["--staged", "--region", "x"]).code, 64);
}

/// Where the configuration publishes to a branch, that is what is proved, and not what lies around.
#[test]
fn the_branch_of_the_output_is_proved() {
    let Some(repository) = Repository::new() else { return };
    let stage = &repository.stage;
    repository.git(&["clone", "--quiet", "--bare", ".", "home/fleet.git"]);
    // The bundles were rendered without output.git, whose branch an Application would follow.
    let url = "      repoURL: https://git.example.com/acme/fleet.git\n";
    stage.edit("quickstart/keyless.yaml", url, &format!("{url}      targetRevision: HEAD\n"));
    let config = stage.read("quickstart/keyless.yaml");
    let output = "output: {path: bundles}";
    assert_eq!(config.matches(output).count(), 1, "{config}");
    let git =
        |branch: &str| format!("output: {{path: bundles, git: {{repository: home/fleet.git, branch: {branch}}}}}");
    stage.write("pouch.yaml", config.replace(output, &git("main")));
    // An old render lies in the folder.
    stage.edit("bundles/flux/eu-west/core.yaml", "Orphan", "Delete");
    let verify = |arguments: &[&str]| stage.verify(arguments);
    let head = repository.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let branch = verify(&[]);
    branch.finds("the branch", &[]);
    assert_eq!(branch.summary["commit"], head, "{}", branch.stderr);
    assert!(verify(&["."]).faults().contains("unsafe-delivery"));
    let ends = |arguments: &[&str], code: i32, says: &str| {
        let answer = verify(arguments);
        assert_eq!(answer.code, code, "{arguments:?}: {}", answer.stderr);
        assert!(answer.stderr.contains(says), "{arguments:?}: {}", answer.stderr);
    };
    ends(&["--rev", "main"], 64, "Name a clone");
    repository.git(&["--git-dir=home/fleet.git", "symbolic-ref", "HEAD", "refs/heads/master"]);
    verify(&["home/fleet.git"]).finds("the configured branch of a repository without HEAD", &[]);
    repository.commit("tampered");
    repository.git(&["push", "--quiet", "home/fleet.git", "HEAD:main"]);
    let tampered = verify(&[]);
    assert!(tampered.stderr.contains("--> main:bundles/flux/eu-west/core.yaml:"), "{}", tampered.stderr);
    stage.write("pouch.yaml", config.replace(output, &git("elsewhere")));
    ends(&[], 5, "branch elsewhere of");
}

/// What pre-commit runs is what the hook above runs.
#[test]
fn the_definition_for_pre_commit_runs_the_same() {
    let text = fs::read_to_string(root().join(".pre-commit-hooks.yaml")).unwrap();
    let document = pouch_core::yaml::read::documents(&text).next().unwrap();
    let node = pouch_core::yaml::read::read(&document, &mut pouch_core::node::Interner::new()).ok().unwrap();
    let hook = node.items().iter().find(|hook| hook.str_at(&["id"]) == Some("pouch-verify")).unwrap();
    let entry = hook.str_at(&["entry"]).unwrap();
    assert_eq!(hook.at(&["pass_filenames"]).and_then(|node| node.as_bool()), Some(false));
    assert!(stage_page().contains(&format!("exec {entry}\n")), "the page has another command than {entry}");
}
