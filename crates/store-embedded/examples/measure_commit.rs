//! Measures group commits: latency under an open load, CPU per operation with many in flight, bulk inserts.
//!
//! `cargo run --profile dist --example measure_commit -- DIRECTORY [SECONDS] [OPS_PER_SECOND] [HOLD_MICROS] [MEMTABLE_KIB]`, on the
//! disk that is in question; the directory is filled and left.
#![allow(clippy::disallowed_methods, reason = "measuring code reads the clock")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement may stop with a message")]

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::params;
use symbolon_store_embedded::database::{Database, DatabaseOptions, Migration, WriteError};
use symbolon_store_embedded::journal::{DurableCommit, Journal, JournalOptions, NEVER, Op, Table};
use tokio::task::LocalSet;

const RUNTIMES: u64 = 2;
const IN_FLIGHT: u64 = 32;
const RECORD: [u8; 250] = [7; 250];

fn main() {
    let mut arguments = std::env::args().skip(1);
    let directory = PathBuf::from(arguments.next().unwrap());
    let seconds = arguments.next().map_or(10, |text| text.parse().unwrap());
    let rate = arguments.next().map_or(5_000, |text| text.parse().unwrap());
    let hold = Duration::from_micros(arguments.next().map_or(1_000, |text| text.parse().unwrap()));
    let memtable_bytes = arguments.next().map(|text| text.parse::<u64>().unwrap() << 10);
    let length = Duration::from_secs(seconds);

    println!("bare tasks, {IN_FLIGHT} in flight (what the load itself costs)");
    closed_load(length / 4, &Arc::new(()), |_, _| tokio::task::yield_now());
    println!("bare tasks, open load of {rate}/s");
    open_load(length / 4, rate, &Arc::new(()), |_, _| tokio::task::yield_now());

    let journal = Arc::new(open_journal(&directory.join("journal"), hold, memtable_bytes));
    println!("journal, open load of {rate}/s for {seconds} s, hold {hold:?}");
    measure_journal(&journal, || open_load(length, rate, &journal, write_one));
    println!("journal, {IN_FLIGHT} in flight");
    measure_journal(&journal, || closed_load(length / 2, &journal, write_one));
    println!("journal, 1 in flight");
    measure_journal(&journal, || alone(length / 4, |key| write_one(&journal, key)));

    let database = Arc::new(open_database(&directory.join("measure.db"), hold));
    println!("database, {IN_FLIGHT} in flight");
    closed_load(length / 2, &database, |database, key| insert(database, key, 1));
    println!("database, 1 in flight");
    alone(length / 4, |key| insert(&database, key, 1));
    println!("database, bulk of 500 rows a write, 4 in flight");
    bulk(length / 4, &database);
    println!("  {:?}", database.stats());
}

fn open_journal(path: &Path, hold: Duration, memtable_bytes: Option<u64>) -> Journal {
    let mut options = JournalOptions { hold, ..JournalOptions::default() };
    options.memtable_bytes = memtable_bytes.unwrap_or(options.memtable_bytes);
    Journal::open(path, Arc::new(|| 1_700_000_000_000), options).unwrap()
}

fn open_database(path: &Path, hold: Duration) -> Database {
    let sql = "CREATE TABLE measured (id INTEGER PRIMARY KEY, key BLOB NOT NULL, record BLOB NOT NULL) STRICT;\
               CREATE INDEX measured_key ON measured (key);";
    let options = DatabaseOptions { hold, ..DatabaseOptions::default() };
    Database::open(path, &[Migration { number: 1, sql, then: None }], options).unwrap()
}

/// Keys come in no order and from a set of 200,000, as sessions do.
fn scattered(key: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    let mixed = (key % 200_000).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bytes[..8].copy_from_slice(&mixed.to_be_bytes());
    bytes
}

fn write_one(journal: &Arc<Journal>, key: u64) -> DurableCommit {
    journal.wait(journal.append([Op::put(Table::Sessions, &scattered(key), NEVER, &RECORD)]))
}

fn insert(database: &Arc<Database>, key: u64, rows: u64) -> impl Future<Output = ()> + use<> {
    let written = database.write(move |transaction| {
        let mut statement =
            transaction.prepare_cached("INSERT INTO measured (key, record) VALUES (?1, ?2)")?;
        for row in 0..rows {
            statement.execute(params![scattered(key * rows + row), RECORD])?;
        }
        Ok::<_, WriteError<()>>(())
    });
    async move { written.await.unwrap() }
}

fn measure_journal(journal: &Journal, load: impl FnOnce()) {
    let before = journal.stats();
    load();
    let after = journal.stats();
    let batches = after.batches - before.batches;
    let appends = after.appends - before.appends;
    println!(
        "  {batches} batches, {:.1} appends each, commit {:.0} us each, longest so far {:?}, {} MB on disk",
        appends as f64 / batches as f64,
        (after.commit_time - before.commit_time).as_secs_f64() * 1e6 / batches as f64,
        after.commit_time_max,
        journal.disk_bytes().unwrap() >> 20,
    );
}

/// Operations start when they are due, whatever became of the ones before; latency counts from then.
fn open_load<S, O>(length: Duration, rate: u64, shared: &Arc<S>, operate: fn(&Arc<S>, u64) -> O)
where
    S: Send + Sync + 'static,
    O: Future<Output = ()> + 'static,
{
    let cpu = cpu_time();
    let latencies: Vec<Vec<u32>> = on_each_runtime(|runtime| {
        let latencies = Rc::new(RefCell::new(Vec::new()));
        let started = Instant::now();
        let step = Duration::from_secs(1) * u32::try_from(RUNTIMES).unwrap() / u32::try_from(rate).unwrap();
        let (shared, seen) = (Arc::clone(shared), Rc::clone(&latencies));
        block_on(async move {
            let mut tasks = tokio::task::JoinSet::new();
            let mut tick = tokio::time::interval(Duration::from_millis(1));
            let mut due = started;
            let mut key = runtime;
            while started.elapsed() < length {
                while due <= Instant::now() {
                    let (durable, seen, since) = (operate(&shared, key), Rc::clone(&seen), due);
                    tasks.spawn_local(async move {
                        durable.await;
                        seen.borrow_mut().push(u32::try_from(since.elapsed().as_micros()).unwrap());
                    });
                    due += step;
                    key += RUNTIMES;
                }
                tick.tick().await;
                while tasks.try_join_next().is_some() {}
            }
            while tasks.join_next().await.is_some() {}
        });
        latencies.take()
    });
    let mut all = latencies.concat();
    all.sort_unstable();
    let at = |share: f64| all.get(((all.len() - 1) as f64 * share) as usize).unwrap();
    println!(
        "  {} ops, P50 {} us, P99 {} us, P99.9 {} us, most {} us (the load's own pacing adds up to 1 ms)",
        all.len(),
        at(0.5),
        at(0.99),
        at(0.999),
        at(1.0)
    );
    print_cpu(cpu, all.len() as u64);
}

/// As many loops as are to be in flight, each starting over when its operation is durable.
fn closed_load<S, O>(length: Duration, shared: &Arc<S>, operate: fn(&Arc<S>, u64) -> O)
where
    S: Send + Sync + 'static,
    O: Future<Output = ()> + 'static,
{
    let (cpu, started) = (cpu_time(), Instant::now());
    let counts: Vec<u64> = on_each_runtime(|runtime| {
        let count = Rc::new(Cell::new(0));
        let (counted, shared) = (Rc::clone(&count), Arc::clone(shared));
        block_on(async move {
            let mut tasks = tokio::task::JoinSet::new();
            for task in 0..IN_FLIGHT / RUNTIMES {
                let (counted, shared) = (Rc::clone(&counted), Arc::clone(&shared));
                tasks.spawn_local(async move {
                    while started.elapsed() < length {
                        operate(&shared, (counted.get() * 31 + task) * RUNTIMES + runtime).await;
                        counted.set(counted.get() + 1);
                    }
                });
            }
            while tasks.join_next().await.is_some() {}
        });
        count.get()
    });
    let count = counts.iter().sum::<u64>();
    println!("  {:.0} ops/s", count as f64 / started.elapsed().as_secs_f64());
    print_cpu(cpu, count);
}

fn alone<O: Future<Output = ()>>(length: Duration, operate: impl Fn(u64) -> O) {
    let (cpu, started) = (cpu_time(), Instant::now());
    let mut count = 0;
    block_on(async {
        while started.elapsed() < length {
            operate(count).await;
            count += 1;
        }
    });
    println!("  {:.0} us each", started.elapsed().as_secs_f64() * 1e6 / count as f64);
    print_cpu(cpu, count);
}

fn bulk(length: Duration, database: &Arc<Database>) {
    let (cpu, started) = (cpu_time(), Instant::now());
    let mut writes = 0;
    block_on(async {
        while started.elapsed() < length {
            let four: Vec<_> = (0..4).map(|n| insert(database, writes + n, 500)).collect();
            for write in four {
                write.await;
            }
            writes += 4;
        }
    });
    println!("  {:.0} rows/s", (writes * 500) as f64 / started.elapsed().as_secs_f64());
    print_cpu(cpu, writes * 500);
}

fn on_each_runtime<T: Send>(run: impl Fn(u64) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> = (0..RUNTIMES).map(|runtime| scope.spawn(move || run(runtime))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn block_on(future: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    LocalSet::new().block_on(&runtime, future);
}

fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap(), u32::try_from(time.tv_nsec).unwrap())
}

fn print_cpu(before: Duration, count: u64) {
    println!("  CPU {:.2} us per operation", (cpu_time() - before).as_secs_f64() * 1e6 / count as f64);
}
