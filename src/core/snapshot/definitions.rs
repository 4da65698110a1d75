//! What is known of kinds that CustomResourceDefinitions in the sources define, and of those that live clusters serve.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::inquiry::Inquiry;
use crate::config::{Fleet, Source};
use crate::kinds::{K0RDENT, Scopes, is_definition};
use crate::name::{GroupKind, Scope, Version};
use crate::node::Node;
use crate::object::kind_of;
use crate::validity::schema::Schema;

/// The versions and schemas of a kind.
#[derive(Default)]
pub struct Definition {
    /// The versions that are served.
    pub served: Vec<Version>,
    /// The schemas of its versions, if a CustomResourceDefinition in the sources has some and the kind may be published.
    pub schemas: BTreeMap<Version, Schema>,
}

/// Learns the kinds that sources define: each with what it was asked, if it is asked piece by piece, and its documents that
/// may define some.
pub(super) fn learn_definitions<'a>(
    fleet: &Fleet,
    sources: impl Iterator<Item = (&'a Source, Option<&'a Inquiry>, &'a [&'a Node])>,
    scopes: &mut Scopes,
) -> BTreeMap<GroupKind, Definition> {
    let mut definitions: BTreeMap<GroupKind, Definition> = BTreeMap::new();
    for (source, inquiry, defining) in sources {
        if !source.provides.cluster_scoped {
            continue;
        }
        for (kind, (scope, versions)) in inquiry.iter().flat_map(|inquiry| &inquiry.served) {
            scopes.learn(kind.clone(), *scope);
            // A live cluster is not asked for schemas.
            definitions.entry(kind.clone()).or_default().served.clone_from(versions);
        }
        for document in defining.iter().filter(|document| is_definition(&kind_of(document))) {
            let group = document.str_at(&["spec", "group"]).unwrap_or_default();
            let kind = GroupKind::new(group, document.str_at(&["spec", "names", "kind"]).unwrap_or_default());
            match document.str_at(&["spec", "scope"]) {
                Some("Cluster") => scopes.learn(kind.clone(), Scope::Cluster),
                Some("Namespaced") => scopes.learn(kind.clone(), Scope::Namespaced),
                _ => {}
            }
            if kind.group == K0RDENT {
                learn_release(document, &kind, scopes);
            }
            let mut definition = definition(document);
            if fleet.publishes(&kind) {
                definition.schemas = schemas(document);
            }
            definitions.insert(kind, definition);
        }
    }
    definitions
}

/// Learns the versions of a definition, and the fields of `spec` that it has in any of them: a newer release of k0rdent has
/// others.
fn learn_release(definition: &Node, kind: &GroupKind, scopes: &mut Scopes) {
    const SPEC: [&str; 5] = ["schema", "openAPIV3Schema", "properties", "spec", "properties"];
    versions(definition).iter().filter_map(|it| it.str_at(&["name"])).for_each(|it| scopes.learn_version(kind, it));
    for (field, _) in versions(definition).iter().filter_map(|version| version.at(&SPEC)).flat_map(Node::entries) {
        scopes.learn_field(kind, field);
    }
}

fn versions(document: &Node) -> &[Node] {
    document.at(&["spec", "versions"]).map(Node::items).unwrap_or_default()
}

fn definition(document: &Node) -> Definition {
    let is_served = |version: &&Node| version.at(&["served"]).and_then(Node::as_bool) == Some(true);
    let served = versions(document).iter().filter(is_served);
    let served = served.filter_map(|version| version.str_at(&["name"]).map(Version::from)).collect();
    Definition { served, ..Definition::default() }
}

fn schemas(document: &Node) -> BTreeMap<Version, Schema> {
    let schema = |version: &Node| Some((version.str_at(&["name"])?.into(), Schema::read(version)?));
    versions(document).iter().filter_map(schema).collect()
}
