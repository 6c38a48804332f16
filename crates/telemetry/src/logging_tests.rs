use std::sync::LazyLock;

use tracing::Dispatch;
use tracing::subscriber::NoSubscriber;

use super::super::log_writer::tests::Sink;
use super::*;

/// Two subscribers that live as long as the process. While fewer are known, `tracing` asks only the subscriber of
/// the thread that comes to an event first whether anybody wants that event. Another test's thread has none, so
/// the event would be switched off for every thread.
static TWO_SUBSCRIBERS: LazyLock<[Dispatch; 2]> =
    LazyLock::new(|| std::array::from_fn(|_| Dispatch::new(NoSubscriber::default())));

/// Lets every test of the process see its own events; call it before the first event of a test.
pub(crate) fn keep_tests_apart() {
    LazyLock::force(&TWO_SUBSCRIBERS);
}

/// Runs `work` with a log of its own and gives the lines, parsed.
pub(crate) fn logged(level: &str, work: impl FnOnce(&Logging)) -> Vec<serde_json::Value> {
    keep_tests_apart();
    let sink = Sink::default();
    let options = LoggingOptions { level: level.to_owned(), ..LoggingOptions::default() };
    let (logging, subscriber) = Logging::build(options, sink.clone()).unwrap();
    tracing::subscriber::with_default(subscriber, || work(&logging));
    logging.flush();
    sink.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn json_lines_are_flat_objects() {
    let lines = logged("info", |_| {
        tracing::info!(target: "symbolon::test", number = 7, text = "a \"quoted\"\nline", "message");
        tracing::debug!("hidden");
    });
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0]["number"], 7);
    assert_eq!(lines[0]["text"], "a \"quoted\"\nline");
    assert_eq!(lines[0]["message"], "message");
    assert_eq!(lines[0]["level"], "INFO");
    assert_eq!(lines[0]["target"], "symbolon::test");
    assert!(lines[0]["timestamp"].is_string());
}

#[test]
fn the_level_changes_while_running() {
    let lines = logged("warn", |logging| {
        tracing::info!("one");
        logging.set_level("info").unwrap();
        tracing::info!("two");
        assert!(logging.set_level("not=a=level").is_err());
        tracing::info!("three");
        logging.set_level("info,symbolon::request=off").unwrap();
        tracing::info!(target: "symbolon::request", "four");
    });
    let messages: Vec<_> = lines.iter().map(|line| line["message"].as_str().unwrap()).collect();
    assert_eq!(messages, ["two", "three"]);
}

#[test]
fn pretty_lines_are_text() {
    keep_tests_apart();
    let sink = Sink::default();
    let options =
        LoggingOptions { format: LogFormat::Pretty, level: "info".to_owned(), ..LoggingOptions::default() };
    let (logging, subscriber) = Logging::build(options, sink.clone()).unwrap();
    tracing::subscriber::with_default(subscriber, || tracing::info!(shards = 64, "started"));
    logging.flush();
    assert!(sink.text().contains("started shards=64"), "{}", sink.text());
}

#[test]
fn an_unknown_level_is_refused() {
    let options = LoggingOptions { level: "not=a=level".to_owned(), ..LoggingOptions::default() };
    assert!(matches!(Logging::build(options, Sink::default()), Err(LoggingError::Level(_))));
}
