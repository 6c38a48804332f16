-- The logos of issuers, whose client is empty, and of their clients.
CREATE TABLE logos (
    issuer     TEXT COLLATE "C" NOT NULL,
    client_id  TEXT COLLATE "C" NOT NULL,
    media_type TEXT NOT NULL,
    content    BYTEA NOT NULL,
    PRIMARY KEY (issuer, client_id)
);
