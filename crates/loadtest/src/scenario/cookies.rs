//! A browser's cookies for one provider (RFC 6265 5), as far as a login needs them: by name and path. Everything goes to one
//! origin, so that `Domain`, `Secure` and `SameSite` change nothing.

use crate::client::Response;

/// The cookies of one browser.
#[derive(Clone, Debug, Default)]
pub(crate) struct Jar(Vec<Cookie>);

#[derive(Clone, Debug)]
struct Cookie {
    name: String,
    value: String,
    path: String,
}

impl Jar {
    /// Forgets all of them.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Keeps what an answer to a request for `path` sets: a later cookie of a name and path replaces the earlier one, and an
    /// ended or empty one removes it.
    pub(crate) fn keep(&mut self, response: &Response<'_>, path: &str) {
        for line in response.headers("set-cookie") {
            self.set(line, path);
        }
    }

    /// Adds one for all paths, as a script of a page would.
    pub(crate) fn add(&mut self, name: &str, value: &str) {
        self.0.retain(|own| own.name != name);
        self.0.push(Cookie { name: name.into(), value: value.into(), path: "/".into() });
    }

    fn set(&mut self, line: &str, path: &str) {
        let mut parts = line.split(';').map(str::trim);
        let Some((name, value)) = parts.next().and_then(|pair| pair.split_once('=')) else { return };
        let (name, value) = (name.trim(), value.trim());
        let (mut for_path, mut ended) = (default_path(path), value.is_empty());
        let mut lives = None;
        for attribute in parts {
            let (key, told) = attribute.split_once('=').unwrap_or((attribute, ""));
            if key.eq_ignore_ascii_case("path") && told.starts_with('/') {
                for_path = told;
            } else if key.eq_ignore_ascii_case("max-age") {
                lives = told.parse::<i64>().ok();
            } else if key.eq_ignore_ascii_case("expires") {
                // Servers end cookies at the beginning of 1970; a run is too short for other dates.
                ended |= told.contains("1970");
            }
        }
        // RFC 6265 5.3, step 3: Max-Age counts more than Expires.
        ended = lives.map_or(ended, |seconds| seconds <= 0 || value.is_empty());
        self.0.retain(|own| own.name != name || own.path != for_path);
        if !ended {
            self.0.push(Cookie { name: name.into(), value: value.into(), path: for_path.into() });
        }
    }

    /// The value of the `Cookie` field of a request for `path`; empty where there is none for it.
    pub(crate) fn field(&self, path: &str) -> String {
        let path = path.split(['?', '#']).next().unwrap_or("/");
        let mut cookies: Vec<_> = self.0.iter().filter(|cookie| matches(path, &cookie.path)).collect();
        // RFC 6265 5.4: longer paths first.
        cookies.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        let pairs: Vec<_> =
            cookies.iter().map(|cookie| format!("{}={}", cookie.name, cookie.value)).collect();
        pairs.join("; ")
    }

    /// The value of the newest cookie of this name, whatever its path.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.0.iter().rfind(|cookie| cookie.name == name).map(|cookie| &*cookie.value)
    }
}

/// RFC 6265 5.1.4: the directory of the request's path.
fn default_path(path: &str) -> &str {
    let path = path.split(['?', '#']).next().unwrap_or("/");
    match path.rfind('/') {
        Some(0) | None => "/",
        Some(slash) => path.get(..slash).unwrap_or("/"),
    }
}

/// RFC 6265 5.1.4: whether a cookie of this path goes to that path.
fn matches(path: &str, cookie: &str) -> bool {
    path.strip_prefix(cookie)
        .is_some_and(|rest| rest.is_empty() || cookie.ends_with('/') || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jar(lines: &[(&str, &str)]) -> Jar {
        let mut jar = Jar::default();
        lines.iter().for_each(|(path, line)| jar.set(line, path));
        jar
    }

    #[test]
    fn a_cookie_goes_where_its_path_says() {
        let jar = jar(&[
            ("/realms/x/auth?q", "A=1; Path=/realms/x/; HttpOnly"),
            ("/realms/x/auth?q=/a/b", "B=2"),
            ("/login", "C=3=4; path=nonsense; Secure"),
        ]);
        assert_eq!(jar.field("/realms/x/login?y=1"), "A=1; B=2; C=3=4");
        assert_eq!(jar.field("/realms/xy"), "C=3=4");
        assert_eq!(jar.field("/realms/x"), "B=2; C=3=4");
        assert_eq!((jar.value("C"), jar.value("D")), (Some("3=4"), None));
    }

    #[test]
    fn a_later_one_replaces_the_earlier_and_an_ended_one_removes_it() {
        let set = |end: &str| jar(&[("/", "A=1; Path=/"), ("/a/b", &format!("A=2; Path=/{end}"))]).field("/");
        assert_eq!(set(""), "A=2");
        for end in ["; Max-Age=0", "; max-age=-1", "; Expires=Thu, 01-Jan-1970 00:00:10 GMT"] {
            assert_eq!(set(end), "", "{end}");
        }
        assert_eq!(set("; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT"), "A=2");
        assert_eq!(jar(&[("/", "A=1"), ("/", "A=")]).field("/"), "");
    }
}
