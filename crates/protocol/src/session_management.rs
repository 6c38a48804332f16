//! Session Management 1.0: by `session_state` and a page of the provider in a frame, an application's page sees whether the
//! person is still signed in as before, without a request.
//!
//! The browser's state is the `sid` of the session in use, in a cookie that scripts of the provider's origin may read. It is
//! no secret: applications have it in their ID tokens. It changes with every sign-in and whenever the person chooses another
//! account, and without a session there is none. When another of the browser's sessions ends, a mark behind the `sid` changes
//! ([`browser_state`]).

use std::borrow::Cow;

use symbolon_crypto::random::{self, Random};
use symbolon_crypto::{digest, encoding};

use crate::id::{ClientId, Sid};
use crate::redirect_uri;

/// Random bytes of a salt.
const SALT: usize = 8;
/// Characters of a digest and of a salt, in base64url.
const DIGEST_CHARS: usize = 43;
const SALT_CHARS: usize = 11;

/// A `session_state` (section 3.2): a digest of client, origin, browser state and salt, a dot, and the salt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionState(String);

impl SessionState {
    /// The state that a client is told at its redirect URI. `None` if that has no origin, as in a native application: no
    /// page could ask.
    pub fn of(
        client: &ClientId,
        redirect_uri: &str,
        browser_state: &str,
        random: &dyn Random,
    ) -> Option<Self> {
        let origin = origin(redirect_uri)?;
        let mut salt = [0; SALT_CHARS];
        let drawn = random::bytes::<SALT>(random);
        let salt = encoding::encode_to_slice(&drawn, &mut salt).ok()?;
        Some(Self::salted(client.as_str(), &origin, browser_state, salt))
    }

    /// The page in the frame computes the same, by `check-session.js`.
    fn salted(client: &str, origin: &str, browser_state: &str, salt: &str) -> Self {
        let mut text =
            String::with_capacity(client.len() + origin.len() + browser_state.len() + SALT_CHARS + 3);
        for part in [client, " ", origin, " ", browser_state, " ", salt] {
            text.push_str(part);
        }
        let digest = digest::sha256(&[text.as_bytes()]);
        text.clear();
        text.reserve(DIGEST_CHARS + 1 + SALT_CHARS);
        encoding::encode_into(&mut text, &digest);
        text.push('.');
        text.push_str(salt);
        Self(text)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether a `session_state` is that of a client's page of this origin in a browser of this state: what `check-session.js` computes, for
/// browsers in which it cannot (section 3.2).
pub fn is_unchanged(session_state: &str, (client, origin): (&str, &str), browser_state: &str) -> bool {
    session_state.split_once('.').is_some_and(|(_, salt)| {
        SessionState::salted(client, origin, browser_state, salt).as_str() == session_state
    })
}

/// What stands in place of a `sid` where accounts are signed in and none is in use.
const NONE_IN_USE: &str = "none";
/// The longest mark behind a `sid`, in characters: a longer one is not ours.
const LONGEST_MARK: usize = 22;

/// The state of a browser whose session in use is `sid`. `known`: what its cookie holds now, which stays if it is a state of
/// this session: the mark behind the `sid` says that another of the browser's sessions has ended since.
pub fn browser_state<'a>(known: Option<&'a str>, sid: Option<&'a Sid>) -> &'a str {
    let own = sid.map_or(NONE_IN_USE, Sid::as_str);
    known.filter(|known| is_state_of(known, own)).unwrap_or(own)
}

/// Whether a browser's state says that accounts are signed in and none is in use.
pub fn is_none_in_use(known: &str) -> bool {
    is_state_of(known, NONE_IN_USE)
}

fn is_state_of(known: &str, own: &str) -> bool {
    match known.strip_prefix(own) {
        Some("") => true,
        Some(rest) => rest.strip_prefix('.').is_some_and(|mark| {
            mark.len() <= LONGEST_MARK
                && mark.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
        }),
        None => false,
    }
}

/// The state after another of the browser's sessions has ended, while the one in use goes on: so applications of both ask
/// again.
pub fn changed_state(sid: Option<&Sid>, random: &dyn Random) -> String {
    format!("{}.{}", sid.map_or(NONE_IN_USE, Sid::as_str), random::base64url::<SALT>(random))
}

/// The origin of a redirect URI. Most are written as browsers write them, and are only cut.
fn origin(uri: &str) -> Option<Cow<'_, str>> {
    match plain_origin(uri) {
        Some(origin) => Some(Cow::Borrowed(origin)),
        None => redirect_uri::origin(uri).map(Cow::Owned),
    }
}

/// The origin of a URI whose host is a name in lower case, without a port or with one that is not its scheme's own.
fn plain_origin(uri: &str) -> Option<&str> {
    let (scheme, rest) = uri.split_once("://")?;
    if !matches!(scheme, "https" | "http") {
        return None;
    }
    let end = rest.bytes().position(|byte| matches!(byte, b'/' | b'?' | b'#')).unwrap_or(rest.len());
    let authority = rest.get(..end)?;
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    };
    // The last label of a name begins with a letter, else it might be an address; `xn--` is checked by the parser.
    let last = host.rsplit('.').next().unwrap_or_default();
    let is_name = last.starts_with(|first: char| first.is_ascii_lowercase())
        && host.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.'))
        && !host.contains("xn--");
    let is_usual_port = |port: &str| {
        port.len() < 5
            && port.bytes().all(|byte| byte.is_ascii_digit())
            && !port.starts_with('0')
            && !matches!((scheme, port), (_, "") | ("https", "443") | ("http", "80"))
    };
    let is_plain = is_name && port.is_none_or(is_usual_port);
    uri.get(..scheme.len() + 3 + end).filter(|_| is_plain)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use symbolon_crypto::random::SeededRandom;

    use super::*;

    fn of(client: &str, uri: &str, sid: &str, seed: u64) -> Option<SessionState> {
        SessionState::of(&ClientId::trusted(client), uri, sid, &SeededRandom::new(seed))
    }

    #[test]
    fn a_browsers_state_stays_while_it_is_one_of_the_session_in_use() {
        let (s1, s2) = (Sid::trusted("1_2_abc"), Sid::trusted("1_2_abcd"));
        assert_eq!(browser_state(None, Some(&s1)), "1_2_abc");
        assert_eq!(browser_state(Some("1_2_abc"), Some(&s1)), "1_2_abc");
        let changed = changed_state(Some(&s1), &SeededRandom::new(1));
        assert_ne!(changed, changed_state(Some(&s1), &SeededRandom::new(2)));
        assert_eq!(browser_state(Some(&changed), Some(&s1)), changed);
        for other in
            [&*changed, "1_2_abc", "", "1_2_abcd;x", "1_2_abcd.<", "1_2_abcd.AAAAAAAAAAAAAAAAAAAAAAA"]
        {
            assert_eq!(browser_state(Some(other), Some(&s2)), "1_2_abcd", "{other}");
        }
        let nobody = changed_state(None, &SeededRandom::new(1));
        assert_eq!(browser_state(Some(&nobody), None), nobody);
        assert_eq!(browser_state(Some(&changed), None), "none");
        assert!(is_none_in_use("none") && is_none_in_use(&nobody) && !is_none_in_use(&changed));
    }

    #[test]
    fn it_depends_on_client_origin_session_and_salt_and_on_nothing_else() {
        let first = of("rp", "https://rp.example/cb", "s1", 1).unwrap();
        assert_eq!(of("rp", "https://rp.example/other?x=1", "s1", 1), Some(first.clone()));
        for other in [
            of("rp2", "https://rp.example/cb", "s1", 1),
            of("rp", "https://rp.example:8443/cb", "s1", 1),
            of("rp", "https://rp.example/cb", "s2", 1),
            of("rp", "https://rp.example/cb", "s1", 2),
        ] {
            assert_ne!(other.unwrap(), first);
        }
        assert_eq!(of("rp", "com.example.app:/cb", "s1", 1), None);
        let (digest, salt) = first.as_str().split_once('.').unwrap();
        assert_eq!((digest.len(), salt.len()), (DIGEST_CHARS, SALT_CHARS));
    }

    #[test]
    fn the_digest_is_that_of_the_parts_between_blanks() {
        let state = SessionState::salted("rp", "https://rp.example", "s1", "salt");
        let expected = encoding::encode(&digest::sha256(&[b"rp https://rp.example s1 salt"]));
        assert_eq!(state.as_str(), format!("{expected}.salt"));
        let unchanged = |client, origin, sid| is_unchanged(state.as_str(), (client, origin), sid);
        assert!(unchanged("rp", "https://rp.example", "s1") && !unchanged("rp", "https://rp.example", "s2"));
        assert!(
            !unchanged("rp", "https://evil.example", "s1") && !unchanged("rp2", "https://rp.example", "s1")
        );
        assert!(!is_unchanged("no-salt", ("rp", "https://rp.example"), "s1"));
    }

    #[test]
    fn origins_that_are_not_written_as_browsers_do_are_parsed() {
        for (uri, expected) in [
            ("https://rp.example/cb", "https://rp.example"),
            ("https://RP.example/cb", "https://rp.example"),
            ("https://rp.example:443/cb", "https://rp.example"),
            ("http://rp.example:443", "http://rp.example:443"),
            ("http://127.0.0.1:8080/cb", "http://127.0.0.1:8080"),
            ("http://127.1/cb", "http://127.0.0.1"),
            ("http://[::1]:8080/cb", "http://[::1]:8080"),
            ("https://b\u{fc}cher.example/", "https://xn--bcher-kva.example"),
        ] {
            assert_eq!(origin(uri).as_deref(), Some(expected), "{uri}");
        }
    }

    proptest! {
        #[test]
        fn what_is_cut_is_what_is_parsed(
            scheme in "https?|ftp",
            host in "([a-z0-9.A-Z-]{1,12}|xn--[a-z0-9-]{1,8}|[0-9]{1,3}(\\.[0-9]{1,3}){0,3})",
            port in "(:[0-9]{0,5})?",
            rest in "([/?#][a-z:@.]{0,5})?",
        ) {
            let uri = format!("{scheme}://{host}{port}{rest}");
            if let Some(cut) = plain_origin(&uri) {
                // The parser refuses some hosts that look plain; such a URI is never registered.
                if let Some(parsed) = redirect_uri::origin(&uri) {
                    prop_assert_eq!(cut, parsed);
                }
            }
        }
    }
}
