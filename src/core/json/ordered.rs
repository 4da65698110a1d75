//! JSON → [`Ordered`]: the second way to read a document, for files that SOPS sealed.

use core::cell::Cell;
use core::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::{KeySeed, flaw};
use crate::node::{Interner, Key};
use crate::sops_document::Ordered;
use crate::yaml::Flaw;

/// Reads one JSON document as SOPS does: in its order, and an integer beyond 64 bits as a number.
pub fn read_ordered(text: &str, interner: &mut Interner) -> Result<Ordered, Flaw> {
    let twice = Cell::new(false);
    let mut json = serde_json::Deserializer::from_str(text);
    let value = Seed { interner, twice: &twice }.deserialize(&mut json);
    value.and_then(|value| json.end().map(|()| value)).map_err(|error| flaw(&error, twice.get()))
}

struct Seed<'a> {
    interner: &'a mut Interner,
    twice: &'a Cell<bool>,
}

impl Seed<'_> {
    fn again(&mut self) -> Seed<'_> {
        Seed { interner: self.interner, twice: self.twice }
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Ordered;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Ordered, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Ordered;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Ordered, E> {
        Ok(Ordered::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Ordered, E> {
        Ok(Ordered::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Ordered, E> {
        Ok(Ordered::Int(value))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Ordered, E> {
        match i64::try_from(value) {
            Ok(value) => Ok(Ordered::Int(value)),
            // Through the decimal form, which rounds as reading does.
            Err(_) => format!("{value}").parse().map(Ordered::Float).map_err(|_| E::custom("")),
        }
    }

    fn visit_f64<E>(self, value: f64) -> Result<Ordered, E> {
        Ok(Ordered::Float(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Ordered, E> {
        Ok(Ordered::Text(text.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<Ordered, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element_seed(self.again())? {
            items.push(item);
        }
        Ok(Ordered::List(items.into_boxed_slice()))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Ordered, A::Error> {
        let mut entries: Vec<(Key, Ordered)> = Vec::new();
        let mut seen = BTreeSet::new();
        while let Some(key) = map.next_key_seed(KeySeed(&mut *self.interner))? {
            if !seen.insert(key.clone()) {
                self.twice.set(true);
                return Err(A::Error::custom(""));
            }
            let value = map.next_value_seed(self.again())?;
            entries.push((key, value));
        }
        Ok(Ordered::Map(Box::from(entries)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_kept_and_numbers_are_those_of_sops() {
        let text = r#"{"b":[1,-2,1.0,1e3,18446744073709551615,true,null,"2024-01-02"],"a":{}}"#;
        let Ok(Ordered::Map(entries)) = read_ordered(text, &mut Interner::new()) else { panic!("a map") };
        assert_eq!(entries.iter().map(|(key, _)| &**key).collect::<Vec<_>>(), ["b", "a"]);
        let expect = [
            Ordered::Int(1),
            Ordered::Int(-2),
            Ordered::Float(1.0),
            Ordered::Float(1000.0),
            Ordered::Float(18_446_744_073_709_551_615.0),
            Ordered::Bool(true),
            Ordered::Null,
            Ordered::Text("2024-01-02".into()),
        ];
        assert!(entries[0].1.items() == expect);
    }

    #[test]
    fn a_key_twice_is_refused_at_every_level() {
        for text in [r#"{"a":1,"b":2,"a":"CANARY"}"#, r#"{"x":[{"a":1,"a":"CANARY"}]}"#, r#"{"a":"CANARY""#] {
            let Err(flaw) = read_ordered(text, &mut Interner::new()) else { panic!("{text} was read") };
            assert!(!flaw.what.contains("CANARY"), "{flaw}");
        }
    }
}
