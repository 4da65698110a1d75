//! Adds regions to a configuration that is there.
//!
//! The text is edited, so that comments and order stay. What is written means what was there before, and the regions:
//! otherwise nothing is written.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;

use pouch_core::config::{ArgoMode, Delivery, Fleet, RegionConfig, show};
use pouch_core::init::insert::with_region;
use pouch_core::init::setup::{Consumer, FOLDER, Setup, SetupFile};
use pouch_core::listing::counted;
use pouch_core::name::{Region, is_directory};
use pouch_core::yaml::emit::emit;
use tempfile::NamedTempFile;

use super::names::{NamedRegion, Names, region_entry};
use crate::error::{Failure, said};
use crate::run::keyfiles::{KeyFolder, KeyPair, MakeError, key_file};
use crate::session::Session;
use crate::settings::{self, MAX_FILE_BYTES, read_text};

/// Adds the regions that are named to the configuration, each with a key pair, and makes what goes to standard output.
///
/// # Errors
/// Where the configuration cannot be read, has such a region or no place for one, or a file is there already: then nothing is
/// written.
pub fn add(session: &Session, names: &Names) -> Result<String, Failure> {
    let (path, ambient) = (&session.global.file, &session.ambient);
    let place = KeyFolder::new(path, ambient);
    let whole = ambient.cwd().join(path);
    let unread = |message: String| Failure::usage(message, "Name the configuration with -f.");
    let mut text = read_text(&whole, MAX_FILE_BYTES).map_err(|fault| unread(fault.message("the configuration")))?;
    let before = settings::load_edited(&text, path, ambient)?.fleet;
    let mut keys = Vec::new();
    for NamedRegion { name, with } in &names.regions {
        if !is_directory(name) {
            return Err(MakeError::Name(name.clone(), "region").into());
        }
        if before.regions.values().any(|region| region.name == **name || region.directory == **name) {
            let message = format!("the configuration has region {name} already");
            return Err(Failure::usage(message, "Nothing is written. Name another one."));
        }
        let key = KeyPair::generate(key_file(name)).map_err(MakeError::from)?;
        let entry = region_entry(name, &key.recipient, with.or(names.with), names.push_disabled);
        text = with_region(&text, &entry).ok_or_else(|| no_place(name))?;
        keys.push(key);
    }
    let after = settings::load_edited(&text, path, ambient)?.fleet;
    if let Some(name) = names.regions.iter().find(|region| !after.regions.contains_key(&Region::from(&*region.name))) {
        return Err(no_place(&name.name));
    }
    if means(&after, |region| !names.regions.iter().any(|new| region.name == *new.name)) != means(&before, |_| true) {
        return Err(no_place(names.regions.first().map_or("", |region| &region.name)));
    }
    let setups: Vec<Added> = names.regions.iter().filter_map(|region| added(names, region, &after, &place)).collect();
    let files: Vec<SetupFile> =
        setups.iter().filter(|added| added.writes).flat_map(|added| added.setup.files()).collect();
    place.check_new(keys.iter().map(|key| &key.file).chain(files.iter().map(|file| &file.path)))?;
    let mut out = place.add_keys(&keys)?;
    out.push_str(&place.write_files(&files)?);
    replace(&whole, &text).map_err(|error| {
        Failure::failed(format!("{} cannot be written: {}", place.shown, said(&error)), "The keys are written.")
    })?;
    let more = counted(setups.len(), "region", "regions");
    let _ = writeln!(out, "edited {}: it has {more} more", place.shown);
    out.push_str("\nNext: say in `namespaces` whose Credentials may go there, and publish. Then, once:\n");
    for Added { setup, writes, on_hub } in &setups {
        let Some(region) = setup.regions.first() else { continue };
        let as_others = |what: &str| format!("  # {what}, as for the other regions: region {}\n", region.context);
        match on_hub {
            true => out.push_str(&as_others("the region's key, its kubeconfig and its Kustomization, on the hub")),
            false => _ = writeln!(out, "  {}", setup.key_command(region, "    ", &|file| place.shown(file))),
        }
        match setup.consumer {
            Consumer::ArgoCd(_) => out.push_str(&as_others("the region's cluster, known to Argo CD")),
            Consumer::Flux | Consumer::None if *writes => {
                let file = place.shown(&format!("{FOLDER}/{}.yaml", region.directory));
                let _ = writeln!(out, "  kubectl --context {} apply --server-side -f {file}", region.context);
            }
            Consumer::Flux if !on_hub => out.push_str(&as_others("what Flux needs there")),
            Consumer::Flux | Consumer::None => {}
        }
    }
    Ok(out)
}

/// An added region, with what it needs.
struct Added {
    setup: Setup,
    /// True if its file is written: the keys that sign commits stand in the others' alone.
    writes: bool,
    /// True if a Flux elsewhere applies its bundle.
    on_hub: bool,
}

fn added(names: &Names, region: &NamedRegion, after: &Fleet, place: &KeyFolder) -> Option<Added> {
    let delivery = &after.regions.get(&Region::from(&*region.name))?.delivery;
    let name = region.name.as_str();
    let mut setup = names.setup(Some(consumer(delivery)), core::iter::once((name, name)), place, None);
    let git = after.output.git.as_ref();
    setup.fleet = after.name.to_string();
    setup.repository = git.map(|git| git.repository.clone());
    let on_hub = matches!(delivery, Delivery::Flux(flux) if flux.kube_config.is_some());
    let is_signed = git.is_some_and(|git| git.allowed_signers.is_some());
    let writes = match setup.consumer {
        Consumer::Flux => !on_hub && !is_signed && git.is_some(),
        Consumer::None => true,
        Consumer::ArgoCd(_) => false,
    };
    Some(Added { setup, writes, on_hub })
}

/// The consumer that applies the bundle of a region.
fn consumer(delivery: &Delivery) -> Consumer {
    match delivery {
        Delivery::None => Consumer::None,
        Delivery::Flux(_) => Consumer::Flux,
        Delivery::ArgoCd(argo) if argo.mode == ArgoMode::Ksops => Consumer::ArgoCd(ArgoMode::Ksops),
        Delivery::ArgoCd(_) => Consumer::ArgoCd(ArgoMode::Plugin),
    }
}

/// The meaning of a configuration for some of its regions.
fn means(fleet: &Fleet, is_told: impl Fn(&RegionConfig) -> bool) -> String {
    let mut fleet = fleet.clone();
    fleet.regions.retain(|_, region| is_told(region));
    emit(&show::tree(&fleet)).to_string()
}

/// The failure where the text of the configuration has no place for a region.
fn no_place(name: &str) -> Failure {
    Failure::usage(
        format!("region {name} cannot be added: the entries of `regions` do not stand on lines of their own"),
        "Nothing is written. Write `regions:` on a line by itself, and each region below it; or add the region by hand, with \
         a recipient that `pouch keygen` makes.",
    )
}

/// Puts a text in the place of a file, all at once, with the same permissions.
fn replace(path: &std::path::Path, text: &str) -> std::io::Result<()> {
    let path = fs::canonicalize(path)?;
    let folder = path.parent().ok_or_else(|| std::io::Error::from(std::io::ErrorKind::NotFound))?;
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().set_permissions(fs::metadata(&path)?.permissions())?;
    file.as_file().sync_all()?;
    file.persist(&path).map_err(|error| error.error)?;
    Ok(())
}
