//! Secrets, protective switches, proxies, the session cookie and password hashing.

use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use symbolon_crypto::SecretString;
use symbolon_crypto::password::PasswordPolicy;
use symbolon_crypto::seal::MasterKey;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::issuer::Issuer;

use super::Section;
use super::cluster;
use super::issuer::{IssuerUrl, Mode};
use super::listen::is_on;
use super::mutual_tls::{self, MutualTls};
use crate::key::{Key, ValueKind};
use crate::reader::Reader;
use crate::value::Value;

/// The shortest admin secret outside development mode, in characters: the length of 128 random bits in base64.
const ADMIN_SECRET_CHARS: usize = 22;

/// The fewest different characters of an admin secret. 22 random hexadecimal digits have fewer once in 14,000 cases;
/// 32 of them, or characters of a larger alphabet, practically never.
const ADMIN_SECRET_DIFFERENT: usize = 8;

pub(crate) const SECTION: Section = Section {
    title: "Security",
    intro: "A secret is given as a value or as a file that holds it (the same key with `_file`); one line break at \
            the end of the file is not part of it. The higher source wins; both in one source are refused.",
    keys: &[
        Key::new("admin_secret", "SYMBOLON_ADMIN_SECRET", "--admin-secret", ValueKind::Secret)
            .unset("generated at the first start in development mode, else required")
            .live()
            .doc(
                "Bearer secret of `/api/admin`. Outside development mode a random one (`head -c 32 /dev/urandom | base64`): 22 \
                 characters or more, 8 of them different, without blanks.",
            ),
        Key::new("admin_secret_file", "SYMBOLON_ADMIN_SECRET_FILE", "--admin-secret-file", ValueKind::Path)
            .unset("see `admin_secret`")
            .live()
            .doc("File with the admin secret."),
        Key::new("master_key", "SYMBOLON_MASTER_KEY", "--master-key", ValueKind::Secret)
            .unset("a generated `master.key` in the data directory; required on the cluster store")
            .doc(
                "256-bit key that encrypts the signing keys at rest: base64, base64url or 64 hexadecimal digits. \
                 Without it the key lies beside the data that it protects.",
            ),
        Key::new("master_key_file", "SYMBOLON_MASTER_KEY_FILE", "--master-key-file", ValueKind::Path)
            .unset("see `master_key`")
            .doc("File with the master key."),
        Key::new("test_endpoints", "SYMBOLON_TEST_ENDPOINTS", "--test-endpoints", ValueKind::Switch)
            .default("false")
            .live()
            .doc("Serves `/api/admin/test/*`, which makes sessions, codes and tokens without a login.")
            .weakens(is_on, "The test endpoints make sessions and tokens without a login; never in production."),
        Key::new("trusted_proxies", "SYMBOLON_TRUSTED_PROXIES", "--trusted-proxies", ValueKind::Networks)
            .default("")
            .live()
            .doc("Proxies whose `X-Forwarded-For` and `X-Forwarded-Host` headers count. From anybody else they are ignored.")
            .weakens(
                wide,
                "So wide a range of trusted proxies lets clients choose the address that rate limits and the audit log see.",
            ),
        Key::new("session_cookie", "SYMBOLON_SESSION_COOKIE", "--session-cookie", ValueKind::CookieName)
            .unset("`__Host-symbolon_session`, or `symbolon_session` on an http issuer")
            .doc(
                "Name of the session cookie of the `default` issuer, where its URL has no path; below a path it has a name of \
                 its own, which `config show` says.",
            ),
        Key::new("hsts", "SYMBOLON_HSTS", "--hsts", ValueKind::seconds(0, 2 * 365 * 86_400))
            .default("365d")
            .doc(
                "How long browsers are to call the host of an https issuer by https alone \
                 (`Strict-Transport-Security`, RFC 6797). 0s sends no such header: for a proxy that does.",
            ),
        Key::new(
            "breached_passwords_file",
            "SYMBOLON_BREACHED_PASSWORDS_FILE",
            "--breached-passwords-file",
            ValueKind::Path,
        )
        .unset("no list but the built-in one of common passwords")
        .live()
        .doc(
            "Local copy of a list of breached passwords, in which every new password is looked up: SHA-1 digests of 40 hexadecimal \
             digits, one a line, with or without `:` and a count behind it, in ascending order, as `haveibeenpwned-downloader` \
             writes it into one file. It is searched where it lies and not loaded. SIGHUP opens a newer file.",
        ),
        Key::new("places_file", "SYMBOLON_PLACES_FILE", "--places-file", ValueKind::Path)
            .unset("addresses are shown without a place")
            .live()
            .doc(
                "Table of the places of network addresses in MaxMind's format (`.mmdb`), of cities or of countries. People see the place \
                 beside the address of each of their sessions, and in mail about a new sign-in. It is read into memory. SIGHUP reads a newer file.",
            ),
        Key::new("argon2.memory", "SYMBOLON_ARGON2_MEMORY", "--argon2-memory", ValueKind::Size { min: 64 << 10, max: 1 << 30 })
            .default("19MiB")
            .doc("Memory per password hash (RFC 9106 section 3.1, m)."),
        Key::new(
            "argon2.iterations",
            "SYMBOLON_ARGON2_ITERATIONS",
            "--argon2-iterations",
            ValueKind::Count { min: 1, max: 64 },
        )
        .default("2")
        .doc("Passes per password hash (t)."),
        Key::new(
            "argon2.parallelism",
            "SYMBOLON_ARGON2_PARALLELISM",
            "--argon2-parallelism",
            ValueKind::Count { min: 1, max: 64 },
        )
        .default("1")
        .doc("Lanes per password hash (p)."),
        Key::new(
            "argon2.import_work",
            "SYMBOLON_ARGON2_IMPORT_WORK",
            "--argon2-import-work",
            ValueKind::Size { min: 64 << 10, max: 16 << 30 },
        )
        .unset(
            "1536MiB, of at most 256MiB of memory; attempts are answered after six times what the server's own hashes take, \
             and later in an issuer with a costlier one",
        )
        .doc(
            "Most that an imported hash may take: its memory times its passes, and what takes as long, of another function. \
             Where it is set, every attempt is answered as late as if it had met a hash that takes this, so that the time does \
             not tell whose hash was imported. Never less than the server's own hashes take.",
        ),
        Key::new("argon2.threads", "SYMBOLON_ARGON2_THREADS", "--argon2-threads", ValueKind::Count { min: 1, max: 1024 })
            .unset("half of the cores, at least one")
            .doc("Threads that hash passwords, so that logins never starve the other endpoints."),
        Key::new("argon2.queue", "SYMBOLON_ARGON2_QUEUE", "--argon2-queue", ValueKind::Count { min: 1, max: 100_000 })
            .default("64")
            .doc("Passwords that may wait for a thread; beyond it the login answers 503 with Retry-After."),
    ],
};

/// Secrets and protective settings.
pub struct Security {
    /// Bearer secret of the admin API. `None` only in development mode: the caller generates one.
    pub admin_secret: Option<SecretString>,
    /// The key that seals signing keys at rest; without it the store generates one.
    pub master_key: Option<MasterKey>,
    /// Whether `/api/admin/test/*` is served.
    pub test_endpoints: bool,
    /// Proxies whose forwarding headers are honoured.
    pub trusted_proxies: Vec<IpNet>,
    /// Where certificates of clients come from; `None` where none arrive.
    pub mutual_tls: Option<MutualTls>,
    /// Name of the session cookie of the `default` issuer.
    pub session_cookie: String,
    /// The `max-age` of Strict-Transport-Security; zero to omit the header.
    pub hsts: Duration,
    /// The list of breached passwords.
    pub breached_passwords: Option<PathBuf>,
    /// The table of the places of addresses.
    pub places: Option<PathBuf>,
    /// Password hashing.
    pub argon2: Argon2,
}

/// Password hashing: its cost (RFC 9106) and its pool.
#[derive(Clone, Debug)]
pub struct Argon2 {
    /// Memory, passes and lanes of new hashes.
    pub policy: PasswordPolicy,
    /// Threads of the pool; default: half the cores.
    pub threads: Option<usize>,
    /// Passwords that may wait for a thread.
    pub queue: usize,
    /// The most work of an imported hash: memory times passes, in KiB.
    pub import_work_kib: u64,
    /// The most memory of an imported hash, in KiB.
    pub import_memory_kib: u64,
    /// The work after whose time every attempt is answered at least, in the same unit.
    pub answer_work_kib: u64,
}

/// The most work of an imported hash where the setting says nothing: about a second. What other systems make by their
/// defaults takes less.
const DEFAULT_IMPORT_WORK_KIB: u64 = 1536 * 1024;
/// The most memory of an imported hash where the setting says nothing. Each thread that hashes may need as much.
const DEFAULT_IMPORT_MEMORY_KIB: u64 = 256 * 1024;

/// Whether a network is implausibly large for one's own proxies: more than a /8 of IPv4 or a /32 of IPv6.
fn wide(value: &Value) -> bool {
    let Value::Networks(networks) = value else { return false };
    networks.iter().any(|network| match network {
        IpNet::V4(network) => network.prefix_len() < 8,
        // fc00::/7 is the range of unique local addresses (RFC 4193), the private range of IPv6.
        IpNet::V6(network) => network.prefix_len() < 32 && !network.addr().is_unique_local(),
    })
}

pub(crate) fn build(reader: &mut Reader, mode: Mode, issuer: &IssuerUrl) -> Security {
    Security {
        admin_secret: admin_secret(reader, mode),
        master_key: master_key(reader),
        test_endpoints: reader.switch("test_endpoints"),
        trusted_proxies: reader.networks("trusted_proxies"),
        mutual_tls: mutual_tls::build(reader),
        session_cookie: session_cookie(reader, issuer),
        hsts: reader.duration("hsts"),
        breached_passwords: reader.optional_path("breached_passwords_file"),
        places: reader.optional_path("places_file"),
        argon2: argon2(reader),
    }
}

fn admin_secret(reader: &mut Reader, mode: Mode) -> Option<SecretString> {
    const MEND: &str =
        "set `admin_secret` or `admin_secret_file` to a random secret (head -c 32 /dev/urandom | base64)";
    let errors = reader.errors.len();
    let secret = reader.secret("admin_secret", "admin_secret_file");
    let reported =
        reader.errors.len() > errors || reader.failed("admin_secret") || reader.failed("admin_secret_file");
    let Some(secret) = secret else {
        if mode == Mode::Production && !reported {
            reader.refuse("admin_secret", "is required outside development mode", MEND);
        }
        return None;
    };
    let text = secret.expose();
    if text.is_empty() {
        reader.refuse("admin_secret_file", "is an empty file", MEND);
    } else if !is_presentable(text) {
        let path = reader.secret_from("admin_secret", "admin_secret_file");
        let mend = "give one line of visible ASCII characters, without blanks at its ends (head -c 32 /dev/urandom \
                    | base64)";
        reader.refuse(path, "holds what no Authorization header can present", mend);
    } else if let Some(fault) = invented(text).filter(|_| mode == Mode::Production) {
        let path = reader.secret_from("admin_secret", "admin_secret_file");
        reader.refuse(path, fault, MEND);
    }
    Some(secret)
}

/// Signs that a person invented a secret. Only its entropy protects the admin API: the limit of wrong secrets is per
/// address, and an attacker may have many addresses.
fn invented(secret: &str) -> Option<&'static str> {
    let different = secret.bytes().collect::<std::collections::HashSet<_>>().len();
    if secret.len() < ADMIN_SECRET_CHARS {
        Some("holds fewer than 22 characters")
    } else if different < ADMIN_SECRET_DIFFERENT {
        Some("holds fewer than 8 different characters")
    } else if secret.contains(' ') {
        Some("is a phrase of words")
    } else {
        None
    }
}

/// Whether a header can carry the secret unchanged (RFC 9110 5.5): spaces at its ends would be trimmed.
fn is_presentable(secret: &str) -> bool {
    secret.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ') && secret.trim() == secret
}

fn master_key(reader: &mut Reader) -> Option<MasterKey> {
    let errors = reader.errors.len();
    let secret = reader.secret("master_key", "master_key_file");
    let reported =
        reader.errors.len() > errors || reader.failed("master_key") || reader.failed("master_key_file");
    let Some(secret) = secret else {
        if cluster::is_chosen(reader) && !reported {
            let mend = "set `master_key` or `master_key_file` to the same key on every node (head -c 32 /dev/urandom | \
                        base64)";
            reader.refuse("master_key", "is required on the cluster store", mend);
        }
        return None;
    };
    match MasterKey::parse(&secret) {
        Ok(key) => Some(key),
        Err(_) => {
            let path = reader.secret_from("master_key", "master_key_file");
            let mend =
                "give 32 random bytes as base64 or 64 hexadecimal digits (head -c 32 /dev/urandom | base64)";
            reader.refuse(path, "is not a 256-bit key", mend);
            None
        }
    }
}

/// The name of the session cookie of the issuer `default`. For an issuer with a path it cannot be configured, because
/// it must contain the issuer's id to be unique on the host.
fn session_cookie(reader: &mut Reader, issuer: &IssuerUrl) -> String {
    let default = IssuerId::default_issuer();
    let usual = Issuer::cookie_name(&default, Issuer::SESSION_COOKIE, issuer.is_https(), issuer.has_path());
    let given = reader.optional_text("session_cookie");
    if let Some(name) = given.as_deref().filter(|_| issuer.has_path()) {
        let text = format!("{name:?} has no effect, as the issuer has a path: the cookie is {usual:?}.");
        reader.warn("session_cookie", text);
    }
    let Some(name) = given.filter(|_| !issuer.has_path()) else {
        reader.settings.fill("session_cookie", Value::Text(usual.clone()));
        return usual;
    };
    check_cookie(reader, &name, issuer, &usual);
    name
}

/// RFC 6265bis section 4.1.3: browsers drop `__Host-` and `__Secure-` cookies that are not Secure, and a Secure
/// cookie cannot be set over http.
fn check_cookie(reader: &mut Reader, name: &str, issuer: &IssuerUrl, usual: &str) {
    let lower = name.to_ascii_lowercase();
    let prefixed = lower.starts_with("__host-") || lower.starts_with("__secure-");
    let bare = lower.trim_start_matches("__host-").trim_start_matches("__secure-");
    if bare.starts_with("symbolon_login") {
        let mend = format!("write {usual:?}, or another name");
        reader.refuse("session_cookie", "is a name of the cookie that a sign-in has", mend);
    }
    if prefixed && !issuer.is_https() && !reader.failed("issuer") {
        let mend = format!("write {usual:?}, or make the issuer https");
        reader.refuse("session_cookie", "needs an https issuer", mend);
    }
    if !lower.starts_with("__host-") && issuer.is_https() {
        reader.warn(
            "session_cookie",
            "Without the prefix `__Host-` a neighbouring subdomain can plant this cookie.",
        );
    }
}

fn argon2(reader: &mut Reader) -> Argon2 {
    let memory_kib = u32::try_from(reader.size("argon2.memory") / 1024).unwrap_or(u32::MAX);
    let (passes, lanes): (u32, u32) =
        (reader.small_count("argon2.iterations"), reader.small_count("argon2.parallelism"));
    // RFC 9106 section 3.1: at least 8 KiB per lane.
    let policy = PasswordPolicy::new(memory_kib, passes, lanes).unwrap_or_else(|_| {
        // If one of the values is invalid by itself, their combination is not checked.
        if ["argon2.memory", "argon2.iterations", "argon2.parallelism"].iter().any(|key| reader.failed(key)) {
            return PasswordPolicy::default();
        }
        let mend = format!("give {}KiB or more, or fewer lanes", 8 * lanes);
        reader.refuse("argon2.memory", "is too little for argon2.parallelism", mend);
        PasswordPolicy::default()
    });
    // The equally strong minimum settings of the OWASP password storage cheat sheet: memory in MiB, and passes.
    let enough = [(46, 1), (19, 2), (12, 3), (9, 4), (7, 5)];
    if !enough.iter().any(|(mib, least)| memory_kib >= mib * 1024 && passes >= *least) {
        reader.warn(
            "argon2.memory",
            "Password hashes of so little memory and so few passes are cheap to guess.",
        );
    }
    let own = policy.work_kib();
    let set = reader.optional_size("argon2.import_work").map(|bytes| (bytes / 1024).max(own));
    // Six times one's own: what could be imported before the setting had another default, and may still be stored.
    let answer_work_kib = set.unwrap_or(6 * own);
    Argon2 {
        policy,
        import_work_kib: set.unwrap_or(DEFAULT_IMPORT_WORK_KIB.max(answer_work_kib)),
        import_memory_kib: set.unwrap_or(DEFAULT_IMPORT_MEMORY_KIB.max(memory_kib.into())),
        answer_work_kib,
        threads: reader.optional_count("argon2.threads").and_then(|n| usize::try_from(n).ok()),
        queue: reader.small_count("argon2.queue"),
    }
}
