//! What each of several generators did.

use crate::results::{AgentShare, Run};

use super::group::{Group, label};
use super::number::{NONE, count, figure, optional};
use super::table::{Cell, Table};

/// One row for each agent of each run.
pub(super) fn agents(group: &Group<'_>) -> Option<Table> {
    let head = [
        "Run",
        "Agent",
        "What became of it",
        "Clock ahead ms",
        "Round trip ms",
        "Began late ms",
        "Arrivals",
        "Answers",
        "Not known",
        "CPU s",
        "Worst lag ms",
    ];
    let mut table = Table::new("Agents that sent the requests", &head);
    table.note = "Clock ahead: of the coordinator's wall clock. All began at one moment, as exactly as ± says: half of the \
                  shortest round trip, and what the clocks went apart by during the run. Not known: arrivals of a lost agent \
                  of which it never told what became; they count as failures. CPU: of its threads over the whole run."
        .to_owned();
    table.text_columns = 3;
    table.folded = true;
    for run in &group.runs {
        table.rows.extend(run.agents.iter().map(|agent| row(run, agent)));
    }
    table.finished()
}

fn row(run: &Run, agent: &AgentShare) -> Vec<Cell> {
    let lost = agent.lost_because.is_some();
    let number = |number: u64| if agent.arrivals == 0 && !lost { NONE.to_owned() } else { count(number) };
    vec![
        label(run).into(),
        agent.address.as_str().into(),
        if lost { Cell::judged(agent.fate(), false) } else { agent.fate().into() },
        format!("{} ± {}", figure(agent.clock_offset_ms), figure(agent.clock_doubt_ms)).into(),
        figure(agent.round_trip_ms).into(),
        optional(agent.began_late_ms).into(),
        number(agent.arrivals).into(),
        count(agent.answered).into(),
        if agent.arrivals_lost > 0 {
            Cell::judged(count(agent.arrivals_lost), false)
        } else {
            number(agent.arrivals_lost).into()
        },
        optional(agent.cpu_seconds).into(),
        optional(agent.worst_lag_ms).into(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{group, sample, verdict};

    #[test]
    fn a_lost_agent_is_told_in_table_and_verdict() {
        let mut results = sample::small();
        results.runs[0].agents = sample::agents();
        results.runs[0].arrivals_lost = 10_000;
        let table = agents(&group::by_scenario(&results.runs)[0]).unwrap();
        let texts: Vec<_> = table.rows[1].iter().map(|cell| cell.text.as_str()).collect();
        assert_eq!(
            texts[1..4],
            ["10.0.0.3:7400", "lost after 60.0 s: it was silent for 5 s", "-0.300 ± 0.120"]
        );
        assert_eq!(texts[6..], ["45,000", "35,000", "10,000", NONE, NONE]);
        let reason = "Run silent 500/s, 64 shards: agent 10.0.0.3:7400 lost after 60.0 s: it was silent for 5 s; what became \
                      of 11.1 % of the arrivals is not known.";
        let verdict = verdict::verdict(&results);
        assert_eq!((verdict.word, verdict.reasons), (verdict::FAIL, vec![reason.to_owned()]));
    }

    #[test]
    fn who_had_one_generator_has_no_table() {
        assert!(agents(&group::by_scenario(&sample::small().runs)[0]).is_none());
    }
}
