//! Every request of a run, spoilt in every way the rig knows: what is published is right, or is not published.
//!
//! The property, for each fault at each request, once, from there on, or whenever that is asked for: the run ends with 0 and the right bundle; or
//! it says otherwise, and then each Credential's objects are as they were or as they should be, all of them
//! alike, none is gone, and what is missing of a first publication belongs to Credentials that the findings name.
//! A server that goes on to say, of one object, in every detail, that it does not exist, is beyond any client:
//! [`Fault::NotFoundNamed`] counts here where it is said once, and the second look finds it out.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::bundle::{self, Bundle, Published};
use crate::ground::{CLUSTER, Ended, Ground, hasty, run};
use crate::objects::{fleet, namespace};
use crate::rig::fault::Fault;
use crate::rig::proxy::{Proxy, When};
use crate::support::tree::{self, Tree};

const THREADS: usize = 8;

struct Stage {
    ground: Ground,
    config: PathBuf,
    /// What was published before anything changed.
    before: Tree,
    right: Bundle,
    /// What stood before, opened.
    old: Bundle,
}

#[derive(Clone, Debug)]
struct Case {
    fault: Fault,
    when: When,
    first_publication: bool,
}

impl Stage {
    fn new() -> Option<Self> {
        let ground = Ground::new()?;
        let config = ground.config("pouch.yaml", CLUSTER, "limits: {reseal: {percent: 100}}\n");
        ground.apply(&[namespace("team-b")]);
        ground.apply(&fleet(1));
        let publish = |name: &str| {
            let ended = run(&config, &ground.path("kubeconfig"), &ground.path(name), Default::default());
            assert_eq!((ended.code, ended.message.as_str()), (0, ""), "{:?}", ended.broken());
            tree::read(&ground.path(name))
        };
        let before = publish("before");
        ground.apply(&fleet(2));
        let right = bundle::of(&publish("right"), &ground.identity());
        let old = bundle::of(&before, &ground.identity());
        assert!(right.len() >= 8 && right.keys().eq(old.keys()) && right != old, "{:?}", right.keys());
        Some(Self { config, before, right, old, ground })
    }

    /// The paths of the requests that an undisturbed run makes, in order.
    fn requests(&self) -> Vec<String> {
        let proxy = Proxy::to(self.ground.server.endpoint("admin"));
        let kubeconfig = self.ground.path("counted");
        proxy.kubeconfig(&kubeconfig, "admin");
        proxy.calm();
        let ended = run(&self.config, &kubeconfig, &self.ground.path("counted-out"), hasty());
        assert_eq!((ended.code, ended.message.as_str()), (0, ""));
        proxy.requests().into_iter().map(|asked| asked.path).collect()
    }

    /// Runs the cases, and gives what was wrong with each that was.
    fn try_all(&self, cases: &[Case]) -> (Vec<String>, Tally) {
        let next = AtomicUsize::new(0);
        let wrong = Mutex::new(Vec::new());
        let tally = Mutex::new(Tally::default());
        thread::scope(|scope| {
            for number in 0..THREADS {
                let (next, wrong, tally) = (&next, &wrong, &tally);
                scope.spawn(move || {
                    let proxy = Proxy::to(self.ground.server.endpoint("admin"));
                    let kubeconfig = self.ground.path(&format!("kubeconfig-{number}"));
                    proxy.kubeconfig(&kubeconfig, "admin");
                    while let Some(case) = cases.get(next.fetch_add(1, Ordering::SeqCst)) {
                        let out = self.ground.path(&format!("out-{number}"));
                        let _ = std::fs::remove_dir_all(&out);
                        if !case.first_publication {
                            tree::write(&self.before, &out);
                        }
                        proxy.arm(case.fault, case.when.clone());
                        let ended = run(&self.config, &kubeconfig, &out, hasty());
                        let injected = proxy.injected();
                        proxy.calm();
                        if let Err(why) = self.judge(case, &ended, &out) {
                            wrong
                                .lock()
                                .unwrap()
                                .push(format!("{case:?}, exit {}: {why}; {}", ended.code, ended.message));
                        }
                        tally.lock().unwrap().count(case, &ended, injected);
                    }
                });
            }
        });
        (wrong.into_inner().unwrap(), tally.into_inner().unwrap())
    }

    fn judge(&self, case: &Case, ended: &Ended, out: &Path) -> Result<(), String> {
        if out.join("regions").exists() || !case.first_publication {
            let found =
                std::panic::catch_unwind(AssertUnwindSafe(|| bundle::of(&tree::read(out), &self.ground.identity())));
            return self.judge_bundle(case, ended, &found.map_err(|_| "a bundle that cannot be opened")?);
        }
        self.judge_bundle(case, ended, &Bundle::new())
    }

    fn judge_bundle(&self, case: &Case, ended: &Ended, found: &Bundle) -> Result<(), String> {
        if ended.code == 0 {
            return if *found == self.right {
                Ok(())
            } else {
                Err(format!("0, but not right: {}", self.differs(found)))
            };
        }
        let nothing = Bundle::new();
        let old = if case.first_publication { &nothing } else { &self.old };
        if ended.code != 3 {
            return if found == old { Ok(()) } else { Err(format!("published all the same: {}", self.differs(found))) };
        }
        let broken: BTreeSet<String> = ended.broken().into_iter().collect();
        if let Some(path) = found.keys().find(|path| !self.right.contains_key(*path)) {
            return Err(format!("{path} should not exist"));
        }
        for (path, right) in &self.right {
            let now = found.get(path).map(|object| &object.content);
            let then = old.get(path).map(|object| &object.content);
            if now.is_none() && then.is_some() {
                return Err(format!("{path} is gone"));
            }
            // What a Credential needs of which nothing is said is as it should be; Namespaces come with others.
            let is_told = right.needed_by.is_subset(&broken);
            if !is_told && now != Some(&right.content) {
                return Err(format!("{path} is not right, and nobody says so"));
            }
            if now != then && now != Some(&right.content) {
                return Err(format!("{path} is neither old nor right"));
            }
        }
        for by in &broken {
            // What others need too may be newer, and so may an identity, whose own text is what admits; what else is
            // theirs alone is from one state.
            let own = |(path, right): &(&String, &Published)| {
                let is_identity = path.contains("/identities/");
                right.needed_by.contains(by) && right.needed_by.is_subset(&broken) && !is_identity
            };
            let own: Vec<&String> = self.right.iter().filter(own).map(|(path, _)| path).collect();
            let of = |bundle: &Bundle| -> Vec<Option<String>> {
                own.iter().map(|path| bundle.get(*path).map(|object| object.content.clone())).collect()
            };
            let now = of(found);
            if now != of(&self.right) && now != of(old) {
                return Err(format!("the objects of {by} are a mix"));
            }
        }
        Ok(())
    }

    fn differs(&self, found: &Bundle) -> String {
        let right =
            self.right.iter().filter(|(path, object)| found.get(*path).map(|o| &o.content) != Some(&object.content));
        let paths: Vec<&str> = right.map(|(path, _)| path.as_str()).collect();
        format!("{} of {} objects, differing {paths:?}", found.len(), self.right.len())
    }
}

#[derive(Default, Debug)]
struct Tally {
    runs: usize,
    injected: usize,
    well: usize,
    in_part: usize,
    unavailable: usize,
    other: Vec<String>,
    /// One-shot faults that a client has to overcome, and that ended otherwise.
    beaten: Vec<String>,
}

impl Tally {
    fn count(&mut self, case: &Case, ended: &Ended, injected: usize) {
        self.runs += 1;
        self.injected += usize::from(injected > 0);
        match ended.code {
            0 => self.well += 1,
            3 => self.in_part += 1,
            5 => self.unavailable += 1,
            code => self.other.push(format!("{case:?}: {code} {}", ended.message)),
        }
        // What an API server says deliberately is believed of lists and of namespaces, and what is too long once is not
        // asked for again.
        let is_said = matches!(case.fault, Fault::Forbidden | Fault::NotFoundNamed | Fault::EndlessBody);
        if matches!(case.when, When::Once(_)) && !is_said && ended.code != 0 {
            self.beaten.push(format!("{case:?}: {} {} {:?}", ended.code, ended.message, ended.broken()));
        }
    }
}

/// Each fault at each request once; where there is time for every third only, they are spread over all.
fn once(requests: usize, every: usize) -> Vec<Case> {
    let all = Fault::ALL.iter().enumerate();
    let product = all.flat_map(|(number, fault)| (0..requests).map(move |index| (number, *fault, index)));
    let kept = product.filter(|(number, _, index)| (number + index).is_multiple_of(every));
    kept.map(|(number, fault, index)| Case {
        fault,
        when: When::Once(index),
        first_publication: (number + index / every).is_multiple_of(2),
    })
    .collect()
}

fn for_ever(requests: usize, every: usize) -> Vec<Case> {
    let mut all = once(requests, every);
    all.retain(|case| case.fault != Fault::NotFoundNamed);
    for case in &mut all {
        let When::Once(index) = case.when else { panic!("made so") };
        case.when = When::From(index);
    }
    all
}

/// Each fault at each path, whenever it is asked for.
fn at_paths(paths: &BTreeSet<String>, every: usize) -> Vec<Case> {
    let mut all = once(paths.len(), every);
    all.retain(|case| case.fault != Fault::NotFoundNamed);
    for case in &mut all {
        let When::Once(index) = case.when else { panic!("made so") };
        case.when = When::Path(paths.iter().nth(index).unwrap().clone());
    }
    all
}

/// One object after the other that is said not to exist, in every detail and each time.
fn denied(paths: &BTreeSet<String>) -> Vec<Case> {
    let denied =
        |path: &String| Case { fault: Fault::NotFoundNamed, when: When::Path(path.clone()), first_publication: false };
    paths.iter().map(denied).collect()
}

#[track_caller]
fn holds(stage: &Stage, cases: &[Case]) -> Tally {
    let began = std::time::Instant::now();
    let (wrong, tally) = stage.try_all(cases);
    eprintln!(
        "{} runs in {} s: {} spoilt, {} ended with 0, {} with 3, {} with 5",
        tally.runs,
        began.elapsed().as_secs(),
        tally.injected,
        tally.well,
        tally.in_part,
        tally.unavailable
    );
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    assert!(tally.other.is_empty(), "exit codes that mean something else:\n{}", tally.other.join("\n"));
    tally
}

#[test]
fn a_fault_is_overcome_or_told() {
    let Some(stage) = Stage::new() else { return };
    let paths = stage.requests();
    let (requests, paths) = (paths.len(), BTreeSet::from_iter(paths));
    assert!(requests >= 30, "{requests}");
    let tally = holds(&stage, &once(requests, 3));
    assert!(tally.beaten.is_empty(), "one fault was too much:\n{}", tally.beaten.join("\n"));
    assert!(tally.injected * 3 > tally.runs * 2, "most cases injected nothing");
    let tally = holds(&stage, &for_ever(requests, 9));
    assert!(tally.unavailable * 2 > tally.runs);
    let tally = holds(&stage, &at_paths(&paths, 7));
    assert!(tally.in_part > 0 && tally.unavailable > 0);

    // The control: where the server lies in both looks, the same check finds something wrong.
    let (wrong, tally) = stage.try_all(&denied(&paths));
    assert!(!wrong.is_empty(), "nothing was wrong in {} cases with a server that lies", tally.runs);
}

/// The complete product, for `scripts/soak/run --faults`.
#[test]
#[ignore = "takes a quarter of an hour"]
fn every_fault_at_every_request() {
    let Some(stage) = Stage::new() else { return };
    let paths = stage.requests();
    let (requests, paths) = (paths.len(), BTreeSet::from_iter(paths));
    for flip in [false, true] {
        for mut cases in [once(requests, 1), for_ever(requests, 1), at_paths(&paths, 1)] {
            cases.iter_mut().for_each(|case| case.first_publication ^= flip);
            holds(&stage, &cases);
        }
    }
}
