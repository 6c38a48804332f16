//! Messages between the nodes, over a channel of Redis: fast, but sometimes lost.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::StreamExt;
use redis::aio::PubSub;
use redis::{Client, RedisResult};
use serde::{Deserialize, Serialize};
use symbolon_crypto::SecretString;
use symbolon_store::port::Changed;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};

use super::Nodes;
use crate::changes::Word;

/// How long connecting and subscribing may take.
const SUBSCRIBED_WITHIN: Duration = Duration::from_secs(2);

/// The wait before the next seed is tried.
const NEXT_SEED_AFTER: Duration = Duration::from_millis(100);

#[derive(Serialize, Deserialize)]
struct Message {
    node: String,
    number: i64,
    /// `None`: read the control version.
    changed: Option<Changed>,
}

impl Nodes {
    fn channel(&self) -> String {
        format!("{}:changes", self.shared.redis.tags().prefix())
    }

    fn hear(&self, payload: &[u8]) {
        let message = match serde_json::from_slice::<Message>(payload) {
            Ok(message) if message.node == self.node => return,
            Ok(message) => message,
            // A newer release may send messages that this one cannot read.
            Err(_) => return self.missed("a message could not be read"),
        };
        if !self.peers.received(&message.node, message.number) {
            return self.missed("a message of another node was lost");
        }
        match message.changed {
            None => self.wake.notify_one(),
            Some(changed) => self.shared.changes.apply(&changed),
        }
    }
}

/// Publishes every queued message, with a number.
pub(super) async fn tell(nodes: Arc<Nodes>, mut words: mpsc::UnboundedReceiver<Word>) {
    while let Some(changed) = words.recv().await {
        // Counted before it is sent, so that the others notice if it does not arrive.
        let number = nodes.told.fetch_add(1, Ordering::AcqRel) + 1;
        let message = Message { node: nodes.node.clone(), number, changed };
        if let Ok(payload) = serde_json::to_vec(&message) {
            let mut cmd = redis::cmd("PUBLISH");
            cmd.arg(nodes.channel()).arg(payload);
            if let Err(error) = nodes.shared.redis.ask(&cmd).await {
                tracing::debug!(target: "symbolon::store", %error, "a change was not told");
            }
        }
        nodes.shared.changes.sent();
    }
}

/// Receives the messages of the others through one of the seeds, until the node stops.
pub(super) async fn listen(nodes: Arc<Nodes>, seeds: Vec<SecretString>, first: oneshot::Sender<()>) {
    let mut first = Some(first);
    let mut stopping = nodes.stopping.subscribe();
    for seed in seeds.iter().cycle() {
        if *stopping.borrow() {
            return;
        }
        if let Ok(Ok(mut channel)) = timeout(SUBSCRIBED_WITHIN, subscribe(seed, &nodes.channel())).await {
            match first.take() {
                Some(first) => drop(first.send(())),
                None => nodes.missed("the connection for messages was made anew"),
            }
            let mut messages = channel.on_message();
            loop {
                tokio::select! {
                    _ = stopping.wait_for(|stop| *stop) => return,
                    () = nodes.resubscribe.notified() => break,
                    message = messages.next() => match message {
                        Some(message) => nodes.hear(message.get_payload_bytes()),
                        None => break,
                    },
                }
            }
        }
        sleep(NEXT_SEED_AFTER).await;
    }
}

async fn subscribe(seed: &SecretString, channel: &str) -> RedisResult<PubSub> {
    let mut connection = Client::open(seed.expose())?.get_async_pubsub().await?;
    connection.subscribe(channel).await?;
    Ok(connection)
}
