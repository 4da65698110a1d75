//! Tests of [`super`].

use super::*;
use crate::inventory::profile;
use crate::testing::object;

fn file(providers: &str) -> Result<ProviderFile, Vec<String>> {
    let told = |faults: Vec<Fault>| faults.into_iter().map(|fault| fault.message).collect();
    read(&format!("{{\"providers\": [{providers}]}}")).map_err(told)
}

fn provider(name: &str, rest: &str) -> String {
    format!(
        r#"{{"name": "{name}", "execConfig": {{"apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/{name}",
           "args": ["one"], "env": [{{"name": "A", "value": "file"}}, {{"name": "B", "value": "file"}}], "provideClusterInfo": true}}{rest}}}"#
    )
}

fn profile(access: &str) -> Profile {
    let head = "apiVersion: multicluster.x-k8s.io/v1alpha1\nkind: ClusterProfile\nmetadata: {name: eu, namespace: fleet}\nspec: {clusterManager: {name: ocm}}\n";
    profile::read(&object(&format!("{head}status: {{{access}}}\n"))).0
}

fn chosen(file: &ProviderFile, access: &str) -> Result<Way, Vec<String>> {
    file.choose(&profile(access)).map_err(|faults| faults.into_iter().map(|fault| fault.message).collect())
}

#[test]
fn the_order_of_the_file_decides() {
    let two = file(&format!("{},{}", provider("b", ""), provider("a", ""))).unwrap();
    let both =
        "accessProviders: [{name: a, cluster: {server: 'https://a'}}, {name: b, cluster: {server: 'https://b'}}]";
    let Ok(way) = chosen(&two, both) else { panic!("it has both") };
    assert_eq!((&*way.provider, &*way.exec.command, &*way.cluster.server), ("b", "/bin/b", "https://b"));
    let Ok(way) = chosen(&two, "credentialProviders: {a: {cluster: {server: 'https://old'}}}") else { panic!("a") };
    assert_eq!((&*way.provider, &*way.cluster.server), ("a", "https://old"));
    let Err(faults) = chosen(&two, "accessProviders: [{name: c, cluster: {server: 'https://c'}}]") else { panic!("c") };
    assert_eq!(faults, ["the ClusterProfile has the access providers c, and the provider file has b, a"]);
    let Err(faults) = chosen(&two, "properties: []") else { panic!("none") };
    assert_eq!(faults, ["the ClusterProfile has no access provider that can be read"]);
}

/// A profile whose cluster has these extensions.
fn extended(extensions: &str) -> String {
    format!("accessProviders: [{{name: a, cluster: {{server: 'https://a', extensions: [{extensions}]}}}}]")
}

#[test]
fn what_a_profile_says_reaches_the_plugin_only_by_the_files_policies() {
    let all = extended(&format!(
        "{{name: {EXEC_EXTENSION}, extension: {{clusterName: x}}}}, {{name: {ARGUMENTS_EXTENSION}, extension: [two, one]}}, \
         {{name: {VARIABLES_EXTENSION}, extension: {{B: profile, C: profile}}}}"
    ));
    let pairs =
        |way: &Way| way.exec.variables.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>();
    let listed = r#","profileSourcedEnvVars": ["B", "C"]"#;
    for (policies, arguments, variables) in [
        ("", vec!["one"], vec!["A=file", "B=file"]),
        (
            r#","profileSourcedCLIArgsPolicy": "Ignore","profileSourcedEnvVarsPolicy": "Ignore""#,
            vec!["one"],
            vec!["A=file", "B=file"],
        ),
        (r#","profileSourcedCLIArgsPolicy": "Append""#, vec!["one", "two", "one"], vec!["A=file", "B=file"]),
        (r#","profileSourcedEnvVarsPolicy": "AppendIfNotExists""#, vec!["one"], vec!["A=file", "B=file", "C=profile"]),
        (r#","profileSourcedEnvVarsPolicy": "Replace""#, vec!["one"], vec!["A=file", "B=profile", "C=profile"]),
    ] {
        let file = file(&provider("a", &format!("{policies}{listed}"))).unwrap();
        let Ok(way) = chosen(&file, &all) else { panic!("{policies}") };
        assert_eq!(way.exec.arguments, arguments, "{policies}");
        assert_eq!(pairs(&way), variables, "{policies}");
        assert_eq!(way.config.as_ref().and_then(|config| config.str_at(&["clusterName"])), Some("x"));
        // As the library must not do: what one cluster adds is not there for the next.
        let Ok(next) = chosen(&file, &extended("")) else { panic!("{policies}") };
        assert_eq!(next.exec.arguments, ["one"], "{policies}");
    }
}

#[test]
fn a_profile_never_chooses_what_runs() {
    let policies = r#","profileSourcedCLIArgsPolicy": "Append","profileSourcedEnvVarsPolicy": "Replace""#;
    let open = file(&provider("a", &format!("{policies},\"profileSourcedEnvVars\": [\"x\", \"CLUSTER\"]"))).unwrap();
    let set =
        |name: &str| chosen(&open, &extended(&format!("{{name: {VARIABLES_EXTENSION}, extension: {{{name}: /tmp}}}}")));
    // Of these, the second line was let through by a list of what is refused.
    for name in
        ["PATH", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "BASH_ENV", "KUBERNETES_EXEC_INFO", "cluster", "CLUSTERS"]
            .into_iter()
            .chain([
                "PERLLIB",
                "CLOUDSDK_PYTHON_ARGS",
                "OPENSSL_CONF",
                "AWS_ENDPOINT_URL_STS",
                "'BASH_FUNC_a%%'",
                "0",
                "A",
            ])
    {
        let Err(faults) = set(name) else { panic!("{name}") };
        assert!(faults[0].contains("is not a variable that provider \"a\" takes from a ClusterProfile"), "{faults:?}");
    }
    let Ok(way) = set("CLUSTER") else { panic!("it is listed") };
    assert!(way.exec.variables.contains(&("CLUSTER".into(), "/tmp".into())));
    for (name, extension, expect) in [
        (ARGUMENTS_EXTENSION, "{args: [x]}", "is a map, not a list"),
        (ARGUMENTS_EXTENSION, "[x, 1]", "[1] is an integer, not text"),
        (ARGUMENTS_EXTENSION, "\"x\"", "is text, not a list"),
        (VARIABLES_EXTENSION, "[x]", "is a list, not a map"),
        (VARIABLES_EXTENSION, "{x: 1}", "\"x\" is an integer, not text"),
        (VARIABLES_EXTENSION, "{'x=y': z}", "is no environment variable"),
    ] {
        let access = extended(&format!("{{name: {name}, extension: {extension}}}"));
        let Err(faults) = chosen(&open, &access) else { panic!("{extension}") };
        assert!(faults.iter().any(|fault| fault.contains(expect)), "{extension}: {faults:?}");
        let closed = file(&provider("a", "")).unwrap();
        assert!(chosen(&closed, &access).is_ok(), "what is ignored is not looked at: {extension}");
    }
}

#[test]
fn what_the_cluster_says_of_its_connection_holds() {
    let file = file(&provider("a", "")).unwrap();
    let Ok(way) = chosen(
        &file,
        "accessProviders: [{name: a, cluster: {server: 'https://a', insecure-skip-tls-verify: true, tls-server-name: other, \
         proxy-url: 'http://p:1', disable-compression: true, certificate-authority: /etc/passwd}}]",
    ) else {
        panic!("it can be used")
    };
    let cluster = way.cluster;
    assert!(cluster.insecure && cluster.disable_compression);
    assert_eq!((cluster.tls_server_name.as_deref(), cluster.proxy_url.as_deref()), (Some("other"), Some("http://p:1")));
    assert_eq!(cluster.ca_data, None, "a path of another machine is not read");
    let Err(faults) = chosen(
        &file,
        "accessProviders: [{name: a, cluster: {server: 'https://a', insecure-skip-tls-verify: true, certificate-authority-data: eA==}}]",
    ) else {
        panic!("one excludes the other")
    };
    assert!(faults[0].contains("exclude each other"), "{faults:?}");
}

#[test]
fn the_file_is_read_strictly_and_every_fault_has_its_place() {
    let exec = |fields: &str| format!(r#"{{"name": "a", "execConfig": {{{fields}}}}}"#);
    let good = r#""apiVersion": "client.authentication.k8s.io/v1", "command": "a""#;
    assert!(file(&exec(good)).is_ok());
    for (providers, expect) in [
        (String::new(), "providers has no entry"),
        (r#"{"name": "a"}"#.into(), "providers[0].execConfig is missing"),
        (r#"{"name": "a", "execConfig": []}"#.into(), "providers[0].execConfig is a list, not a map"),
        (exec(r#""command": "a""#), "providers[0].execConfig.apiVersion is missing or empty"),
        (
            exec(r#""apiVersion": "client.authentication.k8s.io/v1alpha1", "command": "a""#),
            "providers[0].execConfig.apiVersion is unknown, or removed",
        ),
        (
            exec(r#""apiVersion": "client.authentication.k8s.io/v1""#),
            "providers[0].execConfig.command is missing or empty",
        ),
        (
            exec(r#""apiVersion": "client.authentication.k8s.io/v1", "command": "./bin/a""#),
            "providers[0].execConfig.command is a relative path, and which folder it is relative to depends on who runs it",
        ),
        (exec(&format!(r#"{good}, "arg": []"#)), "providers[0].execConfig has no field \"arg\""),
        (exec(&format!(r#"{good}, "args": ["x", 1]"#)), "providers[0].execConfig.args[1] is an integer, not text"),
        (exec(&format!(r#"{good}, "args": {{}}"#)), "providers[0].execConfig.args is a map, not a list"),
        (
            exec(&format!(r#"{good}, "env": [{{"name": "A", "value": 1}}]"#)),
            "providers[0].execConfig.env[0].value is an integer, not text",
        ),
        (
            exec(&format!(r#"{good}, "env": [{{"name": "A"}}, {{"name": "A"}}]"#)),
            "providers[0].execConfig.env[1].name is \"A\", as that of one before it",
        ),
        (
            exec(&format!(r#"{good}, "env": [{{"name": "A=B"}}]"#)),
            "providers[0].execConfig.env[0] is no environment variable",
        ),
        (
            exec(&format!(r#"{good}, "provideClusterInfo": "true""#)),
            "providers[0].execConfig.provideClusterInfo is text, not a boolean",
        ),
        (
            provider("a", r#","profileSourcedCLIArgsPolicy": "append""#),
            "providers[0].profileSourcedCLIArgsPolicy is \"append\", which is no policy",
        ),
        (
            provider("a", r#","profileSourcedEnvVarsPolicy": "Append""#),
            "providers[0].profileSourcedEnvVarsPolicy is \"Append\", which is no policy",
        ),
        (provider("a", r#","policy": 1"#), "providers[0] has no field \"policy\""),
        (provider("a", r#","inheritedEnvVars": ["A", 1]"#), "providers[0].inheritedEnvVars[1] is an integer, not text"),
        (provider("a", r#","inheritedEnvVars": "A""#), "providers[0].inheritedEnvVars is text, not a list"),
        (
            provider("a", r#","inheritedEnvVars": ["A*", "*"]"#),
            "providers[0].inheritedEnvVars[1] is \"*\", which cannot be listed there",
        ),
        (
            provider("a", r#","inheritedEnvVars": ["SOPS_AGE_KEY"]"#),
            "providers[0].inheritedEnvVars[0] is \"SOPS_AGE_KEY\", which cannot be listed there",
        ),
        (
            provider("a", r#","profileSourcedEnvVars": ["AWS_*"]"#),
            "providers[0].profileSourcedEnvVars[0] is \"AWS_*\", which cannot be listed there",
        ),
        (
            format!("{},{}", provider("a", ""), provider("a", "")),
            "providers[1].name is \"a\", as that of a provider before it",
        ),
    ] {
        let faults = file(&providers).unwrap_err();
        assert_eq!(faults, [expect], "{providers}");
    }
    for (text, expect) in [
        ("", "line 1, column 1: the document ends too early"),
        ("{\"providers\": [],\n \"providers\": []}", "line 2, column 12: this key is here for the second time"),
        ("{}", "providers is missing"),
        ("[]", "the object is a list, not a map"),
    ] {
        assert_eq!(read(text).unwrap_err()[0].message, expect, "{text}");
    }
    let near = read(r#"{"providers": [], "provider": []}"#).unwrap_err();
    assert_eq!(near[0].help, "Did you mean providers? Known fields: providers.");
}
