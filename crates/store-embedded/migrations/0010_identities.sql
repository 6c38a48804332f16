-- Who users are to other providers.
CREATE TABLE identities (
    issuer    TEXT NOT NULL,
    provider  TEXT NOT NULL,
    subject   TEXT NOT NULL,
    user      TEXT NOT NULL,
    label     TEXT,
    linked_at INTEGER NOT NULL,
    PRIMARY KEY (issuer, provider, subject)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX identities_of_user ON identities (issuer, user, provider);
