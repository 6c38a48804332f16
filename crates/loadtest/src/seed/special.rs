//! Plants what the reports' mix needs beside valid tokens. What no provider would issue is signed here, with the
//! key that the target's test endpoint hands out, as the load scripts of the reports do; everything else comes
//! from real flows.

use std::sync::Arc;

use serde_json::{Value, json};
use symbolon_crypto::jws::EncodedHeader;
use symbolon_crypto::key::SigningKey;
use symbolon_crypto::{Algorithm, SecretString, SystemRandom, encoding, jws, random};

use super::plant::{CONNECTIONS, bulk_tokens, log_in, register, run_flow};
use super::{AccessToken, Client, ExchangedToken, FORM, SCOPE, Seed, SeedOptions, Service, Special, Steps};
use crate::admin::{self, Admin};
use crate::client::{Connection, Timeouts, request};
use crate::scenario::{ACCESS_TOKEN, Claims, EXCHANGE, RevokeVisitor, Visitor};
use crate::{LoadtestError, Target};

/// How many clients act for users.
const SERVICES: usize = 5;
/// What exchanged tokens are asked for.
const RESOURCES: [&str; 3] =
    ["https://api.example.com/gateway", "https://api.example.com/users", "https://api.example.com/payments"];
/// Whom the tokens of a wrong audience are meant for.
const OTHER_AUDIENCE: &str = "https://other-service.example.com";
/// Whom the tokens of a wrong client were issued to.
const OTHER_CLIENT: &str = "non-existent-client-id";

/// Adds everything to the seed, in about the proportions in which it is asked for.
pub(super) async fn plant(
    seed: Seed,
    users: &[Arc<str>],
    options: &SeedOptions,
    steps: &mut Steps<'_>,
) -> Result<Seed, LoadtestError> {
    let (many, few) = ((options.tokens / 5).max(1), (options.tokens / 10).max(1));
    let mut admin = Admin::connect(&seed.target).await?;
    let strict = json!({ "strictValidation": true, "expectedAudience": null });
    admin.replace(admin::INTROSPECTION, &strict).await?;
    let forge = Forge::get(&mut admin, &seed).await?;
    let services = create_services(&mut admin, &seed.client, options.session_seconds).await?;
    let wanted = (many, options.session_seconds);
    let doomed = bulk_tokens((&mut admin, &mut *steps), users, &seed.client, wanted).await?;
    drop(admin);
    let (seed, doomed) = match doomed {
        Some(doomed) => (seed, doomed),
        None => {
            let (seed, issued) = log_in(seed, many, &mut *steps).await?;
            (seed, issued.tokens)
        }
    };
    let (mut seed, revoked) = revoke(seed, doomed).await?;
    steps.done("of them revoked", revoked.len());
    let mut caller = Caller::connect(&seed.target).await?;
    forge.control(&mut caller, &seed, users).await?;
    let of = |count: usize| users.iter().cycle().take(count);
    let all = |count, claims: &dyn Fn(&str) -> Value| -> Result<Vec<Arc<str>>, LoadtestError> {
        of(count).map(|user_id| forge.sign(&claims(user_id))).collect()
    };
    let special = Special {
        expired: all(many, &|user_id| forge.claims(user_id, "exp", json!(forge.now.saturating_sub(3_600))))?,
        wrong_audience: all(few, &|user_id| forge.claims(user_id, "aud", json!(OTHER_AUDIENCE)))?,
        wrong_client: all(few, &|user_id| forge.claims(user_id, "client_id", json!(OTHER_CLIENT)))?,
        bad_signature: seed.tokens.iter().take(many).filter_map(|token| spoilt(&token.token)).collect(),
        revoked,
        exchanged: exchange(&mut caller, &seed, &services, few).await?,
        services,
    };
    steps.done("tokens of other kinds", special.len());
    seed.special = Some(special);
    Ok(seed)
}

/// Signs what no provider would issue.
struct Forge {
    key: SigningKey,
    header: EncodedHeader,
    issuer: String,
    client_id: String,
    /// The provider's time, in seconds since 1970, as its newest token tells it.
    now: u64,
    expires_at: u64,
}

impl Forge {
    async fn get(admin: &mut Admin<'_>, seed: &Seed) -> Result<Self, LoadtestError> {
        let answer = admin.show(admin::SIGNING_KEY).await?;
        let refused =
            |detail: String| LoadtestError::Refused { what: admin::SIGNING_KEY, status: 200, detail };
        let member = |name: &str| {
            answer
                .get(name)
                .and_then(Value::as_str)
                .ok_or_else(|| refused(format!("no {name} in the answer")))
        };
        let pem = SecretString::new(member("privatePEM")?.to_owned());
        let key = SigningKey::from_pkcs8_pem(Algorithm::Rs256, Some(member("kid")?), &pem)
            .map_err(|error| refused(error.to_string()))?;
        let newest = seed
            .tokens
            .last()
            .ok_or(LoadtestError::Unseeded { scenario: "introspect", what: "access tokens" })?;
        let claims = Claims::of(&newest.token).map_err(|wrong| refused(wrong.detail))?;
        Ok(Self {
            header: EncodedHeader::for_key(&key, Some("at+jwt")),
            key,
            issuer: seed.target.issuer.clone(),
            client_id: seed.client.id.clone(),
            now: claims.iat,
            expires_at: newest.expires_at,
        })
    }

    /// The claims of an access token (RFC 9068 2.2), all right but for the one named.
    fn claims(&self, user_id: &str, name: &str, value: Value) -> Value {
        let mut claims = json!({
            "iss": self.issuer,
            "sub": user_id,
            "aud": self.issuer,
            "client_id": self.client_id,
            "scope": SCOPE,
            "iat": self.now,
            "exp": self.expires_at,
            "jti": format!("at_{}", random::base64url::<32>(&SystemRandom)),
        });
        if let Some(claims) = claims.as_object_mut() {
            claims.insert(name.to_owned(), value);
        }
        claims
    }

    fn sign(&self, claims: &Value) -> Result<Arc<str>, LoadtestError> {
        let input = jws::signing_input(self.header.as_str(), claims.to_string().as_bytes());
        let signature =
            self.key.sign(input.as_bytes()).map_err(|_| LoadtestError::Crypto(self.key.algorithm()))?;
        Ok(jws::finish(input, &signature).into())
    }

    /// A token with nothing wrong about it must be taken: else the ones with one thing wrong would prove nothing.
    async fn control(
        &self,
        caller: &mut Caller<'_>,
        seed: &Seed,
        users: &[Arc<str>],
    ) -> Result<(), LoadtestError> {
        const WHAT: &str = "introspect a token signed with the test key";
        let path = seed.target.endpoints.introspect.as_deref();
        let path = path.ok_or(LoadtestError::Unseeded { scenario: "introspect", what: "an endpoint" })?;
        let user_id = users.first().map_or("", |user_id| user_id);
        let token = self.sign(&self.claims(user_id, "scope", SCOPE.into()))?;
        let answer = caller.post((WHAT, path), &seed.client, &[("token", &token)]).await?;
        if answer.get("active") == Some(&Value::Bool(true)) {
            return Ok(());
        }
        Err(LoadtestError::Refused { what: WHAT, status: 200, detail: answer.to_string() })
    }
}

/// The same token with one bit of the signature's first byte changed: well-formed, and no good.
fn spoilt(token: &str) -> Option<Arc<str>> {
    let (input, signature) = token.rsplit_once('.')?;
    let mut signature = encoding::decode(signature).ok()?;
    *signature.first_mut()? ^= 1;
    Some(format!("{input}.{}", encoding::encode(&signature)).into())
}

/// Revokes tokens that were good until now.
async fn revoke(seed: Seed, doomed: Vec<AccessToken>) -> Result<(Seed, Vec<Arc<str>>), LoadtestError> {
    let path = seed.target.endpoints.revoke.clone();
    let path =
        path.ok_or(LoadtestError::Unseeded { scenario: "introspect", what: "a revocation endpoint" })?;
    let tokens: Vec<Arc<str>> = doomed.into_iter().map(|token| token.token).collect();
    let shared = Arc::new(seed);
    let parts = tokens.chunks(tokens.len().div_ceil(CONNECTIONS).max(1));
    let visitors: Vec<_> = parts
        .map(|part| Box::new(RevokeVisitor::new(&shared, &path, part.to_vec())) as Box<dyn Visitor>)
        .collect();
    // One more per connection, for the turn that finds its part done.
    run_flow(&shared, "revoke tokens", tokens.len() + visitors.len(), visitors).await?;
    let seed = Arc::into_inner(shared);
    Ok((seed.ok_or_else(|| LoadtestError::Options("the seed is still in use".into()))?, tokens))
}

/// Services whose tokens name `presenter` in `aud`, so that it may present them as actor tokens.
async fn create_services(
    admin: &mut Admin<'_>,
    presenter: &Client,
    token_seconds: u64,
) -> Result<Vec<Service>, LoadtestError> {
    let audiences = [&*presenter.id];
    let target = admin.target();
    let mut caller = Caller::connect(target).await?;
    let mut services = Vec::with_capacity(SERVICES);
    for index in 0..SERVICES {
        let metadata = json!({
            "client_name": format!("Load test service {index}"),
            "redirect_uris": [],
            "grant_types": ["client_credentials"],
            "response_types": [],
            "token_endpoint_auth_method": "client_secret_basic",
            "access_token_audiences": audiences,
            "settings": { "access_token_lifetime": token_seconds },
        });
        let client = register(admin, &metadata).await?;
        let form = [("grant_type", "client_credentials")];
        let answer = caller.post(("service token", &target.endpoints.token), &client, &form).await?;
        services
            .push(Service { token: access_token("service token", &answer)?, client_id: client.id.into() });
    }
    Ok(services)
}

/// Exchanges tokens of the pool, each by the next service as actor and for the next resource. They stay meant for
/// the issuer too, or strict introspection would call them inactive.
async fn exchange(
    caller: &mut Caller<'_>,
    seed: &Seed,
    services: &[Service],
    count: usize,
) -> Result<Vec<ExchangedToken>, LoadtestError> {
    const WHAT: &str = "exchange tokens";
    let actors = services.iter().cycle().zip(RESOURCES.iter().cycle());
    let mut exchanged = Vec::with_capacity(count);
    for (subject, (service, resource)) in seed.tokens.iter().cycle().zip(actors).take(count) {
        let form = [
            ("grant_type", EXCHANGE),
            ("subject_token", &*subject.token),
            ("subject_token_type", ACCESS_TOKEN),
            ("actor_token", &*service.token),
            ("actor_token_type", ACCESS_TOKEN),
            ("requested_token_type", ACCESS_TOKEN),
            ("scope", SCOPE),
            ("audience", &*seed.target.issuer),
            ("resource", resource),
        ];
        let answer = caller.post((WHAT, &seed.target.endpoints.token), &seed.client, &form).await?;
        exchanged.push(ExchangedToken {
            token: access_token(WHAT, &answer)?,
            user_id: Arc::clone(&subject.user_id),
            actor: Arc::clone(&service.client_id),
            resource: (*resource).to_owned(),
        });
    }
    Ok(exchanged)
}

fn access_token(what: &'static str, answer: &Value) -> Result<Arc<str>, LoadtestError> {
    let token = answer.get("access_token").and_then(Value::as_str).map(Arc::from);
    token.ok_or(LoadtestError::Refused { what, status: 200, detail: "no access_token in the answer".into() })
}

/// Calls endpoints as a client, one request after another.
struct Caller<'a> {
    target: &'a Target,
    connection: Connection,
}

impl<'a> Caller<'a> {
    async fn connect(target: &'a Target) -> Result<Self, LoadtestError> {
        let connection = Connection::open(&target.peer, Timeouts::default()).await;
        Ok(Self { target, connection: connection.map_err(LoadtestError::http("seeding"))? })
    }

    /// Posts a form and reads the JSON of a 200 answer.
    async fn post(
        &mut self,
        (what, path): (&'static str, &str),
        client: &Client,
        form: &[(&str, &str)],
    ) -> Result<Value, LoadtestError> {
        if !self.connection.is_reusable() {
            let renewed = self.connection.renew(&self.target.peer, Timeouts::default()).await;
            renewed.map_err(LoadtestError::http(what))?;
        }
        let (mut body, mut bytes) = (Vec::new(), Vec::new());
        request::parameters(&mut body, form);
        let basic = client.basic();
        let fields = [FORM, ("authorization", &*basic)];
        request::with_body(&mut bytes, ("POST", path), &self.target.authority, &fields, &body);
        let response = self.connection.exchange(&bytes).await.map_err(LoadtestError::http(what))?;
        if response.status != 200 {
            return Err(LoadtestError::refused(what, response.status, response.body));
        }
        serde_json::from_slice(response.body)
            .map_err(|_| LoadtestError::refused(what, response.status, response.body))
    }
}
