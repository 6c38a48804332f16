//! Bodies of the fuzz targets whose parsers are no part of this crate's interface. Each takes any bytes and fails an
//! assertion where a property does not hold.

use http::{HeaderMap, HeaderValue, header};

use crate::config::Config;
use crate::http::{cookies, prefers_html, session_of};

pub use crate::admin::fuzz::{ndjson, settings, user_fields};

/// The session cookie's name on plain http.
const COOKIE: &str = "symbolon_session";

/// `Cookie` headers, one per line: values are pieces of what was sent, and a session id is of bounded length.
pub fn cookie(data: &[u8]) {
    let lines = data.split(|byte| *byte == b'\n').filter_map(|line| HeaderValue::from_bytes(line).ok());
    let headers: HeaderMap = lines.map(|line| (header::COOKIE, line)).collect();
    let all: Vec<&str> = cookies(&headers, COOKIE).collect();
    for value in &all {
        assert!(!value.contains(';'), "a value of two cookies");
        assert!(value.is_ascii(), "a value outside RFC 6265 4.1.1");
    }
    if let Some(session) = session_of(&headers, COOKIE) {
        assert!(!all.is_empty(), "a session out of nothing");
        assert!(!session.expose().is_empty() && session.expose().len() <= 512);
    }
}

/// An `Accept` header: HTML is preferred only where it is named, and JSON alone never means HTML.
pub fn accept(data: &[u8]) {
    let Ok(value) = HeaderValue::from_bytes(data) else { return };
    let html = prefers_html(&HeaderMap::from_iter([(header::ACCEPT, value)]));
    let named = data.to_ascii_lowercase().windows(9).any(|part| part == b"text/html");
    assert!(named || !html, "HTML for who did not ask for it");
}

/// A configuration file: what is accepted can be shown and described, and is no development mode.
pub fn configuration(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // Secrets may be files: the target reads none that never ends.
    if text.contains("/dev") || text.contains("/proc") {
        return;
    }
    match Config::of_text(text) {
        Ok(config) => {
            assert!(!config.show().is_empty());
            assert!(config.entries().count() > 0);
        }
        Err(errors) => assert!(!errors.to_string().is_empty(), "a refusal without a reason"),
    }
}
