//! OAuth 2.0 Form Post Response Mode.

use askama::Template;

use crate::page::{is_web, layout};
use crate::{Language, RenderError};

/// Posts an authorization response to the client (OAuth 2.0 Form Post Response Mode section 2). A script sends
/// the form; without JavaScript its button does. Answer it with `Cache-Control: no-store`.
#[derive(Template)]
#[template(path = "form_post.html")]
pub struct FormPostPage {
    /// The language of the page.
    pub language: Language,
    /// The client's redirect URI.
    pub action: String,
    /// The parameters of the response, in order.
    pub parameters: Vec<(String, String)>,
}

impl FormPostPage {
    /// Renders the whole HTML document.
    ///
    /// # Errors
    /// [`RenderError::UnsafeAction`] if `action` is neither an `http` nor an `https` URL;
    /// [`RenderError::Template`] if the template engine fails.
    pub fn render(&self) -> Result<String, RenderError> {
        if !is_web(&self.action) {
            return Err(RenderError::UnsafeAction);
        }
        Ok(Template::render(self)?)
    }

    /// As [`render`](Self::render), for an issuer with a path: the page loads its files below that path.
    ///
    /// # Errors
    /// As [`render`](Self::render).
    pub fn render_below(&self, prefix: &str) -> Result<String, RenderError> {
        Ok(crate::asset::below(prefix, self.render()?))
    }
}

layout!(FormPostPage);
