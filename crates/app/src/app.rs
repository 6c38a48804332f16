//! The state that every handler receives.

use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use arc_swap::{ArcSwap, ArcSwapOption};
use ipnet::IpNet;
use symbolon_crypto::digest;
use symbolon_crypto::jwk::JwkSet;
use symbolon_crypto::key::KeyGenerator;
use symbolon_crypto::random::Random;
use symbolon_crypto::seal::MasterKey;
use symbolon_crypto::signer::Signer;
use symbolon_protocol::claim_definition::{ClaimFailure, Destination};
use symbolon_protocol::entitlement::Entitlements;
use symbolon_protocol::id::{ClientId, IssuerId, UserId};
use symbolon_protocol::issuer::Issuer;
use symbolon_protocol::key;
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user_claims::{RecordsNeeded, UserRecords};
use symbolon_store::port::{Changed, Created};
use symbolon_store::{Durable, Store, StoreError};
use tokio::sync::SetOnce;

use crate::access_token_cache::{AccessTokenCache, VerifiedAccessToken};
use crate::audit::AuditLog;
use crate::changes::{self, Changes};
use crate::client_certificates::ClientCertificates;
use crate::client_secret_use::ClientSecretUses;
use crate::clock::Clock;
use crate::delivery_signals::DeliverySignals;
use crate::detached::Detached;
use crate::entitlements::CutEntitlements;
use crate::issuer::{self, Directory, IssuerError, IssuerState};
use crate::outbox::Outbox;
use crate::passwords::{ListFault, Passwords};
use crate::places::{self, PlaceTable};
use crate::published_cache::{ClientDocument, DOCUMENTS_STALE_FOR, KEYS_STALE_FOR, PublishedCache};
use crate::rate_limit::RateLimits;
use crate::upstream_cache::UpstreamCache;
use symbolon_config::{Config, TraceparentOf};
use symbolon_outbound::{Outbound, OutboundAnswer, OutboundError, OutboundRequest, Reach};
use symbolon_telemetry::{CounterFamily, Registry, TraceparentPolicy, Tracer};

/// The server's dependencies on the outside world: tests replace all of them.
pub struct Ports {
    /// Where state is kept.
    pub store: Arc<dyn Store>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Where randomness comes from.
    pub random: Arc<dyn Random>,
    /// What signs.
    pub signer: Arc<dyn Signer>,
    /// What makes signing keys.
    pub key_generator: Arc<dyn KeyGenerator>,
    /// The key that opens keys and secrets sealed at rest.
    pub master: MasterKey,
}

/// The state behind every handler.
pub struct App {
    /// The configuration.
    pub config: ArcSwap<Config>,
    /// Where state is kept.
    pub store: Arc<dyn Store>,
    /// Where randomness comes from.
    pub random: Arc<dyn Random>,
    /// What signs.
    pub signer: Arc<dyn Signer>,
    /// What makes signing keys.
    pub key_generator: Arc<dyn KeyGenerator>,
    /// The key that opens keys and secrets sealed at rest.
    pub master: ArcSwap<MasterKey>,
    /// The issuers.
    pub issuers: ArcSwap<Directory>,
    /// Access tokens whose signature was checked.
    pub access_tokens: AccessTokenCache,
    /// Password hashing on a bounded pool of threads.
    pub passwords: Passwords,
    /// The names of places by address, where a file of them is configured.
    places: ArcSwapOption<PlaceTable>,
    /// How TLS certificates of clients arrive; `None` where none do.
    pub(crate) client_certificates: Option<ClientCertificates>,
    /// Rate limits per client, user, endpoint, account and address.
    pub rate_limits: RateLimits,
    /// Sends spans to the trace collector, if one is configured.
    pub tracer: Option<Arc<Tracer>>,
    /// The audit log's queue and the events' counters.
    pub audit: AuditLog,
    /// When client secrets were used.
    pub client_secret_uses: ClientSecretUses,
    /// The registry of all metrics.
    pub registry: Arc<Registry>,
    /// Signatures made, by algorithm.
    pub signatures: Arc<CounterFamily>,
    /// Claims that were left out because their expression failed, by destination.
    claim_failures: Arc<CounterFamily>,
    /// SHA-256 of the admin secret.
    pub admin_secret: ArcSwap<[u8; 32]>,
    /// Changes that are completed even if their caller's connection closes.
    pub detached: Detached,
    /// Wakes the job that delivers mail and back-channel calls.
    pub deliveries: DeliverySignals,
    /// What other providers publish.
    pub(crate) upstreams: UpstreamCache,
    /// The keys that clients publish.
    pub(crate) client_keys: PublishedCache<JwkSet>,
    /// The request objects that clients publish.
    pub(crate) request_objects: PublishedCache<String>,
    /// The documents that clients publish.
    pub(crate) client_documents: PublishedCache<ClientDocument>,
    /// Calls addresses that others named.
    outbound: Outbound,
    /// The last mails; empty outside development mode.
    pub outbox: Outbox,
    /// Counts answers about users who have more groups or roles than tokens carry.
    pub(crate) cut_entitlements: Arc<CutEntitlements>,
    /// The configuration's trusted proxies, shared with the tracer.
    trusted_proxies: Arc<ArcSwap<Vec<IpNet>>>,
    reserved_segments: Vec<&'static str>,
    clock: Arc<dyn Clock>,
    leaving: AtomicBool,
    recovered: SetOnce<()>,
    /// Held from reading the store until the result is swapped in, so that an older read never replaces a newer one.
    following: tokio::sync::Mutex<()>,
    changes: OnceLock<Arc<Changes>>,
}

impl App {
    /// The groups and roles of a user, for claims that are about to be told. Where some are left out, an application may
    /// refuse the user for want of them, so this is counted, and at most once a minute a warning names the user.
    ///
    /// # Errors
    /// [`StoreError`].
    #[inline]
    pub async fn entitlements_to_tell(
        &self,
        issuer: &IssuerId,
        user: &UserId,
    ) -> Result<Arc<Entitlements>, StoreError> {
        let held = self.store.entitlements(issuer, user).await?;
        if held.is_cut {
            self.cut_entitlements.tell(issuer, user, self.now());
        }
        Ok(held)
    }

    /// The records of a user that tokens need.
    ///
    /// # Errors
    /// [`StoreError`].
    #[inline]
    pub async fn user_records(
        &self,
        issuer: &IssuerId,
        id: &UserId,
        needed: RecordsNeeded,
    ) -> Result<UserRecords, StoreError> {
        let user = if needed.user { self.store.user(issuer, id).await? } else { None };
        let entitlements = match needed.entitlements {
            true => Some(self.entitlements_to_tell(issuer, id).await?),
            false => None,
        };
        Ok(UserRecords { user, entitlements })
    }

    /// The current time.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The clock.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Whether the first segment of a path belongs to the server's own endpoints. No issuer may have such a path: its
    /// requests would be taken for requests to an endpoint of an issuer at the root.
    pub fn is_reserved(&self, path: &str) -> bool {
        let first = path.split('/').nth(1).filter(|segment| !segment.is_empty());
        first.is_some_and(|segment| self.reserved_segments.contains(&segment))
    }

    /// Makes the state. Issuers are loaded by [`load_issuers`](Self::load_issuers). `reserved_segments` are the first path
    /// segments that endpoints have.
    pub fn new(
        config: Config,
        ports: Ports,
        registry: Arc<Registry>,
        admin_secret: [u8; 32],
        reserved_segments: Vec<&'static str>,
    ) -> Arc<Self> {
        let signatures = registry.signatures(&["RS256", "PS256", "ES256", "EdDSA"]);
        let claim_failures = registry.claim_failures(&Destination::ALL.map(Destination::as_str));
        let figures = Arc::clone(ports.store.figures());
        let recovered = ports.store.is_recovered().then_some(());
        let rate_limits = RateLimits::new(&config.rate_limits);
        registry.register(rate_limits.bodies());
        registry.register(rate_limits.one_time_refusals());
        registry.register(Arc::clone(&figures) as Arc<dyn symbolon_telemetry::MetricSource>);
        let cut_entitlements = Arc::new(CutEntitlements::default());
        registry.register(Arc::clone(&cut_entitlements) as Arc<dyn symbolon_telemetry::MetricSource>);
        let deliveries = DeliverySignals::default();
        registry.register(Arc::clone(deliveries.figures()) as Arc<dyn symbolon_telemetry::MetricSource>);
        let traced = &config.telemetry;
        let trusted_proxies = Arc::new(ArcSwap::from_pointee(config.security.trusted_proxies.clone()));
        let tracer = traced.otlp_endpoint.as_ref().map(|collector| {
            let random = symbolon_crypto::random::bytes::<24>(&*ports.random);
            let tracer = Tracer::new(collector, traced.otlp_sample, random, &registry);
            Arc::new(tracer.with_traceparent_policy(traceparent_policy(
                traced.traceparent,
                Arc::clone(&trusted_proxies),
            )))
        });
        let passwords = Passwords::new(&config.security.argon2, &*ports.random);
        let used = passwords.use_breached(config.security.breached_passwords.as_deref());
        tell_of_unused_list(used);
        let places = places::read(config.security.places.as_deref()).unwrap_or_else(|fault| {
            places::tell_of_unused(&fault);
            None
        });
        let client_certificates = config.security.mutual_tls.as_ref().map(ClientCertificates::new);
        Arc::new(Self {
            tracer,
            client_certificates,
            deliveries,
            outbound: Outbound::new(env!("CARGO_PKG_VERSION")),
            outbox: Outbox::default(),
            upstreams: UpstreamCache::default(),
            client_keys: PublishedCache::new(KEYS_STALE_FOR),
            request_objects: PublishedCache::new(DOCUMENTS_STALE_FOR),
            client_documents: PublishedCache::new(DOCUMENTS_STALE_FOR),
            cut_entitlements,
            trusted_proxies,
            access_tokens: AccessTokenCache::new(figures.cache("verified_token")),
            passwords,
            places: ArcSwapOption::from_pointee(places),
            rate_limits,
            audit: AuditLog::new(&registry),
            client_secret_uses: ClientSecretUses::default(),
            issuers: ArcSwap::default(),
            config: ArcSwap::from_pointee(config),
            store: ports.store,
            detached: Detached::new(),
            reserved_segments,
            clock: ports.clock,
            leaving: AtomicBool::new(false),
            recovered: SetOnce::new_with(recovered),
            following: tokio::sync::Mutex::default(),
            changes: OnceLock::new(),
            random: ports.random,
            signer: ports.signer,
            key_generator: ports.key_generator,
            master: ArcSwap::from_pointee(ports.master),
            registry,
            signatures,
            claim_failures,
            admin_secret: ArcSwap::from_pointee(admin_secret),
        })
    }

    /// Marks the store as recovered: requests that waited for recovery are now handled.
    pub fn note_recovered(&self) {
        // A second call changes nothing.
        drop(self.recovered.set(()));
    }

    /// Whether the store is recovered.
    pub fn is_recovered(&self) -> bool {
        self.recovered.initialized()
    }

    /// Resolves once the store is recovered.
    pub async fn recovered(&self) {
        self.recovered.wait().await;
    }

    /// Makes readiness fail while requests are still served, because the server will stop soon.
    pub fn leave(&self) {
        self.leaving.store(true, Ordering::Relaxed);
    }

    /// Whether the server will stop soon.
    pub fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::Relaxed)
    }

    /// Changes in the store since the first call of this function, to be passed to [`follow`](Self::follow).
    pub fn changes(&self) -> &Arc<Changes> {
        self.changes.get_or_init(|| {
            let (listener, changes) = changes::channel();
            self.store.on_change(listener);
            changes
        })
    }

    /// Loads every issuer at startup, and warns of weak settings. Creates `default` on the first start, and gives it the configuration's URL on
    /// later ones.
    ///
    /// # Errors
    /// [`IssuerError`].
    pub async fn load_issuers(&self) -> Result<(), IssuerError> {
        let _ordered = self.following.lock().await;
        // Only at startup: if `follow` did this, two nodes with different URLs would overwrite each other's URL for
        // ever.
        self.ensure_default(&self.config.load()).await?;
        // Subscribe before reading, so that no change by another node is missed. Subscribe after writing, because the
        // store may wait until this node has followed the write.
        self.changes();
        self.load_all().await?;
        for issuer in self.issuers.load().iter() {
            issuer::tell_of_pkce(&issuer.url, &issuer.settings.load());
        }
        Ok(())
    }

    /// An issuer whose record is unchanged keeps its `IssuerState`: requests in flight hold a reference to it, and
    /// thereby see its new keys and settings.
    async fn load_all(&self) -> Result<(), IssuerError> {
        let (config, known) = (self.config.load(), self.issuers.load_full());
        let (store, master) = (&*self.store, self.master.load());
        let mut states = Vec::new();
        for issuer in store.issuers().await? {
            states.push(match known.by_id(&issuer.id).filter(|known| known.record == issuer) {
                Some(known) => {
                    known.reload_keys(store, &master, self.now()).await?;
                    known.reload_settings(store).await?;
                    Arc::clone(known)
                }
                None => {
                    Arc::new(IssuerState::load(store, &issuer, &master, &config.security, self.now()).await?)
                }
            });
        }
        self.issuers.store(Arc::new(Directory::new(states)));
        self.share_rooms();
        Ok(())
    }

    /// Tells the store which part of its rooms one issuer may take: all where limits are off.
    fn share_rooms(&self) {
        let config = self.config.load();
        let percent = if config.rate_limits.enabled { config.storage.issuer_share } else { 100 };
        self.store.figures().share_rooms(self.issuers.load().iter().count(), percent);
    }

    async fn ensure_default(&self, config: &Config) -> Result<(), IssuerError> {
        let id = IssuerId::default_issuer();
        let known = self.store.issuers().await?.into_iter().find(|issuer| issuer.id == id);
        match known {
            Some(issuer) if issuer.url == config.issuer.as_str() => Ok(()),
            Some(issuer) => {
                tracing::warn!(
                    from = issuer.url,
                    to = config.issuer.as_str(),
                    "the default issuer gets another URL"
                );
                let moved = Issuer { url: config.issuer.as_str().to_owned(), ..issuer };
                self.store.update_issuer(moved).await?;
                Ok(())
            }
            None => {
                self.create_issuer(id, config.issuer.as_str()).await?;
                Ok(())
            }
        }
    }

    /// Creates an issuer with its first keys and the configuration's initial settings. The directory is not reloaded.
    ///
    /// # Errors
    /// [`IssuerError`].
    pub async fn create_issuer(&self, id: IssuerId, url: &str) -> Result<Created, IssuerError> {
        let settings = self.config.load().initial.clone();
        let (master, now) = (self.master.load_full(), self.now());
        let record = issuer::new_issuer(id, url, &master, now, &*self.random)?;
        let (id, of_keys) = (record.id.clone(), settings.clone());
        let generator = Arc::clone(&self.key_generator);
        // Generating RSA keys takes long, so a blocking thread does it.
        let made = tokio::task::spawn_blocking(move || {
            let mut maker = |algorithm| issuer::new_key(&*generator, &id, algorithm, &master, now);
            key::initial(&of_keys, now, &mut maker)
        });
        let keys = made.await.map_err(|error| IssuerError::Crypto(error.to_string()))??;
        issuer::create(&*self.store, record, settings, &keys).await
    }

    /// Updates the copies in memory after a change in the store. On return they are at least as new as the store was
    /// at the time of the call, even if several calls run at once.
    ///
    /// # Errors
    /// [`IssuerError`]: the copies in memory are unchanged, or only some of them are updated.
    pub async fn follow(&self, changed: &Changed) -> Result<(), IssuerError> {
        let _ordered = self.following.lock().await;
        let issuers = self.issuers.load_full();
        match changed {
            Changed::Keys(id) => match issuers.by_id(id) {
                Some(issuer) => issuer.reload_keys(&*self.store, &self.master.load(), self.now()).await,
                None => Ok(()),
            },
            Changed::Settings(id) => match issuers.by_id(id) {
                Some(issuer) => issuer.reload_settings(&*self.store).await,
                None => Ok(()),
            },
            Changed::Issuers | Changed::Everything => self.load_all().await,
            Changed::Client(..)
            | Changed::ClientDeleted(..)
            | Changed::User(..)
            | Changed::Consents(..)
            | Changed::Entitlements(..)
            | Changed::Groups(_) => Ok(()),
        }
    }

    /// Whether any record in the lineage of a verified token has ended, which revokes the token.
    ///
    /// # Errors
    /// [`StoreError`]. The caller must then refuse the token.
    pub async fn revoked(
        &self,
        issuer: &IssuerState,
        token: &VerifiedAccessToken,
        durable: &mut Durable,
    ) -> Result<bool, StoreError> {
        Ok(self.store.revoked(&issuer.id, &token.lineage).await?.take(durable))
    }

    /// Calls an address that somebody else named: a public one, unless the configuration allows private ones.
    ///
    /// # Errors
    /// [`OutboundError`].
    pub async fn call_out(&self, request: OutboundRequest) -> Result<OutboundAnswer, OutboundError> {
        let reach = if self.config.load().outbound.allow_private { Reach::Anywhere } else { Reach::Public };
        self.outbound.send(request, reach).await
    }

    /// Counts the claims that failed and were left out, and says so in the log at times.
    pub fn note_failed_claims(&self, issuer: &IssuerState, client: &ClientId, failures: &[ClaimFailure]) {
        for failure in failures {
            let place = Destination::ALL.iter().position(|own| *own == failure.destination);
            self.claim_failures.increment(place.unwrap_or_default());
        }
        if !failures.is_empty() {
            issuer.tell_of_failed_claims(client, failures, self.now());
        }
    }

    /// Applies a configuration that was read again.
    pub async fn reconfigure(&self, config: Config) {
        self.rate_limits.set(&config.rate_limits);
        self.trusted_proxies.store(Arc::new(config.security.trusted_proxies.clone()));
        // A configuration without a secret keeps the one that was generated at the first start.
        if let Some(secret) = &config.security.admin_secret {
            self.admin_secret.store(Arc::new(digest::sha256(&[secret.expose().as_bytes()])));
        }
        let breached = config.security.breached_passwords.clone();
        let places = config.security.places.clone();
        self.config.store(Arc::new(config));
        self.share_rooms();
        // The files may be newer ones of the same names.
        tell_of_unused_list(self.passwords.use_breached_anew(breached).await);
        self.use_places(places).await;
    }

    /// Takes the table of places in a file into use, or none. Where it cannot be used, the one before stays.
    async fn use_places(&self, path: Option<PathBuf>) {
        // A file of many megabytes is read off the threads that serve.
        let reading = tokio::task::spawn_blocking(move || places::read(path.as_deref()));
        match reading.await.unwrap_or_else(|ended| Err(io::Error::other(ended).into())) {
            Ok(table) => self.places.store(table.map(Arc::new)),
            Err(fault) => places::tell_of_unused(&fault),
        }
    }

    /// The place of an address in the language with this tag, where a configured table knows it.
    pub fn place_of(&self, address: IpAddr, language: &str) -> Option<String> {
        self.places.load().as_ref()?.place(address, language)
    }
}

/// Says so where the list of breached passwords that the configuration names was not taken into use.
fn tell_of_unused_list(used: Result<(), ListFault>) {
    if let Err(fault) = used {
        let mend = fault.mend();
        tracing::error!(%fault, mend, "breached_passwords_file cannot be used; a list that was in use stays");
    }
}

/// Decides by configuration which peers' `traceparent` header is honoured.
fn traceparent_policy(whose: TraceparentOf, proxies: Arc<ArcSwap<Vec<IpNet>>>) -> TraceparentPolicy {
    match whose {
        TraceparentOf::Anybody => Box::new(|_| true),
        TraceparentOf::Nobody => Box::new(|_| false),
        TraceparentOf::TrustedProxies => Box::new(move |peer| {
            peer.is_some_and(|peer| proxies.load().iter().any(|network| network.contains(&peer)))
        }),
    }
}
