-- Whose the values of unique attributes are. `key` is the value as it is looked up. Only attributes that are unique by the
-- issuer's settings have rows.

CREATE TABLE user_attribute (
    issuer  TEXT NOT NULL,
    name    TEXT NOT NULL,
    key     TEXT NOT NULL,
    user_id TEXT NOT NULL,
    PRIMARY KEY (issuer, name, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX user_attribute_by_user ON user_attribute (issuer, user_id);
