//! What every drill needs: arguments, randomness from a seed, the time.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use super::Micros;

/// The `--name value` pairs and switches of a drill's command line; the remaining word is the path of the binary.
pub struct Arguments {
    words: Vec<String>,
}

impl Arguments {
    /// The arguments of this process.
    pub fn of_process() -> Self {
        Self { words: std::env::args().skip(1).collect() }
    }

    /// Takes the value of `--name`, if it is given.
    pub fn text(&mut self, name: &str) -> Option<String> {
        let at = self.words.iter().position(|word| word == name)?;
        self.words.remove(at);
        assert!(at < self.words.len(), "{name} needs a value");
        Some(self.words.remove(at))
    }

    /// Takes the value of `--name` as a number.
    pub fn number(&mut self, name: &str, default: u64) -> u64 {
        self.text(name)
            .map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} {text}: not a number")))
    }

    /// Takes a switch.
    pub fn switch(&mut self, name: &str) -> bool {
        let at = self.words.iter().position(|word| word == name);
        at.map(|at| self.words.remove(at)).is_some()
    }

    /// The path of the binary: the one remaining word, else `SYMBOLON_BINARY`.
    pub fn binary(mut self) -> PathBuf {
        let given = self.words.pop().or_else(|| std::env::var("SYMBOLON_BINARY").ok());
        assert!(self.words.is_empty(), "not understood: {:?}", self.words);
        let path =
            PathBuf::from(given.expect("the path of the symbolon binary, as an argument or SYMBOLON_BINARY"));
        path.canonicalize().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }
}

/// Repeatable randomness (SplitMix64): a drill prints its seed, and repeats the same run with it.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// The same seed gives the same numbers.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any number.
    pub fn throw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`, which is not 0.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.throw() % limit as u64) as usize
    }

    /// True once in `n`.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// A random element; `None` of an empty list.
    pub fn pick<T: Copy>(&mut self, list: &[T]) -> Option<T> {
        if list.is_empty() { None } else { Some(list[self.below(list.len())]) }
    }
}

/// The wall clock in microseconds since 1970: the same clock with which strace stamps its lines.
#[allow(clippy::disallowed_methods, reason = "measures a real process from outside")]
pub fn unix_micros() -> Micros {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970").as_micros() as Micros
}
