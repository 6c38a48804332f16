//! One port of loopback in several network namespaces. Mail without TLS goes to loopback only, and each node of a cluster has a
//! loopback of its own.

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsFd;
use std::thread;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// A port that was free, and a listener on it here and in each of the namespaces.
///
/// # Errors
/// It could not be opened in one of them.
pub(super) fn listen(spaces: &[File]) -> io::Result<(u16, Vec<TcpListener>)> {
    let here = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = here.local_addr()?.port();
    let mut all = vec![here];
    for space in spaces {
        all.push(listen_in(space, port)?);
    }
    Ok((port, all))
}

/// A socket belongs to the namespace in which it was made. Only the thread that makes it moves there, and then ends.
fn listen_in(space: &File, port: u16) -> io::Result<TcpListener> {
    thread::scope(|scope| {
        let bound = scope.spawn(|| {
            move_into_link_name_space(space.as_fd(), Some(LinkNameSpaceType::Network))?;
            TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        });
        bound.join().expect("the thread only binds")
    })
}
