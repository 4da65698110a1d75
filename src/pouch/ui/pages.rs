//! The pages that codes of findings are linked to, where a terminal can show a link.
//!
//! A page is what `pouch help CODE` prints, kept as a file in the cache: it is of the version that runs, and needs no
//! network. Where there is no cache, or a page cannot be written, there is no link.
//!
//! <https://gist.github.com/egmontkob/eb114294efbcd5adb1944c9f3cb5feda>

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use pouch_core::finding::Code;
use pouch_core::report::pages::Page;
use pouch_core::report::text::Links;

use crate::ambient::Ambient;
use crate::cache::{Cache, cache};

/// What stands for itself in the path of a URL: its unreserved characters and the slash (RFC 3986, section 2.3).
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// Where the pages are kept.
pub struct Pages {
    folder: Cache,
    host: String,
}

impl Pages {
    /// The pages, if there is a cache to keep them in.
    pub fn of(ambient: &Ambient) -> Option<Self> {
        let folder = cache(ambient).and_then(|cache| cache.folder("pages")).ok()?;
        // A terminal on another machine sees that the file is not on its own.
        Some(Self { folder, host: ambient.host() })
    }

    /// Where the pages of codes stand, written where they do not stand yet.
    pub fn links(&self, codes: &BTreeSet<Code>) -> Links {
        codes.iter().filter_map(|code| Some((*code, self.link(*code)?))).collect()
    }

    fn link(&self, code: Code) -> Option<String> {
        let path = self.folder.path().join(format!("{}.txt", code.text()));
        let page = Page::of(code).text();
        if fs::read(&path).ok().as_deref() != Some(page.as_bytes()) {
            written(&path, &page)?;
        }
        Some(format!("file://{}{}", self.host, utf8_percent_encode(path.to_str()?, PATH)))
    }
}

/// Writes a page whole: other runs may read or write it meanwhile.
fn written(path: &Path, page: &str) -> Option<()> {
    let mut file = tempfile::NamedTempFile::new_in(path.parent()?).ok()?;
    file.write_all(page.as_bytes()).ok()?;
    file.persist(path).ok().map(drop)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn a_page_is_what_help_prints_and_is_put_right() {
        let tree = tempfile::tempdir().unwrap();
        let above = tree.path().join("a b`");
        let ambient =
            Ambient::fixed(tree.path(), Timestamp::UNIX_EPOCH, &[("XDG_CACHE_HOME", above.to_str().unwrap())]);
        let pages = Pages::of(&ambient).unwrap();
        let path = above.join("pouch/pages/missing-reference.txt");
        for before in [None, Some("an older page")] {
            if let Some(before) = before {
                fs::write(&path, before).unwrap();
            }
            let links = pages.links(&[Code::MissingReference].into());
            let shown = links.page(Code::MissingReference).unwrap();
            assert!(shown.ends_with("/a%20b%60/pouch/pages/missing-reference.txt"), "{shown:?}");
            assert_eq!(fs::read_to_string(&path).unwrap(), Page::of(Code::MissingReference).text());
        }
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        assert!(Pages::of(&Ambient::fixed(tree.path(), Timestamp::UNIX_EPOCH, &[])).is_none());
    }
}
