//! Objects that change while they are read: every bundle is a state that existed, as far as it is new.
//!
//! A writer changes one object after the other, always in the same order, so a state that existed has number *n* in
//! the first few of them and *n* − 1 in the rest. A Secret stands before its Credential and goes after it, so no state
//! has a Credential that lacks something.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pouch::cluster::Patience;
use pouch_core::finding::Code;
use serde_json::{Value, json};

use crate::bundle::{self, Bundle};
use crate::ground::{CLUSTER, Ground, hasty, run};
use crate::objects::{apply, aws, azure, path, store};
use crate::rig::fault::Fault;
use crate::rig::http::{Endpoint, Request, Response};
use crate::rig::proxy::{Proxy, When};
use crate::rig::writer::{Write, Writer};
use crate::support::tree;

/// In this order they are written: file below `core` or `identities`, and what stands before the number.
const ORDER: [(&str, &str); 8] = [
    ("secrets/kcm-system/aws-secret.", "AccessKeyID=key-"),
    ("secrets/team-a/azure-secret.", "clientSecret=secret-"),
    ("secrets/team-a/store.", "value=kubeconfig-"),
    ("awsclusterstaticidentity", "state-"),
    ("azureclusteridentity", "client-"),
    ("configmaps/kcm-system/aws-", "state: "),
    ("configmaps/team-a/azure-", "state: "),
    ("configmaps/team-a/store-", "state: "),
];

fn in_order(state: u64) -> Vec<Value> {
    let [aws_secret, aws_template, _, aws] = aws("aws", state);
    let [azure_secret, azure_template, _, azure] = azure("azure", state);
    let [store_template, _, store] = store("store", state);
    vec![aws_secret, azure_secret, store, aws, azure, aws_template, azure_template, store_template]
}

fn credentials() -> [Value; 3] {
    let [_, _, aws, _] = aws("aws", 0);
    let [_, _, azure, _] = azure("azure", 0);
    let [_, store, _] = store("store", 0);
    [aws, azure, store]
}

/// Everything in order, then in turns: a Credential with its objects comes, or goes.
fn step(state: u64) -> Vec<Write> {
    let mut writes: Vec<Write> = in_order(state).iter().map(apply).collect();
    let [template, credential, secret] = store("passing", state);
    if state.is_multiple_of(2) {
        writes.extend([secret, template, credential].iter().map(apply));
    } else {
        writes.extend([credential, template, secret].iter().map(|object| Write::Delete(path(object))));
    }
    writes
}

fn number(content: &str, mark: &str) -> u64 {
    let at = content.find(mark).unwrap_or_else(|| panic!("no {mark} in it"));
    let digits: String = content[at + mark.len()..].chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

/// Whether a bundle is a state that existed; what it is otherwise.
fn existed(bundle: &Bundle) -> Result<(), String> {
    let of = |part: &str, mark: &str| {
        bundle.iter().find(|(path, _)| path.contains(part)).map(|(_, object)| number(&object.content, mark))
    };
    let Some(numbers) = ORDER.iter().map(|(part, mark)| of(part, mark)).collect::<Option<Vec<u64>>>() else {
        return Err(format!("something is missing: {:?}", bundle.keys()));
    };
    let (first, last) = (numbers[0], numbers[numbers.len() - 1]);
    if !numbers.is_sorted_by(|a, b| a >= b) || first - last > 1 {
        return Err(format!("a mix of states: {numbers:?}"));
    }
    let passing = of("secrets/team-a/passing.", "value=kubeconfig-");
    let ended = |state: u64| if state.is_multiple_of(2) { Some(state) } else { None };
    let begun = if first == last { vec![ended(first), ended(first.saturating_sub(1))] } else { vec![ended(last)] };
    if begun.contains(&passing) { Ok(()) } else { Err(format!("{numbers:?} never stood beside {passing:?}")) }
}

/// Whether what is published of Credentials that did not wait is a part of a state that existed.
fn existed_in_part(bundle: &Bundle) -> Result<(), String> {
    let of = |(part, mark): &(&str, &str)| {
        bundle.iter().find(|(path, _)| path.contains(part)).map(|(_, object)| number(&object.content, mark))
    };
    let numbers: Vec<u64> = ORDER.iter().filter_map(of).collect();
    let spread = numbers.first().zip(numbers.last()).map_or(0, |(first, last)| first.abs_diff(*last));
    match numbers.is_sorted_by(|a, b| a >= b) && spread <= 1 {
        true => Ok(()),
        false => Err(format!("a mix of states: {numbers:?}")),
    }
}

#[derive(Debug, Default)]
struct Tally {
    right: usize,
    waited: usize,
    mixed: Vec<String>,
}

/// An API server behind a cache: whoever looks again is told what the first look was told, whatever changed since.
#[derive(Clone)]
struct Cache {
    server: Endpoint,
    answers: Arc<Mutex<BTreeMap<String, Response>>>,
}

impl Cache {
    fn of(server: Endpoint) -> Self {
        Self { server: Endpoint { token: None, ..server }, answers: Arc::default() }
    }

    fn proxy(&self) -> Proxy {
        let cache = self.clone();
        Proxy::canned(move |request| cache.answer(request))
    }

    fn forget(&self) {
        self.answers.lock().unwrap().clear();
    }

    fn answer(&self, request: &Request) -> Response {
        let known = self.answers.lock().unwrap().get(&request.target).cloned();
        if let Some(answer) = known {
            let is_partial = request.header("accept").unwrap_or_default().contains("PartialObjectMetadata");
            return if is_partial && answer.status == 200 { partial(&answer) } else { answer };
        }
        let answer = self.server.ask(request).expect("the API server answers");
        self.answers.lock().unwrap().insert(request.target.clone(), answer.clone());
        answer
    }
}

/// What an API server answers in place of an object or a list where only metadata is asked for.
fn partial(answer: &Response) -> Response {
    let of = |value: &Value, kind: &str| json!({"kind": kind, "apiVersion": "meta.k8s.io/v1", "metadata": value["metadata"]});
    let whole = answer.value();
    let body = match whole["items"].as_array() {
        Some(items) => {
            let mut list = of(&whole, "PartialObjectMetadataList");
            list["items"] = items.iter().map(|item| of(item, "PartialObjectMetadata")).collect();
            list
        }
        None => of(&whole, "PartialObjectMetadata"),
    };
    Response::json(200, &body)
}

/// How the writer's server is reached: through this kubeconfig, after this is done before each run.
struct Way<'a> {
    kubeconfig: &'a Path,
    before: &'a dyn Fn(),
}

/// Renders again and again while a writer writes.
fn against(
    ground: &Ground,
    way: &Way<'_>,
    pause: Duration,
    patience: Patience,
    time: Duration,
    enough: impl Fn(&Tally) -> bool,
) -> Tally {
    let config = ground.config("pouch.yaml", CLUSTER, "");
    ground.apply(&credentials());
    // The last state of the writer before is a state of this one too: it went on until an end of its own.
    for write in step(0) {
        crate::rig::writer::write_all(&ground.server.endpoint("admin"), &[write]);
    }
    let writer = Writer::start(ground.server.endpoint("admin"), pause, |state| step(state + 1));
    writer.wait_for(1);
    let began = Instant::now();
    let mut tally = Tally::default();
    for number in 0.. {
        if began.elapsed() > time || enough(&tally) {
            break;
        }
        let out = ground.path(&format!("out-{}-{number}", pause.as_millis()));
        (way.before)();
        let ended = run(&config, way.kubeconfig, &out, patience);
        match ended.code {
            0 => match existed(&bundle::of(&tree::read(&out), &ground.identity())) {
                Ok(()) => tally.right += 1,
                Err(what) => tally.mixed.push(what),
            },
            3 if ended.all_wait() => match existed_in_part(&bundle::of(&tree::read(&out), &ground.identity())) {
                Ok(()) => tally.waited += 1,
                Err(what) => tally.mixed.push(what),
            },
            // No state has a Credential that lacks something.
            code => tally.mixed.push(format!("exit {code}: {} {:?}", ended.message, ended.broken())),
        }
        let _ = std::fs::remove_dir_all(out);
    }
    writer.stop();
    eprintln!("pause {pause:?}: {} right, {} waited, {} mixed", tally.right, tally.waited, tally.mixed.len());
    tally
}

#[test]
fn every_bundle_is_a_state_that_existed() {
    let Some(ground) = Ground::new() else { return };
    let (seconds, patient) = (Duration::from_secs, Patience::default());
    let kubeconfig = ground.path("kubeconfig");
    let straight = Way { kubeconfig: &kubeconfig, before: &|| {} };
    let slow =
        against(&ground, &straight, Duration::from_millis(1500), patient, seconds(40), |t| t.right + t.waited >= 15);
    assert!(slow.mixed.is_empty(), "{:?}", slow.mixed);
    assert!(slow.right > slow.waited && slow.right >= 5, "{slow:?}");
    let fast = against(&ground, &straight, Duration::ZERO, hasty(), seconds(15), |_| false);
    assert!(fast.mixed.is_empty(), "{:?}", fast.mixed);
    let middling = against(&ground, &straight, Duration::from_millis(150), hasty(), seconds(15), |_| false);
    assert!(middling.mixed.is_empty(), "{:?}", middling.mixed);
    assert!(fast.waited + middling.waited > 0, "nothing ever changed in between");
    // The control: where the second look sees nothing new, a mix is published soon.
    let cache = Cache::of(ground.server.endpoint("admin"));
    let (proxy, cached) = (cache.proxy(), ground.path("cached"));
    proxy.kubeconfig(&cached, "admin");
    let blind = Way { kubeconfig: &cached, before: &|| cache.forget() };
    let blind = against(&ground, &blind, Duration::ZERO, hasty(), seconds(30), |t| !t.mixed.is_empty());
    assert!(!blind.mixed.is_empty(), "{blind:?}");
}

#[test]
fn a_mix_is_noticed() {
    let bundle = |numbers: [u64; 8], passing: Option<u64>| {
        let published = |content: String| bundle::Published { needed_by: Default::default(), content };
        let named =
            ORDER.iter().zip(numbers).map(|((part, mark), n)| ((*part).to_owned(), published(format!("{mark}{n}."))));
        let passing =
            passing.map(|n| ("secrets/team-a/passing.".to_owned(), published(format!("value=kubeconfig-{n}"))));
        existed(&named.chain(passing).collect()).is_ok()
    };
    assert!(bundle([4; 8], Some(4)) && bundle([4; 8], None) && bundle([5; 8], Some(4)) && bundle([5; 8], None));
    assert!(bundle([5, 5, 5, 4, 4, 4, 4, 4], Some(4)) && bundle([6, 5, 5, 5, 5, 5, 5, 5], None));
    assert!(
        !bundle([4; 8], Some(2))
            && !bundle([5, 4, 4, 4, 4, 4, 4, 4], None)
            && !bundle([6, 5, 5, 5, 5, 5, 5, 5], Some(4))
    );
    assert!(!bundle([4, 5, 5, 5, 5, 5, 5, 5], Some(4)) && !bundle([5, 5, 4, 5, 4, 4, 4, 4], Some(4)));
    assert!(!bundle([6, 6, 6, 6, 4, 4, 4, 4], Some(4)));
}

/// Controllers write the status of Credentials all the time; nothing of that is read.
#[test]
fn a_busy_controller_is_no_change() {
    let Some(ground) = Ground::new() else { return };
    let objects = store("store", 1);
    ground.apply(&objects);
    let credential = objects[1].clone();
    let status = format!("{}/status", path(&credential));
    let writer = Writer::start(ground.server.endpoint("admin"), Duration::ZERO, move |number| {
        let mut told = credential.clone();
        told.as_object_mut().unwrap().remove("spec");
        told["status"] = serde_json::json!({"ready": number % 2 == 0});
        vec![Write::Apply(status.clone(), told)]
    });
    writer.wait_for(5);
    let config = ground.config("pouch.yaml", CLUSTER, "");
    for _ in 0..10 {
        let ended = run(&config, &ground.path("kubeconfig"), &ground.path("out"), hasty());
        assert_eq!((ended.code, ended.message.as_str()), (0, ""));
    }
    let log = writer.stop();
    let versions: BTreeSet<_> = log.iter().filter_map(|written| written.version.as_ref()).collect();
    assert!(versions.len() > 20, "the status did not change: {} versions", versions.len());
}

/// Whoever writes one Secret all the time keeps what he has, and nobody waits for him.
#[test]
fn a_secret_that_changes_all_the_time_stops_nobody_else() {
    let Some(ground) = Ground::new() else { return };
    let (config, out) = (ground.config("pouch.yaml", CLUSTER, ""), ground.path("out"));
    ground.apply(&[store("busy", 1), store("calm", 1)].concat());
    assert_eq!(run(&config, &ground.path("kubeconfig"), &out, hasty()).code, 0);
    ground.apply(&[store("busy", 2), store("calm", 2)].concat());
    let proxy = Proxy::to(ground.server.endpoint("admin"));
    let through = ground.path("through");
    proxy.kubeconfig(&through, "admin");
    let (admin, busy) = (ground.server.endpoint("admin"), store("busy", 2)[2].clone());
    let writes = AtomicUsize::new(0);
    // So it differs at each look.
    proxy.before(move |_, request| {
        if request.path().ends_with("/secrets/busy") {
            let mut told = busy.clone();
            let number = writes.fetch_add(1, Ordering::SeqCst);
            told["metadata"]["annotations"] = json!({"example.com/seen": number.to_string()});
            crate::rig::writer::write_all(&admin, &[apply(&told)]);
        }
    });
    let state = || {
        let bundle = bundle::of(&tree::read(&out), &ground.identity());
        let of = |name: &str| {
            let path = format!("secrets/team-a/{name}.");
            let found = bundle.iter().find(|(known, _)| known.contains(&path)).expect("it is there");
            number(&found.1.content, "value=kubeconfig-")
        };
        (of("busy"), of("calm"))
    };
    assert_eq!(state(), (1, 1));
    let ended = run(&config, &through, &out, hasty());
    assert_eq!((ended.code, ended.broken()), (3, vec!["team-a/busy".to_owned()]), "{}", ended.message);
    assert_eq!(ended.codes(), [Code::Changing]);
    assert_eq!(state(), (1, 2), "one is kept as it was, the other is new");
    proxy.calm();
    assert_eq!(run(&config, &through, &out, hasty()).code, 0);
    assert_eq!(state(), (2, 2));
}

/// A cluster that may provide one namespace, and is away, keeps what that namespace has.
#[test]
fn a_team_s_cluster_that_is_away_stops_nobody_else() {
    let Some(ground) = Ground::new() else { return };
    let sources = "[{name: files, directory: {path: files}, provides: {namespaces: ['*'], clusterScoped: true}}, \
                   {name: team, cluster: {context: admin}, provides: {namespaces: [team-a]}}]";
    let (config, out) = (ground.config("pouch.yaml", sources, ""), ground.path("out"));
    let files = |state: u64| {
        for object in aws("aws", state) {
            ground.write(&format!("files/{}.json", path(&object).replace('/', "-")), &object.to_string());
        }
    };
    std::fs::create_dir(ground.path("files")).unwrap();
    files(1);
    ground.apply(&store("store", 1));
    let of = |part: &str, mark: &str| {
        let bundle = bundle::of(&tree::read(&out), &ground.identity());
        number(&bundle.iter().find(|(path, _)| path.contains(part)).expect("it is there").1.content, mark)
    };
    let state =
        || (of("secrets/kcm-system/aws-secret.", "AccessKeyID=key-"), of("secrets/team-a/store.", "value=kubeconfig-"));
    assert_eq!(run(&config, &ground.path("kubeconfig"), &out, hasty()).code, 0);
    assert_eq!(state(), (1, 1));
    files(2);
    ground.apply(&store("store", 2));
    // It is away from the beginning, when it is asked for a Secret, and when it is looked at again.
    let proxy = Proxy::to(ground.server.endpoint("admin"));
    let through = ground.path("through");
    proxy.kubeconfig(&through, "admin");
    proxy.calm();
    assert_eq!(run(&config, &through, &ground.path("other"), hasty()).code, 0);
    let requests = proxy.requests().len();
    let mut kept = 0;
    for from in 0..requests {
        proxy.arm(Fault::Forbidden, When::From(from));
        let ended = run(&config, &through, &out, hasty());
        assert_eq!(ended.code, 3, "from request {from} on: {}", ended.message);
        assert_eq!(state().0, 2);
        kept += usize::from(state().1 == 1);
    }
    assert_eq!(kept, requests);
}

/// Two changes, one after the other, before any two requests of a run: none of them, the first, or both are seen.
#[test]
fn two_changes_at_any_two_moments_are_seen_in_order() {
    let Some(ground) = Ground::new() else { return };
    let proxy = Proxy::to(ground.server.endpoint("admin"));
    let through = ground.path("through");
    proxy.kubeconfig(&through, "admin");
    let config = ground.config("pouch.yaml", CLUSTER, "");
    let secret_of_a = |state: u64| store("a", state)[2].clone();
    let template_of_b = |state: u64| store("b", state)[0].clone();
    let reset = || {
        ground.apply(&store("a", 1));
        ground.apply(&store("b", 1));
    };
    let change = |secret_first: bool, moments: [usize; 2]| {
        reset();
        proxy.calm();
        let mut changes = [secret_of_a(2), template_of_b(2)];
        if !secret_first {
            changes.reverse();
        }
        let admin = ground.server.endpoint("admin");
        proxy.before(move |at, _| {
            for (_, change) in moments.iter().zip(&changes).filter(|(when, _)| at == **when) {
                crate::rig::writer::write_all(&admin, &[apply(change)]);
            }
        });
    };
    let render = |kubeconfig: &Path| {
        let out = ground.path("out");
        let _ = std::fs::remove_dir_all(&out);
        let ended = run(&config, kubeconfig, &out, hasty());
        assert_eq!((ended.code, ended.message.as_str()), (0, ""));
        let bundle = bundle::of(&tree::read(&out), &ground.identity());
        let of = |part: &str, mark: &str| {
            number(&bundle.iter().find(|(path, _)| path.contains(part)).expect("it is there").1.content, mark)
        };
        Some([of("secrets/team-a/a.", "value=kubeconfig-"), of("configmaps/team-a/b-", "state: ")])
    };
    reset();
    proxy.calm();
    assert_eq!(render(&through), Some([1, 1]));
    let requests = proxy.requests().len();
    let mut seen = BTreeSet::new();
    for secret_first in [true, false] {
        for first in (0..requests).step_by(4) {
            for second in (first..requests).step_by(7) {
                change(secret_first, [first, second]);
                let found = render(&through);
                let never = if secret_first { [1, 2] } else { [2, 1] };
                assert!(found != Some(never), "changes before {first} and {second}: a state that never was");
                seen.extend(found);
            }
        }
    }
    assert!(seen.contains(&[2, 2]) && seen.len() > 1, "{seen:?}");
    // The control: the Secret is read, then both change, it first; then the template is read, and a cache hides all
    // that from the second look.
    reset();
    let cache = Cache::of(ground.server.endpoint("admin"));
    let (proxy, cached) = (cache.proxy(), ground.path("cached"));
    proxy.kubeconfig(&cached, "admin");
    let admin = ground.server.endpoint("admin");
    let changes = [apply(&secret_of_a(2)), apply(&template_of_b(2))];
    let once = std::sync::atomic::AtomicBool::new(false);
    proxy.before(move |_, request| {
        let is_template = request.path().contains("/configmaps/b-");
        if is_template && !once.swap(true, std::sync::atomic::Ordering::SeqCst) {
            for change in &changes {
                crate::rig::writer::write_all(&admin, std::slice::from_ref(change));
            }
        }
    });
    assert_eq!(render(&cached), Some([1, 2]), "nothing tells a proof from none");
}
