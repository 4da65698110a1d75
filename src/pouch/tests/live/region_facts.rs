//! What was seen in a region decides, and decides alike from a file; nothing of an earlier look is kept; and the management
//! cluster is compared by the sources that it is.

use serde_json::Value;

use crate::regions::{cluster_of, fleet, gives, profile, providers, region, script};
use crate::rig::apiserver::ApiServer;
use crate::rig::token;
use crate::support::fleet::{EU, Fleet, Ran, selected};
use crate::support::origin::Origin;

const CLUSTER: &str = "cluster: {kubeconfig: kubeconfig, context: admin}, ";

/// The label by which the identity of [`selected`] admits a namespace.
fn labelled(server: &ApiServer, value: &str) {
    server
        .apply(&format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: eu-team, labels: {{env: {value}}}}}}}"));
}

#[test]
fn the_same_facts_live_or_from_a_file_give_the_same_bytes() {
    const SECRET: &str = "regions/eu/core/secrets/kcm-system/aws.sops.yaml";
    let Some(server) = region() else { return };
    labelled(&server, "prod");
    let fleet = fleet("kubeconfig: kubeconfig, context: admin");
    server.kubeconfig(&fleet.path("kubeconfig"), "admin");
    fleet.write("manifests/aws.yaml", selected("eu-team"));
    fleet.render(&[]).ends(0);
    let live = fleet.tree("bundles");
    assert!(live.contains_key(SECRET), "{:?}", live.keys());
    let facts = fleet.run(&["facts"]).ends(0).stdout;
    // Without facts nobody knows the label.
    fleet.configure(CLUSTER, "");
    fleet.remove("kubeconfig");
    assert!(fleet.run(&["check"]).ends(7).stdout.contains("error[not-admitted]"));
    // From the file all is as it was, and printing it gives it again.
    fleet.write("manifests/facts.yaml", &facts);
    fleet.render(&[]).ends(0).outcome("eu", "unchanged");
    assert!(fleet.tree("bundles") == live);
    assert_eq!(fleet.run(&["facts"]).ends(0).stdout, facts);
    let anew = fleet.render(&["--output-dir", "anew"]).ends(0);
    assert!(fleet.tree("anew").keys().eq(live.keys()), "{anew:?}");
    // It is the label that decides, in both ways alike.
    let other = facts.replace("env: prod", "env: test");
    assert_ne!(other, facts);
    fleet.write("manifests/facts.yaml", &other);
    let from_file = fleet.run(&["check"]).ends(7).stdout;
    fleet.remove("manifests/facts.yaml");
    labelled(&server, "test");
    server.kubeconfig(&fleet.path("kubeconfig"), "admin");
    fleet.configure("  eu: {", &format!("  eu: {{{CLUSTER}"));
    let live = fleet.run(&["check"]).ends(7).stdout;
    assert!(live.contains("error[not-admitted]"), "{live}");
    assert_eq!(live, from_file);
}

#[test]
fn a_kind_of_another_scope_is_told_and_what_is_published_stays() {
    let Some(server) = region() else { return };
    let definition = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {plural: things, singular: thing, kind: Thing, listKind: ThingList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";
    server.apply(definition);
    server.kubectl_prints(["wait", "--for=condition=Established", "crd/things.example.org", "--timeout=30s"], "");
    let fleet = Fleet::with_credentials(1);
    fleet.configure(
        "regions:",
        "kinds: [{group: example.org, kind: Thing, scope: Cluster, allowedNamespaces: all}]\nregions:",
    );
    let thing = "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Credential\nmetadata: {name: thing, namespace: eu-team}\n\
                 spec: {region: eu, identityRef: {apiVersion: example.org/v1, kind: Thing, name: t}}\n---\n\
                 apiVersion: k0rdent.mirantis.com/v1beta1\nkind: ProviderInterface\nmetadata: {name: x}\n\
                 spec: {clusterIdentities: [{group: example.org, version: v1, kind: Thing}]}\n---\n\
                 apiVersion: example.org/v1\nkind: Thing\nmetadata: {name: t}\nspec: {}\n";
    fleet.write("manifests/thing.yaml", thing);
    fleet.render(&[]).ends(0);
    let before = fleet.tree("bundles");
    server.kubeconfig(&fleet.path("kubeconfig"), "admin");
    fleet.configure("  eu: {", &format!("  eu: {{{CLUSTER}"));
    let ran = fleet.render(&[]).ends(3).outcome("us", "unchanged");
    let ran = ran.says("error[scope-differs]: region eu has Thing.example.org as a namespaced kind");
    ran.says("warning[fact-differs]: the kind Thing.example.org is cluster-scoped by the configuration");
    let kept = fleet.tree("bundles");
    assert!(before.iter().filter(|(path, _)| !path.ends_with("bundle.yaml")).all(|(path, bytes)| kept[path] == *bytes));
    // What the help says cures it.
    fleet.configure("scope: Cluster", "scope: Namespaced");
    fleet.write("manifests/thing.yaml", thing.replace("name: t}\nspec", "name: t, namespace: eu-team}\nspec"));
    let ran = fleet.render(&[]).ends(0);
    assert!(!ran.stderr.contains("kind Thing"), "{}", ran.stderr);
    assert!(fleet.tree("bundles").keys().any(|path| path.ends_with("thing.example.org/eu-team/t.yaml")));
}

/// Another writer is faster once: what was seen of a region in the first attempt is not used in the second.
#[test]
fn what_was_seen_before_a_run_starts_over_is_seen_anew() {
    let Some(server) = region() else { return };
    labelled(&server, "test");
    let fleet = fleet("providers: providers.json");
    let looks = fleet.path("looks");
    fleet.write("token", token("admin"));
    let text = format!("echo x >> '{}'\n{}", looks.display(), gives(&fleet));
    providers(&fleet, "script", &script(&fleet, "plugin", &text), &[]);
    profile(&fleet, "eu", "script", cluster_of(&server), None);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    fleet.write("manifests/aws.yaml", selected("eu-team"));
    std::fs::remove_file(&looks).unwrap();
    // Meanwhile the namespace gets the label by which the identity admits it.
    server.kubeconfig(&fleet.path("kubeconfig"), "admin");
    let label = server.kubectl_of(&fleet.path("kubeconfig"), "label ns eu-team --overwrite env=prod");
    let push = origin.other_writer("mkdir -p bundles; cat /proc/sys/kernel/random/uuid >> bundles/README.md");
    let script = format!(
        "case \" $* \" in *' push '*) if mkdir '{}' 2>/dev/null; then ( {push} ); {label} >/dev/null; fi;; esac",
        fleet.path("raced").display()
    );
    fleet.secret("eu", "c0", "value: changed");
    Ran::from(origin.wrapped(&script, &[]).output().unwrap()).ends(0).says("starting over");
    assert_eq!(fleet.read("looks").lines().count(), 2);
    assert!(origin.files().contains(&"bundles/regions/eu/core/secrets/kcm-system/aws.sops.yaml".to_owned()));
}

#[test]
fn the_management_cluster_is_compared_where_several_sources_are_it() {
    let (Some(server), Some(other)) = (region(), ApiServer::start()) else { return };
    let source = |name: &str, kubeconfig: &str| {
        format!(
            "  - {{name: {name}, cluster: {{kubeconfig: {kubeconfig}, context: admin}}, provides: {{namespaces: ['*'], clusterScoped: true}}}}\n"
        )
    };
    let fleet = Fleet::of(&format!(
        "apiVersion: pouch/v1alpha1\nkind: Fleet\nmetadata: {{name: acme}}\nsources:\n\
         \x20 - {{name: manifests, directory: {{path: manifests}}, provides: {{namespaces: ['*'], clusterScoped: true}}}}\n{}{}\
         regions:\n  hub: {{management: true, recipients: [{EU}], namespaces: {{allowed: ['*']}}}}\n\
         reuseKey: {{file: reuse.key}}\n",
        source("hub", "kubeconfig"),
        source("same", "same")
    ));
    let credential = "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Credential\nmetadata: {name: web, namespace: team-a}\n\
                      spec: {identityRef: {apiVersion: v1, kind: Secret, name: web, namespace: team-a}}\n---\n\
                      apiVersion: v1\nkind: Secret\nmetadata: {name: web, namespace: team-a}\nstringData: {value: not-real}\n";
    fleet.write("manifests/web.yaml", credential);
    for server in [&server, &other] {
        server.apply("{apiVersion: v1, kind: Namespace, metadata: {name: kcm-system}}");
    }
    server.kubeconfig(&fleet.path("kubeconfig"), "admin");
    server.kubeconfig(&fleet.path("same"), "admin");
    fleet.render(&[]).ends(0);
    let row = |ran: &Ran| {
        let answer: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
        assert_eq!(answer["regions"].as_array().map(Vec::len), Some(1), "{answer:#}");
        answer["regions"][0].clone()
    };
    let table = ["verify", "--live", "--all", "-o", "json"];
    let of_all = row(&fleet.run(&table).ends(8));
    assert_eq!((&of_all["name"], &of_all["compared"]["missing"]), (&"hub".into(), &1.into()), "{of_all:#}");
    assert_eq!(row(&fleet.run(&["verify", "--live", "--region", "hub", "-o", "json"]).ends(8)), of_all);
    // Two clusters, of which nobody knows which one is meant, and one that is away.
    let unread = |words: &str| {
        let row = row(&fleet.run(&table).ends(5));
        assert!(row["unread"]["message"].as_str().is_some_and(|why| why.contains(words)), "{row:#}");
    };
    other.kubeconfig(&fleet.path("same"), "admin");
    unread("sources hub, same are different clusters");
    fleet.remove("same");
    unread("source same may be the management cluster, and was not reached: ");
}
