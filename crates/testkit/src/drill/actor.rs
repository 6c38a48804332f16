//! One worker's operations. Each is written into the ledger when it is sent and when it is answered.

use serde_json::{Value, json};
use symbolon_crypto::random::SystemRandom;
use symbolon_crypto::{digest, encoding, random};

use super::ledger::{Chain, Code, Ledger, Link, Micros, Person, SignedIn, Span, Token};
use super::people::People;
use super::provider::COOKIE;
use super::relying_party::{REDIRECT_URI, RelyingPartyAtHand};
use super::{NoAnswer, Pressure, Tally, Wire, unix_micros};
use crate::browser::Answer;

/// The name of the count of codes that were refused unredeemed, or whose replay was not noticed.
pub const LOST_CODE: &str = "lost code";

/// A code lives for a minute; within this shorter time it must exist (microseconds).
const CODE_LIVES: Micros = 30_000_000;

/// The result of an operation.
#[derive(Clone, Copy)]
pub(super) enum Done {
    /// It succeeded.
    Yes,
    /// It was refused, or could not be tried.
    No,
    /// A cluster answered 503: it may have happened all the same, or may still happen.
    Unknown,
}

impl Done {
    /// The ledger's entry for an end that was requested with this result.
    pub(super) fn end(self, sent: Micros) -> Option<Span> {
        match self {
            Self::Yes => Some(Span { sent, acked: Some(unix_micros()) }),
            Self::No => None,
            Self::Unknown => Some(Span { sent, acked: None }),
        }
    }
}

/// One worker at one process.
pub struct Actor<'a> {
    pub(super) wire: &'a Wire,
    pub(super) party: &'a RelyingPartyAtHand,
    pub(super) ledger: &'a mut Ledger,
    pub(super) tally: &'a mut Tally,
    /// Under which pressure the load runs, and so whether a 503 is acceptable and what it means.
    pub(super) pressure: Pressure,
    /// How many sessions are opened with one request; 0 for no such requests.
    pub(super) crowd: usize,
    /// What people who sign in have around them, if there are any.
    pub(super) people: Option<&'a People>,
}

impl Actor<'_> {
    /// POST to an endpoint, authenticated as the client.
    pub(super) fn as_client(&self, path: &str, form: &[(&str, &str)]) -> Result<Answer, NoAnswer> {
        let mut form = form.to_vec();
        form.extend([("client_id", &*self.party.id), ("client_secret", &*self.party.secret)]);
        self.wire.post(path, &form)
    }

    pub(super) fn refresh(&self, token: &str) -> Result<Answer, NoAnswer> {
        self.as_client("/token", &[("grant_type", "refresh_token"), ("refresh_token", token)])
    }

    pub(super) fn redeem(&self, code: &str, verifier: &str) -> Result<Answer, NoAnswer> {
        let form = [("grant_type", "authorization_code"), ("code", code), ("redirect_uri", REDIRECT_URI)];
        self.as_client("/token", &[&form[..], &[("code_verifier", verifier)]].concat())
    }

    /// Counts an answer: as acknowledged if it has a wanted status, as refused or unavailable if it is an acceptable
    /// 503, else as a violation.
    pub(super) fn accept(&mut self, kind: &str, wanted: &[u16], answer: &Answer) -> Done {
        if wanted.contains(&answer.status) {
            self.tally.count(&format!("acknowledged {kind}"));
            return Done::Yes;
        }
        match self.pressure {
            Pressure::FullDisk if answer.status == 503 && answer.is_unavailable() => {
                self.tally.count(&format!("refused (503) {kind}"));
                Done::No
            }
            Pressure::Faults if answer.is_unavailable() => {
                self.tally.count(&format!("unavailable (503) {kind}"));
                Done::Unknown
            }
            _ => {
                self.tally.violation(format!("{kind}: {}", told(answer)));
                Done::No
            }
        }
    }

    /// The same for an operation that only reads: a full disk is no reason to refuse it.
    fn accept_read(&mut self, kind: &str, wanted: &[u16], answer: &Answer) -> Done {
        let pressure = self.pressure;
        if pressure == Pressure::FullDisk {
            self.pressure = Pressure::None;
        }
        let done = self.accept(kind, wanted, answer);
        self.pressure = pressure;
        done
    }

    /// Creates a user and opens a session.
    pub(super) fn open_session(&mut self) -> Result<Done, NoAnswer> {
        let sent = unix_micros();
        let name = random::base64url::<12>(&SystemRandom);
        let email = format!("{name}@drill.example");
        let body = json!({ "email": email, "name": "A person", "email_verified": true });
        let answer = self.wire.admin("POST", "/users", Some(&body))?;
        let Done::Yes = self.accept("user", &[201], &answer) else { return Ok(Done::No) };
        let id = answer.json()["user"]["id"].as_str().expect("an id").to_owned();
        let created = Span { sent, acked: Some(unix_micros()) };
        self.ledger.people.push(Person { id: id.clone(), email, created });
        self.open_session_of(&id)
    }

    /// Opens a session of a user.
    pub(super) fn open_session_of(&mut self, user: &str) -> Result<Done, NoAnswer> {
        let sent = unix_micros();
        let body = json!({ "user_id": user, "ttl_seconds": 86_400 });
        let answer = self.wire.admin("POST", "/test/sessions", Some(&body))?;
        let Done::Yes = self.accept("session", &[201], &answer) else { return Ok(Done::No) };
        let secret = answer.json()["session_id"].as_str().expect("a session").to_owned();
        let opened = Span { sent, acked: Some(unix_micros()) };
        self.ledger.sessions.push(SignedIn { secret, sid: None, opened, ended: None });
        Ok(Done::Yes)
    }

    /// Opens many sessions of one user with one request, so that the store has something to flush and compact.
    pub(super) fn open_crowd(&mut self, user: &str, size: usize) -> Result<Done, NoAnswer> {
        let sent = unix_micros();
        let line = format!("{}\n", json!({ "user_id": user, "ttl_seconds": 86_400 }));
        let answer = self.wire.admin_lines("/sessions/bulk", &line.repeat(size))?;
        let Done::Yes = self.accept("crowd of sessions", &[200], &answer) else { return Ok(Done::No) };
        let opened = Span { sent, acked: Some(unix_micros()) };
        for line in answer.body.lines() {
            let told: Value = serde_json::from_str(line).unwrap_or_default();
            if let Some(secret) = told["session_id"].as_str() {
                self.ledger.crowd.push(SignedIn {
                    secret: secret.to_owned(),
                    sid: None,
                    opened,
                    ended: None,
                });
                self.tally.count("acknowledged session of a crowd");
            } else if self.pressure == Pressure::FullDisk {
                self.tally.count("refused session of a crowd");
            } else {
                self.tally.violation(format!("a session of a crowd: {line}"));
            }
        }
        Ok(Done::Yes)
    }

    /// The path of an authorization request, and its verifier.
    pub(super) fn authorization(&self, prompt: Option<&str>) -> (String, String) {
        let verifier = random::base64url::<32>(&SystemRandom).to_string();
        let challenge = encoding::encode(&digest::sha256(&[verifier.as_bytes()]));
        let query = form_urlencoded::Serializer::new(String::new())
            .extend_pairs([
                ("response_type", "code"),
                ("client_id", &*self.party.id),
                ("redirect_uri", REDIRECT_URI),
                ("scope", "openid profile email"),
                ("state", "s"),
                ("code_challenge", &challenge),
                ("code_challenge_method", "S256"),
            ])
            .extend_pairs(prompt.map(|prompt| ("prompt", prompt)))
            .finish();
        (format!("/authorize?{query}"), verifier)
    }

    /// Requests a code silently; returns the answer, the verifier and the time of sending.
    pub(super) fn ask_for_code(&self, session: &SignedIn) -> Result<(Answer, String, Micros), NoAnswer> {
        let (path, verifier) = self.authorization(Some("none"));
        let cookie = format!("{COOKIE}={}", session.secret);
        let sent = unix_micros();
        Ok((self.wire.get(&path, &[("cookie", &cookie)])?, verifier, sent))
    }

    /// A silent authorization; returns the index of its code.
    pub(super) fn authorize(&mut self, session: usize) -> Result<Option<usize>, NoAnswer> {
        let (answer, verifier, sent) = self.ask_for_code(&self.ledger.sessions[session])?;
        if answer.is_unavailable() {
            self.accept("silent authorization", &[], &answer);
            return Ok(None);
        }
        let Done::Yes = self.accept("silent authorization", &[302, 303], &answer) else { return Ok(None) };
        let Some(code) = answer.redirected("code") else {
            self.tally.violation(format!("a live session gives no code: {}", answer.location()));
            self.ledger.sessions[session].ended = Some(Span { sent, acked: None });
            return Ok(None);
        };
        let issued = Span { sent, acked: Some(unix_micros()) };
        self.ledger.codes.push(Code { code, verifier, issued, redeemed: None, chain: None });
        Ok(Some(self.ledger.codes.len() - 1))
    }

    /// A silent authorization whose code is redeemed, which begins a chain; returns the chain's index.
    pub(super) fn log_in(&mut self, session: usize) -> Result<Option<usize>, NoAnswer> {
        let Some(index) = self.authorize(session)? else { return Ok(None) };
        let (code, verifier) =
            (self.ledger.codes[index].code.clone(), self.ledger.codes[index].verifier.clone());
        let sent = unix_micros();
        self.ledger.codes[index].redeemed = Some(Span { sent, acked: None });
        let answer = self.redeem(&code, &verifier)?;
        if self.is_lost_code(&answer, sent) {
            return Ok(None);
        }
        let Done::Yes = self.accept("code redemption", &[200], &answer) else { return Ok(None) };
        Ok(Some(self.note_login(session, index, &answer, sent)))
    }

    /// Whether a code was lost with a primary of Redis, or expired because the answer took long. Both give the same
    /// error as a code that was used.
    fn is_lost_code(&mut self, answer: &Answer, sent: Micros) -> bool {
        let lost =
            self.pressure == Pressure::Faults && answer.status == 400 && answer.error() == "invalid_grant";
        if lost {
            let late = unix_micros() - sent > CODE_LIVES;
            self.tally.count(if late { "code that ended" } else { LOST_CODE });
        }
        lost
    }

    /// Notes the chain that a code began; returns its index.
    pub(super) fn note_login(&mut self, session: usize, code: usize, answer: &Answer, sent: Micros) -> usize {
        let span = Span { sent, acked: Some(unix_micros()) };
        let body = answer.json();
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        if self.ledger.sessions[session].sid.is_none() {
            let (_, claims) = crate::decode_jwt(&text("id_token"));
            self.ledger.sessions[session].sid = claims["sid"].as_str().map(str::to_owned);
        }
        let links = vec![Link { token: text("refresh_token"), span }];
        self.ledger.chains.push(Chain { session, links, attempt: None, successor: None, ended: None });
        let chain = self.ledger.chains.len() - 1;
        (self.ledger.codes[code].redeemed, self.ledger.codes[code].chain) = (Some(span), Some(chain));
        self.note_token(text("access_token"), chain, None, span);
        chain
    }

    pub(super) fn note_token(&mut self, access: String, chain: usize, parent: Option<usize>, issued: Span) {
        self.ledger.tokens.push(Token { access, chain, parent, issued, revoked: None });
    }

    /// Rotates a chain from its newest token; returns whether it was rotated.
    pub(super) fn rotate(&mut self, chain: usize) -> Result<Done, NoAnswer> {
        let Some(link) = self.ledger.chains[chain].links.last() else { return Ok(Done::No) };
        let token = link.token.clone();
        let sent = unix_micros();
        self.ledger.chains[chain].attempt = Some(sent);
        let answer = self.refresh(&token)?;
        let done = self.accept("rotation", &[200], &answer);
        self.ledger.chains[chain].attempt = matches!(done, Done::Unknown).then_some(sent);
        match done {
            Done::Yes => self.note_rotation(chain, &answer, sent),
            // One violation is reported once.
            Done::No if answer.status == 400 => {
                self.ledger.chains[chain].ended = Some(Span { sent, acked: None });
            }
            _ => {}
        }
        Ok(done)
    }

    pub(super) fn note_rotation(&mut self, chain: usize, answer: &Answer, sent: Micros) {
        let body = answer.json();
        let span = Span { sent, acked: Some(unix_micros()) };
        let token = body["refresh_token"].as_str().unwrap_or_default().to_owned();
        self.ledger.chains[chain].links.push(Link { token, span });
        self.note_token(body["access_token"].as_str().unwrap_or_default().to_owned(), chain, None, span);
    }

    /// Ends a session by the admin API.
    pub(super) fn end_session(&mut self, session: usize) -> Result<Done, NoAnswer> {
        let Some(sid) = self.ledger.sessions[session].sid.clone() else { return Ok(Done::No) };
        let sent = unix_micros();
        self.ledger.sessions[session].ended = Some(Span { sent, acked: None });
        let answer = self.wire.admin("DELETE", &format!("/sessions/{sid}"), None)?;
        let done = self.accept("end of a session", &[200, 204], &answer);
        self.ledger.sessions[session].ended = done.end(sent);
        Ok(done)
    }

    /// Revokes an access token.
    pub(super) fn revoke_token(&mut self, index: usize) -> Result<Done, NoAnswer> {
        let token = self.ledger.tokens[index].access.clone();
        let sent = unix_micros();
        self.ledger.tokens[index].revoked = Some(Span { sent, acked: None });
        let answer = self.as_client("/revoke", &[("token", &token)])?;
        let done = self.accept("revocation of an access token", &[200], &answer);
        self.ledger.tokens[index].revoked = done.end(sent);
        Ok(done)
    }

    /// Runs an operation that must end a chain, and notes the end.
    pub(super) fn end_chain(
        &mut self,
        chain: usize,
        kind: &str,
        wanted: u16,
        end: impl FnOnce(&Self) -> Result<Answer, NoAnswer>,
    ) -> Result<Done, NoAnswer> {
        let sent = unix_micros();
        self.ledger.chains[chain].ended = Some(Span { sent, acked: None });
        let answer = end(self)?;
        let done = self.accept(kind, &[wanted], &answer);
        self.ledger.chains[chain].ended = done.end(sent);
        Ok(done)
    }

    /// Exchanges an access token.
    pub(super) fn exchange(&mut self, parent: usize) -> Result<Done, NoAnswer> {
        let subject = self.ledger.tokens[parent].access.clone();
        let sent = unix_micros();
        let answer = self.as_client(
            "/token",
            &[
                ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
                ("subject_token", &subject),
                ("subject_token_type", "urn:ietf:params:oauth:token-type:access_token"),
                ("scope", "openid profile"),
            ],
        )?;
        let Done::Yes = self.accept("token exchange", &[200], &answer) else { return Ok(Done::No) };
        let issued = Span { sent, acked: Some(unix_micros()) };
        let access = answer.json()["access_token"].as_str().unwrap_or_default().to_owned();
        let chain = self.ledger.tokens[parent].chain;
        self.note_token(access, chain, Some(parent), issued);
        Ok(Done::Yes)
    }

    /// Whether introspection calls a token active; `None` if there was no usable answer.
    pub(super) fn introspect(&mut self, index: usize) -> Result<Option<bool>, NoAnswer> {
        let token = self.ledger.tokens[index].access.clone();
        let answer = self.as_client("/introspect", &[("token", &token)])?;
        let Done::Yes = self.accept_read("introspection", &[200], &answer) else { return Ok(None) };
        Ok(answer.json()["active"].as_bool())
    }

    /// The status of UserInfo with a token, 200 or 401; `None` if there was no usable answer.
    pub(super) fn userinfo(&mut self, index: usize) -> Result<Option<u16>, NoAnswer> {
        let bearer = format!("Bearer {}", self.ledger.tokens[index].access);
        let answer = self.wire.get("/userinfo", &[("authorization", &bearer)])?;
        let Done::Yes = self.accept_read("userinfo", &[200, 401], &answer) else { return Ok(None) };
        Ok(Some(answer.status))
    }
}

/// An answer as text, for reports.
pub(super) fn told(answer: &Answer) -> String {
    format!("{} {} {}", answer.status, answer.header("location").unwrap_or_default(), answer.body)
}
