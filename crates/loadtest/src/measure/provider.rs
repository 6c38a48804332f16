//! The provider under measurement.

use std::ffi::OsStr;
use std::net::{SocketAddr, TcpListener};

use symbolon_crypto::{SecretString, SystemRandom, random};
use tempfile::TempDir;

use super::MeasureOptions;
use crate::LoadtestError;
use crate::process::Server;

/// The provider that is measured: given, or started here.
pub(super) struct Provider {
    pub(super) url: String,
    pub(super) secret: SecretString,
    pub(super) pid: u32,
    started: Option<(Server, TempDir)>,
}

impl Provider {
    pub(super) async fn get(options: &MeasureOptions) -> Result<Self, LoadtestError> {
        if let Some(target) = &options.target {
            let secret = SecretString::new(target.admin_secret.expose().to_owned());
            return Ok(Self { url: target.url.clone(), secret, pid: target.pid, started: None });
        }
        let data = tempfile::Builder::new().prefix("symbolon-measure-").tempdir_in(&options.data_parent)?;
        let secret = SecretString::new(random::base64url::<32>(&SystemRandom));
        let (listen, management) = (free_address()?, free_address()?);
        let url = format!("http://{listen}");
        let (listen, management) = (listen.to_string(), management.to_string());
        let environment: [(&str, &OsStr); 8] = [
            ("SYMBOLON_ISSUER", url.as_ref()),
            ("SYMBOLON_LISTEN", listen.as_ref()),
            ("SYMBOLON_MANAGEMENT_LISTEN", management.as_ref()),
            ("SYMBOLON_DATA_DIR", data.path().as_os_str()),
            ("SYMBOLON_ADMIN_SECRET", secret.expose().as_ref()),
            ("SYMBOLON_ADMIN_ON_PUBLIC", "true".as_ref()),
            ("SYMBOLON_TEST_ENDPOINTS", "true".as_ref()),
            ("SYMBOLON_RATE_LIMITS", "off".as_ref()),
        ];
        let server = Server::start(&options.program, ["serve"], &environment).await?;
        Ok(Self { url: server.url.clone(), pid: server.pid(), secret, started: Some((server, data)) })
    }

    pub(super) async fn end(self) {
        if let Some((server, data)) = self.started {
            server.kill().await;
            drop(data);
        }
    }
}

/// A port that was free a moment ago: the issuer must name it before the server has it.
fn free_address() -> Result<SocketAddr, LoadtestError> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?)
}
