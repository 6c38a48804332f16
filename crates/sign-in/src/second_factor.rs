//! The second factor of a sign-in by password: a code of the person's generator, or a recovery code. Who must bring one and has
//! none sets a generator up on the way.
//!
//! Between the two pages nothing is stored: what the password proved is sealed into the interaction, for ten minutes and for
//! the browser in which it was typed, together with a digest of the password's hash. So a changed password ends it.

use std::sync::Arc;

use axum::response::Response;
use symbolon_protocol::authorize::decide::denied;
use symbolon_protocol::client::Client;
use symbolon_protocol::params::Params;
use symbolon_protocol::refusal::Reason;
use symbolon_protocol::settings::SecondFactor;
use symbolon_protocol::sign_in::totp::TotpSecret;
use symbolon_protocol::sign_in::{Policy, Proven, Step, next_step};
use symbolon_protocol::user::{PasswordHash, User};

use crate::authorize::{refuse, resume};
use crate::first_factor::FirstFactor;
use crate::interaction::{Asking, Interaction, Page, PendingAuthorization, session_of};
use crate::second_factor_attempt::Attempt;
use crate::signed_in::signed_in;
use crate::{second_factor_page, second_factor_setup};
use symbolon_app::audit::RefusedRequest;
use symbolon_app::http::csrf::Purpose;
use symbolon_app::http::{Call, Context, Failure};

/// What a sign-in needs after what is proven. `client`: the one that asks for it, if one does.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub(super) async fn step(
    context: &Context,
    client: Option<&Arc<Client>>,
    user: &User,
    proven: &Proven,
) -> Result<Step, Failure> {
    let Context { app, issuer, .. } = context;
    let enrolled = app.store.authenticators(&issuer.id, &user.id).await?;
    let settings = issuer.settings.load();
    let asked = client.map_or(settings.second_factor, |client| settings.second_factor_for(&client.settings));
    let policy = Policy { needs_second_factor: asked == SecondFactor::Required };
    Ok(next_step(proven, policy, &enrolled.set))
}

/// Whether something is still to be proven.
pub(super) fn is_needed(step: &Step) -> bool {
    matches!(step, Step::Prove(_) | Step::Enrol)
}

/// Asks for the second factor of somebody whose password was right.
///
/// # Errors
/// [`Failure`]
pub(super) async fn begin(
    call: &mut Call,
    mut interaction: Interaction<PendingAuthorization>,
    (user, hash): (&User, &PasswordHash),
    step: &Step,
) -> Result<Response, Failure> {
    let app = &call.context.app;
    let new_secret = (*step == Step::Enrol).then(|| TotpSecret::draw(&*app.random));
    let first = FirstFactor::new(user, hash, app.now(), new_secret.as_ref());
    interaction.pending.first_factor = Some(Box::new(first));
    second_factor_page::ask(call, interaction, Page::Other).await
}

/// `POST /login/second-factor`.
///
/// # Errors
/// [`Failure`]
pub(super) async fn submit(call: &mut Call) -> Result<Response, Failure> {
    let Call { context, received, client, .. } = &mut *call;
    let params = Params::parse(&received.form)?;
    let interaction = Interaction::<PendingAuthorization>::open(context, received, &params)?;
    let asking = Asking::of(context, &interaction.pending).await?;
    *client = asking.client().cloned();
    let is_ours = interaction.accepts((context, received), &params, Purpose::SecondFactor, "")?;
    let Some(first) = interaction.pending.first_factor.clone().filter(|_| is_ours) else {
        // Too late, another browser, or a forged form: the person begins again with the password.
        context.refused(RefusedRequest::anonymous(Reason::SignInFormExpired.into(), asking.client_id()));
        return resume_without_proof(call, interaction).await;
    };
    let code = params.get("code")?.unwrap_or_default().to_owned();
    if params.get("cancel")?.is_some() {
        return refuse(call, &interaction.pending, denied()).await;
    }
    if let Some((id, session)) = session_of(&call.context, &call.received, &mut call.durable).await?
        && interaction.session_id(&call.context, &session.user) == id
    {
        // The form was sent twice, and the answer to the first one has signed this browser in.
        return signed_in(call, interaction, id, &session).await;
    }
    let context = call.context.clone();
    let attempt = Attempt { context: &context, asking: &asking, first: &first };
    if let Some(secret) = first.new_secret() {
        return second_factor_setup::submit(call, interaction, (&attempt, &secret), &code).await;
    }
    match attempt.check(&code).await? {
        Ok(proven) => match attempt.sign_in(call, &interaction, &proven).await? {
            Some((id, session)) => signed_in(call, interaction, id, &session).await,
            None => resume_without_proof(call, interaction).await,
        },
        Err(error) => attempt.again(&interaction, error).await,
    }
}

/// Begins again with the password.
async fn resume_without_proof(
    call: &mut Call,
    mut interaction: Interaction<PendingAuthorization>,
) -> Result<Response, Failure> {
    interaction.pending.first_factor = None;
    let session = session_of(&call.context, &call.received, &mut call.durable).await?;
    resume(call, interaction, session.map(|(id, _)| id), Page::Other).await
}
