use super::*;

const COUNT: usize = 400_000;

/// The mean wait of a station's queue, without the service itself.
fn mean_wait(servers: usize, load: f64, service: Service) -> f64 {
    let mut engine = Engine::new(service, Picker::new(7));
    let station = engine.station(servers);
    let rate = load * servers as f64;
    let (mut sum, mut counted, mut seen) = (0.0, 0.0, 0);
    engine.run(
        (rate, COUNT),
        |_| (0, vec![Step::Work { station, mean: 1.0 }]),
        |_, latency| {
            seen += 1;
            // It begins empty.
            if seen > COUNT / 10 {
                sum += latency;
                counted += 1.0;
            }
        },
    );
    sum / counted - 1.0
}

/// The mean wait of an M/M/c queue with a mean service of 1 (Erlang's C).
fn erlang(servers: usize, load: f64) -> f64 {
    let offered = load * servers as f64;
    let (mut term, mut sum) = (1.0, 1.0);
    for n in 1..servers {
        term *= offered / n as f64;
        sum += term;
    }
    let last = term * offered / servers as f64 / (1.0 - load);
    last / (sum + last) / (servers as f64 * (1.0 - load))
}

#[track_caller]
fn assert_near(simulated: f64, exact: f64) {
    assert!((simulated / exact - 1.0).abs() < 0.05, "{simulated} and {exact}");
}

#[test]
fn queues_are_as_long_as_erlang_says() {
    for (servers, load) in [(1, 0.5), (1, 0.8), (4, 0.6), (4, 0.85), (16, 0.9)] {
        assert_near(mean_wait(servers, load, Service::Exponential), erlang(servers, load));
    }
    // One server: load / (1 - load).
    assert!((erlang(1, 0.8) - 4.0).abs() < 1e-12);
}

#[test]
fn fixed_services_wait_half_as_long() {
    // Pollaczek and Khinchine: M/D/1.
    for load in [0.5, 0.8] {
        assert_near(mean_wait(1, load, Service::Fixed), load / (2.0 * (1.0 - load)));
    }
}

#[test]
fn a_batch_takes_all_who_came_while_the_last_was_written() {
    let run = |rate: f64| {
        let mut engine = Engine::new(Service::Fixed, Picker::new(3));
        let committer = engine.committer(1.0, 0.0);
        let (mut most, mut least): (f64, f64) = (0.0, f64::INFINITY);
        let steps = vec![Step::Wait(0.25), Step::Commit { committer }];
        engine.run(
            (rate, 10_000),
            |_| (0, steps.clone()),
            |_, latency| (most, least) = (most.max(latency), least.min(latency)),
        );
        (least, most)
    };
    // A hundred times as many as single commits could be: nobody waits for more than two.
    let (least, most) = run(100.0);
    assert!(least >= 1.25 - 1e-9 && most <= 2.25 + 1e-9, "{least} to {most}");
}

#[test]
fn the_same_seed_is_the_same_run() {
    let run = |seed| {
        let mut engine = Engine::new(Service::Exponential, Picker::new(seed));
        let station = engine.station(2);
        let mut latencies = Vec::new();
        let steps = vec![Step::Work { station, mean: 0.5 }];
        engine.run((3.0, 1_000), |_| (0, steps.clone()), |_, latency| latencies.push(latency));
        latencies
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}
