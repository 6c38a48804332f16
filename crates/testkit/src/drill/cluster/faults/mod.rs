//! The faults, by what they break.

pub(super) mod clock;
pub(super) mod disk;
pub(super) mod network;
pub(super) mod node;
pub(super) mod postgres;
pub(super) mod redis;
