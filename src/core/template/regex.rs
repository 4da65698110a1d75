//! Regular expressions of Go: RE2's syntax, checked and turned into ours.
//!
//! The engines agree on what matches first; their syntax differs in details. What both read alike is passed on, what only
//! differs in writing is rewritten, and the rest is refused. How large an expression may be is counted in what is
//! written, so that every build of pouch takes the same ones.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use regex_automata::PatternID;
use regex_automata::meta::Regex;

use super::value::Fault;

/// An expression that is ready to match. It is not anchored.
#[derive(Clone, Debug)]
pub struct Pattern {
    regex: Arc<Regex>,
    states: usize,
}

/// Where a match or a group begins and ends.
pub(super) type Span = (usize, usize);

/// The most states of an expression, each of which may be visited for each byte of a text.
const LARGEST: usize = 5000;

/// The most groups: matching keeps where each of them is, for each state.
const MOST_GROUPS: usize = 100;

/// The most bytes of a compiled expression, far above what [`LARGEST`] states need.
const COMPILED: usize = 1 << 23;

const REFUSED: Fault = "a regular expression is none for Go, or uses what is not offered";

const TOO_LARGE: Fault = "a regular expression is too large";

impl Pattern {
    /// Compiles an expression.
    ///
    /// # Errors
    /// Where Go would refuse it, where it means something else here, or where it is too large.
    pub fn new(expression: &str) -> Result<Self, Fault> {
        let translated = Translator::translated(expression).ok_or(REFUSED)?;
        if translated.states > LARGEST || translated.groups > MOST_GROUPS {
            return Err(TOO_LARGE);
        }
        let config = Regex::config().nfa_size_limit(Some(COMPILED)).hybrid(false);
        let regex = Regex::builder().configure(config).build(&translated.text).map_err(|_| REFUSED)?;
        Ok(Self { regex: Arc::new(regex), states: translated.states })
    }

    /// Whether it matches anywhere.
    pub fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// What matching costs for each byte of a text; the memory that it takes grows with that too.
    pub(super) fn cost(&self) -> usize {
        self.states.saturating_add(1)
    }

    /// What matching costs where all groups are asked for: every visit may copy where they are.
    pub(super) fn cost_with_groups(&self) -> usize {
        self.cost().saturating_mul(self.groups() / 4 + 1)
    }

    /// How many groups it has; the whole match is the first.
    pub(super) fn groups(&self) -> usize {
        self.regex.captures_len()
    }

    /// The names of its groups.
    pub(super) fn names(&self) -> impl Iterator<Item = Option<&str>> {
        self.regex.group_info().pattern_names(PatternID::ZERO)
    }

    /// The group of a name.
    pub(super) fn named(&self, name: &str) -> Option<usize> {
        self.regex.group_info().to_index(PatternID::ZERO, name)
    }

    /// Its matches.
    pub(super) fn spans<'t>(&'t self, text: &'t str) -> impl Iterator<Item = Span> + 't {
        self.regex.find_iter(text).map(|found| (found.start(), found.end()))
    }

    /// The groups of its matches, none where a group took no part.
    pub(super) fn all<'t>(&'t self, text: &'t str) -> impl Iterator<Item = Vec<Option<Span>>> + 't {
        self.regex.captures_iter(text).map(|found| {
            (0..found.group_len()).map(|at| found.get_group(at).map(|span| (span.start, span.end))).collect()
        })
    }
}

/// States of what is not ASCII alone: the bytes of a character are told apart one by one.
const WIDE: usize = 8;

/// Reads an expression as Go does, and writes it as ours.
struct Translator<'a> {
    letters: core::iter::Peekable<core::str::Chars<'a>>,
    text: String,
    /// Whether case is ignored somewhere.
    folds: bool,
    /// Whether a letter beyond ASCII is named.
    beyond_ascii: bool,
    groups: usize,
    /// States of each group that is open, and of the whole expression first.
    open: Vec<usize>,
    /// States of what stands last.
    last: usize,
}

/// An expression in our syntax, and how large it is.
struct Translated {
    text: String,
    states: usize,
    groups: usize,
}

/// What stands behind a `(`.
#[derive(PartialEq, Eq)]
enum Group {
    Numbered,
    Plain,
    /// `(?i)`: no group at all.
    Flags,
}

/// The classes that Go knows by name.
const NAMED: &[&str] = &[
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "word",
    "xdigit",
];

impl<'a> Translator<'a> {
    /// The expression in our own syntax; none where it is refused.
    fn translated(expression: &'a str) -> Option<Translated> {
        let letters = expression.chars().peekable();
        let mut own =
            Self { letters, text: String::new(), folds: false, beyond_ascii: false, groups: 0, open: vec![0], last: 0 };
        own.whole()?;
        // Other letters than those of ASCII fold as the version of Unicode has it.
        if own.folds && own.beyond_ascii {
            return None;
        }
        let [states] = *own.open else { return None };
        Some(Translated { text: own.text, states, groups: own.groups })
    }

    fn whole(&mut self) -> Option<()> {
        // Whether what stood before repeats: two of them Go refuses.
        let mut repeated = false;
        let mut repeats = 1u32;
        while let Some(letter) = self.letters.next() {
            let mut repeats_now = false;
            match letter {
                '\\' => self.escape()?,
                '[' => {
                    let states = self.class()?;
                    self.atom(states);
                }
                '(' => self.group()?,
                ')' => {
                    self.text.push(')');
                    let states = self.open.pop()?;
                    self.open.last()?;
                    self.atom(states);
                }
                '*' | '+' | '?' => {
                    if repeated {
                        return None;
                    }
                    self.text.push(letter);
                    self.lazy();
                    self.more(1);
                    repeats_now = true;
                }
                '{' => {
                    if repeated {
                        return None;
                    }
                    let most = self.repetition()?;
                    // Go bounds what repetitions within each other come to; this bounds them all together.
                    repeats = repeats.checked_mul(most).filter(|repeats| *repeats <= 1000)?;
                    repeats_now = true;
                }
                '.' => {
                    self.text.push('.');
                    self.atom(WIDE);
                }
                '|' | '^' | '$' => {
                    self.text.push(letter);
                    self.atom(1);
                }
                letter => {
                    self.text.push(letter);
                    self.letter(letter);
                }
            }
            repeated = repeats_now;
        }
        Some(())
    }

    /// Counts the states of what was written.
    fn atom(&mut self, states: usize) {
        self.last = 0;
        self.more(states);
    }

    fn more(&mut self, states: usize) {
        self.last = self.last.saturating_add(states);
        if let Some(inside) = self.open.last_mut() {
            *inside = inside.saturating_add(states);
        }
    }

    fn letter(&mut self, letter: char) {
        self.beyond_ascii |= !letter.is_ascii();
        self.atom(if self.folds { 4 } else { letter.len_utf8() });
    }

    fn lazy(&mut self) {
        if self.letters.next_if_eq(&'?').is_some() {
            self.text.push('?');
        }
    }

    /// What stands behind a backslash, outside of a class.
    fn escape(&mut self) -> Option<()> {
        let letter = *self.letters.peek()?;
        if let Some(class) = perl(letter) {
            self.letters.next();
            self.text.push_str(class);
            self.atom(if letter.is_ascii_uppercase() { WIDE } else { 4 });
            return Some(());
        }
        match letter {
            'b' => {
                self.letters.next();
                if self.letters.peek() == Some(&'{') {
                    return None;
                }
                self.text.push_str("(?-u:\\b)");
                self.atom(1);
            }
            'A' | 'z' => {
                self.letters.next();
                self.text.extend(['\\', letter]);
                self.atom(1);
            }
            _ => {
                let letter = self.escaped()?;
                self.write(letter);
                self.letter(letter);
            }
        }
        Some(())
    }

    /// The letter that stands behind a backslash.
    fn escaped(&mut self) -> Option<char> {
        match self.letters.next()? {
            'a' => Some('\u{7}'),
            'f' => Some('\u{c}'),
            't' => Some('\t'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            'v' => Some('\u{b}'),
            'x' => {
                let braced = self.letters.next_if_eq(&'{').is_some();
                let mut digits = String::new();
                while let Some(digit) =
                    self.letters.next_if(|digit| digit.is_ascii_hexdigit() && (braced || digits.len() < 2))
                {
                    digits.push(digit);
                }
                if digits.len() > 6 || (!braced && digits.len() != 2) {
                    return None;
                }
                if braced {
                    self.letters.next_if_eq(&'}')?;
                }
                char::from_u32(u32::from_str_radix(&digits, 16).ok()?)
            }
            letter if letter.is_ascii_punctuation() => Some(letter),
            _ => None,
        }
    }

    /// Writes a letter that stands for itself.
    fn write(&mut self, letter: char) {
        if letter.is_ascii() && !letter.is_ascii_alphanumeric() {
            self.text.push_str(&format!("\\x{{{:X}}}", u32::from(letter)));
        } else {
            self.text.push(letter);
        }
    }

    fn group(&mut self) -> Option<()> {
        self.text.push('(');
        let mut group = Group::Numbered;
        if self.letters.next_if_eq(&'?').is_some() {
            self.text.push('?');
            group = self.kind()?;
        }
        if group == Group::Numbered {
            self.groups += 1;
        }
        if group != Group::Flags {
            self.open.push(2);
        }
        Some(())
    }

    /// What stands behind `(?`.
    fn kind(&mut self) -> Option<Group> {
        if self.letters.next_if_eq(&'P').is_some() {
            self.text.push('P');
            if self.letters.peek() != Some(&'<') {
                return None;
            }
        }
        if self.letters.next_if_eq(&'<').is_some() {
            self.text.push('<');
            let mut is_named = false;
            while let Some(letter) = self.letters.next_if(|letter| letter.is_ascii_alphanumeric() || *letter == '_') {
                self.text.push(letter);
                is_named = true;
            }
            // Go takes names that begin with a digit, we do not: our own compiler refuses them.
            self.letters.next_if_eq(&'>').filter(|_| is_named)?;
            self.text.push('>');
            return Some(Group::Numbered);
        }
        loop {
            let letter = self.letters.next()?;
            self.text.push(letter);
            match letter {
                'i' => self.folds = true,
                'm' | 's' | 'U' | '-' => {}
                ':' => return Some(Group::Plain),
                ')' => return Some(Group::Flags),
                _ => return None,
            }
        }
    }

    /// A `{…}` that repeats, and how often at most. Go takes what is written otherwise as letters.
    fn repetition(&mut self) -> Option<u32> {
        let low = self.count()?;
        let mut high = Some(low);
        if self.letters.next_if_eq(&',').is_some() {
            high = if self.letters.peek() == Some(&'}') { None } else { Some(self.count()?) };
        }
        self.letters.next_if_eq(&'}')?;
        // Groups of what never stands there are forgotten here, and counted by Go.
        if low > 1000 || high.is_some_and(|high| high == 0 || high > 1000 || high < low) {
            return None;
        }
        self.text.push_str(&match high {
            Some(high) => format!("{{{low},{high}}}"),
            None => format!("{{{low},}}"),
        });
        self.lazy();
        let times = high.unwrap_or(low.saturating_add(1));
        let copies = usize::try_from(times.saturating_sub(1)).ok()?;
        self.more(self.last.saturating_add(1).saturating_mul(copies).saturating_add(1));
        Some(high.unwrap_or(low).max(1))
    }

    /// A number without zeros in front of it.
    fn count(&mut self) -> Option<u32> {
        let mut digits = String::new();
        while let Some(digit) = self.letters.next_if(char::is_ascii_digit) {
            digits.push(digit);
        }
        if digits.len() > 1 && digits.starts_with('0') {
            return None;
        }
        digits.parse().ok()
    }

    /// A class, and how many states it has.
    ///
    /// Each letter is written so that it can only be itself, and each class within as a class of its own: a `-` behind
    /// one is no range.
    fn class(&mut self) -> Option<usize> {
        self.text.push('[');
        let mut states = if self.folds { 4 } else { 1 };
        if self.letters.next_if_eq(&'^').is_some() {
            self.text.push('^');
            states = WIDE;
        }
        let mut first = true;
        loop {
            let letter = self.letters.next()?;
            if letter == ']' && !first {
                self.text.push(']');
                return Some(states);
            }
            first = false;
            if letter == '[' && self.letters.next_if_eq(&':').is_some() {
                self.named_class()?;
                states = states.max(WIDE);
                continue;
            }
            if letter == '\\'
                && let Some(class) = self.letters.peek().and_then(|letter| perl(*letter))
            {
                self.letters.next();
                self.text.push_str(class);
                states = states.max(WIDE);
                continue;
            }
            let low = if letter == '\\' { self.escaped()? } else { letter };
            let high = self.range()?.unwrap_or(low);
            if high < low {
                return None;
            }
            self.write(low);
            if high > low {
                self.text.push('-');
                self.write(high);
            }
            if !high.is_ascii() {
                self.beyond_ascii = true;
                states = states.saturating_add(WIDE);
            }
        }
    }

    /// The last letter of a range, if there is one.
    fn range(&mut self) -> Option<Option<char>> {
        let mut ahead = self.letters.clone();
        if ahead.next() != Some('-') || ahead.next()? == ']' {
            return Some(None);
        }
        self.letters.next();
        // A class such as `\d` is no letter: Go refuses it here, and so does this.
        match self.letters.next()? {
            '\\' => self.escaped().map(Some),
            letter => Some(Some(letter)),
        }
    }

    /// `[:alpha:]` and `[:^alpha:]`, behind the colon.
    fn named_class(&mut self) -> Option<()> {
        let not = if self.letters.next_if_eq(&'^').is_some() { "^" } else { "" };
        let mut name = String::new();
        while let Some(letter) = self.letters.next_if(char::is_ascii_lowercase) {
            name.push(letter);
        }
        self.letters.next_if_eq(&':')?;
        self.letters.next_if_eq(&']')?;
        if !NAMED.contains(&&*name) {
            return None;
        }
        self.text.push_str(&format!("[:{not}{name}:]"));
        Some(())
    }
}

/// Perl's classes, which are those of ASCII.
fn perl(letter: char) -> Option<&'static str> {
    Some(match letter {
        'd' => "[0-9]",
        'w' => "[0-9A-Za-z_]",
        's' => "[\\t\\n\\x0C\\r ]",
        'D' => "[^0-9]",
        'W' => "[^0-9A-Za-z_]",
        'S' => "[^\\t\\n\\x0C\\r ]",
        _ => return None,
    })
}
