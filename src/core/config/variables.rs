//! Variables that credential plugins of kubeconfigs are handed, as the configuration lists them.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::error::quoted;
use super::setting::{Fault, Show, items};
use crate::name::{Variables, variable_fault};
use crate::yaml::emit::Tree;

impl JsonSchema for Variables {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Variables".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Vec::<String>::json_schema(generator);
        schema.insert("items".into(), items("handed-variable"));
        schema
    }
}

impl Show for Variables {
    fn show(&self) -> Option<Tree<'_>> {
        Some(Tree::List(self.names().iter().map(|name| Tree::text(name.as_str())).collect()))
    }
}

/// A variable, or the beginning of several.
pub(super) fn handed(text: &str) -> Option<Fault> {
    let help = variable_fault(text)?;
    Fault::of(true, || format!("{} cannot be handed to a credential plugin", quoted(text)), help)
}
