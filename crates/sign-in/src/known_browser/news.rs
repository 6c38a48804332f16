//! The mail that tells a person of a sign-in in a browser that is not known.

use http::header;
use symbolon_app::app::App;
use symbolon_app::http::language::{locale, page_language};
use symbolon_app::http::{Context, Received};
use symbolon_mail::{Mail, Message};
use symbolon_protocol::authenticator::AuthenticatorSet;
use symbolon_protocol::id::{IssuerId, UserId};
use symbolon_protocol::session::{Amr, AuthenticationMethod};
use symbolon_protocol::session_origin::device;
use symbolon_protocol::user::User;
use symbolon_store::StoreError;
use symbolon_store::port::AuthenticatorUpdate;

use crate::after_answer::{after_answer, mail_language, queue};

/// How often the note that a user has signed in is tried, where other changes come first.
const TRIES: usize = 3;

/// Whether somebody proved who they are by a code or a link sent by mail.
fn is_by_mail(amr: Amr) -> bool {
    use AuthenticationMethod::{Federated, Hwk, Otp, Pwd, Swk};
    amr.contains(Otp) && ![Pwd, Hwk, Swk, Federated].into_iter().any(|method| amr.contains(method))
}

/// Tells a user by mail that somebody signed in in a browser that is not [known](super::knows): a moment after the answer, so that it
/// delays nobody. Nobody is told of the very first sign-in of an account, nor where the sign-in was by mail, which the mailbox has
/// seen already.
pub(in super::super) async fn tell(context: &Context, received: &Received, user: &User, amr: Amr) {
    let Context { app, issuer, remote, .. } = context;
    let at = app.now();
    if app.rate_limits.check_new_device(&issuer.id, &user.id, at).is_err() {
        return;
    }
    let named = received.headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok());
    let message = Message::NewDevice {
        device: named.and_then(device).unwrap_or_default(),
        address: remote.to_string(),
        at,
    };
    let page = page_language(locale(&received.headers, issuer, None));
    let language = mail_language(page, user.profile.locale.as_deref());
    let to = user.email.clone().filter(|_| !is_by_mail(amr));
    let id = user.id.clone();
    let mail = to.map(|to| Mail { to, language, user: Some(id.clone()), client: None, message });
    let of_work = context.clone();
    after_answer(context, async move {
        let is_first = match note_sign_in(&of_work.app, &of_work.issuer.id, &id).await {
            Ok(is_first) => is_first,
            Err(error) => {
                tracing::warn!(target: "symbolon::mail", %error, "whether a user has signed in before is not known");
                false
            }
        };
        if let Some(mail) = mail.filter(|_| !is_first) {
            queue(&of_work, &mail).await;
        }
    })
    .await;
}

/// Notes that a user has signed in; returns whether it was for the first time.
///
/// # Errors
/// [`StoreError`].
async fn note_sign_in(app: &App, issuer: &IssuerId, user: &UserId) -> Result<bool, StoreError> {
    for _ in 0..TRIES {
        let enrolled = app.store.authenticators(issuer, user).await?;
        if enrolled.set.has_signed_in {
            return Ok(false);
        }
        let set = AuthenticatorSet { has_signed_in: true, ..enrolled.set };
        match app.store.put_authenticators(issuer, user, enrolled.revision, &set).await? {
            AuthenticatorUpdate::Written | AuthenticatorUpdate::UserUnknown => return Ok(true),
            AuthenticatorUpdate::Overtaken => {}
        }
    }
    Err(StoreError::Conflict)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_arrived_by_mail_alone_is_by_mail() {
        use AuthenticationMethod::{Device, Federated, Hwk, Mfa, Otp, Pwd, Swk};
        let of = |methods: &[AuthenticationMethod]| {
            is_by_mail(methods.iter().fold(Amr::default(), |amr, method| amr.with(*method)))
        };
        assert!(of(&[Otp]) && of(&[Otp, Device]) && of(&[Otp, Mfa]));
        for others in [&[Pwd][..], &[Pwd, Otp, Mfa], &[Hwk, Mfa], &[Swk, Otp], &[Federated, Otp, Mfa], &[]] {
            assert!(!of(others), "{others:?}");
        }
    }
}
