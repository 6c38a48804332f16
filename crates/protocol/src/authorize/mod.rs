//! The authorization endpoint (RFC 6749 4.1, OpenID Connect Core 3.1.2): read the request, decide, answer.
//!
//! 1. [`request::client_id`] names the client to load. Without a client or a registered redirect URI, the answer is a
//!    page without a redirect.
//! 2. [`AuthorizationRequest::check`] runs the checks of the request.
//! 3. [`decide::decide`] considers session and consent: issue a code, ask the person, or refuse.
//! 4. [`response`] makes the record for the code, and writes the answer in the requested response mode.
//!
//! If step 3 needs a page, the request is sealed and kept by the browser, so that it cannot be
//! changed. When the person comes back, all four steps run again.

mod claims_parameter;
pub mod decide;
pub mod pushed_request;
pub mod request;
pub mod response;
pub mod response_mode;

#[cfg(test)]
mod tests;

pub use decide::{AnotherAccount, Decision, InteractionSoFar, SignedIn, decide};
pub use request::{AuthorizationRequest, Prompt, Rejection, ReturnTo};
pub use response::{AuthorizationResponse, Issuance, SignedResponse};
pub use response_mode::ResponseMode;
