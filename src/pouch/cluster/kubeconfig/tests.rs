//! Kubeconfigs as people have them, and as they break them.

use super::*;
use crate::error::Kind;

use jiff::Timestamp;

const KUBECONFIG: &str = "apiVersion: v1
kind: Config
clusters:
  - {name: a, cluster: {server: https://a.example:6443}}
  - {name: b, cluster: {server: https://b.example, insecure-skip-tls-verify: true}}
users: [{name: u, user: {token: CANARY}}]
contexts:
  - {name: prod, context: {cluster: a, user: u}}
  - {name: stage, context: {cluster: b, user: u}}
";

/// Looked at as far as its armor.
const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\nQ0FOQVJZ\n-----END CERTIFICATE-----\n";

struct Home(tempfile::TempDir);

impl Home {
    fn new(files: &[(&str, &str)]) -> Self {
        let home = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = home.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Self(home)
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    /// `context server`, or `message | help`, with the folder's name taken out.
    fn access(&self, wanted: &Wanted, vars: &[(&str, &str)]) -> String {
        let vars: Vec<(&str, String)> =
            vars.iter().map(|(name, value)| (*name, value.replace('~', self.path("").trim_end_matches('/')))).collect();
        let mut vars: Vec<(&str, &str)> = vars.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let home = self.path("");
        vars.push(("HOME", home.trim_end_matches('/')));
        let ambient = Ambient::fixed(self.0.path(), Timestamp::UNIX_EPOCH, &vars);
        let text = match access(wanted, &ambient, &Arc::default()) {
            Ok(access) => {
                let insecure = if access.insecure { " insecure" } else { "" };
                let proxy = access.config.proxy_url.map(|url| format!(" by {url}")).unwrap_or_default();
                let auth = &access.config.auth_info;
                let user = auth.impersonate.iter().chain(auth.impersonate_groups.iter().flatten());
                let user: Vec<&str> = user.map(String::as_str).collect();
                format!("{} {}{insecure}{proxy} {}", access.context, access.server, user.join(","))
            }
            Err(error) => {
                let kind = if error.kind == Kind::Usage { "usage" } else { "unavailable" };
                assert!(error.help.ends_with(['.', '?']) && !error.message.ends_with('.'), "{error:?}");
                format!("{kind}: {} | {}", error.message, error.help)
            }
        };
        assert!(!text.contains("CANARY"), "{text}");
        text.replace(&self.path(""), "~/").trim_end().to_owned()
    }
}

fn context(name: &str) -> Wanted {
    Wanted { context: Some(name.to_owned()), ..Wanted::default() }
}

#[track_caller]
fn check(files: &[(&str, &str)], wanted: &Wanted, vars: &[(&str, &str)], expect: &str) {
    assert_eq!(Home::new(files).access(wanted, vars), expect);
}

#[test]
fn the_usual_places_are_those_of_kubectl() {
    let home = (".kube/config", KUBECONFIG);
    let one = KUBECONFIG.replace("  - {name: stage, context: {cluster: b, user: u}}\n", "");
    check(&[home], &context("prod"), &[], "prod https://a.example:6443");
    check(&[home], &context("stage"), &[], "stage https://b.example insecure");
    check(&[(".kube/config", &one)], &Wanted::default(), &[], "prod https://a.example:6443");
    // KUBECONFIG wins over the home folder, its first file over the next, and absent ones count for nothing.
    let other = one.replace("a.example:6443", "other.example").replace("prod", "only");
    let vars = [("KUBECONFIG", "~/absent:~/other")];
    check(&[home, ("other", &other)], &Wanted::default(), &vars, "only https://other.example");
    let split = "contexts: [{name: prod, context: {cluster: a, user: u}}]\n";
    let vars = [("KUBECONFIG", "~/first:~/other")];
    check(&[("first", split), ("other", &other)], &context("prod"), &vars, "prod https://other.example");
    let file = Home::new(&[("other", &other)]);
    let wanted = Wanted { kubeconfig: Some(file.path("other").into()), ..Wanted::default() };
    assert_eq!(file.access(&wanted, &[("KUBECONFIG", "~/absent")]), "only https://other.example");
}

#[test]
fn which_cluster_is_meant_is_never_guessed() {
    let home = (".kube/config", KUBECONFIG);
    let several = "usage: ~/.kube/config has several contexts, and none is chosen | Choose one with --context, or in the configuration. Its contexts are prod, stage.";
    check(&[home], &Wanted::default(), &[], several);
    let current = format!("{KUBECONFIG}current-context: prod\n");
    check(&[(".kube/config", &current)], &Wanted::default(), &[], several);
    let nowhere = format!("{KUBECONFIG}current-context: gone\n");
    check(
        &[(".kube/config", &nowhere)],
        &Wanted::default(),
        &[],
        "usage: the current context of ~/.kube/config is \"gone\", which it does not have | Choose one with --context. Its contexts are prod, stage.",
    );
    check(
        &[home],
        &context("prodd"),
        &[],
        "usage: ~/.kube/config has no context \"prodd\" | Did you mean prod? Its contexts are prod, stage.",
    );
    check(
        &[home],
        &context("zzzzzzzz"),
        &[],
        "usage: ~/.kube/config has no context \"zzzzzzzz\" | Its contexts are prod, stage.",
    );
    check(
        &[(".kube/config", "")],
        &Wanted::default(),
        &[],
        "usage: ~/.kube/config has no context | Name another kubeconfig.",
    );
    check(
        &[],
        &Wanted::default(),
        &[],
        "usage: there is no kubeconfig, and pouch does not run in a Pod | Name a kubeconfig with --kubeconfig or KUBECONFIG.",
    );
    check(
        &[],
        &context("prod"),
        &[("KUBERNETES_SERVICE_HOST", "10.0.0.1")],
        "usage: the context \"prod\" is asked for, and there is no kubeconfig | Name the kubeconfig with --kubeconfig or KUBECONFIG.",
    );
    check(
        &[],
        &Wanted::default(),
        &[("KUBECONFIG", "~/absent")],
        "usage: the kubeconfig ~/absent does not exist | KUBECONFIG names it: correct the variable, or use --kubeconfig.",
    );
    let wanted = Wanted { kubeconfig: Some("/nonexistent/kubeconfig".into()), ..Wanted::default() };
    check(
        &[],
        &wanted,
        &[],
        "usage: the kubeconfig /nonexistent/kubeconfig does not exist | Name a file that is there, or leave it out for \
         the usual ones.",
    );
}

#[test]
fn what_is_broken_is_named_and_not_quoted() {
    let broken = |from: &str, to: &str| KUBECONFIG.replace(from, to);
    for (text, expect) in [
        (broken("token: CANARY", "token: [CANARY"), "the kubeconfig ~/.kube/config is not YAML at line 6, column 33"),
        (broken("users: [", "users: CANARY\nx: ["), "~/.kube/config is no kubeconfig"),
        (
            broken("{cluster: a, user", "{cluster: zz, user"),
            "the context \"prod\" names a cluster that the kubeconfig does not have",
        ),
        (broken("server: https://a.example:6443", "x: y"), "the context \"prod\" names a cluster without a server"),
        (
            broken("https://a.example:6443", "\"https:// CANARY\""),
            "the context \"prod\" names a cluster whose server is no URL",
        ),
        (
            broken("6443}", "6443, certificate-authority: nowhere.crt}"),
            "the context \"prod\" has a certificate authority that cannot be read",
        ),
        (
            broken("6443}", "6443, certificate-authority-data: \"CANARY!\"}"),
            "the context \"prod\" has a certificate authority that cannot be read",
        ),
    ] {
        let said = Home::new(&[(".kube/config", &text)]).access(&context("prod"), &[]);
        let message = said.strip_prefix("unavailable: ").unwrap_or(&said);
        assert_eq!(message.split(" | ").next(), Some(expect), "{said}");
    }
    let provider = broken("token: CANARY", "auth-provider: {name: gcp, config: {x: CANARY}}");
    check(
        &[(".kube/config", &provider)],
        &context("prod"),
        &[],
        "usage: the context prod uses the auth provider \"gcp\" | kubectl dropped auth providers in 1.26: use the exec plugin of the same cloud.",
    );
    let exec = broken("token: CANARY", "exec: {apiVersion: client.authentication.k8s.io/v1, command: no-such-plugin}");
    check(
        &[(".kube/config", &exec)],
        &context("prod"),
        &[],
        "unavailable: the credential plugin of context prod is not installed: \"no-such-plugin\" | Install it.",
    );
}

#[test]
fn proxies_are_those_that_the_server_needs() {
    let home = (".kube/config", KUBECONFIG);
    let by = |vars: &[(&str, &str)], expect: &str| check(&[home], &context("prod"), vars, expect);
    by(&[("HTTPS_PROXY", "http://proxy:3128")], "prod https://a.example:6443 by http://proxy:3128/");
    by(&[("https_proxy", "proxy:3128")], "prod https://a.example:6443 by http://proxy:3128/");
    by(&[("HTTP_PROXY", "http://proxy:3128")], "prod https://a.example:6443");
    by(&[("HTTPS_PROXY", "http://proxy:3128"), ("NO_PROXY", "b.example,.example")], "prod https://a.example:6443");
    by(&[("HTTPS_PROXY", "http://proxy:3128"), ("no_proxy", "*")], "prod https://a.example:6443");
    by(
        &[("HTTPS_PROXY", "http://proxy:3128"), ("NO_PROXY", "proxy")],
        "prod https://a.example:6443 by http://proxy:3128/",
    );
    let own = KUBECONFIG.replace("6443}", "6443, proxy-url: http://own:1}");
    let vars = [("HTTPS_PROXY", "http://proxy:3128"), ("NO_PROXY", "*")];
    check(&[(".kube/config", &own)], &context("prod"), &vars, "prod https://a.example:6443 by http://own:1/");
}

#[test]
fn acting_as_somebody_else_is_what_the_flags_say() {
    let home = (".kube/config", KUBECONFIG);
    let wanted = |user: Option<&str>, groups: &[&str]| Wanted {
        as_user: user.map(str::to_owned),
        as_groups: groups.iter().map(|group| (*group).to_owned()).collect(),
        ..context("prod")
    };
    check(&[home], &wanted(Some("ann"), &["dev", "ops"]), &[], "prod https://a.example:6443 ann,dev,ops");
    check(&[home], &wanted(None, &["dev"]), &[], "usage: --as-group needs --as | Name the user to act as, too.");
    // Groups of the kubeconfig belong to its own user.
    let own = KUBECONFIG.replace("{token: CANARY}", "{token: CANARY, as: bob, as-groups: [x]}");
    check(&[(".kube/config", &own)], &context("prod"), &[], "prod https://a.example:6443 bob,x");
    check(&[(".kube/config", &own)], &wanted(Some("ann"), &[]), &[], "prod https://a.example:6443 ann");
}

#[test]
fn tokens_are_taken_without_the_line_feed_that_files_end_in() {
    let token = |home: &Home| {
        let ambient = Ambient::fixed(home.0.path(), Timestamp::UNIX_EPOCH, &[]);
        let wanted = Wanted { kubeconfig: Some(home.path("config").into()), ..context("prod") };
        let access = access(&wanted, &ambient, &Arc::default());
        access.map(|access| access.config.auth_info.token.map(|token| token.expose_secret().to_owned()))
    };
    let inline = KUBECONFIG.replace("token: CANARY", "token: \"CANARY\\n\"");
    assert_eq!(token(&Home::new(&[("config", &inline)])), Ok(Some("CANARY".to_owned())));
    let file = KUBECONFIG.replace("token: CANARY", "token: old, tokenFile: tok");
    let home = Home::new(&[("config", &file), ("tok", "new\n")]);
    assert_eq!(token(&home), Ok(Some("new".to_owned())));
    // A client can be made of it: kube panics on what is no header.
    let broken = Home::new(&[("config", &inline.replace("CANARY", "CAN\\nARY"))]);
    let error = token(&broken).unwrap_err();
    assert_eq!(error.message, "the token of context prod has characters that no token has");
    let error = token(&Home::new(&[("config", &file)])).unwrap_err();
    assert!(error.message.starts_with("the token file ") && error.message.ends_with("entity not found"), "{error:?}");
}

#[test]
fn what_kube_would_read_otherwise_is_read_as_kubectl_does() {
    // An empty current context chooses nothing, and the next file may.
    let first = "current-context: \"\"\n";
    let one = KUBECONFIG.replace("  - {name: stage, context: {cluster: b, user: u}}\n", "current-context: prod\n");
    let vars = [("KUBECONFIG", "~/first:~/other")];
    check(&[("first", first), ("other", &one)], &Wanted::default(), &vars, "prod https://a.example:6443");
    // A proxy of the kubeconfig's own counts, whatever NO_PROXY says, and whatever it is called.
    let own = KUBECONFIG.replace("6443}", "6443, proxy-url: http://proxy.example:1}");
    let vars = [("NO_PROXY", ".example,,")];
    check(&[(".kube/config", &own)], &context("prod"), &vars, "prod https://a.example:6443 by http://proxy.example:1/");
    let vars = [("HTTPS_PROXY", "http://proxy:1"), ("NO_PROXY", "b.example,,")];
    check(&[(".kube/config", KUBECONFIG)], &context("prod"), &vars, "prod https://a.example:6443 by http://proxy:1/");
    let tls = KUBECONFIG.replace("6443}", "6443, proxy-url: https://u:CANARY@proxy.example}");
    check(
        &[(".kube/config", &tls)],
        &context("prod"),
        &[],
        "usage: the proxy https://proxy.example is not one that is reached by plain HTTP | Use one such as http://proxy:3128; what goes through it is TLS.",
    );
    let wanted = Wanted { as_user: Some("j\u{fc}rgen".to_owned()), ..context("prod") };
    check(
        &[(".kube/config", KUBECONFIG)],
        &wanted,
        &[],
        "usage: \"j\u{fc}rgen\" cannot be sent as a user or group | HTTP takes visible ASCII characters there.",
    );
}

#[test]
fn a_pod_uses_its_service_account() {
    let home = Home::new(&[("account/token", "CANARY"), ("account/ca.crt", CERTIFICATE), ("bare/ca.crt", CERTIFICATE)]);
    let wanted = |folder: &str| Wanted { service_account: Some(home.path(folder).into()), ..Wanted::default() };
    let pod = |host, port| [("KUBERNETES_SERVICE_HOST", host), ("KUBERNETES_SERVICE_PORT", port)];
    for (folder, host, port, expect) in [
        ("account", "10.0.0.1", "443", "in-cluster https://10.0.0.1"),
        ("account", "fd00::1", "6443", "in-cluster https://[fd00::1]:6443"),
        ("account", "kubernetes.default.svc", "8443", "in-cluster https://kubernetes.default.svc:8443"),
        ("account", "10.0.0.1", "", "usage: there is no kubeconfig, and pouch does not run in a Pod"),
        (
            "account",
            "10.0.0.1",
            "https",
            "unavailable: the Pod's service account cannot be used: KUBERNETES_SERVICE_HOST and \
             KUBERNETES_SERVICE_PORT make no URL",
        ),
        ("bare", "10.0.0.1", "443", "unavailable: the Pod's service account cannot be used: its token cannot be read"),
        ("", "10.0.0.1", "443", "unavailable: the Pod's service account cannot be used: its token cannot be read"),
    ] {
        let said = home.access(&wanted(folder), &pod(host, port));
        let said = said.split(" | ").next().unwrap_or_default().trim_end_matches('/').trim_end_matches(":443");
        assert_eq!(said, expect, "{folder} {host} {port}");
    }
    std::fs::write(home.path("account/ca.crt"), "CANARY").unwrap();
    let said = home.access(&wanted("account"), &pod("10.0.0.1", "443"));
    assert!(said.contains("its CA cannot be read"), "{said}");
    let said = home.access(&Wanted::default(), &pod("10.0.0.1", "443"));
    assert!(said.contains("cannot be used"), "no Pod, so no such folder: {said}");
}
