//! The text that a client and the page of the decision both show (CIBA Core 7.1).

use crate::error::{ErrorCode, OAuthError};
use crate::refusal::{Details, Reason};

/// The longest message, in characters: it stands on the small screen of a till or a telephone too.
const LONGEST: usize = 100;

/// Signs beyond letters, digits and ASCII that every script's plain text may have.
const SIGNS: &str = "\u{20ac}\u{a3}\u{a5}\u{a7}\u{b0}\u{b7}\u{ab}\u{bb}\u{2013}\u{2014}\u{2018}\u{2019}\u{201c}\u{201d}\u{201e}\u{2026}\u{2116}\u{3001}\u{3002}\u{300c}\u{300d}\u{30fb}";

/// Checks `binding_message`: plain text that two people read alike. Pictures, and characters that change the direction or the look of
/// others, are none.
///
/// # Errors
/// `invalid_binding_message` (CIBA Core 13).
pub(super) fn check(text: &str) -> Result<(), OAuthError> {
    let is_plain =
        |c: char| matches!(c, ' '..='~') || (!c.is_ascii() && (c.is_alphanumeric() || SIGNS.contains(c)));
    if text.chars().count() <= LONGEST && !text.trim().is_empty() && text.chars().all(is_plain) {
        return Ok(());
    }
    let (code, reason) = (ErrorCode::InvalidBindingMessage, Reason::BindingMessageInvalid);
    let description = "binding_message must be 1 to 100 letters, digits, spaces and common signs";
    Err(OAuthError::new(code, reason, description).about(Details::of("binding_message").sent(text)))
}
