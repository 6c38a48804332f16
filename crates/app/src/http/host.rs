//! Which host a request is for.

use http::uri::Authority;
use http::{Request, Version, header};

/// The host of a request is missing, repeated or malformed: 400.
#[derive(Debug, PartialEq, Eq)]
pub struct Malformed;

/// The requested host: `X-Forwarded-Host` if the peer is a trusted proxy, else the request's own.
pub fn host<B>(request: &Request<B>, trusted: bool) -> Result<Option<&str>, Malformed> {
    let asked = asked(request)?;
    if !trusted {
        return Ok(asked);
    }
    let forwarded = || request.headers().get("x-forwarded-host")?.to_str().ok()?.split(',').next();
    Ok(forwarded().map(str::trim).or(asked))
}

/// The host in the request target or in the Host header.
fn asked<B>(request: &Request<B>) -> Result<Option<&str>, Malformed> {
    let target = request.uri().authority().map(Authority::as_str);
    if request.version() == Version::HTTP_2
        && let Some(target) = target
    {
        // RFC 9113 8.3.1: if there is an `:authority`, the Host header is ignored.
        return checked(target).map(Some);
    }
    let mut lines = request.headers().get_all(header::HOST).iter();
    let host = match (lines.next(), lines.next()) {
        (Some(line), None) => Some(checked(line.to_str().map_err(|_| Malformed)?)?),
        // HTTP/1.0 needs no Host header; some health checks use it.
        (None, None) if request.version() != Version::HTTP_11 => None,
        // RFC 9112 3.2: an HTTP/1.1 request without exactly one Host header is refused. With two, a proxy in front
        // may have routed by one and the server by the other.
        _ => return Err(Malformed),
    };
    match target {
        // RFC 9112 3.2.2: a target in absolute form overrides the Host header.
        Some(target) => checked(target).map(Some),
        None => Ok(host),
    }
}

/// RFC 9112 3.2: anything but `uri-host [ ":" port ]` is refused, and so is RFC 3986's userinfo (RFC 9110 4.2.4).
fn checked(value: &str) -> Result<&str, Malformed> {
    let is_name = |byte: u8| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'%' | b'!' | b'$' | b'&'..=b',' | b';' | b'=')
    };
    let name = value.trim_end_matches(|c: char| c.is_ascii_digit()).strip_suffix(':').unwrap_or(value);
    let good = match name.strip_prefix('[') {
        Some(address) => address
            .strip_suffix(']')
            .is_some_and(|address| address.bytes().all(|byte| is_name(byte) || byte == b':')),
        None => name.bytes().all(is_name),
    };
    if good { Ok(value) } else { Err(Malformed) }
}

#[cfg(test)]
mod tests {
    use http::{HeaderValue, Uri};

    use super::*;

    fn asked_of(version: Version, target: &str, hosts: &[&str]) -> Result<Option<String>, Malformed> {
        let mut request = Request::new(());
        *request.version_mut() = version;
        *request.uri_mut() = target.parse::<Uri>().unwrap();
        for host in hosts {
            request.headers_mut().append(header::HOST, HeaderValue::from_bytes(host.as_bytes()).unwrap());
        }
        host(&request, false).map(|host| host.map(str::to_owned))
    }

    fn is(host: &str) -> Result<Option<String>, Malformed> {
        Ok(Some(host.to_owned()))
    }

    #[test]
    fn an_authority_of_http2_counts_and_the_host_header_does_not() {
        let target = "https://target.example/token";
        for hosts in [&[][..], &["other.example"], &["one.example", "two.example"], &["no host"]] {
            assert_eq!(asked_of(Version::HTTP_2, target, hosts), is("target.example"), "{hosts:?}");
        }
        assert_eq!(asked_of(Version::HTTP_2, "/token", &["a.example"]), is("a.example"));
        assert_eq!(asked_of(Version::HTTP_2, "/token", &["a.example", "a.example"]), Err(Malformed));
        assert_eq!(asked_of(Version::HTTP_2, "/token", &[]), Ok(None));
        assert_eq!(asked_of(Version::HTTP_2, "https://a@b.example/", &[]), Err(Malformed));
    }

    #[test]
    fn a_target_in_absolute_form_counts_and_the_host_header_does_not() {
        for version in [Version::HTTP_10, Version::HTTP_11] {
            let target = "http://target.example:81/token";
            assert_eq!(asked_of(version, target, &["other.example"]), is("target.example:81"));
            assert_eq!(asked_of(version, "/token", &["other.example"]), is("other.example"));
        }
        assert_eq!(asked_of(Version::HTTP_11, "http://a@b.example/", &["b.example"]), Err(Malformed));
    }

    #[test]
    fn http1_has_one_host_line_and_1_0_may_have_none() {
        for target in ["/", "http://target.example/"] {
            assert_eq!(asked_of(Version::HTTP_11, target, &[]), Err(Malformed), "{target}");
            for version in [Version::HTTP_10, Version::HTTP_11] {
                assert_eq!(asked_of(version, target, &["a.example", "a.example"]), Err(Malformed));
            }
        }
        assert_eq!(asked_of(Version::HTTP_10, "/", &[]), Ok(None));
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for good in
            ["", "a", "a:", "a:80", "127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:8", "a_b", "x%41", "80"]
        {
            assert_eq!(asked_of(Version::HTTP_11, "/", &[good]), is(good), "{good}");
        }
        for bad in [
            "a b", "a/b", "a:b", "a:1:2", "u@a", "[::1", "::1", "[::1]x", "a?", "a#", "\"a\"", "a\\", "ä",
            ":x",
        ] {
            assert_eq!(asked_of(Version::HTTP_11, "/", &[bad]), Err(Malformed), "{bad}");
        }
    }

    #[test]
    fn a_trusted_proxy_says_the_host_but_excuses_nothing() {
        let mut request = Request::new(());
        request.headers_mut().insert("x-forwarded-host", HeaderValue::from_static("a.example , b.example"));
        assert_eq!(host(&request, true), Err(Malformed));
        request.headers_mut().insert(header::HOST, HeaderValue::from_static("direct.example"));
        assert_eq!(host(&request, true), Ok(Some("a.example")));
        assert_eq!(host(&request, false), Ok(Some("direct.example")));
    }
}
