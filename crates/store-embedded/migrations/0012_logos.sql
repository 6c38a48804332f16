-- The logos of issuers, whose client is empty, and of their clients.
CREATE TABLE logos (
    issuer     TEXT NOT NULL,
    client     TEXT NOT NULL,
    media_type TEXT NOT NULL,
    content    BLOB NOT NULL,
    PRIMARY KEY (issuer, client)
) STRICT;
