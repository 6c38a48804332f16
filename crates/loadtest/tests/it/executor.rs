//! Stalls show, wrong answers are counted exactly, arrivals keep their rate.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use symbolon_loadtest::LoadtestError;
use symbolon_loadtest::client::{ClientError, Response, Timeouts, request};
use symbolon_loadtest::clock;
use symbolon_loadtest::executor::{Closed, Load, Open, Schedule, Stage, Until, closed, open};
use symbolon_loadtest::latency::LatenciesOfASecond;
use symbolon_loadtest::scenario::{Next, Right, Visitor, Wrong};
use symbolon_loadtest::tally::{End, Lately, Tally};

/// Answers each request with what `answer` says, a thread per connection.
fn server(
    answer: impl Fn(u64) -> Option<&'static str> + Send + Sync + 'static,
) -> (SocketAddr, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let count = Arc::new(AtomicU64::new(0));
    let (answer, counter) = (Arc::new(answer), Arc::clone(&count));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (answer, count) = (Arc::clone(&answer), Arc::clone(&counter));
            std::thread::spawn(move || converse(stream.unwrap(), &*answer, &count));
        }
    });
    (address, count)
}

fn converse(mut stream: TcpStream, answer: &dyn Fn(u64) -> Option<&'static str>, count: &AtomicU64) {
    stream.set_nodelay(true).unwrap();
    let mut buffer = [0; 4096];
    let mut filled = 0;
    while let Ok(read @ 1..) = stream.read(&mut buffer[filled..]) {
        filled += read;
        if buffer[..filled].ends_with(b"\r\n\r\n") {
            filled = 0;
            let number = count.fetch_add(1, Ordering::Relaxed);
            let Some(body) = answer(number) else { continue };
            let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
            if stream.write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    }
}

/// Wants the body `right`.
struct Asker;

impl Visitor for Asker {
    fn next_request(&mut self, out: &mut Vec<u8>) -> Next {
        request::get(out, "/", "localhost", &[]);
        Next::Send
    }

    fn check(&mut self, response: &Response<'_>) -> Result<Right, Wrong> {
        if response.body == b"right" {
            Ok(Right::default())
        } else {
            Err(Wrong::new("body", response.text()))
        }
    }
}

fn askers(count: usize) -> Vec<Box<dyn Visitor>> {
    (0..count).map(|_| Box::new(Asker) as Box<dyn Visitor>).collect()
}

/// Nothing is answered in the first second after the first request; then everything is.
fn stalling_server() -> SocketAddr {
    let opens = OnceLock::new();
    let (address, _) = server(move |_| {
        let opens: Instant = *opens.get_or_init(|| clock::now() + STALL);
        std::thread::sleep(opens.saturating_duration_since(clock::now()));
        Some("right")
    });
    address
}

const STALL: Duration = Duration::from_secs(1);

#[test]
fn the_open_model_shows_a_stall_that_the_closed_one_hides() {
    let run = Open { load: Load::to(stalling_server()), schedule: Schedule::constant(500.0, STALL).unwrap() };
    let open = open(&run, askers(16), &mut |_, _| ()).unwrap();
    let tally = &open.outcome.tally;
    assert!(
        tally.is_clean() && open.outcome.tally.missed == 0,
        "{:?}, {} missed",
        tally.failures,
        open.outcome.tally.missed
    );
    // Every arrival falls into the stall and waits for its end, the first for a second, the last hardly at all; on a
    // slow machine each waits longer. The histogram keeps three digits.
    for (percentile, least) in [(100.0, 990), (75.0, 740), (50.0, 490), (25.0, 240)] {
        let latency = tally.latency(percentile);
        assert!(latency >= Duration::from_millis(least), "P{percentile} {latency:?}");
    }

    let run = Closed { load: Load::to(stalling_server()), until: Until::Requests(500) };
    let closed = closed(&run, askers(16)).unwrap().tally;
    assert!(closed.latency(100.0) >= Duration::from_millis(990), "{:?}", closed.latency(100.0));
    // Sixteen requests met the stall; the others were only sent when it was over.
    assert!(closed.latency(75.0) < STALL / 2, "the reason for the open model: {:?}", closed.latency(75.0));
}

#[test]
fn a_rate_that_the_server_does_not_reach_is_not_said_to_be_reached() {
    // One connection and 10 ms for each answer: a hundred a second at most.
    let (address, _) = server(|_| {
        std::thread::sleep(Duration::from_millis(10));
        Some("right")
    });
    let schedule = Schedule::constant(200.0, Duration::from_secs(2)).unwrap();
    let run = open(&Open { load: Load::to(address), schedule }, askers(1), &mut |_, _| ()).unwrap();
    // All are answered in the end, after twice the time.
    assert_eq!((run.arrivals, run.outcome.tally.missed, run.outcome.tally.right), (400, 0, 400));
    assert!(run.achieved_rate <= 105.0, "{}", run.achieved_rate);
    assert!(run.outcome.tally.latency(99.0) >= Duration::from_millis(1_900));
}

/// Whoever sends nothing for a while is hung up on. How many connections there were is counted.
fn impatient_server(patience: Duration) -> (SocketAddr, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let connections = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&connections);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            counter.fetch_add(1, Ordering::Relaxed);
            stream.set_read_timeout(Some(patience)).unwrap();
            std::thread::spawn(move || converse(stream, &|_| Some("right"), &AtomicU64::new(0)));
        }
    });
    (address, connections)
}

#[test]
fn connections_that_the_server_closes_while_they_are_idle_are_no_failures() {
    // Two connections take turns every half second. Whatever is closed is closed a quarter of a second away from a turn, so
    // that no request meets the close on its way: then RFC 9112 9.5 would let it fail.
    let (address, connections) = impatient_server(Duration::from_millis(250));
    let schedule = Schedule::constant(2.0, Duration::from_secs(2)).unwrap();
    let run = open(&Open { load: Load::to(address), schedule }, askers(2), &mut |_, _| ()).unwrap();
    assert_eq!(
        (run.outcome.tally.right, run.outcome.tally.missed),
        (4, 0),
        "{:?}",
        run.outcome.tally.failures
    );
    assert!(connections.load(Ordering::Relaxed) > 4, "they were opened anew");
}

/// Wants the body `right`, and takes its time to ask a second time.
#[derive(Default)]
struct Ponderer {
    asked: usize,
}

impl Visitor for Ponderer {
    fn next_request(&mut self, out: &mut Vec<u8>) -> Next {
        if self.asked == 1 {
            std::thread::sleep(Duration::from_millis(400));
        }
        self.asked += 1;
        Asker.next_request(out)
    }

    fn check(&mut self, response: &Response<'_>) -> Result<Right, Wrong> {
        Asker.check(response)
    }
}

#[test]
fn what_ends_while_the_thread_is_held_up_is_no_failure() {
    // The first visitor has the arrivals at 0 and 200 ms, the second those at 100 and 300. It was answered at 100, is
    // hung up on at 250, and goes on when the first one has sent its second request, without a look at the network.
    let (address, _) = impatient_server(Duration::from_millis(150));
    let visitors: Vec<Box<dyn Visitor>> = vec![Box::new(Ponderer::default()), Box::new(Asker)];
    let schedule = Schedule::constant(10.0, Duration::from_millis(400)).unwrap();
    let load = Load { threads: 1, ..Load::to(address) };
    let run = open(&Open { load, schedule }, visitors, &mut |_, _| ()).unwrap();
    assert_eq!(
        (run.outcome.tally.right, run.outcome.tally.missed),
        (4, 0),
        "{:?}",
        run.outcome.tally.failures
    );
}

#[test]
fn one_wrong_answer_in_ten_thousand_is_counted_exactly() {
    for threads in [1, 2, 3] {
        let (address, count) = server(|number| Some(if number % 10_000 == 7 { "wrong" } else { "right" }));
        let load = Load { threads, ..Load::to(address) };
        let outcome = closed(&Closed { load, until: Until::Requests(20_000) }, askers(8)).unwrap();
        assert_eq!(outcome.tally.wrong.get("body"), Some(&2));
        assert_eq!(outcome.tally.right, 19_998);
        assert_eq!(count.load(Ordering::Relaxed), 20_000);
        assert_eq!(outcome.tally.first_wrong().as_deref(), Some("body: wrong"));
        assert!(!outcome.tally.is_clean());
        assert_eq!(outcome.visitors.len(), 8);
    }
}

#[test]
fn every_arrival_is_sent_and_none_before_its_time() {
    let seen: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let times = Arc::clone(&seen);
    let (address, _) = server(move |_| {
        times.lock().unwrap().push(clock::now());
        Some("right")
    });
    let load =
        Load { warm_up: Duration::from_millis(500), pid: Some(std::process::id()), ..Load::to(address) };
    let schedule = Schedule::constant(2_000.0, Duration::from_secs(2)).unwrap();
    let before = clock::now();
    let open = open(&Open { load, schedule }, askers(16), &mut |_, _| ()).unwrap();
    assert_eq!((open.arrivals, open.outcome.tally.missed), (4_000, 0));
    assert_eq!(open.outcome.tally.right, 4_000, "the warm-up is not counted");
    assert_eq!(open.achieved_rate, 2_000.0);
    assert!(open.outcome.server_cpu.unwrap() > Duration::ZERO);
    // And as the server saw it, the warm-up included: late on a slow machine, but all of them, and none early.
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 5_000);
    for (index, at) in (0_u32..).zip(seen.iter()) {
        let due = Duration::from_micros(500) * index;
        assert!(*at - before >= due, "arrival {index} came after {:?}", *at - before);
    }
}

#[test]
fn what_a_silent_server_lets_fall_is_missed_or_failed_never_forgotten() {
    let (address, _) = server(|number| (number < 100).then_some("right"));
    let timeouts = Timeouts { request: Duration::from_millis(200), ..Timeouts::default() };
    let load = Load { timeouts, ..Load::to(address) };
    let schedule = Schedule::constant(400.0, Duration::from_secs(1)).unwrap();
    let open = open(&Open { load, schedule }, askers(4), &mut |_, _| ()).unwrap();
    let tally = &open.outcome.tally;
    assert_eq!(tally.requests() + open.outcome.tally.missed, 400);
    let timed_out = tally.failures.get("timeout").copied().unwrap_or(0);
    assert_eq!((tally.right + timed_out, tally.wrong_total()), (tally.requests(), 0), "{:?}", tally.failures);
    // Each of the four connections waits 200 ms in silence, and the last arrival is sent after 1.2 s at most.
    assert!(
        tally.right <= 100 && timed_out <= 128 && open.outcome.tally.missed >= 272,
        "{:?}",
        tally.failures
    );
}

#[test]
fn nodes_share_a_load_whatever_the_number_of_threads() {
    for threads in [1, 2, 6] {
        let nodes: Vec<_> = (0..3).map(|_| server(|_| Some("right"))).collect();
        let others = nodes[1..].iter().map(|(address, _)| (*address).into()).collect();
        let load = Load { threads, others, ..Load::to(nodes[0].0) };
        let schedule = Schedule::constant(600.0, Duration::from_millis(200)).unwrap();
        closed(&Closed { load: load.clone(), until: Until::Requests(60) }, askers(6)).unwrap();
        open(&Open { load, schedule }, askers(6), &mut |_, _| ()).unwrap();
        let asked: Vec<u64> = nodes.iter().map(|(_, count)| count.load(Ordering::Relaxed)).collect();
        assert!(asked.iter().all(|asked| *asked > 0), "{threads} threads: {asked:?}");
    }
}

#[test]
fn an_unreachable_target_is_told_at_once() {
    let address = SocketAddr::from(([127, 0, 0, 1], 1));
    let run = Closed { load: Load { threads: 2, ..Load::to(address) }, until: Until::Requests(10) };
    let error = closed(&run, askers(4)).err().unwrap();
    assert!(matches!(error, LoadtestError::Http { source: ClientError::Connect { .. }, .. }), "{error}");
    let schedule = Schedule::constant(10.0, Duration::from_secs(60)).unwrap();
    let error = open(&Open { load: Load::to(address), schedule }, askers(4), &mut |_, _| ()).err().unwrap();
    assert!(error.to_string().contains("cannot connect"), "{error}");
}

#[test]
fn a_stopped_run_ends_early_with_what_it_has() {
    let (address, _) = server(|_| Some("right"));
    let load = Load::to(address);
    let stop = load.stop.clone();
    let (told, asked) = std::sync::mpsc::channel();
    let run = std::thread::spawn(move || {
        told.send(()).unwrap();
        closed(&Closed { load, until: Until::Elapsed(Duration::from_secs(3600)) }, askers(2)).unwrap()
    });
    asked.recv().unwrap();
    stop.stop();
    assert!(run.join().unwrap().tally.failures.is_empty());
}

#[test]
fn ramps_are_sent_and_checked_but_only_the_plateau_is_counted_and_every_second_is_told() {
    let (address, count) = server(|number| Some(if number < 3 { "wrong" } else { "right" }));
    let second = Duration::from_secs(1);
    let schedule = Schedule::new(&[
        Stage { from: 200.0, to: 400.0, duration: second },
        Stage::constant(400.0, 2 * second),
        Stage { from: 400.0, to: 0.0, duration: second },
    ])
    .unwrap();
    let mut told = Vec::new();
    let load = Load { pid: Some(std::process::id()), ..Load::to(address) };
    let mut on_second = |at: Duration, lately: &Lately| told.push((at, lately.clone()));
    let run = open(&Open { load, schedule }, askers(8), &mut on_second).unwrap();
    assert_eq!((run.arrivals, run.outcome.tally.missed, run.outcome.tally.right), (800, 0, 800));
    assert_eq!((run.outcome.warm_up_errors, run.achieved_rate), (3, 400.0));
    assert_eq!(count.load(Ordering::Relaxed), 300 + 800 + 200);
    assert!(run.outcome.server_cpu.unwrap() > Duration::ZERO);
    // What came after the last full second is in no line, and a slow machine skips some.
    let answered: u64 = told.iter().map(|(_, lately)| lately.answered).sum();
    assert!((1..=1_300).contains(&answered), "{answered}");
    assert_eq!(told.iter().map(|(_, lately)| lately.errors).sum::<u64>(), 3);
    assert!(told.iter().all(|(_, lately)| {
        let of = |percentile| lately.latencies.percentile(percentile);
        of(50.0) <= of(100.0)
    }));
}

/// What is told while a run goes on ends with what came out of it, whatever went wrong: also what nobody took up.
#[test]
fn what_is_told_last_is_what_came_out() {
    let (address, _) = server(|number| match number % 8 {
        0 => None,
        1 => Some("wrong"),
        _ => Some("right"),
    });
    let timeouts = Timeouts { request: Duration::from_millis(150), ..Timeouts::default() };
    let warm_up = Duration::from_millis(300);
    let load = Load { timeouts, threads: 2, warm_up, ..Load::to(address) };
    let schedule = Schedule::constant(300.0, Duration::from_millis(1_300)).unwrap();
    let mut told = Vec::new();
    let mut on_second = |_: Duration, lately: &Lately| told.push(lately.clone());
    let run = open(&Open { load, schedule }, askers(3), &mut on_second).unwrap();
    let tally = &run.outcome.tally;
    assert!(tally.missed > 0 && tally.wrong_total() > 0 && tally.failures_total() > 0);
    let last = told.last().unwrap();
    let plateau = &last.plateau_so_far;
    assert_eq!(plateau.wrong, tally.wrong);
    assert_eq!(plateau.failures, tally.failures);
    let ends = [tally.right, tally.wrong_total(), tally.failures_total(), tally.missed];
    assert_eq!(End::ALL.map(|end| plateau.of(end)), ends);
    let besides = End::ALL.map(|end| last.besides_so_far.of(end));
    let tallies = [&run.warm_up, &run.ramps];
    let sum = |count: fn(&Tally) -> u64| tallies.iter().map(|tally| count(tally)).sum::<u64>();
    let wanted =
        [sum(|of| of.right), sum(Tally::wrong_total), sum(Tally::failures_total), sum(|of| of.missed)];
    assert_eq!(besides, wanted);
    // Every arrival has its latency, once.
    for (end, count) in End::ALL.into_iter().zip(ends) {
        let told = told.iter().filter_map(|lately| lately.plateau.of(end)).map(LatenciesOfASecond::count);
        assert_eq!(told.sum::<u64>(), count, "{end:?}");
    }
}
