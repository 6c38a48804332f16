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
