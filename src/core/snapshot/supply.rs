//! Supply: answers of sources that are asked piece by piece, and what changed while they were.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::home::Word as HomeWord;
use super::objects::place;
use super::reason::Reason;
use super::{Answer, Base, Snapshot};
use crate::config::{Fleet, Source};
use crate::finding::{Code, Fault};
use crate::name::ObjectKey;
use crate::object::admit;

impl Snapshot {
    /// Adds a source's answers to questions for objects by name.
    ///
    /// An answer that holds another object than the one asked for counts as no answer.
    pub fn supply(&mut self, fleet: &Fleet, index: usize, answers: Vec<(ObjectKey, Answer)>) {
        let (Some(source), Some(base)) = (fleet.sources.get(index), self.base_mut()) else { return };
        for (key, answer) in answers {
            base.answered(fleet, (index, source), key, answer);
        }
    }

    /// Notes that an object of a source changed while the source was read: what else was read did not stand together with
    /// it, so who needs it waits.
    pub fn changes(&mut self, fleet: &Fleet, index: usize, key: &ObjectKey, why: &str) {
        let help = "Run pouch again; if it happens often, see what writes this object all the time.";
        let why = format!("{why} each time while it was read");
        let Some(base) = self.base_mut() else { return };
        if let Some(held) = base.objects.get_mut(key) {
            if let Some(object) = held.copy_of(index) {
                object.faults.push(Fault::new(Code::Changing, &*why, help));
            }
            held.settle(fleet);
        }
        if let Some(state) = base.sources.get_mut(index) {
            state.changing.insert(key.clone(), Reason::new(why, help));
        }
    }
}

impl Base {
    /// Adds an answer of a source.
    fn answered(&mut self, fleet: &Fleet, (index, source): (usize, &Source), key: ObjectKey, answer: Answer) {
        if self.sources.get(index).is_some_and(|state| state.sealed.contains_key(&key)) {
            return self.unseal(fleet, index, key, answer);
        }
        let is_unseen = matches!(answer, Answer::Unseen(..));
        // Of a Secret that nobody looks at, only another source can tell that the one at home is pouch's.
        let is_presumed = is_unseen && self.home.is(&source.name) && self.objects.get(&key).is_some();
        let told = match answer {
            Answer::Absent => Ok(()),
            Answer::Unseen(..) if is_presumed => Ok(()),
            Answer::Unread(reason) | Answer::Sealed(reason) => Err(reason),
            Answer::Found(document, origin) | Answer::Unseen(document, origin) => {
                match admit(document, origin, &self.scopes, source.default_namespace.as_ref(), fleet) {
                    Ok(object) if object.key == key => match self.home.word(fleet, source, &object) {
                        HomeWord::Counts => {
                            let object = if is_unseen { object.unseen() } else { object };
                            place(&mut self.objects, fleet, index, Box::new(object));
                            Ok(())
                        }
                        HomeWord::Own => {
                            self.home.note(index, object);
                            Ok(())
                        }
                        HomeWord::Delivered => Ok(()),
                        HomeWord::Unclear(reason) => Err(reason),
                    },
                    _ => Err(Reason::new(
                        format!("source {} answered with a different object", source.name),
                        "Find out what is between pouch and the API server.",
                    )),
                }
            }
        };
        self.home.back_up(&mut self.objects, &key);
        if let Some(inquiry) = self.sources.get_mut(index).and_then(|state| state.inquiry.as_mut()) {
            inquiry.asked.insert(key, told);
        }
    }
}
