//! The only thread that writes: many closures, one transaction, one sync.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::error::{is_full, is_lost_sync};
use super::job::{Job, JobOutcome, Ran};
use super::log::Log;
use super::stats::{Counters, take_counted};
use crate::fatal::OnFatal;
use crate::free_space::monotonic_now;
use crate::group_commit::{OpenBatch, Pace};

/// What the writer's thread owns or shares.
pub(super) struct Writer {
    pub(super) connection: Connection,
    pub(super) counters: Arc<Counters>,
    pub(super) open: Arc<OpenBatch<Job>>,
    pub(super) failed: Arc<AtomicBool>,
    pub(super) on_fatal: OnFatal,
    pub(super) before_commit: Option<super::BeforeCommit>,
    pub(super) log: Log,
}

/// Why a transaction is not durable.
enum Failure {
    /// It was rolled back; the next one may work.
    RolledBack(JobOutcome),
    /// A sync failed, so what the disk holds is unknown.
    LostSync(rusqlite::Error),
}

impl Failure {
    fn outcome(&self) -> JobOutcome {
        match self {
            Self::RolledBack(outcome) => *outcome,
            Self::LostSync(_) => JobOutcome::Failed,
        }
    }
}

impl Writer {
    /// Runs until the open batch is closed and drained, or the disk fails. A panic outside of a job, perhaps of the
    /// engine, counts as a failure: otherwise callers would wait for ever, while the server seems to be well.
    pub(super) fn run(self) {
        let end = self.end();
        if catch_unwind(AssertUnwindSafe(|| self.write_batches())).is_err() {
            end("the database's thread panicked");
        }
    }

    /// What ends all writing: no more success is reported, and waiting callers are refused.
    fn end(&self) -> impl Fn(&str) + use<> {
        let (open, failed, on_fatal) =
            (Arc::clone(&self.open), Arc::clone(&self.failed), self.on_fatal.clone());
        move |why| {
            failed.store(true, Ordering::Release);
            open.abandon();
            on_fatal.call(why);
        }
    }

    fn write_batches(mut self) {
        let mut pace = Pace::default();
        let mut spare = Vec::new();
        // After a crash the log may be long.
        if !self.keep_log_short() {
            return;
        }
        while let Some(mut batch) = self.open.next(&mut pace, std::mem::take(&mut spare)) {
            let queued = monotonic_now().saturating_duration_since(batch.opened);
            Counters::add(&self.counters.queue_nanos, nanos(queued));
            let mut jobs = batch.entries.drain(..).peekable();
            // There is a second round only if SQLite rolled the transaction back half way.
            while jobs.peek().is_some() {
                let mut ran = Vec::new();
                let result = self.transact(&mut jobs, &mut ran);
                let outcome = result.as_ref().map_or_else(Failure::outcome, |()| JobOutcome::Committed);
                if let Err(Failure::LostSync(error)) = result {
                    self.end()(&format!("a transaction could not be made durable: {error}"));
                    settle(ran, outcome);
                    return;
                }
                settle(ran, outcome);
            }
            drop(jobs);
            spare = batch.entries;
            if !self.keep_log_short() {
                return;
            }
        }
    }

    /// Empties the log if it is too long; returns whether the disk can still be trusted.
    fn keep_log_short(&mut self) -> bool {
        let kept = self.log.keep_short(&self.connection, &self.counters);
        if let Err(error) = &kept {
            self.end()(&format!("the database's log could not be brought over: {error}"));
        }
        kept.is_ok()
    }

    /// Runs jobs in one transaction until there are no more, or until SQLite rolls the transaction back by itself.
    fn transact(
        &mut self,
        jobs: &mut impl ExactSizeIterator<Item = Job>,
        ran: &mut Vec<Ran>,
    ) -> Result<(), Failure> {
        let begun = self.connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let transaction = match begun {
            Ok(transaction) => transaction,
            Err(error) => {
                let failure = failure(error, &self.counters);
                ran.extend(jobs.map(|job| job(None)));
                return Err(failure);
            }
        };
        let changes_before = transaction.total_changes();
        // A single job needs no savepoint, because the rollback of the transaction undoes the same. A savepoint would
        // cost time: within one, SQLite copies every page before it changes it.
        let is_alone = jobs.len() == 1;
        for job in jobs {
            let one = match is_alone {
                true => Ok(run(&transaction, job, &self.counters)),
                false => run_in_savepoint(&transaction, job, &self.counters),
            };
            let one = one.map_err(|error| failure(error, &self.counters))?;
            let undone = is_alone && !one.keep;
            ran.push(one);
            if transaction.is_autocommit() {
                // SQLite rolls the whole transaction back when it meets a full disk at the wrong moment.
                return Err(Failure::RolledBack(JobOutcome::Full));
            }
            if undone {
                return transaction.rollback().map_err(|error| failure(error, &self.counters));
            }
        }
        if let Some(before_commit) = &self.before_commit {
            before_commit().map_err(|error| failure(error, &self.counters))?;
        }
        let written = transaction.total_changes() - changes_before;
        let started = monotonic_now();
        transaction.commit().map_err(|error| failure(error, &self.counters))?;
        let took = nanos(monotonic_now().duration_since(started));
        let counters = &self.counters;
        Counters::add(&counters.commits, 1);
        Counters::add(&counters.commit_nanos, took);
        counters.commit_nanos_max.fetch_max(took, Ordering::Relaxed);
        Counters::add(&counters.rows_written, written);
        take_counted();
        Ok(())
    }
}

fn run(transaction: &Transaction<'_>, job: Job, counters: &Counters) -> Ran {
    take_counted();
    let ran = job(Some(transaction));
    let (queries, rows) = take_counted();
    Counters::add(&counters.writes, 1);
    Counters::add(&counters.write_queries, queries);
    Counters::add(&counters.rows_read, rows);
    if ran.failed {
        Counters::add(&counters.errors, 1);
    }
    ran
}

fn run_in_savepoint(transaction: &Transaction<'_>, job: Job, counters: &Counters) -> rusqlite::Result<Ran> {
    transaction.prepare_cached("SAVEPOINT job")?.execute(())?;
    let ran = run(transaction, job, counters);
    if !transaction.is_autocommit() {
        if !ran.keep {
            transaction.prepare_cached("ROLLBACK TO job")?.execute(())?;
        }
        transaction.prepare_cached("RELEASE job")?.execute(())?;
    }
    Ok(ran)
}

fn failure(error: rusqlite::Error, counters: &Counters) -> Failure {
    Counters::add(&counters.errors, 1);
    if is_lost_sync(&error) {
        return Failure::LostSync(error);
    }
    tracing::error!(%error, "a transaction was rolled back");
    Failure::RolledBack(if is_full(&error) { JobOutcome::Full } else { JobOutcome::Failed })
}

fn settle(ran: Vec<Ran>, outcome: JobOutcome) {
    for ran in ran {
        (ran.settle)(outcome);
    }
}

fn nanos(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
