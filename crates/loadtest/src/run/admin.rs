//! What a run asks the provider's admin API for, where there is one.

use serde_json::{Value, json};

use crate::client::{Connection, Timeouts, request};
use crate::{LoadtestError, Target};

/// The longest that a code may live (RFC 6749 4.1.2), in seconds.
const CODE_SECONDS: u64 = 600;

/// How many shards a kind of state has; nothing if the provider does not say.
pub(super) async fn shards(target: &Target, kind: &str) -> Option<u32> {
    let path = format!("/api/admin/settings/{kind}-shards");
    let answer = call(target, ("GET", &path), None).await.ok()?;
    u32::try_from(answer.get("shards")?.as_u64()?).ok()
}

/// Lets codes live as long as they may, so that they can be obtained before the run that redeems them.
///
/// # Errors
/// What the provider answers instead.
pub(super) async fn lengthen_codes(target: &Target) -> Result<(), LoadtestError> {
    let body = json!({ "lifetimes": { "code": CODE_SECONDS } });
    call(target, ("PATCH", "/api/admin/settings"), Some(&body)).await.map(drop)
}

async fn call(
    target: &Target,
    (method, path): (&str, &str),
    body: Option<&Value>,
) -> Result<Value, LoadtestError> {
    const WHAT: &str = "admin API";
    let secret =
        target.admin_secret.as_ref().ok_or_else(|| LoadtestError::Options("no admin secret".into()))?;
    let authorization = format!("Bearer {}", secret.expose());
    let fields = [("authorization", &*authorization), ("content-type", "application/json")];
    let mut connection =
        Connection::open(target.address, Timeouts::default()).await.map_err(LoadtestError::http(WHAT))?;
    let mut bytes = Vec::new();
    match body {
        Some(body) => {
            let body = body.to_string();
            request::with_body(&mut bytes, (method, path), &target.authority, &fields, body.as_bytes());
        }
        None => request::get(&mut bytes, path, &target.authority, &fields),
    }
    let response = connection.exchange(&bytes).await.map_err(LoadtestError::http(WHAT))?;
    if response.status != 200 {
        return Err(LoadtestError::refused(WHAT, response.status, response.body));
    }
    serde_json::from_slice(response.body).map_err(|_| LoadtestError::refused(WHAT, 200, response.body))
}
