use super::*;
use crate::client::TokenEndpointAuthMethod;
use crate::token::fixture::{NOW, URL, World, scope};

const API: &str = "https://api.example.com";

#[test]
fn a_client_acts_for_itself_in_a_grant_of_its_own() {
    let world = World::new();
    let token = issue(&world.context(), None, &[], &[]).unwrap();
    assert_eq!(token.sub, "client:app");
    assert_eq!(token.scope, scope("api"));
    assert!(token.aud.contains(URL));
    let grant = token.gid.unwrap();
    assert_eq!((grant.at(), token.slot(&world.issuer.id)), (NOW, grant.slot()));
    assert!(token.user().is_none() && token.sid.is_none() && token.auth_time.is_none());
}

#[test]
fn scopes_that_need_a_user_are_dropped_and_others_must_be_registered() {
    let mut world = World::new();
    world.client.scope = scope("openid email api read");
    for (asked, granted) in [
        (None, Ok("api read")),
        (Some(""), Ok("api read")),
        (Some("read"), Ok("read")),
        (Some("openid read"), Ok("read")),
        (Some("openid profile email address phone groups roles offline_access"), Ok("")),
        (Some("read write"), Err(ErrorCode::InvalidScope)),
        (Some("\\"), Err(ErrorCode::InvalidScope)),
    ] {
        let answer = issue(&world.context(), asked, &[], &[]);
        let answer = answer.map(|token| token.scope).map_err(|error| error.code);
        assert_eq!(answer, granted.map(scope), "{asked:?}");
    }
}

#[test]
fn a_scope_that_is_not_registered_is_refused_by_what_may_be_asked_for() {
    let mut world = World::new();
    world.client.scope = scope("openid api read");
    let error = issue(&world.context(), Some("read write"), &[], &[]).unwrap_err();
    assert!(error.description.ends_with("the client may ask for: api read"), "{error}");
}

#[test]
fn audiences_are_those_registered() {
    let mut world = World::new();
    world.client.access_token_audiences = vec![API.to_owned()];
    for (asked, aud) in [
        (&[][..], Ok(&[URL, API][..])),
        (&[API], Ok(&[API])),
        (&[URL], Ok(&[URL])),
        (&[API, URL, API], Ok(&[API, URL])),
        (&[API, "https://other.example.com"], Err(ErrorCode::InvalidTarget)),
    ] {
        for (audience, resource) in [(asked, &[][..]), (&[][..], asked)] {
            let answer = issue(&world.context(), None, audience, resource);
            let answer = answer.map(|token| (token.aud, token.resource)).map_err(|error| error.code);
            let all = |values: &[&str]| Audience::of(values.iter().copied());
            assert_eq!(answer, aud.map(|aud| (all(aud), all(resource))), "{audience:?} {resource:?}");
        }
    }
}

#[test]
fn a_resource_is_an_absolute_uri_by_rfc_8707_section_2() {
    let mut world = World::new();
    world.client.access_token_audiences = vec!["api".to_owned(), API.to_owned()];
    for resource in ["api", "", "https://api.example.com#part"] {
        let answer = issue(&world.context(), None, &[], &[resource]).map_err(|error| error.code);
        assert_eq!(answer.map(|token| token.aud), Err(ErrorCode::InvalidRequest), "{resource}");
    }
    let both = issue(&world.context(), None, &["api"], &[API]).unwrap();
    assert_eq!(both.aud, Audience::of(["api", API]));
    assert_eq!(both.resource, Audience::one(API));
}

#[test]
fn only_confidential_clients_with_the_grant_type_by_rfc_6749_section_4_4() {
    let mut public = World::new();
    public.client.token_endpoint_auth_method = TokenEndpointAuthMethod::None;
    let mut unregistered = World::new();
    unregistered.client.grant_types = vec![GrantType::AuthorizationCode];
    for world in [public, unregistered] {
        let answer = issue(&world.context(), None, &[], &[]).map_err(|error| error.code);
        assert_eq!(answer, Err(ErrorCode::UnauthorizedClient));
    }
}
