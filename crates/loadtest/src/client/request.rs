//! Request bytes, put together by hand (RFC 9112 3).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// All but RFC 3986's unreserved characters is encoded.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A header field: name and value, without line breaks.
pub type Field<'a> = (&'a str, &'a str);

/// Appends a GET request.
pub fn get(out: &mut Vec<u8>, path: &str, authority: &str, fields: &[Field<'_>]) {
    out.extend_from_slice(b"GET ");
    head(out, path, authority, fields);
    out.extend_from_slice(b"\r\n");
}

/// Appends a request with a body, for example `POST` or `PUT`.
pub fn with_body(
    out: &mut Vec<u8>,
    method_path: (&str, &str),
    authority: &str,
    fields: &[Field<'_>],
    body: &[u8],
) {
    let (method, path) = method_path;
    out.extend_from_slice(method.as_bytes());
    out.push(b' ');
    head(out, path, authority, fields);
    out.extend_from_slice(b"content-length: ");
    out.extend_from_slice(itoa::Buffer::new().format(body.len()).as_bytes());
    out.extend_from_slice(b"\r\n\r\n");
    out.extend_from_slice(body);
}

fn head(out: &mut Vec<u8>, path: &str, authority: &str, fields: &[Field<'_>]) {
    out.extend_from_slice(path.as_bytes());
    out.extend_from_slice(b" HTTP/1.1\r\nhost: ");
    out.extend_from_slice(authority.as_bytes());
    out.extend_from_slice(b"\r\n");
    for (name, value) in fields {
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
}

/// Appends `name=value&...` with every value encoded; names must need no encoding.
pub fn parameters(out: &mut Vec<u8>, pairs: &[(&str, &str)]) {
    for (position, (name, value)) in pairs.iter().enumerate() {
        if position > 0 {
            out.push(b'&');
        }
        out.extend_from_slice(name.as_bytes());
        out.push(b'=');
        encode(out, value);
    }
}

/// Appends one value, percent-encoded.
pub fn encode(out: &mut Vec<u8>, value: &str) {
    for piece in utf8_percent_encode(value, ENCODED) {
        out.extend_from_slice(piece.as_bytes());
    }
}

/// The value of an `Authorization` field for HTTP Basic, id and secret encoded first (RFC 6749 2.3.1).
pub fn basic(id: &str, secret: &str) -> String {
    let pair = format!("{}:{}", utf8_percent_encode(id, ENCODED), utf8_percent_encode(secret, ENCODED));
    format!("Basic {}", STANDARD.encode(pair))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_byte_exact() {
        let mut out = Vec::new();
        get(&mut out, "/a?b=c", "h:1", &[("cookie", "x=y")]);
        assert_eq!(out, b"GET /a?b=c HTTP/1.1\r\nhost: h:1\r\ncookie: x=y\r\n\r\n");
        out.clear();
        with_body(&mut out, ("POST", "/t"), "h", &[], b"a=b");
        assert_eq!(out, b"POST /t HTTP/1.1\r\nhost: h\r\ncontent-length: 3\r\n\r\na=b");
    }

    #[test]
    fn values_are_encoded() {
        let mut out = Vec::new();
        parameters(&mut out, &[("scope", "openid email"), ("u", "https://a/?b~_-.")]);
        assert_eq!(out, b"scope=openid%20email&u=https%3A%2F%2Fa%2F%3Fb~_-.");
        assert_eq!(basic("a:b", "c"), "Basic YSUzQWI6Yw==");
    }
}
