//! Fuzz targets for parsers that this crate does not export. Each takes arbitrary bytes and asserts properties of the
//! parser.

use std::net::IpAddr;

use http::{HeaderMap, HeaderValue, Request, header};
use ipnet::IpNet;

use crate::http::csrf::{Browser, PageForm, Purpose, cookie_name};
use crate::http::{cookies, forwarded_for, host, prefers_html, session_of};
use crate::issuer::scene;
use symbolon_config::Config;

/// The session cookie's name on plain http.
const COOKIE: &str = "symbolon_session";

/// `Cookie` headers, one per line: every value is a part of the input, and a session id has a bounded length.
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

/// An `Accept` header: HTML is chosen only if the header names it, and never if the header names JSON alone.
pub fn accept(data: &[u8]) {
    let Ok(value) = HeaderValue::from_bytes(data) else { return };
    let html = prefers_html(&HeaderMap::from_iter([(header::ACCEPT, value)]));
    let named = data.to_ascii_lowercase().windows(9).any(|part| part == b"text/html");
    assert!(named || !html, "HTML for who did not ask for it");
}

/// A configuration file: if it is accepted, it can be shown and described, and development mode is off.
pub fn configuration(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // Settings may name files that hold secrets: the target must not open a file without an end, such as `/dev/zero`.
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

/// An `X-Forwarded-Host` header followed by `X-Forwarded-For` headers, one per line: a client cannot hide the address
/// that a trusted proxy adds, and headers from other peers are ignored.
pub fn forwarded_headers(data: &[u8]) {
    let mut lines = data.split(|byte| *byte == b'\n').filter_map(|line| HeaderValue::from_bytes(line).ok());
    let mut request = Request::new(());
    let headers = request.headers_mut();
    headers.insert(header::HOST, HeaderValue::from_static("direct.example"));
    if let Some(line) = lines.next() {
        headers.insert("x-forwarded-host", line);
    }
    for line in lines {
        headers.append("x-forwarded-for", line);
    }
    assert_eq!(host(&request, false), Ok(Some("direct.example")), "a host by who is no proxy");
    assert!(host(&request, true).is_ok_and(|host| host.is_some_and(|host| !host.contains(','))));

    let proxies = [IpNet::from(IpAddr::from([10, 0, 0, 0])), IpNet::from(IpAddr::from([10, 0, 0, 1]))];
    let [proxy, inner, client] = [[10, 0, 0, 0], [10, 0, 0, 1], [192, 0, 2, 9]].map(IpAddr::from);
    let headers = request.headers_mut();
    assert_eq!(forwarded_for(headers, &proxies, client), client, "an address by who is no proxy");
    let _ = forwarded_for(headers, &proxies, proxy);
    // The proxy in front appends the address that it saw, as a line of its own or to the last line.
    for added in ["192.0.2.9", "192.0.2.9, 10.0.0.1"] {
        let mut own_line = headers.clone();
        own_line.append("x-forwarded-for", HeaderValue::from_static(added));
        assert_eq!(forwarded_for(&own_line, &proxies, proxy), client, "who wrote more was not seen");
        let last = headers.get_all("x-forwarded-for").iter().next_back();
        let last = last.map(|line| [line.as_bytes(), b", ", added.as_bytes()].concat());
        if let Some(Ok(last)) = last.as_deref().map(HeaderValue::from_bytes) {
            let mut last_line = headers.clone();
            last_line.insert("x-forwarded-for", last);
            assert_eq!(forwarded_for(&last_line, &proxies, inner), client, "who wrote more was not seen");
        }
    }
}

/// A `Cookie` header, an interaction id, a `sid` and a token, one per line: a form is accepted only with the token
/// that its own page was given.
pub fn csrf_token(data: &[u8]) {
    let mut lines = data.split(|byte| *byte == b'\n');
    let mut next = || lines.next().and_then(|line| std::str::from_utf8(line).ok()).unwrap_or_default();
    let (cookie, interaction, sid, given) = (next(), next(), next(), next());
    let issuer = scene::issuer("https://op.example.com", "", 1);
    let name = cookie_name(&issuer);
    let read = HeaderValue::from_str(&format!("{name}={cookie}"))
        .ok()
        .and_then(|line| Browser::of(&HeaderMap::from_iter([(header::COOKIE, line)]), &issuer));
    assert!(read.is_none() || cookie.len() >= 43, "a browser out of less than 32 bytes");
    let known = Browser::of_cookie("AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE");
    let Some(browser) = read.or(known) else { return };
    let form = |purpose| PageForm { purpose, interaction, sid };
    let token = browser.token(&issuer, form(Purpose::Consent));
    assert!(browser.accepts(&issuer, form(Purpose::Consent), Some(&token)));
    assert_eq!(browser.accepts(&issuer, form(Purpose::Consent), Some(given)), token == given);
    assert!(!browser.accepts(&issuer, form(Purpose::Login), Some(&token)), "for another page");
    assert!(!browser.accepts(
        &scene::issuer("https://op.example.com", "", 2),
        form(Purpose::Consent),
        Some(&token)
    ));
    // Interaction ids are base64url, so one never contains the separator NUL.
    if !interaction.contains('\0') {
        let other = PageForm { interaction: "other", ..form(Purpose::Consent) };
        assert_eq!(browser.accepts(&issuer, other, Some(&token)), interaction == "other");
        let other = PageForm { sid: "other", ..form(Purpose::Consent) };
        assert_eq!(browser.accepts(&issuer, other, Some(&token)), sid == "other");
    }
}
