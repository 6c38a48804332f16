//! How an issuer's pages present it: name, colours, links and texts.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::redirect_uri;

/// The longest name, in characters.
const LONGEST_NAME: usize = 80;
/// The longest text, in characters.
const LONGEST_TEXT: usize = 500;
/// The longest link, in bytes.
const LONGEST_URI: usize = 2048;
/// The contrast that text needs (WCAG 2.2, success criterion 1.4.3).
const LEAST_CONTRAST: f64 = 4.5;

/// What links and the button's text stand on or beside, in the light and in the dark scheme of the style sheet.
pub const LIGHT_GROUNDS: [Colour; 2] = [Colour([0xff, 0xff, 0xff]), Colour([0xf4, 0xf2, 0xee])];
/// As [`LIGHT_GROUNDS`]; the first is the button's text.
pub const DARK_GROUNDS: [Colour; 2] = [Colour([0x06, 0x23, 0x1f]), Colour([0x1a, 0x21, 0x1f])];

/// The branding of an issuer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Branding {
    /// The name on pages and in mail, instead of the issuer's address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The colour of buttons and links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accent: Option<Accent>,
    /// Where people find help.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help_uri: Option<String>,
    /// The privacy policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy_uri: Option<String>,
    /// The terms of service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tos_uri: Option<String>,
    /// A text above every page's card.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intro: Option<String>,
    /// A text at the foot of every page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foot: Option<String>,
}

/// The accent colour in both schemes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accent {
    /// Where the page is light: the button's text is white.
    pub light: Colour,
    /// Where it is dark: the button's text is nearly black.
    pub dark: Colour,
}

/// A colour, written `#rrggbb`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Colour([u8; 3]);

impl TryFrom<String> for Colour {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        const WRITTEN: &str = "a colour is written #rrggbb";
        let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6).ok_or(WRITTEN)?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(WRITTEN);
        }
        let number = u32::from_str_radix(digits, 16).map_err(|_| WRITTEN)?;
        let [_, red, green, blue] = number.to_be_bytes();
        Ok(Self([red, green, blue]))
    }
}

impl From<Colour> for String {
    fn from(colour: Colour) -> Self {
        colour.to_string()
    }
}

impl fmt::Display for Colour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [red, green, blue] = self.0;
        write!(f, "#{red:02x}{green:02x}{blue:02x}")
    }
}

impl Colour {
    /// Relative luminance as WCAG 2.2 defines it.
    fn luminance(self) -> f64 {
        let [red, green, blue] = self.0.map(|channel| {
            let channel = f64::from(channel) / 255.0;
            if channel <= 0.040_45 { channel / 12.92 } else { ((channel + 0.055) / 1.055).powf(2.4) }
        });
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    /// The contrast ratio of two colours as WCAG 2.2 defines it, 1 to 21.
    pub fn contrast(self, other: Self) -> f64 {
        let (own, others) = (self.luminance(), other.luminance());
        (own.max(others) + 0.05) / (own.min(others) + 0.05)
    }
}

impl Branding {
    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Checks lengths, links and contrast.
    ///
    /// # Errors
    /// The member and what is wrong with it; of a colour the ratio that it has.
    pub fn validate(&self) -> Result<(), String> {
        let texts = [
            ("name", &self.name, LONGEST_NAME),
            ("intro", &self.intro, LONGEST_TEXT),
            ("foot", &self.foot, LONGEST_TEXT),
        ];
        for (member, text, longest) in texts {
            let is_sound = |text: &String| {
                !text.trim().is_empty()
                    && text.chars().count() <= longest
                    && !text.chars().any(char::is_control)
            };
            if !text.as_ref().is_none_or(is_sound) {
                return Err(format!("branding.{member} must be 1 to {longest} characters on one line"));
            }
        }
        let links =
            [("help_uri", &self.help_uri), ("policy_uri", &self.policy_uri), ("tos_uri", &self.tos_uri)];
        for (member, uri) in links {
            // A `javascript:` URI would run at the provider's origin.
            let is_sound = |uri: &String| uri.len() <= LONGEST_URI && redirect_uri::origin(uri).is_some();
            if !uri.as_ref().is_none_or(is_sound) {
                return Err(format!("branding.{member} must be an http or https URL"));
            }
        }
        self.accent.as_ref().map_or(Ok(()), Accent::validate)
    }
}

impl Accent {
    fn validate(&self) -> Result<(), String> {
        for (member, colour, grounds) in
            [("light", self.light, LIGHT_GROUNDS), ("dark", self.dark, DARK_GROUNDS)]
        {
            for ground in grounds {
                let ratio = colour.contrast(ground);
                if ratio < LEAST_CONTRAST {
                    // Rounded down, so that no refused ratio is told as sufficient.
                    let ratio = (ratio * 100.0).floor() / 100.0;
                    return Err(format!(
                        "branding.accent.{member} has a contrast of {ratio:.2}:1 with {ground}, and needs 4.5:1"
                    ));
                }
            }
        }
        Ok(())
    }

    /// The style sheet that puts the colours in the place of the provider's own.
    pub fn style_sheet(&self) -> String {
        let scheme = |colour: Colour| {
            format!(
                ":root{{--accent:{colour};--accent-strong:{colour};--button:{colour};--button-strong:{colour};\
                 --tint:var(--sunken)}}"
            )
        };
        format!("{}@media (prefers-color-scheme:dark){{{}}}\n", scheme(self.light), scheme(self.dark))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn told(value: Value) -> String {
        match serde_json::from_value::<Branding>(value) {
            Ok(branding) => branding.validate().err().unwrap_or_default(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn contrast_is_that_of_wcag() {
        let colour = |text: &str| Colour::try_from(text.to_owned()).unwrap();
        assert!((colour("#000000").contrast(colour("#ffffff")) - 21.0).abs() < 1e-9);
        assert!((colour("#777777").contrast(colour("#ffffff")) - 4.478).abs() < 1e-3);
        assert_eq!(colour("#0F665d").to_string(), "#0f665d");
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_its_ratio() {
        let accent = |light, dark| json!({ "accent": { "light": light, "dark": dark } });
        assert_eq!(told(accent("#0f665d", "#56bcad")), "");
        assert_eq!(
            told(accent("#777777", "#56bcad")),
            "branding.accent.light has a contrast of 4.47:1 with #ffffff, and needs 4.5:1"
        );
        assert!(told(accent("#0f665d", "#0f665d")).starts_with("branding.accent.dark has a contrast of"));
        for wrong in ["red", "#fff", "#12345g", "#1234567", "url(x)", "#+12345", "#éab0"] {
            assert!(told(accent(wrong, "#56bcad")).contains("#rrggbb"), "{wrong}");
        }
    }

    #[test]
    fn links_are_of_the_web_and_texts_are_bounded() {
        assert_eq!(
            told(json!({ "policy_uri": "https://example.com/privacy", "name": "Acme", "foot": "Hi" })),
            ""
        );
        for (value, member) in [
            (json!({ "help_uri": "javascript:alert(1)" }), "branding.help_uri"),
            (json!({ "tos_uri": "data:text/html,x" }), "branding.tos_uri"),
            (json!({ "name": " " }), "branding.name"),
            (json!({ "name": "x".repeat(81) }), "branding.name"),
            (json!({ "intro": "a\u{0}b" }), "branding.intro"),
            (json!({ "foot": "x".repeat(501) }), "branding.foot"),
            (json!({ "colour": "#000000" }), "unknown field"),
        ] {
            assert!(told(value.clone()).starts_with(member), "{value}");
        }
    }

    #[test]
    fn a_style_sheet_has_colours_only() {
        let accent: Accent =
            serde_json::from_value(json!({ "light": "#0F665D", "dark": "#56bcad" })).unwrap();
        let sheet = accent.style_sheet();
        assert!(
            sheet.starts_with(":root{--accent:#0f665d;") && sheet.contains("dark){:root{--accent:#56bcad;")
        );
    }
}
