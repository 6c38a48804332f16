-- Groups, roles, and who has them. The normal form of a name is `name_key`. A group without a parent has the empty text as
-- `parent`, a role of the issuer itself as `client_id`: no id is empty.

CREATE TABLE user_groups (
    issuer     TEXT COLLATE "C" NOT NULL,
    id         TEXT COLLATE "C" NOT NULL,
    name       TEXT COLLATE "C" NOT NULL,
    name_key   TEXT COLLATE "C" NOT NULL,
    parent     TEXT COLLATE "C" NOT NULL,
    -- While its members are being deleted, before itself: no group comes below it any more.
    ending     BOOLEAN   NOT NULL DEFAULT FALSE,
    search     TEXT      NOT NULL,
    created_at BIGINT    NOT NULL,
    updated_at BIGINT    NOT NULL,
    sequence   BIGSERIAL NOT NULL,
    document   TEXT      NOT NULL,
    PRIMARY KEY (issuer, id)
);
CREATE UNIQUE INDEX user_groups_by_name ON user_groups (issuer, name_key);
CREATE INDEX user_groups_by_parent ON user_groups (issuer, parent);
CREATE INDEX user_groups_by_age ON user_groups (issuer, created_at, sequence);

CREATE TABLE roles (
    issuer     TEXT COLLATE "C" NOT NULL,
    id         TEXT COLLATE "C" NOT NULL,
    client_id  TEXT COLLATE "C" NOT NULL,
    name       TEXT COLLATE "C" NOT NULL,
    name_key   TEXT COLLATE "C" NOT NULL,
    search     TEXT      NOT NULL,
    created_at BIGINT    NOT NULL,
    updated_at BIGINT    NOT NULL,
    sequence   BIGSERIAL NOT NULL,
    document   TEXT      NOT NULL,
    PRIMARY KEY (issuer, id)
);
CREATE UNIQUE INDEX roles_by_name ON roles (issuer, client_id, name_key);
CREATE INDEX roles_by_age ON roles (issuer, created_at, sequence);

CREATE TABLE memberships (
    issuer   TEXT COLLATE "C" NOT NULL,
    user_id  TEXT COLLATE "C" NOT NULL,
    group_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (issuer, user_id, group_id)
) PARTITION BY HASH (issuer, user_id);
--partitions memberships 16
CREATE INDEX memberships_by_group ON memberships (issuer, group_id, user_id);

CREATE TABLE user_roles (
    issuer  TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    role_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (issuer, user_id, role_id)
) PARTITION BY HASH (issuer, user_id);
--partitions user_roles 16
CREATE INDEX user_roles_by_role ON user_roles (issuer, role_id, user_id);

CREATE TABLE group_roles (
    issuer   TEXT COLLATE "C" NOT NULL,
    group_id TEXT COLLATE "C" NOT NULL,
    role_id  TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (issuer, group_id, role_id)
);
CREATE INDEX group_roles_by_role ON group_roles (issuer, role_id, group_id);

-- How many groups and roles each issuer has. Whoever creates, changes or deletes one of them locks the issuer's row, so
-- that what was checked about the others stays true until the commit.
CREATE TABLE entitlement_counts (
    issuer      TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    group_count BIGINT NOT NULL,
    role_count  BIGINT NOT NULL
);
