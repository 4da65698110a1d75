//! Secrets of Kubernetes' built-in types: the entries that the API server requires.
//!
//! Source: `ValidateSecret` in `pkg/apis/core/validation` of <https://github.com/kubernetes/kubernetes>;
//! types that no claim may publish are not repeated here.
//! <https://kubernetes.io/docs/concepts/configuration/secret/#secret-types>

use alloc::string::String;
use alloc::vec::Vec;

use super::identity::check_names;
use crate::finding::{Code, Fault};
use crate::object::Object;
use crate::secret::Payload;

/// Faults in a Secret's names or type that a region's API server would reject.
///
/// Without values (`--no-values`) only the names can be judged, or not even these.
pub fn check_secret(object: &Object) -> Vec<Fault> {
    let mut faults = Vec::new();
    check_names(object, &mut faults);
    let kind = object.body.str_at(&["type"]).unwrap_or_default();
    if let Some(payload) = &object.payload {
        faults.extend(check_entries(kind, payload));
    }
    faults
}

fn check_entries(kind: &str, payload: &Payload) -> Vec<Fault> {
    let has = |name: &str| payload.get(name).is_some();
    let holds_json_map = |name| if payload.is_seen() { holds_json_map(payload, name) } else { has(name) };
    let mut wrong: Vec<String> = Vec::new();
    let mut need = |there: bool, what: &str| {
        if !there {
            wrong.push(format!("a Secret of type {kind} needs {what}"));
        }
    };
    match kind {
        "kubernetes.io/dockerconfigjson" => {
            need(holds_json_map(".dockerconfigjson"), "an entry .dockerconfigjson that holds a JSON object");
        }
        "kubernetes.io/dockercfg" => {
            need(holds_json_map(".dockercfg"), "an entry .dockercfg that holds a JSON object");
        }
        "kubernetes.io/basic-auth" => need(has("username") || has("password"), "an entry username or password"),
        "kubernetes.io/ssh-auth" => {
            need(payload.may_have("ssh-privatekey"), "an entry ssh-privatekey that is not empty");
        }
        "kubernetes.io/tls" => {
            need(has("tls.crt"), "an entry tls.crt");
            need(has("tls.key"), "an entry tls.key");
        }
        _ => {}
    }
    const HELP: &str = "Add what is missing, or make the Secret one of type Opaque.";
    let fault = |message: String| Fault::new(Code::InvalidObject, message, HELP);
    wrong.into_iter().map(fault).collect()
}

/// Whether Go would unmarshal the entry into a map: it is a JSON object or `null`.
fn holds_json_map(payload: &Payload, name: &str) -> bool {
    let Some(bytes) = payload.get(name).map(|bytes| bytes.expose()) else { return false };
    // This checks only that it is JSON: nothing is kept, and the error, which quotes the text, is dropped.
    let well_formed = serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok();
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    well_formed && matches!(first, Some(b'{' | b'n')) && is_within_go(bytes)
}

/// The most levels of lists and maps that Go's reader takes:
/// <https://github.com/golang/go/blob/master/src/encoding/json/scanner.go>
const MOST_LEVELS: usize = 10_000;

/// Whether well-formed JSON has no more levels than Go reads, and no number too large for its `float64`.
fn is_within_go(json: &[u8]) -> bool {
    let (mut levels, mut is_quoted, mut is_escaped) = (0_usize, false, false);
    let mut rest = json;
    while let Some((byte, after)) = rest.split_first() {
        let here = rest;
        rest = after;
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            b'{' | b'[' => levels += 1,
            b'}' | b']' => levels = levels.saturating_sub(1),
            b'0'..=b'9' => {
                let is_part = |byte: &&u8| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-');
                let length = after.iter().take_while(is_part).count();
                let value =
                    here.get(..=length).and_then(|number| core::str::from_utf8(number).ok()?.parse::<f64>().ok());
                if !value.is_some_and(f64::is_finite) {
                    return false;
                }
                rest = after.get(length..).unwrap_or_default();
            }
            _ => {}
        }
        if levels > MOST_LEVELS {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::object;

    #[track_caller]
    fn check(kind: &str, entries: &str, expect: &[&str]) {
        let head = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: ns}\n";
        let faults = check_secret(&object(&format!("{head}type: {kind}\nstringData: {entries}\n")));
        let messages: Vec<&str> = faults.iter().map(|fault| &*fault.message).collect();
        assert_eq!(messages, expect, "{kind} {entries}");
        assert!(faults.iter().all(|fault| fault.code == Code::InvalidObject && !fault.help.is_empty()));
    }

    #[test]
    fn typed_secrets_need_their_entries() {
        let json =
            "a Secret of type kubernetes.io/dockerconfigjson needs an entry .dockerconfigjson that holds a JSON object";
        let old = "a Secret of type kubernetes.io/dockercfg needs an entry .dockercfg that holds a JSON object";
        let basic = "a Secret of type kubernetes.io/basic-auth needs an entry username or password";
        let ssh = "a Secret of type kubernetes.io/ssh-auth needs an entry ssh-privatekey that is not empty";
        let crt = "a Secret of type kubernetes.io/tls needs an entry tls.crt";
        let key = "a Secret of type kubernetes.io/tls needs an entry tls.key";
        check("kubernetes.io/dockerconfigjson", "{.dockerconfigjson: '{\"auths\": {}}'}", &[]);
        check("kubernetes.io/dockerconfigjson", "{.dockerconfigjson: ' null '}", &[]);
        for bad in ["''", "'{'", "'[]'", "'\"x\"'", "'7'", "'{} {}'", "'nul'", "hunter2"] {
            check("kubernetes.io/dockerconfigjson", &format!("{{.dockerconfigjson: {bad}}}"), &[json]);
        }
        check("kubernetes.io/dockerconfigjson", "{.dockercfg: '{}'}", &[json]);
        check("kubernetes.io/dockercfg", "{.dockercfg: '{}'}", &[]);
        check("kubernetes.io/dockercfg", "{}", &[old]);
        check("kubernetes.io/basic-auth", "{username: ''}", &[]);
        check("kubernetes.io/basic-auth", "{password: p}", &[]);
        check("kubernetes.io/basic-auth", "{user: p}", &[basic]);
        check("kubernetes.io/ssh-auth", "{ssh-privatekey: k}", &[]);
        check("kubernetes.io/ssh-auth", "{ssh-privatekey: ''}", &[ssh]);
        check("kubernetes.io/tls", "{tls.crt: '', tls.key: ''}", &[]);
        check("kubernetes.io/tls", "{tls.crt: c}", &[key]);
        check("kubernetes.io/tls", "{}", &[crt, key]);
        check("Opaque", "{}", &[]);
        check("example.com/own", "{}", &[]);
    }

    #[test]
    fn names_are_held_to_the_apis_bounds() {
        let bad = "apiVersion: v1\nkind: Secret\nmetadata: {name: ../s, namespace: a.b}\n";
        let codes: Vec<Code> = check_secret(&object(bad)).into_iter().map(|fault| fault.code).collect();
        assert_eq!(codes, [Code::InvalidObject; 2]);
    }

    #[test]
    fn json_may_be_nested_as_deep_as_go_lets_it() {
        let deep = format!("{{\"a\": {}{}}}", "[".repeat(5_000), "]".repeat(5_000));
        let bytes = crate::secret::SecretBytes::new(deep.into_bytes());
        let payload = Payload::new(vec![(".dockercfg".into(), bytes)]);
        assert!(check_entries("kubernetes.io/dockercfg", &payload).is_empty());
    }

    #[test]
    fn numbers_and_levels_are_bounded_as_in_go() {
        let nested = |levels: usize| format!("{}1{}", "{\"a\": ".repeat(levels), "}".repeat(levels));
        for (json, fits) in [
            (r#"{"a": 1e308, "b": [-1.7976931348623157e308, 1e-999, 0, -0.5E+3]}"#, true),
            (r#"{"a": "1e999", "b\"1e999": "\\"}"#, true),
            (r#"{"a": 1e309}"#, false),
            (r#"{"a": [{"b": -1e999}]}"#, false),
            (&*format!("{{\"a\": 1{}}}", "0".repeat(400)), false),
            (&nested(MOST_LEVELS), true),
            (&nested(MOST_LEVELS + 1), false),
        ] {
            assert_eq!(is_within_go(json.as_bytes()), fits, "{}", json.get(..30).unwrap_or(json));
        }
    }
}
