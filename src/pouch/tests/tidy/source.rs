//! Reads Rust source with the compiler's grammar: without test items, comments and the insides of literals.
//!
//! So that a rule meets only what the compiler acts on, and a doc comment may say "knows nothing of
//! YAML" without breaking the rule that it states. Knows no rule.

use proc_macro2::{Delimiter, Group, Spacing, TokenStream, TokenTree};
use syn::parse::discouraged::Speculative as _;
use syn::parse::{ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::token::Brace;
use syn::{Attribute, Item, Meta, Token};

/// A file, and its tokens without its test items.
pub struct Source {
    /// From the root of the checkout.
    pub path: String,
    pub text: String,
    pub tokens: TokenStream,
    /// The modules that the file declares for tests only.
    pub test_modules: Vec<String>,
}

/// A path as it stands in the code, `use` trees taken apart; a single word is a path too.
#[derive(Debug, PartialEq)]
pub struct Path {
    /// The first segment is empty where the path starts with `::`, and `.` where it is a field or a method.
    pub segments: Vec<String>,
    pub line: usize,
    /// Whether the path calls a macro: `path!`.
    pub bang: bool,
}

/// Reads a file and cuts every item under `#[cfg(test)]`.
pub fn read(path: &str, text: &str) -> Result<Source, String> {
    let mut test_modules = Vec::new();
    let tokens = (|input: ParseStream<'_>| cut(input, &mut test_modules)).parse_str(text);
    let tokens = tokens.map_err(|error| no_rust(path, &error))?;
    Ok(Source { path: String::from(path), text: String::from(text), tokens, test_modules })
}

/// Parses the tokens of a file.
pub fn file(source: &Source) -> Result<syn::File, String> {
    syn::parse2(source.tokens.clone()).map_err(|error| no_rust(&source.path, &error))
}

/// Says where a file is no Rust.
pub fn no_rust(path: &str, error: &syn::Error) -> String {
    format!("{path}:{}: is no Rust: {error}", error.span().start().line)
}

/// Takes all tokens from the input but those of test items, which stand in braces or in none.
fn cut(input: ParseStream<'_>, test_modules: &mut Vec<String>) -> syn::Result<TokenStream> {
    let mut kept = TokenStream::new();
    while !input.is_empty() {
        match test_item(input) {
            Some(Item::Mod(module)) => test_modules.push(module.ident.to_string()),
            Some(_) => {}
            None if input.peek(Brace) => {
                let inside;
                let braces = syn::braced!(inside in input);
                let mut group = Group::new(Delimiter::Brace, cut(&inside, test_modules)?);
                group.set_span(braces.span.join());
                kept.extend([TokenTree::Group(group)]);
            }
            None => kept.extend([input.parse::<TokenTree>()?]),
        }
    }
    Ok(kept)
}

/// Takes the next item from the input if it is for tests only.
fn test_item(input: ParseStream<'_>) -> Option<Item> {
    if !input.peek(Token![#]) {
        return None;
    }
    let ahead = input.fork();
    if !Attribute::parse_outer(&ahead).ok()?.iter().any(is_for_tests) {
        return None;
    }
    let ahead = input.fork();
    let item = ahead.parse().ok()?;
    input.advance_to(&ahead);
    Some(item)
}

/// Whether the attribute is `#[cfg(test)]` or `#[cfg(all(test, …))]`.
fn is_for_tests(attribute: &Attribute) -> bool {
    let all = Punctuated::<Meta, Token![,]>::parse_terminated;
    attribute.path().is_ident("cfg")
        && match attribute.parse_args() {
            Ok(Meta::Path(path)) => path.is_ident("test"),
            Ok(Meta::List(list)) if list.path.is_ident("all") => {
                list.parse_args_with(all).is_ok_and(|of| of.iter().any(|meta| meta.path().is_ident("test")))
            }
            _ => false,
        }
}

/// Every path in the tokens, whatever they mean.
pub fn paths(tokens: TokenStream) -> Vec<Path> {
    let mut found = Vec::new();
    walk(tokens, &[], &mut found);
    found
}

fn walk(tokens: TokenStream, prefix: &[String], found: &mut Vec<Path>) {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while at < trees.len() {
        match &trees[at] {
            TokenTree::Group(group) => walk(group.stream(), &[], found),
            TokenTree::Ident(word) => {
                let line = word.span().start().line;
                let before = |back: usize| at.checked_sub(back).and_then(|at| punct(&trees, at));
                let mut segments = prefix.to_vec();
                match (before(2), before(1)) {
                    // A lifetime.
                    (_, Some('\'')) => {
                        at += 1;
                        continue;
                    }
                    // A macro's variable.
                    (_, Some('$')) if word != "crate" => {
                        at += 1;
                        continue;
                    }
                    (Some(':'), Some(':')) => segments.push(String::new()),
                    (Some('.'), Some('.')) => {}
                    (_, Some('.')) => segments.push(String::from(".")),
                    _ => {}
                }
                segments.push(word.to_string());
                while is_colons(&trees, at + 1) {
                    match trees.get(at + 3) {
                        Some(TokenTree::Ident(next)) => segments.push(next.to_string()),
                        Some(TokenTree::Punct(star)) if star.as_char() == '*' => segments.push(String::from("*")),
                        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                            walk(group.stream(), &segments, found);
                        }
                        _ => break,
                    }
                    at += 3;
                }
                let bang = punct(&trees, at + 1) == Some('!') && punct(&trees, at + 2) != Some('=');
                found.push(Path { segments, line, bang });
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
        at += 1;
    }
}

fn punct(trees: &[TokenTree], at: usize) -> Option<char> {
    match trees.get(at) {
        Some(TokenTree::Punct(punct)) => Some(punct.as_char()),
        _ => None,
    }
}

fn is_colons(trees: &[TokenTree], at: usize) -> bool {
    let joint = matches!(trees.get(at), Some(TokenTree::Punct(punct)) if punct.spacing() == Spacing::Joint);
    joint && punct(trees, at) == Some(':') && punct(trees, at + 1) == Some(':')
}

/// The lines in which `word` stands: a word of its own, a part of a path (`env::var`), the start of a
/// path (`http::`) or a macro (`println!`).
pub fn lines_with(paths: &[Path], word: &str) -> Vec<usize> {
    let (word, bang) = word.strip_suffix('!').map_or((word, false), |word| (word, true));
    let (word, start) = word.strip_suffix("::").map_or((word, false), |word| (word, true));
    let word: Vec<&str> = word.split("::").collect();
    let stands_in = |path: &&Path| {
        let mut spots = path.segments.windows(word.len()).enumerate().filter(|(_, spot)| *spot == word.as_slice());
        (!bang || path.bang)
            && spots.any(|(at, _)| {
                let more = at + word.len() < path.segments.len();
                (!start || more) && (!bang || !more)
            })
    };
    let mut lines: Vec<usize> = paths.iter().filter(stands_in).map(|path| path.line).collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}

#[cfg(test)]
mod tests {
    use super::{lines_with, paths, read};

    #[track_caller]
    fn check(text: &str, expect: &[&str]) {
        let found = paths(read("x.rs", text).unwrap().tokens);
        let shown: Vec<_> =
            found.iter().map(|path| path.segments.join("::") + if path.bang { "!" } else { "" }).collect();
        assert_eq!(shown, expect, "{text}");
    }

    #[track_caller]
    fn check_lines(text: &str, word: &str, expect: &[usize]) {
        assert_eq!(lines_with(&paths(read("x.rs", text).unwrap().tokens), word), expect, "{word} in {text}");
    }

    #[test]
    fn comments_and_literals_are_no_code() {
        check("a // yaml\nb", &["a", "b"]);
        check("a /* yaml /* sops */ still */ b", &["a", "b"]);
        check("a(\"yaml \\\" // sops\", r#\"yaml \" sops\"#, br\"x\", '\"', 1_u8)", &["a"]);
        check("/// Knows nothing of yaml.\nstruct A<'std>;", &["doc", "struct", "A"]);
        assert!(read("x.rs", "a \"never closed").is_err());
        assert!(read("x.rs", "mod tests { fn f() { }").is_err());
    }

    #[test]
    fn test_items_are_cut() {
        check("a; #[cfg(test)] extern crate std; b", &["a", "b"]);
        check("a; #[cfg(test)]\nmod tests { fn f() { { } } }\nb", &["a", "b"]);
        check("mod a { #[inline] /// A.\n #[cfg(test)] pub(crate) use b::{c, d}; e }", &["mod", "a", "e"]);
        check("impl A { #[cfg(all(test, unix))] pub fn f(&self) {} b }", &["impl", "A", "b"]);
        check("#[cfg(not(test))] fn f() {}", &["cfg", "not", "test", "fn", "f"]);
        check("#[cfg(any(test, unix))] fn f() {}", &["cfg", "any", "test", "unix", "fn", "f"]);
        let text =
            "mod a;\n#[cfg(test)]\nmod tests;\n#[cfg(test)] pub(crate) mod testing;\nmod b { #[cfg(test)] mod c {} }";
        assert_eq!(read("x.rs", text).unwrap().test_modules, ["tests", "testing", "c"]);
    }

    #[test]
    fn paths_are_taken_apart() {
        check(
            "use a::{self, b::{c, d as e}, f::*};",
            &["use", "a::self", "a::b::c", "a::b::d", "a::b::as", "a::b::e", "a::b", "a::f::*", "a"],
        );
        check("::a::b(x.y, 0..z)", &["::a::b", "x", ".::y", "z"]);
        check("Vec::<a::B>::new", &["Vec", "a::B", "::new"]);
        check("a::b!(c) != d", &["a::b!", "c", "d"]);
        check("a != b; $crate::c; $d", &["a", "b", "crate::c"]);
    }

    #[test]
    fn words_stand_alone() {
        check_lines("use git2::X;\nlet digit2 = 1;\ngit2_x\n(git2)", "git2", &[1, 4]);
        check_lines("a\n/* b\n */ b\n", "b", &[3]);
        check_lines("println!()\neprintln!()\nprintln", "println!", &[1]);
        check_lines("age::X\npackage::X\nage :: X\nage", "age::", &[1, 3]);
        check_lines("use std::{env::{\nvar}};", "env::var", &[2]);
        check_lines("m!(x, std::env::var(y))", "env::var", &[1]);
    }
}
