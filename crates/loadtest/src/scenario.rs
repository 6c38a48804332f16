//! Scenarios: what is asked, and what each answer must say.

mod answer;
mod authorization;
mod client_credentials;
mod code;
mod cookies;
mod discovery;
mod exchange;
mod introspect;
mod issued;
mod journey;
mod login;
mod login_api;
mod medley;
mod mix;
mod offer;
mod own;
mod page;
mod redirect;
mod refresh;
mod revoke;
mod silent;
mod userinfo;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::LoadtestError;
use crate::client::Response;
use crate::seed::{Family, Seed};

pub(crate) use answer::{Claims, TokenAnswer};
pub(crate) use code::CodeVisitor;
pub(crate) use discovery::DiscoveryVisitor;
pub(crate) use exchange::{ACCESS_TOKEN, GRANT as EXCHANGE};
pub(crate) use issued::{Issued, Keep};
pub(crate) use journey::{JourneyPlan, JourneyUsers, Step, Think};
pub(crate) use login_api::{RegistrationVisitor, origin};
pub(crate) use medley::Medley;
pub(crate) use mix::Deck;
pub use mix::Mix;
pub use own::OwnScenarios;
pub(crate) use revoke::RevokeVisitor;
pub(crate) use silent::SilentVisitor;

/// What a visitor does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The request is written.
    Send,
    /// There is nothing left to ask.
    Exhausted,
}

/// An answer that says what it must.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Right {
    /// How many signed tokens it carries: what the provider had to sign for it.
    pub signatures: u32,
}

/// An answer that says something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// What is wrong, to count by.
    pub kind: &'static str,
    /// What it was, for one example in the report; never a token.
    pub detail: String,
}

impl Wrong {
    /// A wrong answer.
    pub fn new(kind: &'static str, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into() }
    }
}

/// One connection's side of a scenario. It remembers what it asked until the answer is there.
pub trait Visitor: Send {
    /// Appends the next request to `out`, which is empty.
    fn next_request(&mut self, out: &mut Vec<u8>) -> Next;

    /// Told before the first request of an arrival of which it is known what it asks, by its number: from a list, or of a mixture
    /// ([`Ask::Request`](crate::executor::Ask::Request)).
    fn arrives(&mut self, _asks: u32) {}

    /// Judges the answer to the last request.
    ///
    /// # Errors
    /// [`Wrong`] when it does not say what it must.
    fn check(&mut self, response: &Response<'_>) -> Result<Right, Wrong>;

    /// Which kind of request the last one was, in a scenario that mixes several: each is counted on its own too.
    fn kind(&self) -> &'static str {
        ""
    }

    /// Of a journey's user, after each step that was counted and whether it was right: how long the user thinks before the next
    /// one, or none when the journey is over.
    fn think(&mut self, _right: bool) -> Option<Duration> {
        None
    }

    /// The refresh-token families that it holds, with their newest tokens, once it asks no more. Not the one of a request
    /// that was never answered: nobody knows whether its token was used.
    fn give_back(&mut self) -> Vec<Family> {
        Vec::new()
    }

    /// Asked after a right answer: whether the visitor has more to ask before what it does counts as one request,
    /// whose latency is then that of the whole.
    fn goes_on(&self) -> bool {
        false
    }

    /// Asked before an answer is judged: which step the last request is of what counts as one. Each has latencies of its own,
    /// from its sending to its answer. Empty where one request is all.
    fn step(&self) -> &'static str {
        ""
    }
}

/// The scenarios by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scenario {
    /// `GET /authorize` with `prompt=none`, a session and PKCE.
    Silent,
    /// `GET /userinfo`.
    Userinfo,
    /// `POST /introspect`, of active access tokens or with the reports' mix.
    Introspect,
    /// `POST /token` by token exchange (RFC 8693), of valid tokens or with the reports' mix.
    Exchange,
    /// `POST /token` by refresh token, with rotation.
    Refresh,
    /// `POST /token` by authorization code, codes obtained beforehand.
    Code,
    /// `POST /token` by client credentials.
    ClientCredentials,
    /// A full login by password, from `GET /authorize` without a session to the tokens, counted as one request.
    #[serde(alias = "login-password")]
    Login,
    /// A full login by a code that was sent by e-mail, through the login API; the code is read at the test endpoint.
    LoginEmailCode,
    /// A full login by passkey, through the login API, with a software authenticator.
    LoginPasskey,
    /// `GET /.well-known/openid-configuration` and the key set, in turn.
    Discovery,
}

impl Scenario {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Discovery,
        Self::Silent,
        Self::Userinfo,
        Self::Introspect,
        Self::Exchange,
        Self::ClientCredentials,
        Self::Refresh,
        Self::Code,
        Self::Login,
        Self::LoginEmailCode,
        Self::LoginPasskey,
    ];

    /// Those whose cost can be told. A password's hash takes as much as a machine is told to spend on it.
    pub fn operations() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|scenario| *scenario != Self::Login)
    }

    /// Whether each of its requests is a whole login, which brings tokens and a session.
    pub const fn is_login(self) -> bool {
        matches!(self, Self::Login | Self::LoginEmailCode | Self::LoginPasskey)
    }

    /// Its name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Silent => "silent",
            Self::Userinfo => "userinfo",
            Self::Introspect => "introspect",
            Self::Exchange => "exchange",
            Self::Refresh => "refresh",
            Self::Code => "code",
            Self::ClientCredentials => "client-credentials",
            Self::Login => "login",
            Self::LoginEmailCode => "login-email-code",
            Self::LoginPasskey => "login-passkey",
            Self::Discovery => "discovery",
        }
    }

    /// Whether it can be asked with other tokens than valid ones.
    pub(crate) const fn has_mixes(self) -> bool {
        matches!(self, Self::Introspect | Self::Exchange)
    }

    /// The mix to load a provider with: the reports', or the pure one where the seed has nothing but valid tokens, as
    /// those of other providers do. None for a scenario with one kind of request.
    pub fn mix(self, seed: &Seed) -> Option<Mix> {
        self.has_mixes().then_some(if seed.special.is_some() { Mix::Report } else { Mix::Pure })
    }

    /// The visitors for `connections` connections; fewer where the seed has not so many refresh-token families.
    /// [`Mix::Report`] needs a seed that was planted for it.
    ///
    /// # Errors
    /// [`LoadtestError::Unseeded`] when the seed or the target lacks something.
    pub fn visitors(
        self,
        seed: &Arc<Seed>,
        connections: usize,
        mix: Mix,
    ) -> Result<Vec<Box<dyn Visitor>>, LoadtestError> {
        let connections = match self {
            Self::Refresh => seed.rotating(connections),
            _ => connections,
        };
        (0..connections).map(|index| self.visitor(seed, (index, connections), mix, None)).collect()
    }

    /// The visitor of this number of so many. `keep` receives what a user gets who goes on with it: codes go into the seed's
    /// own pool then.
    pub(crate) fn visitor(
        self,
        seed: &Arc<Seed>,
        (index, of): (usize, usize),
        mix: Mix,
        keep: Option<&Keep>,
    ) -> Result<Box<dyn Visitor>, LoadtestError> {
        let codes = keep.map(|_| seed.codes.clone());
        let keep = keep.cloned();
        let made: Result<Box<dyn Visitor>, &'static str> = match self {
            Self::Silent => SilentVisitor::new(seed, index, codes).map(|v| Box::new(v) as _),
            Self::Userinfo => userinfo::UserinfoVisitor::new(seed, index).map(|v| Box::new(v) as _),
            Self::Introspect => {
                introspect::IntrospectVisitor::new(seed, index, mix).map(|v| Box::new(v) as _)
            }
            Self::Exchange => exchange::ExchangeVisitor::new(seed, index, mix).map(|v| Box::new(v) as _),
            Self::Refresh => {
                refresh::RefreshVisitor::new(seed, (index % of.max(1), of), keep).map(|v| Box::new(v) as _)
            }
            Self::Code => Ok(Box::new(CodeVisitor::new(seed, keep))),
            Self::ClientCredentials => Ok(Box::new(client_credentials::ClientCredentialsVisitor::new(seed))),
            Self::Login => login::LoginVisitor::new(seed, index, keep).map(|v| Box::new(v) as _),
            Self::LoginEmailCode => login_api::email_code(seed, index, keep),
            Self::LoginPasskey => login_api::passkey(seed, index, keep),
            Self::Discovery => discovery::DiscoveryVisitor::new(seed, index).map(|v| Box::new(v) as _),
        };
        made.map_err(|what| LoadtestError::Unseeded { scenario: self.name(), what })
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Scenario {
    type Err = LoadtestError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        // A login was by password before there were others.
        let name = if name == "login-password" { Self::Login.name() } else { name };
        Self::ALL.into_iter().find(|scenario| scenario.name() == name).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|scenario| scenario.name()).collect();
            LoadtestError::Options(format!("no scenario {name}; there are {}", names.join(", ")))
        })
    }
}

/// Picks at random, repeatably: SplitMix64. Nothing secret depends on it.
pub(crate) struct Picker(u64);

impl Picker {
    pub(crate) fn new(seed: usize) -> Self {
        Self(u64::try_from(seed).unwrap_or(0))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// At least 0, less than 1.
    pub(crate) fn fraction(&mut self) -> f64 {
        // The 53 digits that a double has.
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Exponentially distributed, 1 in the mean.
    pub(crate) fn exponential(&mut self) -> f64 {
        -(1.0 - self.fraction()).ln()
    }

    /// An index below `len`, or 0 for an empty list.
    pub(crate) fn index(&mut self, len: usize) -> usize {
        let len = u64::try_from(len).unwrap_or(1).max(1);
        usize::try_from(self.next() % len).unwrap_or(0)
    }
}
