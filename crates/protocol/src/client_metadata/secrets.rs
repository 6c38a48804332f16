//! The secret of a client: drawn or given, and renewed.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use symbolon_crypto::digest::HmacKey;
use symbolon_crypto::encoding;
use symbolon_crypto::random::{self, Random};
use symbolon_crypto::secret::SecretString;

use super::{Registration, invalid, later, take};
use crate::client::{Client, TokenEndpointAuthMethod};
use crate::client_secret::{ClientSecret, ClientSecrets, DIFFERENT_CHARACTERS, LONG, SHORTEST};
use crate::error::OAuthError;
use crate::refusal::Reason;
use crate::time::Timestamp;
use crate::unknown_member::Members;

/// The longest secret.
const MAX_SECRET: usize = 512;

/// The member with the digests of secrets that another installation drew: the application goes on with what it has.
const DIGESTS: &str = "client_secret_digests";

/// The most digests: as many secrets as can be alive.
const MOST_DIGESTS: usize = 2;

/// The digest of a secret, as an export writes it and a registration takes it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DigestRecord {
    /// The SHA-256 of the secret, in base64url.
    sha256: String,
    /// From when on the secret is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
}

/// What a registration says of the client's secrets.
pub(super) struct Given {
    secret: Option<SecretString>,
    /// Of secrets, with their ends.
    digests: Vec<([u8; 32], Option<Timestamp>)>,
}

impl Given {
    pub(super) fn read(doc: &mut Members) -> Result<Self, OAuthError> {
        let secret = take::<SecretString>(doc, "client_secret")?;
        let records = take::<Vec<DigestRecord>>(doc, DIGESTS)?.unwrap_or_default();
        if records.len() > MOST_DIGESTS || (secret.is_some() && !records.is_empty()) {
            return Err(invalid(DIGESTS, "has two digests at most, and none beside client_secret"));
        }
        if let [one, other] = &*records
            && one.sha256 == other.sha256
        {
            return Err(invalid(DIGESTS, "has the same digest twice"));
        }
        let digest = |record: DigestRecord| {
            let sha256 = encoding::decode_array(&record.sha256);
            let sha256 = sha256.map_err(|_| invalid(DIGESTS, "are not SHA-256 in base64url"))?;
            Ok((sha256, record.expires_at))
        };
        Ok(Self { secret, digests: records.into_iter().map(digest).collect::<Result<_, OAuthError>>()? })
    }

    /// The member that was sent; `None` if neither was.
    fn member(&self) -> Option<&'static str> {
        match self.secret {
            Some(_) => Some("client_secret"),
            None => (!self.digests.is_empty()).then_some(DIGESTS),
        }
    }

    /// Whether one of the digests is of a secret that the client does not have already: nobody sees from it how easily that
    /// secret is guessed.
    pub(super) fn is_unchecked(&self, own: &ClientSecrets, key: &HmacKey, now: Timestamp) -> bool {
        self.digests
            .iter()
            .any(|(sha256, end)| end.is_none_or(|end| now < end) && own.of_sha256(sha256, key).is_none())
    }

    /// The length of a secret that was given and is shorter than it should be.
    pub(super) fn too_short(&self) -> Option<usize> {
        self.secret.as_ref().map(|secret| secret.expose().len()).filter(|length| *length < LONG)
    }
}

/// The digests of a client's live secrets, as a registration takes them: those of at least [`LONG`] characters, because what is
/// kept of a shorter one depends on a key of the issuer.
pub fn secret_digests(client: &Client, now: Timestamp) -> Vec<Value> {
    let record = |secret: &ClientSecret| {
        let record =
            DigestRecord { sha256: encoding::encode(secret.sha256()?), expires_at: secret.expires_at };
        serde_json::to_value(record).ok()
    };
    client.client_secrets.live(now).iter().filter_map(record).collect()
}

/// The client with a new secret. The newest of its live secrets stays alive beside the new one for `keep_old`, so that the
/// application can be given the new one in between; zero ends it at once. No other secret stays.
///
/// # Errors
/// `invalid_request` if the client's authentication method uses no secret.
pub fn regenerate_secret(
    client: &Client,
    keep_old: Duration,
    key: &HmacKey,
    now: Timestamp,
    random: &dyn Random,
) -> Result<Registration, OAuthError> {
    if !uses_secret(client.token_endpoint_auth_method) {
        return Err(OAuthError::invalid_request(
            Reason::ClientMetadataInvalid,
            "the client's token_endpoint_auth_method knows no secret",
        ));
    }
    let secret = draw_secret(random);
    let new = ClientSecret::new(&secret, key, now, random);
    let mut client = client.clone();
    client.client_secrets = client.client_secrets.renewed(new, keep_old, now);
    client.updated_at = later(client.updated_at, now);
    Ok(Registration { client, client_secret: Some(secret), warnings: Vec::new() })
}

fn uses_secret(method: TokenEndpointAuthMethod) -> bool {
    use TokenEndpointAuthMethod as Method;
    matches!(method, Method::ClientSecretBasic | Method::ClientSecretPost)
}

/// The secrets to store, and the one to show if it is new. `own` are those that the client has and that are alive.
pub(super) fn secrets(
    method: TokenEndpointAuthMethod,
    given: Given,
    own: ClientSecrets,
    key: &HmacKey,
    now: Timestamp,
    random: &dyn Random,
) -> Result<(ClientSecrets, Option<SecretString>), OAuthError> {
    if !uses_secret(method) {
        return match given.member() {
            Some(member) => Err(invalid(member, "is not used by this token_endpoint_auth_method")),
            None => Ok((ClientSecrets::default(), None)),
        };
    }
    let known = given.digests.into_iter().map(|(sha256, end)| match own.of_sha256(&sha256, key) {
        // The client has it already: what is known of it stays.
        Some(own) => ClientSecret { expires_at: end, ..own.clone() },
        None => ClientSecret::of_digest(sha256, end, now, random),
    });
    let known: Vec<ClientSecret> = known.filter(|secret| secret.is_live(now)).collect();
    if !known.is_empty() {
        return Ok((ClientSecrets::from(known), None));
    }
    let secret = match given.secret {
        Some(secret) => {
            check_given(secret.expose())?;
            secret
        }
        None if own.is_empty() => draw_secret(random),
        None => return Ok((own, None)),
    };
    let stored = ClientSecret::new(&secret, key, now, random);
    Ok((ClientSecrets::only(stored), Some(secret)))
}

/// Whether a secret of somebody else's drawing may be taken. RFC 6749 10.10: the chance to guess it MUST be below 2^-128 and
/// SHOULD be below 2^-160. Secrets of a provider that drew shorter ones are taken all the same, so that its applications can
/// be moved one by one; decision 034 says what protects them.
fn check_given(text: &str) -> Result<(), OAuthError> {
    if !(SHORTEST..=MAX_SECRET).contains(&text.len()) || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        let why = format!("must be {SHORTEST} to {MAX_SECRET} visible ASCII characters");
        return Err(invalid("client_secret", why));
    }
    if text.bytes().collect::<BTreeSet<_>>().len() < DIFFERENT_CHARACTERS {
        let why =
            format!("must have at least {DIFFERENT_CHARACTERS} different characters: it is easily guessed");
        return Err(invalid("client_secret", why));
    }
    Ok(())
}

/// A new secret: 256 random bits after a prefix by which scanners find leaked secrets.
fn draw_secret(random: &dyn Random) -> SecretString {
    SecretString::new(format!("cs_{}", random::base64url::<32>(random)))
}
