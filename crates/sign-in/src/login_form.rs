//! What the forms of all methods of signing in have in common: whose they are, and what happens to one that came late, from
//! elsewhere or twice.

use axum::response::Response;
use symbolon_pages::LoginError;
use symbolon_protocol::authorize::decide::denied;
use symbolon_protocol::params::Params;
use symbolon_protocol::refusal::{Details, Reason, Refusal};

use crate::authorize::refuse;
use crate::interaction::{Interaction, PendingAuthorization, session_of};
use crate::login_page;
use crate::refusal_pause::refusal_pause;
use crate::requesting_client::Asking;
use crate::session_begin::Begun;
use crate::signed_in::signed_in;
use symbolon_app::audit::RefusedRequest;
use symbolon_app::http::csrf::Purpose;
use symbolon_app::http::{Call, Context, Failure};
use symbolon_app::rate_limit::Limited;

/// The longest name that is looked up, in characters, as the field of the page has it.
const LONGEST_NAME: usize = 320;

/// A form that was sent by a page of ours.
pub(super) struct LoginForm {
    pub(super) interaction: Interaction<PendingAuthorization>,
    pub(super) asking: Asking,
    /// The name that was typed, if one was.
    pub(super) typed: Option<String>,
}

/// A form, or its answer.
pub(super) enum Opened {
    /// It is to be looked at.
    Form(Box<LoginForm>),
    /// It is answered.
    Answered(Response),
}

/// Opens a form.
///
/// # Errors
/// [`Failure`]
pub(super) async fn open(call: &mut Call, params: &Params<'_>) -> Result<Opened, Failure> {
    let Call { context, received, client, .. } = &mut *call;
    let interaction = Interaction::<PendingAuthorization>::open(context, received, params)?;
    let asking = Asking::of(context, &interaction.pending).await?;
    *client = asking.client().cloned();
    let typed = params.get("username")?.unwrap_or_default().trim().to_owned();
    let typed = (!typed.is_empty()).then_some(typed);
    if !interaction.accepts((context, received), params, Purpose::Login, "")? {
        context.refused(RefusedRequest::anonymous(Reason::SignInFormExpired.into(), asking.client_id()));
        let page = login_page::page(context, &interaction, &asking, typed, Some(LoginError::Expired));
        return page.map(Opened::Answered);
    }
    if params.get("cancel")?.is_some() {
        return refuse(call, &interaction.pending, denied()).await.map(Opened::Answered);
    }
    if let Some((id, session)) = session_of(&call.context, &call.received, &mut call.durable).await?
        && interaction.session_id(&call.context, &session.user) == id
    {
        // The form was sent twice, and the answer to the first one has signed this browser in.
        let Context { app, issuer, remote, .. } = &call.context;
        let answer = match app.rate_limits.form_sent_again(&issuer.id, &session.user, *remote, app.now()) {
            Ok(()) => {
                let user = app.store.user(&issuer.id, &session.user).await?;
                let begun = Begun::before(&call.context, &call.received, id, &session, user.as_deref());
                signed_in(call, interaction, begun).await
            }
            Err(Limited { retry_after_seconds }) => {
                let error = LoginError::TooManyAttempts { retry_after_seconds };
                let details = Details::of_user(&session.user);
                let refusal = Refusal::about(Reason::SignInRateLimited, details);
                call.context.refused(RefusedRequest::anonymous(refusal, asking.client_id()));
                LoginForm { interaction, asking, typed }.refused(&call.context, error).await
            }
        };
        return answer.map(Opened::Answered);
    }
    Ok(Opened::Form(Box::new(LoginForm { interaction, asking, typed })))
}

impl LoginForm {
    /// The login page again, with what was wrong.
    ///
    /// # Errors
    /// [`Failure`]: the page cannot be rendered.
    pub(super) async fn refused(&self, context: &Context, error: LoginError) -> Result<Response, Failure> {
        if matches!(error, LoginError::Busy | LoginError::TooManyAttempts { .. }) {
            tokio::time::sleep(refusal_pause(&*context.app.random)).await;
        }
        login_page::page(context, &self.interaction, &self.asking, self.typed.clone(), Some(error))
    }

    /// Notes why it is refused.
    pub(super) fn note(&self, context: &Context, refusal: Refusal) {
        context.refused(RefusedRequest::anonymous(refusal, self.asking.client_id()));
    }
}

/// Whether a typed text could be a name or an address.
pub(super) fn is_plain_name(typed: &str) -> bool {
    typed.chars().count() <= LONGEST_NAME && !typed.chars().any(char::is_control)
}
