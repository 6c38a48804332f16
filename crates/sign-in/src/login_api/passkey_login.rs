//! Signing in with a passkey.

use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use symbolon_protocol::id::{ClientId, UserId};
use symbolon_protocol::refusal::Details;
use symbolon_protocol::sign_in::method::SignInMethod;
use symbolon_protocol::sign_in::passkey::{Assertion, imagined_credential};
use symbolon_protocol::sign_in::{Factor, Proven};

use super::answer::{FirstStep, Wanted, ok, signed_in};
use super::{allowed_origin, body, email, offered};
use crate::passkey_attempt::{ProvenPasskey, owner, prove_by, unknown};
use crate::passkey_challenge::{Ceremony, Challenge, refused, relying_party};
use symbolon_app::http::{Call, Context, Failure};

/// Signing in. The account is not named here: the length of the value would tell whether it exists.
#[derive(Serialize, Deserialize)]
struct SigningIn {
    /// The address that was typed, if one was.
    email: Option<String>,
}

impl Ceremony for SigningIn {
    const PURPOSE: &'static str = "passkey sign-in";
}

#[derive(Deserialize)]
struct OptionsRequest {
    email: Option<String>,
}

/// `POST /api/auth/passkey/login/options`
///
/// # Errors
/// [`Failure`]
pub(super) async fn options(call: &mut Call) -> Result<Response, Failure> {
    let origin = allowed_origin(call)?;
    offered(call, SignInMethod::Passkey)?;
    let asked: OptionsRequest = body(call)?;
    let typed = asked.email.as_deref().map(email).transpose()?.map(str::to_owned);
    let context = &call.context;
    let allowed = match &typed {
        Some(email) => credentials_of(context, email).await?,
        None => Vec::new(),
    };
    let challenge = Challenge::make(context, &origin, SigningIn { email: typed })?;
    let options = relying_party(context, &origin)?.request_options(&allowed, &challenge);
    Ok(ok(Map::from_iter([
        ("challengeId".to_owned(), Value::String(challenge)),
        ("options".to_owned(), options),
    ])))
}

/// The credentials of an account, or an imagined one: as much is read and as much is told of an account that does not
/// exist or has no passkey.
async fn credentials_of(context: &Context, email: &str) -> Result<Vec<String>, Failure> {
    let Context { app, issuer, .. } = context;
    let imagined = imagined_credential(&issuer.sign_in_key, email);
    let found = app.store.user_by_login(&issuer.id, email).await?;
    let user = found.map_or_else(|| UserId::trusted(imagined.as_str()), |(user, _)| user.id.clone());
    let enrolled = app.store.authenticators(&issuer.id, &user).await?.set;
    let ids: Vec<String> = enrolled.passkeys.into_iter().map(|passkey| passkey.id).collect();
    Ok(if ids.is_empty() { vec![imagined] } else { ids })
}

#[derive(Deserialize)]
struct Answered {
    #[serde(rename = "challengeId")]
    challenge_id: String,
    credential: Value,
    client_id: Option<ClientId>,
    acr_values: Option<String>,
}

/// `POST /api/auth/passkey/login/verify`
///
/// # Errors
/// [`Failure`]
pub(super) async fn verify(call: &mut Call) -> Result<Response, Failure> {
    let origin = allowed_origin(call)?;
    offered(call, SignInMethod::Passkey)?;
    let Answered { challenge_id, credential, client_id, acr_values } = body(call)?;
    let wanted = Wanted::of(call, client_id.as_ref(), acr_values.as_deref()).await?;
    let context = call.context.clone();
    let answer = Assertion::parse(credential).map_err(|why| refused(why, Details::default()))?;
    let challenge = Challenge::<SigningIn>::open(&context, &origin, &challenge_id)?;
    let Some(user) = owner(&context, &answer, challenge.ceremony.email.as_deref()).await? else {
        return Err(unknown(Details::default()));
    };
    let by = prove_by(call, (&challenge, &challenge_id), &answer, user).await?;
    let ProvenPasskey { user, is_synced, enrolled, .. } = by;
    let proven = Proven::by(Factor::Passkey { is_synced }, context.app.now());
    // Two factors at once.
    let first = FirstStep { proven, proof: None, enrolled };
    signed_in(call, (&origin, &wanted), (&user, first), json!({ "verified": true })).await
}
