//! What a search for the limit found.

use crate::results::{Bottleneck, Capacity, Results};

use super::number::{NONE, count, figure, optional, rate};
use super::table::{Cell, Table, Tone};

/// Limits, what they are due to, and what to plan with.
pub(super) fn capacities(results: &Results) -> Vec<Table> {
    [limits(results), plans(results)].into_iter().flatten().collect()
}

fn limits(results: &Results) -> Option<Table> {
    let head =
        ["Scenario", "Bottleneck", "Known by", "Shards", "Limit/s", "P99 ms", "Fails at/s", "Per core/s"];
    let mut table = Table::new("Capacity: the highest rate that holds", &head);
    table.text_columns = 3;
    table.note =
        "Each rate was tried on its own, twice where it failed barely, and the limit once more for three \
                  times as long. Per core: by the provider's own CPU time for a request."
            .into();
    for capacity in &results.capacities {
        let found = capacity.limit > 0.0;
        let limit = match (found, capacity.is_claimed()) {
            (false, _) => "none held".into(),
            (true, false) => format!("not found, {} held", rate(capacity.limit)),
            (true, true) => rate(capacity.limit),
        };
        table.rows.push(vec![
            capacity.scenario.as_str().into(),
            name(capacity.bottleneck).into(),
            capacity.evidence.as_str().into(),
            capacity.shards.map_or_else(|| NONE.to_owned(), |shards| shards.to_string()).into(),
            Cell { text: limit, tone: if capacity.is_claimed() { Tone::Good } else { Tone::Bad } },
            optional(capacity.p99_ms).into(),
            capacity.failing.map_or_else(|| NONE.to_owned(), rate).into(),
            capacity.per_core.map_or_else(|| NONE.to_owned(), rate).into(),
        ]);
    }
    table.finished()
}

fn plans(results: &Results) -> Option<Table> {
    let head = [
        "Scenario",
        "Normal/s",
        "Peak/s",
        "Limit/s",
        "In the busiest hour",
        "Requests per user and day",
        "Monthly active users",
    ];
    let mut table = Table::new("What to plan with, per node", &head);
    let found = |capacity: &&Capacity| capacity.is_claimed();
    let first = results.capacities.iter().find(found)?;
    table.note = format!(
        "Normal: half of the limit, so that one of two nodes may fail. Peak: 80 % of it, which leaves a fifth for what \
         nobody foresaw. Users: the peak is their busiest hour, which has {} % of a day's requests; {} % of a month's \
         users are active on a day, each with so many requests of this kind; as if the node did nothing else.",
        figure(100.0 * first.busiest_hour_share),
        figure(100.0 * first.daily_share),
    );
    for capacity in results.capacities.iter().filter(found) {
        table.rows.push(vec![
            capacity.scenario.as_str().into(),
            rate(capacity.normal).into(),
            rate(capacity.peak).into(),
            rate(capacity.limit).into(),
            whole(capacity.busiest_hour_requests).into(),
            figure(capacity.requests_per_day).into(),
            whole(capacity.monthly_active_users).into(),
        ]);
    }
    table.finished()
}

/// To three digits: the rules are no more exact.
fn whole(value: f64) -> String {
    if !value.is_finite() || value < 1.0 {
        return NONE.to_owned();
    }
    let step = 10f64.powf((value.log10().floor() - 2.0).max(0.0));
    count(((value / step).floor() * step) as u64)
}

/// What a provider ran against, in words.
pub fn name(bottleneck: Bottleneck) -> &'static str {
    match bottleneck {
        Bottleneck::ServerCpu => "the provider's CPU",
        Bottleneck::GeneratorCpu => "the generator's CPU",
        Bottleneck::Generator => "the generator",
        Bottleneck::OtherProcesses => "the CPU of other processes",
        Bottleneck::ShardQueue => "the queue of a shard",
        Bottleneck::Disk => "the disk",
        Bottleneck::Database => "the database",
        Bottleneck::Unknown => "not known",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn a_limit_stands_with_its_reason_and_what_to_plan_with() {
        let mut results = sample::small();
        assert!(capacities(&results).is_empty());
        results.capacities = vec![sample::capacity()];
        let tables = capacities(&results);
        let row = |table: &Table| table.rows[0].iter().map(|cell| cell.text.clone()).collect::<Vec<_>>();
        assert_eq!(
            row(&tables[0]),
            ["silent", "the provider's CPU", "1.7 of 2 cores", "64", "4,000", "21.0", "4,200", "50,000"]
        );
        assert_eq!(
            row(&tables[1]),
            ["silent", "2,000", "3,200", "4,000", "11,500,000", "8.00", "32,000,000"]
        );
        results.capacities[0].bottleneck = Bottleneck::Generator;
        let tables = capacities(&results);
        assert_eq!(
            (tables.len(), row(&tables[0])[4].as_str()),
            (1, "not found, 4,000 held"),
            "nothing to plan with"
        );
        results.capacities[0].limit = 0.0;
        assert_eq!(row(&capacities(&results)[0])[4], "none held");
    }
}
