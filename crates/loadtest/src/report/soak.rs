//! A soak: its windows, how each quantity goes over them, and what that means, in sentences.

use std::fmt::Write as _;

use crate::results::{Leak, QUANTITIES, Run, Soak, Window};
use crate::trend::{Growth, WINDOWS};

use super::group::{Group, label};
use super::number::{NONE, count, figure, optional};
use super::plot::{self, Frame, Scale};
use super::table::{Cell, Table};
use super::text;

const WIDTH: f64 = 590.0;
const FRAME: Frame = Frame { left: 64.0, top: 44.0, right: 546.0, bottom: 154.0 };
const HOUR: f64 = 3_600.0;

/// The trends, and the windows.
pub(super) fn tables(group: &Group<'_>) -> Vec<Table> {
    [trends(group), windows(group)].into_iter().flatten().collect()
}

fn trends(group: &Group<'_>) -> Option<Table> {
    let head = [
        "Run",
        "Quantity",
        "Verdict",
        "Windows",
        "Per hour",
        "At least",
        "At most",
        "By chance",
        "First half",
        "Last half",
        "Tolerated",
        "Days to limit",
    ];
    let mut table = Table::new("Growth per hour over the windows of the soak", &head);
    table.note = "The slope is that of Theil and Sen with its interval of 95 %; by chance: how probable so even a rise is where nothing \
                  grows (Mann and Kendall). A run fails where the least growth is above what is tolerated."
        .to_owned();
    table.text_columns = 3;
    for (run, soak) in soaks(group) {
        table.rows.extend(soak.leaks.iter().map(|leak| trend_row(run, leak)));
    }
    table.finished()
}

fn trend_row(run: &Run, leak: &Leak) -> Vec<Cell> {
    let grows = leak.growth == Growth::Steady;
    let fails = grows && leak.tolerance_per_hour.is_some_and(|most| leak.least_per_hour > Some(most));
    let verdict = word(leak.growth);
    vec![
        label(run).into(),
        named(leak).into(),
        if fails { Cell::judged(verdict.into(), false) } else { verdict.into() },
        count(leak.windows as u64).into(),
        optional(leak.per_hour).into(),
        optional(leak.least_per_hour).into(),
        optional(leak.most_per_hour).into(),
        optional(leak.probability).into(),
        optional(leak.first_half_per_hour).into(),
        optional(leak.last_half_per_hour).into(),
        optional(leak.tolerance_per_hour).into(),
        optional(leak.days_to_limit).into(),
    ]
}

fn windows(group: &Group<'_>) -> Option<Table> {
    let head = [
        "Run",
        "Until",
        "Answered",
        "Errors",
        "Per second",
        "P50 ms",
        "P99 ms",
        "Max ms",
        "CPU µs/request",
        "Memory MiB",
        "Files",
        "Threads",
        "Disk MiB",
    ];
    let mut table = Table::new("Windows of the soak", &head);
    table.note =
        "Memory, open files, threads and disk are the middle of many samples in each window.".to_owned();
    (table.text_columns, table.folded) = (2, true);
    for (run, soak) in soaks(group) {
        table.rows.extend(soak.windows.iter().map(|window| window_row(run, window)));
    }
    table.finished()
}

fn window_row(run: &Run, window: &Window) -> Vec<Cell> {
    let whole =
        |value: Option<f64>| value.map_or_else(|| NONE.to_owned(), |value| count(value.round() as u64));
    vec![
        label(run).into(),
        clock(window.at).into(),
        count(window.answered).into(),
        count(window.errors).into(),
        figure(window.answered as f64 / window.seconds.max(0.001)).into(),
        optional(window.p50_ms).into(),
        optional(window.p99_ms).into(),
        optional(window.max_ms).into(),
        optional(window.cpu_us_per_request).into(),
        optional(window.memory_mib).into(),
        whole(window.descriptors).into(),
        whole(window.threads).into(),
        optional(window.disk_mib).into(),
    ]
}

/// `7:05:00` of so many seconds.
fn clock(seconds: f64) -> String {
    let seconds = seconds.max(0.0).round() as u64;
    format!("{}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

fn soaks<'r>(group: &'r Group<'_>) -> impl Iterator<Item = (&'r Run, &'r Soak)> {
    group.runs.iter().filter_map(|run| Some((*run, run.soak.as_ref()?)))
}

/// What the trends of a run mean, a sentence each.
pub fn leaks(run: &Run) -> Vec<String> {
    run.soak.iter().flat_map(|soak| soak.leaks.iter().map(|leak| sentence(leak, soak))).collect()
}

/// The same with the run's name, of what grows or rose alone; and of what nothing could be said.
pub(super) fn findings(group: &Group<'_>) -> Vec<String> {
    let mut told = Vec::new();
    for (run, soak) in soaks(group) {
        let name = format!("{} {}", group.scenario, label(run));
        let (short, known): (Vec<_>, Vec<_>) =
            soak.leaks.iter().partition(|leak| leak.growth == Growth::TooShort);
        let growing = known.iter().filter(|leak| leak.growth != Growth::None);
        told.extend(growing.map(|leak| format!("{name}: {}", sentence(leak, soak))));
        let still: Vec<String> =
            known.iter().filter(|leak| leak.growth == Growth::None).map(|leak| named(leak)).collect();
        if !still.is_empty() {
            told.push(format!("{name}: no growth is seen of {}.", still.join(", ")));
        }
        let (few, alike): (Vec<&Leak>, Vec<&Leak>) =
            short.into_iter().partition(|leak| leak.windows < WINDOWS);
        if let Some(leak) = few.first() {
            told.push(format!(
                "{name}: the soak is too short to tell whether anything grows: {} windows count, and {WINDOWS} are needed.",
                leak.windows
            ));
        }
        told.extend(alike.iter().map(|leak| format!("{name}: {}", sentence(leak, soak))));
    }
    told
}

fn sentence(leak: &Leak, soak: &Soak) -> String {
    let name = named(leak);
    let amount = |value: f64| with_unit(value, &leak.unit);
    let (Some(slope), Some(least), Some(most)) = (leak.per_hour, leak.least_per_hour, leak.most_per_hour)
    else {
        let (windows, each) = (leak.windows, clock(soak.window_seconds));
        return match windows < WINDOWS {
            true => format!(
                "{name}: too short to tell: {windows} windows of {each} count, and {WINDOWS} are needed."
            ),
            false => format!(
                "{name}: too short to tell: too many of the {windows} windows of {each} have the same value for an interval."
            ),
        };
    };
    let interval = format!("with 95 % confidence from {} to {}", figure(least), figure(most));
    match leak.growth {
        Growth::Steady => {
            let chance = leak.probability.map_or_else(String::new, |chance| {
                format!("; by chance with probability {}", figure(chance))
            });
            let end = leak.days_to_limit.zip(leak.limit);
            let end = end.map_or_else(String::new, |(days, limit)| {
                format!(" It would reach {} in {} days.", amount(limit), figure(days))
            });
            format!("{name} grows by {} an hour ({interval}{chance}).{end}", amount(slope))
        }
        Growth::AtRest => format!("{name} grew at first and came to rest ({}).", halves(leak)),
        Growth::Slowing => format!(
            "{name} grows ever more slowly ({}): whether it comes to rest is not known yet.",
            halves(leak)
        ),
        Growth::Rose => {
            let rise = leak.rise.map_or_else(String::new, |rise| {
                format!(" by {} after {} hours", amount(rise.by), figure(rise.at_hours))
            });
            format!("{name} rose once{rise}; it does not grow besides ({interval} an hour).")
        }
        Growth::None => {
            format!("{name}: no growth is seen; more than {} an hour would have been.", amount(most.max(0.0)))
        }
        Growth::TooShort => format!(
            "{name}: too short to tell: {} windows count, and {WINDOWS} are needed; only growth of more than {} an hour could have been \
             seen.",
            leak.windows,
            amount(most.max(0.0))
        ),
    }
}

fn halves(leak: &Leak) -> String {
    match leak.first_half_per_hour.zip(leak.last_half_per_hour) {
        Some((first, last)) => format!(
            "{} an hour in the first half, {} in the last",
            with_unit(first, &leak.unit),
            with_unit(last, &leak.unit)
        ),
        None => "its halves are too short for figures".to_owned(),
    }
}

fn with_unit(value: f64, unit: &str) -> String {
    if unit.is_empty() { figure(value) } else { format!("{} {unit}", figure(value)) }
}

/// What a quantity is called.
fn named(leak: &Leak) -> String {
    let known = QUANTITIES.iter().find(|quantity| quantity.name == leak.quantity);
    known.map_or_else(|| leak.quantity.clone(), |quantity| quantity.words.to_owned())
}

const fn word(growth: Growth) -> &'static str {
    match growth {
        Growth::Steady => "grows",
        Growth::AtRest => "came to rest",
        Growth::Slowing => "grows ever more slowly",
        Growth::Rose => "rose once",
        Growth::None => "no growth seen",
        Growth::TooShort => "too short to tell",
    }
}

/// A plot of each quantity of a run over its windows, with its slope.
pub(super) fn plots(run: &Run) -> Vec<String> {
    let Some(soak) = &run.soak else { return Vec::new() };
    let plot = |leak: &Leak| {
        let known = QUANTITIES.iter().find(|quantity| quantity.name == leak.quantity);
        let value = |window: &Window| match known {
            Some(quantity) => (quantity.of)(window),
            None => window.store_mib.get(&leak.quantity).copied(),
        };
        let hours = |window: &Window| (window.at - window.seconds / 2.0) / HOUR;
        let points: Vec<_> =
            soak.windows.iter().filter_map(|window| Some((hours(window), value(window)?))).collect();
        let settled =
            soak.windows.get(soak.settling).map_or(0.0, |window| (window.at - window.seconds) / HOUR);
        quantity_plot((label(run), leak), &points, settled)
    };
    soak.leaks.iter().filter_map(plot).collect()
}

/// One quantity; the trend counts what comes after `settled`, in hours.
fn quantity_plot((run, leak): (&str, &Leak), points: &[(f64, f64)], settled: f64) -> Option<String> {
    let (last, _) = points.last()?;
    let name = named(leak);
    let mut svg =
        plot::open(WIDTH, FRAME.bottom + 40.0, &format!("{run}: {name} over hours, {}.", word(leak.growth)));
    let title = text::html(&text::shortened(
        &format!("{run}: {}, {}", with_words(&name, &leak.unit), word(leak.growth)),
        80,
    ));
    let _ = write!(svg, "<text class=\"strong\" x=\"8\" y=\"16\">{title}</text>");
    let x = Scale::linear(*last, (FRAME.left, FRAME.right));
    let y = Scale::rounded(
        points.iter().map(|point| point.1).fold(0.0, f64::max),
        4.0,
        (FRAME.bottom, FRAME.top),
    );
    FRAME.write_y(&mut svg, &y, 4.0);
    FRAME.write_x(&mut svg, &x, 6.0);
    if settled > 0.0 {
        let at = x.at(settled);
        let _ = write!(
            svg,
            "<path class=\"edge\" d=\"M{at:.1} {}V{}\"><title>the trend counts from here</title></path>",
            FRAME.top, FRAME.bottom
        );
    }
    plot::write_line(&mut svg, points.iter().map(|(hour, value)| (x.at(*hour), y.at(*value))), "p50");
    if let Some((from, to)) = line(leak, points, settled) {
        plot::write_line(
            &mut svg,
            [from, to].into_iter().map(|(hour, value)| (x.at(hour), y.at(value))),
            "p99",
        );
    }
    let _ = write!(
        svg,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">hours</text></svg>",
        f64::midpoint(FRAME.left, FRAME.right),
        FRAME.bottom + 32.0
    );
    Some(svg)
}

fn with_words(name: &str, unit: &str) -> String {
    if unit.is_empty() { name.to_owned() } else { format!("{name} in {unit}") }
}

/// Both ends of the slope, through the middle of the points that it was made of.
fn line(leak: &Leak, points: &[(f64, f64)], settled: f64) -> Option<((f64, f64), (f64, f64))> {
    let slope = leak.per_hour?;
    let counted: Vec<_> = points.iter().filter(|(hour, _)| *hour >= settled).collect();
    let heights: Vec<f64> = counted.iter().map(|(hour, value)| value - slope * hour).collect();
    let height = crate::gate::rank::median(&heights)?;
    let at = |hour: f64| (hour, height + slope * hour);
    Some((at(counted.first()?.0), at(counted.last()?.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{group, sample};

    fn leak(growth: Growth) -> Leak {
        Leak { growth, ..sample::soak().leaks.remove(0) }
    }

    #[test]
    fn every_verdict_is_a_sentence_with_its_figures() {
        let soak = sample::soak();
        let told = |growth| sentence(&leak(growth), &soak);
        assert_eq!(
            told(Growth::Steady),
            "resident memory grows by 12.0 MiB an hour (with 95 % confidence from 11.5 to 12.5; by chance with probability <0.001). It \
             would reach 8,192 MiB in 27.8 days."
        );
        assert!(
            told(Growth::AtRest)
                .contains("came to rest (12.1 MiB an hour in the first half, 11.9 MiB in the last)")
        );
        assert!(told(Growth::Rose).contains("rose once by 40.0 MiB after 3.00 hours"));
        assert!(told(Growth::None).contains("no growth is seen; more than 12.5 MiB an hour would have been"));
        assert!(told(Growth::TooShort).contains("only growth of more than 12.5 MiB an hour could have been"));
        assert!(told(Growth::Slowing).contains("is not known yet"));
        let none = Leak { quantity: "memory".into(), windows: 3, ..Leak::default() };
        assert_eq!(
            sentence(&none, &soak),
            "resident memory: too short to tell: 3 windows of 0:05:00 count, and 10 are needed."
        );
        assert_eq!(
            sentence(&Leak { windows: 18, ..none }, &soak),
            "resident memory: too short to tell: too many of the 18 windows of 0:05:00 have the same value for an interval."
        );
    }

    #[test]
    fn windows_trends_and_plots_are_drawn() {
        let mut results = sample::small();
        results.runs[0].soak = Some(sample::soak());
        let groups = group::by_scenario(&results.runs);
        let [trends, windows] = tables(&groups[0]).try_into().unwrap();
        assert_eq!((trends.rows.len(), windows.rows.len()), (1, 12));
        assert_eq!(windows.rows[11][1].text, "1:00:00");
        assert!(trends.rows[0].iter().any(|cell| cell.text == "grows"));
        let [plot] = plots(&results.runs[0]).try_into().unwrap();
        assert!(
            plot.contains("the trend counts from here") && plot.contains("line p99") && !plot.contains("NaN"),
            "{plot}"
        );
        let told = findings(&groups[0]);
        assert!(matches!(told.as_slice(), [one] if one.contains("grows by 12.0 MiB an hour")), "{told:?}");
        assert_eq!(plots(&sample::small().runs[0]), [] as [String; 0]);
    }
}
