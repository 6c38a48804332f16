//! What the server's answer says of a record.

use serde_json::Value;
use symbolon_protocol::client_metadata::Warning;

use super::record::{Fault, Kind, Object, Part};

/// What became of a record.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It was created, or would be; with what the server warns of.
    Created(Vec<Part>),
    /// It was there.
    Existing,
    Refused(Fault),
}

/// What became of a record; the answer is `None` where the server broke off before it.
pub(super) fn outcome(kind: Kind, document: &Object, answer: Option<&Value>) -> Outcome {
    let text = |member: &str| answer.and_then(|answer| answer.get(member)?.as_str());
    let why = text("error_description");
    match (answer, text("error")) {
        (None, _) => Outcome::Refused(Fault::new("the server broke off", "run the import again")),
        (Some(answer), None) => done(answer),
        (_, Some("conflict")) if kind == Kind::User => taken(document, text("taken"), why),
        // Somebody else's, or the user's beside another one: as it is there it is not the file's.
        (_, Some("conflict")) if kind == Kind::Identity => Outcome::Refused(why.unwrap_or("conflict").into()),
        (_, Some("conflict")) => Outcome::Existing,
        (_, Some("temporarily_unavailable")) => {
            let why = format!("the server could not take it: {}", why.unwrap_or("it is not available"));
            Outcome::Refused(Fault::new(why, "run the import again"))
        }
        (_, Some(code)) => Outcome::Refused(why.unwrap_or(code).into()),
    }
}

fn done(answer: &Value) -> Outcome {
    if answer.get("changed") == Some(&Value::Bool(false)) {
        return Outcome::Existing;
    }
    let warnings = answer.get("warnings").and_then(Value::as_array).into_iter().flatten();
    let warnings = warnings.filter_map(Value::as_str).filter(|text| !is_of_digests(text));
    Outcome::Created(warnings.map(|text| Part::new("warning", text)).collect())
}

/// Whether a warning is the one about secrets that come as digests. Only an export of ours has digests, of secrets that were
/// judged where they were given; the warning would stand beside each of its clients.
fn is_of_digests(warning: &str) -> bool {
    warning == Warning::UncheckedSecret.to_string()
}

/// A user of whom something is taken is there already only where it is the same user: by the id, or by the address where
/// the file has no id.
fn taken(document: &Object, what: Option<&str>, why: Option<&str>) -> Outcome {
    let why = why.unwrap_or("another user has its e-mail address or the value of a unique attribute");
    match what {
        Some("email") if document.contains_key("id") => Outcome::Refused(Fault::new(
            why,
            "look whether it is the same person, and change the address of one of them, or take the user out of the file",
        )),
        Some("attribute") => Outcome::Refused(why.into()),
        _ => Outcome::Existing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::import::record::object;
    use serde_json::json;

    fn of(kind: Kind, document: Value, answer: Value) -> Outcome {
        outcome(kind, &object(document), Some(&answer))
    }

    #[test]
    fn a_user_is_there_only_where_it_is_the_same_one() {
        let conflict =
            |what: &str| json!({ "error": "conflict", "error_description": "is another's", "taken": what });
        let (with_id, without) =
            (json!({ "id": "u1", "email": "a@b.example" }), json!({ "email": "a@b.example" }));
        for (document, what, is_there) in [
            (&with_id, "id", true),
            (&with_id, "email", false),
            (&with_id, "attribute", false),
            (&without, "email", true),
            (&without, "attribute", false),
        ] {
            let outcome = of(Kind::User, document.clone(), conflict(what));
            assert_eq!(outcome == Outcome::Existing, is_there, "{document} {what}: {outcome:?}");
        }
        assert_eq!(of(Kind::Client, json!({}), json!({ "error": "conflict" })), Outcome::Existing);
        let connected = of(Kind::Identity, json!({}), json!({ "error": "conflict" }));
        assert!(matches!(connected, Outcome::Refused(_)), "another user's is not this user's: {connected:?}");
    }

    #[test]
    fn warnings_are_told_and_what_changed_nothing_was_there() {
        let answer = json!({ "client": {}, "warnings": ["the secret is short"] });
        let Outcome::Created(warnings) = of(Kind::Client, json!({}), answer) else { panic!("created") };
        assert_eq!(warnings, [Part::new("warning", "the secret is short")]);
        let answer = json!({ "client": {}, "warnings": [Warning::UncheckedSecret.to_string()] });
        assert_eq!(of(Kind::Client, json!({}), answer), Outcome::Created(Vec::new()));
        assert_eq!(of(Kind::Membership, json!({}), json!({ "changed": false })), Outcome::Existing);
        assert_eq!(of(Kind::Membership, json!({}), json!({ "changed": true })), Outcome::Created(Vec::new()));
    }

    #[test]
    fn every_refusal_says_why() {
        let busy = json!({ "error": "temporarily_unavailable", "error_description": "try again" });
        let Outcome::Refused(fault) = of(Kind::User, json!({}), busy) else { panic!("refused") };
        assert!(fault.why.contains("try again") && fault.mend.contains("again"));
        assert!(matches!(outcome(Kind::User, &Object::new(), None), Outcome::Refused(_)));
        assert_eq!(
            of(Kind::User, json!({}), json!({ "error": "server_error" })),
            Outcome::Refused("server_error".into())
        );
    }
}
