//! A small API in this process, and how an answer is told in a line. Knows no fault.

use std::io;

use serde_json::{Value, json};

use crate::rig::http::{Request, Response};

pub const MAPS: &str = "/api/v1/namespaces/n/configmaps";
pub const NAMED: &str = "/api/v1/namespaces/n/configmaps/m0";
pub const SECOND: &str =
    "/api/v1/namespaces/n/configmaps?limit=2&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NywicyI6MX0";

/// A token as the API server makes them, for page `page`.
pub fn page_token(page: usize) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(format!(r#"{{"v":"meta.k8s.io/v1","rv":7,"s":{page}}}"#))
}

pub fn map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "uid": name, "resourceVersion": "5"}})
}

/// An API of one object, and of one list: m0 to m5 in three pages.
pub fn canned(request: &Request) -> Response {
    if request.path() == NAMED {
        return Response::json(200, &map("m0"));
    }
    if request.path() != MAPS {
        return Response::new(404, "text/plain", "nothing here");
    }
    let page = (0..3).find(|page| request.parameter("continue") == Some(page_token(*page).as_str())).unwrap_or(0);
    let mut metadata = json!({"resourceVersion": "7"});
    if page < 2 {
        metadata["continue"] = json!(page_token(page + 1));
        metadata["remainingItemCount"] = json!(4 - 2 * page);
    }
    let items = [map(&format!("m{}", 2 * page)), map(&format!("m{}", 2 * page + 1))];
    Response::json(200, &json!({"kind": "ConfigMapList", "apiVersion": "v1", "metadata": metadata, "items": items}))
}

pub fn names(body: &Value) -> Vec<&str> {
    let items = body["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    items.iter().map(|item| item["metadata"]["name"].as_str().unwrap()).collect()
}

/// What a client sees of an answer, in a line.
pub fn seen(answer: io::Result<Response>) -> String {
    match answer {
        Err(error) => format!("{:?}", error.kind()),
        Ok(response) => {
            let body = response.value();
            let told = if body["kind"] == "Status" {
                let details = serde_json::to_string(&body["details"]).unwrap();
                format!("{} {} {details}", body["reason"], body["code"])
            } else if body["items"].is_array() {
                let token = body["metadata"]["continue"].as_str();
                let next = (0..3).find(|page| Some(page_token(*page).as_str()) == token);
                format!("{} {} next {next:?}", body["kind"], names(&body).join(" "))
            } else if body.is_object() {
                let version = &body["metadata"]["resourceVersion"];
                let odd = if version.is_number() { format!(" version {version}") } else { String::new() };
                format!("{} {} {}{odd}", body["kind"], body["metadata"]["name"], body["items"])
            } else {
                let text = String::from_utf8_lossy(&response.body);
                format!("{} bytes {:?}", response.body.len(), text.chars().take(15).collect::<String>())
            };
            let media = response.header("content-type").unwrap_or("-").split(';').next().unwrap().to_owned();
            format!("{} {media} {told}", response.status)
        }
    }
}

pub const PAGE_0: &str = r#"200 application/json "ConfigMapList" m0 m1 next Some(1)"#;
pub const PAGE_1: &str = r#"200 application/json "ConfigMapList" m2 m3 next Some(2)"#;
pub const OBJECT: &str = r#"200 application/json "ConfigMap" "m0" null"#;
