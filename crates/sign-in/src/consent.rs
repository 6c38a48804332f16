//! The endpoint of the consent page: the page and its form (OpenID Connect Core 3.1.2.4).

use std::sync::Arc;

use axum::response::Response;
use symbolon_protocol::authorize::AnotherAccount;
use symbolon_protocol::authorize::decide::denied;
use symbolon_protocol::client::Client;
use symbolon_protocol::consent::ConsentTerms;
use symbolon_protocol::error::OAuthError;
use symbolon_protocol::event::Event;
use symbolon_protocol::params::Params;
use symbolon_protocol::refusal::{Details, Reason, Refusal};
use symbolon_protocol::session::{Session, SessionId};
use symbolon_store::StoreError;
use symbolon_store::port::given_to;

use crate::authorization_details;
use crate::authorize::{refuse, resume};
use crate::browser_accounts::has_others;
use crate::interaction::{Interaction, Page, PendingAuthorization, session_of};
use crate::login_page;
use crate::requesting_client::RequestingClient;
use symbolon_app::audit::RefusedRequest;
use symbolon_app::http::csrf::Purpose;
use symbolon_app::http::{Call, Context, Failure};

/// How many consents a person may have beside which one to a client that nobody registered is kept.
const MOST_KEPT: usize = 1_000;

/// `POST /consent`: the person's decision.
///
/// # Errors
/// [`Failure`]
pub(super) async fn submit(call: &mut Call) -> Result<Response, Failure> {
    let Call { context, received, durable, .. } = &mut *call;
    let params = Params::parse(&received.form)?;
    let interaction = Interaction::<PendingAuthorization>::open(context, received, &params)?;
    let Some((id, session)) = session_of(context, received, durable).await? else {
        note_expired(context, &interaction.pending, None);
        return resume(call, interaction, None, Page::Consent).await;
    };
    let sid = session.sid.as_str();
    if !interaction.accepts((context, received), &params, Purpose::Consent, sid)? {
        // Another user has signed in since the page was shown, or the form is forged. Evaluates the request again for
        // the present session.
        note_expired(context, &interaction.pending, Some(&session));
        return resume(call, interaction, Some(id), Page::Consent).await;
    }
    match params.get("decision")? {
        Some("allow") => allow(call, interaction, (id, &session)).await,
        Some("deny") => deny(call, &interaction.pending, &session).await,
        // The person at the page is not the session's user, and wants to sign in.
        Some("switch") => switch(call, interaction, id).await,
        decision => {
            let details = Details::of("decision").sent(decision.unwrap_or_default());
            let description = "decision must be allow, deny or switch";
            Err(OAuthError::invalid_request(Reason::PageFormInvalid, description).about(details).into())
        }
    }
}

/// The person signs in, or chooses among the accounts of the browser where there are several.
async fn switch(
    call: &mut Call,
    mut interaction: Interaction<PendingAuthorization>,
    id: SessionId,
) -> Result<Response, Failure> {
    let Call { context, received, durable, .. } = &mut *call;
    if !has_others(context, received, durable).await? {
        return login_page::show_to_another(context, interaction).await;
    }
    interaction.begin_for_another(context, AnotherAccount::Choose);
    resume(call, interaction, Some(id), Page::Consent).await
}

/// Notes that the form is not accepted, though the person is only asked again.
fn note_expired(context: &Context, pending: &PendingAuthorization, session: Option<&Session>) {
    let details = session.map_or_else(Details::default, |session| Details::of_user(&session.user));
    let refusal = Refusal::about(Reason::PageFormExpired, details);
    context.refused(RefusedRequest::anonymous(refusal, pending.client_id().as_ref()));
}

async fn allow(
    call: &mut Call,
    mut interaction: Interaction<PendingAuthorization>,
    (id, session): (SessionId, &Session),
) -> Result<Response, Failure> {
    call.must_complete();
    let Call { context, .. } = &mut *call;
    let Context { app, issuer, .. } = &*context;
    let client = RequestingClient::of(context, &interaction.pending).await?.client;
    // An interaction that was sealed before the consent page was shown has no scopes.
    if let Some(scopes) = interaction.pending.scopes.clone() {
        let terms = ConsentTerms::of(&issuer.settings.load(), &client.settings);
        // If client or issuer have changed since the page was shown, the evaluation finds that out.
        let details =
            authorization_details::requested(&interaction.pending, &client, &issuer.settings.load())
                .unwrap_or_default();
        let given = terms.give(scopes.clone(), app.now()).with_details(details);
        let given = given.for_document(client.is_from_document);
        let is_kept = is_kept(context, &client, session).await?;
        if !is_kept || app.store.allow(&issuer.id, &session.user, &client.client_id, given).await? {
            context.audit(Event::ConsentGranted, Some(&session.user), Some(&client.client_id));
            interaction.pending.allowed = Some((session.user.clone(), scopes));
        }
    }
    // If the user or the client was deleted meanwhile, nothing was stored, and the evaluation finds that out.
    resume(call, interaction, Some(id), Page::Consent).await
}

/// Whether a consent is kept. One to a client that nobody registered is not where the person has too many: it counts once, and they are asked
/// again. Otherwise somebody with a web server could have as many kept as there are URLs, and all are read at each silent sign-in.
async fn is_kept(context: &Context, client: &Client, session: &Session) -> Result<bool, StoreError> {
    if !client.is_from_document {
        return Ok(true);
    }
    let given = context.app.store.consents_of(&context.issuer.id, &session.user).await?;
    Ok(given.len() < MOST_KEPT || given_to(&given, &client.client_id).is_some())
}

async fn deny(
    call: &mut Call,
    pending: &PendingAuthorization,
    session: &Session,
) -> Result<Response, Failure> {
    let client = RequestingClient::of(&call.context, pending).await?.client;
    call.context.audit(Event::ConsentDenied, Some(&session.user), Some(&client.client_id));
    call.client = Some(Arc::clone(&client));
    refuse(call, pending, denied().about(Details::of_user(&session.user))).await
}
