//! With the real Flux.

use super::{
    ADOPTION, OPERATIONS, Reader, forge, found_behind, k0rdent_is_back, k0rdent_lets_go, kept, named, pushed, put_back,
    watched,
};
use crate::objects::SYSTEM;
use crate::rig::apiserver::ApiServer;
use crate::rig::flux::Flux;

const PAGE: &str = "docs/getting-started/flux.md";
/// What the page has the reader do on the region, whatever that prints.
const UNSIGNED: &str = "alias on='kubectl --context eu-west -n flux-system'
    on create secret generic sops-age --from-file=eu-west.agekey=keys/eu-west.txt &&
    on create secret generic acme-read --from-literal=username=\"$READER\" --from-literal=password=\"$READER_PASSWORD\" &&
    on apply --server-side -f setup/eu-west.yaml &&
    on wait kustomization/acme --for=condition=Ready --timeout=3m &&
    on wait kustomization --all --for=condition=Ready --timeout=3m";
const HUB: &str = "docs/getting-started/flux-hub.md";

const KUSTOMIZATIONS: &str = "/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/flux-system/kustomizations";

/// What a Kustomization complains of.
fn complaint(server: &ApiServer) -> Option<String> {
    let list = server.endpoint("admin").get(KUSTOMIZATIONS).unwrap().value();
    let all = list["items"].as_array().cloned().unwrap_or_default();
    all.iter().find_map(|item| {
        let conditions = item["status"]["conditions"].as_array()?;
        let ready = conditions.iter().find(|condition| condition["type"] == "Ready")?;
        // One that waits for another says so, and changes nothing meanwhile.
        let is_bad = ready["status"] == "False" && ready["reason"] != "DependencyNotReady";
        is_bad.then(|| ready["message"].to_string())
    })
}

#[test]
fn from_nothing_to_the_last_object() {
    let Some(mut reader) = Reader::new("022") else { return };
    let Some(_flux) = Flux::start(&reader.server, &[]) else { return };
    reader.follow(PAGE, "");
    what_nobody_signed(&mut reader);
    exchange(&mut reader);
    reader.follow(OPERATIONS, "### Retiring with Flux");
    reader.is_empty();
}

/// Each region gets its own, by its own kubeconfig, and the hub nothing.
#[test]
fn from_nothing_with_one_flux_on_a_hub() {
    let (Some(hub), Some(east)) = (ApiServer::start(), ApiServer::start()) else { return };
    if !east.install_crds() {
        return;
    }
    east.kubectl_prints(["create", "namespace", SYSTEM], "");
    let Some(mut reader) = Reader::beside("022", &[("hub", &hub), ("us-east", &east)]) else { return };
    let Some(flux) = Flux::start(&hub, &[]) else { return };
    reader.follow(HUB, "");
    let names = |server: &ApiServer, kind: &str| {
        let found = server.kubectl_prints(["get", kind, "--all-namespaces", "-o", "name"], "");
        found.lines().map(|line| line.rsplit_once('/').unwrap().1.to_owned()).collect::<Vec<_>>()
    };
    for (server, name) in [(&reader.server, "aws-west"), (&east, "aws-east")] {
        assert_eq!(names(server, "awsclusterstaticidentities"), [name]);
        assert_eq!(names(server, "secrets"), [format!("{name}-secret")]);
    }
    let keys = ["age", "kubeconfig"].map(|kind| ["eu-west", "us-east"].map(|region| format!("acme.{region}.{kind}")));
    let mut keys: Vec<String> =
        keys.into_iter().flatten().chain(["acme-read", "acme-signers"].map(str::to_owned)).collect();
    keys.sort();
    assert_eq!(names(&hub, "secrets"), keys);

    // One that cannot be reached keeps nothing from the other.
    hub.kubectl_prints(["-n", "flux-system", "delete", "secret", "acme.eu-west.kubeconfig"], "");
    let (text, code) = reader.session.run("sed -i.bak 's/not-a-real-key/another/' manifests/aws.yaml && pouch publish");
    assert_eq!(code, 0, "{text}");
    let asked = format!("reconcile.fluxcd.io/requestedAt={:?}", std::time::Instant::now());
    hub.kubectl_prints(["-n", "flux-system", "annotate", "gitrepository", "acme", &asked], "");
    let began = std::time::Instant::now();
    let value = |server: &ApiServer, name: &str| {
        let path = "jsonpath={.data.SecretAccessKey}";
        server.kubectl_prints(["-n", SYSTEM, "get", "secret", name, "-o", path], "")
    };
    let (another, old) = ("YW5vdGhlci0y", "bm90LWEtcmVhbC1rZXktMQ==");
    while value(&east, "aws-east-secret") != another {
        assert!(began.elapsed().as_secs() < 60, "{}", flux.last_words());
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    assert_eq!(value(&reader.server, "aws-west-secret"), old);

    // One of them gets another key, and goes; the other, which nobody reaches, is none of that.
    reader.follow(OPERATIONS, "#### Exchanging on a hub");
    let identities =
        hub.kubectl_prints(["-n", "flux-system", "get", "secret", "acme.us-east.age", "-o", "jsonpath={.data}"], "");
    assert!(identities.contains("us-east-2.agekey") && !identities.contains("us-east.agekey"), "other names");
    reader.follow(OPERATIONS, "### Retiring a region of a hub");
    assert_eq!(names(&east, "awsclusterstaticidentities"), [""; 0]);
    assert_eq!(names(&east, "secrets"), [""; 0]);
    assert_eq!(names(&reader.server, "awsclusterstaticidentities"), ["aws-west"]);
    let on_hub = names(&hub, "kustomizations.kustomize.toolkit.fluxcd.io");
    assert!(on_hub.len() > 2 && on_hub.iter().all(|name| name.starts_with("acme.eu-west")), "{on_hub:?}");
    assert_eq!(names(&hub, "secrets"), ["acme-read", "acme-signers", "acme.eu-west.age"]);
}

/// What `init` set up goes on from no commit that its key did not sign: neither pouch nor Flux does.
fn what_nobody_signed(reader: &mut Reader) {
    let Reader { server, session, folder, .. } = reader;
    let said = |is_wanted: &dyn Fn(&str, &str) -> bool| {
        let now = format!("reconcile.fluxcd.io/requestedAt={:?}", std::time::Instant::now());
        server.kubectl_prints(["-n", "flux-system", "annotate", "--overwrite", "gitrepository", "acme", &now], "");
        let began = std::time::Instant::now();
        loop {
            let ready = "jsonpath={.status.conditions[?(@.type==\"Ready\")].status} \
                         {.status.conditions[?(@.type==\"Ready\")].message}";
            let text = server.kubectl_prints(["-n", "flux-system", "get", "gitrepository", "acme", "-o", ready], "");
            let (status, message) = text.split_once(' ').unwrap_or((&text, ""));
            if is_wanted(status, message) {
                return;
            }
            assert!(began.elapsed().as_secs() < 60, "{text}");
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    };
    let signed = forge(folder.path());
    said(&|status, message| status == "False" && message.contains("unsupported signature type: empty"));
    let (text, code) = session.run("pouch publish");
    assert!(code == 5 && text.contains("unsigned-tip"), "{text}");
    assert_eq!(named(server), "aws-main-secret");
    put_back(folder.path(), &signed);
    said(&|status, message| status == "True" && message.contains(&signed));
}

/// At no moment is there a bundle that the region cannot open.
fn exchange(reader: &mut Reader) {
    let Reader { server, session, .. } = reader;
    let text = std::fs::read_to_string(crate::support::root().join(OPERATIONS)).unwrap();
    let page = (OPERATIONS, &*text);
    let looked = watched(
        || complaint(server),
        || crate::support::reader::follow_live(session, page, "#### Exchanging with Flux", &mut |_| {}),
    );
    assert!(looked > 20, "{looked}");
    // The watcher would have seen it: without its key the region complains.
    let hide = r#"[{"op": "move", "from": "/data/eu-west-2.agekey", "path": "/data/hidden"}]"#;
    let show = r#"[{"op": "move", "from": "/data/hidden", "path": "/data/eu-west-2.agekey"}]"#;
    let patch = |patch: &str| {
        server.kubectl_prints(["-n", "flux-system", "patch", "secret", "sops-age", "--type=json", "-p", patch], "");
        let now = format!("reconcile.fluxcd.io/requestedAt={:?}", std::time::Instant::now());
        server.kubectl_prints(
            ["-n", "flux-system", "annotate", "--overwrite", "kustomization", "eu-west-core", &now],
            "",
        );
    };
    let wait = |is_over: &dyn Fn() -> bool| {
        let began = std::time::Instant::now();
        while !is_over() {
            assert!(began.elapsed().as_secs() < 60, "{:?}", complaint(server));
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    };
    patch(hide);
    wait(&|| complaint(server).is_some_and(|said| said.contains("decrypt")));
    patch(show);
    wait(&|| complaint(server).is_none());
}

#[test]
fn from_k0rdent_and_back_again() {
    let Some(mut reader) = Reader::new("077") else { return };
    let Some(_flux) = Flux::start(&reader.server, &[]) else { return };
    let before = pushed(&reader.server);
    reader.follow(ADOPTION, "## What k0rdent pushed");
    // Commits that nobody signs, and that are signed only once the region has them.
    let (said, code) = reader.session.run(
        "mkdir fleet && cd fleet && pouch init --with flux --fleet acme --region eu-west --repository \"$REPOSITORY\"",
    );
    assert_eq!(code, 0, "{said}");
    reader.follow(PAGE, "## 2. The first publish");
    let (said, code) = reader.session.run(UNSIGNED);
    assert_eq!(code, 0, "{said}");
    reader.follow(OPERATIONS, "#### Signed commits with Flux");
    reader.follow(ADOPTION, "## What stays behind");
    found_behind(&reader.session, &["stale-entry", "k0rdent-leftover"]);
    assert_eq!(kept(&reader.server), before);
    k0rdent_lets_go(&reader.server);
    reader.follow(ADOPTION, "### Back again with Flux");
    assert_eq!(kept(&reader.server), before);
    k0rdent_is_back(&reader.server);
}
