//! HTTP to a process that may die while it answers, or to several nodes in turn.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::Value;

use super::meter::{Meter, Noted, Outcome};
use super::{Micros, unix_micros};
use crate::browser::Answer;

/// How long an answer may take before it counts as lost; longer than the server's own limit for a request.
const ANSWER: Duration = Duration::from_secs(40);

/// How long a patient wire waits before it sends a request again.
const PAUSE: Duration = Duration::from_millis(100);

/// The process did not answer: it has ended, or it hangs.
#[derive(Debug)]
pub struct NoAnswer(pub String);

/// Connections to one process, or to several in turn as from a load balancer, with the secrets that a drill needs.
pub struct Wire {
    agent: ureq::Agent,
    bases: Arc<[String]>,
    next: AtomicUsize,
    admin_secret: String,
    meter: Option<Arc<Meter>>,
    patience: Duration,
    /// Whether the patience was used up once. After that, requests are not repeated any more.
    exhausted: AtomicBool,
}

/// Why one node gave no answer.
enum Lost {
    /// The node does not listen: the request was never sent.
    Refused,
    /// It is unknown whether the request was carried out.
    Unanswered(String),
}

impl Wire {
    /// A wire to the public listener at `base`, which also serves the admin API. Its connection is kept.
    pub fn new(base: &str, admin_secret: &str) -> Self {
        Self::in_turn(&[base.to_owned()], admin_secret)
    }

    /// A wire to several nodes: each request goes to the next one on a connection of its own, and a node that refuses
    /// the connection is skipped.
    pub fn in_turn(bases: &[String], admin_secret: &str) -> Self {
        Self {
            agent: agent(bases.len()),
            bases: bases.into(),
            next: AtomicUsize::new(0),
            admin_secret: admin_secret.to_owned(),
            meter: None,
            patience: Duration::ZERO,
            exhausted: AtomicBool::new(false),
        }
    }

    /// The same on another connection, which begins with the node of that number.
    #[must_use]
    pub fn another(&self, first: usize) -> Self {
        Self {
            agent: agent(self.bases.len()),
            bases: Arc::clone(&self.bases),
            next: AtomicUsize::new(first),
            admin_secret: self.admin_secret.clone(),
            meter: self.meter.clone(),
            patience: self.patience,
            exhausted: AtomicBool::new(false),
        }
    }

    /// Notes the outcome of each request.
    #[must_use]
    pub fn metered(self, meter: &Arc<Meter>) -> Self {
        Self { meter: Some(Arc::clone(meter)), ..self }
    }

    /// Repeats a request, for this long, while the answer is 503 or missing. The request may then be carried out twice.
    #[must_use]
    pub fn patient(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Sends one request.
    ///
    /// # Errors
    /// [`NoAnswer`] if the connection ended before the answer: it is then unknown whether the request was carried out.
    pub fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Answer, NoAnswer> {
        let began = unix_micros();
        loop {
            let answer = self.send_once(method, path, headers, body);
            let settled = answer.as_ref().is_ok_and(|answer| !answer.is_unavailable());
            if settled || self.patience.is_zero() || self.exhausted.load(Ordering::Relaxed) {
                return answer;
            }
            if u128::from(unix_micros() - began) >= self.patience.as_micros() {
                self.exhausted.store(true, Ordering::Relaxed);
                return answer;
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Sends one request, once, however long the patience.
    ///
    /// # Errors
    /// [`NoAnswer`], as of [`send`](Self::send).
    pub(super) fn send_once(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Answer, NoAnswer> {
        let first = self.next.fetch_add(1, Ordering::Relaxed);
        let mut why = format!("{method} {path}: connection refused");
        let sent = unix_micros();
        for nth in 0..self.bases.len() {
            let base = &self.bases[(first + nth) % self.bases.len()];
            let url = format!("{base}{path}");
            match self.exchange(method, &url, headers, body) {
                Ok(answer) => {
                    let away = answer.is_unavailable();
                    self.note(path, sent, if away { Outcome::Unavailable } else { Outcome::Answered });
                    return Ok(answer);
                }
                Err(Lost::Refused) => self.note(path, sent, Outcome::Refused),
                Err(Lost::Unanswered(reason)) => {
                    why = format!("{method} {url}: {reason}");
                    break;
                }
            }
        }
        self.note(path, sent, Outcome::Lost);
        if let Some(meter) = &self.meter {
            meter.note_reason(&why);
        }
        Err(NoAnswer(why))
    }

    fn exchange(
        &self,
        method: &str,
        url: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Answer, Lost> {
        let mut request = ureq::http::Request::builder().method(method).uri(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(body.to_vec()).expect("a request");
        let mut response = self.agent.run(request).map_err(|error| lost(&error))?;
        let headers = response.headers().iter();
        let headers =
            headers.map(|(n, v)| (n.as_str().to_owned(), String::from_utf8_lossy(v.as_bytes()).into_owned()));
        let headers = headers.collect();
        let body = response.body_mut().with_config().limit(64 << 20).read_to_string();
        let body = body.map_err(|error| Lost::Unanswered(format!("in the body: {error}")))?;
        Ok(Answer { status: response.status().as_u16(), headers, body })
    }

    fn note(&self, path: &str, sent: Micros, outcome: Outcome) {
        let Some(meter) = &self.meter else { return };
        let endpoint = path.trim_start_matches('/').split(['/', '?']).next().unwrap_or_default().to_owned();
        meter.note(Noted { endpoint, sent, known: unix_micros(), outcome });
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

    /// Sends many lines of JSON to the admin API.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub fn admin_lines(&self, path: &str, lines: &str) -> Result<Answer, NoAnswer> {
        let bearer = format!("Bearer {}", self.admin_secret);
        let headers = [("authorization", &*bearer), ("content-type", "application/x-ndjson")];
        self.send("POST", &format!("/api/admin{path}"), &headers, lines.as_bytes())
    }
}

fn agent(nodes: usize) -> ureq::Agent {
    let config = ureq::Agent::config_builder()
        .max_redirects(0)
        .max_redirects_will_error(false)
        .http_status_as_error(false)
        // A new connection for each request: a balancer notices at once that a node is gone, by the refused connection.
        .max_idle_connections(if nodes > 1 { 0 } else { 10 })
        .timeout_global(Some(ANSWER));
    config.build().into()
}

fn lost(error: &ureq::Error) -> Lost {
    match error {
        ureq::Error::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => Lost::Refused,
        ureq::Error::ConnectionFailed => Lost::Refused,
        error => Lost::Unanswered(error.to_string()),
    }
}
