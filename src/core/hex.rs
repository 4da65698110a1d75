//! Hexadecimal digits, without the formatting machinery: every file has a hash, and every sealed one a MAC.

/// The lower-case digits of `bytes`, two for each.
pub fn digits(bytes: &[u8]) -> impl Iterator<Item = char> {
    let halves = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    halves.filter_map(|half| char::from_digit(half.into(), 16))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::String;

    #[test]
    fn every_byte_has_the_digits_that_formatting_gives_it() {
        for byte in 0..=u8::MAX {
            assert_eq!(digits(&[byte, 0]).collect::<String>(), format!("{byte:02x}00"));
        }
    }
}
