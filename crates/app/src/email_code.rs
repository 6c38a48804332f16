//! Codes sent by e-mail: what the browser keeps of one that was sent.

use std::time::Duration;

use symbolon_crypto::seal::SealError;
use symbolon_protocol::id::UserId;
use symbolon_protocol::sign_in::email_code::{EmailCode, SentCode};

use crate::app::App;
use crate::issuer::IssuerState;

/// The purpose of the sealed value.
const PURPOSE: &str = "email code";

/// To a multiple of this the value is filled up before it is sealed: more than name and user take together.
const PADDED: usize = 1_024;

/// A code that is about to be sent.
pub struct NewCode {
    /// The code, for the mail.
    pub code: EmailCode,
    /// What the browser keeps, sealed. Whoever has this and the code is signed in, so it goes to the browser that asked
    /// and nowhere else.
    pub sealed: String,
    /// What is sealed.
    pub sent: SentCode,
}

/// Draws a code for whoever has a name or address, before anybody is looked up. `user`: only if the code is handed out for
/// this user, and not mailed.
///
/// # Errors
/// [`SealError`]
pub fn begin(
    app: &App,
    issuer: &IssuerState,
    (name, user): (&str, Option<UserId>),
    lives: Duration,
) -> Result<NewCode, SealError> {
    let code = EmailCode::draw(&*app.random);
    let sent = SentCode::new((name, user), &code, &issuer.sign_in_key, (app.now(), lives), &*app.random);
    let mut plain = serde_json::to_vec(&sent).map_err(|_| SealError::Failed)?;
    // The length of what is sealed tells nothing of the name or the user: JSON may end in spaces.
    plain.resize(plain.len().next_multiple_of(PADDED), b' ');
    let sealed = issuer.interactions.seal(PURPOSE, &plain)?;
    Ok(NewCode { code, sealed, sent })
}

/// Opens what the browser has kept; `None` if this issuer has not sealed it for this purpose.
pub fn open(issuer: &IssuerState, sealed: &str) -> Option<SentCode> {
    let opened = issuer.interactions.open(PURPOSE, sealed).ok()?;
    serde_json::from_slice(opened.expose()).ok()
}
