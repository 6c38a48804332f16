//! What came of the lines of a log that was replayed.

use super::group::{Group, label};
use super::number::{count, figure, share};
use super::table::Table;

/// A row for each kind of request that was sent, and for each kind of line that nothing was sent for.
pub(super) fn lines(group: &Group<'_>) -> Option<Table> {
    let mut table = Table::new("Lines of the log", &["Run", "Log", "Line", "Sent as", "Lines", "Share"]);
    table.note = "A log has neither bodies nor secrets: the seed's requests to the same endpoint stand in for its lines. Where \
                  its times are whole seconds, the requests of each are spread evenly over it."
        .to_owned();
    table.text_columns = 4;
    for run in &group.runs {
        let Some(replay) = &run.replay else { continue };
        let log = format!("{} at speed {}", replay.file, figure(replay.speed));
        let sent = replay.sent_as.iter().map(|(name, lines)| ("", name.as_str(), *lines));
        let left_out = replay.left_out.iter().map(|(what, lines)| (what.as_str(), "nothing", *lines));
        let others =
            [("unreadable", "nothing", replay.unreadable), ("no request", "nothing", replay.not_requests)];
        let others = others.into_iter().filter(|(_, _, lines)| *lines > 0);
        for (line, name, lines) in sent.chain(left_out).chain(others) {
            table.rows.push(vec![
                label(run).into(),
                log.as_str().into(),
                line.into(),
                name.into(),
                count(lines).into(),
                share(lines, replay.lines).into(),
            ]);
        }
    }
    table.finished()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::group::by_scenario;
    use crate::report::sample;
    use crate::results::Replayed;

    #[test]
    fn every_line_is_in_the_table() {
        let mut results = sample::full();
        results.runs[0].replay = Some(Replayed {
            file: "access.log".into(),
            speed: 2.0,
            lines: 100,
            sent_as: [("silent".to_owned(), 90)].into(),
            left_out: [("POST consent".to_owned(), 6)].into(),
            unreadable: 4,
            not_requests: 0,
            spread: false,
        });
        let table = by_scenario(&results.runs).iter().find_map(lines).unwrap();
        let rows: Vec<Vec<&str>> =
            table.rows.iter().map(|row| row[2..].iter().map(|cell| &*cell.text).collect()).collect();
        let shares: Vec<_> = rows.iter().map(|row| (row[0], row[1], row[2])).collect();
        assert_eq!(
            shares,
            [("", "silent", "90"), ("POST consent", "nothing", "6"), ("unreadable", "nothing", "4")]
        );
        assert!(rows[0][3].starts_with("90"), "{rows:?}");
        results.runs.iter_mut().for_each(|run| run.replay = None);
        assert!(by_scenario(&results.runs).iter().find_map(lines).is_none());
    }
}
