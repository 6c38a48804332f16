//! Floods: many connections that send one request after another, as fast as they are answered, in the name of many
//! addresses.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long one answer may take before the flood counts as stuck.
const ANSWER: Duration = Duration::from_secs(120);

/// Requests that are sent before their answers are read, so that the flood costs fewer system calls than its target.
const PIPELINED: u64 = 16;

/// An HTTP/1.1 connection of a trusted proxy, which names the address for which it forwards each request.
pub struct ProxyConnection {
    stream: BufReader<TcpStream>,
}

impl ProxyConnection {
    /// Connects to `host:port`.
    ///
    /// # Errors
    /// The provider does not listen.
    pub fn connect(authority: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(authority)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(ANSWER))?;
        Ok(Self { stream: BufReader::with_capacity(64 << 10, stream) })
    }

    /// Sends complete requests.
    ///
    /// # Errors
    /// The connection is closed.
    pub fn send(&mut self, requests: &[u8]) -> io::Result<()> {
        self.stream.get_mut().write_all(requests)
    }

    /// Reads one answer; returns its status.
    ///
    /// # Errors
    /// The connection is closed, or the answer is not HTTP/1.1 with a length.
    pub fn status(&mut self) -> io::Result<u16> {
        let mut line = String::new();
        self.line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|word| word.parse().ok());
        let status = status.ok_or_else(|| io::Error::other(format!("not an answer: {line:?}")))?;
        let mut length = 0;
        loop {
            self.line(&mut line)?;
            if line.is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().map_err(io::Error::other)?;
            }
        }
        io::copy(&mut (&mut self.stream).take(length), &mut io::sink())?;
        Ok(status)
    }

    fn line(&mut self, line: &mut String) -> io::Result<()> {
        line.clear();
        if self.stream.read_line(line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        line.truncate(line.trim_end().len());
        Ok(())
    }
}

/// A flood: its number of requests and connections.
#[derive(Clone, Copy, Debug)]
pub struct Flood<'a> {
    /// `host:port` of the provider.
    pub authority: &'a str,
    /// Requests in all.
    pub requests: u64,
    /// Connections.
    pub lanes: u64,
    /// Addresses in whose name they are sent.
    pub addresses: u64,
}

impl Flood<'_> {
    /// Sends the requests. `path_and_cookie` gives the path of the request with a number, and its cookie if it has one.
    /// Returns the number of answers by status.
    ///
    /// # Panics
    /// If the provider does not answer.
    pub fn run(
        &self,
        path_and_cookie: impl Fn(u64) -> (String, Option<String>) + Sync,
    ) -> BTreeMap<u16, u64> {
        let (next, statuses) = (AtomicU64::new(0), Mutex::new(BTreeMap::new()));
        std::thread::scope(|threads| {
            for _ in 0..self.lanes {
                threads.spawn(|| {
                    yield_to_the_provider();
                    let mut lane = ProxyConnection::connect(self.authority).expect("the provider listens");
                    let mut own: BTreeMap<u16, u64> = BTreeMap::new();
                    loop {
                        let first = next.fetch_add(PIPELINED, Ordering::Relaxed);
                        let last = (first + PIPELINED).min(self.requests);
                        if first >= last {
                            break;
                        }
                        let requests: Vec<u8> = (first..last)
                            .flat_map(|number| self.request(number, path_and_cookie(number)))
                            .collect();
                        lane.send(&requests).expect("the provider reads");
                        for _ in first..last {
                            *own.entry(lane.status().expect("an answer")).or_default() += 1;
                        }
                    }
                    let mut statuses = statuses.lock().expect("the statuses");
                    own.into_iter().for_each(|(status, count)| *statuses.entry(status).or_default() += count);
                });
            }
        });
        statuses.into_inner().expect("the statuses")
    }

    fn request(&self, number: u64, (path, cookie): (String, Option<String>)) -> Vec<u8> {
        let address = address(number % self.addresses);
        let cookie = cookie.map(|cookie| format!("cookie: {cookie}\r\n")).unwrap_or_default();
        format!(
            "GET {path} HTTP/1.1\r\nhost: {}\r\nx-forwarded-for: {address}\r\naccept: text/html\r\n{cookie}\r\n",
            self.authority
        )
        .into_bytes()
    }
}

/// Lowers the priority of the calling thread to the least. A real flood comes from other machines: threads of the same
/// priority on the same cores would take from the provider, PostgreSQL and Redis what no flood can take over a network.
pub fn yield_to_the_provider() {
    // Linux applies it to the thread alone (nice(2), "C library/kernel differences").
    rustix::process::nice(19).expect("a lower priority is always allowed");
}

/// The address with a number, each in its own network.
pub fn address(number: u64) -> String {
    format!("10.{}.{}.{}", (number >> 16) & 255, (number >> 8) & 255, number & 255)
}

/// The resident memory of a process in bytes.
///
/// # Panics
/// If there is no such process.
pub fn resident_bytes(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("the process runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("VmRSS");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
}
