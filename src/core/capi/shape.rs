//! The shapes of fields, as the providers' CRDs have them.

/// One field of a map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub shape: Shape,
    /// Whether it must be there; `null` is not.
    pub required: bool,
}

impl Field {
    pub(crate) const fn required(name: &'static str, shape: Shape) -> Self {
        Self { name, shape, required: true }
    }

    pub(crate) const fn optional(name: &'static str, shape: Shape) -> Self {
        Self { name, shape, required: false }
    }
}

/// What a field holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// Anything at all.
    Any,
    /// Text of so many characters.
    Text {
        /// The fewest.
        least: usize,
        /// The most, if bounded.
        most: Option<usize>,
    },
    /// One of some words.
    OneOf(&'static [&'static str]),
    /// An integer between two, both included.
    Int {
        /// The smallest.
        least: i64,
        /// The greatest.
        most: i64,
    },
    /// A map of any keys to text.
    TextMap,
    /// A list.
    List(&'static Shape),
    /// A map with these fields and no others.
    Map(&'static [Field]),
}

/// Any text.
pub(crate) const TEXT: Shape = Shape::Text { least: 0, most: None };

/// `metav1.LabelSelector`.
pub(crate) const SELECTOR: Shape = Shape::Map(&[
    Field::optional(
        "matchExpressions",
        Shape::List(&Shape::Map(&[
            Field::required("key", TEXT),
            Field::required("operator", TEXT),
            Field::optional("values", Shape::List(&TEXT)),
        ])),
    ),
    Field::optional("matchLabels", Shape::TextMap),
]);

/// `corev1.SecretReference`.
pub(super) const SECRET_REFERENCE: Shape =
    Shape::Map(&[Field::optional("name", TEXT), Field::optional("namespace", TEXT)]);

/// `allowedNamespaces` with a list.
pub(super) const ALLOWED_NAMESPACES: Field = Field::optional(
    "allowedNamespaces",
    Shape::Map(&[Field::optional("list", Shape::List(&TEXT)), Field::optional("selector", SELECTOR)]),
);

impl Shape {
    /// What is said of a value that should have it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Shape::Text { .. } | Shape::OneOf(_) => "text",
            Shape::Int { .. } => "an integer",
            Shape::Any => "anything",
            Shape::TextMap | Shape::Map(_) => "a map",
            Shape::List(_) => "a list",
        }
    }
}
