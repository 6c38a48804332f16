//! What claim definitions cost at a refresh, for a user with 20 groups: the claims of both tokens are made and written,
//! but not signed.
//!
//! `cargo run --profile dist -p symbolon-protocol --example claims_cost`

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "it measures, and serves nobody")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use symbolon_crypto::digest::HmacKey;
use symbolon_crypto::random::SeededRandom;
use symbolon_protocol::attribute::AttributeSchema;
use symbolon_protocol::claim_definition::{ClaimDefinition, ClaimSet};
use symbolon_protocol::client::Client;
use symbolon_protocol::entitlement::{EntitlementName, Entitlements, HeldGroup, HeldRole, path};
use symbolon_protocol::family::Family;
use symbolon_protocol::grant::GrantId;
use symbolon_protocol::id::{ClientId, GroupId, IssuerId, RoleId, UserId};
use symbolon_protocol::issuer::Issuer;
use symbolon_protocol::scope::Scope;
use symbolon_protocol::session::{Amr, AuthenticationMethod};
use symbolon_protocol::settings::IssuerSettings;
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::token::{Context, refresh_token};
use symbolon_protocol::user::User;
use symbolon_protocol::user_claims::UserRecords;

const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);
const ROUNDS: u32 = 20_000;
const SCOPE: &str = "openid profile email groups";

struct World {
    issuer: Issuer,
    settings: IssuerSettings,
    client: Client,
    random: SeededRandom,
    family: Family,
    records: UserRecords,
}

fn world() -> World {
    let random = SeededRandom::new(1);
    let issuer = Issuer {
        id: IssuerId::default_issuer(),
        url: "https://op.example.com".to_owned(),
        sealed_secret: Vec::new(),
        created_at: NOW,
    };
    let client = json!({ "client_id": "app", "scope": SCOPE, "created_at": 0, "updated_at": 0 });
    let family = Family {
        grant: GrantId::draw(&issuer.id, "u-1", NOW, &random),
        client: ClientId::trusted("app"),
        user: UserId::trusted("u-1"),
        sid: None,
        scope: Scope::parse(SCOPE).unwrap(),
        auth_time: NOW,
        amr: Amr::of(AuthenticationMethod::Pwd),
        version: 1,
        created_at: NOW,
        rotated_at: NOW,
        idle_expires_at: NOW,
        expires_at: NOW,
        binding: None,
        resources: Vec::new(),
        authorization_details: Default::default(),
    };
    let user = json!({
        "id": "u-1", "email": "ada@example.com", "email_verified": true, "name": "Ada Lovelace",
        "preferred_username": "ada", "created_at": 0, "updated_at": 0,
    });
    let groups = (0..20).map(|n| {
        let name = EntitlementName::parse(&format!("app:team-of-{n:02}")).unwrap();
        HeldGroup { id: GroupId::trusted(format!("g{n}")), path: path([&name]), name }
    });
    let role =
        HeldRole { id: RoleId::trusted("r"), name: EntitlementName::trusted("admin"), client_id: None };
    let user: User = serde_json::from_value(user).unwrap();
    let entitlements = Entitlements::of(groups.collect(), vec![role]);
    World {
        issuer,
        settings: IssuerSettings::default(),
        client: serde_json::from_value(client).unwrap(),
        random,
        family,
        records: UserRecords { user: Some(Arc::new(user)), entitlements: Some(Arc::new(entitlements)) },
    }
}

/// Microseconds for the claims of one refresh: the least of ten runs.
fn measured(world: &World, definitions: Value) -> f64 {
    let definitions: Vec<ClaimDefinition> = serde_json::from_value(definitions).unwrap();
    let claims = ClaimSet::of(&definitions, &[], &AttributeSchema::default());
    assert!(claims.broken().is_empty(), "{:?}", claims.broken());
    let pairwise_key = HmacKey::new(&[7; 32]);
    let context = Context {
        issuer: &world.issuer,
        settings: &world.settings,
        client: &world.client,
        claims: &claims,
        now: NOW,
        pairwise_key: &pairwise_key,
        jkt: None,
        x5t_s256: None,
        random: &world.random,
    };
    let run = || {
        let begin = Instant::now();
        for _ in 0..ROUNDS {
            let mut plan = refresh_token::issue(&context, &world.family, world.family.scope.clone(), false);
            let failures = plan.release(&context, world.records.clone());
            assert!(failures.is_empty(), "{failures:?}");
            black_box(plan.access.to_json());
            black_box(plan.id.unwrap().to_json());
        }
        begin.elapsed().as_secs_f64() * 1e6 / f64::from(ROUNDS)
    };
    (0..10).map(|_| run()).fold(f64::INFINITY, f64::min)
}

fn main() {
    let world = world();
    let everywhere = json!(["id_token", "access_token"]);
    let filtered = "groups.filter(g, g.startsWith('app:')).map(g, g.substring(4))";
    let without = measured(&world, json!([]));
    println!("{without:8.2} us  without definitions");
    for (what, definition) in [
        ("groups as one text", json!({ "name": "x", "source": "groups", "form": "space_separated" })),
        (
            "'admin' in roles ? ...",
            json!({ "name": "x", "expression": "'admin' in roles ? 'Admin' : 'Viewer'" }),
        ),
        (
            "has(user.nickname) ? ...",
            json!({ "name": "x", "expression": "has(user.nickname) ? user.nickname : user.email" }),
        ),
        ("groups.map(g, 'oidc:' + g)", json!({ "name": "x", "expression": "groups.map(g, 'oidc:' + g)" })),
        ("groups.filter(...).map(...)", json!({ "name": "x", "expression": filtered })),
        (
            "the same in both tokens",
            json!({ "name": "x", "expression": filtered, "destinations": everywhere }),
        ),
    ] {
        let with = measured(&world, json!([definition]));
        println!("{with:8.2} us  {what}: {:+.2} us", with - without);
    }
}
