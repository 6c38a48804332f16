//! The columns of the endpoint table, and the steps that all endpoints share.
//!
//! A row says how an endpoint is called and answered. [`Endpoint::answer`] carries out the shared steps in one order:
//! the node's lease, the limit per address, the form, the handler, the wait for durability, failures as JSON or as a
//! page, CORS, metrics. A handler does only what is particular to its endpoint.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, Method, Request, Uri};
use symbolon_pages::Language;
use symbolon_protocol::client::Client;
use symbolon_protocol::discovery::path;
use symbolon_protocol::error::OAuthError;
use symbolon_protocol::params::Params;
use symbolon_protocol::protected_resource::userinfo_metadata_url;
use symbolon_protocol::third_party_initiated_login::address as login_address;
use symbolon_protocol::ui_locale::UiLocale;
use symbolon_store::Durable;

use super::failure::ErrorAbout;
use super::language::{locale, page_language};
use super::{Context, Failure, cors, is_form, read_form, read_json};
use crate::audit::{Actor, RefusedRequest};
use crate::issuer::IssuerState;
use crate::rate_limit::{BodyInFlight, EndpointClass};
use symbolon_telemetry::{self as telemetry, RequestFacts};

/// One endpoint: a row of the table.
pub struct Endpoint {
    /// The path relative to the issuer.
    pub path: &'static str,
    /// The allowed methods. `HEAD` is allowed only if `GET` changes nothing (RFC 9110 9.2.1).
    pub methods: &'static [Method],
    /// The `endpoint` label of its metrics.
    pub label: telemetry::Endpoint,
    /// Whose rate limit its requests count against.
    pub limit: Limit,
    /// Whether a POST must be a form, or something else. For a PUT it counts too.
    pub form: Form,
    /// The parameters that may be repeated; any other repeated parameter is refused (RFC 6749 3.2). `None` if the
    /// handler checks this itself, because its refusal goes to the client by redirect.
    pub repeatable: Option<&'static [&'static str]>,
    /// Whether it is answered only while the node holds its lease. Needed where the answer decides about tokens: a
    /// node without a lease may read stale state.
    pub needs_lease: bool,
    /// Which origins' scripts may read the answer.
    pub cors: Cors,
    /// The format of failures.
    pub failures: Failures,
    /// The handler.
    pub handler: Handler,
}

/// Whose rate limit the requests of an endpoint count against.
#[derive(Clone, Copy)]
pub enum Limit {
    /// Nobody's: there is no limit.
    None,
    /// The address's, checked before anything else.
    Address(EndpointClass),
    /// The client's once it is authenticated, otherwise the address's. The handler makes this check itself.
    Client(EndpointClass),
}

/// The body that a POST must have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A form; any other media type is refused.
    Required,
    /// A form or none: a body of another media type is not read.
    Optional,
    /// A JSON text; any other media type is refused.
    Json,
}

/// Which origins' scripts may read the answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Cors {
    /// None: the endpoint is called by servers, or shown to people.
    None,
    /// All: the answer is the same for everybody, or for whoever has the token that came.
    Everybody,
    /// The client's own: the origins of its redirect URIs and those that it registered.
    Client,
    /// Those that may call the issuer's login API, and with the browser's cookies.
    LoginApi,
}

/// The format of failures.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Failures {
    /// As JSON (RFC 6749 5.2).
    Json,
    /// As an HTML page if the browser prefers one, else as JSON.
    Page,
}

/// The future that a handler returns.
pub(crate) type Handling<'a> = Pin<Box<dyn Future<Output = Result<Response, Failure>> + Send + 'a>>;

/// A handler: the part of an endpoint that is particular to it.
pub type Handler = for<'a> fn(&'a mut Call) -> Handling<'a>;

/// The answer of an endpoint.
pub type Answer = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

/// The request as received.
pub struct Received {
    /// The method.
    pub method: Method,
    /// The request target.
    pub uri: Uri,
    /// The headers.
    pub headers: HeaderMap,
    /// The form of a POST, or the JSON text of a POST or PUT; empty without one.
    pub form: Bytes,
    /// Counts the form's bytes against the budget of bodies until the request is answered.
    in_flight: Option<BodyInFlight>,
}

impl Received {
    /// The encoded parameters: the form of a POST, else the query.
    pub fn encoded(&self) -> &[u8] {
        if self.is_post() { &self.form } else { self.uri.query().unwrap_or_default().as_bytes() }
    }

    /// Whether one of the issuer's own pages sent a form, judged by the browser's headers. Another site, also a
    /// sibling domain, can submit a form here with this browser's cookies, but it cannot change `Sec-Fetch-Site` and
    /// `Origin` (Fetch Metadata 2.3, RFC 6454 7.3).
    pub fn is_from_own_page(&self, issuer: &IssuerState) -> bool {
        let text = |name: &str| self.headers.get(name).and_then(|value| value.to_str().ok());
        match (text("sec-fetch-site"), text("origin")) {
            (Some(site), _) => site == "same-origin" || site == "none",
            (None, Some(origin)) => self.is_here(origin, issuer),
            (None, None) => true,
        }
    }

    /// Whether an origin is the issuer's, or the host that this request was sent to: an issuer may be reachable under
    /// several names.
    fn is_here(&self, origin: &str, issuer: &IssuerState) -> bool {
        let authority = |url: &str| url.split_once("://").map(|(_, rest)| rest.to_owned());
        let host = self.uri.authority().map(http::uri::Authority::as_str);
        let host = host.or_else(|| self.headers.get(http::header::HOST)?.to_str().ok());
        origin == issuer.origin() || (host.is_some() && authority(origin).as_deref() == host)
    }

    /// Whether the method is POST.
    pub fn is_post(&self) -> bool {
        self.method == Method::POST
    }

    /// Whether the body is read.
    fn has_body(&self) -> bool {
        self.is_post() || self.method == Method::PUT
    }
}

/// One request to an endpoint.
pub struct Call {
    /// The endpoint.
    pub endpoint: &'static Endpoint,
    /// The context of the request.
    pub context: Context,
    /// The request as received.
    pub received: Received,
    /// The wait until all that the request has read and written is durable. No answer leaves before it is over,
    /// refusals included.
    pub durable: Durable,
    /// The requesting client, as soon as it is known: for CORS, metrics and the error page.
    pub client: Option<Arc<Client>>,
    /// Whether it must be completed now; `None` but for pages of signing in and out, and forms of all pages.
    must_complete: Option<Arc<AtomicBool>>,
}

impl Endpoint {
    /// A segment of a path that is a name: `Endpoint::path` has it in place of the name.
    pub const NAMED: &'static str = "{name}";

    /// Answers a request.
    pub fn answer(&'static self, context: Context, request: Request<Body>) -> Answer {
        let (parts, body) = request.into_parts();
        let received = Received {
            method: parts.method,
            uri: parts.uri,
            headers: parts.headers,
            form: Bytes::new(),
            in_flight: None,
        };
        // Another provider sends people back to a sign-in page by GET, and applications send them to sign out.
        let is_of_session = matches!(self.label, telemetry::Endpoint::Login | telemetry::Endpoint::Logout);
        let may_change = self.failures == Failures::Page && (received.is_post() || is_of_session);
        let must_complete = may_change.then(Arc::<AtomicBool>::default);
        let completing = must_complete.clone().map(|flag| (context.app.clone(), flag));
        let durable = Durable::already();
        let mut call = Call { endpoint: self, context, received, durable, client: None, must_complete };
        RequestFacts::note_endpoint(self.label, self.path);
        let answering = async move {
            let handled = call.handle(body).await;
            // No answer leaves before all that it rests on is durable. A refusal waits like a success, because it too
            // reveals state that a crash could still undo.
            let handled = call.settle().await.and(handled);
            Ok(call.answer(handled))
        };
        match completing {
            Some((app, flag)) => Box::pin(app.detached.finish_if_it_must(flag, answering)),
            None => Box::pin(answering),
        }
    }

    /// The parameters of a request. A repeated parameter that must not be repeated is an error.
    ///
    /// # Errors
    /// `invalid_request`.
    pub fn params<'a>(&self, received: &'a Received) -> Result<Params<'a>, OAuthError> {
        let params = Params::parse(received.encoded())?;
        if let Some(repeatable) = self.repeatable {
            params.refuse_repeated(repeatable)?;
        }
        Ok(params)
    }
}

impl Call {
    async fn handle(&mut self, body: Body) -> Result<Response, Failure> {
        let Context { app, remote, is_forwarded, .. } = &self.context;
        // Connections from a proxy are the proxy's, so the limit per address counts the requests in flight instead.
        let _in_flight = if *is_forwarded { app.rate_limits.begin_forwarded(*remote)? } else { None };
        if self.endpoint.needs_lease {
            app.store.check_lease()?;
        }
        if let Limit::Address(class) = self.endpoint.limit {
            app.rate_limits.check_address(class, *remote, app.now())?;
        }
        let headers = &self.received.headers;
        if self.received.has_body() && (self.endpoint.form != Form::Optional || is_form(headers)) {
            let limits = self.context.form_limits();
            let in_flight = self.received.in_flight.insert(app.rate_limits.begin_body(*remote));
            self.received.form = match self.endpoint.form {
                Form::Json => read_json(headers, body, limits, in_flight).await?,
                Form::Required | Form::Optional => read_form(headers, body, limits, in_flight).await?,
            };
        }
        (self.endpoint.handler)(self).await
    }

    /// The response to an outcome that is durable.
    fn answer(&self, handled: Result<Response, Failure>) -> Response {
        let Self { endpoint, received, client, .. } = self;
        let mut response = handled.unwrap_or_else(|failure| self.refuse(failure));
        match endpoint.cors {
            Cors::None => {}
            Cors::Everybody => cors::allow_everybody(&mut response),
            Cors::Client => cors::allow(&received.headers, client.as_deref(), &mut response),
            Cors::LoginApi => {
                cors::allow_with_credentials(&received.headers, &self.context.issuer, &mut response);
            }
        }
        if let Some(client) = client {
            RequestFacts::new().client_id(client.client_id.as_str()).note();
        }
        response
    }

    /// The response to a failure, whose reason is noted.
    #[cold]
    fn refuse(&self, mut failure: Failure) -> Response {
        let Self { endpoint, context, received, client, .. } = self;
        if let Some(refusal) = failure.take_refusal() {
            // At these endpoints a client is known only once it is authenticated.
            let actor = match (client, endpoint.limit) {
                (Some(_), Limit::Client(_)) => Actor::Client,
                _ => Actor::Anonymous,
            };
            let client = client.as_deref().map(|client| &client.client_id);
            context.refused(RefusedRequest { refusal, client, actor, told: Some(failure.told()) });
        }
        match endpoint.failures {
            Failures::Json => {
                let is_resource = endpoint.path == path::USERINFO;
                let metadata = is_resource.then(|| userinfo_metadata_url(&context.issuer.url));
                failure.into_json_of(metadata.as_deref())
            }
            Failures::Page => failure.into_page(&ErrorAbout {
                headers: &received.headers,
                request_id: Some(context.id.to_string()),
                issuer_name: Some(context.issuer.display_name()),
                prefix: &context.issuer.prefix,
                language: self.language(),
                brand: Some(context.issuer.brand()),
                client: client.as_deref(),
                login_uri: client.as_deref().and_then(|client| login_address(client, &context.issuer.url)),
            }),
        }
    }

    /// The language of a page that answers this request: what the person has just chosen at the foot of a page, else of its
    /// `ui_locales` if it has some that can be read, or as the browser's headers say.
    pub fn language(&self) -> Language {
        let params = Params::parse(self.received.encoded()).ok();
        let ui_locales = params.as_ref().and_then(|params| params.get("ui_locales").ok().flatten());
        let other = || locale(&self.received.headers, &self.context.issuer, ui_locales);
        page_language(self.chosen_language().unwrap_or_else(other))
    }

    /// The language that the person has just chosen at the foot of a page.
    pub fn chosen_language(&self) -> Option<UiLocale> {
        let params = Params::parse(self.received.encoded()).ok()?;
        params.get("language").ok()?.and_then(UiLocale::lookup)
    }

    /// From now on the request is handled to its end even if the browser gives it up, as it does when a button is pressed again. To be
    /// called before what counts once is used up, and before the first write that a record or mail follows. It counts for pages of
    /// signing in and out, and for forms of all pages.
    pub fn must_complete(&self) {
        self.set_must_complete(true);
    }

    /// Ends [`must_complete`](Self::must_complete): nothing was used up, and nothing written.
    pub fn may_be_given_up(&self) {
        self.set_must_complete(false);
    }

    fn set_must_complete(&self, must: bool) {
        if let Some(flag) = &self.must_complete {
            flag.store(must, Ordering::Relaxed);
        }
    }

    /// Waits for all that the request has read and written so far.
    ///
    /// # Errors
    /// [`Failure`]: something could not be made durable.
    pub async fn settle(&mut self) -> Result<(), Failure> {
        Ok(std::mem::take(&mut self.durable).wait().await?)
    }
}
