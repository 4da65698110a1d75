//! Fenced blocks of a Markdown document.

/// One fenced block.
pub struct Block<'a> {
    /// The language: the first word after the fence.
    pub language: &'a str,
    /// What stands after it: how a test is to use the block.
    pub rest: &'a str,
    /// The content, each line with its line feed.
    pub text: &'a str,
    /// The line of the opening fence, from one.
    pub line: usize,
}

/// The blocks of a document, in order.
pub fn blocks(document: &str) -> Vec<Block<'_>> {
    let mut found = Vec::new();
    let mut open: Option<(&str, usize, usize)> = None;
    let mut at = 0;
    for (index, line) in document.split_inclusive('\n').enumerate() {
        if let Some(info) = line.trim_end().strip_prefix("```") {
            match open.take() {
                None => open = Some((info, at + line.len(), index + 1)),
                Some((info, start, line)) => {
                    let (language, rest) = info.split_once(' ').unwrap_or((info, ""));
                    found.push(Block { language, rest, text: &document[start..at], line });
                }
            }
        }
        at += line.len();
    }
    assert!(open.is_none(), "a block is not closed");
    found
}

/// Whether `got` is what `shown` says. A line `…` stands for any lines, `…` in a line for any text.
pub fn fits(shown: &str, got: &str) -> bool {
    let (shown, got): (Vec<&str>, Vec<&str>) = (shown.lines().collect(), got.lines().collect());
    fit_lines(&shown, &got)
}

fn fit_lines(shown: &[&str], got: &[&str]) -> bool {
    match (shown.split_first(), got.split_first()) {
        (None, None) => true,
        (Some((&"…", rest)), _) => (0..=got.len()).any(|skip| fit_lines(rest, &got[skip..])),
        (Some((first, shown)), Some((line, got))) => fits_line(first, line) && fit_lines(shown, got),
        _ => false,
    }
}

/// Whether a line is the one shown.
pub fn fits_line(shown: &str, line: &str) -> bool {
    let mut parts = shown.split('…');
    let Some(mut rest) = line.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}
