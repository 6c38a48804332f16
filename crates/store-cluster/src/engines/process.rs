//! One server process and the processes it forks.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::spawner::spawn;
use super::until::until;

/// How much of a log tells why a server did not start.
const LAST_LINES: usize = 25;

/// A running server. It is killed, with its children, when this is dropped.
pub(super) struct Process {
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts `command` with its output appended to the file `log`.
    pub(super) fn start(mut command: Command, log: &Path) -> Self {
        let output = File::options().create(true).append(true).open(log).expect("a log can be opened");
        command.stdin(Stdio::null()).stderr(output.try_clone().expect("a file can be shared")).stdout(output);
        let child = spawn(command).expect("the server's program can be started");
        Self { child, log: log.to_owned() }
    }

    /// Asks `answer` until it has one.
    ///
    /// # Panics
    /// With the end of the log, if the process ends instead.
    pub(super) fn until<T>(&mut self, what: &str, mut answer: impl FnMut() -> Option<T>) -> T {
        until(what, || {
            if let Ok(Some(status)) = self.child.try_wait() {
                panic!("{what}, but the server ended ({status}):\n{}", last_lines(&self.log));
            }
            answer()
        })
    }

    pub(super) fn pause(&self) {
        signal(self.pid(), Signal::STOP);
    }

    pub(super) fn resume(&self) {
        signal(self.pid(), Signal::CONT);
    }

    /// The numbers of the process and of its children.
    pub(super) fn all(&self) -> Vec<u32> {
        let all = std::iter::once(self.pid()).chain(living_children(self.pid()));
        all.map(|pid| pid.as_raw_nonzero().get().unsigned_abs()).collect()
    }

    /// Stops the process, which then forks no more, and its children.
    pub(super) fn pause_all(&self) {
        self.pause();
        until("a server stops", || state(self.pid()).is_none_or(is_stopped).then_some(()));
        for child in living_children(self.pid()) {
            signal(child, Signal::STOP);
        }
    }

    /// Lets the children and then the process go on.
    pub(super) fn resume_all(&self) {
        for child in living_children(self.pid()) {
            signal(child, Signal::CONT);
        }
        self.resume();
    }

    /// Sends `request`, which must make the process end, and waits until it has.
    pub(super) fn end_by(mut self, request: Signal) {
        signal(self.pid(), request);
        until("the server ends when it is asked to", || self.child.try_wait().ok().flatten());
    }

    /// Its process id.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// SIGKILL to the process and all its children, none of which sees the others die: a postmaster whose backends
    /// die one by one would begin to recover. Returns when all are gone.
    fn kill(&mut self) {
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return;
        }
        let pid = self.pid();
        // A stopped parent neither forks nor reaps its children, so their process ids are not reused.
        signal(pid, Signal::STOP);
        until("the children of a server are killed", || {
            let stopped = state(pid).is_none_or(is_stopped);
            let children = living_children(pid);
            for child in &children {
                signal(*child, Signal::KILL);
            }
            (stopped && children.is_empty()).then_some(())
        });
        signal(pid, Signal::KILL);
        self.child.wait().expect("a child can be waited for");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Sends `signal`; the process may have ended by itself.
fn signal(pid: Pid, signal: Signal) {
    let _ = kill_process(pid, signal);
}

/// The end of a log, for people.
pub(super) fn last_lines(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
}

/// The children of `parent` that run or could run: not those that are dead but not reaped.
fn living_children(parent: Pid) -> Vec<Pid> {
    let processes = fs::read_dir("/proc").expect("/proc can be read");
    processes
        .flatten()
        .filter_map(|process| process.file_name().to_str()?.parse().ok().and_then(Pid::from_raw))
        .filter(|pid| {
            stat(*pid)
                .is_some_and(|(state, of)| of == parent.as_raw_nonzero().get() && !matches!(state, 'Z' | 'X'))
        })
        .collect()
}

/// Whether a process in this state runs no more, for now or for ever.
fn is_stopped(state: char) -> bool {
    matches!(state, 'T' | 't' | 'Z' | 'X')
}

fn state(pid: Pid) -> Option<char> {
    stat(pid).map(|(state, _)| state)
}

/// State and parent of a process (proc_pid_stat(5)); `None` if there is no such process.
fn stat(pid: Pid) -> Option<(char, i32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before them is in parentheses and may hold anything.
    let (_, behind_name) = stat.rsplit_once(')')?;
    let mut fields = behind_name.split_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}
