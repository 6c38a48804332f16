use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::client::TokenEndpointAuthMethod;
use crate::id::{ClientId, IssuerId, Jti};
use crate::time::Timestamp;
use crate::token::claim::MayAct;
use crate::token::fixture::{NOW, URL, World, access_token, after, entitlements, scope};

const API: &str = "https://api.example.com/users";

fn request<'a>() -> ExchangeRequest<'a> {
    ExchangeRequest {
        subject_token: Some("subject"),
        subject_token_type: Some(ACCESS_TOKEN_TYPE),
        requested_token_type: Some(ACCESS_TOKEN_TYPE),
        ..ExchangeRequest::default()
    }
}

fn with_actor<'a>() -> ExchangeRequest<'a> {
    ExchangeRequest { actor_token: Some("actor"), actor_token_type: Some(ACCESS_TOKEN_TYPE), ..request() }
}

/// Exchanges as one step, with the actor token where the request has one: of a client that is registered.
fn exchange(
    world: &World,
    request: &ExchangeRequest<'_>,
    subject: &AccessToken,
    actor: Option<&AccessToken>,
) -> Result<Box<AccessToken>, ErrorCode> {
    exchange_with(
        world,
        request,
        subject,
        actor.map(|claims| ActorToken { claims, is_of_registered_client: true }),
    )
}

fn exchange_with(
    world: &World,
    request: &ExchangeRequest<'_>,
    subject: &AccessToken,
    actor: Option<ActorToken<'_>>,
) -> Result<Box<AccessToken>, ErrorCode> {
    check(&world.context(), request)
        .and_then(|exchange| exchange.issue(&world.context(), subject, actor))
        .map_err(|error| error.code)
}

fn checked(world: &World, request: &ExchangeRequest<'_>) -> Result<(), ErrorCode> {
    check(&world.context(), request).map(drop).map_err(|error| error.code)
}

#[test]
fn parameters_of_rfc_8693_section_2_1() {
    let many = ["https://a.example.com"; 11];
    let world = World::new();
    let id_token = "urn:ietf:params:oauth:token-type:id_token";
    let refresh = "urn:ietf:params:oauth:token-type:refresh_token";
    for (request, answer) in [
        (request(), Ok(())),
        (ExchangeRequest { subject_token_type: Some(JWT_TYPE), ..request() }, Ok(())),
        (ExchangeRequest { requested_token_type: None, ..request() }, Ok(())),
        (
            ExchangeRequest { requested_token_type: Some(id_token), ..request() },
            Err(ErrorCode::InvalidRequest),
        ),
        (ExchangeRequest { subject_token: None, ..request() }, Err(ErrorCode::InvalidRequest)),
        (ExchangeRequest { subject_token: Some(""), ..request() }, Err(ErrorCode::InvalidRequest)),
        (ExchangeRequest { subject_token_type: None, ..request() }, Err(ErrorCode::InvalidRequest)),
        (ExchangeRequest { subject_token_type: Some(id_token), ..request() }, Err(ErrorCode::InvalidRequest)),
        (ExchangeRequest { subject_token_type: Some(refresh), ..request() }, Err(ErrorCode::InvalidRequest)),
        (with_actor(), Ok(())),
        (ExchangeRequest { actor_token_type: None, ..with_actor() }, Err(ErrorCode::InvalidRequest)),
        (ExchangeRequest { actor_token: None, ..with_actor() }, Err(ErrorCode::InvalidRequest)),
        (ExchangeRequest { actor_token_type: Some(refresh), ..with_actor() }, Err(ErrorCode::InvalidRequest)),
        (ExchangeRequest { audience: &many, ..request() }, Err(ErrorCode::InvalidRequest)),
        (ExchangeRequest { resource: &many, ..request() }, Err(ErrorCode::InvalidRequest)),
        (ExchangeRequest { resource: &many[1..], audience: &many[1..], ..request() }, Ok(())),
        (ExchangeRequest { resource: &["/relative"], ..request() }, Err(ErrorCode::InvalidRequest)),
        (
            ExchangeRequest { resource: &["https://a.example.com/#f"], ..request() },
            Err(ErrorCode::InvalidRequest),
        ),
        (ExchangeRequest { resource: &["urn:example:api"], ..request() }, Ok(())),
        (ExchangeRequest { audience: &[""], ..request() }, Err(ErrorCode::InvalidRequest)),
        (ExchangeRequest { scope: Some("\""), ..request() }, Err(ErrorCode::InvalidScope)),
    ] {
        assert_eq!(checked(&world, &request), answer, "{:?}", request.subject_token_type);
    }
}

/// What widens an exchange is off until both the issuer and the client have it.
#[test]
fn id_tokens_are_exchanged_where_issuer_and_client_let_them() {
    let mut world = World::new();
    let request = ExchangeRequest { subject_token_type: Some(ID_TOKEN_TYPE), ..request() };
    world.client.token_exchange.id_tokens = true;
    assert_eq!(checked(&world, &request), Err(ErrorCode::InvalidRequest));
    let types = json!([ACCESS_TOKEN_TYPE, ID_TOKEN_TYPE]);
    world.settings.token_exchange_subject_token_types = serde_json::from_value(types.clone()).unwrap();
    assert_eq!(json!(world.settings.token_exchange_subject_token_types), types);
    assert_eq!(checked(&world, &request), Ok(()));
    world.client.token_exchange.id_tokens = false;
    assert_eq!(checked(&world, &request), Err(ErrorCode::UnauthorizedClient));
}

#[test]
fn clients_that_may_not_exchange() {
    let changes: [fn(&mut Client); 4] = [
        |client| client.token_endpoint_auth_method = TokenEndpointAuthMethod::None,
        |client| client.token_exchange.allowed = false,
        |client| client.token_exchange.delegation_mode = DelegationMode::None,
        |client| client.grant_types = vec![GrantType::AuthorizationCode],
    ];
    for change in changes {
        let mut world = World::new();
        change(&mut world.client);
        assert_eq!(checked(&world, &request()), Err(ErrorCode::UnauthorizedClient));
    }
    let mut off = World::new();
    off.settings.token_exchange = false;
    let error = check(&off.context(), &request()).map(drop).unwrap_err();
    assert_eq!(error.code, ErrorCode::UnsupportedGrantType);
    assert!(error.description.contains("not enabled"), "load scripts look for it");
}

#[test]
fn targets_by_allow_list() {
    let mut world = World::new();
    let (own, other) = (&["https://own.example.com"][..], &["https://other.example.com"][..]);
    assert_eq!(checked(&world, &ExchangeRequest { audience: other, ..request() }), Ok(()));
    world.client.token_exchange.targets = Some(vec![own[0].to_owned()]);
    for (audience, resource, answer) in [
        (&[][..], &[][..], Err(ErrorCode::InvalidTarget)),
        (own, own, Ok(())),
        (other, own, Err(ErrorCode::InvalidTarget)),
        (own, other, Err(ErrorCode::InvalidTarget)),
    ] {
        assert_eq!(checked(&world, &ExchangeRequest { audience, resource, ..request() }), answer);
    }
    // Without a name the result is the issuer's own: as good as naming it.
    world.client.token_exchange.targets = Some(vec![URL.to_owned()]);
    assert_eq!(checked(&world, &request()), Ok(()));
    assert_eq!(checked(&world, &ExchangeRequest { audience: &[URL], ..request() }), Ok(()));
}

#[test]
fn a_client_presents_its_own_tokens_those_that_name_it_and_those_of_its_list() {
    let mut world = World::new();
    let mut theirs = access_token("front", "openid");
    assert!(exchange(&world, &request(), &access_token("app", "openid"), None).is_ok());
    assert_eq!(exchange(&world, &request(), &theirs, None), Err(ErrorCode::InvalidGrant));
    world.client.token_exchange.subject_token_clients = vec![ClientId::trusted("front")];
    assert!(exchange(&world, &request(), &theirs, None).is_ok());
    world.client.token_exchange.subject_token_clients.clear();
    theirs.aud = Audience::of([URL, "app"]);
    assert!(exchange(&world, &request(), &theirs, None).is_ok());
}

#[test]
fn invalid_subject_tokens_are_invalid_grant() {
    let world = World::new();
    let subject = access_token("app", "openid");
    let expired = AccessToken { exp: NOW.seconds(), ..subject.clone() };
    let foreign = AccessToken { iss: "https://other.example.com".to_owned(), ..subject };
    for bad in [expired, foreign] {
        assert_eq!(exchange(&world, &request(), &bad, None), Err(ErrorCode::InvalidGrant));
    }
    assert_eq!(invalid_subject_token(Reason::TokenExpired).code, ErrorCode::InvalidGrant);
}

#[test]
fn scope_only_ever_narrows() {
    let mut world = World::new();
    world.client.scope = scope("openid email api");
    for (subject, asked, answer) in [
        ("openid profile email", None, Ok("openid email")),
        ("openid profile email", Some("email"), Ok("email")),
        ("openid email", Some("email api"), Ok("email")),
        ("openid email", Some("api"), Err(ErrorCode::InvalidScope)),
        ("profile", None, Err(ErrorCode::InvalidScope)),
        ("", None, Ok("")),
        ("", Some("openid"), Err(ErrorCode::InvalidScope)),
    ] {
        let request = ExchangeRequest { scope: asked, ..request() };
        let result = exchange(&world, &request, &access_token("app", subject), None);
        assert_eq!(result.map(|token| token.scope), answer.map(scope), "{subject} -> {asked:?}");
    }
}

#[test]
fn audiences_then_resources_else_the_issuer() {
    let world = World::new();
    let subject = access_token("app", "openid");
    let aud = |audience: &[&str], resource: &[&str]| {
        let request = ExchangeRequest { audience, resource, ..request() };
        let token = exchange(&world, &request, &subject, None).unwrap();
        (serde_json::to_value(&token.aud).unwrap(), serde_json::to_value(&token.resource).unwrap())
    };
    assert_eq!(aud(&[], &[]), (json!(URL), json!([])));
    assert_eq!(aud(&[], &[API]), (json!(API), json!(API)));
    assert_eq!(aud(&["b", "a"], &[API, API]), (json!(["b", "a", API]), json!(API)));
}

#[test]
fn a_result_dies_with_its_subject_token() {
    let mut world = World::new();
    world.client.token_exchange.subject_token_clients = vec![ClientId::trusted("front")];
    let subject = access_token("front", "openid");
    world.now = after(600);
    let first = exchange(&world, &request(), &subject, None).unwrap();
    assert_eq!(first.exp, subject.exp, "never longer than the subject token");
    assert_eq!(first.iat, after(600).seconds());
    assert_eq!((&first.gid, &first.sid), (&subject.gid, &subject.sid));
    assert_eq!(first.anc, std::slice::from_ref(&subject.jti));
    assert_eq!((first.sub.as_str(), first.client_id.as_str()), ("u-1", "app"));
    assert_eq!(first.gcl, Some(ClientId::trusted("front")), "whose grant it is");
    assert_eq!(first.auth_time, subject.auth_time);

    let second = exchange(&world, &request(), &first, None).unwrap();
    assert_eq!(second.anc, [subject.jti, first.jti]);
    assert_eq!(second.gcl, Some(ClientId::trusted("front")));
    world.client.settings.access_token_lifetime = Some(60);
    let short = exchange(&world, &request(), &second, None).unwrap();
    assert_eq!(short.exp, after(660).seconds());
}

#[test]
fn a_lineage_without_grant_keeps_the_time_of_its_first_token() {
    let mut world = World::new();
    let subject = AccessToken {
        gid: None,
        sid: None,
        jti: Jti::trusted("g2:enam:7:at_x"),
        iat: 1_600_000_000,
        ..access_token("app", "openid")
    };
    let first = exchange(&world, &request(), &subject, None).unwrap();
    world.now = after(5);
    let second = exchange(&world, &request(), &first, None).unwrap();
    assert_eq!(second.born(), Timestamp::from_seconds(1_600_000_000));
    let issuer = IssuerId::default_issuer();
    assert_eq!(second.slot(&issuer), subject.slot(&issuer));
}

#[test]
fn too_many_exchanges_are_refused_and_nothing_is_dropped() {
    let world = World::new();
    let mut token = access_token("app", "openid");
    for n in 0..MAX_CHAIN {
        token = *exchange(&world, &request(), &token, None).unwrap();
        assert_eq!((token.anc.len(), token.act.as_ref().unwrap().depth()), (n + 1, n + 1));
    }
    assert_eq!(exchange(&world, &request(), &token, None), Err(ErrorCode::InvalidGrant));

    let deep =
        (0..MAX_CHAIN).fold(Actor::new("a", None), |chain, _| Actor::new("b", None).after(Some(&chain)));
    let subject = AccessToken { act: Some(deep), ..access_token("app", "openid") };
    assert_eq!(exchange(&world, &request(), &subject, None), Err(ErrorCode::InvalidGrant));
}

fn act(token: &AccessToken) -> Value {
    serde_json::to_value(&token.act).unwrap()
}

#[test]
fn delegation_keeps_the_whole_chain_by_rfc_8693_section_4_1() {
    let world = World::new();
    let subject = access_token("app", "openid");
    let first = exchange(&world, &request(), &subject, None).unwrap();
    let caller = json!({"sub": "client:app", "client_id": "app"});
    assert_eq!(act(&first), caller, "without an actor token the caller acts");

    let service = AccessToken { sub: "client:bff".into(), ..access_token("app", "openid") };
    let second = exchange(&world, &with_actor(), &first, Some(&service)).unwrap();
    assert_eq!(act(&second), json!({"sub": "client:bff", "client_id": "app", "act": caller}));
    assert_eq!(second.sub, "u-1");

    let own_chain = AccessToken { act: Some(Actor::new("client:x", None)), ..service };
    let third = exchange(&world, &with_actor(), &first, Some(&own_chain)).unwrap();
    let expected = json!({
        "sub": "client:bff", "client_id": "app", "act": {"sub": "client:x", "act": caller}
    });
    assert_eq!(act(&third), expected);
}

/// Whoever is called with a token holds it, and must not be able to say that its client acts.
#[test]
fn actor_tokens_must_be_valid_and_the_callers_to_present() {
    let mut world = World::new();
    world.client.token_exchange.subject_token_clients = vec![ClientId::trusted("front")];
    let subject = access_token("app", "openid");
    let (own, listed) = (access_token("app", "openid"), access_token("front", "openid"));
    let received = access_token("bff", "openid");
    let named = AccessToken { aud: Audience::of([URL, "app"]), ..received.clone() };
    let expired = AccessToken { exp: NOW.seconds(), ..own.clone() };
    for mode in [DelegationMode::Delegation, DelegationMode::Impersonation] {
        world.client.token_exchange.delegation_mode = mode;
        for (actor, good) in [
            (Some(&own), true),
            (Some(&listed), true),
            (Some(&named), true),
            (Some(&received), false),
            (Some(&expired), false),
            (None, false),
        ] {
            let answer = exchange(&world, &with_actor(), &subject, actor).map(drop);
            assert_eq!(answer, if good { Ok(()) } else { Err(ErrorCode::InvalidGrant) }, "{mode:?}");
        }
    }
}

/// As load scripts sign them with the issuer's own key.
#[test]
fn actor_tokens_of_nobody_who_is_registered_are_meant_for_the_issuer() {
    let world = World::new();
    let subject = access_token("app", "openid");
    let service = access_token("bff", "openid");
    let elsewhere = AccessToken { aud: Audience::one("https://api.example.com"), ..service.clone() };
    for (claims, good) in [(&service, true), (&elsewhere, false)] {
        let actor = Some(ActorToken { claims, is_of_registered_client: false });
        let answer = exchange_with(&world, &with_actor(), &subject, actor);
        assert_eq!(answer.map(drop), if good { Ok(()) } else { Err(ErrorCode::InvalidGrant) });
    }
}

#[test]
fn impersonation_adds_no_actor_but_keeps_those_there_are() {
    let mut world = World::new();
    world.client.token_exchange.delegation_mode = DelegationMode::Impersonation;
    let subject = access_token("app", "openid");
    assert_eq!(exchange(&world, &request(), &subject, None).unwrap().act, None);
    let actor = access_token("app", "openid");
    assert_eq!(exchange(&world, &with_actor(), &subject, Some(&actor)).unwrap().act, None);
    let delegated = AccessToken { act: Some(Actor::new("client:x", None)), ..subject };
    assert_eq!(exchange(&world, &request(), &delegated, None).unwrap().act, delegated.act);
}

#[test]
fn may_act_of_rfc_8693_section_4_4_names_the_actor() {
    let mut world = World::new();
    let actor = AccessToken { sub: "client:bff".into(), ..access_token("app", "openid") };
    for (mode, may, actor, good) in [
        (DelegationMode::Delegation, "client:app", None, true),
        (DelegationMode::Delegation, "client:bff", None, false),
        (DelegationMode::Delegation, "client:bff", Some(&actor), true),
        (DelegationMode::Delegation, "client:app", Some(&actor), false),
        (DelegationMode::Impersonation, "client:app", None, true),
        (DelegationMode::Impersonation, "client:bff", None, false),
        (DelegationMode::Impersonation, "client:bff", Some(&actor), true),
    ] {
        world.client.token_exchange.delegation_mode = mode;
        let subject = AccessToken { may_act: Some(MayAct::new(may)), ..access_token("app", "openid") };
        let request = if actor.is_some() { with_actor() } else { request() };
        let answer = exchange(&world, &request, &subject, actor);
        match answer {
            Ok(result) => assert!(good && result.may_act == subject.may_act, "{mode:?} {may}"),
            Err(error) => assert!(!good && error == ErrorCode::InvalidGrant, "{mode:?} {may}"),
        }
    }
}

proptest! {
    /// Whatever is asked for, a result is never more than its subject token.
    #[test]
    fn a_result_is_never_more_than_its_subject(
        subject_scope in "([abc]( [abcd]){0,3})?",
        asked in proptest::option::of("[abcd]( [abcde]){0,3}"),
        life in 1u64..10_000,
        passed in 0u64..10_000,
    ) {
        let mut world = World::new();
        world.client.scope = scope("a b c d");
        world.now = after(passed);
        let subject =
            AccessToken { exp: NOW.seconds() + life, ..access_token("app", &subject_scope) };
        let request = ExchangeRequest { scope: asked.as_deref(), ..request() };
        if let Ok(result) = exchange(&world, &request, &subject, None) {
            prop_assert!(result.exp <= subject.exp && world.now < result.expires_at());
            prop_assert!(subject.scope.covers(&result.scope) && world.client.scope.covers(&result.scope));
            prop_assert!(result.lineage(&world.issuer.id).tokens.contains(&subject.jti));
            prop_assert_eq!(result.gid, subject.gid);
        }
    }
}

/// The result is for another party, and the user may have lost roles since the subject token was issued.
#[test]
fn roles_are_those_of_the_results_own_party_and_only_with_the_scope() {
    let world = World::new();
    let mut subject = access_token("app", "openid roles");
    subject.release_roles(&entitlements());
    let roles = |request: &ExchangeRequest<'_>| {
        let mut result = exchange(&world, request, &subject, None).unwrap();
        assert_eq!(result.roles, None, "nothing is copied from the subject token");
        if result.needs_roles_of().is_some() {
            result.release_roles(&entitlements());
        }
        result.roles.map(|roles| roles.join(" "))
    };
    assert_eq!(roles(&request()).as_deref(), Some("admin editor viewer"));
    let elsewhere = ExchangeRequest { audience: &["other"], ..request() };
    assert_eq!(roles(&elsewhere).as_deref(), Some("admin owner viewer"));
    let narrowed = ExchangeRequest { scope: Some("openid"), ..request() };
    assert_eq!(roles(&narrowed), None);
}
