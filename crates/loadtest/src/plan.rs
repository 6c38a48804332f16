//! How many machines a number of users takes: a model of the cluster store.
//!
//! [`Costs`] are measured (`measure_cluster`), a [`Workload`] says what users do, [`Hardware`] what one machine of a kind
//! is. [`Deployment::of`] multiplies, adds, and rounds up: costs are linear, which is itself measured (the cost of a
//! request does not grow with the number of nodes). [`simulate`] then asks how long requests wait in what came out, and
//! with machines lost.

mod costs;
mod deployment;
mod describe;
#[cfg(test)]
mod document;
mod hardware;
mod prices;
mod simulation;
mod workload;

pub use costs::{Background, Costs, Footprint, OperationCost, Point, RotationCost};
pub use deployment::{Database, Deployment, Limit, Nodes, RedisCluster};
pub use hardware::Hardware;
pub use prices::{Bill, PartCost, Prices};
pub use simulation::{Latency, Loss, Outlook, SimulationOptions, at_point, simulate};
pub use workload::{OPERATIONS, Preset, Workload};
