//! HTML: tags that are ours, and text that is anybody's.
//!
//! Names and messages come from manifests that anybody may write. They get into a page by [`Html::text`] and as the
//! quoted value of an attribute, and nowhere else: not into a tag, an address, a style or a comment.
//! <https://html.spec.whatwg.org/multipage/parsing.html#data-state>

use alloc::string::String;
use alloc::vec::Vec;

use crate::report::document::{Text, Tone};
use crate::report::markup;

/// A page in the making.
#[derive(Default)]
pub(super) struct Html(String);

impl Html {
    /// Adds markup of our own.
    pub(super) fn raw(&mut self, markup: &str) {
        self.0.push_str(markup);
    }

    /// Adds text of anybody's.
    pub(super) fn text(&mut self, text: &str) {
        self.0.push_str(&markup(text));
    }

    /// Adds words in their tones.
    pub(super) fn spans(&mut self, text: &Text) {
        for span in text.spans() {
            match (span.tone, class(span.tone)) {
                (Tone::Code, _) => self.element("code", &span.words),
                (_, Some(class)) => self.element(&format!("span class=\"{class}\""), &span.words),
                (_, None) => self.text(&span.words),
            }
        }
    }

    /// Adds an element that holds words. `tag` is ours, attributes included.
    pub(super) fn element(&mut self, tag: &str, text: impl Into<Text>) {
        let name = tag.split(' ').next().unwrap_or_default();
        self.raw(&format!("<{tag}>"));
        self.spans(&text.into());
        self.raw(&format!("</{name}>"));
    }

    /// Adds an element that holds prose, in which words between backticks are code.
    pub(super) fn prose(&mut self, tag: &str, text: &str) {
        self.element(tag, prose(text));
    }

    /// Adds a list.
    pub(super) fn list<T: Into<Text>>(&mut self, texts: impl IntoIterator<Item = T>) {
        self.raw("<ul>");
        texts.into_iter().for_each(|text| self.element("li", text));
        self.raw("</ul>");
    }

    pub(super) fn into_string(self) -> String {
        self.0
    }
}

/// Prose, in which words between backticks are code; where they do not come in pairs, they are letters like others.
pub(super) fn prose(text: &str) -> Text {
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return Text::from(text);
    }
    let mut is_code = false;
    parts.into_iter().fold(Text::default(), |told, part| {
        let told = if is_code { told.code(part) } else { told.then(part) };
        is_code = !is_code;
        told
    })
}

/// The class that the style has for a tone.
fn class(tone: Tone) -> Option<&'static str> {
    Some(match tone {
        Tone::Plain | Tone::Strong | Tone::Code | Tone::Mark | Tone::Commit | Tone::Good => return None,
        Tone::Dim => "dim",
        Tone::Error => "error",
        Tone::Warning => "warning",
        Tone::Info => "info",
        Tone::Added => "added",
        Tone::Joined => "joined",
        Tone::Changed => "changed",
        Tone::Carried => "carried",
        Tone::Resealed => "resealed",
        Tone::Left => "left",
        Tone::Handover => "handover",
        Tone::Withdrawn => "withdrawn",
        Tone::Held => "held",
        Tone::Refused => "refused",
        Tone::Broken => "broken",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_between_backticks_are_code_and_a_single_one_is_a_letter() {
        let shown = |text: &str| {
            let mut html = Html::default();
            html.prose("dd", text);
            html.into_string()
        };
        assert_eq!(shown("add `a: <b>` and `c`."), "<dd>add <code>a: &lt;b&gt;</code> and <code>c</code>.</dd>");
        assert_eq!(shown("team`b and <i>"), "<dd>team`b and &lt;i&gt;</dd>");
        assert_eq!(shown(""), "<dd></dd>");
    }

    #[test]
    fn text_is_text_wherever_it_stands() {
        let hostile = "</style><script>alert(1)</script>\" onload='x' &lt; \u{202e}\n";
        assert_eq!(
            markup(hostile),
            "&lt;/style&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot; onload=&#39;x&#39; &amp;lt; \\u{202e}\\u{a}"
        );
        let mut html = Html::default();
        html.element("b class=\"x\"", hostile);
        assert!(html.into_string().ends_with("</b>"));
    }
}
