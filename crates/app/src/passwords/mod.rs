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
        }
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
mod tests {
    use symbolon_crypto::random::SeededRandom;

    use super::*;
    use symbolon_telemetry::Registry;

    fn cheap() -> PasswordPolicy {
        PasswordPolicy::new(8, 1, 1).unwrap()
    }

    /// One thread, and so much work for what is imported, and for the answer's time.
    fn config(policy: PasswordPolicy, work_kib: u64, queue: usize) -> Argon2 {
        Argon2 {
            policy,
            threads: Some(1),
            queue,
            import_work_kib: work_kib,
            import_memory_kib: work_kib,
            answer_work_kib: work_kib,
        }
    }

    fn passwords(queue: usize) -> Passwords {
        Passwords::new(&config(cheap(), 64, queue), &SeededRandom::new(7))
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
        let unknown = PasswordHash::new("$1$abcdefgh$irWbblnpmw.5z7wgBnprh0".into());
        assert!(!passwords.verify_own("abc".into(), Some(unknown)).await.unwrap());
    }

    #[tokio::test]
    async fn a_hash_of_another_system_is_verified_and_wants_to_be_replaced() {
        let passwords = passwords(8);
        for text in [
            "$2b$04$GNYcPjgmT/EMJGiKncV6Vu6YoG5lfrbtsV1.YJsLTB1xr2YyeGr8S",
            "pbkdf2_sha256$1000$seasalt0123456789abcd$HY62XieXM90MMTi5ATfPxiZ8Bhvfx2LAiP5A5cP2kdE=",
            "{SSHA}HxiTqTPlJJGaStQy/ZN3NHk9vHONkbK2",
        ] {
            let hash = PasswordHash::new(text.into());
            assert!(passwords.needs_rehash(&hash), "{text}");
            for (typed, right) in [("correct horse battery", true), ("battery", false)] {
                assert_eq!(passwords.verify_own(typed.into(), Some(hash.clone())).await, Ok(right), "{text}");
            }
        }
    }

    /// However it came into the store: computing it would keep the thread busy for a day, or take 4 GiB of memory.
    #[tokio::test]
    async fn a_ruinous_hash_is_never_computed() {
        let passwords = passwords(8);
        for text in [
            "$2b$31$GNYcPjgmT/EMJGiKncV6Vu6YoG5lfrbtsV1.YJsLTB1xr2YyeGr8S",
            "$argon2id$v=19$m=4194304,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
            "pbkdf2_sha256$4294967295$seasalt$HY62XieXM90MMTi5ATfPxiZ8Bhvfx2LAiP5A5cP2kdE=",
            "$scrypt$ln=22,r=8,p=1$/j/H2Ns7Z+xdK6XUuhciZA$qCe7z9EtjUyaqmbSMBSJZCGLwNK8RcMEkoYKLOXxn5M",
        ] {
            let hash = PasswordHash::new(text.into());
            assert_eq!(
                passwords.verify_own("correct horse battery".into(), Some(hash)).await,
                Ok(false),
                "{text}"
            );
        }
    }

    /// Were it answered at once, the time would tell that there is such a user, and that the hash was imported.
    #[tokio::test]
    async fn a_cheap_hash_is_answered_as_late_as_the_costliest() {
        let policy = PasswordPolicy::new(64, 1, 1).unwrap();
        let passwords = Passwords::new(&config(policy, 4_096, 8), &SeededRandom::new(7));
        let hash = |memory| {
            let policy = PasswordPolicy::new(memory, 1, 1).unwrap();
            policy.hash(&"x".into(), &SeededRandom::new(1)).unwrap()
        };
        let (cheap, costliest) = (hash(8), hash(4_096));
        for stored in [Some(cheap), None] {
            let begun = tokio::time::Instant::now();
            let stored = stored.map(|hash| PasswordHash::new(hash.to_text()));
            assert!(!passwords.verify_own("wrong".into(), stored).await.unwrap());
            // What the costliest hash takes on this machine, as it was measured during the attempt.
            let floor = passwords.hasher.floor.rest(Duration::ZERO, 4_096);
            assert!(!floor.is_zero() && begun.elapsed() >= floor, "{:?} of {floor:?}", begun.elapsed());
        }
        // An issuer into which a costlier one was imported answers later, for names of nobody too.
        let begun = tokio::time::Instant::now();
        let place = passwords.reserve(OWN).unwrap();
        assert_eq!(passwords.verify(place, "wrong".into(), None, 16_384).await, Ok(false));
        let floor = passwords.hasher.floor.rest(Duration::ZERO, 16_384);
        assert!(begun.elapsed() >= floor && floor > passwords.hasher.floor.rest(Duration::ZERO, 4_096));

        assert_eq!(passwords.check_import(&costliest), Ok(()));
        let refused = passwords.check_import(&hash(4_097)).unwrap_err().to_string();
        assert!(refused.contains("4097 KiB") && refused.contains("argon2.import_work"), "{refused}");
        let policy = PasswordPolicy::new(8, 1, 1).unwrap();
        let narrow = Argon2 { import_memory_kib: 64, ..config(policy, 4_096, 8) };
        let passwords = Passwords::new(&narrow, &SeededRandom::new(7));
        assert_eq!(passwords.check_import(&hash(64)), Ok(()));
        let refused = passwords.check_import(&hash(65));
        assert_eq!(refused, Err(TooCostly::Memory { memory_kib: 65, most_kib: 64 }));
    }

    #[tokio::test]
    async fn other_costs_want_a_new_hash() {
        let passwords = passwords(8);
        let hash = passwords.hash("x".into()).await.unwrap();
        assert!(!passwords.needs_rehash(&hash));
        let dearer = PasswordPolicy::new(16, 1, 1).unwrap().hash(&"x".into(), &SeededRandom::new(1)).unwrap();
        assert!(passwords.needs_rehash(&PasswordHash::new(dearer.to_text())));
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
