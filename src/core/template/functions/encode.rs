//! Functions that encode, decode and hash: sprout's `encoding` and `checksum`.

use alloc::string::String;
use alloc::vec::Vec;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use sha2::{Digest as _, Sha512};

use super::super::budget::{Budget, Growing, OUTPUT, TOO_LONG};
use super::super::call::{Args, Row, made};
use super::super::json;
use super::super::value::{Answer, Fault, Value};
use crate::hash::{digits, sha256_hex};

pub(in super::super) const ROWS: &[Row] = &[
    ("base64Encode", "S", |args, _| match args.any(0)? {
        Value::Bytes(bytes) => encode(bytes),
        _ => encode(args.text(0)?.as_bytes()),
    }),
    ("base64Decode", "T", base64_decode),
    ("base32Encode", "T", base32_encode),
    ("base32Decode", "T", base32_decode),
    ("toJSON", "A", |args, budget| json::write(args.any(0)?, json::Style::Safe, budget).map(Value::from_string)),
    ("toPrettyJSON", "A", |args, budget| {
        json::write(args.any(0)?, json::Style::Pretty, budget).map(Value::from_string)
    }),
    ("toRawJSON", "A", |args, budget| json::write(args.any(0)?, json::Style::Raw, budget).map(Value::from_string)),
    ("fromJSON", "T", |args, budget| json::read(args.text(0)?, budget)),
    ("sha256Sum", "T", |args, _| made(&sha256_hex(args.text(0)?.as_bytes()))),
    ("sha512Sum", "T", |args, _| made(&digits(&Sha512::digest(args.text(0)?.as_bytes())).collect::<String>())),
    ("adler32Sum", "T", adler32),
];

/// As Go's `StdEncoding`: padded, and bits behind the end do not matter.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
);

fn encode(bytes: &[u8]) -> Answer {
    if bytes.len() > OUTPUT / 4 * 3 {
        return Err(TOO_LONG);
    }
    made(&BASE64.encode(bytes))
}

/// Line breaks are skipped, as Go does.
fn without_breaks(text: &str) -> Vec<u8> {
    text.bytes().filter(|byte| !matches!(byte, b'\r' | b'\n')).collect()
}

fn base64_decode(args: &Args<'_>, _: &mut Budget) -> Answer {
    let bytes = BASE64.decode(without_breaks(args.text(0)?)).map_err(|_| "was given what is no base64")?;
    Ok(Value::bytes(&bytes))
}

const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

fn base32_encode(args: &Args<'_>, _: &mut Budget) -> Answer {
    let mut out = Growing::default();
    for chunk in args.text(0)?.as_bytes().chunks(5) {
        let bits = chunk.iter().chain(&[0; 5]).take(5).fold(0u64, |bits, byte| bits << 8 | u64::from(*byte));
        let letters = (chunk.len() * 8).div_ceil(5);
        for (at, shift) in (0..=35).rev().step_by(5).enumerate() {
            let value = usize::try_from(bits >> shift & 31).unwrap_or_default();
            let letter = BASE32.get(value).copied().unwrap_or_default();
            out.letter(if at < letters { char::from(letter) } else { '=' })?;
        }
    }
    made(out.as_str())
}

fn base32_decode(args: &Args<'_>, _: &mut Budget) -> Answer {
    const NONE: Fault = "was given what is no base32";
    let letters = without_breaks(args.text(0)?);
    if !letters.len().is_multiple_of(8) {
        return Err(NONE);
    }
    let mut bytes = Vec::new();
    let mut ended = false;
    for chunk in letters.chunks(8) {
        let data = chunk.iter().take_while(|letter| **letter != b'=').count();
        if ended || chunk.iter().skip(data).any(|letter| *letter != b'=') || !matches!(data, 2 | 4 | 5 | 7 | 8) {
            return Err(NONE);
        }
        ended = data < 8;
        let mut bits = 0u64;
        for letter in chunk {
            let value = BASE32.iter().position(|other| other == letter || *letter == b'=').ok_or(NONE)?;
            bits = bits << 5 | u64::try_from(value).unwrap_or_default();
        }
        bytes.extend(bits.to_be_bytes().iter().skip(3).take(data * 5 / 8));
    }
    Ok(Value::bytes(&bytes))
}

#[expect(clippy::arithmetic_side_effects, reason = "both sums are below 65521")]
fn adler32(args: &Args<'_>, _: &mut Budget) -> Answer {
    let add = |(a, b): (u32, u32), byte: u8| {
        let a = (a + u32::from(byte)) % 65521;
        (a, (a + b) % 65521)
    };
    let (a, b) = args.text(0)?.bytes().fold((1, 0), add);
    made(&format!("{}", b << 16 | a))
}
