//! The device authorization grant (RFC 8628): what a device asks for, and its two codes. How often it may ask what a person
//! has decided is in [`decision`](crate::decision), its token request in [`token::device_code`](crate::token::device_code).

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;
use symbolon_crypto::random::{self, Random};
use symbolon_crypto::{digest, encoding};

use crate::authorization_details::{self, AuthorizationDetails};
use crate::authorize::request::requested_scope;
use crate::client::{Client, GrantType};
use crate::code::CodeGrant;
use crate::decision::{INTERVAL, Undecided};
use crate::discovery::{endpoint, path};
use crate::error::{ErrorCode, OAuthError};
use crate::grant::GrantId;
use crate::id::{ClientId, IssuerId};
use crate::params::Params;
use crate::refusal::{Details, Reason};
use crate::scope::{OFFLINE_ACCESS, Scope};
use crate::session::Session;
use crate::settings::IssuerSettings;
use crate::time::Timestamp;

/// How long a person has to type the user code and decide (`expires_in`, RFC 8628 3.2). Short, because a user code can be
/// guessed as long as it is valid (RFC 8628 5.1).
pub const LIFETIME: Duration = Duration::from_secs(600);

/// The letters of user codes (RFC 8628 6.1): none is a vowel, so that no code is a word.
const LETTERS: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";

/// The letters of a user code: 20^8 codes, which are 34 bits (RFC 8628 5.1, 6.1).
const USER_CODE: usize = 8;

/// The prefix of device codes.
const PREFIX: &str = "dc_";

/// Bytes of a device code's place and of its secret.
const PLACE: usize = 16;
const SECRET: usize = 32;

/// The code that a person types: its letters.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct UserCode(SmolStr);

impl UserCode {
    /// Draws one. All are equally likely.
    pub fn draw(random: &dyn Random) -> Self {
        // 240 is a multiple of 20, so that no letter is likelier than another.
        let letter = |byte: u8| LETTERS.get(usize::from(byte % 20)).filter(|_| byte < 240).copied();
        let mut letters = String::with_capacity(USER_CODE);
        while letters.len() < USER_CODE {
            let missing = USER_CODE - letters.len();
            let drawn = random::bytes::<16>(random).into_iter().filter_map(letter);
            letters.extend(drawn.take(missing).map(char::from));
        }
        Self(letters.into())
    }

    /// Reads what a person typed, in upper or lower case, with any punctuation and spaces (RFC 8628 6.1). `None` if it cannot
    /// be a user code.
    pub fn parse(typed: &str) -> Option<Self> {
        let letters = typed.chars().filter(|c| c.is_alphanumeric()).take(USER_CODE + 1);
        let letters: String = letters.map(|c| c.to_ascii_uppercase()).collect();
        let is_code = letters.len() == USER_CODE && letters.bytes().all(|letter| LETTERS.contains(&letter));
        is_code.then(|| Self(letters.into()))
    }

    /// The letters.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// As people are shown it: `XXXX-XXXX`.
    pub fn shown(&self) -> String {
        match self.0.split_at_checked(USER_CODE / 2) {
            Some((first, second)) => format!("{first}-{second}"),
            None => self.0.to_string(),
        }
    }
}

impl fmt::Debug for UserCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UserCode(..)")
    }
}

/// The code by which a device asks for its tokens: `dc_<place and secret>`. The place is that of the record, which is found by
/// the user code too; of the secret only a digest is stored.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct DeviceCode(SmolStr);

/// A device code as it was read: what finds its record, and what proves that it is the device's.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct DeviceCodeParts {
    /// The place of the record.
    pub place: [u8; PLACE],
    /// The digest of the secret.
    pub secret_digest: [u8; PLACE],
}

impl DeviceCode {
    /// Takes any text as a code; the store decides whether it exists.
    pub fn new(text: impl Into<SmolStr>) -> Self {
        Self(text.into())
    }

    /// Draws the code of a record at a place.
    pub fn draw(place: &[u8; PLACE], random: &dyn Random) -> Self {
        let mut bytes = [0; PLACE + SECRET];
        let (before, secret) = bytes.split_at_mut(PLACE);
        before.copy_from_slice(place);
        random.fill(secret);
        Self(SmolStr::from(format!("{PREFIX}{}", encoding::encode(&bytes))))
    }

    /// The text, for the device.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Its parts at an issuer, to another of which they mean nothing; `None` for a text that is no device code.
    pub fn parts(&self, issuer: &IssuerId) -> Option<DeviceCodeParts> {
        let bytes = self.bytes()?;
        let (place, secret) = bytes.split_first_chunk::<PLACE>()?;
        // No id contains a space.
        let digest = digest::sha256(&[b"device code ", issuer.as_str().as_bytes(), b" ", secret]);
        Some(DeviceCodeParts { place: *place, secret_digest: *digest.first_chunk()? })
    }

    /// Whether the text has the form of a device code, whether or not there ever was such a code.
    pub fn has_our_form(&self) -> bool {
        self.bytes().is_some()
    }

    fn bytes(&self) -> Option<[u8; PLACE + SECRET]> {
        encoding::decode_array(self.0.strip_prefix(PREFIX)?).ok()
    }
}

impl fmt::Debug for DeviceCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DeviceCode(..)")
    }
}

/// What a device asks for, until a person decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceAuthorization {
    /// The client that asks.
    pub client: ClientId,
    /// The scope.
    pub scope: Scope,
    /// The authorization details (RFC 9396). Not in what earlier versions stored.
    #[serde(default, skip_serializing_if = "AuthorizationDetails::is_empty")]
    pub authorization_details: AuthorizationDetails,
    /// When both codes end.
    pub expires_at: Timestamp,
}

impl Undecided for DeviceAuthorization {
    fn client(&self) -> &ClientId {
        &self.client
    }

    fn expires_at(&self) -> Timestamp {
        self.expires_at
    }
}

/// Checks what an authenticated client asks for at the device authorization endpoint (RFC 8628 3.1).
///
/// # Errors
/// `unauthorized_client` without the grant type; `invalid_scope` and `invalid_authorization_details` as at the authorization endpoint.
pub fn check(
    params: &Params<'_>,
    client: &Client,
    settings: &IssuerSettings,
    now: Timestamp,
) -> Result<DeviceAuthorization, OAuthError> {
    // RFC 6749 5.2.
    if !client.may_use(GrantType::DeviceCode) {
        return Err(client.refused_grant(GrantType::DeviceCode, "the client may not use device_code"));
    }
    let scope = requested_scope(params.get("scope")?, client)?;
    // OpenID Connect Core 11: without a refresh token nothing outlives the session.
    let scope = match client.may_use(GrantType::RefreshToken) {
        true => scope,
        false => scope.filtered(|token| token != OFFLINE_ACCESS),
    };
    if scope.is_empty() {
        let why =
            "scope names only offline_access, which cannot be granted here: ask for another scope beside it";
        let error = OAuthError::new(ErrorCode::InvalidScope, Reason::ScopeNotGrantable, why);
        return Err(error.about(Details::of("scope").client(&client.client_id)));
    }
    let details = params.get(authorization_details::PARAMETER)?;
    Ok(DeviceAuthorization {
        client: client.client_id.clone(),
        scope,
        authorization_details: authorization_details::requested(details, client, settings)?,
        expires_at: now + LIFETIME,
    })
}

/// What a person allows a device in a session: a new grant, as an authorization code has one, without what only a redirect
/// needs.
pub fn allowed(
    asked: &DeviceAuthorization,
    issuer: &IssuerId,
    session: &Session,
    now: Timestamp,
    random: &dyn Random,
) -> CodeGrant {
    CodeGrant {
        grant: GrantId::draw(issuer, session.user.as_str(), now, random),
        client: asked.client.clone(),
        user: session.user.clone(),
        sid: session.sid.clone(),
        redirect_uri: String::new(),
        scope: asked.scope.clone(),
        nonce: None,
        code_challenge: None,
        auth_time: session.auth_time,
        amr: session.amr,
        session_expires_at: session.expires_at,
        expires_at: asked.expires_at,
        resources: Vec::new(),
        acr: None,
        dpop_jkt: None,
        authorization_details: asked.authorization_details.clone(),
    }
}

/// The answer of the device authorization endpoint (RFC 8628 3.2), as JSON.
pub fn answer(device: &DeviceCode, user: &UserCode, issuer_url: &str) -> Vec<u8> {
    let page = endpoint(issuer_url, path::DEVICE);
    let user_code = user.shown();
    let answer = serde_json::json!({
        "device_code": device.expose(),
        "user_code": user_code,
        "verification_uri": page,
        // RFC 8628 3.3.1: for a picture that the person's telephone reads. The page asks all the same.
        "verification_uri_complete": format!("{page}?user_code={user_code}"),
        "expires_in": LIFETIME.as_secs(),
        "interval": INTERVAL.as_secs(),
    });
    answer.to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use symbolon_crypto::random::SeededRandom;

    use super::*;
    use crate::token::fixture::{NOW, after, client};

    #[test]
    fn a_user_code_has_eight_consonants_and_is_read_however_it_is_typed() {
        let random = SeededRandom::new(1);
        for _ in 0..200 {
            let code = UserCode::draw(&random);
            let shown = code.shown();
            assert_eq!((shown.len(), shown.as_bytes()[4]), (9, b'-'));
            for typed in
                [&*shown, code.as_str(), &shown.to_lowercase(), &format!(" {} ", shown.replace('-', " . "))]
            {
                assert_eq!(UserCode::parse(typed).as_ref(), Some(&code), "{typed}");
            }
        }
        for wrong in
            ["", "BCDF-GHJ", "BCDF-GHJKL", "BCDF-GHJA", "BCDF-GHJ1", "BCDF-GHJ\u{c4}", "\u{ff22}CDFGHJK"]
        {
            assert_eq!(UserCode::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_device_code_says_where_its_record_is_and_hides_nothing_but_its_secret() {
        let random = SeededRandom::new(2);
        let (one, other) = (DeviceCode::draw(&[7; 16], &random), DeviceCode::draw(&[7; 16], &random));
        let (ours, theirs) = (IssuerId::default_issuer(), IssuerId::parse("other").unwrap());
        let (first, second) = (one.parts(&ours).unwrap(), other.parts(&ours).unwrap());
        assert!(one.parts(&theirs).unwrap().secret_digest != first.secret_digest, "another issuer's");
        assert_eq!((first.place, second.place), ([7; 16], [7; 16]));
        assert!(first.secret_digest != second.secret_digest && one != other);
        assert_eq!(format!("{one:?}"), "DeviceCode(..)");
        for wrong in ["", "dc_", "ac_1_2_abc", &one.expose()[1..], &format!("{}A", one.expose())] {
            assert!(!DeviceCode::new(wrong).has_our_form(), "{wrong}");
        }
    }

    #[test]
    fn a_device_asks_for_what_its_client_may_have() {
        let check = |form: &str, change: fn(&mut Client)| {
            let mut client = client("app");
            change(&mut client);
            let settings = IssuerSettings::default();
            check(&Params::parse(form.as_bytes()).unwrap(), &client, &settings, NOW)
        };
        let asked = check("scope=openid+offline_access+unknown", |_| ()).unwrap();
        assert_eq!((asked.client.as_str(), asked.scope.as_str()), ("app", "openid offline_access"));
        assert_eq!(asked.expires_at, after(600));
        let by_default = check("", |client| client.scope = Scope::parse("openid offline_access").unwrap());
        assert_eq!(by_default.unwrap().scope.as_str(), "openid");
        let without_refresh: fn(&mut Client) = |client| client.grant_types = vec![GrantType::DeviceCode];
        assert_eq!(check("scope=openid+offline_access", without_refresh).unwrap().scope.as_str(), "openid");
        let as_it_is: fn(&mut Client) = |_| ();
        let without_grant: fn(&mut Client) = |client| client.grant_types = vec![GrantType::AuthorizationCode];
        for (form, change, code) in [
            ("scope=openid", without_grant, ErrorCode::UnauthorizedClient),
            ("scope=unknown", as_it_is, ErrorCode::InvalidScope),
            ("scope=offline_access", without_refresh, ErrorCode::InvalidScope),
            ("scope=openid&scope=email", as_it_is, ErrorCode::InvalidRequest),
        ] {
            assert_eq!(check(form, change).map_err(|error| error.code), Err(code), "{form}");
        }
    }

    #[test]
    fn the_answer_leads_to_the_page() {
        let (device, user) = (DeviceCode::new("dc_x"), UserCode::parse("bcdfghjk").unwrap());
        let answer: serde_json::Value =
            serde_json::from_slice(&answer(&device, &user, "https://op.example/acme")).unwrap();
        assert_eq!(answer["verification_uri"], "https://op.example/acme/device");
        assert_eq!(answer["verification_uri_complete"], "https://op.example/acme/device?user_code=BCDF-GHJK");
        assert_eq!((&answer["device_code"], &answer["user_code"]), (&"dc_x".into(), &"BCDF-GHJK".into()));
        assert_eq!((answer["expires_in"].as_u64(), answer["interval"].as_u64()), (Some(600), Some(5)));
    }
}
