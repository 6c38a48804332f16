//! Codes sent by e-mail: six digits, for some minutes, for one browser, with five tries, used once (NIST SP 800-63B
//! 5.1.3).
//!
//! What is known about a code is a [`SentCode`], which is sealed and waits in the browser that asked for it. It is made
//! before anybody is looked up, so it tells nothing of who has the name. The store keeps one small record
//! ([`EmailCodeUse`](super::email_code_use::EmailCodeUse)): the tries, so that a code can be guessed five times however often the
//! sealed value is copied, and used once; and the account and address that it was mailed to, so that it leads into no other.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use symbolon_crypto::digest::HmacKey;
use symbolon_crypto::encoding;
use symbolon_crypto::random::{self, Random};
use symbolon_crypto::secret::SecretString;

use super::email_code_use::Recipient;
use crate::id::UserId;
use crate::precis::login_key;
use crate::time::Timestamp;

/// How long a code of the login API may be used.
pub const LIVES: Duration = Duration::from_secs(5 * 60);
/// How long a code of the pages may be used, at most what NIST SP 800-63B 5.1.3.2 allows.
pub const LIVES_ON_PAGES: Duration = Duration::from_secs(10 * 60);
/// How soon a page sends another code.
pub const SENT_AGAIN_AFTER: Duration = Duration::from_secs(60);
/// How often a code may be tried.
pub const TRIES: u8 = 5;

/// Digits of a code.
const DIGITS: usize = 6;
/// How many codes there are.
const CODES: u32 = 1_000_000;
/// The largest multiple of [`CODES`] in 32 bits: a number below it, modulo [`CODES`], is every code with one probability.
const FAIR: u32 = u32::MAX / CODES * CODES;

/// A code. No Debug, because it is a secret.
pub struct EmailCode(SecretString);

impl EmailCode {
    /// Draws a code; every code is equally likely.
    pub fn draw(random: &dyn Random) -> Self {
        loop {
            if let Some(code) = Self::of(u32::from_be_bytes(random::bytes::<4>(random))) {
                return code;
            }
        }
    }

    /// The code of a number; `None` beyond the last whole round, where some codes would be likelier than others.
    fn of(number: u32) -> Option<Self> {
        (number < FAIR).then(|| Self(SecretString::new(format!("{:06}", number % CODES))))
    }

    /// A code as it was typed: six digits, around which there may be white space.
    pub fn parse(typed: &str) -> Option<Self> {
        let digits = typed.trim();
        let is_code = digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_code.then(|| Self(SecretString::new(digits.to_owned())))
    }

    /// What stands for a text that is no code, so that it is compared like one.
    pub(super) const fn unusable(text: SecretString) -> Self {
        Self(text)
    }

    /// The digits, for the mail.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }
}

/// A code that was sent, as the browser keeps it, sealed.
#[derive(Serialize, Deserialize)]
pub struct SentCode {
    id: String,
    /// The name or address that was typed, as login names are compared.
    email: String,
    /// The user for whom the test endpoint handed the code out, and earlier versions mailed it. `None`: it is mailed to
    /// whoever has the name, if anybody has.
    user: Option<UserId>,
    /// HMAC of the code.
    digest: String,
    sent_at: Timestamp,
    /// In seconds.
    lives: u64,
}

/// Why a code is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeRefused {
    /// Its time is over.
    Expired,
    /// It was asked for under another name or address.
    OtherAddress,
    /// It is another code.
    Wrong,
}

impl SentCode {
    /// Notes a code that was asked for by a name or address. `user`: only if it is handed out for this user, and mailed to
    /// nobody.
    pub fn new(
        (name, user): (&str, Option<UserId>),
        code: &EmailCode,
        key: &HmacKey,
        (now, lives): (Timestamp, Duration),
        random: &dyn Random,
    ) -> Self {
        let (id, email) = (random::base64url::<16>(random), login_key(name.trim()));
        let lives = lives.as_secs();
        let mut sent = Self { id, email, user, digest: String::new(), sent_at: now, lives };
        sent.digest = encoding::encode(&key.sign(&sent.parts(code)));
        sent
    }

    /// When it expires.
    pub fn expires_at(&self) -> Timestamp {
        self.sent_at + Duration::from_secs(self.lives)
    }

    /// The name or address by which it was asked for, as login names are compared.
    pub fn name(&self) -> &str {
        &self.email
    }

    /// The user for whom it was handed out. `None`: it was mailed to whoever had the name, if anybody had, and the store tells to
    /// [whom](Self::recipient).
    pub const fn handed_out_for(&self) -> Option<&UserId> {
        self.user.as_ref()
    }

    /// Whether a code may still be tried, for this name. Looks at no code, so it costs no try.
    ///
    /// # Errors
    /// [`CodeRefused`]
    pub fn may_be_tried(&self, name: &str, now: Timestamp) -> Result<(), CodeRefused> {
        if now >= self.expires_at() {
            return Err(CodeRefused::Expired);
        }
        if login_key(name.trim()) != self.email {
            return Err(CodeRefused::OtherAddress);
        }
        Ok(())
    }

    /// Whether this is the code. Nobody may be told before the store has taken [a try](super::email_code_use::EmailCodeUse::attempt).
    /// Constant time in the code, and the same whether anybody has the name: who has it is looked up only by whoever brings a
    /// right code.
    ///
    /// # Errors
    /// [`CodeRefused::Wrong`]
    pub fn check(&self, typed: Option<&EmailCode>, key: &HmacKey) -> Result<(), CodeRefused> {
        let tag = encoding::decode_array::<32>(&self.digest).unwrap_or_default();
        // A text that is no code is compared like one.
        let none = EmailCode(SecretString::new(String::new()));
        let is_right = key.verify(&self.parts(typed.unwrap_or(&none)), &tag);
        is_right.then_some(()).ok_or(CodeRefused::Wrong)
    }

    /// Its id, under which the store keeps its [tries](super::email_code_use::EmailCodeUse).
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What stands for this account at this address in the store. It is noted before the mail is queued. Where another one is
    /// noted or none, the code leads into no account: the name or the address has gone to somebody else since, or the account
    /// has another address, or nothing was mailed.
    pub fn recipient(&self, user: &UserId, address: &str, key: &HmacKey) -> Recipient {
        let address = login_key(address.trim());
        // An id of a user contains no NUL.
        let parts: [&[u8]; 6] = [
            b"email code recipient\0",
            self.id.as_bytes(),
            &[0],
            user.as_str().as_bytes(),
            &[0],
            address.as_bytes(),
        ];
        // Half of the tag: nobody can try keys, and 128 bits are met by no other account.
        Recipient(key.sign(&parts).first_chunk().copied().unwrap_or_default())
    }

    /// The signed parts. The id is random and the address and user are sealed beside it, so a tag fits this value alone.
    /// The address may contain anything, but neither id nor code can contain NUL.
    fn parts<'a>(&'a self, code: &'a EmailCode) -> [&'a [u8]; 6] {
        [b"email code\0", self.id.as_bytes(), &[0], code.expose().as_bytes(), &[0], self.email.as_bytes()]
    }
}

#[cfg(test)]
mod tests {
    use symbolon_crypto::random::SeededRandom;

    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_000_000);

    fn key() -> HmacKey {
        HmacKey::new(&[7; 32])
    }

    fn sent(user: Option<&str>) -> (EmailCode, SentCode) {
        let random = SeededRandom::new(1);
        let code = EmailCode::draw(&random);
        let user = user.map(UserId::trusted);
        let sent = SentCode::new(("Ann@Example.com", user), &code, &key(), (NOW, LIVES), &random);
        (code, sent)
    }

    #[test]
    fn a_code_is_six_digits_of_one_probability() {
        let random = SeededRandom::new(2);
        let mut digits = [[0_u32; 10]; DIGITS];
        for _ in 0..20_000 {
            let code = EmailCode::draw(&random);
            assert_eq!(code.expose().len(), DIGITS);
            for (place, digit) in code.expose().bytes().enumerate() {
                digits[place][usize::from(digit - b'0')] += 1;
            }
        }
        // Each is 2,000 times at each place, with a standard deviation of 42.
        assert!(digits.iter().flatten().all(|count| (1_750..=2_250).contains(count)), "{digits:?}");
    }

    #[test]
    fn a_number_beyond_the_last_whole_round_is_drawn_again() {
        assert!(EmailCode::of(FAIR).is_none() && EmailCode::of(u32::MAX).is_none());
        let code = |number| EmailCode::of(number).map(|code| code.expose().to_owned());
        assert_eq!(code(FAIR - 1).as_deref(), Some("999999"));
        assert_eq!(code(7_000_042).as_deref(), Some("000042"));
    }

    #[test]
    fn only_the_code_that_was_sent_is_right_and_only_for_its_address_and_time() {
        let (code, sent) = sent(Some("ann"));
        assert_eq!(sent.check(Some(&code), &key()), Ok(()));
        assert_eq!(sent.handed_out_for().map(UserId::as_str), Some("ann"));
        let other = EmailCode::parse("000000").filter(|other| other.expose() != code.expose());
        assert_eq!(sent.check(other.as_ref(), &key()), Err(CodeRefused::Wrong));
        assert_eq!(sent.check(None, &key()), Err(CodeRefused::Wrong));
        assert_eq!(sent.check(Some(&code), &HmacKey::new(&[8; 32])), Err(CodeRefused::Wrong));
        assert_eq!(sent.may_be_tried(" ANN@example.com ", NOW), Ok(()));
        assert_eq!(sent.may_be_tried("bob@example.com", NOW), Err(CodeRefused::OtherAddress));
        let last = NOW + LIVES - Duration::from_millis(1);
        assert_eq!(sent.may_be_tried("ann@example.com", last), Ok(()));
        assert_eq!(sent.may_be_tried("ann@example.com", NOW + LIVES), Err(CodeRefused::Expired));
    }

    /// A node of the version before may have sealed it.
    #[test]
    fn what_is_sealed_before_a_look_up_names_nobody() {
        let (code, sent) = sent(None);
        assert_eq!((sent.handed_out_for(), sent.name()), (None, "ann@example.com"));
        assert_eq!(sent.check(Some(&code), &key()), Ok(()));
        let text = serde_json::to_string(&self::sent(Some("ann")).1).unwrap();
        let opened: SentCode = serde_json::from_str(&text).unwrap();
        assert_eq!(opened.handed_out_for().map(UserId::as_str), Some("ann"));
    }

    #[test]
    fn a_recipient_is_of_one_code_one_account_and_one_address() {
        let ((_, sent), random) = (sent(None), SeededRandom::new(3));
        let (ann, bob) = (UserId::trusted("ann"), UserId::trusted("bob"));
        let told = sent.recipient(&ann, "ann@example.com", &key());
        assert_eq!(sent.recipient(&ann, " ANN@Example.com", &key()), told, "another spelling");
        let other = SentCode::new(("ann", None), &EmailCode::draw(&random), &key(), (NOW, LIVES), &random);
        for another in [
            sent.recipient(&bob, "ann@example.com", &key()),
            sent.recipient(&ann, "ann@example.org", &key()),
            sent.recipient(&ann, "ann@example.com", &HmacKey::new(&[8; 32])),
            other.recipient(&ann, "ann@example.com", &key()),
        ] {
            assert_ne!(another, told);
        }
    }

    #[test]
    fn what_is_typed_must_be_six_digits() {
        assert_eq!(
            EmailCode::parse(" 012345\n").map(|code| code.expose().to_owned()).as_deref(),
            Some("012345")
        );
        for bad in ["", "12345", "1234567", "12345a", "１２３４５６", "12 345", "-12345", "+12345"] {
            assert!(EmailCode::parse(bad).is_none(), "{bad}");
        }
    }
}
