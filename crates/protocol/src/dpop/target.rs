//! `htu`: the URI of the request that a proof is for (RFC 9449 4.2), and the normal form in which it is compared.

use std::fmt::Write;

/// Whether `htu` names `uri`, by the normal forms of RFC 3986 6.2.2 and 6.2.3, without query and fragment (RFC 9449 4.3,
/// item 9). `uri` is the endpoint's own URL, which has neither.
pub(super) fn is_same(htu: &str, uri: &str) -> bool {
    htu == uri || normal(htu).is_some_and(|htu| Some(htu) == normal(uri))
}

/// The normal form of an http or https URI without query and fragment; `None` for any other text.
fn normal(uri: &str) -> Option<String> {
    let uri = uri.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = uri.split_once("://")?;
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let scheme = scheme.to_ascii_lowercase();
    let default_port = match scheme.as_str() {
        "https" => ":443",
        "http" => ":80",
        _ => return None,
    };
    // A user name is no part of an endpoint, and could make one look like another.
    if authority.is_empty() || authority.contains('@') {
        return None;
    }
    let mut normal = with_plain_octets(authority).to_ascii_lowercase();
    // RFC 3986 6.2.3: an empty port, and the scheme's own, are left out.
    let host = normal.strip_suffix(default_port).or_else(|| normal.strip_suffix(':'));
    if let Some(length) = host.map(str::len) {
        normal.truncate(length);
    }
    Some(format!("{scheme}://{normal}{}", without_dot_segments(&with_plain_octets(path))))
}

/// RFC 3986 6.2.2.1, 6.2.2.2: octets that need no encoding are written plainly, others with upper-case digits.
fn with_plain_octets(text: &str) -> String {
    let mut parts = text.split('%');
    let mut plain = String::with_capacity(text.len());
    plain.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let encoded = part.split_at_checked(2).and_then(|(digits, rest)| Some((octet(digits)?, rest)));
        match encoded {
            Some((octet, rest)) if is_unreserved(octet) => {
                plain.push(char::from(octet));
                plain.push_str(rest);
            }
            Some((octet, rest)) => {
                let _ = write!(plain, "%{octet:02X}{rest}");
            }
            None => {
                plain.push('%');
                plain.push_str(part);
            }
        }
    }
    plain
}

/// The octet of two hexadecimal digits.
fn octet(digits: &str) -> Option<u8> {
    // `from_str_radix` would take a sign too.
    let are_digits = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    if are_digits { u8::from_str_radix(digits, 16).ok() } else { None }
}

/// RFC 3986 2.3.
const fn is_unreserved(octet: u8) -> bool {
    octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'.' | b'_' | b'~')
}

/// RFC 3986 5.2.4, for the path of a URI with an authority, which is empty or begins with a slash.
fn without_dot_segments(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        match segment {
            "." => {}
            ".." => {
                kept.pop();
            }
            segment => {
                kept.push(segment);
                continue;
            }
        }
        // What ends in such a segment is a directory.
        if segments.peek().is_none() {
            kept.push("");
        }
    }
    format!("/{}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_uri_are_the_same_and_others_are_not() {
        const URI: &str = "https://op.example/acme/token";
        for (htu, same) in [
            (URI, true),
            ("HTTPS://OP.Example/acme/token", true),
            ("https://op.example:443/acme/token", true),
            ("https://op.example:/acme/token", true),
            ("https://op.example/acme/token?a=b#c", true),
            ("https://op.example/acme/%74oken", true),
            ("https://op.example/acme/./x/../token", true),
            ("https://o%70.example/acme/token", true),
            ("https://op.example/acme/Token", false),
            ("https://op.example/acme/token/", false),
            ("https://op.example//acme/token", false),
            ("https://op.example:8443/acme/token", false),
            ("https://op.example:80/acme/token", false),
            ("http://op.example/acme/token", false),
            ("https://op.example/token", false),
            ("https://op.example/acme%2Ftoken", false),
            ("https://a@op.example/acme/token", false),
            ("https://op.example.evil/acme/token", false),
            ("/acme/token", false),
            ("op.example/acme/token", false),
            ("", false),
        ] {
            assert_eq!(is_same(htu, URI), same, "{htu}");
        }
        assert!(is_same("http://127.0.0.1:80", "http://127.0.0.1/"));
        assert!(is_same("http://[::1]:8080/token", "http://[::1]:8080/token?x"));
        assert!(!is_same("http://[::80]/token", "http://[:]/token"));
        assert!(is_same("https://op.example/%c3%a9", "https://op.example/%C3%A9"));
        assert!(is_same("https://op.example/%+1", "https://op.example/%+1?"));
    }

    #[test]
    fn dot_segments_are_resolved() {
        for (path, plain) in [
            ("", "/"),
            ("/", "/"),
            ("/a/b", "/a/b"),
            ("/a/./b", "/a/b"),
            ("/a/../b", "/b"),
            ("/../../b", "/b"),
            ("/a/.", "/a/"),
            ("/a/b/..", "/a/"),
            ("/..", "/"),
            ("/a//b", "/a//b"),
        ] {
            assert_eq!(without_dot_segments(path), plain, "{path}");
        }
    }
}
