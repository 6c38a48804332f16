-- Groups, roles, and who has them. The normal form of a name is `name_key`. A group without a parent has the empty text as
-- `parent`, a role of the issuer itself as `client_id`: no id is empty.

CREATE TABLE user_groups (
    issuer     TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    name_key   TEXT    NOT NULL,
    parent     TEXT    NOT NULL,
    -- 1 while its members are being deleted, before itself: no group comes below it any more.
    ending     INTEGER NOT NULL DEFAULT 0,
    search     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    document   TEXT    NOT NULL,
    UNIQUE (issuer, id),
    UNIQUE (issuer, name_key)
) STRICT;
CREATE INDEX user_groups_by_parent ON user_groups (issuer, parent);
CREATE INDEX user_groups_by_age ON user_groups (issuer, created_at);

CREATE TABLE roles (
    issuer     TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    client_id  TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    name_key   TEXT    NOT NULL,
    search     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    document   TEXT    NOT NULL,
    UNIQUE (issuer, id),
    UNIQUE (issuer, client_id, name_key)
) STRICT;
CREATE INDEX roles_by_age ON roles (issuer, created_at);

CREATE TABLE memberships (
    issuer   TEXT NOT NULL,
    user_id  TEXT NOT NULL,
    group_id TEXT NOT NULL,
    PRIMARY KEY (issuer, user_id, group_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX memberships_by_group ON memberships (issuer, group_id, user_id);

CREATE TABLE user_roles (
    issuer  TEXT NOT NULL,
    user_id TEXT NOT NULL,
    role_id TEXT NOT NULL,
    PRIMARY KEY (issuer, user_id, role_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX user_roles_by_role ON user_roles (issuer, role_id, user_id);

CREATE TABLE group_roles (
    issuer   TEXT NOT NULL,
    group_id TEXT NOT NULL,
    role_id  TEXT NOT NULL,
    PRIMARY KEY (issuer, group_id, role_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX group_roles_by_role ON group_roles (issuer, role_id, group_id);

-- How many groups and roles each issuer has: counting them for every one that is created would read them all.
CREATE TABLE entitlement_counts (
    issuer      TEXT    NOT NULL PRIMARY KEY,
    group_count INTEGER NOT NULL,
    role_count  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
