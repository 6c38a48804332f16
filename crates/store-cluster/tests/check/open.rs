//! Opening a store.

use symbolon_store_cluster::engines::{RedisCluster, RedisServerOptions, shared};
use symbolon_store_cluster::{ClusterError, ClusterStore, Level};

use super::options;

#[tokio::test]
async fn a_store_is_not_opened_on_a_wrong_setting_and_nothing_is_made() {
    let (cluster, postgres) = (RedisCluster::start(RedisServerOptions::default()), &shared().postgres);
    postgres.create_database("check_open");
    let options = || options(&postgres.url("check_open"), &cluster.urls());
    cluster.cli(1, &["CONFIG", "SET", "maxmemory-policy", "allkeys-lfu"]);
    let refused = ClusterStore::open(options()).await.err().unwrap();
    let text = refused.to_string();
    let ClusterError::Refused(findings) = refused else { panic!("{text}") };
    assert!(findings.iter().all(|finding| finding.level == Level::Refused));
    assert_eq!(findings.len(), 1, "{text}");
    assert!(text.contains("maxmemory-policy = allkeys-lfu"), "{text}");
    assert!(text.contains("CONFIG SET maxmemory-policy noeviction"), "{text}");
    let tables = "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'";
    assert_eq!(postgres.psql("check_open", tables), "0");

    // What may come back by itself keeps nobody from starting.
    cluster.cli(1, &["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
    cluster.kill(4);
    let store = ClusterStore::open(options()).await;
    assert!(store.is_ok(), "{}", store.err().unwrap());
}
