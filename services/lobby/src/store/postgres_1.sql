-- Schema 1. `number` counts the records in the order they were made: who has waited longest is claimed first. Keys are compared byte by byte, as SQLite does.
CREATE TABLE samestep_records (
    number BIGSERIAL,
    kind TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL DEFAULT 1,
    state TEXT COLLATE "C" NOT NULL,
    payload BYTEA NOT NULL,
    claimed_by TEXT,
    claimed_until_ms BIGINT,
    expires_ms BIGINT,
    PRIMARY KEY (kind, key)
);
CREATE INDEX samestep_claims ON samestep_records (kind, state, number);
CREATE INDEX samestep_expiry ON samestep_records (kind, expires_ms) WHERE expires_ms IS NOT NULL;

CREATE FUNCTION samestep_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM pg_notify('samestep_lobby', OLD.kind || ' 0 ' || OLD.key);
    ELSE
        PERFORM pg_notify('samestep_lobby', NEW.kind || ' ' || NEW.version || ' ' || NEW.key);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER samestep_changed AFTER INSERT OR UPDATE OR DELETE ON samestep_records
    FOR EACH ROW EXECUTE FUNCTION samestep_changed();

-- Makes all writes or none, in one round trip. What is expected: a version, 0 for absent, -1 for anything. Without a payload the record is removed.
CREATE FUNCTION samestep_commit(kinds TEXT[], keys TEXT[], expected BIGINT[], states TEXT[], payloads BYTEA[], expiries BIGINT[])
RETURNS VOID LANGUAGE plpgsql AS $$
DECLARE
    changed BIGINT;
BEGIN
    FOR i IN 1 .. coalesce(array_length(kinds, 1), 0) LOOP
        IF payloads[i] IS NULL THEN
            IF expected[i] = 0 THEN
                SELECT 1 - count(*) INTO changed FROM samestep_records WHERE kind = kinds[i] AND key = keys[i];
            ELSE
                DELETE FROM samestep_records WHERE kind = kinds[i] AND key = keys[i] AND (expected[i] = -1 OR version = expected[i]);
                GET DIAGNOSTICS changed = ROW_COUNT;
                IF expected[i] = -1 THEN
                    changed := 1;
                END IF;
            END IF;
        ELSIF expected[i] = 0 THEN
            INSERT INTO samestep_records (kind, key, state, payload, expires_ms)
                VALUES (kinds[i], keys[i], states[i], payloads[i], expiries[i]) ON CONFLICT DO NOTHING;
            GET DIAGNOSTICS changed = ROW_COUNT;
        ELSIF expected[i] = -1 THEN
            INSERT INTO samestep_records AS old (kind, key, state, payload, expires_ms)
                VALUES (kinds[i], keys[i], states[i], payloads[i], expiries[i])
                ON CONFLICT (kind, key) DO UPDATE SET version = old.version + 1, state = EXCLUDED.state, payload = EXCLUDED.payload,
                    expires_ms = EXCLUDED.expires_ms, claimed_by = NULL, claimed_until_ms = NULL;
            changed := 1;
        ELSE
            UPDATE samestep_records SET version = version + 1, state = states[i], payload = payloads[i], expires_ms = expiries[i],
                claimed_by = NULL, claimed_until_ms = NULL
                WHERE kind = kinds[i] AND key = keys[i] AND version = expected[i];
            GET DIAGNOSTICS changed = ROW_COUNT;
        END IF;
        IF changed <> 1 THEN
            RAISE EXCEPTION '%', i USING ERRCODE = 'SS001';
        END IF;
    END LOOP;
END $$;
