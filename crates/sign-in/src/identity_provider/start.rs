//! The way to another provider.

use axum::response::Response;
use symbolon_pages::LoginError;
use symbolon_protocol::identity_provider::IdentityProvider;
use symbolon_protocol::identity_provider::authentication_request::{AuthenticationRequest, Drawn};
use symbolon_protocol::params::Params;
use symbolon_protocol::refusal::{Details, Reason, Refusal};

use super::state::{self, Purpose};
use super::{LONGEST_ADDRESS, enabled};
use crate::interaction::PendingAuthorization;
use crate::login_form::{self, LoginForm, Opened};
use crate::login_page::append;
use symbolon_app::http::csrf::Browser;
use symbolon_app::http::{Call, Context, Failure, redirect};
use symbolon_app::upstream::{Upstream, UpstreamError};

/// `POST /login/provider`: one of the buttons of the sign-in page.
///
/// # Errors
/// [`Failure`]
pub(in super::super) async fn submit(call: &mut Call) -> Result<Response, Failure> {
    let form = call.received.form.clone();
    let params = Params::parse(&form)?;
    let form = match login_form::open(call, &params).await? {
        Opened::Form(form) => *form,
        Opened::Answered(answer) => return Ok(answer),
    };
    let named = params.get("provider")?.unwrap_or_default();
    match enabled(&call.context.issuer, named) {
        Some(provider) => lead(call, form, &provider).await,
        None => {
            let details = Details::of("provider").sent(named);
            form.note(&call.context, Refusal::about(Reason::IdentityProviderOff, details));
            form.refused(&call.context, LoginError::Expired).await
        }
    }
}

/// Leads on to the provider of a typed address, if its domain has one; else gives the form back.
///
/// # Errors
/// [`Failure`]
pub(in super::super) async fn route(
    call: &mut Call,
    form: LoginForm,
) -> Result<Result<Response, Box<LoginForm>>, Failure> {
    let settings = call.context.issuer.settings.load_full();
    let typed = form.typed.as_deref().unwrap_or_default();
    match settings.identity_providers.iter().find(|own| own.routes(typed)) {
        Some(provider) => lead(call, form, provider).await.map(Ok),
        None => Ok(Err(Box::new(form))),
    }
}

async fn lead(call: &mut Call, form: LoginForm, provider: &IdentityProvider) -> Result<Response, Failure> {
    let context = call.context.clone();
    let pending = form.interaction.pending.clone();
    let prompts_login = prompts_login(&pending);
    let hint = form.typed.clone().filter(|typed| provider.routes(typed));
    let purpose = Purpose::SignIn(Box::new(pending));
    match address(&context, provider, (&form.interaction.browser, purpose), (hint.as_deref(), prompts_login))
        .await?
    {
        Some(to) => {
            let mut response = redirect(true, &to);
            append(response.headers_mut(), form.interaction.browser.cookie(&context.issuer));
            Ok(response)
        }
        None => {
            form.note(&context, Refusal::about(Reason::IdentityProviderUnusable, Details::default()));
            form.refused(&context, LoginError::ProviderFailed).await
        }
    }
}

/// The address of a provider with a request; `None` if the provider cannot be asked. `hint`: who it may be.
///
/// # Errors
/// [`Failure::Internal`]
pub(super) async fn address(
    context: &Context,
    provider: &IdentityProvider,
    (browser, purpose): (&Browser, Purpose),
    (hint, prompts_login): (Option<&str>, bool),
) -> Result<Option<String>, Failure> {
    let upstream = Upstream { app: &context.app, issuer: &context.issuer, provider };
    let metadata = match upstream.metadata().await {
        Ok(metadata) => metadata,
        Err(error) => {
            warn(context, provider, &error);
            return Ok(None);
        }
    };
    let drawn = Drawn::draw(&*context.app.random);
    let state = state::seal(context, provider, (browser, &drawn, prompts_login), purpose)?;
    let request = AuthenticationRequest {
        provider,
        metadata: &metadata,
        redirect_uri: &context.issuer.callback_of(&provider.id),
        state: &state,
        drawn: &drawn,
        login_hint: hint,
        prompts_login,
    };
    Ok(Some(String::from(request.url())).filter(|to| to.len() <= LONGEST_ADDRESS))
}

/// Says in the log why a provider could not be asked.
pub(super) fn warn(context: &Context, provider: &IdentityProvider, error: &UpstreamError) {
    tracing::warn!(
        target: "symbolon::request", issuer = %context.issuer.id, identity_provider = %provider.id, %error,
        "another provider did not say who somebody is"
    );
}

/// Whether the application asks for a new sign-in (OpenID Connect Core 3.1.2.1): then the other provider is asked for one, too.
fn prompts_login(pending: &PendingAuthorization) -> bool {
    let Some(request) = pending.request() else { return true };
    let Ok(params) = Params::parse(request.as_bytes()) else { return false };
    let prompt = params.get("prompt").ok().flatten().unwrap_or_default();
    prompt.split(' ').any(|value| value == "login") || params.get("max_age").ok().flatten().is_some()
}
