//! Load generation and measurement over HTTP, for this provider or any other.
//!
//! A [`scenario`] is seed data and one [`scenario::Visitor`] per connection, who writes the next request and
//! judges every answer by what it must say, not only by its status. An [`executor`] drives visitors over
//! keep-alive connections: closed (each sends again as soon as it is answered) or open (arrivals fixed in
//! advance, latency counted from the intended arrival). [`seed`] fills a provider through its admin API, and
//! [`mod@measure`] puts the server's CPU per request beside what the machine needs for the cryptography and for
//! bare HTTP in the same run.
//!
//! Nothing here prints: progress and reports go to a writer that the caller gives.

mod admin;
pub mod agents;
pub mod authenticator;
pub mod capacity;
pub mod client;
pub mod clock;
pub mod course;
pub mod cpu;
pub mod day;
mod error;
pub mod executor;
pub mod gate;
pub mod guard;
pub mod hello;
pub mod k6;
pub mod latency;
pub mod machine;
pub mod measure;
pub mod plan;
pub mod process;
mod provider;
pub mod replay;
pub mod report;
pub mod results;
pub mod run;
pub mod scenario;
mod scrape;
pub mod seed;
pub mod suite;
pub mod tally;
pub mod target;
pub mod trend;
mod vitals;
pub mod watch;

pub use error::LoadtestError;
pub use measure::{MeasureOptions, Report, measure};
pub use provider::{ProviderOptions, RunningTarget, free_address, free_pair};
pub use run::{RunOptions, restore, run};
pub use tally::Tally;
pub use target::Target;
