//! The endpoints, each in a file that bears its RFC's word for it.

pub mod authorize;
mod client;
pub mod consent;
pub mod cors;
pub mod discovery;
pub mod introspect;
pub mod login;
pub mod logout;
pub mod pages;
pub mod revoke;
pub mod token;
mod transaction;
pub mod userinfo;
