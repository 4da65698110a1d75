//! How bundles are delivered: a region's settings over the fleet's.

use super::super::super::{ArgoCluster, ArgoDestination, ArgoMode, Delivery};
use super::*;

#[test]
fn a_regions_delivery_goes_over_the_fleets() {
    let text = edited(ALLOWED, "    namespaces: {allowed: [\"*\"]}\n    delivery: {flux: {interval: 1h}}")
        + "delivery: {flux: {sourceRef: {kind: OCIRepository, name: fleet}, interval: 5m, namespace: gitops}}\n";
    let fleet = load(&text).unwrap();
    let Delivery::Flux(flux) = &fleet.regions["eu-west"].delivery else { panic!() };
    assert_eq!((flux.interval.as_str(), flux.source_kind.as_str()), ("1h", "OCIRepository"));
    assert!(flux.namespace == "gitops" && flux.source_name == "fleet" && flux.decryption_secret == "sops-age");
    assert_eq!(fleet.regions["us-east"].delivery, Delivery::None);

    let text = edited(ALLOWED, "    namespaces: {allowed: [\"*\"]}\n    delivery: argocd")
        + "delivery: {argocd: {repoURL: \"https://git.example.com/fleet.git\"}}\n";
    let text = text.replace(OUTPUT, "output: {git: {repository: ../fleet, branch: live}}");
    let fleet = load(&text).unwrap();
    let Delivery::ArgoCd(argo) = &fleet.regions["eu-west"].delivery else { panic!() };
    assert_eq!((argo.target_revision.as_str(), argo.destination.text()), ("live", "{region}"));
    assert_eq!((argo.mode, argo.plugin.is_none()), (ArgoMode::Plugin, true));
}

/// A region can have the default where the fleet says otherwise.
#[test]
fn null_takes_back_what_the_fleet_says() {
    let of = |delivery: &str| {
        let text = edited(ALLOWED, &format!("    namespaces: {{allowed: [\"*\"]}}\n    delivery: {delivery}"))
            + "delivery:\n  flux: {sourceRef: {name: fleet}, timeout: 3m, wait: true, interval: 1h, serviceAccountName: a, \
               kubeConfig: {secretRef: hub}}\n  argocd: {repoURL: 'https://git.example.com/x.git', plugin: sops, project: p, \
               destination: {server: 'https://x'}}\n";
        load(&text).map(|fleet| fleet.regions["eu-west"].delivery.clone())
    };
    let nulls = "{flux: {timeout: null, wait: null, interval: ~}}";
    let Delivery::Flux(flux) = of(nulls).unwrap() else { panic!() };
    assert!(flux.timeout.is_none() && !flux.wait);
    assert_eq!((flux.interval.as_str(), flux.source_name.as_str()), ("10m", "fleet"));
    let Delivery::Flux(flux) = of("{flux: {timeout: null}}").unwrap() else { panic!() };
    assert!(flux.timeout.is_none() && flux.wait && flux.kube_config.is_some());
    let Delivery::ArgoCd(argo) = of("{argocd: {plugin: null, project: null, destination: null}}").unwrap() else {
        panic!()
    };
    assert_eq!((argo.plugin, argo.project.as_str(), argo.destination.text()), (None, "default", "{region}"));
    // Without these, Secrets would go to the cluster where Flux runs, or be applied with all of its rights.
    for key in ["kubeConfig", "serviceAccountName"] {
        let error = of(&format!("{{flux: {{{key}: }}}}")).unwrap_err().to_string();
        let expected = format!("regions.eu-west.delivery.flux.{key}: is empty, where the fleet's delivery has a {key}");
        assert!(error.contains(&expected), "{error}");
    }
    // What nobody says is missing, where it is taken back.
    let error = of("{flux: {sourceRef: null}}").unwrap_err().to_string();
    assert!(error.contains("regions.eu-west.delivery.flux.sourceRef: the field is missing"), "{error}");
}

#[test]
fn a_flux_on_a_hub_has_names_for_each_region() {
    let more = "delivery:\n  flux: {sourceRef: {name: \"fleet-{region}\"}, decryption: {secretRef: \"sops-age-{region}\"}, \
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
        (
            "{region}-kubeconfig",
            "sops-age-eu-west",
            "is also the Secret with the age identity of the region \"eu-west\"",
        ),
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
            + &format!("delivery: {{flux: {{sourceRef: {{name: fleet}}, healthChecks: [{{{check}}}]}}}}\n");
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
            + &format!("delivery: {{argocd: {{repoURL: \"https://git.example.com/fleet.git\", {fields}}}}}\n");
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
    let more =
        "delivery:\n  flux: {sourceRef: {name: fleet}}\n  argocd: {repoURL: \"https://git.example.com/fleet.git\"}\n";
    for (delivery, limits, expect) in [
        ("none", "", 5000),
        ("flux", "", 5000),
        ("argocd", "", 3000),
        ("{argocd: {mode: ksops}}", "", 2000),
        ("{argocd: {mode: ksops}}", "limits: {objectsPerRegion: 7000}\n", 7000),
    ] {
        let text = edited(ALLOWED, &format!("    namespaces: {{allowed: [\"*\"]}}\n    delivery: {delivery}")) + more;
        let fleet = load(&(text + limits)).unwrap();
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
    let flux =
        |kube_config: &str| format!("delivery: {{flux: {{sourceRef: {{name: fleet}}, kubeConfig: {kube_config}}}}}\n");
    let argo =
        |fields: &str| format!("delivery: {{argocd: {{repoURL: \"https://git.example.com/f.git\", {fields}}}}}\n");
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
                    error.contains(&format!("the region \"eu-west\" goes to the same cluster: {name}")),
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
            + &format!("delivery: {{argocd: {{repoURL: \"https://git.example.com/fleet.git\", {argo}}}}}\n");
        load(&text).map_err(|error| error.to_string())
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
        ("cluster: {}", "", "regions.eu-west.delivery: Argo CD is to know the region's cluster by its ClusterProfile"),
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
        + "delivery: {argocd: {repoURL: \"https://git.example.com/fleet.git\", cluster: {}}}\n";
    assert!(load(&text).is_ok());
}

#[test]
fn provider_files_are_named_before_they_are_read() {
    let text =
        edited(ALLOWED, "    namespaces: {allowed: [\"*\"]}\n    delivery: {argocd: {cluster: {providers: b.json}}}")
            + "delivery: {argocd: {repoURL: \"https://git.example.com/fleet.git\", cluster: {providers: a.json}}}\n";
    let typed = shape::read(&text).unwrap();
    assert_eq!(files_needed(&typed.file), ["a.json", "b.json"]);
    assert_eq!(provider_files(&typed.file).collect::<Vec<_>>(), ["a.json", "b.json"]);
}
