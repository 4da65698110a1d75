//! Repositories of another owner: what the help says is pasted, and then it works.

use std::os::unix::fs::chown;
use std::process::Command;

use crate::support::fleet::{Fleet, Ran};
use crate::support::origin::Origin;

/// Somebody else than who runs this.
const OTHER: u32 = 65_534;

fn git(fleet: &Fleet, arguments: &[&str]) {
    let mut git = Command::new("git");
    git.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path))).env("HOME", fleet.path("home"));
    git.args(["-c", "user.name=M", "-c", "user.email=m@example.com"]).args(arguments);
    let ran = git.current_dir(fleet.path(".")).output().unwrap();
    assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
}

/// Gives files to somebody else; says so loudly and gives false where that takes more rights than there are.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn give(fleet: &Fleet, paths: &[&str]) -> bool {
    let given = paths.iter().all(|path| chown(fleet.path(path), Some(OTHER), Some(OTHER)).is_ok());
    if !given {
        eprintln!("SKIPPED only root gives files to other users");
    }
    given
}

/// Runs pouch, which refuses and says what to paste; that names `repository`, and then it runs.
#[track_caller]
fn pasted(fleet: &Fleet, arguments: &[&str], refusal: i32, repository: &str, then: i32) -> Ran {
    let refused = fleet.run(arguments).ends(refusal);
    let command = "git config --global --add safe.directory ";
    let help = refused.stderr.lines().find(|line| line.contains("= help: ") && line.contains(command));
    let help = help.unwrap_or_else(|| panic!("{arguments:?} has no help to paste:\n{}", refused.stderr));
    let path = std::fs::canonicalize(fleet.path(repository)).unwrap();
    assert_eq!(help.split_once(command).unwrap().1, path.to_str().unwrap(), "{arguments:?}");
    std::fs::create_dir_all(fleet.path("home")).unwrap();
    git(fleet, &["config", "--global", "--add", "safe.directory", path.to_str().unwrap()]);
    let ran = fleet.run(arguments).ends(then);
    git(fleet, &["config", "--global", "--unset-all", "safe.directory"]);
    ran
}

#[test]
fn what_the_help_says_makes_git_and_pouch_take_a_repository() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    if !give(&fleet, &["repo.git"]) {
        return;
    }
    fleet.configure("repository: repo.git", "repository: ./manifests/../repo.git");
    pasted(&fleet, &["exposure"], 5, "repo.git", 0);
    pasted(&fleet, &["exposure", "manifests/../repo.git"], 5, "repo.git", 0);
    pasted(&fleet, &["verify", "repo.git"], 5, "repo.git", 0);
    pasted(&fleet, &["verify"], 5, "repo.git", 0);
    pasted(&fleet, &["publish"], 5, "repo.git", 0);
    pasted(&fleet, &["rekey", "--region", "eu"], 5, "repo.git", 0);
}

#[test]
fn work_trees_of_others_are_named_by_their_root() {
    let fleet = Fleet::with_credentials(1);
    fleet.run(&["render"]).ends(0);
    git(&fleet, &["init", "--quiet", "tree"]);
    std::fs::rename(fleet.path("bundles"), fleet.path("tree/bundles")).unwrap();
    git(&fleet, &["-C", "tree", "add", "--all"]);
    git(&fleet, &["-C", "tree", "commit", "--quiet", "--message=x"]);
    git(&fleet, &["-C", "tree", "worktree", "add", "--quiet", "--detach", "../linked"]);
    fleet.write("tree/bundles/note.txt", "changed\n");
    git(&fleet, &["-C", "tree", "add", "--all"]);
    git(&fleet, &["clone", "--quiet", "tree", "theirs"]);
    if !give(&fleet, &["linked"]) {
        return;
    }
    // Only a linked work tree is somebody else's.
    pasted(&fleet, &["exposure", "tree"], 5, "linked", 0);
    assert!(give(&fleet, &["tree", "tree/.git", "theirs", "theirs/.git"]));
    pasted(&fleet, &["verify", "--staged", "tree/bundles"], 5, "tree", 0);
    pasted(&fleet, &["verify", "tree/bundles", "--rev", "HEAD"], 5, "tree", 0);
    // A source beside the configuration.
    fleet.configure("directory: {path: manifests}", "git: {repository: ../theirs, ref: HEAD, path: bundles/regions}");
    std::fs::create_dir(fleet.path("conf")).unwrap();
    std::fs::rename(fleet.path("pouch.yaml"), fleet.path("conf/pouch.yaml")).unwrap();
    std::fs::rename(fleet.path("reuse.key"), fleet.path("conf/reuse.key")).unwrap();
    let refused = fleet.run(&["render", "-f", "conf/pouch.yaml"]).ends(5);
    let theirs = std::fs::canonicalize(fleet.path("theirs")).unwrap();
    assert!(refused.stderr.contains(&format!("safe.directory {}\n", theirs.display())), "{}", refused.stderr);
    // And a key that would be written into one.
    let refused = fleet.run(&["keygen", "--reuse-key", "tree/k.key", "-f", "conf/pouch.yaml"]).ends(64);
    let tree = std::fs::canonicalize(fleet.path("tree")).unwrap();
    assert!(refused.stderr.contains(&format!("safe.directory {}\n", tree.display())), "{}", refused.stderr);
    assert!(!refused.stderr.contains(".gitignore"), "{}", refused.stderr);
}
