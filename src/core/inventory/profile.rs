//! ClusterProfiles: what a cluster manager says of one cluster.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::{Status, conditions};
use crate::finding::{Code, Fault};
use crate::lenient::Faults;
use crate::node::Node;
use crate::object::Object;

/// The property that names a cluster within its ClusterSet.
///
/// <https://github.com/kubernetes/enhancements/tree/master/keps/sig-multicluster/2149-clusterid>
pub const CLUSTER_ID: &str = "cluster.clusterset.k8s.io";

/// The property that names the set of clusters in which [`CLUSTER_ID`] is unique.
pub const CLUSTER_SET: &str = "clusterset.k8s.io";

/// The extension that goes to a plugin as the `config` of its cluster.
pub const EXEC_EXTENSION: &str = "client.authentication.k8s.io/exec";

/// What stands for certificates where facts are printed of a cluster that Argo CD is told nothing of.
pub const UNREADABLE: &str = "unreadable";

/// What a ClusterProfile says.
#[derive(Clone, PartialEq, Default)]
pub struct Profile {
    /// Who manages it.
    pub manager: String,
    /// How people call the cluster.
    pub display: Option<String>,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its properties.
    pub properties: BTreeMap<String, String>,
    /// Its conditions, by type.
    pub conditions: BTreeMap<String, Status>,
    /// The version of Kubernetes, as written.
    pub kubernetes: Option<String>,
    /// How the cluster is reached, in the order of the object; the older `credentialProviders` come after
    /// `accessProviders`, and only those whose names these do not have.
    pub access: Vec<Access>,
    /// Whether it has a `deletionTimestamp`.
    pub deleting: bool,
    /// Whether something of its labels, or of how its cluster is reached, could not be read: what is left of it may say
    /// something else than it was meant to.
    pub is_doubtful: bool,
}

/// One way to reach a cluster.
#[derive(Clone, PartialEq)]
pub struct Access {
    /// The name of the provider, by which a provider file says which plugin is run.
    pub name: String,
    /// Where the cluster is.
    pub cluster: AccessCluster,
}

/// A cluster as a kubeconfig has it, of which an object may say everything but a file on this machine.
#[derive(Clone, PartialEq, Default)]
pub struct AccessCluster {
    /// The URL of its API server.
    pub server: String,
    /// The name that its certificate is made out to.
    pub tls_server_name: Option<String>,
    /// Whether its certificate is not checked.
    pub insecure: bool,
    /// The authorities that its certificate is checked by, in base64.
    pub ca_data: Option<String>,
    /// The proxy on the way to it.
    pub proxy_url: Option<String>,
    /// Whether answers are not compressed.
    pub disable_compression: bool,
    /// What it says to plugins, by the name of the extension.
    pub extensions: BTreeMap<String, Node>,
}

impl Profile {
    /// The servers that it names, each once, as [`server`] writes them.
    pub fn servers(&self) -> BTreeSet<String> {
        self.access.iter().map(|access| server(&access.cluster.server)).filter(|server| !server.is_empty()).collect()
    }

    /// The access of a provider.
    pub fn access(&self, provider: &str) -> Option<&Access> {
        self.access.iter().find(|access| access.name == provider)
    }

    /// What a condition says; unknown where it is not there.
    pub fn condition(&self, kind: &str) -> Status {
        self.conditions.get(kind).copied().unwrap_or(Status::Unknown)
    }
}

/// What tells a cluster from others by the way to it: one address may lead to several clusters, by the name that is asked
/// for or by the way there.
pub fn mark(cluster: &AccessCluster) -> String {
    let more = [("as", &cluster.tls_server_name), ("by", &cluster.proxy_url)];
    let more = more.into_iter().filter_map(|(word, said)| Some(format!(" {word} {}", said.as_ref()?)));
    server(&cluster.server) + &more.collect::<String>()
}

/// A server's URL in one spelling: scheme and host in lower case, the default port written out, no slash at its end.
pub fn server(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return String::new() };
    let scheme = scheme.to_ascii_lowercase();
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = host.to_ascii_lowercase();
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
    let port = match (has_port, &*scheme) {
        (true, _) => "",
        (false, "http") => ":80",
        (false, _) => ":443",
    };
    let path = path.trim_end_matches('/');
    let slash = if path.is_empty() { "" } else { "/" };
    format!("{scheme}://{host}{port}{slash}{path}")
}

/// Reads a ClusterProfile as it is found: properties that nobody knows, conditions without reason, providers as a list or
/// as the map of earlier drafts. What cannot be read is left out, and is a fault.
pub fn read(object: &Object) -> (Profile, Vec<Fault>) {
    let mut faults = Faults::new(Code::UnreadableObject);
    let body = &object.body;
    let mut profile = Profile { deleting: object.deleting, ..Profile::default() };
    profile.labels = object.labels.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    profile.manager =
        faults.needed(body, "", &["spec", "clusterManager", "name"]).map(String::from).unwrap_or_default();
    profile.display = faults.text(body, "", &["spec", "displayName"]).map(String::from);
    profile.kubernetes = faults.text(body, "", &["status", "version", "kubernetes"]).map(String::from);
    for (index, property) in faults.items(body, "", &["status", "properties"]).iter().enumerate() {
        let at = format!("status.properties[{index}]");
        let name = faults.needed(property, &at, &["name"]).map(String::from);
        let value = faults.text(property, &at, &["value"]).map(String::from);
        if let (Some(name), Some(value)) = (name, value) {
            profile.properties.insert(name, value);
        }
    }
    profile.conditions = conditions(body, &mut faults);
    let mut of_access = Faults::new(Code::UnreadableObject);
    for field in ["accessProviders", "credentialProviders"] {
        for access in providers(body, field, &mut of_access) {
            if profile.access(&access.name).is_none() {
                profile.access.push(access);
            }
        }
    }
    let (mut found, mut of_access) = (faults.into_found(), of_access.into_found());
    profile.is_doubtful = !of_access.is_empty() || !object.faults.is_empty();
    found.append(&mut of_access);
    (profile, found)
}

fn providers(body: &Node, field: &str, faults: &mut Faults) -> Vec<Access> {
    let at = format!("status.{field}");
    let mut found = Vec::new();
    match faults.at(body, "", &["status", field]) {
        None => {}
        Some(Node::List(items)) => {
            for (index, item) in items.iter().enumerate() {
                let at = format!("{at}[{index}]");
                let name = faults.needed(item, &at, &["name"]).map(String::from);
                found.extend(name.and_then(|name| access(name, item, &at, faults)));
            }
        }
        Some(Node::Map(entries)) => {
            for (name, item) in entries {
                found.extend(access(name.to_string(), item, &format!("{at}.{name}"), faults));
            }
        }
        Some(other) => _ = faults.wrong_type(&at, other, "a list"),
    }
    found
}

fn access(name: String, item: &Node, at: &str, faults: &mut Faults) -> Option<Access> {
    let server = faults.needed(item, at, &["cluster", "server"])?.to_string();
    if !is_server(&server) {
        // The URL itself is not quoted: what stands before the host may be a password.
        faults.add(
            format!("{at}.cluster.server must be http(s)://HOST[:PORT][/PATH], without user, password or query"),
            "Correct it where the ClusterProfile is made.",
        );
        return None;
    }
    let cluster = item.get("cluster")?;
    let flag = |field: &str, faults: &mut Faults| match cluster.at(&[field]) {
        None => false,
        Some(Node::Bool(flag)) => *flag,
        Some(other) => {
            let _ = faults.wrong_type(&format!("{at}.cluster.{field}"), other, "a boolean");
            false
        }
    };
    let text = |field: &str, faults: &mut Faults| faults.text(item, at, &["cluster", field]).map(String::from);
    if faults.text(item, at, &["cluster", "proxy-url"]).is_some_and(|url| url.contains(['@', '?', '#'])) {
        faults.add(
            format!("{at}.cluster.proxy-url must be the URL of a proxy without user, password, query or fragment"),
            "Correct it where the ClusterProfile is made.",
        );
        return None;
    }
    let mut extensions = BTreeMap::new();
    for (index, extension) in faults.items(item, at, &["cluster", "extensions"]).iter().enumerate() {
        let at = format!("{at}.cluster.extensions[{index}]");
        let name = faults.needed(extension, &at, &["name"]);
        let node = faults.needed_at(extension, &at, &["extension"], "Correct it where the ClusterProfile is made.");
        if let (Some(name), Some(node)) = (name, node) {
            extensions.insert(name.to_string(), node.clone());
        }
    }
    let ca_data = text("certificate-authority-data", faults);
    if ca_data.as_deref() == Some(UNREADABLE) {
        faults.add(
            format!("{at}.cluster was not known where these facts were printed"),
            "Correct what that run says of the ClusterProfile, and print the facts again.",
        );
    }
    let cluster = AccessCluster {
        server,
        tls_server_name: text("tls-server-name", faults),
        insecure: flag("insecure-skip-tls-verify", faults),
        ca_data: ca_data.filter(|data| data != UNREADABLE),
        proxy_url: text("proxy-url", faults),
        disable_compression: flag("disable-compression", faults),
        extensions,
    };
    Some(Access { name, cluster })
}

/// Whether a text is the URL of a server: http or https, a host, nothing that looks like a password, no query.
fn is_server(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else { return false };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~/:[]%".contains(c);
    let host: Box<str> = rest.split('/').next().unwrap_or_default().into();
    matches!(&*scheme.to_ascii_lowercase(), "http" | "https") && !host.is_empty() && rest.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::object;

    fn profile(rest: &str) -> (Profile, Vec<String>) {
        let head = "apiVersion: multicluster.x-k8s.io/v1alpha1\nkind: ClusterProfile\nmetadata: {name: eu, namespace: fleet}\n";
        let (profile, faults) = read(&object(&format!("{head}{rest}\n")));
        (profile, faults.into_iter().map(|fault| fault.message).collect())
    }

    #[test]
    fn what_people_have_is_read() {
        let (profile, faults) = profile(
            "spec: {displayName: EU, clusterManager: {name: ocm}}\nstatus:\n  version: {kubernetes: 1.28.0}\n  \
             properties: [{name: location, value: apac}, {name: other.example, value: x, lastObservedTime: z}]\n  \
             conditions: [{type: ControlPlaneHealthy, status: True, message: ''}, {type: Joined, status: 'False'}, {type: X, status: 7}]\n  \
             accessProviders: [{name: a, cluster: {server: 'https://one', tls-server-name: name}}]\n  \
             credentialProviders: {a: {cluster: {server: 'https://old'}}, b: {cluster: {server: 'https://two:6443'}}}",
        );
        assert_eq!(faults, Vec::<String>::new());
        assert_eq!((profile.manager.as_str(), profile.display.as_deref()), ("ocm", Some("EU")));
        assert_eq!(profile.properties["location"], "apac");
        let said = ["ControlPlaneHealthy", "Joined", "X", "none"].map(|kind| profile.condition(kind));
        assert_eq!(said, [Status::True, Status::False, Status::Unknown, Status::Unknown]);
        let access: Vec<_> = profile.access.iter().map(|a| (a.name.as_str(), a.cluster.server.as_str())).collect();
        assert_eq!(access, [("a", "https://one"), ("b", "https://two:6443")], "the newer list wins");
        assert_eq!(profile.servers().into_iter().collect::<Vec<_>>(), ["https://one:443", "https://two:6443"]);
    }

    #[test]
    fn what_cannot_be_read_is_said_without_quoting_it() {
        let (profile, faults) = profile(
            "spec: {clusterManager: {}}\nstatus: {properties: {}, accessProviders: [{name: a, cluster: {server: 'https://u:hunter2@h'}}, \
             {name: b, cluster: {server: h}}, {cluster: {server: 'https://h'}}, {name: c, cluster: {server: 'https://h', \
             certificate-authority: /etc/passwd, insecure-skip-tls-verify: 'yes', extensions: {}}}]}",
        );
        let is_told = |what: &str| faults.iter().any(|fault| fault.contains(what));
        for what in [
            "spec.clusterManager.name is missing",
            "status.properties is a map",
            "status.accessProviders[0].cluster.server must be http",
            "status.accessProviders[1].cluster.server must be http",
            "status.accessProviders[2].name is missing",
            "insecure-skip-tls-verify is text, not a boolean",
            "extensions is a map, not a list",
        ] {
            assert!(is_told(what), "{what}: {faults:#?}");
        }
        assert!(!is_told("hunter2"));
        assert_eq!(profile.access.iter().map(|a| &*a.name).collect::<Vec<_>>(), ["c"]);
        assert!(!profile.access[0].cluster.insecure);
    }

    #[test]
    fn what_is_left_of_a_faulty_access_is_doubtful() {
        let access = |rest: &str| {
            let text = format!(
                "spec: {{clusterManager: {{name: ocm}}}}\nstatus: {{properties: {{}}, accessProviders: [{rest}], \
                 credentialProviders: {{a: {{cluster: {{server: 'https://old'}}}}}}}}"
            );
            profile(&text).0
        };
        for rest in [
            "{name: a, cluster: {server: h}}",
            "{name: a, cluster: {server: 'https://h', tls-server-name: 1}}",
            "{name: a, cluster: {server: 'https://h', extensions: [{name: x}]}}",
            "{name: a, cluster: {server: 'https://h', certificate-authority-data: unreadable}}",
        ] {
            assert!(access(rest).is_doubtful, "{rest}");
        }
        // A fault elsewhere says nothing of it.
        assert!(!access("{name: a, cluster: {server: 'https://h'}}").is_doubtful);
    }

    #[test]
    fn one_server_has_one_spelling() {
        for (a, b) in [
            ("https://H:443/", "https://h"),
            ("https://h/k8s/clusters/c-1/", "https://h:443/k8s/clusters/c-1"),
            ("HTTP://h", "http://h:80"),
            ("https://[::1]:6443", "https://[::1]:6443/"),
        ] {
            assert_eq!(server(a), server(b));
        }
        assert_ne!(server("https://h/a"), server("https://h/b"));
        assert_eq!(server("h:443"), "");
    }
}
