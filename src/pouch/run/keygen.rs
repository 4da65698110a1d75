//! Keys to start with: an age key pair, and the Secret that a region's Flux or Argo CD wants; or a reuse key.
//!
//! Everything that can go wrong without a key is looked at before there is one.

mod place;
mod region;
mod subject;

use std::path::Path;

use self::place::{check, refuse_tracked};
use self::region::{Region, Wanted};
pub use self::subject::Consumer;
use self::subject::Subject;
use crate::error::{Ended, Failure};
use crate::run::keyfiles::{
    IGNORE_IS_FOR, KeyFolder, KeyPair, MakeError, REUSE_KEY, REUSE_KEY_IS_FOR, entry, key_file, write_new,
    write_reuse_key,
};
use crate::session::Session;
use crate::settings::Opened;
use crate::survey::Reach;
use crate::ui::Ui;

/// The key pair that is wanted.
pub struct Order<'a> {
    /// The region; it may be one that the configuration does not have yet.
    pub region: Option<&'a str>,
    /// Whether the pair is to open every region's bundle.
    pub is_escrow: bool,
    /// Where the identity goes, if not beside the configuration.
    pub identity: Option<&'a Path>,
    /// Where the Secret's manifest goes; `-` is standard output.
    pub manifest: Option<&'a Path>,
    /// What reads the Secret.
    pub consumer: Option<Consumer>,
    /// The region's cluster, where a context or a kubeconfig is named.
    pub reach: Reach,
}

/// Makes a key pair, and its Secret as far as that is wanted.
///
/// # Errors
/// Where something is there already or git would take it (then at most `keys/.gitignore` is written), or a
/// file or the Secret cannot be made.
pub fn pair(session: &Session, order: &Order<'_>) -> Result<Ended, Failure> {
    let Session { global, ambient, ui, .. } = session;
    // The first key may come before the configuration.
    let opened = Opened::open_for_keys(session)?;
    let fleet = opened.as_ref().map(|opened| &opened.settings.fleet);
    let place = KeyFolder::new(&global.file, ambient);
    let subject = match order.region {
        _ if order.is_escrow => Subject::escrow(),
        Some(name) => Subject::region(name, fleet)?,
        None => {
            return Err(Failure::usage(
                "no region is named for this key",
                "Name a region: `pouch keygen REGION`; or pass --escrow for a pair that opens every region's bundle, \
                 or --reuse-key for a reuse key.",
            ));
        }
    };
    let file = match order.identity {
        Some(path) => ambient.cwd().join(path),
        None => place.base.join(key_file(&subject.file)),
    };
    let manifest = order.manifest.filter(|path| path.as_os_str() != "-").map(|path| ambient.cwd().join(path));
    let to_stdout = order.manifest.is_some() && manifest.is_none();
    if to_stdout && ambient.stdout_is_terminal() {
        return Err(Failure::usage(
            "--manifest - would show the identity on the terminal",
            "Pipe it to where it belongs, such as `kubectl apply --server-side -f -`, or name a file.",
        ));
    }
    if manifest.as_ref() == Some(&file) {
        return Err(Failure::usage("the identity and the manifest would be one file", "Name two."));
    }
    check(&file, ("--write-identity", order.identity.is_some()), &place, fleet, ambient)?;
    if let Some(path) = &manifest {
        check(path, ("--manifest", true), &place, fleet, ambient)?;
    }
    let secret = Wanted { entry: entry(&file, &subject.file), key: subject.secret(order.consumer, fleet) };
    let region = match order.reach.wanted.context.is_some() || order.reach.wanted.kubeconfig.is_some() {
        true => Some(Region::connect(session, &order.reach, &secret)?),
        false => None,
    };
    if order.identity.is_none() {
        guard(&place, ui)?;
    }
    refuse_tracked(&file)?;
    manifest.as_deref().map_or(Ok(()), refuse_tracked)?;

    let key = KeyPair::generate(subject.file.clone()).map_err(MakeError::from)?;
    write_new(&file, &file.display().to_string(), key.text.as_bytes(), 0o600)?;
    ui.note(&format!("wrote {}: {}", file.display(), subject.what()));
    let text = secret.manifest(&key);
    if let Some(path) = &manifest {
        let shown = path.display().to_string();
        write_new(path, &shown, text.as_bytes(), 0o600)?;
        ui.note(&format!("wrote {shown}: {} with the identity in it; remove it once it is applied", secret.key));
    }
    if let Some(region) = region {
        region.make(&secret, &text, &file, ui)?;
    }
    ui.note(&subject.next(&key, fleet));
    if to_stdout {
        ui.note(&format!("the recipient is {}", key.recipient));
        ui.result(&text);
    } else {
        ui.result(&format!("{}\n", key.recipient));
    }
    Ok(Ended::Done)
}

/// Makes a reuse key, in the file that is named or beside the configuration, and says what to do with it.
///
/// # Errors
/// As [`pair`].
pub fn reuse_key(session: &Session, file: Option<&Path>) -> Result<Ended, Failure> {
    let Session { global, ambient, ui, .. } = session;
    let opened = Opened::open_for_keys(session)?;
    let fleet = opened.as_ref().map(|opened| &opened.settings.fleet);
    let place = KeyFolder::new(&global.file, ambient);
    let path = file.map_or_else(|| place.base.join(REUSE_KEY), |file| ambient.cwd().join(file));
    check(&path, ("--reuse-key", file.is_some()), &place, fleet, ambient)?;
    if file.is_none() {
        guard(&place, ui)?;
    }
    refuse_tracked(&path)?;
    let shown = path.display().to_string();
    write_reuse_key(&path, &shown, ambient)?;
    ui.note(&format!("wrote {shown}: {REUSE_KEY_IS_FOR}"));
    // As the configuration would name it.
    let named = path.strip_prefix(&place.base).unwrap_or(&path).display();
    ui.note(&match fleet {
        None => format!("when pouch.yaml is there, add:\n  reuseKey: {{file: {named}}}"),
        Some(_) => format!(
            "name it in pouch.yaml, and the key of what is published as `previous` for one run:\n  reuseKey: {{file: \
             {named}, previous: [{{file: OLD}}]}}\nif that is lost, leave `previous` out and run `pouch rekey \
             --new-reuse-key` once"
        ),
    });
    Ok(Ended::Done)
}

/// Keeps the folder of the keys out of git.
fn guard(place: &KeyFolder, ui: &Ui) -> Result<(), Failure> {
    if let Some(ignore) = place.guard_keys()? {
        ui.note(&format!("wrote {ignore}: {IGNORE_IS_FOR}"));
    }
    Ok(())
}
