//! Front-Channel Logout 1.0: which frames the signed-out page loads.

use symbolon_crypto::digest::HmacKey;

use crate::client::Client;
use crate::id::Sid;
use crate::pairwise::Pairwise;
use crate::redirect_uri::{self, append_query};
use crate::session::Session;

/// The most frames of one page. Beyond it applications learn of the end by back-channel logout, or at the next request.
pub const MOST_FRAMES: usize = 32;

/// The addresses of the frames by which clients that took part in a session end their own, each with `iss` and `sid`
/// (section 2). A client has one for each `sid` that it may know the session by. `clients` are those of the session; `key` makes the
/// names by which those with pairwise subjects know it.
pub fn frames<'c>(
    issuer_url: &str,
    session: &Session,
    key: &HmacKey,
    clients: impl IntoIterator<Item = &'c Client>,
) -> Vec<String> {
    let told = clients.into_iter().filter_map(|client| {
        let uri = client.logout.frontchannel_logout_uri.as_deref()?;
        Some((uri, Pairwise::of(key, client)))
    });
    // The latest first: most clients know that one.
    let sids: Vec<&Sid> = session.sids().collect();
    let told: Vec<(&str, Option<Pairwise<'_>>)> = told.collect();
    let pairs = sids.iter().rev().flat_map(|sid| told.iter().map(move |told| (*told, *sid)));
    pairs
        .take(MOST_FRAMES)
        .map(|((uri, pairwise), sid)| {
            let own = pairwise.map(|pairwise| pairwise.sid(sid));
            append_query(uri, &[("iss", issuer_url), ("sid", own.as_ref().unwrap_or(sid).as_str())])
        })
        .collect()
}

/// The origins of frames, each once: what the page's policy lets it embed.
pub fn origins(frames: &[String]) -> Vec<String> {
    let mut origins: Vec<String> = frames.iter().filter_map(|uri| redirect_uri::origin(uri)).collect();
    origins.sort_unstable();
    origins.dedup();
    origins
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::LogoutUris;
    use crate::id::UserId;
    use crate::session::Amr;
    use crate::time::Timestamp;
    use crate::token::fixture;

    fn client(id: &str, uri: Option<&str>) -> Client {
        let logout = LogoutUris { frontchannel_logout_uri: uri.map(str::to_owned), ..LogoutUris::default() };
        Client { logout, ..fixture::client(id) }
    }

    #[test]
    fn each_client_has_a_frame_for_each_sid_the_latest_first() {
        let at = Timestamp::from_seconds(1);
        let session = Session {
            user: UserId::trusted("ann"),
            sid: Sid::trusted("s2"),
            auth_time: at,
            created_at: at,
            expires_at: at,
            amr: Amr::default(),
            clients: Box::default(),
            predecessors: vec![Sid::trusted("s1")].into(),
            by_time: Default::default(),
        };
        let clients = [
            client("a", Some("https://a.example/out?x=1")),
            client("b", None),
            client("c", Some("https://c.example:8443/out")),
        ];
        let key = HmacKey::new(&[1; 32]);
        let found = frames("https://op.example", &session, &key, &clients);
        let iss = "iss=https%3A%2F%2Fop.example";
        assert_eq!(
            found,
            [
                format!("https://a.example/out?x=1&{iss}&sid=s2"),
                format!("https://c.example:8443/out?{iss}&sid=s2"),
                format!("https://a.example/out?x=1&{iss}&sid=s1"),
                format!("https://c.example:8443/out?{iss}&sid=s1"),
            ]
        );
        assert_eq!(origins(&found), ["https://a.example", "https://c.example:8443"]);
        let many: Vec<Client> = (0..100).map(|_| client("a", Some("https://a.example/"))).collect();
        assert_eq!(frames("https://op.example", &session, &key, &many).len(), MOST_FRAMES);
    }
}
