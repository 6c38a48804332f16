use super::*;
use crate::client::TokenEndpointAuthMethod;
use crate::error::ErrorCode;
use crate::id::ClientId;
use crate::token::fixture::{VERIFIER, World, after, client, code};

const REDIRECT_URI: &str = "https://app.example.com/cb";

fn good() -> PresentedCode<'static> {
    PresentedCode { redirect_uri: Some(REDIRECT_URI), code_verifier: Some(VERIFIER), thumbprint: None }
}

#[test]
fn the_rightful_owner_may_redeem() {
    assert_eq!(check(&code("openid"), &client("app"), good()), Ok(()));
}

#[test]
fn refusals_of_rfc_6749_section_4_1_3() {
    let code = code("openid");
    let mut public_without_grant = client("app");
    public_without_grant.grant_types = vec![GrantType::RefreshToken];
    for (client, presented, error) in [
        (client("other"), good(), ErrorCode::InvalidGrant),
        (client("app"), PresentedCode { redirect_uri: None, ..good() }, ErrorCode::InvalidRequest),
        (
            client("app"),
            PresentedCode { redirect_uri: Some("https://app.example.com/cb/"), ..good() },
            ErrorCode::InvalidGrant,
        ),
        (public_without_grant, good(), ErrorCode::UnauthorizedClient),
    ] {
        let answer = check(&code, &client, presented).map_err(|error| error.code);
        assert_eq!(answer, Err(error), "{presented:?}");
    }
}

#[test]
fn pkce_of_rfc_7636_and_rfc_9700() {
    let long = "a".repeat(129);
    let other = "a".repeat(43);
    let public = || {
        let mut client = client("app");
        client.token_endpoint_auth_method = TokenEndpointAuthMethod::None;
        client
    };
    for (challenge, verifier, client, good) in [
        (true, Some(VERIFIER), client("app"), true),
        (true, Some(VERIFIER), public(), true),
        (true, Some(&*other), client("app"), false),
        (true, Some(&*long), client("app"), false),
        (true, Some(&VERIFIER[..42]), client("app"), false),
        (true, None, client("app"), false),
        (false, Some(VERIFIER), client("app"), false),
        (false, None, client("app"), true),
        (false, None, public(), false),
    ] {
        let mut code = code("openid");
        code.code_challenge = code.code_challenge.filter(|_| challenge);
        let presented =
            PresentedCode { redirect_uri: Some(REDIRECT_URI), code_verifier: verifier, thumbprint: None };
        let answer = check(&code, &client, presented).map_err(|error| error.code);
        let expected = if good { Ok(()) } else { Err(ErrorCode::InvalidGrant) };
        assert_eq!(answer, expected, "challenge {challenge}, verifier {verifier:?}");
    }
}

#[test]
fn every_token_of_a_login_carries_its_grant() {
    let world = World::new();
    let code = code("openid email");
    let plan = issue(&world.context(), &code, after(3600));
    assert_eq!(plan.access.gid.as_ref(), Some(&code.grant));
    assert_eq!(plan.access.sid.as_ref(), Some(&code.sid));
    assert_eq!(plan.access.auth_time, Some(1_699_999_000));
    let id = plan.id.unwrap();
    assert_eq!((id.nonce.as_deref(), id.sid.as_ref()), (Some("n-1"), Some(&code.sid)));
    let family = plan.family.unwrap();
    assert_eq!((&family.grant, family.version), (&code.grant, 1));
    assert_eq!(family.client, ClientId::trusted("app"));
}

#[test]
fn the_family_ends_with_the_session_unless_offline_access_was_granted() {
    let mut world = World::new();
    let session_ends = after(3600);
    let bound = issue(&world.context(), &code("openid"), session_ends).family.unwrap();
    assert_eq!((bound.expires_at, bound.bound_to()), (session_ends, bound.sid.as_ref()));
    assert!(bound.sid.is_some());

    let plan = issue(&world.context(), &code("openid offline_access"), session_ends);
    let offline = plan.family.unwrap();
    assert_eq!((offline.expires_at, offline.bound_to()), (after(30 * 86_400), None));
    assert_eq!(offline.sid, bound.sid, "refreshed ID tokens name the session while it lives");
    assert_eq!(plan.access.sid, None, "its access tokens outlive the session too");
    assert!(plan.id.unwrap().sid.is_some(), "logout still finds the session");

    world.client.settings.refresh_token_absolute_lifetime = Some(60);
    let short = issue(&world.context(), &code("openid"), session_ends).family.unwrap();
    assert_eq!(short.expires_at, after(60), "never beyond the absolute lifetime");
}

#[test]
fn without_the_grant_type_there_is_no_family_and_nothing_outlives_the_session() {
    let mut world = World::new();
    world.client.grant_types = vec![GrantType::AuthorizationCode];
    let plan = issue(&world.context(), &code("openid offline_access"), after(3600));
    assert!(plan.family.is_none());
    assert!(plan.access.sid.is_some());
}

#[test]
fn without_openid_there_is_no_id_token() {
    let world = World::new();
    assert!(issue(&world.context(), &code("email"), after(3600)).id.is_none());
}

#[test]
fn a_code_for_a_key_needs_that_key_by_rfc_9449_section_10() {
    let bound = CodeGrant { dpop_jkt: Some("jkt".into()), ..code("openid") };
    let proves = |thumbprint| PresentedCode { thumbprint, ..good() };
    for (code, thumbprint, good) in [
        (&bound, Some("jkt"), true),
        (&bound, Some("other"), false),
        (&bound, None, false),
        (&code("openid"), Some("jkt"), true),
    ] {
        let answer = check(code, &client("app"), proves(thumbprint)).map_err(|error| error.reason);
        assert_eq!(answer, if good { Ok(()) } else { Err(Reason::CodeKeyOther) }, "{thumbprint:?}");
    }
}

#[test]
fn tokens_are_bound_to_the_proven_key_and_refresh_tokens_of_public_clients_too() {
    let mut world = World::new();
    for (method, binding) in
        [(TokenEndpointAuthMethod::ClientSecretBasic, None), (TokenEndpointAuthMethod::None, Some("jkt"))]
    {
        world.client.token_endpoint_auth_method = method;
        let context = Context { jkt: Some("jkt"), ..world.context() };
        let plan = issue(&context, &code("openid"), after(3600));
        assert_eq!(plan.access.cnf.jkt.as_deref(), Some("jkt"));
        assert_eq!(plan.family.unwrap().binding.as_deref(), binding, "{method:?}");
        let unbound = issue(&world.context(), &code("openid"), after(3600));
        assert_eq!((unbound.access.cnf.jkt.clone(), unbound.family.unwrap().binding.clone()), (None, None));
    }
}
