//! The two workflows for pull requests: what they may, and what their scripts do, run with a fork, with a `gh` that
//! stands in for GitHub, and with artefacts that a stranger wrote.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::steps::{Place, THEIRS, step};
use super::{documents, is_careful, text_of};
use crate::support::fleet::Ran;
use crate::support::{tool, tool_on_path};

const PLAN: &str = "github-pull-request.yaml";
const COMMENT: &str = "github-pull-request-comment.yaml";

fn job(file: &str, name: &str) -> Value {
    let workflow = documents(file).remove(0);
    assert_eq!(workflow["jobs"].as_object().unwrap().len(), 1, "{file}");
    assert_eq!(workflow["defaults"]["run"]["shell"], "bash", "{file}");
    workflow["jobs"][name].clone()
}

/// A file without its comments.
fn code(file: &str) -> String {
    let text = text_of(file);
    text.lines().filter(|line| !line.trim_start().starts_with('#')).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_workflow_for_pull_requests_has_nothing_that_could_be_taken() {
    let workflow = documents(PLAN).remove(0);
    assert_eq!(workflow["on"], json!({"pull_request": {"branches": ["main"]}}));
    assert_eq!(workflow["permissions"], json!({"contents": "read"}));
    let job = job(PLAN, "plan");
    assert_eq!(job["runs-on"], "ubuntu-24.04");
    assert!(["permissions", "environment", "env", "container", "secrets"].iter().all(|key| job[*key].is_null()));
    for word in ["secrets", "vars.", "github.token", "GITHUB_TOKEN", "id-token", "cache", "self-hosted", "write"] {
        assert!(!code(PLAN).contains(word), "{word}");
    }
    let steps = job["steps"].as_array().unwrap();
    steps.iter().for_each(is_careful);
    // Nothing of the proposal is there yet when pouch is built.
    assert!(steps[0]["run"].as_str().unwrap().starts_with("cargo install --locked "));
    assert_eq!(steps[1]["with"], json!({"persist-credentials": false, "fetch-depth": 0}));
    assert_eq!(step(&job, "actions/checkout"), &steps[1]);
    let looks = super::command_lines(&code(PLAN)).into_iter().filter(|words| words[0] == "plan" || words[0] == "check");
    for words in looks {
        assert!(
            words[1..3] == ["--no-values", "--config-from"] && words[3].ends_with("/$GITHUB_BASE_REF"),
            "{words:?}"
        );
    }
}

#[test]
fn the_workflow_that_comments_runs_nothing_of_the_proposal() {
    let workflow = documents(COMMENT).remove(0);
    let name = documents(PLAN).remove(0)["name"].clone();
    assert_eq!(workflow["on"], json!({"workflow_run": {"workflows": [name], "types": ["completed"]}}));
    assert_eq!(workflow["permissions"], json!({}));
    let job = job(COMMENT, "comment");
    let rights = json!({"actions": "read", "pull-requests": "write", "security-events": "write"});
    assert_eq!(job["permissions"], rights);
    assert_eq!(job["if"], "github.event.workflow_run.event == 'pull_request'");
    for step in job["steps"].as_array().unwrap() {
        is_careful(step);
        assert!(step["uses"].is_null(), "{step}");
        assert_eq!(step["working-directory"], "${{ runner.temp }}");
    }
    for word in ["secrets", "checkout", "cargo", "cache", "npm", "pip", "unzip pouch.zip", "pull_requests"] {
        assert!(!code(COMMENT).contains(word), "{word}");
    }
    // What a stranger chose reaches a script by a variable alone.
    let expressions =
        code(COMMENT).split("${{").skip(1).map(|rest| rest.split("}}").next().unwrap().to_owned()).collect::<Vec<_>>();
    assert!(expressions.len() > 5);
    for expression in expressions {
        let known = ["github.token", "runner.temp", "steps.find.outputs.number"].contains(&expression.trim());
        assert!(known || expression.trim().starts_with("github.event.workflow_run."), "{expression}");
    }
}

#[test]
fn a_pull_request_from_a_fork_is_planned_by_what_the_base_says() {
    let job = job(PLAN, "plan");
    let mut place = Place::proposal();
    fs::create_dir(place.fleet.path("temp")).unwrap();
    place.set_path("RUNNER_TEMP", "temp");
    place.set("GITHUB_BASE_REF", "main");
    place.set_path("GITHUB_STEP_SUMMARY", "summary.md");
    // Something that is called as the base is.
    place.git("fork", &["tag", "origin/main"]);
    place.step(step(&job, "Plan"), "fork").ends(0);
    let plan = place.fleet.read("temp/pouch/plan.md");
    assert!(
        plan.contains("Credential eu-team/late") && plan.contains("`broken     Credential eu-team/wrong"),
        "{plan}"
    );
    // The reader that it proposes is told, and does not read what is planned.
    let readers = format!("the bundle of region eu can now be opened by {THEIRS}");
    assert!(plan.contains(&readers) && plan.matches(THEIRS).count() == 1, "{plan}");
    assert!(
        !plan.contains("recipient-added")
            && plan.ends_with("\nThis changes `pouch.yaml`; the plan is made with that of the base.\n")
    );
    assert_eq!(place.fleet.read("summary.md"), plan);
    let check = place.step(step(&job, "Check"), "fork").ends(7);
    assert!(check.stdout.contains("::error file=manifests/eu-wrong.yaml,line="), "{check:?}");
    let log: Value = serde_json::from_str(&place.fleet.read("temp/pouch/pouch.sarif")).unwrap();
    assert_eq!(log["runs"][0]["results"][0]["ruleId"], "missing-reference", "{log:#}");
    assert!(!log.to_string().contains(THEIRS));
    // By what the proposal says of itself, it would be another plan.
    fs::remove_dir_all(place.fleet.path("temp/pouch")).unwrap();
    let script = step(&job, "Plan")["run"].as_str().unwrap().replace("refs/remotes/origin/$GITHUB_BASE_REF", "HEAD");
    place.step(&json!({"run": script}), "fork").ends(0);
    let plan = place.fleet.read("temp/pouch/plan.md");
    assert!(plan.contains("recipient-added") && !plan.contains("This changes"), "{plan}");
    // Where nothing can be planned, the step fails.
    fs::remove_dir_all(place.fleet.path("temp/pouch")).unwrap();
    fs::rename(place.fleet.path("fork/manifests"), place.fleet.path("fork/away")).unwrap();
    place.step(step(&job, "Plan"), "fork").ends(5);
}

/// A `gh` that answers from files and writes down what it is asked.
const GH: &str = r#"#!/usr/bin/env bash
set -euo pipefail
shift
method=GET filter=. body= input=
echo "$*" >> "$GITHUB/asked"
while [ $# -gt 0 ]; do
    case $1 in
        --method) method=$2; shift ;;
        --jq) filter=$2; shift ;;
        --input) input=$2; shift ;;
        -F) body=${2#body=@}; shift ;;
        -f) shift ;;
        --paginate) ;;
        *) url=$1 ;;
    esac
    shift
done
case $method:$url in
    GET:*/pulls) jq -r "$filter" "$GITHUB/pulls" ;;
    GET:*/artifacts\?*) jq -r "$filter" "$GITHUB/artifacts" ;;
    GET:*/zip) cat "$GITHUB/zip" ;;
    GET:*/comments\?*) jq -r "$filter" "$GITHUB/comments" ;;
    POST:*/sarifs) [ "$input" = - ]; cat > "$GITHUB/sarif" ;;
    *) printf '%s %s\n' "$method" "$url" > "$GITHUB/wrote"; cp "$body" "$GITHUB/comment" ;;
esac
"#;

const SHA: &str = "1111111111111111111111111111111111111111";
const MARK: &str = "<!-- pouch-plan -->\nFor 1111111111111111111111111111111111111111:\n\n";

/// What GitHub knows and what the artefact holds, for the workflow that comments.
struct Comment {
    place: Place,
    job: Value,
}

impl Comment {
    /// A pull request 7 from `from`, and an artefact with these files.
    fn new(from: &str, files: &[(&str, &[u8])]) -> Option<Self> {
        tool_on_path("jq")?;
        tool_on_path("unzip")?;
        let python = tool_on_path("python3")?;
        let mut place = Place::empty();
        for folder in ["github", "temp"] {
            fs::create_dir(place.fleet.path(folder)).unwrap();
        }
        place.stand_in("gh", GH);
        place.set_path("GITHUB", "github");
        place.set_path("GITHUB_OUTPUT", "output");
        place.fleet.write("output", "");
        let owner = from.split('/').next().unwrap();
        for (name, value) in [
            ("GITHUB_REPOSITORY", "acme/fleet"),
            ("RUN", "42"),
            ("PAGE", "https://example.com/acme/fleet/actions/runs/42"),
            ("HEAD_SHA", SHA),
            ("HEAD", &format!("{owner}:$(touch pwned)`touch pwned`")),
            ("HEAD_REPOSITORY", from),
        ] {
            place.set(name, value);
        }
        let zip = "import sys, zipfile\nz = zipfile.ZipFile(sys.argv[1], 'w', zipfile.ZIP_DEFLATED)\n\
                   for a in sys.argv[2:]:\n    f, n = a.split('=', 1)\n    z.write(f, n)\nz.close()";
        let mut command = Command::new(python);
        command.args(["-c", zip]).arg(place.fleet.path("github/zip"));
        for (nth, (name, content)) in files.iter().enumerate() {
            let file = format!("github/file{nth}");
            place.fleet.write(&file, content);
            command.arg(format!("{}={name}", place.fleet.path(&file).display()));
        }
        assert!(command.status().unwrap().success());
        let comment = Self { place, job: job(COMMENT, "comment") };
        let other = json!({"number": 6, "head": {"sha": SHA, "repo": {"full_name": "other/fleet"}}});
        comment.answers("pulls", &json!([other, {"number": 7, "head": {"sha": SHA, "repo": {"full_name": from}}}]));
        comment.answers("artifacts", &json!({"artifacts": [{"id": 99, "size_in_bytes": 1000}]}));
        comment.answers("comments", &json!([]));
        Some(comment)
    }

    fn answers(&self, what: &str, with: &Value) {
        self.place.fleet.write(&format!("github/{what}"), with.to_string());
    }

    /// Whether there is a pull request to comment on.
    fn finds(&mut self) -> bool {
        self.place.step(step(&self.job, "Find the pull request and what was said of it"), "temp").ends(0);
        let output = self.place.fleet.read("output");
        assert!(!self.place.fleet.has("temp/pwned"));
        if output.is_empty() {
            assert!(!self.place.fleet.has("temp/pouch.zip"));
            return false;
        }
        assert_eq!(output, "number=7\n");
        self.place.set("NUMBER", "7");
        true
    }

    fn comments(&self) -> Ran {
        self.place.step(step(&self.job, "Comment"), "temp")
    }

    fn read(&self, what: &str) -> String {
        self.place.fleet.read(&format!("github/{what}"))
    }

    fn wrote_nothing(&self) -> bool {
        !self.place.fleet.has("github/wrote")
    }
}

#[test]
fn a_plan_becomes_one_comment_that_is_brought_up_to_date() {
    let plan = "### pouch plan\n\n- `added`\n".as_bytes();
    let Some(mut comment) = Comment::new("acme/fleet", &[("plan.md", plan)]) else { return };
    assert!(comment.finds());
    let asked = comment.read("asked");
    assert!(
        asked.contains("repos/acme/fleet/pulls -f state=open -f base=main -f head=acme:$(touch pwned)`touch pwned` ")
    );
    assert!(asked.contains("\nrepos/acme/fleet/actions/artifacts/99/zip\n"), "{asked}");
    comment.comments().ends(0);
    assert_eq!(comment.read("wrote"), "POST repos/acme/fleet/issues/7/comments\n");
    let body = comment.read("comment");
    assert_eq!(body, format!("{MARK}### pouch plan\n\n- `added`\n"));
    // Then it is there; others may write the mark, or be the same robot for something else.
    let by = |id: u64, login: &str, body: &str| json!({"id": id, "user": {"login": login}, "body": body});
    let bot = "github-actions[bot]";
    let comments =
        json!([by(1, "mallory", &body), by(2, bot, "> <!-- pouch-plan -->"), by(3, bot, &body), by(4, bot, &body)]);
    comment.answers("comments", &comments);
    comment.comments().ends(0);
    assert_eq!(comment.read("wrote"), "PATCH repos/acme/fleet/issues/comments/3\n");
}

#[test]
fn what_a_stranger_wrote_is_no_markup_and_has_a_length() {
    let plan = b"@everyone\r@everyone <img src=x>\n```\n</pre>\n\x1b]8;;x\x07[x](https://example.com)\n\n# Approved";
    let Some(mut comment) = Comment::new("mallory/fleet", &[("plan.md", plan)]) else { return };
    assert!(comment.finds());
    comment.comments().ends(0);
    let body = comment.read("comment");
    let told = body.strip_prefix(MARK).unwrap();
    assert!(told.lines().all(|line| line.starts_with("    ")) && told.contains("<img src=x>"), "{told}");
    assert!(!told.chars().any(|c| c.is_control() && c != '\n'), "{told:?}");
    // As code it may become too long, and then it is not there.
    let lines = "x\n".repeat(20_000);
    let mut long = Comment::new("mallory/fleet", &[("plan.md", lines.as_bytes())]).unwrap();
    assert!(long.finds());
    long.comments().ends(0);
    assert!(long.read("comment").ends_with("stands in [the run](https://example.com/acme/fleet/actions/runs/42).\n"));
    let mut own = Comment::new("acme/fleet", &[("plan.md", lines.as_bytes())]).unwrap();
    assert!(own.finds());
    own.comments().ends(0);
    assert_eq!(own.read("comment").len(), MARK.len() + lines.len());
    // What unpacks to more than any plan is read no further.
    let bomb = vec![b'x'; 40_000_000];
    let files: [(&str, &[u8]); 2] = [("plan.md", &bomb), ("pouch.sarif", &bomb)];
    let mut comment = Comment::new("acme/fleet", &files).unwrap();
    assert!(comment.finds());
    assert_ne!(comment.comments().code, 0);
    assert_ne!(comment.place.step(step(&comment.job, "Upload to code scanning"), "temp").code, 0);
    assert!(comment.wrote_nothing() && !comment.place.fleet.has("github/sarif"));
    let read = ["plan.md", "untrusted.sarif"]
        .map(|name| fs::metadata(comment.place.fleet.path("temp").join(name)).unwrap().len());
    assert!(read[0] < 300_000 && read[1] < 11_000_000, "{read:?}");
}

#[test]
fn an_archive_writes_nothing_of_its_own_choice() {
    let files: [(&str, &[u8]); 4] =
        [("../bin/gh", b"x"), ("/tmp/pouch-evil", b"x"), ("comment.md", b"x"), ("sub/plan.md", b"x")];
    let Some(mut comment) = Comment::new("mallory/fleet", &files) else { return };
    assert!(comment.finds());
    // It has no plan.
    assert_ne!(comment.comments().code, 0);
    assert!(comment.wrote_nothing());
    let there: Vec<String> = comment.place.fleet.tree("temp").into_keys().collect();
    assert_eq!(there, ["plan.md", "pouch.zip"]);
    assert_eq!(comment.place.fleet.read("bin/gh"), GH);
    // An empty one says that nothing was planned.
    let mut comment = Comment::new("acme/fleet", &[("plan.md", b"")]).unwrap();
    assert!(comment.finds());
    comment.comments().ends(0);
    assert!(comment.read("comment").contains("No plan could be made"));
}

#[test]
fn a_comment_goes_to_the_pull_request_of_the_event_or_nowhere() {
    let nowhere = |what: &str, answer: Value| {
        let Some(mut comment) = Comment::new("mallory/fleet", &[("plan.md", b"x"), ("number", b"1")]) else { return };
        comment.answers(what, &answer);
        assert!(!comment.finds(), "{what}: {answer}");
    };
    let pull = |sha: &str, repo: &str| json!([{"number": 7, "head": {"sha": sha, "repo": {"full_name": repo}}}]);
    nowhere("pulls", json!([]));
    nowhere("pulls", pull(&SHA.replace('1', "2"), "mallory/fleet"));
    nowhere("pulls", pull(SHA, "mallory/other"));
    nowhere(
        "pulls",
        json!([{"number": "7; touch pwned", "head": {"sha": SHA, "repo": {"full_name": "mallory/fleet"}}}]),
    );
    nowhere("artifacts", json!({"artifacts": []}));
    nowhere("artifacts", json!({"artifacts": [{"id": 99, "size_in_bytes": 3_000_001}]}));
}

#[test]
fn code_scanning_hears_of_pouch_alone_and_of_the_pull_request() {
    let fleet = crate::support::fleet::Fleet::with_credentials(2);
    fleet.edit("manifests/eu-c0.yaml", "kind: Secret, name: c0,", "kind: Secret, name: gone,");
    let honest = fleet.run(&["check", "-o", "sarif"]).ends(7).stdout;
    // In the name of another tool, about another branch, and more than one.
    let mut log: Value = serde_json::from_str(&honest).unwrap();
    log["runs"][0]["tool"]["driver"]["name"] = "CodeQL".into();
    log["runs"][0]["tool"]["extensions"] = json!([{"name": "codeql/default"}]);
    log["runs"][0]["automationDetails"] = json!({"id": "/language:go"});
    log["runs"][0]["versionControlProvenance"] = json!([{"repositoryUri": "https://example.com", "branch": "main"}]);
    let second = log["runs"][0].clone();
    log["runs"].as_array_mut().unwrap().push(second);
    let hostile = log.to_string() + &log.to_string();
    for sarif in [&honest, &hostile] {
        let Some(mut comment) = Comment::new("mallory/fleet", &[("pouch.sarif", sarif.as_bytes())]) else { return };
        assert!(comment.finds());
        comment.place.step(step(&comment.job, "Upload to code scanning"), "temp").ends(0);
        let sent: Value = serde_json::from_str(&comment.read("sarif")).unwrap();
        assert_eq!((sent["commit_sha"].as_str(), sent["ref"].as_str()), (Some(SHA), Some("refs/pull/7/head")));
        comment.place.fleet.write("temp/sent", sent["sarif"].as_str().unwrap());
        let unpack = comment.place.run(&["bash", "-eo", "pipefail"], "base64 -d sent | gzip -d", "temp").ends(0);
        let log: Value = serde_json::from_str(&unpack.stdout).unwrap();
        let [run] = &log["runs"].as_array().unwrap()[..] else { panic!("{log:#}") };
        let keys: Vec<&String> = run.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["automationDetails", "columnKind", "invocations", "results", "tool"]);
        assert_eq!(run["automationDetails"], json!({"id": "pouch/"}));
        let names: Vec<&String> = run["tool"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["driver"]);
        assert_eq!(run["tool"]["driver"]["name"], "pouch");
        let before: Value = serde_json::from_str(&honest).unwrap();
        assert_eq!(run["results"], before["runs"][0]["results"]);
        let Some(checker) = tool("sarif-check") else { continue };
        let mut child = Command::new(checker).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(unpack.stdout.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}
