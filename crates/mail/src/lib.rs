//! Mail to users: what is to be said ([`Mail`]), its texts in every language ([`Rendered`]), and its way out by SMTP
//! ([`Smtp`]).
//!
//! Nothing here decides when mail is sent or whether it is sent again: that is the queue's business. The texts are in
//! `languages/`, a file a language, in [Fluent](https://projectfluent.org)'s format.

mod brand;
mod language;
mod letter;
mod message;
mod render;
mod smtp;
mod texts;

pub use brand::MailBrand;
pub use language::Language;
pub use letter::{Letter, UnfitAddress};
pub use message::{Mail, Message};
pub use render::{RenderError, Rendered};
pub use smtp::{Smtp, SmtpError, SmtpFailure, SmtpSetup, Stage};
