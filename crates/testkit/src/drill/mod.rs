//! Drills: a real `symbolon` process is killed, or loses its power, its disk space or its time. Afterwards everything
//! that it acknowledged before must hold.
//!
//! A [`Crew`] of workers loads the process ([`Provider`]). Each worker keeps a [`Ledger`] of what was sent and what was
//! answered. After the accident [`verify`](Crew::verify) compares the ledgers with the process that was started again.
//! [`People`] sign in, and what is delivered to them
//! arrives in an [`Inbox`](inbox::Inbox). [`strace`] and [`disk`] rebuild a data directory as a power cut would have left it. [`cluster`] has several nodes,
//! their engines and their faults. [`flood`] has the load of many connections at once.

mod actor;
mod crew;
mod deliveries;
mod faketime;
mod ledger;
mod load;
mod meter;
mod people;
mod provider;
mod relying_party;
mod scene;
mod tally;
mod used_once;
mod verify;
mod wire;

pub mod cluster;
pub mod disk;
pub mod flood;
pub mod inbox;
pub mod strace;

pub use actor::{Actor, LOST_CODE};
pub use crew::{Crew, Pressure};
pub use ledger::{Chain, Code, Fate, Ledger, Link, Micros, Moment, Person, SignedIn, Span, Token};
pub use meter::{Availability, Meter, Noted, Outcome};
pub use people::{HeldPasskey, Holder, MailedKind, MailedSecret, People, Proof, QueuedMail, Step};
pub use provider::{ADMIN_SECRET, COOKIE, Launch, Provider};
pub use relying_party::RelyingPartyAtHand;
pub use scene::{Arguments, Dice, unix_micros};
pub use tally::Tally;
pub use used_once::{LOST_USE, OnceKind, UsedOnce};
pub use verify::Depth;
pub use wire::{NoAnswer, Wire};
