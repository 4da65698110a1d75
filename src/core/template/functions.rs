//! Every function that templates may call, and why others are refused.

mod basic;
mod case;
mod encode;
mod list;
mod map;
mod numeric;
mod regexp;
mod text;

use alloc::string::String;

use super::call::{Function, Params, Row};
use super::refused::shown;
use crate::nearest::did_you_mean;

const TABLES: &[&[Row]] =
    &[basic::ROWS, text::ROWS, case::ROWS, list::ROWS, map::ROWS, numeric::ROWS, encode::ROWS, regexp::ROWS];

/// Other names of functions: those that sprout has of old. It gives notice of them, and wraps the function for that.
const ALIASES: &[(&str, &str)] = &[
    ("addf", "add"),
    ("add1f", "add1"),
    ("subf", "sub"),
    ("sha256sum", "sha256Sum"),
    ("adler32sum", "adler32Sum"),
    ("fromJson", "fromJSON"),
    ("mustFromJson", "fromJSON"),
    ("toJson", "toJSON"),
    ("mustToJson", "toJSON"),
    ("toPrettyJson", "toPrettyJSON"),
    ("mustToPrettyJson", "toPrettyJSON"),
    ("toRawJson", "toRawJSON"),
    ("mustToRawJson", "toRawJSON"),
    ("mustDeepCopy", "deepCopy"),
    ("mustRegexFind", "regexFind"),
    ("mustRegexFindAll", "regexFindAll"),
    ("mustRegexMatch", "regexMatch"),
    ("mustRegexSplit", "regexSplit"),
    ("mustRegexReplaceAll", "regexReplaceAll"),
    ("mustRegexReplaceAllLiteral", "regexReplaceAllLiteral"),
    ("mustAppend", "append"),
    ("mustPrepend", "prepend"),
    ("mustChunk", "chunk"),
    ("mustUniq", "uniq"),
    ("mustCompact", "compact"),
    ("mustSlice", "slice"),
    ("mustHas", "has"),
    ("mustWithout", "without"),
    ("mustRest", "rest"),
    ("mustInitial", "initial"),
    ("mustFirst", "first"),
    ("mustLast", "last"),
    ("mustReverse", "reverse"),
];

const RANDOM: &str = "its result differs from run to run, and so would the bundle";
const CLOCK: &str = "it reads the clock or the time zone of this machine, or depends on them";
const AMBIENT: &str = "it reads the environment of this machine";
const IN_PLACE: &str = "it changes a map in place, and values never change here; build the map with `dict`";
const BYTES: &str = "its result cannot be matched byte for byte, so it is not offered";
const LOOKS_INSIDE: &str = "it looks into types and functions of Go, which do not exist here";
const WEAK: &str = "its hash is broken, and it is not offered";
const NOT_WRITTEN: &str = "pouch does not have it";

/// Functions of Go and of sprout that are refused, and why.
const REFUSED: &[(&str, &[&str])] = &[
    (AMBIENT, &["env", "expandEnv", "osBase", "osDir", "osExt", "osClean", "osIsAbs", "getHostByName"]),
    (
        RANDOM,
        &[
            "randAlphaNum",
            "randAlpha",
            "randAscii",
            "randNumeric",
            "randBytes",
            "randInt",
            "shuffle",
            "uuidv4",
            "uuidv7",
        ],
    ),
    (
        CLOCK,
        &[
            "now",
            "date",
            "dateInZone",
            "date_in_zone",
            "duration",
            "dateAgo",
            "ago",
            "unixEpoch",
            "dateModify",
            "date_modify",
            "mustDateModify",
            "durationRound",
            "htmlDate",
            "htmlDateInZone",
            "toDate",
            "mustToDate",
            "toLocalDate",
            "toDuration",
        ],
    ),
    (IN_PLACE, &["set", "unset", "merge", "mustMerge", "mergeOverwrite", "mustMergeOverwrite"]),
    (BYTES, &["toTitleCase", "toYAML", "toYaml", "mustToYaml", "toIndentYAML", "fromYAML", "fromYaml", "mustFromYaml"]),
    (LOOKS_INSIDE, &["call", "hasField"]),
    (WEAK, &["sha1Sum", "sha1sum", "md5Sum", "md5sum"]),
    (
        NOT_WRITTEN,
        &[
            "js",
            "semver",
            "semverCompare",
            "parseIP",
            "parseMAC",
            "parseCIDR",
            "ipVersion",
            "ipIsLoopback",
            "ipIsGlobalUnicast",
            "ipIsMulticast",
            "ipIsPrivate",
            "ipIncrement",
            "ipDecrement",
            "cidrContains",
            "cidrSize",
            "cidrRangeList",
            "cidrFirst",
            "cidrLast",
            "cidrOverlap",
            "urlParse",
            "urlJoin",
        ],
    ),
    (
        "it is one of sprig's and not of sprout's",
        &[
            "b64enc",
            "b64dec",
            "b32enc",
            "b32dec",
            "upper",
            "lower",
            "title",
            "camelcase",
            "snakecase",
            "kebabcase",
            "toStrings",
            "atoi",
            "int",
            "int64",
            "float64",
            "tuple",
            "push",
            "genCA",
            "genPrivateKey",
            "genSelfSignedCert",
            "genSignedCert",
            "derivePassword",
            "bcrypt",
            "htpasswd",
            "encryptAES",
            "decryptAES",
            "fail",
            "lookup",
            "include",
            "tpl",
            "required",
        ],
    ),
];

/// Sprout's names for what sprig calls otherwise.
const SPRIG: &[(&str, &str)] = &[
    ("b64enc", "base64Encode"),
    ("b64dec", "base64Decode"),
    ("b32enc", "base32Encode"),
    ("b32dec", "base32Decode"),
    ("upper", "toUpper"),
    ("lower", "toLower"),
    ("camelcase", "toPascalCase"),
    ("snakecase", "toSnakeCase"),
    ("kebabcase", "toKebabCase"),
    ("toStrings", "strSlice"),
    ("atoi", "toInt"),
    ("int", "toInt"),
    ("int64", "toInt64"),
    ("float64", "toFloat64"),
    ("tuple", "list"),
    ("push", "append"),
];

/// A function by any of its names.
pub(super) fn find(name: &str) -> Option<(Params, Function)> {
    let alias = ALIASES.iter().find(|(alias, _)| *alias == name);
    let name = alias.map_or(name, |(_, name)| name);
    let (_, letters, function) = TABLES.iter().copied().flatten().find(|(other, ..)| *other == name)?;
    let params = Params::new(letters);
    Some((if alias.is_some() { params.wrapped() } else { params }, *function))
}

/// Whether a function's first argument is a regular expression.
pub(super) fn takes_expression(name: &str) -> bool {
    let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name);
    name != "regexQuoteMeta" && regexp::ROWS.iter().any(|(other, ..)| *other == name)
}

/// Why there is no function of this name, and what helps.
pub(super) fn why_not(name: &str) -> (String, String) {
    let name = &*shown(name);
    let reason = REFUSED.iter().find(|(_, names)| names.contains(&name)).map(|(reason, _)| *reason);
    if let Some((_, ours)) = SPRIG.iter().find(|(theirs, _)| *theirs == name) {
        return (format!("there is no function `{name}`: it is sprig's"), format!("Use `{ours}`."));
    }
    match reason {
        Some(reason) => (
            format!("the function `{name}` is refused: {reason}"),
            "Use another function, or write down in the template what it would have given.".into(),
        ),
        None => (
            format!("there is no function `{name}`"),
            format!("{}The functions are those of Go's text/template and of sprout.", did_you_mean(name, names())),
        ),
    }
}

/// All names.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let rows = TABLES.iter().copied().flatten().map(|(name, ..)| *name);
    rows.chain(ALIASES.iter().map(|(alias, _)| *alias))
}
