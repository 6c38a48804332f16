-- What users have enrolled to prove who they are, besides the password. Not in the users' own records, which are cached.
CREATE TABLE authenticators (
    issuer   TEXT COLLATE "C" NOT NULL,
    user_id  TEXT COLLATE "C" NOT NULL,
    revision BIGINT NOT NULL,
    document TEXT NOT NULL,
    PRIMARY KEY (issuer, user_id)
) PARTITION BY HASH (issuer, user_id);
--partitions authenticators 16
