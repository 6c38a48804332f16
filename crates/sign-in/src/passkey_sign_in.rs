//! Signing in with a passkey on the login page (WebAuthn Level 3, 7.2). A passkey with user verification is two factors, and
//! knows whose it is.

use axum::response::Response;
use symbolon_pages::LoginError;
use symbolon_protocol::params::Params;
use symbolon_protocol::refusal::{Details, Reason, Refusal};
use symbolon_protocol::sign_in::method::SignInMethod;
use symbolon_protocol::sign_in::{Factor, Proven};

use crate::login_form::{self, LoginForm, Opened};
use crate::login_page::{self, Shown};
use crate::passkey_attempt::{self, ProvenPasskey, RefusedOnPage};
use crate::session_begin::{SignIn, begin_for};
use crate::signed_in::signed_in;
use symbolon_app::audit::{Actor, RefusedRequest};
use symbolon_app::http::{Call, Context, Failure};

/// `POST /login/passkey`.
///
/// # Errors
/// [`Failure`]
pub(super) async fn submit(call: &mut Call) -> Result<Response, Failure> {
    let form = call.received.form.clone();
    let params = Params::parse(&form)?;
    let form = match login_form::open(call, &params).await? {
        Opened::Form(form) => form,
        Opened::Answered(answer) => return Ok(answer),
    };
    if !login_page::offers(&call.context, SignInMethod::Passkey) {
        form.note(&call.context, Refusal::about(Reason::SignInMethodOff, Details::of("sign_in_methods")));
        return form.refused(&call.context, LoginError::Expired).await;
    }
    let credential = params.get("credential")?.unwrap_or_default();
    match passkey_attempt::prove(call, &form.interaction, credential).await {
        Ok(proven) => begin(call, *form, &proven).await,
        Err(refused) => again(&call.context, &form, refused),
    }
}

async fn begin(call: &mut Call, form: LoginForm, by: &ProvenPasskey) -> Result<Response, Failure> {
    let context = call.context.clone();
    let proven = Proven::by(Factor::Passkey { is_synced: by.is_synced }, context.app.now());
    let client = form.asking.client_id();
    let sign_in = SignIn { user: &by.user, amr: proven.amr(), client };
    match begin_for(call, &form.interaction, sign_in, || by.is_still(&context)).await? {
        Some(begun) => signed_in(call, form.interaction, begun).await,
        None => {
            form.note(&context, Refusal::about(Reason::SignInOvertaken, Details::of_user(&by.user.id)));
            form.refused(&context, LoginError::PasskeyRefused).await
        }
    }
}

/// The login page again. The attempt is in the audit log, as one with a wrong password is.
fn again(context: &Context, form: &LoginForm, refused: RefusedOnPage) -> Result<Response, Failure> {
    let RefusedOnPage { failure, unknown } = refused;
    let mut error = match failure {
        Failure::OAuth(error) => error,
        failure => return Err(failure),
    };
    let client = form.asking.client_id();
    let request = RefusedRequest::anonymous(error.take_refusal(), client);
    context.sign_in_failed(RefusedRequest { actor: Actor::User, ..request });
    let (username, error) = (form.typed.clone(), Some(LoginError::PasskeyRefused));
    let shown = Shown { username, error, unknown_passkey: unknown, ..Shown::default() };
    login_page::page_with(context, &form.interaction, &form.asking, shown)
}
