//! The variables of the pages' style sheet that a branding may set: colours in both schemes, lengths, fonts, the shadow.
//!
//! Each has a type and bounds, and is written anew from its type, so that no rule, no address and no import gets into a sheet.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::colour::Colour;
use crate::unknown_member;

/// What a variable holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// A colour: the style sheet's own where the page is light, and where it is dark.
    Colour([Colour; 2]),
    /// A length: the shortest and the longest, in pixels.
    Length([f64; 2]),
    /// Names of fonts that the browser's system has.
    Fonts,
    /// Of the shadow of cards only that there is none.
    Shadow,
}

/// The types of variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableKind {
    /// A colour for each scheme.
    Colour,
    /// A length in `px` or `rem`.
    Length,
    /// A list of fonts.
    Fonts,
    /// Whether there is a shadow.
    Shadow,
}

const fn colour(light: u32, dark: u32) -> Kind {
    Kind::Colour([Colour::of(light), Colour::of(dark)])
}

/// Every variable, without the `--` of its name in the sheet.
pub(super) const DEFINED: [(&str, Kind); 25] = [
    ("ground", colour(0xf6_f4_f0, 0x11_16_15)),
    ("surface", colour(0xff_ff_ff, 0x1a_21_1f)),
    ("sunken", colour(0xf4_f2_ee, 0x13_19_18)),
    ("ink", colour(0x1d_25_23, 0xe8_ec_e9)),
    ("muted", colour(0x5b_66_63, 0xa3_af_ab)),
    ("line", colour(0xde_da_d2, 0x2d_37_34)),
    ("edge", colour(0x8b_93_8f, 0x73_80_7b)),
    ("accent", colour(0x0f_66_5d, 0x6f_d0_c1)),
    ("accent-strong", colour(0x0a_4f_48, 0x93_df_d3)),
    ("button", colour(0x0f_66_5d, 0x56_bc_ad)),
    ("button-strong", colour(0x0a_4f_48, 0x74_d0_c2)),
    ("on-button", colour(0xff_ff_ff, 0x06_23_1f)),
    ("tint", colour(0xe4_f1_ee, 0x17_33_2e)),
    ("clay", colour(0xc2_58_2f, 0xe0_8a_63)),
    ("clay-ink", colour(0xa3_48_1f, 0xe0_8a_63)),
    ("verdigris", colour(0x16_79_6f, 0x4f_b7_a8)),
    ("danger", colour(0xa3_2a_20, 0xff_b0_a5)),
    ("danger-tint", colour(0xfc_ed_ea, 0x38_1c_19)),
    ("danger-line", colour(0xec_c0_ba, 0x6b_33_2c)),
    ("radius", Kind::Length([0.0, 32.0])),
    ("control-radius", Kind::Length([0.0, 24.0])),
    ("spacing", Kind::Length([12.0, 64.0])),
    ("shadow", Kind::Shadow),
    ("sans", Kind::Fonts),
    ("mono", Kind::Fonts),
];

/// The most fonts of a list.
const MOST_FONTS: usize = 8;
/// The longest name of a font, in characters.
const LONGEST_FONT: usize = 40;
/// Names that stand for whatever the system has; without quotation marks in a sheet. A list ends with one of them.
const GENERIC: [&str; 9] = [
    "sans-serif",
    "serif",
    "monospace",
    "system-ui",
    "ui-sans-serif",
    "ui-serif",
    "ui-monospace",
    "ui-rounded",
    "-apple-system",
];
/// Pixels of one `rem`.
const PIXELS_PER_REM: f64 = 16.0;

/// The colour of a variable in each scheme; where one is left out, the style sheet's own stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Shades {
    /// Where the page is light.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) light: Option<Colour>,
    /// Where it is dark.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) dark: Option<Colour>,
}

/// The value of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Variable {
    Colour(Shades),
    /// As it was written: a number, and `px` or `rem`.
    Length(String),
    Fonts(Vec<String>),
    /// None.
    Shadow,
}

/// Variables by name. In JSON an object: a colour is `{"light": "#rrggbb", "dark": "#rrggbb"}`, a length `"12px"` or `"1.5rem"`,
/// fonts are a list of names, and the shadow is `"none"`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Map<String, Value>", into = "Map<String, Value>")]
pub struct Variables(BTreeMap<&'static str, Variable>);

impl Variables {
    /// Whether none is set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names of the variables that there are.
    pub fn names() -> [&'static str; DEFINED.len()] {
        DEFINED.map(|(name, _)| name)
    }

    /// The names with what each holds.
    pub fn kinds() -> impl Iterator<Item = (&'static str, VariableKind)> {
        DEFINED.into_iter().map(|(name, kind)| {
            let kind = match kind {
                Kind::Colour(_) => VariableKind::Colour,
                Kind::Length(_) => VariableKind::Length,
                Kind::Fonts => VariableKind::Fonts,
                Kind::Shadow => VariableKind::Shadow,
            };
            (name, kind)
        })
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&'static str, &Variable)> {
        self.0.iter().map(|(name, variable)| (*name, variable))
    }

    /// The shades of a colour, as far as they are set.
    pub(super) fn shades(&self, name: &str) -> Shades {
        match self.0.get(name) {
            Some(Variable::Colour(shades)) => *shades,
            _ => Shades::default(),
        }
    }

    /// All variables as a merge patch (RFC 7396) that leaves exactly these set: `null` for those that are not.
    pub fn to_patch(&self) -> Map<String, Value> {
        let mut patch: Map<String, Value> = self.clone().into();
        for (name, kind) in DEFINED {
            let value = patch.entry(name).or_insert(Value::Null);
            if let (Kind::Colour(_), Value::Object(shades)) = (kind, value) {
                shades.entry("light").or_insert(Value::Null);
                shades.entry("dark").or_insert(Value::Null);
            }
        }
        patch
    }

    pub(super) fn insert(&mut self, name: &'static str, variable: Variable) {
        self.0.insert(name, variable);
    }
}

/// A variable by its name.
///
/// # Errors
/// That there is none, with the nearest name.
pub(super) fn defined(name: &str) -> Result<(&'static str, Kind), String> {
    let found = DEFINED.into_iter().find(|(own, _)| *own == name);
    found.ok_or_else(|| {
        let known = Variables::names();
        match unknown_member::nearest(name, known.into_iter()) {
            Some(nearest) => format!("is no variable of the pages; did you mean {nearest}?"),
            None => format!("is no variable of the pages: there are {}", known.join(", ")),
        }
    })
}

impl TryFrom<Map<String, Value>> for Variables {
    type Error = String;

    fn try_from(object: Map<String, Value>) -> Result<Self, Self::Error> {
        let mut all = Self::default();
        for (name, value) in object.into_iter().filter(|(_, value)| !value.is_null()) {
            let shown = || name.chars().filter(|c| !c.is_control()).take(64).collect::<String>();
            let wrong = |why: String| format!("variables.{} {why}", shown());
            let (name, kind) = defined(&name).map_err(wrong)?;
            all.insert(name, read(kind, value).map_err(|why| format!("variables.{name}: {why}"))?);
        }
        Ok(all)
    }
}

impl From<Variables> for Map<String, Value> {
    fn from(variables: Variables) -> Self {
        let value = |variable| match variable {
            Variable::Colour(shades) => serde_json::to_value(shades).unwrap_or_default(),
            Variable::Length(text) => text.into(),
            Variable::Fonts(names) => names.into(),
            Variable::Shadow => "none".into(),
        };
        variables.0.into_iter().map(|(name, variable)| (name.to_owned(), value(variable))).collect()
    }
}

fn read(kind: Kind, value: Value) -> Result<Variable, String> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    match kind {
        Kind::Colour(_) => {
            let shades: Shades = serde_json::from_value(value).map_err(|error| error.to_string())?;
            if shades == Shades::default() {
                return Err("name light, dark or both".to_owned());
            }
            Ok(Variable::Colour(shades))
        }
        Kind::Length(bounds) => length(&text(&value).unwrap_or_default(), bounds).map(Variable::Length),
        Kind::Fonts => {
            let names: Vec<String> = serde_json::from_value(value).map_err(|error| error.to_string())?;
            fonts(names).map(Variable::Fonts)
        }
        Kind::Shadow => shadow(&text(&value).unwrap_or_default()),
    }
}

/// Checks a length.
///
/// # Errors
/// How it is written, or its bounds.
pub(super) fn length(text: &str, [shortest, longest]: [f64; 2]) -> Result<String, String> {
    let written = || format!("a length is written 12px or 0.75rem, from {shortest}px to {longest}px");
    let in_unit = |unit, pixels: f64| text.strip_suffix(unit).map(|number| (number, pixels));
    let (number, pixels) =
        in_unit("px", 1.0).or_else(|| in_unit("rem", PIXELS_PER_REM)).ok_or_else(written)?;
    let is_number = number.len() <= 6
        && number.starts_with(|c: char| c.is_ascii_digit())
        && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let length = number.parse::<f64>().ok().filter(|_| is_number).ok_or_else(written)? * pixels;
    if (shortest..=longest).contains(&length) { Ok(text.to_owned()) } else { Err(written()) }
}

/// Checks a list of fonts.
///
/// # Errors
/// What is wrong with it.
pub(super) fn fonts(names: Vec<String>) -> Result<Vec<String>, String> {
    let is_name = |name: &String| {
        GENERIC.contains(&name.as_str())
            || name.len() <= LONGEST_FONT
                && name.starts_with(|c: char| c.is_ascii_alphabetic())
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'-' | b'_'))
    };
    if !(1..=MOST_FONTS).contains(&names.len()) {
        return Err(format!("a list has 1 to {MOST_FONTS} fonts"));
    }
    if let Some(wrong) = names.iter().find(|name| !is_name(name)) {
        let shown: String = wrong.chars().filter(|c| !c.is_control()).take(LONGEST_FONT).collect();
        return Err(format!(
            "{shown} is no font: a name has letters, digits, spaces and hyphens, {LONGEST_FONT} at most"
        ));
    }
    if !names.last().is_some_and(|last| GENERIC.contains(&last.as_str())) {
        return Err("the last font is a generic one, such as sans-serif or monospace".to_owned());
    }
    Ok(names)
}

/// Checks the shadow.
///
/// # Errors
/// What it may be.
pub(super) fn shadow(text: &str) -> Result<Variable, String> {
    if text == "none" { Ok(Variable::Shadow) } else { Err("the shadow may only be none".to_owned()) }
}

/// A list of fonts as a sheet has it.
pub(super) fn written(fonts: &[String]) -> String {
    let one = |name: &String| match GENERIC.contains(&name.as_str()) {
        true => name.clone(),
        false => format!("\"{name}\""),
    };
    fonts.iter().map(one).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(value: Value) -> Result<Variables, String> {
        serde_json::from_value(value).map_err(|error| error.to_string())
    }

    #[test]
    fn the_variables_are_those_of_the_style_sheet() {
        let sheet = include_str!("../../../pages/assets/style.css");
        let blocks: Vec<&str> =
            sheet.split(":root {").skip(1).filter_map(|rest| rest.split('}').next()).collect();
        let [light, dark] = blocks[..] else { panic!("{} blocks", blocks.len()) };
        let value = |block: &str, name: &str| {
            let line = block.lines().find_map(|line| line.trim().strip_prefix(&format!("--{name}: ")));
            line.map(|value| value.trim_end_matches(';').to_owned())
        };
        let declared = light.lines().filter_map(|line| line.trim().strip_prefix("--")?.split(':').next());
        assert_eq!(declared.collect::<Vec<_>>().len(), DEFINED.len(), "one is not in the table");
        for (name, kind) in DEFINED {
            let own = value(light, name).unwrap_or_else(|| panic!("there is no --{name}"));
            match kind {
                Kind::Colour([in_light, in_dark]) => {
                    assert_eq!(own, in_light.to_string(), "{name}");
                    assert_eq!(value(dark, name), Some(in_dark.to_string()), "{name}");
                }
                Kind::Length(bounds) => drop(length(&own, bounds).unwrap()),
                Kind::Fonts | Kind::Shadow => {}
            }
            assert!(sheet.contains(&format!("var(--{name})")), "--{name} has no effect");
        }
    }

    #[test]
    fn each_has_its_type_and_bounds() {
        let all = json!({
            "ground": { "light": "#FFFFFF" }, "ink": { "light": "#000000", "dark": "#ffffff" }, "radius": "0.5rem",
            "control-radius": "0px", "sans": ["Inter", "Segoe UI", "sans-serif"], "shadow": "none",
        });
        let read = of(all.clone()).unwrap();
        let mut shown = all;
        shown["ground"]["light"] = json!("#ffffff");
        assert_eq!(serde_json::to_value(&read).unwrap(), shown);
        assert_eq!(of(shown).unwrap(), read);
        for (name, value, part) in [
            ("grund", json!({}), "variables.grund is no variable of the pages; did you mean ground?"),
            ("zzzzzz", json!("x"), "there are ground, surface"),
            ("ground", json!({}), "name light, dark or both"),
            ("ground", json!("#ffffff"), "invalid type"),
            ("ground", json!({ "light": "red" }), "#rrggbb"),
            ("ground", json!({ "print": "#ffffff" }), "unknown field"),
            ("radius", json!("33px"), "from 0px to 32px"),
            ("radius", json!("12"), "12px or 0.75rem"),
            ("radius", json!("-1px"), "12px or 0.75rem"),
            ("radius", json!("1e1px"), "12px or 0.75rem"),
            ("radius", json!("calc(1px)"), "12px or 0.75rem"),
            ("radius", json!(12), "12px or 0.75rem"),
            ("radius", json!("1.2.3px"), "12px or 0.75rem"),
            ("spacing", json!("0.5rem"), "from 12px to 64px"),
            ("sans", json!([]), "1 to 8 fonts"),
            ("sans", json!(["Inter"]), "the last font is a generic one"),
            ("sans", json!(["url(x)", "serif"]), "url(x) is no font"),
            ("sans", json!(["a\"b", "serif"]), "is no font"),
            ("sans", json!(["x}", "serif"]), "is no font"),
            ("sans", json!(["x".repeat(41), "serif"]), "is no font"),
            ("mono", json!("monospace"), "invalid type"),
            ("shadow", json!("0 0 1px red"), "may only be none"),
        ] {
            let told = of(json!({ name: value.clone() })).unwrap_err();
            assert!(told.contains(part), "{name} {value}: {told}");
        }
    }

    #[test]
    fn a_patch_leaves_what_it_names_and_nothing_else() {
        let new = of(json!({ "ink": { "dark": "#ffffff" }, "radius": "4px" })).unwrap();
        let mut stored = json!({ "ink": { "light": "#000000", "dark": "#eeeeee" }, "shadow": "none" });
        let object = stored.as_object_mut().unwrap();
        crate::json::merge_patch(object, new.to_patch());
        assert_eq!(of(stored).unwrap(), new);
        assert_eq!(of(new.to_patch().into()).unwrap(), new, "it may take the place of another as well");
    }

    #[test]
    fn fonts_are_quoted_unless_they_are_generic() {
        let names = ["Inter", "Segoe UI", "-apple-system", "sans-serif"].map(str::to_owned).to_vec();
        assert_eq!(written(&fonts(names).unwrap()), "\"Inter\",\"Segoe UI\",-apple-system,sans-serif");
    }
}
