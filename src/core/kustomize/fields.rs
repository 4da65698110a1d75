//! Fields: what a kustomization may say, and where it names files.
//!
//! The fields are those of kustomize 5. One that is not here is refused, so that none is missed that leads to a file: what
//! stands under [`Shape::Any`] was looked at, and kustomize opens nothing for it.
//!
//! <https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/>

use super::fields::Shape::{Any, Component, File, FileOrText, Generated, Keyed, List, Map, Plugin, Refused, Resource};
use crate::node::Node;

/// A field and what it holds.
pub(super) type Field = (&'static str, Shape);

/// The content of a field.
pub(super) enum Shape {
    /// Words, numbers and names, of which none is a path.
    Any,
    /// A list of these.
    List(&'static Shape),
    /// A map with no other fields.
    Map(&'static [Field]),
    /// The path of a file.
    File(Use),
    /// The path of a file, or its text: kustomize tries the text as a path first.
    FileOrText(Use),
    /// The path of a file, after `KEY=` or not.
    Keyed(Use),
    /// An object that is generated: a map with no other fields.
    Generated(&'static [Field]),
    /// The path of a file of resources, or of a folder with a kustomization.
    Resource,
    /// The path of a folder with a kustomization.
    Component,
    /// A config, or the path of a file of configs.
    Plugin(Runs),
    /// It is not built; the text says what to do instead.
    Refused(&'static str),
}

/// The use of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// A patch.
    Patch,
    /// An entry of a generated ConfigMap.
    Value,
    /// An entry of a generated Secret, which SOPS may have sealed as a file.
    Sealable,
    /// Lines of entries of a generated object.
    Lines,
    /// Something about kinds and fields.
    Data,
}

impl Use {
    /// Says what to do about one that SOPS sealed.
    pub(super) fn help(self) -> &'static str {
        match self {
            Use::Patch => "Seal the whole manifest, and patch only what is not sealed.",
            Use::Value | Use::Sealable | Use::Lines | Use::Data => {
                "Seal a manifest of the Secret with SOPS, and name it under `resources`."
            }
        }
    }
}

/// The work of a config.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Runs {
    /// It makes objects.
    Generator,
    /// It changes or judges them.
    Other,
}

const NO_HELM: &str =
    "Render the chart into the tree, with helm template for example, and name the file under `resources`.";

const PATCH: &[Field] = &[("options", Any), ("patch", Any), ("path", File(Use::Patch)), ("target", Any)];

const REPLACEMENT: &[Field] = &[("path", File(Use::Data)), ("source", Any), ("sourceValue", Any), ("targets", Any)];

const CONFIG_MAP: &[Field] = &[
    ("behavior", Any),
    ("env", File(Use::Lines)),
    ("envs", List(&File(Use::Lines))),
    ("files", List(&Keyed(Use::Value))),
    ("literals", Any),
    ("name", Any),
    ("namespace", Any),
    ("options", Any),
];

const SECRET: &[Field] = &[
    ("behavior", Any),
    ("env", File(Use::Lines)),
    ("envs", List(&File(Use::Lines))),
    ("files", List(&Keyed(Use::Sealable))),
    ("literals", Any),
    ("name", Any),
    ("namespace", Any),
    ("options", Any),
    ("type", Any),
];

/// The fields of a kustomization or component.
pub(super) const KUSTOMIZATION: &[Field] = &[
    ("apiVersion", Any),
    ("bases", List(&Component)),
    ("buildMetadata", Any),
    ("commonAnnotations", Any),
    ("commonLabels", Any),
    ("components", List(&Component)),
    ("configMapGenerator", List(&Map(CONFIG_MAP))),
    ("configurations", List(&File(Use::Data))),
    ("crds", List(&File(Use::Data))),
    ("generatorOptions", Any),
    ("generators", List(&Plugin(Runs::Generator))),
    ("helmChartInflationGenerator", Refused(NO_HELM)),
    ("helmCharts", Refused(NO_HELM)),
    ("helmGlobals", Refused(NO_HELM)),
    ("images", Any),
    ("kind", Any),
    ("labels", Any),
    ("metadata", Any),
    ("namePrefix", Any),
    ("nameSuffix", Any),
    ("namespace", Any),
    ("openapi", Map(&[("path", File(Use::Data)), ("version", Any)])),
    ("patches", List(&Map(PATCH))),
    ("patchesJson6902", List(&Map(PATCH))),
    ("patchesStrategicMerge", List(&FileOrText(Use::Patch))),
    ("replacements", List(&Map(REPLACEMENT))),
    ("replicas", Any),
    ("resources", List(&Resource)),
    ("secretGenerator", List(&Generated(SECRET))),
    ("sortOptions", Any),
    ("transformers", List(&Plugin(Runs::Other))),
    ("validators", List(&Plugin(Runs::Other))),
    ("vars", Any),
];

/// The generators and transformers that are part of kustomize, with the fields of their configs beside `apiVersion`, `kind`
/// and `metadata`.
///
/// <https://kubectl.docs.kubernetes.io/references/kustomize/builtins/>
pub(super) const BUILTINS: &[(&str, &[Field])] = &[
    ("AnnotationsTransformer", &[("annotations", Any), ("fieldSpecs", Any)]),
    ("ConfigMapGenerator", CONFIG_MAP),
    ("HashTransformer", &[]),
    ("ImageTagTransformer", &[("fieldSpecs", Any), ("imageTag", Any)]),
    ("LabelTransformer", &[("fieldSpecs", Any), ("labels", Any)]),
    (
        "NamespaceTransformer",
        &[("fieldSpecs", Any), ("namespace", Any), ("setRoleBindingSubjects", Any), ("unsetOnly", Any)],
    ),
    ("PatchJson6902Transformer", &[("jsonOp", Any), ("path", File(Use::Patch)), ("target", Any)]),
    ("PatchStrategicMergeTransformer", &[("patches", Any), ("paths", List(&FileOrText(Use::Patch)))]),
    ("PatchTransformer", PATCH),
    ("PrefixSuffixTransformer", &[("fieldSpecs", Any), ("prefix", Any), ("suffix", Any)]),
    ("PrefixTransformer", &[("fieldSpecs", Any), ("prefix", Any)]),
    ("ReplacementTransformer", &[("replacements", List(&Map(REPLACEMENT)))]),
    ("ReplicaCountTransformer", &[("fieldSpecs", Any), ("replica", Any)]),
    ("SecretGenerator", SECRET),
    ("SortOrderTransformer", &[("sortOptions", Any)]),
    ("SuffixTransformer", &[("fieldSpecs", Any), ("suffix", Any)]),
];

/// The fields that every config has.
pub(super) const HEAD: &[Field] = &[("apiVersion", Any), ("kind", Any), ("metadata", Any)];

/// The config of KSOPS, whose files are resources that SOPS sealed.
///
/// <https://github.com/viaduct-ai/kustomize-sops>
pub(super) const KSOPS: &[Field] = &[
    ("fail-on-error", Any),
    ("files", List(&Resource)),
    ("secretFrom", Refused("Seal a manifest of the Secret with SOPS, and name it under `files`.")),
];

/// Fields of a kustomization that say no more than which files there are.
const HARMLESS: [&str; 10] = [
    "apiVersion",
    "bases",
    "buildMetadata",
    "configurations",
    "crds",
    "kind",
    "metadata",
    "openapi",
    "resources",
    "sortOptions",
];

/// Returns true if a kustomization makes other objects than stand in its files, so that these are not what is meant.
pub fn needs_build(kustomization: &Node) -> bool {
    let is_empty = |value: &Node| match value {
        Node::Null => true,
        Node::Text(text) => text.is_empty(),
        Node::List(items) => items.is_empty(),
        value => value.is_map() && value.entries().is_empty(),
    };
    let is_one =
        kustomization.get("kind").is_none_or(|kind| matches!(kind.as_str(), Some("Kustomization" | "Component")));
    is_one && kustomization.entries().iter().any(|(key, value)| !HARMLESS.contains(&&**key) && !is_empty(value))
}
