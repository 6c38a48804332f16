//! A listener in front of several nodes. Connections go to one node after the other, each only when every node has
//! applied all earlier changes.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use symbolon_server::serve::Bound;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

use super::data::InStep;

/// The addresses of a server.
pub(super) struct RoundRobin {
    pub(super) public: SocketAddr,
    pub(super) management: SocketAddr,
    listeners: Vec<(std::net::TcpListener, Vec<SocketAddr>)>,
}

impl RoundRobin {
    /// A listener in front of some nodes; a single node needs none.
    pub(super) fn before(nodes: &[Bound]) -> Self {
        let public: Vec<_> = nodes.iter().map(|node| node.public_address).collect();
        let management: Vec<_> = nodes.iter().map(|node| node.management_address).collect();
        if let ([public], [management]) = (public.as_slice(), management.as_slice()) {
            return Self { public: *public, management: *management, listeners: Vec::new() };
        }
        let listen = || std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let (of_public, of_management) = (listen(), listen());
        Self {
            public: of_public.local_addr().expect("an address"),
            management: of_management.local_addr().expect("an address"),
            listeners: vec![(of_public, public), (of_management, management)],
        }
    }

    /// Starts to forward connections, on the current runtime.
    pub(super) fn start(self, in_step: InStep) {
        let in_step = Arc::new(in_step);
        let turn = Arc::new(AtomicUsize::new(0));
        for (listener, nodes) in self.listeners {
            listener.set_nonblocking(true).expect("a listener");
            let listener = TcpListener::from_std(listener).expect("a listener");
            let (in_step, turn) = (Arc::clone(&in_step), Arc::clone(&turn));
            tokio::spawn(async move {
                while let Ok((client, _)) = listener.accept().await {
                    let node = nodes[turn.fetch_add(1, Ordering::Relaxed) % nodes.len()];
                    tokio::spawn(forward(client, node, Arc::clone(&in_step)));
                }
            });
        }
    }
}

async fn forward(mut client: TcpStream, node: SocketAddr, in_step: Arc<InStep>) {
    while !in_step() {
        sleep(Duration::from_millis(1)).await;
    }
    if let Ok(mut node) = TcpStream::connect(node).await {
        // Whichever side closes first, the test sees what the other side sent.
        let _ = copy_bidirectional(&mut client, &mut node).await;
    }
}
