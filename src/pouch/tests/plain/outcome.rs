//! How a push ends, against servers that refuse, hang, break off, and say something else than they did.

use std::process::Command;
use std::time::{Duration, Instant};

use pouch::git::program::{Deadlines, GitError, git};

use crate::support::fleet::{Fleet, Ran};
use crate::support::githttp::{Fault, GitServer};
use crate::support::origin::Origin;

/// A fleet with something published, something new, and a server before its repository.
struct Stage {
    fleet: Fleet,
    server: GitServer,
}

impl Stage {
    fn new() -> Self {
        let fleet = Fleet::with_credentials(1);
        let server = GitServer::new(&fleet.path(""));
        fleet.configure("reuseKey", "limits: {attempts: 2, git: {idle: 2s, total: 1m, settle: 2s}}\nreuseKey");
        let stage = Self { fleet, server };
        let origin = stage.origin();
        stage.fleet.configure("repository: repo.git", &format!("repository: '{}'", stage.server.url("repo.git")));
        origin.publish(&[]).ends(0);
        stage.fleet.secret("eu", "c0", "value: changed");
        stage
    }

    fn origin(&self) -> Origin<'_> {
        if self.fleet.has("repo.git") { Origin::known(&self.fleet) } else { Origin::new(&self.fleet, "") }
    }

    fn publish(&self) -> Ran {
        self.fleet.run(&["publish"])
    }
}

/// The server does it and says that it failed, in every way; nothing else may be told than that it is published.
#[test]
fn what_landed_is_published_whatever_the_server_says() {
    for fault in [Fault::CloseAfter, Fault::StatusAfter(504), Fault::StatusAfter(500), Fault::StatusAfter(403)] {
        let stage = Stage::new();
        stage.server.spoil("POST /repo.git/git-receive-pack", fault.clone());
        let ran = stage.publish();
        assert_eq!(ran.code, 0, "{fault:?}: {}", ran.stderr);
        assert_eq!(stage.origin().commits(), 2);
        stage.server.heal();
        stage.publish().ends(0).outcome("eu", "unchanged");
        stage.origin().check();
    }
}

/// The connection ends before the server answers, and the branch is where it was: that is no refusal.
#[test]
fn what_may_land_yet_is_unknown_and_never_failed() {
    for fault in [Fault::Close, Fault::Status(504, ""), Fault::Status(502, "bad gateway"), Fault::Hang] {
        let stage = Stage::new();
        stage.server.spoil("POST /repo.git/git-receive-pack", fault.clone());
        let ran = stage.publish();
        assert_eq!(ran.code, 5, "{fault:?}: {}", ran.stderr);
        ran.says("is published is unknown").says("run pouch again");
        let looks = stage.server.asked().iter().filter(|asked| asked.line.contains("git-upload-pack")).count();
        assert!(looks >= 6, "{looks}");
        stage.server.heal();
        stage.publish().ends(0).outcome("eu", "published");
        assert_eq!(stage.origin().commits(), 2);
        stage.origin().check();
    }
}

/// The folder with the commit is removed before anything is sent: nothing is pushed, and that is no doubt.
#[test]
fn a_push_that_never_began_is_not_in_doubt() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    fleet.configure("reuseKey", "limits: {git: {settle: 1s}}\nreuseKey");
    origin.publish(&[]).ends(0);
    fleet.secret("eu", "c0", "value: changed");
    let push = |what: &str| {
        let script = format!("case \" $* \" in *' push '*) {what};; esac");
        Ran::from(origin.wrapped(&script, &[]).output().unwrap()).ends(5)
    };
    let temporary = fleet.path("tmp");
    for removed in ["/pouch-*", "/pouch-*/objects", ""] {
        std::fs::create_dir_all(&temporary).unwrap();
        let ran = push(&format!("rm -rf '{}'{removed}", temporary.display()));
        let ran = ran.says("error: nothing was pushed, and nothing is published: ").says(" is gone\n");
        assert!(!ran.stderr.contains("is unknown"), "{}", ran.stderr);
        assert_eq!(origin.commits(), 1);
    }
    // The control: where a server may have been asked, whatever git says of its end, the doubt remains.
    std::fs::create_dir_all(&temporary).unwrap();
    for words in ["fatal: not a git repository: elsewhere", "fatal: the remote end hung up"] {
        push(&format!("echo \"{words}\" >&2; exit 128")).says("is published is unknown");
    }
    origin.publish(&[]).ends(0).outcome("eu", "published");
    origin.check();
}

/// A gateway gives up, and the server does it a second later.
#[test]
fn a_push_that_lands_late_is_waited_for() {
    let stage = Stage::new();
    stage.server.spoil("POST /repo.git/git-receive-pack", Fault::Later(Duration::from_millis(700)));
    stage.publish().ends(0).outcome("eu", "published");
    assert_eq!(stage.origin().commits(), 2);
    // The control: who does not wait does not know.
    stage.fleet.configure("settle: 2s", "settle: 0s");
    stage.fleet.secret("eu", "c0", "value: changed again");
    stage.publish().ends(5).says("is unknown");
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(stage.origin().commits(), 3);
}

/// Somebody publishes on top before the outcome is looked up.
#[test]
fn a_push_that_others_went_on_from_is_published() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    fleet.secret("eu", "c0", "value: changed");
    let path = std::env::var("PATH").unwrap();
    let on_top = origin.other_writer("date +%s%N > other");
    let script = format!("case \" $* \" in *' push '*) PATH='{path}' git \"$@\"; ( {on_top} ); exit 1;; esac");
    let ran = Ran::from(origin.wrapped(&script, &[]).output().unwrap()).ends(0).outcome("eu", "published");
    assert!(!ran.stderr.contains("starting over"), "{}", ran.stderr);
    assert_eq!(origin.commits(), 3);
    // The control: where ours is not below, the run has lost and starts over.
    fleet.secret("eu", "c0", "value: changed again");
    let once = format!("mkdir '{}' 2>/dev/null", fleet.path("once").display());
    let on_top = origin.other_writer("date +%s%N > bundles/README.md");
    let script = format!("case \" $* \" in *' push '*) if {once}; then ( {on_top} ); exit 1; fi;; esac");
    Ran::from(origin.wrapped(&script, &[]).output().unwrap()).ends(0).says("starting over");
    origin.check();
}

/// Who is not let in is told so at once, with the server's words, and nothing is tried twice.
#[test]
fn a_server_that_lets_nobody_write_refuses() {
    for (part, fault) in [
        ("service=git-receive-pack", Fault::Status(403, "You are not allowed\nto push here")),
        ("service=git-receive-pack", Fault::Status(401, "")),
        ("POST /repo.git/git-receive-pack", Fault::Status(403, "")),
        ("POST /repo.git/git-receive-pack", Fault::Status(413, "")),
    ] {
        let stage = Stage::new();
        stage.server.spoil(part, fault.clone());
        let ran = stage.publish();
        assert_eq!(ran.code, 1, "{fault:?}: {}", ran.stderr);
        let ran = ran.says("the push was refused");
        if let Fault::Status(_, words) = fault {
            words.lines().for_each(|line| assert!(ran.stderr.contains(line), "{}", ran.stderr));
        }
        assert!(!ran.stderr.contains("starting over"), "{}", ran.stderr);
        assert_eq!(stage.origin().commits(), 1);
    }
    // A server that is out of order is no refusal, though nothing is published.
    let stage = Stage::new();
    stage.server.spoil("service=git-receive-pack", Fault::Status(503, ""));
    stage.publish().ends(5).says("nothing is published");
}

/// A repository that cannot be read at all is unavailable, whatever the reason.
#[test]
fn a_server_that_shows_nothing_is_unavailable() {
    let stage = Stage::new();
    for code in [401, 403, 404, 500, 504] {
        stage.server.spoil("GET", Fault::Status(code, ""));
        stage.publish().ends(5).says("cannot be reached");
    }
    for fault in [Fault::Close, Fault::Hang] {
        stage.server.spoil("GET", fault);
        stage.publish().ends(5).says("cannot be reached");
    }
    assert_eq!(stage.origin().commits(), 1);
}

/// The server's own words stand whole: the first lines, and not the end of what git says.
#[test]
fn the_words_of_a_hook_are_quoted_from_their_beginning() {
    let fleet = Fleet::with_credentials(1);
    // With a note, the branch is tried again without it.
    let origin = Origin::new(&fleet, ", recordSourceState: false");
    let says = "echo 'GitLab: You are not allowed to push code to protected branches on this project.' >&2; \
                echo 'see https://bot:hunter2@git.example.com/rules' >&2; printf 'ask \\033[1mBob\\r\\n' >&2; \
                for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do echo \"line $n\" >&2; done; \
                echo ran >> ran; exit 1";
    for hook in ["pre-receive", "update"] {
        origin.hook(hook, says);
        let ran = origin.publish(&[]).ends(1).says("hook declined").says("not allowed to push code to protected");
        let ran =
            ran.says("project.; see https://git.example.com/rules; ask ?[1mBob").says("line 1").says("more lines");
        assert!(!ran.stderr.contains("hunter2") && !ran.stderr.contains("starting over"), "{}", ran.stderr);
        assert_eq!(std::fs::read_to_string(origin.path().join("ran")).unwrap(), "ran\n");
        std::fs::remove_file(origin.path().join("ran")).unwrap();
        std::fs::remove_file(origin.path().join("hooks").join(hook)).unwrap();
    }
    assert_eq!(origin.tip(), None);
}

/// A rule of the repository is a refusal also where the branch moves meanwhile.
#[test]
fn a_rule_is_a_refusal_however_the_branch_moves() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    fleet.secret("eu", "c0", "value: changed");
    origin.commit_beside("echo a > other");
    let base = origin.git(&["rev-parse", "main^"]);
    let other = origin.git(&["rev-parse", "main"]);
    origin.git(&["update-ref", "refs/heads/main", &base]);
    origin.hook("update", &format!("git update-ref refs/heads/main {other}; echo no >&2; exit 1"));
    origin.publish(&[]).ends(1).says("hook declined");
    // What is checked out where the repository is.
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    origin.commit_beside("echo a > other");
    origin.git(&["config", "core.bare", "false"]);
    origin.publish(&[]).ends(1).says("checked out");
}

/// A hook that outlives the client: over http the server goes on when the connection is gone.
#[test]
fn a_hook_that_says_something_is_waited_for_and_a_silent_one_is_looked_after() {
    let stage = Stage::new();
    stage.origin().hook("pre-receive", "for n in 1 2 3 4 5 6 7 8; do echo still at it >&2; sleep 0.5; done");
    // Words come at once by this way only where the server hands them on as they come; on one machine it does.
    let url = format!("repository: '{}'", stage.server.url("repo.git"));
    stage.fleet.configure(&url, "repository: repo.git");
    let began = Instant::now();
    stage.publish().ends(0).outcome("eu", "published");
    assert!(began.elapsed() > Duration::from_secs(3));
    // The same time without a word, through http: the push is ended, and found a little later.
    stage.fleet.configure("repository: repo.git", &url);
    stage.fleet.configure("settle: 2s", "settle: 8s");
    stage.fleet.secret("eu", "c0", "value: changed again");
    stage.origin().hook("pre-receive", "sleep 4");
    stage.publish().ends(0).outcome("eu", "published");
    assert_eq!(stage.origin().commits(), 3);
    stage.fleet.configure("settle: 8s", "settle: 1s");
    stage.fleet.secret("eu", "c0", "value: changed once more");
    stage.origin().hook("pre-receive", "sleep 7");
    stage.publish().ends(5).says("said nothing for 2 s").says("is unknown");
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!(stage.origin().commits(), 4);
    stage.publish().ends(0).outcome("eu", "unchanged");
}

/// Bytes that move are progress, however slowly; that nothing moves is what ends a push.
#[test]
fn a_slow_steady_push_succeeds_and_a_stalled_one_is_ended() {
    let fleet = Fleet::empty();
    let script = "git init -q --bare repo.git; git init -q work; cd work; head -c 24000000 /dev/urandom > big; git add big; \
                  git -c user.name=a -c user.email=a@b commit -qm big; git rev-parse HEAD > ../commit";
    let mut make = Command::new("sh");
    make.args(["-euc", script]).current_dir(fleet.path("")).env("GIT_CONFIG_GLOBAL", "/dev/null");
    assert!(make.status().unwrap().success());
    let server = GitServer::new(&fleet.path(""));
    let environment = std::env::vars_os().filter(|(name, _)| name == "PATH").collect::<Vec<_>>();
    let git = git(&environment).within(Deadlines::of(4, 60));
    let (url, spec) = (server.url("repo.git"), format!("{}:refs/heads/main", fleet.read("commit").trim()));
    let push = || {
        let began = Instant::now();
        let folder = fleet.path("work/.git");
        let ended = git.run(Some(&folder), "push", &["--porcelain", "--progress"], &[url.as_ref(), spec.as_ref()]);
        (ended, began.elapsed())
    };
    server.spoil("POST /repo.git/git-receive-pack", Fault::Stall(1 << 20));
    let (ended, _) = push();
    assert_eq!(ended, Err(GitError::Silent { command: "push".to_owned(), seconds: 4 }));
    // About three megabytes a second: in all longer than may pass without a word, but not what the system holds back.
    server.spoil("POST /repo.git/git-receive-pack", Fault::Slow(64 << 10, Duration::from_millis(20)));
    let (ended, took) = push();
    assert!(ended.is_ok() && took > Duration::from_secs(5), "{ended:?} {took:?}");
}

/// A page is no empty repository, and none without the branch.
#[test]
fn a_login_page_is_no_unborn_branch() {
    let stage = Stage::new();
    for (kind, page) in
        [("text/html", "<html>log in</html>\n"), ("text/html", ""), ("text/plain", ""), ("text/plain", "log in\n")]
    {
        stage.server.spoil("repo.git", Fault::Page(kind, page));
        let ran = stage.fleet.run(&["publish", "--first"]);
        assert_eq!(ran.code, 5, "{kind} {page:?}: {}", ran.stderr);
        ran.says("does not speak git's smart protocol").says("login page");
        // A source is no less careful.
        let directory = "directory: {path: manifests}";
        let source = format!("git: {{repository: '{}', ref: main}}", stage.server.url("repo.git"));
        stage.fleet.configure(directory, &source);
        let output = format!("repository: '{}'", stage.server.url("repo.git"));
        stage.fleet.configure(&output, "repository: repo.git");
        stage.publish().ends(5).says("does not speak git's smart protocol");
        stage.fleet.configure("repository: repo.git", &output);
        stage.fleet.configure(&source, directory);
    }
    assert_eq!(stage.origin().commits(), 1);
    // The control: an empty repository behind the same server is one, and so is one without the branch.
    stage.server.heal();
    stage.origin().git(&["branch", "-m", "main", "other"]);
    stage.fleet.run(&["publish", "--first"]).ends(0);
    stage.origin().git(&["update-ref", "-d", "refs/heads/main"]);
    stage.origin().git(&["update-ref", "-d", "refs/heads/other"]);
    stage.fleet.run(&["publish", "--first"]).ends(0);
    assert_eq!(stage.origin().commits(), 1);
}

/// What pouch cannot write is refused by its name, with and without a branch.
#[test]
fn a_repository_of_other_ids_is_refused_by_name() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    std::fs::remove_dir_all(origin.path()).unwrap();
    std::fs::create_dir(origin.path()).unwrap();
    origin.git(&["init", "--quiet", "--bare", "--initial-branch=main", "--object-format=sha256"]);
    fleet.run(&["publish", "--first"]).ends(5).says("SHA-256");
    let tree = origin.git(&["hash-object", "-t", "tree", "-w", "--stdin"]);
    let commit = origin.git(&["commit-tree", &tree, "-m", "other"]);
    origin.git(&["update-ref", "refs/heads/main", &commit]);
    fleet.run(&["publish", "--first"]).ends(5).says("SHA-256").says("sha1");
}

/// Objects that the server borrows from another repository are there.
#[test]
fn a_repository_with_alternates_is_published_to() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    let lender = fleet.path("lender.git");
    std::fs::rename(origin.path(), &lender).unwrap();
    std::fs::create_dir(origin.path()).unwrap();
    origin.git(&["clone", "--quiet", "--bare", "--shared", lender.to_str().unwrap(), "."]);
    fleet.secret("eu", "c0", "value: changed");
    origin.publish(&[]).ends(0).outcome("eu", "published");
    assert_eq!(origin.commits(), 2);
    origin.publish(&[]).ends(0).outcome("eu", "unchanged");
}
