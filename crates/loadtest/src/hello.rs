//! The bare axum server that every figure is compared with: what HTTP alone costs on this machine.
//!
//! `GET /` answers a few bytes; `POST /` reads the body and answers 900 bytes, like a token answer.

use std::io::Write;
use std::net::{SocketAddr, TcpListener};

use axum::Router;
use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::io::AsyncReadExt;

use crate::LoadtestError;

/// The size of the answer to a POST, in bytes.
pub const ANSWER_LEN: usize = 900;
const ANSWER: [u8; ANSWER_LEN] = [b'x'; ANSWER_LEN];

/// How the server uses the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runtimes {
    /// axum's and tokio's default: one runtime whose threads share the work.
    Shared,
    /// One single-threaded runtime per core, each with its own listener (`SO_REUSEPORT`).
    PerCore,
}

/// Serves until the process's standard input ends, so that it never outlives whoever started it. Says
/// `listening on http://ADDRESS` on `out` when it is ready.
///
/// # Errors
/// When it cannot listen, or no thread can be started.
pub fn serve(listen: SocketAddr, runtimes: Runtimes, out: &mut dyn Write) -> Result<(), LoadtestError> {
    let first = listener(listen)?;
    let address = first.local_addr()?;
    writeln!(out, "listening on http://{address}")?;
    out.flush()?;
    match runtimes {
        Runtimes::Shared => {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
            runtime.block_on(async {
                tokio::select! {
                    served = accept(first) => served,
                    () = input_ends() => Ok(()),
                }
            })
        }
        Runtimes::PerCore => {
            let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
            for _ in 1..cores {
                let listener = listener(address)?;
                std::thread::Builder::new().spawn(move || run_core(listener, false))?;
            }
            run_core(first, true)
        }
    }
}

fn run_core(listener: TcpListener, watch_input: bool) -> Result<(), LoadtestError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        tokio::select! {
            served = accept(listener) => served,
            () = input_ends(), if watch_input => Ok(()),
        }
    })
}

async fn accept(listener: TcpListener) -> Result<(), LoadtestError> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let answer = async |body: Bytes| {
        std::hint::black_box(body);
        ([(CONTENT_TYPE, "application/json")], ANSWER.as_slice())
    };
    let app = Router::new().route("/", get(async || "hello").post(answer));
    Ok(axum::serve(listener, app).await?)
}

async fn input_ends() {
    let mut input = tokio::io::stdin();
    let mut byte = [0; 64];
    while input.read(&mut byte).await.is_ok_and(|read| read > 0) {}
}

fn listener(address: SocketAddr) -> Result<TcpListener, LoadtestError> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(1024)?;
    Ok(socket.into())
}
