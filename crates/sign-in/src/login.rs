//! The endpoint of the login page and its form.

use axum::response::Response;
use symbolon_crypto::secret::SecretString;
use symbolon_pages::LoginError;
use symbolon_protocol::authorize::decide::denied;
use symbolon_protocol::params::Params;
use symbolon_protocol::refusal::{Details, Reason, Refusal};
use symbolon_protocol::sign_in::{Factor, Proven};

use crate::authorize::refuse;
use crate::interaction::{Asking, Interaction, PendingAuthorization, session_of};
use crate::password_attempt::PasswordAttempt;
use crate::refusal_pause::refusal_pause;
use crate::session_begin::{SignIn, begin_for};
use crate::signed_in::signed_in;
use crate::{login_page, second_factor, session_quota};
use symbolon_app::audit::RefusedRequest;
use symbolon_app::http::csrf::Purpose;
use symbolon_app::http::{Call, Context, Failure};
use symbolon_app::rate_limit::Limited;

/// `POST /login`.
///
/// # Errors
/// [`Failure`]
pub(super) async fn submit(call: &mut Call) -> Result<Response, Failure> {
    let Call { context, received, client, .. } = &mut *call;
    let params = Params::parse(&received.form)?;
    let interaction = Interaction::<PendingAuthorization>::open(context, received, &params)?;
    let asking = Asking::of(context, &interaction.pending).await?;
    *client = asking.client().cloned();
    let username = params.get("username")?.unwrap_or_default().trim().to_owned();
    let typed = (!username.is_empty()).then(|| username.clone());
    if !interaction.accepts((context, received), &params, Purpose::Login, "")? {
        context.refused(RefusedRequest::anonymous(Reason::SignInFormExpired.into(), asking.client_id()));
        return login_page::page(context, &interaction, &asking, typed, Some(LoginError::Expired));
    }
    let password = SecretString::new(params.get("password")?.unwrap_or_default().to_owned());
    if params.get("cancel")?.is_some() {
        return refuse(call, &interaction.pending, denied()).await;
    }
    if let Some((id, session)) = session_of(&call.context, &call.received, &mut call.durable).await?
        && interaction.session_id(&call.context, &session.user) == id
    {
        // The form was sent twice, and the answer to the first one has signed this browser in.
        let Context { app, issuer, remote, .. } = &call.context;
        return match app.rate_limits.form_sent_again(&issuer.id, &session.user, *remote, app.now()) {
            Ok(()) => signed_in(call, interaction, id, &session).await,
            Err(Limited { retry_after_seconds }) => {
                let error = LoginError::TooManyAttempts { retry_after_seconds };
                let details = Details::of_user(&session.user);
                let refusal = Refusal::about(Reason::SignInRateLimited, details);
                call.context.refused(RefusedRequest::anonymous(refusal, asking.client_id()));
                refused(&call.context, &interaction, (&asking, typed), error).await
            }
        };
    }
    let context = call.context.clone();
    let attempt = PasswordAttempt {
        context: &context,
        client: asking.client_id(),
        username: &username,
        password: &password,
    };
    let error = match attempt.check().await? {
        Ok(right) => {
            let proven = Proven::by(Factor::Password, context.app.now());
            let step = second_factor::step(&context, asking.client(), &right.user, &proven).await?;
            if second_factor::is_needed(&step) {
                let hash = attempt.rehash(&right).await;
                return second_factor::begin(call, interaction, (&right.user, &hash), &step).await;
            }
            let sign_in = SignIn { user: &right.user, amr: proven.amr(), client: asking.client_id() };
            match begin_for(call, &interaction, sign_in, || attempt.is_still(&right)).await? {
                Some((id, session)) => {
                    let response = signed_in(call, interaction, id, &session).await;
                    session_quota::enforce(&context, &right.user.id).await;
                    attempt.rehash(&right).await;
                    return response;
                }
                None => attempt.refused(Reason::SignInOvertaken, LoginError::InvalidCredentials),
            }
        }
        Err(error) => error,
    };
    refused(&context, &interaction, (&asking, typed), error).await
}

/// The login page again, with what was wrong.
async fn refused(
    context: &Context,
    interaction: &Interaction<PendingAuthorization>,
    (asking, typed): (&Asking, Option<String>),
    error: LoginError,
) -> Result<Response, Failure> {
    if matches!(error, LoginError::Busy | LoginError::TooManyAttempts { .. }) {
        tokio::time::sleep(refusal_pause(&*context.app.random)).await;
    }
    login_page::page(context, interaction, asking, typed, Some(error))
}
