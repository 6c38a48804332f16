-- Of several users with one name the oldest signs in, and the groups below a group are listed by their age: both are read from
-- the index in this order.
DROP INDEX users_by_username;
CREATE INDEX users_by_username ON users (issuer, username_lower, created_at) WHERE username_lower IS NOT NULL;
DROP INDEX user_groups_by_parent;
CREATE INDEX user_groups_by_parent ON user_groups (issuer, parent, created_at);
