//! An identity that names another Secret than before, while a consumer follows: does it ever name one that is not there?

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::delivered::{Delivered, azure};
use crate::objects::{CAPI, TENANT};

/// Exchanges the Secret of an identity that a region has, twice: with a hand-over, in which nothing is ever missing, and
/// without one. That is the control, where the consumer does not remove things last by itself.
pub fn exchange(region: &mut Delivered, sync: &dyn Fn(&Delivered), prunes_last: bool) {
    region.fleet.configure("limits: {deletions", "limits: {retainReplaced: 1s, deletions");
    region.put(&azure("az", "first", 1));
    region.publish();
    sync(region);
    region.is_exact();

    region.put(&azure("az", "second", 1));
    region.take(&azure("az", "first", 1)[..1]);
    region.publish();
    let (looks, missing) = missing_while(region, sync);
    assert!(looks > 20 && missing == 0, "missing in {missing} of {looks} looks");
    assert_eq!(region.differences(), ["Secret team-a/first is too much"], "it is handed over");
    region.verify_live(&[]).ends(0);

    thread::sleep(Duration::from_secs(2));
    region.publish();
    let (looks, missing) = missing_while(region, sync);
    assert!(looks > 20 && missing == 0, "missing in {missing} of {looks} looks");
    region.is_exact();
    region.verify_live(&[]).ends(0);

    region.fleet.configure("retainReplaced: 1s", "retainReplaced: 0s");
    region.put(&azure("az", "third", 1));
    region.take(&azure("az", "second", 1)[..1]);
    region.publish();
    let (looks, missing) = missing_while(region, sync);
    assert_eq!(missing == 0, prunes_last, "without a hand-over, missing in {missing} of {looks} looks");
    region.is_exact();
}

/// How often was looked while a consumer followed, and how often the identity named a Secret that was not there.
fn missing_while(region: &Delivered, sync: &dyn Fn(&Delivered)) -> (usize, usize) {
    let is_over = AtomicBool::new(false);
    let endpoint = region.server.endpoint("admin");
    let get = |target: &str| {
        let answer = endpoint.get(target).expect("the API server answers");
        (answer.status == 200).then(|| answer.value())
    };
    let named = || {
        let identity = get(&format!("/apis/{CAPI}/v1beta1/namespaces/{TENANT}/azureclusteridentities/az"))?;
        identity["spec"]["clientSecret"]["name"].as_str().map(str::to_owned)
    };
    let watch = || {
        let (mut looks, mut missing) = (0, 0);
        while !is_over.load(Ordering::Relaxed) {
            looks += 1;
            let Some(name) = named() else { continue };
            let secret: Option<Value> = get(&format!("/api/v1/namespaces/{TENANT}/secrets/{name}"));
            // Named before and after, and not there in between.
            missing += usize::from(secret.is_none() && named().as_ref() == Some(&name));
        }
        (looks, missing)
    };
    thread::scope(|scope| {
        let watched = scope.spawn(watch);
        sync(region);
        is_over.store(true, Ordering::Relaxed);
        watched.join().expect("the API server answers")
    })
}
