//! JSON objects (RFC 8259), written member by member.
//!
//! What is signed and answered all the time is written by hand: nearly all of it is ids and tokens, which have nothing to
//! escape, and a serializer would look at each of their bytes by itself.

use serde::Serialize;
use serde_json::{Map, Value};

/// Changes a document as a patch says (RFC 7396 2): members that it names, inside of objects too; `null` removes one.
pub fn merge_patch(document: &mut Map<String, Value>, patch: Map<String, Value>) {
    for (name, value) in patch {
        match value {
            Value::Null => drop(document.remove(&name)),
            Value::Object(changes) => {
                let member = document.entry(name).or_insert_with(|| Value::Object(Map::new()));
                if !member.is_object() {
                    *member = Value::Object(Map::new());
                }
                if let Some(own) = member.as_object_mut() {
                    merge_patch(own, changes);
                }
            }
            value => drop(document.insert(name, value)),
        }
    }
}

/// An object under construction.
pub(crate) struct Object {
    json: Vec<u8>,
}

impl Object {
    /// An object without members yet, and room for so many bytes.
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self::after(Vec::with_capacity(bytes))
    }

    /// An object without members yet, behind what is there already.
    pub(crate) fn after(mut json: Vec<u8>) -> Self {
        json.push(b'{');
        Self { json }
    }

    /// Begins a member; its value is to follow. Inlined, for names are known there: a few bytes to store, not to copy.
    #[inline(always)]
    pub(crate) fn name(&mut self, name: &'static str) {
        // No value ends with a brace that opens.
        self.json.extend_from_slice(if self.json.ends_with(b"{") { b"\"" } else { b",\"" });
        self.json.extend_from_slice(name.as_bytes());
        self.json.extend_from_slice(b"\":");
    }

    /// A member that is a text.
    #[inline(always)]
    pub(crate) fn text(&mut self, name: &'static str, text: &str) {
        self.name(name);
        push_text(&mut self.json, text);
    }

    /// A member that is a text, if there is one.
    #[inline(always)]
    pub(crate) fn optional_text(&mut self, name: &'static str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(name, text);
        }
    }

    /// A member that is an array of texts.
    #[inline]
    pub(crate) fn texts<'a>(&mut self, name: &'static str, texts: impl IntoIterator<Item = &'a str>) {
        self.name(name);
        let begin = self.json.len();
        for text in texts {
            self.json.push(if self.json.len() == begin { b'[' } else { b',' });
            push_text(&mut self.json, text);
        }
        self.json.extend_from_slice(if self.json.len() == begin { b"[]" } else { b"]" });
    }

    /// A member that is a whole number.
    #[inline(always)]
    pub(crate) fn number(&mut self, name: &'static str, number: u64) {
        self.name(name);
        push_number(&mut self.json, number);
    }

    /// A member that is a whole number, if there is one.
    #[inline(always)]
    pub(crate) fn optional_number(&mut self, name: &'static str, number: Option<u64>) {
        if let Some(number) = number {
            self.number(name, number);
        }
    }

    /// A member that is anything, if there is one.
    #[inline]
    pub(crate) fn optional_value(&mut self, name: &'static str, value: Option<&impl Serialize>) {
        if let Some(value) = value {
            self.name(name);
            // Writing into memory cannot fail; an object cut short would be refused by every reader.
            let _ = serde_json::to_writer(&mut self.json, value);
        }
    }

    /// What has been written so far.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.json
    }

    /// The same, to write a value by other means.
    pub(crate) fn raw(&mut self) -> &mut Vec<u8> {
        &mut self.json
    }

    /// The whole object, behind what was there before it.
    pub(crate) fn end(mut self) -> Vec<u8> {
        self.json.push(b'}');
        self.json
    }
}

fn push_number(json: &mut Vec<u8>, number: u64) {
    json.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

fn push_text(json: &mut Vec<u8>, text: &str) {
    if !is_plain(text.as_bytes()) {
        // Writing text into memory cannot fail.
        let _ = serde_json::to_writer(json, text);
        return;
    }
    json.push(b'"');
    json.extend_from_slice(text.as_bytes());
    json.push(b'"');
}

/// Whether every byte of a text stands for itself in a JSON string (RFC 8259 7). Eight bytes at a time.
#[inline]
fn is_plain(text: &[u8]) -> bool {
    let Some(last) = text.last_chunk::<8>() else {
        return text.iter().all(|byte| *byte >= b' ' && *byte != b'"' && *byte != b'\\');
    };
    // The last eight overlap those before, instead of a rest that is looked at byte by byte.
    let (words, _) = text.as_chunks::<8>();
    let special = words.iter().fold(special_bytes(u64::from_le_bytes(*last)), |special, word| {
        special | special_bytes(u64::from_le_bytes(*word))
    });
    special == 0
}

/// Not 0 if, and only if, one of the eight bytes is a control character, a quotation mark or a backslash.
const fn special_bytes(word: u64) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH_BITS: u64 = ONES << 7;
    let quotation_mark = word ^ (ONES * b'"' as u64);
    let backslash = word ^ (ONES * b'\\' as u64);
    // A byte below n borrows when n is taken from it; one with its high bit set is none.
    let control = word.wrapping_sub(ONES * b' ' as u64) & !word;
    let quotation_mark = quotation_mark.wrapping_sub(ONES) & !quotation_mark;
    let backslash = backslash.wrapping_sub(ONES) & !backslash;
    (control | quotation_mark | backslash) & HIGH_BITS
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn members_of_every_kind() {
        let mut object = Object::with_capacity(0);
        object.texts("none", []);
        object.texts("some", ["a", "b\"", "c"]);
        object.text("text", "{");
        object.optional_text("absent", None);
        object.optional_number("absent", None);
        object.optional_value("absent", None::<&Value>);
        object.number("number", u64::MAX);
        object.optional_value("value", Some(&json!({ "a": [1, null] })));
        object.name("raw");
        object.raw().extend_from_slice(b"true");
        let expected = json!({
            "none": [], "some": ["a", "b\"", "c"], "text": "{", "number": u64::MAX, "value": { "a": [1, null] },
            "raw": true,
        });
        assert_eq!(serde_json::from_slice::<Value>(&object.end()).unwrap(), expected);
        assert_eq!(Object::with_capacity(9).end(), b"{}");
    }

    #[test]
    fn every_byte_that_must_be_escaped_is_seen_wherever_it_stands() {
        for length in 1..20 {
            for at in 0..length {
                for byte in 0..=u8::MAX {
                    let mut text = vec![b'\x80'; length];
                    text[at] = byte;
                    let plain = byte >= b' ' && byte != b'"' && byte != b'\\';
                    assert_eq!(is_plain(&text), plain, "{byte} at {at} of {length}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn whatever_a_text_holds_comes_back(text: String) {
            let mut object = Object::with_capacity(0);
            object.text("text", &text);
            prop_assert_eq!(serde_json::from_slice::<Value>(&object.end()).unwrap(), json!({ "text": text }));
        }
    }
}
