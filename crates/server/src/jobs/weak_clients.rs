//! Says at the start which clients have a setting that leaves them less protected than the default does. When one is saved,
//! the admin API says it; an administrator who takes a server over, or a copy of its data, sees it here.

use symbolon_app::app::App;
use symbolon_protocol::client_metadata::is_below_default;
use symbolon_protocol::id::{ClientId, IssuerId};
use symbolon_protocol::pkce::PkcePolicy;
use symbolon_store::StoreError;
use symbolon_store::port::Clients;
use tokio::sync::watch;

use super::stopped;

/// Clients that are read at once.
const AT_ONCE: u32 = 500;

/// How many clients of an issuer are named.
const MOST_NAMED: usize = 20;

/// The clients of an issuer that ask for less than RFC 9700 2.1.1 recommends: the first of them, and how many there are.
#[derive(Debug, Default, PartialEq, Eq)]
struct BelowDefault {
    named: Vec<ClientId>,
    number: usize,
}

/// Reads every client once, beside the requests that are answered meanwhile, and warns with one line for each issuer.
pub(super) async fn tell(app: &App, mut stopping: watch::Receiver<bool>) {
    let told = async {
        for issuer in app.issuers.load_full().iter() {
            match below_default(&*app.store, &issuer.id).await {
                Ok(BelowDefault { number: 0, .. }) => {}
                Ok(BelowDefault { named, number }) => {
                    let clients: Vec<&str> = named.iter().map(ClientId::as_str).collect();
                    let clients = clients.join(" ");
                    let issuer = &*issuer.url;
                    tracing::warn!(
                        issuer,
                        number,
                        clients,
                        "clients have pkce=optional. {}",
                        PkcePolicy::WEAKENS
                    );
                }
                Err(error) => {
                    let issuer = &*issuer.url;
                    tracing::warn!(target: "symbolon::jobs", issuer, %error, "the settings of the clients were not read");
                }
            }
        }
    };
    tokio::select! {
        biased;
        () = stopped(&mut stopping) => {}
        () = told => {}
    }
}

async fn below_default<S: Clients + ?Sized>(
    store: &S,
    issuer: &IssuerId,
) -> Result<BelowDefault, StoreError> {
    let mut found = BelowDefault::default();
    let mut after: Option<ClientId> = None;
    loop {
        let some = store.next_clients(issuer, after.as_ref(), AT_ONCE).await?;
        for client in some.iter().filter(|client| is_below_default(client)) {
            found.number += 1;
            if found.named.len() < MOST_NAMED {
                found.named.push(client.client_id.clone());
            }
        }
        match some.last() {
            Some(last) if some.len() == AT_ONCE as usize => after = Some(last.client_id.clone()),
            _ => return Ok(found),
        }
    }
}
