//! Users and their passwords.

use std::sync::Arc;
use std::time::Duration;

use symbolon_protocol::consent::Consent;
use symbolon_protocol::id::{ClientId, UserId};
use symbolon_protocol::scope::Scope;
use symbolon_protocol::user::{PasswordHash, User};

use super::sample::{self, HOUR, page, search, user};
use super::{BackEnd, Scene, race_record_for_one};
use crate::StoreError;
use crate::port::{Created, UserFilter};

pub async fn all(back_end: &dyn BackEnd) {
    has_an_address_of_its_own(back_end).await;
    is_found_by_login(back_end).await;
    leaves_nothing_behind(back_end).await;
    belongs_to_one_issuer(back_end).await;
    is_listed_and_filtered(back_end).await;
    comes_once_while_others_come_and_go(back_end).await;
    has_its_hash_listed(back_end).await;
    an_address_goes_to_one_racer(back_end).await;
}

fn id(text: &str) -> UserId {
    UserId::parse(text).unwrap()
}

fn password(text: &str) -> PasswordHash {
    PasswordHash::new(text.to_owned())
}

async fn has_an_address_of_its_own(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "user").await;
    let Scene { store, issuer, now, .. } = &scene;
    let ann = user("ann", Some("Ann@Example.com"), *now);
    assert!(store.user(issuer, &id("ann")).await.unwrap().is_none());
    assert_eq!(store.create_user(issuer, ann.clone(), None).await.unwrap(), Created::Created);
    assert_eq!(store.user(issuer, &id("ann")).await.unwrap().as_deref(), Some(&ann));
    for taken in [user("ann", None, *now), user("bob", Some("aNN@example.COM"), *now)] {
        assert_eq!(store.create_user(issuer, taken, Some(password("x"))).await.unwrap(), Created::Exists);
    }
    assert!(store.user_by_login(issuer, "ann@example.com").await.unwrap().unwrap().1.is_none());
    assert!(store.user(issuer, &id("bob")).await.unwrap().is_none());

    let several = vec![
        (user("bob", Some("bob@example.com"), *now), Some(password("hash"))),
        (user("eve", Some("BOB@example.com"), *now), None),
        (user("cat", None, *now), None),
        (user("dan", None, *now), None),
    ];
    let created = store.create_users(issuer, several).await.unwrap();
    assert_eq!(created, [Created::Created, Created::Exists, Created::Created, Created::Created]);

    let mut moved = user("bob", Some("ann@EXAMPLE.com"), *now);
    moved.updated_at = *now + Duration::from_millis(1);
    let taken = store.update_user(issuer, moved.clone(), *now).await;
    assert!(matches!(taken, Err(StoreError::Conflict)));
    moved.email = Some("Bob@example.com".to_owned());
    assert!(store.update_user(issuer, moved.clone(), *now).await.unwrap());
    assert!(matches!(store.update_user(issuer, moved.clone(), *now).await, Err(StoreError::Conflict)));
    assert_eq!(store.user(issuer, &id("bob")).await.unwrap().as_deref(), Some(&moved));
    assert!(!store.update_user(issuer, user("nobody", None, *now), *now).await.unwrap());
}

async fn is_found_by_login(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "user-login").await;
    let Scene { store, issuer, now, .. } = &scene;
    let mut ann = user("ann", Some("ann@example.com"), *now);
    ann.profile.preferred_username = Some("Änn".to_owned());
    store.create_user(issuer, ann.clone(), Some(password("secret"))).await.unwrap();
    // A name that looks like another user's address does not take over that user's sign-in.
    let mut eve = user("eve", None, *now - Duration::from_secs(9));
    eve.profile.preferred_username = Some("ann@example.com".to_owned());
    store.create_user(issuer, eve, Some(password("evil"))).await.unwrap();
    for login in ["ann@example.com", "ANN@example.com", "änn", "ÄNN", "A\u{308}NN", "\u{ff41}nn@example.com"]
    {
        let (found, hash) = store.user_by_login(issuer, login).await.unwrap().expect(login);
        assert_eq!((*found).clone(), ann, "{login}");
        assert_eq!(hash.unwrap().expose(), "secret");
    }
    assert!(store.user_by_login(issuer, "ann").await.unwrap().is_none(), "an id is no login");
    // One address in two spellings is the same address; the stored text keeps its spelling.
    let zoe = user("zoe", Some("Zo\u{eb}@example.com"), *now);
    assert_eq!(store.create_user(issuer, zoe.clone(), None).await.unwrap(), Created::Created);
    let twin = user("twin", Some("zoe\u{308}@example.com"), *now);
    assert_eq!(store.create_user(issuer, twin, None).await.unwrap(), Created::Exists);
    let (found, _) = store.user_by_login(issuer, "ZOE\u{308}@example.com").await.unwrap().unwrap();
    assert_eq!(*found, zoe);
    assert!(store.set_password(issuer, &id("ann"), Some(password("newer"))).await.unwrap());
    let (_, hash) = store.user_by_login(issuer, "änn").await.unwrap().unwrap();
    assert_eq!(hash.unwrap().expose(), "newer");
    let rehash =
        async |seen| store.rehash_password(issuer, &id("ann"), &password(seen), password("again")).await;
    assert!(!rehash("secret").await.unwrap(), "it was changed meanwhile");
    assert!(rehash("newer").await.unwrap());
    assert!(!rehash("newer").await.unwrap());
    let (_, hash) = store.user_by_login(issuer, "änn").await.unwrap().unwrap();
    assert_eq!(hash.unwrap().expose(), "again");
    assert!(store.set_password(issuer, &id("ann"), None).await.unwrap());
    assert!(!rehash("again").await.unwrap(), "it was removed meanwhile");
    assert!(store.user_by_login(issuer, "änn").await.unwrap().unwrap().1.is_none());
    assert!(!store.set_password(issuer, &id("nobody"), Some(password("x"))).await.unwrap());
}

async fn leaves_nothing_behind(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "user-delete").await;
    let Scene { store, issuer, now, .. } = &scene;
    let client = ClientId::parse("client").unwrap();
    store.create_client(issuer, sample::client("client", *now)).await.unwrap();
    store.create_user(issuer, user("ann", Some("ann@example.com"), *now), Some(password("x"))).await.unwrap();
    let consent = Consent::new(Scope::parse("openid").unwrap(), *now);
    assert!(store.allow(issuer, &id("ann"), &client, consent.into()).await.unwrap());
    assert!(store.user(issuer, &id("ann")).await.unwrap().is_some());
    assert!(store.delete_user(issuer, &id("ann")).await.unwrap());
    assert!(!store.delete_user(issuer, &id("ann")).await.unwrap());
    assert!(store.user(issuer, &id("ann")).await.unwrap().is_none());
    assert!(store.user_by_login(issuer, "ann@example.com").await.unwrap().is_none());
    assert!(store.consent(issuer, &id("ann"), &client).await.unwrap().is_none());
    store.create_user(issuer, user("ann", Some("ann@example.com"), *now), None).await.unwrap();
    assert!(store.user_by_login(issuer, "ann@example.com").await.unwrap().unwrap().1.is_none());
}

async fn belongs_to_one_issuer(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "user-issuers").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    let ann = user("ann", Some("ann@example.com"), *now);
    store.create_user(issuer, ann.clone(), Some(password("x"))).await.unwrap();
    assert!(store.user(issuer, &id("ann")).await.unwrap().is_some());
    assert!(store.user(other, &id("ann")).await.unwrap().is_none());
    assert!(store.user_by_login(other, "ann@example.com").await.unwrap().is_none());
    assert!(!store.update_user(other, ann.clone(), *now).await.unwrap());
    assert!(!store.set_password(other, &id("ann"), None).await.unwrap());
    assert!(!store.delete_user(other, &id("ann")).await.unwrap());
    assert_eq!(store.list_users(other, &UserFilter::default(), &page(1, 9)).await.unwrap().total, 0);
    assert_eq!(store.create_user(other, ann, None).await.unwrap(), Created::Created);
    assert!(store.user_by_login(issuer, "ann@example.com").await.unwrap().unwrap().1.is_some());
}

async fn is_listed_and_filtered(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "user-list").await;
    let Scene { store, issuer, now, .. } = &scene;
    let users = (0..30_u32).map(|n| {
        let email = format!("U{n:02}@Example.com");
        let mut user = user(&format!("id-{n:02}"), Some(&email), *now + n * Duration::from_secs(1));
        user.email_verified = n % 3 == 0;
        (user, None)
    });
    store.create_users(issuer, users.collect()).await.unwrap();
    let all = UserFilter::default();
    let first = store.list_users(issuer, &all, &page(1, 7)).await.unwrap();
    assert_eq!((first.total, first.items.len(), first.items[0].id.as_str()), (30, 7, "id-29"));
    let last = store.list_users(issuer, &all, &page(5, 7)).await.unwrap();
    assert_eq!((last.total, last.items.len(), last.items[1].id.as_str()), (30, 2, "id-00"));
    for (text, total) in [("id-0", 10), ("u1", 10), ("NAME OF ID-2", 10), ("@example", 30), ("_", 0)] {
        let found = store.list_users(issuer, &all, &search(text)).await.unwrap();
        assert_eq!(found.total, total, "{text:?}");
    }
    let by_email = UserFilter { email: Some("u07@EXAMPLE.com".to_owned()), ..UserFilter::default() };
    let found = store.list_users(issuer, &by_email, &page(1, 9)).await.unwrap();
    assert_eq!((found.total, found.items[0].id.as_str()), (1, "id-07"));
    for (id, name) in [("twin-1", "\u{c4}nn"), ("twin-2", "\u{e4}NN"), ("other", "\u{e4}nne")] {
        let mut named = user(id, None, *now);
        named.profile.preferred_username = Some(name.to_owned());
        store.create_user(issuer, named, None).await.unwrap();
    }
    for (username, total) in [("\u{c4}NN", 2), ("a\u{308}nn", 2), ("\u{e4}nne", 1), ("id-07", 0), ("%", 0)] {
        let by_name = UserFilter { username: Some(username.to_owned()), ..UserFilter::default() };
        assert_eq!(store.list_users(issuer, &by_name, &page(1, 9)).await.unwrap().total, total, "{username}");
    }
    for (verified, total) in [(true, 10), (false, 20)] {
        let filter = UserFilter { verified: Some(verified), ..UserFilter::default() };
        let found = store.list_users(issuer, &filter, &search("example")).await.unwrap();
        assert_eq!(found.total, total);
    }
}

/// Users who exist while the whole list is read come once.
async fn comes_once_while_others_come_and_go(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "user-next").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    let names: Vec<String> = (0..30_u32).map(|n| format!("u-{n:02}")).collect();
    for issuer in [issuer, other] {
        let of = |id: &String| (User { email_verified: id.ends_with('7'), ..user(id, None, *now) }, None);
        store.create_users(issuer, names.iter().rev().map(of).collect()).await.unwrap();
    }
    let all = UserFilter::default();
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let some = store.next_users(issuer, &all, after.as_ref(), 10).await.unwrap();
        seen.extend(some.iter().map(|user| user.id.to_string()));
        if some.len() < 10 {
            break;
        }
        after = some.last().map(|user| user.id.clone());
        store.create_user(issuer, user("a-new", None, *now + HOUR), None).await.unwrap();
        store.delete_user(issuer, &id("u-03")).await.unwrap();
    }
    assert_eq!(seen, names);
    let verified = UserFilter { verified: Some(true), ..UserFilter::default() };
    let found = store.next_users(issuer, &verified, Some(&id("u-07")), 10).await.unwrap();
    let found: Vec<&str> = found.iter().map(|user| user.id.as_str()).collect();
    assert_eq!(found, ["u-17", "u-27"]);
}

/// Hashes are listed in the order that was asked for, of one issuer, and as they are now.
async fn has_its_hash_listed(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "user-hashes").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    let several =
        ["a", "b", "c"].map(|name| (user(name, None, *now), Some(password(&format!("hash of {name}")))));
    store.create_users(issuer, several.into()).await.unwrap();
    store.create_user(issuer, user("none", None, *now), None).await.unwrap();
    store.create_user(other, user("far", None, *now), Some(password("far"))).await.unwrap();
    assert!(store.set_password(issuer, &id("b"), Some(password("newer"))).await.unwrap());
    assert!(store.set_password(issuer, &id("a"), None).await.unwrap());
    let asked = ["c", "none", "nobody", "far", "b", "a"].map(id);
    let found = store.passwords_of(issuer, &asked).await.unwrap();
    let found: Vec<Option<&str>> = found.iter().map(|hash| hash.as_ref().map(PasswordHash::expose)).collect();
    assert_eq!(found, [Some("hash of c"), None, None, None, Some("newer"), None]);
    assert!(store.passwords_of(issuer, &[]).await.unwrap().is_empty());
}

async fn an_address_goes_to_one_racer(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "user-race").await;
    race_record_for_one("create_user", |round, racer| {
        let (store, issuer) = (Arc::clone(&scene.store), scene.issuer.clone());
        let user = user(&format!("u-{round}-{racer}"), Some(&format!("u{round}@example.com")), scene.now);
        async move { store.create_user(&issuer, user, None).await.unwrap() == Created::Created }
    })
    .await;
}
