//! Several generators of one load: an agent on each machine, and a coordinator that deals the load out and adds up what they
//! counted.
//!
//! Arrival `i` of a schedule goes to agent `i mod n`, so that all together send exactly what one generator would. Agents
//! hand over what they counted every second, every histogram bucket by bucket: the sum is that of one generator, and of an
//! agent that is lost everything stays that it had handed over.
//!
//! Coordinator and agents know each other by a shared secret (`docs/decisions/031-agents-know-each-other-by-a-secret.md`).

mod agent;
mod channel;
mod clocks;
mod course;
mod deal;
mod follow;
mod frame;
mod gather;
mod link;
mod message;
mod secret;
#[cfg(test)]
mod tests;

use std::net::{IpAddr, ToSocketAddrs};
use std::time::Duration;

pub use agent::{Agent, AgentOptions};
pub(crate) use deal::{Whereto, scenario};
pub(crate) use gather::{Begun, Gathered};
pub(crate) use link::Agents;
pub use secret::AgentsSecret;

use crate::LoadtestError;

/// Whoever is silent for so long is gone.
const SILENCE: Duration = Duration::from_secs(5);
/// How often both sides say that they are there.
const HEARTBEAT: Duration = Duration::from_secs(1);
/// How long connecting, encrypting and proving may take, all together.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// The agents of a load.
pub struct AgentsOptions {
    addresses: Vec<String>,
    secret: AgentsSecret,
}

impl AgentsOptions {
    /// Agents by `HOST:PORT`, and the secret that they have too.
    ///
    /// # Errors
    /// [`LoadtestError::Options`]: none is named, one is named twice, or one has no port.
    pub fn new(addresses: Vec<String>, secret: AgentsSecret) -> Result<Self, LoadtestError> {
        let refused = |reason: String| Err(LoadtestError::Options(reason));
        if addresses.is_empty() {
            return refused("agents: name one at least, as HOST:PORT".into());
        }
        for (place, address) in addresses.iter().enumerate() {
            let port = address.rsplit_once(':').and_then(|(host, port)| {
                port.parse::<u16>().ok().filter(|port| *port > 0 && !host.is_empty())
            });
            if port.is_none() {
                return refused(format!("agent {address}: write HOST:PORT, for instance 10.0.0.2:7400"));
            }
            if addresses.iter().take(place).any(|other| other == address) {
                return refused(format!("agent {address} is named twice"));
            }
        }
        Ok(Self { addresses, secret })
    }

    /// Whether all of them are on this machine, by their addresses, and so reach a provider that listens on loopback.
    pub(crate) fn are_on_loopback(&self) -> bool {
        let is_loopback = |address: &String| {
            let mut found = address.to_socket_addrs().ok().into_iter().flatten().peekable();
            found.peek().is_some() && found.all(|address| IpAddr::is_loopback(&address.ip()))
        };
        self.addresses.iter().all(is_loopback)
    }
}
