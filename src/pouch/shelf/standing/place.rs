//! Where bundles stand: below what the command line names, and where else.
//!
//! Who puts old bundles beside the real ones must not have those proved in their place.

use pouch_core::finding::{Code, Finding, Origin, Place};
use pouch_core::layout::path::TOPS;
use pouch_core::name::SourceName;

use crate::error::Failure;

/// The folder whose bundles are looked at.
pub struct Chosen<'a> {
    /// Its way.
    pub root: &'a str,
    /// The folder that has bundles too, where there is one.
    pub other: Option<&'a str>,
}

/// Chooses between the folder that was named and the output below it, where the one is not the other. `has` says
/// whether a folder has one of these folders.
///
/// A configuration says that the output is the one. Without one nobody knows.
///
/// # Errors
/// Where bundles stand at both and nobody knows, and those of `has`.
pub fn choose<'a>(
    roots: &'a [String],
    is_configured: bool,
    has: impl Fn(&str, &[&str]) -> Result<bool, Failure>,
) -> Result<Option<Chosen<'a>>, Failure> {
    let Some((named, below)) = roots.split_first() else { return Ok(None) };
    let mut output = None;
    for root in below.iter().filter(|root| *root != named) {
        // Without a folder `regions` there may still be what a consumer applies.
        output = if has(root, &TOPS)? { Some(root) } else { output };
    }
    let is_named = has(named, &["regions"])?;
    match (is_named, output) {
        (true, Some(output)) if !is_configured => Err(Failure::usage(
            format!("there are bundles in {} and in {output}, and nothing says which are meant", folder(named)),
            format!("Name one of the two, such as {output}, or the configuration with -f."),
        )),
        (_, Some(root)) => Ok(Some(Chosen { root, other: is_named.then_some(named) })),
        (true, None) => Ok(Some(Chosen { root: named, other: None })),
        (false, None) => Ok(None),
    }
}

/// Where bundles may be in a repository: at the way that was named, or at the output's path below it.
pub fn roots(way: &str, output: &str) -> Vec<String> {
    let plain =
        |path: &str| path.split('/').filter(|part| !part.is_empty() && *part != ".").collect::<Vec<_>>().join("/");
    let mut roots = Vec::from([plain(way), plain(&format!("{way}/{output}"))]);
    roots.dedup();
    roots
}

/// That no bundles stand at a place, nor in the output below it.
pub fn no_bundles(place: &str, output: &str) -> Failure {
    let place = folder(place);
    let message = match output {
        "" => format!("there are no bundles in {place}: it has no folder `regions`"),
        output => format!("there are no bundles in {place}, nor in {output} below it: neither has a folder `regions`"),
    };
    Failure::unavailable(
        message,
        "Name the folder that holds the bundles, or the repository; --rev names a revision of it.",
    )
}

/// A folder's way as it is shown.
pub fn folder(way: &str) -> &str {
    if way.is_empty() { "." } else { way }
}

/// Says that bundles stand in a second folder; `before` and `root` are how the two are shown.
pub fn decoy(before: &str, root: &str) -> Finding {
    let message = format!(
        "there is a folder `regions` in {} too, but only the bundles of the output, {}, were proved",
        shown(before),
        shown(root),
    );
    let place = Place::File { path: format!("{before}regions").into(), line: 1, column: 1 };
    Finding::new(Code::UnlistedFile, message).at(&Origin { source: SourceName::from("bundles"), place }).help(
        "Find out who put it there, and remove it. If it has nothing to do with pouch, name the output itself instead \
         of the folder above.",
    )
}

fn shown(before: &str) -> &str {
    match before.trim_end_matches('/') {
        "" => ".",
        path => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roots(named: &str, below: &str) -> [String; 2] {
        [named.to_owned(), below.to_owned()]
    }

    /// Which is chosen, and what else stands there.
    #[track_caller]
    fn check(
        roots: &[String],
        is_configured: bool,
        folders: &[&str],
        expect: Result<Option<(&str, Option<&str>)>, ()>,
    ) {
        let has = |root: &str, tops: &[&str]| Ok(tops.iter().any(|top| folders.contains(&&*format!("{root}/{top}"))));
        let chosen = choose(roots, is_configured, has).map_err(|_| ());
        assert_eq!(chosen.map(|chosen| chosen.map(|chosen| (chosen.root, chosen.other))), expect, "{folders:?}");
    }

    #[test]
    fn the_output_is_chosen_before_the_folder_above() {
        let both = roots("a", "a/b");
        check(&both, true, &["a/regions", "a/b/regions"], Ok(Some(("a/b", Some("a")))));
        check(&both, true, &["a/regions", "a/b/flux"], Ok(Some(("a/b", Some("a")))));
        check(&both, false, &["a/regions", "a/b/regions"], Err(()));
        for is_configured in [false, true] {
            check(&both, is_configured, &["a/regions"], Ok(Some(("a", None))));
            check(&both, is_configured, &["a/b/regions", "a/flux"], Ok(Some(("a/b", None))));
            check(&both, is_configured, &["a/flux"], Ok(None));
            check(&roots("a", "a"), is_configured, &["a/regions"], Ok(Some(("a", None))));
        }
    }
}
