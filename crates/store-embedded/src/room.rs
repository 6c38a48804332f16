//! Memory bounds of authorization codes, login challenges, marks of client assertions, codes by e-mail, pushed requests, what devices
//! ask for and what clients ask people for, one for each kind. A record
//! beyond the bound is refused. No stored record is removed for it, because stored records still protect users and
//! clients: without its mark, for example, an assertion could be used again.

use symbolon_figures::{Room, ShareNumber, StoreFigures};

/// The most bytes for authorization codes: what 25,000 codes a second leave in a minute.
const CODES: u64 = 512 << 20;

/// The most bytes for login challenges.
const CHALLENGES: u64 = 64 << 20;

/// The most bytes for marks of client assertions: two million marks.
const ASSERTIONS: u64 = 128 << 20;

/// The most bytes for codes by e-mail: two and a half million, so that those who sign in by one keep no client's assertion out.
const EMAIL_CODES: u64 = 192 << 20;

/// The most bytes for pushed requests: 3,000 a second that nobody uses, for a minute.
pub(crate) const PUSHED_REQUESTS: u64 = 128 << 20;

/// The most bytes for what devices ask for: 140 a second, for ten minutes.
pub(crate) const DEVICE_AUTHORIZATIONS: u64 = 96 << 20;

/// The most bytes for what clients ask people for: 280 a second, for five minutes.
pub(crate) const BACKCHANNEL_AUTHENTICATIONS: u64 = 96 << 20;

/// Memory of one code by e-mail: its key, its recipient, tries, end, commit and share, in a table that is three quarters full on
/// average.
pub(crate) const EMAIL_CODE: usize = 80;

/// Memory of one mark: its key, its end, its commit and its share, in a table that is three quarters full on average.
pub(crate) const ASSERTION_MARK: usize = 64;

pub(crate) fn set_bounds(figures: &StoreFigures) {
    figures.code_room().set_most(CODES);
    figures.challenge_room().set_most(CHALLENGES);
    figures.assertion_room().set_most(ASSERTIONS);
    figures.email_code_room().set_most(EMAIL_CODES);
    figures.pushed_request_room().set_most(PUSHED_REQUESTS);
    figures.device_authorization_room().set_most(DEVICE_AUTHORIZATIONS);
    figures.backchannel_authentication_room().set_most(BACKCHANNEL_AUTHENTICATIONS);
}

/// The share of the issuer whose id follows a record; nobody's where there is none, as in records of format 1.
pub(crate) fn share_of_record(room: &Room, issuer: &[u8]) -> ShareNumber {
    let issuer = std::str::from_utf8(issuer).ok().filter(|issuer| !issuer.is_empty());
    issuer.map_or(ShareNumber::NOBODY, |issuer| room.share_of(issuer))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use symbolon_crypto::random::SeededRandom;
    use symbolon_protocol::backchannel_authentication::{AuthReqId, BackchannelAuthentication};
    use symbolon_protocol::client_authentication::AssertionUse;
    use symbolon_protocol::device_authorization::DeviceAuthorization;
    use symbolon_protocol::id::{ClientId, IssuerId, Jti, UserId};
    use symbolon_protocol::revocation::Tombstone;
    use symbolon_protocol::scope::Scope;
    use symbolon_protocol::sign_in::email_code_use::EmailCodeTry;
    use symbolon_protocol::time::Timestamp;
    use symbolon_store::port::{
        Assertions, BackchannelAuthentications, Challenges, Codes, DeviceAuthorizations, EmailCodes,
        PushedRequests, Redemption, Revocations, Store, Use,
    };

    use crate::EmbeddedStore;
    use crate::open::tests::{code_grant, options};

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

    #[tokio::test]
    async fn what_is_kept_stays_where_there_is_no_room_and_revocations_go_on() {
        let home = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::open(options(home.path())).unwrap();
        let (issuer, random) = (IssuerId::default_issuer(), SeededRandom::new(1));
        let grant = code_grant(&issuer, &random, NOW);
        let assertion = |jti: &str| AssertionUse {
            client_id: ClientId::parse("app").unwrap(),
            key_thumbprint: "key".into(),
            jti: Jti::parse(jti).unwrap(),
            expires_at: NOW + Duration::from_secs(60),
        };
        let challenge = async |id: &str| {
            let end = NOW + Duration::from_secs(60);
            store.keep_challenge(&issuer, id, vec![7; 16].into(), end).await
        };
        let app = ClientId::parse("app").unwrap();
        let push = async || {
            let end = NOW + Duration::from_secs(60);
            store
                .keep_pushed_request(
                    &issuer,
                    symbolon_store::port::PushedBy { client: &app, is_stranger: false },
                    vec![7; 16].into(),
                    end,
                    &random,
                )
                .await
        };
        let ask = async || {
            let (client, scope) = (app.clone(), Scope::parse("openid").unwrap());
            let asked = DeviceAuthorization {
                client,
                scope,
                authorization_details: Default::default(),
                expires_at: NOW + Duration::from_secs(60),
            };
            store.keep_device_authorization(&issuer, asked, NOW, &random).await
        };
        let ann = UserId::parse("ann").unwrap();
        let ask_person = async || {
            let id = AuthReqId::draw(&issuer, &ann, &random);
            let asked = BackchannelAuthentication {
                client: app.clone(),
                user: ann.clone(),
                scope: Scope::parse("openid").unwrap(),
                resources: Vec::new(),
                authorization_details: Default::default(),
                acr: Default::default(),
                binding_message: None,
                notification: None,
                asked_at: NOW,
                expires_at: NOW + Duration::from_secs(60),
            };
            store.keep_backchannel_authentication(&issuer, &id, asked).await
        };
        let pushed = push().await.unwrap();
        assert!(ask_person().await.unwrap());
        let device = ask().await.unwrap();
        let code = store.keep_code(&issuer, grant.clone(), NOW, &random).await.unwrap();
        assert_eq!(store.use_assertion(&issuer, &assertion("first")).await.unwrap().in_memory(), Use::First);
        let tried = async |id: &str| {
            let code = (id, NOW + Duration::from_secs(60));
            Ok::<_, symbolon_store::StoreError>(store.try_email_code(&issuer, code, false).await?.in_memory())
        };
        assert_eq!(tried("first").await.unwrap(), EmailCodeTry::Wrong { left: 4 });
        challenge("first").await.unwrap();
        let rooms = store.figures().snapshot().rooms;
        assert!(rooms.iter().all(|(_, room)| room.bytes > 0 && room.refused == 0), "{rooms:?}");

        let figures = store.figures();
        for room in [
            figures.code_room(),
            figures.challenge_room(),
            figures.assertion_room(),
            figures.email_code_room(),
            figures.pushed_request_room(),
            figures.device_authorization_room(),
            figures.backchannel_authentication_room(),
        ] {
            room.set_most(1);
        }
        assert!(store.keep_code(&issuer, grant.clone(), NOW, &random).await.is_err());
        assert!(store.use_assertion(&issuer, &assertion("second")).await.is_err());
        assert!(challenge("second").await.is_err());
        assert!(push().await.is_err());
        assert!(ask().await.is_err());
        assert!(ask_person().await.is_err());
        assert!(tried("second").await.is_err());
        assert_eq!(tried("first").await.unwrap(), EmailCodeTry::Wrong { left: 3 });
        assert_eq!(
            store.use_assertion(&issuer, &assertion("first")).await.unwrap().in_memory(),
            Use::Replayed
        );
        assert!(store.take_challenge(&issuer, "first", NOW).await.unwrap().is_some());
        assert!(store.use_pushed_request(&issuer, &app, &pushed, NOW).await.unwrap().is_some());
        assert!(store.device_authorization(&issuer, &device.user, NOW).await.unwrap().is_some());
        let at = store.code(&issuer, &code, NOW).await.unwrap().unwrap().at;
        assert_eq!(store.redeem_code(&at, NOW).await.unwrap(), Redemption::Redeemed);
        let user = UserId::parse("ann").unwrap();
        let tombstone = Tombstone::user(&issuer, user, NOW, Duration::from_secs(60));
        drop(store.revoke(&issuer, &[tombstone]).await.unwrap());
        assert!(figures.snapshot().rooms.iter().all(|(_, room)| room.refused == 1));

        // Records that have ended free their room.
        store.sweep(NOW + Duration::from_secs(3_600)).await.unwrap();
        assert!(figures.snapshot().rooms.iter().all(|(_, room)| room.bytes == 0), "{figures:?}");
        challenge("third").await.unwrap();
        store.keep_code(&issuer, grant, NOW, &random).await.unwrap();
    }
}
