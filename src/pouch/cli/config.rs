//! `pouch config`: the configuration as pouch understands it.

use std::path::Path;

use clap::{Args, ValueEnum};
use pouch_core::config::show;
use pouch_core::json;
use pouch_core::yaml::emit::emit;

use crate::ambient::Ambient;
use crate::settings::{self, SettingsError};

/// Print the resolved configuration: defaults filled in, recipients read from their files, paths tidied.
///
/// What is printed is a configuration again and means the same. Keys are never printed, only where they
/// are found.
#[derive(Args, Clone, Debug)]
pub struct ConfigArgs {
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

/// Makes what goes to standard output; `path` is the configuration.
///
/// # Errors
/// Where the configuration is wrong; exit code 64.
pub fn run(args: &ConfigArgs, path: &Path, ambient: &Ambient) -> Result<String, SettingsError> {
    let settings = settings::load(path, ambient)?;
    let tree = show::tree(&settings.fleet);
    Ok(match args.output {
        Format::Yaml => emit(&tree).to_string(),
        Format::Json => format!("{:#}\n", json::value(&tree)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::init;

    #[test]
    fn both_formats_are_configurations_that_mean_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let ambient = Ambient::fixed(folder.path(), jiff::Timestamp::UNIX_EPOCH, &[]);
        let path = Path::new("pouch.yaml");
        init::run(&init::InitArgs::regions(&["eu-west", "us-east"]), path, &ambient).unwrap();
        let yaml = run(&ConfigArgs { output: Format::Yaml }, path, &ambient).unwrap();
        let json = run(&ConfigArgs { output: Format::Json }, path, &ambient).unwrap();
        for text in [&yaml, &json] {
            assert!(!text.contains("SECRET-KEY") && !text.contains("REUSE-KEY-1"), "{text}");
            std::fs::write(folder.path().join("again.yaml"), text).unwrap();
            let again = run(&ConfigArgs { output: Format::Yaml }, Path::new("again.yaml"), &ambient).unwrap();
            assert_eq!(again, yaml);
        }
    }
}
