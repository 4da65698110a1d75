//! Catch-all arms, which hide from the compiler what a new kind of something needs.

use syn::visit::{self, Visit};
use syn::{Arm, ExprMatch, File, ItemImpl, Pat, Path, Type};

/// The enums of which every match names each variant, by variants that none of their namesakes has.
const LISTED: &[(&str, &[&str])] = &[
    ("Claimant", &["Cluster", "ResourceSet", "Credential", "Guests", "Template", "SyncRule", "Other"]),
    ("Ask", &["Root", "Starts", "Copy", "Render", "Deliver"]),
    ("Place", &["Region"]),
    ("Step", &["AccessRule", "Rule", "Template", "Data", "Opaque"]),
    ("Step", &["Region", "Selection", "Claims", "Revoked", "Delivery", "OwnOutput", "HandOver", "Rest", "Brake"]),
    ("Disposition", &["Open", "Left", "Fresh", "Kept", "NotSelected", "Withdrawn"]),
    ("Fate", &["Fresh", "Kept", "Withdrawn"]),
    ("Gone", &["Unneeded", "Gone", "Refused", "Revoked", "Asked", "Retired"]),
    (
        "Reason",
        &["Broken", "Unproved", "SeveralRegions", "InUse", "HeldDeletion", "HeldValue", "HandedOver", "OwnOutput"],
    ),
    ("Reason", &["RecipientRemoved", "RecipientAdded"]),
];

/// The matches on a listed enum that end in a catch-all, each as a fault.
pub fn faults(path: &str, file: &File) -> Vec<String> {
    let mut matches = Matches { path, own: String::new(), faults: Vec::new() };
    matches.visit_file(file);
    matches.faults
}

struct Matches<'s> {
    path: &'s str,
    /// The type of the block that is looked into, which its code calls `Self`.
    own: String,
    faults: Vec<String>,
}

impl<'ast> Visit<'ast> for Matches<'_> {
    fn visit_item_impl(&mut self, block: &'ast ItemImpl) {
        let own = match &*block.self_ty {
            Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
            _ => None,
        };
        let before = std::mem::replace(&mut self.own, own.unwrap_or_default());
        visit::visit_item_impl(self, block);
        self.own = before;
    }

    fn visit_expr_match(&mut self, matched: &'ast ExprMatch) {
        let listed = matched.arms.iter().find_map(|arm| self.listed(&arm.pat));
        let catches_all = |arm: &&Arm| arm.guard.is_none() && is_catch_all(&arm.pat);
        if let Some((listed, arm)) = listed.zip(matched.arms.iter().find(catches_all)) {
            let line = arm.fat_arrow_token.spans[0].start().line;
            self.faults.push(format!("{}:{line}: a match on {listed} has an arm for anything else", self.path));
        }
        visit::visit_expr_match(self, matched);
    }
}

impl Matches<'_> {
    /// The enum of which a pattern names a variant, if that is listed.
    fn listed(&self, pattern: &Pat) -> Option<&'static str> {
        match pattern {
            Pat::Or(or) => or.cases.iter().find_map(|pattern| self.listed(pattern)),
            Pat::Reference(reference) => self.listed(&reference.pat),
            Pat::Paren(paren) => self.listed(&paren.pat),
            Pat::Path(path) => self.named(&path.path),
            Pat::TupleStruct(tuple) => self.named(&tuple.path),
            Pat::Struct(fields) => self.named(&fields.path),
            _ => None,
        }
    }

    fn named(&self, path: &Path) -> Option<&'static str> {
        let mut words = path.segments.iter().rev().map(|segment| segment.ident.to_string());
        let (variant, of) = (words.next()?, words.next()?);
        let of = if of == "Self" { &self.own } else { &of };
        let is_it = |(name, variants): &&(&str, &[&str])| *name == of.as_str() && variants.contains(&&*variant);
        LISTED.iter().find(is_it).map(|(name, _)| *name)
    }
}

fn is_catch_all(pattern: &Pat) -> bool {
    match pattern {
        Pat::Wild(_) => true,
        Pat::Ident(name) => name.subpat.is_none(),
        Pat::Or(or) => or.cases.iter().any(is_catch_all),
        Pat::Paren(paren) => is_catch_all(&paren.pat),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source;

    fn found(code: &str) -> usize {
        let path = "src/core/x.rs";
        faults(path, &source::file(&source::read(path, code).unwrap()).unwrap()).len()
    }

    #[test]
    fn catch_alls_are_found() {
        for arms in ["Claimant::Credential { .. } => 1, _ => 2", "Ask::Root { .. } | Ask::Starts(_) => 1, other => 2"] {
            assert_eq!(found(&format!("fn f() {{ g(|| match x {{ {arms} }}) }}")), 1, "{arms}");
        }
        assert_eq!(found("impl name::Claimant { fn f(&self) { match self { Self::Other { .. } => 1, _ => 2 } } }"), 1);
        // The arms of one match are nothing to another.
        assert_eq!(found("fn f() { match x { Step::Rule(_) => match y { A => 1, _ => 2 }, Step::Data(_) => 3 } }"), 0);
        // What an arm for anything else is bound to does not hide a variant, nor does another enum's.
        for passes in [
            "fn f() { match x { Claimant::Credential { .. } => 1, _ if g() => 2, Claimant::Other { .. } => 3 } }",
            "fn f() { match x { Step::Commit(_) => 1, _ => 2 } }",
            "fn f() { match x { [Step::AccessRule(_), rest @ ..] => rest, chain => chain } }",
            "impl Ring { fn f(&self) { match self { Self::Other => 1, _ => 2 } } }",
            "#[cfg(test)] mod tests { fn f() { match x { Ask::Starts(_) => 1, _ => 2 } } }",
        ] {
            assert_eq!(found(passes), 0, "{passes}");
        }
    }
}
