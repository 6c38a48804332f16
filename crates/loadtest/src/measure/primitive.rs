//! What signing and verifying cost on this machine, now.

use std::hint::black_box;
use std::time::Duration;

use symbolon_crypto::{Algorithm, Signature, SigningKey};

use crate::{LoadtestError, clock};

/// As long as the signing inputs of the tokens that a code gives, on average: 557 bytes for the access token, 461 for the
/// ID token (EdDSA, `symbolon loadtest seed`).
const INPUT: [u8; 509] = [b'a'; 509];
/// How long each operation is repeated.
const BURST: Duration = Duration::from_millis(20);

/// Keys ready to be measured.
pub(super) struct Primitives(Vec<Primitive>);

struct Primitive {
    algorithm: Algorithm,
    key: SigningKey,
    signature: Signature,
}

/// One moment's figures of one algorithm, in µs of CPU.
#[derive(Clone, Copy)]
pub(super) struct Cost {
    pub(super) algorithm: Algorithm,
    pub(super) sign: f64,
    pub(super) verify: f64,
}

impl Primitives {
    /// Generates a key for each algorithm.
    pub(super) fn prepare(algorithms: &[Algorithm]) -> Result<Self, LoadtestError> {
        let prepare = |&algorithm: &Algorithm| {
            let failed = || LoadtestError::Crypto(algorithm);
            let key = SigningKey::generate(algorithm, None).map_err(|_| failed())?;
            let signature = key.sign(&INPUT).map_err(|_| failed())?;
            Ok(Primitive { algorithm, key, signature })
        };
        algorithms.iter().map(prepare).collect::<Result<_, _>>().map(Self)
    }

    /// What a signature of this algorithm costs on the calling thread, in µs of CPU.
    pub(super) fn sign(&self, algorithm: Algorithm) -> Result<f64, LoadtestError> {
        let primitive = self.0.iter().find(|primitive| primitive.algorithm == algorithm);
        primitive.and_then(Primitive::sign).ok_or(LoadtestError::Crypto(algorithm))
    }

    /// Measures all of them on the calling thread.
    pub(super) fn measure(&self) -> Result<Vec<Cost>, LoadtestError> {
        let measure = |primitive: &Primitive| {
            let failed = || LoadtestError::Crypto(primitive.algorithm);
            let sign = primitive.sign().ok_or_else(failed)?;
            let verify =
                || primitive.key.public().verify(black_box(&INPUT), primitive.signature.as_bytes()).is_ok();
            let verify = burst(verify).ok_or_else(failed)?;
            Ok(Cost { algorithm: primitive.algorithm, sign, verify })
        };
        self.0.iter().map(measure).collect()
    }
}

impl Primitive {
    fn sign(&self) -> Option<f64> {
        burst(|| self.key.sign(black_box(&INPUT)).is_ok())
    }
}

/// The mean CPU time of an operation in µs; `None` when it fails.
fn burst(mut operation: impl FnMut() -> bool) -> Option<f64> {
    let start = clock::thread_cpu();
    let mut count = 0_u32;
    loop {
        // Asking the clock is a system call; a batch makes it vanish.
        for _ in 0..16 {
            if !operation() {
                return None;
            }
        }
        count += 16;
        let used = clock::thread_cpu().saturating_sub(start);
        if used >= BURST {
            return Some(used.as_secs_f64() * 1e6 / f64::from(count));
        }
    }
}
