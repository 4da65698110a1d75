//! What can be wrong with a source's `decryption`.

use super::{SOURCE, edited, load};

/// What stands in place of the source, and what is said of it.
const WRONG: [(&str, &str); 6] = [
    (
        "    directory: {path: manifests}\n    decryption: {}",
        "7:5 sources[0].decryption: it does not say where the identities are",
    ),
    (
        "    directory: {path: manifests}\n    decryption: {environment: true, ageIdentityFile: keys/a.txt}",
        "7:5 sources[0].decryption: it names two places for identities",
    ),
    (
        "    directory: {path: manifests}\n    decryption: {ageIdentityFile: bundles/a.txt}",
        "7:35 sources[0].decryption.ageIdentityFile: the file is under `output.path`, where bundles are written",
    ),
    (
        "    directory: {path: manifests}\n    decryption: {ageIdentityFile: \"\"}",
        "7:35 sources[0].decryption.ageIdentityFile: the path is empty or has a control character in it",
    ),
    (
        "    directory: {path: manifests}\n    decryption: {ageIdentityFile: AGE-SECRET-KEY-1QQQQQQQQQQQQ}",
        "7:35 sources[0].decryption.ageIdentityFile: this is a key; write where the key is instead",
    ),
    (
        "    cluster: {}\n    decryption: {environment: true}",
        "7:5 sources[0].decryption: objects of a cluster are not opened",
    ),
];

#[test]
fn a_source_says_in_one_way_where_its_identities_are() {
    for (to, expect) in WRONG {
        let found = load(&edited(SOURCE, to)).err().unwrap_or_default();
        assert_eq!(found, expect, "{to}");
        assert!(!found.contains("QQQQ"), "{found}");
    }
}
