//! The jobs for merge requests: what they may, and what their scripts do in a fork and with a `curl` that stands in for
//! GitLab.

use serde_json::{Value, json};

use super::steps::{Place, THEIRS};
use super::{documents, text_of};
use crate::support::tool_on_path;

const FILE: &str = "gitlab-merge-request.yml";

/// The lines of a job's script, as one.
fn script(job: &Value) -> String {
    let lines = job["script"].as_array().unwrap();
    lines.iter().map(|line| line.as_str().unwrap()).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_jobs_for_merge_requests_have_nothing_but_a_token_for_notes() {
    let pipeline = documents(FILE).remove(0);
    let jobs: Vec<&String> = pipeline.as_object().unwrap().keys().collect();
    assert_eq!(jobs, ["pouch-note", "pouch-plan"]);
    let (plan, note) = (&pipeline["pouch-plan"], &pipeline["pouch-note"]);
    for job in [plan, note] {
        assert!(
            ["id_tokens", "secrets", "environment", "cache", "resource_group"].iter().all(|key| job[*key].is_null())
        );
        assert!(job["image"]["name"].as_str().unwrap().contains("@sha256:"));
        let [rule] = &job["rules"].as_array().unwrap()[..] else { panic!("one rule") };
        assert!(rule["if"].as_str().unwrap().starts_with("$CI_PIPELINE_SOURCE == \"merge_request_event\""));
    }
    assert_eq!(plan["rules"], json!([{"if": "$CI_PIPELINE_SOURCE == \"merge_request_event\""}]));
    let rule = note["rules"][0]["if"].as_str().unwrap();
    assert!(
        rule.contains("$CI_MERGE_REQUEST_SOURCE_PROJECT_ID == $CI_PROJECT_ID")
            && rule.ends_with("&& $POUCH_NOTE_TOKEN")
    );
    // The job that has a token reads nothing of the merge request but what the other one left.
    assert_eq!(note["variables"]["GIT_STRATEGY"], "none");
    assert!(!script(note).contains("pouch check") && !script(plan).contains("TOKEN"));
    let text = text_of(FILE);
    for words in super::command_lines(&text).iter().filter(|words| words[0] == "plan" || words[0] == "check") {
        assert_eq!(words[1..4], ["--no-values", "--config-from", "$TARGET"]);
    }
    assert_eq!(plan["artifacts"]["reports"], json!({"codequality": "codequality.json", "junit": "junit.xml"}));
}

#[test]
fn a_merge_request_is_planned_by_what_the_target_says() {
    let job = documents(FILE).remove(0)["pouch-plan"].clone();
    for (project, url) in [("1", "nowhere"), ("2", "upstream")] {
        let mut place = Place::proposal();
        if project == "2" {
            // A fork, which has a target branch of its own with what it would like.
            place.git("fork", &["branch", "--quiet", "--force", "main", "proposal"]);
            place.git("fork", &["remote", "set-url", "origin", "."]);
            place.git("", &["clone", "--quiet", "--bare", "upstream", "upstream.git"]);
        }
        place.set("CI_PROJECT_ID", project);
        place.set("CI_MERGE_REQUEST_PROJECT_ID", "1");
        place.set_path("CI_MERGE_REQUEST_PROJECT_URL", url);
        place.set("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main");
        place.set_path("CI_PROJECT_DIR", "fork");
        place.set("TARGET", job["variables"]["TARGET"].as_str().unwrap());
        place.run(&["sh", "-e"], &script(&job), "fork").ends(7);
        let plan = place.fleet.read("fork/plan.md");
        // The reader that it proposes is told, and does not read what is planned.
        let readers = format!("the bundle of region eu can now be opened by {THEIRS}");
        assert!(plan.contains("Credential eu-team/late") && plan.contains(&readers), "{plan}");
        assert!(!plan.contains("recipient-added") && plan.matches(THEIRS).count() == 1, "{plan}");
        assert!(plan.ends_with("the plan is made with that of the target branch.\n"), "{plan}");
        let issues: Value = serde_json::from_str(&place.fleet.read("fork/codequality.json")).unwrap();
        assert_eq!(issues[0]["location"]["path"], "manifests/eu-wrong.yaml");
        assert!(place.fleet.read("fork/junit.xml").contains("<testsuite"));
    }
}

/// A `curl` that answers from files and writes down what it is asked.
const CURL: &str = r#"#!/bin/sh
set -eu
[ "$1" = -K ]
cp "$2" "$GITLAB/settings"
method=GET data=
shift 2
while [ $# -gt 0 ]; do
    case $1 in
        --request) method=$2; shift ;;
        --data) data=${2#@}; shift ;;
        --header) shift ;;
        *) url=$1 ;;
    esac
    shift
done
case $method:$url in
    GET:*/user) echo '{"id": 5}' ;;
    GET:*) cat "$GITLAB/notes" ;;
    *) echo "$method $url" > "$GITLAB/wrote"; cp "$data" "$GITLAB/note" ;;
esac
"#;

#[test]
fn a_plan_becomes_one_note_that_is_brought_up_to_date() {
    if tool_on_path("jq").is_none() {
        return;
    }
    let job = documents(FILE).remove(0)["pouch-note"].clone();
    let mut place = Place::empty();
    place.stand_in("curl", CURL);
    place.fleet.write("build/plan.md", "### pouch plan\n");
    place.set_path("GITLAB", "gitlab");
    let notes = "https://gitlab.example.com/api/v4/projects/1/merge_requests/7/notes";
    for (name, value) in [
        ("CI_API_V4_URL", "https://gitlab.example.com/api/v4"),
        ("CI_COMMIT_SHA", "abc"),
        ("POUCH_NOTE_TOKEN", "a-token"),
        ("NOTES", notes),
    ] {
        place.set(name, value);
    }
    let of = |id: u64, author: u64, body: &str| json!({"id": id, "author": {"id": author}, "body": body});
    let body = "<!-- pouch-plan -->\nFor abc:\n\n### pouch plan\n";
    let own = of(3, 5, body);
    let script = script(&job).replace("/tmp/", &format!("{}/", place.fleet.path("build").display()));
    for (there, wrote) in [
        (json!([]), format!("POST {notes}\n")),
        (json!([of(1, 4, body), of(2, 5, "Something else")]), format!("POST {notes}\n")),
        (json!([of(1, 4, body), own, of(4, 5, body)]), format!("PUT {notes}/3\n")),
    ] {
        place.fleet.write("gitlab/notes", there.to_string());
        let ran = place.run(&["sh", "-e"], &script, "build").ends(0);
        assert!(!format!("{ran:?}").contains("a-token"));
        assert_eq!(place.fleet.read("gitlab/wrote"), wrote);
        let note: Value = serde_json::from_str(&place.fleet.read("gitlab/note")).unwrap();
        assert_eq!(note, json!({"body": body}));
        assert!(place.fleet.read("gitlab/settings").starts_with("header = \"PRIVATE-TOKEN: a-token\"\nfail\n"));
    }
    // Nothing is an order to GitLab.
    place.fleet.write("build/plan.md", "/close\r/label ~x\n  /approve\na/b\n");
    place.run(&["sh", "-e"], &script, "build").ends(0);
    let note: Value = serde_json::from_str(&place.fleet.read("gitlab/note")).unwrap();
    assert!(note["body"].as_str().unwrap().ends_with("\n\\/close\n\\/label ~x\n  \\/approve\na/b\n"), "{note}");
    // The token's file is nobody else's.
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::metadata(place.fleet.path("build/curl")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}
