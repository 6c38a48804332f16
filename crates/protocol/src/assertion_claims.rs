//! The claims of an assertion (RFC 7523 3), whoever issued it.

use std::time::Duration;

use serde::{Deserialize, Deserializer};

use crate::refusal::Details;
use crate::time::Timestamp;

/// The tolerated difference between the clock of whoever signed and the server's.
pub(crate) const LEEWAY: Duration = Duration::from_secs(30);

/// The claims of RFC 7523 3. A repeated claim is an error (RFC 7519 4 leaves it to the parser).
#[derive(Deserialize)]
pub(crate) struct Claims {
    pub(crate) iss: String,
    pub(crate) sub: String,
    pub(crate) aud: Audience,
    pub(crate) exp: NumericDate,
    pub(crate) iat: Option<NumericDate>,
    pub(crate) nbf: Option<NumericDate>,
    pub(crate) jti: Option<String>,
}

/// RFC 7519 4.1.3: one string or several.
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum Audience {
    One(String),
    Many(Vec<String>),
}

impl Audience {
    /// Every audience.
    pub(crate) fn all(&self) -> impl Iterator<Item = &str> {
        let values = match self {
            Self::One(value) => std::slice::from_ref(value),
            Self::Many(values) => values.as_slice(),
        };
        values.iter().map(String::as_str)
    }

    /// The first of them, for the operator.
    pub(crate) fn shown(&self) -> String {
        self.all().take(5).collect::<Vec<_>>().join(" ")
    }

    /// The audience, if there is exactly one.
    pub(crate) fn only(&self) -> Option<&str> {
        match self {
            Self::One(value) => Some(value),
            Self::Many(values) => match values.as_slice() {
                [value] => Some(value),
                _ => None,
            },
        }
    }
}

/// RFC 7519 2: seconds; a fraction is dropped.
#[derive(Clone, Copy)]
pub(crate) struct NumericDate(pub(crate) Timestamp);

impl<'de> Deserialize<'de> for NumericDate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The cast saturates: negative numbers become the epoch, too large ones the end of time.
        f64::deserialize(deserializer).map(|seconds| Self(Timestamp::from_seconds(seconds as u64)))
    }
}

/// A claim in seconds beside the present time.
pub(crate) fn beside_clock(claim: &str, time: Timestamp, now: Timestamp) -> Details {
    let now = format!("{} on the provider's clock", now.seconds());
    Details::of(claim).sent(&time.seconds().to_string()).expected([now.as_str()])
}
