//! The second factor of a sign-in: a code of the person's generator, a recovery code, or a passkey. Who must bring one and has
//! none sets a generator up on the way. A session steps up by the same page.
//!
//! Between the two pages nothing is stored: what was proven is sealed into the interaction, for ten minutes and for
//! the browser in which it was typed, together with a digest of the password's hash. So a changed password ends it.

use std::sync::Arc;

use axum::response::Response;
use symbolon_pages::SecondFactorError;
use symbolon_protocol::authenticator::AuthenticatorSet;
use symbolon_protocol::authorize::decide::denied;
use symbolon_protocol::client::Client;
use symbolon_protocol::id::Sid;
use symbolon_protocol::params::Params;
use symbolon_protocol::refusal::Reason;
use symbolon_protocol::session::{Amr, AuthenticationMethod};
use symbolon_protocol::sign_in::acr::RequestedAcr;
use symbolon_protocol::sign_in::totp::TotpSecret;
use symbolon_protocol::sign_in::{Factor, Proven, Step, next_step};
use symbolon_protocol::user::User;

use crate::authorize::{refuse, resume};
use crate::first_factor::{FirstFactor, Proof, Takes};
use crate::interaction::{Interaction, Page, PendingAuthorization, session_of};
use crate::login_page::append;
use crate::requesting_client::Asking;
use crate::second_factor_attempt::{Attempt, Refused, again, is_current_code};
use crate::session_begin::Begun;
use crate::signed_in::signed_in;
use crate::{
    passkey_attempt, remembered_device, second_factor_page, second_factor_policy, second_factor_setup,
    sent_twice,
};
use symbolon_app::audit::RefusedRequest;
use symbolon_app::http::csrf::Purpose;
use symbolon_app::http::{Call, Context, Failure, Received};

/// What was proven, and what it needs beside it.
pub(super) struct Assessed {
    /// The factors, with a remembered device if one stands in for the second.
    pub(super) proven: Proven,
    /// What comes next.
    pub(super) step: Step,
    /// What the user has enrolled.
    pub(super) set: AuthenticatorSet,
}

/// What a sign-in needs after what is proven.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub(super) async fn assess(
    call: &mut Call,
    asking: &Asking,
    user: &User,
    proven: Proven,
) -> Result<Assessed, Failure> {
    let Context { app, issuer, .. } = &call.context;
    let set = app.store.authenticators(&issuer.id, &user.id).await?.set;
    // Whoever comes for the account pages is about to change what proves who they are: that needs the factor itself.
    let takes_remembered = asking.client().is_some();
    assess_enrolled(call, asking.wanted(), user, (proven, set), takes_remembered).await
}

/// The same for a user who has enrolled these authenticators. `wanted`: the client that asks for it, if one does, and the classes that it
/// asks for. `takes_remembered`: whether a remembered device may stand in for
/// the second factor.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub(super) async fn assess_enrolled(
    call: &mut Call,
    wanted: Option<(&Arc<Client>, RequestedAcr)>,
    user: &User,
    (proven, set): (Proven, AuthenticatorSet),
    takes_remembered: bool,
) -> Result<Assessed, Failure> {
    let Context { app, issuer, .. } = &call.context;
    let policy = second_factor_policy::policy(&call.context, wanted, &user.id).await?;
    let now = app.now();
    let step = next_step(&proven, policy, &set);
    if matches!(step, Step::Prove(_))
        && takes_remembered
        && remembered_device::days(issuer) > 0
        && remembered_device::is_remembered(call, &user.id, &set).await?
    {
        let proven = proven.and(Factor::RememberedDevice, now);
        return Ok(Assessed { step: next_step(&proven, policy, &set), proven, set });
    }
    Ok(Assessed { proven, step, set })
}

/// Whether something is still to be proven.
pub(super) fn is_needed(step: &Step) -> bool {
    matches!(step, Step::Prove(_) | Step::Enrol)
}

/// Asks for the second factor of somebody who has proven a first one.
///
/// # Errors
/// [`Failure`]
pub(super) async fn begin(
    call: &mut Call,
    mut interaction: Interaction<PendingAuthorization>,
    (user, proof): (&User, Proof),
    step: &Step,
) -> Result<Response, Failure> {
    let app = &call.context.app;
    let new_secret = (*step == Step::Enrol).then(|| TotpSecret::draw(&*app.random));
    let first = FirstFactor::new(user, proof, app.now(), (Takes::of_step(step), new_secret.as_ref()));
    interaction.pending.first_factor = Some(Box::new(first));
    second_factor_page::ask(call, interaction, Page::Other).await
}

/// `POST /login/second-factor`.
///
/// # Errors
/// [`Failure`]
pub(super) async fn submit(call: &mut Call) -> Result<Response, Failure> {
    let form = call.received.form.clone();
    let params = Params::parse(&form)?;
    let Call { context, received, client, .. } = &mut *call;
    let interaction = Interaction::<PendingAuthorization>::open(context, received, &params)?;
    let asking = Asking::of(context, &interaction.pending).await?;
    *client = asking.client().cloned();
    let is_ours = interaction.accepts((context, received), &params, Purpose::SecondFactor, "")?;
    let Some(first) = interaction.pending.first_factor.clone().filter(|_| is_ours) else {
        // Too late, another browser, or a forged form: the person begins again with the password.
        context.refused(RefusedRequest::anonymous(Reason::SignInFormExpired.into(), asking.client_id()));
        return resume_without_proof(call, interaction).await;
    };
    if params.get("cancel")?.is_some() {
        return refuse(call, &interaction.pending, denied()).await;
    }
    let present = session_of(&call.context, &call.received, &mut call.durable).await?;
    if let Some((id, session)) = &present
        && interaction.session_id(&call.context, &session.user) == *id
    {
        // The form was sent twice, and the answer to the first one has signed this browser in.
        let Context { app, issuer, .. } = &call.context;
        let user = app.store.user(&issuer.id, &session.user).await?;
        let begun = Begun::before(&call.context, &call.received, id.clone(), session, user.as_deref());
        return signed_in(call, interaction, begun).await;
    }
    if first.is_voluntary() && params.get("skip")?.is_some() {
        return stay(call, interaction, present.map(|(_, session)| session.sid.clone())).await;
    }
    let context = call.context.clone();
    let present = present.filter(|(_, session)| first.is_session(session)).map(|(id, _)| id);
    let attempt = Attempt { context: &context, client: asking.client_id(), first: &first, session: present };
    let code = params.get("code")?.unwrap_or_default();
    if let Some(secret) = first.new_secret() {
        return second_factor_setup::submit(call, interaction, (&attempt, &asking, &secret), code).await;
    }
    call.must_complete();
    let proven = match params.get("credential")?.filter(|credential| !credential.is_empty()) {
        Some(credential) => {
            attempt.check_passkey(passkey_attempt::prove(call, &interaction, credential)).await?
        }
        None => attempt.check_without_note(code).await?.map_err(Refused::from),
    };
    let remember = params.get("remember")? == Some("true");
    match proven {
        Ok(proven) => match attempt.sign_in(call, Some(&interaction), &proven).await? {
            Some(begun) => complete(call, interaction, begun, remember).await,
            None => resume_without_proof(call, interaction).await,
        },
        Err(refused) => match begun_by_first(&call.received, &interaction, (&attempt, &refused), code).await?
        {
            Some(begun) => complete(call, interaction, begun, remember).await,
            None => {
                if refused.error == SecondFactorError::Wrong {
                    attempt.note_wrong_code();
                }
                call.may_be_given_up();
                again(&context, &interaction, &asking, refused).await
            }
        },
    }
}

/// The session that this form began when it was sent before, if the person's generator shows the code now.
async fn begun_by_first(
    received: &Received,
    interaction: &Interaction<PendingAuthorization>,
    (attempt, refused): (&Attempt<'_>, &Refused),
    typed: &str,
) -> Result<Option<Begun>, Failure> {
    if refused.error != SecondFactorError::Wrong
        || !is_current_code(attempt.context, &attempt.first.user, typed).await?
    {
        return Ok(None);
    }
    let Context { app, issuer, .. } = attempt.context;
    let user = app.store.user(&issuer.id, &attempt.first.user).await?;
    let Some(user) = user.filter(|user| user.may_sign_in()) else { return Ok(None) };
    let begun = sent_twice::begun((attempt.context, received), interaction, &user).await?;
    // A session that began without a generator, before one was set up, is none that this form began.
    let has_both =
        |amr: &Amr| amr.contains(AuthenticationMethod::Otp) && amr.contains(AuthenticationMethod::Mfa);
    let begun = begun.filter(|begun| has_both(&begun.session.amr));
    if begun.is_some() {
        app.rate_limits.right_second_factor(&issuer.id, &attempt.first.user);
    }
    Ok(begun)
}

/// Goes on in a session that has begun. `remember`: whether the browser is to be remembered.
async fn complete(
    call: &mut Call,
    interaction: Interaction<PendingAuthorization>,
    begun: Begun,
    remember: bool,
) -> Result<Response, Failure> {
    let cookie = match remember {
        true => remembered_device::cookie(&call.context, &begun.session.user).await?,
        false => None,
    };
    let mut response = signed_in(call, interaction, begun).await?;
    append(response.headers_mut(), cookie);
    Ok(response)
}

/// Goes on with the session as it is: what the client would like is voluntary.
async fn stay(
    call: &mut Call,
    mut interaction: Interaction<PendingAuthorization>,
    sid: Option<Sid>,
) -> Result<Response, Failure> {
    interaction.pending.stays_at = sid;
    resume_without_proof(call, interaction).await
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
