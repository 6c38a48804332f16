//! The columns of the table of endpoints, and what every endpoint does alike.
//!
//! A row says how an endpoint is called and answered. [`Endpoint::answer`] does all of it, in one order: the node's lease,
//! the limit per address, the form, the handler, the wait for durability, failures as JSON or as a page, CORS, figures. A
//! handler does its own work and nothing of this.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, Method, Request, Uri};
use symbolon_protocol::client::Client;
use symbolon_protocol::error::OAuthError;
use symbolon_protocol::params::MAX_LENGTH;
use symbolon_protocol::params::Params;
use symbolon_store::Durable;

use super::failure::ErrorAbout;
use super::{Context, Failure, cors, is_form, read_form};
use crate::issuer::IssuerState;
use crate::rate_limit::{BodyInFlight, EndpointClass};
use symbolon_telemetry::{self as telemetry, RequestFacts};

/// The longest body of an endpoint that takes none: nothing of one is read.
pub const NO_BODY: usize = 0;
/// The longest form, in bytes: as long as parameters may be at all.
pub const FORM: usize = MAX_LENGTH;

/// One endpoint: a row of the table.
pub struct Endpoint {
    /// The path below the issuer.
    pub path: &'static str,
    /// The methods that it takes. `HEAD` is among them only where a `GET` changes nothing (RFC 9110 9.2.1).
    pub methods: &'static [Method],
    /// The `endpoint` label of its figures.
    pub label: telemetry::Endpoint,
    /// Whom its requests count against.
    pub limit: Limit,
    /// Whether a POST must be a form.
    pub form: Form,
    /// The longest body that it takes, in bytes.
    pub longest_body: usize,
    /// The parameters that may come several times; all others are refused (RFC 6749 3.2). None where the rule that reads
    /// the request says it itself, because its refusal goes to the client by redirect.
    pub repeatable: Option<&'static [&'static str]>,
    /// Whether it answers only while the store's node holds its lease: what it reads decides about tokens.
    pub needs_lease: bool,
    /// Which pages of other origins may read the answer.
    pub cors: Cors,
    /// How failures are told.
    pub failures: Failures,
    /// What it does.
    pub handler: Handler,
}

/// Whom the requests of an endpoint count against.
#[derive(Clone, Copy)]
pub enum Limit {
    /// Nobody.
    None,
    /// The address, before anything else is done.
    Address(EndpointClass),
    /// The client once it is authenticated, and the address where nobody is. The handler knows when.
    Client(EndpointClass),
}

/// What a POST must bring.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A form; any other type is refused.
    Required,
    /// A form or nothing: a body of any other type is not read.
    Optional,
}

/// Which pages of other origins may read the answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Cors {
    /// None: it is called by servers, or shown to people.
    None,
    /// All: it is the same for everybody.
    Everybody,
    /// The client's own: those of its redirect URIs, and the origins that it registered.
    Client,
}

/// How failures are told.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Failures {
    /// As JSON (RFC 6749 5.2).
    Json,
    /// As a page, where the browser prefers one.
    Page,
}

/// The answer of an endpoint's own work.
pub(crate) type Handling<'a> = Pin<Box<dyn Future<Output = Result<Response, Failure>> + Send + 'a>>;

/// An endpoint's own work.
pub type Handler = for<'a> fn(&'a mut Call) -> Handling<'a>;

/// The answer of an endpoint.
pub type Answer = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

/// What was sent.
pub struct Received {
    /// The method.
    pub method: Method,
    /// The target.
    pub uri: Uri,
    /// The headers.
    pub headers: HeaderMap,
    /// The form of a POST; empty without one.
    pub form: Bytes,
    /// The bytes of the form, which count until the request is answered.
    in_flight: Option<BodyInFlight>,
}

impl Received {
    /// The parameters, form-encoded: those of the form of a POST, else those of the query.
    pub fn encoded(&self) -> &[u8] {
        if self.is_post() { &self.form } else { self.uri.query().unwrap_or_default().as_bytes() }
    }

    /// Whether a form was sent by one of our own pages, as far as the browser says. A page of another site, a sibling
    /// domain's too, can send a form here with this browser's cookies, but cannot say that it did not (Fetch Metadata 2.3,
    /// RFC 6454 7.3).
    pub fn is_from_own_page(&self, issuer: &IssuerState) -> bool {
        let text = |name: &str| self.headers.get(name).and_then(|value| value.to_str().ok());
        match (text("sec-fetch-site"), text("origin")) {
            (Some(site), _) => site == "same-origin" || site == "none",
            (None, Some(origin)) => self.is_here(origin, issuer),
            (None, None) => true,
        }
    }

    /// Whether an origin is the issuer's, or what this very request was sent to: an issuer may be called by several names.
    fn is_here(&self, origin: &str, issuer: &IssuerState) -> bool {
        let authority = |url: &str| url.split_once("://").map(|(_, rest)| rest.to_owned());
        let issuer = issuer.url.strip_suffix(issuer.prefix.as_str()).unwrap_or(&issuer.url);
        let host = self.uri.authority().map(http::uri::Authority::as_str);
        let host = host.or_else(|| self.headers.get(http::header::HOST)?.to_str().ok());
        origin == issuer || (host.is_some() && authority(origin).as_deref() == host)
    }

    /// Whether it is a POST.
    pub fn is_post(&self) -> bool {
        self.method == Method::POST
    }
}

/// One request to an endpoint.
pub struct Call {
    /// The endpoint.
    pub endpoint: &'static Endpoint,
    /// What the request is about.
    pub context: Context,
    /// What was sent.
    pub received: Received,
    /// The wait for all that the request has read and written. Its only owner: no answer leaves before, refusals neither.
    pub durable: Durable,
    /// The client that asks, as soon as it is known: for CORS, figures and the error page.
    pub client: Option<Arc<Client>>,
}

impl Endpoint {
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
        let mut call = Call { endpoint: self, context, received, durable: Durable::already(), client: None };
        RequestFacts::note_endpoint(self.label, self.path);
        Box::pin(async move {
            let handled = call.handle(body).await;
            Ok(call.answer(handled).await)
        })
    }

    /// The parameters of a request, without those that come several times and may not.
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
        // Where a proxy stands between, connections are the proxy's: so requests in flight are counted.
        let _in_flight = if *is_forwarded { app.rate_limits.begin_forwarded(*remote)? } else { None };
        if self.endpoint.needs_lease {
            app.store.check_lease()?;
        }
        if let Limit::Address(class) = self.endpoint.limit {
            app.rate_limits.check_address(class, *remote, app.now())?;
        }
        let headers = &self.received.headers;
        if self.received.is_post() && (self.endpoint.form == Form::Required || is_form(headers)) {
            let limits = self.context.body_limits(self.endpoint.longest_body);
            let in_flight = self.received.in_flight.insert(app.rate_limits.begin_body(*remote));
            self.received.form = read_form(headers, body, limits, in_flight).await?;
        }
        (self.endpoint.handler)(self).await
    }

    /// The answer, once all that it rests on is durable. A refusal waits like a success: it tells as much of what was
    /// read, and a crash could still undo that.
    async fn answer(self, handled: Result<Response, Failure>) -> Response {
        let Self { endpoint, context, received, durable, client } = self;
        let handled = match durable.wait().await {
            Ok(()) => handled,
            Err(lost) => Err(lost.into()),
        };
        let mut response = handled.unwrap_or_else(|failure| match endpoint.failures {
            Failures::Json => failure.into_json(),
            Failures::Page => failure.into_page(&ErrorAbout {
                headers: &received.headers,
                request_id: Some(context.id.to_string()),
                issuer_name: Some(context.issuer.display_name().to_owned()),
                prefix: &context.issuer.prefix,
                client: client.as_deref(),
            }),
        });
        match endpoint.cors {
            Cors::None => {}
            Cors::Everybody => cors::allow_everybody(&mut response),
            Cors::Client => cors::allow(&received.headers, client.as_deref(), &mut response),
        }
        if let Some(client) = &client {
            RequestFacts::new().client_id(client.client_id.as_str()).note();
        }
        response
    }

    /// Waits for all that the request has read and written so far.
    ///
    /// # Errors
    /// [`Failure`]: it could not be made durable.
    pub async fn settle(&mut self) -> Result<(), Failure> {
        Ok(std::mem::take(&mut self.durable).wait().await?)
    }
}
