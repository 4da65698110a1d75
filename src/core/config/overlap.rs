//! Whether two globs over names can match one name: decided exactly, for `*` and `?`.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

/// Whether some text matches both patterns.
pub fn overlap(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut seen: BTreeSet<(usize, usize)> = BTreeSet::new();
    // Pairs of places that one text can lead to.
    let mut reached: Vec<(usize, usize)> = Vec::from([(0, 0)]);
    while let Some((at, there)) = reached.pop() {
        if !seen.insert((at, there)) {
            continue;
        }
        let next = (at + 1, there + 1);
        match (one.get(at), other.get(there)) {
            (None, None) => return true,
            // A star stands for nothing, or takes what the other pattern has next.
            (Some(b'*'), Some(_)) => reached.extend([(next.0, there), (at, next.1)]),
            (Some(_), Some(b'*')) => reached.extend([(at, next.1), (next.0, there)]),
            (Some(b'*'), None) => reached.push((next.0, there)),
            (None, Some(b'*')) => reached.push((at, next.1)),
            (Some(one), Some(other)) if one == other || *one == b'?' || *other == b'?' => reached.push(next),
            (Some(_) | None, Some(_) | None) => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use super::*;
    use crate::config::Globs;

    /// All texts over an alphabet with at most `most` characters.
    fn texts(alphabet: &str, most: usize) -> Vec<String> {
        let mut all = vec![String::new()];
        let mut last = all.clone();
        for _ in 0..most {
            last = last.iter().flat_map(|text| alphabet.chars().map(move |c| format!("{text}{c}"))).collect();
            all.extend(last.iter().cloned());
        }
        all
    }

    #[test]
    fn two_globs_overlap_where_one_name_fits_both() {
        // Two patterns of three characters that overlap at all have a text of at most six characters in common.
        let texts_of_both = texts("ab", 6);
        let globs = texts("ab*?", 3).into_iter().filter(|glob| !glob.is_empty());
        let globs: Vec<(String, Vec<bool>)> = globs
            .map(|glob| {
                let set = Globs::new(core::slice::from_ref(&glob)).unwrap();
                (glob, texts_of_both.iter().map(|text| set.matches(text)).collect())
            })
            .collect();
        let mut found = 0;
        for (one, by_one) in &globs {
            for (other, by_other) in &globs {
                let both = by_one.iter().zip(by_other).any(|(one, other)| *one && *other);
                assert_eq!(overlap(one, other), both, "{one} {other}");
                found += usize::from(both);
            }
        }
        assert!(found > 1000 && found < globs.len() * globs.len(), "{found}");
    }

    #[test]
    fn long_globs_are_decided_at_once() {
        let (one, other) = ("*a".repeat(126), format!("{}b", "*a".repeat(126)));
        assert!(!overlap(&one, &other) && overlap(&one, &"*a".repeat(120)));
    }
}
