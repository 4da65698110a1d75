//! What stands in a region's folders when it is written must be what stood there when it was compared.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
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
use pouch::survey::{Reach, Surveyor, survey};
use pouch::ui::Colour;
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

/// Publishes the quickstart, takes an entry from one of its Secrets, and renders again onto a shelf that `change`
/// meddles with: the staged Secrets of the region, and whether each was sealed anew.
fn again(change: fn(&mut Files)) -> Result<Vec<(String, bool)>, Failure> {
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
    let surveyor = Surveyor::new(&session, fleet, &source, (&outputs, &reach));
    let survey = survey(&surveyor, Values::Read)?;
    let run = Run::new(&session, fleet, &keys, (&allowances, &selection));
    let shelf = Meddled {
        inner: DirectoryShelf::open(&bundles).unwrap(),
        change,
        read: Mutex::default(),
        staged: Mutex::default(),
    };
    render(&run, &survey, &shelf)?;
    let staged = shelf.staged.into_inner().unwrap();
    Ok(staged.into_iter().filter(|(path, _)| path.ends_with(".sops.yaml")).collect())
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
