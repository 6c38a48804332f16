//! The setting `pkce` of issuers and clients, and `require_pkce`, its name in earlier versions.

use std::fmt;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// The setting's name.
const NAME: &str = "pkce";
/// Its name in earlier versions: `true` means `required`, `false` means `optional`.
const EARLIER_NAME: &str = "require_pkce";

/// What confidential clients must send against injected authorization codes (RFC 9700 2.1.1). Public clients must
/// always use PKCE, whatever the policy says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PkcePolicy {
    /// PKCE.
    Required,
    /// PKCE or, in an OpenID request, a `nonce`.
    #[default]
    OrNonce,
    /// Neither.
    Optional,
}

impl PkcePolicy {
    /// Every policy.
    pub const ALL: [Self; 3] = [Self::Required, Self::OrNonce, Self::Optional];

    /// Which protection is missing under a policy that asks for [less than the default](Self::is_below_default).
    pub const WEAKENS: &'static str = "Where a client sends neither PKCE nor a nonce, an authorization code that somebody \
                               stole and injected into another browser goes unnoticed (RFC 9700 2.1.1).";

    /// Whom a policy that asks for more than the default keeps out, and what mends it.
    pub const KEEPS_OUT: &'static str = "A confidential client that sends a nonce and no PKCE is refused; pkce=or_nonce, the \
                               default, lets it sign in.";

    /// The setting's value.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Required => "required",
            Self::OrNonce => "or_nonce",
            Self::Optional => "optional",
        }
    }

    /// Reads the setting's value.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.as_str() == text)
    }

    /// Whether it asks for less than RFC 9700 2.1.1 recommends. Administrators are warned of it.
    pub const fn is_below_default(self) -> bool {
        matches!(self, Self::Optional)
    }

    /// The policy that a value of `require_pkce` means.
    const fn of_require_pkce(required: bool) -> Self {
        if required { Self::Required } else { Self::Optional }
    }

    /// The value of `require_pkce` that means the same; none for `or_nonce`, which earlier versions did not have.
    const fn as_require_pkce(self) -> Option<bool> {
        match self {
            Self::Required => Some(true),
            Self::OrNonce => None,
            Self::Optional => Some(false),
        }
    }
}

/// Also reads the `true` and `false` of a stored `require_pkce`.
impl<'de> Deserialize<'de> for PkcePolicy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PolicyVisitor)
    }
}

struct PolicyVisitor;

impl Visitor<'_> for PolicyVisitor {
    type Value = PkcePolicy;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("required, or_nonce or optional")
    }

    fn visit_bool<E: Error>(self, required: bool) -> Result<PkcePolicy, E> {
        Ok(PkcePolicy::of_require_pkce(required))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<PkcePolicy, E> {
        PkcePolicy::parse(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

/// Adds `require_pkce` to settings that are shown, for scripts that read this name. Left out where the policy is
/// `or_nonce`: a script that writes back what it read must not change the policy.
pub fn show_earlier_name(settings: &mut Map<String, Value>) {
    let policy = settings.get(NAME).and_then(Value::as_str).and_then(PkcePolicy::parse);
    if let Some(required) = policy.and_then(PkcePolicy::as_require_pkce) {
        settings.insert(EARLIER_NAME.to_owned(), required.into());
    }
}

/// Replaces a `require_pkce` among settings that somebody sent by the `pkce` that means the same. `null` stands for
/// the default, as for every setting.
///
/// # Errors
/// A sentence that begins with the setting's name: a value that is not valid, or two values that differ.
pub fn read_earlier_name(settings: &mut Map<String, Value>) -> Result<(), &'static str> {
    // Checked here, because the error must name the setting, and because `true` and `false`, which stored records may
    // have, are values of the earlier name only.
    let is_valid = |policy: &Value| policy.is_null() || policy.as_str().and_then(PkcePolicy::parse).is_some();
    if !settings.get(NAME).is_none_or(is_valid) {
        return Err("pkce is not valid: it is required, or_nonce or optional");
    }
    let meant = match settings.remove(EARLIER_NAME) {
        None => return Ok(()),
        Some(Value::Null) => Value::Null,
        Some(Value::Bool(required)) => PkcePolicy::of_require_pkce(required).as_str().into(),
        Some(_) => return Err("require_pkce is not valid: it is true or false"),
    };
    match settings.get(NAME) {
        None => drop(settings.insert(NAME.to_owned(), meant)),
        Some(given) if meant.is_null() || *given == meant => {}
        Some(_) => return Err("pkce and require_pkce contradict each other: send pkce alone"),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        let Value::Object(object) = value else { panic!("an object") };
        object
    }

    #[test]
    fn a_policy_is_written_by_name_and_read_by_name_or_as_the_earlier_setting() {
        for policy in PkcePolicy::ALL {
            assert_eq!(json!(policy), policy.as_str());
            assert_eq!(serde_json::from_value::<PkcePolicy>(json!(policy.as_str())).unwrap(), policy);
        }
        assert_eq!(serde_json::from_value::<PkcePolicy>(json!(true)).unwrap(), PkcePolicy::Required);
        assert_eq!(serde_json::from_value::<PkcePolicy>(json!(false)).unwrap(), PkcePolicy::Optional);
        for bad in [json!("Required"), json!(""), json!(1), json!(null), json!({}), json!(["required"])] {
            assert!(serde_json::from_value::<PkcePolicy>(bad.clone()).is_err(), "{bad}");
        }
        assert_eq!(PkcePolicy::default(), PkcePolicy::OrNonce);
        assert_eq!(PkcePolicy::ALL.map(PkcePolicy::is_below_default), [false, false, true]);
    }

    #[test]
    fn the_earlier_name_is_read_as_the_policy_that_it_means() {
        for (sent, read) in [
            (json!({}), json!({})),
            (json!({ "pkce": "or_nonce" }), json!({ "pkce": "or_nonce" })),
            (json!({ "require_pkce": true }), json!({ "pkce": "required" })),
            (json!({ "require_pkce": false }), json!({ "pkce": "optional" })),
            (json!({ "require_pkce": null }), json!({ "pkce": null })),
            (json!({ "require_pkce": null, "pkce": "required" }), json!({ "pkce": "required" })),
            (json!({ "require_pkce": true, "pkce": "required" }), json!({ "pkce": "required" })),
            (json!({ "require_pkce": false, "pkce": "optional" }), json!({ "pkce": "optional" })),
        ] {
            let mut settings = object(sent.clone());
            assert_eq!(read_earlier_name(&mut settings), Ok(()), "{sent}");
            assert_eq!(Value::Object(settings), read, "{sent}");
        }
    }

    #[test]
    fn values_that_are_not_valid_or_differ_are_refused() {
        for (sent, begins) in [
            (json!({ "require_pkce": "yes" }), "require_pkce is not valid"),
            (json!({ "require_pkce": "required" }), "require_pkce is not valid"),
            (json!({ "pkce": false }), "pkce is not valid"),
            (json!({ "pkce": "never" }), "pkce is not valid"),
            (json!({ "pkce": ["required"] }), "pkce is not valid"),
            (json!({ "require_pkce": true, "pkce": "or_nonce" }), "pkce and require_pkce contradict"),
            (json!({ "require_pkce": false, "pkce": "or_nonce" }), "pkce and require_pkce contradict"),
            (json!({ "require_pkce": false, "pkce": null }), "pkce and require_pkce contradict"),
        ] {
            let why = read_earlier_name(&mut object(sent.clone())).unwrap_err();
            assert!(why.starts_with(begins), "{sent}: {why}");
        }
    }

    #[test]
    fn what_is_shown_can_be_sent_back() {
        for policy in PkcePolicy::ALL {
            let mut shown = object(json!({ "pkce": policy }));
            show_earlier_name(&mut shown);
            assert_eq!(shown.get("require_pkce").and_then(Value::as_bool), policy.as_require_pkce());
            assert_eq!(read_earlier_name(&mut shown), Ok(()));
            assert_eq!(Value::Object(shown), json!({ "pkce": policy }));
        }
    }
}
