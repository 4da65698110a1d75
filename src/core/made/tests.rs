extern crate std;

use alloc::string::String;
use core::fmt::Write as _;
use std::time::Instant;
use std::{env, eprintln, fs};

use crate::judge::cases;
use crate::testing::case::Case;
use crate::testing::stages::Desk;

/// A thousand templates for a hundred namespaces: run with
/// `cargo test --release -p pouch-core made -- --ignored --nocapture`.
#[test]
#[ignore = "measures; means something only in a release build"]
fn speed() {
    let mut text =
        String::from("# Many templates.\n{regions: {eu: {templates: ['*'], namespaces: {allowed: ['*'], labels: {");
    (0..100).for_each(|at| _ = write!(text, "dev-{at}: {{team: a}}, "));
    text.push_str("}}}}}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: pull, namespace: default}\ntype: kubernetes.io/dockerconfigjson\nstringData: {.dockerconfigjson: '{\"auths\":{}}'}\n");
    for at in 0..1000 {
        _ = write!(
            text,
            "---\napiVersion: automation.kubensync.com/v1alpha1\nkind: ManagedResource\nmetadata: {{name: pull-{at}}}\n\
             spec:\n  namespaceSelector: {{regex: \"^dev-\"}}\n  template:\n    \
             data: [{{name: s, type: Secret, ref: {{name: pull, namespace: default}}}}]\n    literal: |\n      \
             apiVersion: v1\n      kind: Secret\n      metadata:\n        name: pull-{at}\n        \
             namespace: {{{{ .Namespace.Name }}}}\n      type: kubernetes.io/dockerconfigjson\n      data:\n        \
             .dockerconfigjson: '{{{{ index .Data.s \".dockerconfigjson\" | base64Encode }}}}'\n"
        );
    }
    let path = env::temp_dir().join("pouch-made-speed.yaml");
    fs::write(&path, text).unwrap();
    let case = Case::load(&path);
    fs::remove_file(&path).unwrap();
    let begun = Instant::now();
    let desk = Desk::new(&case.worlds[0]);
    let all = begun.elapsed();
    let begun = Instant::now();
    let made = super::all(&desk.world());
    let once = begun.elapsed();
    drop(made);
    let begun = Instant::now();
    let judged = cases(&desk.world(), desk.facts.asked().iter());
    eprintln!("read and made {all:?}, made {once:?}, closed and judged {} {:?}", judged.len(), begun.elapsed());
}
