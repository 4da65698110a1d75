//! A template meets its data: Go's `text/template/exec.go`, with bounds.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;

use super::budget::{Budget, Growing, Patterns};
use super::call::{Args, Param, size};
use super::functions;
use super::number;
use super::print;
use super::refused::{Refused, shown};
use super::tree::{Branch, Command, Kind, Line, List, Node, Pipe, Word};
use super::value::{Fault, MapOf, NOT_READ, Value};

/// How deep branches, templates and parentheses may be nested.
const DEEPEST: u32 = 100;

/// What a call costs, as bytes that are read: its function is looked up.
const CALL: usize = 256;

/// What an argument costs, however little it holds.
const ARGUMENT: usize = 8;

/// Renders a template.
pub(super) fn run(
    tree: &List,
    defined: &BTreeMap<String, List>,
    patterns: Patterns,
    data: &Value,
) -> Result<String, Refused> {
    let mut running = Running {
        defined,
        budget: Budget::new(patterns),
        out: Growing::default(),
        variables: Vec::new(),
        levels: DEEPEST,
    };
    running.variables.push(("$".into(), data.clone()));
    running.list(tree, data)?;
    Ok(running.out.done())
}

struct Running<'a> {
    defined: &'a BTreeMap<String, List>,
    budget: Budget,
    out: Growing,
    variables: Vec<(Arc<str>, Value)>,
    /// The levels that it may still go deeper.
    levels: u32,
}

/// How a list of nodes ends.
#[derive(PartialEq, Eq)]
enum Flow {
    On,
    Break,
    Continue,
}

impl Running<'_> {
    fn list(&mut self, list: &List, dot: &Value) -> Result<Flow, Refused> {
        for node in list {
            let flow = self.node(node, dot)?;
            if flow != Flow::On {
                return Ok(flow);
            }
        }
        Ok(Flow::On)
    }

    fn node(&mut self, node: &Node, dot: &Value) -> Result<Flow, Refused> {
        match node {
            Node::Text(line, text) => {
                self.step(*line)?;
                self.out.push(text).map_err(|fault| Refused::fault(*line, None, fault))?;
            }
            Node::Action(line, pipe) => {
                let value = self.pipe(pipe, dot)?;
                if pipe.variables.is_empty() {
                    self.print(*line, &value)?;
                }
            }
            Node::If(branch) => return self.deeper(branch.line, |running| running.condition(branch, dot)),
            Node::With(branch) => return self.deeper(branch.line, |running| running.with(branch, dot)),
            Node::Range(branch) => return self.deeper(branch.line, |running| running.range(branch, dot)),
            Node::Template(line, name, pipe) => {
                return self.deeper(*line, |running| running.template(*line, name, pipe.as_ref(), dot));
            }
            Node::Break(_) => return Ok(Flow::Break),
            Node::Continue(_) => return Ok(Flow::Continue),
        }
        Ok(Flow::On)
    }

    fn print(&mut self, line: Line, value: &Value) -> Result<(), Refused> {
        let printed = match value {
            Value::Nil => Err("there is no value to print: Go would print `<no value>`"),
            Value::Text(text) => self.out.push(text),
            value => print::write(value, &mut self.out, &mut self.budget),
        };
        printed.map_err(|fault| Refused::fault(line, None, fault))
    }

    fn step(&mut self, line: Line) -> Result<(), Refused> {
        self.budget.step().map_err(|fault| Refused::fault(line, None, fault_of_all(fault)))
    }

    fn deeper<T>(&mut self, line: Line, inside: impl FnOnce(&mut Self) -> Result<T, Refused>) -> Result<T, Refused> {
        self.step(line)?;
        let Some(left) = self.levels.checked_sub(1) else {
            let message = "branches, templates or parentheses are nested deeper than 100 levels";
            return Err(Refused::at(line, message, "A template that calls itself must end."));
        };
        let levels = mem::replace(&mut self.levels, left);
        let result = inside(self);
        self.levels = levels;
        result
    }

    /// Does something, and forgets the variables that were declared there.
    fn scoped<T>(&mut self, inside: impl FnOnce(&mut Self) -> Result<T, Refused>) -> Result<T, Refused> {
        let before = self.variables.len();
        let result = inside(self)?;
        self.variables.truncate(before);
        Ok(result)
    }

    fn other(&mut self, branch: &Branch, dot: &Value) -> Result<Flow, Refused> {
        branch.other.as_ref().map_or(Ok(Flow::On), |other| self.list(other, dot))
    }

    fn condition(&mut self, branch: &Branch, dot: &Value) -> Result<Flow, Refused> {
        self.scoped(|running| {
            let holds = running.pipe(&branch.pipe, dot)?.truth();
            if holds { running.list(&branch.body, dot) } else { running.other(branch, dot) }
        })
    }

    fn with(&mut self, branch: &Branch, dot: &Value) -> Result<Flow, Refused> {
        self.scoped(|running| {
            let value = running.pipe(&branch.pipe, dot)?;
            if value.truth() { running.list(&branch.body, &value) } else { running.other(branch, dot) }
        })
    }

    fn range(&mut self, branch: &Branch, dot: &Value) -> Result<Flow, Refused> {
        self.scoped(|running| {
            let value = running.pipe(&branch.pipe, dot)?;
            let ran = match &value {
                Value::Nil => false,
                Value::Int(n) => running.count(branch, *n, Value::Int)?,
                Value::Int64(n) => running.count(branch, *n, Value::Int64)?,
                Value::Uint(_) | Value::Uint64(_) => return Err(cannot(branch.line)),
                Value::List(list) => {
                    for (at, item) in list.items.iter().enumerate() {
                        if running.round(branch, &size(at), item)? == Flow::Break {
                            break;
                        }
                    }
                    !list.items.is_empty()
                }
                Value::Map(map) => {
                    map.of.whole().map_err(|fault| Refused::fault(branch.line, None, fault))?;
                    for (key, item) in &map.entries {
                        if running.round(branch, &Value::Text(key.clone()), item)? == Flow::Break {
                            break;
                        }
                    }
                    !map.entries.is_empty()
                }
                _ => return Err(cannot(branch.line)),
            };
            if ran { Ok(Flow::On) } else { running.other(branch, dot) }
        })
    }

    fn count(&mut self, branch: &Branch, count: i64, number: fn(i64) -> Value) -> Result<bool, Refused> {
        if branch.pipe.variables.len() > 1 {
            let message = "a range over a number has one variable and not two";
            return Err(Refused::at(branch.line, message, "Leave the second variable away."));
        }
        for at in 0..count {
            if self.round(branch, &Value::Nil, &number(at))? == Flow::Break {
                break;
            }
        }
        Ok(count > 0)
    }

    fn round(&mut self, branch: &Branch, index: &Value, item: &Value) -> Result<Flow, Refused> {
        self.step(branch.line)?;
        let values = match &*branch.pipe.variables {
            [] => Vec::new(),
            [only] => vec![(only, item)],
            [first, second, ..] => vec![(first, index), (second, item)],
        };
        for (behind, (name, value)) in (0..values.len()).rev().zip(values) {
            if branch.pipe.assigns {
                self.assign(branch.line, name, value.clone())?;
            } else if let Some((_, slot)) = self.variables.iter_mut().nth_back(behind) {
                *slot = value.clone();
            }
        }
        self.scoped(|running| running.list(&branch.body, item))
    }

    fn template(&mut self, line: Line, name: &str, pipe: Option<&Pipe>, dot: &Value) -> Result<Flow, Refused> {
        let value = pipe.map_or(Ok(Value::Nil), |pipe| self.pipe(pipe, dot))?;
        let Some(list) = self.defined.get(name) else {
            return Err(Refused::at(line, &format!("there is no template `{}`", shown(name)), "Define it."));
        };
        let outside = core::mem::replace(&mut self.variables, vec![("$".into(), value.clone())]);
        self.list(list, &value)?;
        self.variables = outside;
        Ok(Flow::On)
    }

    fn assign(&mut self, line: Line, name: &Arc<str>, value: Value) -> Result<(), Refused> {
        let found = self.variables.iter_mut().rev().enumerate().find(|(_, (other, _))| other == name);
        let Some((passed, (_, slot))) = found else { return Ok(()) };
        *slot = value;
        self.budget.work(passed).map_err(|fault| too_much(line, fault))
    }

    fn pipe(&mut self, pipe: &Pipe, dot: &Value) -> Result<Value, Refused> {
        let mut value = None;
        for command in &pipe.commands {
            value = Some(self.command(command, dot, value)?);
        }
        let value = value.unwrap_or(Value::Nil);
        for name in &pipe.variables {
            if pipe.assigns {
                self.assign(pipe.line, name, value.clone())?;
            } else {
                self.variables.push((name.clone(), value.clone()));
            }
        }
        Ok(value)
    }

    fn command(&mut self, command: &Command, dot: &Value, last: Option<Value>) -> Result<Value, Refused> {
        self.step(command.line)?;
        match command.words.split_first() {
            Some((Word { line, kind: Kind::Function(name) }, args)) => self.call(*line, name, args, dot, last),
            Some((first, [])) if last.is_none() => self.value(first, dot),
            _ => Err(Refused::at(command.line, "something that is no function is given arguments", "Call a function.")),
        }
    }

    fn call(
        &mut self,
        line: Line,
        name: &str,
        args: &[Word],
        dot: &Value,
        last: Option<Value>,
    ) -> Result<Value, Refused> {
        let Some((params, function)) = functions::find(name) else {
            let (message, help) = functions::why_not(name);
            return Err(Refused::at(line, &message, &help));
        };
        let fault = |fault: Fault| Refused::fault(line, Some(name), fault);
        // Functions may be called and constants given where no step is taken: as arguments.
        self.budget.work(CALL).map_err(fault)?;
        if matches!(name, "and" | "or") {
            return self.until_known(args, dot, last, name == "or");
        }
        let mut values = Vec::new();
        for (at, arg) in args.iter().enumerate() {
            let value = self.argument(arg, params.constant(at), dot)?;
            params.at(at).check(&value).map_err(fault)?;
            values.push(value);
        }
        if let Some(value) = last {
            params.at(values.len()).check(&value).map_err(fault)?;
            values.push(value);
        }
        let read = values.iter().map(Value::size).sum();
        self.budget.work(read).map_err(fault)?;
        let made = function(&Args(&values), &mut self.budget).map_err(fault)?;
        self.budget.work(made.size()).map_err(fault)?;
        Ok(made)
    }

    /// `and` and `or`: the first value that decides, or the last.
    fn until_known(
        &mut self,
        args: &[Word],
        dot: &Value,
        last: Option<Value>,
        decides: bool,
    ) -> Result<Value, Refused> {
        let mut value = Value::Nil;
        for arg in args {
            value = self.argument(arg, Param::Any, dot)?;
            Param::Any.check(&value).map_err(|fault| Refused::fault(arg.line, None, fault))?;
            if value.truth() == decides {
                return Ok(value);
            }
        }
        Ok(last.unwrap_or(value))
    }

    /// An argument: constants take the type that is asked for.
    fn argument(&mut self, word: &Word, param: Param, dot: &Value) -> Result<Value, Refused> {
        self.budget.work(ARGUMENT).map_err(|fault| too_much(word.line, fault))?;
        match (&word.kind, param) {
            (Kind::Nil, Param::Any) => Ok(Value::Nil),
            (Kind::Nil, _) => Err(Refused::at(word.line, "nil is no value for this argument", "Write a value.")),
            (Kind::Int(n), Param::Float) => Ok(Value::Float(number::float(*n))),
            (Kind::Float(n), Param::Int) => {
                let whole = number::whole(*n).ok().filter(|_| number::truncated(*n) == *n);
                Ok(whole.map_or(Value::Float(*n), Value::Int))
            }
            _ => self.value(word, dot),
        }
    }

    fn value(&mut self, word: &Word, dot: &Value) -> Result<Value, Refused> {
        let line = word.line;
        match &word.kind {
            Kind::Dot => Ok(dot.clone()),
            Kind::Field(names) => field(line, dot, names),
            Kind::Variable(name, names) => {
                let found = self.variables.iter().rev().enumerate().find(|(_, (other, _))| other == name);
                let Some((passed, (_, value))) = found else {
                    let message = format!("there is no variable `{}` here", shown(name));
                    return Err(Refused::at(line, &message, "Declare it."));
                };
                // Many may be declared behind it, and all of them were looked at.
                self.budget.work(passed).map_err(|fault| too_much(line, fault))?;
                field(line, value, names)
            }
            Kind::Function(name) => self.call(line, name, &[], dot, None),
            Kind::Text(text) => Ok(Value::Text(Arc::clone(text))),
            Kind::Int(n) => Ok(Value::Int(*n)),
            Kind::Float(n) => Ok(Value::Float(*n)),
            Kind::Bool(value) => Ok(Value::Bool(*value)),
            Kind::Nil => Err(Refused::at(line, "nil is not a command", "Write a value or a function.")),
            Kind::Pipe(pipe) => self.deeper(line, |running| running.pipe(pipe, dot)),
            Kind::Chain(inner, names) => {
                let value = self.deeper(line, |running| running.value(inner, dot))?;
                field(line, &value, names)
            }
        }
    }
}

/// A value's field, and the field of that, and so on.
fn field(line: Line, value: &Value, names: &[Arc<str>]) -> Result<Value, Refused> {
    let mut value = value;
    for name in names {
        let Value::Map(map) = value else {
            let message = format!("`.{}` is asked of something that has no fields", shown(name));
            return Err(Refused::at(line, &message, "Correct the name or the data."));
        };
        value = map.entries.get(name).ok_or_else(|| {
            if map.of == MapOf::Part {
                let message = format!("there is no `{}`: {NOT_READ}", shown(name));
                return Refused::at(line, &message, "Give the template a ConfigMap that says it.");
            }
            let message = format!("there is no `{}`; Go would go on with no value", shown(name));
            Refused::at(line, &message, "Correct the name, or give what it is read from this key or label.")
        })?;
    }
    Ok(value.clone())
}

fn cannot(line: Line) -> Refused {
    Refused::at(line, "a range goes over something that is no list, map or int", "Give it a list, a map or an int.")
}

fn too_much(line: Line, _: Fault) -> Refused {
    Refused::fault(line, None, "the template's functions read and make more than 64 MiB")
}

/// Budgets are those of the whole template.
fn fault_of_all(_: Fault) -> Fault {
    "the template takes more than 100,000 steps"
}
