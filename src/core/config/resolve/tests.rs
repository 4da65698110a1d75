//! Wrong configurations and what is said of them: one line of the base is replaced, and everything
//! that is reported is compared, with its place.

extern crate std;

mod decryption;
mod defaults;
mod delivery;
mod guests;
mod named_readers;
mod place;
mod source;

use super::super::shape::{self, Unfit};
use super::super::{Companions, Content, RegionState, Resolution, SourcePlace, show};
use super::*;
use crate::yaml::emit::emit;
use std::{assert_eq, println};

const A: &str = "age1e2tczyk2rw7u47kzxxee5g7ufkncdmlcz37yuu4espmcttlwfqaspg5uc4";
const B: &str = "age18c37s9sq89v55vuffajkfcd3xj9m67sq3r2zcjktw0h2a4vuqqwsdn8mfl";
const C: &str = "age19e7jcqaf2pawye0v7k6n26y955ee8gszn5jp89yewfj6rgj6aarqfs7p39";
const SECRET: &str = "AGE-SECRET-KEY-1QYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQYQS7KDVNN";

const BASE: &str = r#"apiVersion: pouch/v1alpha1
kind: Fleet
metadata: {name: acme}
sources:
  - name: platform
    directory: {path: manifests}
systemNamespace: kcm-system
regions:
  eu-west:
    recipients: [<A>]
    namespaces: {allowed: ["*"]}
  us-east:
    recipients:
      - <B>
    namespaces:
      allowed: [team-a]
escrowRecipients: [<C>]
output: {path: bundles}
reuseKey: {env: POUCH_REUSE_KEY}
"#;

fn filled(text: &str) -> String {
    text.replace("<A>", A).replace("<B>", B).replace("<C>", C).replace("<SECRET>", SECRET)
}

/// The base with one piece replaced; an empty piece stands for the end of the file.
fn edited(from: &str, to: &str) -> String {
    assert!(BASE.contains(from), "{from:?} is not in the base");
    filled(&if from.is_empty() { format!("{BASE}{to}\n") } else { BASE.replacen(from, to, 1) })
}

fn texts() -> BTreeMap<String, String> {
    [
        ("regions/good.txt", "# the eu region\n\n<A>\n"),
        ("regions/bad.txt", "<A>\nage1nonsense\n"),
        ("regions/twice.txt", "<A>\n<A>\n"),
        ("regions/secret.txt", "<A>\n<SECRET>\n"),
        ("regions/comment.txt", "# <SECRET>\n<A>\n"),
        ("regions/empty.txt", "# nobody yet\n"),
        ("./bundles/x.txt", "<A>\n"),
    ]
    .map(|(name, text)| (name.to_string(), filled(text)))
    .into()
}

fn load(text: &str) -> Result<Fleet, String> {
    let (written, mut errors) = match shape::read(text) {
        Err(Unfit::Flawed(flaw)) => return Err(flaw.to_string()),
        Err(Unfit::Misshapen(written, errors)) => (written, errors),
        Ok(typed) => match resolve(&typed, &texts()) {
            Ok(fleet) => return Ok(fleet),
            Err(errors) => (typed.written, errors),
        },
    };
    errors.sort_by_key(|error| written.position(&error.field, error.spot));
    let lines = errors.into_iter().map(|error| {
        assert!(!error.help.is_empty() && error.help.ends_with(['.', '?']), "{error}: {:?}", error.help);
        assert!(!error.message.ends_with('.') && !error.message.is_empty(), "{error}");
        for text in [error.to_string(), error.help.clone()] {
            assert!(!text.contains(SECRET) && !text.contains("hunter2"), "{text}");
        }
        let at = written.position(&error.field, error.spot);
        let at = at.map_or(String::from("?"), |at| format!("{}:{}", at.line, at.column));
        format!("{at} {error}")
    });
    Err(lines.collect::<Vec<_>>().join("\n"))
}

#[track_caller]
fn fleet(from: &str, to: &str) -> Fleet {
    load(&edited(from, to)).unwrap_or_else(|errors| panic!("{errors}"))
}

const SOURCE: &str = "    directory: {path: manifests}";
const EU: &str = "    recipients: [<A>]";
const ALLOWED: &str = "    namespaces: {allowed: [\"*\"]}";
const OUTPUT: &str = "output: {path: bundles}";
const KEY: &str = "reuseKey: {env: POUCH_REUSE_KEY}";

const WRONG: &[(&str, &str, &str)] = &[
    // The header.
    ("pouch/v1alpha1", "pouch/v9", "1:13 apiVersion: \"pouch/v9\" is not a valid value for this field"),
    ("kind: Fleet", "kind: Flet", "2:7 kind: \"Flet\" is not a valid value for this field"),
    ("{name: acme}", "{name: Acme_1}", "3:18 metadata.name: \"Acme_1\" cannot name a fleet"),
    ("{name: acme}", "{}", "3:1 metadata.name: the field is missing"),
    ("{name: acme}", "{name: 12}", "3:18 metadata.name: the value is a number; it must be text"),
    ("{name: acme}", "acme", "3:11 metadata: the value is text; it must be a map"),
    // Fields: unknown, of another type, from a later release.
    ("systemNamespace:", "systemNamespac:", "7:1 systemNamespac: unknown field \"systemNamespac\""),
    ("", "zebra: 1", "20:1 zebra: unknown field \"zebra\""),
    (
        SOURCE,
        "    cluster: {context: \"\", kubeconfig: \"\"}",
        "6:24 sources[0].cluster.context: \"\" cannot name a context\n6:40 sources[0].cluster.kubeconfig: the path is empty or has a control character in it",
    ),
    (
        SOURCE,
        "    cluster: {}\n    defaultNamespace: team-a",
        "7:5 sources[0].defaultNamespace: a cluster's objects name their namespaces themselves",
    ),
    // Grants.
    ("", "grants: [{from: {namespace: a}}]", "20:10 grants[0].regions: the field is missing"),
    (
        "",
        "grants: [{from: {namespace: a}, regions: [eu-west]}]",
        "20:10 grants[0]: a grant to a whole namespace names one object, and `to` is missing",
    ),
    (
        "",
        "grants: [{from: {}, regions: []}, {from: {namespace: a, syncRule: b}, regions: [\"*\"]}, {from: {cluster: b/c, syncRule: b}, regions: [\"*\"]}, {from: {syncRule: a}, to: {namespace: b, kind: Secret, name: c, make: true}, regions: [\"*\"]}]",
        "20:11 grants[0].from: a grant is for exactly one namespace, Credential, Cluster, ClusterResourceSet, ResourceSyncRule or ManagedResource\n20:30 grants[0].regions: the grant holds in no region\n20:36 grants[1].from: a grant is for exactly one namespace, Credential, Cluster, ClusterResourceSet, ResourceSyncRule or ManagedResource\n20:89 grants[2].from: a grant is for exactly one namespace, Credential, Cluster, ClusterResourceSet, ResourceSyncRule or ManagedResource\n20:211 grants[3].to.make: only a template makes objects",
    ),
    (
        "",
        "grants: [{from: {credential: a}, regions: [\"*\"]}, {from: {credential: A/b_c}, regions: [\"*\"]}]",
        "20:30 grants[0].from.credential: \"a\" names no Credential\n20:71 grants[1].from.credential: \"A\" cannot name a namespace\n20:71 grants[1].from.credential: \"b_c\" cannot name an object",
    ),
    (
        "",
        "grants: [{from: {credential: a/b}, regions: [eu-wets]}, {from: {credential: a/b}, regions: [eu-west, \"*\"]}]",
        "20:46 grants[0].regions[0]: there is no region \"eu-wets\"\n20:102 grants[1].regions[1]: `*` is listed beside other regions",
    ),
    (
        "",
        "grants: [{from: {credential: a/b}, regions: [eu-west, {placement: {namespace: F, decisionKey: 'a b'}}, {placement: {namespace: f, name: A}}, {placement: {namespace: f}}, {placement: {namespace: f, name: a, decisionKey: ''}}, \"*\"]}]",
        "20:79 grants[0].regions[1].placement.namespace: \"F\" cannot name a namespace\n20:95 grants[0].regions[1].placement.decisionKey: \"a b\" cannot be a decision key\n20:137 grants[0].regions[2].placement.name: \"A\" cannot name an object\n20:143 grants[0].regions[3].placement: it is not said which PlacementDecisions of the namespace are meant\n20:172 grants[0].regions[4].placement: it is not said which PlacementDecisions of the namespace are meant\n20:220 grants[0].regions[4].placement.decisionKey: \"\" cannot be a decision key\n20:226 grants[0].regions[5]: `*` is listed beside other regions",
    ),
    (
        "",
        "grants: [{from: {credential: a/b}, regions: [{placemnt: {namespace: f, name: a}}, 7, {placement: {namespace: f, decisionkey: a}}]}]",
        "20:46 grants[0].regions[0].placement: the field is missing\n20:47 grants[0].regions[0].placemnt: unknown field \"placemnt\"\n20:83 grants[0].regions[1]: the value is a number; it must be text or a map\n20:113 grants[0].regions[2].placement.decisionkey: unknown field \"decisionkey\"",
    ),
    (
        "",
        "grants: [{from: {namespace: a}, to: {kind: Secret, name: s}, regions: [\"*\"]}, {from: {namespace: a}, to: {namespace: b, kind: Pod, name: s}, regions: [\"*\"]}, {from: {namespace: a}, to: {kind: AWSClusterStaticIdentity, name: s}, regions: [\"*\"]}]",
        "20:33 grants[0].to: the namespace is missing, and objects of kind Secret have one\n20:127 grants[1].to.kind: pouch publishes no objects of kind \"Pod\"\n20:193 grants[2].to.kind: pouch publishes no objects of kind \"AWSClusterStaticIdentity\"",
    ),
    (
        "",
        "grants: [{from: {namespace: a}, to: {group: infrastructure.cluster.x-k8s.io, kind: AzureClusterIdentity, name: A_b}, regions: [\"*\"]}, {from: {namespace: a}, to: {namespace: b, group: infrastructure.cluster.x-k8s.io, kind: AWSClusterStaticIdentity, name: s}, regions: [\"*\"]}]",
        "20:33 grants[0].to: the namespace is missing, and objects of kind AzureClusterIdentity have one\n20:112 grants[0].to.name: \"A_b\" cannot name an object\n20:174 grants[1].to.namespace: objects of kind AWSClusterStaticIdentity have no namespace",
    ),
    ("recipients: [<A>]", "recipient: [<A>]", "10:5 regions.eu-west.recipient: unknown field \"recipient\""),
    (EU, "    recipients: <A>", "10:17 regions.eu-west.recipients: the value is text; it must be a list"),
    (EU, "    recipients:", "9:3 regions.eu-west: nobody could read the region: it has no recipients"),
    (
        "    namespaces: {allowed: [\"*\"]}\n  us-east:\n",
        "    namespaces: {allowed: [\"*\"]}\n    management: true\n  us-east:\n    management: true\n",
        "14:17 regions.us-east.management: the region \"eu-west\" is the management cluster already",
    ),
    (
        "    directory: {path: manifests}\nsystemNamespace: kcm-system\nregions:\n  eu-west:\n",
        "    cluster: {context: hub}\nsystemNamespace: kcm-system\nregions:\n  eu-west:\n    management: true\n    cluster: {context: hub}\n    inventory: {region: eu-west}\n",
        "11:5 regions.eu-west.cluster: the management cluster is read as a source, so it is not looked into once more\n12:25 regions.eu-west.inventory.region: no Region object of k0rdent describes the management cluster",
    ),
    (
        "",
        "emitControllerIdentity: yes please",
        "20:25 emitControllerIdentity: the value is text; it must be true or false",
    ),
    ("", "limits: {attempts: many}", "20:20 limits.attempts: the value is text; it must be a whole number"),
    ("", "resolution: as_written", "20:13 resolution: \"as_written\" is not a valid value for this field"),
    ("", "companions: folow", "20:13 companions: \"folow\" is not a valid value for this field"),
    // Sources.
    (SOURCE, "    stdin: {}\n    directory: {path: x}", "5:5 sources[0]: the source names several places"),
    ("    directory: {path: manifests}\n", "", "5:5 sources[0]: the source does not say what to read"),
    (
        SOURCE,
        "    directory: {path: \"\"}",
        "6:23 sources[0].directory.path: the path is empty or has a control character in it",
    ),
    (SOURCE, "    directory: {path: m, include: []}", "6:35 sources[0].directory.include: no file would be read"),
    (SOURCE, "    directory: {path: m, include: [\"[\"]}", "6:36 sources[0].directory.include[0]: \"[\" is not a glob"),
    (
        SOURCE,
        "    directory: {path: m}\n  - name: platform\n    stdin: {}",
        "5:5 sources[0].provides: with more than one source, each must say what it may provide\n7:5 sources[1].provides: with more than one source, each must say what it may provide\n7:11 sources[1].name: sources[0] has the same name",
    ),
    (
        SOURCE,
        "    stdin: {}\n    provides: {namespaces: [a]}\n  - name: two\n    stdin: {}\n    provides: {namespaces: [b]}",
        "9:5 sources[1].stdin: sources[0] is standard input already, and there is only one",
    ),
    (
        SOURCE,
        "    stdin: {}\n    provides: {namespaces: [Team_A]}",
        "7:29 sources[0].provides.namespaces[0]: \"Team_A\" cannot name a namespace",
    ),
    (
        SOURCE,
        "    stdin: {}\n    provides: {clusterScoped: true}",
        "7:5 sources[0].provides.namespaces: the field is missing",
    ),
    (
        SOURCE,
        "    stdin: {}\n    provides: {namespaces: [team-*]}\n    defaultNamespace: default",
        "8:23 sources[0].defaultNamespace: the source does not provide \"default\", so all of that would be ignored",
    ),
    (
        SOURCE,
        "    git: {repository: \"https://me:hunter2@example.com/x.git\"}",
        "6:23 sources[0].git.repository: the URL has a password or token in it",
    ),
    (
        SOURCE,
        "    git: {repository: --upload-pack=x, ref: \"a b\", path: ../x}",
        "6:23 sources[0].git.repository: the repository starts with a dash, which git would take for an option\n6:45 sources[0].git.ref: \"a b\" cannot be used: it has a character that git forbids in ref names\n6:58 sources[0].git.path: the path leads out of the repository",
    ),
    (
        SOURCE,
        "    git: {repository: \"ext::sh -c x\"}",
        "6:23 sources[0].git.repository: the repository names a remote helper, and those may run any command",
    ),
    // Words at the top.
    ("kcm-system", "KCM", "7:18 systemNamespace: \"KCM\" cannot name a namespace"),
    (
        "",
        "providerInterfaces: {builtin: v1.7}",
        "20:31 providerInterfaces.builtin: the ProviderInterfaces of k0rdent v1.7 are not known; choose a neighbouring release: v1.6, v1.8",
    ),
    (
        "",
        "providerInterfaces: {builtin: 1.11}",
        "20:31 providerInterfaces.builtin: the value is a number; it must be text",
    ),
    (
        "",
        "kinds: [{group: \"\", kind: Secret, scope: Namespaced}]",
        "20:17 kinds[0].group: kinds of Kubernetes itself are not published by configuration",
    ),
    (
        "",
        "kinds: [{group: rbac.authorization.k8s.io, kind: ClusterRole, scope: Cluster}]",
        "20:17 kinds[0].group: kinds of Kubernetes itself are not published by configuration",
    ),
    (
        "",
        "kinds: [{group: k0rdent.mirantis.com, kind: Credential, scope: Namespaced}]",
        "20:17 kinds[0].group: kinds of k0rdent itself are not published",
    ),
    (
        "",
        "kinds: [{group: a.b, kind: thing, scope: Global}]",
        "20:42 kinds[0].scope: \"Global\" is not a valid value for this field",
    ),
    (
        "",
        "kinds: [{group: a_b.c, kind: thing, scope: Cluster, allowedNamespaces: gcp}]",
        "20:72 kinds[0].allowedNamespaces: \"gcp\" is not a valid value for this field",
    ),
    (
        "",
        "kinds: [{group: a_b.c, kind: thing, scope: Cluster}]",
        "20:17 kinds[0].group: \"a_b.c\" cannot be an API group\n20:30 kinds[0].kind: \"thing\" cannot be a kind",
    ),
    (
        "",
        "kinds:\n  - {group: a.b, kind: T, scope: Cluster}\n  - {group: a.b, kind: T, scope: Cluster}",
        "22:5 kinds[1]: the kind is here twice",
    ),
    (
        "",
        "keepMetadata: {labels: [\"a[\"], annotations: [\"*\"]}",
        "20:25 keepMetadata.labels[0]: \"a[\" is not a glob\n20:46 keepMetadata.annotations[0]: the glob matches kubectl.kubernetes.io/last-applied-configuration, which holds a copy of the object in clear",
    ),
    (
        "",
        "keepMetadata: {annotations: [\"*/last-applied*\"]}",
        "20:30 keepMetadata.annotations[0]: the glob matches kubectl.kubernetes.io/last-applied-configuration, which holds a copy of the object in clear",
    ),
    // Regions.
    ("  eu-west:", "  ../x:", "9:3 regions[\"../x\"]: \"../x\" cannot name a region"),
    (
        "  eu-west:",
        "  eu.west:",
        "9:3 regions[\"eu.west\"]: the region's name cannot name its folder, so it needs a `directory`",
    ),
    (
        "  eu-west:",
        "  a23456789-123456789-123456789-123456789-1:",
        "9:3 regions.a23456789-123456789-123456789-123456789-1: the region's name cannot name its folder, so it needs a `directory`",
    ),
    (
        ALLOWED,
        "    namespaces: {allowed: [\"*\"]}\n    directory: ../x",
        "12:16 regions.eu-west.directory: \"../x\" cannot name a region's folder",
    ),
    (
        ALLOWED,
        "    namespaces: {allowed: [\"*\"]}\n    directory: us-east",
        "13:3 regions.us-east.directory: the region \"eu-west\" has the same folder \"us-east\"",
    ),
    (ALLOWED, "    namespaces: {}", "11:5 regions.eu-west.namespaces.allowed: the field is missing"),
    (
        ALLOWED,
        "    namespaces: {allowed: [\"*\"], labels: {team-a: {\"a b\": prod, env: \"p q\"}, Team: {}}}",
        "11:52 regions.eu-west.namespaces.labels.team-a[\"a b\"]: \"a b\" cannot be the key of a label\n11:70 regions.eu-west.namespaces.labels.team-a.env: \"p q\" cannot be the value of a label\n11:78 regions.eu-west.namespaces.labels.Team: \"Team\" cannot name a namespace",
    ),
    (
        ALLOWED,
        "    namespaces: {allowed: [\"*\"], labels: {team-a: {env: true}}}",
        "11:57 regions.eu-west.namespaces.labels.team-a.env: the value is a truth value; it must be text",
    ),
    (
        ALLOWED,
        "    namespaces: {allowed: [\"*\"]}\n    state: retird",
        "12:12 regions.eu-west.state: \"retird\" is not a valid value for this field",
    ),
    ("    recipients: [<A>]\n", "", "9:3 regions.eu-west: nobody could read the region: it has no recipients"),
    (
        EU,
        "    recipients: []",
        "10:17 regions.eu-west.recipients: the list is empty, so no key of the region's own could open its bundle",
    ),
    (
        EU,
        "    recipients: [<C>]",
        "10:17 regions.eu-west.recipients: all recipients of the region are escrow recipients; it has none of its own",
    ),
    (EU, "    recipients: [<A>, <A>]", "10:82 regions.eu-west.recipients[1]: the recipient is here twice"),
    (
        EU,
        "    recipients: [<A>, <B>]",
        "14:7 regions.us-east.recipients: a recipient of this region also stands in the region \"eu-west\": age18c37s9sq89v55vuffajkfcd3xj9m67sq3r2zcjktw0h2a4vuqqwsdn8mfl",
    ),
    (
        EU,
        "    recipients: [age1nonsense]",
        "10:18 regions.eu-west.recipients[0]: the recipient has 12 characters instead of 62",
    ),
    (
        EU,
        "    recipients: [<SECRET>]",
        "10:18 regions.eu-west.recipients[0]: this is a secret key; a recipient belongs here",
    ),
    (
        EU,
        "    recipients: [<A>]\n    recipientsFile: regions/good.txt",
        "9:3 regions.eu-west: both `recipients` and `recipientsFile` say who can read the region",
    ),
    (
        EU,
        "    recipientsFile: regions/bad.txt",
        "10:21 regions.eu-west.recipientsFile: line 2 of \"regions/bad.txt\": the recipient has 12 characters instead of 62",
    ),
    (
        EU,
        "    recipientsFile: regions/twice.txt",
        "10:21 regions.eu-west.recipientsFile: line 2 of \"regions/twice.txt\": the recipient is here twice",
    ),
    (
        EU,
        "    recipientsFile: regions/secret.txt",
        "10:21 regions.eu-west.recipientsFile: line 2 of \"regions/secret.txt\": this is a secret key; a recipient belongs here",
    ),
    (
        EU,
        "    recipientsFile: regions/comment.txt",
        "10:21 regions.eu-west.recipientsFile: a comment in the file holds a secret key",
    ),
    (
        EU,
        "    recipientsFile: regions/empty.txt",
        "10:21 regions.eu-west.recipientsFile: the list is empty, so no key of the region's own could open its bundle",
    ),
    (
        EU,
        "    recipientsFile: ./bundles/x.txt",
        "10:21 regions.eu-west.recipientsFile: the file is under `output.path`, where bundles are written",
    ),
    (EU, "    recipientsFile: regions/absent.txt", "10:21 regions.eu-west.recipientsFile: the file was not read"),
    (
        "escrowRecipients: [<C>]",
        "escrowRecipients: [<C>, <C>, <SECRET>]",
        "17:84 escrowRecipients[1]: the recipient is here twice\n17:148 escrowRecipients[2]: this is a secret key; a recipient belongs here",
    ),
    // Delivery.
    (
        ALLOWED,
        "    namespaces: {allowed: [\"*\"]}\n    delivery: fluxx",
        "12:15 regions.eu-west.delivery: \"fluxx\" is not a valid value for this field",
    ),
    (
        ALLOWED,
        "    namespaces: {allowed: [\"*\"]}\n    delivery: 1",
        "12:15 regions.eu-west.delivery: the value is a number; it must be text or a map",
    ),
    (
        ALLOWED,
        "    namespaces: {allowed: [\"*\"]}\n    delivery: {}",
        "12:5 regions.eu-west.delivery: a region has exactly one way of delivery",
    ),
    (
        ALLOWED,
        "    namespaces: {allowed: [\"*\"]}\n    delivery: {flux: {sourceRef: {name: a}, interval: 10, namespace: kcm-system}}",
        "12:55 regions.eu-west.delivery.flux.interval: the value is a number; it must be text",
    ),
    (
        ALLOWED,
        "    namespaces: {allowed: [\"*\"]}\n    delivery: {flux: {sourceRef: {name: a}, interval: 10d, namespace: kcm-system}}",
        "12:55 regions.eu-west.delivery.flux.interval: \"10d\" is not a duration\n12:71 regions.eu-west.delivery.flux.namespace: delivery objects would be in the system namespace, and then nothing could be published there",
    ),
    (
        ALLOWED,
        "    namespaces: {allowed: [\"*\"]}\n    delivery: {flux: {sourceRef: {kind: HelmRepository, name: a}}}",
        "12:41 regions.eu-west.delivery.flux.sourceRef.kind: \"HelmRepository\" is not a valid value for this field",
    ),
    (
        ALLOWED,
        "    namespaces: {allowed: [\"*\"]}\n    delivery: {flux: {sourceRef: {name: A b}, decryption: {secretRef: \"\"}}}",
        "12:41 regions.eu-west.delivery.flux.sourceRef.name: \"A b\" cannot name an object\n12:71 regions.eu-west.delivery.flux.decryption.secretRef: \"\" cannot name an object",
    ),
    (
        "",
        "regionDefaults: {delivery: {flux: {interval: 0s}}}",
        "20:46 regionDefaults.delivery.flux.interval: \"0s\" is not a duration",
    ),
    (
        ALLOWED,
        "    namespaces: {allowed: [\"*\"]}\n    delivery: argocd",
        "12:5 regions.eu-west.delivery.argocd.repoURL: the field is missing, and a region is delivered by Argo CD",
    ),
    (
        "",
        "regionDefaults: {delivery: {argocd: {repoURL: \"https://me:hunter2@example.com/x.git\"}}}",
        "20:47 regionDefaults.delivery.argocd.repoURL: the URL has a password or token in it",
    ),
    (
        "",
        "regionDefaults: {delivery: {argocd: {repoURL: a, mode: ksops, plugin: p, destination: {name: \"{cluster}\"}, targetRevision: a..b}}}",
        "20:71 regionDefaults.delivery.argocd.plugin: a plugin is named, but the mode is `ksops`, which uses none\n20:74 regionDefaults.delivery.argocd.destination: the regions \"eu-west\" and \"us-east\" go to the same cluster: Argo CD's {cluster}\n20:94 regionDefaults.delivery.argocd.destination.name: \"{cluster}\" cannot name a cluster\n20:124 regionDefaults.delivery.argocd.targetRevision: \"a..b\" cannot be used: git reads it as a revision, not as a name",
    ),
    // Output.
    (OUTPUT, "output: {path: \"\"}", "18:16 output.path: the path is empty or names no folder of its own"),
    (OUTPUT, "output: {path: .}", "18:16 output.path: the path is empty or names no folder of its own"),
    (OUTPUT, "output: {path: ../..}", "18:16 output.path: the path is empty or names no folder of its own"),
    (OUTPUT, "output: {path: /srv/bundles}", "18:16 output.path: the path is absolute"),
    (OUTPUT, "output: {path: a/.git/b}", "18:16 output.path: the path goes through .git"),
    (
        OUTPUT,
        "output: {path: ../bundles, git: {repository: ../fleet}}",
        "18:16 output.path: the path leads out of the repository",
    ),
    (
        OUTPUT,
        "output: {git: {repository: \"https://me:hunter2@example.com/x.git\"}}",
        "18:28 output.git.repository: the URL has a password or token in it",
    ),
    (
        OUTPUT,
        "output: {git: {repository: -x, branch: -x, author: nobody, committer: {name: a, email: \"\"}, message: \" \"}}",
        "18:28 output.git.repository: the repository starts with a dash, which git would take for an option\n18:40 output.git.branch: \"-x\" cannot be used: it starts with a dash, which git would take for an option\n18:52 output.git.author: this is no name and mail address\n18:60 output.git.committer: this is no name and mail address\n18:102 output.git.message: the message is empty or holds a NUL",
    ),
    (OUTPUT, "output: {git: {repository: a, branch: HEAD}}", "18:39 output.git.branch: HEAD is not a branch"),
    (
        OUTPUT,
        "output: {git: {repository: a, branch: main, author: \"a\\u2028b <a@b>\"}}",
        "18:53 output.git.author: this is no name and mail address",
    ),
    // The reuse key.
    (KEY, "reuseKey: {}", "19:1 reuseKey: nothing says where the key is"),
    (KEY, "reuseKey: {env: A, file: b}", "19:1 reuseKey: both `env` and `file` say where the key is"),
    (KEY, "reuseKey: {env: POUCH-KEY}", "19:17 reuseKey.env: \"POUCH-KEY\" cannot name an environment variable"),
    (
        KEY,
        "reuseKey: {env: POUCH-REUSE-KEY-1QQQQ}",
        "19:17 reuseKey.env: this is a key; write where the key is instead",
    ),
    (
        KEY,
        "reuseKey: {file: bundles/key}",
        "19:18 reuseKey.file: the file is under `output.path`, where bundles are written",
    ),
    (
        KEY,
        "reuseKey: {env: A, previous: [{env: A}, {}]}",
        "19:31 reuseKey.previous[0]: the key is here twice\n19:41 reuseKey.previous[1]: nothing says where the key is",
    ),
    // Limits and findings.
    ("", "limits: {retainReplaced: soon}", "20:26 limits.retainReplaced: \"soon\" is not a duration"),
    ("", "limits: {deletions: {window: 1w}}", "20:30 limits.deletions.window: \"1w\" is not a duration"),
    (
        "",
        "limits: {deletions: {percent: 101}, attempts: 0, objectsPerRegion: -1}",
        "20:31 limits.deletions.percent: 101 is out of range\n20:47 limits.attempts: 0 is out of range\n20:68 limits.objectsPerRegion: -1 is out of range",
    ),
    (
        "",
        "limits: {accept: [{region: eu-wst, deletions: 0123456789abcdef}]}",
        "20:28 limits.accept[0].region: there is no region \"eu-wst\"",
    ),
    (
        "",
        "limits: {accept: [{region: eu-west, deletions: 0123456789ABCDEF}]}",
        "20:48 limits.accept[0].deletions: \"0123456789ABCDEF\" is not a digest",
    ),
    (
        "",
        "limits: {accept: [{region: eu-west, deletions: 1234567890123456}]}",
        "20:48 limits.accept[0].deletions: the value is a number; it must be text",
    ),
    (
        "",
        "limits: {accept: [{region: eu-west, deletions: 0123456789abcdef, reseal: 0123456789abcdef}]}",
        "20:19 limits.accept[0]: an acceptance lets exactly one thing through",
    ),
    (
        "",
        "limits: {accept: [{region: eu-west}]}",
        "20:19 limits.accept[0]: an acceptance lets exactly one thing through",
    ),
    (
        "",
        "findings: {version-mismatsh: off}",
        "20:12 findings.version-mismatsh: there is no finding \"version-mismatsh\"",
    ),
    (
        "",
        "findings: {version-mismatch: fatal}",
        "20:30 findings.version-mismatch: \"fatal\" is not a valid value for this field",
    ),
    (
        "",
        "findings: {plaintext-secret: off}",
        "20:30 findings.plaintext-secret: findings of the class fault cannot be lowered",
    ),
    (
        "",
        "findings: {missing-reference: warning, not-admitted: off, deletions-held: info}",
        "20:31 findings.missing-reference: findings of the class broken cannot be lowered\n20:54 findings.not-admitted: findings of the class refused cannot be lowered\n20:75 findings.deletions-held: findings of the class held cannot be lowered",
    ),
    (
        "",
        "findings: {version-mismatch: on}",
        "20:30 findings.version-mismatch: the value is a truth value; it must be text",
    ),
    (
        "",
        "findings: {AGE-SECRET-KEY-1QQQ: info}",
        "20:12 findings[a value that is not shown]: there is no finding a value that is not shown",
    ),
];

#[test]
fn wrong_configurations_are_refused_where_they_are_wrong() {
    let mut failed = 0;
    for (from, to, expect) in WRONG {
        let found = load(&edited(from, to)).err().unwrap_or_else(|| String::from("nothing"));
        if found != *expect {
            println!("{to:?}\n  expected {expect:?}\n  found    {found:?}");
            failed += 1;
        }
    }
    assert_eq!(failed, 0);
    assert!(WRONG.len() >= 60, "{}", WRONG.len());
}

#[test]
fn what_is_no_yaml_is_refused_with_its_place() {
    for (from, to, place) in [
        ("", "- x", "line 20, column "),
        ("", "kind: Fleet", "line 20, column 1:"),
        ("{name: acme}", "{name: acme", "line 4, column "),
        ("", "---\nkind: Fleet", "line 2"),
    ] {
        let found = load(&edited(from, to)).err().unwrap_or_default();
        assert!(found.starts_with(place), "{to:?}: {found}");
    }
    assert!(load("").is_err() && load("# nothing\n").is_err() && load("[]").is_err());
}

#[test]
fn defaults_are_filled_in() {
    let fleet = fleet("", "");
    assert_eq!(fleet.builtin.map(|release| release.name()).as_deref(), Some("v1.11"));
    assert!(matches!(fleet.resolution, Resolution::AsWritten) && matches!(fleet.companions, Companions::Follow));
    let source = fleet.sources.first().unwrap();
    assert!(source.provides.cluster_scoped && source.provides.namespaces.matches("any") && !source.overrides);
    let SourcePlace::Directory { content: Content::Files(files), .. } = &source.place else { panic!("{source:?}") };
    assert!(files.include.matches("a.yaml") && files.include.matches("a/b.json") && !files.include.matches("a.txt"));
    let region = &fleet.regions["eu-west"];
    assert_eq!((region.directory.as_str(), region.state), ("eu-west", RegionState::Active));
    assert_eq!(region.recipients.iter().map(|recipient| recipient.to_string()).collect::<Vec<_>>(), vec![C, A]);
    let limits = &fleet.limits;
    assert_eq!(
        (limits.deletions, limits.reseal.percent.0, limits.attempts),
        (crate::config::Deletions::DEFAULT, 20, 5)
    );
    assert_eq!((limits.objects_per_region, limits.objects_per_namespace), (None, 500));
    assert_eq!((limits.credentials_per_namespace, limits.sealed_bytes_per_namespace.0), (500, 16 << 20));
    assert_eq!((fleet.output.path.as_str(), fleet.output.git.is_none()), ("bundles", true));
}

#[test]
fn acceptable_turns_of_phrase_are_accepted() {
    for (from, to) in [
        (OUTPUT, "output: {path: ./a//b/../c/}"),
        (OUTPUT, "output: {path: ../bundles}"),
        (OUTPUT, "output: {git: {repository: git@example.com:a.git, author: {name: A, email: a@example.com}}}"),
        (EU, "    recipientsFile: regions/good.txt"),
        (EU, "    recipients: [<A>, <C>]"),
        (EU, "    recipients: &eu [<A>]"),
        ("", "providerInterfaces: {builtin: none}"),
        (
            "",
            "kinds: [{group: infrastructure.cluster.x-k8s.io, kind: AcmeIdentity, scope: Cluster, allowedNamespaces: aws}]",
        ),
        ("", "keepMetadata: {labels: [\"*\"], annotations: [\"example.com/*\"]}"),
        ("", "findings: {version-mismatch: off, missing-companion: \"off\", missing-reference: error}"),
        ("", "limits: {accept: [{region: eu-west, reseal: 0123456789abcdef}]}"),
        (KEY, "reuseKey: {file: ../keys/reuse.key, previous: [{env: OLD}]}"),
    ] {
        assert!(load(&edited(from, to)).is_ok(), "{to}: {:?}", load(&edited(from, to)).err());
    }
    assert_eq!(fleet(OUTPUT, "output: {path: ./a//b/../c/}").output.path, "a/c");
}

#[test]
fn files_are_named_before_they_are_read() {
    let typed = shape::read(&edited(EU, "    recipientsFile: b.txt")).unwrap();
    assert_eq!(files_needed(&typed.file), vec![String::from("b.txt")]);
}

#[test]
fn what_is_shown_is_a_configuration_that_means_the_same() {
    const RICH: &str = r#"
providerInterfaces: {builtin: none}
resolution: kcm
companions: none
emitControllerIdentity: true
kinds: [{group: example.com, kind: AcmeIdentity, scope: Namespaced, allowedNamespaces: openstack}]
keepMetadata: {labels: ["a.b/*"], annotations: ["c.d/e"]}
regionDefaults:
  delivery:
    flux: {sourceRef: {name: fleet}, retryInterval: 2m, healthChecks: [{apiVersion: apps/v1, kind: Deployment, name: capa, namespace: a}]}
    argocd: {repoURL: "https://git.example.com/a.git", plugin: sops, kind: ApplicationSet, targetRevision: v1}
limits: {accept: [{region: eu-west, recipients: 0123456789abcdef}, {region: eu-west, namespace: team-a, deletions: 0123456789abcdef}], deletions: {claimants: 0, keep: 0, window: 90m}}
findings: {version-mismatch: off, missing-companion: warning}
grants:
  - {from: {credential: team-a/aws}, regions: [eu-west, us-east]}
  - {from: {namespace: team-a}, to: {namespace: shared, kind: Secret, name: dns}, regions: ["*"]}
  - {from: {credential: team-b/x}, to: {group: infrastructure.cluster.x-k8s.io, kind: AWSClusterRoleIdentity, name: r}, regions: [eu-west]}
  - {from: {namespace: team-b}, to: {namespace: a, group: example.com, kind: AcmeIdentity, name: r}, regions: [eu-west]}
  - {from: {credential: team-c/x}, regions: [{placement: {namespace: fleet, name: app-0}}, eu-west, {placement: {namespace: fleet, decisionKey: "7"}}]}
"#;
    let replaced = [
        (
            SOURCE,
            "    git: {repository: \"https://git.example.com/a.git\", ref: {tag: v1}, path: x}\n    provides: {namespaces: [a], clusterScoped: true}\n    overrides: true\n    decryption: {ageIdentityFile: keys/a.txt}\n    defaultNamespace: a\n  - {name: in, stdin: {}, provides: {namespaces: [], objects: [{kind: Secret, namespace: kcm-system, name: \"in-*\"}]}, decryption: {environment: true}}",
        ),
        (
            ALLOWED,
            "    namespaces: {allowed: [\"*\"], labels: {team-a: {env: prod, \"x/y\": \"1\"}}}\n    delivery: argocd\n    state: paused\n    directory: eu\n    k0rdentPushDisabled: true",
        ),
        ("      allowed: [team-a]", "      allowed: [team-a]\n    delivery: {flux: {interval: 1h}}"),
        (
            OUTPUT,
            "output: {path: b, oci: {repository: \"oci://r.example.com/{region}\", tag: t, insecure: true}, git: {repository: x, branch: b, message: m, committer: C <c@d>, NO}}",
        ),
        (KEY, "reuseKey: {file: k, previous: [{env: OLD}]}"),
    ];
    let mut text = format!("{BASE}{RICH}");
    for (from, to) in replaced {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, &to.replace("NO", "cache: false, recordSourceState: false"), 1);
    }
    let first = load(&filled(&text)).unwrap_or_else(|errors| panic!("{errors}"));
    let shown = emit(&show::tree(&first));
    let second = load(&shown).unwrap_or_else(|errors| panic!("{errors}\n{}", *shown));
    assert_eq!(*shown, *emit(&show::tree(&second)));
    assert_eq!(format!("{first:?}"), format!("{second:?}"));
}
