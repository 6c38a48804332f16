-- Invitations, until their time is over.
CREATE TABLE invitations (
    issuer     TEXT COLLATE "C" NOT NULL,
    id         TEXT COLLATE "C" NOT NULL,
    search     TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at    BIGINT,
    document   TEXT NOT NULL,
    PRIMARY KEY (issuer, id)
);
CREATE INDEX invitations_by_age ON invitations (issuer, created_at, id);
CREATE INDEX invitations_by_end ON invitations (expires_at);
