//! Who may open an account at an issuer, and the links of invitations.

use symbolon_config::Mode;
use symbolon_crypto::seal::SealError;
use symbolon_protocol::sign_in::invitation::Invitation;
use symbolon_protocol::sign_in::registration::Registration;

use crate::app::App;
use crate::issuer::IssuerState;

/// The path of the registration page, relative to an issuer.
pub const PATH: &str = "/register";

/// The parameter of an invitation.
pub const INVITATION: &str = "invitation";

/// The kind of the marks of invitations.
pub const MARK: &str = "invitation";

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
