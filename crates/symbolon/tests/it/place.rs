//! A data directory of its own with free ports, commands in it, and a server if wanted.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use serde_json::Value;

pub(crate) const SECRET: &str = "an-admin-secret-of-the-tests";

pub(crate) struct Place {
    directory: tempfile::TempDir,
    /// Where the public listener of the last server was.
    listen: RefCell<String>,
    /// A port that was free when it was looked for.
    management: RefCell<String>,
}

pub(crate) struct Server {
    child: Child,
    /// What it logs, line by line, as it comes.
    log: mpsc::Receiver<String>,
}

/// What a command answered.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) error: String,
}

impl Ran {
    /// The output of a command that did well.
    pub(crate) fn good(self) -> String {
        assert_eq!(self.code, 0, "{}{}", self.out, self.error);
        self.out
    }

    pub(crate) fn json(self) -> Value {
        serde_json::from_str(&self.good()).unwrap()
    }

    /// The complaint of a command that ended with this code.
    pub(crate) fn bad(self, code: i32) -> String {
        assert_eq!(self.code, code, "{}{}", self.out, self.error);
        self.error
    }
}

fn free_address() -> String {
    symbolon_loadtest::free_address().unwrap().to_string()
}

impl Place {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self { directory, listen: RefCell::default(), management: RefCell::new(free_address()) }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn command(&self, arguments: &[&str], with: &[(&str, &str)]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_symbolon"));
        command
            .args(arguments)
            .current_dir(self.directory.path())
            .env_clear()
            .env("SYMBOLON_ISSUER", "http://issuer.test")
            .env("SYMBOLON_LISTEN", "127.0.0.1:0")
            .env("SYMBOLON_MANAGEMENT_LISTEN", &*self.management.borrow())
            .env("SYMBOLON_ADMIN_SECRET", SECRET)
            .env("SYMBOLON_DATA_DIR", "data")
            .env("SYMBOLON_TEST_ENDPOINTS", "true")
            .env("XDG_STATE_HOME", self.directory.path().join("state"))
            .envs(with.iter().copied());
        command
    }

    /// Runs a command with a standard input.
    pub(crate) fn run_with(&self, arguments: &[&str], with: &[(&str, &str)], input: &str) -> Ran {
        let mut command = self.command(arguments, with);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // A command that refuses at once does not read.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran { code: status.code().unwrap(), out: text(stdout), error: text(stderr) }
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with(arguments, &[], "")
    }

    /// Starts the server and waits until it is ready.
    pub(crate) fn serve(&self, with: &[(&str, &str)]) -> Server {
        loop {
            match self.try_serve(with) {
                Ok(server) => return server,
                // Somebody else took the port meanwhile.
                Err(told) if told.contains("cannot listen on") => self.management.replace(free_address()),
                Err(told) => panic!("the server ended: {told}"),
            };
        }
    }

    /// Starts the server; what it complained of where it ended.
    fn try_serve(&self, with: &[(&str, &str)]) -> Result<Server, String> {
        let mut command = self.command(&["serve"], with);
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // Somebody must read, or a full pipe would stop the server.
        let (sender, log) = mpsc::channel();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        std::thread::spawn(move || lines.for_each(|line| drop(sender.send(line.unwrap()))));
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready = lines.find_map(|line| Some(line.ok()?.split_once("listening on ")?.1.to_owned()));
        let server = Server { child, log };
        let Some(url) = ready else { return Err(server.log.iter().collect()) };
        std::thread::spawn(move || lines.for_each(drop));
        self.listen.replace(url.split_once("://").unwrap().1.to_owned());
        Ok(server)
    }

    /// Where the public listener is.
    pub(crate) fn listen(&self) -> String {
        self.listen.borrow().clone()
    }

    /// Where the management listener is.
    pub(crate) fn management(&self) -> String {
        self.management.borrow().clone()
    }

    /// One request to the management listener; status and body.
    pub(crate) fn admin(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let media_type = if path.ends_with("/bulk") { "application/x-ndjson" } else { "application/json" };
        let head = format!(
            "{method} /api/admin{path} HTTP/1.1\r\nauthorization: Bearer {SECRET}\r\ncontent-type: {media_type}"
        );
        Self::exchange(&self.management.borrow(), &head, body)
    }

    /// One form to the public listener; status and body.
    pub(crate) fn form(&self, path: &str, form: &str) -> (u16, Value) {
        let head = format!("POST {path} HTTP/1.1\r\ncontent-type: application/x-www-form-urlencoded");
        Self::exchange(&self.listen.borrow(), &head, form)
    }

    /// One document of the public listener; status and body.
    pub(crate) fn get(&self, path: &str) -> (u16, Value) {
        Self::exchange(&self.listen.borrow(), &format!("GET {path} HTTP/1.1"), "")
    }

    fn exchange(address: &str, head: &str, body: &str) -> (u16, Value) {
        let answer = Self::ask(address, head, body);
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        // Of a stream, the first chunk (RFC 9112 7.1): the answer to one line.
        let body = match head.contains("transfer-encoding: chunked") {
            true => body.lines().nth(1).unwrap_or_default(),
            false => body,
        };
        (status, serde_json::from_str(body).unwrap_or_default())
    }

    /// One request to either listener, as it is answered.
    pub(crate) fn ask(address: &str, head: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        let rest = format!("host: {address}\r\ncontent-length: {}\r\nconnection: close", body.len());
        let head = format!("{head}\r\n{rest}\r\n\r\n{body}");
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Server {
    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Sends SIGHUP.
    pub(crate) fn hang_up(&self) {
        rustix::process::kill_process(Pid::from_child(&self.child), Signal::HUP).unwrap();
    }

    /// Sends SIGTERM.
    pub(crate) fn terminate(&self) {
        rustix::process::kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
    }

    /// Waits until the server has ended; its exit code.
    pub(crate) fn ended(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// Stops it; all that it logged.
    pub(crate) fn into_log(mut self) -> Vec<String> {
        self.terminate();
        self.ended();
        self.log.iter().collect()
    }

    /// Waits for a line with this text, and stops the server; all that it logged.
    pub(crate) fn into_log_with(self, text: &str) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        while !lines.last().is_some_and(|line| line.contains(text)) {
            let line = self.log.recv_timeout(Duration::from_secs(30));
            lines.push(
                line.unwrap_or_else(|error| panic!("the server did not log {text:?}: {error}; {lines:?}")),
            );
        }
        lines.extend(self.into_log());
        lines
    }

    /// Returns when the server has logged a line with this text.
    pub(crate) fn wait_for_log(&self, text: &str) {
        let seen = self.log.iter().any(|line| line.contains(text));
        assert!(seen, "the server ended before it logged {text:?}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
