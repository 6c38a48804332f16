//! Sources of values.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where the value of a key was set. Later variants override earlier ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Not set: the built-in default, or a value derived from other keys.
    Default,
    /// The configuration file.
    File {
        /// The file.
        path: Arc<Path>,
        /// The line, counted from 1.
        line: usize,
    },
    /// This environment variable.
    Env(String),
    /// This command-line flag, with its dashes.
    Flag(String),
}

impl Source {
    /// Precedence: flag over environment over file over default.
    pub(super) fn rank(&self) -> u8 {
        match self {
            Self::Default => 0,
            Self::File { .. } => 1,
            Self::Env(_) => 2,
            Self::Flag(_) => 3,
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "file:{}:{line}", path.display()),
            Self::Env(name) => write!(f, "env {name}"),
            Self::Flag(name) => write!(f, "flag {name}"),
        }
    }
}

/// The sources of a configuration.
pub struct Sources<E> {
    /// The file of `--config`. Without it, `SYMBOLON_CONFIG` in `env` names the file.
    pub file: Option<PathBuf>,
    /// Environment variables; names that do not begin with `SYMBOLON_` are ignored.
    pub env: E,
    /// Command-line flags as (name, value); names with or without dashes, a switch without a value as `true`.
    pub flags: Vec<(String, String)>,
}

/// The `SYMBOLON_*` variables of this process, for [`Sources::env`].
///
/// Values that are not UTF-8 contain U+FFFD, which loading refuses.
pub fn process_env() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| {
        let name = name.into_string().ok().filter(|name| name.starts_with("SYMBOLON_"))?;
        Some((name, value.to_string_lossy().into_owned()))
    })
}
