//! Values of unique attributes: each belongs to one user, whatever is raced, and also while the schema changes.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use symbolon_protocol::attribute::{AttributeName, AttributeValue};
use symbolon_protocol::id::{IssuerId, UserId};
use symbolon_protocol::settings::IssuerSettings;
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user::User;
use tokio::task::JoinSet;

use super::sample::{self, issuer, page};
use super::{BackEnd, Scene, race_record_for_one};
use crate::port::{Created, SettingsUpdate, UserFilter};
use crate::{Store, StoreError};

/// Rounds in which the schema changes while users are written: each waits for all nodes.
const SCHEMA_ROUNDS: usize = 30;

/// Users that are written in such a round.
const WRITERS: usize = 16;

pub async fn all(back_end: &dyn BackEnd) {
    belongs_to_one_user(back_end).await;
    is_compared_as_it_is_looked_up(back_end).await;
    is_unique_in_one_bulk(back_end).await;
    becomes_unique_if_no_two_users_share_it(back_end).await;
    goes_to_one_racer(back_end).await;
    stays_unique_while_the_schema_changes(back_end).await;
}

/// Settings by which `number` and `badge` are unique, and `team` is not.
pub(super) fn unique() -> IssuerSettings {
    settings(json!([
        { "name": "number", "type": "string", "unique": true },
        { "name": "badge", "type": "number", "unique": true },
        { "name": "team", "type": "string" },
    ]))
}

/// The same attributes, none of them unique.
fn plain() -> IssuerSettings {
    settings(json!([{ "name": "number", "type": "string" }, { "name": "badge", "type": "number" }]))
}

fn settings(attributes: Value) -> IssuerSettings {
    IssuerSettings { attributes: serde_json::from_value(attributes).unwrap(), ..IssuerSettings::default() }
}

pub(super) fn user(id: &str, attributes: Value, now: Timestamp) -> User {
    let mut user = sample::user(id, None, now);
    user.profile.attributes = serde_json::from_value(attributes).unwrap();
    user
}

async fn open(back_end: &dyn BackEnd, name: &str, settings: IssuerSettings) -> Scene {
    let scene = Scene::open(back_end, name).await;
    for id in ["one", "two"] {
        let created = scene.store.create_issuer(issuer(id, scene.now), settings.clone()).await;
        assert_eq!(created.unwrap(), Created::Created);
    }
    scene
}

/// The ids of the users with a value.
pub(super) async fn found(store: &dyn Store, issuer: &IssuerId, name: &str, value: Value) -> Vec<String> {
    let attribute = (AttributeName::parse(name).unwrap(), AttributeValue::try_from(value).unwrap());
    let filter = UserFilter { attribute: Some(attribute), ..UserFilter::default() };
    let listed = store.list_users(issuer, &filter, &page(1, 10)).await.unwrap();
    assert_eq!(listed.total, listed.items.len() as u64);
    let next = store.next_users(issuer, &filter, None, 10).await.unwrap();
    assert_eq!(next.len(), listed.items.len());
    listed.items.iter().map(|user| user.id.to_string()).collect()
}

async fn belongs_to_one_user(back_end: &dyn BackEnd) {
    let scene = open(back_end, "attribute", unique()).await;
    let Scene { store, issuer, other, now, .. } = &scene;
    let ann = user("ann", json!({ "number": "E-1", "badge": 7, "team": "blue" }), *now);
    assert_eq!(store.create_user(issuer, ann.clone(), None).await.unwrap(), Created::Created);
    for taken in [json!({ "number": "E-1" }), json!({ "number": "E-2", "badge": 7 })] {
        let bob = user("bob", taken, *now);
        assert_eq!(store.create_user(issuer, bob, None).await.unwrap(), Created::Exists);
        assert!(store.user(issuer, &UserId::trusted("bob")).await.unwrap().is_none());
    }
    assert!(found(&**store, issuer, "number", json!("E-2")).await.is_empty(), "of a user who was refused");
    // What is not unique may be shared, and another issuer has users of its own.
    let bob = user("bob", json!({ "number": "E-2", "team": "blue" }), *now);
    assert_eq!(store.create_user(issuer, bob.clone(), None).await.unwrap(), Created::Created);
    assert_eq!(store.create_user(other, ann.clone(), None).await.unwrap(), Created::Created);

    let mut moved = user("bob", json!({ "number": "E-1" }), *now);
    moved.updated_at = *now + Duration::from_millis(1);
    assert!(matches!(store.update_user(issuer, moved.clone(), *now).await, Err(StoreError::Conflict)));
    assert_eq!(store.user(issuer, &bob.id).await.unwrap().as_deref(), Some(&bob));
    assert_eq!(
        found(&**store, issuer, "number", json!("E-2")).await,
        ["bob"],
        "a refused change changes nothing"
    );
    moved.profile.attributes = serde_json::from_value(json!({ "number": "E-3", "badge": 8 })).unwrap();
    assert!(store.update_user(issuer, moved.clone(), *now).await.unwrap());
    for (value, whose) in [("E-1", &["ann"][..]), ("E-2", &[]), ("E-3", &["bob"])] {
        assert_eq!(found(&**store, issuer, "number", json!(value)).await, whose, "{value}");
    }
    assert_eq!(found(&**store, issuer, "badge", json!(7.0)).await, ["ann"]);
    assert!(found(&**store, issuer, "team", json!("blue")).await.is_empty(), "it is not unique");
    assert!(found(&**store, issuer, "badge", json!("E-3")).await.is_empty());

    // The value that bob gave up, and that of a user who is deleted, are free.
    assert_eq!(
        store.create_user(issuer, user("cat", json!({ "number": "E-2" }), *now), None).await.unwrap(),
        Created::Created
    );
    assert!(store.delete_user(issuer, &ann.id).await.unwrap());
    assert!(found(&**store, issuer, "number", json!("E-1")).await.is_empty());
    assert_eq!(found(&**store, other, "number", json!("E-1")).await, ["ann"]);
    assert_eq!(
        store
            .create_user(issuer, user("dan", json!({ "number": "E-1", "badge": 7 }), *now), None)
            .await
            .unwrap(),
        Created::Created
    );
    // A user who loses all attributes holds none any more.
    let seen = moved.updated_at;
    moved.profile.attributes.clear();
    moved.updated_at = seen + Duration::from_millis(1);
    assert!(store.update_user(issuer, moved, seen).await.unwrap());
    assert!(found(&**store, issuer, "badge", json!(8)).await.is_empty());
}

async fn is_compared_as_it_is_looked_up(back_end: &dyn BackEnd) {
    let scene = open(back_end, "attribute-form", unique()).await;
    let Scene { store, issuer, now, .. } = &scene;
    // Longer than an index of a database takes.
    let long = "\u{c4}".repeat(2_000);
    for (id, value) in [("a", "\u{c4}-1"), ("b", &long), ("c", "%")] {
        let created = store.create_user(issuer, user(id, json!({ "number": value }), *now), None).await;
        assert_eq!(created.unwrap(), Created::Created, "{id}");
    }
    for (value, whose) in [("A\u{308}-1", "a"), ("\u{e4}-1", "a"), (&long.to_lowercase(), "b"), ("%", "c")] {
        assert_eq!(found(&**store, issuer, "number", json!(value)).await, [whose]);
        let twin = user("twin", json!({ "number": value }), *now);
        assert_eq!(store.create_user(issuer, twin, None).await.unwrap(), Created::Exists);
    }
    assert!(found(&**store, issuer, "number", json!("a\u{0}")).await.is_empty());
}

async fn is_unique_in_one_bulk(back_end: &dyn BackEnd) {
    let scene = open(back_end, "attribute-bulk", unique()).await;
    let Scene { store, issuer, now, .. } = &scene;
    let users = [
        ("z", json!({ "number": "1" })),
        ("y", json!({ "number": "1" })),
        ("x", json!({ "number": "2", "badge": 1 })),
        ("w", json!({ "number": "3", "badge": 1 })),
        ("v", json!({ "number": "3" })),
        ("u", json!({})),
    ];
    let users = users.map(|(id, attributes)| (user(id, attributes, *now), None));
    let created = store.create_users(issuer, users.into()).await.unwrap();
    use Created::{Created as C, Exists as E};
    assert_eq!(created, [C, E, C, E, C, C], "of two with one value the first is created");
    assert_eq!(found(&**store, issuer, "number", json!("3")).await, ["v"]);
    // A user who is refused for an attribute leaves the address free.
    let mut late = user("late", json!({ "number": "1" }), *now);
    late.email = Some("late@example.com".to_owned());
    let mut later = user("later", json!({}), *now);
    later.email.clone_from(&late.email);
    let created = store.create_users(issuer, vec![(late, None), (later, None)]).await.unwrap();
    assert_eq!(created, [E, C]);
}

async fn put(store: &dyn Store, issuer: &IssuerId, settings: IssuerSettings) -> SettingsUpdate {
    let seen = store.settings(issuer).await.unwrap();
    store.put_settings(issuer, &seen, settings).await.unwrap()
}

async fn becomes_unique_if_no_two_users_share_it(back_end: &dyn BackEnd) {
    let scene = open(back_end, "attribute-schema", plain()).await;
    let Scene { store, issuer, now, .. } = &scene;
    let people = [("ann", "E-1", 1), ("bob", "e-1", 2), ("cat", "E-2", 3)];
    for (id, number, badge) in people {
        let user = user(id, json!({ "number": number, "badge": badge }), *now);
        assert_eq!(store.create_user(issuer, user, None).await.unwrap(), Created::Created);
    }
    let SettingsUpdate::NotUnique { attribute, users } = put(&**store, issuer, unique()).await else {
        panic!("two users have E-1")
    };
    let mut users = users.map(|user| user.to_string());
    users.sort_unstable();
    assert_eq!((attribute.as_str(), users), ("number", ["ann".to_owned(), "bob".to_owned()]));
    assert_eq!(store.settings(issuer).await.unwrap(), plain(), "nothing was written");
    assert!(found(&**store, issuer, "badge", json!(1)).await.is_empty());

    let mut bob = user("bob", json!({ "number": "E-3", "badge": 2 }), *now);
    bob.updated_at = *now + Duration::from_millis(1);
    assert!(store.update_user(issuer, bob, *now).await.unwrap());
    assert_eq!(put(&**store, issuer, unique()).await, SettingsUpdate::Written);
    assert_eq!(store.settings(issuer).await.unwrap(), unique());
    assert_eq!(found(&**store, issuer, "number", json!("e-3")).await, ["bob"]);
    assert_eq!(found(&**store, issuer, "badge", json!(3)).await, ["cat"]);
    let taken = user("dan", json!({ "number": "E-2" }), *now);
    assert_eq!(store.create_user(issuer, taken.clone(), None).await.unwrap(), Created::Exists);

    // Values of another type are not compared.
    let dates = settings(json!([{ "name": "number", "type": "date", "unique": true }]));
    assert_eq!(put(&**store, issuer, dates).await, SettingsUpdate::Written);
    assert!(found(&**store, issuer, "number", json!("E-2")).await.is_empty());
    assert_eq!(store.create_user(issuer, taken, None).await.unwrap(), Created::Created);
    // Without the definition nothing is unique, and the values stay.
    assert_eq!(put(&**store, issuer, IssuerSettings::default()).await, SettingsUpdate::Written);
    let dan = store.user(issuer, &UserId::trusted("dan")).await.unwrap().unwrap();
    assert_eq!(json!(dan.profile.attributes), json!({ "number": "E-2" }));
    assert!(matches!(put(&**store, issuer, unique()).await, SettingsUpdate::NotUnique { .. }));
}

async fn goes_to_one_racer(back_end: &dyn BackEnd) {
    let scene = open(back_end, "attribute-race", unique()).await;
    race_record_for_one("create_user with an attribute", |round, racer| {
        let (store, issuer) = (Arc::clone(&scene.store), scene.issuer.clone());
        let user = user(&format!("u-{round}-{racer}"), json!({ "number": format!("{round}") }), scene.now);
        async move { store.create_user(&issuer, user, None).await.unwrap() == Created::Created }
    })
    .await;
}

/// Users with one value are created, changed and deleted while the attribute becomes unique: either the schema is refused,
/// or one user at most has the value, and the index knows exactly that one.
async fn stays_unique_while_the_schema_changes(back_end: &dyn BackEnd) {
    let scene = open(back_end, "attribute-schema-race", plain()).await;
    let Scene { store, issuer, now, .. } = &scene;
    for round in 0..SCHEMA_ROUNDS {
        let value = format!("R-{round}");
        let first = user(&format!("r-{round}-first"), json!({ "number": value }), *now);
        assert_eq!(store.create_user(issuer, first, None).await.unwrap(), Created::Created);
        let mut writers = JoinSet::new();
        for writer in 0..WRITERS {
            let (store, issuer, now, value) = (Arc::clone(store), issuer.clone(), *now, value.clone());
            writers.spawn(async move { write(&*store, &issuer, (round, writer), &value, now).await });
        }
        let schema = put(&**store, issuer, unique()).await;
        while let Some(written) = writers.join_next().await {
            written.unwrap();
        }
        let all = holders(&**store, issuer, &value).await;
        match schema {
            SettingsUpdate::Written => {
                assert!(all.len() <= 1, "round {round}: {all:?} have {value}");
                assert_eq!(found(&**store, issuer, "number", json!(value)).await, all, "round {round}");
                assert_eq!(put(&**store, issuer, plain()).await, SettingsUpdate::Written);
            }
            SettingsUpdate::NotUnique { .. } => {
                assert_eq!(store.settings(issuer).await.unwrap(), plain());
            }
        }
        // The next round begins without two users who share a value.
        for id in all {
            assert!(store.delete_user(issuer, &UserId::trusted(id)).await.unwrap());
        }
    }
}

/// One of the writes that race with the schema: a new user with the value, another's change to it, or the end of the user who
/// had it first.
async fn write(
    store: &dyn Store,
    issuer: &IssuerId,
    (round, writer): (usize, usize),
    value: &str,
    now: Timestamp,
) {
    let id = format!("r-{round}-{writer}");
    match writer % 4 {
        0 => {
            store.create_user(issuer, user(&id, json!({ "number": value }), now), None).await.unwrap();
        }
        1 => {
            let own = user(&id, json!({ "number": format!("own {id}") }), now);
            assert_eq!(store.create_user(issuer, own, None).await.unwrap(), Created::Created);
            let mut changed = user(&id, json!({ "number": value }), now);
            changed.updated_at = now + Duration::from_millis(1);
            match store.update_user(issuer, changed, now).await {
                Ok(true) | Err(StoreError::Conflict) => {}
                other => panic!("{other:?}"),
            }
            store.delete_user(issuer, &UserId::trusted(id)).await.unwrap();
        }
        2 => {
            store.delete_user(issuer, &UserId::trusted(format!("r-{round}-first"))).await.unwrap();
        }
        _ => tokio::task::yield_now().await,
    }
}

/// Everybody whose record has a value, whatever the index says.
async fn holders(store: &dyn Store, issuer: &IssuerId, value: &str) -> Vec<String> {
    let all = store.next_users(issuer, &UserFilter::default(), None, 1_000).await.unwrap();
    let has = |user: &&Arc<User>| {
        user.profile.attributes.get("number") == Some(&AttributeValue::Text(value.to_owned()))
    };
    all.iter().filter(has).map(|user| user.id.to_string()).collect()
}
