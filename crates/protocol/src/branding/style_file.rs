//! Variables as a file of CSS: one rule `:root { --name: value; }`, and after it one for dark pages. Everything else is refused
//! with its line.

use std::fmt;

use super::colour::Colour;
use super::variables::{self, Kind, Shades, Variable, Variables};

/// The longest file, in bytes.
pub const LONGEST: usize = 16 * 1024;

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StyleFault {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong in it, and what to do.
    pub why: String,
}

impl fmt::Display for StyleFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

impl std::error::Error for StyleFault {}

/// Reads a file. The contrast of its colours is checked with the branding that it becomes part of.
///
/// # Errors
/// [`StyleFault`]
pub fn read(text: &str) -> Result<Variables, StyleFault> {
    if text.len() > LONGEST {
        return Err(StyleFault { line: 1, why: format!("the file has more than {} KiB", LONGEST / 1024) });
    }
    let mut reader = Reader { rest: text, line: 1 };
    let mut variables = Variables::default();
    reader.expect(":root", "a rule :root { --name: value; }")?;
    reader.block(&mut variables, false)?;
    reader.skip_space()?;
    if !reader.rest.is_empty() {
        const DARK: &str = "nothing, or @media (prefers-color-scheme: dark) { :root { --name: #rrggbb; } }";
        for part in ["@media", "(", "prefers-color-scheme", ":", "dark", ")", "{", ":root"] {
            reader.expect(part, DARK)?;
        }
        reader.block(&mut variables, true)?;
        reader.expect("}", "the } that ends @media")?;
        reader.skip_space()?;
        if !reader.rest.is_empty() {
            return Err(reader.fault("after the rule for dark pages the file ends"));
        }
    }
    Ok(variables)
}

struct Reader<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> Reader<'a> {
    fn fault(&self, why: impl Into<String>) -> StyleFault {
        StyleFault { line: self.line, why: why.into() }
    }

    /// Goes on behind as many bytes.
    fn advance(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken
    }

    /// Goes on behind white space and comments.
    fn skip_space(&mut self) -> Result<(), StyleFault> {
        loop {
            let space = self.rest.len() - self.rest.trim_start().len();
            self.advance(space);
            if !self.rest.starts_with("/*") {
                return Ok(());
            }
            match self.rest.find("*/") {
                Some(end) => self.advance(end + 2),
                None => return Err(self.fault("the comment does not end: */ is missing")),
            };
        }
    }

    fn expect(&mut self, part: &str, wanted: &str) -> Result<(), StyleFault> {
        self.skip_space()?;
        match self.rest.starts_with(part) {
            true => {
                self.advance(part.len());
                Ok(())
            }
            false => Err(self.fault(format!("here comes {wanted}"))),
        }
    }

    /// The declarations of a rule, between its braces.
    fn block(&mut self, variables: &mut Variables, is_dark: bool) -> Result<(), StyleFault> {
        self.expect("{", "the { after :root")?;
        loop {
            self.skip_space()?;
            if self.rest.starts_with('}') {
                self.advance(1);
                return Ok(());
            }
            let wanted = "a variable, as --radius: 8px; (nothing else may stand in :root)";
            let end = self
                .rest
                .find([';', '{', '}'])
                .ok_or_else(|| self.fault("the } that ends :root is missing"))?;
            let declaration = self.rest.get(..end).and_then(|text| text.strip_prefix("--")?.split_once(':'));
            let Some((name, value)) = declaration else { return Err(self.fault(wanted)) };
            if !self.rest.get(end..).is_some_and(|rest| rest.starts_with(';')) {
                return Err(self.fault(format!("the ; after --{} is missing", shown(name))));
            }
            self.declare((name.trim(), value.trim()), variables, is_dark)?;
            self.advance(end + 1);
        }
    }

    fn declare(
        &self,
        (name, value): (&str, &str),
        variables: &mut Variables,
        is_dark: bool,
    ) -> Result<(), StyleFault> {
        let wrong = |why: String| self.fault(format!("--{} {why}", shown(name)));
        let (name, kind) = variables::defined(name).map_err(wrong)?;
        let is_there = variables.iter().any(|(own, _)| own == name);
        let variable = match kind {
            Kind::Colour(_) => {
                let colour = Colour::parse(value).map_err(|why| wrong(why.to_owned()))?;
                let mut shades = variables.shades(name);
                let slot = if is_dark { &mut shades.dark } else { &mut shades.light };
                if slot.replace(colour).is_some() {
                    return Err(wrong("comes twice".to_owned()));
                }
                Variable::Colour(shades)
            }
            _ if is_dark => {
                return Err(wrong("is the same in the dark: move it to the first :root".to_owned()));
            }
            _ if is_there => return Err(wrong("comes twice".to_owned())),
            Kind::Length(bounds) => Variable::Length(variables::length(value, bounds).map_err(wrong)?),
            Kind::Fonts => Variable::Fonts(variables::fonts(fonts(value)).map_err(wrong)?),
            Kind::Shadow => variables::shadow(value).map_err(wrong)?,
        };
        variables.insert(name, variable);
        Ok(())
    }
}

/// The names of a list, without quotation marks.
fn fonts(value: &str) -> Vec<String> {
    let bare = |name: &str| {
        let quoted = |mark| name.strip_prefix(mark)?.strip_suffix(mark);
        quoted('"').or_else(|| quoted('\'')).unwrap_or(name).to_owned()
    };
    value.split(',').map(|name| bare(name.trim())).collect()
}

/// As much of a name as an error repeats.
fn shown(name: &str) -> String {
    name.trim().chars().filter(|c| !c.is_control()).take(40).collect()
}

impl Variables {
    /// The variables as a file that [`read`] reads.
    pub fn to_style_file(&self) -> String {
        let (mut first, mut dark) = (String::new(), String::new());
        for (name, variable) in self.iter() {
            let value = match variable {
                Variable::Colour(Shades { light, dark: in_dark }) => {
                    dark.extend(in_dark.map(|colour| format!("    --{name}: {colour};\n")));
                    light.map(|colour| colour.to_string())
                }
                Variable::Length(length) => Some(length.clone()),
                Variable::Fonts(names) => Some(variables::written(names).replace(',', ", ")),
                Variable::Shadow => Some("none".to_owned()),
            };
            first.extend(value.map(|value| format!("  --{name}: {value};\n")));
        }
        let first = format!(":root {{\n{first}}}\n");
        match dark.is_empty() {
            true => first,
            false => format!("{first}@media (prefers-color-scheme: dark) {{\n  :root {{\n{dark}  }}\n}}\n"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const FILE: &str = "/* Acme */
:root {
  --ground: #FFFFFF;
  --radius: 0.5rem; /* rounder */
  --sans: Inter, \"Segoe UI\", 'Noto Sans', sans-serif;
  --shadow: none;
}
@media (prefers-color-scheme: dark) {
  :root { --ground: #000000; --ink: #ffffff; }
}
";

    #[test]
    fn a_file_becomes_variables_and_back() {
        let variables = read(FILE).unwrap();
        assert_eq!(
            serde_json::to_value(&variables).unwrap(),
            json!({
                "ground": { "light": "#ffffff", "dark": "#000000" },
                "ink": { "dark": "#ffffff" },
                "radius": "0.5rem",
                "sans": ["Inter", "Segoe UI", "Noto Sans", "sans-serif"],
                "shadow": "none",
            })
        );
        assert_eq!(read(&variables.to_style_file()).unwrap(), variables);
        assert_eq!(read(":root{}").unwrap(), Variables::default());
        assert_eq!(read(&Variables::default().to_style_file()).unwrap(), Variables::default());
    }

    #[test]
    fn what_is_refused_is_told_with_its_line() {
        for (text, line, why) in [
            ("", 1, "here comes a rule :root"),
            ("\n\nbody { color: red; }", 3, "here comes a rule :root"),
            ("@import \"x\";\n:root{}", 1, "here comes a rule :root"),
            (":root {\n  color: red;\n}", 2, "a variable"),
            (
                ":root {\n  --grund: #ffffff;\n}",
                2,
                "--grund is no variable of the pages; did you mean ground?",
            ),
            (":root {\n\n  --ink: url(x);\n}", 3, "--ink a colour is written #rrggbb"),
            (":root {\n --radius: 8px\n}", 2, "the ; after --radius is missing"),
            (":root {\n --radius: 8px; { }\n}", 2, "a variable"),
            (":root {\n --radius: 8px;\n --radius: 9px; }", 3, "--radius comes twice"),
            (":root {\n --ink: #000000;\n --ink: #111111; }", 3, "--ink comes twice"),
            (":root { --radius: 8px;", 1, "the } that ends :root is missing"),
            (":root { --sans: Inter; }", 1, "the last font is a generic one"),
            (":root { --sans: \"a}b\", serif; }", 1, "the ; after --sans is missing"),
            (":root { /* never\nends", 1, "the comment does not end"),
            (":root {}\n@media print { :root {} }", 2, "prefers-color-scheme: dark"),
            (
                ":root {}\n@media (prefers-color-scheme: dark) {\n:root { --radius: 1px; } }",
                3,
                "move it to the first :root",
            ),
            (":root {}\n@media (prefers-color-scheme: dark) { :root {}\n", 3, "the } that ends @media"),
            (":root {}\n@media (prefers-color-scheme: dark) { :root {} }\n:root {}", 3, "the file ends"),
        ] {
            let fault = read(text).unwrap_err();
            assert!(fault.line == line && fault.why.contains(why), "{text:?}: {fault}");
        }
        assert!(read(&" ".repeat(LONGEST + 1)).unwrap_err().why.contains("16 KiB"));
    }

    proptest! {
        #[test]
        fn whatever_is_read_is_written_alike(text in "(:root|@media|--radius|--ink|#000000|8px|[ {}:;,/*\n\"a-z(]){0,40}") {
            if let Ok(variables) = read(&text) {
                prop_assert_eq!(read(&variables.to_style_file()), Ok(variables));
            }
        }
    }
}
