//! `pouch config`: the configuration as pouch understands it.

use clap::ValueEnum;
use pouch_core::config::{Fleet, show};
use pouch_core::json;
use pouch_core::yaml::emit::emit;

use crate::error::{Ended, Failure};
use crate::session::Session;
use crate::settings;

/// What is said below the flags.
const EXAMPLES: &str = "\
Examples:
  pouch config
  pouch config -o json | jq .regions

Exit codes: 0 printed; 64 usage or configuration.";

/// Print the resolved configuration: defaults filled in, recipients read from their files, paths tidied.
///
/// What is printed is a configuration again and means the same. Keys are never printed, only where they
/// are found.
#[derive(clap::Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// The format.
    #[arg(short, long, value_enum, default_value_t = Format::Yaml)]
    pub output: Format,
}

/// A format of `pouch config`.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// YAML.
    Yaml,
    /// JSON.
    Json,
}

/// Runs the command.
pub fn run(session: &Session, args: &Args) -> Result<Ended, Failure> {
    let settings = settings::load(&session.global.file, &session.ambient)?;
    session.ui.result(&text(args.output, &settings.fleet));
    Ok(Ended::Done)
}

/// What goes to standard output.
fn text(format: Format, fleet: &Fleet) -> String {
    let tree = show::tree(fleet);
    match format {
        Format::Yaml => emit(&tree).to_string(),
        Format::Json => format!("{:#}\n", json::value(&tree)),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::ambient::Ambient;
    use crate::run::init::names::{self, Names};

    #[test]
    fn both_formats_are_configurations_that_mean_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let ambient = Ambient::fixed(folder.path(), jiff::Timestamp::UNIX_EPOCH, &[]);
        let path = Path::new("pouch.yaml");
        names::draft(&Names::regions(&["eu-west", "us-east"]), path, &ambient).unwrap();
        let shown = |format, path: &Path| text(format, &settings::load(path, &ambient).unwrap().fleet);
        let (yaml, json) = (shown(Format::Yaml, path), shown(Format::Json, path));
        for text in [&yaml, &json] {
            assert!(!text.contains("SECRET-KEY") && !text.contains("REUSE-KEY-1"), "{text}");
            std::fs::write(folder.path().join("again.yaml"), text).unwrap();
            assert_eq!(shown(Format::Yaml, Path::new("again.yaml")), yaml);
        }
    }
}
