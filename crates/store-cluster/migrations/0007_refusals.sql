-- Why requests failed is asked of a log in which most records say that something was done. Whoever asks names these two
-- events literally (`REFUSED` in record/audit.rs): otherwise PostgreSQL does not use the index.
CREATE INDEX audit_of_refusals ON audit (issuer, at, sequence)
    WHERE event IN ('session.sign_in_failed', 'request.refused');
