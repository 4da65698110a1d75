//! The provider file of cluster-inventory-api: which plugin gives credentials for the clusters of which provider.
//!
//! The file belongs to whoever runs pouch, and is code: the command comes from it alone. A ClusterProfile says where a
//! cluster is, and what its manager wants the plugin to know; how much of that reaches the plugin is the file's to say.
//!
//! <https://github.com/kubernetes-sigs/cluster-inventory-api/blob/v0.1.3/pkg/access/config.go>

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::profile::{AccessCluster, EXEC_EXTENSION, Profile};
use crate::finding::{Code, Fault};
use crate::json;
use crate::lenient::{Faults, dotted, quoted};
use crate::listing::few;
use crate::name::{Variables, is_variable, variable_fault};
use crate::nearest::did_you_mean;
use crate::node::{Interner, Node};

/// The extension that holds further arguments for the plugin.
pub const ARGUMENTS_EXTENSION: &str = "clusterprofiles.multicluster.x-k8s.io/exec/additional-args";

/// The extension that holds further environment variables for the plugin.
pub const VARIABLES_EXTENSION: &str = "clusterprofiles.multicluster.x-k8s.io/exec/additional-envs";

/// The most names of providers in a message.
const MOST_TOLD: usize = 8;

/// A provider file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProviderFile {
    /// The providers, in the order of the file, which is the order of preference.
    pub providers: Vec<Provider>,
}

/// A provider, and its plugin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Provider {
    /// Its name, as ClusterProfiles have it.
    pub name: String,
    /// Its plugin.
    pub exec: Exec,
    /// What becomes of arguments that a ClusterProfile has for the plugin.
    pub arguments: ArgumentsPolicy,
    /// What becomes of environment variables that a ClusterProfile has for the plugin.
    pub variables: VariablesPolicy,
    /// The environment variables that a ClusterProfile may have for the plugin at all. Names of variables by which a
    /// program can be made to run another one are without number: those that are harmless are listed.
    pub from_profile: BTreeSet<String>,
}

/// A credential plugin, as a kubeconfig has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Exec {
    /// The version of ExecCredential that it speaks.
    pub api_version: String,
    /// The program: an absolute path, or a name that is looked for on `PATH`.
    pub command: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its environment variables beside those that it inherits.
    pub variables: Vec<(String, String)>,
    /// The variables of pouch's own environment that it inherits, beside those that every plugin does.
    pub inherited: Variables,
    /// Whether it is told where the cluster is.
    pub provide_cluster_info: bool,
    /// What to say to whoever has not installed it.
    pub install_hint: String,
}

/// What becomes of arguments that a ClusterProfile has for a plugin.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ArgumentsPolicy {
    /// They are not used.
    #[default]
    Ignore,
    /// They come after those of the file.
    Append,
}

/// What becomes of environment variables that a ClusterProfile has for a plugin.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum VariablesPolicy {
    /// They are not used.
    #[default]
    Ignore,
    /// Those are used that the file does not have.
    AppendIfNotExists,
    /// They win over those of the file.
    Replace,
}

/// How a cluster is reached: where it is, and the plugin to run for its credentials.
#[derive(Clone, PartialEq)]
pub struct Way {
    /// The name of the provider.
    pub provider: String,
    /// Where the cluster is.
    pub cluster: AccessCluster,
    /// The plugin, with what the ClusterProfile may add.
    pub exec: Exec,
    /// What the ClusterProfile says to the plugin, as the `config` of its cluster.
    pub config: Option<Node>,
}

/// Reads a provider file. Unlike objects of other people it is read strictly.
///
/// # Errors
/// What is wrong with it, each with its place in the file.
pub fn read(text: &str) -> Result<ProviderFile, Vec<Fault>> {
    let mut faults = Faults::new(Code::UnreadableObject);
    let file = match json::read(text, &mut Interner::new()) {
        Ok(file) => file,
        Err(flaw) => {
            faults.add(
                format!("line {}, column {}: {}", flaw.line, flaw.column, flaw.what),
                "Write it as JSON: {\"providers\": [{\"name\": …, \"execConfig\": {\"apiVersion\": …, \"command\": …}}]}.",
            );
            return Err(faults.into_found());
        }
    };
    known(&mut faults, &file, "", &["providers"]);
    let mut providers: Vec<Provider> = Vec::new();
    let help = "List the providers, the preferred one first.";
    if faults.needed_at(&file, "", &["providers"], help).is_some_and(|list| list.items().is_empty()) {
        faults.add("providers has no entry".to_string(), help);
    }
    for (index, item) in faults.items(&file, "", &["providers"]).iter().enumerate() {
        let at = format!("providers[{index}]");
        let Some(provider) = provider(&mut faults, item, &at) else { continue };
        if providers.iter().any(|other| other.name == provider.name) {
            faults.add(
                format!("{at}.name is {}, as that of a provider before it", quoted(&provider.name)),
                "Keep one of the two: only the first could ever be chosen.",
            );
        }
        providers.push(provider);
    }
    faults.settle(Some(ProviderFile { providers }))
}

fn provider(faults: &mut Faults, item: &Node, at: &str) -> Option<Provider> {
    // The library passes over the last two.
    const KNOWN: [&str; 6] = [
        "name",
        "execConfig",
        "profileSourcedCLIArgsPolicy",
        "profileSourcedEnvVarsPolicy",
        "profileSourcedEnvVars",
        "inheritedEnvVars",
    ];
    known(faults, item, at, &KNOWN);
    let name = faults.needed(item, at, &["name"]).map(String::from);
    let arguments = policy(
        faults,
        item,
        (at, "profileSourcedCLIArgsPolicy"),
        &[("Ignore", ArgumentsPolicy::Ignore), ("Append", ArgumentsPolicy::Append)],
    );
    let variables = policy(
        faults,
        item,
        (at, "profileSourcedEnvVarsPolicy"),
        &[
            ("Ignore", VariablesPolicy::Ignore),
            ("AppendIfNotExists", VariablesPolicy::AppendIfNotExists),
            ("Replace", VariablesPolicy::Replace),
        ],
    );
    let help = "Write the plugin there as a kubeconfig has it under `exec`.";
    let exec = faults.needed_at(item, at, &["execConfig"], help);
    let exec = exec.and_then(|exec| self::exec(faults, exec, &dotted(at, &["execConfig"])));
    let is_exact = |name: &str| {
        (!is_variable(name)).then_some("Write the name of each variable: a ClusterProfile must not choose among them.")
    };
    let from_profile = names(faults, item, (at, "profileSourcedEnvVars"), &is_exact).into_iter().collect();
    let inherited = Variables::new(names(faults, item, (at, "inheritedEnvVars"), &variable_fault));
    Some(Provider { name: name?, exec: Exec { inherited, ..exec? }, arguments, variables, from_profile })
}

/// The names of variables in a list; each that cannot stand there is a fault with the help that `fault` gives.
fn names(
    faults: &mut Faults,
    item: &Node,
    (place, field): (&str, &str),
    fault: &dyn Fn(&str) -> Option<&'static str>,
) -> Vec<String> {
    let at = dotted(place, &[field]);
    let items = faults.items(item, place, &[field]);
    let names = texts(faults, items, &at).unwrap_or_default();
    for (index, name) in names.iter().enumerate() {
        if let Some(help) = fault(name) {
            faults.add(format!("{at}[{index}] is {}, which cannot be listed there", quoted(name)), help);
        }
    }
    names
}

fn exec(faults: &mut Faults, exec: &Node, at: &str) -> Option<Exec> {
    // `interactiveMode` is taken and means nothing: as for the library, it is always `Never`.
    const KNOWN: [&str; 7] =
        ["apiVersion", "command", "args", "env", "provideClusterInfo", "installHint", "interactiveMode"];
    known(faults, exec, at, &KNOWN);
    let api_version = faults.needed(exec, at, &["apiVersion"]).map(String::from);
    if api_version.as_deref().is_some_and(|version| {
        !matches!(version, "client.authentication.k8s.io/v1" | "client.authentication.k8s.io/v1beta1")
    }) {
        faults.add(
            format!("{at}.apiVersion is unknown, or removed"),
            "Write client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1, whichever the plugin speaks.",
        );
    }
    let command = faults.needed(exec, at, &["command"]).map(String::from);
    if command.as_deref().is_some_and(|command| command.contains('/') && !command.starts_with('/')) {
        faults.add(
            format!("{at}.command is a relative path, and which folder it is relative to depends on who runs it"),
            "Write an absolute path, or the name of a program on PATH.",
        );
    }
    let arguments = faults.items(exec, at, &["args"]);
    let arguments = texts(faults, arguments, &dotted(at, &["args"])).unwrap_or_default();
    let mut variables: Vec<(String, String)> = Vec::new();
    for (index, item) in faults.items(exec, at, &["env"]).iter().enumerate() {
        let at = format!("{at}.env[{index}]");
        known(faults, item, &at, &["name", "value"]);
        let Some(name) = faults.needed(item, &at, &["name"]).map(String::from) else { continue };
        let value = faults.text(item, &at, &["value"]).map(String::from).unwrap_or_default();
        if !is_pair(&name, &value) {
            faults.add(format!("{at} is no environment variable"), "A name has no `=`, and neither has a NUL byte.");
        }
        if variables.iter().any(|(other, _)| *other == name) {
            faults.add(format!("{at}.name is {}, as that of one before it", quoted(&name)), "Keep one of the two.");
        }
        variables.push((name, value));
    }
    let provide_cluster_info = match faults.at(exec, at, &["provideClusterInfo"]) {
        None => false,
        Some(Node::Bool(flag)) => *flag,
        Some(other) => {
            let _ = faults.wrong_type(&dotted(at, &["provideClusterInfo"]), other, "a boolean");
            false
        }
    };
    let install_hint = faults.text(exec, at, &["installHint"]).map(String::from).unwrap_or_default();
    Some(Exec {
        api_version: api_version?,
        command: command?,
        arguments,
        variables,
        inherited: Variables::default(),
        provide_cluster_info,
        install_hint,
    })
}

/// Adds a fault for every field that is unknown: nobody notices a plugin without the argument that was mistyped.
fn known(faults: &mut Faults, node: &Node, at: &str, known: &[&str]) {
    for (key, _) in node.entries().iter().filter(|(key, _)| !known.contains(&&**key)) {
        let near = did_you_mean(key, known.iter().copied());
        let help = format!("{near}Known fields: {}.", known.join(", "));
        let subject = if at.is_empty() { "the file" } else { at };
        faults.add(format!("{subject} has no field {}", quoted(key)), &help);
    }
}

fn policy<P: Copy + Default>(faults: &mut Faults, item: &Node, (at, field): (&str, &str), words: &[(&str, P)]) -> P {
    let Some(written) = faults.text(item, at, &[field]) else { return P::default() };
    if let Some((_, policy)) = words.iter().find(|(word, _)| *word == written) {
        return *policy;
    }
    let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    let near = did_you_mean(written, names.iter().copied());
    let help = format!("{near}Expected one of: {}.", names.join(", "));
    faults.add(format!("{at}.{field} is {}, which is no policy", quoted(written)), &help);
    P::default()
}

/// Texts of a list; none where one of them is no text, or cannot be handed to a program.
fn texts(faults: &mut Faults, items: &[Node], at: &str) -> Option<Vec<String>> {
    let mut texts = Vec::new();
    for (index, item) in items.iter().enumerate() {
        match item.as_str() {
            Some(text) if !text.contains('\0') => texts.push(text.to_string()),
            Some(_) => faults.add(format!("{at}[{index}] has a NUL byte"), "No program can be given one; remove it."),
            None => _ = faults.wrong_type(&format!("{at}[{index}]"), item, "text"),
        }
    }
    (texts.len() == items.len()).then_some(texts)
}

fn is_pair(name: &str, value: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0')
}

impl ProviderFile {
    /// Chooses how the cluster of a ClusterProfile is reached: by the first provider of the file that the profile has.
    ///
    /// # Errors
    /// Where it has none of them, or what it says for the plugin cannot be used.
    pub fn choose(&self, profile: &Profile) -> Result<Way, Vec<Fault>> {
        let mut faults = Faults::new(Code::UnreadableObject);
        let chosen = self.providers.iter().find_map(|provider| Some((provider, profile.access(&provider.name)?)));
        let Some((provider, access)) = chosen else {
            let listed = |names: &[&str]| few(names.iter(), names.len(), MOST_TOLD);
            let of_file: Vec<&str> = self.providers.iter().map(|provider| &*provider.name).collect();
            let of_profile: Vec<&str> = profile.access.iter().map(|access| &*access.name).collect();
            let message = match of_profile.is_empty() {
                true => "the ClusterProfile has no access provider that can be read".to_string(),
                false => format!(
                    "the ClusterProfile has the access providers {}, and the provider file has {}",
                    listed(&of_profile),
                    listed(&of_file)
                ),
            };
            faults.add(message, "Add a plugin for one of the profile's providers to the provider file.");
            return Err(faults.into_found());
        };
        let cluster = access.cluster.clone();
        if cluster.insecure && cluster.ca_data.is_some() {
            faults.add(
                "the cluster has certificate-authority-data and insecure-skip-tls-verify, which exclude each other"
                    .to_string(),
                "Remove one of them where the ClusterProfile is made.",
            );
        }
        let mut exec = provider.exec.clone();
        let extension = |name: &str| cluster.extensions.get(name);
        if provider.arguments == ArgumentsPolicy::Append
            && let Some(added) = extension(ARGUMENTS_EXTENSION)
        {
            exec.arguments.extend(more_arguments(&mut faults, added));
        }
        if provider.variables != VariablesPolicy::Ignore
            && let Some(added) = extension(VARIABLES_EXTENSION)
        {
            let added = more_variables(&mut faults, added, provider);
            exec.variables = together(&exec.variables, added, provider.variables);
        }
        let config = extension(EXEC_EXTENSION).cloned();
        faults.settle(Some(Way { provider: provider.name.clone(), cluster, exec, config }))
    }
}

/// The arguments of an extension: a list of texts, as in KEP-5339.
///
/// The CRD makes every extension a map, so that no live ClusterProfile can have such a list. No map is guessed to be one:
/// nobody has said what its keys would mean, and the library refuses it as well.
fn more_arguments(faults: &mut Faults, added: &Node) -> Vec<String> {
    match added {
        Node::List(items) => texts(faults, items, ARGUMENTS_EXTENSION).unwrap_or_default(),
        other => {
            faults.add(
                format!("extension {ARGUMENTS_EXTENSION} is {}, not a list", other.type_name()),
                "The CRD of cluster-inventory-api lets nothing but a map through: write the arguments into the provider \
                 file, and leave profileSourcedCLIArgsPolicy out.",
            );
            Vec::new()
        }
    }
}

fn more_variables(faults: &mut Faults, added: &Node, provider: &Provider) -> BTreeMap<String, String> {
    let mut variables = BTreeMap::new();
    if !added.is_map() {
        let _ = faults.wrong_type(&format!("extension {VARIABLES_EXTENSION}"), added, "a map");
    }
    for (name, value) in added.entries() {
        let at = format!("extension {VARIABLES_EXTENSION}: {}", quoted(name));
        match value.as_str() {
            None => _ = faults.wrong_type(&at, value, "text"),
            Some(value) if !is_pair(name, value) => {
                faults.add(format!("{at} is no environment variable"), "Correct it where the ClusterProfile is made.");
            }
            Some(_) if !provider.from_profile.contains(&**name) => faults.add(
                format!("{at} is not a variable that provider {} takes from a ClusterProfile", quoted(&provider.name)),
                "Remove it where the ClusterProfile is made. If it cannot choose what runs inside of the plugin, or where \
                 the plugin logs in, list it in `profileSourcedEnvVars` of the provider file.",
            ),
            Some(value) => _ = variables.insert(name.to_string(), value.to_string()),
        }
    }
    variables
}

/// The file's variables in their order, and the profile's sorted behind them.
fn together(
    own: &[(String, String)],
    mut added: BTreeMap<String, String>,
    policy: VariablesPolicy,
) -> Vec<(String, String)> {
    let names: BTreeSet<&String> = own.iter().map(|(name, _)| name).collect();
    if policy == VariablesPolicy::AppendIfNotExists {
        added.retain(|name, _| !names.contains(name));
    }
    let mut all: Vec<(String, String)> = Vec::new();
    for (name, value) in own {
        let value = added.remove(name).unwrap_or_else(|| value.clone());
        all.push((name.clone(), value));
    }
    all.extend(added);
    all
}

#[cfg(test)]
mod tests;
