//! HTTP as a browser or a load script uses it: keeps cookies, and does not follow redirects by itself.

use std::collections::BTreeMap;
use std::sync::Mutex;

use serde_json::Value;

/// An answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

impl Answer {
    /// The first header of a name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("no JSON ({error}): {self:?}"))
    }

    /// The `error` member of an OAuth error.
    pub fn error(&self) -> String {
        self.json()["error"].as_str().unwrap_or_default().to_owned()
    }

    /// The target of a redirect.
    pub fn location(&self) -> String {
        self.header("location").unwrap_or_else(|| panic!("no redirect: {self:?}")).to_owned()
    }

    /// Whether the server cannot answer now: 503 with Retry-After, or a redirect with `temporarily_unavailable`
    /// (RFC 6749 4.1.2.1).
    pub fn is_unavailable(&self) -> bool {
        match self.status {
            503 => self.header("retry-after").is_some(),
            302 | 303 => {
                self.header("location").is_some_and(|to| to.contains("error=temporarily_unavailable"))
            }
            _ => false,
        }
    }

    /// A parameter in the query or the fragment of a redirect's target.
    pub fn redirected(&self, name: &str) -> Option<String> {
        let url = url::Url::parse(&self.location()).expect("an absolute location");
        let in_fragment = form_urlencoded::parse(url.fragment().unwrap_or_default().as_bytes());
        let mut all = url.query_pairs().chain(in_fragment);
        all.find(|(own, _)| own == name).map(|(_, value)| value.into_owned())
    }

    /// The value of a hidden field of the first form.
    pub fn field(&self, name: &str) -> Option<String> {
        let at = self.body.find(&format!("name=\"{name}\""))?;
        let value = self.body[at..].split_once("value=\"")?.1;
        Some(value.split_once('"')?.0.to_owned())
    }
}

/// A client with a cookie jar.
pub struct Browser {
    base: String,
    /// Its `Host` header, if that differs from the URL.
    host: Option<String>,
    agent: ureq::Agent,
    jar: Mutex<BTreeMap<String, String>>,
}

impl Browser {
    /// A browser whose relative paths are below `base`.
    pub fn new(base: &str) -> Self {
        let config = ureq::Agent::config_builder()
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            // With several nodes, each request may go to another node.
            .max_idle_connections(if crate::server::is_clustered() { 0 } else { 10 })
            // Only for requests that are never answered: the machine may be slow.
            .timeout_global(Some(std::time::Duration::from_secs(300)))
            .build();
        Self { base: base.to_owned(), host: None, agent: config.into(), jar: Mutex::default() }
    }

    /// The same browser with another `Host` header than the URL gives, as behind a proxy.
    #[must_use]
    pub fn asking_for(self, host: &str) -> Self {
        Self { host: Some(host.to_owned()), ..self }
    }

    /// Another browser with the same cookies.
    #[must_use]
    pub fn copy(&self) -> Self {
        let jar = Mutex::new(self.jar.lock().expect("the jar").clone());
        Self { host: self.host.clone(), jar, ..Self::new(&self.base) }
    }

    /// All cookies, as the header `Cookie` has them.
    pub fn cookies(&self) -> String {
        let jar = self.jar.lock().expect("the jar");
        jar.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ")
    }

    /// Puts a cookie into the jar.
    pub fn set_cookie(&self, name: &str, value: &str) {
        self.jar.lock().expect("the jar").insert(name.to_owned(), value.to_owned());
    }

    /// The value of a cookie in the jar.
    pub fn cookie(&self, name: &str) -> Option<String> {
        self.jar.lock().expect("the jar").get(name).cloned()
    }

    /// GET.
    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], b"")
    }

    /// GET with headers.
    pub fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.send("GET", path, headers, b"")
    }

    /// POST of a form.
    pub fn post(&self, path: &str, form: &[(&str, &str)]) -> Answer {
        self.post_with(path, form, &[])
    }

    /// POST of a form with headers.
    pub fn post_with(&self, path: &str, form: &[(&str, &str)], headers: &[(&str, &str)]) -> Answer {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let mut all = vec![("content-type", "application/x-www-form-urlencoded")];
        all.extend_from_slice(headers);
        self.send("POST", path, &all, body.as_bytes())
    }

    /// Any request.
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let url = if path.starts_with("http") { path.to_owned() } else { format!("{}{path}", self.base) };
        let mut request = ureq::http::Request::builder().method(method).uri(&url);
        let cookies = self.cookies();
        if !cookies.is_empty() {
            request = request.header("cookie", cookies);
        }
        if let Some(host) = &self.host {
            request = request.header("host", host);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(body.to_vec()).expect("a request");
        let mut response = self.agent.run(request).unwrap_or_else(|error| panic!("{method} {url}: {error}"));
        let headers: Vec<(String, String)> = response
            .headers()
            .iter()
            .map(|(name, value)| {
                (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
            })
            .collect();
        self.keep_cookies(&headers);
        let body = response.body_mut().with_config().limit(256 << 20).read_to_string().expect("a body");
        Answer { status: response.status().as_u16(), headers, body }
    }

    fn keep_cookies(&self, headers: &[(String, String)]) {
        let mut jar = self.jar.lock().expect("the jar");
        for (_, line) in headers.iter().filter(|(name, _)| name == "set-cookie") {
            let (pair, attributes) = line.split_once(';').unwrap_or((line, ""));
            let (name, value) = pair.split_once('=').expect("a cookie");
            if attributes.contains("Max-Age=0") {
                jar.remove(name);
            } else {
                jar.insert(name.to_owned(), value.to_owned());
            }
        }
    }
}
