//! How long requests wait in a deployment that nobody has built: a queueing simulation of it.

mod check;
mod engine;
mod model;

pub use check::at_point;
pub use model::{Latency, Loss, Outlook, SimulationOptions, simulate};
