//! Writes JSON objects (RFC 8259) member by member.
//!
//! Tokens and frequent answers are written by hand: they consist almost only of ids and tokens, which need no
//! escaping, and a serializer would examine each byte.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::claim_definition::DefinedClaims;

/// Applies a merge patch (RFC 7396 2): members named by the patch are changed, also within objects.
///
/// `null` removes a member. The member stays in the document as `null`, which readers take for an absent one: so they also
/// see a misspelt name that the patch wanted to remove, and can refuse it.
pub fn merge_patch(document: &mut Map<String, Value>, patch: Map<String, Value>) {
    for (name, value) in patch {
        match value {
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
    /// An empty object, with capacity for so many bytes.
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self::after(Vec::with_capacity(bytes))
    }

    /// An empty object, appended to existing text.
    pub(crate) fn after(mut json: Vec<u8>) -> Self {
        json.push(b'{');
        Self { json }
    }

    /// Begins a member, whose value must follow. Inlined, so that the constant names become plain stores.
    #[inline(always)]
    pub(crate) fn name(&mut self, name: &'static str) {
        // A value never ends with `{`, so this is the first member.
        self.json.extend_from_slice(if self.json.ends_with(b"{") { b"\"" } else { b",\"" });
        self.json.extend_from_slice(name.as_bytes());
        self.json.extend_from_slice(b"\":");
    }

    /// A string member.
    #[inline(always)]
    pub(crate) fn text(&mut self, name: &'static str, text: &str) {
        self.name(name);
        push_text(&mut self.json, text);
    }

    /// A string member, if there is a value.
    #[inline(always)]
    pub(crate) fn optional_text(&mut self, name: &'static str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(name, text);
        }
    }

    /// A member that is an array of strings.
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

    /// An integer member.
    #[inline(always)]
    pub(crate) fn number(&mut self, name: &'static str, number: u64) {
        self.name(name);
        push_number(&mut self.json, number);
    }

    /// An integer member, if there is a value.
    #[inline(always)]
    pub(crate) fn optional_number(&mut self, name: &'static str, number: Option<u64>) {
        if let Some(number) = number {
            self.number(name, number);
        }
    }

    /// A boolean member.
    #[inline]
    pub(crate) fn flag(&mut self, name: &'static str, flag: bool) {
        self.name(name);
        self.json.extend_from_slice(if flag { b"true" } else { b"false" });
    }

    /// A member of any type, if there is a value.
    #[inline]
    pub(crate) fn optional_value(&mut self, name: &'static str, value: Option<&impl Serialize>) {
        if let Some(value) = value {
            self.name(name);
            // Writing to memory cannot fail; if it did, the truncated object would be invalid JSON for every reader.
            let _ = serde_json::to_writer(&mut self.json, value);
        }
    }

    /// A member of any type, whose name needs no escaping and is not a constant.
    pub(crate) fn named_value(&mut self, name: &str, value: &impl Serialize) {
        self.json.extend_from_slice(if self.json.ends_with(b"{") { b"\"" } else { b",\"" });
        self.json.extend_from_slice(name.as_bytes());
        self.json.extend_from_slice(b"\":");
        // As above: writing to memory cannot fail.
        let _ = serde_json::to_writer(&mut self.json, value);
    }

    /// Members that are written already, if the object has some before them.
    #[inline]
    pub(crate) fn members(&mut self, members: &DefinedClaims) {
        if !members.is_empty() {
            self.json.extend_from_slice(members.as_bytes());
        }
    }

    /// The text so far.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.json
    }

    /// The buffer, for writing a value directly.
    pub(crate) fn raw(&mut self) -> &mut Vec<u8> {
        &mut self.json
    }

    /// Closes the object, and returns it after the text that preceded it.
    pub(crate) fn end(mut self) -> Vec<u8> {
        self.json.push(b'}');
        self.json
    }
}

/// Appends `"name":`, for a name that is no constant.
pub(crate) fn push_name(json: &mut Vec<u8>, name: &str) {
    push_text(json, name);
    json.push(b':');
}

/// Appends an integer.
pub(crate) fn push_number(json: &mut Vec<u8>, number: u64) {
    json.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Appends a string with its quotation marks.
pub(crate) fn push_text(json: &mut Vec<u8>, text: &str) {
    if !is_plain(text.as_bytes()) {
        // Writing text into memory cannot fail.
        let _ = serde_json::to_writer(json, text);
        return;
    }
    json.push(b'"');
    json.extend_from_slice(text.as_bytes());
    json.push(b'"');
}

/// Whether no byte of a text needs escaping in a JSON string (RFC 8259 7). Tests eight bytes at a time.
#[inline]
fn is_plain(text: &[u8]) -> bool {
    let Some(last) = text.last_chunk::<8>() else {
        return text.iter().all(|byte| *byte >= b' ' && *byte != b'"' && *byte != b'\\');
    };
    // The last eight bytes may overlap with the chunks, so that no remainder has to be tested bytewise.
    let (words, _) = text.as_chunks::<8>();
    let special = words.iter().fold(special_bytes(u64::from_le_bytes(*last)), |special, word| {
        special | special_bytes(u64::from_le_bytes(*word))
    });
    special == 0
}

/// Non-zero exactly if one of the eight bytes is a control character, a quotation mark or a backslash.
const fn special_bytes(word: u64) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH_BITS: u64 = ONES << 7;
    let quotation_mark = word ^ (ONES * b'"' as u64);
    let backslash = word ^ (ONES * b'\\' as u64);
    // Subtracting n from a byte below n borrows and sets its high bit; bytes whose high bit was set before are
    // excluded.
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
    fn a_patch_changes_what_it_names_and_shows_what_it_removes() {
        let object = |value: Value| value.as_object().cloned().unwrap();
        let mut document = object(json!({ "a": 1, "b": { "c": 2, "d": 3 }, "e": 4, "f": null }));
        let patch = json!({ "a": null, "b": { "c": 5, "d": null }, "f": { "g": 6 }, "h": [7] });
        merge_patch(&mut document, object(patch));
        let expected = json!({ "a": null, "b": { "c": 5, "d": null }, "e": 4, "f": { "g": 6 }, "h": [7] });
        assert_eq!(Value::Object(document), expected);
    }

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
        object.named_value("named", &["x"]);
        object.name("raw");
        object.raw().extend_from_slice(b"true");
        let expected = json!({
            "none": [], "some": ["a", "b\"", "c"], "text": "{", "number": u64::MAX, "value": { "a": [1, null] },
            "named": ["x"], "raw": true,
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
