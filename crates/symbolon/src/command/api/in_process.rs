//! The admin API without a server: opens the store in this process and sends requests to the same router.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use symbolon_admin as admin;
use symbolon_app::app::App;
use symbolon_app::clock::SystemClock;
use symbolon_config::Config;
use symbolon_server::jobs::{self, Jobs};
use tokio::sync::watch;
use tower::ServiceExt;

use super::ApiError;
use crate::process::store::{self, Opened};
use crate::process::{self, ProcessError, master_key, owner};

/// The provider without its listeners.
pub(super) struct InProcess {
    app: Arc<App>,
    router: Router,
    jobs: Jobs,
    stop: watch::Sender<bool>,
    _opened: Opened,
}

impl InProcess {
    /// Opens the store of a configuration: its data directory or, as one more node, the cluster.
    pub(super) async fn open(config: Config) -> Result<Self, ProcessError> {
        if config.storage.cluster.is_none() {
            owner::check(&config.storage.data_dir)?;
        }
        let clock = SystemClock::start();
        let opened = store::open(&config, &clock).await?;
        let (app, _) = process::make_app(config, &opened, &clock).await?;
        master_key::load_issuers(&app).await?;
        let router = Router::new().nest("/api/admin", admin::router(Arc::clone(&app)));
        let (stop, stopping) = watch::channel(false);
        // The background jobs write the audit log.
        let jobs = jobs::spawn(Arc::clone(&app), None, stopping);
        Ok(Self { app, router, jobs, stop, _opened: opened })
    }

    pub(super) async fn send(&self, request: Request<Body>) -> Result<(StatusCode, Bytes), ApiError> {
        let (status, body) = self.ask(request).await;
        let body = body.collect().await.map_err(|error| ApiError::Answer(error.to_string()))?;
        Ok((status, body.to_bytes()))
    }

    /// Sends a request; the body of the answer is read by the caller, as it comes.
    pub(super) async fn ask(&self, request: Request<Body>) -> (StatusCode, Body) {
        let Ok(response) = self.router.clone().oneshot(request).await;
        (response.status(), response.into_body())
    }

    pub(super) async fn close(self) -> Result<(), ProcessError> {
        self.stop.send_replace(true);
        self.jobs.finish().await;
        Ok(self.app.store.close().await?)
    }
}
