//! How an issuer presents itself on every page: colours, links and texts.

use std::any::Any;

use crate::page::{is_own_image, is_web};

/// The branding of a page. Its name is a member of each page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Brand {
    /// The path of a style sheet that is loaded after the provider's own.
    pub style: Option<String>,
    /// The path of the logo that stands in the head in the place of the provider's own mark.
    pub logo: Option<String>,
    /// Where people find help; linked only if it is a web page, as the other links.
    pub help_uri: Option<String>,
    /// The privacy policy.
    pub policy_uri: Option<String>,
    /// The terms of service.
    pub tos_uri: Option<String>,
    /// A text above the card.
    pub intro: Option<String>,
    /// A text at the foot.
    pub foot: Option<String>,
}

impl Brand {
    pub(crate) fn logo(&self) -> Option<&str> {
        self.logo.as_deref().filter(|path| is_own_image(path))
    }

    pub(crate) fn links<'b>(&'b self, texts: &'static crate::Texts) -> Vec<(&'static str, &'b str)> {
        let all = [
            (texts.help, &self.help_uri),
            (texts.privacy_policy, &self.policy_uri),
            (texts.terms_of_service, &self.tos_uri),
        ];
        all.into_iter()
            .filter_map(|(words, uri)| Some((words, uri.as_deref().filter(|uri| is_web(uri))?)))
            .collect()
    }
}

/// The layout asks for it by the name `brand`.
impl askama::Values for Brand {
    fn get_value<'a>(&'a self, key: &str) -> Option<&'a dyn Any> {
        (key == "brand").then_some(self as &dyn Any)
    }
}
