//! Go time: times as Go reads and writes them, which is how SOPS counts them.
//!
//! A time keeps the offset that it was written with, so that nothing is computed here. It knows of no
//! clock and no calendar beyond how many days a month has.

use core::fmt;

/// A point in time, to the nanosecond.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GoTime {
    year: u16,
    month: u8,
    day: u8,
    hour: u8,
    minute: u8,
    second: u8,
    nanosecond: u32,
    /// East of UTC, in minutes.
    offset: i16,
}

/// Returns true for a day that there is, such as `2028-02-29`.
///
/// <https://www.rfc-editor.org/rfc/rfc3339#section-5.6>
pub fn is_day(text: &str) -> bool {
    let mut rest = Cursor(text);
    rest.date(2).is_some() && rest.0.is_empty()
}

impl GoTime {
    /// Reads RFC 3339: `2026-11-21T07:51:52.25+01:00`.
    ///
    /// <https://www.rfc-editor.org/rfc/rfc3339#section-5.6>
    pub fn rfc3339(text: &str) -> Option<Self> {
        let mut rest = Cursor(text);
        let date = rest.date(2)?;
        rest.one_of(b"T")?;
        let moment = rest.time(date, 2)?.at(rest.zone()?);
        rest.0.is_empty().then_some(moment)
    }

    /// Reads an unquoted word as go-yaml v3 does: a date, or a date and a time, with one or two digits to
    /// each part but the year.
    ///
    /// <https://github.com/yaml/go-yaml/blob/v3.0.4/resolve.go>
    pub fn of_word(word: &str) -> Option<Self> {
        let mut rest = Cursor(word);
        let date = rest.date(1)?;
        if rest.0.is_empty() {
            return Some(date);
        }
        let zoned = rest.one_of(b"Tt ")? != b' ';
        let moment = rest.time(date, 1)?;
        let moment = if zoned { moment.at(rest.zone()?) } else { moment };
        rest.0.is_empty().then_some(moment)
    }

    /// The same time without its fraction of a second.
    #[must_use]
    pub fn to_the_second(self) -> Self {
        Self { nanosecond: 0, ..self }
    }

    fn at(self, offset: i16) -> Self {
        Self { offset, ..self }
    }
}

/// RFC 3339 with as many digits of a second as are needed, and `Z` for UTC.
impl fmt::Display for GoTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { year, month, day, hour, minute, second, nanosecond, offset } = *self;
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
        if nanosecond != 0 {
            let digits = format!("{nanosecond:09}");
            write!(f, ".{}", digits.trim_end_matches('0'))?;
        }
        let sign = if offset < 0 { '-' } else { '+' };
        match offset.unsigned_abs() {
            0 => f.write_str("Z"),
            offset => write!(f, "{sign}{:02}:{:02}", offset / 60, offset % 60),
        }
    }
}

/// What is left to read.
struct Cursor<'a>(&'a str);

impl Cursor<'_> {
    fn byte(&self) -> Option<u8> {
        self.0.bytes().next()
    }

    fn one_of(&mut self, wanted: &[u8]) -> Option<u8> {
        let byte = self.byte().filter(|byte| wanted.contains(byte))?;
        self.0 = self.0.get(1..)?;
        Some(byte)
    }

    /// Reads a number within bounds; `digits` are the fewest and the most.
    fn number(&mut self, digits: (usize, usize), bounds: (u16, u16)) -> Option<u16> {
        let found = self.0.bytes().take(digits.1).take_while(u8::is_ascii_digit).count();
        let (number, rest) = self.0.split_at_checked(found).filter(|_| found >= digits.0)?;
        self.0 = rest;
        number.parse().ok().filter(|number| (bounds.0..=bounds.1).contains(number))
    }

    fn small(&mut self, fewest: usize, least: u16, most: u16) -> Option<u8> {
        self.number((fewest, 2), (least, most)).and_then(|number| u8::try_from(number).ok())
    }

    fn date(&mut self, fewest: usize) -> Option<GoTime> {
        let year = self.number((4, 4), (0, 9999))?;
        self.one_of(b"-")?;
        let month = self.small(fewest, 1, 12)?;
        self.one_of(b"-")?;
        let day = self.small(fewest, 1, days(year, month))?;
        Some(GoTime { year, month, day, hour: 0, minute: 0, second: 0, nanosecond: 0, offset: 0 })
    }

    fn time(&mut self, date: GoTime, fewest: usize) -> Option<GoTime> {
        let hour = self.small(fewest, 0, 23)?;
        self.one_of(b":")?;
        let minute = self.small(fewest, 0, 59)?;
        self.one_of(b":")?;
        let second = self.small(fewest, 0, 59)?;
        Some(GoTime { hour, minute, second, nanosecond: self.fraction()?, ..date })
    }

    /// Reads the fraction of a second; digits after the ninth are ignored.
    fn fraction(&mut self) -> Option<u32> {
        if self.one_of(b".").is_none() {
            return Some(0);
        }
        let found = self.0.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.0.split_at_checked(found).filter(|_| found > 0)?;
        self.0 = rest;
        let padded = digits.bytes().chain(core::iter::repeat(b'0')).take(9);
        Some(padded.fold(0, |sum: u32, byte| sum.wrapping_mul(10).wrapping_add(u32::from(byte.wrapping_sub(b'0')))))
    }

    fn zone(&mut self) -> Option<i16> {
        let sign = self.one_of(b"Z+-")?;
        if sign == b'Z' {
            return Some(0);
        }
        let hours = self.number((2, 2), (0, 23))?;
        self.one_of(b":")?;
        let minutes = self.number((2, 2), (0, 59))?;
        let offset = i16::try_from(hours.checked_mul(60)?.checked_add(minutes)?).ok()?;
        if sign == b'-' { offset.checked_neg() } else { Some(offset) }
    }
}

fn days(year: u16, month: u8) -> u16 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString as _;

    #[test]
    fn days_that_there_are_are_told_from_others() {
        for good in ["2026-12-01", "2028-02-29", "2000-02-29", "9999-12-31"] {
            assert!(is_day(good), "{good}");
        }
        for bad in
            ["", "2026-2-3", "2026-02-30", "2100-02-29", "2026-13-01", "2026-01-00", "tomorrow", "2026-01-01T00:00:00Z"]
        {
            assert!(!is_day(bad), "{bad}");
        }
    }

    #[test]
    fn words_are_times_as_go_yaml_reads_them() {
        for (word, expect) in [
            ("2024-01-02", Some("2024-01-02T00:00:00Z")),
            ("2024-1-2", Some("2024-01-02T00:00:00Z")),
            ("2024-02-29", Some("2024-02-29T00:00:00Z")),
            ("2000-02-29", Some("2000-02-29T00:00:00Z")),
            ("2024-01-02T03:04:05Z", Some("2024-01-02T03:04:05Z")),
            ("2024-1-2t3:4:5.5000+02:00", Some("2024-01-02T03:04:05.5+02:00")),
            ("2024-01-02T03:04:05.0123456789-00:30", Some("2024-01-02T03:04:05.012345678-00:30")),
            ("2024-01-02T03:04:05-00:00", Some("2024-01-02T03:04:05Z")),
            ("2024-01-02 03:04:05", Some("2024-01-02T03:04:05Z")),
            ("2024-01-02 03:04:05.120", Some("2024-01-02T03:04:05.12Z")),
            ("2024-01-02 03:04:05Z", None),
            ("2024-01-02T03:04:05", None),
            ("2024-01-02T03:04", None),
            ("2023-02-29", None),
            ("1900-02-29", None),
            ("2024-13-01", None),
            ("2024-00-01", None),
            ("2024-04-31", None),
            ("2024-01-02T24:00:00Z", None),
            ("2024-01-02T03:04:60Z", None),
            ("2024-01-02T03:04:05.Z", None),
            ("2024-01-02T03:04:05+24:00", None),
            ("24-01-02", None),
            ("2024-01-02x", None),
            ("2024-001-02", None),
            ("", None),
            ("é", None),
        ] {
            assert_eq!(GoTime::of_word(word).map(|moment| moment.to_string()).as_deref(), expect, "{word}");
        }
    }

    #[test]
    fn rfc_3339_is_strict_and_loses_its_fraction_on_demand() {
        let seconds = |text: &str| GoTime::rfc3339(text).map(|moment| moment.to_the_second().to_string());
        for (text, expect) in [
            ("2026-11-21T07:51:52Z", Some("2026-11-21T07:51:52Z")),
            ("2026-11-21T07:51:52+00:00", Some("2026-11-21T07:51:52Z")),
            ("2026-11-21T07:51:52.9+01:30", Some("2026-11-21T07:51:52+01:30")),
            ("2026-11-21", None),
            ("2026-1-21T07:51:52Z", None),
            ("2026-11-21t07:51:52Z", None),
            ("2026-11-21 07:51:52Z", None),
            ("2026-11-21T7:51:52Z", None),
            (" 2026-11-21T07:51:52Z", None),
        ] {
            assert_eq!(seconds(text).as_deref(), expect, "{text}");
        }
    }
}
