//! A connection to one Redis process that many requests share. Commands are sent in the order in which they were
//! submitted, all that wait in one write, and answers come in the same order.
//!
//! It does the same as the connections of the cluster client, at less cost: no channel, no timer and no allocation for
//! each command. It follows no redirection and repeats no command; its user has the cluster client for that.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use parking_lot::Mutex;
use redis::Cmd;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::JoinHandle;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval};

use super::liveness::{BEAT, Liveness};
use super::resp::{Reply, reply};

/// The most commands that may wait for their answers.
const MOST_WAITING: usize = 8_192;

/// The initial size of the receive buffer.
const ROOM: usize = 16 * 1_024;

/// The largest size of the receive buffer: no command of the store has so long an answer.
const MOST_RECEIVED: usize = 64 * 1_024 * 1_024;

/// The byte stream under a pipe: TCP or TLS.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// The connection. It is closed when the last reference to it is dropped.
pub(super) struct Pipe {
    shared: Arc<Mutex<State>>,
    driver: JoinHandle<()>,
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// There is no answer: the connection is lost, or the answer took too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lost;

/// Why a command was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotTaken {
    /// Too many commands wait.
    Full,
    /// The connection is lost.
    Lost,
}

struct State {
    /// Bytes to be written.
    out: Vec<u8>,
    /// Commands in the order of their submission, from the oldest whose answer a caller may still need.
    commands: VecDeque<Command>,
    /// The number of the first of them.
    first: u64,
    /// How many of them, from the first on, have their answers.
    answered: usize,
    /// Wakes the task that writes.
    driver: Option<Waker>,
    life: Liveness,
    is_lost: bool,
}

enum Command {
    Waiting {
        asked: Instant,
        waker: Option<Waker>,
    },
    /// No caller waits for the answer.
    Abandoned {
        asked: Instant,
    },
    Answered(Reply),
    /// Answered, and no caller needs the answer any more.
    Done,
}

impl State {
    fn new() -> Self {
        Self {
            out: Vec::new(),
            commands: VecDeque::new(),
            first: 0,
            answered: 0,
            driver: None,
            life: Liveness::begin(Instant::now()),
            is_lost: false,
        }
    }

    fn command(&mut self, number: u64) -> Option<&mut Command> {
        self.commands.get_mut(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    /// Removes the oldest commands as far as they are done.
    fn tidy(&mut self) {
        while self.answered > 0 && matches!(self.commands.front(), Some(Command::Done)) {
            self.commands.pop_front();
            self.first += 1;
            self.answered -= 1;
        }
    }

    /// Gives the oldest command without an answer its answer, which came `now`.
    fn answer(&mut self, reply: Reply, now: Instant) -> io::Result<()> {
        let command = self.commands.get_mut(self.answered).ok_or_else(malformed)?;
        let (Command::Waiting { asked, .. } | Command::Abandoned { asked }) = command else {
            return Err(malformed());
        };
        self.life.hear(*asked, now)?;
        self.answered += 1;
        match std::mem::replace(command, Command::Done) {
            Command::Waiting { waker, .. } => {
                *command = Command::Answered(reply);
                if let Some(waker) = waker {
                    waker.wake();
                }
            }
            _ => self.tidy(),
        }
        Ok(())
    }

    /// Sends a PING, for whose answer no caller waits.
    fn beat(&mut self) {
        redis::cmd("PING").write_packed_command(&mut self.out);
        self.commands.push_back(Command::Abandoned { asked: Instant::now() });
    }

    /// When the oldest command without an answer was submitted.
    fn oldest(&self) -> Option<Instant> {
        match self.commands.get(self.answered)? {
            Command::Waiting { asked, .. } | Command::Abandoned { asked } => Some(*asked),
            Command::Answered(_) | Command::Done => None,
        }
    }

    /// Marks the connection as lost, and wakes every caller that waits.
    fn lose(&mut self) {
        self.is_lost = true;
        self.out = Vec::new();
        for command in &mut self.commands {
            if let Command::Waiting { waker, .. } = command
                && let Some(waker) = waker.take()
            {
                waker.wake();
            }
        }
    }
}

impl Pipe {
    /// Runs a connection over a stream, on the runtime of the caller. If an answer takes longer than `timeout`, the
    /// connection is given up, after at most a quarter of `timeout` more.
    pub(super) fn new(stream: Box<dyn Stream>, timeout: Duration) -> Self {
        let shared = Arc::new(Mutex::new(State::new()));
        let mut look = interval((timeout / 4).clamp(Duration::from_millis(1), BEAT));
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut driver = Driver {
            stream,
            shared: Arc::clone(&shared),
            outgoing: Vec::new(),
            written: 0,
            incoming: vec![0; ROOM],
            received: 0,
            look,
            timeout,
        };
        let driver = tokio::spawn(async move {
            let error = std::future::poll_fn(|cx| driver.poll(cx)).await;
            tracing::debug!(target: "symbolon::store", %error, "a worker's connection to Redis is lost");
            driver.shared.lock().lose();
        });
        Self { shared, driver }
    }

    /// Submits a command. It is written when the submitting task yields.
    pub(super) fn ask(self: &Arc<Self>, cmd: &Cmd) -> Result<Asked, NotTaken> {
        let asked = Instant::now();
        let mut state = self.shared.lock();
        if state.is_lost {
            return Err(NotTaken::Lost);
        }
        if state.commands.len() >= MOST_WAITING {
            return Err(NotTaken::Full);
        }
        cmd.write_packed_command(&mut state.out);
        state.commands.push_back(Command::Waiting { asked, waker: None });
        let number = state.first + state.commands.len() as u64 - 1;
        if let Some(driver) = state.driver.take() {
            driver.wake();
        }
        Ok(Asked { pipe: Arc::clone(self), number, asked })
    }
}

/// The answer to a submitted command.
pub(super) struct Asked {
    pipe: Arc<Pipe>,
    number: u64,
    asked: Instant,
}

impl Asked {
    /// When the command was submitted.
    pub(super) fn at(&self) -> Instant {
        self.asked
    }
}

impl Future for Asked {
    type Output = Result<Reply, Lost>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.pipe.shared.lock();
        let is_lost = state.is_lost;
        let lost = Poll::Ready(Err(Lost));
        let Some(command) = state.command(self.number) else { return lost };
        match command {
            Command::Answered(_) => {
                let Command::Answered(reply) = std::mem::replace(command, Command::Done) else { return lost };
                state.tidy();
                Poll::Ready(Ok(reply))
            }
            Command::Waiting { waker, .. } if !is_lost => {
                match waker {
                    Some(waker) => waker.clone_from(cx.waker()),
                    None => *waker = Some(cx.waker().clone()),
                }
                Poll::Pending
            }
            _ => lost,
        }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        let mut state = self.pipe.shared.lock();
        let Some(command) = state.command(self.number) else { return };
        match command {
            Command::Waiting { asked, .. } => *command = Command::Abandoned { asked: *asked },
            Command::Answered(_) => {
                *command = Command::Done;
                state.tidy();
            }
            Command::Abandoned { .. } | Command::Done => {}
        }
    }
}

/// The task that reads and writes the stream.
struct Driver {
    stream: Box<dyn Stream>,
    shared: Arc<Mutex<State>>,
    outgoing: Vec<u8>,
    written: usize,
    incoming: Vec<u8>,
    received: usize,
    look: Interval,
    timeout: Duration,
}

impl Driver {
    /// Ready when the connection is lost.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        let moved = self.read(cx).and_then(|()| self.look(cx)).and_then(|()| self.write(cx));
        moved.map_or_else(Poll::Ready, |()| Poll::Pending)
    }

    /// Reads everything there is, and gives the callers their answers.
    fn read(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        loop {
            if self.received == self.incoming.len() {
                if self.received >= MOST_RECEIVED {
                    return Err(io::Error::other("an answer is too long"));
                }
                self.incoming.resize(self.received * 2, 0);
            }
            let mut room = ReadBuf::new(self.incoming.get_mut(self.received..).unwrap_or_default());
            match Pin::new(&mut self.stream).poll_read(cx, &mut room)? {
                Poll::Pending => return Ok(()),
                Poll::Ready(()) if room.filled().is_empty() => {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                Poll::Ready(()) => self.received += room.filled().len(),
            }
            self.answer()?;
        }
    }

    /// Gives the callers their answers, as far as these have arrived completely.
    fn answer(&mut self) -> io::Result<()> {
        let received = self.incoming.get(..self.received).unwrap_or_default();
        let (mut state, mut at, now) = (self.shared.lock(), 0, Instant::now());
        while let Some(rest) = received.get(at..).filter(|rest| !rest.is_empty()) {
            let Some((reply, length)) = reply(rest).map_err(|_| malformed())? else { break };
            state.answer(reply, now)?;
            at += length;
        }
        drop(state);
        self.incoming.copy_within(at..self.received, 0);
        self.received -= at;
        Ok(())
    }

    /// Writes all waiting bytes.
    fn write(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        loop {
            if self.written == self.outgoing.len() {
                self.outgoing.clear();
                self.written = 0;
                let mut state = self.shared.lock();
                if state.out.is_empty() {
                    // The next command that is submitted wakes this task.
                    match &mut state.driver {
                        Some(driver) => driver.clone_from(cx.waker()),
                        None => state.driver = Some(cx.waker().clone()),
                    }
                    drop(state);
                    // What TLS still buffers is written as soon as the stream can take it.
                    let _ = Pin::new(&mut self.stream).poll_flush(cx)?;
                    return Ok(());
                }
                std::mem::swap(&mut state.out, &mut self.outgoing);
            }
            let rest = self.outgoing.get(self.written..).unwrap_or_default();
            match Pin::new(&mut self.stream).poll_write(cx, rest)? {
                Poll::Pending => return Ok(()),
                Poll::Ready(0) => return Err(io::ErrorKind::WriteZero.into()),
                Poll::Ready(written) => self.written += written,
            }
        }
    }

    /// At intervals: fails if the oldest command has waited too long, and sends a PING if no command waits.
    fn look(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        while self.look.poll_tick(cx).is_ready() {
            let mut state = self.shared.lock();
            match state.oldest() {
                Some(asked) if asked.elapsed() >= self.timeout => return Err(io::ErrorKind::TimedOut.into()),
                Some(_) => {}
                None => state.beat(),
            }
        }
        Ok(())
    }
}

fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "not an answer of Redis")
}

#[cfg(test)]
mod tests {
    use redis::Value;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

    use super::*;
    use crate::redis::liveness::SILENCE;

    const TIMEOUT: Duration = Duration::from_secs(1);

    fn pipe() -> (Arc<Pipe>, DuplexStream) {
        let (ours, theirs) = duplex(1 << 20);
        (Arc::new(Pipe::new(Box::new(ours), TIMEOUT)), theirs)
    }

    fn get(key: &str) -> Cmd {
        redis::cmd("GET").arg(key).to_owned()
    }

    async fn received(server: &mut DuplexStream) -> String {
        let mut bytes = vec![0; 4_096];
        let length = server.read(&mut bytes).await.unwrap();
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    }

    fn is_bulk(reply: Result<Reply, Lost>, bytes: &str) -> bool {
        reply == Ok(Ok(Value::BulkString(bytes.into())))
    }

    #[tokio::test(start_paused = true)]
    async fn what_has_gathered_goes_out_together_and_everybody_gets_their_own() {
        let (pipe, mut server) = pipe();
        let asked: Vec<Asked> = ["a", "b", "c"].iter().map(|key| pipe.ask(&get(key)).unwrap()).collect();
        let written = received(&mut server).await;
        assert_eq!(written.matches("GET").count(), 3, "{written}");
        // The second caller gives up, and the third answer comes in two pieces.
        let [a, b, c] = <[Asked; 3]>::try_from(asked).ok().unwrap();
        drop(b);
        server.write_all(b"$1\r\nA\r\n$1\r\nB\r\n$1\r").await.unwrap();
        assert!(is_bulk(a.await, "A"));
        server.write_all(b"\nC\r\n").await.unwrap();
        assert!(is_bulk(c.await, "C"));
        assert!(pipe.shared.lock().commands.is_empty());
        let error = pipe.ask(&get("d")).unwrap();
        received(&mut server).await;
        server.write_all(b"-MOVED 1 x:1\r\n").await.unwrap();
        assert_eq!(error.await, Ok(Err("MOVED 1 x:1".into())));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_was_not_waited_for_is_forgotten() {
        let (pipe, mut server) = pipe();
        let (first, second) = (pipe.ask(&get("a")).unwrap(), pipe.ask(&get("b")).unwrap());
        received(&mut server).await;
        server.write_all(b":1\r\n:2\r\n").await.unwrap();
        assert_eq!(second.await, Ok(Ok(Value::Int(2))));
        drop(first);
        assert!(pipe.shared.lock().commands.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_lost_connection_is_told_to_all() {
        let (pipe, mut server) = pipe();
        let waiting = pipe.ask(&get("a")).unwrap();
        received(&mut server).await;
        drop(server);
        assert!(waiting.await.is_err());
        assert!(pipe.ask(&get("b")).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_asked_for_ends_it() {
        for garbage in [&b":1\r\n"[..], b"HTTP/1.1 400\r\n"] {
            let (pipe, mut server) = pipe();
            server.write_all(garbage).await.unwrap();
            while pipe.ask(&get("a")).is_ok_and(drop_it) {
                tokio::task::yield_now().await;
            }
        }
    }

    fn drop_it(asked: Asked) -> bool {
        drop(asked);
        true
    }

    #[tokio::test(start_paused = true)]
    async fn a_process_that_does_not_answer_is_given_up() {
        let (pipe, mut server) = pipe();
        let began = Instant::now();
        let waiting = pipe.ask(&get("a")).unwrap();
        received(&mut server).await;
        assert_eq!((waiting.at(), waiting.await), (began, Err(Lost)));
        assert!((TIMEOUT..=TIMEOUT * 5 / 4).contains(&began.elapsed()), "{:?}", began.elapsed());
    }

    const PING: &str = "*1\r\n$4\r\nPING\r\n";

    #[tokio::test(start_paused = true)]
    async fn who_is_asked_nothing_is_asked_for_a_sign_of_life() {
        let (pipe, mut server) = pipe();
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(10) {
            assert_eq!(received(&mut server).await, PING);
            server.write_all(b"+PONG\r\n").await.unwrap();
        }
        let asked = pipe.ask(&get("a")).unwrap();
        received(&mut server).await;
        server.write_all(b":1\r\n").await.unwrap();
        assert_eq!(asked.await, Ok(Ok(Value::Int(1))));
        assert!(pipe.shared.lock().commands.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn who_was_silent_for_too_long_is_not_believed() {
        for (silence, believed) in [(SILENCE / 2, true), (SILENCE * 2, false)] {
            let (ours, mut server) = duplex(1 << 20);
            let pipe = Arc::new(Pipe::new(Box::new(ours), 10 * SILENCE));
            let beat = received(&mut server).await;
            assert_eq!(beat, PING);
            tokio::time::advance(silence).await;
            // Submitted just before the process resumes, so the answer itself comes fast.
            let asked = pipe.ask(&get("a")).unwrap();
            received(&mut server).await;
            server.write_all(b"+PONG\r\n:1\r\n").await.unwrap();
            assert_eq!(asked.await.is_ok(), believed);
            assert_eq!(pipe.ask(&get("b")).is_ok(), believed);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_wait_than_there_is_room_for() {
        let (pipe, _server) = pipe();
        let asked: Vec<_> = (0..MOST_WAITING).map(|_| pipe.ask(&get("a")).unwrap()).collect();
        assert_eq!(pipe.ask(&get("b")).err(), Some(NotTaken::Full));
        drop((asked, pipe));
    }
}
