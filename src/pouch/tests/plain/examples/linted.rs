//! The real linters take the examples, and pre-commit runs its own.
//!
//! GitLab's linter is a part of its server. What there is without one is the schema that GitLab publishes, which
//! check-jsonschema brings along: it knows the keywords, and nothing of variables and conditions.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use super::steps::Place;
use super::text_of;
use crate::support::fleet::Fleet;
use crate::support::{self, root, tool};

/// Holds a linter to a file that it must take, and to the same with a mistake.
#[track_caller]
fn lints(program: &Path, flags: &[&str], path: &str, right: &str, wrong: &str) {
    let fleet = Fleet::empty();
    let text = std::fs::read_to_string(root().join(path)).unwrap();
    let file = format!(".github/workflows/{}", path.rsplit('/').next().unwrap());
    let says = |text: &str| {
        fleet.write(&file, text);
        let words = flags.iter().map(OsStr::new).map(OsStr::to_owned).chain([OsString::from(fleet.path(&file))]);
        support::run(program, words, &[])
    };
    let answer = says(&text);
    assert!(answer.status.success(), "{path}: {answer:?}");
    assert!(text.contains(right), "{path} has no {right}");
    let answer = says(&text.replacen(right, wrong, 1));
    assert!(!answer.status.success(), "{path} with {wrong}: {answer:?}");
}

#[test]
fn actionlint_takes_the_workflows() {
    let Some(program) = tool("actionlint") else { return };
    // Programs that it would start if they were there.
    let flags = ["-shellcheck=", "-pyflakes="];
    let pinned = "actions/checkout@0000000000000000000000000000000000000000";
    lints(&program, &flags, "examples/github-actions.yaml", "contents: read", "content: read");
    lints(&program, &flags, "examples/github-pull-request.yaml", pinned, "actions/checkout");
    lints(&program, &flags, "examples/github-pull-request-comment.yaml", "steps.find.outputs", "steps.found.outputs");
    for name in ["ci", "advisories"] {
        lints(&program, &flags, &format!(".github/workflows/{name}.yml"), "runs-on:", "run-on:");
    }
}

#[test]
fn the_schema_of_gitlab_takes_the_pipelines() {
    let Some(program) = tool("check-jsonschema") else { return };
    let flags = ["--builtin-schema", "vendor.gitlab-ci"];
    lints(&program, &flags, "examples/gitlab-ci.yml", "when: always", "when: ever");
    lints(&program, &flags, "examples/gitlab-merge-request.yml", "interruptible: true", "interruptible: maybe");
    lints(&program, &flags, "examples/gitlab-merge-request.yml", "rules:\n", "rule:\n");
}

#[test]
fn pre_commit_takes_the_hooks() {
    let Some(program) = tool("pre-commit") else { return };
    let hook = "pass_filenames: false";
    lints(&program, &["validate-manifest"], ".pre-commit-hooks.yaml", hook, "pass_filenames: 7");
    lints(&program, &["validate-config"], "examples/pre-commit-config.yaml", "language: system", "language: Rust");
}

fn commit_hooks(place: &Place, program: &Path) -> Output {
    let pouch = Path::new(env!("CARGO_BIN_EXE_pouch")).parent().unwrap().to_owned();
    let old = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths([pouch].into_iter().chain(env::split_paths(&old)).collect::<Vec<PathBuf>>()).unwrap();
    let home = place.fleet.path("cache");
    let mut command = std::process::Command::new(program);
    command.args(["run", "--color=never"]).current_dir(place.fleet.path("fork")).env_clear();
    command.env("PATH", path).env("PRE_COMMIT_HOME", &home).env("HOME", &home).output().unwrap()
}

#[test]
fn the_hooks_of_the_example_are_those_of_the_repository() {
    let read = |text: &str| -> Value {
        let document = pouch_core::yaml::read::documents(text).next().unwrap();
        pouch_core::yaml::read::typed(document.text).unwrap_or_else(|flaw| panic!("{flaw}"))
    };
    let ours = read(&std::fs::read_to_string(root().join(".pre-commit-hooks.yaml")).unwrap());
    let shown = read(&text_of("pre-commit-config.yaml"));
    let shown = shown["repos"][0]["hooks"].as_array().unwrap();
    assert_eq!(shown.len(), ours.as_array().unwrap().len());
    for hook in shown {
        let own = ours.as_array().unwrap().iter().find(|own| own["id"] == hook["id"]).unwrap();
        for (key, value) in hook.as_object().unwrap() {
            assert_eq!(own[key], *value, "{key} of {}", hook["id"]);
        }
    }
}

#[test]
fn pre_commit_runs_the_hooks_of_the_example() {
    let Some(program) = tool("pre-commit") else { return };
    let place = Place::proposal();
    place.git("fork", &["switch", "--quiet", "main"]);
    place.fleet.write("fork/.pre-commit-config.yaml", text_of("pre-commit-config.yaml"));
    place.git("fork", &["add", "--all"]);
    let answer = commit_hooks(&place, &program);
    let said = String::from_utf8_lossy(&answer.stdout).into_owned();
    assert!(answer.status.success() && said.matches("Passed").count() == 2, "{said}");
    // What is wrong is told where it is; what is not staged yet is not looked at.
    place.fleet.edit("fork/manifests/eu-c0-secret.yaml", "name: c0", "name: elsewhere");
    let answer = commit_hooks(&place, &program);
    assert!(answer.status.success(), "{answer:?}");
    place.git("fork", &["add", "--all"]);
    let answer = commit_hooks(&place, &program);
    let said = String::from_utf8_lossy(&answer.stdout).into_owned();
    assert!(!answer.status.success() && said.contains("error[missing-reference]"), "{said}");
}
