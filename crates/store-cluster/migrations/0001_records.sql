-- What lasts. Records are JSON documents; columns beside them are what is looked up, compared or kept unique. Every key
-- starts with the issuer. Times are milliseconds since 1970-01-01T00:00:00Z. Ids are in the order of their bytes.

CREATE TABLE issuers (
    id            TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    url           TEXT   NOT NULL,
    -- Sealed under the master key.
    sealed_secret BYTEA  NOT NULL,
    created_at    BIGINT NOT NULL,
    settings      TEXT   NOT NULL
);

-- The document holds no key material: the private half is in `sealed`, under the master key.
CREATE TABLE signing_keys (
    issuer   TEXT COLLATE "C" NOT NULL,
    kid      TEXT COLLATE "C" NOT NULL,
    place    BIGINT NOT NULL,
    document TEXT   NOT NULL,
    sealed   BYTEA  NOT NULL,
    PRIMARY KEY (issuer, kid)
);

CREATE TABLE clients (
    issuer     TEXT COLLATE "C" NOT NULL,
    id         TEXT COLLATE "C" NOT NULL,
    search     TEXT      NOT NULL,
    created_at BIGINT    NOT NULL,
    updated_at BIGINT    NOT NULL,
    -- Records of one millisecond are listed in the order in which they came.
    sequence   BIGSERIAL NOT NULL,
    document   TEXT      NOT NULL,
    PRIMARY KEY (issuer, id)
);
CREATE INDEX clients_by_age ON clients (issuer, created_at, sequence);

CREATE TABLE users (
    issuer         TEXT COLLATE "C" NOT NULL,
    id             TEXT COLLATE "C" NOT NULL,
    email_lower    TEXT COLLATE "C",
    username_lower TEXT COLLATE "C",
    verified       BOOLEAN   NOT NULL,
    search         TEXT      NOT NULL,
    created_at     BIGINT    NOT NULL,
    updated_at     BIGINT    NOT NULL,
    sequence       BIGSERIAL NOT NULL,
    password       TEXT,
    document       TEXT      NOT NULL,
    PRIMARY KEY (issuer, id)
) PARTITION BY HASH (issuer, id);
--partitions users 16
CREATE INDEX users_by_username ON users (issuer, username_lower, created_at, sequence)
    WHERE username_lower IS NOT NULL;
CREATE INDEX users_by_age ON users (issuer, created_at, sequence);

-- Whose an e-mail address is: over the partitions of users, no index could keep it unique.
CREATE TABLE emails (
    issuer      TEXT COLLATE "C" NOT NULL,
    email_lower TEXT COLLATE "C" NOT NULL,
    user_id     TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (issuer, email_lower)
) PARTITION BY HASH (issuer, email_lower);
--partitions emails 16

CREATE TABLE consents (
    issuer    TEXT COLLATE "C" NOT NULL,
    user_id   TEXT COLLATE "C" NOT NULL,
    client_id TEXT COLLATE "C" NOT NULL,
    document  TEXT NOT NULL,
    PRIMARY KEY (issuer, user_id, client_id)
) PARTITION BY HASH (issuer, user_id);
--partitions consents 16
CREATE INDEX consents_by_client ON consents (issuer, client_id, user_id);

CREATE TABLE audit (
    issuer    TEXT COLLATE "C" NOT NULL,
    at        BIGINT    NOT NULL,
    sequence  BIGSERIAL NOT NULL,
    event     TEXT      NOT NULL,
    user_id   TEXT COLLATE "C",
    client_id TEXT COLLATE "C",
    -- What it takes with its places in the indexes, in bytes.
    size      BIGINT    NOT NULL,
    document  TEXT      NOT NULL,
    PRIMARY KEY (issuer, at, sequence)
);
CREATE INDEX audit_by_user ON audit (issuer, user_id, at) WHERE user_id IS NOT NULL;

-- The sizes of an issuer's records, summed up by whoever writes or deletes them. Its row is locked while they are
-- deleted.
CREATE TABLE audit_sizes (
    issuer TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    bytes  BIGINT NOT NULL
);
