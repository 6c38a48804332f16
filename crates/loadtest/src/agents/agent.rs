//! The agent: waits for a coordinator, runs its part of the load, and waits for the next.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError, mpsc as std_mpsc};
use std::time::{Duration, Instant};

use rustls::ClientConfig;
use socket2::{Domain, Protocol, Socket, Type};
use symbolon_crypto::encoding;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use super::channel::{self, Bound};
use super::follow::{self, Following, Outgoing};
use super::message::{Answer, Clocks, Hello, Job, PROTOCOL, SOFTWARE, ToAgent, ToCoordinator};
use super::secret::{AgentsSecret, Side};
use super::{HANDSHAKE, HEARTBEAT, frame, link};
use crate::executor::Stop;
use crate::{LoadtestError, clock};

/// Connections that wait to be taken up, in the operating system.
const BACKLOG: i32 = 16;
/// Connections that have not proved themselves, at most. The others wait.
const UNPROVED: usize = 4;
/// The pause before a wrong secret is answered, during which its connection keeps its place among [`UNPROVED`]: four guesses in
/// this time at most, whoever guesses.
const PAUSE: Duration = Duration::from_secs(1);

/// What an agent needs.
pub struct AgentOptions {
    /// Where it waits for coordinators.
    pub listen: SocketAddr,
    /// What it has in common with them.
    pub secret: AgentsSecret,
    /// Whom to trust where the target of a load is `https`.
    pub trust: Option<Arc<ClientConfig>>,
}

/// An agent that listens.
pub struct Agent {
    listener: TcpListener,
    options: AgentOptions,
}

/// What all connections of an agent share.
struct Shared {
    secret: AgentsSecret,
    trust: Option<Arc<ClientConfig>>,
    acceptor: TlsAcceptor,
    places: Arc<Semaphore>,
    /// The coordinator that has it.
    busy: Mutex<Option<String>>,
    /// Ends the load that runs.
    stop: Mutex<Stop>,
    /// Lines for whoever looks on.
    lines: UnboundedSender<String>,
    /// The zero of [`Clocks::monotonic`].
    origin: Instant,
}

impl Agent {
    /// Listens.
    ///
    /// # Errors
    /// The address cannot be had.
    pub fn bind(options: AgentOptions) -> Result<Self, LoadtestError> {
        let bind = || -> io::Result<TcpListener> {
            let socket = Socket::new(Domain::for_address(options.listen), Type::STREAM, Some(Protocol::TCP))?;
            socket.set_reuse_address(true)?;
            socket.bind(&options.listen.into())?;
            socket.listen(BACKLOG)?;
            socket.set_nonblocking(true)?;
            Ok(socket.into())
        };
        let listener = bind().map_err(|error| {
            LoadtestError::Options(format!("cannot listen on {}: {error}", options.listen))
        })?;
        Ok(Self { listener, options })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// The operating system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves one coordinator after the other until `until` is ready; blocks the calling thread, which must not be one of an
    /// asynchronous runtime. Says on `progress` who comes and what becomes of it. A load that runs at the end is stopped.
    ///
    /// # Errors
    /// The operating system refuses a runtime or the listener.
    pub fn serve(
        self,
        progress: &mut (dyn Write + Send),
        until: impl Future<Output = ()>,
    ) -> Result<(), LoadtestError> {
        crate::run::on_a_runtime(self.serve_on_a_runtime(progress, until))
    }

    async fn serve_on_a_runtime(
        self,
        progress: &mut (dyn Write + Send),
        until: impl Future<Output = ()>,
    ) -> Result<(), LoadtestError> {
        let listener = tokio::net::TcpListener::from_std(self.listener)?;
        let (lines, mut told) = unbounded_channel();
        let shared = Arc::new(Shared {
            secret: self.options.secret,
            trust: self.options.trust,
            acceptor: channel::acceptor()?,
            places: Arc::new(Semaphore::new(UNPROVED)),
            busy: Mutex::default(),
            stop: Mutex::default(),
            lines,
            origin: clock::now(),
        });
        tokio::pin!(until);
        loop {
            tokio::select! {
                () = &mut until => break,
                // Where nobody reads, the agent goes on.
                Some(line) = told.recv() => drop(writeln!(progress, "{line}")),
                came = next_connection(&listener, &shared.places) => {
                    if let Some((stream, address, place)) = came {
                        tokio::spawn(Arc::clone(&shared).meet(stream, address, place));
                    }
                }
            }
        }
        shared.stop.lock().unwrap_or_else(PoisonError::into_inner).stop();
        Ok(())
    }
}

/// An agent is its coordinator's as long as this lives.
struct Held<'a>(&'a Shared);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        *self.0.busy.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// The next connection, once there is a place for it.
async fn next_connection(
    listener: &tokio::net::TcpListener,
    places: &Arc<Semaphore>,
) -> Option<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let place = Arc::clone(places).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, address)) => Some((stream, address, place)),
        Err(_) => {
            // Too many open files, for instance: a moment later there may be fewer.
            tokio::time::sleep(Duration::from_millis(100)).await;
            None
        }
    }
}

impl Shared {
    fn tell(&self, line: String) {
        // Nobody listens any more only at the end.
        drop(self.lines.send(line));
    }

    fn clocks(&self) -> Clocks {
        Clocks { monotonic: clock::now().saturating_duration_since(self.origin), wall: clock::wall() }
    }

    /// Lets a coordinator prove itself, and serves it unless there is another one.
    async fn meet(self: Arc<Self>, stream: TcpStream, address: SocketAddr, place: OwnedSemaphorePermit) {
        let proved = tokio::time::timeout(HANDSHAKE, self.prove(stream, address)).await;
        drop(place);
        let (stream, held) = match proved {
            Ok(Ok(Some(proved))) => proved,
            Ok(Ok(None)) => return,
            Ok(Err(error)) => return self.tell(format!("{address}: {}", link::reason(&error))),
            Err(_) => return self.tell(format!("{address}: it did not prove itself in time")),
        };
        self.tell(format!("coordinator {address} is here"));
        let ended = Session::new(&self).serve(stream).await;
        drop(held);
        self.tell(match ended {
            Ok(()) => format!("coordinator {address} is done"),
            Err(error) => format!("coordinator {address} is lost: {}", link::reason(&error)),
        });
    }

    /// The stream, where the other side proved itself and nobody else has this agent; it is then that coordinator's.
    async fn prove(
        &self,
        stream: TcpStream,
        address: SocketAddr,
    ) -> io::Result<Option<(tokio_rustls::TlsStream<TcpStream>, Held<'_>)>> {
        let mut held = None;
        let (mut stream, binding): Bound = channel::accept(&self.acceptor, stream).await?;
        let hello: Hello = frame::read(&mut stream, frame::FIRST).await?;
        let proof = encoding::decode(&hello.proof).unwrap_or_default();
        let answer = if hello.protocol != PROTOCOL {
            self.tell(format!("{address} speaks version {} ({}), and this is {PROTOCOL}", hello.protocol, {
                // It is not proved who this is: a short and plain version is shown.
                let plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
                hello.software.chars().filter(plain).take(20).collect::<String>()
            }));
            Answer::OtherProtocol { protocol: PROTOCOL, software: SOFTWARE.into() }
        } else if !self.secret.is_proof(Side::Coordinator, &binding, &proof) {
            self.tell(format!("{address} has another secret"));
            tokio::time::sleep(PAUSE).await;
            Answer::WrongSecret
        } else {
            let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
            match &*busy {
                Some(with) => Answer::Busy { with: with.clone() },
                None => {
                    *busy = Some(address.to_string());
                    held = Some(Held(self));
                    Answer::Welcome { proof: encoding::encode(&self.secret.proof(Side::Agent, &binding)) }
                }
            }
        };
        // A connection that breaks here, or takes too long, gives the agent back.
        frame::write(&mut stream, &answer, frame::FIRST).await?;
        Ok(held.map(|held| (stream, held)))
    }
}

/// A coordinator's time with an agent.
struct Session<'a> {
    shared: &'a Arc<Shared>,
    out: UnboundedSender<Outgoing>,
    queue: Option<UnboundedReceiver<Outgoing>>,
    /// The load that runs or is prepared.
    load: Option<Running>,
}

struct Running {
    task: JoinHandle<()>,
    stop: Stop,
    begin: std_mpsc::Sender<Instant>,
}

impl<'a> Session<'a> {
    fn new(shared: &'a Arc<Shared>) -> Self {
        let (out, queue) = unbounded_channel();
        Self { shared, out, queue: Some(queue), load: None }
    }

    /// Until the coordinator says goodbye, or is gone. The load that runs then is stopped, and its last answers are waited
    /// for.
    async fn serve(mut self, stream: tokio_rustls::TlsStream<TcpStream>) -> io::Result<()> {
        let (mut reading, writing) = tokio::io::split(stream);
        let queue = self.queue.take();
        let writer = tokio::spawn(write(writing, queue, Arc::clone(self.shared)));
        let ended = self.listen(&mut reading).await;
        if let Some(Running { task, stop, begin }) = self.load.take() {
            stop.stop();
            drop(begin);
            if !task.is_finished() {
                self.shared.tell("the load is stopped".into());
            }
            // Whatever it ends with, it ends.
            let _ = task.await;
        }
        writer.abort();
        ended
    }

    async fn listen(&mut self, reading: &mut (impl AsyncRead + Unpin)) -> io::Result<()> {
        loop {
            match frame::read(reading, frame::TO_AGENT).await? {
                ToAgent::Alive => {}
                ToAgent::Clock(number) => {
                    let now = self.shared.clocks();
                    self.say(ToCoordinator::Clock { number, received: now, sent: now });
                }
                ToAgent::Prepare(job) => self.prepare(*job),
                ToAgent::Begin(at) => {
                    if let Some(load) = &self.load {
                        // A load that has ended does not begin.
                        let _ = load.begin.send(self.shared.origin + at);
                    }
                }
                ToAgent::Stop => self.load.iter().for_each(|load| load.stop.stop()),
                ToAgent::Goodbye => return Ok(()),
            }
        }
    }

    fn say(&self, message: ToCoordinator) {
        // The writer is gone only when the connection is.
        drop(self.out.send(Outgoing::Message(message)));
    }

    fn prepare(&mut self, job: Job) {
        if self.load.as_ref().is_some_and(|load| !load.task.is_finished()) {
            return self.say(ToCoordinator::Failed("it still runs another load".into()));
        }
        let (turn, of, scenario) = (job.turn + 1, job.of, job.scenario);
        self.shared.tell(format!("{scenario}: part {turn} of {of}"));
        let (begin, beginning) = std_mpsc::channel();
        let (stop, out) = (Stop::default(), self.out.clone());
        let following =
            Following { out: out.clone(), beginning, stop: stop.clone(), trust: self.shared.trust.clone() };
        *self.shared.stop.lock().unwrap_or_else(PoisonError::into_inner) = stop.clone();
        let shared = Arc::clone(self.shared);
        let task = tokio::spawn(async move {
            let message = match follow::run(job, following).await {
                Ok(done) => ToCoordinator::Done(Box::new(done)),
                Err(error) => {
                    shared.tell(format!("{scenario}: {error}"));
                    ToCoordinator::Failed(error.to_string())
                }
            };
            drop(out.send(Outgoing::Message(message)));
        });
        self.load = Some(Running { task, stop, begin });
    }
}

/// Sends what is in the queue, and says now and then that the agent is there.
async fn write(
    mut writing: impl AsyncWrite + Unpin,
    queue: Option<UnboundedReceiver<Outgoing>>,
    shared: Arc<Shared>,
) -> io::Result<()> {
    let Some(mut queue) = queue else { return Ok(()) };
    loop {
        let message = match tokio::time::timeout(HEARTBEAT, queue.recv()).await {
            Err(_) => ToCoordinator::Alive,
            Ok(None) => return Ok(()),
            Ok(Some(Outgoing::Second(second))) => ToCoordinator::Second(Box::new(second.into())),
            // When it goes out is known here.
            Ok(Some(Outgoing::Message(ToCoordinator::Clock { number, received, .. }))) => {
                ToCoordinator::Clock { number, received, sent: shared.clocks() }
            }
            Ok(Some(Outgoing::Message(message))) => message,
        };
        frame::write(&mut writing, &message, frame::TO_COORDINATOR).await?;
    }
}
