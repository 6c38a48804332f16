//! `symbolon branding style` and `symbolon client style`: the variables of the pages' style sheet, as a file of CSS.

use clap::{Arg, ArgMatches, Command};
use http::Method;
use serde_json::{Value, json};
use symbolon_protocol::branding::{LONGEST_STYLE_FILE, Variables, read_style_file};

use crate::cli::about_an_issuer;
use crate::command::api::Api;
use crate::command::output::{line, print};
use crate::command::{CommandError, confirm, given};

/// Of whom the variables are: their record in the admin API, and the member of an answer in which it is.
pub(in crate::command) type Owner = (String, &'static str);

/// `style show [OWNER]`, `style set [OWNER] FILE` and `style remove [OWNER]`.
pub(in crate::command) fn command(about: &'static str, owner: Option<Arg>) -> Command {
    let file = Arg::new("file").required(true).value_name("FILE").help(
        "CSS with nothing but :root { --name: value; }, and the same in @media (prefers-color-scheme: dark)",
    );
    let show = Command::new("show").about("Print the variables as such a file").args(owner.clone());
    let set = Command::new("set")
        .about("Set the variables that a file names, and no others; refused if something could not be read")
        .after_help(format!("Variables: {}", Variables::names().map(|name| format!("--{name}")).join(", ")))
        .args(owner.clone());
    let remove = Command::new("remove").about("Remove all variables").args(owner).arg(confirm::argument());
    Command::new("style")
        .about(about)
        .subcommand_required(true)
        .subcommands([show, set.arg(file), remove].map(about_an_issuer))
}

/// Runs one of them. `owner`: finds of whom the variables are.
pub(in crate::command) fn run(
    matches: &ArgMatches,
    owner: impl Fn((&Api, &ArgMatches)) -> Result<Owner, CommandError>,
) -> Result<(), CommandError> {
    let (name, matches) = matches.subcommand().unwrap_or(("", matches));
    let change = match name {
        "set" => Some(json!({ "branding": { "variables": read(given(matches, "file"))?.to_patch() } })),
        "remove" => {
            confirm::ask(matches, "Remove all variables?")?;
            Some(json!({ "branding": { "variables": null } }))
        }
        _ => None,
    };
    let api = Api::reach(matches)?;
    let (path, member) = owner((&api, matches))?;
    let method = if change.is_some() { Method::PATCH } else { Method::GET };
    let answer = api.ask(method, &path, change.as_ref())?;
    api.close()?;
    let now = answer.pointer(&format!("/{member}/branding/variables")).cloned().unwrap_or_else(|| json!({}));
    Ok(print(matches, &now, told)?)
}

fn read(path: &str) -> Result<Variables, CommandError> {
    let failed = |source| CommandError::File { path: path.to_owned(), source };
    let wrong = |why: String| CommandError::Usage(format!("{}: {why}", line(path)));
    if std::fs::metadata(path).map_err(failed)?.len() > LONGEST_STYLE_FILE as u64 {
        return Err(wrong(format!("the file has more than {} KiB", LONGEST_STYLE_FILE / 1024)));
    }
    let text = std::fs::read_to_string(path).map_err(failed)?;
    read_style_file(&text).map_err(|fault| wrong(fault.to_string()))
}

fn told(variables: &Value) -> String {
    let read = serde_json::from_value::<Variables>(variables.clone()).ok();
    match read.filter(|variables| !variables.is_empty()) {
        Some(variables) => variables.to_style_file(),
        None => "no variables are set\n".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_refused_with_its_name_and_line() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("style.css");
        let path = path.to_str().unwrap();
        std::fs::write(path, ":root {\n  --radius: 4px;\n}\n").unwrap();
        assert_eq!(read(path).unwrap().to_style_file(), ":root {\n  --radius: 4px;\n}\n");
        std::fs::write(path, ":root {\n  color: red;\n}\n").unwrap();
        let told = read(path).unwrap_err().to_string();
        assert!(told.starts_with(path) && told.contains("line 2: "), "{told}");
        std::fs::write(path, " ".repeat(LONGEST_STYLE_FILE + 1)).unwrap();
        assert!(matches!(read(path), Err(CommandError::Usage(why)) if why.contains("16 KiB")));
    }

    #[test]
    fn what_is_set_is_told_as_a_file() {
        assert_eq!(told(&json!({ "radius": "4px" })), ":root {\n  --radius: 4px;\n}\n");
        assert_eq!(told(&json!({})), "no variables are set\n");
    }
}
