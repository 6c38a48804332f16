//! The authorization endpoint (RFC 6749 4.1, OpenID Connect Core 3.1.2): read the request, decide, answer.
//!
//! 1. [`request::client_id`] names the client to load; without one, or without a registered redirect URI, the
//!    answer is a page and goes nowhere.
//! 2. [`AuthorizationRequest::check`] runs the checks of the request.
//! 3. [`decide::decide`] looks at session and consent: issue a code, ask the person, or refuse.
//! 4. [`response`] names what the code stands for and writes the answer in the response mode that was asked for.
//!
//! A login or consent page interrupts between 3 and 4: the request's text goes to the browser sealed, so that nobody can
//! change it, and all four run again when the person is back.

pub mod decide;
pub mod request;
pub mod response;

#[cfg(test)]
mod tests;

pub use decide::{Decision, InteractionSoFar, decide};
pub use request::{AuthorizationRequest, Prompt, Rejection, ResponseMode, ReturnTo};
pub use response::{AuthorizationResponse, Issuance};
