//! What is built and what is believed, without a server.

use super::*;

fn node(text: &str) -> Node {
    parse(text.as_bytes(), &mut Interner::new()).unwrap()
}

fn credentials() -> Resource {
    Resource {
        kind: GroupKind::new("k0rdent.mirantis.com", "Credential"),
        version: "v1beta1".into(),
        plural: "credentials".to_owned(),
        scope: Scope::Namespaced,
    }
}

fn secrets() -> Resource {
    Resource::core("Secret", "secrets", Scope::Namespaced)
}

#[test]
fn paths_are_those_of_the_api_whatever_the_names() {
    let namespace = Namespace::from("team-a");
    assert_eq!(
        secrets().path(&ObjectKey::secret("team-a".into(), "aws".into())),
        "/api/v1/namespaces/team-a/secrets/aws"
    );
    assert_eq!(credentials().list_path(None, 500, ""), "/apis/k0rdent.mirantis.com/v1beta1/credentials?limit=500");
    assert_eq!(
        credentials().list_path(Some(&namespace), 500, "a/b=&c"),
        "/apis/k0rdent.mirantis.com/v1beta1/namespaces/team-a/credentials?limit=500&continue=a%2Fb%3D%26c"
    );
    assert_eq!(
        credentials().labelled_path("k0rdent.mirantis.com/managed", "true", 500, "t="),
        "/apis/k0rdent.mirantis.com/v1beta1/credentials?limit=500\
         &labelSelector=k0rdent.mirantis.com%2Fmanaged%3Dtrue&continue=t%3D"
    );
    let hostile = ObjectKey::secret("a/../b".into(), "x?y#z\u{e9}/..".into());
    assert_eq!(secrets().path(&hostile), "/api/v1/namespaces/a%2F..%2Fb/secrets/x%3Fy%23z%C3%A9%2F..");
    assert_eq!((secrets().name(), credentials().name()), ("secrets".into(), "credentials.k0rdent.mirantis.com".into()));
}

#[track_caller]
fn object_is(text: &str, form: Portion, expect: Option<&str>) {
    let key = ObjectKey::secret("team-a".into(), "aws".into());
    let got = object(node(text), &secrets(), &key, form);
    assert_eq!(got.map(|_| ()).map_err(|garbled| garbled.0), expect.map_or(Ok(()), Err), "{text}");
}

#[test]
fn an_object_is_the_one_that_was_asked_for_or_none() {
    const OTHER: Option<&str> = Some("the answer is another object than the one asked for");
    let meta = r#""metadata":{"name":"aws","namespace":"team-a","uid":"u","resourceVersion":"7"}"#;
    let whole =
        |kind: &str, version: &str, meta: &str| format!(r#"{{"kind":"{kind}","apiVersion":"{version}",{meta}}}"#);
    object_is(&whole("Secret", "v1", meta), Portion::Whole, None);
    object_is(&whole("PartialObjectMetadata", "meta.k8s.io/v1", meta), Portion::Metadata, None);
    object_is(&whole("Secret", "v1", meta), Portion::Metadata, OTHER);
    object_is(&whole("PartialObjectMetadata", "meta.k8s.io/v1", meta), Portion::Whole, OTHER);
    object_is(&whole("ConfigMap", "v1", meta), Portion::Whole, OTHER);
    object_is(&whole("Secret", "v2", meta), Portion::Whole, OTHER);
    object_is(&whole("Secret", "v1", &meta.replace("aws", "gcp")), Portion::Whole, OTHER);
    object_is(&whole("Secret", "v1", &meta.replace("team-a", "team-b")), Portion::Whole, OTHER);
    object_is(&whole("Status", "v1", meta), Portion::Whole, OTHER);
    object_is("[]", Portion::Whole, OTHER);
    let unstamped = Some("an object in the answer has no uid or resourceVersion");
    object_is(&whole("Secret", "v1", &meta.replace("\"u\"", "\"\"")), Portion::Whole, unstamped);
    object_is(&whole("Secret", "v1", &meta.replace("resourceVersion", "rv")), Portion::Whole, unstamped);
}

#[track_caller]
fn page_is(text: &str, namespace: Option<&str>, form: Portion, expect: Result<&str, &str>) {
    let namespace = namespace.map(Namespace::from);
    let got = page(node(text), &credentials(), namespace.as_ref(), form).map_err(|garbled| garbled.0);
    let shown = got.map(|page| {
        let names: Vec<String> = page.items.iter().map(|(key, _, _)| key.name.to_string()).collect();
        let remaining = page.remaining.map(|r| r.to_string()).unwrap_or_default();
        format!("{} {} {} {}", page.version, page.token, remaining, names.join(","))
    });
    assert_eq!(shown.as_deref().map_err(|what| *what), expect, "{text}");
}

#[test]
fn a_page_is_of_the_list_that_was_asked_for_or_none() {
    let list = |meta: &str, items: &str| {
        format!(
            r#"{{"kind":"CredentialList","apiVersion":"k0rdent.mirantis.com/v1beta1","metadata":{{{meta}}},"items":{items}}}"#
        )
    };
    let item = |name: &str, namespace: &str| {
        format!(
            r#"{{"kind":"Credential","apiVersion":"k0rdent.mirantis.com/v1beta1","metadata":{{"name":"{name}","namespace":"{namespace}","uid":"u","resourceVersion":"1"}}}}"#
        )
    };
    let rv = r#""resourceVersion":"9""#;
    let two = format!("[{},{}]", item("a", "n"), item("b", "m"));
    page_is(&list(rv, &two), None, Portion::Whole, Ok("9   a,b"));
    let more = r#""resourceVersion":"9","continue":"t","remainingItemCount":3"#;
    page_is(&list(more, &two), None, Portion::Whole, Ok("9 t 3 a,b"));
    page_is(&list(rv, "[]"), Some("n"), Portion::Whole, Ok("9   "));

    const NO_LIST: &str = "the answer is not a list of the kind that was asked for";
    const NO_ITEMS: &str = "the list has no field items, not even an empty one";
    const NO_ITEM: &str = "an item of the list is no object of the kind and place asked for";
    page_is(&list(rv, &two), Some("n"), Portion::Whole, Err(NO_ITEM));
    page_is(&list(rv, &two.replace("\"Credential\"", "\"Region\"")), None, Portion::Whole, Err(NO_ITEM));
    page_is(&list(rv, &two.replace("\"name\":\"a\"", "\"name\":\"\"")), None, Portion::Whole, Err(NO_ITEM));
    page_is(&list(rv, &two.replace("\"namespace\":\"n\"", "\"x\":\"n\"")), None, Portion::Whole, Err(NO_ITEM));
    page_is(&list(rv, "null"), None, Portion::Whole, Err(NO_ITEMS));
    page_is(&list(rv, "{}"), None, Portion::Whole, Err(NO_ITEMS));
    page_is(&list("", &two), None, Portion::Whole, Err("the list does not say which state of the cluster it shows"));
    page_is(&list(rv, &two).replace("CredentialList", "SecretList"), None, Portion::Whole, Err(NO_LIST));
    page_is(&list(rv, &two).replace("CredentialList", "Status"), None, Portion::Whole, Err(NO_LIST));
    let meta = list(rv, "null").replace("CredentialList", "PartialObjectMetadataList");
    page_is(&meta.replace("k0rdent.mirantis.com/v1beta1", "meta.k8s.io/v1"), None, Portion::Metadata, Ok("9   "));
    page_is(&list(rv, "null"), None, Portion::Metadata, Err(NO_LIST));
}

#[test]
fn a_404_proves_absence_only_where_it_names_the_object() {
    let key = ObjectKey::new(GroupKind::new("k0rdent.mirantis.com", "Credential"), Some("n".into()), "a".into());
    let status = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","details":{"name":"a","group":"k0rdent.mirantis.com","kind":"credentials"},"code":404}"#;
    assert!(says_absent(&node(status), &credentials(), &key));
    for (from, to) in [
        ("\"Status\"", "\"Oops\""),
        ("\"NotFound\"", "\"Expired\""),
        ("\"name\":\"a\"", "\"name\":\"b\""),
        ("\"kind\":\"credentials\"", "\"kind\":\"secrets\""),
        ("k0rdent.mirantis.com", "other.group"),
        ("\"details\"", "\"detail\""),
    ] {
        assert!(!says_absent(&node(&status.replacen(from, to, 1)), &credentials(), &key), "{from} → {to}");
    }
    // Of the core group the API server leaves the field out.
    let secret = ObjectKey::secret("n".into(), "a".into());
    let core = r#"{"kind":"Status","reason":"NotFound","details":{"name":"a","kind":"secrets"}}"#;
    assert!(says_absent(&node(core), &secrets(), &secret));
}

#[test]
fn kinds_are_read_from_discovery_without_subresources() {
    let versions = node(
        r#"{"kind":"APIGroup","name":"x.io","versions":[{"groupVersion":"x.io/v1","version":"v1"},{"groupVersion":"x.io/v1beta1","version":"v1beta1"}]}"#,
    );
    let names = |group| group_versions(&versions, group).map(|v| v.iter().map(ToString::to_string).collect::<Vec<_>>());
    assert_eq!(names("x.io"), Ok(vec!["v1".to_owned(), "v1beta1".to_owned()]));
    assert!(names("y.io").is_err());
    let list = node(
        r#"{"kind":"APIResourceList","groupVersion":"x.io/v1","resources":[{"name":"as","kind":"A","namespaced":true},{"name":"as/status","kind":"A","namespaced":true},{"name":"bs","kind":"B","namespaced":false},{"name":"c"}]}"#,
    );
    let found = resources(&list, "x.io", &"v1".into()).unwrap();
    let shown: Vec<String> = found.iter().map(|r| format!("{} {} {:?}", r.kind, r.plural, r.scope)).collect();
    assert_eq!(shown, ["A.x.io as Namespaced", "B.x.io bs Cluster"]);
    assert!(resources(&list, "x.io", &"v2".into()).is_err());
}

#[test]
fn what_is_no_json_is_garbled_and_not_quoted() {
    for body in [&b"CANARY"[..], b"{\"a\":", b"\xff\xfe", b"", &[b'['; 4096]] {
        let garbled = parse(body, &mut Interner::new()).err().unwrap();
        assert!(!garbled.0.contains("CANARY"));
    }
}

#[test]
fn items_of_built_in_kinds_say_their_kind_themselves() {
    let namespaces = Resource::core("Namespace", "namespaces", Scope::Cluster);
    let text = r#"{"kind":"NamespaceList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"a","uid":"u","resourceVersion":"1","labels":{"x":"y"}}}]}"#;
    let page = page(node(text), &namespaces, None, Portion::Whole).ok().unwrap();
    let (key, _, item) = &page.items[0];
    assert_eq!(
        (key.to_string(), item.str_at(&["kind"]), item.str_at(&["apiVersion"])),
        ("Namespace a".into(), Some("Namespace"), Some("v1"))
    );
    assert_eq!(item.str_at(&["metadata", "labels", "x"]), Some("y"));
}

#[test]
fn what_only_controllers_write_is_no_change() {
    let stamp_of = |kind: &str, meta: &str| {
        let resource = Resource { kind: GroupKind::new("k0rdent.mirantis.com", kind), ..credentials() };
        stamp(&node(&format!(r#"{{"metadata":{{"uid":"u",{meta}}}}}"#)), &resource).unwrap()
    };
    let base = r#""resourceVersion":"1","generation":2,"labels":{"a":"b"}"#;
    for (meta, same) in [
        (r#""resourceVersion":"9","generation":2,"labels":{"a":"b"}"#, true),
        (r#""resourceVersion":"1","generation":3,"labels":{"a":"b"}"#, false),
        (r#""resourceVersion":"1","generation":2,"labels":{"a":"c"}"#, false),
        (r#""resourceVersion":"1","generation":2"#, false),
        (r#""resourceVersion":"1","generation":2,"labels":{"a":"b"},"deletionTimestamp":"now""#, false),
    ] {
        assert_eq!(stamp_of("ClusterDeployment", base) == stamp_of("ClusterDeployment", meta), same, "{meta}");
    }
    // A Region's status is read.
    assert_ne!(stamp_of("Region", base), stamp_of("Region", &base.replace("\"1\"", "\"9\"")));
}

#[test]
fn depth_is_cut_in_lists_and_refused_in_objects() {
    let nest = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
    let list = |spec: &str| format!("{{\"kind\":\"XList\",\"items\":[{{\"spec\":{{\"credential\":\"c\",{spec}}}}}]}}");
    let mut interner = Interner::new();
    for field in ["config", "identityRef"] {
        let deep = list(&format!("\"{field}\":{nest}"));
        assert!(parse(deep.as_bytes(), &mut interner).is_err());
        let read = parse_list(deep.as_bytes(), &mut interner).ok().unwrap();
        let spec = read.get("items").unwrap().items()[0].get("spec").unwrap();
        assert_eq!(spec.str_at(&["credential"]), Some("c"));
        assert_eq!(spec.get(field).is_some(), field != "config", "settings are passed over");
        assert!(parse_list(&deep.as_bytes()[..6000], &mut interner).is_err(), "cut off in the middle");
    }
    assert!(parse_list(list("\"credential\":\"d\"").as_bytes(), &mut interner).is_err(), "a key twice");
}

#[test]
fn of_listed_annotations_one_is_read() {
    let list = r#"{"items":[{"metadata":{"name":"a","annotations":{"pouch/silence":"null-entry: x","other":"y"}}}]}"#;
    let read = parse_list(list.as_bytes(), &mut Interner::new()).ok().unwrap();
    let annotations = read.get("items").unwrap().items()[0].at(&["metadata", "annotations"]).unwrap();
    assert_eq!((annotations.str_at(&["pouch/silence"]), annotations.entries().len()), (Some("null-entry: x"), 1));
}

#[test]
fn of_objects_that_describe_clusters_all_is_read_that_decides() {
    let list = r#"{"metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a","managedFields":[{}],
        "annotations":{"cluster-registry.k8s.cisco.com/cluster-disabled":"","other":"y"}},
        "spec":{"clusterManager":{"name":"m"},"other":"y"},"status":{"conditions":[{"type":"Joined"}],"locality":{"region":"r"}},
        "decisions":[{"clusterProfileRef":{"name":"c"}}],"other":"y"}]}"#;
    let read = parse_inventory(list.as_bytes(), &mut Interner::new()).ok().unwrap();
    assert_eq!(read.str_at(&["metadata", "resourceVersion"]), Some("7"));
    let item = &read.get("items").unwrap().items()[0];
    assert_eq!(item.str_at(&["status", "locality", "region"]), Some("r"));
    assert_eq!(item.at(&["status", "conditions"]).unwrap().items()[0].str_at(&["type"]), Some("Joined"));
    assert_eq!(item.get("decisions").unwrap().items()[0].str_at(&["clusterProfileRef", "name"]), Some("c"));
    assert_eq!(item.str_at(&["metadata", "annotations", "cluster-registry.k8s.cisco.com/cluster-disabled"]), Some(""));
    assert_eq!(item.str_at(&["spec", "clusterManager", "name"]), Some("m"));
    for path in
        [&["other"][..], &["spec", "other"], &["metadata", "managedFields"], &["metadata", "annotations", "other"]]
    {
        assert!(item.at(path).is_none(), "{path:?}");
    }
    // Of other kinds, which tenants write, a status is not looked at.
    let read = parse_list(list.as_bytes(), &mut Interner::new()).ok().unwrap();
    assert!(read.get("items").unwrap().items()[0].at(&["status", "conditions"]).is_none());
}

#[test]
fn a_manifest_is_applied_by_force_and_strictly() {
    let resource = Resource::core("Secret", "secrets", Scope::Namespaced);
    let key = ObjectKey::secret("a b".into(), "s/..".into());
    let path = "/api/v1/namespaces/a%20b/secrets/s%2F..?fieldManager=pouch.a.b&force=true&fieldValidation=Strict";
    assert_eq!(resource.apply_path(&key, "pouch.a.b", Trial::Real), path);
    assert_eq!(resource.apply_path(&key, "pouch.a.b", Trial::Dry), format!("{path}&dryRun=All"));
}
