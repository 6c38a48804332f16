//! PostgreSQL: whether it can be reached, is a server that may be written to, and keeps what was committed.

mod judge;
mod server;

use std::time::Duration;

use tokio::time::timeout;

use super::clock::{self, Reading};
use super::{Finding, causes, latency};
use crate::ClusterOptions;
use judge::{Privileges, Settings};
use server::Server;

/// What a statement and a commit should take at most.
const LATENCY: Duration = Duration::from_millis(20);

/// Writes to the write-ahead log only, and is as durable on return as any commit.
const COMMIT: &str = "SELECT pg_logical_emit_message(true, 'symbolon', 'check')";

/// Checks PostgreSQL.
pub(super) async fn check(options: &ClusterOptions) -> Vec<Finding> {
    let mut findings = Vec::new();
    let asked = match Server::connect(&options.postgres).await {
        Ok(server) => {
            // Limited in total: a server that answers each query just in time must not delay the start.
            let limit = options.postgres.timeout * 3;
            let asked = timeout(limit, ask(options, &server, &mut findings)).await;
            asked.unwrap_or_else(|_| Err(server.late(limit)))
        }
        Err(finding) => Err(finding),
    };
    findings.extend(asked.err());
    findings
}

/// Asks one query after the other, and stops at the first one that is not answered.
async fn ask(options: &ClusterOptions, server: &Server, findings: &mut Vec<Finding>) -> Result<(), Finding> {
    let version = server.version().await?;
    let mut writable = true;
    let relative = judge::relative(&version);
    if let Some(relative) = relative {
        findings.push(judge::untested(&server.name, relative));
    } else {
        let settings = Settings::ask(server).await?;
        writable = settings.is_writable();
        findings.extend(settings.judge(server, options.postgres.connections));
    }
    findings.push(clock::compare(options, &server.name, reading(options, server).await?));
    findings.push(latency(&format!("{}: SELECT 1", server.name), server.fastest("SELECT 1").await?, LATENCY));
    if writable {
        findings.extend(Privileges::ask(server).await?.judge(server));
    }
    if writable && relative.is_none() {
        findings.push(commit(server).await);
    }
    Ok(())
}

async fn reading(options: &ClusterOptions, server: &Server) -> Result<Reading, Finding> {
    let clock = "SELECT CAST(CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT) AS TEXT)";
    let asked = (options.now)();
    let [told] = server.row(clock).await?;
    Ok(Reading { asked, told: told.parse().unwrap_or(0), answered: (options.now)() })
}

async fn commit(server: &Server) -> Finding {
    match server.fastest(COMMIT).await {
        Ok(took) => latency(&format!("{}: a commit", server.name), took, LATENCY),
        Err(finding) => Finding::failing(
            format!("{}: a commit is not confirmed: {}", server.name, finding.what),
            "look at the disk of the server, and for the standbys that synchronous_standby_names waits for: bring \
             them back, or name others (`ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (…)'`)",
        ),
    }
}
