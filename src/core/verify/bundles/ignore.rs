//! What a `.sourceignore` leaves out of what Flux fetches, as far as bundles are concerned.
//!
//! Its patterns are those of `.gitignore`. It is hard to say whether a pattern surely matches, so the question is only
//! whether it may: a pattern that is not understood counts as one that does.
//!
//! <https://git-scm.com/docs/gitignore>

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::tree::BundleTree;
use crate::layout::path::TOPS;

/// The characters that make a part of a pattern stand for several names.
const WILD: [char; 5] = ['*', '?', '[', ']', '\\'];

/// The line, from one, by which a file may leave bundles' files out; `way` leads from the file's folder to the bundles.
pub(super) fn leaves_out(found: &[u8], way: &str, tree: &BundleTree) -> Option<usize> {
    let Ok(text) = core::str::from_utf8(found) else { return Some(1) };
    let way: Vec<&str> = way.split('/').filter(|part| !part.is_empty()).collect();
    let names: BTreeSet<&str> = way.iter().copied().chain(tree.keys().flat_map(|path| path.split('/'))).collect();
    // `/*` leaves out what stands beside the file, until a later line takes the bundles' folder in again.
    let mut all = None;
    for (line, text) in (1_usize..).zip(text.lines()) {
        let pattern = text.trim();
        if pattern.is_empty() || text.starts_with('#') {
            continue;
        }
        if let Some(kept) = pattern.strip_prefix('!') {
            let kept = kept.trim_matches('/');
            all = all.filter(|_| way.first() != Some(&kept));
        } else if pattern == "/*" && !way.is_empty() {
            all = Some(line);
        } else if may_match(pattern, &way, &names) {
            return Some(line);
        }
    }
    all
}

fn may_match(pattern: &str, way: &[&str], names: &BTreeSet<&str>) -> bool {
    let anchored = pattern.strip_suffix('/').unwrap_or(pattern);
    if !anchored.contains('/') {
        return names.iter().any(|name| may_be(anchored, name));
    }
    let mut way = way.iter();
    for part in anchored.split('/').filter(|part| !part.is_empty()) {
        match way.next() {
            _ if part.contains("**") => return true,
            Some(name) if !may_be(part, name) => return false,
            Some(_) => {}
            None => return TOPS.iter().any(|top| may_be(part, top)),
        }
    }
    true
}

/// Whether a part of a pattern may stand for a name, by how both end.
fn may_be(part: &str, name: &str) -> bool {
    match part.rsplit_once(WILD) {
        None => part == name,
        Some((_, tail)) => name.ends_with(tail),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::Standing;
    use super::*;
    use crate::layout::form::Form;

    #[track_caller]
    fn check(text: &str, expect: Option<usize>) {
        let path = "regions/eu/core/secrets/docs/a.sops.yaml";
        let tree = BundleTree::from([(path.into(), Standing::odd(Form::Plain))]);
        assert_eq!(leaves_out(text.as_bytes(), "fleet/bundles", &tree), expect, "{text:?}");
    }

    #[test]
    fn what_cannot_match_is_harmless() {
        check("", None);
        check("# notes\n\n", None);
        check("*.md\nMakefile\n/test\n/fleet/charts/**/x\n/fleet/bundles/README.yaml\nassets/\n*.tar.gz\n", None);
        check("/*\n!/fleet\n", None);
        check("/*\n!fleet/\n!/other\n", None);
        check("/fl?et/x\n", None);
    }

    #[test]
    fn what_may_match_is_told_by_its_line() {
        for pattern in [
            "*",
            "**",
            "/**",
            "*.yaml",
            "*.sops.yaml",
            "fleet",
            "fleet/",
            "/fleet",
            "bundles",
            "fleet/bundles",
            "a*",
            "regions",
            "/fleet/bundles/regions/eu",
            "/fleet/*",
            "/fleet/bundles/*",
            "**/secrets",
            "fle\\et",
            "[a-z]*",
            "secrets/",
            "docs/",
            "/*/*",
            "/fleet/bundles/flux/x.yaml",
            "s?crets",
            "a.sops.yaml",
        ] {
            check(&format!("# x\n{pattern}\n!/fleet\n"), Some(2));
        }
        check("/*\n", Some(1));
        check("/*\n!/fleets\n", Some(1));
        check("!/fleet\n/*\n", Some(2));
        check("/*\n!/fleet/bundles\n", Some(1));
        assert_eq!(leaves_out(b"\xff", "", &BundleTree::new()), Some(1));
        assert_eq!(leaves_out(b"/*\n!/regions\n", "", &BundleTree::new()), Some(1));
    }
}
