//! What a registry wants of who asks: the header `WWW-Authenticate`.
//!
//! <https://www.rfc-editor.org/rfc/rfc9110#section-11.6.1>, <https://distribution.github.io/distribution/spec/auth/token/>

/// What a registry wants.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Challenge {
    /// User and password.
    Basic,
    /// A token.
    Bearer {
        /// The URL of what gives tokens.
        realm: String,
        /// What the token is for, in its words.
        service: String,
    },
}

impl Challenge {
    /// What the headers ask for: a token rather than a password. None if it is something that nobody has.
    pub fn of(headers: &[&str]) -> Option<Self> {
        let all: Vec<(String, Vec<(String, String)>)> = headers.iter().flat_map(|text| parsed(text)).collect();
        let named = |name: &str| all.iter().find(|(scheme, _)| scheme.eq_ignore_ascii_case(name));
        let bearer = named("bearer").and_then(|(_, parameters)| {
            let of = |name: &str| {
                let known = parameters.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
                known.map(|(_, value)| value.clone())
            };
            Some(Self::Bearer { realm: of("realm")?, service: of("service").unwrap_or_default() })
        });
        bearer.or_else(|| named("basic").map(|_| Self::Basic))
    }
}

/// The schemes of one header, each with its parameters.
fn parsed(text: &str) -> Vec<(String, Vec<(String, String)>)> {
    let mut found: Vec<(String, Vec<(String, String)>)> = Vec::new();
    let mut rest = text.trim_start_matches([' ', ',', '\t']);
    while !rest.is_empty() {
        let end = rest.find(|c: char| !is_token(c)).unwrap_or(rest.len());
        if end == 0 {
            break;
        }
        let (word, after) = rest.split_at(end);
        match after.strip_prefix('=') {
            Some(value) => {
                let (value, after) = value_of(value);
                if let Some((_, parameters)) = found.last_mut() {
                    parameters.push((word.to_owned(), value));
                }
                rest = after;
            }
            None => {
                found.push((word.to_owned(), Vec::new()));
                rest = after;
            }
        }
        rest = rest.trim_start_matches([' ', ',', '\t']);
    }
    found
}

/// A value, quoted or not, and what follows.
fn value_of(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ' ', '\t']).unwrap_or(text.len());
        let (value, rest) = text.split_at(end);
        return (value.to_owned(), rest);
    };
    let (mut value, mut characters) = (String::new(), quoted.chars());
    while let Some(c) = characters.next() {
        match c {
            '"' => break,
            '\\' => value.extend(characters.next()),
            c => value.push(c),
        }
    }
    (value, characters.as_str())
}

fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)
}

/// A text as it stands in a query.
pub fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_preferred_and_quotes_are_understood() {
        let bearer = |realm: &str, service: &str| {
            Some(Challenge::Bearer { realm: realm.to_owned(), service: service.to_owned() })
        };
        for (headers, expect) in [
            (&["Basic realm=\"x\""][..], Some(Challenge::Basic)),
            (&["basic"], Some(Challenge::Basic)),
            (
                &["Bearer realm=\"https://a/t?x=1,2\",service=\"s\",scope=\"r:a:pull,push\""],
                bearer("https://a/t?x=1,2", "s"),
            ),
            (&["bearer Realm=https://a/t"], bearer("https://a/t", "")),
            (&["Basic realm=\"x\", Bearer realm=\"https://a\", error=\"invalid_token\""], bearer("https://a", "")),
            (&["Basic realm=\"x\"", "Bearer realm=\"a \\\" b\""], bearer("a \" b", "")),
            (&["Bearer service=\"s\""], None),
            (&["Negotiate"], None),
            (&["Bearer realm=\"unended"], bearer("unended", "")),
            (&["=,=\"", ""], None),
            (&[], None),
        ] {
            assert_eq!(Challenge::of(headers), expect, "{headers:?}");
        }
    }

    #[test]
    fn what_stands_in_a_query_is_encoded() {
        assert_eq!(encoded("repository:a/b-c_d.e:pull,push &é"), "repository%3Aa%2Fb-c_d.e%3Apull%2Cpush%20%26%C3%A9");
    }
}
