//! Cookies (RFC 6265): parsed leniently, written with every attribute explicit.

use std::time::Duration;

use http::{HeaderMap, HeaderValue, header};
use percent_encoding::percent_decode_str;
use symbolon_protocol::session::SessionId;
use symbolon_protocol::settings::MOST_ACCOUNTS;

use crate::issuer::IssuerState;

/// Every value of a cookie, in the order sent: browsers and load tools may send one name twice.
pub fn cookies<'h>(headers: &'h HeaderMap, name: &'h str) -> impl Iterator<Item = &'h str> {
    headers
        .get_all(header::COOKIE)
        .iter()
        // Split as bytes: cookies of other applications on the same domain need not be ASCII.
        .flat_map(|line| line.as_bytes().split(|byte| *byte == b';'))
        .filter_map(move |pair| pair.trim_ascii_start().strip_prefix(name.as_bytes())?.strip_prefix(b"="))
        .filter_map(|value| std::str::from_utf8(value).ok())
        .map(|value| value.trim_end().trim_matches('"'))
}

/// The session id that a request presents: the first value of the issuer's session cookie. Percent-encoded values are
/// decoded too, because some clients encode them.
pub fn session_cookie(headers: &HeaderMap, issuer: &IssuerState) -> Option<SessionId> {
    session_of(headers, &issuer.cookie)
}

/// Like [`session_cookie`], by the cookie's name.
pub(crate) fn session_of(headers: &HeaderMap, name: &str) -> Option<SessionId> {
    let value = cookies(headers, name).find(|value| !value.is_empty())?;
    if value.len() > 512 {
        return None;
    }
    if value.contains('%') {
        return percent_decode_str(value).decode_utf8().ok().map(SessionId::new);
    }
    Some(SessionId::new(value))
}

/// A `Set-Cookie` for a cookie of this issuer. On https it is `SameSite=None; Secure`, because silent renewal runs in
/// a frame of another site, and other sites may POST to `/authorize`.
pub fn set_cookie(issuer: &IssuerState, name: &str, value: &str, lives: Duration) -> Option<HeaderValue> {
    written(issuer, (name, value), "; HttpOnly", lives)
}

fn written(
    issuer: &IssuerState,
    (name, value): (&str, &str),
    readable: &str,
    lives: Duration,
) -> Option<HeaderValue> {
    // RFC 6265bis 4.1.3.2: a cookie with `__Host-` has the path `/`.
    let path = if issuer.prefix.is_empty() || name.starts_with("__Host-") { "/" } else { &issuer.prefix };
    let site = if issuer.is_https() { "SameSite=None; Secure" } else { "SameSite=Lax" };
    let seconds = lives.as_secs();
    HeaderValue::try_from(format!("{name}={value}; Path={path}{readable}; {site}; Max-Age={seconds}")).ok()
}

/// The browser's state, as its cookie has it (Session Management 1.0 3.2: the page in the frame reads it by script).
pub fn known_browser_state<'h>(headers: &'h HeaderMap, issuer: &'h IssuerState) -> Option<&'h str> {
    cookies(headers, &issuer.browser_state_cookie).next()
}

/// A `Set-Cookie` for the browser's state, which scripts may read.
pub fn browser_state_cookie(issuer: &IssuerState, state: &str, lives: Duration) -> Option<HeaderValue> {
    written(issuer, (&issuer.browser_state_cookie, state), "", lives)
}

/// A `Set-Cookie` that takes the browser's state away.
pub fn remove_browser_state(issuer: &IssuerState) -> Option<HeaderValue> {
    browser_state_cookie(issuer, "", Duration::ZERO)
}

/// Takes away the cookies of a session that has ended in this browser: its own, and the browser's state.
pub fn remove_session_cookies(issuer: &IssuerState, answer: &mut HeaderMap) {
    for cookie in [remove_cookie(issuer, &issuer.cookie), remove_browser_state(issuer)].into_iter().flatten()
    {
        answer.append(header::SET_COOKIE, cookie);
    }
}

/// The most ids that are read of the cookie with the sessions of other accounts, and their longest form.
const MOST_IDS: usize = 2 * MOST_ACCOUNTS as usize;
const LONGEST_ID: usize = 128;

/// The name of the cookie with the sessions of the browser's other accounts.
fn other_sessions_name(issuer: &IssuerState) -> String {
    issuer.cookie_name("symbolon_accounts")
}

/// The ids of the sessions that the browser has besides the one in use, that of the account last used first. They are in a
/// cookie of their own, so that most requests read one id alone. Whether they live is the store's to say.
pub fn other_sessions(headers: &HeaderMap, issuer: &IssuerState) -> Vec<SessionId> {
    let name = other_sessions_name(issuer);
    let Some(value) = cookies(headers, &name).find(|value| !value.is_empty()) else { return Vec::new() };
    let mut ids: Vec<SessionId> = Vec::new();
    let is_id = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let well_formed = |id: &&str| (1..=LONGEST_ID).contains(&id.len()) && id.bytes().all(is_id);
    for id in value.split('.').take(MOST_IDS).filter(well_formed) {
        let id = SessionId::new(id);
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    ids
}

/// A `Set-Cookie` for the sessions of the browser's other accounts; `None` where it has no such cookie and needs none.
pub fn other_sessions_cookie(
    headers: &HeaderMap,
    issuer: &IssuerState,
    others: &[SessionId],
) -> Option<HeaderValue> {
    let name = other_sessions_name(issuer);
    if others.is_empty() {
        cookies(headers, &name).next()?;
        return remove_cookie(issuer, &name);
    }
    let value = others.iter().map(SessionId::expose).collect::<Vec<_>>().join(".");
    set_cookie(issuer, &name, &value, issuer.settings.load().lifetimes.session)
}

/// A `Set-Cookie` that deletes a cookie.
pub fn remove_cookie(issuer: &IssuerState, name: &str) -> Option<HeaderValue> {
    set_cookie(issuer, name, "", Duration::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::issuer::scene::issuer;

    fn headers(lines: &[&'static str]) -> HeaderMap {
        lines.iter().map(|line| (header::COOKIE, HeaderValue::from_static(line))).collect()
    }

    #[test]
    fn only_the_whole_name_counts() {
        let headers = headers(&["xsid=no; sid=one", "sid=\"two\";sid=", "other=sid=no"]);
        assert_eq!(cookies(&headers, "sid").collect::<Vec<_>>(), ["one", "two", ""]);
    }

    #[test]
    fn other_sessions_are_few_short_and_different() {
        let issuer = issuer("http://localhost", "", 1);
        let of = |value: &str| {
            let line = HeaderValue::from_str(&format!("symbolon_accounts_acme={value}")).unwrap();
            let headers = HeaderMap::from_iter([(header::COOKIE, line)]);
            let ids = other_sessions(&headers, &issuer);
            let again = other_sessions_cookie(&headers, &issuer, &ids);
            (ids.iter().map(|id| id.expose().to_owned()).collect::<Vec<_>>(), again)
        };
        let (ids, again) = of("se_1_2_a.se_1_3_b.se_1_2_a..a=b");
        assert_eq!(ids, ["se_1_2_a", "se_1_3_b"]);
        let again = again.unwrap();
        let again = again.to_str().unwrap();
        assert!(again.starts_with("symbolon_accounts_acme=se_1_2_a.se_1_3_b; Path=/; HttpOnly;"), "{again}");
        let many = (0..100).map(|number| number.to_string()).collect::<Vec<_>>().join(".");
        assert_eq!(of(&many).0.len(), MOST_IDS);
        let (ids, again) = of(&"x".repeat(LONGEST_ID + 1));
        assert!(ids.is_empty() && again.unwrap().to_str().unwrap().contains("Max-Age=0"));
        assert_eq!(other_sessions_cookie(&HeaderMap::new(), &issuer, &[]), None);
    }

    #[test]
    fn cookies_of_others_may_be_anything() {
        let line = HeaderValue::from_bytes("name=Jörg; sid=one".as_bytes()).unwrap();
        let broken = HeaderValue::from_bytes(b"name=\xff\xfe; sid=\xff; sid=two").unwrap();
        let headers: HeaderMap = [line, broken].into_iter().map(|line| (header::COOKIE, line)).collect();
        assert_eq!(cookies(&headers, "sid").collect::<Vec<_>>(), ["one", "two"]);
    }
}
