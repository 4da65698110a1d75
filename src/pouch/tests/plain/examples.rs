//! `examples/` keeps its promises: it parses, asks for no more than it needs, and calls pouch as it is.

mod linted;
mod merge_requests;
mod policy;
mod pull_requests;
mod steps;

use std::fs;
use std::process::{Command, Output, Stdio};

use pouch_core::yaml::read;
use serde_json::{Value, json};

use crate::support::fleet::{Fleet, Ran};
use crate::support::root;

const EXAMPLES: [&str; 11] = [
    "Dockerfile",
    "deliver-cronjob.yaml",
    "argocd-plugin/plugin.yaml",
    "argocd-plugin/repo-server-patch.yaml",
    "cronjob.yaml",
    "github-actions.yaml",
    "github-pull-request.yaml",
    "github-pull-request-comment.yaml",
    "gitlab-ci.yml",
    "gitlab-merge-request.yml",
    "pre-commit-config.yaml",
];

fn text_of(name: &str) -> String {
    let path = root().join("examples").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The documents of a file, read by our own strict reader: no key twice, no alias, no surprise.
fn documents(name: &str) -> Vec<Value> {
    let text = text_of(name);
    let one = |document: read::Document<'_>| read::typed(document.text).unwrap_or_else(|flaw| panic!("{name}: {flaw}"));
    read::documents(&text).map(one).collect()
}

fn kind<'a>(documents: &'a [Value], kind: &str) -> &'a Value {
    documents.iter().find(|document| document["kind"] == kind).unwrap_or_else(|| panic!("no {kind}"))
}

fn pouch(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pouch"));
    command.args(arguments).stdin(Stdio::null()).env_clear().output().unwrap()
}

/// The command lines in a text: `pouch`, one of its commands, and words until the shell takes over.
fn command_lines(text: &str) -> Vec<Vec<String>> {
    const COMMANDS: [&str; 9] = ["check", "deliver", "init", "plan", "publish", "rbac", "render", "unpack", "verify"];
    let mut lines = Vec::new();
    for (at, _) in text.match_indices("pouch ") {
        if text[..at].ends_with(|c: char| c.is_alphanumeric() || "/-_:.".contains(c)) {
            continue;
        }
        let line = text[at..].lines().next().unwrap().split(['>', '|', '&', ';', '`']).next().unwrap();
        let mut words = line.split_whitespace().skip(1).map(|word| word.replace(['"', '\''], ""));
        let Some(command) = words.next().filter(|word| COMMANDS.contains(&&**word)) else { continue };
        lines.push([command].into_iter().chain(words).collect());
    }
    lines
}

/// Whether pouch would take a command line: `--help` behind it is reached only then.
fn is_taken(words: &[String]) -> bool {
    let words: Vec<&str> = words.iter().map(String::as_str).chain(["--help"]).collect();
    pouch(&words).status.success()
}

#[test]
fn every_command_line_is_one_that_pouch_takes() {
    let mut seen = 0;
    for name in EXAMPLES {
        for words in command_lines(&text_of(name)) {
            assert!(is_taken(&words), "{name}: pouch {}", words.join(" "));
            seen += 1;
        }
    }
    assert!(seen >= 15, "{seen}");
    let documents = documents("cronjob.yaml");
    let spec = &kind(&documents, "CronJob")["spec"]["jobTemplate"]["spec"]["template"]["spec"];
    let container = &spec["containers"][0];
    assert_eq!(container["command"], json!(["pouch"]));
    let words: Vec<String> = serde_json::from_value(container["args"].clone()).unwrap();
    assert!(is_taken(&words) && words[0] == "publish", "{words:?}");
    for wrong in ["publish --no-such-flag", "publish --tolerate everything", "rbac --secrets all"] {
        assert!(!is_taken(&wrong.split(' ').map(str::to_owned).collect::<Vec<_>>()), "{wrong}");
    }
}

#[test]
fn the_plugin_runs_pouch_where_a_bundle_is() {
    let documents = documents("argocd-plugin/plugin.yaml");
    let plugin = documents[0]["data"]["plugin.yaml"].as_str().unwrap();
    let plugin: Value = read::typed(plugin).unwrap();
    let fleet = Fleet::rendered_quickstart();
    let folder = fleet.path("bundles/regions/us-east");
    assert!(folder.join(plugin["spec"]["discover"]["fileName"].as_str().unwrap()).is_file());
    let words: Vec<String> = serde_json::from_value(plugin["spec"]["generate"]["command"].clone()).unwrap();
    assert_eq!(words[0], "pouch");
    let arguments: Vec<&str> = words[1..].iter().map(String::as_str).collect();
    let patch = self::documents("argocd-plugin/repo-server-patch.yaml");
    let sidecar = &patch[0]["spec"]["template"]["spec"]["containers"][0];
    let mut command = fleet.command(&arguments);
    command.current_dir(folder);
    for variable in sidecar["env"].as_array().unwrap() {
        command.env(variable["name"].as_str().unwrap(), fleet.path("keys/us-east.txt"));
    }
    let ran = Ran::from(command.output().unwrap()).ends(0);
    assert!(ran.stdout.contains("kind: Secret") && !ran.stdout.contains("ENC["));
    let volumes: Vec<&str> = patch[0]["spec"]["template"]["spec"]["volumes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|volume| volume["name"].as_str().unwrap())
        .collect();
    // The other two are those of Argo CD's own Deployment.
    let known = ["var-files", "plugins"];
    for mount in sidecar["volumeMounts"].as_array().unwrap() {
        let name = mount["name"].as_str().unwrap();
        assert!(volumes.contains(&name) || known.contains(&name), "{name}");
    }
}

#[test]
fn the_flag_that_comments_recommend_exists() {
    for name in ["deliver-cronjob.yaml", "cronjob.yaml", "github-actions.yaml", "gitlab-ci.yml"] {
        let text = text_of(name);
        let at = text.find("--tolerate").unwrap_or_else(|| panic!("{name} says nothing of --tolerate"));
        let flag: String = text[at..].chars().take_while(|c| !",:.;`\n".contains(*c) || *c == ',').collect();
        let words = flag.split_whitespace().take(if flag.contains("--tolerate=") { 1 } else { 2 });
        let value = words.last().unwrap().trim_start_matches("--tolerate=").trim_end_matches(',').to_owned();
        let command = if name.starts_with("deliver") { "deliver" } else { "publish" };
        assert!(is_taken(&[command.to_owned(), format!("--tolerate={value}")]), "{name}: {value}");
    }
}

#[test]
fn the_job_has_no_more_rights_than_it_needs() {
    let documents = documents("cronjob.yaml");
    let kinds: Vec<&str> = documents.iter().map(|document| document["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["Namespace", "ServiceAccount", "ConfigMap", "CronJob"]);
    assert_eq!(documents[0]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"], "restricted");
    for document in &documents[1..] {
        assert_eq!(document["metadata"]["namespace"], "pouch");
    }

    let spec = &kind(&documents, "CronJob")["spec"];
    assert_eq!(spec["concurrencyPolicy"], "Forbid");
    assert!(spec["startingDeadlineSeconds"].as_u64().unwrap() >= 60);
    let job = &spec["jobTemplate"]["spec"];
    assert_eq!(job["backoffLimit"], 0);
    let pod = &job["template"]["spec"];
    assert_eq!((&pod["restartPolicy"], &pod["serviceAccountName"]), (&json!("Never"), &json!("pouch")));
    assert!(["hostNetwork", "hostPID", "hostIPC"].iter().all(|field| pod[*field].is_null()));
    let security = &pod["securityContext"];
    assert_eq!(security["runAsNonRoot"], true);
    assert_eq!(security["seccompProfile"]["type"], "RuntimeDefault");
    assert!([&security["runAsUser"], &security["fsGroup"]].iter().all(|id| **id == 65532));

    let container = &pod["containers"][0];
    assert_eq!(pod["containers"].as_array().unwrap().len(), 1);
    assert_eq!(
        container["securityContext"],
        json!({
            "readOnlyRootFilesystem": true,
            "allowPrivilegeEscalation": false,
            "capabilities": {"drop": ["ALL"]},
        })
    );
    assert!(container["image"].as_str().unwrap().contains("@sha256:"));
    assert!(container["resources"]["limits"]["memory"].is_string());
    assert!(container["resources"]["requests"]["memory"].is_string());
}

#[test]
fn what_the_job_reads_is_mounted_and_only_emptydirs_can_be_written() {
    let documents = documents("cronjob.yaml");
    let pod = &kind(&documents, "CronJob")["spec"]["jobTemplate"]["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    let mounts = container["volumeMounts"].as_array().unwrap();
    for volume in pod["volumes"].as_array().unwrap() {
        let mount = mounts.iter().find(|mount| mount["name"] == volume["name"]).unwrap();
        assert_eq!(mount["readOnly"].is_null(), volume["emptyDir"].is_object(), "{volume}");
        if volume["secret"].is_object() {
            assert_eq!(volume["secret"]["defaultMode"], 0o440, "{volume}");
        }
        assert!(volume["hostPath"].is_null(), "{volume}");
    }
    // Every path that is named lies in a volume.
    let mounted = |path: &str| mounts.iter().any(|mount| path.starts_with(mount["mountPath"].as_str().unwrap()));
    let text = text_of("cronjob.yaml");
    let mut named = 0;
    for word in text
        .split([' ', '=', '\n', '}', '"'])
        .filter(|word| word.starts_with("/etc/pouch") || word.starts_with("/var/run"))
    {
        assert!(mounted(word), "{word}");
        named += 1;
    }
    assert!(named >= 8, "{named}");
    let config = kind(&documents, "ConfigMap");
    assert!(config["data"]["known_hosts"].as_str().unwrap().contains(" ssh-ed25519 "));
    let ssh = container["env"][1]["value"].as_str().unwrap();
    assert!(ssh.contains("StrictHostKeyChecking=yes") && ssh.contains("/config/known_hosts"), "{ssh}");
}

#[test]
fn the_configuration_in_the_config_map_is_one() {
    let documents = documents("cronjob.yaml");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pouch.yaml");
    fs::write(&path, kind(&documents, "ConfigMap")["data"]["pouch.yaml"].as_str().unwrap()).unwrap();
    let answer = pouch(&["config", "-f", path.to_str().unwrap(), "-o", "json"]);
    assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
    let config: Value = serde_json::from_slice(&answer.stdout).unwrap();
    assert!(config["sources"][0]["cluster"].is_object());
    assert_eq!(config["reuseKey"]["file"], "/etc/pouch/reuse-key/reuse.key");
}

#[test]
fn the_region_s_job_has_what_it_names_and_no_more() {
    let documents = documents("deliver-cronjob.yaml");
    let kinds: Vec<&str> = documents.iter().map(|document| document["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["Namespace", "ServiceAccount", "ConfigMap", "CronJob"]);
    let pod = &kind(&documents, "CronJob")["spec"]["jobTemplate"]["spec"]["template"]["spec"];
    assert_eq!(
        (&pod["automountServiceAccountToken"], &pod["serviceAccountName"]),
        (&json!(false), &json!("pouch-deliver"))
    );
    let (clone, apply) = (&pod["initContainers"][0], &pod["containers"][0]);
    let words = |field: &Value| -> Vec<String> { serde_json::from_value(field.clone()).unwrap() };
    assert!(is_taken(&words(&apply["args"])) && words(&apply["args"])[0] == "deliver");
    // What is cloned is what is applied.
    assert_eq!(words(&clone["args"])[1], words(&apply["args"])[1]);
    let volumes: Vec<&str> =
        pod["volumes"].as_array().unwrap().iter().map(|volume| volume["name"].as_str().unwrap()).collect();
    let mounted = |container: &Value| -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let mounts = container["volumeMounts"].as_array().unwrap();
        mounts.iter().map(|mount| (text(&mount["name"]), text(&mount["mountPath"]))).collect()
    };
    for (container, never) in [(clone, ["identity", "token"].as_slice()), (apply, &["git"])] {
        assert!(container["image"].as_str().unwrap().contains("@sha256:"));
        assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
        let mounts = mounted(container);
        assert!(mounts.iter().all(|(name, _)| volumes.contains(&&**name) && !never.contains(&&**name)), "{mounts:?}");
        let text = format!("{} {} {}", container["command"], container["args"], container["env"]);
        let named = text.split(['"', '=', ' ']).filter(|word| word.starts_with("/etc/") || word.starts_with("/var/"));
        for word in named {
            assert!(mounts.iter().any(|(_, path)| word.starts_with(path.as_str())), "{word}");
        }
    }
    let signers = &kind(&documents, "ConfigMap")["data"]["signers"];
    assert!(signers.as_str().unwrap().contains(" ssh-ed25519 "));
}

/// The instructions of a Dockerfile, comments left out and continued lines joined.
fn instructions(text: &str) -> Vec<(String, String)> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with('#')).collect();
    let joined = lines.join("\n").replace("\\\n", " ");
    let split = |line: &str| line.split_once(' ').map(|(word, rest)| (word.to_owned(), rest.trim().to_owned()));
    joined.lines().filter_map(|line| split(line.trim())).collect()
}

#[test]
fn the_image_is_static_pinned_and_not_roots() {
    let instructions = instructions(&text_of("Dockerfile"));
    let all = |word: &str| -> Vec<&str> {
        instructions.iter().filter(|(name, _)| name == word).map(|(_, rest)| &**rest).collect()
    };
    assert_eq!(all("ADD"), [""; 0], "ADD fetches URLs");
    assert_eq!(all("USER"), ["65532:65532"]);
    assert_eq!(all("FROM"), ["${RUST} AS build", "${BASE}"]);
    for base in all("ARG").iter().filter(|arg| arg.starts_with("RUST=") || arg.starts_with("BASE=")) {
        let (_, digest) = base.split_once("@sha256:").unwrap_or_else(|| panic!("{base} has no digest"));
        assert!(digest.len() == 64 && digest.bytes().all(|b| b.is_ascii_hexdigit()), "{base}");
    }
    let runs = all("RUN").join("\n");
    assert!(!["curl", "wget", "http:", "https:"].iter().any(|word| runs.contains(word)), "{runs}");
    assert!(runs.contains("cargo build --locked --release") && runs.contains("! readelf --dynamic"));
    assert!(all("ARG").contains(&"TARGET=x86_64-unknown-linux-musl"));
    assert!(all("ENV").iter().any(|env| env.contains("+crt-static")));
    let (_, last) = instructions.split_at(instructions.iter().rposition(|(name, _)| name == "FROM").unwrap());
    let installed = &last.iter().find(|(name, _)| name == "RUN").unwrap().1;
    assert!(installed.contains("git openssh-client"), "{installed}");
    // ssh-keygen does nothing for a user whom nobody knows, and the plugin's sidecar runs as this one.
    let sidecar = text_of("argocd-plugin/repo-server-patch.yaml");
    assert!(sidecar.contains("runAsUser: 999\n") && installed.contains("adduser -D -H -u 999 "), "{installed}");
    assert!(last.iter().all(|(name, rest)| name != "COPY" || rest.starts_with("--from=build")));
    let (copied, user) = (last.iter().position(|i| i.0 == "COPY"), last.iter().position(|i| i.0 == "USER"));
    assert!(copied < user, "what the image holds belongs to root");
    assert_eq!(all("ENTRYPOINT"), ["[\"/usr/local/bin/pouch\"]"]);
}

/// Fails unless a step of a workflow runs what was looked at, and nothing that an event brings.
fn is_careful(step: &Value) {
    // An expression in a script is replaced before the shell sees it: a way in, and into its log.
    assert!(!step["run"].as_str().unwrap_or_default().contains("${{"), "{step}");
    if let Some(uses) = step["uses"].as_str() {
        let (action, commit) = uses.split_once('@').unwrap();
        assert!(commit.len() == 40 && commit.bytes().all(|b| b.is_ascii_hexdigit()), "{uses}");
        assert!(action != "actions/checkout" || step["with"]["persist-credentials"] == false, "{uses}");
    }
}

#[test]
fn the_workflow_runs_for_the_protected_branch_only() {
    let workflow = documents("github-actions.yaml").remove(0);
    let on: Vec<&String> = workflow["on"].as_object().unwrap().keys().collect();
    assert_eq!(on, ["push", "schedule", "workflow_dispatch"]);
    assert_eq!(workflow["on"]["push"]["branches"], json!(["main"]));
    assert_eq!(workflow["permissions"], json!({"contents": "read", "id-token": "write"}));
    assert_eq!(workflow["concurrency"], json!({"group": "pouch", "cancel-in-progress": false}));
    let job = &workflow["jobs"]["publish"];
    assert_eq!((&job["if"], &job["environment"]), (&json!("github.ref == 'refs/heads/main'"), &json!("pouch")));
    assert!(job["timeout-minutes"].as_u64().unwrap() <= 60);
    for step in job["steps"].as_array().unwrap() {
        is_careful(step);
        // Files with keys in them are made for their owner alone.
        let writes = step["run"].as_str().filter(|run| run.contains(" > "));
        assert!(writes.is_none_or(|run| run.starts_with("umask 077\n")), "{step}");
    }
}

#[test]
fn the_gitlab_job_runs_for_the_protected_branch_only() {
    let pipeline = documents("gitlab-ci.yml").remove(0);
    let job = &pipeline["pouch"];
    let rules = job["rules"].as_array().unwrap();
    assert_eq!(rules.len(), 1);
    let condition = rules[0]["if"].as_str().unwrap();
    assert!(condition.contains("$CI_COMMIT_REF_PROTECTED == \"true\"") && !condition.contains("merge_request"));
    assert_eq!((&job["resource_group"], &job["interruptible"]), (&json!("pouch"), &json!(false)));
    assert_eq!(job["environment"], "pouch");
    assert!(job["image"]["name"].as_str().unwrap().contains("@sha256:"));
    assert_eq!(job["script"][0], "umask 077");
    assert_eq!(job["id_tokens"]["KUBE_TOKEN"]["aud"], "pouch");
}
