//! Password hashing on threads of its own, with a bounded queue, so that sign-ins cannot starve other endpoints.
//!
//! One hash takes tens of milliseconds and of megabytes. The number of threads bounds how many run at once; the queue
//! bounds how many wait; further attempts get 503 with Retry-After. Accounts and addresses share the queue fairly, so
//! that nobody's attempts keep others from signing in.

mod answer_time_floor;
mod fair_queue;
mod pool;

use std::borrow::Cow;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use symbolon_crypto::digest::HmacKey;
use symbolon_crypto::password::{self, PasswordError, PasswordPolicy};
use symbolon_crypto::random::{self, Random};
use symbolon_crypto::secret::{SecretArray, SecretString};
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::precis::opaque_string;
use symbolon_protocol::user::PasswordHash;
use tokio::sync::oneshot;

use crate::rate_limit::{login_name, network};
use answer_time_floor::AnswerTimeFloor;
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
#[error(
    "password_hash takes {work_kib} KiB of memory times passes; at most {most_kib} KiB can be imported \
     (argon2.import_work)"
)]
pub struct TooCostly {
    /// The work of the hash, in KiB of memory times passes.
    pub work_kib: u64,
    /// The most work that may be imported.
    pub most_kib: u64,
}

/// Verifies and makes password hashes. Dropping this ends the threads.
pub struct Passwords {
    pool: Arc<Pool>,
    hasher: Arc<Hasher>,
    // A key that nobody outside the process knows, so that nobody can choose login names whose fairness keys collide with
    // another's.
    fairness_hasher: RandomState,
}

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
        }
    }

    /// Checks that verifying a hash takes no longer than the time in which every attempt is answered.
    ///
    /// # Errors
    /// [`TooCostly`]
    pub fn check_import(&self, hash: &password::PasswordHash) -> Result<(), TooCostly> {
        let (work_kib, most_kib) = (hash.work_kib(), self.hasher.most_work_kib);
        if work_kib > most_kib { Err(TooCostly { work_kib, most_kib }) } else { Ok(()) }
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
    /// takes as long as verifying the costliest hash that may be imported, plus the time in the queue, so that the
    /// time does not reveal whether the user exists.
    ///
    /// # Errors
    /// [`Busy`]: the place was given to an attempt with an earlier turn, or memory for the hash is short.
    pub async fn verify(
        &self,
        place: ReservedPlace,
        password: SecretString,
        hash: Option<PasswordHash>,
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
        let rest = self.hasher.floor.rest(took);
        let again = if again.is_zero() { again } else { self.hasher.floor.rest(again) };
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
        self.verify(self.reserve(OWN)?, password, hash).await
    }

    /// Whether a hash was made with other costs than the configured ones, and should be replaced at the next sign-in.
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
    most_work_kib: u64,
    floor: AnswerTimeFloor,
    dummy: Option<password::PasswordHash>,
    salts: Salts,
}

impl Hasher {
    fn new(config: &Argon2, random: &dyn Random) -> Self {
        let policy = config.policy.clone();
        let dummy = policy.dummy_hash(random).ok();
        let most_work_kib = config.import_work_kib;
        let floor = AnswerTimeFloor::new(policy.work_kib(), most_work_kib);
        Self { policy, most_work_kib, floor, dummy, salts: Salts::new(random) }
    }

    fn verify(&self, password: &SecretString, hash: Option<&PasswordHash>) -> Result<bool, PasswordError> {
        let parsed = hash.map(|hash| password::PasswordHash::parse(hash.expose())).transpose();
        match parsed {
            Ok(Some(hash)) => self.measured(hash.work_kib(), || hash.verify(password)),
            Ok(None) => self.verify_nobody(password),
            Err(error) => {
                tracing::error!(target: "symbolon::password", %error, "a stored password hash cannot be used");
                self.verify_nobody(password)
            }
        }
    }

    /// Takes as long as verifying a user's password, and is never true.
    fn verify_nobody(&self, password: &SecretString) -> Result<bool, PasswordError> {
        self.measured(self.policy.work_kib(), || match &self.dummy {
            Some(dummy) => dummy.verify(password).map(|_| false),
            None => self.policy.hash(password, &self.salts).map(|_| false),
        })
    }

    fn measured<T>(&self, work_kib: u64, work: impl FnOnce() -> T) -> T {
        let (done, took) = timed(work);
        self.floor.note(work_kib, took);
        done
    }

    fn hash(&self, password: &SecretString) -> Result<PasswordHash, PasswordError> {
        self.policy.hash(password, &self.salts).map(|hash| PasswordHash::new(hash.to_phc()))
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
mod tests {
    use symbolon_crypto::random::SeededRandom;

    use super::*;
    use symbolon_telemetry::Registry;

    fn cheap() -> PasswordPolicy {
        PasswordPolicy::new(8, 1, 1).unwrap()
    }

    fn passwords(queue: usize) -> Passwords {
        let config = Argon2 { import_work_kib: 64, policy: cheap(), threads: Some(1), queue };
        Passwords::new(&config, &SeededRandom::new(7))
    }

    /// Keeps the one thread busy until the sender is used or dropped.
    fn block(passwords: &Passwords) -> (std::sync::mpsc::Sender<()>, oneshot::Receiver<Result<(), NotRun>>) {
        let (release, released) = std::sync::mpsc::channel::<()>();
        let (begun, has_begun) = std::sync::mpsc::channel::<()>();
        let (sender, receiver) = oneshot::channel();
        let work = move || {
            let _ = begun.send(());
            let _ = released.recv();
            Ok(())
        };
        passwords.reserve(OWN).unwrap().submit(Box::new(Task { work, sender }));
        has_begun.recv().unwrap();
        (release, receiver)
    }

    fn page(passwords: &Passwords) -> String {
        let registry = Registry::new("0", "0");
        registry.register(passwords.figures());
        registry.render(&[])
    }

    #[tokio::test]
    async fn a_hash_is_verified_and_only_by_its_password() {
        let passwords = passwords(8);
        let hash = passwords.hash("correct horse".into()).await.unwrap();
        assert!(passwords.verify_own("correct horse".into(), Some(hash.clone())).await.unwrap());
        assert!(!passwords.verify_own("battery".into(), Some(hash.clone())).await.unwrap());
        let again = passwords.hash("correct horse".into()).await.unwrap();
        assert!(again.expose() != hash.expose(), "salts differ");
    }

    #[tokio::test]
    async fn nobody_has_no_password() {
        let passwords = passwords(8);
        assert!(!passwords.verify_own("".into(), None).await.unwrap());
        let foreign =
            PasswordHash::new("$2b$12$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW".into());
        assert!(!passwords.verify_own("abc".into(), Some(foreign)).await.unwrap());
    }

    /// Were it answered at once, the time would tell that there is such a user, and that the hash was imported.
    #[tokio::test]
    async fn a_cheap_hash_is_answered_as_late_as_the_costliest() {
        let policy = PasswordPolicy::new(64, 1, 1).unwrap();
        let config = Argon2 { import_work_kib: 4_096, policy, threads: Some(1), queue: 8 };
        let passwords = Passwords::new(&config, &SeededRandom::new(7));
        let hash = |memory| {
            let policy = PasswordPolicy::new(memory, 1, 1).unwrap();
            policy.hash(&"x".into(), &SeededRandom::new(1)).unwrap()
        };
        let (cheap, costliest) = (hash(8), hash(4_096));
        for stored in [Some(cheap), None] {
            let begun = tokio::time::Instant::now();
            let stored = stored.map(|hash| PasswordHash::new(hash.to_phc()));
            assert!(!passwords.verify_own("wrong".into(), stored).await.unwrap());
            // What the costliest hash takes on this machine, as it was measured during the attempt.
            let floor = passwords.hasher.floor.rest(Duration::ZERO);
            assert!(!floor.is_zero() && begun.elapsed() >= floor, "{:?} of {floor:?}", begun.elapsed());
        }
        assert_eq!(passwords.check_import(&costliest), Ok(()));
        let refused = passwords.check_import(&hash(4_097)).unwrap_err().to_string();
        assert!(refused.contains("4097 KiB") && refused.contains("argon2.import_work"), "{refused}");
    }

    #[tokio::test]
    async fn other_costs_want_a_new_hash() {
        let passwords = passwords(8);
        let hash = passwords.hash("x".into()).await.unwrap();
        assert!(!passwords.needs_rehash(&hash));
        let dearer = PasswordPolicy::new(16, 1, 1).unwrap().hash(&"x".into(), &SeededRandom::new(1)).unwrap();
        assert!(passwords.needs_rehash(&PasswordHash::new(dearer.to_phc())));
    }

    #[tokio::test]
    async fn beyond_the_queue_the_answer_is_busy() {
        let passwords = passwords(1);
        let (release, _blocked) = block(&passwords);
        let mut waiting = Box::pin(passwords.verify_own("x".into(), None));
        assert!(poll_once(&mut waiting).is_none());
        assert_eq!(passwords.queue_length(), 1);
        let refused = passwords.verify_own("y".into(), None).await;
        assert!(refused.unwrap_err().retry_after_seconds >= 1);
        drop(release);
        assert_eq!(waiting.await, Ok(false));
        let page = page(&passwords);
        assert!(page.contains("symbolon_password_hashing_total{result=\"refused\"} 1"), "{page}");
        assert!(page.contains("symbolon_password_queue_length 0"), "{page}");
    }

    #[tokio::test]
    async fn who_went_away_is_skipped_and_frees_the_place() {
        let passwords = passwords(1);
        let (release, blocked) = block(&passwords);
        let mut gone = Box::pin(passwords.verify_own("x".into(), None));
        assert!(poll_once(&mut gone).is_none());
        drop(gone);
        let mut stays = Box::pin(passwords.verify_own("y".into(), None));
        assert!(poll_once(&mut stays).is_none(), "the place of who went away is free");
        drop(release);
        assert_eq!(stays.await, Ok(false));
        assert_eq!(blocked.await, Ok(Ok(())));
        let page = page(&passwords);
        assert!(page.contains("symbolon_password_hashing_total{result=\"skipped\"} 1"), "{page}");
    }

    #[tokio::test]
    async fn a_thread_outlives_a_panic() {
        let passwords = passwords(4);
        let failed: Result<(), Busy> =
            passwords.run(passwords.reserve(OWN).unwrap(), || panic!("a test panics")).await;
        assert!(failed.is_err());
        assert_eq!(passwords.verify_own("x".into(), None).await, Ok(false));
    }

    fn poll_once<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match std::pin::Pin::new(future).poll(&mut context) {
            std::task::Poll::Ready(output) => Some(output),
            std::task::Poll::Pending => None,
        }
    }
}
