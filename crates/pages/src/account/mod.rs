//! The account pages: what a person sees and changes of their own account.

mod data;
mod grants;
mod profile;
mod requests;
mod security;
mod sessions;

use askama::Template;

use crate::page::page;
use crate::sign_in::wait;
use crate::{Language, Texts};

pub use data::{AccountDataPage, AccountDeletedPage};
pub use grants::{ApplicationView, ApplicationsPage};
pub use profile::{AttributeField, AttributeInput, PasswordPage, ProfileField, ProfilePage};
pub use requests::{RequestView, RequestsPage};
pub use security::{GeneratorPage, NewPasskeyPage, PasskeyView, ProviderView, SecurityPage};
pub use sessions::{SessionView, SessionsPage};

/// One of the account pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountPlace {
    /// `/account`
    Overview,
    /// `/account/profile`
    Profile,
    /// `/account/password`
    Password,
    /// `/account/security`, and the pages below it
    Security,
    /// `/account/sessions`
    Sessions,
    /// `/account/applications`
    Applications,
    /// `/account/requests`
    Requests,
    /// `/account/data`
    Data,
}

impl AccountPlace {
    /// Every page, in the order of the navigation.
    pub const ALL: [Self; 8] = [
        Self::Overview,
        Self::Profile,
        Self::Password,
        Self::Security,
        Self::Sessions,
        Self::Applications,
        Self::Requests,
        Self::Data,
    ];

    /// The path below the issuer.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Overview => "/account",
            Self::Profile => "/account/profile",
            Self::Password => "/account/password",
            Self::Security => "/account/security",
            Self::Sessions => "/account/sessions",
            Self::Applications => "/account/applications",
            Self::Requests => "/account/requests",
            Self::Data => "/account/data",
        }
    }

    fn name(self, texts: &Texts) -> &'static str {
        match self {
            Self::Overview => texts.account_nav_overview,
            Self::Profile => texts.account_nav_profile,
            Self::Password => texts.account_nav_password,
            Self::Security => texts.account_nav_security,
            Self::Sessions => texts.account_nav_sessions,
            Self::Applications => texts.account_nav_applications,
            Self::Requests => texts.account_nav_requests,
            Self::Data => texts.account_nav_data,
        }
    }

    fn lead(self, texts: &Texts) -> &'static str {
        match self {
            Self::Overview => "",
            Self::Profile => texts.account_lead_profile,
            Self::Password => texts.account_lead_password,
            Self::Security => texts.account_lead_security,
            Self::Sessions => texts.account_lead_sessions,
            Self::Applications => texts.account_lead_applications,
            Self::Requests => texts.account_lead_requests,
            Self::Data => texts.account_lead_data,
        }
    }
}

/// What an account page says about the form that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccountNotice {
    /// The profile is saved.
    Saved,
    /// The password is changed.
    PasswordChanged,
    /// A passkey is added.
    PasskeyAdded,
    /// A passkey is removed.
    PasskeyRemoved,
    /// The account is connected with another provider.
    Connected,
    /// The account is disconnected from another provider.
    Disconnected,
    /// The account could not be connected with another provider.
    ConnectFailed,
    /// A generator of one-time passwords is set up.
    GeneratorSet,
    /// The generator is removed.
    GeneratorRemoved,
    /// A session is ended.
    SessionsEnded,
    /// An application's access is ended.
    AccessEnded,
    /// What an application asked for elsewhere is allowed.
    RequestAllowed,
    /// It is refused.
    RequestDenied,
    /// It has ended, or was decided before.
    RequestGone,
    /// The application demands a second factor, and the account has none.
    RequestSecondFactor,
    /// The form is not of this session; nothing was changed.
    Expired,
    /// The record was changed while the page was open.
    ChangedMeanwhile,
    /// A unique value belongs to somebody else.
    Taken,
    /// A text is too long or has control characters.
    BadText,
    /// An attribute cannot have its value, for this reason.
    Invalid(String),
    /// The present password is wrong.
    WrongPassword,
    /// The present password was not typed.
    NeedsPassword,
    /// The code is not the generator's.
    WrongCode,
    /// The browser's new passkey was not accepted.
    PasskeyFailed,
    /// There may be no more passkeys.
    NoRoom,
    /// Without this, nothing would be left to sign in with.
    LastWay,
    /// Everybody must have a second factor.
    SecondFactorRequired,
    /// The new password is too short.
    TooShort,
    /// The new password is too long.
    TooLong,
    /// The new password is a common one.
    Common,
    /// The new password stands in a list of passwords that were stolen.
    Breached,
    /// The new password is the user's own name.
    OwnName,
    /// The two new passwords differ.
    Differ,
    /// Too many attempts.
    TooManyAttempts {
        /// Seconds until the next attempt is allowed.
        retry_after_seconds: u64,
    },
    /// The server has too many passwords to check at the moment.
    Busy,
    /// The box beside the button that deletes the account is not ticked.
    NotConfirmed,
}

impl AccountNotice {
    /// The word by which an address carries a notice about something that was done.
    pub const fn word(&self) -> Option<&'static str> {
        match self {
            Self::Saved => Some("saved"),
            Self::PasswordChanged => Some("password"),
            Self::PasskeyAdded => Some("passkey_added"),
            Self::PasskeyRemoved => Some("passkey_removed"),
            Self::Connected => Some("connected"),
            Self::Disconnected => Some("disconnected"),
            Self::ConnectFailed => Some("connect_failed"),
            Self::GeneratorSet => Some("generator"),
            Self::GeneratorRemoved => Some("generator_removed"),
            Self::SessionsEnded => Some("sessions"),
            Self::AccessEnded => Some("access"),
            Self::RequestAllowed => Some("request_allowed"),
            Self::RequestDenied => Some("request_denied"),
            _ => None,
        }
    }

    /// The notice of a word.
    pub fn of_word(word: &str) -> Option<Self> {
        let done = [
            Self::Saved,
            Self::PasswordChanged,
            Self::PasskeyAdded,
            Self::PasskeyRemoved,
            Self::Connected,
            Self::Disconnected,
            Self::ConnectFailed,
            Self::GeneratorSet,
            Self::GeneratorRemoved,
            Self::SessionsEnded,
            Self::AccessEnded,
            Self::RequestAllowed,
            Self::RequestDenied,
        ];
        done.into_iter().find(|notice| notice.word() == Some(word))
    }

    fn is_error(&self) -> bool {
        self.word().is_none() || *self == Self::ConnectFailed
    }

    fn text(&self, texts: &Texts) -> String {
        let text = match self {
            Self::Saved => texts.account_saved,
            Self::PasswordChanged => texts.account_password_changed,
            Self::PasskeyAdded => texts.account_passkey_added,
            Self::PasskeyRemoved => texts.account_passkey_removed,
            Self::Connected => texts.account_connected,
            Self::Disconnected => texts.account_disconnected,
            Self::ConnectFailed => texts.account_connect_failed,
            Self::GeneratorSet => texts.account_generator_set,
            Self::GeneratorRemoved => texts.account_generator_removed,
            Self::SessionsEnded => texts.account_sessions_ended,
            Self::AccessEnded => texts.account_access_ended,
            Self::RequestAllowed => texts.requests_allowed,
            Self::RequestDenied => texts.requests_denied,
            Self::RequestGone => texts.requests_gone,
            Self::RequestSecondFactor => texts.requests_second_factor,
            Self::Expired => texts.account_expired,
            Self::ChangedMeanwhile => texts.account_changed_meanwhile,
            Self::Taken => texts.account_taken,
            Self::BadText => texts.account_bad_text,
            Self::Invalid(why) => return texts.account_invalid.with(why),
            Self::WrongPassword => texts.account_wrong_password,
            Self::NeedsPassword => texts.account_needs_password,
            Self::WrongCode => texts.account_wrong_code,
            Self::PasskeyFailed => texts.account_passkey_failed,
            Self::NoRoom => texts.security_passkeys_full,
            Self::LastWay => texts.account_last_way,
            Self::SecondFactorRequired => texts.security_generator_required,
            Self::TooShort => texts.account_too_short,
            Self::TooLong => texts.account_too_long,
            Self::Common => texts.account_common,
            Self::Breached => texts.password_breached,
            Self::OwnName => texts.account_own_name,
            Self::Differ => texts.account_differ,
            Self::TooManyAttempts { retry_after_seconds } => {
                return texts.account_wait.with(&wait(*retry_after_seconds, texts));
            }
            Self::Busy => texts.account_busy,
            Self::NotConfirmed => texts.account_not_confirmed,
        };
        text.to_owned()
    }
}

/// What all account pages have.
pub struct AccountFrame {
    /// Which page it is.
    pub place: AccountPlace,
    /// The issuer's path in front of the pages (`/acme`, or nothing).
    pub prefix: String,
    /// Whether other accounts may be signed in in the browser besides.
    pub may_switch: bool,
    /// Who is signed in.
    pub user_name: String,
    /// The hidden field `csrf_token` of its forms.
    pub csrf: String,
    /// What it says about the form that was sent.
    pub notice: Option<AccountNotice>,
}

impl AccountFrame {
    /// The pages of the navigation. Few people are ever asked by an application elsewhere; the overview leads them there.
    fn places(&self) -> Vec<AccountPlace> {
        let is_shown = |place: &AccountPlace| *place != AccountPlace::Requests || self.place == *place;
        AccountPlace::ALL.into_iter().filter(is_shown).collect()
    }

    fn requests(&self) -> String {
        self.link(&AccountPlace::Requests)
    }

    fn action(&self) -> String {
        self.link(&self.place)
    }

    fn link(&self, place: &AccountPlace) -> String {
        format!("{}{}", self.prefix, place.path())
    }
}

/// The first of the account pages: where the others are.
#[derive(Template)]
#[template(path = "account/overview.html")]
pub struct AccountPage {
    /// The language of the page.
    pub language: Language,
    /// The provider's name.
    pub issuer_name: String,
    /// What all account pages have.
    pub frame: AccountFrame,
    /// Whether an application waits for the person's decision.
    pub is_asked: bool,
}

page!(AccountPage);

/// A time as it is shown: date and time of day in UTC.
pub(crate) struct Moment {
    /// For the attribute `datetime`.
    pub(crate) machine: String,
    /// For people.
    pub(crate) shown: String,
}

impl Moment {
    /// `millis`: since 1970.
    pub(crate) fn of(millis: u64) -> Self {
        let minutes = millis / 60_000;
        let (days, minute) = (minutes / 1_440, minutes % 1_440);
        let (year, month, day) = civil(days);
        let (date, time) =
            (format!("{year:04}-{month:02}-{day:02}"), format!("{:02}:{:02}", minute / 60, minute % 60));
        Self { machine: format!("{date}T{time}Z"), shown: format!("{date} {time} UTC") }
    }
}

/// The date of a day since 1970-01-01 in the Gregorian calendar. Years are counted from March, so that the leap day is
/// the last of a year.
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_date_and_a_time_of_day() {
        for (seconds, shown) in [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_399, "2000-02-28 23:59 UTC"),
            (951_782_400, "2000-02-29 00:00 UTC"),
            (1_795_874_700, "2026-11-28 14:05 UTC"),
            (4_107_542_400, "2100-03-01 00:00 UTC"),
        ] {
            assert_eq!(Moment::of(seconds * 1_000).shown, shown);
        }
        assert_eq!(Moment::of(1_795_874_700_000).machine, "2026-11-28T14:05Z");
    }

    #[test]
    fn only_what_was_done_has_a_word() {
        for word in
            ["saved", "password", "passkey_added", "passkey_removed", "generator", "sessions", "access"]
        {
            let notice = AccountNotice::of_word(word).unwrap();
            assert!(notice.word() == Some(word) && !notice.is_error());
        }
        assert_eq!(AccountNotice::of_word("expired"), None);
        assert!(AccountNotice::Expired.is_error());
    }
}
