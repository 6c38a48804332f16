//! How an issuer presents itself on every page: colours, links and texts.

use std::any::Any;

use crate::Language;
use crate::page::{is_own_image, is_web};

/// A text or a link, in each language that pages are written in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ByLanguage([Option<String>; Language::ALL.len()]);

impl ByLanguage {
    /// Asks for it in each language.
    pub fn of(text: impl FnMut(Language) -> Option<String>) -> Self {
        Self(Language::ALL.map(text))
    }

    /// It in one language, by its tag.
    pub(crate) fn in_language(&self, tag: &str) -> Option<&str> {
        let (_, text) = Language::ALL.iter().zip(&self.0).find(|(language, _)| language.tag() == tag)?;
        text.as_deref()
    }
}

/// The branding of a page. Its name is a member of each page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Brand {
    /// The path of a style sheet that is loaded after the provider's own.
    pub style: Option<String>,
    /// The path of the logo that stands in the head in the place of the provider's own mark.
    pub logo: Option<String>,
    /// Where people find help; linked only if it is a web page, as the other links.
    pub help_uri: ByLanguage,
    /// The privacy policy.
    pub policy_uri: ByLanguage,
    /// The terms of service.
    pub tos_uri: ByLanguage,
    /// A text above the card.
    pub intro: ByLanguage,
    /// A text at the foot.
    pub foot: ByLanguage,
}

impl Brand {
    pub(crate) fn logo(&self) -> Option<&str> {
        self.logo.as_deref().filter(|path| is_own_image(path))
    }

    /// The links of a page in the language with this tag, with their words.
    pub(crate) fn links<'b>(
        &'b self,
        texts: &'static crate::Texts,
        tag: &str,
    ) -> Vec<(&'static str, &'b str)> {
        let all = [
            (texts.help, &self.help_uri),
            (texts.privacy_policy, &self.policy_uri),
            (texts.terms_of_service, &self.tos_uri),
        ];
        all.into_iter()
            .filter_map(|(words, uri)| Some((words, uri.in_language(tag).filter(|uri| is_web(uri))?)))
            .collect()
    }
}

/// The layout asks for it by the name `brand`.
impl askama::Values for Brand {
    fn get_value<'a>(&'a self, key: &str) -> Option<&'a dyn Any> {
        (key == "brand").then_some(self as &dyn Any)
    }
}
