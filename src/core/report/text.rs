//! Findings as people read them: severity, code, what; where; whose; what to do.

use alloc::format;
use alloc::string::String;

use super::escape;
use crate::finding::{Finding, Severity};

/// Whether text carries ANSI colours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Paint {
    /// It does.
    Colours,
    /// It does not.
    Plain,
}

impl Paint {
    /// Dresses text in an SGR sequence (ECMA-48), if colours are wanted.
    pub fn with(self, code: &str, text: &str) -> String {
        match self {
            Paint::Colours => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            Paint::Plain => String::from(text),
        }
    }

    /// Dresses text as a severity.
    pub fn severity(self, severity: Severity, text: &str) -> String {
        let code = match severity {
            Severity::Error => "1;31",
            Severity::Warning => "1;33",
            Severity::Info => "1;36",
        };
        self.with(code, text)
    }
}

/// One finding, several lines, ending in a line feed.
pub fn finding(finding: &Finding, paint: Paint) -> String {
    let head = format!("{}[{}]", finding.severity.word(), finding.code.text());
    let mut out =
        format!("{}: {}\n", paint.severity(finding.severity, &head), paint.with("1", &escape(&finding.message)));
    let mut line = |mark: &str, text: &str| {
        out.push_str(&format!("  {} {}\n", paint.with("1;34", mark), escape(text)));
    };
    if let Some(origin) = &finding.origin {
        line("-->", &format!("{origin}"));
    }
    if let Some(object) = finding.object.as_ref().map(|object| format!("{object}"))
        && !finding.message.contains(&object)
    {
        line("=", &object);
    }
    match (&finding.claimant, &finding.region) {
        (Some(claimant), Some(region)) => line("=", &format!("{claimant}, region {region}")),
        (Some(claimant), None) => line("=", &format!("{claimant}")),
        (None, Some(region)) => line("=", &format!("region {region}")),
        (None, None) => {}
    }
    if !finding.help.is_empty() {
        line("= help:", &finding.help);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Code, Origin, Place};
    use crate::name::Claimant;

    #[test]
    fn a_finding_reads_from_what_to_what_to_do() {
        let credential = Claimant::credential("team-a".into(), "aws".into());
        let place = Place::File { path: "a\u{1b}.yaml".into(), line: 3, column: 1 };
        let shown = finding(
            &Finding::new(Code::MissingReference, "spec.secretRef names Secret kcm-system/x, which is in no source")
                .at(&Origin { source: "s".into(), place })
                .claimed_by(&credential)
                .in_region(&"eu".into())
                .help("Add it."),
            Paint::Plain,
        );
        let expected = "error[missing-reference]: spec.secretRef names Secret kcm-system/x, which is in no source\n  \
                        --> a\\u{1b}.yaml:3:1\n  = Credential team-a/aws, region eu\n  = help: Add it.\n";
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_place_in_a_commit_names_its_source() {
        let at = |path: &str| {
            let origin =
                Origin { source: "team-a".into(), place: Place::File { path: path.into(), line: 3, column: 1 } };
            finding(&Finding::new(Code::UnparsableDocument, "x").at(&origin), Paint::Plain)
        };
        assert!(at("HEAD:credentials/x.yaml").contains("\n  --> HEAD:credentials/x.yaml:3:1 in team-a\n"));
        assert!(at("credentials/x.yaml").contains("\n  --> credentials/x.yaml:3:1\n"));
    }
}
