//! Each field in which an object behind a Cluster names something, left out, mistyped and of the wrong type.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::super::naming::{Choices, ClusterKind, Form, Naming, Within, Without};
use super::machines::{Owner, makers, makes};
use super::{MOST_NAMED, kinds, known, machines, meant, names, of_made, read, templates};
use crate::finding::{Code, Fault};
use crate::name::GroupKind;
use crate::node::Node;
use crate::testing::{node, yaml};

fn object(text: &str) -> Node {
    node(&yaml(text))
}

/// A field as the provider wants it.
fn value(naming: &Naming) -> String {
    if naming.form == Form::Text {
        return String::from("x");
    }
    let kind = match &naming.choices {
        Choices::One(_) => String::new(),
        Choices::By { key, of, .. } => format!(", {key}: {}", of[0].word),
    };
    let namespace = if naming.namespace == Within::Own { "" } else { ", namespace: team" };
    format!("{{name: x{kind}{namespace}}}")
}

/// What stands at a path.
fn at_path(path: &[&str], value: &str) -> String {
    path.iter().rev().fold(String::from(value), |inner, key| match *key {
        "[]" => format!("[{inner}]"),
        key => format!("{{{key}: {inner}}}"),
    })
}

/// An object with all fields of a kind that do not begin as this one, and with a value at a path.
fn with(known: &ClusterKind, naming: &Naming, path: &[&str], value: &str) -> Node {
    let mut body = object("{}");
    for other in known.names.iter().filter(|other| other.field[1] != naming.field[1]) {
        body = merged(body, object(&at_path(other.field, &self::value(other))));
    }
    merged(body, object(&at_path(path, value)))
}

/// Both maps in one; lists are joined item by item.
fn merged(a: Node, b: Node) -> Node {
    match (a, b) {
        (Node::Map(a), Node::Map(b)) => {
            let mut entries = a.into_vec();
            for (key, node) in b.into_vec() {
                match entries.iter().position(|(other, _)| *other == key) {
                    Some(at) => {
                        let (key, other) = entries.remove(at);
                        entries.push((key, merged(other, node)));
                    }
                    None => entries.push((key, node)),
                }
            }
            Node::map(entries)
        }
        (_, b) => b,
    }
}

fn every() -> impl Iterator<Item = (&'static ClusterKind, &'static Naming)> {
    kinds().chain(machines()).flat_map(|known| known.names.iter().map(move |naming| (known, naming)))
}

fn told(known: &ClusterKind, body: &Node) -> Result<usize, Vec<Fault>> {
    names(known, body, &"n".into()).map(|named| named.iter().filter(|named| !named.by_default).count())
}

#[test]
fn a_field_that_is_there_names_something_and_one_that_is_not_means_what_its_provider_takes() {
    for (known, naming) in every() {
        let at = format!("{} {:?}", known.kind, naming.field);
        let beside = known.names.iter().filter(|other| other.field[1] == naming.field[1]);
        let whole = beside.fold(with(known, naming, naming.field, &value(naming)), |whole, other| {
            merged(whole, object(&at_path(other.field, &value(other))))
        });
        assert_eq!(told(known, &whole).expect(&at), known.names.len(), "{at}");
        let gone = told(known, &with(known, naming, &["spec"], "{}"));
        match naming.without {
            Without::Refused => assert_eq!(gone.unwrap_err()[0].code, Code::InvalidObject, "{at}"),
            _ => assert!(gone.expect(&at) < known.names.len(), "{at}"),
        }
    }
}

/// Whoever drops a letter of a field, or writes it small, means the field.
#[test]
fn a_mistyped_field_is_never_an_absent_one() {
    let mut tried = 0;
    for (known, naming) in every() {
        for step in 1..naming.field.len() {
            let key = naming.field[step];
            if key == "[]" {
                continue;
            }
            let mut short = key.to_string();
            short.pop();
            let mistyped = [key.to_lowercase(), short, format!("{key}s"), key.to_uppercase(), format!("x-{key}")];
            for typed in mistyped.iter().filter(|typed| *typed != key) {
                let mut path = naming.field.to_vec();
                path[step] = typed;
                let faults = told(known, &with(known, naming, &path, &value(naming)));
                let faults = faults.expect_err(&format!("{} {path:?}", known.kind));
                assert!(faults.iter().any(|fault| fault.code == Code::Mistyped), "{} {path:?} {faults:?}", known.kind);
                tried += 1;
            }
        }
    }
    assert!(tried > 100, "{tried}");
}

#[test]
fn a_field_of_another_type_is_never_an_absent_one() {
    for (known, naming) in every() {
        for step in 1..=naming.field.len() {
            let wanted = naming.field.get(step).map_or("value", |next| if *next == "[]" { "list" } else { "map" });
            let others: &[&str] = match (wanted, naming.form) {
                ("list", _) => &["x", "7", "{}", "true"],
                ("map", _) | (_, Form::Map | Form::MapNamed(_)) => &["x", "7", "[]", "true"],
                _ => &["7", "{}", "[]", "true", "''"],
            };
            for value in others {
                let wrong = told(known, &with(known, naming, &naming.field[..step], value));
                assert!(wrong.is_err(), "{} {:?} {value}", known.kind, &naming.field[..step]);
            }
        }
    }
}

#[test]
fn what_names_something_is_read_as_strictly() {
    let kind = |group: &str, kind: &str| known(&GroupKind::new(group, kind)).unwrap();
    let infra = "infrastructure.cluster.x-k8s.io";
    for (name, spec) in [
        ("AWSCluster", "{identityRef: {kind: AWSClusterStaticIdentity, nmae: x}}"),
        ("AWSCluster", "{identityRef: {knd: AWSClusterStaticIdentity, name: x}}"),
        ("AWSCluster", "{identityRef: {kind: AWSClusterStaticIdentiti, name: x}}"),
        ("AWSCluster", "{identityRef: {kind: AWSClusterStaticIdentity, name: 7}}"),
        ("AWSCluster", "{identityRef: {}}"),
        ("AzureCluster", "{identityRef: {kind: AzureClusterIdentity, name: x, namspace: other}}"),
        ("OpenStackCluster", "{identityRef: {tpe: ClusterIdentity, name: x}}"),
        ("OpenStackCluster", "{identityRef: {type: [], name: x}}"),
        ("HetznerCluster", "{hetznerSecretRef: {nam: x}}"),
        ("HetznerCluster", "{hetznerSecretRef: {name: [x]}}"),
        ("HetznerCluster", "{hetznerSecretRef: {key: {hcloudtoken: x}}}"),
        ("ProxmoxCluster", "{credentialsRef: {name: x, namespace: 7}}"),
        ("NutanixCluster", "{prismCentral: {address: a}}"),
        ("NutanixCluster", "{prismCentral: {address: a, credentialRef: null}}"),
        ("ElfCluster", "{tower: {secretRef: {name: x}}}"),
        ("CloudStackCluster", "{failureDomains: []}"),
        ("CloudStackCluster", "{failureDomains: [{acsEndpoint: {name: x, namespace: n}}, {}]}"),
        ("CloudStackCluster", "{failureDomains: [{acsEndpoint: {name: x, namespace: n}}, x]}"),
    ] {
        assert!(told(kind(infra, name), &object(&format!("{{spec: {spec}}}"))).is_err(), "{name} {spec}");
    }
    assert_eq!(told(kind(infra, "NutanixCluster"), &object("{spec: {prismCentral: null}}")), Ok(0));
    // The API server fills in the name of this one.
    let hetzner = names(kind(infra, "HetznerCluster"), &object("{spec: {hetznerSecretRef: {key: {}}}}"), &"n".into());
    assert_eq!(hetzner.unwrap()[0].name.as_str(), "hetzner");
}

/// An object names a hundred others, or breaks; however many places it has for them, it is read once. Looking at each for
/// each would take hours.
#[test]
fn an_object_of_a_million_places_is_read_in_one_pass() {
    let azure = known(&GroupKind::new("infrastructure.cluster.x-k8s.io", "AzureASOManagedCluster")).unwrap();
    let of = |count: usize, distinct: usize| {
        let key = "serviceoperator.azure.com/credential-from";
        let item = |number: usize| {
            let name = format!("s{}", number % distinct);
            let annotations = Node::map(vec![(key.into(), Node::text(&name))]);
            let metadata = Node::map(vec![("annotations".into(), annotations)]);
            Node::map(vec![("metadata".into(), metadata)])
        };
        let resources = Node::List((0..count).map(item).collect());
        let body = Node::map(vec![("spec".into(), Node::map(vec![("resources".into(), resources)]))]);
        names(azure, &body, &"n".into()).map(|named| named.len())
    };
    assert_eq!(of(300_000, MOST_NAMED), Ok(MOST_NAMED));
    assert_eq!(of(300_000, 300_000).unwrap_err()[0].code, Code::TooManyObjects);
    let invalid = object("{}");
    let many =
        Node::List((0..300_000).map(|n| if n % 2 == 0 { invalid.clone() } else { Node::text("${X}") }).collect());
    let body = Node::map(vec![("spec".into(), Node::map(vec![("resources".into(), many)]))]);
    assert!(names(azure, &body, &"n".into()).is_err_and(|faults| faults.len() <= 16));
}

#[test]
fn a_cluster_is_read_as_strictly() {
    const INFRA: &str = "infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSCluster, name: a}";
    for spec in [
        "[]",
        "text",
        "{infrastructureref: {}}",
        "{infrastructureRef: []}",
        "{infrastructureRef: {apiGroup: a.io, kind: A, nmae: a}}",
        "{INFRA, controlplaneRef: {apiGroup: a.io, kind: A, name: a}}",
        "{INFRA, controlPlaneRef: text}",
        "{INFRA, controlPlaneRef: {apiGroup: a.io, kind: A, name: [a]}}",
        "{topology: []}",
        "{topology: {}}",
        "{topology: {clas: a}}",
        "{topology: {classRef: a}}",
        "{topology: {classRef: {name: a, namespce: b}}}",
        "{topology: {class: a, classNamespace: [b]}}",
        "{toplogy: {class: a}}",
    ] {
        let spec = spec.replace("INFRA", INFRA);
        assert!(read(&object(&format!("{{spec: {spec}}}")), &"n".into()).is_err(), "{spec}");
    }
    let whole = format!(
        "{{spec: {{{INFRA}, paused: false, clusterNetwork: {{}}, controlPlaneEndpoint: {{host: a}}, topology: {{class: a, \
         version: v1, workers: {{}}, variables: []}}}}}}"
    );
    assert!(read(&object(&whole), &"n".into()).is_ok());
}

#[test]
fn a_kind_that_is_nearly_known_is_not_another_one() {
    let control_plane = "controlplane.cluster.x-k8s.io";
    for (group, kind, expect) in [
        (control_plane, "AWSManagedControlplane", Some("AWSManagedControlPlane")),
        (control_plane, "AWSManagedControlPlanes", Some("AWSManagedControlPlane")),
        ("controlplan.cluster.x-k8s.io", "AWSManagedControlPlane", Some("AWSManagedControlPlane")),
        ("infrastructure.cluster.x-k8s.io", "AWSManagedControlPlane", Some("AWSManagedControlPlane")),
        ("cluster.x-k8s.io", "ROSAControlPlane", Some("ROSAControlPlane")),
        ("v1", "K0smotronControlPlane", Some("K0smotronControlPlane")),
        (control_plane, "AWSManagedControlPlane", None),
        // Those that there are, and that name nothing.
        (control_plane, "KubeadmControlPlane", None),
        (control_plane, "K0sControlPlane", None),
        (control_plane, "RKE2ControlPlane", None),
        (control_plane, "KamajiControlPlane", None),
        (control_plane, "TalosControlPlane", None),
        (control_plane, "MicroK8sControlPlane", None),
        (control_plane, "CK8sControlPlane", None),
        (control_plane, "KThreesControlPlane", None),
        (control_plane, "NestedControlPlane", None),
        ("infrastructure.cluster.x-k8s.io", "ScalewayManagedControlPlane", None),
        ("infrastructure.cluster.x-k8s.io", "OCIManagedControlPlane", None),
    ] {
        let found = meant(&GroupKind::new(group, kind));
        let found = found.filter(|_| known(&GroupKind::new(group, kind)).is_none());
        assert_eq!(found.as_ref().map(|kind| kind.kind.as_str()), expect, "{group} {kind}");
    }
}

fn class(spec: &str) -> Result<Vec<Option<String>>, Vec<Fault>> {
    let infrastructure = "infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSClusterTemplate, name: a}}";
    let body = object(&format!("{{spec: {{{}}}}}", spec.replace("INFRA", infrastructure)));
    templates(&body).map(|all| all.into_iter().map(|one| one.written.map(|(_, field)| field)).collect())
}

/// A patch that is not what Cluster API takes writes nobody knows what.
#[test]
fn a_patch_counts_wherever_it_may() {
    let patch = |selects: &str, patches: &str| {
        let selector = format!(
            "{{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSClusterTemplate, matchResources: {selects}}}"
        );
        format!("INFRA, patches: [{{name: p, definitions: [{{selector: {selector}, jsonPatches: {patches}}}]}}]")
    };
    let chosen = "{infrastructureCluster: true}";
    let identity = "[{op: add, path: /spec/template/spec/identityRef}]";
    let written = Ok(vec![Some(String::from("spec.identityRef"))]);
    assert_eq!(class("INFRA"), Ok(vec![None]));
    assert_eq!(class(&patch(chosen, "[{op: add, path: /spec/template/spec/region}]")), Ok(vec![None]));
    assert_eq!(class(&patch("{controlPlane: true}", identity)), Ok(vec![None]));
    assert_eq!(class(&patch("{infrastructureCluster: false}", identity)), Ok(vec![None]));
    for patches in [
        identity,
        "[{op: add, path: /spec/template/spec}]",
        "[{op: replace, path: ''}]",
        "[{op: add, path: /spec/template/spec/identityRef/name}]",
    ] {
        assert_eq!(class(&patch(chosen, patches)), written, "{patches}");
    }
    // A program may write anything, and the kind of a selector that chooses nothing else says nothing.
    assert_eq!(class("INFRA, patches: [{name: p, external: {generateExtension: x}}]"), written);
    assert_eq!(class(&patch(chosen, identity).replace("AWSClusterTemplate, m", "AzureClusterTemplate, m")), written);
    for spec in [
        "",
        "INFRA, patches: text",
        "INFRA, patches: {}",
        "INFRA, patchs: []",
        "INFRA, patches: [text]",
        "INFRA, patches: [{definitions: {}}]",
        "INFRA, patches: [{definitons: []}]",
        "INFRA, patches: [{definitions: [text]}]",
        "INFRA, patches: [{definitions: [{jsonPatches: []}]}]",
        "infrastructure: {}",
        "infrastructure: []",
        "infrastructure: {ref: text}",
        "infrastructur: {ref: {}}",
        "INFRA, controlPlane: {ref: {apiVersion: controlplane.cluster.x-k8s.io/v1, kind: AWSManagedControlPlanTemplate, name: a}}",
        &patch("text", identity),
        &patch("'infrastructureCluster: true'", identity),
        &patch("{infrastructureCluster: 'true'}", identity),
        &patch("{infrastructurecluster: true}", identity),
        &patch(chosen, "text"),
        &patch(chosen, "[text]"),
        &patch(chosen, "[{op: add}]"),
        &patch(chosen, "[{op: add, path: [a]}]"),
        &patch(chosen, "[{op: add, pth: /spec}]"),
    ] {
        assert!(class(spec).is_err(), "{spec}");
    }
}

#[test]
fn a_template_that_says_nothing_is_no_template() {
    for (body, is_fine) in [
        ("{spec: {template: {spec: {}}}}", true),
        ("{spec: {template: {metadata: {}, spec: {a: b}}}}", true),
        ("{}", false),
        ("{spec: []}", false),
        ("{spec: {}}", false),
        ("{spec: {templat: {spec: {}}}}", false),
        ("{spec: {template: {}}}", false),
        ("{spec: {template: {spc: {}}}}", false),
        ("{spec: {template: text}}", false),
    ] {
        assert_eq!(of_made(&object(body)).is_ok(), is_fine, "{body}");
    }
}

/// An object that makes machines names its Cluster and their template; a letter less is no absent field, wherever it
/// stands.
#[test]
fn a_mistyped_field_of_what_makes_machines_is_never_an_absent_one() {
    let template = "{apiVersion: infrastructure.cluster.x-k8s.io/v1, kind: VSphereMachineTemplate, name: t}";
    let mut tried = 0;
    for maker in makers() {
        let is_own = maker.names_cluster();
        for path in maker.fields().filter(|path| path.iter().any(|key| key.starts_with("infrastructure"))) {
            let whole = |path: &[&str]| {
                let named = if is_own { object("{spec: {clusterName: c}}") } else { object("{}") };
                merged(named, object(&at_path(path, template)))
            };
            let said = makes(maker, &whole(path));
            assert_eq!((said.machines.len(), said.faults.len()), (1, 0), "{} {path:?} {:?}", maker.kind, said.faults);
            assert_eq!(matches!(said.owner, Owner::Is(_)), is_own, "{}", maker.kind);
            for step in 1..path.len() {
                let mut short = String::from(path[step]);
                short.pop();
                let mut typed = path.to_vec();
                typed[step] = &short;
                let faults = makes(maker, &whole(&typed)).faults;
                let is_told = faults.iter().any(|fault| fault.code == Code::Mistyped);
                assert!(is_told, "{} {typed:?} {faults:?}", maker.kind);
                tried += 1;
            }
        }
        if is_own {
            // Any name in it may be that of the Cluster.
            let said = makes(maker, &object("{spec: {clusterNme: c, template: {metadata: {labels: {of: d}}}}}"));
            assert_eq!(said.owner, Owner::Among(["c".into(), "d".into()].into()), "{}", maker.kind);
            assert_eq!(said.faults[0].code, Code::Mistyped, "{}", maker.kind);
        }
    }
    assert!(tried > 50, "{tried}");
}
