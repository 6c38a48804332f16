//! Choosing the account with which to go on, among those that are signed in in the browser.

use axum::response::Response;
use symbolon_pages::AccountPlace;
use symbolon_protocol::authorize::AnotherAccount;
use symbolon_protocol::authorize::decide::denied;
use symbolon_protocol::params::Params;
use symbolon_protocol::refusal::Reason;
use symbolon_protocol::session::SessionId;

use crate::authorize::{self, refuse, resume};
use crate::browser_accounts::{Account, BrowserAccounts, cookies_in_use};
use crate::interaction::{Interaction, Page, PendingAuthorization};
use crate::login_page::{self, append};
use crate::requesting_client::Asking;
use crate::select_account_page::login_name;
use crate::sign_in_goal::{AccountGoal, Freshness, SignInGoal};
use symbolon_app::audit::RefusedRequest;
use symbolon_app::http::csrf::Purpose;
use symbolon_app::http::{Call, Context, Failure, session_cookie};

/// `GET /select-account`: the page, or on where nothing is left to choose. Without an interaction it is the person who wants
/// another account, on the account pages.
///
/// # Errors
/// [`Failure`]
pub(super) async fn show(call: &mut Call) -> Result<Response, Failure> {
    let Call { context, received, .. } = &*call;
    if Params::parse(received.encoded())?.get("transaction")?.is_some() {
        return authorize::show(call, Page::SelectAccount).await;
    }
    let goal = AccountGoal::new(AccountPlace::Overview, Freshness::Any, None);
    let mut pending = PendingAuthorization::for_goal(SignInGoal::Account(goal));
    pending.wants = AnotherAccount::Choose;
    let interaction = Interaction::begin(context, received, pending);
    let session = session_cookie(&received.headers, &context.issuer);
    resume(call, interaction, session, Page::SelectAccount).await
}

/// `POST /select-account`: the person's choice.
///
/// # Errors
/// [`Failure`]
pub(super) async fn submit(call: &mut Call) -> Result<Response, Failure> {
    let form = call.received.form.clone();
    let params = Params::parse(&form)?;
    let Call { context, received, client, .. } = &mut *call;
    let mut interaction = Interaction::<PendingAuthorization>::open(context, received, &params)?;
    let asking = Asking::of(context, &interaction.pending).await?;
    *client = asking.client().cloned();
    if !interaction.accepts((context, received), &params, Purpose::SelectAccount, "")? {
        context.refused(RefusedRequest::anonymous(Reason::PageFormExpired.into(), asking.client_id()));
        let session = session_cookie(&received.headers, &context.issuer);
        return resume(call, interaction, session, Page::Other).await;
    }
    if params.get("cancel")?.is_some() {
        return refuse(call, &interaction.pending, denied()).await;
    }
    if params.get("other")?.is_some() {
        interaction.begin_for_another(context, AnotherAccount::SignIn);
        return login_page::ask(call, interaction, Page::Other).await;
    }
    choose(call, interaction, params.get("account")?.unwrap_or_default()).await
}

/// Goes on with the account whose session a `sid` names. Only sessions in this browser's cookies can be chosen: of any other
/// `sid`, and of a session that has ended, nothing happens but that the page is shown again.
async fn choose(
    call: &mut Call,
    mut interaction: Interaction<PendingAuthorization>,
    sid: &str,
) -> Result<Response, Failure> {
    let Call { context, received, durable, .. } = &mut *call;
    let accounts = BrowserAccounts::of(context, received, durable).await?;
    let Some(chosen) = accounts.named(sid).cloned() else {
        let session = accounts.in_use.map(|account| account.id);
        return resume(call, interaction, session, Page::Other).await;
    };
    let others = beside(accounts, &chosen);
    let cookies = cookies_in_use(context, received, (&chosen.id, &*chosen.session), &others);
    note(context, &mut interaction.pending, &chosen).await?;
    let mut response = resume(call, interaction, Some(chosen.id), Page::Other).await?;
    for cookie in cookies {
        append(response.headers_mut(), cookie);
    }
    Ok(response)
}

/// The sessions of the other accounts, that of the one last used first.
fn beside(accounts: BrowserAccounts, chosen: &Account) -> Vec<SessionId> {
    let all = accounts.into_all().into_iter().map(|account| account.id);
    all.filter(|id| *id != chosen.id).collect()
}

/// Notes the choice, and forgets what was begun for another account. If the account has to sign in again, the page knows its
/// name.
async fn note(
    context: &Context,
    pending: &mut PendingAuthorization,
    chosen: &Account,
) -> Result<(), Failure> {
    let user = context.app.store.user(&context.issuer.id, &chosen.session.user).await?;
    pending.selected = Some(chosen.session.sid.clone());
    pending.login_name = user.as_deref().map(login_name);
    pending.wants = AnotherAccount::No;
    pending.signed_in_at = None;
    pending.first_factor = None;
    pending.email_code = None;
    Ok(())
}
