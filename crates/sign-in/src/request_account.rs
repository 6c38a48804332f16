//! By which of the browser's accounts an authorization request is answered.

use std::sync::Arc;

use symbolon_protocol::authorize::{AnotherAccount, InteractionSoFar, SignedIn};
use symbolon_protocol::consent::Consent;
use symbolon_protocol::id::Sid;
use symbolon_protocol::id_token_hint::IdTokenHint;
use symbolon_protocol::session::{Session, SessionId};
use symbolon_store::Durable;
use symbolon_store::shard::sid_of;

use crate::browser_accounts::{Account, BrowserAccounts};
use symbolon_app::http::{Context, Failure, Received};
use symbolon_app::issuer::IssuerState;

/// The account by which a request is answered.
#[derive(Default)]
pub(super) struct RequestAccount {
    /// Its session.
    pub(super) session: Option<Arc<Session>>,
    /// The session's id, where it is another account than the one in use: the request's `id_token_hint` names it. Boxed, because
    /// that is rare, and the future of every authorization request has room for it.
    pub(super) named: Option<Box<SessionId>>,
    /// Whether accounts are signed in in the browser, of which none is in use.
    pub(super) is_none_in_use: bool,
}

impl RequestAccount {
    /// Whether the account is the one that the request is about, if it is about one.
    pub(super) fn is_whom(&self, hint: &IdTokenHint) -> bool {
        let named = hint.claims().map(|claims| &claims.sub);
        self.session.as_ref().is_some_and(|session| named.is_none_or(|named| *named == session.user))
    }

    /// Looks among the browser's other accounts for the one of the user whom the hint names, unless the person has said for
    /// this request who they are. OpenID Connect Core 3.1.2.1: a positive response if the user whom the hint identifies is
    /// logged in.
    ///
    /// # Errors
    /// [`Failure`]: the store is out of reach.
    pub(super) async fn among_others(
        self,
        (context, received): (&Context, &Received),
        (hint, so_far): (&IdTokenHint, Option<InteractionSoFar<'_>>),
        durable: &mut Durable,
    ) -> Result<Self, Failure> {
        let accounts = BrowserAccounts::of(context, received, durable).await?;
        let has_said = so_far.is_some_and(|so_far| {
            so_far.signed_in_at.is_some() || so_far.selected.is_some() || so_far.wants != AnotherAccount::No
        });
        let named = hint.claims().filter(|_| !has_said).map(|claims| &claims.sub);
        let found = accounts.others.iter().find(|account| named == Some(&account.session.user));
        Ok(match found {
            Some(Account { id, session }) => {
                let named = Some(Box::new(id.clone()));
                Self { session: Some(Arc::clone(session)), named, is_none_in_use: false }
            }
            None => Self { is_none_in_use: self.session.is_none() && !accounts.others.is_empty(), ..self },
        })
    }

    /// Who is signed in, as the rule asks for it.
    pub(super) fn signed_in<'a>(&'a self, consent: Option<&'a Consent>) -> SignedIn<'a> {
        match &self.session {
            Some(session) => SignedIn::Account { session, consent, is_in_use: self.named.is_none() },
            None if self.is_none_in_use => SignedIn::NoneInUse,
            None => SignedIn::Nobody,
        }
    }

    /// The `sid` of the session in use in the browser, which its state is about whichever account is answered for.
    /// `presented`: the id of the browser's session cookie.
    pub(super) fn sid_in_use(&self, issuer: &IssuerState, presented: Option<&SessionId>) -> Option<Sid> {
        match self.named {
            None => self.session.as_ref().map(|session| session.sid.clone()),
            Some(_) => presented.map(|id| sid_of(&issuer.id, id)),
        }
    }
}
