//! Clients that are named by the URL of their metadata (OAuth Client ID Metadata Document), and how every client is found.
//!
//! A document is read when a request needs its client, and kept in memory for as long as its server says, within bounds; never in the store.
//! Where a client is only named to somebody, or only its existence matters, nobody is called: what was read last is enough, or the host of the
//! URL. Reads are bounded three times: those that one address causes, by the limit of what strangers register; those under way, by
//! the bound of calls to others; and those of one URL, by what the cache remembers.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use symbolon_protocol::client::Client;
use symbolon_protocol::client_registration::document::{
    self, Admission, ClientIdUrl, Unusable, admission, host_of, may_be_url,
};
use symbolon_protocol::error::OAuthError;
use symbolon_protocol::id::ClientId;
use symbolon_store::StoreError;

use crate::app::App;
use crate::client_registration::policy;
use crate::failed_read::FAILED_FOR;
use crate::http::{Context, Failure};
use crate::issuer::IssuerState;
use crate::published::{NotObtained, believed, obtain};
use crate::published_cache::ClientDocument;
use crate::rate_limit::EndpointClass;

/// What is behind a `client_id`.
pub enum Found {
    /// A client.
    Client(Arc<Client>),
    /// Nothing.
    Nobody,
    /// A URL whose document cannot be used now.
    Unusable(Box<Unusable>),
}

impl Found {
    /// The client, if it is one.
    pub fn client(self) -> Option<Arc<Client>> {
        match self {
            Self::Client(client) => Some(client),
            Self::Nobody | Self::Unusable(_) => None,
        }
    }

    /// The client.
    ///
    /// # Errors
    /// `unknown`, or why the document cannot be used; both shown as a page.
    pub fn or_refused(self, unknown: impl FnOnce() -> OAuthError) -> Result<Arc<Client>, OAuthError> {
        match self {
            Self::Client(client) => Ok(client),
            Self::Nobody => Err(unknown()),
            Self::Unusable(why) => Err(why.of_authorization()),
        }
    }
}

/// The client with this id: the one that is registered, else the one that its URL describes, where the issuer allows that.
///
/// # Errors
/// [`Failure`]: the store is out of reach; 429 where too many documents are read for this address.
#[inline]
pub async fn client(context: &Context, id: &ClientId) -> Result<Found, Failure> {
    if let Some(client) = context.app.store.client(&context.issuer.id, id).await? {
        return Ok(Found::Client(client));
    }
    match may_be_url(id, true) {
        // Boxed, because most clients are registered.
        true => Box::pin(published(context, id)).await,
        false => Ok(Found::Nobody),
    }
}

/// How an issuer treats a URL.
enum Treated {
    /// Its document is read.
    Read(ClientIdUrl, Admission),
    /// It is an id like every other.
    NoUrl,
    /// It is no URL of a client, for this reason.
    Refused(String),
}

/// The client that a URL describes.
async fn published(context: &Context, id: &ClientId) -> Result<Found, Failure> {
    let (app, issuer) = (context.app.shared(), context.issuer.shared());
    let (url, of_stranger) = match app.treated(issuer, id) {
        Treated::Read(url, admission) => (url, admission == Admission::Any),
        Treated::NoUrl => return Ok(Found::Nobody),
        Treated::Refused(why) => return Ok(Found::Unusable(Box::new(Unusable::refused(id, why)))),
    };
    let unreachable = |why| Ok(Found::Unusable(Box::new(Unusable::unreachable(id, why))));
    let name = name(issuer, id);
    if app.client_documents.needs_call(&name, app.now()) {
        // Before the cache has a place for it: otherwise one address could push out what all others use.
        let class = EndpointClass::ClientRegistration;
        app.rate_limits.check_address(class, context.remote, app.now())?;
    }
    let read = || {
        let (reader, issuer, url) = (Arc::clone(app), Arc::clone(issuer), url.clone());
        async move { reader.read_client_document(&issuer, &url, of_stranger).await }
    };
    match obtain(app, &app.client_documents, (&name, of_stranger), |_| true, read).await {
        Ok(published) => Ok(found(id, &published)),
        Err(NotObtained::Unusable(why) | NotObtained::NotAsked(why)) => unreachable(why),
    }
}

fn found(id: &ClientId, published: &ClientDocument) -> Found {
    match published {
        ClientDocument::Client(client) => Found::Client(Arc::clone(client)),
        ClientDocument::Invalid(why) => Found::Unusable(Box::new(Unusable::invalid(id, why.clone()))),
    }
}

/// The name by which a document is kept: what an issuer lets strangers have is part of what is made of it.
fn name(issuer: &IssuerState, id: &ClientId) -> String {
    format!("{} {id}", issuer.id)
}

impl App {
    fn treated(&self, issuer: &IssuerState, id: &ClientId) -> Treated {
        let may_be_plain = self.config.load().outbound.allow_private;
        let settings = issuer.settings.load();
        let hosts = &settings.client_id_metadata_documents;
        if hosts.is_empty() || !may_be_url(id, may_be_plain) {
            return Treated::NoUrl;
        }
        match ClientIdUrl::parse(id, may_be_plain) {
            Err(why) => Treated::Refused(why.to_string()),
            Ok(url) => match admission(hosts, url.host()) {
                Some(how) => Treated::Read(url, how),
                None => Treated::Refused(format!("{} is not in client_id_metadata_documents", url.host())),
            },
        }
    }

    /// Whether there is a client with this id: one that is registered, or a URL that the issuer allows. The document is not read, so that
    /// nobody who only asks about tokens makes this server call another one.
    ///
    /// # Errors
    /// [`StoreError`].
    #[inline]
    pub async fn client_exists(&self, issuer: &IssuerState, id: &ClientId) -> Result<bool, StoreError> {
        let is_registered = self.store.client(&issuer.id, id).await?.is_some();
        Ok(is_registered || (may_be_url(id, true) && self.is_allowed_url(issuer, id)))
    }

    #[cold]
    fn is_allowed_url(&self, issuer: &IssuerState, id: &ClientId) -> bool {
        matches!(self.treated(issuer, id), Treated::Read(..))
    }

    /// The client with this id as far as it is known here: the one that is registered, else what its document said last.
    ///
    /// # Errors
    /// [`StoreError`].
    #[inline]
    pub async fn client_at_hand(
        &self,
        issuer: &IssuerState,
        id: &ClientId,
    ) -> Result<Option<Arc<Client>>, StoreError> {
        let registered = self.store.client(&issuer.id, id).await?;
        Ok(registered.or_else(|| may_be_url(id, true).then(|| self.document_at_hand(issuer, id))?))
    }

    #[cold]
    fn document_at_hand(&self, issuer: &IssuerState, id: &ClientId) -> Option<Arc<Client>> {
        let Treated::Read(..) = self.treated(issuer, id) else { return None };
        match &*self.client_documents.at_hand(&name(issuer, id))? {
            ClientDocument::Client(client) => Some(Arc::clone(client)),
            ClientDocument::Invalid(_) => None,
        }
    }

    /// What a client is called, as far as that is known here: by its name, else, for a URL that the issuer allows, by its host. `None`: there
    /// is no such client.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn client_name(
        &self,
        issuer: &IssuerState,
        id: &ClientId,
    ) -> Result<Option<String>, StoreError> {
        match self.client_at_hand(issuer, id).await? {
            Some(client) => Ok(Some(client.display_name().to_owned())),
            None if may_be_url(id, true) && self.is_allowed_url(issuer, id) => Ok(host_of(id)),
            None => Ok(None),
        }
    }

    /// Asks a URL for its document, and keeps what it answered, or why it did not.
    ///
    /// # Errors
    /// It was not asked, because too many calls are under way.
    async fn read_client_document(
        &self,
        issuer: &IssuerState,
        url: &ClientIdUrl,
        of_stranger: bool,
    ) -> Result<(), String> {
        let calls = match of_stranger {
            true => &self.client_documents.calls_of_strangers,
            false => &self.client_documents.calls,
        };
        // By the host, so that one that hangs takes only its own share, by whatever paths it is called.
        let Some(_one_of_many) = calls.begin(&issuer.id, url.host()) else {
            return Err("too many calls to clients are under way".to_owned());
        };
        let read = self.get_client_document(issuer, url).await;
        match &read {
            Err(why) => {
                let issuer = &issuer.id;
                tracing::info!(%issuer, client_id = %url.id(), %why, "the document of a client could not be read");
            }
            Ok((ClientDocument::Invalid(why), _)) => {
                let issuer = &issuer.id;
                tracing::info!(%issuer, client_id = %url.id(), %why, "the document of a client is not valid");
            }
            Ok((ClientDocument::Client(_), _)) => {}
        }
        self.client_documents.note_read(&name(issuer, url.id()), read, self.now());
        Ok(())
    }

    /// What is at a URL, and for how long it is believed (5.2: cache headers SHOULD be respected, within bounds of the server's own).
    async fn get_client_document(
        &self,
        issuer: &IssuerState,
        url: &ClientIdUrl,
    ) -> Result<(ClientDocument, Duration), String> {
        let kinds = HeaderValue::from_static("application/json");
        // 5: no redirect is followed, and every status but 200 is an error.
        let answer = self.get_published(url.url().clone(), kinds, document::LONGEST).await?;
        let now = self.now();
        let policy = policy(issuer, &issuer.settings.load(), now);
        let key = &issuer.client_secret_key;
        let made = document::read(url, &answer.body, &policy, key, now, &*self.random);
        Ok(match made {
            Ok(client) => (ClientDocument::Client(Arc::new(client)), believed(&answer)),
            Err(error) => (ClientDocument::Invalid(error.description.into_owned()), FAILED_FOR),
        })
    }
}
