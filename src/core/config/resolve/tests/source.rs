//! What a git source's `ref` may be.

use super::{SOURCE, edited, fleet, load};
use crate::config::SourcePlace;

const ID: &str = "0123456789abcdef0123456789abcdef01234567";

#[test]
fn a_ref_says_what_it_is_or_is_no_tag() {
    for (typed, expect) in [
        ("main", "main"),
        ("refs/tags/v1", "refs/tags/v1"),
        (ID, ID),
        ("{branch: main}", "refs/heads/main"),
        ("{branch: HEAD}", "refs/heads/HEAD"),
        ("{tag: v1}", "refs/tags/v1"),
        ("{commit: 0123456789ABCDEF0123456789abcdef01234567}", ID),
    ] {
        let fleet = fleet(SOURCE, &format!("    git: {{repository: ../x, ref: {typed}}}"));
        let SourcePlace::Git { reference, .. } = &fleet.sources[0].place else { panic!("{typed}") };
        assert_eq!(reference, expect);
    }
    for (typed, expect) in [
        (
            "{branch: a..b}",
            "6:40 sources[0].git.ref.branch: \"a..b\" cannot be used: git reads it as a revision, not as a name",
        ),
        ("{}", "6:26 sources[0].git.ref: it does not name one thing"),
        ("{tag: v1, commit: abc}", "6:26 sources[0].git.ref: it does not name one thing"),
        ("{commit: abc1234}", "6:40 sources[0].git.ref.commit: \"abc1234\" is no whole commit id"),
        ("refs/", "6:31 sources[0].git.ref: \"\" cannot be used: it is empty"),
    ] {
        let found = load(&edited(SOURCE, &format!("    git: {{repository: x, ref: {typed}}}"))).err();
        assert_eq!(found.as_deref(), Some(expect), "{typed}");
    }
}
