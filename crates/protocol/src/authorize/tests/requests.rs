//! What requests may say, and where their errors go.

use super::*;

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
    use ResponseMode::{FormPost, Fragment, Query, QueryJwt};
    let table: &[(&[(&str, &str)], Outcome)] = &[
        (&[], Good),
        (&[("nonce", ""), ("state", "")], Good),
        (&[("scope", "profile")], Good),
        (&[("redirect_uri", "http://127.0.0.1:49152/cb")], Good),
        (&[("unknown", "1"), ("claims", "{}"), ("acr_values", "1")], Good),
        // OpenID Connect Core 15.1: these are no error, whatever they say.
        (&[("display", "wall"), ("ui_locales", "xx qq"), ("claims_locales", "de")], Good),
        (&[("login_hint", "?"), ("registration", "")], Good),
        (&[("claims", r#"{"userinfo":{"email":null}}"#)], Good),
        (&[("claims", "email")], Redirect(InvalidRequest, Query)),
        (&[("claims", "email"), ("scope", "profile")], Redirect(InvalidRequest, Query)),
        (&[("claims", "{}"), ("claims", "{}")], Redirect(InvalidRequest, Query)),
        (&[("resource", ISSUER)], Good),
        (&[("dpop_jkt", "Ge4z_yKVyrGVCj0ssC4PX3vNxT1xjLWvL4kXRbCmbdo")], Good),
        (&[("dpop_jkt", "too-short")], Redirect(InvalidRequest, Query)),
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
        (&[("response_type", "token id_token")], Redirect(UnsupportedResponseType, Fragment)),
        (&[("response_type", "id_token"), ("scope", "\"")], Redirect(UnsupportedResponseType, Fragment)),
        (&[("response_type", "id_token"), ("response_mode", "query")], Redirect(InvalidRequest, Fragment)),
        (&[("response_type", "token"), ("response_mode", "x")], Redirect(InvalidRequest, Fragment)),
        (
            &[("response_type", "code id_token"), ("response_mode", "fragment")],
            Redirect(UnsupportedResponseType, Fragment),
        ),
        (&[("response_mode", "jwt")], Good),
        (&[("response_mode", "jwt"), ("prompt", "x")], Redirect(InvalidRequest, QueryJwt)),
        (&[("response_mode", "web_message")], Redirect(InvalidRequest, Query)),
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
            Ok(request) => {
                let read = ResponseMode::parse(mode, ResponseMode::Query);
                assert!(good && Some(request.return_to.response_mode) == read);
            }
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
fn response_types_must_be_registered_and_their_errors_go_to_the_fragment() {
    let settings = IssuerSettings::default();
    let redirect = |code, mode| Outcome::Redirect(code, mode);
    for own in ResponseType::ALL {
        let with = |changes: &[(&str, &str)]| {
            let changes = [&[("response_type", own.as_str())], changes].concat();
            query(&changes)
        };
        let mode = if own == ResponseType::Code { ResponseMode::Query } else { ResponseMode::Fragment };
        let registered = Client {
            grant_types: own.grant_types().to_vec(),
            response_types: if own == ResponseType::Code { Vec::new() } else { vec![own] },
            ..client()
        };
        let outcome = |changes: &[(&str, &str)]| outcome(&with(changes), &registered, &settings);
        assert_eq!(outcome(&[]), Outcome::Good, "{own:?}");
        assert_eq!(outcome(&[("response_mode", "form_post")]), Outcome::Good);
        if own != ResponseType::Code {
            let refused = super::outcome(&with(&[]), &client(), &settings);
            assert_eq!(
                refused,
                redirect(ErrorCode::UnsupportedResponseType, mode),
                "{own:?}: off by default"
            );
            let refused = outcome(&[("response_mode", "query")]);
            assert_eq!(refused, redirect(ErrorCode::InvalidRequest, mode), "{own:?}: tokens in a query");
            let refused = outcome(&[("response_mode", "query.jwt")]);
            assert_eq!(
                refused,
                redirect(ErrorCode::InvalidRequest, mode),
                "{own:?}: readable tokens in a query"
            );
        }
        if own.has_id_token() {
            assert_eq!(outcome(&[("nonce", "")]), redirect(ErrorCode::InvalidRequest, mode), "{own:?}");
            assert_eq!(
                outcome(&[("scope", "profile")]),
                redirect(ErrorCode::InvalidRequest, mode),
                "{own:?}"
            );
        }
        // PKCE protects codes.
        let public =
            Client { token_endpoint_auth_method: TokenEndpointAuthMethod::None, ..registered.clone() };
        let without = super::outcome(
            &with(&[("code_challenge", ""), ("code_challenge_method", "")]),
            &public,
            &settings,
        );
        match own.has_code() {
            true => assert_eq!(without, redirect(ErrorCode::InvalidRequest, mode), "{own:?}"),
            false => assert_eq!(without, Outcome::Good, "{own:?}"),
        }
    }
    for unknown in ["token", "none", "code code"] {
        let (_, mode) =
            (unknown, if unknown == "token" { ResponseMode::Fragment } else { ResponseMode::Query });
        let refused = outcome(&query(&[("response_type", unknown)]), &client(), &settings);
        assert_eq!(refused, redirect(ErrorCode::UnsupportedResponseType, mode), "{unknown}");
    }
}

/// OpenID Connect Core 5.5: a request without `openid` is none of OpenID Connect.
#[test]
fn claims_widen_the_scope_of_a_request_with_openid() {
    let claims = |document| ("claims", document);
    for (changes, expected) in [
        (vec![claims(r#"{"userinfo":{"email":null}}"#)], "openid profile email"),
        (vec![claims(r#"{"id_token":{"email":{"essential":true},"name":null}}"#)], "openid profile email"),
        (vec![claims(r#"{"userinfo":{"phone_number":null,"offline_access":null}}"#)], "openid profile"),
        (vec![("scope", "profile"), claims(r#"{"userinfo":{"email":null}}"#)], "profile"),
    ] {
        let text = query(&changes);
        let params = Params::parse(text.as_bytes()).unwrap();
        let client = client();
        let request =
            AuthorizationRequest::check(&params, &client, (ISSUER, &IssuerSettings::default())).unwrap();
        assert_eq!(request.scope.as_str(), expected, "{changes:?}");
    }
}
