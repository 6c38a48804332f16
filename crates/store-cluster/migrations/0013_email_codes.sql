-- What became of codes sent by e-mail. The key is a digest over issuer and the code's id; tries are five once it was used.
CREATE TABLE email_codes (
    key BYTEA NOT NULL PRIMARY KEY,
    until BIGINT NOT NULL,
    tries SMALLINT NOT NULL,
    recipient BYTEA
) PARTITION BY HASH (key);
--partitions email_codes 16 WITH (fillfactor = 70)
CREATE INDEX email_codes_until ON email_codes (until);
