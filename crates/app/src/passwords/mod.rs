//! Password hashing on threads of its own: bounded, so that logins never starve the other endpoints.
//!
//! One hash costs some ten milliseconds and some ten megabytes. So many run at once as there are threads, so many
//! wait as the queue holds, and whoever comes after that is told to come back later. Accounts and addresses share the
//! queue fairly, so that nobody's attempts keep others from signing in.

mod fair_queue;
mod floor;
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
pub use fair_queue::Lane;
use floor::Floor;
use pool::{Job, Pool};
use symbolon_config::Argon2;
use symbolon_telemetry::MetricSource;

/// Too many passwords are waiting: 503 with Retry-After.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many passwords are being checked, try again in {retry_after_seconds} s")]
pub struct Busy {
    /// About how long the queue takes, in seconds; at least 1.
    pub retry_after_seconds: u64,
}

/// A hash that costs too much to verify is not imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "password_hash takes {work_kib} KiB of memory times passes; at most {most_kib} KiB can be imported \
     (argon2.import_work)"
)]
pub struct TooCostly {
    /// What it takes.
    pub work_kib: u64,
    /// What may be imported.
    pub most_kib: u64,
}

/// Verifies and makes password hashes. Dropping it ends the threads.
pub struct Passwords {
    pool: Arc<Pool>,
    hasher: Arc<Hasher>,
    // The process's own randomness: nobody can choose names that share a lane with a certain other.
    lanes: RandomState,
}

/// The lane of what the server does for itself and for its administrators.
const OWN: Lane = Lane { account: 0, address: 0 };

impl Passwords {
    /// Starts the threads.
    pub fn new(config: &Argon2, random: &dyn Random) -> Self {
        let threads = config.threads.unwrap_or_else(half_the_cores).max(1);
        let limit = config.queue.max(1);
        Self {
            pool: Pool::start(threads, limit),
            hasher: Arc::new(Hasher::new(config, random)),
            lanes: RandomState::new(),
        }
    }

    /// Whether a hash may be imported: none may take longer to verify than an attempt is made to last.
    ///
    /// # Errors
    /// [`TooCostly`]
    pub fn check_import(&self, hash: &password::PasswordHash) -> Result<(), TooCostly> {
        let (work_kib, most_kib) = (hash.work_kib(), self.hasher.most_work_kib);
        if work_kib > most_kib { Err(TooCostly { work_kib, most_kib }) } else { Ok(()) }
    }

    /// The lane of an attempt: the login name as it was typed, and where it comes from.
    pub fn lane(&self, issuer: &IssuerId, name: &str, address: IpAddr) -> Lane {
        Lane {
            account: self.lanes.hash_one((issuer, login_name(name))),
            address: self.lanes.hash_one(network(address)),
        }
    }

    /// Whether this is the password. `hash`: none for a user that does not exist or has no password; the answer is
    /// no, and takes as long as for one who has. Whatever the hash costs, the answer takes as long as the costliest one
    /// that may be imported, beside the time in the queue.
    ///
    /// # Errors
    /// [`Busy`]: the queue is full, or there was no memory for it.
    pub async fn verify(
        &self,
        lane: Lane,
        password: SecretString,
        hash: Option<PasswordHash>,
    ) -> Result<bool, Busy> {
        let hasher = Arc::clone(&self.hasher);
        let (right, took, again) = self
            .run(lane, move || {
                // The first attempt must not tell by its time what was not measured yet.
                if !hasher.floor.is_measured() {
                    hasher.verify_nobody(&password)?;
                }
                let normalized = normalized(&password);
                let (right, took) =
                    timed(|| hasher.verify(normalized.as_ref().unwrap_or(&password), hash.as_ref()));
                if normalized.is_none() || right.as_ref().is_ok_and(|right| *right) {
                    return Ok((right?, took, Duration::ZERO));
                }
                // A hash of before was made of the password as it was typed. Each of the two takes its full time, so that
                // this tells no more of a hash than one attempt does.
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

    /// Hashes a password by the configured costs, with a fresh salt, in the lane of a sign-in.
    ///
    /// # Errors
    /// [`Busy`]: the queue is full, or there was no memory for it.
    pub async fn hash_anew(&self, lane: Lane, password: SecretString) -> Result<PasswordHash, Busy> {
        let hasher = Arc::clone(&self.hasher);
        self.run(lane, move || hasher.hash(normalized(&password).as_ref().unwrap_or(&password))).await
    }

    /// Hashes a password that the server or an administrator sets.
    ///
    /// # Errors
    /// [`Busy`]: the queue is full, or there was no memory for it.
    pub async fn hash(&self, password: SecretString) -> Result<PasswordHash, Busy> {
        self.hash_anew(OWN, password).await
    }

    /// Whether this is the password, asked by the server itself.
    ///
    /// # Errors
    /// [`Busy`]: the queue is full, or there was no memory for it.
    pub async fn verify_own(&self, password: SecretString, hash: Option<PasswordHash>) -> Result<bool, Busy> {
        self.verify(OWN, password, hash).await
    }

    /// Whether a hash was made by other costs than the configured ones, and should be made anew at the next login.
    pub fn needs_rehash(&self, hash: &PasswordHash) -> bool {
        password::PasswordHash::parse(hash.expose()).is_ok_and(|hash| hash.needs_rehash(&self.hasher.policy))
    }

    /// Passwords that wait for a thread.
    pub fn queue_length(&self) -> usize {
        self.pool.waiting()
    }

    /// Queue length, and what became of the passwords, for `/metrics`.
    pub fn figures(&self) -> Arc<dyn MetricSource> {
        Arc::clone(self.pool.figures()) as Arc<dyn MetricSource>
    }

    async fn run<T: Send + 'static>(
        &self,
        lane: Lane,
        work: impl FnOnce() -> Result<T, PasswordError> + Send + 'static,
    ) -> Result<T, Busy> {
        let (sender, receiver) = oneshot::channel();
        self.pool.submit(lane, Box::new(Task { work, sender }));
        match receiver.await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(NotRun::Busy(busy))) => Err(busy),
            Ok(Err(NotRun::Failed(error))) => {
                tracing::error!(target: "symbolon::password", %error, "a password was not checked");
                Err(Busy { retry_after_seconds: 1 })
            }
            // The thread went down under it.
            Err(_) => Err(Busy { retry_after_seconds: 1 }),
        }
    }
}

impl Drop for Passwords {
    fn drop(&mut self) {
        self.pool.stop();
    }
}

/// A password in the form that is hashed (RFC 8265 4.2.2), where that is not the one that was typed.
fn normalized(password: &SecretString) -> Option<SecretString> {
    match opaque_string(password.expose()) {
        Cow::Borrowed(_) => None,
        Cow::Owned(text) => Some(SecretString::new(text)).filter(|text| text.expose() != password.expose()),
    }
}

fn half_the_cores() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get() / 2)
}

/// What a thread does for one caller, who may have gone away.
struct Task<W, T> {
    work: W,
    sender: oneshot::Sender<Result<T, NotRun>>,
}

/// Why there is no answer.
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
        // Whoever stopped waiting meanwhile does not want the answer.
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

/// The costs, the dummy, and where salts come from.
struct Hasher {
    policy: PasswordPolicy,
    most_work_kib: u64,
    floor: Floor,
    dummy: Option<password::PasswordHash>,
    salts: Salts,
}

impl Hasher {
    fn new(config: &Argon2, random: &dyn Random) -> Self {
        let policy = config.policy.clone();
        let dummy = policy.dummy_hash(random).ok();
        let most_work_kib = config.import_work_kib;
        let floor = Floor::new(policy.work_kib(), most_work_kib);
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

    /// Costs what a user's password costs, and is never right.
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

/// Salts for threads that cannot borrow the process's randomness: HMAC-SHA-256 of a counter under a random key.
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
        passwords.pool.submit(OWN, Box::new(Task { work, sender }));
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
        let failed: Result<(), Busy> = passwords.run(OWN, || panic!("a test panics")).await;
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
