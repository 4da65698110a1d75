//! Overlap: whether two selectors can choose the same thing.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::{Requirement, Selector, Test};

impl Selector {
    /// Whether something can have labels that satisfy both.
    pub fn may_overlap(&self, other: &Self) -> bool {
        let mut by_key: BTreeMap<&str, Vec<&Test>> = BTreeMap::new();
        for Requirement { key, test } in self.requirements.iter().chain(&other.requirements) {
            by_key.entry(key).or_default().push(test);
        }
        by_key.values().all(|tests| can_hold(tests))
    }

    /// Whether it asks for nothing that another one does not ask for, and so is satisfied where that is.
    pub fn is_as_wide_as(&self, other: &Self) -> bool {
        self.requirements.iter().all(|requirement| other.requirements.contains(requirement))
    }
}

/// Whether one label, or that there is none, can pass all tests.
fn can_hold(tests: &[&Test]) -> bool {
    let is_absent = tests.iter().any(|test| matches!(test, Test::DoesNotExist));
    let is_present = tests.iter().any(|test| matches!(test, Test::In(_) | Test::Exists));
    if is_absent || !is_present {
        // Without the label `NotIn` holds, and so it does for a value that nobody lists.
        return !(is_absent && is_present);
    }
    let lists = |values: &[Box<str>], text: &str| values.iter().any(|value| **value == *text);
    let mut wanted: Option<Vec<&str>> = None;
    for test in tests {
        if let Test::In(values) = test {
            wanted = Some(match wanted {
                None => values.iter().map(|value| &**value).collect(),
                Some(before) => before.into_iter().filter(|value| lists(values, value)).collect(),
            });
        }
    }
    let is_shut = |value: &str| tests.iter().any(|test| matches!(test, Test::NotIn(values) if lists(values, value)));
    wanted.is_none_or(|wanted| !wanted.iter().all(|value| is_shut(value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{node, yaml};

    #[test]
    fn two_selectors_overlap_unless_a_label_keeps_them_apart() {
        let read = |text: &str| Selector::read(&node(&yaml(text))).unwrap();
        const IN: &str = "{matchExpressions: [{key: a, operator: In, values: [b, c]}]}";
        const NOT_IN: &str = "{matchExpressions: [{key: a, operator: NotIn, values: [b, c]}]}";
        const EXISTS: &str = "{matchExpressions: [{key: a, operator: Exists}]}";
        const ABSENT: &str = "{matchExpressions: [{key: a, operator: DoesNotExist}]}";
        for (one, other, expect) in [
            ("{matchLabels: {a: b}}", "{matchLabels: {a: b}}", true),
            ("{matchLabels: {a: b}}", "{matchLabels: {a: c}}", false),
            ("{matchLabels: {a: b}}", "{matchLabels: {x: v}}", true),
            ("{matchLabels: {a: b, x: v}}", "{matchLabels: {a: b, x: w}}", false),
            ("{matchLabels: {a: b}}", IN, true),
            ("{matchLabels: {a: d}}", IN, false),
            ("{matchLabels: {a: b}}", NOT_IN, false),
            ("{matchLabels: {a: d}}", NOT_IN, true),
            (IN, NOT_IN, false),
            (IN, EXISTS, true),
            (IN, ABSENT, false),
            (NOT_IN, ABSENT, true),
            (NOT_IN, EXISTS, true),
            (EXISTS, ABSENT, false),
            (ABSENT, ABSENT, true),
        ] {
            assert_eq!(read(one).may_overlap(&read(other)), expect, "{one} {other}");
            assert_eq!(read(other).may_overlap(&read(one)), expect, "{other} {one}");
        }
    }
}
