//! Users who may not sign in any more, and grants whose tokens tell only of groups and roles.

use serde_json::{Value, json};
use symbolon_protocol::id::{IssuerId, UserId};
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user::User;
use symbolon_testkit::{Browser, RelyingParty, TestServer, TokenSet, decode_jwt};

use super::{ACCESS_TOKEN, ALL, EXCHANGE, alice, change, id_token, sign_in};

const SCOPES: [&str; 3] =
    ["openid groups offline_access", "openid roles offline_access", "openid groups roles offline_access"];

struct Scene {
    server: TestServer,
    browser: Browser,
    rp: RelyingParty,
}

/// What alice's client holds: tokens, and a code with its verifier.
struct Held {
    tokens: TokenSet,
    code: (String, String),
}

impl Scene {
    fn new() -> Self {
        let server = TestServer::start();
        let browser = alice(&server);
        let rp = RelyingParty::register(&server, json!({ "scope": ALL }));
        for (path, body) in [
            ("/groups", json!({ "id": "staff", "name": "Staff" })),
            ("/roles", json!({ "id": "admin", "name": "Admin" })),
        ] {
            assert_eq!(server.admin("POST", path, Some(body)).status, 201, "{path}");
        }
        for path in ["/groups/staff/members/alice", "/groups/staff/roles/admin"] {
            assert_eq!(server.admin("PUT", path, None).status, 204, "{path}");
        }
        Self { server, browser, rp }
    }

    fn hold(&self, scope: &str) -> Held {
        let tokens = sign_in(&self.rp, &self.browser, scope);
        let request = self.rp.authorization_request().with("scope", scope);
        let code = self.browser.get(&request.path()).redirected("code").expect("a code");
        Held { tokens, code: (code, request.verifier) }
    }

    /// The statuses of a refresh and of a redeemed code.
    fn asked(&self, held: &Held) -> [u16; 2] {
        let refreshed = self.rp.refresh(held.tokens.refresh_token.as_deref().expect("a refresh token"));
        [refreshed.status, self.rp.redeem(&held.code.0, &held.code.1).status]
    }

    fn exchanged(&self, held: &Held) -> Value {
        let form = [
            ("grant_type", EXCHANGE),
            ("subject_token", &*held.tokens.access_token),
            ("subject_token_type", ACCESS_TOKEN),
        ];
        decode_jwt(&TokenSet::of(&self.rp.token(&form)).access_token).1
    }

    /// Writes down that alice may not sign in, and nothing else: as a server that is killed in the middle of what the
    /// admin API does.
    fn only_note_that_she_is_inactive(&self) {
        let (store, issuer) = (&self.server.app.store, IssuerId::default_issuer());
        let id = UserId::trusted("alice");
        let before = self.server.block_on(store.user(&issuer, &id)).unwrap().expect("alice");
        let later = Timestamp::from_millis(before.updated_at.millis() + 1);
        let after = User { active: false, updated_at: later, ..(*before).clone() };
        assert!(self.server.block_on(store.update_user(&issuer, after, before.updated_at)).unwrap());
    }
}

#[test]
fn who_is_deactivated_gets_no_more_tokens_by_any_scope() {
    let scene = Scene::new();
    let held: Vec<Held> = SCOPES.iter().map(|scope| scene.hold(scope)).collect();
    let fresh = scene.hold(SCOPES[0]);
    assert_eq!(scene.asked(&fresh), [200, 200]);
    change(&scene.server, "PATCH", "/users/alice", json!({ "active": false }));
    for (scope, held) in SCOPES.iter().zip(&held) {
        assert_eq!(scene.asked(held), [400, 400], "{scope}");
    }
    change(&scene.server, "PATCH", "/users/alice", json!({ "active": true }));
    for (scope, held) in SCOPES.iter().zip(&held) {
        assert_eq!(scene.asked(held), [400, 400], "{scope}: what ended does not come back");
    }
}

#[test]
fn groups_and_roles_are_told_of_nobody_who_may_not_sign_in_even_if_no_token_is_revoked_yet() {
    let scene = Scene::new();
    let held: Vec<Held> = SCOPES.iter().map(|scope| scene.hold(scope)).collect();
    let before = id_token(&held[2].tokens);
    assert_eq!((&before["groups"], &before["roles"]), (&json!(["Staff"]), &json!(["Admin"])));
    assert_eq!(scene.exchanged(&held[2])["roles"], json!(["Admin"]));
    scene.only_note_that_she_is_inactive();
    assert!(scene.exchanged(&held[2]).get("roles").is_none());
    for (scope, held) in SCOPES.iter().zip(&held) {
        let refresh_token = held.tokens.refresh_token.as_deref().expect("a refresh token");
        let refreshed = scene.rp.refresh(refresh_token);
        assert_eq!((refreshed.status, refreshed.error()), (400, "invalid_grant".to_owned()), "{scope}");
        let redeemed = TokenSet::of(&scene.rp.redeem(&held.code.0, &held.code.1));
        for claims in [id_token(&redeemed), decode_jwt(&redeemed.access_token).1] {
            assert!(claims.get("groups").is_none() && claims.get("roles").is_none(), "{scope}: {claims}");
        }
    }
}
