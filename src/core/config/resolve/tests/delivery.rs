//! Delivery: a region's settings over those that regions share.

use super::super::super::{ArgoCluster, ArgoDestination, ArgoMode, Delivery};
use super::*;

#[test]
fn a_regions_delivery_goes_over_the_shared_one() {
    let text = edited(ALLOWED, "    namespaces: {allowed: [\"*\"]}\n    delivery: {flux: {interval: 1h}}")
        + "regionDefaults: {delivery: {flux: {sourceRef: {kind: OCIRepository, name: fleet}, interval: 5m, namespace: gitops}}}\n";
    let fleet = load(&text).unwrap();
    let Delivery::Flux(flux) = &fleet.regions["eu-west"].delivery else { panic!() };
    assert_eq!((flux.interval.as_str(), flux.source_kind.as_str()), ("1h", "OCIRepository"));
    assert!(flux.namespace == "gitops" && flux.source_name == "fleet" && flux.decryption_secret == "sops-age");
    let Delivery::Flux(flux) = &fleet.regions["us-east"].delivery else { panic!() };
    assert_eq!((flux.interval.as_str(), flux.namespace.as_str()), ("5m", "gitops"));

    let text = edited(ALLOWED, "    namespaces: {allowed: [\"*\"]}\n    delivery: argocd")
        + "regionDefaults: {delivery: {argocd: {repoURL: \"https://git.example.com/fleet.git\"}}}\n";
    let text = text.replace(OUTPUT, "output: {git: {repository: ../fleet, branch: live}}");
    let fleet = load(&text).unwrap();
    let Delivery::ArgoCd(argo) = &fleet.regions["eu-west"].delivery else { panic!() };
    assert_eq!((argo.target_revision.as_str(), argo.destination.text()), ("live", "{region}"));
    assert_eq!((argo.mode, argo.plugin.is_none()), (ArgoMode::Plugin, true));
}

/// A region can have the default where regions share another value.
#[test]
fn null_takes_back_what_regions_share() {
    let of = |delivery: &str| {
        let text = edited(ALLOWED, &format!("    namespaces: {{allowed: [\"*\"]}}\n    delivery: {delivery}"))
            + "regionDefaults:\n  delivery:\n    flux: {sourceRef: {name: a}, timeout: 3m, wait: true, interval: 1h, \
               serviceAccountName: a, kubeConfig: {secretRef: hub}}\n    argocd: {repoURL: 'https://git.example.com/x.git', \
               plugin: sops, project: p, destination: {server: 'https://x'}}\n";
        load(&choosing(&text)).map(|fleet| fleet.regions["eu-west"].delivery.clone())
    };
    let nulls = "{flux: {timeout: null, wait: null, interval: ~}}";
    let Delivery::Flux(flux) = of(nulls).unwrap() else { panic!() };
    assert!(flux.timeout.is_none() && !flux.wait);
    assert_eq!((flux.interval.as_str(), flux.source_name.as_str()), ("10m", "a"));
    let Delivery::Flux(flux) = of("{flux: {timeout: null}}").unwrap() else { panic!() };
    assert!(flux.timeout.is_none() && flux.wait && flux.kube_config.is_some());
    let Delivery::ArgoCd(argo) = of("{argocd: {plugin: null, project: null, destination: null}}").unwrap() else {
        panic!()
    };
    assert_eq!((argo.plugin, argo.project.as_str(), argo.destination.text()), (None, "default", "{region}"));
    // Without these, Secrets would go to the cluster where Flux runs, or be applied with all of its rights.
    for key in ["kubeConfig", "serviceAccountName"] {
        let error = of(&format!("{{flux: {{{key}: }}}}")).unwrap_err().to_string();
        let expected = format!("regions.eu-west.delivery.flux.{key}: is empty, where `regionDefaults` has a {key}");
        assert!(error.contains(&expected), "{error}");
    }
    let Delivery::Flux(flux) = of("{flux: {sourceRef: null}}").unwrap() else { panic!() };
    assert_eq!((flux.source_kind.as_str(), flux.source_name.as_str()), ("GitRepository", "acme"));
    let Delivery::ArgoCd(argo) = of("{argocd: {destination: {name: x}}}").unwrap() else { panic!() };
    assert_eq!(argo.destination, ArgoDestination::Name("x".into()), "a shared server is not named beside it");
}

/// The other region delivers by neither consumer.
fn choosing(text: &str) -> String {
    text.replace("      allowed: [team-a]\n", "      allowed: [team-a]\n    delivery: none\n")
}

/// Where regions share settings of both consumers, a region says which.
#[test]
fn a_region_chooses_between_two_consumers() {
    let both = "regionDefaults:\n  delivery:\n    flux: {}\n    argocd: {repoURL: 'https://git.example.com/x.git'}\n";
    let text = edited(ALLOWED, "    namespaces: {allowed: [\"*\"]}\n    delivery: flux") + both;
    let error = load(&text).unwrap_err().to_string();
    assert!(error.contains("regions.us-east: the region has settings of Flux and of Argo CD"), "{error}");
    assert!(load(&choosing(&text)).is_ok());
}

#[test]
fn a_flux_on_a_hub_has_names_for_each_region() {
    let more = "regionDefaults:\n  delivery:\n    flux: {sourceRef: {name: \"fleet-{region}\"}, decryption: {secretRef: \"sops-age-{region}\"}, \
                timeout: 3m, wait: true, serviceAccountName: pouch, kubeConfig: {secretRef: \"{region}-kubeconfig\"}, \
                retryInterval: 30s}\n";
    let text = edited(ALLOWED, "    namespaces: {allowed: [\"*\"]}\n    delivery: flux") + more;
    let fleet = load(&text).unwrap();
    let Delivery::Flux(flux) = &fleet.regions["eu-west"].delivery else { panic!() };
    assert!(flux.source_name == "fleet-eu-west" && flux.decryption_secret == "sops-age-eu-west");
    assert_eq!(flux.kube_config, Some(("eu-west-kubeconfig".into(), None)));
    assert!(flux.wait && flux.timeout.as_deref() == Some("3m"));
    assert_eq!(flux.retry_interval, "30s");
    for (from, to, says) in [
        ("3m", "soon", "\"soon\" is not a duration"),
        ("30s", "0s", "\"0s\" is not a duration"),
        ("30s", "30s, healthChecks: [{apiVersion: v1, kind: Pod, name: a}]", "no health checks where `wait` is true"),
        ("{region}-kubeconfig", "{x}", "\"{x}\""),
        ("kubeConfig: {", "kubeConfig: {key: 'a b', ", "cannot name an entry of a Secret"),
        ("kubeConfig: {", "kubeConfig: {key: .., ", "cannot name an entry of a Secret"),
        ("{region}-kubeconfig", "sops-age-eu-west", "is also the Secret with the age identity of region \"eu-west\""),
        ("wait", "wayt", "unknown field \"wayt\""),
    ] {
        let error = load(&text.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.contains(says), "{to}: {error}");
    }
}

#[test]
fn what_flux_looks_at_is_named_as_in_manifests() {
    let flux = |check: &str| {
        let text = edited(ALLOWED, "    namespaces: {allowed: [\"*\"]}\n    delivery: flux")
            + &format!(
                "regionDefaults: {{delivery: {{flux: {{sourceRef: {{name: fleet}}, healthChecks: [{{{check}}}]}}}}}}\n"
            );
        load(&text).map(|fleet| match &fleet.regions["eu-west"].delivery {
            Delivery::Flux(flux) => flux.clone(),
            _ => panic!(),
        })
    };
    let good = flux("apiVersion: apps/v1, kind: Deployment, name: capa, namespace: kcm-system").unwrap();
    let check = &good.health_checks[0];
    assert_eq!((&*check.api_version, &*check.kind), ("apps/v1", "Deployment"));
    assert!(check.name == "capa" && check.namespace == Some("kcm-system".into()));
    assert_eq!(good.retry_interval, "1m");
    assert_eq!(flux("apiVersion: v1, kind: Node, name: a").unwrap().health_checks[0].namespace, None);
    for (check, says) in [
        ("apiVersion: apps/, kind: A, name: a", "healthChecks[0].apiVersion: \"apps/\" is no apiVersion"),
        ("apiVersion: /v1, kind: A, name: a", "\"/v1\" is no apiVersion"),
        ("apiVersion: v1, kind: 'a b', name: a", "healthChecks[0].kind: \"a b\" is no kind"),
        ("apiVersion: v1, kind: A, name: A", "healthChecks[0].name: \"A\" cannot name an object"),
        ("apiVersion: v1, kind: A, name: a, namespace: a.b", "\"a.b\" cannot name a namespace"),
        ("apiVersion: v1, kind: A, name: a, namspace: b", "unknown field \"namspace\""),
    ] {
        let error = flux(check).unwrap_err().to_string();
        assert!(error.contains(says), "{check}: {error}");
    }
}

#[test]
fn argo_cds_cluster_and_release_are_as_they_are_typed() {
    let argo = |fields: &str| {
        let text = edited(ALLOWED, "    namespaces: {allowed: [\"*\"]}\n    delivery: argocd")
            + &format!(
                "regionDefaults: {{delivery: {{argocd: {{repoURL: \"https://git.example.com/fleet.git\", {fields}}}}}}}\n"
            );
        load(&text).map(|fleet| match &fleet.regions["eu-west"].delivery {
            Delivery::ArgoCd(argo) => argo.clone(),
            _ => panic!(),
        })
    };
    let server = argo("destination: {server: \"https://{region}.example.com:6443\"}").unwrap().destination;
    assert_eq!(server, ArgoDestination::Server("https://{region}.example.com:6443".into()));
    for (version, refreshes) in [("\"3.1\"", false), ("\"3.2\"", true), ("v3.2.11", true), ("\"2.14\"", false)] {
        assert_eq!(argo(&format!("version: {version}")).unwrap().refreshes, refreshes, "{version}");
    }
    assert!(argo("").unwrap().refreshes);
    for (fields, says) in [
        ("destination: {name: a, server: \"https://a\"}", "named twice"),
        ("destination: {server: \"https://me:secret@a\"}", "password"),
        ("destination: {server: \"git@a:b\"}", "user or password"),
        ("destination: {server: a.example.com}", "is no URL of an API server"),
        ("destination: {server: \"https://{cluster}.example.com\"}", "is no URL of an API server"),
        ("version: latest", "is no release of Argo CD"),
    ] {
        let error = argo(fields).unwrap_err().to_string();
        assert!(error.contains(says) && !error.contains("secret@"), "{fields}: {error}");
    }
}

#[test]
fn a_region_holds_what_its_consumer_takes() {
    let more = "regionDefaults:\n  delivery:\n    flux: {sourceRef: {name: fleet}}\n    argocd: {repoURL: \"https://git.example.com/fleet.git\"}\n";
    for (delivery, limits, expect) in [
        ("none", "", 5000),
        ("flux", "", 5000),
        ("argocd", "", 3000),
        ("{argocd: {mode: ksops}}", "", 2000),
        ("{argocd: {mode: ksops}}", "limits: {objectsPerRegion: 7000}\n", 7000),
    ] {
        let text = edited(ALLOWED, &format!("    namespaces: {{allowed: [\"*\"]}}\n    delivery: {delivery}")) + more;
        let fleet = load(&choosing(&(text + limits))).unwrap();
        assert_eq!(fleet.limits.most_objects(&fleet.regions["eu-west"].delivery), expect, "{delivery} {limits}");
    }
    assert!(load(&edited("", "limits: {objectsPerRegion: 0}")).is_err());
}

/// Two bundles on one cluster would take each other's objects away.
#[test]
fn no_two_regions_go_to_one_cluster() {
    let with = |delivery: &str, more: &str| {
        let both = edited(ALLOWED, &format!("{ALLOWED}\n    delivery: {delivery}"))
            .replace("      allowed: [team-a]\n", &format!("      allowed: [team-a]\n    delivery: {delivery}\n"));
        load(&(both + more)).map(drop)
    };
    let flux = |kube_config: &str| {
        format!("regionDefaults: {{delivery: {{flux: {{sourceRef: {{name: fleet}}, kubeConfig: {kube_config}}}}}}}\n")
    };
    let argo = |fields: &str| {
        format!("regionDefaults: {{delivery: {{argocd: {{repoURL: \"https://git.example.com/f.git\", {fields}}}}}}}\n")
    };
    for (delivery, more, names) in [
        ("flux", flux("{secretRef: hub}"), Some("Flux's Secret hub")),
        ("flux", flux("{secretRef: hub, key: a}"), Some("Flux's Secret hub, entry a")),
        ("flux", flux("{secretRef: \"{region}-hub\"}"), None),
        ("argocd", argo("destination: {name: all}"), Some("Argo CD's all")),
        ("argocd", argo("destination: {server: \"https://a.example.com\"}"), Some("Argo CD's https://a.example.com")),
        ("argocd", argo("destination: {server: \"https://{region}.example.com\"}"), None),
        // Each region may have an Argo CD of its own, but one ApplicationSet lists them all.
        ("argocd", argo("destination: {name: in-cluster}"), None),
        ("argocd", argo("destination: {server: \"https://kubernetes.default.svc\"}"), None),
        ("argocd", argo("kind: ApplicationSet, destination: {name: in-cluster}"), Some("Argo CD's in-cluster")),
    ] {
        let said = with(delivery, &more);
        match names {
            None => assert_eq!(said, Ok(()), "{more}"),
            Some(name) => {
                let error = said.unwrap_err();
                assert!(
                    error.contains(&format!("the regions \"eu-west\" and \"us-east\" go to the same cluster: {name}")),
                    "{more}: {error}"
                );
            }
        }
    }
}

/// A cluster that pouch makes known to Argo CD has a name there, and a ClusterProfile that describes it.
#[test]
fn a_cluster_secret_needs_a_profile_and_a_name() {
    let of = |argo: &str, more: &str| {
        let text = edited(ALLOWED, &format!("    namespaces: {{allowed: [\"*\"]}}\n    delivery: argocd\n{more}"))
            + &format!(
                "regionDefaults: {{delivery: {{argocd: {{repoURL: \"https://git.example.com/fleet.git\", {argo}}}}}}}\n"
            );
        load(&choosing(&text)).map_err(|error| error.to_string())
    };
    const TIED: &str = "    inventory: {clusterProfile: {namespace: fleet, name: eu}}\n";
    let cluster = |argo: &str, more: &str| match &of(argo, more).unwrap().regions["eu-west"].delivery {
        Delivery::ArgoCd(argo) => (argo.cluster.clone(), argo.informs),
        _ => panic!(),
    };
    assert_eq!(cluster("", TIED), (None, true));
    assert!(!cluster("version: '3.4', cluster: {}", TIED).1);
    assert_eq!(cluster("version: '3.5', cluster: {}", TIED), (Some(ArgoCluster { providers: None }), true));
    let (Some(ArgoCluster { providers: Some(file) }), _) = cluster("cluster: {providers: regions/good.txt}", TIED)
    else {
        panic!("it has a file");
    };
    assert_eq!((file.path.as_str(), &*file.text), ("regions/good.txt", texts()["regions/good.txt"].as_str()));
    for (argo, more, expect) in [
        ("cluster: {}", "", "regions.eu-west: Argo CD is to know the region's cluster by its ClusterProfile"),
        ("cluster: {providers: nowhere.json}", TIED, "delivery.argocd.cluster.providers: the file was not read"),
        (
            "cluster: {providers: bundles/x.json}",
            TIED,
            "delivery.argocd.cluster.providers: the file is under `output.path`",
        ),
        (
            "cluster: {}, destination: {server: 'https://eu'}",
            TIED,
            "delivery.argocd.cluster: a cluster that `cluster` makes known goes by its name",
        ),
        (
            "cluster: {}, destination: {name: in-cluster}",
            TIED,
            "delivery.argocd.cluster: `destination.name` is in-cluster",
        ),
        ("cluster: {provider: x}", TIED, "delivery.argocd.cluster.provider: "),
    ] {
        let error = of(argo, more).map(|_| ()).unwrap_err();
        assert!(error.contains(expect), "{argo}: {error}");
    }
    // A region whose cluster somebody else makes known, and one that goes.
    assert!(of("cluster: {}", "    state: retired\n").is_ok());
    let text = edited(ALLOWED, "    namespaces: {allowed: [\"*\"]}\n    delivery: {argocd: {cluster: null}}")
        + "regionDefaults: {delivery: {argocd: {repoURL: \"https://git.example.com/fleet.git\", cluster: {}}}}\n";
    assert!(load(&choosing(&text)).is_ok());
}

#[test]
fn provider_files_are_named_before_they_are_read() {
    let text = edited(
        ALLOWED,
        "    namespaces: {allowed: [\"*\"]}\n    delivery: {argocd: {cluster: {providers: b.json}}}",
    ) + "regionDefaults: {delivery: {argocd: {repoURL: \"https://git.example.com/fleet.git\", cluster: {providers: a.json}}}}\n";
    let typed = shape::read(&text).unwrap();
    assert_eq!(files_needed(&typed.file), ["a.json", "b.json"]);
    assert_eq!(provider_files(&typed.file).into_iter().collect::<Vec<_>>(), ["a.json", "b.json"]);
}
