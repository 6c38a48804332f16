//! The transport: SMTP (RFC 5321) by lettre's connections, step by step, because it matters how far a mail came.
//!
//! Until the mail's text is sent, a failure means that the mail was not taken, and it may be sent again. When its text was
//! sent and no answer came, nobody knows: the server may have taken it (RFC 1047). Such a failure has its own kind.

use std::time::Duration;

use lettre::address::AddressError;
use lettre::message::Mailbox;
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{AsyncSmtpConnection, TlsParameters};
use lettre::transport::smtp::commands::{Data, Mail, Rcpt, Rset};
use lettre::transport::smtp::extension::{ClientId, Extension, MailParameter};
use lettre::transport::smtp::{Error, client::CertificateStore};
use parking_lot::Mutex;
use symbolon_config::{Sender, SmtpServer, SmtpTls};
use symbolon_protocol::time::Timestamp;
use tokio::time::timeout;

use crate::Letter;

/// How long connecting may take, with TLS and authentication.
const CONNECT: Duration = Duration::from_secs(20);
/// How long the commands of the envelope may take together.
const ENVELOPE: Duration = Duration::from_secs(20);
/// How long the server may take to take the text.
const TEXT: Duration = Duration::from_secs(60);
/// How long an unused connection is kept: less than servers keep them (RFC 5321 section 4.5.3.2.7: five minutes).
const IDLE: Duration = Duration::from_secs(30);

/// How far a mail came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Connecting, TLS, authentication.
    Connect,
    /// Sender and recipient.
    Envelope,
    /// The text.
    Text,
}

impl Stage {
    /// The name in logs and in the audit log.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Envelope => "envelope",
            Self::Text => "text",
        }
    }
}

/// What a failure means for the mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SmtpFailure {
    /// The server cannot be used: it is down, or refuses this sender altogether. All mail waits.
    Unavailable,
    /// This mail was not taken, and may be taken later (RFC 5321 section 4.2.1, 4yz).
    Later,
    /// This mail will never be taken (5yz).
    Never,
    /// The connection ended while the text was on its way: the server may have taken the mail.
    Unknown,
}

/// Why a mail was not sent.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", stage.name())]
pub struct SmtpError {
    /// What it means for the mail.
    pub failure: SmtpFailure,
    /// How far the mail came.
    pub stage: Stage,
    /// The server's code, if it answered.
    pub code: Option<u16>,
    /// What happened, in words, for the log.
    pub reason: String,
}

/// Why the transport cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum SmtpSetup {
    /// The TLS settings cannot be made.
    #[error("TLS to the server of mail cannot be set up: {0}")]
    Tls(#[from] Error),
    /// The sender's address is none.
    #[error("the sender of mail is no address: {0}")]
    Sender(#[from] AddressError),
}

/// A connection that is not used at the moment.
struct Idle {
    connection: AsyncSmtpConnection,
    since: Timestamp,
}

/// Sends mail to one server, and keeps its connections for the next mail.
pub struct Smtp {
    server: SmtpServer,
    tls: TlsParameters,
    hello: ClientId,
    idle: Mutex<Vec<Idle>>,
    most_idle: usize,
}

impl Smtp {
    /// A transport to a server, which connects with the first mail. `most_idle`: how many connections are kept.
    ///
    /// # Errors
    /// [`SmtpSetup`].
    pub fn new(server: SmtpServer, from: &Sender, most_idle: usize) -> Result<Self, SmtpSetup> {
        let from: Mailbox = Mailbox::new(None, from.address.parse()?);
        let mut tls = TlsParameters::builder(server.host.clone());
        if server.tls == SmtpTls::OnThisMachine {
            tls = tls
                .dangerous_accept_invalid_certs(true)
                .dangerous_accept_invalid_hostnames(true)
                .certificate_store(CertificateStore::None);
        }
        let hello = ClientId::Domain(from.email.domain().to_owned());
        Ok(Self { server, tls: tls.build()?, hello, idle: Mutex::default(), most_idle })
    }

    /// Sends one mail.
    ///
    /// # Errors
    /// [`SmtpError`].
    pub async fn send(&self, letter: &Letter, now: Timestamp) -> Result<(), SmtpError> {
        if let Some(mut kept) = self.take_idle(now) {
            match self.send_by(&mut kept, letter).await {
                // The server has closed it meanwhile: nothing of this mail was taken.
                Err(error) if error.stage == Stage::Envelope && error.code.is_none() => {}
                ended => return self.settle(kept, ended, now).await,
            }
        }
        let mut fresh = self.connect().await?;
        let ended = self.send_by(&mut fresh, letter).await;
        self.settle(fresh, ended, now).await
    }

    /// Says goodbye on the connections that are kept.
    pub async fn close(&self) {
        let kept = std::mem::take(&mut *self.idle.lock());
        for mut idle in kept {
            drop(timeout(Duration::from_secs(1), idle.connection.quit()).await);
        }
    }

    fn take_idle(&self, now: Timestamp) -> Option<AsyncSmtpConnection> {
        let mut idle = self.idle.lock();
        idle.retain(|idle| now.since(idle.since) < IDLE);
        idle.pop().map(|idle| idle.connection)
    }

    /// Keeps the connection for the next mail, if it is still good for one.
    async fn settle(
        &self,
        mut connection: AsyncSmtpConnection,
        ended: Result<(), SmtpError>,
        now: Timestamp,
    ) -> Result<(), SmtpError> {
        let is_good = match &ended {
            Ok(()) => true,
            // 421: the server is about to close it (RFC 5321 section 3.8).
            Err(SmtpError { code: Some(421) | None, .. }) => false,
            Err(_) => matches!(timeout(ENVELOPE, connection.command(Rset)).await, Ok(Ok(_))),
        };
        if is_good && !connection.has_broken() {
            let mut idle = self.idle.lock();
            if idle.len() < self.most_idle {
                idle.push(Idle { connection, since: now });
            }
        }
        ended
    }

    async fn connect(&self) -> Result<AsyncSmtpConnection, SmtpError> {
        let unavailable = |code, reason| SmtpError {
            failure: SmtpFailure::Unavailable,
            stage: Stage::Connect,
            code,
            reason,
        };
        match timeout(CONNECT, self.open()).await {
            Ok(Ok(connection)) => Ok(connection),
            Ok(Err(error)) => Err(unavailable(error.status().map(u16::from), error.to_string())),
            Err(_) => Err(unavailable(None, "the server did not answer in time".to_owned())),
        }
    }

    async fn open(&self) -> Result<AsyncSmtpConnection, Error> {
        let SmtpServer { host, port, tls, login } = &self.server;
        let wrapped = (*tls == SmtpTls::Implicit).then(|| self.tls.clone());
        let mut connection = AsyncSmtpConnection::connect_tokio1(
            (host.as_str(), *port),
            Some(CONNECT),
            &self.hello,
            wrapped,
            None,
        )
        .await?;
        let upgrade = match tls {
            SmtpTls::Implicit => false,
            // Fails where the server does not offer it.
            SmtpTls::Required => true,
            SmtpTls::OnThisMachine => connection.can_starttls(),
        };
        if upgrade {
            connection.starttls(self.tls.clone(), &self.hello).await?;
        }
        if let Some((user, password)) = login {
            let credentials = Credentials::new(user.clone(), password.expose().to_owned());
            connection.auth(DEFAULT_MECHANISMS, &credentials).await?;
        }
        Ok(connection)
    }

    async fn send_by(&self, connection: &mut AsyncSmtpConnection, letter: &Letter) -> Result<(), SmtpError> {
        match timeout(ENVELOPE, envelope(connection, letter)).await {
            Ok(sent) => sent?,
            Err(_) => {
                return Err(failed(Stage::Envelope, None, "the server did not answer in time".to_owned()));
            }
        }
        match timeout(TEXT, connection.message(&letter.text)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(told(Stage::Text, &error)),
            Err(_) => Err(failed(Stage::Text, None, "the server did not answer in time".to_owned())),
        }
    }
}

async fn envelope(connection: &mut AsyncSmtpConnection, letter: &Letter) -> Result<(), SmtpError> {
    let mut parameters = Vec::new();
    if letter.needs_utf8() {
        // RFC 6531 section 3.5: without it the address cannot be written.
        if !connection.server_info().supports_feature(Extension::SmtpUtfEight) {
            let reason = "the server takes no addresses beyond ASCII".to_owned();
            return Err(SmtpError {
                failure: SmtpFailure::Never,
                stage: Stage::Envelope,
                code: Some(553),
                reason,
            });
        }
        parameters.push(MailParameter::SmtpUtfEight);
    }
    let envelope = |error| told(Stage::Envelope, &error);
    connection.command(Mail::new(Some(letter.from.clone()), parameters)).await.map_err(envelope)?;
    connection.command(Rcpt::new(letter.to.clone(), Vec::new())).await.map_err(envelope)?;
    connection.command(Data).await.map_err(envelope)?;
    Ok(())
}

fn told(stage: Stage, error: &Error) -> SmtpError {
    failed(stage, error.status().map(u16::from), error.to_string())
}

fn failed(stage: Stage, code: Option<u16>, reason: String) -> SmtpError {
    let failure = match (code, stage) {
        (Some(421), _) => SmtpFailure::Unavailable,
        (Some(500..), _) => SmtpFailure::Never,
        (Some(_), _) => SmtpFailure::Later,
        (None, Stage::Text) => SmtpFailure::Unknown,
        (None, _) => SmtpFailure::Unavailable,
    };
    SmtpError { failure, stage, code, reason }
}

#[cfg(test)]
mod tests;
