//! What stands in a region's folders when it is written must be what stood there when it was compared.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use pouch::ambient::Ambient;
use pouch::error::Failure;
use pouch::run::Run;
use pouch::run::render::render;
use pouch::session::{Global, Session};
use pouch::shelf::directory::DirectoryShelf;
use pouch::shelf::{Beside, Look, NewFile, NewFiles, Shelf, ShelfError};
use pouch::stop::Stop;
use pouch::survey::source::live::Values;
use pouch::survey::{Contents, Reach, Surveyor, survey};
use pouch::ui::Colour;
use pouch_core::finding::{Code, Finding};
use pouch_core::name::Directory;
use pouch_core::region::allowances::{Allowances, Selection};
use pouch_core::region::odd::Odd;
use pouch_core::region::published::{Files, Published};

use crate::support::fleet::Fleet;
use crate::support::pouch as program;

/// A shelf whose folders somebody changes after they were read for the first time; it takes note of what is
/// staged and stages nothing.
struct Meddled {
    inner: DirectoryShelf,
    change: fn(&mut Files),
    read: Mutex<BTreeMap<String, usize>>,
    staged: Mutex<BTreeMap<String, bool>>,
}

impl Look for Meddled {
    fn regions(&self) -> Result<BTreeSet<String>, ShelfError> {
        self.inner.regions()
    }

    fn manifest(&self, folder: &str) -> Result<Option<Vec<u8>>, ShelfError> {
        self.inner.manifest(folder)
    }

    fn beside(&self, known: &BTreeSet<&Directory>) -> Result<Beside, ShelfError> {
        self.inner.beside(known)
    }

    fn shared(&self, path: &str) -> Result<Option<Vec<u8>>, ShelfError> {
        self.inner.shared(path)
    }

    fn shared_differs(&self, path: &str, bytes: &[u8]) -> Result<bool, ShelfError> {
        self.inner.shared_differs(path, bytes)
    }

    fn read(&self, directory: &Directory) -> Result<(Files, Odd), ShelfError> {
        let (mut files, odd) = self.inner.read(directory)?;
        let mut read = self.read.lock().unwrap();
        let count = read.entry(directory.to_string()).or_default();
        if *count > 0 {
            (self.change)(&mut files);
        }
        *count += 1;
        Ok((files, odd))
    }
}

impl Shelf for Meddled {
    fn stage(&self, _: &Directory, files: NewFiles, _: &Published) -> Result<(), ShelfError> {
        let fresh = files.iter().map(|(path, file)| (path.to_string(), matches!(file, NewFile::Bytes(_))));
        self.staged.lock().unwrap().extend(fresh);
        Ok(())
    }

    fn stage_shared(&self, _: &str, _: &[u8]) -> Result<(), ShelfError> {
        Ok(())
    }

    fn stage_removal(&self, _: &str) -> Result<(), ShelfError> {
        Ok(())
    }
}

/// Staged Secrets; true for those that were sealed again.
type Staged = Vec<(String, bool)>;

/// Publishes the quickstart, takes an entry from one of its Secrets, and renders again onto a shelf that `change`
/// meddles with: the staged Secrets of the region, and whether each was sealed anew.
fn again(change: fn(&mut Files)) -> Result<Staged, Failure> {
    Ok(again_after(|_| {}, change)?.0)
}

/// The same, where `meanwhile` changes the folder of manifests after the sources were indexed; gives the findings too.
fn again_after(meanwhile: impl Fn(&Path), change: fn(&mut Files)) -> Result<(Staged, Vec<Finding>), Failure> {
    let fleet = Fleet::quickstart();
    let (source, bundles) = (fleet.path("quickstart"), fleet.path("bundles"));
    fs::remove_dir_all(&bundles).unwrap();
    let config = source.join("pouch.yaml");
    program::render(&config, &bundles, &[]).exits(0);
    let manifest = source.join("manifests/openstack.yaml");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("stringData:\n", "stringData:\n  cacert: not a certificate\n")).unwrap();

    let ambient = Ambient::of_process().unwrap();
    let global = Global { quiet: true, color: Colour::Never, ..Global::default() };
    let (session, reach) = (Session::new(global, ambient, Stop::never()), Reach::default());
    let (allowances, selection) = (Allowances::default(), Selection::default());
    let settings = pouch::settings::load(&config, &session.ambient).unwrap();
    let (keys, _) = pouch::settings::reuse_keys(&settings, &session.ambient).unwrap();
    let fleet = &settings.fleet;
    let outputs: [PathBuf; 1] = [bundles.clone()];
    let usual = Surveyor::new(&session, fleet, &source, (&outputs, &reach));
    let surveyor = Surveyor { contents: Contents::ByRegion, ..usual };
    let survey = survey(&surveyor, Values::Read)?;
    meanwhile(&source.join("manifests"));
    let run = Run::new(&session, fleet, &keys, (&allowances, &selection));
    let shelf = Meddled {
        inner: DirectoryShelf::open(&bundles).unwrap(),
        change,
        read: Mutex::default(),
        staged: Mutex::default(),
    };
    let report = render(&run, &survey, &shelf)?;
    let staged = shelf.staged.into_inner().unwrap();
    let staged = staged.into_iter().filter(|(path, _)| path.ends_with(".sops.yaml")).collect();
    Ok((staged, report.findings))
}

/// A file that changes after it was indexed lets those wait that need it; nothing of it is published, and nothing withdrawn.
#[test]
fn what_changes_after_it_was_indexed_is_not_published() {
    type Change = fn(&Path);
    let changes: [(&str, Change); 4] = [
        ("changed after it was read", |file| {
            let text = fs::read_to_string(file).unwrap();
            fs::write(file, text.replace("cacert: not a certificate", "cacert: CANARY of another")).unwrap();
        }),
        ("cannot be read again: unexpected end of file", |file| {
            let text = fs::read_to_string(file).unwrap();
            fs::write(file, &text[..20]).unwrap();
        }),
        ("cannot be read again: entity not found", |file| fs::remove_file(file).unwrap()),
        ("swapped for something else", |file| {
            fs::remove_file(file).unwrap();
            fs::create_dir(file).unwrap();
        }),
    ];
    for (why, change) in changes {
        let (staged, findings) = again_after(|manifests| change(&manifests.join("openstack.yaml")), |_| {}).unwrap();
        let unread: Vec<&Finding> = findings.iter().filter(|finding| finding.code == Code::Unread).collect();
        let is_told = |finding: &&Finding| {
            finding.message.to_lowercase().contains(why) && finding.message.contains("openstack.yaml")
        };
        assert!(!unread.is_empty() && unread.iter().all(is_told), "{why}: {unread:#?}");
        assert!(
            !format!("{findings:?}").contains("CANARY") && staged.iter().all(|(_, fresh)| !fresh),
            "{why}: {staged:?}"
        );
    }
}

#[test]
fn a_region_that_nobody_touches_keeps_what_did_not_change() {
    let staged = again(|_| {}).unwrap();
    let sealed: Vec<&String> = staged.iter().filter(|(_, fresh)| *fresh).map(|(path, _)| path).collect();
    assert!(matches!(&*sealed, [path] if path.contains("openstack")), "{staged:#?}");
    assert!(staged.len() > 1, "{staged:#?}");
}

#[test]
fn what_changes_meanwhile_stops_the_run() {
    #[track_caller]
    fn check(change: fn(&mut Files)) {
        let failure = again(change).unwrap_err();
        assert!(failure.to_string().contains("changed while pouch was reading them"), "{failure}");
    }
    check(|files| {
        let beside = files.keys().next().unwrap().rsplit_once('/').unwrap().0.to_owned();
        files.insert(format!("{beside}/theirs.yaml"), b"kind: ConfigMap\n".to_vec());
    });
    // One that would have been kept.
    check(|files| {
        let mut sealed = files.iter_mut().filter(|(path, _)| path.ends_with(".sops.yaml"));
        let (_, bytes) = sealed.find(|(path, _)| !path.contains("openstack")).unwrap();
        bytes.push(b'\n');
    });
}
