//! A seed planted for later runs, by this program or another.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::SeedOptions;
use crate::LoadtestError;
use crate::provider::ProviderOptions;
use crate::run::{Ready, Seeding, on_a_runtime};

/// What to plant, where, and who is told.
pub struct PlantOptions {
    /// How much.
    pub seed: SeedOptions,
    /// Where.
    pub provider: ProviderOptions,
    /// The file that gets it.
    pub file: PathBuf,
}

/// Plants a seed and saves it; blocks the calling thread, which must not be one of an asynchronous runtime. A provider
/// that it starts runs on until Ctrl-C or SIGTERM, because its seed is of no use without it.
///
/// # Errors
/// [`LoadtestError`] when it could not be planted or saved.
pub fn plant_and_save(
    options: &PlantOptions,
    progress: &mut (dyn Write + Send),
) -> Result<(), LoadtestError> {
    on_a_runtime(async {
        let seeding = Seeding::Plant(options.seed.clone());
        let mut ready = Ready::prepare(&options.provider, None, (seeding, &[]), progress).await?;
        if let Err(error) = ready.seed().save(&options.file) {
            ready.end(progress).await;
            return Err(error);
        }
        // Whoever loads by the file needs them as they are now.
        ready.keep_settings();
        writeln!(progress, "saved to {}", absolute(&options.file).display())?;
        if options.provider.target.is_none() {
            writeln!(progress, "{} until Ctrl-C", ready.whereabouts())?;
            ready.signalled().await;
        }
        ready.end(progress).await;
        Ok(())
    })
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
