//! Encrypted sources, sealed by the real sops and read by the built program.

use std::fs;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::support::fleet::{CANARY, EU, Fleet, US};
use crate::support::origin::Origin;
use crate::support::{Age, Sops, printed, run, shared};

/// A fleet whose one source is sealed for its own identity, and a stranger's identity beside it.
pub struct Sealed {
    pub fleet: Fleet,
    sops: Sops,
    pub own: String,
    pub stranger: String,
}

const RULE: &str = "encrypted_regex: '^(data|stringData)$'";
pub const DECRYPTION: &str = "directory: {path: manifests}, decryption: {ageIdentityFile: keys/own.txt}";

impl Sealed {
    /// None, loudly, where the programs are absent.
    pub fn new(credentials: usize) -> Option<Self> {
        let (sops, age) = (Sops::find()?, Age::find()?);
        let fleet = Fleet::with_credentials(credentials);
        fs::create_dir(fleet.path("keys")).unwrap();
        let (own, stranger) = (age.keygen(&fleet.path("keys/own.txt")), age.keygen(&fleet.path("keys/stranger.txt")));
        fleet.configure("directory: {path: manifests}", DECRYPTION);
        let sealed = Self { fleet, sops, own, stranger };
        for n in 0..credentials {
            for region in ["eu", "us"] {
                sealed.seal(&format!("manifests/{region}-c{n}-secret.yaml"), &sealed.own);
            }
        }
        Some(sealed)
    }

    /// Seals a manifest in place; `rule` as a creation rule of sops has it.
    pub fn seal_by(&self, path: &str, recipient: &str, rule: &str) {
        let (file, config) = (self.fleet.path(path), self.fleet.path("sops.yaml"));
        fs::write(&config, format!("creation_rules: [{{age: {recipient}, {rule}}}]\n")).unwrap();
        let arguments = ["--config".as_ref(), config.as_os_str(), "encrypt".as_ref(), file.as_os_str()];
        fs::write(&file, printed(self.sops.path(), &run(self.sops.path(), arguments, &[]))).unwrap();
    }

    pub fn seal(&self, path: &str, recipient: &str) {
        self.seal_by(path, recipient, RULE);
    }

    pub fn edit(&self, path: &str, change: impl FnOnce(String) -> String) {
        let text = self.fleet.read(path);
        let changed = change(text.clone());
        assert_ne!(text, changed, "{path} is as it was");
        self.fleet.write(path, &changed);
    }

    pub fn published(&self, region: &str, name: &str) -> PathBuf {
        self.fleet.path(&format!("bundles/regions/{region}/core/secrets/{region}-team/{name}.sops.yaml"))
    }
}

pub const FIRST: &str = "manifests/eu-c0-secret.yaml";

#[test]
fn sealed_secrets_are_published_and_what_nobody_needs_is_left_alone() {
    let Some(sealed) = Sealed::new(2) else { return };
    let fleet = &sealed.fleet;
    // For another identity, broken, and of a kind that nobody asks for: no finding, because nobody needs them.
    for (name, recipient) in [("theirs", &sealed.stranger), ("broken", &sealed.own)] {
        fleet.secret("eu", name, &format!("value: {CANARY}-{name}"));
        sealed.seal(&format!("manifests/eu-{name}-secret.yaml"), recipient);
    }
    sealed.edit("manifests/eu-broken-secret.yaml", |text| text.replace("name: broken", "name: bent"));
    let ran = fleet.render(&[]).ends(0).outcome("eu", "published").outcome("us", "published");
    assert!(!ran.stderr.contains("undecryptable") && !ran.stderr.contains(CANARY), "{}", ran.stderr);
    let text = fs::read_to_string(sealed.published("eu", "c0")).unwrap();
    assert!(text.contains("ENC[AES256_GCM,") && !text.contains(&sealed.own), "sealed anew, for the region");
    fleet.render(&[]).ends(0).outcome("eu", "unchanged");
    // A change that sops makes is a change; the same values sealed again are none.
    fleet.secret("eu", "c0", &format!("value: {CANARY}-eu-0"));
    sealed.seal(FIRST, &sealed.own);
    fleet.render(&[]).ends(0).outcome("eu", "unchanged");
    fleet.secret("eu", "c0", &format!("value: {CANARY}-new"));
    sealed.seal(FIRST, &sealed.own);
    fleet.render(&[]).ends(0).outcome("eu", "published");
}

#[test]
fn identities_come_from_where_the_configuration_says_and_nothing_is_executed() {
    let Some(sealed) = Sealed::new(1) else { return };
    let fleet = &sealed.fleet;
    let text = fleet.read("keys/own.txt");
    fleet.configure("decryption: {ageIdentityFile: keys/own.txt}", "decryption: {environment: true}");
    let with = |vars: &[(&str, &str)]| {
        let mut command = fleet.command(&["render"]);
        command.env("SOPS_AGE_KEY_CMD", format!("touch {}", fleet.path("executed").display()));
        crate::support::fleet::Ran::from(command.envs(vars.iter().copied()).output().unwrap())
    };
    with(&[]).ends(64).says("neither SOPS_AGE_KEY nor SOPS_AGE_KEY_FILE is set");
    with(&[("SOPS_AGE_KEY", "AGE-SECRET-KEY-1CANARY")]).ends(64).says("environment variable SOPS_AGE_KEY");
    with(&[("SOPS_AGE_KEY_FILE", "keys/absent.txt")]).ends(64).says("keys/absent.txt");
    with(&[("SOPS_AGE_KEY_FILE", "keys/stranger.txt")]).ends(3).says("error[undecryptable-source]");
    with(&[("SOPS_AGE_KEY_FILE", "keys/own.txt")]).ends(0).outcome("eu", "published");
    fs::remove_dir_all(fleet.path("bundles")).unwrap();
    with(&[("SOPS_AGE_KEY", &text), ("SOPS_AGE_KEY_FILE", "keys/stranger.txt")]).ends(0).outcome("eu", "published");
    assert!(!fleet.has("executed"), "a command was run");
    fleet.configure("decryption: {environment: true}", "decryption: {ageIdentityFile: keys/own.txt}");
    fleet.write("keys/own.txt", "AGE-SECRET-KEY-1CANARY\n");
    let ran = fleet.render(&[]).ends(64).says("line 1 of the file of identities");
    assert!(!ran.stderr.contains("CANARY"), "{}", ran.stderr);
}

/// Flux gives a sealed Secret its namespace when it builds; its source can give it here.
#[test]
fn a_sealed_secret_without_a_namespace_is_in_that_of_its_source() {
    let Some(sealed) = Sealed::new(2) else { return };
    let fleet = &sealed.fleet;
    fleet.secret("eu", "c0", &format!("value: {CANARY}-plain"));
    sealed.edit(FIRST, |text| text.replace("namespace: eu-team", "labels: {}"));
    sealed.seal(FIRST, &sealed.own);
    let ran = fleet.render(&[]).ends(3).says("error[namespace-missing]").says("Secret c0 names no namespace");
    ran.says("open the file with sops and add metadata.namespace there: its MAC covers the namespace too");
    assert!(!sealed.published("eu", "c0").exists() && sealed.published("eu", "c1").exists());
    fleet.configure(DECRYPTION, &format!("{DECRYPTION}, defaultNamespace: eu-team"));
    fleet.render(&[]).ends(0);
    assert!(sealed.published("eu", "c0").exists());
    // Where another source has the same identity, the file could be moved there, and would be another's Secret.
    let alone = fleet.read("pouch.yaml");
    let with = |identity: &str| {
        format!(
            "defaultNamespace: eu-team, provides: {{namespaces: ['*'], clusterScoped: true}}}}, {{name: other, directory: \
             {{path: other}}, provides: {{namespaces: [x]}}, decryption: {{ageIdentityFile: keys/{identity}.txt}}"
        )
    };
    fleet.write("other/.gitkeep", "");
    fleet.configure("defaultNamespace: eu-team", &with("own"));
    let shut = "and another source has an identity that opens it";
    fleet.render(&[]).ends(3).says(shut);
    // An empty namespace is none, and adds nothing to what the MAC covers.
    let (whole, credential) = (fleet.read(FIRST), fleet.read("manifests/eu-c1.yaml"));
    sealed.edit(FIRST, |text| text.replace("metadata:\n", "metadata:\n    namespace: \"\"\n"));
    fleet.render(&[]).ends(3).says(shut);
    fleet.write(FIRST, &whole);
    // A Credential that names none could be moved as well.
    sealed.edit("manifests/eu-c1.yaml", |text| text.replace("namespace: eu-team", "labels: {}"));
    sealed.seal_by("manifests/eu-c1.yaml", &sealed.own, "encrypted_regex: ^nothing$");
    let ran = fleet.render(&[]).ends(3);
    assert_eq!(ran.stderr.matches(shut).count(), 2, "{}", ran.stderr);
    fleet.write("manifests/eu-c1.yaml", credential);
    fleet.write("pouch.yaml", &alone);
    fleet.configure("defaultNamespace: eu-team", &with("stranger"));
    fleet.render(&[]).ends(0);
    fleet.write("pouch.yaml", &alone);
    // The control: of one that is not sealed the advice is the usual one.
    fleet.configure(", defaultNamespace: eu-team", "");
    fleet.secret("eu", "c0", &format!("value: {CANARY}-plain"));
    sealed.edit(FIRST, |text| text.replace("namespace: eu-team", "labels: {}"));
    fleet.render(&[]).ends(3).says("Add metadata.namespace, or give the source a defaultNamespace.");
}

/// The help says a command; whoever can open the file runs it as it stands there.
#[test]
fn the_command_that_help_prints_seals_a_file_for_its_source() {
    let Some(sealed) = Sealed::new(1) else { return };
    let fleet = &sealed.fleet;
    fleet.secret("eu", "c0", &format!("value: {CANARY}-eu-0"));
    sealed.seal(FIRST, &sealed.stranger);
    let ran = fleet.render(&[]).ends(3).says("error[undecryptable-source]").says("no identity of this source");
    let (_, rest) = ran.stderr.split_once("`sops ").unwrap();
    let command: Vec<&str> = rest.split_once('`').unwrap().0.split(' ').collect();
    assert_eq!(command, ["rotate", "-i", "--add-age", &*sealed.own, FIRST]);
    // Where the test runs is not where the fleet is.
    let (file, keys) = (fleet.path(FIRST), fleet.path("keys/stranger.txt"));
    let mut command: Vec<&std::ffi::OsStr> = command.iter().map(AsRef::as_ref).collect();
    command[4] = file.as_os_str();
    printed(sealed.sops.path(), &run(sealed.sops.path(), command, &[("SOPS_AGE_KEY_FILE", keys.as_os_str())]));
    fleet.render(&[]).ends(0).outcome("eu", "published");
}

/// Each breaks the one claim that needs it, names object and place, quotes no value and publishes nothing of it.
#[test]
fn what_cannot_be_believed_breaks_its_claim_alone() {
    let Some(sealed) = Sealed::new(2) else { return };
    let fleet = &sealed.fleet;
    let (first, second) = (fleet.read(FIRST), fleet.read("manifests/eu-c1-secret.yaml"));
    let line =
        |text: &str, start: &str| text.lines().find(|line| line.trim_start().starts_with(start)).unwrap().to_owned();
    let number = |text: &str, start: &str| {
        let found = (1..).zip(text.lines()).find(|(_, line)| line.trim_start().starts_with(start));
        found.unwrap_or_else(|| panic!("no line starts with {start:?}")).0
    };
    // `start` is how the line begins that is at fault; nothing where the whole is.
    let check = |what: &str, says: &str, start: &str| {
        let _ = fs::remove_dir_all(fleet.path("bundles"));
        let ran = fleet.render(&[]).ends(3).says("error[undecryptable-source]").says("Secret eu-team/c0").says(says);
        let line = if start.is_empty() { 1 } else { number(&fleet.read(FIRST), start) };
        let at = format!("\n  --> {FIRST}:{line}:1\n");
        assert!(ran.stderr.contains(&at) && !ran.stderr.contains("(line "), "{what}: {at} {}", ran.stderr);
        assert!(!ran.stderr.contains(CANARY), "{what}: {}", ran.stderr);
        assert!(!sealed.published("eu", "c0").exists() && sealed.published("eu", "c1").exists(), "{what}");
        fleet.write(FIRST, &first);
        fleet.write("manifests/eu-c1-secret.yaml", &second);
    };
    let edit = |change: &dyn Fn(String) -> String| sealed.edit(FIRST, change);
    edit(&|text| text.replace("sops:\n", "sops:\n    encrypted_suffix: x\n"));
    check("two rules", "two rules", "encrypted_regex:");
    edit(&|text| text.lines().filter(|line| !line.contains("version:")).map(|line| format!("{line}\n")).collect());
    check("no version", "names no version", "sops:");
    edit(&|text| text.lines().filter(|line| !line.contains("mac:")).map(|line| format!("{line}\n")).collect());
    check("no MAC", "no MAC", "sops:");
    edit(&|text| text.replace(&line(&first, "mac:"), &line(&second, "mac:")));
    check("the MAC of another file", "the MAC cannot be opened", "mac:");
    edit(&|text| text.replace(&line(&first, "value:"), &line(&second, "value:")));
    let ran = fleet.render(&[]).ends(3).says("it was sealed with another key or for another place");
    assert!(ran.stderr.contains("error[copied-ciphertext]") && !ran.stderr.contains(CANARY), "{}", ran.stderr);
    assert!(!sealed.published("eu", "c0").exists(), "a value of another Secret");
    fleet.write(FIRST, &first);
    edit(&|text| text.replace("value: ENC", "other: ENC"));
    check("a value moved to another key", "it was sealed with another key or for another place", "other:");
    edit(&|text| text.replace(&line(&first, "value:"), "    value: plain"));
    check("a readable value", "is not sealed", "value:");
    edit(&|text| text.replace("kind: Secret\n", "kind: Secret\ntype: kubernetes.io/tls\n"));
    check("a value more", "the MAC does not fit", "mac:");
    edit(&|text| text.replace("sops:\n", "sops:\n    x: &a 1\n"));
    check("an anchor", "which SOPS does not write", "x:");
    edit(&|text| text.split("sops:\n").next().unwrap().to_owned());
    check("no block", "no sops block", "");
    let reseal = |more: &str| {
        fleet.secret("eu", "c0", &format!("value: {CANARY}"));
        sealed.seal_by(FIRST, &sealed.own, &format!("{RULE}{more}"));
    };
    reseal(", mac_only_encrypted: true");
    check("a MAC over sealed values only", "mac_only_encrypted", "mac_only_encrypted:");
    // One group is not split, so its threshold says nothing.
    reseal(", shamir_threshold: 1");
    fleet.render(&[]).ends(0);
    fleet.write(FIRST, &first);
    fleet.secret("eu", "c0", &format!("value: {CANARY}"));
    sealed.seal(FIRST, &sealed.stranger);
    check("another's identity", "no identity of this source opens it", "");
    const FOURTH: &str = "age1t7rxyev2z3rw82stdlrrepyc39nvn86l5078zqkf5uasdy86jp6svpy7pa";
    fleet.secret("eu", "c0", &format!("value: {CANARY}"));
    sealed.seal(FIRST, &format!("'{},{EU},{US},{FOURTH}'", sealed.stranger));
    check("those of four others", &format!("it claims to be for {}, {EU}, {US} and 1 more", sealed.stranger), "");
}

/// Flux opens a file within an entry only where the Secret itself is not sealed, as it is on no region.
#[test]
fn a_sealed_file_within_an_entry_is_no_credential() {
    const MAC: &str = "ENC[AES256_GCM,data:AAAA,iv:AAAA,tag:AAAA,type:str]";
    let fleet = Fleet::with_credentials(2);
    let check = |data: &str, what: &str| {
        let _ = fs::remove_dir_all(fleet.path("bundles"));
        fleet.write(
            "manifests/eu-c0-secret.yaml",
            format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: c0, namespace: eu-team}}\n{data}\n"),
        );
        let ran = fleet.render(&[]).ends(3).says("error[undecryptable-source]").says("Secret eu-team/c0");
        let ran = ran.says(what).says("manifests/eu-c0-secret.yaml:1:1").outcome("us", "published");
        assert!(!ran.stderr.contains("AAAA") && !ran.stderr.contains("AGE ENCRYPTED"), "{}", ran.stderr);
        let secret = |name: &str| fleet.has(&format!("bundles/regions/eu/core/secrets/eu-team/{name}.sops.yaml"));
        assert!(!secret("c0") && secret("c1"), "{data}");
    };
    let json = format!("{{\n\t\"data\": \"{MAC}\",\n\t\"sops\": {{\n\t\t\"mac\": \"{MAC}\"\n\t}}\n}}\n");
    let yaml = format!("key: {MAC}\nsops:\n  mac: {MAC}\n");
    let armored = "-----BEGIN AGE ENCRYPTED FILE-----\nAAAA\n-----END AGE ENCRYPTED FILE-----\n";
    let binary = b"age-encryption.org/v1\n-> X25519 AAAA\n\xff\xfe";
    let is_sops = "entry \"key\" of data of the Secret is itself a file that SOPS sealed";
    let is_age = "entry \"key\" of data of the Secret is itself a file that age encrypted";
    for (value, what) in [
        (json.as_bytes(), is_sops),
        (yaml.as_bytes(), is_sops),
        (format!("a: 1\n---\n{yaml}").as_bytes(), is_sops),
        (armored.as_bytes(), is_age),
        (binary, is_age),
    ] {
        check(&format!("data: {{other: YQ==, key: {}}}", STANDARD.encode(value)), what);
    }
    let indented = |text: &str| text.lines().map(|line| format!("    {line}\n")).collect::<String>();
    for (value, what) in [(&*yaml, is_sops), (armored, is_age)] {
        check(&format!("stringData:\n  key: |\n{}", indented(value)), &what.replace("of data", "of stringData"));
    }
    if let Some(theirs) = shared("data/sops/flux/inside/secret.yaml") {
        let theirs = fs::read_to_string(theirs).unwrap();
        let (_, entries) = theirs.split_once("\ndata:").unwrap();
        check(&format!("data:{entries}"), is_sops);
    }
    // What only speaks of it is a value like others.
    let talk = format!("# sops: {{mac: {MAC}}}\nhow: 'seal it, and sops writes mac: {MAC}'\n");
    fleet.write(
        "manifests/eu-c0-secret.yaml",
        format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: c0, namespace: eu-team}}\ndata: {{key: {}}}\n",
            STANDARD.encode(talk)
        ),
    );
    fleet.render(&[]).ends(0).outcome("eu", "published");
}

/// Sealed as a whole, and in it an entry that is a sealed file: one opening is not enough.
#[test]
fn what_opens_to_a_sealed_file_is_no_credential() {
    let Some(sealed) = Sealed::new(1) else { return };
    let fleet = &sealed.fleet;
    let inner = fleet.read(FIRST);
    fleet.secret("eu", "c0", &format!("inner: {}", serde_json::to_string(&inner).unwrap()));
    sealed.seal(FIRST, &sealed.own);
    let ran = fleet.render(&[]).ends(3).says("error[undecryptable-source]").outcome("us", "published");
    ran.says("entry \"inner\" of stringData of the Secret is itself a file that SOPS sealed");
    assert!(!sealed.published("eu", "c0").exists());
}

/// DESIGN's own example of `decryption`: a repository of a team, opened with the team's identity.
#[test]
fn a_repository_is_opened_as_a_folder_is() {
    let Some(sealed) = Sealed::new(2) else { return };
    let fleet = &sealed.fleet;
    let origin = Origin::new(fleet, "");
    let commit = || origin.commit_beside(&format!("rm -rf manifests; cp -r '{}' .", fleet.path("manifests").display()));
    fleet.configure("directory: {path: manifests}", "git: {repository: repo.git, ref: main, path: manifests}");
    commit();
    origin.publish(&[]).ends(0).outcome("eu", "published").outcome("us", "published");
    let first = "bundles/regions/eu/core/secrets/eu-team/c0.sops.yaml";
    let published = origin.git(&["show", &format!("main:{first}")]);
    assert!(published.contains("ENC[AES256_GCM,") && !published.contains(&sealed.own), "sealed anew, for the region");
    origin.publish(&[]).ends(0).outcome("eu", "unchanged");
    // What stands in the folder and in no commit is not read.
    let whole = fleet.read(FIRST);
    let mac = |text: &str| text.lines().find(|line| line.starts_with("    mac:")).unwrap().to_owned();
    let other = mac(&fleet.read("manifests/eu-c1-secret.yaml"));
    sealed.edit(FIRST, |text| text.replace(&mac(&whole), &other));
    origin.publish(&[]).ends(0).outcome("eu", "unchanged");
    commit();
    let ran = origin.publish(&[]).ends(3).says("error[undecryptable-source]").says("the MAC cannot be opened");
    let line = (1..).zip(whole.lines()).find(|(_, line)| line.starts_with("    mac:")).unwrap().0;
    let ran = ran.says("Secret eu-team/c0").says(&format!("{FIRST}:{line}:1"));
    assert!(!ran.stderr.contains("Secret eu-team/c1"), "{}", ran.stderr);
    assert_eq!(origin.git(&["show", &format!("main:{first}")]), published, "what was published stays");
    // A value of another file, and nobody's identity.
    fleet.write(FIRST, &whole);
    sealed.edit(FIRST, |text| text.replace("    name: c0", "    name: c0\n    labels: {a: b}"));
    commit();
    let ran = origin.publish(&[]).ends(3).says("error[undecryptable-source]").says("the MAC does not fit");
    ran.says("a transformer (namespace, labels, names) may have changed it after it was sealed");
    fleet.write(FIRST, &whole);
    commit();
    fleet.configure("keys/own.txt", "keys/stranger.txt");
    origin.publish(&[]).ends(3).says("error[undecryptable-source]").says("no identity of this source opens it");
    fleet.configure("keys/stranger.txt", "keys/own.txt");
    origin.publish(&[]).ends(0).outcome("eu", "published");
    assert_eq!(origin.git(&["show", &format!("main:{first}")]), published, "the values are what they were");
}

/// SOPS binds a sealed value to no name: whoever may write files could have another's value opened for himself.
#[test]
fn a_copied_value_is_opened_for_nobody() {
    let Some(sealed) = Sealed::new(2) else { return };
    let fleet = &sealed.fleet;
    let text = fleet.read(FIRST);
    // The MAC covers values in their order and no boundaries between them, so this relabelling fits it.
    let relabelled =
        text.replace("    name: c0\n    namespace: eu-team\n", "    name: c\n    namespace: \"0eu-team\"\n");
    fleet.write("manifests/eu-c1-secret.yaml", &relabelled);
    let ran = fleet.render(&[]).ends(3).says("error[copied-ciphertext]").says("Secret 0eu-team/c");
    assert!(!ran.stderr.contains(CANARY), "{}", ran.stderr);
    assert!(!sealed.published("eu", "c0").exists(), "of two equal values nobody can tell which is the copy");
    fleet.remove("manifests/eu-c1-secret.yaml");
    fleet.secret("eu", "c1", &format!("value: {CANARY}-eu-0"));
    sealed.seal("manifests/eu-c1-secret.yaml", &sealed.own);
    fleet.render(&[]).ends(0).outcome("eu", "published");
}

#[test]
fn one_file_may_hold_many_and_what_hides_its_name_is_no_proof() {
    let Some(sealed) = Sealed::new(2) else { return };
    let fleet = &sealed.fleet;
    for name in ["c0", "c1"] {
        fleet.remove(&format!("manifests/eu-{name}-secret.yaml"));
    }
    let secret = |name: &str| {
        format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}, namespace: eu-team}}\nstringData: {{v: {CANARY}}}\n"
        )
    };
    fleet.write("manifests/both.yaml", format!("{}---\n# apart\n{}", secret("c0"), secret("c1")));
    sealed.seal("manifests/both.yaml", &sealed.own);
    fleet.render(&[]).ends(0).outcome("eu", "published");
    assert!(sealed.published("eu", "c0").exists() && sealed.published("eu", "c1").exists());
    fleet.write("manifests/more.yaml", secret("hidden"));
    sealed.seal_by("manifests/more.yaml", &sealed.own, "unencrypted_suffix: _x");
    let ran = fleet.render(&[]).ends(3).says("error[unparsable-document]").says("apiVersion is encrypted");
    assert!(!ran.stderr.contains(CANARY), "{}", ran.stderr);
    fleet.remove("manifests/more.yaml");
    fleet.render(&[]).ends(0);
    // The Credential too may be sealed: all of them are looked at, so it is opened at once.
    sealed.seal("manifests/eu-c0.yaml", &sealed.own);
    fleet.render(&[]).ends(0).outcome("eu", "unchanged");
    sealed.edit("manifests/eu-c0.yaml", |text| text.replace("region: eu", "region: us"));
    // What cannot be verified says nothing, not even that the Credential went to another region.
    fleet.render(&[]).ends(3).says("error[unparsable-document]").says("the MAC does not fit");
    assert!(sealed.published("eu", "c0").exists(), "an edited Credential withdrew what is published");
}

#[test]
fn without_an_identity_the_help_names_the_field() {
    let Some(sealed) = Sealed::new(1) else { return };
    let fleet = &sealed.fleet;
    fleet.configure(DECRYPTION, "directory: {path: manifests}");
    fleet.render(&[]).ends(3).says("error[undecryptable-source]").says("`decryption`");
    fleet.configure("directory: {path: manifests}", "stdin: {}, decryption: {ageIdentityFile: keys/own.txt}");
    let all =
        ["eu-c0", "eu-c0-secret", "us-c0", "us-c0-secret"].map(|name| fleet.read(&format!("manifests/{name}.yaml")));
    let mut command = fleet.command(&["render"]);
    fleet.write("all.yaml", all.join("---\n"));
    command.stdin(fs::File::open(fleet.path("all.yaml")).unwrap());
    crate::support::fleet::Ran::from(command.output().unwrap()).ends(0).outcome("eu", "published");
}

/// A Secret that a controller makes of something else is explained, and never taken from there.
#[test]
fn what_would_make_a_secret_is_named() {
    let fleet = Fleet::with_credentials(4);
    for name in ["c0", "c1", "c2", "c3"] {
        fleet.remove(&format!("manifests/eu-{name}-secret.yaml"));
    }
    let metadata = |name: &str| format!("metadata: {{name: {name}, namespace: eu-team}}");
    for (file, text) in [
        (
            "a",
            format!(
                "apiVersion: bitnami.com/v1alpha1\nkind: SealedSecret\n{}\nspec: {{encryptedData: {{v: {CANARY}}}}}\n",
                metadata("c0")
            ),
        ),
        (
            "b",
            format!(
                "apiVersion: external-secrets.io/v1\nkind: ExternalSecret\n{}\nspec: {{target: {{name: c1}}}}\n",
                metadata("ext")
            ),
        ),
        (
            "c",
            format!(
                "apiVersion: isindir.github.com/v1alpha3\nkind: SopsSecret\n{}\nspec: {{secretTemplates: [{{name: c2}}]}}\n",
                metadata("templ")
            ),
        ),
        (
            "d",
            format!(
                "apiVersion: addons.projectcapsule.dev/v1alpha1\nkind: SopsSecret\n{}\nspec: {{secrets: [{{name: 'ENC[AES256_GCM,x]'}}]}}\nsops: {{mac: m}}\n",
                metadata("hid")
            ),
        ),
    ] {
        fleet.write(&format!("manifests/{file}.yaml"), &text);
    }
    let ran = fleet.render(&["-v"]).ends(3).says("error[missing-reference]");
    for maker in [
        "SealedSecret.bitnami.com eu-team/c0 would make it",
        "ExternalSecret.external-secrets.io eu-team/ext would make it",
        "SopsSecret.isindir.github.com eu-team/templ would make it",
        "SopsSecret.addons.projectcapsule.dev eu-team/hid may make (the names in it are sealed) it",
    ] {
        assert!(ran.stderr.contains(maker), "no {maker} in:\n{}", ran.stderr);
    }
    assert!(ran.stderr.contains("warning[sealed-elsewhere]") && !ran.stderr.contains(CANARY));
}
