//! The hosts at which an issuer lets clients publish what they are.

use url::Url;

/// How a host is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// An administrator named it, or the domain that it is below.
    Named,
    /// As every other host is: whoever publishes there is a stranger.
    Any,
}

/// How a list of hosts allows one, if it does; `authority` is the host and, if it is not the usual one, its port. In the list stand `host`,
/// `host:port`, `*.domain` for the hosts below a domain, and `*` for every host at the usual port: nobody has this server look which ports are
/// open elsewhere.
#[must_use]
pub fn admission(hosts: &[String], authority: &str) -> Option<Admission> {
    let is_below = |pattern: &str| {
        let domain = pattern.strip_prefix("*.");
        let before = domain.and_then(|domain| authority.strip_suffix(domain));
        before.is_some_and(|before| before.len() > 1 && before.ends_with('.'))
    };
    if hosts.iter().any(|own| own == authority || is_below(own)) {
        return Some(Admission::Named);
    }
    let is_any = hosts.iter().any(|own| own == "*") && !has_port(authority);
    is_any.then_some(Admission::Any)
}

/// Whether a port stands behind a host, which may be an address of IPv6 in brackets.
fn has_port(authority: &str) -> bool {
    authority.rsplit(']').next().is_some_and(|rest| rest.contains(':'))
}

/// Whether a text may stand in such a list: a host in its normal form.
#[must_use]
pub fn is_pattern(text: &str) -> bool {
    if text == "*" {
        return true;
    }
    let domain = text.strip_prefix("*.");
    let host = domain.unwrap_or(text);
    let is_normal = |url: Url| url.authority() == host && url.path() == "/";
    let is_domain = |host: &str| !has_port(host) && host.bytes().any(|byte| byte.is_ascii_alphabetic());
    !host.contains(['*', '@'])
        && domain.is_none_or(is_domain)
        && Url::parse(&format!("https://{host}/")).is_ok_and(is_normal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_allowed_by_its_name_by_its_domain_or_like_all() {
        let hosts = |list: &[&str]| list.iter().map(|own| (*own).to_owned()).collect::<Vec<_>>();
        let listed = hosts(&["a.example", "b.example:8443", "*.c.example"]);
        for named in ["a.example", "b.example:8443", "x.c.example", "y.x.c.example"] {
            assert_eq!(admission(&listed, named), Some(Admission::Named), "{named}");
        }
        for other in ["x.a.example", "a.example:8443", "b.example", "c.example", ".c.example", "xc.example"] {
            assert_eq!(admission(&listed, other), None, "{other}");
        }
        let all = hosts(&["*", "a.example"]);
        assert_eq!(admission(&all, "a.example"), Some(Admission::Named));
        for (authority, allowed) in [
            ("z.example", true),
            ("[2001:db8::1]", true),
            ("z.example:8443", false),
            ("[2001:db8::1]:8443", false),
        ] {
            assert_eq!(admission(&all, authority).is_some(), allowed, "{authority}");
        }
        assert_eq!(admission(&[], "a.example"), None);
    }

    #[test]
    fn a_list_has_hosts_in_their_normal_form() {
        for good in
            ["*", "a.example", "a.example:8443", "*.a.example", "127.0.0.1:1", "[::1]:8080", "localhost"]
        {
            assert!(is_pattern(good), "{good}");
        }
        for bad in [
            "",
            "A.example",
            "https://a.example",
            "a.example/x",
            "a.example:443",
            "me@a.example",
            "a.*",
            "**",
            "*.",
            "*.*",
            "*a.example",
            "*.a.example:8443",
            "*.1",
            "a.example?x",
            "a.example#x",
            "a b",
        ] {
            assert!(!is_pattern(bad), "{bad}");
        }
    }
}
