//! Lifetimes, rotation, PKCE: the initial settings of an issuer.

use std::time::Duration;

use symbolon_protocol::pkce::PkcePolicy;
use symbolon_protocol::settings::{IssuerSettings, LONGEST_LIFE, Lifetimes};

use super::Section;
use super::listen::is_off;
use crate::key::{Key, ValueKind};
use crate::reader::Reader;
use crate::value::Value;

const HOUR: u64 = 3600;
const DAY: u64 = 24 * HOUR;
const YEAR: u64 = 365 * DAY;

/// The longest lifetime of a refresh-token family.
const LONGEST_FAMILY: u64 = 10 * YEAR;
/// The shortest time for which a session may be unused: its last use is written once a minute.
const SHORTEST_IDLE: Duration = Duration::from_secs(60);
const _: () = assert!(LONGEST_FAMILY <= LONGEST_LIFE.as_secs());

pub(crate) const SECTION: Section = Section {
    title: "First settings of an issuer",
    intro: "These are the settings that an issuer begins with. Afterwards the admin API changes them per issuer and \
            per client while the server runs, and what is stored wins.",
    keys: &[
        // RFC 6749 section 4.1.2 recommends a maximum of ten minutes for a code.
        Key::new("lifetime.code", "SYMBOLON_LIFETIME_CODE", "--lifetime-code", ValueKind::seconds(1, 600))
            .default("1m")
            .first_start()
            .doc("Lifetime of an authorization code."),
        Key::new(
            "lifetime.access_token",
            "SYMBOLON_LIFETIME_ACCESS_TOKEN",
            "--lifetime-access-token",
            ValueKind::seconds(1, 30 * DAY),
        )
        .default("1h")
        .first_start()
        .doc("Lifetime of an access token.")
        .weakens(
            |value| matches!(value, Value::Duration(d) if d.as_secs() > DAY),
            "Access tokens that live longer than a day stay usable that long once stolen.",
        ),
        Key::new("lifetime.id_token", "SYMBOLON_LIFETIME_ID_TOKEN", "--lifetime-id-token", ValueKind::seconds(1, 30 * DAY))
            .default("1h")
            .first_start()
            .doc("Lifetime of an ID token."),
        Key::new(
            "lifetime.refresh_idle",
            "SYMBOLON_LIFETIME_REFRESH_IDLE",
            "--lifetime-refresh-idle",
            ValueKind::seconds(60, LONGEST_FAMILY),
        )
        .default("30d")
        .first_start()
        .doc("How long a refresh-token family lives without a refresh."),
        Key::new(
            "lifetime.refresh_absolute",
            "SYMBOLON_LIFETIME_REFRESH_ABSOLUTE",
            "--lifetime-refresh-absolute",
            ValueKind::seconds(60, LONGEST_FAMILY),
        )
        .default("30d")
        .first_start()
        .doc("How long a refresh-token family lives at all."),
        Key::new("lifetime.session", "SYMBOLON_LIFETIME_SESSION", "--lifetime-session", ValueKind::seconds(60, YEAR))
            .default("1d")
            .first_start()
            .doc("How long a session lives at all."),
        Key::new(
            "lifetime.session_idle",
            "SYMBOLON_LIFETIME_SESSION_IDLE",
            "--lifetime-session-idle",
            ValueKind::seconds(0, YEAR),
        )
        .default("0")
        .first_start()
        .doc("How long a session lives without being used, a minute or more; 0 lets it be idle for as long as it lives."),
        Key::new(
            "lifetime.signing_key",
            "SYMBOLON_LIFETIME_SIGNING_KEY",
            "--lifetime-signing-key",
            ValueKind::seconds(0, 10 * YEAR),
        )
        .default("90d")
        .first_start()
        .doc("How long a signing key signs before the next one takes over, in whole days; 0 never rotates by itself."),
        Key::new("audit.retention", "SYMBOLON_AUDIT_RETENTION", "--audit-retention", ValueKind::seconds(DAY, 10 * YEAR))
            .default("90d")
            .first_start()
            .doc("How long the audit log is kept, in whole days."),
        Key::new("pkce", "SYMBOLON_PKCE", "--pkce", ValueKind::Choice(&["required", "or_nonce", "optional"]))
            .default("or_nonce")
            .first_start()
            .doc(
                "What confidential clients must send against stolen authorization codes: PKCE, PKCE or a `nonce`, or \
                 neither. Public clients must always send PKCE.",
            )
            .weakens(
                |value| matches!(value, Value::Text(text) if text == PkcePolicy::Optional.as_str()),
                PkcePolicy::WEAKENS,
            ),
        Key::new("refresh.rotation", "SYMBOLON_REFRESH_ROTATION", "--refresh-rotation", ValueKind::Switch)
            .default("true")
            .first_start()
            .doc("Gives out a new refresh token at each refresh. For public clients it cannot be switched off.")
            .weakens(is_off, "Without rotation a stolen refresh token goes unnoticed."),
        Key::new(
            "refresh.retry_window",
            "SYMBOLON_REFRESH_RETRY_WINDOW",
            "--refresh-retry-window",
            ValueKind::seconds(0, 60),
        )
        .default("10s")
        .first_start()
        .doc("How long a client whose answer got lost may repeat a refresh and get the same successor."),
    ],
};

/// The initial settings of an issuer. Settings without a key get the protocol crate's defaults.
pub(crate) fn build(reader: &mut Reader) -> IssuerSettings {
    let (idle, absolute) = ("lifetime.refresh_idle", "lifetime.refresh_absolute");
    let refresh_token_absolute = seconds(reader, absolute);
    let refresh_token_idle = seconds(reader, idle);
    // An idle limit above the absolute one would have no effect, so this is probably a mistake. If only the absolute
    // limit was lowered, the idle limit is lowered with it.
    if refresh_token_idle > refresh_token_absolute && reader.said(idle) && !reader.failed(absolute) {
        reader.refuse(
            idle,
            format!("is longer than `{absolute}`"),
            format!("shorten it, or lengthen `{absolute}`"),
        );
    }
    let session = seconds(reader, "lifetime.session");
    IssuerSettings {
        lifetimes: Lifetimes {
            code: seconds(reader, "lifetime.code"),
            access_token: seconds(reader, "lifetime.access_token"),
            id_token: seconds(reader, "lifetime.id_token"),
            refresh_token_idle: refresh_token_idle.min(refresh_token_absolute),
            refresh_token_absolute,
            session,
            session_idle: session_idle(reader, session),
        },
        pkce: PkcePolicy::parse(&reader.text("pkce")).unwrap_or_default(),
        refresh_token_rotation: reader.switch("refresh.rotation"),
        refresh_retry_window: seconds(reader, "refresh.retry_window"),
        key_rotation_days: days(reader, "lifetime.signing_key"),
        audit_days: days(reader, "audit.retention"),
        ..IssuerSettings::default()
    }
}

/// How long a session may be idle: zero, or a minute at least, and no longer than it lives.
fn session_idle(reader: &mut Reader, session: Duration) -> Duration {
    let path = "lifetime.session_idle";
    let idle = seconds(reader, path);
    if !idle.is_zero() && idle < SHORTEST_IDLE {
        reader.refuse(path, "is shorter than a minute", "write \"1m\" or more, or 0 for no limit");
    }
    if idle > session && !reader.failed("lifetime.session") {
        reader.refuse(
            path,
            "is longer than `lifetime.session`",
            "shorten it, or lengthen `lifetime.session`",
        );
    }
    idle
}

/// Stored settings count whole seconds: half a second would silently become zero.
fn seconds(reader: &mut Reader, path: &'static str) -> Duration {
    let duration = reader.duration(path);
    if duration.subsec_nanos() != 0 {
        reader.refuse(path, "has a part of a second", "write whole seconds");
    }
    duration
}

/// These settings count whole days.
fn days(reader: &mut Reader, path: &'static str) -> u32 {
    let duration = reader.duration(path);
    if duration.subsec_nanos() != 0 || !duration.as_secs().is_multiple_of(DAY) {
        reader.refuse(path, "has a part of a day", "write whole days, as in \"90d\"");
    }
    u32::try_from(duration.as_secs() / DAY).unwrap_or(u32::MAX)
}
