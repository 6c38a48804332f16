//! The languages of the pages and the table of their texts.

use crate::english::ENGLISH;

/// A language that pages are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Language {
    /// English.
    #[default]
    English,
}

impl Language {
    /// The language tag (RFC 5646), for the `lang` attribute.
    pub fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
        }
    }

    /// The direction of its writing, for the `dir` attribute.
    pub fn direction(self) -> &'static str {
        match self {
            Self::English => "ltr",
        }
    }

    /// The texts of the pages.
    pub fn texts(self) -> &'static Texts {
        match self {
            Self::English => &ENGLISH,
        }
    }
}

/// A text with one gap, written `{}`, that a name or a number fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phrase(pub &'static str);

impl Phrase {
    /// The text before the gap.
    pub fn before(&self) -> &'static str {
        self.0.split_once("{}").map_or(self.0, |(before, _)| before)
    }

    /// The text after the gap.
    pub fn after(&self) -> &'static str {
        self.0.split_once("{}").map_or("", |(_, after)| after)
    }

    /// The text with its gap filled.
    pub fn with(&self, value: &str) -> String {
        format!("{}{value}{}", self.before(), self.after())
    }
}

/// Declares the table. Its fields need no documentation beyond their names and their English text.
macro_rules! texts {
    ($($kind:ty { $($name:ident),+ $(,)? })+) => {
        /// The texts of the pages in one language. The names of the fields say where each is shown; a
        /// [`Phrase`] has one gap.
        #[derive(Debug)]
        pub struct Texts {
            $($(#[allow(missing_docs, reason = "the English text is the documentation")] pub $name: $kind,)+)+
        }

        impl Texts {
            /// Every text with its name, for checks of a translation.
            pub fn entries(&self) -> Vec<(&'static str, &'static str)> {
                vec![$($((stringify!($name), Text::text(&self.$name)),)+)+]
            }
        }
    };
}

/// Reads both kinds of table entries as text.
trait Text {
    fn text(&self) -> &'static str;
}

impl Text for &'static str {
    fn text(&self) -> &'static str {
        self
    }
}

impl Text for Phrase {
    fn text(&self) -> &'static str {
        self.0
    }
}

texts! {
    &'static str {
        login_title, username, username_or_email, password, sign_in, cancel, login_next, login_other_name,
        login_email_code, login_passkey_refused, login_name_missing,
        passkey_sign_in, passkey_needs_script,
        passkey_offer_title, passkey_offer_text, passkey_offer_create, passkey_offer_later, passkey_offer_failed,
        email_code_title, email_code_label, email_code_wrong, email_code_spent, email_code_again,
        email_code_other_way,
        login_invalid_credentials, login_busy, login_expired, one_second,
        second_factor_title, second_factor_code, second_factor_hint, second_factor_wrong, second_factor_confirm,
        second_factor_passkey, second_factor_use_passkey, second_factor_passkey_refused, second_factor_skip,
        second_factor_setup_title, second_factor_setup_scan, second_factor_setup_type, second_factor_setup_qr,
        recovery_codes_title, recovery_codes_text, recovery_codes_continue,
        consent_allow, consent_deny, consent_not_you,
        scope_openid, scope_profile, scope_email, scope_address, scope_phone, scope_groups, scope_roles,
        scope_offline_access,
        logout_title, logout_question, logout_confirm, logout_cancel,
        logged_out_title, logged_out_text,
        error_request, error_not_found, error_busy, error_server, error_code, error_request_id,
        error_hint_request, error_hint_wait, error_hint_server,
        form_post_title, form_post_text, form_post_button,
        index_text, index_issuer, index_discovery,
        silent_title,
        outbox_title, outbox_text, outbox_empty, outbox_to,
    }
    Phrase {
        login_continue, login_too_many_attempts, seconds, minutes,
        email_code_sent, email_code_hint, email_code_too_soon, second_factor_remember,
        consent_title, consent_asks, consent_signed_in, consent_redirect,
        logout_client, logout_signed_in, logged_out_return, error_hint_client,
    }
}
