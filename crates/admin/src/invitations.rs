//! Invitations: the right to open one account, for one address, as a link that is mailed or handed over. They are listed until
//! their time is over, used or not. The link itself is told once: whoever sees the list cannot use what is in it.

use std::time::Duration;

use http::Method;
use serde_json::{Map, Value, json};
use symbolon_crypto::SecretString;
use symbolon_mail::{Language, Mail, Message};
use symbolon_protocol::event::Event;
use symbolon_protocol::id::{GroupId, RoleId};
use symbolon_protocol::sign_in::invitation::{
    Invitation, KeptInvitation, LIVES, LONGEST_LIFE, MOST_GIVEN, MOST_KEPT,
};
use symbolon_protocol::sign_in::registration::Registration;
use symbolon_protocol::time::Timestamp;
use symbolon_store::port::InvitationKeeping;

use crate::call::{Call, Concerns, Payload, created, done, ok};
use crate::error::{AdminError, Answer};
use crate::operation::{Operation, PAGE, Parameter, page_of, reference};
use crate::{paging, users};
use symbolon_app::audit::{Actor, ChangedFields};
use symbolon_app::http::Failure;
use symbolon_app::mail::MailOutcome;
use symbolon_app::registration::{invitation_link, use_invitation};

/// The shortest life of an invitation, in seconds.
const SHORTEST: u64 = 60;

pub(super) fn operations() -> Vec<Operation> {
    let search = [Parameter { name: "search", kind: "string", about: "Part of the address." }];
    vec![
        Operation::get("/invitations", "Lists invitations until their time is over, newest first", list)
            .query(&PAGE)
            .query(&search)
            .answers(200, page_of("invitations", "Invitation")),
        Operation::taking(
            Method::POST,
            "/invitations",
            "NewInvitation",
            "Invites somebody to open an account, by mail unless told otherwise",
            create,
        )
        .answers(201, reference("MadeInvitation")),
        Operation::delete(
            "/invitations/{invitation_id}",
            "Withdraws an invitation: its link leads in no longer",
            withdraw,
        )
        .answers(204, Value::Null),
    ]
}

/// An invitation as JSON. Its link is not part of it.
fn view(kept: &KeptInvitation) -> Value {
    let Invitation { id, email, is_mailed, groups, roles, expires_at } = &kept.invitation;
    json!({
        "id": id,
        "email": email,
        "is_mailed": is_mailed,
        "groups": groups,
        "roles": roles,
        "created_at": kept.created_at,
        "expires_at": expires_at,
        "made_by": kept.made_by,
        "made_from": kept.made_from,
        "used_at": kept.used_at,
    })
}

async fn list(call: Call) -> Answer {
    let page = paging::requested(&call)?;
    let found = call.app.store.list_invitations(call.id(), &page, call.now()).await?;
    let invitations: Vec<Value> = found.items.iter().map(view).collect();
    Ok(ok(&json!({ "invitations": invitations, "pagination": paging::pagination(&page, found.total) })))
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
    let id = Invitation::draw_id(&*call.app.random);
    let invitation = Invitation { id, email, is_mailed, groups, roles, expires_at };
    let link = invitation_link(&call.issuer, &invitation);
    let link = link.map_err(|error| Failure::Internal(error.to_string()))?;
    let kept = keep(&call, invitation).await?;
    let (shown, invitation) = (view(&kept), kept.invitation);
    let mut answer = Map::from_iter([("invitation".to_owned(), shown.clone())]);
    if is_mailed {
        let minutes = u32::try_from(seconds / 60).unwrap_or(u32::MAX);
        let message = Message::Invitation { url: SecretString::new(link), minutes };
        let language = Language::wanted(language.split(','));
        let mail = Mail { to: invitation.email.clone(), language, user: None, client: None, message };
        let outcome = call.app.send_mail(&call.issuer, &mail).await?;
        answer.insert("queued".to_owned(), Value::Bool(outcome == MailOutcome::Queued));
    } else {
        answer.insert("link".to_owned(), Value::String(link));
    }
    let concerns = Concerns { detail: json!({ "invitation": invitation.id }), ..Concerns::default() };
    call.audit(Event::InvitationMade, concerns, ChangedFields::made(&shown));
    Ok(created(&Value::Object(answer)))
}

/// Keeps an invitation, durably before anybody gets its link.
async fn keep(call: &Call, invitation: Invitation) -> Result<KeptInvitation, AdminError> {
    let made_by = Actor::Admin.name().to_owned();
    let kept =
        KeptInvitation { invitation, created_at: call.now(), made_by, made_from: call.remote, used_at: None };
    match call.app.store.keep_invitation(call.id(), kept.clone(), MOST_KEPT).await? {
        InvitationKeeping::Kept => Ok(kept),
        InvitationKeeping::Full => Err(AdminError::conflict(format!(
            "{MOST_KEPT} invitations wait for their end: withdraw some first, or give them a shorter lifetime"
        ))),
    }
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
    let kept = call.app.store.invitation(call.id(), id).await?;
    let is_first = match (&kept, Invitation::end_of(id)) {
        (Some(_), _) => call.app.store.withdraw_invitation(call.id(), id, call.now()).await?,
        (None, Some(end)) => withdraw_unlisted(&call, id, end).await?,
        (None, None) => false,
    };
    if !is_first {
        return Err(unknown());
    }
    let concerns = Concerns { detail: json!({ "invitation": id }), ..Concerns::default() };
    let removed = kept.as_ref().map_or_else(|| json!({ "id": id }), view);
    call.audit(Event::InvitationWithdrawn, concerns, ChangedFields::removed(&removed));
    Ok(done())
}

/// Withdraws an invitation of an earlier release, of which there is no record: its id tells when it ends.
async fn withdraw_unlisted(call: &Call, id: &str, end: Timestamp) -> Result<bool, AdminError> {
    if end <= call.now() || end > call.now() + LONGEST_LIFE {
        return Ok(false);
    }
    Ok(use_invitation((&*call.app, &*call.issuer), (id, end)).await?.told().await?)
}
