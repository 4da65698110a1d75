//! What regions share: `regionDefaults` of the configuration, merged with each region while it is as typed.
//!
//! Maps merge, and everything else that a region says takes the place of what regions share. Every value keeps its
//! place in the file, so a fault of a shared setting is shown where it stands, once.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;

use super::delivery::RegionDeliveryFile;
use super::error::{Faults, FieldPath, Step};
use super::region::{RegionConfig, RegionNamespaces};
use super::written::{Value, Written};

/// The field of the configuration.
pub(super) const DEFAULTS: &str = "regionDefaults";

/// The fields of a region that are each region's own: who can read it, where it is, and what describes it.
pub(super) const OWN: [&str; 7] =
    ["cluster", "directory", "inventory", "management", "recipients", "recipientsFile", "state"];

/// Settings that regions share: a region's own maps are merged with these, and its other values win.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct RegionDefaults {
    /// The only one that is read by itself: the others are merged into each region.
    #[serde(default)]
    pub(super) delivery: RegionDeliveryFile,
}

/// The fields of a region that regions can share, none of them needed.
impl JsonSchema for RegionDefaults {
    fn schema_name() -> Cow<'static, str> {
        "RegionDefaultsFile".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = RegionConfig::json_schema(generator);
        schema.remove("required");
        let mut namespaces = RegionNamespaces::json_schema(generator);
        namespaces.remove("required");
        schema.insert("description".into(), "Settings that regions share.".into());
        if let Some(fields) = schema.get_mut("properties").and_then(|fields| fields.as_object_mut()) {
            OWN.iter().for_each(|own| drop(fields.remove(*own)));
            fields.insert("namespaces".into(), namespaces.to_value());
        }
        schema
    }
}

impl Written {
    /// The same with what regions share in each region.
    pub(super) fn with_defaults(mut self) -> Self {
        let Value::Map(fields) = &mut self.value else { return self };
        let shared = fields.iter().find(|(key, _)| key.text == DEFAULTS).map(|(_, shared)| shared.clone());
        let (Some(shared), Some((_, regions))) = (shared, fields.iter_mut().find(|(key, _)| key.text == "regions"))
        else {
            return self;
        };
        if let Value::Map(regions) = &mut regions.value {
            regions.iter_mut().for_each(|(_, region)| merge(region, &shared, &[]));
        }
        self
    }

    /// The same faults where they were typed: of what regions share, once, and not in each region.
    pub(super) fn as_typed(&self, faults: Faults) -> Faults {
        faults.moved(|error| {
            let [Step::Key(regions), Step::Key(_), rest @ ..] = error.field.steps() else { return None };
            let shared = rest.iter().fold(FieldPath::root().key(DEFAULTS), |path, step| match step {
                Step::Key(key) => path.key(key),
                Step::Index(index) => path.index(*index),
            });
            let at = |path: &FieldPath| self.position(path, error.spot);
            let is_shared = regions == "regions" && !rest.is_empty() && at(&error.field) == at(&shared);
            is_shared.then_some(shared)
        })
    }
}

/// The maps of a region of which one entry is chosen: a shared one counts only where the region chooses the same.
const CHOICES: [&[&str]; 2] = [&["delivery"], &["delivery", "argocd", "destination"]];

/// Merges a value of a region, at a path within the region, with what regions share.
fn merge(own: &mut Written, shared: &Written, path: &[&str]) {
    let Value::Map(settings) = &shared.value else { return };
    let is_choice = CHOICES.contains(&path);
    match &mut own.value {
        Value::Map(entries) => {
            let is_chosen = is_choice && !entries.is_empty();
            for (key, value) in settings {
                let below: Vec<&str> = path.iter().copied().chain([&*key.text]).collect();
                match entries.iter_mut().find(|(known, _)| known.text == key.text) {
                    Some((_, own)) => merge(own, value, &below),
                    None if is_chosen => {}
                    None => entries.push((key.clone(), value.clone())),
                }
            }
        }
        // A word chooses one entry as it is shared.
        Value::Text(word) if is_choice => {
            if let Some(chosen) = settings.iter().find(|(key, _)| key.text == *word) {
                own.value = Value::Map(vec![chosen.clone()]);
            }
        }
        _ => {}
    }
}
