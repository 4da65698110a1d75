//! Plugins: configs of generators, transformers and validators.
//!
//! Those of kustomize itself are judged field by field as a kustomization is. Of others KSOPS alone is known, and it is not
//! run: its files are resources that pouch opens itself. All others would be programs.

use alloc::string::String;

use zeroize::Zeroizing;

use super::fields::{BUILTINS, Field, HEAD, KSOPS, Runs};
use super::{Entry, Gathering, Spot, Trouble, is_text, keeps_name, parsed, shown};
use crate::node::{Interner, Node};
use crate::yaml::emit::{Tree, emit};

impl Gathering<'_> {
    /// Takes an item of a list of plugins: a config, or the path of a file of them. Gives what takes its place in the list;
    /// none where its files are resources.
    pub(super) fn plugin(&mut self, item: &Node, runs: Runs, spot: Spot<'_>) -> Result<Option<String>, Trouble> {
        let Some(words) = item.as_str() else {
            return Err(spot.wrong(format!("{} holds no path", spot.field), "Write the path of a config."));
        };
        if is_text(words) {
            return self.configs(words, runs, Spot { text: words, field: "", ..spot });
        }
        let (path, entry) = self.found(words, spot)?;
        if entry != Entry::File {
            let help = "List the files with the configs one by one.";
            return Err(spot.wrong(format!("{} is a folder of configs", shown(&path)), help));
        }
        let text = self.text(&path)?;
        self.configs(&text, runs, Spot { folder: spot.folder, file: &path, text: &text, field: "" })
    }

    /// Judges the configs of a text.
    fn configs(&mut self, text: &str, runs: Runs, spot: Spot<'_>) -> Result<Option<String>, Trouble> {
        let nodes = parsed(spot.file, text, &mut Interner::new())?;
        if runs == Runs::Generator && !nodes.is_empty() && nodes.iter().all(is_ksops) {
            for node in &nodes {
                let config = self.map(node, &[HEAD, KSOPS], spot)?;
                let Some(Tree::List(files)) = config.get("files") else { continue };
                self.more.extend(files.iter().filter_map(|file| match file {
                    Tree::Text(name) => Some(String::from(&**name)),
                    _ => None,
                }));
            }
            return Ok(None);
        }
        let mut written = String::new();
        for node in &nodes {
            self.keeps_names.1 = keeps_name(node.at(&["options"]));
            let config = self.map(node, &[HEAD, builtin(node, spot)?], spot)?;
            written.push_str("---\n");
            written.push_str(&emit(&Tree::Map(config)));
        }
        let written = Zeroizing::new(written.into_bytes());
        self.keep(spot, (spot.file, written)).map(Some)
    }
}

fn is_ksops(node: &Node) -> bool {
    let is_its_group = |version: &str| version.starts_with("viaduct.ai/");
    node.str_at(&["apiVersion"]).is_some_and(is_its_group) && node.str_at(&["kind"]) == Some("ksops")
}

/// The fields of the config of a plugin that is part of kustomize.
fn builtin(node: &Node, spot: Spot<'_>) -> Result<&'static [Field], Trouble> {
    let kind = node.str_at(&["kind"]).unwrap_or_default();
    let notes = node.at(&["metadata", "annotations"]).map(Node::entries).unwrap_or_default();
    // <https://kubectl.docs.kubernetes.io/guides/extending_kustomize/containerized_krm_functions/>
    if notes.iter().any(|(key, _)| key.ends_with("/function")) {
        let spot = Spot { field: "metadata", ..spot };
        return Err(spot.wrong("it is a function, and no program of a tree is run", "Remove the annotation."));
    }
    let is_builtin = node.str_at(&["apiVersion"]) == Some("builtin");
    let known = BUILTINS.iter().find(|(name, _)| is_builtin && *name == kind);
    known.map(|(_, fields)| *fields).ok_or_else(|| {
        let message = format!("{kind:?} is a plugin, and no program of a tree is run");
        let help = "Write what it makes into the tree, and name that file under `resources`.";
        Spot { field: "kind", ..spot }.wrong(message, help)
    })
}
