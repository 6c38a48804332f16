//! Cookies (RFC 6265): parsed leniently, written with every attribute explicit.

use std::time::Duration;

use http::{HeaderMap, HeaderValue, header};
use percent_encoding::percent_decode_str;
use symbolon_protocol::session::{Session, SessionId};
use symbolon_protocol::time::Timestamp;

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

/// Makes the browser's state cookie that of a session, or takes it away where there is none (Session Management 1.0 3.2:
/// the page in the frame reads it by script). Writes nothing if the browser has it so already.
pub fn tell_browser_state(
    headers: &HeaderMap,
    issuer: &IssuerState,
    session: Option<(&Session, Timestamp)>,
    answer: &mut HeaderMap,
) {
    let name = &*issuer.browser_state_cookie;
    let known = cookies(headers, name).next();
    let cookie = match session {
        Some((session, _)) if known == Some(session.sid.as_str()) => None,
        Some((session, now)) => {
            let lives = session.expires_at.since(now);
            written(issuer, (name, session.sid.as_str()), "", lives)
        }
        None => known.and_then(|_| written(issuer, (name, ""), "", Duration::ZERO)),
    };
    if let Some(cookie) = cookie {
        answer.append(header::SET_COOKIE, cookie);
    }
}

/// Takes away the cookies of a session that has ended in this browser: its own, and the browser's state.
pub fn remove_session_cookies(issuer: &IssuerState, answer: &mut HeaderMap) {
    let state = written(issuer, (&issuer.browser_state_cookie, ""), "", Duration::ZERO);
    for cookie in [remove_cookie(issuer, &issuer.cookie), state].into_iter().flatten() {
        answer.append(header::SET_COOKIE, cookie);
    }
}

/// A `Set-Cookie` that deletes a cookie.
pub fn remove_cookie(issuer: &IssuerState, name: &str) -> Option<HeaderValue> {
    set_cookie(issuer, name, "", Duration::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[&'static str]) -> HeaderMap {
        lines.iter().map(|line| (header::COOKIE, HeaderValue::from_static(line))).collect()
    }

    #[test]
    fn only_the_whole_name_counts() {
        let headers = headers(&["xsid=no; sid=one", "sid=\"two\";sid=", "other=sid=no"]);
        assert_eq!(cookies(&headers, "sid").collect::<Vec<_>>(), ["one", "two", ""]);
    }

    #[test]
    fn cookies_of_others_may_be_anything() {
        let line = HeaderValue::from_bytes("name=Jörg; sid=one".as_bytes()).unwrap();
        let broken = HeaderValue::from_bytes(b"name=\xff\xfe; sid=\xff; sid=two").unwrap();
        let headers: HeaderMap = [line, broken].into_iter().map(|line| (header::COOKIE, line)).collect();
        assert_eq!(cookies(&headers, "sid").collect::<Vec<_>>(), ["one", "two"]);
    }
}
