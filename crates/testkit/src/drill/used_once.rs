//! What is used once, beside codes: pushed requests, codes of devices, DPoP proofs.

use serde_json::json;
use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::random::{self, SystemRandom};

use super::actor::{Actor, Done, LOST_CODE, told};
use super::ledger::{Micros, Moment, Span};
use super::people::visit::Visit;
use super::provider::COOKIE;
use super::{Depth, Dice, NoAnswer, Pressure, unix_micros};
use crate::browser::Answer;
use crate::signing::Signing;

/// The grant type of devices (RFC 8628 3.4).
pub(super) const DEVICE: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// The name of the count of pushed requests that were used a second time. A cluster allows it where a primary of Redis was
/// lost at that moment.
pub const LOST_USE: &str = "pushed request that was used twice";

/// Most of them that are checked, per worker.
const CHECKED: usize = 600;

/// What it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnceKind {
    /// A pushed request, by its `request_uri` (RFC 9126).
    PushedRequest,
    /// A device code that was allowed (RFC 8628), which is redeemed once.
    DeviceCode,
    /// A device code that was denied, which is never redeemed.
    DeniedDeviceCode,
    /// A DPoP proof (RFC 9449).
    Proof,
}

impl OnceKind {
    /// Its name in counts and violations.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PushedRequest => "pushed request",
            Self::DeviceCode => "device code",
            Self::DeniedDeviceCode => "denied device code",
            Self::Proof => "proof",
        }
    }

    /// Whether a single machine keeps it in memory, so that nothing of it is left after an accident.
    const fn ends_with_the_process(self) -> bool {
        !matches!(self, Self::Proof)
    }

    /// How a cluster's answer counts that refuses the first use.
    const fn lost(self) -> &'static str {
        match self {
            Self::PushedRequest => "pushed request that was not there",
            Self::DeviceCode | Self::DeniedDeviceCode => LOST_CODE,
            // The clocks of nodes are wrong at times.
            Self::Proof => "proof that was refused",
        }
    }

    /// Whether an answer refuses it as used, or as not there.
    fn is_refused(self, answer: &Answer) -> bool {
        let errors: &[&str] = match self {
            // A page: nobody knows where to send the person.
            Self::PushedRequest => return answer.status == 400,
            Self::DeviceCode => &["invalid_grant", "expired_token"],
            Self::DeniedDeviceCode => &["access_denied", "invalid_grant", "expired_token"],
            // A store that was killed does not know which proofs were used, and asks for a nonce.
            Self::Proof => &["invalid_dpop_proof", "use_dpop_nonce"],
        };
        answer.status == 400 && errors.contains(&&*answer.error())
    }
}

/// Something that is used once.
#[derive(Clone, Debug)]
pub struct UsedOnce {
    /// What it is.
    pub kind: OnceKind,
    /// What is presented: a `request_uri`, a device code, a proof.
    pub secret: String,
    /// The request whose answer contained it; of a proof, when it was made.
    pub made: Span,
    /// When it was used; of a denied device code, when it was denied.
    pub used: Option<Span>,
}

impl UsedOnce {
    /// As it was known at a moment; `None` if it was not there yet.
    pub(super) fn as_of(&self, at: Moment) -> Option<Self> {
        let made = self.made.as_of(at).filter(|span| span.acked.is_some())?;
        Some(Self { made, used: self.used.and_then(|span| span.as_of(at)), ..self.clone() })
    }
}

impl Actor<'_> {
    /// Makes something that is used once, and uses it most of the time; then it is refused a second time.
    pub(super) fn use_once(&mut self, session: usize, dice: &mut Dice) -> Result<(), NoAnswer> {
        let used = match dice.below(3) {
            0 => self.push(session, dice)?,
            1 => self.connect_device(session, dice)?,
            _ => self.use_proof()?,
        };
        match used {
            Some(index) if dice.once_in(3) => self.check_used_once(index),
            _ => Ok(()),
        }
    }

    fn note_made(&mut self, kind: OnceKind, secret: String, sent: Micros) -> usize {
        let made = Span { sent, acked: Some(unix_micros()) };
        self.ledger.used_once.push(UsedOnce { kind, secret, made, used: None });
        self.ledger.used_once.len() - 1
    }

    /// Notes that the first use was sent.
    fn note_sent(&mut self, index: usize) -> Micros {
        let sent = unix_micros();
        self.ledger.used_once[index].used = Some(Span { sent, acked: None });
        sent
    }

    /// Notes the answer to the first use; the same index if it was accepted.
    fn note_used(
        &mut self,
        index: usize,
        (answer, is_right): (&Answer, bool),
        sent: Micros,
    ) -> Option<usize> {
        let kind = self.ledger.used_once[index].kind;
        if self.pressure == Pressure::Faults && !is_right && kind.is_refused(answer) {
            // Whether it was used before it was lost stays unknown.
            self.tally.count(kind.lost());
            return None;
        }
        let status = [answer.status];
        let wanted = if is_right { &status[..] } else { &[] };
        let done = self.accept(&format!("use of a {}", kind.name()), wanted, answer);
        self.ledger.used_once[index].used = done.end(sent);
        matches!(done, Done::Yes).then_some(index)
    }

    /// Pushes a request, and sends a person with it most of the time.
    fn push(&mut self, session: usize, dice: &mut Dice) -> Result<Option<usize>, NoAnswer> {
        let (path, _) = self.authorization(Some("none"));
        let query = path.split_once('?').map_or("", |(_, query)| query);
        let form: Vec<(String, String)> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        // The client is named with its secret.
        let form = form.iter().filter(|(name, _)| name != "client_id");
        let form: Vec<(&str, &str)> = form.map(|(name, value)| (&**name, &**value)).collect();
        let sent = unix_micros();
        let answer = self.as_client("/par", &form)?;
        let Done::Yes = self.accept("pushed request", &[201], &answer) else { return Ok(None) };
        let request_uri = answer.json()["request_uri"].as_str().unwrap_or_default().to_owned();
        let index = self.note_made(OnceKind::PushedRequest, request_uri.clone(), sent);
        if dice.once_in(4) {
            return Ok(None);
        }
        let cookie = format!("{COOKIE}={}", self.ledger.sessions[session].secret);
        let sent = self.note_sent(index);
        let answer = self.send_pushed(&request_uri, &[("cookie", &cookie)])?;
        let gives_code = answer.status / 100 == 3 && answer.redirected("code").is_some();
        Ok(self.note_used(index, (&answer, gives_code), sent))
    }

    fn send_pushed(&self, request_uri: &str, headers: &[(&str, &str)]) -> Result<Answer, NoAnswer> {
        let query = form_urlencoded::Serializer::new(String::new())
            .extend_pairs([("client_id", &*self.party.id), ("request_uri", request_uri)])
            .finish();
        self.wire.get(&format!("/authorize?{query}"), headers)
    }

    /// A device asks, the person of a session decides, and the device redeems what it was allowed.
    fn connect_device(&mut self, session: usize, dice: &mut Dice) -> Result<Option<usize>, NoAnswer> {
        let sent = unix_micros();
        let answer = self.as_client("/device_authorization", &[("scope", "openid profile")])?;
        let Done::Yes = self.accept("device authorization", &[200], &answer) else { return Ok(None) };
        let body = answer.json();
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        let is_allowed = !dice.once_in(3);
        let kind = if is_allowed { OnceKind::DeviceCode } else { OnceKind::DeniedDeviceCode };
        let index = self.note_made(kind, text("device_code"), sent);
        let decision = if is_allowed { "allow" } else { "deny" };
        if is_allowed {
            let Done::Yes = self.decide(session, &text("user_code"), decision)? else { return Ok(None) };
            if dice.once_in(4) {
                return Ok(None);
            }
            let sent = self.note_sent(index);
            let answer = self.poll(&text("device_code"))?;
            return Ok(self.note_used(index, (&answer, answer.status == 200), sent));
        }
        let sent = self.note_sent(index);
        let done = self.decide(session, &text("user_code"), decision)?;
        self.ledger.used_once[index].used = done.end(sent);
        Ok(matches!(done, Done::Yes).then_some(index))
    }

    /// Decides about a device on its page.
    fn decide(&mut self, session: usize, user_code: &str, decision: &str) -> Result<Done, NoAnswer> {
        let cookie = format!("{COOKIE}={}", self.ledger.sessions[session].secret);
        let mut visit = Visit::with_cookies(&cookie);
        let page = visit.get(self.wire, &format!("/device?user_code={user_code}"))?;
        if self.is_lost_device(&page) {
            return Ok(Done::Unknown);
        }
        let Done::Yes = self.accept("page of a device", &[200], &page) else { return Ok(Done::No) };
        let field = |name: &str| page.field(name).unwrap_or_default();
        let (code, csrf) = (field("user_code"), field("csrf_token"));
        let form = [("user_code", &*code), ("csrf_token", &*csrf), ("decision", decision)];
        let answer = visit.post(self.wire, "/device", &form)?;
        if self.is_lost_device(&answer) {
            return Ok(Done::Unknown);
        }
        Ok(self.accept("decision about a device", &[303], &answer))
    }

    /// Whether what a device asked for was lost with a primary of Redis.
    fn is_lost_device(&mut self, answer: &Answer) -> bool {
        let is_lost = self.pressure == Pressure::Faults && answer.status == 400;
        if is_lost {
            self.tally.count(LOST_CODE);
        }
        is_lost
    }

    fn poll(&self, device_code: &str) -> Result<Answer, NoAnswer> {
        self.as_client("/token", &[("grant_type", DEVICE), ("device_code", device_code)])
    }

    /// Gets a token that is bound by a new proof, with a nonce if one is asked for (RFC 9449 8).
    fn use_proof(&mut self) -> Result<Option<usize>, NoAnswer> {
        self.use_proof_with(None)
    }

    fn use_proof_with(&mut self, nonce: Option<&str>) -> Result<Option<usize>, NoAnswer> {
        let (key, now) = (Signing::generate(Algorithm::Es256), unix_micros());
        let mut claims = json!({
            "jti": random::base64url::<16>(&SystemRandom), "htm": "POST",
            "htu": format!("{}/token", self.party.issuer), "iat": now / 1_000_000,
        });
        if let Some(nonce) = nonce {
            claims["nonce"] = json!(nonce);
        }
        let proof = key.jws(&key.dpop_header(), &claims);
        let index = self.note_made(OnceKind::Proof, proof.clone(), now);
        let sent = self.note_sent(index);
        let answer = self.with_proof(&proof)?;
        if let Some(wanted) = answer.header("dpop-nonce").filter(|_| nonce.is_none() && answer.status == 400)
        {
            self.ledger.used_once.pop();
            return self.use_proof_with(Some(wanted));
        }
        let is_bound = answer.status == 200 && answer.json()["token_type"] == "DPoP";
        Ok(self.note_used(index, (&answer, is_bound), sent))
    }

    fn with_proof(&self, proof: &str) -> Result<Answer, NoAnswer> {
        let (id, secret) = (&*self.party.id, &*self.party.secret);
        let form = [("grant_type", "client_credentials"), ("client_id", id), ("client_secret", secret)];
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let headers = [("content-type", "application/x-www-form-urlencoded"), ("dpop", proof)];
        self.wire.send("POST", "/token", &headers, body.as_bytes())
    }

    /// Nothing of it may be accepted again that was used; and on a single machine nothing that ended with its process.
    pub(super) fn verify_used_once(&mut self, depth: Depth, dice: &mut Dice) -> Result<(), NoAnswer> {
        for index in depth.at_most(CHECKED).choose(self.ledger.used_once.len(), dice) {
            let once = &self.ledger.used_once[index];
            let was_used = once.used.is_some_and(|span| span.acked.is_some());
            let is_lost = self.pressure != Pressure::Faults && once.kind.ends_with_the_process();
            if was_used || is_lost {
                self.check_used_once(index)?;
            }
        }
        Ok(())
    }

    fn check_used_once(&mut self, index: usize) -> Result<(), NoAnswer> {
        let UsedOnce { kind, secret, used, .. } = self.ledger.used_once[index].clone();
        let answer = match kind {
            OnceKind::PushedRequest => self.send_pushed(&secret, &[])?,
            OnceKind::DeviceCode | OnceKind::DeniedDeviceCode => self.poll(&secret)?,
            OnceKind::Proof => self.with_proof(&secret)?,
        };
        if self.pressure != Pressure::None && answer.is_unavailable() {
            self.tally.count(&format!("unavailable (503) {} again", kind.name()));
            return Ok(());
        }
        if self.pressure == Pressure::Faults && kind == OnceKind::PushedRequest && answer.status / 100 == 3 {
            self.tally.count(LOST_USE);
            return Ok(());
        }
        let state = if used.is_some_and(|span| span.acked.is_some()) { "used" } else { "lost" };
        let what = format!("{} that was {state}", kind.name());
        self.tally.check(&what, kind.is_refused(&answer), || told(&answer));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_use_is_unknown_until_it_is_answered() {
        let span = |sent, acked| Span { sent, acked: Some(acked) };
        let proof = UsedOnce {
            kind: OnceKind::Proof,
            secret: String::new(),
            made: span(10, 12),
            used: Some(span(20, 30)),
        };
        let used = |at| proof.as_of(at).map(|one| one.used.map(|span| span.acked.is_some()));
        assert_eq!([11, 12, 25, 30].map(used), [None, Some(None), Some(Some(false)), Some(Some(true))]);
    }
}
