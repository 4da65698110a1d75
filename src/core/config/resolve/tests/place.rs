//! In which repositories and branches bundles may be published, and what a server may be told.

use alloc::string::String;

use super::{OUTPUT, edited, fleet, load};
use crate::config::Delivery;

/// What `output.git` says, and what is said of it.
const WRONG: &[(&str, &str)] = &[
    (
        "repository: \"a/{regoin}.git\", base: \"{x}\", branch: \"pouch/{region}{\"",
        "18:28 output.git.repository: the repository has braces in it, and nothing is filled in there\n18:52 output.git.base: \"{x}\" cannot be used: it has braces in it, and nothing is filled in there\n18:67 output.git.branch: \"pouch/{region}{\" cannot be used: it has braces in it, and nothing is filled in there",
    ),
    (
        "repository: \"https://me:{region}@example.com/x.git\"",
        "18:28 output.git.repository: the URL has a password or token in it",
    ),
    (
        "repository: a, base: pouch, branch: \"pouch/{region}\"",
        "18:52 output.git.branch: git cannot have both a branch \"pouch/{region}\" and a branch \"pouch\"",
    ),
    (
        "repository: a, base: \"live/{region}\", branch: pouch",
        "18:62 output.git.branch: the regions follow different branches, and one branch cannot propose to all of them",
    ),
    (
        "repository: a, base: eu-west, branch: \"{region}\"",
        "18:54 output.git.branch: for region \"eu-west\" it is \"eu-west\", which is a branch that is proposed to",
    ),
    (
        "repository: a, branch: main, pushOptions: [ci.skip]",
        "18:58 output.git.pushOptions: push options go with proposals, and nothing is proposed",
    ),
    (
        "repository: a, base: main, branch: p, pushOptions: [\" \", \"a\\nb\", \"x=https://me:hunter2@h/\"]",
        "18:68 output.git.pushOptions[0]: this is no push option: it is empty, has more than 1024 characters, or one that cannot be printed\n18:73 output.git.pushOptions[1]: this is no push option: it is empty, has more than 1024 characters, or one that cannot be printed\n18:81 output.git.pushOptions[2]: the push option has a key or a password in it",
    ),
];

#[test]
fn no_region_s_place_is_taken_for_another_s() {
    for (typed, expect) in WRONG {
        let found = load(&edited(OUTPUT, &format!("output: {{git: {{{typed}}}}}")));
        assert_eq!(found.err().unwrap_or_else(|| String::from("nothing")), *expect, "{typed}");
    }
    let many = ["ci.skip"; 33].join(", ");
    let found = load(&edited(
        OUTPUT,
        &format!("output: {{git: {{repository: a, base: main, branch: p, pushOptions: [{many}]}}}}"),
    ));
    assert!(found.is_err_and(|found| found.contains("more than 32 push options")));
}

#[test]
fn a_placeholder_is_the_region_s_folder() {
    let place = |typed: &str| {
        let fleet = fleet(OUTPUT, &format!("output: {{git: {{{typed}}}}}"));
        let git = fleet.output.git.clone().unwrap();
        let place = git.place(&fleet.regions["us-east"].directory);
        (format!("{} {} {}", place.repository, place.base, place.branch), git.proposes())
    };
    for (typed, expect, proposes) in [
        ("repository: a", "a main main", false),
        ("repository: a, branch: b", "a b b", false),
        ("repository: a, base: b, branch: c", "a b c", true),
        ("repository: a, base: b, branch: \"pouch/{region}\"", "a b pouch/us-east", true),
        ("repository: a, branch: \"{region}\"", "a us-east us-east", false),
        ("repository: \"https://h/{region}/{region}.git\"", "https://h/us-east/us-east.git main main", false),
        ("repository: a, base: \"{region}\", branch: \"p/{region}\"", "a us-east p/us-east", true),
        ("repository: \"{region}\", base: \"x/{region}\", branch: p", "us-east x/us-east p", true),
        ("repository: a, base: main, branch: p, pushOptions: [merge_request.create]", "a main p", true),
    ] {
        assert_eq!(place(typed), (String::from(expect), proposes), "{typed}");
    }
}

#[test]
fn argo_cd_follows_what_was_merged() {
    let text = edited(OUTPUT, "output: {git: {repository: a, base: \"live/{region}\", branch: \"pouch/{region}\"}}")
        .replacen("    namespaces:", "    delivery: argocd\n    namespaces:", 1)
        + "regionDefaults: {delivery: {argocd: {repoURL: \"https://h/{region}.git\"}}}\n";
    let fleet = load(&text).unwrap();
    let Delivery::ArgoCd(argo) = &fleet.regions["eu-west"].delivery else { panic!() };
    assert_eq!((argo.target_revision.as_str(), argo.repo_url.as_str()), ("live/eu-west", "https://h/eu-west.git"));
}

/// What `output.oci` says, and what is said of it.
const WRONG_REGISTRIES: &[(&str, &str)] = &[
    (
        "repository: registry.example.com/fleet",
        "18:28 output.oci.repository: the artifacts of the regions \"eu-west\" and \"us-east\" have one place",
    ),
    (
        "repository: \"me:hunter2@registry.example.com/{region}\"",
        "18:28 output.oci.repository: there is an `@` in it: neither a password nor a digest belongs here",
    ),
    (
        "repository: \"https://registry.example.com/{region}\"",
        "18:28 output.oci.repository: only `oci://` may stand before the registry",
    ),
    (
        "repository: \"registry.example.com/{regoin}\", tag: \"{region}\"",
        "18:28 output.oci.repository: the repository has a character that registries do not take, such as a capital, or is too long",
    ),
    ("repository: \"localhost/{region}\", tag: a/b", "18:55 output.oci.tag: \"a/b\" is no tag"),
];

#[test]
fn each_region_has_a_place_of_its_own_in_a_registry() {
    for (typed, expect) in WRONG_REGISTRIES {
        let found = load(&edited(OUTPUT, &format!("output: {{oci: {{{typed}}}}}")));
        assert_eq!(found.err().unwrap_or_else(|| String::from("nothing")), *expect, "{typed}");
    }
    let place = |typed: &str| {
        let fleet = fleet(OUTPUT, &format!("output: {{oci: {{{typed}}}}}"));
        let oci = fleet.output.oci.clone().unwrap();
        (format!("{}", oci.place(&fleet.regions["us-east"].directory)), oci.is_insecure())
    };
    for (typed, expect, insecure) in [
        ("repository: \"oci://r.example.com/fleet/{region}\"", "r.example.com/fleet/us-east:latest", false),
        ("repository: r.example.com/fleet, tag: \"v1-{region}\"", "r.example.com/fleet:v1-us-east", false),
        ("repository: \"localhost:5000/{region}\"", "localhost:5000/us-east:latest", true),
        ("repository: \"localhost:5000/{region}\", insecure: false", "localhost:5000/us-east:latest", false),
        ("repository: \"r.example.com/{region}\", insecure: true", "r.example.com/us-east:latest", true),
    ] {
        assert_eq!(place(typed), (String::from(expect), insecure), "{typed}");
    }
}

#[test]
fn who_takes_an_artifact_sees_it_from_its_own_root() {
    let text = |more: &str| {
        edited(OUTPUT, &format!("output: {{path: a/b{more}}}")).replacen(
            "    namespaces:",
            "    delivery: argocd\n    namespaces:",
            1,
        ) + "regionDefaults: {delivery: {argocd: {repoURL: \"oci://r.example.com/{region}\"}}}\n"
    };
    let seen = |more: &str| {
        let fleet = load(&text(more)).unwrap();
        let delivery = &fleet.regions["eu-west"].delivery;
        let Delivery::ArgoCd(argo) = delivery else { panic!() };
        (String::from(delivery.folder_in(&fleet.output)), argo.target_revision.clone())
    };
    let of = |path: &str, revision: &str| (String::from(path), String::from(revision));
    assert_eq!(seen(""), of("a/b", "HEAD"));
    assert_eq!(seen(", oci: {repository: \"r.example.com/{region}\", tag: t}"), of("", "t"));
    assert_eq!(
        seen(", git: {repository: x, branch: m}, oci: {repository: \"r.example.com/{region}\"}"),
        of("", "latest")
    );
    let digest = format!("sha256:{}", "a1".repeat(32));
    let pinned = |revision: &str| {
        load(&text("").replace("repoURL:", &format!("targetRevision: \"{revision}\", repoURL:"))).is_ok()
    };
    assert!(pinned(&digest) && pinned("v1") && !pinned("sha256:a1") && !pinned("sha512:a1"));
}
