-- What the audit log takes, summed up behind the writers' backs: by record up to the sequence `through`, in bytes.

CREATE TABLE audit_sizes (
    issuer TEXT    NOT NULL PRIMARY KEY,
    bytes  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- One row.
CREATE TABLE audit_counted (through INTEGER NOT NULL) STRICT;
INSERT INTO audit_counted VALUES (0);
