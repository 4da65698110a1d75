use super::*;
use alloc::collections::BTreeSet;
use alloc::string::{String, ToString as _};

#[test]
fn names_are_bounded_as_kubernetes_bounds_them() {
    for good in ["a", "a-b", "0", "a.b-c.d", "eu-west-1"] {
        assert!(is_dns_subdomain(good), "{good}");
    }
    let long: String = "a".repeat(254);
    for bad in ["", ".", "..", "a..b", "-a", "a-", "A", "a_b", "a/b", "a\nb", "é", ".a", &long] {
        assert!(!is_dns_subdomain(bad), "{bad:?}");
    }
    assert!(is_dns_label(&"a".repeat(63)) && !is_dns_label(&"a".repeat(64)));
    assert!(!is_dns_label("a.b"));
    assert!(is_directory(&"a".repeat(40)) && !is_directory(&"a".repeat(41)));
    assert!(!is_directory("../x") && !is_directory("Eu"));
}

#[test]
fn data_keys_are_bounded_as_kubernetes_bounds_them() {
    for good in ["clouds.yaml", ".dockerconfigjson", "A_b-c.d", "..."] {
        assert_eq!(is_data_key(good), good != "...", "{good}");
    }
    for bad in ["", ".", "..", "..a", "a b", "a:b", "a/b", "é"] {
        assert!(!is_data_key(bad), "{bad:?}");
    }
}

#[test]
fn the_path_of_a_claimant_says_its_kind_unless_that_is_the_usual_one() {
    for (path, shown) in [
        ("a/b", "Credential a/b"),
        ("cluster/a/b", "Cluster a/b"),
        ("clusterresourceset/a/b", "ClusterResourceSet a/b"),
        ("guest/a/b", "Guest a/b"),
        ("guest/a/b/Secret/c/d", "Guest a/b/Secret/c/d"),
        (
            "guest/a/b/AWSClusterRoleIdentity.infrastructure.cluster.x-k8s.io/d",
            "Guest a/b/AWSClusterRoleIdentity.infrastructure.cluster.x-k8s.io/d",
        ),
    ] {
        let by = Claimant::of_path(path).unwrap();
        assert_eq!((by.to_string(), by.path()), (shown.to_string(), path.to_string()));
    }
    assert_eq!(Claimant::of_path("Cluster/a/b"), Claimant::of_path("cluster/a/b"));
    for bad in [
        "a",
        "a/",
        "/b",
        "cluster/a/",
        "machine/a/b",
        "cluster//b",
        "cluster/a/b/c",
        "",
        "guest/a/b/Secret",
        "guest/a/b/Secret/c/",
        "guest/a/b/Secret//d",
        "guest/a/b/Secret/c/d/e",
    ] {
        assert_eq!(Claimant::of_path(bad), None, "{bad}");
    }
}

#[test]
fn every_kind_is_read_as_it_is_written() {
    let (namespace, name) = (Namespace::from("a"), Name::from("b"));
    for kind in KINDS.into_iter().chain(["Machine"]) {
        let by = Claimant::new(kind, namespace.clone(), name.as_str());
        assert_eq!((by.kind(), by.namespace(), &*by.name()), (kind, &namespace, "b"));
        assert_eq!(matches!(by, Claimant::Other { .. }), kind == "Machine");
    }
    let taken = Claimant::new(SYNC_RULE, namespace, "r:a:b");
    assert_eq!((taken.rule(), &*taken.name()), (Some(&"r".into()), "r:a:b"));
}

#[test]
fn api_versions_split_at_the_slash() {
    assert_eq!(split_api_version("v1"), ("", "v1"));
    assert_eq!(split_api_version("a.b/v1beta2"), ("a.b", "v1beta2"));
    let identity = GroupKind::new("a.b", "Thing");
    assert_eq!(identity.api_version(&"v2".into()), "a.b/v2");
    assert_eq!(format!("{identity}"), "Thing.a.b");
}

#[test]
fn no_two_kinds_are_shown_alike() {
    let known = crate::kinds::all().map(|known| GroupKind::new(known.group, known.kind));
    let identities = crate::capi::all().map(|rules| GroupKind::new(rules.group, rules.kind));
    let foreign = ["Cluster", "Credential", "Region"].map(|kind| GroupKind::new("example.com", kind));
    let registry = GroupKind::new("clusterregistry.k8s.cisco.com", "Cluster");
    let kinds: BTreeSet<GroupKind> = known.chain(identities).chain(foreign).chain([registry.clone()]).collect();
    let shown: BTreeSet<String> = kinds.iter().map(GroupKind::to_string).collect();
    assert_eq!(shown.len(), kinds.len());
    assert!(
        kinds.iter().filter(|kind| kind.group != "example.com" && **kind != registry).all(GroupKind::is_shown_bare)
    );
    assert_eq!(registry.to_string(), registry.qualified());
}
