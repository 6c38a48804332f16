//! PostgreSQL.

use std::fs::{self, File};
use std::sync::Arc;
use std::time::Duration;

use symbolon_store_cluster::engines::{PostgresServer, PostgresServerOptions, shared};
use symbolon_store_cluster::{ClusterOptions, Finding, Level};

use super::{assert_no_worse_than_warned, clock, deserted, found, listed, options, the};

/// A check of a database whose Redis is not looked at.
fn of_database(url: &str) -> ClusterOptions {
    options(url, &format!("redis://127.0.0.1:{}", deserted()))
}

async fn check(options: &ClusterOptions) -> Vec<Finding> {
    found(options, "PostgreSQL").await
}

/// The URL of a new database of the shared server.
fn database(name: &str) -> String {
    shared().postgres.create_database(name);
    shared().postgres.url(name)
}

/// The same URL for another user.
fn for_user(url: &str, user: &str, password: &str) -> String {
    let (_, place) = url.split_once('@').unwrap();
    format!("postgres://{user}:{password}@{place}")
}

fn started(settings: &[(&str, &str)]) -> PostgresServer {
    let settings = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    PostgresServer::start(PostgresServerOptions { settings, ..PostgresServerOptions::default() })
}

#[tokio::test]
async fn a_server_as_debian_sets_it_up_is_fine_but_for_the_missing_standby() {
    let server = started(&[]);
    let findings = check(&of_database(&server.url("postgres"))).await;
    assert_no_worse_than_warned(&findings);
    the(&findings, Level::Warning, &["PostgreSQL at 127.0.0.1:", "synchronous_standby_names is empty"]);
    for fine in ["version 1", "max_connections = 100", "the clock of this node agrees"] {
        the(&findings, Level::Fine, &[fine]);
    }
    for figure in ["SELECT 1 takes ", "a commit takes "] {
        assert!(findings.iter().any(|finding| finding.what.contains(figure)), "{}", listed(&findings));
    }
    let tables = "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'";
    assert_eq!(server.psql("postgres", tables), "0");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_refused_by_its_name() {
    let port = deserted();
    let findings = check(&of_database(&format!("postgres://u:s3cret@127.0.0.1:{port}/d"))).await;
    let finding =
        the(&findings, Level::Refused, &[&format!("PostgreSQL at 127.0.0.1:{port} cannot be reached")]);
    assert!(finding.mend.contains("SYMBOLON_POSTGRES_URL"), "{finding}");
    assert!(!listed(&findings).contains("s3cret"));
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_given_up_after_the_timeout() {
    // It accepts by its backlog, and nobody ever reads.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let mut options = of_database(&format!("postgres://u:s3cret@127.0.0.1:{port}/d"));
    options.postgres.timeout = Duration::from_millis(200);
    let findings = check(&options).await;
    the(&findings, Level::Refused, &[&format!("127.0.0.1:{port} cannot be reached")]);
}

#[tokio::test]
async fn whoever_is_not_let_in_is_told_why() {
    let url = database("check_let_in");
    let wrong = check(&of_database(&for_user(&url, "symbolon", "s3cret"))).await;
    let finding = the(&wrong, Level::Refused, &["PostgreSQL at 127.0.0.1:", "password", "28P01"]);
    assert!(finding.mend.contains("ALTER ROLE \"symbolon\""), "{finding}");
    assert!(!listed(&wrong).contains("s3cret"));

    let unknown = check(&of_database(&shared().postgres.url("check_nowhere"))).await;
    let finding = the(&unknown, Level::Refused, &["check_nowhere", "3D000"]);
    assert_eq!(finding.mend, "CREATE DATABASE \"check_nowhere\" OWNER \"symbolon\"");

    let without = url.replace(":for-tests-only@", "@");
    let missing = check(&of_database(&without)).await;
    the(&missing, Level::Refused, &["asks for the password of user symbolon"]);

    shared().postgres.psql("check_let_in", "REVOKE CONNECT ON DATABASE check_let_in FROM PUBLIC");
    shared().postgres.psql("check_let_in", "CREATE ROLE check_outside LOGIN PASSWORD 'pw'");
    let outside = check(&of_database(&for_user(&url, "check_outside", "pw"))).await;
    let finding = the(&outside, Level::Refused, &["permission denied for database", "42501"]);
    shared().postgres.psql("check_let_in", &finding.mend);
    let inside = check(&of_database(&for_user(&url, "check_outside", "pw"))).await;
    assert!(!listed(&inside).contains("42501"), "{}", listed(&inside));
}

#[tokio::test]
async fn urls_that_cannot_be_read_are_refused_without_telling_them() {
    for url in [
        "postgres://u:s3@cret@host/d",
        "postgres://u:s3@cret/x@host/d",
        "postgres://u:s3@cret:x@host/d",
        "postgres://u:s3@x?cret=x@host/d",
        "postgre://u:cret@host/d?sslmode=require",
    ] {
        let findings = check(&of_database(url)).await;
        let finding = the(&findings, Level::Refused, &["SYMBOLON_POSTGRES_URL cannot be read"]);
        assert!(finding.mend.contains("%40") && !listed(&findings).contains("cret"), "{finding}");
    }
    let full = check(&of_database("postgres://u@host/d?sslmode=verify-full")).await;
    the(&full, Level::Refused, &["SYMBOLON_POSTGRES_URL cannot be read", "sslmode"]);
    let typo = check(&of_database("postgres://u:pw@host/d?sslmod=require")).await;
    the(&typo, Level::Refused, &["SYMBOLON_POSTGRES_URL cannot be read", "unknown option `sslmod`"]);
}

#[tokio::test]
async fn who_may_not_make_tables_is_refused_until_granted() {
    let url = database("check_tables");
    shared().postgres.psql("check_tables", "CREATE ROLE check_reader LOGIN PASSWORD 'pw'");
    let options = of_database(&for_user(&url, "check_reader", "pw"));
    let words = ["check_reader may not create tables in schema public of check_tables"];
    let refused = check(&options).await;
    let mend = the(&refused, Level::Refused, &words).mend.clone();

    // Once they are there, only the next version will miss it.
    shared().postgres.psql("check_tables", "CREATE TABLE schema_steps ()");
    the(&check(&options).await, Level::Warning, &words);

    let (grant, _) = mend.split_once(", in database").unwrap();
    shared().postgres.psql("check_tables", grant);
    let granted = check(&options).await;
    assert_no_worse_than_warned(&granted);
    assert!(!listed(&granted).contains("create tables"), "{}", listed(&granted));

    shared().postgres.psql("check_tables", "ALTER ROLE check_reader SET search_path = nowhere");
    the(&check(&options).await, Level::Refused, &["check_reader has no schema to make tables in"]);
}

#[tokio::test]
async fn a_role_or_database_that_only_reads_is_refused() {
    let url = database("check_read_only");
    shared()
        .postgres
        .psql("check_read_only", "ALTER DATABASE check_read_only SET default_transaction_read_only = on");
    let findings = check(&of_database(&url)).await;
    let finding = the(&findings, Level::Refused, &["read-only for symbolon", "transaction_read_only = on"]);
    assert!(finding.mend.contains("RESET default_transaction_read_only"), "{finding}");
}

#[tokio::test]
async fn a_standby_is_refused_whichever_way_it_is_named() {
    let server = started(&[]);
    server.create_database("standby");
    server.stop();
    // With no primary to follow it waits for one, and answers what is read.
    File::create(server.directory().join("data/standby.signal")).unwrap();
    server.restart();
    let findings = check(&of_database(&server.url("standby"))).await;
    let finding = the(&findings, Level::Refused, &["is read-only: pg_is_in_recovery() is true"]);
    assert!(finding.mend.contains("target_session_attrs=read-write"), "{finding}");
    let url = format!("{}?target_session_attrs=read-write", server.url("standby"));
    the(&check(&of_database(&url)).await, Level::Refused, &["is read-only: no host"]);

    fs::remove_file(server.directory().join("data/standby.signal")).unwrap();
    server.restart();
    assert_no_worse_than_warned(&check(&of_database(&url)).await);
}

#[tokio::test]
async fn settings_that_forget_commits_are_refused() {
    let server = started(&[("fsync", "off"), ("full_page_writes", "off")]);
    let findings = check(&of_database(&server.url("postgres"))).await;
    for setting in ["fsync", "full_page_writes"] {
        let finding = the(&findings, Level::Refused, &[&format!("{setting} = off")]);
        assert_eq!(finding.mend, format!("ALTER SYSTEM SET {setting} = on; SELECT pg_reload_conf()"));
    }

    let url = database("check_forgets");
    shared().postgres.psql("check_forgets", "ALTER DATABASE check_forgets SET synchronous_commit = off");
    let findings = check(&of_database(&url)).await;
    let finding = the(&findings, Level::Refused, &["PostgreSQL at", "synchronous_commit = off"]);
    assert!(finding.mend.contains("ALTER SYSTEM SET synchronous_commit = on"), "{finding}");
    let options = of_database(&format!("{url}?options=-c%20synchronous_commit%3Don"));
    assert_no_worse_than_warned(&check(&options).await);
}

#[tokio::test]
async fn a_standby_that_is_awaited_in_vain_is_failing() {
    let server = started(&[("synchronous_standby_names", "elsewhere")]);
    let mut options = of_database(&server.url("postgres"));
    options.postgres.timeout = Duration::from_secs(10);
    let findings = check(&options).await;
    let finding = the(&findings, Level::Failing, &["a commit is not confirmed"]);
    assert!(finding.mend.contains("synchronous_standby_names"), "{finding}");
    assert!(!listed(&findings).contains("synchronous_standby_names is empty"), "{}", listed(&findings));
}

#[tokio::test]
async fn a_server_without_room_for_two_nodes_is_warned_of() {
    let server = started(&[]);
    let mut options = of_database(&server.url("postgres"));
    options.postgres.connections = 50;
    the(&check(&options).await, Level::Fine, &["max_connections = 100"]);
    options.postgres.connections = 51;
    let findings = check(&options).await;
    let finding = the(&findings, Level::Warning, &["max_connections = 100", "holds up to 51"]);
    assert!(finding.mend.contains("SYMBOLON_POSTGRES_CONNECTIONS"), "{finding}");
}

#[tokio::test]
async fn clocks_that_are_apart_are_found_out() {
    let mut options = of_database(&database("check_clock"));
    options.now = Arc::new(|| clock(100));
    let finding = check(&options).await;
    let finding = the(&finding, Level::Refused, &["s ahead of that of PostgreSQL at 127.0.0.1:"]);
    assert!(finding.mend.contains("NTP") && finding.mend.contains("--accept-clock"), "{finding}");
    options.accept_clock = true;
    the(
        &check(&options).await,
        Level::Warning,
        &["s ahead of that of PostgreSQL", "--accept-clock was given"],
    );
    options.accept_clock = false;
    options.now = Arc::new(|| clock(-9));
    the(&check(&options).await, Level::Warning, &["s behind that of PostgreSQL at"]);
}
