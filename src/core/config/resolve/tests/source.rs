//! What a git source's `ref` may be, and which objects a source may provide by name.

use alloc::string::String;

use super::{SOURCE, edited, fleet, load};
use crate::config::SourcePlace;

const ID: &str = "0123456789abcdef0123456789abcdef01234567";

#[test]
fn a_ref_says_what_it_is_or_is_no_tag() {
    for (typed, expect) in [
        ("main", "main"),
        ("refs/tags/v1", "refs/tags/v1"),
        (ID, ID),
        ("{branch: main}", "refs/heads/main"),
        ("{branch: HEAD}", "refs/heads/HEAD"),
        ("{tag: v1}", "refs/tags/v1"),
        ("{commit: 0123456789ABCDEF0123456789abcdef01234567}", ID),
    ] {
        let fleet = fleet(SOURCE, &format!("    git: {{repository: ../x, ref: {typed}}}"));
        let SourcePlace::Git { reference, .. } = &fleet.sources[0].place else { panic!("{typed}") };
        assert_eq!(reference, expect);
    }
    for (typed, expect) in [
        (
            "{branch: a..b}",
            "6:40 sources[0].git.ref.branch: \"a..b\" cannot be used: git reads it as a revision, not as a name",
        ),
        ("{}", "6:26 sources[0].git.ref: it does not name one thing"),
        (
            "{tag: v1, commit: abc}",
            "6:26 sources[0].git.ref: it does not name one thing\n6:49 sources[0].git.ref.commit: \"abc\" is no whole commit id",
        ),
        ("{commit: abc1234}", "6:40 sources[0].git.ref.commit: \"abc1234\" is no whole commit id"),
        ("refs/", "6:31 sources[0].git.ref: \"\" cannot be used: it is empty"),
    ] {
        let found = load(&edited(SOURCE, &format!("    git: {{repository: x, ref: {typed}}}"))).err();
        assert_eq!(found.as_deref(), Some(expect), "{typed}");
    }
}

/// What describes one region is not trusted with the others; what is k0rdent's own is trusted anyway.
#[test]
fn a_source_of_one_region_is_not_trusted_with_all() {
    let of = |region: &str, more: &str| {
        let source = format!(
            "    directory: {{path: m}}\n    region: {region}\n    provides: {{namespaces: [a]{more}}}\n  - name: b\n    \
             directory: {{path: b}}\n    provides: {{namespaces: [b]}}"
        );
        let config = edited(SOURCE, &source).replacen("  us-east:\n", "  us-east:\n    management: true\n", 1);
        load(&config).map(|fleet| fleet.sources[0].described().is_some())
    };
    assert_eq!(of("eu-west", ""), Ok(true));
    assert_eq!(of("us-east", ", clusterScoped: true"), Ok(false));
    let refused = of("eu-west", ", clusterScoped: true").unwrap_err();
    assert!(refused.contains("would be trusted with all regions"), "{refused}");
    let overrides = "}\n    overrides: true\n    decryption: {environment: true";
    assert_eq!(of("us-east", overrides), Ok(true));
    let refused = of("eu-west", overrides).unwrap_err();
    assert!(refused.contains("sources[0].overrides: the source describes the Clusters of region eu-west"), "{refused}");
}

/// Three sources: the first is trusted, the others name these objects.
fn with_objects(one: &str, other: &str) -> String {
    edited(
        SOURCE,
        &format!(
            "    directory: {{path: m}}\n    provides: {{namespaces: [\"*\"], clusterScoped: true}}\n  \
             - name: a\n    directory: {{path: a}}\n    provides: {{namespaces: [team-a], objects: [{one}]}}\n  \
             - name: b\n    directory: {{path: b}}\n    provides: {{namespaces: [\"team-b*\"], objects: [{other}]}}"
        ),
    )
}

#[test]
fn a_source_may_provide_objects_by_name() {
    const AWS: &str = "group: infrastructure.cluster.x-k8s.io, kind: AWSClusterStaticIdentity";
    let secret = |name: &str| format!("{{kind: Secret, namespace: kcm-system, name: {name}}}");
    let at_a = "sources[1].provides.objects[0]";
    for (one, other, expect) in [
        (format!("{{{AWS}, name: \"a-*\"}}, {}", secret("a-*")), secret("b-*"), Ok(())),
        (secret("a"), secret("?b"), Ok(())),
        (format!("{{{AWS}, name: same}}"), secret("same"), Ok(())),
        (secret("a-*"), secret("\"*-b\""), Err("those that match \"a-*\"")),
        (secret("\"*\""), secret("b"), Err("those that match \"*\"")),
        ("{kind: Secret, namespace: team-b, name: x}".into(), secret("b"), Err("all objects of that namespace")),
        ("{kind: Secret, namespace: team-c, name: x}".into(), secret("b"), Ok(())),
        ("{kind: Secret, name: x}".into(), secret("b"), Err("the namespace is missing")),
        (format!("{{{AWS}, namespace: kcm-system, name: x}}"), secret("b"), Err("have no namespace")),
        (
            "{kind: Credential, group: k0rdent.mirantis.com, namespace: kcm-system, name: x}".into(),
            secret("b"),
            Err("no objects of kind"),
        ),
        (
            "{kind: CustomResourceDefinition, group: apiextensions.k8s.io, name: x}".into(),
            secret("b"),
            Err("no objects of kind"),
        ),
        (secret("\"[ab]\""), secret("b"), Err("is not a glob over names of objects")),
        (secret("\"\""), secret("b"), Err("is not a glob over names of objects")),
    ] {
        let said = load(&with_objects(&one, &other)).map(drop);
        match expect {
            Ok(()) => assert_eq!(said, Ok(()), "{one} {other}"),
            Err(expect) => assert!(said.as_ref().is_err_and(|said| said.contains(expect)), "{one} {other}: {said:?}"),
        }
    }
    let both = load(&with_objects(&secret("a-*"), &secret("a-b"))).err().unwrap_or_default();
    assert!(both.starts_with("13:") && both.contains("sources[2].provides.objects[0].name: sources[1] may"), "{both}");
    let nobody = load(&with_objects(&secret("Ab"), "")).err().unwrap_or_default();
    assert!(nobody.contains(&format!("{at_a}.name: \"Ab\" is not a glob")), "{nobody}");
    let cluster =
        edited(SOURCE, &format!("    cluster: {{}}\n    provides: {{namespaces: [a], objects: [{}]}}", secret("x")));
    assert!(load(&cluster).err().unwrap_or_default().contains("sources[0].provides.objects: a cluster's own rights"));
}
