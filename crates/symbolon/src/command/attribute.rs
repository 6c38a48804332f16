//! `symbolon attribute`: which attributes users may have; and `--attribute`, which sets them.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command};
use http::Method;
use serde_json::{Map, Value, json};
use symbolon_protocol::attribute::AttributeType;

use super::api::{Api, entries, segment};
use super::output::{Column, line, members, print, table};
use super::{CommandError, confirm, given};
use crate::cli::{about_an_issuer, drawn_id};

const COLUMNS: [Column; 6] = [
    ("NAME", "name"),
    ("TYPE", "type"),
    ("REQUIRED", "required"),
    ("UNIQUE", "unique"),
    ("SCOPE", "scope"),
    ("PATTERN", "pattern"),
];

/// Options that set one text member.
const TEXTS: [(&str, &str, &str); 2] = [
    ("pattern", "REGEX", "A regular expression that the whole text, or each item of a list, must match"),
    ("scope", "SCOPE", "The scope that releases it as a claim of its name; never released without one"),
];

/// Options that set one member to `true`.
const FLAGS: [(&str, &str); 2] = [
    ("required", "Every user must have it; asked for when attributes of a user are written"),
    ("unique", "No two users may have the same value"),
];

/// Options that name who may do something.
const PARTIES: [(&str, &str, &str); 2] = [
    (
        "readable-by",
        "readable_by",
        "Who sees it: person, administrator, or both, separated by a comma (default: both)",
    ),
    ("writable-by", "writable_by", "Who sets it: as above (default: administrator)"),
];

pub(super) fn command() -> Command {
    let kind = Arg::new("type").long("type").value_name("TYPE").required(true);
    let kind = kind.value_parser(PossibleValuesParser::new(AttributeType::ALL.map(AttributeType::as_str)));
    let set = Command::new("set")
        .about("Define an attribute, or replace its definition: what is not given goes back to its default")
        .arg(name())
        .arg(kind.help("The type of its values"));
    let set = TEXTS.into_iter().fold(set, |set, (flag, value, help)| {
        set.arg(Arg::new(flag).long(flag).value_name(value).allow_hyphen_values(true).help(help))
    });
    let label = Arg::new("display-name").long("display-name").value_name("TEXT");
    let in_language = Arg::new("display-name-in").long("display-name-in").value_name("TAG=TEXT");
    let set = set.arg(label.help("What people read in place of its name"));
    let set = set.arg(
        in_language
            .action(ArgAction::Append)
            .help("The same in a language, such as de=Abteilung; may be given more than once"),
    );
    let set = FLAGS.into_iter().fold(set, |set, (flag, help)| {
        set.arg(Arg::new(flag).long(flag).action(ArgAction::SetTrue).help(help))
    });
    let set = PARTIES.into_iter().fold(set, |set, (flag, _, help)| {
        let parties = PossibleValuesParser::new(["person", "administrator"]);
        let arg = Arg::new(flag).long(flag).value_name("WHO").value_delimiter(',').value_parser(parties);
        set.arg(arg.help(help))
    });
    let remove = Command::new("remove")
        .about(
            "Remove the definition of an attribute; the values that users have stay, unseen and unreleased",
        )
        .arg(name())
        .arg(confirm::argument());
    Command::new("attribute")
        .about("Manage the attributes that users may have")
        .subcommand_required(true)
        .subcommand(about_an_issuer(Command::new("list").about("List the attributes that users may have")))
        .subcommands([set, remove].map(about_an_issuer))
}

fn name() -> Arg {
    drawn_id("name", "NAME").help("Its name in users' records, and that of its claim")
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    match matches.subcommand() {
        Some(("list", matches)) => list(matches),
        Some(("set", matches)) => set(matches),
        Some(("remove", matches)) => remove(matches),
        _ => Ok(()),
    }
}

fn list(matches: &ArgMatches) -> Result<(), CommandError> {
    let api = Api::reach(matches)?;
    let mut answer = api.ask(Method::GET, "/settings/attributes", None)?;
    api.close()?;
    let found = Value::Array(entries(&mut answer, "attributes")?);
    Ok(print(matches, &found, |found| table(&COLUMNS, found.as_array().map_or(&[], Vec::as_slice)))?)
}

fn path(matches: &ArgMatches) -> String {
    format!("/settings/attributes/{}", segment(given(matches, "name")))
}

/// The definition that the options make.
fn definition(matches: &ArgMatches) -> Map<String, Value> {
    let mut definition = Map::new();
    let mut set = |member: &str, value: Value| definition.insert(member.to_owned(), value);
    set("type", Value::from(given(matches, "type")));
    for (flag, ..) in TEXTS {
        if let Some(text) = matches.get_one::<String>(flag) {
            set(flag, Value::from(text.as_str()));
        }
    }
    if let Some(text) = matches.get_one::<String>("display-name") {
        set("display_name", Value::from(text.as_str()));
    }
    for given in matches.get_many::<String>("display-name-in").into_iter().flatten() {
        // Without a text, or a tag, it is refused by the server.
        let (tag, text) = given.split_once('=').unwrap_or((given.as_str(), ""));
        set(&format!("display_name#{tag}"), Value::from(text));
    }
    for (flag, _) in FLAGS {
        set(flag, Value::Bool(matches.get_flag(flag)));
    }
    for (flag, member, _) in PARTIES {
        if let Some(parties) = matches.get_many::<String>(flag) {
            set(member, parties.map(String::as_str).collect());
        }
    }
    definition
}

fn set(matches: &ArgMatches) -> Result<(), CommandError> {
    let body = Value::Object(definition(matches));
    let api = Api::reach(matches)?;
    let answer = api.ask(Method::PUT, &path(matches), Some(&body))?;
    api.close()?;
    let defined = answer.get("attribute").unwrap_or(&Value::Null);
    Ok(print(matches, defined, |defined| members(defined, &["name", "type"]))?)
}

fn remove(matches: &ArgMatches) -> Result<(), CommandError> {
    let name = line(given(matches, "name"));
    confirm::ask(
        matches,
        &format!("Remove the definition of {name}, so that no application gets it any more?"),
    )?;
    let api = Api::reach(matches)?;
    api.ask(Method::DELETE, &path(matches), None)?;
    api.close()?;
    Ok(print(matches, &json!({ "name": name }), |_| {
        format!("{name} is removed; values that users have stay\n")
    })?)
}

/// `--attribute`.
pub(super) fn argument() -> Arg {
    Arg::new("attribute").long("attribute").value_name("NAME=VALUE").action(ArgAction::Append).help(
        "An attribute by the issuer's schema; VALUE is the text of a string or date, and JSON for another type; null \
         removes it; may be given more than once",
    )
}

/// `--attribute` of a listing.
pub(super) fn search_argument() -> Arg {
    let help = "Only the user with exactly this value of a unique attribute";
    Arg::new("attribute").long("attribute").value_name("NAME=VALUE").help(help)
}

/// The part of a listing's query that looks for attributes.
///
/// # Errors
/// [`CommandError::Usage`]
pub(super) fn query(matches: &ArgMatches) -> Result<String, CommandError> {
    let pairs = pairs(matches)?.into_iter();
    Ok(pairs.map(|(name, text)| format!("&attribute.{}={}", segment(name), segment(text))).collect())
}

/// Whether `--attribute` was given.
pub(super) fn is_given(matches: &ArgMatches) -> bool {
    matches.contains_id("attribute")
}

/// Sets the attributes of every `--attribute` in a document, each of the type that the issuer's schema has.
///
/// # Errors
/// [`CommandError::Usage`]; those of the API, which is asked for the schema.
pub(super) fn apply(
    api: &Api,
    matches: &ArgMatches,
    document: &mut Map<String, Value>,
) -> Result<(), CommandError> {
    let pairs = pairs(matches)?;
    if pairs.is_empty() {
        return Ok(());
    }
    let mut answer = api.ask(Method::GET, "/settings/attributes", None)?;
    let schema = entries(&mut answer, "attributes")?;
    let member = document.entry("attributes").or_insert(Value::Null);
    if !member.is_object() {
        *member = Value::Object(Map::new());
    }
    if let Value::Object(own) = member {
        own.extend(pairs.into_iter().map(|(name, text)| (name.to_owned(), value_of(&schema, name, text))));
    }
    Ok(())
}

/// The names and the texts of the values.
fn pairs(matches: &ArgMatches) -> Result<Vec<(&str, &str)>, CommandError> {
    let given = matches.get_many::<String>("attribute").into_iter().flatten();
    given
        .map(|given| match given.split_once('=') {
            Some((name, text)) if !name.is_empty() => Ok((name, text)),
            _ => Err(CommandError::Usage(format!("--attribute {}: it must be NAME=VALUE", line(given)))),
        })
        .collect()
}

/// The value that a text stands for. An employee number is a string, though it looks like a number.
fn value_of(schema: &[Value], name: &str, text: &str) -> Value {
    fn member<'a>(of: &'a Value, name: &str) -> Option<&'a str> {
        of.get(name)?.as_str()
    }
    let definition = schema.iter().find(|definition| member(definition, "name") == Some(name));
    match definition.and_then(|definition| member(definition, "type")) {
        Some("string" | "date") if text != "null" => Value::from(text),
        _ => serde_json::from_str(text).unwrap_or_else(|_| Value::from(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn defined(arguments: &[&str]) -> Value {
        let all = ["attribute", "set"].into_iter().chain(arguments.iter().copied());
        let matches = command().try_get_matches_from(all).unwrap();
        Value::Object(definition(matches.subcommand_matches("set").unwrap()))
    }

    #[test]
    fn a_definition_has_what_the_options_say() {
        assert_eq!(
            defined(&["team", "--type", "list"]),
            json!({ "type": "list", "required": false, "unique": false })
        );
        let all = [
            "number",
            "--type",
            "string",
            "--pattern",
            "-[0-9]+",
            "--scope",
            "work",
            "--display-name",
            "Number",
            "--display-name-in",
            "de=Nummer",
            "--required",
            "--unique",
            "--readable-by",
            "administrator",
            "--writable-by",
            "person,administrator",
        ];
        let wanted = json!({
            "type": "string", "pattern": "-[0-9]+", "scope": "work", "required": true, "unique": true,
            "readable_by": ["administrator"], "writable_by": ["person", "administrator"],
            "display_name": "Number", "display_name#de": "Nummer",
        });
        assert_eq!(defined(&all), wanted);
        for bad in [&["x"][..], &["x", "--type", "text"], &["x", "--type", "date", "--readable-by", "me"]] {
            let all = ["attribute", "set"].into_iter().chain(bad.iter().copied());
            assert!(command().try_get_matches_from(all).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn attributes_are_named_as_a_whole_and_have_the_types_of_the_schema() {
        let of = |given: &[&str]| {
            let all = given.iter().flat_map(|one| ["--attribute", *one]);
            let matches =
                Command::new("x").arg(argument()).try_get_matches_from(["x"].into_iter().chain(all));
            let matches = matches.unwrap();
            pairs(&matches).map(|pairs| {
                pairs.into_iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect::<Vec<_>>()
            })
        };
        let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        assert_eq!(
            of(&["a.b=1", "note=x=y", "e="]).unwrap(),
            [pair("a.b", "1"), pair("note", "x=y"), pair("e", "")]
        );
        for bad in ["a", "=1"] {
            assert!(matches!(of(&[bad]), Err(CommandError::Usage(_))), "{bad}");
        }
        let schema = [
            json!({ "name": "number", "type": "string" }),
            json!({ "name": "level", "type": "number" }),
            json!({ "name": "team", "type": "list" }),
            json!({ "name": "until", "type": "date" }),
        ];
        for (name, text, value) in [
            ("number", "12", json!("12")),
            ("number", "null", Value::Null),
            ("level", "12", json!(12)),
            ("level", "high", json!("high")),
            ("team", "[\"a\"]", json!(["a"])),
            ("until", "2026-11-28", json!("2026-11-28")),
            ("unknown", "true", json!(true)),
        ] {
            assert_eq!(value_of(&schema, name, text), value, "{name}={text}");
        }
    }
}
