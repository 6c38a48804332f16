//! Two nodes, two issuers, and what one of them may take.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use symbolon_crypto::random::SeededRandom;
use symbolon_protocol::authorization_details::AuthorizationDetails;
use symbolon_protocol::client_authentication::AssertionUse;
use symbolon_protocol::code::{AuthorizationCode, CodeGrant};
use symbolon_protocol::device_authorization::DeviceAuthorization;
use symbolon_protocol::id::{ClientId, Jti};
use symbolon_protocol::scope::Scope;
use symbolon_store::Outcome;
use symbolon_store::contract::sample;
use symbolon_store::port::{Assertions, Codes, DeviceAuthorizations, EmailCodes, Redemption, Store, Use};

use super::*;
use crate::engines::{RedisCluster, RedisServerOptions};
use crate::testing::{NOW, Place, code_grant, used_memory};

/// Two nodes of an installation with two issuers, of which one may take half.
async fn nodes(place: &Place) -> [Arc<ClusterStore>; 2] {
    let nodes = [place.open().await, place.open().await];
    nodes.iter().for_each(|node| node.figures().share_rooms(2, 50));
    nodes
}

fn issuers() -> [IssuerId; 2] {
    ["default", "acme"].map(|id| IssuerId::parse(id).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_issuers_codes_leave_as_much_free_as_they_take_whichever_node_keeps_them() {
    let redis = RedisCluster::start(RedisServerOptions::default());
    let place = Place::on(&redis, "shared-codes");
    let (nodes, [first, second], random) = (nodes(&place).await, issuers(), SeededRandom::new(1));
    let keep = async |node: usize, issuer: &IssuerId| -> Result<AuthorizationCode, StoreError> {
        let nonce = Some("n".repeat(2_000));
        let grant = CodeGrant { nonce, ..code_grant(issuer, &random, place.now()) };
        nodes[node].keep_code(issuer, grant, place.now(), &random).await
    };
    // Once, so that all scripts, buffers and connections are there when the memory is measured.
    for node in [0, 1] {
        keep(node, &first).await.unwrap();
    }
    let free: u64 = 2 << 20;
    let most = (0..3).map(|node| used_memory(&redis, node)).max().unwrap() + free;
    for node in 0..redis.nodes().len() {
        redis.cli(node, &["CONFIG", "SET", "maxmemory", &(most / 3 * 4).to_string()]);
    }
    let mut kept = Vec::new();
    for turn in 0.. {
        assert!(turn < 4_000, "it took all that there is");
        let Ok(code) = keep(turn % 2, &first).await else { break };
        kept.push(code);
    }
    let bytes = kept.len() as u64 * 2_600;
    assert!((free / 2..free * 2).contains(&bytes), "{} codes, about half of 6 MiB: {bytes}", kept.len());
    let refused = || nodes.iter().map(|node| node.figures().code_room().snapshot().refused).sum::<u64>();
    assert_eq!(refused(), 1);
    for node in [0, 1] {
        let mut late = 0;
        while keep(node, &first).await.is_ok() {
            late += 1;
            assert!(late <= ADD_EVERY, "node {node} does not hear of the other's");
        }
        let code = keep(node, &second).await.unwrap();
        let at = nodes[node].code(&second, &code, NOW).await.unwrap().unwrap().at;
        assert_eq!(nodes[node].redeem_code(&at, NOW).await.unwrap(), Redemption::Redeemed);
    }
    // What was kept before can be redeemed, and stays for it: the share is still used up after the codes' minute.
    for code in &kept {
        let at = nodes[0].code(&first, code, NOW).await.unwrap().unwrap().at;
        assert_eq!(nodes[0].redeem_code(&at, NOW).await.unwrap(), Redemption::Redeemed);
    }
    place.advance(Duration::from_secs(180));
    let room = nodes[0].figures().code_room();
    let share = room.share_of(first.as_str());
    drop(keep(0, &first).await);
    assert!(room.bytes_of(share) >= bytes / 2, "{} of {bytes}", room.bytes_of(share));
    // And is free when they have gone, by the clock of the nodes.
    place.advance(Duration::from_secs(1_200));
    keep(0, &first).await.unwrap();
    assert!(room.bytes_of(share) < 10_000, "{}", room.bytes_of(share));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_issuers_marks_leave_room_for_those_of_others_whichever_node_sets_them() {
    let place = Place::new("shared-marks");
    let (nodes, [first, second]) = (nodes(&place).await, issuers());
    for node in &nodes {
        node.figures().assertion_room().set_most(1_000 * ASSERTION_MARK);
    }
    let used = |jti: &str| -> AssertionUse {
        let client = ClientId::parse("app").unwrap();
        sample::assertion_use(&client, &Jti::parse(jti).unwrap(), place.now() + Duration::from_secs(60))
    };
    let set = async |node: usize, issuer: &IssuerId, jti: &str| {
        nodes[node].use_assertion(issuer, &used(jti)).await.map(Outcome::in_memory)
    };
    let mut taken = 0_usize;
    while set(taken % 2, &first, &format!("mark-{taken}")).await.is_ok() {
        taken += 1;
        assert!(taken < 1_000, "it took everything");
    }
    // Each node may be 63 marks of the other behind.
    assert!((500..=630).contains(&taken), "{taken} of 1,000");
    assert_eq!(set(0, &second, "another").await.unwrap(), Use::First);
    assert_eq!(set(1, &second, "another").await.unwrap(), Use::Replayed);
    place.advance(Duration::from_secs(1_200));
    for node in [0, 1] {
        assert_eq!(set(node, &first, &format!("later-{node}")).await.unwrap(), Use::First);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_issuers_codes_by_email_leave_room_for_those_of_others() {
    let place = Place::new("shared-email-codes");
    let (nodes, [first, second]) = (nodes(&place).await, issuers());
    for node in &nodes {
        node.figures().email_code_room().set_most(1_000 * EMAIL_CODE);
    }
    let attempt = async |node: usize, issuer: &IssuerId, id: &str| {
        let end = place.now() + Duration::from_secs(60);
        nodes[node].try_email_code(issuer, (id, end), false).await.map(Outcome::in_memory)
    };
    let mut taken = 0_usize;
    while attempt(taken % 2, &first, &format!("code-{taken}")).await.is_ok() {
        // A code is counted once, however often it is tried.
        attempt(taken % 2, &first, &format!("code-{taken}")).await.unwrap();
        taken += 1;
        assert!(taken < 1_000, "it took everything");
    }
    assert!((500..=630).contains(&taken), "{taken} of 1,000");
    attempt(0, &second, "another").await.unwrap();
    attempt(1, &second, "another").await.unwrap();
    place.advance(Duration::from_secs(1_200));
    for node in [0, 1] {
        attempt(node, &first, &format!("later-{node}")).await.unwrap();
    }
}

/// Polls a request once, as if its connection closed then: what it asks of an engine goes on.
async fn give_up(request: impl Future) {
    let mut request = pin!(request);
    poll_fn(|context| {
        drop(request.as_mut().poll(context));
        Poll::Ready(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_requests_store_that_were_given_up_counts() {
    const GIVEN_UP: u64 = 100;
    let place = Place::new("given-up");
    let ([node, _], [first, _], random) = (nodes(&place).await, issuers(), SeededRandom::new(1));
    let client = ClientId::parse("app").unwrap();
    let end = place.now() + Duration::from_secs(60);
    for number in 0..GIVEN_UP {
        let jti = Jti::parse(&format!("jti-{number}")).unwrap();
        give_up(node.use_assertion(&first, &sample::assertion_use(&client, &jti, end))).await;
        give_up(node.try_email_code(&first, (&number.to_string(), end), false)).await;
        give_up(node.keep_code(&first, code_grant(&first, &random, place.now()), place.now(), &random)).await;
    }
    let figures = node.figures();
    let rooms = [
        (figures.assertion_room(), ASSERTION_MARK),
        (figures.email_code_room(), EMAIL_CODE),
        (figures.code_room(), BESIDE_GRANT),
    ];
    // A look at the hash may come between, and what is not yet added to it is left out then.
    let least = GIVEN_UP - u64::from(ADD_EVERY);
    for (room, bytes) in rooms {
        let share = room.share_of(first.as_str());
        for _ in 0..1_000 {
            if room.bytes_of(share) >= least * bytes {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(room.bytes_of(share) >= least * bytes, "{} of {bytes} each", room.bytes_of(share));
    }
}

#[test]
fn what_stays_long_is_counted_by_days_and_all_else_by_minutes() {
    let now = Timestamp::from_millis(1_000 * DAY * MINUTE);
    let at = |minutes: u64| minute((now + Duration::from_secs(minutes * 60)).millis(), now) - 1_000 * DAY;
    assert_eq!([at(0), at(1), at(16), at(60), at(62), at(DAY + 1)], [1, 1, 16, 60, DAY, 2 * DAY]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_asks_for_devices_without_end_keeps_no_other_out_whichever_node_it_asks() {
    let place = Place::new("shared-devices");
    let nodes = [place.open().await, place.open().await];
    let (issuer, random) = (IssuerId::default_issuer(), SeededRandom::new(1));
    for node in &nodes {
        node.shares.of_clients(OfClients::DeviceAuthorizations).room.set_most(1 << 20);
    }
    let ask = async |node: usize, client: &str| {
        let (client, scope) = (ClientId::parse(client).unwrap(), Scope::parse("openid").unwrap());
        let asked = DeviceAuthorization {
            client,
            scope,
            authorization_details: AuthorizationDetails::NONE,
            expires_at: place.now() + Duration::from_secs(600),
        };
        nodes[node].keep_device_authorization(&issuer, asked, place.now(), &random).await
    };
    let mut taken = 0_usize;
    while ask(taken % 2, "loud").await.is_ok() {
        taken += 1;
        assert!(taken < 1_400, "it took everything");
    }
    // Half a MiB of 800 bytes each; each node may be 63 of the other behind.
    assert!((500..=900).contains(&taken), "{taken}");
    for node in [0, 1] {
        ask(node, "quiet").await.unwrap();
    }
    place.advance(Duration::from_secs(1_200));
    for node in [0, 1] {
        ask(node, "loud").await.unwrap();
    }
}
