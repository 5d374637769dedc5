-- Schema 1. `number` counts the records in the order they were made: who has waited longest is claimed first.
CREATE TABLE records (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    version INTEGER NOT NULL DEFAULT 1,
    state TEXT NOT NULL,
    payload BLOB NOT NULL,
    claimed_by TEXT,
    claimed_until_ms INTEGER,
    expires_ms INTEGER,
    UNIQUE (kind, key)
);
CREATE INDEX claims ON records (kind, state, number);
CREATE INDEX expiry ON records (kind, expires_ms) WHERE expires_ms IS NOT NULL;
