//! Opens a worker's own connections: over TCP or TLS, as the user in the URL.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use redis::{Cmd, ConnectionAddr, ConnectionInfo, Value};
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;

use super::super::answering::run_in;
use super::super::liveness::SETTLING;
use super::super::pipe::{Pipe, Stream};
use super::{Open, Primary};
use crate::postgres::tls;

/// Connects, asks for the run id of the process, and waits for [`SETTLING`].
pub(super) async fn connect(to: &ConnectionInfo, within: Duration) -> io::Result<Open> {
    let open = timeout(within, async {
        let pipe = Arc::new(Pipe::new(stream(to.addr()).await?, within));
        let user = to.redis_settings();
        if let Some(password) = user.password() {
            let mut auth = redis::cmd("AUTH");
            if let Some(name) = user.username() {
                auth.arg(name);
            }
            ask(&pipe, auth.arg(password)).await?;
        }
        let info = ask(&pipe, redis::cmd("INFO").arg("server")).await?;
        let run = match &info {
            Value::BulkString(text) => std::str::from_utf8(text).ok().and_then(run_in),
            _ => None,
        };
        let run = run.ok_or_else(|| io::Error::other("INFO server has no run_id"))?;
        io::Result::Ok(Open { pipe, primary: Primary(run.cast_unsigned()) })
    })
    .await??;
    sleep(SETTLING).await;
    Ok(open)
}

async fn ask(pipe: &Arc<Pipe>, cmd: &Cmd) -> io::Result<Value> {
    let lost = || io::Error::from(io::ErrorKind::NotConnected);
    pipe.ask(cmd).map_err(|_| lost())?.await.map_err(|_| lost())?.map_err(io::Error::other)
}

async fn stream(address: &ConnectionAddr) -> io::Result<Box<dyn Stream>> {
    let tcp = |host: &str, port: u16| {
        let connecting = TcpStream::connect((host.to_owned(), port));
        async {
            let stream = connecting.await?;
            stream.set_nodelay(true)?;
            io::Result::Ok(stream)
        }
    };
    match address {
        ConnectionAddr::Tcp(host, port) => Ok(Box::new(tcp(host, *port).await?)),
        ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None } => {
            let name = ServerName::try_from(host.clone()).map_err(io::Error::other)?;
            let connector = TlsConnector::from(Arc::new(tls()));
            Ok(Box::new(connector.connect(name, tcp(host, *port).await?).await?))
        }
        _ => Err(io::Error::from(io::ErrorKind::Unsupported)),
    }
}
