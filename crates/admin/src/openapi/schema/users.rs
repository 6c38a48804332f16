//! Users, invitations, authenticators and sessions.

use serde_json::{Value, json};
use symbolon_protocol::user_claims::PROFILE_CLAIMS;

use super::super::super::operation::reference;
use super::{
    Schemas, attributes, bulk, bulk_of, described, extended, flag, list, number, object, optional, seconds,
    secret, shown_only, text, texts, time, without_effect,
};

pub(super) fn users() -> Schemas {
    let address = ["formatted", "street_address", "locality", "region", "postal_code", "country"];
    let claims: Vec<_> =
        PROFILE_CLAIMS.iter().copied().chain(["phone_number"]).map(|name| (name, text())).collect();
    let base = object(
        &[],
        &[
            ("email", json!({ "type": "string", "format": "email" })),
            ("email_verified", flag()),
            ("phone_number_verified", flag()),
            ("address", object(&[], &address.map(|name| (name, text())))),
            ("attributes", attributes::values()),
            ("active", flag()),
        ],
    );
    let record = extended(&base, &[], &claims);
    let hash = "A hash that this or another system made: a PHC string, or one of the forms in \
                docs/reference/password-hashes.md.";
    let hash = json!({ "type": "string", "format": "password", "description": hash });
    let password = [("password", secret()), ("password_hash", hash.clone())];
    let other_names = ["enabled", "is_active", "disabled", "blocked"].map(|name| (name, flag()));
    let accepted = [
        ("id", text()),
        ("created_at", shown_only(time())),
        ("updated_at", shown_only(time())),
        ("user_type", without_effect()),
    ];
    let taken = extended(&extended(&record, &[], &other_names), &[], &accepted);
    let shown = extended(&record, &["id"], &[("id", text()), ("created_at", time()), ("updated_at", time())]);
    let named = object(&["id"], &[("id", text()), ("email", optional(&text()))]);
    let grant = [
        ("client_id", text()),
        ("client_name", optional(&text())),
        ("scope", text()),
        ("since", time()),
        ("last_used_at", optional(&time())),
        ("offline", flag()),
        ("refresh_tokens", number()),
    ];
    vec![
        ("NewUser", extended(&taken, &[], &password)),
        ("BulkUser", bulk("user", &named)),
        ("UserRecord", taken),
        ("ExportedUser", extended(&shown, &[], &[("password_hash", hash)])),
        ("User", shown),
        (
            "NewPassword",
            extended(&object(&[], &password), &[], &[("sign_out", flag()), ("end_sessions", flag())]),
        ),
        ("LeftAlive", object(&["sessions", "grants"], &[("sessions", number()), ("grants", number())])),
        ("Grant", object(&grant.each_ref().map(|(name, _)| *name), &grant)),
        ("Authenticators", authenticators()),
        ("Identity", identity()),
        ("UserIdentity", user_identity()),
        ("BulkUserIdentity", bulk_of(&changed(&["user_id", "identity_provider", "subject"]))),
        ("UserConsent", user_consent()),
        ("BulkUserConsent", bulk_of(&changed(&["user_id", "client_id"]))),
        ("NewInvitation", new_invitation()),
        ("Invitation", invitation()),
        ("MadeInvitation", made_invitation()),
        (
            "Consent",
            object(
                &["client_id", "scope", "granted_at"],
                &[("client_id", text()), ("scope", text()), ("granted_at", time())],
            ),
        ),
    ]
}

fn new_invitation() -> Value {
    object(
        &["email"],
        &[
            ("email", json!({ "type": "string", "format": "email" })),
            ("groups", texts()),
            ("roles", texts()),
            ("lifetime", seconds()),
            ("send_mail", flag()),
            ("language", text()),
        ],
    )
}

fn invitation() -> Value {
    let is_mailed = "Whether the link was mailed to the address; else it was handed over, and the address is proven by a code.";
    let made_from = "The network address that they asked from; null where there was none.";
    let used_at = "When an account was opened with it, in milliseconds since 1970-01-01T00:00:00Z; null while it was not used.";
    let invitation = [
        ("id", text()),
        ("email", described(text(), "The address that is invited.")),
        ("is_mailed", described(flag(), is_mailed)),
        ("groups", texts()),
        ("roles", texts()),
        ("created_at", time()),
        ("expires_at", time()),
        ("made_by", described(text(), "Who made it, as `actor` of the audit log.")),
        ("made_from", described(optional(&text()), made_from)),
        ("used_at", described(optional(&time()), used_at)),
    ];
    object(&invitation.each_ref().map(|(name, _)| *name), &invitation)
}

fn made_invitation() -> Value {
    object(&["invitation"], &[("invitation", reference("Invitation")), ("queued", flag()), ("link", text())])
}

fn authenticators() -> Value {
    let passkey = [
        ("id", text()),
        ("name", text()),
        ("is_synced", flag()),
        ("created_at", time()),
        ("last_used_at", optional(&time())),
    ];
    let passkey = object(&passkey.each_ref().map(|(name, _)| *name), &passkey);
    let totp = optional(&object(&["added_at"], &[("added_at", time())]));
    let all = [("passkeys", list(passkey)), ("totp", totp), ("recovery_codes", number())];
    object(&all.each_ref().map(|(name, _)| *name), &all)
}

fn identity() -> Value {
    let provider = "The id of its provider; null where that is no more.";
    let identity = [
        ("id", text()),
        ("identity_provider", json!({ "type": ["string", "null"], "description": provider })),
        ("subject", text()),
        ("label", optional(&text())),
        ("linked_at", time()),
    ];
    object(&identity.each_ref().map(|(name, _)| *name), &identity)
}

/// An identity beside its user, as lines have it.
fn user_identity() -> Value {
    object(
        &["user_id", "identity_provider", "subject"],
        &[
            ("user_id", text()),
            ("identity_provider", described(text(), "The id of the provider.")),
            ("subject", described(text(), "The provider's `sub` for the person.")),
            ("label", described(text(), "What the person knows it by: an address or a name.")),
            ("linked_at", time()),
        ],
    )
}

/// A consent beside its user, as lines have it.
fn user_consent() -> Value {
    let version = |of: &str| {
        described(number(), &format!("The `consent_version` {of} that it was given to; 0 without."))
    };
    object(
        &["user_id", "client_id", "scope"],
        &[
            ("user_id", text()),
            ("client_id", text()),
            ("scope", text()),
            ("granted_at", time()),
            ("issuer_consent_version", version("of the issuer")),
            ("client_consent_version", version("of the client")),
            ("authorization_details", json!({ "type": "array", "items": { "type": "object" } })),
        ],
    )
}

/// What is answered to a line: whether it changed something.
fn changed(members: &[&str]) -> Value {
    let texts: Vec<_> = members.iter().map(|name| (*name, text())).collect();
    extended(&object(members, &texts), &["changed"], &[("changed", flag())])
}

pub(super) fn sessions() -> Schemas {
    let noted = |about: &str| described(optional(&text()), about);
    let device = "The kinds of browser and system in which the session began, as the account page shows them, such as \
                  `Firefox · Linux`: what the browser said of itself. Null where none is known.";
    let system = "The kind of system alone, such as `Linux`; null where none is known.";
    let address = "The network address that the sign-in came from; null where it was not noted.";
    let session = [
        ("sid", text()),
        ("user_id", text()),
        ("auth_time", time()),
        ("created_at", time()),
        ("expires_at", time()),
        ("last_used_at", time()),
        ("amr", texts()),
        ("clients", texts()),
        ("device", noted(device)),
        ("system", noted(system)),
        ("address", noted(address)),
    ];
    let request = [
        ("id", described(text(), "The part of the `auth_req_id` between `ar_` and the point.")),
        ("client_id", text()),
        ("user_id", text()),
        ("scope", text()),
        ("resources", texts()),
        ("authorization_details", list(json!({ "type": "object" }))),
        ("binding_message", optional(&text())),
        ("created_at", time()),
        ("expires_at", time()),
        ("decision", json!({ "type": ["string", "null"], "enum": ["approved", "denied", null] })),
    ];
    vec![
        ("Session", object(&session.each_ref().map(|(name, _)| *name), &session)),
        ("BackchannelRequest", object(&request.each_ref().map(|(name, _)| *name), &request)),
    ]
}
