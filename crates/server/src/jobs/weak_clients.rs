//! Says at the start which clients have a `pkce` of their own that asks for less than the default, and how many ask for more. When one
//! that asks for less is saved, the admin API says it; an administrator who takes a server over, or a copy of its data, sees it here.

use symbolon_app::app::App;
use symbolon_protocol::client::Client;
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

/// The clients of an issuer that do not follow the default: of those that ask for less than RFC 9700 2.1.1 recommends the first,
/// and how many there are; and how many ask for more.
#[derive(Debug, Default, PartialEq, Eq)]
struct Unusual {
    weak: Vec<ClientId>,
    number_of_weak: usize,
    number_of_strict: usize,
}

impl Unusual {
    fn add(&mut self, client: &Client) {
        if is_below_default(client) {
            self.number_of_weak += 1;
            if self.weak.len() < MOST_NAMED {
                self.weak.push(client.client_id.clone());
            }
        }
        if !client.is_public() && client.settings.pkce == Some(PkcePolicy::Required) {
            self.number_of_strict += 1;
        }
    }

    fn tell(&self, issuer: &str) {
        if self.number_of_weak > 0 {
            let clients: Vec<&str> = self.weak.iter().map(ClientId::as_str).collect();
            let (number, clients) = (self.number_of_weak, clients.join(" "));
            tracing::warn!(issuer, number, clients, "clients have pkce=optional. {}", PkcePolicy::WEAKENS);
        }
        if self.number_of_strict > 0 {
            let number = self.number_of_strict;
            tracing::info!(issuer, number, "clients have pkce=required. {}", PkcePolicy::KEEPS_OUT);
        }
    }
}

/// Reads every client once, beside the requests that are answered meanwhile, and says what there is of each issuer.
pub(super) async fn tell(app: &App, mut stopping: watch::Receiver<bool>) {
    let told = async {
        for issuer in app.issuers.load_full().iter() {
            match unusual(&*app.store, &issuer.id).await {
                Ok(found) => found.tell(&issuer.url),
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

async fn unusual<S: Clients + ?Sized>(store: &S, issuer: &IssuerId) -> Result<Unusual, StoreError> {
    let mut found = Unusual::default();
    let mut after: Option<ClientId> = None;
    loop {
        let some = store.next_clients(issuer, after.as_ref(), AT_ONCE).await?;
        some.iter().for_each(|client| found.add(client));
        match some.last() {
            Some(last) if some.len() == AT_ONCE as usize => after = Some(last.client_id.clone()),
            _ => return Ok(found),
        }
    }
}
