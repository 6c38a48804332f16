//! Finds the user or client that a command line names: a user by id, e-mail address or user name, a client by id or
//! name.
//!
//! An id is looked for first, so that everyone and everything can be named without doubt: an id belongs to one, whereas
//! user names and names of clients may be given twice.

use http::{Method, StatusCode};
use serde_json::Value;

use super::CommandError;
use super::api::{Api, ApiError, segment};
use super::output::line;

/// The most records that may have a name, or a part of it: with more, the id must be given.
const MOST: usize = 500;
/// The most candidates that an error lists.
const LISTED: usize = 10;
/// The longest text that the admin API searches for, in bytes.
const LONGEST_SEARCH: usize = 256;

/// A kind of record that can be named.
struct Kind {
    noun: &'static str,
    path: &'static str,
    /// The member of an answer with one record.
    one: &'static str,
    /// The member of an answer with a list of records.
    many: &'static str,
    id: &'static str,
    /// The members that tell a person which record it is.
    names: &'static [&'static str],
}

const USER: Kind = Kind {
    noun: "user",
    path: "/users",
    one: "user",
    many: "users",
    id: "id",
    names: &["email", "preferred_username", "name"],
};

const CLIENT: Kind = Kind {
    noun: "client",
    path: "/clients",
    one: "client",
    many: "clients",
    id: "client_id",
    names: &["client_name"],
};

/// The record of the user of an id, an e-mail address or a user name.
///
/// # Errors
/// [`CommandError::NotFound`]; [`CommandError::Ambiguous`], because user names are not unique.
pub(super) fn user(api: &Api, name: &str) -> Result<Value, CommandError> {
    if let Some(user) = by_id(api, &USER, name)? {
        return Ok(user);
    }
    let mut found: Vec<Value> = Vec::new();
    for filter in ["email", "preferred_username"] {
        let query = format!("&{filter}={}", segment(name));
        for user in api.first(USER.path, USER.many, &query, MOST)?.0 {
            if !found.iter().any(|known| known.get("id") == user.get("id")) {
                found.push(user);
            }
        }
    }
    the_one(&USER, name, found)
}

/// The id of the user of an id, an e-mail address or a user name.
///
/// # Errors
/// As [`user`].
pub(super) fn user_id(api: &Api, name: &str) -> Result<String, CommandError> {
    id_of(&USER, &user(api, name)?)
}

/// The record of the client of a `client_id` or a name.
///
/// # Errors
/// [`CommandError::NotFound`]; [`CommandError::Ambiguous`], because names of clients are not unique.
pub(super) fn client(api: &Api, name: &str) -> Result<Value, CommandError> {
    if let Some(client) = by_id(api, &CLIENT, name)? {
        return Ok(client);
    }
    if name.len() > LONGEST_SEARCH {
        return Err(not_found(&CLIENT, name));
    }
    let query = format!("&search={}", segment(name));
    let (similar, is_cut) = api.first(CLIENT.path, CLIENT.many, &query, MOST)?;
    if is_cut {
        // Another client of this name may be among those that were not read.
        return Err(CommandError::Ambiguous(format!(
            "more than {MOST} clients have \"{}\" in their names or ids: give the client_id",
            line(name)
        )));
    }
    the_one(&CLIENT, name, called(similar, name))
}

/// The id of the client of a `client_id` or a name.
///
/// # Errors
/// As [`client`].
pub(super) fn client_id(api: &Api, name: &str) -> Result<String, CommandError> {
    id_of(&CLIENT, &client(api, name)?)
}

/// The clients of exactly this name, else those whose names differ from it only in case.
fn called(clients: Vec<Value>, name: &str) -> Vec<Value> {
    let of =
        |client: &Value| client.get("client_name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let (exact, others): (Vec<_>, Vec<_>) = clients.into_iter().partition(|client| of(client) == name);
    if !exact.is_empty() {
        return exact;
    }
    let lower = name.to_lowercase();
    others.into_iter().filter(|client| of(client).to_lowercase() == lower).collect()
}

/// The record of an id; `None` if there is none.
fn by_id(api: &Api, kind: &Kind, id: &str) -> Result<Option<Value>, CommandError> {
    // Without a name the path would be that of the list, and an empty filter matches everything.
    if id.trim().is_empty() {
        return Err(CommandError::Usage(format!("the name of the {} is empty", kind.noun)));
    }
    match api.ask(Method::GET, &format!("{}/{}", kind.path, segment(id)), None) {
        Ok(mut answer) => match answer.get_mut(kind.one).map(Value::take) {
            Some(record) => Ok(Some(record)),
            None => Err(ApiError::Answer(format!("there is no {}", kind.one)).into()),
        },
        // An issuer that does not exist is told by the list that is asked for next.
        Err(CommandError::Api(ApiError::Refused { status: StatusCode::NOT_FOUND, .. })) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The only record that was found.
fn the_one(kind: &Kind, name: &str, found: Vec<Value>) -> Result<Value, CommandError> {
    match found.as_slice() {
        [] => Err(not_found(kind, name)),
        [only] => Ok(only.clone()),
        several => Err(ambiguous(kind, name, several)),
    }
}

fn not_found(kind: &Kind, name: &str) -> CommandError {
    let Kind { noun, .. } = kind;
    let name = line(name);
    CommandError::NotFound(format!(
        "there is no {noun} \"{name}\": `symbolon {noun} list --search TEXT` shows those whose id or name has a text"
    ))
}

fn ambiguous(kind: &Kind, name: &str, found: &[Value]) -> CommandError {
    let Kind { noun, .. } = kind;
    let text = |record: &Value, member: &str| record.get(member).and_then(Value::as_str).map(line);
    let candidate = |record: &Value| {
        let id = text(record, kind.id).unwrap_or_default();
        let names: Vec<String> = kind.names.iter().filter_map(|name| text(record, name)).collect();
        format!("{id} ({})", names.join(", "))
    };
    let listed: Vec<String> = found.iter().take(LISTED).map(candidate).collect();
    let more = if found.len() > LISTED { ", ..." } else { "" };
    CommandError::Ambiguous(format!(
        "\"{}\" is the name of {} {noun}s, so give the id: {}{more}",
        line(name),
        found.len(),
        listed.join(", "),
    ))
}

fn id_of(kind: &Kind, record: &Value) -> Result<String, CommandError> {
    let id = record.get(kind.id).and_then(Value::as_str);
    Ok(id.ok_or_else(|| ApiError::Answer(format!("a {} has no id", kind.noun)))?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn clients(names: &[&str]) -> Vec<Value> {
        let of = |(number, name): (usize, &&str)| json!({ "client_id": format!("c{number}"), "client_name": name });
        names.iter().enumerate().map(of).collect()
    }

    #[test]
    fn an_exact_name_comes_before_one_in_another_case() {
        assert_eq!(called(clients(&["app", "App", "App 2"]), "App"), clients(&["", "App"]).split_off(1));
        assert_eq!(called(clients(&["app", "APP", "App 2"]), "App").len(), 2);
        assert!(called(clients(&["App 2"]), "App").is_empty());
    }

    #[test]
    fn candidates_are_listed_in_one_line_and_not_without_end() {
        let several = clients(&["App", "App\u{1b}\n"]);
        let told = the_one(&CLIENT, "App", several).unwrap_err();
        assert_eq!(
            told.to_string(),
            "\"App\" is the name of 2 clients, so give the id: c0 (App), c1 (App\u{fffd}\u{fffd})"
        );
        let told = ambiguous(&CLIENT, "App", &clients(&["App"; 11])).to_string();
        assert!(
            told.contains("11 clients") && told.contains("c9 (App), ...") && !told.contains("c10"),
            "{told}"
        );
    }

    #[test]
    fn nothing_and_one_are_told_apart() {
        assert!(
            matches!(the_one(&USER, "ann", Vec::new()), Err(CommandError::NotFound(told)) if told.contains("ann"))
        );
        assert_eq!(the_one(&USER, "ann", vec![json!({ "id": "u1" })]).unwrap()["id"], "u1");
    }
}
