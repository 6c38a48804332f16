//! The person's sessions: listed, ended one by one, or all others at once.

use axum::response::Response;
use serde_json::json;
use symbolon_pages::{AccountNotice, AccountPlace, SessionView, SessionsPage};
use symbolon_protocol::event::Event;
use symbolon_protocol::params::Params;
use symbolon_protocol::session::AuthenticationMethod;
use symbolon_store::port::{ListedSession, PageRequest};

use super::{Person, Visitor, by_themselves, done, form, status, told, visitor};
use crate::session_end::end_session_by_sid;
use crate::sign_in_goal::Freshness;
use symbolon_app::grants;
use symbolon_app::http::{Call, Context, Failure};

const PLACE: AccountPlace = AccountPlace::Sessions;

/// How many sessions the page shows.
const SHOWN: u32 = 50;

/// How many sessions are read at once to end them.
const AT_ONCE: u32 = 200;

/// `GET /account/sessions`.
///
/// # Errors
/// [`Failure`]
pub(in super::super) async fn show(call: &mut Call) -> Result<Response, Failure> {
    match visitor(call, PLACE, Freshness::Any).await? {
        Visitor::Person(person) => {
            let notice = told(call);
            page(call, &person, notice).await
        }
        Visitor::Stranger(answer) => Ok(answer),
    }
}

/// `POST /account/sessions`.
///
/// # Errors
/// [`Failure`]
pub(in super::super) async fn submit(call: &mut Call) -> Result<Response, Failure> {
    let person = match visitor(call, PLACE, Freshness::Fresh).await? {
        Visitor::Person(person) => person,
        Visitor::Stranger(answer) => return Ok(answer),
    };
    let form = form(call);
    let params = Params::parse(&form)?;
    if !person.accepts(call, &params, PLACE)? {
        return page(call, &person, Some(AccountNotice::Expired)).await;
    }
    if params.get("end_others")?.is_some() {
        end_others(call, &person).await?;
    } else if let Some(sid) = params.get("end")? {
        end_one(call, &person, sid).await?;
    }
    Ok(done(call, PLACE, &AccountNotice::SessionsEnded))
}

async fn page(call: &mut Call, person: &Person, notice: Option<AccountNotice>) -> Result<Response, Failure> {
    let context = &call.context;
    let newest = PageRequest { page: 1, limit: SHOWN, search: None };
    let found = context
        .app
        .store
        .list_sessions(&context.issuer.id, &person.user.id, &newest, context.app.now())
        .await?;
    let mut sessions: Vec<SessionView> =
        found.items.iter().map(|listed| view(context, person, listed)).collect();
    // This browser's first, the others newest first.
    sessions.sort_by_key(|session| !session.is_this);
    let status = status(notice.as_ref());
    let page = SessionsPage {
        language: person.language,
        issuer_name: context.issuer.display_name(),
        frame: person.frame(context, PLACE, notice),
        sessions,
        total: found.total,
        is_told: person.user.email.is_some(),
    };
    person.page(context, status, page.render_for(&context.issuer.prefix, &context.issuer.brand()))
}

fn view(context: &Context, person: &Person, listed: &ListedSession) -> SessionView {
    let session = &listed.session;
    let origin = listed.origin.clone().unwrap_or_default();
    SessionView {
        device: origin.device,
        address: origin.address.map(|address| address.to_string()),
        place: origin.address.and_then(|address| context.app.place_of(address, person.language.tag())),
        sid: session.sid.to_string(),
        is_this: session.sid == person.session.sid,
        begun: session.created_at.millis(),
        signed_in: session.auth_time.millis(),
        used: listed.last_used_at.millis(),
        methods: session.amr.iter().map(AuthenticationMethod::as_str).collect(),
    }
}

/// Ends one session of the person. One that has ended already, and one of somebody else, changes nothing. If it is another
/// one than this browser's, the device may be lost: browsers that are remembered ask for the second factor again.
async fn end_one(call: &mut Call, person: &Person, sid: &str) -> Result<(), Failure> {
    let Call { context, durable, .. } = &mut *call;
    let found = context.app.store.session_by_sid(&context.issuer.id, sid, context.app.now()).await?;
    let Some(found) = found.take(durable).filter(|found| found.session.user == person.user.id) else {
        return Ok(());
    };
    let mut detail = json!({ "sessions": 1 });
    if found.session.sid != person.session.sid {
        grants::forget_browsers(&context.app, &context.issuer, &person.user.id).await?;
        detail = json!({ "sessions": 1, "remembered_browsers": "ended" });
    }
    end_session_by_sid(&context.app, &context.issuer, &found.session).await?.take(durable);
    call.settle().await?;
    let detail = by_themselves(detail);
    call.context.audit_change(Event::SessionEnded, &person.user.id, None, detail);
    Ok(())
}

/// Ends all sessions of the person but this browser's, and what is bound to them. Returns how many. Browsers that are
/// remembered ask for the second factor again, this one too at its next sign-in.
///
/// # Errors
/// [`Failure`]: the store is out of reach. Some sessions may still live then.
pub(super) async fn end_others(call: &mut Call, person: &Person) -> Result<u64, Failure> {
    let Call { context, durable, .. } = &mut *call;
    grants::forget_browsers(&context.app, &context.issuer, &person.user.id).await?;
    let mut ended = 0;
    loop {
        // Always the first page: those that were ended are gone from it.
        let newest = PageRequest { page: 1, limit: AT_ONCE, search: None };
        let now = context.app.now();
        let found =
            context.app.store.list_sessions(&context.issuer.id, &person.user.id, &newest, now).await?;
        let others = found.items.iter().filter(|listed| listed.session.sid != person.session.sid);
        let before = ended;
        for listed in others {
            end_session_by_sid(&context.app, &context.issuer, &listed.session).await?.take(durable);
            ended += 1;
        }
        if ended == before || found.items.len() < AT_ONCE as usize {
            break;
        }
    }
    call.settle().await?;
    // Also where there were none: remembered browsers have ended.
    let detail = by_themselves(json!({ "sessions": ended, "remembered_browsers": "ended" }));
    call.context.audit_change(Event::SessionEnded, &person.user.id, None, detail);
    Ok(ended)
}
