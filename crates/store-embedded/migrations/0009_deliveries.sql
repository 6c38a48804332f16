-- What has to reach somebody else: mails, logout tokens. While somebody has claimed a delivery, `due_at` is the end of the
-- claim.
CREATE TABLE deliveries (
    sequence   INTEGER PRIMARY KEY,
    issuer     TEXT NOT NULL,
    id         TEXT NOT NULL,
    kind       TEXT NOT NULL,
    payload    TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    due_at     INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    attempts   INTEGER NOT NULL,
    unanswered INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX deliveries_by_id ON deliveries (issuer, id);
CREATE INDEX deliveries_by_issuer ON deliveries (issuer, due_at, expires_at);
CREATE INDEX deliveries_by_due ON deliveries (due_at, expires_at);
CREATE INDEX deliveries_by_end ON deliveries (expires_at);

-- How many wait: counting them for each one that comes would read all of a full queue.
CREATE TABLE delivery_counts (
    issuer  TEXT NOT NULL,
    kind    TEXT NOT NULL,
    waiting INTEGER NOT NULL,
    PRIMARY KEY (issuer, kind)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER delivery_comes AFTER INSERT ON deliveries BEGIN
    INSERT INTO delivery_counts (issuer, kind, waiting) VALUES (NEW.issuer, NEW.kind, 1)
        ON CONFLICT (issuer, kind) DO UPDATE SET waiting = waiting + 1;
END;
CREATE TRIGGER delivery_goes AFTER DELETE ON deliveries BEGIN
    UPDATE delivery_counts SET waiting = waiting - 1 WHERE issuer = OLD.issuer AND kind = OLD.kind;
END;
