//! The endpoints, each in a file that bears its RFC's word for it, and in `table` the table of all of them.

mod authorize;
mod client;
mod consent;
mod discovery;
mod interaction;
mod introspect;
mod login;
mod logout;
mod pages;
mod revoke;
mod session_quota;
mod table;
mod token;
mod userinfo;

pub use pages::asset_routes;
pub use table::{find, is_taken, methods};

#[cfg(test)]
mod tests;
