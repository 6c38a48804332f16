//! Issuers of the installation.

use http::Method;
use serde_json::{Value, json};
use symbolon_protocol::event::Event;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::issuer::Issuer;
use symbolon_store::port::{Changed, Created};
use url::Url;

use crate::call::{Call, Concerns, Payload, created, ok};
use crate::error::{AdminError, Answer};
use crate::fields::Fields;
use crate::operation::{Operation, reference, wrapped};

use symbolon_app::audit::ChangedFields;
use symbolon_app::issuer::{host_and_prefix, is_same_place};

/// The reason for refusing a path.
const TAKEN: &str = "an issuer has its endpoints and pages there";

pub(super) fn operations() -> Vec<Operation> {
    let list_of = json!({
        "type": "object",
        "required": ["issuers"],
        "properties": { "issuers": { "type": "array", "items": reference("Issuer") } },
    });
    vec![
        Operation::get("/issuers", "Lists the issuers", list).answers(200, list_of).global(),
        Operation::taking(
            Method::POST,
            "/issuers",
            "NewIssuer",
            "Creates an issuer with a key of its own",
            create,
        )
        .answers(201, wrapped("issuer", "Issuer"))
        .global(),
        Operation::get("/issuers/{issuer}", "Shows an issuer", show)
            .answers(200, wrapped("issuer", "Issuer"))
            .global(),
    ]
}

fn view(issuer: &Issuer) -> Value {
    json!({ "id": issuer.id, "url": issuer.url, "created_at": issuer.created_at })
}

async fn list(call: Call) -> Answer {
    let issuers = call.app.store.issuers().await?;
    Ok(ok(&json!({ "issuers": issuers.iter().map(view).collect::<Vec<_>>() })))
}

async fn show(call: Call) -> Answer {
    let id: IssuerId = call.path("issuer")?;
    let issuers = call.app.store.issuers().await?;
    let found = issuers.iter().find(|issuer| issuer.id == id);
    let issuer = found.ok_or_else(|| AdminError::not_found("there is no such issuer"))?;
    Ok(ok(&json!({ "issuer": view(issuer) })))
}

async fn create(call: Call, payload: Payload) -> Answer {
    let (id, url) = read(payload.fields().await?)?;
    let is_reserved = |path: &str| call.app.is_reserved(path);
    if is_reserved(&host_and_prefix(&url).1) {
        return Err(AdminError::invalid(format!("url must have another path: {TAKEN}")));
    }
    let before = call.app.store.issuers().await?;
    if before.iter().any(|issuer| is_same_place(&issuer.url, &url)) {
        return Err(AdminError::conflict("there is an issuer of this url"));
    }
    if let Some(other) = before.iter().find(|issuer| covers(&issuer.url, &url, is_reserved)) {
        let why = format!("url or that of the issuer {} is below the other: {TAKEN}", other.id);
        return Err(AdminError::invalid(why));
    }
    if call.app.create_issuer(id.clone(), &url).await? == Created::Exists {
        return Err(AdminError::conflict("there is an issuer of this id"));
    }
    let detail = json!({ "issuer": id, "url": url });
    let made = ChangedFields::made(&json!({ "id": id, "url": url }));
    call.audit(Event::IssuerCreated, Concerns { detail, ..Concerns::default() }, made);
    call.app.follow(&Changed::Issuers).await?;
    let made = call.app.store.issuers().await?.into_iter().find(|issuer| issuer.id == id);
    let made = made.ok_or_else(|| AdminError::internal("a new issuer is not among the issuers"))?;
    Ok(created(&json!({ "issuer": view(&made) })))
}

/// Reads the id and URL of a new issuer.
pub(super) fn read(mut fields: Fields) -> Result<(IssuerId, String), AdminError> {
    let (id, url): (IssuerId, String) = (fields.require("id")?, fields.require("url")?);
    fields.finish()?;
    check_url(&url).map_err(|why| AdminError::invalid(format!("url {why}")))?;
    Ok((id, url))
}

/// OpenID Connect Discovery 3 and RFC 8414 2: the URL has no query and no fragment. Issuer URLs are compared as
/// strings, so only the normal form is accepted, with or without one slash at its end.
fn check_url(text: &str) -> Result<(), String> {
    let url = Url::parse(text).map_err(|_| "is not a URL".to_owned())?;
    if !matches!(url.scheme(), "https" | "http") {
        return Err("must be http or https".to_owned());
    }
    if url.query().is_some()
        || url.fragment().is_some()
        || !url.username().is_empty()
        || url.password().is_some()
    {
        return Err("must have no user, query or fragment".to_owned());
    }
    let canonical = url.as_str().trim_end_matches('/');
    let (bare, slash) = text.strip_suffix('/').map_or((text, ""), |bare| (bare, "/"));
    if bare != canonical {
        return Err(format!("must be written as {canonical}{slash}"));
    }
    // The path is used in cookies and routes.
    let sound = url
        .path()
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'-' | b'_' | b'.' | b'~'));
    if !sound || url.path().contains("//") {
        return Err("must have a path of letters, digits, -, _, . and ~".to_owned());
    }
    Ok(())
}

/// Whether the URL of one of two issuers lies on a reserved path of the other, where the other's endpoints and pages
/// are.
fn covers(one: &str, other: &str, is_reserved: impl Fn(&str) -> bool) -> bool {
    let ((host, one), (other_host, other)) = (host_and_prefix(one), host_and_prefix(other));
    let is_covered = |above: &str, below: &str| {
        below.strip_prefix(above).is_some_and(|rest| rest.starts_with('/') && is_reserved(rest))
    };
    host == other_host && (is_covered(&one, &other) || is_covered(&other, &one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_spelling_of_a_url_is_let_in() {
        for good in [
            "https://login.example.com",
            "https://login.example.com/acme",
            "http://localhost:8080/a/b",
            "https://login.example.com/",
            "https://login.example.com/acme/",
        ] {
            assert_eq!(check_url(good), Ok(()), "{good}");
        }
        for bad in [
            "login.example.com",
            "ftp://x.example",
            "https://x.example//",
            "https://x.example/a//",
            "https://X.example/",
            "https://x.example?a=b",
            "https://x.example#a",
            "https://u@x.example",
            "https://X.example",
            "https://x.example:443",
            "https://x.example/a%20b",
            "https://x.example/a//b",
        ] {
            assert!(check_url(bad).is_err(), "{bad}");
        }
    }

    fn is_reserved(path: &str) -> bool {
        ["token", "login", "authorize", ".well-known"].contains(&path.split('/').nth(1).unwrap_or_default())
    }

    #[test]
    fn no_issuer_is_where_another_has_its_endpoints() {
        for (above, below) in [
            ("https://x.example", "https://x.example/token"),
            ("https://x.example", "http://x.example/login/deeper"),
            ("https://x.example/a", "https://x.example/a/authorize"),
            ("https://x.example/a", "https://x.example:443/a/.well-known/jwks.json"),
        ] {
            assert!(
                covers(above, below, is_reserved) && covers(below, above, is_reserved),
                "{above} {below}"
            );
        }
        for (one, other) in [
            ("https://x.example", "https://x.example/tokens"),
            ("https://x.example", "https://x.example/a/token"),
            ("https://x.example/a", "https://x.example/atoken"),
            ("https://x.example/a", "https://x.example/token"),
            ("https://x.example", "https://x.example:8443/token"),
            ("https://x.example", "https://y.example/token"),
        ] {
            assert!(!covers(one, other, is_reserved) && !covers(other, one, is_reserved), "{one} {other}");
        }
    }
}
