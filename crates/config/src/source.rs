//! Where values come from, and where each one did come from.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where the value of a key was said. Later variants win over earlier ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Nowhere: the built-in default, or what follows from other keys.
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

/// What a configuration is read from.
pub struct Sources<E> {
    /// The file of `--config`. Without it `SYMBOLON_CONFIG` in `env` names one.
    pub file: Option<PathBuf>,
    /// Environment variables; names that do not begin with `SYMBOLON_` are passed over.
    pub env: E,
    /// Command-line flags as (name, value); the name with or without its dashes, a bare switch as `true`.
    pub flags: Vec<(String, String)>,
}

/// The `SYMBOLON_*` variables of this process, for [`Sources::env`].
///
/// What is not UTF-8 arrives with U+FFFD in it, which loading refuses by name.
pub fn process_env() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| {
        let name = name.into_string().ok().filter(|name| name.starts_with("SYMBOLON_"))?;
        Some((name, value.to_string_lossy().into_owned()))
    })
}
