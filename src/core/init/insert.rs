//! Insertion of a region into a configuration that is there: as a text, so that comments and order stay.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Inserts an entry below `regions:`, after the last one. Its first line is indented by two, as the drafts of this module are.
///
/// None where no line says `regions:` with the entries below it, each on lines of its own.
pub fn with_region(text: &str, entry: &str) -> Option<String> {
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let lines: Vec<&str> = text.lines().collect();
    let is_key = |line: &&str| {
        let rest = line.strip_prefix("regions:").map(str::trim);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('#'))
    };
    let key = lines.iter().position(is_key)?;
    let is_content = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let (mut last, mut indent) = (None, None);
    for (at, line) in lines.iter().enumerate().skip(key.checked_add(1)?).filter(|(_, line)| is_content(line)) {
        let own = line.len().checked_sub(line.trim_start_matches(' ').len())?;
        if own == 0 {
            break;
        }
        indent = indent.or(Some(own));
        last = Some(at);
    }
    let (last, indent) = (last?, indent?);
    let mut out = String::new();
    for (at, line) in lines.iter().enumerate() {
        out.push_str(line);
        out.push_str(end);
        if at == last {
            for line in entry.lines() {
                let line = line.strip_prefix("  ").unwrap_or(line);
                out.push_str(&format!("{:indent$}{line}{end}", ""));
            }
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: &str = "  \"us\":\n    recipients:\n      - age1\n";

    #[test]
    fn a_region_comes_after_the_last_one_and_all_else_stays() {
        let text = "# head\nregions: # of ours\n    # the first\n    eu:\n        recipients: [a] # hers\n        # of eu\n\n# of output\noutput: {path: b}\n";
        let expect = "# head\nregions: # of ours\n    # the first\n    eu:\n        recipients: [a] # hers\n    \"us\":\n      recipients:\n        - age1\n        # of eu\n\n# of output\noutput: {path: b}\n";
        assert_eq!(with_region(text, ENTRY).as_deref(), Some(expect));
        // At the end of a file that has no last line feed, and with the line ends of Windows.
        let end = with_region("regions:\r\n  eu: {}", ENTRY).unwrap();
        assert_eq!(end, "regions:\r\n  eu: {}\r\n  \"us\":\r\n    recipients:\r\n      - age1\r\n");
    }

    #[test]
    fn where_entries_have_no_lines_of_their_own_there_is_no_place() {
        for text in
            ["regions: {eu: {}}\n", "sources: []\n", "regions:\noutput: {}\n", "regions:\n", "  regions:\n    eu: {}\n"]
        {
            assert_eq!(with_region(text, ENTRY), None, "{text}");
        }
    }
}
