//! Resource indicators (RFC 8707): the audience that a client requests for an access token.

use crate::client::Client;
use crate::error::{ErrorCode, OAuthError};
use crate::protected_resource::is_userinfo;
use crate::refusal::{Details, Reason};
use crate::settings::IssuerSettings;
use crate::token::token_exchange::check_resources;

/// Whether a client of an issuer with this URL and these settings may name a target: the issuer, its UserInfo, one of the client's registered
/// audiences, or, for a client that no administrator made, a resource that the issuer lets all such clients name.
pub fn may_name((issuer, settings): (&str, &IssuerSettings), client: &Client, target: &str) -> bool {
    target == issuer
        || is_userinfo(target, issuer)
        || client.access_token_audiences.iter().any(|own| own == target)
        || (client.is_of_stranger() && settings.client_registration_resources.iter().any(|own| own == target))
}

/// Whether this is a resource indicator: an absolute URI without a fragment (RFC 8707 2).
pub fn is_well_formed(resource: &str) -> bool {
    check_resources(&[resource]).is_ok()
}

/// Checks the resources of an authorization request (RFC 8707 2.1) at an issuer with this URL and these settings.
///
/// # Errors
/// `invalid_request` for a value that is not an absolute URI or has a fragment; `invalid_target` for a resource that
/// the client may not name.
pub fn check(issuer: (&str, &IssuerSettings), client: &Client, resource: &[&str]) -> Result<(), OAuthError> {
    check_resources(resource)?;
    match resource.iter().find(|target| !may_name(issuer, client, target)) {
        None => Ok(()),
        Some(refused) => {
            Err(not_registered(client, ("resource", refused), "the client may not name this resource"))
        }
    }
}

/// `invalid_target` for a target that the client has not registered, under the name of its parameter.
pub(super) fn not_registered(
    client: &Client,
    (parameter, target): (&str, &str),
    description: &'static str,
) -> OAuthError {
    let registered = client.access_token_audiences.iter().map(String::as_str);
    OAuthError::new(ErrorCode::InvalidTarget, Reason::ResourceNotRegistered, description)
        .about(Details::of(parameter).sent_uri(target).registered(registered))
}

/// `invalid_target` for a resource that is no part of what was granted.
fn not_granted(granted: &[String], asked: &str) -> OAuthError {
    let details = Details::of("resource").sent_uri(asked).expected(granted.iter().map(String::as_str));
    let description = "resource goes beyond what was granted";
    OAuthError::new(ErrorCode::InvalidTarget, Reason::ResourceBeyondGrant, description).about(details)
}

/// `invalid_target` for granted resources that the client may not name any more.
fn no_longer_registered(client: &Client, granted: &[String]) -> OAuthError {
    let registered = client.access_token_audiences.iter().map(String::as_str);
    let details = Details::of("resource").sent(&granted.join(" ")).registered(registered);
    let description = "the client may not name the granted resource any more";
    OAuthError::new(ErrorCode::InvalidTarget, Reason::ResourceNoLongerRegistered, description).about(details)
}

/// The resources for a token, at an issuer with this URL and these settings: those of the token request, if they were granted; without any, all that were granted
/// (RFC 8707 2.2). Empty if neither request named any. Granted resources that the client may no longer name are left
/// out.
///
/// # Errors
/// Those of [`check`]; `invalid_target` for a resource that was not granted, or if none of the granted ones is left.
pub fn narrowed<'a>(
    issuer: (&str, &IssuerSettings),
    client: &Client,
    granted: &'a [String],
    asked: &[&'a str],
) -> Result<Vec<&'a str>, OAuthError> {
    check(issuer, client, asked)?;
    if !asked.is_empty() {
        let is_granted = |target: &str| granted.is_empty() || granted.iter().any(|own| own == target);
        return match asked.iter().find(|target| !is_granted(target)) {
            None => Ok(asked.to_vec()),
            Some(foreign) => Err(not_granted(granted, foreign)),
        };
    }
    let left = granted.iter().map(String::as_str).filter(|target| may_name(issuer, client, target));
    let left: Vec<&str> = left.collect();
    if left.is_empty() && !granted.is_empty() {
        return Err(no_longer_registered(client, granted));
    }
    Ok(left)
}

#[cfg(test)]
mod tests {
    use symbolon_crypto::random::SeededRandom;

    use super::*;
    use crate::client_registration::{self, Policy};
    use crate::time::Timestamp;
    use crate::token::fixture::client;

    const ISSUER: &str = "https://issuer.example";
    const A: &str = "https://a.example";
    const B: &str = "https://b.example";

    fn registered(audiences: &[&str]) -> Client {
        Client {
            access_token_audiences: audiences.iter().map(|own| (*own).to_owned()).collect(),
            ..client("app")
        }
    }

    fn code<T>(result: Result<T, OAuthError>) -> Option<ErrorCode> {
        result.err().map(|error| error.code)
    }

    #[test]
    fn a_client_names_what_it_registered_and_the_issuer() {
        // The resource of UserInfo's own metadata (RFC 9728 2).
        const USERINFO: &str = "https://issuer.example/userinfo";
        let client = registered(&[A]);
        let issuer = (ISSUER, &IssuerSettings::default());
        for good in [&[][..], &[A], &[ISSUER, A], &[USERINFO]] {
            assert_eq!(check(issuer, &client, good), Ok(()));
        }
        assert_eq!(code(check(issuer, &client, &[A, B])), Some(ErrorCode::InvalidTarget));
        for malformed in ["a", "https://a.example#x"] {
            assert_eq!(code(check(issuer, &client, &[malformed])), Some(ErrorCode::InvalidRequest));
            assert!(!is_well_formed(malformed));
        }
        assert!(is_well_formed(A));
    }

    /// A client that registered itself.
    fn stranger() -> Client {
        let metadata = serde_json::json!({ "redirect_uris": ["https://rp.example/cb"] });
        let policy = Policy::of(&IssuerSettings::default(), Vec::new());
        let key = symbolon_crypto::digest::HmacKey::new(b"the issuer's key for client secrets");
        let now = Timestamp::from_seconds(1_800_000_000);
        let metadata = metadata.as_object().cloned().unwrap();
        let made = client_registration::register(metadata, &policy, &key, now, &SeededRandom::new(7));
        match made {
            Ok(made) => made.registration.client,
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn a_client_that_registered_itself_names_what_the_issuer_lets_all_such_clients_name() {
        let on =
            IssuerSettings { client_registration_resources: vec![A.to_owned()], ..IssuerSettings::default() };
        let stranger = stranger();
        assert_eq!(check((ISSUER, &on), &stranger, &[A]), Ok(()));
        assert_eq!(code(check((ISSUER, &on), &stranger, &[A, B])), Some(ErrorCode::InvalidTarget));
        let others = [(&IssuerSettings::default(), &stranger), (&on, &registered(&[]))];
        for (settings, client) in others {
            assert_eq!(code(check((ISSUER, settings), client, &[A])), Some(ErrorCode::InvalidTarget));
        }
        // What was granted ends with the setting.
        let granted = [A.to_owned()];
        assert_eq!(narrowed((ISSUER, &on), &stranger, &granted, &[]), Ok(vec![A]));
        let off = IssuerSettings::default();
        let ended = narrowed((ISSUER, &off), &stranger, &granted, &[]);
        assert_eq!(code(ended), Some(ErrorCode::InvalidTarget));
    }

    #[test]
    fn a_token_request_narrows_what_was_granted_and_widens_nothing() {
        let (client, granted) = (registered(&[A, B]), [A.to_owned(), B.to_owned()]);
        let issuer = (ISSUER, &IssuerSettings::default());
        let of = |granted: &[String], asked: &[&str]| {
            narrowed(issuer, &client, granted, asked)
                .map(|targets| targets.join(" "))
                .map_err(|error| error.code)
        };
        assert_eq!(of(&granted, &[]), Ok(format!("{A} {B}")));
        assert_eq!(of(&granted, &[B]), Ok(B.to_owned()));
        assert_eq!(of(&granted[..1], &[B]), Err(ErrorCode::InvalidTarget));
        let beyond = narrowed(issuer, &client, &granted[..1], &[A, B]).unwrap_err();
        let details = beyond.details.unwrap();
        assert_eq!(details.sent_value(), Some(B), "the operator is told of the one that was not granted");
        assert_eq!(of(&[], &[B]), Ok(B.to_owned()));
        assert_eq!(of(&[], &[]), Ok(String::new()));
        let less = registered(&[B]);
        assert_eq!(narrowed(issuer, &less, &granted, &[]), Ok(vec![B]));
        assert_eq!(code(narrowed(issuer, &less, &granted[..1], &[])), Some(ErrorCode::InvalidTarget));
    }
}
