//! Validity: what a region's API would reject of an object, before a consumer applies it.
//!
//! One object that an API server refuses can stop everything that is applied with it. Each file looks at one object
//! by itself; what is known of identity kinds stands in [`capi`](crate::capi).

pub mod config_map;
pub mod identity;
pub mod metadata;
mod nulls;
pub mod schema;
pub mod secret;
mod stored;
pub mod suspect;

use alloc::vec::Vec;

use self::schema::Schema;
use crate::capi::KindRules;
use crate::finding::{Fault, crowd};
use crate::object::Object;

/// Faults for which a region's API refuses an object of any kind, a ConfigMap or a Secret, beside those that the object
/// has as it was read, and those of its [`metadata`].
pub fn faults(object: &Object) -> Vec<Fault> {
    let mut faults: Vec<Fault> = config_map::check_size(object).into_iter().collect();
    if object.key.kind.is_config_map() {
        faults.extend(config_map::check_config_map(object));
    }
    if object.key.kind.is_secret() {
        faults.extend(secret::check_secret(object));
    }
    faults.extend(stored::check(object));
    crowd::few(&mut faults);
    faults
}

/// Faults of the `spec` of an object that is published with one, by what is known of its kind: a CustomResourceDefinition
/// decides, else the table of a built-in kind.
pub fn faults_of_spec(object: &Object, rules: Option<&KindRules>, schema: Option<&Schema>) -> Vec<Fault> {
    let mut faults = match (rules, schema) {
        (Some(rules), None) => identity::check(rules, object),
        _ => rules.map(|rules| identity::check_beside_schema(rules, object)).unwrap_or_default(),
    };
    if let Some(spec) = object.at(&["spec"]).filter(|_| rules.is_none() || schema.is_some()) {
        nulls::in_selectors(spec, &mut faults);
        if schema.is_none() {
            nulls::in_lists(spec, &mut faults);
        }
    }
    faults.extend(schema.map(|schema| schema.check(object)).unwrap_or_default());
    crowd::few(&mut faults);
    faults
}

#[cfg(test)]
mod tests;
