//! The authorization code grant (RFC 6749 4.1.3).

use symbolon_protocol::authorization_details::{self, AuthorizationDetails};
use symbolon_protocol::code::{AuthorizationCode, CodeGrant};
use symbolon_protocol::error::OAuthError;
use symbolon_protocol::event::Event;
use symbolon_protocol::refusal::Reason;
use symbolon_protocol::revocation;
use symbolon_protocol::token::IssuePlan;
use symbolon_protocol::token::authorization_code::{self as rule, PresentedCode};
use symbolon_protocol::token::refresh_token::mint;
use symbolon_protocol::token::resource;
use symbolon_protocol::user_claims::UserRecords;
use symbolon_store::Durable;
use symbolon_store::port::{KeptCode, Redemption};
use symbolon_store::shard::ShardKind;

use super::{GrantCall, GrantResult, claims};
use symbolon_app::audit::Actor;
use symbolon_app::http::Failure;

/// The error for a code that is not redeemed. The client is told the same whatever the reason.
fn unknown(reason: Reason) -> OAuthError {
    OAuthError::invalid_grant(reason, "the code is unknown, expired or used")
}

/// The same error for a code that the store does not have: an unused one is forgotten when it expires.
#[cold]
fn not_kept(code: &AuthorizationCode) -> OAuthError {
    unknown(if code.has_our_form() { Reason::CodeExpired } else { Reason::CodeNotOurs })
}

pub(super) async fn grant(call: &GrantCall<'_>, durable: &mut Durable) -> Result<GrantResult, Failure> {
    let (context, form) = (call.context, call.form);
    let (app, issuer) = (&context.app, &context.issuer);
    let code = AuthorizationCode::new(form.require("code")?);
    let presented = PresentedCode {
        redirect_uri: form.get("redirect_uri")?,
        code_verifier: form.get("code_verifier")?,
        thumbprint: call.thumbprint(),
    };
    let kept = app.store.code(&issuer.id, &code, call.now).await?;
    let KeptCode { grant: found, at } = kept.ok_or_else(|| not_kept(&code))?;
    let of_user = |error: OAuthError| error.of_user(&found.user);
    rule::check(&found, call.client, presented).map_err(of_user)?;
    let resource: Vec<&str> = form.get_all("resource").collect();
    let targets = resource::narrowed((&issuer.url, call.settings), call.client, &found.resources, &resource)
        .map_err(of_user)?;
    let details = granted_details(call, &found).map_err(of_user)?;
    // A code whose session has ended is refused. The check comes before redemption: after it, a replay of the code
    // could already have revoked the grant, and the check would refuse the first use of the code too. What ends after
    // the check revokes the issued tokens as well, by their lineage.
    let ended = app.store.revoked(&issuer.id, &rule::lineage(&found)).await?.take(durable);
    let records = claims::records(call, &found.user, &found.scope).await?;
    call.use_proof(durable).await?;
    let refused = |reason| Err(of_user(unknown(reason)).into());
    match app.store.redeem_code(&at, call.now).await? {
        Redemption::Redeemed if ended => refused(Reason::CodeRevoked),
        Redemption::Redeemed => {
            app.rate_limits.redeemed_code(&issuer.id, &found.user);
            redeemed(call, (&found, &targets, details), records, durable).await
        }
        Redemption::Replayed => {
            replayed(call, &found, durable).await?;
            refused(Reason::CodeUsed)
        }
        Redemption::Unknown => refused(Reason::CodeExpired),
    }
}

/// The authorization details for the access token: those of the code, or what the request names of them (RFC 9396 6).
pub(super) fn granted_details(
    call: &GrantCall<'_>,
    code: &CodeGrant,
) -> Result<AuthorizationDetails, OAuthError> {
    let asked = call.form.get(authorization_details::PARAMETER)?;
    authorization_details::narrowed(&code.authorization_details, asked, call.client, call.settings)
}

/// Issues what a redeemed code stands for: of an authorization request, or of a device.
pub(super) async fn redeemed(
    call: &GrantCall<'_>,
    (code, targets, details): (&CodeGrant, &[&str], AuthorizationDetails),
    records: UserRecords,
    durable: &mut Durable,
) -> Result<GrantResult, Failure> {
    let (app, issuer) = (&call.context.app, &call.context.issuer);
    let mut plan = rule::issue(&call.rules(), code, code.session_expires_at);
    plan.access.limit_to(targets);
    plan.access.carry(details, targets, call.settings);
    claims::note(call, &plan.release(&call.rules(), records));
    let IssuePlan { access, id, family } = plan;
    let refresh_token = match family {
        Some(family) => {
            let family_id = app.store.place(ShardKind::Refresh).draw_family(call.now, &*app.random);
            let version = family.version;
            let begun = app.store.begin_family(&issuer.id, &family_id, family).await?;
            begun.take(durable);
            call.context.audit_by(Actor::Client, Event::FamilyBegun, Some(&code.user), Some(&code.client));
            Some(mint(&issuer.id, &family_id, version, &issuer.refresh_token_key))
        }
        None => None,
    };
    app.audit.count(Event::CodeRedeemed);
    Ok(GrantResult { access, id, refresh_token, issued_token_type: None })
}

/// RFC 6749 4.1.2, RFC 9700 4.2.4: a replayed code revokes everything that was issued for it.
pub(super) async fn replayed(
    call: &GrantCall<'_>,
    code: &CodeGrant,
    durable: &mut Durable,
) -> Result<(), Failure> {
    let (app, issuer) = (&call.context.app, &call.context.issuer);
    let longest = revocation::longest_life(call.settings, [&call.client.settings]);
    let tombstone = revocation::of_replayed_code(code.grant, call.now, longest);
    app.store.revoke(&issuer.id, &[tombstone]).await?.take(durable);
    call.context.audit_by(Actor::Client, Event::CodeReplayed, Some(&code.user), Some(&code.client));
    Ok(())
}
