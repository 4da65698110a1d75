//! The chain of a Credential as a picture: a box for each step, below the one that names it.
//!
//! Narrow enough for a phone: steps stand below each other, moved to the right by how deep they are.

use alloc::string::String;
use alloc::vec::Vec;

use super::html::Html;
use crate::explain::record::{ClaimRecord, State, StepRecord};
use crate::explain::text::{admitted, read, state as told};
use crate::report::names::object as named;
use crate::report::{escape, markup};

/// The width of a picture, in pixels.
const WIDTH: usize = 330;
/// The height of a line in a box, what a box has beside its lines, and the room between boxes.
const LINE: usize = 14;
const PADDING: usize = 8;
const GAP: usize = 6;
/// How many lines a name has at most, and what is said of it.
const LINES: usize = 8;
/// How far a step is moved to the right of the one that names it, and how often at most.
const INDENT: usize = 14;
const DEEPEST: usize = 8;
/// Tenths of a pixel that a character takes.
const CHAR: usize = 67;

/// The picture of a claim; nothing where nothing is known of its chain.
pub(super) fn chain(html: &mut Html, claim: &ClaimRecord) {
    if claim.steps.is_empty() {
        return;
    }
    let mut depths: Vec<usize> = Vec::new();
    for step in &claim.steps {
        let depth = step.named_by.and_then(|by| depths.get(by)).map_or(0, |depth: &usize| depth.saturating_add(1));
        depths.push(depth.min(DEEPEST));
    }
    let left = |depth: usize| depth.saturating_mul(INDENT).saturating_add(1);
    let mut places: Vec<Place> = Vec::new();
    let mut height: usize = 1;
    for (step, depth) in claim.steps.iter().zip(&depths) {
        let place = Place::of(claim, step, (left(*depth), height));
        height = height.saturating_add(place.height()).saturating_add(GAP);
        places.push(place);
    }
    html.raw(&format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\" aria-label=\"{}\">",
        markup(&format!("what {} needs", claim.credential))
    ));
    let mut lines = String::new();
    let mut boxes = Html::default();
    for (step, place) in claim.steps.iter().zip(&places) {
        if let Some(above) = step.named_by.and_then(|by| places.get(by)) {
            let from = above.x.saturating_add(6);
            let (down, middle) = (above.y.saturating_add(above.height()), place.y.saturating_add(place.height() / 2));
            // Deeper than the deepest, a step stands below the one that names it.
            let to = place.x.max(from);
            lines.push_str(&format!("M{from} {down}V{middle}H{to}"));
        }
        one(&mut boxes, step, place);
    }
    if !lines.is_empty() {
        html.raw(&format!("<path d=\"{lines}\"/>"));
    }
    html.raw(&boxes.into_string());
    html.raw("</svg>");
}

/// A box: where it stands, and its lines.
struct Place {
    x: usize,
    y: usize,
    wide: usize,
    name: Vec<String>,
    below: Vec<String>,
}

impl Place {
    fn of(claim: &ClaimRecord, step: &StepRecord, (x, y): (usize, usize)) -> Self {
        let wide = WIDTH.saturating_sub(x).saturating_sub(1);
        let chars = wide.saturating_sub(12).saturating_mul(10) / CHAR;
        let (name, below) = (wrapped(&named(&step.object), chars), wrapped(&below(step, &claim.credential), chars));
        Self { x, y, wide, name, below }
    }

    fn height(&self) -> usize {
        self.name.len().saturating_add(self.below.len()).saturating_mul(LINE).saturating_add(PADDING)
    }
}

fn is_missing(step: &StepRecord) -> bool {
    step.rule.is_none() || step.is_missing()
}

fn one(html: &mut Html, step: &StepRecord, place: &Place) {
    let class = match step.state {
        _ if is_missing(step) => Some("missing"),
        Some(state @ (State::Changes(_) | State::Carried | State::Unseen)) => Some(state.word()),
        Some(State::Unchanged | State::Published) | None => None,
    };
    let class = class.map(|class| format!(" class=\"{class}\"")).unwrap_or_default();
    let Place { x, y, wide, name, below } = place;
    let height = place.height();
    html.raw(&format!("<rect{class} x=\"{x}\" y=\"{y}\" width=\"{wide}\" height=\"{height}\" rx=\"4\"/>"));
    let x = x.saturating_add(6);
    let lines = name.iter().map(|line| ("", line)).chain(below.iter().map(|line| (" class=\"d\"", line)));
    for (at, (class, line)) in lines.enumerate() {
        let y = y.saturating_add(15).saturating_add(at.saturating_mul(LINE));
        html.raw(&format!("<text{class} x=\"{x}\" y=\"{y}\">"));
        html.text(line);
        html.raw("</text>");
    }
}

/// What is said below a name: what becomes of the step, why the Credential may use it, and the field that names it.
fn below(step: &StepRecord, credential: &str) -> String {
    let state = match (step.rule, step.state) {
        (None, _) => String::from("not admitted"),
        (Some(_), _) if is_missing(step) => read(step),
        (Some(_), Some(state)) => String::from(told(state)),
        (Some(_), None) if step.in_place => String::from("there already"),
        (Some(_), None) => String::from("not published"),
    };
    let field = step.field.clone().unwrap_or_else(|| String::from("identityRef"));
    let rule = step.rule.as_ref().map(|_| format!("admitted {}", admitted(step, credential)));
    let parts: Vec<String> = [Some(state), rule, Some(field)].into_iter().flatten().collect();
    parts.join(" · ")
}

/// Text in so many lines at most, broken between words where that can be; of what is longer, the middle is left out.
fn wrapped(text: &str, chars: usize) -> Vec<String> {
    let chars = chars.max(1);
    let shorter = (1..=LINES).rev().map(|most| broken(&short(text, chars.saturating_mul(most)), chars));
    shorter.min_by_key(|lines| lines.len().saturating_sub(LINES)).unwrap_or_default()
}

fn broken(text: &str, chars: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut room: usize = 0;
    for word in text.split(' ') {
        let long: Vec<char> = word.chars().collect();
        for (part, piece) in long.chunks(chars).enumerate() {
            match lines.last_mut().filter(|_| part == 0 && room > piece.len()) {
                Some(line) => {
                    line.push(' ');
                    line.extend(piece);
                    room = room.saturating_sub(piece.len()).saturating_sub(1);
                }
                None => {
                    lines.push(piece.iter().collect());
                    room = chars.saturating_sub(piece.len());
                }
            }
        }
    }
    lines
}

/// As many characters as fit; of what is longer, the middle is left out.
pub(super) fn short(text: &str, chars: usize) -> String {
    let text = escape(text);
    let count = text.chars().count();
    if count <= chars {
        return text;
    }
    let kept = chars.saturating_sub(1);
    let (first, last) = (kept.saturating_sub(kept / 2), kept / 2);
    let head: String = text.chars().take(first).collect();
    let tail: String = text.chars().skip(count.saturating_sub(last)).collect();
    format!("{head}…{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_loses_its_middle() {
        assert_eq!(short("abcdefghij", 10), "abcdefghij");
        assert_eq!(short("abcdefghijk", 10), "abcde…hijk");
        assert_eq!(short("abc", 1), "…");
    }

    #[test]
    fn lines_end_between_words_and_nothing_is_lost() {
        assert_eq!(wrapped("Secret a/b", 10), ["Secret a/b"]);
        assert_eq!(wrapped("Secret a/bc", 10), ["Secret", "a/bc"]);
        assert_eq!(wrapped("Secret kcm-system/main x", 10), ["Secret", "kcm-system", "/main x"]);
        assert_eq!(wrapped(&"a".repeat(99), 5).len(), LINES);
        for words in ["ab ", "abc "] {
            let lines = wrapped(&words.repeat(99), 5);
            assert!(lines.len() <= LINES && lines.iter().any(|line| line.contains('…')), "{lines:?}");
        }
    }
}
