//! A store that is moved to another back-end and back has the same records.

mod groups;
mod sign_in;

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;
use symbolon_protocol::authenticator::AuthenticatorSet;
use symbolon_protocol::client::Client;
use symbolon_protocol::code::AuthorizationCode;
use symbolon_protocol::consent::Consent;
use symbolon_protocol::event::{AuditRecord, Event};
use symbolon_protocol::family::{Family, FamilyId, Rotation};
use symbolon_protocol::grant::{GrantId, Lineage, Slot};
use symbolon_protocol::id::{ClientId, Jti, UserId};
use symbolon_protocol::key::KeyState;
use symbolon_protocol::logo::{LARGEST, Logo};
use symbolon_protocol::revocation::{Target, Tombstone};
use symbolon_protocol::scope::Scope;
use symbolon_protocol::session::SessionId;
use symbolon_protocol::settings::IssuerSettings;
use symbolon_protocol::sign_in::email_code_use::{EmailCodeTry, Recipient};
use symbolon_protocol::time::{KEPT_AFTER_END, Timestamp};
use symbolon_protocol::user::{PasswordHash, Profile, User};

use super::delivery::delivery;
use super::invitation::invitation;
use super::sample::{
    HOUR, MINUTE, assertion_use, bare_lineage, client, code_grant, draw_session, family, issuer, key,
    lineage_of, page, redeem, rotation, session, user, with_tokens,
};
use super::{BackEnd, Scene, attribute, authenticator, identity, logo, told};
use crate::port::{
    AuditFilter, AuthenticatorUpdate, Created, DeliveryKind, Enrolled, IdentityLink, Queued, Redemption, Use,
    UserFilter,
};
use crate::shard::{ShardKind, sid_of};
use crate::transfer::{Export, Freeze, FreezeError, Import, Record, Tally, copy, tally};
use crate::{Store, StoreError};
use sign_in::{note_origin, origin_of, plant_invitations, planted_invitations};

/// A back-end that stores can be moved from and to.
#[async_trait]
pub trait Movable: BackEnd {
    /// The records of the store that was opened under `name`.
    async fn export(&self, name: &str) -> Box<dyn Export>;
    /// Begins to fill a new store under `name`.
    async fn import(&self, name: &str) -> Box<dyn Import>;
    /// Opens a store that was filled.
    async fn filled(&self, name: &str) -> std::sync::Arc<dyn Store>;
}

/// Moves a store with every kind of record to the other back-end and back.
pub async fn there_and_back(here: &dyn Movable, there: &dyn Movable) {
    let scene = Scene::open(here, "source").await;
    let seeded = Seeded::plant(&scene).await;
    seeded.check(&scene, &*scene.store).await;
    let first = moved(&scene, (here, "source", &*scene.store), (there, "there")).await;
    refuses_writes(&scene, &seeded).await;

    let target = there.filled("there").await;
    seeded.check(&scene, &*target).await;
    let second = moved(&scene, (there, "there", &*target), (here, "back")).await;
    let back = here.filled("back").await;
    seeded.check(&scene, &*back).await;
    assert!(first.differing(&second).is_empty(), "{first:?} {second:?}");
    seeded.goes_on(&scene, &*back).await;
    for back_end in [here, there] {
        users_who_share_an_address(back_end, scene.now).await;
    }
}

/// Two users of an earlier release whose addresses and names differ only by their spelling: after a move each still
/// signs in by its own spelling, whichever is moved first, and no third user can have the address.
async fn users_who_share_an_address(back_end: &dyn Movable, now: Timestamp) {
    let (one, spellings) = (issuer("one", now), ["rene\u{301}@example.com", "ren\u{e9}@example.com"]);
    let id = one.id.clone();
    let of = |name: &str, email: &str| {
        let mut user = user(name, Some(email), now);
        user.profile.preferred_username = email.split('@').next().map(str::to_owned);
        Record::User(id.clone(), Box::new(user), Some(PasswordHash::new(name.to_owned())))
    };
    let import = back_end.import("spellings").await;
    import.put(vec![Record::Issuer(Box::new((one, IssuerSettings::default(), Vec::new())))]).await.unwrap();
    import.put(vec![of("decomposed", spellings[0]), of("composed", spellings[1])]).await.unwrap();
    import.put(vec![of("alone", "zoe\u{308}@example.com")]).await.unwrap();
    import.finish().await.unwrap();
    let store = back_end.filled("spellings").await;
    let found = async |login: &str| {
        store.user_by_login(&id, login).await.unwrap().map(|(user, _)| user.id.to_string())
    };
    for (name, spelling) in ["decomposed", "composed"].into_iter().zip(spellings) {
        for login in [spelling, &spelling.to_uppercase(), spelling.split('@').next().unwrap()] {
            assert_eq!(found(login).await.as_deref(), Some(name), "{login}");
        }
        let filter = UserFilter { email: Some(spelling.to_owned()), ..UserFilter::default() };
        assert_eq!(store.list_users(&id, &filter, &page(1, 10)).await.unwrap().total, 2, "both are shown");
        let taken = store.create_user(&id, user("third", Some(spelling), now), None).await.unwrap();
        assert_eq!(taken, Created::Exists, "{spelling}");
    }
    for spelling in ["zo\u{eb}", "zoe\u{308}"] {
        assert_eq!(found(&format!("{spelling}@example.com")).await.as_deref(), Some("alone"));
        assert_eq!(found(spelling).await.as_deref(), Some("alone"));
    }
    // A change of another member leaves each user the name that was stored.
    let mut changed = store.user(&id, &UserId::parse("decomposed").unwrap()).await.unwrap().unwrap();
    let seen = changed.updated_at;
    let record = Arc::make_mut(&mut changed);
    record.profile.name = Some("Ren\u{e9}".to_owned());
    record.updated_at = seen + MINUTE;
    assert!(store.update_user(&id, record.clone(), seen).await.unwrap());
    for login in [spellings[0], "rene\u{301}"] {
        assert_eq!(found(login).await.as_deref(), Some("decomposed"), "{login}");
    }
}

/// Moves a store; returns the sums of both stores.
async fn moved(
    scene: &Scene,
    (from, source, store): (&dyn Movable, &str, &dyn Store),
    (to, target): (&dyn Movable, &str),
) -> Tally {
    let refused = store.freeze(Freeze::Migrated).await;
    assert!(matches!(refused, Err(FreezeError::OutOfOrder { found: Freeze::Lifted, .. })), "{refused:?}");
    store.freeze(Freeze::Migrating).await.unwrap();
    store.ready().await.expect("it goes on answering reads");
    let (source, target) = (from.export(source).await, to.import(target).await);
    let ended = scene.now - KEPT_AFTER_END;
    let (mut classes, mut quiet, mut silent) = (Vec::new(), |_, _| {}, |_, _| {});
    let as_it_is = |record: Record| Ok::<_, StoreError>(record);
    copy(&*source, &*target, ended, &as_it_is, &mut |class, _| classes.push(class)).await.unwrap();
    assert!(classes.is_sorted(), "{classes:?}");
    let there = tally(&*source, scene.now, &mut quiet).await.unwrap();
    let here = tally(&*target, scene.now, &mut silent).await.unwrap();
    assert!(there.differing(&here).is_empty(), "{there:?} {here:?}");
    target.finish().await.unwrap();
    store.freeze(Freeze::Migrated).await.unwrap();
    let refused = store.freeze(Freeze::Migrating).await;
    assert!(matches!(refused, Err(FreezeError::OutOfOrder { found: Freeze::Migrated, .. })), "{refused:?}");
    there
}

/// The records that the source was filled with.
struct Seeded {
    settings: IssuerSettings,
    client: Client,
    users: Vec<(User, Option<PasswordHash>)>,
    consent: Consent,
    authenticators: Enrolled,
    groups: groups::Planted,
    live: Vec<SessionId>,
    ended: Vec<SessionId>,
    families: Vec<(FamilyId, Family)>,
    gone: Vec<(FamilyId, Family)>,
    revoked: Vec<Lineage>,
    code: AuthorizationCode,
    used_code: AuthorizationCode,
}

fn ids() -> (ClientId, UserId, Jti) {
    (ClientId::parse("app").unwrap(), UserId::parse("ann").unwrap(), Jti::parse("jti").unwrap())
}

impl Seeded {
    async fn plant(scene: &Scene) -> Self {
        let Scene { store, issuer: one, now, .. } = scene;
        let settings = IssuerSettings { token_exchange: true, ..attribute::unique() };
        for id in ["one", "two"] {
            let created = store.create_issuer(issuer(id, *now), settings.clone()).await.unwrap();
            assert_eq!(created, Created::Created);
        }
        let keys = [key("b", KeyState::Active, *now), key("a", KeyState::Next, *now)];
        store.put_keys(one, &[], &keys).await.unwrap();
        let (users, client, consent) = plant_records(scene).await;
        let authenticators = plant_authenticators(scene).await;
        assert_eq!(
            store.link_identity(one, identity::of("ann", "s", *now)).await.unwrap(),
            IdentityLink::Linked
        );
        plant_deliveries(scene).await;
        plant_logos(scene).await;
        plant_invitations(scene).await;
        let groups = groups::plant(scene).await;
        let (mut live, mut ended) = (Vec::new(), Vec::new());
        for shards in [8, 3] {
            let (some, gone) = plant_sessions(scene).await;
            for (number, id) in some.iter().enumerate() {
                note_origin(scene, id, live.len() + number).await;
            }
            live.extend(some);
            ended.extend(gone);
            for kind in ShardKind::ALL {
                store.set_shards(kind, shards, *now).await.unwrap();
            }
        }
        let (families, gone) = plant_families(scene).await;
        let revoked = plant_revocations(scene).await;
        let (app, _, jti) = ids();
        assert_eq!(
            told(store.use_assertion(one, &assertion_use(&app, &jti, *now + HOUR)).await).await,
            Use::First
        );
        plant_email_codes(scene).await;
        let code = store.keep_code(one, code_grant(scene, "ann"), *now, &scene.random).await.unwrap();
        let used_code = store.keep_code(one, code_grant(scene, "ann"), *now, &scene.random).await.unwrap();
        assert_eq!(redeem(&**store, one, &used_code, *now).await.unwrap(), Redemption::Redeemed);
        Self {
            settings,
            client,
            users,
            consent,
            authenticators,
            groups,
            live,
            ended,
            families,
            gone,
            revoked,
            code,
            used_code,
        }
    }

    /// Checks that everything is there, and nothing that ended.
    async fn check(&self, scene: &Scene, store: &dyn Store) {
        self.check_records(scene, store).await;
        self.groups.check(scene, store).await;
        self.check_hot(scene, store).await;
    }

    async fn check_records(&self, scene: &Scene, store: &dyn Store) {
        let Scene { issuer: one, other, now, .. } = scene;
        let issuers = store.issuers().await.unwrap();
        assert_eq!(issuers, [issuer("one", *now), issuer("two", *now)]);
        assert_eq!(store.settings(one).await.unwrap(), self.settings);
        let keys = [key("b", KeyState::Active, *now), key("a", KeyState::Next, *now)];
        assert_eq!(store.keys(one).await.unwrap(), keys);
        assert!(store.keys(other).await.unwrap().is_empty());
        for kind in ShardKind::ALL {
            let generations = store.generations(kind);
            let shards: Vec<u32> = generations.iter().map(|generation| generation.shards).collect();
            assert_eq!(shards.get(1..), Some(&[8, 3][..]), "{kind:?}");
            assert_eq!(generations.last().map(|last| (last.generation, last.closed_at)), Some((3, None)));
        }
        let (app, ann, _) = ids();
        assert!(store.client(one, &app).await.unwrap().as_deref() == Some(&self.client));
        let listed = store.list_users(one, &Default::default(), &page(1, 10)).await.unwrap();
        let listed: Vec<&User> = listed.items.iter().rev().map(|user| &**user).collect();
        assert_eq!(listed, self.users.iter().map(|(user, _)| user).collect::<Vec<_>>());
        for (user, password) in &self.users {
            let id = user.id.as_str();
            assert_eq!(attribute::found(store, one, "number", json!(id.to_uppercase())).await, [id]);
            let login = user.email.as_deref().unwrap();
            let (found, hash) = store.user_by_login(one, &login.to_uppercase()).await.unwrap().unwrap();
            assert!(*found == *user && hash == *password);
            assert!(store.user(other, &user.id).await.unwrap().is_none());
        }
        // Several users have this name: it belongs to the oldest.
        let (found, _) = store.user_by_login(one, "same").await.unwrap().unwrap();
        assert_eq!(found.id, self.users[0].0.id);
        assert_eq!(store.consent(one, &ann, &app).await.unwrap(), Some(self.consent.clone()));
        let enrolled = store.authenticators(one, &ann).await.unwrap();
        assert_eq!(enrolled, self.authenticators);
        assert_eq!(store.authenticators(other, &ann).await.unwrap(), Enrolled::default());
        let known = identity::of("ann", "s", *now);
        assert_eq!(store.identities_of(one, &ann).await.unwrap(), std::slice::from_ref(&known));
        assert_eq!(store.identity(one, &known.provider, "s").await.unwrap(), Some(known));
        for (client, logo) in logos() {
            assert_eq!(store.logo(one, client.as_ref()).await.unwrap(), Some(logo), "{client:?}");
            assert_eq!(store.logo(other, client.as_ref()).await.unwrap(), None, "{client:?}");
        }
        let invitations = store.list_invitations(one, &page(1, 10), *now).await.unwrap();
        assert_eq!(invitations.items, planted_invitations(*now));
        assert_eq!(store.waiting_deliveries().await.unwrap(), [(DeliveryKind::Mail, 2)]);
        let audit = store.search_audit(one, &AuditFilter::default(), &page(1, 10)).await.unwrap();
        let requests: Vec<_> = audit.items.iter().map(|record| record.request.as_deref().unwrap()).collect();
        assert_eq!(requests, ["2", "1", "0"]);
    }

    async fn check_hot(&self, scene: &Scene, store: &dyn Store) {
        let Scene { issuer: one, other, now, .. } = scene;
        let (app, ann, _) = ids();
        for id in &self.live {
            let found = told(store.session(one, id, *now).await).await.expect("it lives");
            assert_eq!(found.clients.first(), Some(&app));
            assert!(told(store.session(other, id, *now).await).await.is_none());
            let by_sid = told(store.session_by_sid(one, found.sid.as_str(), *now).await).await;
            assert_eq!(by_sid.map(|by_sid| by_sid.session), Some(found));
        }
        for id in &self.ended {
            assert!(told(store.session(one, id, *now).await).await.is_none());
        }
        let listed = store.list_sessions(one, &ann, &page(1, 100), *now).await.unwrap();
        assert_eq!(listed.total, self.live.len() as u64);
        for (number, id) in self.live.iter().enumerate() {
            let sid = sid_of(one, id);
            let found = listed.items.iter().find(|listed| listed.session.sid == sid).unwrap();
            assert_eq!(found.origin, origin_of(number), "where a session began moves with it");
        }
        for (id, family) in &self.families {
            assert_eq!(told(store.family(one, id).await).await.as_deref(), Some(family));
            assert!(!told(store.revoked(one, &lineage_of(&family.grant)).await).await);
        }
        for (id, family) in &self.gone {
            assert!(told(store.family(one, id).await).await.is_none());
            assert!(told(store.revoked(one, &lineage_of(&family.grant)).await).await);
        }
        for lineage in &self.revoked {
            assert!(told(store.revoked(one, lineage).await).await, "{lineage:?}");
            assert!(!told(store.revoked(other, lineage).await).await, "{lineage:?}");
        }
    }

    /// The store works like any other again.
    async fn goes_on(&self, scene: &Scene, store: &dyn Store) {
        let Scene { issuer: one, now, .. } = scene;
        self.groups.goes_on(scene, store).await;
        let (app, _, jti) = ids();
        assert_eq!(
            told(store.use_assertion(one, &assertion_use(&app, &jti, *now + HOUR)).await).await,
            Use::Replayed
        );
        goes_on_with_email_codes(scene, store).await;
        for code in [&self.code, &self.used_code] {
            assert_eq!(redeem(store, one, code, *now).await.unwrap(), Redemption::Unknown);
        }
        let (_, ann, _) = ids();
        let (revision, none) = (self.authenticators.revision, AuthenticatorSet::default());
        let stale = store.put_authenticators(one, &ann, revision - 1, &none).await.unwrap();
        assert_eq!(stale, AuthenticatorUpdate::Overtaken);
        let used = store.put_authenticators(one, &ann, revision, &none).await.unwrap();
        assert_eq!(used, AuthenticatorUpdate::Written);
        assert!(store.use_invitation(one, "open", *now + MINUTE).await.unwrap());
        assert!(!store.use_invitation(one, "used", *now + MINUTE).await.unwrap());
        goes_on_delivering(scene, store).await;
        let (id, family) = &self.families[0];
        let later = *now + MINUTE;
        let moved = told(store.rotate(one, id, &rotation(family.version, later)).await).await;
        assert!(matches!(moved, Rotation::Rotated(next) if next.version == family.version + 1));
        let reused = store.rotate(one, id, &rotation(family.version, later + MINUTE)).await;
        assert!(matches!(told(reused).await, Rotation::Reused(_)));
        assert!(told(store.end_session(one, &self.live[0], &with_tokens(*now)).await).await.is_some());
        let id = draw_session(store, &scene.random);
        told(store.open_session(one, &id, session(one, &id, "ann", *now)).await).await;
        assert!(told(store.session(one, &id, *now).await).await.is_some());
        let taken = user("new", Some("ANN@example.com"), *now);
        assert_eq!(store.create_user(one, taken, None).await.unwrap(), Created::Exists);
        let taken = attribute::user("new", json!({ "number": "ANN" }), *now);
        assert_eq!(store.create_user(one, taken, None).await.unwrap(), Created::Exists);
    }
}

/// A code that was mailed and tried once, and one that was used.
async fn plant_email_codes(scene: &Scene) {
    let Scene { store, issuer: one, now, .. } = scene;
    let end = *now + HOUR;
    told(store.note_recipient(one, ("mailed", end), Recipient([7; 16])).await).await;
    told(store.try_email_code(one, ("mailed", end), false).await).await;
    let used = told(store.try_email_code(one, ("used", end), true).await).await;
    assert_eq!(used, EmailCodeTry::Right { recipient: None });
}

async fn goes_on_with_email_codes(scene: &Scene, store: &dyn Store) {
    let Scene { issuer: one, now, .. } = scene;
    let end = *now + HOUR;
    let used = told(store.try_email_code(one, ("used", end), true).await).await;
    assert_eq!(used, EmailCodeTry::UsedUp);
    let wrong = told(store.try_email_code(one, ("mailed", end), false).await).await;
    assert_eq!(wrong, EmailCodeTry::Wrong { left: 3 });
    let right = told(store.try_email_code(one, ("mailed", end), true).await).await;
    assert_eq!(right, EmailCodeTry::Right { recipient: Some(Recipient([7; 16])) });
}

async fn plant_authenticators(scene: &Scene) -> Enrolled {
    let Scene { store, issuer: one, now, .. } = scene;
    let (_, ann, _) = ids();
    for set in [AuthenticatorSet::default(), authenticator::full(*now)] {
        let seen = store.authenticators(one, &ann).await.unwrap().revision;
        let put = store.put_authenticators(one, &ann, seen, &set).await.unwrap();
        assert_eq!(put, AuthenticatorUpdate::Written);
    }
    store.authenticators(one, &ann).await.unwrap()
}

/// The issuer's, and a client's that is as large as may be.
fn logos() -> [(Option<ClientId>, Logo); 2] {
    [(None, logo::image("issuer", 100)), (Some(ids().0), logo::image("app", LARGEST))]
}

async fn plant_logos(scene: &Scene) {
    for (client, logo) in logos() {
        assert!(scene.store.put_logo(&scene.issuer, client.as_ref(), logo).await.unwrap());
    }
}

/// One that waits, and one that was claimed by a process that is gone.
async fn plant_deliveries(scene: &Scene) {
    let Scene { store, issuer: one, now, .. } = scene;
    let claimed = delivery("claimed", DeliveryKind::Mail, *now);
    assert_eq!(store.queue_delivery(one, claimed, 10).await.unwrap(), Queued::Queued);
    assert_eq!(store.claim_deliveries(*now, *now + MINUTE, 10).await.unwrap().len(), 1);
    let waiting = delivery("waiting", DeliveryKind::Mail, *now);
    assert_eq!(store.queue_delivery(one, waiting, 10).await.unwrap(), Queued::Queued);
}

async fn goes_on_delivering(scene: &Scene, store: &dyn Store) {
    let Scene { issuer: one, now, .. } = scene;
    assert_eq!(
        store.queue_delivery(one, delivery("third", DeliveryKind::Mail, *now), 2).await.unwrap(),
        Queued::Full
    );
    let due = store.claim_deliveries(*now + MINUTE, *now + HOUR, 10).await.unwrap();
    let due: Vec<_> =
        due.iter().map(|(issuer, one)| (issuer, one.id.as_str(), one.attempts, one.unanswered)).collect();
    assert_eq!(due, [(one, "waiting", 1, 1), (one, "claimed", 2, 2)]);
}

async fn plant_records(scene: &Scene) -> (Vec<(User, Option<PasswordHash>)>, Client, Consent) {
    let Scene { store, issuer: one, now, .. } = scene;
    let app = client("app", *now);
    assert_eq!(store.create_client(one, app.clone()).await.unwrap(), Created::Created);
    let mut users = Vec::new();
    // Not in the order of their ids, all in one millisecond, all with one name.
    for (id, password) in [("zoe", Some("$argon2id$z")), ("ann", Some("$argon2id$a")), ("mia", None)] {
        let mut profile = Profile { preferred_username: Some("same".into()), ..Profile::default() };
        profile.attributes = attribute::user(id, json!({ "number": id }), *now).profile.attributes.clone();
        let email = format!("{id}@example.com");
        let one_user = User { profile: profile.into(), ..user(id, Some(&email), *now) };
        let password = password.map(|hash| PasswordHash::new(hash.to_owned()));
        let created = store.create_user(one, one_user.clone(), password.clone()).await.unwrap();
        assert_eq!(created, Created::Created);
        users.push((one_user, password));
    }
    let consent = Consent::new(Scope::parse("openid email").unwrap(), *now);
    let (id, ann, _) = ids();
    assert!(store.allow(one, &ann, &id, consent.clone().into()).await.unwrap());
    for number in 0..3_u8 {
        let record = AuditRecord {
            at: *now,
            event: Event::BackupMade,
            user: Some(ann.clone()),
            client: None,
            actor: "admin".into(),
            address: None,
            request: Some(number.to_string()),
            detail: json!({ "number": number }),
        };
        store.write_audit(Arc::new([(one.clone(), record)])).await.unwrap();
    }
    (users, app, consent)
}

/// Live sessions, with a client, and some that were ended.
async fn plant_sessions(scene: &Scene) -> (Vec<SessionId>, Vec<SessionId>) {
    let Scene { store, issuer: one, now, .. } = scene;
    let (app, ..) = ids();
    let mut ids: Vec<_> = (0..12).map(|_| draw_session(&**store, &scene.random)).collect();
    // Not in the form of ids that a store draws.
    ids.push(SessionId::new(format!("foreign-{}", ids[0].expose())));
    for id in &ids {
        told(store.open_session(one, id, session(one, id, "ann", *now)).await).await;
        assert!(told(store.note_client(one, id, &app, true).await).await);
    }
    let ended = ids.split_off(9);
    for id in &ended {
        assert!(told(store.end_session(one, id, &with_tokens(*now)).await).await.is_some());
    }
    ids.push(SessionId::new(format!("alien-{}", ids[0].expose())));
    let foreign = &ids[9];
    told(store.open_session(one, foreign, session(one, foreign, "ann", *now)).await).await;
    assert!(told(store.note_client(one, foreign, &app, false).await).await);
    (ids, ended)
}

type Families = Vec<(FamilyId, Family)>;

/// Live families in several versions, and some that ended in either way.
async fn plant_families(scene: &Scene) -> (Families, Families) {
    let Scene { store, issuer: one, now, .. } = scene;
    let (mut live, mut gone) = (Vec::new(), Vec::new());
    for number in 0..12_u32 {
        let id = store.place(ShardKind::Refresh).draw_family(*now, &scene.random);
        let mut family = family(scene, "ann");
        assert_eq!(told(store.begin_family(one, &id, family.clone().into()).await).await, Created::Created);
        for version in 1..=number {
            let moved = told(store.rotate(one, &id, &rotation(version, *now)).await).await;
            let Rotation::Rotated(next) = moved else { panic!("{moved:?}") };
            family = (*next).clone();
        }
        match number {
            5 => {
                let tombstone = Tombstone::grant(family.grant, *now + HOUR);
                assert!(told(store.end_family(one, &id, &tombstone).await).await.is_some());
                gone.push((id, family));
            }
            7 => {
                let reused = told(store.rotate(one, &id, &rotation(1, *now)).await).await;
                assert!(matches!(reused, Rotation::Reused(_)));
                gone.push((id, family));
            }
            _ => live.push((id, family)),
        }
    }
    (live, gone)
}

/// One tombstone for each kind of target; returns the lineages that they end.
async fn plant_revocations(scene: &Scene) -> Vec<Lineage> {
    let Scene { store, issuer: one, now, .. } = scene;
    let (app, _, jti) = ids();
    let born = *now - HOUR;
    let slot = Slot::new(77);
    let [bob, mia] = ["bob", "mia"].map(UserId::trusted);
    let lost = draw_session(&**store, &scene.random);
    let sid = session(one, &lost, "bob", *now).sid;
    let grant = GrantId::draw(one, "bob", *now, &scene.random);
    let tombstones = [
        Tombstone::token(jti.clone(), slot, *now + HOUR),
        Tombstone::grant(grant, Timestamp::FOREVER),
        Tombstone::session(one, sid.clone(), &bob, *now, HOUR),
        Tombstone::user(one, bob.clone(), *now, HOUR),
        Tombstone::client(one, app.clone(), born, HOUR + MINUTE),
        Tombstone::consent(one, mia.clone(), app.clone(), *now, HOUR),
    ];
    for tombstone in tombstones {
        told(store.revoke(one, &[tombstone]).await).await;
    }
    let of_bob = Slot::of(one, "bob");
    let issuer_born = born - HOUR;
    let of_issuer = Tombstone::up_to(Target::Issuer, Slot::new(0), issuer_born, *now + HOUR);
    told(store.revoke(one, &[of_issuer]).await).await;
    vec![
        Lineage { tokens: vec![jti], ..bare_lineage(slot, *now) },
        lineage_of(&grant),
        Lineage { session: Some(sid), ..bare_lineage(of_bob, *now) },
        Lineage { user: Some(bob), ..bare_lineage(of_bob, *now) },
        Lineage { client: Some(app.clone()), ..bare_lineage(slot, born) },
        Lineage { user: Some(mia), client: Some(app), ..bare_lineage(Slot::of(one, "mia"), *now) },
        bare_lineage(Slot::new(900), issuer_born),
    ]
}

/// A store that is being moved, or was, refuses every write as unavailable.
async fn refuses_writes(scene: &Scene, seeded: &Seeded) {
    let Scene { store, issuer: one, now, .. } = scene;
    let (app, ann, jti) = ids();
    let id = draw_session(&**store, &scene.random);
    let (family_id, begun) = &seeded.families[0];
    let token = Tombstone::token(jti.clone(), Slot::new(1), *now + HOUR);
    let refused = [
        ("code", store.keep_code(one, code_grant(scene, "ann"), *now, &scene.random).await.err()),
        ("redemption", redeem(&**store, one, &seeded.code, *now).await.err()),
        ("challenge", store.keep_challenge(one, "tx", [1].into(), *now + HOUR).await.err()),
        ("transaction", store.replace_challenge(one, "tx", [1].into(), *now + HOUR, *now).await.err()),
        ("session", store.open_session(one, &id, session(one, &id, "ann", *now)).await.err()),
        ("end", store.end_session(one, &seeded.live[0], &with_tokens(*now)).await.err()),
        (
            "client of a session",
            store.note_client(one, &seeded.live[0], &ann_s_other_client(), false).await.err(),
        ),
        ("family", store.rotate(one, family_id, &rotation(begun.version, *now)).await.err()),
        ("revocation", store.revoke(one, &[token]).await.err()),
        ("assertion", store.use_assertion(one, &assertion_use(&app, &jti, *now)).await.err()),
        ("recipient", store.note_recipient(one, ("new", *now), Recipient([1; 16])).await.err()),
        ("try", store.try_email_code(one, ("new", *now), true).await.err()),
        ("client", store.create_client(one, client("new", *now)).await.err()),
        ("logo", store.put_logo(one, Some(&app), logo::image("new", 100)).await.err()),
        ("user", store.create_user(one, user("new", None, *now), None).await.err()),
        ("authenticators", store.put_authenticators(one, &ann, 2, &seeded.authenticators.set).await.err()),
        ("identity", store.link_identity(one, identity::of("ann", "new", *now)).await.err()),
        ("delivery", store.queue_delivery(one, delivery("new", DeliveryKind::Mail, *now), 10).await.err()),
        ("invitation", store.keep_invitation(one, invitation("new", *now), 10).await.err()),
        ("use of an invitation", store.use_invitation(one, "open", *now).await.err()),
        ("claim", store.claim_deliveries(*now + MINUTE, *now + HOUR, 10).await.err()),
        ("consent", store.withdraw(one, &ann, &app).await.err()),
        ("keys", store.put_keys(one, &[], &[]).await.err()),
        ("shards", store.set_shards(ShardKind::Code, 5, *now).await.err()),
    ];
    for (what, error) in refused.into_iter().chain(groups::refused(scene).await) {
        assert!(matches!(error, Some(StoreError::Unavailable(_))), "{what}: {error:?}");
    }
    seeded.check(scene, &**store).await;
}

fn ann_s_other_client() -> ClientId {
    ClientId::parse("other").unwrap()
}
