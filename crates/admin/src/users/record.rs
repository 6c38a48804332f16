//! A user's record as JSON: read member by member, shown as a whole.

use serde_json::{Map, Value, json};
use symbolon_crypto::password;
use symbolon_crypto::random::{self, Random};
use symbolon_crypto::secret::SecretString;
use symbolon_protocol::email_address::is_sound;
use symbolon_protocol::id::{UserId, refused_in_paths};
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user::{Address, Profile, User};

use super::super::error::AdminError;
use super::super::fields::Fields;
use super::super::script_members;
use super::attributes;
use symbolon_app::audit::ChangedFields;

/// The shortest and longest password, in characters and bytes (NIST SP 800-63B 5.1.1.2).
const MIN_PASSWORD: usize = 8;
const MAX_PASSWORD: usize = 1024;

/// The names by which other systems and their exports say whether a user is active, and whether `true` means that it is.
const ACTIVE: [(&str, bool); 5] =
    [("active", true), ("enabled", true), ("is_active", true), ("disabled", false), ("blocked", false)];

/// Members of a shown user that a change cannot set. They are accepted, so that what was shown can be sent back.
const SHOWN_ONLY: [&str; 2] = ["created_at", "updated_at"];

/// The members of a user in a request.
#[derive(Debug, PartialEq)]
pub(crate) struct Described {
    pub(crate) email: Option<String>,
    pub(crate) email_verified: bool,
    pub(crate) profile: Profile,
    pub(crate) active: bool,
}

/// The password given with a new user.
pub(crate) enum GivenPassword {
    /// In plain text; the server hashes it.
    Plain(SecretString),
    /// As a hash.
    Hash(Box<password::PasswordHash>),
    /// No password.
    Absent,
}

impl Described {
    /// Reads the members of a user. The caller reads the others, such as `id`, and finishes.
    ///
    /// # Errors
    /// 400 that names the member.
    pub(crate) fn read(fields: &mut Fields) -> Result<Self, AdminError> {
        let described = Self {
            email: email(fields)?,
            email_verified: fields.take("email_verified")?.unwrap_or_default(),
            profile: profile(fields)?,
            active: active(fields)?.unwrap_or(true),
        };
        fields.ignore(&SHOWN_ONLY);
        fields.ignore(&script_members::USER);
        if described.email.is_none() && described.profile.preferred_username.is_none() {
            return Err(AdminError::invalid("email is required, or preferred_username"));
        }
        Ok(described)
    }

    /// A new user with these members.
    pub(crate) fn into_user(self, id: UserId, now: Timestamp) -> User {
        let Self { email, email_verified, profile, active } = self;
        let profile = profile.into();
        User { id, email, email_verified, profile, active, created_at: now, updated_at: now }
    }

    /// The user with its members replaced by these.
    pub(crate) fn onto(self, user: &User, now: Timestamp) -> User {
        // Always later than before, even if the clock has not advanced: the store detects lost races by `updated_at`.
        let next = Timestamp::from_millis(user.updated_at.millis().saturating_add(1));
        User { created_at: user.created_at, ..self.into_user(user.id.clone(), now.max(next)) }
    }
}

/// The id given in the request, or a new one.
///
/// # Errors
/// 400 if the id is malformed, or begins with `client:`: the `sub` of a token that a client obtained for itself
/// begins so (RFC 9068 5), and the user could be mistaken for that client.
pub(crate) fn id(fields: &mut Fields, random: &dyn Random) -> Result<UserId, AdminError> {
    let given: Option<UserId> = fields.take("id")?;
    if given.as_ref().is_some_and(|id| id.as_str().starts_with("client:")) {
        return Err(AdminError::invalid("id must not begin with client:"));
    }
    if let Some(why) = given.as_ref().and_then(|id| refused_in_paths(id.as_str())) {
        return Err(AdminError::invalid(format!("id {why}")));
    }
    // Starts with a letter, so that no id looks like a command-line option.
    Ok(given.unwrap_or_else(|| UserId::trusted(format!("u{}", random::token_128(random)))))
}

/// `password`, or `password_hash` in one of the forms of docs/reference/password-hashes.md.
///
/// # Errors
/// 400 that names the member without repeating its value.
pub(crate) fn password(fields: &mut Fields) -> Result<GivenPassword, AdminError> {
    let (plain, hash) = (fields.secret("password")?, fields.secret("password_hash")?);
    match (plain, hash) {
        (Some(_), Some(_)) => Err(AdminError::invalid("password and password_hash cannot both be given")),
        (Some(plain), None) => {
            let text = plain.expose();
            if text.chars().count() < MIN_PASSWORD || text.len() > MAX_PASSWORD {
                return Err(AdminError::invalid("password must be 8 characters to 1024 bytes"));
            }
            Ok(GivenPassword::Plain(plain))
        }
        (None, Some(hash)) => match password::PasswordHash::parse(hash.expose()) {
            Ok(parsed) => Ok(GivenPassword::Hash(Box::new(parsed))),
            Err(error) => Err(AdminError::invalid(format!("password_hash: {error}"))),
        },
        (None, None) => Ok(GivenPassword::Absent),
    }
}

/// Whether the user is active, by whichever of the names of [`ACTIVE`] are given.
///
/// # Errors
/// 400 if one is not a boolean, or two contradict each other.
fn active(fields: &mut Fields) -> Result<Option<bool>, AdminError> {
    let mut told: Option<(&str, bool)> = None;
    for (name, means) in ACTIVE {
        let Some(given) = fields.take::<bool>(name)? else { continue };
        let is_active = given == means;
        match told {
            Some((other, said)) if said != is_active => {
                return Err(AdminError::invalid(format!("{name} contradicts {other}")));
            }
            _ => told = Some((name, is_active)),
        }
    }
    Ok(told.map(|(_, is_active)| is_active))
}

/// A patch of a user with `active` in place of its other names. A patch is merged with the shown user, which has `active`:
/// there `disabled` would seem to contradict it.
///
/// # Errors
/// As [`Described::read`].
pub(crate) fn with_active_by_its_name(patch: Map<String, Value>) -> Result<Map<String, Value>, AdminError> {
    let is_alias = |name: &str| name != "active" && patch.contains_key(name);
    if !ACTIVE.iter().any(|(name, _)| is_alias(name)) {
        return Ok(patch);
    }
    let told = active(&mut Fields::new(patch.clone()))?;
    let mut patch = patch;
    patch.retain(|name, _| !ACTIVE.iter().any(|(known, _)| known == name));
    if let Some(is_active) = told {
        patch.insert("active".to_owned(), is_active.into());
    }
    Ok(patch)
}

/// `email`; `None` if it is not given.
///
/// # Errors
/// 400 if it is not an e-mail address.
pub(crate) fn email(fields: &mut Fields) -> Result<Option<String>, AdminError> {
    let Some(email) = fields.text("email")? else { return Ok(None) };
    if is_sound(&email) {
        Ok(Some(email))
    } else {
        Err(AdminError::invalid("email is not an e-mail address"))
    }
}

fn profile(fields: &mut Fields) -> Result<Profile, AdminError> {
    Ok(Profile {
        name: fields.text("name")?,
        given_name: fields.text("given_name")?,
        family_name: fields.text("family_name")?,
        middle_name: fields.text("middle_name")?,
        nickname: fields.text("nickname")?,
        preferred_username: fields.text("preferred_username")?,
        profile: fields.text("profile")?,
        picture: fields.text("picture")?,
        website: fields.text("website")?,
        gender: fields.text("gender")?,
        birthdate: fields.text("birthdate")?,
        zoneinfo: fields.text("zoneinfo")?,
        locale: fields.text("locale")?,
        phone_number: fields.text("phone_number")?,
        phone_number_verified: fields.take("phone_number_verified")?,
        address: address(fields)?.map(Box::new),
        attributes: attributes::read(fields)?,
    })
}

fn address(fields: &mut Fields) -> Result<Option<Address>, AdminError> {
    let Some(object) = fields.take::<Map<String, Value>>("address")? else { return Ok(None) };
    let mut parts = Fields::within("address", object);
    let address = Address {
        formatted: parts.text("formatted")?,
        street_address: parts.text("street_address")?,
        locality: parts.text("locality")?,
        region: parts.text("region")?,
        postal_code: parts.text("postal_code")?,
        country: parts.text("country")?,
    };
    parts.finish()?;
    Ok(Some(address))
}

/// What the audit log says of a deleted user: only by what name the user could sign in. The other claims of somebody who
/// was deleted are not written down once more.
pub(super) fn removed(user: &User) -> ChangedFields {
    let User { id, email, active, .. } = user;
    let username = &user.profile.preferred_username;
    ChangedFields::removed(
        &json!({ "id": id, "email": email, "preferred_username": username, "active": active }),
    )
}

/// A user as JSON, with every attribute. Members without a value are omitted rather than `null`.
pub(crate) fn view(user: &User) -> Map<String, Value> {
    match serde_json::to_value(user) {
        Ok(Value::Object(object)) => object.into_iter().filter(|(_, value)| !value.is_null()).collect(),
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn object(value: Value) -> Map<String, Value> {
        let Value::Object(object) = value else { panic!("an object") };
        object
    }

    fn read(value: Value) -> Result<Described, AdminError> {
        let mut fields = Fields::new(object(value));
        let described = Described::read(&mut fields)?;
        fields.ignore(&["id"]);
        fields.finish().map(|()| described)
    }

    fn told<T>(result: Result<T, AdminError>) -> String {
        result.err().map(|error| error.told().1.into_owned()).expect("refused")
    }

    #[test]
    fn what_is_shown_reads_back_as_the_same() {
        let described = read(json!({
            "email": "Ann@rp.example", "email_verified": true, "name": "Ann", "user_type": "end_user",
            "phone_number_verified": false, "address": { "country": "AT" },
            "attributes": { "level": 3, "team": ["a"], "gone": null },
        }));
        let user = described.expect("valid").into_user(UserId::trusted("u1"), Timestamp::from_millis(5));
        let shown = view(&user);
        assert_eq!(shown["created_at"], 5);
        assert_eq!(shown["email"], "Ann@rp.example");
        assert!(!shown.contains_key("nickname"));
        assert_eq!(shown["attributes"], json!({ "level": 3, "team": ["a"] }));
        let again = read(Value::Object(shown)).expect("valid");
        assert_eq!(again.into_user(UserId::trusted("u1"), Timestamp::from_millis(5)), user);
    }

    #[test]
    fn a_user_needs_something_to_sign_in_with() {
        assert!(told(read(json!({ "name": "Ann" }))).starts_with("email is required"));
        assert!(read(json!({ "preferred_username": "ann" })).is_ok());
        for bad in ["ann", "@x.example", "ann@", "a nn@x.example", "ann@.example", "ann@x."] {
            assert_eq!(told(read(json!({ "email": bad }))), "email is not an e-mail address", "{bad}");
        }
    }

    #[test]
    fn a_member_that_no_user_has_is_refused() {
        let refused = told(read(json!({ "email": "a@x.example", "emial_verified": true })));
        assert_eq!(refused, "unknown member \"emial_verified\"; did you mean \"email_verified\"?");
        let refused = told(read(json!({ "email": "a@x.example", "address": { "contry": "AT" } })));
        assert_eq!(refused, "unknown member \"address.contry\"; did you mean \"address.country\"?");
    }

    #[test]
    fn whether_a_user_is_active_has_the_names_that_imports_use() {
        let active = |mut said: Value| {
            said["email"] = json!("a@x.example");
            read(said).map(|described| described.active)
        };
        for (said, is_active) in [
            (json!({}), true),
            (json!({ "enabled": false }), false),
            (json!({ "is_active": false }), false),
            (json!({ "disabled": true }), false),
            (json!({ "blocked": true }), false),
            (json!({ "blocked": false, "disabled": false, "enabled": true }), true),
            (json!({ "active": false, "blocked": true, "enabled": null }), false),
        ] {
            assert_eq!(active(said.clone()).expect("valid"), is_active, "{said}");
        }
        assert_eq!(told(active(json!({ "active": true, "disabled": true }))), "disabled contradicts active");
        assert_eq!(
            told(active(json!({ "enabled": false, "blocked": false }))),
            "blocked contradicts enabled"
        );
        assert!(told(active(json!({ "disabled": "yes" }))).starts_with("disabled is not valid"));
    }

    #[test]
    fn a_patch_names_active_by_its_name() {
        let patched = |patch: Value| with_active_by_its_name(object(patch)).map(Value::Object);
        for (patch, expected) in [
            (json!({ "name": "A" }), json!({ "name": "A" })),
            (json!({ "active": null }), json!({ "active": null })),
            (json!({ "disabled": true, "name": null }), json!({ "active": false, "name": null })),
            (json!({ "blocked": false, "active": true }), json!({ "active": true })),
            (json!({ "disabled": null }), json!({})),
        ] {
            assert_eq!(patched(patch.clone()).expect("valid"), expected, "{patch}");
        }
        assert_eq!(
            told(patched(json!({ "enabled": true, "disabled": true }))),
            "disabled contradicts enabled"
        );
    }

    #[test]
    fn an_attribute_that_cannot_be_read_is_named() {
        for (attributes, why) in [
            (json!({ "a b": 1 }), "attributes.a b: the name of an attribute must be"),
            (json!({ "a": {} }), "attributes.a must be a text, a number, true, false or a list of texts"),
            (json!({ "a": ["x", 1] }), "attributes.a must be a text"),
            (json!([]), "attributes is not valid"),
        ] {
            let told = told(read(json!({ "email": "a@x.example", "attributes": attributes })));
            assert!(told.starts_with(why), "{told}");
        }
        assert!(read(json!({ "email": "a@x.example", "attributes": null })).is_ok());
    }

    #[test]
    fn passwords_are_checked_and_not_repeated() {
        let read = |value: Value| match value {
            Value::Object(object) => password(&mut Fields::new(object)),
            _ => panic!("an object"),
        };
        assert_eq!(told(read(json!({ "password": "short" }))), "password must be 8 characters to 1024 bytes");
        assert!(matches!(read(json!({ "password": "long enough" })), Ok(GivenPassword::Plain(_))));
        assert!(told(read(json!({ "password_hash": "$1$abc" }))).contains("$2b$..."));
        for cut in ["$2b$12$abc", "$argon2id$abc", "{SHA}abc"] {
            let told = told(read(json!({ "password_hash": cut })));
            assert!(told.starts_with("password_hash: ") && !told.contains("abc"), "{told}");
        }
        assert!(matches!(read(json!({})), Ok(GivenPassword::Absent)));
        assert!(read(json!({ "password": "long enough", "password_hash": "x" })).is_err());
    }

    #[test]
    fn a_change_is_always_later() {
        let described = || read(json!({ "email": "a@x.example" })).expect("valid");
        let user = described().into_user(UserId::trusted("u1"), Timestamp::from_millis(9));
        assert_eq!(described().onto(&user, Timestamp::from_millis(3)).updated_at, Timestamp::from_millis(10));
    }

    proptest! {
        #[test]
        fn whatever_comes_is_read_or_refused(text in ".*", number in any::<i64>()) {
            for value in [json!(text), json!(number), json!([text]), json!({ "formatted": number })] {
                for member in
                    ["email", "email_verified", "name", "address", "active", "phone_number_verified", "attributes"]
                {
                    let mut object = Map::new();
                    object.insert(member.to_owned(), value.clone());
                    let _ = Described::read(&mut Fields::new(object));
                }
            }
        }
    }
}
