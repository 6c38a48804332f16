//! Plants a seed, step by step.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use symbolon_crypto::password::PasswordPolicy;
use symbolon_crypto::{Algorithm, SecretString, SystemRandom, random};

use super::{
    AccessToken, Client, CodePool, Family, SCOPE, Seed, Session, Steps, TokenFormat, User, passkeys, special,
};
use crate::admin::{self, Admin};
use crate::executor::{Closed, Until, closed};
use crate::scenario::{Claims, CodeVisitor, Issued, Mix, SilentVisitor, Visitor};
use crate::{LoadtestError, Target, clock};

/// Connections for the flows that seeding goes through.
pub(super) const CONNECTIONS: usize = 16;
/// Where the client's answers go; nobody listens there.
const REDIRECT_URI: &str = "https://localhost:3000/callback";

/// How much to plant.
#[derive(Clone, Debug)]
pub struct SeedOptions {
    /// Users, each with one session.
    pub users: usize,
    /// Access tokens, dealt out over the users.
    pub tokens: usize,
    /// Refresh-token families, dealt out over the users.
    pub families: usize,
    /// Users with a passkey, besides the others. They need the target's test endpoints.
    pub passkeys: usize,
    /// How long the sessions and the access tokens live, in seconds.
    pub session_seconds: u64,
    /// What access and ID tokens are to be signed with; `None` leaves it to the provider.
    pub algorithm: Option<Algorithm>,
    /// Which mix the seed is for. [`Mix::Report`] makes the target's introspection strict: a token must name the
    /// issuer in `aud`, and its client must exist.
    pub mix: Mix,
}

impl Default for SeedOptions {
    fn default() -> Self {
        Self {
            users: 500,
            tokens: 1_000,
            families: 256,
            passkeys: 0,
            session_seconds: 7_200,
            algorithm: None,
            mix: Mix::Pure,
        }
    }
}

#[derive(Serialize)]
struct NewUser<'a> {
    email: String,
    name: String,
    email_verified: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    password_hash: Option<&'a str>,
}

#[derive(Deserialize)]
struct CreatedUser {
    user: UserId,
}

#[derive(Deserialize)]
struct UserId {
    id: Arc<str>,
}

#[derive(Serialize)]
struct NewSession<'a> {
    user_id: &'a str,
    ttl_seconds: u64,
}

#[derive(Deserialize)]
struct CreatedSession {
    session_id: Arc<str>,
    cookie_value: Option<String>,
}

impl CreatedSession {
    /// The name in `name=value; attributes`, where there is such a member.
    fn cookie_name(&self) -> Option<String> {
        let (name, _) = self.cookie_value.as_ref()?.split_once('=')?;
        Some(name.trim().to_owned())
    }
}

#[derive(Serialize)]
struct NewToken<'a> {
    user_id: &'a str,
    client_id: &'a str,
    scope: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl_seconds: Option<u64>,
}

#[derive(Deserialize)]
struct CreatedToken {
    access_token: Arc<str>,
}

#[derive(Deserialize)]
struct CreatedFamily {
    refresh_token: Arc<str>,
}

/// Plants everything and says how it goes on `progress`.
///
/// # Errors
/// Whatever the target refuses; tokens that are signed with another algorithm than asked for are
/// [`LoadtestError::Options`].
pub async fn plant(
    target: Target,
    options: &SeedOptions,
    progress: &mut (dyn Write + Send),
) -> Result<Seed, LoadtestError> {
    let started = clock::now();
    let mut steps = Steps::new(&mut *progress);
    let mut admin = Admin::connect(&target).await?;
    let client = create_client(&mut admin, options.algorithm).await?;
    let password = SecretString::new(random::base64url::<16>(&SystemRandom));
    let people = create_users((&mut admin, &mut steps), options.users, &password).await?;
    let users: Vec<_> = people.iter().map(|user| Arc::clone(&user.id)).collect();
    let (sessions, cookie) =
        create_sessions((&mut admin, &mut steps), &users, options.session_seconds).await?;
    let cookie = match (cookie, users.first()) {
        (None, Some(user_id)) => told_cookie(&mut admin, user_id).await,
        (cookie, _) => cookie,
    };
    let cookie = cookie.unwrap_or_else(|| default_cookie(&target));
    let wanted = (options.tokens, options.session_seconds);
    let tokens = bulk_tokens((&mut admin, &mut steps), &users, &client, wanted).await?;
    let families = bulk_families((&mut admin, &mut steps), &users, &client, options.families).await?;
    drop(admin);
    let seed = Seed {
        target,
        client,
        cookie,
        users: people,
        password,
        passkeys: Vec::new(),
        sessions,
        tokens: Vec::new(),
        families: Vec::new(),
        codes: CodePool::default(),
        algorithm: Algorithm::Rs256,
        access_tokens: TokenFormat::Jwt,
        families_in_use: false,
        special: None,
        seen: Arc::default(),
    };
    let missing_tokens = if tokens.is_none() { options.tokens } else { 0 };
    let missing_families = if families.is_none() { options.families } else { 0 };
    // One login at least is gone through for real, so that the flows are known to work before the run.
    let logins = missing_tokens.max(missing_families).max(1);
    let (mut seed, issued) = log_in(seed, logins, &mut steps).await?;
    steps.done("logins", logins);
    // What came from logins may live shorter than what bulk calls gave, so the two are not mixed.
    seed.tokens = tokens.unwrap_or(issued.tokens);
    seed.families = families.unwrap_or(issued.families);
    seed.algorithm = issued_algorithm(&seed, options.algorithm)?;
    if options.mix == Mix::Report {
        seed = special::plant(seed, &users, options, &mut steps).await?;
    }
    if options.passkeys > 0 {
        seed = passkeys::plant(seed, options.passkeys, &mut steps).await?;
    }
    writeln!(
        progress,
        "seeded {} users, {} sessions, {} access tokens, {} refresh families in {:.1} s",
        users.len(),
        seed.sessions.len(),
        seed.tokens.len(),
        seed.families.len(),
        clock::now().saturating_duration_since(started).as_secs_f64(),
    )?;
    Ok(seed)
}

async fn create_client(admin: &mut Admin<'_>, algorithm: Option<Algorithm>) -> Result<Client, LoadtestError> {
    let mut body = json!({
        "client_name": "Load test",
        "redirect_uris": [REDIRECT_URI],
        "grant_types": [
            "authorization_code",
            "refresh_token",
            "client_credentials",
            "urn:ietf:params:oauth:grant-type:token-exchange",
        ],
        "response_types": ["code"],
        "scope": SCOPE,
        "token_endpoint_auth_method": "client_secret_basic",
        "skip_consent": true,
        "token_exchange_allowed": true,
    });
    if let (Some(algorithm), Some(members)) = (algorithm, body.as_object_mut()) {
        for member in ["id_token_signed_response_alg", "access_token_signed_response_alg"] {
            members.insert(member.into(), algorithm.as_str().into());
        }
    }
    register(admin, &body).await
}

/// Creates a client from its metadata.
pub(super) async fn register(admin: &mut Admin<'_>, metadata: &Value) -> Result<Client, LoadtestError> {
    let answer = admin.create(admin::CLIENTS, metadata).await?;
    let member = |name: &str| -> Result<String, LoadtestError> {
        answer.pointer(&format!("/client/{name}")).and_then(Value::as_str).map(str::to_owned).ok_or_else(
            || LoadtestError::Refused {
                what: admin::CLIENTS,
                status: 201,
                detail: format!("no {name} in the answer"),
            },
        )
    };
    Ok(Client {
        id: member("client_id")?,
        secret: SecretString::new(member("client_secret")?),
        redirect_uri: REDIRECT_URI.to_owned(),
    })
}

/// Users who share one password. Its hash is made here and once: hashing is slow on purpose, and the target would
/// need minutes for thousands of them.
async fn create_users(
    (admin, steps): (&mut Admin<'_>, &mut Steps<'_>),
    count: usize,
    password: &SecretString,
) -> Result<Vec<User>, LoadtestError> {
    let hash = PasswordPolicy::default().hash(password, &SystemRandom);
    let hash = hash.map_err(|error| LoadtestError::Options(error.to_string()))?.to_text();
    create_people((admin, steps), "users", count.max(1), Some(&hash)).await
}

/// Users with this hash of a password, or without one.
pub(super) async fn create_people(
    (admin, steps): (&mut Admin<'_>, &mut Steps<'_>),
    what: &str,
    count: usize,
    hash: Option<&str>,
) -> Result<Vec<User>, LoadtestError> {
    let run = random::token_128(&SystemRandom).to_lowercase();
    let new: Vec<_> = (0..count)
        .map(|index| NewUser {
            email: format!("load-{run}-{index}@loadtest.invalid"),
            name: format!("Load Test {index}"),
            email_verified: true,
            password_hash: hash,
        })
        .collect();
    let paths = (admin::USERS_BULK, admin::USERS);
    let created = admin.bulk_or_each::<_, CreatedUser>(paths, &new, (&mut *steps, what)).await?;
    steps.done(what, new.len());
    let user =
        |(created, new): (CreatedUser, NewUser<'_>)| User { id: created.user.id, username: new.email.into() };
    Ok(created.into_iter().zip(new).map(user).collect())
}

/// One session per user, and the cookie's name if the answers tell it.
async fn create_sessions(
    (admin, steps): (&mut Admin<'_>, &mut Steps<'_>),
    users: &[Arc<str>],
    ttl_seconds: u64,
) -> Result<(Vec<Session>, Option<String>), LoadtestError> {
    let new: Vec<_> = users.iter().map(|user_id| NewSession { user_id, ttl_seconds }).collect();
    let paths = (admin::SESSIONS_BULK, admin::TEST_SESSIONS);
    let created = admin.bulk_or_each::<_, CreatedSession>(paths, &new, (steps, "sessions")).await?;
    steps.done("sessions", new.len());
    let cookie = created.first().and_then(CreatedSession::cookie_name);
    let session = |(created, user_id): (CreatedSession, &Arc<str>)| Session {
        id: created.session_id,
        user_id: Arc::clone(user_id),
    };
    Ok((created.into_iter().zip(users).map(session).collect(), cookie))
}

/// The cookie's name as the test endpoints tell it with a session of its own; none where they are off.
async fn told_cookie(admin: &mut Admin<'_>, user_id: &str) -> Option<String> {
    let session = json!({ "user_id": user_id, "ttl_seconds": 60 });
    let created = admin.create(admin::TEST_SESSIONS, &session).await.ok()?;
    serde_json::from_value::<CreatedSession>(created).ok()?.cookie_name()
}

/// The cookie's name where the target does not tell it, as Symbolon's is where nobody changed it: prefixed on https, and with
/// the id of an issuer that is not the default one.
fn default_cookie(target: &Target) -> String {
    let prefix = if target.issuer.starts_with("https://") { "__Host-" } else { "" };
    let suffix = target.admin.issuer_id().map(|id| format!("_{id}")).unwrap_or_default();
    format!("{prefix}symbolon_session{suffix}")
}

/// `count` requests, dealt out over the users.
fn dealt<'a>(
    users: &'a [Arc<str>],
    client: &'a Client,
    count: usize,
    ttl_seconds: Option<u64>,
) -> (Vec<NewToken<'a>>, impl Iterator<Item = &'a Arc<str>>) {
    let new = users.iter().cycle().take(count);
    let new = new.map(|user_id| NewToken { user_id, client_id: &client.id, scope: SCOPE, ttl_seconds });
    (new.collect(), users.iter().cycle())
}

/// So many access tokens that live for so many seconds; none where the target has no such call.
pub(super) async fn bulk_tokens(
    (admin, steps): (&mut Admin<'_>, &mut Steps<'_>),
    users: &[Arc<str>],
    client: &Client,
    (count, ttl_seconds): (usize, u64),
) -> Result<Option<Vec<AccessToken>>, LoadtestError> {
    let (new, users) = dealt(users, client, count, Some(ttl_seconds));
    let created = admin.bulk::<_, CreatedToken>(admin::TOKENS_BULK, &new, (steps, "access tokens")).await?;
    let Some(created) = created else { return Ok(None) };
    steps.done("access tokens", created.len());
    let token = |(created, user_id): (CreatedToken, &Arc<str>)| -> Result<_, LoadtestError> {
        let claims = Claims::of(&created.access_token).map_err(|wrong| LoadtestError::Refused {
            what: admin::TOKENS_BULK,
            status: 201,
            detail: wrong.detail,
        })?;
        let user_id = Arc::clone(user_id);
        Ok(AccessToken { token: created.access_token, user_id, expires_at: claims.exp })
    };
    created.into_iter().zip(users).map(token).collect::<Result<_, _>>().map(Some)
}

/// So many refresh-token families; none where the target has no such call.
pub(super) async fn bulk_families(
    (admin, steps): (&mut Admin<'_>, &mut Steps<'_>),
    users: &[Arc<str>],
    client: &Client,
    count: usize,
) -> Result<Option<Vec<Family>>, LoadtestError> {
    let (new, users) = dealt(users, client, count, None);
    let telling = (&mut *steps, "refresh families");
    let created = admin.bulk::<_, CreatedFamily>(admin::FAMILIES_BULK, &new, telling).await?;
    if let Some(created) = &created {
        steps.done("refresh families", created.len());
    }
    Ok(created.map(|created| {
        let family = |(created, user_id): (CreatedFamily, &Arc<str>)| Family {
            refresh_token: created.refresh_token,
            user_id: Arc::clone(user_id),
        };
        created.into_iter().zip(users).map(family).collect()
    }))
}

/// Goes through `count` logins by silent request and code, in parts, so that no code expires on the way.
pub(super) async fn log_in(
    seed: Seed,
    count: usize,
    steps: &mut Steps<'_>,
) -> Result<(Seed, Issued), LoadtestError> {
    const PART: usize = 2_000;
    let keep = Arc::new(Mutex::new(Issued::default()));
    let shared = Arc::new(seed);
    let mut left = count;
    while left > 0 {
        let part = left.min(PART);
        left -= part;
        harvest_codes(&shared, part).await?;
        let connections = CONNECTIONS.min(part);
        let visitors = (0..connections)
            .map(|_| Box::new(CodeVisitor::new(&shared, Some(Arc::clone(&keep)))) as Box<dyn Visitor>)
            .collect();
        // One more per connection, for the turn that finds the pool empty.
        run_flow(&shared, "redeem codes", part + connections, visitors).await?;
        steps.at("logins", count - left, count);
    }
    let issued = std::mem::take(&mut *keep.lock().unwrap_or_else(PoisonError::into_inner));
    let seed =
        Arc::into_inner(shared).ok_or_else(|| LoadtestError::Options("the seed is still in use".into()))?;
    Ok((seed, issued))
}

/// Fills the pool of codes by silent requests.
///
/// # Errors
/// [`LoadtestError::Refused`] when any of them is not answered with a code.
pub async fn harvest_codes(seed: &Arc<Seed>, count: usize) -> Result<(), LoadtestError> {
    seed.codes.clear();
    let visitors = (0..CONNECTIONS.min(count))
        .map(|index| {
            let visitor = SilentVisitor::new(seed, index, Some(seed.codes.clone()));
            visitor.map(|visitor| Box::new(visitor) as Box<dyn Visitor>)
        })
        .collect::<Result<_, _>>()
        .map_err(|what| LoadtestError::Unseeded { scenario: "code", what })?;
    run_flow(seed, "obtain codes", count, visitors).await
}

/// Runs visitors off the caller's runtime; anything but right answers is an error.
pub(super) async fn run_flow(
    seed: &Arc<Seed>,
    what: &'static str,
    requests: usize,
    visitors: Vec<Box<dyn Visitor>>,
) -> Result<(), LoadtestError> {
    let until = Until::Requests(u64::try_from(requests).unwrap_or(u64::MAX));
    let options = Closed { load: seed.target.load(), until };
    let outcome = tokio::task::spawn_blocking(move || closed(&options, visitors))
        .await
        .map_err(|_| LoadtestError::Interrupted)??;
    if outcome.tally.is_clean() {
        return Ok(());
    }
    let tally = outcome.tally;
    let failures = format!("{} requests failed {:?}", tally.failures_total(), tally.failures);
    Err(LoadtestError::Refused { what, status: 0, detail: tally.first_wrong().unwrap_or(failures) })
}

/// The algorithm that the tokens are really signed with.
fn issued_algorithm(seed: &Seed, wanted: Option<Algorithm>) -> Result<Algorithm, LoadtestError> {
    let token = seed.tokens.first().map_or("", |token| &*token.token);
    let algorithm = Claims::algorithm(token)
        .ok_or_else(|| LoadtestError::Options("the target's access tokens are not signed JWTs".into()))?;
    match wanted {
        Some(wanted) if wanted != algorithm => Err(LoadtestError::Options(format!(
            "asked for tokens signed with {}, the target signs with {}",
            wanted.as_str(),
            algorithm.as_str()
        ))),
        _ => Ok(algorithm),
    }
}
