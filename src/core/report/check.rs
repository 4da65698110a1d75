//! Checks: findings in the formats of the systems that show them beside a change.
//!
//! Each of these wants a file and a line. A finding that has none, because it is about a cluster, a commit or a bundle,
//! stands at the first line of the configuration.

pub mod baseline;
pub mod codequality;
pub mod github;
pub mod junit;
pub mod sarif;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::group::{Because, Tell, Whom, concerned, groups};
use crate::finding::{Class, Code, Finding, Origin, Severity};
use crate::hash::sha256_hex;
use crate::name::{ObjectKey, SourceName};
use crate::renamed;

/// A finding, and what the formats want to know of it besides.
pub struct Checked<'f> {
    /// The finding.
    pub finding: &'f Finding,
    /// What stays the same as long as the same is wrong with the same: whatever line it stands in.
    pub fingerprint: String,
    /// The fingerprints that it had by other codes before the first release.
    formerly: Vec<String>,
    /// The file where it is shown.
    pub file: String,
    /// The line, from one.
    pub line: u32,
    /// The column, from one.
    pub column: u32,
    /// Where it stands, if that is no file of this checkout.
    elsewhere: Option<String>,
    /// Why it is silenced, if it is: then it does not count.
    pub silenced: Option<&'f str>,
    /// Whom it concerns, and who keeps what is published because of it.
    concerned: Vec<String>,
    /// Whether it stands for several findings.
    is_several: bool,
}

impl Tell for Checked<'_> {
    type Alike<'f>
        = <Finding as Tell>::Alike<'f>
    where
        Self: 'f;

    fn alike(&self) -> Self::Alike<'_> {
        self.finding.alike()
    }

    fn whom(&self) -> Whom {
        self.finding.whom()
    }

    fn severity(&self) -> Severity {
        self.finding.severity
    }

    fn code(&self) -> Code {
        self.finding.code
    }

    fn source(&self) -> Option<&str> {
        Tell::source(self.finding)
    }

    fn because(&self) -> Option<Because<'_>> {
        Tell::because(self.finding)
    }

    fn others(&self) -> usize {
        self.finding.others
    }
}

impl Checked<'_> {
    /// Its fingerprint, and those that it had by other codes.
    fn fingerprints(&self) -> impl Iterator<Item = &String> {
        core::iter::once(&self.fingerprint).chain(&self.formerly)
    }

    /// Whose it is, or what it is about where it is several claimants', after a colon.
    fn subject(&self) -> String {
        let Finding { claimant, object, .. } = self.finding;
        let claimant = claimant.as_ref().filter(|_| !self.is_several).map(ToString::to_string);
        let object = object.as_ref().filter(|_| self.is_several).map(ToString::to_string);
        claimant.or(object).map(|about| format!(": {about}")).unwrap_or_default()
    }

    /// What is the matter, with whom, and what to do about it: one paragraph without line feeds.
    pub fn text(&self) -> String {
        let Finding { message, help, .. } = self.finding;
        let at = self.elsewhere.as_ref().map(|place| format!("at {place}"));
        let whose: Vec<String> = self.concerned.iter().cloned().chain(at).collect();
        let whose = if whose.is_empty() { String::new() } else { format!(" ({})", whose.join("; ")) };
        let help = if help.is_empty() { String::new() } else { format!(" {help}") };
        super::escape(&format!("{message}{whose}.{help}"))
    }
}

/// Where files are, for who shows findings beside them.
pub struct Checkout<'a> {
    /// The configuration's file as the user typed it.
    pub config: &'a str,
    /// The folder of the configuration as the user typed it, which paths begin with.
    pub base: &'a str,
    /// The folder that the program runs in.
    pub cwd: &'a str,
    /// The sources whose paths are in commits: `REF:PATH`.
    pub in_commits: &'a BTreeSet<SourceName>,
}

impl Checkout<'_> {
    /// The path of a source's file below the configuration, whichever commit it is in: the same for whoever looks.
    fn known(&self, source: &SourceName, path: &str) -> String {
        let path = match path.split_once(':') {
            Some((_, path)) if self.in_commits.contains(source) => path,
            _ => below(self.base, path),
        };
        String::from(path)
    }

    /// The path of a file of this checkout; none of one that is in a commit.
    fn here(&self, source: &SourceName, path: &str) -> Option<String> {
        (!self.in_commits.contains(source)).then(|| String::from(below(self.cwd, path)))
    }
}

/// A path without the folder that it is in, if it is in that one.
fn below<'p>(folder: &str, path: &'p str) -> &'p str {
    let rest = path.strip_prefix(folder).filter(|_| !folder.is_empty());
    rest.and_then(|rest| rest.strip_prefix('/')).unwrap_or(path)
}

/// What the formats want to know of these findings.
pub fn checked<'f>(findings: &'f [Finding], checkout: &Checkout<'_>) -> Vec<Checked<'f>> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    findings
        .iter()
        .map(|finding| {
            let about = subject(finding, checkout);
            // The very same may be wrong twice.
            let count = seen.entry(about.clone()).or_default();
            let print = |about: &str| sha256_hex(format!("{about}\0{count}").as_bytes());
            let code = finding.code.text();
            let olds = renamed::CODES.iter().filter(|renamed| renamed.new == code);
            let formerly = olds.map(|renamed| print(&about.replacen(code, renamed.old, 1))).collect();
            let fingerprint = print(&about);
            *count = count.saturating_add(1);
            let file = finding.origin.as_ref().and_then(|origin| {
                let (path, line, column) = origin.position()?;
                Some((checkout.here(&origin.source, path)?, line, column))
            });
            let elsewhere = finding.origin.as_ref().filter(|_| file.is_none()).map(ToString::to_string);
            let (file, line, column) =
                file.unwrap_or_else(|| (String::from(below(checkout.cwd, checkout.config)), 1, 1));
            let (line, column, silenced) = (line.max(1), column.max(1), None);
            let concerned = concerned(&[finding.whom()].into(), 1).into_iter().collect();
            let is_several = false;
            Checked { finding, fingerprint, formerly, file, line, column, elsewhere, silenced, concerned, is_several }
        })
        .collect()
}

/// How many claimants are named where many are concerned.
const NAMED: usize = 5;

/// The same, each group as one: systems that show a few findings, or one for each place, show what differs.
///
/// A fingerprint is here that of what is wrong, whomever it concerns: it stays while claimants come and go.
pub fn grouped<'f>(all: &[Checked<'f>], checkout: &Checkout<'_>) -> Vec<Checked<'f>> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    groups(all)
        .iter()
        .map(|group| {
            let Checked { finding, file, line, column, elsewhere, silenced, .. } = group.first;
            let whose = group.whose();
            let about = subject(&Finding { claimant: None, region: None, ..(*finding).clone() }, checkout);
            let count = seen.entry(about.clone()).or_default();
            let fingerprint = sha256_hex(format!("{about}\0{count}").as_bytes());
            *count = count.saturating_add(1);
            Checked {
                finding,
                fingerprint,
                formerly: Vec::new(),
                file: file.clone(),
                line: *line,
                column: *column,
                elsewhere: elsewhere.clone(),
                silenced: *silenced,
                is_several: whose.len() > 1,
                concerned: [concerned(&whose, NAMED), group.consequence(NAMED)].into_iter().flatten().collect(),
            }
        })
        .collect()
}

/// What a finding is about, in one text.
fn subject(finding: &Finding, checkout: &Checkout<'_>) -> String {
    let Finding { code, region, claimant, object, origin, message, help, severity, .. } = finding;
    let known = |origin: &Origin| origin.position().map(|(path, ..)| checkout.known(&origin.source, path));
    let file = origin.as_ref().and_then(known);
    // What is held is told by the digest in the line that lets it through.
    let held = if code.class() == Class::Held { help.as_ref() } else { "" };
    let parts = [
        code.text().to_string(),
        severity.word().to_string(),
        region.as_ref().map(ToString::to_string).unwrap_or_default(),
        claimant.as_ref().map(ToString::to_string).unwrap_or_default(),
        object.as_ref().map(ObjectKey::qualified).unwrap_or_default(),
        origin.as_ref().map(|origin| origin.source.to_string()).unwrap_or_default(),
        file.unwrap_or_default(),
        without_positions(message),
        held.to_string(),
    ];
    parts.join("\0")
}

/// A message without the lines and columns in it: `:3:1`.
fn without_positions(message: &str) -> String {
    let mut words: Vec<&str> = Vec::new();
    for word in message.split(' ') {
        let number = |text: &str| !text.is_empty() && text.chars().all(|char| char.is_ascii_digit());
        let cut =
            word.rsplit_once(':').filter(|(_, column)| number(column)).and_then(|(rest, _)| rest.rsplit_once(':'));
        words.push(cut.filter(|(_, line)| number(line)).map_or(word, |(path, _)| path));
    }
    words.join(" ")
}

#[cfg(test)]
mod tests;
