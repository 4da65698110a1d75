use alloc::collections::BTreeMap;

use super::*;
use crate::config::{Delivery, LevelWord, Sign, resolve, shape};
use crate::node::{Interner, Node};
use crate::yaml::{read, stream};

fn setup(consumer: Consumer, repository: &str) -> Setup {
    let region = |name: &str| SetupRegion {
        context: name.to_string(),
        directory: name.to_string(),
        key_file: format!("keys/{name}.txt"),
        entry: format!("{name}.agekey"),
    };
    Setup {
        consumer,
        fleet: "123".to_string(),
        repository: Some(repository.to_string()),
        hub: None,
        regions: ["eu-west", "123"].map(region).into(),
        signer: None,
        flag: String::new(),
    }
}

const ALL: [Consumer; 4] =
    [Consumer::Flux, Consumer::ArgoCd(ArgoMode::Plugin), Consumer::ArgoCd(ArgoMode::Ksops), Consumer::None];

fn on_hub(repository: &str) -> Setup {
    Setup { hub: Some("admin@hub".to_string()), ..setup(Consumer::Flux, repository) }
}

/// The same where commits are signed.
fn signed(setup: Setup) -> Setup {
    let public = PublicKey::read(&format!("{PUBLIC} a comment\n"));
    Setup { signer: public.map(|public| Signer { key: "keys/123".to_string(), public }), ..setup }
}

const PUBLIC: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHN0YW5kcyBmb3IgYSBrZXkgb2YgMzIgYnl0ZXMh";

/// Every way, and every way in which signatures are looked at.
fn ways(url: &str) -> Vec<Setup> {
    let unsigned: Vec<Setup> = ALL.map(|consumer| setup(consumer, url)).into_iter().chain([on_hub(url)]).collect();
    let looked_at = unsigned.iter().filter(|setup| setup.consumer != Consumer::ArgoCd(ArgoMode::Ksops));
    let signed: Vec<Setup> = looked_at.cloned().map(signed).collect();
    unsigned.into_iter().chain(signed).collect()
}

fn documents(text: &str) -> Vec<Node> {
    let mut interner = Interner::new();
    stream::documents(text).map(|part| read::read(&part, &mut interner).unwrap_or_else(|_| panic!("{text}"))).collect()
}

fn project() -> (Node, Setup) {
    let setup = setup(Consumer::ArgoCd(ArgoMode::Plugin), "https://git.example.com/acme/fleet.git");
    let file = setup.files().into_iter().find(|file| file.path == "setup/argocd.yaml").unwrap();
    (documents(&file.text).remove(0), setup)
}

#[test]
fn a_project_allows_what_is_published_and_nothing_else() {
    let (project, _) = project();
    let allowed = |field: &str| -> Vec<GroupKind> {
        let items = project.at(&["spec", field]).unwrap().items();
        items.iter().map(|it| GroupKind::new(it.str_at(&["group"]).unwrap(), it.str_at(&["kind"]).unwrap())).collect()
    };
    let (cluster, namespaced) = (allowed("clusterResourceWhitelist"), allowed("namespaceResourceWhitelist"));
    let mut all: Vec<GroupKind> = cluster.iter().chain(&namespaced).cloned().collect();
    all.sort();
    let mut wanted: Vec<GroupKind> = kinds::published().chain([GroupKind::new("", "Namespace")]).collect();
    wanted.sort();
    assert_eq!(all, wanted);
    assert!(cluster.contains(&GroupKind::new("", "Namespace")) && namespaced.contains(&GroupKind::new("", "Secret")));
    let destinations = project.at(&["spec", "destinations"]).unwrap().items();
    let names: Vec<&str> = destinations.iter().filter_map(|it| it.str_at(&["name"])).collect();
    assert_eq!(names, ["eu-west", "123"], "a name of digits stays a text");
}

#[test]
fn every_file_is_yaml_and_holds_no_key() {
    let url = "git@git.example.com:acme/fleet.git";
    for setup in ways(url) {
        let files = setup.files();
        assert!(files.len() > 1 || setup.hub.is_some(), "{:?}", setup.consumer);
        for file in files {
            assert!(file.text.starts_with("# ") && file.text.ends_with('\n') && !file.is_for.is_empty());
            let long = file.text.lines().find(|line| line.ends_with(' ') || line.len() > 130);
            assert_eq!(long, None, "{}", file.path);
            for document in documents(&file.text) {
                let secret = document.str_at(&["kind"]) == Some("Secret");
                let data = document.at(&["stringData"]).map(Node::entries).unwrap_or_default();
                let harmless = data
                    .iter()
                    .all(|(key, _)| ["type", "url", "name", "server", "pouch.sshpub"].contains(&key.as_ref()));
                assert!(harmless && (!secret || document.at(&["data"]).is_none()), "{}", file.path);
            }
        }
    }
}

#[test]
fn the_configuration_delivers_by_what_is_set_up() {
    let url = "https://git.example.com/acme/fleet.git";
    for setup in ways(url) {
        let consumer = setup.consumer;
        let delivery = deliveries(core::slice::from_ref(&setup));
        let findings = setup.findings().unwrap_or_default();
        let text = format!(
            "apiVersion: pouch/v1alpha1\nkind: Fleet\nmetadata: {{name: \"123\"}}\nsources: [{{name: a, directory: {{path: \
             m}}}}]\nregions: {{eu-west: {{recipients: \
             [age1hwgm5s760fwcasprk22wc0a8a5lcwm22s32e2484ju7egnueyptsul368q], namespaces: {{allowed: \
             ['*']}}}}}}\nreuseKey: {{file: k}}\n{}\nregionDefaults:\n{delivery}\n{findings}\n",
            setup.output()
        );
        let typed = shape::read(&text).unwrap_or_else(|_| panic!("unfit:\n{text}"));
        let fleet = resolve::resolve(&typed, &BTreeMap::new()).unwrap_or_else(|_| panic!("{text}"));
        let region = fleet.regions.values().next().unwrap();
        let files = setup.files();
        match (&region.delivery, consumer) {
            (Delivery::Flux(flux), Consumer::Flux) => {
                let objects = documents(&files[0].text);
                let source = objects.iter().find(|it| it.str_at(&["kind"]) == Some("GitRepository")).unwrap();
                assert_eq!(source.str_at(&["metadata", "name"]), Some(flux.source_name.as_str()));
                assert_eq!(source.str_at(&["metadata", "namespace"]), Some(flux.namespace.as_str()));
                assert!(
                    files[0]
                        .text
                        .contains(&format!("-n {} create secret generic {} ", flux.namespace, flux.decryption_secret))
                );
                let named = flux.kube_config.as_ref().map(|(name, _)| name.as_str());
                assert_eq!(named, setup.hub.as_ref().map(|_| "123.eu-west.kubeconfig"));
            }
            (Delivery::ArgoCd(argo), Consumer::ArgoCd(mode)) => {
                assert_eq!((argo.mode, argo.project.as_str()), (mode, "123"));
                assert!(files[0].text.contains(&format!("\n    - {}\n", argo.repo_url)));
            }
            (Delivery::None, Consumer::None) => {}
            other => panic!("{other:?}"),
        }
        // What argues about signatures is silent only where something looks at them.
        let told = crate::layout::delivery::argocd::unverified(&fleet)
            .is_some_and(|finding| fleet.severities.get(&finding.code) != Some(&LevelWord::Off));
        assert!(!told, "{text}");
        let git = fleet.output.git.unwrap();
        assert_eq!(git.branch, BRANCH);
        let (sign, file) = match &setup.signer {
            Some(_) => (Sign::Ssh(Some("keys/123".to_string())), Some("setup/allowed_signers")),
            None => (Sign::AsGit, None),
        };
        assert_eq!((git.signing(), git.allowed_signers.as_deref()), (sign, file));
    }
}

/// What the configuration names on a hub is what the commands make there, and nothing stands there twice.
#[test]
fn a_hub_has_two_secrets_and_a_kustomization_for_each_region() {
    let setup = on_hub("https://git.example.com/acme/fleet.git");
    let files = setup.files();
    assert_eq!(files.iter().map(|file| &*file.path).collect::<Vec<_>>(), ["setup/hub.yaml"]);
    let delivery = deliveries(core::slice::from_ref(&setup));
    for region in ["eu-west", "123"] {
        for kind in ["age", "kubeconfig"] {
            assert!(delivery.contains(&format!("secretRef: \"123.{{region}}.{kind}\"")), "{delivery}");
            let made = format!("kubectl --context admin@hub -n flux-system create secret generic 123.{region}.{kind} ");
            assert_eq!(files[0].text.matches(&made).count(), 1, "{made}\n{}", files[0].text);
        }
        let kubeconfig = format!("kubectl config view --raw --flatten --minify --context {region} ");
        assert!(files[0].text.contains(&kubeconfig));
    }
    let objects = documents(&files[0].text);
    let of = |path: &[&str]| objects.iter().filter_map(|it| it.str_at(path)).collect::<Vec<_>>();
    assert_eq!(of(&["kind"]), ["GitRepository", "Kustomization", "Kustomization"]);
    assert_eq!(of(&["metadata", "name"]), ["123", "123.eu-west.bundle", "123.123.bundle"]);
    assert_eq!(of(&["spec", "path"]), ["./bundles/flux/eu-west", "./bundles/flux/123"]);
    let next = setup.next(&|file| file.to_string(), "");
    assert!(next.len() == 4 && next.iter().all(|line| line.contains("--context admin@hub ")), "{next:?}");
    // A label has room for 63 characters.
    let long = Setup { fleet: "f".repeat(60), ..setup };
    let names: Vec<String> = documents(&long.files()[0].text)
        .iter()
        .filter(|it| it.str_at(&["kind"]) == Some("Kustomization"))
        .filter_map(|it| it.str_at(&["metadata", "name"]).map(str::to_string))
        .collect();
    assert!(names.len() == 2 && names[0] != names[1] && names.iter().all(|name| name.len() <= 63), "{names:?}");
}

#[test]
fn a_context_can_stand_in_a_command() {
    for good in ["hub", "admin@hub", "arn:aws:eks:eu-west-1:123:cluster/hub", "gke_a_b-c"] {
        assert!(is_plain_context(good), "{good}");
    }
    for bad in ["", "-x", "a b", "a\nb", "$(x)", "a;b", "a'b"] {
        assert!(!is_plain_context(bad), "{bad:?}");
    }
}

#[test]
fn a_repository_is_one_that_the_consumer_can_read() {
    let flux = |url: &str| check_repository(url, Consumer::Flux);
    for good in ["https://a/b.git", "ssh://git@a/b", "git@a.example.com:b/c.git", "http://a/b"] {
        assert_eq!(flux(good), Ok(()), "{good}");
    }
    assert_eq!(flux("ftp://a/b"), Err(RepositoryFault::Scheme));
    // A path is told apart, and a URL that leads nowhere stands for it where clusters are to read it.
    for path in ["../fleet.git", "/srv/a:b", "file:///srv/fleet.git"] {
        assert!(flux(path) == Ok(()) && is_local(path), "{path}");
        let setup = setup(Consumer::Flux, path);
        assert_eq!(setup.url(), "https://repository.invalid/123.git");
        let files = setup.files();
        assert!(files[0].text.contains("url: https://repository.invalid/123.git\n") && !files[0].text.contains(path));
    }
    assert_eq!(flux("https://me:secret@a/b"), Err(RepositoryFault::Url(UrlFault::Password)));
    assert_eq!(check_repository("file:///srv/a.git", Consumer::ArgoCd(ArgoMode::Plugin)), Ok(()));
    assert_eq!(check_repository("../fleet.git", Consumer::None), Ok(()));
    // Flux knows no short form.
    assert_eq!(for_flux("git@a:b/c.git"), "ssh://git@a/b/c.git");
    assert_eq!(for_flux("https://a/b"), "https://a/b");
    for (short, long) in [
        ("[::1]:x/y.git", "ssh://[::1]/x/y.git"),
        ("git@[2001:db8::1]:/x/y.git", "ssh://git@[2001:db8::1]/x/y.git"),
        ("git@[git.example.com:2222]:x/y.git", "ssh://git@git.example.com:2222/x/y.git"),
        ("a:b", "ssh://a/b"),
    ] {
        assert_eq!((flux(short), &*for_flux(short)), (Ok(()), long));
    }
    for path in ["C:\\x\\y.git", "C:/x/y.git", "host:x\\y", "[::1]/x", "[::1]", "@"] {
        assert!(is_local(path), "{path}");
    }
}

/// What is printed is the whole way: each Secret that an object names is made by a command.
#[test]
fn what_is_to_be_typed_is_complete() {
    let shown = |file: &str| format!("'a b/{file}'");
    for url in ["https://git.example.com/acme/fleet.git", "git@git.example.com:acme/fleet.git"] {
        for consumer in ALL {
            let setup = setup(consumer, url);
            let typed = setup.next(&shown, " -f 'a b/p.yaml'").join("\n");
            assert!(typed.lines().count() <= 14, "{typed}");
            for file in setup.files().iter().filter(|file| !file.path.ends_with("123.yaml")) {
                assert!(typed.contains(&shown(&file.path)), "{} in\n{typed}", file.path);
            }
            let (needed, login): (&[&str], _) = match consumer {
                Consumer::Flux => (&["secret generic sops-age ", "secret generic 123-read "], "identity=DEPLOY_KEY"),
                Consumer::ArgoCd(_) => (
                    &["secret generic sops-age ", "secret generic 123-repository ", "argocd/eu-west/application.yaml"],
                    "sshPrivateKey=DEPLOY_KEY",
                ),
                Consumer::None => (
                    &[
                        "pouch rbac --deliver --region eu-west --service-account pouch/123 -f 'a b/p.yaml' ",
                        "--as system:serviceaccount:pouch:123 -f 'a b/p.yaml'",
                    ],
                    "",
                ),
            };
            assert!(needed.iter().all(|part| typed.contains(part)), "{typed}");
            assert_eq!(typed.contains("DEPLOY_KEY"), consumer != Consumer::None && url.starts_with("git@"), "{typed}");
            assert!(!url.starts_with("git@") || typed.contains(login), "{typed}");
        }
    }
    // Heads of files are read in the folder of the configuration.
    let mut named = setup(Consumer::None, "https://git.example.com/acme/fleet.git");
    named.flag = " -f p.yaml".to_string();
    let text = &named.files()[0].text;
    assert!(text.contains("pouch/123 -f p.yaml \\") && text.contains("pouch:123 -f p.yaml\n"), "{text}");
}

/// Whoever applies refuses what nobody signed: the demand, and the key that it is made with, are in force.
#[test]
fn where_commits_are_signed_each_consumer_demands_it() {
    let url = "https://git.example.com/acme/fleet.git";
    for hub in [false, true] {
        let setup = signed(if hub { on_hub(url) } else { setup(Consumer::Flux, url) });
        let objects = documents(&setup.files()[0].text);
        let of = |kind: &str| objects.iter().find(|it| it.str_at(&["kind"]) == Some(kind)).unwrap();
        assert_eq!(of("GitRepository").str_at(&["spec", "verify", "mode"]), Some("HEAD"));
        let named = of("GitRepository").str_at(&["spec", "verify", "secretRef", "name"]);
        let secret = of("Secret");
        assert!(named == Some("123-signers") && secret.str_at(&["metadata", "name"]) == named);
        assert_eq!(secret.str_at(&["metadata", "namespace"]), Some("flux-system"));
        assert_eq!(secret.str_at(&["stringData", "pouch.sshpub"]), Some(PUBLIC));
        let next = setup.next(&|file| file.to_string(), "").join("\n");
        assert!(!next.contains("signers"), "one file has it all: {next}");
    }

    let setup = signed(setup(Consumer::ArgoCd(ArgoMode::Plugin), url));
    let text =
        |name: &str| setup.files().into_iter().find(|file| file.path == format!("setup/{name}.yaml")).unwrap().text;
    let objects = documents(&text("plugin"));
    let (plugin, signers) = (&objects[0], &objects[1]);
    let plugin = documents(plugin.str_at(&["data", "plugin.yaml"]).unwrap()).remove(0);
    let command = plugin.at(&["spec", "generate", "command"]).unwrap().items();
    let words: Vec<&str> = command.iter().filter_map(Node::as_str).collect();
    assert_eq!(words, ["pouch", "unpack", ".", "--allowed-signers", "/signers/allowed_signers"]);
    let line = format!("pouch@localhost namespaces=\"git\" {PUBLIC}\n");
    assert_eq!(signers.str_at(&["data", "allowed_signers"]), Some(&*line));
    let patch = documents(&text("repo-server-patch")).remove(0);
    let pod = patch.at(&["spec", "template", "spec"]).unwrap();
    let sidecar = &pod.at(&["containers"]).unwrap().items()[0];
    let mounts = sidecar.at(&["volumeMounts"]).unwrap().items();
    let mount = mounts.iter().find(|it| it.str_at(&["mountPath"]) == Some("/signers")).unwrap();
    let volumes = pod.at(&["volumes"]).unwrap().items();
    let volume = volumes.iter().find(|it| it.str_at(&["name"]) == mount.str_at(&["name"])).unwrap();
    assert_eq!(volume.str_at(&["configMap", "name"]), signers.str_at(&["metadata", "name"]));

    // And pouch itself.
    let file = setup.signers().unwrap();
    assert!(file.path == "setup/allowed_signers" && file.text.ends_with(&line), "{}", file.text);
}

/// Argo CD's image runs as user 999 of group 999, and another image's user 999 has any group: what is mounted of a Secret
/// belongs to root, and is read by the Pod's own group.
#[test]
fn argocd_can_read_the_keys_that_are_mounted() {
    let all = [ArgoMode::Plugin, ArgoMode::Ksops].map(|mode| setup(Consumer::ArgoCd(mode), "https://a/b.git"));
    for setup in all.iter().cloned().chain([signed(all[0].clone())]) {
        let file = setup.files().into_iter().find(|file| file.path == "setup/repo-server-patch.yaml").unwrap();
        let patch = documents(&file.text).remove(0);
        let pod = patch.at(&["spec", "template", "spec"]).unwrap();
        assert!(pod.at(&["securityContext", "fsGroup"]) == Some(&Node::Int(999)), "{}", file.text);
        assert!(file.text.contains("secret: {secretName: sops-age, defaultMode: 0440,"), "{}", file.text);
    }
}
