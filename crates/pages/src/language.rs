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
        login_title, username, password, sign_in, cancel,
        login_invalid_credentials, login_busy, login_expired, one_second,
        second_factor_title, second_factor_code, second_factor_hint, second_factor_wrong, second_factor_confirm,
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
        magic_link_send, forgot_link, register_link,
        email, given_name, family_name, new_password, password_hint, password_optional,
        password_too_short, password_too_long, password_common, password_own_name,
        form_expired, begin_again, notice_continue,
        register_title, register_continue, register_create, register_have_account, register_email_wrong, register_taken,
        register_puzzle, registration_closed_title, registration_closed_text, invitation_over_title, invitation_over_text,
        account_exists_title, account_exists_text,
        look_at_mail_title, mailed_code_wrong, mailed_code_used_up, mailed_code_again,
        other_browser_title, other_browser_text, other_browser_code,
        link_over_title, link_over_text,
        forgot_title, forgot_text, forgot_send, forgot_back, forgot_name, recovery_sent_text,
        reset_title, reset_ends, reset_set, password_reset_title, password_reset_text,
        email_is_verified, email_is_not_verified, email_prove, email_new, email_hint, email_back,
        email_confirm_title, email_proven_title, email_proven_text,
        outbox_title, outbox_text, outbox_empty, outbox_to,
    }
    Phrase {
        login_continue, login_too_many_attempts, seconds, minutes,
        consent_title, consent_asks, consent_signed_in, consent_redirect,
        logout_client, logout_signed_in, logged_out_return, error_hint_client,
        register_field_wrong, mailed_code_sent, mailed_code_proven, magic_link_sent, reset_for, email_present,
    }
}
