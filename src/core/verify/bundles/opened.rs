//! What private keys add: that a stanza opens for the recipient it names and for nobody else at hand, that every value
//! is the one that was sealed there, and, with a reuse key, that pouch wrote the very file.
//!
//! The shell wraps and unwraps; here its answers are judged.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use zeroize::Zeroizing;

use super::book::Book;
use super::sealed::SealedFile;
use super::tree::Standing;
use crate::finding::{Code, Finding};
use crate::node::Node;
use crate::object::never_leaves;
use crate::recipient::Recipient;
use crate::reuse::{self, Context};
use crate::sops;
use crate::yaml::emit::{Tree, emit};

/// How the stanzas of one file answered: for each, by whose identity it opened, and the data key.
pub type StanzaAnswers = Vec<Option<(Recipient, Zeroizing<[u8; 32]>)>>;

const HELP: &str = "Find out who changed the file, and have the region sealed anew.";

/// What opening one sealed file gave.
#[derive(Default)]
pub struct Judged {
    /// What is wrong.
    pub findings: Vec<Finding>,
    /// The Secret in clear, its MAC verified; none where no identity opens it, or it cannot be opened whole.
    pub opened: Option<Node>,
}

/// Judges one sealed file by what identities made of its stanzas.
///
/// `held` are the recipients of all identities at hand.
pub fn judge(
    book: &Book<'_>,
    sealed: &SealedFile,
    standing: &Standing,
    held: &BTreeSet<Recipient>,
    answers: &StanzaAnswers,
) -> Judged {
    let mut findings = Vec::new();
    let path = &*sealed.path;
    let find = |code, message: String, help: &str| {
        book.measure.find(code, path, 1, message).in_region(&sealed.region).about(&sealed.key).help(String::from(help))
    };
    let mut data_key: Option<&[u8; 32]> = None;
    for ((label, _), answer) in sealed.stanzas.iter().zip(answers) {
        match answer {
            Some((who, key)) => {
                let theirs = sealed.carried.contains(who)
                    || book.region_of(path).is_some_and(|region| region.recipients.contains(who));
                if !theirs {
                    let called = book.measure.called(who);
                    let message = format!("{path} opens for {called}, who should not be able to open this region");
                    findings.push(find(
                        Code::ForeignRecipient,
                        message,
                        "Treat what the file holds as known to that recipient: rotate it at its provider, and have \
                         the region sealed anew.",
                    ));
                } else if who.as_str() != label {
                    let message = format!("{path} has a stanza that claims to be for {label} but opens for {who}");
                    findings.push(find(Code::WrongRecipients, message, HELP));
                }
                if data_key.is_some_and(|known| *known != **key) {
                    let message = format!("{path} has two data keys, so its recipients do not open the same text");
                    findings.push(find(Code::BrokenSeal, message, HELP));
                }
                data_key = data_key.or(Some(key));
            }
            None if held.iter().any(|recipient| recipient.as_str() == label) => {
                let message = format!("{path} has a stanza for {label}, which that identity does not open");
                findings.push(find(Code::WrongRecipients, message, HELP));
            }
            None => {}
        }
    }
    let Some(data_key) = data_key else { return Judged { findings, opened: None } };
    let opened = match sops::decrypt(&sealed.document, data_key) {
        Ok(opened) => opened,
        Err(error) => {
            findings.push(find(Code::BrokenSeal, format!("{path} cannot be opened whole: {error}"), HELP));
            return Judged { findings, opened: None };
        }
    };
    // A type that can be read from outside was judged already.
    if let (Some(why), None) = (never_leaves(&opened), never_leaves(&sealed.document)) {
        let message = format!("{path} holds what pouch never publishes: {why}");
        findings.push(find(Code::UntrustedBundle, message, HELP));
    }
    if let (Some(keys), Some(region)) = (book.measure.keys, book.region_of(path)) {
        // The tag's context has the recipients that the file was sealed to; what they should be is judged
        // elsewhere.
        let recipients: Vec<Recipient> =
            sealed.stanzas.iter().filter_map(|(label, _)| Recipient::parse(label).ok()).collect();
        let context = Context {
            fleet: &region.manifest.fleet,
            directory: &region.directory,
            landing: &sealed.key,
            recipients: &recipients,
        };
        let plain = emit(&Tree::of(&opened));
        let (plain, bytes) = (plain.as_bytes(), &standing.bytes);
        // Where the manifest is authentic, its hash vouches for what was tagged under a key that is gone.
        let fits = match region.authentic {
            true => !reuse::contradicts(keys, &context, plain, bytes),
            false => reuse::verify(keys, &context, plain, bytes).is_some(),
        };
        if !fits {
            let message = format!("{path} does not have the tag that the reuse key makes for what it holds");
            findings.push(find(Code::UntrustedBundle, message, HELP));
        }
    }
    Judged { findings, opened: Some(opened) }
}
