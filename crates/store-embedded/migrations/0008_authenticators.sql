-- What users have enrolled to prove who they are, besides the password. Not in the users' own records, which are cached.
CREATE TABLE authenticators (
    issuer   TEXT NOT NULL,
    user     TEXT NOT NULL,
    revision INTEGER NOT NULL,
    document TEXT NOT NULL,
    PRIMARY KEY (issuer, user)
) STRICT, WITHOUT ROWID;
