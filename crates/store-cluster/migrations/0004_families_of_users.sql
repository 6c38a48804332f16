-- The refresh-token families of each user. The owner is a digest over issuer and user, the key that of `families`. Rows are
-- never changed, so a rotation costs nothing here; they go when their family is gone.
CREATE TABLE families_of_users (
    owner BYTEA NOT NULL,
    key BYTEA NOT NULL,
    PRIMARY KEY (owner, key)
) PARTITION BY HASH (owner);
--partitions families_of_users 8
