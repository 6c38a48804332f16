use symbolon_crypto::random::SeededRandom;
use symbolon_protocol::family::FamilyId;
use symbolon_protocol::grant::GrantId;
use symbolon_protocol::id::{ClientId, Sid};
use symbolon_protocol::scope::Scope;
use symbolon_protocol::session::{Amr, AuthenticationMethod};
use symbolon_store::port::{Issuers, RefreshTokens, Shards, Users};
use symbolon_store::shard::ShardKind;
use symbolon_store::{Store, contract::sample};

use super::*;
use crate::journal::{Op, Table};
use crate::open::tests::options;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

fn family(issuer: &IssuerId, user: &str, random: &SeededRandom) -> Family {
    Family {
        grant: GrantId::draw(issuer, user, NOW, random),
        client: ClientId::trusted("app"),
        user: UserId::trusted(user),
        sid: Some(Sid::trusted("1_2_AAAAAAAAAAAAAAAAAAAAAA")),
        scope: Scope::parse("openid").unwrap(),
        auth_time: NOW,
        amr: Amr::of(AuthenticationMethod::Pwd),
        version: 1,
        created_at: NOW,
        rotated_at: NOW,
        idle_expires_at: NOW + sample::HOUR,
        expires_at: NOW + 24 * sample::HOUR,
        binding: None,
        resources: Vec::new(),
        authorization_details: Default::default(),
    }
}

async fn listed(store: &EmbeddedStore, issuer: &IssuerId, user: &str) -> usize {
    let found = store.next_families_of(issuer, &UserId::trusted(user), None, 100, NOW).await.unwrap();
    found.items.len()
}

/// Begins a family as a version without lists did.
async fn begin_unlisted(store: &EmbeddedStore, issuer: &IssuerId, id: &FamilyId, family: Family) {
    let by_user =
        super::super::user_key(issuer, &family.user, &symbolon_store::shard::family_key(issuer, id));
    drop(store.begin_family(issuer, id, family.into()).await.unwrap());
    store.journal.append([Op::remove(Table::FamiliesOfUser, &by_user), forget_lists()]);
    store.journal.flush().await;
}

#[tokio::test]
async fn families_of_before_the_lists_are_on_them_after_the_next_start() {
    let directory = tempfile::tempdir().unwrap();
    let random = SeededRandom::new(7);
    let [one, two] = ["one", "two"].map(|id| IssuerId::parse(id).unwrap());
    let store = EmbeddedStore::open(options(directory.path())).unwrap();
    for issuer in [&one, &two] {
        store.create_issuer(sample::issuer(issuer.as_str(), NOW), Default::default()).await.unwrap();
        store.create_user(issuer, sample::user("ann", None, NOW), None).await.unwrap();
    }
    for (issuer, times) in [(&one, 3), (&two, 1)] {
        for _ in 0..times {
            let id = store.place(ShardKind::Refresh).draw_family(NOW, &random);
            begin_unlisted(&store, issuer, &id, family(issuer, "ann", &random)).await;
        }
    }
    assert_eq!(listed(&store, &one, "ann").await, 0);
    store.close().await.unwrap();
    drop(store);
    let store = EmbeddedStore::open(options(directory.path())).unwrap();
    assert_eq!((listed(&store, &one, "ann").await, listed(&store, &two, "ann").await), (3, 1));
    // Once: the next start does not read them all again.
    let id = store.place(ShardKind::Refresh).draw_family(NOW, &random);
    let by_user =
        super::super::user_key(&one, &UserId::trusted("ann"), &symbolon_store::shard::family_key(&one, &id));
    drop(store.begin_family(&one, &id, family(&one, "ann", &random).into()).await.unwrap());
    store.journal.append([Op::remove(Table::FamiliesOfUser, &by_user)]);
    store.close().await.unwrap();
    drop(store);
    let store = EmbeddedStore::open(options(directory.path())).unwrap();
    assert_eq!(listed(&store, &one, "ann").await, 3);
}

/// A family's list entry is removed with the family, and a rotation does not write to the list.
#[tokio::test]
async fn a_list_is_written_when_a_family_begins_and_when_it_ends() {
    let directory = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(options(directory.path())).unwrap();
    let (issuer, random) = (IssuerId::default_issuer(), SeededRandom::new(7));
    let id = store.place(ShardKind::Refresh).draw_family(NOW, &random);
    let entries = async || {
        store.journal.flush().await;
        store.journal.scan(Table::FamiliesOfUser, ..).unwrap().count()
    };
    let begun = family(&issuer, "ann", &random);
    drop(store.begin_family(&issuer, &id, begun.clone().into()).await.unwrap());
    assert_eq!(entries().await, 1);
    let before = store.journal.stats();
    drop(store.rotate(&issuer, &id, &sample::rotation(1, NOW)).await.unwrap());
    store.journal.flush().await;
    assert_eq!(store.journal.stats().ops - before.ops, 1);
    let end = symbolon_protocol::revocation::Tombstone::grant(begun.grant, NOW + sample::HOUR);
    drop(store.end_family(&issuer, &id, &end).await.unwrap());
    assert_eq!(entries().await, 0);
}
