//! Claims that several kinds of token share.

use std::fmt;

use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use smallvec::{SmallVec, smallvec};
use smol_str::SmolStr;

use crate::json::Object;
use crate::session::{Amr, AuthenticationMethod};

/// The claims that say what a token is, whose it is and how it is bound, the members of introspection's answer, and the
/// lineage of this server's access tokens. Whoever reads a token decides by them, so neither an attribute nor a definition of a
/// claim may have their names.
pub(crate) const OF_TOKENS: &[&str] = &[
    // RFC 7519 4.1.
    "iss",
    "sub",
    "aud",
    "exp",
    "nbf",
    "iat",
    "jti",
    // OpenID Connect Core 2, 3.3.2.11; Front-Channel Logout 3; Back-Channel Logout 2.4; RFC 9493 3.
    "auth_time",
    "nonce",
    "acr",
    "amr",
    "azp",
    "at_hash",
    "c_hash",
    "s_hash",
    "sid",
    "events",
    "sub_id",
    "sub_jwk",
    // OpenID Connect Core 5.6.2: they say where other claims are.
    "_claim_names",
    "_claim_sources",
    // RFC 9068 2.2, RFC 8693 4, RFC 7800 3.1, RFC 9396 9.1, RFC 8707.
    "client_id",
    "scope",
    "act",
    "may_act",
    "cnf",
    "authorization_details",
    "resource",
    // RFC 7662 2.2; RFC 9701 5: the answer of introspection as a JWT.
    "active",
    "username",
    "token_type",
    "token_introspection",
    // RFC 7515 4.1: names of header parameters, which a nested token may repeat as claims.
    "typ",
    "alg",
    "kid",
    // The lineage of access tokens.
    "gid",
    "anc",
    "gcl",
    "gat",
    "pairwise_ref",
];

/// One string or several: a JSON string if there is one, an array otherwise (`aud`, RFC 7519 4.1.3).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OneOrMany(SmallVec<[SmolStr; 1]>);

/// The `aud` claim with all its values.
pub type Audience = OneOrMany;

impl OneOrMany {
    /// One value.
    pub fn one(value: impl Into<SmolStr>) -> Self {
        Self(smallvec![value.into()])
    }

    /// These values in order, without repetition.
    pub fn of<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let mut all: SmallVec<[SmolStr; 1]> = SmallVec::new();
        for value in values {
            if !all.iter().any(|own| own == value) {
                all.push(SmolStr::new(value));
            }
        }
        Self(all)
    }

    /// Whether it contains a value, compared case-sensitively (RFC 7519 4.1.3).
    pub fn contains(&self, value: &str) -> bool {
        self.0.iter().any(|own| own == value)
    }

    /// The values.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(SmolStr::as_str)
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Writes the claim.
    pub(crate) fn write(&self, object: &mut Object, name: &'static str) {
        match self.0.as_slice() {
            [one] => object.text(name, one),
            many => object.texts(name, many.iter().map(SmolStr::as_str)),
        }
    }
}

impl Serialize for OneOrMany {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [one] => serializer.serialize_str(one),
            many => serializer.collect_seq(many),
        }
    }
}

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Values;
        impl<'de> Visitor<'de> for Values {
            type Value = OneOrMany;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or an array of strings")
            }

            fn visit_str<E: de::Error>(self, value: &str) -> Result<OneOrMany, E> {
                Ok(OneOrMany::one(value))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<OneOrMany, A::Error> {
                let mut all = SmallVec::new();
                while let Some(value) = seq.next_element()? {
                    all.push(value);
                }
                Ok(OneOrMany(all))
            }
        }
        deserializer.deserialize_any(Values)
    }
}

/// The members of a JSON object that identifies a party; unknown members are kept.
type Party = Map<String, Value>;

/// The actor and the actors before it: the `act` claim (RFC 8693 4.1). Unknown members are kept.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Party")]
pub struct Actor(Party);

impl TryFrom<Party> for Actor {
    type Error = &'static str;

    /// RFC 8693 4.1: every nested `act` must be an object; otherwise no longer chain could be built from it.
    fn try_from(party: Party) -> Result<Self, Self::Error> {
        let mut actor = &party;
        while let Some(previous) = actor.get("act") {
            actor = previous.as_object().ok_or("act is not an object")?;
        }
        Ok(Self(party))
    }
}

impl Serialize for Actor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl Actor {
    /// An actor without previous actors.
    pub fn new(sub: &str, client_id: Option<&str>) -> Self {
        let mut party = Party::new();
        party.insert("sub".to_owned(), Value::from(sub));
        if let Some(client_id) = client_id {
            party.insert("client_id".to_owned(), Value::from(client_id));
        }
        Self(party)
    }

    /// The actor's subject.
    pub fn sub(&self) -> Option<&str> {
        self.0.get("sub").and_then(Value::as_str)
    }

    /// The number of actors in the chain, this one included.
    pub fn depth(&self) -> usize {
        let mut depth = 1;
        let mut party = &self.0;
        while let Some(Value::Object(previous)) = party.get("act") {
            depth += 1;
            party = previous;
        }
        depth
    }

    /// This chain followed by `previous`: in RFC 8693 4.1 the current actor is outermost.
    #[must_use]
    pub fn after(self, previous: Option<&Self>) -> Self {
        let Some(previous) = previous else { return self };
        Self(append(self.0, &previous.0))
    }
}

/// Puts `tail` inside the innermost actor. The depth is bounded by the JSON parser's limit of 128.
fn append(mut party: Party, tail: &Party) -> Party {
    let rest = match party.remove("act") {
        Some(Value::Object(inner)) => append(inner, tail),
        _ => tail.clone(),
    };
    party.insert("act".to_owned(), Value::Object(rest));
    party
}

/// Who may act for the subject: the `may_act` claim (RFC 8693 4.4).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MayAct(Party);

/// A party that wants to act for the subject.
#[derive(Clone, Copy, Debug)]
pub struct ActingParty<'a> {
    /// Its `sub`.
    pub sub: &'a str,
    /// The issuer of that `sub`.
    pub iss: &'a str,
    /// Its client id.
    pub client_id: &'a str,
}

impl MayAct {
    /// A claim that allows this subject to act.
    pub fn new(sub: &str) -> Self {
        Self(Party::from_iter([("sub".to_owned(), Value::from(sub))]))
    }

    /// Whether the claim allows this party. RFC 8693 4.4: all members together identify the party. So an unknown
    /// member means that the party does not match, and a claim without members allows nobody.
    pub fn allows(&self, party: &ActingParty<'_>) -> bool {
        let met = |(name, value): (&String, &Value)| match name.as_str() {
            "sub" => value == party.sub,
            "iss" => value == party.iss,
            "client_id" => value == party.client_id,
            _ => false,
        };
        let named = self.0.contains_key("sub") || self.0.contains_key("client_id");
        named && self.0.iter().all(met)
    }
}

/// `amr` as an array of names (OpenID Connect Core 2); unknown names are ignored.
pub(crate) mod amr {
    use super::{Amr, AuthenticationMethod, Deserialize, Deserializer, Object, SmolStr};

    /// Writes the claim; omitted if the set is empty.
    pub(crate) fn write(amr: Amr, object: &mut Object) {
        if !amr.is_empty() {
            object.texts("amr", amr.iter().map(AuthenticationMethod::as_str));
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Amr, D::Error> {
        const KNOWN: [AuthenticationMethod; 5] = [
            AuthenticationMethod::Pwd,
            AuthenticationMethod::Otp,
            AuthenticationMethod::Hwk,
            AuthenticationMethod::Mfa,
            AuthenticationMethod::AdminApi,
        ];
        let names = Vec::<SmolStr>::deserialize(deserializer)?;
        let known = KNOWN.into_iter().filter(|method| names.iter().any(|name| name == method.as_str()));
        Ok(known.fold(Amr::default(), Amr::with))
    }
}

/// A list of names.
pub(crate) mod names {
    use serde::de::IgnoredAny;

    use super::{Deserialize, Deserializer, SmolStr};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Names {
        List(Vec<SmolStr>),
        Other(IgnoredAny),
    }

    /// Reads a list of names; whatever else stands there is as if it were absent.
    pub(crate) fn if_they_are<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Vec<SmolStr>>, D::Error> {
        match Names::deserialize(deserializer)? {
            Names::List(names) => Ok(Some(names)),
            Names::Other(IgnoredAny) => Ok(None),
        }
    }
}

/// NumericDate (RFC 7519 2): seconds; a fraction is dropped.
pub(crate) mod numeric_date {
    use super::{Deserializer, Visitor, de, fmt};

    struct Seconds;

    impl Visitor<'_> for Seconds {
        type Value = u64;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("seconds since 1970")
        }

        fn visit_u64<E: de::Error>(self, seconds: u64) -> Result<u64, E> {
            Ok(seconds)
        }

        fn visit_i64<E: de::Error>(self, seconds: i64) -> Result<u64, E> {
            u64::try_from(seconds).map_err(|_| E::custom("a time before 1970"))
        }

        fn visit_f64<E: de::Error>(self, seconds: f64) -> Result<u64, E> {
            // Above 2^53, a float cannot represent every whole second.
            if !(0.0..9_007_199_254_740_992.0).contains(&seconds) {
                return Err(E::custom("a time out of range"));
            }
            Ok(seconds as u64)
        }
    }

    pub(crate) fn required<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        deserializer.deserialize_any(Seconds)
    }

    pub(crate) fn optional<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
        required(deserializer).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_is_a_string_and_more_are_an_array() {
        for (values, json) in [(&["a"][..], r#""a""#), (&["a", "b", "a"], r#"["a","b"]"#), (&[], "[]")] {
            let claim = OneOrMany::of(values.iter().copied());
            assert_eq!(serde_json::to_string(&claim).unwrap(), json);
            assert_eq!(serde_json::from_str::<OneOrMany>(json).unwrap(), claim);
        }
        assert!(serde_json::from_str::<OneOrMany>("7").is_err());
    }

    #[test]
    fn a_chain_of_actors_is_kept_whole() {
        let first = Actor::new("client:a", Some("a"));
        let second = Actor::new("client:b", None).after(Some(&first));
        let third = Actor::new("client:c", None).after(None).after(Some(&second));
        assert_eq!((first.depth(), second.depth(), third.depth()), (1, 2, 3));
        let json = serde_json::to_value(&third).unwrap();
        assert_eq!(json["sub"], "client:c");
        assert_eq!(json["act"]["act"]["client_id"], "a");
        let both = second.clone().after(Some(&third));
        assert_eq!(both.depth(), 5, "an actor's own chain comes before the subject's");
        for bad in [r#"{"sub":"a","act":1}"#, r#"{"act":{"sub":"a","act":null}}"#, "[]", r#""a""#] {
            assert!(serde_json::from_str::<Actor>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn may_act_names_one_party_by_members_that_are_all_understood() {
        let party = ActingParty { sub: "client:a", iss: "https://op", client_id: "a" };
        for (json, allowed) in [
            (r#"{"sub":"client:a"}"#, true),
            (r#"{"sub":"client:a","iss":"https://op"}"#, true),
            (r#"{"client_id":"a"}"#, true),
            (r#"{"sub":"client:a","client_id":"b"}"#, false),
            (r#"{"sub":"client:b"}"#, false),
            (r#"{"sub":"client:a","iss":"https://other"}"#, false),
            (r#"{"sub":"client:a","email":"a@example.com"}"#, false),
            (r#"{"iss":"https://op"}"#, false),
            (r#"{"sub":["client:a"]}"#, false),
            ("{}", false),
        ] {
            let may_act: MayAct = serde_json::from_str(json).unwrap();
            assert_eq!(may_act.allows(&party), allowed, "{json}");
        }
    }
}
