//! What is known of a source beyond the objects that it gave.
//!
//! All that a source may have, or have otherwise, without having been read stands here, and [`State::doubts`] answers for an
//! object and for all of a kind in a namespace. What follows from an answer is asked of [`Snapshot`](super::Snapshot).

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::asked::Asked;
use super::guesses::Guesses;
use super::inquiry::Inquiry;
use super::reason::{Reason, Unread};
use super::words::Words;
use crate::config::Provides;
use crate::name::{GroupKind, Namespace, ObjectKey, SourceName};
use crate::unread_words::words_of;

/// What is known of a source beyond the objects that it gave.
pub(super) struct State {
    pub(super) name: SourceName,
    pub(super) provides: Provides,
    pub(super) overrides: bool,
    /// The beginning of all paths of its files, if it has any.
    pub(super) root: Option<String>,
    /// Set if nothing lacks but for the following fields.
    pub(super) complete: bool,
    /// What changed each time while the source was read.
    pub(super) changing: BTreeMap<ObjectKey, Reason>,
    /// Objects that are encrypted and not opened: the number of each one's document, and why it cannot be opened, once that
    /// was tried.
    pub(super) sealed: BTreeMap<ObjectKey, (usize, Option<Reason>)>,
    /// Documents that could be meant to be objects.
    pub(super) meant: Guesses,
    /// Objects in a namespace that is nearly called like theirs, which could be meant to be objects.
    pub(super) strayed: Guesses,
    /// Documents that could not be used.
    pub(super) words: Words,
    /// The answers of a source that is asked piece by piece.
    pub(super) inquiry: Option<Inquiry>,
}

/// A reason why a source may have an object that was not read; the first of several counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Why {
    /// It changed each time while it was read.
    Changing,
    /// It is there, encrypted.
    Sealed,
    /// A document could be meant to be it.
    Meant,
    /// The source was not read completely.
    Incomplete,
    /// A document that could not be used has its words.
    Named,
    /// A document that could not be used may be of any kind.
    Unreadable,
    /// The source was not asked for it, or gave no answer.
    Unanswered,
    /// An object in a namespace that is nearly called like its own could be meant to be it. What is there is not gone by that.
    Strayed,
}

/// All of them, the first ones first.
const ALL: [Why; 8] = [
    Why::Changing,
    Why::Sealed,
    Why::Meant,
    Why::Incomplete,
    Why::Named,
    Why::Unreadable,
    Why::Unanswered,
    Why::Strayed,
];

/// A doubt about an object that was not read.
#[derive(Clone, Copy)]
pub(super) struct Doubt<'a> {
    pub(super) why: Why,
    /// The reason that is given for it, if one is. Of a kind, only a listing has one.
    pub(super) reason: Option<&'a Reason>,
}

impl Doubt<'_> {
    /// Returns true if the source can be asked.
    pub(super) fn is_open(&self) -> bool {
        self.reason.is_none() && matches!(self.why, Why::Sealed | Why::Unanswered)
    }

    /// Returns true if it may be another one than that which is there: what stands elsewhere is none.
    pub(super) fn may_be_another(&self) -> bool {
        self.why != Why::Strayed
    }
}

impl State {
    /// The reasons why the source may have the object although it was not read; none if its absence is proved.
    pub(super) fn doubts(&self, asked: Asked<'_>) -> impl Iterator<Item = Doubt<'_>> {
        ALL.into_iter().filter_map(move |why| self.reason(why, asked).map(|reason| Doubt { why, reason }))
    }

    /// The reason that is given, if the source may have it for this.
    fn reason(&self, why: Why, asked: Asked<'_>) -> Option<Option<&Reason>> {
        let Asked { kind, namespace, object } = asked;
        let is_so = match (why, object) {
            (Why::Changing, Some(key)) => return self.changing.get(key).map(Some),
            (Why::Meant, Some(key)) => return self.meant.may_be(key).map(Some),
            (Why::Strayed, Some(key)) => return self.strayed.may_be(key).map(Some),
            // Each of a kind that is listed was opened, or counts as one that could not be used.
            (Why::Sealed, _) => return self.sealed.get(object?).map(|(_, reason)| reason.as_ref()),
            (Why::Unanswered, _) => {
                return match self.inquiry.as_ref()?.answer(asked) {
                    Some(Ok(())) => None,
                    answer => Some(answer.and_then(|answer| answer.as_ref().err())),
                };
            }
            (Why::Changing, None) => self
                .changing
                .keys()
                .any(|key| key.kind == *kind && (namespace.is_none() || key.namespace.as_ref() == namespace)),
            (Why::Meant, None) => self.meant.may_be_in(kind, namespace),
            (Why::Strayed, None) => self.strayed.may_be_in(kind, namespace),
            (Why::Incomplete, _) => !self.complete,
            (Why::Named, _) => self.words.may_name(asked),
            (Why::Unreadable, _) => self.words.may_be_any(asked),
        };
        is_so.then_some(None)
    }

    /// The reason why the source may have an object that was not read, or another one than was read.
    pub(super) fn doubt(&self, key: &ObjectKey) -> Option<Doubt<'_>> {
        self.doubts(Asked::object(key)).next()
    }

    /// The same, where asking the source would not help.
    pub(super) fn unread(&self, key: &ObjectKey) -> Option<Unread<'_>> {
        let doubt = self.doubt(key).filter(|doubt| !doubt.is_open())?;
        Some(Unread { source: &self.name, reason: doubt.reason })
    }

    /// Returns true if an object of a kind and a namespace might be unseen that names another one, which has the name
    /// of the key. Of documents that could not be used, the words tell.
    pub(super) fn may_hold_naming(&self, key: &ObjectKey) -> bool {
        let any = Asked { object: None, ..Asked::object(key) };
        let is_so = |why| match why {
            Why::Changing | Why::Incomplete | Why::Unanswered => self.reason(why, any).is_some(),
            Why::Meant | Why::Strayed => self.reason(why, Asked::object(key)).is_some(),
            Why::Named | Why::Unreadable => self.words.may_say(any, &[key.name.as_str()]),
            Why::Sealed => false,
        };
        ALL.into_iter().any(is_so)
    }

    /// Returns true if a cluster-scoped object of a kind might be unseen that has a label with one of some values.
    pub(super) fn may_hold_selected(&self, kind: &GroupKind, values: Option<&[Box<str>]>) -> bool {
        let any = Asked { kind, namespace: None, object: None };
        let is_so = |why| match why {
            Why::Named | Why::Unreadable => values.map_or_else(
                || self.words.may_say(any, &[]),
                |values| values.iter().any(|value| self.words.may_say(any, &words_of(value).collect::<Vec<_>>())),
            ),
            _ => self.reason(why, any).is_some(),
        };
        ALL.into_iter().any(is_so)
    }

    /// Whether some object of a kind might be unseen in a namespace; none is any namespace.
    pub(super) fn may_hold_kind(&self, kind: &GroupKind, namespace: Option<&Namespace>) -> bool {
        self.doubts(Asked { kind, namespace, object: None }).next().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Origin, Place};
    use crate::snapshot::mistyped::Meant;
    use crate::testing::case::key;
    use crate::testing::{node, yaml};
    use crate::unread_words::UnreadWords;

    fn source() -> State {
        let provides = Provides { namespaces: Default::default(), cluster_scoped: true, objects: Vec::new() };
        State {
            name: "git".into(),
            provides,
            overrides: false,
            root: None,
            complete: true,
            changing: BTreeMap::new(),
            sealed: BTreeMap::new(),
            meant: Guesses::default(),
            strayed: Guesses::default(),
            words: Words::default(),
            inquiry: None,
        }
    }

    fn reason(why: &str) -> Reason {
        Reason::new(why, "")
    }

    /// Makes a document be read that has lost its name.
    fn nameless(state: &mut State) {
        let document = "{apiVersion: v1, kind: Secret, metadata: {namespace: n, nmae: a}}";
        let origin = Origin { source: "git".into(), place: Place::Whole };
        state.meant.add(Meant::of(&node(&yaml(document)), None, &origin));
    }

    /// What is known, and which doubts that leaves of `Secret n/a`, of `Secret n/b` and of all Secrets in `n`.
    #[test]
    fn each_doubt_says_how_far_it_reaches() {
        type Known = fn(&mut State);
        let cases: [(Known, [&[Why]; 3]); 8] = [
            (|_| {}, [&[], &[], &[]]),
            (
                |it| _ = it.changing.insert(key("Secret n/a"), reason("changed")),
                [&[Why::Changing], &[], &[Why::Changing]],
            ),
            (|it| _ = it.sealed.insert(key("Secret n/a"), (0, None)), [&[Why::Sealed], &[], &[]]),
            (nameless, [&[Why::Meant], &[], &[Why::Meant]]),
            (|it| it.complete = false, [&[Why::Incomplete]; 3]),
            (
                |it| it.words = Words::of(Vec::from([UnreadWords::of_object(&key("Secret n/a"))])),
                [&[Why::Named], &[], &[Why::Named]],
            ),
            (
                |it| {
                    let document = node(&yaml("{metadata: {name: a, namespace: n}}"));
                    it.words = Words::of(Vec::from([UnreadWords::of_document(&document)]));
                },
                [&[Why::Unreadable], &[], &[Why::Unreadable]],
            ),
            (
                |it| {
                    let mut inquiry = Inquiry::default();
                    inquiry.answered(key("Secret n/b"), Ok(()));
                    it.inquiry = Some(inquiry);
                },
                [&[Why::Unanswered], &[], &[Why::Unanswered]],
            ),
        ];
        for (number, (known, expect)) in cases.into_iter().enumerate() {
            let mut state = source();
            known(&mut state);
            let (a, b) = (key("Secret n/a"), key("Secret n/b"));
            let of_kind = Asked { object: None, ..Asked::object(&a) };
            let found = [Asked::object(&a), Asked::object(&b), of_kind]
                .map(|asked| state.doubts(asked).map(|doubt| doubt.why).collect::<Vec<_>>());
            assert_eq!(found, expect.map(<[Why]>::to_vec), "{number}");
        }
    }

    #[test]
    fn the_first_doubt_counts_and_only_a_question_without_an_answer_is_open() {
        let a = key("Secret n/a");
        let mut state = source();
        state.inquiry = Some(Inquiry::default());
        assert!(state.doubt(&a).is_some_and(|doubt| doubt.is_open()) && state.unread(&a).is_none());
        state.inquiry.iter_mut().for_each(|it| it.answered(a.clone(), Err(reason("forbidden"))));
        let why = |state: &State| state.unread(&a).map(|unread| unread.why());
        assert_eq!(why(&state).as_deref(), Some("forbidden"));
        state.complete = false;
        assert_eq!(why(&state).as_deref(), Some("source git was not read completely"));
        state.sealed.insert(a.clone(), (0, Some(reason("no key"))));
        assert_eq!(why(&state).as_deref(), Some("no key"));
        state.changing.insert(a.clone(), reason("changed"));
        assert_eq!(why(&state).as_deref(), Some("changed"));
    }
}
