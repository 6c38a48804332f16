-- What lasts. Records are JSON documents; columns beside them are what is looked up, compared or kept unique.
-- Every key starts with the issuer. Times are milliseconds since 1970-01-01T00:00:00Z.

CREATE TABLE issuers (
    id         TEXT    NOT NULL PRIMARY KEY,
    url        TEXT    NOT NULL,
    -- Sealed under the master key.
    sealed_secret BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    settings   TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

-- The document holds no key material: the private half is in `sealed`, under the master key.
CREATE TABLE signing_keys (
    issuer   TEXT    NOT NULL,
    kid      TEXT    NOT NULL,
    position INTEGER NOT NULL,
    document TEXT    NOT NULL,
    sealed   BLOB    NOT NULL,
    PRIMARY KEY (issuer, kid)
) STRICT, WITHOUT ROWID;

CREATE TABLE clients (
    issuer     TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    search     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    document   TEXT    NOT NULL,
    UNIQUE (issuer, id)
) STRICT;
-- The row's number is part of every index: records of one millisecond are listed in the order they came.
CREATE INDEX clients_by_age ON clients (issuer, created_at);

CREATE TABLE users (
    issuer         TEXT    NOT NULL,
    id             TEXT    NOT NULL,
    email_lower    TEXT,
    username_lower TEXT,
    verified       INTEGER NOT NULL,
    search         TEXT    NOT NULL,
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL,
    document       TEXT    NOT NULL,
    UNIQUE (issuer, id)
) STRICT;
CREATE UNIQUE INDEX users_by_email ON users (issuer, email_lower) WHERE email_lower IS NOT NULL;
CREATE INDEX users_by_username ON users (issuer, username_lower) WHERE username_lower IS NOT NULL;
CREATE INDEX users_by_age ON users (issuer, created_at);

CREATE TABLE passwords (
    issuer TEXT NOT NULL,
    user   TEXT NOT NULL,
    hash   TEXT NOT NULL,
    PRIMARY KEY (issuer, user)
) STRICT, WITHOUT ROWID;

CREATE TABLE consents (
    issuer   TEXT NOT NULL,
    user     TEXT NOT NULL,
    client   TEXT NOT NULL,
    document TEXT NOT NULL,
    PRIMARY KEY (issuer, user, client)
) STRICT, WITHOUT ROWID;
CREATE INDEX consents_by_client ON consents (issuer, client);

CREATE TABLE audit (
    sequence INTEGER PRIMARY KEY,
    issuer   TEXT    NOT NULL,
    at       INTEGER NOT NULL,
    event    TEXT    NOT NULL,
    user     TEXT,
    client   TEXT,
    document TEXT    NOT NULL
) STRICT;
CREATE INDEX audit_by_time ON audit (issuer, at);
CREATE INDEX audit_by_user ON audit (issuer, user, at) WHERE user IS NOT NULL;
