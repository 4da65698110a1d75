//! What runs note beside the branch: nothing older is published over newer, and what did not change is not done again.

mod authors;
mod below;
mod room;
mod sources;

use std::fs;
use std::process::Command;

use crate::support::fleet::{CANARY, EU, Fleet, Ran, credential, secret};
use crate::support::githttp::GitServer;
use crate::support::origin::Origin;

/// Two teams with a repository each: `eu-team`, which may provide its own namespace, and the platform, which may
/// provide everything else.
struct Teams {
    fleet: Fleet,
}

impl Teams {
    fn new(more: &str) -> Self {
        let fleet = Fleet::new();
        Origin::new(&fleet, more);
        fleet.configure(
            "sources: [{name: manifests, directory: {path: manifests}}]",
            "sources:\n\
             - {name: platform, git: {repository: platform.git}, provides: {namespaces: ['us-*'], clusterScoped: true}}\n\
             - {name: team, git: {repository: team.git}, provides: {namespaces: ['eu-*']}}",
        );
        let teams = Self { fleet };
        for (region, name) in [("us", "platform"), ("eu", "team")] {
            teams.script(
                name,
                "git init -q --bare -b main ../$name.git; git init -q -b main; git remote add o ../$name.git",
            );
            teams.set(name, region, "first");
        }
        teams
    }

    fn origin(&self) -> Origin<'_> {
        Origin::known(&self.fleet)
    }

    /// Runs a shell script in a source's work tree.
    #[track_caller]
    fn script(&self, name: &str, script: &str) -> String {
        fs::create_dir_all(self.fleet.path(name)).unwrap();
        let mut command = Command::new("sh");
        command.args(["-euc", script]).current_dir(self.fleet.path(name)).env_clear();
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path))).env("name", name);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        for variable in ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"] {
            command.env(variable, "o@x");
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{script}\n{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Commits and pushes whatever stands in a source's work tree; gives the commit.
    #[track_caller]
    fn commit(&self, name: &str) -> String {
        self.script(
            name,
            "git add -A; git commit -q --allow-empty -m x; git push -q -f o HEAD:main; git rev-parse HEAD",
        )
    }

    /// Gives a source's one Secret a value; gives the commit.
    #[track_caller]
    fn set(&self, name: &str, region: &str, value: &str) -> String {
        let namespace = format!("{region}-team");
        let value = secret(&namespace, "c", &format!("value: {CANARY}-{value}"));
        self.fleet.write(&format!("{name}/secret.yaml"), value);
        self.fleet.write(&format!("{name}/c.yaml"), credential(region, &namespace, "c", ["v1", "Secret", "c"]));
        self.commit(name)
    }

    /// Turns what others fetch of a source to a commit.
    #[track_caller]
    fn turn(&self, name: &str, commit: &str) {
        self.script(name, &format!("git push -q -f o {commit}:main"));
    }

    /// Publishes; whether the run told again what an earlier one told.
    #[track_caller]
    fn publish(&self, arguments: &[&str]) -> (Ran, bool) {
        let ran = self.origin().publish(&[&["-v"], arguments].concat());
        let again = ran.stderr.contains("what it told is told again");
        (ran, again)
    }

    /// Publishes until nothing is left to be done, so that the next run may be spared.
    #[track_caller]
    fn settle(&self) {
        for _ in 0..2 {
            self.publish(&[]).0.ends(0);
        }
        assert!(self.publish(&[]).1, "{}", self.publish(&[]).0.stderr);
    }

    /// The reference of the stamp, and its commit.
    #[track_caller]
    fn stamp(&self) -> (String, String) {
        let all = self.origin().git(&["for-each-ref", "--format=%(refname) %(objectname)", "refs/pouch"]);
        let (reference, commit) = all.split_once(' ').unwrap();
        assert!(reference.starts_with("refs/pouch/acme/") && !commit.contains('\n'), "{all}");
        (reference.to_owned(), commit.to_owned())
    }
}

/// What a run tells, without what it says of how it came to it.
fn told(ran: &Ran) -> (String, Vec<String>) {
    let is_of_reading =
        |line: &str| ["source ", "debug ", "nothing changed since"].iter().any(|of| line.starts_with(of));
    (ran.stdout.clone(), ran.stderr.lines().filter(|line| !is_of_reading(line)).map(str::to_owned).collect())
}

#[test]
fn what_did_not_change_is_told_again_and_nothing_else() {
    let teams = Teams::new("");
    let fleet = &teams.fleet;
    // One Credential is broken: its finding and the exit code come again too.
    fleet.write("team/broken.yaml", credential("eu", "eu-team", "broken", ["v1", "Secret", "nothing"]));
    teams.commit("team");
    assert!(!teams.publish(&[]).1);
    let (looked, again) = teams.publish(&["--summary", "one.json"]);
    assert!(!again && looked.code == 3);
    for _ in 0..2 {
        let (spared, again) = teams.publish(&["--summary", "two.json"]);
        assert!(again, "{}", spared.stderr);
        assert_eq!((spared.code, told(&spared)), (3, told(&looked)));
        assert_eq!(fleet.read("two.json"), fleet.read("one.json"));
    }
    assert_eq!(teams.origin().commits(), 1);
    let differs = |what: &str, change: &dyn Fn()| {
        change();
        assert!(!teams.publish(&[]).1, "{what}");
        teams.publish(&[]);
        let (ran, again) = teams.publish(&[]);
        assert!(again, "{what}: {}", ran.stderr);
    };
    differs("a source", &|| _ = teams.commit("platform"));
    differs("the configuration", &|| fleet.configure("reuseKey:", "limits: {attempts: 4}\nreuseKey:"));
    differs("where messages end up", &|| {
        fleet.configure("limits: {attempts: 4}", "findings: {missing-companion: warning}")
    });
    differs("a file of the output", &|| {
        teams.origin().commit_beside("echo x >> bundles/regions/eu/core/kustomization.yaml");
    });
    differs("a file that steers the output", &|| teams.origin().commit_beside("echo x > .sourceignore"));
    // Whatever else people commit changes nothing.
    teams.origin().commit_beside("echo x > README");
    assert!(teams.publish(&[]).1);
    // What somebody lets through is looked at.
    assert!(!teams.publish(&["--withdraw", "broken"]).1);
}

/// What expires is found on the day, although nothing else changed.
#[test]
fn what_was_told_holds_for_a_day() {
    let teams = Teams::new("");
    teams.fleet.configure(EU, &format!("{{key: {EU}, name: alice, until: 2026-03-01}}"));
    let on = |time: &str| {
        let mut command = teams.fleet.command(&["publish", "-v", "--first"]);
        command.env("SOURCE_DATE_EPOCH", time);
        let ran = Ran::from(command.output().unwrap());
        (ran.stderr.contains("what it told is told again"), ran.stderr.contains("recipient-outdated"))
    };
    // The first second of 2026-03-01, and its last; then the day after.
    let (first, last, after) = ("1772323200", "1772409599", "1772409600");
    on(first);
    on(first);
    assert_eq!((on(first), on(last)), ((true, false), (true, false)));
    assert_eq!(on(after), (false, true));
    assert_eq!(on(after), (true, true));
}

/// What nobody is shown is counted where it is too much to be noted; whoever asks to be told has it looked at.
#[test]
fn much_information_keeps_no_run_busy() {
    let teams = Teams::new("");
    let fleet = &teams.fleet;
    let one = |at: usize| {
        // A namespace has a limit of its own.
        let (namespace, name) = (format!("eu-{}", at / 400), format!("c{at}"));
        let credential = credential("eu", &namespace, &name, ["v1", "Secret", &name]);
        format!("---\n{}\n---\n{credential}\n", secret(&namespace, &name, &format!("value: {CANARY}-{at}")))
    };
    // Each is without a template, which is a piece of information.
    fleet.write("team/many.yaml", (0..2_001).map(one).collect::<String>());
    fleet.write("team/broken.yaml", credential("eu", "eu-team", "broken", ["v1", "Secret", "nothing"]));
    teams.commit("team");
    let metrics = |arguments: &[&str]| {
        let ran = teams.origin().publish(&[&["--metrics", "m.prom"], arguments].concat());
        let text = fleet.read("m.prom");
        let lines = |of: &str| text.lines().filter(|line| line.starts_with(of)).map(str::to_owned).collect::<Vec<_>>();
        let has_read = lines("pouch_stage_seconds").iter().any(|line| line.contains("\"survey\""));
        (ran.code, has_read, lines("pouch_findings"), ran)
    };
    teams.publish(&[]).0.ends(3);
    let (code, has_read, findings, looked) = metrics(&[]);
    assert!(code == 3 && has_read, "{looked:?}");
    let infos: Vec<&String> = findings.iter().filter(|line| line.contains("missing-companion")).collect();
    assert!(matches!(&*infos, [one] if one.ends_with(" 2004")), "{findings:?}");
    let (code, has_read, again, spared) = metrics(&[]);
    assert_eq!((code, has_read, &again), (3, false, &findings));
    assert_eq!((&spared.stdout, &spared.stderr), (&looked.stdout, &looked.stderr));
    for all in [["-v"].as_slice(), &["--summary", "all.json"]] {
        let (code, has_read, again, ran) = metrics(all);
        assert_eq!((code, has_read, &again), (3, true, &findings), "{all:?}");
        let told = if all == ["-v"] { ran.stderr } else { fleet.read("all.json") };
        assert!(told.contains("c2000") && told.contains("missing-companion"), "{all:?}");
    }
    // So does who has another command tell all.
    for all in [
        ["plan", "-o", "json"].as_slice(),
        &["plan", "-v"],
        &["check", "-o", "json"],
        &["check", "-v"],
        &["check", "--deny", "info"],
        &["check", "--write-baseline", "known.json"],
    ] {
        let ran = fleet.run(all);
        let file = if all.contains(&"known.json") { fleet.read("known.json") } else { String::new() };
        let told = [ran.stdout, ran.stderr, file].concat();
        assert!(told.contains("missing-companion"), "{all:?}: {told}");
        assert!(told.contains("c2000") || told.contains("(2005 findings, "), "{all:?}: {told}");
    }
    for part in [["plan"].as_slice(), &["check"], &["check", "--deny", "warning"]] {
        let ran = fleet.run(part);
        assert!(!(ran.stdout + &ran.stderr).contains("missing-companion"), "{part:?}");
    }
    // Nor does such a run spoil what is noted.
    assert!(!metrics(&[]).1);
    // What matters is counted beyond what is listed, so that it can be told again, too.
    let nothing = |at: usize| credential("eu", "eu-team", &format!("n{at}"), ["v1", "Secret", &format!("n{at}")]);
    fleet.write("team/broken.yaml", (0..4_000).map(|at| format!("---\n{}\n", nothing(at))).collect::<String>());
    teams.commit("team");
    teams.publish(&[]).0.ends(3);
    let (code, _, findings, _) = metrics(&[]);
    let (code_again, has_read, again, _) = metrics(&[]);
    assert_eq!((code_again, has_read, again), (code, false, findings));
}

/// Somebody else's stamp is none, nor is one of another time or place.
#[test]
fn a_stamp_that_somebody_made_gains_nothing() {
    let teams = Teams::new("");
    let origin = teams.origin();
    teams.settle();
    let (reference, good) = teams.stamp();
    let text = origin.git(&["cat-file", "blob", &format!("{good}:stamp")]);
    let put = |text: &str| {
        teams.fleet.write("forged", format!("{text}\n"));
        let file = teams.fleet.path("forged").display().to_string();
        let id = origin.git(&["hash-object", "-w", &file]);
        let tree = teams.script("forge", &format!("printf '100644 blob {id}\\tstamp\\n' | git -C ../repo.git mktree"));
        let commit = teams.script("forge", &format!("git -C ../repo.git commit-tree -m x {tree}"));
        origin.git(&["update-ref", &reference, &commit]);
    };
    // The control: the same bytes in another commit.
    put(&text);
    assert!(teams.publish(&[]).1);
    let (first, rest) = text.split_once('\n').unwrap();
    let (tag, last) = first.split_at(first.len() - 1);
    let other = if last == "A" { "Q" } else { "A" };
    for (what, forged) in [
        ("an edit", text.replace("\"unchanged\"", "\"paused\"")),
        ("no tag", rest.to_owned()),
        ("another tag", format!("{tag}{other}\n{rest}")),
        ("nothing", String::new()),
        ("much", "x".repeat(5 << 20)),
    ] {
        assert_ne!(forged, text, "{what}");
        put(&forged);
        let (ran, again) = teams.publish(&[]);
        assert!(!again, "{what}");
        ran.ends(0).outcome("eu", "unchanged");
        assert!(teams.publish(&[]).1, "{what}: a new one is made");
    }
    // A stamp in a form that it never has, or of another branch.
    origin.git(&["update-ref", &reference, &origin.git(&["rev-parse", "main:bundles"])]);
    assert!(!teams.publish(&[]).1);
    origin.git(&["update-ref", &reference, "refs/heads/main"]);
    assert!(!teams.publish(&[]).1);
    origin.git(&["branch", "other", "main"]);
    teams.fleet.configure("branch: main", "branch: other");
    teams.fleet.run(&["publish"]).ends(0);
    let all = origin.git(&["for-each-ref", "--format=%(refname)", "refs/pouch"]);
    let other = all.lines().find(|other| **other != reference).unwrap().to_owned();
    origin.git(&["update-ref", &other, &good]);
    assert!(!teams.fleet.run(&["publish", "-v"]).ends(0).stderr.contains("told again"));
}

/// An older stamp that somebody puts back spares nothing that changed since.
#[test]
fn an_old_stamp_that_is_put_back_spares_nothing() {
    let teams = Teams::new("");
    teams.settle();
    let (reference, old) = teams.stamp();
    teams.set("team", "eu", "second");
    teams.settle();
    teams.origin().git(&["update-ref", &reference, &old]);
    let (ran, again) = teams.publish(&[]);
    assert!(!again);
    ran.ends(0).outcome("eu", "unchanged");
    // The trailers of the last commit still tell what was read for it.
    teams.settle();
    teams.origin().git(&["update-ref", &reference, &old]);
    teams.turn("team", "HEAD~1");
    teams.publish(&[]).0.ends(3).says("stale-source");
}

#[test]
fn nothing_older_is_published_over_newer() {
    let teams = Teams::new("");
    let file = "bundles/regions/eu/core/secrets/eu-team/c.sops.yaml";
    let at = |teams: &Teams| teams.origin().git(&["rev-parse", &format!("main:{file}")]);
    let old = teams.set("team", "eu", "old");
    teams.publish(&[]).0.ends(0);
    let new = teams.set("team", "eu", "new");
    teams.publish(&[]).0.ends(0).outcome("eu", "published");
    let published = at(&teams);
    // A team's own source that lags behind waits; the others go on.
    teams.turn("team", &old);
    teams.set("platform", "us", "second");
    let ran = teams.publish(&[]).0.ends(3).outcome("us", "published").says("stale-source").says(&new);
    assert!(at(&teams) == published && ran.stderr.contains(&format!("--accept-older team={old} once")));
    // It is not forgotten for that.
    teams.publish(&[]).0.ends(3).says("stale-source");
    assert!(!teams.publish(&[]).1, "what could not be read is looked at again");
    // Whoever means it says so once.
    teams.publish(&["--accept-older", &format!("team={old}")]).0.ends(0).outcome("eu", "published");
    assert_ne!(at(&teams), published);
    teams.publish(&[]).0.ends(0);
    teams.turn("team", &new);
    teams.publish(&[]).0.ends(0).outcome("eu", "published");
    // Runs that changed nothing count too.
    let before = teams.script("team", "git rev-parse HEAD");
    teams.commit("team");
    teams.publish(&[]).0.ends(0).outcome("eu", "unchanged");
    teams.turn("team", &before);
    teams.publish(&[]).0.ends(3).says("stale-source");
    // The source that everybody depends on stops everybody.
    teams.turn("platform", "HEAD~1");
    let ran = teams.publish(&[]).0.ends(5);
    assert!(ran.stderr.contains("source platform: ") && ran.stdout.is_empty(), "{ran:?}");
    for wrong in ["tema=1", &format!("eu={old}")] {
        teams.fleet.run(&["publish", "--accept-older", wrong]).ends(64).says("there are platform, team");
    }
}

/// Another machine, which keeps nothing, fetches as much of the history as it takes, and no more than that.
#[test]
fn a_source_may_be_thousands_of_commits_newer_and_no_more() {
    let teams = Teams::new("");
    let server = GitServer::new(&teams.fleet.path(""));
    teams.fleet.configure("repository: team.git", &format!("repository: '{}'", server.url("team.git")));
    teams.settle();
    let first = teams.script("team", "git rev-parse HEAD");
    // The empty commits come after the one that was read, the last of them the 4,095th.
    let onto = |count: usize| {
        let one =
            |at: usize| format!("commit refs/heads/main\ncommitter o <o@x> {} +0000\ndata 1\nx\n", at + 1_800_000_000);
        let all: String = (1..=count).map(one).collect();
        let stream = all.replacen("data 1\nx\n", &format!("data 1\nx\nfrom {first}\n"), 1);
        teams.fleet.write("stream", stream);
        teams.script("team", "git -C ../team.git update-ref refs/heads/main $(git rev-parse HEAD)");
        teams.script("team", "git -C ../team.git fast-import --quiet --force < ../stream");
    };
    let keeps_nothing = || fs::remove_dir_all(teams.fleet.path("home/.cache")).unwrap();
    for (count, is_stale) in [(63, false), (64, false), (4_095, false), (4_096, true)] {
        onto(count);
        keeps_nothing();
        let (ran, _) = teams.publish(&["--dry-run"]);
        let far = "and none of the 4,096 commits up to there is";
        assert_eq!(ran.stderr.contains("stale-source"), is_stale, "{count}: {}", ran.stderr);
        assert_eq!(ran.stderr.contains(far), is_stale, "{count}: {}", ran.stderr);
    }
    // Whoever kept what was read fetches what is new, however much that is.
    teams.commit("platform");
    teams.script("team", &format!("git -C ../team.git update-ref refs/heads/main {first}"));
    teams.publish(&[]).0.ends(0);
    onto(4_096);
    teams.publish(&[]).0.ends(0).outcome("eu", "unchanged");
}

/// Commits of people and squashed histories have no trailers, and the stamp is beside them.
#[test]
fn a_squash_by_people_forgets_nothing() {
    let teams = Teams::new("");
    teams.set("team", "eu", "second");
    teams.publish(&[]).0.ends(0);
    let script =
        "git checkout -q --orphan squashed; git add -A; git commit -qm squashed; git push -q -f origin HEAD:main";
    teams.origin().run_beside(script);
    teams.turn("team", "HEAD~1");
    teams.publish(&[]).0.ends(3).says("stale-source");
}

/// Where a server takes no such reference, what is published is published, and the last commit's trailers count.
#[test]
fn a_server_that_takes_no_stamp_takes_the_branch() {
    for (hook, script) in [
        (
            "pre-receive",
            "while read old new ref; do case $ref in refs/pouch/*) echo only branches >&2; exit 1;; esac; done",
        ),
        ("update", "case $1 in refs/pouch/*) echo only branches >&2; exit 1;; esac"),
    ] {
        let teams = Teams::new("");
        teams.origin().hook(hook, script);
        let warns = "what was read is not noted beside the branch";
        let ran = teams.publish(&[]).0.ends(0).outcome("eu", "published").says(warns).says("only branches");
        assert!(ran.stderr.contains("output.git.recordSourceState: false"), "{hook}");
        teams.set("team", "eu", "second");
        teams.publish(&[]).0.ends(0).outcome("eu", "published").says(warns);
        teams.fleet.configure("branch: main", "branch: main, recordSourceState: false");
        let (ran, again) = teams.publish(&[]);
        assert!(!again && !ran.ends(0).stderr.contains(warns), "{hook}");
        teams.turn("team", "HEAD~1");
        teams.publish(&[]).0.ends(3).says("stale-source");
        assert_eq!(teams.origin().git(&["for-each-ref", "refs/pouch"]), "");
    }
}

/// A branch that the server protects is refused, and not for the stamp.
#[test]
fn a_refusal_of_the_branch_is_no_refusal_of_the_stamp() {
    for (hook, script) in [("pre-receive", "echo never >&2; exit 1"), ("update", "echo never >&2; exit 1")] {
        let teams = Teams::new("");
        teams.origin().hook(hook, script);
        let ran = teams.publish(&[]).0.ends(1).says("never");
        assert!(!ran.stderr.contains("not noted beside"), "{hook}: {}", ran.stderr);
        assert_eq!(teams.origin().git(&["for-each-ref"]), "");
    }
}

/// A stamp has no history that grows with every run, and servers that refuse to overwrite branches take it.
#[test]
fn stamps_have_no_history() {
    let teams = Teams::new("");
    let origin = teams.origin();
    origin.git(&["config", "receive.denyNonFastForwards", "true"]);
    teams.settle();
    let (reference, first) = teams.stamp();
    for _ in 0..3 {
        teams.publish(&[]).0.ends(0);
    }
    assert_eq!(teams.stamp().1, first, "what says nothing new is not written");
    teams.commit("team");
    teams.settle();
    assert_ne!(teams.stamp().1, first);
    assert_eq!(origin.git(&["rev-list", "--count", &reference]), "1");
    let text = origin.git(&["cat-file", "blob", &format!("{reference}:stamp")]);
    assert!(!text.contains(CANARY) && text.contains(&origin.tip().unwrap()), "{text}");
    origin.check();
}

/// A run on an older state that publishes for others forgets nothing, also where commits alone tell what was read.
#[test]
fn what_one_stale_run_knew_the_next_one_knows() {
    let refuses = "case $1 in refs/pouch/*) exit 1;; esac";
    for mode in ["stamps", "no stamps", "refused"] {
        let teams = Teams::new(if mode == "no stamps" { ", recordSourceState: false" } else { "" });
        if mode == "refused" {
            teams.origin().hook("update", refuses);
        }
        teams.set("team", "eu", "second");
        teams.publish(&[]).0.ends(0);
        teams.turn("team", "HEAD~1");
        for value in ["second", "third", "fourth"] {
            teams.set("platform", "us", value);
            teams.publish(&[]).0.ends(3).says("stale-source").outcome("us", "published");
        }
    }
}

/// What is let through once is not asked for again, also where nothing had to be published for it.
#[test]
fn what_is_accepted_is_accepted_once_and_for_all() {
    let teams = Teams::new("");
    teams.settle();
    let amended = teams.script("team", "git commit -q --amend -m y; git push -q -f o HEAD:main; git rev-parse HEAD");
    teams.publish(&[]).0.ends(3).says("stale-source");
    let flag = format!("team={amended}");
    teams.publish(&["--accept-older", &flag]).0.ends(0);
    teams.publish(&[]).0.ends(0);
    assert!(teams.publish(&[]).1);
}

/// Which branch and which repository is read is the user's choice; what a source is called makes no difference.
#[test]
fn another_place_is_not_compared_and_the_same_place_is() {
    let teams = Teams::new("");
    let old = teams.set("team", "eu", "old");
    teams.set("team", "eu", "new");
    teams.publish(&[]).0.ends(0);
    let team = "{name: team, git: {repository: team.git}";
    for other in [
        format!("{{name: team, git: {{repository: team.git, ref: {{commit: {old}}}}}"),
        "{name: team, git: {repository: 'file://HERE/team.git'}"
            .replace("HERE", &teams.fleet.path("").display().to_string()),
    ] {
        teams.fleet.configure(team, &other);
        let ran = teams.publish(&[]).0;
        assert!(!ran.stderr.contains("stale-source"), "{other}: {}", ran.stderr);
        teams.fleet.configure(&other, team);
    }
    teams.publish(&[]).0.ends(0);
    teams.turn("team", &old);
    teams.fleet.configure(team, "{name: crew, git: {repository: team.git}");
    teams.publish(&[]).0.says("stale-source");
}

/// Whoever puts an older tree and the older stamp back gets what the older sources make of it, and no more.
#[test]
fn an_old_tree_with_its_stamp_is_looked_at() {
    let teams = Teams::new("");
    let origin = teams.origin();
    for n in 0..9 {
        let name = format!("s{n}");
        teams.fleet.write(&format!("team/{name}.yaml"), credential("eu", "eu-team", &name, ["v1", "Secret", &name]));
        teams.fleet.write(&format!("team/{name}-secret.yaml"), secret("eu-team", &name, "value: x"));
    }
    teams.commit("team");
    teams.settle();
    teams.fleet.remove("team/s1-secret.yaml");
    teams.commit("team");
    // It is broken and carried, and a run that changes nothing is told again.
    for _ in 0..2 {
        teams.publish(&[]).0.ends(3);
    }
    assert!(teams.publish(&[]).1);
    let ((reference, stamp), tree) = (teams.stamp(), origin.git(&["rev-parse", "main^{tree}"]));
    let file = "bundles/regions/eu/core/secrets/eu-team/s1.sops.yaml".to_owned();
    assert!(origin.files().contains(&file));
    teams.publish(&["--withdraw", "eu-team/s1"]);
    assert!(!origin.files().contains(&file));
    let tip = origin.tip().unwrap();
    let commit = teams.script("forge", &format!("git -C ../repo.git commit-tree -m x -p {tip} {tree}"));
    origin.git(&["update-ref", "refs/heads/main", &commit]);
    origin.git(&["update-ref", &reference, &stamp]);
    let (ran, again) = teams.publish(&[]);
    assert!(!again && ran.stderr.contains("not-as-published"), "{}", ran.stderr);
    assert!(!origin.files().contains(&file), "{}", ran.stderr);
}

/// A push to a name for another reference moves the other one.
#[test]
fn a_name_in_place_of_a_stamp_leads_to_nothing_that_is_moved() {
    let teams = Teams::new("");
    let origin = teams.origin();
    teams.settle();
    let (reference, stamp) = teams.stamp();
    origin.git(&["update-ref", "refs/heads/theirs", &stamp]);
    origin.git(&["symbolic-ref", &reference, "refs/heads/theirs"]);
    for round in 0..2 {
        teams.set("team", "eu", &format!("round-{round}"));
        let ran = teams.publish(&[]).0.ends(0).outcome("eu", "published");
        ran.says("what was read is not noted beside the branch").says("only names another reference");
        assert_eq!(origin.git(&["rev-parse", "theirs", &reference]), format!("{stamp}\n{stamp}"));
    }
    // The control: without the name it is moved.
    origin.git(&["symbolic-ref", "--delete", &reference]);
    origin.git(&["update-ref", &reference, &stamp]);
    teams.set("team", "eu", "at last");
    teams.publish(&[]).0.ends(0).outcome("eu", "published");
    assert_ne!(teams.stamp().1, stamp);
}

/// Whatever becomes of the stamp, the branch is published.
#[test]
fn a_stamp_that_cannot_be_moved_stops_nobody() {
    let warns = "what was read is not noted beside the branch";
    let moves = "for word; do [ $word = push ] && git -C repo.git update-ref $(cat reference) $(git -C repo.git commit-tree \
                 -m $$-$RANDOM-$(date +%N) main^{tree}); done";
    for way in ["moved", "hidden", "locked", "in the way"] {
        let teams = Teams::new("");
        let origin = teams.origin();
        teams.settle();
        let (reference, _) = teams.stamp();
        teams.fleet.write("reference", &reference);
        match way {
            "hidden" => _ = origin.git(&["config", "uploadpack.hideRefs", "refs/pouch"]),
            "locked" => teams.fleet.write(&format!("repo.git/{reference}.lock"), ""),
            "in the way" => {
                origin.git(&["update-ref", "-d", &reference]);
                origin.git(&["pack-refs", "--all"]);
                fs::remove_dir_all(teams.fleet.path("repo.git/refs/pouch")).ok();
                origin.git(&["update-ref", "refs/pouch/acme", "main"]);
            }
            _ => {}
        }
        for round in 0..2 {
            teams.set("team", "eu", &format!("{way}-{round}"));
            let mut command = origin.wrapped(if way == "moved" { moves } else { ":" }, &["-v"]);
            for variable in ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"] {
                command.env(variable, "o@x");
            }
            let ran = Ran::from(command.output().unwrap()).ends(0).outcome("eu", "published").says(warns);
            assert_eq!(ran.stderr.matches("source team: ").count(), if way == "moved" { 5 } else { 1 }, "{way}");
        }
        if way == "moved" {
            continue;
        }
        let ran = teams.publish(&[]).0.ends(0).outcome("eu", "unchanged").says(warns);
        assert!(ran.stderr.matches("source team: ").count() <= 2, "{way}: {}", ran.stderr);
    }
}

/// A tenant's mistake costs the others no time.
#[test]
fn what_is_wrong_with_a_commit_is_told_again() {
    let teams = Teams::new("");
    teams.fleet.write("team/torn.yaml", "a: [\n");
    let silent = "us-team, annotations: {pouch/silence: 'placeholder-value: it is meant'}}";
    let meant = secret("us-team", "meant", "value: changeme").replacen("us-team}", silent, 1);
    teams.fleet.write("platform/secret.yaml", meant);
    teams.fleet.write("platform/c.yaml", credential("us", "us-team", "meant", ["v1", "Secret", "meant"]));
    teams.commit("platform");
    teams.commit("team");
    for _ in 0..2 {
        teams.publish(&[]).0.ends(3).says("unparsable-document");
    }
    let (ran, again) = teams.publish(&[]);
    assert!(again);
    ran.ends(3).says("unparsable-document").says("  = silenced: it is meant\n");
    // What may be there the next time is looked for.
    teams.fleet.remove("team/torn.yaml");
    teams.commit("team");
    teams.settle();
    assert!(!teams.publish(&["--context", "nosuch"]).1);
}

/// A run that reads while another one publishes something newer starts over.
#[test]
fn a_run_that_read_before_another_one_published_starts_over() {
    let teams = Teams::new("");
    teams.settle();
    let inner = teams.fleet.command(&["publish"]);
    let program = inner.get_program().display().to_string();
    // Another run comes through before the first push of this one.
    let script = format!(
        "for word; do [ $word = push ] || continue; [ -e '{done}' ] && continue; : > '{done}'\n\
         cd '{fleet}' && git -C team commit -q --allow-empty -m x && git -C team push -q -f o HEAD:main && \
         PATH=\"${{PATH#*:}}\" XDG_CACHE_HOME='{fleet}/other' '{program}' publish --no-wait; done",
        done = teams.fleet.path("done").display(),
        fleet = teams.fleet.path("").display(),
    );
    teams.commit("platform");
    let mut command = teams.origin().wrapped(&script, &["-v"]);
    for variable in ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"] {
        command.env(variable, "o@x");
    }
    Ran::from(command.output().unwrap()).ends(0).says("starting over");
    let (reference, _) = teams.stamp();
    let text = teams.origin().git(&["cat-file", "blob", &format!("{reference}:stamp")]);
    for name in ["platform", "team"] {
        assert!(text.contains(&teams.script(name, "git rev-parse HEAD")), "{name}: {text}");
    }
}

/// Who moves the branch back to before a region was withdrawn stops nobody: what stands there again is named, and stays.
#[test]
fn a_branch_that_is_moved_back_brings_no_region_back() {
    let teams = Teams::new("");
    teams.origin().publish(&[]).ends(0);
    let first = teams.origin().tip().unwrap();
    teams.script("platform", "rm c.yaml secret.yaml");
    teams.commit("platform");
    let accepted = teams.origin().publish(&[]).ends(4).acceptance("--accept-deletions", "us");
    teams.origin().publish(&["--accept-deletions", &accepted]).ends(0);
    teams.fleet.configure("  us: {", "  us: {state: retired, ");
    teams.origin().publish(&[]).ends(0).outcome("us", "withdrawn");
    let config = teams.fleet.read("pouch.yaml");
    let rest: Vec<&str> = config.lines().filter(|line| !line.starts_with("  us: ")).collect();
    teams.fleet.write("pouch.yaml", rest.join("\n") + "\n");
    teams.origin().publish(&[]).ends(0).outcome("eu", "unchanged");

    let stamp = teams.origin().git(&["for-each-ref", "--format=%(refname)", "refs/pouch"]);
    teams.origin().git(&["update-ref", "refs/heads/main", &first]);
    teams.set("team", "eu", "second");
    let ran = teams.origin().publish(&[]).ends(8).outcome("eu", "published");
    ran.says("error[region-not-configured]").says("regions/us holds files");
    // So it is with every run that follows.
    for value in ["and", "and more"] {
        teams.set("team", "eu", value);
        teams.origin().publish(&[]).ends(8).outcome("eu", "published").says("regions/us holds files");
    }
    // The control: nobody noted that there was something after it.
    teams.origin().git(&["update-ref", "refs/heads/main", &first]);
    teams.origin().git(&["update-ref", "-d", &stamp]);
    teams.set("team", "eu", "third");
    teams.origin().publish(&[]).ends(64).says("region-not-configured");
}
