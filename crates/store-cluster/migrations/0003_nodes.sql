-- Nodes that run, and what they must all know before anybody relies on it.

CREATE TABLE generations (
    kind        TEXT        NOT NULL,
    generation  BIGINT      NOT NULL,
    shards      BIGINT      NOT NULL,
    opened_at   BIGINT      NOT NULL,
    closed_at   BIGINT,
    -- By the database's clock.
    known_since TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (kind, generation)
);

-- A node that has not renewed its lease does not serve.
CREATE TABLE leases (
    node    TEXT        NOT NULL PRIMARY KEY,
    until   TIMESTAMPTZ NOT NULL,
    -- It ended by its own will, having told of everything.
    closed  BOOLEAN     NOT NULL,
    -- How many changes it has told the others of.
    told    BIGINT      NOT NULL,
    -- The control version that it follows.
    seen    BIGINT      NOT NULL,
    version TEXT        NOT NULL
);

-- One row: counts the changes that every node must follow before whoever made them is answered.
CREATE TABLE control (
    id      INTEGER NOT NULL PRIMARY KEY,
    version BIGINT  NOT NULL
);
INSERT INTO control (id, version) VALUES (1, 0);
