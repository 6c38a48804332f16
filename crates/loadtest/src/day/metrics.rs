//! The mix of a provider's own day, from its request counters.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::LoadtestError;
use crate::client::Way;
use crate::run::on_a_runtime;
use crate::scenario::Scenario;
use crate::scrape::{Between, Page};

/// What the weights are together.
const PARTS: u32 = 1_000;

/// Endpoints that a scenario stands for, whatever their outcome.
const ENDPOINTS: [(&str, Scenario); 7] = [
    ("discovery", Scenario::Discovery),
    ("jwks", Scenario::Discovery),
    ("userinfo", Scenario::Userinfo),
    ("introspect", Scenario::Introspect),
    ("token_refresh_token", Scenario::Refresh),
    ("token_client_credentials", Scenario::ClientCredentials),
    ("token_token_exchange", Scenario::Exchange),
];

/// The mix that a provider met, as far as scenarios can ask it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeasuredMix {
    /// By scenario, in parts of a thousand; what has none came too seldom.
    pub weights: BTreeMap<Scenario, u32>,
    /// How often each came.
    pub counts: BTreeMap<Scenario, u64>,
    /// Requests of which the scenarios are made: a login makes several.
    pub mapped: u64,
    /// Requests that no scenario asks, by what they are.
    pub unmapped: BTreeMap<String, u64>,
}

/// Reads the counters: since the provider's start, or what comes within a time. Blocks the calling thread for it, which must not
/// be one of an asynchronous runtime.
///
/// # Errors
/// The page cannot be read, or says nothing of requests; [`LoadtestError::Options`] where nothing was asked.
pub fn measured_mix(url: &str, over: Option<Duration>, way: &Way) -> Result<MeasuredMix, LoadtestError> {
    on_a_runtime(async {
        let first = Page::fetch(url, way).await?;
        let mix = match over {
            None => MeasuredMix::of(&Between(&Page::empty(), &first)),
            Some(time) => {
                tokio::time::sleep(time).await;
                let later = Page::fetch(url, way).await?;
                MeasuredMix::of(&Between(&first, &later))
            }
        };
        if mix.weights.is_empty() {
            let since = if over.is_some() { "in that time; give --over more" } else { "since its start" };
            return Err(LoadtestError::Options(format!(
                "{url} counts no requests that a scenario asks (symbolon_requests_total) {since}"
            )));
        }
        Ok(mix)
    })
}

impl MeasuredMix {
    fn of(between: &Between<'_>) -> Self {
        const REQUESTS: &str = "symbolon_requests_total";
        let mut mix = Self::default();
        let event = |name: &str| between.grown("symbolon_events_total", ("event", name));
        let mut requests = between.by_label(REQUESTS, "endpoint");
        let mut take = |endpoint: &str| requests.remove(endpoint).unwrap_or(0);
        for (endpoint, scenario) in ENDPOINTS {
            mix.add(scenario, take(endpoint));
        }
        let (authorize, pages, codes) = (take("authorize"), take("login"), take("token_authorization_code"));
        let (logins, silent) = (event("session.signed_in"), event("authorize.silent").min(authorize));
        mix.add(Scenario::Silent, silent);
        mix.add(Scenario::Login, logins);
        // Every login ends with a code; the other codes came from silent requests.
        let of_logins = logins.min(codes);
        mix.add(Scenario::Code, codes - of_logins);
        let without_session =
            between.grown_where(REQUESTS, &[("endpoint", "authorize"), ("outcome", "login_required")]);
        let rest = authorize.saturating_sub(silent + without_session);
        mix.leave_out("authorize: silent requests without a session", without_session);
        // A login goes through these.
        let steps = [("authorize: other", rest), ("login pages", pages)];
        for (what, count) in steps {
            if logins > 0 {
                mix.mapped += count;
            } else {
                mix.leave_out(what, count);
            }
        }
        // Those of a login were counted as one each.
        mix.mapped = mix.mapped + of_logins - logins;
        for (endpoint, count) in requests {
            mix.leave_out(&endpoint, count);
        }
        mix.weights = weights(&mix.counts);
        mix
    }

    fn add(&mut self, scenario: Scenario, count: u64) {
        if count > 0 {
            *self.counts.entry(scenario).or_default() += count;
            self.mapped += count;
        }
    }

    fn leave_out(&mut self, what: &str, count: u64) {
        if count > 0 {
            *self.unmapped.entry(what.to_owned()).or_default() += count;
        }
    }
}

/// In parts of a thousand, with the largest remainders rounded up, so that they are a thousand together.
fn weights(counts: &BTreeMap<Scenario, u64>) -> BTreeMap<Scenario, u32> {
    let whole: u64 = counts.values().sum();
    if whole == 0 {
        return BTreeMap::new();
    }
    let parts = u128::from(PARTS);
    let mut shares: Vec<(Scenario, u32, u128)> = counts
        .iter()
        .map(|(scenario, count)| {
            let exact = u128::from(*count) * parts;
            let share = u32::try_from(exact / u128::from(whole)).unwrap_or(PARTS);
            (*scenario, share, exact % u128::from(whole))
        })
        .collect();
    shares.sort_by_key(|(_, _, remainder)| std::cmp::Reverse(*remainder));
    let given: u32 = shares.iter().map(|(_, share, _)| share).sum();
    let left = usize::try_from(PARTS.saturating_sub(given)).unwrap_or(0);
    for (_, share, _) in shares.iter_mut().take(left) {
        *share += 1;
    }
    shares
        .into_iter()
        .filter(|(_, share, _)| *share > 0)
        .map(|(scenario, share, _)| (scenario, share))
        .collect()
}

impl fmt::Display for MeasuredMix {
    /// As the part of a day's file, with what is not in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unmapped: u64 = self.unmapped.values().sum();
        let whole = (self.mapped + unmapped).max(1);
        let percent = |count: u64| 100.0 * count as f64 / whole as f64;
        writeln!(f, "# From the provider's own counters: {whole} requests.")?;
        if unmapped > 0 {
            writeln!(f, "# {:.1} % of them are asked by no scenario:", percent(unmapped))?;
        }
        for (what, count) in &self.unmapped {
            writeln!(f, "#   {what}: {count} ({:.1} %)", percent(*count))?;
        }
        for (scenario, count) in &self.counts {
            if !self.weights.contains_key(scenario) {
                writeln!(f, "# {scenario} came too seldom for a part of a thousand: {count}")?;
            }
        }
        writeln!(f, "[mix]")?;
        for (scenario, weight) in &self.weights {
            let count = self.counts.get(scenario).copied().unwrap_or(0);
            writeln!(f, "{scenario} = {weight} # {count}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(factor: u64) -> Page {
        let requests = [
            ("authorize", "redirect", 700 + 2 * 30),
            ("authorize", "login_required", 40),
            ("login", "ok", 30),
            ("login", "redirect", 30),
            ("token_authorization_code", "ok", 30 + 50),
            ("token_refresh_token", "ok", 150),
            ("token_refresh_token", "client_error", 5),
            ("userinfo", "ok", 100),
            ("jwks", "ok", 3),
            ("discovery", "ok", 2),
            ("revoke", "ok", 9),
            ("other", "client_error", 11),
        ];
        let mut text = String::new();
        for (endpoint, outcome, count) in requests {
            text += &format!(
                "symbolon_requests_total{{endpoint=\"{endpoint}\",outcome=\"{outcome}\"}} {}\n",
                factor * count
            );
        }
        for (event, count) in [("authorize.silent", 700), ("session.signed_in", 30)] {
            text += &format!("symbolon_events_total{{event=\"{event}\"}} {}\n", factor * count);
        }
        Page::parse(&text)
    }

    #[test]
    fn the_mix_is_that_of_the_counters_and_what_no_scenario_asks_is_told() {
        use Scenario::{Code, Discovery, Login, Refresh, Silent, Userinfo};
        let mix = MeasuredMix::of(&Between(&Page::empty(), &page(1)));
        let counts: BTreeMap<Scenario, u64> =
            [(Discovery, 5), (Silent, 700), (Userinfo, 100), (Refresh, 155), (Code, 50), (Login, 30)].into();
        assert_eq!(mix.counts, counts);
        assert_eq!(mix.weights.values().sum::<u32>(), PARTS);
        assert_eq!((mix.weights[&Silent], mix.weights[&Login]), (673, 29));
        let unmapped: BTreeMap<String, u64> =
            [("authorize: silent requests without a session", 40), ("revoke", 9), ("other", 11)]
                .map(|(what, count)| (what.to_owned(), count))
                .into();
        assert_eq!(mix.unmapped, unmapped);
        // Every request is in one of both.
        assert_eq!(mix.mapped + 60, 1_220);
        let told = mix.to_string();
        for line in [
            "# From the provider's own counters: 1220 requests.",
            "#   revoke: 9 (0.7 %)",
            "silent = 673 # 700",
        ] {
            assert!(told.lines().any(|told| told == line), "{told}");
        }
        // It is a part of a file.
        assert!(
            super::super::Day::parse(&format!("title = \"x\"\npeak = 5\nduration = \"1m\"\n{told}")).is_ok()
        );
    }

    #[test]
    fn two_readings_say_what_came_between() {
        let mix = MeasuredMix::of(&Between(&page(2), &page(3)));
        assert_eq!(mix, MeasuredMix::of(&Between(&Page::empty(), &page(1))));
        assert!(MeasuredMix::of(&Between(&page(2), &page(2))).weights.is_empty());
    }

    #[test]
    fn what_comes_too_seldom_has_no_weight() {
        let counts = [(Scenario::Silent, 999_999), (Scenario::Login, 1)].into();
        assert_eq!(weights(&counts), [(Scenario::Silent, PARTS)].into());
    }
}
