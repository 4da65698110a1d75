//! Words of `pouch deliver`, against an API of our own: it keeps what it is sent, and refuses what it is told to.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use pouch_core::json;
use pouch_core::node::Interner;
use pouch_core::yaml::emit::Tree;
use pouch_core::yaml::read::{Document, read};
use serde_json::{Value, json};

use crate::delivered::{Delivered, shows_nothing};
use crate::rig::http::{Request, Response};
use crate::rig::proxy::Proxy;
use crate::support::fleet::{EU, Fleet, Ran};
use crate::support::origin::Origin;

/// An API server, as far as `deliver` asks one that has Secrets and ConfigMaps alone.
#[derive(Default)]
struct Api {
    /// By path.
    objects: Mutex<BTreeMap<String, Value>>,
    /// The status by which requests are answered: by method and a part of the path.
    refused: Mutex<Vec<(&'static str, &'static str, u16)>>,
    written: AtomicU64,
}

impl Api {
    fn answer(&self, request: &Request) -> Response {
        let path = request.path();
        let refused = self.refused.lock().unwrap().clone();
        let is_meant = |of: &&(&str, &str, u16)| of.0 == request.method && path.contains(of.1);
        if let Some((_, _, code)) = refused.iter().find(is_meant) {
            return status(*code, path);
        }
        let is_whole = !request.header("accept").unwrap_or_default().contains("as=");
        let is_dry = request.query().contains("dryRun");
        let mut objects = self.objects.lock().unwrap();
        if request.method == "GET" {
            return objects.get(path).map_or_else(|| status(404, path), |object| shown(200, object, is_whole));
        }
        let text = String::from_utf8(request.body.clone()).unwrap();
        let mut object = json::value(&Tree::of(&read(&Document::whole(&text), &mut Interner::new()).unwrap()));
        let path = match request.method.as_str() {
            "POST" => format!("{path}/{}", object["metadata"]["name"].as_str().unwrap()),
            _ => path.to_owned(),
        };
        let before = objects.get(&path).cloned();
        if request.method == "POST" && before.is_some() {
            return status(409, &path);
        }
        let version = self.written.fetch_add(1, Ordering::SeqCst) + 1;
        object["metadata"]["uid"] = json!("a-uid");
        object["metadata"]["resourceVersion"] = json!(version.to_string());
        let answer = shown(if before.is_some() { 200 } else { 201 }, &object, is_whole);
        if !is_dry {
            objects.insert(path, object);
        }
        answer
    }

    fn refuse(&self, refused: &[(&'static str, &'static str, u16)]) {
        *self.refused.lock().unwrap() = refused.to_vec();
    }

    fn objects(&self) -> BTreeMap<String, Value> {
        self.objects.lock().unwrap().clone()
    }
}

fn status(code: u16, path: &str) -> Response {
    let mut words = path.rsplit('/');
    let (name, kind) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let reason = match code {
        404 => "NotFound",
        409 => "AlreadyExists",
        422 => "Invalid",
        429 => "TooManyRequests",
        _ => "",
    };
    Response::json(
        code,
        &json!({"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": reason, "code": code,
            "details": {"name": name, "kind": kind}}),
    )
}

fn shown(code: u16, object: &Value, is_whole: bool) -> Response {
    let partial =
        json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": object["metadata"]});
    Response::json(code, if is_whole { object } else { &partial })
}

/// A region with such an API, and its fleet.
struct Region {
    fleet: Fleet,
    api: Arc<Api>,
    // Ends with the region.
    _proxy: Proxy,
}

/// Where the inventory is.
const INVENTORY: &str = "/api/v1/namespaces/default/configmaps/pouch.acme.eu";

impl Region {
    fn new() -> Self {
        let fleet = Fleet::of(&format!(
            "apiVersion: pouch/v1alpha1\nkind: Fleet\nmetadata: {{name: acme}}\n\
             sources: [{{name: manifests, directory: {{path: manifests}}}}]\n\
             regions:\n  eu: {{recipients: [{EU}], namespaces: {{allowed: ['*']}}, k0rdentPushDisabled: true, delivery: none}}\n\
             output: {{path: bundles}}\nreuseKey: {{file: reuse.key}}\n"
        ));
        fleet.private("eu.agekey", Delivered::identity());
        Origin::new(&fleet, "");
        let api = Arc::<Api>::default();
        let answers = api.clone();
        let proxy = Proxy::canned(move |request| answers.answer(request));
        proxy.kubeconfig(&fleet.path("kubeconfig"), "admin");
        Self { fleet, api, _proxy: proxy }
    }

    fn origin(&self) -> Origin<'_> {
        Origin::known(&self.fleet)
    }

    /// Publishes Credentials of these names, with this value.
    fn publish(&self, names: &[&str], value: &str) {
        names.iter().for_each(|name| self.fleet.credential("eu", name, value));
        self.origin().publish(&[]).ends(0);
    }

    fn deliver(&self, path: &str, more: &[&str]) -> Ran {
        let fixed = ["deliver", path, "--region=eu", "--identity=eu.agekey", "--kubeconfig=kubeconfig"];
        let reach = ["--context=admin", "--inventory-namespace=default"];
        let ran = self.fleet.run(&[&fixed[..], &reach, more].concat());
        shows_nothing("what deliver says", &format!("{}{}", ran.stdout, ran.stderr));
        ran
    }

    /// The text that the inventory names as the commit.
    fn revision(&self) -> Value {
        self.api.objects().get(INVENTORY).map(|inventory| inventory["data"]["revision"].clone()).unwrap_or_default()
    }

    fn set_revision(&self, revision: Option<&str>) {
        let mut objects = self.api.objects.lock().unwrap();
        let data = objects.get_mut(INVENTORY).unwrap()["data"].as_object_mut().unwrap();
        match revision {
            Some(revision) => _ = data.insert("revision".to_owned(), json!(revision)),
            None => _ = data.remove("revision"),
        }
    }
}

#[test]
fn an_inventory_that_names_no_commit_lets_no_commit_pass_unasked() {
    let region = Region::new();
    region.publish(&["a"], "one");
    region.publish(&["a"], "two");
    // Where there is no inventory, no commit can be older.
    region.deliver("repo.git", &["--rev=main"]).ends(0);
    let tip = region.origin().tip().unwrap();
    assert_eq!(region.revision(), json!(tip));
    // The control: with the commit in it, an older one is refused for what it is, and the same one passes.
    region.deliver("repo.git", &["--rev=main~1"]).ends(5).says(" is older than ");
    region.deliver("repo.git", &["--rev=main"]).ends(0);
    for written in [None, Some("main"), Some("HEAD"), Some(&tip[..20]), Some("")] {
        region.set_revision(written);
        let before = region.api.objects();
        for revision in ["--rev=main~1", "--rev=main"] {
            let ran = region.deliver("repo.git", &[revision]).ends(5);
            ran.says("the inventory, ConfigMap default/pouch.acme.eu, does not name the commit that the region has")
                .says("--rollback applies this commit");
        }
        assert_eq!(region.api.objects(), before, "{written:?}");
    }
    region.deliver("repo.git", &["--rev=main~1", "--rollback"]).ends(0);
    assert_eq!(region.revision(), json!(region.origin().git(&["rev-parse", "main~1"])));
    region.deliver("repo.git", &["--rev=main"]).ends(0);

    // A folder has no commit that could be older, and names none.
    region.set_revision(None);
    region.origin().git(&["worktree", "add", "--quiet", region.fleet.path("tree").to_str().unwrap(), "main"]);
    std::fs::remove_file(region.fleet.path("tree/.git")).unwrap();
    region.deliver("tree", &[]).ends(0);
    assert!(region.revision().is_null());
    region.deliver("repo.git", &["--rev=main"]).ends(5).says("does not name the commit");
}

#[test]
fn what_is_refused_is_not_counted_as_applied() {
    let region = Region::new();
    region.publish(&["a", "b"], "one");
    let applied = |starts: &str, code: i32| {
        let ran = region.deliver("repo.git", &["--rev=main"]).ends(code);
        assert!(ran.stdout.starts_with(starts), "{}{}", ran.stdout, ran.stderr);
        ran
    };
    region.api.refuse(&[("PATCH", "/secrets/", 422)]);
    applied("eu  not applied  0 of 2 objects, 2 failed, 1 namespace made\n", 3).says("the region refuses it: Invalid");
    let ran = region.deliver("repo.git", &["--rev=main", "--dry-run"]).ends(3);
    assert!(ran.stdout.starts_with("eu  would not be applied  0 of 2 objects, 2 failed\n"), "{}", ran.stdout);
    region.api.refuse(&[("PATCH", "/secrets/a", 422)]);
    applied("eu  applied in part  1 of 2 objects, 1 added, 1 failed\n", 3);
    applied("eu  applied in part  1 of 2 objects, 1 unchanged, 1 failed\n", 3);
    // The control: what is not refused is applied.
    region.api.refuse(&[]);
    applied("eu  applied  2 objects, 1 added, 1 unchanged\n", 0);
}

#[test]
fn what_cannot_be_written_is_not_said_to_be_unreadable() {
    let region = Region::new();
    region.publish(&["a"], "one");
    let says = |refused: (&'static str, &'static str, u16), code: i32, words: &str| {
        region.api.refuse(&[refused]);
        let ran = region.deliver("repo.git", &["--rev=main"]).ends(code).says(words);
        assert!(!ran.stderr.contains("cannot be read") && !ran.stderr.contains("does not answer"), "{}", ran.stderr);
    };
    for code in [422, 429, 307] {
        let words = format!(": it answered {code}");
        let inventory =
            |words: &str| format!("error: the inventory cannot be written to cluster admin at https://{words}");
        region.api.refuse(&[("POST", "/configmaps", code)]);
        let ran = region.deliver("repo.git", &["--rev=main"]).ends(5).says(&inventory("")).says(&words);
        assert!(!ran.stderr.contains("cannot be read"), "{}", ran.stderr);
    }
    says(("PATCH", "/configmaps/", 429), 5, "error: the names of bundles cannot be written to cluster admin");
    says(("PATCH", "/secrets/", 429), 5, "error: Secret eu-team/a cannot be written to the region: it answered 429");
    // The control: what cannot be read is said to be unreadable.
    region.api.refuse(&[("GET", "/configmaps/", 500)]);
    region
        .deliver("repo.git", &["--rev=main"])
        .ends(5)
        .says("cannot be read, asked for the inventory: it answered 500");
}
