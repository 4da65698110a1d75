//! Patterns: texts in which something is left to be filled in, and what they could become.
//!
//! A pattern is taken apart once, and in one pass. Comparing takes no longer than the text that it is compared with, however
//! many variables stand in the pattern.

use alloc::boxed::Box;
use alloc::vec::Vec;

/// How what is to be filled in begins and ends, in the words of Helm.
const HELM: (&str, &str) = ("{{", "}}");

/// The same in those of clusterctl, and of Flux.
const VARIABLE: (&str, &str) = ("${", "}");

/// A text, which may be a template.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Pattern {
    text: Box<str>,
    /// What stands around variables: before the first, between two, and behind the last; none if there are none.
    parts: Option<Parts>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Parts {
    first: Box<str>,
    /// None is empty.
    middle: Vec<Box<str>>,
    last: Box<str>,
    /// The bytes of all together.
    bytes: usize,
}

impl Pattern {
    /// Takes a text apart; `variables` are looked for too, or only what Helm would have rendered.
    pub fn of(text: &str, variables: bool) -> Self {
        let parts = if variables { Parts::of(text, [HELM, VARIABLE]) } else { Parts::of(text, [HELM]) };
        Self { text: text.into(), parts }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether something is left to be filled in.
    pub fn is_open(&self) -> bool {
        self.parts.is_some()
    }

    /// Whether a text is what this could become; what has no variables becomes only itself.
    pub fn fits(&self, text: &str) -> bool {
        let Some(Parts { first, middle, last, bytes }) = &self.parts else { return *self.text == *text };
        if *bytes > text.len() {
            return false;
        }
        let inner = text.strip_prefix(&**first).and_then(|text| text.strip_suffix(&**last));
        let Some(mut rest) = inner else { return false };
        middle.iter().all(|part| match rest.split_once(&**part) {
            Some((_, behind)) => {
                rest = behind;
                true
            }
            None => false,
        })
    }
}

impl Parts {
    fn of<const N: usize>(text: &str, templates: [(&str, &str); N]) -> Option<Self> {
        // Where each kind of variable begins next: looked for again only once it lies behind.
        let mut next = templates.map(|(begin, _)| text.find(begin));
        let (mut parts, mut at) = (Vec::new(), 0);
        loop {
            let first = next.iter().zip(templates).filter_map(|(found, words)| Some(((*found)?, words))).min();
            let Some((begins, (begin, end))) = first else { break };
            parts.push(text.get(at..begins).unwrap_or_default());
            let inside = begins + begin.len();
            let ends = text.get(inside..).and_then(|rest| rest.find(end));
            at = ends.map_or(text.len(), |ends| inside + ends + end.len());
            for (found, (begin, _)) in next.iter_mut().zip(templates) {
                if found.is_some_and(|found| found < at) {
                    *found = text.get(at..).and_then(|rest| rest.find(begin)).map(|found| at + found);
                }
            }
        }
        let (first, middle) = parts.split_first()?;
        let last = text.get(at..).unwrap_or_default();
        let middle = middle.iter().filter(|part| !part.is_empty()).map(|part| Box::from(*part)).collect();
        let bytes = parts.iter().map(|part| part.len()).sum::<usize>() + last.len();
        Some(Self { first: Box::from(*first), middle, last: last.into(), bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    #[test]
    fn a_template_could_become_what_has_the_texts_around_its_variables_in_order() {
        for (pattern, text, fits) in [
            ("a", "a", true),
            ("a", "b", false),
            ("{{ x }}", "", true),
            ("${X}", "any", true),
            ("a-{{ x }}", "a-b", true),
            ("a-{{ x }}", "b-a-b", false),
            ("{{ x }}-b", "a-b", true),
            ("{{ x }}-b", "a-b-c", false),
            ("a-${X}-b-{{ y }}-c", "a-1-b-2-c", true),
            ("a-${X}-b-{{ y }}-c", "a-1-c", false),
            ("a${X}a", "a", false),
            ("a${X}a", "aa", true),
            ("${X}${Y}{{ z }}", "a", true),
            ("a-{{ ${X} }}-b", "a-1-b", true),
            ("a-${ {{ }-b", "a-1-b", true),
            ("a-{{ x", "a-1", true),
            ("a-${X", "b", false),
            ("a}}", "a}}", true),
        ] {
            assert_eq!(Pattern::of(pattern, true).fits(text), fits, "{pattern} {text}");
        }
    }

    /// Two megabytes of variables and of their beginnings are taken apart, and compared, in one pass: looking again at all
    /// that is left at each of them would take hours.
    #[test]
    fn a_million_variables_take_no_time() {
        for (text, fits) in [("${", true), ("${}", true), ("{{}}", true), ("{{", true), ("{{${", true), ("}}${", false)]
        {
            let pattern = Pattern::of(&text.repeat(2_000_000 / text.len()), true);
            assert!((0..1000).all(|_| pattern.fits("a") == fits), "{text}");
        }
        let many = String::from("${}a").repeat(200_000);
        assert!(
            Pattern::of(&many, true).fits(&"ba".repeat(200_000))
                && !Pattern::of(&many, true).fits(&"b".repeat(400_000))
        );
    }
}
