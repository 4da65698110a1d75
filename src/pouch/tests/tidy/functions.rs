//! Functions of the rooms that decide: none is long, and each names its arguments.

use syn::visit::{self, Visit};
use syn::{Block, File, FnArg, ImplItemFn, ItemFn, Pat, Signature, TraitItemFn, Type};

use crate::stands_in;

/// The rooms that the rule is for.
const ROOMS: &[&str] = &["src/core/claim", "src/core/closure", "src/core/judge", "src/core/region"];

/// A function that is longer decides more than one thing.
const TOO_LONG: usize = 100;

/// Functions that are too long, and arguments that are a tuple without a name, each as a fault.
pub fn faults(path: &str, file: &File) -> Vec<String> {
    let mut functions = Functions { path, faults: Vec::new() };
    if ROOMS.iter().any(|room| stands_in(path, room)) {
        functions.visit_file(file);
    }
    functions.faults
}

struct Functions<'s> {
    path: &'s str,
    faults: Vec<String>,
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.look(&function.sig, Some(&function.block));
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        self.look(&function.sig, Some(&function.block));
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast TraitItemFn) {
        self.look(&function.sig, function.default.as_ref());
        visit::visit_trait_item_fn(self, function);
    }
}

impl Functions<'_> {
    fn look(&mut self, signature: &Signature, block: Option<&Block>) {
        let (name, first) = (&signature.ident, signature.fn_token.span.start().line);
        let last = block.map_or(first, |block| block.brace_token.span.close().end().line);
        let lines = last - first + 1;
        if lines > TOO_LONG {
            self.faults.push(format!("{}:{first}: fn {name} has {lines} lines, more than {TOO_LONG}", self.path));
        }
        for argument in &signature.inputs {
            let FnArg::Typed(argument) = argument else { continue };
            if is_tuple(&argument.pat) || is_of_tuple(&argument.ty) {
                let line = argument.colon_token.span.start().line;
                self.faults
                    .push(format!("{}:{line}: an argument of fn {name} is a tuple that no name explains", self.path));
            }
        }
    }
}

fn is_tuple(pattern: &Pat) -> bool {
    match pattern {
        Pat::Tuple(_) => true,
        Pat::Ident(name) => name.subpat.as_ref().is_some_and(|(_, pattern)| is_tuple(pattern)),
        Pat::Reference(reference) => is_tuple(&reference.pat),
        _ => false,
    }
}

fn is_of_tuple(of: &Type) -> bool {
    match of {
        Type::Tuple(tuple) => !tuple.elems.is_empty(),
        Type::Reference(reference) => is_of_tuple(&reference.elem),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source;

    fn found_in(path: &str, code: &str) -> usize {
        faults(path, &source::file(&source::read(path, code).unwrap()).unwrap()).len()
    }

    fn found(code: &str) -> usize {
        found_in("src/core/region/x.rs", code)
    }

    #[test]
    fn long_functions_and_tuples_are_found() {
        let long = |lines: usize| format!("fn f() {{\n{}}}", "g();\n".repeat(lines));
        assert_eq!((found(&long(98)), found(&long(99))), (0, 1));
        for code in [
            "fn f((a, b): (u8, u8)) {}",
            "fn f(all @ (a, _): (u8, u8)) {}",
            "impl X { fn f(&self, pair: &(u8, u8)) {} }",
            "trait X { fn f(&self, pair: (u8, u8)); }",
        ] {
            assert_eq!(found(code), 1, "{code}");
        }
        for code in [
            "fn f(a: u8, Pair { b, c }: Pair, d: impl Fn((u8, u8))) {}",
            "fn f() { g(|(a, b): (u8, u8)| a + b) }",
            "#[cfg(test)] mod tests { fn f((a, b): (u8, u8)) {} }",
        ] {
            assert_eq!(found(code), 0, "{code}");
        }
        assert_eq!(found_in("src/core/log/x.rs", "fn f((a, b): (u8, u8)) {}"), 0);
    }
}
