//! The page as it is served: one document with its script and style in it, which a browser runs because the policy names
//! their digests.

use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use symbolon_crypto::digest::sha256;

use super::Shared;
use crate::report::live;

/// Swaps the parts of the page that have changed.
const SCRIPT: &str = include_str!("page.js");

/// The page, drawn again only where the course has changed.
pub(super) struct Page {
    shared: Arc<Shared>,
    drawn: Mutex<Option<(u64, Parts)>>,
    policy: String,
}

/// What changes of the page.
#[derive(Clone)]
pub(super) struct Parts {
    /// With every second.
    pub(super) running: Arc<str>,
    /// With the end of a run: of a long suite much larger.
    pub(super) finished: Arc<str>,
    /// Which runs these are: their number, and whether no more come.
    pub(super) finished_are: (usize, bool),
}

impl Page {
    pub(super) fn of(shared: Arc<Shared>) -> Self {
        let digest = |text: &str| STANDARD.encode(sha256(&[text.as_bytes()]));
        let (script, style) = (digest(SCRIPT), digest(&live::style()));
        let policy = format!(
            "default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; connect-src 'self'; \
             base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        );
        Self { shared, drawn: Mutex::default(), policy }
    }

    /// What a browser may do with the page: run its script, use its style, and ask this server.
    pub(super) fn policy(&self) -> &str {
        &self.policy
    }

    /// The page as it is now. The load test may wait for the lock meanwhile, but never its generator, which tells it by a
    /// queue.
    pub(super) fn parts(&self) -> Parts {
        let mut drawn = self.drawn.lock().unwrap_or_else(PoisonError::into_inner);
        let version = *self.shared.version.borrow();
        let before = match &*drawn {
            Some((of, parts)) if *of == version => return parts.clone(),
            before => before.as_ref().map(|(_, parts)| parts),
        };
        let course = self.shared.course();
        let finished_are = (course.finished.len(), course.end.is_some());
        let parts = Parts {
            running: live::running(&course).into(),
            finished: match before.filter(|before| before.finished_are == finished_are) {
                Some(before) => Arc::clone(&before.finished),
                None => live::finished(&course).into(),
            },
            finished_are,
        };
        drop(course);
        *drawn = Some((version, parts.clone()));
        parts
    }

    /// The whole document.
    pub(super) fn whole(&self) -> String {
        let title = self.shared.course().title.clone();
        let Parts { running, finished, .. } = self.parts();
        live::page(&title, &format!("{running}{finished}"), SCRIPT)
    }
}
