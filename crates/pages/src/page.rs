//! What every page shares: rendering, its error, and which links may appear.

use std::fmt;

/// Why a page could not be rendered.
#[derive(Debug)]
#[non_exhaustive]
pub enum RenderError {
    /// The template engine failed; with compiled templates only memory can cause this.
    Template(askama::Error),
    /// The form's target is no `http` or `https` URL; a browser might run it as a script.
    UnsafeAction,
}

impl fmt::Display for RenderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Template(error) => write!(f, "a page could not be rendered: {error}"),
            Self::UnsafeAction => f.write_str("a form's target is neither an http nor an https URL"),
        }
    }
}

impl std::error::Error for RenderError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Template(error) => Some(error),
            Self::UnsafeAction => None,
        }
    }
}

impl From<askama::Error> for RenderError {
    fn from(error: askama::Error) -> Self {
        Self::Template(error)
    }
}

/// The scheme of an absolute URI in lower case, by the grammar of RFC 3986 section 3.1.
fn scheme(uri: &str) -> Option<String> {
    let (scheme, _) = uri.split_once(':')?;
    let mut characters = scheme.chars();
    let first = characters.next().is_some_and(|c| c.is_ascii_alphabetic());
    let rest = characters.all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    (first && rest).then(|| scheme.to_ascii_lowercase())
}

/// Whether `uri` is an absolute `http` or `https` URL.
pub(crate) fn is_web(uri: &str) -> bool {
    matches!(scheme(uri).as_deref(), Some("http" | "https"))
}

/// Whether `uri` may be the target of a link: a web page, or an app's private-use scheme, which is a reversed
/// domain name and so has a dot (RFC 8252 section 7.1). `javascript:` and `data:` are neither.
pub(crate) fn is_linkable(uri: &str) -> bool {
    scheme(uri).is_some_and(|scheme| matches!(scheme.as_str(), "http" | "https") || scheme.contains('.'))
}

/// Whether `uri` may be an image's source under `img-src 'self'`: a path on this origin. Any other source would be blocked by
/// that policy, and would disclose to a third party that this user is about to sign in.
pub(crate) fn is_own_image(uri: &str) -> bool {
    uri.starts_with('/') && !uri.starts_with("//") && !uri.contains('\\')
}

/// The longest transaction that a choice of language carries in the page's address: proxies refuse request lines beyond
/// 8 KB.
const LONGEST_IN_ADDRESS: usize = 4 * 1024;

/// Whether a page with this transaction can be asked for by its address, in another language.
pub(crate) fn fits_address(transaction: &str) -> bool {
    transaction.len() <= LONGEST_IN_ADDRESS
}

/// Implements `render` for a page, and the methods that the layout template calls.
macro_rules! page {
    ($($page:ident),+) => {$(
        impl $page {
            /// Renders the whole HTML document.
            ///
            /// # Errors
            /// [`RenderError::Template`](crate::RenderError::Template) if the template engine fails.
            pub fn render(&self) -> Result<String, crate::RenderError> {
                Ok(askama::Template::render(self)?)
            }

            /// As [`render`](Self::render), for an issuer with a path in front of its pages (`/acme`, or nothing): the
            /// page loads its files below that path, because a proxy may forward nothing else.
            ///
            /// # Errors
            /// As [`render`](Self::render).
            pub fn render_below(&self, prefix: &str) -> Result<String, crate::RenderError> {
                Ok(crate::asset::below(prefix, self.render()?))
            }

            /// As [`render_below`](Self::render_below), with an issuer's branding.
            ///
            /// # Errors
            /// As [`render`](Self::render).
            pub fn render_for(&self, prefix: &str, brand: &crate::Brand) -> Result<String, crate::RenderError> {
                Ok(crate::asset::below(prefix, askama::Template::render_with_values(self, brand)?))
            }
        }
        crate::page::layout!($page);
    )+};
}

/// Implements for a page the methods that the layout template calls.
macro_rules! layout {
    ($page:ident) => {
        impl $page {
            #[allow(dead_code, reason = "a page may have no text of its own")]
            fn t(&self) -> &'static crate::Texts {
                self.language.texts()
            }

            fn files(&self) -> &'static crate::asset::Files {
                crate::asset::files()
            }

            #[allow(dead_code, reason = "not every page has a choice of languages")]
            fn may_choose_language(&self, transaction: &str) -> bool {
                crate::page::fits_address(transaction)
            }
        }
    };
}

pub(crate) use {layout, page};
