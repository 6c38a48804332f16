//! Signing in: what each method proves, and what is still to be proven.
//!
//! A method is a module with two moments: what to show or send, and what an answer to it proves ([`Factor`]). The rule in
//! [`next_step`] takes what is [proven](Proven) so far, the [policy](Policy) and what the person has enrolled, and names
//! the next step.

pub mod acr;
pub mod email_code;
pub mod email_code_use;
pub mod invitation;
pub mod mailed_code;
pub mod method;
pub mod origin;
pub mod passkey;
mod proven;
pub mod puzzle;
pub mod recovery;
pub mod recovery_code;
pub mod registration;
pub mod second_factor_roles;
mod step;
pub mod totp;

pub use proven::{Factor, Proven};
pub use step::{Policy, Step, is_enough, next_step, ways_up};
