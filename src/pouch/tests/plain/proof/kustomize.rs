//! What `pouch verify` says of kustomizations, held against the real kustomize.

use super::stage::Stage;
use super::table::WEST;
use crate::support::Kustomize;

/// What a region's consumers build: all, what is applied first, and what is open.
const BUILT: [&str; 3] = ["", "core", "open"];

/// What kustomize makes of a bundle that somebody touched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Makes {
    /// The very same objects.
    Same,
    /// Something else.
    Other,
    /// Nothing: it refuses.
    Nothing,
}

/// What it builds, in the order of [`BUILT`]; none where it refuses one of them.
fn built(kustomize: &Kustomize, stage: &Stage) -> Option<Vec<Vec<u8>>> {
    let build = |folder: &&str| {
        let answer = kustomize.build(&stage.path(WEST).join(folder));
        answer.status.success().then_some(answer.stdout)
    };
    BUILT.iter().map(build).collect()
}

const LIST: &str = "core/secrets/kustomization.yaml";
const SECRET: &str = "kcm-system/aws-main-secret.sops.yaml";

/// Who touches a bundle's folder how, what kustomize then makes of it, and what `verify` finds, once hashes were
/// made to fit: what cannot be built, or builds something else, is always found.
type Row = (&'static str, Makes, &'static [&'static str], fn(&Stage));

fn at(path: &str) -> String {
    format!("{WEST}/{path}")
}

fn append(stage: &Stage, path: &str, more: &str) {
    let text = stage.read(&at(path));
    stage.write(&at(path), format!("{text}{more}"));
}

#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("a file that is listed is gone", Makes::Nothing, &["untrusted-bundle"], |stage| {
        std::fs::remove_file(stage.path(&at("core/secrets/kcm-system/aws-main-secret.sops.yaml"))).unwrap();
    }),
    ("a folder's list is gone", Makes::Nothing, &["not-buildable"], |stage| {
        std::fs::remove_file(stage.path(&at(LIST))).unwrap();
    }),
    ("a list that is empty", Makes::Nothing, &["not-buildable"], |stage| stage.write(&at(LIST), "")),
    ("a list that is not YAML", Makes::Nothing, &["not-buildable"], |stage| append(stage, LIST, "resources: [\n")),
    ("a field twice, of which the last counts", Makes::Other, &["not-buildable"], |stage| append(stage, LIST, "resources: []\n")),
    ("a field that is none", Makes::Nothing, &["not-buildable"], |stage| append(stage, LIST, "resuorces: []\n")),
    ("a file listed twice", Makes::Nothing, &["not-buildable"], |stage| append(stage, LIST, &format!("- {SECRET}\n"))),
    ("a file listed that is not there", Makes::Nothing, &["not-buildable"], |stage| append(stage, LIST, "- x.yaml\n")),
    ("a file out of the folder", Makes::Nothing, &["not-buildable"], |stage| append(stage, LIST, "- ../../../us-east/bundle.yaml\n")),
    ("a remote base that does not answer", Makes::Nothing, &["not-buildable"], |stage| append(stage, LIST, "- https://127.0.0.1:1/x.yaml\n")),
    ("a chart", Makes::Nothing, &["not-buildable"], |stage| append(stage, LIST, "helmCharts: [{name: x, repo: 'https://127.0.0.1:1'}]\n")),
    ("a patch of nothing", Makes::Nothing, &["not-buildable"], |stage| append(stage, LIST, "patches: [{path: gone.yaml}]\n")),
    ("an object that is not YAML", Makes::Nothing, &["not-sealed"], |stage| {
        stage.write(&at(&format!("core/secrets/{SECRET}")), "apiVersion: v1\nkind: [\n");
    }),
    ("a file taken off the list", Makes::Other, &["not-buildable"], |stage| {
        stage.edit(&at(LIST), &format!("- {SECRET}\n"), "");
    }),
    ("another region's folder", Makes::Other, &["not-buildable"], |stage| append(stage, LIST, "- ../../../us-east/identities/vsphereclusteridentity.infrastructure.cluster.x-k8s.io\n")),
    ("a patch", Makes::Other, &["not-buildable"], |stage| {
        append(stage, LIST, "patches:\n- patch: '[{\"op\": \"add\", \"path\": \"/metadata/labels/x\", \"value\": \"y\"}]'\n  target: {kind: Secret}\n");
    }),
    ("a prefix", Makes::Other, &["not-buildable"], |stage| append(stage, LIST, "namePrefix: x-\n")),
    ("labels for all", Makes::Other, &["not-buildable"], |stage| append(stage, LIST, "labels: [{pairs: {x: z}}]\n")),
    ("a generator of Secrets", Makes::Other, &["not-buildable"], |stage| {
        append(stage, LIST, "secretGenerator: [{name: made, namespace: kcm-system, literals: [a=b]}]\n");
    }),
    ("another object in a file", Makes::Other, &["untrusted-bundle"], |stage| {
        stage.edit(&at("core/namespaces/team-a.yaml"), "name: team-a", "name: team-b");
    }),
    ("a file that nobody lists", Makes::Same, &["unlisted-file"], |stage| stage.write(&at("core/secrets/x.yaml"), "a: b\n")),
    // verify is stricter than kustomize: it asks for the very bytes that pouch writes.
    ("a comment in a list", Makes::Same, &["not-buildable"], |stage| append(stage, LIST, "# a note\n")),
];

#[test]
fn what_kustomize_cannot_build_or_builds_otherwise_is_found() {
    let Some(kustomize) = Kustomize::find() else { return };
    let good = Stage::new();
    let whole = built(&kustomize, &good).expect("kustomize builds a good bundle");
    assert!(whole.iter().all(|bytes| !bytes.is_empty()));
    good.consumer().finds("a good bundle", &[]);
    let checked = |(what, makes, codes, spoil): &Row| {
        let stage = Stage::new();
        spoil(&stage);
        let made = match built(&kustomize, &stage) {
            None => Makes::Nothing,
            Some(made) if made == whole => Makes::Same,
            Some(_) => Makes::Other,
        };
        assert_eq!(made, *makes, "{what}: kustomize");
        stage.forge();
        let verified = stage.consumer();
        for code in *codes {
            assert!(
                verified.faults().contains(code),
                "{what}: no {code} in {:?}\n{}",
                verified.faults(),
                verified.stderr
            );
        }
        assert_eq!(verified.code, 8, "{what}");
    };
    let (first, second) = ROWS.split_at(ROWS.len() / 2);
    std::thread::scope(|scope| {
        scope.spawn(|| first.iter().for_each(checked));
        second.iter().for_each(checked);
    });
}
