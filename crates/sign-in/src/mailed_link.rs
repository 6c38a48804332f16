//! Links that stand for a mailed code in the browser that asked for it.
//!
//! What waits in the browser is sealed into the link too, with a digest of that browser's cookie. In that browser the link
//! leads on without the code; in any other one, and for a scanner of mail, it changes nothing and proves nothing.

use serde::{Deserialize, Serialize};
use symbolon_crypto::secret::SecretString;
use symbolon_protocol::params::Params;
use symbolon_protocol::sign_in::mailed_code::MailedCode;

use crate::interaction::{Interaction, Pending};
use symbolon_app::http::csrf::Browser;
use symbolon_app::http::{Call, Context, Failure};
use symbolon_app::registration::page_url;

/// The longest link, in bytes: some programs of mail cut longer ones.
pub(super) const LONGEST: usize = 1_900;

/// The parameter of a link.
pub(super) const LINK: &str = "link";

/// What waits for a mailed code.
pub(super) trait Mailed: Pending + Clone {
    /// The sealing purpose of its links.
    const LINK_PURPOSE: &'static str;
    /// The path of its links.
    const LINK_PATH: &'static str;

    /// The code that was mailed.
    fn code(&self) -> Option<&MailedCode>;

    /// Notes that the link was opened where it was asked for.
    fn set_proven(&mut self);

    /// The same without what it can do without, for a link that would be too long.
    fn shortened(self) -> Self {
        self
    }
}

/// The sealed contents of a link.
#[derive(Serialize, Deserialize)]
struct Contents<P> {
    /// The digest of the cookie of the browser that asked.
    browser: String,
    pending: P,
    /// The code, for a mail that has none: another browser shows it, to be typed where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<String>,
}

/// The link for a mail; `None` if it would be too long. `shown`: the code, if the mail has none.
///
/// # Errors
/// [`Failure::Internal`]
pub(super) fn link<P: Mailed>(
    context: &Context,
    interaction: &Interaction<P>,
    shown: Option<&str>,
) -> Result<Option<SecretString>, Failure> {
    let whole = interaction.pending.clone();
    for pending in [whole.clone(), whole.shortened()] {
        let contents =
            Contents { browser: interaction.browser.digest(), pending, code: shown.map(str::to_owned) };
        let internal = |error: String| Failure::Internal(error);
        let contents = serde_json::to_vec(&contents).map_err(|error| internal(error.to_string()))?;
        let sealed = context.issuer.interactions.seal(P::LINK_PURPOSE, &contents);
        let sealed = sealed.map_err(|error| internal(error.to_string()))?;
        let url = page_url(&context.issuer, &format!("{}?{LINK}={sealed}", P::LINK_PATH));
        if url.len() <= LONGEST {
            return Ok(Some(SecretString::new(url)));
        }
    }
    Ok(None)
}

/// A link that was opened.
pub(super) enum OpenedLink<P> {
    /// In the browser that asked for it: the address is proven.
    Here(Box<Interaction<P>>),
    /// In another one, which may show the code.
    Elsewhere(Option<String>),
    /// Its time is over, or it is not one of ours.
    Over,
}

/// Opens the link of a request. Nothing is used up.
///
/// # Errors
/// `invalid_request` if the parameter is repeated.
pub(super) fn open<P: Mailed>(call: &Call) -> Result<OpenedLink<P>, Failure> {
    let Call { context, received, .. } = call;
    let params = Params::parse(received.encoded())?;
    let Some(sealed) = params.get(LINK)? else { return Ok(OpenedLink::Over) };
    let opened = context.issuer.interactions.open(P::LINK_PURPOSE, sealed).ok();
    let contents = opened.and_then(|opened| serde_json::from_slice::<Contents<P>>(opened.expose()).ok());
    let Some(Contents { browser, mut pending, code }) = contents else { return Ok(OpenedLink::Over) };
    if !pending.code().is_some_and(|code| code.is_live(context.app.now())) {
        return Ok(OpenedLink::Over);
    }
    let here = Browser::of(&received.headers, &context.issuer);
    if !here.is_some_and(|here| here.is(&browser)) {
        return Ok(OpenedLink::Elsewhere(code));
    }
    pending.set_proven();
    Ok(OpenedLink::Here(Box::new(Interaction::begin(context, received, pending))))
}
