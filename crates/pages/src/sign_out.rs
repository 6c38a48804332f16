//! The pages of OpenID Connect RP-Initiated Logout 1.0.

use askama::Template;

use crate::page::{is_linkable, page};
use crate::{Language, RenderError};

/// Asks whether the user wants to sign out (RP-Initiated Logout 1.0 section 2: the provider SHOULD ask), by
/// `POST action` with `decision` = `confirm`, `all` or `cancel`, `transaction`, `csrf_token`.
#[derive(Template)]
#[template(path = "logout.html")]
pub struct LogoutPage {
    /// The language of the page.
    pub language: Language,
    /// The provider's name.
    pub issuer_name: String,
    /// Who is signed in.
    pub user_name: Option<String>,
    /// Who is signed in in this browser besides; all of them can be signed out at once.
    pub others: Vec<String>,
    /// The client that asked for the logout, if it is known.
    pub client_name: Option<String>,
    /// The other applications that are told of the logout.
    pub applications: Vec<String>,
    /// Where the form is posted.
    pub action: String,
    /// The hidden field `transaction`.
    pub transaction: String,
    /// The hidden field `csrf_token`.
    pub csrf: String,
}

/// Says that the user is signed out, if there is no URI to redirect to.
#[derive(Template)]
#[template(path = "logged_out.html")]
pub struct LoggedOutPage {
    /// The language of the page.
    pub language: Language,
    /// The provider's name.
    pub issuer_name: String,
    /// A link back; shown only if it is a web page or an app's private-use scheme.
    pub return_uri: Option<String>,
    /// The client that the link leads to.
    pub client_name: Option<String>,
    /// The addresses of frames by which applications sign the user out (Front-Channel Logout 1.0 section 2). Their origins
    /// must be in the page's policy.
    pub frames: Vec<String>,
    /// Who is still signed in in this browser.
    pub others: Vec<String>,
    /// Where the page leads on to when the frames have loaded, or after two seconds. The answer's `Refresh` header leads
    /// there too, for browsers that run no scripts.
    pub leads_on_to: Option<String>,
}

/// The page that applications embed in a frame to learn whether the user is still signed in as before (Session Management
/// 1.0 section 3.3). Everybody may frame it: it shows nothing.
#[derive(Template)]
#[template(path = "check_session.html")]
pub struct CheckSessionPage {
    /// The name of the cookie with the browser's state, which scripts may read.
    pub cookie: String,
}

impl LoggedOutPage {
    fn link(&self) -> Option<&str> {
        self.return_uri.as_deref().filter(|uri| is_linkable(uri))
    }
}

page!(LogoutPage, LoggedOutPage);

impl CheckSessionPage {
    /// Renders the whole HTML document.
    ///
    /// # Errors
    /// [`RenderError::Template`] if the template engine fails.
    pub fn render(&self) -> Result<String, RenderError> {
        Ok(Template::render(self)?)
    }

    /// As [`render`](Self::render), for an issuer with a path: the page loads its script below that path.
    ///
    /// # Errors
    /// As [`render`](Self::render).
    pub fn render_below(&self, prefix: &str) -> Result<String, RenderError> {
        Ok(crate::asset::below(prefix, self.render()?))
    }

    fn files(&self) -> &'static crate::asset::Files {
        crate::asset::files()
    }
}
