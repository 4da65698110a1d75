//! The configuration of a command, opened.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pouch_core::config::{Fleet, RegionConfig, SourcePlace};
use pouch_core::listing::few;
use pouch_core::name::{Region, SourceName};
use pouch_core::nearest::did_you_mean;
use pouch_core::recipient::{Recipient, RecipientError};
use pouch_core::reuse::KeyRing;

use super::config::{Settings, load_from, load_without_keys};
use super::keys::{reuse_keys, reuse_keys_at_hand};
use super::problem::SettingsError;
use super::revision::{From, Revision};
use crate::error::Failure;
use crate::session::Session;

/// What the configuration is called where nobody names one.
const USUAL: &str = "pouch.yaml";

/// The configuration, opened.
pub struct Opened {
    /// What it says.
    pub settings: Settings,
    /// Its folder as the user typed it: paths in findings start with it.
    pub typed: PathBuf,
}

/// The configuration, opened, of which everything stands as it was in a commit.
pub struct AtRevision {
    /// The configuration.
    pub opened: Opened,
    /// As it is written: its sources where it says that they are.
    pub written: Fleet,
    /// The commit.
    pub commit: Revision,
    /// The sources that are read as they stand now: directories in no commit.
    pub shared: BTreeSet<SourceName>,
}

impl Opened {
    /// Reads the configuration that the global flags name.
    pub fn open(session: &Session) -> Result<Self, Failure> {
        Self::open_from(session, None)
    }

    /// The same, as a revision of the repository around it has it.
    pub fn open_from(session: &Session, revision: Option<&str>) -> Result<Self, Failure> {
        match revision {
            None => Self::open_by(session, From::Disk),
            Some(revision) => {
                Self::open_by(session, From::Revision(&Self::revision(session, revision, "--config-from")?))
            }
        }
    }

    /// The same as a revision has it, with its directories, and what it reads of the repository itself, as they are there;
    /// `judged_by` is the configuration instead of the revision's own, if one is trusted alone.
    pub fn open_at(
        session: &Session,
        revision: &str,
        flag: &str,
        judged_by: Option<&Self>,
    ) -> Result<AtRevision, Failure> {
        let commit = Self::revision(session, revision, flag)?;
        let mut opened = match judged_by {
            Some(Self { settings, typed }) => Self { settings: settings.clone(), typed: typed.clone() },
            None => Self::open_by(session, From::Revision(&commit))?,
        };
        let (outputs, base) = ([opened.output()], opened.settings.base.clone());
        let written = opened.settings.fleet.clone();
        let mut shared = BTreeSet::new();
        for source in &mut opened.settings.fleet.sources {
            let place = match &source.place {
                SourcePlace::Directory { path, content } => {
                    let place = commit.place(&base.join(path), content.clone(), path, &outputs);
                    if place.is_none() {
                        shared.insert(source.name.clone());
                    }
                    place
                }
                place => commit.own_place(&base, place),
            };
            source.place = place.unwrap_or_else(|| source.place.clone());
        }
        Ok(AtRevision { opened, written, commit, shared })
    }

    fn revision(session: &Session, revision: &str, flag: &str) -> Result<Revision, Failure> {
        let whole = session.ambient.cwd().join(&session.global.file);
        Revision::open(whole.parent().unwrap_or(session.ambient.cwd()), revision, flag)
    }

    fn open_by(session: &Session, from: From<'_>) -> Result<Self, Failure> {
        let file = &session.global.file;
        let settings = load_from(from, file, &session.ambient)?;
        Ok(Self { settings, typed: file.parent().unwrap_or(Path::new("")).to_owned() })
    }

    /// The same for a command that can do without: none where nobody named one and there is none.
    pub fn open_if_there(session: &Session) -> Result<Option<Self>, Failure> {
        if Self::is_there(session) { Self::open(session).map(Some) } else { Ok(None) }
    }

    /// The same for a command that makes the keys that the configuration is to name.
    pub fn open_for_keys(session: &Session) -> Result<Option<Self>, Failure> {
        if !Self::is_there(session) {
            return Ok(None);
        }
        let file = &session.global.file;
        let settings = load_without_keys(file, &session.ambient)?;
        Ok(Some(Self { settings, typed: file.parent().unwrap_or(Path::new("")).to_owned() }))
    }

    /// Whether somebody named a configuration, or there is one.
    fn is_there(session: &Session) -> bool {
        let file = &session.global.file;
        file != Path::new(USUAL) || session.ambient.cwd().join(file).exists()
    }

    /// Where bundles are written, if into a folder.
    pub fn output(&self) -> PathBuf {
        self.settings.base.join(&self.settings.fleet.output.path)
    }

    /// Reads the reuse keys.
    pub fn keys(&self, session: &Session) -> Result<KeyRing, Failure> {
        let (keys, warnings) = reuse_keys(&self.settings, &session.ambient)?;
        for warning in warnings {
            session.ui.warn(&warning);
        }
        Ok(keys)
    }

    /// The reuse keys, for an answer that is worth having without them: none unless they can be read.
    pub fn keys_at_hand(&self, session: &Session) -> Option<KeyRing> {
        let read = reuse_keys_at_hand(&self.settings, &session.ambient);
        let unread =
            |why: &SettingsError| session.ui.detail(&format!("the history is told without the reuse key: {why}"));
        read.inspect_err(unread).ok().flatten().map(|(keys, _)| keys)
    }
}

/// The recipients that a command line names, by a key or by a name that the configuration gives. What is typed may be a
/// secret key, and is then not repeated.
pub fn recipients_called(fleet: Option<&Fleet>, called: &str) -> Result<Vec<Recipient>, Failure> {
    let names = fleet.map(|fleet| fleet.readers.called(called));
    let meant = match names {
        Some(Ok(keys)) => return Ok(keys.cloned().collect()),
        Some(Err(meant)) => meant,
        None => String::new(),
    };
    let is_key = called.get(..4).is_some_and(|begin| begin.eq_ignore_ascii_case("age1"));
    match Recipient::parse(called) {
        Ok(recipient) => Ok(Vec::from([recipient])),
        Err(error @ (RecipientError::SecretKey | RecipientError::Ssh | RecipientError::Empty)) => {
            Err(Failure::usage(format!("recipient: {error}"), error.help()))
        }
        Err(error) if is_key => Err(Failure::usage(format!("recipient: {error}"), error.help())),
        Err(_) => Err(Failure::usage(
            format!("no recipient of the configuration is called {called:?}"),
            format!("{meant}Write a key (`age1…`), or a name of `recipients` or `escrowRecipients`."),
        )),
    }
}

/// How many regions are named where one is not known.
const SHOWN: usize = 20;

/// The region that a flag names, by its name or its folder.
pub fn region_called<'a>(fleet: &'a Fleet, called: &str) -> Result<&'a RegionConfig, Failure> {
    let is_it = |region: &&RegionConfig| region.name == *called || region.directory == *called;
    fleet.regions.values().find(is_it).ok_or_else(|| {
        let names: Vec<&str> = fleet.regions.keys().map(Region::as_str).collect();
        let meant = did_you_mean(called, names.iter().copied());
        Failure::usage(
            format!("the configuration has no region {called}"),
            format!("{meant}Its regions are {}.", few(&names, names.len(), SHOWN)),
        )
    })
}
