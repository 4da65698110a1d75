//! The chain of a Credential as a picture: a box for each step, below the one that names it.
//!
//! Narrow enough for a phone: steps stand below each other, moved to the right by how deep they are.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::html::Html;
use crate::explain::record::{ClaimRecord, StepRecord};
use crate::explain::text::named;
use crate::report::{escape, markup};

/// The width of a picture, in pixels.
const WIDTH: usize = 330;
/// The height of a step, and of its box.
const STEP: usize = 42;
const BOX: usize = 36;
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
    let top = |at: usize| at.saturating_mul(STEP).saturating_add(1);
    let height = top(claim.steps.len());
    html.raw(&format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\" aria-label=\"{}\">",
        markup(&format!("what {} needs", claim.credential))
    ));
    let mut lines = String::new();
    let mut boxes = Html::default();
    for (at, (step, depth)) in claim.steps.iter().zip(&depths).enumerate() {
        let (x, y) = (left(*depth), top(at));
        if let Some(by) = step.named_by
            && let Some(above) = depths.get(by)
        {
            let from = left(*above).saturating_add(6);
            let (down, middle) = (top(by).saturating_add(BOX), y.saturating_add(BOX / 2));
            // Deeper than the deepest, a step stands below the one that names it.
            let to = x.max(from);
            lines.push_str(&format!("M{from} {down}V{middle}H{to}"));
        }
        one(&mut boxes, step, (x, y));
    }
    if !lines.is_empty() {
        html.raw(&format!("<path d=\"{lines}\"/>"));
    }
    html.raw(&boxes.into_string());
    html.raw("</svg>");
}

fn one(html: &mut Html, step: &StepRecord, (x, y): (usize, usize)) {
    let wide = WIDTH.saturating_sub(x).saturating_sub(1);
    let is_missing = step.rule.is_none() || step.read != "found" && step.role != "assumed";
    let class = match &step.state {
        _ if is_missing => " class=\"missing\"",
        Some(state) => match &**state {
            "added" => " class=\"added\"",
            "changed" => " class=\"changed\"",
            "resealed" => " class=\"resealed\"",
            "withdrawn" => " class=\"withdrawn\"",
            "carried" => " class=\"carried\"",
            "unseen" => " class=\"unseen\"",
            _ => "",
        },
        None => "",
    };
    html.raw(&format!("<rect{class} x=\"{x}\" y=\"{y}\" width=\"{wide}\" height=\"{BOX}\" rx=\"4\"/>"));
    let chars = wide.saturating_sub(12).saturating_mul(10) / CHAR;
    let name = named(&step.object);
    let shown = short(&name, chars);
    let (text, first, second) = (x.saturating_add(6), y.saturating_add(15), y.saturating_add(29));
    html.raw(&format!("<text x=\"{text}\" y=\"{first}\">"));
    html.text(&shown);
    if shown != escape(&name) {
        html.element("title", &name);
    }
    html.raw(&format!("</text><text class=\"d\" x=\"{text}\" y=\"{second}\">"));
    html.text(&short(&below(step, is_missing), chars));
    html.raw("</text>");
}

/// The second line of a box: how the step comes about, and what becomes of it.
fn below(step: &StepRecord, is_missing: bool) -> String {
    let state = match (&step.rule, &step.state) {
        (None, _) => "not admitted",
        (Some(_), _) if is_missing => &*step.read,
        (Some(_), Some(state)) => &**state,
        (Some(_), None) => "not published",
    };
    let field = step.field.clone().unwrap_or_else(|| String::from("identityRef"));
    let rule = step.rule.as_ref().map(ToString::to_string).unwrap_or_default();
    let parts: Vec<&str> = [state, &*rule, &*field].into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(" · ")
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
}
