//! A browser at the provider's pages.

use std::collections::BTreeMap;

use data_encoding::BASE32_NOPAD;
use serde_json::Value;

use crate::browser::Answer;
use crate::drill::{NoAnswer, Wire};

/// A browser: its cookies. Each request is sent once, because what it does counts once.
#[derive(Default)]
pub(in crate::drill) struct Visit {
    jar: BTreeMap<String, String>,
}

/// The hidden fields of a page of the sign-in.
#[derive(Clone, Debug)]
pub(super) struct Form {
    pub(super) transaction: String,
    pub(super) csrf: String,
}

impl Form {
    /// The form of a page; `None` if it has none.
    pub(super) fn of(page: &Answer) -> Option<Self> {
        Some(Self { transaction: page.field("transaction")?, csrf: page.field("csrf_token")? })
    }
}

impl Visit {
    /// A browser with the cookies of a `Cookie` header.
    pub(in crate::drill) fn with_cookies(header: &str) -> Self {
        let pairs = header.split("; ").filter_map(|pair| pair.split_once('='));
        Self { jar: pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect() }
    }

    /// The cookies that it was given, as the header that brings them.
    pub(super) fn cookie_header(&self) -> String {
        self.jar.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ")
    }

    /// The value of a cookie.
    pub(super) fn cookie(&self, name: &str) -> Option<String> {
        self.jar.get(name).cloned()
    }

    pub(in crate::drill) fn get(&mut self, wire: &Wire, path: &str) -> Result<Answer, NoAnswer> {
        self.send(wire, ("GET", path), &[], b"")
    }

    pub(in crate::drill) fn post(
        &mut self,
        wire: &Wire,
        path: &str,
        form: &[(&str, &str)],
    ) -> Result<Answer, NoAnswer> {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        self.send(wire, ("POST", path), &headers, body.as_bytes())
    }

    /// A call of the login API by a page of the issuer.
    pub(super) fn call(
        &mut self,
        wire: &Wire,
        (origin, path): (&str, &str),
        body: &Value,
    ) -> Result<Answer, NoAnswer> {
        let headers = [("content-type", "application/json"), ("origin", origin)];
        self.send(wire, ("POST", path), &headers, body.to_string().as_bytes())
    }

    fn send(
        &mut self,
        wire: &Wire,
        (method, path): (&str, &str),
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Answer, NoAnswer> {
        let cookie = self.cookie_header();
        let mut headers = headers.to_vec();
        if !cookie.is_empty() {
            headers.push(("cookie", &cookie));
        }
        let answer = wire.send_once(method, path, &headers, body)?;
        for (_, line) in answer.headers.iter().filter(|(name, _)| name == "set-cookie") {
            let (pair, attributes) = line.split_once(';').unwrap_or((line, ""));
            let Some((name, value)) = pair.split_once('=') else { continue };
            if attributes.contains("Max-Age=0") {
                self.jar.remove(name);
            } else {
                self.jar.insert(name.to_owned(), value.to_owned());
            }
        }
        Ok(answer)
    }
}

/// The secret that a page shows for a generator.
pub(super) fn shown_secret(page: &Answer) -> Option<Vec<u8>> {
    let typed = page.body.split_once("id=\"secret\" dir=\"ltr\">")?.1.split_once('<')?.0.replace(' ', "");
    BASE32_NOPAD.decode(typed.as_bytes()).ok()
}

/// The recovery codes that a page shows.
pub(super) fn shown_recovery_codes(page: &Answer) -> Vec<String> {
    let list = page.body.split_once("id=\"recovery-codes\">").map_or("", |(_, rest)| rest);
    let list = list.split_once("</ul>").map_or("", |(list, _)| list);
    let codes = list.split("<code dir=\"ltr\">").skip(1);
    codes.filter_map(|code| Some(code.split_once('<')?.0.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_goes_on_with_the_cookies_of_another() {
        for header in ["", "one=1", "one=1; two=a=b"] {
            assert_eq!(Visit::with_cookies(header).cookie_header(), header);
        }
    }

    #[test]
    fn a_page_shows_a_secret_and_recovery_codes() {
        let page = |body: &str| Answer { status: 200, headers: Vec::new(), body: body.to_owned() };
        let shown = page("<code id=\"secret\" dir=\"ltr\">MFRG G</code>");
        assert_eq!(shown_secret(&shown).as_deref(), Some(&b"abc"[..]));
        let shown = page(
            "<ul class=\"recovery-codes\" id=\"recovery-codes\">\n<li><code dir=\"ltr\">ab-c</code></li></ul>\
             <code dir=\"ltr\">no</code>",
        );
        assert_eq!(shown_recovery_codes(&shown), ["ab-c"]);
    }
}
