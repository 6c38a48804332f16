//! The claims `groups` and `roles`, in all tokens and answers that carry them.

use serde_json::{Value, json};
use symbolon_protocol::entitlement::EntitlementName;
use symbolon_protocol::group::{Group, Membership};
use symbolon_protocol::id::{ClientId, GroupId, IssuerId, RoleId, UserId};
use symbolon_protocol::role::{GivenRole, Role, RoleHolder};
use symbolon_store::port::{
    GroupCreation, MemberAddition, MemberRemoval, RoleCreation, RoleGrant, RoleRemoval,
};
use symbolon_testkit::{Browser, RelyingParty, TestServer, TokenSet, decode_jwt};

use super::{ACCESS_TOKEN, ALL, EXCHANGE, alice, id_token, refreshed, sign_in, userinfo};

/// A server with the user `alice`, and a browser in which she is signed in.
struct Scene {
    server: TestServer,
    browser: Browser,
    issuer: IssuerId,
}

impl Scene {
    fn new() -> Self {
        let server = TestServer::start();
        let browser = alice(&server);
        Self { server, browser, issuer: IssuerId::default_issuer() }
    }

    /// Creates a group whose id is its name, below another one.
    fn group(&self, name: &str, parent: Option<&str>) {
        let now = self.server.now();
        let group = Group {
            id: GroupId::trusted(name),
            name: EntitlementName::parse(name).unwrap(),
            description: None,
            parent: parent.map(GroupId::trusted),
            created_at: now,
            updated_at: now,
        };
        let created = self.server.block_on(self.server.app.store.create_group(&self.issuer, group));
        assert_eq!(created.unwrap(), GroupCreation::Created, "{name}");
    }

    /// Creates a role, of a client or of the issuer.
    fn role(&self, id: &str, name: &str, client: Option<&RelyingParty>) {
        let now = self.server.now();
        let role = Role {
            id: RoleId::trusted(id),
            name: EntitlementName::parse(name).unwrap(),
            client_id: client.map(|client| ClientId::trusted(client.client_id.as_str())),
            description: None,
            created_at: now,
            updated_at: now,
        };
        let created = self.server.block_on(self.server.app.store.create_role(&self.issuer, role));
        assert_eq!(created.unwrap(), RoleCreation::Created, "{id}");
    }

    fn membership(group: &str) -> Membership {
        Membership { group: GroupId::trusted(group), user: UserId::trusted("alice") }
    }

    fn join(&self, group: &str) {
        let added = self.server.app.store.add_member(&self.issuer, Self::membership(group));
        assert_eq!(self.server.block_on(added).unwrap(), MemberAddition::Added);
    }

    fn leave(&self, group: &str) {
        let removed = self.server.app.store.remove_member(&self.issuer, Self::membership(group));
        assert_eq!(self.server.block_on(removed).unwrap(), MemberRemoval::Removed);
    }

    fn given(role: &str, group: Option<&str>) -> GivenRole {
        let user = || RoleHolder::User(UserId::trusted("alice"));
        let holder = group.map_or_else(user, |group| RoleHolder::Group(GroupId::trusted(group)));
        GivenRole { role: RoleId::trusted(role), holder }
    }

    /// Gives a role to a group, or to alice.
    fn give(&self, role: &str, group: Option<&str>) {
        let given = self.server.app.store.give_role(&self.issuer, Self::given(role, group));
        assert_eq!(self.server.block_on(given).unwrap(), RoleGrant::Given);
    }

    fn take(&self, role: &str, group: Option<&str>) {
        let taken = self.server.app.store.take_role(&self.issuer, Self::given(role, group));
        assert_eq!(self.server.block_on(taken).unwrap(), RoleRemoval::Taken);
    }

    fn client(&self, metadata: Value) -> RelyingParty {
        let mut all = json!({ "scope": ALL });
        all.as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
        RelyingParty::register(&self.server, all)
    }

    fn sign_in(&self, rp: &RelyingParty, scope: &str) -> TokenSet {
        sign_in(rp, &self.browser, scope)
    }
}

fn access_token(tokens: &TokenSet) -> Value {
    decode_jwt(&tokens.access_token).1
}

fn introspected(rp: &RelyingParty, token: &str) -> Value {
    rp.post("/introspect", &[("token", token)]).json()
}

#[test]
fn groups_are_told_through_nesting_and_roles_of_the_issuer_and_of_the_client_alone() {
    let scene = Scene::new();
    let (app, other) = (scene.client(json!({})), scene.client(json!({})));
    scene.group("company", None);
    scene.group("engineering", Some("company"));
    scene.group("sales", Some("company"));
    scene.join("engineering");
    scene.role("r1", "employee", None);
    scene.role("r2", "deployer", Some(&app));
    scene.role("r3", "owner", Some(&other));
    scene.role("r4", "employee", Some(&app));
    scene.role("r5", "seller", None);
    scene.give("r1", Some("company"));
    scene.give("r2", Some("engineering"));
    scene.give("r3", None);
    scene.give("r4", None);
    scene.give("r5", Some("sales"));
    for (rp, roles) in [(&app, ["deployer", "employee"]), (&other, ["employee", "owner"])] {
        let tokens = scene.sign_in(rp, "openid groups roles");
        let (id, info) = (id_token(&tokens), userinfo(&scene.server, &tokens));
        for told in [&id, &info] {
            assert_eq!(told["groups"], json!(["company", "engineering"]), "{told}");
            assert_eq!(told["roles"], json!(roles), "{told}");
        }
        let access = access_token(&tokens);
        assert_eq!((&access["roles"], access.get("groups")), (&json!(roles), None));
        let shown = introspected(rp, &tokens.access_token);
        assert_eq!((&shown["active"], &shown["roles"]), (&json!(true), &json!(roles)));
        // Each scope by itself, and neither.
        let tokens = scene.sign_in(rp, "openid groups");
        assert!(id_token(&tokens).get("roles").is_none() && access_token(&tokens).get("roles").is_none());
        assert!(introspected(rp, &tokens.access_token).get("roles").is_none());
        let tokens = scene.sign_in(rp, "openid roles");
        assert!(
            id_token(&tokens).get("groups").is_none()
                && userinfo(&scene.server, &tokens).get("groups").is_none()
        );
        let tokens = scene.sign_in(rp, "openid profile");
        for claims in [id_token(&tokens), access_token(&tokens), userinfo(&scene.server, &tokens)] {
            assert!(claims.get("groups").is_none() && claims.get("roles").is_none(), "{claims}");
        }
    }
}

#[test]
fn a_user_in_no_group_has_empty_lists_so_that_an_application_can_tell() {
    let scene = Scene::new();
    let rp = scene.client(json!({}));
    let tokens = scene.sign_in(&rp, "openid groups roles");
    for claims in [id_token(&tokens), userinfo(&scene.server, &tokens)] {
        assert_eq!((&claims["groups"], &claims["roles"]), (&json!([]), &json!([])), "{claims}");
    }
    assert_eq!(access_token(&tokens)["roles"], json!([]));
}

#[test]
fn a_refresh_brings_the_groups_and_roles_of_that_moment() {
    let scene = Scene::new();
    let rp = scene.client(json!({}));
    scene.group("staff", None);
    scene.role("r1", "admin", None);
    scene.role("r2", "editor", Some(&rp));
    scene.join("staff");
    let mut tokens = scene.sign_in(&rp, ALL);
    let mut expect = |groups: &[&str], roles: &[&str]| {
        tokens = refreshed(&rp, &tokens);
        let (id, access) = (id_token(&tokens), access_token(&tokens));
        assert_eq!((&id["groups"], &id["roles"]), (&json!(groups), &json!(roles)));
        assert_eq!(access["roles"], json!(roles));
        assert_eq!(userinfo(&scene.server, &tokens)["groups"], json!(groups));
    };
    expect(&["staff"], &[]);
    scene.give("r1", Some("staff"));
    scene.give("r2", None);
    expect(&["staff"], &["admin", "editor"]);
    scene.leave("staff");
    expect(&[], &["editor"]);
    scene.take("r2", None);
    expect(&[], &[]);
    scene.join("staff");
    expect(&["staff"], &["admin"]);
}

#[test]
fn minimal_id_tokens_leave_groups_and_roles_to_userinfo_and_the_access_token() {
    let scene = Scene::new();
    let rp = scene.client(json!({ "settings": { "id_token_claims": "minimal" } }));
    scene.group("staff", None);
    scene.role("r1", "admin", None);
    scene.join("staff");
    scene.give("r1", None);
    let first = scene.sign_in(&rp, ALL);
    for tokens in [&first, &refreshed(&rp, &first)] {
        let id = id_token(tokens);
        assert!(id.get("groups").is_none() && id.get("roles").is_none(), "{id}");
        assert_eq!(access_token(tokens)["roles"], json!(["admin"]));
        let info = userinfo(&scene.server, tokens);
        assert_eq!((&info["groups"], &info["roles"]), (&json!(["staff"]), &json!(["admin"])));
    }
}

#[test]
fn an_access_token_for_an_api_carries_the_roles_of_that_api() {
    let scene = Scene::new();
    let api = scene.client(json!({ "client_id": "https://api.example" }));
    let app = scene.client(json!({
        "access_token_audiences": ["https://api.example", "https://mail.example"],
    }));
    scene.role("r1", "employee", None);
    scene.role("r2", "admin", Some(&app));
    scene.role("r3", "reader", Some(&api));
    for role in ["r1", "r2", "r3"] {
        scene.give(role, None);
    }
    let roles = |resources: &[&str]| {
        let request = app.authorization_request().with("scope", "openid roles");
        let code = scene.browser.get(&request.path()).redirected("code").unwrap();
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", &*code),
            ("redirect_uri", &*app.redirect_uri),
            ("code_verifier", &*request.verifier),
        ];
        form.extend(resources.iter().map(|resource| ("resource", *resource)));
        let tokens = TokenSet::of(&app.token(&form));
        assert_eq!(
            id_token(&tokens)["roles"],
            json!(["admin", "employee"]),
            "the ID token is for the client"
        );
        access_token(&tokens)["roles"].clone()
    };
    // RFC 8707 2.2: the token is for this resource alone.
    assert_eq!(roles(&["https://api.example"]), json!(["employee", "reader"]));
    assert_eq!(roles(&["https://mail.example"]), json!(["employee"]), "alice has no role of it");
    assert_eq!(roles(&[&*scene.server.issuer]), json!(["admin", "employee"]));
    // Two APIs share the token: neither must take the other's roles for its own.
    assert_eq!(roles(&[]), json!(["employee"]));
}

#[test]
fn an_exchange_brings_todays_roles_of_the_party_that_the_result_is_for() {
    let scene = Scene::new();
    let app = scene.client(json!({}));
    let api = scene.client(json!({}));
    let service = scene.client(json!({ "allowed_subject_token_clients": [app.client_id] }));
    scene.role("r1", "employee", None);
    scene.role("r2", "admin", Some(&app));
    scene.role("r3", "reader", Some(&api));
    scene.role("r4", "worker", Some(&service));
    for role in ["r1", "r2", "r3", "r4"] {
        scene.give(role, None);
    }
    let exchanged = |rp: &RelyingParty, subject: &TokenSet, more: &[(&str, &str)]| {
        let mut form = vec![
            ("grant_type", EXCHANGE),
            ("subject_token", &*subject.access_token),
            ("subject_token_type", ACCESS_TOKEN),
        ];
        form.extend_from_slice(more);
        TokenSet::of(&rp.token(&form))
    };
    let roles = |tokens: &TokenSet| access_token(tokens).get("roles").cloned();
    let subject = scene.sign_in(&app, "openid email roles");
    assert_eq!(roles(&subject), Some(json!(["admin", "employee"])));
    let own = exchanged(&service, &subject, &[]);
    assert_eq!(roles(&own), Some(json!(["employee", "worker"])));
    let for_api = exchanged(&service, &subject, &[("audience", &*api.client_id)]);
    assert_eq!(roles(&for_api), Some(json!(["employee", "reader"])));
    assert_eq!(introspected(&api, &for_api.access_token)["roles"], json!(["employee", "reader"]));
    // A role that was taken is gone though the subject token still has it.
    scene.take("r1", None);
    assert_eq!(roles(&exchanged(&service, &subject, &[])), Some(json!(["worker"])));
    // Only with the scope: of the request, of the subject token, and of the client.
    assert_eq!(roles(&exchanged(&service, &subject, &[("scope", "openid email")])), None);
    let without = scene.sign_in(&app, "openid email");
    assert_eq!(roles(&exchanged(&service, &without, &[])), None);
    let metadata = json!({ "scope": "openid email", "allowed_subject_token_clients": [app.client_id] });
    assert_eq!(roles(&exchanged(&scene.client(metadata), &subject, &[])), None);
}

#[test]
fn discovery_lists_the_scopes_and_a_client_that_acts_for_itself_has_neither() {
    let scene = Scene::new();
    let metadata = scene.browser.get("/.well-known/openid-configuration").json();
    for name in ["groups", "roles"] {
        assert!(metadata["scopes_supported"].as_array().unwrap().contains(&json!(name)));
        assert!(metadata["claims_supported"].as_array().unwrap().contains(&json!(name)));
    }
    let rp = scene.client(json!({ "scope": "openid groups roles api" }));
    let own = TokenSet::of(&rp.token(&[("grant_type", "client_credentials"), ("scope", "roles groups api")]));
    let claims = access_token(&own);
    assert_eq!((&claims["scope"], claims.get("roles")), (&json!("api"), None));
}
