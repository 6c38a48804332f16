//! HTTP to a process that may die while it answers.

use std::time::Duration;

use serde_json::Value;

use crate::browser::Answer;

/// The process did not answer: it is gone, or it hangs.
#[derive(Debug)]
pub struct NoAnswer(pub String);

/// A keep-alive connection to a process, with the secrets that a drill needs.
pub struct Wire {
    agent: ureq::Agent,
    base: String,
    admin_secret: String,
}

impl Wire {
    /// A wire to the public listener at `base`, which serves the admin API too.
    pub fn new(base: &str, admin_secret: &str) -> Self {
        let config = ureq::Agent::config_builder()
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(20)))
            .build();
        Self { agent: config.into(), base: base.to_owned(), admin_secret: admin_secret.to_owned() }
    }

    /// Sends one request.
    ///
    /// # Errors
    /// [`NoAnswer`] if the connection ended before the answer did; nobody knows then what became of the request.
    pub fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Answer, NoAnswer> {
        let url = format!("{}{path}", self.base);
        let mut request = ureq::http::Request::builder().method(method).uri(&url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(body.to_vec()).expect("a request");
        let lost = |error: ureq::Error| NoAnswer(format!("{method} {path}: {error}"));
        let mut response = self.agent.run(request).map_err(lost)?;
        let headers = response.headers().iter();
        let headers =
            headers.map(|(n, v)| (n.as_str().to_owned(), String::from_utf8_lossy(v.as_bytes()).into_owned()));
        let headers = headers.collect();
        let body = response.body_mut().with_config().limit(64 << 20).read_to_string().map_err(lost)?;
        Ok(Answer { status: response.status().as_u16(), headers, body })
    }

    /// GET.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub fn get(&self, path: &str, headers: &[(&str, &str)]) -> Result<Answer, NoAnswer> {
        self.send("GET", path, headers, b"")
    }

    /// POST of a form.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub fn post(&self, path: &str, form: &[(&str, &str)]) -> Result<Answer, NoAnswer> {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        self.send("POST", path, &[("content-type", "application/x-www-form-urlencoded")], body.as_bytes())
    }

    /// A call of the admin API; `path` is below `/api/admin`.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub fn admin(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Answer, NoAnswer> {
        let bearer = format!("Bearer {}", self.admin_secret);
        let headers = [("authorization", &*bearer), ("content-type", "application/json")];
        let body = body.map(Value::to_string).unwrap_or_default();
        self.send(method, &format!("/api/admin{path}"), &headers, body.as_bytes())
    }

    /// Many lines of JSON to the admin API.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub fn admin_lines(&self, path: &str, lines: &str) -> Result<Answer, NoAnswer> {
        let bearer = format!("Bearer {}", self.admin_secret);
        let headers = [("authorization", &*bearer), ("content-type", "application/x-ndjson")];
        self.send("POST", &format!("/api/admin{path}"), &headers, lines.as_bytes())
    }
}
