//! Distinguished names: as a certificate has them (RFC 5280 4.1.2.4) and as text (RFC 4514), in one form in which they can
//! be compared.
//!
//! Texts are compared without regard to case (of ASCII) and to how many spaces there are, whatever string type they have in
//! the certificate (RFC 5280 7.1).

use x509_parser::asn1_rs::{Any, FromDer, Tag};
use x509_parser::x509::X509Name;

/// The names of attribute types: those of RFC 4514 3, and those that certificates of clients have besides.
const TYPES: [(&str, &str); 21] = [
    ("CN", "2.5.4.3"),
    ("L", "2.5.4.7"),
    ("ST", "2.5.4.8"),
    ("O", "2.5.4.10"),
    ("OU", "2.5.4.11"),
    ("C", "2.5.4.6"),
    ("STREET", "2.5.4.9"),
    ("DC", "0.9.2342.19200300.100.1.25"),
    ("UID", "0.9.2342.19200300.100.1.1"),
    ("SN", "2.5.4.4"),
    ("SERIALNUMBER", "2.5.4.5"),
    ("TITLE", "2.5.4.12"),
    ("BUSINESSCATEGORY", "2.5.4.15"),
    ("POSTALCODE", "2.5.4.17"),
    ("GN", "2.5.4.42"),
    ("GIVENNAME", "2.5.4.42"),
    ("ORGANIZATIONIDENTIFIER", "2.5.4.97"),
    ("E", "1.2.840.113549.1.9.1"),
    ("EMAILADDRESS", "1.2.840.113549.1.9.1"),
    ("JURISDICTIONCOUNTRYNAME", "1.3.6.1.4.1.311.60.2.1.3"),
    ("JURISDICTIONC", "1.3.6.1.4.1.311.60.2.1.3"),
];

/// A name: its relative names in the order of the certificate, each a set of attributes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DistinguishedName(Vec<Vec<Attribute>>);

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Attribute {
    /// The object identifier of its type.
    kind: String,
    value: Value,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Value {
    /// A text, in the form in which texts are compared.
    Text(String),
    /// Anything else: its tag and its content.
    Other(u32, Vec<u8>),
}

impl DistinguishedName {
    /// Reads a text by RFC 4514 3. Spaces beside the separators do not count.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut names = Vec::new();
        let mut relative = Vec::new();
        let mut rest = text;
        loop {
            let (attribute, after) = attribute(rest)?;
            relative.push(attribute);
            let separator = after.chars().next();
            if separator != Some('+') {
                names.push(sorted(std::mem::take(&mut relative)));
            }
            match separator {
                Some(_) => rest = after.get(1..)?,
                None => break,
            }
        }
        // RFC 4514 2.1: the text begins with the last relative name.
        names.reverse();
        Some(Self(names))
    }

    /// The name in a certificate.
    pub(super) fn of(name: &X509Name<'_>) -> Self {
        let relative = name.iter_rdn().map(|relative| {
            let attributes = relative.iter().map(|attribute| Attribute {
                kind: attribute.attr_type().to_id_string(),
                value: Value::of(attribute.attr_value()),
            });
            sorted(attributes.collect())
        });
        Self(relative.collect())
    }
}

/// The attributes of a relative name are a set, which has no order (RFC 5280 4.1.2.4).
fn sorted(mut attributes: Vec<Attribute>) -> Vec<Attribute> {
    attributes.sort();
    attributes
}

impl Value {
    fn of(any: &Any<'_>) -> Self {
        let text = match any.tag() {
            Tag::Utf8String | Tag::PrintableString | Tag::Ia5String | Tag::NumericString => {
                std::str::from_utf8(any.as_bytes()).ok()
            }
            _ => None,
        };
        match text {
            Some(text) => Self::text(text),
            None => Self::Other(any.tag().0, any.as_bytes().to_vec()),
        }
    }

    fn text(text: &str) -> Self {
        let words: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
        Self::Text(words.join(" ").to_ascii_lowercase())
    }
}

/// The attribute at the beginning of a text, and what follows it: nothing, or a separator and more.
fn attribute(text: &str) -> Option<(Attribute, &str)> {
    let (kind, rest) = text.split_once('=')?;
    let kind = object_identifier(kind.trim_matches(' '))?.to_owned();
    let rest = rest.trim_start_matches(' ');
    let (value, after) = match rest.strip_prefix('#') {
        Some(digits) => encoded(digits)?,
        None => written(rest)?,
    };
    Some((Attribute { kind, value }, after))
}

/// The object identifier of an attribute type: it stands there itself (RFC 4514 2.3), or by a name.
fn object_identifier(kind: &str) -> Option<&str> {
    if kind.starts_with(|first: char| first.is_ascii_digit()) {
        return kind.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.').then_some(kind);
    }
    TYPES.iter().find(|(name, _)| name.eq_ignore_ascii_case(kind)).map(|(_, identifier)| *identifier)
}

/// A value as the hexadecimal digits of its encoding (RFC 4514 2.4).
fn encoded(digits: &str) -> Option<(Value, &str)> {
    let (digits, after) = digits.split_at(digits.find([',', '+']).unwrap_or(digits.len()));
    let bytes = data_encoding::HEXLOWER_PERMISSIVE.decode(digits.trim_end_matches(' ').as_bytes()).ok()?;
    match Any::from_der(&bytes) {
        Ok(([], any)) => Some((Value::of(&any), after)),
        _ => None,
    }
}

/// A value as a string (RFC 4514 2.4, 3).
fn written(text: &str) -> Option<(Value, &str)> {
    let (mut bytes, mut kept, mut end) = (Vec::new(), 0, text.len());
    let mut chars = text.char_indices();
    while let Some((at, character)) = chars.next() {
        match character {
            '\\' => {
                let (_, escaped) = chars.next()?;
                match escaped.to_digit(16) {
                    Some(high) => {
                        let low = chars.next()?.1.to_digit(16)?;
                        bytes.push(u8::try_from(high * 16 + low).ok()?);
                    }
                    None if " \"#+,;<=>\\".contains(escaped) => bytes.extend(escaped.to_string().bytes()),
                    None => return None,
                }
                kept = bytes.len();
            }
            ',' | '+' => {
                end = at;
                break;
            }
            '"' | ';' | '<' | '>' | '\0' => return None,
            // Spaces at the end are not of the value, unless they are escaped.
            ' ' => bytes.push(b' '),
            other => {
                bytes.extend(other.to_string().bytes());
                kept = bytes.len();
            }
        }
    }
    bytes.truncate(kept);
    let value = String::from_utf8(bytes).ok()?;
    Some((Value::text(&value), text.get(end..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(one: &str, other: &str) -> bool {
        DistinguishedName::parse(one).unwrap() == DistinguishedName::parse(other).unwrap()
    }

    #[test]
    fn spellings_of_one_name_are_the_same() {
        for (one, other) in [
            ("CN=Bank,O=Acme,C=DE", "cn=bank, o=ACME , c = de"),
            ("CN=Bank  of   Acme", "CN=Bank of Acme"),
            ("CN=Bank+UID=7,C=DE", "UID=7+CN=Bank,C=DE"),
            ("2.5.4.3=Bank", "CN=Bank"),
            ("CN=#0c0442616e6b", "CN=Bank"),
            ("1.2.3.4=#130442616E6B", "1.2.3.4=Bank"),
            ("O=Acme\\, Inc.", "O=Acme\\2C Inc."),
            ("CN=B\\C3\\A4nk", "CN=B\u{e4}nk"),
            ("CN=a=b", "CN=a\\=b"),
            ("CN=\\#1", "CN=\\231"),
            ("E=a@b.example", "emailAddress=a@b.example"),
        ] {
            assert!(same(one, other), "{one} {other}");
        }
    }

    #[test]
    fn other_names_differ() {
        for (one, other) in [
            ("CN=Bank,O=Acme", "O=Acme,CN=Bank"),
            ("CN=Bank", "OU=Bank"),
            ("CN=Bank,C=DE", "CN=Bank"),
            ("CN=Bank+C=DE", "CN=Bank,C=DE"),
            ("CN=Bank\\,O=Acme", "CN=Bank,O=Acme"),
            ("CN=Bank", "CN=Bank2"),
            ("CN=#040442616e6b", "CN=Bank"),
        ] {
            assert!(!same(one, other), "{one} {other}");
        }
    }

    #[test]
    fn what_is_no_name_is_not_read() {
        for text in [
            "",
            "Bank",
            "CN=Bank,",
            "CN=Bank,,C=DE",
            "XX=Bank",
            "2.5.x=Bank",
            "CN=\"Bank\"",
            "CN=Bank;C=DE",
            "CN=Bank\\",
            "CN=Bank\\x",
            "CN=\\C3",
            "CN=#0c",
            "CN=#0c0442616e6b00",
            "/CN=Bank",
        ] {
            assert_eq!(DistinguishedName::parse(text), None, "{text}");
        }
    }
}
