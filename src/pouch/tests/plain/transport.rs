//! How git gets there: ssh, http with credentials, paths; and what may not ride along in arguments and environment.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::fleet::{Fleet, Ran};
use crate::support::githttp::{Fault, GitServer};
use crate::support::origin::Origin;
use crate::support::sshd::Sshd;

#[path = "../support/rig/tls.rs"]
#[allow(dead_code, reason = "a server is all that is needed here")]
mod tls;

/// A token that must not get out.
const TOKEN: &str = "tok-7f3a9c51e2d84b06";

const QUICK: &str = "limits: {attempts: 2, git: {idle: 20s, settle: 1s}}\nreuseKey";

/// A fleet that publishes by ssh.
fn by_ssh(forced: &str) -> Option<(Fleet, Sshd)> {
    let fleet = Fleet::with_credentials(1);
    let sshd = Sshd::start(&fleet.path("ssh"), forced)?;
    let origin = Origin::new(&fleet, "");
    fleet.configure("reuseKey", QUICK);
    fleet.configure("repository: repo.git", &format!("repository: '{}'", sshd.url(&origin.path())));
    Some((fleet, sshd))
}

fn run_by(fleet: &Fleet, client: &str, arguments: &[&str]) -> Ran {
    Ran::from(fleet.command(arguments).env("GIT_SSH_COMMAND", client).output().unwrap())
}

#[test]
fn ssh_publishes_where_the_host_is_known_and_nowhere_else() {
    let Some((fleet, sshd)) = by_ssh("") else { return };
    let origin = Origin::known(&fleet);
    // An unknown host, and one with another key than is known: nobody is asked, and nothing is believed.
    for known in [None, Some("other")] {
        let ran = run_by(&fleet, &sshd.client(known), &["publish", "--first"]).ends(5);
        ran.says("Host key verification failed").says("known_hosts");
        let hosts = fs::read_to_string(fleet.path("ssh/known_hosts")).unwrap();
        assert_eq!(hosts.is_empty(), known.is_none(), "a host was added");
    }
    assert_eq!(origin.tip(), None);
    let client = sshd.client(Some("host"));
    run_by(&fleet, &client, &["publish", "--first"]).ends(0).outcome("eu", "published");
    fleet.secret("eu", "c0", "value: changed");
    run_by(&fleet, &client, &["publish"]).ends(0).outcome("eu", "published");
    run_by(&fleet, &client, &["publish"]).ends(0).outcome("eu", "unchanged");
    assert_eq!(origin.commits(), 2);
    origin.check();
}

#[test]
fn ssh_tells_a_refusal_from_a_broken_connection() {
    let Some((fleet, sshd)) = by_ssh("") else { return };
    let (origin, client) = (Origin::known(&fleet), sshd.client(Some("host")));
    run_by(&fleet, &client, &["publish", "--first"]).ends(0);
    fleet.secret("eu", "c0", "value: changed");
    // The server's side dies before it says anything: nobody knows.
    origin.hook("pre-receive", "kill -9 $PPID");
    run_by(&fleet, &client, &["publish"]).ends(5).says("is published is unknown");
    // It dies after it moved the branch.
    origin.hook("pre-receive", "true");
    origin.hook("post-receive", "kill -9 $PPID");
    run_by(&fleet, &client, &["publish"]).ends(0).outcome("eu", "published");
    assert_eq!(origin.commits(), 2);
    drop(sshd);
    run_by(&fleet, &client, &["publish"]).ends(5).says("cannot be reached");
}

#[test]
fn a_key_that_may_only_read_is_refused_with_the_servers_words() {
    let forced = "command=\"case $SSH_ORIGINAL_COMMAND in git-upload-pack*) eval $SSH_ORIGINAL_COMMAND;; \
                  *) echo this key may only read >&2; exit 1;; esac\"";
    let Some((fleet, sshd)) = by_ssh(forced) else { return };
    let ran = run_by(&fleet, &sshd.client(Some("host")), &["publish", "--first"]).ends(1);
    let ran = ran.says("the push was refused").says("this key may only read");
    assert!(!ran.stderr.contains("starting over"), "{}", ran.stderr);
    assert_eq!(Origin::known(&fleet).tip(), None);
}

/// A server is believed whose certificate somebody signed whom git trusts, and no other: for the sources and for what is
/// published.
#[test]
fn https_publishes_where_the_certificate_is_trusted_and_nowhere_else() {
    let (authority, other) = (tls::Authority::new(), tls::Authority::new());
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    let server = GitServer::with_tls(&fleet.path(""), authority.server());
    fleet.configure("reuseKey", QUICK);
    fleet.configure("repository: repo.git", &format!("repository: '{}'", server.url("repo.git")));
    let run = |trusted: Option<&str>, arguments: &[&str]| {
        let mut command = fleet.command(arguments);
        if let Some(ca) = trusted {
            fleet.write("ca.pem", ca);
            command.env("GIT_SSL_CAINFO", fleet.path("ca.pem"));
        }
        Ran::from(command.output().unwrap())
    };
    for trusted in [None, Some(&*other.ca)] {
        run(trusted, &["publish", "--first"]).ends(5).says("certificate").says("GIT_SSL_CAINFO");
    }
    assert!(server.asked().is_empty() && origin.tip().is_none(), "something was said to a stranger");
    run(Some(&authority.ca), &["publish", "--first"]).ends(0).outcome("eu", "published");
    fleet.secret("eu", "c0", "value: changed");
    run(Some(&authority.ca), &["publish"]).ends(0).outcome("eu", "published");
    run(Some(&authority.ca), &["publish"]).ends(0).outcome("eu", "unchanged");
    // The same for a source.
    let manifests = fleet.path("manifests").display().to_string();
    for words in ["init -q -b main", "add .", "-c user.name=o -c user.email=o@x commit -qm x"] {
        origin.git(&["-C", &manifests].into_iter().chain(words.split(' ')).collect::<Vec<&str>>());
    }
    let url = server.url("manifests/.git");
    fleet.configure("directory: {path: manifests}", &format!("git: {{repository: '{url}'}}"));
    // The bundle tells by which source its objects came.
    run(Some(&authority.ca), &["publish"]).ends(0).outcome("eu", "published");
    run(Some(&other.ca), &["publish"]).ends(5);
    fleet.configure(&server.url("repo.git"), "repo.git");
    run(Some(&other.ca), &["publish"]).ends(5).says("certificate");
    run(Some(&authority.ca), &["publish"]).ends(0).outcome("eu", "unchanged");
    assert_eq!(origin.commits(), 3);
    origin.check();
}

/// A checkout in which somebody works is read as it is committed, and published to beside the branch that is checked
/// out; what stands in the work tree and in the index stays as it is.
#[test]
fn a_checkout_in_which_somebody_works_is_read_and_written_beside_him() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    let desk = fleet.path("desk").display().to_string();
    let at_desk = |words: &[&str]| origin.git(&[&["-C", &desk], words].concat());
    origin.git(&["init", "-q", "-b", "main", &desk]);
    fs::rename(fleet.path("manifests"), fleet.path("desk/manifests")).unwrap();
    at_desk(&["add", "."]);
    at_desk(&["commit", "-qm", "x"]);
    let committed = fleet.read("desk/manifests/eu-c0.yaml");
    // Changed, changed and added, new, removed, and somewhere between two branches.
    fleet.write("desk/manifests/eu-c0.yaml", committed.replace("value: ", "value: dirty-"));
    at_desk(&["add", "."]);
    fleet.write("desk/manifests/eu-c0.yaml", committed.replace("value: ", "value: dirtier-"));
    fleet.write("desk/manifests/new.yaml", "not: [even YAML");
    fs::remove_file(fleet.path("desk/manifests/us-c0.yaml")).unwrap();
    fleet.write("desk/bundles/mine", "my own");
    let state =
        || (at_desk(&["status", "--porcelain=v2", "-uall"]), at_desk(&["write-tree"]), fleet.tree("desk/manifests"));
    let before = state();
    fleet.configure("directory: {path: manifests}", "git: {repository: desk, path: manifests}");
    fleet.configure("repository: repo.git, branch: main", "repository: desk, branch: published");
    fleet.run(&["publish", "--first"]).ends(0).outcome("eu", "published").outcome("us", "published");
    fleet.run(&["publish"]).ends(0).outcome("eu", "unchanged").outcome("us", "unchanged");
    assert_eq!(state(), before);
    assert_eq!(fleet.read("desk/bundles/mine"), "my own");
    assert_eq!(at_desk(&["rev-list", "--count", "published"]), "1");
    // The branch that is checked out is refused by git, whatever is set there: files would have to be written over.
    let tip = at_desk(&["rev-parse", "main"]);
    fleet.configure("branch: published", "branch: main");
    for set in ["refuse", "updateInstead"] {
        at_desk(&["config", "receive.denyCurrentBranch", set]);
        fleet.run(&["publish", "--first"]).ends(1).says("the push was refused");
        assert_eq!((state(), at_desk(&["rev-parse", "main"])), (before.clone(), tip.clone()), "{set}");
    }
}

/// Every argument of every process on this machine, from time to time, until the run ends.
fn arguments_during(mut command: Command) -> (Ran, BTreeSet<String>) {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    let waits = std::thread::spawn(move || child.wait_with_output().unwrap());
    let mut seen = BTreeSet::new();
    while !waits.is_finished() {
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            // The programs of other tests have their own secrets.
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            if line.contains("git") || entry.file_name().to_string_lossy() == pid.to_string() {
                seen.insert(line);
            }
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    (Ran::from(waits.join().unwrap()), seen)
}

/// Two ways by which CI hands a token to git: a credential helper, and a header in variables.
#[test]
fn a_token_reaches_the_server_and_nobody_else() {
    use base64::Engine as _;
    let basic = base64::engine::general_purpose::STANDARD.encode(format!("bot:{TOKEN}"));
    for way in ["helper", "header"] {
        let fleet = Fleet::with_credentials(1);
        let origin = Origin::new(&fleet, "");
        let server = GitServer::new(&fleet.path(""));
        server.demand(&format!("bot:{TOKEN}"));
        fleet.configure("reuseKey", QUICK);
        fleet.configure("repository: repo.git", &format!("repository: '{}'", server.url("repo.git")));
        fs::create_dir_all(fleet.path("home")).unwrap();
        // The control: without the token nobody gets in.
        fleet.run(&["publish", "--first"]).ends(5).says("could not read Username").says("credential helper");
        let seen = fleet.path("seen");
        let script = format!("printf '%s\\n' \"$@\" >> '{}'", seen.display());
        let given = |mut command: Command| {
            if way == "helper" {
                let helper = "!f() { echo username=bot; echo password=$FORGE_TOKEN; }; f";
                fleet.write("home/.gitconfig", format!("[credential]\n\thelper = \"{helper}\"\n"));
                command.env("FORGE_TOKEN", TOKEN);
            } else {
                command.env("GIT_CONFIG_COUNT", "1").env("GIT_CONFIG_KEY_0", "http.extraHeader");
                command.env("GIT_CONFIG_VALUE_0", format!("Authorization: Basic {basic}"));
            }
            command.env("GIT_TRACE_CURL", "/dev/stderr").env("GIT_CURL_VERBOSE", "1");
            command
        };
        let mut verbose = given(origin.wrapped(&script, &["-v", "--summary", "summary.json"]));
        verbose.args(["--log-level", "trace"]);
        let (ran, mut arguments) = arguments_during(verbose);
        let ran = ran.ends(0).outcome("eu", "published");
        assert!(server.asked().iter().any(|asked| asked.header("authorization") == Some(&format!("Basic {basic}"))));
        assert!(arguments.iter().any(|line| line.contains("push")), "no push was seen: {arguments:?}");
        arguments.insert(fleet.read("seen"));
        // And where the server repeats what it was sent.
        fleet.secret("eu", "c0", "value: changed");
        let words: &'static str = format!("refused: {TOKEN} {basic}").leak();
        server.spoil("service=git-receive-pack", Fault::Status(403, words));
        let refused = Ran::from(given(fleet.command(&["publish"])).output().unwrap()).ends(1).says("refused: ");
        for secret in [TOKEN, basic.as_str()] {
            assert!(!arguments.iter().any(|line| line.contains(secret)), "{way}: in an argument");
            assert!(!ran.stderr.contains(secret) && !ran.stdout.contains(secret), "{way}: {}", ran.stderr);
            // Of two ways to write it, what the environment holds is known.
            let known = if way == "helper" { TOKEN } else { basic.as_str() };
            assert!(secret != known || !refused.stderr.contains(secret), "{way}: {}", refused.stderr);
            for (path, bytes) in fleet.tree("") {
                let is_there = bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
                assert!(!is_there, "{way}: in {path}");
            }
        }
        assert_eq!(origin.commits(), 1);
    }
}

/// What git could take for an option, a program or another line.
#[test]
fn repositories_and_branches_start_no_program() {
    let fleet = Fleet::with_credentials(1);
    Origin::new(&fleet, "");
    let config = fleet.read("pouch.yaml");
    let touch = format!("touch {}", fleet.path("pwned").display());
    let repositories = [
        format!("--upload-pack={touch}"),
        format!("--receive-pack={touch}"),
        format!("-c core.sshCommand={touch}"),
        format!("ext::sh -c {touch}"),
        format!("ext::sh -c {touch} %S"),
        format!("fd::17/{touch}"),
        format!("ssh://-oProxyCommand={touch}/x"),
        format!("ssh://git@-oProxyCommand={touch}/x"),
        format!("git@-oProxyCommand={touch}:x"),
        format!("repo.git\\n--upload-pack={touch}"),
        format!("repo.git\\0{touch}"),
        format!("repo.git\\r{touch}"),
        "http://git.example.com/repo.git".to_owned(),
        "git://git.example.com/repo.git".to_owned(),
        String::new(),
    ];
    for repository in &repositories {
        fleet.write("pouch.yaml", config.replace("repository: repo.git", &format!("repository: \"{repository}\"")));
        let ran = fleet.run(&["publish", "--first"]);
        assert_eq!(ran.code, 64, "{repository:?}: {}", ran.stderr);
    }
    for branch in [
        format!("--receive-pack={touch}"),
        "main:refs/heads/other".to_owned(),
        "main\\n".to_owned(),
        "main\\0".to_owned(),
        "../main".to_owned(),
        "main.lock/".to_owned(),
        "@{-1}".to_owned(),
    ] {
        fleet.write("pouch.yaml", config.replace("branch: main", &format!("branch: \"{branch}\"")));
        let ran = fleet.run(&["publish", "--first"]);
        assert_eq!(ran.code, 64, "{branch:?}: {}", ran.stderr);
    }
    assert!(!fleet.has("pwned"));
}

/// Variables that turn git elsewhere, and folders in which others leave programs.
#[test]
fn the_environment_turns_git_nowhere_else() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    let pwned = fleet.path("pwned");
    let plant = |path: &str| {
        fleet.write(path, format!("#!/bin/sh\ntouch '{}'\nexit 1\n", pwned.display()));
        fs::set_permissions(fleet.path(path), fs::Permissions::from_mode(0o755)).unwrap();
    };
    for program in ["git", "bin/git", "ssh", "hooks/pre-push", "hooks/reference-transaction", "hooks/post-index-change"]
    {
        plant(program);
    }
    fs::create_dir_all(fleet.path("template")).unwrap();
    std::os::unix::fs::symlink(fleet.path("hooks"), fleet.path("template/hooks")).unwrap();
    let path = std::env::var("PATH").unwrap();
    let hooks = format!("'core.hooksPath={}'", fleet.path("hooks").display());
    let mut command = fleet.command(&["publish", "--first"]);
    command.env("PATH", format!(".::bin:{path}")).env("GIT_CONFIG_PARAMETERS", hooks);
    command.env("GIT_TEMPLATE_DIR", fleet.path("template")).env("GIT_DIR", fleet.path("elsewhere"));
    command.env("GIT_ALLOW_PROTOCOL", "ext").env("GIT_OBJECT_DIRECTORY", fleet.path("elsewhere"));
    command
        .env("GIT_INDEX_FILE", fleet.path("elsewhere"))
        .env("GIT_NAMESPACE", "elsewhere")
        .env("GIT_QUARANTINE_PATH", ".");
    command
        .env("GIT_DEFAULT_HASH", "sha256")
        .env("GIT_WORK_TREE", "/")
        .env("GIT_SHALLOW_FILE", fleet.path("elsewhere"));
    Ran::from(command.output().unwrap()).ends(0).outcome("eu", "published");
    assert!(!fleet.has("pwned") && !fleet.has("elsewhere"));
    assert_eq!(origin.git(&["for-each-ref", "--format=%(refname)", "refs/heads", "refs/tags"]), "refs/heads/main");
    origin.check();
    // The control: a shell that is given the same path runs the program that lies there.
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "git"]).current_dir(fleet.path("")).env("PATH", format!(".::bin:{path}"));
    assert!(!shell.status().unwrap().success() && fleet.has("pwned"));
}
