//! Findings: what is wrong or worth knowing, as data with stable codes.
//!
//! Bad input is no error of the program: every stage returns its result *and* findings. Each code has
//! one class ([`codes`]), and the class alone decides what is published for the claims concerned.

pub mod codes;
pub mod crowd;
mod severity;
pub mod telling;

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::name::{Claimant, ObjectKey, Region, SourceName};
pub use codes::{Class, Code};
pub use severity::Severity;

/// How many findings there are of each code and severity.
pub type Counts = BTreeMap<(Code, Severity), usize>;

/// Where something was read.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Origin {
    /// The source that provided it.
    pub source: SourceName,
    /// The place within the source.
    pub place: Place,
}

/// A place within a source.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Place {
    /// A position in a file; line and column count from one.
    File {
        /// The path as the user would type it.
        path: alloc::sync::Arc<str>,
        /// The line.
        line: u32,
        /// The column.
        column: u32,
    },
    /// A live cluster; its objects are told apart by their keys.
    Cluster {
        /// The kubeconfig's context, or `in-cluster`.
        context: alloc::sync::Arc<str>,
    },
    /// The source as a whole.
    Whole,
}

impl Origin {
    /// Of what stands in the configuration itself.
    pub fn configuration() -> Self {
        Self { source: SourceName::from(""), place: Place::Whole }
    }

    /// The path, line and column of what stands in a file.
    pub fn position(&self) -> Option<(&str, u32, u32)> {
        match &self.place {
            Place::File { path, line, column } => Some((path, *line, *column)),
            Place::Cluster { .. } | Place::Whole => None,
        }
    }

    /// The same place, at another line of its file if one is given.
    pub fn at_line(&self, line: Option<u32>) -> Self {
        self.at_place(line, 1)
    }

    /// The same file at another line, and in this column of it.
    pub fn at_place(&self, line: Option<u32>, column: u32) -> Self {
        match (&self.place, line) {
            (Place::File { path, .. }, Some(line)) => {
                Self { source: self.source.clone(), place: Place::File { path: path.clone(), line, column } }
            }
            _ => self.clone(),
        }
    }
}

/// `path:line:column`, the cluster's context, or the source's name. A path in a commit is `REF:PATH`, which
/// several repositories may have, so the source is named too.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::File { path, line, column } => {
                write!(f, "{path}:{line}:{column}")?;
                // What stands in the configuration is in no source.
                if path.contains(':') && self.source != "" { write!(f, " in {}", self.source) } else { Ok(()) }
            }
            Place::Cluster { context } => write!(f, "cluster {context}"),
            Place::Whole if self.source == "" => f.write_str("the configuration"),
            Place::Whole => write!(f, "source {}", self.source),
        }
    }
}

/// One thing that is wrong or worth knowing. It never holds a Secret's value.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Finding {
    /// How much it matters; comes from the code unless the configuration says otherwise.
    pub severity: Severity,
    /// The kind of finding.
    pub code: Code,
    /// The region it concerns, if one.
    pub region: Option<Region>,
    /// The claimant whose claim it concerns, if one.
    pub claimant: Option<Claimant>,
    /// The object it is about.
    pub object: Option<ObjectKey>,
    /// Where the object stands.
    pub origin: Option<Origin>,
    /// The problem, in one sentence without a full stop.
    pub message: String,
    /// What to do about it; for most codes it is the same for all objects.
    pub help: Cow<'static, str>,
    /// What this one only follows from.
    pub because: Option<Cause>,
    /// The number of others of the kind that are not listed and that it stands for; zero if it is one of its own.
    pub others: usize,
}

/// What a finding follows from, and many others with it: they are told together.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cause {
    /// The findings of a source that was not read completely.
    Source(SourceName),
    /// That the facts of a region's cluster are unknown.
    Region(Region),
}

impl Cause {
    /// The source, if it is one.
    pub fn source(&self) -> Option<&str> {
        if let Self::Source(source) = self { Some(source.as_str()) } else { None }
    }

    /// The region, if it is one.
    pub fn region(&self) -> Option<&str> {
        if let Self::Region(region) = self { Some(region.as_str()) } else { None }
    }
}

impl Finding {
    /// Makes a finding with the severity of its code.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            severity: code.severity(),
            code,
            region: None,
            claimant: None,
            object: None,
            origin: None,
            message: message.into(),
            help: Cow::Borrowed(""),
            because: None,
            others: 0,
        }
    }

    /// Names the source whose own findings say why.
    pub fn because(mut self, source: &SourceName) -> Self {
        self.because = Some(Cause::Source(source.clone()));
        self
    }

    /// Says that it follows from facts of a region that are unknown.
    pub fn without_facts_of(mut self, region: &Region) -> Self {
        self.because = Some(Cause::Region(region.clone()));
        self
    }

    /// Names the object that the finding is about.
    pub fn about(mut self, object: &ObjectKey) -> Self {
        self.object = Some(object.clone());
        self
    }

    /// Says where the object stands.
    pub fn at(mut self, origin: &Origin) -> Self {
        self.origin = Some(origin.clone());
        self
    }

    /// Names the claimant whose claim the finding concerns.
    pub fn claimed_by(mut self, claimant: &Claimant) -> Self {
        self.claimant = Some(claimant.clone());
        self
    }

    /// Names the region that the finding concerns.
    pub fn in_region(mut self, region: &Region) -> Self {
        self.region = Some(region.clone());
        self
    }

    /// Says what to do about the problem.
    pub fn help(mut self, help: impl Into<Cow<'static, str>>) -> Self {
        self.help = help.into();
        self
    }

    /// Sets another severity than that of the code, one that its table has.
    pub fn severity(mut self, severity: Severity) -> Self {
        #[cfg(test)]
        assert!(self.code.may_be(severity), "{} is never {}", self.code.text(), severity.word());
        self.severity = severity;
        self
    }

    /// Whether the finding stops the claim that it concerns.
    pub fn stops_claim(&self) -> bool {
        // Machines wait alone.
        let is_of_part = self.code == Code::MachinesWait;
        self.severity == Severity::Error && matches!(self.code.class(), Class::Refused | Class::Broken) && !is_of_part
    }
}

/// A fault of an object as it is written; it breaks every claim that needs the object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// Which finding it becomes.
    pub code: Code,
    /// The problem; never quotes a value.
    pub message: String,
    /// What to do about it.
    pub help: Cow<'static, str>,
    /// The line of the fault in its file, from one, if it is not the object's own line.
    pub line: Option<u32>,
    /// The column in that line, from one.
    pub column: u32,
    /// The number of others of the kind that are not listed and that it stands for; zero if it is one of its own.
    pub others: usize,
}

impl Fault {
    /// Makes a fault about the object as a whole.
    pub fn new(code: Code, message: impl Into<String>, help: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), help: help.into(), line: None, column: 1, others: 0 }
    }
}

/// Sorts findings and drops repetitions, so that the same input in any order gives the same text.
pub fn settle(mut findings: Vec<Finding>) -> Vec<Finding> {
    // Within a severity, what is wrong with a source comes before what claims miss because of it.
    let later = |finding: &Finding| finding.code.class() != Class::Source;
    // What stands for others of a code comes after those that are listed.
    let kind = |finding: &Finding| (finding.code, finding.others > 0);
    // Equal findings are the same, so what a stable sort sets aside, half as many again, buys nothing.
    findings.sort_unstable_by(|a, b| {
        let by_kind = || later(a).cmp(&later(b)).then_with(|| kind(a).cmp(&kind(b)));
        b.severity.cmp(&a.severity).then_with(by_kind).then_with(|| a.cmp(b))
    });
    findings.dedup();
    findings
}
