//! Listening sockets.

use std::io;
use std::net::{SocketAddr, TcpListener};

use socket2::{Domain, Protocol, Socket, Type};

/// Length of the kernel's queue of connections that are not accepted yet.
const BACKLOG: i32 = 4096;

/// Binds a socket that does not listen yet. `shared`: several sockets of this process use the address
/// (`SO_REUSEPORT`), and the kernel distributes connections among them.
pub(super) fn bind(address: SocketAddr, shared: bool) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    if shared {
        socket.set_reuse_port(true)?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

/// Fails if another process listens on the address. Without this check, shared sockets could join those of another
/// server of the same user, and the kernel would distribute connections between both servers. Binding an unshared
/// socket reveals that; it is closed again before the shared ones are bound.
pub(super) fn refuse_if_taken(address: SocketAddr) -> io::Result<()> {
    // Port 0 means a free port.
    if address.port() == 0 { Ok(()) } else { bind(address, false).map(drop) }
}

/// The address of a bound socket.
pub(super) fn address(socket: &Socket) -> io::Result<SocketAddr> {
    socket.local_addr()?.as_socket().ok_or_else(|| io::Error::from(io::ErrorKind::AddrNotAvailable))
}

/// Starts listening.
pub(super) fn listen(socket: Socket) -> io::Result<TcpListener> {
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::{ServeError, bind as bind_both};

    #[test]
    fn a_second_server_on_the_port_of_one_with_many_workers_is_refused() {
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let first = bind_both(any, any, 2).unwrap();
        let taken = first.public_address;
        let listening: Vec<_> = first.public.into_iter().map(|socket| listen(socket).unwrap()).collect();
        for workers in [1, 2] {
            match bind_both(taken, any, workers) {
                Err(ServeError::Listen { address, key, source }) => {
                    assert_eq!((address, key, source.kind()), (taken, "listen", io::ErrorKind::AddrInUse));
                }
                Err(other) => panic!("{other}"),
                Ok(_) => panic!("two servers share {taken}"),
            }
        }
        drop(listening);
        assert_eq!(bind_both(taken, any, 2).unwrap().public_address, taken, "free again");
    }
}
