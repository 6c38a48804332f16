//! A PostgreSQL and a Redis Cluster to try things out with, until the input ends. Prints where they are, as variables of
//! a shell: `cargo run -p symbolon-store-cluster --features engines --example engines`.

use std::io::{Read, Write};

use symbolon_store_cluster::engines;

fn main() -> std::io::Result<()> {
    let engines = engines::shared();
    let mut out = std::io::stdout();
    writeln!(out, "export SYMBOLON_POSTGRES_URL='{}'", engines.postgres.url("postgres"))?;
    writeln!(out, "export SYMBOLON_REDIS_URLS='{}'", engines.redis.urls())?;
    out.flush()?;
    std::io::stdin().read_to_end(&mut Vec::new()).map(drop)
}
