//! The reference of the command line: made of the commands that read it, so that it says what they do.
//! `UPDATE_GENERATED=1` writes it anew.

use std::fmt::Write;
use std::path::Path;

use clap::{Arg, Command};

use super::{SHARED, command};

const BEGINNING: &str = "# Commands

Made of the command line itself: `UPDATE_GENERATED=1 cargo test -p symbolon --bins`. What the commands are for, and how
they find the server or the data directory, is in [operations](../setup/operations.md#commands). The flags of `serve`
and `config` are the keys of the [configuration](configuration.md), which every command of administration takes too.

A USER is an id, an e-mail address or a user name; a CLIENT, a GROUP or a ROLE an id or a name. An id is looked for first.
A name that several have is refused with a list of their ids.

| exit code | |
|---|---|
| 0 | done |
| 1 | not done: there is nothing of this name, the server cannot be reached or refused, the answer to a question was not yes |
| 2 | the command line, the configuration or the request makes no sense, or a name belongs to several |

What failed is said in one line on standard error, with what mends it. A command that cannot be undone asks on a
terminal, and not in a script; `--yes` answers.
";

fn document() -> String {
    let all = command();
    let mut out = BEGINNING.to_owned();
    out.push_str("\n## Flags of every command of administration\n\n");
    let list = all.find_subcommand("client").and_then(|client| client.find_subcommand("list")).unwrap();
    let shared = |arg: &&Arg| !arg.is_hide_set() && is_shared(arg);
    write_arguments(&mut out, list.get_arguments().filter(shared));
    for inner in all.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        write_command(&mut out, inner, "symbolon");
    }
    out
}

/// Whether an argument is described once for all commands.
fn is_shared(arg: &Arg) -> bool {
    arg.get_help_heading() == Some(SHARED) || matches!(arg.get_id().as_str(), "json" | "issuer-id")
}

fn write_command(out: &mut String, command: &Command, before: &str) {
    let name = format!("{before} {}", command.get_name());
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    if command.has_subcommands() {
        write!(out, "\n## `{name}`\n\n{about}.\n").unwrap();
        for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
            write_command(out, inner, &name);
        }
        return;
    }
    let level = if before == "symbolon" { "##" } else { "###" };
    let aliases: Vec<String> =
        command.get_visible_aliases().map(|alias| format!("`{before} {alias}`")).collect();
    let also = if aliases.is_empty() { String::new() } else { format!(" Also {}.", aliases.join(", ")) };
    write!(out, "\n{level} `{name}`\n\n{about}.{also}\n").unwrap();
    let own = |arg: &&Arg| !arg.is_hide_set() && !arg.is_hide_short_help_set() && !is_shared(arg);
    if command.get_arguments().any(|arg| own(&arg)) {
        out.push('\n');
        write_arguments(out, command.get_arguments().filter(own));
    }
    if let Some(after) = command.get_after_help() {
        write!(out, "\n```\n{after}\n```\n").unwrap();
    }
}

fn write_arguments<'a>(out: &mut String, arguments: impl Iterator<Item = &'a Arg>) {
    out.push_str("| | |\n|---|---|\n");
    for arg in arguments {
        writeln!(out, "| `{}` | {} |", form(arg), explained(arg).replace('|', "\\|")).unwrap();
    }
}

/// An argument as it is written.
fn form(arg: &Arg) -> String {
    let names = arg.get_value_names().unwrap_or_default();
    let value = names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(" ").replace('|', "\\|");
    match arg.get_long() {
        None if value.is_empty() => arg.get_id().to_string().to_uppercase(),
        None => value,
        Some(long) if arg.get_action().takes_values() => format!("--{long} {value}"),
        Some(long) => format!("--{long}"),
    }
}

/// What an argument is for, with its default and its environment variable.
fn explained(arg: &Arg) -> String {
    let mut told = arg.get_help().map(ToString::to_string).unwrap_or_default();
    if !arg.is_hide_possible_values_set() && arg.get_action().takes_values() {
        let values: Vec<String> =
            arg.get_possible_values().iter().map(|value| format!("`{}`", value.get_name())).collect();
        if !values.is_empty() {
            write!(told, ": {}", values.join(", ")).unwrap();
        }
    }
    let defaults: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if !defaults.is_empty() && arg.get_action().takes_values() {
        write!(told, "; `{}` without", defaults.join(" ")).unwrap();
    }
    if let Some(variable) = arg.get_env() {
        write!(told, "; also `{}`", variable.to_string_lossy()).unwrap();
    }
    told.trim_start_matches("; ").to_owned()
}

#[test]
fn the_reference_is_committed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/command-line.md");
    let document = document();
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        std::fs::write(&path, &document).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap();
    assert!(
        committed == document,
        "command-line.md is stale: UPDATE_GENERATED=1 cargo test -p symbolon --bins"
    );
}
