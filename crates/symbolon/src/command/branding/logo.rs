//! `symbolon branding logo` and `symbolon client logo`.

use clap::{Arg, ArgMatches, Command};
use http::Method;
use serde_json::{Value, json};
use symbolon_protocol::logo::{LARGEST, Logo, LogoFault, LogoType};

use crate::cli::about_an_issuer;
use crate::command::api::Api;
use crate::command::output::{line, members, print};
use crate::command::{CommandError, confirm, given};

/// `logo set [OWNER] FILE` and `logo remove [OWNER]`.
pub(in crate::command) fn command(about: &'static str, owner: Option<Arg>) -> Command {
    let file = Arg::new("file").required(true).value_name("FILE");
    let file = file.help(format!("A PNG, JPEG, WebP or SVG of {} KiB at most", LARGEST / 1024));
    let set = Command::new("set").about("Put a logo in the place of the one before").args(owner.clone());
    let remove = Command::new("remove").about("Remove the logo").args(owner).arg(confirm::argument());
    Command::new("logo")
        .about(about)
        .subcommand_required(true)
        .subcommand(about_an_issuer(set.arg(file)))
        .subcommand(about_an_issuer(remove))
}

/// Runs either of them. `path`: finds the path of the logo in the admin API.
pub(in crate::command) fn run(
    matches: &ArgMatches,
    path: impl Fn((&Api, &ArgMatches)) -> Result<String, CommandError>,
) -> Result<(), CommandError> {
    match matches.subcommand() {
        Some(("set", matches)) => set(matches, path),
        Some(("remove", matches)) => remove(matches, path),
        _ => Ok(()),
    }
}

/// Reads an image and its kind, which the file's name does not tell for sure.
fn read(path: &str) -> Result<Logo, CommandError> {
    let failed = |source| CommandError::File { path: path.to_owned(), source };
    let wrong = |fault: LogoFault| CommandError::Usage(format!("{}: {fault}", line(path)));
    let size = std::fs::metadata(path).map_err(failed)?.len();
    if size > LARGEST as u64 {
        return Err(wrong(LogoFault::TooLarge));
    }
    let content = std::fs::read(path).map_err(failed)?;
    let kind = LogoType::of_content(&content).ok_or_else(|| wrong(LogoFault::Unknown))?;
    Logo::read(kind, &content).map_err(wrong)
}

fn set(
    matches: &ArgMatches,
    path: impl Fn((&Api, &ArgMatches)) -> Result<String, CommandError>,
) -> Result<(), CommandError> {
    let logo = read(given(matches, "file"))?;
    let api = Api::reach(matches)?;
    let path = path((&api, matches))?;
    let answer = api.ask_with(Method::PUT, &path, (logo.media_type(), logo.content().to_vec()))?;
    api.close()?;
    let set = answer.get("logo").unwrap_or(&Value::Null);
    Ok(print(matches, set, |set| members(set, &["media_type", "bytes"]))?)
}

fn remove(
    matches: &ArgMatches,
    path: impl Fn((&Api, &ArgMatches)) -> Result<String, CommandError>,
) -> Result<(), CommandError> {
    confirm::ask(matches, "Remove the logo?")?;
    let api = Api::reach(matches)?;
    let path = path((&api, matches))?;
    api.ask(Method::DELETE, &path, None)?;
    api.close()?;
    Ok(print(matches, &json!({ "logo": null }), |_| "the logo is removed\n".to_owned())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_an_image_of_a_kind_that_its_bytes_tell() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str, content: &[u8]| {
            let path = directory.path().join(name);
            std::fs::write(&path, content).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let logo = read(&file("logo.png", b"<svg xmlns='http://www.w3.org/2000/svg'/>")).unwrap();
        assert_eq!(logo.media_type(), "image/svg+xml");
        for (path, part) in [
            (file("text.svg", b"hello"), "convert it"),
            (file("script.svg", b"<svg><script/></svg>"), "take it out"),
            (file("large.png", &vec![0; LARGEST + 1]), "64 KiB at most"),
        ] {
            let told = read(&path).unwrap_err();
            assert!(matches!(&told, CommandError::Usage(why) if why.contains(part)), "{told}");
        }
        assert!(matches!(read("/no/such/file"), Err(CommandError::File { .. })));
    }
}
