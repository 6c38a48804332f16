//! The reference page of the configuration, generated from the table of keys.

use std::fmt::Write as _;

use super::environment::IGNORED_ENV;
use super::key::{Key, Reload, ValueKind};
use super::sections::SECTIONS;
use super::units::{format_duration, format_size};

const INTRO: &str = "\
<!-- Generated from the table of keys in crates/config/src/sections. Do not edit. -->

# Configuration

The server reads one TOML file (`--config FILE` or `SYMBOLON_CONFIG`), environment variables and command-line flags.
A flag wins over the environment, the environment over the file, the file over the default. Unknown keys, variables
that begin with `SYMBOLON_`, and flags are refused. A key with a dot stands in a table: `tls.key_file` is `key_file`
under `[tls]`. `symbolon config check` lists every mistake at once, `symbolon config show` prints every value with its
source, `symbolon config schema` prints the JSON schema.

A duration is a number with a unit (`us`, `ms`, `s`, `m`, `h`, `d`), as in `60s` or `1h30m`. A size has the unit `B`,
`KiB`, `MiB` or `GiB`. A switch is `true` or `false`; `on`, `off`, `1` and `0` do as well.

*Changes* says when a new value counts: **live** when the process gets SIGHUP, **restart** after a restart, **first
start** only for a new data directory; there the stored value wins afterwards.
";

/// The reference page as Markdown.
pub fn reference() -> String {
    let mut page = INTRO.to_owned();
    for section in SECTIONS {
        // Writing to a String cannot fail.
        let _ = write!(page, "\n## {}\n\n{}\n\n", section.title, section.intro);
        page.push_str("| Key | Type | Default | Changes | Meaning |\n|---|---|---|---|---|\n");
        for key in section.keys {
            page.push_str(&row(key));
        }
    }
    page.push_str("\n## Variables that are passed over\n\n");
    for (pattern, reason) in IGNORED_ENV {
        let _ = writeln!(page, "- `{pattern}`: {reason}.");
    }
    page.push_str(
        "- What Kubernetes sets beside a service whose name begins with `symbolon`: `SYMBOLON_SERVICE_HOST`, \
         `SYMBOLON_PORT=tcp://...`,\n  `SYMBOLON_PORT_8080_TCP_ADDR` and so on.\n",
    );
    page
}

fn row(key: &Key) -> String {
    let default = match key.default {
        Some("") => "none".to_owned(),
        Some(text) => format!("`{text}`"),
        None => key.unset.to_owned(),
    };
    let changes = match key.reload {
        Reload::Live => "live",
        Reload::Restart => "restart",
        Reload::FirstStart => "first start",
    };
    let weakens = key.weakens.map(|weakens| format!(" **Weakens:** {}", weakens.text)).unwrap_or_default();
    format!(
        "| `{}`<br>`{}`<br>`{}` | {} | {default} | {changes} | {}{weakens} |\n",
        key.path,
        key.env,
        key.flag,
        kind(&key.kind),
        key.doc
    )
}

fn kind(kind: &ValueKind) -> String {
    match kind {
        ValueKind::Switch => "switch".to_owned(),
        ValueKind::Count { min, max } => format!("{min} to {max}"),
        ValueKind::Duration { min, max } => format!("{} to {}", format_duration(*min), format_duration(*max)),
        ValueKind::Size { min, max } => format!("{} to {}", format_size(*min), format_size(*max)),
        ValueKind::Rate => "rate".to_owned(),
        ValueKind::Address => "IP:port".to_owned(),
        ValueKind::Path => "path".to_owned(),
        ValueKind::Choice(words) => {
            words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
        }
        ValueKind::Networks => "addresses and networks".to_owned(),
        ValueKind::Hosts => "host names".to_owned(),
        ValueKind::Issuer | ValueKind::Url => "URL".to_owned(),
        ValueKind::CookieName => "cookie name".to_owned(),
        ValueKind::Secret => "secret".to_owned(),
        ValueKind::Secrets => "secrets".to_owned(),
        ValueKind::Name => "name".to_owned(),
        ValueKind::Mailbox => "address of mail".to_owned(),
    }
}
