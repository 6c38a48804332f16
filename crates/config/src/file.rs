//! The configuration file: TOML, flattened to dotted paths with line numbers.

use std::path::Path;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::ConfigError;
use super::source::Source;

/// The value given for one name, before it is parsed by the key's kind.
pub(super) enum Written {
    /// A scalar, as text.
    Text(String),
    /// An array of scalars.
    List(Vec<String>),
    /// A value of a TOML type that no key accepts, and the name of the type.
    Unfit(&'static str),
}

/// A name with its value and source.
pub(super) struct Given {
    pub(super) name: String,
    pub(super) written: Written,
    pub(super) source: Source,
}

/// Reads and parses the file.
pub(super) fn read(path: &Path) -> Result<Vec<Given>, Box<ConfigError>> {
    let refuse = |problem| ConfigError {
        key: "config".to_owned(),
        value: Some(path.display().to_string()),
        source: None,
        problem,
        mend: "name a readable TOML file by --config or SYMBOLON_CONFIG".to_owned(),
    };
    let text = std::fs::read_to_string(path)
        .map_err(|error| refuse(format!("the configuration file cannot be read: {error}")))?;
    let text = symbolon_crypto::SecretString::new(text);
    parse(text.expose(), path)
}

/// Parses the text of the file `path`.
pub(super) fn parse(text: &str, path: &Path) -> Result<Vec<Given>, Box<ConfigError>> {
    let path: Arc<Path> = Arc::from(path);
    let lines = Lines::of(text);
    // The parser's own message quotes the line, which may contain a secret: only its message and line number are
    // used.
    let table = DeTable::parse(text).map_err(|error| ConfigError {
        key: "config".to_owned(),
        value: None,
        source: error.span().map(|span| Source::File { path: path.clone(), line: lines.at(span.start) }),
        problem: format!("the file is not TOML: {}{}", error.message(), repeated_key(text, &error)),
        mend: "write `key = value` lines and `[table]` headings, text in double quotes".to_owned(),
    })?;
    let mut given = Vec::new();
    let mut flatten = Flatten { path, lines, given: &mut given };
    flatten.table("", table.get_ref());
    Ok(given)
}

/// Names the repeated key, if that is the mistake: a key's name is not a secret.
fn repeated_key(text: &str, error: &toml::de::Error) -> String {
    let is_name =
        |name: &&str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
    let name = error.span().and_then(|span| text.get(span)).filter(is_name);
    match (error.message(), name) {
        ("duplicate key", Some(name)) => format!(" {name}"),
        _ => String::new(),
    }
}

struct Flatten<'a> {
    path: Arc<Path>,
    lines: Lines,
    given: &'a mut Vec<Given>,
}

impl Flatten<'_> {
    fn table(&mut self, prefix: &str, table: &DeTable<'_>) {
        for (key, value) in table {
            let name = key.get_ref();
            // Keep the quotes of a key that contains a dot, so that it is not taken for a path.
            let name =
                if name.contains('.') { format!("{prefix}\"{name}\"") } else { format!("{prefix}{name}") };
            let line = self.lines.at(key.span().start);
            match value.get_ref() {
                DeValue::Table(inner) if !inner.is_empty() && super::key::find(&name).is_none() => {
                    self.table(&format!("{name}."), inner);
                }
                // An empty table of a known name, such as `[log]`, sets nothing.
                DeValue::Table(inner) if inner.is_empty() && is_table(&name) => {}
                value => {
                    let source = Source::File { path: self.path.clone(), line };
                    self.given.push(Given { name, written: written(value), source });
                }
            }
        }
    }
}

fn is_table(name: &str) -> bool {
    super::key::keys().any(|key| key.path.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
}

fn written(value: &DeValue<'_>) -> Written {
    match value {
        DeValue::Array(items) => {
            items.iter().map(scalar).collect::<Option<_>>().map_or(Written::Unfit("array"), Written::List)
        }
        DeValue::Table(_) => Written::Unfit("table"),
        DeValue::Float(_) => Written::Unfit("number with a fraction"),
        DeValue::Datetime(_) => Written::Unfit("date"),
        DeValue::String(text) => Written::Text(text.to_string()),
        DeValue::Boolean(on) => Written::Text(on.to_string()),
        DeValue::Integer(number) => integer(number.as_str(), number.radix()),
    }
}

/// `1_000` and `0x40` are valid TOML integers too.
fn integer(digits: &str, radix: u32) -> Written {
    let digits = digits.replace('_', "");
    match i64::from_str_radix(&digits, radix) {
        Ok(number) => Written::Text(number.to_string()),
        Err(_) => Written::Text(digits),
    }
}

fn scalar(value: &Spanned<DeValue<'_>>) -> Option<String> {
    match written(value.get_ref()) {
        Written::Text(text) => Some(text),
        _ => None,
    }
}

/// The positions of the line breaks of a text.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        Self(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(at, _)| at).collect())
    }

    /// The line of a byte, counted from 1.
    fn at(&self, byte: usize) -> usize {
        self.0.partition_point(|newline| *newline < byte) + 1
    }
}
