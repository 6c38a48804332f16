//! A store's figures on the metrics page.

use symbolon_figures::{
    CacheSnapshot, CommitSnapshot, DatabaseSnapshot, KindSnapshot, RoomSnapshot, ShardSnapshot, StoreFigures,
    StoreKind,
};

use super::prometheus::{Exposition, MetricSource, MetricType};

impl MetricSource for StoreFigures {
    fn expose(&self, page: &mut Exposition) {
        let snapshot = self.snapshot();
        // A kind that this store keeps elsewhere, or that was never used, would only add lines of zeros.
        let used: Vec<_> = snapshot
            .kinds
            .iter()
            .filter(|kind| kind.shards.iter().any(|shard| shard.operations > 0))
            .collect();
        expose_shards(page, &used);
        expose_kinds(page, &used);
        expose_rooms(page, &snapshot.rooms);
        expose_database(page, snapshot.database);
        expose_commit(page, &snapshot.commit);
        expose_caches(page, &snapshot.caches);
    }
}

fn expose_shards(page: &mut Exposition, kinds: &[&KindSnapshot]) {
    page.family("symbolon_store_operations_total", MetricType::Counter, "Store operations.");
    for_each_shard(page, kinds, |page, labels, shard| page.count(labels, shard.operations));
    let help = "Store operations that the store failed.";
    page.family("symbolon_store_errors_total", MetricType::Counter, help);
    for_each_shard(page, kinds, |page, labels, shard| page.count(labels, shard.errors));
    let help = "Time that operations waited for their shard.";
    page.family("symbolon_store_queue_wait_seconds_sum", MetricType::Counter, help);
    for_each_shard(page, kinds, |page, labels, shard| page.seconds(labels, shard.queue_wait_ns));
    let help = "Wall time of operations, waiting included.";
    page.family("symbolon_store_wall_seconds_sum", MetricType::Counter, help);
    for_each_shard(page, kinds, |page, labels, shard| page.seconds(labels, shard.wall_ns));
}

fn for_each_shard(
    page: &mut Exposition,
    kinds: &[&KindSnapshot],
    mut sample: impl FnMut(&mut Exposition, &[(&str, &str)], &ShardSnapshot),
) {
    let mut number = itoa::Buffer::new();
    for kind in kinds {
        for shard in &kind.shards {
            let labels = [("kind", kind.kind.name()), ("shard", number.format(shard.shard))];
            sample(page, &labels, shard);
        }
    }
}

fn expose_kinds(page: &mut Exposition, kinds: &[&KindSnapshot]) {
    let help = "Distribution of the waits for a shard, all shards of a kind together.";
    page.family("symbolon_store_kind_queue_wait_seconds", MetricType::Histogram, help);
    for kind in kinds {
        page.histogram(&[("kind", kind.kind.name())], &kind.queue_wait);
    }
    let help = "Distribution of the wall times, all shards of a kind together.";
    page.family("symbolon_store_kind_wall_seconds", MetricType::Histogram, help);
    for kind in kinds {
        page.histogram(&[("kind", kind.kind.name())], &kind.wall);
    }
}

fn expose_rooms(page: &mut Exposition, rooms: &[(StoreKind, RoomSnapshot)]) {
    let bounded = || rooms.iter().filter(|(_, room)| room.most != u64::MAX);
    let help = "Bytes that records of one use take.";
    page.family("symbolon_store_room_bytes", MetricType::Gauge, help);
    bounded().for_each(|(kind, room)| page.count(&[("kind", kind.name())], room.bytes));
    let help = "Bytes that they may take.";
    page.family("symbolon_store_room_most_bytes", MetricType::Gauge, help);
    bounded().for_each(|(kind, room)| page.count(&[("kind", kind.name())], room.most));
    let help = "Records of one use that were refused because there was no room.";
    page.family("symbolon_store_room_refused_total", MetricType::Counter, help);
    rooms.iter().for_each(|(kind, room)| page.count(&[("kind", kind.name())], room.refused));
}

fn expose_database(page: &mut Exposition, database: DatabaseSnapshot) {
    page.family("symbolon_db_queries_total", MetricType::Counter, "Queries against the SQL database.");
    page.count(&[("operation", "read")], database.read_queries);
    page.count(&[("operation", "write")], database.write_queries);
    page.family("symbolon_db_rows_total", MetricType::Counter, "Rows read and written by these queries.");
    page.count(&[("operation", "read")], database.rows_read);
    page.count(&[("operation", "write")], database.rows_written);
    if let Some(bytes) = database.log_bytes {
        let help = "Size of the embedded database's write-ahead log.";
        page.family("symbolon_db_log_bytes", MetricType::Gauge, help);
        page.count(&[], bytes);
    }
}

fn expose_commit(page: &mut Exposition, commit: &CommitSnapshot) {
    let help = "Batches that the group commit made durable.";
    page.family("symbolon_commit_batches_total", MetricType::Counter, help);
    page.count(&[], commit.batches());
    page.family("symbolon_commit_operations_total", MetricType::Counter, "Operations in these batches.");
    page.count(&[], commit.operations);
    let help = "Wall time of one batch's write and fsync.";
    page.family("symbolon_commit_sync_seconds", MetricType::Histogram, help);
    page.histogram(&[], &commit.sync);
}

fn expose_caches(page: &mut Exposition, caches: &[CacheSnapshot]) {
    page.family("symbolon_cache_requests_total", MetricType::Counter, "Cache look-ups.");
    for cache in caches {
        page.count(&[("cache", cache.name), ("result", "hit")], cache.hits);
        page.count(&[("cache", cache.name), ("result", "miss")], cache.misses);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prometheus::tests::parse;

    #[test]
    fn every_figure_of_a_store_is_on_the_page() {
        let figures = StoreFigures::new();
        figures.kind(StoreKind::Session).set_shards(4);
        figures.kind(StoreKind::Session).record(3, 1_000, 5_000, false);
        figures.database().write(7);
        figures.database().set_log_bytes(4_096);
        figures.commit().batch(12, 60_000);
        figures.cache("client").hit();
        let mut page = Exposition::new();
        figures.expose(&mut page);
        let page = parse(&page.finish());

        let shard = [("kind", "session"), ("shard", "3")];
        assert_eq!(page.value("symbolon_store_operations_total", &shard), Some(1.0));
        assert_eq!(page.value("symbolon_store_errors_total", &shard), Some(1.0));
        assert_eq!(page.value("symbolon_store_queue_wait_seconds_sum", &shard), Some(0.000_001));
        assert_eq!(page.value("symbolon_store_wall_seconds_sum", &shard), Some(0.000_005));
        let idle = [("kind", "session"), ("shard", "0")];
        assert_eq!(page.value("symbolon_store_operations_total", &idle), Some(0.0));
        assert_eq!(page.value("symbolon_store_operations_total", &[("kind", "user"), ("shard", "0")]), None);
        let session = [("kind", "session")];
        assert_eq!(page.value("symbolon_store_kind_wall_seconds_count", &session), Some(1.0));
        assert_eq!(page.value("symbolon_store_kind_queue_wait_seconds_sum", &session), Some(0.000_001));
        assert_eq!(page.value("symbolon_db_queries_total", &[("operation", "write")]), Some(1.0));
        assert_eq!(page.value("symbolon_db_rows_total", &[("operation", "write")]), Some(7.0));
        assert_eq!(page.value("symbolon_db_log_bytes", &[]), Some(4_096.0));
        assert_eq!(page.value("symbolon_commit_batches_total", &[]), Some(1.0));
        assert_eq!(page.value("symbolon_commit_operations_total", &[]), Some(12.0));
        assert_eq!(page.value("symbolon_commit_sync_seconds_sum", &[]), Some(0.000_06));
        let hit = [("cache", "client"), ("result", "hit")];
        assert_eq!(page.value("symbolon_cache_requests_total", &hit), Some(1.0));
    }

    #[test]
    fn the_page_stays_small_with_many_shards() {
        let figures = StoreFigures::new();
        let kinds = &StoreKind::ALL[..6];
        for kind in kinds {
            figures.kind(*kind).set_shards(64);
            (0..64).for_each(|shard| figures.kind(*kind).record(shard, 1_234, 123_456, true));
        }
        let mut page = Exposition::new();
        figures.expose(&mut page);
        let text = page.finish();
        assert!(text.len() < 160_000, "{} bytes", text.len());
        assert_eq!(parse(&text).families(), 15);
    }
}
