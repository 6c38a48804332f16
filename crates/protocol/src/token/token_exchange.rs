//! Token exchange (RFC 8693): issues a token for another one, with no longer lifetime and no wider scope.
//!
//! First [`check`] the request. Then verify the subject token, and the actor token if [`Exchange::actor_token`] has
//! one (signature, [`AccessToken::parse`], revocation). Then call [`Exchange::issue`]. A subject that is no access token of
//! this issuer is read as one first ([`subject`]). For an ID-JAG call [`id_jag::issue`] instead.

pub mod subject;

use url::Url;

use super::Context;
use super::access_token::{AccessToken, client_subject};
use super::claim::{ActingParty, Actor, Audience, OneOrMany};
use super::id_jag;
use crate::client::{Client, DelegationMode, GrantType};
use crate::error::{ErrorCode, OAuthError};
use crate::id::ClientId;
use crate::refusal::{Details, Reason, Refusal};
use crate::scope::{self, Scope};

/// RFC 8693 3: an OAuth 2 access token.
pub const ACCESS_TOKEN_TYPE: &str = "urn:ietf:params:oauth:token-type:access_token";
/// RFC 8693 3: a JWT, which this server's access tokens are.
pub const JWT_TYPE: &str = "urn:ietf:params:oauth:token-type:jwt";
/// RFC 8693 3: an ID token.
pub const ID_TOKEN_TYPE: &str = "urn:ietf:params:oauth:token-type:id_token";

/// The most actors in a chain, and the most ancestors of a token. A longer chain is refused rather than shortened.
pub const MAX_CHAIN: usize = 16;

/// The parameters of RFC 8693 2.1 as sent.
#[derive(Clone, Copy, Default)]
pub struct ExchangeRequest<'a> {
    /// `subject_token`.
    pub subject_token: Option<&'a str>,
    /// `subject_token_type`.
    pub subject_token_type: Option<&'a str>,
    /// `actor_token`.
    pub actor_token: Option<&'a str>,
    /// `actor_token_type`.
    pub actor_token_type: Option<&'a str>,
    /// `requested_token_type`.
    pub requested_token_type: Option<&'a str>,
    /// `scope`.
    pub scope: Option<&'a str>,
    /// Every `audience`.
    pub audience: &'a [&'a str],
    /// Every `resource`.
    pub resource: &'a [&'a str],
}

/// As what the subject token is presented (RFC 8693 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubjectKind {
    /// An access token of this issuer.
    AccessToken,
    /// A JWT: an access token of this issuer, or one of a trusted issuer.
    Jwt,
    /// An ID token of this issuer.
    IdToken,
}

impl SubjectKind {
    fn parse(name: &str) -> Option<Self> {
        match name {
            ACCESS_TOKEN_TYPE => Some(Self::AccessToken),
            JWT_TYPE => Some(Self::Jwt),
            ID_TOKEN_TYPE => Some(Self::IdToken),
            _ => None,
        }
    }
}

/// A valid request, of a client that may exchange tokens, for targets that it may name.
#[derive(Clone)]
pub struct Exchange<'a> {
    /// The subject token; the caller must verify it.
    pub subject_token: &'a str,
    /// As what it is presented.
    pub subject_kind: SubjectKind,
    /// The actor token; the caller must verify it in any case (RFC 8693 2.2.2).
    pub actor_token: Option<&'a str>,
    /// The type of the result (RFC 8693 2.2.1): the requested one, else an access token.
    pub issued_token_type: &'static str,
    pub(super) scope: Option<Scope>,
    pub(super) audience: &'a [&'a str],
    pub(super) resource: &'a [&'a str],
}

/// An actor token with a verified signature that is not revoked.
#[derive(Clone, Copy)]
pub struct ActorToken<'t> {
    /// Its claims.
    pub claims: &'t AccessToken,
    /// Whether the client that it was issued to is registered. Only somebody who has the issuer's signing key can
    /// make tokens of other clients: load scripts, if the test endpoints are enabled.
    pub is_of_registered_client: bool,
}

/// The error for a subject token that cannot be parsed or verified, has expired, or was revoked. RFC 8693 2.2.2
/// requires `invalid_request`; most servers and clients use `invalid_grant` (a recorded deviation). The client is told the
/// same whatever the reason.
pub fn invalid_subject_token(refusal: impl Into<Refusal>) -> OAuthError {
    invalid("the subject_token is malformed, expired, revoked or of another issuer", refusal.into())
}

/// The same error for an actor token.
pub fn invalid_actor_token(refusal: impl Into<Refusal>) -> OAuthError {
    invalid("the actor_token is malformed, expired, revoked or of another issuer", refusal.into())
}

fn invalid(description: &'static str, refusal: Refusal) -> OAuthError {
    OAuthError::invalid_grant(refusal.reason, description).because(refusal)
}

/// Checks everything that does not depend on the tokens.
///
/// # Errors
/// `unsupported_grant_type` if token exchange is off; `invalid_request` for parameters that are missing, too many, or
/// name unsupported types; `unauthorized_client`; `invalid_scope` for a malformed scope; `invalid_target` for a
/// target that the client may not name.
pub fn check<'a>(context: &Context<'_>, request: &ExchangeRequest<'a>) -> Result<Exchange<'a>, OAuthError> {
    let Context { settings, client, .. } = *context;
    if !settings.token_exchange {
        let (code, reason) = (ErrorCode::UnsupportedGrantType, Reason::ExchangeOff);
        return Err(OAuthError::new(code, reason, "token exchange is not enabled"));
    }
    let limit = usize::from(settings.token_exchange_max_targets);
    if request.audience.len() > limit || request.resource.len() > limit {
        let description = "too many audience or resource parameters";
        return Err(OAuthError::invalid_request(Reason::ResourceTooMany, description));
    }
    // RFC 8693 2.1: REQUIRED.
    let subject_token =
        present(request.subject_token).ok_or_else(|| missing("subject_token", "subject_token is missing"))?;
    let subject_type = present(request.subject_token_type)
        .ok_or_else(|| missing("subject_token_type", "subject_token_type is missing"))?;
    // RFC 8693 2.1: without a requested type the server chooses one.
    let requested = present(request.requested_token_type);
    let is_for_id_jag = requested == Some(id_jag::TOKEN_TYPE);
    let is_exchanged = match is_for_id_jag {
        // draft-ietf-oauth-identity-assertion-authz-grant 4.3: an identity assertion.
        true => subject_type == ID_TOKEN_TYPE,
        false => settings.token_exchange_subject_token_types.include(subject_type),
    };
    let Some(subject_kind) = SubjectKind::parse(subject_type).filter(|_| is_exchanged) else {
        let sent = ("subject_token_type", subject_type);
        return Err(unsupported_type(sent, "this subject_token_type is not exchanged"));
    };
    check_client(client)?;
    if subject_kind == SubjectKind::IdToken && !is_for_id_jag && !client.token_exchange.id_tokens {
        let (code, reason) = (ErrorCode::UnauthorizedClient, Reason::IdTokenExchangeNotAllowed);
        return Err(OAuthError::new(code, reason, "the client may not exchange ID tokens"));
    }
    let issued_token_type = issued_type(requested)?;
    let actor_token = check_actor_parameters(request)?;
    let scope = match present(request.scope) {
        Some(text) => Some(Scope::parse(text).map_err(|_| scope::malformed(text))?),
        None => None,
    };
    if is_for_id_jag {
        // Draft 4.3 leaves the actor token to other specifications. To ignore it would be to say less than was asked for.
        if let (Some(_), Some(kind)) = (actor_token, request.actor_token_type) {
            return Err(unsupported_type(("actor_token_type", kind), "an ID-JAG names no actor"));
        }
        id_jag::check_request(context, request)?;
    } else {
        check_targets(context, request)?;
    }
    let ExchangeRequest { audience, resource, .. } = *request;
    Ok(Exchange { subject_token, subject_kind, actor_token, issued_token_type, scope, audience, resource })
}

/// The type of the result.
fn issued_type(requested: Option<&str>) -> Result<&'static str, OAuthError> {
    match requested {
        None | Some(ACCESS_TOKEN_TYPE) => Ok(ACCESS_TOKEN_TYPE),
        Some(JWT_TYPE) => Ok(JWT_TYPE),
        Some(id_jag::TOKEN_TYPE) => Ok(id_jag::TOKEN_TYPE),
        Some(other) => {
            let sent = ("requested_token_type", other);
            Err(unsupported_type(sent, "this requested_token_type is not issued"))
        }
    }
}

/// Checks the issuer and the validity time of a subject token.
///
/// # Errors
/// `invalid_grant`.
pub(super) fn check_subject(context: &Context<'_>, subject: &AccessToken) -> Result<(), OAuthError> {
    let (url, now) = (&context.issuer.url, context.now);
    subject.check(url, now).map_err(|not| invalid_subject_token(subject.refused_as_not_valid(not, url, now)))
}

fn missing(parameter: &str, description: &'static str) -> OAuthError {
    OAuthError::invalid_request(Reason::ParameterMissing, description).about(Details::of(parameter))
}

fn unsupported_type((parameter, sent): (&str, &str), description: &'static str) -> OAuthError {
    OAuthError::invalid_request(Reason::TokenTypeUnsupported, description)
        .about(Details::of(parameter).sent(sent).expected([ACCESS_TOKEN_TYPE, JWT_TYPE]))
}

/// RFC 6749 3.2: a parameter without a value is treated as omitted.
fn present(parameter: Option<&str>) -> Option<&str> {
    parameter.filter(|text| !text.is_empty())
}

fn is_access_token_type(name: &str) -> bool {
    name == ACCESS_TOKEN_TYPE || name == JWT_TYPE
}

fn check_client(client: &Client) -> Result<(), OAuthError> {
    let refused = |reason: Reason, description: &'static str| {
        Err(OAuthError::new(ErrorCode::UnauthorizedClient, reason, description))
    };
    // RFC 8693 5: without client authentication, anybody who finds a token could exchange it.
    if client.is_public() {
        return refused(Reason::PublicClientRefused, "public clients may not exchange tokens");
    }
    if !client.may_use(GrantType::TokenExchange) {
        let grant = GrantType::TokenExchange;
        return Err(client.refused_grant(grant, "the client may not use the token exchange grant"));
    }
    let policy = &client.token_exchange;
    if !policy.allowed || policy.delegation_mode == DelegationMode::None {
        return refused(Reason::ExchangeNotAllowed, "token exchange is not allowed for this client");
    }
    Ok(())
}

/// RFC 8693 2.1: `actor_token_type` is REQUIRED with `actor_token`, and MUST NOT be sent without it.
fn check_actor_parameters<'a>(request: &ExchangeRequest<'a>) -> Result<Option<&'a str>, OAuthError> {
    match (present(request.actor_token), present(request.actor_token_type)) {
        (None, None) => Ok(None),
        (Some(token), Some(kind)) if is_access_token_type(kind) => Ok(Some(token)),
        (Some(_), Some(kind)) => {
            Err(unsupported_type(("actor_token_type", kind), "this actor_token_type is not accepted"))
        }
        (Some(_), None) => Err(missing("actor_token_type", "actor_token_type is missing")),
        (None, Some(_)) => Err(missing("actor_token", "actor_token_type came without an actor_token")),
    }
}

/// RFC 8693 2.1, RFC 8707 2: a resource must be an absolute URI without fragment; otherwise the request is invalid
/// (RFC 8693 2.2.2).
pub(super) fn check_resources(resource: &[&str]) -> Result<(), OAuthError> {
    let absolute = |uri: &&str| !uri.contains('#') && Url::parse(uri).is_ok();
    match resource.iter().find(|uri| !absolute(uri)) {
        None => Ok(()),
        Some(sent) => Err(OAuthError::invalid_request(
            Reason::ResourceMalformed,
            "resource must be an absolute URI without fragment",
        )
        .about(Details::of("resource").sent_uri(sent))),
    }
}

fn check_targets(context: &Context<'_>, request: &ExchangeRequest<'_>) -> Result<(), OAuthError> {
    check_resources(request.resource)?;
    if request.audience.iter().any(|audience| audience.is_empty()) {
        return Err(OAuthError::invalid_request(Reason::ResourceMalformed, "audience is empty")
            .about(Details::of("audience")));
    }
    let Some(allowed) = &context.client.token_exchange.targets else { return Ok(()) };
    let may_name = |target: &str| allowed.iter().any(|own| own == target);
    let refused = |reason: Reason, sent: &str, description: &'static str| {
        let details = Details::of("audience, resource").sent_uri(sent);
        Err(OAuthError::new(ErrorCode::InvalidTarget, reason, description)
            .about(details.registered(allowed.iter().map(String::as_str))))
    };
    // RFC 8693 2.2.2. Without a target the token is for the issuer, so the issuer must be an allowed target too.
    if request.audience.is_empty() && request.resource.is_empty() && !may_name(&context.issuer.url) {
        let description = "name an audience or a resource: the issuer is not among the client's targets";
        return refused(Reason::TargetMissing, "", description);
    }
    match request.audience.iter().chain(request.resource).find(|target| !may_name(target)) {
        None => Ok(()),
        Some(target) => refused(Reason::TargetNotAllowed, target, "the client may not name this target"),
    }
}

impl Exchange<'_> {
    /// Whether an ID-JAG is asked for.
    pub fn is_for_id_jag(&self) -> bool {
        self.issued_token_type == id_jag::TOKEN_TYPE
    }

    /// The claims of the result. The signatures of the subject token and the actor token were verified, and neither
    /// is revoked. The result expires no later than the subject token, belongs to the same grant and session, and
    /// names the subject token in its lineage, so that its revocation revokes the result too.
    ///
    /// # Errors
    /// `invalid_grant` for a subject or actor token that is not valid, may not be presented by this client, or has
    /// too many ancestors, and for an actor that `may_act` does not allow; `invalid_scope` if no scope is left.
    pub fn issue(
        &self,
        context: &Context<'_>,
        subject: &AccessToken,
        actor: Option<ActorToken<'_>>,
    ) -> Result<Box<AccessToken>, OAuthError> {
        let Context { issuer, client, .. } = *context;
        check_subject(context, subject)?;
        if !may_present(client, subject) {
            return Err(of_other_client(client, subject, "the subject_token was issued to another client"));
        }
        keeps_key(context, subject)?;
        check_name(context, subject)?;
        let acting = self.acting(context, actor)?;
        if let Some(acting) = acting {
            keeps_key(context, acting)?;
        }
        if subject.anc.len() >= MAX_CHAIN {
            let description = "the subject_token was exchanged too often";
            return Err(OAuthError::invalid_grant(Reason::ExchangedTooOften, description));
        }
        let scope = self.scope(client, subject)?;
        let act = act(client, subject, acting)?;
        check_may_act(context, subject, acting)?;

        let mut result = AccessToken::new(context, subject.slot(&issuer.id), subject.sub.clone(), scope);
        result.account.clone_from(&subject.account);
        let targets = self.audience.iter().chain(self.resource).copied();
        result.aud = match self.audience.len() + self.resource.len() {
            0 => Audience::one(issuer.url.as_str()),
            _ => Audience::of(targets),
        };
        result.resource = OneOrMany::of(self.resource.iter().copied());
        result.exp = result.exp.min(subject.exp);
        result.auth_time = subject.auth_time;
        result.acr.clone_from(&subject.acr);
        result.amr = subject.amr;
        result.gid.clone_from(&subject.gid);
        result.sid.clone_from(&subject.sid);
        // Only an access token has an id by which it can be revoked.
        let own = (!subject.jti.as_str().is_empty()).then_some(&subject.jti);
        result.anc = subject.anc.iter().chain(own).cloned().collect();
        let grantor = subject.gcl.as_ref().unwrap_or(&subject.client_id);
        result.gcl = (*grantor != client.client_id).then(|| grantor.clone());
        result.gat = subject.gid.is_none().then(|| subject.gat.unwrap_or(subject.iat));
        result.act = act;
        // Without this claim, parties other than those that the subject token allows could act.
        result.may_act.clone_from(&subject.may_act);
        Ok(result)
    }

    /// The actor token, if it is valid and the client may present it. Otherwise any service that receives a token
    /// could make the token's client appear as the actor (RFC 8693 2.1: the actor token stands for the acting party).
    fn acting<'t>(
        &self,
        context: &Context<'_>,
        actor: Option<ActorToken<'t>>,
    ) -> Result<Option<&'t AccessToken>, OAuthError> {
        if self.actor_token.is_none() {
            return Ok(None);
        }
        let ActorToken { claims, is_of_registered_client } =
            actor.ok_or_else(|| invalid_actor_token(Reason::TokenMissing))?;
        let (url, now) = (&context.issuer.url, context.now);
        claims
            .check(url, now)
            .map_err(|not| invalid_actor_token(claims.refused_as_not_valid(not, url, now)))?;
        let nobodys = !is_of_registered_client && claims.aud.contains(&context.issuer.url);
        if !nobodys && !may_present(context.client, claims) {
            let description = "the actor_token was issued to another client";
            return Err(of_other_client(context.client, claims, description));
        }
        // The result names the actor (`act`).
        check_name(context, claims)?;
        Ok(Some(claims))
    }

    /// The requested scope, or else the subject token's, reduced to what both the subject token and the client's
    /// registration allow. A subject token without scope yields none.
    fn scope(&self, client: &Client, subject: &AccessToken) -> Result<Scope, OAuthError> {
        let asked = self.scope.as_ref().unwrap_or(&subject.scope);
        let allowed = subject.scope.intersection(&client.scope);
        let left = asked.intersection(&allowed);
        if left.is_empty() && !asked.is_empty() {
            let why = "the subject_token and the client's registration have nothing of the scope in common";
            let details = Details::of("scope").sent(asked.as_str());
            let accepted = [subject.scope.as_str(), client.scope.as_str()];
            return Err(
                scope::invalid(Reason::ExchangeScopeEmpty, why, &allowed).about(details.expected(accepted))
            );
        }
        Ok(left)
    }
}

pub(super) fn of_other_client(caller: &Client, token: &AccessToken, description: &'static str) -> OAuthError {
    let clients = caller.token_exchange.subject_token_clients.iter().map(ClientId::as_str);
    let refusal = token.refused_to(std::iter::once(caller.client_id.as_str()).chain(clients));
    OAuthError::invalid_grant(refusal.reason, description).because(refusal)
}

/// RFC 9449 7.2, RFC 8705 3: a token that is bound to a key or a certificate is of no use without it. A client that exchanges a token of its own proves the key;
/// whoever the token was sent to has no such key, and cannot.
fn keeps_key(context: &Context<'_>, token: &AccessToken) -> Result<(), OAuthError> {
    let is_own = token.client_id == context.client.client_id;
    let lacks = |bound: Option<&str>, proven: Option<&str>| bound.is_some_and(|own| proven != Some(own));
    if is_own
        && (lacks(token.cnf.jkt.as_deref(), context.jkt)
            || lacks(token.cnf.x5t_s256.as_deref(), context.x5t_s256))
    {
        let description = "the token is bound to another key than the request proves";
        let error = OAuthError::invalid_grant(Reason::TokenKeyOther, description);
        return Err(error.about(Details::of("subject_token")));
    }
    Ok(())
}

/// A client may present tokens that were issued to it, that name it in `aud`, or that were issued to a client on its
/// list. Others are unacceptable by policy (RFC 8693 2.2.2), with `invalid_grant` as for every token that is not
/// accepted; RFC 6749 5.2 says the same of a grant that was issued to another client.
fn may_present(client: &Client, token: &AccessToken) -> bool {
    token.client_id == client.client_id
        || token.aud.contains(client.client_id.as_str())
        || client.token_exchange.subject_token_clients.contains(&token.client_id)
}

/// OpenID Connect Core 8.1: a client MUST NOT learn how another sector knows a user. The result names the user as the presented token
/// does; so that nobody can join two names, a token is exchanged only by clients that know its user by that very name.
fn check_name(context: &Context<'_>, token: &AccessToken) -> Result<(), OAuthError> {
    let is_told_alike = match (&token.account, context.pairwise()) {
        (None, None) => true,
        (Some(user), Some(pairwise)) => *pairwise.sub(user).as_str() == *token.sub,
        // A client that acts for itself is nobody's user.
        (None, Some(_)) => token.is_of_client(),
        (Some(_), None) => false,
    };
    if is_told_alike {
        return Ok(());
    }
    let description =
        "the token is about a user whom this client knows by another sub: both clients need one sector";
    let details = Details::of("client_id").sent(context.client.client_id.as_str());
    Err(OAuthError::invalid_grant(Reason::SubjectOfOtherSector, description)
        .about(details.expected([token.client_id.as_str()])))
}

/// RFC 8693 4.1: the current actor is outermost, previous actors are nested. If the actor token itself results from a
/// delegation, its actors are included.
fn act(
    client: &Client,
    subject: &AccessToken,
    actor: Option<&AccessToken>,
) -> Result<Option<Actor>, OAuthError> {
    let chain = if client.token_exchange.delegation_mode == DelegationMode::Delegation {
        let current = match actor {
            Some(actor) => Actor::new(&actor.sub, Some(actor.client_id.as_str())).after(actor.act.as_ref()),
            None => Actor::new(&client_subject(&client.client_id), Some(client.client_id.as_str())),
        };
        Some(current.after(subject.act.as_ref()))
    } else {
        subject.act.clone()
    };
    if chain.as_ref().is_some_and(|chain| chain.depth() > MAX_CHAIN) {
        return Err(OAuthError::invalid_grant(Reason::ActorChainTooLong, "the chain of actors is too long"));
    }
    Ok(chain)
}

/// RFC 8693 4.4: if the subject token has `may_act`, only the party that it names may act: it is compared with the
/// actor token's subject, or with the client if there is no actor token.
fn check_may_act(
    context: &Context<'_>,
    subject: &AccessToken,
    actor: Option<&AccessToken>,
) -> Result<(), OAuthError> {
    let Some(may_act) = &subject.may_act else { return Ok(()) };
    let caller = client_subject(&context.client.client_id);
    let party = match actor {
        Some(actor) => ActingParty { sub: &actor.sub, iss: &actor.iss, client_id: actor.client_id.as_str() },
        None => ActingParty {
            sub: &caller,
            iss: &context.issuer.url,
            client_id: context.client.client_id.as_str(),
        },
    };
    if may_act.allows(&party) {
        return Ok(());
    }
    Err(OAuthError::invalid_grant(Reason::ActorNotAllowed, "the subject_token does not let this party act")
        .about(Details::of("may_act").sent(party.sub)))
}

#[cfg(test)]
mod tests;
