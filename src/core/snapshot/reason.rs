//! Why a source did not answer a question, and what is said of an object for that.

use alloc::borrow::Cow;
use alloc::string::String;

use crate::finding::{Code, Finding, Origin};
use crate::name::{ObjectKey, SourceName};

/// Why a source did not answer a question.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Reason {
    /// What is the matter, in one clause without a full stop.
    pub why: String,
    /// What to do about it.
    pub help: String,
    /// The line of the file that it is about, from one, where one is.
    pub line: Option<u32>,
    /// The finding about an object that cannot be opened for it.
    pub code: Code,
}

impl Reason {
    /// Makes one about nothing smaller than a document.
    pub fn new(why: impl Into<String>, help: impl Into<String>) -> Self {
        Self { why: why.into(), help: help.into(), line: None, code: Code::UndecryptableSource }
    }

    /// A document that may be meant to be the object.
    pub(super) fn of_document(origin: &Origin) -> Self {
        let why = format!("the document at {origin} may be meant to be it");
        Self::new(why, "Correct that document: its own finding says what is wrong.")
    }
}

/// The reason why it is unknown if an object exists.
#[derive(Clone, Copy, Debug)]
pub struct Unread<'a> {
    /// The source that might have it.
    pub source: &'a SourceName,
    /// The reason that the source itself gave, if any.
    pub reason: Option<&'a Reason>,
}

impl Unread<'_> {
    /// Says in one clause why the object is unknown.
    pub fn why(&self) -> String {
        match self.reason {
            Some(reason) => reason.why.clone(),
            None => format!("source {} was not read completely", self.source),
        }
    }

    /// The finding about an object whose absence is not proved.
    pub fn finding(&self, key: &ObjectKey) -> Finding {
        self.leaves_open(key, &format!("{key} exists"))
    }

    /// The finding about an object of which nobody knows whether this is so.
    pub fn leaves_open(&self, key: &ObjectKey, what: &str) -> Finding {
        const HELP: &str = "Correct the source: its own findings say what is wrong.";
        let help = self.reason.map_or(Cow::Borrowed(HELP), |reason| Cow::Owned(reason.help.clone()));
        let finding = Finding::new(Code::Unread, format!("whether {what} is unknown: {}", self.why()));
        let finding = finding.about(key).help(help);
        // A reason of its own is all that is said of it.
        if self.reason.is_none() { finding.because(self.source) } else { finding }
    }
}
