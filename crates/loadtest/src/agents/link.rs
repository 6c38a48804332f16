//! A coordinator's connections to its agents.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Instant;

use symbolon_crypto::encoding;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_rustls::TlsStream;

use super::message::{Answer, Hello, PROTOCOL, SOFTWARE, ToAgent, ToCoordinator};
use super::secret::Side;
use super::{AgentsOptions, AgentsSecret, HANDSHAKE, HEARTBEAT, SILENCE, channel, frame};
use crate::{LoadtestError, clock};

/// The agents of a load, connected.
pub(crate) struct Agents {
    pub(super) links: Vec<Link>,
    /// What the agents say, with the agent's place in `links`.
    pub(super) events: UnboundedReceiver<(usize, Event)>,
    /// On a thread of its own: whatever the coordinator is busy with, its agents hear that it is there.
    runtime: Option<Runtime>,
}

/// One agent.
pub(super) struct Link {
    pub(super) address: String,
    pub(super) out: UnboundedSender<ToAgent>,
    /// Why it is gone.
    pub(super) lost: Option<String>,
}

/// What is heard from an agent.
pub(super) enum Event {
    /// It said something, at this time.
    Said(Box<ToCoordinator>, Instant),
    /// It is gone.
    Lost(String),
}

impl Agents {
    /// Connects to all of them.
    ///
    /// # Errors
    /// [`LoadtestError::Agent`]: one cannot be reached, has another secret, speaks another version, or is busy.
    pub(crate) async fn connect(
        options: &Arc<AgentsOptions>,
        progress: &mut (dyn Write + Send),
    ) -> Result<Self, LoadtestError> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let (heard, events) = unbounded_channel();
        let mut agents = Self { links: Vec::new(), events, runtime: Some(runtime) };
        for (place, address) in options.addresses.iter().enumerate() {
            let (asked, options) = (address.clone(), Arc::clone(options));
            let greeting = agents.spawn(async move { greet(&asked, &options.secret).await })?;
            let failed = |reason: String| LoadtestError::Agent { address: address.clone(), reason };
            let stream = greeting.await.map_err(|_| LoadtestError::Interrupted)?.map_err(failed)?;
            let (reading, writing) = tokio::io::split(stream);
            let (out, queue) = unbounded_channel();
            let heard = heard.clone();
            agents.spawn(listen(place, reading, heard))?;
            agents.spawn(write(writing, queue))?;
            agents.links.push(Link { address: address.clone(), out, lost: None });
        }
        let count = agents.links.len();
        writeln!(progress, "{count} agent{} ready", if count == 1 { " is" } else { "s are" })?;
        Ok(agents)
    }

    fn spawn<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> Result<tokio::task::JoinHandle<T>, LoadtestError> {
        let runtime = self.runtime.as_ref().ok_or(LoadtestError::Interrupted)?;
        Ok(runtime.spawn(task))
    }

    /// Says something to an agent. One that is gone hears nothing.
    pub(super) fn say(&self, place: usize, message: ToAgent) {
        if let Some(link) = self.links.get(place).filter(|link| link.lost.is_none()) {
            // The writer is gone only when the connection is, which is heard as an event.
            drop(link.out.send(message));
        }
    }

    /// The same to all of them.
    pub(super) fn say_to_all(&self, message: impl Fn() -> ToAgent) {
        (0..self.links.len()).for_each(|place| self.say(place, message()));
    }

    /// The next thing that is heard of an agent. A loss is noted.
    pub(super) async fn heard(&mut self) -> Result<(usize, Event), LoadtestError> {
        let (place, event) = self.events.recv().await.ok_or(LoadtestError::Interrupted)?;
        if let (Event::Lost(reason), Some(link)) = (&event, self.links.get_mut(place)) {
            link.lost.get_or_insert_with(|| reason.clone());
        }
        Ok((place, event))
    }

    /// The address of an agent.
    pub(super) fn address(&self, place: usize) -> String {
        self.links.get(place).map(|link| link.address.clone()).unwrap_or_default()
    }

    /// Sends all agents away, and waits until they have gone, so that the next coordinator finds them free.
    pub(crate) async fn end(mut self) {
        self.say_to_all(|| ToAgent::Goodbye);
        let leaving = async {
            while self.links.iter().any(|link| link.lost.is_none()) && self.heard().await.is_ok() {}
        };
        // One that does not go is left behind.
        let _ = tokio::time::timeout(SILENCE, leaving).await;
    }
}

impl Drop for Agents {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// What an error of a connection means.
pub(super) fn reason(error: &io::Error) -> String {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    match error.kind() {
        UnexpectedEof | ConnectionReset | ConnectionAborted | BrokenPipe => {
            "the connection was closed".into()
        }
        _ => error.to_string(),
    }
}

/// Connects to an agent; both sides prove themselves.
async fn greet(address: &str, secret: &AgentsSecret) -> Result<TlsStream<TcpStream>, String> {
    let late = || format!("it did not answer within {} s", HANDSHAKE.as_secs());
    let greeted = tokio::time::timeout(HANDSHAKE, greet_at_leisure(address, secret)).await;
    greeted.map_err(|_| late())?
}

async fn greet_at_leisure(address: &str, secret: &AgentsSecret) -> Result<TlsStream<TcpStream>, String> {
    let told = |error: io::Error| reason(&error);
    let stream = TcpStream::connect(address).await.map_err(|error| format!("cannot connect: {error}"))?;
    let connector = channel::connector().map_err(told)?;
    let (mut stream, binding) = channel::connect(&connector, stream).await.map_err(|error| {
        format!("it is no agent of this version, or closed the connection: {}", reason(&error))
    })?;
    let proof = encoding::encode(&secret.proof(Side::Coordinator, &binding));
    let hello = Hello { protocol: PROTOCOL, software: SOFTWARE.into(), proof };
    frame::write(&mut stream, &hello, frame::FIRST).await.map_err(told)?;
    match frame::read(&mut stream, frame::FIRST).await.map_err(told)? {
        Answer::Welcome { proof } => {
            let proof = encoding::decode(&proof).unwrap_or_default();
            if secret.is_proof(Side::Agent, &binding, &proof) {
                Ok(stream)
            } else {
                Err("who answers there does not know the secret".into())
            }
        }
        Answer::WrongSecret => {
            Err("it has another secret: --agents-secret-file must be its --secret-file".into())
        }
        Answer::Busy { with } => Err(format!("it is busy with the coordinator at {with}")),
        Answer::OtherProtocol { protocol, software } => Err(format!(
            "it speaks version {protocol} of the agents' protocol ({software}), and this program version {PROTOCOL} \
             ({SOFTWARE}): run the same program on both"
        )),
    }
}

/// Hands on what an agent says, until it is gone.
async fn listen(place: usize, mut reading: impl AsyncRead + Unpin, heard: UnboundedSender<(usize, Event)>) {
    loop {
        let read = frame::read(&mut reading, frame::TO_COORDINATOR).await;
        let now = clock::now();
        let event = match read {
            Ok(ToCoordinator::Alive) => continue,
            Ok(message) => Event::Said(Box::new(message), now),
            Err(error) => Event::Lost(reason(&error)),
        };
        let last = matches!(event, Event::Lost(_));
        if heard.send((place, event)).is_err() || last {
            return;
        }
    }
}

/// Sends what is in the queue, and says now and then that the coordinator is there.
async fn write(
    mut writing: impl AsyncWrite + Unpin,
    mut queue: UnboundedReceiver<ToAgent>,
) -> io::Result<()> {
    loop {
        let message = match tokio::time::timeout(HEARTBEAT, queue.recv()).await {
            Err(_) => ToAgent::Alive,
            Ok(None) => return Ok(()),
            Ok(Some(message)) => message,
        };
        frame::write(&mut writing, &message, frame::TO_AGENT).await?;
    }
}
