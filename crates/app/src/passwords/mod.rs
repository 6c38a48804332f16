//! Password hashing on threads of its own, with a bounded queue, so that sign-ins cannot starve other endpoints.
//!
//! One hash takes tens of milliseconds and of megabytes. The number of threads bounds how many run at once; the queue
//! bounds how many wait; further attempts get 503 with Retry-After. Accounts and addresses share the queue fairly, so
//! that nobody's attempts keep others from signing in.

mod answer_time_floor;
mod breached;
mod fair_queue;
mod pool;

use std::borrow::Cow;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use symbolon_crypto::digest::HmacKey;
use symbolon_crypto::password::{self, HashFunction, PasswordError, PasswordPolicy, Work};
use symbolon_crypto::random::{self, Random};
use symbolon_crypto::secret::{SecretArray, SecretString};
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::precis::opaque_string;
use symbolon_protocol::user::PasswordHash;
use tokio::sync::oneshot;

use crate::rate_limit::{login_name, network};
use answer_time_floor::AnswerTimeFloor;
pub use breached::{BreachedPasswords, ListFault};
pub use fair_queue::FairnessKey;
pub use pool::ReservedPlace;
use pool::{Job, Pool};
use symbolon_config::Argon2;
use symbolon_telemetry::MetricSource;

/// Too many passwords are waiting to be checked: 503 with Retry-After.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many passwords are being checked, try again in {retry_after_seconds} s")]
pub struct Busy {
    /// About how long the waiting jobs take, in seconds; at least 1.
    pub retry_after_seconds: u64,
}

/// A hash whose verification costs too much to be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooCostly {
    /// It takes too long.
    #[error(
        "password_hash takes as long as {work_kib} KiB of memory times passes of Argon2; at most {most_kib} KiB can be \
         imported (argon2.import_work)"
    )]
    Work {
        /// The work of the hash, in KiB of Argon2's memory times its passes.
        work_kib: u64,
        /// The most work that may be imported.
        most_kib: u64,
    },
    /// It takes too much memory.
    #[error(
        "password_hash takes {memory_kib} KiB of memory; at most {most_kib} KiB can be imported unless \
         argon2.import_work is set"
    )]
    Memory {
        /// The memory that the hash needs, in KiB.
        memory_kib: u64,
        /// The most memory of a hash that may be imported.
        most_kib: u64,
    },
}

/// Verifies and makes password hashes. Dropping this ends the threads.
pub struct Passwords {
    pool: Arc<Pool>,
    hasher: Arc<Hasher>,
    // A key that nobody outside the process knows, so that nobody can choose login names whose fairness keys collide with
    // another's.
    fairness_hasher: RandomState,
    warned_of_quick_hashes: AtomicBool,
    breached: breached::BreachCheck,
}

/// A hash that takes less work than this, about a millisecond, is quick to guess for whoever has a copy of it.
const QUICK_KIB: u64 = 1_024;

/// The fairness key for hashing on behalf of the server itself and of administrators.
const OWN: FairnessKey = FairnessKey { account: 0, address: 0 };

impl Passwords {
    /// Starts the threads.
    pub fn new(config: &Argon2, random: &dyn Random) -> Self {
        let threads = config.threads.unwrap_or_else(half_the_cores).max(1);
        let limit = config.queue.max(1);
        Self {
            pool: Pool::start(threads, limit),
            hasher: Arc::new(Hasher::new(config, random)),
            fairness_hasher: RandomState::new(),
            warned_of_quick_hashes: AtomicBool::new(false),
            breached: breached::BreachCheck::default(),
        }
    }

    /// Looks new passwords up in the list in a file, or in none. Where the file cannot be used, the list that was used before stays;
    /// without one, no new password can be judged.
    ///
    /// # Errors
    /// [`ListFault`]
    pub fn use_breached(&self, path: Option<&Path>) -> Result<(), ListFault> {
        self.breached.use_file(path)
    }

    /// Like [`use_breached`](Self::use_breached), while the server runs.
    ///
    /// # Errors
    /// [`ListFault`]
    pub async fn use_breached_anew(&self, path: Option<PathBuf>) -> Result<(), ListFault> {
        self.breached.use_file_anew(path).await
    }

    /// Whether a password that somebody chooses is known from a breach (NIST SP 800-63B 5.1.1.2), by the configured list.
    ///
    /// # Errors
    /// [`Busy`]: the list cannot be read now, or too many read it.
    pub async fn is_breached(&self, password: &SecretString) -> Result<bool, Busy> {
        self.breached.has(password).await
    }

    /// Checks that a hash may be imported. The first one that is quick to guess is told in the log.
    ///
    /// # Errors
    /// [`TooCostly`]
    pub fn check_import(&self, hash: &password::PasswordHash) -> Result<(), TooCostly> {
        let Work { kib: work_kib, memory_kib, .. } = hash.work();
        let Hasher { import_work_kib, import_memory_kib, .. } = *self.hasher;
        if work_kib > import_work_kib {
            return Err(TooCostly::Work { work_kib, most_kib: import_work_kib });
        }
        if memory_kib > import_memory_kib {
            return Err(TooCostly::Memory { memory_kib, most_kib: import_memory_kib });
        }
        if work_kib < QUICK_KIB && !self.warned_of_quick_hashes.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                target: "symbolon::password",
                "password hashes are saved that are quick to guess from a copy of the database ({{SSHA}} for example), \
                 until each user's next sign-in replaces theirs"
            );
        }
        Ok(())
    }

    /// The work after whose time every attempt is answered at least, in KiB of Argon2's memory times its passes. An issuer
    /// with a costlier hash must say so at each [`verify`](Self::verify).
    pub fn answer_work_kib(&self) -> u64 {
        self.hasher.answer_work_kib
    }

    /// The fairness key of a sign-in attempt: its login name and its address.
    pub fn fairness_key(&self, issuer: &IssuerId, name: &str, address: IpAddr) -> FairnessKey {
        FairnessKey {
            account: self.fairness_hasher.hash_one((issuer, login_name(name))),
            address: self.fairness_hasher.hash_one(network(address)),
        }
    }

    /// Reserves a place in the queue. A sign-in does so before its user is looked up: whoever repeats passwords faster
    /// than they are checked costs the store nothing.
    ///
    /// # Errors
    /// [`Busy`]: the queue is full.
    pub fn reserve(&self, fairness: FairnessKey) -> Result<ReservedPlace, Busy> {
        self.pool.reserve(fairness)
    }

    /// Whether the password is right. Without a `hash` (no such user, or no password) the answer is no. Every answer
    /// takes as long as verifying the costliest hash that the issuer may have, plus the time in the queue, so that the
    /// time does not reveal whether the user exists. `imported_work_kib` is the work of the costliest hash that was
    /// imported into the issuer; it counts if it is more than [`answer_work_kib`](Self::answer_work_kib).
    ///
    /// # Errors
    /// [`Busy`]: the place was given to an attempt with an earlier turn, or memory for the hash is short.
    pub async fn verify(
        &self,
        place: ReservedPlace,
        password: SecretString,
        hash: Option<PasswordHash>,
        imported_work_kib: u64,
    ) -> Result<bool, Busy> {
        let hasher = Arc::clone(&self.hasher);
        let (right, took, again) = self
            .run(place, move || {
                // Measures first, if nothing was measured yet: otherwise the time of the first attempt would reveal
                // its hash's cost.
                if !hasher.floor.is_measured() {
                    hasher.verify_nobody(&password)?;
                }
                let normalized = normalized(&password);
                let (right, took) =
                    timed(|| hasher.verify(normalized.as_ref().unwrap_or(&password), hash.as_ref()));
                if normalized.is_none() || right.as_ref().is_ok_and(|right| *right) {
                    return Ok((right?, took, Duration::ZERO));
                }
                // Hashes of earlier versions were made of the password as typed, so a mismatch is tried again with
                // that form. Each of the two is padded to the full time, so that both together reveal no more than
                // one does.
                right?;
                let (right, again) = timed(|| hasher.verify(&password, hash.as_ref()));
                Ok((right?, took, again))
            })
            .await?;
        let most_work_kib = imported_work_kib.max(self.hasher.answer_work_kib);
        let rest = self.hasher.floor.rest(took, most_work_kib);
        let again = if again.is_zero() { again } else { self.hasher.floor.rest(again, most_work_kib) };
        tokio::time::sleep(rest + again).await;
        Ok(right)
    }

    /// Hashes a password with the configured costs and a fresh salt, queued by the fairness key of a sign-in.
    ///
    /// # Errors
    /// [`Busy`]: the queue is full, or memory for the hash is short.
    pub async fn hash_anew(
        &self,
        fairness: FairnessKey,
        password: SecretString,
    ) -> Result<PasswordHash, Busy> {
        let hasher = Arc::clone(&self.hasher);
        self.run(self.reserve(fairness)?, move || {
            hasher.hash(normalized(&password).as_ref().unwrap_or(&password))
        })
        .await
    }

    /// Hashes a password that the server or an administrator sets.
    ///
    /// # Errors
    /// [`Busy`]: the queue is full, or memory for the hash is short.
    pub async fn hash(&self, password: SecretString) -> Result<PasswordHash, Busy> {
        self.hash_anew(OWN, password).await
    }

    /// Like [`verify`](Self::verify), on behalf of the server itself.
    ///
    /// # Errors
    /// [`Busy`]: the queue is full, or memory for the hash is short.
    pub async fn verify_own(&self, password: SecretString, hash: Option<PasswordHash>) -> Result<bool, Busy> {
        self.verify(self.reserve(OWN)?, password, hash, 0).await
    }

    /// Whether a hash was made by another function or with other costs than the configured ones, and should be replaced
    /// at the next sign-in.
    pub fn needs_rehash(&self, hash: &PasswordHash) -> bool {
        password::PasswordHash::parse(hash.expose()).is_ok_and(|hash| hash.needs_rehash(&self.hasher.policy))
    }

    /// Passwords that wait for a thread, or for their user to be looked up.
    pub fn queue_length(&self) -> usize {
        self.pool.waiting()
    }

    /// Metrics: queue length, and how many passwords were checked, skipped and refused.
    pub fn figures(&self) -> Arc<dyn MetricSource> {
        Arc::clone(self.pool.figures()) as Arc<dyn MetricSource>
    }

    async fn run<T: Send + 'static>(
        &self,
        place: ReservedPlace,
        work: impl FnOnce() -> Result<T, PasswordError> + Send + 'static,
    ) -> Result<T, Busy> {
        let (sender, receiver) = oneshot::channel();
        place.submit(Box::new(Task { work, sender }));
        match receiver.await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(NotRun::Busy(busy))) => Err(busy),
            Ok(Err(NotRun::Failed(error))) => {
                tracing::error!(target: "symbolon::password", %error, "a password was not checked");
                Err(Busy { retry_after_seconds: 1 })
            }
            // The job was dropped without a result: it panicked, or the pool was stopped.
            Err(_) => Err(Busy { retry_after_seconds: 1 }),
        }
    }
}

impl Drop for Passwords {
    fn drop(&mut self) {
        self.pool.stop();
    }
}

/// The password in the normal form that is hashed (RFC 8265 4.2.2); `None` if it was typed in this form.
fn normalized(password: &SecretString) -> Option<SecretString> {
    match opaque_string(password.expose()) {
        Cow::Borrowed(_) => None,
        Cow::Owned(text) => Some(SecretString::new(text)).filter(|text| text.expose() != password.expose()),
    }
}

fn half_the_cores() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get() / 2)
}

/// A job of the pool whose caller waits for the result, or has gone.
struct Task<W, T> {
    work: W,
    sender: oneshot::Sender<Result<T, NotRun>>,
}

/// Why a job has no result.
#[derive(Debug, PartialEq, Eq)]
enum NotRun {
    Busy(Busy),
    Failed(PasswordError),
}

impl<T: Send, W: FnOnce() -> Result<T, PasswordError> + Send> Job for Task<W, T> {
    fn is_wanted(&self) -> bool {
        !self.sender.is_closed()
    }

    fn run(self: Box<Self>) {
        // Sending fails if the caller has gone: then nobody needs the result.
        let _ = self.sender.send((self.work)().map_err(NotRun::Failed));
    }

    fn refuse(self: Box<Self>, busy: Busy) {
        let _ = self.sender.send(Err(NotRun::Busy(busy)));
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "measures how long hashing takes, so that all attempts are answered as late"
)]
fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let begun = Instant::now();
    let done = work();
    (done, begun.elapsed())
}

/// The cost parameters, a dummy hash, and the source of salts.
struct Hasher {
    policy: PasswordPolicy,
    import_work_kib: u64,
    import_memory_kib: u64,
    answer_work_kib: u64,
    floor: AnswerTimeFloor,
    dummy: Option<password::PasswordHash>,
    salts: Salts,
}

impl Hasher {
    fn new(config: &Argon2, random: &dyn Random) -> Self {
        let policy = config.policy.clone();
        let dummy = policy.dummy_hash(random).ok();
        let floor = AnswerTimeFloor::new(policy.work_kib());
        let Argon2 { import_work_kib, import_memory_kib, answer_work_kib, .. } = *config;
        let salts = Salts::new(random);
        Self { policy, import_work_kib, import_memory_kib, answer_work_kib, floor, dummy, salts }
    }

    fn verify(&self, password: &SecretString, hash: Option<&PasswordHash>) -> Result<bool, PasswordError> {
        let parsed = hash.map(|hash| password::PasswordHash::parse(hash.expose())).transpose();
        match parsed {
            Ok(Some(hash)) => self.measured(hash.work(), || hash.verify(password)),
            Ok(None) => self.verify_nobody(password),
            Err(error) => {
                tracing::error!(target: "symbolon::password", %error, "a stored password hash cannot be used");
                self.verify_nobody(password)
            }
        }
    }

    /// Takes as long as verifying a user's password, and is never true.
    fn verify_nobody(&self, password: &SecretString) -> Result<bool, PasswordError> {
        let own = Work { function: HashFunction::Argon2, kib: self.policy.work_kib(), memory_kib: 0 };
        self.measured(own, || match &self.dummy {
            Some(dummy) => dummy.verify(password).map(|_| false),
            None => self.policy.hash(password, &self.salts).map(|_| false),
        })
    }

    fn measured<T>(&self, work: Work, verify: impl FnOnce() -> T) -> T {
        let (done, took) = timed(verify);
        self.floor.note(work, took);
        done
    }

    fn hash(&self, password: &SecretString) -> Result<PasswordHash, PasswordError> {
        self.policy.hash(password, &self.salts).map(|hash| PasswordHash::new(hash.to_text()))
    }
}

/// Salts for the pool's threads, which cannot borrow the process's random source: HMAC-SHA-256 of a counter under a
/// random key.
struct Salts {
    key: HmacKey,
    counter: AtomicU64,
}

impl Salts {
    fn new(random: &dyn Random) -> Self {
        let key = SecretArray::new(random::bytes::<32>(random));
        Self { key: HmacKey::new(key.expose()), counter: AtomicU64::new(0) }
    }
}

impl Random for Salts {
    fn fill(&self, out: &mut [u8]) {
        for chunk in out.chunks_mut(32) {
            let number = self.counter.fetch_add(1, Ordering::Relaxed);
            let block = self.key.sign(&[&number.to_le_bytes()]);
            chunk.iter_mut().zip(block).for_each(|(byte, drawn)| *byte = drawn);
        }
    }
}

#[cfg(test)]
mod tests;
