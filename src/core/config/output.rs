//! Output: where bundles go, and where the reuse key is.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::Deserialize;

use super::error::{Faults, FieldPath, holds_secret, quoted};
use super::forms::PASTED;
use super::registry::OutputOci;
use super::repository::{self, PathFault, REGION, filled};
use super::setting::{Show, given, one_of, or_default, read_as, shown, words};
use crate::name::Directory;
use crate::yaml::emit::Tree;

/// Where bundles go.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[schemars(rename = "OutputFile")]
pub struct Output {
    /// The folder of the bundles: relative to this file, or in the repository if `git` is given.
    pub path: String,
    /// The repository that `pouch publish` commits to.
    pub git: Option<OutputGit>,
    /// The registry that each region's bundle is copied to as an OCI artifact, after it is published or rendered.
    pub oci: Option<OutputOci>,
}

impl Default for Output {
    fn default() -> Self {
        Self { path: "bundles".to_string(), git: None, oci: None }
    }
}

shown!(Output { "path": path, "git": git, "oci": oci });

impl Output {
    /// Fills in what is left out, for regions with these names and folders.
    pub(super) fn resolve<'r>(
        mut self,
        regions: impl Iterator<Item = (&'r str, &'r str)> + Clone,
        faults: &mut Faults,
    ) -> Self {
        let at = FieldPath::root().key("output");
        // In a repository the path stays inside its tree; elsewhere `..` may lead to a neighbour of the configuration.
        let tidied = match &self.git {
            Some(_) => repository::tidy_inside(&self.path),
            None => repository::tidy(&self.path).and_then(|path| {
                let nothing_but_up = path.split('/').all(|part| part == "..");
                if nothing_but_up { Err(PathFault::Empty) } else { Ok(path) }
            }),
        };
        self.path = tidied.unwrap_or_else(|fault| {
            let help = "Write a folder that is for bundles only, relative and with forward slashes, such as `bundles`.";
            faults.add(&at.key("path"), fault.message(), help);
            String::from("bundles")
        });
        if let Some(git) = &self.git {
            git.check(regions.clone(), &at.key("git"), faults);
            git.check_keys(&self, &at.key("git"), faults);
        }
        if let Some(oci) = &self.oci {
            oci.check(regions, &at.key("oci"), faults);
        }
        if let Some(git) = &mut self.git {
            git.followed.get_or_insert_with(|| git.branch.clone());
            git.committer.get_or_insert_with(|| git.author.clone());
        }
        self
    }

    /// Checks that a file is not among the bundles: publishing would take it along, or whoever writes bundles could
    /// change it.
    pub(super) fn not_among_bundles(&self, file: &str, path: &FieldPath, faults: &mut Faults) {
        if repository::tidy(file).is_ok_and(|file| repository::is_within(&file, &self.path)) {
            let message = "the file is under `output.path`, where bundles are written";
            faults.add(path, message, "Move it to another folder.");
        }
    }

    /// Checks the path of a key file; false if it is a pasted key itself, and then `leaked` says what to do.
    pub(super) fn key_file(&self, name: &str, path: &FieldPath, leaked: &str, faults: &mut Faults) -> bool {
        if holds_secret(name) {
            pasted(path, leaked, faults);
            return false;
        }
        if name.is_empty() || name.chars().any(char::is_control) {
            let help = "Write a path relative to this file.";
            faults.add(path, "the path is empty or has a control character in it", help);
        }
        self.not_among_bundles(name, path, faults);
        true
    }
}

/// The repository that `pouch publish` commits to.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "OutputGitFile")]
pub struct OutputGit {
    /// A URL without password, or a local path relative to this file. `{region}` stands for the region's folder: each
    /// region then has a repository of its own.
    #[schemars(extend("x-check" = "output-repository"))]
    pub repository: String,
    /// The branch that the regions follow, by its short name; by default `branch`. With another one, what changes is
    /// proposed: a commit on the tip of `base` is pushed to `branch`, for somebody to merge. May have `{region}` in it.
    #[serde(rename = "base")]
    #[schemars(extend("x-check" = "branch"))]
    followed: Option<String>,
    /// The branch to commit to, by its short name. With `{region}` in it each region has a branch of its own.
    #[serde(default = "main")]
    #[schemars(extend("x-check" = "branch"))]
    pub branch: String,
    /// What the server is told whenever a proposal is pushed, such as `merge_request.create`, each as `git push -o` takes
    /// it.
    #[serde(default)]
    #[schemars(extend("items" = super::setting::items("push-option")))]
    pub push_options: Vec<String>,
    /// Who wrote the commit.
    #[serde(default)]
    pub author: Identity,
    /// Who made the commit; by default the author.
    pub committer: Option<Identity>,
    /// Names the authors of the commits of git sources since the last publication in the commit message and the summary, if true.
    /// Names are personal data, and stay in the history.
    #[serde(default)]
    pub authors: bool,
    /// A template of the commit message's title; or a map with templates of title and body.
    #[serde(default, deserialize_with = "or_default")]
    #[schemars(with = "Option<MessageFile>")]
    pub message: MessageTemplates,
    /// Whether and how commits are signed; by default as git's own configuration says.
    pub sign: Option<SignWord>,
    /// The key that signs, with `sign`: for `ssh` a file, relative to this one, or the public key of an agent; for `gpg`
    /// its id. By default `user.signingKey` of git's configuration.
    pub key: Option<String>,
    /// A file of SSH keys that may sign commits of the branch, as ssh-keygen reads it, relative to this file and not
    /// under `output.path`. With it, nothing is published on top of a commit that none of them signed.
    pub allowed_signers: Option<String>,
    /// Whether objects of this repository, and of git sources, are kept on this machine from run to run, in
    /// `$XDG_CACHE_HOME/pouch`, so that a fetch moves what is new.
    #[serde(default = "yes")]
    pub cache: bool,
    /// Whether which states of the sources were read is noted beside the branch, at `refs/pouch/FLEET/…`, so that an older
    /// state is never published over a newer one.
    #[serde(default = "yes")]
    pub record_source_state: bool,
}

fn main() -> String {
    "main".to_string()
}

fn yes() -> bool {
    true
}

impl Show for OutputGit {
    fn show(&self) -> Option<Tree<'_>> {
        let Self {
            repository,
            followed: _,
            branch,
            push_options,
            author,
            committer: _,
            authors,
            message,
            sign,
            key,
            allowed_signers,
            cache,
            record_source_state,
        } = self;
        Some(given([
            ("repository", repository.show()),
            ("base", Some(Tree::text(self.base()))),
            ("branch", branch.show()),
            ("pushOptions", push_options.show().filter(|_| !push_options.is_empty())),
            ("author", author.show()),
            ("committer", self.committer().show()),
            ("authors", authors.show()),
            ("message", message.show()),
            ("sign", sign.show()),
            ("key", key.show()),
            ("allowedSigners", allowed_signers.show()),
            ("cache", cache.show()),
            ("recordSourceState", record_source_state.show()),
        ]))
    }
}

/// Where a region's bundle is published.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    /// The repository, as it is written.
    pub repository: String,
    /// The branch that the region follows.
    pub base: String,
    /// The branch to commit to.
    pub branch: String,
}

/// The most push options.
const MOST_OPTIONS: usize = 32;

impl OutputGit {
    /// Where the bundle with this folder is published.
    pub fn place(&self, directory: &Directory) -> Place {
        let filled = |text: &str| filled(text, directory.as_str());
        Place { repository: filled(&self.repository), base: filled(self.base()), branch: filled(&self.branch) }
    }

    /// Returns true if changes are proposed, and not published at once.
    pub fn proposes(&self) -> bool {
        self.base() != self.branch
    }

    /// The way in which commits are signed.
    pub fn signing(&self) -> Sign {
        match self.sign {
            None => Sign::AsGit,
            Some(SignWord::None) => Sign::Never,
            Some(SignWord::Ssh) => Sign::Ssh(self.key.clone()),
            Some(SignWord::Gpg) => Sign::Gpg(self.key.clone()),
        }
    }

    /// The branch that the regions follow.
    pub fn base(&self) -> &str {
        self.followed.as_ref().unwrap_or(&self.branch)
    }

    /// The committer: by default the author.
    pub fn committer(&self) -> &Identity {
        self.committer.as_ref().unwrap_or(&self.author)
    }

    /// Checks in which repositories and branches the regions' bundles are published, and by whom.
    fn check<'r>(
        &self,
        regions: impl Iterator<Item = (&'r str, &'r str)> + Clone,
        at: &FieldPath,
        faults: &mut Faults,
    ) {
        for (field, person) in [("author", Some(&self.author)), ("committer", self.committer.as_ref())] {
            if person.is_some_and(|person| !person.is_fit()) {
                faults.add(&at.key(field), "this is no name and mail address", "Write `Name <mail@example.com>`.");
            }
        }
        let options = at.key("pushOptions");
        if !self.proposes() {
            if !self.push_options.is_empty() {
                let help = "Set `base` to the branch that the regions follow, and `branch` to another one.";
                faults.add(&options, "push options go with proposals, and nothing is proposed", help);
            }
        } else {
            self.check_branches(regions, &at.key("branch"), faults);
        }
        if self.push_options.len() > MOST_OPTIONS {
            faults.add(&options, format!("there are more than {MOST_OPTIONS} push options"), "Leave some out.");
        }
    }

    /// Checks that a proposal is proposed to another branch than its own, for each region.
    fn check_branches<'r>(
        &self,
        regions: impl Iterator<Item = (&'r str, &'r str)> + Clone,
        at: &FieldPath,
        faults: &mut Faults,
    ) {
        let (repository, base, branch) = (&self.repository, self.base(), &self.branch);
        let nested = |one: &str, other: &str| one.strip_prefix(other).is_some_and(|rest| rest.starts_with('/'));
        if nested(branch, base) || nested(base, branch) {
            let message = format!("git cannot have both a branch {} and a branch {}", quoted(branch), quoted(base));
            return faults.add(at, message, "Write another name, such as `proposals/credentials`.");
        }
        if base.contains(REGION) && ![repository, branch].iter().any(|text| text.contains(REGION)) {
            let message = "the regions follow different branches, and one branch cannot propose to all of them";
            return faults.add(at, message, "Write `{region}` into `branch` too.");
        }
        // A region may be called as the branch that others follow.
        let place = |text: &str, directory: &str| (filled(repository, directory), filled(text, directory));
        let bases: BTreeSet<(String, String)> = regions.clone().map(|(_, directory)| place(base, directory)).collect();
        for (name, directory) in regions {
            let to = place(branch, directory);
            if bases.contains(&to) {
                let (name, to) = (quoted(name), quoted(&to.1));
                let message = format!("for region {name} it is {to}, which is a branch that is proposed to");
                faults.add(at, message, "Write something before the region, such as `pouch/{region}`.");
            }
        }
    }

    /// Checks the keys that sign and that may have signed.
    fn check_keys(&self, output: &Output, at: &FieldPath, faults: &mut Faults) {
        if let Some(key) = &self.key {
            const LEAKED: &str = "Treat the key as leaked: make another, and write the file that holds it.";
            let path = at.key("key");
            if holds_secret(key) || key.contains("PRIVATE KEY") {
                pasted(&path, LEAKED, faults);
            } else if key.trim().is_empty() || key.starts_with('-') || key.chars().any(char::is_control) {
                faults.add(&path, "this is no key", "Write the file of an SSH key, or the id of a GnuPG key.");
            } else if self.sign == Some(SignWord::Ssh) {
                output.not_among_bundles(key, &path, faults);
            }
            if !matches!(self.sign, Some(SignWord::Ssh | SignWord::Gpg)) {
                faults.add(&path, "a key signs nothing without `sign`", "Add `sign: ssh` or `sign: gpg`.");
            }
        }
        if let Some(file) = &self.allowed_signers {
            let path = at.key("allowedSigners");
            output.key_file(file, &path, "Write the file that lists public keys.", faults);
            match self.sign {
                Some(SignWord::None) => {
                    let help = "Sign with `sign: ssh`: otherwise the next run refuses this one's commit.";
                    faults.add(&path, "commits that are not signed are signed by nobody who is allowed", help);
                }
                Some(SignWord::Gpg) => {
                    let help = "Sign with `sign: ssh`, or leave the allowed signers out.";
                    faults.add(&path, "allowed signers have SSH keys, and `sign` is `gpg`", help);
                }
                Some(SignWord::Ssh) | None => {}
            }
        }
    }
}

/// The templates of a commit message.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MessageTemplates {
    /// Of the first line.
    pub title: Option<String>,
    /// Of what stands between that and the trailers.
    pub body: Option<String>,
}

/// Templates of a commit message.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum MessageFile {
    /// A template of the title.
    #[schemars(extend("x-check" = "template"))]
    Text(String),
    /// Title and body apart.
    Map(MessageMapFile),
}

/// Templates of a commit message's title and body.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct MessageMapFile {
    /// A template of the first line.
    #[schemars(extend("x-check" = "template"))]
    title: Option<String>,
    /// A template of what stands between that and the trailers.
    #[schemars(extend("x-check" = "template"))]
    body: Option<String>,
}

read_as!(MessageTemplates as MessageFile);

impl From<MessageFile> for MessageTemplates {
    fn from(file: MessageFile) -> Self {
        match file {
            MessageFile::Text(title) => Self { title: Some(title), body: None },
            MessageFile::Map(MessageMapFile { title, body }) => Self { title, body },
        }
    }
}

impl Show for MessageTemplates {
    fn show(&self) -> Option<Tree<'_>> {
        let is_given = self.title.is_some() || self.body.is_some();
        is_given.then(|| given([("title", self.title.show()), ("body", self.body.show())]))
    }
}

/// How commits are signed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SignWord {
    /// Not at all, whatever git's configuration says.
    None,
    /// With an SSH key.
    Ssh,
    /// With GnuPG.
    Gpg,
}

words!(SignWord { None: "none", Ssh: "ssh", Gpg: "gpg" });

/// The way in which commits are signed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Sign {
    /// As git's own configuration says.
    AsGit,
    /// Never.
    Never,
    /// With an SSH key: a file, relative to the configuration, or the public key of an agent; by default git's own.
    Ssh(Option<String>),
    /// With a key of GnuPG, by its id; by default git's own.
    Gpg(Option<String>),
}

/// A person, as git names one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    /// The name.
    pub name: String,
    /// The mail address.
    pub email: String,
}

impl Default for Identity {
    fn default() -> Self {
        Self { name: "pouch".into(), email: "pouch@localhost".into() }
    }
}

/// A person, as `Name <mail>` or as a map.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum IdentityFile {
    /// `Name <mail>`.
    Text(String),
    /// Name and mail address apart.
    Map(PersonFile),
}

/// A person.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PersonFile {
    /// The name.
    name: String,
    /// The mail address.
    email: String,
}

read_as!(Identity as IdentityFile);

impl From<IdentityFile> for Identity {
    fn from(file: IdentityFile) -> Self {
        match file {
            IdentityFile::Map(PersonFile { name, email }) => Self { name, email },
            IdentityFile::Text(text) => {
                let parts = text.strip_suffix('>').and_then(|text| text.split_once('<'));
                let (name, email) = parts.unwrap_or_default();
                Self { name: name.trim().into(), email: email.trim().into() }
            }
        }
    }
}

impl Identity {
    /// Git silently strips some characters from both parts; and one that ends a line for some readers adds a line to a
    /// log.
    fn is_fit(&self) -> bool {
        let unfit = |c: char| c.is_control() || matches!(c, '<' | '>' | '\u{2028}' | '\u{2029}');
        let is_fit = |part: &str| !part.is_empty() && !part.contains(unfit);
        is_fit(&self.name) && is_fit(&self.email) && !self.email.contains(' ')
    }
}

impl Show for Identity {
    fn show(&self) -> Option<Tree<'_>> {
        Some(Tree::text(format!("{} <{}>", self.name, self.email)))
    }
}

/// Where the reuse key and its predecessors are found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KeyPlace {
    /// An environment variable.
    Env(String),
    /// A file, relative to the configuration.
    File(String),
}

/// The reuse key's places.
#[derive(Clone, Debug)]
pub struct ReuseKeyPlaces {
    /// The place of the current key.
    pub current: KeyPlace,
    /// The places of former keys, whose tags are still believed.
    pub previous: Vec<KeyPlace>,
}

/// Where the reuse key is; exactly one of `env` and `file`.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-one" = one_of(&["env", "file"], NO_KEY, TWO_KEYS)))]
struct ReuseKeyFile {
    /// The environment variable that holds it.
    #[schemars(extend("x-check" = "variable"))]
    env: Option<String>,
    /// The file that holds it, relative to this file and not under `output.path`.
    file: Option<String>,
    /// Where former keys are, whose proofs still count.
    #[serde(default)]
    previous: Vec<KeyPlace>,
}

/// Where a former reuse key is; exactly one of `env` and `file`.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-one" = one_of(&["env", "file"], NO_KEY, TWO_KEYS)))]
struct KeyPlaceFile {
    /// The environment variable that holds it.
    #[schemars(extend("x-check" = "variable"))]
    env: Option<String>,
    /// The file that holds it, relative to this file and not under `output.path`.
    file: Option<String>,
}

const NO_KEY: [&str; 2] = ["nothing says where the key is", "Add `env: POUCH_REUSE_KEY`, or `file: PATH`."];
const TWO_KEYS: [&str; 2] = ["both `env` and `file` say where the key is", "Keep one of them."];

/// The variable that is looked for where nothing else is said.
impl Default for ReuseKeyPlaces {
    fn default() -> Self {
        Self { current: KeyPlace::Env("POUCH_REUSE_KEY".into()), previous: Vec::new() }
    }
}

read_as!(KeyPlace as KeyPlaceFile);
read_as!(ReuseKeyPlaces as ReuseKeyFile);

impl KeyPlace {
    fn of(env: Option<String>, file: Option<String>) -> Self {
        match (env, file) {
            (None, Some(file)) => Self::File(file),
            (env, _) => Self::Env(env.unwrap_or_default()),
        }
    }

    fn field(&self) -> (&'static str, Option<Tree<'_>>) {
        match self {
            KeyPlace::Env(name) => ("env", name.show()),
            KeyPlace::File(path) => ("file", path.show()),
        }
    }

    fn check(&self, output: &Output, path: &FieldPath, faults: &mut Faults) {
        if let KeyPlace::File(name) = self {
            output.key_file(name, &path.key("file"), PASTED, faults);
        }
    }
}

impl From<KeyPlaceFile> for KeyPlace {
    fn from(file: KeyPlaceFile) -> Self {
        Self::of(file.env, file.file)
    }
}

impl From<ReuseKeyFile> for ReuseKeyPlaces {
    fn from(file: ReuseKeyFile) -> Self {
        Self { current: KeyPlace::of(file.env, file.file), previous: file.previous }
    }
}

impl Show for KeyPlace {
    fn show(&self) -> Option<Tree<'_>> {
        Some(given([self.field()]))
    }
}

impl Show for ReuseKeyPlaces {
    fn show(&self) -> Option<Tree<'_>> {
        Some(given([self.current.field(), ("previous", self.previous.show())]))
    }
}

impl ReuseKeyPlaces {
    /// Checks that each key has a place of its own, and none among the bundles.
    pub(super) fn check(&self, output: &Output, faults: &mut Faults) {
        let at = FieldPath::root().key("reuseKey");
        self.current.check(output, &at, faults);
        let mut known = Vec::from([&self.current]);
        for (index, place) in self.previous.iter().enumerate() {
            let at = at.key("previous").index(index);
            place.check(output, &at, faults);
            if known.contains(&place) {
                faults.add(&at, "the key is here twice", "Remove it here.");
            }
            known.push(place);
        }
    }
}

/// Records that a key stands instead of its place.
fn pasted(path: &FieldPath, help: &str, faults: &mut Faults) {
    faults.add_secret(path, "this is a key; write where the key is instead", help);
}
