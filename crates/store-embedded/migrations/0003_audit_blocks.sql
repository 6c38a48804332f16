-- The audit log in blocks: what one write brings of one issuer, the documents one after another, each on a line. An
-- index of every record cost more than the record itself.

CREATE TABLE audit_blocks (
    number  INTEGER PRIMARY KEY,
    issuer  TEXT    NOT NULL,
    -- The times of its first and last record.
    oldest  INTEGER NOT NULL,
    newest  INTEGER NOT NULL,
    records INTEGER NOT NULL,
    -- What it takes, with its users.
    bytes   INTEGER NOT NULL,
    content BLOB    NOT NULL
) STRICT;
-- With all that a search has to know of a block that it need not read.
CREATE INDEX audit_blocks_by_newest ON audit_blocks (issuer, newest, oldest, records);
CREATE INDEX audit_blocks_by_oldest ON audit_blocks (issuer, oldest);

CREATE TABLE audit_users (
    issuer TEXT    NOT NULL,
    user   TEXT    NOT NULL,
    block  INTEGER NOT NULL,
    PRIMARY KEY (issuer, user, block)
) STRICT, WITHOUT ROWID;

-- What there is, a thousand records to a block.
CREATE TABLE moved AS
SELECT sequence, dense_rank() OVER (ORDER BY issuer, part) AS block
FROM (SELECT sequence, issuer, (row_number() OVER (PARTITION BY issuer ORDER BY at, sequence) - 1) / 1000 AS part
      FROM audit);

INSERT INTO audit_blocks (number, issuer, oldest, newest, records, bytes, content)
SELECT block, issuer, min(at), max(at), count(*),
       sum(octet_length(document) + length(issuer) + coalesce(length(user), 0) + 20),
       CAST(group_concat(document, char(10) ORDER BY at, sequence) || char(10) AS BLOB)
FROM audit JOIN moved USING (sequence)
GROUP BY block;

INSERT INTO audit_users (issuer, user, block)
SELECT DISTINCT issuer, user, block FROM audit JOIN moved USING (sequence) WHERE user IS NOT NULL;

DROP TABLE moved;
DROP TABLE audit;
DROP TABLE audit_counted;

DELETE FROM audit_sizes;
INSERT INTO audit_sizes SELECT issuer, sum(bytes) FROM audit_blocks GROUP BY issuer;
