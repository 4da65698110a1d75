//! Tests of `path`.

use super::*;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use proptest::prelude::*;

fn key(group: &str, kind: &str, namespace: Option<&str>, name: &str) -> ObjectKey {
    ObjectKey::new(GroupKind::new(group, kind), namespace.map(Into::into), name.into())
}

#[track_caller]
fn check(key: &ObjectKey, expect: &str) {
    let path = of_object(&"eu-west".into(), key);
    assert_eq!(path.as_str(), format!("regions/eu-west/{expect}"));
    assert_eq!(BundlePath::parse(path.as_str()), Some(path));
}

#[test]
fn the_layout() {
    check(&key("", "Secret", Some("kcm-system"), "aws"), "core/secrets/kcm-system/aws.sops.yaml");
    check(&key("", "ConfigMap", Some("team-a"), "a.b"), "core/configmaps/team-a/a.b.yaml");
    check(&key("", "Namespace", None, "team-a"), "core/namespaces/team-a.yaml");
    let group = "infrastructure.cluster.x-k8s.io";
    check(
        &key(group, "AWSClusterStaticIdentity", None, "aws"),
        "identities/awsclusterstaticidentity.infrastructure.cluster.x-k8s.io/aws.yaml",
    );
    check(
        &key(group, "AzureClusterIdentity", Some("team-a"), "az"),
        "identities/azureclusteridentity.infrastructure.cluster.x-k8s.io/team-a/az.yaml",
    );
    check(&key("", "Secret", Some("con"), "kustomization"), "core/secrets/con_/kustomization_.sops.yaml");
    check(&key("", "Secret", Some(".."), "../../x"), "core/secrets/_2e_2e/_2e._2f.._2fx.sops.yaml");
    check(&key("", "ServiceAccount", Some("a"), "x"), "identities/serviceaccount_2e/a/x.yaml");
    check(&key("yaml", "Kustomization", None, "x"), "identities/kustomization_.yaml/x.yaml");
    // Flux leaves these names out of what it fetches.
    check(&key("", "Namespace", None, "cloudbuild"), "core/namespaces/cloudbuild_.yaml");
    check(
        &key("x.io", "Thing", Some("cloudbuild"), "cloudbuild"),
        "identities/thing.x.io/cloudbuild_/cloudbuild_.yaml",
    );
    check(&key("example.zip", "Thing", None, "x.zip"), "identities/thing.example.zip_/x.zip.yaml");
    check(&key("tar.gz", "Con", None, "x"), "identities/con_.tar.gz_/x.yaml");
    check(&key("", "Secret", Some("kustomization.yaml"), "x"), "core/secrets/kustomization_2eyaml/x.sops.yaml");
}

#[test]
fn parts_are_encoded_as_documented() {
    for (text, expect) in [
        ("aws", "aws"),
        ("a-b.c", "a-b.c"),
        ("", "_"),
        (".", "_2e"),
        ("..", "_2e_2e"),
        ("...", "_2e._2e"),
        (".git", "_2egit"),
        (".GIT", "_2e_47_49_54"),
        ("a.", "a_2e"),
        ("A", "_41"),
        ("_41", "_5f41"),
        ("a_", "a_5f"),
        ("é", "_c3_a9"),
        ("a/b", "a_2fb"),
        ("con", "con_"),
        ("CON", "_43_4f_4e"),
        ("con.x", "con_.x"),
        ("con.tar.gz", "con_.tar.gz"),
        ("cone", "cone"),
        ("com1", "com1_"),
        ("com0", "com0"),
        ("com10", "com10"),
        ("lpt9.a", "lpt9_.a"),
        ("lpt", "lpt"),
        ("kustomization", "kustomization_"),
        ("kustomization.yaml", "kustomization_.yaml"),
        ("kustomizations", "kustomizations"),
        ("cloudbuild", "cloudbuild_"),
        ("cloudbuild.yaml", "cloudbuild_.yaml"),
        ("a.con", "a.con"),
    ] {
        assert_eq!(component(text), expect, "{text:?}");
    }
}

#[test]
fn long_parts_are_cut_and_stay_apart() {
    let long = "a".repeat(200);
    assert_eq!(component(&long), long);
    let (one, other) = (component(&"a".repeat(201)), component(&"a".repeat(202)));
    assert_eq!(one.len(), 177);
    assert!(one.starts_with(&format!("{}_", "a".repeat(160))) && one != other);
    let hash: String = sha256_hex("a".repeat(201).as_bytes()).chars().take(16).collect();
    assert!(one.ends_with(&hash));
    // A name whose own encoding looks like the cut form of another: `_41` is what `A` becomes.
    let forged = (0..2000_u32).find_map(|n| {
        let victim = format!("{}{n}", "a".repeat(200));
        let tail = component(&victim).split_at(161).1.to_owned();
        let rest = tail.strip_prefix("41")?;
        Some((component(&victim), format!("{}A{rest}", "a".repeat(160))))
    });
    let (victim, forger) = forged.expect("one in 256");
    assert_eq!(encode(&forger, is_plain_or_dot), victim);
    assert_ne!(component(&forger), victim);
}

#[test]
fn only_paths_that_pouch_writes_are_read() {
    for good in [".gitattributes", "regions/eu/bundle.yaml", "a", "a/b_2e/c-d.yaml", "argocd/acme-applicationset.yaml"]
    {
        assert!(BundlePath::parse(good).is_some(), "{good}");
    }
    let long = "a".repeat(256);
    for bad in [
        "",
        "/",
        "/a",
        "a/",
        "a//b",
        ".",
        "..",
        "./a",
        "../a",
        "a/..",
        "a/../b",
        "a/./b",
        ".git",
        "a/.git/config",
        "regions/eu/.gitattributes",
        "A",
        "a b",
        "a\\b",
        "a:b",
        "a\0",
        "a\n",
        "é",
        "a/B",
        "~",
        "C:/x",
        &long,
    ] {
        assert!(BundlePath::parse(bad).is_none(), "{bad:?}");
    }
}

#[test]
fn leaves_are_found_again() {
    let directory = Directory::from("eu");
    let kind = GroupKind::new("x.io", "Thing");
    for namespace in [None, Some("ns")] {
        let path = of_object(&directory, &key("x.io", "Thing", namespace, "a"));
        assert_eq!(Leaf::of_path(&directory, path.as_str()), Some(Leaf::of(&kind)));
        assert_eq!(Leaf::of_path(&"e".into(), path.as_str()), None);
    }
    let list = BundlePath::parse("regions/eu/identities/kustomization.yaml").expect("a path");
    assert_eq!(Leaf::of_path(&directory, list.as_str()), None);
    assert_eq!(Leaf::of_path(&directory, of_object(&directory, &key("", "Secret", Some("a"), "b")).as_str()), None);
}

#[test]
fn names_of_delivery_objects_are_names() {
    assert_eq!(delivery_name("eu-core"), "eu-core");
    assert_eq!(delivery_name(&"a".repeat(63)), "a".repeat(63));
    let long = delivery_name(&"a".repeat(64));
    let hash: String = sha256_hex("a".repeat(64).as_bytes()).chars().take(8).collect();
    assert_eq!(long, format!("{}-{hash}", "a".repeat(54)));
    for text in ["", "-", "a_b", "eu-core_2e", ".a", "é", &format!("{}.{}", "a".repeat(53), "b".repeat(53)), "a..b"] {
        let name = delivery_name(text);
        assert!(name.len() <= 63 && is_dns_subdomain(&name), "{text:?} became {name:?}");
    }
    assert_ne!(delivery_name("a_b"), delivery_name("a-b"));
}

/// Names that broke file systems, git, kustomize or shells: from git's t1450 and t0060, the CVEs
/// about `.git` aliases (CVE-2014-9390, CVE-2019-1352, CVE-2019-1353), and Windows's naming rules.
#[rustfmt::skip]
const HOSTILE: &[&str] = &[
    "", " ", "  ", ".", "..", "...", "....", ". .", ".. ", " ..", "..\u{a0}", "/", "//", "/etc/passwd", "a/b", "a//b",
    "./a", "../a", "../../a", "a/..", "a/../b", "a/./b", "a/", "/a", "\\", "\\\\host\\share", "a\\b", "..\\a", "C:",
    "C:\\x", "c:/x", "a:b", "a:$DATA", "a::$INDEX_ALLOCATION", ".git", ".GIT", ".Git", ".git ", ".git.", ".git..",
    ".git/config", ".git\\config", ".git::$INDEX_ALLOCATION", "git~1", "GIT~1", "gI~1", "git~2", ".g\u{200c}it",
    ".gi\u{200d}t", "\u{feff}.git", ".gi\u{2060}t", ".git\u{200e}", ".gitmodules", ".GITMODULES", "gitmod~1",
    ".gitattributes", "gitatt~1", ".gitignore", "gitign~1", ".mailmap", ".sops.yaml", "con", "CON", "Con", "con.",
    "con ", "con.x", "con.tar.gz", "con:", "prn", "PRN", "aux", "aux.c", "nul", "NUL", "nul.txt", "com0", "com1",
    "COM1", "com2.x", "com9", "com10", "com\u{b9}", "com\u{b2}", "com\u{b3}", "lpt0", "lpt1", "LPT1", "lpt9.a",
    "lpt10", "conin$", "CONOUT$", "clock$", "con_", "con_.x", "_con", "kustomization", "Kustomization",
    "cloudbuild", "cloudbuild_", "kustomization.yaml", "kustomization.yml", "kustomization_", "kustomization_.yaml", "kustomization.", "a.", "a..",
    ".a", "..a", "a ", " a", "a\t", "\ta", "a\n", "\n", "\r", "\r\n", "a\nb", "a\u{0}", "\u{0}", "\u{0}a", "\u{1}",
    "\u{1b}[31m", "\u{7f}", "\u{85}", "\u{2028}", "\u{2029}", "\u{202e}txt.exe", "\u{2066}a", "A", "a", "Ab", "aB",
    "AB", "ab", "é", "e\u{301}", "É", "ß", "ẞ", "ss", "ı", "İ", "i", "K", "\u{212a}", "ﬁ", "fi", "①", "1", "ａ", "Ⅳ",
    "\u{1f512}", "_", "__", "_2e", "_2E", "_5f", "_41", "_zz", "a_", "a_b", "a_2fb", "%", "%2e", "%2e%2e%2f", "%00",
    "a%2fb", "-", "--", "-rf", "--help", "-a", "a-", "~", "~root", "~/.ssh", "$HOME", "${HOME}", "$(id)", "`id`",
    ";id", "|id", "&", "&&id", ">x", "<x", "*", "?", "[a]", "{a,b}", "!", "#", "#a", "@", "^", "=", "+", ",", "'",
    "\"", "a'b", "a\"b", "a\"b\"", "https://example.com/x?ref=y", "github.com/a/b//c", "ssh://x", "git::x", "a: b",
    "- a", "? a", "a #b", "!!binary x", "&a", "*a", "%YAML", "---", "{}", "[]", "null", "true", "~null", "0x1", "1e3",
    "desktop.ini", "thumbs.db", "index", "HEAD", "refs", "bundle.yaml", "core", "identities", "a.yaml", "a.sops.yaml",
    "a.sops",
];

#[test]
fn hostile_names_become_harmless_and_stay_apart() {
    assert!(HOSTILE.len() >= 150, "{}", HOSTILE.len());
    let long: Vec<String> = (190..=260).map(|n| "x".repeat(n)).chain((60..90).map(|n| "é".repeat(n))).collect();
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for text in HOSTILE.iter().copied().chain(long.iter().map(String::as_str)) {
        assert_harmless(&component(text), text);
        assert_harmless(&part(text, is_plain), text);
        if let Some(other) = seen.insert(component(text).to_ascii_lowercase(), text) {
            panic!("{text:?} and {other:?} become one");
        }
    }
}

#[track_caller]
fn assert_harmless(part: &str, text: &str) {
    assert!((1..=200).contains(&part.len()), "{text:?}");
    assert!(!part.starts_with('.') && !part.ends_with('.'), "{text:?} became {part:?}");
    assert!(part.bytes().all(|b| is_plain_or_dot(b) || b == b'_'), "{text:?} became {part:?}");
    let stem = part.split('.').next().unwrap_or_default();
    assert!(!is_reserved(stem), "{text:?} became {part:?}");
    for file in [format!("a/{part}"), format!("a/{part}.sops.yaml")] {
        assert!(BundlePath::parse(&file).is_some(), "{text:?} became {file:?}");
    }
}

/// No file may stand where another path needs a folder.
#[test]
fn hostile_keys_fit_in_one_tree() {
    let mut files = BTreeSet::new();
    let mut folders = BTreeSet::new();
    let directory = Directory::from("eu");
    let some: Vec<&str> = HOSTILE.iter().copied().filter(|text| !text.is_empty()).collect();
    for name in &some {
        for key in [
            key("x.io", "Thing", None, name),
            key("x.io", "Thing", Some(name), "a"),
            key("", "Secret", Some(name), "a"),
            key("", "ConfigMap", Some("a"), name),
            key("", "Namespace", None, name),
            key(name, "Thing", None, "a"),
            key("x.io", name, None, "b"),
        ] {
            let path = of_object(&directory, &key);
            let text = path.as_str();
            folders.extend(text.match_indices('/').map(|(at, _)| text.split_at(at).0.to_owned()));
            files.insert(text.to_owned());
        }
    }
    for folder in &folders {
        files.insert(format!("{folder}/kustomization.yaml"));
    }
    let meeting: Vec<&String> = files.intersection(&folders).collect();
    assert!(meeting.is_empty(), "{meeting:?}");
}

fn adversarial() -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        Just("a".to_owned()),
        Just("A".to_owned()),
        Just(".".to_owned()),
        Just("-".to_owned()),
        Just("_".to_owned()),
        Just("_2e".to_owned()),
        Just("_41".to_owned()),
        Just("con".to_owned()),
        Just("kustomization".to_owned()),
        Just("/".to_owned()),
        Just("é".to_owned()),
        Just("\0".to_owned()),
        Just("a".repeat(159)),
        Just("0".repeat(16)),
        ".".prop_map(|text| text),
    ];
    prop_oneof![
        prop::collection::vec(pieces, 1..6).prop_map(|pieces| pieces.concat()),
        prop::sample::select(HOSTILE).prop_filter("a name", |text| !text.is_empty()).prop_map(str::to_owned),
        "[a-cA-C._]{1,4}",
        ".{1,230}",
    ]
}

fn any_key() -> impl Strategy<Value = ObjectKey> {
    let kind = prop_oneof![
        Just(GroupKind::new("", "Secret")),
        Just(GroupKind::new("", "ConfigMap")),
        Just(GroupKind::new("x.io", "Thing")),
        (adversarial(), adversarial()).prop_map(|(group, kind)| GroupKind::new(&group, &kind)),
    ];
    (kind, prop::option::of(adversarial()), adversarial()).prop_map(|(kind, namespace, name)| {
        let namespace =
            if kind.is_secret() || kind.is_config_map() { namespace.or(Some("a".into())) } else { namespace };
        ObjectKey::new(kind, namespace.map(|text| text.as_str().into()), name.as_str().into())
    })
}

/// A key as the layout tells keys apart: kinds by their lower-case form.
fn told_apart(key: &ObjectKey) -> ObjectKey {
    let kind = GroupKind::new(key.kind.group.as_str(), &key.kind.kind.as_str().to_ascii_lowercase());
    ObjectKey::new(kind, key.namespace.clone(), key.name.clone())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parts_are_injective_also_in_lower_case(a in adversarial(), b in adversarial()) {
        let parts = (component(&a), component(&b));
        prop_assert_eq!(a == b, parts.0.to_lowercase() == parts.1.to_lowercase(), "{:?}", parts);
        assert_harmless(&parts.0, &a);
    }

    #[test]
    fn paths_are_injective_also_in_lower_case(a in any_key(), b in any_key()) {
        let directory = Directory::from("eu");
        let paths = (of_object(&directory, &a), of_object(&directory, &b));
        let same = paths.0.as_str().to_lowercase() == paths.1.as_str().to_lowercase();
        prop_assert_eq!(told_apart(&a) == told_apart(&b), same, "{:?}", paths);
        prop_assert!(BundlePath::parse(paths.0.as_str()).is_some());
    }

    #[test]
    fn what_lies_below_is_what_starts_there(a in "[a-c]{1,3}(/[a-c]{1,3}){0,3}", b in "[a-c]{1,3}") {
        let (path, folder) = (BundlePath::parse(&a).expect("a path"), BundlePath::parse(&b).expect("a path"));
        prop_assert_eq!(path.below(&folder).is_some(), a.starts_with(&format!("{b}/")));
    }
}
