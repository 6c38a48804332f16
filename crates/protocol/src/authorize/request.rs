//! Reading and checking an authorization request (OpenID Connect Core 3.1.2.1, 3.1.2.2).

use smol_str::SmolStr;

use super::claims_parameter::ClaimsParameter;
use super::response_mode::ResponseMode;
use crate::authorization_details::{self, AuthorizationDetails};
use crate::client::Client;
use crate::consent::Consent;
use crate::dpop::is_thumbprint;
use crate::encoded;
use crate::error::{ErrorCode, OAuthError};
use crate::id::{ClientId, UserId};
use crate::params::{self, Params};
use crate::pkce::{self, CodeChallenge};
use crate::redirect_uri;
use crate::refusal::{self, Details, Reason};
use crate::response_type::ResponseType;
use crate::scope::{self, OPENID, Scope};
use crate::security_profile::{self, Asked};
use crate::settings::IssuerSettings;
use crate::sign_in::acr::RequestedAcr;
use crate::token::resource;

/// The longest `nonce`, in bytes of its JSON form.
const MAX_NONCE: usize = 2048;

/// How many characters of a refused `redirect_uri` are shown.
const LONGEST_SHOWN: usize = 200;

/// The set in `prompt` (OpenID Connect Core 3.1.2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prompt {
    /// No page may be shown. Must not be combined with other values.
    pub none: bool,
    /// The person must sign in again.
    pub login: bool,
    /// The person must consent again.
    pub consent: bool,
    /// The person must choose one of the accounts that are signed in in the browser, or another one.
    pub select_account: bool,
}

impl Prompt {
    /// Every value, as discovery lists them.
    pub const VALUES: [&'static str; 4] = ["none", "login", "consent", "select_account"];

    /// Reads a `prompt`.
    ///
    /// # Errors
    /// `invalid_request` for `none` with another value, and for values that discovery does not list.
    pub fn parse(text: &str) -> Result<Self, OAuthError> {
        let mut prompt = Self::default();
        for value in text.split(' ').filter(|value| !value.is_empty()) {
            match value {
                "none" => prompt.none = true,
                "login" => prompt.login = true,
                "consent" => prompt.consent = true,
                "select_account" => prompt.select_account = true,
                // Initiating User Registration via OpenID Connect 4.1: a value that discovery does not list is an
                // error.
                _ => return Err(prompt_invalid("prompt has a value that is not supported", text)),
            }
        }
        // OpenID Connect Core 3.1.2.1: none with any other value is an error.
        if prompt.none && (prompt.login || prompt.consent || prompt.select_account) {
            return Err(prompt_invalid("prompt=none must stand alone", text));
        }
        Ok(prompt)
    }
}

fn prompt_invalid(description: &'static str, sent: &str) -> OAuthError {
    let details = Details::of("prompt").sent(sent).expected(Prompt::VALUES);
    OAuthError::invalid_request(Reason::PromptInvalid, description).about(details)
}

/// How the answer reaches the client, after client and redirect URI have been validated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReturnTo<'p> {
    /// The redirect URI as it was sent; it matches a registered one.
    pub redirect_uri: &'p str,
    /// The response mode.
    pub response_mode: ResponseMode,
    /// Returned unchanged (RFC 6749 4.1.2).
    pub state: Option<&'p str>,
}

/// Why an authorization request is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejection<'p> {
    /// The client or redirect URI is invalid: the error is a page with status 400, without a redirect (RFC 6749
    /// 4.1.2.1).
    Page(OAuthError),
    /// The client gets the error by redirect.
    Redirect(ReturnTo<'p>, OAuthError),
}

/// A valid authorization request, borrowed from its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorizationRequest<'p> {
    /// Where the answer goes.
    pub return_to: ReturnTo<'p>,
    /// What the answer has.
    pub response_type: ResponseType,
    /// The requested scope, and the scopes of the claims that are asked for by name, reduced to what the client may have; or the
    /// client's default. Never empty.
    pub scope: Scope,
    /// Copied into the ID token.
    pub nonce: Option<&'p str>,
    /// The S256 code challenge.
    pub code_challenge: Option<CodeChallenge>,
    /// The pages that the client wants or forbids.
    pub prompt: Prompt,
    /// The maximum age of the sign-in in seconds: the request's, else the client's default.
    pub max_age: Option<u64>,
    /// Prefills the login form.
    pub login_hint: Option<&'p str>,
    /// An ID token that names the expected user; not verified yet.
    pub id_token_hint: Option<&'p str>,
    /// The languages that the person prefers (BCP 47, separated by spaces).
    pub ui_locales: Option<&'p str>,
    /// The resources that the tokens are for (RFC 8707 2.1).
    pub resource: Vec<&'p str>,
    /// Whether the sign-in must have had a second factor, by the settings of issuer and client.
    pub needs_second_factor: bool,
    /// The classes of authentication that are asked for: the request's, else the client's default.
    pub acr: RequestedAcr,
    /// Whether one of these classes must be reached (OpenID Connect Core 5.5.1.1).
    pub acr_is_essential: bool,
    /// To whom and to what the answer is bound, and what it grants in detail. Boxed, because few requests say that, and the request is
    /// kept while the store is asked.
    bound_to: Option<Box<BoundTo>>,
}

/// To whom and to what an answer is bound, and what it grants in detail.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct BoundTo {
    dpop_jkt: Option<SmolStr>,
    sub: Option<SmolStr>,
    authorization_details: AuthorizationDetails,
    /// Whether the person is asked for some of the details each time.
    asks_always: bool,
}

impl BoundTo {
    fn boxed(self) -> Option<Box<Self>> {
        let is_said = self.dpop_jkt.is_some() || self.sub.is_some() || !self.authorization_details.is_empty();
        is_said.then(|| Box::new(self))
    }
}

/// The id of the client to load.
///
/// # Errors
/// `invalid_request`, shown as a page, because no redirect URI can be trusted.
pub fn client_id(params: &Params<'_>) -> Result<ClientId, OAuthError> {
    ClientId::parse(params.require("client_id")?).map_err(|_| unknown_client(None))
}

/// The error for an unknown `client_id`: a page with status 400.
pub fn unknown_client(named: Option<&ClientId>) -> OAuthError {
    let error = OAuthError::invalid_request(Reason::ClientUnknown, "client_id names no client");
    match named {
        Some(named) => error.about(Details::of("client_id").sent(named.as_str()).client(named)),
        None => error.about(Details::of("client_id")),
    }
}

impl AuthorizationRequest<'_> {
    /// The thumbprint of the key to which the code is bound (RFC 9449 10).
    pub fn dpop_jkt(&self) -> Option<&SmolStr> {
        self.bound_to.as_ref()?.dpop_jkt.as_ref()
    }

    /// The user whom the answer must be about: the claim `sub` with a value (OpenID Connect Core 5.5.1).
    pub fn sub(&self) -> Option<&str> {
        self.bound_to.as_ref()?.sub.as_deref()
    }

    /// The authorization details that are asked for (RFC 9396), each of which conforms to its type.
    pub fn authorization_details(&self) -> &AuthorizationDetails {
        static NONE: AuthorizationDetails = AuthorizationDetails::NONE;
        self.bound_to.as_ref().map_or(&NONE, |own| &own.authorization_details)
    }

    /// Whether a consent that was given before counts for these details.
    pub(super) fn details_are_allowed_by(&self, consent: &Consent) -> bool {
        self.bound_to.as_ref().is_none_or(|own| {
            !own.asks_always && consent.authorization_details.covers(&own.authorization_details)
        })
    }

    /// Puts the id of a user in the place of the name by which the client asks for them; `None`: a user whom nobody is.
    pub fn name(&mut self, user: Option<&UserId>) {
        if let Some(bound_to) = &mut self.bound_to {
            bound_to.sub = Some(user.map(|user| SmolStr::new(user.as_str())).unwrap_or_default());
        }
    }
}

impl<'p> AuthorizationRequest<'p> {
    /// Checks a request of the client named by [`client_id`], at an issuer with this URL and these settings.
    ///
    /// # Errors
    /// [`Rejection`]
    pub fn check(
        params: &'p Params<'_>,
        client: &Client,
        (issuer, settings): (&str, &IssuerSettings),
    ) -> Result<Self, Rejection<'p>> {
        let sent = Sent::read(params);
        // Until the redirect URI is known to be the client's, errors must not be redirected.
        let redirect_uri = redirect_uri(&sent, client).map_err(Rejection::Page)?;
        // RFC 6749 4.1.2.1: a redirected error must contain the state, and this one is too long for that.
        encoded::check_state(sent.state.value()).map_err(Rejection::Page)?;
        let return_to = ReturnTo {
            redirect_uri,
            response_mode: response_mode(&sent, redirect_uri).unwrap_or_else(|_| default_mode(&sent)),
            state: sent.state.value(),
        };
        // RFC 6749 3.1: parameters MUST NOT be included more than once; RFC 8707 2.1 allows it for resources.
        params
            .refuse_repeated(&["resource"])
            .and_then(|()| Self::check_trusted(&sent, return_to, client, settings))
            .and_then(|request| {
                let resource: Vec<&str> = params.get_all("resource").collect();
                if resource.len() > usize::from(settings.token_exchange_max_targets) {
                    let details = Details::of("resource");
                    let error =
                        OAuthError::invalid_request(Reason::ResourceTooMany, "too many resource parameters");
                    return Err(error.about(details));
                }
                resource::check((issuer, settings), client, &resource)?;
                Ok(Self { resource, ..request })
            })
            .map_err(|error| Rejection::Redirect(return_to, error))
    }

    /// The checks whose errors are redirected to the client, in order.
    fn check_trusted(
        sent: &Sent<'p>,
        return_to: ReturnTo<'p>,
        client: &Client,
        settings: &IssuerSettings,
    ) -> Result<Self, OAuthError> {
        let response_mode = response_mode(sent, return_to.redirect_uri)?;
        no_request_object(sent)?;
        let response_type = response_type(sent)?;
        may_request(client, response_type)?;
        let prompt = Prompt::parse(sent.prompt.value().unwrap_or_default())?;
        let max_age = max_age(sent, client)?;
        let nonce = nonce(sent)?;
        let scope = requested_scope(sent.scope.value(), client)?;
        let claims = claims(sent, &scope)?;
        let scope = match &claims {
            Some(claims) => claims.and_scope(scope, client, settings),
            None => scope,
        };
        if response_type.has_id_token() {
            id_token_can_be_issued(&scope, nonce)?;
        }
        let (has_openid, state) = (scope.contains(OPENID), return_to.state);
        security_profile::check_request(
            client,
            Asked { response_type, response_mode, has_openid, nonce, state },
        )?;
        let code_challenge =
            pkce::challenge(sent.code_challenge.value(), sent.code_challenge_method.value())?;
        // OpenID Connect Core 3.1.2.1: only a request with the scope `openid` gets an ID token, and so the nonce back.
        let compared = nonce.filter(|_| has_openid);
        let acr_of_claims = claims.as_ref().and_then(|claims| claims.acr);
        let acr = acr_of_claims.unwrap_or_else(|| requested_acr(sent, client));
        let acr_is_essential = claims.as_ref().is_some_and(|claims| claims.acr_is_essential);
        let authorization_details =
            authorization_details::requested(sent.authorization_details.value(), client, settings)?;
        let asks_always = !authorization_details.is_empty()
            && authorization_details::asks_always(&authorization_details, settings);
        let sub = claims.and_then(|claims| claims.sub);
        let bound_to = BoundTo { dpop_jkt: dpop_jkt(sent)?, sub, authorization_details, asks_always }.boxed();
        let policy = settings.pkce_for(&client.settings);
        if response_type.has_code() {
            pkce::check_protected(policy, client.client_type(), code_challenge.as_ref(), compared)?;
        }
        Ok(Self {
            return_to,
            response_type,
            scope,
            nonce,
            code_challenge,
            prompt,
            max_age,
            login_hint: sent.login_hint.value(),
            id_token_hint: sent.id_token_hint.value(),
            ui_locales: sent.ui_locales.value(),
            resource: Vec::new(),
            acr,
            acr_is_essential,
            bound_to,
            needs_second_factor: settings.second_factor_for(&client.settings).is_needed(acr),
        })
    }
}

/// A parameter and how often it was sent.
#[derive(Clone, Copy, Default)]
enum Given<'p> {
    #[default]
    Absent,
    Once(&'p str),
    Repeated(&'p str),
}

impl<'p> Given<'p> {
    /// The value, or the first of several.
    fn value(self) -> Option<&'p str> {
        match self {
            Self::Absent => None,
            Self::Once(value) | Self::Repeated(value) => Some(value),
        }
    }
}

macro_rules! recognised {
    ($($name:ident)*) => {
        /// The known parameters, found in one pass. Others are ignored (RFC 6749 3.1).
        #[derive(Default)]
        struct Sent<'p> {
            $($name: Given<'p>,)*
        }

        impl<'p> Sent<'p> {
            fn read(params: &'p Params<'_>) -> Self {
                let mut sent = Self::default();
                for (name, value) in params.iter() {
                    let slot = match name {
                        $(stringify!($name) => &mut sent.$name,)*
                        _ => continue,
                    };
                    *slot = match *slot {
                        Given::Absent => Given::Once(value),
                        Given::Once(first) | Given::Repeated(first) => Given::Repeated(first),
                    };
                }
                sent
            }
        }
    };
}

recognised! {
    client_id redirect_uri response_type response_mode scope state nonce prompt max_age login_hint
    id_token_hint ui_locales acr_values code_challenge code_challenge_method request request_uri registration
    dpop_jkt claims authorization_details
}

/// RFC 6749 3.1.2.3, RFC 9700 2.1: the redirect URI must be a registered one. It is required in every request, as
/// OpenID Connect Core 3.1.2.1 says.
fn redirect_uri<'p>(sent: &Sent<'p>, client: &Client) -> Result<&'p str, OAuthError> {
    if matches!(sent.client_id, Given::Repeated(_)) {
        return Err(params::repeated("client_id"));
    }
    let uri = match sent.redirect_uri {
        Given::Once(uri) => uri,
        Given::Absent => return Err(redirect_uri_missing(client)),
        Given::Repeated(_) => return Err(params::repeated("redirect_uri")),
    };
    if !redirect_uri::is_registered(&client.redirect_uris, uri, &client.redirect_uri_forms) {
        return Err(not_registered(uri, client));
    }
    Ok(uri)
}

fn redirect_uri_missing(client: &Client) -> OAuthError {
    let registered = client.redirect_uris.iter().map(String::as_str);
    OAuthError::invalid_request(Reason::RedirectUriMissing, "redirect_uri is missing")
        .about(Details::of("redirect_uri").registered(registered))
}

/// The error contains the URI, because whoever configured the client needs to see what it sends. It is shown to
/// people, so it is shortened, and reduced to the characters of an `error_description` (RFC 6749 4.1.2.1).
fn not_registered(uri: &str, client: &Client) -> OAuthError {
    let is_shown = |c: char| matches!(c, ' '..='~') && c != '"' && c != '\\';
    let shown: String = uri.chars().map(|c| if is_shown(c) { c } else { '?' }).take(LONGEST_SHOWN).collect();
    let description = format!("redirect_uri is not registered for this client: {shown}");
    let (registered, difference) = refusal::closest(&client.redirect_uris, uri);
    let details = Details::of("redirect_uri").sent_uri(uri).registered(registered);
    OAuthError::with(ErrorCode::InvalidRequest, Reason::RedirectUriNotRegistered, description)
        .about(details.differing(difference.as_deref()))
}

/// The response mode without a `response_mode` parameter: fragment for response types that return tokens, and for
/// their errors (RFC 6749 4.2.2.1, OAuth 2.0 Multiple Response Types 5). A client that requests such a type looks for the
/// error in the fragment, also where the type is not supported.
fn default_mode(sent: &Sent<'_>) -> ResponseMode {
    let asked = sent.response_type.value().unwrap_or_default();
    match asked.split(' ').any(|part| matches!(part, "token" | "id_token")) {
        true => ResponseMode::Fragment,
        false => ResponseMode::Query,
    }
}

/// The requested response mode. Only an http or https URI can receive a form (OAuth 2.0 Form Post Response Mode 2).
fn response_mode(sent: &Sent<'_>, redirect_uri: &str) -> Result<ResponseMode, OAuthError> {
    let default = default_mode(sent);
    let Some(text) = sent.response_mode.value() else { return Ok(default) };
    let refused = |reason, description, expected: &[&'static str]| {
        let details = Details::of("response_mode").sent(text).expected(expected.iter().copied());
        Err(OAuthError::invalid_request(reason, description).about(details))
    };
    match ResponseMode::parse(text, default) {
        Some(mode) if mode.is_form_post() && redirect_uri::origin(redirect_uri).is_none() => {
            let error = OAuthError::invalid_request(
                Reason::ResponseModeNeedsHttp,
                "response_mode=form_post needs a redirect_uri of http or https",
            );
            Err(error.about(Details::of("redirect_uri").sent_uri(redirect_uri)))
        }
        // OAuth 2.0 Multiple Response Types 3 and 5, JARM 2.3.1: tokens MUST NOT be returned in the query, which servers
        // log and browsers send on as the referrer.
        Some(mode) if mode.is_query() && default == ResponseMode::Fragment => refused(
            Reason::ResponseModeShowsTokens,
            "the query must not be used where response_type has token or id_token",
            &["fragment", "form_post", "fragment.jwt", "form_post.jwt"],
        ),
        Some(mode) => Ok(mode),
        None => refused(
            Reason::ResponseModeUnsupported,
            "response_mode must be query, fragment or form_post, or one of these with .jwt",
            &ResponseMode::VALUES,
        ),
    }
}

/// OpenID Connect Core 3.1.2.6, 6: unsupported parameters are refused with their own error codes. Whoever calls has replaced a
/// request object by its parameters, and the reference to a pushed request by the request.
fn no_request_object(sent: &Sent<'_>) -> Result<(), OAuthError> {
    let refused = [
        (sent.request, "request", ErrorCode::RequestNotSupported, "request objects are not supported"),
        (sent.request_uri, "request_uri", ErrorCode::RequestUriNotSupported, "request_uri is not supported"),
        (
            sent.registration,
            "registration",
            ErrorCode::RegistrationNotSupported,
            "registration is not supported",
        ),
    ];
    match refused.into_iter().find(|(given, ..)| given.value().is_some()) {
        Some((_, name, code, description)) => {
            let error = OAuthError::new(code, Reason::RequestParameterUnsupported, description);
            Err(error.about(Details::of(name)))
        }
        None => Ok(()),
    }
}

fn response_type(sent: &Sent<'_>) -> Result<ResponseType, OAuthError> {
    let expected = || ResponseType::ALL.map(ResponseType::as_str);
    let Some(text) = sent.response_type.value() else {
        return Err(OAuthError::invalid_request(Reason::ParameterMissing, "response_type is missing")
            .about(Details::of("response_type").expected(expected())));
    };
    ResponseType::parse(text).ok_or_else(|| {
        let description = "response_type must be code, or a combination of OpenID Connect with id_token";
        OAuthError::new(ErrorCode::UnsupportedResponseType, Reason::ResponseTypeUnsupported, description)
            .about(Details::of("response_type").sent(text).expected(expected()))
    })
}

/// RFC 6749 4.1.2.1, 4.2.2.1: the client is registered for other response types, or, as one without users, is not authorized to
/// request any. FAPI 1.0 Advanced 5.2.2-2 is kept by what a client registers.
fn may_request(client: &Client, asked: ResponseType) -> Result<(), OAuthError> {
    let own = client.response_types();
    if own.contains(&asked) {
        return Ok(());
    }
    let description = "the client is not registered for this response_type";
    let details = Details::of("response_type").sent(asked.as_str()).client(&client.client_id);
    let code = match own.is_empty() {
        true => ErrorCode::UnauthorizedClient,
        false => ErrorCode::UnsupportedResponseType,
    };
    Err(OAuthError::new(code, Reason::ResponseTypeNotRegistered, description)
        .about(details.registered(own.iter().map(|own| own.as_str()))))
}

/// OpenID Connect Core 3.2.2.1: an ID token from the authorization endpoint needs the scope `openid`, and a `nonce` that ties it
/// to the client's own request, because anybody could have sent the browser to the client with it.
fn id_token_can_be_issued(scope: &Scope, nonce: Option<&str>) -> Result<(), OAuthError> {
    let (reason, parameter, description) = match (scope.contains(OPENID), nonce) {
        (true, Some(_)) => return Ok(()),
        (true, None) => (Reason::NonceMissing, "nonce", "nonce is required where response_type has id_token"),
        (false, _) => {
            (Reason::ScopeLacksOpenid, "scope", "a response_type with id_token needs openid among the scopes")
        }
    };
    Err(OAuthError::invalid_request(reason, description).about(Details::of(parameter)))
}

/// OpenID Connect Registration 2: `max_age` overrides `default_max_age`.
fn max_age(sent: &Sent<'_>, client: &Client) -> Result<Option<u64>, OAuthError> {
    match sent.max_age.value() {
        None => Ok(client.default_max_age),
        Some(text) => text.parse().map(Some).map_err(|_| {
            OAuthError::invalid_request(Reason::MaxAgeMalformed, "max_age must be a number of seconds")
                .about(Details::of("max_age").sent(text))
        }),
    }
}

/// OpenID Connect Registration 2: `acr_values` overrides `default_acr_values`.
fn requested_acr(sent: &Sent<'_>, client: &Client) -> RequestedAcr {
    RequestedAcr::requested(sent.acr_values.value(), client.default_acr_values)
}

/// The claims that are asked for by name. Without `openid` it is no request of OpenID Connect, which has the parameter.
fn claims(sent: &Sent<'_>, scope: &Scope) -> Result<Option<ClaimsParameter>, OAuthError> {
    match sent.claims.value() {
        Some(text) => Ok(Some(ClaimsParameter::parse(text)?).filter(|_| scope.contains(OPENID))),
        None => Ok(None),
    }
}

fn nonce<'p>(sent: &Sent<'p>) -> Result<Option<&'p str>, OAuthError> {
    match sent.nonce.value() {
        Some(nonce) if !encoded::fits_json(nonce, MAX_NONCE) => {
            Err(OAuthError::invalid_request(Reason::NonceTooLong, "nonce is longer than 2048 bytes"))
        }
        nonce => Ok(nonce),
    }
}

/// RFC 9449 10: the thumbprint of the key with which the client will redeem the code.
fn dpop_jkt(sent: &Sent<'_>) -> Result<Option<SmolStr>, OAuthError> {
    match sent.dpop_jkt.value() {
        None => Ok(None),
        Some(jkt) if is_thumbprint(jkt) => Ok(Some(SmolStr::new(jkt))),
        Some(jkt) => {
            let description = "dpop_jkt must be a SHA-256 thumbprint in base64url";
            Err(OAuthError::invalid_request(Reason::DpopJktMalformed, description)
                .about(Details::of("dpop_jkt").sent(jkt)))
        }
    }
}

/// RFC 6749 3.3: without `scope` the request is processed with a pre-defined default. Scopes that the client has not
/// registered are dropped; if none is left, that is an error. Whether `offline_access` stays is decided later.
pub(crate) fn requested_scope(sent: Option<&str>, client: &Client) -> Result<Scope, OAuthError> {
    let (asked, reason, why) = match sent {
        None => (
            client.default_scope(),
            Reason::ScopeMissing,
            "scope is missing, and no registered scope can stand in for it",
        ),
        Some(text) => (
            Scope::parse(text).map_err(|_| scope::malformed(text))?.intersection(&client.scope),
            Reason::ScopeNotRegistered,
            "scope names nothing that this client has registered",
        ),
    };
    if asked.is_empty() {
        let details = Details::of("scope").sent(sent.unwrap_or_default());
        let details = details.registered([client.scope.as_str()]);
        return Err(scope::invalid(reason, why, &client.scope).about(details));
    }
    Ok(asked)
}
