//! Shared settings: `regionDefaults` of the configuration, merged with each region while it is as typed.
//!
//! Maps merge, and everything else that a region says takes the place of what regions share. Every value keeps its
//! place in the file, so a fault of a shared setting is shown where it stands, once.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer};
use serde_json::Value as Json;

use super::delivery::RegionDeliveryFile;
use super::error::{Faults, FieldPath, Step};
use super::region::RegionConfig;
use super::setting::DEFAULTS;
use super::written::{Value, Written};

/// The fields of a region that are each region's own: who can read it, where it is, and what describes it.
pub(super) const OWN: [&str; 7] =
    ["cluster", "directory", "inventory", "management", "recipients", "recipientsFile", "state"];

/// Settings that regions share: a region's own maps are merged with these, and its other values win.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct RegionDefaults {
    /// The only one that is read by itself, if it is whole: the others are merged into each region.
    #[serde(default, deserialize_with = "if_whole")]
    pub(super) delivery: RegionDeliveryFile,
}

/// Reads a value of which regions may add what it lacks.
fn if_whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RegionDeliveryFile, D::Error> {
    let value = Json::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

/// The fields of a region that regions can share, none of them needed.
impl JsonSchema for RegionDefaults {
    fn schema_name() -> Cow<'static, str> {
        "RegionDefaultsFile".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = RegionConfig::json_schema(generator);
        schema.remove("required");
        schema.insert("description".into(), "Settings that regions share.".into());
        if let Some(fields) = schema.get_mut("properties").and_then(|fields| fields.as_object_mut()) {
            OWN.iter().for_each(|own| drop(fields.remove(*own)));
        }
        schema
    }
}

impl Written {
    /// The same with what regions share in each region; `schema` is that of the whole.
    pub(super) fn with_defaults(mut self, schema: &Json) -> Self {
        let Value::Map(fields) = &mut self.value else { return self };
        let shared = fields.iter().find(|(key, _)| key.text == DEFAULTS).map(|(_, shared)| shared.clone());
        let (Some(mut shared), Some((_, regions))) = (shared, fields.iter_mut().find(|(key, _)| key.text == "regions"))
        else {
            return self;
        };
        // Fields that cannot be shared, or that there are not, are faults of their own.
        let known = schema.pointer("/$defs/RegionDefaultsFile/properties");
        if let Value::Map(fields) = &mut shared.value {
            fields.retain(|(key, _)| known.is_some_and(|known| known.get(&key.text).is_some()));
        }
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
            let at = |path: &FieldPath| self.at(path).and_then(|_| self.position(path, error.spot));
            let place = at(&error.field).filter(|_| regions == "regions" && !rest.is_empty());
            (place.is_some() && place == at(&shared)).then_some(shared)
        })
    }
}

/// The maps of a region of which one entry is chosen: a shared one counts only where the region chooses the same.
const CHOICES: [&[&str]; 2] = [DELIVERY, &["delivery", "argocd", "destination"]];

const DELIVERY: &[&str] = &["delivery"];

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
                    // A consumer whose settings are all commented out is chosen with the shared ones.
                    Some((_, own)) if path == DELIVERY && matches!(own.value, Value::Null) => *own = value.clone(),
                    Some((_, own)) => merge(own, value, &below),
                    None if is_chosen => {}
                    None => entries.push((key.clone(), value.clone())),
                }
            }
        }
        // A word chooses one entry as it is shared.
        Value::Text(word) if path == DELIVERY => {
            if let Some(chosen) = settings.iter().find(|(key, _)| key.text == *word) {
                own.value = Value::Map(vec![chosen.clone()]);
            }
        }
        _ => {}
    }
}
