-- What has to reach somebody else: mails, logout tokens. While somebody has claimed a delivery, `due_at` is the end of the
-- claim.
CREATE TABLE deliveries (
    issuer     TEXT COLLATE "C" NOT NULL,
    id         TEXT COLLATE "C" NOT NULL,
    kind       TEXT NOT NULL,
    payload    TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    due_at     BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    attempts   BIGINT NOT NULL,
    unanswered BIGINT NOT NULL,
    PRIMARY KEY (issuer, id)
);
CREATE INDEX deliveries_by_issuer ON deliveries (issuer, due_at, id);
CREATE INDEX deliveries_by_end ON deliveries (expires_at);
