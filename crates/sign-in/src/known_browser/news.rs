//! The mail that tells a person of a sign-in in a browser that is not known.

use std::time::Duration;

use http::header;
use symbolon_app::app::App;
use symbolon_app::http::language::{locale, page_language};
use symbolon_app::http::{Context, Received};
use symbolon_mail::{Mail, Message};
use symbolon_protocol::authenticator::AuthenticatorSet;
use symbolon_protocol::id::{IssuerId, UserId};
use symbolon_protocol::session::{Amr, AuthenticationMethod};
use symbolon_protocol::session_origin::device;
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user::User;
use symbolon_store::StoreError;
use symbolon_store::port::AuthenticatorUpdate;

use crate::after_answer::{after_answer, mail_language};

/// How often the note that a user has signed in is tried, where other changes come first.
const TRIES: usize = 3;

/// A generator that is younger than this may have been set up on the way through the sign-in itself.
const ON_THE_WAY: Duration = Duration::from_secs(60);

/// Whether somebody proved who they are by a code or a link sent by mail.
fn is_by_mail(amr: Amr) -> bool {
    use AuthenticationMethod::{Federated, Hwk, Otp, Pwd, Swk};
    amr.contains(Otp) && ![Pwd, Hwk, Swk, Federated].into_iter().any(|method| amr.contains(method))
}

/// Tells a user by mail that somebody signed in in a browser that is not [known](super::knows): a moment after the answer, so that it
/// delays nobody. Nobody is told of the very first sign-in of an account, nor where the sign-in was by mail, which the mailbox has
/// seen already.
pub(in super::super) async fn tell(context: &Context, received: &Received, user: &User, amr: Amr) {
    let Some(mail) = mail_to(context, received, user).filter(|_| !is_by_mail(amr)) else {
        note(context, &user.id).await;
        return;
    };
    let (of_work, id, at) = (context.clone(), user.id.clone(), context.app.now());
    let telling = async move {
        let Context { app, issuer, .. } = &of_work;
        // The limit comes last: what sends no mail takes nothing of it.
        if !is_first_noted(&of_work, &id, at).await
            && app.rate_limits.check_new_device(&issuer.id, &id, at).is_ok()
        {
            of_work.app.queue_mail(&of_work.issuer, &mail).await;
        }
    };
    after_answer(context, telling).await;
}

/// Notes a moment after the answer that a user has signed in, where nobody is told. Where the browser has a mark of the user it was
/// noted with the mark.
pub(in super::super) async fn note(context: &Context, user: &UserId) {
    let (of_work, id, at) = (context.clone(), user.clone(), context.app.now());
    let noting = async move {
        is_first_noted(&of_work, &id, at).await;
    };
    after_answer(context, noting).await;
}

/// The mail, to a user who has an address.
fn mail_to(context: &Context, received: &Received, user: &User) -> Option<Mail> {
    let Context { app, issuer, remote, .. } = context;
    let named = received.headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok());
    let page = page_language(locale(&received.headers, issuer, None));
    let language = mail_language(page, user.profile.locale.as_deref());
    let message = Message::NewDevice {
        device: named.and_then(device).unwrap_or_default(),
        address: remote.to_string(),
        place: app.place_of(*remote, language.tag()),
        at: app.now(),
    };
    Some(Mail { to: user.email.clone()?, language, user: Some(user.id.clone()), client: None, message })
}

/// Notes a sign-in of a user; returns whether it was their first one. One of which that is not known counts as a later one: a mail
/// too many is better than one too few.
async fn is_first_noted(context: &Context, user: &UserId, at: Timestamp) -> bool {
    let noted = note_sign_in(&context.app, (&context.issuer.id, user), at).await;
    noted.unwrap_or_else(|error| {
        tracing::warn!(target: "symbolon::mail", %error, "whether a user has signed in before is not known");
        false
    })
}

/// Notes that a user has signed in; returns whether it was for the first time.
///
/// # Errors
/// [`StoreError`].
async fn note_sign_in(
    app: &App,
    (issuer, user): (&IssuerId, &UserId),
    at: Timestamp,
) -> Result<bool, StoreError> {
    for _ in 0..TRIES {
        let enrolled = app.store.authenticators(issuer, user).await?;
        if enrolled.set.has_signed_in {
            return Ok(false);
        }
        let is_first = !has_enrolled_before(&enrolled.set, at);
        let set = AuthenticatorSet { has_signed_in: true, ..enrolled.set };
        match app.store.put_authenticators(issuer, user, enrolled.revision, &set).await? {
            AuthenticatorUpdate::Written | AuthenticatorUpdate::UserUnknown => return Ok(is_first),
            AuthenticatorUpdate::Overtaken => {}
        }
    }
    Err(StoreError::Conflict)
}

/// Whether somebody has enrolled a passkey or a generator before a sign-in. That takes one, so it speaks for an account whose sign-ins an
/// earlier version did not note.
fn has_enrolled_before(set: &AuthenticatorSet, sign_in: Timestamp) -> bool {
    let passkeys = set.passkeys.iter().map(|passkey| passkey.created_at);
    let generator = set.totp.iter().map(|totp| totp.added_at);
    passkeys.chain(generator).any(|enrolled| enrolled + ON_THE_WAY < sign_in)
}

#[cfg(test)]
mod tests {
    use symbolon_protocol::authenticator::{Passkey, Totp};

    use super::*;

    #[test]
    fn what_was_enrolled_before_a_sign_in_tells_of_an_earlier_one() {
        let at = Timestamp::from_seconds(1_800_000_000);
        let passkey = Passkey {
            id: "id".to_owned(),
            name: String::new(),
            credential: serde_json::Value::Null,
            is_synced: false,
            created_at: at - Duration::from_secs(86_400),
            last_used_at: None,
        };
        let generator = |added_at| Totp { secret: String::new(), added_at, last_step: 0 };
        let totp = |added_at| AuthenticatorSet { totp: Some(generator(added_at)), ..Default::default() };
        assert!(has_enrolled_before(&AuthenticatorSet { passkeys: vec![passkey], ..Default::default() }, at));
        assert!(has_enrolled_before(&totp(at - Duration::from_secs(86_400)), at));
        assert!(!has_enrolled_before(&totp(at - Duration::from_secs(2)), at), "set up on the way");
        assert!(!has_enrolled_before(&AuthenticatorSet::default(), at));
    }

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
