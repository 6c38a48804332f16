//! Invitations: the right to open one account, for one address, as a link that is mailed or handed over.
//!
//! They are not stored, so they cannot be listed: an invitation is sealed into its link, and a mark tells that it was used or
//! withdrawn. The audit log tells who made them.

use std::time::Duration;

use http::Method;
use serde_json::{Map, Value, json};
use symbolon_crypto::SecretString;
use symbolon_mail::{Language, Mail, Message};
use symbolon_protocol::event::Event;
use symbolon_protocol::id::{GroupId, RoleId};
use symbolon_protocol::sign_in::invitation::{Invitation, LIVES, LONGEST_LIFE, MOST_GIVEN, mark};
use symbolon_protocol::sign_in::registration::Registration;

use crate::call::{Call, Concerns, Payload, created, done};
use crate::error::{AdminError, Answer};
use crate::operation::{Operation, reference};
use crate::users;
use symbolon_app::audit::ChangedFields;
use symbolon_app::http::Failure;
use symbolon_app::mail::MailOutcome;
use symbolon_app::one_use::use_once;
use symbolon_app::registration::{MARK, invitation_link};

/// The shortest life of an invitation, in seconds.
const SHORTEST: u64 = 60;

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::taking(
            Method::POST,
            "/invitations",
            "NewInvitation",
            "Invites somebody to open an account, by mail unless told otherwise",
            create,
        )
        .answers(201, reference("MadeInvitation")),
        Operation::delete("/invitations/{invitation_id}", "Withdraws an invitation", withdraw)
            .answers(204, Value::Null),
    ]
}

async fn create(call: Call, payload: Payload) -> Answer {
    let mut fields = payload.fields().await?;
    let email = users::email(&mut fields)?.ok_or_else(|| AdminError::invalid("email is required"))?;
    let groups: Vec<GroupId> = fields.take("groups")?.unwrap_or_default();
    let roles: Vec<RoleId> = fields.take("roles")?.unwrap_or_default();
    let longest = LONGEST_LIFE.as_secs();
    let seconds = fields.bounded("lifetime", SHORTEST..=longest)?.unwrap_or(LIVES.as_secs());
    let is_mailed = fields.take("send_mail")?.unwrap_or(true);
    let language = fields.text("language")?.unwrap_or_default();
    fields.finish()?;
    if call.app.registration(&call.issuer) == Registration::Closed {
        return Err(AdminError::conflict(
            "nobody registers at this issuer: set `registration` to `invited` or `open` first",
        ));
    }
    check_given(&call, &groups, &roles).await?;
    let expires_at = call.now() + Duration::from_secs(seconds);
    let id = Invitation::draw_id(expires_at, &*call.app.random);
    let invitation = Invitation { id, email, is_mailed, groups, roles, expires_at };
    let link = invitation_link(&call.issuer, &invitation);
    let link = link.map_err(|error| Failure::Internal(error.to_string()))?;
    let shown = json!({
        "id": invitation.id,
        "email": invitation.email,
        "groups": invitation.groups,
        "roles": invitation.roles,
        "expires_at": invitation.expires_at,
    });
    let mut answer = Map::from_iter([("invitation".to_owned(), shown.clone())]);
    if is_mailed {
        let minutes = u32::try_from(seconds / 60).unwrap_or(u32::MAX);
        let message = Message::Invitation { url: SecretString::new(link), minutes };
        let language = Language::wanted(language.split(','));
        let mail = Mail { to: invitation.email.clone(), language, user: None, message };
        let outcome = call.app.send_mail(&call.issuer, &mail).await?;
        answer.insert("queued".to_owned(), Value::Bool(outcome == MailOutcome::Queued));
    } else {
        answer.insert("link".to_owned(), Value::String(link));
    }
    let concerns = Concerns { detail: json!({ "invitation": invitation.id }), ..Concerns::default() };
    call.audit(Event::InvitationMade, concerns, ChangedFields::made(&shown));
    Ok(created(&Value::Object(answer)))
}

/// Checks that there is what an invitation gives.
async fn check_given(call: &Call, groups: &[GroupId], roles: &[RoleId]) -> Result<(), AdminError> {
    if groups.len() > MOST_GIVEN || roles.len() > MOST_GIVEN {
        return Err(AdminError::invalid(format!("groups and roles may have {MOST_GIVEN} entries each")));
    }
    for id in groups {
        if call.app.store.group(call.id(), id).await?.is_none() {
            return Err(AdminError::invalid(format!("groups: there is no group {id}")));
        }
    }
    for id in roles {
        if call.app.store.role(call.id(), id).await?.is_none() {
            return Err(AdminError::invalid(format!("roles: there is no role {id}")));
        }
    }
    Ok(())
}

async fn withdraw(call: Call) -> Answer {
    let id = call.path.iter().find(|(name, _)| name == "invitation_id").map_or("", |(_, id)| id.as_str());
    let unknown = || AdminError::not_found("there is no such invitation, or it was used or withdrawn");
    let end = Invitation::end_of(id).filter(|end| *end > call.now() && *end <= call.now() + LONGEST_LIFE);
    let end = end.ok_or_else(unknown)?;
    let is_first = use_once((&*call.app, &*call.issuer), MARK, &mark(id), end).await?.told().await?;
    if !is_first {
        return Err(unknown());
    }
    let concerns = Concerns { detail: json!({ "invitation": id }), ..Concerns::default() };
    call.audit(Event::InvitationWithdrawn, concerns, ChangedFields::removed(&json!({ "id": id })));
    Ok(done())
}
