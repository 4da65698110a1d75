//! Labels and annotations of an object, of any kind, that a region's API would reject.
//!
//! Source: `ValidateLabels` in `apimachinery/pkg/apis/meta/v1/validation` and `ValidateAnnotations` in
//! `apimachinery/pkg/api/validation` of <https://github.com/kubernetes/kubernetes>. Only what is published counts:
//! nobody applies the other ones. Every message names keys and never a value.

use alloc::string::String;
use alloc::vec::Vec;

use super::identity::say;
use crate::finding::{Code, Fault};
use crate::lenient::quoted;
use crate::object::steering::steers;
use crate::object::{Object, TEMPLATE_ANNOTATION};
use crate::selector::{is_label_key, is_label_value};

/// The most bytes of all annotations, keys included.
const MOST_BYTES: usize = 256 * 1024;

/// Room for the annotations that pouch adds for a consumer.
const ADDED_BYTES: usize = 512;

const KEY_HELP: &str = "Use at most 63 letters, digits, dots, dashes and underscores, alphanumeric at both ends, after a DNS \
                        subdomain and a slash if there is one; or let `keepMetadata` not name the key.";

/// Faults in the labels and annotations that are published of an object.
pub fn check(object: &Object) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (key, value) in object.labels.iter().filter(|(key, _)| !steers(key)) {
        if !is_label_key(key) {
            say(
                &mut faults,
                format!("metadata.labels has the key {}, which the API refuses", quoted(key)),
                KEY_HELP.into(),
            );
        }
        if !is_label_value(value) {
            let help = "Use at most 63 letters, digits, dots, dashes and underscores, alphanumeric at both ends.";
            say(&mut faults, format!("the label {} has a value that the API refuses", quoted(key)), help.into());
        }
    }
    // What makes a ConfigMap a template steers too, and is published with it.
    let is_template = |key: &str| object.key.kind.is_config_map() && key == TEMPLATE_ANNOTATION;
    let annotations = || object.annotations.iter().filter(|(key, _)| !steers(key) || is_template(key));
    for (key, _) in annotations().filter(|(key, _)| !is_label_key(&lower(key))) {
        let message = format!("metadata.annotations has the key {}, which the API refuses", quoted(key));
        say(&mut faults, message, KEY_HELP.into());
    }
    let bytes: usize = annotations().flat_map(|(key, value)| [key.len(), value.len()]).sum();
    if bytes > MOST_BYTES - ADDED_BYTES {
        let message = format!(
            "the annotations sum to {bytes} bytes; the API takes {MOST_BYTES}, with {ADDED_BYTES} for pouch's own"
        );
        faults.push(Fault::new(Code::TooLarge, message, "Shorten them."));
    }
    faults
}

/// A text as Go's `strings.ToLower` has it: each character by itself, which `to_lowercase` may lengthen.
fn lower(text: &str) -> String {
    text.chars().filter_map(|c| c.to_lowercase().next()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Origin, Place};
    use crate::kinds::Scopes;
    use crate::object::{Keep, admit};
    use crate::testing::{node, yaml};

    struct All;

    impl Keep for All {
        fn label(&self, _: &str) -> bool {
            true
        }

        fn annotation(&self, _: &str) -> bool {
            true
        }
    }

    #[track_caller]
    fn kept(text: &str) -> Object {
        let origin = Origin { source: "test".into(), place: Place::Whole };
        let admitted = admit(node(&yaml(text)), origin, &Scopes::new(), None, &All);
        admitted.unwrap_or_else(|unusable| panic!("{:?}", unusable.why))
    }

    /// Checks one label or annotation of an object of each kind that is published.
    #[track_caller]
    fn check_pair(field: &str, key: &str, value: &str, expect: &[&str]) {
        for head in [
            "apiVersion: v1\nkind: Secret\n",
            "apiVersion: v1\nkind: ConfigMap\n",
            "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: AzureClusterIdentity\n",
        ] {
            let pair = serde_json::json!({key: value});
            let text = format!("{head}metadata: {{name: a, namespace: b, {field}: {pair}}}\n");
            let found: Vec<String> = super::check(&kept(&text)).into_iter().map(|fault| fault.message).collect();
            assert_eq!(found, expect, "{head}{field}");
        }
    }

    #[test]
    fn labels_are_what_the_api_takes() {
        let long = |count: usize| "a".repeat(count);
        for key in
            ["team", "Team_a.b-c", "example.com/team", &long(63), &format!("{}/{}", "a.".repeat(126) + "a", long(63))]
        {
            check_pair("labels", key, "Value_1.x-y", &[]);
            check_pair("labels", key, "", &[]);
        }
        for key in
            ["", "team!", "te am", "-a", "a-", "/a", "a/", "a/b/c", "Example.com/a", "a_b/c", "é", "a\u{7}b", &long(64)]
        {
            let message = format!("metadata.labels has the key {key:?}, which the API refuses");
            let message = message.replace(&long(64), &long(63));
            check_pair("labels", key, "CANARY", &[&message]);
        }
        for value in ["CANARY!", " ", "-a", "a.", "é", "a\nb", "a/b", &long(64), &long(84)] {
            check_pair("labels", "team", value, &["the label \"team\" has a value that the API refuses"]);
        }
    }

    #[test]
    fn annotations_are_what_the_api_takes() {
        for key in ["team", "Example.COM/Team", "\u{212a}", "\u{130}"] {
            check_pair("annotations", key, "any {text}: é\n\u{1}", &[]);
        }
        for key in ["", "team!", "a b/c", "a/b/c", "a/", "é/a", "\u{1b}[31m"] {
            let message = format!("metadata.annotations has the key {key:?}, which the API refuses");
            check_pair("annotations", key, "CANARY", &[&message]);
        }
        check_pair("annotations", "a", &"x".repeat(MOST_BYTES - ADDED_BYTES - 1), &[]);
        let message = "the annotations sum to 261633 bytes; the API takes 262144, with 512 for pouch's own";
        check_pair("annotations", "a", &"x".repeat(MOST_BYTES - ADDED_BYTES), &[message]);
    }

    /// The control: what is not published stops nobody.
    #[test]
    fn what_is_not_published_is_not_judged() {
        check_pair("labels", "argoproj.io/a!", "-", &[]);
        check_pair("annotations", "argoproj.io/a!", "x", &[]);
        check_pair("annotations", "kubectl.kubernetes.io/last-applied-configuration", &"x".repeat(MOST_BYTES), &[]);
        let text = "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: b, labels: {team!: x}}\n";
        assert!(super::check(&crate::testing::object(text)).is_empty());
    }
}
