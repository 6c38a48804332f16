-- Who users are to other providers.
CREATE TABLE identities (
    issuer    TEXT COLLATE "C" NOT NULL,
    provider  TEXT COLLATE "C" NOT NULL,
    subject   TEXT COLLATE "C" NOT NULL,
    user_id   TEXT COLLATE "C" NOT NULL,
    label     TEXT,
    linked_at BIGINT NOT NULL,
    PRIMARY KEY (issuer, provider, subject)
);
CREATE UNIQUE INDEX identities_of_user ON identities (issuer, user_id, provider);
