//! The secret that a coordinator and its agents have in common, and how each proves that it knows it.

use symbolon_crypto::SecretString;
use symbolon_crypto::digest::HmacKey;

use crate::LoadtestError;

/// A shorter secret could be guessed.
const SHORTEST: usize = 16;

/// The secret of a coordinator and its agents. Nothing prints it.
#[derive(Clone, Debug)]
pub struct AgentsSecret(HmacKey);

/// Whose proof it is. Each side proves for itself, so that nobody can send a proof back to who made it.
#[derive(Clone, Copy)]
pub(super) enum Side {
    Coordinator,
    Agent,
}

impl AgentsSecret {
    /// Takes the secret, without the white space around it: files end with a line feed.
    ///
    /// # Errors
    /// [`LoadtestError::Options`]: it has fewer than 16 bytes.
    pub fn new(secret: &SecretString) -> Result<Self, LoadtestError> {
        let secret = secret.expose().trim().as_bytes();
        if secret.len() < SHORTEST {
            let length = secret.len();
            return Err(LoadtestError::Options(format!(
                "the agents' secret has {length} bytes and needs {SHORTEST} at least: `openssl rand -base64 32` makes one"
            )));
        }
        Ok(Self(HmacKey::new(secret)))
    }

    /// Proves that this side of a connection knows the secret. `binding` is what only the two ends of the connection have
    /// in common.
    pub(super) fn proof(&self, side: Side, binding: &[u8; 32]) -> [u8; 32] {
        self.0.sign(&side.parts(binding))
    }

    /// Whether this is the proof of that side. Takes the same time whatever is wrong about it.
    pub(super) fn is_proof(&self, side: Side, binding: &[u8; 32], proof: &[u8]) -> bool {
        self.0.verify(&side.parts(binding), proof)
    }
}

impl Side {
    fn parts(self, binding: &[u8; 32]) -> [&[u8]; 3] {
        let role: &[u8] = match self {
            Self::Coordinator => b"coordinator",
            Self::Agent => b"agent",
        };
        [b"symbolon loadtest agents\0", role, binding]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> AgentsSecret {
        AgentsSecret::new(&text.into()).unwrap()
    }

    #[test]
    fn a_proof_is_of_one_side_one_connection_and_one_secret() {
        let (own, binding) = (secret("0123456789abcdef"), [7; 32]);
        let proof = own.proof(Side::Agent, &binding);
        assert!(own.is_proof(Side::Agent, &binding, &proof));
        assert!(secret(" 0123456789abcdef\n").is_proof(Side::Agent, &binding, &proof));
        assert!(!own.is_proof(Side::Coordinator, &binding, &proof));
        assert!(!own.is_proof(Side::Agent, &[8; 32], &proof));
        assert!(
            !own.is_proof(Side::Agent, &binding, &proof[..31]) && !own.is_proof(Side::Agent, &binding, &[])
        );
        assert!(!secret("0123456789abcdeg").is_proof(Side::Agent, &binding, &proof));
    }

    #[test]
    fn a_short_secret_is_refused_and_none_is_printed() {
        let told = AgentsSecret::new(&"  short  \n".into()).unwrap_err().to_string();
        assert!(told.contains("has 5 bytes and needs 16") && !told.contains("short "), "{told}");
        assert!(!format!("{:?}", secret("0123456789abcdef")).contains("0123"));
    }
}
