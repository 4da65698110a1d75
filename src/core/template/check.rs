//! What can be said of a template before it meets data.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::budget::Patterns;
use super::functions;
use super::refused::{Refused, shown};
use super::regex::Pattern;
use super::tree::{Branch, Command, Kind, Line, List, Node, Pipe, Word};

/// Checks a template and all that it defines: functions and how many arguments they are given, variables, templates.
///
/// Gives back the regular expressions that stand in it.
///
/// # Errors
/// The first thing that could not be executed.
pub(super) fn check(tree: &List, defined: &BTreeMap<String, List>) -> Result<Patterns, Refused> {
    let (mut patterns, mut room) = (BTreeMap::new(), READY);
    for list in core::iter::once(tree).chain(defined.values()) {
        let mut checker =
            Checker { defined, variables: Vec::new(), declared: BTreeMap::new(), ranges: 0, patterns, room };
        checker.declare(&"$".into());
        checker.list(list)?;
        (patterns, room) = (checker.patterns, checker.room);
    }
    Ok(Arc::new(patterns))
}

/// The most that regular expressions may cost that are kept ready. Others are compiled when they are met.
const READY: usize = 100_000;

struct Checker<'a> {
    defined: &'a BTreeMap<String, List>,
    variables: Vec<Arc<str>>,
    /// How often each of them is declared: a template may hold more than could be searched for each use.
    declared: BTreeMap<Arc<str>, usize>,
    ranges: usize,
    patterns: BTreeMap<Arc<str>, Pattern>,
    room: usize,
}

impl Checker<'_> {
    fn list(&mut self, list: &List) -> Result<(), Refused> {
        list.iter().try_for_each(|node| self.node(node))
    }

    fn node(&mut self, node: &Node) -> Result<(), Refused> {
        match node {
            Node::Text(..) => Ok(()),
            Node::Action(_, pipe) => self.pipe(pipe),
            Node::If(branch) | Node::With(branch) => self.branch(branch),
            Node::Range(branch) => self.branch_of(branch, 1),
            Node::Template(line, name, pipe) => {
                if !self.defined.contains_key(name) {
                    let help = "Define it with {{define}}, or correct the name.";
                    return Err(Refused::at(*line, &format!("there is no template `{}`", shown(name)), help));
                }
                pipe.as_ref().map_or(Ok(()), |pipe| self.pipe(pipe))
            }
            Node::Break(line) | Node::Continue(line) if self.ranges == 0 => Err(Refused::at(
                *line,
                "{{break}} or {{continue}} stands outside of a range",
                "Move it into the range.",
            )),
            Node::Break(_) | Node::Continue(_) => Ok(()),
        }
    }

    fn branch(&mut self, branch: &Branch) -> Result<(), Refused> {
        self.branch_of(branch, 0)
    }

    /// A branch whose body stands in so many ranges more; what stands behind its {{else}} does not.
    fn branch_of(&mut self, branch: &Branch, ranges: usize) -> Result<(), Refused> {
        let before = self.variables.len();
        self.pipe(&branch.pipe)?;
        let inside = self.variables.len();
        let outside = self.ranges;
        self.ranges += ranges;
        let checked = self.list(&branch.body);
        self.ranges = outside;
        checked?;
        self.forget(inside);
        if let Some(other) = &branch.other {
            self.list(other)?;
        }
        self.forget(before);
        Ok(())
    }

    fn pipe(&mut self, pipe: &Pipe) -> Result<(), Refused> {
        for (at, command) in pipe.commands.iter().enumerate() {
            self.command(command, at > 0)?;
        }
        for name in &pipe.variables {
            if pipe.assigns {
                self.variable(pipe.line, name)?;
            } else {
                self.declare(name);
            }
        }
        Ok(())
    }

    fn command(&mut self, command: &Command, piped: bool) -> Result<(), Refused> {
        let Some((first, args)) = command.words.split_first() else {
            return Err(Refused::at(command.line, "a command is empty", "Write a value or a function."));
        };
        for arg in args {
            self.argument(arg)?;
        }
        match &first.kind {
            Kind::Function(name) => {
                called(first.line, name, args.len(), piped)?;
                self.expression(name, args)
            }
            Kind::Nil => Err(Refused::at(first.line, "nil is not a command", "Write a value or a function.")),
            _ if piped || !args.is_empty() => {
                let help = "Call a function, or leave the arguments away.";
                Err(Refused::at(first.line, "something that is no function is given arguments", help))
            }
            _ => self.argument(first),
        }
    }

    /// Compiles the regular expression that a function is given, if it stands there.
    fn expression(&mut self, name: &str, args: &[Word]) -> Result<(), Refused> {
        let Some((Word { line, kind: Kind::Text(text) }, _)) = args.split_first() else { return Ok(()) };
        if !functions::takes_expression(name) || self.room == 0 || self.patterns.contains_key(text) {
            return Ok(());
        }
        let pattern = Pattern::new(text).map_err(|fault| Refused::fault(*line, Some(name), fault))?;
        // What one keeps for matching grows with its groups.
        let size = pattern.cost().saturating_mul(pattern.groups()).saturating_add(text.len());
        self.room = self.room.saturating_sub(size.saturating_add(50));
        self.patterns.insert(text.clone(), pattern);
        Ok(())
    }

    fn argument(&mut self, word: &Word) -> Result<(), Refused> {
        match &word.kind {
            Kind::Function(name) => called(word.line, name, 0, false),
            Kind::Variable(name, _) => self.variable(word.line, name),
            Kind::Pipe(pipe) => self.pipe(pipe),
            Kind::Chain(inner, _) => self.argument(inner),
            _ => Ok(()),
        }
    }

    fn declare(&mut self, name: &Arc<str>) {
        self.variables.push(name.clone());
        *self.declared.entry(name.clone()).or_default() += 1;
    }

    /// Forgets the variables behind so many.
    fn forget(&mut self, before: usize) {
        for name in self.variables.split_off(before.min(self.variables.len())) {
            let times = self.declared.get(&name).copied().unwrap_or_default().saturating_sub(1);
            if times == 0 {
                self.declared.remove(&name);
            } else {
                self.declared.insert(name, times);
            }
        }
    }

    fn variable(&self, line: Line, name: &Arc<str>) -> Result<(), Refused> {
        if self.declared.contains_key(name) {
            return Ok(());
        }
        let help = "Variables hold until the {{end}} of what they are declared in.";
        Err(Refused::at(line, &format!("there is no variable `{}` here", shown(name)), help))
    }
}

fn called(line: Line, name: &str, args: usize, piped: bool) -> Result<(), Refused> {
    let Some((params, _)) = functions::find(name) else {
        let (message, help) = functions::why_not(name);
        return Err(Refused::at(line, &message, &help));
    };
    let (fewest, most) = params.count();
    let given = args + usize::from(piped);
    if given < fewest || given > most {
        let wants = match most {
            usize::MAX => format!("at least {fewest}"),
            most => format!("{most}"),
        };
        let message = format!("`{name}` takes {wants} arguments and is given {given}");
        return Err(Refused::at(line, &message, "What is piped counts as the last argument."));
    }
    Ok(())
}
