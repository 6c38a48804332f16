//! Authentication context classes (`acr`, OpenID Connect Core 2): what a sign-in proved, in one word.
//!
//! A class follows from the session's `amr`, so nothing is kept for it. A request asks for classes by `acr_values` (Core
//! 3.1.2.1), a client by `default_acr_values` (OpenID Connect Registration 2). Both are voluntary, and so is the claim `acr` in
//! the parameter `claims` unless it is essential there (Core 5.5.1.1): whoever has nothing that
//! would satisfy them gets the code all the same, and `acr` says what was proven. Only the setting `second_factor` makes a second factor
//! of it that must be.

use serde::{Deserialize, Serialize};

use crate::session::{Amr, AuthenticationMethod};

/// An authentication context class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Acr {
    /// One factor.
    #[serde(rename = "urn:symbolon:acr:1")]
    OneFactor,
    /// Two factors of different kinds.
    #[serde(rename = "urn:symbolon:acr:2")]
    TwoFactors,
    /// Resistant to phishing (OpenID Connect Extended Authentication Profile ACR Values 1.0, 3).
    #[serde(rename = "phr")]
    PhishingResistant,
    /// The same, by a key that hardware holds.
    #[serde(rename = "phrh")]
    PhishingResistantHardware,
}

impl Acr {
    /// Every class, the weakest first.
    pub const ALL: [Self; 4] =
        [Self::OneFactor, Self::TwoFactors, Self::PhishingResistant, Self::PhishingResistantHardware];

    /// The value in requests and tokens.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OneFactor => "urn:symbolon:acr:1",
            Self::TwoFactors => "urn:symbolon:acr:2",
            Self::PhishingResistant => "phr",
            Self::PhishingResistantHardware => "phrh",
        }
    }

    /// Reads a value; `None` for a class of somebody else.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.as_str() == text)
    }

    /// The highest class that these methods satisfy; `None` for a session that nobody signed in to.
    pub fn of(amr: Amr) -> Option<Self> {
        let has = |method| amr.contains(method);
        if has(AuthenticationMethod::Hwk) {
            Some(Self::PhishingResistantHardware)
        } else if has(AuthenticationMethod::Swk) {
            Some(Self::PhishingResistant)
        } else if has(AuthenticationMethod::Mfa) {
            Some(Self::TwoFactors)
        } else if [AuthenticationMethod::Pwd, AuthenticationMethod::Otp, AuthenticationMethod::Federated]
            .into_iter()
            .any(has)
        {
            Some(Self::OneFactor)
        } else {
            None
        }
    }
}

/// The classes that a request asks for, in its order of preference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<&'static str>")]
pub struct RequestedAcr([Option<Acr>; Acr::ALL.len()]);

impl RequestedAcr {
    /// Reads `acr_values`: values separated by spaces. Unknown ones are ignored: they are voluntary (Core 5.5.1.1).
    pub fn parse(values: &str) -> Self {
        Self::of(values.split(' '))
    }

    /// The classes among some values. Unknown ones are ignored.
    pub fn of<'a>(values: impl Iterator<Item = &'a str>) -> Self {
        let mut asked = Self::default();
        values.filter_map(Acr::parse).for_each(|class| asked.add(class));
        asked
    }

    /// The classes that a request asks for: those of its `acr_values`, else those that its client registered as
    /// `default_acr_values` (OpenID Connect Registration 2).
    pub fn requested(acr_values: Option<&str>, registered: Self) -> Self {
        acr_values.map_or(registered, Self::parse)
    }

    fn add(&mut self, class: Acr) {
        if !self.0.contains(&Some(class))
            && let Some(free) = self.0.iter_mut().find(|place| place.is_none())
        {
            *free = Some(class);
        }
    }

    /// Whether none is asked for.
    pub fn is_empty(&self) -> bool {
        self.0[0].is_none()
    }

    /// Whether one factor satisfies none of the classes that are asked for.
    pub fn needs_second_factor(&self) -> bool {
        !self.is_empty() && self.iter().all(|class| class > Acr::OneFactor)
    }

    /// The classes.
    pub fn iter(&self) -> impl Iterator<Item = Acr> {
        self.0.into_iter().flatten()
    }

    /// The asked class that these methods satisfy and that is preferred: a client compares the claim with what it asked for.
    /// Each class satisfies those below it.
    pub fn satisfied_by(&self, amr: Amr) -> Option<Acr> {
        let proven = Acr::of(amr)?;
        self.iter().find(|asked| *asked <= proven)
    }
}

impl TryFrom<Vec<String>> for RequestedAcr {
    type Error = String;

    /// A registered list must be one that this provider can satisfy: nothing else would ever be asked of anybody.
    fn try_from(values: Vec<String>) -> Result<Self, String> {
        let mut asked = Self::default();
        for value in &values {
            let known = Acr::ALL.map(Acr::as_str).join(", ");
            asked.add(Acr::parse(value).ok_or_else(|| format!("the values are {known}"))?);
        }
        Ok(asked)
    }
}

impl From<RequestedAcr> for Vec<&'static str> {
    fn from(asked: RequestedAcr) -> Self {
        asked.iter().map(Acr::as_str).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amr(methods: &[AuthenticationMethod]) -> Amr {
        methods.iter().fold(Amr::default(), |amr, method| amr.with(*method))
    }

    #[test]
    fn the_class_follows_from_the_methods() {
        use AuthenticationMethod::{AdminApi, Device, Hwk, Mfa, Otp, Pwd, Swk};
        for (methods, class) in [
            (vec![Pwd], Some("urn:symbolon:acr:1")),
            (vec![Otp], Some("urn:symbolon:acr:1")),
            (vec![Pwd, Otp], Some("urn:symbolon:acr:1")),
            (vec![Pwd, Device], Some("urn:symbolon:acr:1")),
            (vec![Pwd, Otp, Mfa], Some("urn:symbolon:acr:2")),
            (vec![Swk, Mfa], Some("phr")),
            (vec![Hwk, Mfa], Some("phrh")),
            (vec![Pwd, Hwk, Mfa], Some("phrh")),
            (vec![AdminApi], None),
            (vec![], None),
        ] {
            assert_eq!(Acr::of(amr(&methods)).map(Acr::as_str), class, "{methods:?}");
        }
    }

    #[test]
    fn the_claim_is_the_asked_class_that_is_satisfied() {
        let passkey = amr(&[AuthenticationMethod::Swk, AuthenticationMethod::Mfa]);
        let password = amr(&[AuthenticationMethod::Pwd]);
        for (asked, amr, claim) in [
            ("urn:symbolon:acr:2", passkey, Some(Acr::TwoFactors)),
            ("phrh urn:symbolon:acr:2", passkey, Some(Acr::TwoFactors)),
            ("phr urn:symbolon:acr:2", passkey, Some(Acr::PhishingResistant)),
            ("phrh", passkey, None),
            ("urn:symbolon:acr:2 urn:symbolon:acr:1", password, Some(Acr::OneFactor)),
            ("urn:symbolon:acr:2", password, None),
            ("", passkey, None),
        ] {
            assert_eq!(RequestedAcr::parse(asked).satisfied_by(amr), claim, "{asked}");
        }
    }

    #[test]
    fn a_second_factor_is_needed_where_one_satisfies_no_class() {
        for (asked, needs) in [
            ("urn:symbolon:acr:2", true),
            ("phrh phr", true),
            ("urn:symbolon:acr:2 urn:symbolon:acr:1", false),
            ("urn:symbolon:acr:1", false),
            ("gold", false),
            ("", false),
        ] {
            assert_eq!(RequestedAcr::parse(asked).needs_second_factor(), needs, "{asked}");
        }
    }

    #[test]
    fn unknown_values_are_ignored_in_a_request_and_refused_in_a_registration() {
        let asked = RequestedAcr::parse("gold phr  phr urn:mace:incommon:iap:silver phrh phr");
        assert_eq!(asked.iter().map(Acr::as_str).collect::<Vec<_>>(), ["phr", "phrh"]);
        assert!(RequestedAcr::parse("gold").is_empty() && RequestedAcr::parse("").is_empty());
        let read = |values: serde_json::Value| serde_json::from_value::<RequestedAcr>(values);
        assert_eq!(read(serde_json::json!(["phr", "phrh"])).unwrap(), asked);
        assert_eq!(serde_json::json!(asked), serde_json::json!(["phr", "phrh"]));
        assert!(read(serde_json::json!(["gold"])).is_err() && read(serde_json::json!("phr")).is_err());
    }
}
