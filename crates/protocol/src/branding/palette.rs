//! The colours that a branding leaves a page with, in both schemes, and whether everything on it can be read.

use super::colour::Colour;
use super::variables::{DEFINED, Kind, Shades};
use super::{Accent, Variables};

/// The contrast of text with what it stands on (WCAG 2.2, success criterion 1.4.3).
const TEXT: f64 = 4.5;
/// The contrast of the edges of controls, and of marks that mean something (WCAG 2.2, success criterion 1.4.11).
const EDGE: f64 = 3.0;

/// What stands on what in the pages' style sheet, and the contrast that it needs.
const PAIRS: [(&str, &str, f64); 24] = [
    ("ink", "ground", TEXT),
    ("ink", "surface", TEXT),
    ("ink", "sunken", TEXT),
    ("muted", "ground", TEXT),
    ("muted", "surface", TEXT),
    ("muted", "sunken", TEXT),
    ("accent", "ground", TEXT),
    ("accent", "surface", TEXT),
    ("accent", "sunken", TEXT),
    ("accent", "tint", TEXT),
    ("accent-strong", "ground", TEXT),
    ("accent-strong", "surface", TEXT),
    ("accent-strong", "sunken", TEXT),
    ("clay-ink", "sunken", TEXT),
    ("danger", "surface", TEXT),
    ("danger", "sunken", TEXT),
    ("danger", "danger-tint", TEXT),
    ("on-button", "button", TEXT),
    ("on-button", "button-strong", TEXT),
    ("edge", "surface", EDGE),
    ("button", "surface", EDGE),
    ("verdigris", "surface", EDGE),
    ("verdigris", "ground", EDGE),
    ("clay", "ground", EDGE),
];

/// A scheme of colours.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scheme {
    Light,
    Dark,
}

impl Scheme {
    pub(super) const ALL: [Self; 2] = [Self::Light, Self::Dark];

    const fn name(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    const fn of<T: Copy>(self, [light, dark]: [T; 2]) -> T {
        match self {
            Self::Light => light,
            Self::Dark => dark,
        }
    }

    const fn shade(self, Shades { light, dark }: Shades) -> Option<Colour> {
        self.of([light, dark])
    }
}

/// Where a colour comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// The style sheet.
    Own,
    Accent,
    Variable,
}

/// The colours of a branding's pages.
#[derive(Clone, Copy)]
pub(super) struct Palette<'a> {
    pub(super) accent: Option<&'a Accent>,
    pub(super) variables: &'a Variables,
}

impl Palette<'_> {
    /// A colour in a scheme: as a variable sets it, else as the accent does, else the style sheet's own.
    pub(super) fn colour(&self, name: &str, scheme: Scheme) -> Colour {
        self.with_source(name, scheme).0
    }

    fn with_source(&self, name: &str, scheme: Scheme) -> (Colour, Source) {
        if let Some(colour) = scheme.shade(self.variables.shades(name)) {
            return (colour, Source::Variable);
        }
        match (self.accent, name) {
            (Some(accent), "accent" | "accent-strong" | "button" | "button-strong") => {
                (scheme.of([accent.light, accent.dark]), Source::Accent)
            }
            (Some(_), "tint") => self.with_source("sunken", scheme),
            _ => (own(name, scheme), Source::Own),
        }
    }

    /// Checks that everything on a page can be read.
    ///
    /// # Errors
    /// The member that a setting names, the ratio that it has with what, and the ratio that it needs.
    pub(super) fn check(&self) -> Result<(), String> {
        for scheme in Scheme::ALL {
            for (front, ground, least) in PAIRS {
                let (front, ground) =
                    ((front, self.with_source(front, scheme)), (ground, self.with_source(ground, scheme)));
                let ratio = front.1.0.contrast(ground.1.0);
                if ratio >= least {
                    continue;
                }
                // Named is what was set; of two the one that stands on the other.
                let (named, with) = if front.1.1 == Source::Own { (ground, front) } else { (front, ground) };
                let member = match named.1.1 {
                    Source::Accent => "accent".to_owned(),
                    Source::Variable | Source::Own => format!("variables.{}", named.0),
                };
                // Rounded down, so that no refused ratio is told as sufficient.
                let ratio = (ratio * 100.0).floor() / 100.0;
                return Err(format!(
                    "branding.{member}.{} has a contrast of {ratio:.2}:1 with {} ({}), and needs {least}:1",
                    scheme.name(),
                    with.1.0,
                    with.0,
                ));
            }
        }
        Ok(())
    }
}

/// The colour that the style sheet itself has.
fn own(name: &str, scheme: Scheme) -> Colour {
    let found = DEFINED.into_iter().find(|(own, _)| *own == name);
    match found {
        Some((_, Kind::Colour(both))) => scheme.of(both),
        _ => Colour::of(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_style_sheets_own_colours_can_be_read_and_pairs_are_colours() {
        let palette = Palette { accent: None, variables: &Variables::default() };
        assert_eq!(palette.check(), Ok(()));
        for (front, ground, _) in PAIRS {
            for name in [front, ground] {
                let kind = DEFINED.into_iter().find(|(own, _)| *own == name).map(|(_, kind)| kind);
                assert!(matches!(kind, Some(Kind::Colour(_))), "{name}");
            }
        }
    }
}
