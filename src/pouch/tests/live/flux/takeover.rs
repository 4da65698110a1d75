//! A region that k0rdent pushed its copies to, and that Flux takes over.

use serde_json::Value;

use super::{all_ready, set_up};
use crate::delivered::{Delivered, shows_nothing};
use crate::kcm::{self, K0rdent, closures, old_copies};

#[test]
fn copies_of_k0rdent_are_taken_over_in_place() {
    let Some(mut region) = Delivered::new("flux", "") else { return };
    old_copies().iter().for_each(|closure| K0rdent(&region).push(closure));
    let uids = kcm::uids(&region);
    assert_eq!(uids.len(), 8, "four identities and four Secrets");

    region.put(&closures(2).concat());
    region.publish();
    let ran = region.verify_live(&[]).ends(8);
    assert!(ran.stderr.contains("error[not-taken-over]"), "{}", ran.stderr);
    let Some(flux) = set_up(&region, &["--override-manager=manager"], &Value::Null) else { return };
    all_ready(&flux.sync());
    region.is_exact();
    assert_eq!(kcm::uids(&region), uids, "something was made anew");
    region.verify_live(&[]).ends(0);
    kcm::again(&region);
    all_ready(&flux.reconcile());
    region.is_exact();
    shows_nothing("Flux's log", &flux.log());
}
