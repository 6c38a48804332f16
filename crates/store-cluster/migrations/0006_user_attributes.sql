-- Whose the values of unique attributes are. `key` is the value as it is looked up. Only attributes that are unique by the
-- issuer's settings have rows. Whoever writes a user with attributes locks the issuer's row against a change of the
-- settings first.

CREATE TABLE user_attribute (
    issuer  TEXT COLLATE "C" NOT NULL,
    name    TEXT COLLATE "C" NOT NULL,
    key     TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (issuer, name, key)
) PARTITION BY HASH (issuer, name, key);
--partitions user_attribute 16
CREATE INDEX user_attribute_by_user ON user_attribute (issuer, user_id);
