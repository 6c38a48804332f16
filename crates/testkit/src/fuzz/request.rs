//! Requests of browsers: authorization, logout, redirect URIs, parameters.

use std::borrow::Cow;

use serde_json::Value;
use symbolon_protocol::authorize::response::{AuthorizationResponse, error};
use symbolon_protocol::authorize::{AuthorizationRequest, Rejection, ReturnTo, request};
use symbolon_protocol::client::Client;
use symbolon_protocol::error::OAuthError;
use symbolon_protocol::id_token_hint::IdTokenHint;
use symbolon_protocol::logout::{LogoutDecision, LogoutRequest};
use symbolon_protocol::params::{MAX_PARAMETERS, Params};
use symbolon_protocol::redirect_uri::{append_query, check_registration, is_registered, matches};
use symbolon_protocol::refusal::Reason;
use symbolon_protocol::time::Timestamp;
use url::Url;

use super::fixture::{CLIENTS, SETTINGS, URL, two_lines};

/// A query of `/authorize`: answered at a registered redirect URI with its state, or by a page; an accepted request
/// stays within what the client may have.
pub fn authorization_request(data: &[u8]) {
    let Ok(params) = Params::parse(data) else { return };
    let Ok(client_id) = request::client_id(&params) else { return };
    let Some(client) = CLIENTS.find(client_id.as_str()) else { return };
    match AuthorizationRequest::check(&params, client, ("https://issuer.example", &SETTINGS)) {
        Ok(accepted) => {
            check_accepted(&accepted, client);
            check_answer(&accepted.return_to, client);
        }
        Err(Rejection::Redirect(to, _)) => check_answer(&to, client),
        Err(Rejection::Page(error)) => assert_eq!(error.code.status(), 400),
    }
}

fn check_accepted(accepted: &AuthorizationRequest<'_>, client: &Client) {
    assert!(
        !accepted.scope.is_empty() && client.scope.covers(&accepted.scope),
        "a scope that is not the client's"
    );
    // RFC 9700 2.1.1: the settings are the defaults.
    let compared = !client.is_public() && accepted.nonce.is_some() && accepted.scope.contains("openid");
    assert!(accepted.code_challenge.is_some() || compared, "neither PKCE nor a nonce that counts");
    let prompt = accepted.prompt;
    assert!(!prompt.none || !(prompt.login || prompt.consent || prompt.select_account), "none with others");
    assert!(accepted.nonce.is_none_or(|nonce| !nonce.is_empty() && nonce.len() <= 2048));
}

/// RFC 6749 4.1.2.1: an answer goes to a registered URI, whose scheme, host and path stay the same, and contains the
/// same state.
fn check_answer(to: &ReturnTo<'_>, client: &Client) {
    assert!(
        is_registered(&client.redirect_uris, to.redirect_uri, &client.redirect_uri_forms),
        "an answer to a stranger"
    );
    let refused = OAuthError::invalid_request(Reason::PromptInvalid, "a reason & more");
    match error(to, &refused, URL) {
        AuthorizationResponse::Redirect(location) => {
            assert!(location.bytes().all(|byte| byte.is_ascii_graphic()), "no header value: {location:?}");
            let (sent, location) = (parse(to.redirect_uri), parse(&location));
            assert_eq!(
                (sent.scheme(), sent.host(), sent.path()),
                (location.scheme(), location.host(), location.path())
            );
            let carried = match location.fragment() {
                Some(fragment) => fragment,
                None => location.query().unwrap_or_default(),
            };
            let pairs: Vec<(Cow<'_, str>, Cow<'_, str>)> =
                form_urlencoded::parse(carried.as_bytes()).collect();
            let all = |name: &str| {
                pairs.iter().filter(|(own, _)| own == name).map(|(_, value)| &**value).collect::<Vec<_>>()
            };
            assert_eq!(all("state"), to.state.into_iter().collect::<Vec<_>>());
            assert_eq!((all("error"), all("iss")), (vec!["invalid_request"], vec![URL]));
        }
        AuthorizationResponse::Signed(answer) => {
            let claims = answer.claims(URL, &client.client_id, Timestamp::EPOCH);
            let claims: Value = serde_json::from_slice(&claims).expect("an object");
            assert_eq!((claims["state"].as_str(), claims["iss"].as_str()), (to.state, Some(URL)));
        }
        AuthorizationResponse::FormPost { .. } => {}
    }
}

fn parse(uri: &str) -> Url {
    Url::parse(uri).unwrap_or_else(|error| panic!("{uri:?}: {error}"))
}

/// A query of `/logout`: it redirects only to a registered URI.
pub fn logout_request(data: &[u8]) {
    let Ok(params) = Params::parse(data) else { return };
    let Ok(request) = LogoutRequest::read(&params) else { return };
    let client = request.client(&IdTokenHint::Absent).and_then(|id| CLIENTS.find(id));
    match request.decide(&IdTokenHint::Absent, client, None) {
        LogoutDecision::EndNow { redirect: Some(target) }
        | LogoutDecision::Ask { redirect: Some(target) } => {
            let client = client.expect("a redirect without a client");
            let own = |uri: &String| {
                target.strip_prefix(uri.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('?'))
            };
            assert!(client.post_logout_redirect_uris.iter().any(own), "{target}");
        }
        _ => {}
    }
}

/// A registered and a presented redirect URI, one per line: two that match differ at most in the port, and any URI that
/// may be registered can be redirected to.
pub fn redirect_uri(data: &[u8]) {
    let Some((registered, presented)) = two_lines(data) else { return };
    let registrable = check_registration(registered).is_ok();
    assert_eq!(matches(registered, presented, &[]), is_registered(&[registered.to_owned()], presented, &[]));
    if !registrable {
        return;
    }
    assert!(matches(registered, registered, &[]));
    let location = append_query(registered, &[("state", presented)]);
    let (plain, answered) = (parse(registered), parse(&location));
    assert_eq!(
        (plain.scheme(), plain.host(), plain.port(), plain.path()),
        (answered.scheme(), answered.host(), answered.port(), answered.path())
    );
    assert_eq!(
        answered.query_pairs().last().map(|(_, value)| value.into_owned()).as_deref(),
        Some(presented)
    );
    if !matches(registered, presented, &[]) {
        return;
    }
    let target = parse(presented);
    assert_eq!(
        (plain.scheme(), plain.host(), plain.path(), plain.query()),
        (target.scheme(), target.host(), target.path(), target.query())
    );
    assert!(target.username().is_empty() && target.password().is_none() && target.fragment().is_none());
    assert!(presented.bytes().all(|byte| byte.is_ascii_graphic()));
    if plain.port_or_known_default() != target.port_or_known_default() {
        assert!(
            registered.starts_with("http://127.0.0.1") || registered.starts_with("http://[::1]"),
            "another port"
        );
    }
}

/// A form: bounded, and read as other implementations read it.
pub fn percent_decoding(data: &[u8]) {
    let Ok(params) = Params::parse(data) else { return };
    let ours: Vec<(&str, &str)> = params.iter().collect();
    assert!(ours.len() <= MAX_PARAMETERS);
    let pairs = data
        .split(|byte| *byte == b'&')
        .filter(|pair| pair.iter().position(|b| *b == b'=').is_some_and(|at| at + 1 < pair.len()));
    let theirs: Vec<_> = pairs.flat_map(|pair| form_urlencoded::parse(pair)).collect();
    let theirs: Vec<(&str, &str)> = theirs.iter().map(|(name, value)| (&**name, &**value)).collect();
    assert_eq!(ours, theirs);
    let again = form_urlencoded::Serializer::new(String::new()).extend_pairs(&ours).finish();
    if again.len() <= symbolon_protocol::params::MAX_LENGTH {
        let again = Params::parse(again.as_bytes())
            .unwrap_or_else(|error| panic!("what was read cannot be written: {error}"));
        assert!(again == params);
    }
}
