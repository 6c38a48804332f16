//! How long requests wait in a deployment that nobody has built: a queueing simulation of it.

mod engine;
mod model;

pub use model::{Loss, Outlook, SimulationOptions, simulate};
