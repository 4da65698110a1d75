//! The rooms of the house and whom each may name: `rooms.txt`, held against what the files name.
//!
//! A room is a top-level module of the core or the shell, or of the folders in [`SPLIT`]. The order of
//! the lines is the order of the floors: a room names only rooms that stand above it.

use std::collections::{BTreeMap, BTreeSet};

use crate::graph::{Graph, Naming};

/// Folders whose modules are rooms of their own.
const SPLIT: &[&str] = &["cli"];

/// A line of the table: a room, and whom it may name.
type Line<'a> = (&'a str, BTreeSet<&'a str>);

/// The folder of a file's crate, and the file's room; the root of a crate only declares modules and is no room.
pub fn room_of(file: &str) -> Option<(&str, &str)> {
    let mut parts = file.trim_end_matches(".rs").strip_prefix("src/")?.splitn(2, '/');
    let (folder, module) = (parts.next()?, parts.next()?);
    let mut ends = module.match_indices('/').map(|(at, _)| at).chain([module.len()]);
    let mut room = &module[..ends.next()?];
    if SPLIT.contains(&room) {
        room = &module[..ends.next().unwrap_or(module.len())];
    }
    (module != "lib").then_some((folder, room))
}

/// The rooms that stand in the house, each after the folder of its crate.
fn standing(graph: &Graph) -> BTreeSet<(&str, &str)> {
    graph.files.iter().filter_map(|file| room_of(file)).collect()
}

/// Whom each room names.
fn found(graph: &Graph) -> BTreeMap<&str, BTreeSet<&str>> {
    let rooms = standing(graph).into_iter().map(|(_, room)| (room, BTreeSet::new()));
    let mut found: BTreeMap<_, BTreeSet<_>> = rooms.collect();
    for (from, to, _) in steps(graph) {
        found.entry(from).or_default().insert(to);
    }
    found
}

/// Every place where a room names another, with both.
fn steps(graph: &Graph) -> Vec<(&str, &str, &Naming)> {
    graph.namings.iter().filter_map(step).filter(|(from, to, _)| from != to).collect()
}

fn step(naming: &Naming) -> Option<(&str, &str, &Naming)> {
    Some((room_of(&naming.from)?.1, room_of(&naming.to)?.1, naming))
}

fn is_remark(line: &str) -> bool {
    line.is_empty() || line.starts_with('#')
}

fn parse(table: &str) -> Vec<Line<'_>> {
    let split = |line: &'_ str| line.find(':').map_or((line.len(), line.len()), |at| (at, at + 1));
    let lines = table.lines().filter(|line| !is_remark(line));
    lines.map(|line| (&line[..split(line).0], line[split(line).1..].split_whitespace().collect())).collect()
}

/// What is wrong with the table, or with the house by the table.
pub fn faults(graph: &Graph, table: &str) -> Vec<String> {
    let (lines, found) = (parse(table), found(graph));
    let floor = |room: &str| lines.iter().position(|(name, _)| *name == room);
    let is_above = |room: &str, other: &str| matches!((floor(room), floor(other)), (Some(a), Some(b)) if a < b);
    let mut faults = Vec::new();
    for Naming { from, to, name, line } in &graph.namings {
        if room_of(from).is_none() || room_of(to).is_none() {
            faults.push(format!("{from}:{line}: names `{name}` in {to}: a crate's root only declares modules"));
        }
    }
    let standing = standing(graph);
    for (folder, room) in &standing {
        if standing.iter().any(|(other, name)| name == room && other < folder) {
            faults.push(format!("src/{folder}/{room}: another crate has a room of this name"));
        }
        if floor(room).is_none() {
            faults.push(format!("src/{folder}/{room}: rooms.txt does not say whom `{room}` may name"));
        }
    }
    for (number, (room, may_name)) in lines.iter().enumerate() {
        if floor(room) != Some(number) {
            faults.push(format!("rooms.txt: `{room}` has two lines"));
        }
        let Some(named) = found.get(room) else {
            faults.push(format!("rooms.txt: there is no room `{room}`"));
            continue;
        };
        for other in may_name {
            if !named.contains(other) {
                faults.push(format!("rooms.txt: `{room}` may name `{other}` and never does"));
            } else if !is_above(other, room) {
                faults.push(format!("rooms.txt: `{room}` may name `{other}`, which does not stand above it"));
            }
        }
    }
    let mut strays = BTreeMap::<_, BTreeSet<_>>::new();
    for (from, to, naming) in steps(graph) {
        let may_name = lines.iter().any(|(room, may_name)| *room == from && may_name.contains(to));
        if !may_name && floor(from).is_some() {
            strays.entry((from, to, &naming.from)).or_default().insert((naming.line, &naming.name));
        }
    }
    for ((from, to, file), spots) in strays {
        let line = spots.first().map_or(0, |(line, _)| *line);
        let names: BTreeSet<_> = spots.into_iter().map(|(_, name)| name.as_str()).collect();
        let names = Vec::from_iter(names).join("`, `");
        let why = if is_above(to, from) { "" } else { ", which does not stand above it" };
        faults.push(format!("{file}:{line}: names `{names}`: `{from}` may not name `{to}`{why}"));
    }
    faults
}

/// The table with whom each room names, in its own order and with its remarks; what stands below stays
/// out. A new room comes right after the last that it names, a room that is gone goes.
pub fn rewritten(graph: &Graph, table: &str) -> String {
    let found = found(graph);
    let mut lines: Vec<&str> = Vec::new();
    for line in table.lines() {
        let room = line.split(':').next().unwrap_or(line);
        if is_remark(line) || (found.contains_key(room) && !lines.contains(&room)) {
            lines.push(if is_remark(line) { line } else { room });
        }
    }
    let standing = standing(graph);
    let mut new: Vec<_> = standing.iter().filter(|(_, room)| !lines.contains(room)).collect();
    while !new.is_empty() {
        // The next is one that names none of the other new rooms; in a circle it is simply the first.
        let names_new = |room: &str| new.iter().any(|(_, other)| *other != room && found[room].contains(other));
        let next = new.iter().position(|(_, room)| !names_new(room)).unwrap_or(0);
        let (folder, room) = new.remove(next);
        let is_needed = |line: &str| {
            let of_lower_crate = |(other, name): &(&str, &str)| name == &line && other < folder;
            found[room].contains(line) || standing.iter().any(of_lower_crate)
        };
        let after_remarks = lines.iter().take_while(|line| is_remark(line)).count();
        let at = lines.iter().rposition(|line| is_needed(line)).map_or(after_remarks, |last| last + 1);
        lines.insert(at, room);
    }
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate() {
        text.push_str(line);
        if !is_remark(line) {
            text.push(':');
            for room in lines[..number].iter().filter(|room| found[line].contains(*room)) {
                text.push(' ');
                text.push_str(room);
            }
        }
        text.push('\n');
    }
    text
}

/// Whether `room` stands above the room of `place` in the table.
pub fn is_above(table: &str, room: &str, place: &str) -> bool {
    let lines = parse(table);
    let floor = |room: &str| lines.iter().position(|(name, _)| *name == room);
    let place = room_of(place).and_then(|(_, room)| floor(room));
    matches!((floor(room), place), (Some(a), Some(b)) if a < b)
}

#[cfg(test)]
mod tests {
    use super::{faults, is_above, rewritten, room_of};
    use crate::graph::Graph;

    fn house() -> Graph {
        let files = [
            ("src/core/lib.rs", "pub mod name; pub mod node; pub mod claim;"),
            ("src/core/name.rs", "pub struct Name;"),
            ("src/core/node.rs", "use crate::name::Name;"),
            ("src/core/claim.rs", "mod access;"),
            ("src/core/claim/access.rs", "use crate::node;\nuse crate::name;"),
            ("src/pouch/lib.rs", "pub mod cli;"),
            ("src/pouch/cli.rs", "mod render; use render::run;"),
            ("src/pouch/cli/render.rs", "pub fn run() { pouch_core::claim::f() }"),
            ("src/pouch/main.rs", "use pouch::cli;"),
        ];
        Graph::of_samples(&files)
    }

    const TABLE: &str = "# Words.\nname:\nnode: name\nclaim: name node\n\n# The shell.\ncli/render: claim\ncli: cli/render\nmain: cli\n";

    #[track_caller]
    fn refuses(table: &str, expect: &[&str]) {
        assert_ne!(table, TABLE);
        assert_eq!(faults(&house(), table), expect);
    }

    #[test]
    fn files_stand_in_rooms() {
        assert_eq!(room_of("src/core/claim.rs"), Some(("core", "claim")));
        assert_eq!(room_of("src/core/claim/a/b.rs"), Some(("core", "claim")));
        assert_eq!(room_of("src/pouch/cli.rs"), Some(("pouch", "cli")));
        assert_eq!(room_of("src/pouch/cli/render.rs"), Some(("pouch", "cli/render")));
        assert_eq!(room_of("src/pouch/cli/render/a.rs"), Some(("pouch", "cli/render")));
        assert_eq!(room_of("src/core/lib.rs"), None);
    }

    #[test]
    fn the_table_is_held_against_the_house() {
        assert_eq!(faults(&house(), TABLE), [""; 0]);
        let claim = "src/core/claim/access.rs";
        refuses(
            &TABLE.replace("claim: name node", "claim: name"),
            &[&format!("{claim}:1: names `node`: `claim` may not name `node`")],
        );
        refuses(
            &TABLE.replace("node: name", "node: name name2"),
            &["rooms.txt: `node` may name `name2` and never does"],
        );
        refuses(&TABLE.replace("main: cli", "main: cli name"), &["rooms.txt: `main` may name `name` and never does"]);
        refuses(&TABLE.replace("main: cli\n", ""), &["src/pouch/main: rooms.txt does not say whom `main` may name"]);
        refuses(&TABLE.replace("main:", "cellar:\nmain:"), &["rooms.txt: there is no room `cellar`"]);
        refuses(&TABLE.replace("main:", "name:\nmain:"), &["rooms.txt: `name` has two lines"]);
        refuses(
            &TABLE.replace("name:\nnode: name", "node: name\nname:"),
            &["rooms.txt: `node` may name `name`, which does not stand above it"],
        );
        refuses(
            &TABLE.replace("name:\nnode: name", "node:\nname:"),
            &["src/core/node.rs:1: names `Name`: `node` may not name `name`, which does not stand above it"],
        );
    }

    #[test]
    fn rooms_have_one_name_and_roots_have_none() {
        let refuses = |path: &str, text: &str, expect: &str| {
            let files = [("src/core/lib.rs", "pub struct Root;"), ("src/core/name.rs", ""), (path, text)];
            let graph = Graph::of_samples(&files);
            assert_eq!(faults(&graph, "name:\n")[0], expect);
        };
        refuses("src/pouch/name.rs", "", "src/pouch/name: another crate has a room of this name");
        refuses(
            "src/pouch/x.rs",
            "use pouch_core::Root;",
            "src/pouch/x.rs:1: names `Root` in src/core/lib.rs: a crate's root only declares modules",
        );
    }

    #[test]
    fn the_table_is_rewritten_in_its_order() {
        assert_eq!(rewritten(&house(), TABLE), TABLE);
        let stale =
            TABLE.replace("claim: name node", "claim: x").replace("# Words.\n", "# Words.\ncellar: name\nname: cli\n");
        assert_eq!(rewritten(&house(), &stale), TABLE);
        assert_eq!(rewritten(&house(), &TABLE.replace("claim: name node\n", "")), TABLE);
        assert_eq!(
            rewritten(&house(), "# Rooms.\n"),
            "# Rooms.\nname:\nnode: name\nclaim: name node\ncli/render: claim\ncli: cli/render\nmain: cli\n"
        );
        // What stands below is never let in: the order is changed by hand.
        let upside_down = TABLE.replace("name:\nnode: name", "node: name\nname:");
        assert_eq!(
            rewritten(&house(), &upside_down),
            upside_down.replace("node: name", "node:").replace("name node", "node name")
        );
    }

    #[test]
    fn floors_are_told() {
        assert!(is_above(TABLE, "name", "src/core/claim/access"));
        assert!(!is_above(TABLE, "claim", "src/core/name"));
        assert!(!is_above(TABLE, "cellar", "src/core/name"));
        assert!(!is_above(TABLE, "name", "src/core/cellar"));
    }
}
