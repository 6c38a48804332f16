//! Prints what the operations of this crate cost on this machine, in microseconds of wall time per call, one
//! thread: `cargo run --profile dist -p symbolon-crypto --example cost`.

use std::error::Error;
use std::future::Future;
use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use symbolon_crypto::jws::{self, Compact, EncodedHeader};
use symbolon_crypto::password::{PasswordHash, PasswordPolicy};
use symbolon_crypto::{Algorithm, InlineSigner, SecretString, SigningKey, SystemRandom, digest, random};

#[expect(clippy::disallowed_methods, reason = "measuring code reads the clock")]
fn measure<T>(name: &str, rounds: u32, mut operation: impl FnMut() -> T) {
    for _ in 0..rounds / 10 {
        black_box(operation());
    }
    let start = std::time::Instant::now();
    for _ in 0..rounds {
        black_box(operation());
    }
    println!("{name:<40} {:>10.3} µs", start.elapsed().as_secs_f64() * 1e6 / f64::from(rounds));
}

/// Hashes of each function at a usual cost. What is measured is a wrong password, which takes as long as a right one.
const OF_OTHERS: [&str; 8] = [
    "$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
    "$2b$10$GNYcPjgmT/EMJGiKncV6Vu6YoG5lfrbtsV1.YJsLTB1xr2YyeGr8S",
    "pbkdf2_sha1$100000$seasalt0123456789abcd$zqu22f9VWoLstie/8kBpTRDBmPQ=",
    "pbkdf2_sha256$100000$seasalt0123456789abcd$HY62XieXM90MMTi5ATfPxiZ8Bhvfx2LAiP5A5cP2kdE=",
    "$pbkdf2-sha512$100000$h1AKoVTqfY9RitHau7c2Rg$pq.oE.tI1TMIGX0NFgiwupref.LDF.MiOxCoOKWFP6CWxAtmoa2LcmU/WKIDsw0vc2TLwR/WCXLhhBn8zPY30Q",
    "$scrypt$ln=14,r=8,p=1$/j/H2Ns7Z+xdK6XUuhciZA$qCe7z9EtjUyaqmbSMBSJZCGLwNK8RcMEkoYKLOXxn5M",
    "$5$rounds=50000$Nf700kNeZKVYBXui$Sq2TbKoS0NnxgULte2UyVTxX1l0zE8jwjScPfZtcWZ8",
    "$6$rounds=50000$C4x0i7aB3CdXLvaf$T5n44sqXnrpN/4q1FWMUonQ/o0L3PbdN3i95ezylHNawcE4msQ6yUB7Tq/Ichilt/WkJ5AWXMnd8TU1dslAzZ/",
];

fn ready<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let payload = format!(r#"{{"iss":"https://op.example","sub":"{}","scope":"openid"}}"#, "x".repeat(420));
    for algorithm in Algorithm::ALL {
        let key = SigningKey::generate(algorithm, None)?;
        let header = EncodedHeader::for_key(&key, Some("at+jwt"));
        let input = jws::signing_input(header.as_str(), payload.as_bytes());
        let signature = key.sign(input.as_bytes())?;
        let token = jws::finish(input.clone(), &signature);
        measure(&format!("{algorithm} sign"), 2_000, || key.sign(input.as_bytes()));
        measure(&format!("{algorithm} verify"), 10_000, || {
            key.public().verify(input.as_bytes(), signature.as_bytes())
        });
        measure(&format!("{algorithm} assemble without signing"), 200_000, || {
            jws::finish(jws::signing_input(header.as_str(), payload.as_bytes()), &signature)
        });
        measure(&format!("{algorithm} sign_compact"), 2_000, || {
            ready(jws::sign_compact(&InlineSigner, &key, &header, payload.as_bytes()))
        });
        measure(&format!("{algorithm} parse without verifying"), 100_000, || {
            Compact::parse(&token).and_then(|compact| compact.payload())
        });
        let pkcs8 = key.to_pkcs8()?;
        measure(&format!("{algorithm} parse the private key"), 1_000, || {
            SigningKey::from_pkcs8(algorithm, None, &pkcs8)
        });
    }
    let mac = digest::HmacKey::new(&[7; 32]);
    measure("SHA-256 of 700 bytes", 200_000, || digest::sha256(&[&[7; 700]]));
    measure("SHA-256 of two parts", 200_000, || digest::sha256(&[&[7; 32], &[7; 32]]));
    measure("HMAC of 64 bytes", 200_000, || mac.sign(&[&[7; 64]]));
    measure("HMAC of two parts", 200_000, || mac.sign(&[&[7; 32], &[7; 32]]));
    measure("random token of 128 bits", 100_000, || random::token_128(&SystemRandom));
    let policy = PasswordPolicy::default();
    measure("Argon2id at the default policy", 20, || policy.hash(&"password".into(), &SystemRandom));
    // The longest password that is tried against all of them; the time of sha-crypt grows with it.
    let longest = SecretString::new("x".repeat(128));
    for text in OF_OTHERS {
        let hash = PasswordHash::parse(text)?;
        let work = hash.work();
        measure(&format!("{:?}, told as {} KiB", work.function, work.kib), 20, || hash.verify(&longest));
    }
    Ok(())
}
