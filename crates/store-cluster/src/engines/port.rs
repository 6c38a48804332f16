//! Loopback ports that nobody else takes, even while the server on them is down.
//!
//! A port is reserved by a name among the abstract Unix sockets, which other test processes on this machine respect
//! and which the kernel frees when the process ends, however it ends. The numbers lie below those that the kernel
//! gives to outgoing connections (32,768 and up on Linux), so a killed server finds its port free when it comes back.

use std::net::{Ipv4Addr, TcpListener};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

/// What Redis adds to a node's port for the cluster's own traffic.
const BUS: u16 = 10_000;

const FIRST: u16 = 10_000;
const COUNT: u16 = 12_000;

/// Coprime to `COUNT`, so that a walk from any start visits every number.
const STRIDE: u64 = 7_919;

/// A reserved port. It is free for others when this is dropped.
pub struct Port {
    number: u16,
    _reservations: Vec<UnixListener>,
}

impl Port {
    /// One free port.
    ///
    /// # Panics
    ///
    /// All ports are taken.
    pub fn reserve() -> Self {
        Self::reserve_with(&[0])
    }

    /// One free port whose cluster bus port, 10,000 above, is free as well.
    pub(super) fn reserve_with_bus() -> Self {
        Self::reserve_with(&[0, BUS])
    }

    /// Its number.
    pub fn number(&self) -> u16 {
        self.number
    }

    /// The port of the cluster bus.
    pub(super) fn bus(&self) -> u16 {
        self.number + BUS
    }

    fn reserve_with(offsets: &[u16]) -> Self {
        let start = super::random() % u64::from(COUNT);
        (0..u64::from(COUNT))
            .filter_map(|step| u16::try_from((start + step * STRIDE) % u64::from(COUNT)).ok())
            .map(|nth| FIRST + nth)
            .find_map(|number| {
                let reservations =
                    offsets.iter().map(|offset| reservation(number + offset)).collect::<Option<_>>()?;
                Some(Self { number, _reservations: reservations })
            })
            .expect("a free loopback port")
    }
}

/// Reserves `number`, unless it is reserved or a server listens on it.
fn reservation(number: u16) -> Option<UnixListener> {
    let name = SocketAddr::from_abstract_name(format!("symbolon-engines-port-{number}")).ok()?;
    let reservation = UnixListener::bind_addr(&name).ok()?;
    TcpListener::bind((Ipv4Addr::LOCALHOST, number)).ok()?;
    Some(reservation)
}
