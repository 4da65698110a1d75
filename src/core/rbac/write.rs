//! Roles and their bindings as YAML, with the reasons as comments.
//!
//! The emitter writes no comments, so a role is its head and its rules, each written by the emitter,
//! with comments between them. Comments are escaped: anybody may have chosen a name in them.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use crate::name::{Name, Namespace};
use crate::report::escape;
use crate::yaml::emit::{Tree, emit};

/// Who is given the rights.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Subject {
    /// A service account.
    ServiceAccount {
        /// Its namespace.
        namespace: Namespace,
        /// Its name.
        name: Name,
    },
    /// A user, as the API server's authentication calls it.
    User(String),
    /// A group of users.
    Group(String),
}

/// One manifest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RbacManifest {
    /// `ClusterRole`, `ClusterRoleBinding`, `Role`, `RoleBinding` or `Namespace`.
    pub kind: &'static str,
    /// The namespace; none for the cluster-wide ones.
    pub namespace: Option<Namespace>,
    /// The name.
    pub name: String,
    /// YAML with comments, without a `---` line, ending in a line feed.
    pub text: String,
}

/// One rule: verbs on one resource, in one place.
#[derive(Clone)]
pub(super) struct PolicyRule {
    pub(super) why: Vec<String>,
    pub(super) group: String,
    pub(super) resource: String,
    pub(super) verbs: Vec<&'static str>,
    /// The names that it is for, each with a comment of its own; none for all.
    pub(super) names: Option<BTreeMap<String, String>>,
}

pub(super) const GROUP: &str = "rbac.authorization.k8s.io";

/// A role for each part of the rules, with its binding, in a namespace or for the whole cluster.
///
/// The first has the plain name, the others `.2` and so on behind it.
pub(super) fn role(
    name: &str,
    namespace: Option<&Namespace>,
    parts: &[Vec<PolicyRule>],
    subject: &Subject,
) -> Vec<RbacManifest> {
    let (kind, binding) = match namespace {
        Some(_) => ("Role", "RoleBinding"),
        None => ("ClusterRole", "ClusterRoleBinding"),
    };
    let mut manifests = Vec::new();
    for (number, rules) in (1_usize..).zip(parts) {
        let name = if number == 1 { String::from(name) } else { format!("{name}.{number}") };
        let mut text = String::from(&*emit(&Tree::map(head(kind, &name, namespace))));
        text.push_str("rules:\n");
        for rule in rules {
            text.push_str(&self::rule(rule));
        }
        let bound = [
            (
                "roleRef",
                Tree::map([("apiGroup", Tree::text(GROUP)), ("kind", Tree::text(kind)), ("name", Tree::text(&name))]),
            ),
            ("subjects", Tree::List(vec![subject_tree(subject)])),
        ];
        let bound = Tree::map(head(binding, &name, namespace).into_iter().chain(bound));
        let bound = String::from(&*emit(&bound));
        let namespace = namespace.cloned();
        manifests.push(RbacManifest { kind, namespace: namespace.clone(), name: name.clone(), text });
        manifests.push(RbacManifest { kind: binding, namespace, name, text: bound });
    }
    manifests
}

fn head<'a>(kind: &'a str, name: &'a str, namespace: Option<&'a Namespace>) -> [(&'static str, Tree<'a>); 3] {
    let namespace = namespace.map(|namespace| ("namespace", Tree::text(namespace.as_str())));
    [
        ("apiVersion", Tree::text("rbac.authorization.k8s.io/v1")),
        ("kind", Tree::text(kind)),
        ("metadata", Tree::map([("name", Tree::text(name))].into_iter().chain(namespace))),
    ]
}

fn subject_tree(subject: &Subject) -> Tree<'_> {
    match subject {
        Subject::ServiceAccount { namespace, name } => Tree::map([
            ("kind", Tree::text("ServiceAccount")),
            ("name", Tree::text(name.as_str())),
            ("namespace", Tree::text(namespace.as_str())),
        ]),
        Subject::User(name) => foreign("User", name),
        Subject::Group(name) => foreign("Group", name),
    }
}

fn foreign<'a>(kind: &'a str, name: &'a str) -> Tree<'a> {
    Tree::map([("apiGroup", Tree::text(GROUP)), ("kind", Tree::text(kind)), ("name", Tree::text(name))])
}

fn rule(rule: &PolicyRule) -> String {
    let one = |text| Tree::List(vec![Tree::text(text)]);
    let verbs = Tree::List(rule.verbs.iter().map(|verb| Tree::text(*verb)).collect());
    let tree = Tree::map([("apiGroups", one(&*rule.group)), ("resources", one(&*rule.resource)), ("verbs", verbs)]);
    let mut text = comment("", &rule.why);
    text.push_str(&emit(&Tree::List(vec![tree])));
    if let Some(names) = &rule.names {
        text.push_str("  resourceNames:\n");
        for (name, why) in names {
            if !why.is_empty() {
                text.push_str(&comment("  ", core::slice::from_ref(why)));
            }
            text.push_str("  ");
            // Names of objects are one line.
            text.push_str(&emit(&Tree::List(vec![Tree::text(name)])));
        }
    }
    text
}

/// Lines of comment.
pub(super) fn comment(indent: &str, lines: &[String]) -> String {
    lines.iter().map(|line| format!("{indent}# {}\n", escape(line))).collect()
}
