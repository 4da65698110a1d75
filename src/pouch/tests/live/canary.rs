//! Answers never reach what is said: a Secret's value in every kind of spoilt answer, and every output searched for it.
//!
//! The controls: the value is in the answer; kube's own decoding of the same answer does log it; and the
//! filter that pouch logs through does not let that pass.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use http::Request as HttpRequest;
use pouch::telemetry::{self, LogLevel};
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::{Layer, Registry};

use crate::ground::{CLUSTER, Ground, program};
use crate::objects::fleet;
use crate::rig::http::{Request, Response};
use crate::rig::proxy::Proxy;

const CANARY: &str = "canary-in-a-secret";
const ENCODED: &str = "Y2FuYXJ5LWluLWEtc2VjcmV0";

/// Answers in place of the Secret's, each with the canary in another place.
fn answers() -> Vec<(&'static str, Response)> {
    let json = "application/json";
    let object = |data: &str, meta: &str| {
        Response::new(200, json, format!(r#"{{"kind":"Secret","apiVersion":"v1","metadata":{meta},"data":{data}}}"#))
    };
    let meta = r#"{"name":"aws-secret","namespace":"kcm-system","uid":"u","resourceVersion":"5"}"#;
    let status = |code: u16| {
        Response::json(
            code,
            &json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": CANARY, "reason": CANARY, "code": code}),
        )
    };
    vec![
        ("cut off", Response::new(200, json, format!(r#"{{"kind":"Secret","data":{{"key":"{ENCODED}"#))),
        ("no value", object(&format!(r#"{{"AccessKeyID":{CANARY}}}"#), meta)),
        ("a value in the clear", object(&format!(r#"{{"AccessKeyID":"{CANARY}!"}}"#), meta)),
        ("data that is text", object(&format!(r#""{ENCODED}""#), meta)),
        ("data that is a list", object(&format!(r#"["{ENCODED}"]"#), meta)),
        ("a nested value", object(&format!(r#"{{"AccessKeyID":{{"{CANARY}":"{ENCODED}"}}}}"#), meta)),
        ("twice the same", object(&format!(r#"{{"AccessKeyID":"{ENCODED}","AccessKeyID":"{ENCODED}"}}"#), meta)),
        ("another object", object(&format!(r#"{{"AccessKeyID":"{ENCODED}"}}"#), r#"{"name":"canary-in-a-secret"}"#)),
        ("another kind", Response::new(200, json, format!(r#"{{"kind":"{CANARY}","data":"{ENCODED}"}}"#))),
        (
            "a number for a version",
            object(
                &format!(r#"{{"AccessKeyID":"{ENCODED}"}}"#),
                r#"{"name":"aws-secret","namespace":"kcm-system","resourceVersion":1}"#,
            ),
        ),
        ("a page", Response::new(200, "text/html", CANARY)),
        ("bytes", Response::new(200, json, [b"{\"".as_slice(), CANARY.as_bytes(), b"\xff\"}"].concat())),
        ("a kind of content", Response::new(200, &format!("text/{CANARY}"), CANARY)),
        ("a status of 500", status(500)),
        ("a status of 404", status(404)),
        ("a status of 403", status(403)),
        ("a status of 410", status(410)),
        ("a status of 409", status(409)),
        ("text with 503", Response::new(503, "text/plain", CANARY)),
        (
            "a redirection",
            Response::new(302, "text/html", CANARY).with("Location", &format!("https://x.invalid/{CANARY}")),
        ),
        ("a warning", Response::new(200, json, CANARY).with("Warning", &format!("299 - \"{CANARY}\""))),
        ("a wish to wait", Response::new(429, "text/plain", CANARY).with("Retry-After", CANARY)),
    ]
}

fn proxy(ground: &Ground, name: &'static str, answer: Response) -> Proxy {
    let server = ground.server.endpoint("admin");
    Proxy::canned(move |request: &Request| {
        if request.path().ends_with("/kcm-system/secrets/aws-secret") {
            let mut body = answer.value();
            let for_metadata = request.header("accept").is_some_and(|accept| accept.contains("as="));
            if for_metadata && body["data"] != json!(null) && name != "twice the same" {
                // The second look finds nothing new in what the first could use.
                (body["kind"], body["apiVersion"]) = (json!("PartialObjectMetadata"), json!("meta.k8s.io/v1"));
                return Response::json(answer.status, &body);
            }
            return answer.clone();
        }
        server
            .ask(&Request {
                headers: vec![("accept".into(), request.header("accept").unwrap_or_default().into())],
                ..request.clone()
            })
            .expect("the API server answers")
    })
}

#[test]
fn what_a_server_answers_is_never_said() {
    let Some(ground) = Ground::new() else { return };
    ground.apply(&fleet(1));
    ground.config("pouch.yaml", CLUSTER, "");
    let answers = answers();
    std::thread::scope(|scope| {
        for (number, part) in answers.chunks(answers.len().div_ceil(6)).enumerate() {
            let ground = &ground;
            scope.spawn(move || {
                for (name, answer) in part {
                    let proxy = proxy(ground, name, answer.clone());
                    let kubeconfig = format!("kubeconfig-{number}");
                    proxy.kubeconfig(&ground.path(&kubeconfig), "admin");
                    for format in ["text", "json"] {
                        let (out, summary) = (format!("out-{number}"), format!("summary-{number}.json"));
                        let arguments = [
                            "render",
                            "-f",
                            "pouch.yaml",
                            "--output-dir",
                            &out,
                            "--kubeconfig",
                            &kubeconfig,
                            "--request-timeout",
                            "2s",
                            "--log-level",
                            "trace",
                            "--log-format",
                            format,
                            "--summary",
                            &summary,
                            "-v",
                        ];
                        let (code, stdout, stderr) = program(&ground.path("."), &arguments, &[]);
                        assert_eq!(code, 3, "{name}, {format}: {stdout}{}", stderr.replace(CANARY, "(canary)"));
                        assert!(stderr.contains("pouch::cluster::link"), "{name}: nothing was logged");
                        let summary = std::fs::read_to_string(ground.path(&summary)).unwrap();
                        for (what, text) in [("stdout", &stdout), ("stderr", &stderr), ("the summary", &summary)] {
                            assert!(!text.contains(CANARY) && !text.contains(ENCODED), "{name}: {what} has it");
                            assert!(!text.contains("canary-in"), "{name}: {what} has a part of it");
                        }
                        assert!(summary.contains("kcm-system"), "{summary}");
                    }
                }
            });
        }
    });
}

#[derive(Clone, Default)]
struct Collected(Arc<Mutex<String>>);

impl<S: tracing::Subscriber> Layer<S> for Collected {
    fn on_event(&self, event: &tracing::Event<'_>, _: tracing_subscriber::layer::Context<'_, S>) {
        struct Line<'a>(&'a mut String);
        impl Visit for Line<'_> {
            fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
                let _ = writeln!(self.0, "{}={value:?}", field.name());
            }
        }
        event.record(&mut Line(&mut self.0.lock().unwrap()));
    }
}

/// What kube itself logs when it is asked to decode an answer.
fn logged_by_kube(proxy: &Proxy, folder: &std::path::Path, filtered: bool) -> String {
    let file = folder.join("kubeconfig");
    proxy.kubeconfig(&file, "admin");
    let collected = Collected::default();
    let ask = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let kubeconfig = kube::config::Kubeconfig::read_from(&file).unwrap();
            let config = kube::Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await.unwrap();
            let client = kube::Client::try_from(config).unwrap();
            let request =
                HttpRequest::get("/api/v1/namespaces/kcm-system/secrets/aws-secret").body(Vec::new()).unwrap();
            assert!(client.request::<serde_json::Value>(request).await.is_err());
        });
    };
    if filtered {
        let layer = collected.clone().with_filter(telemetry::filter(LogLevel::Trace));
        tracing::subscriber::with_default(Registry::default().with(layer), ask);
    } else {
        tracing::subscriber::with_default(Registry::default().with(collected.clone()), ask);
    }
    std::mem::take(&mut *collected.0.lock().unwrap())
}

/// Were kube's conveniences called, this is what would show, and what the filter holds back.
#[test]
fn the_second_lock_holds_alone() {
    let (_, answer) = answers().into_iter().find(|(name, _)| *name == "no value").unwrap();
    let proxy = Proxy::canned(move |_| answer.clone());
    let scratch = tempfile::tempdir().unwrap();
    assert!(logged_by_kube(&proxy, scratch.path(), false).contains(CANARY), "kube logs no bodies any more");
    assert!(!logged_by_kube(&proxy, scratch.path(), true).contains(CANARY));
}
