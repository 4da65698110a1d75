//! ConfigMaps, and the size that the API server bounds for every object.
//!
//! Source: `ValidateConfigMap` in `pkg/apis/core/validation` of <https://github.com/kubernetes/kubernetes>. One object
//! that the server refuses stops everything that a consumer applies with it.

use alloc::borrow::ToOwned as _;
use alloc::string::String;
use alloc::vec::Vec;

use super::stored::entries;
use crate::finding::{Code, Fault};
use crate::name::is_data_key;
use crate::node::Node;
use crate::object::{MAX_SECRET_BYTES, Object};
use crate::secret::from_base64;

/// Faults in a ConfigMap's entries that a region's API server would reject.
pub fn check_config_map(object: &Object) -> Vec<Fault> {
    let mut wrong: Vec<String> = Vec::new();
    for field in ["data", "binaryData"] {
        let Some(node) = object.at(&[field]) else { continue };
        if !node.is_map() {
            wrong.push(format!("{field} is {}, not a map", node.type_name()));
        }
        for (key, value) in node.entries() {
            if !is_data_key(key) {
                wrong.push(format!("{field} has an entry whose name, of {} bytes, the API refuses", key.len()));
            }
            match value {
                Node::Null => {}
                Node::Text(text) if field == "data" || from_base64(text).is_some() => {}
                Node::Text(_) => wrong.push(format!("an entry of {field} is not base64")),
                other => wrong.push(format!("an entry of {field} is {}, not text", other.type_name())),
            }
        }
    }
    if let (Some(data), Some(binary)) = (object.at(&["data"]), object.at(&["binaryData"]))
        && binary.entries().iter().any(|(key, _)| data.get(key).is_some())
    {
        wrong.push("data and binaryData have an entry of the same name".to_owned());
    }
    wrong.sort();
    wrong.dedup();
    let help = "Correct the ConfigMap; its entries are text, or base64 in binaryData.";
    wrong.into_iter().map(|message| Fault::new(Code::InvalidObject, message, help)).collect()
}

/// The fault of an object of any kind that has too many bytes.
pub fn check_size(object: &Object) -> Option<Fault> {
    let (what, size) = match object.key.kind.is_config_map() {
        true => ("the values sum to", entries(object).into_iter().map(|(_, value)| value).sum()),
        false => ("the object has", bytes(&object.body)),
    };
    (size > MAX_SECRET_BYTES).then(|| {
        let message = format!("{what} {size} bytes; the API takes {MAX_SECRET_BYTES}");
        Fault::new(Code::TooLarge, message, "Split it, or shorten what it holds.")
    })
}

/// Estimates how many bytes a tree takes as JSON.
fn bytes(node: &Node) -> usize {
    const OTHER: usize = 8;
    match node {
        Node::Text(text) => text.len(),
        Node::List(items) => items.iter().map(bytes).sum(),
        Node::Map(entries) | Node::InOrder(entries) => {
            entries.iter().flat_map(|(key, node)| [key.len(), bytes(node)]).sum()
        }
        Node::Null | Node::Bool(_) | Node::Int(_) | Node::Uint(_) | Node::Float(_) | Node::Time(_) => OTHER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::object;

    #[track_caller]
    fn check(rest: &str, expect: &[&str]) {
        let head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: ns}\n";
        let object = object(&format!("{head}{rest}\n"));
        let faults: Vec<Fault> = check_config_map(&object).into_iter().chain(check_size(&object)).collect();
        assert_eq!(faults.iter().map(|fault| &*fault.message).collect::<Vec<_>>(), expect, "{rest}");
    }

    #[test]
    fn entries_are_what_the_api_takes() {
        check("data: {a: x, b.yaml: ''}\nbinaryData: {c: eA==}", &[]);
        check("data: null", &[]);
        check(
            "data: {a: 5, b: true}",
            &["an entry of data is a boolean, not text", "an entry of data is an integer, not text"],
        );
        check("data: {a: null}\nbinaryData: {b: \"eA\\n==\"}", &[]);
        check("data: [a]", &["data is a list, not a map"]);
        check("data: {a/b: CANARY}", &["data has an entry whose name, of 3 bytes, the API refuses"]);
        check("binaryData: {a: '!'}", &["an entry of binaryData is not base64"]);
        check("data: {a: x}\nbinaryData: {a: eA==}", &["data and binaryData have an entry of the same name"]);
        let long = "x".repeat(1_100_000);
        check(&format!("data: {{a: {long}}}"), &["the values sum to 1100000 bytes; the API takes 1048576"]);
    }
}
