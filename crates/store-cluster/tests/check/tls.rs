//! TLS to both engines.

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{env, fs};

use rcgen::{CertificateParams, KeyPair};
use symbolon_store_cluster::Level;
use symbolon_store_cluster::engines::{
    PostgresServer, PostgresServerOptions, RedisServer, RedisServerOptions, shared, until,
};

use super::{assert_no_worse_than_warned, deserted, found, options, the};

/// Where [`trusts_the_authority_that_it_is_told`] finds the servers.
const POSTGRES: &str = "SYMBOLON_TEST_CHECK_POSTGRES";
const REDIS: &str = "SYMBOLON_TEST_CHECK_REDIS";

/// Makes the certificate that `localhost` issues for itself, and its key, readable for the owner of `like`.
fn certificate(directory: &Path, like: &Path) -> (PathBuf, PathBuf) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let (of_certificate, of_key) = (directory.join("server.pem"), directory.join("server.key"));
    fs::write(&of_certificate, certificate.pem()).unwrap();
    fs::write(&of_key, key.serialize_pem()).unwrap();
    fs::set_permissions(&of_key, fs::Permissions::from_mode(0o600)).unwrap();
    let owner = fs::metadata(like).unwrap();
    for file in [&of_certificate, &of_key] {
        chown(file, Some(owner.uid()), Some(owner.gid())).unwrap();
    }
    (of_certificate, of_key)
}

/// A PostgreSQL that offers TLS; its URL by name, and the certificate.
fn postgres() -> (PostgresServer, String, PathBuf) {
    let server = PostgresServer::start(PostgresServerOptions::default());
    let (certificate, key) = certificate(server.directory(), &server.directory().join("data"));
    let files = [("ssl_cert_file", certificate.to_str().unwrap()), ("ssl_key_file", key.to_str().unwrap())];
    for (name, value) in files.into_iter().chain([("ssl", "on")]) {
        server.psql("postgres", &format!("ALTER SYSTEM SET {name} = '{value}'"));
    }
    server.restart();
    let url = format!("{}?sslmode=require", server.url("postgres").replace("127.0.0.1", "localhost"));
    (server, url, certificate)
}

/// A Redis that offers TLS; its URL by name, and the certificate.
fn redis() -> (RedisServer, String, PathBuf) {
    let server = RedisServer::start(RedisServerOptions::default());
    let (certificate, key) = certificate(server.directory(), server.directory());
    let (of_certificate, of_key) = (certificate.to_str().unwrap(), key.to_str().unwrap());
    let files = ["tls-cert-file", of_certificate, "tls-key-file", of_key, "tls-auth-clients", "no"];
    // Somebody may take the port before Redis does.
    let port = until("a port for TLS", || {
        let port = deserted();
        let own = port.to_string();
        server.try_cli(&[&["CONFIG", "SET", "tls-port", &own], &files[..]].concat()).ok().map(|_| port)
    });
    (server, format!("rediss://localhost:{port}"), certificate)
}

#[tokio::test]
async fn tls_that_is_not_offered_is_refused() {
    let url = format!("{}?sslmode=require", shared().postgres.url("postgres"));
    let redis = format!("rediss://127.0.0.1:{}", shared().redis.nodes()[0].port);
    let mut options = options(&url, &redis);
    // A server without TLS may wait for the end of the line that it takes the handshake for.
    options.redis.timeout = Duration::from_secs(10);
    let finding = found(&options, "PostgreSQL").await;
    let finding = the(&finding, Level::Refused, &["PostgreSQL at 127.0.0.1:", "does not offer TLS"]);
    assert!(finding.mend.contains("ALTER SYSTEM SET ssl = on"), "{finding}");
    let finding = found(&options, "Redis").await;
    let finding = the(&finding, Level::Refused, &["Redis at 127.0.0.1:", "does not offer TLS"]);
    assert!(finding.mend.contains("tls-port"), "{finding}");
}

#[tokio::test]
async fn a_certificate_is_trusted_by_its_authority_only() {
    let ((_postgres, of_postgres, first), (_redis, of_redis, second)) = (postgres(), redis());
    let options = options(&of_postgres, &of_redis);
    for engine in ["PostgreSQL", "Redis"] {
        let findings = found(&options, engine).await;
        let what = format!("{engine} at localhost:");
        let finding = the(&findings, Level::Refused, &[&what, "certificate is not trusted", "UnknownIssuer"]);
        assert!(finding.mend.contains("SSL_CERT_FILE"), "{finding}");
    }

    // The mend, in a process of its own: it is the environment's.
    let place = tempfile::tempdir().unwrap();
    let authorities = place.path().join("authorities.pem");
    fs::write(&authorities, [fs::read(first).unwrap(), fs::read(second).unwrap()].concat()).unwrap();
    let told = Command::new(env::current_exe().unwrap())
        .args(["--exact", "tls::trusts_the_authority_that_it_is_told", "--ignored"])
        .env("SSL_CERT_FILE", authorities)
        .envs([(POSTGRES, of_postgres), (REDIS, of_redis)])
        .output()
        .unwrap();
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stdout));
    assert!(String::from_utf8_lossy(&told.stdout).contains("1 passed"));
}

#[tokio::test]
#[ignore = "the process that a_certificate_is_trusted_by_its_authority_only starts"]
async fn trusts_the_authority_that_it_is_told() {
    let (Ok(postgres), Ok(redis)) = (env::var(POSTGRES), env::var(REDIS)) else { return };
    let findings = symbolon_store_cluster::check(&options(&postgres, &redis)).await;
    assert_no_worse_than_warned(&findings);
    the(&findings, Level::Fine, &["PostgreSQL at localhost:", "version"]);
    the(&findings, Level::Fine, &["Redis at localhost:", "Redis 7."]);
}
