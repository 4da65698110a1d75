//! What is written where nothing is known but names, and what is said of it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use pouch_core::config::ArgoMode;
use pouch_core::init::release::{Interfaces, choose};
use pouch_core::init::scalar::scalar;
use pouch_core::init::setup::{
    self, Consumer, FOLDER, HUB, Setup, SetupFile, SetupRegion, Signer, check_repository, is_local,
};
use pouch_core::init::{Blocks, PUSH_DISABLED, SYSTEM_NAMESPACE};
use pouch_core::kustomize::NAMES;
use pouch_core::name::{is_directory, is_dns_label};
use pouch_core::recipient::Recipient;
use pouch_core::report::shell;

use super::signer::signer;
use crate::ambient::Ambient;
use crate::run::keyfiles::{
    ARGOCD_NAMESPACE, FLUX_SECRET, KeyFolder, KeyPair, MakeError, argocd_secret, entry, key_file,
};

/// A region that the user names.
pub struct NamedRegion {
    /// The name that Credentials use.
    pub name: String,
    /// The consumer that applies its bundle, if that is said of it alone.
    pub with: Option<Consumer>,
}

/// What the user names.
pub struct Names {
    /// The regions; not looked at where a cluster is asked.
    pub regions: Vec<NamedRegion>,
    /// The fleet.
    pub fleet: String,
    /// The namespace that k0rdent runs in.
    pub system_namespace: String,
    /// The consumer that applies the bundles of all regions that name none, if its files are to be written.
    pub with: Option<Consumer>,
    /// True if k0rdent itself distributes nothing to the regions.
    pub push_disabled: bool,
    /// The repository of the bundles.
    pub repository: Option<String>,
    /// The context of the cluster whose Flux applies all regions.
    pub hub: Option<String>,
    /// The file of the key that signs commits.
    pub signing_key: Option<PathBuf>,
}

/// The regions whose bundles one consumer applies.
struct Served<'a> {
    /// The consumer, if it is decided.
    with: Option<Consumer>,
    /// Their names.
    regions: Vec<&'a str>,
}

impl Names {
    /// Returns true if it is said who applies some bundles.
    fn decides(&self) -> bool {
        self.with.is_some() || self.regions.iter().any(|region| region.with.is_some())
    }

    /// The consumers with their regions, in the order in which these are named.
    fn served(&self) -> Vec<Served<'_>> {
        let mut all: Vec<Served<'_>> = Vec::new();
        for NamedRegion { name, with } in &self.regions {
            let with = with.or(self.with);
            match all.iter_mut().find(|served| served.with == with) {
                Some(served) => served.regions.push(name),
                None => all.push(Served { with, regions: Vec::from([name.as_str()]) }),
            }
        }
        all
    }

    /// The set-up of a consumer, for these regions by their names and folders.
    pub(super) fn setup<'a>(
        &self,
        with: Option<Consumer>,
        regions: impl Iterator<Item = (&'a str, &'a str)>,
        place: &KeyFolder,
        signer: Option<Signer>,
    ) -> Setup {
        let region = |(context, directory): (&str, &str)| {
            let file = key_file(directory);
            SetupRegion {
                context: context.to_owned(),
                directory: directory.to_owned(),
                entry: entry(Path::new(&file), directory),
                key_file: file,
            }
        };
        Setup {
            consumer: with.unwrap_or(Consumer::None),
            fleet: self.fleet.clone(),
            repository: self.repository.as_deref().map(|url| place.repository(url)),
            hub: self.hub.clone(),
            regions: regions.map(region).collect(),
            signer,
            flag: file_flag(&place.name()),
        }
    }

    /// The files of the consumers, where they are wanted, and the file of signers, where commits are signed.
    ///
    /// # Errors
    /// Where two are called alike.
    pub(super) fn files(&self, setups: &[Setup]) -> Result<Vec<SetupFile>, MakeError> {
        let own = setups.iter().filter(|_| self.decides()).flat_map(Setup::files);
        let files: Vec<SetupFile> = own.chain(setups.first().and_then(Setup::signers)).collect();
        let mut paths = BTreeSet::new();
        match files.iter().find(|file| !paths.insert(&file.path)) {
            Some(twice) => Err(MakeError::Clash(twice.path.clone())),
            None => Ok(files),
        }
    }

    /// The key that signs commits, where one is named.
    pub(super) fn signer(&self, place: &KeyFolder, ambient: &Ambient) -> Result<Option<Signer>, MakeError> {
        self.signing_key.as_deref().map(|file| signer(file, place, ambient)).transpose()
    }
}

/// Writes the files beside the configuration `path` and makes what goes to standard output.
///
/// # Errors
/// Where a name is no name, a file is there already (then nothing is written), or one cannot be written.
pub fn draft(names: &Names, path: &Path, ambient: &Ambient) -> Result<String, MakeError> {
    check_names(names)?;
    let place = KeyFolder::new(path, ambient);
    let key_files: Vec<String> = names.regions.iter().map(|region| key_file(&region.name)).collect();
    let signer = names.signer(&place, ambient)?;
    let served = names.served();
    let of = |served: &Served<'_>| {
        let regions = served.regions.iter().map(|region| (*region, *region));
        names.setup(served.with, regions, &place, signer.clone())
    };
    let setups: Vec<Setup> = served.iter().map(of).collect();
    let files = names.files(&setups)?;
    place.check(key_files.iter().chain(files.iter().map(|file| &file.path)))?;
    let keys: Vec<KeyPair> = key_files.into_iter().map(KeyPair::generate).collect::<Result<_, _>>()?;
    // Where one consumer applies all bundles, what regions share says so.
    let own = |region: &NamedRegion| region.with.or(names.with).filter(|_| served.len() > 1);
    let entry = |(region, key): (&NamedRegion, &KeyPair)| {
        region_entry(&region.name, &key.recipient, own(region), names.push_disabled)
    };
    let entries: Vec<String> = names.regions.iter().zip(&keys).map(entry).collect();
    let mut blocks = blocks(&entries.join("\n"), &place.base);
    if names.system_namespace != SYSTEM_NAMESPACE {
        blocks.system_namespace = format!("systemNamespace: {:?}", names.system_namespace);
    }
    let mut out = place.write(ambient, &keys, &files, &filled(&blocks, &setups))?;
    next_steps(&mut out, &place, &setups);
    for (served, setup) in served.iter().zip(&setups) {
        hand_over(&mut out, served.with, &place, setup);
    }
    out.push_str(&told_of_path(&setups));
    Ok(out)
}

/// The words about a repository that is a path, if it is one.
pub(super) fn told_of_path(setups: &[Setup]) -> String {
    let Some(setup) = setups.iter().find(|setup| setup.repository.as_deref().is_some_and(is_local)) else {
        return String::new();
    };
    let path = setup.repository.as_deref().unwrap_or_default();
    let mut told = format!(
        "The repository {path} is a path on this machine: pouch publishes to it, and no cluster can read it.\n"
    );
    if setups.iter().any(|setup| setup.consumer != Consumer::None) {
        let url = setup.url();
        let _ = writeln!(
            told,
            "Before you apply anything, write the URL by which clusters read it in the place of {url}, in {FOLDER}/ and in \
             the configuration."
        );
    }
    told
}

/// Looks whether the fleet and the system namespace have names, and whether the consumer can read the repository.
pub(super) fn check_fleet(names: &Names) -> Result<(), MakeError> {
    if !is_dns_label(&names.fleet) {
        return Err(MakeError::Name(names.fleet.clone(), "fleet"));
    }
    if !is_dns_label(&names.system_namespace) {
        return Err(MakeError::Namespace(names.system_namespace.clone()));
    }
    let of_regions = names.regions.iter().filter_map(|region| region.with);
    for consumer in of_regions.chain([names.with.unwrap_or(Consumer::None)]) {
        match &names.repository {
            Some(url) => check_repository(url, consumer).map_err(MakeError::Repository)?,
            None if consumer == Consumer::None => {}
            None => return Err(MakeError::NoRepository(consumer.word())),
        }
    }
    Ok(())
}

fn check_names(names: &Names) -> Result<(), MakeError> {
    check_fleet(names)?;
    let mut seen = BTreeSet::new();
    let decides = names.decides();
    for NamedRegion { name, with } in &names.regions {
        if !is_directory(name) {
            return Err(MakeError::Name(name.clone(), "region"));
        }
        if !seen.insert(name) {
            return Err(MakeError::Twice(name.clone()));
        }
        if decides && with.or(names.with).is_none() {
            return Err(MakeError::Undecided(name.clone()));
        }
    }
    Ok(())
}

fn next_steps(out: &mut String, place: &KeyFolder, setups: &[Setup]) {
    let (flag, sources) = (file_flag(&place.shown), shell::word(&place.shown(MANIFESTS)));
    let is_pushed = setups.iter().any(|setup| setup.repository.is_some());
    let first = if is_pushed { "publish --first" } else { "render" };
    let _ = write!(
        out,
        "\nNext:\n  mkdir -p {sources}    # and put Credentials, identities and Secrets there, or edit `sources`\n  pouch \
         {first}{flag}\n\n"
    );
}

/// The flag that names the configuration, where it has not its usual name.
pub(super) fn file_flag(config: &str) -> String {
    if config == "pouch.yaml" { String::new() } else { format!(" -f {}", shell::word(config)) }
}

/// How each region gets its key: in the Secret that `pouch keygen` would make for it. Where it is not decided who
/// delivers, it is said for both.
pub(super) fn hand_over(out: &mut String, with: Option<Consumer>, place: &KeyFolder, setup: &Setup) {
    let shown = |file: &str| shell::word(&place.shown(file));
    if let Some(consumer) = with {
        let page = match consumer {
            Consumer::Flux if setup.hub.is_some() => "flux-hub",
            Consumer::Flux => "flux",
            Consumer::ArgoCd(ArgoMode::Plugin) => "argocd-plugin",
            Consumer::ArgoCd(ArgoMode::Ksops) => "argocd-ksops",
            Consumer::None => "kubectl",
        };
        let more = match setup.regions.len().saturating_sub(1) {
            0 => String::new(),
            _ if matches!(consumer, Consumer::ArgoCd(_)) => String::new(),
            more => format!(" (and for {more} more likewise)"),
        };
        let told = match consumer {
            Consumer::ArgoCd(_) => "argocd",
            Consumer::Flux if setup.hub.is_some() => HUB,
            Consumer::Flux | Consumer::None => "REGION",
        };
        let _ = writeln!(
            out,
            "Then, once{more}, as {} and docs/getting-started/{page}.md say:",
            shown(&format!("{FOLDER}/{told}.yaml"))
        );
        for command in setup.next(&shown, &file_flag(&place.shown)) {
            let _ = writeln!(out, "  {command}");
        }
        if setup.signer.is_none() && consumer != Consumer::None {
            let more = match consumer {
                Consumer::ArgoCd(ArgoMode::Ksops) => "",
                _ => "; with --signing-key all of it is written",
            };
            let _ = writeln!(
                out,
                "Commits are not signed: whoever can write to the branch can have something else applied. See \"Signed \
                 commits\" in docs/operations.md{more}"
            );
        }
        return;
    }
    let (mut flux, mut argocd) = (String::new(), String::new());
    for SetupRegion { context, directory, key_file, entry } in &setup.regions {
        let from = shell::word(&format!("{entry}={}", place.shown(key_file)));
        let (namespace, name) = FLUX_SECRET;
        let create = "create secret generic";
        let _ = writeln!(flux, "  kubectl --context {context} -n {namespace} {create} {name} --from-file={from}");
        let (namespace, name) = (ARGOCD_NAMESPACE, argocd_secret(directory));
        let _ = writeln!(argocd, "  kubectl -n {namespace} {create} {name} --from-file={from}");
    }
    let _ = write!(
        out,
        "Give each region its key, once. Where Flux applies its bundle (`delivery: flux`):\n{flux}Where Argo CD does \
         (`delivery: argocd`), on the cluster that Argo CD runs on:\n{argocd}"
    );
}

/// An entry of `regions`.
pub(super) fn region_entry(name: &str, recipient: &Recipient, with: Option<Consumer>, push_disabled: bool) -> String {
    let delivery = with.map(|with| format!("\n    delivery: {}", with.word())).unwrap_or_default();
    let pushed = if push_disabled { format!("\n{PUSH_DISABLED}") } else { String::new() };
    format!(
        "  \"{name}\":\n    # Who can open the region's bundle. Its secret half is in {}.\n    recipients:\n      - \
         {recipient}{delivery}{pushed}",
        key_file(name)
    )
}

/// The folder of manifests in a draft.
const MANIFESTS: &str = "manifests";

/// What stands in the template's blanks where no cluster says anything. A folder of manifests that has a kustomization is
/// built.
fn blocks(regions: &str, base: &Path) -> Blocks {
    let is_built = NAMES.iter().any(|name| base.join(MANIFESTS).join(name).is_file());
    let how = if is_built { "build: kustomize" } else { "#@ exclude: [\"drafts/**\"]" };
    Blocks {
        source: format!("  - name: platform\n    directory:\n      path: {MANIFESTS}\n      {how}"),
        system_namespace: format!("#@ systemNamespace: {SYSTEM_NAMESPACE}"),
        provider_interfaces: format!("providerInterfaces: {{builtin: {}}}", choose(None, Interfaces::None).builtin),
        shared: "  # Whose Credentials may go there; globs.\n  namespaces:\n    allowed: [\"*\"]".to_owned(),
        regions: regions.to_owned(),
        grants: GRANTS.to_owned(),
    }
}

const GRANTS: &str = "\
# What Credentials may use although nothing else admits it: one object, or without `to` all that one
# Credential needs. A refused use says which grant would admit it.
#@ grants:
#@   - {from: {namespace: team-a}, to: {namespace: shared, kind: Secret, name: dns}, regions: [\"*\"]}";

/// The example of a group of guest clusters: of a region that there is, so that it holds once the marks are removed.
fn guests(setups: &[Setup]) -> String {
    let mut regions = setups.iter().flat_map(|setup| &setup.regions);
    let region = regions.next().map_or("eu-west", |region| &region.context);
    format!(
        "#@   pull: {{region: {}, namespaces: [team-a], clusterSelector: {{matchLabels: {{pull: \"yes\"}}}}, objects: [{{kind: \
         Secret, namespace: registry, name: pull}}]}}",
        scalar(region)
    )
}

const FINDINGS: &str = "\
# Severities that differ from the codes' own: error, warning, info or off.
#@ findings: {version-mismatch: info}";

/// The commented configuration. Each blank is a line of its own and is filled once, so that nothing that
/// is filled in can look like a blank.
pub(super) fn filled(blocks: &Blocks, setups: &[Setup]) -> String {
    let mut out = String::new();
    let Some(setup) = setups.first() else { return out };
    for line in TEMPLATE.lines() {
        match line {
            "{source}" => out.push_str(&blocks.source),
            "{systemNamespace}" => out.push_str(&blocks.system_namespace),
            "{providerInterfaces}" => out.push_str(&blocks.provider_interfaces),
            "{regions}" => out.push_str(&blocks.regions),
            "{guests}" => out.push_str(&guests(setups)),
            "{grants}" => out.push_str(&blocks.grants),
            "{output}" => out.push_str(&setup.output()),
            "{shared}" if blocks.shared.is_empty() => continue,
            "{shared}" => out.push_str(&blocks.shared),
            "{delivery}" => out.push_str(&setup::deliveries(setups)),
            "{findings}" => out.push_str(setups.iter().find_map(Setup::findings).unwrap_or(FINDINGS)),
            "  name: {fleet}" => _ = write!(out, "  name: {}", scalar(&setup.fleet)),
            line => out.push_str(line),
        }
        out.push('\n');
    }
    out
}

/// What stands after `#@ ` is not in force and could be; a test takes it at its word.
const TEMPLATE: &str = include_str!("pouch.yaml");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{age, settings};
    use std::fs;

    impl Names {
        /// Regions of these names, in a fleet like any other.
        pub(crate) fn regions(names: &[&str]) -> Self {
            Self {
                regions: names.iter().map(|name| NamedRegion { name: (*name).to_owned(), with: None }).collect(),
                fleet: "fleet".to_owned(),
                system_namespace: SYSTEM_NAMESPACE.to_owned(),
                with: None,
                push_disabled: false,
                repository: None,
                hub: None,
                signing_key: None,
            }
        }
    }

    fn started(names: &Names) -> (tempfile::TempDir, Ambient, Result<String, MakeError>) {
        let folder = tempfile::tempdir().unwrap();
        let ambient = Ambient::fixed(folder.path(), jiff::Timestamp::UNIX_EPOCH, &[]);
        let result = draft(names, Path::new("pouch.yaml"), &ambient);
        (folder, ambient, result)
    }

    #[test]
    fn what_is_written_loads_with_its_keys() {
        let (folder, ambient, out) = started(&Names::regions(&["eu-west", "no", "123"]));
        let out = out.unwrap();
        assert!(
            out.contains("pouch render") && out.contains("keys/eu-west.txt") && !out.contains("SECRET-KEY"),
            "{out}"
        );
        let settings = settings::load(Path::new("pouch.yaml"), &ambient).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            settings.fleet.regions.keys().map(|name| name.as_str()).collect::<Vec<_>>(),
            ["123", "eu-west", "no"]
        );
        assert!(settings::reuse_keys(&settings, &ambient).unwrap().1.is_empty());
        let key = fs::read_to_string(folder.path().join("keys/no.txt")).unwrap();
        let recipient = settings.fleet.regions["no"].recipients.first().unwrap().to_string();
        assert!(key.contains(&recipient) && key.contains("\nAGE-SECRET-KEY-1"), "{recipient}");
        assert_eq!(fs::read_to_string(folder.path().join("keys/.gitignore")).unwrap(), "*\n");
    }

    #[cfg(unix)]
    #[test]
    fn keys_are_for_their_owner_only() {
        use std::os::unix::fs::PermissionsExt as _;
        let (folder, _, out) = started(&Names::regions(&["eu"]));
        out.unwrap();
        for (file, mode) in [("keys", 0o700), ("keys/eu.txt", 0o600), ("keys/reuse.key", 0o600)] {
            let found = fs::metadata(folder.path().join(file)).unwrap().permissions().mode() & 0o777;
            assert_eq!(found, mode, "{file} has {found:o}");
        }
    }

    #[test]
    fn nothing_is_overwritten() {
        let (folder, ambient, out) = started(&Names::regions(&["eu"]));
        out.unwrap();
        let before = fs::read(folder.path().join("pouch.yaml")).unwrap();
        let again = draft(&Names::regions(&["us"]), Path::new("pouch.yaml"), &ambient).unwrap_err();
        assert!(again.is_usage() && again.to_string().ends_with("pouch.yaml, keys/reuse.key"), "{again}");
        assert!(!folder.path().join("keys/us.txt").exists());
        assert_eq!(fs::read(folder.path().join("pouch.yaml")).unwrap(), before);
        fs::remove_file(folder.path().join("pouch.yaml")).unwrap();
        fs::remove_file(folder.path().join("keys/reuse.key")).unwrap();
        let error = draft(&Names::regions(&["eu"]), Path::new("pouch.yaml"), &ambient).unwrap_err();
        assert!(error.to_string().ends_with("keys/eu.txt"), "{error}");
    }

    #[test]
    fn a_folder_that_git_would_take_gets_no_key() {
        for text in ["*.txt\n", "*\n!reuse.key\n"] {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir(folder.path().join("keys")).unwrap();
            fs::write(folder.path().join("keys/.gitignore"), text).unwrap();
            let ambient = Ambient::fixed(folder.path(), jiff::Timestamp::UNIX_EPOCH, &[]);
            let error = draft(&Names::regions(&["eu"]), Path::new("pouch.yaml"), &ambient).unwrap_err();
            assert!(matches!(error, MakeError::Ignored(_)), "{error}");
            assert!(!folder.path().join("keys/reuse.key").exists());
        }
    }

    #[test]
    fn what_is_said_holds_from_the_current_folder() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("sub")).unwrap();
        let ambient = Ambient::fixed(folder.path(), jiff::Timestamp::UNIX_EPOCH, &[]);
        let out = draft(&Names::regions(&["eu"]), Path::new("sub/p.yaml"), &ambient).unwrap();
        for line in [
            "wrote sub/keys/.gitignore: ",
            "wrote sub/keys/reuse.key: ",
            "wrote sub/p.yaml: ",
            "  mkdir -p sub/manifests ",
            "  pouch render -f sub/p.yaml\n",
            " create secret generic sops-age --from-file=eu.agekey=sub/keys/eu.txt\n",
        ] {
            assert!(out.contains(line), "{line} is not in\n{out}");
        }
        let again = draft(&Names::regions(&["eu"]), Path::new("sub/p.yaml"), &ambient).unwrap_err();
        assert!(again.to_string().ends_with("sub/p.yaml, sub/keys/eu.txt, sub/keys/reuse.key"), "{again}");
    }

    #[test]
    fn bad_names_write_nothing() {
        for names in [&["../x"][..], &["Eu"], &["a", "a"], &[""]] {
            let (folder, _, out) = started(&Names::regions(names));
            assert!(out.unwrap_err().is_usage());
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{names:?}");
        }
    }

    #[test]
    fn the_example_of_guests_names_a_region_that_there_is() {
        for region in ["management", "123"] {
            let (folder, ambient, out) = started(&Names::regions(&[region, "eu-west"]));
            out.unwrap();
            let text = fs::read_to_string(folder.path().join("pouch.yaml")).unwrap();
            let (before, rest) = text.split_once("#@ guests:").unwrap();
            let text = format!("{before}guests:{}", rest.replacen("#@ ", "", 1));
            fs::write(folder.path().join("pouch.yaml"), text).unwrap();
            let settings = settings::load(Path::new("pouch.yaml"), &ambient).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(settings.fleet.guests["pull"].region, *region);
        }
    }

    #[test]
    fn what_is_commented_out_is_right_too() {
        let recipient = |seed: &str| (seed.to_owned(), age::generate_identity().unwrap().1);
        let (name, recipient) = recipient("eu-west");
        let setup = Names::regions(&[]).setup(
            None,
            std::iter::empty(),
            &KeyFolder::new(Path::new("pouch.yaml"), &Ambient::fixed(Path::new("/"), jiff::Timestamp::UNIX_EPOCH, &[])),
            None,
        );
        let text = filled(&blocks(&region_entry(&name, &recipient, None, false), Path::new("nowhere")), &[setup]);
        let all: String = text.lines().map(|line| line.replacen("#@ ", "", 1) + "\n").collect();
        assert_ne!(all, text);
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("pouch.yaml"), &all).unwrap();
        let ambient = Ambient::fixed(folder.path(), jiff::Timestamp::UNIX_EPOCH, &[]);
        settings::load(Path::new("pouch.yaml"), &ambient).unwrap_or_else(|error| panic!("{error}\n{all}"));
        let schema = pouch_core::config::file::schema().to_value();
        // There is one kind, which may be left out.
        for key in schema["properties"].as_object().unwrap().keys().filter(|key| *key != "kind") {
            assert!(all.lines().any(|line| line.starts_with(&format!("{key}:"))), "{key} is not in the template");
        }
    }
}
