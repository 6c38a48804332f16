//! What is mailed to an address that somebody typed and that no account has. The page tells nobody whether there is such an
//! account; who reads the mail of the address may know.

use symbolon_mail::{Language, Mail, Message};
use symbolon_protocol::email_address;
use symbolon_protocol::sign_in::registration::Registration;

use symbolon_app::http::Context;
use symbolon_app::registration::{PATH as REGISTER, page_url};

/// The mail to a name that no account has: where people may register, and if the name is an address.
pub(super) fn mail(context: &Context, typed: &str, language: Language) -> Option<Mail> {
    let Context { app, issuer, .. } = context;
    let to = email_address::typed(typed).filter(|_| app.registration(issuer) == Registration::Open)?;
    let message = Message::AccountUnknown { register_url: Some(page_url(issuer, REGISTER)) };
    Some(Mail { to: to.to_owned(), language, user: None, client: None, message })
}
