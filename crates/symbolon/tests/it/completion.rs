//! `symbolon completion`: the scripts are read by their shells, where these are installed, and complete.

use std::process::{Command, Stdio};

use crate::place::Place;

#[test]
fn bash_completes_commands_options_and_presets() {
    let place = Place::new();
    let script = place.run(&["completion", "bash"]).good();
    std::fs::write(place.path("completion.bash"), script).unwrap();
    for (typed, wanted) in [
        ("symbolon cl", "client"),
        ("symbolon client new", "new-secret"),
        ("symbolon client create --pre", "--preset"),
        ("symbolon client create --preset jup", "jupyterhub"),
        ("symbolon audit search --event client.cr", "client.created"),
    ] {
        let asked = format!(
            "source completion.bash; words=({typed}); COMP_WORDS=(\"${{words[@]}}\"); \
             COMP_CWORD=$((${{#words[@]}} - 1)); COMP_LINE='{typed}'; COMP_POINT=${{#COMP_LINE}}; \
             _symbolon symbolon \"${{words[-1]}}\" \"${{words[-2]}}\"; echo \"${{COMPREPLY[@]}}\""
        );
        let answer = Command::new("bash").args(["--norc", "-c", &asked]).current_dir(place.path("")).output();
        let answer = String::from_utf8(answer.unwrap().stdout).unwrap();
        assert!(answer.split_whitespace().any(|word| word == wanted), "{typed}: {answer}");
    }
}

#[test]
fn every_script_is_sound_to_its_shell() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = place.run(&["completion", shell]).good();
        assert!(script.contains("new-secret") && script.len() < 1 << 20, "{shell}: {} bytes", script.len());
        std::fs::write(place.path(shell), script).unwrap();
        let checked =
            Command::new(shell).args(["-n", shell]).current_dir(place.path("")).stdin(Stdio::null()).status();
        // Not every machine has every shell.
        if let Ok(status) = checked {
            assert!(status.success(), "{shell}");
        }
    }
    for arguments in [&["completion"][..], &["completion", "tcsh"]] {
        place.run(arguments).bad(2);
    }
}
