//! `symbolon completion`.

use std::io::{self, Write};

use clap::{Arg, ArgMatches, Command};
use clap_complete::{Shell, generate};

use super::{CommandError, given};
use crate::cli;

/// The shells whose scripts are tested.
const SHELLS: [(&str, Shell); 3] = [("bash", Shell::Bash), ("zsh", Shell::Zsh), ("fish", Shell::Fish)];

pub(super) fn command() -> Command {
    let shell =
        Arg::new("shell").required(true).value_name("SHELL").value_parser(SHELLS.map(|(name, _)| name));
    Command::new("completion")
        .about("Print a script that completes commands and options in a shell")
        .after_help(
            "bash: symbolon completion bash > /usr/share/bash-completion/completions/symbolon\n\
             zsh:  symbolon completion zsh > /usr/share/zsh/site-functions/_symbolon\n\
             fish: symbolon completion fish > /usr/share/fish/vendor_completions.d/symbolon.fish",
        )
        .arg(shell.help("The shell"))
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    let name = given(matches, "shell");
    let Some((_, shell)) = SHELLS.into_iter().find(|(known, _)| *known == name) else { return Ok(()) };
    let mut out = io::stdout().lock();
    out.write_all(&script(shell))?;
    Ok(out.flush()?)
}

/// The script. It is written to memory first, where nothing fails: writing to a closed pipe must be an error of this
/// command, and not a panic.
fn script(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    generate(shell, &mut shown(&cli::command()), "symbolon", &mut script);
    script
}

/// The command without what its help hides. Each command of administration takes every key of the configuration as a
/// flag; offered at each, they would bury the others, and the script would be as slow as it would be long.
fn shown(command: &Command) -> Command {
    let mut kept = Command::new(command.get_name().to_owned())
        .args(command.get_arguments().filter(|arg| !arg.is_hide_set()).cloned())
        .visible_aliases(command.get_visible_aliases().map(str::to_owned).collect::<Vec<_>>())
        .subcommands(command.get_subcommands().filter(|inner| !inner.is_hide_set()).map(shown));
    if let Some(about) = command.get_about() {
        kept = kept.about(about.clone());
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_have_every_command_with_its_options_and_values() {
        for (name, shell) in SHELLS {
            let script = String::from_utf8(script(shell)).unwrap();
            for offered in ["client", "new-secret", "keep-old", "preset", "jupyterhub", "completion"] {
                assert!(script.contains(offered), "{name} without {offered}");
            }
        }
    }

    #[test]
    fn what_the_help_hides_is_not_offered() {
        fn hidden(command: &Command) -> usize {
            let own = command.get_arguments().filter(|arg| arg.is_hide_set()).count();
            own + command.get_subcommands().map(hidden).sum::<usize>()
        }
        let all = cli::command();
        assert!(hidden(&all) > 0);
        let offered = shown(&all);
        assert_eq!(hidden(&offered), 0);
        let list = offered.find_subcommand("client").unwrap().find_subcommand("list").unwrap();
        assert!(list.get_arguments().any(|arg| arg.get_id() == "json"));
    }
}
