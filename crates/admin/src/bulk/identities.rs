//! Bulk connection and export of who users are to other providers.

use std::sync::Arc;

use serde_json::{Value, json};
use symbolon_mail::Message;
use symbolon_protocol::event::Event;
use symbolon_protocol::id::{IdentityProviderId, UserId};
use symbolon_protocol::identity_provider::id_token::is_subject;
use symbolon_protocol::identity_provider::{Identity, IdentityProvider};
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user::User;
use symbolon_store::StoreError;
use symbolon_store::port::IdentityLink;

use super::super::call::{Call, Concerns, Payload};
use super::super::error::{AdminError, Answer};
use super::super::users::news;
use super::export::{AT_ONCE, Sender, send, streamed};
use super::lines::Line;
use super::records::unordered_pace;
use super::stream::{self, Done};
use symbolon_app::audit::ChangedFields;

/// `POST /identities/bulk`. A line that is so already changes nothing and is no error, so that lines may be sent again.
pub(super) async fn link(call: Call, payload: Payload) -> Answer {
    let shared = Arc::new(call.clone());
    stream::answer(call, payload, unordered_pace(Event::IdentityLinked), move |chunk| {
        link_chunk(Arc::clone(&shared), chunk)
    })
}

async fn link_chunk(call: Arc<Call>, chunk: Vec<Line>) -> Vec<Done> {
    let providers = match call.app.store.settings(call.id()).await {
        Ok(settings) => Arc::new(settings.identity_providers),
        Err(error) => {
            let error = AdminError::from(error);
            return chunk.iter().map(|_| Err(error.again())).collect();
        }
    };
    stream::each(chunk, |line| {
        let (call, providers) = (Arc::clone(&call), Arc::clone(&providers));
        async move { link_one(&call, &providers, line).await }
    })
    .await
}

async fn link_one(call: &Call, providers: &[IdentityProvider], line: Line) -> Done {
    let (provider, identity) = read(call, providers, line)?;
    let told = |changed: bool| {
        let (user, subject) = (&identity.user, &identity.subject);
        Ok(json!({ "user_id": user, "identity_provider": provider, "subject": subject, "changed": changed }))
    };
    let told_user = who_is_told(call, &identity.user).await?;
    match call.app.store.link_identity(call.id(), identity.clone()).await? {
        IdentityLink::Linked => {
            let detail = json!({ "identity_provider": provider, "subject": identity.subject });
            let concerns = Concerns { user: Some(&identity.user), client: None, detail };
            call.audit(Event::IdentityLinked, concerns, ChangedFields::made(&view(&identity, &provider)));
            let own = providers.iter().find(|own| own.key == identity.provider);
            if let (Some(own), Some(user)) = (own, told_user) {
                let message = Message::ProviderConnected { name: own.name.clone(), at: call.now() };
                news::tell(call, &user, message).await;
            }
            told(true)
        }
        IdentityLink::AlreadyLinked => told(false),
        IdentityLink::OfAnother => Err(AdminError::conflict("another user is connected with this subject")),
        IdentityLink::HasOther => {
            Err(AdminError::conflict("the user is connected with another subject of this provider"))
        }
        IdentityLink::UserUnknown => Err(AdminError::not_found("there is no such user")),
    }
}

/// Who is told of a new way into the account: its user, unless nobody has ever signed in to it. Those are the accounts of an import.
/// It is looked up before anything is written, so that a line that fails is told when it is sent again.
async fn who_is_told(call: &Call, user: &UserId) -> Result<Option<Arc<User>>, AdminError> {
    let set = call.app.store.authenticators(call.id(), user).await?.set;
    match set.has_signed_in || !set.is_empty() {
        true => Ok(call.app.store.user(call.id(), user).await?),
        false => Ok(None),
    }
}

fn read(
    call: &Call,
    providers: &[IdentityProvider],
    line: Line,
) -> Result<(IdentityProviderId, Identity), AdminError> {
    let mut fields = stream::fields(line)?;
    let provider: IdentityProviderId = fields.require("identity_provider")?;
    let user: UserId = fields.require("user_id")?;
    let subject: String = fields.require("subject")?;
    let label = fields.text("label")?;
    let linked_at = fields.take::<Timestamp>("linked_at")?.unwrap_or_else(|| call.now()).min(call.now());
    fields.finish()?;
    if !is_subject(&subject) {
        return Err(AdminError::invalid(
            "subject must be the 1 to 255 ASCII characters of the provider's `sub`",
        ));
    }
    let own = providers.iter().find(|own| own.id == provider);
    let own = own.ok_or_else(|| AdminError::not_found("there is no such identity provider"))?;
    let identity = Identity { provider: own.key.clone(), subject, user, label, linked_at };
    Ok((provider, identity))
}

fn view(identity: &Identity, provider: &IdentityProviderId) -> Value {
    let Identity { subject, user, label, linked_at, .. } = identity;
    let mut view = json!({
        "user_id": user, "identity_provider": provider, "subject": subject, "linked_at": linked_at,
    });
    if let (Some(members), Some(label)) = (view.as_object_mut(), label) {
        members.insert("label".to_owned(), Value::from(label.as_str()));
    }
    view
}

/// `GET /identities/export`. Those of providers that are no more lead to nobody, and are left out.
pub(super) async fn export(call: Call) -> Answer {
    streamed(call, send_all)
}

async fn send_all(call: Call, sender: Sender) -> Result<(), StoreError> {
    let providers = call.app.store.settings(call.id()).await?.identity_providers;
    let line = |identity: &Identity| {
        let own = providers.iter().find(|own| own.key == identity.provider)?;
        Some(view(identity, &own.id))
    };
    let mut after = None::<Identity>;
    loop {
        let place = after.as_ref().map(|last| (last.provider.as_str(), last.subject.as_str()));
        let found = call.app.store.next_identities(call.id(), place, AT_ONCE).await?;
        if !send(&sender, found.iter().filter_map(line).collect()).await || found.len() < AT_ONCE as usize {
            return Ok(());
        }
        after = found.into_iter().next_back();
    }
}
