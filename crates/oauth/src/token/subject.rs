//! Subjects of a token exchange that are no access tokens of this issuer (RFC 8693 2.1).

use symbolon_protocol::client_authentication::AssertionUse;
use symbolon_protocol::event::Event;
use symbolon_protocol::id::UserId;
use symbolon_protocol::refusal::Reason;
use symbolon_protocol::token::access_token::AccessToken;
use symbolon_protocol::token::jwt_bearer;
use symbolon_protocol::token::token_exchange::invalid_subject_token;
use symbolon_protocol::token::token_exchange::subject as rule;
use symbolon_protocol::trusted_issuer::{IssuedAssertion, TrustedUse};
use symbolon_store::Durable;

use super::GrantCall;
use super::jwt_bearer::{use_once, vouched};
use symbolon_app::audit::Actor;
use symbolon_app::http::Failure;

/// A verified subject.
pub(super) struct Subject {
    /// What an access token for its user would say.
    pub(super) claims: Box<AccessToken>,
    /// That it counts once, and about whom it is: for a JWT of a trusted issuer.
    pub(super) used: Option<(AssertionUse, UserId)>,
}

/// An ID token of this issuer, whose session lives if it names one, and on which nothing rests that has ended.
pub(super) async fn of_id_token(
    call: &GrantCall<'_>,
    token: &str,
    durable: &mut Durable,
) -> Result<Subject, Failure> {
    let (app, issuer) = (&call.context.app, &call.context.issuer);
    let mut claims = issuer.id_token_subject(token).map_err(invalid_subject_token)?;
    if claims.client_id == call.client.client_id {
        rule::may_have(&mut claims, call.client);
    } else {
        let other = app.client_at_hand(issuer, &claims.client_id).await?;
        let other = other.ok_or_else(|| refused(&claims, Reason::TokenClientUnknown))?;
        rule::may_have(&mut claims, &other);
    }
    let mut lineage = claims.lineage(&issuer.id);
    // It has no id.
    lineage.tokens.clear();
    if app.store.revoked(&issuer.id, &lineage).await?.take(durable)
        || !session_lives(call, &claims, durable).await?
    {
        return Err(refused(&claims, Reason::TokenRevoked));
    }
    Ok(Subject { claims, used: None })
}

fn refused(claims: &AccessToken, reason: Reason) -> Failure {
    invalid_subject_token(claims.refused(reason)).into()
}

/// Whether the session that an ID token names is alive. Without one, the grant has outlived its session.
async fn session_lives(
    call: &GrantCall<'_>,
    claims: &AccessToken,
    durable: &mut Durable,
) -> Result<bool, Failure> {
    let Some(sid) = &claims.sid else { return Ok(true) };
    let (app, issuer) = (&call.context.app, &call.context.issuer);
    let found = app.store.session_by_sid(&issuer.id, sid.as_str(), call.now).await?.take(durable);
    Ok(found.is_some_and(|found| claims.is_about(&found.session.user)))
}

/// A JWT of a trusted issuer that the client may exchange; `None` if it is none. It counts once: call [`use_up`].
pub(super) async fn of_trusted_issuer(call: &GrantCall<'_>, token: &str) -> Result<Option<Subject>, Failure> {
    let accepted = &call.client.token_exchange.subject_token_issuers;
    let read = IssuedAssertion::read(token);
    let Some(assertion) = read.filter(|read| accepted.iter().any(|own| own == read.issuer())) else {
        return Ok(None);
    };
    let purpose = TrustedUse::TokenExchange;
    let (user, mark) = vouched(call, &assertion, purpose, invalid_subject_token).await?;
    let claims = rule::of_assertion(&call.rules(), &assertion, &user)?;
    Ok(Some(Subject { claims, used: Some((mark, user)) }))
}

/// Marks a JWT of a trusted issuer as used.
pub(super) async fn use_up(
    call: &GrantCall<'_>,
    (mark, user): &(AssertionUse, UserId),
    durable: &mut Durable,
) -> Result<(), Failure> {
    // RFC 7523 3, item 7.
    if !use_once(call, mark, durable).await? {
        return Err(invalid_subject_token(jwt_bearer::replayed(mark)).of_user(user).into());
    }
    // Nobody signed in, so this says for whom it was.
    let client = Some(&call.client.client_id);
    call.context.audit_by(Actor::Client, Event::JwtBearerGranted, Some(user), client);
    Ok(())
}
