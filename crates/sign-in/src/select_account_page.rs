//! The page on which a person chooses one of the accounts that are signed in in their browser (OpenID Connect Core 3.1.2.1,
//! `prompt=select_account`).

use axum::response::Response;
use http::StatusCode;
use symbolon_pages::{AccountChoice, SelectAccountPage};
use symbolon_protocol::id::UserId;
use symbolon_protocol::params::Params;
use symbolon_protocol::precis::login_key;
use symbolon_protocol::session::Session;
use symbolon_protocol::user::User;

use crate::browser_accounts::BrowserAccounts;
use crate::interaction::{Interaction, Page, PendingAuthorization, address, fits_address};
use crate::login_page::{self, append};
use crate::requesting_client::Asking;
use symbolon_app::http::csrf::Purpose;
use symbolon_app::http::{Call, Context, Failure, Policy, html, redirect};

/// The path of the page and its form.
pub(super) const PATH: &str = "/select-account";

/// Asks the person for an account: shows the page if the person is on it already or if the interaction is too long for an
/// address, else redirects to it. Where nobody is signed in any more, the person signs in.
///
/// # Errors
/// [`Failure`]
pub(super) async fn ask(
    call: &mut Call,
    interaction: Interaction<PendingAuthorization>,
    on: Page,
) -> Result<Response, Failure> {
    let sealed = interaction.seal(&call.context)?;
    let is_shown_here = on == Page::SelectAccount && !call.received.is_post();
    if !is_shown_here && fits_address(&sealed) {
        let mut response = redirect(call.received.is_post(), &address(&call.context, PATH, &sealed));
        append(response.headers_mut(), interaction.browser.cookie(&call.context.issuer));
        return Ok(response);
    }
    let asking = Asking::of(&call.context, &interaction.pending).await?;
    let hinted = Hinted::of(&call.context, &interaction.pending, &asking);
    let accounts = choices(call, &hinted).await?;
    if accounts.is_empty() {
        return login_page::ask(call, interaction, on).await;
    }
    page(&call.context, (&interaction, sealed), &asking, accounts)
}

/// Whom the request names, who comes first on the page.
struct Hinted {
    user: Option<UserId>,
    login_name: Option<String>,
}

impl Hinted {
    fn of(context: &Context, pending: &PendingAuthorization, asking: &Asking) -> Self {
        let user = pending.request().and_then(|request| {
            let params = Params::parse(request.as_bytes()).ok()?;
            let hint = context.issuer.id_token_hint(params.get("id_token_hint").ok()?);
            hint.claims().map(|claims| claims.sub.clone())
        });
        Self { user, login_name: asking.login_hint().map(|hint| login_key(hint.trim())) }
    }

    fn is(&self, user: &User) -> bool {
        let is_named = |name: &Option<String>| match (name, &self.login_name) {
            (Some(name), Some(hinted)) => login_key(name) == *hinted,
            _ => false,
        };
        self.user.as_ref() == Some(&user.id)
            || is_named(&user.email)
            || is_named(&user.profile.preferred_username)
    }
}

/// The accounts of the browser whose users may sign in: the hinted one first, then the one in use.
async fn choices(call: &mut Call, hinted: &Hinted) -> Result<Vec<AccountChoice>, Failure> {
    let Call { context, received, durable, .. } = call;
    let accounts = BrowserAccounts::of(context, received, durable).await?;
    let in_use = accounts.in_use.as_ref().map(|account| account.session.sid.clone());
    let (mut first, mut choices) = (Vec::new(), Vec::new());
    for account in accounts.all() {
        let user = context.app.store.user(&context.issuer.id, &account.session.user).await?;
        let Some(user) = user.filter(|user| user.may_sign_in()) else { continue };
        let choice = choice(&account.session, &user, in_use.as_ref() == Some(&account.session.sid));
        if hinted.is(&user) { first.push(choice) } else { choices.push(choice) }
    }
    first.append(&mut choices);
    Ok(first)
}

fn choice(session: &Session, user: &User, is_in_use: bool) -> AccountChoice {
    let login_name = login_name(user);
    let name = user.profile.name.clone().filter(|name| *name != login_name);
    AccountChoice { sid: session.sid.to_string(), name, login_name, is_in_use }
}

/// The name by which a person signs in.
pub(super) fn login_name(user: &User) -> String {
    let name = user.email.clone().or_else(|| user.profile.preferred_username.clone());
    name.unwrap_or_else(|| user.id.to_string())
}

fn page(
    context: &Context,
    (interaction, sealed): (&Interaction<PendingAuthorization>, String),
    asking: &Asking,
    accounts: Vec<AccountChoice>,
) -> Result<Response, Failure> {
    let language = interaction.language;
    let client = asking.client();
    let look = asking.appearance(context);
    let page = SelectAccountPage {
        language,
        issuer_name: look.name,
        client_name: asking.display_name(language),
        client_uri: client.and_then(|client| client.displayed_in("client_uri", language.tag())),
        client_logo: asking.logo_address(context),
        accounts,
        action: address(context, PATH, &sealed),
        csrf: interaction.csrf_token(context, Purpose::SelectAccount, ""),
        transaction: sealed,
    };
    let page = page
        .render_for(&context.issuer.prefix, &look.brand)
        .map_err(|error| Failure::Internal(error.to_string()))?;
    let policy = Policy { leads_to_client: client.is_some(), language, ..Policy::default() };
    let mut response = html(StatusCode::OK, page, &policy);
    append(response.headers_mut(), interaction.browser.cookie(&context.issuer));
    Ok(response)
}
