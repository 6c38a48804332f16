//! Access tokens: JWTs by RFC 9068, with the lineage by which they can be revoked.

mod refused;

use serde::{Deserialize, Serialize};
use smol_str::{SmolStr, format_smolstr};
use symbolon_crypto::jws::Header;
use symbolon_crypto::random::Random;

use super::Context;
use super::claim::{Actor, Audience, MayAct, OneOrMany, amr, names, numeric_date};
use super::confirmation::Confirmation;
use crate::authorization_details::{AuthorizationDetails, PARAMETER};
use crate::claim_definition::DefinedClaims;
use crate::entitlement::Entitlements;
use crate::grant::{GrantId, Lineage, Slot};
use crate::id::{ClientId, IssuerId, Jti, Sid, UserId};
use crate::id_text::IdText;
use crate::json::Object;
use crate::pairwise::{self, Veiled};
use crate::scope::{ROLES, Scope};
use crate::session::Amr;
use crate::settings::IssuerSettings;
use crate::time::Timestamp;
use crate::user_claims::role_names;

/// `typ` of the access tokens that are issued (RFC 9068 2.1), unless the client has the other [`AccessTokenTyp`].
pub const TYP: &str = "at+jwt";

/// `typ` of a client's access tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AccessTokenTyp {
    /// RFC 9068 2.1.
    #[default]
    #[serde(rename = "at+jwt")]
    AtJwt,
    /// For resource servers whose libraries refuse `at+jwt`. Its claims show that it is no ID token
    /// ([`AccessToken::parse`]).
    #[serde(rename = "JWT")]
    Jwt,
}

/// The prefix of the client id in the `sub` of a client that acts for itself.
pub const CLIENT_SUBJECT: &str = "client:";

/// The `sub` of a client that acts for itself.
pub fn client_subject(client: &ClientId) -> SmolStr {
    format_smolstr!("{CLIENT_SUBJECT}{client}")
}

/// The claims of an access token (RFC 9068 2.2); written in this order.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct AccessToken {
    /// The issuer's URL.
    pub iss: String,
    /// The user as the client knows them, or `client:<client_id>`.
    pub sub: SmolStr,
    /// The user's id, where `sub` is pairwise (OpenID Connect Core 8.1). The token has it sealed, together with grant and session.
    #[serde(skip)]
    pub account: Option<UserId>,
    /// The sealed [`Veiled`].
    #[serde(default)]
    pub pairwise_ref: Option<String>,
    /// The audience.
    pub aud: Audience,
    /// The client that it was issued to.
    pub client_id: ClientId,
    /// The granted scope.
    #[serde(default)]
    pub scope: Scope,
    /// When it was issued, in seconds. In a token that a script signed, `exp` may be before this.
    #[serde(deserialize_with = "numeric_date::required")]
    pub iat: u64,
    /// When it expires, in seconds.
    #[serde(deserialize_with = "numeric_date::required")]
    pub exp: u64,
    /// When it becomes valid, in seconds; absent from tokens that the server issues.
    #[serde(default, deserialize_with = "numeric_date::optional")]
    pub nbf: Option<u64>,
    /// Its id.
    pub jti: Jti,
    /// When the user last authenticated, in seconds (RFC 9068 2.2.1).
    #[serde(default, deserialize_with = "numeric_date::optional")]
    pub auth_time: Option<u64>,
    /// The authentication context class (RFC 9068 2.2.1).
    #[serde(default)]
    pub acr: Option<SmolStr>,
    /// How the user authenticated (RFC 9068 2.2.1).
    #[serde(default, deserialize_with = "amr::deserialize")]
    pub amr: Amr,
    /// Lineage: the grant; `None` for a token that was signed elsewhere with the issuer's key, or was exchanged from
    /// one.
    #[serde(default)]
    pub gid: Option<GrantId>,
    /// Lineage: the session, unless the grant outlives it.
    #[serde(default)]
    pub sid: Option<Sid>,
    /// Lineage: the ids of the tokens that it was exchanged from, the oldest first.
    #[serde(default)]
    pub anc: Vec<Jti>,
    /// Lineage: the client whose grant it is, if token exchange issued it to another client.
    #[serde(default)]
    pub gcl: Option<ClientId>,
    /// Lineage: if there is no grant, when the oldest token was issued, in seconds.
    #[serde(default, deserialize_with = "numeric_date::optional")]
    pub gat: Option<u64>,
    /// Who acts for the subject (RFC 8693 4.1).
    #[serde(default)]
    pub act: Option<Actor>,
    /// Who may act for the subject (RFC 8693 4.4).
    #[serde(default)]
    pub may_act: Option<MayAct>,
    /// To what it is bound (RFC 9449 6.1, RFC 8705 3.1).
    #[serde(default, deserialize_with = "Confirmation::deserialize_claim")]
    pub cnf: Confirmation,
    /// The requested resources (RFC 8707).
    #[serde(default)]
    pub resource: OneOrMany,
    /// The names of the user's roles (RFC 9068 2.2.3.1), set by [`Self::release_roles`] if the scope `roles` was
    /// granted. A definition may give the claim another form, which is not read.
    #[serde(default, deserialize_with = "names::if_they_are")]
    pub roles: Option<Vec<SmolStr>>,
    /// What was granted in detail (RFC 9396 9.1), as far as access tokens carry it.
    #[serde(default, deserialize_with = "AuthorizationDetails::if_they_are")]
    pub authorization_details: AuthorizationDetails,
    /// All that was granted in detail with this token, for the token response (RFC 9396 7). The token itself has the claim alone.
    #[serde(skip)]
    pub granted_details: AuthorizationDetails,
    /// The claims of definitions. They are not read again: nothing in this server rests on them.
    #[serde(skip)]
    pub defined: DefinedClaims,
}

/// Why a signed JWT is not an access token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAnAccessToken {
    /// Another kind of token: an ID token, a refresh token, a logout token.
    #[error("the token is of another kind")]
    Kind,
    /// A claim is missing or of the wrong type.
    #[error("the token's claims are malformed")]
    Claims,
}

/// Why an access token is not valid here and now. Revocation is checked separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotValid {
    /// It was issued by another issuer.
    #[error("the token is of another issuer")]
    Issuer,
    /// It has expired.
    #[error("the token has expired")]
    Expired,
    /// It is not valid yet.
    #[error("the token is not valid yet")]
    NotYet,
}

impl AccessToken {
    /// Limits the token to these resources, if there are any (RFC 8707 2.2).
    pub fn limit_to(&mut self, resources: &[&str]) {
        if !resources.is_empty() {
            self.aud = Audience::of(resources.iter().copied());
            self.resource = OneOrMany::of(resources.iter().copied());
        }
    }

    /// Carries what was granted in detail (RFC 9396 9.1), as far as it is for these resources or audiences: all, if there are none.
    pub fn carry(&mut self, details: AuthorizationDetails, targets: &[&str], settings: &IssuerSettings) {
        if details.is_empty() {
            return;
        }
        self.granted_details = details.at(targets, settings);
        self.authorization_details = self.granted_details.clone().told(settings);
    }

    /// The user whose roles it carries; `None` if the scope `roles` was not granted, or a client acts for itself.
    pub fn needs_roles_of(&self) -> Option<UserId> {
        if self.scope.contains(ROLES) { self.user() } else { None }
    }

    /// Sets the names of its user's roles: the issuer's, and those of the client that it is for. Call this when its
    /// audience is final, and only if the scope `roles` was granted.
    pub fn release_roles(&mut self, entitlements: &Entitlements) {
        let roles = role_names(entitlements, self.roles_client()).map(SmolStr::new).collect();
        self.roles = Some(roles);
    }

    /// The client whose roles it carries: the one that its audience names besides the issuer; if it names none, the
    /// client that it was issued to. Names of roles do not say whose they are, so a resource server must not find
    /// another client's roles in a token: if several parties share the token, it carries the issuer's roles only.
    pub(crate) fn roles_client(&self) -> Option<&str> {
        let own = self.client_id.as_str();
        let mut others = self.aud.iter().filter(|aud| *aud != self.iss && *aud != own);
        match (others.next(), others.next()) {
            (None, _) => Some(own),
            (Some(audience), None) => Some(audience),
            (Some(_), Some(_)) => None,
        }
    }

    /// A token that says no more than whose it is: one to begin with, or to try something out.
    pub(crate) fn about(sub: SmolStr, client_id: ClientId, scope: Scope) -> Self {
        Self {
            iss: String::new(),
            sub,
            account: None,
            pairwise_ref: None,
            aud: Audience::default(),
            client_id,
            scope,
            iat: 0,
            exp: 0,
            nbf: None,
            jti: Jti::trusted(""),
            auth_time: Some(0),
            acr: None,
            amr: Amr::default(),
            gid: None,
            sid: None,
            anc: Vec::new(),
            gcl: None,
            gat: None,
            act: None,
            may_act: None,
            cnf: Confirmation::default(),
            resource: OneOrMany::default(),
            roles: None,
            authorization_details: AuthorizationDetails::NONE,
            granted_details: AuthorizationDetails::NONE,
            defined: DefinedClaims::default(),
        }
    }

    /// A token issued now to the context's client, for the issuer and the client's own audiences. Its lineage
    /// consists of its `slot` only. Boxed, because it is half a kilobyte.
    pub(super) fn new(context: &Context<'_>, slot: Slot, sub: SmolStr, scope: Scope) -> Box<Self> {
        let Context { issuer, client, now, random, jkt, x5t_s256, .. } = *context;
        let iat = now.seconds();
        // By the slot of a user's tombstones clients could compare users.
        let slot = if context.pairwise().is_some() { Slot::of(&issuer.id, &sub) } else { slot };
        let own = client.access_token_audiences.iter().map(String::as_str);
        Box::new(Self {
            iss: issuer.url.clone(),
            aud: Audience::of(std::iter::once(issuer.url.as_str()).chain(own)),
            iat,
            exp: iat.saturating_add(context.lifetimes().access_token.as_secs()),
            jti: draw_jti(slot, random),
            auth_time: None,
            cnf: Confirmation { jkt: jkt.map(SmolStr::new), x5t_s256: x5t_s256.map(SmolStr::new) },
            ..Self::about(sub, client.client_id.clone(), scope)
        })
    }

    /// A token about a user, by the name by which the context's client knows them (OpenID Connect Core 8).
    pub(super) fn of_user(context: &Context<'_>, slot: Slot, user: &UserId, scope: Scope) -> Box<Self> {
        match context.pairwise() {
            None => Self::new(context, slot, user.as_str().into(), scope),
            Some(pairwise) => {
                let mut own = Self::new(context, slot, pairwise.sub(user).as_str().into(), scope);
                own.account = Some(user.clone());
                own
            }
        }
    }

    /// What the token must seal before it is signed: user, session and grant, where the subject is pairwise.
    pub fn veiled(&self) -> Option<Veiled> {
        let user = self.account.clone()?;
        Some(Veiled { user, sid: self.sid.clone(), gid: self.gid })
    }

    /// Sets what was sealed in a token whose signature was verified.
    pub fn unveil(&mut self, veiled: Veiled) {
        let Veiled { user, sid, gid } = veiled;
        (self.account, self.sid, self.gid, self.pairwise_ref) = (Some(user), sid, gid, None);
    }

    /// The JWS payload. Where the subject is pairwise, session and grant are in the sealed claim alone.
    pub fn to_json(&self) -> Vec<u8> {
        let mut json = Object::with_capacity(768);
        json.text("iss", &self.iss);
        json.text("sub", &self.sub);
        self.aud.write(&mut json, "aud");
        json.text("client_id", self.client_id.as_str());
        json.optional_text("scope", Some(self.scope.as_str()).filter(|scope| !scope.is_empty()));
        json.number("iat", self.iat);
        json.number("exp", self.exp);
        json.optional_number("nbf", self.nbf);
        json.text("jti", self.jti.as_str());
        json.optional_number("auth_time", self.auth_time);
        json.optional_text("acr", self.acr.as_deref());
        amr::write(self.amr, &mut json);
        if self.account.is_none() {
            json.optional_text("gid", self.gid.map(|grant| grant.text()).as_ref().map(IdText::as_str));
            json.optional_text("sid", self.sid.as_ref().map(Sid::as_str));
        }
        json.optional_text(pairwise::CLAIM, self.pairwise_ref.as_deref());
        if !self.anc.is_empty() {
            json.texts("anc", self.anc.iter().map(Jti::as_str));
        }
        json.optional_text("gcl", self.gcl.as_ref().map(ClientId::as_str));
        json.optional_number("gat", self.gat);
        json.optional_value("act", self.act.as_ref());
        json.optional_value("may_act", self.may_act.as_ref());
        json.optional_value("cnf", self.cnf.claim());
        if !self.resource.is_empty() {
            self.resource.write(&mut json, "resource");
        }
        if let Some(roles) = &self.roles {
            json.texts("roles", roles.iter().map(SmolStr::as_str));
        }
        if !self.authorization_details.is_empty() {
            json.name(PARAMETER);
            json.raw().extend_from_slice(self.authorization_details.as_json().as_bytes());
        }
        json.members(&self.defined);
        json.end()
    }

    /// Parses the payload of a JWS whose signature was verified with a key of this issuer.
    ///
    /// # Errors
    /// [`NotAnAccessToken`] if it is another kind of token, or its claims are malformed.
    pub fn parse(header: &Header, payload: &[u8]) -> Result<Self, NotAnAccessToken> {
        // RFC 9068 4: the type MUST be at+jwt or application/at+jwt. Tokens of a client whose setting says so, and
        // tokens that a script signed with the issuer's key, may have the type JWT, as ID tokens do. Their claims must
        // then show that they are no other kind of token (RFC 8725 3.12).
        let typed = header.is_type(TYP);
        if !typed && !header.is_type("JWT") {
            return Err(NotAnAccessToken::Kind);
        }
        if !typed {
            let marks: OtherKinds = serde_json::from_slice(payload).map_err(|_| NotAnAccessToken::Claims)?;
            if marks.any() {
                return Err(NotAnAccessToken::Kind);
            }
        }
        // RFC 9068 2.2 requires client_id and jti, which this server's ID tokens never contain.
        serde_json::from_slice(payload).map_err(|_| NotAnAccessToken::Claims)
    }

    /// Checks the issuer and the validity time (RFC 9068 4, RFC 7519 4.1.4, 4.1.5).
    ///
    /// # Errors
    /// [`NotValid`]
    pub fn check(&self, issuer_url: &str, now: Timestamp) -> Result<(), NotValid> {
        if self.iss != issuer_url {
            return Err(NotValid::Issuer);
        }
        // RFC 7519 4.1.4: on or after `exp` it MUST NOT be accepted.
        if now >= self.expires_at() {
            return Err(NotValid::Expired);
        }
        // RFC 7519 4.1.5.
        if self.nbf.is_some_and(|nbf| now < Timestamp::from_seconds(nbf)) {
            return Err(NotValid::NotYet);
        }
        Ok(())
    }

    /// When it expires.
    pub fn expires_at(&self) -> Timestamp {
        Timestamp::from_seconds(self.exp)
    }

    /// Whether a client acts for itself.
    pub fn is_of_client(&self) -> bool {
        self.sub.starts_with(CLIENT_SUBJECT)
    }

    /// Its user; `None` if a client acts for itself.
    pub fn user(&self) -> Option<UserId> {
        if self.account.is_some() {
            return self.account.clone();
        }
        if self.is_of_client() {
            return None;
        }
        UserId::parse(&self.sub).ok()
    }

    /// Whether a user is the one that it is about.
    pub fn is_about(&self, user: &UserId) -> bool {
        match &self.account {
            None => self.sub == user.as_str(),
            Some(own) => own == user,
        }
    }

    /// The slot of the token's tombstones: its grant's, else its subject's.
    pub fn slot(&self, issuer: &IssuerId) -> Slot {
        let subject = self.account.as_ref().map_or(self.sub.as_str(), UserId::as_str);
        self.gid.as_ref().map_or_else(|| Slot::of(issuer, subject), GrantId::slot)
    }

    /// When the grant was created; without a grant, when the oldest token of the lineage was issued.
    pub fn born(&self) -> Timestamp {
        match &self.gid {
            Some(grant) => grant.at(),
            None => Timestamp::from_seconds(self.gat.unwrap_or(self.iat)),
        }
    }

    /// Everything whose end revokes this token.
    pub fn lineage(&self, issuer: &IssuerId) -> Lineage {
        let mut tokens = Vec::with_capacity(1 + self.anc.len());
        tokens.push(self.jti.clone());
        tokens.extend(self.anc.iter().cloned());
        Lineage {
            slot: self.slot(issuer),
            tokens,
            grant: self.gid,
            session: self.sid.clone(),
            user: self.user(),
            client: Some(self.client_id.clone()),
            grantor: self.gcl.clone().filter(|client| *client != self.client_id),
            born: self.born(),
            issued: Some(Timestamp::from_seconds(self.iat)),
        }
    }
}

/// `at_<slot>_<22 random characters>`.
fn draw_jti(slot: Slot, random: &dyn Random) -> Jti {
    Jti::trusted(IdText::new("at_").number(u64::from(slot.number())).text("_").random::<16>(random).build())
}

/// Claims that identify other kinds of token.
#[derive(Deserialize)]
struct OtherKinds {
    /// OpenID Connect Core 2: an ID token.
    nonce: Option<serde::de::IgnoredAny>,
    at_hash: Option<serde::de::IgnoredAny>,
    c_hash: Option<serde::de::IgnoredAny>,
    /// OpenID Connect Back-Channel Logout 2.4: a logout token.
    events: Option<serde::de::IgnoredAny>,
    /// A registered refresh token.
    rtv: Option<serde::de::IgnoredAny>,
}

impl OtherKinds {
    fn any(&self) -> bool {
        [&self.nonce, &self.at_hash, &self.c_hash, &self.events, &self.rtv].into_iter().any(Option::is_some)
    }
}

#[cfg(test)]
mod tests;
