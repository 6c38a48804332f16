//! What a client registers for backchannel authentication (CIBA Core 4).

use serde::{Deserialize, Serialize};
use symbolon_crypto::algorithm::Algorithm;

/// How a client learns that somebody has decided (CIBA Core 5). Tokens are never pushed: they would be sent to whoever answers at an
/// address, and not to who authenticates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryMode {
    /// It asks the token endpoint again and again.
    Poll,
    /// It is told when to ask.
    Ping,
}

impl DeliveryMode {
    /// Every mode, as discovery lists them.
    pub const ALL: [Self; 2] = [Self::Poll, Self::Ping];

    /// The value of `backchannel_token_delivery_mode`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Poll => "poll",
            Self::Ping => "ping",
        }
    }
}

/// A client's metadata for backchannel authentication.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metadata {
    /// `backchannel_token_delivery_mode`.
    pub mode: DeliveryMode,
    /// `backchannel_client_notification_endpoint`: where it is told; only with [`DeliveryMode::Ping`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notification_endpoint: Option<String>,
    /// `backchannel_authentication_request_signing_alg`: if given, its requests must be signed, by this algorithm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_signing_alg: Option<Algorithm>,
}
