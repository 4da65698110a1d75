//! Authors of the commits of sources, told where a configuration wants that.

use super::Teams;
use crate::support::fleet::Ran;
use crate::support::githttp::GitServer;

/// Changes the team's Secret in a commit of another author.
fn by(teams: &Teams, author: &str, value: &str) {
    let namespace = "eu-team";
    let text = crate::support::fleet::secret(namespace, "c", &format!("value: {value}"));
    teams.fleet.write("team/secret.yaml", text);
    teams.script(
        "team",
        &format!("git add -A; git commit -q --allow-empty -m x --author '{author}'; git push -q -f o HEAD:main"),
    );
}

/// Publishes; gives the lines of the commit that name authors, and what the summary says of them.
fn published(teams: &Teams) -> (Ran, Vec<String>, String) {
    let summary = teams.fleet.path("summary.json");
    let ran = teams.fleet.run(&["publish", "--summary", &summary.display().to_string()]);
    let message = teams.origin().git(&["log", "-1", "--format=%B", "main"]);
    let lines = message.lines().filter(|line| line.contains("authors")).map(str::to_owned).collect();
    let summary: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(summary).unwrap()).unwrap();
    (ran, lines, summary["authors"].to_string())
}

/// On this machine, and through a server; a run between two publications that published nothing hides none.
#[test]
fn the_authors_of_a_source_are_told_where_they_are_wanted() {
    for is_remote in [false, true] {
        let teams = Teams::new(", authors: true");
        let server = GitServer::new(&teams.fleet.path(""));
        if is_remote {
            teams.fleet.configure("repository: team.git", &format!("repository: '{}'", server.url("team.git")));
        }
        teams.publish(&[]).0.ends(0);
        let (_, lines, summary) = published(&teams);
        assert_eq!((lines.len(), &*summary), (0, "null"), "nothing was published before");
        // A branch from before the last publication is merged after it.
        teams.script(
            "team",
            "git checkout -q -b side HEAD; git commit -q --allow-empty -m x --author 'Side <s@x>'; git checkout -q main",
        );
        by(&teams, "Early <e@x>", "first-of-all");
        published(&teams).0.ends(0);
        // A commit that changes nothing that is published.
        by(&teams, "Ann Other <ann@example.com>", "first-of-all");
        published(&teams).0.ends(0).outcome("eu", "unchanged");
        teams.script("team", "git merge -q --no-ff -m x side");
        by(&teams, "@everyone closes #1 bob@example.com <bob@example.com>", "second");
        let (ran, lines, summary) = published(&teams);
        ran.ends(0).outcome("eu", "published");
        assert_eq!(lines, ["authors in source team: closes 1 bob, o, Ann Other, Side"]);
        assert_eq!(summary, r#"[{"names":["closes 1 bob","o","Ann Other","Side"],"source":"team"}]"#);
        let message = teams.origin().git(&["log", "-1", "--format=%B", "main"]);
        assert!(!message.contains('@'), "{message}");
        // None twice, and none without a publication.
        let (_, _, summary) = published(&teams);
        assert_eq!(summary, "null");
    }
}

/// The control: names are personal data, so without the setting no run looks for any.
#[test]
fn nobody_is_named_where_nobody_wants_it() {
    let teams = Teams::new("");
    teams.publish(&[]).0.ends(0);
    by(&teams, "Ann Other <ann@example.com>", "second");
    let (ran, lines, summary) = published(&teams);
    let ran = ran.ends(0).outcome("eu", "published");
    assert_eq!((lines.len(), &*summary), (0, "null"));
    assert!(!ran.stdout.contains("Ann") && !ran.stderr.contains("Ann"));
}
