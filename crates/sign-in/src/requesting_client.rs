//! Who asks somebody to sign in or to consent, as pages show it.

use std::sync::Arc;

use symbolon_pages::Language;
use symbolon_protocol::authorize::request::{self, AuthorizationRequest, Rejection};
use symbolon_protocol::client::Client;
use symbolon_protocol::id::ClientId;
use symbolon_protocol::logo::Logo;
use symbolon_protocol::params::Params;
use symbolon_protocol::sign_in::acr::RequestedAcr;
use symbolon_store::StoreError;

use crate::interaction::{PendingAuthorization, unreadable};
use crate::sign_in_goal::SignInGoal;
use symbolon_app::client_documents;
use symbolon_app::http::{Context, Failure};
use symbolon_app::issuer::Appearance;

/// The requesting client, as pages show it.
pub(super) struct RequestingClient {
    /// The client.
    pub(super) client: Arc<Client>,
    /// Its logo.
    pub(super) logo: Option<Logo>,
    /// The redirect URI of the request.
    pub(super) redirect_uri: String,
    /// The value that prefills the login form.
    pub(super) login_hint: Option<String>,
    /// The classes of authentication that the request asks for.
    acr: RequestedAcr,
}

impl RequestingClient {
    /// Parses a waiting request again: its client may have been changed or deleted meanwhile.
    ///
    /// # Errors
    /// [`Failure`]: errors that may be shown only to the person and not sent to the client (RFC 6749 4.1.2.1).
    pub(super) async fn of(context: &Context, pending: &PendingAuthorization) -> Result<Self, Failure> {
        let params = Params::parse(pending.request().ok_or_else(unreadable)?.as_bytes())?;
        let client = client_of(context, &params).await?;
        let settings = context.issuer.settings.load_full();
        let (redirect_uri, login_hint, acr) =
            match AuthorizationRequest::check(&params, &client, (&context.issuer.url, &settings)) {
                Ok(request) => (
                    request.return_to.redirect_uri.to_owned(),
                    request.login_hint.map(str::to_owned),
                    request.acr,
                ),
                Err(Rejection::Redirect(to, _)) => {
                    (to.redirect_uri.to_owned(), None, RequestedAcr::default())
                }
                Err(Rejection::Page(error)) => return Err(error.into()),
            };
        let logo = logo_of(context, &client).await?;
        Ok(Self { client, logo, redirect_uri, login_hint, acr })
    }

    /// How the pages of its requests present the provider.
    pub(super) fn appearance(&self, context: &Context) -> Appearance {
        context.issuer.appearance_for(&self.client, self.logo.as_ref())
    }

    /// The address of its logo, unless it stands in the head of the page already.
    pub(super) fn logo_address(&self, context: &Context) -> Option<String> {
        let logo = self.logo.as_ref().filter(|_| !self.client.has_name_in_head())?;
        Some(context.issuer.logo_address(logo, Some(&self.client.client_id)))
    }
}

/// Who asks somebody to sign in, as pages show it.
pub(super) enum Asking {
    /// A client.
    Client(RequestingClient),
    /// The issuer itself, for a page of the account.
    Account {
        /// The value that prefills the login form.
        login_hint: Option<String>,
    },
}

impl Asking {
    /// Who asks in an interaction.
    ///
    /// # Errors
    /// As [`RequestingClient::of`].
    pub(super) async fn of(context: &Context, pending: &PendingAuthorization) -> Result<Self, Failure> {
        match &pending.goal {
            SignInGoal::Request(_) => RequestingClient::of(context, pending).await.map(Self::Client),
            SignInGoal::Account(page) => Ok(Self::Account { login_hint: page.login_hint.clone() }),
        }
    }

    /// The client, if it is one.
    pub(super) fn client(&self) -> Option<&Arc<Client>> {
        match self {
            Self::Client(asking) => Some(&asking.client),
            Self::Account { .. } => None,
        }
    }

    /// The client, if it is one, and the classes of authentication that it asks for.
    pub(super) fn wanted(&self) -> Option<(&Arc<Client>, RequestedAcr)> {
        match self {
            Self::Client(asking) => Some((&asking.client, asking.acr)),
            Self::Account { .. } => None,
        }
    }

    /// How the pages present the provider.
    pub(super) fn appearance(&self, context: &Context) -> Appearance {
        match self {
            Self::Client(asking) => asking.appearance(context),
            Self::Account { .. } => context.issuer.appearance(),
        }
    }

    /// The address of the client's logo, if it is one that has one.
    pub(super) fn logo_address(&self, context: &Context) -> Option<String> {
        match self {
            Self::Client(asking) => asking.logo_address(context),
            Self::Account { .. } => None,
        }
    }

    /// The id of the client, if it is one.
    pub(super) fn client_id(&self) -> Option<&ClientId> {
        self.client().map(|client| &client.client_id)
    }

    /// What the person is told where they go on to.
    pub(super) fn display_name(&self, language: Language) -> String {
        match self.client() {
            Some(client) => client.display_name_in(language.tag()),
            None => language.texts().account_own.to_owned(),
        }
    }

    /// The value that prefills the login form.
    pub(super) fn login_hint(&self) -> Option<&str> {
        match self {
            Self::Client(asking) => asking.login_hint.as_deref(),
            Self::Account { login_hint } => login_hint.as_deref(),
        }
    }
}

/// How the pages on the way to what waits present the provider: as the client of the request says, if it is one's. Only a registered one says
/// so.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub(super) async fn appearance(
    Context { app, issuer, .. }: &Context,
    pending: Option<&PendingAuthorization>,
) -> Result<Appearance, Failure> {
    let Some(id) = pending.and_then(PendingAuthorization::client_id) else { return Ok(issuer.appearance()) };
    let Some(client) = app.store.client(&issuer.id, &id).await? else { return Ok(issuer.appearance()) };
    let logo = if client.has_name_in_head() { app.store.logo(&issuer.id, Some(&id)).await? } else { None };
    Ok(issuer.appearance_for(&client, logo.as_ref()))
}

/// The client named by an authorization request.
///
/// # Errors
/// `invalid_request`, shown as a page.
pub(super) async fn client_of(context: &Context, params: &Params<'_>) -> Result<Arc<Client>, Failure> {
    let client_id = request::client_id(params)?;
    let found = client_documents::client(context, &client_id).await?;
    Ok(found.or_refused(|| request::unknown_client(Some(&client_id)))?)
}

/// The logo of a client, which an administrator gave it. A client that nobody registered has none: the cache of logos also keeps that there
/// is none, and names of strangers must not fill it.
///
/// # Errors
/// [`StoreError`]
pub(super) async fn logo_of(context: &Context, client: &Client) -> Result<Option<Logo>, StoreError> {
    match client.is_from_document {
        true => Ok(None),
        false => context.app.store.logo(&context.issuer.id, Some(&client.client_id)).await,
    }
}
