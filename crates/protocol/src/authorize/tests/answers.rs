//! Codes, and the answers in each mode.

use super::*;

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
        AuthorizationResponse::FormPost { .. } | AuthorizationResponse::Signed(_) => panic!("no redirect"),
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
    let state = SessionState::of(&client, CALLBACK, "s1", &SeededRandom::new(1)).unwrap();
    let with_state = located(response::success(&stateless, &code, ISSUER, Some(&state)));
    assert!(with_state.ends_with(&format!("&session_state={}", state.as_str())), "{with_state}");
}

#[test]
fn a_signed_answer_has_the_parameters_as_claims() {
    for (mode, placed) in
        [(ResponseMode::QueryJwt, "?"), (ResponseMode::FragmentJwt, "#"), (ResponseMode::FormPostJwt, "")]
    {
        let to = ReturnTo { redirect_uri: CALLBACK, response_mode: mode, state: Some("st") };
        let answer = response::success(&to, &AuthorizationCode::new("ac_1_2_x"), ISSUER, None);
        let AuthorizationResponse::Signed(answer) = answer else { panic!("not signed") };
        let claims: serde_json::Value =
            serde_json::from_slice(&answer.claims(ISSUER, &ClientId::trusted("rp"), NOW)).unwrap();
        let exp = NOW.seconds() + 600;
        let expected =
            serde_json::json!({ "iss": ISSUER, "aud": "rp", "exp": exp, "code": "ac_1_2_x", "state": "st" });
        assert_eq!(claims, expected);
        match answer.with("e.y.J") {
            AuthorizationResponse::Redirect(to) => {
                assert_eq!(to, format!("{CALLBACK}{placed}response=e.y.J"))
            }
            AuthorizationResponse::FormPost { action, fields } => {
                assert_eq!((&*action, fields), (CALLBACK, vec![("response", "e.y.J".to_owned())]));
                assert_eq!(mode, ResponseMode::FormPostJwt);
            }
            AuthorizationResponse::Signed(_) => panic!("signed twice"),
        }
    }
}
