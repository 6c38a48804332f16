//! Who was given which role, read as a whole.

use super::sample::{client, given_to_group, given_to_user, group, role, user};
use super::{BackEnd, Scene};

pub async fn all(back_end: &dyn BackEnd) {
    is_read_once_whatever_changes(back_end).await;
}

async fn is_read_once_whatever_changes(back_end: &dyn BackEnd) {
    let scene = Scene::open(back_end, "given-role-next").await;
    let Scene { store, issuer, other, now, .. } = &scene;
    for issuer in [issuer, other] {
        store.create_client(issuer, client("app", *now)).await.unwrap();
        let users = vec![(user("ann", None, *now), None), (user("bob", None, *now), None)];
        store.create_users(issuer, users).await.unwrap();
        store.create_groups(issuer, vec![group("g", "", *now)]).await.unwrap();
        let roles = vec![role("r", "r", "", *now), role("s", "s", "app", *now), role("t", "t", "", *now)];
        store.create_roles(issuer, roles).await.unwrap();
    }
    let all = [
        given_to_group("t", "g"),
        given_to_user("s", "bob"),
        given_to_user("s", "ann"),
        given_to_group("r", "g"),
    ];
    store.give_roles(issuer, all.to_vec()).await.unwrap();
    store.give_role(other, given_to_user("r", "ann")).await.unwrap();
    for limit in [1, 2, 3, 1_000] {
        let (mut seen, mut after) = (Vec::new(), None);
        loop {
            let some = store.next_given_roles(issuer, after.as_ref(), limit).await.unwrap();
            seen.extend(some.clone());
            if some.len() < limit as usize {
                break;
            }
            after = some.into_iter().next_back();
            // In front of the position of the listing.
            store.give_role(issuer, given_to_user("r", "ann")).await.unwrap();
        }
        store.take_role(issuer, given_to_user("r", "ann")).await.unwrap();
        let expected = [
            given_to_user("s", "ann"),
            given_to_user("s", "bob"),
            given_to_group("r", "g"),
            given_to_group("t", "g"),
        ];
        assert_eq!(seen, expected, "limit {limit}");
    }
    assert_eq!(store.next_given_roles(other, None, 10).await.unwrap(), [given_to_user("r", "ann")]);
}
