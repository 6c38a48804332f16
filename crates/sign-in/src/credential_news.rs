//! Mail that tells people what has changed of what they sign in with, so that they learn of a change that is not theirs.

use symbolon_mail::{Language, Mail, Message};
use symbolon_protocol::user::User;

use http::header;
use symbolon_app::http::{Context, Received};

/// Tells a user by mail, if they have an address. The change is done: a queue that is full or out of reach is only logged.
pub(super) async fn tell(context: &Context, received: &Received, user: &User, message: Message) {
    let Some(to) = user.email.clone() else { return };
    let language = language(received, user);
    let mail = Mail { to, language, user: Some(user.id.clone()), message };
    if let Err(error) = context.app.send_mail(&context.issuer, &mail).await {
        tracing::warn!(target: "symbolon::mail", %error, "a mail about a change of credentials could not be queued");
    }
}

/// The user's own language (`locale`, OpenID Connect Core 5.1), else the one that the browser prefers (RFC 9110 12.5.4), as
/// far as it lists the preferred ones first.
fn language(received: &Received, user: &User) -> Language {
    let wanted = received.headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
    let of_browser = wanted.unwrap_or_default().split(',').filter_map(|range| range.split(';').next());
    Language::wanted(user.profile.locale.as_deref().into_iter().chain(of_browser))
}
