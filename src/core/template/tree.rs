//! What a template consists of, as Go's `text/template/parse` has it.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// The line that something stands in, from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Line(pub(super) usize);

/// Nodes in order.
pub(super) type List = Vec<Node>;

/// A part of a template.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// What is printed as it is.
    Text(Line, Arc<str>),
    /// A pipeline whose value is printed, unless it is given to variables.
    Action(Line, Pipe),
    /// `{{if}}`.
    If(Branch),
    /// `{{with}}`.
    With(Branch),
    /// `{{range}}`.
    Range(Branch),
    /// `{{template}}`, and what `{{block}}` leaves in its place.
    Template(Line, String, Option<Pipe>),
    /// `{{break}}`.
    Break(Line),
    /// `{{continue}}`.
    Continue(Line),
}

/// What `{{if}}`, `{{with}}` and `{{range}}` have.
#[derive(Clone, Debug)]
pub(super) struct Branch {
    pub(super) line: Line,
    pub(super) pipe: Pipe,
    pub(super) body: List,
    pub(super) other: Option<List>,
}

/// Commands, each of which gives its value to the next.
#[derive(Clone, Debug)]
pub(super) struct Pipe {
    pub(super) line: Line,
    /// The variables that are given the value.
    pub(super) variables: Vec<Arc<str>>,
    /// Whether they are there already: `=` and not `:=`.
    pub(super) assigns: bool,
    pub(super) commands: Vec<Command>,
}

/// A value, or a function and its arguments.
#[derive(Clone, Debug)]
pub(super) struct Command {
    pub(super) line: Line,
    pub(super) words: Vec<Word>,
}

/// A value in a command.
#[derive(Clone, Debug)]
pub(super) struct Word {
    pub(super) line: Line,
    pub(super) kind: Kind,
}

/// What kinds of values there are.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// `.`.
    Dot,
    /// `nil`.
    Nil,
    /// `true` and `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number with a point or an exponent.
    Float(f64),
    /// A text in quotes.
    Text(Arc<str>),
    /// `.a.b`.
    Field(Vec<Arc<str>>),
    /// `$x.a.b`.
    Variable(Arc<str>, Vec<Arc<str>>),
    /// A function.
    Function(Arc<str>),
    /// A pipeline in parentheses.
    Pipe(Box<Pipe>),
    /// The fields of a function's result, or of a pipeline's.
    Chain(Box<Word>, Vec<Arc<str>>),
}
