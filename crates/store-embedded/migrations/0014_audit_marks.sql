-- Of each block of the audit log, which refusals may be in it, so that a search for those of a client unpacks few blocks. A table of
-- its own, because a column behind the content of a block is read through all of it. Blocks from before have no marks, and are
-- unpacked as they were; trimming rewrites or deletes them in their time.
CREATE TABLE audit_marks (
    block INTEGER PRIMARY KEY,
    -- Bits of a Bloom filter; empty where the block has no refusal.
    marks BLOB NOT NULL
) STRICT;
