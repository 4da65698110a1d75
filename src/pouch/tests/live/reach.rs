//! How clusters are reached, and how they are not: every way in leads to the same bundle, and every way that is
//! shut says what is the matter and what to do about it.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use pouch::ambient::Ambient;
use pouch::cluster::{Cluster, Wanted};

use crate::ground::{CLUSTER, Ground, hasty, program};
use crate::objects::fleet;
use crate::rig::apiserver::ApiServer;
use crate::rig::http::{Request, Response};
use crate::rig::proxy::Proxy;
use crate::rig::tls::Authority;
use crate::rig::token;
use crate::rig::tunnel::Tunnel;

/// A kubeconfig with the one context `admin`; `cluster` and `user` are YAML in flow style.
fn kubeconfig(ground: &Ground, name: &str, cluster: &str, user: &str) -> PathBuf {
    ground.write(
        name,
        &format!(
            "apiVersion: v1\nkind: Config\nclusters: [{{name: c, cluster: {{{cluster}}}}}]\n\
             users: [{{name: u, user: {{{user}}}}}]\n\
             contexts: [{{name: admin, context: {{cluster: c, user: u}}}}]\n"
        ),
    )
}

/// The server as a kubeconfig has it, with the authority in a file.
fn cluster(ground: &Ground) -> String {
    let ca = ground.write("ca.pem", ground.server.ca());
    format!("server: '{}', certificate-authority: '{}'", ground.server.url(), ca.display())
}

fn plugin(ground: &Ground, script: &str) -> String {
    use std::os::unix::fs::PermissionsExt as _;
    let name = format!("plugin-{}.sh", script.len());
    let path = ground.write(&name, &format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    format!(
        "exec: {{apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: '{}'}}",
        path.display()
    )
}

struct Said {
    code: i32,
    stderr: String,
    time: Duration,
}

fn render(ground: &Ground, config: &str, more: &[&str], vars: &[(&str, &str)]) -> Said {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    let began = Instant::now();
    let out = format!("out-{}", RUNS.fetch_add(1, Ordering::Relaxed));
    let path = std::env::var("PATH").unwrap_or_default();
    let vars: Vec<_> = vars.iter().copied().chain([("PATH", path.as_str())]).collect();
    let arguments: Vec<&str> =
        ["render", "-f", config, "--output-dir", &out].into_iter().chain(more.iter().copied()).collect();
    let (code, _, stderr) = program(&ground.path("."), &arguments, &vars);
    for (user, _) in crate::rig::USERS {
        assert!(!stderr.contains(&token(user)), "a token was said");
    }
    assert_eq!(ground.path(&out).join("regions/eu").exists(), code == 0, "{stderr}");
    Said { code, stderr, time: began.elapsed() }
}

impl Said {
    #[track_caller]
    fn is(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, code, "{}", self.stderr);
        for word in words {
            assert!(self.stderr.contains(word), "no {word:?} in:\n{}", self.stderr);
        }
        if code != 0 {
            assert!(self.stderr.contains("= help: "), "no cure:\n{}", self.stderr);
            assert!(self.time < Duration::from_secs(50), "it took {:?}", self.time);
        }
    }
}

#[test]
fn every_way_in_leads_there() {
    let Some(ground) = Ground::new() else { return };
    ground.apply(&[crate::objects::namespace("team-b")]);
    ground.apply(&fleet(1));
    ground.config("pouch.yaml", CLUSTER, "");
    let cluster = cluster(&ground);
    let admin = format!("token: {}", token("admin"));
    let plain = kubeconfig(&ground, "plain", &cluster, &admin);
    let plain = plain.to_str().unwrap();
    render(&ground, "pouch.yaml", &["--kubeconfig", plain], &[]).is(0, &["published"].map(|_| "cluster admin"));
    let same = |name: &str, more: &[&str], vars: &[(&str, &str)]| {
        let said = render(&ground, "pouch.yaml", more, vars);
        assert_eq!(said.code, 0, "{name}: {}", said.stderr);
        said
    };
    same("KUBECONFIG", &[], &[("KUBECONFIG", plain)]);
    // The cluster in one file, the user in another, and one that is not there.
    let halves = [
        kubeconfig(&ground, "half", &cluster, "").to_str().unwrap().replace("half", "first"),
        ground.path("second").to_str().unwrap().to_owned(),
        ground.path("absent").to_str().unwrap().to_owned(),
    ];
    ground.write("first", &format!("apiVersion: v1\nkind: Config\nclusters: [{{name: c, cluster: {{{cluster}}}}}]\n"));
    ground.write(
        "second",
        &format!(
            "apiVersion: v1\nkind: Config\nusers: [{{name: u, user: {{{admin}}}}}]\n\
             contexts: [{{name: admin, context: {{cluster: c, user: u}}}}]\n"
        ),
    );
    same("files merged", &[], &[("KUBECONFIG", &halves.join(":"))]);
    fs::create_dir_all(ground.path("home/.kube")).unwrap();
    fs::copy(plain, ground.path("home/.kube/config")).unwrap();
    same("home", &[], &[("HOME", ground.path("home").to_str().unwrap())]);

    let (certificate, key) = ground.server.client_certificate("by-certificate", "system:masters");
    ground.write("client.pem", &certificate);
    ground.write("client.key", &key);
    let by = format!("client-certificate: '{0}/client.pem', client-key: '{0}/client.key'", ground.path("").display());
    let by = kubeconfig(&ground, "certificate", &cluster, &by);
    same("client certificate", &["--kubeconfig", by.to_str().unwrap()], &[]);
    let file = ground.write("token", &token("admin"));
    let by = kubeconfig(&ground, "token-file", &cluster, &format!("tokenFile: '{}'", file.display()));
    same("token file", &["--kubeconfig", by.to_str().unwrap()], &[]);
    let script = format!(
        "echo '{{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{{\"token\":\"{}\"}}}}'",
        token("admin")
    );
    let by = kubeconfig(&ground, "exec", &cluster, &plugin(&ground, &script));
    same("exec plugin", &["--kubeconfig", by.to_str().unwrap()], &[]);
    // An administrator may act as anybody who may.
    same("acting as", &["--kubeconfig", plain, "--as", "somebody", "--as-group", "system:masters"], &[]);

    let tunnel = Tunnel::new();
    let by = kubeconfig(&ground, "proxied", &format!("{cluster}, proxy-url: '{}'", tunnel.url()), &admin);
    same("proxy-url", &["--kubeconfig", by.to_str().unwrap()], &[]);
    assert!(!tunnel.targets().is_empty());
    // Servers of several clusters behind one name, each below a path of its own, as Rancher has them.
    let behind = ground.server.endpoint("admin");
    let gate = Proxy::canned(move |request: &Request| match request.target.strip_prefix("/k8s/clusters/c-1/") {
        Some(rest) => {
            behind.ask(&Request { target: format!("/{rest}"), ..request.clone() }).expect("the API server answers")
        }
        None => Response::new(404, "text/plain", "no such cluster"),
    });
    let ca = ground.write("gate.pem", gate.ca());
    let below = format!("server: '{}/k8s/clusters/c-1', certificate-authority: '{}'", gate.url(), ca.display());
    let by = kubeconfig(&ground, "below", &below, &admin);
    same("below a path", &["--kubeconfig", by.to_str().unwrap()], &[]).is(0, &["/k8s/clusters/c-1"]);

    // As for kubectl, a proxy of the environment is for names and addresses beyond this machine. The server's
    // certificate has one, which only the proxy knows to find.
    let named = kubeconfig(&ground, "named", &cluster.replace("127.0.0.1", "kubernetes.default.svc"), &admin);
    let named = named.to_str().unwrap();
    let url = tunnel.url();
    let count = || tunnel.targets().len();
    let before = count();
    same("HTTPS_PROXY", &["--kubeconfig", named], &[("HTTPS_PROXY", &url)]);
    assert!(
        count() > before && tunnel.targets()[before].starts_with("kubernetes.default.svc:"),
        "{:?}",
        tunnel.targets()
    );
    let before = count();
    same(
        "https_proxy without a scheme",
        &["--kubeconfig", named],
        &[("https_proxy", url.trim_start_matches("http://"))],
    );
    assert!(count() > before);
    let before = count();
    same("loopback", &["--kubeconfig", plain], &[("HTTPS_PROXY", &url)]);
    let localhost = kubeconfig(&ground, "localhost", &cluster.replace("127.0.0.1", "localhost"), &admin);
    same("localhost", &["--kubeconfig", localhost.to_str().unwrap()], &[("HTTPS_PROXY", &url)]);
    same("no scheme for it", &["--kubeconfig", plain], &[("HTTP_PROXY", "http://127.0.0.1:1")]);
    // Without the proxy nobody knows the name: so it was not asked.
    for names in ["kubernetes.default.svc", ".default.svc", "svc", "*"] {
        let flags = ["--kubeconfig", named, "--request-timeout", "1s"];
        let said = render(&ground, "pouch.yaml", &flags, &[("HTTPS_PROXY", &url), ("NO_PROXY", names)]);
        said.is(5, &["name cannot be resolved"]);
    }
    assert_eq!(count(), before, "what is not for the proxy went through it");
}

#[test]
fn every_way_that_is_shut_says_why() {
    let Some(ground) = Ground::new() else { return };
    ground.apply(&fleet(1));
    let config = fs::read_to_string(ground.config("pouch.yaml", CLUSTER, "")).unwrap();
    ground.write("elsewhere.yaml", &config.replace("kind: Fleet\n", "kind: Fleet\nsystemNamespace: k0rdent-system\n"));
    ground.write("typo.yaml", &config.replace("context: admin", "context: admn"));
    ground.write("open.yaml", &config.replace("cluster: {context: admin}", "cluster: {}"));
    let cluster = cluster(&ground);
    let admin = format!("token: {}", token("admin"));
    let to =
        |name: &str, cluster: &str, user: &str| kubeconfig(&ground, name, cluster, user).to_str().unwrap().to_owned();
    let by = |file: &str, code: i32, words: &[&str]| {
        render(&ground, "pouch.yaml", &["--kubeconfig", file, "--request-timeout", "2s"], &[]).is(code, words);
    };
    std::thread::scope(|scope| {
        // Half a minute in which nothing happens.
        let hanging = to("hanging", &cluster, &plugin(&ground, "sleep 600"));
        let by = &by;
        let hanging =
            scope.spawn(move || by(&hanging, 5, &["the credential plugin of context admin took longer than 30 s"]));

        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
        let nobody = format!("server: 'https://{free}', insecure-skip-tls-verify: true");
        by(
            &to("refused", &nobody, &admin),
            5,
            &[
                &format!("cluster admin at https://{free} cannot be read"),
                "refused: nothing listens there",
                "Check that the server runs",
            ],
        );
        let deaf = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let silent = format!("server: 'https://{}', insecure-skip-tls-verify: true", deaf.local_addr().unwrap());
        by(&to("silent", &silent, &admin), 5, &["in time", "--request-timeout"]);
        by(&to("unresolved", "server: 'https://no-such-host.invalid:6443'", &admin), 5, &["name cannot be resolved"]);
        by(
            &to("expired", &cluster, "token: of-last-year"),
            5,
            &["it does not accept the credentials (401)", "Log in again"],
        );
        let other = ground.write("other.pem", &Authority::new().ca);
        let wrong = format!("server: '{}', certificate-authority: '{}'", ground.server.url(), other.display());
        by(&to("wrong-ca", &wrong, &admin), 5, &["certificate", "certificate authority belong to this cluster"]);
        let misnamed = format!("{cluster}, tls-server-name: other.example.com");
        by(&to("misnamed", &misnamed, &admin), 5, &["certificate is made out to another name"]);
        let gone = format!("server: '{}', certificate-authority: /nowhere/ca.pem", ground.server.url());
        by(&to("gone-ca", &gone, &admin), 5, &["certificate authority that cannot be read"]);
        by(&to("gone-token", &cluster, "tokenFile: /nowhere/token"), 5, &["token file /nowhere/token cannot be read"]);
        by(
            &to("garbage", &cluster, &plugin(&ground, "echo CANARY garbage")),
            5,
            &["plugin of context admin printed something that is not JSON"],
        );
        by(
            &to("failing", &cluster, &plugin(&ground, "echo CANARY >&2; exit 1")),
            5,
            &["failed", "ended with an error", "works in a shell"],
        );
        by(
            &to(
                "uninstalled",
                &cluster,
                "exec: {apiVersion: client.authentication.k8s.io/v1, command: no-such-plugin, installHint: Ask the cloud.}",
            ),
            5,
            &["is not installed", "Ask the cloud."],
        );
        by("absent", 64, &["the kubeconfig", "absent does not exist"]);
        by(ground.write("no-yaml", "clusters: [}").to_str().unwrap(), 5, &["is not YAML at line 1"]);
        by(
            &to("nobody", &cluster, &format!("token: {}", token("nobody"))),
            5,
            &["does not allow \"get\" on namespaces, name k", "pouch rbac"],
        );

        let good = to("good", &cluster, &admin);
        let render = |config: &str, more: &[&str], vars: &[(&str, &str)]| {
            let flags: Vec<&str> =
                ["--kubeconfig", &good, "--request-timeout", "2s"].into_iter().chain(more.iter().copied()).collect();
            render(&ground, config, &flags, vars)
        };
        render("typo.yaml", &[], &[]).is(64, &["has no context", "admn", "Did you mean admin?"]);
        render("pouch.yaml", &["--context", "prod"], &[]).is(64, &["has no context", "Its contexts are admin."]);
        render("elsewhere.yaml", &[], &[]).is(5, &["has no namespace k0rdent-system", "systemNamespace"]);
        let said = render("pouch.yaml", &["--as-group", "a"], &[]);
        assert!(said.code == 64 && said.stderr.contains("--as <USER>"), "{}", said.stderr);
        let four = ground.path("kubeconfig");
        let four = four.to_str().unwrap();
        let several = program(
            &ground.path("."),
            &["render", "-f", "open.yaml", "--output-dir", "out", "--kubeconfig", four],
            &[],
        );
        assert_eq!(several.0, 64, "{}", several.2);
        assert!(
            several.2.contains("several contexts, and none is chosen") && several.2.contains("admin, pouch"),
            "{}",
            several.2
        );
        let none = program(&ground.path("."), &["render", "-f", "open.yaml", "--output-dir", "out"], &[]);
        assert_eq!(none.0, 64, "{}", none.2);
        assert!(none.2.contains("there is no kubeconfig, and pouch does not run in a Pod"), "{}", none.2);
        // Who may not act as others is refused whatever the others may.
        let said = crate::reach::render(
            &ground,
            "pouch.yaml",
            &[
                "--kubeconfig",
                &to("weak", &cluster, &format!("token: {}", token("nobody"))),
                "--as",
                "admin",
                "--log-level",
                "warn",
            ],
            &[],
        );
        said.is(5, &["does not allow"]);
        assert!(!said.stderr.contains("tried=2"), "a refusal was tried again: {}", said.stderr);
        let url = "http://127.0.0.1:1";
        let through = to("through", &format!("{cluster}, proxy-url: '{url}'"), &admin);
        by(&through, 5, &["cannot be read", "through the proxy http://127.0.0.1:1"]);
        let no_url = to("no-url", &format!("{cluster}, proxy-url: 'socks9://x'"), &admin);
        by(&no_url, 64, &["the proxy socks9://x is not one that is reached by plain HTTP"]);
        hanging.join().unwrap();
    });
}

#[test]
fn a_cluster_without_k0rdent_is_told() {
    let Some(server) = ApiServer::start() else { return };
    let scratch = tempfile::tempdir().unwrap();
    let (_, recipient) = pouch::age::generate_identity().unwrap();
    server.kubeconfig(&scratch.path().join("kubeconfig"), "admin");
    server.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: kcm-system}\n");
    fs::write(scratch.path().join("reuse.key"), &*pouch_core::reuse::ReuseKey::to_text(&[7; 32])).unwrap();
    let config = format!(
        "apiVersion: pouch/v1alpha1\nkind: Fleet\nmetadata: {{name: live}}\nsources: {CLUSTER}\n\
         regions: {{eu: {{recipients: [{recipient}], namespaces: {{allowed: ['*']}}, delivery: none}}}}\n\
         reuseKey: {{file: reuse.key}}\n"
    );
    fs::write(scratch.path().join("pouch.yaml"), config).unwrap();
    let (code, _, stderr) = program(scratch.path(), &["render", "--kubeconfig", "kubeconfig"], &[]);
    assert_eq!(code, 5, "{stderr}");
    assert!(stderr.contains("serves no ProviderInterface"), "{stderr}");
    assert!(stderr.contains("that k0rdent is installed"), "{stderr}");
}

/// A Pod has its token and the authority in files, and the server in its environment.
#[test]
fn a_pod_reaches_its_own_cluster() {
    let Some(ground) = Ground::new() else { return };
    ground.write("account/token", &token("admin"));
    ground.write("account/ca.crt", ground.server.ca());
    let port = ground.server.address().port().to_string();
    let vars = [("KUBERNETES_SERVICE_HOST", "127.0.0.1"), ("KUBERNETES_SERVICE_PORT", port.as_str())];
    let ambient = Ambient::fixed(&ground.path("."), jiff::Timestamp::UNIX_EPOCH, &vars);
    let wanted = Wanted { service_account: Some(ground.path("account")), ..Wanted::default() };
    let discovered = || {
        let cluster = Cluster::connect(&wanted, hasty(), &ambient, &Arc::default()).unwrap();
        assert_eq!(&*cluster.context, "in-cluster");
        cluster.discover(["k0rdent.mirantis.com"]).map(|served| served.unknown.is_empty())
    };
    assert!(matches!(discovered(), Ok(true)));
    // The token is what opens: another one does not.
    ground.write("account/token", "nobody");
    assert!(!matches!(discovered(), Ok(true)));
}
