//! A coordinator and agents that are made up, so that each sees what the other must not believe.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use symbolon_crypto::encoding;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsStream;

use super::message::{Answer, Clocks, Done, Hello, PROTOCOL, SOFTWARE, Second, ToAgent, ToCoordinator};
use super::secret::Side;
use super::*;
use crate::executor::{Counted, CountedSecond, Load, Schedule};
use crate::latency::Latencies;
use crate::results::Example;
use crate::run::{Live, Plan, Traffic, Watchers};
use crate::scenario::{Right, Scenario, Wrong};
use crate::seed::Seed;
use crate::tally::{GeneratorNow, Tally, TallyParts};
use crate::target::{AdminPlace, Endpoints};
use crate::{Target, clock};

const RATE: f64 = 400.0;
const AGENTS: usize = 4;

fn secret(text: &str) -> AgentsSecret {
    AgentsSecret::new(&text.into()).unwrap()
}

fn own() -> AgentsSecret {
    secret("a secret of the tests alone")
}

/// Runs on a runtime of its own.
fn block_on<T>(task: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let done = runtime.block_on(task);
    runtime.shutdown_background();
    done
}

async fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// A seed and its target, which nobody asks.
fn seed() -> Seed {
    let address: SocketAddr = "127.0.0.1:1".parse().unwrap();
    let path = |path: &str| Some(path.to_owned());
    let target = Target {
        peer: address.into(),
        others: Vec::new(),
        authority: "op.example".into(),
        issuer: "https://op.example".into(),
        endpoints: Endpoints {
            discovery: "/d".into(),
            authorize: "/a".into(),
            token: "/t".into(),
            userinfo: path("/u"),
            introspect: path("/i"),
            revoke: path("/r"),
            jwks: path("/j"),
        },
        grant_types: None,
        admin_secret: None,
        admin: AdminPlace { peer: address.into(), authority: String::new(), base: String::new() },
    };
    let family = |number: u32| serde_json::json!({ "refresh_token": format!("rt-{number}"), "user_id": "u" });
    let saved = serde_json::json!({
        "version": 1, "issuer": "https://op.example", "cookie": "c", "password": "p", "algorithm": "ES256",
        "client": { "id": "client", "secret": "s", "redirect_uri": "https://app.example/" },
        "users": [], "sessions": [], "special": null,
        "tokens": [{ "token": "t", "user_id": "u", "expires_at": 1 }],
        "families": (0..3).map(family).collect::<Vec<_>>(),
    });
    Seed::of_parts(saved.to_string().as_bytes(), target).unwrap()
}

fn plan() -> Plan {
    let schedule = Schedule::constant(RATE, Duration::from_secs(3)).unwrap();
    Plan { warm_up: Duration::from_secs(1), ..Plan::new(Scenario::Userinfo, Traffic::Open(schedule)) }
}

fn whereto() -> Whereto {
    Whereto { urls: vec!["http://op.example".into()], protocol: crate::client::Protocol::Http1 }
}

/// What an agent counted in a phase: latencies from µs to minutes, some of them of waits that were given up.
fn count(tally: &mut Tally, agent: usize, second: usize, phase: usize) {
    for number in 0..40 {
        let nanos = 1_000
            + (agent * 7 + second * 31 + phase * 113 + number * 1_009) as u64
                * 977_u64.pow(number as u32 % 3);
        let took = Duration::from_nanos(nanos);
        match number % 8 {
            0 => tally.missed("", took),
            1 => tally.failed("", took, &crate::client::ClientError::Timeout, Example::default),
            2 => tally.wrong("", took, &Wrong::new("sub", "another user"), Example::default),
            _ => {
                tally.right(if number % 2 == 0 { "valid" } else { "expired" }, took, Right { signatures: 1 })
            }
        }
    }
}

fn phases_of(agent: usize, second: usize) -> Vec<Tally> {
    let mut phases = crate::executor::Counted::new().unwrap().phases;
    phases.iter_mut().enumerate().for_each(|(phase, tally)| count(tally, agent, second, phase));
    phases
}

/// What becomes of an agent after so many seconds.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Ends,
    /// It says no more, and its connection stays.
    FallsSilent,
    /// What it says contradicts itself.
    Lies,
}

/// The coordinator's encrypted connection, as an agent has it.
async fn accept(listener: &TcpListener) -> channel::Bound {
    let (stream, _) = listener.accept().await.unwrap();
    channel::accept(&channel::acceptor().unwrap(), stream).await.unwrap()
}

/// Plays an agent to its coordinator; three seconds are told before its fate.
async fn play(listener: TcpListener, agent: usize, fate: Fate) {
    let (mut stream, binding) = accept(&listener).await;
    let hello: Hello = frame::read(&mut stream, frame::FIRST).await.unwrap();
    let proof = encoding::decode(&hello.proof).unwrap();
    assert!(own().is_proof(Side::Coordinator, &binding, &proof));
    let proof = encoding::encode(&own().proof(Side::Agent, &binding));
    frame::write(&mut stream, &Answer::Welcome { proof }, frame::FIRST).await.unwrap();
    let clocks = || Clocks { monotonic: Duration::from_secs(3), wall: clock::wall() };
    loop {
        let answers = match frame::read(&mut stream, frame::TO_AGENT).await {
            Ok(ToAgent::Clock(number)) => {
                vec![ToCoordinator::Clock { number, received: clocks(), sent: clocks() }]
            }
            Ok(ToAgent::Prepare(job)) => {
                assert_eq!((job.turn, job.of, job.connections), (agent, AGENTS, 256));
                vec![ToCoordinator::Ready]
            }
            Ok(ToAgent::Begin(_)) => said(agent, fate),
            Ok(ToAgent::Alive | ToAgent::Stop) => Vec::new(),
            Ok(ToAgent::Goodbye) | Err(_) => return,
        };
        let silent = fate == Fate::FallsSilent && answers.len() > 1;
        for answer in answers {
            frame::write(&mut stream, &answer, frame::TO_COORDINATOR).await.unwrap();
        }
        if silent {
            std::future::pending::<()>().await;
        }
        // Whoever waits for messages longer hears from the coordinator, who says that it is there.
        frame::write(&mut stream, &ToCoordinator::Alive, frame::TO_COORDINATOR).await.unwrap();
    }
}

fn said(agent: usize, fate: Fate) -> Vec<ToCoordinator> {
    let second = |number: usize| CountedSecond {
        at: Duration::from_secs(number as u64),
        phases: phases_of(agent, number),
        late: number as u64,
        generator: GeneratorNow::default(),
    };
    let mut said: Vec<_> =
        (1..=3).map(|number| ToCoordinator::Second(Box::new(Second::from(second(number))))).collect();
    match fate {
        Fate::FallsSilent => {}
        Fate::Lies => {
            let lie: Second =
                serde_json::from_str(r#"{"at":{"secs":4,"nanos":0},"late":0,"phases":[{"right":1000000}]}"#)
                    .unwrap();
            said.push(ToCoordinator::Second(Box::new(lie)));
        }
        Fate::Ends => {
            let mut counted = Counted::new().unwrap();
            counted.phases = phases_of(agent, 4);
            (counted.late, counted.cpu) = (5, Duration::from_secs(1));
            let times = (Duration::from_millis(4_300), Duration::ZERO);
            said.push(ToCoordinator::Done(Box::new(Done::new(&counted, Vec::new(), times))));
        }
    }
    said
}

/// What a coordinator makes of four agents, and what it tells.
fn gather(fates: [Fate; AGENTS]) -> (Gathered, String) {
    let mut told = Vec::new();
    let gathered = block_on(async {
        let mut addresses = Vec::new();
        for (agent, fate) in fates.into_iter().enumerate() {
            let (listener, address) = listener().await;
            addresses.push(address.to_string());
            tokio::spawn(play(listener, agent, fate));
        }
        let options = Arc::new(AgentsOptions::new(addresses, own()).unwrap());
        let mut agents = Agents::connect(&options, &mut std::io::sink()).await.unwrap();
        let (plan, seed, load) = (plan(), seed(), Load::to("127.0.0.1:1".parse::<SocketAddr>().unwrap()));
        let live = Live::new("test", plan.whole(), (&mut told, false), None);
        let mut watchers = Watchers::only(live, load.stop.clone());
        let begun = agents.begin(&plan, (&seed, &whereto()), &load, &mut watchers).await.unwrap();
        let gathered = agents.gather(begun, &plan, &load, &mut watchers).await.unwrap();
        agents.end().await;
        gathered
    });
    (gathered, String::from_utf8(told).unwrap())
}

/// All that these agents counted in these seconds, recorded in one place.
fn in_one_place(seconds: impl Fn(usize) -> usize, phases: std::ops::Range<usize>) -> Tally {
    let mut whole = Tally::new().unwrap();
    for agent in 0..AGENTS {
        for second in 1..=seconds(agent) {
            phases.clone().for_each(|phase| count(&mut whole, agent, second, phase));
        }
    }
    whole
}

fn assert_same(merged: &Tally, expected: &Tally) {
    assert_eq!(TallyParts::from(merged), TallyParts::from(expected));
    let counts = |tally: &Tally| tally.whole().unwrap().counts();
    assert_eq!(counts(merged), counts(expected));
}

#[test]
fn the_merged_histogram_is_the_one_recorded_in_one_place() {
    let (gathered, _) = gather([Fate::Ends; AGENTS]);
    let outcome = &gathered.outcome;
    assert_same(&outcome.outcome.tally, &in_one_place(|_| 4, 2..5));
    assert_same(&outcome.warm_up, &in_one_place(|_| 4, 0..1));
    assert_same(&outcome.ramps, &in_one_place(|_| 4, 1..2));
    for (third, phase) in outcome.thirds.iter().zip(2..) {
        let expected = in_one_place(|_| 4, phase..phase + 1).whole().unwrap();
        assert_eq!(Latencies::counts(third), expected.counts());
    }
    // Five late answers of each.
    let right = outcome.outcome.tally.right - 20;
    assert!((outcome.achieved_rate - right as f64 / 3.0).abs() < 1e-6, "{}", outcome.achieved_rate);
    assert!(gathered.agents.iter().all(|agent| agent.lost_because.is_none()), "{:?}", gathered.agents);
}

#[test]
fn of_who_falls_silent_or_lies_that_stays_which_was_told_before() {
    let (gathered, told) = gather([Fate::Ends, Fate::FallsSilent, Fate::Lies, Fate::Ends]);
    let seconds = |agent: usize| if agent == 0 || agent == 3 { 4 } else { 3 };
    assert_same(&gathered.outcome.outcome.tally, &in_one_place(seconds, 2..5));
    let reasons: Vec<_> = gathered.agents.iter().map(|agent| agent.lost_because.as_deref()).collect();
    let contradiction = "counts and histograms of a tally contradict each other";
    assert_eq!(reasons, [None, Some("it was silent for 5 s"), Some(contradiction), None]);
    // 300 arrivals each in the plateau, of which 40 of each phase were told in each second.
    let lost: Vec<_> = gathered.agents.iter().map(|agent| agent.arrivals_lost).collect();
    assert_eq!(lost, [0, 0, 0, 0], "they told of more arrivals than they had: {:?}", gathered.agents);
    for place in [1, 2] {
        let address = &gathered.agents[place].address;
        assert!(told.contains(&format!("agent {address} is lost after")), "{told}");
    }
}

/// Connects to an agent as a coordinator with this message; its answer.
async fn greet(address: SocketAddr, hello: impl FnOnce(&[u8; 32]) -> Hello) -> Answer {
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut stream, binding): (TlsStream<_>, _) =
        channel::connect(&channel::connector().unwrap(), stream).await.unwrap();
    frame::write(&mut stream, &hello(&binding), frame::FIRST).await.unwrap();
    frame::read(&mut stream, frame::FIRST).await.unwrap()
}

/// An agent that runs as long as the task.
fn with_an_agent<T>(task: impl AsyncFnOnce(SocketAddr) -> T) -> T {
    let listen = "127.0.0.1:0".parse().unwrap();
    let agent = Agent::bind(AgentOptions { listen, secret: own(), trust: None }).unwrap();
    let address = agent.address().unwrap();
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let thread = std::thread::spawn(move || {
        agent.serve(&mut std::io::sink(), async { drop(ended.await) }).unwrap();
    });
    let done = block_on(task(address));
    drop(end);
    thread.join().unwrap();
    done
}

fn hello(side: Side, binding: &[u8; 32]) -> Hello {
    let proof = encoding::encode(&own().proof(side, binding));
    Hello { protocol: PROTOCOL, software: SOFTWARE.into(), proof }
}

#[test]
fn an_agent_takes_the_coordinators_proof_of_this_version_alone() {
    with_an_agent(async |address| {
        let other =
            greet(address, |binding| Hello { protocol: PROTOCOL + 1, ..hello(Side::Coordinator, binding) })
                .await;
        assert!(matches!(other, Answer::OtherProtocol { protocol: PROTOCOL, .. }));
        let reflected = greet(address, |binding| hello(Side::Agent, binding)).await;
        assert!(matches!(reflected, Answer::WrongSecret));
        let of_another_connection = greet(address, |_| hello(Side::Coordinator, &[7; 32])).await;
        assert!(matches!(of_another_connection, Answer::WrongSecret));
        assert!(matches!(
            greet(address, |binding| hello(Side::Coordinator, binding)).await,
            Answer::Welcome { .. }
        ));
    });
}

#[test]
fn who_stands_between_the_two_is_found_out() {
    let told = with_an_agent(async |agent| {
        let (listener, address) = listener().await;
        // Hands the coordinator's proof on to the agent, and the agent's answer back.
        tokio::spawn(async move {
            let (mut stream, _) = accept(&listener).await;
            let hello = frame::read(&mut stream, frame::FIRST).await.unwrap();
            let answer = greet(agent, |_| hello).await;
            frame::write(&mut stream, &answer, frame::FIRST).await.unwrap();
        });
        connect_to(address).await
    });
    assert!(told.contains("it has another secret"), "{told}");
}

#[test]
fn who_pretends_to_be_an_agent_is_found_out() {
    let told = block_on(async {
        let (listener, address) = listener().await;
        tokio::spawn(async move {
            let (mut stream, _) = accept(&listener).await;
            let Hello { proof, .. } = frame::read(&mut stream, frame::FIRST).await.unwrap();
            frame::write(&mut stream, &Answer::Welcome { proof }, frame::FIRST).await.unwrap();
            // Until the other side has read it.
            drop(frame::read::<ToAgent>(&mut stream, frame::FIRST).await);
        });
        connect_to(address).await
    });
    assert!(told.contains("does not know the secret"), "{told}");
}

#[test]
fn another_version_is_told_by_both_numbers() {
    let told = block_on(async {
        let (listener, address) = listener().await;
        tokio::spawn(async move {
            let (mut stream, _) = accept(&listener).await;
            frame::read::<Hello>(&mut stream, frame::FIRST).await.unwrap();
            let other = Answer::OtherProtocol { protocol: 9, software: "9.0.0".into() };
            frame::write(&mut stream, &other, frame::FIRST).await.unwrap();
            drop(frame::read::<ToAgent>(&mut stream, frame::FIRST).await);
        });
        connect_to(address).await
    });
    assert!(
        told.contains("version 9") && told.contains(&format!("version {PROTOCOL} ({SOFTWARE})")),
        "{told}"
    );
}

/// Why a coordinator does not take what is at this address for an agent.
async fn connect_to(address: SocketAddr) -> String {
    let options = Arc::new(AgentsOptions::new(vec![address.to_string()], own()).unwrap());
    Agents::connect(&options, &mut std::io::sink()).await.err().unwrap().to_string()
}

#[test]
fn families_are_dealt_out_and_never_to_two() {
    let (seed, whereto) = (seed(), whereto());
    let refresh = Plan::new(Scenario::Refresh, plan().traffic);
    let told = deal::deal(&refresh, &seed, &whereto, 4).err().unwrap().to_string();
    assert!(told.contains("4 agents need a refresh-token family each, and the seed has 3"), "{told}");
    let jobs = deal::deal(&refresh, &seed, &whereto, 2).unwrap();
    let of = |job: &message::Job| {
        let part: serde_json::Value = serde_json::from_str(job.seed.get()).unwrap();
        let names = |name: &str, member: &str| -> Vec<String> {
            part[name].as_array().unwrap().iter().map(|of| of[member].as_str().unwrap().to_owned()).collect()
        };
        (names("families", "refresh_token"), names("tokens", "token"))
    };
    let parts: Vec<_> = jobs.iter().map(of).collect();
    let strings = |of: &[&str]| of.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    // There is one token, which both may read.
    assert_eq!(parts, [(strings(&["rt-0", "rt-2"]), strings(&["t"])), (strings(&["rt-1"]), strings(&["t"]))]);
}
