//! What users do.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::LoadtestError;
use crate::scenario::Scenario;

const DAY: f64 = 86_400.0;

/// What a workload is made of.
pub const OPERATIONS: [Scenario; 6] = [
    Scenario::Login,
    Scenario::Silent,
    Scenario::Code,
    Scenario::Refresh,
    Scenario::Userinfo,
    Scenario::Introspect,
];

/// Users and what those of them do who are active on a day. Everything is proportional to `users`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Accounts.
    pub users: f64,
    /// The part of them that is active on a day.
    pub daily_active: f64,
    /// Hours that an active user is there.
    pub active_hours: f64,
    /// Logins by password of an active user, per day.
    pub logins_per_day: f64,
    /// Silent authentications of an active user, each with the redemption of its code, per active hour.
    pub silent_per_hour: f64,
    /// Refresh rotations of an active user, per active hour.
    pub refresh_per_hour: f64,
    /// UserInfo requests for an active user, per day.
    pub userinfo_per_day: f64,
    /// Introspections of an active user's tokens, per day: the API calls that ask.
    pub introspections_per_day: f64,
    /// Logouts and other revocations of an active user, per day.
    pub revocations_per_day: f64,
    /// Days that a session lives.
    pub session_days: f64,
    /// Hours that a tombstone must be kept: the longest life of an access token.
    pub tombstone_hours: f64,
    /// Live refresh-token families per account.
    pub families_per_user: f64,
    /// The rate of the busiest minute divided by the mean of the day.
    pub peak_factor: f64,
}

/// Named workloads to begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// Shops, media, mobile apps: most accounts sleep, sessions last for weeks.
    Consumer,
    /// Employees: nearly everybody every day, all at nine o'clock, many applications each.
    Workforce,
    /// Services that have every call's token introspected.
    ApiHeavy,
}

impl Preset {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Consumer, Self::Workforce, Self::ApiHeavy];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Consumer => "consumer",
            Self::Workforce => "workforce",
            Self::ApiHeavy => "api-heavy",
        }
    }

    /// The workload for so many users.
    pub fn workload(self, users: f64) -> Workload {
        let consumer = Workload {
            users,
            daily_active: 0.2,
            active_hours: 1.0,
            logins_per_day: 0.1,
            silent_per_hour: 2.0,
            refresh_per_hour: 2.0,
            userinfo_per_day: 2.0,
            introspections_per_day: 0.0,
            revocations_per_day: 0.05,
            session_days: 30.0,
            tombstone_hours: 1.0,
            families_per_user: 1.0,
            peak_factor: 3.0,
        };
        match self {
            Self::Consumer => consumer,
            Self::Workforce => Workload {
                daily_active: 0.7,
                active_hours: 8.0,
                logins_per_day: 1.2,
                silent_per_hour: 4.0,
                refresh_per_hour: 2.0,
                userinfo_per_day: 6.0,
                revocations_per_day: 0.5,
                session_days: 0.5,
                families_per_user: 2.0,
                peak_factor: 6.0,
                ..consumer
            },
            Self::ApiHeavy => Workload {
                daily_active: 0.3,
                active_hours: 3.0,
                logins_per_day: 0.2,
                silent_per_hour: 1.0,
                refresh_per_hour: 6.0,
                userinfo_per_day: 20.0,
                introspections_per_day: 500.0,
                ..consumer
            },
        }
    }
}

impl FromStr for Preset {
    type Err = LoadtestError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|preset| preset.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            LoadtestError::Options(format!("no workload {name}; there are {names}"))
        })
    }
}

impl Workload {
    /// Requests per second at the peak, by what is asked.
    pub fn peak_rates(&self) -> [(Scenario, f64); OPERATIONS.len()] {
        let silent = self.active_hours * self.silent_per_hour;
        let per_day = |scenario| match scenario {
            Scenario::Login => self.logins_per_day,
            Scenario::Silent | Scenario::Code => silent,
            Scenario::Refresh => self.active_hours * self.refresh_per_hour,
            Scenario::Userinfo => self.userinfo_per_day,
            Scenario::Introspect => self.introspections_per_day,
            _ => 0.0,
        };
        OPERATIONS.map(|scenario| (scenario, self.per_second(per_day(scenario))))
    }

    /// What an active user does so often a day, per second at the peak.
    fn per_second(&self, per_day: f64) -> f64 {
        self.users * self.daily_active * per_day / DAY * self.peak_factor
    }

    /// Live sessions.
    pub fn sessions(&self) -> f64 {
        self.users * self.daily_active * self.logins_per_day * self.session_days
    }

    /// Authorization codes that Redis holds when `kept` seconds of the peak lie behind.
    pub fn codes(&self, kept: f64) -> f64 {
        let silent = self.active_hours * self.silent_per_hour;
        self.per_second(silent + self.logins_per_day) * kept
    }

    /// Tombstones that Redis holds, in all.
    pub fn tombstones(&self, margin_hours: f64) -> f64 {
        let per_hour = self.per_second(self.revocations_per_day) * 3_600.0;
        per_hour * (self.tombstone_hours + margin_hours)
    }

    /// Live refresh-token families.
    pub fn families(&self) -> f64 {
        self.users * self.families_per_user
    }

    /// # Errors
    /// [`LoadtestError::Options`]: the name of the figure that cannot be.
    pub fn check(&self) -> Result<(), LoadtestError> {
        let figures = [
            ("--users", self.users),
            ("--active-hours", self.active_hours),
            ("--logins-per-day", self.logins_per_day),
            ("--silent-per-hour", self.silent_per_hour),
            ("--refresh-per-hour", self.refresh_per_hour),
            ("--userinfo-per-day", self.userinfo_per_day),
            ("--introspections-per-day", self.introspections_per_day),
            ("--revocations-per-day", self.revocations_per_day),
            ("--session-days", self.session_days),
            ("--tombstone-hours", self.tombstone_hours),
            ("--families-per-user", self.families_per_user),
        ];
        let impossible = figures.iter().find(|(_, figure)| !(0.0..=1e12).contains(figure));
        let named = match (impossible, self.daily_active, self.peak_factor) {
            (Some((name, _)), _, _) => *name,
            (None, share, _) if !(0.0..=1.0).contains(&share) => "--daily-active (a part of 1)",
            (None, _, peak) if !(1.0..=1_000.0).contains(&peak) => "--peak-factor (1 at least)",
            _ => return Ok(()),
        };
        Err(LoadtestError::Options(format!("{named} is out of range")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_an_active_users_day_at_its_peak() {
        let workload = Workload {
            daily_active: 0.5,
            active_hours: 8.0,
            silent_per_hour: 3.0,
            logins_per_day: 1.0,
            peak_factor: 2.0,
            session_days: 0.5,
            ..Preset::Consumer.workload(86_400.0)
        };
        let rates: std::collections::BTreeMap<_, _> = workload.peak_rates().into_iter().collect();
        // Half of 86,400 users, 24 times a day, twice as many at the peak.
        assert_eq!((rates[&Scenario::Silent], rates[&Scenario::Code]), (24.0, 24.0));
        assert_eq!((rates[&Scenario::Login], workload.sessions()), (1.0, 21_600.0));
        assert_eq!(workload.codes(100.0), 2_500.0);
    }

    #[test]
    fn what_cannot_be_is_named() {
        for (workload, name) in [
            (Workload { users: -1.0, ..Preset::Consumer.workload(1.0) }, "--users"),
            (Workload { daily_active: 1.1, ..Preset::Consumer.workload(1.0) }, "--daily-active"),
            (Workload { peak_factor: 0.5, ..Preset::Consumer.workload(1.0) }, "--peak-factor"),
            (Workload { session_days: f64::NAN, ..Preset::Consumer.workload(1.0) }, "--session-days"),
        ] {
            assert!(workload.check().unwrap_err().to_string().contains(name));
        }
        assert!(Preset::ALL.into_iter().all(|preset| preset.workload(1e9).check().is_ok()));
        assert!("office".parse::<Preset>().unwrap_err().to_string().contains("workforce"));
    }
}
