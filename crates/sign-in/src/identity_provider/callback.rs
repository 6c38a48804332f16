//! The way back from another provider.

use axum::response::Response;
use symbolon_pages::{AccountNotice, LoginError};
use symbolon_protocol::identity_provider::IdentityProvider;
use symbolon_protocol::identity_provider::authentication_request::is_from;
use symbolon_protocol::identity_provider::token_response::error_code;
use symbolon_protocol::identity_provider::upstream_user::UpstreamUser;
use symbolon_protocol::params::Params;
use symbolon_protocol::refusal::{Details, Reason, Refusal};

use super::start::warn;
use super::state::{self, Purpose, State};
use super::{answer, connect, enabled};
use crate::interaction::{Interaction, session_of, to_root};
use crate::login_page;
use crate::requesting_client::Asking;
use symbolon_app::audit::{Actor, RefusedRequest};
use symbolon_app::http::csrf::Browser;
use symbolon_app::http::{Call, Context, Failure, redirect};
use symbolon_app::upstream::{Upstream, UpstreamCode, UpstreamError};

/// The parameters of an answer that are used. `user` is Apple's: who signs in there for the first time.
const ANSWER: [&str; 5] = ["code", "state", "iss", "error", "user"];
/// The longest value that is passed on, in bytes. The longest is a state.
const LONGEST_VALUE: usize = 6 << 10;

/// `GET` and `POST /login/callback/{name}`: the answer of a provider.
///
/// # Errors
/// [`Failure`]
pub(in super::super) async fn callback(call: &mut Call) -> Result<Response, Failure> {
    let (form, query) =
        (call.received.form.clone(), call.received.uri.query().unwrap_or_default().to_owned());
    let is_post = call.received.is_post();
    let params = Params::parse(if is_post { &form } else { query.as_bytes() })?;
    let context = call.context.clone();
    let id = call.received.uri.path().rsplit('/').next().unwrap_or_default().to_owned();
    let Some(provider) = enabled(&context.issuer, &id) else {
        return lost(call, Reason::IdentityProviderOff).await;
    };
    let browser = Browser::of(&call.received.headers, &context.issuer);
    if is_post && browser.is_none() {
        return same_site(call, &provider, &params);
    }
    let text = params.get("state")?.unwrap_or_default();
    let Some(state) = state::open(&context, &provider, browser.as_ref(), text) else {
        return lost(call, Reason::IdentityProviderState).await;
    };
    match verified(&context, &provider, &params, &state).await? {
        Ok(upstream) => {
            call.must_complete();
            match state.use_up(&context, text, &mut call.durable).await? {
                true => go_on(call, &provider, state, &upstream).await,
                false => lost(call, Reason::IdentityProviderState).await,
            }
        }
        Err((refusal, error)) => again(call, state, refusal, error).await,
    }
}

/// A form that another site posts comes without cookies where they are `SameSite=Lax`: the browser is led to the same answer
/// once more, by an address of this site.
fn same_site(call: &Call, provider: &IdentityProvider, params: &Params<'_>) -> Result<Response, Failure> {
    let mut query = form_of(&call.context.issuer.callback_of(&provider.id))?;
    for name in ANSWER {
        if let Some(value) = params.get(name)?.filter(|value| value.len() <= LONGEST_VALUE) {
            query.query_pairs_mut().append_pair(name, value);
        }
    }
    Ok(redirect(true, query.as_str()))
}

fn form_of(url: &str) -> Result<url::Url, Failure> {
    url::Url::parse(url).map_err(|error| Failure::Internal(error.to_string()))
}

/// Why there is nobody, and what the person is told.
type Nobody = (Refusal, LoginError);

/// Who the provider says it is. `Err`: nobody.
async fn verified(
    context: &Context,
    provider: &IdentityProvider,
    params: &Params<'_>,
    state: &State,
) -> Result<Result<UpstreamUser, Nobody>, Failure> {
    let about = |reason, details| Refusal::about(reason, details);
    let upstream = Upstream { app: &context.app, issuer: &context.issuer, provider };
    let metadata = match upstream.metadata().await {
        Ok(metadata) => metadata,
        Err(error) => {
            warn(context, provider, &error);
            let refusal = about(Reason::IdentityProviderUnusable, Details::default());
            return Ok(Err((refusal, LoginError::ProviderFailed)));
        }
    };
    if !is_from(provider, metadata.sends_iss, params.get("iss")?) {
        let details = Details::of("iss").sent(params.get("iss")?.unwrap_or_default());
        return Ok(Err((about(Reason::IdentityProviderState, details), LoginError::ProviderFailed)));
    }
    let code = match (params.get("error")?, params.get("code")?) {
        (None, Some(code)) => code,
        (error, _) => {
            let details = Details::of("error").sent(&error_code(error.unwrap_or_default()));
            return Ok(Err((about(Reason::IdentityProviderRefused, details), LoginError::ProviderRefused)));
        }
    };
    let code = UpstreamCode {
        code,
        verifier: &state.verifier,
        nonce: &state.nonce,
        signed_in_since: state.signed_in_since(),
    };
    let posted_user = params.get("user")?;
    let claims = upstream.claims(code).await.and_then(|claims| {
        let unsound = || UpstreamError::Refused("it has no sub of a sound form".to_owned());
        let user = UpstreamUser::of_claims(provider, claims).ok_or_else(unsound)?;
        Ok(match posted_user {
            Some(posted) => user.with_posted_name(provider, posted),
            None => user,
        })
    });
    Ok(claims.map_err(|error| {
        warn(context, provider, &error);
        let reason = match error {
            UpstreamError::Unusable(_) | UpstreamError::Busy(_) => Reason::IdentityProviderUnusable,
            UpstreamError::Refused(_) => Reason::IdentityTokenWrong,
        };
        (about(reason, Details::default()), LoginError::ProviderFailed)
    }))
}

async fn go_on(
    call: &mut Call,
    provider: &IdentityProvider,
    state: State,
    upstream: &UpstreamUser,
) -> Result<Response, Failure> {
    match state.purpose {
        Purpose::SignIn(pending) => answer::sign_in(call, (provider, upstream), *pending).await,
        Purpose::Connect { user, sid } => connect::finish(call, (provider, upstream), (&user, &sid)).await,
    }
}

/// The page from which the person came, with what was wrong.
async fn again(
    call: &mut Call,
    state: State,
    refusal: Refusal,
    error: LoginError,
) -> Result<Response, Failure> {
    let context = call.context.clone();
    match state.purpose {
        Purpose::SignIn(pending) => {
            let interaction = Interaction::begin(&context, &call.received, *pending);
            let asking = Asking::of(&context, &interaction.pending).await?;
            call.client = asking.client().cloned();
            let request = RefusedRequest::anonymous(refusal, asking.client_id());
            context.sign_in_failed(RefusedRequest { actor: Actor::User, ..request });
            login_page::page(&context, &interaction, &asking, None, Some(error))
        }
        Purpose::Connect { .. } => {
            context.refused(RefusedRequest::anonymous(refusal, None));
            Ok(connect::back(&context, &AccountNotice::ConnectFailed))
        }
    }
}

/// An answer that belongs to nothing that waits in this browser: it came twice, too late, or from elsewhere. Whoever is signed in
/// is led on to the account, anybody else to the first page.
async fn lost(call: &mut Call, reason: Reason) -> Result<Response, Failure> {
    call.context.refused(RefusedRequest::anonymous(reason.into(), None));
    let session = session_of(&call.context, &call.received, &mut call.durable).await?;
    Ok(match session {
        Some(_) => redirect(call.received.is_post(), &crate::onward::account(&call.context)),
        None => to_root(&call.context),
    })
}
