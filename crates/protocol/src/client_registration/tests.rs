use std::sync::LazyLock;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use symbolon_crypto::random::SeededRandom;

use super::*;
use crate::client::GrantType;
use crate::scope::Scope;
use crate::settings::IssuerSettings;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_123);
const DAY: Duration = Duration::from_secs(86_400);

static KEY: LazyLock<HmacKey> = LazyLock::new(|| HmacKey::new(b"the issuer's key for client secrets"));

fn object(value: Value) -> Metadata {
    match value {
        Value::Object(object) => object,
        other => panic!("{other}"),
    }
}

fn policy() -> Policy {
    Policy::of(&IssuerSettings::default(), vec![Algorithm::Rs256])
}

fn tried(metadata: Value) -> Result<Registered, OAuthError> {
    register(object(metadata), &policy(), &KEY, NOW, &SeededRandom::new(7))
}

fn registered(metadata: Value) -> Registered {
    tried(metadata).unwrap_or_else(|error| panic!("{error}"))
}

fn told(registered: &Registered) -> Value {
    let Registered { registration: Registration { client, client_secret, .. }, registration_access_token } =
        registered;
    let uri = "https://op.example/connect/register/x";
    let token = registration_access_token.expose();
    Value::Object(information(client, client_secret.as_ref(), token, uri, Algorithm::Rs256))
}

fn put(client: &Client, mut metadata: Value) -> Result<Registration, OAuthError> {
    metadata["client_id"] = json!(client.client_id);
    update(client, object(metadata), &policy(), &KEY, NOW, &SeededRandom::new(8))
}

fn least() -> Value {
    json!({ "redirect_uris": ["https://rp.example/cb"] })
}

#[test]
fn redirect_uris_are_enough_and_the_answer_tells_what_was_made_of_them() {
    let made = registered(least());
    let shown = told(&made);
    for (name, value) in [
        ("client_name", json!("rp.example")),
        ("redirect_uris", json!(["https://rp.example/cb"])),
        ("grant_types", json!(["authorization_code"])),
        ("response_types", json!(["code"])),
        ("token_endpoint_auth_method", json!("client_secret_basic")),
        ("scope", json!("openid profile email offline_access")),
        ("application_type", json!("web")),
        ("subject_type", json!("public")),
        ("id_token_signed_response_alg", json!("RS256")),
        ("client_id", json!(made.registration.client.client_id)),
        ("client_id_issued_at", json!(1_800_000_000)),
        ("client_secret_expires_at", json!(0)),
        ("registration_client_uri", json!("https://op.example/connect/register/x")),
    ] {
        assert_eq!(shown[name], value, "{name}");
    }
    assert!(shown["client_secret"].as_str().is_some_and(|secret| secret.len() > 40), "{shown}");
    for untold in ["skip_consent", "is_trusted", "settings", "created_at", "client_secrets", "audiences"] {
        assert!(shown.get(untold).is_none(), "{untold}");
    }
}

#[test]
fn what_only_an_administrator_sets_and_what_nobody_knows_is_dropped() {
    let mut greedy = least();
    for (name, value) in [
        ("client_id", json!("chosen")),
        ("client_secret", json!("a-secret-of-more-than-thirty-two-characters")),
        ("client_secret_digests", json!([{ "sha256": "x" }])),
        ("skip_consent", json!(true)),
        ("is_trusted", json!(true)),
        ("token_exchange_allowed", json!(true)),
        ("allowed_token_exchange_resources", json!([])),
        ("allowed_subject_token_clients", json!(["other"])),
        ("id_token_exchange_allowed", json!(true)),
        ("allowed_subject_token_issuers", json!(["https://other.example"])),
        ("id_jag_audiences", json!([{ "audience": "https://chat.example", "client_id": "us" }])),
        ("delegation_mode", json!("impersonation")),
        ("audiences", json!(["https://api.example"])),
        ("access_token_audiences", json!(["https://api.example"])),
        ("allowed_redirect_origins", json!(["https://evil.example"])),
        ("redirect_uri_forms", json!(["wildcard_host"])),
        ("settings", json!({ "access_token_lifetime": 9 })),
        ("pkce", json!("optional")),
        ("require_pkce", json!(false)),
        ("access_token_lifetime", json!(9)),
        ("access_token_signed_response_alg", json!("ES256")),
        ("branding", json!({ "name": "The bank" })),
        ("allow_claims_without_scope", json!(true)),
        ("dynamic_registration", json!({ "used_at": 1 })),
        ("created_at", json!(1)),
        ("a_member_of_tomorrow", json!({ "deep": [1] })),
        ("another#de", json!("x")),
        ("require_auth_time", json!(true)),
        ("sector_identifier_uri", json!("https://rp.example/s")),
    ] {
        greedy[name] = value;
    }
    let client = registered(greedy).registration.client;
    let mut plain = registered(least()).registration.client;
    // The one thing that is drawn anew, and from the same seed: nothing that was sent made a difference.
    plain.client_id = client.client_id.clone();
    assert!(client == plain, "{}", json!(client));
}

#[test]
fn what_the_issuer_does_not_let_it_have_is_left_out_and_told() {
    let mut wide = least();
    wide["scope"] = json!("openid groups admin phone");
    wide["grant_types"] = json!(["client_credentials", "refresh_token", "authorization_code", "implicit", 7]);
    wide["response_types"] = json!(["code", "code id_token"]);
    wide["subject_type"] = json!("pairwise");
    wide["id_token_signed_response_alg"] = json!("ES256");
    wide["userinfo_signed_response_alg"] = json!("ES256");
    wide["introspection_signed_response_alg"] = json!("RS256");
    let shown = told(&registered(wide));
    assert_eq!(shown["scope"], "openid phone");
    assert_eq!(shown["grant_types"], json!(["refresh_token", "authorization_code"]));
    assert_eq!(shown["response_types"], json!(["code"]));
    assert_eq!(shown["subject_type"], "pairwise");
    assert_eq!(shown["id_token_signed_response_alg"], "RS256", "the issuer has no key of ES256");
    assert_eq!(shown.get("userinfo_signed_response_alg"), None, "for the same reason it is plain JSON");
    assert_eq!(shown["introspection_signed_response_alg"], "RS256");
    let allowed = Policy {
        scope: Scope::parse("openid groups").unwrap(),
        full_scope: false,
        grant_types: vec![GrantType::AuthorizationCode, GrantType::ClientCredentials],
        algorithms: vec![Algorithm::Rs256, Algorithm::Es256],
    };
    let mut asked = least();
    asked["scope"] = json!("groups admin");
    asked["grant_types"] = json!(["authorization_code", "client_credentials"]);
    asked["id_token_signed_response_alg"] = json!("ES256");
    let made = register(object(asked), &allowed, &KEY, NOW, &SeededRandom::new(7)).unwrap();
    let client = made.registration.client;
    assert_eq!((client.scope.as_str(), client.grant_types.len()), ("groups", 2));
    assert_eq!(client.id_token_signed_response_alg, Some(Algorithm::Es256));
}

#[test]
fn where_the_issuer_says_so_a_client_gets_more_scopes_than_it_names() {
    let settings = IssuerSettings {
        client_registration_scope: Some(Scope::parse("openid notes:read notes:write").unwrap()),
        client_registration_full_scope: true,
        ..IssuerSettings::default()
    };
    let policy = Policy::of(&settings, vec![Algorithm::Rs256]);
    let registered = |scope: Value| {
        let mut document = least();
        document["scope"] = scope;
        register(object(document), &policy, &KEY, NOW, &SeededRandom::new(7))
    };
    let made = registered(json!("notes:read admin")).unwrap();
    assert_eq!(told(&made)["scope"], "openid notes:read notes:write");
    assert!(registered(json!(7)).is_err(), "what is malformed is still refused");
}

#[test]
fn response_types_follow_the_grant_types_that_the_issuer_allows() {
    let implicit = Policy {
        scope: Scope::parse("openid").unwrap(),
        full_scope: false,
        grant_types: vec![GrantType::AuthorizationCode, GrantType::Implicit],
        algorithms: vec![Algorithm::Rs256],
    };
    let made = |members: Value| {
        let mut document = least();
        document.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let made = register(object(document), &implicit, &KEY, NOW, &SeededRandom::new(7));
        made.map(|made| client_metadata::view(&made.registration.client))
    };
    let hybrid = made(json!({ "response_types": ["code id_token", "token"] })).unwrap();
    assert_eq!(hybrid["response_types"], json!(["code id_token"]));
    assert_eq!(hybrid["grant_types"], json!(["authorization_code", "implicit"]));
    let unused = json!({ "grant_types": ["authorization_code", "implicit"] });
    assert_eq!(made(unused).unwrap()["grant_types"], json!(["authorization_code"]), "nothing uses implicit");
    let lacking = json!({ "grant_types": ["authorization_code"], "response_types": ["code", "id_token"] });
    assert_eq!(made(lacking).unwrap()["response_types"], json!(["code"]));
    assert!(made(json!({ "grant_types": ["implicit"] })).is_err(), "it names no response type");
}

#[test]
fn refusals_have_the_codes_of_rfc_7591_section_3_2_2() {
    use ErrorCode::{
        InvalidClientMetadata as Metadata, InvalidRedirectUri as Uri, InvalidSoftwareStatement,
        UnapprovedSoftwareStatement,
    };
    for (name, value, code) in [
        ("redirect_uris", json!([]), Uri),
        ("redirect_uris", json!("https://rp.example/"), Uri),
        ("redirect_uris", json!(["https://rp.example/#x"]), Uri),
        ("redirect_uris", json!(["javascript:alert(1)"]), Uri),
        ("redirect_uris", json!(["http://rp.example/"]), Uri),
        ("redirect_uris", json!(["https://*.rp.example/"]), Uri),
        ("redirect_uris", json!(["https://a:b@rp.example/"]), Uri),
        ("redirect_uris", json!(["app:/cb"]), Uri),
        ("redirect_uris", json!([7]), Uri),
        ("token_endpoint_auth_method", json!("client_secret_jwt"), Metadata),
        ("grant_types", json!(["implicit"]), Metadata),
        ("grant_types", json!([]), Metadata),
        ("grant_types", json!("authorization_code"), Metadata),
        ("grant_types", json!(["refresh_token"]), Metadata),
        ("response_types", json!(["id_token"]), Metadata),
        ("scope", json!(["openid"]), Metadata),
        ("scope", json!("a\"b"), Metadata),
        ("jwks_uri", json!("http://rp.example/jwks"), Metadata),
        ("logo_uri", json!("javascript:alert(1)"), Metadata),
        ("client_name", json!("a\u{0}b"), Metadata),
        ("client_name#de_DE", json!("x"), Metadata),
        ("application_type", json!("toaster"), Metadata),
        ("post_logout_redirect_uris", json!(["http://rp.example/"]), Metadata),
        ("backchannel_logout_uri", json!("http://rp.example/"), Metadata),
        ("software_statement", json!("a.b.c"), UnapprovedSoftwareStatement),
        ("software_statement", json!(7), InvalidSoftwareStatement),
    ] {
        let mut metadata = least();
        metadata[name] = value.clone();
        let error = tried(metadata).err().unwrap_or_else(|| panic!("{name}: {value} was taken"));
        assert_eq!(error.code, code, "{name}: {value}: {error}");
        let about = error.details.as_ref().and_then(|details| details.parameter_name());
        let whole = name.split('#').next();
        assert_eq!(about, whole, "{value}");
    }
}

#[test]
fn the_kind_of_application_goes_by_its_redirect_uris() {
    let kind = |named: Value, uri: &str| {
        let made = tried(json!({ "redirect_uris": [uri], "application_type": named }));
        made.map(|made| told(&made)["application_type"].clone()).map_err(|error| error.code)
    };
    for uri in ["http://127.0.0.1/cb", "http://localhost:33418/", "com.example.app:/cb"] {
        assert_eq!(kind(Value::Null, uri), Ok(json!("native")), "{uri}");
        assert_eq!(kind(json!("native"), uri), Ok(json!("native")), "{uri}");
    }
    assert_eq!(kind(Value::Null, "https://rp.example/cb"), Ok(json!("web")));
    // RFC 8252 7.2.
    assert_eq!(kind(json!("native"), "https://rp.example/cb"), Ok(json!("native")));
    // While somebody writes a web application, it is at localhost.
    assert_eq!(kind(json!("web"), "http://localhost:3000/cb"), Ok(json!("web")));
    assert_eq!(kind(json!("web"), "com.example.app:/cb"), Err(ErrorCode::InvalidRedirectUri));
}

#[test]
fn a_name_may_be_given_in_languages_and_is_the_host_without() {
    let mut named = least();
    named["client_name"] = json!("Shop");
    named["client_name#de"] = json!("Laden");
    named["policy_uri#fr"] = json!("https://rp.example/fr");
    let shown = told(&registered(named));
    assert_eq!(
        (&shown["client_name#de"], &shown["policy_uri#fr"]),
        (&json!("Laden"), &json!("https://rp.example/fr"))
    );
    let scheme = registered(json!({ "redirect_uris": ["com.example.app:/cb"] }));
    assert_eq!(scheme.registration.client.client_name, "com.example.app");
}

#[test]
fn a_client_does_not_switch_protections_off_nor_lead_people_elsewhere_unasked() {
    let mut client = registered(least()).registration.client;
    client.require_pushed_authorization_requests = true;
    client.dpop_bound_access_tokens = true;
    client.skip_consent = true;
    let same = put(&client, least()).unwrap().client;
    assert!(same.require_pushed_authorization_requests && same.dpop_bound_access_tokens && same.skip_consent);
    let mut off = least();
    off["dpop_bound_access_tokens"] = json!(false);
    assert!(put(&client, off).unwrap().client.dpop_bound_access_tokens);
    let elsewhere =
        put(&client, json!({ "redirect_uris": ["https://elsewhere.example/cb"] })).unwrap().client;
    assert!(!elsewhere.skip_consent, "people are asked for the new address");
    client.tls_client_certificate_bound_access_tokens = true;
    assert!(put(&client, least()).unwrap().client.tls_client_certificate_bound_access_tokens);
    client.scope = Scope::parse("openid").unwrap();
    assert!(!put(&client, least()).unwrap().client.skip_consent, "it could get more than it was allowed for");
    let mut pairwise = least();
    pairwise["subject_type"] = json!("pairwise");
    let pairwise = registered(pairwise).registration.client;
    assert_eq!(put(&pairwise, least()).unwrap().client.sector.as_deref(), Some("rp.example"));
}

#[test]
fn only_its_token_manages_a_registration_and_a_digest_is_kept() {
    let made = registered(least());
    let own = made.registration.client.dynamic_registration.as_deref().expect("it registered itself");
    let token = made.registration_access_token.expose();
    assert!(token.starts_with("rat_") && token.len() == 47, "256 bits");
    assert!(own.is_managed_by(token, &KEY));
    assert!(!own.is_managed_by(token, &HmacKey::new(b"another issuer's")));
    for wrong in ["", "rat_", &token[..46], &format!("{token}A"), &token.to_uppercase()] {
        assert!(!own.is_managed_by(wrong, &KEY), "{wrong}");
    }
    let stored = serde_json::to_string(&made.registration.client).unwrap();
    assert!(!stored.contains(token));
    let read: Client = serde_json::from_str(&stored).unwrap();
    assert!(read == made.registration.client);
}

#[test]
fn an_update_starts_from_the_defaults_and_leaves_what_an_administrator_set() {
    let mut first = least();
    first["client_name"] = json!("Shop");
    first["contacts"] = json!(["a@rp.example"]);
    first["client_name#de"] = json!("Laden");
    let made = registered(first);
    let secret = made.registration.client_secret.as_ref().unwrap().expose().to_owned();
    let mut client = made.registration.client;
    client.skip_consent = true;
    client.settings.access_token_lifetime = Some(60);
    client.scope = Scope::parse("openid groups").unwrap();
    client.access_token_audiences = vec!["https://api.example".to_owned()];
    let changed = json!({ "redirect_uris": ["https://rp.example/2"], "scope": "openid groups admin", "client_secret": secret });
    let after = put(&client, changed).unwrap_or_else(|error| panic!("{error}"));
    assert!(after.client_secret.is_none(), "it keeps its secret");
    let after = after.client;
    assert_eq!(after.redirect_uris, ["https://rp.example/2"]);
    assert_eq!((after.client_name.as_str(), after.scope.as_str()), ("rp.example", "openid groups"));
    assert!(!after.display.contains_key("contacts") && !after.display.contains_key("client_name#de"));
    assert!(!after.skip_consent, "an administrator allowed it for the address before");
    assert_eq!(after.settings, client.settings);
    assert_eq!(after.access_token_audiences, client.access_token_audiences);
    assert!(after.dynamic_registration == client.dynamic_registration, "the token stays");
    assert!(after.client_secrets == client.client_secrets && after.updated_at > client.updated_at);
}

#[test]
fn an_update_names_the_client_and_chooses_no_secret() {
    let client = registered(least()).registration.client;
    let random = SeededRandom::new(8);
    for (name, value) in
        [("client_id", json!("another")), ("client_id", Value::Null), ("client_secret", json!("chosen"))]
    {
        let mut metadata = least();
        metadata["client_id"] = json!(client.client_id);
        metadata[name] = value.clone();
        let refused = update(&client, object(metadata), &policy(), &KEY, NOW, &random).err();
        assert_eq!(
            refused.map(|error| error.code),
            Some(ErrorCode::InvalidClientMetadata),
            "{name}: {value}"
        );
    }
    let mut public = least();
    public["token_endpoint_auth_method"] = json!("none");
    let public = put(&client, public).unwrap().client;
    assert!(public.is_public() && public.client_secrets.is_empty());
    assert!(put(&public, least()).unwrap().client_secret.is_some(), "a new one is drawn and told");
}

#[test]
fn a_client_that_was_never_used_is_known_by_its_record() {
    let client = registered(least()).registration.client;
    assert!(is_unused(&client, 30, NOW + DAY * 30) && !is_unused(&client, 30, NOW + DAY * 29));
    assert!(!is_unused(&client, 0, NOW + DAY * 9_999), "0 days are never over");
    let used = with_first_use(&client, NOW + DAY).expect("a first use");
    assert!(!is_unused(&used, 30, NOW + DAY * 60) && with_first_use(&used, NOW + DAY).is_none());
    assert!(used.updated_at > client.updated_at);
    let mut authenticated = client.clone();
    let id = authenticated.client_secrets.iter().next().unwrap().id.clone();
    authenticated.client_secrets.note_use(&id, NOW);
    assert!(!is_unused(&authenticated, 30, NOW + DAY * 60));
    let mut of_admin = client;
    of_admin.dynamic_registration = None;
    assert!(!is_unused(&of_admin, 30, NOW + DAY * 60) && with_first_use(&of_admin, NOW).is_none());
}

#[test]
fn an_initial_access_token_ends_by_time_and_by_the_setting() {
    let token = InitialAccessToken::new(DAY, Some(2), NOW, &SeededRandom::new(1));
    assert!(token.is_live(None, NOW) && token.is_live(Some(NOW), NOW));
    assert!(!token.is_live(None, NOW + DAY) && !token.is_live(Some(NOW + DAY / 24), NOW + DAY / 12));
    let marks: Vec<String> = token.marks().collect();
    assert_eq!(marks, [format!("{}.0", token.id), format!("{}.1", token.id)]);
    assert_eq!(InitialAccessToken::new(DAY, None, NOW, &SeededRandom::new(1)).marks().count(), 0);
}

proptest! {
    #[test]
    fn whatever_is_sent_is_refused_or_bounded(
        name in proptest::sample::select(&["redirect_uris", "grant_types", "scope", "client_name", "jwks", "contacts", "x"][..]),
        text in ".{0,40}",
        number in any::<u64>(),
    ) {
        for value in [json!(text), json!(number), json!([text]), json!({ &text: number }), Value::Null] {
            let mut metadata = least();
            metadata[name] = value;
            if let Ok(made) = tried(metadata) {
                let client = made.registration.client;
                prop_assert!(!client.skip_consent && !client.is_trusted && !client.token_exchange.allowed);
                prop_assert!(policy().scope.covers(&client.scope));
                prop_assert!(client.grant_types.iter().all(|grant| DEFAULT_GRANT_TYPES.contains(grant)));
            }
        }
    }
}

#[test]
fn a_stranger_may_publish_its_keys_instead_of_sending_them() {
    let mut metadata = least();
    metadata["token_endpoint_auth_method"] = json!("private_key_jwt");
    assert!(tried(metadata.clone()).is_err(), "no keys at all");
    metadata["jwks_uri"] = json!("https://rp.example/jwks");
    let made = registered(metadata.clone());
    let shown = told(&made);
    assert_eq!(shown["jwks_uri"], "https://rp.example/jwks");
    assert!(shown["client_secret"].is_null() && shown["jwks"].is_null(), "{shown}");
    metadata["jwks"] = json!({ "keys": [] });
    let both = put(&made.registration.client, metadata).err().map(|error| error.code);
    assert_eq!(both, Some(ErrorCode::InvalidClientMetadata));
}

#[test]
fn a_stranger_has_pairwise_subjects_where_its_redirect_uris_alone_get_tokens() {
    let mut own = least();
    own["subject_type"] = json!("pairwise");
    let client = registered(own.clone()).registration.client;
    assert_eq!(client.sector.as_deref(), Some("rp.example"));
    let mut listed = own.clone();
    listed["sector_identifier_uri"] = json!("https://s.example/list");
    assert_eq!(registered(listed).registration.client.sector.as_deref(), Some("s.example"));
    own["redirect_uris"] = json!(["https://rp.example/cb", "https://other.example/cb"]);
    let error = tried(own).map(|_| ()).unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidClientMetadata);
}
