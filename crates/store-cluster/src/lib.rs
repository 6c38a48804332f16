//! The store of many nodes.
