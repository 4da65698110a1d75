//! Words of commands that are printed for people to copy.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;

/// The text as one word of a POSIX shell: as it is where no shell reads anything into it, else in single quotes.
///
/// <https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#tag_19_02>
pub fn word(text: &str) -> String {
    let is_plain = |char: char| char.is_alphanumeric() || "%+,-./:=@_".contains(char);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_would_take_apart_is_quoted() {
        for plain in ["keys/eu.txt", "/a-b_c/d.e", "eu=x", "schlüssel/ключ.txt"] {
            assert_eq!(word(plain), plain);
        }
        for (text, quoted) in [
            ("", "''"),
            ("a b", "'a b'"),
            ("a'b", r"'a'\''b'"),
            ("$(x)", "'$(x)'"),
            ("~/x", "'~/x'"),
            ("a;b", "'a;b'"),
            ("a\nb", "'a\nb'"),
        ] {
            assert_eq!(word(text), quoted);
        }
    }
}
