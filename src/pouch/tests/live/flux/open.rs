//! Identities that are opened to everybody, and shut again.

use serde_json::Value;

use super::{all_ready, set_up};
use crate::delivered::Delivered;
use crate::opened::opened_and_shut;

#[test]
fn who_is_admitted_is_so_after_one_sync() {
    let Some(mut region) = Delivered::new("flux", "") else { return };
    let Some(flux) = set_up(&region, &[], &Value::Null) else { return };
    opened_and_shut(&mut region, &|_| all_ready(&flux.sync()));
}
