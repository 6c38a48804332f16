//! `symbolon completion`: each script is run by its shell, and completes. `scripts/test` installs the shells.

use std::process::Command;

use crate::place::Place;

/// What is typed before the tabulator key, and a word that is offered then.
const TYPED: [(&str, &str); 5] = [
    ("symbolon cl", "client"),
    ("symbolon client new", "new-secret"),
    ("symbolon client create --pre", "--preset"),
    ("symbolon client create --preset jup", "jupyterhub"),
    ("symbolon audit search --event client.cr", "client.created"),
];

/// Writes the script of a shell, and completes each line by what `asked` makes of it: a program with arguments that prints the
/// words which are offered.
fn completes(shell: &str, asked: impl Fn(&Place, &str) -> Vec<String>) {
    let place = Place::new();
    let script = place.run(&["completion", shell]).good();
    assert!(script.len() < 1 << 20, "{shell}: {} bytes", script.len());
    std::fs::write(place.path("script"), script).unwrap();
    for (typed, wanted) in TYPED {
        let arguments = asked(&place, typed);
        // A shell at a terminal waits for a completion without end.
        let mut asking = Command::new("timeout");
        asking.args(["30", shell]).args(&arguments).current_dir(place.path(""));
        let answer = asking.output().unwrap();
        let (answer, error) =
            (String::from_utf8_lossy(&answer.stdout), String::from_utf8_lossy(&answer.stderr));
        assert!(answer.split_whitespace().any(|word| word == wanted), "{shell}: {typed}: {answer} {error}");
    }
}

#[test]
fn bash_completes_commands_options_and_presets() {
    completes("bash", |_, typed| {
        let asked = format!(
            "source ./script; words=({typed}); COMP_WORDS=(\"${{words[@]}}\"); \
             COMP_CWORD=$((${{#words[@]}} - 1)); COMP_LINE='{typed}'; COMP_POINT=${{#COMP_LINE}}; \
             _symbolon symbolon \"${{words[-1]}}\" \"${{words[-2]}}\"; echo \"${{COMPREPLY[@]}}\""
        );
        vec!["--norc".to_owned(), "-c".to_owned(), asked]
    });
}

#[test]
fn fish_completes_commands_options_and_presets() {
    completes("fish", |_, typed| {
        vec!["--no-config".to_owned(), "-c".to_owned(), format!("source ./script; complete -C '{typed}'")]
    });
}

/// A shell at a terminal of its own, which prints every word that a completion adds.
const ZSH: &str = "
PS1=
autoload -U compinit
compinit -D -u
source ./script
compdef _symbolon symbolon
compadd () {
  local -a words
  builtin compadd -O words \"$@\"
  print -rl -- \"word ${^words}\"
  builtin compadd \"$@\"
}
finished () { print -r -- all-words }
comppostfuncs=(finished)
bindkey '^I' complete-word
print is-read''y
";

/// What types into that shell.
const ZSH_TYPIST: &str = "
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'source ./shell'
zpty -r shell said '*is-ready*'
zpty -n -w shell \"$1\"$'\\t'
zpty -r shell said '*all-words*'
print -r -- \"$said\"
";

#[test]
fn zsh_completes_commands_options_and_presets() {
    completes("zsh", |place, typed| {
        std::fs::write(place.path("shell"), ZSH).unwrap();
        std::fs::write(place.path("typist"), ZSH_TYPIST).unwrap();
        ["-f", "typist", typed].map(str::to_owned).to_vec()
    });
}

#[test]
fn a_shell_must_be_named_and_known() {
    let place = Place::new();
    for arguments in [&["completion"][..], &["completion", "tcsh"]] {
        place.run(arguments).bad(2);
    }
}
