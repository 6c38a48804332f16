-- Invitations, until their time is over.
CREATE TABLE invitations (
    issuer     TEXT NOT NULL,
    id         TEXT NOT NULL,
    search     TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at    INTEGER,
    document   TEXT NOT NULL,
    PRIMARY KEY (issuer, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX invitations_by_age ON invitations (issuer, created_at, id);
CREATE INDEX invitations_by_end ON invitations (expires_at);
