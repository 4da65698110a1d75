//! What is tried again, how often and when; and lists of several pages, whatever becomes of their pages.

use std::time::{Duration, Instant};

use pouch::cluster::Patience;

use crate::bundle;
use crate::ground::{CLUSTER, Ended, Ground, run};
use crate::objects::{azure, collection, credential, reference, secret, store};
use crate::rig::fault::Fault;
use crate::rig::proxy::{Proxy, Recorded, When};
use crate::rig::writer::{Write, write_all};
use crate::support::tree;

/// What pouch does by itself, with less time: nothing here takes long.
fn usual() -> Patience {
    Patience::with_request(Duration::from_secs(2))
}

struct Stage {
    ground: Ground,
    proxy: Proxy,
}

impl Stage {
    fn new() -> Option<Self> {
        let ground = Ground::new()?;
        let proxy = Proxy::to(ground.server.endpoint("admin"));
        ground.config("pouch.yaml", CLUSTER, "");
        proxy.kubeconfig(&ground.path("through"), "admin");
        Some(Self { ground, proxy })
    }

    fn run(&self, fault: Fault, when: When, patience: Patience) -> (Ended, Vec<Recorded>, Duration) {
        let out = self.ground.path("out");
        let _ = std::fs::remove_dir_all(&out);
        self.proxy.arm(fault, when);
        let began = Instant::now();
        let ended = run(&self.ground.path("pouch.yaml"), &self.ground.path("through"), &out, patience);
        let time = began.elapsed();
        let requests = self.proxy.requests();
        (ended, requests, time)
    }

    fn bundle(&self) -> bundle::Bundle {
        bundle::of(&tree::read(&self.ground.path("out")), &self.ground.identity())
    }
}

#[test]
fn a_server_that_asks_for_time_is_given_it() {
    let Some(stage) = Stage::new() else { return };
    stage.ground.apply(&store("store", 1));
    let (ended, calm, quick) = stage.run(Fault::Stall, When::Never, usual());
    assert_eq!((ended.code, ended.message.as_str()), (0, ""));
    let right = stage.bundle();
    let credentials = || String::from("/credentials");

    // Twice "in a second" is two seconds; without a word it is a fraction of one.
    let (ended, requests, time) = stage.run(Fault::TooManyRetryAfter, When::PathTimes(credentials(), 2), usual());
    assert_eq!((ended.code, requests.len()), (0, calm.len() + 2));
    assert!(time >= Duration::from_secs(2) && time < quick + Duration::from_secs(10), "{time:?}, else {quick:?}");
    for fault in [Fault::TooMany, Fault::Internal, Fault::Unavailable, Fault::BadGateway, Fault::ResetBeforeHeaders] {
        let (ended, requests, time) = stage.run(fault, When::PathTimes(credentials(), 2), usual());
        assert_eq!((ended.code, requests.len()), (0, calm.len() + 2), "{fault:?}: {}", ended.message);
        assert!(time >= Duration::from_millis(250) && time < quick + Duration::from_secs(10), "{fault:?}: {time:?}");
        assert_eq!(stage.bundle(), right);
    }
    // Five times is enough.
    for fault in [Fault::TooMany, Fault::Internal, Fault::CutBody] {
        let (ended, requests, _) = stage.run(fault, When::Path(credentials()), usual());
        let asked = requests.iter().filter(|asked| asked.path.contains("/credentials")).count();
        assert_eq!((ended.code, asked), (5, 5), "{fault:?}: {}", ended.message);
        assert!(ended.message.contains("asked for credentials.k0rdent.mirantis.com"), "{}", ended.message);
    }
    // One request has its time, and all of them together have theirs.
    let hasty =
        Patience { request: Duration::from_millis(300), whole: Duration::from_millis(700), ..Patience::default() };
    let (ended, _, time) = stage.run(Fault::Trickle, When::From(3), hasty);
    assert_eq!(ended.code, 5);
    assert!(ended.message.contains("longer than all requests together may"), "{}", ended.message);
    assert!(time < Duration::from_secs(10), "{time:?}");
    // Whoever asks for an hour gets no more than what is left.
    let patience = Patience { whole: Duration::from_secs(2), ..hasty };
    let (ended, _, time) = stage.run(Fault::TooManyRetryAfter, When::Path(credentials()), patience);
    assert_eq!(ended.code, 5, "{}", ended.message);
    assert!(time < Duration::from_secs(10), "{time:?}");
}

#[test]
fn pages_that_do_not_fit_are_noticed() {
    let Some(stage) = Stage::new() else { return };
    // Credentials of no region fill three pages; those that count are on the second and on the third.
    let bystander = secret("team-a", "bystander", &serde_json::json!({"a": "b"}));
    let mut writes = Vec::new();
    for number in 0..1100 {
        let object = credential("team-a", &format!("c{number:04}"), "", &reference(&bystander));
        writes.push(Write::Create(collection(&object), object));
    }
    write_all(&stage.ground.server.endpoint("admin"), &writes);
    stage.ground.apply(&azure("c0700x", 1));
    stage.ground.apply(&store("zz", 1));
    let (ended, calm, _) = stage.run(Fault::Stall, When::Never, usual());
    assert_eq!((ended.code, ended.message.as_str()), (0, ""));
    let right = stage.bundle();
    assert!(right.len() >= 5, "{:?}", right.keys());
    let pages = |requests: &[Recorded]| requests.iter().filter(|asked| asked.path.ends_with("/credentials")).count();
    assert_eq!(pages(&calm), 6);
    let of_lists: Vec<usize> = calm
        .iter()
        .enumerate()
        .filter(|(_, asked)| asked.path.ends_with("/credentials"))
        .map(|(index, _)| index)
        .collect();
    let faults = [
        Fault::Gone,
        Fault::GoneFresh,
        Fault::DuplicatePage,
        Fault::RepeatedPage,
        Fault::MissingPage,
        Fault::EarlyEnd,
        Fault::NullItems,
        Fault::TruncatedJson,
        Fault::WrongShape,
        Fault::OtherObject,
        Fault::CutBody,
    ];
    let mut injected = 0;
    for fault in faults {
        for index in &of_lists {
            let (ended, requests, _) = stage.run(fault, When::Once(*index), usual());
            assert_eq!((ended.code, ended.message.as_str()), (0, ""), "{fault:?} at {index}");
            assert!(stage.bundle() == right, "{fault:?} at {index}");
            injected += usize::from(stage.proxy.injected() > 0);
            if fault == Fault::Gone && calm[*index].query.contains("continue=") {
                // The list begins anew, and only it.
                let at = of_lists.iter().position(|other| other == index).unwrap() % 3;
                assert_eq!(pages(&requests), 6 + at + 1, "{fault:?} at {index}");
            }
        }
    }
    assert!(injected > 40, "{injected}");
    // What never stops is an end with 5.
    for fault in [Fault::Gone, Fault::GoneFresh, Fault::DuplicatePage, Fault::RepeatedPage, Fault::NullItems] {
        let (ended, _, _) = stage.run(fault, When::Path(String::from("/credentials")), usual());
        assert_eq!(ended.code, 5, "{fault:?}");
        assert!(!stage.ground.path("out/regions").exists(), "{fault:?} published something");
    }
    // The control: a server that hides what follows a page whenever it is asked cannot be seen through, and makes a
    // bundle with objects missing.
    let (ended, _, _) = stage.run(Fault::EarlyEnd, When::Path(String::from("/credentials")), usual());
    assert!(ended.code != 5 && stage.bundle() != right, "{}", ended.code);
}
