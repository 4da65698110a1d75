//! Words: the one spelling of an enum, for people and for JSON.

/// Spells an enum: each variant has one word, which JSON has too.
///
/// A schema says `string` of it, so that a later release may have a word more. `by` names the method that says the word, where
/// the enum has one already, and `read` the one that finds it again, if it is to be read as well.
macro_rules! spelt {
    ($name:ident { $($variant:ident $word:literal),* }) => {
        impl $name {
            /// Every one, in the order of their declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The word for people and JSON.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }
        }

        impl $name {
            fn of_word(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|known| known.word() == text)
            }
        }

        $crate::name::spelt!($name by word read of_word);
    };
    ($name:ident by $word:ident read $read:ident) => {
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <alloc::borrow::Cow<'_, str> as serde::Deserialize>::deserialize(deserializer)?;
                Self::$read(&text).ok_or_else(|| serde::de::Error::custom(concat!("no word of ", stringify!($name))))
            }
        }

        $crate::name::spelt!($name by $word);
    };
    ($name:ident by $word:ident) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.$word())
            }
        }

        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> alloc::borrow::Cow<'static, str> {
                alloc::string::String::schema_name()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                alloc::string::String::json_schema(generator)
            }
        }
    };
}

pub(crate) use spelt;
