//! Where the text of a manifest is cut, so that of two versions only what differs is parsed.
//!
//! A manifest in pouch's own layout is cut at its sections and objects. Any other text is not cut: the layout saves time and
//! decides nothing.

use alloc::string::String;
use core::ops::Range;

/// The first line of the section of objects, if there are objects.
pub(super) const OBJECTS: &str = "objects:\n";

/// Where a manifest in pouch's own layout is cut.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cut {
    /// The sections that say whose manifest it is.
    pub head: String,
    /// Where the section of objects is, without its first line.
    objects: Range<usize>,
}

impl Cut {
    /// Cuts a text into sections, which begin in the first column; none if the text is laid out otherwise.
    pub fn of(text: &str) -> Option<Self> {
        let mut head = String::new();
        let mut objects = None;
        let mut at = 0_usize;
        while at < text.len() {
            let rest = text.get(at..)?;
            let (section, _) = rest.split_at_checked(end_of_section(rest))?;
            let end = at.checked_add(section.len())?;
            if let Some(items) = section.strip_prefix(OBJECTS) {
                let start = at.checked_add(OBJECTS.len())?;
                if objects.replace(start..end).is_some() || !items.starts_with("- ") {
                    return None;
                }
            } else if ["apiVersion: ", "fleet: ", "kind: ", "metadata:\n"].iter().any(|key| section.starts_with(key)) {
                head.push_str(section);
            } else if !["#", "files:", "parts:", "recipients:", "sources:", "objects: []\n"]
                .iter()
                .any(|key| section.starts_with(key))
            {
                return None;
            }
            at = end;
        }
        Some(Self { head, objects: objects.unwrap_or_default() })
    }

    /// The section of objects of the text that this is a cut of, without its first line.
    pub fn objects_of<'t>(&self, text: &'t str) -> &'t str {
        text.get(self.objects.clone()).unwrap_or_default()
    }

    /// Where to cut a `new` text that differs from this one's `text` within the section of objects alone; none for any
    /// other text.
    ///
    /// Nearly every version in a long history is such a text, and cutting it anew would take longer than everything
    /// else that is done with it here.
    pub fn alike(&self, text: &str, new: &str) -> Option<Cut> {
        let cut = self;
        let (old, new) = (text.as_bytes(), new.as_bytes());
        let after = old.len().checked_sub(cut.objects.end)?;
        let end = new.len().checked_sub(after)?;
        // The start of the first item, and the line feed that ends the last one, must be the same too.
        let (start, last) = (cut.objects.start.checked_add(2)?, end.checked_sub(1)?);
        let is_same = start <= last && new.get(..start) == old.get(..start);
        if !is_same || new.get(last..) != old.get(cut.objects.end.checked_sub(1)?..) {
            return None;
        }
        let (old, new) = (old.get(cut.objects.clone())?, new.get(cut.objects.start..end)?);
        let head = common(new.chunks(CHUNK), old.chunks(CHUNK));
        let tail = common(new.get(head..)?.rchunks(CHUNK), old.get(head..)?.rchunks(CHUNK));
        // The lines of the old text begin as they should. Only the lines that begin in between are left to check; the
        // line feed before and the byte behind say which ones these are.
        let between = new.get(head.saturating_sub(1)..new.len().checked_sub(tail)?.saturating_add(1).min(new.len()))?;
        let between = between.strip_suffix(b"\n").unwrap_or(between);
        let holds =
            between.split(|byte| *byte == b'\n').skip(1).all(|line| line.starts_with(b" ") || line.starts_with(b"-"));
        holds.then(|| Cut { head: cut.head.clone(), objects: cut.objects.start..end })
    }
}

/// The items of a section of objects that `before` does not have at the same place from its start or from its end.
pub fn new_items<'t>(objects: &'t str, before: Option<&str>) -> impl Iterator<Item = &'t str> + use<'t> {
    let mut middle = objects;
    if let Some(old) = before {
        let head = item_start(middle, common(middle.as_bytes().chunks(CHUNK), old.as_bytes().chunks(CHUNK)));
        let (kept, new) = middle.split_at_checked(head).unwrap_or(("", middle));
        let old = old.get(kept.len()..).unwrap_or_default();
        let tail = common(new.as_bytes().rchunks(CHUNK), old.as_bytes().rchunks(CHUNK));
        let end = item_end(new, new.len().saturating_sub(tail));
        middle = new.get(..end).unwrap_or(new);
    }
    Items(middle)
}

/// How many bytes are compared at once: enough to be quick, few enough to cut off nearly all that is alike.
const CHUNK: usize = 512;

/// How many bytes two texts have in common, counted in whole chunks.
fn common<'a>(one: impl Iterator<Item = &'a [u8]>, other: impl Iterator<Item = &'a [u8]>) -> usize {
    one.zip(other).take_while(|(a, b)| a == b).map(|(chunk, _)| chunk.len()).sum()
}

/// The last start of an item at or before `at`.
fn item_start(text: &str, at: usize) -> usize {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    before.windows(3).rposition(|window| window == b"\n- ").map_or(0, |at| at.saturating_add(1))
}

/// The first start of an item after `at`, or the end.
fn item_end(text: &str, at: usize) -> usize {
    let after = text.as_bytes().get(at..).unwrap_or_default();
    let found = after.windows(3).position(|window| window == b"\n- ");
    found.map_or(text.len(), |found| at.saturating_add(found).saturating_add(1))
}

/// The end of the section at the start of a text: before the next line that begins with a letter or `#`.
fn end_of_section(text: &str) -> usize {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let goes_on = at > 0 && line.starts_with([' ', '-']);
        if at > 0 && !goes_on {
            return at;
        }
        at = at.saturating_add(line.len());
    }
    at
}

/// Items of a list, each with its dash.
struct Items<'t>(&'t str);

impl<'t> Iterator for Items<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        if self.0.is_empty() {
            return None;
        }
        let end = item_end(self.0, 0);
        let (item, rest) = self.0.split_at_checked(end)?;
        self.0 = rest;
        Some(item)
    }
}
