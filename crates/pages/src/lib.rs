//! View data to HTML: login, consent, logout, account, error and walk-through pages. No I/O.
//!
//! Every page is a plain struct with a `render` method that returns a whole HTML document. The caller decides
//! everything (URLs, hidden fields, names, errors); a page only escapes and lays out. Pages carry no inline
//! style and no inline script, so a strict Content-Security-Policy holds. What each page needs beyond
//! `default-src 'none'; base-uri 'none'`:
//!
//! | page | directives |
//! |---|---|
//! | all | `style-src 'self'; img-src 'self'` |
//! | all but [`SilentCallbackPage`] | `frame-ancestors 'none'` |
//! | [`LoginPage`], [`EmailCodePage`], [`PasskeyOfferPage`], [`SelectAccountPage`], [`ConsentPage`], [`LogoutPage`] | `script-src 'self'`; no `form-action`: browsers apply it to the redirects after a form too, also those that the client makes |
//! | the account pages, [`DevicePage`], [`DeviceConsentPage`] | `script-src 'self'; form-action 'self'` |
//! | [`FormPostPage`] | `script-src 'self'`, no `form-action` |
//! | [`WalkThroughPage`] | `script-src 'self'; connect-src 'self' ISSUER; frame-src 'self' ISSUER` |
//! | [`SilentCallbackPage`] | `script-src 'self'; frame-ancestors 'self'` |
//!
//! `Referrer-Policy: strict-origin` suits them: `no-referrer` and `same-origin` make browsers send `Origin: null`
//! with forms, to this server or to clients.
//!
//! The walk-through on the other site reads discovery, JWKS, the token endpoint and UserInfo across origins, so
//! these need CORS (UserInfo with a preflight for `Authorization`, and `WWW-Authenticate` exposed).
//!
//! The files that pages load are [`assets`]; their paths carry a fingerprint of their content, so they may be
//! cached for ever.

mod account;
mod asset;
mod brand;
mod device;
mod email;
mod email_code;
mod error_page;
mod form_post;
mod index_page;
mod language;
mod mailed_code;
mod notice;
mod outbox;
mod page;
mod passkey;
mod password_field;
mod recovery;
mod registration;
mod second_factor;
mod select_account;
mod sign_in;
mod sign_out;
mod walkthrough;

#[cfg(test)]
mod tests;

pub use account::{
    AccountDataPage, AccountDeletedPage, AccountFrame, AccountNotice, AccountPage, AccountPlace,
    ApplicationView, ApplicationsPage, AttributeField, AttributeInput, GeneratorPage, NewPasskeyPage,
    PasskeyView, PasswordPage, ProfileField, ProfilePage, ProviderView, RequestView, RequestsPage,
    SecurityPage, SessionView, SessionsPage,
};
pub use asset::{Asset, assets, stylesheet};
pub use brand::{Brand, ByLanguage};
pub use device::{DeviceConsentPage, DeviceError, DevicePage};
pub use email::{EmailError, EmailPage};
pub use email_code::{EmailCodeError, EmailCodePage};
pub use error_page::ErrorPage;
pub use form_post::FormPostPage;
pub use index_page::IndexPage;
pub use language::{Language, Phrase, Plural, Texts};
pub use mailed_code::{MailedCodeError, MailedCodeGoal, MailedCodePage};
pub use notice::{Notice, NoticePage};
pub use outbox::{OutboxMailView, OutboxPage};
pub use page::RenderError;
pub use passkey::{PasskeyOfferPage, PasskeyPrompt};
pub use password_field::{NewPassword, PasswordFault};
pub use recovery::{ForgotPasswordPage, RecoveryError, ResetPasswordPage};
pub use registration::{FieldKind, FormField, PuzzleView, RegisterError, RegisterPage};
pub use second_factor::{RecoveryCodesPage, SecondFactorError, SecondFactorPage, SecondFactorSetup};
pub use select_account::{AccountChoice, SelectAccountPage};
pub use sign_in::{
    ConsentPage, DetailMember, DetailView, DetailWord, LoginError, LoginPage, LoginStage, LoginWays,
    ProviderButton, ScopeView,
};
pub use sign_out::{CheckSessionPage, LoggedOutPage, LogoutPage};
pub use walkthrough::{SilentCallbackPage, WalkThroughPage};
