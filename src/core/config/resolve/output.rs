//! Where bundles go, and where the reuse key is.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use super::super::error::{Faults, FieldPath, holds_secret, quoted};
use super::super::file::{FleetFile, IdentityFile, MessageFile, OutputGitFile, ReuseKeyFile, SignWord};
use super::super::repository::{self, PathFault, REGION, UrlFault, filled};
use super::super::{Identity, KeyPlace, MessageTemplates, Output, OutputGit, ReuseKeyPlaces, Sign};
use super::registry;

/// Resolves `output`.
pub(super) fn resolve(file: &FleetFile, faults: &mut Faults) -> Output {
    let typed = &file.output;
    let at = FieldPath::root().key("output");
    // In a repository the path stays inside its tree; elsewhere `..` may lead to a neighbour of the configuration.
    let tidied = match &typed.git {
        Some(_) => repository::tidy_inside(&typed.path),
        None => repository::tidy(&typed.path).and_then(|path| {
            let nothing_but_up = path.split('/').all(|part| part == "..");
            if nothing_but_up { Err(PathFault::Empty) } else { Ok(path) }
        }),
    };
    let path = tidied.unwrap_or_else(|fault| {
        let help = "Write a folder that is for bundles only, relative and with forward slashes, such as `bundles`.";
        faults.add(&at.key("path"), fault.message(), help);
        String::from("bundles")
    });
    let git = typed.git.as_ref().map(|git| {
        let at = at.key("git");
        let base = git.base.as_ref().unwrap_or(&git.branch);
        places(file, git, base, &at, faults);
        push_options(&git.push_options, base != &git.branch, &at.key("pushOptions"), faults);
        let author = identity(&git.author, &at.key("author"), faults);
        let committer = git.committer.as_ref().map(|typed| identity(typed, &at.key("committer"), faults));
        OutputGit {
            repository: git.repository.clone(),
            base: base.clone(),
            branch: git.branch.clone(),
            push_options: git.push_options.clone(),
            committer: committer.unwrap_or_else(|| author.clone()),
            author,
            message: message(git.message.as_ref(), &at.key("message"), faults),
            sign: sign(git, &at, &path, faults),
            allowed_signers: git.allowed_signers.clone(),
            cache: git.cache,
            stamp: git.stamp,
        }
    });
    let oci = typed.oci.as_ref().map(|typed| registry::resolve(file, typed, &at.key("oci"), faults));
    Output { path, git, oci }
}

/// What a placeholder is taken for where only the form of a text counts.
const ANY: &str = "region";

/// Checks in which repositories and branches the regions' bundles are published.
fn places(file: &FleetFile, git: &OutputGitFile, base: &str, at: &FieldPath, faults: &mut Faults) {
    let (repository, branch) = (&git.repository, &git.branch);
    url(&filled(repository, ANY), &at.key("repository"), faults);
    for (field, name) in [("base", base), ("branch", branch)] {
        let path = at.key(field);
        match repository::ref_fault(&filled(name, ANY)) {
            // What is not written is the branch.
            _ if field == "base" && git.base.is_none() => {}
            Some(fault) => {
                let message = format!("{} cannot be used: {fault}", quoted(name));
                let help = "Write it as `git branch` shows it; the only placeholder is `{region}`.";
                faults.add(&path, message, help);
            }
            None if name == "HEAD" => {
                faults.add(&path, "HEAD is not a branch", "Write the branch's name, such as `main`.")
            }
            None => {}
        }
    }
    if base == branch {
        return;
    }
    let nested = |one: &str, other: &str| one.strip_prefix(other).is_some_and(|rest| rest.starts_with('/'));
    if nested(branch, base) || nested(base, branch) {
        let message = format!("git cannot have both a branch {} and a branch {}", quoted(branch), quoted(base));
        faults.add(&at.key("branch"), message, "Write another name, such as `proposals/credentials`.");
        return;
    }
    if base.contains(REGION) && ![repository, branch].iter().any(|text| text.contains(REGION)) {
        let message = "the regions follow different branches, and one branch cannot propose to all of them";
        faults.add(&at.key("branch"), message, "Write `{region}` into `branch` too.");
        return;
    }
    // A region may be called as the branch that others follow.
    let directories = || file.regions.iter().map(|(name, region)| (name, region.directory.as_ref().unwrap_or(name)));
    let place = |text: &str, directory: &str| (filled(repository, directory), filled(text, directory));
    let bases: BTreeSet<(String, String)> = directories().map(|(_, directory)| place(base, directory)).collect();
    for (name, directory) in directories() {
        let to = place(branch, directory);
        if bases.contains(&to) {
            let message =
                format!("for region {} it is {}, which is a branch that is proposed to", quoted(name), quoted(&to.1));
            faults.add(&at.key("branch"), message, "Write something before the region, such as `pouch/{region}`.");
        }
    }
}

/// The most push options, and the most characters of one.
const MOST_OPTIONS: usize = 32;
const MOST_OPTION: usize = 1024;

fn push_options(typed: &[String], proposes: bool, path: &FieldPath, faults: &mut Faults) {
    if !proposes && !typed.is_empty() {
        let help = "Set `base` to the branch that the regions follow, and `branch` to another one.";
        faults.add(path, "push options go with proposals, and nothing is proposed", help);
    }
    if typed.len() > MOST_OPTIONS {
        faults.add(path, format!("there are more than {MOST_OPTIONS} push options"), "Leave some out.");
    }
    for (index, option) in typed.iter().enumerate() {
        let path = path.index(index);
        if holds_secret(option) {
            let help = "Treat it as leaked: push options stand in the list of processes and in logs of servers.";
            faults.add_secret(&path, "the push option has a key or a password in it", help);
        } else if option.trim().is_empty() || option.chars().any(is_unprintable) || option.chars().count() > MOST_OPTION
        {
            let message = format!(
                "this is no push option: it is empty, has more than {MOST_OPTION} characters, or one that cannot be printed"
            );
            faults.add(&path, message, "Write one as `git push -o` takes it, such as `merge_request.create`.");
        }
    }
}

/// Whether a character ends a line, or moves what stands around it.
fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn message(typed: Option<&MessageFile>, path: &FieldPath, faults: &mut Faults) -> MessageTemplates {
    let mut template = |text: Option<&String>, path: &FieldPath| {
        if text.is_some_and(|text| text.trim().is_empty() || text.contains('\0')) {
            let help = "Write a template, or leave it out for the default.";
            faults.add(path, "the message is empty or holds a NUL", help);
        }
        text.cloned()
    };
    match typed {
        None => MessageTemplates::default(),
        Some(MessageFile::Text(title)) => MessageTemplates { title: template(Some(title), path), body: None },
        Some(MessageFile::Map(map)) => MessageTemplates {
            title: template(map.title.as_ref(), &path.key("title")),
            body: template(map.body.as_ref(), &path.key("body")),
        },
    }
}

fn sign(typed: &OutputGitFile, at: &FieldPath, bundles: &str, faults: &mut Faults) -> Sign {
    let path = at.key("key");
    let output = Output { path: bundles.into(), git: None, oci: None };
    if let Some(key) = &typed.key {
        const LEAKED: &str = "Treat the key as leaked: make another, and write the file that holds it.";
        if holds_secret(key) || key.contains("PRIVATE KEY") {
            pasted(&path, LEAKED, faults);
        } else if key.trim().is_empty() || key.starts_with('-') || key.chars().any(char::is_control) {
            faults.add(&path, "this is no key", "Write the file of an SSH key, or the id of a GnuPG key.");
        } else if typed.sign == Some(SignWord::Ssh) {
            not_among_bundles(key, &path, &output, faults);
        }
        if !matches!(typed.sign, Some(SignWord::Ssh | SignWord::Gpg)) {
            faults.add(&path, "a key signs nothing without `sign`", "Add `sign: ssh` or `sign: gpg`.");
        }
    }
    if let Some(file) = &typed.allowed_signers {
        let path = at.key("allowedSigners");
        key_file(file, &path, "Write the file that lists public keys.", &output, faults);
        match typed.sign {
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
    match typed.sign {
        None => Sign::AsGit,
        Some(SignWord::None) => Sign::Never,
        Some(SignWord::Ssh) => Sign::Ssh(typed.key.clone()),
        Some(SignWord::Gpg) => Sign::Gpg(typed.key.clone()),
    }
}

/// Checks a repository's URL or path.
pub(super) fn url(text: &str, path: &FieldPath, faults: &mut Faults) {
    match repository::check_url(text) {
        Ok(()) => {}
        Err(fault @ UrlFault::Password) => faults.add_secret(path, fault.message(), fault.help()),
        Err(fault) => faults.add(path, fault.message(), fault.help()),
    }
}

/// Checks the short name of a branch or tag, or a commit.
pub(super) fn ref_name(text: &str, path: &FieldPath, faults: &mut Faults) {
    if let Some(fault) = repository::ref_fault(text) {
        let message = format!("{} cannot be used: {fault}", quoted(text));
        faults.add(path, message, "Write it as `git branch` or `git tag` shows it.");
    }
}

fn identity(typed: &IdentityFile, path: &FieldPath, faults: &mut Faults) -> Identity {
    let (name, email) = match typed {
        IdentityFile::Map(person) => (person.name.as_str(), person.email.as_str()),
        IdentityFile::Text(text) => match text.strip_suffix('>').and_then(|text| text.split_once('<')) {
            Some((name, email)) => (name.trim(), email.trim()),
            None => ("", ""),
        },
    };
    // Git silently strips these from both parts; and a character that ends a line for some readers adds a line to a
    // log.
    let unfit = |c: char| c.is_control() || matches!(c, '<' | '>' | '\u{2028}' | '\u{2029}');
    if name.is_empty() || email.is_empty() || name.contains(unfit) || email.contains(unfit) || email.contains(' ') {
        faults.add(path, "this is no name and mail address", "Write `Name <mail@example.com>`.");
    }
    Identity { name: name.into(), email: email.into() }
}

/// Resolves `reuseKey`.
pub(super) fn reuse_key(typed: &ReuseKeyFile, output: &Output, faults: &mut Faults) -> ReuseKeyPlaces {
    let at = FieldPath::root().key("reuseKey");
    let current = key_place(typed.env.as_deref(), typed.file.as_deref(), &at, output, faults);
    let mut previous: Vec<KeyPlace> = Vec::new();
    for (index, typed) in typed.previous.iter().enumerate() {
        let at = at.key("previous").index(index);
        let Some(place) = key_place(typed.env.as_deref(), typed.file.as_deref(), &at, output, faults) else { continue };
        if current.as_ref() == Some(&place) || previous.contains(&place) {
            faults.add(&at, "the key is here twice", "Remove it here.");
        }
        previous.push(place);
    }
    // The result is only read if nothing is wrong, so any place will do.
    ReuseKeyPlaces { current: current.unwrap_or_else(|| KeyPlace::Env(String::new())), previous }
}

fn key_place(
    env: Option<&str>,
    file: Option<&str>,
    path: &FieldPath,
    output: &Output,
    faults: &mut Faults,
) -> Option<KeyPlace> {
    const PASTED: &str =
        "Treat the key as leaked: make another with `pouch init`, and write here the variable or file that holds it.";
    match (env, file) {
        (Some(name), None) => {
            let path = path.key("env");
            if holds_secret(name) {
                pasted(&path, PASTED, faults);
                return None;
            }
            let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
            if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || !name.bytes().all(word) {
                let message = format!("{} cannot name an environment variable", quoted(name));
                faults.add(&path, message, "Write a name such as `POUCH_REUSE_KEY`.");
            }
            Some(KeyPlace::Env(name.into()))
        }
        (None, Some(name)) => {
            key_file(name, &path.key("file"), PASTED, output, faults).then(|| KeyPlace::File(name.into()))
        }
        (None, None) => {
            faults.add(path, "nothing says where the key is", "Add `env: POUCH_REUSE_KEY`, or `file: PATH`.");
            None
        }
        (Some(_), Some(_)) => {
            faults.add(path, "both `env` and `file` say where the key is", "Keep one of them.");
            None
        }
    }
}

fn pasted(path: &FieldPath, help: &str, faults: &mut Faults) {
    faults.add_secret(path, "this is a key; write where the key is instead", help);
}

/// Checks the path of a key file; false if it is a pasted key itself, and then `leaked` says what to do.
pub(super) fn key_file(name: &str, path: &FieldPath, leaked: &str, output: &Output, faults: &mut Faults) -> bool {
    if holds_secret(name) {
        pasted(path, leaked, faults);
        return false;
    }
    if name.is_empty() || name.chars().any(char::is_control) {
        let help = "Write a path relative to this file.";
        faults.add(path, "the path is empty or has a control character in it", help);
    }
    not_among_bundles(name, path, output, faults);
    true
}

/// Checks that a file is not among the bundles: publishing would take it along, or whoever writes bundles could change
/// it.
pub(super) fn not_among_bundles(file: &str, path: &FieldPath, output: &Output, faults: &mut Faults) {
    if repository::tidy(file).is_ok_and(|file| repository::is_within(&file, &output.path)) {
        let message = "the file is under `output.path`, where bundles are written";
        faults.add(path, message, "Move it to another folder.");
    }
}
