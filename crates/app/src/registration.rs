//! Who may open an account at an issuer, and invitations: their links and their use.

use symbolon_config::Mode;
use symbolon_crypto::seal::SealError;
use symbolon_protocol::sign_in::invitation::{Invitation, mark};
use symbolon_protocol::sign_in::registration::Registration;
use symbolon_protocol::time::Timestamp;
use symbolon_store::{Outcome, StoreError};

use crate::app::App;
use crate::issuer::IssuerState;
use crate::one_use::use_once;

/// The path of the registration page, relative to an issuer.
pub const PATH: &str = "/register";

/// The parameter of an invitation.
pub const INVITATION: &str = "invitation";

/// The kind of the marks of invitations of an earlier release.
const MARK: &str = "invitation";

/// The purpose of the sealed value.
const PURPOSE: &str = "invitation";

impl App {
    /// Who may open an account: the issuer's setting; without one nobody, and in development mode everybody.
    pub fn registration(&self, issuer: &IssuerState) -> Registration {
        issuer.settings.load().registration.unwrap_or_else(|| match self.config.load().mode {
            Mode::Development => Registration::Open,
            Mode::Production => Registration::Closed,
        })
    }
}

/// An address of an issuer's page.
pub fn page_url(issuer: &IssuerState, path: &str) -> String {
    format!("{}{path}", issuer.url.strip_suffix('/').unwrap_or(&issuer.url))
}

/// The link of an invitation. Whoever has it may open the account.
///
/// # Errors
/// [`SealError`]
pub fn invitation_link(issuer: &IssuerState, invitation: &Invitation) -> Result<String, SealError> {
    let plain = serde_json::to_vec(invitation).map_err(|_| SealError::Failed)?;
    let sealed = issuer.interactions.seal(PURPOSE, &plain)?;
    Ok(page_url(issuer, &format!("{PATH}?{INVITATION}={sealed}")))
}

/// Opens what the link of an invitation carries; `None` if this issuer has not sealed it for this purpose.
pub fn open_invitation(issuer: &IssuerState, sealed: &str) -> Option<Invitation> {
    let opened = issuer.interactions.open(PURPOSE, sealed).ok()?;
    serde_json::from_slice(opened.expose()).ok()
}

/// Whether an invitation that was opened from its link still leads in: its time is not over, and as far as a record tells, it
/// was neither used nor withdrawn. Of an invitation of an earlier release no record is kept, and its use tells.
///
/// # Errors
/// [`StoreError`]
pub async fn leads_in(
    (app, issuer): (&App, &IssuerState),
    invitation: &Invitation,
) -> Result<bool, StoreError> {
    let now = app.now();
    if !invitation.is_live(now) || Invitation::end_of(&invitation.id).is_some() {
        return Ok(invitation.is_live(now));
    }
    let kept = app.store.invitation(&issuer.id, &invitation.id).await?;
    Ok(kept.is_some_and(|kept| kept.is_open(now)))
}

/// Uses an invitation up: true for one caller. One of an earlier release, which ends at `ends_at`, is withdrawn by this too,
/// because its mark says only that it leads in no longer.
///
/// # Errors
/// [`StoreError`]
pub async fn use_invitation(
    (app, issuer): (&App, &IssuerState),
    (id, ends_at): (&str, Timestamp),
) -> Result<Outcome<bool>, StoreError> {
    if Invitation::end_of(id).is_some() {
        return use_once((app, issuer), MARK, &mark(id), ends_at).await;
    }
    app.store.use_invitation(&issuer.id, id, app.now()).await.map(Outcome::settled)
}
