//! The order of a map's keys: the one in which kustomize writes them.
//!
//! A SOPS file's MAC covers its values in the order in which they stand, and `kustomize build` writes every map
//! anew, sorted by the rule of go-yaml v2: letters after everything else, and runs of digits by their number.
//! Keys in that order before the build keep it, and the MAC still fits. Sorting by bytes gives that order for
//! most keys; `a9` and `a10` are an exception. <https://github.com/yaml/go-yaml/blob/v2/sorter.go>

use alloc::vec::Vec;
use core::cmp::Ordering;

/// Puts entries that are sorted by bytes into the order in which they are written.
///
/// go-yaml's rule runs in circles (`2` before `19` before `1a` before `2`), and a library's sorting may
/// panic on such a rule; this one merges halves whatever the rule says, the same way every time.
/// kustomize itself writes such keys in an order that changes from run to run.
pub(crate) fn arranged<T>(entries: Vec<T>, key: impl Fn(&T) -> &str + Copy) -> Vec<T> {
    if is_arranged(entries.iter().map(key)) {
        return entries;
    }
    let mut left = entries;
    let right = left.split_off(left.len() / 2);
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let mut right = arranged(right, key).into_iter().peekable();
    for entry in arranged(left, key) {
        while let Some(other) = right.next_if(|other| compare(key(other), key(&entry)).is_lt()) {
            merged.push(other);
        }
        merged.push(entry);
    }
    merged.extend(right);
    merged
}

/// Whether keys stand in the order in which they are written.
pub(crate) fn is_arranged<'k>(keys: impl Iterator<Item = &'k str>) -> bool {
    keys.is_sorted_by(|a, b| compare(a, b).is_le())
}

/// go-yaml's rule.
fn compare(a: &str, b: &str) -> Ordering {
    let mut prefix = Prefix::default();
    let (mut rest_a, mut rest_b) = (a.chars(), b.chars());
    loop {
        let (at_a, at_b) = (rest_a.as_str(), rest_b.as_str());
        let (x, y) = match (rest_a.next(), rest_b.next()) {
            (Some(x), Some(y)) => (x, y),
            (x, y) => return x.is_some().cmp(&y.is_some()),
        };
        if x == y {
            prefix = prefix.with(x);
            continue;
        }
        return match (x.is_alphabetic(), y.is_alphabetic()) {
            (true, true) => x.cmp(&y),
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => {
                // A zero inside a number counts, one that leads a number does not.
                let start = i64::from(prefix == Prefix::Number && (x == '0' || y == '0'));
                number(at_a, start).cmp(&number(at_b, start)).then(x.cmp(&y))
            }
        };
    }
}

/// What stands before the first difference: digits other than leading zeros, or not.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Prefix {
    #[default]
    Other,
    Number,
}

impl Prefix {
    fn with(self, c: char) -> Self {
        match c {
            '1'..='9' => Prefix::Number,
            '0' => self,
            _ => Prefix::Other,
        }
    }
}

/// The number that leads `text` behind the digit `start`, and its length. It wraps as Go's does.
fn number(text: &str, start: i64) -> (i64, usize) {
    let digits = text.chars().map_while(|c| c.to_digit(10));
    digits.fold((start, 0), |(number, length), digit| {
        (number.wrapping_mul(10).wrapping_add(i64::from(digit)), length + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(keys: &[&'static str]) {
        let mut bytes = keys.to_vec();
        bytes.sort_unstable();
        assert_eq!(arranged(bytes, |key| key), keys);
    }

    /// As kustomize 5.8.1 wrote them.
    #[test]
    fn keys_stand_as_kustomize_writes_them() {
        check(&[]);
        check(&["apiVersion", "data", "kind", "metadata", "sops", "type"]);
        check(&["AccessKeyID", "SecretAccessKey", "SessionToken"]);
        check(&["AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET", "AZURE_SUBSCRIPTION_ID", "AZURE_TENANT_ID"]);
        check(&["a-1", "a.b-c_d", "a_1", "a01", "a9", "a10"]);
        check(&["A_B", "AB", "a"]);
        check(&["-", ".hidden", "_x", "0x1f", "1_000", "1234", "1e3", "2001-01-01", "A", "a-1", "null"]);
        check(&["key-1", "key-2", "key-9", "key-10", "key-100"]);
        check(&[
            "1",
            "99999999999999999999",
            "x",
            "x.1",
            "x.a",
            "x_",
            "x0",
            "x1-",
            "x1.0",
            "x001",
            "x10",
            "x100",
            "xx",
        ]);
        check(&["v0", "v00", "v1", "v1.0", "v01", "v10"]);
    }

    /// Also where the rule has no answer, every key stands once, and no order of halves panics.
    #[test]
    fn a_rule_that_runs_in_circles_loses_nothing() {
        assert!(compare("2", "19").is_lt() && compare("19", "1a").is_lt() && compare("1a", "2").is_lt());
        let tails = ["", "a", "-", "0", "_9"];
        let keys: Vec<_> = (0..23).flat_map(|n| tails.map(|tail| format!("{n}{tail}"))).collect();
        let mut all = arranged(keys.clone(), |key| key);
        let again = arranged(keys.clone(), |key| key);
        assert_eq!(all, again);
        let mut keys = keys;
        keys.sort_unstable();
        all.sort_unstable();
        assert_eq!(all, keys);
    }
}
