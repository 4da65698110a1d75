//! The controls of `scripts/soak/controls` can be played: what each switches off is there, once, and so is its test.

use crate::support::root;

/// The value of a key in a paragraph.
fn value<'a>(paragraph: &'a str, key: &str) -> &'a str {
    let mut lines = paragraph.lines().filter_map(|line| line.trim().strip_prefix(key)?.strip_prefix(' '));
    lines.next().unwrap_or_else(|| panic!("no {key} in {paragraph}"))
}

#[test]
fn every_protection_that_is_switched_off_is_there_and_so_is_its_test() {
    let read =
        |path: &str| std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let text = read("scripts/soak/controls");
    let mut names = Vec::new();
    for paragraph in text.split("\n\n").filter(|part| !part.starts_with('#')) {
        let (file, from) = (value(paragraph, "file"), value(paragraph, "from"));
        assert_eq!(read(file).matches(from).count(), 1, "{file} holds not once: {from}");
        assert_ne!(value(paragraph, "to"), from);
        let (program, test) = value(paragraph, "test").split_once(' ').unwrap();
        let name = test.rsplit("::").next().unwrap();
        let places = match program {
            "core" => "src/core",
            "lib" => "src/pouch",
            "plain" => "src/pouch/tests/plain",
            other => panic!("there is no program {other}"),
        };
        let is_there = walkdir::WalkDir::new(root().join(places)).into_iter().flatten().any(|entry| {
            let path = entry.path();
            path.extension().is_some_and(|ending| ending == "rs")
                && std::fs::read_to_string(path).is_ok_and(|text| text.contains(&format!("fn {name}()")))
        });
        assert!(is_there, "{program} has no test {test}");
        names.push(paragraph.lines().next().unwrap());
    }
    for name in ["lease", "brake", "tag", "stamp", "fsync"] {
        assert!(names.contains(&name), "no control {name}");
    }
}
