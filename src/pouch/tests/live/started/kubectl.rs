//! With neither: `pouch apply`, and kubectl over k0rdent's copies.

use super::{ADOPTION, OPERATIONS, Reader, found_behind, k0rdent_is_back, k0rdent_lets_go, pushed, uids};

const PAGE: &str = "docs/getting-started/kubectl.md";

#[test]
fn from_nothing_to_the_last_object() {
    let Some(mut reader) = Reader::new("022") else { return };
    reader.follow(PAGE, "");
    reader.follow(OPERATIONS, "### Retiring without Flux and Argo CD");
    reader.is_empty();
}

#[test]
fn from_k0rdent_and_back_again() {
    let Some(mut reader) = Reader::new("077") else { return };
    let before = pushed(&reader.server);
    reader.follow(ADOPTION, "## What k0rdent pushed");
    for part in ["## 1. The configuration and the keys", "## 2. The first publish", "## 3. The rights"] {
        reader.follow(PAGE, part);
    }
    reader.follow(ADOPTION, "### Taking over with kubectl");
    reader.follow(ADOPTION, "## What stays behind");
    found_behind(&reader.session, &["cleartext-copy", "k0rdent-leftover"]);
    assert_eq!(uids(&reader.server), before);
    k0rdent_lets_go(&reader.server);
    reader.follow(ADOPTION, "### Back again with kubectl");
    assert_eq!(uids(&reader.server), before);
    k0rdent_is_back(&reader.server);
}
