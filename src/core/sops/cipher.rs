//! One value of a SOPS file: AES-256-GCM in the text form `ENC[…]`.
//!
//! It knows the text form and the cipher, but no documents. The caller gives the IVs, and must never give one
//! twice under the same data key.

use alloc::string::String;
use alloc::vec::Vec;

use aes_gcm::aead::consts::U32;
use aes_gcm::aead::generic_array::GenericArray;
use aes_gcm::aead::{AeadInPlace as _, KeyInit as _};
use aes_gcm::aes::Aes256;
use aes_gcm::{AesGcm, Tag};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

pub use crate::ciphertext::CIPHERTEXT_MARK as MARK;

/// The length in bytes of what a sealed text hides, which AES-GCM keeps; none if it is not in SOPS' form.
pub fn length(sealed: &str) -> Option<usize> {
    let data = sealed.strip_prefix(MARK)?.strip_prefix("data:")?.split(',').next()?;
    let padding = data.bytes().rev().take_while(|byte| *byte == b'=').count();
    let shaped = data.len() % 4 == 0 && padding <= 2 && !data.is_empty();
    shaped.then(|| (data.len() / 4).saturating_mul(3).saturating_sub(padding))
}

/// The type of a value before it was sealed, as SOPS names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    /// Text.
    Str,
    /// An integer, in decimal.
    Int,
    /// A number, in decimal and never with an exponent.
    Float,
    /// `True` or `False`.
    Bool,
    /// A time, as RFC 3339 text.
    Time,
    /// Bytes, which SOPS opens and no longer writes.
    Bytes,
    /// A comment that stood among the items of a list.
    Comment,
}

impl Type {
    fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "str" => Type::Str,
            "int" => Type::Int,
            "float" => Type::Float,
            "bool" => Type::Bool,
            "time" => Type::Time,
            "bytes" => Type::Bytes,
            "comment" => Type::Comment,
            _ => return None,
        })
    }
}

/// Why a sealed value cannot be opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CipherError {
    /// It is not `ENC[AES256_GCM,data:…,iv:…,tag:…,type:…]`.
    #[error("it is not in the form that SOPS writes")]
    Form,
    /// Its IV does not have 32 bytes.
    #[error("its IV does not have the 32 bytes that SOPS writes")]
    Iv,
    /// Its type is one that SOPS does not have.
    #[error("its type is none that SOPS has")]
    Type,
    /// It was made with another data key, for another place, or changed since.
    #[error("it was sealed with another key or for another place, or changed since")]
    Mismatch,
    /// It is longer than AES-GCM takes, 64 GiB.
    #[error("it is too long for the cipher")]
    TooLong,
}

/// The cipher of one file.
// SOPS's IVs have 32 bytes; GCM hashes such an IV to its first counter block (NIST SP 800-38D §7.1).
pub struct Cipher(AesGcm<Aes256, U32>);

impl Cipher {
    /// Expands a data key.
    pub fn new(data_key: &[u8; 32]) -> Self {
        Self(AesGcm::new(GenericArray::from_slice(data_key)))
    }

    /// Seals text; `place` is the path with a colon after every key, or the time for the MAC.
    ///
    /// # Errors
    /// Where the text is longer than the cipher takes.
    pub fn seal(&self, plain: &[u8], iv: &[u8; 32], place: &str) -> Result<String, CipherError> {
        let mut data = Zeroizing::new(plain.to_vec());
        let tag = self
            .0
            .encrypt_in_place_detached(GenericArray::from_slice(iv), place.as_bytes(), &mut data)
            .map_err(|_| CipherError::TooLong)?;
        let mut text = String::with_capacity(data.len().saturating_mul(4).div_ceil(3).saturating_add(128));
        text.push_str(MARK);
        text.push_str("data:");
        STANDARD.encode_string(&*data, &mut text);
        text.push_str(",iv:");
        STANDARD.encode_string(iv, &mut text);
        text.push_str(",tag:");
        STANDARD.encode_string(tag, &mut text);
        text.push_str(",type:str]");
        Ok(text)
    }

    /// Opens a sealed value.
    ///
    /// # Errors
    /// Where it is malformed, or was not sealed with this data key for this place.
    pub fn open(&self, sealed: &str, place: &str) -> Result<(Zeroizing<Vec<u8>>, Type), CipherError> {
        let Parts { mut data, iv, tag, kind } = Parts::parse(sealed)?;
        self.0
            .decrypt_in_place_detached(GenericArray::from_slice(&iv), place.as_bytes(), &mut data, &tag)
            .map_err(|_| CipherError::Mismatch)?;
        Ok((data, kind))
    }
}

struct Parts {
    data: Zeroizing<Vec<u8>>,
    iv: [u8; 32],
    tag: Tag,
    kind: Type,
}

impl Parts {
    fn parse(sealed: &str) -> Result<Self, CipherError> {
        let inner = sealed.strip_prefix(MARK).and_then(|rest| rest.strip_suffix(']')).ok_or(CipherError::Form)?;
        let mut fields = ["data:", "iv:", "tag:", "type:"].into_iter().zip(inner.split(','));
        let mut next = || fields.next().and_then(|(name, field)| field.strip_prefix(name)).ok_or(CipherError::Form);
        let (data, iv, tag, kind) = (next()?, next()?, next()?, next()?);
        if data.is_empty() || inner.split(',').count() != 4 {
            return Err(CipherError::Form);
        }
        let decode = |text: &str| STANDARD.decode(text).map_err(|_| CipherError::Form);
        let tag: [u8; 16] = decode(tag)?.try_into().map_err(|_| CipherError::Form)?;
        Ok(Self {
            data: Zeroizing::new(decode(data)?),
            iv: decode(iv)?.try_into().map_err(|_| CipherError::Iv)?,
            tag: tag.into(),
            kind: Type::parse(kind).ok_or(CipherError::Type)?,
        })
    }
}

/// Whether the text is a sealed value, in form.
pub fn is_sealed(text: &str) -> bool {
    Parts::parse(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    // getsops/sops, aes/cipher_test.go
    const KEY: [u8; 32] = [b'f'; 32];
    const KNOWN: &str = "ENC[AES256_GCM,data:oYyi,iv:MyIDYbT718JRr11QtBkcj3Dwm4k1aCGZBVeZf0EyV8o=,tag:t5z2Z023Up0kxwCgw1gNxg==,type:str]";

    #[test]
    fn the_known_answer_opens_and_is_made_again() {
        let cipher = Cipher::new(&KEY);
        let (plain, kind) = cipher.open(KNOWN, "bar:").unwrap();
        assert_eq!((plain.as_slice(), kind), (b"foo".as_slice(), Type::Str));
        let iv: [u8; 32] = STANDARD.decode("MyIDYbT718JRr11QtBkcj3Dwm4k1aCGZBVeZf0EyV8o=").unwrap().try_into().unwrap();
        assert_eq!(cipher.seal(b"foo", &iv, "bar:").unwrap(), KNOWN);
    }

    #[test]
    fn a_sealed_value_tells_its_length() {
        assert_eq!(length(KNOWN), Some(3));
        for (data, expect) in [
            ("oYyi", Some(3)),
            ("oYyioYyi", Some(6)),
            ("oYyioYw=", Some(5)),
            ("oYyioQ==", Some(4)),
            ("", None),
            ("oYy", None),
            ("o===", None),
            ("=", None),
        ] {
            assert_eq!(length(&format!("{MARK}data:{data},iv:x,tag:x,type:str]")), expect, "{data}");
        }
        assert_eq!(length("data:oYyi"), None);
    }

    #[test]
    fn another_place_key_or_byte_does_not_open() {
        let cipher = Cipher::new(&KEY);
        for place in ["", "bar", "Bar:", "bar::"] {
            assert_eq!(cipher.open(KNOWN, place).unwrap_err(), CipherError::Mismatch, "{place}");
        }
        assert_eq!(Cipher::new(&[1; 32]).open(KNOWN, "bar:").unwrap_err(), CipherError::Mismatch);
        for (from, to) in [("oYyi", "oYyj"), ("MyID", "MyIE"), ("t5z2", "t5z3")] {
            assert_eq!(cipher.open(&KNOWN.replace(from, to), "bar:").unwrap_err(), CipherError::Mismatch, "{from}");
        }
    }

    #[test]
    fn malformed_values_are_named() {
        #[track_caller]
        fn check(text: &str, expect: CipherError) {
            assert_eq!(Cipher::new(&KEY).open(text, "bar:").unwrap_err(), expect, "{text}");
            assert!(!is_sealed(text));
        }
        for text in ["", "ENC[]", "ENC[AES256_GCM,]", "ENC[AES256_CBC,data:oYyi]", "oYyi"] {
            check(text, CipherError::Form);
        }
        check(&KNOWN.replace("data:oYyi", "data:"), CipherError::Form);
        check(&KNOWN.replace("oYyi", "oY*i"), CipherError::Form);
        check(&KNOWN.replace("data:", "iv:"), CipherError::Form);
        check(&KNOWN.replace("xg==", "xg="), CipherError::Form);
        check(&KNOWN.replace("type:str]", "type:str"), CipherError::Form);
        check(&KNOWN.replace("type:str]", "type:str,x:y]"), CipherError::Form);
        check(&format!("{KNOWN} "), CipherError::Form);
        check(&KNOWN.replace("t5z2Z023Up0kxwCgw1gNxg==", "t5z2"), CipherError::Form);
        check(&KNOWN.replace("MyIDYbT718JRr11QtBkcj3Dwm4k1aCGZBVeZf0EyV8o=", "MyIDYbT718JRr11Q"), CipherError::Iv);
        check(&KNOWN.replace("type:str", "type:uint"), CipherError::Type);
        check(&KNOWN.replace("type:str", "type:"), CipherError::Type);
        assert!(is_sealed(KNOWN));
    }

    proptest::proptest! {
        #[test]
        fn what_is_sealed_opens(plain: Vec<u8>, iv: [u8; 32], key: [u8; 32], place in "[a-z:.]{0,20}") {
            let cipher = Cipher::new(&key);
            if !plain.is_empty() {
                let sealed = cipher.seal(&plain, &iv, &place).unwrap();
                assert_eq!(cipher.open(&sealed, &place).unwrap().0.as_slice(), plain);
            }
        }

        #[test]
        fn opening_never_panics(text in "(ENC\\[AES256_GCM,)?[ -~]{0,80}") {
            assert!(Cipher::new(&KEY).open(&text, "bar:").is_err());
        }
    }
}
