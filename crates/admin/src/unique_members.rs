//! JSON whose objects name each member once.
//!
//! RFC 8259 4: the names within an object SHOULD be unique, and what a reader makes of a repeated one is unpredictable.
//! `{"active": false, "active": true}` would be an inactive user for one reader and an active one for the next, for example
//! for a proxy that checks bodies. So a repeated member is refused, as RFC 7493 2.3 requires, at any depth.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::fields::clipped;

/// A JSON value in which no object repeats a member.
pub(super) struct UniqueMembers(pub(super) Value);

impl<'de> Deserialize<'de> for UniqueMembers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader).map(Self)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(UniqueMembers(item)) = items.next_element()? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            if object.contains_key(&name) {
                return Err(A::Error::custom(format!("the member \"{}\" is given twice", clipped(&name))));
            }
            let UniqueMembers(value) = members.next_value()?;
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Result<Value, serde_json::Error> {
        serde_json::from_str::<UniqueMembers>(text).map(|read| read.0)
    }

    #[test]
    fn a_repeated_member_is_refused_wherever_it_is() {
        for text in [
            r#"{"active":false,"active":true}"#,
            r#"{"active":true,"active":true}"#,
            r#"{"a":1,"\u0061":2}"#,
            r#"{"a":{"b":1,"c":2,"b":3}}"#,
            r#"[{"a":null,"a":null}]"#,
        ] {
            let error = read(text).expect_err(text);
            assert!(error.is_data() && error.to_string().contains("given twice"), "{text}: {error}");
        }
        assert_eq!(
            read(r#"{"a":{"b":1},"b":[{"a":1},{"a":2}]}"#).expect("unique"),
            json!({ "a": { "b": 1 }, "b": [{ "a": 1 }, { "a": 2 }] })
        );
    }

    #[test]
    fn what_is_not_json_is_told_as_before() {
        for text in ["", "{", "{\"a\":}", "nul", "[1,]", "1 2"] {
            assert!(!read(text).expect_err(text).is_data(), "{text}");
        }
        assert!(read(&"[".repeat(10_000)).is_err(), "the depth is bounded");
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-1e9_f64..1e9).prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(".{0,4}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn anything_else_is_read_as_serde_json_reads_it(value in any_json()) {
            let text = value.to_string();
            prop_assert_eq!(read(&text).expect("unique"), serde_json::from_str::<Value>(&text).expect("JSON"));
        }
    }
}
