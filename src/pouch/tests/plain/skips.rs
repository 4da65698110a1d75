//! What tests skip is told once more in the last lines of `cargo test`.

use std::fs;

use crate::support::skips::{note, take};

#[test]
fn what_was_noted_is_told_once_and_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("skipped");
    assert_eq!(take(&place), Vec::<String>::new());
    ["two: no program", "one: no program", "two: no program"].iter().for_each(|line| note(&place, line));
    // Another run's, which may be under way.
    fs::write(place.join("1-0"), "theirs\n").unwrap();
    assert_eq!(take(&place), ["one: no program", "two: no program"]);
    assert_eq!(take(&place), Vec::<String>::new());
    assert!(place.join("1-0").exists());
}
