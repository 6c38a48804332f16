//! Stands before a fake provider and does to its answers what a plan says: stalls, hangs, resets, refusals, wrong and
//! unasked answers. It counts on its own side.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use socket2::SockRef;
use symbolon_loadtest::clock;

/// What becomes of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fate {
    /// It is answered at once.
    Right,
    /// It is answered after so many milliseconds.
    Late(u64),
    /// It is never answered; the connection stays.
    Hang,
    /// The connection is reset.
    Reset,
    /// The connection ends in the middle of the answer.
    Cut,
    /// It is answered with 503.
    Refused,
    /// It is answered with 429.
    Limited,
    /// It is answered with 404.
    Missing,
    /// The answer comes twice.
    Twice,
    /// An answer comes 20 ms after the answer.
    Stray,
    /// The answer is about somebody else.
    Wrong,
    /// The answer comes in pieces, of which the last is there after so many milliseconds.
    Trickle(u64),
    /// It is answered when so many milliseconds have gone by since the first request, with all the others of its stall.
    Stalled(u64),
}

/// How many pieces a trickle has.
const PIECES: usize = 10;

/// By the number of the request, from 0.
pub(crate) type Fates = Box<dyn Fn(u64) -> Fate + Send + Sync>;

pub(crate) struct Front {
    /// The requests whose path begins so are the plan's; the others go through.
    path: &'static str,
    fates: Fates,
    /// When the first of the plan's requests came.
    began: OnceLock<Instant>,
    pub(crate) counts: Mutex<Counts>,
}

/// What the front saw.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    /// Requests by their fate.
    pub(crate) by_fate: BTreeMap<Fate, u64>,
    /// All of them.
    pub(crate) requests: u64,
    /// When each of them came and was answered, by its number.
    pub(crate) visits: Vec<Visit>,
    /// Connections that were open at once, at most.
    pub(crate) most_connections: u64,
    connections: u64,
}

/// One of the plan's requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visit {
    /// When all of it was there.
    pub(crate) received: Instant,
    /// When the last of its answer was about to be sent, or its connection about to end; none where it hangs. Read before
    /// the sending, lest somebody who has the answer finds no time here.
    pub(crate) answered: Option<Instant>,
}

impl Front {
    /// Listens, and goes to `provider`, whose address is known once it has been started.
    pub(crate) fn start(
        listener: TcpListener,
        provider: SocketAddr,
        path: &'static str,
        fates: Fates,
    ) -> Arc<Self> {
        let front = Arc::new(Self { path, fates, began: OnceLock::new(), counts: Mutex::default() });
        let accepting = Arc::clone(&front);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let front = Arc::clone(&accepting);
                std::thread::spawn(move || {
                    front.count_connection(1);
                    // A client that goes away is no trouble of the front's.
                    let _ = front.converse(stream.unwrap(), provider);
                    front.count_connection(-1);
                });
            }
        });
        front
    }

    pub(crate) fn counts(&self) -> Counts {
        self.counts.lock().unwrap().clone()
    }

    pub(crate) fn of(&self, fate: Fate) -> u64 {
        self.counts().by_fate.get(&fate).copied().unwrap_or(0)
    }

    fn count_connection(&self, by: i64) {
        let mut counts = self.counts.lock().unwrap();
        counts.connections = counts.connections.strict_add_signed(by);
        counts.most_connections = counts.most_connections.max(counts.connections);
    }

    fn converse(&self, mut client: TcpStream, provider: SocketAddr) -> std::io::Result<()> {
        client.set_nodelay(true)?;
        let mut upstream = TcpStream::connect(provider)?;
        upstream.set_nodelay(true)?;
        let mut buffer = Vec::new();
        while let Some(request) = read_message(&mut client, &mut buffer)? {
            let received = clock::now();
            upstream.write_all(&request)?;
            let answer = read_message(&mut upstream, &mut Vec::new())?.unwrap_or_default();
            let path = request.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
            let visit = path.starts_with(self.path.as_bytes()).then(|| self.next(received));
            let fate = visit.map_or(Fate::Right, |(_, fate)| fate);
            let answers = || self.note_answer(visit.map(|(number, _)| number));
            if !self.play(fate, (&mut client, &answer), &answers)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The number and the fate of a request that came then.
    fn next(&self, received: Instant) -> (usize, Fate) {
        self.began.get_or_init(clock::now);
        let number = {
            let mut counts = self.counts.lock().unwrap();
            counts.requests += 1;
            counts.visits.push(Visit { received, answered: None });
            counts.visits.len() - 1
        };
        // Without the lock: a fate may take its time.
        let fate = (self.fates)(number as u64);
        *self.counts.lock().unwrap().by_fate.entry(fate).or_default() += 1;
        (number, fate)
    }

    fn note_answer(&self, number: Option<usize>) {
        if let Some(number) = number {
            self.counts.lock().unwrap().visits[number].answered = Some(clock::now());
        }
    }

    /// Whether the connection goes on. `answers` is called when an answer, or the last piece of it, is about to be sent.
    fn play(
        &self,
        fate: Fate,
        (client, answer): (&mut TcpStream, &[u8]),
        answers: &dyn Fn(),
    ) -> std::io::Result<bool> {
        if let (Fate::Stalled(ms), Some(began)) = (fate, self.began.get()) {
            let ends = *began + Duration::from_millis(ms);
            std::thread::sleep(ends.saturating_duration_since(clock::now()));
        }
        play(fate, client, answer, answers)
    }
}

/// Whether the connection goes on.
fn play(fate: Fate, client: &mut TcpStream, answer: &[u8], answers: &dyn Fn()) -> std::io::Result<bool> {
    let refuse = |status: &str| format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
    let send = |client: &mut TcpStream, bytes: &[u8]| {
        answers();
        client.write_all(bytes)
    };
    match fate {
        Fate::Right | Fate::Stalled(_) => send(client, answer)?,
        Fate::Late(ms) => {
            std::thread::sleep(Duration::from_millis(ms));
            send(client, answer)?;
        }
        Fate::Trickle(ms) => {
            for piece in answer.chunks(answer.len().div_ceil(PIECES)) {
                std::thread::sleep(Duration::from_millis(ms / PIECES as u64));
                send(client, piece)?;
            }
        }
        Fate::Hang => {
            // Until the client hangs up.
            while client.read(&mut [0; 64]).is_ok_and(|read| read > 0) {}
            return Ok(false);
        }
        Fate::Reset => {
            SockRef::from(&*client).set_linger(Some(Duration::ZERO))?;
            answers();
            return Ok(false);
        }
        Fate::Cut => {
            send(client, &answer[..answer.len() / 2])?;
            client.shutdown(Shutdown::Both)?;
            return Ok(false);
        }
        Fate::Refused => send(client, refuse("503 Service Unavailable").as_bytes())?,
        Fate::Limited => send(client, refuse("429 Too Many Requests").as_bytes())?,
        Fate::Missing => send(client, refuse("404 Not Found").as_bytes())?,
        Fate::Twice => send(client, &[answer, answer].concat())?,
        Fate::Stray => {
            send(client, answer)?;
            std::thread::sleep(Duration::from_millis(20));
            client.write_all(answer)?;
        }
        Fate::Wrong => {
            let text = String::from_utf8_lossy(answer).replace("user-", "nobo-");
            send(client, text.as_bytes())?;
        }
    }
    Ok(true)
}

/// One request or answer with its body; none at the end of the stream. What follows stays in `buffer`.
fn read_message(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> std::io::Result<Option<Vec<u8>>> {
    let mut piece = [0; 16 * 1024];
    loop {
        if let Some(head) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&buffer[..head]).to_ascii_lowercase();
            let length =
                text.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
            let whole = head + 4 + length.unwrap_or(0);
            if buffer.len() >= whole {
                return Ok(Some(buffer.drain(..whole).collect()));
            }
        }
        let read = stream.read(&mut piece)?;
        if read == 0 {
            return Ok(None);
        }
        buffer.extend_from_slice(&piece[..read]);
    }
}
