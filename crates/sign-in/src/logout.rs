//! Logout requested by a relying party (OpenID Connect RP-Initiated Logout 1.0), and its confirmation page.

use std::sync::Arc;

use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use symbolon_pages::{Language, LoggedOutPage, LogoutPage};
use symbolon_protocol::client::Client;
use symbolon_protocol::error::OAuthError;
use symbolon_protocol::event::Event;
use symbolon_protocol::front_channel_logout::{self, MOST_FRAMES};
use symbolon_protocol::id::{ClientId, Sid};
use symbolon_protocol::id_token_hint::{IdTokenHint, IdTokenHintClaims};
use symbolon_protocol::logout::{LogoutDecision, LogoutRequest, is_about};
use symbolon_protocol::params::Params;
use symbolon_protocol::refusal::{Details, Reason, Refusal};
use symbolon_protocol::session::Session;
use symbolon_store::Durable;
use symbolon_store::port::PageRequest;

use crate::browser_accounts::{Account, BrowserAccounts, forget_ended, may_have_others};
use crate::interaction::{Interaction, PendingLogout, session_of, to_root, user_name};
use crate::session_end::{end_session, end_session_by_sid};
use crate::upstream_logout::{self, LogoutEnd, PassedOn};
use symbolon_app::audit::RefusedRequest;
use symbolon_app::client_documents;
use symbolon_app::http::csrf::Purpose;
use symbolon_app::http::{Call, Context, Failure, Policy, html, redirect};

/// How many of a user's sessions are searched for an earlier `sid`: enough for all of them, unless
/// `rate_limit.login.sessions` was raised.
const MOST_LOOKED_AT: u32 = 100;

/// The most applications that the page names which asks.
const MOST_NAMED: usize = 12;

/// How long the signed-out page waits for its frames, in seconds.
const LEADS_ON_AFTER: u32 = 2;

/// The path of the page's form.
pub(super) const CONFIRM: &str = "/logout/confirm";

/// `GET` and `POST /logout` (section 2: both MUST be supported).
///
/// # Errors
/// [`Failure`]: `invalid_request`, shown as a page.
pub(super) async fn logout(call: &mut Call) -> Result<Response, Failure> {
    let Call { context, received, durable, client: asking, .. } = &mut *call;
    let params = Params::parse(received.encoded())?;
    let request = LogoutRequest::read(&params)?;
    let hint = context.issuer.id_token_hint(request.id_token_hint);
    let client = client(context, request.client(&hint)).await?;
    asking.clone_from(&client);
    let accounts = BrowserAccounts::of(context, received, durable).await?;
    let about = whom(&accounts, &hint).cloned();
    let decision = request.decide(&hint, client.as_deref(), about.as_ref().map(|about| &*about.session));
    note_what_fails(context, &request, &hint, client.as_deref());
    match (decision, about) {
        (LogoutDecision::Refuse(error), _) => Err(error.into()),
        (LogoutDecision::Ask { redirect }, Some(about)) => {
            let client_name = client.as_deref().map(|client| client.display_name().to_owned());
            let ui_locales = request.ui_locales.map(str::to_owned);
            let sid = about.session.sid.clone();
            let pending = PendingLogout { sid, client_name, redirect, ui_locales };
            ask(context, Interaction::begin(context, received, pending), (&about, &accounts)).await
        }
        (LogoutDecision::EndNow { redirect }, Some(about)) => {
            let client_id = client.as_deref().map(|client| client.client_id.clone());
            let about = [about];
            end(call, &about, client_id.as_ref()).await?;
            let language = call.language();
            ended(call, LogoutEnd { redirect, client: client_id }, &about, language).await
        }
        (LogoutDecision::Ask { redirect } | LogoutDecision::EndNow { redirect }, None) => {
            if let Some(claims) = hint.claims() {
                end_hinted(call, claims, client.as_deref().map(|client| &client.client_id)).await?;
            }
            let language = call.language();
            signed_out(call, redirect, &[], language).await
        }
    }
}

/// The account that a logout is about: the one whose ID token comes with it, else the one in use, or last used.
fn whom<'a>(accounts: &'a BrowserAccounts, hint: &IdTokenHint) -> Option<&'a Account> {
    let hinted = accounts.all().find(|account| is_about(hint, &account.session));
    hinted.or_else(|| accounts.all().next())
}

/// Notes what of the request cannot be done, though it is answered with a page: the person is not sent where it asks,
/// or its hint says nothing.
fn note_what_fails(
    context: &Context,
    request: &LogoutRequest<'_>,
    hint: &IdTokenHint,
    client: Option<&Client>,
) {
    let unverifiable = || match hint {
        IdTokenHint::Unverifiable => {
            Some(Refusal::about(Reason::IdTokenHintUnverifiable, Details::of("id_token_hint")))
        }
        IdTokenHint::Absent | IdTokenHint::IdToken(_) => None,
    };
    if let Some(refusal) = request.why_astray(client).or_else(unverifiable) {
        let client = client.map(|client| &client.client_id);
        context.refused(RefusedRequest::anonymous(refusal, client));
    }
}

async fn client(context: &Context, client_id: Option<&str>) -> Result<Option<Arc<Client>>, Failure> {
    match client_id.map(ClientId::parse) {
        Some(Ok(client_id)) => Ok(client_documents::client(context, &client_id).await?.client()),
        Some(Err(_)) | None => Ok(None),
    }
}

/// Section 2: the provider SHOULD ask, and must if nothing proves that the request is about this session.
async fn ask(
    context: &Context,
    mut interaction: Interaction<PendingLogout>,
    (about, accounts): (&Account, &BrowserAccounts),
) -> Result<Response, Failure> {
    let session = &about.session;
    interaction.pending.sid = session.sid.clone();
    let mut others = Vec::new();
    for other in accounts.all().filter(|other| other.id != about.id) {
        others.push(user_name(context, &other.session).await?);
    }
    let page = LogoutPage {
        language: interaction.language,
        issuer_name: context.issuer.display_name(),
        user_name: Some(user_name(context, session).await?),
        others,
        client_name: interaction.pending.client_name.clone(),
        applications: told_applications(context, session, interaction.pending.client_name.as_deref()).await?,
        action: format!("{}{CONFIRM}", context.issuer.prefix),
        csrf: interaction.csrf_token(context, Purpose::Logout, session.sid.as_str()),
        transaction: interaction.seal(context)?,
    };
    let page = page
        .render_for(&context.issuer.prefix, &context.issuer.brand())
        .map_err(|error| Failure::Internal(error.to_string()))?;
    let mut response = html(
        StatusCode::OK,
        page,
        &Policy { leads_to_client: true, language: interaction.language, ..Policy::default() },
    );
    if let Some(cookie) = interaction.browser.cookie(&context.issuer) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

/// The names of the applications that are told when a session ends, without the one that asks.
async fn told_applications(
    context: &Context,
    session: &Session,
    asking: Option<&str>,
) -> Result<Vec<String>, Failure> {
    let clients = clients_of(context, session).await?;
    let is_told = |client: &&Arc<Client>| {
        let logout = &client.logout;
        logout.backchannel_logout_uri.is_some() || logout.frontchannel_logout_uri.is_some()
    };
    let names = clients.iter().filter(is_told).map(|client| client.display_name());
    Ok(names.filter(|name| Some(*name) != asking).take(MOST_NAMED).map(str::to_owned).collect())
}

async fn clients_of(context: &Context, session: &Session) -> Result<Vec<Arc<Client>>, Failure> {
    let Context { app, issuer, .. } = context;
    let mut clients = Vec::with_capacity(session.clients.len());
    for client in &session.clients {
        // Of a document what was read last is enough: nobody waits for the servers of others on the way out.
        clients.extend(app.client_at_hand(issuer, client).await?);
    }
    Ok(clients)
}

/// `POST /logout/confirm`: the person's decision.
///
/// # Errors
/// [`Failure`]: `invalid_request`, shown as a page.
pub(super) async fn confirm(call: &mut Call) -> Result<Response, Failure> {
    let Call { context, received, durable, .. } = &mut *call;
    let params = Params::parse(&received.form)?;
    let interaction = Interaction::<PendingLogout>::open(context, received, &params)?;
    let accounts = BrowserAccounts::of(context, received, durable).await?;
    let Some(first) = accounts.all().next() else {
        // The form was sent twice, or the session has ended elsewhere: the person is signed out already.
        return signed_out(call, interaction.pending.redirect, &[], interaction.language).await;
    };
    let sid = interaction.pending.sid.as_str();
    if !interaction.accepts((context, received), &params, Purpose::Logout, sid)? {
        let refusal = Refusal::about(Reason::PageFormExpired, Details::of_user(&first.session.user));
        context.refused(RefusedRequest::anonymous(refusal, None));
        return ask(context, interaction, (first, &accounts)).await;
    }
    let over: Vec<Account> = match params.get("decision")? {
        // None if the form was sent twice, or the session has ended elsewhere. Nobody else is signed out.
        Some("confirm") => accounts.named(sid).cloned().into_iter().collect(),
        Some("all") => accounts.into_all(),
        // Section 3: redirects to the client only after a logout.
        Some("cancel") => return Ok(redirect(true, &format!("{}/", context.issuer.prefix))),
        decision => {
            let details = Details::of("decision").sent(decision.unwrap_or_default());
            let description = "decision must be confirm, all or cancel";
            return Err(OAuthError::invalid_request(Reason::PageFormInvalid, description)
                .about(details)
                .into());
        }
    };
    end(call, &over, None).await?;
    let PendingLogout { redirect, .. } = interaction.pending;
    ended(call, LogoutEnd { redirect, client: None }, &over, interaction.language).await
}

async fn end(call: &mut Call, over: &[Account], client: Option<&ClientId>) -> Result<(), Failure> {
    call.must_complete();
    let Call { context, durable, .. } = &mut *call;
    for Account { id, session } in over {
        end_session(&context.app, &context.issuer, id, session, durable).await?;
    }
    call.settle().await?;
    for account in over {
        call.context.audit(Event::SessionEnded, Some(&account.session.user), client);
    }
    Ok(())
}

/// Ends the session in which the hinted ID token was issued, if the request carries no session cookie: a form of
/// another site sends no Lax cookie, or the relying party called from another browser. The hint names the session
/// (RP-Initiated Logout 2), and there is no session to show a confirmation page to.
async fn end_hinted(
    call: &mut Call,
    hint: &IdTokenHintClaims,
    client: Option<&ClientId>,
) -> Result<(), Failure> {
    let Call { context, durable, .. } = &mut *call;
    let Some(session) = hinted(context, hint, durable).await? else { return Ok(()) };
    call.must_complete();
    let Call { context, durable, .. } = &mut *call;
    end_session_by_sid(&context.app, &context.issuer, &session).await?.take(durable);
    call.settle().await?;
    call.context.audit(Event::SessionEnded, Some(&session.user), client);
    Ok(())
}

/// The hinted subject's live session whose `sid` the hint carries, or carried before the person signed in again.
async fn hinted(
    context: &Context,
    hint: &IdTokenHintClaims,
    durable: &mut Durable,
) -> Result<Option<Arc<Session>>, Failure> {
    let Some(sid) = hint.sid.as_ref().map(Sid::as_str) else { return Ok(None) };
    let (store, issuer, now) = (&context.app.store, &context.issuer.id, context.app.now());
    let is_meant = |session: &Session| session.user == hint.sub && session.is_named(sid);
    if let Some(found) = store.session_by_sid(issuer, sid, now).await?.take(durable) {
        return Ok(Some(found.session).filter(|session| is_meant(session)));
    }
    let newest = PageRequest { page: 1, limit: MOST_LOOKED_AT, search: None };
    let sessions = store.list_sessions(issuer, &hint.sub, &newest, now).await?;
    Ok(sessions.items.into_iter().map(|listed| listed.session).find(|session| is_meant(session)))
}

/// What follows when sessions have ended in this browser: the logout goes on at the provider by which the person signed in to the
/// first of them that began by one, if that is set so, or ends here.
async fn ended(
    call: &mut Call,
    end: LogoutEnd,
    over: &[Account],
    language: Language,
) -> Result<Response, Failure> {
    let LogoutEnd { redirect: here, client } = end;
    for account in over {
        let Call { context, received, .. } = &mut *call;
        let end = LogoutEnd { redirect: here.clone(), client: client.clone() };
        let passed_on = upstream_logout::pass_on((context, received), &account.session, end);
        if let Some(PassedOn { to, cookies }) = Box::pin(passed_on).await? {
            let mut response = signed_out(call, Some(to), over, language).await?;
            for cookie in cookies.into_iter().flatten() {
                response.headers_mut().append(header::SET_COOKIE, cookie);
            }
            return Ok(response);
        }
    }
    signed_out(call, here, over, language).await
}

/// `GET /logout/callback`: the person comes back from another provider, and goes where the logout ends. An answer that belongs to
/// no logout in this browser leads nowhere; nobody who is signed in is told otherwise.
///
/// # Errors
/// [`Failure`]: `invalid_request`, shown as a page.
pub(super) async fn callback(call: &mut Call) -> Result<Response, Failure> {
    let query = call.received.uri.query().unwrap_or_default().to_owned();
    let params = Params::parse(query.as_bytes())?;
    let LogoutEnd { redirect, client } = upstream_logout::end(call, &params)?.unwrap_or_default();
    let Call { context, received, durable, .. } = &mut *call;
    if redirect.is_none() && session_of(context, received, durable).await?.is_some() {
        return Ok(to_root(context));
    }
    if let Some(client) = client {
        call.client = call.context.app.client_at_hand(&call.context.issuer, &client).await?;
    }
    let language = call.language();
    signed_out(call, redirect, &[], language).await
}

/// Redirects to the client's URI if there is one (section 3), else shows the signed-out page. `over`: the sessions that have
/// ended here, whose cookies are removed. Where their clients have frames to be told by, the page is shown in any case, and
/// leads on.
async fn signed_out(
    call: &mut Call,
    to: Option<String>,
    over: &[Account],
    language: Language,
) -> Result<Response, Failure> {
    let context = &call.context;
    let mut frames = Vec::new();
    for account in over {
        frames.extend(frames_of(context, &account.session).await?);
    }
    frames.truncate(MOST_FRAMES);
    let mut response = match to {
        Some(location) if frames.is_empty() => redirect(call.received.is_post(), &location),
        to => {
            let others = still_signed_in(call, over).await?;
            let Call { context, client, .. } = &*call;
            signed_out_page((context, client.as_deref()), (frames, others), to, language)?
        }
    };
    let Call { context, received, .. } = &*call;
    // Otherwise the cookies stay: they may belong to a live session, because a POST from another site sends no Lax
    // cookie, and another provider on this host may use the same cookie names. Removing them would sign nobody out.
    if !over.is_empty() {
        forget_ended(context, received, over, response.headers_mut());
    }
    Ok(response)
}

/// The names of the browser's accounts that go on.
async fn still_signed_in(call: &mut Call, over: &[Account]) -> Result<Vec<String>, Failure> {
    let Call { context, received, durable, .. } = call;
    let mut names = Vec::new();
    // What has ended here was all that the browser had.
    if !over.is_empty() && !may_have_others(context, received) {
        return Ok(names);
    }
    for account in BrowserAccounts::of(context, received, durable).await?.all() {
        if over.iter().all(|over| over.id != account.id) {
            names.push(user_name(context, &account.session).await?);
        }
    }
    Ok(names)
}

/// The frames by which the clients of a session are told (Front-Channel Logout 1.0).
async fn frames_of(context: &Context, session: &Session) -> Result<Vec<String>, Failure> {
    let clients = clients_of(context, session).await?;
    let (issuer, clients) = (&context.issuer, clients.iter().map(|client| &**client));
    Ok(front_channel_logout::frames(&issuer.url, session, &issuer.pairwise_key, clients))
}

fn signed_out_page(
    (context, client): (&Context, Option<&Client>),
    (frames, others): (Vec<String>, Vec<String>),
    to: Option<String>,
    language: Language,
) -> Result<Response, Failure> {
    let issuer = &context.issuer;
    let origins = front_channel_logout::origins(&frames);
    let page = LoggedOutPage {
        language,
        issuer_name: issuer.display_name(),
        return_uri: to.clone().or_else(|| client.and_then(|client| client.displayed("client_uri"))),
        client_name: client.map(|client| client.display_name_in(language.tag())),
        frames,
        others,
        leads_on_to: to.clone(),
    };
    let page = page
        .render_for(&issuer.prefix, &issuer.brand())
        .map_err(|error| Failure::Internal(error.to_string()))?;
    let frame = origins.iter().map(String::as_str).collect();
    let mut response = html(StatusCode::OK, page, &Policy { frame, language, ..Policy::default() });
    // For browsers that run no scripts.
    if let Some(Ok(refresh)) = to.map(|to| HeaderValue::try_from(format!("{LEADS_ON_AFTER};url={to}"))) {
        response.headers_mut().insert(header::REFRESH, refresh);
    }
    Ok(response)
}
