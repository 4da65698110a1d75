//! Which file of ours names which other, and where files name each other in a circle.
//!
//! A file names another where a path in its code leads to a module or an item of the other: in a `use`,
//! a type, an expression, a pattern, an attribute or a macro. A path is followed through `use` and
//! `pub use` to the file that defines the item; where no definition is found (a macro may have written
//! it), to the file of the last module on the path. Declaring a module does not name it. Calling a
//! method or reading a field names nothing.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;

use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, Macro, Meta, UseTree, Visibility};

use crate::source::{self, Source};

/// One place where a file names another file of ours.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Naming {
    pub from: String,
    pub to: String,
    /// The item that is named, or the module if it is named alone.
    pub name: String,
    pub line: usize,
}

/// One place where a file names a crate that is not ours.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Foreign {
    pub from: String,
    pub name: String,
    pub line: usize,
}

/// The names by which a file names each other file.
type Ties<'a> = BTreeMap<&'a str, BTreeMap<&'a str, BTreeSet<&'a str>>>;

/// What the files name.
#[derive(Default)]
pub struct Graph {
    pub files: BTreeSet<String>,
    pub namings: BTreeSet<Naming>,
    pub foreign: BTreeSet<Foreign>,
}

impl Graph {
    /// Reads what the files name; fails where one is no Rust.
    pub fn of<'a>(sources: impl IntoIterator<Item = &'a Source>) -> Result<Graph, String> {
        let (mut graph, mut house) = (Graph::default(), House::default());
        for Source { path, tokens, .. } in sources {
            graph.files.insert(path.clone());
            let file: syn::File = syn::parse2(tokens.clone()).map_err(|error| source::no_rust(path, &error))?;
            let mut reader = Reader { house: &mut house, file: path, module: module_of(path) };
            reader.enter(&file.items);
            reader.visit_file(&file);
        }
        for (at, module) in &house.modules {
            for mention in &module.mentions {
                graph.add(&house, at, module, mention);
            }
        }
        Ok(graph)
    }

    /// The graph of samples, each a path and a text.
    pub fn of_samples(samples: &[(&str, &str)]) -> Graph {
        let read: Vec<_> = samples.iter().map(|(path, text)| source::read(path, text).unwrap()).collect();
        Graph::of(&read).unwrap()
    }

    fn add(&mut self, house: &House, at: &str, module: &Module, mention: &Mention) {
        let Mention { path, line, imported } = mention;
        let from = module.file.clone();
        let (to, name) = match house.resolve(at, path) {
            Found::Item { file, name } => (file, name),
            // A single word in an expression is a variable that has a module's name.
            _ if path.len() == 1 && !imported => return,
            Found::Module(found) => (house.modules[&found].file.clone(), String::from(last(&found))),
            Found::Foreign => {
                if let Some(name) = path.iter().find(|name| !name.is_empty()) {
                    self.foreign.insert(Foreign { from, name: name.clone(), line: *line });
                }
                return;
            }
        };
        if from != to {
            self.namings.insert(Naming { from, to, name, line: *line });
        }
    }

    fn ties(&self) -> Ties<'_> {
        let mut ties = Ties::new();
        for Naming { from, to, name, .. } in &self.namings {
            ties.entry(from).or_default().entry(to).or_default().insert(name);
        }
        ties
    }

    /// Describes every set of files that name each other in a circle: a shortest circle of each, then
    /// all that ties its files.
    pub fn circles(&self) -> Vec<String> {
        let ties = self.ties();
        let reached: BTreeMap<&str, Steps<'_>> = ties.keys().map(|file| (*file, reach(&ties, file))).collect();
        let mut circles = Vec::new();
        let mut placed = BTreeSet::new();
        for (file, from_here) in &reached {
            if placed.contains(file) || !from_here.contains_key(file) {
                continue;
            }
            let returns = |other: &&str| reached.get(other).is_some_and(|from_there| from_there.contains_key(file));
            let tied: BTreeSet<&str> = from_here.keys().copied().filter(returns).collect();
            let short = tied.iter().map(|file| circle(&reached[file], file)).min_by_key(Vec::len).unwrap_or_default();
            circles.push(describe(&ties, &tied, &short));
            placed.extend(tied);
        }
        circles
    }
}

/// Each file that can be reached, with the file before it on a shortest way.
type Steps<'a> = BTreeMap<&'a str, &'a str>;

/// What can be reached from a file in one step or more.
fn reach<'a>(ties: &Ties<'a>, from: &'a str) -> Steps<'a> {
    let mut steps = Steps::new();
    let mut next = VecDeque::from([from]);
    while let Some(file) = next.pop_front() {
        for named in ties.get(file).into_iter().flat_map(BTreeMap::keys) {
            if !steps.contains_key(named) {
                steps.insert(named, file);
                next.push_back(named);
            }
        }
    }
    steps
}

/// The shortest circle through a file that can be reached from itself, as the files on it with both ends.
fn circle<'a>(steps: &Steps<'a>, file: &'a str) -> Vec<&'a str> {
    let mut way = vec![file, steps[file]];
    while way.last() != Some(&file) {
        way.push(steps[way[way.len() - 1]]);
    }
    way.reverse();
    way
}

fn describe(ties: &Ties<'_>, tied: &BTreeSet<&str>, short: &[&str]) -> String {
    let names = |from: &str, to: &str| ties[from][to].iter().copied().collect::<Vec<_>>().join(" ");
    let mut text = format!("{} files name each other in a circle: {}", tied.len(), short[0]);
    for step in short.windows(2) {
        write!(text, " -> {} ({})", step[1], names(step[0], step[1])).unwrap();
    }
    for from in tied {
        for to in ties[from].keys().filter(|to| tied.contains(*to)) {
            write!(text, "\n    {from} -> {to}: {}", names(from, to)).unwrap();
        }
    }
    text
}

/// The module that a file is: `src/core/a/b.rs` is `pouch_core::a::b`.
fn module_of(path: &str) -> String {
    let stem = path.trim_end_matches(".rs").trim_end_matches("/mod");
    let module = match (stem.strip_prefix("src/core/"), stem.strip_prefix("src/pouch/")) {
        (Some("lib"), _) => String::from("pouch_core"),
        (_, Some("lib")) => String::from("pouch"),
        // The binary is a crate of its own.
        (_, Some("main")) => String::from("main"),
        (Some(below), _) => format!("pouch_core/{below}"),
        (_, Some(below)) => format!("pouch/{below}"),
        (None, None) => String::from(stem),
    };
    module.replace('/', "::")
}

fn parent(module: &str) -> &str {
    module.rsplit_once("::").map_or(module, |(parent, _)| parent)
}

fn last(module: &str) -> &str {
    module.rsplit_once("::").map_or(module, |(_, last)| last)
}

/// All modules of ours by their path.
#[derive(Default)]
struct House {
    modules: BTreeMap<String, Module>,
}

#[derive(Default)]
struct Module {
    file: String,
    items: BTreeSet<String>,
    /// What `use` brings in: the name, and the path that it stands for.
    imports: Vec<(String, Vec<String>)>,
    globs: Vec<Vec<String>>,
    mentions: Vec<Mention>,
}

/// A path in the code of a module.
struct Mention {
    path: Vec<String>,
    line: usize,
    /// Whether it stands in a `use`.
    imported: bool,
}

/// What a path leads to.
#[derive(Clone)]
enum Found {
    Module(String),
    Item { file: String, name: String },
    Foreign,
}

/// The lookups under way, so that imports that lead to each other come to an end.
type Seen = BTreeSet<(String, String, bool)>;

impl House {
    fn resolve(&self, at: &str, path: &[String]) -> Found {
        match self.follow(at, path, &mut Seen::new()) {
            Found::Module(module) if !self.modules.contains_key(&module) => Found::Foreign,
            found => found,
        }
    }

    fn follow(&self, at: &str, path: &[String], seen: &mut Seen) -> Found {
        let Some((first, mut rest)) = path.split_first() else { return Found::Foreign };
        let mut found = match first.as_str() {
            "crate" => Found::Module(String::from(at.split("::").next().unwrap_or(at))),
            "self" => Found::Module(String::from(at)),
            "super" => Found::Module(String::from(parent(at))),
            "" => match rest.split_first() {
                Some((krate, below)) => {
                    rest = below;
                    self.krate(krate)
                }
                None => Found::Foreign,
            },
            name => self.look(at, name, rest.is_empty(), seen).unwrap_or_else(|| self.krate(name)),
        };
        for (number, name) in rest.iter().enumerate() {
            let Found::Module(module) = &found else { break };
            let ends = number + 1 == rest.len();
            let below = match name.as_str() {
                "super" => Some(Found::Module(String::from(parent(module)))),
                name => self.look(module, name, ends, seen),
            };
            found = match (below, self.modules.get(module)) {
                // What a macro defines, and what is not ours and passed on under this module's name.
                (None | Some(Found::Foreign), Some(module)) => {
                    Found::Item { file: module.file.clone(), name: name.clone() }
                }
                (below, _) => below.unwrap_or(Found::Foreign),
            };
        }
        found
    }

    fn krate(&self, name: &str) -> Found {
        let ours = matches!(name, "pouch_core" | "pouch") && self.modules.contains_key(name);
        if ours { Found::Module(String::from(name)) } else { Found::Foreign }
    }

    /// What `name` means in a module; at the end of a path an item comes before a module of its name.
    fn look(&self, at: &str, name: &str, ends: bool, seen: &mut Seen) -> Option<Found> {
        let module = self.modules.get(at)?;
        if !seen.insert((String::from(at), String::from(name), ends)) {
            return None;
        }
        let child = format!("{at}::{name}");
        let child = self.modules.contains_key(&child).then_some(Found::Module(child));
        let item = || {
            let item = module.items.contains(name);
            item.then(|| Found::Item { file: module.file.clone(), name: String::from(name) })
        };
        let imported = |seen: &mut Seen| {
            let imports = module.imports.iter().filter(|(bound, _)| bound == name);
            let found: Vec<_> = imports.map(|(_, path)| self.follow(at, path, seen)).collect();
            let ours = found.iter().find(|found| !matches!(found, Found::Foreign));
            ours.or(found.first()).cloned()
        };
        let globbed = |seen: &mut Seen| {
            module.globs.iter().find_map(|path| match self.follow(at, path, seen) {
                Found::Module(from) => self.look(&from, name, ends, seen),
                _ => None,
            })
        };
        let found = if ends {
            item().or_else(|| imported(seen)).or(child)
        } else {
            child.or_else(item).or_else(|| imported(seen))
        };
        let found = found.or_else(|| globbed(seen));
        seen.remove(&(String::from(at), String::from(name), ends));
        found
    }
}

/// Takes from one file what its modules define, import and mention.
struct Reader<'a> {
    house: &'a mut House,
    file: &'a str,
    module: String,
}

impl Reader<'_> {
    fn here(&mut self) -> &mut Module {
        let module = self.house.modules.entry(self.module.clone()).or_default();
        if module.file.is_empty() {
            module.file = String::from(self.file);
        }
        module
    }

    /// Notes what the module defines, before its code is read.
    fn enter(&mut self, items: &[Item]) {
        let names = items.iter().filter_map(|item| match item {
            Item::Const(item) => Some(&item.ident),
            Item::Enum(item) => Some(&item.ident),
            Item::Fn(item) => Some(&item.sig.ident),
            Item::Macro(item) => item.ident.as_ref(),
            Item::Static(item) => Some(&item.ident),
            Item::Struct(item) => Some(&item.ident),
            Item::Trait(item) => Some(&item.ident),
            Item::TraitAlias(item) => Some(&item.ident),
            Item::Type(item) => Some(&item.ident),
            Item::Union(item) => Some(&item.ident),
            _ => None,
        });
        self.here().items.extend(names.map(ToString::to_string));
    }

    fn mention(&mut self, path: Vec<String>, line: usize, imported: bool) {
        self.here().mentions.push(Mention { path, line, imported });
    }

    fn mention_all(&mut self, tokens: &proc_macro2::TokenStream) {
        let is_field = |path: &source::Path| path.segments.first().is_some_and(|first| first == ".");
        for path in source::paths(tokens.clone()).into_iter().filter(|path| !is_field(path)) {
            self.mention(path.segments, path.line, false);
        }
    }

    fn import(&mut self, tree: &UseTree, mut path: Vec<String>) {
        let mut bind = |name: &syn::Ident, bound: &syn::Ident, mut path: Vec<String>| {
            if name != "self" || path.is_empty() {
                path.push(name.to_string());
            }
            let bound = if bound == "self" { path.last().cloned().unwrap_or_default() } else { bound.to_string() };
            self.here().imports.push((bound, path.clone()));
            self.mention(path, name.span().start().line, true);
        };
        match tree {
            UseTree::Path(tree) => {
                path.push(tree.ident.to_string());
                self.import(&tree.tree, path);
            }
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.import(tree, path.clone())),
            UseTree::Name(tree) => bind(&tree.ident, &tree.ident, path),
            UseTree::Rename(tree) => bind(&tree.ident, &tree.rename, path),
            UseTree::Glob(tree) => {
                self.here().globs.push(path.clone());
                self.mention(path, tree.star_token.spans[0].start().line, true);
            }
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        let Some((_, items)) = &module.content else { return };
        let around = self.module.clone();
        self.module = format!("{around}::{}", module.ident);
        self.enter(items);
        visit::visit_item_mod(self, module);
        self.module = around;
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let start = if item.leading_colon.is_some() { vec![String::new()] } else { Vec::new() };
        self.import(&item.tree, start);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let start = path.leading_colon.is_some().then(String::new);
        let segments = start.into_iter().chain(path.segments.iter().map(|segment| segment.ident.to_string()));
        let line = path.segments.first().map_or(0, |segment| segment.ident.span().start().line);
        self.mention(segments.collect(), line, false);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        self.visit_path(&call.path);
        self.mention_all(&call.tokens);
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        match &attribute.meta {
            Meta::List(list) => self.mention_all(&list.tokens),
            // A doc comment among them: its text is a literal.
            Meta::NameValue(pair) => self.visit_expr(&pair.value),
            Meta::Path(_) => {}
        }
    }

    /// A path that says who may see an item names nothing.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}
}

#[cfg(test)]
mod tests {
    use super::Graph;

    /// The graph of samples under `src/core`, each named without the `.rs`.
    fn graph(files: &[(&str, &str)]) -> Graph {
        let paths: Vec<_> = files.iter().map(|(file, _)| format!("src/core/{file}.rs")).collect();
        let samples = paths.iter().zip(files).map(|(path, (_, text))| (path.as_str(), *text));
        Graph::of_samples(&samples.chain([("src/core/lib.rs", "")]).collect::<Vec<_>>())
    }

    #[track_caller]
    fn check(files: &[(&str, &str)], expect: &[&str]) {
        let found: Vec<_> = graph(files)
            .namings
            .iter()
            .map(|naming| format!("{}:{} -> {} ({})", naming.from, naming.line, naming.to, naming.name))
            .map(|line| line.replace("src/core/", "").replace(".rs", ""))
            .collect();
        assert_eq!(found, expect);
    }

    const A: (&str, &str) = ("a", "pub struct A; pub fn make() {} pub mod inner { pub fn deep() {} }");

    #[test]
    fn a_use_names_a_file() {
        check(&[A, ("b", "use crate::a::A;")], &["b:1 -> a (A)"]);
        check(&[A, ("b", "use super::a::{self as c,\n inner};")], &["b:1 -> a (a)", "b:2 -> a (inner)"]);
        check(&[A, ("b", "use crate::a;\nfn f() { a::make() }")], &["b:1 -> a (a)", "b:2 -> a (make)"]);
        check(&[A, ("b", "fn f() {\n use crate::a::A as _; }")], &["b:2 -> a (A)"]);
        check(&[A, ("b", "pub use crate::a::A;")], &["b:1 -> a (A)"]);
        check(&[A, ("b", "use crate::a::*; fn f(a: A) {}")], &["b:1 -> a (A)", "b:1 -> a (a)"]);
    }

    #[test]
    fn a_path_names_a_file_wherever_it_stands() {
        for code in [
            "fn f() { crate::a::make() }",
            "struct B(Vec<crate::a::make>);",
            "impl crate::a::make for B {}",
            "fn f() { match x { crate::a::make => {} } }",
            "fn f() { g::<crate::a::make>() }",
            "fn f() { <crate::a::make as T>::g() }",
            "fn f() { println!(\"{}\", crate::a::make()) }",
            "fn f() { outer!(inner!(super::a::make)) }",
            "#[arg(value_parser = crate::a::make)] struct B;",
            "macro_rules! m { ($x:expr) => { $crate::a::make($x) } }",
            "mod inner { fn f() { super::super::a::make() } }",
        ] {
            check(&[A, ("b", code)], &["b:1 -> a (make)"]);
        }
        check(&[A, ("b", "fn f() { crate::a::inner::deep() }")], &["b:1 -> a (deep)"]);
        check(&[A, ("b", "fn f() { crate::a::A::new().g() }")], &["b:1 -> a (A)"]);
        check(&[A, ("b", "fn f() { crate::a::of_a_macro() }")], &["b:1 -> a (of_a_macro)"]);
    }

    #[test]
    fn re_exports_are_followed_to_the_definition() {
        let b = ("b", "mod c; pub use c::C; pub use crate::a::*; pub use serde::Value;");
        let c = ("b/c", "pub struct C;");
        let facade = ["b:1 -> a (a)", "b:1 -> b/c (C)"];
        let with = |line: &'static str| [facade[0], facade[1], line];
        check(&[A, b, c, ("d", "use crate::b::C;")], &with("d:1 -> b/c (C)"));
        check(
            &[A, b, c, ("d", "use crate::b;\nuse b::make;")],
            &["b:1 -> a (a)", "b:1 -> b/c (C)", "d:2 -> a (make)", "d:1 -> b (b)"],
        );
        check(&[A, b, c, ("d", "use crate::b::Value;")], &with("d:1 -> b (Value)"));
        check(&[("b", "use x::x; pub use y::y;"), ("d", "use crate::b::x;")], &["d:1 -> b (x)"]);
    }

    #[test]
    fn what_only_looks_like_a_path_names_nothing() {
        check(&[("b", "mod c; pub(in crate::b) fn f(c: u8) -> u8 { c + self.c }"), ("b/c", "")], &[]);
        check(&[A, ("b", "//! See [`A`](crate::a::A).\n/// As [`crate::a::make`].\nstruct B;")], &[]);
        check(&[A, ("b", "#[cfg(test)] mod tests { use crate::a::A; }\n#[cfg(test)] use crate::a;")], &[]);
        check(&[A, ("b", "fn f() { \"crate::a::make\"; ::a::make(); x.a::<u8>() }")], &[]);
        check(&[("a", "use self::c::C; mod c { pub struct C; use super::f; } fn f() {}")], &[]);
    }

    #[test]
    fn crates_and_files_of_other_crates_are_told_apart() {
        let files = [
            ("src/core/lib.rs", "pub mod a;"),
            ("src/core/a.rs", "pub fn make() {}"),
            ("src/pouch/lib.rs", "pub mod age; pub mod cli;"),
            ("src/pouch/age.rs", "use age::Encryptor; pub fn wrap() {}"),
            ("src/pouch/cli.rs", "use pouch_core::a;\nuse crate::age;\nfn f() { a::make(); age::wrap() }"),
            ("src/pouch/main.rs", "fn main() { pouch::cli::main() }"),
        ];
        let graph = Graph::of_samples(&files);
        let ties: Vec<_> = graph.namings.iter().map(|naming| (naming.from.as_str(), naming.to.as_str())).collect();
        let cli = "src/pouch/cli.rs";
        let expect =
            [(cli, "src/core/a.rs"), (cli, "src/core/a.rs"), (cli, "src/pouch/age.rs"), (cli, "src/pouch/age.rs")];
        assert_eq!(ties, [expect.as_slice(), &[("src/pouch/main.rs", cli)]].concat());
        let foreign: Vec<_> =
            graph.foreign.iter().map(|foreign| (foreign.from.as_str(), foreign.name.as_str())).collect();
        assert_eq!(foreign, [("src/pouch/age.rs", "age")]);
    }

    #[track_caller]
    fn check_circles(files: &[(&str, &str)], expect: &[&str]) {
        let circles: Vec<_> = graph(files)
            .circles()
            .iter()
            .map(|circle| circle.lines().next().unwrap().replace("src/core/", "").replace(".rs", ""))
            .collect();
        assert_eq!(circles, expect);
    }

    #[test]
    fn circles_are_found() {
        check_circles(
            &[("a", "use crate::b::B; pub struct A;"), ("b", "pub struct B(crate::a::A);")],
            &["2 files name each other in a circle: a -> b (B) -> a (A)"],
        );
        check_circles(
            &[("a", "use crate::b::*; pub struct A;"), ("b", "fn f() { m!(crate::c::C) }"), ("c", "use super::a::A;")],
            &["3 files name each other in a circle: a -> b (b) -> c (C) -> a (A)"],
        );
        check_circles(
            &[("a", "mod c; use c::C; pub struct A;"), ("a/c", "use super::A; pub struct C;")],
            &["2 files name each other in a circle: a -> a/c (C) -> a (A)"],
        );
        // Through a re-export, which names the file that defines the item.
        let b = ("b", "mod c; pub use c::C;");
        check_circles(
            &[("a", "use crate::b::C; pub struct A;"), b, ("b/c", "use crate::a::A; pub struct C;")],
            &["2 files name each other in a circle: a -> b/c (C) -> a (A)"],
        );
        // Two circles that share a file are shown as one, by the shorter.
        let files =
            [("a", "use crate::{b, c};"), ("b", "use crate::d;"), ("c", "use crate::a;"), ("d", "use crate::a;")];
        check_circles(&files, &["4 files name each other in a circle: a -> c (c) -> a (a)"]);
        let all = "4 files name each other in a circle: src/core/a.rs -> src/core/c.rs (c) -> src/core/a.rs (a)
    src/core/a.rs -> src/core/b.rs: b
    src/core/a.rs -> src/core/c.rs: c
    src/core/b.rs -> src/core/d.rs: d
    src/core/c.rs -> src/core/a.rs: a
    src/core/d.rs -> src/core/a.rs: a";
        assert_eq!(graph(&files).circles(), [all]);
    }

    #[test]
    fn what_is_no_circle_passes() {
        check_circles(&[("a", "use crate::b;"), ("b", "#[cfg(test)] mod tests { use crate::a; }")], &[]);
        check_circles(&[("a", "use crate::b;"), ("b", "//! See [`crate::a`].")], &[]);
        check_circles(&[("a", "pub mod c; use c::C;"), ("a/c", "pub struct C;"), ("b", "use crate::{a, a::c};")], &[]);
        // The facade passes `C` on and names `c`; who uses it names `c` alone.
        check_circles(&[("a", "mod c; mod d; pub use c::C;"), ("a/c", ""), ("a/d", "use super::c::C;")], &[]);
    }
}
