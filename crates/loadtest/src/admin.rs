//! The admin API, as far as load tests need it. Every path is named here and nowhere else, as it is
//! where the API has its usual place; it may be elsewhere ([`AdminPlace`]).

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::client::{Connection, Timeouts, request};
use crate::seed::Steps;
use crate::{LoadtestError, Target};

/// Lists the issuers.
const ISSUERS: &str = "/api/admin/issuers";
/// Creates a client.
pub(crate) const CLIENTS: &str = "/api/admin/clients";
/// Creates a user.
pub(crate) const USERS: &str = "/api/admin/users";
/// Creates a session, where the test endpoints are on.
pub(crate) const TEST_SESSIONS: &str = "/api/admin/test/sessions";
/// Draws a sign-in code that is not sent by mail, likewise.
pub(crate) const TEST_EMAIL_CODES: &str = "/api/admin/test/email-codes";
/// Creates users: one JSON object per line, in and out.
pub(crate) const USERS_BULK: &str = "/api/admin/users/bulk";
/// Creates sessions, likewise.
pub(crate) const SESSIONS_BULK: &str = "/api/admin/sessions/bulk";
/// Issues access tokens, likewise.
pub(crate) const TOKENS_BULK: &str = "/api/admin/tokens/bulk";
/// Begins refresh-token families, likewise.
pub(crate) const FAMILIES_BULK: &str = "/api/admin/refresh-tokens/bulk";

/// How tokens are introspected.
pub(crate) const INTROSPECTION: &str = "/api/admin/settings/introspection-validation";
/// Hands out the key that access tokens are signed with, where the test endpoints are on.
pub(crate) const SIGNING_KEY: &str = "/api/admin/test/signing-key";

/// An issuer's settings.
pub(crate) const SETTINGS: &str = "/api/admin/settings";
/// The number of shards of a kind of state.
pub(crate) const CODE_SHARDS: &str = "/api/admin/settings/code-shards";
/// Likewise.
pub(crate) const SESSION_SHARDS: &str = "/api/admin/settings/session-shards";
/// Likewise.
pub(crate) const REFRESH_SHARDS: &str = "/api/admin/settings/refresh-shards";
/// Likewise.
pub(crate) const REVOCATION_SHARDS: &str = "/api/admin/settings/revocation-shards";

#[derive(Deserialize)]
struct Issuer {
    id: String,
    url: String,
}

/// Points the target at the part of the admin API that is about its issuer, where that is not the default one: what is below
/// `/api/admin` itself is about that. A provider without such a list has one issuer.
///
/// # Errors
/// The admin API cannot be asked.
pub(crate) async fn find_issuer(target: &mut Target) -> Result<(), LoadtestError> {
    let listed = Admin::connect(target).await?.show(ISSUERS).await;
    let issuers = listed.ok().and_then(|listed| listed.get("issuers").cloned());
    let issuers: Vec<Issuer> =
        issuers.and_then(|issuers| serde_json::from_value(issuers).ok()).unwrap_or_default();
    let own = issuers.into_iter().find(|issuer| issuer.url == target.issuer && issuer.id != DEFAULT_ISSUER);
    if let Some(Issuer { id, .. }) = own {
        target.admin.base = format!("{ISSUERS}/{id}");
    }
    Ok(())
}

/// The issuer that the paths without an issuer are about.
const DEFAULT_ISSUER: &str = "default";

/// Lines per bulk request: large enough to be cheap, small enough for progress to be seen.
const LINES_PER_REQUEST: usize = 5_000;

/// A connection to the admin API with its secret.
pub(crate) struct Admin<'a> {
    target: &'a Target,
    authorization: String,
    connection: Connection,
}

impl<'a> Admin<'a> {
    /// The provider whose it is.
    pub(crate) fn target(&self) -> &'a Target {
        self.target
    }

    pub(crate) async fn connect(target: &'a Target) -> Result<Self, LoadtestError> {
        let secret = target
            .admin_secret
            .as_ref()
            .ok_or_else(|| LoadtestError::Options("the target's admin secret is needed".into()))?;
        let connection = Connection::open(&target.admin.peer, Timeouts::default())
            .await
            .map_err(LoadtestError::http("admin API"))?;
        Ok(Self { target, authorization: format!("Bearer {}", secret.expose()), connection })
    }

    /// Posts one JSON document and reads one.
    pub(crate) async fn create(&mut self, path: &'static str, body: &Value) -> Result<Value, LoadtestError> {
        self.call("POST", path, body.to_string().as_bytes()).await
    }

    /// Reads one JSON document.
    pub(crate) async fn show(&mut self, path: &'static str) -> Result<Value, LoadtestError> {
        self.call("GET", path, b"").await
    }

    /// Puts one JSON document.
    pub(crate) async fn replace(&mut self, path: &'static str, body: &Value) -> Result<Value, LoadtestError> {
        self.call("PUT", path, body.to_string().as_bytes()).await
    }

    /// Changes some members of a JSON document.
    pub(crate) async fn change(&mut self, path: &'static str, body: &Value) -> Result<Value, LoadtestError> {
        self.call("PATCH", path, body.to_string().as_bytes()).await
    }

    async fn call(&mut self, method: &str, path: &'static str, body: &[u8]) -> Result<Value, LoadtestError> {
        let (status, answer) = self.send((method, path), "application/json", body).await?;
        if !(200..300).contains(&status) {
            return Err(LoadtestError::refused(path, status, &answer));
        }
        serde_json::from_slice(&answer).map_err(|_| LoadtestError::refused(path, status, &answer))
    }

    /// Posts many lines, reads as many and tells how far it is; `None` when the target has no such call.
    pub(crate) async fn bulk<I: Serialize, O: DeserializeOwned>(
        &mut self,
        path: &'static str,
        items: &[I],
        (steps, what): (&mut Steps<'_>, &str),
    ) -> Result<Option<Vec<O>>, LoadtestError> {
        let mut out = Vec::with_capacity(items.len());
        for chunk in items.chunks(LINES_PER_REQUEST) {
            let mut body = Vec::new();
            for item in chunk {
                serde_json::to_writer(&mut body, item).map_err(std::io::Error::from)?;
                body.push(b'\n');
            }
            let (status, answer) = self.send(("POST", path), "application/x-ndjson", &body).await?;
            if matches!(status, 404 | 405 | 415 | 501) && out.is_empty() {
                return Ok(None);
            }
            if !(200..300).contains(&status) {
                return Err(LoadtestError::refused(path, status, &answer));
            }
            let before = out.len();
            for line in answer.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
                out.push(
                    serde_json::from_slice(line).map_err(|_| LoadtestError::refused(path, status, line))?,
                );
            }
            if out.len() - before != chunk.len() {
                let detail = format!("{} lines for {}", out.len() - before, chunk.len());
                return Err(LoadtestError::Refused { what: path, status, detail });
            }
            steps.at(what, out.len(), items.len());
        }
        Ok(Some(out))
    }

    /// The same one by one where the target has no such call: each is posted to `path`.
    pub(crate) async fn bulk_or_each<I: Serialize, O: DeserializeOwned>(
        &mut self,
        (bulk, path): (&'static str, &'static str),
        items: &[I],
        (steps, what): (&mut Steps<'_>, &str),
    ) -> Result<Vec<O>, LoadtestError> {
        if let Some(all) = self.bulk(bulk, items, (&mut *steps, what)).await? {
            return Ok(all);
        }
        let mut all = Vec::with_capacity(items.len());
        for item in items {
            let body = serde_json::to_value(item).map_err(std::io::Error::from)?;
            let answer = self.create(path, &body).await?;
            all.push(serde_json::from_value(answer).map_err(|error| LoadtestError::Refused {
                what: path,
                status: 200,
                detail: error.to_string(),
            })?);
            steps.at(what, all.len(), items.len());
        }
        Ok(all)
    }

    async fn send(
        &mut self,
        (method, path): (&str, &'static str),
        content_type: &str,
        body: &[u8],
    ) -> Result<(u16, Vec<u8>), LoadtestError> {
        if !self.connection.is_reusable() {
            let renewed = self.connection.renew(&self.target.admin.peer, Timeouts::default()).await;
            renewed.map_err(LoadtestError::http(path))?;
        }
        let mut bytes = Vec::with_capacity(body.len() + 512);
        let fields = [("authorization", &*self.authorization), ("content-type", content_type)];
        let whole = self.target.admin.path(path);
        request::with_body(&mut bytes, (method, &whole), &self.target.admin.authority, &fields, body);
        let response = self.connection.exchange(&bytes).await.map_err(LoadtestError::http(path))?;
        Ok((response.status, response.body.to_vec()))
    }
}
