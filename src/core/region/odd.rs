//! Odd: what stands where a region's files belong and is no plain file, and what could not be read.
//!
//! A writer of the branch can put a symlink, a submodule or a file in a folder's place. Nothing is followed, and only
//! the region that it concerns is held.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use crate::finding::{Code, Finding};
use crate::layout::form::Form;
use crate::name::{Directory, Region};

/// What stands where a region's files belong and is no plain file, and what could not be read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Odd {
    /// By path: in the region's folders, or one of these folders itself. The bytes of an executable file are among the
    /// region's files.
    pub forms: BTreeMap<String, Form>,
    /// Folders of all regions, such as `flux`, that are no folders.
    pub tops: BTreeMap<&'static str, Form>,
    /// Why the folders could not be read; then nothing of what was read counts.
    pub unread: Option<String>,
}

impl Odd {
    /// Whether the region's own folders hold plain files only, and all were read.
    pub fn is_nothing(&self) -> bool {
        self.forms.is_empty() && self.unread.is_none()
    }

    /// Whether something other than files stands there, or something was not read.
    pub fn is_more_than_marked(&self) -> bool {
        self.unread.is_some() || !self.tops.is_empty() || self.forms.values().any(|form| *form != Form::Executable)
    }

    /// Findings about all of that: an executable file is healed, the rest holds the region.
    pub(super) fn findings(&self, directory: &Directory) -> Vec<Finding> {
        let about = |(path, form): (&String, &Form)| match form {
            Form::Executable => Finding::new(Code::NotAsPublished, format!("{path} {}", form.words()))
                .help("Find out who marked it; pouch writes it as a plain file again."),
            _ => Finding {
                message: format!("{path} {}, and pouch did not write it", form.words()),
                ..foreign_file(directory, path)
            },
        };
        let mut findings: Vec<Finding> = self.forms.iter().map(about).collect();
        findings.extend(self.unread.as_ref().map(|why| {
            let message = format!("what is published of {directory} cannot be read: {why}");
            Finding::new(Code::UnreadableBundle, message).help(format!(
                "Restore regions/{directory} from an older revision, or correct what the message names. If you remove \
                 the region's folders, pouch publishes the region anew and carries nothing over."
            ))
        }));
        findings
    }

    /// The findings about folders of all regions that are no folders, as far as one of `paths` lies below them.
    pub(super) fn in_the_way<'p>(&self, paths: impl Iterator<Item = &'p str> + Clone) -> Vec<Finding> {
        let is_below = |top: &str, path: &str| path.strip_prefix(top).is_some_and(|rest| rest.starts_with('/'));
        let needed = |(top, _): &(&&str, &Form)| paths.clone().any(|path| is_below(top, path));
        let say = |(top, form): (&&str, &Form)| {
            let message = format!("{top} {}, and the region's files belong into a folder of that name", form.words());
            Finding::new(Code::ForeignFile, message).help("Find out who put it there, and move it away.")
        };
        self.tops.iter().filter(needed).map(say).collect()
    }
}

/// The finding that holds a region whose new bundle could not be read back.
pub fn too_large(region: &Region, why: &str) -> Finding {
    let message = format!("the new bundle of region {region} could not be read back: {why}");
    Finding::new(Code::BundleTooLarge, message).in_region(region).help(
        "Lower limits.objectsPerRegion or limits.sealedBytesPerNamespace, remove Credentials that nobody needs, or spread \
         them over more regions.",
    )
}

/// The finding for a file that pouch did not write in a region's folders.
pub fn foreign_file(directory: &Directory, path: &str) -> Finding {
    Finding::new(Code::ForeignFile, format!("{path} is in the region's folders, but pouch did not write it"))
        .help(format!("Move it away, or pass --remove-foreign {directory} to remove it."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_all_regions_is_missed_by_those_who_use_it() {
        let odd = Odd { tops: BTreeMap::from([("flux", Form::Link)]), ..Odd::default() };
        let found = |paths: &[&str]| odd.in_the_way(paths.iter().copied()).len();
        assert_eq!(found(&["regions/eu/bundle.yaml", "flux/eu/core.yaml"]), 1);
        assert_eq!(found(&["regions/eu/bundle.yaml", "fluxes/eu", "argocd/eu/application.yaml"]), 0);
    }

    #[test]
    fn only_marks_are_healed() {
        let of = |form| Odd { forms: BTreeMap::from([(String::from("regions/eu/x"), form)]), ..Odd::default() };
        let code = |form| of(form).findings(&"eu".into()).first().map(|finding| finding.code);
        assert_eq!(code(Form::Executable), Some(Code::NotAsPublished));
        assert!(!of(Form::Executable).is_more_than_marked() && !of(Form::Executable).is_nothing());
        for form in [Form::Link, Form::Submodule, Form::Special, Form::Large, Form::Repeated] {
            assert_eq!(code(form), Some(Code::ForeignFile));
            assert!(of(form).is_more_than_marked());
        }
        let unread = Odd { unread: Some("x".into()), ..Odd::default() };
        assert_eq!(unread.findings(&"eu".into()).first().map(|finding| finding.code), Some(Code::UnreadableBundle));
    }
}
