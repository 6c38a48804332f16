//! The colours of the style sheet against WCAG 2.2, in both colour schemes.

use crate::stylesheet;

/// Text and its background, at least 4.5 : 1 (success criterion 1.4.3).
const TEXT: [(&str, &str); 14] = [
    ("ink", "ground"),
    ("ink", "surface"),
    ("ink", "sunken"),
    ("muted", "ground"),
    ("muted", "surface"),
    ("muted", "sunken"),
    ("accent", "surface"),
    ("accent", "sunken"),
    ("accent", "tint"),
    ("clay-ink", "sunken"),
    ("danger", "surface"),
    ("danger", "danger-tint"),
    ("on-button", "button"),
    ("on-button", "button-strong"),
];

/// Edges of controls and marks that mean something, at least 3 : 1 (success criterion 1.4.11).
const EDGES: [(&str, &str); 4] =
    [("edge", "surface"), ("accent", "surface"), ("clay", "ground"), ("verdigris", "ground")];

/// The `--name: #rrggbb` declarations of each `:root` block: light, then dark.
fn schemes() -> Vec<Vec<(&'static str, [f64; 3])>> {
    let channel = |hex: &str| f64::from(u8::from_str_radix(hex, 16).unwrap()) / 255.0;
    let blocks = stylesheet().body.split(":root {").skip(1).map(|block| block.split('}').next().unwrap());
    let declaration = |line: &'static str| {
        let (name, value) = line.trim().strip_prefix("--")?.split_once(": #")?;
        Some((name, [channel(&value[0..2]), channel(&value[2..4]), channel(&value[4..6])]))
    };
    blocks.map(|block| block.lines().filter_map(declaration).collect()).collect()
}

/// Relative luminance as WCAG 2.2 defines it.
fn luminance(colour: [f64; 3]) -> f64 {
    let [red, green, blue] =
        colour.map(
            |channel| {
                if channel <= 0.040_45 { channel / 12.92 } else { ((channel + 0.055) / 1.055).powf(2.4) }
            },
        );
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

#[test]
fn colours_have_contrast_in_light_and_dark() {
    let schemes = schemes();
    assert_eq!(schemes.len(), 2);
    for scheme in schemes {
        let colour = |name| luminance(scheme.iter().find(|(known, _)| *known == name).unwrap().1);
        let pairs = TEXT.iter().map(|pair| (pair, 4.5)).chain(EDGES.iter().map(|pair| (pair, 3.0)));
        for ((front, ground), least) in pairs {
            let (front_light, ground_light) = (colour(*front), colour(*ground));
            let ratio = (front_light.max(ground_light) + 0.05) / (front_light.min(ground_light) + 0.05);
            assert!(ratio >= least, "{front} on {ground}: {ratio:.2}");
        }
    }
}
