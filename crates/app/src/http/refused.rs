//! Where the reason of a refused request goes: to its log line, to the counters, and to the audit log.

use super::Context;
use crate::audit::{Circumstances, RefusedRequest};
use crate::rate_limit::network;
use symbolon_telemetry::{Current, RequestFacts};

impl Context {
    /// Notes why the request is refused. The audit log keeps it, but under a flood only some of a client's.
    pub fn refused(&self, refused: RefusedRequest<'_>) {
        let is_recorded = self.app.audit.request_refused(&refused, &self.circumstances());
        let client = refused.refusal.client().or(refused.client);
        if let Some(client) = client.filter(|_| !refused.refusal.reason.names_anybody()) {
            RequestFacts::new().client_id(client.as_str()).note();
        }
        Current::note_refusal(refused.refusal, is_recorded);
    }

    /// Notes that a login name or password is refused.
    pub fn sign_in_failed(&self, refused: RefusedRequest<'_>) {
        self.app.audit.sign_in_failed(&refused, &self.circumstances());
        Current::note_refusal(refused.refusal, true);
    }

    fn circumstances(&self) -> Circumstances<'_> {
        Circumstances {
            issuer: &self.issuer.id,
            endpoint: Current::endpoint(),
            address: self.remote,
            network: network(self.remote),
            request: &self.id,
            now: self.app.now(),
        }
    }
}
