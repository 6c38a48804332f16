//! Redirect URIs: validation at registration, matching, and appending parameters.

mod form;

pub use form::RedirectUriForm;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use url::{Host, Url};

/// Why a URI may not be registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRedirectUri {
    /// Not an absolute URI of visible ASCII characters, at most 2,048 of them (RFC 6749 3.1.2).
    #[error("must be an absolute URI of at most 2048 visible ASCII characters")]
    NotAbsolute,
    /// It has a fragment (RFC 6749 3.1.2).
    #[error("must not have a fragment")]
    Fragment,
    /// It contains a user name or password.
    #[error("must not contain user name or password")]
    UserInfo,
    /// Plain http to a host other than this machine (RFC 8252 7.3, 8.3).
    #[error("must use https (http is for 127.0.0.1, [::1] and localhost)")]
    PlainHttp,
    /// A wildcard in the host: URIs are compared as strings (RFC 9700 2.1).
    #[error("must not contain a wildcard")]
    Wildcard,
    /// A wildcard that is allowed, but not at its place.
    #[error("must have one wildcard, as the first label of an https host in its normal form")]
    WildcardPlace,
    /// A wildcard for hosts of which not one owner decides.
    #[error("must have a wildcard below a domain that somebody registered, not below a public suffix")]
    WildcardDomain,
    /// A private-use scheme must be a reversed domain name (RFC 8252 7.1); `javascript:` and similar ones are not.
    #[error("must use https, or a private-use scheme with a dot such as com.example.app")]
    Scheme,
}

/// Checks a URI that a client registers as `redirect_uri` or `post_logout_redirect_uri`.
///
/// # Errors
/// [`InvalidRedirectUri`]
pub fn check_registration(uri: &str) -> Result<(), InvalidRedirectUri> {
    check_form(uri, &[])
}

/// The longest URI that a client may register, in bytes.
pub(crate) const LONGEST: usize = 2048;

/// Checks a URI of a client for which an administrator allowed some forms beyond those that every client may register.
///
/// # Errors
/// [`InvalidRedirectUri`]
pub fn check_form(uri: &str, allowed: &[RedirectUriForm]) -> Result<(), InvalidRedirectUri> {
    // RFC 3986 2: a URI contains no spaces, quotes or backslashes; browsers would silently alter them.
    let clean =
        |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'<' | b'>' | b'\\' | b'^' | b'`');
    if uri.len() > LONGEST || !uri.bytes().all(clean) {
        return Err(InvalidRedirectUri::NotAbsolute);
    }
    let url = Url::parse(uri).map_err(|_| InvalidRedirectUri::NotAbsolute)?;
    // RFC 6749 3.1.2: the endpoint URI MUST NOT include a fragment component.
    if uri.contains('#') {
        return Err(InvalidRedirectUri::Fragment);
    }
    // Even an empty user name is refused: some parsers would read the parameters after it as part of the host.
    if has_user_info(uri, url.scheme()) || !url.username().is_empty() {
        return Err(InvalidRedirectUri::UserInfo);
    }
    if url.host_str().is_some_and(|host| host.contains('*')) {
        return match url.scheme() {
            "https" if allowed.contains(&RedirectUriForm::WildcardHost) => form::check_wildcard(uri, &url),
            _ => Err(InvalidRedirectUri::Wildcard),
        };
    }
    // The parser accepts `https:host` and `https:///host`; other parsers do not.
    let authority = |scheme: &str| {
        let rest = uri.get(scheme.len()..).unwrap_or_default();
        rest.strip_prefix("://").is_some_and(|rest| !rest.starts_with('/'))
    };
    match url.scheme() {
        "https" if authority("https") => Ok(()),
        "http" if authority("http") && is_this_machine(&url) => Ok(()),
        "http" if allowed.contains(&RedirectUriForm::HttpPrivateHost) && form::is_private_host(uri, &url) => {
            Ok(())
        }
        "http" => Err(InvalidRedirectUri::PlainHttp),
        "https" => Err(InvalidRedirectUri::NotAbsolute),
        // RFC 8252 7.1: based on a domain name under the app's control, in reverse order.
        scheme if scheme.contains('.') => Ok(()),
        scheme
            if allowed.contains(&RedirectUriForm::PrivateUseSchemeWithoutDot)
                && form::is_private_use_scheme(uri, scheme) =>
        {
            Ok(())
        }
        _ => Err(InvalidRedirectUri::Scheme),
    }
}

/// The form that would let a URI be registered that is refused without.
pub fn needed_form(uri: &str) -> Option<RedirectUriForm> {
    RedirectUriForm::ALL.into_iter().find(|form| check_form(uri, &[*form]).is_ok())
}

/// RFC 3986 3.2: whether the authority, from `://` to the next delimiter, contains an `@`.
fn has_user_info(uri: &str, scheme: &str) -> bool {
    let rest = uri.get(scheme.len()..).and_then(|rest| rest.strip_prefix("://")).unwrap_or_default();
    rest.split(['/', '?', '#']).next().is_some_and(|authority| authority.contains('@'))
}

fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

/// Whether a URI matches one of the registered ones of a client with these forms.
pub fn is_registered(registered: &[String], presented: &str, allowed: &[RedirectUriForm]) -> bool {
    registered.iter().any(|own| matches(own, presented, allowed))
}

/// Whether more than one program could receive the answer (RFC 8252 8.6): the URI has a private-use scheme, or a loopback
/// port or a host that the client did not register as such.
pub fn is_anybodys(registered: &[String], presented: &str) -> bool {
    let is_private_use = !presented.starts_with("https://") && !presented.starts_with("http://");
    is_private_use || !registered.iter().any(|own| own == presented)
}

/// Whether `presented` matches `registered`: the same string (RFC 9700 2.1), except for the port of an http URI on a
/// loopback address (RFC 8252 7.3). `localhost` is a name, not an address, so its port must match, unless the client is
/// allowed [any](RedirectUriForm::AnyLocalhostPort). A wildcard is no text that matches itself.
pub fn matches(registered: &str, presented: &str, allowed: &[RedirectUriForm]) -> bool {
    if form::is_wildcard(registered) {
        return form::matches_wildcard(registered, presented);
    }
    registered == presented
        || loopback(presented).is_some_and(|parts| loopback(registered).as_ref() == Some(&parts))
        || (allowed.contains(&RedirectUriForm::AnyLocalhostPort)
            && form::localhost(presented).is_some_and(|parts| form::localhost(registered) == Some(parts)))
}

/// Splits an http URI on a loopback address into the address and the part after the port.
fn loopback(uri: &str) -> Option<(&str, &str)> {
    let rest = uri.strip_prefix("http://")?;
    let address = ["127.0.0.1", "[::1]"].into_iter().find(|address| rest.starts_with(address))?;
    Some((address, behind_port(rest.get(address.len()..)?)?))
}

/// What follows the port, if there is one, in the part of a URI behind its host; `None` if that is not the whole host.
fn behind_port(rest: &str) -> Option<&str> {
    let rest = match rest.strip_prefix(':') {
        None => rest,
        Some(rest) => {
            let end = rest.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
            // A port is a 16-bit number, so `:` alone and `:080@host` are refused.
            rest.get(..end)?.parse::<u16>().ok()?;
            rest.get(end..)?
        }
    };
    (rest.is_empty() || rest.starts_with(['/', '?'])).then_some(rest)
}

/// Whether an origin belongs to a URI: it is the URI's own origin, or one that differs from it as in [`matches()`].
pub fn is_at(uri: &str, page: &str, allowed: &[RedirectUriForm]) -> bool {
    origin(uri).is_some_and(|own| matches(&own, page, allowed))
}

/// The origin (RFC 6454 6.2) of an http or https URI, as browsers send it.
pub fn origin(uri: &str) -> Option<String> {
    let url = Url::parse(uri).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    Some(url.origin().ascii_serialization())
}

/// Escapes everything except RFC 3986's unreserved characters, so that all parsers agree on the value.
const COMPONENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Appends parameters to the query, keeping an existing one (RFC 6749 3.1.2).
pub fn append_query(uri: &str, params: &[(&str, &str)]) -> String {
    let separator = match uri.split_once('?') {
        None => "?",
        Some((_, query)) if query.is_empty() || query.ends_with('&') => "",
        Some(_) => "&",
    };
    append(uri, separator, params)
}

/// Appends parameters as the fragment (OAuth 2.0 Multiple Response Types 2.1).
pub fn append_fragment(uri: &str, params: &[(&str, &str)]) -> String {
    append(uri, "#", params)
}

fn append(uri: &str, mut separator: &str, params: &[(&str, &str)]) -> String {
    let room = params.iter().map(|(name, value)| name.len() + value.len() + 8).sum::<usize>();
    let mut out = String::with_capacity(uri.len() + room + 32);
    out.push_str(uri);
    for (name, value) in params {
        out.push_str(separator);
        out.push_str(name);
        out.push('=');
        out.extend(utf8_percent_encode(value, COMPONENT));
        separator = "&";
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn registration() {
        use InvalidRedirectUri::*;
        let table = [
            ("https://rp.example/cb", Ok(())),
            ("https://rp.example:8443/cb?tenant=1", Ok(())),
            ("http://127.0.0.1/cb", Ok(())),
            ("http://[::1]:3000/cb", Ok(())),
            ("http://localhost:3000/cb", Ok(())),
            ("com.example.app:/oauth2redirect", Ok(())),
            ("com.example.app://callback", Ok(())),
            ("http://rp.example/cb", Err(PlainHttp)),
            ("http://localhost.evil.example/cb", Err(PlainHttp)),
            ("https://rp.example/cb#x", Err(Fragment)),
            ("https://rp.example/cb#", Err(Fragment)),
            ("https://user:pw@rp.example/", Err(UserInfo)),
            ("https://@rp.example/", Err(UserInfo)),
            ("com.example.app://@", Err(UserInfo)),
            ("https://rp.example/@x?y@z", Ok(())),
            ("com.example.app:/cb//x@y", Ok(())),
            ("https://*.rp.example/", Err(Wildcard)),
            ("javascript:alert(1)", Err(Scheme)),
            ("data:text/html,x", Err(Scheme)),
            ("myapp://cb", Err(Scheme)),
            ("/cb", Err(NotAbsolute)),
            ("https:rp.example", Err(NotAbsolute)),
            ("https:///rp.example", Err(NotAbsolute)),
            ("https://rp.example/a b", Err(NotAbsolute)),
            ("https://rp.example\\@evil.example/", Err(NotAbsolute)),
            ("https://rp.example/\r\nSet-Cookie:x", Err(NotAbsolute)),
            ("https://rp.exämple/", Err(NotAbsolute)),
            ("", Err(NotAbsolute)),
        ];
        for (uri, expected) in table {
            assert_eq!(check_registration(uri), expected, "{uri}");
        }
    }

    #[test]
    fn pages_of_a_uri() {
        for (uri, page, at) in [
            ("https://rp.example/cb", "https://rp.example", true),
            ("https://rp.example:8443/cb", "https://rp.example", false),
            ("http://127.0.0.1/cb", "http://127.0.0.1:5173", true),
            ("http://127.0.0.1:1/cb", "http://127.0.0.1", true),
            ("http://[::1]/cb", "http://[::1]:5173", true),
            ("http://127.0.0.1/cb", "http://[::1]:5173", false),
            ("http://127.0.0.1/cb", "https://127.0.0.1:5173", false),
            ("http://127.0.0.1/cb", "http://127.0.0.1:5173/cb", false),
            ("http://localhost/cb", "http://localhost:5173", false),
            ("com.example.app:/cb", "null", false),
        ] {
            assert_eq!(is_at(uri, page, &[]), at, "{uri} {page}");
        }
    }

    #[test]
    fn matching() {
        let same = [
            ("https://rp.example/cb", "https://rp.example/cb"),
            ("http://127.0.0.1/cb", "http://127.0.0.1:51004/cb"),
            ("http://127.0.0.1:1/cb?x=1", "http://127.0.0.1/cb?x=1"),
            ("http://[::1]:1", "http://[::1]:65535"),
        ];
        let different = [
            ("https://rp.example/cb", "https://rp.example/cb/"),
            ("https://rp.example/cb", "https://RP.example/cb"),
            ("https://rp.example/cb", "https://rp.example:443/cb"),
            ("https://rp.example/cb", "https://rp.example/cb?x"),
            ("http://localhost/cb", "http://localhost:3000/cb"),
            ("http://127.0.0.1/cb", "http://localhost/cb"),
            ("http://127.0.0.1/cb", "http://[::1]/cb"),
            ("http://127.0.0.1/cb", "https://127.0.0.1:1/cb"),
            ("http://127.0.0.1/cb", "http://127.0.0.1:1/cb/x"),
            ("http://127.0.0.1/cb", "http://127.0.0.1:70000/cb"),
            ("http://127.0.0.1/cb", "http://127.0.0.1:/cb"),
            ("http://127.0.0.1/cb", "http://127.0.0.1:1@evil.example/cb"),
            ("http://127.0.0.1", "http://127.0.0.1.evil.example"),
            ("http://127.0.0.1", "http://127.0.0.1:1.evil.example"),
        ];
        for (registered, presented) in same {
            assert!(matches(registered, presented, &[]), "{registered} {presented}");
            assert!(is_registered(&["https://x.example".into(), registered.into()], presented, &[]));
        }
        for (registered, presented) in different {
            assert!(!matches(registered, presented, &[]), "{registered} {presented}");
            assert!(!is_registered(&[registered.into()], presented, &[]));
        }
    }

    #[test]
    fn parameters_follow_what_is_there() {
        let params = [("code", "a b&c"), ("state", "ä")];
        let table = [
            ("https://rp.example/cb", "https://rp.example/cb?code=a%20b%26c&state=%C3%A4"),
            ("https://rp.example/cb?x=1", "https://rp.example/cb?x=1&code=a%20b%26c&state=%C3%A4"),
            ("https://rp.example/cb?", "https://rp.example/cb?code=a%20b%26c&state=%C3%A4"),
            ("https://rp.example/cb?x&", "https://rp.example/cb?x&code=a%20b%26c&state=%C3%A4"),
        ];
        for (uri, expected) in table {
            assert_eq!(append_query(uri, &params), expected);
        }
        assert_eq!(append_fragment("com.example:/x", &params), "com.example:/x#code=a%20b%26c&state=%C3%A4");
        assert_eq!(append_query("https://rp.example", &[]), "https://rp.example");
    }

    #[test]
    fn origins() {
        assert_eq!(origin("https://rp.example:443/cb").as_deref(), Some("https://rp.example"));
        assert_eq!(origin("http://127.0.0.1:3000/cb").as_deref(), Some("http://127.0.0.1:3000"));
        assert_eq!(origin("com.example.app:/cb"), None);
    }

    proptest! {
        #[test]
        fn only_the_port_of_a_loopback_address_may_differ(a in ".{0,40}", port: u16, path in "/[a-z?=/]{0,12}") {
            let registered = format!("http://127.0.0.1{path}");
            let presented = format!("http://127.0.0.1:{port}{path}");
            prop_assert!(matches(&registered, &presented, &[]));
            if matches(&registered, &a, &[]) {
                prop_assert!(a.starts_with("http://127.0.0.1"));
            }
            let other = format!("https://rp.example{path}");
            prop_assert_eq!(matches(&other, &a, &[]), other == a);
            let _ = check_registration(&a);
        }

        #[test]
        fn what_may_be_registered_and_matches_leads_to_the_registered_host(tail in "[:@/?#.a-z0-9]{0,24}") {
            let presented = format!("http://127.0.0.1{tail}");
            if matches("http://127.0.0.1/cb", &presented, &[]) {
                let url = Url::parse(&presented).expect("a URL");
                prop_assert_eq!(url.host_str(), Some("127.0.0.1"));
                prop_assert_eq!(url.path(), "/cb");
            }
        }

        #[test]
        fn appended_values_are_read_back(value in ".{0,40}", query in "(\\?[a-z=&]{0,8})?") {
            let uri = append_query(&format!("https://rp.example/cb{query}"), &[("state", &value)]);
            let url = Url::parse(&uri).expect("a URL");
            prop_assert_eq!(url.query_pairs().last().map(|(_, v)| v.into_owned()), Some(value));
        }
    }
}
