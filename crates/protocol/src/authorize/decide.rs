//! Whether a code may be issued, or whom to ask first (OpenID Connect Core 3.1.2.3, 3.1.2.4).

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::request::AuthorizationRequest;
use crate::client::{Client, GrantType};
use crate::consent::Consent;
use crate::error::{ErrorCode, OAuthError};
use crate::id::{Sid, UserId};
use crate::id_token_hint::IdTokenHint;
use crate::redirect_uri;
use crate::refusal::{Details, Reason};
use crate::scope::{OFFLINE_ACCESS, Scope};
use crate::session::Session;
use crate::sign_in::acr::Acr;
use crate::time::Timestamp;

/// What the person has done on the provider's pages for this request, as its sealed interaction says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InteractionSoFar<'a> {
    /// When they signed in.
    pub signed_in_at: Option<Timestamp>,
    /// The user and scopes of the consent. Counts only while the same user is signed in.
    pub allowed: Option<(&'a UserId, &'a Scope)>,
    /// The session that was found to have nothing to step up with: `acr_values` is voluntary.
    pub stays_at: Option<&'a Sid>,
    /// The account that the person chose among those of the browser, by its session.
    pub selected: Option<&'a Sid>,
    /// What the person wants other than the account that is in use.
    pub wants: AnotherAccount,
}

/// What a person wants other than the account that is in use in their browser.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnotherAccount {
    /// Nothing.
    #[default]
    No,
    /// To choose among those that are signed in.
    Choose,
    /// To sign in as somebody who need not be signed in yet.
    SignIn,
}

impl AnotherAccount {
    /// Whether the person wants nothing of the kind.
    pub fn is_no(&self) -> bool {
        *self == Self::No
    }
}

impl InteractionSoFar<'_> {
    /// Whether the person signed in for this request, in this session or in one that it took the place of.
    pub fn is_signed_in_with(&self, session: &Session) -> bool {
        self.signed_in_at.is_some_and(|at| session.auth_time >= at)
    }

    /// Whether the person said for this request that it is this account: by choosing it, or by signing in.
    pub fn has_chosen(&self, session: &Session) -> bool {
        self.is_signed_in_with(session) || self.selected == Some(&session.sid)
    }
}

/// Who is signed in in the browser, as far as a request is concerned.
#[derive(Clone, Copy, Debug)]
pub enum SignedIn<'a> {
    /// Nobody.
    Nobody,
    /// Accounts of which none is in use: the one that was last chosen in this browser has been signed out.
    NoneInUse,
    /// An account.
    Account {
        /// Its session.
        session: &'a Session,
        /// What its user has allowed the client.
        consent: Option<&'a Consent>,
        /// Whether it is the account in use: the one last chosen in this browser. Another one can only be named by the
        /// request's `id_token_hint`.
        is_in_use: bool,
    },
}

/// What happens next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// A code for this scope.
    Issue {
        /// What is granted.
        scope: Scope,
    },
    /// The page on which the person chooses one of the accounts that are signed in in the browser.
    SelectAccount,
    /// The login page.
    Login {
        /// Whether there is a session whose user must authenticate again.
        reauthenticate: bool,
    },
    /// The page that asks for one factor more, if the person has one: the session has none of the classes that
    /// `acr_values` names.
    StepUp,
    /// The consent page.
    Consent {
        /// The scopes to ask for.
        scopes: Scope,
    },
    /// The client gets this error by redirect.
    Error(OAuthError),
}

/// Decides what happens next. The consent need not be loaded for clients with `skip_consent`.
pub fn decide(
    request: &AuthorizationRequest<'_>,
    client: &Client,
    signed_in: SignedIn<'_>,
    hint: &IdTokenHint,
    interaction: InteractionSoFar<'_>,
    now: Timestamp,
) -> Decision {
    let silent = request.prompt.none;
    let (session, consent, is_in_use) = match signed_in {
        SignedIn::Account { session, consent, is_in_use } if now < session.expires_at => {
            (session, consent, is_in_use)
        }
        // OpenID Connect Core 3.1.2.6: the person did not select a session.
        SignedIn::NoneInUse if interaction.wants != AnotherAccount::SignIn => {
            return ask_or(silent, Decision::SelectAccount, Reason::AccountNotSelected, None);
        }
        _ => return ask_or(silent, Decision::Login { reauthenticate: false }, Reason::SessionMissing, None),
    };
    let user = Some(&session.user);
    let signed_in_now = interaction.is_signed_in_with(session);
    if let Some(page) = ask_for_account(request, session, interaction) {
        return page;
    }
    if let Err(reason) = check_expected(session, request.sub(), hint, silent) {
        // OpenID Connect Core 3.1.2.1: if another user than the hint's is signed in, the person may sign in again. If
        // it is then still another user, that is an error.
        let ask = Decision::Login { reauthenticate: true };
        return ask_or(silent || signed_in_now, ask, reason, user);
    }
    if !signed_in_now && must_sign_in_again(request, session, now) {
        return ask_or(silent, Decision::Login { reauthenticate: true }, Reason::SignInTooOld, user);
    }
    // A session may be older than the setting, or begun for a client that does not require it.
    if request.needs_second_factor && !session.amr.satisfies_second_factor() {
        return ask_or(silent, Decision::Login { reauthenticate: true }, Reason::SecondFactorNeeded, user);
    }
    // The pages of step-up and consent are about the account in use.
    let page = |page| if is_in_use { page } else { Decision::SelectAccount };
    // OpenID Connect Core 3.1.2.1, 5.5.1.1: voluntary unless it is essential, so a silent request is answered with what was proven.
    if !request.acr.is_empty() && !silent && must_step_up(request, session, interaction) {
        return page(Decision::StepUp);
    }
    if request.acr_is_essential && request.acr.satisfied_by(session.amr).is_none() {
        return acr_unmet(request, session);
    }
    let scope = grantable(request, client, consent);
    if scope.is_empty() {
        let details = Details::of("scope").sent(request.scope.as_str()).user(&session.user);
        return error(
            ErrorCode::InvalidScope,
            Reason::ScopeNotGrantable,
            "scope names only offline_access, which cannot be granted here: ask for another scope beside it",
            details,
        );
    }
    if client.skip_consent {
        return Decision::Issue { scope };
    }
    if let Some((_, allowed)) = interaction.allowed.filter(|(user, _)| **user == session.user) {
        return issue_allowed(&scope, allowed, &session.user);
    }
    let remembered = consent
        .is_some_and(|consent| consent.scope.covers(&scope) && request.details_are_allowed_by(consent));
    if remembered && !request.prompt.consent && is_assured(request, client) {
        return Decision::Issue { scope };
    }
    // Whoever names a user by the claim `sub` alone is not told that this user is signed in, unless the user knows the client.
    let is_probe = silent && request.sub().is_some() && consent.is_none();
    let reason = if is_probe { Reason::SessionMissing } else { Reason::ConsentMissing };
    ask_or(silent, page(Decision::Consent { scopes: scope }), reason, user)
}

/// The page on which the person says who they are, if they want that or the request does. It is none of a silent request:
/// `prompt` may not have `select_account` beside `none`, and nobody wants anything before a page is shown.
fn ask_for_account(
    request: &AuthorizationRequest<'_>,
    session: &Session,
    so_far: InteractionSoFar<'_>,
) -> Option<Decision> {
    // OpenID Connect Core 3.1.2.1: asks even if there is one account only.
    let asks = request.prompt.select_account || so_far.wants == AnotherAccount::Choose;
    match so_far.wants {
        AnotherAccount::SignIn if !so_far.is_signed_in_with(session) => {
            Some(Decision::Login { reauthenticate: true })
        }
        _ if asks && !so_far.has_chosen(session) => Some(Decision::SelectAccount),
        _ => None,
    }
}

/// OpenID Connect Core 5.5.1.1: if an essential class is not reached, the attempt has failed, by an error code of its own (RFC 9470 5). A silent request may be followed by
/// one that asks the person; the person of any other was asked, or has nothing to reach the class by.
fn acr_unmet(request: &AuthorizationRequest<'_>, session: &Session) -> Decision {
    let (code, description) = match request.prompt.none {
        true => (ErrorCode::LoginRequired, "the user has to sign in by an essential class"),
        false => (ErrorCode::UnmetAuthenticationRequirements, "the user has not reached an essential class"),
    };
    // A request for none that is known is told all that are.
    let classes: Vec<&str> = match request.acr.is_empty() {
        true => Acr::ALL.map(Acr::as_str).to_vec(),
        false => request.acr.iter().map(Acr::as_str).collect(),
    };
    error(code, Reason::AcrUnmet, description, Details::of("claims").expected(classes).user(&session.user))
}

/// Whether the person is to be asked for one factor more.
fn must_step_up(request: &AuthorizationRequest<'_>, session: &Session, so_far: InteractionSoFar<'_>) -> bool {
    request.acr.satisfied_by(session.amr).is_none() && so_far.stays_at != Some(&session.sid)
}

/// RFC 8252 8.6: a remembered consent is not enough if any program on the device could have sent the request in the
/// client's name and received the answer.
fn is_assured(request: &AuthorizationRequest<'_>, client: &Client) -> bool {
    let redirect_uri = request.return_to.redirect_uri;
    !client.is_public() || !redirect_uri::is_anybodys(&client.redirect_uris, redirect_uri)
}

/// The page, or an error for the client if no page may be shown (OpenID Connect Core 3.1.2.6). `user`: of the
/// browser's session, if there is one.
fn ask_or(silent: bool, page: Decision, reason: Reason, user: Option<&UserId>) -> Decision {
    let (code, description) = match (silent, reason) {
        (false, _) => return page,
        (true, Reason::ConsentMissing) => (ErrorCode::ConsentRequired, "the user has to consent"),
        (true, Reason::AccountNotSelected) => {
            (ErrorCode::AccountSelectionRequired, "the user has to select an account")
        }
        (true, _) => (ErrorCode::LoginRequired, "the user has to sign in"),
    };
    match user {
        Some(user) => error(code, reason, description, Details::of_user(user)),
        None => Decision::Error(OAuthError::new(code, reason, description)),
    }
}

fn error(code: ErrorCode, reason: Reason, description: &'static str, details: Details) -> Decision {
    Decision::Error(OAuthError::new(code, reason, description).about(details))
}

/// Whether the session's user is the one that the request and the hint name.
fn check_expected(
    session: &Session,
    sub: Option<&str>,
    hint: &IdTokenHint,
    silent: bool,
) -> Result<(), Reason> {
    // OpenID Connect Core 3.1.2.2: if `sub` is requested with a value, a positive response MUST be about that user only.
    if sub.is_some_and(|sub| sub != session.user.as_str()) {
        return Err(Reason::SessionOfOtherUser);
    }
    match hint {
        // An unverifiable hint names no user. In a silent request it is therefore an error; otherwise the page shows
        // the person who is signed in.
        IdTokenHint::Unverifiable if silent => Err(Reason::IdTokenHintUnverifiable),
        IdTokenHint::IdToken(claims) if session.user != claims.sub => Err(Reason::SessionOfOtherUser),
        IdTokenHint::Absent | IdTokenHint::Unverifiable | IdTokenHint::IdToken(_) => Ok(()),
    }
}

/// OpenID Connect Core 3.1.2.1: `prompt=login`, or a sign-in older than `max_age`, requires a new sign-in.
fn must_sign_in_again(request: &AuthorizationRequest<'_>, session: &Session, now: Timestamp) -> bool {
    request.prompt.login
        || request.max_age.is_some_and(|age| now.since(session.auth_time) > Duration::from_secs(age))
}

/// OpenID Connect Core 11: `offline_access` is ignored unless the client may refresh, and the person is asked, was
/// asked, or need not be asked. If no page may be shown and the person was never asked, it is left out rather than
/// refused.
fn grantable(request: &AuthorizationRequest<'_>, client: &Client, consent: Option<&Consent>) -> Scope {
    let answered =
        client.skip_consent || consent.is_some_and(|consent| consent.scope.contains(OFFLINE_ACCESS));
    // Core 11: only a code can be turned into a refresh token.
    let may_refresh = client.may_use(GrantType::RefreshToken) && request.response_type.has_code();
    let stays = may_refresh && (answered || !request.prompt.none);
    if stays || !request.scope.contains(OFFLINE_ACCESS) {
        return request.scope.clone();
    }
    request.scope.filtered(|token| token != OFFLINE_ACCESS)
}

/// The person may allow less than the requested scope (RFC 6749 3.3), but not nothing.
fn issue_allowed(scope: &Scope, allowed: &Scope, user: &UserId) -> Decision {
    let scope = scope.intersection(allowed);
    if scope.is_empty() {
        return Decision::Error(denied().about(Details::of_user(user)));
    }
    Decision::Issue { scope }
}

/// The error for a person who refused (RFC 6749 4.1.2.1).
pub const fn denied() -> OAuthError {
    OAuthError::new(ErrorCode::AccessDenied, Reason::UserRefused, "the user refused")
}
