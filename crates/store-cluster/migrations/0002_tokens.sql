-- Single facts about the whole store, by name.
CREATE TABLE IF NOT EXISTS meta (
    name TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);

-- Refresh-token families. The key is a digest over issuer and name; times are milliseconds since 1970. There is no index
-- on ends_at: with one, no rotation could stay on its page.
CREATE TABLE families (
    key BYTEA NOT NULL PRIMARY KEY,
    revision BIGINT NOT NULL,
    ends_at BIGINT NOT NULL,
    document TEXT NOT NULL
) PARTITION BY HASH (key);
--partitions families 8 WITH (fillfactor = 70)

-- What Redis must not have forgotten: the name of a hash tag (* for every constant slot), what follows the tag in the
-- key, the millisecond up to which it ends what was born, and until when it is needed.
CREATE TABLE tombstones (
    tag TEXT NOT NULL,
    id TEXT NOT NULL,
    value BIGINT NOT NULL,
    until BIGINT NOT NULL,
    PRIMARY KEY (tag, id)
) PARTITION BY HASH (tag);
--partitions tombstones 16
CREATE INDEX tombstones_until ON tombstones (until);

-- Client assertions that were used. The key is a digest over issuer, client and jti.
CREATE TABLE assertion_marks (
    key BYTEA NOT NULL PRIMARY KEY,
    until BIGINT NOT NULL
) PARTITION BY HASH (key);
--partitions assertion_marks 16
CREATE INDEX assertion_marks_until ON assertion_marks (until);
