//! Sources that are repositories: what their writers and their servers do to a run.

use super::Teams;
use crate::support::fleet::Ran;
use crate::support::githttp::GitServer;

/// Commits of a source are made by its writers, and nothing of them counts but what they hold and what they come after.
#[test]
fn commits_of_a_source_are_read_whatever_their_headers_say() {
    let headers = [
        "author A <a@x> 0000000005 +0000\\ncommitter A <a@x> 0000000005 +0000",
        "author A\\ncommitter A",
        "committer A <a@x 5",
    ];
    for is_remote in [false, true] {
        let teams = Teams::new("");
        let server = GitServer::new(&teams.fleet.path(""));
        if is_remote {
            teams.fleet.configure("repository: team.git", &format!("repository: '{}'", server.url("team.git")));
        }
        teams.settle();
        for (number, header) in headers.iter().enumerate() {
            let first = teams.script("team", "git rev-parse HEAD");
            teams.set("team", "eu", &format!("of-{number}"));
            teams.script(
                "team",
                &format!(
                    "t=$(git rev-parse HEAD^{{tree}}); p=$(git rev-parse HEAD); \
                     printf \"tree $t\\nparent $p\\n{header}\\n\\nm\\n\" > ../odd; \
                     c=$(git hash-object -t commit -w --literally ../odd); git reset -q --hard $c; git push -q -f o $c:main"
                ),
            );
            teams.publish(&[]).0.ends(0).outcome("eu", "published");
            // What comes after such a commit is newer than it, and what came before it is older.
            let odd = teams.set("team", "eu", &format!("on-{number}"));
            teams.publish(&[]).0.ends(0).outcome("eu", "published");
            teams.turn("team", &first);
            let ran = teams.publish(&[]).0.ends(3);
            assert!(ran.stderr.contains("does not come after"), "{}", ran.stderr);
            teams.turn("team", &odd);
        }
        // The control: what it holds is read, so a commit that holds nothing is refused by its name.
        let script = "printf 'tree none\\n\\nm\\n' > ../odd; cd ../team.git; \
                      git hash-object -t commit -w --literally ../odd | tee refs/heads/main";
        let broken = teams.script("team", script);
        let ran = teams.publish(&[]).0.ends(3);
        if !is_remote {
            ran.says(&format!("commit {broken} names no tree"));
        }
    }
}

/// A server that says how far it is and never gets there ends what waits for it, and nothing else.
#[test]
fn a_source_that_is_late_is_waited_for_by_none_but_its_own() {
    let teams = Teams::new("");
    let server = GitServer::new(&teams.fleet.path(""));
    for name in ["team", "platform"] {
        teams.fleet.configure(
            &format!("repository: {name}.git"),
            &format!("repository: '{}'", server.url(&format!("{name}.git"))),
        );
    }
    teams.fleet.configure("reuseKey", "limits: {git: {tenant: {idle: 60s, total: 3s}}}\nreuseKey");
    teams.settle();
    teams.set("team", "eu", "second");
    teams.set("platform", "us", "second");
    // The alias of a shell would outlive a signal, so git itself runs on: it says something all the time.
    let late =
        "case \" $* \" in *' fetch '*team.git*) while :; do echo 'Receiving objects: 1%' >&2; sleep 0.2; done;; esac";
    let run = |script: &str| Ran::from(teams.origin().wrapped(script, &[]).output().unwrap());
    let ran = run(late).ends(3).outcome("us", "published");
    assert!(ran.stdout.contains("carried    Credential eu-team/c"), "{}", ran.stdout);
    ran.says("git fetch took longer than 3 s and was ended").says("`limits.git.tenant.total`");
    // It is overridden for one source: this one takes its time, and gets there.
    let slow = "case \" $* \" in *' fetch '*team.git*) sleep 4;; esac";
    run(slow).ends(3).says("`limits.git.tenant.total`");
    let url = server.url("team.git");
    teams.fleet.configure(&format!("repository: '{url}'"), &format!("repository: '{url}', limits: {{total: 10m}}"));
    run(slow).ends(0).outcome("eu", "published");
}

/// The order of commits is told by commits alone, and by more than these where a server leaves nothing out.
#[test]
fn a_server_that_allows_no_filter_tells_what_comes_after_what() {
    for allowed in
        ["uploadpack.allowFilter false", "uploadpack.allowFilter true; git config uploadpackfilter.allow false"]
    {
        let teams = Teams::new(", cache: false");
        let server = GitServer::new(&teams.fleet.path(""));
        teams.fleet.configure("repository: team.git", &format!("repository: '{}'", server.url("team.git")));
        teams.script("team", &format!("cd ../team.git; git config {allowed}"));
        teams.settle();
        let first = teams.script("team", "git rev-parse HEAD");
        teams.set("team", "eu", "second");
        teams.publish(&[]).0.ends(0).outcome("eu", "published");
        teams.turn("team", &first);
        teams.publish(&[]).0.ends(3).says("does not come after");
    }
}

/// Each of two fetches goes on once the other one has begun.
#[test]
fn sources_are_fetched_side_by_side() {
    let teams = Teams::new("");
    let server = GitServer::new(&teams.fleet.path(""));
    for name in ["team", "platform"] {
        teams.fleet.configure(
            &format!("repository: {name}.git"),
            &format!("repository: '{}'", server.url(&format!("{name}.git"))),
        );
    }
    let began = |own: &str, other: &str| {
        let file = |name: &str| teams.fleet.path(&format!("began-{name}")).display().to_string();
        format!(
            "case \" $* \" in *' fetch '*{own}.git*) : > '{}'; for n in $(seq 600); do [ -e '{}' ] && break; sleep 0.1; done; \
             [ -e '{1}' ] || exit 9;; esac",
            file(own),
            file(other),
        )
    };
    let script = format!("{}; {}", began("team", "platform"), began("platform", "team"));
    let ran = Ran::from(teams.origin().wrapped(&script, &[]).output().unwrap()).ends(0);
    ran.outcome("eu", "published").outcome("us", "published");
}
