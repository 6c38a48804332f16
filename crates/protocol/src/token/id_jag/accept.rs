//! Taking an ID-JAG of a trusted issuer in the JWT bearer grant (draft-ietf-oauth-identity-assertion-authz-grant-03 4.4).

use serde::de::DeserializeOwned;

use super::super::Context;
use super::super::access_token::AccessToken;
use super::super::claim::OneOrMany;
use super::super::client_credentials;
use super::super::confirmation::Confirmation;
use super::super::jwt_bearer::{malformed, of_new_grant, refused};
use super::super::resource::narrowed;
use crate::error::OAuthError;
use crate::id::UserId;
use crate::refusal::{Details, Reason, Refusal};
use crate::scope::{self, OFFLINE_ACCESS, Scope};
use crate::trusted_issuer::IssuedAssertion;

/// Checks that whoever presents a verified ID-JAG is the client that it names, and has the key to which it is bound.
///
/// # Errors
/// `invalid_grant`.
pub fn check_bearer(context: &Context<'_>, assertion: &IssuedAssertion<'_>) -> Result<(), OAuthError> {
    let own = context.client.client_id.as_str();
    // Draft 4.4.1: `client_id` MUST identify the client that authenticated.
    let named: Option<String> = claim(assertion, "client_id")?;
    if named.as_deref() != Some(own) {
        let details = Details::of("client_id").sent(named.as_deref().unwrap_or_default()).expected([own]);
        return Err(refused(Refusal::about(Reason::AssertionOfOtherClient, details)));
    }
    // Draft 3.1: REQUIRED.
    if !assertion.claims().contains_key("iat") {
        return Err(malformed());
    }
    // Draft 8.6.1.2: who has not proven the key MUST be refused. What else `cnf` may name, nobody can prove here.
    let Some(bound) = claim::<Confirmation>(assertion, "cnf")? else { return Ok(()) };
    let is_proven = |bound: Option<&str>, proven: Option<&str>| bound.is_none() || bound == proven;
    if bound.claim().is_some()
        && is_proven(bound.jkt.as_deref(), context.jkt)
        && is_proven(bound.x5t_s256.as_deref(), context.x5t_s256)
    {
        return Ok(());
    }
    Err(refused(Refusal::about(Reason::AssertionKeyOther, Details::of("cnf"))))
}

/// The access token for the user whom a verified ID-JAG names: no more than both the ID-JAG and the client's registration allow.
/// `scope` and `targets` are those of the request.
///
/// # Errors
/// `invalid_grant` for malformed claims; `invalid_scope`, and `invalid_target` if nothing is left, or more is asked for than the ID-JAG has.
pub fn accept(
    context: &Context<'_>,
    assertion: &IssuedAssertion<'_>,
    user: &UserId,
    (asked_scope, targets): (Option<&str>, &[&str]),
) -> Result<Box<AccessToken>, OAuthError> {
    let scope = granted_scope(context, assertion, asked_scope)?;
    let resources: Vec<String> = claim::<OneOrMany>(assertion, "resource")?
        .map(|all| all.iter().map(str::to_owned).collect())
        .unwrap_or_default();
    // Draft 4.4.1, RFC 8707 2.2: what is granted may be a subset.
    let issuer = (context.issuer.url.as_str(), context.settings);
    let targets = narrowed(issuer, context.client, &resources, targets)?;
    let mut access = of_new_grant(context, user, scope);
    access.limit_to(&targets);
    Ok(access)
}

/// The scope of the request, or else all, as far as both the claim `scope` and the client's registration have it. Without the claim nothing was
/// authorized by scope, and nothing is granted (draft 4.4.1: the claim MUST be processed as RFC 6749 3.3 says).
fn granted_scope(
    context: &Context<'_>,
    assertion: &IssuedAssertion<'_>,
    asked: Option<&str>,
) -> Result<Scope, OAuthError> {
    let allowed = match claim::<String>(assertion, "scope")? {
        Some(text) => Scope::parse(&text).map_err(|_| malformed())?,
        None => Scope::default(),
    };
    let wanted = client_credentials::granted(&context.client.scope, asked, &[OFFLINE_ACCESS])?;
    let left = wanted.intersection(&allowed);
    let is_for_something = !allowed.is_empty() || asked.is_some_and(|text| !text.is_empty());
    if left.is_empty() && is_for_something {
        let why = "the ID-JAG and the client's registration have nothing of the scope in common";
        let may_ask = allowed.intersection(&context.client.scope);
        let details = Details::of("scope").sent(asked.unwrap_or_default()).expected([allowed.as_str()]);
        return Err(scope::invalid(Reason::ExchangeScopeEmpty, why, &may_ask).about(details));
    }
    Ok(left)
}

fn claim<T: DeserializeOwned>(assertion: &IssuedAssertion<'_>, name: &str) -> Result<Option<T>, OAuthError> {
    assertion.claim(name).map_err(|reason| refused(reason.into()))
}
