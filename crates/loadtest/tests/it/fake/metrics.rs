//! What the fake says of itself, as `/metrics` of a provider does.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::extract::State;

use super::Fake;

/// The upper bounds of its histogram, in seconds.
const BOUNDS: [&str; 5] = ["0.000005", "0.00001", "0.00002", "0.00005", "+Inf"];

/// What it is and runs with.
const ABOUT: &str = "symbolon_build_info{version=\"9.8\",revision=\"7\"} 1\n\
                     symbolon_configuration_info{store=\"memory\",rate_limits=\"on\",test_endpoints=\"off\"} 1\n";

impl Fake {
    /// From here on it says that each code which was redeemed took as long as the bucket with this upper bound says.
    pub(crate) fn tell_durations(&self, bound: &'static str) {
        self.data.lock().unwrap().bucket = bound;
    }
}

pub(super) async fn page(State(fake): State<Arc<Fake>>) -> String {
    const NAME: &str = "symbolon_request_duration_seconds";
    let told = fake.data.lock().unwrap().bucket;
    let redeemed = fake.visits.count("authorization_code");
    let (mut page, mut count) = (ABOUT.to_owned(), 0);
    for bound in BOUNDS {
        if bound == told {
            count = redeemed;
        }
        writeln!(page, "{NAME}_bucket{{endpoint=\"token\",le=\"{bound}\"}} {count}").unwrap();
    }
    writeln!(page, "{NAME}_count{{endpoint=\"token\"}} {count}").unwrap();
    page
}
