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
        outbox_title, outbox_text, outbox_empty, outbox_to,
        account_title, account_own, account_nav_overview, account_nav_profile, account_nav_password,
        account_nav_sessions, account_nav_applications, account_nav_data, account_sign_out,
        account_lead_profile, account_lead_password, account_lead_sessions, account_lead_applications,
        account_lead_data, account_save, account_none,
        account_saved, account_password_changed, account_sessions_ended, account_access_ended, account_expired,
        account_changed_meanwhile, account_taken, account_wrong_password, account_too_short, account_too_long,
        account_common, account_own_name, account_differ, account_busy, account_not_confirmed, account_needs_password,
        account_bad_text,
        profile_email, profile_email_hint, profile_unverified, profile_name, profile_given_name,
        profile_family_name, profile_middle_name, profile_nickname, profile_more, profile_yes, profile_no,
        profile_lines, profile_required, profile_hidden,
        password_present, password_new, password_again, password_rule, password_end_others, password_change,
        password_set,
        account_nav_security, account_lead_security, account_passkey_added, account_passkey_removed, account_generator_set, account_generator_removed, account_wrong_code, account_passkey_failed, account_last_way, security_passkeys, security_passkeys_text, security_passkeys_none, security_passkeys_full, security_passkey_name, security_passkey_synced, security_passkey_device, security_passkey_rename, security_passkey_remove, security_passkey_add, security_passkey_add_text, security_passkey_exists, security_passkey_unsupported, security_added, security_used, security_generator, security_generator_text, security_generator_added, security_generator_set_up, security_generator_replace, security_generator_remove, security_generator_required, security_codes, security_codes_text, security_codes_left, security_codes_new,
        sessions_this, sessions_other, sessions_begun, sessions_used, sessions_signed_in, sessions_method,
        sessions_end, sessions_end_others, sessions_only_this,
        method_pwd, method_otp, method_hwk, method_swk, method_mfa, method_admin_api,
        applications_none, applications_since, applications_used, applications_offline, applications_session,
        applications_end, applications_end_all, applications_end_hint,
        data_export_title, data_export_text, data_export, data_delete_title, data_delete_text, data_delete_off,
        data_delete_confirm, data_delete, data_deleted_title, data_deleted_text,
    }
    Phrase {
        login_continue, login_too_many_attempts, seconds, minutes,
        consent_title, consent_asks, consent_signed_in, consent_redirect,
        logout_client, logout_signed_in, logged_out_return, error_hint_client,
        account_signed_in, account_wait, account_invalid, sessions_more,
    }
}
