//! Everything that was acknowledged is still there after a crash.

use symbolon_protocol::consent::Consent;
use symbolon_protocol::family::Rotation;
use symbolon_protocol::grant::{Lineage, Slot};
use symbolon_protocol::id::{ClientId, Jti, UserId};
use symbolon_protocol::key::KeyState;
use symbolon_protocol::revocation::{Target, Tombstone};
use symbolon_protocol::scope::Scope;
use symbolon_protocol::settings::IssuerSettings;
use symbolon_protocol::sign_in::email_code_use::{EmailCodeTry, Recipient};
use symbolon_protocol::user::PasswordHash;

use super::sample::{
    HOUR, assertion_use, bare_lineage, client, code_grant, draw_session, family, given_to_group, group,
    issuer, key, lineage_of, membership, redeem, role, rotation, session, user, with_tokens,
};
use super::{BackEnd, Scene, told};
use crate::port::{Redemption, Use};
use crate::shard::ShardKind;

pub async fn all(back_end: &dyn BackEnd) {
    hot_state_survives(back_end).await;
    records_survive(back_end).await;
}

async fn hot_state_survives(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "durability").await;
    let Scene { store, issuer, now, .. } = &scene;
    let ids: Vec<_> = (0..200).map(|_| draw_session(&**store, &scene.random)).collect();
    let families: Vec<_> = (0..200)
        .map(|_| (store.place(ShardKind::Refresh).draw_family(*now, &scene.random), family(&scene, "user")))
        .collect();
    let app = ClientId::parse("app").unwrap();
    let sessions = ids.iter().map(|id| (id.clone(), session(issuer, id, "user", *now))).collect();
    told(store.open_sessions(issuer, sessions).await).await;
    told(store.begin_families(issuer, families.clone()).await).await;
    for (n, id) in ids.iter().enumerate() {
        match n % 3 {
            0 => assert!(told(store.end_session(issuer, id, &with_tokens(*now)).await).await.is_some()),
            1 => assert!(told(store.note_client(issuer, id, &app, false).await).await),
            _ => {}
        }
    }
    for (n, (id, begun)) in families.iter().enumerate() {
        if n % 4 == 0 {
            let tombstone = Tombstone::grant(begun.grant, *now + HOUR);
            assert!(told(store.end_family(issuer, id, &tombstone).await).await.is_some());
            continue;
        }
        for version in 1..=u32::try_from(n % 4).unwrap() {
            told(store.rotate(issuer, id, &rotation(version, *now)).await).await;
        }
    }
    let reused = told(store.rotate(issuer, &families[3].0, &rotation(1, *now)).await).await;
    assert!(matches!(reused, Rotation::Reused(_)));
    let jti = Jti::parse("jti").unwrap();
    told(store.revoke(issuer, &[Tombstone::token(jti.clone(), Slot::new(5), *now + HOUR)]).await).await;
    let client_ended = Tombstone::up_to(Target::Client(app.clone()), Slot::new(0), *now, *now + HOUR);
    told(store.revoke(issuer, &[client_ended]).await).await;
    told(store.use_assertion(issuer, &assertion_use(&app, &jti, *now + HOUR)).await).await;
    let (email_code, recipient) = (("code", *now + HOUR), Recipient([7; 16]));
    told(store.note_recipient(issuer, email_code, recipient).await).await;
    told(store.try_email_code(issuer, email_code, false).await).await;
    let code = store.keep_code(issuer, code_grant(&scene, "user"), *now, &scene.random).await.unwrap();
    assert_eq!(redeem(&**store, issuer, &code, *now).await.unwrap(), Redemption::Redeemed);

    let after = back_end.after_crash("durability").await;
    after.ready().await.unwrap();
    for (n, id) in ids.iter().enumerate() {
        let found = told(after.session(issuer, id, *now).await).await;
        assert_eq!(
            found.as_ref().map(|found| found.clients.len()),
            [None, Some(1), Some(0)][n % 3],
            "session {n}"
        );
    }
    for (n, (id, begun)) in families.iter().enumerate() {
        let found = told(after.family(issuer, id).await).await.map(|found| found.version);
        let expected = (n % 4 != 0 && n != 3).then(|| 1 + u32::try_from(n % 4).unwrap());
        assert_eq!(found, expected, "family {n}");
        let ended = told(after.revoked(issuer, &lineage_of(&begun.grant)).await).await;
        assert_eq!(ended, n % 4 == 0 || n == 3, "the grant of family {n}");
    }
    let token = Lineage { tokens: vec![jti.clone()], ..bare_lineage(Slot::new(5), *now) };
    assert!(told(after.revoked(issuer, &token).await).await);
    let of_client = Lineage { client: Some(app.clone()), ..bare_lineage(Slot::new(9), *now) };
    assert!(told(after.revoked(issuer, &of_client).await).await);
    assert_eq!(
        told(after.use_assertion(issuer, &assertion_use(&app, &jti, *now + HOUR)).await).await,
        Use::Replayed
    );
    let tried = told(after.try_email_code(issuer, email_code, false).await).await;
    assert_eq!(tried, EmailCodeTry::Wrong { left: 3 });
    let tried = told(after.try_email_code(issuer, email_code, true).await).await;
    assert_eq!(tried, EmailCodeTry::Right { recipient: Some(recipient) });
    let again = redeem(&*after, issuer, &code, *now).await.unwrap();
    assert_ne!(again, Redemption::Redeemed, "a used code came back");
    let live = ids.len() - ids.len().div_ceil(3);
    let listed = after.next_sessions(issuer, None, 1_000, *now).await.unwrap();
    assert_eq!((listed.items.len(), listed.next), (live, None));
    let user = UserId::parse("user").unwrap();
    let ended = told(after.end_sessions_of(issuer, &user, &with_tokens(*now)).await).await;
    assert_eq!(ended, live as u64);
}

async fn records_survive(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "durability-records").await;
    let Scene { store, issuer: one, now, .. } = &scene;
    store.create_issuer(issuer("one", *now), IssuerSettings::default()).await.unwrap();
    let keys = [key("a", KeyState::Active, *now)];
    store.put_keys(one, &[], &keys).await.unwrap();
    store.create_client(one, client("app", *now)).await.unwrap();
    let (ann, app) = (user("ann", Some("ann@example.com"), *now), ClientId::parse("app").unwrap());
    store.create_user(one, ann.clone(), Some(PasswordHash::new("hash".to_owned()))).await.unwrap();
    let consent = Consent::new(Scope::parse("openid").unwrap(), *now);
    assert!(store.allow(one, &ann.id, &app, consent.clone().into()).await.unwrap());
    store.create_group(one, group("g", "", *now)).await.unwrap();
    store.create_role(one, role("r", "admin", "app", *now)).await.unwrap();
    store.add_member(one, membership("g", "ann")).await.unwrap();
    store.give_role(one, given_to_group("r", "g")).await.unwrap();
    let held = store.entitlements(one, &ann.id).await.unwrap();

    let after = back_end.after_crash("durability-records").await;
    assert_eq!(after.issuers().await.unwrap(), [issuer("one", *now)]);
    assert_eq!(after.settings(one).await.unwrap(), IssuerSettings::default());
    assert_eq!(after.keys(one).await.unwrap(), keys);
    assert!(after.client(one, &app).await.unwrap().is_some_and(|found| *found == client("app", *now)));
    let (found, hash) = after.user_by_login(one, "ann@example.com").await.unwrap().unwrap();
    assert_eq!((&*found, hash.unwrap().expose()), (&ann, "hash"));
    assert_eq!(after.consent(one, &ann.id, &app).await.unwrap(), Some(consent));
    assert_eq!((held.groups.len(), held.roles.len()), (1, 1));
    assert_eq!(after.entitlements(one, &ann.id).await.unwrap(), held);
}
