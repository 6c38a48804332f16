//! The page at an issuer's root, outside development mode.

use askama::Template;

use crate::Language;
use crate::page::page;

/// Names the issuer and links its discovery document.
#[derive(Template)]
#[template(path = "index.html")]
pub struct IndexPage {
    /// The language of the page.
    pub language: Language,
    /// The provider's name.
    pub issuer_name: String,
    /// The issuer identifier (OpenID Connect Discovery 1.0 section 3).
    pub issuer: String,
    /// The URL or path of the discovery document.
    pub discovery_uri: String,
}

page!(IndexPage);
