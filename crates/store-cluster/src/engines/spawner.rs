//! The thread that spawns every child.
//!
//! The kernel sends a child its parent-death signal when the *thread* that spawned it ends (prctl(2),
//! `PR_SET_PDEATHSIG`). A test's thread ends with the test, but servers may be shared by many. So one thread, which
//! ends only with the process, spawns them all.

use std::io;
use std::process::{Child, Command};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::thread;

type Job = (Command, Sender<io::Result<Child>>);

/// Spawns `command` from the thread that lives as long as the process.
pub(super) fn spawn(command: Command) -> io::Result<Child> {
    static SPAWNER: OnceLock<Sender<Job>> = OnceLock::new();
    let spawner = SPAWNER.get_or_init(|| {
        let (jobs, received) = channel::<Job>();
        let body = move || {
            for (mut command, reply) in received {
                // The caller waits for this answer.
                let _ = reply.send(command.spawn());
            }
        };
        thread::Builder::new().name("engines".to_owned()).spawn(body).expect("a thread can be started");
        jobs
    });
    let (reply, spawned) = channel();
    spawner.send((command, reply)).expect("the spawner lives as long as the process");
    spawned.recv().expect("the spawner answers every job")
}
