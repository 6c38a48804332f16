use std::time::Duration;

use proptest::prelude::*;
use symbolon_crypto::digest::HmacKey;
use symbolon_crypto::random::SeededRandom;

use super::*;
use crate::client::{Client, GrantType, TokenEndpointAuthMethod};
use crate::client_metadata;
use crate::code::AuthorizationCode;
use crate::consent::Consent;
use crate::error::{ErrorCode, OAuthError};
use crate::id::{ClientId, IssuerId, Sid, UserId};
use crate::id_token_hint::{IdTokenHint, IdTokenHintClaims};
use crate::params::Params;
use crate::pkce::PkcePolicy;
use crate::scope::Scope;
use crate::session::{Amr, AuthenticationMethod, Session};
use crate::session_management::SessionState;
use crate::settings::{ClientOverrides, IssuerSettings, SecondFactor};
use crate::sign_in::acr::RequestedAcr;
use crate::time::Timestamp;

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
const ISSUER: &str = "https://op.example";
const CALLBACK: &str = "https://rp.example/cb";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

fn client() -> Client {
    let metadata = serde_json::json!({
        "client_id": "rp", "client_name": "RP", "redirect_uris": [CALLBACK, "http://127.0.0.1/cb"],
        "grant_types": ["authorization_code", "refresh_token"],
        "scope": "openid profile email offline_access",
    });
    let serde_json::Value::Object(metadata) = metadata else { panic!("an object") };
    let key = HmacKey::new(b"key");
    client_metadata::create(metadata, &key, NOW, &SeededRandom::new(1)).map(|made| made.client).unwrap()
}

fn session() -> Session {
    Session {
        user: UserId::trusted("alice"),
        sid: Sid::trusted("sid-1"),
        auth_time: NOW - Duration::from_secs(600),
        created_at: NOW - Duration::from_secs(600),
        expires_at: NOW + Duration::from_secs(600),
        amr: Amr::of(AuthenticationMethod::Pwd),
        clients: Box::default(),
        predecessors: Default::default(),
    }
}

fn scope(text: &str) -> Scope {
    Scope::parse(text).unwrap()
}

/// A good request with some parameters set or, where the value is empty, left out.
fn query(changes: &[(&str, &str)]) -> String {
    let base = [
        ("response_type", "code"),
        ("client_id", "rp"),
        ("redirect_uri", CALLBACK),
        ("scope", "openid profile"),
        ("state", "st/1 "),
        ("nonce", "n-1"),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
    ];
    let kept = base.iter().filter(|(name, _)| changes.iter().all(|(changed, _)| changed != name));
    form_urlencoded::Serializer::new(String::new()).extend_pairs(kept).extend_pairs(changes).finish()
}

/// Where a request's error goes.
#[derive(Debug, PartialEq)]
enum Outcome {
    Good,
    Page(ErrorCode),
    Redirect(ErrorCode, ResponseMode),
}

fn outcome(text: &str, client: &Client, settings: &IssuerSettings) -> Outcome {
    let params = Params::parse(text.as_bytes()).unwrap();
    match AuthorizationRequest::check(&params, client, (ISSUER, settings)) {
        Ok(_) => Outcome::Good,
        Err(Rejection::Page(error)) => Outcome::Page(error.code),
        Err(Rejection::Redirect(to, error)) => {
            assert_eq!(to.redirect_uri, CALLBACK);
            Outcome::Redirect(error.code, to.response_mode)
        }
    }
}

#[test]
fn what_is_kept_or_goes_back_is_bounded_as_it_is_encoded() {
    use ErrorCode::InvalidRequest;
    use Outcome::*;
    use ResponseMode::Query;
    let (long, longer) = ("\u{1}".repeat(1_365), "\u{1}".repeat(1_366));
    let (plain, plainer) = ("s".repeat(4_096), "s".repeat(4_097));
    let (nonce, nonce_longer) = ("\u{1}".repeat(341), "\u{1}".repeat(342));
    let (resources, more) = ([("resource", ISSUER); 10], [("resource", ISSUER); 11]);
    let table: &[(&[(&str, &str)], Outcome)] = &[
        (&[("state", &long)], Good),
        (&[("state", &longer)], Page(InvalidRequest)),
        (&[("state", &plain)], Good),
        (&[("state", &plainer)], Page(InvalidRequest)),
        (&[("nonce", &nonce)], Good),
        (&[("nonce", &nonce_longer)], Redirect(InvalidRequest, Query)),
        (&resources, Good),
        (&more, Redirect(InvalidRequest, Query)),
    ];
    for (changes, expected) in table {
        let text = query(changes);
        assert_eq!(outcome(&text, &client(), &IssuerSettings::default()), *expected, "{text}");
    }
}

#[test]
fn requests_and_where_their_errors_go() {
    use ErrorCode::*;
    use Outcome::*;
    use ResponseMode::{FormPost, Fragment, Query};
    let table: &[(&[(&str, &str)], Outcome)] = &[
        (&[], Good),
        (&[("nonce", ""), ("state", "")], Good),
        (&[("scope", "profile")], Good),
        (&[("redirect_uri", "http://127.0.0.1:49152/cb")], Good),
        (&[("unknown", "1"), ("claims", "{}"), ("acr_values", "1")], Good),
        (&[("resource", ISSUER)], Good),
        (
            &[("resource", "https://a.example"), ("resource", "https://b.example")],
            Redirect(InvalidTarget, Query),
        ),
        (&[("resource", "a.example")], Redirect(InvalidRequest, Query)),
        (&[("prompt", "login consent"), ("max_age", "0"), ("response_mode", "form_post")], Good),
        (&[("redirect_uri", "")], Page(InvalidRequest)),
        (&[("redirect_uri", "https://rp.example/cb/")], Page(InvalidRequest)),
        (&[("redirect_uri", CALLBACK), ("redirect_uri", CALLBACK)], Page(InvalidRequest)),
        (&[("client_id", "rp"), ("client_id", "rp")], Page(InvalidRequest)),
        (&[("response_type", "")], Redirect(InvalidRequest, Query)),
        (&[("response_type", "none")], Redirect(UnsupportedResponseType, Query)),
        (&[("response_type", "token")], Redirect(UnsupportedResponseType, Fragment)),
        (&[("response_type", "id_token token")], Redirect(UnsupportedResponseType, Fragment)),
        (&[("response_type", "code id_token")], Redirect(UnsupportedResponseType, Fragment)),
        (&[("response_type", "id_token"), ("scope", "\"")], Redirect(UnsupportedResponseType, Fragment)),
        (
            &[("response_type", "id_token"), ("response_mode", "query")],
            Redirect(UnsupportedResponseType, Query),
        ),
        (&[("response_type", "token"), ("response_mode", "x")], Redirect(InvalidRequest, Fragment)),
        (
            &[("response_type", "code id_token"), ("response_mode", "fragment")],
            Redirect(UnsupportedResponseType, Fragment),
        ),
        (&[("response_mode", "jwt")], Redirect(InvalidRequest, Query)),
        (&[("state", "a"), ("state", "b")], Redirect(InvalidRequest, Query)),
        (&[("acr_values", "1"), ("acr_values", "2")], Redirect(InvalidRequest, Query)),
        (&[("unknown", "1"), ("unknown", "2")], Redirect(InvalidRequest, Query)),
        (
            &[("scope", "openid"), ("scope", "email"), ("response_mode", "form_post")],
            Redirect(InvalidRequest, FormPost),
        ),
        (&[("scope", "")], Good),
        (&[("scope", " ")], Redirect(InvalidScope, Query)),
        (&[("scope", "unknown")], Redirect(InvalidScope, Query)),
        (&[("scope", "a\"b")], Redirect(InvalidScope, Query)),
        (&[("prompt", "none login")], Redirect(InvalidRequest, Query)),
        (&[("prompt", "dance")], Redirect(InvalidRequest, Query)),
        (&[("max_age", "-1")], Redirect(InvalidRequest, Query)),
        (&[("max_age", "soon")], Redirect(InvalidRequest, Query)),
        (&[("request", "x.y.z")], Redirect(RequestNotSupported, Query)),
        (&[("request_uri", "urn:x")], Redirect(RequestUriNotSupported, Query)),
        (&[("registration", "{}")], Redirect(RegistrationNotSupported, Query)),
        (&[("code_challenge", "")], Redirect(InvalidRequest, Query)),
        (&[("code_challenge_method", "")], Redirect(InvalidRequest, Query)),
        (&[("code_challenge_method", "plain")], Redirect(InvalidRequest, Query)),
    ];
    for (changes, expected) in table {
        let text = query(changes);
        assert_eq!(outcome(&text, &client(), &IssuerSettings::default()), *expected, "{text}");
    }
}

#[test]
fn a_form_is_posted_to_web_servers_only() {
    let native = Client { redirect_uris: vec!["com.example.app:/cb".into()], ..client() };
    for (mode, good) in [("query", true), ("fragment", true), ("form_post", false)] {
        let text = query(&[("redirect_uri", "com.example.app:/cb"), ("response_mode", mode)]);
        let params = Params::parse(text.as_bytes()).unwrap();
        match AuthorizationRequest::check(&params, &native, (ISSUER, &IssuerSettings::default())) {
            Ok(request) => assert!(good && request.return_to.response_mode.as_str() == mode),
            Err(Rejection::Redirect(to, error)) => {
                assert_eq!((good, error.code), (false, ErrorCode::InvalidRequest));
                assert_eq!(to.response_mode, ResponseMode::Query, "nor can the error be");
            }
            Err(Rejection::Page(error)) => panic!("{error}"),
        }
    }
}

#[test]
fn a_client_without_the_grant_type_is_told() {
    let client = Client { grant_types: vec![GrantType::ClientCredentials], ..client() };
    let found = outcome(&query(&[]), &client, &IssuerSettings::default());
    assert_eq!(found, Outcome::Redirect(ErrorCode::UnauthorizedClient, ResponseMode::Query));
}

/// Takes PKCE out of a request.
const NO_CHALLENGE: (&str, &str) = ("code_challenge", "");
const NO_METHOD: (&str, &str) = ("code_challenge_method", "");

fn of_issuer(pkce: PkcePolicy) -> IssuerSettings {
    IssuerSettings { pkce, ..IssuerSettings::default() }
}

fn with_policy(client: Client, pkce: Option<PkcePolicy>) -> Client {
    let settings = ClientOverrides { pkce, ..client.settings.clone() };
    Client { settings, ..client }
}

fn accepts(text: &str, client: &Client, settings: &IssuerSettings) -> bool {
    match outcome(text, client, settings) {
        Outcome::Good => true,
        refused => {
            assert_eq!(refused, Outcome::Redirect(ErrorCode::InvalidRequest, ResponseMode::Query));
            false
        }
    }
}

#[test]
fn confidential_clients_send_pkce_or_a_nonce_unless_issuer_or_client_says_otherwise() {
    use PkcePolicy::{Optional, OrNonce, Required};
    let nonce = query(&[NO_CHALLENGE, NO_METHOD]);
    let neither = query(&[NO_CHALLENGE, NO_METHOD, ("nonce", "")]);
    assert!(!accepts(&neither, &client(), &IssuerSettings::default()), "the default");
    for (issuer, own, with_nonce, with_neither) in [
        (OrNonce, None, true, false),
        (Required, None, false, false),
        (Optional, None, true, true),
        (OrNonce, Some(Required), false, false),
        (OrNonce, Some(Optional), true, true),
        (Required, Some(OrNonce), true, false),
        (Required, Some(Optional), true, true),
        (Optional, Some(OrNonce), true, false),
        (Optional, Some(Required), false, false),
    ] {
        let (settings, client) = (of_issuer(issuer), with_policy(client(), own));
        assert!(accepts(&query(&[("nonce", "")]), &client, &settings), "{issuer:?} {own:?}");
        assert_eq!(accepts(&nonce, &client, &settings), with_nonce, "{issuer:?} {own:?}");
        assert_eq!(accepts(&neither, &client, &settings), with_neither, "{issuer:?} {own:?}");
    }
}

#[test]
fn public_clients_send_pkce_whatever_issuer_and_client_say() {
    let public = Client { token_endpoint_auth_method: TokenEndpointAuthMethod::None, ..client() };
    let nonce = query(&[NO_CHALLENGE, NO_METHOD]);
    for policy in PkcePolicy::ALL {
        for own in [None, Some(PkcePolicy::OrNonce), Some(PkcePolicy::Optional)] {
            let client = with_policy(public.clone(), own);
            assert!(!accepts(&nonce, &client, &of_issuer(policy)), "{policy:?} {own:?}");
            assert!(accepts(&query(&[]), &client, &of_issuer(policy)), "{policy:?} {own:?}");
        }
    }
}

/// Without an ID token nobody compares the nonce.
#[test]
fn a_nonce_stands_in_for_pkce_in_openid_requests_alone() {
    let settings = IssuerSettings::default();
    let of_scope = |scope| query(&[NO_CHALLENGE, NO_METHOD, ("scope", scope)]);
    assert!(accepts(&of_scope("openid"), &client(), &settings));
    assert!(!accepts(&of_scope("profile"), &client(), &settings));
    let without_openid = Client { scope: scope("profile"), ..client() };
    assert!(!accepts(&of_scope("openid profile"), &without_openid, &settings));
}

#[test]
fn the_client_is_named_once_and_well() {
    let named = |text: &str| request::client_id(&Params::parse(text.as_bytes()).unwrap());
    assert_eq!(named("client_id=rp"), Ok(ClientId::trusted("rp")));
    for bad in ["", "client_id=", "client_id=a%20b", "client_id=a&client_id=a"] {
        assert_eq!(named(bad).map_err(|e| e.code.status()), Err(400), "{bad}");
    }
}

/// The situation that a case of the table below starts from: signed in, consented, nothing special.
struct Case {
    changes: Vec<(&'static str, &'static str)>,
    client: Client,
    session: Option<Session>,
    consent: Option<Consent>,
    hint: IdTokenHint,
    signed_in_at: Option<Timestamp>,
    allowed: Option<(UserId, Scope)>,
    stays_at: Option<Sid>,
}

impl Case {
    fn new(changes: &[(&'static str, &'static str)]) -> Self {
        let consent = Consent { scope: scope("openid profile offline_access"), granted_at: NOW };
        Self {
            changes: changes.to_vec(),
            client: client(),
            session: Some(session()),
            consent: Some(consent),
            hint: IdTokenHint::Absent,
            signed_in_at: None,
            allowed: None,
            stays_at: None,
        }
    }

    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    fn decide(&self) -> Decision {
        let text = query(&self.changes);
        let params = Params::parse(text.as_bytes()).unwrap();
        let request =
            AuthorizationRequest::check(&params, &self.client, (ISSUER, &IssuerSettings::default())).unwrap();
        let session = self.session.as_ref().map(|session| (session, self.consent.as_ref()));
        let done = InteractionSoFar {
            signed_in_at: self.signed_in_at,
            allowed: self.allowed.as_ref().map(|(u, s)| (u, s)),
            stays_at: self.stays_at.as_ref(),
        };
        decide(&request, &self.client, session, &self.hint, done, NOW)
    }

    #[track_caller]
    fn issues(self, expected: &str) {
        assert_eq!(self.decide(), Decision::Issue { scope: scope(expected) });
    }

    #[track_caller]
    fn asks_login(self, reauthenticate: bool) {
        assert_eq!(self.decide(), Decision::Login { reauthenticate });
    }

    #[track_caller]
    fn asks_consent(self, expected: &str) {
        assert_eq!(self.decide(), Decision::Consent { scopes: scope(expected) });
    }

    #[track_caller]
    fn fails(self, expected: ErrorCode) {
        let Decision::Error(OAuthError { code, .. }) = self.decide() else { panic!("{:?}", self.decide()) };
        assert_eq!(code, expected);
    }
}

fn alice(allowed: &str) -> Option<(UserId, Scope)> {
    Some((UserId::trusted("alice"), scope(allowed)))
}

const NONE: (&str, &str) = ("prompt", "none");

#[test]
fn a_live_session_with_consent_is_enough() {
    Case::new(&[]).issues("openid profile");
    Case::new(&[NONE]).issues("openid profile");
}

#[test]
fn without_a_live_session_the_person_signs_in() {
    let expired = |case: &mut Case| case.session.as_mut().unwrap().expires_at = NOW;
    Case::new(&[]).with(|case| case.session = None).asks_login(false);
    Case::new(&[]).with(expired).asks_login(false);
    Case::new(&[NONE]).with(|case| case.session = None).fails(ErrorCode::LoginRequired);
    Case::new(&[NONE]).with(expired).fails(ErrorCode::LoginRequired);
}

#[test]
fn an_old_sign_in_is_renewed_once() {
    let done = |case: &mut Case| case.signed_in_at = case.session.as_ref().map(|session| session.auth_time);
    Case::new(&[("max_age", "600")]).issues("openid profile");
    Case::new(&[("max_age", "599")]).asks_login(true);
    Case::new(&[("max_age", "599")]).with(done).issues("openid profile");
    Case::new(&[("max_age", "0")]).with(done).issues("openid profile");
    Case::new(&[("max_age", "599"), NONE]).fails(ErrorCode::LoginRequired);
    Case::new(&[]).with(|case| case.client.default_max_age = Some(1)).asks_login(true);
    Case::new(&[("max_age", "700")])
        .with(|case| case.client.default_max_age = Some(1))
        .issues("openid profile");
}

#[test]
fn prompt_login_forces_one_sign_in() {
    for prompt in ["login", "select_account", "login select_account"] {
        Case::new(&[("prompt", prompt)]).asks_login(true);
        let done = |case: &mut Case| case.signed_in_at = case.session.as_ref().map(|s| s.auth_time);
        Case::new(&[("prompt", prompt)]).with(done).issues("openid profile");
    }
    // A session that is older than the sign-in of this transaction is another one: it does not count.
    Case::new(&[("prompt", "login")]).with(|case| case.signed_in_at = Some(NOW)).asks_login(true);
}

/// Issued to another client: nothing asks for this one (OpenID Connect Core 3.1.2.1).
fn hint(sub: &str) -> IdTokenHint {
    IdTokenHint::IdToken(IdTokenHintClaims {
        sub: UserId::trusted(sub),
        sid: None,
        aud: ClientId::trusted("another-rp"),
    })
}

#[test]
fn a_hint_at_another_user_is_not_ignored() {
    let other = |case: &mut Case| case.hint = hint("bob");
    Case::new(&[NONE]).with(|case| case.hint = hint("alice")).issues("openid profile");
    Case::new(&[NONE]).with(other).fails(ErrorCode::LoginRequired);
    Case::new(&[]).with(other).asks_login(true);
    Case::new(&[])
        .with(other)
        .with(|case| case.signed_in_at = case.session.as_ref().map(|session| session.auth_time))
        .fails(ErrorCode::LoginRequired);
    Case::new(&[]).with(|case| case.hint = IdTokenHint::Unverifiable).issues("openid profile");
    Case::new(&[NONE]).with(|case| case.hint = IdTokenHint::Unverifiable).fails(ErrorCode::LoginRequired);
    // A hint alone never stands in for a session.
    Case::new(&[NONE])
        .with(|case| (case.session, case.hint) = (None, hint("alice")))
        .fails(ErrorCode::LoginRequired);
}

#[test]
fn consent_is_asked_for_what_is_not_covered() {
    let more = ("scope", "openid profile email");
    Case::new(&[more]).asks_consent("openid profile email");
    Case::new(&[more, NONE]).fails(ErrorCode::ConsentRequired);
    Case::new(&[]).with(|case| case.consent = None).asks_consent("openid profile");
    Case::new(&[more, NONE]).with(|case| case.client.skip_consent = true).issues("openid profile email");
    Case::new(&[more]).with(|case| case.allowed = alice("openid email")).issues("openid email");
    let bob = |case: &mut Case| case.allowed = Some((UserId::trusted("bob"), scope("openid email")));
    Case::new(&[more]).with(bob).asks_consent("openid profile email");
    Case::new(&[more]).with(|case| case.allowed = alice("phone")).fails(ErrorCode::AccessDenied);
}

/// RFC 8252 8.6.
#[test]
fn a_remembered_consent_is_no_answer_to_any_program() {
    fn native(case: &mut Case) {
        case.client.token_endpoint_auth_method = TokenEndpointAuthMethod::None;
        case.client.redirect_uris.push("com.example.app:/cb".to_owned());
    }
    let registered = ("redirect_uri", "http://127.0.0.1/cb");
    for redirect_uri in ["http://127.0.0.1:6666/cb", "com.example.app:/cb"] {
        let to = ("redirect_uri", redirect_uri);
        Case::new(&[to]).with(native).asks_consent("openid profile");
        Case::new(&[to, NONE]).with(native).fails(ErrorCode::ConsentRequired);
        let said_so = |case: &mut Case| case.allowed = alice("openid");
        Case::new(&[to]).with(native).with(said_so).issues("openid");
        Case::new(&[to]).with(native).with(|case| case.client.skip_consent = true).issues("openid profile");
    }
    Case::new(&[registered, NONE]).with(native).issues("openid profile");
    Case::new(&[NONE]).with(native).issues("openid profile");
    let confidential = ("redirect_uri", "http://127.0.0.1:6666/cb");
    Case::new(&[confidential, NONE]).issues("openid profile");
}

#[test]
fn prompt_consent_forces_one_page_but_not_for_clients_that_skip_it() {
    let prompt = ("prompt", "consent");
    Case::new(&[prompt]).asks_consent("openid profile");
    Case::new(&[prompt]).with(|case| case.allowed = alice("openid profile")).issues("openid profile");
    Case::new(&[prompt]).with(|case| case.client.skip_consent = true).issues("openid profile");
}

#[test]
fn offline_access_needs_refresh_tokens_and_consent() {
    let asked = ("scope", "openid offline_access");
    let never_asked = |case: &mut Case| {
        case.consent = Some(Consent { scope: scope("openid profile"), granted_at: NOW });
    };
    Case::new(&[asked]).issues("openid offline_access");
    Case::new(&[asked, NONE]).issues("openid offline_access");
    Case::new(&[asked]).with(never_asked).asks_consent("openid offline_access");
    Case::new(&[asked]).with(never_asked).with(|case| case.allowed = alice("openid")).issues("openid");
    Case::new(&[asked, NONE]).with(never_asked).issues("openid");
    Case::new(&[asked, ("prompt", "consent")]).asks_consent("openid offline_access");
    Case::new(&[asked]).with(|case| case.client.skip_consent = true).issues("openid offline_access");
    Case::new(&[asked])
        .with(|case| case.client.skip_consent = true)
        .with(|case| case.client.grant_types = vec![GrantType::AuthorizationCode])
        .issues("openid");
    Case::new(&[("scope", "offline_access"), NONE]).with(never_asked).fails(ErrorCode::InvalidScope);
}

/// RFC 6749 3.3: a pre-defined default.
#[test]
fn without_scope_the_registered_ones_are_asked_for_but_no_offline_access() {
    let whole = |case: &mut Case| case.client.skip_consent = true;
    Case::new(&[("scope", "")]).with(whole).issues("openid profile email");
    Case::new(&[("scope", "")]).asks_consent("openid profile email");
    let narrow = |case: &mut Case| case.client.scope = scope("profile");
    Case::new(&[("scope", "")]).with(whole).with(narrow).issues("profile");
}

#[test]
fn a_scope_that_leads_to_nothing_is_refused_by_what_may_be_asked_for() {
    for (asked, registered, told) in [
        ("admin", "openid email", "; the client may ask for: openid email"),
        ("", "offline_access", "scope is missing, and no registered scope can stand in for it"),
        ("", "", "; there is no scope that the client may ask for here"),
    ] {
        let client = Client { scope: scope(registered), ..client() };
        let text = query(&[("scope", asked)]);
        let params = Params::parse(text.as_bytes()).unwrap();
        match AuthorizationRequest::check(&params, &client, (ISSUER, &IssuerSettings::default())) {
            Err(Rejection::Redirect(_, error)) => {
                assert_eq!(error.code, ErrorCode::InvalidScope, "{asked}");
                assert!(error.description.contains(told), "{error}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn unknown_scopes_are_dropped() {
    Case::new(&[("scope", "openid admin profile")]).issues("openid profile");
}

#[test]
fn a_code_stands_for_the_request_and_the_session() {
    let (client, session, settings) = (client(), session(), IssuerSettings::default());
    let text = query(&[]);
    let params = Params::parse(text.as_bytes()).unwrap();
    let request = AuthorizationRequest::check(&params, &client, (ISSUER, &settings)).unwrap();
    let issuer = IssuerId::default_issuer();
    let issuance =
        Issuance { issuer: &issuer, settings: &settings, client: &client, session: &session, now: NOW };
    let random = SeededRandom::new(3);
    let grant = issuance.code_grant(&request, scope("openid"), &random);
    assert_eq!((grant.client.as_str(), grant.user.as_str()), ("rp", "alice"));
    assert_eq!((grant.redirect_uri.as_str(), grant.nonce.as_deref()), (CALLBACK, Some("n-1")));
    assert_eq!((grant.auth_time, grant.sid), (session.auth_time, session.sid.clone()));
    assert_eq!(grant.expires_at, NOW + Duration::from_secs(60));
    assert_eq!(grant.scope.as_str(), "openid");
    assert!(grant.code_challenge.is_some());
    assert_ne!(grant.grant, issuance.code_grant(&request, scope("openid"), &random).grant, "one per code");
}

#[test]
fn answers_in_each_mode() {
    let code = AuthorizationCode::new("ac_1_2_x");
    let to = |response_mode| ReturnTo { redirect_uri: CALLBACK, response_mode, state: Some("st/1 ") };
    let located = |answer| match answer {
        AuthorizationResponse::Redirect(location) => location,
        AuthorizationResponse::FormPost { .. } => panic!("a form"),
    };
    let tail = "code=ac_1_2_x&state=st%2F1%20&iss=https%3A%2F%2Fop.example";
    let query = located(response::success(&to(ResponseMode::Query), &code, ISSUER, None));
    assert_eq!(query, format!("{CALLBACK}?{tail}"));
    let fragment = located(response::success(&to(ResponseMode::Fragment), &code, ISSUER, None));
    assert_eq!(fragment, format!("{CALLBACK}#{tail}"));
    let AuthorizationResponse::FormPost { action, fields } =
        response::success(&to(ResponseMode::FormPost), &code, ISSUER, None)
    else {
        panic!("no form")
    };
    assert_eq!(action, CALLBACK);
    let expected = [("code", "ac_1_2_x"), ("state", "st/1 "), ("iss", ISSUER)];
    assert_eq!(fields, expected.map(|(name, value)| (name, value.to_owned())));

    let error = decide::denied();
    let answer = located(response::error(&to(ResponseMode::Query), &error, ISSUER));
    assert_eq!(
        answer,
        format!(
            "{CALLBACK}?error=access_denied&error_description=the%20user%20refused&state=st%2F1%20\
             &iss=https%3A%2F%2Fop.example"
        )
    );
    let stateless = ReturnTo { state: None, ..to(ResponseMode::Query) };
    assert!(!located(response::success(&stateless, &code, ISSUER, None)).contains("state"));
    let client = ClientId::trusted("rp");
    let state = SessionState::of(&client, CALLBACK, &Sid::trusted("s1"), &SeededRandom::new(1)).unwrap();
    let with_state = located(response::success(&stateless, &code, ISSUER, Some(&state)));
    assert!(with_state.ends_with(&format!("&session_state={}", state.as_str())), "{with_state}");
}

proptest! {
    #[test]
    fn any_query_is_answered_and_nothing_goes_to_an_unregistered_place(
        pairs in prop::collection::vec(
            (prop::sample::select(vec![
                "response_type", "client_id", "redirect_uri", "scope", "state", "prompt", "max_age", "response_mode",
                "code_challenge", "code_challenge_method", "request", "nonce", "x",
            ]), prop_oneof![
                Just("code".to_owned()), Just(CALLBACK.to_owned()), Just("openid".to_owned()),
                Just("none".to_owned()), Just("S256".to_owned()), Just(CHALLENGE.to_owned()), ".{0,12}",
            ]),
            0..14,
        ),
    ) {
        let text = form_urlencoded::Serializer::new(String::new()).extend_pairs(&pairs).finish();
        let params = Params::parse(text.as_bytes()).unwrap();
        let client = client();
        match AuthorizationRequest::check(&params, &client, (ISSUER, &IssuerSettings::default())) {
            Ok(AuthorizationRequest { return_to, .. }) | Err(Rejection::Redirect(return_to, _)) => {
                prop_assert!(return_to.redirect_uri == CALLBACK);
            }
            Err(Rejection::Page(error)) => prop_assert_eq!(error.code.status(), 400),
        }
    }
}

#[test]
fn a_session_without_a_second_factor_is_not_enough_where_one_is_required() {
    let required = |case: &mut Case| case.client.settings.second_factor = Some(SecondFactor::Required);
    Case::new(&[]).with(required).asks_login(true);
    Case::new(&[NONE]).with(required).fails(ErrorCode::LoginRequired);
    let proven = |case: &mut Case| {
        let session = case.session.as_mut().unwrap();
        session.amr = session.amr.with(AuthenticationMethod::Mfa);
    };
    Case::new(&[]).with(required).with(proven).issues("openid profile");
}

/// OpenID Connect Core 3.1.2.1, 5.5.1.1: the classes are voluntary.
#[test]
fn a_request_for_a_class_asks_for_one_factor_more_and_is_answered_without() {
    const TWO: (&str, &str) = ("acr_values", "urn:symbolon:acr:2");
    assert_eq!(Case::new(&[TWO]).decide(), Decision::StepUp);
    let by_default =
        |case: &mut Case| case.client.default_acr_values = RequestedAcr::parse("phr urn:symbolon:acr:2");
    assert_eq!(Case::new(&[]).with(by_default).decide(), Decision::StepUp);
    Case::new(&[("acr_values", "urn:symbolon:acr:1")]).with(by_default).issues("openid profile");
    Case::new(&[("acr_values", "gold")]).issues("openid profile");
    Case::new(&[TWO, NONE]).issues("openid profile");
    Case::new(&[TWO]).with(|case| case.stays_at = Some(session().sid)).issues("openid profile");
    Case::new(&[TWO])
        .with(|case| case.stays_at = Some(Sid::trusted("another")))
        .with(|case| case.session = None)
        .asks_login(false);
    let proven = |case: &mut Case| {
        let session = case.session.as_mut().unwrap();
        session.amr = session.amr.with(AuthenticationMethod::Mfa);
    };
    Case::new(&[TWO]).with(proven).issues("openid profile");
}
