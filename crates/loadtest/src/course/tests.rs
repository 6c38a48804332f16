use super::*;
use crate::report::{self, sample};

const SECOND: Duration = Duration::from_secs(1);
const MIB: u64 = 1 << 20;

/// What a second at 2,000/s may have: latencies that differ from second to second, an error now and then.
fn lately(second: u64) -> Lately {
    stepped(second, f64::from(1 << 24))
}

/// The same with at most so many different latencies.
fn stepped(second: u64, steps: f64) -> Lately {
    let mut lately = Lately::new().unwrap();
    let mut x = second.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    for _ in 0..120 {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        let unit = ((x >> 40) as f64 / f64::from(1 << 24) * steps).floor() / steps;
        lately.latencies.record(Duration::from_secs_f64(4e-4 + 0.2 * unit.powi(12)));
    }
    (lately.answered, lately.errors) = (2_000 + second % 7, u64::from(second.is_multiple_of(1_000)));
    lately
}

/// So many seconds of it.
fn course(seconds: u64) -> Course {
    let mut course = Course::new();
    // Histograms are costly to fill, and to put together a million times: a few minutes of them are repeated, and those of
    // many days have few steps.
    let steps = if seconds > 86_400 { 24.0 } else { f64::from(1 << 24) };
    let kinds: Vec<_> = (0..240).map(|kind| SparseLatencies::of(&stepped(kind, steps).latencies)).collect();
    for second in 1..=seconds {
        let counts = (2_000 + second % 7, u64::from(second.is_multiple_of(1_000)), Some(3));
        let latencies = kinds[(second % 240) as usize].clone();
        course.add(second as u32 * SECOND, counts, (latencies, Some(SECOND / 4)));
    }
    course
}

/// The memory of this process that is in use, in bytes.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = text.split_whitespace().nth(1).unwrap().parse().unwrap();
    pages * rustix::param::page_size() as u64
}

#[test]
fn half_an_hour_is_kept_by_seconds() {
    let seconds = course(1_800).seconds();
    assert_eq!((seconds.len(), seconds[0].at, seconds[1_799].at), (1_800, 1, 1_800));
    assert!(seconds.iter().all(|second| second.covers.is_none() && second.worst.is_none()));
    let seconds = course(1_801).seconds();
    assert_eq!((seconds.len(), seconds[0].at, seconds[0].covers), (901, 2, Some(2.0)));
    assert_eq!((seconds[900].at, seconds[900].covers), (1_801, None), "its window is not over");
}

#[test]
fn ten_days_are_small_and_their_counts_are_exact() {
    for days in [1, 10] {
        let (whole, before) = (days * 86_400, resident());
        let course = course(whole);
        let grown = resident().saturating_sub(before);
        let seconds = course.seconds();
        assert!((900..=1_800).contains(&seconds.len()), "{}", seconds.len());
        // Other tests run in this process at the same time.
        assert!(grown < 100 * MIB, "{} MiB for {whole} seconds", grown / MIB);
        let sum = |read: fn(&Second) -> u64| seconds.iter().map(read).sum::<u64>();
        let answered: u64 = (1..=whole).map(|second| 2_000 + second % 7).sum();
        assert_eq!((sum(|second| second.answered), course.answered()), (answered, answered));
        assert_eq!((sum(|second| second.errors), course.errors()), (whole / 1_000, whole / 1_000));
        let covered: f64 = seconds.iter().map(Second::seconds).sum();
        assert!((covered - whole as f64).abs() < 1e-6, "{covered}");
        assert!(seconds.iter().all(|second| (second.server_cores.unwrap() - 0.25).abs() < 1e-9));

        if std::env::var_os("SYMBOLON_PRINT_MEMORY").is_some() {
            println!("{whole} s: {} KiB", grown / 1_024);
        }
        let mut results = sample::small();
        results.runs[0].timeline = seconds;
        let json = serde_json::to_string_pretty(&results).unwrap();
        let html = report::html(&results, Some(&results));
        assert!(json.len() + html.len() < 5_000_000, "{} + {}", json.len(), html.len());
        sample::assert_numbers(&html);
        let read: crate::results::Results = serde_json::from_str(&json).unwrap();
        let read = &read.runs[0].timeline;
        let own = &results.runs[0].timeline;
        assert_eq!(read.len(), own.len());
        assert!(
            read.iter().zip(own).all(|(read, own)| read.answered == own.answered && read.worst.is_some())
        );
    }
}

#[test]
fn a_row_has_the_percentiles_of_all_its_seconds_and_their_worst() {
    let mut course = Course::new();
    let mut whole = Lately::new().unwrap();
    for second in 1..=1_801_u32 {
        let mut lately = lately(u64::from(second));
        if second == 2 {
            // A second in which nothing was answered but one, late.
            lately = Lately { answered: 1, errors: 5, ..Lately::new().unwrap() };
            lately.latencies.record(Duration::from_secs(3));
        }
        course.record(second * SECOND, &lately, Some(second.min(9) * SECOND / 10));
        if second <= 2 {
            whole.latencies.take(&mut lately.latencies);
        }
    }
    let row = course.seconds()[0];
    let of = |percentile| whole.latencies.percentile(percentile).map(millis);
    assert_eq!((row.p50_ms, row.p99_ms), (of(50.0), of(99.0)));
    let worst = row.worst.unwrap();
    assert_eq!((worst.errors, worst.fewest_answered, worst.server_cores), (5, 1.0, Some(0.2)));
    assert!((worst.max_ms.unwrap() - 3_000.0).abs() < 30.0, "{worst:?}");
    assert_eq!(worst.p99_ms, super::SparseLatencies::of(&lately(1).latencies).percentile(99.0).map(millis));
    assert_eq!(row.worst_p99_ms(), worst.p99_ms, "one answer has no P99");
}

#[test]
fn seconds_that_were_held_up_stay_exact() {
    let mut course = Course::new();
    let lately = Lately { answered: 10, errors: 0, ..Lately::new().unwrap() };
    // Told every three seconds, and a half one at the end.
    for second in (3..=12_000).step_by(3) {
        course.record(second * SECOND, &lately, None);
    }
    let last = course.record(12_000 * SECOND + SECOND / 2, &lately, None);
    assert_eq!((last.at, last.covers), (12_001, Some(0.5)));
    let seconds = course.seconds();
    assert!(seconds.len() <= ROWS, "{}", seconds.len());
    assert_eq!(seconds.iter().map(|second| second.answered).sum::<u64>(), 40_010);
    let covered: f64 = seconds.iter().map(Second::seconds).sum();
    assert!((covered - 12_000.5).abs() < 1e-6);
    assert!(seconds.iter().all(|second| second.server_cores.is_none()));
}
