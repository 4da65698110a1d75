//! Reads what the branches of a repository held, one commit after another. What it means is the core's business.

use std::collections::{BTreeMap, BTreeSet};

use pouch_core::config::Fleet;
use pouch_core::history::directory_of;
use pouch_core::history::listing::Relistings;
use pouch_core::history::manifest::manifest_of;
use pouch_core::history::rotated::{CHANGED, COMPARED, Rotated};
use pouch_core::log::{Branch, BranchRecord, Commit, CommitName, Facts, Looked, SourceRecord, Step};
use pouch_core::name::Directory;
use pouch_core::reuse::{self, KeyRing, commit_verifies};
use pouch_core::stamp::SourceStamp;

use crate::error::Failure;
use crate::git::history::line::{Ends, Made, Touched};
use crate::git::history::{Below, PassedOver};
use crate::git::objects::{Id, Kind};
use crate::run::history::{Manifest, Reading, counts, time, told};
use crate::shelf::target::clean;
use crate::text::{SEAL, SOURCE, trailers, values};

/// The most characters of a subject or a name that are kept.
const MOST_CHARS: usize = 120;

/// The most sources of a commit that are kept.
const MOST_SOURCES: usize = 64;

/// A branch that is gone through.
pub struct Line {
    /// What it is called.
    pub name: String,
    /// Its name as commits prove it, if it is one of these.
    pub branches: BTreeSet<String>,
    /// Where it ends.
    pub tip: Id,
    /// The folders of regions that are published on other branches: what is here is a copy.
    pub elsewhere: BTreeSet<Directory>,
}

/// What branches held.
pub struct ReadLines {
    /// The facts.
    pub facts: Facts,
    /// What was looked at; which repository that is stays to be said.
    pub looked: Looked,
}

/// Reads the history of branches. Their commits are proved too, where there are keys.
pub fn read(reading: &Reading<'_>, ends: &Ends, lines: &[Line]) -> Result<ReadLines, Failure> {
    let Reading { keys, stop, .. } = *reading;
    let (mut facts, mut looked, mut skipped) = (Facts::default(), Looked::default(), PassedOver::default());
    let mut contents: BTreeMap<Id, usize> = BTreeMap::new();
    for line in lines {
        let mut walked = Walked { line, keys, commits: Vec::new(), touched: Vec::new(), unproved: 0 };
        let counts = |path: &str, kind: Kind, _: Below| counts(path, kind);
        skipped.absorb(ends.walk(line.tip, &counts, stop, &mut |made, touched| walked.add(&made, touched))?);
        let Walked { commits, touched, unproved, .. } = walked;
        let newest = commits.last().map(|commit| CommitName { id: commit.id.clone(), time: commit.time.clone() });
        looked.branches.push(BranchRecord {
            name: line.name.clone(),
            commit: newest.unwrap_or_default(),
            commits: commits.len(),
            unproved: keys.map(|_| unproved),
        });
        let steps = steps(reading, &touched, &mut contents, &mut skipped)?;
        facts.branches.push(Branch { name: line.name.clone(), commits, steps });
    }
    let mut ids: Vec<(usize, Id)> = contents.into_iter().map(|(id, number)| (number, id)).collect();
    ids.sort_unstable();
    let ids: Vec<Id> = ids.into_iter().map(|(_, id)| id).collect();
    facts.files = reading.files(&ids)?;
    looked.skipped = told(skipped);
    Ok(ReadLines { facts, looked })
}

/// A branch while it is gone through.
struct Walked<'l> {
    line: &'l Line,
    keys: Option<(&'l Fleet, &'l KeyRing)>,
    commits: Vec<Commit>,
    touched: Vec<(usize, Touched)>,
    unproved: usize,
}

impl Walked<'_> {
    fn add(&mut self, made: &Made, touched: Vec<Touched>) {
        // What is merged as it is, is what pouch made.
        let as_it_is = made.merged.iter().filter(|merged| merged.tree == made.tree);
        let mut own = std::iter::once(made).chain(as_it_is);
        let own = self.keys.and_then(|keys| own.find(|made| self.proves(keys, made)));
        let before = self.commits.last().map_or("", |commit| &commit.id);
        // What was made on another commit was compared with what stood there.
        let rotated = own.filter(|own| own.parent == before).map(|own| rotated(&own.message)).unwrap_or_default();
        let proved = self.keys.map(|keys| {
            let is_proved = own.is_some();
            // Of a key that is not at hand nobody knows.
            let known = |value: &str| value.split(' ').next().is_some_and(|id| keys.1.with_id(id).next().is_some());
            if !is_proved && values(trailers(&made.message), SEAL).any(known) {
                self.unproved = self.unproved.saturating_add(1);
            }
            is_proved
        });
        let mut sources = sources(&made.message);
        if sources.is_empty() {
            sources = made.merged.iter().flat_map(|merged| self::sources(&merged.message)).collect();
        }
        let number = self.commits.len();
        self.commits.push(Commit {
            id: made.id.clone(),
            seconds: made.seconds,
            time: time(made.seconds),
            author: cut(&made.author),
            subject: cut(made.message.trim_start().lines().next().unwrap_or_default()),
            sources,
            proved,
            rotated,
            merged: made
                .merged
                .iter()
                .map(|made| CommitName { id: made.id.clone(), time: time(made.seconds) })
                .collect(),
        });
        let elsewhere = |path: &str| directory_of(path).is_some_and(|found| self.line.elsewhere.contains(&found));
        let here = touched.into_iter().filter(|touched| !elsewhere(&touched.path));
        self.touched.extend(here.map(|touched| (number, touched)));
    }

    /// Whether a commit's last line proves that pouch made it.
    fn proves(&self, (fleet, keys): (&Fleet, &KeyRing), made: &Made) -> bool {
        let Made { parent, tree, seconds, message, .. } = made;
        let path = clean(&fleet.output.path);
        let mut branches = self.line.branches.iter();
        branches.any(|branch| {
            let made = reuse::Made { branch, path: &path, parent, tree, seconds: *seconds };
            commit_verifies(keys, &fleet.name, made, message)
        })
    }
}

/// The values that a commit replaced, as its message says.
fn rotated(message: &str) -> Rotated {
    let lines = trailers(message);
    Rotated::read(values(lines, CHANGED), values(lines, COMPARED))
}

/// The states of sources that a message names.
fn sources(message: &str) -> Vec<SourceRecord> {
    let named = values(trailers(message), SOURCE).filter_map(SourceStamp::of_trailer).take(MOST_SOURCES);
    named.map(|source| SourceRecord { name: cut(&source.name), state: source.state.to_string() }).collect()
}

fn cut(text: &str) -> String {
    text.chars().take(MOST_CHARS).collect()
}

/// What each commit of a branch changed. `contents` gets the files that manifests list.
fn steps(
    reading: &Reading<'_>,
    touched: &[(usize, Touched)],
    contents: &mut BTreeMap<Id, usize>,
    skipped: &mut PassedOver,
) -> Result<Vec<Step>, Failure> {
    let file = |now: &Option<(Kind, Id)>| now.and_then(|(kind, id)| (kind == Kind::File).then_some(id));
    let mut manifests: Vec<Manifest> = Vec::new();
    for (commit, Touched { path, now }) in touched {
        if let Some((kind, _)) = now {
            skipped.add_kind(path, *kind);
        }
        if manifest_of(path).is_some() {
            manifests.push(Manifest { path: path.clone(), commit: *commit, id: file(now) });
        }
    }
    manifests.sort_by(|one, other| one.path.cmp(&other.path));
    let mut steps: BTreeMap<usize, Step> = BTreeMap::new();
    let mut listed: BTreeSet<String> = BTreeSet::new();
    for Relistings { found, .. } in reading.manifests(&manifests, skipped)? {
        for (commit, relisted) in found {
            listed.extend(relisted.path());
            steps.entry(commit).or_default().listings.push(relisted);
        }
    }
    for (commit, Touched { path, now }) in touched.iter().filter(|(_, touched)| listed.contains(&*touched.path)) {
        let next = contents.len();
        let content = file(now).map(|id| *contents.entry(id).or_insert(next));
        steps.entry(*commit).or_default().files.push((path.clone(), content));
    }
    Ok(steps.into_iter().map(|(commit, step)| Step { commit, ..step }).collect())
}
