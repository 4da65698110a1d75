//! How runs end in the corners: what the machine does not give, and what cannot be told afterwards.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::fleet::{Fleet, Ran};
use crate::support::origin::Origin;
use crate::support::skipped_anywhere;
use crate::support::strace::{Strace, Watched, spoiling};

const SUMMARY: [&str; 2] = ["--summary", "summary.json"];

/// The summary, which keeps its schema.
fn summary(fleet: &Fleet) -> Value {
    let summary: Value = serde_json::from_str(&fleet.read("summary.json")).unwrap();
    let schema = serde_json::from_str(include_str!("../../../../schemas/summary.schema.json")).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let faults: Vec<String> = schema.iter_errors(&summary).map(|error| error.to_string()).collect();
    assert!(faults.is_empty(), "{faults:?}");
    summary
}

#[test]
fn a_run_that_failed_writes_a_summary_too() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    let failed = |arguments: &[&str], code: i32, message: &str| {
        let ran = fleet.run(&[arguments, &SUMMARY].concat()).ends(code);
        let summary = summary(&fleet);
        assert_eq!((&summary["exitCode"], &summary["command"]), (&code.into(), &arguments[0].into()), "{summary}");
        let failure = summary["failure"]["message"].as_str().unwrap();
        assert!(failure.contains(message) && ran.stderr.contains(message), "{failure}");
        assert!(summary.get("regions").is_none(), "{summary}");
        summary
    };
    assert_eq!(failed(&["publish", "--replace-unsigned", "nowhere"], 64, "nowhere")["fleet"], "acme");
    fs::rename(fleet.path("repo.git"), fleet.path("gone.git")).unwrap();
    failed(&["publish"], 5, "the output repository cannot be reached");
    failed(&["rekey"], 5, "the output repository cannot be reached");
    fleet.write("pouch.yaml", "kind: [");
    assert!(failed(&["render"], 64, "pouch.yaml").get("fleet").is_none());
    // Where it did its work, nothing says that it failed.
    fs::rename(fleet.path("gone.git"), fleet.path("repo.git")).unwrap();
    let fleet = Fleet::with_credentials(1);
    fleet.render(&SUMMARY).ends(0);
    assert!(summary(&fleet).get("failure").is_none());
}

/// What cannot be told after the push is no failure of the push.
#[test]
fn a_summary_that_cannot_be_written_takes_nothing_back() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    let ran = origin.publish(&["--summary", "/dev/full"]).ends(1).says("cannot write the summary");
    let tip = origin.tip().unwrap();
    assert!(ran.stderr.contains(&format!("{tip} is published; only the summary is missing")), "{}", ran.stderr);
    origin.publish(&["--summary", "summary.json"]).ends(0);
}

/// Sixteen stacks of 256 MiB have no place in 1 GiB of addresses. Where the next one does not fit, there is still room for
/// what those that run need: small stacks would use up all of it, and then anything may fail first.
#[test]
fn without_threads_a_run_fails_by_name() {
    let fleet = Fleet::with_credentials(1);
    let limited = |threads: &str, arguments: &str| {
        let mut shell = Command::new("sh");
        let script = format!("ulimit -v 1048576; exec {} {arguments}", env!("CARGO_BIN_EXE_pouch"));
        shell.args(["-ec", &script]).current_dir(fleet.path("")).env("RAYON_NUM_THREADS", threads);
        shell.env("RUST_MIN_STACK", (256 << 20).to_string()).env("MALLOC_ARENA_MAX", "1");
        Ran::from(shell.output().unwrap())
    };
    limited("16", "render --summary summary.json").ends(1).says("no threads can be started").says("RAYON_NUM_THREADS");
    assert_eq!(summary(&fleet)["exitCode"], 1);
    assert!(!fleet.has("bundles"));
    // The control: few threads fit.
    limited("2", "render").ends(0);
}

#[test]
fn a_folder_for_temporary_files_that_cannot_be_used_is_named() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    fleet.write("file", "");
    for folder in ["nowhere", "file"] {
        let mut command = fleet.command(&["publish", "--first"]);
        let ran = Ran::from(command.env("TMPDIR", fleet.path(folder)).output().unwrap()).ends(1);
        assert!(ran.stderr.contains(folder) && ran.stderr.contains("TMPDIR"), "{}", ran.stderr);
        assert_eq!(origin.tip(), None);
    }
}

/// A small file system for temporary files, where this user may make one; a run that finds it full fails by name.
#[test]
fn a_full_folder_for_temporary_files_is_named() {
    let fleet = Fleet::with_credentials(40);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    fleet.secret("eu", "c0", "value: changed");
    let tip = origin.tip();
    let Some(ran) = with_little_space(&fleet, "publish") else { return };
    ran.ends(1).says("No space left on device").says("TMPDIR");
    assert_eq!(origin.tip(), tip);
}

/// Where this machine has no space, a source that needs it waits, and no other; where all depend on it, the run says so.
#[test]
fn a_full_folder_for_temporary_files_stops_those_who_need_it() {
    let fleet = Fleet::with_credentials(1);
    let make = "git init -q --bare --initial-branch=main team.git; git init -q team; cd team; head -c 300000 /dev/urandom > big; \
                git add big; git -c user.name=a -c user.email=a@b commit -qm big; git push -q ../team.git HEAD:main";
    let mut shell = Command::new("sh");
    shell.args(["-ec", make]).current_dir(fleet.path("")).env("GIT_CONFIG_GLOBAL", "/dev/null");
    assert!(shell.status().unwrap().success());
    let url = format!("file://{}", fleet.path("team.git").display());
    fleet.configure(
        "sources: [{name: manifests, directory: {path: manifests}}]",
        &format!(
            "sources:\n- {{name: manifests, directory: {{path: manifests}}, provides: {{namespaces: ['*'], clusterScoped: true}}}}\n\
             - {{name: team, git: {{repository: '{url}', ref: main}}, provides: {{namespaces: [team-z]}}}}\n#"
        ),
    );
    let alone = "provides: {namespaces: [team-z]}";
    let trusted = "provides: {namespaces: [team-z], clusterScoped: true}";
    fleet.configure(alone, trusted);
    let Some(ran) = with_little_space(&fleet, "render") else { return };
    ran.ends(1).says("source team").says("TMPDIR");
    assert!(!fleet.has("bundles/regions"));
    fleet.configure(trusted, alone);
    let Some(ran) = with_little_space(&fleet, "render") else { return };
    ran.ends(3).says("error[unavailable-source]: source team").says("TMPDIR").outcome("eu", "published");
    let Some(ran) = with_little_space(&fleet, &format!("exposure {url}")) else { return };
    ran.ends(1).says("No space left on device").says("TMPDIR");
    // The control: with space the source is read, and found to hold no manifest.
    fleet.render(&[]).ends(3).says("include and exclude leave none");
}

/// Runs pouch with 64 KiB for temporary files, where this user may mount a file system.
fn with_little_space(fleet: &Fleet, arguments: &str) -> Option<Ran> {
    let small = fleet.path("small");
    fs::create_dir_all(&small).unwrap();
    fs::set_permissions(&small, fs::Permissions::from_mode(0o700)).unwrap();
    let script = format!(
        "mount -t tmpfs -o size=64k tmpfs small || exit 99; TMPDIR={} exec {} {arguments}",
        small.display(),
        env!("CARGO_BIN_EXE_pouch")
    );
    let mut unshare = Command::new("unshare");
    unshare.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]).current_dir(fleet.path(""));
    let Ok(output) = unshare.output() else {
        skipped_anywhere("there is no unshare");
        return None;
    };
    let ran = Ran::from(output);
    if ran.code == 99 || ran.stderr.contains("unshare") {
        skipped_anywhere(&format!("no file system can be mounted here: {}", ran.stderr));
        return None;
    }
    Some(ran)
}

/// Whenever the system has no random bytes, from the first time they are asked for to the last.
///
/// Each thread counts for itself, and nobody knows which of two seals what: there are enough Secrets for both.
#[test]
fn without_random_bytes_a_run_fails_by_name() {
    let Some(strace) = Strace::find() else { return };
    let fleet = Fleet::with_credentials(8);
    let ran = |nth: usize| {
        let options = spoiling("getrandom", &format!("error=EIO:when={nth}+"));
        let mut render = strace.around(Watched::Alone, &options, &fleet.command(&["render"]));
        Ran::from(render.env("RAYON_NUM_THREADS", "2").output().unwrap())
    };
    let mut failed = 0;
    // The first is the C library's own, which does without.
    for nth in 1..100 {
        let ran = ran(nth);
        if ran.code == 0 {
            break;
        }
        ran.ends(1).says("the operating system gives no random bytes");
        assert!(!fleet.has("bundles/regions"));
        failed += 1;
    }
    assert!(failed >= 3 && fleet.has("bundles/regions"), "{failed}");
}

/// What stands in the folder for temporary files.
fn left(fleet: &Fleet) -> Vec<String> {
    let entries = fs::read_dir(fleet.path("tmp")).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn what_a_killed_run_leaves_goes_with_the_next_and_what_is_in_use_stays() {
    let fleet = Fleet::with_credentials(3);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    fleet.secret("eu", "c0", "value: changed");
    fs::create_dir(fleet.path("tmp/pouch-mine01")).unwrap();
    let mut kills = 0;
    for milliseconds in (0..400).step_by(10) {
        let mut run = fleet.command(&["publish"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds));
        run.kill().unwrap();
        run.wait().unwrap();
        kills += usize::from(left(&fleet).len() > 1);
        if kills == 3 {
            break;
        }
    }
    assert!(kills > 0, "no kill came while there was a folder");

    // One that waits for the server while others come and go.
    origin.hook("pre-receive", "touch ../waits; while ! test -e ../goes; do sleep 0.05; done");
    fleet.secret("eu", "c1", "value: changed too");
    let waiting = fleet.command(&["publish"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while !fleet.has("waits") {
        assert!(Instant::now() < deadline, "the push never came");
        std::thread::sleep(Duration::from_millis(20));
    }
    fleet.run(&["verify"]).ends(0);
    let mut in_use: Vec<String> = left(&fleet).into_iter().filter(|name| name != "pouch-mine01").collect();
    in_use.sort();
    assert_eq!(in_use.len(), 2, "{in_use:?}");
    assert_eq!(in_use[0], format!(".{}.lock", in_use[1]));
    fleet.write("goes", "");
    Ran::from(waiting.wait_with_output().unwrap()).ends(0);
    assert_eq!(left(&fleet), ["pouch-mine01"]);
    fs::remove_dir(fleet.path("tmp/pouch-mine01")).unwrap();
    origin.check();
}
