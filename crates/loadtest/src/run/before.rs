//! The settings of a provider that runs already, which a seed and a load change, and which are put back after them.

use std::io::Write;

use serde_json::{Value, json};

use crate::admin::{self, Admin};
use crate::provider::Provider;
use crate::{LoadtestError, Target};

/// What load tests change, as it was.
pub(crate) struct Before {
    code_lifetime: Value,
    introspection: Value,
}

impl Before {
    /// Reads it, where there is somebody to give it back to: nothing of a provider that was started here, and nothing where
    /// it is not told (its settings are then not changed either, or whoever changes them hears why not).
    pub(crate) async fn read(provider: &Provider, target: &Target) -> Option<Self> {
        if provider.is_ours() { None } else { Self::of(target).await.ok() }
    }

    async fn of(target: &Target) -> Result<Self, LoadtestError> {
        let mut admin = Admin::connect(target).await?;
        let settings = admin.show(admin::SETTINGS).await?;
        let code_lifetime = settings.pointer("/settings/lifetimes/code").cloned().unwrap_or_default();
        Ok(Self { code_lifetime, introspection: admin.show(admin::INTROSPECTION).await? })
    }

    /// Puts back what is not as it was. Where that cannot be done, it says what it was.
    pub(crate) async fn put_back(&self, provider: &Provider, progress: &mut (dyn Write + Send)) {
        let Self { code_lifetime, introspection } = self;
        if let Err(error) = self.replace(provider).await {
            let told = format!("lifetimes.code {code_lifetime}, introspection {introspection}");
            // Where nobody listens, there is nobody to tell.
            drop(writeln!(progress, "the issuer's settings were not put back ({told}): {error}"));
        }
    }

    async fn replace(&self, provider: &Provider) -> Result<(), LoadtestError> {
        let target = provider.discover().await?;
        let now = Self::of(&target).await?;
        let mut admin = Admin::connect(&target).await?;
        if now.introspection != self.introspection {
            admin.replace(admin::INTROSPECTION, &self.introspection).await?;
        }
        if now.code_lifetime != self.code_lifetime {
            let lifetime = json!({ "lifetimes": { "code": self.code_lifetime } });
            admin.change(admin::SETTINGS, &lifetime).await?;
        }
        Ok(())
    }
}
