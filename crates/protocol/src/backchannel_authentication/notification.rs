//! What a client in ping mode is told (CIBA Core 10.2).

use serde::{Deserialize, Serialize};
use symbolon_crypto::digest;
use symbolon_crypto::secret::SecretString;

use super::{AuthReqId, BackchannelRequestId};
use crate::id::{ClientId, DeliveryId, IssuerId};

/// What is sent to a client's notification endpoint once somebody has decided. Sealed wherever it is kept.
#[derive(Serialize, Deserialize)]
pub struct Notification {
    /// The client that is told.
    pub client: ClientId,
    auth_req_id: String,
    client_notification_token: String,
}

impl Notification {
    /// What a client is to be told of a request, with the token that it wants to be called with.
    pub fn new(client: &ClientId, id: &AuthReqId, token: &str) -> Self {
        let (auth_req_id, client_notification_token) = (id.expose().to_owned(), token.to_owned());
        Self { client: client.clone(), auth_req_id, client_notification_token }
    }

    /// The body of the call.
    pub fn body(&self) -> serde_json::Value {
        serde_json::json!({ "auth_req_id": self.auth_req_id })
    }

    /// The `Authorization` of the call: CIBA Core 10.2, a bearer token.
    pub fn authorization(&self) -> SecretString {
        SecretString::new(format!("Bearer {}", self.client_notification_token))
    }
}

/// The id under which the telling of a request waits. It is derived, so that what is told twice waits once; and it begins alike for
/// all that one client is told, so that a client which takes nothing does not fill the queue.
pub fn delivery_id(issuer: &IssuerId, client: &ClientId, request: &BackchannelRequestId) -> DeliveryId {
    let of_client = [b"ciba ping\0", issuer.as_str().as_bytes(), b"\0", client.as_str().as_bytes()];
    let digest = digest::sha256(&of_client);
    DeliveryId::for_recipient(digest.first_chunk().unwrap_or(&[0; 16]), request.bytes())
}
