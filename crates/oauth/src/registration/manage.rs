//! The client configuration endpoint (RFC 7592 2): a client reads, changes and deletes its registration.

use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde_json::json;
use symbolon_protocol::client::Client;
use symbolon_protocol::client_metadata::{Metadata, Registration};
use symbolon_protocol::client_registration as rule;
use symbolon_protocol::event::Event;
use symbolon_protocol::id::ClientId;
use symbolon_protocol::refusal::{Details, Reason, Refusal};
use symbolon_store::StoreError;

use super::bearer::{bearer, invalid_token};
use super::{Secrets, answer, audit, check_is_on, metadata, software_statement};
use symbolon_app::audit::ChangedFields;
use symbolon_app::client_registration::policy;
use symbolon_app::http::{Call, Context, Failure, Received, no_store};

/// `GET /connect/register/{client_id}` (RFC 7592 2.1).
///
/// # Errors
/// [`Failure`]: a challenge of RFC 6750 3 unless the client's token came; 403 where nobody may register.
pub(in super::super) async fn read(call: &mut Call) -> Result<Response, Failure> {
    let Call { context, received, client, .. } = call;
    let (own, token) = authorized(context, received).await?;
    let secrets = Secrets { client_secret: None, registration_access_token: token };
    let shown = answer(context, StatusCode::OK, &own, &secrets);
    *client = Some(own);
    Ok(shown)
}

/// `PUT /connect/register/{client_id}` (RFC 7592 2.2).
///
/// # Errors
/// [`Failure`]: those of [`read`], and those of RFC 7591 3.2.2.
pub(in super::super) async fn update(call: &mut Call) -> Result<Response, Failure> {
    let Call { context, received, client, .. } = call;
    let (own, token) = authorized(context, received).await?;
    let mut metadata = metadata(&received.form)?;
    // Boxed, because it may have to ask for keys.
    let statement = Box::pin(software_statement::settle(context, &mut metadata, Some(&*own))).await?;
    let sent = (&metadata, statement.as_deref());
    let registration = match changed(context, &own, sent).await {
        // Another change was faster: once more, on its result.
        Err(Failed::Conflict) => {
            let (own, _) = authorized(context, received).await?;
            changed(context, &own, sent).await
        }
        done => done,
    };
    let Registration { client: after, client_secret, .. } = registration.map_err(Failure::from)?;
    let secrets = Secrets { client_secret: client_secret.as_ref(), registration_access_token: token };
    let shown = answer(context, StatusCode::OK, &after, &secrets);
    *client = Some(Arc::new(after));
    Ok(shown)
}

/// `DELETE /connect/register/{client_id}` (RFC 7592 2.3): the client's tokens end with it.
///
/// # Errors
/// [`Failure`]: those of [`read`].
pub(in super::super) async fn remove(call: &mut Call) -> Result<Response, Failure> {
    let Call { context, received, client, .. } = call;
    let (own, _) = authorized(context, received).await?;
    if !context.app.delete_registered_client(&context.issuer, &own).await? {
        return Err(refused(&own.client_id));
    }
    let detail = json!({ "by": "registration" });
    audit(context, (Event::ClientDeleted, detail), &own.client_id, ChangedFields::removed(&*own));
    *client = Some(own);
    Ok(no_store(StatusCode::NO_CONTENT.into_response()))
}

/// The client of the path and its registration access token, which came with the request.
///
/// # Errors
/// RFC 7592 2: 401 for another token, and for a client that does not exist (any more) too, so that nobody learns which do.
async fn authorized<'a>(
    context: &Context,
    received: &'a Received,
) -> Result<(Arc<Client>, &'a str), Failure> {
    let (app, issuer) = (&context.app, &context.issuer);
    check_is_on(&issuer.settings.load())?;
    let token = bearer(&received.headers)?;
    let id = received.uri.path().rsplit('/').next().unwrap_or_default();
    let id = ClientId::parse(id).map_err(|_| invalid_token(Reason::RegistrationAccessTokenWrong.into()))?;
    let found = app.store.client(&issuer.id, &id).await?;
    let is_own = |client: &Arc<Client>| {
        let own = client.dynamic_registration.as_deref();
        own.is_some_and(|own| own.is_managed_by(token, &issuer.client_secret_key))
    };
    let own = found.filter(is_own).ok_or_else(|| refused(&id))?;
    // With the uses of secrets that this node knows of, so that a change does not take them away.
    Ok((app.client_secret_uses.merged(&issuer.id, &own), token))
}

fn refused(id: &ClientId) -> Failure {
    invalid_token(Refusal::about(Reason::RegistrationAccessTokenWrong, Details::of_client(id)))
}

/// Why a change was not made.
enum Failed {
    /// Another change was faster.
    Conflict,
    /// Anything else.
    Failure(Failure),
}

impl From<Failed> for Failure {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Conflict => StoreError::Conflict.into(),
            Failed::Failure(failure) => failure,
        }
    }
}

/// Changes a client to what it sent, with the statement if that is new, and records that.
async fn changed(
    context: &Context,
    before: &Client,
    (metadata, statement): (&Metadata, Option<&str>),
) -> Result<Registration, Failed> {
    let (app, issuer) = (&context.app, &context.issuer);
    let now = app.now();
    let policy = policy(issuer, &issuer.settings.load(), now);
    let key = &issuer.client_secret_key;
    let mut registration = rule::update(before, metadata.clone(), &policy, key, now, &*app.random)
        .map_err(|error| Failed::Failure(error.into()))?;
    rule::software_statement::note(&mut registration.client, statement.map(str::to_owned));
    let checked = app.check_sector(&issuer.id, Some(before), &registration.client).await;
    checked.map_err(|error| Failed::Failure(rule::as_registration(error).into()))?;
    app.record_needs_of(issuer, &registration.client).await.map_err(|error| Failed::Failure(error.into()))?;
    match app.store.update_client(&issuer.id, registration.client.clone(), before.updated_at).await {
        Ok(true) => {}
        Ok(false) => return Err(Failed::Failure(refused(&before.client_id))),
        Err(StoreError::Conflict) => return Err(Failed::Conflict),
        Err(error) => return Err(Failed::Failure(error.into())),
    }
    let detail = json!({ "by": "registration", "new_secret": registration.client_secret.is_some() });
    let fields = ChangedFields::between(before, &registration.client);
    audit(context, (Event::ClientUpdated, detail), &before.client_id, fields);
    Ok(registration)
}
