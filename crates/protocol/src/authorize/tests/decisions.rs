//! What a request needs, by what was done so far.

use super::*;

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
    /// Whether the session is of the account in use.
    is_in_use: bool,
    /// Whether accounts are signed in beside it.
    has_others: bool,
    selected: Option<Sid>,
    wants: AnotherAccount,
}

impl Case {
    fn new(changes: &[(&'static str, &'static str)]) -> Self {
        let consent = Consent::new(scope("openid profile offline_access"), NOW);
        Self {
            changes: changes.to_vec(),
            client: client(),
            session: Some(session()),
            consent: Some(consent),
            hint: IdTokenHint::Absent,
            signed_in_at: None,
            allowed: None,
            stays_at: None,
            is_in_use: true,
            has_others: false,
            selected: None,
            wants: AnotherAccount::No,
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
        let signed_in = match &self.session {
            Some(session) => {
                SignedIn::Account { session, consent: self.consent.as_ref(), is_in_use: self.is_in_use }
            }
            None if self.has_others => SignedIn::NoneInUse,
            None => SignedIn::Nobody,
        };
        let done = InteractionSoFar {
            signed_in_at: self.signed_in_at,
            allowed: self.allowed.as_ref().map(|(u, s)| (u, s)),
            stays_at: self.stays_at.as_ref(),
            selected: self.selected.as_ref(),
            wants: self.wants,
        };
        decide(&request, &self.client, signed_in, &self.hint, done, NOW)
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
    fn asks_account(self) {
        assert_eq!(self.decide(), Decision::SelectAccount);
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
    let done = |case: &mut Case| case.signed_in_at = case.session.as_ref().map(|s| s.auth_time);
    Case::new(&[("prompt", "login")]).asks_login(true);
    Case::new(&[("prompt", "login")]).with(done).issues("openid profile");
    // A session that is older than the sign-in of this transaction is another one: it does not count.
    Case::new(&[("prompt", "login")]).with(|case| case.signed_in_at = Some(NOW)).asks_login(true);
}

/// OpenID Connect Core 3.1.2.1.
#[test]
fn select_account_asks_once_and_each_account_has_its_own_rules() {
    const SELECT: (&str, &str) = ("prompt", "select_account");
    let chosen = |case: &mut Case| case.selected = Some(session().sid);
    let other = |case: &mut Case| case.selected = Some(Sid::trusted("another"));
    let signed_in = |case: &mut Case| case.signed_in_at = case.session.as_ref().map(|s| s.auth_time);
    Case::new(&[SELECT]).asks_account();
    Case::new(&[SELECT]).with(other).asks_account();
    for said_so in [chosen, signed_in] {
        Case::new(&[SELECT]).with(said_so).issues("openid profile");
        Case::new(&[SELECT]).with(said_so).with(|case| case.consent = None).asks_consent("openid profile");
    }
    Case::new(&[SELECT, ("max_age", "599")]).with(chosen).asks_login(true);
    Case::new(&[("prompt", "login select_account")]).asks_account();
    Case::new(&[("prompt", "login select_account")]).with(chosen).asks_login(true);
    Case::new(&[("prompt", "login select_account")]).with(signed_in).issues("openid profile");
    Case::new(&[SELECT]).with(|case| case.session = None).asks_login(false);
    Case::new(&[SELECT]).with(|case| (case.session, case.has_others) = (None, true)).asks_account();
    // Another account than the hint's was chosen: its person may sign in.
    Case::new(&[SELECT]).with(chosen).with(|case| case.hint = hint("bob")).asks_login(true);
}

/// OpenID Connect Core 3.1.2.6.
#[test]
fn where_no_account_is_in_use_one_must_be_selected() {
    let none = |case: &mut Case| (case.session, case.has_others) = (None, true);
    Case::new(&[]).with(none).asks_account();
    Case::new(&[NONE]).with(none).fails(ErrorCode::AccountSelectionRequired);
    Case::new(&[]).with(none).with(|case| case.wants = AnotherAccount::SignIn).asks_login(false);
}

#[test]
fn an_account_that_only_the_hint_names_is_answered_for_and_chosen_before_a_page() {
    let named = |case: &mut Case| (case.hint, case.is_in_use) = (hint("alice"), false);
    Case::new(&[NONE]).with(named).issues("openid profile");
    Case::new(&[]).with(named).issues("openid profile");
    let not_asked = |case: &mut Case| case.consent = None;
    Case::new(&[]).with(named).with(not_asked).asks_account();
    Case::new(&[NONE]).with(named).with(not_asked).fails(ErrorCode::ConsentRequired);
    Case::new(&[("acr_values", "urn:symbolon:acr:2")]).with(named).asks_account();
    Case::new(&[("max_age", "599")]).with(named).asks_login(true);
    Case::new(&[("max_age", "599"), NONE]).with(named).fails(ErrorCode::LoginRequired);
}

#[test]
fn whoever_wants_another_account_chooses_or_signs_in() {
    let signed_in = |case: &mut Case| case.signed_in_at = case.session.as_ref().map(|s| s.auth_time);
    let sign_in = |case: &mut Case| case.wants = AnotherAccount::SignIn;
    Case::new(&[]).with(sign_in).asks_login(true);
    Case::new(&[]).with(sign_in).with(|case| case.selected = Some(session().sid)).asks_login(true);
    Case::new(&[]).with(sign_in).with(signed_in).issues("openid profile");
    let choose = |case: &mut Case| case.wants = AnotherAccount::Choose;
    Case::new(&[]).with(choose).asks_account();
    Case::new(&[]).with(choose).with(|case| case.selected = Some(session().sid)).issues("openid profile");
    Case::new(&[]).with(choose).with(signed_in).issues("openid profile");
}

/// Issued to another client: nothing asks for this one (OpenID Connect Core 3.1.2.1).
fn hint(sub: &str) -> IdTokenHint {
    IdTokenHint::IdToken(Box::new(IdTokenHintClaims {
        sub: UserId::trusted(sub),
        sid: None,
        aud: ClientId::trusted("another-rp"),
        pairwise_sub: None,
    }))
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
        case.consent = Some(Consent::new(scope("openid profile"), NOW));
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

#[test]
fn a_second_factor_may_be_required_of_the_requests_that_ask_for_one() {
    const TWO: (&str, &str) = ("acr_values", "urn:symbolon:acr:2");
    let requested = |case: &mut Case| case.client.settings.second_factor = Some(SecondFactor::Requested);
    Case::new(&[TWO]).with(requested).asks_login(true);
    Case::new(&[TWO, NONE]).with(requested).fails(ErrorCode::LoginRequired);
    let by_default = |case: &mut Case| case.client.default_acr_values = RequestedAcr::parse("phr");
    Case::new(&[]).with(requested).with(by_default).asks_login(true);
    Case::new(&[]).with(requested).issues("openid profile");
    Case::new(&[("acr_values", "urn:symbolon:acr:1")]).with(requested).issues("openid profile");
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

/// OpenID Connect Core 3.1.2.2, 5.5.1.
#[test]
fn a_sub_with_a_value_expects_its_user_as_a_hint_does() {
    const ALICE: (&str, &str) = ("claims", r#"{"id_token":{"sub":{"value":"alice"}}}"#);
    const BOB: (&str, &str) = ("claims", r#"{"id_token":{"sub":{"value":"bob"}}}"#);
    Case::new(&[ALICE, NONE]).issues("openid profile");
    Case::new(&[BOB, NONE]).fails(ErrorCode::LoginRequired);
    // Whoever has allowed the client nothing is not betrayed by it: a client would try ids out.
    Case::new(&[ALICE, NONE]).with(|case| case.consent = None).fails(ErrorCode::LoginRequired);
    Case::new(&[NONE]).with(|case| case.consent = None).fails(ErrorCode::ConsentRequired);
    Case::new(&[BOB]).asks_login(true);
    let signed_in = |case: &mut Case| case.signed_in_at = case.session.as_ref().map(|s| s.auth_time);
    Case::new(&[BOB]).with(signed_in).fails(ErrorCode::LoginRequired);
    // A hint does not take its place, nor it that of a hint.
    Case::new(&[BOB, NONE]).with(|case| case.hint = hint("alice")).fails(ErrorCode::LoginRequired);
    Case::new(&[ALICE, NONE]).with(|case| case.hint = hint("bob")).fails(ErrorCode::LoginRequired);
    let rp = ClientId::trusted("rp");
    assert_eq!(
        IdTokenHint::Absent.or_user(Some("bob"), &rp).claims().map(|claims| claims.sub.as_str()),
        Some("bob")
    );
    assert_eq!(hint("alice").or_user(Some("bob"), &rp), hint("alice"));
    assert_eq!(IdTokenHint::Absent.or_user(None, &rp), IdTokenHint::Absent);
    assert_eq!(IdTokenHint::Unverifiable.or_user(Some("bob"), &rp), IdTokenHint::Unverifiable);
}

/// OpenID Connect Core 5.5.1.1.
#[test]
fn an_essential_class_must_be_reached() {
    const UNMET: ErrorCode = ErrorCode::UnmetAuthenticationRequirements;
    const TWO: (&str, &str) =
        ("claims", r#"{"id_token":{"acr":{"essential":true,"value":"urn:symbolon:acr:2"}}}"#);
    const VOLUNTARY: (&str, &str) = ("claims", r#"{"id_token":{"acr":{"value":"urn:symbolon:acr:2"}}}"#);
    const GOLD: (&str, &str) = ("claims", r#"{"id_token":{"acr":{"essential":true,"values":["gold"]}}}"#);
    let stays = |case: &mut Case| case.stays_at = Some(session().sid);
    let proven = |case: &mut Case| {
        let session = case.session.as_mut().unwrap();
        session.amr = session.amr.with(AuthenticationMethod::Mfa);
    };
    assert_eq!(Case::new(&[TWO]).decide(), Decision::StepUp);
    Case::new(&[TWO]).with(proven).issues("openid profile");
    Case::new(&[TWO, NONE]).with(proven).issues("openid profile");
    Case::new(&[TWO]).with(stays).fails(UNMET);
    Case::new(&[TWO, NONE]).fails(ErrorCode::LoginRequired);
    Case::new(&[GOLD]).with(proven).fails(UNMET);
    assert_eq!(Case::new(&[VOLUNTARY]).decide(), Decision::StepUp);
    Case::new(&[VOLUNTARY]).with(stays).issues("openid profile");
    Case::new(&[VOLUNTARY, NONE]).issues("openid profile");
    // It takes the place of `acr_values`.
    Case::new(&[("acr_values", "urn:symbolon:acr:1"), TWO]).with(stays).fails(UNMET);
}

/// A claim is asked for by its scope, so the person is asked for that scope.
#[test]
fn claims_by_name_need_the_consent_of_their_scope() {
    const EMAIL: (&str, &str) = ("claims", r#"{"userinfo":{"email":{"essential":true}}}"#);
    const NAME: (&str, &str) = ("claims", r#"{"userinfo":{"name":null}}"#);
    Case::new(&[NAME, ("scope", "openid"), NONE]).issues("openid profile");
    let asked = Case::new(&[EMAIL]).decide();
    assert_eq!(asked, Decision::Consent { scopes: scope("openid profile email") });
    Case::new(&[EMAIL, NONE]).fails(ErrorCode::ConsentRequired);
    let skips = |case: &mut Case| case.client.skip_consent = true;
    Case::new(&[EMAIL, NONE]).with(skips).issues("openid profile email");
}
